"""Regressions on pairs of documents, from the features of both to one number.

Pairs are processed in chunks, each of which pairs some documents with all documents of their
query, so that memory is bounded for any number of pairs.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..columns import CHUNK_ROWS, MOST_CELLS
from ..columns.types import Floats, Ints, Self
from ..data import Queries, Rows, apart, has_method
from ._bilinear import DocumentPairs, fit_bilinear
from ._least_squares import fit_pooled, fit_rows, is_closed_form
from ._moments import merge_all, pooled_moments
from ._regressors import held_out_rows, warn_unless_a_mean

# Largest array of features of all pairs that a regressor is fitted to at once (4 GB).
_ALL_CELLS = 2 * MOST_CELLS


def _concat(first: Floats, second: Floats) -> Floats:
    return np.hstack([first, second])


def _difference(first: Floats, second: Floats) -> Floats:
    return first - second


#: Features of a pair by name; "bilinear" is fitted without building them.
PAIR_FEATURES = {"bilinear": None, "concat": _concat, "difference": _difference}


def fit_pairs(
    pairs: DocumentPairs, features: Any, regressor: Any, alpha: Any, *, verbose: int = 0
) -> Any:
    """Regress the targets of pairs of documents.

    `features` is a name in ``PAIR_FEATURES``, or a function of two (m, d) arrays that returns an
    (m, p) array. `regressor` is fitted to these features; it must be None for bilinear ones, whose
    penalty is `alpha`.
    """
    # Callables may compare equal to anything, so they are checked first.
    if not callable(features) and features == "bilinear":
        if regressor is not None:
            raise ValueError(
                "estimator must be None with pair_features='bilinear', which is a ridge regression "
                f"with penalty alpha, got {regressor!r}. Set pair_features to 'concat', "
                "'difference' or a callable to use it."
            )
        return fit_bilinear(pairs, alpha, verbose=verbose)
    function: Any = features if callable(features) else PAIR_FEATURES[features]
    return PairRegression(regressor, function).fit(pairs)


class PairRegression:
    """A regressor of pair targets on features of pairs."""

    def __init__(self, regressor: Any, features: Callable[..., Any]) -> None:
        self.regressor = regressor
        self.features = features

    def fit(self, pairs: DocumentPairs) -> Self:
        """Fit the regressor to all ordered pairs, chunk by chunk if the regressor allows it."""
        X, queries, _, diagonal, weight = pairs
        # Positive weights are counted, since small ones would be lost in a sum with large ones.
        counted = queries.sizes if weight is None else queries.sum((weight > 0) * 1.0)
        if counted.max() < (1 if diagonal else 2):
            # Without any pair of positive weight, predict 0 for all pairs.
            self.regressor = None
        elif is_closed_form(self.regressor):
            checks = {"dtype": (np.float64, np.float32), "input_name": "pair_features"}
            moments = merge_all(
                pooled_moments(check_array(features, **checks), targets[:, None], weights)
                for features, targets, weights, _ in self._chunks(pairs)
            )
            fit_pooled(self.regressor, moments, True)
        elif self._n_cells(pairs) <= _ALL_CELLS:
            parts = zip(*self._chunks(pairs))
            joined: Any = (None if p[0] is None else np.concatenate(p) for p in parts)
            features, targets, weights, first = joined
            warn_unless_a_mean(self.regressor)
            rows = Rows(X, np.zeros(len(X)), Queries(queries.ptr), weight)
            held_out = held_out_rows(self.regressor, rows, first)
            fit_rows(self.regressor, features, targets, weights, held_out)
        elif has_method(self.regressor, "partial_fit"):
            warn_unless_a_mean(self.regressor)
            for features, targets, weights, _ in self._chunks(pairs):
                extra = {} if weight is None else {"sample_weight": weights}
                self.regressor.partial_fit(features, targets, **extra)
        else:
            raise ValueError(
                "The features of all pairs must have at most "
                f"{_ALL_CELLS} cells for {type(self.regressor).__name__}. Choose "
                "pair_features='bilinear', a regressor with partial_fit, or Ridge, which reads the "
                "pairs in chunks."
            )
        return self

    def _chunks(self, pairs: DocumentPairs) -> Iterator[tuple[Floats, Floats, Any, Ints]]:
        """Yield features, targets, weights and first documents of some pairs at a time."""
        X, queries, values, diagonal, weight = pairs
        share: Any = (
            None if weight is None else weight / queries.repeat(queries.mean_weight(weight))
        )
        for first, second in _pairs(queries):
            if not diagonal:
                off = first != second
                first, second = first[off], second[off]
            if len(first):
                weights = None if weight is None else weight[first] * share[second]
                features = _build(self.features, X, first, second)
                yield features, values(first, second), weights, first

    def _n_cells(self, pairs: DocumentPairs) -> float:
        """Return the size of the features of all pairs."""
        width = next(self._chunks(pairs))[0].shape[1]
        return float(width * (pairs.queries.sizes.astype(float) ** 2).sum())

    def __getattr__(self, name: str) -> Any:
        if name in ("coef_", "intercept_", "feature_importances_"):
            return getattr(self.regressor, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def matrices(self, X: Any, queries: Queries) -> Iterator[np.ndarray]:
        """Yield the (r, r) matrix of predictions for each query; X is in grouped order."""
        if self.regressor is None:
            yield from (np.zeros((r, r)) for r in queries.sizes)
            return
        ready, query = [], 0
        for first, second in _pairs(queries):
            ready.append(apart(self.regressor.predict, _build(self.features, X, first, second)))
            flat = np.concatenate(ready)
            while query < queries.n_queries and len(flat) >= queries.sizes[query] ** 2:
                r = queries.sizes[query]
                yield flat[: r * r].reshape(r, r)
                flat, query = flat[r * r :], query + 1
            ready = [flat]


def _pairs(queries: Queries) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows of both documents of all ordered pairs, in chunks.

    The pairs are in the order of the entries of the matrices of the queries.
    """
    partners = queries.repeat(queries.sizes)
    start_of_query = queries.repeat(queries.ptr[:-1])
    total = np.append(0, np.cumsum(partners))
    start = 0
    while start < queries.n_rows:
        stop = int(np.searchsorted(total, total[start] + CHUNK_ROWS, side="right")) - 1
        rows = np.arange(start, max(stop, start + 1))
        first = np.repeat(rows, partners[rows])
        begin = np.repeat(total[rows] - total[start], partners[rows])
        yield first, np.repeat(start_of_query[rows], partners[rows]) + np.arange(len(first)) - begin
        start = int(rows[-1]) + 1


def _build(function: Callable[..., Any], X: Any, first: Ints, second: Ints) -> Floats:
    features = np.asarray(function(X[first], X[second]))
    if features.ndim != 2 or len(features) != len(first):
        raise ValueError(
            f"pair_features must return an array of shape ({len(first)}, p), one row of features "
            f"per pair, got shape {features.shape}."
        )
    return features
