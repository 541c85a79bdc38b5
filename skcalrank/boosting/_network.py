"""Workers in several processes, which exchange values through the first of them."""

from __future__ import annotations

import pickle
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hmac import compare_digest
from typing import Any, NamedTuple

from ..data import Workers

# Seconds between attempts to reach the first worker, which may not listen yet.
_PAUSE = 0.05

# Seconds in which who connects must show the key.
_HANDSHAKE = 10.0


class LostWorkerError(ConnectionError):
    """Another worker has failed, or does not answer in time."""


class Place(NamedTuple):
    """What a worker must know of the others: all that a cluster has to provide.

    By default a worker is alone.

    * `rank`: number of the worker, from 0.
    * `hosts`: names or addresses under which the workers reach each other, by rank.
    * `port`: free port of the first worker.
    * `key`: secret of this training, which others do not know.
    * `time_limit`: seconds to wait for an answer.
    """

    rank: int = 0
    hosts: Sequence[str] = ("localhost",)
    port: int = 0
    key: bytes = b""
    time_limit: float = float("inf")

    @contextmanager
    def connected(self) -> Iterator[Workers]:
        """Connect the workers, all of which must enter this context, until it ends."""
        if len(self.hosts) == 1:
            yield Workers()
            return
        with ExitStack() as opened:
            links = self._accepted(opened) if self.rank == 0 else [self._connected(opened)]
            for link in links:
                link.settimeout(self.time_limit)
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield _Connected(self, links)

    def _accepted(self, opened: ExitStack) -> list[Any]:
        """Return the connections of the other workers, by rank."""
        links: dict[int, Any] = {}
        deadline = time.monotonic() + self.time_limit
        with socket.create_server(("", self.port), backlog=len(self.hosts)) as server:
            while len(links) < len(self.hosts) - 1:
                server.settimeout(max(deadline - time.monotonic(), _PAUSE))
                try:
                    link = opened.enter_context(server.accept()[0])
                except TimeoutError as error:
                    missing = set(range(1, len(self.hosts))) - set(links)
                    raise self.lost(min(missing), "did not begin") from error
                link.settimeout(_HANDSHAKE)
                with suppress(OSError):  # of others than workers
                    if compare_digest(_received(link, len(self.key)), self.key):
                        links[struct.unpack("!I", _received(link, 4))[0]] = link
        return [links[rank] for rank in sorted(links)]

    def _connected(self, opened: ExitStack) -> Any:
        """Return the connection to the first worker."""
        deadline = time.monotonic() + self.time_limit
        while True:
            try:
                link = socket.create_connection((self.hosts[0], self.port), self.time_limit)
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    raise self.lost(0, "did not begin") from error
                time.sleep(_PAUSE)
        opened.enter_context(link).sendall(self.key + struct.pack("!I", self.rank))
        return link

    def lost(self, rank: int, what: str = "failed, or did not answer") -> LostWorkerError:
        """Return the error that another worker is lost."""
        return LostWorkerError(
            f"Worker {rank} on {self.hosts[rank]} {what} within {self.time_limit:g} seconds."
        )


class _Connected(Workers):
    """Several workers, connected to the first one.

    * `links`: connections to the other workers by rank; of these, to the first one only.
    """

    def __init__(self, place: Place, links: list[socket.socket]) -> None:
        self._place, self._links = place, links
        self.rank, self.size = place.rank, len(place.hosts)
        self.host, self.time_limit = place.hosts[place.rank], place.time_limit

    def reduce(self, value: Any, combine: Callable[[list[Any]], Any]) -> Any:
        if self.rank:
            self._send(0, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
            return self._receive(0)
        values = [value, *map(self._receive, range(1, self.size))]
        combined = pickle.dumps(combine(values), pickle.HIGHEST_PROTOCOL)
        for rank in range(1, self.size):
            self._send(rank, combined)
        return pickle.loads(combined)

    def leave(self) -> None:
        for link in self._links:
            link.close()

    def _link(self, rank: int) -> Any:
        return self._links[rank - 1 if self.rank == 0 else 0]

    def _send(self, rank: int, message: bytes) -> None:
        try:
            self._link(rank).sendall(struct.pack("!Q", len(message)) + message)
        except OSError as error:
            raise self._place.lost(rank) from error

    def _receive(self, rank: int) -> Any:
        link = self._link(rank)
        try:
            (length,) = struct.unpack("!Q", _received(link, 8))
            return pickle.loads(_received(link, length))
        except OSError as error:
            raise self._place.lost(rank) from error


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("", 0)) as server:
        return int(server.getsockname()[1])


def _received(link: socket.socket, length: int) -> bytearray:
    """Return so many bytes; raise OSError if the connection ends before, or takes too long."""
    message = bytearray(length)
    rest = memoryview(message)
    while rest:
        n_bytes = link.recv_into(rest)
        if not n_bytes:
            raise ConnectionResetError("The connection has ended.")
        rest = rest[n_bytes:]
    return message
