"""What the benchmarks share: options, the data folder, threads, and what is printed and saved.

With `--save`, what a script prints is also written to ``doc/benchmark_results``, from which the
page of the documentation is built: its lines and tables, the command, the versions and the date.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import re
import shlex
import sys
import time
import tracemalloc
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import joblib
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from skcalrank import __version__
from skcalrank.data import each

__all__ = [
    "Cells",
    "data_file",
    "data_folder",
    "describe_environment",
    "in_turns",
    "optional",
    "parser",
    "peak_bytes",
    "print_table",
    "print_threads",
    "say",
    "version_of",
]

VARIABLE = "SKCALRANK_DATA"
RESULTS = Path(__file__).resolve().parents[1] / "doc" / "benchmark_results"
_SUFFIXES = ("", ".gz", ".xz")


class _Record:
    """What a script has printed so far, and the file that holds it."""

    def __init__(self):
        self.name, self.head, self.shown = None, {}, []

    def add(self, item):
        """Keep a line or a table; from the first table on, write the file anew."""
        self.shown.append(item)
        if self.name is not None and not all(isinstance(one, str) for one in self.shown):
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{self.name}.json").write_text(self.text())

    def text(self):
        """JSON with one line for each line and each row that was printed."""
        lines = [f" {_json(key)}: {_json(value)}," for key, value in self.head.items()]
        shown = ",\n".join(map(_json_item, self.shown))
        return "\n".join(["{", *lines, f' "shown": [\n{shown}\n ]', "}", ""])


def _json(value):
    return json.dumps(value, ensure_ascii=False)


def _json_item(item):
    if isinstance(item, str):
        return f"  {_json(item)}"
    rows = ",\n".join(f"    {_json(row)}" for row in item["rows"])
    return f'  {{"columns": {_json(item["columns"])},\n   "rows": [\n{rows}]}}'


_RECORD = _Record()


class _Parser(argparse.ArgumentParser):
    """A parser that notes the command and the date when it has read the options."""

    def parse_args(self, args=None, namespace=None):
        out = super().parse_args(args, namespace)
        _RECORD.name = out.save
        _RECORD.head["command"] = _command(sys.argv[1:] if args is None else args, vars(out))
        _RECORD.head["date"] = datetime.date.today().isoformat()
        return out


def _command(args, options):
    """Return what a reader types: without paths, and without what only names a file."""
    words = []
    for word in args:
        if word.startswith("--") or not words:
            words.append([])
        words[-1].append(word)
    kept = [
        shlex.join(one) for one in words if one[0] not in ("--data", "--cells", "--save", "--plot")
    ]
    folders = [f"--{name} DIR" for name in ("data", "cells") if name in options]
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *folders, *kept])


def parser(doc, *, data=False, threads=True, cells=False):
    """Make a parser with ``--save``, ``--threads``, ``--data`` and ``--cells`` where needed."""
    out = _Parser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    stem = Path(sys.argv[0]).stem
    out.add_argument(
        "--save",
        nargs="?",
        const=stem,
        metavar="NAME",
        help=f"write the tables to doc/benchmark_results/NAME.json (default {stem})",
    )
    if threads:
        out.add_argument("--threads", type=int, default=1, help="threads of all (default 1)")
    if data:
        out.add_argument("--data", metavar="DIR", help=f"folder of data (default ${VARIABLE})")
    if cells:
        out.add_argument("--cells", metavar="DIR", help="folder of finished cells (default: none)")
    return out


class Cells:
    """Values that an interrupted run has computed, in files of ``--cells``.

    Those of another script, version of the package or `case` are not read, so that `case` must name
    every option that changes the values. Without a folder nothing is kept.
    """

    def __init__(self, folder, *case):
        stem = Path(sys.argv[0]).stem
        self.folder = None if folder is None else Path(folder, stem, __version__, *case)

    def __call__(self, name, call, *args, **params):
        """Return what a call returns, or what the call of this name returned before."""
        if self.folder is None:
            return call(*args, **params)
        path = self._path(name)
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}")
            joblib.dump(call(*args, **params), part)
            part.replace(path)
        return joblib.load(path)

    def holds(self, name):
        """Return whether a call of this name has returned before."""
        return self.folder is not None and self._path(name).exists()

    def _path(self, name):
        return self.folder / f"{re.sub(r'[^-+=.,A-Za-z0-9]+', '_', name)}.joblib"


def data_folder(given, needed):
    """The folder that holds the needed files, or an end that says what is missing."""
    folder = given or os.environ.get(VARIABLE)
    if not folder:
        sys.exit(
            f"No data folder: pass --data DIR, or set {VARIABLE}. Needed in it (plain, .gz "
            f"or .xz):\n  " + "\n  ".join(needed)
        )
    missing = [name for name in needed if _stored(folder, name) is None]
    if missing:
        sys.exit(
            f"{folder} lacks what this benchmark needs (plain, .gz or .xz):\n  "
            + "\n  ".join(missing)
        )
    return Path(folder)


def data_file(folder, name):
    """Path of a file, compressed or not; the name is that of the plain one."""
    path = _stored(folder, name)
    if path is None:
        raise FileNotFoundError(f"{name} (plain, .gz or .xz) is not in {folder}.")
    return path


def _stored(folder, name):
    paths = (Path(folder, name + suffix) for suffix in _SUFFIXES)
    return next((path for path in paths if path.exists()), None)


def optional(name):
    """A module, or None with a line on what is left out."""
    try:
        return importlib.import_module(name)
    except ImportError:
        say(f"{name} is not installed: its rows are left out.")
        return None


def describe_environment(*packages, threads=None):
    """One line: versions, machine, and threads: the given number, else those of BLAS.

    Numpy's logarithms take a fifth of the time where the processor has AVX-512, so the line names
    the newest vector instructions that numpy finds.
    """
    others = "".join(f", {name} {version_of(name)}" for name in packages)
    if threads is None:
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        said = f"BLAS threads {max(pools, default='unknown')}"
    else:
        said = f"{threads} thread{'s' * (threads != 1)}"
    try:
        vectors = np.show_config(mode="dicts")["SIMD Extensions"]
    except TypeError:  # numpy before 1.26 prints them alone
        vectors = {"baseline": ["unknown vectors"]}
    newest = [*vectors["baseline"], *vectors.get("found", ())][-1]
    machine = f"{platform.machine()} with {newest}, {n_cores()} cores, {said}"
    line = f"Python {platform.python_version()}, skcalrank {__version__}{others}; {machine}"
    _RECORD.head["environment"] = line
    return line


def n_cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def logarithms():
    """Arithmetic that stays in cache and shares nothing, on as many threads as BLAS would use."""

    def work(_):
        values, out = np.linspace(1, 2, 1 << 13), np.empty(1 << 13)
        for _ in range(200):
            np.log(values, out=out)

    each(work, range(8 * n_cores()), long=True)


def print_threads(calls, rounds=5):
    """Print the least time of each call on one thread and on all cores, which take turns.

    The first row shows what the cores can do at the time: virtual cores may share a real one.
    """
    calls = {"logarithms in cache": logarithms, **calls}
    numbers = sorted({1, n_cores()})
    least = {name: dict.fromkeys(numbers, np.inf) for name in calls}
    for turn in range(rounds):
        for name, call in calls.items():
            # By turns: what a call leaves in memory changes the time of the next one.
            for n in numbers[:: 1 - 2 * (turn % 2)]:
                with threadpool_limits(n):
                    start = time.perf_counter()
                    call()
                    least[name][n] = min(least[name][n], time.perf_counter() - start)
    rows = [
        [
            name,
            *[f"{1e3 * of_call[n]:.1f}" for n in numbers],
            f"{of_call[1] / of_call[numbers[-1]]:.2f}",
        ]
        for name, of_call in least.items()
    ]
    say(f"\nOne thread and all, least of {rounds} rounds:")
    names = [f"ms, {n} thread{'s' * (n != 1)}" for n in numbers]
    print_table(["", *names, "times faster"], rows)


def in_turns(calls, rounds, number):
    """CPU seconds of calls that take turns, each `number` times in a row.

    The values of `calls` are tuples of calls; shape (n_tuples, calls of a tuple, rounds).
    """
    for one in calls.values():
        for call in one:
            _seconds(call, number)
    times = [
        [[_seconds(call, number) for call in one] for one in calls.values()] for _ in range(rounds)
    ]
    return np.moveaxis(times, 0, -1)


def _seconds(call, number):
    """Mean CPU time of some calls in a row."""
    start = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - start) / number


def peak_bytes(call):
    """What the arrays that a call makes hold at most."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def version_of(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def say(line, end="\n"):
    """Print a line that belongs to the results: a heading, or what follows from a table."""
    print(line, end=end, flush=True)
    _RECORD.add(line.strip())


def print_table(columns, rows):
    """Print rows of strings, the first column flush left, the others flush right."""
    columns, rows = list(columns), [[str(cell) for cell in row] for row in rows]
    cells = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * width for width in widths])
    for first, *others in cells:
        tail = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        print("  ".join([first.ljust(widths[0]), *tail]), flush=True)
    _RECORD.add({"columns": columns, "rows": rows})
