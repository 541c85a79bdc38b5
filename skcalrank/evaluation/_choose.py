"""Choice between rankers of clicks by how well they predict the clicks on other queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..aggregation import position_based
from ..data import (
    ClickSessions,
    call_step,
    check,
    handed_to,
    keeping_warnings,
    warning_once,
)
from ..data.types import ArrayLike, Floats, Ints, Matrix
from ..model_selection import QueryKFold
from ..rankers import AggregatedRanker
from ._compare import compare_values, named
from ._comparison import Comparison
from ._impressions import known_propensities

# Name of the criterion in tables.
_CRITERION = "explained clicks"

# Inverse propensities are clipped at this.
_CLIP = 10.0


@dataclass(frozen=True)
class ClickChoice:
    """The candidate that predicts held-out clicks best.

    Attributes
    ----------
    name : str
        Name of the chosen candidate.
    ranker : ranker
        The chosen candidate, fitted to all sessions.
    comparison : Comparison
        The criterion of all candidates, query by query: tables and tests.
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


def click_candidates(propensity: ArrayLike, prior: Any = None) -> dict[str, AggregatedRanker]:
    """Return rankers of clicks that differ in weight, clipping and correction.

    Parameters
    ----------
    propensity : array-like of shape (n_positions,)
        Probabilities that positions are examined.
    prior : float or frozen ranker, default=None
        What estimates are shrunk to, as in :func:`~skcalrank.aggregation.position_based`; best the
        ranker that made the log. If None, no candidate is shrunk.

    Returns
    -------
    candidates : dict of AggregatedRanker
        Weights ``e / (e + m)`` for m of 1, 5 and 20; m of 5 with estimates shrunk to the prior;
        inverse propensities, and these clipped at 10, with weight 1; and naive clicks, whose
        propensities are all 1.

    Examples
    --------
    >>> from skcalrank.evaluation import click_candidates
    >>> list(click_candidates([1.0, 0.5]))
    ['m=5', 'm=1', 'm=20', 'weight 1', 'clipped', 'naive']
    """
    theta = np.asarray(propensity, dtype=float)
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


def choose_by_clicks(
    X: Matrix,
    sessions: ClickSessions,
    candidates: Mapping[str, Any] | None = None,
    *,
    propensity: ArrayLike | str,
    cv: int = 5,
) -> ClickChoice:
    r"""Choose the ranker that predicts the clicks on queries it has not seen best.

    The criterion is the same for all candidates. On held-out queries the expected clicks on a
    document are :math:`e (a s + b_q)`, with its examinations e, its score s, a level
    :math:`b_q` of the query, and a scale :math:`a \ge 0` that is fitted on the other queries. The
    value of a query is how much this reduces the sum of :math:`e (\text{clicks} / e - b_q)^2`.

    Parameters
    ----------
    X : array-like of shape (n_rows, d)
        Documents.
    sessions : ClickSessions
        Their clicks.
    candidates : dict of rankers, default=None
        Rankers of clicks by name. If None, those of :func:`click_candidates`.
    propensity : array-like of shape (n_positions,), or "fit"
        Probabilities that positions are examined, for the criterion.
    cv : int, default=5
        Number of folds of whole queries.

    Returns
    -------
    choice : ClickChoice
        Its text is a table.

    Raises
    ------
    ValueError
        If there are fewer queries than folds, all documents shown were clicked, rows of `X` have
        the index of the sessions in another order, or a parameter is out of range.

    See Also
    --------
    offline_evaluate : The value of the chosen ranker.

    Notes
    -----
    Given the positions, the criterion is an unbiased estimate of the error in the relevances,
    weighted by examinations, if the propensities are right. It sees documents as often as users
    do: where the log was always in one order, documents at the bottom hardly count, and it often
    does not see that naive clicks, with less variance, would rank better.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank import sample_sessions
    >>> from skcalrank.evaluation import choose_by_clicks
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(1000, 2)), np.repeat(np.arange(200), 5)
    >>> theta = 1 / np.arange(1, 6)
    >>> p = 1 / (1 + np.exp(1 - X[:, 0]))
    >>> y = sample_sessions(p, qid, n_sessions=8000, order_scores=2 * X[:, 1], model="position",
    ...                     propensity=theta, random_state=0)
    >>> choice = choose_by_clicks(X, y, propensity=theta)
    >>> choice.name != "naive"
    True
    """
    theta = known_propensities(propensity, sessions)
    check.row_order(sessions=sessions, X=X)
    rankers = click_candidates(theta) if candidates is None else named("candidates", candidates)
    counts = position_based(sessions, theta)
    folds = np.empty(len(sessions), dtype=np.intp)
    scores = {name: np.empty(len(sessions)) for name in rankers}
    with warning_once():
        for fold, (train, test) in enumerate(QueryKFold(cv).split(X, sessions)):
            folds[test] = fold
            X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
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
