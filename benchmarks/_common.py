"""What the benchmarks share: the data folder, the threads, the machine, a table."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
import tracemalloc
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from skcalrank.data import each

__all__ = [
    "data_file",
    "data_folder",
    "describe_environment",
    "optional",
    "parser",
    "peak_bytes",
    "print_table",
    "print_threads",
]

VARIABLE = "SKCALRANK_DATA"
_SUFFIXES = ("", ".gz", ".xz")


def parser(doc, *, data=False):
    """An argument parser with ``--threads``, and ``--data`` for those who read files."""
    out = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    out.add_argument("--threads", type=int, default=1, help="threads of everybody (default 1)")
    if data:
        out.add_argument("--data", metavar="DIR", help=f"folder of data (default ${VARIABLE})")
    return out


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
        print(f"{name} is not installed: its rows are left out.")
        return None


def describe_environment(*packages, threads=None):
    """One line: versions, cores, and threads: the given number, else those of BLAS."""
    versions = ", ".join(f"{name} {_version(name)}" for name in ("skcalrank", *packages))
    if threads is None:
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        said = f"BLAS threads {max(pools, default='unknown')}"
    else:
        said = f"{threads} thread{'s' * (threads != 1)} for everybody"
    machine = f"{platform.machine()}, {n_cores()} cores, {said}"
    return f"Python {platform.python_version()}, {versions}; {machine}"


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

    The first row has what the cores can do at the time: of virtual ones several may share one.
    """
    calls = {"limit: logarithms in cache": logarithms, **calls}
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
    print(f"\nOne thread and all, least of {rounds} rounds:")
    names = [f"ms, {n} thread{'s' * (n != 1)}" for n in numbers]
    print_table(["", *names, "times faster"], rows)


def peak_bytes(call):
    """What the arrays that a call makes hold at most."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def print_table(columns, rows, file=None):
    """Print rows of strings, the first column flush left, the others flush right."""
    cells = [list(columns), *[[str(cell) for cell in row] for row in rows]]
    widths = [max(map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * width for width in widths])
    for first, *others in cells:
        tail = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        print("  ".join([first.ljust(widths[0]), *tail]), file=file, flush=True)
