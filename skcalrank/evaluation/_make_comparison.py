"""Construction of a comparison from values per query."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from ..columns import by_hash, hash_names
from ..columns.types import Array, Floats, Ints
from ..data import warn
from ._comparison import Comparison, Difference, Estimate
from ._statistics import (
    FEWEST_IN_TAIL,
    TITLES,
    Methods,
    Moments,
    adjusted,
    draws,
    effect_sizes,
    intervals,
    max_t,
    p_values,
    snapped,
    tail_p_values,
    unit_of,
    with_tails,
)

#: Columns of a table, of one length.
Columns = Sequence[Array]

# Student's intervals of as few folds have one or two degrees of freedom.
_FEW_FOLDS = 3

# Five queries have 2 ** 5 = 32 assignments of signs, so that no two-sided p is below 2 / 32.
_FEWEST_QUERIES = 6


class Design(NamedTuple):
    """What is compared: systems, of which one is the baseline, by measures of queries; and how."""

    systems: list[str]
    measures: list[str]
    queries: Any
    baseline: str
    methods: Methods

    def pairs(self) -> list[tuple[int, int]]:
        """Return pairs (system, other), as numbers, whose differences are tested."""
        first = self.systems.index(self.baseline)
        others = [number for number in range(len(self.systems)) if number != first]
        pairs = [(number, first) for number in others]
        return pairs + [(b, a) for a, b in combinations(others, 2) if self.methods.pairs == "all"]

    def names(self) -> list[tuple[str, str]]:
        """Return the names of the pairs."""
        return [(self.systems[a], self.systems[b]) for a, b in self.pairs()]

    def comparison(
        self, means: Columns, tests: Columns, n: Ints, *, of_folds: bool = False, **results: Any
    ) -> Comparison:
        """Return the comparison of means and tests, columns with the numbers of their rows.

        `n` (n_tests,) are the numbers of values of the tests.
        """
        cells = zip(product(self.systems, self.measures), _rows(means))
        tested = zip(product(self.names(), self.measures), _rows(tests))
        differences = [Difference(*pair, measure, *row) for (pair, measure), row in tested]
        _warn_of_no_spread(differences)
        return Comparison(
            systems=self.systems,
            measures=self.measures,
            queries=self.queries,
            baseline=self.baseline,
            estimates=[Estimate(*key, *row) for key, row in cells],
            differences=differences,
            confidence_level=self.methods.confidence_level,
            test_title=_test_title(self.methods, of_folds, (n > 1).sum()),
            margin=self.methods.margin,
            **results,
        )


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in columns))


def made(
    design: Design, values: Floats, folds: Floats | None = None, shared: float = 0.0
) -> Comparison:
    """Return the comparison of values of queries, or of means of folds.

    `shared` says how much folds have in common, as in :meth:`Moments.error`.
    """
    compared = folds
    if compared is None:
        # Without draws the order of sums is that of means elsewhere.
        order = by_hash(hash_names(design.queries)) if draws(design.methods) else slice(None)
        compared = np.ascontiguousarray(values[..., order])
        _warn_of_few(compared, design.measures)
    systems, measures, *_, methods = design
    pairs = design.names()
    scale, shares = unit_of(compared, (0, 2)), np.ones(len(measures))
    scaled = compared / scale[:, None]
    # Both systems of a pair, on the queries on which both are defined.
    sides = [scaled[[a, b]] + 0.0 * (scaled[a] + scaled[b]) for a, b in design.pairs()]
    if methods.tail is not None:
        lowest = f"lowest {100 * methods.tail:g} %"
        measures = [*measures, *(f"{measure}, {lowest}" for measure in measures)]
        design = design._replace(measures=measures)
        scale, shares = np.tile(scale, 2), np.append(shares, methods.tail * shares)
    of_pairs = [snapped(*with_tails(side, methods.tail)) for side in sides]
    warn_of_equal(of_pairs, pairs)
    # All columns share one set of resamples.
    columns = np.concatenate([*with_tails(scaled, methods.tail), *of_pairs])
    of_columns = np.tile(shares, len(systems) + len(pairs))
    ends = intervals(columns, of_columns, methods, shared)
    n = len(systems) * len(measures)
    of_means, of_tests = (Moments.of(columns[i], of_columns[i]) for i in (np.s_[:n], np.s_[n:]))
    means = _times([of_means.mean, *ends[:, :n]], np.tile(scale, len(systems)))
    if methods.tail is not None:
        n_plain = len(measures) // 2
        sizes = of_means.size.reshape(len(systems), -1)[:, n_plain:]
        _warn_of_tails(sizes, measures[n_plain:])
    tested = np.array(sides), columns[n:], of_tests, ends[:, n:]
    n_folds = np.inf if folds is None else folds.shape[-1]
    return design.comparison(
        (*means, of_means.size),
        _tests(tested, scale, methods, shared) if pairs else (),
        of_tests.n,
        of_folds=folds is not None,
        values=values,
        tail=methods.tail,
        interval_title=TITLES[methods.interval]
        + f", rough: {n_folds} folds" * (n_folds <= _FEW_FOLDS),
        fold_values=folds,
        are_simultaneous=methods.correction == "max-t",
    )


def _test_title(methods: Methods, of_folds: bool, n_tests: Any) -> str:
    """Return the name of the tests in captions, with margin and correction."""
    title = TITLES["corrected t" if of_folds else methods.test]
    if methods.tail is not None:
        title += ", lowest values: exchange of systems"
    if methods.margin:
        title += f", against a difference of {-methods.margin:g}"
    if methods.correction is None or n_tests < 2:
        return title
    return f"{title}, {TITLES[methods.correction]}-corrected for {n_tests} tests"


def _tests(tested: Any, scale: Floats, methods: Methods, shared: float) -> Columns:
    """Return the columns of differences."""
    sides, columns, moments, ends = tested
    margins, n_pairs, n_plain = (methods.margin / scale)[:, None], len(sides), sides.shape[2]
    by_pair = columns.reshape(n_pairs, len(scale), -1)
    shifted = _flat(by_pair[:, :n_plain] + margins[:n_plain])
    if methods.correction == "max-t":
        p, corrected, half = max_t(shifted, methods)
        ends = [moments.mean - half, moments.mean + half]
    else:
        p = p_values(shifted, methods, shared)
        if methods.tail is not None:
            first = _flat(sides[:, 0] + margins[:n_plain])
            of_tails = tail_p_values(first, _flat(sides[:, 1]), methods)
            p = np.reshape([p, of_tails], (2, n_pairs, -1)).swapaxes(0, 1).ravel()
        corrected = adjusted(p, moments.n, methods.correction)
    scaled = _times([moments.mean, *ends, moments.spread], np.tile(scale, n_pairs))
    # A system wins where its value is higher, whatever the tail.
    signs = _flat(np.sign(np.tile(by_pair[:, :n_plain], (1, len(scale) // n_plain, 1))))
    counts = ((signs == sign).sum(1) for sign in (1, 0, -1))
    return *scaled, effect_sizes(moments), *counts, moments.size, p, corrected


def _flat(values: Floats) -> Floats:
    """Return values by pair and measure as columns, a row each."""
    return values.reshape(-1, values.shape[-1])


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


def _warn_of_tails(sizes: Ints, measures: list[str]) -> None:
    fewest = int(np.argmin(sizes))
    if (n := sizes.flat[fewest]) < FEWEST_IN_TAIL:
        warn(
            f"{measures[fewest % len(measures)]!r} is a mean of {n} values: with fewer than "
            f"{FEWEST_IN_TAIL} there is no interval. Evaluate on more queries, or take a larger "
            "tail."
        )


def warn_of_equal(differences: list[Floats], pairs: list[tuple[str, str]]) -> None:
    """Warn of pairs without a difference on any query."""
    equal = [(np.nan_to_num(d) == 0).all() and (d == 0).any() for d in differences]
    if any(equal):
        names = ", ".join(f"{a!r} and {b!r}" for (a, b), same in zip(pairs, equal) if same)
        warn(
            f"Systems are equal on every query for every measure: {names}. Their p-values are 1. "
            "Check that these are not the same scores under two names."
        )


def _warn_of_no_spread(differences: list[Difference]) -> None:
    """Warn of differences that do not vary, so that there is no test."""
    constant = [row for row in differences if row.n > 1 and np.isnan(row.p)]
    if constant:
        names = ", ".join(f"{d.system!r} and {d.other!r} by {d.measure!r}" for d in constant)
        warn(
            f"Systems differ by the same number on every query or fold: {names}. The t-test and "
            "the interval are NaN, since they need differences that vary. The permutation test "
            "does not (test='permutation' of compare and compare_values)."
        )
