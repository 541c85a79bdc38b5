"""Splitters keep a query in one piece."""

import numpy as np
import pytest

from skcalrank import (
    PreferenceTarget,
    QueryKFold,
    QueryShuffleSplit,
    RankingTarget,
    train_test_query_split,
)

SPLITTERS = [
    QueryKFold(3),
    QueryKFold(4, shuffle=True, random_state=1),
    QueryShuffleSplit(5, random_state=0),
    QueryShuffleSplit(3, test_size=0.4, train_size=2, random_state=0),
]
every_splitter = pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)


@pytest.fixture
def sizes(rng):
    return rng.integers(1, 9, size=14)


def as_lists(splits):
    return [(train.tolist(), test.tolist()) for train, test in splits]


@every_splitter
def test_queries_stay_whole(splitter, data):
    X, y, qid = data
    splits = list(splitter.split(X, y, qid=qid))
    assert len(splits) == splitter.get_n_splits()
    for train, test in splits:
        assert len(np.unique(np.r_[train, test])) == len(train) + len(test)
        for rows, others in ((train, test), (test, train)):
            inside = set(qid[rows].tolist())
            assert inside.isdisjoint(qid[others].tolist())
            assert len(rows) == np.isin(qid, list(inside)).sum()
            # Rows of a query stand together, in their order.
            runs = 1 + (np.diff(qid[rows]) != 0).sum()
            assert runs == len(inside)
            assert all((np.diff(rows[qid[rows] == q]) > 0).all() for q in inside)


@every_splitter
def test_all_sources_of_queries_agree(splitter, data):
    X, y, qid = data
    expected = as_lists(splitter.split(X, y, qid=qid))
    assert as_lists(splitter.split(X, y, groups=qid)) == expected
    assert as_lists(splitter.split(X, RankingTarget(y, qid))) == expected
    assert as_lists(splitter.split(X, PreferenceTarget.from_relevance(y, qid))) == expected
    assert as_lists(splitter.split(X, qid=[f"q{q}" for q in qid])) == expected
    assert as_lists(splitter.split(X.tolist(), qid=qid.tolist())) == expected


def test_series_with_queries_is_a_source(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    series = pandas.Series(y, index=pandas.Index(qid, name="qid"))
    expected = as_lists(QueryKFold(3).split(X, y, qid=qid))
    assert as_lists(QueryKFold(3).split(X, series)) == expected


@every_splitter
def test_splits_are_reproducible(splitter, data):
    X, y, qid = data
    once = as_lists(splitter.split(X, y, qid=qid))
    assert as_lists(splitter.split(X, y, qid=qid)) == once


def test_shuffling_depends_on_the_seed(data):
    X, y, qid = data
    plain, one, two = (
        as_lists(QueryKFold(3, shuffle=s is not None, random_state=s).split(X, y, qid=qid))
        for s in (None, 1, 2)
    )
    assert plain != one != two != plain
    assert as_lists(QueryShuffleSplit(3, random_state=1).split(X, qid=qid)) != as_lists(
        QueryShuffleSplit(3, random_state=2).split(X, qid=qid)
    )


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("n_splits", [2, 3, 5, 14])
def test_folds_cover_and_balance_the_queries(shuffle, n_splits, data):
    X, y, qid = data
    splitter = QueryKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    tests = [test for _, test in splitter.split(X, y, qid=qid)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(len(qid)))
    counts = [len(set(qid[test].tolist())) for test in tests]
    assert max(counts) - min(counts) <= 1


def test_a_seed_without_shuffling_is_harmless(data):
    # StackingRegressor sets the random_state of the splitter it is given.
    X, _, qid = data
    splitter = QueryKFold(3)
    splitter.random_state = np.random.RandomState(0)
    expected = as_lists(QueryKFold(3).split(X, qid=qid))
    assert as_lists(splitter.split(X, qid=qid)) == expected


def test_sizes_are_counts_of_queries(data):
    X, _, qid = data
    splitter = QueryShuffleSplit(4, test_size=3, train_size=5, random_state=0)
    for train, test in splitter.split(X, qid=qid):
        assert len(set(qid[test].tolist())) == 3
        assert len(set(qid[train].tolist())) == 5


@every_splitter
def test_label_form_splits_rows(splitter, rng):
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 3, (20, 4))
    expected = as_lists(splitter.split(X, y))
    assert as_lists(splitter.split(X, PreferenceTarget.from_relevance(y))) == expected
    assert as_lists(splitter.split(X, qid=np.arange(20))) == expected


# -- train_test_query_split ------------------------------------------------------------


@every_splitter
def test_labels_are_as_many_as_rows(splitter, data):
    X, y, qid = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(splitter.split(X, y[1:], groups=qid))


def test_arrays_are_split_alike(data):
    X, y, qid = data
    row = np.arange(len(y))
    parts = train_test_query_split(row, X, y, row.tolist(), qid=qid, random_state=0)
    assert len(parts) == 10
    train, test, X_train, X_test, y_train, y_test, list_train, list_test, q_train, q_test = parts
    assert sorted([*train, *test]) == row.tolist()
    for rows, X_, y_, list_, q_ in (
        (train, X_train, y_train, list_train, q_train),
        (test, X_test, y_test, list_test, q_test),
    ):
        assert np.array_equal(X_, X[rows])
        assert np.array_equal(y_, y[rows])
        assert list_ == rows.tolist()
        assert np.array_equal(q_, qid[rows])
    assert set(q_train.tolist()).isdisjoint(q_test.tolist())
    assert len(set(q_test.tolist())) == 4  # a quarter of 14, rounded up


def test_targets_keep_their_queries_in_both_parts(data):
    X, y, qid = data
    parts = train_test_query_split(X, RankingTarget(y, qid), test_size=5, random_state=3)
    _, X_test, y_train, y_test = parts
    assert len(set(y_test.qid.tolist())) == 5
    assert set(y_test.qid.tolist()).isdisjoint(y_train.qid.tolist())
    by_qid = train_test_query_split(X, y, qid=qid, test_size=5, random_state=3)
    assert np.array_equal(by_qid[1], X_test)
    preferences = PreferenceTarget.from_relevance(y, qid)
    parts = train_test_query_split(X, preferences, test_size=5, random_state=3)
    assert np.array_equal(parts[3].qid, y_test.qid)


def test_frames_stay_frames(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame(X)
    train, test, y_train, y_test = train_test_query_split(
        frame, RankingTarget(y, qid), train_size=0.5, random_state=0
    )
    assert isinstance(train, pandas.DataFrame)
    assert np.array_equal(y[train.index], np.asarray(y_train))
    assert np.array_equal(y[test.index], np.asarray(y_test))


def test_label_form_is_split_by_rows(rng):
    X, y = rng.normal(size=(8, 2)), rng.integers(0, 3, (8, 4))
    X_train, X_test, _, y_test = train_test_query_split(X, y, random_state=0)
    assert y_test.shape == (2, 4)
    assert np.array_equal(np.sort(np.vstack([X_train, X_test]), axis=0), np.sort(X, axis=0))
