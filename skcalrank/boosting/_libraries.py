"""How estimators of each library take queries, weights, labels, categories and missing values."""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import is_regressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import InputTags, get_tags

from ..data import Queries, Rows, call_step, handed_to
from ..data.types import Floats, Ints
from ..preprocessing import Category, read_by_trees
from ._sklearn import pooled
from ._tree_parts import has_tree_parts, tree_parts

_QUERIES = ("qid", "group", "group_id")

# Largest error of a score that counts as a sum, relative to its terms.
_TOLERANCE = 1e-6


def reads_queries(estimator: Any) -> bool:
    """Return whether the fit of an estimator takes the queries, in whatever form."""
    named = set(_QUERIES) & signature(estimator.fit).parameters.keys()
    return bool(named or handed_to(estimator, "fit", qid="any"))


def takes_targets(estimator: Any) -> bool:
    """Return whether an estimator can be fitted to targets in place of labels."""
    if isinstance(estimator, FrozenEstimator):
        return True
    return is_regressor(estimator) and not reads_queries(estimator)


def reads_tables(estimator: Any) -> bool:
    """Return whether an estimator reads tables in its own way, as a pipeline may."""
    if isinstance(estimator, (Pipeline, FrozenEstimator)):
        return True
    inner = getattr(estimator, "estimator", getattr(estimator, "regressor", None))
    if hasattr(inner, "fit"):
        return reads_tables(inner)
    return library_of(estimator).takes(estimator).string


def taken_by(estimator: Any) -> frozenset[str]:
    """Return the names of the metadata that `predict` of a fitted estimator takes."""
    with config_context(enable_metadata_routing=True):
        return frozenset(handed_to(estimator, "predict", qid="any"))


def scores_of(
    estimator: Any, X: Any, queries: Queries, named: bool, taken: frozenset[str] | None = None
) -> Floats:
    """Return the scores by a fitted estimator, which gets a qid if it takes one.

    `taken` is what :func:`taken_by` returns, which is looked up if it is None.
    """
    metadata = {"qid": queries.codes} if named else {}
    names = (taken_by(estimator) if taken is None else taken) & metadata.keys()
    scores = call_step(estimator, "predict", X, **{name: metadata[name] for name in names})
    return np.asarray(scores, dtype=float).reshape(-1)


class Library:
    """scikit-learn, and all that has no form of its own.

    * `engine`: name of the engine of :class:`BoostedRanker` that has such trees; empty if there is
      none.
    """

    engine: ClassVar[str] = ""

    def takes(self, estimator: Any) -> Any:
        """Return the tags of what an estimator takes as X."""
        return get_tags(estimator).input_tags

    def arguments(self, estimator: Any, rows: Rows) -> dict[str, Any]:
        """Return the queries and weights of contiguous queries, as fit takes them."""
        with config_context(enable_metadata_routing=True):
            taken = handed_to(estimator, "fit", qid=rows.codes, sample_weight=rows.weight)
        if rows.weight is not None and "sample_weight" not in taken:
            raise TypeError(
                f"sample_weight must be None with {type(estimator).__name__}, whose fit does not "
                "take weights: leave it out, or choose an estimator that takes them; of one inside "
                "a search or a Pipeline, call set_fit_request(sample_weight=True)."
            )
        names = signature(estimator.fit).parameters.keys() - taken.keys()
        if "qid" not in taken and "group" in names:
            taken["group"] = rows.queries.sizes
        elif "qid" not in taken and "group_id" in names:
            taken["group_id"] = rows.codes
        return taken

    def booster(self, estimator: Any) -> Any:
        """Return the trees of a fitted estimator, as the engine has them."""
        return estimator

    def check_labels(self, estimator: Any, y: Floats) -> None:
        """Raise for labels that the library would misread or refuse without a remedy."""

    def mark(self, estimator: Any, n_columns: int, kinds: list[int]) -> dict[str, Any]:
        """Mark columns of codes as categories, and return arguments of fit that do."""
        del estimator, n_columns, kinds
        return {}

    def columns(self, estimator: Any, matrix: Floats, categories: dict[int, Category]) -> Any:
        """Return a matrix as the library reads it, given the readers of its codes."""
        del estimator
        return read_by_trees(matrix, categories)

    def contributions(self, estimator: Any, X: Any, kinds: list[int]) -> Floats:
        """Return scores as sums over the columns and, last, a constant.

        Raises ValueError unless the scores are such sums.
        """
        del kinds
        if has_tree_parts(estimator):
            return tree_parts(estimator, X, estimator.predict(X))
        coef = getattr(estimator, "coef_", None)
        if coef is not None and np.size(coef) == X.shape[1]:
            dense = X.toarray() if issparse(X) else np.asarray(X, dtype=float)
            constant = np.full(len(dense), float(np.ravel(estimator.intercept_)[0]))
            parts = np.column_stack([dense * np.ravel(coef), constant])
            size = 1.0 + np.abs(parts).sum(axis=1)
            # The scores of a generalized linear model are not sums of these.
            if (np.abs(parts.sum(axis=1) - estimator.predict(X)) <= _TOLERANCE * size).all():
                return parts
        raise ValueError(
            "estimator must have a score that is a sum over the features, or trees, got "
            f"{type(estimator).__name__}: sklearn.inspection.permutation_importance takes any."
        )


class ScikitTrees(Library):
    """Histogram trees of scikit-learn, which tell so many categories of a column apart."""

    engine = "sklearn"

    def mark(self, estimator: Any, n_columns: int, kinds: list[int]) -> dict[Any, Any]:
        del n_columns
        estimator.set_params(categorical_features=kinds)
        return {}

    def columns(self, estimator: Any, matrix: Floats, categories: dict[int, Category]) -> Floats:
        matrix = super().columns(estimator, matrix, categories)
        return pooled(matrix, list(categories), estimator.max_bins)


def _refuse_other_grades(estimator: Any, y: Floats, remedy: str) -> None:
    """Raise unless labels are grades whose gains the library can tell apart."""
    other = y[(y != np.floor(y)) | (y < 0) | (y > 30)]
    if len(other):
        raise ValueError(
            f"y must be whole numbers from 0 to 30 for {type(estimator).__name__}, got "
            f"{other[0]:g}: {remedy}."
        )


class LightGBM(Library):
    """Ranker and regressors of LightGBM."""

    engine = "lightgbm"

    def booster(self, estimator: Any) -> Any:
        return estimator.booster_

    def check_labels(self, estimator: Any, y: Floats) -> None:
        params = estimator.get_params()
        gains = params.get("objective") in (None, "lambdarank", "rank_xendcg")
        if gains and "label_gain" not in params and reads_queries(estimator):
            _refuse_other_grades(estimator, y, "make grades of them, or set label_gain")

    def mark(self, estimator: Any, n_columns: int, kinds: list[int]) -> dict[str, list[int]]:
        del estimator, n_columns
        return {"categorical_feature": kinds}

    def contributions(self, estimator: Any, X: Any, kinds: list[Any]) -> Floats:
        del kinds
        parts = estimator.predict(X, pred_contrib=True)
        return parts.toarray() if issparse(parts) else np.asarray(parts)


class XGBoost(Library):
    """Ranker and regressors of XGBoost."""

    engine = "xgboost"

    def takes(self, estimator: Any) -> Any:
        tags = super().takes(estimator)
        tags.string = False  # of versions that read pandas categories, but no text
        return tags

    def booster(self, estimator: Any) -> Any:
        return estimator.get_booster()

    def arguments(self, estimator: Any, rows: Rows) -> dict[str, Ints]:
        taken = super().arguments(estimator, rows)
        if "qid" in taken and rows.weight is not None:
            taken["sample_weight"] = rows.queries.mean(rows.weight)  # one for each query
        return taken

    def check_labels(self, estimator: Any, y: Floats) -> None:
        params = estimator.get_params()
        gains = params.get("objective") == "rank:ndcg" and params.get("ndcg_exp_gain") is not False
        if gains and reads_queries(estimator):
            _refuse_other_grades(estimator, y, "make grades of them, or set ndcg_exp_gain=False")

    def mark(self, estimator: Any, n_columns: int, kinds: list[int]) -> dict[Any, Any]:
        types = ["c" if column in kinds else "q" for column in range(n_columns)]
        estimator.set_params(enable_categorical=True, feature_types=types)
        return {}

    def contributions(self, estimator: Any, X: Any, kinds: list[int]) -> Floats:
        import xgboost

        booster = estimator.get_booster()
        data = xgboost.DMatrix(
            X,
            missing=estimator.missing,
            feature_names=booster.feature_names,
            feature_types=booster.feature_types,
            enable_categorical=bool(kinds),
        )
        rounds = (0, booster.num_boosted_rounds())
        if estimator.get_params().get("early_stopping_rounds"):
            rounds = (0, estimator.best_iteration + 1)
        return booster.predict(data, pred_contribs=True, iteration_range=rounds)


class CatBoost(Library):
    """Ranker and regressors of CatBoost, which takes categories as integers."""

    def mark(self, estimator: Any, n_columns: int, kinds: list[int]) -> dict[str, list[int]]:
        del estimator, n_columns
        return {"cat_features": kinds}

    def takes(self, estimator: Any) -> Any:
        del estimator
        tags = InputTags()
        tags.sparse = tags.allow_nan = True  # not all versions have tags
        return tags

    def columns(self, estimator: Any, matrix: Floats, categories: dict[int, Category]) -> Floats:
        del estimator
        columns, kinds = matrix.astype(object), list(categories)
        # A missing value is a level of its own, and not one that fit has not seen.
        columns[:, kinds] = np.nan_to_num(matrix[:, kinds], nan=-2).astype(int)
        return columns

    def contributions(self, estimator: Any, X: Any, kinds: list[int]) -> Floats:
        import catboost

        pool = catboost.Pool(X, cat_features=kinds or None)
        return estimator.get_feature_importance(pool, type="ShapValues")


_LIBRARIES = {"lightgbm": LightGBM(), "xgboost": XGBoost(), "catboost": CatBoost()}


def is_of_library(estimator: Any) -> bool:
    """Return whether an estimator is one of LightGBM, XGBoost or CatBoost."""
    return library_of(estimator) in _LIBRARIES.values()


def library_of(estimator: Any) -> Library:
    """Return how an estimator takes queries: as those of the library that defines its class."""
    packages = (cls.__module__.partition(".")[0] for cls in type(estimator).__mro__)
    known = (_LIBRARIES[package] for package in packages if package in _LIBRARIES)
    other = ScikitTrees if isinstance(estimator, HistGradientBoostingRegressor) else Library
    return next(known, other())
