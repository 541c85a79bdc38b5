"""Queries that `fit` follows the training on, in the argument `eval_set`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from . import check
from ._exceptions import NotGradesWarning, OneQueryWarning, keeping_warnings, warn
from ._routing import has_method

_MUST_BE = (
    "must be a tuple (X, y, qid) or (X, y, qid, sample_weight), (X, y) if y carries the queries, "
    "or a dict of these by name"
)


class EvalSet(NamedTuple):
    """Rows of whole queries, with labels and weights."""

    X: Any
    y: Any
    qid: Any = None
    sample_weight: Any = None


def eval_sets(
    eval_set: Any = None, X_val: Any = None, y_val: Any = None, qid_val: Any = None
) -> dict[str, EvalSet]:
    """Return evaluation sets by name, the one that stops the training last.

    * `eval_set`: ``(X, y, qid)`` or ``(X, y, qid, sample_weight)``; ``(X, y)`` if y carries its
      queries.
    * `X_val`, `y_val`, `qid_val`: the same as separate arguments, which scikit-learn's Pipeline can
      transform.

    Returns `sets`: empty if all arguments are None. A set without a name is called "validation".

    Raises ValueError if both forms are given, the form is another one, or numbers of rows differ.
    """
    apart = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    passed = [name for name, value in apart.items() if value is not None]
    if not passed:
        if eval_set is None:
            return {}
        if not isinstance(eval_set, Mapping):
            return {"validation": _checked(eval_set, "eval_set")}
        if not eval_set:
            raise ValueError(f"eval_set {_MUST_BE}, got an empty dict: leave it out.")
        return {str(key): _checked(value, f"eval_set[{key!r}]") for key, value in eval_set.items()}
    if eval_set is not None:
        raise ValueError(
            f"eval_set must be None with {' and '.join(passed)}, got both: they are two forms of "
            "one argument."
        )
    if X_val is None or y_val is None:
        raise ValueError(
            "X_val and y_val must be passed together, with qid_val if y_val does not carry its "
            f"queries, got {' and '.join(passed)} only."
        )
    return {"validation": _checked((X_val, y_val, qid_val), "X_val, y_val, qid_val (eval_set)")}


@contextmanager
def naming_eval_set(name: str) -> Iterator[None]:
    """Name the evaluation set in errors and warnings about its values."""
    with keeping_warnings() as kept:
        try:
            yield
        except (ValueError, TypeError) as error:
            raise type(error)(f"Invalid eval_set {name!r}: {error}") from error
    for message, category in sorted(kept, key=str):
        if category is OneQueryWarning:
            # Its remedy is that of fit, which may have got a qid.
            message = "has no qid, so all of its rows count as one query. Pass (X, y, qid)."
            warn(f"eval_set {name!r} {message}", category)
        elif category is NotGradesWarning:
            warn(message, category)  # in the words of fit, so that both are told once
        else:
            warn(f"eval_set {name!r}: {message}", category)


def takes_eval_set(estimator: Any) -> bool:
    """Return whether `fit` takes an `eval_set` in the form of this module."""
    return (has_method(estimator, "takes_eval_set") and estimator.takes_eval_set) is True


def _checked(rows: Any, name: str) -> EvalSet:
    """Return an evaluation set whose parts have equally many rows."""
    if not isinstance(rows, (tuple, list)) or not 2 <= len(rows) <= 4:
        kind = type(rows).__name__
        length = f" of length {len(rows)}" if isinstance(rows, (tuple, list)) else ""
        raise ValueError(f"{name} {_MUST_BE}, got a {kind}{length}.")
    if any(isinstance(part, tuple) for part in rows):  # as LightGBM takes several sets
        raise ValueError(
            f"{name} {_MUST_BE}, got a {type(rows).__name__} of tuples: pass a dict such as "
            "{'train': (X, y, qid), 'validation': (X, y, qid)}, of which the last stops."
        )
    X, y, qid, weight = EvalSet(*rows)
    qid = check.carried_qid(y, qid)
    check.one_query(y, qid, name, least=np.inf, call="(X, {})", tool="(X, {})")
    parts = {"X": X, "y": y, "qid": qid, "sample_weight": weight}
    check.equally_many(
        f"The parts of {name}",
        " Tools such as GridSearchCV split an argument that has as many rows as X: pass eval_set "
        "as one tuple (X, y, qid), which they leave whole.",
        **parts,
    )
    return EvalSet(**parts)
