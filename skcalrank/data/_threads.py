"""Work on pieces of data side by side: the same result, to the last bit, for any number of threads.

Products of chunks are too small for the threads of BLAS. Here each thread takes a chunk of its own,
and BLAS runs on one thread meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Condition, Lock, RLock
from time import perf_counter
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from joblib import cpu_count
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# Up to so many results of each thread wait for one of an earlier item.
_AHEAD = 4

# Of so many items the first one tells whether all take so long, in seconds, that threads help.
_MANY = 8
_WORTH_THREADS = 3e-3

# After so long a thread that waits looks whether there is still something to wait for.
_SECONDS_ASLEEP = 1.0

# As many as no machine has cores: how many there are is told by BLAS.
_MOST_THREADS = 1 << 10

# Matrices with up to so many cells are decomposed on one thread.
_SMALL = 1 << 18


def each(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    merge: Callable[[Result], Any] | None = None,
    *,
    most: float = np.inf,
    long: bool = False,
) -> None:
    """Call a function on each item, on several threads where BLAS would use several.

    What it returns is handed to `merge` by one thread at a time, in the order of the items. An
    exception of the first item that raises one is raised, after the items before are merged.
    Of many items whose number is known the first one tells whether the others are worth threads,
    unless each of them is `long` for sure. `most` is the largest number of results held at a time;
    where it is below 2, items come one by one and BLAS has all threads. Calls may be nested, and
    made by threads of the user: all of them together add as many threads to those that call as
    BLAS would.
    """
    run = _Run(work, items, merge)
    n_items = len(items) if isinstance(items, Sized) else np.inf
    try:
        n_more = 0 if most < 2 else _BLAS.enter(run, min(n_items, most) - 1)
        run.start(n_more, np.inf if long else n_items, most)
    finally:
        # Whatever comes in between, no thread waits for ever.
        run.end = 0
        try:
            run.stop()
        finally:
            _BLAS.leave(run)


@contextmanager
def one_blas_thread(n_cells: int) -> Iterator[None]:
    """Give BLAS one thread for a matrix so small that more of them take longer."""
    if n_cells > _SMALL:
        yield
        return
    run: _Run[float, float] = _Run(abs, ())
    try:
        _BLAS.enter(run, 0)
        yield
    finally:
        _BLAS.leave(run)


class _Run(Generic[Item, Result]):
    """Items that are taken by threads, and results that wait for their turn."""

    def __init__(
        self,
        work: Callable[[Item], Result],
        items: Iterable[Item],
        merge: Callable[[Result], Any] | None = None,
    ) -> None:
        self.work, self.items, self.merge = work, iter(items), merge
        self.lock = Lock()
        self.changed = Condition(self.lock)
        self.taken = self.merged = 0
        self.end: float = np.inf
        self.ahead: float = np.inf
        self.waiting: dict[int, Result] = {}
        self.error: BaseException | None = None
        self.helpers: list[Future[None]] = []
        self.n_helping = 0

    def start(self, n_more: int, n_items: float, most: float) -> None:
        """Work on all items, with so many threads beside the one that calls."""
        if not n_more:
            for item in self.items:
                result = self.work(item)
                if self.merge is not None:
                    self.merge(result)
            return
        self.ahead = np.inf if self.merge is None else min(_AHEAD * (1 + n_more), most)
        if not _MANY <= n_items < np.inf or self._is_long(n_items):
            self._ask_for_help(n_more)
        self._go_on()
        self._wait()
        if self.error is not None:
            try:
                raise self.error
            finally:
                # It holds the frames that hold this.
                self.error = None

    def _is_long(self, n_items: float) -> bool:
        """Work on the first item, and return whether the others are worth more threads."""
        start = perf_counter()
        self._step()
        return (perf_counter() - start) * n_items > _WORTH_THREADS

    def _ask_for_help(self, n_more: int) -> None:
        settings = {**np.geterr(), "call": np.geterrcall()}, get_config()
        for _ in range(n_more):
            # numpy keeps its settings in the context, or before version 2.2 beside the thread, as
            # scikit-learn does.
            context = copy_context()
            try:
                self.helpers.append(_pool().submit(context.run, self._help, *settings))
            except RuntimeError:  # no more threads, or none any more: the others do all
                # The pool took the call without a thread for it, and would count one as idle.
                _pool.cache_clear()
                break

    def stop(self) -> None:
        """Begin no more items, and wait for those that were begun."""
        self.end = 0
        if self.helpers:
            self._wait()
        # A thread that has not begun holds this until it does.
        del self.work, self.items, self.merge
        self.waiting.clear()

    def _wait(self) -> None:
        """Wait for the threads that have begun; others find nothing to do."""
        for helper in self.helpers:
            helper.cancel()
        with self.lock:
            self.changed.notify_all()
            while self.n_helping:
                self.changed.wait()
        self.helpers = []

    def _help(self, errors: dict[str, Any], config: dict[str, Any]) -> None:
        with self.lock:
            self.n_helping += 1
        try:
            with np.errstate(**errors), config_context(**config):
                self._go_on()
        except BaseException as error:
            with self.lock:
                self._fail(0, error)
        finally:
            with self.lock:
                self.n_helping -= 1
                self.changed.notify_all()

    def _go_on(self) -> None:
        """Take items until there are none left, or one before raised an error."""
        while self._step():
            pass

    def _step(self) -> bool:
        """Work on the next item; return whether there was one."""
        taken = self._take()
        if taken is None:
            return False
        number, item = taken
        try:
            result = self.work(item)
        except Exception as error:
            with self.lock:
                self._fail(number, error)
            return False
        with self.lock:
            self.waiting[number] = result
            self._merge()
        return True

    def _take(self) -> tuple[int, Item] | None:
        with self.lock:
            while self.merged + self.ahead <= self.taken < self.end:
                self.changed.wait(_SECONDS_ASLEEP)
            if self.taken >= self.end:
                return None
            number = self.taken
            try:
                item = next(self.items)
            except StopIteration:
                self.end = min(self.end, number)
                self.changed.notify_all()
                return None
            except Exception as error:
                self._fail(number, error)
                return None
            self.taken += 1
            return number, item

    def _merge(self) -> None:
        while self.merged in self.waiting and self.merged < self.end:
            result = self.waiting.pop(self.merged)
            if self.merge is not None:
                try:
                    self.merge(result)
                except Exception as error:
                    self._fail(self.merged, error)
                    return
            self.merged += 1
        self.changed.notify_all()

    def _fail(self, number: int, error: BaseException) -> None:
        """Raise the error in the end, unless an item before raises one."""
        if number < self.end:
            self.end, self.error = number, error
            self.changed.notify_all()


class _Blas:
    """Number of threads of BLAS: one, as long as anybody runs items.

    The first one in sets it and the last one out restores it. Were each to restore what it found,
    one that ends after another would leave one thread for good.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        # How many threads each run has added. Where an interrupt kept a run from leaving, it is
        # gone with its frame.
        self.runs: WeakKeyDictionary[_Run[Any, Any], int] = WeakKeyDictionary()
        self.found: list[tuple[Any, int]] = []

    def enter(self, run: _Run[Any, Any], n_wanted: float) -> int:
        """Return how many threads may be added, at most so many."""
        with self.lock:
            if not self.runs:
                self._restore()
                self.found = [(lib, lib.get_num_threads() or 1) for lib in _libraries()]
            for lib, n in self.found:
                if n > 1:
                    _set_threads(lib, 1)
            n_free = n_threads([n for _, n in self.found]) - 1 - sum(self.runs.values())
            # A thread that limits BLAS for itself may keep others from that.
            if any((lib.get_num_threads() or 1) > 1 for lib, _ in self.found):
                n_free = 0
            self.runs[run] = max(0, int(min(n_free, n_wanted)))
            return self.runs[run]

    def leave(self, run: _Run[Any, Any]) -> None:
        """Forget a run, and restore the threads of BLAS after the last one."""
        with self.lock:
            self.runs.pop(run, None)
            if not self.runs:
                self._restore()

    def _restore(self) -> None:
        for lib, n in self.found:
            if n > 1 and lib.get_num_threads() == 1:
                _set_threads(lib, n)
        self.found = []

    def after_fork(self) -> None:
        """Restore in the child, which has no other threads, and in which the lock may be held."""
        _pool.cache_clear()
        self.lock = RLock()
        self.runs = WeakKeyDictionary()
        self._restore()


_BLAS = _Blas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS.after_fork)


@cache
def _pool() -> ThreadPoolExecutor:
    """Return idle threads, which take less to find than to start; runs say how many are at work."""
    return ThreadPoolExecutor(_MOST_THREADS, "skcalrank")


def _set_threads(lib: Any, n: int) -> None:
    lib.set_num_threads(n)
    # Since threadpoolctl 3.8 a thread that sets the number is the only one that can.
    if hasattr(lib, "clear_controlling_thread"):
        lib.clear_controlling_thread()


@cache
def _libraries() -> list[Any]:
    """Return the BLAS libraries, which take milliseconds to find."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def n_threads(of_blas: list[int]) -> int:
    """Return the number of threads to use, from that of each BLAS library.

    Environment variables, threadpoolctl and joblib set the latter. One that threadpoolctl does not
    know, such as Accelerate, may use threads by itself.
    """
    return min(*of_blas, _n_cores()) if of_blas else 1


@cache
def _n_cores() -> int:
    """Return the number of cores, of those of the machine that the process may use."""
    return int(cpu_count())
