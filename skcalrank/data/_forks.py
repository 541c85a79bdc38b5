"""Calls of libraries with threads of OpenMP in a forked process, which has none of these threads.

OpenMP keeps threads for each thread that calls it, and after a fork waits for them forever. A new
thread has none yet.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context, get_config

from ._threads import openmp

Result = TypeVar("Result")

_FORKS: list[int] = []


def is_forked() -> bool:
    """Return whether the process is a fork of one that had imported this package."""
    return bool(_FORKS)


def apart(call: Callable[..., Result], *args: Any, **options: Any) -> Result:
    """Call a function of a library; in a forked process in a thread of its own, and with one."""
    if not is_forked():
        return call(*args, **options)
    config, errors = get_config(), np.geterr()  # of each thread, until numpy 2

    def configured() -> Result:
        with config_context(**config), np.errstate(**errors), openmp().limit(limits=1):
            return call(*args, **options)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, configured).result()


def _after_fork() -> None:
    _FORKS.append(os.getpid())
    openmp.cache_clear()  # libraries may have been loaded since


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
