"""Rank sets: places that hold for all items at once, from pairs that are told apart."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from ..columns.types import Bools, Floats, Ints, Self
from ._statistics import Moments, snapped

# Share of the errors that buys bounds of all differences, the first of two steps.
_FIRST_STEP = 0.1

# Draws, of many items fewer, and items that are compared at a time.
_N_DRAWS, _MANY_ITEMS, _BLOCK = 2000, 300, 128

# Beyond a quantile of random signs there must be more than this number.
_FEW_SIGNS = 8

#: With fewer degrees of freedom draws would be infinite.
LEAST_FREEDOM = 0.5

# Scores whose difference is rounding share a rank.
_ROUNDING = 1e-9

# Variances of differences that are rounding, as shares of those of the two scores.
_NO_SPREAD = 1e-12

# Up to this share of the values, deviations of differences are lost in a covariance.
_CANCELED = 1e-5


#: Tells of some items of a group which is above which.
Apart = Callable[[Ints], Bools]


def gap_errors(covariance: Floats) -> Floats:
    """Return the standard errors of the differences of all scores; 0 where they are rounding.

    A difference that does not vary has no error, and tells nothing apart.
    """
    variance = np.diagonal(covariance)
    total = variance[:, None] + variance
    of_gaps = total - 2 * covariance
    return np.sqrt(np.where(of_gaps <= _NO_SPREAD * total, 0.0, of_gaps))


def gap_errors_of_means(columns: Floats, covariance: Floats) -> Floats:
    """Return the standard errors of the differences of means, whose covariance is given.

    Columns have shape (n_columns, n_tasks). Where close ones cancel in the covariance, errors are
    those of the differences themselves, and 0 where `compare` finds that these do not vary.
    """
    errors, largest = gap_errors(covariance), np.abs(columns).max(axis=1)
    least = _CANCELED / np.sqrt(columns.shape[1]) * np.maximum.outer(largest, largest)
    for i, is_close in enumerate(np.triu(errors <= least, 1)):
        j = np.flatnonzero(is_close)
        errors[i, j] = errors[j, i] = Moments.of(snapped(columns[j], columns[i])).error(0.0)
    return errors


def told_apart(
    scores: Floats, covariance: Floats, freedom: float, error: float, rng: np.random.Generator
) -> Bools:
    """Return which item is above which, with probability `error` of any false statement.

    A stepdown over ordered pairs, in which a difference of the wrong sign that bounds of all
    differences exclude gets its margin (Romano, Shaikh and Wolf 2014). Scores are t with
    `freedom` degrees, which may be infinite.
    """
    m = len(scores)
    n_draws = _N_DRAWS if m <= _MANY_ITEMS else _N_DRAWS // 2
    variance = np.diagonal(covariance)
    # A constant beside the scores, and rounding, change no difference.
    made = covariance + variance.mean() + np.diag(np.full(m, 1e-10 * variance.mean()))
    draws = np.linalg.cholesky(made) @ rng.standard_normal((m, n_draws))
    if np.isfinite(freedom):
        draws /= np.sqrt(rng.chisquare(freedom, n_draws) / freedom)
    draws, spread = draws.astype(np.float32), gap_errors(covariance)
    gap = scores[:, None] - scores
    margin = np.where(spread > 0, 0.0, -np.inf)
    bound = _quantile(_largest(draws, spread, margin), _FIRST_STEP * error)
    margin += np.minimum(gap + bound * spread, 0.0)
    above = np.zeros((m, m), dtype=bool)
    while True:
        largest = _largest(draws, spread, np.where(above, -np.inf, margin))
        critical = _critical(largest, (1 - _FIRST_STEP) * error, m, freedom, 1 / n_draws)
        now = (gap > critical * spread) & (margin > -np.inf)
        if (now <= above).all():
            return above
        above |= now


def told_apart_by_signs(
    means: Floats, residuals: Floats, spread: Floats, error: float, rng: np.random.Generator
) -> Bools:
    """Return which column is above which, by random signs of the rows of centered values.

    `spread` holds the standard errors of the differences, 0 of those that tell nothing. With each
    draw they are computed anew, as t-tests do.
    """
    n, m = residuals.shape
    # In double precision, since close columns have differences that single would round away.
    draws = residuals.T @ rng.choice(np.array([-1.0, 1.0]), size=(n, _N_DRAWS))
    draws /= n * np.sqrt(n - 1)
    share = np.maximum(_largest(draws, spread, np.where(spread > 0, 0.0, -np.inf)), 0.0)
    t = share * np.sqrt((n - 1) / np.maximum(1 - share**2, 1e-12))
    gap = means[:, None] - means
    # A common factor of -1 changes nothing, so that there are 2^(n - 1) signs.
    critical = _critical(t, error, m, n - 1, _FEW_SIGNS * max(2.0 ** (1 - n), 1 / _N_DRAWS))
    return (spread > 0) & (gap > critical * spread)


def _largest(draws: Floats, spread: Floats, margin: Floats) -> Floats:
    """Return the largest standardized difference of each draw, those with their margins.

    Pairs whose margin is minus infinity are left out.
    """
    out = np.full(draws.shape[1], -np.inf, dtype=draws.dtype)
    inverse = (1 / np.where(spread > 0, spread, 1.0)).astype(draws.dtype)
    margin = margin.astype(draws.dtype)
    for item, of_item in enumerate(draws):
        for start in range(0, len(draws), _BLOCK):
            others = slice(start, start + _BLOCK)
            beyond = margin[item, others, None]
            if (beyond > -np.inf).any():
                gaps = of_item - draws[others]
                gaps += beyond
                gaps *= inverse[item, others, None]
                np.maximum(out, gaps.max(axis=0), out=out)
    return out.astype(np.float64)


def _critical(largest: Floats, error: float, m: int, freedom: float, least: float) -> float:
    """Return what standardized differences of m items exceed with probability `error`.

    It is at least what that of one pair exceeds, and of errors up to `least`, for which draws are
    too few, at least Bonferroni's bound for all pairs.
    """
    n_tests = m * (m - 1) if error <= least else 2
    return max(_quantile(largest, error), float(stats.t.isf(error / n_tests, freedom)))


def _quantile(largest: Floats, error: float) -> float:
    return float(np.quantile(largest, 1 - error, method="higher"))


class Ranks(NamedTuple):
    """Rank of each item in its group, the best and the worst it can have, and who is above whom.

    Without sets all but `rank` are NaN and None.
    """

    rank: Floats
    low: Floats
    high: Floats
    above: Bools | None

    @classmethod
    def of(cls, scores: Floats, group: Ints, known: Bools, apart: Apart | None) -> Self:
        """Return the ranks of items with scores, from who of some items of a group is above whom.

        Items whose error is not known may have any rank.
        """
        m = len(scores)
        rank, low, high = np.full((3, m), np.nan)
        above = np.zeros((m, m) if apart is not None else 0, dtype=bool)
        for number in np.unique(group[~np.isnan(scores)]):
            members = np.flatnonzero(group == number)
            of_members = -scores[members]
            rank[members] = 1 + np.searchsorted(np.sort(of_members), of_members - _ROUNDING)
            if apart is None:
                continue
            low[members], high[members] = 1, len(members)
            sure = members[known[members]]
            if len(sure) > 1:
                is_more = scores[sure, None] - scores[sure] > _ROUNDING
                now = above[np.ix_(sure, sure)] = apart(sure) & is_more
                low[sure] += now.sum(axis=0)
                high[sure] -= now.sum(axis=1)
        return cls(rank, low, high, None if apart is None else above)
