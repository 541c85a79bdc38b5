"""How far values with a unit are from what is observed: over documents, and over queries."""

from __future__ import annotations

import numpy as np

from ..data import Queries, arrays, check
from ..data.types import ArrayLike, Floats


def document_calibration_error(
    y_true: ArrayLike,
    y_value: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    n_bins: int = 15,
    sample_weight: ArrayLike | None = None,
) -> float:
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
        Weights of the rows.

    Returns
    -------
    error : float
        In the unit of the values; 0 is best.

    Raises
    ------
    ValueError
        If the arrays do not fit together.

    See Also
    --------
    query_calibration_error : The same for sums over queries.
    sklearn.calibration.CalibrationDisplay : Plot of probabilities against observed shares.

    Examples
    --------
    >>> from skcalrank.metrics import document_calibration_error
    >>> round(document_calibration_error([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2), 3)
    0.175
    """
    labels, values = _checked(y_true, y_value, n_bins)
    check.queries(qid, len(labels))
    weight = check.sample_weight(sample_weight, len(labels), Queries.equal(1, len(labels)))
    return _binned_error(labels, values, n_bins, np.ones(len(labels)) if weight is None else weight)


def query_calibration_error(
    y_true: ArrayLike,
    y_value: ArrayLike,
    *,
    qid: ArrayLike,
    n_bins: int = 10,
    relative: bool = False,
) -> float:
    """Return the mean distance of sums over queries from the observed sums.

    The sum of the probabilities of a query is the expected number of its relevant documents.
    Queries are sorted by this sum and binned as in :func:`document_calibration_error`. Values can
    be right on average over documents, and wrong for queries that have nothing relevant.

    Parameters
    ----------
    y_true, y_value
        As in :func:`document_calibration_error`.
    qid : array-like of shape (n_rows,)
        Query of each row.
    n_bins : int, default=10
        Number of bins of queries.
    relative : bool, default=False
        Whether to divide by the mean of the observed sums.

    Returns
    -------
    error : float
        Mean over the queries; 0 is best. NaN if it is relative and all labels are 0.

    Raises
    ------
    ValueError
        If the arrays do not fit together.

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
    labels, values = _checked(y_true, y_value, n_bins)
    queries = check.queries(qid, len(labels))
    observed, expected = (queries.sum(queries.group(of)) for of in (labels, values))
    error = _binned_error(observed, expected, n_bins, np.ones(queries.n_queries))
    return float(arrays.safe_divide(error, observed.mean(), np.nan)) if relative else error


def _checked(y_true: ArrayLike, y_value: ArrayLike, n_bins: int) -> tuple[Floats, Floats]:
    check.count("n_bins", n_bins, "the number of bins")
    labels, values = (
        arrays.checked(of, name, ensure_2d=False)
        for of, name in ((y_true, "y_true"), (y_value, "y_value"))
    )
    if labels.ndim != 1 or values.shape != labels.shape:
        raise ValueError(
            f"y_value must have the shape {labels.shape} of y_true, (n_rows,), got {values.shape}."
        )
    return labels, values


def _binned_error(observed: Floats, expected: Floats, n_bins: int, weight: Floats) -> float:
    """Return the weighted mean, over bins, of the distance of means."""
    means = binned_means(observed, expected, n_bins, weight)
    return float(means[2] @ np.abs(means[0] - means[1]) / weight.sum())


def binned_means(
    observed: Floats, expected: Floats, n_bins: int, weight: Floats | None = None
) -> Floats:
    """Return means of what is expected and observed, and weights, of bins of equal numbers.

    Equal values are in the bin of the first of them; bins without weight are left out.
    """
    weight = np.ones(len(observed)) if weight is None else weight
    order = np.argsort(expected, kind="stable")
    _, first, codes = np.unique(expected[order], return_index=True, return_inverse=True)
    bins = np.empty(len(order), dtype=int)
    bins[order] = (first * min(n_bins, len(order)) // len(order))[codes.ravel()]
    sums = np.stack([np.bincount(bins, weight * of) for of in (expected, observed)])
    weights = np.bincount(bins, weight)
    return np.vstack([sums[:, weights > 0] / weights[weights > 0], weights[weights > 0]])
