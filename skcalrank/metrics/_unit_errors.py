"""How far values with a unit are from what is observed: over documents, and over queries."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..columns import arrays
from ..columns.types import ArrayLike, Floats, Ints, Self
from ..data import Queries, check

# Draws of labels for the error that perfect probabilities would have.
_N_DRAWS = 200


class CalibrationError(NamedTuple):
    """A calibration error, and its mean under perfect probabilities."""

    error: float
    expected: float


def document_calibration_error(
    y_true: ArrayLike,
    y_value: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    n_bins: int = 15,
    sample_weight: ArrayLike | None = None,
    return_expected: bool = False,
) -> Any:
    r"""Return the mean distance of values from the observed means of documents with such values.

    Documents are sorted by their values and cut into bins of equal numbers, in which documents of
    equal value stay together. The error is :math:`\sum_b w_b |\bar y_b - \bar v_b|`, with the
    share of the weight :math:`w_b`, the mean label and the mean value of each bin.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        What is observed: 0 and 1 for probabilities of relevance, else what the values estimate.
    y_value : array-like of shape (n_rows,)
        Values, such as the probabilities that
        :meth:`CalibratedRankerCV.predict <skcalrank.CalibratedRankerCV.predict>` returns.
    qid : array-like of shape (n_rows,), default=None
        Ignored, as documents of all queries are binned together.
    n_bins : int, default=15
        Number of bins.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows. Rows of weight 0 count as absent.
    return_expected : bool, default=False
        Whether to return a named tuple of the ``error`` and its ``expected`` value.

    Returns
    -------
    error : float
        In the unit of the values; 0 is best, and more than perfect probabilities have.
    expected : float
        With ``return_expected=True``: the mean error of perfect probabilities on these rows, over
        200 draws of independent labels from the values. Errors of this size are no evidence
        against them.

    Raises
    ------
    ValueError
        If the arrays do not fit together, or labels are not 0 and 1 or values not in [0, 1] with
        ``return_expected=True``.

    See Also
    --------
    query_calibration_error : The same for sums over queries.
    sklearn.calibration.CalibrationDisplay : Plot of probabilities against observed shares.

    Examples
    --------
    >>> from skcalrank.metrics import document_calibration_error
    >>> round(document_calibration_error([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2), 3)
    0.175
    >>> y_true, p = [0, 0, 1, 0, 1, 1, 0, 1] * 5, [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9] * 5
    >>> found = document_calibration_error(y_true, p, n_bins=4, return_expected=True)
    >>> round(found.error, 2), round(found.expected, 2)
    (0.25, 0.1)
    """
    check.row_order(y_true=y_true, y_value=y_value, qid=qid, sample_weight=sample_weight)
    labels, values = checked_values(y_true, y_value, n_bins)
    check.queries(qid, len(labels))
    weight = check.sample_weight(sample_weight, len(labels), Queries.equal(1, len(labels)))
    weight = np.ones(len(labels)) if weight is None else weight
    labels, values, weight = (of_rows[weight > 0] for of_rows in (labels, values, weight))
    return _distance(labels, values, bins_of(values, n_bins), weight, weight.sum(), return_expected)


def query_calibration_error(
    y_true: ArrayLike,
    y_value: ArrayLike,
    *,
    qid: ArrayLike,
    n_bins: int = 10,
    relative: bool = False,
    return_expected: bool = False,
) -> Any:
    """Return the mean distance of sums over queries from the observed sums.

    The sum of the probabilities of a query is the expected number of its relevant documents.
    Queries are sorted by this sum and binned as in :func:`document_calibration_error`. Values can
    be right on average over documents, and wrong for queries that have nothing relevant.

    Parameters
    ----------
    y_true, y_value
        As in :func:`document_calibration_error`.
    qid : array-like of shape (n_rows,) or scalar, or None
        Query of each row, or of all rows. If None, the queries that `y_true` carries.
    n_bins : int, default=10
        Number of bins of queries.
    relative : bool, default=False
        Whether to divide by the mean of the observed sums, without its sign.
    return_expected : bool, default=False
        As in :func:`document_calibration_error`. With few queries it is large: relative to the
        sums .2 for perfect probabilities of 50 queries of 10 documents, for example.

    Returns
    -------
    error : float
        Mean over the queries; 0 is best. NaN if it is relative and all labels are 0.
    expected : float
        With ``return_expected=True``, in the same unit.

    Raises
    ------
    ValueError
        As in :func:`document_calibration_error`.

    Warns
    -----
    OneQueryWarning
        If there are 20 rows or more and no queries.
    CutQueriesWarning
        If `y_true` carries its queries and rows of some of them are missing.

    See Also
    --------
    document_calibration_error : The same for single documents.

    Examples
    --------
    >>> from skcalrank.metrics import query_calibration_error
    >>> y, p, q = [1, 0, 0, 1, 1, 0], [0.5, 0.2, 0.2, 0.9, 0.8, 0.1], [0, 0, 0, 1, 1, 1]
    >>> round(query_calibration_error(y, p, qid=q), 3)
    0.15
    """
    qid = check.qid_of_metric("query_calibration_error", y_true, qid, y_value=y_value)
    labels, values = checked_values(y_true, y_value, n_bins)
    queries = check.queries(qid, len(labels))
    bins = bins_of(queries.sum(queries.group(values)), n_bins)[queries.codes]
    total = abs(labels.sum()) if relative else queries.n_queries
    return _distance(labels, values, bins, np.ones(len(labels)), total, return_expected)


def checked_values(y_true: ArrayLike, y_value: ArrayLike, n_bins: int) -> tuple[Floats, Floats]:
    """Return labels and values of rows, and check the number of their bins."""
    check.count("n_bins", n_bins, "the number of bins")
    labels = arrays.checked(y_true, "y_true", ensure_2d=False)
    values = arrays.checked(y_value, "y_value", ensure_2d=False)
    if labels.ndim != 1 or values.shape != labels.shape:
        raise ValueError(
            f"y_value must have the shape {labels.shape} of y_true, (n_rows,), got {values.shape}."
        )
    return labels, values


def _distance(
    labels: Floats, values: Floats, bins: Ints, weight: Floats, total: Any, return_expected: bool
) -> Any:
    """Return the sum of the distances of bins divided by a total, and what is expected of it."""

    def distance(of: Any) -> float:
        apart = np.abs(np.bincount(bins, weight * (of - values))).sum()
        return float(arrays.safe_divide(apart, total, np.nan))

    if not return_expected:
        return distance(labels)
    if not (np.isin(labels, (0, 1)).all() and values.min() >= 0 and values.max() <= 1):
        raise ValueError(
            "y_true must be 0 or 1 and y_value in [0, 1] for return_expected=True, got others."
        )
    # Sorted rows have the same draws in any order.
    order, error = np.lexsort((weight, values, bins)), distance(labels)
    bins, values, weight = bins[order], values[order], weight[order]
    rng = np.random.default_rng(0)
    drawn = [distance(rng.random(len(values)) < values) for _ in range(_N_DRAWS)]
    return CalibrationError(error, float(np.mean(drawn)))


class Bins(NamedTuple):
    """Means of bins, intervals of what is observed, and numbers of observations."""

    value: Floats
    observed: Floats
    low: Floats
    high: Floats
    counts: Ints

    @classmethod
    def of(cls, labels: Floats, values: Floats, n_bins: int, queries: Ints) -> Self:
        """Bin observations, those with the same number in `queries` being of one query.

        The interval is Wilson's, in units of the range of the labels, for the number of independent
        observations that have the variance between queries; without variance, that of queries.
        """
        bins = np.unique(bins_of(values, n_bins), return_inverse=True)[1]
        count, bottom, top = np.bincount(bins), min(labels.min(), 0.0), max(labels.max(), 1.0)
        labels = (labels - bottom) / (top - bottom)
        value, share = (np.bincount(bins, of) / count for of in (values, labels))
        pairs, members = np.unique(queries * len(count) + bins, return_inverse=True)
        away, met = np.bincount(members, labels - share[bins]), np.bincount(pairs % len(count))
        variance = np.bincount(pairs % len(count), away**2) / count**2
        variance *= met / np.maximum(met - 1, 1)
        spread = share * (1 - share)
        n = np.where(variance > 0, arrays.safe_divide(spread, variance), met)
        wide = stdtrit(met - 1, 0.975) ** 2 / n  # NaN for one query
        half = np.sqrt(wide * (spread + wide / 4))
        ends = (share + np.multiply.outer([-1, 1], half) + wide / 2) / (1 + wide)
        observed, low, high = bottom + (top - bottom) * np.vstack([share, ends])
        return cls(value, observed, low, high, count)


def bins_of(values: Floats, n_bins: int) -> Ints:
    """Return the bin of each value, of bins of equal numbers, by the first of equal values.

    Values that differ by rounding errors alone, as sums of rows in two orders do, are equal.
    """
    order, n = np.argsort(values, kind="stable"), len(values)
    first = arrays.firsts_of_equal(values[order], np.abs(values).max(initial=0.0))
    bins = np.empty(n, dtype=int)
    bins[order] = first * min(n_bins, n) // n
    return bins
