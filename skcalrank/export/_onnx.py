"""Rankers as graphs of ONNX."""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer
from sklearn.utils.validation import check_is_fitted

from ..boosting import BoostedRanker, ExternalRanker
from ..columns.types import Estimator
from ..data import check
from ..linear_model import GramRidge
from ..preprocessing import QuantileHinges
from ..rankers import RANKERS, MultiLabelRanker, is_ranker
from ..stacking import StackingRanker, TabularRanker, scorer_of
from ._additive import identity
from ._folding import functions, splines
from ._onnx_graph import Graph, dtype_of
from ._score_document import compiled_document
from ._score_tree import Score, Steps, Sum, changes_rows, first_reader, score_tree, unwrapped
from ._trees import forests_of_numbers, sources_of


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
    register_converters()
    skl2onnx = import_module("skl2onnx")
    check_is_fitted(ranker)
    model = _known(unwrapped(ranker))
    if scorer_of(model) is None:
        score_tree(model)
    floats = skl2onnx.common.data_types.FloatTensorType
    if initial_types is None:
        initial_types = [("X", floats([None, first_reader(model).n_features_in_]))]
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

    Other estimators are converted as before, and ``FunctionTransformer`` also with
    ``signed_log1p``.

    Raises
    ------
    ImportError
        If ``skl2onnx`` is not installed.
    """
    remedy = 'to_onnx needs skl2onnx: pip install "skcalrank[export]"'
    skl2onnx = check.installed("skl2onnx", remedy)
    stacks = (BoostedRanker, ExternalRanker, StackingRanker, TabularRanker)
    rankers = (*RANKERS.values(), MultiLabelRanker, *stacks, GramRidge)
    kinds: dict[Any, Callable[..., Any]] = dict.fromkeys(rankers, _ranker)
    kinds |= {QuantileHinges: _hinges, FunctionTransformer: _function}
    if SplineTransformer not in skl2onnx.supported_converters():
        kinds[SplineTransformer] = _splines
    put = skl2onnx.update_registered_converter
    for cls, output_of in kinds.items():
        put(cls, f"Skcalrank{cls.__name__}", _shape, _converter(output_of))


def _shape(operator: Any) -> None:
    """Set the type of the output of a ranker or a step: a number of columns."""
    X, step = operator.inputs[0], operator.raw_operator
    if is_ranker(step) or hasattr(step, "predict"):
        n_columns = getattr(step, "n_items_", None) or len(np.atleast_2d(getattr(step, "coef_", 0)))
    elif isinstance(step, FunctionTransformer):
        n_columns = X.type.shape[1]
    else:
        n_columns = len(step.get_feature_names_out())
    types = import_module("skl2onnx.common.data_types")
    kind = types.DoubleTensorType if dtype_of(X) is np.float64 else types.FloatTensorType
    operator.outputs[0].type = kind([X.get_first_dimension(), n_columns])


def _converter(output_of: Callable[..., Any]) -> Callable[..., Any]:
    """Return a converter for skl2onnx: `output_of` writes a fitted estimator to a graph."""

    def convert(scope: Any, operator: Any, container: Any) -> None:
        graph = Graph(operator.inputs[0], operator.outputs[0].type.shape[1], container.target_opset)
        output = output_of(operator.raw_operator, graph)
        graph.op("Identity", output, output_names=operator.outputs[:1]).add_to(scope, container)

    return convert


def _ranker(ranker: Any, graph: Graph) -> Any:
    names = getattr(ranker, "feature_names_in_", [f"x{k}" for k in range(ranker.n_features_in_)])
    document = compiled_document(ranker, names)
    return _scores(score_tree(ranker), graph) if document is None else graph.scores_of(document)


def _scores(score: Score, graph: Graph) -> Any:
    """Return the operator that computes a score."""
    if isinstance(score, Sum):
        scores = [graph.times(_scores(term, graph), weight) for weight, term in score.terms]
        if score.trees is not None:
            forests, sources = forests_of_numbers(score.trees), sources_of(score.trees)
            scores.insert(0, graph.trees_of(graph.X, forests, sources))
        return graph.sum_of(scores)
    if is_ranker(score) or type(score) is GramRidge:
        return graph.linear(graph.X, score.coef_, score.intercept_)
    if isinstance(score, Steps) and isinstance(score.score, Sum):
        forests_of_numbers(score.score.trees)  # skl2onnx would leave out a link and categories
    model = _known(score.pipeline if isinstance(score, Steps) else score)
    sub = import_module("skl2onnx.algebra.onnx_operator").OnnxSubEstimator
    shape = np.array([-1, graph.n_scores], dtype=np.int64)
    return graph.op("Reshape", sub(model, graph.X, op_version=graph.version), shape)


def _known(model: Any) -> Any:
    """Return a pipeline of the class that skl2onnx knows, without steps that pass rows on."""
    if not isinstance(model, Pipeline):
        return model
    return Pipeline([(name, _known(step)) for name, step in model.steps if changes_rows(step)])


def _hinges(step: QuantileHinges, graph: Graph) -> Any:
    return graph.clipped(graph.X, step.features_, step.starts_, step.ends_)


def _splines(step: Any, graph: Graph) -> Any:
    columns = splines(step, [identity(str(k)) for k in range(step.n_features_in_)])
    hinges = list(dict.fromkeys(term for column in columns for term in column.terms))
    features, starts, ends = np.transpose([(int(h.feature), h.start, h.end) for h in hinges])
    coef = [[column.terms.get(hinge, 0.0) for hinge in hinges] for column in columns]
    constants = [column.constant for column in columns]
    return graph.linear(graph.clipped(graph.X, features, starts, ends), coef, constants)


def _function(step: Any, graph: Graph) -> Any:
    functions(step, [])  # which raises for others
    return graph.X if step.func is None else graph.logs_of(graph.X)
