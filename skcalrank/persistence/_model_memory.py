"""Memory that a model file takes when it is loaded, known before anything in it is loaded."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from math import prod
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

# Memory that any file may take, and that a file may take for each of its bytes.
_USUAL_BYTES, _MOST_RATIO = 1 << 30, 250

_SCHEMA = "schema.json"
_PIECE = 1 << 20

# Most memory of a dict of JSON, and of another part of the text, in bytes; measured.
_DICT, _PART = 300, 64

# Most memory of an object in skops, and of one that holds a list of trusted names; measured.
_OBJECT, _OBJECT_WITH_NAMES = 800, 3_000
_WITH_NAMES = {"ObjectNode", "FunctionNode"}

# Most memory of a value in a set or an array of objects: a pointer, a hash, and a number of Python.
_VALUE = 128

# Copies of a byte that bytes are made of; bytearrays are made of a list.
_COPIES = {"BytesNode": 2, "BytearrayNode": 12}

# Objects that are made by calling their class with values.
_CONVERTING = {"ListNode", "SetNode", "MaskedArrayNode", "ConstructorFromReduceNode"}

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def most_memory(n_bytes: int) -> int:
    """Return the memory that a model file of `n_bytes` may take, unless the user allows more."""
    return max(_USUAL_BYTES, _MOST_RATIO * n_bytes)


def memory_needed(path: Any, limit: int) -> int:
    """Return the memory that loading a model file takes, at least.

    Counting ends above `limit`, since a large text takes memory when it is parsed.
    """
    with ZipFile(path) as archive:
        if {member.compress_type for member in archive.infolist()} - {ZIP_STORED, ZIP_DEFLATED}:
            raise ValueError("its compression is not that of save_model")
        needed = archive.getinfo(_SCHEMA).file_size
        for memory in (_of_text, _of_objects):
            needed += memory(archive) if needed <= limit else 0
    return needed


def _of_text(archive: ZipFile) -> int:
    """Return the memory of the parsed text."""
    with archive.open(_SCHEMA) as text:
        return sum(
            _DICT * piece.count(b"{") + _PART * (piece.count(b",") + piece.count(b"["))
            for piece in iter(lambda: text.read(_PIECE), b"")
        )


def _of_objects(archive: ZipFile) -> int:
    """Return the memory of objects, of arrays and bytes packed and unpacked, and of copies."""
    contents = _Contents(archive)
    loaders = [state["__loader__"] for state in contents.states if "__loader__" in state]
    objects = sum(_OBJECT_WITH_NAMES if loader in _WITH_NAMES else _OBJECT for loader in loaders)
    files = {
        # What has an id is read once.
        (state.get("__id__") or -number, state["file"]): state
        for number, state in enumerate(contents.states, 1)
        if isinstance(state.get("file"), str)
    }
    arrays = sum(map(contents.of_file, files.values()))
    return (
        objects
        + arrays
        + _VALUE * sum(map(contents.n_values, filter(_is_converted, contents.states)))
    )


def _is_converted(state: dict[str, Any]) -> bool:
    """Return whether a class is called with values that it may copy one by one."""
    loader, name = state.get("__loader__"), state.get("__class__")
    if loader == "NdArrayNode":
        return name != "ndarray" or "file" not in state
    return loader in _CONVERTING and name not in ("list", "set")


class _Contents:
    """The objects of a model file, described by dicts in its text."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self.states = list(_dicts(json.loads(archive.read(_SCHEMA))))
        self._with_id = defaultdict(list)
        self._n_values: dict[Any, int] = {}
        for state in self.states:
            if state.get("__id__"):
                self._with_id[state["__id__"]].append(state)

    def of_file(self, state: dict[str, Any]) -> int:
        """Return the memory of the file that an object is read from."""
        size, loader = self._archive.getinfo(state["file"]).file_size, state["__loader__"]
        if loader not in ("NdArrayNode", "SparseMatrixNode"):
            return size * _COPIES.get(loader, max(_COPIES.values()))
        with self._archive.open(state["file"]) as file:
            if loader == "NdArrayNode":
                return size + _declared(file)
            with ZipFile(file) as arrays:
                # A sparse matrix may convert its arrays.
                return size + 2 * sum(map(_declared, map(arrays.open, arrays.infolist())))

    def n_values(self, state: dict[str, Any]) -> int:
        """Return the number of values in an object, with those of all objects that it refers to."""
        name = state.get("__id__")
        if not name:
            return self._n_inside(state)
        if name not in self._n_values:
            self._n_values[name] = max(map(self._n_inside, self._with_id[name]))
        return self._n_values[name]

    def _n_inside(self, state: dict[str, Any]) -> int:
        if isinstance(state.get("file"), str):
            return self.of_file(state)
        inside = state.get("content")
        inside = [inside] if isinstance(inside, dict) and "__loader__" in inside else inside
        inside = list(inside.values()) if isinstance(inside, dict) else inside
        return sum(map(self.n_values, inside)) if isinstance(inside, list) else 1


def _dicts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the dicts in parsed JSON."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _declared(file: IO[bytes]) -> int:
    """Return the size of the array that the header of a file describes."""
    with file:
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
    return prod(shape) * dtype.itemsize
