"""Targets that carry their queries."""

import copy
import pickle

import numpy as np
import pytest
from cases import make_data
from sklearn.model_selection import cross_val_score, train_test_split

from skcalrank import (
    ClickCounts,
    ClickSessions,
    MultiLabelTarget,
    NDCGRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    get_scorer,
    sample_comparisons,
    sample_sessions,
)
from skcalrank.data import MissingQidError
from skcalrank.metrics import ndcg_score

# Cases are kinds of values and operations, of which each has lines of its own.
pytestmark = pytest.mark.every_case

Y = np.array([2.0, 0.0, 1.0, 1.0, 0.0])
QID = np.array(["b", "a", "b", "c", "a"])

KEYS = {
    "rows": np.array([3, 0, 0]),
    "list": [4, 1],
    "no rows": np.array([], dtype=int),
    "mask": np.array([True, False, True, False, True]),
    "slice": slice(1, 4),
    "backwards": slice(None, None, -1),
    "all": slice(None),
    "ellipsis": ...,
    "rows and ellipsis": (np.array([2, 1]), Ellipsis),
    "mask and ellipsis": (np.array([True, False, True, False, True]), Ellipsis),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_slices_keep_their_queries(key):
    part = RankingTarget(Y, QID)[key]
    assert isinstance(part, RankingTarget)
    np.testing.assert_array_equal(np.asarray(part), Y[key])
    np.testing.assert_array_equal(part.qid, QID[key])


COPIES = {
    "copy": lambda y: y.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda y: pickle.loads(pickle.dumps(y)),
    "astype": lambda y: y.astype(np.float32),
    "take": lambda y: y.take(np.arange(5)),
    "np.take": lambda y: np.take(y, np.arange(5)),
    "again": lambda y: RankingTarget(y, y.qid),
}


@pytest.mark.parametrize("how", COPIES.values(), ids=COPIES)
def test_copies_keep_their_queries(how):
    twin = how(RankingTarget(Y, QID))
    assert isinstance(twin, RankingTarget)
    np.testing.assert_array_equal(np.asarray(twin), Y)
    np.testing.assert_array_equal(twin.qid, QID)


def test_one_row_is_a_number():
    assert RankingTarget(Y, QID)[0] == 2.0
    assert RankingTarget(Y, QID)[np.array([0])].qid.tolist() == ["b"]


LOSSES = {
    "sum": lambda y: y + 0,
    "sort": np.sort,
    "partition": lambda y: np.partition(y, 2),
    "sort in place": lambda y: (y.sort(), y)[1],
    "concatenate": lambda y: np.concatenate([y, y])[:5].view(RankingTarget),
    "out": lambda y: (np.take(Y, [4, 3, 2, 1, 0], out=y), y)[1],
    "reshape": lambda y: y.reshape(5, 1).ravel(),
    "comparison": lambda y: (y > 0).astype(float),
    "repeat": lambda y: np.repeat(y, 2)[::2],
}


@pytest.mark.parametrize("how", LOSSES.values(), ids=LOSSES)
def test_what_loses_the_queries_says_so(how, rng):
    lost = how(RankingTarget(Y, QID))
    X = rng.normal(size=(5, 2))
    assert lost.qid is None
    for call in (
        lambda: NDCGRanker().fit(X, lost),
        lambda: ndcg_score(lost, Y),
        lambda: get_scorer("ndcg")(NDCGRanker().fit(X, Y, QID), X, lost),
        lambda: next(QueryKFold(2).split(X, lost)),
    ):
        with pytest.raises(MissingQidError, match="lost its qid"):
            call()
    # Given beside it, nothing is missing.
    assert ndcg_score(lost, Y, qid=QID) == ndcg_score(np.asarray(lost), Y, qid=QID)


def test_repr_shows_the_queries():
    assert repr(RankingTarget([1, 2], [7, 8])) == "RankingTarget([1, 2], qid=[7, 8])"
    assert "qid" not in repr(RankingTarget([1, 2], [7, 8]) * 2)


def test_train_test_split_takes_the_queries_along():
    train, test = train_test_split(RankingTarget(Y, QID), test_size=2, random_state=0)
    assert len(train.qid) == 3
    assert len(test.qid) == 2


def test_carried_queries_are_those_given(rng):
    X, y, qid = make_data(rng)
    given = NDCGRanker().fit(X, y, qid)
    carried = NDCGRanker().fit(X, RankingTarget(y, qid))
    assert np.array_equal(given.predict(X), carried.predict(X))
    assert given.score(X, y, qid) == carried.score(X, RankingTarget(y, qid))
    both = NDCGRanker().fit(X, RankingTarget(y, qid), qid=qid.tolist())
    assert np.array_equal(given.predict(X), both.predict(X))


def series(y, qid, kind):
    pandas = pytest.importorskip("pandas")
    if kind == "index":
        return pandas.Series(y, index=pandas.Index(qid, name="qid"))
    levels = [qid, np.arange(len(y))]
    return pandas.Series(y, index=pandas.MultiIndex.from_arrays(levels, names=["qid", "document"]))


@pytest.mark.parametrize("kind", ["index", "level"])
def test_a_series_carries_queries_in_its_index(kind, rng):
    X, y, qid = make_data(rng)
    given = NDCGRanker().fit(X, y, qid)
    target = series(y, qid, kind)
    carried = NDCGRanker().fit(X, target)
    assert np.array_equal(given.predict(X), carried.predict(X))
    assert carried.score(X, target) == given.score(X, y, qid)
    scores = given.predict(X)
    assert ndcg_score(target, scores, k=3) == ndcg_score(y, scores, qid=qid, k=3)
    scorer = get_scorer("ndcg@3")
    folds = cross_val_score(NDCGRanker(), X, target, cv=QueryKFold(3), scoring=scorer)
    expected = cross_val_score(
        NDCGRanker(), X, RankingTarget(y, qid), cv=QueryKFold(3), scoring=scorer
    )
    assert np.array_equal(folds, expected)
    with pytest.raises(ValueError, match="qid must equal"):
        ndcg_score(target, scores, qid=qid[::-1])


def test_a_series_with_another_index_carries_none(rng):
    pandas = pytest.importorskip("pandas")
    X, y, qid = make_data(rng)
    ranker = NDCGRanker().fit(X, y, qid)
    with pytest.raises(MissingQidError):
        ranker.score(X, pandas.Series(y))


JUDGED = {
    "from_comparisons": lambda q: PreferenceTarget.from_comparisons([0], [1], q),
    "from_choices": lambda q: PreferenceTarget.from_choices([[0, 1]], [1], q),
    "from_relevance": lambda q: PreferenceTarget.from_relevance([1, 0, 1], q),
    "from_matrix": lambda q: PreferenceTarget.from_matrix([[0, 1], [0, 0], [0, 0]], q),
    "sessions": lambda q: ClickSessions(q, [[0, 1]], [1]),
    "counts": lambda q: ClickCounts(q, [0], [1], [2], [1]),
    "labels": lambda q: MultiLabelTarget(np.eye(3), q),
    "target": lambda q: RankingTarget([1, 0, 1], q),
    "drawn comparisons": lambda q: sample_comparisons([1, 0, 1], q, n_comparisons=3),
    "drawn sessions": lambda q: sample_sessions([0.1, 0.5, 0.5], q, n_sessions=3),
}


@pytest.mark.parametrize("make", JUDGED.values(), ids=JUDGED)
def test_targets_keep_the_queries_they_were_made_of(make):
    pandas = pytest.importorskip("pandas")
    qid = np.array([3, 3, 5])
    y = make(qid)
    qid[:] = 7
    for other in (copy.deepcopy(y), copy.copy(y), pickle.loads(pickle.dumps(y))):
        if other.qid.flags.writeable and isinstance(y, RankingTarget):
            other.qid[:] = 8
    np.testing.assert_array_equal(y.qid, [3, 3, 5])
    rows = pandas.Index(["a", "b", "c"])
    assert make(pandas.Series([3, 3, 5], rows)).index.equals(rows)
