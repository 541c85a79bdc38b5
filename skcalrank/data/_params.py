"""Constraints on the parameters of estimators, and their checks.

This is the only module that imports scikit-learn's parameter constraints, which are private API.
Estimators declare ``_parameter_constraints`` with the names defined here.
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
    """Constraint to integers ``>= least``, or to all integers; a bool is not an integer."""

    def __init__(self, least: int | None = None) -> None:
        super().__init__(Integral, least, None, closed="neither" if least is None else "left")

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))


AT_LEAST_ONE = Integers(1)
FINITE = Interval(Real, None, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
REGRESSOR = HasMethods(["fit", "predict"])

#: Constraint of a parameter that is validated when its value, the name of a measure, a loss or a
#: prediction map, is looked up.
OWN_ERROR = "no_validation"


def one_of(*names: str) -> StrOptions:
    """Return the constraint that a parameter is one of these strings."""
    # A set would list the names in another order in every process.
    return StrOptions(dict.fromkeys(names).keys())


def check_params(estimator: Any) -> None:
    """Raise ValueError for a parameter outside the ``_parameter_constraints`` of its class."""
    params = estimator.get_params(deep=False)
    check_regressor(estimator, params.get("estimator"))
    _validate(type(estimator), params)


def _validate(cls: Any, params: dict[str, Any]) -> None:
    validate_parameter_constraints(cls._parameter_constraints, params, cls.__name__)


class NoRegressorError(NotFittedError):  # type: ignore[misc]
    """Error for the ``estimator`` of a ranker that is neither None nor a regressor.

    It is a NotFittedError because scikit-learn reads the tags of a ranker, which depend on its
    regressor, even to display the ranker in a notebook: a NotFittedError is ignored there, and
    raised everywhere else.
    """


def check_regressor(owner: Any, regressor: Any) -> Any:
    """Return `regressor`, the ``estimator`` of the ranker `owner`, if it is valid.

    Valid are None and objects with ``fit`` and ``predict``. Otherwise raise a NoRegressorError
    that suggests the parameter that was probably meant.
    """
    is_one = hasattr(regressor, "fit") and hasattr(regressor, "predict")
    if regressor is None or (is_one and not isclass(regressor)):
        return regressor
    raise NoRegressorError(
        f"estimator must be a regressor with fit and predict, or None, got {regressor!r}"
        + (f": did you mean {regressor.__name__}()?" if is_one else _meant(type(owner), regressor))
    )


def _meant(cls: Any, value: Any) -> str:
    """Return the end of an error message: the parameter that a value was probably meant for."""
    names = (name for name in signature(cls).parameters if _accepts(cls, name, value))
    name = next(names, None)
    if name is None:
        # The value is a measure, but the class of the ranker already determines its measure.
        of_measure = isinstance(value, str) and "@" in value
        return f": did you mean LeastSquaresRanker(measure={value!r})?" if of_measure else "."
    return f": did you mean {cls.__name__}({name}={value!r})?"


def _accepts(cls: Any, name: str, value: Any) -> bool:
    if cls._parameter_constraints[name] == OWN_ERROR:
        # Names of measures may contain a cutoff, and names of prediction maps do not.
        return isinstance(value, str) and (name == "measure" or "@" not in value)
    try:
        _validate(cls, {name: value})
    except (TypeError, ValueError):
        return False
    return True


def default_of(estimator: Any, name: str) -> Any:
    """Return the default value of a constructor parameter."""
    return signature(type(estimator)).parameters[name].default


def refuse_unread(estimator: Any, names: Iterable[str], why: str) -> None:
    """Raise ValueError if one of the parameters `names` is changed although it has no effect.

    `why` is the setting under which the parameters have no effect, followed by the remedy, as in
    ``"loss='squared': set loss='pairwise_squared'"``. The values satisfy their constraints.
    """
    for name in names:
        value, default = getattr(estimator, name), default_of(estimator, name)
        # Callables may compare equal to anything.
        if callable(value) or value != default:
            raise ValueError(
                f"{name}={value!r} has no effect with {why}, or leave {name}={default!r}."
            )


def refuse_second_penalty(estimator: Any) -> None:
    """Raise ValueError if both ``alpha`` and ``estimator`` are set: a regressor ignores alpha."""
    if estimator.estimator is not None:
        why = f"estimator={estimator.estimator!r}: set the penalty on the estimator"
        refuse_unread(estimator, ["alpha"], why)
