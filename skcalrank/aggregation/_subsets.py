"""U-statistics of judgements: the mean of a structure over the k-subsets of every query.

The empirical risk of order k (DMJ13, eq. 19) averages the loss over the subsets of k judgements of
a query. For the squared loss its minimiser regresses on the mean of the target over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..data import CHUNK_ROWS, ClickSessions, PreferenceTarget, check_count
from ._counting import borda, win_rate
from ._judgments import judgments_of, places


class SubsetMean(NamedTuple):
    """Mean over the subsets, and how far the draws may have missed it."""

    mean: np.ndarray
    standard_error: np.ndarray  # 0 where the mean is exact, NaN for a single draw


def mean_over_subsets(
    y, structure, order=None, targets=None, *, n_draws=20, random_state=None, **options
):
    r"""Mean of ``targets(structure(subset))`` over the subsets of `order` judgements of each query.

    The mean is exact where the structure is linear in the judgements and there are no `targets`,
    where the query has at most `order` judgements (all are used), and where it has at most
    `n_draws` subsets. Otherwise subsets are drawn, independently and uniformly.

    The structure may be the user's own. With ``order=None`` all judgments are aggregated. The
    `targets` are a function of scores in grouped order and their `Queries`, as
    `Measure.score_targets` is; it is called for some queries at a time.
    """
    if not isinstance(y, (PreferenceTarget, ClickSessions)):
        raise TypeError(f"y must be a PreferenceTarget or ClickSessions, got {type(y).__name__}.")
    if order is not None:
        check_count("order", order, "the number of judgements of a subset, or None for all")
    check_count("n_draws", n_draws, "the number of subsets that are drawn")
    queries = y.queries()

    def evaluate(target, queries):
        scores = structure_scores(structure, target, queries, options)
        return scores if targets is None else targets(scores, queries)

    is_linear = structure in (borda, win_rate) and not options.get("conditional")
    if order is None or (targets is None and is_linear):
        mean = evaluate(y, queries)
        error = np.zeros(len(mean))
    else:
        rng = check_random_state(random_state)
        mean, error = _means(judgments_of(y, queries), order, evaluate, n_draws, rng)
    shape = (len(y), y.n_items) if y.n_items else (len(y),)
    return SubsetMean(*(queries.ungroup(values).reshape(shape) for values in (mean, error)))


def structure_scores(structure, target, queries, options):
    """Return the scores of a structure in grouped order; raise unless each is one finite number."""
    scores = np.ravel(structure(target, **options))
    name = getattr(structure, "__name__", repr(structure))
    if scores.shape != (queries.n_rows,):
        raise ValueError(
            f"structure {name} gave {len(scores)} scores for {queries.n_rows} documents: it must "
            "give one for each."
        )
    if scores.dtype.kind not in "biuf" or not np.isfinite(scores).all():
        raise ValueError(f"structure {name} gave scores that are not finite numbers.")
    return queries.group(scores)


def _means(judgments, order, evaluate, n_draws, rng):
    queries, counts = judgments.queries, judgments.counts
    mean, error = np.zeros((2, queries.n_rows))
    for which, subsets in _groups(counts, order, n_draws, rng):
        for ids in _runs(np.flatnonzero(which), queries.sizes):
            part, rows = judgments.keep(ids), places(queries.ptr, ids)[0]
            values = (evaluate(part.choose(chosen), part.queries) for chosen in subsets(part))
            mean[rows], error[rows] = _moments(values)
    error[queries.repeat(counts <= _listed_up_to(order, n_draws))] = 0.0
    return mean, error


def _groups(counts, order, n_draws, rng):
    """Queries that are treated alike, and a function that gives the subsets of some of them."""
    yield counts <= order, lambda part: [np.arange(part.ptr[-1])]
    most = _listed_up_to(order, n_draws)
    for n in np.unique(counts[(counts > order) & (counts <= most)]):
        yield counts == n, lambda part: _all_subsets(part, order)
    yield counts > most, lambda part: (part.draw(order, rng) for _ in range(n_draws))


def _listed_up_to(order, n_draws):
    """Largest number of judgements that has at most `n_draws` subsets."""
    n = order
    while comb(n + 1, order) <= n_draws:
        n += 1
    return n


def _all_subsets(part, order) -> Iterator[np.ndarray]:
    """Each subset, of queries that have equally many judgements."""
    for local in combinations(range(part.counts[0]), order):
        yield np.add.outer(part.ptr[:-1], local).ravel()


def _moments(values):
    """Mean of arrays and its standard error if they are draws, by Welford's recursion."""
    mean, squares, n = 0.0, 0.0, 0
    for n, value in enumerate(values, start=1):
        gap = value - mean
        mean = mean + gap / n
        squares = squares + gap * (value - mean)
    return mean, np.sqrt(squares / (n * (n - 1))) if n > 1 else np.full(len(mean), np.nan)


def _runs(ids, sizes):
    """Queries in runs of about so many documents as are worked on at a time."""
    run = np.cumsum(sizes[ids]) // CHUNK_ROWS
    return np.split(ids, np.flatnonzero(run[1:] != run[:-1]) + 1) if len(ids) else []
