"""Linear views of a table: transformed columns and a linear ranker in closed form."""

from dataclasses import replace
from typing import Any

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
from sklearn.utils.metadata_routing import get_routing_for_object

from ..data import Rows, tables
from ..data.types import Bools
from ..measures import Measure
from ..pipeline import QueryPipeline
from ..preprocessing import QuantileHinges, QueryContext, QueryScaler, signed_log1p
from ..rankers import LeastSquaresRanker, is_ranker

# Maximum number of indicators of a column; rarer categories share one.
_MOST_CATEGORIES = 100


def categories_in(X: Any) -> list[int]:
    """Return the numbers of the columns of categories and text; raise for unusable columns."""
    tables.refuse_dates(X)
    columns = tables.category_columns(X)
    tables.refuse_mixed_types(X, columns)
    if not (columns or issparse(X)):
        tables.refuse_constant(X)
    return columns


def linear_views(measure: str | Measure) -> list[tuple[str, Any]]:
    """Return three linear views of a table, as (name, ranker) pairs."""
    curves = {
        "scaled": QueryScaler(),
        "logs": FunctionTransformer(signed_log1p, feature_names_out="one-to-one"),
        "hinges": QuantileHinges(),
    }
    return [(name, _view(curve, measure)) for name, curve in curves.items()]


#: Transformers that do not read labels; a ColumnTransformer or pipeline of them does not either.
_READ_NO_LABELS = (
    *(FunctionTransformer, OneHotEncoder, OrdinalEncoder, SimpleImputer, StandardScaler),
    *(QuantileHinges, QueryContext, QueryScaler, QuantileTransformer, SplineTransformer),
)


def fits_in_two(pipe: Any) -> bool:
    """Return whether a pipeline has a ranker with `merge`, after steps that ignore labels."""
    if not isinstance(pipe, QueryPipeline) or not is_ranker(pipe.steps[-1][1]):
        return False
    if not hasattr(pipe.steps[-1][1], "merge"):
        return False
    if len(pipe.steps) > 1 and isinstance(pipe.steps[-2][1], str):
        return False  # the steps before the ranker would not end in a transformer
    return pipe.memory is None and all(_reads_no_labels(step) for _, step in pipe.steps[:-1])


def _reads_no_labels(step) -> bool:
    """Return whether a step learns from X alone, not from labels or weights."""
    if isinstance(step, str):
        return True
    if isinstance(step, ColumnTransformer):
        steps = [*(transformer for _, transformer, _ in step.transformers), step.remainder]
        return all(map(_reads_no_labels, steps))
    if type(step) in (Pipeline, QueryPipeline):
        return all(_reads_no_labels(inner) for _, inner in step.steps)
    requests = getattr(get_routing_for_object(step).fit, "requests", {})
    return type(step) in _READ_NO_LABELS and requests.get("sample_weight") is not True


def fit_in_two(pipe: Any, rows: Rows, kept: Bools) -> Any:
    """Return a pipeline fitted to all rows, and scores of held-out rows.

    The transformers, which do not read labels, are fitted once, to all rows. The ranker is fitted
    to the rows of the mask `kept`, scores the others, and is merged with a fit to these.
    """
    before, (name, last) = clone(pipe[:-1]), pipe.steps[-1]
    X = before.fit_transform(rows.as_given(), None, rows.codes) if len(before) else rows.as_given()
    rows = replace(rows, X=X, table=None)
    train, test = rows.take(kept), rows.take(~kept)
    fits = [
        clone(last).fit(chosen.X, chosen.y, chosen.qid, sample_weight=chosen.weight)
        for chosen in (train, test)
    ]
    fitted = clone(pipe)
    fitted.steps = [*before.steps, (name, fits[0].merge(fits[1]))]
    fitted.has_qid_ = True
    return fitted, fits[0].predict(test.X)


class LinearView(QueryPipeline):
    """A linear ranker of categories, as indicators, and of transformed numbers."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # The first step imputes missing values.
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
