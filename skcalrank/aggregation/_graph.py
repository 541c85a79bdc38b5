"""Graphs of comparisons: connected components, and linear systems of Laplacians."""

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ..columns import arrays
from ..columns.types import Bools, Floats, Ints
from ._tally import Tally

_ROUNDING = 8 * np.finfo(float).eps


def components(tally: Tally, connection: str) -> tuple[Ints, Bools]:
    """Return the component of each document, and whether each query has more than one.

    Components are numbered over all queries, and each is within one query.
    With the connection "weak", documents that have been compared are connected. With "strong",
    there is a chain of wins from each document of a component to every other one.
    """
    win, lose = tally.wins > 0, tally.losses > 0
    winner = np.concatenate([tally.first[win], tally.second[lose]])
    loser = np.concatenate([tally.second[win], tally.first[lose]])
    n = tally.queries.n_rows
    graph = csr_matrix((np.ones(len(winner), dtype=np.int8), (winner, loser)), shape=(n, n))
    labels = connected_components(graph, connection=connection)[1]
    return labels, tally.queries.max(labels) > -tally.queries.max(-labels)


def solve_laplacian(
    tally: Tally,
    weight: Floats,
    ridge: Floats,
    right: Floats,
    scale: Floats,
    tol: float | Floats,
    max_iter: int,
) -> tuple[Floats, Bools]:
    """Solve ``(E' W E + ridge) x = right`` for each query, by conjugate gradients.

    E is the incidence matrix and W the non-negative `weight` of each pair. All queries iterate at
    the same time, each with its own step length. A query stops when the norm of its residual, in
    the diagonal preconditioner, is `tol` times that of the right side, or is a rounding error in
    comparison with `scale`, the absolute values whose sum is the right side. Return a solution,
    and whether each query has converged.
    """
    queries, upper = tally.queries, tally.upper(weight)
    lower = upper.T
    diagonal = tally.row_sums(weight, weight) + ridge
    # The right side of a document without comparisons is 0, and so is its solution.
    diagonal[diagonal == 0] = 1.0
    x = np.zeros(queries.n_rows)
    residual = right.copy()
    direction = residual / diagonal
    size = queries.sum(residual * direction)
    rounding = queries.sum(np.square(_ROUNDING * scale) / diagonal)
    goal = np.maximum(np.square(tol) * size, rounding)
    for _ in range(max_iter):
        going = size > goal
        if not going.any():
            break
        image = diagonal * direction - upper @ direction - lower @ direction
        curvature = queries.sum(direction * image)
        step = queries.repeat(np.where(going, arrays.safe_divide(size, curvature), 0.0))
        x += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous, size = size, np.where(going, queries.sum(residual * scaled), size)
        direction *= queries.repeat(np.where(going, arrays.safe_divide(size, previous), 0.0))
        direction += scaled
    return x, size <= goal
