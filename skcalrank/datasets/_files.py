"""Reading of files, compressed or not."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: How to open a file, by its suffix; all others are plain.
OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}

#: A matrix above this size is refused where the same fits into much less memory.
LARGE_BYTES = 1 << 30


def plain_or_compressed(path: Path) -> Path | None:
    """Return the file of that name, plain or with a suffix of ``OPENERS``; None without one."""
    candidates = (path.with_name(path.name + suffix) for suffix in ("", *OPENERS))
    return next((file for file in candidates if file.exists()), None)


def without_packing(path: Path) -> Path:
    """Return a path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix in OPENERS else path


def refuse_pipe(path: Path):
    """Raise for what cannot be read a second time."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} is a pipe or a device, and a file is read more than once: save it first."
        )


@contextmanager
def reading(path: Path):
    """Turn whatever a damaged file makes of its readers into a ValueError that names it.

    What the system says of a file, such as that there is none, stays as it is.
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


def read_bytes(path: Path) -> bytes:
    """Content of a plain or compressed file."""
    with open_bytes(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Content of a text file in UTF-8, with or without a byte-order mark."""
    content = read_bytes(path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line} is no text in UTF-8: {error}.") from error


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
