"""Cut-offs: the threshold against its definition, promises, laws of queries, and refusals."""

import pickle
import warnings

import numpy as np
import pytest
from around_cases import drawn_law, frozen
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metadata_routing import get_routing_for_object

from skcalrank import (
    CalibratedRankerCV,
    GuaranteedCutoff,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    load_digits_queries,
)
from skcalrank.boosting import BoostedRanker
from skcalrank.data import CutQueriesWarning, MissingQidError
from skcalrank.measures import DCG, NDCG, Recall, get_measure
from skcalrank.metrics import ndcg_score
from skcalrank.testing import expected_failed_checks

LOSSES = ["recall", "dcg", "first", "best", Recall(k=5, relevance_level=1), NDCG(k=3)]


def cutoff(loss="recall", **params):
    return GuaranteedCutoff(frozen(), loss, **{"relevance_level": 1, "by": "score"} | params)


def share_of_query(loss, y, scores):
    """Shares of the documents of one query, by definition, in expectation over ties."""
    depth = np.array([1 + (scores > s).sum() for s in scores])
    ties = np.array([(scores == s).sum() for s in scores])
    if loss == "recall":
        return (y >= 1) * 1.0
    if loss in ("first", "best"):
        which = y >= 1 if loss == "first" else (y == y.max()) & (y.max() > y.min())
        return which * (scores == scores[which].max()) * 1.0 if which.any() else which * 0.0
    discounts = [
        np.mean([_discount(loss, p) for p in range(d, d + n)]) for d, n in zip(depth, ties)
    ]
    gains = (y >= 1) * 1.0 if isinstance(loss, Recall) else 2**y - 1
    return gains * np.array(discounts)


def _discount(loss, position):
    if isinstance(loss, Recall):
        return float(position <= loss.k)
    within = loss == "dcg" or position <= loss.k
    return within / np.log2(position + 1)


def losses_at(threshold, loss, by, scores, y, qid):
    """Loss of each query that has something to lose."""
    out = []
    for query in np.unique(qid):
        s, labels = scores[qid == query], y[qid == query]
        shares = share_of_query(loss, labels, s)
        values = s if by == "score" else -np.array([1 + (s > x).sum() for x in s])
        if shares.sum() > 0:
            out.append(shares[values < threshold].sum() / shares.sum())
    return np.array(out)


def by_brute_force(loss, by, alpha, X, y, qid):
    """Largest threshold that keeps enough mass, among all values."""
    scores = X[:, 0]
    values = scores if by == "score" else -np.arange(1.0, len(y) + 1)
    for threshold in np.unique(values)[::-1]:
        lost = losses_at(threshold, loss, by, scores, y, qid)
        if (1 - lost).sum() >= (len(lost) + 1) * (1 - alpha) - 1e-9:
            return threshold
    return None


@pytest.mark.every_case
@pytest.mark.product
@pytest.mark.parametrize("by", ["score", "depth"])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_threshold_is_that_of_brute_force(loss, by, rng):
    for n_levels in (None, 2):
        X, y, qid = drawn_law(rng, 25, 8, n_levels)
        alpha = rng.choice([0.1, 0.2, 0.5])
        found = cutoff(loss, by=by, alpha=alpha).fit(X, y, qid).threshold_
        expected = by_brute_force(loss, by, alpha, X, y, qid)
        if by == "depth":
            # Depths that no document has keep the same documents as the next one.
            lost = [losses_at(t, loss, by, X[:, 0], y, qid) for t in (found, expected)]
            assert_array_equal(*lost)
        else:
            assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_laws", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_threshold_is_that_of_all_thresholds(n_laws, rng):
    for _ in range(n_laws):
        n = int(rng.integers(12, 40))
        X, y, qid = drawn_law(rng, n, 6, rng.choice([None, 3]), empty=0.1)
        alpha, y = rng.choice([0.12, 0.25, 0.4]), (y >= 1) * 1.0
        n_relevant = np.bincount(qid, y)
        matters = (n_relevant > 0).sum()
        mass = y / np.where(n_relevant > 0, n_relevant, 1)[qid]
        thresholds = np.unique(X)[::-1]
        kept = (thresholds <= X).T @ mass
        enough = kept >= (matters + 1) * (1 - alpha) - 1e-9
        if matters < np.ceil(1 / alpha - 1 - 1e-9):
            with pytest.raises(ValueError, match=f"got {matters}"):
                cutoff(alpha=alpha).fit(X, y, qid)
            continue
        fitted = cutoff(alpha=alpha).fit(X, y, qid)
        assert fitted.threshold_ == thresholds[enough.argmax()]
        assert (fitted.n_queries_, fitted.n_skipped_) == (matters, n - matters)


@pytest.mark.product
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("by", ["score", "depth"])
@pytest.mark.parametrize("confidence_level", [None, pytest.param(0.9, marks=pytest.mark.slow)])
def test_the_promise_is_kept(loss, by, confidence_level):
    lost, n_new = [], 50
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y, qid = drawn_law(rng, 60 + n_new)
        fit = qid < 60
        fitted = cutoff(loss, by=by, confidence_level=confidence_level, alpha=0.2).fit(
            X[fit], y[fit], qid[fit]
        )
        new = X[~fit, 0], y[~fit], qid[~fit]
        lost.append(losses_at(fitted.threshold_, loss, by, *new).mean())
    lost = np.array(lost)
    error = lost.std() / np.sqrt(len(lost))
    if confidence_level is None:
        assert lost.mean() <= 0.2 + 2 * error
        steps = 0.06 if by == "score" else 0.15  # depths come in whole numbers
        assert lost.mean() >= 0.2 - steps
    else:
        assert (lost > 0.2 + 0.05).mean() <= 0.1


def test_a_lower_threshold_would_be_lower_with_confidence(rng):
    X, y, qid = drawn_law(rng, 100)
    thresholds = [
        cutoff(confidence_level=c).fit(X, y, qid).threshold_ for c in (None, 0.5, 0.9, 0.99)
    ]
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[0] > thresholds[2]


# -- queries are what counts, not rows ---------------------------------------------------------


@pytest.mark.parametrize("by", ["score", "depth"])
@pytest.mark.parametrize("loss", [*LOSSES, "no_answer"], ids=str)
def test_rows_names_and_empty_queries_do_not_matter(loss, by, rng):
    if (loss, by) == ("no_answer", "depth"):
        return
    X, y, qid = drawn_law(rng, 60, 12, 4)
    expected = cutoff(loss, by=by).fit(X, y, qid).threshold_

    def threshold(X, y, qid):
        return cutoff(loss, by=by).fit(X, y, qid).threshold_

    rows = rng.permutation(len(y))
    assert threshold(X[rows], y[rows], qid[rows]) == pytest.approx(expected, abs=1e-12)
    names = np.array([f"query {n}" for n in rng.permutation(60)])
    assert threshold(X, y, names[qid]) == pytest.approx(expected, abs=1e-12)
    empty = np.repeat(np.arange(500) + 100, 4)
    more = np.vstack([X, rng.normal(size=(2000, 1))])
    fitted = cutoff(loss, by=by).fit(more, np.append(y, 0 * empty), np.append(qid, empty))
    assert fitted.threshold_ == pytest.approx(expected, abs=1e-12)
    assert fitted.n_skipped_ >= 500


def test_repeated_rows_do_not_matter(rng):
    X, y, qid = drawn_law(rng, 60)
    expected = cutoff().fit(X, y, qid).threshold_
    again = np.repeat(np.arange(len(y)), 1 + qid % 3)
    assert cutoff().fit(X[again], y[again], qid[again]).threshold_ == expected


@pytest.fixture(scope="module")
def digits():
    return load_digits_queries(n_queries=80, n_documents=10)


@pytest.mark.parametrize("cv", [None, 4])
def test_a_fitted_ranker_does_not_depend_on_the_order_of_rows(digits, cv, rng):
    X, y, qid = digits
    fitted = GuaranteedCutoff(NDCGRanker(), by="score", cv=cv).fit(X, y, qid)
    rows = rng.permutation(len(y))
    other = clone(fitted).fit(X[rows], y[rows], qid[rows])
    assert other.threshold_ == pytest.approx(fitted.threshold_, abs=1e-9)
    np.testing.assert_allclose(other.predict(X, qid), fitted.predict(X, qid), atol=1e-9)
    assert fitted.n_queries_ + fitted.n_skipped_ == (40 if cv is None else 80)


def test_seeds_draw_other_queries(digits):
    made = [
        GuaranteedCutoff(by="score", random_state=seed).fit(*digits).threshold_
        for seed in (None, 0, 1, 2)
    ]
    assert made[0] == made[1]
    assert len(set(made)) == 3


def test_calibration_queries_do_not_train(digits):
    # A ranker that knows the labels of its rows by heart loses nothing on them.
    _, y, qid = digits
    noise = np.random.default_rng(0).normal(size=(len(y), 3))
    trees = DecisionTreeRegressor(random_state=0)
    for cv in (None, 4, QueryKFold(4)):
        fitted = GuaranteedCutoff(trees, by="score", cv=cv).fit(noise, y, qid)
        assert fitted.predict_set(noise, qid).mean() > 0.6


# -- what is kept ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["score", "depth"])
@pytest.mark.parametrize("n_levels", [None, 2])
def test_sets_lists_and_values_agree(by, n_levels, rng):
    X, y, qid = drawn_law(rng, n_levels=n_levels)
    fitted = cutoff(by=by).fit(X, y, qid)
    kept = fitted.predict_set(X, qid)
    assert kept.dtype == bool
    assert_array_equal(kept, fitted.cutoff_values(X, qid) >= fitted.threshold_)
    places, scores = fitted.rank(X, qid), fitted.predict(X, qid)
    assert_array_equal(scores, X[:, 0])
    assert_array_equal(places > 0, kept)
    for query in np.unique(qid):
        rows = qid == query
        inside, outside = scores[rows & kept], scores[rows & ~kept]
        assert not len(inside) or not len(outside) or inside.min() > outside.max()
        assert_array_equal(np.sort(places[rows & kept]), np.arange(1, len(inside) + 1))
        if by == "depth" and n_levels is None:
            assert len(inside) == min(-fitted.threshold_, rows.sum())
    best = fitted.top_k(X, qid, k=2)
    assert_array_equal(np.sort(best), np.flatnonzero((places > 0) & (places <= 2)))
    assert_array_equal(np.sort(fitted.top_k(X, qid, k=None)), np.flatnonzero(kept))
    assert fitted.score(X, y, qid) == pytest.approx(ndcg_score(y, X[:, 0], qid=qid, k=10))


def test_frames_give_series(digits):
    pandas = pytest.importorskip("pandas")
    X, y, qid = digits
    frame = pandas.DataFrame(X, index=np.arange(len(y)) + 5).add_prefix("pixel")
    fitted = GuaranteedCutoff(by="score").fit(frame, y, qid)
    plain = GuaranteedCutoff(by="score").fit(X, y, qid)
    assert fitted.threshold_ == pytest.approx(plain.threshold_, abs=1e-9)
    kept, places = fitted.predict_set(frame, qid), fitted.rank(frame, qid)
    assert (kept.name, places.name) == ("kept", "rank")
    assert_array_equal(kept.index, frame.index)
    assert_array_equal(kept, plain.predict_set(X, qid))
    assert_array_equal(fitted.feature_names_in_, frame.columns)


def test_tables_sparse_matrices_and_targets(digits):
    pandas = pytest.importorskip("pandas")
    X, y, qid = digits
    table = pandas.DataFrame(X[:, 20:25]).add_prefix("pixel")
    table["kind"] = np.where(X[:, 30] > 8, "dark", "light")
    trees = BoostedRanker(engine="sklearn", n_estimators=5)
    fitted = GuaranteedCutoff(trees, by="score").fit(table, RankingTarget(y, qid))
    assert fitted.predict_set(table, qid).sum() > 0
    plain = GuaranteedCutoff(by="score").fit(X, y, qid)
    sparse = GuaranteedCutoff(by="score").fit(csr_matrix(X), y, qid)
    assert sparse.threshold_ == pytest.approx(plain.threshold_, abs=1e-6)


def test_the_qid_is_needed_where_queries_matter(digits):
    X, y, qid = digits
    by_score = GuaranteedCutoff(by="score").fit(X, y, qid)
    assert_array_equal(by_score.predict_set(X), by_score.predict_set(X, qid))
    by_depth = GuaranteedCutoff(by="depth").fit(X, y, qid)
    for method in (by_depth.predict_set, by_depth.rank, by_depth.top_k, by_score.rank):
        with pytest.raises(MissingQidError, match="fitted with a qid"):
            method(X)
    assert by_depth.predict_set(X[:10], 0).sum() == -by_depth.threshold_


# -- groups ------------------------------------------------------------------------------------


def test_groups_have_thresholds_of_their_own(rng):
    X, y, qid = drawn_law(rng, 120, 20)
    groups = np.where(np.bincount(qid)[qid] > 10, "large", "small")
    fitted = cutoff(by="depth").fit(X, y, qid, groups=groups)
    assert set(fitted.threshold_) == {"large", "small"}
    kept = fitted.predict_set(X, qid, groups)
    for name in ("large", "small"):
        rows = groups == name
        alone = cutoff(by="depth").fit(X[rows], y[rows], qid[rows])
        assert fitted.threshold_[name] == alone.threshold_
        assert fitted.n_queries_[name] == alone.n_queries_
        assert fitted.n_skipped_[name] == alone.n_skipped_
        assert_array_equal(kept[rows], alone.predict_set(X[rows], qid[rows]))
    assert fitted.threshold_["large"] < fitted.threshold_["small"]
    assert_array_equal(fitted.rank(X, qid, groups) > 0, kept)
    assert len(fitted.top_k(X, qid, None, groups)) == kept.sum()


def test_groups_reach_the_queries_that_calibrate(digits):
    X, y, qid = digits
    groups = qid % 2
    fitted = GuaranteedCutoff(by="score", alpha=0.2).fit(X, y, qid, groups=groups)
    plain = GuaranteedCutoff(by="score", alpha=0.2).fit(X, y, qid)
    assert sum(fitted.n_queries_.values()) == plain.n_queries_


def test_groups_are_validated(rng):
    X, y, qid = drawn_law(rng, 60)
    groups = qid % 2
    fitted = cutoff(alpha=0.2).fit(X, y, qid, groups)
    with pytest.raises(ValueError, match=r"groups must be one of 0, 1 for each row.* got None"):
        fitted.predict_set(X, qid)
    with pytest.raises(ValueError, match="among those of fit, 0, 1, got 2"):
        fitted.predict_set(X, qid, groups + 1)
    with pytest.raises(ValueError, match="same for all rows of a query"):
        fitted.predict_set(X, qid, np.arange(len(y)) % 2)
    with pytest.raises(ValueError, match=rf"groups must have {len(y)} entries, one for each"):
        cutoff().fit(X, y, qid, groups=[1])
    with pytest.raises(ValueError, match=r"groups must hold an identifier .* got a missing value"):
        cutoff().fit(X, y, qid, groups=np.where(groups, 1.0, np.nan))
    with pytest.raises(ValueError, match="groups must be None"):
        cutoff().fit(X, y, qid).predict_set(X, qid, groups)
    with pytest.raises(ValueError, match=r"Of group 1: .*at least 9 queries"):
        cutoff().fit(X, y, qid, groups=(qid < 4) * 1)
    # One query cannot both choose where the tests begin and calibrate.
    lone = cutoff("precision", alpha=0.5, confidence_level=0.3)
    for one in range(6):
        with pytest.raises(ValueError, match=r"Of group 1: .*at least 1 queries .*, got 0"):
            lone.fit(X, y, qid, groups=(qid == one) * 1)


# -- precision, and nothing relevant here ------------------------------------------------------


@pytest.mark.filterwarnings("ignore:No threshold promises")
def test_precision_is_promised_or_nothing_is_answered():
    broken, answered = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y, qid = drawn_law(rng, 450, 20, empty=0.05)
        fit = qid < 200
        fitted = cutoff("precision", alpha=0.4, confidence_level=0.9).fit(X[fit], y[fit], qid[fit])
        kept = fitted.predict_set(X[~fit], qid[~fit])
        wrong, codes = y[~fit] < 1, qid[~fit] - 200
        sizes = np.bincount(codes, kept)
        shares = np.bincount(codes, kept & wrong)[sizes > 0] / sizes[sizes > 0]
        answered.append(len(shares) / len(sizes))
        broken.append(len(shares) > 0 and shares.mean() > 0.4 + 0.03)
    assert np.mean(broken) <= 0.1
    assert np.mean(answered) > 0.3


def test_precision_refuses_to_answer_where_nothing_tells(rng):
    X, y, qid = drawn_law(rng, 100)
    noise = rng.normal(size=X.shape)
    with pytest.warns(UserWarning, match="no query is answered"):
        fitted = cutoff("precision", alpha=0.1, confidence_level=0.9).fit(noise, y, qid)
    assert fitted.threshold_ == np.inf
    assert not fitted.predict_set(X, qid).any()


def test_a_query_is_turned_away_as_a_whole(rng):
    X, y, qid = drawn_law(rng, 300, 20, empty=0.4)
    fitted = cutoff("no_answer").fit(X, y, qid)
    kept = fitted.predict_set(X, qid)
    answered = np.bincount(qid, kept) > 0
    assert_array_equal(kept, answered[qid])
    has_some = np.bincount(qid, y) > 0
    assert fitted.n_queries_ == has_some.sum()
    assert 0.05 < 1 - answered[has_some].mean() <= 0.1
    tops = np.array([X[qid == q].max() for q in range(300)])
    assert_array_equal(answered, tops >= fitted.threshold_)


# -- refusals ------------------------------------------------------------------------------------


def queries_of_two(n):
    return np.tile([[1.0], [0.0]], (n, 1)), np.tile([1.0, 0.0], n), np.repeat(np.arange(n), 2)


def test_too_few_queries_are_refused_with_the_number_needed():
    with pytest.raises(ValueError, match=r"alpha=0.1 needs at least 9 queries .* got 8"):
        cutoff().fit(*queries_of_two(8))
    assert cutoff().fit(*queries_of_two(9)).n_queries_ == 9
    with pytest.raises(ValueError, match=r"level=0.9 needs at least 22 queries .* got 21"):
        cutoff(confidence_level=0.9).fit(*queries_of_two(21))
    assert cutoff(confidence_level=0.9).fit(*queries_of_two(22)).n_queries_ == 22
    with pytest.raises(ValueError, match=r"at least 9 .* pass at least 18 such queries in all"):
        GuaranteedCutoff(by="score").fit(*queries_of_two(16))
    assert GuaranteedCutoff(by="score").fit(*queries_of_two(18)).n_queries_ == 9
    with pytest.raises(ValueError, match=r"at least 22 queries to .* at least 44 such"):
        cutoff("precision", confidence_level=0.9).fit(*queries_of_two(40))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.0}, "alpha"),
        ({"alpha": 0.95}, r"may be lost, so that to keep 95% pass alpha=0.05"),
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"by": "rank"}, "by"),
        ({"loss": "ndcg"}, "loss must be one of 'recall', 'dcg', 'first', 'best', 'precision'"),
        ({"loss": get_measure("map")}, "loss must be one of"),
        ({"loss": DCG}, "loss must be one of .*, or a positional measure, got <class"),
        ({"loss": get_measure("auc", relevance_level=1)}, "adds a non-negative share, got auc"),
        ({"loss": "precision"}, "confidence_level must be a number"),
        ({"loss": "no_answer", "by": "depth"}, "by must be"),
        ({"ranker": NDCGRanker}, "ranker must be a ranker"),
        ({"ranker": 3}, "ranker must be a ranker"),
        (
            {"ranker": NDCGRanker(), "cv": [(np.arange(9, 90), np.arange(9))]},
            "cv must test each row once",
        ),
    ],
)
def test_bad_parameters_are_refused(params, message, rng):
    refused = cutoff().set_params(**params)
    warnings.simplefilter("ignore", CutQueriesWarning)
    with pytest.raises(ValueError, match=message):
        refused.fit(*drawn_law(rng, empty=0))


def test_no_level_refuses_grades_and_weights_are_refused(rng):
    X, y, qid = drawn_law(rng)
    with pytest.raises(ValueError, match="relevance_level"):
        cutoff(relevance_level=None).fit(X, y, qid)
    with pytest.raises(TypeError, match="sample_weight"):
        cutoff().fit(X, y, qid, sample_weight=np.ones(len(y)))
    routing = get_routing_for_object(GuaranteedCutoff())
    assert routing.fit.requests == {"qid": True, "groups": False}
    assert routing.predict.requests == {"qid": True}


def test_queries_that_trained_the_ranker_warn(digits):
    X, y, qid = digits
    ranker = FrozenEstimator(NDCGRanker().fit(X, y, qid))
    with pytest.warns(UserWarning, match="seem to have trained the ranker"):
        GuaranteedCutoff(ranker, by="score").fit(X, y, qid)
    GuaranteedCutoff(ranker, by="score").fit(X, y, qid + 1000)
    GuaranteedCutoff(ranker).fit(X, y, qid + 1000)
    with pytest.warns(UserWarning, match="seem to have trained the ranker"):
        CalibratedRankerCV(ranker, level=None).fit(X, y, qid)
    # The map knows other queries than the ranker inside of it.
    mapped = CalibratedRankerCV(ranker, "recall", level=None).fit(X, y, qid + 1000)
    with pytest.warns(UserWarning, match="seem to have trained the ranker"):
        GuaranteedCutoff(FrozenEstimator(mapped)).fit(X, y, qid)
    GuaranteedCutoff(FrozenEstimator(mapped)).fit(X, y, qid + 2000)


def test_dask_is_refused_with_a_remedy(digits):
    dask_array = pytest.importorskip("dask.array")
    X, y, qid = digits
    lazy = dask_array.from_array(X)
    with pytest.raises(ValueError, match=r"Pass X.compute\(\)"):
        GuaranteedCutoff(by="score").fit(lazy, y, qid)
    fitted = GuaranteedCutoff(by="score").fit(X, y, qid)
    for method in (fitted.predict_set, fitted.rank, fitted.top_k):
        with pytest.raises(ValueError, match="partition of whole queries"):
            method(lazy, qid)


# -- an estimator of scikit-learn --------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
@parametrize_with_checks(
    [
        GuaranteedCutoff(loss="best", alpha=0.5, by="score"),
        GuaranteedCutoff(loss="best", alpha=0.5, by="depth", cv=2),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_checks_of_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ranker", [make_pipeline(StandardScaler(), NDCGRanker()), None])
def test_clones_pickles_and_shows(ranker, digits):
    X, y, qid = digits
    fitted = clone(GuaranteedCutoff(ranker, DCG(k=5), 0.2, by="depth")).fit(X, y, qid)
    other = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(other.predict_set(X, qid), fitted.predict_set(X, qid))
    assert "loss=DCG(k=5" in repr(fitted)


# -- other packages ----------------------------------------------------------------------------


def test_the_threshold_is_that_of_mapie_on_padded_queries(rng):
    control = pytest.importorskip("mapie.risk_control")
    X, y, qid = drawn_law(rng, 120, 12)
    y, p = (y >= 1) * 1.0, 1 / (1 + np.exp(-X[:, 0]))
    kept = (np.bincount(qid, y) > 0)[qid]  # MAPIE takes no query without a relevant document
    y, p, qid = y[kept], p[kept], np.unique(qid[kept], return_inverse=True)[1]
    place = np.arange(len(y)) - np.searchsorted(qid, qid)
    labels, padded = np.zeros((2, qid[-1] + 1, 12))
    labels[qid, place], padded[qid, place] = y, p
    grid = np.linspace(0, 1, 2001)
    theirs = control.MultiLabelClassificationController(
        lambda rows: padded[rows.ravel()], target_level=0.9, predict_params=grid
    ).calibrate(np.arange(len(padded))[:, None], labels)
    ours = cutoff(relevance_level=None).fit(p[:, None], y, qid).threshold_
    assert abs(ours - theirs.best_predict_param[0]) <= grid[1]


@pytest.mark.parametrize(
    "around",
    [GuaranteedCutoff(BoostedRanker(), alpha=0.5), CalibratedRankerCV(BoostedRanker(), cv=2)],
    ids=["cutoff", "calibrated"],
)
def test_lists_of_dicts_are_what_the_ranker_inside_reads(around, rng):
    pandas = pytest.importorskip("pandas")
    records = [{"a": float(a), "city": "xyz"[int(3 * b)]} for a, b in rng.random((200, 2))]
    y = np.array([row["a"] + (row["city"] == "x") > 0.8 for row in records]) * 1.0
    qid, frame = np.repeat(np.arange(40), 5), pandas.DataFrame(records)
    expected = clone(around).fit(frame, y, qid).predict(frame, qid)
    ranker = clone(around).fit(records, y, qid)
    assert_array_equal(ranker.predict(records, qid), expected)
    assert_array_equal(ranker.predict(frame, qid), expected)
    assert ranker.feature_names_in_.tolist() == ["a", "city"]
    with pytest.raises(ValueError, match=r"got a dict: pass \[X\], a list of one dict"):
        ranker.predict(records[0], qid=0)
