"""Parallel work on chunks of data, with bitwise identical results for any number of threads.

Matrix products of chunks are too small for BLAS to gain from several threads. Here each thread
takes a chunk of its own, and BLAS runs on one thread meanwhile.

The threads are not those of ``joblib.Parallel``, which starts them anew in each call and looks for
results every 10 ms: a fit makes dozens of calls of few milliseconds, and took 1.5 to 8 times as
long. ``threadpool_limits`` is not enough where calls overlap, see `_Blas`.
"""

from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from functools import cache, partial
from threading import Condition, RLock
from time import perf_counter
from typing import Any, Generic, TypeVar

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

# Matrices with at most this many cells are decomposed on one thread.
_SMALL = 1 << 18


def _ignore(result: Any) -> None:
    """Discard a result."""


def each(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    merge: Callable[[Result], Any] = _ignore,
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
    with nullcontext(0) if most < 2 else _BLAS.single(min(n_items, most) - 1) as n_more:
        items = iter(items)
        if n_more and not long and _MANY <= n_items < np.inf:
            start = perf_counter()
            merge(work(next(items)))
            n_more = n_more if (perf_counter() - start) * n_items > _WORTH_THREADS else 0
        if n_more:
            ahead = np.inf if merge is _ignore else min(_AHEAD * (1 + n_more), most)
            _Run(work, items, merge, ahead).finish(n_more)
        for item in items:
            merge(work(item))


def one_blas_thread(n_cells: int) -> AbstractContextManager[int]:
    """Limit BLAS to one thread for a matrix that is so small that more threads are slower."""
    return nullcontext(0) if n_cells > _SMALL else _BLAS.single(0)


def as_here(call: Callable[[], Result]) -> Callable[[], Result]:
    """Return a call for another thread, with the context and the settings of this one."""
    # numpy keeps its error settings in the context, or before version 2.2 per thread, as
    # scikit-learn keeps its configuration.
    errors: dict[str, Any] = {**np.geterr(), "call": np.geterrcall()}
    config = get_config()

    def configured() -> Result:
        with np.errstate(**errors), config_context(**config):
            return call()

    return partial(copy_context().run, configured)


class _Run(Generic[Item, Result]):
    """Items that several threads take, and results that wait to be merged in order."""

    def __init__(
        self,
        work: Callable[[Item], Result],
        items: Iterator[Item],
        merge: Callable[[Result], Any],
        ahead: float,
    ) -> None:
        self.work, self.items, self.merge, self.ahead = work, items, merge, ahead
        self.changed = Condition()
        self.taken = self.merged = 0
        self.waiting: dict[int, Result] = {}
        # Number of the first item that is missing, or failed by an error.
        self.end: float = np.inf
        self.error: BaseException | None = None

    def finish(self, n_more: int) -> None:
        """Process all items, with `n_more` threads in addition to the calling one."""
        helpers: list[Future[None]] = []
        try:
            self._ask(n_more, helpers)
            self._go_on()
            with self.changed:
                self.changed.wait_for(lambda: self.merged >= self.end)
        finally:
            # Whatever happens in between, no thread waits forever.
            self._stop(0, self.error)
            wait([helper for helper in helpers if not helper.cancel()])
            # Cancelled helpers and the traceback of the error refer to this object: free its data.
            error = self.error
            vars(self).clear()
        try:
            if error is not None:
                raise error
        finally:
            del error

    def _ask(self, n_more: int, helpers: list[Future[None]]) -> None:
        try:
            for _ in range(n_more):
                helpers.append(_pool().submit(as_here(self._go_on)))
        except RuntimeError:  # no thread can be started: the threads there are do all the work
            # The pool accepted the call without a thread for it, and would count one as idle.
            _pool.cache_clear()

    def _go_on(self) -> None:
        """Process items until there are none left, or one of them failed."""
        number = 0
        try:
            while True:
                with self.changed:
                    while self.merged + self.ahead <= self.taken < self.end:
                        self.changed.wait(_SECONDS_ASLEEP)
                    number, self.taken = self.taken, self.taken + 1
                    item: Any = next(self.items, self) if number < self.end else self
                    if item is self:
                        return self._stop(number)
                result = self.work(item)
                with self.changed:
                    self.waiting[number] = result
                    while self.merged in self.waiting and self.merged < self.end:
                        number = self.merged
                        self.merge(self.waiting.pop(number))
                        self.merged += 1
                    self.changed.notify_all()
        except BaseException as error:
            self._stop(number, error)

    def _stop(self, number: float, error: BaseException | None = None) -> None:
        """Merge nothing from an item on, which failed by an error or is missing."""
        with self.changed:
            if number < self.end:
                self.end, self.error = number, error
            self.changed.notify_all()


class _Blas:
    """The number of threads of BLAS, which is one while anybody uses it so.

    The first user who enters sets the number, and the last one who leaves restores it. If every
    user restored the number found, as those of threadpoolctl do, overlapping users could leave
    BLAS at one thread.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.users: dict[object, int] = {}  # how many threads each user has added
        self.found: list[tuple[Any, int]] = []

    @contextmanager
    def single(self, n_wanted: float) -> Iterator[int]:
        """Set BLAS to one thread, and yield how many threads to add, at most `n_wanted`."""
        if n_wanted <= 0 and not self.users and all(n == 1 for _, n in _numbers()):
            yield 0
            return
        user = object()
        try:
            with self.lock:
                if not self.users:
                    self._restore()
                    self.found = _numbers()
                for lib, n in self.found:
                    if n > 1:
                        _set_threads(lib, 1)
                n_free = n_threads([n for _, n in self.found]) - 1 - sum(self.users.values())
                # A thread that limits BLAS for itself may prevent other threads from setting it.
                if any(n > 1 for _, n in _numbers()):
                    n_free = 0
                n_more = self.users[user] = max(0, int(min(n_free, n_wanted)))
            yield n_more
        finally:
            with self.lock:
                self.users.pop(user, None)
                if not self.users:
                    self._restore()

    def _restore(self) -> None:
        for lib, n in self.found:
            if n > 1 and lib.get_num_threads() == 1:
                _set_threads(lib, n)
        self.found = []

    def forget(self) -> None:
        """Forget all users and restore BLAS, in a fork that may have inherited a held lock."""
        self.lock = RLock()
        self.users.clear()
        self._restore()


_BLAS = _Blas()


def forget_threads() -> None:
    """Forget the threads of the parent in a forked process, and libraries loaded before it."""
    _pool.cache_clear()
    openmp.cache_clear()
    _BLAS.forget()


@cache
def _pool() -> ThreadPoolExecutor:
    """Return a pool that is shared by all runs, since starting threads takes time."""
    return ThreadPoolExecutor(_n_cores(), "skcalrank")


def _numbers() -> list[tuple[Any, int]]:
    """Return the BLAS libraries and their numbers of threads."""
    return [(lib, lib.get_num_threads() or 1) for lib in _libraries()]


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
