"""Change the package at random places, one at a time, and check whether tests detect it.

A mutant is a copy of the package with one change: another constant or operator, a condition that is
negated, arguments that change places, a statement that is dropped, a value that is not returned. Of
the default tests and doctests those run that execute the changed line, fast ones first, until one
fails. A mutant that survives needs a test; one that no test can tell from the package is listed in
`equivalent.txt`, with the reason, and does not count.

Which test executes which line is measured once and kept (`--map`; `--measure` adds the test files
that are new). The same seed gives the same mutants of the same package.
"""

import argparse
import ast
import contextlib
import copy
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from difflib import SequenceMatcher
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("measures", "preds", "losses", "aggregation", "calibration", "_solvers", "metrics")
#: Tests that read signatures and attributes, and execute nothing.
READERS = (
    "tests/package/test_documentation.py",
    "tests/package/test_parameters.py",
    "tests/package/test_types.py",
)

# -- hooks of the pytest processes, of which this file is a plugin -------------------------

CHOSEN = Path(os.environ.get("MUTATE_CHOSEN", os.devnull)).read_text()
CHOSEN = json.loads(CHOSEN or "{}")  # tests, and the seconds that they usually take
TIMES = Counter()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    if CHOSEN:  # In orders of magnitude, so that the tests of a file still share fixtures.
        items[:] = [item for item in items if item.nodeid in CHOSEN]
        items.sort(key=lambda item: int(CHOSEN[item.nodeid] * 1000).bit_length())


def pytest_runtest_setup(item):
    if CHOSEN:  # A test that takes too long ends the process, even within a library.
        signal.alarm(20 + int(20 * CHOSEN[item.nodeid]))


def pytest_runtest_logreport(report):
    TIMES[report.nodeid] += float("inf") if report.failed else report.duration


def pytest_sessionfinish():
    signal.alarm(0)
    if path := os.environ.get("MUTATE_TIMES"):
        Path(path).write_text(json.dumps({k: t for k, t in TIMES.items() if t < float("inf")}))


# -- mutants -------------------------------------------------------------------------------

OPERATORS = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq},
    **{ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn},
    **{ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr},
    **{ast.BitOr: ast.BitAnd, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div},
    **{ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult},
}
#: Functions whose arguments cannot change places, or may without effect.
IN_ORDER = {"isinstance", "issubclass", "getattr", "hasattr", "setattr", "cast"}
SYMMETRIC = {"max", "min", "maximum", "minimum", "multiply", "array_equal"}


def changed(node, **fields):
    new = copy.copy(node)
    vars(new).update(fields)
    return new


def with_operator(node):
    texts = [getattr(each, "value", None) for each in ast.iter_child_nodes(node)]
    if type(node.op) in OPERATORS and not any(isinstance(text, str) for text in texts):
        yield changed(node, op=OPERATORS[type(node.op)]())


def other_constants(value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return {0: [value + 1], 1: [value - 1, value + 1]}.get(value, [value + 1, value * 2])
    return []


def name_of(function):
    return getattr(function, "id", getattr(function, "attr", ""))


def replacements(node, parent):
    """Replacements of a node."""
    match node:
        case ast.Constant():
            yield from (ast.Constant(value) for value in other_constants(node.value))
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield changed(node, ops=[*ops[:i], OPERATORS[type(op)](), *ops[i + 1 :]])
        case ast.BinOp() | ast.BoolOp():
            yield from with_operator(node)
        case ast.UnaryOp():
            yield node.operand
        case ast.Call(args=args) if name_of(node.func) not in IN_ORDER | SYMMETRIC:
            if not any(isinstance(each, ast.Starred) for each in args):
                for i in range(len(args) - 1):
                    yield changed(node, args=[*args[:i], args[i + 1], args[i], *args[i + 2 :]])
        case ast.Return(value=ast.expr()) if ast.unparse(node) != "return None":
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign():
            yield from [ast.Pass(), *with_operator(node)]
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Raise() if "NotImplementedError" not in ast.dump(node):
            yield ast.Pass()
    conditions = [getattr(parent, "test", None), *getattr(parent, "ifs", ())]
    if node in conditions and not isinstance(node, ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)


def stays(node, parent):
    """Whether a node is skipped: annotations, messages, names of the module."""
    return (
        node in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
        or isinstance(node, ast.JoinedStr)
        or isinstance(parent, ast.Raise)
        or "warn" in name_of(getattr(parent, "func", None))
        or "__all__" in [getattr(each, "id", None) for each in getattr(node, "targets", ())]
        or getattr(getattr(node, "test", None), "id", None) == "TYPE_CHECKING"
    )


def places(node, parent=None, lines=range(0), scopes=()):
    """A node with its replacements, the lines of its statement and its scopes."""
    if isinstance(node, ast.stmt):
        first = min(each.lineno for each in [node, *getattr(node, "decorator_list", ())])
        body = getattr(node, "body", None)
        last = max(body[0].lineno - 1, node.lineno) if body else node.end_lineno
        lines = range(first, last + 1)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        scopes = (range(node.lineno, node.end_lineno + 1), *scopes)
    if new := list(replacements(node, parent)):
        yield node, new, lines, scopes
    for child in ast.iter_child_nodes(node):
        if not stays(child, node):
            yield from places(child, node, lines, scopes)


class Mutant(NamedTuple):
    file: str
    row: int
    before: str  # the lines that change
    after: str
    change: str
    source: bytes  # of the whole file
    around: tuple  # ranges of lines: the statement, and the scopes around it

    @classmethod
    def of(cls, path, node, new, lines, scopes):
        rows = path.read_bytes().splitlines(keepends=True)
        start = sum(map(len, rows[: node.lineno - 1])) + node.col_offset
        stop = sum(map(len, rows[: node.end_lineno - 1])) + node.end_col_offset
        text, source = ast.unparse(new), b"".join(rows)
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            text = f"({text})"
        first, last = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", stop)
        after = source[first:start] + text.encode() + source[stop:last]
        return cls(
            *(path.relative_to(ROOT).as_posix(), node.lineno),
            *(source[first:last].decode().strip(), after.decode().strip()),
            f"{ast.unparse(node)} -> {ast.unparse(new)}".replace("\n", " "),
            source[:first] + after + source[last:],
            (lines, *scopes, range(len(rows))),
        )

    @property
    def key(self):
        return f"{self.file}: {self.before.splitlines()[0]}", self.change


def all_places():
    files = [path for room in ROOMS for path in sorted((ROOT / "skcalrank" / room).glob("*.py"))]
    return [(path, *each) for path in files for each in places(ast.parse(path.read_bytes()))]


def draw(n, seed):
    """One mutant of each of `n` places."""
    rng = random.Random(seed)
    chosen = rng.sample(all_places(), n)
    return [Mutant.of(path, node, rng.choice(new), *at) for path, node, new, *at in chosen]


def every(text):
    """All mutants with a text in their file and row, or in their line and change."""
    for path, node, new, *at in all_places():
        mutants = [Mutant.of(path, node, each, *at) for each in new]
        yield from (m for m in mutants if text in f"{m.file}:{m.row} {m.key}")


def equivalents():
    """Keys of the mutants that are equivalent to the package."""
    text = (Path(__file__).parent / "equivalent.txt").read_text()
    return {tuple(map(str.strip, part.splitlines()[:2])) for part in text.split("\n\n")}


# -- runs ----------------------------------------------------------------------------------


@contextlib.contextmanager
def copied():
    """A copy of the tree, which the mutants of one job share, one after the other."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "_build", "build", "dist")
    with tempfile.TemporaryDirectory() as folder:
        yield shutil.copytree(ROOT, Path(folder) / "tree", ignore=ignored)


def run_pytest(tree, *arguments, limit=None, **environment):
    """The exit code of pytest in a tree, and what it printed."""
    environment |= {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tests/tools'}"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TMPDIR": str(tree.parent)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutate", "-p", "no:cacheprovider"]
    output = tree.parent / "output.txt"
    with output.open("w") as out:
        process = subprocess.Popen(
            [*command, *arguments],
            **{"cwd": tree, "env": os.environ | environment, "start_new_session": True},
            **{"stdout": out, "stderr": subprocess.STDOUT},
        )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(limit)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # Its workers, too.
    return process.wait(), output.read_text(errors="replace").splitlines()


def measure(folder, *tests):
    """Add a file with the tests that execute each line, and their seconds where they pass."""
    folder.mkdir(exist_ok=True)
    data = folder / f"{len(list(folder.glob('*.json')))}.coverage"
    with copied() as tree:
        files = {"COVERAGE_FILE": str(data), "MUTATE_TIMES": str(tree.parent / "times.json")}
        arguments = ("--cov", "--cov-context=test", "--cov-report=", *tests)
        print(f"measured: {run_pytest(tree, *arguments, **files)[1][-1]}", flush=True)
        times = json.loads((tree.parent / "times.json").read_text())
    files = (ROOT / "skcalrank").rglob("*.py")
    sources = {path.relative_to(ROOT).as_posix(): path.read_text() for path in files}
    data.with_suffix(".json").write_text(json.dumps({"times": times, "sources": sources}))


ON_IMPORT = ""  # where coverage has no test


def measured(folder):
    """The seconds of each test, and the tests of each line, wherever the line now stands."""
    from coverage import CoverageData

    times, executed = {}, defaultdict(lambda: defaultdict(set))
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text())
        data = CoverageData(str(path.with_suffix(".coverage")))
        data.read()
        times |= record["times"]
        for name in data.measured_files():
            file = name.partition("/tree/")[2]
            contexts, now = data.contexts_by_lineno(name), (ROOT / file).read_text().splitlines()
            same = SequenceMatcher(None, record["sources"][file].splitlines(), now, autojunk=False)
            for old, new, size in same.get_matching_blocks():
                for i in range(1, size + 1):
                    tests = {test.rpartition("|")[0] for test in contexts.get(old + i, ())}
                    executed[file][new + i] |= tests & {*times, ON_IMPORT}
    return times, executed


def tests_of(mutants, folder):
    """The tests that execute the statement or, where that runs on import, what is around it."""
    times, executed = measured(folder)
    for mutant in mutants:
        lines, tests = executed[mutant.file], set()
        for part in mutant.around:
            tests = tests or {test for i in part for test in lines.get(i, ())} - {ON_IMPORT}
        if any(ON_IMPORT in lines.get(i, ()) for i in mutant.around[0]):
            tests |= {test for test in times if test.startswith(READERS)}
        yield mutant, {test: times[test] for test in tests}


def stages(tests):
    """Split into the tests of the three files that have most fast ones, and the others."""
    files = {name: name.partition("::")[0] for name in tests}
    first = Counter(files[name] for name, seconds in tests.items() if seconds < 0.05)
    first = dict(first.most_common(3))
    for now in (True, False):
        yield {name: tests[name] for name in tests if (files[name] in first) == now}


def run_tests(tree, tests):
    """The outcome of a mutant, with the reason."""
    for part in filter(None, stages(tests)):
        chosen = tree.parent / "chosen.json"
        chosen.write_text(json.dumps(part))
        files = {name.partition("::")[0] for name in part}
        files = sorted(file for file in files if (tree / file).exists())
        limit = 300 + 20 * sum(part.values())
        if not files:
            continue
        code, output = run_pytest(tree, "-x", *files, limit=limit, MUTATE_CHOSEN=str(chosen))
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            reasons = [line for line in output if line.startswith(("FAILED", "ERROR"))]
            return "timeout" if code < 0 else "killed", [*output[-1:], *reasons][-1][:150]
    return "survived", f"{len(tests)} tests"


def try_mutant(mutant, tree, tests):
    path = tree / mutant.file
    original, compiled = path.read_bytes(), Path(cache_from_source(str(path)))
    path.write_bytes(mutant.source)
    compiled.unlink(missing_ok=True)
    try:
        return run_tests(tree, tests)
    finally:
        path.write_bytes(original)
        compiled.unlink(missing_ok=True)


def work(todo, counts, known):
    """Try mutants from a shared iterator, in the tree of this job."""
    with copied() as tree:
        for mutant, tests in todo:
            start = time.perf_counter()
            outcome, detail = try_mutant(mutant, tree, tests)
            if outcome == "survived" and mutant.key in known:
                outcome = "equivalent"
            counts[outcome] += 1
            print(
                f"{outcome:10} {time.perf_counter() - start:4.0f} s  {mutant.file}:{mutant.row}  "
                f"{detail}\n    {mutant.change}\n    - {mutant.before}\n    + {mutant.after}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=120, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--map", type=Path, default=ROOT / ".mutate", help="folder to keep it in")
    parser.add_argument("--measure", nargs="+", metavar="FILE", default=[], help="add these tests")
    parser.add_argument("--only", help="all mutants with this text in file:row, line or change")
    options = parser.parse_args()
    folder, counts, start = options.map.resolve(), Counter(), time.perf_counter()
    if options.measure or not folder.exists():
        measure(folder, *options.measure)

    chosen = every(options.only) if options.only else draw(options.n, options.seed)
    todo, known = iter(list(tests_of(chosen, folder))), equivalents()
    with ThreadPoolExecutor(options.jobs) as pool:
        for job in [pool.submit(work, todo, counts, known) for _ in range(options.jobs)]:
            job.result()
    noticed, all_ = counts["killed"] + counts["timeout"], counts.total() - counts["equivalent"]
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())), end="; ")
    minutes = (time.perf_counter() - start) / 60
    print(f"{noticed} of {all_} noticed ({noticed / max(all_, 1):.1%}) in {minutes:.0f} minutes")


if __name__ == "__main__":
    main()
