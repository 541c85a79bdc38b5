"""Decorators of methods that fit."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import wraps
from inspect import Parameter, signature
from typing import Any, cast

from sklearn.frozen import FrozenEstimator

from ..columns.types import Method
from ._exceptions import OutOfRangeError, warning_once

_OR_HOSTED = ", or let HostedRanker of skcalrank.pipeline read it"

# Arguments of boosting libraries for queries and early stopping, and what to pass instead.
_OF_OTHER_LIBRARIES = {
    "group": "pass qid=np.repeat(np.arange(len(group)), group), the query of each row" + _OR_HOSTED,
    **{
        name: f"pass qid={name}, the query of each row"
        for name in ("groups", "group_id", "query", "queries", "query_id", "qids", "session")
    },
    **dict.fromkeys(
        ("eval_set", "eval_group", "eval_qid"),
        "BoostedRanker.fit takes eval_set=(X, y, qid)" + _OR_HOSTED,
    ),
    "eval_metric": "BoostedRanker has one, BoostedRanker(measure='ndcg@10')",
    "early_stopping_rounds": "BoostedRanker has one, BoostedRanker(n_iter_no_change=50)",
}


def _columns_read(estimator: Any) -> Any:
    """Return the names of the columns that an estimator computes with; None if they have none."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is None:
        return getattr(estimator, "feature_names_in_", None)
    return encoder.get_feature_names_out()


def all_or_nothing(method: Method) -> Method:
    """Decorate a method so that it leaves its object unchanged when it raises.

    scikit-learn's ``validate_data`` writes to the estimator before anything else can fail, so that
    a failed fit would otherwise change how a fitted estimator validates and predicts. Attributes
    are restored, but their values are not copied: the method must not modify the value of an
    existing attribute in place. A pipeline fits its steps in place, so their attributes are
    restored, too, and those of estimators in parameters of the steps, also in lists. A step that
    adds to what it has learned, in ``partial_fit`` or with ``warm_start``, is copied before the
    call, except for what cannot be copied, such as a lock.
    """

    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        steps = _of_steps([getattr(self, "steps", None)], method.__name__, {})
        before = [(vars(self), vars(self).copy()), *steps]
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            for attributes, values in before:
                attributes.clear()
                attributes.update(values)
            raise

    vars(call)["restores"] = True
    return cast("Method", call)


def _of_steps(
    steps: Iterable[Any], method: str, known: dict[int, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield attributes of the estimators in steps, and copies of what a method may change."""
    for step in steps:
        if isinstance(step, (list, tuple)):
            yield from _of_steps(step, method, known)
        attributes = getattr(step, "__dict__", None) if hasattr(type(step), "fit") else None
        if not isinstance(attributes, dict) or id(step) in known:
            continue
        known[id(step)] = step
        if isinstance(step, FrozenEstimator):
            continue
        # A step without partial_fit only transforms chunks, whatever estimators are in it.
        called = method if method != "partial_fit" or hasattr(step, method) else ""
        yield from _of_steps([v for k, v in attributes.items() if k[-1:] != "_"], called, known)
        adds = called == "partial_fit" or (called and getattr(step, "warm_start", False))
        if adds and not hasattr(getattr(step, called, None), "restores"):
            same = known.copy()
            with suppress(Exception):  # a step may lack the attributes of its parameters
                same |= {id(v): v for v in step.get_params(False).values() if type(v) is not list}
            yield attributes, _copied(attributes, same)
        else:  # FeatureUnion replaces the elements of its list
            items = attributes.items()
            yield attributes, {k: v.copy() if isinstance(v, list) else v for k, v in items}


def _copied(values: Any, same: dict[int, Any]) -> Any:
    """Return a deep copy of attributes, in which what is the same or cannot be copied is kept."""
    try:
        return deepcopy(values, same.copy())
    except Exception:
        return {k: _copied(v, same) for k, v in values.items()} if type(values) is dict else values


def fitting(method: Method) -> Method:
    """Decorate a method that fits: it does so, or changes nothing, and says what is wrong.

    Arguments of other libraries, and missing labels, get an error with a remedy, an error about a
    column has its name, and no warning is issued twice.

    Examples
    --------
    >>> from skcalrank.data import fitting
    >>> class Counter:
    ...     n = 0
    ...     @fitting
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
    taken = signature(method).parameters

    @all_or_nothing
    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        _check_names(f"{type(self).__name__}.{method.__name__}", taken, len(args), kwargs)
        try:
            with warning_once():
                return method(self, *args, **kwargs)
        except OutOfRangeError as error:
            error.name_column(_columns_read(self))
            raise

    return cast("Method", call)


def _check_names(
    caller: str, taken: Mapping[str, Parameter], n_given: int, named: Mapping[str, Any]
) -> None:
    """Raise TypeError for an argument that the method does not take, and for labels left out."""
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
    unknown = sorted(named.keys() - taken.keys()) if "qid" in taken and not takes_any else ()
    for name in unknown:
        remedy = _OF_OTHER_LIBRARIES.get(name, f"choose among {', '.join([*taken][1:])}")
        raise TypeError(f"{caller} has no argument {name!r}: {remedy}.")
    needs_y = "y" in taken and taken["y"].default is Parameter.empty
    if needs_y and n_given < 2 and "y" not in named:
        raise TypeError(f"{caller} needs the labels of the rows: pass y.")
