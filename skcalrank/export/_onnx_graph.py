"""Operators of ONNX that scores are made of."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ._trees import Ensemble, Split


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


def trees_of(values: Any, trees: Ensemble, graph: Graph) -> Any:
    """Return the sums of trees."""
    proto = import_module("onnx").TensorProto
    double = dtype_of(graph.X) is np.float64
    scores = graph.op(
        "TreeEnsembleRegressor_1",
        graph.op("Cast", values, to=proto.FLOAT) if double else values,
        op_version=1,
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        base_values=[trees.constant],
        **_nodes(trees),
    )
    return graph.op("Cast", scores, to=proto.DOUBLE) if double else scores


def _nodes(trees: Ensemble) -> dict[str, list[Any]]:
    """Return the attributes that describe the nodes of trees."""
    fields = "treeids nodeids featureids values modes truenodeids falsenodeids"
    names = [*fields.split(), "missing_value_tracks_true"]
    rows: list[tuple[Any, ...]] = []
    leaves: list[tuple[Any, ...]] = []

    def add(tree_id: int, tree: Any, number: int) -> int:
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
