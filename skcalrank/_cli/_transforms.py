"""Transform features before a ranker: ``--transform``, and indicators of text."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.utils import get_tags

from ..data import category_columns
from ..pipeline import QueryPipeline
from ..preprocessing import QueryScaler, signed_log1p
from ..stacking import StackingRanker

#: Transformers of numbers, by the name of the option.
TRANSFORMS = {
    "standard": StandardScaler,
    "quantile": partial(QuantileTransformer, random_state=0),
    "log1p": partial(FunctionTransformer, signed_log1p, feature_names_out="one-to-one"),
    "query": QueryScaler,
}

# Categories of a column beyond this number are merged, the rarest first.
_MOST_CATEGORIES = 100


def transformed(ranker: Any, name: str | None, X: Any = None) -> Any:
    """Return a pipeline that transforms numbers, and encodes the columns of text of X, if any.

    Trees and stacked rankers take categories as they are.
    """
    numbers = TRANSFORMS[name]() if name else "passthrough"
    if X is not None and category_columns(X):
        categories = "passthrough" if takes_categories(ranker) else _indicators()
        if name is None and categories == "passthrough":
            return ranker
        numbers = ColumnTransformer(
            [("categories", categories, category_columns)], remainder=numbers
        )
        if categories == "passthrough":
            numbers.set_output(transform="pandas")
    elif name is None:
        return ranker
    return QueryPipeline([("columns", numbers), ("ranker", ranker)])


def _indicators() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_MOST_CATEGORIES, sparse_output=False
    )


def takes_categories(ranker: Any) -> bool:
    """Return whether a ranker of the command line takes columns of categories as they are."""
    estimator = getattr(ranker, "estimator", None)
    return isinstance(ranker, StackingRanker) or isinstance(
        estimator, HistGradientBoostingRegressor
    )


def learns_columns(ranker: Any) -> bool:
    """Return whether a step before the ranker needs all rows."""
    return any(get_tags(step).requires_fit for _, step in _steps(ranker)[:-1])


def ranker_in(ranker: Any) -> Any:
    """Return the ranker of a pipeline, or the ranker itself."""
    return _steps(ranker)[-1][1]


def _steps(ranker):
    return ranker.steps if isinstance(ranker, QueryPipeline) else [("", ranker)]
