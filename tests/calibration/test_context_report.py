"""What the row form cannot remove, against distributions that are enumerated."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from skcalrank import AveragePrecisionRanker, LeastSquaresRanker, RecallRanker
from skcalrank.calibration import SharedRows, context_report, regret_bound
from skcalrank.data import Queries
from skcalrank.model_selection import QueryKFold
from skcalrank.preprocessing import QueryContext
from skcalrank.rankers import measure_of

# Documents of four kinds with these chances of relevance; every outcome by its number of queries.
KINDS, TENTHS = np.array([[0, 2, 2, 2], [1, 3, 3, 3], [0, 1, 3, 3]]), np.array([9, 5, 10, 0])
TIMES = [4, 4, 2]
MEASURES = ["recall@1", "ndcg@2", "auc", "precision@1", "rbp"]


def population(kinds=KINDS, tenths=TENTHS, times=TIMES):
    """X, y and qid of the population, twice, so that each of two folds is all of it."""
    X, y, r = [], [], kinds.shape[1]
    for row, many in zip(kinds, times):
        for labels in product((0, 1), repeat=r):
            chance = np.where(labels, tenths[row], 10 - tenths[row]) / 10
            copies = round(100 * many * chance.prod())
            X += [np.eye(len(tenths))[row]] * copies
            y += [labels] * copies
    X, y = np.concatenate(X), np.concatenate(y)
    n = len(y) // r
    return np.tile(X, (2, 1)), np.tile(y, 2), np.arange(2 * n).repeat(r)


def excess_of(queries, measure):
    """E |U - f|^2 by enumeration."""
    means = np.array([law.expected_targets(measure) for law in queries.laws])
    share = np.array(TIMES)[:, None] / 10
    weight = np.broadcast_to(share, KINDS.shape)
    rows = np.bincount(KINDS.ravel(), (weight * means).ravel())
    rows = rows / np.bincount(KINDS.ravel(), weight.ravel())
    return (share * (means - rows[KINDS]) ** 2).sum(), rows


@pytest.mark.parametrize("measure", MEASURES)
def test_excess_of_exact_models_and_its_bound(measure):
    queries = SharedRows.independent(KINDS, TENTHS / 10, np.array(TIMES) / 10)
    X, y, qid = population()
    # A tree of the kind and the mean kind of the query is exact.
    ranker = LeastSquaresRanker(measure, estimator=DecisionTreeRegressor())
    report = context_report(ranker, X, y, qid, cv=2, statistics=["mean"])
    excess, rows = excess_of(queries, measure)
    assert report.excess == pytest.approx(excess, abs=1e-9)
    assert report.excess == pytest.approx(report.row_error - report.context_error)
    assert report.bound == pytest.approx(regret_bound(measure, "squared", excess, r=4), abs=1e-6)
    assert queries.regret(measure, rows, ties="worst") <= report.bound + 1e-9
    assert report.bound <= report.bound_high
    assert report.context_value >= report.row_value - 1e-9
    separable = measure in ("precision@1", "rbp")
    assert (report.excess < 1e-9) == separable


def test_models_that_see_nothing_more_have_no_excess():
    X, y, qid = population()
    X = X @ np.arange(4.0)[:, None]
    ranker, qid = RecallRanker(LinearRegression(), k=1), [("query", name) for name in qid.tolist()]
    report = context_report(ranker, X, y, qid, cv=2, statistics=["size"])
    assert report.excess == pytest.approx(0, abs=1e-9)
    assert report.standard_error == pytest.approx(0, abs=1e-9)
    assert report.row_value == pytest.approx(report.context_value)
    assert report.n_queries == 2000
    lines = str(report).splitlines()
    assert lines[0].split() == ["queries", "2000"]
    assert len(lines) == 7


def test_the_error_is_that_of_folds(rng):
    qid, X = np.repeat(np.arange(60), 6), rng.normal(size=(360, 3))
    y = (X[:, 0] + rng.normal(size=360) > 1).astype(float)
    one, two = (
        context_report(RecallRanker(LinearRegression(), k=2), X, y, qid, cv=cv) for cv in (4, 2)
    )
    queries, excess = Queries.from_qid(qid), []
    wide = QueryContext(["mean", "std", "max", "size"]).fit_transform(X, qid=qid)
    measure = measure_of(RecallRanker(k=2))
    targets = measure.targets(measure.labels(y), queries)
    for train, test in QueryKFold(4).split(X, y, qid):
        errors = []
        for table in (wide[:, :3], wide):
            model = RecallRanker(LinearRegression(), k=2, loss="squared").fit(
                table[train], y[train], qid[train]
            )
            errors.append(((targets[test] - model.predict(table[test])) ** 2).sum() / 15)
        excess.append(errors[0] - errors[1])
    assert one.excess == pytest.approx(np.mean(excess))
    error = np.std(excess, ddof=1) * np.sqrt(1 / 4 + 1 / 3)
    assert one.standard_error == pytest.approx(error)
    high = max(np.mean(excess) + stats.t.ppf(0.95, 3) * error, 0)
    assert one.bound_high == pytest.approx(float(regret_bound(measure, "squared", high, r=6)))
    assert two.standard_error != one.standard_error


def test_statistics_that_tell_nothing_explain_none_of_the_regret():
    # Queries of equal mean, spread, maximum and size: 5 is before 16, and rows put it behind.
    kinds = np.array(
        [[0, 4, 5, 10, 14, 15, 20], [1, 2, 6, 11, 12, 16, 20], [0, 4, 5, 11, 12, 16, 20]]
    )
    tenths, times = np.zeros(21, dtype=int), [9, 9, 2]
    tenths[[5, 6, 10, 14, 15, 16]] = 9, 1, 10, 10, 10, 5
    X, y, qid = population(kinds, tenths, times)
    X = X @ np.arange(21.0)[:, None]
    report = context_report(RecallRanker(DecisionTreeRegressor(), k=1), X, y, qid, cv=2)
    queries = SharedRows.independent(kinds, tenths / 10, np.array(times) / 20)
    scores = queries.minimizer("squared", "recall@1")
    assert report.bound_high == pytest.approx(0, abs=1e-6)
    assert queries.regret("recall@1", scores) > 0.05
    assert "regret explained by context  at most" in str(report)


def test_order_of_rows_does_not_matter(rng):
    X, y, qid = population()
    ranker = RecallRanker(DecisionTreeRegressor(random_state=0), k=1)
    first = np.concatenate([np.arange(0, len(qid), 4), rng.permutation(len(qid))])
    order = first[np.sort(np.unique(first, return_index=True)[1])]
    one, two = (context_report(ranker, X[o], y[o], qid[o], cv=2) for o in (slice(None), order))
    assert two.excess == pytest.approx(one.excess)
    assert two.row_value == pytest.approx(one.row_value)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (AveragePrecisionRanker(), "positional measure, got AveragePrecisionRanker"),
        (LinearRegression(), "positional measure, got LinearRegression"),
        (RecallRanker(targets="separable"), "targets must be 'measure', got 'separable'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors(ranker, message):
    with pytest.raises(ValueError, match=message):
        context_report(ranker, *population())
