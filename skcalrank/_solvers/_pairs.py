"""Regressions on pairs of documents: features of two documents in, one number out.

Pairs are streamed: a chunk of documents is paired with all documents of its query, so that
memory stays bounded whatever the number of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.utils import check_array

from ..data import CHUNK_ROWS, MOST_CELLS, Queries, check_option
from ._bilinear import fit_bilinear
from ._least_squares import fit_pooled, fit_regressor, is_closed_form
from ._moments import merge_all, pooled_moments
from ._regressors import warn_unless_a_mean

# Features of all pairs that a regressor may be given at once: 4 GB.
_ALL_CELLS = 2 * MOST_CELLS

Values = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _concat(first, second):
    return np.hstack([first, second])


def _difference(first, second):
    return first - second


#: Features of a pair by name; "bilinear" is fitted without building them.
PAIR_FEATURES = {"bilinear": None, "concat": _concat, "difference": _difference}


def fit_pairs(
    X,
    queries,
    values: Values,
    features,
    regressor,
    *,
    alpha,
    diagonal,
    weight,
    verbose=0,
    tol=1e-10,
    max_iter=300,
):
    """Regress the targets of all ordered pairs of documents of a query.

    The parameters are those of `fit_bilinear`. `features` is a name in ``PAIR_FEATURES``, or a
    function of two (m, d) arrays that returns (m, p); `regressor` is for features that are built,
    and None is Ridge with `alpha`.
    """
    if not callable(features):
        check_option("pair_features", features, PAIR_FEATURES)
    # Callables may compare equal to anything, so they are told apart first.
    if not callable(features) and features == "bilinear":
        if regressor is not None:
            raise ValueError(
                "estimator is not used by pair_features='bilinear', a ridge regression with "
                "penalty alpha: leave it None, or choose 'concat', 'difference' or a callable."
            )
        pairs = {"diagonal": diagonal, "weight": weight}
        solver = {"tol": tol, "max_iter": max_iter, "verbose": verbose}
        return BilinearModel(*fit_bilinear(X, queries, values, alpha, **pairs, **solver))
    function = features if callable(features) else PAIR_FEATURES[features]
    model = PairRegression(Ridge(alpha=alpha) if regressor is None else regressor, function)
    return model.fit(X, queries, values, diagonal, weight)


class BilinearModel:
    """``u_ij = x_i' W x_j``."""

    def __init__(self, coef, n_iter, residual):
        self.coef_ = coef
        self.n_iter_ = n_iter
        self.residual_ = residual

    def matrices(self, X, queries: Queries) -> Iterator[np.ndarray]:
        """The (r, r) matrix of each query; X in grouped order."""
        for start, stop in pairwise(queries.ptr):
            part = X[start:stop]
            yield part @ self.coef_ @ part.T


class PairRegression:
    """A regressor on features of pairs."""

    def __init__(self, regressor, features):
        self.regressor = regressor
        self.features = features

    def fit(self, X, queries, values, diagonal, weight):
        """Fit to all ordered pairs, without building them all where the regressor allows it."""
        chunks = _Chunks(X, queries, self.features, values, diagonal, weight)
        if not _has_pairs(queries, diagonal, weight):
            # Nothing to learn from: all pairs get 0.
            self.regressor = None
        elif is_closed_form(self.regressor):
            _fit_closed_form(self.regressor, chunks)
        elif chunks.fit_together():
            features, targets, weights, codes = chunks.together()
            fit_regressor(self.regressor, features, targets, weights, codes=codes)
        elif hasattr(self.regressor, "partial_fit"):
            warn_unless_a_mean(self.regressor)
            for features, targets, weights, _ in chunks:
                extra = {} if weight is None else {"sample_weight": weights}
                self.regressor.partial_fit(features, targets, **extra)
        else:
            raise ValueError(
                "The features of all pairs do not fit: choose pair_features='bilinear', a "
                "regressor with partial_fit, or Ridge, which sees the pairs in chunks."
            )
        return self

    def __getattr__(self, name):
        if name in ("coef_", "intercept_", "feature_importances_"):
            return getattr(self.regressor, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def matrices(self, X, queries: Queries) -> Iterator[np.ndarray]:
        """The (r, r) matrix of each query; X in grouped order."""
        if self.regressor is None:
            yield from (np.zeros((r, r)) for r in queries.sizes)
            return
        ready, query = [], 0
        for first, second in _pairs(queries):
            ready.append(self.regressor.predict(_build(self.features, X, first, second)))
            flat = np.concatenate(ready)
            while query < queries.n_queries and len(flat) >= queries.sizes[query] ** 2:
                r = queries.sizes[query]
                yield flat[: r * r].reshape(r, r)
                flat, query = flat[r * r :], query + 1
            ready = [flat]


def _pairs(queries):
    """Rows of the documents of all ordered pairs, chunk by chunk, in the order of matrices."""
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


def _has_pairs(queries, diagonal, weight):
    """Whether any pair counts; a small weight beside large ones does, and a sum would lose it."""
    counted = queries.sizes if weight is None else queries.sum((weight > 0) * 1.0)
    return (counted >= (1 if diagonal else 2)).any()


def _build(function, X, first, second):
    features = np.asarray(function(X[first], X[second]))
    if features.ndim != 2 or len(features) != len(first):
        raise ValueError(
            f"pair_features returned shape {features.shape} for {len(first)} pairs: it must "
            f"return one row of features per pair, ({len(first)}, p)."
        )
    return features


class _Chunks:
    """Features, targets, weights and queries of the pairs, chunk by chunk."""

    def __init__(self, X, queries, function, values, diagonal, weight):
        self.X, self.queries, self.function, self.values = X, queries, function, values
        self.diagonal, self.weight = diagonal, weight
        self.codes = queries.repeat(np.arange(queries.n_queries))
        if weight is not None:
            self.share = weight / queries.repeat(queries.mean_weight(weight))

    def __iter__(self):
        for first, second in _pairs(self.queries):
            if not self.diagonal:
                off = first != second
                first, second = first[off], second[off]
            if not len(first):
                continue
            weights = None if self.weight is None else self.weight[first] * self.share[second]
            features = _build(self.function, self.X, first, second)
            yield features, self.values(first, second), weights, self.codes[first]

    def fit_together(self):
        """Whether the features of all pairs can be built at once."""
        width = next(iter(self))[0].shape[1]
        return width * (self.queries.sizes.astype(float) ** 2).sum() <= _ALL_CELLS

    def together(self):
        """All of them at once, for a regressor that must see them so."""
        features, targets, weights, codes = zip(*self)
        weights = None if self.weight is None else np.concatenate(weights)
        return np.concatenate(features), np.concatenate(targets), weights, np.concatenate(codes)


def _fit_closed_form(regressor, chunks):
    """Ridge or LinearRegression from the moments of the pairs, chunk by chunk."""
    checks = {"dtype": (np.float64, np.float32), "input_name": "pair_features"}
    moments = merge_all(
        pooled_moments(check_array(features, **checks), targets[:, None], weights)
        for features, targets, weights, _ in chunks
    )
    fit_pooled(regressor, moments, True)
