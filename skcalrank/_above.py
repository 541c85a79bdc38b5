"""Rooms that lower rooms cannot import, by name: ``__init__`` says how each of them is loaded."""

from collections.abc import Callable
from types import ModuleType

ROOMS: dict[str, Callable[[], ModuleType]] = {}
