"""Reading of files, compressed or not."""

from __future__ import annotations

import codecs
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: How to open a file, by its suffix; all others are plain.
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}


def plain_or_compressed(path: Path) -> Path | None:
    """Return the file of that name, plain or with a suffix of ``OPENERS``; None without one."""
    candidates = (path.with_name(path.name + suffix) for suffix in ("", *OPENERS))
    return next((file for file in candidates if file.exists()), None)


def without_packing(path: Path) -> Path:
    """Return a path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix in OPENERS else path


def open_bytes(path: Path):
    """A plain, ``.gz`` or ``.xz`` file, opened to be read behind a byte-order mark."""
    file = OPENERS.get(path.suffix, open)(path, "rb")
    try:
        if file.peek(3).startswith(codecs.BOM_UTF8):
            file.read(3)
    except BaseException:
        file.close()
        raise
    return file


def read_bytes(path: Path) -> bytes:
    """Content of a plain, ``.gz`` or ``.xz`` file."""
    with open_bytes(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Content of a text file in UTF-8, with or without a byte-order mark."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}.") from error
