"""Intervals, tests and corrections of comparisons, against scipy and definitions."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy import stats

from skcalrank.evaluation import compare_values


def one_pair(differences, **options):
    """The comparison of given values with a system that is 0.5 on every query."""
    base = np.full(len(differences), 0.5)
    base[np.isnan(differences)] = np.nan
    values = {"base": {"m": base}, "new": {"m": base + differences}}
    return compare_values(values, **options).differences[0]


@pytest.fixture
def differences(rng):
    return np.round(rng.exponential(size=30) - 0.7, 3)


def test_student_intervals_and_t_tests_are_those_of_scipy(differences):
    row = one_pair(differences, confidence_level=0.9)
    expected = stats.ttest_1samp(differences, 0.0)
    assert row.p == pytest.approx(expected.pvalue, rel=1e-9)
    interval = expected.confidence_interval(0.9)
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
    assert row.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert (row.wins, row.losses) == ((differences > 0).sum(), (differences < 0).sum())
    assert row.ties == 0


def test_bca_intervals_are_those_of_scipy(differences):
    row = one_pair(differences, interval="bca", n_resamples=20_000)
    expected = stats.bootstrap(
        (differences,), np.mean, n_resamples=20_000, method="BCa", random_state=0
    ).confidence_interval
    # Between two sets of resamples, the ends differ by hundredths of a standard error.
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    assert (row.low, row.high) == pytest.approx(tuple(expected), abs=0.12 * error)
    student = one_pair(differences)
    assert row.low > student.low
    assert row.high > student.high


def test_bca_intervals_of_few_discrete_values():
    # The mean itself is among the means of resamples in one of three.
    found = np.array([0, 0, 1, 0, 1, 0, 0, 0], dtype=float)
    row = one_pair(found, interval="bca", n_resamples=20_000)
    expected = stats.bootstrap(
        (found,), np.mean, n_resamples=20_000, method="BCa", random_state=0
    ).confidence_interval
    assert (row.low, row.high) == pytest.approx(tuple(expected), abs=0.13)


def test_bca_intervals_count_means_that_are_the_mean_but_for_rounding_as_equal():
    # scipy counts them as below or above the mean as they are rounded, unless we round them.
    found = np.array([-1.8139, -0.4204, -0.5089, 1.5908])
    with pytest.warns(UserWarning, match="'m' is defined on 4 queries only"):
        row = one_pair(found, interval="bca")
    expected = stats.bootstrap(
        (found,), lambda x, axis: np.mean(x, axis).round(12), method="BCa", random_state=0
    ).confidence_interval
    assert (row.low, row.high) == pytest.approx(tuple(expected), abs=0.02)


def all_signs(differences):
    """The p-value by definition."""
    sums = [abs(np.dot(s, differences)) for s in product((-1, 1), repeat=len(differences))]
    return np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12)


def test_permutation_tests_of_few_queries_are_exact():
    found = np.array([0.25, -0.5, 0.75, 0.0, 0.25, 0.5, 0.125, -0.25])
    row = one_pair(found, test="permutation")
    assert row.p == pytest.approx(all_signs(found), abs=1e-15)
    expected = stats.permutation_test(
        (found,), np.sum, permutation_type="samples", alternative="two-sided", n_resamples=np.inf
    )
    assert row.p == pytest.approx(expected.pvalue)
    assert one_pair(found, test="permutation", random_state=3).p == row.p


def test_permutation_tests_of_many_queries_are_near_the_exact_ones(rng):
    found = rng.normal(0.3, size=16)
    row = one_pair(found, test="permutation")
    exact = one_pair(found, test="permutation", n_resamples=2**16).p
    assert exact == pytest.approx(all_signs(found), abs=1e-12)
    assert row.p == pytest.approx(exact, abs=5 * np.sqrt(exact / 10_000))
    assert row.p != exact
    assert one_pair(found, test="permutation").p == row.p
    assert one_pair(found, test="permutation", random_state=1).p != row.p
    # No p-value is 0.
    assert one_pair(np.ones(40), test="permutation", n_resamples=99).p == 0.01


@pytest.mark.parametrize("n", [8, 40, 90])
def test_wilcoxon_tests_are_those_of_scipy(rng, n):
    found = rng.normal(0.4, size=n)
    method = "exact" if n <= 50 else "approx"
    expected = stats.wilcoxon(found, method=method).pvalue
    assert one_pair(found, test="wilcoxon").p == pytest.approx(expected, rel=1e-6)


def test_wilcoxon_tests_share_ranks_and_leave_out_zeros():
    found = np.array([0.25, 0.25, -0.25, 0.5, 0.0, 0.75, 0.5, 0.0])
    ranks = np.sign(found) * stats.rankdata(
        np.where(found == 0, np.nan, np.abs(found)), nan_policy="omit"
    )
    expected = all_signs(ranks[found != 0])
    assert one_pair(found, test="wilcoxon").p == pytest.approx(expected)
    # Rounding makes no order.
    noisy = found + np.where(found == 0, 0, 1e-16 * np.arange(8))
    assert one_pair(noisy, test="wilcoxon").p == pytest.approx(expected)
    many = np.concatenate([found] * 3)
    assert one_pair(many, test="wilcoxon").p == pytest.approx(
        stats.wilcoxon(many[many != 0], method="approx").pvalue
    )


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
@pytest.mark.parametrize("interval", ["student", "bca"])
def test_queries_that_are_undefined_change_nothing(differences, test, interval):
    options = {"test": test, "interval": interval, "n_resamples": 500}
    row = one_pair(differences, **options)
    longer = np.insert(differences, [3, 3, 20], np.nan)
    other = one_pair(longer, **options)
    assert other[:-2] == pytest.approx(row[:-2], nan_ok=True) or other.n == row.n
    assert (other.low, other.high, other.effect_size) == pytest.approx(
        (row.low, row.high, row.effect_size)
    )
    # Random signs are drawn for other queries, too.
    assert other.p == pytest.approx(row.p, abs=0.06 if test == "permutation" else 1e-12)


# The differences of the last two vary by rounding.
@pytest.mark.parametrize(
    ("base", "new"),
    [([0.0], [1.0]), ([0.1, 0.2], [0.3, 0.4]), ([1e6, 1e6 + 0.3], [1e6 + 0.1, 1e6 + 0.4])],
)
@pytest.mark.parametrize("interval", ["student", "bca"])
def test_t_tests_and_intervals_need_differences_that_vary(base, new, interval):
    values = {"base": {"m": base * 8}, "new": {"m": new * 8}}
    with pytest.warns(UserWarning, match="same number .*: 'new' and 'base' by 'm'.*permutation"):
        result = compare_values(values, interval=interval)
    (row,) = result.differences
    assert row.difference == pytest.approx(new[0] - base[0])
    assert (row.spread, row.effect_size, row.wins) == (0, np.inf, len(base) * 8)
    assert np.isnan([row.p, row.p_adjusted, row.low, row.high]).all()
    assert "+" not in result.to_markdown().splitlines()[3]
    assert result.to_csv().splitlines()[-1].endswith(",,")


@pytest.mark.parametrize("test", ["wilcoxon", "permutation"])
def test_other_tests_do_not_need_differences_that_vary(test):
    row = one_pair(np.full(8, 0.25), test=test)
    assert row.p == 2 / 2**8
    assert np.isnan([row.low, row.high]).all()


def test_small_spreads_are_no_rounding():
    values = {"base": {"m": np.zeros(8), "c": [1e15] * 8}, "new": {"m": [1, 1 + 1e-9] * 4}}
    values["new"]["c"] = [2e15, 3e15] * 4
    row = compare_values(values).differences[0]
    assert row.p < 1e-50
    assert row.spread == pytest.approx(5.3e-10, rel=0.01)


def test_means_of_equal_values_have_no_interval():
    values = {"a": {"m": [0.1] * 7}, "b": {"m": np.linspace(0, 1, 7)}}
    first, second = compare_values(values).estimates
    assert np.isnan([first.low, first.high]).all()
    assert second.low < second.mean < second.high


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
def test_no_difference(test):
    with pytest.warns(UserWarning, match=r"equal on every query for .* measure: 'new' and 'base'"):
        row = one_pair(np.zeros(20), test=test)
    assert (row.p, row.effect_size, row.ties) == (1.0, 0.0, 20)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
@pytest.mark.parametrize("interval", ["student", "bca"])
def test_one_query_has_no_interval(test, interval):
    with pytest.warns(UserWarning, match="'m' is defined on 1 queries only"):
        row = one_pair(np.array([0.25]), test=test, interval=interval)
    assert row.difference == 0.25
    assert np.isnan([row.low, row.high, row.p, row.p_adjusted, row.spread]).all()


def test_fewer_than_six_queries_cannot_reject():
    with pytest.warns(UserWarning, match="no permutation or Wilcoxon test can reach p < .05"):
        row = one_pair(np.arange(1.0, 6.0), test="permutation")
    assert row.p == 2 / 2**5
    assert one_pair(np.arange(1.0, 7.0), test="permutation").p == 2 / 2**6


def test_rounding_is_no_difference():
    a = np.array([0.1 + 0.2, 0.3, 0.5, 1e-17, 0.7, 0.2])
    b = np.array([0.3, 0.3, 0.25, 0.0, 0.75, 0.2])
    (row,) = compare_values({"b": {"m": b}, "a": {"m": a}}).differences
    assert (row.wins, row.ties, row.losses) == (1, 4, 1)


@pytest.mark.parametrize("options", [{}, {"interval": "bca"}, {"test": "permutation"}])
def test_measures_may_have_any_scale(rng, options):
    values = {name: rng.random(20) for name in "ab"}
    units = {"tiny": 2.0**-1000, "one": 1.0, "large": 2.0**60, "huge": 2.0**1020}
    by_scale = {s: {name: v * unit for name, unit in units.items()} for s, v in values.items()}
    rows = compare_values(by_scale, correction=None, **options).differences
    expected = rows[1]
    for row in rows:
        unit = units[row.measure]
        assert row[6 + 1 :] == expected[6 + 1 :]
        assert [value / unit for value in row[3:7]] == list(expected[3:7])
    assert expected.ties == 0


# -- families ------------------------------------------------------------------------


def family(rng, correction, n_systems=4, n_measures=3, **options):
    values = {
        f"s{i}": {f"m{j}": rng.normal(0.2 * i, size=20) for j in range(n_measures)}
        for i in range(n_systems)
    }
    return compare_values(values, correction=correction, **options)


def test_holm_bounds_the_family(rng):
    rows = family(rng, "holm").differences
    p = np.array([row.p for row in rows])
    found = np.array([row.p_adjusted for row in rows])
    order = np.argsort(p)
    running = 0.0
    for place, number in enumerate(order):
        running = max(running, min(1.0, (len(p) - place) * p[number]))
        assert found[number] == pytest.approx(running)


def test_benjamini_hochberg_bounds_the_share_of_false_rejections(rng):
    rows = family(rng, "bh", pairs="all").differences
    assert len(rows) == 6 * 3
    p = sorted(row.p for row in rows)
    for row in rows:
        # The least level at which the step-up procedure rejects.
        levels = [value * len(p) / n for n, value in enumerate(p, 1) if value >= row.p]
        assert row.p_adjusted == pytest.approx(min(1.0, *levels))


def test_without_correction_p_values_stay_as_they_are(rng):
    assert all(row.p_adjusted == row.p for row in family(rng, None).differences)


def test_undefined_tests_do_not_belong_to_the_family(rng):
    values = {
        name: {"m": rng.normal(size=20), "none": np.full(20, np.nan)} for name in ("a", "b", "c")
    }
    with pytest.warns(UserWarning, match="'none' is defined on 0 queries only"):
        rows = compare_values(values).differences
    smallest = min(row.p for row in rows if row.measure == "m")
    assert min(r.p_adjusted for r in rows if r.measure == "m") == pytest.approx(2 * smallest)
    for row in rows:
        if row.measure == "none":
            assert (row.n, row.wins, row.ties, row.losses) == (0, 0, 0, 0)
            numbers = [row.difference, row.spread, row.effect_size, row.p, row.p_adjusted]
            assert np.isnan([*numbers, row.low, row.high]).all()


@pytest.mark.parametrize(("correction", "expected"), [("holm", 3), ("bh", 3), (None, 1)])
def test_tests_without_a_p_value_count_in_their_family(rng, correction, expected):
    base = rng.random(20)
    values = {"a": base, "b": base + 0.5, "c": base + 0.25, "d": base + rng.normal(0.3, 0.3, 20)}
    with pytest.warns(UserWarning, match="'b' and 'a' by 'm', 'c' and 'a' by 'm'"):
        result = compare_values({k: {"m": v} for k, v in values.items()}, correction=correction)
    found = [row.p_adjusted for row in result.differences]
    assert np.isnan(found[:2]).all()
    assert found[2] == pytest.approx(expected * result.differences[2].p)
    assert correction is None or "corrected for 3 tests" in result.test_title


def test_all_pairs_of_a_baseline_in_the_middle(rng):
    result = family(rng, "holm", pairs="all", baseline="s1")
    pairs = [(row.system, row.other) for row in result.differences[::3]]
    assert pairs == [(f"s{i}", "s1") for i in (0, 2, 3)] + [
        ("s2", "s0"),
        ("s3", "s0"),
        ("s3", "s2"),
    ]


# -- numbers of queries --------------------------------------------------------------


@pytest.mark.parametrize(("difference", "power"), [(0.5, 0.8), (0.2, 0.9), (-0.2, 0.9), (3.0, 0.8)])
def test_queries_needed_reach_the_power(rng, difference, power):
    pytest.importorskip("pandas")
    result = family(rng, None, 2, 1)
    (row,) = result.queries_needed(difference, power=power).itertuples()
    n, shift = int(row.n_queries), abs(difference) / row.spread

    def reached(n):
        # The t of a normal mean, given its chi-squared variance.
        bound, q = stats.t.ppf(0.975, n - 1), (np.arange(20_000) + 0.5) / 20_000
        scale = np.sqrt(stats.chi2.ppf(q, n - 1) / (n - 1))
        above = stats.norm.sf(bound * scale - shift * np.sqrt(n))
        return (above + stats.norm.cdf(-bound * scale - shift * np.sqrt(n))).mean()

    assert reached(n) >= power
    assert n == 2 or reached(n - 1) < power
    # The textbook's formula of normal quantiles, which is short by two or three.
    rough = ((stats.norm.ppf(0.975) + stats.norm.ppf(power)) / shift) ** 2
    assert rough < n < rough + 4
    (other,) = result.queries_needed(difference, power=power, confidence_level=0.99).n_queries
    rough = ((stats.norm.ppf(0.995) + stats.norm.ppf(power)) / shift) ** 2
    assert rough < other < rough + 5


def test_queries_needed_of_tiny_differences_and_without_spread():
    values = {"a": {"m": np.tile([0.25, 0.5], 5)}, "b": {"m": np.tile([0.5, 0.75], 5)}}
    pytest.importorskip("pandas")
    result = compare_values(values, test="permutation")
    assert result.queries_needed(0.01).n_queries.isna().all()
    values["b"]["m"] = values["b"]["m"] + 0.3 * np.sin(np.arange(10))
    (n,) = compare_values(values).queries_needed(1e-5).n_queries
    assert 1e9 < n < 1e10
    (n,) = compare_values(values).queries_needed(1e-300).n_queries
    assert 1e300 < n < 1e301
    for options, words in [
        ({"difference": 0}, "difference must be a finite number other than 0, got 0"),
        ({"difference": 0.1, "power": 1}, "power must be a number between 0 and 1"),
        ({"difference": 0.1, "confidence_level": 0}, "confidence_level must be a number between"),
    ]:
        with pytest.raises(ValueError, match=words):
            result.queries_needed(**options)


# -- threads and blocks --------------------------------------------------------------


@pytest.mark.parametrize("options", [{"interval": "bca"}, {"test": "permutation"}])
def test_results_do_not_depend_on_the_number_of_threads(rng, options):
    from threadpoolctl import threadpool_limits

    values = {name: {"m": rng.normal(size=3000)} for name in "abc"}
    found = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            found.append(compare_values(values, n_resamples=1000, **options).differences)
    assert found[0] == found[1]


def test_more_queries_than_a_small_integer_counts(rng):
    values = {name: {"m": rng.normal(size=70_000)} for name in "ab"}
    (row,) = compare_values(values, interval="bca", n_resamples=50).differences
    student = compare_values(values).differences[0]
    assert row.low == pytest.approx(student.low, abs=0.6 * (student.high - student.low))


def test_nothing_else_is_warned_of(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        family(rng, "holm", interval="bca", test="permutation", n_resamples=100)


# -- the lowest values ---------------------------------------------------------------


def test_tails_are_means_of_the_lowest_values(rng):
    values = {name: {"map": rng.random(25)} for name in "ab"}
    values["a"]["map"][4] = values["b"]["map"][4] = np.nan
    found = compare_values(values, tail=0.25)
    assert found.measures == ["map", "map, lowest 25 %"]
    for row in found.estimates[1::2]:
        lowest = np.sort(values[row.system]["map"])[:6]  # of 24 that are defined
        assert row.mean == pytest.approx(lowest.mean(), rel=1e-12)
        assert row.n == 24
        assert row.low < row.mean < row.high
    # A share between two numbers of queries weighs the last one in part.
    (row,) = (r for r in compare_values(values, tail=0.1).estimates[1:2])
    ordered = np.sort(values["a"]["map"])
    assert row.mean == pytest.approx((ordered[0] + ordered[1] + 0.4 * ordered[2]) / 2.4)


def test_errors_of_tails_are_right(rng):
    # The spread of the estimate over many samples, against the width of its interval.
    samples = rng.random((400, 300)) ** 2
    rows = [
        compare_values({"a": {"m": sample}}, tail=0.2, confidence_level=0.6827).estimates[1]
        for sample in samples
    ]
    spread = np.std([row.mean for row in rows])
    half = np.mean([(row.high - row.low) / 2 for row in rows])
    assert half == pytest.approx(spread, rel=0.12)


def test_tails_need_the_test_of_means():
    values = {"a": {"map": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}}
    with pytest.raises(ValueError, match="tail must be None unless test='t'"):
        compare_values(values, tail=0.5, test="wilcoxon")
    with pytest.raises(ValueError, match="tail must be a number between 0 and 1"):
        compare_values(values, tail=10)
