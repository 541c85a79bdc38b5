"""Linear rankers and trees, with the steps before them, as sums of curves and of trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline

from ..data.types import Floats
from ..preprocessing import LinearColumns, QuantileHinges, signed_log1p
from ..trees import Forest
from ._additive import (
    Additive,
    Category,
    check_finite,
    combined,
    filled,
    identity,
    indicators,
    plain,
)
from ._score_tree import Score, Steps, Sum, Trees, refuse_queries, steps_of
from ._trees import columns_of, forests_of, sources_of

_STEPS = (
    "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, QuantileHinges, "
    "SplineTransformer(degree=1), FunctionTransformer(signed_log1p), SimpleImputer, "
    "OneHotEncoder, feature selection"
)
_OTHERWISE = "to_onnx exports it"

# Tolerance of the check that predictions are linear, relative to the largest prediction.
_TOLERANCE = 1e-6


class Grown(NamedTuple):
    """Boosted trees, and the reader and the output of each column of the matrix that they split."""

    forests: list[Forest]
    columns: dict[int, tuple[dict[str, Any], int]]


def folded(tree: Score, names: list[str]) -> tuple[Additive, list[tuple[float, Grown]]]:
    """Return a score as a function of its features, and the weighted trees to be added."""
    terms = list(_terms(tree, [identity(name) for name in names]))
    trees = [(weight, term) for weight, term in terms if isinstance(term, Grown)]
    score = combined((weight, term) for weight, term in terms if isinstance(term, Additive))
    check_finite(score)
    return score, trees


def number_column(name: str) -> dict[str, Any]:
    """Return the reader of a column of numbers as they are."""
    return {"name": name, "kind": "number", "from_text": False, "offset": 0.0}


def _terms(tree: Any, columns: list[Additive]) -> Iterator[tuple[float, Additive | Grown]]:
    """Yield the weighted terms of a score of given columns."""
    if isinstance(tree, Steps):
        for step in tree.transformers:
            columns = _columns(step, columns)
        yield from _terms(tree.score, columns)
    elif isinstance(tree, (Sum, Trees)):
        if isinstance(tree, Trees):
            yield 1.0, _trees(tree.model, columns)
        for weight, term in tree.terms:
            yield from ((weight * factor, inner) for factor, inner in _terms(term, columns))
    elif getattr(tree.model, "coef_", None) is not None:
        yield 1.0, _linear(tree.model, columns)
    else:
        raise ValueError(
            f"{type(tree.model).__name__} is not linear in its features (no coef_): {_OTHERWISE}, "
            "and to_json and to_elasticsearch take the trees of BoostedRanker, "
            "HistGradientBoostingRegressor, LightGBM and XGBoost."
        )


def _linear(model: Any, columns: list[Additive]) -> Additive:
    """Return the score of a model with coefficients."""
    coef = np.asarray(model.coef_, dtype=float)
    if coef.size != len(columns):
        raise ValueError(
            f"{type(model).__name__} has {len(coef)} scores for each row, the label-ranking form, "
            f"and this format has one: {_OTHERWISE}."
        )
    intercept = float(np.ravel(model.intercept_)[0])
    _check_linear(model, coef.ravel(), intercept)
    return combined(zip(coef.ravel().tolist(), columns), intercept)


def _trees(model: Any, columns: list[Additive]) -> Grown:
    """Return boosted trees of given columns, which must be features."""
    forests, sources = forests_of(model), sources_of(model)
    encoder = getattr(model, "encoder_", None)
    written, read = None if encoder is None else encoder.to_dicts(), {}
    for place in columns_of(forests):
        source = sources[place]
        name = columns[source].given()
        if name is None:
            raise ValueError(
                "Boosted trees split columns that the steps before them make: fit the trees "
                f"without these steps, or {_OTHERWISE}."
            )
        column = number_column(name) if written is None else written[source] | {"name": name}
        read[place] = column, place - sources.index(source)
    return Grown(forests, read)


def _read_column(column: Any, score: Additive) -> Additive:
    """Return a column of the matrix of an encoder; columns of codes are the features themselves."""
    if column.kind == "category" or (column.kind in ("number", "flag") and not column.from_text):
        return combined([(1.0, score)], -getattr(column, "offset", 0.0))
    raise ValueError(
        f"Column {column.name!r} is read as {column.kind}, and no format reads it so behind "
        "other steps: make its columns where features are computed, or leave it out with "
        f"TableEncoder(columns={{{column.name!r}: 'drop'}})."
    )


def _of_table(step: LinearColumns, columns: list[Additive]) -> list[Additive]:
    """Return the columns that a LinearColumns makes of given ones."""
    encoder: Any = step.encoder_
    if encoder is not None:
        read = encoder.sources_.tolist()
        columns = [_read_column(encoder.columns_[source], columns[source]) for source in read]
    out = []
    for coded in step.indicators_:
        levels = encoder.categories_[coded.column].levels
        out += _of_codes(columns[coded.column], levels, coded)
    if step.means_ is not None:
        means = zip(step.numbers_, step.means_)
        numbers = [columns[k].filled(columns[k].feature(), float(mean)) for k, mean in means]
        out += numbers if step.curve_ is None else _columns(step.curve_, numbers)
    return out


def _of_codes(column: Additive, levels: list[str], coded: Any) -> list[Additive]:
    """Return the indicators of a column of categories."""
    feature: Any = column.feature()
    terms = [Category(feature, plain(level)) for level in levels[: coded.n_levels]]
    out = [Additive(0.0, {term: 1.0}, {feature: 0.0}) for term in terms]
    if coded.has_rare:  # all but the levels with an indicator
        out.append(Additive(1.0, dict.fromkeys(terms, -1.0), {feature: -1.0}))
    if coded.has_missing:
        out.append(Additive(0.0, missing={feature: 1.0}))
    return out


def _check_linear(model: Any, coef: Floats, intercept: float) -> None:
    """Raise for a link, such as the exponential function of PoissonRegressor."""
    points = np.random.default_rng(0).normal(size=(8, len(coef)))
    with warnings.catch_warnings():
        # A model that was fitted to a data frame warns of rows without names.
        warnings.simplefilter("ignore")
        predicted = np.ravel(model.predict(points))
    expected = points @ coef + intercept
    if not np.allclose(predicted, expected, rtol=0.0, atol=_TOLERANCE * np.abs(expected).max()):
        raise ValueError(
            f"{type(model).__name__} predicts a function of a sum that is linear in the features: "
            f"{_OTHERWISE}."
        )


def _columns(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns that a transformer makes of given ones."""
    refuse_queries(step)
    if hasattr(step, "get_support"):
        return [columns[number] for number in step.get_support(indices=True)]
    for kinds, fold in _FOLDS.items():
        if isinstance(step, kinds):
            return fold(step, columns)
    raise ValueError(
        f"{type(step).__name__} is not a step that can be written with a linear ranker: "
        f"{_OTHERWISE}, or replace it by one of {_STEPS}."
    )


def _of_parts(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns of a pipeline of transformers."""
    for transformer in steps_of(step):
        columns = _columns(transformer, columns)
    return columns


def _beside(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns of a FeatureUnion."""
    _refuse_weights(step)
    return [c for _, beside in step.transformer_list for c in _part_columns(beside, columns)]


def _by_columns(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns of a ColumnTransformer."""
    _refuse_weights(step)
    names = list(getattr(step, "feature_names_in_", range(len(columns))))
    out = []
    for _, transformer, chosen in step.transformers_:
        picked = [columns[number] for number in _numbers(chosen, names)]
        # Transformers without columns were not fitted.
        out += _part_columns(transformer, picked) if picked else []
    return out


def _refuse_weights(step: Any) -> None:
    if step.transformer_weights:
        name = type(step).__name__
        raise ValueError(f"{name} has transformer_weights: scale the columns in its parts.")


def _numbers(chosen: Any, names: list[int | str]) -> Any:
    """Return the numbers of columns that are chosen by names, numbers, a mask or a slice."""
    if isinstance(chosen, slice):
        # A slice of names contains its end.
        start, stop = chosen.start, chosen.stop
        start = names.index(start) if isinstance(start, str) else start
        stop = names.index(stop) + 1 if isinstance(stop, str) else stop
        chosen = slice(start, stop, chosen.step)
    if isinstance(chosen, slice) or np.asarray(chosen).dtype == bool:
        return np.arange(len(names))[chosen]
    chosen = np.atleast_1d(np.asarray(chosen, dtype=object))
    return [names.index(column) if isinstance(column, str) else int(column) for column in chosen]


def _part_columns(transformer: Any, columns: list[Additive]) -> list[Additive]:
    if transformer == "drop":
        return []
    return columns if transformer == "passthrough" else _columns(transformer, columns)


def _standard(step: Any, columns: list[Additive]) -> list[Additive]:
    scale = 1.0 if step.scale_ is None else 1.0 / step.scale_
    return _affine(columns, scale, -step.mean_ * scale if step.with_mean else 0.0)


def _robust(step: Any, columns: list[Additive]) -> list[Additive]:
    scale = 1.0 if step.scale_ is None else 1.0 / step.scale_
    return _affine(columns, scale, 0.0 if step.center_ is None else -step.center_ * scale)


def _largest(step: Any, columns: list[Additive]) -> list[Additive]:
    if getattr(step, "clip", False):
        return _clipped(step, columns, -step.scale_, step.scale_, (-1.0, 1.0))
    return _affine(columns, 1.0 / step.scale_, 0.0)


def _min_max(step: Any, columns: list[Additive]) -> list[Additive]:
    if step.clip:
        low, high = ((np.asarray(end) - step.min_) / step.scale_ for end in step.feature_range)
        return _clipped(step, columns, low, high, step.feature_range)
    return _affine(columns, step.scale_, step.min_)


def _clipped(step: Any, columns: Any, low: Floats, high: Floats, ends: Any) -> list[Additive]:
    hinges = [_hinge(step, *column) for column in zip(columns, low, high)]
    return _affine(hinges, ends[1] - ends[0], ends[0])


def _affine(columns: list[Additive], scale: Any, shift: Any) -> list[Additive]:
    scales, shifts = np.broadcast_to(scale, len(columns)), np.broadcast_to(shift, len(columns))
    affine = zip(scales.tolist(), columns, shifts.tolist())
    return [combined([(scale, column)], shift) for scale, column, shift in affine]


def _hinges(step: QuantileHinges, columns: list[Additive]) -> list[Additive]:
    ends = zip(step.features_, step.starts_, step.ends_)
    return [_hinge(step, columns[number], start, end) for number, start, end in ends]


def _hinge(step: Any, column: Additive, start: float, end: float) -> Additive:
    hinge = column.hinge(float(start), float(end))
    if hinge is None:
        raise ValueError(
            f"{type(step).__name__} bends columns that are not straight lines of single features: "
            f"{_OTHERWISE}, or put it before the other steps."
        )
    return hinge


def _splines(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns of a SplineTransformer, curves that are straight between the knots."""
    out = []
    for column, knots in zip(columns, knots_of(step)):
        pieces = [_hinge(step, column, *ends) for ends in pairwise(knots)]
        for number, rise in enumerate(rises_of(step, knots)):
            out.append(combined(zip(rise.tolist(), pieces), float(number == 0)))
    return out


def knots_of(step: preprocessing.SplineTransformer) -> list[Any]:
    """Return the knots of each feature, or raise for curves that are not straight between them."""
    if step.degree != 1 or step.extrapolation != "constant":
        raise ValueError(
            f"SplineTransformer(degree={step.degree}, extrapolation={step.extrapolation!r}) has no "
            "straight pieces between flat ends: set degree=1 and extrapolation='constant', or use "
            "QuantileHinges."
        )
    knots = [spline.t[1:-1] for spline in step.bsplines_]
    if any((np.diff(of_feature) <= 0).any() for of_feature in knots):
        raise ValueError(
            "SplineTransformer has equal knots, as features with many equal values give: its "
            "curves jump there, and hinges do not. Use QuantileHinges, which keeps one of them."
        )
    return knots


def rises_of(step: preprocessing.SplineTransformer, knots: Any) -> Any:
    """Return by how much each function of a feature rises from each knot to the next.

    A function is 1 at its knot, and 0 at the others.
    """
    heights = np.eye(len(knots))[: None if step.include_bias else -1]
    return np.diff(heights, axis=1)


def _function(step: Any, columns: list[Additive]) -> list[Additive]:
    if step.func is None:
        return columns
    logs: list[Any] = [column.log() for column in columns] if step.func is signed_log1p else [None]
    if step.kw_args or None in logs:
        raise ValueError(
            f"FunctionTransformer({step.func!r}) cannot be written out: use signed_log1p of "
            "skcalrank.preprocessing, before any other step."
        )
    return logs


_FOLDS: dict[Any, Callable[..., Any]] = {
    Pipeline: _of_parts,
    FeatureUnion: _beside,
    ColumnTransformer: _by_columns,
    preprocessing.StandardScaler: _standard,
    preprocessing.RobustScaler: _robust,
    preprocessing.MaxAbsScaler: _largest,
    preprocessing.MinMaxScaler: _min_max,
    LinearColumns: _of_table,
    QuantileHinges: _hinges,
    preprocessing.SplineTransformer: _splines,
    preprocessing.FunctionTransformer: _function,
    SimpleImputer: filled,
    preprocessing.OneHotEncoder: indicators,
}
