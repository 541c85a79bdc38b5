"""The files of a table: one file, or the shards in a folder, of a pattern, of a list, or remote."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from glob import glob, has_magic
from itertools import chain, takewhile
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from ..columns import arrays
from ..data import check
from ._files import needs

_NULL = "__HIVE_DEFAULT_PARTITION__"  # the name of a folder of rows without a value
_IS_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})").fullmatch


class RemoteFile(NamedTuple):
    """A file that fsspec reads, with what a Path of a local one has."""

    url: str
    fs: Any

    def __str__(self) -> str:
        return self.url

    def __fspath__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        return PurePosixPath(self.url).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.url).suffix

    def exists(self) -> bool:
        """Return whether there is a file or folder of this name."""
        return bool(self.fs.exists(self.url))

    def open(self, mode: str = "rb", **options: str) -> Any:
        """Open the file."""
        return self.fs.open(self.url, mode, **options)


class Shard(NamedTuple):
    """A file of a table, and the values that the folders ``name=value`` around it give its rows."""

    path: Path | RemoteFile
    partition: dict[str, str | None]

    @property
    def n_bytes(self) -> int:
        if isinstance(self.path, RemoteFile):
            return int(self.path.fs.size(self.path.url))
        return self.path.stat().st_size


def shards_of(source: Any, is_table: Callable[..., Any]) -> list[Shard]:
    """Return the files of a source, in natural order: part-2 before part-10.

    These are one file of whatever name; or those for whose name `is_table` is true in a folder, of
    a pattern, or of a list of all of these, which keeps its order. Partitions are folders
    ``name=value`` below the folder, behind the fixed part of the pattern, or below the folder that
    all files of a list are in.
    """
    if not isinstance(source, (list, tuple)):
        paths, base = _paths(source, is_table)
    elif len(source) == 1:
        return shards_of(source[0], is_table)
    else:
        if not source:
            raise ValueError("source must have a file, got an empty list.")
        paths = [path for one in source for path in _paths(one, is_table)[0]]
        base = ""
        with suppress(ValueError):  # absolute paths beside relative ones
            base = os.path.commonpath([os.path.dirname(str(path)) for path in paths])
    if twins := [path for path, n in Counter(map(str, paths)).items() if n > 1]:
        raise ValueError(f"source must have each file once, got {twins[0]} more than once.")
    return [Shard(path, _partition(str(path)[len(base) :])) for path in paths]


def _paths(source: Any, is_table: Callable[..., Any]) -> tuple[list[Any], str]:
    """Return the files of a source, and the part of their names without partitions."""
    arrays.refuse_unread(source, "source")
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            "source must be a file, a folder, a pattern such as 'data/*.parquet', a list of these, "
            f"or a DataFrame, got {source!r}."
        )
    path = _opened(source)
    base = str(path)
    if not has_magic(base) or path.exists():
        names = _below(path)
        if names is None:
            if isinstance(path, RemoteFile) and not path.exists():
                raise FileNotFoundError(f"There is no file {source}.")
            return [path], base
    else:
        found = glob(base, recursive=True) if isinstance(path, Path) else path.fs.glob(base)
        if not found:
            raise FileNotFoundError(f"No file matches {source}.")
        folders = [(name, _below(_like(path, name))) for name in found if not _is_hidden(name)]
        inside = (names if names is not None else [name] for name, names in folders)
        names = list(dict.fromkeys(chain(*inside)))
        base = str(PurePath(*takewhile(lambda part: not has_magic(part), PurePath(base).parts)))
    tables = sorted(filter(is_table, names), key=_natural)
    if not tables:
        raise ValueError(f"{source} must hold tables, got {len(names)} files of other names.")
    return [_like(path, name) for name in tables], base


def _opened(source: Any) -> Path | RemoteFile:
    """Return a path, or what fsspec reads by a URL."""
    if isinstance(source, os.PathLike) or "://" not in source:
        return Path(source)
    fsspec = check.installed("fsspec", f"Reading {source} needs fsspec: pip install fsspec")
    fs, url = fsspec.core.url_to_fs(source)
    return RemoteFile(url, fs)


def _like(path: Any, name: str) -> Path | RemoteFile:
    """Return the file of a name where another file is."""
    return Path(name) if isinstance(path, Path) else path._replace(url=name)


def _below(path: Any) -> list[str] | None:
    """Return the names of the files below a folder that hold data; None if it is no folder."""
    if isinstance(path, Path):
        if not path.is_dir():
            return None
        files = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
    else:
        if not path.fs.isdir(path.url):
            return None
        files = path.fs.find(path.url)
    start = len(str(path))
    return [file for file in files if not any(map(_is_hidden, Path(file[start:]).parts))]


def _is_hidden(name: str) -> bool:
    """Return whether a file or folder holds no data, as writers of shards name it."""
    name = PurePath(name).name
    return name.startswith((".", "_")) and "=" not in name


def _natural(name: str) -> list[list[str | int]]:
    """Return what sorts names by their folders, and numbers in them by their size."""
    parts = (re.split("([0-9]+)", part) for part in Path(name).parts)
    return [[int(t) if i % 2 else t for i, t in enumerate(part)] for part in parts]


def _partition(name: str) -> dict[str, str | None]:
    pairs = (part.split("=", 1) for part in Path(name).parts[:-1] if "=" in part)
    return {unquote(key): None if v == _NULL else unquote(v) for key, v in pairs}


class PartitionColumns:
    """Columns whose values folders name: whole numbers if all are, else categories."""

    def __init__(self, shards: list[Shard], text: tuple[str, ...]) -> None:
        self.names = list(dict.fromkeys(name for shard in shards for name in shard.partition))
        for shard in shards:
            if lacking := [name for name in self.names if name not in shard.partition]:
                raise ValueError(
                    f"{shard.path} must be in a folder {lacking[0]}=VALUE, as other files are."
                )
        self._levels: dict[str, list[str] | None] = {}
        for name in self.names:
            values = {shard.partition[name] for shard in shards}
            levels = sorted(value for value in values if value is not None)
            is_text = name in text or len(levels) < len(values) or not all(map(_IS_WHOLE, levels))
            self._levels[name] = levels if is_text else None

    def of(self, shard: Shard, n_rows: int) -> Iterator[tuple[str, Any]]:
        """Yield the names and the values of the columns for so many rows of a file."""
        for name, value in shard.partition.items():
            levels = self._levels[name]
            if levels is None:
                yield name, np.full(n_rows, int(str(value)))
            else:
                code = -1 if value is None else levels.index(value)
                yield name, needs("pandas").Categorical.from_codes(np.full(n_rows, code), levels)
