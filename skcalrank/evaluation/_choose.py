"""Choice between rankers of clicks by how well they predict the clicks on other queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..aggregation import position_based
from ..columns import tables
from ..columns.arrays import safe_indexing
from ..columns.types import ArrayLike, Floats, Ints, Matrix
from ..data import Rows, call_step, handed_to, keeping_warnings, warning_once
from ..judgments import ClickSessions
from ..measures import DCG
from ..rankers import AggregatedRanker
from ..stacking import TabularRanker
from ._compare import query_names
from ._comparison import Comparison
from ._make_comparison import Design, made
from ._statistics import Methods
from ._table import Cell, Table

# Name of the criterion in tables.
_CRITERION = "explained clicks"

# Inverse propensities are clipped at this.
_CLIP = 10.0

_N_FOLDS = 5

# Powers of the propensities that the choice is made for.
EXPONENTS = 0.5, 0.75, 1.0, 1.25, 1.5


@dataclass(frozen=True)
class ClickChoice:
    r"""The candidate that predicts held-out clicks best in the worst case; its text is a table.

    Attributes
    ----------
    name : str
        Name of the chosen candidate.
    ranker : ranker
        The chosen candidate, fitted to the sessions of the choice.
    comparison : Comparison
        The criterion of all candidates, query by query, for the propensities as they are: tables,
        and tests over folds, as in :func:`cross_compare`.
    lost : dict of float
        What each candidate loses at most, over powers of the propensities from 0.5 to 1.5.

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

    Wrong propensities choose the wrong candidate. So the criterion is also computed with powers of
    the propensities, as if position bias were weaker or stronger. A candidate loses the difference
    of its criterion to the best one, divided by that of the estimated relevances themselves; the
    one that loses least at its worst power is chosen.
    """

    name: str
    ranker: Any
    comparison: Comparison
    lost: dict[str, float]

    def __str__(self) -> str:
        rows = []
        for row in self.comparison.estimates:
            explained = Cell(f"{row.mean:.4g}", f"[{row.low:.4g}, {row.high:.4g}]")
            chosen = Cell("chosen" * (row.system == self.name))
            rows.append((row.system, [Cell(f"{self.lost[row.system]:.4f}"), explained, chosen]))
        return Table(["candidate", "worst loss", _CRITERION, ""], rows).to_text()


def default_candidates(X: Any, theta: Floats, prior: Any = None) -> dict[str, AggregatedRanker]:
    """Return rankers of clicks on documents X that differ in weight, clipping and correction."""
    reads = tables.is_table(X) and len(tables.numeric(X)) < X.shape[1]
    ranker = TabularRanker(DCG(gain="linear"), trees=None) if reads else None
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
        name: AggregatedRanker("position_based", ranker, structure_options=options, row_weight=m)
        for name, (options, m) in models.items()
    }


def chosen_by_clicks(
    X: Matrix, sessions: ClickSessions, rankers: Mapping[str, Any], theta: Floats
) -> ClickChoice:
    """Return the ranker that predicts the clicks on queries it has not seen best."""
    rows = Rows(np.empty((len(sessions), 0)), sessions, sessions.queries())
    if (n := rows.queries.n_queries) < _N_FOLDS:
        raise ValueError(f"sessions must have {_N_FOLDS} training queries at least, got {n}.")
    folds, scores = np.empty(len(sessions), dtype=np.intp), np.empty((len(rankers), len(sessions)))
    with warning_once():
        for fold, (train, test) in enumerate(rows.folds(_N_FOLDS)):
            folds[test] = fold
            X_train, X_test = safe_indexing(X, train), safe_indexing(X, test)
            judged = sessions[train]
            for of_ranker, ranker in zip(scores, rankers.values()):
                fitted = clone(ranker).fit(X_train, judged)
                of_ranker[test] = scores_by(fitted, X_test, sessions.qid[test])
        names, queries = list(rankers), rows.queries
        lost = dict.fromkeys(names, 0.0)
        for exponent in EXPONENTS:
            counts = position_based(sessions, theta**exponent)
            ideal, *values = (
                _explained(of, counts, queries, folds) for of in (counts.relevance, *scores)
            )
            means = np.mean(values, axis=1)
            losses = (means.max() - means) / max(ideal.mean(), 1e-300)
            lost = {name: max(lost[name], float(loss)) for name, loss in zip(names, losses)}
            if exponent == 1:
                explained = np.array(values)[:, None]
        fold_of = folds[np.unique(queries.codes, return_index=True)[1]]
        of_folds = [explained[:, :, fold_of == fold].mean(axis=2) for fold in range(_N_FOLDS)]
        design = Design(names, [_CRITERION], query_names(queries), names[0], Methods())
        with keeping_warnings():  # that candidates are equal
            comparison = made(design, explained, np.stack(of_folds, axis=2), 1 / (_N_FOLDS - 1))
        best = min(lost, key=lambda name: lost[name])
        return ClickChoice(best, clone(rankers[best]).fit(X, sessions), comparison, lost)


def scores_by(ranker: Any, X: Matrix, qid: ArrayLike) -> Floats:
    """Return the scores by a fitted ranker, which gets the qid if it takes one."""
    return call_step(ranker, "predict", X, **handed_to(ranker, "predict", qid=qid))


def _explained(scores: Floats, counts: Any, queries: Any, folds: Ints) -> Floats:
    """Return the criterion of each query; folds are of whole queries."""
    e, codes, n = counts.examinations, queries.codes, queries.n_queries

    def centered(values: Floats) -> Floats:
        sums, weights = (np.bincount(codes, of, n) for of in (e * values, e))
        return values - (sums / np.maximum(weights, 1e-300))[codes]

    relevance, scores = centered(counts.relevance), centered(scores)
    product, square = np.bincount(folds, e * relevance * scores), e * scores**2
    of_fold = np.bincount(folds, square)
    scale = (product.sum() - product) / np.maximum(of_fold.sum() - of_fold, 1e-300)
    scale = np.maximum(scale, 0.0)[folds]
    gained = e * (2 * scale * relevance * scores) - scale**2 * square
    out: Any = np.bincount(codes, gained, n)
    return out
