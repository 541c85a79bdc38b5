"""Losses of the preferences that relevances imply, without holding all pairs in memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..columns import CACHE_CELLS
from ..columns.types import Floats
from ..data import Bucket, Queries, each
from ..losses import PreferenceLoss

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
