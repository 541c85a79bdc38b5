"""Intervals, tests and corrections of comparisons, against scipy and definitions."""

import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from skcalrank.evaluation import compare, compare_values


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


def test_bootstrap_t_intervals_are_those_of_the_definition(differences):
    row = one_pair(differences, interval="bootstrap-t", n_resamples=20_000)
    n = len(differences)
    drawn = np.random.default_rng(1).choice(differences, (100_000, n))
    error = differences.std(ddof=1) / np.sqrt(n)
    # Errors of resamples have the divisor n - 1 as well.
    t = (drawn.mean(1) - differences.mean()) / (drawn.std(1, ddof=1) / np.sqrt(n))
    high, low = differences.mean() - error * np.quantile(t, [0.025, 0.975])
    # Between two sets of resamples, the ends differ by hundredths of a standard error.
    assert (row.low, row.high) == pytest.approx((low, high), abs=0.12 * error)
    student = one_pair(differences)
    assert row.low > student.low
    assert row.high > student.high + 0.1 * error


def test_bootstrap_t_of_few_queries_is_that_of_all_resamples():
    found = np.array([-1.8139, -0.4204, -0.5089, 1.5908, 0.25])
    with pytest.warns(UserWarning, match="'m' is defined on 5 queries only"):
        row = one_pair(found, interval="bootstrap-t", n_resamples=50_000, confidence_level=0.8)
    drawn = found[np.array(list(product(range(5), repeat=5)))]
    spread = drawn.std(1, ddof=1)
    deviations, error = drawn.mean(1) - found.mean(), found.std(ddof=1)
    with np.errstate(divide="ignore"):
        t = deviations / np.where(spread > 1e-12, spread, 0.0)
    high, low = found.mean() - error * np.quantile(t, [0.1, 0.9])
    assert (row.low, row.high) == pytest.approx((low, high), abs=0.05 * error)


def test_an_end_without_resamples_that_vary_is_students():
    # More than 2.5 % of the resamples miss the one query that is not 0.
    found = np.zeros(20)
    found[3] = 1.0
    row, student = (one_pair(found, interval=of) for of in ("bootstrap-t", "student"))
    assert row.high == student.high
    assert row.low > student.low
    assert np.isfinite(row.low)


def test_the_bootstrap_that_is_gone_names_its_successor():
    with pytest.raises(ValueError, match="one of 'student', 'bootstrap-t', got 'bca'"):
        one_pair(np.arange(8.0), interval="bca")


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
    assert one_pair(found, test="permutation", n_resamples=np.int64(10_000)).p == row.p


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
@pytest.mark.parametrize("interval", ["student", "bootstrap-t"])
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
@pytest.mark.parametrize("interval", ["student", "bootstrap-t"])
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
@pytest.mark.parametrize("interval", ["student", "bootstrap-t"])
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


@pytest.mark.parametrize("options", [{}, {"interval": "bootstrap-t"}, {"test": "permutation"}])
def test_measures_may_have_any_scale(rng, options):
    values = {name: 2 * rng.random(20) for name in "ab"}
    units = {"tiny": 2.0**-1000, "one": 1.0, "large": 2.0**60, "huge": 2.0**1023}
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


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_tests_of_fewer_than_two_values_do_not_belong_to_the_family(rng, correction, n):
    values = {name: {"m": rng.normal(size=20)} for name in ("a", "b", "c")}
    alone = compare_values(values, correction=correction).differences
    few = np.where(np.arange(20) < n, 0.5, np.nan)
    with pytest.warns(UserWarning, match=f"'few' is defined on {n} queries only"):
        rows = compare_values(
            {name: {**of, "few": few + i} for i, (name, of) in enumerate(values.items())},
            correction=correction,
        ).differences
    assert [row for row in rows if row.measure == "m"] == alone
    for row in rows:
        if row.measure == "few":
            assert (row.n, row.wins, row.ties, row.losses) == (n, n, 0, 0)
            if n == 0:
                assert np.isnan([row.difference, row.effect_size]).all()
            assert np.isnan([row.spread, row.p, row.p_adjusted, row.low, row.high]).all()


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


@cache
def scales(n):
    q = (np.arange(20_000) + 0.5) / 20_000
    return np.sqrt(stats.chi2.ppf(q, n - 1) / (n - 1))


def power_of_t(n, shift, level=0.05):
    # The t of a normal mean, given its chi-squared variance.
    bounds = stats.t.isf(level / 2, n - 1) * scales(n)
    above = stats.norm.sf(bounds - shift * np.sqrt(n))
    return (above + stats.norm.cdf(-bounds - shift * np.sqrt(n))).mean()


@pytest.mark.parametrize(("difference", "power"), [(0.5, 0.8), (0.2, 0.9), (-0.2, 0.9), (3.0, 0.8)])
def test_queries_needed_reach_the_power(rng, difference, power):
    pytest.importorskip("pandas")
    result = family(rng, None, 2, 1)
    (row,) = result.queries_needed(difference, power=power).itertuples()
    n, shift = int(row.n_queries), abs(difference) / row.spread
    assert power_of_t(n, shift) >= power
    assert n == 2 or power_of_t(n - 1, shift) < power
    # The textbook's formula of normal quantiles, which is short by two or three.
    rough = ((stats.norm.ppf(0.975) + stats.norm.ppf(power)) / shift) ** 2
    assert rough < n < rough + 4
    (other,) = result.queries_needed(difference, power=power, confidence_level=0.99).n_queries
    rough = ((stats.norm.ppf(0.995) + stats.norm.ppf(power)) / shift) ** 2
    assert rough < other < rough + 5


@pytest.mark.parametrize("level", [0.05, 0.01, 0.05 / 48])
def test_few_queries_needed_reach_the_power(level):
    # The lower tail of scipy's nctdtr is wrong by up to .6 at some of these points.
    pytest.importorskip("pandas")
    values = np.array([0.25, -0.25] * 5)
    result = compare_values({"a": {"m": 0 * values}, "b": {"m": values}})
    for ratio in np.geomspace(2, 10, 60):
        difference = ratio * values.std(ddof=1)
        (n,) = result.queries_needed(difference, confidence_level=1 - level).n_queries
        assert power_of_t(n, ratio, level) >= 0.8
        assert n == 2 or power_of_t(n - 1, ratio, level) < 0.8


@pytest.mark.parametrize("correction", [None, "judge"])
def test_queries_needed_of_one_system_make_its_interval_that_narrow(rng, correction):
    pytest.importorskip("pandas")
    qid = np.repeat(np.arange(400), 5)
    y = rng.integers(0, 2, len(qid)).astype(float)
    options = {}
    if correction:
        options["judge"] = np.where(rng.random(len(qid)) < 0.9, y, 1 - y)
        y = np.where(qid < 60, y, np.nan)
    scores = {"a": rng.normal(size=len(qid))}
    result = compare(y, scores, ["precision@2"], qid=qid, **options)
    (estimate,) = result.estimates
    half = (estimate.high - estimate.low) / 2
    (row,) = result.queries_needed(half, power=0.5).itertuples()
    assert (row.system, row.other, row.measure) == ("a", None, "precision@2")
    assert row.n_queries == pytest.approx(estimate.n, rel=0.03)
    (more,) = result.queries_needed(0.75 * half, power=0.5).n_queries
    assert more > 1.7 * row.n_queries


@pytest.mark.parametrize("systems", ["ab", "a"])
@pytest.mark.parametrize("tail", [None, 0.5])
def test_queries_needed_count_those_without_a_value(rng, systems, tail):
    pytest.importorskip("pandas")
    values = {name: {"m": rng.normal(size=60)} for name in systems}
    every = compare_values(values, tail=tail).queries_needed(0.2)
    # A third of the queries has a value, as where others have no relevant document.
    sparse = {name: {"m": np.append(of["m"], np.full(120, np.nan))} for name, of in values.items()}
    found = compare_values(sparse, tail=tail).queries_needed(0.2)
    assert found["spread"].to_list() == pytest.approx(every["spread"].to_list())
    assert found["n_queries"].to_list() == (3 * every["n_queries"]).to_list()


@pytest.mark.parametrize("values", [[0.1] * 7, [0.5]])
@pytest.mark.filterwarnings("ignore:'m' is defined on 1 queries")
def test_queries_needed_of_one_system_without_spread(values):
    pytest.importorskip("pandas")
    assert compare_values({"a": {"m": values}}).queries_needed(0.01).n_queries.isna().all()


def test_queries_needed_of_one_system_at_the_end_of_the_range(rng):
    pytest.importorskip("pandas")
    values = rng.normal(size=9)
    (n,) = compare_values({"a": {"m": values}}).queries_needed(0.1).n_queries
    (large,) = (
        compare_values({"a": {"m": values * 2.0**1000}}).queries_needed(0.1 * 2.0**1000).n_queries
    )
    assert large == n


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
        ({"difference": 0}, "difference must be a finite number != 0, got 0"),
        ({"difference": 0.1, "power": 1}, "power must be a finite number > 0 and < 1, such"),
        ({"difference": 0.1, "confidence_level": 0}, "confidence_level must be a finite number"),
    ]:
        with pytest.raises(ValueError, match=words):
            result.queries_needed(**options)


# -- threads and blocks --------------------------------------------------------------


@pytest.mark.parametrize("options", [{"interval": "bootstrap-t"}, {"test": "permutation"}])
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
    (row,) = compare_values(values, interval="bootstrap-t", n_resamples=50).differences
    student = compare_values(values).differences[0]
    assert row.low == pytest.approx(student.low, abs=0.6 * (student.high - student.low))


def test_nothing_else_is_warned_of(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        family(rng, "holm", interval="bootstrap-t", test="permutation", n_resamples=100)


# -- the largest of all statistics ---------------------------------------------------


def by_max_t(columns):
    """The corrected p-values by definition: of all flips of differences, and of residuals."""
    observed = np.abs(columns.sum(0)) / np.sqrt((columns**2).sum(0))
    p = []
    for flipped in (columns, columns - columns.mean(0)):
        norms = np.sqrt((flipped**2).sum(0))
        largest = [
            (np.abs(np.array(signs) @ flipped) / norms).max()
            for signs in product((-1, 1), repeat=len(columns))
        ]
        p.append([np.mean(np.array(largest) >= value - 1e-9) for value in observed])
    return np.max(p, axis=0)


MAX_T = {"test": "permutation", "correction": "max-t"}


def systems_of(columns):
    """Values of a system that is 0.5 everywhere, and of one for each column of differences."""
    base = np.full(len(columns), 0.5)
    others = {f"s{i}": {"m": base + column} for i, column in enumerate(columns.T)}
    return {"base": {"m": base}} | others


@pytest.mark.parametrize("n", [6, 8, 9])
def test_max_t_is_that_of_all_sign_flips(rng, n):
    columns = rng.normal([0.2, 0.7, 0.8, 0.0], size=(n, 4)) + rng.normal(size=(n, 1)) / 2
    columns[0, 0] = 0.0
    rows = compare_values(systems_of(columns), **MAX_T).differences
    assert [row.p_adjusted for row in rows] == pytest.approx(by_max_t(columns), abs=1e-12)
    assert [row.p for row in rows] == pytest.approx([all_signs(c) for c in columns.T], abs=1e-12)
    again = compare_values(systems_of(columns), **MAX_T, random_state=5).differences
    assert again == rows
    # Drawn flips are near.
    drawn = compare_values(systems_of(columns), **MAX_T, n_resamples=2 ** (n - 1)).differences
    assert [r.p_adjusted for r in drawn] == pytest.approx(by_max_t(columns), abs=0.25)


def test_one_difference_needs_no_correction_by_max_t(rng):
    found = rng.normal(0.5, size=40)
    row = one_pair(found, **MAX_T)
    assert row.p == one_pair(found, test="permutation").p
    assert row.p <= row.p_adjusted < row.p + 0.01
    # The bound of flips is near Student's.
    student = one_pair(found)
    assert (row.low, row.high) == pytest.approx((student.low, student.high), abs=0.02)


@pytest.mark.parametrize("n", [7, 12, 40])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_simultaneous_intervals_agree_with_corrected_p_values(n, level):
    seen = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        columns = rng.normal([0, 0.3, 0.6, 0.9, 1.2], size=(n, 5)) + rng.normal(size=(n, 1))
        columns = columns.round(1)  # with ties
        options = {"confidence_level": level, "n_resamples": 500, "random_state": seed}
        margin = (seed % 3) / 4
        found = compare_values(systems_of(columns), **MAX_T, **options, margin=margin)
        for row in found.differences:
            assert row.p_adjusted >= row.p
            excludes = not row.low <= -margin <= row.high
            assert excludes == (row.p_adjusted < 1 - level), row
            seen.add(excludes)
    assert seen == {False, True}


def test_max_t_of_measures_on_different_queries(rng):
    columns = rng.normal(0.4, size=(30, 3))
    values = systems_of(columns)
    for name in values:
        values[name] = {"m": values[name]["m"], "part": values[name]["m"].copy()}
        values[name]["part"][8:] = np.nan
        values[name]["none"] = np.full(30, np.nan)
    with pytest.warns(UserWarning, match="'none' is defined on 0 queries only"):
        rows = compare_values(values, **MAX_T).differences
    for row in rows:
        if row.measure == "none":
            assert np.isnan([row.p, row.p_adjusted, row.low, row.high]).all()
        else:
            assert row.p_adjusted > row.p
            assert (row.low > 0 or row.high < 0) == (row.p_adjusted < 0.05)


def test_max_t_of_systems_without_a_common_query():
    values = {"a": {"m": [0.5, np.nan] * 7}, "b": {"m": [np.nan, 0.5] * 7}}
    with pytest.warns(UserWarning, match="are defined on different queries"):
        (row,) = compare_values(values, **MAX_T).differences
    assert np.isnan([row.p, row.p_adjusted, row.low, row.high]).all()


def test_differences_that_do_not_vary_have_max_t_without_an_interval():
    row = one_pair(np.full(9, 0.25), **MAX_T)
    assert row.p == row.p_adjusted == 2 / 2**9
    assert np.isnan([row.low, row.high]).all()


@pytest.mark.parametrize(
    "options", [{}, {"test": "wilcoxon"}, {"test": "permutation", "tail": 0.5}]
)
def test_max_t_needs_sign_flips(options):
    with pytest.raises(
        ValueError, match="correction must not be 'max-t' unless test='permutation'"
    ):
        one_pair(np.arange(8.0), correction="max-t", **options)


def test_captions_of_simultaneous_intervals(rng):
    found = compare_values(systems_of(rng.normal(0.4, size=(20, 3))), **MAX_T)
    assert "sign-flip permutation test, max-T-corrected for 3 tests" in found.caption()
    caption = found.caption(table="differences")
    assert "with simultaneous 95 % intervals (max-T)" in caption
    assert "not corrected" not in caption


# -- margins -------------------------------------------------------------------------


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
def test_a_margin_is_a_shift_of_the_tests(differences, test):
    row = one_pair(differences, test=test, margin=0.25)
    shifted = one_pair(differences + 0.25, test=test)
    assert row.p == pytest.approx(shifted.p, rel=1e-6)
    plain = one_pair(differences, test=test)
    assert row[3:12] == plain[3:12]
    assert (row.low > -0.25) == (row.p < 0.05) or test != "t"


def test_systems_within_the_margin_are_marked(rng):
    pytest.importorskip("pandas")
    columns = rng.normal([-0.01, -1, 0.0], 0.1, size=(40, 3))
    found = compare_values(systems_of(columns), margin=0.2)
    marks = [line.split("[")[0][-2] for line in found.to_markdown().splitlines()[3:6]]
    assert marks == ["+", "-", "+"]
    caption = found.caption()
    assert "are better and worse than 'base' less 0.2 at p < 0.05" in caption
    assert "(paired t-test, against a difference of -0.2, Holm-corrected for 3 tests)" in caption


@pytest.mark.filterwarnings("ignore:Systems are equal on every query:UserWarning")
def test_equal_systems_differ_from_minus_the_margin():
    assert one_pair(np.zeros(9), margin=0.1, test="permutation").p == 2 / 2**9
    with pytest.warns(UserWarning, match="same number on every query"):
        assert np.isnan(one_pair(np.zeros(9), margin=0.1).p)


@pytest.mark.parametrize("margin", [-0.1, np.inf, np.nan, "0.1"])
def test_margins_are_numbers(margin):
    with pytest.raises(ValueError, match="margin must be a finite number >= 0, got"):
        one_pair(np.arange(8.0), margin=margin)


def test_margins_are_those_of_a_baseline():
    with pytest.raises(ValueError, match="pairs must be 'baseline' with a margin, got 'all'"):
        one_pair(np.arange(8.0), margin=0.1, pairs="all")


# -- the lowest values ---------------------------------------------------------------

FEW = pytest.mark.filterwarnings("ignore:.*there is no interval:UserWarning")


@FEW
def test_tails_are_means_of_the_lowest_values(rng):
    values = {name: {"map": rng.random(25)} for name in "ab"}
    values["a"]["map"][4] = values["b"]["map"][4] = np.nan
    found = compare_values(values, tail=0.25)
    assert found.measures == ["map", "map, lowest 25 %"]
    for row in found.estimates[1::2]:
        lowest = np.sort(values[row.system]["map"])[:6]  # of 24 that are defined
        assert row.mean == pytest.approx(lowest.mean(), rel=1e-12)
        assert row.n == 6
        assert np.isnan([row.low, row.high]).all()
    plain, lowest = found.differences
    assert lowest.n == 6
    assert (lowest.wins, lowest.ties, lowest.losses) == (plain.wins, plain.ties, plain.losses)
    assert np.isnan([lowest.low, lowest.high]).all()
    # A share between two numbers of queries weighs the last one in part.
    (row,) = (r for r in compare_values(values, tail=0.1).estimates[1:2])
    ordered = np.sort(values["a"]["map"])
    assert row.mean == pytest.approx((ordered[0] + ordered[1] + 0.4 * ordered[2]) / 2.4)
    assert row.n == 3


@FEW
def test_values_by_query_of_a_tail_are_those_of_its_measure(rng):
    values = {name: {"m": rng.random(60) + shift} for name, shift in (("a", 0), ("b", 0.2))}
    plain, found = compare_values(values), compare_values(values, tail=0.4)
    _, tail = found.measures
    np.testing.assert_array_equal(found.values, plain.values)
    assert found.per_query().equals(plain.per_query())
    for measure in found.measures:
        assert found.per_query(measure).equals(plain.per_query("m"))
        differences = found.query_differences("b", "a", measure=measure)
        np.testing.assert_array_equal(differences, plain.query_differences("b", "a", measure="m"))
    # What rests on the error of a tail is of its influences.
    lowest = [np.sort(values[name]["m"])[:24].mean() for name in "ab"]
    assert found.rank_sets(tail).scores == pytest.approx(sorted(lowest, reverse=True))
    of_one = compare_values({"a": values["a"]}, tail=0.4).queries_needed(0.1)
    cut = np.sort(values["a"]["m"])[23]
    influence = cut - np.maximum(cut - values["a"]["m"], 0) / 0.4
    spreads = values["a"]["m"].std(ddof=1), influence.std(ddof=1)
    assert of_one["spread"].to_list() == pytest.approx(spreads)
    with pytest.raises(ValueError, match="measure must be one of 'm', 'm, lowest 40 %'"):
        found.per_query("m, lowest 10 %")


@pytest.mark.parametrize(("n", "n_tail"), [(95, 19), (96, 20)])
def test_few_values_in_a_tail_have_no_interval(rng, n, n_tail):
    values = {name: {"map": rng.random(n), "mrr": rng.random(n)} for name in "ab"}
    values["b"]["mrr"][0] = values["a"]["mrr"][0] = np.nan  # one less
    words = r"lowest 20 %' is a mean of 19 values: with fewer than 20 there is no interval"
    with pytest.warns(UserWarning, match=words):
        found = compare_values(values, tail=0.2)
    for rows in (found.estimates, found.differences):
        for row in rows:
            assert np.isnan(row.low) == np.isnan(row.high) == (row.n < 20)
    assert {row.n for row in found.estimates} == {n, n - 1, n_tail, 19}


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


def by_exchange(a, b, size):
    """The p-value by definition: all exchanges of two systems within queries."""

    def terms(values):  # whose mean is that of the lowest values
        quantile = np.sort(values)[:, size - 1 : size]
        return quantile - np.maximum(quantile - values, 0) * len(a) / size

    exchanged = np.array(list(product((False, True), repeat=len(a))))
    change = terms(np.where(exchanged, b, a)) - terms(np.where(exchanged, a, b))
    with np.errstate(divide="ignore"):
        mean, spread = np.abs(change.mean(1)).round(12), change.std(1).round(12)
        found = np.where(mean > 0, mean / spread, 0)
    return np.mean(found >= found[0] * (1 - 1e-9))


@FEW
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_tests_of_tails_exchange_the_systems(rng, size):
    for ties in (0, 1):
        a, b = rng.random((2, 12)).round(3 - 2 * ties)
        values = {"a": {"m": a}, "b": {"m": b}}
        row = compare_values(values, tail=size / 12).differences[1]
        assert row.p == pytest.approx(by_exchange(b, a, size), abs=1e-12)
        other = compare_values(values, tail=size / 12, margin=0.1, test="wilcoxon").differences[1]
        assert other.p == pytest.approx(by_exchange(b + 0.1, a, size), abs=1e-12)


@FEW
def test_the_caption_counts_tests_of_tails_of_one_value(rng):
    a, b = rng.random((2, 12))
    found = compare_values({"a": {"m": a}, "b": {"m": a + b}}, tail=1 / 12)
    assert [row.n for row in found.differences] == [12, 1]
    assert any(row.p_adjusted == 2 * row.p for row in found.differences)
    assert found.test_title.endswith("Holm-corrected for 2 tests")


def test_tests_of_large_tails_are_near_the_exact_ones(rng):
    a, b = rng.random((2, 14))
    values = {"a": {"m": a}, "b": {"m": b + 0.1}}
    with pytest.warns(UserWarning, match="is a mean of 7 values"):
        row, exact = (
            compare_values(values, tail=0.5, n_resamples=n).differences[1] for n in (999, 2**14)
        )
    assert exact.p == pytest.approx(by_exchange(a, b + 0.1, 7), abs=1e-12)
    assert row.p == pytest.approx(exact.p, abs=5 * np.sqrt(exact.p / 999))
    assert row.p != exact.p


def test_tails_of_a_pair_are_over_their_common_queries(rng):
    a, b = rng.random((2, 94))
    first = {"a": {"m": a.copy()}, "b": {"m": b.copy()}}
    first["a"]["m"][0], first["b"]["m"][1] = np.nan, np.nan
    with pytest.warns(UserWarning, match="defined on different queries by 'm'"):
        row = compare_values(first, tail=0.25).differences[1]
    both = compare_values({"a": {"m": a[2:]}, "b": {"m": b[2:]}}, tail=0.25).differences[1]
    assert row[:3] == both[:3]
    assert row[3:] == pytest.approx(both[3:])


def test_shares_of_tails():
    with pytest.raises(ValueError, match="tail must be a finite number > 0 and < 1"):
        compare_values({"a": {"map": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}}, tail=10)


# -- how often they are wrong --------------------------------------------------------


def test_tests_of_tails_hold_their_level():
    # Student's test of these rejects in 30 %.
    n_families, n = 1000, 20
    values = np.random.default_rng(0).beta(2, 2, size=(2, n_families, n))
    values = {name: {str(i): row for i, row in enumerate(of)} for name, of in zip("ab", values)}
    with pytest.warns(UserWarning, match="is a mean of 2 values"):
        found = compare_values(values, tail=0.1, correction=None, n_resamples=300)
    rate = np.mean([row.p < 0.05 for row in found.differences[n_families:]])
    assert 0 < rate <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / n_families)


def test_tests_of_tails_hold_their_level_nearly_for_other_shapes():
    # Without the division by the error of each exchange, .23 of these are rejected.
    n_families, n, shift = 300, 200, 1.75498 + 0.05176  # the means of the lowest tenths
    rng = np.random.default_rng(0)
    pair = rng.normal(size=(n_families, n)), rng.exponential(size=(n_families, n)) - shift
    values = {name: {str(i): row for i, row in enumerate(of)} for name, of in zip("ab", pair)}
    found = compare_values(values, tail=0.1, correction=None, n_resamples=300)
    assert np.mean([row.p < 0.05 for row in found.differences[n_families:]]) <= 0.12


def coverage(draw, mean, n, n_families=1500, **options):
    rows = draw(np.random.default_rng(0), (n_families, n))
    values = {"a": {str(i): row for i, row in enumerate(rows)}}
    found = compare_values(values, n_resamples=1000, **options).estimates
    return np.mean([row.low <= mean <= row.high for row in found])


@pytest.mark.parametrize("n", [10, 20])
def test_bootstrap_t_intervals_of_skewed_values_cover(n):
    def draw(rng, shape):
        return rng.exponential(size=shape)

    found = coverage(draw, 1.0, n, interval="bootstrap-t")
    assert found >= 0.944 - 2.6 * np.sqrt(0.944 * 0.056 / 1500)
    assert coverage(draw, 1.0, n) < 0.92


def families(seed, effects, n=25, shared=0.9):
    """Differences of systems to a baseline, correlated by what they share."""
    rng = np.random.default_rng(seed)
    of_all, alone = rng.normal(size=(n, 1)), rng.normal(size=(n, len(effects)))
    return np.sqrt(shared) * of_all + np.sqrt(1 - shared) * alone + effects


@pytest.mark.slow
def test_max_t_bounds_the_family_and_has_more_power_than_holm():
    n_families, effects = 1000, np.zeros(9)
    wrong = right = by_holm = 0
    for seed in range(n_families):
        columns = families(seed, effects)
        options = {"test": "permutation", "n_resamples": 250, "random_state": seed}
        found = compare_values(systems_of(columns), **MAX_T | options).differences
        wrong += any(row.p_adjusted < 0.05 for row in found)
        if seed < 300:
            values = systems_of(columns + 0.5)
            right += sum(
                row.p_adjusted < 0.05
                for row in compare_values(values, **options | MAX_T).differences
            )
            by_holm += sum(
                row.p_adjusted < 0.05 for row in compare_values(values, **options).differences
            )
    assert wrong <= n_families * (0.05 + 2.6 * np.sqrt(0.05 * 0.95 / n_families))
    assert right > 1.1 * by_holm > 0
