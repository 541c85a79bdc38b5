"""Comparison of estimators by cross-validation over whole queries."""

import numpy as np
import pytest
from joblib import parallel_backend
from scipy import stats
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    CalibratedRankerCV,
    ExternalRanker,
    NDCGRanker,
    QueryKFold,
    QueryShuffleSplit,
    RankingTarget,
)
from skcalrank.data import MissingQidError
from skcalrank.evaluation import cross_compare
from skcalrank.measures import ERR
from skcalrank.metrics import evaluate
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

SIZES = (6, 9, 4, 7, 5, 8, 3, 6, 5, 4)
ESTIMATORS = {
    "ranker": NDCGRanker(),
    "ridge": make_pipeline(StandardScaler(), Ridge()),
    "scaled": make_query_pipeline(QueryScaler(), NDCGRanker(k=3)),
}
MEASURES = ["ndcg@3", "err"]


@pytest.fixture
def sizes():
    return SIZES


def by_hand(estimator, data, cv, measures):
    """Values of every held-out query, and means of the folds."""
    X, y, qid = data
    values, folds = {}, []
    for train, test in cv.split(X, y, qid):
        target = RankingTarget(y, qid)
        fitted = estimator.fit(X[train], target[train])
        found = evaluate(y[test], fitted.predict(X[test]), measures, qid=qid[test], average=False)
        found = np.array(list(found.values()))
        values |= dict(zip(dict.fromkeys(qid[test].tolist()), found.T))
        folds.append(np.nanmean(found, axis=1))
    return values, np.transpose(folds)


def test_values_are_of_held_out_queries(data):
    X, y, qid = data
    result = cross_compare(ESTIMATORS, X, y, qid, MEASURES, cv=QueryKFold(3))
    measures = {"ndcg@3": "ndcg@3", "err": ERR(max_grade=y.max())}
    values, folds = by_hand(NDCGRanker(), data, QueryKFold(3), measures)
    np.testing.assert_allclose(result.fold_values[0], folds)
    found = dict(zip(result.queries.tolist(), result.values[0].T))
    assert found.keys() == values.keys()
    for query, expected in values.items():
        np.testing.assert_allclose(found[query], expected)
    assert result.systems == list(ESTIMATORS)
    assert result.fold_values.shape == (3, 2, 3)
    assert "Means over 3 folds" in result.caption()
    assert "corrected resampled t-test" in result.caption()
    assert "with 95 % intervals (Student, rough: 3 folds)" in result.caption()
    many = cross_compare(ESTIMATORS, X, y, qid, MEASURES, cv=QueryKFold(4))
    assert "intervals (Student)" in many.caption()


class _Slow(NDCGRanker):
    """A fit takes k hours of the clock, and a prediction one."""

    clock = 0

    def fit(self, X, y):
        _Slow.clock += 3600 * self.k
        return super().fit(X, y)

    def predict(self, X, qid=None):
        _Slow.clock += 3600
        return super().predict(X, qid)


def test_times_are_those_of_fits_alone(data, monkeypatch):
    monkeypatch.setattr("skcalrank.evaluation._cross.perf_counter", lambda: _Slow.clock)
    result = cross_compare({"a": _Slow(k=2), "b": _Slow(k=5)}, *data, ["ndcg@3"], cv=3)
    assert result.fit_times.tolist() == [[7200.0] * 3, [18000.0] * 3]


@pytest.mark.parametrize("cv", [QueryKFold(5), QueryShuffleSplit(8, test_size=3, random_state=0)])
def test_the_test_is_that_of_nadeau_and_bengio(data, cv):
    X, y, qid = data
    result = cross_compare(ESTIMATORS, X, y, qid, MEASURES, cv=cv)
    row = result.differences[0]
    folds = result.fold_values[1, 0] - result.fold_values[0, 0]
    n = len(folds)
    ratio = 2 / 8 if n == 5 else 3 / 7
    error = folds.std(ddof=1) * np.sqrt(1 / n + ratio)
    assert row.difference == pytest.approx(folds.mean())
    assert row.p == pytest.approx(2 * stats.t.sf(abs(folds.mean()) / error, n - 1))
    half = stats.t.ppf(0.975, n - 1) * error
    assert (row.low, row.high) == pytest.approx((folds.mean() - half, folds.mean() + half))
    assert row.n == n


def test_queries_held_out_several_times_and_never(data):
    X, y, qid = data
    splits = list(QueryKFold(5).split(X, qid=qid))
    result = cross_compare(ESTIMATORS, X, y, qid, ["ndcg@3"], cv=[splits[0], splits[0], splits[1]])
    once = cross_compare(ESTIMATORS, X, y, qid, ["ndcg@3"], cv=splits)
    counts = np.isnan(result.values[0, 0])
    assert counts.sum() == 6
    np.testing.assert_allclose(result.values[..., ~counts], once.values[..., ~counts])


@pytest.mark.parametrize("n_items", [2, 4])
def test_rows_that_rank_items(rng, n_items):
    estimators = {"a": NDCGRanker(), "b": NDCGRanker(k=1)}
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 3, size=(12, n_items))
    by_rows = cross_compare(estimators, X, y, None, ["ndcg"], cv=KFold(3), empty="zero")
    assert by_rows.queries.tolist() == list(range(12))
    assert not np.isnan(by_rows.values).any()


def test_forms_of_targets_and_splitters(data):
    X, y, qid = data
    first = cross_compare(ESTIMATORS, X, y, qid, MEASURES, cv=GroupKFold(5))
    target = RankingTarget(y, qid)
    with parallel_backend("threading"):
        again = cross_compare(ESTIMATORS, X, target, None, MEASURES, cv=GroupKFold(5), n_jobs=2)
    assert first.differences == again.differences


def test_a_regressor_that_has_its_predict_after_fit_only(data):
    X, y, qid = data
    stack = StackingRegressor([("ridge", Ridge())])
    assert not hasattr(stack, "predict")
    calibrated = CalibratedRankerCV(stack, cv=2).fit(X, y, qid)
    assert calibrated.predict(X, qid).shape == y.shape
    both = {"a": stack, "b": ExternalRanker(stack)}
    with pytest.warns(UserWarning, match="Systems are equal on every query"):
        cross_compare(both, X, y, qid, ["ndcg@3"], cv=2)


def test_frames(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    found = cross_compare(ESTIMATORS, frame, pandas.Series(y), qid, MEASURES, pairs="all")
    expected = cross_compare(ESTIMATORS, X, y, qid, MEASURES, pairs="all")
    np.testing.assert_allclose(found.values, expected.values)
    assert len(found.differences) == 6
    with pytest.raises(ValueError, match="must be called on a comparison over queries"):
        found.queries_needed(0.01)
    assert found.to_frame().n.tolist() == [5] * 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"estimators": {}}, "estimators must hold at least one entry"),
        ({"estimators": [NDCGRanker()]}, "estimators must be a dict"),
        ({"estimators": {"a": "ndcg"}}, r"estimators\['a'\] must have fit and predict, got 'ndcg'"),
        ({"estimators": {"a": StandardScaler()}}, r"must have fit and predict, got StandardScaler"),
        ({"baseline": "z"}, "baseline must be one of 'ranker'"),
        ({"cv": 1}, "cv must be an integer >= 2, the number of folds, got 1"),
        (
            {"cv": list(KFold(4).split(range(sum(SIZES))))},
            "but the training part of split 0 cuts query",
        ),
        ({"cv": [(np.arange(6), np.arange(6, 15))]}, "cv must have at least two splits"),
        ({"cv": 0.5}, "cv must be a number of folds, a splitter or splits, got 0.5"),
        ({"cv": 11}, "n_splits must be at most the number of queries, 10, got 11"),
        ({"qid": None}, "cross_compare needs the queries of the rows"),
        ({"measures": "ndcg"}, "measures must be a list or a dict"),
        ({"correction": "none"}, "correction must .* got 'none'"),
    ],
)
def test_what_cannot_be_compared(data, change, words):
    X, y, qid = data
    given = {"estimators": ESTIMATORS, "X": X, "y": y, "qid": qid, "measures": MEASURES} | change
    with pytest.raises(ValueError, match=words):
        cross_compare(**given)


class Unfit(NDCGRanker):
    """A ranker that must not be fitted."""

    def fit(self, *args, **kwargs):
        raise AssertionError("fitted")


def test_measures_are_checked_against_labels_before_the_first_fit(data):
    X, y, qid = data
    for measure, labels, words in [
        ("map", y, "get_scorer.'map', relevance_level=1"),
        ("dcg", y - 1, "negative"),
    ]:
        with pytest.raises(ValueError, match=words):
            cross_compare({"a": Unfit()}, X, labels, qid, [measure], relevance_level=None)
    found = cross_compare({"a": NDCGRanker()}, X, y, qid, ["map"], cv=2)
    assert found.values.shape == (1, 1, len(SIZES))


def test_folds_that_share_queries_are_refused(data):
    X, y, qid = data
    (train, test), *_ = QueryKFold(2).split(X, qid=qid)
    with pytest.raises(ValueError, match=r"got query .* in both parts of split 1"):
        cross_compare(ESTIMATORS, X, y, qid, MEASURES, cv=[(train, test), (train, train)])
    with pytest.raises(ValueError, match="but the test part of split 0 is empty"):
        cross_compare(ESTIMATORS, X, y, qid, MEASURES, cv=[(train, test[:0]), (train, test)])


def test_a_lost_qid_is_missed(data):
    X, y, qid = data
    with pytest.raises(MissingQidError):
        cross_compare(ESTIMATORS, X, RankingTarget(y, qid) + 1, None, MEASURES)
