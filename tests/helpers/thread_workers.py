"""Workers that fit together, each in a thread of this process."""

import asyncio
import concurrent.futures
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Thread

from skcalrank.dask import Exchange, OnCluster
from skcalrank.data import among

LIMIT = 20.0


class InThisProcess:
    """An exchange whose calls are those of an actor of dask; its loop runs in a thread."""

    def __init__(self, size):
        self._exchange, self._loop = Exchange(size), asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __getattr__(self, name):
        return partial(self._call, getattr(self._exchange, name))

    def _call(self, method, *args):
        return Answer(asyncio.run_coroutine_threadsafe(method(*args), self._loop))

    def close(self):
        self.lose("It is over.").result(LIMIT)  # after all calls before
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Answer:
    def __init__(self, future):
        self._future = future

    def result(self, timeout):
        try:
            return self._future.result(timeout)
        except concurrent.futures.TimeoutError:  # another one than that of asyncio in Python 3.10
            raise asyncio.TimeoutError from None


def on_workers(work, n, limit=LIMIT, most=60):
    """What ``work(rank)`` returns or raises on each of n workers."""
    exchange = InThisProcess(n)

    def run(rank):
        workers = OnCluster(exchange, rank, n, "127.0.0.1", limit)
        try:
            with among(workers):
                return work(rank)
        except Exception as error:
            workers.leave()  # as the client tells the others
            return error

    with ThreadPoolExecutor(n) as pool:
        results = list(pool.map(run, range(n), timeout=most))
    exchange.close()
    return results
