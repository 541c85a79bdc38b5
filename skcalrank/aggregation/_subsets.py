"""U-statistics of judgments: the mean of a structure over the subsets of size k of every query.

The empirical risk of order k (DMJ13, eq. 19) averages the loss over the subsets of k judgments of
a query. For the squared loss, its minimizer regresses the mean of the target over them.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from math import comb
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.utils import check_random_state

from ..columns import CHUNK_ROWS, arrays
from ..columns.types import Bools, Floats, Ints, Seed
from ..data import Queries, check
from ..judgments import ClickCounts, ClickSessions, PreferenceTarget
from ._click_structures import cascade, position_based
from ._counting import borda, win_rate
from ._judgments import Judgments, judgments_of


class SubsetMean(NamedTuple):
    """Mean over the subsets, and its standard error if subsets were drawn."""

    mean: np.ndarray
    standard_error: np.ndarray  # 0 where the mean is exact, NaN for a single draw


def mean_over_subsets(
    y: Any,
    structure: Callable[..., Any],
    order: int | None = None,
    targets: Callable[[Floats, Queries], Floats] | None = None,
    *,
    n_draws: int = 20,
    random_state: Seed = None,
    **options: Any,
) -> SubsetMean:
    """Return the mean of ``targets(structure(subset))`` over subsets of judgments of each query.

    Subsets have `order` judgments. The mean is exact if the structure is linear in the judgments
    and there are no `targets`, for queries with at most `order` judgments (all are used), and for
    queries with at most `n_draws` subsets. Otherwise subsets are drawn independently and uniformly.

    The structure may be a function of the user. With ``order=None`` all judgments are aggregated.
    `targets` is a function of scores in grouped order and their `Queries`, such as
    `Measure.score_targets`; it is called for some queries at a time.
    """
    if not isinstance(y, (PreferenceTarget, ClickSessions, ClickCounts)):
        raise TypeError(f"y must be a PreferenceTarget or ClickSessions, got {type(y).__name__}.")
    if order is not None and isinstance(y, ClickCounts):
        raise ValueError(
            f"order must be None for ClickCounts, which do not tell sessions apart, got {order!r}: "
            "pass ClickSessions."
        )
    if order is not None:
        check.count("order", order, "the number of judgments of a subset, or None for all")
    check.count("n_draws", n_draws, "the number of subsets that are drawn")
    if order is not None and np.ndim(options.get("prior", 0.0)):
        raise ValueError(
            "prior must be a number where subsets of judgments are aggregated, got an array: it "
            "would have to follow the rows of every subset. Use order=None."
        )
    queries = y.queries()

    def evaluate(target: Any, queries: Queries) -> Floats:
        scores = structure_scores(structure, target, queries, options)
        return scores if targets is None else targets(scores, queries)

    is_linear = structure in (borda, win_rate) and not options.get(
        "conditional", structure is win_rate
    )
    if order is None or (targets is None and is_linear):
        mean = evaluate(y, queries)
        error = np.zeros(len(mean))
    else:
        rng, of = check_random_state(random_state), cast(Any, y)
        mean, error = _means(judgments_of(of, queries), order, evaluate, n_draws, rng)
    shape = (len(y), y.n_items) if y.n_items else (len(y),)
    return SubsetMean(*(queries.ungroup(values).reshape(shape) for values in (mean, error)))


def structure_scores(
    structure: Callable[..., Any], target: Any, queries: Queries, options: dict[str, Any]
) -> Floats:
    """Return the finite scores of a structure in grouped order, one per row, or raise.

    They are the first field of a named tuple.
    """
    scores = structure(target, **options)
    scores = np.ravel(scores[0] if hasattr(scores, "_fields") else scores)
    name = getattr(structure, "__name__", repr(structure))
    if scores.shape != (queries.n_rows,):
        raise ValueError(
            f"structure {name} must return one score for each of {queries.n_rows} documents, got "
            f"{len(scores)}."
        )
    if scores.dtype.kind not in "biuf" or not np.isfinite(scores).all():
        raise ValueError(f"structure {name} must return finite numbers, got others.")
    return queries.group(scores)


def is_of_clicks(structure: Any) -> bool:
    """Return whether a function, or a partial of one, is a structure of clicks of this package."""
    function = getattr(structure, "func", structure)
    return function is cascade or function is position_based


def evidence_of(structure: Callable[..., Any], y: Any, options: dict[str, Any]) -> Floats:
    """Return how many comparisons or (expected) examinations the score of each document rests on.

    A structure of clicks counts examinations by its own model.
    """
    if is_of_clicks(structure):
        return np.asarray(structure(y, **options).examinations, dtype=float)
    return y.evidence.astype(float)


def _means(
    judgments: Judgments,
    order: int,
    evaluate: Callable[[Any, Queries], Floats],
    n_draws: int,
    rng: np.random.RandomState,
) -> tuple[Floats, Floats]:
    """Return means and standard errors of the documents, in grouped order."""
    queries, counts = judgments.queries, judgments.counts
    mean, error = np.zeros((2, queries.n_rows))
    for which, subsets in _groups(counts, order, n_draws, rng):
        for ids in _runs(np.flatnonzero(which), queries.sizes):
            batch, rows = judgments.keep(ids), arrays.ranges(queries.ptr, ids)[0]
            values = (evaluate(batch.choose(chosen), batch.queries) for chosen in subsets(batch))
            mean[rows], error[rows] = _moments(values)
    error[queries.repeat(counts <= _listed_up_to(order, n_draws))] = 0.0
    return mean, error


def _groups(
    counts: Ints, order: int, n_draws: int, rng: np.random.RandomState
) -> Iterator[tuple[Bools, Callable[[Judgments], Iterable[Ints]]]]:
    """Yield masks of queries that are treated alike, and functions that return their subsets."""
    yield counts <= order, lambda batch: [np.arange(batch.ptr[-1])]
    most = _listed_up_to(order, n_draws)
    for n in np.unique(counts[(counts > order) & (counts <= most)]):
        yield counts == n, lambda batch: _all_subsets(batch, order)
    yield counts > most, lambda batch: (batch.draw(order, rng) for _ in range(n_draws))


def _listed_up_to(order: int, n_draws: int) -> int:
    """Return the largest number of judgments with at most `n_draws` subsets."""
    n = order
    while comb(n + 1, order) <= n_draws:
        n += 1
    return n


def _all_subsets(batch: Judgments, order: int) -> Iterator[Ints]:
    """Yield each subset, for queries with equally many judgments."""
    for local in combinations(range(batch.counts[0]), order):
        yield np.add.outer(batch.ptr[:-1], local).ravel()


def _moments(values: Iterable[Floats]) -> tuple[Any, Floats]:
    """Return the mean of arrays, and its standard error as draws, by Welford's recursion."""
    mean: Any = 0.0
    squares: Any = 0.0
    n = 0
    for n, value in enumerate(values, start=1):
        gap = value - mean
        mean = mean + gap / n
        squares = squares + gap * (value - mean)
    return mean, np.sqrt(squares / (n * (n - 1))) if n > 1 else np.full(len(mean), np.nan)


def _runs(ids: Ints, sizes: Ints) -> list[Ints]:
    """Return runs of queries with about as many documents as are processed at a time."""
    return np.split(ids, arrays.run_starts(np.cumsum(sizes[ids]) // CHUNK_ROWS))[1:]
