"""Choice between rankers of clicks by how well they predict the clicks on other queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..aggregation import position_based
from ..data import ClickSessions, call_step, handed_to, keeping_warnings, warning_once
from ..data.arrays import safe_indexing
from ..data.types import ArrayLike, Floats, Ints, Matrix
from ..model_selection import QueryKFold
from ..rankers import AggregatedRanker
from ._compare import compare_values
from ._comparison import Comparison

# Name of the criterion in tables.
_CRITERION = "explained clicks"

# Inverse propensities are clipped at this.
_CLIP = 10.0

_N_FOLDS = 5


@dataclass(frozen=True)
class ClickChoice:
    r"""The candidate that predicts held-out clicks best; its text is a table.

    Attributes
    ----------
    name : str
        Name of the chosen candidate.
    ranker : ranker
        The chosen candidate, fitted to the sessions of the choice.
    comparison : Comparison
        The criterion of all candidates, query by query: tables and tests.

    Notes
    -----
    The criterion is the same for all candidates. On held-out queries the expected clicks on a
    document are :math:`e (a s + b_q)`, with its examinations e, its score s, a level
    :math:`b_q` of the query, and a scale :math:`a \ge 0` that is fitted on the other queries. The
    value of a query is how much this reduces the sum of :math:`e (\text{clicks} / e - b_q)^2`.

    Given the positions, this is an unbiased estimate of the error in the relevances, weighted by
    examinations, if the propensities are right. It sees documents as often as users do: where the
    log was always in one order, documents at the bottom hardly count, and it often does not see
    that naive clicks, with less variance, would rank better.
    """

    name: str
    ranker: Any
    comparison: Comparison

    def __str__(self) -> str:
        width = max(map(len, self.comparison.systems))
        lines = [
            f"{row.system:{width}}  {row.mean:9.4g}  [{row.low:.4g}, {row.high:.4g}]"
            + "  chosen" * (row.system == self.name)
            for row in self.comparison.estimates
        ]
        return "\n".join([f"{'candidate':{width}}  {_CRITERION}", *lines])


def default_candidates(theta: Floats, prior: Any = None) -> dict[str, AggregatedRanker]:
    """Return rankers of clicks that differ in weight, clipping and correction."""
    clipped, naive = np.maximum(theta, 1 / _CLIP), np.ones_like(theta)
    models: dict[str, tuple[dict[str, Any], float]] = {
        **{f"m={m}": ({"propensity": theta}, m) for m in (5, 1, 20)},
        "shrunk": ({"propensity": theta, "prior": prior}, 5),
        "weight 1": ({"propensity": theta}, 0),
        "clipped": ({"propensity": clipped}, 0),
        "naive": ({"propensity": naive}, 0),
    }
    if prior is None:
        del models["shrunk"]
    return {
        name: AggregatedRanker("position_based", structure_options=options, row_weight=m)
        for name, (options, m) in models.items()
    }


def chosen_by_clicks(
    X: Matrix, sessions: ClickSessions, rankers: Mapping[str, Any], theta: Floats
) -> ClickChoice:
    """Return the ranker that predicts the clicks on queries it has not seen best."""
    counts = position_based(sessions, theta)
    folds = np.empty(len(sessions), dtype=np.intp)
    scores = {name: np.empty(len(sessions)) for name in rankers}
    with warning_once():
        for fold, (train, test) in enumerate(QueryKFold(_N_FOLDS).split(X, sessions)):
            folds[test] = fold
            X_train, X_test = safe_indexing(X, train), safe_indexing(X, test)
            judged = sessions[train]
            for name, ranker in rankers.items():
                scores[name][test] = scores_by(
                    clone(ranker).fit(X_train, judged), X_test, sessions.qid[test]
                )
        explained = {
            name: {_CRITERION: _explained(values, counts, sessions.queries(), folds)}
            for name, values in scores.items()
        }
        with keeping_warnings():  # that candidates are equal
            comparison = compare_values(explained)
        best = max(comparison.estimates, key=lambda row: row.mean).system
        return ClickChoice(best, clone(rankers[best]).fit(X, sessions), comparison)


def scores_by(ranker: Any, X: Matrix, qid: ArrayLike) -> Floats:
    """Return the scores by a fitted ranker, which gets the qid if it takes one."""
    scores: Floats = call_step(ranker, "predict", X, **handed_to(ranker, "predict", qid=qid))
    return scores


def _explained(scores: Floats, counts: Any, queries: Any, folds: Ints) -> Floats:
    """Return the criterion of each query; folds are of whole queries."""
    e, codes, n = counts.examinations, queries.codes, queries.n_queries

    def total(values: Floats, of: Ints, size: int) -> Any:
        return np.bincount(of, values, minlength=size)

    def centered(values: Floats) -> Floats:
        means = total(e * values, codes, n) / np.maximum(total(e, codes, n), 1e-300)
        return values - means[codes]

    relevance, scores = centered(counts.relevance), centered(scores)
    product, square = total(e * relevance * scores, folds, folds.max() + 1), e * scores**2
    of_fold = total(square, folds, len(product))
    scale = (product.sum() - product) / np.maximum(of_fold.sum() - of_fold, 1e-300)
    scale = np.maximum(scale, 0.0)[folds]
    return total(e * (2 * scale * relevance * scores) - scale**2 * square, codes, n)
