"""Model files that save_model does not write: parts of their text, and how to put them there."""

import io
import json
import sys
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np


def node(loader, name, **entries):
    """An object of a class, in a node of skops."""
    module, _, cls = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": cls, **entries}


def listed(items, **entries):
    """A list of objects."""
    return node("ListNode", "builtins.list", content=items, **entries)


def number(value):
    """A number, or another value of JSON."""
    return node("JsonNode", "builtins.str", content=json.dumps(value))


def row(*items):
    """A tuple of objects."""
    return node("TupleNode", "builtins.tuple", content=list(items))


def table(content, kind=("TypeNode", "builtins.str"), **entries):
    """A dict of objects, whose keys are made by calls of `kind`."""
    kinds = listed([kind if isinstance(kind, dict) else node(*kind)] * len(content))
    return node("DictNode", "builtins.dict", content=content, key_types=kinds, **entries)


def array(name="numpy.ndarray", file="zeros.npy", **entries):
    """An array in a file of its own."""
    return node("NdArrayNode", name, type="numpy", file=file, **entries)


def npy(values):
    """The file of an array."""
    content = io.BytesIO()
    np.save(content, values)
    return content.getvalue()


def call(name, *args):
    """A call of a class with arguments."""
    return node("ConstructorFromReduceNode", name, content=row(*args))


def contents_of(path):
    """The members of an archive."""
    with ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, contents):
    """Write an archive of these members."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def forge(path, state, *, name="junk_", protocol=None, **files):
    """Add an attribute to the ranker in a file, and files that it refers to."""
    contents = contents_of(path)
    schema = json.loads(contents["schema.json"])
    attributes = schema["content"]
    if name not in attributes["content"]:
        attributes["key_types"]["content"].append(attributes["key_types"]["content"][0])
    attributes["content"][name] = state
    schema["protocol"] = schema["protocol"] if protocol is None else protocol
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        contents["schema.json"] = json.dumps(schema).encode()
    finally:
        sys.setrecursionlimit(limit)
    write(path, contents | {key.replace("_", "."): value for key, value in files.items()})
