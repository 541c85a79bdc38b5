"""Batches of random subsets of judgments, for stochastic gradients (DMJ13, section 6.1)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._solvers import SQUARED_LOSSES, AveragedDescent
from ..columns import arrays
from ..columns.types import Floats
from ..data import OutOfRangeError, Queries, Rows
from ..losses import Loss

# Largest numbers of draws, and of their documents, that are aggregated at a time.
_MOST_DRAWS, _MOST_ROWS = 1024, 1 << 18

# Number of updates after which steps begin to fall as 1/sqrt(t).
_STEPS_BEFORE = 100


@dataclass(frozen=True)
class Batch:
    """A batch of draws: each is a query and a random subset of its judgments.

    The loss of a batch is the mean over its draws of the loss of a query divided by its number of
    documents.
    """

    rows: np.ndarray
    queries: Queries
    targets: np.ndarray
    weight: np.ndarray | None
    loss: Loss

    def slope(self, scores: Floats) -> Floats:
        """Return the gradient of the loss with respect to the scores, in their shape."""
        queries = self.queries
        slope = self.loss.value_and_gradient(self.targets, scores.ravel(), queries, self.weight)[1]
        slope *= queries.repeat(1.0 / (queries.n_queries * queries.sizes))
        return slope.reshape(scores.shape)

    def curvature(self) -> float:
        """Return the largest curvature of a query at scores of 0."""
        zero = np.zeros(len(self.targets))
        curved = self.loss.derivatives(self.targets, zero, self.queries, self.weight)[1]
        return float(self.queries.mean(curved).max())


def draw_batches(
    rows: Rows,
    judgments: Any,
    share: Floats,
    targets_of: Callable[..., Any],
    loss: Loss,
    *,
    order: int | None,
    batch_size: int,
    rng: np.random.RandomState,
) -> Iterator[Batch]:
    """Yield batches of random subsets of judgments without end.

    Many draws are aggregated at a time. `share` holds the probability of each query, and
    `targets_of` maps the chosen judgments and their queries to targets. Draws of all judgments of a
    query are one and the same, which is aggregated once.
    """
    weight, queries = rows.document_weights(), rows.queries
    size = min(_MOST_DRAWS, max(1, _MOST_ROWS // int(queries.sizes.max())))
    size = max(batch_size, size - size % batch_size)
    order = order or int(judgments.counts.max())
    whole = judgments.counts <= order
    aggregated, is_done = np.empty(queries.n_rows), np.zeros(len(whole), dtype=bool)

    def targets_from(some: Any) -> Floats:
        return targets_of(some.choose(np.arange(some.ptr[-1])), some.queries)

    while True:
        ids = rng.choice(len(share), size=size, p=share)
        places, ptr = arrays.ranges(queries.ptr, ids)
        drawn, numbers = Queries(ptr), places if queries.order is None else queries.order[places]
        fresh = np.unique(ids[whole[ids] & ~is_done[ids]])
        if len(fresh):
            is_done[fresh] = True
            of_fresh, _ = arrays.ranges(queries.ptr, fresh)
            aggregated[of_fresh] = targets_from(judgments.keep(fresh))
        targets = aggregated[places]
        parts = ~whole[ids]
        if parts.any():
            targets[drawn.repeat(parts)] = targets_from(judgments.sample(ids[parts], order, rng))
        loss_here = _checked(loss, targets, drawn)
        for first in range(0, size, batch_size):
            last = first + batch_size
            a, b = drawn.ptr[first], drawn.ptr[last]
            yield Batch(
                numbers[a:b] if rows.n_items is None else ids[first:last],
                Queries(drawn.ptr[first : last + 1] - a),
                targets[a:b],
                None if weight is None else weight[places[a:b]],
                loss_here,
            )


def new_descent(rows: Rows, loss: Loss, fit_intercept: bool) -> AveragedDescent:
    """Return a descent of a linear scorer at zero, with an intercept if the loss depends on it."""
    outputs = () if rows.n_items is None else (rows.n_items,)
    sees_shift = rows.n_items is not None or loss.needs_intercept
    return AveragedDescent((rows.X.shape[1], *outputs), fit_intercept and sees_shift)


def step_lengths(batch: Batch, rows: Rows, penalty: float, first: Any = None) -> Any:
    """Return the function from the number of an update to the length of its step.

    Lengths fall as 1/t where the penalty makes the objective strongly convex, and as 1/sqrt(t) for
    losses that are not squared. The first step, unless given, is half of what the curvature of the
    batch allows. Return None if the batch has no curvature, as for single documents.
    """
    X: Any = rows.X
    queries = rows.queries
    with np.errstate(over="ignore", invalid="ignore"):
        if issparse(X):
            squares = X.astype(float, copy=False).power(2).sum(axis=1)
        else:
            squares = np.einsum("ij,ij->i", X, X, dtype=float)
        norms = np.asarray(squares, dtype=float).ravel() + 1.0
        if rows.n_items is None:
            norms = queries.mean(queries.group(norms))
        curvature = batch.curvature() * norms.max()
    if not np.isfinite(curvature):
        raise OutOfRangeError(
            "Squares of X must be finite, got an overflow",
            int(arrays.sizes_of_columns(X).argmax()),
            "Scale the features.",
        )
    if not (first or curvature):
        return None
    first = first or 0.5 / max(curvature, np.finfo(float).tiny)
    slow = batch.loss.name not in SQUARED_LOSSES

    def length(t: int) -> float:
        convex = np.sqrt(1.0 + t / _STEPS_BEFORE) if slow else 1.0
        return first / max(convex, 1.0 + 2.0 * first * penalty * t)

    return length


def _checked(loss: Any, targets: Floats, queries: Queries) -> Any:
    """Return the loss scaled to some targets; an ``eta`` of None becomes 1 if that suffices."""
    if getattr(loss, "eta", 0.0) is not None:
        return loss.scaled_to(targets, queries)
    try:
        return replace(loss, eta=1.0).scaled_to(targets, queries)
    except ValueError as error:
        raise ValueError(
            f"loss must have an eta, got {loss.name!r}: StochasticAggregatedRanker never sees all "
            "targets at once, and its default eta=1 is too small for these. Pass an object of "
            f"skcalrank.losses with a larger eta. ({error})"
        ) from None
