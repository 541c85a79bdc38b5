"""Parallel work on chunks of data, with bitwise identical results for any number of threads.

Matrix products of chunks are too small for BLAS to gain from several threads. Here each thread
takes a chunk of its own, and BLAS runs on one thread meanwhile.
"""

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

# Number of results per thread that may wait for the result of an earlier item.
_AHEAD = 4

# With at least _MANY items, the first one is timed: threads are used if all items together are
# expected to take longer than _WORTH_THREADS seconds.
_MANY = 8
_WORTH_THREADS = 3e-3

# A waiting thread checks after this many seconds whether there is still something to wait for.
_SECONDS_ASLEEP = 1.0

# Size of the thread pool: more than any machine has cores. BLAS determines how many are used.
_MOST_THREADS = 1 << 10

# Matrices with at most this many cells are decomposed on one thread.
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

    Results are passed to `merge` by one thread at a time, in the order of the items. If calls
    raise exceptions, the exception of the first such item is raised, after the results of all
    earlier items are merged.

    If the number of items is known and large, the first item is timed to decide whether threads
    pay off for the others, unless `long` says that each item takes long. At most `most` results
    are held at a time; if `most` is below 2, items are processed one by one, and BLAS uses all
    threads. Calls may be nested, and several threads of the user may call at the same time: all
    calls together add as many threads as BLAS would use.
    """
    n_items = len(items) if isinstance(items, Sized) else np.inf
    if n_items == 1 and _BLAS.is_single():
        for item in items:
            result = work(item)
            if merge is not None:
                merge(result)
        return
    run = _Run(work, items, merge)
    try:
        n_more = 0 if most < 2 else _BLAS.enter(run, min(n_items, most) - 1)
        run.start(n_more, np.inf if long else n_items, most)
    finally:
        # Whatever happens in between, no thread waits forever.
        run.end = 0
        try:
            run.stop()
        finally:
            _BLAS.leave(run)


@contextmanager
def one_blas_thread(n_cells: int) -> Iterator[None]:
    """Limit BLAS to one thread for a matrix that is so small that more threads are slower."""
    if n_cells > _SMALL or _BLAS.is_single():
        yield
        return
    run: _Run[float, float] = _Run(abs, ())
    try:
        _BLAS.enter(run, 0)
        yield
    finally:
        _BLAS.leave(run)


class _Run(Generic[Item, Result]):
    """One call of `each`: items that threads take, and results that wait to be merged."""

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
        """Process all items, with `n_more` threads in addition to the calling one."""
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
                # The traceback of the error refers to this object: break the cycle.
                self.error = None

    def _is_long(self, n_items: float) -> bool:
        """Process the first item, and return whether more threads pay off for the others."""
        start = perf_counter()
        self._step()
        return (perf_counter() - start) * n_items > _WORTH_THREADS

    def _ask_for_help(self, n_more: int) -> None:
        settings = {**np.geterr(), "call": np.geterrcall()}, get_config()
        for _ in range(n_more):
            # numpy keeps its error settings in the context, or before version 2.2 per thread, as
            # scikit-learn keeps its configuration.
            context = copy_context()
            try:
                self.helpers.append(_pool().submit(context.run, self._help, *settings))
            except RuntimeError:  # no thread can be started: the threads there are do all the work
                # The pool accepted the call without a thread for it, and would count one as idle.
                _pool.cache_clear()
                break

    def stop(self) -> None:
        """Start no more items, and wait for the items that were started."""
        self.end = 0
        if self.helpers:
            self._wait()
        # A helper that has not begun yet still refers to this object: free what it holds.
        del self.work, self.items, self.merge
        self.waiting.clear()

    def _wait(self) -> None:
        """Wait for the helper threads that have begun, and cancel the others."""
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
        """Process items until there are none left, or an earlier item raised an error."""
        while self._step():
            pass

    def _step(self) -> bool:
        """Process the next item, and return whether it was there and raised no error."""
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
        """Record an error to raise at the end, unless an earlier item raised one."""
        if number < self.end:
            self.end, self.error = number, error
            self.changed.notify_all()


class _Blas:
    """The number of threads of BLAS, which is one while any `_Run` is active.

    The first run that enters sets the number, and the last run that leaves restores it. If every
    run restored the number that it found, overlapping runs could leave BLAS at one thread.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        # How many threads each run has added. A run that an interrupt kept from leaving is dropped
        # with its frame.
        self.runs: WeakKeyDictionary[_Run[Any, Any], int] = WeakKeyDictionary()
        self.found: list[tuple[Any, int]] = []

    def is_single(self) -> bool:
        """Return whether BLAS has one thread, and no run that may give it more when it ends."""
        return not self.runs and all((lib.get_num_threads() or 1) == 1 for lib in _libraries())

    def enter(self, run: _Run[Any, Any], n_wanted: float) -> int:
        """Register a run, and return how many threads it may add, at most `n_wanted`."""
        with self.lock:
            if not self.runs:
                self._restore()
                self.found = [(lib, lib.get_num_threads() or 1) for lib in _libraries()]
            for lib, n in self.found:
                if n > 1:
                    _set_threads(lib, 1)
            n_free = n_threads([n for _, n in self.found]) - 1 - sum(self.runs.values())
            # A thread that limits BLAS for itself may prevent other threads from setting it.
            if any((lib.get_num_threads() or 1) > 1 for lib, _ in self.found):
                n_free = 0
            self.runs[run] = max(0, int(min(n_free, n_wanted)))
            return self.runs[run]

    def leave(self, run: _Run[Any, Any]) -> None:
        """Remove a run, and restore the number of threads of BLAS after the last run."""
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
        """Reset a forked child, which has no other threads and may inherit a held lock."""
        _pool.cache_clear()
        self.lock = RLock()
        self.runs = WeakKeyDictionary()
        self._restore()


_BLAS = _Blas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS.after_fork)


@cache
def _pool() -> ThreadPoolExecutor:
    """Return a pool that is shared by all runs, since starting threads takes time."""
    return ThreadPoolExecutor(_MOST_THREADS, "skcalrank")


def _set_threads(lib: Any, n: int) -> None:
    lib.set_num_threads(n)
    # Since threadpoolctl 3.8, the thread that sets the number becomes the only one that can set it.
    if hasattr(lib, "clear_controlling_thread"):
        lib.clear_controlling_thread()


@cache
def _libraries() -> list[Any]:
    """Return the BLAS libraries; cached because finding them takes milliseconds."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@cache
def openmp() -> ThreadpoolController:
    """Return the controller of the OpenMP libraries, cached as well."""
    return ThreadpoolController().select(user_api="openmp")


def openmp_threads() -> int:
    """Return the number of threads that OpenMP takes by default, as limited by joblib and users."""
    return min([_n_cores(), *(lib.get_num_threads() or 1 for lib in openmp().lib_controllers)])


def n_threads(of_blas: list[int]) -> int:
    """Return the number of threads to use, given the number of threads of each BLAS library.

    Environment variables, threadpoolctl and joblib set the numbers of the libraries. Without a
    library that threadpoolctl knows the answer is 1, because an unknown one, such as Accelerate,
    may use threads by itself.
    """
    return min(*of_blas, _n_cores()) if of_blas else 1


@cache
def _n_cores() -> int:
    """Return the number of cores that the process may use."""
    return int(cpu_count())
