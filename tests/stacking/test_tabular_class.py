"""The class for tables: its parameters, members and defaults."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted, pickled
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tables import FORMS, labels, made_columns

from skcalrank import (
    BoostedRanker,
    RankingTarget,
    StackingRanker,
    TabularRanker,
    load_digits_queries,
)
from skcalrank.model_selection import QueryKFold

COLUMNS = made_columns(160)
Y, QID = labels(COLUMNS)


@pytest.fixture(scope="module")
def few():
    return boosted(FIRST, n_estimators=5, learning_rate=0.2)


def test_scores_are_those_of_the_stack(few):
    table = FORMS["records"](COLUMNS)
    common = {"query_weight": "documents", "measure": "ndcg@5", "n_jobs": 1}
    trees = {
        "by_targets": clone(few).set_params(**common),
        "by_grades": clone(few).set_params(loss="pairwise_squared", targets="grades", **common),
    }
    linear = StackingRanker(measure="ndcg@5").fit(table, Y, QID).named_rankers_
    members = [(name, clone(ranker)) for name, ranker in linear.items()]
    stack = StackingRanker([*members, *trees.items()], measure="ndcg@5")
    stack.fit(table, Y, QID)
    ranker = TabularRanker("ndcg@5", trees=few, n_jobs=1).fit(table, Y, QID)
    np.testing.assert_array_equal(ranker.predict(table, QID), stack.predict(table, QID))
    np.testing.assert_array_equal(ranker.weights_, stack.weights_)


def test_members_have_plain_names(few):
    X, y, qid = load_digits_queries(n_queries=30, n_documents=8)
    ranker = TabularRanker(trees=few).fit(X, y, qid)
    assert list(ranker.linear_) == ["scaled", "logs", "hinges"]
    assert list(ranker.boosted_) == ["by_targets", "by_grades"]
    assert len(ranker.weights_) == 5
    assert all(trees.learning_rate == 0.2 for trees in ranker.boosted_.values())
    assert few.query_weight == "pairs"  # the template stays as it is
    assert not hasattr(few, "booster_")
    assert list(TabularRanker(trees=None).fit(X, y, qid).boosted_) == []


def test_few_held_out_queries_are_mixed_by_squares_of_grades(few):
    X, y, qid = load_digits_queries(n_queries=30, n_documents=8, graded=True)
    enough, too_few = qid >= 0, qid < 25  # of which 12 and 10 are held out
    fits = [TabularRanker(trees=few).fit(X[rows], y[rows], qid[rows]) for rows in (enough, too_few)]
    assert [ranker.loss_ for ranker in fits] == ["pairwise_logistic", "pairwise_squared"]
    members = [(name, clone(ranker)) for name, ranker in fits[1].named_rankers_.items()]
    stack = StackingRanker(members, loss="pairwise_squared", targets="grades")
    stack.fit(X[too_few], y[too_few], qid[too_few])
    np.testing.assert_array_equal(fits[1].weights_, stack.weights_)
    asked = TabularRanker(trees=few, loss="pairwise_logistic")
    assert asked.fit(X[too_few], y[too_few], qid[too_few]).loss_ == "pairwise_logistic"
    given = TabularRanker(trees=few).fit_targets(X[too_few], 1.5 * y[too_few], qid[too_few])
    assert given.loss_ == "pairwise_squared"


def test_repr_and_parameters_are_short():
    ranker = TabularRanker()
    assert repr(ranker) == "TabularRanker()"
    names = "columns loss measure n_jobs normalize random_state trees verbose"
    assert list(ranker.get_params()) == names.split()
    assert ranker.get_params()["normalize"] == "pooled"
    assert "trees__learning_rate" in TabularRanker(trees=BoostedRanker()).get_params()


def test_trees_are_tuned_through_a_search(few):
    X, y, qid = load_digits_queries(n_queries=30, n_documents=8)
    grid = {"trees__learning_rate": [0.1, 0.3], "normalize": ["pooled"]}
    search = GridSearchCV(TabularRanker(trees=few), grid, cv=QueryKFold(2))
    search.fit(X, RankingTarget(y, qid))
    best = search.best_params_["trees__learning_rate"]
    assert all(trees.learning_rate == best for trees in search.best_estimator_.boosted_.values())


def test_an_evaluation_set_stops_the_trees(few):
    X, y, qid = load_digits_queries(n_queries=30, n_documents=8)
    held = qid < 8
    ranker = TabularRanker(trees=few)
    ranker.fit(X[~held], y[~held], qid[~held], eval_set=(X[held], y[held], qid[held]))
    for trees in ranker.boosted_.values():
        score = trees.score(X[held], y[held], qid[held])
        assert trees.validation_scores_.max() == pytest.approx(score, abs=1e-6)


def test_what_was_fitted_stays(few):
    X, y, qid = load_digits_queries(n_queries=30, n_documents=8)
    ranker = TabularRanker(trees=few).fit(X, y, qid)
    scores = ranker.predict(X, qid)
    other = ranker.set_params(normalize="query", trees=None, n_jobs=2, measure="dcg")
    np.testing.assert_array_equal(other.predict(X, qid), scores)
    np.testing.assert_array_equal(pickled(other).predict(X, qid), scores)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"measure": "map"}, "measure must be positional for the closed forms of TabularRanker"),
        ({"trees": "catboost"}, "trees"),
        ({"trees": BoostedRanker}, "trees"),
        ({"normalize": "none"}, "normalize"),
    ],
)
def test_invalid_parameters(params, message):
    X, y, qid = load_digits_queries(n_queries=12, n_documents=8)
    with pytest.raises(ValueError, match=message):
        TabularRanker(**params).fit(X, y, qid)


@pytest.mark.parametrize("trees", ["auto", None], ids=["auto", "none"])
def test_parameters_of_trees_need_a_ranker(trees):
    ranker = TabularRanker(trees=trees)
    remedy = rf"trees must be .* to set trees__max_leaf_nodes, got {trees!r}: .*BoostedRanker\(\)"
    with pytest.raises(ValueError, match=remedy):
        ranker.set_params(trees__max_leaf_nodes=3)
    with pytest.raises(ValueError, match="did you mean max_leaf_nodes="):
        TabularRanker(trees=BoostedRanker()).set_params(trees__num_leaves=3)
    ranker.set_params(trees__max_leaf_nodes=3, trees=BoostedRanker(), n_jobs=1)
    assert (ranker.trees.max_leaf_nodes, ranker.n_jobs) == (3, 1)
