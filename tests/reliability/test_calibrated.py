"""Scores with a unit: the order of the ranker, what the values mean, and what is refused."""

import pickle
import warnings

import numpy as np
import pytest
from around_cases import FirstColumn, drawn_law, frozen
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metadata_routing import get_routing_for_object

from skcalrank import (
    BoostedRanker,
    CalibratedRankerCV,
    DCGRanker,
    GuaranteedCutoff,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    StackingRanker,
    TabularRanker,
    load_digits_queries,
)
from skcalrank.data import MissingQidError
from skcalrank.measures import NDCG
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler
from skcalrank.testing import expected_failed_checks

TARGETS = ["relevant", "grade", "gain", "recall", "dcg", "first", "best", NDCG(k=3)]


def calibrated(ranker=None, **params):
    ranker = frozen() if ranker is None else ranker
    return CalibratedRankerCV(ranker, **{"relevance_level": 1, "level": None} | params)


def assert_same_order(values, scores, qid):
    for query in np.unique(qid):
        rows = qid == query
        ranks = [np.unique(of[rows], return_inverse=True)[1] for of in (values, scores)]
        assert_array_equal(*ranks)


@pytest.fixture(scope="module")
def digits():
    return load_digits_queries(n_queries=60, n_documents=12)


@pytest.mark.parametrize("factor", [3.0, 7.0])
def test_values_of_centered_scores_are_those_in_other_units(factor, digits):
    X, y, qid = digits
    pipeline = make_query_pipeline(QueryScaler(), NDCGRanker())
    stack = StackingRanker([("a", NDCGRanker()), ("b", DCGRanker())], normalize="query")
    for ranker in (pipeline, stack):
        values = [calibrated(ranker).fit(c * X, y, qid).predict(c * X, qid) for c in (1, factor)]
        assert_allclose(*values, rtol=1e-6)


# -- the order within a query ------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("n_levels", [None, 2])
def test_order_and_ties_are_those_of_the_ranker(target, n_levels, rng):
    X, y, qid = drawn_law(rng, 60, 20, n_levels)
    fitted = calibrated(target=target).fit(X, y, qid)
    values = fitted.predict(X, qid)
    assert_same_order(values, X[:, 0], qid)
    assert values.min() > 0
    assert values.max() < fitted.unit_
    assert_array_equal(fitted.rank(X, qid), fitted.rank(X, RankingTarget(y, qid).qid))


@pytest.mark.product
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_long_queries_and_saturated_scores_keep_their_order(method, scale, rng):
    X, y, qid = drawn_law(rng, 600, 6)
    fitted = calibrated(method=method).fit(X * scale, y, qid)
    for spread in (1.0, 1e3, 1e12):
        new = rng.normal(size=(12_000, 1)) * scale * spread
        new[100:200] = new[0]
        p = fitted.predict(new, np.zeros(12_000))
        assert_same_order(p, new[:, 0], np.zeros(12_000))
        both = fitted.predict_proba(new, np.zeros(12_000))
        assert ((both > 0) & (both < 1)).all()


@pytest.mark.product
@pytest.mark.parametrize("cv", [3, QueryKFold(3)])
@pytest.mark.parametrize(
    "ranker",
    [
        NDCGRanker(),
        BoostedRanker(engine="sklearn", n_estimators=5),
        TabularRanker(trees=None, random_state=0),
    ],
)
def test_a_fitted_ranker_keeps_its_order_and_its_measure(ranker, cv, digits):
    X, y, qid = digits
    fitted = calibrated(ranker, cv=cv, level=LogisticRegression()).fit(X / 16, y, qid)
    scores = fitted.ranker_.predict(X / 16, qid)
    assert_same_order(fitted.predict(X / 16, qid), scores, qid)
    assert fitted.score(X / 16, y, qid) == fitted.ranker_.score(X / 16, y, qid)
    assert_array_equal(fitted.rank(X / 16, qid), fitted.ranker_.rank(X / 16, qid))


# -- what the values mean ----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_values_are_means_of_the_target(method, rng):
    X, y, qid = drawn_law(rng, 1500, 12, empty=0.0)
    fit = qid < 1000
    for target, truth in (("relevant", y >= 1), ("grade", y), ("gain", 2**y - 1)):
        fitted = calibrated(target=target, method=method, query_weight="documents")
        values = fitted.fit(X[fit], y[fit], qid[fit]).predict(X[~fit], qid[~fit])
        truth = truth[~fit] * 1.0
        for part in np.array_split(np.argsort(values), 4):
            error = truth[part].std() / np.sqrt(len(part))
            assert abs(values[part].mean() - truth[part].mean()) < 4 * error + 0.02


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_of_the_scores_does_not_matter(unit, rng):
    X, y, qid = drawn_law(rng, 60, 8)
    ranker = calibrated(cv=list(QueryKFold(3).split(X, y, qid)))
    first, second = (ranker.fit(X * of, y, qid).predict(X * of, qid) for of in (1.0, unit))
    assert_allclose(first, second, rtol=1e-3)


@pytest.mark.parametrize("away", [100.0, 1e6])
def test_the_zero_of_a_feature_does_not_matter(away, rng):
    # A loss of differences leaves the level of the scores open, which differs between folds.
    X, y, qid = drawn_law(rng, 60, 8)
    others = np.column_stack([X, rng.normal(size=len(X))])
    far = np.column_stack([X, others[:, -1] + away])
    around = (
        calibrated(NDCGRanker(), level=None),
        GuaranteedCutoff(NDCGRanker(), alpha=0.5, by="score", cv=5, relevance_level=1),
    )
    for model, method in zip(around, ("predict", "predict_set")):
        expected = getattr(model.fit(others, y, qid), method)(others, qid)
        found = getattr(model.fit(far, y, qid), method)(far, qid)
        assert_allclose(found, expected, atol=1e-5)


def test_masses_sum_to_about_one(rng):
    X, y, qid = drawn_law(rng, 800, 12, empty=0.0)
    fitted = calibrated(target="recall").fit(X, y, qid)
    has_some = np.bincount(qid, y) > 0
    sums = np.bincount(qid, fitted.predict(X, qid))[has_some]
    assert abs(sums.mean() - 1) < 0.05


def law_with_levels(rng, n_queries=300, size=8):
    """The second column tells whether a query has anything relevant; scores do not."""
    qid = np.repeat(np.arange(n_queries), size)
    level = (rng.random(n_queries) < 0.5)[qid]
    scores = rng.normal(size=len(qid))
    y = (rng.random(len(qid)) < level / (1 + np.exp(-scores))) * 1.0
    return np.column_stack([scores, level]), y, qid


def log_loss(y, p):
    return -np.mean(y * np.log(p) + (1 - y) * np.log1p(-p))


@pytest.mark.parametrize("level", ["auto", LogisticRegression()])
def test_the_level_tells_what_scores_do_not(level, rng):
    X, y, qid = law_with_levels(rng)
    fit = qid < 200
    without = calibrated().fit(X[fit], y[fit], qid[fit])
    with_level = calibrated(level=level).fit(X[fit], y[fit], qid[fit])
    assert without.level_ is None
    assert type(with_level.level_) in (HistGradientBoostingClassifier, LogisticRegression)
    losses = [log_loss(y[~fit], of.predict(X[~fit], qid[~fit])) for of in (without, with_level)]
    assert losses[1] < losses[0] - 0.1
    assert_same_order(with_level.predict(X, qid), X[:, 0], qid)


def test_a_level_that_does_not_help_is_dropped(rng):
    X, y, qid = drawn_law(rng, 100, 10, empty=0.0)
    noise = np.column_stack([X, rng.normal(size=len(X))])
    assert calibrated(level="auto").fit(noise, y, qid).level_ is None
    assert calibrated(level="auto", target="recall").fit(noise, y, qid).level_ is None


@pytest.mark.long
def test_levels_of_tables(rng):
    pandas = pytest.importorskip("pandas")
    X, y, qid = law_with_levels(rng)
    table = pandas.DataFrame({"score": X[:, 0], "kind": np.where(X[:, 1] > 0, "full", "empty")})
    ranker = BoostedRanker(engine="sklearn", n_estimators=5)
    fitted = calibrated(ranker, level="auto").fit(table, y, qid)
    assert fitted.level_ is not None
    assert_same_order(fitted.predict(table, qid), fitted.ranker_.predict(table), qid)
    assert fitted.rank(table, qid).name == "rank"


# -- weights, rows and names ---------------------------------------------------------------------


def test_weights_weigh_rows_in_the_map(rng):
    X, y, qid = drawn_law(rng, 60, 10)
    weight = np.where(qid < 30, 0.0, 1.0 + (y > 0))
    kept = weight > 0
    found = calibrated().fit(X, y, qid, weight)
    expected = calibrated().fit(X[kept], y[kept], qid[kept], weight[kept])
    assert_allclose(found.predict(X, qid), expected.predict(X, qid), rtol=1e-6)
    plain = calibrated().fit(X[kept], y[kept], qid[kept])
    assert (found.predict(X, qid) > plain.predict(X, qid)).mean() > 0.9


@pytest.mark.parametrize("target", ["relevant", "grade", "gain"])
def test_labels_of_weight_zero_do_not_matter(target, rng):
    X, y, qid = drawn_law(rng, 60, 10)
    weight, ranker = rng.integers(0, 2, len(y)), CalibratedRankerCV(frozen(), target)
    # Unweighted labels of another unit, or of another class than all others.
    for labels, unweighted in ((y, 3), (np.ones_like(y), 0)):
        other = np.where(weight == 0, unweighted, labels)
        found, expected = (clone(ranker).fit(X, of, qid, weight) for of in (other, labels))
        assert_allclose(found.predict(X, qid), expected.predict(X, qid), rtol=1e-6)


def test_folds_of_weight_zero_are_left_out(rng):
    X, y, qid = drawn_law(rng, 60, 10)
    weight = (qid % 3 > 0) * 1.0
    splits = [
        (np.flatnonzero(qid % 3 != fold), np.flatnonzero(qid % 3 == fold)) for fold in range(3)
    ]
    kept = np.flatnonzero(weight)
    place = np.cumsum(weight > 0) - 1
    fewer = [(place[np.intersect1d(train, kept)], place[test]) for train, test in splits[1:]]
    found = CalibratedRankerCV(NDCGRanker(), cv=splits).fit(X, y, qid, weight)
    expected = CalibratedRankerCV(NDCGRanker(), cv=fewer).fit(X[kept], y[kept], qid[kept])
    assert_allclose(found.predict(X, qid), expected.predict(X, qid), rtol=1e-6)


def test_the_order_of_rows_does_not_matter(digits, rng):
    X, y, qid = digits
    rows = rng.permutation(len(y))
    first = calibrated(NDCGRanker(), level=LogisticRegression(max_iter=500)).fit(X, y, qid)
    other = clone(first).fit(X[rows], y[rows], qid[rows])
    assert_allclose(other.predict(X, qid), first.predict(X, qid), rtol=1e-3)


# -- refusals ----------------------------------------------------------------------------------


def test_bad_parameters_are_refused(rng):
    X, y, qid = drawn_law(rng)
    for params, message in (
        ({"target": "precision"}, "target must be one of 'recall', .* 'gain', or a"),
        ({"level": "none"}, "level must be 'auto', None or a classifier"),
        ({"level": NDCGRanker()}, "level must be 'auto', None or a classifier"),
        ({"method": "platt"}, "method"),
        ({"method": "isotonic"}, "fewer than 500 queries"),
        ({"relevance_level": None}, "relevance_level"),
        ({"ranker": NDCGRanker}, "ranker must be a ranker"),
        ({"query_weight": None}, "query_weight"),
    ):
        with pytest.raises(ValueError, match=message):
            calibrated().set_params(**params).fit(X, y, qid)
    with pytest.raises(ValueError, match="y must be non-negative"):
        CalibratedRankerCV(frozen(), "grade", level=None).fit(X, y - 1, qid)
    with pytest.raises(ValueError, match="a query with a mass"):
        calibrated(target="recall").fit(X, 0 * y, qid)


def test_predictions_need_the_qid(rng):
    X, y, qid = drawn_law(rng)
    fitted = calibrated().fit(X, y, qid)
    for method in (fitted.predict, fitted.predict_proba, fitted.rank):
        with pytest.raises(MissingQidError, match="fitted with a qid"):
            method(X)
    assert not hasattr(calibrated(target="grade"), "predict_proba")
    routing = get_routing_for_object(fitted)
    assert routing.fit.requests == {"qid": True, "sample_weight": None}
    assert routing.predict.requests == {"qid": True}


def test_dask_is_refused_with_a_remedy(digits):
    dask_array = pytest.importorskip("dask.array")
    X, y, qid = digits
    with pytest.raises(ValueError, match=r"Pass X.compute\(\)"):
        calibrated(NDCGRanker()).fit(dask_array.from_array(X), y, qid)


# -- by="target" -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["recall", "dcg", "first", NDCG(k=3)], ids=str)
def test_thresholds_of_expected_masses_keep_their_promise(loss, rng):
    X, y, qid = drawn_law(rng, 900, 12)
    train, fit, new = (np.flatnonzero(qid % 3 == part) for part in range(3))
    ranker = calibrated(target=loss).fit(X[train], y[train], qid[train])
    made = {}
    for by in ("target", "score", "depth"):
        given = FrozenEstimator(ranker) if by == "target" else frozen()
        cutoff = GuaranteedCutoff(given, loss, 0.1, by=by, relevance_level=1)
        cutoff.fit(X[fit], y[fit], qid[fit])
        made[by] = cutoff.predict_set(X[new], qid[new]).mean()
        if by == "target":
            assert cutoff.ranker_ is ranker
            assert_array_equal(
                cutoff.predict_set(X[new], qid[new]),
                ranker.predict(X[new], qid[new]) >= cutoff.threshold_,
            )
    assert made["target"] <= min(made["score"], made["depth"]) + 0.02


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:No threshold promises")
@pytest.mark.parametrize("loss", ["recall", "precision", "no_answer"])
def test_rankers_are_calibrated_where_they_are_fitted(loss, rng):
    X, y, qid = drawn_law(rng, 200, 10)
    params = {"relevance_level": 1, "confidence_level": 0.9 if loss == "precision" else None}
    for ranker, cv in ((frozen(), None), (FirstColumn(), None), (FirstColumn(), 4)):
        cutoff = GuaranteedCutoff(ranker, loss, 0.4, cv=cv, **params).fit(X, y, qid)
        assert isinstance(cutoff.ranker_, CalibratedRankerCV)
        assert cutoff.ranker_.target == (loss if loss == "recall" else "relevant")
        n = cutoff.n_queries_ + cutoff.n_skipped_
        expected = 200 if cv else 100
        assert n == (expected // 2 if loss == "precision" else expected)
        kept = cutoff.predict_set(X, qid)
        assert_same_order(cutoff.predict(X, qid), X[:, 0], qid)
        if loss == "no_answer":
            p = cutoff.predict(X, qid)
            some = np.array([1 - np.prod(1 - p[qid == q]) for q in range(200)])
            assert_allclose(cutoff.cutoff_values(X, qid), some[qid], rtol=1e-9)
            assert_array_equal(kept, cutoff.cutoff_values(X, qid) >= cutoff.threshold_)


def test_a_bare_frozen_ranker_needs_twice_the_queries():
    X, y, qid = np.tile([[1.0], [0.0]], (17, 1)), np.tile([1.0, 0.0], 17), np.repeat(range(17), 2)
    cutoff = GuaranteedCutoff(frozen())
    with pytest.raises(ValueError, match=r"at least 9 queries .* pass at least 18 such queries"):
        cutoff.fit(X[:32], y[:32], qid[:32])


@pytest.mark.parametrize("loss", ["recall", "dcg", "best"])
def test_rows_names_and_empty_queries_do_not_matter(loss, rng):
    X, y, qid = drawn_law(rng, 60, 12, 4)
    ranker = FrozenEstimator(calibrated(target=loss).fit(X, y, qid + 100))

    def threshold(X, y, qid):
        return GuaranteedCutoff(ranker, loss, relevance_level=1).fit(X, y, qid).threshold_

    expected, rows = threshold(X, y, qid), rng.permutation(len(y))
    assert threshold(X[rows], y[rows], -qid[rows]) == pytest.approx(expected, abs=1e-12)
    more = np.vstack([X, rng.normal(size=(2000, 1))])
    empty = np.repeat(np.arange(500) + 1000, 4)
    found = threshold(more, np.append(y, 0 * empty), np.append(qid, empty))
    assert found == pytest.approx(expected, abs=1e-12)


# -- an estimator of scikit-learn --------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
@pytest.mark.filterwarnings("ignore:y should have at least 10 queries:UserWarning")
@parametrize_with_checks(
    [CalibratedRankerCV(relevance_level=2, level=None, cv=2)],
    expected_failed_checks=expected_failed_checks,
)
def test_checks_of_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n", [6, 9, 10])
def test_few_queries_are_warned_of(n, rng):
    X, y, qid = drawn_law(rng, n, 12)
    few = drawn_law(rng, 18, 12, empty=0.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        calibrated().fit(X, y, qid)
        # The promise of a cut-off does not rest on the map.
        GuaranteedCutoff(frozen(), alpha=0.5, relevance_level=1).fit(*few)
    match = f"at least 10 queries to calibrate on, got {n}: "
    assert [match in str(one.message) for one in told] == [True] * (n < 10)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_proves_no_certainty(label, method, rng):
    """A class of n queries has the probability (n + 1) / (n + 2), by Platt's targets."""
    n = 500 if method == "isotonic" else 50
    X, qid = rng.normal(size=(4 * n, 1)), np.repeat(np.arange(n), 4)
    fitted = calibrated(method=method).fit(X, np.full(4 * n, label), qid)
    expected = (n * label + 1) / (n + 2)
    assert_allclose(fitted.predict(X, qid), expected, atol=1e-5)
    # Targets other than a class are as they are.
    if label and method == "sigmoid":
        grades = calibrated(target="grade").fit(X, np.full(4 * n, 2.0), qid)
        assert_allclose(grades.predict(X, qid), 2, atol=1e-4)


def test_clones_pickles_and_shows(digits):
    X, y, qid = digits
    fitted = clone(calibrated(NDCGRanker(k=5))).fit(X, y, qid)
    other = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(other.predict(X, qid), fitted.predict(X, qid))
    assert "ranker=NDCGRanker(k=5)" in repr(fitted)
