"""Compiled scorers as graphs of ONNX, of which the rows are the documents of one query."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trees import Forest
from ._onnx_graph import Graph, clipped, dtype_of, logs_of, sum_of, trees_of
from ._scorer import matrix_columns, refuse_kinds
from ._trees import Ensemble, trees_of_forest

# Scores whose spread in a query is below this share of the largest count as equal.
_ROUNDING = 1e-9


def scorer_graph(document: dict[str, Any], graph: Graph) -> Any:
    """Return the operator that computes the scores of the documents of one query.

    * `document`: scorer, as :func:`scorer_document` returns it.
    * `graph`: its input has the columns of the table in `fit`.

    Raises ValueError if a column is read as anything but a number that single precision holds.
    """
    matrix = _matrix(document, graph)
    members = []
    if document["views"]:
        numbers = _numbers(document, matrix, graph)
        members += [_view(view, numbers, graph) for view in document["views"]]
    if document["in_query"]:
        matrix = graph.op("Concat", matrix, _beside(document["numbers"], matrix, graph), axis=1)
    members += [_trees(forests, matrix, graph) for forests in document["trees"]]
    weights = document["weights"]
    if document["by_query"]:
        members = [_scaled(member, graph, _ROUNDING) for member in members]
    else:
        weights = [weight / spread for weight, spread in zip(weights, document["spreads"])]
    return sum_of(
        [_times(member, weight, graph) for member, weight in zip(members, weights)], graph
    )


def _times(value: Any, weight: float, graph: Graph) -> Any:
    return graph.op("Mul", value, graph.numbers([weight]))


def _matrix(document: dict[str, Any], graph: Graph) -> Any:
    """Return the matrix that the members read; columns that none reads may hold anything."""
    refuse_kinds(document, ("number", "flag"), "numbers, which are all that the graph reads")
    sources, offsets = [], []
    for source, column, is_used in matrix_columns(document):
        if is_used:
            _check_number(column, dtype_of(graph.X) is np.float64)
        sources.append(source)
        offsets.append(column.get("offset", 0.0) if is_used else 0.0)
    matrix = graph.op("Gather", graph.X, np.array(sources, dtype=np.int64), axis=1)
    return graph.op("Sub", matrix, graph.numbers(offsets)) if any(offsets) else matrix


def _check_number(column: dict[str, Any], is_double: bool) -> None:
    if column["offset"] and not is_double:
        raise ValueError(
            f"Column {column['name']!r} has numbers that single precision cannot tell apart: "
            "subtract a number near them before, use inputs in double precision, or use to_json."
        )


def _numbers(document: dict[str, Any], matrix: Any, graph: Graph) -> Any:
    """Return the numbers of the views, with means in place of missing ones."""
    places = np.array(document["numbers"], dtype=np.int64)
    numbers = graph.op("Gather", matrix, places, axis=1)
    means = graph.numbers(document["means"])
    return graph.op("Where", graph.op("IsNaN", numbers), means, numbers)


def _view(view: dict[str, Any], numbers: Any, graph: Graph) -> Any:
    """Return the score of a linear view."""
    curves = numbers
    if view["kind"] == "scaled":
        curves = _scaled(numbers, graph)
    elif view["kind"] == "logs":
        curves = logs_of(numbers, graph)
    elif view["kind"] == "hinges":
        features, starts, ends = (np.array(view[name]) for name in ("features", "starts", "ends"))
        curves = clipped(numbers, features, starts, ends, graph)
    product = graph.op("MatMul", curves, graph.numbers(view["coefficients"])[:, None])
    return graph.op("Add", product, graph.numbers([view["intercept"]]))


def _beside(numbers: list[int], matrix: Any, graph: Graph) -> Any:
    """Return what trees read to the right of the matrix."""
    picked = graph.op("Gather", matrix, np.array(numbers, dtype=np.int64), axis=1)
    rounded = graph.op("Round", _times(_scaled(picked, graph), 1e4, graph))
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
    least_unit = _times(_along_rows("ReduceMax", size, graph), least, graph)
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


def _trees(forests: list[dict[str, Any]], matrix: Any, graph: Graph) -> Any:
    read = [Forest.from_dict(forest) for forest in forests]
    trees = [tree for forest in read for tree in trees_of_forest(forest)]
    constant = sum(forest.weight * forest.constant for forest in read)
    return trees_of(matrix, Ensemble(trees, constant, {}), graph)
