"""Base class of linear scorers on preferences, the edges of a graph of documents."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..columns import PART_CELLS
from ..columns.types import Floats, Ints
from ..data import Rows
from ..judgments import PreferenceTarget
from ..losses import PreferenceHinge, PreferenceLoss
from ..measures import PairwiseDisagreement
from ._linear import LinearScorer
from ._relevance_pairs import RelevancePairs

# Factor by which the corner of the hinge narrows from fit to fit: quasi-Newton steps fail at a
# sharp corner that is far from the starting point.
_NARROWING = 10.0

# Largest number of pairs implied by relevances that is held in memory; more are recomputed.
_HELD_PAIRS = PART_CELLS // 4


class EdgeScorer(LinearScorer):
    """Linear scorer that minimizes convex losses of preferences; subclasses have `weights`."""

    _judgments = (PreferenceTarget,)
    _measure_type = PairwiseDisagreement
    _theorem: ClassVar[str] = "single_preferences"
    _parameter_constraints: ClassVar = {"margin": ["boolean"]}
    _plan_settings: ClassVar = {"sums_over": "pairs"}

    margin = False  # unless it is a parameter

    @abstractmethod
    def _losses(self) -> Sequence[PreferenceLoss]:
        """Return the loss, preceded by smoother ones whose minimizers approach its own."""

    def _edges(self, rows: Rows) -> tuple[Ints, Ints, Floats]:
        """Return winner, loser and weight of the preferences, documents in grouped order."""
        queries, y = rows.queries, rows.y
        if isinstance(y, PreferenceTarget):
            place = queries.ungroup(np.arange(queries.n_rows))
            return place[y.winner], place[y.loser], y.weight
        y = PreferenceTarget.from_relevance(
            y, queries.repeat(np.arange(queries.n_queries)), weights=self.weights
        )
        return y.winner, y.loser, y.weight

    def _objective(self, rows: Rows) -> Callable[..., Any]:
        """Return the function from grouped scores and a loss to value and gradient."""
        options: dict[str, Any] = {"margin": bool(self.margin)}
        sizes = rows.queries.sizes.astype(float)
        few = (sizes * (sizes - 1)).sum() / 2 <= _HELD_PAIRS
        if not isinstance(rows.y, PreferenceTarget) and not few:
            unit, weight = self.weights == "unit", rows.document_weights()
            pairs = RelevancePairs(rows.y, rows.queries, unit=unit, weight=weight, **options)
            return lambda s, loss: pairs.value_and_gradient(loss, s)
        winner, loser, stated = self._edges(rows)
        options = {"factor": _pair_weights(rows, winner, loser), **options}
        return lambda s, loss: loss.value_and_gradient(s, winner, loser, stated, **options)

    def _solve(self, rows: Rows, start: Any) -> Any:
        return self._descend_along(self._losses(), self._objective(rows), rows, start)


def narrowing_hinges(corner_width: float) -> list[PreferenceHinge]:
    """Return hinges with ever sharper corners, the last of width `corner_width`."""
    last = PreferenceHinge(corner_width=corner_width)
    widths = corner_width * _NARROWING ** np.arange(20)[::-1]
    return [*(PreferenceHinge(corner_width=width) for width in widths[widths < 1][:-1]), last]


def _pair_weights(rows: Rows, winner: Ints, loser: Ints) -> Floats | None:
    """Return ``w_i w_j`` over the mean weight of the query, or None without weights."""
    weight = rows.document_weights()
    if weight is None:
        return None
    mean = rows.queries.repeat(rows.queries.mean_weight(weight))[winner]
    # In this order, because the product of large weights may overflow.
    return weight[winner] * (weight[loser] / mean)
