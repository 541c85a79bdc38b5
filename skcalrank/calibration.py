"""Conditions on the noise under which a cheap prediction map or a score is enough.

"Calibrated" is meant as in learning theory: Fisher-consistent, not probability calibration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from .measures import AveragePrecision, PairwiseDisagreement
from .preds import (
    feedback_arc_positions,
    map_positions,
    topological_result,
    widest_cycle,
)
from .rankers import PairRanker

__all__ = [
    "Condition",
    "NoiseReport",
    "dag_condition",
    "low_noise_condition",
    "noise_report",
    "reinforce_condition",
    "score_condition",
]


class Condition(NamedTuple):
    """Whether a noise condition holds, and by how much.

    Its truth value is `holds`.

    Attributes
    ----------
    holds : bool
    margin : float
        By how much the tightest inequality holds; negative when it is broken, infinite when
        there is none to hold.
    """

    holds: bool
    margin: float

    def __bool__(self):
        return self.holds


def _square(matrix, name):
    matrix = check_array(np.asarray(matrix), dtype=np.float64, input_name=name)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be square, one row per document, got {matrix.shape}.")
    return matrix


def _holds(margin, scale, tol, strict=False):
    limit = tol * max(scale, np.finfo(float).tiny)
    holds = margin > limit if strict else margin >= -limit
    return Condition(bool(holds), float(margin))


def reinforce_condition(u, *, tol=1e-10):
    r"""P_reinforce of RAT13 (section 6): sorting by the diagonal is enough for MAP.

    For all i, j with :math:`u_{ii} \ge u_{jj}`,

    .. math:: u_{ii} \ge u_{jj} + \sum_{g \notin \{i,j\}} (u_{jg} - u_{ig})_+ .

    Sufficient for the diagonal map and for the score surrogate (Theorem 4, Corollary 5), not
    necessary.

    Parameters
    ----------
    u : array-like of shape (r, r)
        :math:`E[Y_i Y_j / |Y|_1]`; the lower triangle is read, with the diagonal.
    tol : float, default=1e-10
        Inequalities may fail by this, relative to the largest entry.

    Returns
    -------
    condition : Condition

    Examples
    --------
    >>> from skcalrank.calibration import reinforce_condition
    >>> reinforce_condition([[0.5, 0.0], [0.1, 0.2]])
    Condition(holds=True, margin=0.3)
    """
    u = _square(u, "u")
    u = np.tril(u) + np.tril(u, -1).T
    r = len(u)
    diagonal = u.diagonal()
    margin = np.inf
    for i in range(r):
        # Column g of row j: what j has over i with a third document g.
        over = np.maximum(u - u[i], 0.0)
        over[:, i] = 0.0
        np.fill_diagonal(over, 0.0)
        below = (diagonal <= diagonal[i]) & (np.arange(r) != i)
        slack = diagonal[i] - diagonal - over.sum(axis=1)
        margin = min(margin, slack[below].min(initial=np.inf))
    return _holds(margin, np.abs(u).max(), tol)


def score_condition(EY, Ef, *, tol=1e-10):
    r"""P_f of RAT13 (Theorem 6): sorting by the scores is enough for pairwise disagreement.

    For all i, j, :math:`E[Y_{ij}] > E[Y_{ji}]` implies :math:`E[f_i(Y)] > E[f_j(Y)]`.

    Parameters
    ----------
    EY : array-like of shape (r, r)
        Expected preferences.
    Ef : array-like of shape (r,)
        Expected scores.
    tol : float, default=1e-10
        Differences up to this, relative to the largest entry, count as none.

    Returns
    -------
    condition : Condition

    Examples
    --------
    >>> from skcalrank.calibration import score_condition
    >>> bool(score_condition([[0, 2], [1, 0]], [0.0, 1.0]))
    False
    """
    net = _net(EY)
    Ef = check_array(np.asarray(Ef), ensure_2d=False, dtype=np.float64, input_name="Ef")
    if Ef.shape != (len(net),):
        raise ValueError(f"Ef has shape {Ef.shape} for {len(net)} documents in EY.")
    edges = net > tol * np.abs(net).max()
    ahead = (Ef[:, None] - Ef[None, :])[edges]
    return _holds(ahead.min(initial=np.inf), np.abs(Ef).max(), tol, strict=True)


def dag_condition(EY, *, tol=1e-10):
    r"""P_DAG of RAT13 (section 7.2): Algorithm 1 is enough for pairwise disagreement.

    The graph of :math:`E[Y_{ij}] > E[Y_{ji}]` has no cycle.

    Parameters
    ----------
    EY : array-like of shape (r, r)
        Expected preferences; the diagonal is not read.
    tol : float, default=1e-10
        Differences up to this, relative to the largest, are no edges.

    Returns
    -------
    condition : Condition
        The margin is the lightest edge of an acyclic graph, and minus the lightest edge of the
        heaviest cycle of another.

    Examples
    --------
    >>> from skcalrank.calibration import dag_condition
    >>> dag_condition([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    Condition(holds=False, margin=-1.0)
    """
    net = _net(EY)
    net[net <= tol * np.abs(net).max()] = 0.0
    heaviest = widest_cycle(net)
    lightest = net[net > 0].min(initial=np.inf)
    return Condition(bool(heaviest == 0), float(-heaviest if heaviest > 0 else lightest))


def low_noise_condition(EY, *, tol=1e-10):
    r"""Low noise (DMJ10, Definition 8; DMJ13, Definition 4).

    With :math:`D_{ij} = (E[Y_{ij}] - E[Y_{ji}])_+`, edges i -> j and j -> k imply
    :math:`E[Y_{ik}] - E[Y_{ki}] \ge D_{ij} + D_{jk}`. It implies the condition of the net
    preference (:func:`score_condition`), which implies :func:`dag_condition`.

    Parameters
    ----------
    EY : array-like of shape (r, r)
        Expected preferences; the diagonal is not read.
    tol : float, default=1e-10
        Inequalities may fail by this, relative to the largest difference: averaged differences
        of relevances meet them with equality.

    Returns
    -------
    condition : Condition

    Examples
    --------
    >>> from skcalrank.calibration import low_noise_condition
    >>> low_noise_condition([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    Condition(holds=True, margin=0.0)
    """
    net = _net(EY)
    scale = np.abs(net).max()
    edges = net > tol * scale
    margin = np.inf
    for j in range(len(net)):
        into, out_of = np.flatnonzero(edges[:, j]), np.flatnonzero(edges[j])
        slack = net[np.ix_(into, out_of)] - net[into, j][:, None] - net[j, out_of]
        margin = min(margin, slack.min(initial=np.inf))
    return _holds(margin, scale, tol)


def _net(EY):
    EY = _square(EY, "EY")
    return EY - EY.T


@dataclass(frozen=True)
class NoiseReport:
    """How often the cheap prediction map is as good as the exact one.

    Attributes
    ----------
    condition : str
        The noise condition that makes the cheap map exact.
    holds : ndarray of bool of shape (n_queries,)
        Whether it holds for the estimated surrogate values of each query.
    loss : ndarray of shape (n_queries,)
        What taking the cheap positions loses of the objective, as estimated.
    proven : ndarray of bool of shape (n_queries,)
        Whether the positions compared with are proven best.
    """

    condition: str
    cheap: str
    holds: np.ndarray = field(repr=False)
    loss: np.ndarray = field(repr=False)
    proven: np.ndarray = field(repr=False)
    scale: np.ndarray = field(repr=False)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.holds)

    @property
    def condition_share(self) -> float:
        """Share of queries on which the condition holds."""
        return float(self.holds.mean())

    @property
    def equal_share(self) -> float:
        """Share of queries on which the cheap positions are as good as the exact ones."""
        return float((self.loss <= 1e-9 * self.scale).mean())

    @property
    def mean_loss(self) -> float:
        """Mean of what the cheap positions lose."""
        return float(self.loss.mean())

    @property
    def proven_share(self) -> float:
        """Share of queries whose positions are proven best."""
        return float(self.proven.mean())

    def __str__(self):
        rows = (
            ("queries", f"{self.n_queries}"),
            (f"{self.condition} holds", f"{self.condition_share:.1%}"),
            (f"{self.cheap} as good as exact", f"{self.equal_share:.1%}"),
            (f"mean loss of {self.cheap}", f"{self.mean_loss:.4g}"),
            ("exact proven", f"{self.proven_share:.1%}"),
        )
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


# By measure: name and test of the condition, name of the cheap map, cheap and exact map, and
# whether the objective is to be high (1) or low (-1).
_MAPS = {
    AveragePrecision: (
        "P_reinforce",
        reinforce_condition,
        "diagonal",
        lambda u: map_positions(u, method="diagonal"),
        lambda u, time_limit: map_positions(u, method="auto"),
        1.0,
    ),
    PairwiseDisagreement: (
        "P_DAG",
        dag_condition,
        "topological",
        topological_result,
        lambda u, time_limit: feedback_arc_positions(u, time_limit=time_limit),
        -1.0,
    ),
}


def noise_report(ranker, X, qid=None, *, time_limit=10.0):
    """Whether the cheap prediction map is safe for what a pairwise ranker has learnt.

    On every query the estimated surrogate values are tested for the noise condition under
    which the cheap map is exact, and ranked by both maps.

    Parameters
    ----------
    ranker : AveragePrecisionRanker or PairwiseDisagreementRanker
        Fitted with ``surrogate="pairwise"``.
    X : array-like of shape (n_rows, d)
    qid : array-like of shape (n_rows,), default=None
        Query of each row.
    time_limit : float, default=10.0
        Seconds for the exact map of one query; None = no limit. MAP is exact up to 16
        documents and a beam search beyond.

    Returns
    -------
    report : NoiseReport
        ``print(report)`` is a table.

    Raises
    ------
    ValueError
        If the ranker has no surrogate values of pairs.

    Examples
    --------
    >>> from skcalrank import AveragePrecisionRanker, load_digits_queries
    >>> from skcalrank.calibration import noise_report
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    >>> ranker = AveragePrecisionRanker(surrogate="pairwise", alpha=10.0).fit(X, y, qid)
    >>> report = noise_report(ranker, X, qid)
    >>> report.n_queries
    20
    """
    if not isinstance(ranker, PairRanker) or ranker.surrogate != "pairwise":
        raise ValueError(
            "noise_report compares prediction maps of pairs: pass a ranker fitted with "
            "surrogate='pairwise'."
        )
    condition, test, cheap, cheap_map, exact_map, sign = _MAPS[type(ranker._measure())]
    rows = [
        (bool(test(u)), cheap_map(u), exact_map(u, time_limit))
        for u in ranker.decision_function(X, qid)
    ]
    holds, cheaper, exact = zip(*rows)
    values = np.array([[c.value, e.value] for c, e in zip(cheaper, exact)])
    return NoiseReport(
        condition,
        cheap,
        np.array(holds),
        # A search that ran out of time can be worse than the cheap map.
        np.maximum(sign * (values[:, 1] - values[:, 0]), 0.0),
        np.array([e.proven for e in exact]),
        np.maximum(np.abs(values).max(axis=1), 1e-300),
    )
