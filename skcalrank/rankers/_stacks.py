"""Queries of pairwise surrogates side by side: what prediction maps are given."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np

from ..data import Queries, hash_rows

# Matrices that are held at a time have about so many cells (32 MB).
_RUN_CELLS = 1 << 22


def solve_task(solver, numbers, stack, turn):
    """Run a map on a stack of queries of these numbers."""
    return numbers, *solver(stack, turn)


def rows_of(queries, numbers):
    """Rows in grouped order of some queries of one size."""
    return queries.ptr[numbers][:, None] + np.arange(queries.sizes[numbers[0]])


def distinct_rows(X, queries):
    """Distinct rows of each query, their queries, and the number of each row's among them.

    X is in grouped order. Products of matrices may differ by rounding for equal rows, so they are
    formed once of each; the order of the distinct rows does not depend on that of the rows.
    """
    values, query = hash_rows(X), queries.repeat(np.arange(queries.n_queries))
    order = np.lexsort((values, query))
    values = values[order]
    new = np.append(True, (query[1:] != query[:-1]) | (values[1:] != values[:-1]))
    ptr = np.append(0, np.bincount(query[new]).cumsum())
    number = np.empty(len(order), dtype=np.intp)
    number[order] = np.cumsum(new) - 1 - ptr[query]
    return X[order[new]], Queries(ptr), number


def stacks(matrices, sizes):
    """Numbers and matrices of queries of one size, a bounded number of cells at a time."""
    run = np.cumsum(sizes.astype(float) ** 2) // _RUN_CELLS
    bounds = [0, *(np.flatnonzero(np.diff(run)) + 1), len(sizes)]
    if isinstance(matrices, np.ndarray):
        yield from ((np.arange(*ends), matrices[slice(*ends)]) for ends in pairwise(bounds))
        return
    matrices = iter(matrices)
    for first, last in pairwise(bounds):
        held = list(islice(matrices, last - first))
        for size in np.unique(sizes[first:last]):
            chosen = np.flatnonzero(sizes[first:last] == size)
            yield first + chosen, np.stack([held[i] for i in chosen])
