"""Default folds of LeastSquaresRankerCV depend on the names of queries, not on their order."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from skcalrank import LeastSquaresRankerCV
from skcalrank.rankers import door
from skcalrank.rankers._folds import make_splits

ALPHAS = [0.1, 10.0, 1000.0]


@pytest.fixture
def data(rng):
    qid = rng.permutation(np.repeat(np.arange(10, 22), 7))
    X = rng.normal(size=(84, 4))
    X[rng.uniform(size=X.shape) < 0.3] = 0.0
    return X, rng.integers(0, 4, 84) * 1.0, qid


@pytest.fixture
def label_data(rng):
    return rng.normal(size=(30, 3)), rng.integers(0, 5, (30, 4)) * 1.0


def results(ranker, *data):
    found = clone(ranker).fit(*data)
    return found.cv_results_["mean_test_score"], found.cv_results_["split0_test_score"]


def assert_same_folds(ranker, data, rows):
    expected = results(ranker, *data)
    moved = [None if part is None else part[rows] for part in data]
    np.testing.assert_allclose(results(ranker, *moved), expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
def test_default_folds_do_not_depend_on_the_order_of_the_rows(data, rng):
    X, y, qid = data
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS, cv=4)
    weight = rng.uniform(0.1, 2, len(y))
    rows = rng.permutation(len(y))
    forms = [(X, y, qid, None), (X, y, qid, weight), (csr_matrix(X), y, qid, None)]
    for form in (*forms, (X.astype("f"), y, qid, None)):
        assert_same_folds(ranker, form, rows)
    assert_same_folds(ranker, (X, y, qid, None), np.argsort(qid, kind="stable"))
    assert_same_folds(ranker, (X, y, qid, None), np.argsort(-qid, kind="stable"))


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
def test_rows_without_names_are_numbered(label_data):
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS, cv=4)
    X, y = label_data
    weight = np.ones(len(X))
    weight[::3] = 0.0  # is left out before
    expected = results(ranker, X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(results(ranker, X, y, None, weight), expected, rtol=1e-9)
    assert not np.allclose(results(ranker, X[::-1], y[::-1]), results(ranker, X, y), rtol=1e-6)


def test_default_folds_do_not_depend_on_types_and_containers(data):
    X, y, qid = data
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS)
    expected = results(ranker, X, y, qid)
    for form in (X, csr_matrix(X), np.asfortranarray(X)):
        np.testing.assert_allclose(results(ranker, form, y, qid * 1.0), expected, rtol=1e-9)
    np.testing.assert_allclose(results(ranker, X, y, qid.astype(object)), expected)
    assert not np.allclose(results(ranker, X, y, [f"{q}" for q in qid]), expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
def test_default_folds_are_whole_and_even(data, label_data):
    X, y, qid = data
    default = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS)
    _, problem = door(default, default._check_params(), X, y, qid)
    for n_splits, expected in ((None, [2, 2, 2, 3, 3]), (4, [3] * 4), (12, [1] * 12)):
        splits = make_splits(n_splits, problem)
        tested = [np.unique(qid[split.test]) for split in splits]
        assert sorted(map(len, tested)) == expected
        assert len(np.unique(np.concatenate(tested))) == 12
        assert all(split.train is None for split in splits)
    few = np.isin(qid, [10, 12, 14])
    assert default.fit(X[few], y[few], qid[few]).n_splits_ == 3
    _, one_query = door(default, default._check_params(), X, y, None)
    rows = make_splits(3, one_query)
    assert sorted(np.concatenate([split.test for split in rows])) == list(range(len(y)))
    assert default.fit(*label_data).n_splits_ == 5
    # Sorted feature values do not make sorted folds.
    order = np.column_stack([np.arange(200.0), np.zeros(200)])
    _, sorted_rows = door(default, default._check_params(), order, np.arange(200.0) / 50, None)
    rows = make_splits(2, sorted_rows)
    assert 30 < (rows[0].test < 100).sum() < 70
