"""Decorator that passes dask collections on to `skcalrank.dask`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Concatenate, ParamSpec, TypeVar

from ..data import is_lazy

_BACKEND = "skcalrank.dask._rankers"

Self = TypeVar("Self")
Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def lazy_aware(
    method: Callable[Concatenate[Self, Given], Returned],
) -> Callable[Concatenate[Self, Given], Returned]:
    """Let a method of a ranker accept dask collections.

    Calls with arrays in memory go straight to the method. A call with a lazy collection goes to
    ``skcalrank.dask``, which is imported only then, by its name.
    """

    @wraps(method)
    def call(self: Self, /, *args: Given.args, **kwargs: Given.kwargs) -> Returned:
        if is_lazy(*args, *kwargs.values()):
            lazy: Returned = import_module(_BACKEND).run(self, method, *args, **kwargs)
            return lazy
        return method(self, *args, **kwargs)

    return call
