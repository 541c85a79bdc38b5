"""Means over queries, their intervals, and tests of differences."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import nctdtr, ndtr, ndtri

from ..data import arrays, check
from ..data.types import Array, Floats, Ints, Seed
from ._resampling import bootstrap_deviations, by_pattern, can_enumerate, sign_flip_p_values

INTERVALS = ("student", "bca")
TESTS = ("t", "wilcoxon", "permutation")
CORRECTIONS = ("holm", "bh", None)
PAIRS = ("baseline", "all")

#: Names of the methods in captions.
TITLES = {
    "student": "Student",
    "bca": "BCa bootstrap",
    "t": "paired t-test",
    "corrected t": "corrected resampled t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "permutation": "sign-flip permutation test",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
}

# Largest number of differences for Wilcoxon's exact distribution, as in scipy.
_MOST_EXACT = 50

# Above this ratio of spread to difference, so many pairs are needed that t is nearly normal.
_MANY = 1e3

# A standard deviation up to this share of the largest value is rounding, and counts as 0.
_NO_SPREAD = 1e-12

# Deviations in standard errors that count as 0, in single precision.
_ROUNDING = 1e-4


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
    interval : {"student", "bca"}, default="student"
        Confidence intervals of means and mean differences: Student's, or the bias-corrected and
        accelerated bootstrap over queries. NaN if the values do not vary.
    confidence_level : float, default=0.95
        Confidence level of the intervals.
    correction : {"holm", "bh", None}, default="holm"
        Adjustment of the p-values for the family of all pairs and measures of the call. "holm"
        bounds the probability of any false rejection, "bh" (Benjamini-Hochberg) the expected share
        of false ones among the rejections. A test whose p-value is NaN belongs to the family,
        without a rejection; a test on fewer than two queries does not belong to it.
    pairs : {"baseline", "all"}, default="baseline"
        Differences to test: those to the baseline, or those of all pairs of systems.
    n_resamples : int, default=10_000
        Number of bootstrap samples, and of sign flips. If there are no more than this many
        assignments of signs, all of them are used, and the permutation test is exact, as is
        Wilcoxon's.
    tail : float, default=None
        If a share such as 0.1, each measure is also given as its mean over the 10 % of the queries
        on which a system has its lowest values, other queries for each system, under the name
        "map, lowest 10 %". A query counts in its tests as q if its value is above q, the quantile
        of the values, and as q - (q - value) / tail if it is below: the mean of these numbers is
        the mean of the lowest values [1]_. For ``test="t"``.
    random_state : int, RandomState instance or None, default=0
        Seed of the bootstrap and of the permutation test. Results do not depend on the number of
        threads.

    See Also
    --------
    Policies : How measures are read.

    References
    ----------
    .. [1] Rockafellar and Uryasev: Optimization of conditional value-at-risk, Journal of Risk 2,
       2000.

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
    random_state: Seed = 0

    def __post_init__(self) -> None:
        check.option("interval", self.interval, INTERVALS)
        check.option("test", self.test, TESTS)
        if self.correction is not None:
            check.option("correction", self.correction, CORRECTIONS)
        check_share("confidence_level", self.confidence_level)
        check.count("n_resamples", self.n_resamples)
        check.option("pairs", self.pairs, PAIRS)
        if self.tail is not None:
            check_share("tail", self.tail)
            if self.test != "t":
                raise ValueError(f"tail must be None unless test='t', got test={self.test!r}.")


def check_share(name: str, value: Any) -> None:
    """Raise if a value is not a number between 0 and 1."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, such as 0.95, got {value!r}.")


def tails(values: Floats, share: float) -> Floats:
    """Return values whose means are the means of the lowest shares of the values of each column.

    With the quantile q of the share, ``q - max(q - value, 0) / share`` has this mean (Rockafellar
    and Uryasev 2000), and up to a constant is the influence of the query on it, so that its
    variance gives the standard error. NaN stays NaN.
    """
    ordered, n = np.sort(values, axis=-1), (~np.isnan(values)).sum(-1, keepdims=True)
    place = np.maximum(np.ceil(share * n - 1e-9).astype(int) - 1, 0)
    quantile = np.take_along_axis(ordered, place, axis=-1)
    return np.asarray(quantile - np.maximum(quantile - values, 0.0) / share)


@dataclass(frozen=True)
class Moments:
    """Number, mean and standard deviation of the defined values of each column."""

    n: Ints
    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, columns: Floats) -> Moments:
        """Return the moments of columns of shape (n_columns, n_queries), with NaN for undefined."""
        defined = ~np.isnan(columns)
        n = defined.sum(1)
        mean = arrays.safe_divide(np.where(defined, columns, 0.0).sum(1), n, np.nan)
        residuals = np.where(defined, columns - mean[:, None], 0.0)
        spread = np.sqrt(
            arrays.safe_divide((residuals**2).sum(1), np.maximum(n - 1.0, 0.0), np.nan)
        )
        largest = np.abs(np.where(defined, columns, 0.0)).max(1, initial=0.0)
        return cls(n, mean, np.where(spread <= _NO_SPREAD * largest, 0.0, spread))

    def error(self, shared: float) -> Floats:
        """Return the standard error of the means.

        If `shared` is above 0, values are means of folds whose training sets overlap: the variance
        of the mean of n folds is ``(1 / n + shared)`` times the variance of the folds (Nadeau and
        Bengio).
        """
        return self.spread * np.sqrt(arrays.safe_divide(1.0, self.n, np.nan) + shared)


def intervals(columns: Floats, methods: Methods, shared: float = 0.0) -> tuple[Floats, Floats]:
    """Return both ends of the interval of each mean; NaN if values do not vary."""
    moments = Moments.of(columns)
    varies = np.where(moments.spread > 0, 1.0, np.nan)
    if methods.interval == "student":
        quantile = stats.t.ppf((1 + methods.confidence_level) / 2, np.maximum(moments.n - 1, 1))
        half = quantile * moments.error(shared) * varies
        return moments.mean - half, moments.mean + half
    ends = np.full((2, len(columns)), np.nan)
    for numbers, values in by_pattern(columns):
        if values.shape[1] > 1:
            ends[:, numbers] = _bca(values, methods)
    return ends[0] * varies, ends[1] * varies


def _bca(values: Floats, methods: Methods) -> Floats:
    """Return both ends of bias-corrected and accelerated intervals, of shape (2, n_columns)."""
    moments = Moments.of(values)
    deviations = bootstrap_deviations(values, methods.n_resamples, methods.random_state)
    # For a mean, the jackknife deviations are proportional to the deviations of the values.
    units = arrays.safe_divide(values - moments.mean[:, None], moments.spread[:, None])
    squares = values.shape[1] - 1.0
    acceleration = (units**3).sum(1) / (6 * squares**1.5)
    # Resamples whose mean equals the observed mean count half as below it.
    below = (deviations < -_ROUNDING).mean(1) + (np.abs(deviations) <= _ROUNDING).mean(1) / 2
    half_a_resample = 0.5 / methods.n_resamples
    bias = ndtri(np.clip(below, half_a_resample, 1 - half_a_resample))
    tail = (1 - methods.confidence_level) / 2
    shifted = bias + ndtri([[tail], [1 - tail]])
    levels = ndtr(bias + shifted / (1 - acceleration * shifted))
    deviations.sort(1)
    ends = np.array([_quantiles(deviations, level) for level in levels])
    return moments.mean + ends * moments.error(0.0)


def _quantiles(ordered: Floats, levels: Floats) -> Floats:
    """Return one quantile of each sorted row, at the level of that row, by interpolation."""
    place = levels * (ordered.shape[1] - 1)
    rows, lower = np.arange(len(ordered)), np.floor(place).astype(int)
    upper = np.minimum(lower + 1, ordered.shape[1] - 1)
    low = ordered[rows, lower]
    return low + (place - lower) * (ordered[rows, upper] - low)


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
    if correction is None:
        return p.copy()
    out, undefined = np.where(np.isnan(p), 1.0, p), np.isnan(p)
    family = np.flatnonzero(n > 1)
    order = family[np.argsort(out[family], kind="stable")]
    p = out.copy()
    n = len(order)
    if correction == "holm":
        raised = np.maximum.accumulate(p[order] * np.arange(n, 0, -1))
    else:
        scaled = p[order] * n / np.arange(1, n + 1)
        raised = np.minimum.accumulate(scaled[::-1])[::-1]
    out[order] = np.minimum(raised, 1.0)
    out[undefined] = np.nan
    return out


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
    power_of = partial(_power, spread=spread, difference=difference, level=level)
    most = 2
    while power_of(most) < power:
        most *= 2
    return bisect_left(range(most), power, most // 2 + 1, key=power_of)


def _power(n: int, spread: float, difference: float, level: float) -> float:
    """Return the power of a two-sided paired t-test of n pairs."""
    shift, bound = math.sqrt(n) * difference / spread, stats.t.isf(level / 2, n - 1)
    power = 1 - nctdtr(n - 1, shift, bound) + nctdtr(n - 1, shift, -bound)
    # scipy returns NaN far in the tails, where the normal distribution is close enough.
    return power if power == power else float(ndtr(shift - bound))


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
