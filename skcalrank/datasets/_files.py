"""Reading of files, compressed or not, in blocks of lines and in chunks of whole queries."""

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

#: How to open a file, by its suffix; all others are plain.
OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}

#: A matrix above this size is refused where the same fits into much less memory.
LARGE_BYTES = 1 << 30

# Lines are read in blocks of about this size, which fit into the cache of a core. Smaller pieces
# would make the threads that decompress and those that parse wait for each other.
_BLOCK_BYTES = 1 << 19

# Number of blocks that are decompressed before they are needed.
_N_AHEAD = 3


def plain_or_compressed(path: Path) -> Path | None:
    """Return the file of a name, plain or with a suffix of ``OPENERS``; None if there is none."""
    candidates = (path.with_name(path.name + suffix) for suffix in ("", *OPENERS))
    return next((file for file in candidates if file.exists()), None)


def without_packing(path: Path) -> Path:
    """Return a path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix in OPENERS else path


def refuse_pipe(path: Path):
    """Raise for a pipe or a device, which cannot be read a second time."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} is a pipe or a device, and a file is read more than once: save it first."
        )


def refuse_damaged(path: Path):
    """Raise for a compressed file that is damaged, which may be known only at its end."""
    if path.suffix in OPENERS and path.is_file():
        deque(_pieces(path, _BLOCK_BYTES), maxlen=0)


@contextmanager
def reading(path: Path):
    """Turn the errors that readers raise for a damaged file into a ValueError that names it.

    Errors of the system, such as that there is no such file, stay as they are.
    """
    try:
        yield
    except (MemoryError, ImportError, Warning):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        if isinstance(error, ValueError) and path.name in str(error):
            raise
        raise ValueError(f"cannot read {path}: {error or type(error).__name__}") from error


@contextmanager
def open_bytes(path: Path):
    """Open a plain or compressed file, to be read behind a byte-order mark."""
    with reading(path), OPENERS.get(path.suffix, open)(path, "rb") as file:
        if file.peek(3).startswith(codecs.BOM_UTF8):
            file.read(3)
        yield file


class Block(NamedTuple):
    """Whole lines of a file, the number of the first one, counted from 1, and their number."""

    content: bytes
    first: int
    n_lines: int


def line_blocks(source: Path | bytes, n_bytes: int | None = None) -> Generator[Block]:
    """Yield the lines of a plain or compressed file, or of its content, in blocks.

    A block has about so many bytes, or fewer. A thread of its own decompresses a file while the
    blocks before are used.
    """
    n_bytes = min(n_bytes or _BLOCK_BYTES, _BLOCK_BYTES)
    if isinstance(source, bytes):
        return _whole_lines(source[i : i + n_bytes] for i in range(0, len(source), n_bytes))
    blocks = _whole_lines(_pieces(source, n_bytes))
    return _ahead(blocks) if source.suffix in OPENERS else blocks


def _pieces(path: Path, n_bytes: int) -> Generator[bytes]:
    """Yield the decompressed content of a file, so many bytes at a time."""
    is_gzip = path.suffix == ".gz"
    with reading(path), (open if is_gzip else OPENERS.get(path.suffix, open))(path, "rb") as file:
        read = partial(file.read, n_bytes)
        yield from _gunzipped(read, n_bytes) if is_gzip else iter(read, b"")


def _gunzipped(read: Callable[[], bytes], n_bytes: int) -> Generator[bytes]:
    """Yield the content of the members of a gzip file.

    Before Python 3.12, GzipFile takes the global interpreter lock every 8 kB.
    """
    packed = read()
    while packed:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not member.eof:
            if not packed:
                raise EOFError("the compressed data end before their end-of-stream marker")
            yield member.decompress(packed, n_bytes)
            packed = member.unconsumed_tail or (b"" if member.eof else read())
        # Zeros may fill up a file behind its members.
        packed = member.unused_data.lstrip(b"\0")
        while not packed and (more := read()):
            packed = more.lstrip(b"\0")


def _whole_lines(pieces: Iterable[bytes]) -> Generator[Block]:
    """Yield pieces of text as blocks that end where a line ends, behind a byte-order mark."""
    first = 1
    begun: list[bytes] = []
    for piece in pieces:
        head, newline, tail = piece.rpartition(b"\n")
        if newline:
            block = _block(b"".join([*begun, head, newline]), first)
            yield block
            first, begun = first + block.n_lines, []
        begun.append(tail)
    if rest := b"".join(begun):
        yield _block(rest, first)


def _block(content: bytes, first: int) -> Block:
    content = content.removeprefix(codecs.BOM_UTF8) if first == 1 else content
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
                yield [*chunk, (qid, block, slice(start, begin))]
                chunk, n_chunk, start = [], 0, begin
        chunk.append((qid, block, slice(start, len(qid))))
        n_chunk += len(qid) - start
    if chunk:
        yield chunk


def refuse_cut_queries(qid, seen: set, where):
    """Raise for a query of an earlier chunk, and add the queries of this chunk."""
    names = set(np.unique(qid).tolist())
    again = names & seen
    if again:
        raise ValueError(
            f"{where}: query {min(again)!r} was in an earlier chunk. Chunks hold whole queries, "
            "so all rows of a query must be adjacent: sort the file by query, or read it whole."
        )
    seen |= names


def read_bytes(path: Path) -> bytes:
    """Return the content of a plain or compressed file."""
    with open_bytes(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Return the content of a text file in UTF-8, with or without a byte-order mark."""
    content = read_bytes(path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line} is not text in UTF-8: {error}.") from error


def to_float(text: str) -> float:
    """Return a decimal number; Python alone also takes ``1_000`` and digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def to_int(text: str) -> int:
    """Return a whole number of 64 bits."""
    if not re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) or int(text) >= 2**63:
        raise ValueError(f"{text!r} is not a whole number of 64 bits")
    return int(text)
