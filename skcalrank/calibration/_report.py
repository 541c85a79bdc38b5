"""Report on how often a cheap prediction map is as good as the exact one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..columns.types import ArrayLike, Estimator, Floats, Matrix
from ..data import check
from ..preds import TIME_LIMIT, Pred, PredResult, get_pred, preds_for, sort_positions
from ..rankers import PairRanker, measure_of
from ._conditions import CONDITIONS, score_condition


@dataclass(frozen=True)
class NoiseReport:
    """How often the cheap prediction map is as good as the exact one.

    Returned by :func:`noise_report`.

    Attributes
    ----------
    condition : str or None
        The noise condition that makes the cheap map exact: "P_reinforce", "P_DAG" or, for the sort
        by scores, "P_f"; None if no condition is known.
    cheap : str
        Name of the cheap map, such as "diagonal" or "topological"; "score" for the sort by scores.
    holds : ndarray of bool of shape (n_queries,)
        Whether the condition holds for the estimated surrogate values of each query; False
        if no condition is known.
    loss : ndarray of shape (n_queries,)
        Estimated loss of the objective from using the cheap positions.
    proven : ndarray of bool of shape (n_queries,)
        Whether the exact positions are proven best.
    scale : ndarray of shape (n_queries,)
        Size of the objective: a loss up to 1e-9 of it is a rounding error.
    """

    condition: str | None
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
        """Mean loss from using the cheap positions."""
        return float(self.loss.mean())

    @property
    def proven_share(self) -> float:
        """Share of queries whose exact positions are proven best."""
        return float(self.proven.mean())

    def __str__(self) -> str:
        condition = (f"{self.condition} holds", f"{self.condition_share:.1%}")
        rows = (
            ("queries", f"{self.n_queries}"),
            *([] if self.condition is None else [condition]),
            (f"{self.cheap} as good as exact", f"{self.equal_share:.1%}"),
            (f"mean loss of {self.cheap}", f"{self.mean_loss:.4g}"),
            ("exact proven", f"{self.proven_share:.1%}"),
        )
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def noise_report(
    ranker: PairRanker,
    X: Matrix,
    qid: ArrayLike | None = None,
    *,
    pred: str | Pred | Callable[..., Any] | None = None,
    score_ranker: Estimator | None = None,
    time_limit: float | None = TIME_LIMIT,
) -> NoiseReport:
    """Report how often a cheap prediction map is as good as the exact one, for a fitted ranker.

    On every query the estimated surrogate values are checked for the noise condition under which
    the cheap map is exact, and ranked by both maps.

    Parameters
    ----------
    ranker : AveragePrecisionRanker, PairwiseDisagreementRanker or LeastSquaresPairRanker
        Fitted with ``surrogate="pairwise"``.
    X : array-like of shape (n_rows, d)
        Documents.
    qid : array-like of shape (n_rows,), default=None
        Query of each row.
    pred : str, Pred or callable, default=None
        The cheap map, as the ranker accepts it. If None, the one with a noise condition:
        "diagonal" for MAP, "topological" for pairwise disagreement.
    score_ranker : ranker, default=None
        A fitted ranker of scores, whose sort is the cheap map instead of `pred`. For pairwise
        disagreement its condition is P_f (:func:`score_condition`), for its scores and the
        preferences that `ranker` estimates.
    time_limit : float, default=10.0
        Seconds for the exact map of one query; None means no limit.

    Returns
    -------
    report : NoiseReport
        ``print(report)`` prints a table.

    Raises
    ------
    ValueError
        If the ranker has no surrogate values of pairs, the map is unknown, or both `pred` and
        `score_ranker` are given.

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
            "ranker must be fitted with surrogate='pairwise', because prediction maps of pairs are "
            f"compared, got {ranker!r}."
        )
    measure = measure_of(ranker)
    cheap, best = _maps(pred, measure.objective)

    def solve(pred: Pred, u: Floats) -> PredResult:
        options = {"time_limit": time_limit} if "time_limit" in pred.options else {}
        return pred.solve(u, **options, **measure.problem)

    values = ranker.surrogate_values(X, qid)
    if score_ranker is None:
        tried = [(_holds(cheap.condition, u), solve(cheap, u).value) for u in values]
        condition, name = cheap.condition, cheap.name
    else:
        if pred is not None:
            raise ValueError(f"pred must be None with score_ranker, which is sorted, got {pred!r}.")
        condition = "P_f" if best.objective == "disagreement" else None
        tried, name = _sorted(score_ranker, X, qid, values, condition, best, solve), "score"
    exact = [solve(best, u) for u in values]
    holds, reached = zip(*tried)
    objective = np.array([reached, [e.value for e in exact]])
    sign = 1.0 if best.larger_is_better else -1.0
    return NoiseReport(
        condition,
        name,
        np.array(holds),
        # A search that reached its time limit can be worse than the cheap map.
        np.maximum(sign * (objective[1] - objective[0]), 0.0),
        np.array([e.proven for e in exact]),
        np.maximum(np.abs(objective).max(axis=0), 1e-300),
    )


def _sorted(
    score_ranker: Any, X: Any, qid: Any, values: Any, condition: Any, best: Any, solve: Any
) -> Any:
    """Return for each query whether P_f holds, and the value of the sort by scores."""
    scores = score_ranker.predict(X, qid)
    if np.ndim(scores) == 1:
        queries = check.queries(qid, len(scores))
        scores = np.split(queries.group(scores), queries.ptr[1:-1])
    out = []
    for u, s in zip(values, scores):
        # Estimated preferences may be negative; only net preferences matter.
        holds = condition is not None and bool(score_condition(np.maximum(u - u.T, 0.0), s))
        positions = sort_positions(s)
        sort = Pred.from_positions(lambda _, positions=positions: positions, best.objective)
        out.append((holds, solve(sort, u).value))
    return out


def _maps(pred: Any, objective: str) -> tuple[Pred, Pred]:
    """Return the cheap map, and the best map for any number of documents."""
    known = preds_for(objective)
    conditional = (one for one in known.values() if one.condition is not None)
    cheap = next(conditional, None) if pred is None else get_pred(pred, objective)
    if cheap is None:
        raise ValueError(
            "pred must be given for a measure whose maps have no noise condition, got None: "
            f"choose one of {', '.join(map(repr, known))}, or a map of your own."
        )
    exact = (one for one in known.values() if one.exact and one.max_size is None)
    return cheap, next(exact, known["auto"])


def _holds(condition: Any, u: Floats) -> bool:
    """Return whether the condition of a map holds for surrogate values."""
    if condition is None:
        return False
    check.option("condition", condition, CONDITIONS)
    return bool(CONDITIONS[condition](u))
