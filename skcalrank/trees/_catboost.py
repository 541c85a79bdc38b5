"""CatBoost, a library of estimators and no engine: they take categories as integers."""

from typing import Any

import numpy as np
from sklearn.utils import InputTags

from ..columns.types import Floats
from ..preprocessing import Category
from ._library import Library


class CatBoost(Library):
    """CatBoost."""

    name = "catboost"
    marks = "cat_features"

    def takes(self, estimator: Any) -> Any:
        tags = InputTags()
        tags.sparse = tags.allow_nan = True  # not all versions have tags
        return tags

    def columns(self, estimator: Any, matrix: Floats, categories: dict[int, Category]) -> Floats:
        columns, kinds = matrix.astype(object), list(categories)
        # A missing value is a level of its own, and not one that fit has not seen.
        columns[:, kinds] = np.nan_to_num(matrix[:, kinds], nan=-2).astype(int)
        return columns

    def explained(self, estimator: Any, X: Any, kinds: list[int]) -> Floats:
        pool = self.module.Pool(X, cat_features=kinds or None)
        return estimator.get_feature_importance(pool, type="ShapValues")
