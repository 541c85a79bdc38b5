"""Change the package at random places, one at a time, and see whether its tests notice.

A mutant is a copy of the package with one change: a constant, an operator, a condition, the order
of two arguments, a statement that is dropped, a value that is not returned. Of the default tests,
doctests among them, those run that execute the changed line, the fast ones first, until one fails.
What survives asks for a test; what no test can tell from the package stands in ``equivalent.txt``
beside this file, with the reason, and does not count.

Which test executes which line is measured once and kept (``--map``): run the script again with the
same seed, and the same mutants are tried. ``--refresh tests/test_new.py`` measures new tests. The
map is to be deleted when the package changes.

    python tests/tools/mutate.py --n 120 --seed 0 --jobs 2

This file is also the plugin of the pytest processes that it starts, which get their tests and leave
their times through files named in the environment.
"""

import argparse
import ast
import contextlib
import copy
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from coverage import CoverageData

ROOT = Path(__file__).parents[2]
ROOMS = ("measures", "preds", "losses", "aggregation", "calibration", "_solvers", "metrics")

# -- the plugin: which tests run, in which order, how long they may take -------------------

TIMES, FAILED = {}, set()


def wanted():
    """The tests to run and the seconds they usually take, or None for all."""
    path = os.environ.get("MUTATE_WANTED")
    return json.loads(Path(path).read_text()) if path else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Sort by the order of magnitude, so that the tests of a file still share their fixtures."""
    if (times := wanted()) is not None:
        items[:] = [item for item in items if item.nodeid in times]
        items.sort(key=lambda item: int(times[item.nodeid] * 1000).bit_length())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """Die of a test that takes too long, even within a library."""
    if (times := wanted()) is not None:
        signal.alarm(20 + int(20 * times[item.nodeid]))


def pytest_runtest_logreport(report):
    TIMES[report.nodeid] = TIMES.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        FAILED.add(report.nodeid)


def pytest_sessionfinish():
    signal.alarm(0)
    if path := os.environ.get("MUTATE_TIMES"):
        known = {key: seconds for key, seconds in TIMES.items() if key not in FAILED}
        Path(path).write_text(json.dumps(known))


# -- the mutants ---------------------------------------------------------------------------

OPERATORS = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq},
    **{ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn},
    **{ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr},
    **{ast.BitOr: ast.BitAnd, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div},
    **{ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult},
}
#: Functions whose arguments have types that cannot change places.
TYPED = {"isinstance", "issubclass", "getattr", "hasattr", "setattr", "cast"}


@dataclass(frozen=True)
class Mutant:
    """One change of one file; `lines` are those of the statement, `scopes` those around it."""

    file: str
    lines: range
    scopes: tuple
    start: int
    stop: int
    was: str
    becomes: str

    def source(self, tree=ROOT):
        return (tree / self.file).read_bytes()

    def mutated(self):
        source = self.source()
        return source[: self.start] + self.becomes.encode() + source[self.stop :]

    def row(self):
        return self.source()[: self.start].count(b"\n") + 1

    def shown(self, mutated=False):
        """The lines that change, before or after."""
        source = self.mutated() if mutated else self.source()
        stop = self.start + len(self.becomes.encode()) if mutated else self.stop
        first, last = source.rfind(b"\n", 0, self.start) + 1, source.find(b"\n", stop)
        return source[first:last].decode().strip()

    @property
    def key(self):
        return f"{self.file}: {self.shown().splitlines()[0]}", f"{self.was} -> {self.becomes}"


def changed(node, **fields):
    new = copy.copy(node)
    vars(new).update(fields)
    return new


def with_operator(node):
    if type(node.op) in OPERATORS:
        yield changed(node, op=OPERATORS[type(node.op)]())


def other_constants(value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return {0: [value + 1], 1: [value - 1, value + 1]}.get(value, [value + 1, value * 2])
    return []


def swapped(call):
    """The call with two neighbors among its positional arguments changed about."""
    args = call.args
    if getattr(call.func, "id", None) in TYPED or any(isinstance(a, ast.Starred) for a in args):
        return
    for i in range(len(args) - 1):
        yield changed(call, args=[*args[:i], args[i + 1], args[i], *args[i + 2 :]])


def replacements(node, parent):
    """Nodes to put in the place of this one."""
    match node:
        case ast.Constant():
            yield from (ast.Constant(value) for value in other_constants(node.value))
        case ast.Compare():
            for i, op in enumerate(node.ops):
                ops = [*node.ops[:i], OPERATORS[type(op)](), *node.ops[i + 1 :]]
                yield changed(node, ops=ops)
        case ast.BinOp():
            sides = [getattr(side, "value", None) for side in (node.left, node.right)]
            if not any(isinstance(side, str) for side in sides):
                yield from with_operator(node)
        case ast.BoolOp():
            yield from with_operator(node)
        case ast.UnaryOp():
            yield node.operand
        case ast.Call():
            yield from swapped(node)
        case ast.Return(value=ast.expr()):
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
    """Whether nothing below may change: annotations, messages, the names of the module."""
    function = getattr(parent, "func", None)
    called = getattr(function, "id", getattr(function, "attr", ""))
    names = [getattr(each, "id", None) for each in getattr(node, "targets", ())]
    return (
        node in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
        or isinstance(node, ast.JoinedStr)
        or isinstance(parent, ast.Raise)
        or "warn" in called
        or "__all__" in names
        or getattr(getattr(node, "test", None), "id", None) == "TYPE_CHECKING"
    )


def header(statement):
    """The lines of a statement, of a compound one those before its body."""
    body = getattr(statement, "body", None)
    first = min([statement, *getattr(statement, "decorator_list", ())], key=lambda n: n.lineno)
    last = max(body[0].lineno - 1, statement.lineno) if body else statement.end_lineno
    return range(first.lineno, last + 1)


def sites(node, parent=None, lines=range(0), scopes=()):
    """Every node that can be replaced, with the lines of its statement and of its scopes."""
    if isinstance(node, ast.stmt):
        lines = header(node)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        scopes = (range(node.lineno, node.end_lineno + 1), *scopes)
    if new := list(replacements(node, parent)):
        yield node, new, lines, scopes
    for child in ast.iter_child_nodes(node):
        if not stays(child, node):
            yield from sites(child, node, lines, scopes)


def mutants_of(path):
    """One list of mutants for each place of a file."""
    source, file = path.read_bytes(), path.relative_to(ROOT).as_posix()
    ends = [0, *(i + 1 for i, byte in enumerate(source) if byte == ord("\n"))]
    for node, new, *around in sites(ast.parse(source)):
        start = ends[node.lineno - 1] + node.col_offset
        stop = ends[node.end_lineno - 1] + node.end_col_offset
        texts = [ast.unparse(each) for each in new]
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            texts = [f"({text})" for text in texts]
        yield [Mutant(file, *around, start, stop, ast.unparse(node), text) for text in texts]


def draw(n, seed):
    """`n` places of the rooms, and one mutant of each."""
    files = [path for room in ROOMS for path in sorted((ROOT / "skcalrank" / room).glob("*.py"))]
    places = [place for path in files for place in mutants_of(path)]
    rng = random.Random(seed)
    return [rng.choice(place) for place in rng.sample(places, n)], len(places)


def equivalents():
    """The mutants that no test can tell from the package."""
    text = (Path(__file__).parent / "equivalent.txt").read_text()
    stanzas = [stanza.splitlines() for stanza in text.strip().split("\n\n")]
    return {(line.strip(), change.strip()): reason for line, change, *reason in stanzas}


# -- runs ----------------------------------------------------------------------------------


def copied(folder):
    """A copy of the tree, which the mutants of one process share, one after the other."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "_build", "build", "dist")
    return shutil.copytree(ROOT, Path(folder) / "tree", ignore=ignored)


def run_pytest(tree, *arguments, limit=None, **environment):
    """The exit code of pytest in a tree, and what it printed."""
    tools = tree / "tests" / "tools"
    paths = {"PYTHONPATH": f"{tree}{os.pathsep}{tools}", "TMPDIR": str(tree.parent)}
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutate", "-p", "no:cacheprovider"]
    output = tree.parent / "output.txt"
    with output.open("w") as out:
        process = subprocess.Popen(
            [*command, *arguments],
            **{"cwd": tree, "env": os.environ | paths | threads | environment},
            **{"stdout": out, "stderr": subprocess.STDOUT, "start_new_session": True},
        )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(limit)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait(), output.read_text(errors="replace")


def measure(map_file, *tests):
    """Keep which test executes which line, and the seconds each takes; those that fail are left."""
    times = Path(f"{map_file}.json")
    known = json.loads(times.read_text()) if tests else {}
    with tempfile.TemporaryDirectory() as folder:
        files = {"COVERAGE_FILE": str(map_file), "MUTATE_TIMES": str(times)}
        arguments = ["--cov", "--cov-context=test", "--cov-report=", *tests]
        _code, output = run_pytest(
            copied(folder), *arguments, *(["--cov-append"] if tests else []), **files
        )
    print(f"measured the tests: {output.splitlines()[-1]}")
    times.write_text(json.dumps(known | json.loads(times.read_text())))


class Map:
    """Which tests execute which line."""

    def __init__(self, map_file):
        self.data = CoverageData(str(map_file))
        self.data.read()
        self.times = json.loads(Path(f"{map_file}.json").read_text())
        self.files = self.data.measured_files()
        self.known = {}

    def contexts(self, file):
        if file not in self.known:
            (path,) = (path for path in self.files if path.endswith(f"/{file}"))
            self.known[file] = self.data.contexts_by_lineno(path)
        return self.known[file]

    def tests(self, mutant):
        """Tests of the statement, or of what surrounds a statement that runs on import."""
        lines = self.contexts(mutant.file)
        if not any(lines.get(line) for line in mutant.lines):
            return {}
        for each in (mutant.lines, *mutant.scopes, range(10**5)):
            names = {name.rpartition("|")[0] for line in each for name in lines.get(line, ())}
            if names := names & set(self.times):
                return {name: self.times[name] for name in names}
        return self.times


def stages(tests):
    """The tests of the three files that have most fast ones, then the others."""
    fast = Counter(name.partition("::")[0] for name, seconds in tests.items() if seconds < 0.05)
    first = [file for file, _ in fast.most_common(3)]
    for now in (True, False):
        part = {name: t for name, t in tests.items() if (name.partition("::")[0] in first) == now}
        if part:
            yield part


def run_tests(tree, tests):
    """What became of a mutant: killed, by which test, timeout or survived."""
    for part in stages(tests):
        chosen = tree.parent / "wanted.json"
        chosen.write_text(json.dumps(part))
        files = sorted({name.partition("::")[0] for name in part})
        limit = 300 + 20 * sum(part.values())
        code, output = run_pytest(tree, "-x", *files, limit=limit, MUTATE_WANTED=str(chosen))
        if code < 0:
            return "timeout", ""
        if code:
            names = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return "killed", (names or output.splitlines()[-1:] or [""])[-1]
    return "survived", f"{len(tests)} tests"


def try_mutant(mutant, tree, tests):
    """Change the file, run the tests and put the file back."""
    path, start = tree / mutant.file, time.perf_counter()
    try:
        path.write_bytes(mutant.mutated())
        Path(cache_from_source(str(path))).unlink(missing_ok=True)
        return *run_tests(tree, tests), time.perf_counter() - start
    finally:
        path.write_bytes(mutant.source())
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def run_all(mutants, map_file, jobs):
    """One (mutant, outcome, detail, seconds) after the other, in the order in which they end."""
    executed, trees = Map(map_file), queue.Queue()
    with contextlib.ExitStack() as stack:
        for _ in range(jobs):
            trees.put(copied(stack.enter_context(tempfile.TemporaryDirectory())))

        def run(mutant, tests):
            tree = trees.get()
            try:
                return mutant, *try_mutant(mutant, tree, tests)
            finally:
                trees.put(tree)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        futures = [pool.submit(run, each, executed.tests(each)) for each in mutants]
        for future in as_completed(futures):
            yield future.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=120, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--map", type=Path, default=Path("mutate.map"), help="made where missing")
    parser.add_argument("--refresh", nargs="*", metavar="TEST", help="files to measure again")
    parser.add_argument("--only", default="", help="those whose file, line and change contain it")
    options = parser.parse_args()
    map_file = options.map.resolve()
    if options.refresh or not map_file.exists():
        measure(map_file, *(options.refresh or []))

    start, counts, known = time.perf_counter(), Counter(), equivalents()
    drawn, places = draw(options.n, options.seed)
    chosen = [each for each in drawn if options.only in " ".join(each.key)]
    print(f"{len(chosen)} of {places} places, seed {options.seed}")
    for mutant, outcome, detail, seconds in run_all(chosen, map_file, options.jobs):
        if outcome == "survived" and mutant.key in known:
            outcome = "equivalent"
        counts[outcome] += 1
        print(f"{outcome:10} {seconds:5.0f} s  {mutant.file}:{mutant.row()}  {detail}")
        print(f"    - {mutant.shown()}\n    + {mutant.shown(mutated=True)}", flush=True)
        if outcome == "survived":
            print("    key: " + "\n".join(mutant.key))

    noticed, all_ = counts["killed"] + counts["timeout"], counts.total() - counts["equivalent"]
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    minutes = (time.perf_counter() - start) / 60
    print(f"{noticed} of {all_} noticed: {noticed / all_:.1%}, in {minutes:.0f} minutes")


if __name__ == "__main__":
    main()
