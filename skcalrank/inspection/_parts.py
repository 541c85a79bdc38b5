"""What rankers read, and what the features add to their scores."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from ..columns import arrays, tables
from ..columns.arrays import num_samples
from ..columns.types import Array, Floats, Ints, Self
from ..data import Queries, check, inside, is_lazy, transform_rows
from ..pipeline import hosted_rows
from ..trees import has_tree_parts, tree_parts

# Largest error of a score that counts as linear in the features, relative to its terms.
_TOLERANCE = 1e-6


class Explained(NamedTuple):
    """Rows to explain, and the ranker inside a pipeline, search or host that ranks them.

    * `steps`: the transformers before the ranker.
    * `names`: names of the features of X; None = those that the ranker knows.
    """

    ranker: Any
    steps: list[Any]
    X: Any
    qid: Ints | None
    names: Any

    @classmethod
    def of(cls, ranker: Any, X: Any, qid: Any, names: Any) -> Self:
        """Return what a ranker gets of rows, which must be in memory.

        A host that finds the queries in a column leaves that column and its name out.
        """
        if is_lazy(X):
            raise ValueError(
                "X must be in memory, got a dask collection. Compute the rows of the query and "
                "pass these only."
            )
        check.row_order(X=X, qid=qid)
        qid = check.of_one_query(qid, X)
        steps: list[Any] = []
        while True:
            if getattr(ranker, "qid_column", None) is not None:
                check_is_fitted(ranker)
                outer = cls(ranker, steps, X, qid, names)
                names = np.delete(outer.features(ranker.n_features_in_), ranker.column_)
                X, qid = hosted_rows(ranker, outer.rows(np.arange(num_samples(X))), qid)
                steps = []
            if (inner := inside(ranker)) is not None:
                ranker = inner
            elif hasattr(ranker, "steps"):
                steps += [step for _, step in ranker.steps[:-1] if hasattr(step, "transform")]
                ranker = ranker[-1]
            else:
                return cls(ranker, steps, X, qid, names)

    @property
    def queries(self) -> Queries:
        """Queries of the rows."""
        return check.queries(self.qid, num_samples(self.X))

    def rows(self, rows: Ints) -> Any:
        """Return rows as the ranker gets them: behind the transformers."""
        # Steps that take the queries need whole ones.
        X, codes = self.X, None if self.qid is None else self.queries.codes
        whole = rows if codes is None else np.flatnonzero(np.isin(codes, codes[rows]))
        codes = None if codes is None else codes[whole]
        arrays.refuse_masked(X, "X")
        table = tables.take_rows(X, whole)
        for step in self.steps:
            table = transform_rows(step, table, codes)
        return table if codes is None else tables.take_rows(table, np.searchsorted(whole, rows))

    def linear_rows(self, rows: Ints) -> tuple[Floats, Array]:
        """Return rows as the ranker gets them, and features; raise if scores are not linear."""
        table, ranker = self.rows(rows), self.ranker
        scores = ranker.surrogate_values(table)  # which refuses what the ranker does not read
        X = dense(table)
        names = self.features(X.shape[1])
        linear = X @ np.asarray(ranker.coef_).reshape(-1, X.shape[1]).T + ranker.intercept_
        _refuse_nonlinear(ranker, X, linear.reshape(scores.shape) - scores)
        return X, names

    def features(self, n_features: int) -> Array:
        """Return the names of the features that the ranker gets."""
        names = self.names
        if names is None and hasattr(self.ranker, "feature_names_in_"):
            return self.ranker.feature_names_in_.astype(object)
        for step in self.steps:
            # Functions as steps do not have names of features.
            names = getattr(step, "get_feature_names_out", lambda _: None)(names)
        names = [f"x{k}" for k in range(n_features)] if names is None else names
        names = np.asarray(names, dtype=object)
        if names.shape != (n_features,):
            raise ValueError(
                f"feature_names must have {n_features} names, got shape {names.shape}."
            )
        return names


def dense(X: Any) -> Floats:
    """Return rows as an array of numbers."""
    return X.toarray() if issparse(X) else np.asarray(X, dtype=float)


def _refuse_without(ranker: Any, *attributes: str) -> None:
    if not all(hasattr(ranker, name) for name in attributes):
        raise ValueError(
            "ranker must have a score that is linear in the features (coef_), got "
            f"{type(ranker).__name__}. Pass a ranker with kernel='linear', one around Ridge or "
            "another linear regressor, a linear scorer, or a ranker of trees."
        )


def _refuse_nonlinear(ranker: Any, X: Any, gaps: Floats) -> None:
    """Raise if scores differ from those by coefficients by so much."""
    if np.abs(gaps).max() > _TOLERANCE * (1.0 + np.abs(X).max() * np.abs(ranker.coef_).sum()):
        raise ValueError(
            f"ranker must have a score that is linear in X, got {type(ranker).__name__}, whose "
            "scores differ from X @ coef_ + intercept_."
        )


def adds_parts(ranker: Any, of_documents: bool = True) -> bool:
    """Return whether a ranker adds up parts of its own; raise unless it does or is linear."""
    check_is_fitted(ranker)
    of_trees = of_documents and has_tree_parts(getattr(ranker, "estimator_", None))
    if of_trees or hasattr(ranker, "contributions"):
        return True
    _refuse_without(ranker, "n_items_", "coef_")
    if ranker.record_.plan.surrogate != "score":
        raise ValueError(
            "ranker must rank by scores, got one fitted with surrogate='pairwise', which has none."
        )
    return False


def parts_of(ranker: Any, X: Any, scores: Any, codes: Ints | None = None) -> Floats:
    """Return what each feature adds to the scores of rows, up to a constant of each query.

    * `X` (n_rows, d): rows as the ranker gets them.
    * `scores` (n_rows,): scores of the rows, not read if the ranker has `contributions`.
    * `codes` (n_rows,): query of each row, for rankers whose contributions are those within a
      query.

    Returns `parts` (n_rows, d).

    Raises ValueError if the scores are neither linear nor sums of trees that can be explained.
    """
    if hasattr(ranker, "contributions"):
        return ranker.contributions(X, codes)[:, :-1]
    for model in (ranker, getattr(ranker, "estimator_", None)):
        if has_tree_parts(model):
            return tree_parts(model, X, scores)[:, :-1]
    _refuse_without(ranker, "coef_")
    X, coef = dense(X), np.ravel(ranker.coef_)
    if coef.shape != X.shape[1:]:
        raise ValueError(
            f"ranker must have one coefficient for each of {X.shape[1]} features, got "
            f"{len(coef)} of {type(ranker).__name__}."
        )
    _refuse_nonlinear(ranker, X, X @ coef + ranker.intercept_ - scores)
    return X * coef
