"""Linear views of a table: what a closed form is given of each column."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object

from ..data import category_columns, refuse_constant, refuse_dates, refuse_mixed_types
from ..measures import Measure
from ..pipeline import QueryPipeline
from ..preprocessing import QuantileHinges, QueryContext, QueryScaler, signed_log1p
from ..rankers import LeastSquaresRanker, is_ranker

# More categories of a column are one, the rare ones together.
_MOST_CATEGORIES = 100


def categories_in(X: Any) -> list[int]:
    """Return the numbers of the columns of categories and text."""
    refuse_dates(X)
    columns = category_columns(X)
    refuse_mixed_types(X, columns)
    if not (columns or issparse(X)):
        refuse_constant(X)
    return columns


def linear_views(measure: str | Measure) -> list[tuple[str, Any]]:
    """Return closed forms of three views of a table, by name."""
    curves = {
        "scaled": QueryScaler(),
        "logs": FunctionTransformer(signed_log1p, feature_names_out="one-to-one"),
        "hinges": QuantileHinges(),
    }
    return [(name, _view(curve, measure)) for name, curve in curves.items()]


#: Transformers that read no labels. A ColumnTransformer or pipeline of them reads none either.
_READ_NO_LABELS = (
    *(FunctionTransformer, OneHotEncoder, OrdinalEncoder, SimpleImputer, StandardScaler),
    *(QuantileHinges, QueryContext, QueryScaler, QuantileTransformer, SplineTransformer),
)


def fits_in_two(pipe: Any) -> bool:
    """Return whether transformers of a pipeline read no labels, and its ranker has `merge`."""
    if not isinstance(pipe, QueryPipeline) or not is_ranker(pipe.steps[-1][1]):
        return False
    if not hasattr(pipe.steps[-1][1], "merge"):
        return False
    if len(pipe.steps) > 1 and isinstance(pipe.steps[-2][1], str):
        return False  # the steps before the ranker alone would end in no transformer
    return pipe.memory is None and all(_reads_no_labels(step) for _, step in pipe.steps[:-1])


def _reads_no_labels(step) -> bool:
    """Return whether a step learns from X alone, neither from labels nor from weights."""
    if isinstance(step, str):
        return True
    if isinstance(step, ColumnTransformer):
        return all(_reads_no_labels(each[1]) for each in step.transformers) and _reads_no_labels(
            step.remainder
        )
    if type(step) in (Pipeline, QueryPipeline):
        return all(_reads_no_labels(each) for _, each in step.steps)
    requests = getattr(get_routing_for_object(step).fit, "requests", {})
    return type(step) in _READ_NO_LABELS and requests.get("sample_weight") is not True


def fit_in_two(pipe: Any, X: Any, y: Any, qid: Any, sample_weight: Any, kept: Any) -> Any:
    """Return a pipeline fitted to all rows, and scores of some by a fit to the kept others.

    Rows go through the transformers once, which are fitted to all of them, and read no labels.

    Returns
    -------
    fitted : QueryPipeline
    scores : ndarray
        Of the rows that are not kept.
    """
    before, (name, last) = clone(pipe[:-1]), pipe.steps[-1]
    X = before.fit_transform(X, None, qid) if len(before) else X
    fits = []
    for rows in (np.flatnonzero(kept), np.flatnonzero(~kept)):
        part = _safe_indexing(X, rows)
        weight = None if sample_weight is None else sample_weight[rows]
        fits.append(clone(last).fit(part, y[rows], qid[rows], sample_weight=weight))
    fitted = clone(pipe)
    fitted.steps = [*before.steps, (name, fits[0].merge(fits[1]))]
    fitted.has_qid_ = True
    return fitted, fits[0].predict(part)


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
        [("categories", indicators, categories_in)], remainder=make_pipeline(impute, curve)
    )
    return LinearView([("columns", columns), ("ranker", LeastSquaresRanker(measure))])
