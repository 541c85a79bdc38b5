"""Validity of parameters, declared as data.

The only module that imports scikit-learn's constraints, which are private there: an estimator
declares ``_parameter_constraints`` by the names of this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import isclass, signature
from numbers import Integral, Real
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import (
    HasMethods,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import Interval as Interval


class Integers(Interval):  # type: ignore[misc]
    """The integers from a least one, or all of them; a bool is none."""

    def __init__(self, least: int | None = None) -> None:
        super().__init__(Integral, least, None, closed="neither" if least is None else "left")

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))


AT_LEAST_ONE = Integers(1)
FINITE = Interval(Real, None, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
REGRESSOR = HasMethods(["fit", "predict"])

#: Of a parameter that is validated by what it names: a measure, a loss, a prediction map.
OWN_ERROR = "no_validation"


def one_of(*names: str) -> StrOptions:
    """Return the constraint that a parameter is one of these strings."""
    # A set would list them in another order in every process.
    return StrOptions(dict.fromkeys(names).keys())


def check_params(estimator: Any) -> None:
    """Raise ValueError for a parameter outside the ``_parameter_constraints`` of its class."""
    _validate(type(estimator), estimator.get_params(deep=False))


def _validate(cls: Any, params: dict[str, Any]) -> None:
    validate_parameter_constraints(cls._parameter_constraints, params, cls.__name__)


class NoRegressorError(NotFittedError):  # type: ignore[misc]
    """The ``estimator`` of a ranker is neither None nor a regressor.

    The tags of a ranker need the regressor, and scikit-learn asks for them before `fit`, even to
    display an estimator in a notebook: it displays one that is not fitted, and raises elsewhere.
    """


def check_regressor(owner: Any, regressor: Any) -> Any:
    """Return the ``estimator`` of the ranker `owner`: None, or an object with fit and predict.

    The NoRegressorError that it raises otherwise names the parameter that was probably meant.
    """
    is_one = hasattr(regressor, "fit") and hasattr(regressor, "predict")
    if regressor is None or (is_one and not isclass(regressor)):
        return regressor
    raise NoRegressorError(
        f"estimator must be a regressor with fit and predict, or None, got {regressor!r}"
        + (f": did you mean {regressor.__name__}()?" if is_one else _meant(type(owner), regressor))
    )


def _meant(cls: Any, value: Any) -> str:
    """Return which parameter a value was probably meant for, as the end of an error message."""
    names = (name for name in signature(cls).parameters if _accepts(cls, name, value))
    name = next(names, None)
    if name is None:
        # A measure, which the name of the ranker says.
        of_measure = isinstance(value, str) and "@" in value
        return f": did you mean LeastSquaresRanker(measure={value!r})?" if of_measure else "."
    return f": did you mean {cls.__name__}({name}={value!r})?"


def _accepts(cls: Any, name: str, value: Any) -> bool:
    if cls._parameter_constraints[name] == OWN_ERROR:
        # Names of measures have a cutoff, and those of prediction maps none.
        return isinstance(value, str) and (name == "measure" or "@" not in value)
    try:
        _validate(cls, {name: value})
    except (TypeError, ValueError):
        return False
    return True


def default_of(estimator: Any, name: str) -> Any:
    """Return the default of a parameter of the constructor."""
    return signature(type(estimator)).parameters[name].default


def refuse_unread(estimator: Any, names: Iterable[str], why: str) -> None:
    """Raise ValueError for a parameter that is not at its default, but that `why` does not read.

    The values satisfy their constraints, and `why` ends in the remedy.
    """
    for name in names:
        value, default = getattr(estimator, name), default_of(estimator, name)
        # Callables may compare equal to anything.
        if callable(value) or value != default:
            raise ValueError(f"{name}={value!r} is not read by {why}, or leave {name}={default!r}.")


def refuse_second_penalty(estimator: Any) -> None:
    """Raise for an ``alpha`` beside a regressor, which has a penalty of its own or none."""
    if estimator.estimator is not None:
        own = f"estimator={estimator.estimator!r}: set the penalty on the estimator"
        refuse_unread(estimator, ["alpha"], own)
