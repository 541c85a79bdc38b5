"""Tallies of how often each document of a pair beat the other, the input of pair structures."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from ..columns import CACHE_CELLS, arrays
from ..columns.types import Bools, Floats, Ints
from ..data import Queries, check, lazy_property, warn

# Number of rows that are processed at a time, so that a few arrays of them fit into the cache.
_BATCH_ROWS = CACHE_CELLS // 8

_ROUNDING = 8 * np.finfo(float).eps


#: What solves some queries: their tally, and the slices of queries and of pairs.
_Solve: TypeAlias = Callable[["Tally", slice, slice], tuple[Floats, Bools]]


@dataclass
class Tally:
    """Weights of the preferences of each pair of documents, summed over the judgments.

    Everything is in grouped order. The pairs are those compared with a positive weight, each once
    and ascending, with ``first < second``. The first document beat the second with the weight
    ``wins``, and was beaten by it with the weight ``losses``.
    """

    queries: Queries
    first: np.ndarray
    second: np.ndarray
    wins: np.ndarray
    losses: np.ndarray
    n_judgments: np.ndarray  # of each query
    n_items: int | None = None  # in the label-ranking form
    silent: bool = False  # whether warnings about missing comparisons are suppressed

    @lazy_property
    def pair_ptr(self) -> np.ndarray:
        """Pointers to the pairs: query ``q`` has ``pair_ptr[q]:pair_ptr[q + 1]``."""
        return np.searchsorted(self.first, self.queries.ptr)

    @lazy_property
    def pair_query(self) -> np.ndarray:
        """Query of each pair."""
        return np.repeat(np.arange(self.queries.n_queries), np.diff(self.pair_ptr))

    @lazy_property
    def incidence(self) -> csr_matrix:
        """Sparse (n_pairs, n_documents) matrix that maps scores to ``s_first - s_second``.

        Its transpose maps a skew-symmetric matrix, given by its pairs, to its row sums.
        """
        n_pairs = len(self.first)
        ends = np.column_stack([self.first, self.second]).ravel()
        signs = np.tile([1.0, -1.0], n_pairs)
        ptr = np.arange(0, 2 * n_pairs + 1, 2)
        return csr_matrix((signs, ends, ptr), shape=(n_pairs, self.queries.n_rows))

    def upper(self, values: np.ndarray) -> csr_matrix:
        """Return a sparse matrix between documents with values at ``(first, second)``."""
        n = self.queries.n_rows
        return csr_matrix((values, self.second, self._row_ptr), shape=(n, n))

    @lazy_property
    def _row_ptr(self) -> Ints:
        # Kept, because Newton's method reads it in every step: 5 % of its time.
        return np.searchsorted(self.first, np.arange(self.queries.n_rows + 1))

    def row_sums(self, of_first: np.ndarray, of_second: np.ndarray) -> np.ndarray:
        """Return the sum over the pairs of each document of the value for it."""
        n = self.queries.n_rows
        return np.bincount(self.first, of_first, n) + np.bincount(self.second, of_second, n)

    def largest(self, of_pairs: np.ndarray) -> np.ndarray:
        """Return the maximum over the pairs of each query, 0 for a query without pairs."""
        out = np.zeros(self.queries.n_queries)
        some = np.diff(self.pair_ptr) > 0
        out[some] = np.maximum.reduceat(of_pairs, self.pair_ptr[:-1][some])
        return out

    def in_rows(self, scores: Floats, sizes: Floats | None = None) -> Floats:
        """Return scores of the documents in row order: (n_rows,), or (n, r).

        Scores of a query become equal if they differ only by rounding errors of numbers of `sizes`,
        by default those of the scores: the order of the pairs moves these errors, and ranks would
        tell the scores apart.
        """
        queries, values = self.queries, np.empty_like(scores)
        codes = queries.repeat(np.arange(queries.n_queries))
        order = np.lexsort((scores, codes))
        largest = queries.repeat(queries.max(np.abs(scores) if sizes is None else sizes))
        steps = np.where(np.diff(codes) > 0, -np.inf, largest[1:])
        values[order] = scores[order][arrays.firsts_of_equal(scores[order], steps)]
        values = queries.ungroup(values)
        return values if self.n_items is None else values.reshape(-1, self.n_items)

    def law(self, conditional: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of the judgments in which the first document of a pair wins, and loses.

        The total is the number of judgments of the query, or with `conditional` the weight with
        which the pair is compared.
        """
        total = self.wins + self.losses if conditional else self.n_judgments[self.pair_query]
        return self.wins / total, self.losses / total

    def log_odds(self, c: float | None, conditional: bool) -> np.ndarray:
        """Return the smoothed log-odds that the first document of a pair beats the second.

        Infinite odds, which occur only with ``c=0``, are replaced by 0, with a warning.
        """
        if c is None:
            return np.log(self.wins + 0.5) - np.log(self.losses + 0.5)
        check.number("c", c, ">= 0", "or None for half a judgment")
        win, lose = (share + c for share in self.law(conditional))
        one_way = (win == 0) | (lose == 0)
        self.warn_of(
            np.bincount(self.pair_query[one_way], minlength=self.queries.n_queries) > 0,
            "has pairs of documents of which always the same one wins. Without smoothing their "
            "odds are infinite, so the pairs are left out: set c > 0, or None.",
        )
        win[one_way] = lose[one_way] = 1.0
        return np.log(win) - np.log(lose)

    def warn_of(self, which: Bools, text: str, category: type[Warning] = UserWarning) -> None:
        """Warn about queries, by the name of the first one.

        A silent tally suppresses all but convergence warnings.
        """
        ids = np.flatnonzero(which)
        if not len(ids) or (self.silent and category is UserWarning):
            return
        others = f" (and {len(ids) - 1} more)" if len(ids) > 1 else ""
        warn(f"Query {self.queries.name(int(ids[0]))!r}{others} {text}", category)

    def components(self, connection: str, kept: Floats | float = 1.0) -> tuple[Ints, Bools]:
        """Return the component of each document, and whether each query has more than one.

        Components are numbered over all queries, and each is within one query.
        With the connection "weak", documents that have been compared are connected. With "strong",
        there is a chain of wins from each document of a component to every other one. Pairs for
        which `kept` is 0 connect nothing.
        """
        # Sums of sparse matrices have no zeros.
        graph = self.upper(kept * self.wins) + self.upper(kept * self.losses).T
        labels = connected_components(graph, connection=connection)[1]
        return labels, self.queries.max(labels) > -self.queries.max(-labels)

    def solve_laplacian(
        self,
        weight: Floats,
        ridge: Floats,
        right: Floats,
        scale: Floats,
        tol: float | Floats,
        max_iter: int,
    ) -> tuple[Floats, Bools]:
        """Solve ``(E' W E + ridge) x = right`` for each query, by conjugate gradients.

        E is the incidence matrix and W the non-negative `weight` of each pair. All queries iterate
        at the same time, each with its own step length. A query stops when the norm of its
        residual, in the diagonal preconditioner, is `tol` times that of the right side, or is a
        rounding error in comparison with `scale`, the absolute values whose sum is the right side.
        Return a solution, and whether each query has converged.
        """
        queries, diagonal = self.queries, self.row_sums(weight, weight) + ridge
        # In units of the matrix and of the right side, so that squares stay in range.
        of_matrix, of_right = (arrays.scale_of(queries.max(size)) for size in (diagonal, scale))
        diagonal /= queries.repeat(of_matrix)
        upper = self.upper(weight / of_matrix[self.pair_query])
        lower = upper.T
        # The right side of a document without comparisons is 0, and so is its solution.
        diagonal[diagonal == 0] = 1.0
        x = np.zeros(queries.n_rows)
        residual, scale = (size / queries.repeat(of_right) for size in (right, scale))
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
        return x * queries.repeat(of_right / of_matrix), size <= goal

    def solve_in_batches(self, solve: _Solve, max_iter: int) -> np.ndarray:
        """Return values of the documents, solved for some queries at a time.

        `solve` takes the tally of some queries, and the slices of these queries and of their pairs.
        It returns the values, and whether each query has converged. Warn about queries that have
        not.
        """
        values = np.zeros(self.queries.n_rows)
        converged = np.ones(self.queries.n_queries, dtype=bool)
        for ids, rows, queries in self.queries.parts(_BATCH_ROWS):
            pairs = slice(self.pair_ptr[ids.start], self.pair_ptr[ids.stop])
            batch = replace(
                self,
                queries=queries,
                first=self.first[pairs] - rows.start,
                second=self.second[pairs] - rows.start,
                wins=self.wins[pairs],
                losses=self.losses[pairs],
                n_judgments=self.n_judgments[ids],
            )
            values[rows], converged[ids] = solve(batch, ids, pairs)
        self.warn_of(
            ~converged,
            f"has not converged in max_iter={max_iter} iterations: increase max_iter or tol.",
            ConvergenceWarning,
        )
        return values


def check_iteration(tol: Any, max_iter: Any) -> None:
    """Raise unless the tolerance and the number of iterations are positive."""
    check.number("tol", tol, "> 0")
    check.count("max_iter", max_iter)
