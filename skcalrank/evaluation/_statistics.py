"""Means over queries, their intervals, and tests of differences."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import gammaincinv, ndtr, ndtri

from ..columns import arrays
from ..columns.types import Array, Floats, Ints, Seed, Self
from ..data import check
from ._resampling import (
    bootstrap_t,
    by_pattern,
    can_enumerate,
    exchange_p_value,
    flipped_sums,
    sign_flip_p_values,
)

INTERVALS = ("student", "bootstrap-t")
TESTS = ("t", "wilcoxon", "permutation")
CORRECTIONS = ("holm", "bh", "max-t", None)
PAIRS = ("baseline", "all")

#: Names of the methods in captions.
TITLES = {
    "student": "Student",
    "bootstrap-t": "bootstrap-t",
    "t": "paired t-test",
    "corrected t": "corrected resampled t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "permutation": "sign-flip permutation test",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "max-t": "max-T",
}

# Largest number of differences for Wilcoxon's exact distribution, as in scipy.
_MOST_EXACT = 50

# Above this ratio of spread to difference, so many pairs are needed that t is nearly normal.
_MANY = 1e3

# Quantiles of the spread over which the power of a t-test is averaged.
_QUANTILES = (np.arange(1000) + 0.5) / 1000

# A standard deviation up to this share of the largest value is rounding, and counts as 0.
_NO_SPREAD = 1e-12

# Flipped sums in units of the root of their sum of squares are equal up to this.
_ROUNDING = 1e-9

# Fewer values in a tail have no interval, which would hold the mean too rarely.
FEWEST_IN_TAIL = 20


@dataclass(frozen=True, kw_only=True)
class Methods:
    """How intervals and p-values of comparisons are computed.

    :func:`compare`, :func:`compare_values` and :func:`cross_compare` take it as ``methods=``, or
    its parameters as keywords.

    Parameters
    ----------
    test : {"t", "wilcoxon", "permutation"}, default="t"
        Two-sided paired test of the differences. "t": Student's t-test of the mean; p is NaN if all
        differences are the same number other than 0. "wilcoxon": signed-rank test, without the
        queries on which two systems are equal. "permutation": test of the mean by random sign
        flips of the differences.
    interval : {"student", "bootstrap-t"}, default="student"
        Confidence intervals of means and mean differences: Student's, or those of the studentized
        bootstrap over queries, which are right for skewed values, too [1]_; an end whose resamples
        do not vary is Student's. NaN if the values do not vary.
    confidence_level : float, default=0.95
        Confidence level of the intervals.
    correction : {"holm", "bh", "max-t", None}, default="holm"
        Adjustment of the p-values for the family of all pairs and measures of the call. "holm"
        and "max-t" bound the probability of any false rejection, "bh" (Benjamini-Hochberg) the
        expected share of false ones among the rejections. A test whose p-value is NaN belongs to
        the family, without a rejection; a test on fewer than two queries does not belong to it.
        "max-t", for ``test="permutation"`` [2]_, compares each difference with the largest of all
        under the same sign flips, and rejects more than "holm" where systems or measures are
        correlated and few of them differ. Intervals of differences are simultaneous, in place of
        those of `interval`, and exclude the hypothesis exactly where the corrected p is below 1
        minus the level. For that p is the larger one of two, by flips of the differences and of
        their residuals.
    pairs : {"baseline", "all"}, default="baseline"
        Differences to test: those to the baseline, or those of all pairs of systems.
    n_resamples : int, default=10_000
        Number of bootstrap samples, and of sign flips. If there are no more than this many
        assignments of signs, all of them are used, and the permutation test is exact, as is
        Wilcoxon's.
    tail : float, default=None
        If a share such as 0.1, each measure is also given as its mean over the 10 % of the queries
        on which a system has its lowest values, other queries for each system, under the name
        "map, lowest 10 %"; its `n` is the number of these queries. Whatever `test` is, its test
        exchanges the two systems within queries at random and takes the means of the lowest values
        anew, in units of the error of their difference [4]_. It holds its level where the two are
        exchangeable; where tails have one mean and other shapes, it rejects in up to .16 with two
        to five queries in the tail, and in .06 to .11 with 20 to 50 (simulated, at .05). Intervals
        (Student's), spreads and effect sizes are those of the influence of each query: q if its
        value is above q, the quantile of the values, and q - (q - value) / tail if it is below
        [3]_. With fewer than 20 queries in the tail there is no interval.
    margin : float, default=0.0
        Differences are tested against minus this number, in units of the measures, for
        non-inferiority: a system that is significantly above it is worse by less than the margin.
        With equal systems at minus the margin, half of `1 - confidence_level` are found so.
    random_state : int, RandomState instance or None, default=0
        Seed of the bootstrap and of the permutation test. Queries are drawn in the order of hashes
        of their names, so that results depend neither on the order of the rows nor on the number
        of threads; values in arrays are drawn in the order given.

    See Also
    --------
    Policies : How measures are read.

    References
    ----------
    .. [1] Hall: Theoretical comparison of bootstrap confidence intervals, Annals of Statistics 16,
       1988.
    .. [2] Westfall and Young: Resampling-based multiple testing, Wiley, 1993, section 2.3.
    .. [3] Rockafellar and Uryasev: Optimization of conditional value-at-risk, Journal of Risk 2,
       2000.
    .. [4] Janssen: Studentized permutation tests for non-i.i.d. hypotheses and the generalized
       Behrens-Fisher problem, Statistics and Probability Letters 36, 1997.

    Examples
    --------
    >>> from skcalrank.evaluation import Methods, compare_values
    >>> values = {"a": {"map": [0.5, 0.25, 1, 0.5, 0, 1]}, "b": {"map": [1, 0.5, 0.75, 1, 0.25, 1]}}
    >>> methods = Methods(test="permutation", confidence_level=0.9)
    >>> (one,) = compare_values(values, methods=methods).differences
    >>> (same,) = compare_values(values, test="permutation", confidence_level=0.9).differences
    >>> one == same, one.p
    (True, 0.25)
    """

    test: str = "t"
    interval: str = "student"
    confidence_level: float = 0.95
    correction: str | None = "holm"
    pairs: str = "baseline"
    n_resamples: int = 10_000
    tail: float | None = None
    margin: float = 0.0
    random_state: Seed = 0

    def __post_init__(self) -> None:
        for name, known in {"interval": INTERVALS, "test": TESTS, "pairs": PAIRS}.items():
            check.option(name, getattr(self, name), known)
        if self.correction is not None:
            check.option("correction", self.correction, CORRECTIONS)
        check.share("confidence_level", self.confidence_level)
        check.count("n_resamples", self.n_resamples)
        if self.tail is not None:
            check.share("tail", self.tail)
        check.number("margin", self.margin, ">= 0")
        if not (self.random_state is None or isinstance(self.random_state, np.random.RandomState)):
            check.count("random_state", self.random_state, "a RandomState or None", least=0)
        if self.margin and self.pairs != "baseline":
            raise ValueError(f"pairs must be 'baseline' with a margin, got {self.pairs!r}.")
        if self.correction == "max-t" and (self.test != "permutation" or self.tail is not None):
            raise ValueError(
                "correction must not be 'max-t' unless test='permutation' and tail=None, got "
                f"test={self.test!r}, tail={self.tail!r}."
            )


def draws(methods: Methods) -> bool:
    """Return whether signs or samples of queries are drawn."""
    by_chance = methods.test == "permutation", methods.interval == "bootstrap-t"
    return any(by_chance) or methods.tail is not None


def unit_of(values: Floats, axis: Any = None) -> Any:
    """Return powers of two, to divide values by along axes so that their squares stay finite."""
    largest = np.nanmax(np.abs(values), axis=axis, initial=0.0)
    return np.ldexp(1.0, np.frexp(largest)[1] - 1)


def with_tails(values: Floats, share: float | None) -> Floats:
    """Return values of shape (..., n_measures, n_queries), behind them those of tails if any.

    The means of the latter are the means of the lowest shares of the values. With the quantile q of
    the share, ``q - max(q - value, 0) / share`` has this mean (Rockafellar and Uryasev 2000), and
    up to a constant is the influence of the query on it, so that its variance gives the standard
    error. NaN stays NaN.
    """
    if share is None:
        return values
    ordered, n = np.sort(values, axis=-1), (~np.isnan(values)).sum(-1, keepdims=True)
    quantile = np.take_along_axis(ordered, np.maximum(_size(n, share) - 1, 0), -1)
    tails = quantile - np.maximum(quantile - values, 0.0) / share
    return np.concatenate([values, tails], axis=-2)


def _size(n: Ints, share: Any) -> Ints:
    """Return the number of values in a share of n, the last one in part."""
    return np.ceil(share * n - 1e-9).astype(int)


@dataclass(frozen=True)
class Moments:
    """Number, mean and standard deviation of the defined values of each column.

    `size` is the number of those that the mean rests on, which is smaller for a tail.
    """

    n: Ints
    mean: Floats
    spread: Floats
    size: Ints

    @classmethod
    def of(cls, columns: Floats, shares: Any = 1.0) -> Self:
        """Return the moments of columns of shape (n_columns, n_queries), with NaN for undefined.

        A column of a tail has its share of the values, others 1.
        """
        defined = ~np.isnan(columns)
        n = defined.sum(1)
        mean = arrays.safe_divide(np.where(defined, columns, 0.0).sum(1), n, np.nan)
        residuals = np.where(defined, columns - mean[:, None], 0.0)
        spread = np.sqrt(arrays.safe_divide((residuals**2).sum(1), np.maximum(n - 1, 0), np.nan))
        largest = np.abs(np.where(defined, columns, 0.0)).max(1, initial=0.0)
        spread = np.where(spread <= _NO_SPREAD * largest, 0.0, spread)
        return cls(n, mean, spread, _size(n, shares))

    def error(self, shared: float) -> Floats:
        """Return the standard error of the means.

        If `shared` is above 0, values are means of folds whose training sets overlap: the variance
        of the mean of n folds is ``(1 / n + shared)`` times the variance of the folds (Nadeau and
        Bengio).
        """
        return self.spread * np.sqrt(arrays.safe_divide(1.0, self.n, np.nan) + shared)


def intervals(columns: Floats, shares: Floats, methods: Methods, shared: float) -> Floats:
    """Return both ends of the interval of each mean, of shape (2, n_columns).

    They are NaN if values do not vary, and for few values in a tail. Those of tails are Student's,
    whose degrees of freedom are those of the values in the tail.
    """
    moments = Moments.of(columns, shares)
    levels = np.array([1 - methods.confidence_level, 1 + methods.confidence_level]) / 2
    quantiles = stats.t.ppf(levels[:, None], np.maximum(moments.size - 1, 1))
    if methods.interval == "bootstrap-t":
        for numbers, values in by_pattern(columns):
            if values.shape[1] > 1:
                drawn = bootstrap_t(values, methods.n_resamples, methods.random_state)
                drawn = -np.quantile(drawn, levels[::-1], axis=1, method="closest_observation")
                is_better = np.isfinite(drawn) & (moments.size == moments.n)[numbers]
                quantiles[:, numbers] = np.where(is_better, drawn, quantiles[:, numbers])
    has_none = (moments.spread == 0) | (moments.size < np.minimum(moments.n, FEWEST_IN_TAIL))
    return moments.mean + np.where(has_none, np.nan, quantiles * moments.error(shared))


def p_values(differences: Floats, methods: Methods, shared: float = 0.0) -> Floats:
    """Return two-sided p-values of mean differences; NaN for fewer than two differences.

    If all differences are 0, the p-value is 1. If all are the same other number, the t-test is NaN,
    since it would divide by a spread of 0.
    """
    moments = Moments.of(differences)
    if methods.test == "t":
        statistic = arrays.safe_divide(np.abs(moments.mean), moments.error(shared), np.nan)
        p = 2 * stats.t.sf(statistic, np.maximum(moments.n - 1, 1))
    elif methods.test == "wilcoxon":
        p = np.array([_wilcoxon(d[~np.isnan(d)], methods.n_resamples) for d in differences])
    else:
        p = sign_flip_p_values(differences, methods.n_resamples, methods.random_state)
    p = np.where((np.nan_to_num(differences) == 0).all(1), 1.0, p)
    return np.where(moments.n < 2, np.nan, p)


def tail_p_values(first: Floats, second: Floats, methods: Methods) -> Floats:
    """Return p-values of the means of the lowest values of two systems; NaN for fewer than two.

    Both have shape (n_columns, n_queries), and are defined on the same queries.
    """
    options: Any = methods.tail, methods.n_resamples, methods.random_state
    sides = ((a[of], b[of]) for a, b, of in zip(first, second, ~np.isnan(first)))
    return np.array([exchange_p_value(*pair, *options) for pair in sides])


def max_t(differences: Floats, methods: Methods) -> tuple[Floats, Floats, Floats]:
    """Return p-values of each difference and of the family, and half the widths of the intervals.

    A p-value of the family is below 1 minus the confidence level exactly where 0 is not in the
    interval. Flips of the differences make it exact. Where differences are large, flips correlate
    them more than they are, so that intervals would be too short: flips of residuals do not.
    """
    moments, level = Moments.of(differences), 1 - methods.confidence_level
    n, residuals = moments.n, differences - moments.mean[:, None]
    units = [_units(differences, n > 1), _units(residuals, moments.spread > 0)]
    observed, bound, p = np.abs(units[0].sum(1)) - _ROUNDING, 0.0, []
    for columns in units:
        sums, n_own = flipped_sums(columns, methods.n_resamples, methods.random_state)
        largest, total = np.sort(sums.max(1)), len(sums) + n_own
        p += [
            (of.sum(0) + n_own) / total for of in (sums >= observed, largest[:, None] >= observed)
        ]
        n_above = np.count_nonzero(np.arange(n_own, total) / total < level)
        bound = max(bound, largest[-n_above] + _ROUNDING if n_above else np.inf)
    # With n values, t rises with the ratio of the sum to the root of the sum of squares.
    share = np.minimum(bound**2 / np.maximum(n, 1), 1.0)
    t = np.sqrt(arrays.safe_divide(np.maximum(n - 1, 0) * share, 1 - share, np.inf))
    half = t * np.where(moments.spread > 0, moments.error(0.0), np.nan)
    return *np.where(n > 1, (p[0], np.maximum(p[1], p[3])), np.nan), half


def _units(columns: Floats, is_kept: Array) -> Floats:
    """Return columns with sums of squares of 1; 0 where undefined or not kept."""
    values = np.where(is_kept[:, None], np.nan_to_num(columns), 0.0)
    return np.asarray(arrays.safe_divide(values, np.sqrt((values**2).sum(1))[:, None]))


def _wilcoxon(differences: Floats, n_resamples: int) -> float:
    """Return the p-value of the signed-rank test of the differences other than 0."""
    differences = differences[differences != 0]
    # Differences that are equal up to rounding share a rank.
    largest = np.abs(differences).max(initial=0.0)
    magnitudes = np.round(arrays.safe_divide(np.abs(differences), largest), 10)
    ranks = np.sign(differences) * stats.rankdata(magnitudes)
    if can_enumerate(len(ranks), n_resamples):
        return sign_flip_p_values(ranks[None], n_resamples, 0)[0]
    tied = len(np.unique(magnitudes)) < len(magnitudes)
    method = "approx" if tied or len(ranks) > _MOST_EXACT else "exact"
    return float(stats.wilcoxon(ranks, method=method).pvalue)


def adjusted(p: Floats, n: Ints, correction: str | None) -> Floats:
    """Return p-values adjusted for the family of all tests on at least two values.

    A test whose p-value is NaN, since its differences do not vary, counts as p = 1, so that the
    size of the family does not depend on the values.
    """
    if correction in (None, "max-t"):
        return p.copy()
    out, family = np.where(np.isnan(p), 1.0, p), np.flatnonzero(n > 1)
    order = family[np.argsort(out[family], kind="stable")]
    n_tests = len(order)
    if correction == "holm":
        raised = np.maximum.accumulate(out[order] * np.arange(n_tests, 0, -1))
    else:
        scaled = out[order] * n_tests / np.arange(1, n_tests + 1)
        raised = np.minimum.accumulate(scaled[::-1])[::-1]
    out[order] = np.minimum(raised, 1.0)
    return np.where(np.isnan(p), np.nan, out)


def effect_sizes(moments: Moments) -> Floats:
    """Return means divided by standard deviations; 0 if the mean is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moments.mean == 0, 0.0 * moments.n, moments.mean / moments.spread)


def n_needed(spread: float, difference: float, power: float, level: float) -> float:
    """Return the number of pairs for which a paired t-test has the given power."""
    if not spread > 0:
        return math.nan
    ratio = spread / difference
    if ratio > _MANY:
        return float(np.ceil(((ndtri(power) - ndtri(level / 2)) * min(ratio, 1e150)) ** 2))
    power_of = partial(power_of_t, spread=spread, difference=difference, level=level)
    most = 2
    while power_of(most) < power:
        most *= 2
    return bisect_left(range(most), power, most // 2 + 1, key=power_of)


def power_of_t(n: int, spread: float, difference: float, level: float, n_fitted: int = 1) -> float:
    """Return the power of a two-sided paired t-test of n pairs, which fits so many parameters."""
    freedom = n - n_fitted
    shift, bound = math.sqrt(n) * difference / spread, stats.t.isf(level / 2, freedom)
    # The mean is normal given the spread. The noncentral t of scipy is wrong or NaN for few pairs.
    spreads = np.sqrt(gammaincinv(freedom / 2, _QUANTILES) * 2 / freedom)
    return float((ndtr(shift - bound * spreads) + ndtr(-shift - bound * spreads)).mean())


def snapped(a: Floats, b: Floats) -> Floats:
    """Return a - b, with rounding errors removed.

    Differences that are 0 up to rounding become 0; rows of differences that are equal up to
    rounding become constant.
    """
    difference: Array = a - b
    magnitudes = np.maximum(np.abs(a), np.abs(b))
    rounding = 1e-12 * magnitudes + 1e-15 * np.nanmax(magnitudes, initial=0.0)
    difference[np.abs(difference) <= rounding] = 0.0
    low = np.fmin.reduce(difference, axis=-1, keepdims=True)
    middle = low / 2 + np.fmax.reduce(difference, axis=-1, keepdims=True) / 2
    varies = (np.abs(difference - middle) > rounding).any(-1, keepdims=True)
    return np.where(varies | np.isnan(difference), difference, middle)
