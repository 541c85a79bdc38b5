"""Print what went or changed in the public names since another version of the package.

    git worktree add ../before v0.3.0
    python tests/tools/api_changes.py ../before

These are names of ``__all__``, parameters with their defaults, methods and attributes. Before a
release, each of them has a row in the tables of ``CHANGELOG.md``.
"""

import inspect
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules


def parameters(value):
    """Return defaults by parameter, as text."""
    try:
        signature = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):  # an exception, which takes any message
        return {}
    required = inspect.Parameter.empty
    return {
        one.name: "" if one.default is required else repr(one.default)
        for one in signature
        if one.name != "self"
    }


def documented(cls):
    """Return the attributes that the docstring of a class lists."""
    section = r"^Attributes\n-+\n(.*?)(?=^[A-Z][\w ]*\n-+$|\Z)"
    lists = re.findall(section, inspect.getdoc(cls) or "", flags=re.M | re.S)
    entries = re.findall(r"^(\w[\w, ]*)(?: : |$)", "".join(lists), flags=re.M)
    return {name for entry in entries for name in entry.split(", ")}


def members(cls):
    """Yield names and values of the methods and attributes that are the package's own."""
    for name in sorted(set(dir(cls)) | documented(cls)):
        defined = next((base for base in cls.__mro__ if name in vars(base)), cls)
        if not name.startswith("_") and defined.__module__.startswith("skcalrank"):
            yield name, getattr(cls, name, None)


def public():
    """Return parameters by the path of each public name and method of the package."""
    package = import_module("skcalrank")
    rooms = [one.name for one in iter_modules(package.__path__) if not one.name.startswith("_")]
    paths = {}
    for module in ("skcalrank", *(f"skcalrank.{room}" for room in rooms)):
        for name in import_module(module).__all__:
            value = getattr(import_module(module), name)
            paths[f"{module}.{name}"] = parameters(value) if callable(value) else {}
            for member, method in members(value) if inspect.isclass(value) else ():
                paths[f"{module}.{name}.{member}"] = parameters(method) if callable(method) else {}
    return paths


def changes(before, now):
    """Yield paths that went, and parameters that went or have another default."""
    for path, old in before.items():
        above = path.rpartition(".")[0]
        if path not in now and (above not in before or above in now):
            yield path
        for name, default in old.items() if path in now else ():
            if name not in now[path]:
                yield f"{path}({name}=)"
            elif now[path][name] != default:
                yield f"{path}({name}={default}), now {now[path][name]}"


def read(tree):
    """Return :func:`public` of a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    return json.loads(subprocess.check_output([sys.executable, __file__], env=environment))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(json.dumps(public()))
    else:
        print(*changes(read(sys.argv[1]), read(Path(__file__).parents[2])), sep="\n")
