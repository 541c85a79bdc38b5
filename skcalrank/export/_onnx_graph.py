"""The printer of ONNX: scores as operators, of which the rows are the documents of one query."""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..columns.types import ArrayLike
from ..trees import Forest
from ._score_document import ROUNDING, matrix_columns, weights_of
from ._trees import single_above


def dtype_of(X: Any) -> Any:
    return np.float64 if type(X.type).__name__.startswith("Double") else np.float32


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

    def linear(self, values: Any, coef: Any, intercept: Any) -> Any:
        """Return a linear score of columns, or one for each row of coefficients."""
        product = self.op("MatMul", values, self.numbers(np.atleast_2d(coef).T))
        return self.op("Add", product, self.numbers(np.atleast_1d(intercept)))

    def times(self, value: Any, weight: float) -> Any:
        """Return an operator times a number."""
        return self.op("Mul", value, self.numbers([weight]))

    def sum_of(self, scores: list[Any]) -> Any:
        """Return the sum of operators."""
        return scores[0] if len(scores) == 1 else self.op("Sum", *scores)

    def logs_of(self, values: Any) -> Any:
        """Return signed logarithms."""
        size = self.op("Abs", values)
        more = self.op("Add", size, self.numbers([1]))
        # The logarithm alone would lose what adding 1 rounds off, which is all of small values.
        kept = self.op("Sub", more, self.numbers([1]))
        is_lost = self.op("Equal", kept, self.numbers([0]))
        share = self.op("Div", size, self.op("Where", is_lost, self.numbers([1]), kept))
        log = self.op("Mul", self.op("Log", more), share)
        return self.op("Mul", self.op("Sign", values), self.op("Where", is_lost, size, log))

    def clipped(self, values: Any, features: Any, starts: Any, ends: Any) -> Any:
        """Return hinges of columns: 0 up to a start, 1 from an end."""
        picked = self.op("Gather", values, features.astype(np.int64), axis=1)
        away = self.op("Sub", picked, self.numbers(starts))
        rise = self.op("Div", away, self.numbers(ends - starts))
        return self.op("Clip", rise, self.numbers(0), self.numbers(1))

    def trees_of(self, values: Any, forests: list[Forest], sources: ArrayLike | None = None) -> Any:
        """Return the sums of trees, of which column k is column sources[k] of the values."""
        proto = import_module("onnx").TensorProto
        double = dtype_of(self.X) is np.float64
        scores = self.op(
            "TreeEnsembleRegressor_1",
            self.op("Cast", values, to=proto.FLOAT) if double else values,
            op_version=1,
            n_targets=1,
            aggregate_function="SUM",
            post_transform="NONE",
            base_values=[sum(forest.weight * forest.constant for forest in forests)],
            **_nodes(forests, sources),
        )
        return self.op("Cast", scores, to=proto.DOUBLE) if double else scores

    def along_rows(self, kind: str, values: Any) -> Any:
        """Return one row, a statistic of the others."""
        if self.version < 18:  # the axes were an attribute
            return self.op(kind, values, axes=[0], keepdims=1)
        return self.op(kind, values, np.array([0], dtype=np.int64), keepdims=1)

    def scaled(self, values: Any, least: float = 0.0) -> Any:
        """Return columns with mean 0 and standard deviation 1, or 0 where constant or missing."""
        none, one = self.numbers([0.0]), self.numbers([1.0])
        missing = self.op("IsNaN", values)
        known = self.along_rows("ReduceMean", self.op("Where", missing, none, one))
        known = self.op("Where", self.op("Equal", known, none), one, known)  # of no document

        def mean_of_known(numbers: Any) -> Any:
            return self.op("Div", self.along_rows("ReduceMean", numbers), known)

        # Of the differences from the largest, so that equal values have exactly their mean.
        lowest = self.numbers([np.finfo(dtype_of(self.X)).min])
        largest = self.along_rows("ReduceMax", self.op("Where", missing, lowest, values))
        rest = self.op("Where", missing, none, self.op("Sub", values, largest))
        away = self.op("Sub", rest, mean_of_known(rest))
        away = self.op("Where", missing, none, away)
        unit = self.op("Sqrt", mean_of_known(self.op("Mul", away, away)))
        size = self.op("Abs", self.op("Where", missing, none, values))
        varies = self.op("Greater", unit, self.times(self.along_rows("ReduceMax", size), least))
        scaled = self.op("Div", away, self.op("Where", varies, unit, one))
        return self.op("Where", varies, scaled, none)

    def scores_of(self, document: dict[str, Any]) -> Any:
        """Return the operator that computes the scores of the documents of one query.

        `document` is a scorer, as :func:`compiled_document` returns it. The input has the columns
        of the table in `fit`.

        Raises ValueError if a column is read as anything but a number that single precision holds.
        """
        matrix, members = self._matrix(document), []
        picked = self.op("Gather", matrix, np.array(document["numbers"], dtype=np.int64), axis=1)
        if document["views"]:
            means = self.numbers(document["means"])
            numbers = self.op("Where", self.op("IsNaN", picked), means, picked)
            members += [self._view(view, numbers) for view in document["views"]]
        if document["in_query"]:
            matrix = self.op("Concat", matrix, self._beside(picked), axis=1)
        for written in document["trees"]:
            members.append(self.trees_of(matrix, list(map(Forest.from_dict, written))))
        if document["by_query"]:
            members = [self.scaled(member, ROUNDING) for member in members]
        return self.sum_of(list(map(self.times, members, weights_of(document))))

    def _matrix(self, document: dict[str, Any]) -> Any:
        """Return the matrix that the members read; columns that none reads may hold anything."""
        what = "numbers, which are all that the graph reads"
        sources, offsets = [], []
        for source, column, is_used in matrix_columns(document, ("number", "flag"), what):
            if is_used and column["offset"] and dtype_of(self.X) is not np.float64:
                raise ValueError(
                    f"Column {column['name']!r} has numbers that single precision cannot tell "
                    "apart: subtract a number near them before, use inputs in double precision, or "
                    "use to_json."
                )
            sources.append(source)
            offsets.append(column.get("offset", 0.0) if is_used else 0.0)
        matrix = self.op("Gather", self.X, np.array(sources, dtype=np.int64), axis=1)
        return self.op("Sub", matrix, self.numbers(offsets)) if any(offsets) else matrix

    def _view(self, view: dict[str, Any], numbers: Any) -> Any:
        """Return the score of a linear view."""
        curves, kind = numbers, view["kind"]
        if kind == "scaled":
            curves = self.scaled(numbers)
        if kind.startswith("log"):
            curves = self.logs_of(numbers)
        if "hinges" in kind:
            ends = (np.array(view[name]) for name in ("features", "starts", "ends"))
            curves = self.clipped(curves, *ends)
        return self.linear(curves, view["coefficients"], view["intercept"])

    def _beside(self, picked: Any) -> Any:
        """Return what trees read to the right of the matrix, of the numbers in it."""
        rounded = self.op("Round", self.times(self.scaled(picked), 1e4))
        scaled = self.op("Div", rounded, self.numbers([1e4]))
        return self.op("Where", self.op("IsNaN", picked), self.numbers([np.nan]), scaled)


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
            rows.append((*where, len(nodes), len(nodes) + 1, int(forest.missing_below[node])))
            nodes += [forest.below[node], forest.above[node]]
    of_nodes = {f"nodes_{name}": list(values) for name, values in zip(names, zip(*rows))}
    of_leaves = zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves))
    return of_nodes | {f"target_{name}": list(values) for name, values in of_leaves}
