"""Comparisons by people on some queries and a judge on all: the regression estimator."""

import warnings
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from skcalrank import PreferenceTarget
from skcalrank.evaluation import RegressionMeans, compare, compare_values, evaluate_run
from skcalrank.measures import DCG, ERR, NDCG
from skcalrank.metrics import evaluate

N_QUERIES, N_HUMAN, N_DOCUMENTS = 60, 20, 7
MEASURES = ["ndcg@5", "precision@3", "map", "rbp", ERR()]


@pytest.fixture
def judged(rng):
    """Return labels of people on some queries, scores, measures and other arguments of compare."""
    n = N_QUERIES * N_DOCUMENTS
    qid = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    labels = rng.integers(0, 4, n) * 1.0
    judge = np.clip(labels + rng.integers(-1, 3, n), 0, 3)
    scores = {"a": labels + 2 * rng.normal(size=n), "b": judge + 2 * rng.normal(size=n)}
    people = np.where(np.isin(qid, rng.permutation(N_QUERIES)[:N_HUMAN]), labels, np.nan)
    return {"y_true": people, "scores": scores, "qid": qid, "judge": judge, "labels": labels}


def compared(judged, measures=MEASURES, **options):
    options = {k: v for k, v in judged.items() if k != "labels"} | options
    return compare(options.pop("y_true"), options.pop("scores"), measures, **options)


def numbers(result, names=("n", "low", "high")):
    rows = [*result.estimates, *result.differences]
    means = [getattr(row, "mean", None) or getattr(row, "difference", None) for row in rows]
    return np.array([means, *([getattr(row, name) for row in rows] for name in names)], dtype=float)


def by_least_squares(human, judge, is_human, level=0.95):
    """Return mean, low and high by a regression of numpy, with a full hat matrix."""
    n, n_all = is_human.sum(), len(is_human)
    design = np.column_stack([np.ones(n), judge[is_human] - judge.mean()])
    beta = np.linalg.lstsq(design, human, rcond=None)[0]
    residuals = human - design @ beta
    inverse = np.linalg.inv(design.T @ design)
    variance = residuals @ residuals / (n - 2)
    leverage = np.diag(design @ inverse @ design.T)
    meat = design.T @ np.diag(residuals**2 / (1 - leverage)) @ design
    first = max(variance * inverse[0, 0], (inverse @ meat @ inverse)[0, 0])
    rest = variance + beta[1] ** 2 * judge.var(ddof=1)
    error = np.sqrt(first * (1 - n / n_all) + rest / n_all)
    half = stats.t.ppf((1 + level) / 2, n - 2) * error
    return beta[0], beta[0] - half, beta[0] + half, 2 * stats.t.sf(abs(beta[0]) / error, n - 2)


def test_means_and_differences_are_intercepts(judged):
    measures = ["ndcg@5", "precision@3", "rbp"]  # of others one query has a large leverage
    result = compared(judged, measures, confidence_level=0.9, correction=None)
    of_judge = [
        evaluate(judged["judge"], s, measures, qid=judged["qid"], average=False)
        for s in judged["scores"].values()
    ]
    is_human = ~np.isnan(judged["y_true"][::N_DOCUMENTS])
    for number, measure in enumerate(measures):
        human = result.values[:, number, is_human]
        judge = np.array([values[measure] for values in of_judge])
        name = result.measures[number]
        for row, z, f in zip(result.estimates[number :: len(measures)], human, judge):
            expected = by_least_squares(z, f, is_human, 0.9)
            assert (row.mean, row.low, row.high) == pytest.approx(expected[:3], rel=1e-9)
            found = result.corrections[row.system, name]
            assert found.human == pytest.approx(z.mean(), rel=1e-12)
            assert found.judge == pytest.approx(f.mean(), rel=1e-12)
            alone, error = stats.sem(z), (row.high - row.mean) / stats.t.ppf(0.95, N_HUMAN - 2)
            assert found.gain == pytest.approx((alone / error) ** 2, rel=1e-9)
        row = result.differences[number]
        expected = by_least_squares(human[1] - human[0], judge[1] - judge[0], is_human, 0.9)
        found = (row.difference, row.low, row.high, row.p)
        assert found == pytest.approx(expected, rel=1e-9)
        assert row.wins + row.ties + row.losses == row.n == N_HUMAN


def test_undefined_queries_make_a_linearized_ratio(rng):
    n, n_all = 40, 200
    is_human = np.arange(n_all) < n
    human, judge = rng.random((1, n)), rng.random((1, n_all))
    judge[:, :n] += human
    human[:, ::3], judge[:, ::7] = np.nan, np.nan
    found = RegressionMeans.of(human, human, judge, is_human)
    defined, theta = ~np.isnan(human[0]), found.mean[0]
    u = np.where(defined, human[0] - theta, 0.0)
    f = np.nan_to_num(judge[0] - np.nanmean(judge))
    mean, low, high, _ = by_least_squares(u, f, is_human)
    share = by_least_squares(defined * 1.0, f, is_human)[0]
    assert mean == pytest.approx(0, abs=1e-12)
    error = (high - low) / 2 / stats.t.ppf(0.975, n - 2) / share
    assert found.error[0] == pytest.approx(error, rel=1e-9)
    assert found.freedom[0] == defined.sum() - 2


@pytest.mark.parametrize(("factor", "shift"), [(3.0, -2.0), (-1.0, 0.0), (-1e-3, 1.0)])
def test_affine_judges_give_the_same(rng, factor, shift):
    human, judge = rng.random((4, 15)), rng.random((4, 50))
    judge[1, ::4], human[2, ::3] = np.nan, np.nan
    is_human = rng.permutation(50) < 15
    one = RegressionMeans.of(human, human, judge, is_human)
    other = RegressionMeans.of(human, human, factor * judge + shift, is_human)
    for name in ("mean", "error", "residual", "explained"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-10)


def test_order_of_rows_and_queries_does_not_matter(judged, rng):
    order = rng.permutation(len(judged["qid"]))
    scores = {name: s[order] for name, s in judged["scores"].items()}
    rows = {name: judged[name][order] for name in ("y_true", "qid", "judge")}
    found = numbers(compared(judged | rows | {"scores": scores}))
    np.testing.assert_allclose(found, numbers(compared(judged)), rtol=1e-10)


def test_a_judge_equal_to_people_gives_the_value_of_all_queries(judged):
    found = compared(judged, judge=judged["labels"])
    everything = compare(judged["labels"], judged["scores"], MEASURES, qid=judged["qid"])
    np.testing.assert_allclose(numbers(found, ()), numbers(everything, ()), rtol=1e-12)


def test_labels_of_all_queries_need_no_judge(judged):
    found = compared(judged, y_true=judged["labels"])
    everything = compare(judged["labels"], judged["scores"], MEASURES, qid=judged["qid"])
    names = ("n", "low", "high")
    np.testing.assert_allclose(numbers(found, names), numbers(everything, names), rtol=1e-12)
    assert {of.gain for of in found.corrections.values()} == {1.0}


@pytest.mark.parametrize("n_varying", [0, 1])
def test_judges_that_cannot_correct_leave_people_alone(judged, n_varying):
    rows = ~np.isnan(judged["y_true"])
    varying = judged["qid"][rows][0] if n_varying else None
    constant, people = np.where(judged["qid"] == varying, 0.0, 1.0), judged["y_true"]
    found = compared(judged, ["precision@3"], y_true=people, judge=constant)
    scores = {name: s[rows] for name, s in judged["scores"].items()}
    alone = compare(people[rows], scores, ["precision@3"], qid=judged["qid"][rows])
    names = ("n", "low", "high")
    np.testing.assert_allclose(numbers(found, names), numbers(alone, names), rtol=1e-12)


@pytest.mark.parametrize("judge_of", ["one query decides", "people are far"])
def test_slopes_that_rest_on_little_are_not_used(rng, judge_of):
    judge, is_human = rng.random((1, 60)), np.arange(60) < 15
    if judge_of == "people are far":
        judge[:, 15:] += 9
    else:
        judge[:, 3] += 9
    human = judge[:, :15] + 0.1 * rng.random((1, 15))
    found = RegressionMeans.of(human, human, judge, is_human)
    assert found.mean[0] == pytest.approx(human.mean(), rel=1e-12)
    assert found.error[0] == pytest.approx(stats.sem(human[0]), rel=1e-12)


@pytest.mark.parametrize("n", [20, 30])
def test_a_judge_that_errs_where_people_did_not_look(rng, n):
    # Of a value 0 or 1 the judge makes each 0 a 1 in 6 % of the queries: where people see none of
    # them, there are no residuals, and an interval of these alone covers in half of the draws.
    n_all, covers = 2000, []
    for _ in range(200):
        values = (rng.random((1, n_all)) < 0.5) * 1.0
        judge = np.maximum(values, rng.random((1, n_all)) < 0.06)
        found = RegressionMeans.of(values[:, :n], values[:, :n], judge, np.arange(n_all) < n)
        low, high = found.ends(0.95)[:, 0]
        covers.append(low <= 0.5 <= high)
    assert np.mean(covers) > 0.92


def test_residuals_vary_at_least_as_if_the_judge_erred_on_three_queries(rng):
    human = rng.random((1, 30))
    judge = np.concatenate([human, rng.random((1, 70))], axis=1)
    found = RegressionMeans.of(human, human, judge, np.arange(100) < 30)
    assert found.residual[0] == pytest.approx(human.var(ddof=1) * 3 / 30, rel=1e-9)
    squared = found.error[0] ** 2
    assert squared >= found.residual[0] / 30 + found.explained[0] / 100


def test_values_by_people_do_not_depend_on_the_scale_of_the_judge(judged):
    one, other = (compared(judged, [ERR()], judge=judged["judge"] * of) for of in (1, 2))
    for key, correction in one.corrections.items():
        assert other.corrections[key].human == correction.human


def test_equal_systems_are_told(judged):
    a = judged["scores"]["a"]
    with pytest.warns(UserWarning, match="Systems are equal on every query for every measure"):
        compared(judged, ["precision@3"], scores={"a": a, "same": a})
    constant = np.where(np.isnan(judged["y_true"]), np.nan, np.tile([1.0] + [0] * 6, N_QUERIES))
    rank = np.tile(np.arange(7.0), N_QUERIES)
    with pytest.warns(UserWarning, match="Systems differ by the same number on every query"):
        compared(judged, ["dcg"], scores={"a": rank, "b": -rank}, y_true=constant)


def test_frames_tables_and_numbers_of_queries(judged):
    pytest.importorskip("pandas")
    result = compared(judged)
    frame, pairs = result.to_frame(), result.to_frame(pairs=True)
    for table, rows in ((frame, result.estimates), (pairs, result.differences)):
        keys = [row[: list(row._fields).index("measure") + 1] for row in rows]
        expected = [result.corrections[key][:3] for key in keys]
        assert table[["human", "judge", "gain"]].values.tolist() == [list(of) for of in expected]
    assert "Student, with a judge of 60 queries" in str(result)
    assert result.to_csv().splitlines()[0].endswith("human,judge,gain")
    assert result.per_query("map").notna().all(axis=1).sum() == N_HUMAN
    (correction,) = (result.corrections[row[:3]] for row in result.differences[2:3])
    needed = result.queries_needed(0.1).n_queries[2]

    def power(n):
        shift = 0.1 / np.sqrt(correction.residual / n + correction.explained / N_QUERIES)
        bound = stats.t.isf(0.025, n - 2)
        return stats.nct.sf(bound, n - 2, shift) + stats.nct.cdf(-bound, n - 2, shift)

    assert power(needed - 1) < 0.8 <= power(needed)
    with pytest.warns(UserWarning, match="let the judge label more queries"):
        assert np.isinf(result.queries_needed(1e-3).n_queries).all()


@pytest.mark.long
def test_judged_parts_of_queries_have_the_expectation_of_whole_ones(rng):
    measures = ["precision@2", "rbp", "dcg@3", DCG(gain="linear"), "eru"]
    labels, judge = rng.integers(0, 3, 8) * 1.0, rng.integers(0, 4, 8) * 1.0
    qid, scores = np.repeat([0, 1], 4), {"a": rng.normal(size=8), "b": rng.normal(size=8)}
    subsets = [s for size in (1, 2, 3, 4) for s in combinations(range(4), size)]
    chances = rng.dirichlet(np.ones(len(subsets)), 2)
    pi = np.array([[of[[i in s for s in subsets]].sum() for i in range(4)] for of in chances])
    mean = 0.0
    for (first, p), (second, q) in product(*(list(zip(subsets, of)) for of in chances)):
        people = np.full(8, np.nan)
        rows = [*first, *(4 + i for i in second)]
        people[rows] = labels[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compare(
                people, scores, measures, qid=qid, judge=judge, judged_probability=pi.ravel()
            )
        mean = mean + p * q * found.values
        if len(rows) == 8 and p == chances[0].max():
            assert found.values.shape == (2, len(measures), 2)
    expected = [evaluate(labels, s, measures, qid=qid, average=False) for s in scores.values()]
    expected = np.array([list(of.values()) for of in expected])
    np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("n", "n_all"), [(20, 90), (20, 20)])
def test_judged_parts_are_regressed_on_what_the_judge_adds(rng, n, n_all):
    is_human = rng.permutation(n_all) < n
    judge, alone = rng.random(n_all), rng.random(n)
    added = rng.random(n) - 0.5
    found = RegressionMeans.of((alone + added)[None], alone[None], judge[None], is_human)
    design = np.column_stack([np.ones(n), judge[is_human] - judge.mean(), added])
    beta = np.linalg.lstsq(design, alone, rcond=None)[0]
    assert found.mean[0] == pytest.approx(beta[0], rel=1e-9)
    assert found.freedom[0] == n - 3
    slope, residuals = beta[1], alone - design @ beta
    squared = (residuals @ residuals / (n - 3), slope**2 * judge.var(ddof=1))
    assert (found.residual[0], found.explained[0]) == pytest.approx(squared, rel=1e-9)
    other = RegressionMeans.of(
        (alone - 3 * added)[None], alone[None], 1 - 3 * judge[None], is_human
    )
    np.testing.assert_allclose([other.mean, other.error], [found.mean, found.error], rtol=1e-10)


def test_whole_queries_do_not_need_a_probability(judged):
    sure = np.where(np.isnan(judged["y_true"]), np.nan, 1.0)
    found = numbers(compared(judged, judged_probability=sure))
    np.testing.assert_allclose(found, numbers(compared(judged)), rtol=1e-10)


def wrong(judged, **changes):
    """Return arguments with some rows replaced, given as {name: (rows, value)}."""
    out = dict(judged)
    for name, (rows, value) in changes.items():
        out[name] = np.array(out.get(name, np.ones(len(judged["qid"]))), dtype=float)
        out[name][rows] = value
    return out


FIRST = slice(0, N_DOCUMENTS)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"judge": None}, "y_true contains NaN"),
        ({"judge": (3, np.nan)}, {}, "judge must hold a label for every row, got NaN in row 3"),
        ({}, {"judge": [1.0, 2.0]}, "judge must be one number for each of 420 rows"),
        ({"y_true": (slice(None), np.nan)}, {}, "at least two queries, got 0"),
        (
            {"y_true": (slice(None), np.nan), "judge": (0, 0)},
            {"y_true": np.append(np.ones(7), np.full(413, np.nan))},
            "at least two queries, got 1",
        ),
        ({"y_true": (slice(2, 5), 1.0)}, {}, r"for ndcg@5, got \d of 7 of query 0"),
        (
            {"y_true": (slice(2, 5), 1.0), "judged_probability": (0, 0.5)},
            {"measures": ["precision@3", "map"]},
            r"for map, got \d of 7 of query 0",
        ),
        ({"y_true": (2, 1.0), "judged_probability": (2, 0)}, {}, r"\(0, 1\] for every .*got 0"),
        ({"y_true": (2, 1.0), "judged_probability": (2, np.nan)}, {}, "got nan"),
        ({"y_true": (2, 1.0), "judged_probability": (2, 1.5)}, {}, "got 1.5"),
        ({}, {"judged_probability": [1.0]}, "judged_probability must be one number for each"),
        ({}, {"judged_probability": [1.0], "judge": None}, "must be None without judge"),
        ({}, {"test": "permutation"}, "test must be 't' beside judge"),
        ({}, {"interval": "bootstrap-t"}, "interval must be 'student' beside judge"),
        ({}, {"tail": 0.5}, "tail must be None beside judge"),
        ({}, {"y_true": np.ones((10, 42))}, "one label for each document beside judge"),
        (
            {"judged_probability": (0, 1)},
            {"ties": "worst", "measures": ["dcg"]},
            "ties must be one of 'average', 'stable'",
        ),
        ({"judge": (0, -1)}, {}, "judge: y must be non-negative for"),
    ],
)
def test_wrong_arguments(judged, changes, options, message):
    if "judged_probability" in changes or "y_true" in changes:
        is_first = judged["qid"] == 0
        judged["y_true"] = np.where(is_first, np.nan, judged["y_true"])
    with pytest.raises(ValueError, match=message):
        compared(wrong(judged, **changes), **options)


def test_preferences_have_no_judge(judged):
    target = PreferenceTarget.from_orders([[1, 2]])
    with pytest.raises(ValueError, match="one label for each document beside judge"):
        compared(judged, y_true=target, qid=None)


def test_another_order_of_the_judge_is_refused(judged):
    pandas = pytest.importorskip("pandas")
    series = {name: pandas.Series(judged[name]) for name in ("y_true", "judge")}
    compared(judged | series)
    with pytest.raises(ValueError, match="judge must have its rows in the order of y_true"):
        compared(judged | series | {"judge": series["judge"][::-1]})


def test_few_human_queries_are_told(judged):
    few = np.where(judged["qid"] < 9, judged["labels"], np.nan)
    with pytest.warns(UserWarning, match="People judged 9 queries on which"):
        compared(judged, y_true=few)
    nothing = np.where(np.isnan(judged["y_true"]), np.nan, 0.0)
    with pytest.warns(UserWarning, match="People judged 0 queries on which"):
        assert np.isnan(compared(judged, ["map"], y_true=nothing).differences[0].p)


def test_queries_that_were_not_drawn_at_random_are_told(judged):
    by_query = judged["judge"].reshape(-1, N_DOCUMENTS).mean(1)
    most = np.argsort(-by_query)[:N_HUMAN]
    chosen = np.where(np.isin(judged["qid"], most), judged["labels"], np.nan)
    with pytest.warns(UserWarning, match="do not look like a random draw: by the judge, dcg"):
        compared(judged, ["dcg"], y_true=chosen)


def test_missing_labels_of_people_may_be_none(judged):
    people = [None if np.isnan(y) else int(y) for y in judged["y_true"]]
    np.testing.assert_array_equal(
        numbers(compared(judged, y_true=people)), numbers(compared(judged))
    )


@pytest.fixture
def runs(rng):
    """Return judgments of people, of a judge, and two runs."""
    names = [f"q{number}" for number in rng.permutation(40)]
    judge = {q: {d: int(rng.integers(0, 3)) for d in "abcdef"} for q in names}
    drawn = rng.permutation(names)[:15].tolist()
    people = {q: {d: int(rng.integers(0, 2)) + g // 2 for d, g in judge[q].items()} for q in drawn}
    runs = {
        name: {q: {d: g + 2 * rng.random() for d, g in judge[q].items()} for q in names}
        for name in "xy"
    }
    return people, judge, runs


def test_runs_are_corrected_as_rows_are(runs):
    people, judge, runs = runs
    measures = ["ndcg", "map", "precision@2"]
    rows = [(q, d) for q in judge for d in judge[q]]
    y = [people.get(q, {}).get(d, np.nan) for q, d in rows]
    scores = {name: [run[q][d] for q, d in rows] for name, run in runs.items()}
    options = {"qid": [q for q, _ in rows], "judge": [judge[q][d] for q, d in rows]}
    plain = {"ndcg": NDCG(gain="linear"), "map": "map", "precision@2": "precision@2"}
    expected = compare(y, scores, plain, empty="zero", **options)
    values = {
        name: evaluate_run(people, run=run, measures=measures, judge=judge, average=False)
        for name, run in runs.items()
    }
    found = compare_values(values)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-10)
    assert found.queries.tolist() == list(judge)
    for name, run in runs.items():
        means = evaluate_run(people, run=run, measures=measures, judge=judge)
        assert list(means.values()) == pytest.approx(
            [row.mean for row in found.estimates if row.system == name], rel=1e-12
        )
        assert values[name] == evaluate_run(
            people, {q: run[q] for q in people}, measures, average=False
        )
    assert "| ndcg, human alone | ndcg, judge alone |" in str(found)
    assert found.judged_ == {name: of.judged_ for name, of in values.items()}


def test_runs_of_queries_that_were_not_drawn_at_random_are_told(rng):
    judge = {
        f"q{i}": {d: int(rng.random() < 0.2 + (i < 15) / 2) for d in "abcd"} for i in range(60)
    }
    run, people = {q: dict.fromkeys("abcd", 0.5) for q in judge}, dict([*judge.items()][:15])
    with pytest.warns(UserWarning, match="by the judge, precision@4 of 'the run' is higher there"):
        evaluate_run(people, run, ["precision@4"], judge=judge)


def test_wrong_runs_with_a_judge(runs):
    people, judge, runs = runs
    some = {"measures": ["map"], "average": False}
    lacking = dict(list(judge.items())[1:])
    people = people | {next(iter(judge)): {"a": 1}}
    with pytest.raises(ValueError, match="judge must hold every query that people judged"):
        evaluate_run(people, run=runs["x"], judge=lacking, **some)
    with pytest.raises(ValueError, match="qrels must hold labels of people for at least two"):
        evaluate_run(dict([*judge.items()][:1]), run=runs["x"], judge=judge, **some)
    with pytest.raises(ValueError, match="judge: qrels and run must have a query in common"):
        evaluate_run(judge, run=runs["x"], judge={"other": {"a": 1}}, **some)
    values = [evaluate_run(people, run=run, judge=judge, **some) for run in runs.values()]
    values[1].judge_ = None
    with pytest.raises(ValueError, match="all evaluated with judge="):
        compare_values(dict(zip("xy", values)))
    with pytest.raises(ValueError, match="test must be 't' beside judge"):
        compare_values({"x": values[0]}, test="wilcoxon")
