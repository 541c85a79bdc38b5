"""Names that change: the old one works for two minor versions, with a warning."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from sklearn.utils import deprecated

from ._exceptions import warn


def renamed(old: str, new: str, *, since: str) -> Any:
    """Return a decorator of the function, class or property that keeps an old name.

    ``since`` is the minor version that has the new name first, such as "0.3". On a property, put it
    above ``@property``.
    """
    return deprecated(_message(old, new, since))


def renamed_parameter(old: str, new: str, *, since: str) -> Callable[..., Any]:
    """Return a decorator of a function or constructor whose parameter has a new name.

    The signature, and with it ``get_params`` of an estimator, has the new name only.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            if old in given:
                if new in given:
                    raise TypeError(f"{old} is the old name of {new}: pass {new} alone.")
                warn(_message(old, new, since), FutureWarning)
                given[new] = given.pop(old)
            return function(*args, **given)

        return call

    return decorate


def _message(old: str, new: str, since: str) -> str:
    major, minor = map(int, since.split("."))
    return (
        f"{old} was renamed to {new} in version {since} and will be removed in version "
        f"{major}.{minor + 2}: use {new}."
    )
