"""Convex calibration dimension: how many surrogate values per query a measure needs."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from ..columns.types import ArrayLike, Floats
from ..data import check
from ..measures import Measure
from ._distribution import LabelDistribution
from ._function import law_of_all

# Values of at most 1, singular values and probabilities below this are rounding errors.
_ROUNDING = 1e-9


class CalibrationDimension(NamedTuple):
    """Bounds of the least number of surrogate values with which a surrogate is calibrated.

    Attributes
    ----------
    lower : int
        No convex surrogate of fewer values is calibrated, whatever the prediction map.
    upper : int
        Least squares on this many targets is calibrated, with the best order for their estimates as
        the prediction map.
    n_documents : int
        Number of documents, r.
    """

    lower: int
    upper: int
    n_documents: int

    @property
    def scores_can_suffice(self) -> bool:
        """Whether the lower bound leaves room for a surrogate of one score per document."""
        return self.lower <= self.n_documents


def calibration_dimension(
    measure: str | Measure, r: int, *, labels: ArrayLike | None = None
) -> CalibrationDimension:
    r"""Return how many values per query a convex surrogate needs to be calibrated for a measure.

    Let L have one row for each possible label of r documents, and one column for each order, with
    the value of the order. The *convex calibration dimension* is the least d for which a convex
    surrogate on :math:`R^d` and a prediction map are calibrated for every distribution of the
    labels (Ramaswamy and Agarwal, 2016). It is at most the rank of L, centered over rows and
    columns, since least squares on a factor of L is calibrated (RAT13, Theorem 3). It is at least

    .. math:: \max_p\ \|p\|_0 - \mu_{Q}(p) - 1 ,

    where Q is the set of distributions under which an order that is best under p is best, and
    :math:`\mu` the dimension of its feasible subspace at p (Theorem 16 there). That is the rank of
    the differences of the columns that are best under p, on the labels that p gives. If a
    distribution of all labels makes all orders equally good, as the uniform one does if labels come
    in every order, both bounds are equal; it is searched by a linear program.

    Parameters
    ----------
    measure : str or Measure
        Any measure, also one of your own.
    r : int
        Number of documents, 2 to 6.
    labels : array-like of shape (m, r) or (m, r, r), default=None
        Possible labels, as in :func:`calibration_function`.

    Returns
    -------
    dimension : CalibrationDimension

    Raises
    ------
    ValueError
        If r is not 2 to 6, whose orders are enumerated, or the labels are not of r documents.

    See Also
    --------
    calibration_gap : Whether a surrogate is calibrated under one distribution.
    skcalrank.structured.StructuredPredictor : Least squares on factors of a loss.

    References
    ----------
    Ramaswamy and Agarwal: Convex Calibration Dimension for Multiclass Loss Matrices, JMLR 2016.

    Examples
    --------
    Three scores are enough for precision (they need not be shifted), while no four scores
    are enough for MAP:

    >>> from skcalrank.calibration import calibration_dimension
    >>> calibration_dimension("precision@1", 4)
    CalibrationDimension(lower=3, upper=3, n_documents=4)
    >>> calibration_dimension("map", 4).scores_can_suffice
    False
    """
    check.count("r", r, least=2, most=6)
    whole = law_of_all(measure, labels, r)
    measure = whole.resolve(measure)
    values = np.array([LabelDistribution(y[None]).order_values(measure) for y in whole.labels])
    values /= np.abs(values).max() or 1.0
    centered = values - values.mean(axis=1, keepdims=True)
    upper = _rank(centered - centered.mean(axis=0))
    lower = _rank_of_ties(centered, np.full(len(values), 1.0 / len(values)))
    if lower < upper:
        lower = max(lower, _rank_of_ties(centered, _all_tied(centered)))
    return CalibrationDimension(lower, upper, r)


def _all_tied(values: Floats) -> Floats:
    """Return a distribution under which all orders are equally good, the most even one.

    It is 0 if there is none.
    """
    m = len(values)
    # Columns: the probabilities, and the smallest of them.
    above = np.hstack([-np.eye(m), np.ones((m, 1))])
    equal = np.vstack([np.ones(m), np.unique(values.round(12), axis=1).T])
    result = linprog(
        -np.eye(m + 1)[m],
        A_ub=above,
        b_ub=np.zeros(m),
        A_eq=np.hstack([equal, np.zeros((len(equal), 1))]),
        b_eq=np.eye(len(equal))[0],
    )
    return result.x[:m] if result.status == 0 else np.zeros(m)


def _rank_of_ties(values: Floats, p: Floats) -> int:
    """Return the rank of the differences of the best orders, on the labels that p gives."""
    means = p @ values
    best = values[:, means >= means.max() - _ROUNDING]
    return _rank((best - best[:, :1])[p > _ROUNDING])


def _rank(matrix: Floats) -> int:
    """Return the rank up to rounding."""
    return int(np.linalg.matrix_rank(matrix, tol=_ROUNDING))
