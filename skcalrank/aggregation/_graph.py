"""Graphs of comparisons: their parts, and linear systems of their Laplacians."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ..data import Queries, safe_divide
from ._tally import Tally

_ROUNDING = 8 * np.finfo(float).eps


def components(tally: Tally, connection: str) -> np.ndarray:
    """Connected part of each document, numbered over all queries.

    With connection "weak" documents that have been compared are connected; with "strong"
    there is a chain of wins from each document of a part to each other.
    """
    win, lose = tally.wins > 0, tally.losses > 0
    winner = np.concatenate([tally.first[win], tally.second[lose]])
    loser = np.concatenate([tally.second[win], tally.first[lose]])
    n = tally.queries.n_rows
    graph = csr_matrix((np.ones(len(winner), dtype=np.int8), (winner, loser)), shape=(n, n))
    return connected_components(graph, connection=connection)[1]


def n_components(labels: np.ndarray, queries: Queries) -> np.ndarray:
    """Number of connected parts of each query."""
    # Parts lie within queries, so that one document of each tells its query.
    document = np.empty(labels.max() + 1, dtype=np.intp)
    document[labels] = np.arange(len(labels))
    query = queries.repeat(np.arange(queries.n_queries))
    return np.bincount(query[document], minlength=queries.n_queries)


def solve_laplacian(tally: Tally, weight, ridge, right, scale, tol, max_iter):
    """Solve ``(E' W E + ridge) x = right`` for each query, by conjugate gradients.

    E is the incidence matrix and W the non-negative `weight` of each pair. All queries take their
    steps at the same time, each with a step length of its own, until its residual is `tol` of the
    right side in the norm of the preconditioner, the diagonal, or is rounding compared with
    `scale`, the absolute values whose sum the right side is. Return one of the solutions, and
    whether each query has converged.
    """
    queries, upper = tally.queries, tally.upper(weight)
    lower = upper.T
    diagonal = tally.row_sums(weight, weight) + ridge
    # A document without comparisons has a right side of 0, and a solution of 0.
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
        step = queries.repeat(np.where(going, safe_divide(size, curvature), 0.0))
        x += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous, size = size, np.where(going, queries.sum(residual * scaled), size)
        direction *= queries.repeat(np.where(going, safe_divide(size, previous), 0.0))
        direction += scaled
    return x, size <= goal
