"""Fits of the rankers of a stack, with scores of held-out rows."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from ..boosting import fit_held_out
from ..data import Floats, Queries
from ._members import Rows, Scale, fit_in_parts, scale_of_scores
from ._mixing import Plan


class Fitted(NamedTuple):
    """A fitted ranker of a stack.

    Attributes
    ----------
    ranker : ranker
        The ranker for predictions.
    held : ndarray of shape (n_rows,)
        Scaled scores of the held-out rows, by fits that were not trained on them; NaN elsewhere.
    scale : Scale
        Scale of the scores.
    """

    ranker: Any
    held: Floats
    scale: Scale


class Fitting(NamedTuple):
    """Settings for the fits of all rankers.

    Attributes
    ----------
    plan : Plan
    by_query : bool
        Whether scores are scaled within each query.
    n_jobs : int or None
    verbose : bool
    """

    plan: Plan
    by_query: bool
    n_jobs: int | None
    verbose: bool

    def all_of(self, members: list) -> list[Fitted]:
        """Return the fitted rankers, in the order of the (name, ranker) pairs."""
        stops = dict(zip((name for name, _ in members), self.plan.of_member))
        found = self._refitted([each for each in members if not stops[each[0]][1]])
        stopped = [each for each in members if stops[each[0]][1]]
        found |= self._stopped(stopped, stops)
        return [found[name] for name, _ in members]

    def _refitted(self, members) -> dict[str, Fitted]:
        """Fit rankers to the training rows of each split, and again to all rows."""
        tasks = ((*each, self.plan.rows, self.plan.splits) for each in members)
        return {
            name: self._scaled(ranker, scores)
            for (name, _), (ranker, scores) in zip(members, self._run(_timed_fit, tasks))
        }

    def _stopped(self, members, stops) -> dict[str, Fitted]:
        """Fit rankers that stop early, each on its own folds; they are not fitted again."""
        tasks = ((*each, self.plan, stops[each[0]]) for each in members)
        fits = self._run(_timed_stop, tasks)
        return {
            name: self._scaled(ranker, scores) for (name, _), (ranker, scores) in zip(members, fits)
        }

    def _scaled(self, ranker, scores) -> Fitted:
        there = ~np.isnan(scores)
        queries = Queries.from_qid(self.plan.rows.codes[there])
        weight = self.plan.rows.weight
        weight = None if weight is None else weight[there]
        scale = scale_of_scores(scores[there], queries, weight, self.by_query)
        held = np.full(len(scores), np.nan)
        held[there] = scale.of(scores[there], queries)
        return Fitted(ranker, held, scale)

    def _run(self, function, tasks) -> list:
        return Parallel(n_jobs=self.n_jobs)(
            delayed(function)(self.verbose, *task) for task in tasks
        )


def _timed_fit(verbose, name, ranker, rows: Rows, splits):
    start = perf_counter()
    fitted = fit_in_parts(name, ranker, rows, splits)
    _tell(verbose, name, len(rows.y), start)
    return fitted


def _timed_stop(verbose, name, ranker, plan: Plan, folds):
    start = perf_counter()
    first, n = folds
    own = np.where((plan.folds >= first) & (plan.folds < first + n), plan.folds - first, -1)
    found = fit_held_out(ranker, *plan.rows, own)
    _tell(verbose, name, int((own < 0).sum()), start)
    return found


def _tell(verbose, name, n_rows, start):
    if verbose:
        print(f"[StackingRanker] {name} of {n_rows} rows, total={perf_counter() - start:6.1f}s")
