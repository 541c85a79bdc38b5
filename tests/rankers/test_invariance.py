"""Changes of the data that must not change a ranker."""

from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest
from cases import first_of_each_class, ranker_id, rankers, regressor_of
from fits import EVERY, fitted
from scipy.sparse import coo_matrix, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.utils import get_tags

from skcalrank import (
    BoostedRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    SpearmanRanker,
    StackingRanker,
    TabularRanker,
)
from skcalrank.data import EqualLabelsWarning
from skcalrank.measures import NDCG
from skcalrank.metrics import measure_score

CLOSE = {"rtol": 1e-9, "atol": 1e-11}
every_ranker = pytest.mark.parametrize("ranker", first_of_each_class(EVERY), ids=ranker_id)


def close(ranker):
    """Tolerance for fits that should be equal; iterative solvers stop early."""
    return CLOSE if regressor_of(ranker) else {"rtol": 1e-4, "atol": 1e-5}


def check_same(ranker, data, other, **tolerance):
    """Check that fits on other forms of the data give the same predictions."""
    X, y, qid = data
    X_, y_, qid_ = other
    one, two = fitted(ranker, X, y, qid), fitted(ranker, X_, y_, qid_)
    near = tolerance or close(ranker)
    np.testing.assert_allclose(two.predict(X_, qid_), one.predict(X, qid), **near)
    scores = one.score(X, y, qid), two.score(X_, y_, qid_)
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)
    if not tolerance:
        assert np.array_equal(two.rank(X_, qid_), one.rank(X, qid))


# -- order, names, containers ----------------------------------------------------------


@every_ranker
def test_order_of_rows(ranker, data, rng):
    X, y, qid = data
    rows = rng.permutation(len(y))
    one, two = fitted(ranker, X, y, qid), fitted(ranker, X[rows], y[rows], qid[rows])
    scores = one.predict(X, qid)
    np.testing.assert_allclose(two.predict(X, qid), scores, **close(ranker))
    assert two.score(X[rows], y[rows], qid[rows]) == pytest.approx(one.score(X, y, qid), rel=1e-9)
    # Ties, which trees have, are broken by the order of the rows.
    by_place = [
        np.lexsort(key) for key in ((one.rank(X, qid), qid), (places(two, X, qid, rows), qid))
    ]
    np.testing.assert_allclose(scores[by_place[1]], scores[by_place[0]], **close(ranker))


def places(ranker, X, qid, rows):
    """The ranks of documents that are ranked in another order of the rows."""
    out = np.empty(len(rows), dtype=int)
    out[rows] = ranker.rank(X[rows], qid[rows])
    return out


#: Rankers that hold out queries.
DRAW_QUERIES = (BoostedRanker, LeastSquaresRankerCV, StackingRanker, TabularRanker)


@every_ranker
def test_the_qid_does_not_change_a_score(ranker, data):
    X, y, qid = data
    if isinstance(ranker, TabularRanker):
        pytest.skip("requires a qid, since some of its columns are scaled within the query")
    ranker = fitted(ranker, X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), ranker.predict(X, qid))


@every_ranker
def test_names_of_queries(ranker, data):
    # Where queries are drawn, other names act as another seed, and equal ones of any type do not.
    name = Fraction if isinstance(ranker, DRAW_QUERIES) else lambda q: f"query {100 - q}"
    X, y, qid = data
    check_same(ranker, data, (X, y, [name(int(q)) for q in qid]))


def as_pandas(X, y, qid):
    pandas = pytest.importorskip("pandas")
    index = np.arange(len(y))[::-1] * 3
    X = pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])], index=index)
    return X, pandas.Series(y, index=index), pandas.Series(qid, index=index)


def as_polars(X, y, qid):
    polars = pytest.importorskip("polars")
    X = polars.DataFrame({f"x{j}": column for j, column in enumerate(X.T)})
    return X, polars.Series("y", y), polars.Series("qid", qid)


CONTAINERS = {
    "pandas": as_pandas,
    "polars": as_polars,
    "lists": lambda *data: tuple(a.tolist() for a in data),
    "fortran": lambda X, y, qid: (np.asfortranarray(X), y, qid),
    "strided": lambda X, y, qid: (np.repeat(X, 2, axis=1)[:, ::2], np.repeat(y, 2)[::2], qid),
    "integer y": lambda X, y, qid: (X, y.astype(np.int8), qid),
    "object y": lambda X, y, qid: (X, y.astype(object), qid),
}


@pytest.mark.product
@pytest.mark.parametrize("container", CONTAINERS)
@every_ranker
def test_containers(ranker, container, data):
    check_same(ranker, data, CONTAINERS[container](*data))


@every_ranker
def test_ranks_of_a_frame_keep_its_index(ranker, data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = as_pandas(*data)
    ranker = fitted(ranker, X, y, qid)
    places = ranker.rank(X, qid)
    assert isinstance(places, pandas.Series)
    assert places.name == "rank"
    assert places.index.equals(X.index)
    names = ranker.feature_names_in_
    assert np.array_equal(places, ranker.rank(pandas.DataFrame(X.values, columns=names), qid))
    assert (places.loc[ranker.top_k(X, qid, k=1)] == 1).all()
    X.index //= 6
    y.index, qid.index = X.index, X.index
    with pytest.raises(ValueError, match=r"without repeated labels.* several times: pass"):
        ranker.top_k(X, qid)


def test_ranks_of_a_frame_in_the_label_form(rng):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rng.normal(size=(4, 2)), columns=["a", "b"], index=list("wxyz"))
    places = SpearmanRanker().fit(X, rng.normal(size=(4, 3))).rank(X)
    assert isinstance(places, pandas.DataFrame)
    assert places.shape == (4, 3)
    assert places.index.equals(X.index)


@pytest.mark.product
@pytest.mark.parametrize("convert", [csr_matrix, csr_array, coo_matrix])
@every_ranker
def test_sparse_is_dense(ranker, convert, data):
    X, y, qid = data
    X = X * (np.abs(X) > 0.7)
    if not get_tags(ranker).input_tags.sparse:
        pytest.skip("takes no sparse X, as its tags say")
    ranker, near = clone(ranker), close(ranker)
    if regressor_of(ranker):
        ranker.set_params(**{f"{regressor_of(ranker)}__tol": 1e-13})
        near = {"rtol": 1e-6, "atol": 1e-8}
    check_same(ranker, (X, y, qid), (convert(X), y, qid), **near)


@every_ranker
def test_single_precision_is_close(ranker, data):
    X, y, qid = data
    single = X.astype(np.float32)
    wide = fitted(ranker, single.astype(float), y, qid)
    narrow = fitted(ranker, single, y, qid)
    scores = narrow.predict(single, qid)
    assert scores.dtype == float
    np.testing.assert_allclose(scores, wide.predict(single, qid), rtol=1e-4, atol=1e-4)


@every_ranker
def test_inputs_are_left_alone(ranker, data, rng):
    X, y, qid = data
    weight = rng.uniform(0.5, 2, size=len(y))
    before = [a.copy() for a in (X, y, qid, weight)]
    for array in (X, y, qid, weight):
        array.flags.writeable = False
    ranker = fitted(ranker, X, y, qid, sample_weight=weight)
    ranker.rank(X, qid)
    ranker.score(X, y, qid, weight)
    for array, copy in zip((X, y, qid, weight), before):
        assert np.array_equal(array, copy)


def test_metrics_leave_inputs_alone(data, rng):
    _, y, qid = data
    scores = rng.integers(0, 3, size=len(y)).astype(float)
    weight = np.ones(len(y))
    before = [a.copy() for a in (y, scores, qid, weight)]
    for array in (y, scores, qid, weight):
        array.flags.writeable = False
    for name in ("ndcg@2", "err", "kendall", "spearman", "eru"):
        for ties in ("average", "stable", "worst", "best"):
            measure_score(name, y, scores, qid=qid, ties=ties, sample_weight=weight)
    for array, copy in zip((y, scores, qid, weight), before):
        assert np.array_equal(array, copy)


def test_parameters_are_left_alone(data):
    X, y, qid = data
    inner = Ridge(alpha=3)
    NDCGRanker(inner).fit(X, y, qid)
    assert inner.get_params() == Ridge(alpha=3).get_params()
    assert not hasattr(inner, "coef_")


# -- weights ---------------------------------------------------------------------------


@every_ranker
def test_constant_weight_changes_nothing(ranker, data):
    X, y, qid = data
    regressor = regressor_of(ranker)
    penalty = f"{regressor}__alpha" if regressor else "alpha"

    def with_penalty(c):
        has_one = penalty in ranker.get_params()
        return clone(ranker).set_params(**({penalty: c} if has_one else {}))

    plain = fitted(with_penalty(1.0), X, y, qid)
    for c in (7.0, 0.3):
        # The penalty is added to a sum: multiplying weights and penalty by c changes nothing.
        weight = np.full(len(y), c)
        weighted = fitted(with_penalty(c), X, y, qid, sample_weight=weight)
        np.testing.assert_allclose(weighted.predict(X, qid), plain.predict(X, qid), **close(ranker))
        assert weighted.score(X, y, qid, weight) == pytest.approx(plain.score(X, y, qid))


@every_ranker
def test_weight_zero_drops_the_error_of_a_row(ranker, data, rng):
    if ranker_id(ranker).endswith(("bregman_kl", "softmax")):
        pytest.skip("has no term of one document alone")
    if isinstance(ranker, (BoostedRanker, StackingRanker)):
        pytest.skip("draws bins of features from all rows")
    X, y, qid = data
    weight = rng.uniform(0.5, 2, size=len(y))
    weight[::3] = 0
    far = X.copy()
    far[::3] += 100 * rng.normal(size=far[::3].shape)
    one, two = (fitted(ranker, Z, y, qid, sample_weight=weight) for Z in (X, far))
    near = {"rtol": 1e-7, "atol": 1e-9} if regressor_of(ranker) else close(ranker)
    np.testing.assert_allclose(two.coef_, one.coef_, **near)
    other = fitted(ranker, far, y, qid, sample_weight=weight + 1e-3)
    assert not np.allclose(other.coef_, one.coef_, rtol=1e-3)


@every_ranker
def test_weight_of_a_query_in_the_score(ranker, data):
    X, y, qid = data
    ranker = fitted(ranker, X, y, qid)
    weight = (qid == 12) * 2.0
    one = qid == 12
    assert ranker.score(X, y, qid, weight) == pytest.approx(ranker.score(X[one], y[one], qid[one]))


# -- degenerate problems ---------------------------------------------------------------


DEGENERATE = {
    "one feature": lambda X: X[:, :1],
    "constant feature": lambda X: np.column_stack([X, np.full(len(X), 3.0)]),
    "only constant": lambda X: np.full((len(X), 2), 3.0),
    "all zero": lambda X: np.zeros((len(X), 2)),
    "twice the same": lambda X: np.column_stack([X, X]),
    "more features than rows": lambda X: np.tile(X, (1, 20)),
}


@pytest.mark.filterwarnings("ignore:Trees found no split")
@pytest.mark.product
@pytest.mark.parametrize("features", DEGENERATE)
@every_ranker
def test_degenerate_features(ranker, features, data):
    X, y, qid = data
    X = DEGENERATE[features](X)
    if type(ranker) is TabularRanker and np.ptp(X) == 0:
        with pytest.raises(ValueError, match="constant columns only"):
            fitted(ranker, X, y, qid)
        return
    regressor = regressor_of(ranker)
    choices = [{regressor: Ridge()}, {regressor: LinearRegression()}]
    alone = {"alpha": 1.0} if "alpha" in ranker.get_params() else {}
    for params in choices if regressor else [alone]:
        found = fitted(clone(ranker).set_params(**params), X, y, qid)
        scores = found.predict(X, qid)
        assert np.isfinite(scores).all()
        assert np.isfinite(found.score(X, y, qid))
        if features in ("only constant", "all zero"):
            assert np.ptp(scores) < 1e-9


@pytest.mark.parametrize("loss", ["squared", "centered", "pairwise_squared"])
def test_a_feature_given_twice_shares_its_coefficient(loss, data):
    X, y, qid = data
    once = NDCGRanker(LinearRegression(), loss=loss).fit(X, y, qid)
    twice = NDCGRanker(LinearRegression(), loss=loss).fit(np.column_stack([X, X]), y, qid)
    np.testing.assert_allclose(twice.coef_, np.tile(once.coef_ / 2, 2), rtol=1e-7)


@pytest.mark.filterwarnings("ignore::skcalrank.data.SingleDocumentsWarning")
@every_ranker
def test_queries_of_one_document(ranker, rng):
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 3, 12).astype(float)
    found = fitted(ranker, X, y, np.arange(12))
    scores = found.predict(X, np.arange(12))
    assert np.isfinite(scores).all()
    assert (found.rank(X, np.arange(12)) == 1).all()
    if "pairwise" in ranker_id(ranker).lower():
        assert np.ptp(scores) < 1e-12


@every_ranker
def test_queries_without_a_relevant_document(ranker, data):
    X, y, qid = data
    none = qid == 12
    y = np.where(none, 0.0, y)
    found = fitted(ranker, X, y, qid)
    assert np.isfinite(found.predict(X, qid)).all()
    assert np.isfinite(found.score(X, y, qid))


@pytest.mark.parametrize("ranker", list(rankers()), ids=lambda r: type(r).__name__)
def test_no_relevant_document_at_all(ranker, data):
    X, y, qid = data
    chooses = isinstance(ranker, (LeastSquaresRankerCV, BoostedRanker, TabularRanker))
    with (
        pytest.warns(EqualLabelsWarning),
        pytest.warns(UndefinedMetricWarning, match="all penalties score NaN|undefined .* on all")
        if chooses
        else nullcontext(),
    ):
        found = ranker.fit(X, 0 * y, qid)
    scores = found.predict(X, qid)
    np.testing.assert_allclose(scores, scores[0], atol=1e-9)
    if isinstance(found, (NDCGRanker,)):
        with pytest.warns(UndefinedMetricWarning, match="undefined on every query"):
            assert np.isnan(found.score(X, 0 * y, qid))


@every_ranker
def test_negative_labels_are_an_error_where_the_tags_say_so(ranker, data):
    X, y, qid = data
    ranker = clone(ranker)
    if ranker.__sklearn_tags__().target_tags.positive_only:
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            ranker.fit(X, y - 1, qid)
    else:
        ranker.fit(X, y - 1, qid)


# -- predictions -----------------------------------------------------------------------


@every_ranker
def test_rank_and_top_k_sort_the_predictions(ranker, data):
    X, y, qid = data
    found = fitted(ranker, X, y, qid)
    scores, place = found.predict(X, qid), found.rank(X, qid)
    assert place.dtype.kind == "i"
    expected_top = []
    for q in dict.fromkeys(qid.tolist()):
        rows = np.flatnonzero(qid == q)
        ranked = rows[np.argsort(-scores[rows], kind="stable")]
        assert place[ranked].tolist() == list(range(1, len(rows) + 1))
        expected_top.extend(ranked[:3].tolist())
    assert found.top_k(X, qid, k=3).tolist() == expected_top
    assert np.array_equal(found.surrogate_values(X, qid), scores)


def test_top_k_in_label_form(rng):
    X, y = rng.normal(size=(6, 2)), rng.integers(0, 3, size=(6, 4)).astype(float)
    ranker = SpearmanRanker().fit(X, y)
    expected = np.argsort(-ranker.predict(X), axis=1, kind="stable")
    assert np.array_equal(ranker.top_k(X, k=2), expected[:, :2])
    assert np.array_equal(ranker.top_k(X, k=99), expected)


def test_score_is_the_measure_of_the_predictions(data):
    X, y, qid = data
    ranker = NDCGRanker(k=2, gain="linear").fit(X, y, qid)
    expected = measure_score(NDCG(k=2, gain="linear"), y, ranker.predict(X), qid=qid)
    assert ranker.score(X, y, qid) == expected


@pytest.mark.parametrize("weights", ["difference", "unit"])
@pytest.mark.parametrize("loss", ["squared", "centered", "pairwise_squared"])
def test_preferences_of_relevances_are_the_relevances(weights, loss, data):
    X, y, qid = data
    preferences = PreferenceTarget.from_relevance(y, qid, weights=weights)
    for score in ("net_preference", lambda Y: Y.sum(axis=1)):
        ranker = PairwiseDisagreementRanker(weights=weights, loss=loss, score_function=score)
        one, two = fitted(ranker, X, y, qid), fitted(ranker, X, preferences)
        np.testing.assert_allclose(two.predict(X), one.predict(X), **CLOSE)
        assert two.score(X, preferences) == pytest.approx(one.score(X, y, qid))
