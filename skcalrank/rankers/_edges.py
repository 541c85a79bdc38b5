"""Base class of linear scorers on preferences, the edges of a graph of documents."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from ..columns import CACHE_CELLS, PART_CELLS
from ..columns.types import Floats, Ints
from ..data import Bucket, Queries, Rows, each
from ..judgments import PreferenceTarget
from ..losses import PreferenceHinge, PreferenceLoss
from ..measures import PairwiseDisagreement
from ._linear import LinearScorer

# Smallest number of parts into which the pairs of a batch of queries are divided.
_PARTS = 6


class RelevancePairs:
    """All pairs of documents of a query that differ in relevance, evaluated in blocks.

    * `y` (ndarray of shape (n_documents,)): relevances, in grouped order.
    * `queries`: the queries of the documents.
    * `unit` (bool): whether every preference is 1 instead of the difference of the relevances.
    * `weight` (ndarray of shape (n_documents,) or None): weights of the documents. The weight of a
      pair is the product of both over the mean weight of the query.
    * `margin` (bool): whether the preference is a margin instead of a factor.
    """

    def __init__(
        self, y: Floats, queries: Queries, *, unit: bool, weight: Any = None, margin: bool = False
    ) -> None:
        # In order of decreasing relevance, a document is preferred only to documents behind it.
        self._order = np.lexsort((-y, queries.repeat(np.arange(queries.n_queries))))
        self._queries = Queries(queries.ptr)
        self._y = self._queries.extend(y[self._order])
        self._unit, self._margin = unit, margin
        self._weights = None
        if weight is not None:
            share = weight / queries.repeat(queries.mean_weight(weight))
            self._weights = [self._queries.extend(w[self._order]) for w in (weight, share)]

    def value_and_gradient(self, loss: PreferenceLoss, s: Floats) -> tuple[float, np.ndarray]:
        """Return the loss summed over the preferences, and its gradient in the scores."""
        scores = self._queries.extend(s[self._order])
        values: list[float] = []
        gradient = np.empty(len(s))

        def of_bucket(bucket: Bucket) -> float:
            value, slopes = 0.0, np.zeros((len(bucket.ids), bucket.width))
            for part, behind, ahead, factor in self._blocks(bucket, scores):
                terms, steep = loss.terms(ahead), loss.slopes(ahead)
                terms *= factor
                steep *= factor
                value += float(terms.sum())
                slopes[:, part] += steep.sum(axis=2)
                slopes[:, behind] -= steep.sum(axis=1)
            present = np.arange(bucket.width) < bucket.sizes
            documents = (bucket.first + np.arange(bucket.width))[present]
            gradient[self._order[documents]] = slopes[present]
            return value

        each(of_bucket, self._queries.pair_buckets, values.append)
        return sum(values), gradient

    def _blocks(self, bucket: Bucket, scores: Floats) -> Iterator[tuple[Any, Any, Floats, Floats]]:
        """Yield blocks of pairs: preferred documents, others, score differences, and factors."""
        s = bucket.pad(scores, 0.0)
        # Padding is neither preferred to a document nor the other way round.
        winner, loser = bucket.pad(self._y, -np.inf), bucket.pad(self._y, np.inf)
        if self._weights is not None:
            own, share = (bucket.pad(weight, 0.0) for weight in self._weights)
        # With fewer documents per part, fewer pairs have the worse document first.
        step = max(1, min(CACHE_CELLS // s.size, bucket.width // _PARTS))
        for start in range(0, bucket.width, step):
            part, behind = slice(start, start + step), slice(start, None)
            ahead = s[:, part, None] - s[:, None, behind]
            if self._unit:
                stated = (winner[:, part, None] > loser[:, None, behind]) * 1.0
            else:
                stated = np.maximum(winner[:, part, None] - loser[:, None, behind], 0.0)
            if self._margin:
                np.subtract(ahead, stated, out=ahead)
                stated = (stated > 0) * 1.0
            if self._weights is not None:
                stated *= own[:, part, None] * share[:, None, behind]
            yield part, behind, ahead, stated


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
