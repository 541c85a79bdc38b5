"""The printer of ONNX: scores as operators, of which the rows are the documents of one query."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..data.types import ArrayLike
from ..trees import Forest
from ._document import ROUNDING, matrix_columns
from ._trees import single_above


class Graph(NamedTuple):
    """The input of a graph, and what makes operators of it."""

    X: Any
    n_scores: int
    version: int

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Any:
        """Return an operator of ONNX."""
        make = getattr(import_module("skl2onnx.algebra.onnx_ops"), f"Onnx{kind}")
        return make(*inputs, **{"op_version": self.version, **attributes})

    def numbers(self, values: Any) -> np.ndarray:
        """Return constants in the precision of the input."""
        return np.array(values, dtype=dtype_of(self.X))


def linear(values: Any, coef: Any, intercept: Any, graph: Graph) -> Any:
    """Return a linear score of columns, or one for each row of coefficients."""
    product = graph.op("MatMul", values, graph.numbers(np.atleast_2d(coef).T))
    return graph.op("Add", product, graph.numbers(np.atleast_1d(intercept)))


def times(value: Any, weight: float, graph: Graph) -> Any:
    """Return an operator times a number."""
    return graph.op("Mul", value, graph.numbers([weight]))


def dtype_of(X: Any) -> Any:
    return np.float64 if type(X.type).__name__.startswith("Double") else np.float32


def sum_of(scores: list[Any], graph: Graph) -> Any:
    """Return the sum of operators."""
    return scores[0] if len(scores) == 1 else graph.op("Sum", *scores)


def logs_of(values: Any, graph: Graph) -> Any:
    """Return signed logarithms."""
    size = graph.op("Abs", values)
    more = graph.op("Add", size, graph.numbers([1]))
    # The logarithm alone would lose what adding 1 rounds off, which is all of small values.
    kept = graph.op("Sub", more, graph.numbers([1]))
    is_lost = graph.op("Equal", kept, graph.numbers([0]))
    share = graph.op("Div", size, graph.op("Where", is_lost, graph.numbers([1]), kept))
    log = graph.op("Mul", graph.op("Log", more), share)
    return graph.op("Mul", graph.op("Sign", values), graph.op("Where", is_lost, size, log))


def clipped(values: Any, features: Any, starts: Any, ends: Any, graph: Graph) -> Any:
    """Return hinges of columns: 0 up to a start, 1 from an end."""
    picked = graph.op("Gather", values, features.astype(np.int64), axis=1)
    away = graph.op("Sub", picked, graph.numbers(starts))
    rise = graph.op("Div", away, graph.numbers(ends - starts))
    return graph.op("Clip", rise, graph.numbers(0), graph.numbers(1))


def trees_of(
    values: Any, forests: list[Forest], graph: Graph, sources: ArrayLike | None = None
) -> Any:
    """Return the sums of trees, of which column k is column sources[k] of the values."""
    proto = import_module("onnx").TensorProto
    double = dtype_of(graph.X) is np.float64
    scores = graph.op(
        "TreeEnsembleRegressor_1",
        graph.op("Cast", values, to=proto.FLOAT) if double else values,
        op_version=1,
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        base_values=[sum(forest.weight * forest.constant for forest in forests)],
        **_nodes(forests, sources),
    )
    return graph.op("Cast", scores, to=proto.DOUBLE) if double else scores


def _nodes(forests: list[Forest], sources: Any) -> dict[str, list[Any]]:
    """Return the attributes that describe the nodes of trees."""
    fields = "treeids nodeids featureids values modes truenodeids falsenodeids"
    names = [*fields.split(), "missing_value_tracks_true"]
    rows: list[tuple[Any, ...]] = []
    leaves: list[tuple[Any, ...]] = []
    roots = [(forest, root) for forest in forests for root in forest.roots]
    for tree_id, (forest, root) in enumerate(roots):
        nodes = [root]
        for number, node in enumerate(nodes):  # which grow by what is below and above a split
            if node < 0:
                rows.append((tree_id, number, 0, 0.0, "LEAF", 0, 0, 0))
                leaves.append((tree_id, number, 0, forest.weight * forest.values[-1 - node]))
                continue
            feature = forest.features[node]
            feature = feature if sources is None else int(sources[feature])
            where = (tree_id, number, feature, single_above(forest.thresholds[node]), "BRANCH_LT")
            ways = len(nodes), len(nodes) + 1, int(forest.missing_below[node])
            rows.append((*where, *ways))
            nodes += [forest.below[node], forest.above[node]]
    of_nodes = {f"nodes_{name}": list(values) for name, values in zip(names, zip(*rows))}
    of_leaves = zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves))
    return of_nodes | {f"target_{name}": list(values) for name, values in of_leaves}


def scorer_graph(document: dict[str, Any], graph: Graph) -> Any:
    """Return the operator that computes the scores of the documents of one query.

    * `document`: scorer, as :func:`compiled_document` returns it.
    * `graph`: its input has the columns of the table in `fit`.

    Raises ValueError if a column is read as anything but a number that single precision holds.
    """
    matrix, members = _matrix(document, graph), []
    picked = graph.op("Gather", matrix, np.array(document["numbers"], dtype=np.int64), axis=1)
    if document["views"]:
        means = graph.numbers(document["means"])
        numbers = graph.op("Where", graph.op("IsNaN", picked), means, picked)
        members += [_view(view, numbers, graph) for view in document["views"]]
    if document["in_query"]:
        matrix = graph.op("Concat", matrix, _beside(picked, graph), axis=1)
    for written in document["trees"]:
        members.append(trees_of(matrix, list(map(Forest.from_dict, written)), graph))
    weights = document["weights"]
    if document["by_query"]:
        members = [_scaled(member, graph, ROUNDING) for member in members]
    else:
        weights = [weight / spread for weight, spread in zip(weights, document["spreads"])]
    return sum_of([times(member, weight, graph) for member, weight in zip(members, weights)], graph)


def _matrix(document: dict[str, Any], graph: Graph) -> Any:
    """Return the matrix that the members read; columns that none reads may hold anything."""
    what = "numbers, which are all that the graph reads"
    sources, offsets = [], []
    for source, column, is_used in matrix_columns(document, ("number", "flag"), what):
        if is_used and column["offset"] and dtype_of(graph.X) is not np.float64:
            raise ValueError(
                f"Column {column['name']!r} has numbers that single precision cannot tell apart: "
                "subtract a number near them before, use inputs in double precision, or use "
                "to_json."
            )
        sources.append(source)
        offsets.append(column.get("offset", 0.0) if is_used else 0.0)
    matrix = graph.op("Gather", graph.X, np.array(sources, dtype=np.int64), axis=1)
    return graph.op("Sub", matrix, graph.numbers(offsets)) if any(offsets) else matrix


def _view(view: dict[str, Any], numbers: Any, graph: Graph) -> Any:
    """Return the score of a linear view."""
    curves, kind = numbers, view["kind"]
    if kind == "scaled":
        curves = _scaled(numbers, graph)
    if kind.startswith("log"):
        curves = logs_of(numbers, graph)
    if "hinges" in kind:
        features, starts, ends = (np.array(view[name]) for name in ("features", "starts", "ends"))
        curves = clipped(curves, features, starts, ends, graph)
    return linear(curves, view["coefficients"], view["intercept"], graph)


def _beside(picked: Any, graph: Graph) -> Any:
    """Return what trees read to the right of the matrix, of the numbers in it."""
    rounded = graph.op("Round", times(_scaled(picked, graph), 1e4, graph))
    scaled = graph.op("Div", rounded, graph.numbers([1e4]))
    return graph.op("Where", graph.op("IsNaN", picked), graph.numbers([np.nan]), scaled)


def _scaled(values: Any, graph: Graph, least: float = 0.0) -> Any:
    """Return columns with mean 0 and standard deviation 1, or 0 where constant or missing."""
    none, one = graph.numbers([0.0]), graph.numbers([1.0])
    missing = graph.op("IsNaN", values)
    known = _mean(graph.op("Where", missing, none, one), graph)
    known = graph.op("Where", graph.op("Equal", known, none), one, known)  # of no document
    # Of the differences from the largest, so that equal values have exactly their mean.
    lowest = graph.numbers([np.finfo(dtype_of(graph.X)).min])
    largest = _along_rows("ReduceMax", graph.op("Where", missing, lowest, values), graph)
    rest = graph.op("Where", missing, none, graph.op("Sub", values, largest))
    away = graph.op("Sub", rest, graph.op("Div", _mean(rest, graph), known))
    away = graph.op("Where", missing, none, away)
    unit = graph.op("Sqrt", graph.op("Div", _mean(graph.op("Mul", away, away), graph), known))
    size = graph.op("Abs", graph.op("Where", missing, none, values))
    least_unit = times(_along_rows("ReduceMax", size, graph), least, graph)
    varies = graph.op("Greater", unit, least_unit)
    scaled = graph.op("Div", away, graph.op("Where", varies, unit, one))
    return graph.op("Where", varies, scaled, none)


def _mean(values: Any, graph: Graph) -> Any:
    return _along_rows("ReduceMean", values, graph)


def _along_rows(kind: str, values: Any, graph: Graph) -> Any:
    """Return one row, a statistic of the others."""
    if graph.version < 18:  # the axes were an attribute
        return graph.op(kind, values, axes=[0], keepdims=1)
    return graph.op(kind, values, np.array([0], dtype=np.int64), keepdims=1)
