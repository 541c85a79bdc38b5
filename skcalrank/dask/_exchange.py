"""What the workers of a fit exchange, by an actor of dask on the first of them."""

import asyncio
from collections.abc import Callable
from typing import Any

from ..data import LostWorkerError, Workers


class Exchange:
    """Where all workers of a fit meet.

    Its coroutines run on the loop of one worker. Functions and values travel there by themselves,
    so that functions must not close over rows.

    * `size`: number of workers.
    """

    def __init__(self, size: int) -> None:
        self._size, self._lost = size, ""
        self._waiting: dict[int, tuple[dict[int, Any], asyncio.Future[Any]]] = {}

    async def reduce(self, rank: int, step: int, value: Any, combine: Callable[..., Any]) -> Any:
        """Return ``combine`` of the list of the values of all workers at a step, by rank."""
        if self._lost:
            raise LostWorkerError(self._lost)
        new: Any = {}, asyncio.get_running_loop().create_future()
        values, result = self._waiting.setdefault(step, new)
        values[rank] = value
        if len(values) == self._size:
            del self._waiting[step]
            ordered = [values[number] for number in range(self._size)]
            try:
                result.set_result(await asyncio.to_thread(combine, ordered))
            except Exception as error:
                result.set_exception(error)
        return await result

    async def lose(self, reason: str) -> None:
        """Raise LostWorkerError for all workers that wait, and for those that come later."""
        self._lost = reason
        while self._waiting:
            _, (_, result) = self._waiting.popitem()
            result.set_exception(LostWorkerError(reason))


class OnCluster(Workers):
    """Workers of a cluster, which exchange values through the actor `exchange`."""

    def __init__(self, exchange: Any, rank: int, size: int, host: str, time_limit: float) -> None:
        self._exchange, self._step = exchange, 0
        self.rank, self.size, self.host, self.time_limit = rank, size, host, time_limit

    def reduce(self, value: Any, combine: Callable[[list[Any]], Any]) -> Any:
        if self.size == 1:
            return combine([value])
        self._step += 1
        call = self._exchange.reduce(self.rank, self._step, value, combine)
        try:
            return call.result(timeout=self.time_limit)
        except LostWorkerError:
            raise
        except (asyncio.TimeoutError, OSError) as error:
            raise LostWorkerError(
                f"A worker failed, or did not answer within {self.time_limit:g} seconds."
            ) from error

    def leave(self) -> None:
        self._exchange.lose(f"Worker {self.rank} on {self.host} failed.")
