"""Choice between rankers of clicks by how they predict the clicks on other queries."""

import numpy as np
import pytest
from sklearn.base import clone

from skcalrank import AggregatedRanker, QueryKFold, sample_sessions
from skcalrank.aggregation import position_based
from skcalrank.evaluation import choose_by_clicks, click_candidates

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


def by_definition(ranker, X, y, n_folds):
    """The criterion of each query, written with loops."""
    estimate = position_based(y, THETA)
    e, t, scores, fold_of = estimate.examinations, estimate.relevance, {}, {}
    queries = np.unique(y.qid)
    for fold, (train, test) in enumerate(QueryKFold(n_folds).split(X, y)):
        predicted = clone(ranker).fit(X[train], y[train]).predict(X[test])
        for q in np.unique(y.qid[test]):
            scores[q], fold_of[q] = predicted[y.qid[test] == q], fold
    rows = {q: y.qid == q for q in queries}
    value = np.empty(len(queries))
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
    return value


def test_the_criterion_is_the_reduction_of_the_squared_error(log):
    X, y = log
    candidates = click_candidates(THETA)
    choice = choose_by_clicks(X, y, {"m=5": candidates["m=5"]}, propensity=THETA, cv=3)
    np.testing.assert_allclose(
        choice.comparison.values[0, 0], by_definition(candidates["m=5"], X, y, 3)
    )


def test_the_best_predictor_is_fitted_to_all_sessions(log):
    X, y = log
    choice = choose_by_clicks(X, y, propensity=THETA)
    means = {row.system: row.mean for row in choice.comparison.estimates}
    assert choice.name == max(means, key=means.get)
    assert means["naive"] < means["m=5"]
    expected = click_candidates(THETA)[choice.name].fit(X, y)
    np.testing.assert_allclose(choice.ranker.predict(X), expected.predict(X))
    chosen = [line for line in str(choice).splitlines() if line.endswith("chosen")]
    assert len(chosen) == 1
    assert chosen[0].startswith(choice.name)


def test_other_candidates_do_not_move_the_criterion(log):
    X, y = log
    class_ = AggregatedRanker("position_based", structure_options={"propensity": THETA})
    both = {"a": class_, "b": clone(class_).set_params(row_weight=0)}
    alone = choose_by_clicks(X, y, {"a": class_}, propensity=THETA, cv=2)
    together = choose_by_clicks(X, y, both, propensity=THETA, cv=2)
    np.testing.assert_allclose(together.comparison.values[0], alone.comparison.values[0])


def test_a_prior_adds_a_candidate():
    assert "shrunk" not in click_candidates(THETA)
    shrunk = click_candidates(THETA, 0.2)["shrunk"]
    assert shrunk.structure_options["prior"] == 0.2


def test_candidates_have_names(log):
    X, y = log
    with pytest.raises(ValueError, match="candidates must hold at least one entry"):
        choose_by_clicks(X, y, {}, propensity=THETA)
