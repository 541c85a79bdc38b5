"""Stacks of the matrices of queries of equal size, the input of prediction maps."""

from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np

from ..columns import hash_rows
from ..columns.types import Array, Floats, Ints
from ..data import Queries

# Approximate number of cells of the matrices that are held at a time (32 MB).
_RUN_CELLS = 1 << 22


def solve_task(solver: Callable[..., Any], numbers: Ints, stack: Floats, turn: Floats) -> Any:
    """Run a prediction map on a stack of queries, and return it with their numbers."""
    return numbers, *solver(stack, turn)


def rows_of(queries: Queries, numbers: Ints) -> Ints:
    """Return the rows, in grouped order, of queries of equal size."""
    return queries.ptr[numbers][:, None] + np.arange(queries.sizes[numbers[0]])


def distinct_rows(X: Any, queries: Queries) -> tuple[Floats, Queries, Ints]:
    """Return the distinct rows of each query, their queries, and the number of each row among them.

    X is in grouped order. Products of matrices may differ by rounding for equal rows, so they are
    computed once for each distinct row. The order of the distinct rows does not depend on that of
    the rows.
    """
    values, query = hash_rows(X), queries.repeat(np.arange(queries.n_queries))
    order = np.lexsort((values, query))
    values = values[order]
    new = np.append(True, (query[1:] != query[:-1]) | (values[1:] != values[:-1]))
    ptr = np.append(0, np.bincount(query[new]).cumsum())
    number = np.empty(len(order), dtype=np.intp)
    number[order] = np.cumsum(new) - 1 - ptr[query]
    return X[order[new]], Queries(ptr), number


def stacks(matrices: Any, sizes: Ints) -> Iterator[tuple[Ints, Array]]:
    """Yield numbers and stacked matrices of queries of equal size, in stacks of bounded size."""
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
