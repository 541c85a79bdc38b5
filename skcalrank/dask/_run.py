"""The door for methods of estimators that are called with collections."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from ..preprocessing import TableEncoder
from . import _rankers, _tables, _transformers
from ._rounds import fit_in_rounds


def run(estimator: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a method, decorated by ``lazy_aware``, that has lazy collections as arguments."""
    call = signature(method).bind(estimator, *args, **kwargs)
    call.apply_defaults()
    (_, estimator), *given = call.arguments.items()
    if getattr(estimator, "trains_in_parts", False):
        from . import _trees  # imports the libraries of trees

        return _trees.METHODS[method.__name__](*call.args, **call.kwargs)
    in_rounds = getattr(estimator, "fits_in_rounds", None)
    if method.__name__ == "fit" and in_rounds is not None:
        if in_rounds:
            return fit_in_rounds(estimator, **dict(given))
        return method(*call.args, **call.kwargs)  # which refuses collections
    room = _transformers if hasattr(estimator, "transform") else _rankers
    room = _tables if isinstance(estimator, TableEncoder) else room
    return room.METHODS[method.__name__](*call.args, **call.kwargs)
