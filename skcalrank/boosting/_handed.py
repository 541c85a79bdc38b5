"""Rows as LightGBM and XGBoost hand them to objectives and metrics."""

import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import ArrayLike, Floats, Ints
from ..data import MissingQidError, Queries, check, check_own_qid, plain
from ..trees import LIBRARIES

# Training sets to remember: cross-validation inside a library boosts its folds in turn, with one
# objective and one metric.
_REMEMBERED = 16

# Names that LightGBM has for the list of workers, and for their number.
_MACHINES, _N_MACHINES = ("machines", "workers", "nodes"), ("num_machines", "num_machine")


class Handed(NamedTuple):
    """Rows in which each query is contiguous, as a library passes them."""

    labels: Any
    scores: np.ndarray
    weight: Any
    sizes: np.ndarray  # of the queries
    is_part: bool = False  # whether they are the rows of one of several workers

    @property
    def qid(self) -> np.ndarray:
        """Query of each row, numbered from 0."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


class Known:
    """Cache of objects computed from a training set, found again by its contents."""

    def __init__(self) -> None:
        self._made: deque[Any] = deque(maxlen=_REMEMBERED)

    def of(self, handed: Handed, make: Callable[[Handed], Any]) -> Any:
        """Return ``make(handed)``, computed once for the same labels, weights and group sizes."""
        contents = handed.labels, handed.weight, handed.sizes
        for known, made in list(self._made):
            if all(map(np.array_equal, known, contents)):  # of weights, None is equal to None alone
                return made
        made = make(handed)
        # Copies, as some of the arrays are views of memory that the library owns.
        self._made.append((list(map(np.array, contents)), made))
        return made


def from_lightgbm(y_true: Any, y_pred: Any, weight: Floats | None, group_sizes: Any) -> Handed:
    """Read ``(labels, scores, weight, group_sizes)``, or ``(scores, Dataset)``."""
    data = y_pred
    if hasattr(data, "get_group"):
        y_true, y_pred = data.get_label(), y_true
        weight, group_sizes = data.get_weight(), data.get_group()
    if group_sizes is None:
        raise MissingQidError(
            "LightGBM passed no group sizes: give group=group_sizes(qid) to fit or to the Dataset."
        )
    is_part = _is_part_of_lightgbm(getattr(data, "params", None) or {})
    return _handed(y_true, y_pred, weight, np.asarray(group_sizes), is_part)


def _is_part_of_lightgbm(params: dict[str, Any]) -> bool:
    """Return whether LightGBM may train on several workers.

    ``lightgbm.train`` shows the options; its classes for Dask do not, but train in tasks of Dask.
    """
    machines = next((params[name] for name in _MACHINES if name in params), ())
    listed = machines.split(",") if isinstance(machines, str) else machines
    counts = [int(params[name]) for name in _N_MACHINES if name in params]
    return max([len(listed), *counts]) > 1 or _is_in_task()


def _is_in_task() -> bool:
    """Return whether a task of Dask runs this code."""
    get_worker = getattr(sys.modules.get("distributed"), "get_worker", None)
    with suppress(ValueError):
        return get_worker is not None and get_worker() is not None
    return False


def from_xgboost(scores: Floats, data: Any) -> Handed:
    """Read ``(scores, DMatrix)``, and repeat the weight of each query for its rows."""
    pointers = data.get_uint_info("group_ptr")
    if len(pointers) == 0 and data.num_row():
        raise MissingQidError(
            "The DMatrix has no queries: give it group=group_sizes(qid), or qid if it is sorted."
        )
    sizes = np.diff(pointers.astype(np.intp))
    weight = data.get_weight()
    weight = np.repeat(weight, sizes) if len(weight) else None
    return _handed(data.get_label(), scores, weight, sizes, workers().get_world_size() > 1)


def workers() -> Any:
    """Return the module of XGBoost through which workers exchange sums."""
    return LIBRARIES["xgboost"].module.collective


def _handed(labels: Any, scores: Any, weight: Floats | None, sizes: Ints, is_part: bool) -> Handed:
    scores = arrays.as_array(scores, "scores").astype(float).ravel()
    if not np.isfinite(scores).all():
        check.scores(scores, scores.shape)  # which raises
    if not len(labels) == len(scores) == sizes.sum():
        raise ValueError(
            "labels, scores and group sizes must agree in the number of rows, got "
            f"{len(labels)} labels, {len(scores)} scores and group sizes with sum {sizes.sum()}."
        )
    return Handed(labels, scores, weight, sizes, is_part)


def group_sizes(qid: ArrayLike) -> Ints:
    """Return the number of documents of each query, for ``group=`` of LightGBM and XGBoost.

    Parameters
    ----------
    qid : array-like of shape (n_rows,)
        Query of each row, of any hashable type. The rows of each query must be contiguous, as
        both libraries require.

    Returns
    -------
    sizes : ndarray of int of shape (n_queries,)
        In the order in which the queries appear.

    Raises
    ------
    ValueError
        If the rows of a query are not contiguous, or a qid is missing.

    See Also
    --------
    lightgbm_objective : Calibrated objective for LightGBM.
    xgboost_objective : Calibrated objective for XGBoost.
    skcalrank.BoostedRanker : Takes qids of any type, in any order.

    Examples
    --------
    >>> from skcalrank.boosting import group_sizes
    >>> group_sizes(["b", "b", "a", "c", "c", "c"])
    array([2, 1, 3])
    """
    queries = Queries.from_qid(check_own_qid(qid))
    if queries.order is not None:
        apart = int(np.flatnonzero(np.diff(queries.order) != 1)[0])
        query = int(np.searchsorted(queries.ptr, apart, side="right")) - 1
        raise ValueError(
            f"The rows of each query must be contiguous, and query {plain(queries.name(query))!r} "
            "comes in several pieces. Sort X, y and qid by np.argsort(qid, kind='stable') first."
        )
    return queries.sizes
