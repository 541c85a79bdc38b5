"""Noise conditions under which a cheap prediction map, or one score per document, is enough."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import ArrayLike, Floats
from ..data import check
from ..preds import widest_cycle
from ._distribution import LabelDistribution


class Condition(NamedTuple):
    """Whether a noise condition holds, and by how much.

    Its truth value is `holds`.

    Attributes
    ----------
    holds : bool
        Whether the condition holds.
    margin : float
        Slack of the tightest inequality: negative if it is violated, infinite if there are no
        inequalities.
    """

    holds: bool
    margin: float

    def __bool__(self) -> bool:
        return self.holds


def _square(matrix: Any, name: str, tol: float) -> Floats:
    """Return a validated square matrix."""
    check.number("tol", tol, ">= 0")
    matrix = arrays.checked(matrix, name)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be square, one row per document, got {matrix.shape}.")
    return matrix


def _holds(margin: float, scale: float, tol: float, strict: bool = False) -> Condition:
    """Return the condition that the margin is non-negative, or positive if `strict`."""
    limit = tol * max(scale, np.finfo(float).tiny)
    return Condition(bool(margin > limit if strict else margin >= -limit), float(margin))


def reinforce_condition(u: ArrayLike, *, tol: float = 1e-10) -> Condition:
    r"""Check P_reinforce (RAT13, section 6): sorting by the diagonal is enough for MAP.

    For all i, j with :math:`u_{ii} \ge u_{jj}`,

    .. math:: u_{ii} \ge u_{jj} + \sum_{g \notin \{i,j\}} (u_{jg} - u_{ig})_+ .

    The condition is sufficient for the diagonal map and for the score surrogate (Theorem 4,
    Corollary 5), not necessary.

    Parameters
    ----------
    u : array-like of shape (r, r)
        Mean targets :math:`E[Y_i Y_j / |Y|_1]`. Only the lower triangle and the diagonal are read.
    tol : float, default=1e-10
        Tolerance of the inequalities, relative to the largest entry.

    Returns
    -------
    condition : Condition
        Whether the condition holds, and the margin of the tightest inequality.

    Examples
    --------
    >>> from skcalrank.calibration import reinforce_condition
    >>> reinforce_condition([[0.5, 0.0], [0.1, 0.2]])
    Condition(holds=True, margin=0.3)
    """
    lowest = np.tril(_square(u, "u", tol)).min()
    if lowest < 0:
        raise ValueError(f"u must hold non-negative mean targets y_i y_j / |y|, got {lowest:g}.")
    return _reinforced_values(u, tol=tol)


def _reinforced_values(u: Any, *, tol: float = 1e-10) -> Condition:
    """Return the condition for estimated targets, which may be negative."""
    u = _square(u, "u", tol)
    u = np.tril(u) + np.tril(u, -1).T
    r = len(u)
    diagonal = u.diagonal()
    margin = np.inf
    for i in range(r):
        # Entry (j, g): by how much u_jg exceeds u_ig, for a third document g.
        over = np.maximum(u - u[i], 0.0)
        over[:, i] = 0.0
        np.fill_diagonal(over, 0.0)
        below = (diagonal <= diagonal[i]) & (np.arange(r) != i)
        slack = diagonal[i] - diagonal - over.sum(axis=1)
        margin = min(margin, slack[below].min(initial=np.inf))
    return _holds(margin, np.abs(u).max(), tol)


def score_condition(EY: ArrayLike, Ef: ArrayLike, *, tol: float = 1e-10) -> Condition:
    """Check P_f (RAT13, Theorem 6): sorting by the scores is enough for pairwise disagreement.

    For all i, j, :math:`E[Y_{ij}] > E[Y_{ji}]` implies :math:`E[f_i(Y)] > E[f_j(Y)]`.

    Parameters
    ----------
    EY : array-like of shape (r, r)
        Expected preferences.
    Ef : array-like of shape (r,)
        Expected scores.
    tol : float, default=1e-10
        Differences up to this, relative to the largest entry, count as zero.

    Returns
    -------
    condition : Condition
        Whether the condition holds, and the margin of the tightest inequality.

    Examples
    --------
    >>> from skcalrank.calibration import score_condition
    >>> bool(score_condition([[0, 2], [1, 0]], [0.0, 1.0]))
    False
    """
    net = _net(EY, tol)
    Ef = arrays.checked(Ef, "Ef", ensure_2d=False)
    if Ef.shape != (len(net),):
        raise ValueError(f"Ef must have shape ({len(net)},), as many as EY, got {Ef.shape}.")
    edges = net > tol * np.abs(net).max()
    ahead = (Ef[:, None] - Ef[None, :])[edges]
    return _holds(ahead.min(initial=np.inf), np.abs(Ef).max(), tol, strict=True)


def dag_condition(EY: ArrayLike, *, tol: float = 1e-10) -> Condition:
    """Check P_DAG (RAT13, section 7.2): Algorithm 1 is enough for pairwise disagreement.

    The condition is that the graph of :math:`E[Y_{ij}] > E[Y_{ji}]` has no cycle.

    Parameters
    ----------
    EY : array-like of shape (r, r)
        Expected preferences; the diagonal is ignored.
    tol : float, default=1e-10
        Differences up to this, relative to the largest one, are not edges.

    Returns
    -------
    condition : Condition
        The margin is the weight of the lightest edge if the graph is acyclic. Otherwise it is minus
        the largest weight that the lightest edge of a cycle has.

    Examples
    --------
    >>> from skcalrank.calibration import dag_condition
    >>> dag_condition([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    Condition(holds=False, margin=-1.0)
    """
    net = _net(EY, tol)
    net[net <= tol * np.abs(net).max()] = 0.0
    heaviest = widest_cycle(net)
    lightest = net[net > 0].min(initial=np.inf)
    return Condition(bool(heaviest == 0), float(-heaviest if heaviest > 0 else lightest))


def low_noise_condition(EY: ArrayLike, *, tol: float = 1e-10) -> Condition:
    r"""Check low noise (DMJ10, Definition 8; DMJ13, Definition 4).

    With :math:`D_{ij} = (E[Y_{ij}] - E[Y_{ji}])_+`, edges i -> j and j -> k imply
    :math:`E[Y_{ik}] - E[Y_{ki}] \ge D_{ij} + D_{jk}`. It implies the condition of the net
    preference (:func:`score_condition`), which implies :func:`dag_condition`.

    Parameters
    ----------
    EY : array-like of shape (r, r)
        Expected preferences; the diagonal is ignored.
    tol : float, default=1e-10
        Tolerance of the inequalities, relative to the largest difference: averaged differences of
        relevances meet them with equality.

    Returns
    -------
    condition : Condition
        Whether the condition holds, and the margin of the tightest inequality.

    Examples
    --------
    >>> from skcalrank.calibration import low_noise_condition
    >>> low_noise_condition([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    Condition(holds=True, margin=0.0)
    """
    net = _net(EY, tol)
    scale = np.abs(net).max()
    edges = net > tol * scale
    margin = np.inf
    for j in range(len(net)):
        into, out_of = np.flatnonzero(edges[:, j]), np.flatnonzero(edges[j])
        slack = net[np.ix_(into, out_of)] - net[into, j][:, None] - net[j, out_of]
        margin = min(margin, slack.min(initial=np.inf))
    return _holds(margin, scale, tol)


def rank_differentiable_condition(
    distribution: LabelDistribution, *, tol: float = 1e-10
) -> Condition:
    r"""Check rank differentiability (Lan, Guo, Cheng and Liu, 2012): RankNet is calibrated.

    For each pair of documents, one of them is ahead: labels y with :math:`y_i > y_j` are at least
    as likely as those in which the labels of i and j are exchanged, whatever the other labels. Then
    convex losses of single preferences, as in :class:`~skcalrank.PairwiseLogisticRanker`, put i
    before j, as does every weighted pairwise disagreement whose weights depend on the labels of the
    pair. Laws of Mallows meet the condition, and mixtures of these with one center.

    Parameters
    ----------
    distribution : LabelDistribution
        Distribution of relevances, or of orders as minus the positions.
    tol : float, default=1e-10
        Tolerance of the inequalities.

    Returns
    -------
    condition : Condition
        Whether the condition holds, and the margin of the tightest inequality, a difference of
        probabilities.

    Raises
    ------
    ValueError
        If the labels are preferences, or `tol` is negative.

    Examples
    --------
    >>> from skcalrank.calibration import LabelDistribution, rank_differentiable_condition
    >>> rank_differentiable_condition(LabelDistribution([[2, 1, 0], [1, 2, 0]], [0.75, 0.25]))
    Condition(holds=True, margin=0.25)
    >>> bool(rank_differentiable_condition(LabelDistribution([[2, 1, 0], [0, 2, 1]])))
    False
    """
    labels, p = distribution.labels, distribution.probabilities
    if labels.ndim != 2:
        raise ValueError(
            "distribution must be of relevances or orders, of shape (m, r), got preferences of "
            f"shape {labels.shape}."
        )
    check.number("tol", tol, ">= 0")
    margin = np.inf
    for i, j in combinations(range(labels.shape[1]), 2):
        swapped = labels.copy()
        swapped[:, [i, j]] = labels[:, [j, i]]
        kinds, of = np.unique(np.concatenate([labels, swapped]), axis=0, return_inverse=True)
        ahead = np.bincount(of.ravel(), np.concatenate([p, -p]), len(kinds))
        ahead = ahead[kinds[:, i] > kinds[:, j]]
        if ahead.size:
            margin = min(margin, max(ahead.min(), (-ahead).min()))
    return _holds(margin, 1.0, tol)


def _net(EY: Any, tol: float) -> Floats:
    """Return the matrix of net preferences."""
    EY = _square(EY, "EY", tol)
    if EY.min() < 0:
        raise ValueError(
            f"EY must hold non-negative mean preferences, got {EY.min():g}: swap winner and loser "
            "instead."
        )
    return EY - EY.T


def _dag_of_values(U: Any, *, tol: float = 1e-10) -> Any:
    """Return the condition for estimated preferences, which may be negative."""
    U = _square(U, "U", tol)
    return dag_condition(np.maximum(U - U.T, 0.0), tol=tol)


#: Conditions under which a cheap prediction map is exact, by their names in the map.
CONDITIONS = {"P_reinforce": _reinforced_values, "P_DAG": _dag_of_values}
