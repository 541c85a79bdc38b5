"""Processes that train together, each on rows of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class Workers:
    """The workers of one training, as one of them sees them: by itself, it is the only one.

    * `rank` (int): number of this worker, from 0.
    * `size` (int): number of workers.
    * `n_parts` (int): number of partitions of the rows of all of them.
    * `host` (str): name or address under which the others reach this worker.
    * `time_limit` (float): seconds after which a worker that does not answer is taken for lost.
    """

    rank = 0
    size = 1
    n_parts = 1
    host = "localhost"
    time_limit = float("inf")

    def reduce(self, value: Any, combine: Callable[[list[Any]], Any]) -> Any:
        """Return ``combine`` of the list of the values of all workers, by rank.

        The first worker combines them, so that the result is the same to the last bit for all. All
        workers must call it, in the same order.
        """
        return combine([value])

    def leave(self) -> None:
        """Let the others know, when they exchange values next, that this worker has failed."""

    def total(self, part: Callable[[], Any], add: Callable[[list[Any]], Any]) -> Any:
        """Return the sum of what all workers make of their rows.

        `add` is associative: it may be called with some of the parts, and then with their sums.
        `part` is not called where the sum is known already.
        """
        return self.reduce(part(), add)

    def deal(self, part: Any, combine: Callable[[list[Any]], list[Any]]) -> Any:
        """Return what `combine`, which returns a list by rank, makes of all parts for this one."""
        return self.reduce(part, combine)[self.rank]

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all workers, by rank."""
        return self.reduce(value, list)


#: A process that has all rows.
ALONE = Workers()

_OF_FIT: ContextVar[Workers] = ContextVar("workers", default=ALONE)


def workers_of_fit() -> Workers:
    """Return the workers that fit an estimator together with this one."""
    return _OF_FIT.get()


@contextmanager
def among(workers: Workers) -> Iterator[None]:
    """Let all fits in this context be those of several workers, each of which has whole queries."""
    token = _OF_FIT.set(workers)
    try:
        yield
    finally:
        _OF_FIT.reset(token)
