"""Constraints on the parameters of estimators: ``limits.one_of(...)``.

This is the only module that imports scikit-learn's parameter constraints, which are private API.
Estimators declare ``_parameter_constraints`` with the names defined here: each class those of its
own parameters, beside those of its base classes.
"""

from collections import ChainMap
from functools import cache
from inspect import signature
from numbers import Integral, Real
from typing import Any

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import HasMethods, StrOptions, validate_parameter_constraints
from sklearn.utils._param_validation import Interval as Interval


class Integers(Interval):  # type: ignore[misc]
    """Constraint to integers ``>= least``, or to all integers; a bool is not an integer."""

    def __init__(self, least: int | None = None) -> None:
        super().__init__(Integral, least, None, closed="neither" if least is None else "left")

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether a value is an integer of the range."""
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))


AT_LEAST_ONE = Integers(1)
FINITE = Interval(Real, None, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
# A StackingRegressor may have a predict after fit only.
REGRESSOR = [HasMethods(["fit", "predict"]), RegressorMixin, None]

#: Constraint of a parameter that is validated when its value, the name of a measure, a loss or a
#: prediction map, is looked up.
OWN_ERROR = "no_validation"


def one_of(*names: str) -> StrOptions:
    """Return the constraint that a parameter is one of these strings."""
    # A set would list the names in another order in every process.
    return StrOptions(dict.fromkeys(names).keys())


@cache
def of_class(cls: Any) -> dict[str, Any]:
    """Return the constraint of each parameter: that of the class, or else of the nearest base.

    A class of the user has those of the class of the package above it, which it may fix, and adds
    its own.
    """
    stated = [vars(base).get("_parameter_constraints", {}) for base in cls.__mro__]
    of_package = [base.__module__.partition(".")[0] == "skcalrank" for base in cls.__mro__]
    first = of_package.index(True)
    inherited = of_class(cls.__mro__[first]) if first else {}
    found = ChainMap(*stated[:first], inherited) if first else ChainMap(*stated)
    return {name: found[name] for name in [*signature(cls).parameters, *inherited] if name in found}


def settings(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, also those that a class of the user fixes."""
    cls: Any = type(estimator)
    params: dict[str, Any] = estimator.get_params(deep=False)
    fixed = of_class(cls).keys() - params
    return params | {name: getattr(estimator, name) for name in sorted(fixed)}


def validate(cls: Any, params: dict[str, Any]) -> None:
    """Raise ValueError for a parameter outside the constraints of a class."""
    validate_parameter_constraints(of_class(cls), params, cls.__name__)
