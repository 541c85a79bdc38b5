"""What the libraries hand over, read in one way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..data import (
    ArrayLike,
    Ints,
    MissingQidError,
    Queries,
    as_array,
    check_qid,
    plain,
    qid_array,
)

# Cross-validation inside a library boosts the folds in turn, with one objective and one metric.
_REMEMBERED = 16


class Handed(NamedTuple):
    """Rows whose queries stand together."""

    labels: Any
    scores: np.ndarray
    weight: Any  # of each row, or None
    sizes: np.ndarray  # numbers of documents of the queries, in row order

    @property
    def qid(self) -> np.ndarray:
        """Number of the query of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


class Known:
    """What was made of data that a library handed over, known again by their contents."""

    def __init__(self) -> None:
        self._made: deque = deque(maxlen=_REMEMBERED)

    def __len__(self) -> int:
        return len(self._made)

    def of(self, handed: Handed, make: Callable[[Handed], Any]) -> Any:
        """Return what `make` returns for the labels, weights and group sizes."""
        contents = handed.labels, handed.weight, handed.sizes
        for known, made in list(self._made):
            if all(map(_same, known, contents)):
                return made
        made = make(handed)
        # Some of the arrays are views of memory that the library owns.
        copies = [None if array is None else np.array(array) for array in contents]
        self._made.append((copies, made))
        return made


def _same(a, b):
    return a is b if a is None or b is None else np.array_equal(a, b)


def from_lightgbm(y_true, y_pred, weight, group_sizes) -> Handed:
    """Read ``(labels, scores, weight, group_sizes)``, or ``(scores, Dataset)``."""
    if hasattr(y_pred, "get_group"):
        data = y_pred
        y_true, y_pred = data.get_label(), y_true
        weight, group_sizes = data.get_weight(), data.get_group()
    if group_sizes is None:
        raise MissingQidError(
            "LightGBM knows no queries: pass group=group_sizes(qid) to fit or to the Dataset."
        )
    return _handed(y_true, y_pred, weight, np.asarray(group_sizes))


def refuse_bagging_by_query(data):
    """Raise for an option under which LightGBM takes the gradients of an objective for other rows.

    ``data`` is what an objective gets beside the labels or scores: of `lightgbm.train` the Dataset,
    whose parameters are those of the training, of `LGBMRanker` an array, which tells nothing.
    """
    given = (getattr(data, "params", None) or {}).get("bagging_by_query", False)
    if str(given).lower() in ("true", "+"):
        raise ValueError(
            "bagging_by_query=True makes LightGBM train on the wrong rows with an objective that "
            "is not one of its own: leave it out, bagging_fraction then draws rows."
        )


def from_xgboost(scores, data) -> Handed:
    """Read ``(scores, DMatrix)``; with queries XGBoost has one weight for each of them."""
    pointers = data.get_uint_info("group_ptr")
    if len(pointers) == 0:
        raise MissingQidError(
            "XGBoost knows no queries: pass group=group_sizes(qid) to the DMatrix, or qid, sorted."
        )
    sizes = np.diff(pointers.astype(np.intp))
    weight = data.get_weight()
    weight = np.repeat(weight, sizes) if len(weight) else None
    return _handed(data.get_label(), scores, weight, sizes)


def _handed(labels, scores, weight, sizes):
    scores = as_array(scores, "scores").astype(float).ravel()
    if not len(labels) == len(scores) == sizes.sum():
        raise ValueError(
            f"There are {len(labels)} labels and {len(scores)} scores, and the group sizes sum "
            f"to {sizes.sum()}: the three must agree."
        )
    return Handed(labels, scores, weight, sizes)


def group_sizes(qid: ArrayLike) -> Ints:
    """Numbers of documents of the queries, for ``group=`` of LightGBM and XGBoost.

    Parameters
    ----------
    qid : array-like of shape (n_rows,)
        Query of each row, of any hashable type. The rows of a query must stand together:
        neither library knows other queries.

    Returns
    -------
    sizes : ndarray of int of shape (n_queries,)

    Raises
    ------
    ValueError
        If the rows of a query do not stand together, or a qid is missing.

    Examples
    --------
    >>> from skcalrank.boosting import group_sizes
    >>> group_sizes(["b", "b", "a", "c", "c", "c"])
    array([2, 1, 3])
    """
    qid = qid_array(qid)
    queries = Queries.from_qid(check_qid(qid, len(qid)))
    if queries.order is not None:
        apart = int(np.flatnonzero(np.diff(queries.order) != 1)[0])
        query = int(np.searchsorted(queries.ptr, apart, side="right")) - 1
        raise ValueError(
            f"The rows of query {plain(queries.name(query))!r} do not stand together: bring X, y "
            "and qid into the order np.argsort(qid, kind='stable') first."
        )
    return queries.sizes
