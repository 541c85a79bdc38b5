"""Trees that find no split are told, and leaves of few rows are as small as they need to be."""

import warnings

import numpy as np
import pytest
from boosting_cases import ENGINES, boosted

from skcalrank import TabularRanker
from skcalrank.data import NotAMeanWarning

every_engine = pytest.mark.parametrize("engine", ENGINES)

#: Queries of two documents, of which a feature tells the better one.
X_TWO, Y_TWO, QID_TWO = (
    np.tile([[1.0, 0], [0, 1]], (24, 1)),
    np.tile([1, 2], 24),
    np.arange(48) // 2,
)


def made(engine, **params):
    """A ranker with the leaves that it has by default."""
    return boosted(engine, min_samples_leaf=None, **params)


@every_engine
@pytest.mark.parametrize("n_queries", [4, 10, 24])
@pytest.mark.parametrize("n_models", [1, 2])
def test_few_queries_of_two_documents_are_learned(engine, n_queries, n_models):
    rows = slice(2 * n_queries)
    ranker = made(engine, n_estimators=5, n_models=n_models, random_state=0)
    ranker.fit(X_TWO[rows], Y_TWO[rows], QID_TWO[rows])
    assert ranker.score(X_TWO, Y_TWO, QID_TWO) == 1


@every_engine
def test_leaves_that_split_are_those_of_the_library(engine, rng):
    X, qid = rng.normal(size=(400, 3)), np.arange(400) // 8
    y = np.clip(np.round(X[:, 0] + rng.normal(size=400)), 0, 3)
    own = made(engine, n_estimators=5).fit(X, y, qid)
    least = 1 if engine == "xgboost" else 20
    given = made(engine, n_estimators=5).set_params(min_samples_leaf=least).fit(X, y, qid)
    np.testing.assert_array_equal(own.predict(X), given.predict(X))


@every_engine
@pytest.mark.parametrize(
    ("X", "least", "said"), [(X_TWO, 200, 200), (np.ones((48, 1)), None, 1)], ids=["large", "equal"]
)
def test_trees_without_a_split_are_told(engine, X, least, said):
    ranker = made(engine, n_estimators=3).set_params(min_samples_leaf=least)
    with pytest.warns(NotAMeanWarning, match=rf"no split of \d+ rows .* min_samples_leaf={said},"):
        ranker.fit(X, Y_TWO, QID_TWO)
    assert np.ptp(ranker.predict(X)) == 0


def test_labels_without_an_order_are_told_once():
    ranker = made(next(iter(ENGINES)), n_estimators=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(X_TWO, np.ones(48), QID_TWO)
    assert not any(issubclass(warning.category, NotAMeanWarning) for warning in caught)


def test_a_start_without_trees_is_learned_from():
    ranker = made(next(iter(ENGINES)), n_estimators=3).set_params(min_samples_leaf=200)
    ranker.set_params(start=TabularRanker(trees=None))
    with pytest.warns(NotAMeanWarning, match="no split"):
        ranker.fit(X_TWO, Y_TWO, QID_TWO)
    assert ranker.score(X_TWO, Y_TWO, QID_TWO) == 1
