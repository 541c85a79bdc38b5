"""The compiled scorer of a stack gives the scores that its members give."""

from functools import cache

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, pickled
from tables import FORMS, labels, made_columns

from skcalrank import NDCGRanker, StackingRanker, TabularRanker, load_digits_queries
from skcalrank.data import MissingQidError

COLUMNS = made_columns(160)
Y, QID = labels(COLUMNS)
N_LEVELS = 130  # more than have an indicator


def many_levels(form, seed=0, new=0):
    """Columns in a form, with a category of many levels, some of which are new."""
    rng = np.random.default_rng(seed)
    levels = [f"l{k}" for k in rng.integers(0, N_LEVELS + new, 160) ** 2 // N_LEVELS]
    gaps = rng.random(160) < 0.1
    level = [None if gap else name for gap, name in zip(gaps, levels)]
    return FORMS[form]({**COLUMNS, "level": level})


def arrays():
    X, y, qid = load_digits_queries(n_queries=40, n_documents=10)
    X = X.astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X, y, qid


@cache
def fitted(trees, normalize, is_array=False):
    few = trees and boosted(trees, n_estimators=5)
    ranker = TabularRanker("ndcg@5", trees=few, normalize=normalize, n_jobs=1)
    ranker.fit(*(arrays() if is_array else (many_levels("records"), Y, QID)))
    ranker.weights_ = np.ones(len(ranker.weights_))  # some member may have had none
    return pickled(ranker)


def of_members(ranker, X, qid):
    """Scores without the compiled scorer."""
    twin = pickled(ranker)
    twin._compiled = None
    return twin.predict(X, qid)


every_stack = pytest.mark.parametrize(
    ("trees", "normalize"),
    [(trees, "pooled") for trees in (*ENGINES, None)] + [(FIRST, "query"), (None, "query")],
)


@pytest.mark.product
@every_stack
@pytest.mark.parametrize("new", [0, 400])
def test_scores_of_tables(trees, normalize, new):
    ranker, table = fitted(trees, normalize), many_levels("records", seed=1, new=new)
    assert ranker._compiled.is_of(ranker)
    scores = ranker.predict(table, QID)
    assert np.ptp(scores) > 0
    np.testing.assert_allclose(scores, of_members(ranker, table, QID), rtol=1e-12, atol=1e-12)


@every_stack
def test_scores_of_arrays(trees, normalize):
    ranker, (X, _, qid) = fitted(trees, normalize, is_array=True), arrays()
    order = np.random.default_rng(1).permutation(len(X))
    for rows in (slice(None), order):  # queries that lie together, and apart
        expected = of_members(ranker, X[rows], qid[rows])
        # Scores near 0 are differences of larger ones.
        scores = ranker.predict(X[rows], qid[rows])
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("trees", [*ENGINES, None])
def test_a_query_has_the_scores_that_it_has_in_any_batch(trees):
    ranker, (X, _, qid) = fitted(trees, "pooled", is_array=True), arrays()
    whole = ranker.predict(X, qid)
    for query in range(5):
        rows = qid == query
        np.testing.assert_array_equal(ranker.predict(X[rows], qid[rows]), whole[rows])


def test_members_that_change_after_fit_count():
    ranker, (X, y, qid) = pickled(fitted(None, "pooled", is_array=True)), arrays()
    before = ranker.predict(X, qid)
    ranker.weights_[0] = 0.0
    lighter = ranker.predict(X, qid)
    assert np.ptp(lighter - before) > 0
    np.testing.assert_allclose(lighter, pickled(ranker).predict(X, qid), rtol=1e-12)
    ranker.rankers_[1].fit(X[qid < 20], y[qid < 20], qid[qid < 20])
    assert np.ptp(ranker.predict(X, qid) - lighter) > 0


def test_scaled_features_need_the_query():
    X, _, _ = arrays()
    with pytest.raises(MissingQidError, match="predict got none"):
        fitted(None, "pooled", is_array=True).predict(X)


def test_other_members_are_asked_themselves():
    X, y, qid = load_digits_queries(n_queries=12, n_documents=8)
    stack = StackingRanker([("linear", NDCGRanker())]).fit(X, y, qid)
    assert stack._compiled is None
    assert np.ptp(stack.predict(X, qid)) > 0
