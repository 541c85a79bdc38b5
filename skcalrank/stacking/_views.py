"""Linear views of a table: transformed columns and a linear ranker in closed form."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object

from ..boosting import adds_trees, encodes, fit_held_out
from ..columns.tables import EncodedTable
from ..columns.types import Bools, Ints
from ..data import Rows
from ..measures import Measure
from ..pipeline import QueryPipeline, naming_columns
from ..preprocessing import (
    LinearColumns,
    QuantileHinges,
    QueryContext,
    QueryScaler,
    ScaledBeside,
    TableEncoder,
    signed_log1p,
)
from ..rankers import LeastSquaresRanker, with_held_out


class LinearView(QueryPipeline):
    """A linear ranker of categories, as indicators, and of transformed numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The first step reads text and imputes missing values.
        tags.input_tags = get_tags(self.steps[0][1]).input_tags
        return tags


def linear_views(measure: str | Measure) -> list[tuple[str, Any]]:
    """Return three linear views of a table, as (name, ranker) pairs."""
    curves = {
        "scaled": QueryScaler(),
        "logs": FunctionTransformer(signed_log1p, feature_names_out="one-to-one"),
        "hinges": QuantileHinges(),
    }
    ranker: Any = LeastSquaresRanker
    return [
        (name, LinearView([("columns", LinearColumns(curve)), ("ranker", ranker(measure))]))
        for name, curve in curves.items()
    ]


def kind_of(curve: Any) -> str | None:
    """Return what a curve of :class:`LinearColumns` makes of numbers; None for other curves."""
    if curve is None:
        return "linear"
    if type(curve) is QueryScaler and curve.method == "standard" and not curve.append:
        return "scaled"
    if type(curve) is QuantileHinges:
        return "hinges"
    return "logs" if type(curve) is FunctionTransformer and curve.func is signed_log1p else None


# What stands for the encoder of a stack in a ranker that is stored.
_SHARED = "of the stack"

#: Transformers that do not read labels; a ColumnTransformer or pipeline of them does not either.
_READ_NO_LABELS = (
    *(FunctionTransformer, OneHotEncoder, OrdinalEncoder, SimpleImputer, StandardScaler),
    *(LinearColumns, QuantileHinges, QueryContext, QueryScaler, QuantileTransformer),
    *(SplineTransformer, TableEncoder),
)


def reads_encoded(ranker: Any) -> bool:
    """Return whether a ranker reads tables through a TableEncoder, which a stack can share."""
    steps = [step for _, step in ranker.steps] if isinstance(ranker, QueryPipeline) else [ranker]
    # Steps that append columns pass the others on.
    first: Any = next((step for step in steps if not _appends(step)), None)
    return isinstance(first, LinearColumns) or encodes(first)


def _appends(step: Any) -> bool:
    return type(step) is QueryScaler and step.append


def table_for(ranker: Any, X: Any) -> Any:
    """Return a table for a ranker: as it has been read, or as the user passed it."""
    return X.table if isinstance(X, EncodedTable) and not reads_encoded(ranker) else X


def rows_for(ranker: Any, rows: Rows) -> Any:
    """Return the features of rows for a ranker; arrays are marked as validated."""
    X = table_for(ranker, rows.as_given())
    return EncodedTable(X, None, X) if isinstance(X, np.ndarray) and reads_encoded(ranker) else X


def trees_behind(ranker: Any) -> Any:
    """Return the fitted BoostedRanker that a ranker is, or to which QueryScalers append columns.

    None for other rankers.
    """
    if not isinstance(ranker, QueryPipeline):
        return ranker if adds_trees(ranker) else None
    *before, last = [step for _, step in ranker.steps]
    is_it = adds_trees(last) and isinstance(last.encoder_, ScaledBeside)
    return last if is_it and all(map(_appends, before)) else None


def ranker_behind(ranker: Any) -> Any:
    """Return the ranker behind steps of a pipeline that ignore labels; others as they are."""
    is_pipe = isinstance(ranker, QueryPipeline) and ranker.steps and ranker.memory is None
    if is_pipe and all(_reads_no_labels(step) for _, step in ranker.steps[:-1]):
        return ranker.steps[-1][1]
    return ranker


def stops_early(ranker: Any) -> bool:
    """Return whether a ranker, or the one behind steps that ignore labels, holds out queries."""
    last = ranker_behind(ranker)
    return adds_trees(last) and bool(last.validation_fraction)


def _reads_no_labels(step: Any) -> bool:
    """Return whether a step learns from X alone, not from labels or weights."""
    if isinstance(step, str):
        return True
    if isinstance(step, ColumnTransformer):
        steps = [*(transformer for _, transformer, _ in step.transformers), step.remainder]
        return all(map(_reads_no_labels, steps))
    if type(step) in (Pipeline, QueryPipeline):
        return all(_reads_no_labels(inner) for _, inner in step.steps)
    if type(step) not in _READ_NO_LABELS:
        return False
    # Steps that contain others route metadata to them, and request none.
    requests = getattr(getattr(get_routing_for_object(step), "fit", None), "requests", {})
    return requests.get("sample_weight") is not True


def fit_in_two(pipe: Any, rows: Rows, kept: Bools, method: str) -> Any:
    """Return a pipeline fitted to all rows, and scores of held-out rows.

    The transformers, which do not read labels, are fitted once, to all rows. The ranker is fitted
    to the rows of the mask `kept`, scores the others, and learns these.
    """

    def fit_last(last: Any, rows: Rows) -> Any:
        def fit(part: Rows) -> Any:
            return getattr(clone(last), method)(part.X, part.y, part.qid, sample_weight=part.weight)

        first, test = fit(rows.take(kept)), rows.take(~kept)
        scores = first.predict(test.X)
        return with_held_out(first, partial(fit, test), partial(fit, rows)), scores

    return _fit_behind_steps(pipe, rows, fit_last)


def fit_stopped(ranker: Any, rows: Rows, folds: Ints, *, of_targets: bool) -> Any:
    """Return a ranker that stops early, fitted to rows, and its out-of-fold scores.

    Steps before it, which do not read labels, are fitted to all rows. `folds` are the numbers of
    the models from which rows are held out, -1 for none.
    """
    fit_last = partial(fit_held_out, folds=folds, of_targets=of_targets)
    if adds_trees(ranker):
        return fit_last(ranker, replace(rows, X=rows_for(ranker, rows)))
    return _fit_behind_steps(ranker, rows, fit_last)


def _fit_behind_steps(pipe: Any, rows: Rows, fit_last: Callable[[Any, Rows], Any]) -> Any:
    """Return a pipeline whose steps before the last are fitted to all rows, and scores.

    The fitted last step and the scores are what `fit_last` returns of it and of the rows that
    these steps make.
    """
    fitted, X = clone(pipe), rows_for(pipe, rows)
    *steps, (name, last) = fitted.steps
    before = [step for step in steps if not isinstance(step[1], str)]
    X = QueryPipeline(before).fit_transform(X, None, rows.qid) if before else X
    with naming_columns([step for _, step in steps]):
        last, scores = fit_last(last, replace(rows, X=X, table=None))
    fitted.steps, fitted.has_qid_ = [*steps, (name, last)], True
    return fitted, scores


def without_encoder(ranker: Any, encoder: TableEncoder) -> Any:
    """Return a ranker that reads tables by this encoder as it is stored: without the encoder."""
    changed: dict[str, Any] = {}
    if getattr(ranker, "encoder_", None) is encoder:
        changed["encoder_"] = _SHARED
    if isinstance(ranker, QueryPipeline) and ranker.steps:
        (name, first), *others = ranker.steps
        changed["steps"] = [(name, without_encoder(first, encoder)), *others]
    if not changed:
        return ranker
    stored = object.__new__(type(ranker))  # a copy would store the trees as well
    vars(stored).update(vars(ranker) | changed)
    return stored


def give_encoder(ranker: Any, encoder: TableEncoder) -> None:
    """Give a ranker that was stored the encoder of its stack."""
    if isinstance(getattr(ranker, "encoder_", None), str):
        ranker.encoder_ = encoder
    if isinstance(ranker, QueryPipeline) and ranker.steps:
        give_encoder(ranker.steps[0][1], encoder)
