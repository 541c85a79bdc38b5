r"""SHAP values of scikit-learn's trees, by operations on arrays.

A leaf adds its value to the score of a row if all splits above it lead there. If only some features
of the row are known, it adds its value times a product over the features of these splits: of
:math:`o`, 1 or 0, which tells whether the splits on a known feature lead there, and of :math:`z`,
the share of the rows of fit that the splits on an unknown feature let through. A SHAP value is the
mean change as the feature becomes known, over all orders. Let the features become known at
independent uniform times: then it is, for a leaf with value :math:`v` and feature :math:`i`,

.. math:: v (o_i - z_i) \int_0^1 \prod_{j \ne i} ((1 - t) z_j + t o_j) \, dt.

The product is a polynomial in t, whose integral by Gauss and Legendre is exact.
"""

import numpy as np
from scipy.sparse import csr_matrix

from ..columns import arrays
from ..columns.types import Bools, Floats, Ints
from ._forest import Forest

# Number of cells of a temporary array, small enough for the cache.
_CELLS = 1 << 16

# Largest error of a sum in single precision, relative to the scores.
_TOLERANCE = 1e-4


class Paths:
    """The ways from the roots of the trees of a forest to their leaves.

    `n_columns` is the number of columns of the matrix that the trees read.
    """

    def __init__(self, forest: Forest, n_columns: int) -> None:
        self.forest, self._value = forest, np.asarray(forest.values)
        leaf, way = _steps(forest)
        features = np.asarray(forest.features, dtype=np.intp)
        # The splits of a leaf that are on the same feature come together.
        order = np.lexsort((features[way // 2], leaf))
        leaf, way = leaf[order], way[order]
        self._split, self._is_below = way // 2, way % 2 == 1
        feature = features[self._split]
        # Step of each pair of a leaf and a feature.
        self._first: Ints = arrays.run_starts(leaf, feature)
        self._pair_leaf: Ints = leaf[self._first]
        of_splits, of_leaves = forest.counts
        counted = np.concatenate([of_splits, of_leaves[::-1]])  # a leaf counts from the end
        shares = counted[forest.ways[way]] / of_splits[self._split]
        self._z: Floats = np.multiply.reduceat(shares, self._first) if len(leaf) else shares
        # Leaves that are roots have no pairs.
        self._first_pair: Ints = arrays.run_starts(self._pair_leaf)
        counts = np.bincount(self._pair_leaf, minlength=len(self._value))
        self._there: Ints = np.flatnonzero(counts)
        self._place: Ints = np.repeat(np.arange(len(self._there)), counts[self._there])
        self._n_nodes = max(1, -(-int(counts.max(initial=0)) // 2))
        columns = feature[self._first]
        ones, ends = np.ones(len(columns)), np.arange(len(columns) + 1)
        self._by_column = csr_matrix((ones, columns, ends), shape=(len(columns), n_columns))

    def parts(self, X: Floats) -> Floats:
        """Return the scores of rows as sums over the columns and, last, a constant."""
        out, weight = np.zeros((len(X), X.shape[1] + 1)), np.ones(len(self._value))
        if len(self._z):
            weight[self._there] = np.multiply.reduceat(self._z, self._first_pair)
            n_rows = max(1, _CELLS // len(self._split))
            for start in range(0, len(X), n_rows):
                rows = slice(start, start + n_rows)
                # Whether the splits of each pair lead to its leaf.
                lead = self.forest.ways_of(X[rows]).take(self._split, axis=1) == self._is_below
                leads = np.logical_and.reduceat(lead, self._first, axis=1)
                out[rows, :-1] = self._of_pairs(leads) @ self._by_column
        out[:, -1] = self.forest.constant + float(weight @ self._value)  # the mean in fit
        return out

    def _of_pairs(self, leads: Bools) -> Floats:
        """Return the SHAP values of each pair, of shape (n_rows, n_pairs)."""
        o, values = leads.astype(float), np.zeros(leads.shape)
        times, weights = np.polynomial.legendre.leggauss(self._n_nodes)
        for time, weight in zip((times + 1) / 2, weights / 2):
            factors = time * o
            factors += (1 - time) * self._z
            products = weight * np.multiply.reduceat(factors, self._first_pair, axis=1)
            others = products.take(self._place, axis=1)
            others /= factors
            values += others
        values *= o - self._z
        values *= self._value[self._pair_leaf]
        return values


def summing_to(parts: Floats, scores: Floats, name: str) -> Floats:
    """Return parts whose rows sum to scores: features get shares of the rounding errors.

    * `parts` (n_rows, d + 1): SHAP values, and last a constant.
    * `scores` (n_rows,)
    * `name`: name of the estimator, for the error.

    Raises ValueError if sums differ from scores by more than rounding errors.
    """
    errors = scores - parts.sum(axis=1)
    if np.abs(errors).max(initial=0.0) > _TOLERANCE * (1.0 + np.abs(scores).max(initial=0.0)):
        raise ValueError(
            f"The SHAP values of {name} do not sum to its scores, as those of an exponential of "
            "trees: sklearn.inspection.permutation_importance takes any ranker."
        )
    shares = np.abs(parts)
    # The constant stays the same for all rows.
    shares[:, -1] = ~shares[:, :-1].any(axis=1)
    return parts + shares * (errors / shares.sum(axis=1))[:, None]


def _steps(forest: Forest) -> tuple[Ints, Ints]:
    """Return the number of the leaf, and the place in `ways`, of all ways that lead to leaves."""
    ways, number = forest.ways, np.arange(len(forest.values))
    above = np.full(len(forest.features) + len(number), -1)  # the way to each split and leaf
    above[ways] = np.arange(len(ways))
    numbers, steps = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    way = above[-1 - number]
    while len(way):
        number, way = number[way >= 0], way[way >= 0]
        numbers.append(number)
        steps.append(way)
        way = above[way // 2]
    return np.concatenate(numbers), np.concatenate(steps)
