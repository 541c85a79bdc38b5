r"""Derivatives of the pairwise logistic loss, of many pairs in a time that grows with documents.

With :math:`f(u) = e^{u - e^u}` and :math:`g(u) = e^{-e^u}`,

.. math::

    \frac{e^s}{e^s + e^t} = \int f(s + u)\, g(t + u)\, du , \qquad
    \frac{e^s e^t}{(e^s + e^t)^2} = \int f(s + u)\, f(t + u)\, du ,

so that at each node u of a rule of integration, a sum over pairs is a product of sums over
documents. The double exponential rule of [TM74]_ needs 16 nodes for scores that are equal, and 25
for scores that differ by 4 from the best to the worst. The error, a share of 3e-9 of each term of
the gradient and of 4e-8 of the curvature, is a smooth function of the scores and not rounding, so
that the order of the documents does not matter.

.. [TM74] H. Takahasi, M. Mori, "Double exponential formulas for numerical integration",
   Publications of the Research Institute for Mathematical Sciences 9 (1974).
"""

from typing import Any

import numpy as np

from ..columns import CACHE_CELLS
from ..columns.types import Floats
from ..data import Queries

# Distance of nodes, and where the first one is and the last one for scores of 0.
_STEP, _FIRST, _LAST = 0.4, -2.8, 2.8

# Lower bound of scores relative to the best score of their query, since e^-700 does not underflow.
FLOOR = -700.0

# Above, e^-x counts as 0, and is not yet so small that processors are slow.
_MOST = 200.0

# Number of documents with a target up to which the sums over their pairs take less time than some
# 30 nodes.
FEW = 32

# Number of documents whose pairs are summed, or that are integrated, together: they stay in the
# cache.
_BATCH = CACHE_CELLS // FEW


class PairDerivatives:
    """Derivatives of the pairwise logistic loss for some targets, and any number of scores.

    Queries of similar size are padded to matrices, which are one after the other in arrays;
    `places` are the documents in them, in each query first those with a positive target, since
    other pairs do not count. Documents that pad a query have weight 0. Sums over pairs are exact;
    those of queries with more than `few` documents with a target are integrated.
    """

    def __init__(self, v: Floats, queries: Queries, weight: Any, few: float = FEW) -> None:
        weight = np.ones(len(v)) if weight is None else weight
        paid = weight * v
        n_paid = queries.sum((paid > 0).astype(float)).astype(int)
        first, self.size, self.blocks = np.empty(queries.n_queries, dtype=np.intp), 0, []
        for bucket in queries.alike_buckets(_BATCH):
            shape, n = (len(bucket.ids), bucket.width), int(n_paid[bucket.ids].max())
            first[bucket.ids] = self.size + bucket.width * np.arange(shape[0])
            place = slice(self.size, self.size + shape[0] * shape[1])
            self.blocks.append((place, shape, n if n <= few else None))
            self.size = place.stop
        self.queries, self.places = queries, np.empty(len(v), dtype=np.intp)
        order = np.lexsort((paid <= 0, queries.repeat(np.arange(queries.n_queries))))
        self.places[order] = np.arange(len(v)) + queries.repeat(first - queries.ptr[:-1])
        self.v = self._placed(v)
        # The pair (i, j) has the weight w_i w_j over the mean weight of the query.
        self.scale = weight / queries.repeat(queries.mean_weight(weight))
        self.alone = paid / 2  # twice the curvature of a pair of a document with itself
        self.weights = np.stack([self._placed(weight), self._placed(paid)], axis=1)

    def _placed(self, values: Floats, fill: float = 0.0) -> Floats:
        out = np.full(self.size, fill)
        out[self.places] = values
        return out

    def derivatives(self, s: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the diagonal of the Hessian."""
        below = np.maximum(s - self.queries.repeat(self.queries.max(s)), FLOOR)
        rising = self._placed(np.exp(below), fill=1.0)
        y = np.arange(_FIRST, _LAST + _STEP - below.min(initial=0.0), _STEP)
        nodes = -np.exp(y - np.exp(-y)), _STEP * (1.0 + np.exp(-y))
        slopes, curves = np.zeros((2, self.size))
        for place, shape, n in self.blocks:
            weights, v = self.weights[place].reshape(*shape, 2), self.v[place].reshape(shape)
            block = rising[place].reshape(shape), v, weights
            out = slopes[place].reshape(shape), curves[place].reshape(shape)
            _add_integrals(nodes, *block, out) if n is None else _add_pairs(n, *block, out)
        curves = curves[self.places] - self.alone
        return self.scale * slopes[self.places], self.scale * curves


def _add_pairs(n: int, rising: Floats, v: Floats, weights: Floats, out: Any) -> None:
    """Add the sums over all pairs of each query with one of its first `n` documents."""
    step, (slopes, curves) = max(1, CACHE_CELLS // rising.size), out
    pulling = (weights[:, :, 0] * rising)[:, :, None]
    for start in range(0, n, step):
        rows = np.s_[:, start : min(start + step, n)]
        terms = rising[rows][:, :, None] + rising[:, None, :]
        np.divide(1.0, terms, out=terms)
        paid = weights[rows][:, None, :, 1]
        slopes += rising * (paid @ terms)[:, 0]
        slopes[rows] -= v[rows] * (terms @ pulling)[:, :, 0]
        # Of roots, since the squares of the terms alone might overflow.
        terms *= np.sqrt(rising[rows])[:, :, None]
        terms *= terms
        curves += rising * (paid @ terms)[:, 0]
        curves[rows] += v[rows] * (terms @ pulling)[:, :, 0]


def _add_integrals(nodes: Any, rising: Floats, v: Floats, weights: Floats, out: Any) -> None:
    """Add the integrals over all pairs of each query."""
    n_nodes, (slopes, curves) = max(1, CACHE_CELLS // rising.size), out
    for some in range(0, len(nodes[0]), n_nodes):
        factors, steps = (values[some : some + n_nodes] for values in nodes)
        x = np.multiply.outer(factors, rising.ravel())  # -e^(s + u)
        few = int((factors >= -_MOST).sum())  # factors decrease, and scores are at most 0
        np.maximum(x[few:], -_MOST, out=x[few:])
        g = np.exp(x)
        x *= g  # -f
        f, g = (of.reshape(-1, *rising.shape).transpose(1, 0, 2) for of in (x, g))
        sums = steps[:, None] * np.concatenate([g @ weights[:, :, 1:], f @ weights], axis=2)
        pushed, all_f, paid_f = (sums.transpose(0, 2, 1) @ f).transpose(1, 0, 2)
        slopes += v * (sums[:, None, :, 1] @ g)[:, 0] - pushed
        curves += paid_f + v * all_f
