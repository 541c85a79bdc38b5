"""Rankers as graphs of ONNX."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer
from sklearn.utils.validation import check_is_fitted

from ..boosting import BoostedRanker, ExternalRanker
from ..data import check
from ..data.types import Estimator
from ..linear_model import GramRidge
from ..preprocessing import QuantileHinges, signed_log1p
from ..rankers import RANKERS, MultiLabelRanker, is_ranker
from ..stacking import StackingRanker, TabularRanker, scorer_of
from ._folding import knots_of, rises_of
from ._onnx_graph import Graph, clipped, dtype_of, logs_of, sum_of, trees_of
from ._onnx_scorer import scorer_graph
from ._score_tree import Score, Steps, Sum, Trees, score_tree, unwrapped
from ._scorer import scorer_document
from ._trees import trees_of_numbers

_SCORERS = (BoostedRanker, ExternalRanker, StackingRanker, TabularRanker)


def to_onnx(ranker: Estimator, *, initial_types: Any = None, target_opset: Any = None) -> Any:
    """Write a ranker, with the steps before it, as a graph of ONNX.

    The ranker may have any regressor of scikit-learn inside that ``skl2onnx`` converts: linear
    ones, trees, networks, neighbors. Boosted trees of every engine are converted, and so are steps
    of pipelines that ``skl2onnx`` has converters for,
    :class:`~skcalrank.preprocessing.QuantileHinges` and
    ``FunctionTransformer(signed_log1p)``. This needs ``skl2onnx``; ``onnxruntime`` runs the graph.

    Parameters
    ----------
    ranker : estimator
        A fitted ranker whose `predict` needs no qid, a pipeline, or a search; or a
        :class:`~skcalrank.TabularRanker` of columns of numbers, or a stack of its rankers.
    initial_types : list of (str, type), default=None
        Inputs of the graph as ``skl2onnx.convert_sklearn`` takes them, for columns of several
        types. None is one matrix in single precision, named "X".
    target_opset : int, default=None
        Version of ONNX; None is the newest version that ``skl2onnx`` knows.

    Returns
    -------
    model : onnx.ModelProto
        Its output "score", of shape (n_rows, 1) or (n, r), is `predict` in single precision. Where
        scores depend on the other documents of the query, as those of
        :class:`~skcalrank.TabularRanker` do, the rows of an input are the documents of one query.

    Raises
    ------
    ImportError
        If ``skl2onnx`` is not installed.
    ValueError
        If a step before the ranker, or a ranker of another kind, needs whole queries, a column is
        read as anything but a number, or ``skl2onnx`` does not know how to convert a step.

    See Also
    --------
    register_converters : Lets ``skl2onnx.to_onnx`` itself convert rankers.
    """
    skl2onnx = _required()
    check_is_fitted(ranker)
    model = unwrapped(ranker)
    if scorer_of(model) is None:
        score_tree(model)
    register_converters()
    floats = skl2onnx.common.data_types.FloatTensorType
    if initial_types is None:
        initial_types = [("X", floats([None, model.n_features_in_]))]
    try:
        return skl2onnx.convert_sklearn(
            model,
            initial_types=initial_types,
            target_opset=target_opset,
            final_types=[("score", None)],
        )
    except skl2onnx.common.exceptions.MissingShapeCalculator as error:
        step = re.search(r"'<class '(?:\w+\.)*(\w+)'>'", str(error))
        raise ValueError(
            f"{type(model).__name__} contains {step[1] if step else 'a step'}, which skl2onnx "
            "does not convert: register a converter, or choose to_json."
        ) from error


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
    return check.installed("skl2onnx", 'to_onnx needs skl2onnx: pip install "skcalrank[export]"')


@cache
def _register() -> None:
    skl2onnx = _required()
    put = skl2onnx.update_registered_converter

    def add(cls: Any, shape: Callable[..., Any], output_of: Callable[..., Any]) -> None:
        put(cls, f"Skcalrank{cls.__name__}", shape, _converter(output_of))

    for cls in (*RANKERS.values(), MultiLabelRanker, *_SCORERS, GramRidge):
        add(cls, _shape_of_scores, _ranker)
    add(QuantileHinges, _shape_of_columns, _hinges)
    if SplineTransformer not in skl2onnx.supported_converters():
        add(SplineTransformer, _shape_of_columns, _splines)
    alias = "SklearnFunctionTransformer"
    known = import_module("skl2onnx.common._registration")
    before = known.get_shape_calculator(alias), known.get_converter(alias)

    def shape(operator: Any) -> None:
        before[0](operator) if _is_known(operator) else _same_shape(operator)

    def convert(scope: Any, operator: Any, container: Any) -> None:
        one = before[1] if _is_known(operator) else _converter(_logs)
        one(scope, operator, container)

    put(FunctionTransformer, alias, shape, convert)


def _is_known(operator: Any) -> bool:
    return operator.raw_operator.func is not signed_log1p


def _put_shape(operator: Any, n_columns: int) -> None:
    X, types = operator.inputs[0], import_module("skl2onnx.common.data_types")
    kind = types.DoubleTensorType if dtype_of(X) is np.float64 else types.FloatTensorType
    operator.outputs[0].type = kind([X.get_first_dimension(), n_columns])


def _shape_of_scores(operator: Any) -> None:
    model = operator.raw_operator
    n_items = getattr(model, "n_items_", None) if is_ranker(model) else None
    if not is_ranker(model) and np.ndim(model.coef_) == 2:
        n_items = len(model.coef_)
    _put_shape(operator, n_items or 1)


def _shape_of_columns(operator: Any) -> None:
    step = operator.raw_operator
    _put_shape(operator, len(step.get_feature_names_out()))


def _same_shape(operator: Any) -> None:
    _put_shape(operator, operator.inputs[0].type.shape[1])


def _converter(output_of: Callable[..., Any]) -> Callable[..., Any]:
    """Return a converter for skl2onnx: `output_of` writes a fitted estimator to a graph."""

    def convert(scope: Any, operator: Any, container: Any) -> None:
        n_scores = operator.outputs[0].type.shape[1]
        graph = Graph(operator.inputs[0], n_scores, container.target_opset)
        output = output_of(operator.raw_operator, graph)
        graph.op("Identity", output, output_names=operator.outputs[:1]).add_to(scope, container)

    return convert


def _ranker(ranker: Any, graph: Graph) -> Any:
    names = getattr(ranker, "feature_names_in_", [f"x{k}" for k in range(ranker.n_features_in_)])
    document = scorer_document(ranker, names)
    return _scores(score_tree(ranker), graph) if document is None else scorer_graph(document, graph)


def _scores(score: Score, graph: Graph) -> Any:
    """Return the operator that computes a score."""
    if isinstance(score, Sum):
        return sum_of([_weighted(*term, graph) for term in score.terms], graph)
    if isinstance(score, Trees):
        trees = trees_of(graph.X, trees_of_numbers(score.model), graph)
        return sum_of([trees, *(_weighted(*start, graph) for start in score.starts)], graph)
    if isinstance(score, Steps):
        # skl2onnx knows this class, but none of its subclasses.
        model = Pipeline(score.pipeline.steps)
    elif is_ranker(score.model) or type(score.model) is GramRidge:
        model = _linear(score.model)
    else:
        model = score.model
    sub = import_module("skl2onnx.algebra.onnx_operator").OnnxSubEstimator
    shape = np.array([-1, graph.n_scores], dtype=np.int64)
    return graph.op("Reshape", sub(model, graph.X, op_version=graph.version), shape)


def _weighted(weight: float, score: Score, graph: Graph) -> Any:
    return graph.op("Mul", _scores(score, graph), graph.numbers([weight]))


def _linear(model: Any) -> LinearRegression:
    """Return a regressor of scikit-learn with the coefficients of another."""
    regressor = LinearRegression()
    regressor.coef_ = np.asarray(model.coef_, dtype=float)
    regressor.intercept_ = np.asarray(model.intercept_, dtype=float)
    regressor.n_features_in_ = regressor.coef_.shape[-1]
    return regressor


def _hinges(step: QuantileHinges, graph: Graph) -> Any:
    return clipped(graph.X, step.features_, step.starts_, step.ends_, graph)


def _splines(step: Any, graph: Graph) -> Any:
    knots = knots_of(step)
    features = np.repeat(np.arange(len(knots)), [len(of_feature) - 1 for of_feature in knots])
    starts = np.concatenate([of_feature[:-1] for of_feature in knots])
    ends = np.concatenate([of_feature[1:] for of_feature in knots])
    rises = [rises_of(step, of_feature) for of_feature in knots]
    first = np.concatenate([np.arange(len(rise)) == 0 for rise in rises])
    weights = graph.numbers(block_diag(*(rise.T for rise in rises)))
    product = graph.op("MatMul", clipped(graph.X, features, starts, ends, graph), weights)
    return graph.op("Add", product, graph.numbers(first))


def _logs(_: Any, graph: Graph) -> Any:
    return logs_of(graph.X, graph)
