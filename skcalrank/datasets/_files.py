"""Reading of files, compressed or not, in blocks of lines and in chunks of whole queries."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..columns.types import Array
from ..data import check

#: How to open a file, by its suffix; all others are plain.
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

#: A matrix above this size is refused where the same fits into much less memory.
LARGE_BYTES = 1 << 30

# Lines are read in blocks of about this size, which fit into the cache of a core. Smaller pieces
# would make the threads that decompress and those that parse wait for each other.
_BLOCK_BYTES = 1 << 19

# Number of blocks that are decompressed before they are needed.
_N_AHEAD = 3

# Size of the longest line, and most memory of a decoder; xz -9 needs 65 MB.
_LONGEST_LINE = 1 << 28
_DECODER_BYTES = 1 << 28

_LONE_RETURN = re.compile(rb"\r(?!\n|\Z)")

_DECODERS: dict[str, Callable[[], Any]] = {
    ".gz": partial(zlib.decompressobj, 16 + zlib.MAX_WBITS),
    ".bz2": bz2.BZ2Decompressor,
    ".xz": partial(lzma.LZMADecompressor, memlimit=_DECODER_BYTES),
}


def without_packing(path: Path) -> Path:
    """Return a path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix.lower() in OPENERS else path


def needs(package: str) -> Any:
    """Return a module that tables need, or raise an error with the remedy."""
    name = package.partition(".")[0]
    return check.installed(package, f'Reading tables needs {name}: pip install "skcalrank[files]"')


def refuse_pipe(path: Path) -> None:
    """Raise for a pipe or a device, which cannot be read a second time."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} is a pipe or a device, and a file is read more than once: save it first."
        )


def refuse_damaged(path: Path) -> None:
    """Raise for a compressed file that is damaged, which may be known only at its end."""
    if path.suffix.lower() in OPENERS and path.is_file():
        deque(_pieces(path, _BLOCK_BYTES), maxlen=0)


@contextmanager
def reading(path: Any) -> Iterator[None]:
    """Turn the errors that readers raise for a damaged file into a ValueError that names it.

    Errors of the system, such as that there is no such file, stay as they are.
    """
    try:
        yield
    except (MemoryError, ImportError, Warning):
        raise
    except Exception as error:
        is_of_system = isinstance(error, OSError) and error.errno is not None
        if is_of_system or (isinstance(error, ValueError) and path.name in str(error)):
            raise
        raise ValueError(f"cannot read {path}: {str(error) or type(error).__name__}") from error


class Block(NamedTuple):
    """Whole lines of a file, the number of the first one, counted from 1, and their number."""

    content: bytes
    first: int
    n_lines: int


def line_blocks(
    source: Path | bytes, n_bytes: int | None = None, *, any_end: bool = False
) -> Generator[Block]:
    """Yield the lines of a plain or compressed file, or of its content, in blocks.

    A block has about so many bytes, or fewer. A thread of its own decompresses a file while the
    blocks before are used. A carriage return without a line feed is an error unless `any_end`.
    """
    n_bytes = min(n_bytes or _BLOCK_BYTES, _BLOCK_BYTES)
    if isinstance(source, bytes):
        pieces = (source[i : i + n_bytes] for i in range(0, len(source), n_bytes))
        return _whole_lines(pieces, "the content", any_end)
    blocks = _whole_lines(_pieces(source, n_bytes), source, any_end)
    return _ahead(blocks) if source.suffix.lower() in OPENERS else blocks


def is_larger_unpacked(path: Path, n_bytes: int) -> bool:
    """Return whether the content of a plain or compressed file has more than so many bytes."""
    if path.stat().st_size > n_bytes or path.suffix.lower() not in OPENERS:
        return path.stat().st_size > n_bytes
    with closing(_pieces(path, _BLOCK_BYTES)) as pieces:
        return any(size > n_bytes for size in accumulate(map(len, pieces)))


def _pieces(path: Path, n_bytes: int) -> Generator[bytes]:
    """Yield the decompressed content of a file, at most so many bytes at a time."""
    with reading(path), open(path, "rb") as file:
        read, decoder = partial(file.read, n_bytes), _DECODERS.get(path.suffix.lower())
        yield from _unpacked(read, decoder, n_bytes) if decoder else iter(read, b"")


def _unpacked(
    read: Callable[[], bytes], decoder: Callable[[], Any], n_bytes: int
) -> Generator[bytes]:
    """Yield the content of the members of a compressed file.

    Before Python 3.12, GzipFile takes the global interpreter lock every 8 kB.
    """
    packed = read()
    while packed:
        member = decoder()
        while not member.eof:
            if not packed and getattr(member, "needs_input", True):
                raise EOFError("the compressed data end before their end-of-stream marker")
            yield member.decompress(packed, n_bytes)
            # Decoders of zlib give back what they have not used, the others keep it.
            packed = getattr(member, "unconsumed_tail", b"")
            if not (packed or member.eof) and getattr(member, "needs_input", True):
                packed = read()
        # Zeros may fill up a file behind its members.
        packed = member.unused_data.lstrip(b"\0")
        while not packed and (more := read()):
            packed = more.lstrip(b"\0")


def _whole_lines(pieces: Iterable[bytes], name: Any, any_end: bool) -> Generator[Block]:
    """Yield pieces of text as blocks that end where a line ends, behind a byte-order mark."""
    first, n_begun = 1, 0
    begun: list[bytes] = []
    for piece in pieces:
        head, newline, tail = piece.rpartition(b"\n")
        if newline:
            block = _block(b"".join([*begun, head, newline]), first, name, any_end)
            yield block
            first, n_begun, begun = first + block.n_lines, 0, []
        n_begun += len(tail)
        if n_begun > _LONGEST_LINE:
            raise ValueError(f"{name}, line {first} has more than {_LONGEST_LINE:,} bytes.")
        begun.append(tail)
    if rest := b"".join(begun):
        yield _block(rest, first, name, any_end)


def _block(content: bytes, first: int, name: Any, any_end: bool) -> Block:
    content = content.removeprefix(codecs.BOM_UTF8) if first == 1 else content
    if not any_end and b"\r" in content and (alone := _LONE_RETURN.search(content)):
        line = first + content.count(b"\n", 0, alone.start())
        raise ValueError(
            f"{name}, line {line} has a carriage return that no line feed follows, and would be "
            "one line with what comes behind it. Write the lines anew: "
            r"path.write_bytes(path.read_bytes().replace(b'\r', b'\n'))."
        )
    return Block(content, first, content.count(b"\n") + (not content.endswith(b"\n")))


def _ahead(items: Generator[Any]) -> Generator[Any]:
    """Yield items that a thread makes before they are needed."""
    with closing(items), ThreadPoolExecutor(1) as pool:
        made = partial(pool.submit, next, items, None)
        try:
            waiting = deque(made() for _ in range(_N_AHEAD))
        except RuntimeError:  # no thread can be started
            yield from items
            return
        try:
            while (item := waiting.popleft().result()) is not None:
                waiting.append(made())
                yield item
        finally:
            for future in waiting:
                future.cancel()


# A block of rows with its qid, and the slice of those that are in a chunk.
Cut = tuple[np.ndarray, Any, slice]


def whole_queries(blocks: Iterable[tuple[np.ndarray, Any]], n_rows: int) -> Iterator[list[Cut]]:
    """Cut blocks of rows, each behind its qid, into chunks of whole queries.

    A chunk has `n_rows` rows, and more up to where a query ends.
    """
    chunk: list[Cut] = []
    n_chunk, last = 0, None
    for qid, block in blocks:
        if not len(qid):
            continue
        if n_chunk >= n_rows and qid[0] != last:
            yield chunk
            chunk, n_chunk = [], 0
        start, last = 0, qid[-1]
        for begin in (np.flatnonzero(qid[1:] != qid[:-1]) + 1).tolist():
            if n_chunk + begin - start >= n_rows:
                chunk.append((qid, block, slice(start, begin)))
                yield chunk
                chunk, n_chunk, start = [], 0, begin
        chunk.append((qid, block, slice(start, len(qid))))
        n_chunk += len(qid) - start
    if chunk:
        yield chunk


def refuse_cut_queries(qid: Array, seen: set[Any], where: str) -> None:
    """Raise for a query of an earlier chunk, and add the queries of this chunk."""
    names = set(np.unique(qid).tolist())
    if again := names & seen:
        raise ValueError(
            f"{where}: query {min(again)!r} was in an earlier chunk. Chunks hold whole queries, "
            "so all rows of a query must be adjacent, also from file to file: read all at once, or "
            "sort by query (large data: within partitions of skcalrank.dask.partition_by_query)."
        )
    seen |= names


def read_bytes(path: Path) -> bytes:
    """Return the content of a plain or compressed file."""
    return b"".join(_pieces(path, _BLOCK_BYTES)).removeprefix(codecs.BOM_UTF8)


def byte_lines(path: Path) -> Generator[tuple[int, bytes]]:
    """Yield the lines of a plain or compressed file, and their numbers from 1."""
    with closing(line_blocks(path)) as blocks:
        for block in blocks:
            yield from enumerate(block.content.removesuffix(b"\n").split(b"\n"), block.first)


def text_lines(path: Path) -> Generator[tuple[int, str]]:
    """Yield the lines of a text file in UTF-8, with their ends, and their numbers from 1."""
    for number, line in byte_lines(path):
        try:
            yield number, line.decode() + "\n"
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, line {number} is not text in UTF-8: {error}.") from error


class UnpackedFile(io.RawIOBase):
    """A compressed file, to be read as if it were plain."""

    def __init__(self, path: Path) -> None:
        self._blocks, self._rest = line_blocks(path, any_end=True), memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return the number of bytes."""
        if not self._rest:
            self._rest = memoryview(next(self._blocks, Block(b"", 0, 0)).content)
        n_bytes = min(len(buffer), len(self._rest))
        buffer[:n_bytes], self._rest = self._rest[:n_bytes], self._rest[n_bytes:]
        return n_bytes

    def close(self) -> None:
        """Close the file."""
        self._blocks.close()
        super().close()


def to_float(text: str) -> float:
    """Return a decimal number; Python alone also takes ``1_000`` and digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)
