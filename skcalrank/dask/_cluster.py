"""One function at once on all workers of a cluster, each with the partitions that it holds."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from ..data import LostWorkerError, among
from ._exchange import Exchange, OnCluster

# Option of dask: how long the workers wait for each other, and its default.
_TIME_LIMIT, _USUAL = "skcalrank.time-limit", "5 minutes"

# What a fit by several passes needs, and the remedy.
IN_MEMORY = (
    "its rows in memory: use more of it, or read files some rows at a time, by fit_chunks of "
    "TabularRanker or partial_fit of rankers in closed form."
)

# Seconds between two looks at the workers, and that the others have to end when one has failed.
_LOOK, _GRACE = 0.5, 15.0


def client_in_use() -> Any:
    """Return the client of the cluster that computes collections, None if there is none."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "who_has") else None


def run_on_holders(
    client: Any, function: Callable[..., Any], given: Any, blocks: list[tuple[Any, bool]]
) -> list[Any]:
    """Return ``function(given, blocks)`` of each worker that holds some of the blocks.

    * `function`: what all workers run at once, among each other.
    * `given`: what all of them get.
    * `blocks`: partitions that have been computed, and whether they count: a worker that holds none
      that do gives them to the first of the others.

    Returns `results`: by the rank of the worker.

    Raises Exception: that of the first worker that failed.
    Raises ConnectionError if a worker has died, or does not answer in time.
    """
    import dask
    from dask.utils import parse_timedelta
    from distributed import MultiLock

    of_block = client.who_has([block for block, _ in blocks])
    holders = [of_block[block.key][0] for block, _ in blocks]
    of_use = [holder for holder, (_, counts) in zip(holders, blocks) if counts]
    held = defaultdict(list)
    for holder, (block, _) in zip(holders, blocks):
        held[holder if holder in of_use else of_use[0]].append(block)
    given = client.scatter(given, hash=False)
    time_limit = parse_timedelta(dask.config.get(_TIME_LIMIT, _USUAL))
    # One fit at a time: each of two could hold a worker that the other one waits for.
    with MultiLock(list(held), client):
        exchange = _submitted(client, next(iter(held)), Exchange, len(held), actor=True)
        exchange.result()
        tasks = {
            address: _submitted(
                *(client, address, _on_worker, function, given, exchange),
                *(rank, len(held), address, time_limit, held[address]),
                key=f"{function.__name__}-{exchange.key}-{rank}",
            )
            for rank, address in enumerate(held)
        }
        return _results(client, tasks, exchange)


def _submitted(client: Any, address: str, *call: Any, **options: Any) -> Any:
    """Return the future of a call on one worker, and on no other."""
    return client.submit(
        *call, workers=[address], allow_other_workers=False, retries=0, pure=False, **options
    )


def _on_worker(
    function: Callable[..., Any],
    given: Any,
    exchange: Any,
    rank: int,
    size: int,
    address: str,
    time_limit: float,
    blocks: list[Any],
) -> Any:
    """Return ``function(given, blocks)`` as one of several workers."""
    from distributed.comm import get_address_host

    with among(OnCluster(exchange, rank, size, get_address_host(address), time_limit)):
        return function(given, blocks)


def _results(client: Any, tasks: Any, exchange: Any) -> Any:
    """Return the results of tasks by the address of the worker; raise if a worker fails."""
    gone, deadline = set(), float("inf")
    while pending := {a: task for a, task in tasks.items() if not task.done()}:
        if time.monotonic() > deadline:
            break
        _wait_for(pending.values())
        gone |= set(tasks) - set(client.nthreads())
        ended = [task.status for task in tasks.values() if task.done()]
        if deadline == float("inf") and (gone or set(ended) - {"finished"}):
            deadline = time.monotonic() + _GRACE
            with suppress(Exception):  # the worker of the exchange is gone
                exchange.result(timeout=_LOOK).lose("Another worker failed.")
    client.cancel(list(pending.values()))
    if pending:
        _restart(client, pending.keys() - gone)
    if gone:
        raise ConnectionError(
            f"The workers {', '.join(sorted(gone))} died during the training, which needs all of "
            f"them, and {IN_MEMORY} See their logs."
        )
    errors = [task.exception() for task in tasks.values() if task.status == "error"]
    # Others that fail first have lost the worker that failed by itself.
    for error in sorted(errors, key=lambda error: isinstance(error, LostWorkerError)):
        raise error
    return [task.result() for task in tasks.values()]


def _wait_for(tasks: Any) -> None:
    from distributed import wait

    # What a dead worker had to do is cancelled; Python 3.10 has another TimeoutError for asyncio.
    with suppress(asyncio.TimeoutError, CancelledError):
        wait(list(tasks), timeout=_LOOK, return_when="FIRST_COMPLETED")


def _restart(client: Any, addresses: Any) -> None:
    """Restart workers that wait inside a library for one that has failed."""
    with suppress(ValueError):  # they have no nanny
        client.restart_workers(list(addresses), timeout=_GRACE, raise_for_error=False)
