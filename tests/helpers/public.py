"""The public names of the package, wherever they are."""

from importlib import import_module
from pkgutil import iter_modules

import skcalrank

#: Rooms with public names.
ROOMS = [room.name for room in iter_modules(skcalrank.__path__) if not room.name.startswith("_")]


def public_names():
    """Values by name: of the rooms, and those of the top level, which are the same."""
    modules = [*(import_module(f"skcalrank.{room}") for room in ROOMS), skcalrank]
    return {name: getattr(module, name) for module in modules for name in module.__all__}
