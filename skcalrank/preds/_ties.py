"""Scores of documents from positions, equal for documents that a map cannot distinguish.

Two documents are twins if exchanging them does not change the input of the map. The order of
adjacent twins does not matter, so they share a score at no cost. In the best order for MAP, twins
may be apart. For pairwise disagreement they can always be adjacent: all of them lose the same at a
place, so the best of their places is as good for all of them.
"""

from typing import Any

import numpy as np

from ..columns import hash_cells, hash_keys
from ..columns.types import Array, Bools, Floats, Ints
from ..data import mean_of_runs
from ._base import Pred
from ._objectives import OBJECTIVES, disagreement
from ._stacks import PredResult, order_to_positions, parts


def solve_with_ties(
    pred: Pred, U: Floats, turn: Array, **options: Any
) -> tuple[PredResult, Floats]:
    """Run a prediction map so that the order of the documents does not matter.

    * `pred`: a prediction map of pairs.
    * `U` (n, r, r): matrices of n queries.
    * `turn` (n, r): documents are passed to the map by increasing `turn`, which therefore decides
      between equal documents, instead of the order in U.
    * `**options`: keyword arguments of ``pred.solve``.

    Returns `result`: result for the stack; twins that share a score are in the order of U.
    Returns `scores` (n, r): negative positions; adjacent twins share the mean.
    """
    by_turn = np.argsort(turn, axis=1)
    U = U[np.arange(len(U))[:, None, None], by_turn[:, :, None], by_turn[:, None, :]]
    result = pred.solve(U, **options)
    read = OBJECTIVES[pred.objective].reads(U)
    # The first twin of each document is itself if no other comes before it.
    twin_of = np.concatenate([_are_twins(few).argmax(axis=2) for few in parts(read, read[0].size)])
    if pred.objective == "disagreement":
        result = _gather(result, U, read, twin_of)
    scores = np.empty(turn.shape)
    np.put_along_axis(scores, by_turn, _shared_scores(result.positions, twin_of), axis=1)
    positions = order_to_positions(np.argsort(-scores, axis=1, kind="stable"))
    return result._replace(positions=positions), scores


def _are_twins(read: Floats) -> Bools:
    """Return for each pair of documents whether exchanging them changes nothing."""
    cells = hash_cells(read) * hash_keys(read.shape[2])
    diagonal = read.diagonal(axis1=1, axis2=2)
    rows = cells.sum(axis=2) - cells.diagonal(axis1=1, axis2=2)
    # Hashes of the row of each document, without the entries of itself and of the other one.
    rest = rows[:, :, None] - cells
    same: Bools = rest == rest.swapaxes(1, 2)
    same &= read == read.swapaxes(1, 2)
    same &= diagonal[:, :, None] == diagonal[:, None, :]
    same[:, np.arange(len(read[0])), np.arange(len(read[0]))] = True
    return same


def _runs(order: Ints, twin_of: Ints) -> Bools:
    """Return whether a run of twins starts at each place of the order."""
    twins = np.take_along_axis(twin_of, order, axis=1)
    starts = np.ones(order.shape, dtype=bool)
    starts[:, 1:] = twins[:, 1:] != twins[:, :-1]
    return starts


def _shared_scores(positions: Ints, twin_of: Ints) -> Floats:
    """Return the negative positions, replaced by their mean in each run of twins."""
    order = np.argsort(positions, axis=1)
    n, r = order.shape
    rows = (order + r * np.arange(n)[:, None]).ravel()
    places = np.tile(-np.arange(1.0, r + 1.0), n)
    return mean_of_runs(places, rows, np.flatnonzero(_runs(order, twin_of))).reshape(n, r)


def _gather(result: PredResult, U: Floats, net: Floats, twin_of: Ints) -> PredResult:
    """Make all twins adjacent, at the place among theirs where they lose least."""
    order = np.argsort(result.positions, axis=1)
    distinct = np.count_nonzero(twin_of == np.arange(order.shape[1]), axis=1)
    apart = np.flatnonzero(np.count_nonzero(_runs(order, twin_of), axis=1) > distinct)
    if not len(apart):
        return result
    positions, value, bound = (np.array(field) for field in result[:3])
    for query in apart:
        order[query] = _gathered(net[query], order[query], twin_of[query])
    positions[apart] = order_to_positions(order[apart])
    value[apart] = disagreement(U[apart], positions[apart])
    bound = np.where(result.proven, value, np.minimum(bound, value))
    return result._replace(positions=positions, value=value, bound=bound)


def _gathered(net: Floats, order: Ints, twin_of: Ints) -> Ints:
    """Return the order of one query with all twins adjacent."""
    for first in np.unique(twin_of):
        inside = twin_of[order] == first
        twins, others = order[inside], order[~inside]
        before = np.flatnonzero(inside) - np.arange(len(twins))
        # Loss of a twin at each place, from the other documents before it.
        lost = np.append(0.0, np.cumsum(net[first, others]))[before]
        place = before[lost.argmin()]
        order = np.concatenate([others[:place], twins, others[place:]])
    return order
