"""Linear rankers and trees, with the steps before them, as sums of curves and of trees."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline

from ..preprocessing import LinearColumns, QuantileHinges, signed_log1p
from ..trees import Forest, quietly
from ._additive import Additive, Category, Curve, combined, filled, identity, indicators, plain
from ._score_tree import Score, Steps, Sum, steps_of
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
    numbers = [score.constant, *score.terms.values(), *score.missing.values()]
    curves = [term for term in score.terms if isinstance(term, Curve)]
    numbers += [x for curve in curves for x in (curve.start, curve.end, curve.offset)]
    if not all(map(math.isfinite, numbers)):  # which no format holds
        raise ValueError(
            "The coefficients, or the scales of steps before them, are not finite numbers: scale "
            "the features, and fit again."
        )
    return score, trees


def number_column(name: str, offset: float = 0.0) -> dict[str, Any]:
    """Return the reader of a column of numbers less an offset."""
    return {"name": name, "kind": "number", "from_text": False, "offset": offset}


def _terms(tree: Any, columns: list[Additive]) -> Iterator[tuple[float, Additive | Grown]]:
    """Yield the weighted terms of a score of given columns."""
    if isinstance(tree, Steps):
        yield from _terms(tree.score, _behind(tree.transformers, columns))
    elif isinstance(tree, Sum):
        if tree.trees is not None:
            yield 1.0, _trees(tree.trees, columns)
        for weight, term in tree.terms:
            yield from ((weight * factor, inner) for factor, inner in _terms(term, columns))
    elif getattr(tree, "coef_", None) is not None:
        yield 1.0, _linear(tree, columns)
    else:
        raise ValueError(
            f"{type(tree).__name__} is not linear in its features (no coef_): {_OTHERWISE}, "
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
    # A link, such as the exponential function of PoissonRegressor, is not linear.
    points = np.random.default_rng(0).normal(size=(8, coef.size))
    predicted = np.ravel(quietly(model.predict, points))
    expected = points @ coef.ravel() + intercept
    if not np.allclose(predicted, expected, rtol=0.0, atol=_TOLERANCE * np.abs(expected).max()):
        raise ValueError(
            f"{type(model).__name__} predicts a function of a sum that is linear in the features: "
            f"{_OTHERWISE}."
        )
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


def _of_table(step: LinearColumns, columns: list[Additive]) -> list[Additive]:
    """Return the columns that a LinearColumns makes of given ones."""
    encoder: Any = step.encoder_
    read = []
    for source in [] if encoder is None else encoder.sources_.tolist():
        column = encoder.columns_[source]
        if column.kind not in ("category", "number", "flag") or getattr(column, "from_text", False):
            raise ValueError(
                f"Column {column.name!r} is read as {column.kind}, and no format reads it so "
                "behind other steps: make its columns where features are computed, or leave it out "
                f"with TableEncoder(columns={{{column.name!r}: 'drop'}})."
            )
        read.append(columns[source].less(getattr(column, "offset", 0.0)))
    out, columns = [], columns if encoder is None else read
    for coded in step.indicators_:
        feature: Any = columns[coded.column].feature()
        levels = encoder.categories_[coded.column].levels[: coded.n_levels]
        terms = [Category(feature, plain(level)) for level in levels]
        out += [Additive(0.0, {term: 1.0}, {feature: 0.0}) for term in terms]
        if coded.has_rare:  # all but the levels with an indicator
            out.append(Additive(1.0, dict.fromkeys(terms, -1.0), {feature: -1.0}))
        if coded.has_missing:
            out.append(Additive(0.0, missing={feature: 1.0}))
    if step.means_ is not None:
        means = zip(step.numbers_, step.means_)
        numbers = [columns[k].filled(columns[k].feature(), float(mean)) for k, mean in means]
        out += numbers if step.curve_ is None else _columns(step.curve_, numbers)
    return out


def _columns(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns that a transformer makes of given ones."""
    if hasattr(step, "get_support"):
        return [columns[number] for number in step.get_support(indices=True)]
    for kinds, fold in _FOLDS.items():
        if isinstance(step, kinds):
            return fold(step, columns)
    raise ValueError(
        f"{type(step).__name__} is not a step that can be written with a linear ranker: "
        f"{_OTHERWISE}, or replace it by one of {_STEPS}."
    )


def _behind(steps: list[Any], columns: list[Additive]) -> list[Additive]:
    """Return the columns that several steps make, one after the other."""
    for step in steps:
        columns = _columns(step, columns)
    return columns


def _beside(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns of a ColumnTransformer, or of a FeatureUnion, of all columns each."""
    if step.transformer_weights:
        name = type(step).__name__
        raise ValueError(f"{name} has transformer_weights: scale the columns in its parts.")
    names = list(getattr(step, "feature_names_in_", range(len(columns))))
    is_union = isinstance(step, FeatureUnion)
    out = []
    for _, transformer, *chosen in step.transformer_list if is_union else step.transformers_:
        numbers = range(len(columns)) if is_union else _numbers(chosen[0], names)
        picked = [columns[number] for number in numbers]
        if transformer == "passthrough":
            out += picked
        elif transformer != "drop" and picked:  # those without columns were not fitted
            out += _columns(transformer, picked)
    return out


def _numbers(chosen: Any, names: list[int | str]) -> Any:
    """Return the numbers of columns that are chosen by names, numbers, a mask or a slice."""

    def number(column: Any) -> Any:
        return names.index(column) if isinstance(column, str) else column

    if isinstance(chosen, slice):
        # A slice of names contains its end.
        stop = number(chosen.stop) + 1 if isinstance(chosen.stop, str) else chosen.stop
        chosen = slice(number(chosen.start), stop, chosen.step)
    if isinstance(chosen, slice) or np.asarray(chosen).dtype == bool:
        return np.arange(len(names))[chosen]
    return [int(number(column)) for column in np.atleast_1d(np.asarray(chosen, dtype=object))]


def _scaled(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns of a StandardScaler, RobustScaler, MaxAbsScaler or MinMaxScaler."""
    if is_min_max := isinstance(step, preprocessing.MinMaxScaler):
        (low, high), scale, center = step.feature_range, step.scale_, step.data_min_
    else:
        low, high, scale = -1.0, 1.0, 1.0 if step.scale_ is None else 1.0 / step.scale_
        center = step.mean_ if getattr(step, "with_mean", False) else getattr(step, "center_", None)
    shift, zeros = low if is_min_max else 0.0, np.zeros(len(columns))
    centers, units = zeros + (0.0 if center is None else center), zeros + 1.0 / scale
    less = [of.less(*by) for of, *by in zip(columns, centers.tolist(), units.tolist())]
    if not getattr(step, "clip", False):
        return _affine(less, scale, shift)
    # Of MaxAbsScaler exactly the scales.
    ends: Any = ((x - shift) / scale if is_min_max else x * step.scale_ for x in (low, high))
    hinges = [_hinge(step, *column) for column in zip(less, *ends)]
    return _affine(hinges, high - low, low)


def _affine(columns: list[Additive], scale: Any, shift: float) -> list[Additive]:
    scales = np.broadcast_to(scale, len(columns)).tolist()
    return [combined([of], shift) for of in zip(scales, columns)]


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


def splines(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns of a SplineTransformer, curves that are straight between the knots."""
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
    out = []
    for column, of_feature in zip(columns, knots):
        pieces = [_hinge(step, column, *ends) for ends in pairwise(of_feature)]
        # A function is 1 at its knot, and 0 at the others.
        heights = np.eye(len(of_feature))[: None if step.include_bias else -1]
        for number, rise in enumerate(np.diff(heights, axis=1).tolist()):
            out.append(combined(zip(rise, pieces), float(number == 0)))
    return out


def functions(step: Any, columns: list[Additive]) -> list[Additive]:
    """Return the columns of a FunctionTransformer; raise unless it has signed_log1p or none."""
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
    Pipeline: lambda step, columns: _behind(steps_of(step), columns),
    (FeatureUnion, ColumnTransformer): _beside,
    preprocessing.StandardScaler: _scaled,
    preprocessing.RobustScaler: _scaled,
    preprocessing.MaxAbsScaler: _scaled,
    preprocessing.MinMaxScaler: _scaled,
    LinearColumns: _of_table,
    QuantileHinges: _hinges,
    preprocessing.SplineTransformer: splines,
    preprocessing.FunctionTransformer: functions,
    SimpleImputer: filled,
    preprocessing.OneHotEncoder: indicators,
}
