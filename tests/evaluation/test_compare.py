"""Comparisons of scores of several systems: values, tables, plots, errors and warnings."""

import re
import warnings

import numpy as np
import pytest
from cases import make_data

from skcalrank import PreferenceTarget, RankingTarget
from skcalrank.data import OneQueryWarning
from skcalrank.evaluation import Comparison, compare, compare_values
from skcalrank.measures import NDCG, Precision
from skcalrank.metrics import evaluate

SIZES = (6, 9, 4, 7, 5, 8, 3, 6)
MEASURES = ["ndcg@3", "spearman"]


@pytest.fixture
def sizes():
    return SIZES


@pytest.fixture
def scores(data, rng):
    _, y, _ = data
    return {name: y + noise * rng.normal(size=len(y)) for name, noise in zip("abc", (2, 1, 0.3))}


@pytest.fixture
def result(data, scores):
    _, y, qid = data
    return compare(y, scores, MEASURES, qid=qid, baseline="b")


def test_values_are_those_of_the_metrics(data, scores, result):
    _, y, qid = data
    for system, found in zip("abc", result.values):
        expected = evaluate(y, scores[system], MEASURES, qid=qid, average=False)
        np.testing.assert_array_equal(found, list(expected.values()))
    assert result.queries.tolist() == list(dict.fromkeys(qid.tolist()))
    for row in result.estimates:
        expected = evaluate(y, scores[row.system], [row.measure], qid=qid)
        assert row.mean == pytest.approx(expected[row.measure], rel=1e-12)


def test_values_per_query_can_be_joined(data, result):
    pandas = pytest.importorskip("pandas")
    _, y, qid = data
    frame = pandas.DataFrame({"y": y, "qid": qid})
    joined = frame.join(result.per_query("spearman"), on="qid")
    assert joined.columns.tolist() == ["y", "qid", "a", "b", "c"]
    assert joined.groupby("qid").a.nunique().max() == 1
    everything = result.per_query()
    assert everything.columns.names == ["measure", "system"]
    np.testing.assert_array_equal(everything["ndcg@3"], result.per_query("ndcg@3"))


def test_frames(result):
    pytest.importorskip("pandas")
    frame = result.to_frame()
    assert frame[["system", "measure"]].values.tolist() == [[s, m] for s in "abc" for m in MEASURES]
    of_baseline = frame[frame.system == "b"]
    assert of_baseline[["difference", "p", "p_adjusted", "wins"]].isna().all().all()
    others = frame[frame.system != "b"].set_index(["system", "measure"])
    for row in result.differences:
        found = others.loc[row.system, row.measure]
        assert (found.difference, found.difference_low) == (row.difference, row.low)
        assert found.wins + found.ties + found.losses == row.n == found.n
        assert (found.p, found.p_adjusted) == (row.p, row.p_adjusted)
    pairs = result.to_frame(pairs=True)
    assert pairs.system.tolist() == ["a", "a", "c", "c"]
    assert set(pairs.other) == {"b"}


def test_one_system_has_intervals_and_no_differences(data, scores):
    _, y, qid = data
    alone = compare(y, {"a": scores["a"]}, MEASURES, qid=qid)
    assert alone.differences == []
    assert len(alone.estimates) == 2
    assert "**" not in alone.to_markdown()
    assert "±" not in alone.caption()
    assert "mark" not in alone.caption()
    both = compare(y, {name: scores[name] for name in "ab"}, MEASURES, qid=qid)
    assert "The largest mean is bold" in both.caption()
    assert "bold" not in alone.caption()


def test_undefined_queries_count_for_no_system(rng):
    _, y, qid = make_data(rng, SIZES)
    y = np.where(qid == qid[0], 0.0, y)
    scores = {name: rng.normal(size=len(y)) for name in "ab"}
    skipped = compare(y, scores, ["ndcg", "spearman"], qid=qid)
    counts = {row.measure: row.n for row in skipped.differences}
    assert counts == {"ndcg": 7, "spearman": 8}
    # Each measure keeps its own queries, and says how many.
    for table in ("means", "differences"):
        assert "over 7 queries (ndcg) and 8 queries (spearman)" in skipped.caption(table=table)
    assert "over 8 queries, with" in compare(y, scores, ["spearman"], qid=qid).caption()
    zero = compare(y, scores, ["ndcg"], qid=qid, empty="zero")
    assert zero.differences[0].n == 8
    assert zero.differences[0].ties >= 1


def test_forms_of_labels(rng):
    matrix = rng.integers(0, 3, size=(8, 5))
    scores = {name: rng.normal(size=(8, 5)) for name in "ab"}
    by_rows = compare(matrix, scores, ["ndcg"], empty="zero")
    qid = np.repeat(np.arange(8), 5)
    flat = {name: found.ravel() for name, found in scores.items()}
    target = RankingTarget(matrix.ravel(), qid)
    np.testing.assert_array_equal(
        by_rows.values, compare(target, flat, ["ndcg"], empty="zero").values
    )
    orders = PreferenceTarget.from_orders(np.argsort(scores["a"]) + 1)
    found = compare(orders, scores, ["kendall"])
    assert found.values.shape == (2, 1, 8)
    preferences = PreferenceTarget.from_comparisons(
        np.arange(0, 40, 5), np.arange(1, 40, 5), qid=qid
    )
    disagreement = compare(preferences, flat, ["neg_pairwise_disagreement"])
    assert disagreement.queries.tolist() == list(range(8))


def test_frames_of_scores_and_dicts_of_measures(data, scores):
    pandas = pytest.importorskip("pandas")
    _, y, qid = data
    measures = {"top": Precision(k=1, relevance_level=2), "p@3": "precision@3", "ndcg": "ndcg"}
    found = compare(y, pandas.DataFrame(scores), measures, qid=qid, relevance_level=1)
    assert found.measures == ["top", "p@3", "ndcg"]
    measures["p@3"] = Precision(k=3, relevance_level=1)
    np.testing.assert_array_equal(found.values, compare(y, scores, measures, qid=qid).values)


@pytest.mark.parametrize(
    "queries", [[("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1), ("c", 2)], [1, "1", 2, 3, 4, 5]]
)
def test_queries_of_any_name(queries):
    values = {n: {"m": dict(zip(queries, v))} for n, v in {"a": range(6), "b": [1] * 6}.items()}
    values["b"]["m"] = dict(reversed(values["b"]["m"].items()))
    result = compare_values(values)
    assert result.queries.tolist() == queries
    assert result.values[0, 0].tolist() == list(range(6))


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_queries_that_are_dates(kind, unit):
    queries = np.arange(6).astype(f"{kind}[{unit}]")
    orders = {"a": queries, "b": queries[::-1]}
    values = {name: {"m": dict(zip(order, range(6)))} for name, order in orders.items()}
    result = compare_values(values)
    np.testing.assert_array_equal(result.queries, queries)
    assert result.values[:, 0].tolist() == [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]]


@pytest.mark.parametrize("make", ["Series", "array", "list", "dict", "object", "frame"])
def test_na_of_pandas_is_an_undefined_value(make):
    pandas = pytest.importorskip("pandas")
    given = pandas.Series([0.5, pandas.NA, 0.25, 1, 0.75, 0.5, 0], dtype="Float64")
    make_of = {
        "array": lambda s: s.array,
        "list": list,
        "dict": dict,
        "object": lambda s: s.astype(object).to_numpy(copy=True),
        "frame": lambda s: s,
    }
    values = {
        name: {"m": make_of.get(make, pandas.Series)(given + i)} for i, name in enumerate("ab")
    }
    values["b"]["m"] = make_of.get(make, pandas.Series)((given + np.arange(7)).astype("Float64"))
    if make == "frame":
        values = {name: pandas.DataFrame(v) for name, v in values.items()}
    (row,) = compare_values(values).differences
    assert (row.n, row.ties, row.difference) == (6, 1, pytest.approx(20 / 6))
    if make in ("list", "object"):
        values["b"]["m"][0] = "x"
        with pytest.raises(ValueError, match=r"values\['b'\]\['m'\] must hold numbers, .*: 'x'"):
            compare_values(values)


def test_frames_of_values(result):
    pandas = pytest.importorskip("pandas")
    frames = {
        name: pandas.DataFrame(dict(zip(MEASURES, found)), index=result.queries)
        for name, found in zip(result.systems, result.values)
    }
    frames["c"] = frames["c"].iloc[::-1]
    assert compare_values(frames, baseline="b").differences == result.differences


def test_values_measured_elsewhere(result):
    as_arrays = {s: dict(zip(MEASURES, found)) for s, found in zip(result.systems, result.values)}
    by_query = {
        s: {m: dict(zip(result.queries.tolist(), v)) for m, v in found.items()}
        for s, found in as_arrays.items()
    }
    by_query["c"] = {m: dict(reversed(v.items())) for m, v in by_query["c"].items()}
    for values in (as_arrays, by_query):
        again = compare_values(values, baseline="b")
        assert again.differences == result.differences
    assert again.queries.tolist() == result.queries.tolist()


def test_systems_defined_on_different_queries_are_paired_where_both_are():
    a = np.array([0.5, 0.25, 0.75, 0.5, 0.25, 0.5, 0.75, np.nan])
    b = np.array([np.nan, 0.5, 0.75, 0.75, 0.5, 0.75, 0.5, 1.0])
    with pytest.warns(UserWarning, match="'a' and 'b' are defined on different queries by 'm'"):
        result = compare_values({"a": {"m": a}, "b": {"m": b}})
    (row,) = result.differences
    assert (row.n, row.wins, row.ties, row.losses) == (6, 4, 1, 1)
    assert row.difference == pytest.approx((b - a)[1:7].mean())
    assert [e.n for e in result.estimates] == [7, 7]


# -- tables --------------------------------------------------------------------------


@pytest.fixture
def apart(rng):
    """Three systems, of which the last one is better by the first measure only."""
    base = rng.random(20)
    values = {
        name: {
            "m|1": base + shift + 0.01 * rng.random(20),
            "m_2": base + tiny * rng.normal(size=20),
        }
        for name, shift, tiny in [("a_b", 0.0, 0.0), ("<b>", 0.1, 1e-7), ("c", 0.2, -1e-7)]
    }
    return values


def test_markdown(apart):
    lines = compare_values(apart, correction=None).to_markdown(digits=2).splitlines()
    assert len({len(line) for line in lines[:5]}) == 1
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[:5]]
    assert cells[0] == ["system", r"m\|1", r"m\_2"]
    assert [row[0] for row in cells[2:]] == [r"a\_b", "&lt;b>", "c"]
    assert re.fullmatch(r"0.\d\d \[0.\d\d, 0.\d\d\]", cells[2][1])
    assert re.fullmatch(r"0.\d\d\+ \[0.\d\d, 0.\d\d\]", cells[3][1])
    assert re.fullmatch(r"\*\*0.\d\d\*\*\+ \[0.\d\d, 0.\d\d\]", cells[4][1])
    # What is written with the same digits is as bold as the best.
    assert all(row[2].startswith("**") for row in cells[2:])
    assert r"better and worse than 'a\_b' at p < 0.05 (paired t-test)." in lines[-1]


def test_letters_of_all_pairs(apart):
    table = compare_values(apart, pairs="all").to_markdown(digits=2, interval=False)
    rows = table.splitlines()[2:5]
    assert [row.split("|")[1].strip() for row in rows] == [r"a a\_b", "b &lt;b>", "c c"]
    assert re.search(r"0.\d\da\b", rows[1])
    assert re.search(r"\*\*0.\d\d\*\*ab\b", rows[2])
    assert "Holm-corrected for 6 tests" in table
    assert "Letters name the systems that a system is better than" in table


@pytest.mark.parametrize(("level", "mark"), [(1 - 2 / 2**6, ""), (0.96, r"\+")])
@pytest.mark.parametrize("pairs", ["baseline", "all"])
def test_a_p_value_at_the_level_is_not_marked(level, mark, pairs):
    # Of 64 sign flips, two give so large a difference.
    values = {"a": {"m": np.zeros(6)}, "b": {"m": np.arange(1.0, 7.0)}}
    options = {"test": "permutation", "confidence_level": level, "pairs": pairs}
    comparison = compare_values(values, **options)
    assert comparison.differences[0].p_adjusted == 2 / 2**6
    table = comparison.to_markdown(digits=1, interval=False)
    assert re.search(rf"\| \*\*3.5\*\*{mark} +\|", table)


def test_latex(apart):
    comparison = compare_values(apart, interval="bootstrap-t", n_resamples=100)
    table = comparison.to_latex(digits=3, interval=False)
    assert r"System & m\textbar{}1 & m\_2 \\" in table
    assert r"a\_b & " in table
    assert r"$<$b$>$ & " in table
    assert re.search(r"c & \\textbf\{0.\d{3}\}\$\^\{\+\}\$ & ", table)
    # The caption speaks of intervals where the table has them.
    assert "intervals" not in table
    assert r"\begin{tabular}{lrr}" in table
    assert r"with 95 \% intervals (bootstrap-t)" in comparison.to_latex()
    # Every number of the table in Markdown is in that in LaTeX.
    numbers = [
        re.findall(r"0\.\d+", text) for text in (comparison.to_latex(), comparison.to_markdown())
    ]
    assert sorted(numbers[0]) == sorted(numbers[1])
    assert table.count(r"\\") == 4


def test_html(apart):
    table = compare_values(apart)._repr_html_()
    assert "<th>&lt;b&gt;</th>" in table
    assert re.search(r"<td><b>0.\d{4}</b><sup>\+</sup> <small>\[", table)


@pytest.mark.parametrize(
    "values",
    [{"a": {"m": 0.5}, "b": {"m": 0.25}}, {"a": {"m": np.float64(1)}}, {"a": {"m": {}}}],
)
def test_means_cannot_be_compared(values):
    message = (
        r"values\['a'\]\['m'\] must hold a value for each query, got (0.5|1.0|{}).*average=False"
    )
    with pytest.raises(ValueError, match=message):
        compare_values(values)


def test_tables_of_differences(apart):
    comparison = compare_values(apart)
    lines = comparison.to_markdown(digits=2, table="differences").splitlines()
    assert len({len(line) for line in lines[:4]}) == 1
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[:4]]
    assert [row[0] for row in cells] == ["difference", "-" * 15, r"&lt;b> - a\_b", r"c - a\_b"]
    for row in cells[2:]:
        assert re.fullmatch(r"0.\d\d \[0.\d\d, 0.\d\d\], p < 0.001", row[1])
        assert re.fullmatch(r"-?0.00 \[-?0.00, -?0.00\], p = [01].\d{3}", row[2])
    caption = lines[-1]
    assert "Mean differences over 20 queries, with 95 % intervals (Student)" in caption
    assert "p: paired t-test, Holm-corrected for 4 tests." in caption
    assert "Intervals are not corrected" in caption
    html = comparison.to_html(table="differences")
    assert "<th>&lt;b&gt; - a_b</th>" in html
    assert re.search(r"<td>0.1\d{3} <small>\[0.\d{4}, 0.\d{4}\]</small>, p &lt; 0.001</td>", html)


def test_captions_say_what_is_corrected(apart):
    alone = compare_values(apart, correction=None)
    assert "not corrected" not in alone.caption(table="differences")
    bare = alone.to_markdown(interval=False, table="differences")
    assert "[" not in bare
    assert "intervals" not in bare


def test_every_tested_pair_is_a_row(apart):
    table = compare_values(apart, pairs="all").to_markdown(table="differences")
    assert [row.split(" | ")[0].strip("| ") for row in table.splitlines()[2:5]] == [
        r"&lt;b> - a\_b",
        r"c - a\_b",
        "c - &lt;b>",
    ]


def test_a_table_of_differences_needs_two_systems(apart):
    alone = compare_values({"c": apart["c"]})
    with pytest.raises(ValueError, match="table must be 'means' for a single system"):
        alone.to_html(table="differences")
    with pytest.raises(ValueError, match="table must be one of 'means', 'differences'"):
        alone.to_latex(table="pairs")


def test_negative_numbers_have_a_minus_in_latex(apart):
    turned = compare_values(apart, baseline="c")
    assert re.search(r"a\\_b - c & \$-\$0.\d{4} \[\$-\$0", turned.to_latex(table="differences"))
    below = {"a": {"rho": -np.arange(1.0, 8.0)}}
    assert "a & $-$4.0 " in compare_values(below).to_latex(digits=1)


def test_printed_as_the_table_of_means(result):
    assert str(result) == result.to_markdown()
    assert repr(result).startswith("Comparison(3 systems")


def test_letters_go_on_behind_z(rng):
    values = {f"s{i}": {"m": rng.normal(size=6)} for i in range(28)}
    rows = compare_values(values, pairs="all").to_markdown().splitlines()[2:-2]
    assert [row.split()[1] for row in rows[-3:]] == ["z", "aa", "ab"]


# -- pictures ------------------------------------------------------------------------


def test_pictures(result):
    pytest.importorskip("matplotlib")
    display = result.plot()
    assert display.systems == ["a", "c"]
    assert display.baseline == "b"
    rows = [row for row in result.differences if row.measure == "ndcg@3"]
    np.testing.assert_array_equal(display.value, [row.difference for row in rows])
    means = result.plot("spearman", kind="means", ax=display.ax_, name="means")
    assert means.systems == ["a", "b", "c"]
    assert means.zero_ is None
    assert means.ax_.get_title() == "means"
    bars = result.plot(kind="queries", system="c", bar_kwargs={"color": "green"})
    differences = result.query_differences("c", "b", measure="ndcg@3")
    np.testing.assert_array_equal(bars.difference, -np.sort(-differences))
    assert dict(zip(bars.queries, bars.difference)) == dict(zip(result.queries, differences))
    row = rows[1]
    assert bars.ax_.get_title() == f"{row.wins} better, {row.ties} equal, {row.losses} worse"


@pytest.mark.filterwarnings("ignore:.*there is no interval:UserWarning")
def test_pictures_tell_what_tables_do(rng):
    pytest.importorskip("matplotlib")
    values = {name: {"m": rng.random(30) + shift} for name, shift in (("a", 0), ("b", 0.1))}
    values["c"] = {"m": rng.random(30) + 0.3}
    found = compare_values(values, test="permutation", correction="max-t", n_resamples=99)
    assert found.plot().interval_name == "simultaneous 95 % interval, 30 queries"
    assert found.plot(kind="means").interval_name == "95 % interval, 30 queries"
    assert compare_values(values).plot().interval_name.startswith("95 % interval, not corrected")
    found = compare_values(values, tail=0.4)
    row = found.differences[1]
    bars = found.plot(row.measure, kind="queries")
    assert bars.ax_.get_title() == f"{row.wins} better, {row.ties} equal, {row.losses} worse"
    assert bars.ax_.get_ylabel().startswith("m, b")
    assert bars.mean_.get_ydata()[0] == pytest.approx(found.differences[0].difference)
    found = compare_values(values, margin=0.5)
    assert list(found.plot().zero_.get_xdata()) == [-0.5, -0.5]
    assert "may exclude -0.5 where" in found.caption(table="differences")
    assert list(compare_values(values).plot().zero_.get_xdata()) == [0, 0]


def test_pictures_that_cannot_be_drawn(result, data, scores):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="system must be None unless kind='queries', got 'c'"):
        result.plot(system="c")
    with pytest.raises(ValueError, match="measure must be one of 'ndcg@3', 'spearman'"):
        result.plot("map")
    with pytest.raises(ValueError, match="kind must be one of 'differences', 'means'"):
        result.plot(kind="bars")
    _, y, qid = data
    alone = compare(y, {"a": scores["a"]}, MEASURES, qid=qid)
    assert alone.plot(kind="means").systems == ["a"]
    for kind in ("differences", "queries"):
        with pytest.raises(ValueError, match=r"one system|two systems"):
            alone.plot(kind=kind)


# -- guard rails ---------------------------------------------------------------------

Y, QID = np.tile([1.0, 0.0], 8), np.repeat(np.arange(8), 2)
GOOD = {"a": np.arange(16.0), "b": -np.arange(16.0)}


@pytest.mark.parametrize(
    ("scores", "measures", "options", "words"),
    [
        ({}, ["map"], {}, "scores must hold at least one entry, got an empty dict"),
        (GOOD["a"], ["map"], {}, "scores must be a dict such as .* got ndarray"),
        ([("a", Y)], ["map"], {}, "scores must be a dict such as .* got list"),
        ({1: GOOD["a"]}, ["map"], {}, "scores must have strings as names, got 1"),
        ({**GOOD, "b": Y[:4]}, ["map"], {}, r"scores\['b'\] must .* \(16,\), got \(4,\)"),
        ({**GOOD, "b": np.full(16, np.nan)}, ["map"], {}, r"scores\['b'\].* contains NaN"),
        ({**GOOD, "b": np.full(16, np.inf)}, ["map"], {}, r"scores\['b'\]"),
        ({**GOOD, "b": ["x"] * 16}, ["map"], {}, r"scores\['b'\]"),
        (GOOD, [], {}, "measures must hold at least one measure, got none"),
        (GOOD, {}, {}, "measures must hold at least one measure, got none"),
        (GOOD, "map", {}, r"measures must be a list or a dict, got 'map': write \['map'\]"),
        (GOOD, ["map", "map"], {}, "measures must have different names, got 'map' twice"),
        (GOOD, [Precision(k=1), Precision(k=1, relevance_level=2)], {}, "'precision@1' twice"),
        (GOOD, ["mop"], {}, "mop"),
        (GOOD, ["map"], {"baseline": "z"}, "baseline must be one of 'a', 'b'"),
        (GOOD, ["map"], {"pairs": "both"}, "pairs must be one of 'baseline', 'all'"),
        (GOOD, ["map"], {"test": "z"}, "test must be one of 't', 'wilcoxon', 'permutation'"),
        (GOOD, ["map"], {"interval": None}, "interval must be one of 'student', 'bootstrap-t'"),
        (
            GOOD,
            ["map"],
            {"correction": "b"},
            "correction must be one of 'holm', 'bh', 'max-t', None",
        ),
        (GOOD, ["map"], {"confidence_level": 95}, "confidence_level must be a finite number > 0 "),
        (GOOD, ["map"], {"n_resamples": 0}, "n_resamples must be an integer >= 1, got 0"),
        (GOOD, ["map"], {"ties": "no"}, "ties must .* got 'no'"),
        (GOOD, ["map"], {"qid": QID[:4]}, "qid must have 16 entries, .* got 4"),
    ],
)
def test_what_cannot_be_compared(scores, measures, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        compare(Y, scores, measures, **{"qid": QID, **options})


def test_rows_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(Y)
    scores = {"a": pandas.Series(Y), "b": pandas.Series(np.arange(16.0))}
    scores["b"][:2] = [1.0, 0.0]
    assert isinstance(compare(y, scores, ["map"], qid=QID), Comparison)
    scores["b"] = scores["b"].iloc[::-1]
    with pytest.raises(ValueError, match=r"scores\['b'\] must have its rows in the order of"):
        compare(y, scores, ["map"], qid=QID)
    # An index of other names says nothing.
    scores["b"].index = range(100, 116)
    scores["b"].iloc[:2] = [1.0, 0.0]
    assert isinstance(compare(y, scores, ["map"], qid=QID), Comparison)


def test_rows_without_queries_are_warned_of():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare(Y, GOOD, ["map"])
    of_queries, of_number = caught
    assert of_queries.category is OneQueryWarning
    assert str(of_queries.message).startswith("compare got y_true and no qid")
    assert str(of_number.message).startswith("'map' is defined on 1 queries only")


class Twice:
    """A stand-in for a Series whose index is not unique."""

    def __len__(self):
        return 2

    def keys(self):
        return ["q1", "q1"]

    def items(self):
        return [("q1", 0.1), ("q1", 0.2)]


VALUES = {"a": {"m": {"q1": 0.1, "q2": 0.2}}}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"b": {"m": {"q1": 0.1}}}, r"values\['b'\]\['m'\] .* but it lacks 1 \('q2'\)"),
        ({"b": {"m": {"q1": 0, "q2": 0, "q3": 0}}}, r"has in addition 1 \('q3'\)"),
        ({"b": {"n": {"q1": 0, "q2": 0}}}, "must hold every measure .* got no 'm'"),
        ({"b": {"m": [1.0, 2.0, 3.0]}}, r"a value for each of 2 queries, got shape \(3,\)"),
        ({"b": {"m": [1.0, np.inf]}}, "finite values, or NaN where undefined, got infinity"),
        ({"b": {"m": Twice()}}, "must have each query once"),
        ({"b": {}}, r"values\['b'\] must hold at least one entry"),
        ({"b": 0.5}, r"values\['b'\] must be a dict such as"),
    ],
)
def test_values_that_cannot_be_compared(more, words):
    with pytest.raises(ValueError, match=words):
        compare_values(VALUES | more)


def test_labels_are_read_once_for_all_systems(monkeypatch):
    reads, labels = [], NDCG.labels
    monkeypatch.setattr(NDCG, "labels", lambda self, y: reads.append(len(y)) or labels(self, y))
    y, qid = [1, 0, 0, 1] * 6, np.repeat(np.arange(12), 2)
    systems = {name: np.arange(24) * sign for name, sign in (("up", 1), ("down", -1))}
    compare(y, systems, ["ndcg"], qid=qid)
    assert reads == [24]
