"""The one place where a ranker meets lazy collections: it hands them on."""

from __future__ import annotations

from functools import wraps
from importlib import import_module

from ..data import is_lazy

__all__ = ["lazy_aware"]

_GUEST = "skcalrank.dask._rankers"


def lazy_aware(method):
    """Let a method of a ranker take dask collections.

    Arrays in memory go straight to the method. A call with a lazy collection goes to
    ``skcalrank.dask``, which is imported by its name then and not before.
    """

    @wraps(method)
    def call(self, *args, **kwargs):
        if is_lazy(*args, *kwargs.values()):
            return import_module(_GUEST).run(self, method, *args, **kwargs)
        return method(self, *args, **kwargs)

    return call
