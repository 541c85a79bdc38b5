"""Names of packages that are imported when they are asked for, as most programs need few."""

import sys
from collections.abc import Callable, Iterable
from dis import get_instructions
from importlib import import_module
from itertools import dropwhile
from types import ModuleType
from typing import Any

#: Rooms that lower rooms cannot import, by name: ``__init__`` says how each of them is loaded.
ROOMS: dict[str, Callable[[], ModuleType]] = {}


def lazily(package: str, rooms: Iterable[str] = ()) -> tuple[Any, ...]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of the package that calls.

    Its names are those that it imports for type checkers, ``if TYPE_CHECKING``: public above the
    call, for use inside skcalrank below it. They are read in its byte code, which a program also
    has where no source files are installed. `rooms` are packages in it.
    """
    module, frame = sys.modules[package], sys._getframe(1)
    modules, public, source = {}, [], ""
    steps = get_instructions(frame.f_code)
    for step in dropwhile(lambda s: (s.opname, s.argval) != ("LOAD_NAME", "TYPE_CHECKING"), steps):
        if step.opname == "IMPORT_NAME":
            source = step.argval
        elif step.opname == "IMPORT_FROM":
            modules[step.argval] = source
            if step.offset < frame.f_lasti:
                public.append(step.argval)
    if not modules:
        raise ImportError(
            f"{package} must be run from its byte code, which lists its names. Leave skcalrank out "
            "of what is compiled to C, in Nuitka by --nofollow-import-to=skcalrank."
        )

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

    return of_name, names, sorted(public)
