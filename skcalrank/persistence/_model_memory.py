"""Memory that a model file takes when it is loaded, known before anything in it is loaded."""

import json
from collections import defaultdict
from io import BytesIO
from math import prod
from shutil import copyfileobj
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from ._registry import kinds_of_keys, states

# Memory that any file may take, and that a file may take for each of its bytes.
_USUAL_BYTES, _MOST_RATIO = 1 << 30, 300

SCHEMA = "schema.json"

# Most memory of a byte of the text, which Python holds packed, decoded and parsed, in one byte a
# character, or in four if one of them needs them; measured.
_NARROW, _WIDE = 3, 11

# Most memory of a dict of JSON, and of another part of the text, in bytes; measured.
_DICT, _PART = 300, 64

# Most memory of an object in skops, and of one that holds a list of trusted names; measured.
_OBJECT, _OBJECT_WITH_NAMES = 800, 3_000
_WITH_NAMES = {"ObjectNode", "FunctionNode"}

# Most memory of a value in a set or an array of objects: a pointer, a hash, and a number of Python.
_VALUE = 128

# Most values in a set, and most keys of a dict that are no text, or as many comparisons in several:
# numbers with equal hashes take quadratic time.
_MOST_HASHED = 10_000

# Most values and bytes of a seed, each of which is mixed with all of the pool.
_MOST_OF_SEED = 1_000

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


def checked(archive: ZipFile) -> ZipFile:
    """Return an archive whose decompressors take no memory of their own."""
    if {member.compress_type for member in archive.infolist()} - {ZIP_STORED, ZIP_DEFLATED}:
        raise ValueError("its compression is not that of save_model")
    return archive


def memory_needed(path: Any, limit: int) -> tuple[int, IO[bytes]]:
    """Return the memory that loading a model file takes, at least, and its unpacked content.

    Counting ends above `limit`, since a large text takes memory when it is parsed. What is counted
    is a copy: an archive may hold more than it declares, and change meanwhile.
    """
    content = BytesIO()
    with ZipFile(path) as archive:
        needed = sum(member.file_size for member in checked(archive).infolist())
        if needed > limit:
            return needed, content
        with ZipFile(content, "w") as copy:
            for name in dict.fromkeys(archive.namelist()):
                with archive.open(name) as source, copy.open(name, "w", force_zip64=True) as target:
                    copyfileobj(source, target)
    with ZipFile(content) as archive:
        for memory in (_of_text, _of_objects):
            needed += memory(archive) if needed <= limit else 0
    return needed, content


def _of_text(archive: ZipFile) -> int:
    """Return the memory of the parsed text, and of the texts in it that are parsed again."""
    text = archive.read(SCHEMA)
    # Other encodings of JSON than UTF-8 have null bytes.
    wide = b"\\u" in text or b"\0" in text or not text.isascii()
    # Trees of LightGBM are lines, which its text within this one ends by a backslash and an n.
    n_parts = _n(text, b",") + _n(text, b"[") + text.count(b"\\n")
    parts = _DICT * _n(text, b"{") + _PART * n_parts
    return parts + len(text) * (_WIDE if wide else _NARROW)


def _n(text: bytes, mark: bytes) -> int:
    """Return how often a mark is in JSON, also escaped, as in a text that is parsed again."""
    code = b"\\u%04x" % ord(mark)
    return text.count(mark) + text.count(code) + text.count(code[:-1] + code[-1:].upper())


def _of_objects(archive: ZipFile) -> int:
    """Return the memory of objects, of arrays and bytes packed and unpacked, and of copies."""
    contents, comparisons = _Contents(archive), 0
    for state in contents.states:
        hashed = state.get("__class__") in ("set", "frozenset") and contents.n_values(state)
        if "key_types" in state and any(k["__class__"] != "str" for k in kinds_of_keys(state)):
            hashed = len(state["content"])
        comparisons += hashed**2
        seed = state.get("__loader__") == "RandomGeneratorNode" and state["content"]["seed_seq"]
        if seed and contents.n_values(seed) > _MOST_OF_SEED:
            raise ValueError("a random generator has a long seed")
    if comparisons > _MOST_HASHED**2:
        raise ValueError(f"it has sets or dicts of more than {_MOST_HASHED:,} numbers")
    loaders = [state["__loader__"] for state in contents.states if "__loader__" in state]
    objects = sum(_OBJECT_WITH_NAMES if loader in _WITH_NAMES else _OBJECT for loader in loaders)
    files = {
        # What has an id is read once.
        (state.get("__id__") or -number, state["file"]): state
        for number, state in enumerate(contents.states, 1)
        if isinstance(state.get("file"), str)
    }
    arrays = sum(map(contents.of_file, files.values()))
    n_converted = sum(map(contents.n_values, filter(_is_converted, contents.states)))
    return objects + arrays + _VALUE * n_converted


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
        self.states = list(states(json.loads(archive.read(SCHEMA))))
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
            with checked(ZipFile(file)) as arrays:
                # A sparse matrix may convert its arrays.
                return size + 2 * sum(map(_declared, map(arrays.open, arrays.infolist())))

    def n_values(self, state: dict[str, Any]) -> int:
        """Return the number of values in an object, with those of all objects that it refers to."""
        if not (name := state.get("__id__")):
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
        n_in_text = 1 + str(inside).count(",")
        return sum(map(self.n_values, inside)) if isinstance(inside, list) else n_in_text


def _declared(file: IO[bytes]) -> int:
    """Return the size of the array that the header of a file describes."""
    with file:
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
    return abs(prod(shape)) * max(dtype.itemsize, 1)  # values of no bytes are converted
