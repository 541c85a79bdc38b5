"""The door for methods of estimators that are called with collections."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from ..preprocessing import TableEncoder
from . import _rankers, _tables, _transformers
from ._fits import fit_on_workers


def run(estimator: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a method, decorated by ``lazy_aware``, that has lazy collections as arguments."""
    call = signature(method).bind(estimator, *args, **kwargs)
    call.apply_defaults()
    (_, estimator), *given = call.arguments.items()
    among_workers = getattr(estimator, "fits_among_workers", None)
    if method.__name__ == "fit" and among_workers is not None:
        if among_workers:
            return fit_on_workers(estimator, **dict(given))
        return method(*call.args, **call.kwargs)  # which refuses collections
    room = _transformers if hasattr(estimator, "transform") else _rankers
    room = _tables if isinstance(estimator, TableEncoder) else room
    return room.METHODS[method.__name__](*call.args, **call.kwargs)
