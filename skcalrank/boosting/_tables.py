"""Numbers in place of categories and text in the columns of data frames."""

import sys
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import validate_data

from ..data import tables


def learn_categories(ranker: Any, X: Any) -> None:
    """Set `categorical_features_`, the columns of categories or text, and their `encoder_`."""
    columns = tables.category_columns(X)
    ranker.categorical_features_ = columns
    ranker.encoder_ = fit_encoder(X, columns) if columns else None


def with_numbers(ranker: Any, X: Any, *, reset: bool = False) -> Any:
    """Return X with numbers in place of categories; check its column names unless `reset`."""
    if ranker.encoder_ is None:
        return X
    if not tables.is_frame(X):
        names = ", ".join(str(ranker.feature_names_in_[i]) for i in ranker.categorical_features_)
        raise ValueError(
            f"X must be a data frame with the columns of categories {names}, as in fit, got "
            f"{type(X).__name__}."
        )
    if not reset:
        validate_data(ranker, X, reset=False, skip_check_array=True)
    return encoded(X, ranker.categorical_features_, ranker.encoder_)


def fit_encoder(X: Any, columns: list[int]) -> OrdinalEncoder:
    """Return an encoder of the categories of columns; unseen ones become NaN."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    tables.refuse_mixed_types(X, columns)
    return encoder.fit(tables.objects_of(X, columns))


def encoded(X: Any, columns: list[int], encoder: OrdinalEncoder) -> Any:
    """Return a copy of the frame with the categories of columns replaced by numbers."""
    numbers = encoder.transform(tables.objects_of(X, columns))
    if not hasattr(X, "iloc"):
        series = sys.modules["polars"].Series
        named = [series(X.columns[i], values) for i, values in zip(columns, numbers.T)]
        return X.with_columns(named)
    X = X.copy(deep=False)
    for i, values in zip(columns, numbers.T):
        X.isetitem(i, values)
    return X
