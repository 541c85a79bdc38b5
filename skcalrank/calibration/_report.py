"""Whether the cheap prediction map is safe for what a pairwise ranker has learnt."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..measures import AveragePrecision, PairwiseDisagreement
from ..preds import feedback_arc_positions, map_positions, topological_result
from ._conditions import dag_condition, reinforce_condition

__all__ = ["NoiseReport", "noise_report"]


@dataclass(frozen=True)
class NoiseReport:
    """How often the cheap prediction map is as good as the exact one.

    Made by :func:`noise_report`.

    Attributes
    ----------
    condition : str
        The noise condition that makes the cheap map exact: "P_reinforce" or "P_DAG".
    cheap : str
        Name of the cheap map: "diagonal" or "topological".
    holds : ndarray of bool of shape (n_queries,)
        Whether the condition holds for the estimated surrogate values of each query.
    loss : ndarray of shape (n_queries,)
        What taking the cheap positions loses of the objective, as estimated.
    proven : ndarray of bool of shape (n_queries,)
        Whether the positions compared with are proven best.
    scale : ndarray of shape (n_queries,)
        Size of the objective: a loss up to 1e-9 of it is rounding.
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
    if getattr(ranker, "surrogate", None) != "pairwise":
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
