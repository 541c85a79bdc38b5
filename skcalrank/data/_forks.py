"""Calls of libraries with threads of OpenMP in a forked process, which has none of these threads.

OpenMP keeps threads for each thread that calls it, and after a fork waits for them forever. A new
thread has none yet.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from .._threads import as_here, forget_threads, openmp

Result = TypeVar("Result")

_FORKS: list[int] = []


def is_forked() -> bool:
    """Return whether the process is a fork of one that had imported this package."""
    return bool(_FORKS)


def apart(call: Callable[..., Result], *args: Any, **options: Any) -> Result:
    """Call a function of a library; in a forked process in a thread of its own, and with one."""
    if not is_forked():
        return call(*args, **options)

    def limited() -> Result:
        with openmp().limit(limits=1):
            return call(*args, **options)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(as_here(limited)).result()


def _after_fork() -> None:
    _FORKS.append(os.getpid())
    forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
