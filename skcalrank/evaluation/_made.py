"""Construction of a comparison from values per query."""

from itertools import combinations, product
from typing import Any

import numpy as np

from ..data import warn
from ..data.types import Floats
from ._comparison import Comparison, Difference, Estimate
from ._statistics import (
    TITLES,
    Methods,
    Moments,
    adjusted,
    effect_sizes,
    intervals,
    p_values,
    snapped,
    tails,
)

# Five queries have 2 ** 5 = 32 assignments of signs, so that no two-sided p is below 2 / 32.
_FEWEST_QUERIES = 6


def made(
    systems: list[str],
    measures: list[str],
    queries: Any,
    values: Floats,
    baseline: str | None,
    methods: Methods,
    folds: Floats | None = None,
    shared: float = 0.0,
) -> Comparison:
    """Return the comparison of values of queries, or of means of folds.

    `shared` says how much folds have in common, as in :meth:`Moments.error`.
    """
    if methods.tail is not None:
        lowest = f"lowest {100 * methods.tail:g} %"
        measures = [*measures, *(f"{measure}, {lowest}" for measure in measures)]
        values = np.concatenate([values, tails(values, methods.tail)], axis=1)
    compared = values if folds is None else folds
    if folds is None:
        _warn_of_few(compared, measures)
    baseline = systems[0] if baseline is None else baseline
    numbers = _pairs(systems, baseline, methods.pairs)
    pairs = [(systems[a], systems[b]) for a, b in numbers]
    scale = _scale(compared)
    scaled = compared / scale[:, None]
    of_pairs = [snapped(scaled[a], scaled[b]) for a, b in numbers]
    _warn_of_equal(of_pairs, pairs)
    # All columns share one set of resamples.
    columns = np.concatenate([*scaled, *of_pairs])
    ends = np.transpose(intervals(columns, methods, shared))
    n = len(systems) * len(measures)
    means = _estimates(systems, measures, columns[:n], ends[:n], scale)
    tested = columns[n:], ends[n:], p_values(columns[n:], methods, shared) if pairs else None
    differences = _differences(pairs, measures, tested, scale, methods.correction)
    if methods.test == "t":
        _warn_of_no_spread(differences)
    return Comparison(
        systems=systems,
        measures=measures,
        queries=queries,
        values=values,
        baseline=baseline,
        estimates=means,
        differences=differences,
        confidence_level=methods.confidence_level,
        interval_title=TITLES[methods.interval],
        test_title=_test_title(methods, folds is not None, sum(row.n > 1 for row in differences)),
        fold_values=folds,
    )


def _test_title(methods: Methods, of_folds: bool, n_tests: int) -> str:
    title = TITLES["corrected t" if of_folds else methods.test]
    if methods.correction is None or n_tests < 2:
        return title
    return f"{title}, {TITLES[methods.correction]}-corrected for {n_tests} tests"


def _pairs(systems: list[str], baseline: str, pairs: str) -> list[tuple[int, int]]:
    """Return pairs (system, other), as numbers, whose differences are tested."""
    first = systems.index(baseline)
    others = [number for number in range(len(systems)) if number != first]
    among_others = [(b, a) for a, b in combinations(others, 2)] if pairs == "all" else []
    return [(number, first) for number in others] + among_others


def _scale(values: Floats) -> Floats:
    """Return a power of two for each measure, to divide by, so that squares stay finite."""
    largest = np.nanmax(np.abs(values), axis=(0, 2), initial=0.0)
    return np.ldexp(1.0, np.minimum(np.frexp(largest)[1], 1023))


def _estimates(
    systems: list[str], measures: list[str], columns: Floats, ends: Floats, scale: Floats
) -> list[Estimate]:
    moments = Moments.of(columns)
    scaled = _times([moments.mean, *ends.T], np.tile(scale, len(systems)))
    return [
        Estimate(*key, *(value.item() for value in cell))
        for key, *cell in zip(product(systems, measures), *scaled, moments.n)
    ]


def _differences(
    pairs: Any, measures: list[str], tested: Any, scale: Floats, correction: str | None
) -> list[Difference]:
    if not pairs:
        return []
    columns, ends, p = tested
    moments = Moments.of(columns)
    scaled = _times([moments.mean, *ends.T, moments.spread], np.tile(scale, len(pairs)))
    counts = (columns > 0).sum(1), (columns == 0).sum(1), (columns < 0).sum(1), moments.n
    corrected = adjusted(p, moments.n, correction)
    cells = zip(product(pairs, measures), *scaled, effect_sizes(moments), *counts, p, corrected)
    return [
        Difference(first, second, measure, *(value.item() for value in cell))
        for ((first, second), measure), *cell in cells
    ]


def _times(values: list[Floats], units: Floats) -> Floats:
    """Return products, which may overflow to infinity (ends of intervals)."""
    with np.errstate(over="ignore"):
        return np.array(values) * units


def _warn_of_few(values: Floats, measures: list[str]) -> None:
    counts = (~np.isnan(values)).sum(-1).min(0)
    fewest = int(np.argmin(counts))
    if counts[fewest] < _FEWEST_QUERIES:
        warn(
            f"{measures[fewest]!r} is defined on {counts[fewest]} queries only: with fewer than "
            f"{_FEWEST_QUERIES}, no permutation or Wilcoxon test can reach p < .05, and intervals "
            "are rough. Evaluate on more queries."
        )


def _warn_of_equal(differences: list[Floats], pairs: list[tuple[str, str]]) -> None:
    equal = [(np.nan_to_num(d) == 0).all() and (d == 0).any() for d in differences]
    if any(equal):
        names = ", ".join(f"{a!r} and {b!r}" for (a, b), same in zip(pairs, equal) if same)
        warn(
            f"Systems are equal on every query for every measure: {names}. Their p-values are 1. "
            "Check that these are not the same scores under two names."
        )


def _warn_of_no_spread(differences: list[Difference]) -> None:
    constant = [row for row in differences if row.spread == 0 and row.difference != 0]
    if constant:
        names = ", ".join(f"{d.system!r} and {d.other!r} by {d.measure!r}" for d in constant)
        warn(
            f"Systems differ by the same number on every query or fold: {names}. The t-test and "
            "the interval are NaN, since they need differences that vary. The permutation test "
            "does not (test='permutation' of compare and compare_values)."
        )
