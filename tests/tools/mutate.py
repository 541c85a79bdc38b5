"""Change the package at random places, one at a time, and check whether tests detect it.

A mutant is a copy of the package with one change: another constant or operator, a condition that is
negated, arguments that change places, a statement that is dropped, a value that is not returned. Of
the default tests and doctests those run that execute the changed line, those of its room and fast
ones first, until one fails. A mutant that survives needs a test; one that no test can tell from the
package is listed in `equivalent.txt`, with the reason, and does not count.

The tests run in a fork of a process that has imported the libraries, in a copy of the tree, which
the processes that they start see, too. Which test executes which line is measured once and kept
(`--map`; `--measure` adds the test files that are new). The same seed gives the same mutants of the
same package.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from difflib import SequenceMatcher
from importlib import import_module
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path

import pytest
from mutants import PACKAGE, ROOT, draw, equivalents, every, rooms

#: Libraries that are there before the tests of a mutant begin.
LIBRARIES = ("scipy.stats", "scipy.optimize", "sklearn.ensemble", "sklearn.feature_selection")
LIBRARIES += ("sklearn.model_selection", "sklearn.neural_network", "sklearn.utils.estimator_checks")
LIBRARIES += ("hypothesis", "pandas", "polars", "pyarrow.parquet", "matplotlib.pyplot", "lightgbm")
LIBRARIES += ("xgboost", "skops.io", "dask.array", "dask.dataframe", "skl2onnx", "onnxruntime")
#: Tests that read sources, signatures and attributes; some of them execute lines, too.
READERS = ("documentation", "parameters", "types", "architecture", "reachability")
READERS = tuple(f"tests/package/test_{name}.py" for name in READERS)
#: Options of pytest, whose plugins are among the libraries that are there.
OPTIONS = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
#: Bytes of memory and seconds that the tests of one mutant may take at most.
MEMORY, SECONDS = 2**33, 120

# -- plugins of pytest ---------------------------------------------------------------------


class Times:
    """Writes down how long tests take that pass."""

    def __init__(self, path):
        self.path, self.times = path, Counter()

    def pytest_runtest_logreport(self, report):
        self.times[report.nodeid] += report.duration if report.passed else float("inf")

    def pytest_sessionfinish(self):
        passed = {name: t for name, t in self.times.items() if t < float("inf")}
        self.path.write_text(json.dumps(passed))


class Chosen:
    """Runs some tests, and ends the process if one takes too long, even within a library."""

    def __init__(self, times):
        self.times = times  # seconds that they usually take

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        # In orders of magnitude, so that the tests of a file still share fixtures.
        items[:] = [item for item in items if item.nodeid in self.times]
        items.sort(key=lambda item: int(self.times[item.nodeid] * 1000).bit_length())

    def pytest_runtest_setup(self, item):
        signal.alarm(20 + int(20 * self.times[item.nodeid]))

    def pytest_sessionfinish(self):
        signal.alarm(0)


# -- runs ----------------------------------------------------------------------------------


def warm_up():
    """Import what the tests import, but not the package."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            import_module(name)
    assert "skcalrank" not in sys.modules


@contextlib.contextmanager
def copied():
    """A copy of the tree, which the mutants of one job share, one after the other."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "_build", "build", "dist")
    with tempfile.TemporaryDirectory() as folder:
        tree = shutil.copytree(ROOT, Path(folder) / "tree", ignore=ignored)
        sys.dont_write_bytecode = False
        in_fork(tree, ["--collect-only"], seconds=600)
        sys.dont_write_bytecode = True
        yield tree


def enter(tree):
    """Let this process, and those that it starts, import the package of a tree."""
    os.setsid()
    output = os.open(tree.parent / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ |= {"PYTHONPATH": str(tree), "TMPDIR": str(tree.parent)}
    tempfile.tempdir = None


def in_fork(tree, arguments, plugins=(), seconds=SECONDS):
    """The exit code of pytest, negative if it had to be stopped, and what it printed last."""
    pid, end = os.fork(), time.monotonic() + seconds
    if not pid:
        code = pytest.ExitCode.INTERNAL_ERROR
        try:
            enter(tree)
            code = pytest.main([*OPTIONS, *arguments], list(plugins))
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    done, status = os.waitpid(pid, os.WNOHANG)
    while not done and time.monotonic() < end:
        time.sleep(0.01)
        done, status = os.waitpid(pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # Its workers, too.
    if not done:
        _, status = os.waitpid(pid, 0)
    output = (tree.parent / "output.txt").read_text(errors="replace").splitlines()
    return os.waitstatus_to_exitcode(status), output


def measure(folder, *tests):
    """Add a file with the tests that execute each line, and their seconds where they pass."""
    folder.mkdir(exist_ok=True)
    data = folder / f"{len(list(folder.glob('*.json')))}.coverage"
    with copied() as tree:
        os.environ["COVERAGE_FILE"] = str(data)
        times = tree.parent / "times.json"
        arguments = ["--cov", "--cov-context=test", "--cov-report=", *tests]
        print(in_fork(tree, arguments, [Times(times)], seconds=10**5)[1][-1], flush=True)
        times = json.loads(times.read_text())
    files = PACKAGE.rglob("*.py")
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
            if not (ROOT / file).exists():
                continue  # removed since
            contexts, now = data.contexts_by_lineno(name), (ROOT / file).read_text().splitlines()
            same = SequenceMatcher(None, record["sources"][file].splitlines(), now, autojunk=False)
            for old, new, size in same.get_matching_blocks():
                for i in range(1, size + 1):
                    tests = {test.rpartition("|")[0] for test in contexts.get(old + i, ())}
                    executed[file][new + i] |= tests & {*times, ON_IMPORT}
    return times, executed


def readers(times, executed):
    """The tests that see what runs on import: those that read, and those that execute no line.

    The latter start processes, or read signatures and attributes.
    """
    execute = set().union(*(tests for lines in executed.values() for tests in lines.values()))
    return {test for test in times if test.startswith(READERS) or test not in execute}


def is_near(test, mutant):
    """Whether a test, or a file of tests, is of the room of the mutant, or in the same file."""
    room = mutant.file.split("/")[1].removesuffix(".py").strip("_")
    return test.startswith((f"tests/{room}/", mutant.file))


def tests_of(mutant, times, executed, read):
    """The tests that execute the statement.

    Where that runs on import, these are the tests of what is around it, of its room, and `read`.
    """
    lines, tests = executed[mutant.file], set()
    for part in mutant.around:
        tests = tests or {test for i in part for test in lines.get(i, ())} - {ON_IMPORT}
    if any(ON_IMPORT in lines.get(i, ()) for i in mutant.around[0]):
        tests |= read | {test for test in times if is_near(test, mutant)}
    return {test: times[test] for test in tests}


def stages(mutant, tests):
    """Some files with most fast tests, of the room if possible, then more, within the seconds."""
    files = defaultdict(dict)
    for name, seconds in tests.items():
        files[name.partition("::")[0]][name] = seconds
    fast = {file: sum(t < 0.05 for t in times.values()) for file, times in files.items()}
    order = sorted(files, key=lambda file: (not is_near(file, mutant), -fast[file]))
    for some in (order[:3], order[3:12], order[12:]):
        chosen = {name: t for file in some for name, t in files[file].items()}
        most = zip(sorted(chosen, key=chosen.get), accumulate(sorted(chosen.values())))
        yield {name: chosen[name] for name, seconds in most if seconds < SECONDS / 3}


def run_tests(mutant, tree, tests):
    """The outcome of a mutant, with the reason."""
    n_tests = 0
    for chosen in filter(None, stages(mutant, tests)):
        files = sorted({name.partition("::")[0] for name in chosen})
        files = [file for file in files if (tree / file).exists()]
        code, output = in_fork(tree, ["-x", *files], [Chosen(chosen)])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            reasons = [line for line in output if line.startswith(("FAILED", "ERROR"))]
            # A process that is stopped early may have printed nothing.
            reason = [f"exit code {code}", *output[-1:], *reasons][-1]
            return "timeout" if code < 0 else "killed", reason[:150]
        n_tests += len(chosen)
    return "survived", f"{n_tests} of {len(tests)} tests"


TREES = []  # the one of this job


def try_mutant(mutant, tests):
    """The outcome of a mutant, the reason, and the seconds that it took."""
    start, path = time.perf_counter(), TREES[0] / mutant.file
    original = path.read_bytes()
    path.write_bytes(mutant.source)
    try:
        return *run_tests(mutant, TREES[0], tests), time.perf_counter() - start
    finally:
        path.write_bytes(original)


def outcomes(todo, jobs):
    """Mutants with their rooms and outcomes, in the order in which they begin."""
    context, known = get_context("fork"), equivalents()
    with contextlib.ExitStack() as stack:
        trees = context.SimpleQueue()
        for _ in range(jobs):
            trees.put(stack.enter_context(copied()))
        pool = ProcessPoolExecutor(jobs, context, lambda: TREES.append(trees.get()))
        with pool:
            results = [pool.submit(try_mutant, mutant, tests) for _, mutant, tests in todo]
            for (room, mutant, _), result in zip(todo, results):
                outcome, detail, seconds = result.result()
                if outcome == "survived" and mutant.key in known:
                    outcome = "equivalent"
                yield room, mutant, outcome, detail, seconds


def table(counts, seconds):
    """Lines of a table: rooms, their mutants by outcome, and the seconds that these took."""
    columns = ("killed", "timeout", "equivalent", "survived")
    yield f"{'room':16}{'mutants':>11}" + "".join(f"{name:>11}" for name in (*columns, "seconds"))
    counts["all"], seconds["all"] = sum(counts.values(), Counter()), sum(seconds.values())
    for room, outcome in counts.items():
        numbers = [outcome.total(), *(outcome[name] for name in columns), round(seconds[room])]
        yield f"{room:16}" + "".join(f"{number:11}" for number in numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20, help="number of mutants of each room")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--rooms", nargs="+", choices=rooms(), default=[*rooms()], metavar="ROOM")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--map", type=Path, default=ROOT / ".mutate", help="folder to keep it in")
    parser.add_argument("--measure", nargs="+", metavar="FILE", default=[], help="add these tests")
    parser.add_argument("--only", help="all mutants with this text in file:row, line or change")
    options = parser.parse_args()
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    warm_up()
    folder = options.map.resolve()
    if options.measure or not folder.exists():
        measure(folder, *options.measure)

    todo, (times, executed) = [], measured(folder)
    known = times, executed, readers(times, executed)
    for room in options.rooms:
        mutants = every(room, options.only) if options.only else draw(room, options.n, options.seed)
        todo += [(room, mutant, tests_of(mutant, *known)) for mutant in mutants]
    counts, seconds = defaultdict(Counter), Counter()
    for room, mutant, outcome, detail, took in outcomes(todo, options.jobs):
        counts[room][outcome] += 1
        seconds[room] += took
        print(
            f"{outcome:10} {took:4.0f} s  {mutant.file}:{mutant.row}  {detail}\n"
            f"    {mutant.change}\n    - {mutant.before}\n    + {mutant.after}",
            flush=True,
        )
    print(*table(counts, seconds), sep="\n")


if __name__ == "__main__":
    main()
