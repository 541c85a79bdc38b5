"""Rankers as graphs of ONNX."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer

from ..boosting import BoostedRanker
from ..linear_model import GramRidge
from ..preprocessing import QuantileHinges, signed_log1p
from ..rankers import RANKERS, MultiLabelRanker, is_ranker
from ..stacking import StackingRanker
from ._folding import knots_of, rises_of
from ._score_tree import Score, Steps, Sum, Trees, score_tree, unwrapped
from ._trees import Ensemble, Split, trees_of_numbers


def to_onnx(ranker: Any, *, initial_types: Any = None, target_opset: Any = None) -> Any:
    """Write a ranker, with the steps before it, as a graph of ONNX.

    The ranker may have any regressor of scikit-learn inside that ``skl2onnx`` converts: linear
    ones, trees, networks, neighbors. Boosted trees of every engine are converted, and so are steps
    of pipelines that ``skl2onnx`` has converters for,
    :class:`~skcalrank.preprocessing.QuantileHinges` and
    ``FunctionTransformer(signed_log1p)``. This needs ``skl2onnx``; ``onnxruntime`` runs the graph.

    Parameters
    ----------
    ranker : estimator
        A fitted ranker whose `predict` needs no qid, a pipeline, or a search.
    initial_types : list of (str, type), default=None
        Inputs of the graph as ``skl2onnx.convert_sklearn`` takes them, for columns of several
        types. None is one matrix in single precision, named "X".
    target_opset : int, default=None
        Version of ONNX; None is the newest version that ``skl2onnx`` knows.

    Returns
    -------
    model : onnx.ModelProto
        Its output "score", of shape (n_rows, 1) or (n, r), is `predict` in single precision.

    Raises
    ------
    ImportError
        If ``skl2onnx`` is not installed.
    ValueError
        If the ranker, or a step before it, needs whole queries, or trees split categories.

    See Also
    --------
    register_converters : Lets ``skl2onnx.to_onnx`` itself convert rankers.
    """
    skl2onnx = _required()
    score_tree(ranker)
    model = unwrapped(ranker)
    register_converters()
    floats = skl2onnx.common.data_types.FloatTensorType
    if initial_types is None:
        initial_types = [("X", floats([None, model.n_features_in_]))]
    return skl2onnx.convert_sklearn(
        model,
        initial_types=initial_types,
        target_opset=target_opset,
        final_types=[("score", None)],
    )


def register_converters() -> None:
    """Register every ranker with ``skl2onnx``, so that its own functions convert rankers.

    Other estimators are converted as before, except ``FunctionTransformer``, which is also
    converted with ``signed_log1p``.

    Raises
    ------
    ImportError
        If ``skl2onnx`` is not installed.
    """
    _required()
    _register()


def _required() -> Any:
    try:
        return import_module("skl2onnx")
    except ImportError as error:
        raise ImportError('to_onnx needs skl2onnx: pip install "skcalrank[export]"') from error


@cache
def _register() -> None:
    skl2onnx = _required()
    put = skl2onnx.update_registered_converter
    others = (MultiLabelRanker, BoostedRanker, StackingRanker, GramRidge)
    classes: tuple[type, ...] = (*RANKERS.values(), *others)
    for cls in classes:
        put(cls, f"Skcalrank{cls.__name__}", _shape_of_scores, _convert_ranker)
    put(QuantileHinges, "SkcalrankQuantileHinges", _shape_of_columns, _convert_hinges)
    if SplineTransformer not in skl2onnx.supported_converters():
        put(SplineTransformer, "SkcalrankSplineTransformer", _shape_of_columns, _convert_splines)
    alias = "SklearnFunctionTransformer"
    known = import_module("skl2onnx.common._registration")
    before = known.get_shape_calculator(alias), known.get_converter(alias)

    def shape(operator):
        before[0](operator) if _is_known(operator) else _same_shape(operator)

    def convert(scope, operator, container):
        one = before[1] if _is_known(operator) else _convert_logs
        one(scope, operator, container)

    put(FunctionTransformer, alias, shape, convert)


def _is_known(operator) -> bool:
    return operator.raw_operator.func is not signed_log1p


# -- shapes ----------------------------------------------------------------------------


def _put_shape(operator, n_columns):
    X, types = operator.inputs[0], import_module("skl2onnx.common.data_types")
    kind = types.DoubleTensorType if _dtype(X) is np.float64 else types.FloatTensorType
    operator.outputs[0].type = kind([X.get_first_dimension(), n_columns])


def _shape_of_scores(operator):
    model = operator.raw_operator
    n_items = getattr(model, "n_items_", None) if is_ranker(model) else None
    if not is_ranker(model) and np.ndim(model.coef_) == 2:
        n_items = len(model.coef_)
    _put_shape(operator, n_items or 1)


def _shape_of_columns(operator):
    step = operator.raw_operator
    _put_shape(operator, len(step.get_feature_names_out()))


def _same_shape(operator):
    _put_shape(operator, operator.inputs[0].type.shape[1])


# -- converters ------------------------------------------------------------------------


def _convert_ranker(scope, operator, container):
    ops, version = _ops(), container.target_opset
    rows = Rows(operator.inputs[0], operator.outputs[0].type.shape[1], version)
    scores = _scores(score_tree(operator.raw_operator), rows)
    kept = ops.OnnxIdentity(scores, op_version=version, output_names=operator.outputs[:1])
    kept.add_to(scope, container)


class Rows(NamedTuple):
    """The input of a graph.

    Attributes
    ----------
    X : variable of skl2onnx
    n_scores : int
        Number of scores of each row.
    version : int
        Version of ONNX.
    """

    X: Any
    n_scores: int
    version: int


def _ops() -> Any:
    return import_module("skl2onnx.algebra.onnx_ops")


def _dtype(X) -> Any:
    return np.float64 if type(X.type).__name__.startswith("Double") else np.float32


def _scores(score: Score, rows: Rows):
    """Return the operator that computes a score."""
    if isinstance(score, Sum):
        return _sum([_weighted(*term, rows) for term in score.terms], rows)
    if isinstance(score, Trees):
        trees = _of_trees(trees_of_numbers(score.model), rows)
        return _sum([trees, *(_weighted(*start, rows) for start in score.starts)], rows)
    if isinstance(score, Steps):
        # skl2onnx knows this class, but none of its subclasses.
        model = Pipeline(score.pipeline.steps)
    elif is_ranker(score.model) or isinstance(score.model, GramRidge):
        model = _linear(score.model)
    else:
        model = score.model
    ops, version = _ops(), rows.version
    sub = import_module("skl2onnx.algebra.onnx_operator").OnnxSubEstimator
    shape = np.array([-1, rows.n_scores], dtype=np.int64)
    return ops.OnnxReshape(sub(model, rows.X, op_version=version), shape, op_version=version)


def _sum(scores, rows: Rows):
    return scores[0] if len(scores) == 1 else _ops().OnnxSum(*scores, op_version=rows.version)


def _weighted(weight, score: Score, rows: Rows):
    factor = np.array([weight], _dtype(rows.X))
    return _ops().OnnxMul(_scores(score, rows), factor, op_version=rows.version)


def _linear(model) -> LinearRegression:
    """Return a regressor of scikit-learn with the coefficients of another."""
    regressor = LinearRegression()
    regressor.coef_ = np.asarray(model.coef_, dtype=float)
    regressor.intercept_ = np.asarray(model.intercept_, dtype=float)
    regressor.n_features_in_ = regressor.coef_.shape[-1]
    return regressor


def _of_trees(trees: Ensemble, rows: Rows):
    ops, X, version = _ops(), rows.X, rows.version
    proto = import_module("onnx").TensorProto
    double = _dtype(X) is np.float64
    scores = ops.OnnxTreeEnsembleRegressor_1(
        ops.OnnxCast(X, to=proto.FLOAT, op_version=version) if double else X,
        op_version=1,
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        base_values=[trees.constant],
        **_nodes(trees),
    )
    return ops.OnnxCast(scores, to=proto.DOUBLE, op_version=version) if double else scores


def _nodes(trees: Ensemble) -> dict[str, list]:
    """Return the attributes that describe the nodes of trees."""
    names = (
        *("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids"),
        "missing_value_tracks_true",
    )
    rows: list[tuple] = []
    leaves: list[tuple] = []

    def add(tree_id, tree, number) -> int:
        """Write a node and what is below it, and return the next number that is free."""
        if not isinstance(tree, Split):
            rows.append((tree_id, number, 0, 0.0, "LEAF", 0, 0, 0))
            leaves.append((tree_id, number, 0, tree))
            return number + 1
        place = len(rows)
        rows.append(())
        above = add(tree_id, tree.below, number + 1)
        where = (tree_id, number, tree.feature, tree.threshold, "BRANCH_LT", number + 1, above)
        rows[place] = (*where, int(tree.missing_below))
        return add(tree_id, tree.above, above)

    for tree_id, tree in enumerate(trees.trees):
        add(tree_id, tree, 0)
    nodes = {f"nodes_{name}": list(values) for name, values in zip(names, zip(*rows))}
    of_leaves = zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves))
    return nodes | {f"target_{name}": list(values) for name, values in of_leaves}


def _convert_hinges(scope, operator, container):
    step, version = operator.raw_operator, container.target_opset
    clip = _clipped(operator.inputs[0], step.features_, step.starts_, step.ends_, version)
    kept = _ops().OnnxIdentity(clip, op_version=version, output_names=operator.outputs[:1])
    kept.add_to(scope, container)


def _convert_splines(scope, operator, container):
    ops, step, version = _ops(), operator.raw_operator, container.target_opset
    X, knots = operator.inputs[0], knots_of(step)
    features = np.repeat(np.arange(len(knots)), [len(of_feature) - 1 for of_feature in knots])
    starts = np.concatenate([of_feature[:-1] for of_feature in knots])
    ends = np.concatenate([of_feature[1:] for of_feature in knots])
    clip = _clipped(X, features, starts, ends, version)
    rises = [rises_of(step, of_feature) for of_feature in knots]
    first = np.concatenate([np.arange(len(rise)) == 0 for rise in rises]).astype(_dtype(X))
    weights = block_diag(*(rise.T for rise in rises)).astype(_dtype(X))
    product = ops.OnnxMatMul(clip, weights, op_version=version)
    kept = ops.OnnxAdd(product, first, op_version=version, output_names=operator.outputs[:1])
    kept.add_to(scope, container)


def _clipped(X, features, starts, ends, version):
    """Return hinges of columns: 0 up to a start, 1 from an end."""
    ops, dtype = _ops(), _dtype(X)
    picked = ops.OnnxGather(X, features.astype(np.int64), axis=1, op_version=version)
    away = ops.OnnxSub(picked, starts.astype(dtype), op_version=version)
    rise = ops.OnnxDiv(away, (ends - starts).astype(dtype), op_version=version)
    return ops.OnnxClip(rise, *(np.array(end, dtype) for end in (0, 1)), op_version=version)


def _convert_logs(scope, operator, container):
    ops, version, X = _ops(), container.target_opset, operator.inputs[0]
    one = np.array([1], dtype=_dtype(X))
    size = ops.OnnxAdd(ops.OnnxAbs(X, op_version=version), one, op_version=version)
    logs = ops.OnnxLog(size, op_version=version)
    sign = ops.OnnxSign(X, op_version=version)
    signed = ops.OnnxMul(sign, logs, op_version=version, output_names=operator.outputs[:1])
    signed.add_to(scope, container)
