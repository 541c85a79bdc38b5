"""Linear scorers on preferences, the edges of a graph whose nodes are the documents."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from ..data import PREFERENCE_WEIGHTS, PreferenceTarget, one_of
from ..losses import PreferenceHinge, PreferenceLoss
from ..measures import PairwiseDisagreement
from ._linear import LinearScorer, document_weights

# The corner of the hinge becomes narrower by this factor, fit after fit: quasi-Newton steps
# stumble over a sharp one that is far away.
_NARROWING = 10.0


class EdgeScorer(LinearScorer):
    """Minimize convex losses of preferences; a subclass has a parameter ``weights``."""

    _judgments = (PreferenceTarget,)
    _parameter_constraints: ClassVar = {
        **LinearScorer._parameter_constraints,
        "weights": [one_of(*PREFERENCE_WEIGHTS)],
    }

    def _measure(self):
        return PairwiseDisagreement(weights=self.weights)

    @abstractmethod
    def _losses(self) -> list[PreferenceLoss]:
        """Return the loss, and before it smoother ones whose minimizers lead to its own."""

    def _loss_options(self):
        """Return keyword arguments of the losses."""
        return {}

    def _edges(self, problem):
        """Return winner, loser and weight of every preference, documents in grouped order."""
        queries, y = problem.queries, problem.y
        if isinstance(y, PreferenceTarget):
            place = queries.ungroup(np.arange(queries.n_rows))
            return place[y.winner], place[y.loser], y.weight
        y = PreferenceTarget.from_relevance(
            y, queries.repeat(np.arange(queries.n_queries)), weights=self.weights
        )
        return y.winner, y.loser, y.weight

    def _solve(self, problem, start):
        losses = self._losses()
        winner, loser, stated = self._edges(problem)
        options = {"factor": _pair_weights(problem, winner, loser), **self._loss_options()}

        def objective(s, loss):
            return loss.value_and_gradient(s, winner, loser, stated, **options)

        return self._descend_along(losses, objective, problem, start)


def narrowing_hinges(corner_width):
    """Return hinges with ever sharper corners, down to the one asked for."""
    last = PreferenceHinge(corner_width=corner_width)
    widths = corner_width * _NARROWING ** np.arange(20)[::-1]
    return [*(PreferenceHinge(corner_width=width) for width in widths[widths < 1][:-1]), last]


def _pair_weights(problem, winner, loser):
    """Return ``w_i w_j`` over the mean weight of the query; None without weights."""
    weight = document_weights(problem)
    if weight is None:
        return None
    mean = problem.queries.repeat(problem.queries.mean_weight(weight))[winner]
    return weight[winner] * weight[loser] / mean
