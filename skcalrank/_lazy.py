"""Names of packages that are imported when they are asked for, as most programs need few."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

#: Rooms that lower rooms cannot import, by name: ``__init__`` says how each of them is loaded.
ROOMS: dict[str, Callable[[], ModuleType]] = {}


def lazily(package: str, rooms: Iterable[str] = ()) -> tuple[Any, ...]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Its names are those that its source imports for type checkers, below its first ``if``; those
    that are imported as themselves, ``X as X``, are public. `rooms` are packages in it.
    """
    module = sys.modules[package]
    source = module.__spec__.loader.get_source(package)  # type: ignore[union-attr]
    if source is None:
        raise ImportError(
            f"{package} must be installed with its source files, which list its names. Collect "
            "them, in PyInstaller by module_collection_mode={'skcalrank': 'pyz+py'}."
        )
    block: Any = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    imports = [(alias, node.module) for node in block.body for alias in node.names]
    modules = {alias.name: name for alias, name in imports}

    def of_name(name: str) -> Any:
        if name in rooms:
            return import_module(f".{name}", package)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{modules[name]}", package), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *modules, *rooms})

    return of_name, names, sorted(alias.name for alias, _ in imports if alias.asname)
