"""Methods that change an estimator completely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Concatenate, ParamSpec, TypeVar

# How boosting libraries are told the queries, and what to pass instead.
_OF_OTHER_LIBRARIES = {
    "group": "qid=np.repeat(np.arange(len(group)), group)",
    "groups": "qid=groups",
    "group_id": "qid=group_id",
}

Self = TypeVar("Self")
Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def all_or_nothing(
    method: Callable[Concatenate[Self, Given], Returned],
) -> Callable[Concatenate[Self, Given], Returned]:
    """Make a method that fits leave the estimator as it was when it raises.

    scikit-learn's ``validate_data`` writes to the estimator before anything else can fail, so that
    a failed fit would otherwise change how a fitted estimator validates and predicts. Attributes
    are restored, not copied: the method must not change in place an object that it found in one.

    Examples
    --------
    >>> from skcalrank.data import all_or_nothing
    >>> class Counter:
    ...     n = 0
    ...     @all_or_nothing
    ...     def add(self, number):
    ...         self.n += 1
    ...         self.n += number
    >>> counter = Counter()
    >>> try:
    ...     counter.add("one")
    ... except TypeError:
    ...     print(counter.n)
    0
    """

    takes_qid = "qid" in signature(method).parameters

    @wraps(method)
    def call(self: Self, /, *args: Given.args, **kwargs: Given.kwargs) -> Returned:
        for name in _OF_OTHER_LIBRARIES.keys() & kwargs if takes_qid else ():
            raise TypeError(
                f"{type(self).__name__}.{method.__name__} has no argument {name!r}: pass "
                f"{_OF_OTHER_LIBRARIES[name]}, the query of each row."
            )
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return call
