"""Choice between rankers of clicks by how they predict the clicks on other queries."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from skcalrank import AggregatedRanker, sample_sessions
from skcalrank.aggregation import position_based
from skcalrank.data import Rows
from skcalrank.evaluation import click_ranker
from skcalrank.metrics import ndcg_score

THETA = 1 / np.arange(1.0, 7)


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(0)
    qid, X = np.repeat(np.arange(150), 6), rng.normal(size=(900, 3))
    p = 1 / (1 + np.exp(1 - 2 * X[:, 0]))
    y = sample_sessions(
        p, qid, n_sessions=6000, order_scores=3 * X[:, 1], model="position", propensity=THETA,
        random_state=0,
    )  # fmt: skip
    return X, y


def rows_of(y):
    return Rows(np.empty((len(y), 0)), y, y.queries())


def by_definition(ranker, X, y, n_folds, theta=THETA):
    """The criterion of each query, and that of relevances themselves, written with loops."""
    estimate = position_based(y, theta)
    e, t, scores, fold_of = estimate.examinations, estimate.relevance, {}, {}
    queries = np.unique(y.qid)
    for fold, (train, test) in enumerate(rows_of(y).folds(n_folds)):
        predicted = clone(ranker).fit(X[train], y[train]).predict(X[test])
        for q in np.unique(y.qid[test]):
            scores[q], fold_of[q] = predicted[y.qid[test] == q], fold
    rows = {q: y.qid == q for q in queries}
    value, ideal = np.empty((2, len(queries)))
    for i, q in enumerate(queries):
        others = [o for o in queries if fold_of[o] != fold_of[q]]
        pairs = [(e[rows[o]], scores[o], t[rows[o]]) for o in [*others, q]]
        centered = [
            (w, s - np.average(s, weights=w), r - np.average(r, weights=w)) for w, s, r in pairs
        ]
        a = sum((w * s * r).sum() for w, s, r in centered[:-1])
        a = max(a / sum((w * s * s).sum() for w, s, r in centered[:-1]), 0)
        w, s, r = centered[-1]
        value[i] = (w * r**2).sum() - (w * (r - a * s) ** 2).sum()
        ideal[i] = (w * r**2).sum()
    return value, ideal


def of_clicks(row_weight=5, **options):
    options = {"propensity": THETA} | options
    return AggregatedRanker("position_based", structure_options=options, row_weight=row_weight)


def training_queries(X, y):
    (test,) = rows_of(y).held_out(0.3)
    return X[~test], y[~test]


def test_the_criterion_is_the_reduction_of_the_squared_error(log):
    X, y = log
    choice = click_ranker(X, y, propensity=THETA, candidates={"m=5": of_clicks()}).choice
    expected, _ = by_definition(of_clicks(), *training_queries(X, y), 5)
    np.testing.assert_allclose(choice.comparison.values[0, 0], expected)


def test_tests_and_intervals_are_those_of_folds(log):
    X, y = log
    comparison = click_ranker(X, y, propensity=THETA).choice.comparison
    assert "corrected resampled t-test" in comparison.test_title
    X, y = training_queries(X, y)
    _, first = np.unique(y.queries().codes, return_index=True)
    folds = [np.isin(y.qid[first], y.qid[test]) for _, test in rows_of(y).folds(5)]
    expected = [[[of[0, fold].mean() for fold in folds]] for of in comparison.values]
    np.testing.assert_allclose(comparison.fold_values, expected)
    means = comparison.fold_values[:, 0]
    change, row = means[1] - means[0], comparison.differences[0]
    error = change.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert row.p == pytest.approx(2 * stats.t.sf(abs(change.mean()) / error, 4))


@pytest.mark.long
def test_losses_are_the_largest_over_powers_of_propensities(log):
    X, y = log
    candidates = {"m=5": of_clicks(), "naive": of_clicks(0, propensity=np.ones(6))}
    choice = click_ranker(X, y, propensity=THETA, candidates=candidates).choice
    lost = np.zeros(2)
    for exponent in (0.5, 0.75, 1, 1.25, 1.5):
        found = [
            by_definition(r, *training_queries(X, y), 5, THETA**exponent)
            for r in candidates.values()
        ]
        means = np.array([value.mean() for value, _ in found])
        lost = np.maximum(lost, (means.max() - means) / found[0][1].mean())
    assert list(choice.lost.values()) == pytest.approx(lost.tolist())
    assert choice.name == list(candidates)[np.argmin(lost)]


@pytest.mark.filterwarnings("ignore:The effective sample size")
def test_propensities_that_are_too_steep_do_not_choose_what_trusts_them():
    # Users of 1 / k taken for k ** -1.6, in a log of one order that knows nothing of the relevance.
    rng = np.random.default_rng(0)
    qid, X = np.repeat(np.arange(200), 8), rng.normal(size=(1600, 3))
    p = 1 / (1 + np.exp(1 - X[:, 0]))
    theta = 1 / np.arange(1.0, 9)
    y = sample_sessions(
        p, qid, n_sessions=4000, order_scores=1e6 * (0.3 * X[:, 0] + X[:, 1]), model="position",
        propensity=theta, random_state=0,
    )  # fmt: skip
    candidates = {
        "m=5": of_clicks(propensity=theta**1.6),
        "clipped": of_clicks(0, propensity=np.maximum(theta**1.6, 0.1)),
        "naive": of_clicks(0, propensity=np.ones(8)),
    }
    choice = click_ranker(X, y, propensity=theta**1.6, candidates=candidates).choice
    means = {row.system: row.mean for row in choice.comparison.estimates}

    def value(name):
        ranker = clone(candidates[name]).fit(X, y)
        return ndcg_score(p > 0.5, ranker.predict(X), qid=qid)

    trusted = max(means, key=means.get)
    assert choice.name != trusted
    assert value(choice.name) > value(trusted) + 0.03
    assert value(choice.name) >= value("naive")


def test_the_one_that_loses_least_is_fitted_to_the_training_queries_and_to_all(log):
    X, y = log
    report = click_ranker(X, y, propensity=THETA)
    choice = report.choice
    means = {row.system: row.mean for row in choice.comparison.estimates}
    assert choice.name == min(choice.lost, key=choice.lost.get)
    assert means["naive"] < means["m=5"]
    expected = clone(choice.ranker).fit(*training_queries(X, y))
    np.testing.assert_allclose(choice.ranker.predict(X), expected.predict(X))
    np.testing.assert_allclose(report.ranker.predict(X), expected.fit(X, y).predict(X))
    chosen = [line for line in str(choice).splitlines() if line.endswith("chosen")]
    assert len(chosen) == 1
    assert chosen[0].startswith(choice.name)


@pytest.mark.filterwarnings("ignore:The effective sample size")
def test_default_candidates_differ_in_weight_clipping_and_correction(log):
    X, y = log
    steep = THETA**2  # clipped at .1 from the fourth position on
    given = {
        "m=5": of_clicks(5, propensity=steep),
        "m=1": of_clicks(1, propensity=steep),
        "m=20": of_clicks(20, propensity=steep),
        "shrunk": of_clicks(5, propensity=steep, prior=0.2),
        "weight 1": of_clicks(0, propensity=steep),
        "clipped": of_clicks(0, propensity=np.maximum(steep, 0.1)),
        "naive": of_clicks(0, propensity=np.ones(6)),
    }
    own = click_ranker(X, y, propensity=steep, candidates=given).choice.comparison
    default = click_ranker(X, y, propensity=steep, prior=0.2).choice.comparison
    assert default.systems == own.systems == list(given)
    np.testing.assert_array_equal(default.values, own.values)
    assert "shrunk" not in click_ranker(X, y, propensity=steep).choice.comparison.systems


def test_other_candidates_do_not_move_the_criterion(log):
    X, y = log
    both = {"a": of_clicks(), "b": of_clicks(0)}
    alone = click_ranker(X, y, propensity=THETA, candidates={"a": of_clicks()}).choice
    together = click_ranker(X, y, propensity=THETA, candidates=both).choice
    np.testing.assert_allclose(together.comparison.values[0], alone.comparison.values[0])


def test_candidates_have_names(log):
    X, y = log
    with pytest.raises(ValueError, match="candidates must hold at least one entry"):
        click_ranker(X, y, candidates={}, propensity=THETA)


class Half(AggregatedRanker):
    """A ranker of every second feature."""

    def __init__(self, first=0):
        super().__init__("position_based", structure_options={"propensity": THETA})
        self.first = first

    def fit(self, X, y):
        return super().fit(X[:, self.first :: 2], y)

    def predict(self, X):
        return super().predict(X[:, self.first :: 2])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The effective sample size")
def test_candidates_of_one_quality_are_rarely_told_apart():
    # With a plain test over the held-out queries .12 of them.
    n, wrong, plain = 1000, 0, 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        qid, X = np.repeat(np.arange(45), 6), rng.normal(size=(270, 20))
        w = np.repeat(rng.normal(size=10), 2)
        p = 1 / (1 + np.exp(1 - X @ w / 3))
        y = sample_sessions(
            p, qid, n_sessions=225, model="position", propensity=THETA, random_state=seed
        )
        candidates = {"first": Half(), "second": Half(1)}
        comparison = click_ranker(X, y, propensity=THETA, candidates=candidates).choice.comparison
        wrong += comparison.differences[0].p < 0.05
        first, second = comparison.values[:, 0]
        plain += stats.ttest_rel(first, second).pvalue < 0.05
    assert wrong / n <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / n)
    assert plain > wrong
