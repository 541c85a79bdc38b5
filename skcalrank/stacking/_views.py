"""Linear views of a table: what a closed form is given of each column."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from ..data import Floats, category_columns
from ..measures import Measure
from ..pipeline import QueryPipeline
from ..preprocessing import QuantileHinges, QueryScaler
from ..rankers import LeastSquaresRanker

# More categories of a column are one, the rare ones together.
_MOST_CATEGORIES = 100


def signed_log1p(X: Floats) -> Floats:
    """Return logarithms of 1 plus the absolute values, with the signs of the values."""
    return np.sign(X) * np.log1p(np.abs(X))  # type: ignore[no-any-return]


def linear_views(measure: str | Measure) -> list[tuple[str, Any]]:
    """Return closed forms of three views of a table, by name."""
    curves = {
        "scaled": QueryScaler(),
        "logs": FunctionTransformer(signed_log1p, feature_names_out="one-to-one"),
        "hinges": QuantileHinges(),
    }
    return [(name, _view(curve, measure)) for name, curve in curves.items()]


class LinearView(QueryPipeline):
    """A closed form of categories as indicators, and of numbers along a curve."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Which its first step imputes.
        tags.input_tags.allow_nan = True
        return tags


def _view(curve: Any, measure) -> LinearView:
    indicators = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_MOST_CATEGORIES, sparse_output=False
    )
    impute = SimpleImputer(keep_empty_features=True)
    columns = ColumnTransformer(
        [("categories", indicators, category_columns)], remainder=make_pipeline(impute, curve)
    )
    return LinearView([("columns", columns), ("ranker", LeastSquaresRanker(measure))])
