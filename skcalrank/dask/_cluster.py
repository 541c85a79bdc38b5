"""One function at once on all workers of a cluster, each with the partitions that it holds."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any

from ..boosting import LostWorkerError, Place, free_port

# Option of dask: how long the workers wait for each other, and its default.
_TIME_LIMIT, _USUAL = "skcalrank.time-limit", "5 minutes"

# Seconds between two looks at the workers, and that the others have to end when one has failed.
_LOOK, _GRACE = 0.5, 15.0


def client_in_use() -> Any:
    """Return the client of the cluster that computes collections, None if there is none."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "who_has") else None


def run_on_holders(
    client: Any, function: Callable[..., Any], given: Any, blocks: list[Any]
) -> list[Any]:
    """Return ``function(given, place, blocks)`` of each worker that holds some of the blocks.

    * `function`: what all workers run at once.
    * `given`: what all of them get.
    * `blocks`: partitions that have been computed.

    Returns `results`: by the number of the worker, that of its :class:`Place`.

    Raises Exception: that of the first worker that failed.
    Raises ConnectionError if a worker has died, or does not answer in time.
    """
    from distributed import MultiLock

    held = defaultdict(list)
    holders = client.who_has(blocks)
    for block in blocks:
        held[holders[block.key][0]].append(block)
    given = client.scatter(given, hash=False)
    # One training at a time: each of two could hold a worker that the other one waits for.
    with MultiLock(list(held), client):
        places = _places(client, list(held))
        tasks = {
            address: client.submit(
                function, given, place, held[address], workers=[address], pure=False
            )
            for address, place in places.items()
        }
        return _results(client, tasks)


def _places(client: Any, addresses: Any) -> Any:
    """Return the place of each worker."""
    import dask
    from dask.utils import parse_timedelta
    from distributed.comm import get_address_host

    place = partial(
        Place,
        hosts=list(map(get_address_host, addresses)),
        port=client.submit(free_port, workers=addresses[:1], pure=False).result(),
        key=secrets.token_bytes(32),
        time_limit=parse_timedelta(dask.config.get(_TIME_LIMIT, _USUAL)),
    )
    return {address: place(rank) for rank, address in enumerate(addresses)}


def _results(client: Any, tasks: Any) -> Any:
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
    client.cancel(list(pending.values()))
    if pending:
        _restart(client, pending.keys() - gone)
    if gone:
        raise ConnectionError(
            f"The workers {', '.join(sorted(gone))} died during the training, which needs all of "
            "them. See their logs, for example for a lack of memory, and fit again."
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
