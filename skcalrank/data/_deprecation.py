"""Names that change: the old one works for two minor versions, with a warning."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from sklearn.utils import deprecated

from ._exceptions import warn


def renamed(old: str, new: str, *, since: str) -> Any:
    """Return a decorator of the function, class or property that keeps an old name.

    ``since`` is the version that has the new name first, such as "0.3" or "0.3.1". On a property,
    put it above ``@property``.
    """
    what = _what_happens(new, since)

    def decorate(item: Any) -> Any:
        # scikit-learn begins the message with the name, except that of a property.
        return deprecated(f"{old} {what}" if isinstance(item, property) else f"it {what}")(item)

    return decorate


def renamed_parameter(old: str, new: str, *, since: str) -> Callable[..., Any]:
    """Return a decorator of a function or constructor whose parameter has a new name.

    The signature, and with it ``get_params`` of an estimator, has the new name only.
    """
    message = f"{old} {_what_happens(new, since)}"

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            if old in given:
                if new in given:
                    raise TypeError(f"{old} is the old name of {new}: pass {new} alone.")
                warn(message, FutureWarning)
                given[new] = given.pop(old)
            return function(*args, **given)

        return call

    return decorate


def _what_happens(new: str, since: str) -> str:
    version = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)?", since)
    if version is None:
        raise ValueError(f"since must be a version such as '0.3' or '0.3.1', got {since!r}.")
    return (
        f"was renamed to {new} in version {since} and will be removed in version "
        f"{version[1]}.{int(version[2]) + 2}: use {new}."
    )
