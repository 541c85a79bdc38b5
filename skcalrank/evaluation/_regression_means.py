"""Means over queries of which people judged some and a judge all: the regression estimator."""

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ..columns import arrays
from ..columns.types import Bools, Floats, Ints, Self
from ._statistics import Moments, effect_sizes, power_of_t

# Fewer values of people leave fewer than two degrees of freedom beside a slope.
_FEWEST = 4

# A judge's values whose spread is below this share of the largest one are constant, up to rounding.
_ROUNDING = 1e-9

# With a larger leverage one query decides the slope; with more squared weight than this times that
# of people alone, their queries are far from the others by the judge. Coverage suffers from both.
_LARGEST_LEVERAGE, _MOST_WEIGHT = 0.7, 4

# A judge that is right on n queries may err on up to three of n elsewhere (the rule of three).
_UNSEEN_ERRORS = 3


class Correction(NamedTuple):
    """What a judge adds to the mean of a system, or to the difference of two.

    `human` is the estimate by people alone, `judge` the mean of the judge's own values, and `gain`
    the ratio of their squared errors: with 1.9, the judge is worth as much as .9 times the people
    in addition. With n human queries and `n_judged` in all, the squared error is
    ``residual / n + explained / n_judged``.
    """

    human: float
    judge: float
    gain: float
    residual: float
    explained: float
    n_judged: int

    def n_needed(self, difference: float, power: float, level: float) -> float:
        """Return the number of human queries for a power; infinity if all would be too few."""
        if not self.residual + self.explained > 0:
            return math.nan

        def power_of(n: int) -> float:
            spread = math.sqrt(self.residual + self.explained * n / self.n_judged)
            return power_of_t(n, spread, difference, level, n_fitted=2)

        if self.n_judged < _FEWEST or power_of(self.n_judged) < power:
            return math.inf
        return bisect_left(range(self.n_judged), power, _FEWEST, key=power_of)


@dataclass(frozen=True)
class RegressionMeans:
    """Estimates of the means of columns, with their errors; one entry for each column.

    `moments` are those of people alone; `shift` is the distance of the judge's mean on their
    queries to that on all, in units of its standard deviation under random draws of queries.
    """

    moments: Moments
    mean: Floats
    error: Floats
    freedom: Ints
    judge: Floats
    residual: Floats
    explained: Floats
    shift: Floats
    n_judged: int

    @classmethod
    def of(cls, human: Floats, alone: Floats, judge: Floats, is_human: Bools) -> Self:
        """Return the estimates for human values (m, n) and judge's values (m, N) of the queries.

        Human values are regressed on the judge's, centered at their mean over all queries, and the
        intercept is the estimate (Cochran 1977, chapter 7). `alone` are human values that do not
        rest on the judge; what `human` adds to them, where people judged parts of queries, has the
        expectation 0, and is a second regressor. Undefined values, NaN, make the mean a ratio,
        which is linearized: the mean of ``defined * (value - ratio)`` is 0.
        """
        n, n_all = human.shape[1], judge.shape[1]
        moments, mean_judge = Moments.of(alone), Moments.of(judge).mean
        offsets = np.nan_to_num(judge - mean_judge[:, None])
        x = offsets[:, is_human]
        shift, spread = x.mean(1), offsets.std(1, ddof=1)
        x -= shift[:, None]
        total = (x**2).sum(1)
        rounding = n * (_ROUNDING * np.abs(np.nan_to_num(judge)).max(1)) ** 2
        leverage = 1 / n + arrays.safe_divide(x**2, total[:, None])
        weights = 1 / n - shift[:, None] * arrays.safe_divide(x, total[:, None])
        added = np.nan_to_num(human - alone)
        rest = added - added.mean(1, keepdims=True)
        rest -= arrays.safe_divide((x * rest).sum(1), total)[:, None] * x
        is_added, of_added = (rest**2).sum(1) > rounding, (rest * np.nan_to_num(alone)).sum(1)
        factor = is_added * arrays.safe_divide(of_added, (rest**2).sum(1))
        values = np.nan_to_num(alone) - factor[:, None] * added
        defined, n_fitted = ~np.isnan(human), 2 + is_added
        share = (weights * defined).sum(1)
        mean = arrays.safe_divide((weights * values).sum(1), share)
        u = defined * (values - mean[:, None])
        slope = arrays.safe_divide((x * u).sum(1), total)
        squares = (u - u.mean(1, keepdims=True) - slope[:, None] * x) ** 2
        unseen = np.nan_to_num(_UNSEEN_ERRORS / n * moments.spread**2 * moments.n / n)
        variance = np.maximum(squares.sum(1) / np.maximum(n - n_fitted, 1), unseen)
        sandwich = (weights**2 * arrays.safe_divide(squares, 1 - leverage)).sum(1)
        first = np.maximum(variance * (weights**2).sum(1), sandwich) * (1 - n / n_all)
        explained = (slope * spread) ** 2
        error = np.sqrt(first + (variance + explained) / n_all)
        is_used = (total > rounding) & (leverage.max(1) < _LARGEST_LEVERAGE)
        is_used &= ((weights**2).sum(1) < _MOST_WEIGHT / n) & (share > moments.n / n / 2)
        is_used &= (moments.spread > 0) & (moments.n >= _FEWEST) & ((n < n_all) | is_added)
        one = np.where(share > 0, share, 1.0)
        human_variance = moments.spread**2 * arrays.safe_divide(n, moments.n, np.nan)
        return cls(
            moments,
            np.where(is_used, mean, moments.mean),
            np.where(is_used, error / one, moments.error(0.0)),
            np.maximum(moments.n - np.where(is_used, n_fitted, 1), 1),
            mean_judge,
            np.where(is_used, variance / one**2, human_variance),
            np.where(is_used, explained / one**2, 0.0),
            arrays.safe_divide(shift, spread * np.sqrt(1 / n - 1 / n_all)),
            n_all,
        )

    def ends(self, confidence_level: float) -> Floats:
        """Return both ends of Student's intervals, of shape (2, m); NaN without a spread."""
        half = stats.t.ppf((1 + confidence_level) / 2, self.freedom) * self.error
        return self.mean + np.where(self.error > 0, half, np.nan) * np.array([[-1.0], [1.0]])

    def p_values(self, margin: float) -> Floats:
        """Return two-sided p-values against minus a margin, by the t-test."""
        statistic = arrays.safe_divide(np.abs(self.mean + margin), self.error, np.nan)
        p = 2 * stats.t.sf(statistic, self.freedom)
        p = np.where((self.moments.spread == 0) & (self.moments.mean + margin == 0), 1.0, p)
        return np.where(self.moments.n < 2, np.nan, p)

    def effect_sizes(self) -> Floats:
        """Return means divided by the standard deviations of the values of people."""
        return effect_sizes(replace(self.moments, mean=self.mean))

    def corrections(self) -> list[Correction]:
        """Return what the judge adds to each mean."""
        gain = arrays.safe_divide(self.moments.error(0.0) ** 2, self.error**2, 1.0)
        columns: Any = self.moments.mean, self.judge, gain, self.residual, self.explained
        rows = zip(*(column.tolist() for column in columns))
        return [Correction(*row, self.n_judged) for row in rows]  # type: ignore[call-arg]
