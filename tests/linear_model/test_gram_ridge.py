"""Ridge regression from sufficient statistics, against scikit-learn's and sums written out."""

import pickle
import tracemalloc
from functools import reduce

import numpy as np
import pytest
from cases import make_data
from checks import check_all, every_estimator
from gram_cases import CLOSE, check_close, intercept_or_not
from scipy.sparse import csc_matrix, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge

from skcalrank._solvers import WithinQueries, pooled_moments
from skcalrank.data import Queries
from skcalrank.linear_model import GramRidge

weighted_or_not = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


@every_estimator([GramRidge(), GramRidge(alpha=0.0, fit_intercept=False)])
def test_estimator_checks(estimator):
    check_all(estimator)


@pytest.fixture(params=[False, True], ids=["one chunk", "many chunks"])
def chunked(request, monkeypatch):
    """Process a few rows at a time, or all at once."""
    if request.param:
        monkeypatch.setattr("skcalrank._solvers._moments._CHUNK_ROWS", 8)
        monkeypatch.setattr("skcalrank._solvers._moments.CACHE_CELLS", 1)


def draw(rng, n_rows=120, n_features=6, n_targets=None, weighted=False):
    X = rng.normal(size=(n_rows, n_features)) + rng.normal(size=n_features)
    shape = (n_features,) if n_targets is None else (n_features, n_targets)
    y = X @ rng.normal(size=shape) + rng.normal(size=(n_rows, *shape[1:])) + 3
    weight = rng.uniform(0, 2, n_rows) * (rng.random(n_rows) < 0.9) if weighted else None
    return X, y, weight


# -- scikit-learn's Ridge --------------------------------------------------------------


@intercept_or_not
@weighted_or_not
@pytest.mark.parametrize("n_targets", [None, 3])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e4])
@pytest.mark.usefixtures("chunked")
def test_is_ridge(fit_intercept, weighted, n_targets, alpha, rng):
    X, y, weight = draw(rng, n_targets=n_targets, weighted=weighted)
    model = GramRidge(alpha, fit_intercept=fit_intercept).fit(X, y, weight)
    ridge = Ridge(alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y, weight)
    check_close(model, ridge, X)


@weighted_or_not
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_single_precision(weighted, offset, rng):
    X, y, weight = draw(rng, n_rows=5000, weighted=weighted)
    X = (X + offset).astype(np.float32)
    model = GramRidge().fit(X, y, weight)
    wide = Ridge(solver="svd").fit(X.astype(float), y, weight)
    np.testing.assert_allclose(
        model.coef_, wide.coef_, rtol=1e-5, atol=1e-5 * abs(wide.coef_).max()
    )
    assert model.coef_.dtype == model.predict(X).dtype == float


@pytest.mark.parametrize("alpha", [0.0, 1e-8])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_dependent_columns_in_single_precision(container, alpha, rng):
    X = np.column_stack([np.eye(4)[rng.integers(0, 4, 300)], rng.normal(size=(300, 3))])
    X[:, 5] = X[:, 4] * 3.0 + 50.0
    y = X @ rng.normal(size=7) + rng.normal(size=300)
    X = np.column_stack([X, X[:, 4] + X[:, 6]]).astype(np.float32)
    apart = [0, 1, 2, 4, 6]  # the others follow from these
    expected = LinearRegression().fit(X[:, apart], y).predict(X[:, apart])
    model = GramRidge(alpha)
    for fitted in (
        clone(model).fit(container(X), y),
        clone(model).partial_fit(container(X[:9]), y[:9]).partial_fit(container(X[9:]), y[9:]),
    ):
        assert abs(fitted.coef_).max() < 5.0
        np.testing.assert_allclose(fitted.predict(X), expected, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_x_is_not_copied(dtype, rng):
    X = rng.normal(size=(50_000, 20)).astype(dtype)
    y = X[:, 0].astype(float)
    model = GramRidge()
    for call in (lambda: model.fit(X, y), lambda: model.predict(X)):
        call()
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < X.nbytes / 2


@intercept_or_not
@weighted_or_not
@pytest.mark.parametrize("container", [csr_matrix, csr_array, csc_matrix, np.asfortranarray])
def test_containers(container, fit_intercept, weighted, rng):
    X, y, weight = draw(rng, n_targets=2, weighted=weighted)
    X = X * (abs(X) > 0.7)
    model = GramRidge(0.1, fit_intercept=fit_intercept)
    check_close(clone(model).fit(container(X), y, weight), model.fit(X, y, weight), X)
    np.testing.assert_allclose(model.predict(container(X)), model.predict(X), **CLOSE)


def test_one_target_in_two_dimensions(rng):
    X, y, _ = draw(rng)
    model = GramRidge().fit(X, y[:, None])
    assert model.coef_.shape == (1, 6)
    assert model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.predict(X)[:, 0], GramRidge().fit(X, y).predict(X), **CLOSE)


def test_one_penalty_for_each_target(rng):
    X, y, _ = draw(rng, n_targets=3)
    alphas = [0.0, 1.0, 100.0]
    model = GramRidge(alphas).fit(X, y)
    for alpha, coef, target in zip(alphas, model.coef_, y.T):
        np.testing.assert_allclose(coef, Ridge(alpha, solver="svd").fit(X, target).coef_, **CLOSE)


# -- hard features ---------------------------------------------------------------------


@intercept_or_not
@weighted_or_not
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.usefixtures("chunked")
def test_features_far_from_zero(fit_intercept, weighted, sparse, rng):
    X, y, weight = draw(rng, weighted=weighted)
    X[:, 2:] += 1e6
    ridge = Ridge(fit_intercept=fit_intercept, solver="svd").fit(X, y, weight)
    X_ = csr_matrix(X) if sparse else X
    model = GramRidge(fit_intercept=fit_intercept).fit(X_, y, weight)
    scale = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), **scale)


def test_chunks_far_from_each_other(rng):
    X, y, _ = draw(rng, n_rows=200)
    X[100:] += 1e4
    model = GramRidge().partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    ridge = Ridge(solver="svd").fit(X, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1.0])
@pytest.mark.parametrize("shape", [(60, 4), (8, 12)], ids=["tall", "wide"])
def test_rank_deficient(alpha, shape, rng):
    X, y, _ = draw(rng, *shape)
    X = np.column_stack([X, X[:, 0], X[:, 1] - 2 * X[:, 2], np.ones(len(X)), np.zeros(len(X))])
    model = GramRidge(alpha).fit(X, y)
    reference = LinearRegression() if alpha < 1e-9 else Ridge(alpha, solver="svd")
    np.testing.assert_allclose(model.predict(X), reference.fit(X, y).predict(X), rtol=1e-6)
    # The solution of least norm, up to rounding.
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-5, atol=1e-6)
    assert np.array_equal(model.coef_[-2:], [0.0, 0.0])


@pytest.mark.product
@pytest.mark.parametrize("container", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.usefixtures("chunked")
def test_nothing_is_left_of_a_constant_feature(container, dtype, rng):
    X, y, weight = draw(rng, n_rows=3000, weighted=True)
    X = X.astype(dtype)
    X[:, 1], X[:, 4] = 5.1, -1e-7
    model = GramRidge(0.0)
    for start in range(0, 3000, 700):
        pick = slice(start, start + 700)
        model.partial_fit(container(X[pick]), y[pick], weight[pick])
    np.testing.assert_allclose(model.coef_[[1, 4]], 0.0, atol=1e-12)
    kept = [0, 2, 3, 5]
    ridge = LinearRegression().fit(X[:, kept].astype(float), y, weight)
    np.testing.assert_allclose(model.coef_[kept], ridge.coef_, rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_features_of_any_scale(alpha, rng):
    X, y, _ = draw(rng)
    X = X * [1e-6, 1, 1e6, 1e3, 1e-3, 1e9]
    # Ridge itself loses digits here: least squares of columns on one scale, penalties as rows.
    centered = X - X.mean(axis=0)
    scale = abs(centered).max(axis=0)
    rows = np.vstack([centered / scale, np.diag(np.sqrt(alpha) / scale)])
    coef = np.linalg.lstsq(rows, np.r_[y - y.mean(), np.zeros(6)], rcond=None)[0]
    expected = rows[: len(y)] @ coef + y.mean()
    np.testing.assert_allclose(GramRidge(alpha).fit(X, y).predict(X), expected, rtol=1e-9)


def test_what_a_weight_of_zero_hides(rng):
    X, y, _ = draw(rng)
    weight = np.ones(len(X))
    hidden = X.copy()
    hidden[[0, 50]], weight[[0, 50]] = 1e12, 0
    shown = weight > 0
    check_close(GramRidge().fit(hidden, y, weight), GramRidge().fit(X[shown], y[shown]), X)


def test_squares_that_overflow(rng):
    X, y, _ = draw(rng)
    far = (X * 1e25).astype(np.float32)
    model = GramRidge().fit(far, y)
    expected = Ridge(1e-50, solver="svd").fit(X.astype(np.float32).astype(float), y)
    np.testing.assert_allclose(model.predict(far), expected.predict(X), rtol=1e-3)
    with pytest.raises(ValueError, match=r"Squares of X .*overflow"):
        GramRidge().fit(X * 1e200, y)
    large = GramRidge().fit(X.astype(np.float32), y * 1e200)
    np.testing.assert_allclose(large.coef_ / 1e200, GramRidge().fit(X, y).coef_, rtol=1e-4)


def test_features_by_the_ten_thousand_are_an_error():
    X = csr_matrix((3, 20_000))
    with pytest.raises(ValueError, match=r"16384 features.*2 GB, got 20000.*Ridge"):
        GramRidge().fit(X, [0, 1, 2])


# -- chunks and merging ----------------------------------------------------------------


@intercept_or_not
@weighted_or_not
@pytest.mark.parametrize("container", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_chunks_are_the_whole(container, fit_intercept, weighted, rng):
    X, y, weight = draw(rng, n_targets=2, weighted=weighted)
    model = GramRidge(0.5, fit_intercept=fit_intercept)
    parts, chunks = [], clone(model)
    for rows in np.split(rng.permutation(len(X)), [1, 30, 31, 90]):
        of_rows = container(X[rows]), y[rows], None if weight is None else weight[rows]
        assert chunks.partial_fit(*of_rows) is chunks
        parts.append(clone(model).fit(*of_rows))
    model.fit(X, y, weight)
    check_close(chunks, model, X)
    check_close(parts[0].merge(*parts[1:]), model, X)
    check_close(reduce(GramRidge.merge, parts), model, X)
    check_close(parts[4].merge(parts[2].merge(parts[0], parts[1]), parts[3]), model, X)


def test_merging_leaves_the_models_alone(rng):
    X, y, _ = draw(rng)
    one, two = GramRidge(2.0).fit(X[:50], y[:50]), GramRidge(7.0).fit(X[50:], y[50:])
    before = [model.coef_.copy() for model in (one, two)]
    both = one.merge(two).partial_fit(X, y)
    for model, coef in zip((one, two), before):
        assert np.array_equal(model.coef_, coef)
        np.testing.assert_allclose(model.path([model.alpha])[0][0], coef, **CLOSE)
    assert both.alpha == 2.0
    check_close(both, GramRidge(2.0).fit(np.r_[X, X], np.r_[y, y]), X)
    check_close(one.merge(), one, X)


def test_fit_forgets(rng):
    X, y, _ = draw(rng)
    model = GramRidge().fit(X[:40, :3], y[:40])
    assert model.fit(X, y).coef_.shape == (6,)
    check_close(model, Ridge(solver="svd").fit(X, y), X)


def test_chunks_that_do_not_fit(rng):
    X, y, _ = draw(rng)
    model = GramRidge().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    with pytest.raises(ValueError, match=r"with 1 target in 1d, got 2 targets in 2d"):
        model.partial_fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="shape of earlier calls"):
        model.partial_fit(X, y[:, None])
    with pytest.raises(ValueError, match="got 6 and 2 features"):
        model.merge(GramRidge().fit(X[:, :2], y))
    with pytest.raises(ValueError, match="shape of earlier calls"):
        model.merge(GramRidge().fit(X, np.c_[y, y]))
    with pytest.raises(NotFittedError):
        model.merge(GramRidge())
    for name in ("coef_", "intercept_", "penalty_scale_"):
        assert not hasattr(GramRidge(), name)
        with pytest.raises(NotFittedError):
            getattr(GramRidge(), name)


def test_an_intercept_is_a_number_for_each_target(rng):
    X, y, _ = draw(rng)
    for fit_intercept in (False, True):
        model = GramRidge(fit_intercept=fit_intercept)
        assert type(model.fit(X, y).intercept_) is float
        assert model.fit(X, np.c_[y, y]).intercept_.shape == (2,)


def test_names_of_features(rng):
    pandas = pytest.importorskip("pandas")
    X, y, _ = draw(rng, n_features=2)
    frames = [pandas.DataFrame(X, columns=list(names)) for names in ("ab", "ab", "ba")]
    one, two, three = (GramRidge().fit(frame, y) for frame in frames)
    assert list(one.merge(two).feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="different names"):
        one.merge(three)
    with pytest.raises(ValueError, match="feature names"):
        one.partial_fit(frames[2], y)


def test_a_fit_that_fails_changes_nothing(rng):
    X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    model = GramRidge().fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((3, 2), np.nan), y[:3])
    assert model.path([1.0])[0].shape == (1, 2)
    np.testing.assert_allclose(model.partial_fit(X[5:], y[5:]).coef_, GramRidge().fit(X, y).coef_)


def test_pickling_between_chunks(rng):
    X, y, _ = draw(rng)
    model = GramRidge().partial_fit(X[:50], y[:50])
    model = pickle.loads(pickle.dumps(model)).partial_fit(X[50:], y[50:])
    check_close(pickle.loads(pickle.dumps(model)), Ridge(solver="svd").fit(X, y), X)


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        (-1.0, "'alpha' .*Got -1.0"),
        (np.inf, "'alpha' .*Got inf"),
        ([1.0, 2.0], r"shape \(1,\), .* got shape \(2,\)"),
    ],
    ids=str,
)
def test_bad_penalties(alpha, message, rng):
    X, y, _ = draw(rng)
    with pytest.raises(ValueError, match=message):
        GramRidge(alpha).fit(X, y)


# -- paths -----------------------------------------------------------------------------


@intercept_or_not
@pytest.mark.parametrize("n_targets", [None, 3])
def test_path_is_one_fit_each(fit_intercept, n_targets, rng):
    X, y, weight = draw(rng, n_targets=n_targets, weighted=True)
    X = np.column_stack([X, X[:, 0]])
    model = GramRidge(fit_intercept=fit_intercept).fit(X, y, weight)
    alphas = [1e-3, 1.0, 50.0, 1e7]
    coefs, intercepts = model.path(alphas)
    for alpha, coef, intercept in zip(alphas, coefs, intercepts):
        ridge = Ridge(alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y, weight)
        np.testing.assert_allclose(coef, ridge.coef_, **CLOSE)
        np.testing.assert_allclose(intercept, ridge.intercept_, **CLOSE)


def test_path_leaves_out_what_is_rounding(rng):
    X, y, _ = draw(rng)
    X[:, [1, 4]] *= 1e-25
    coefs, intercepts = GramRidge().fit(X, y).path([0.0, 1e-9])
    seen = LinearRegression().fit(X[:, [0, 2, 3, 5]], y).predict(X[:, [0, 2, 3, 5]])
    for coef, intercept in zip(coefs, intercepts):
        np.testing.assert_allclose(X @ coef + intercept, seen, rtol=1e-7)


def test_bad_paths(rng):
    X, y, _ = draw(rng)
    model = GramRidge()
    with pytest.raises(NotFittedError):
        model.path([1.0])
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"alpha must .* got -2\.0"):
        model.path([1.0, -2.0])
    with pytest.raises(ValueError, match=r"shape \(\)"):
        model.path(1.0)
    with pytest.raises(ValueError, match=r"shape \(0,\)"):
        model.path([])


# -- moments ---------------------------------------------------------------------------


@weighted_or_not
@pytest.mark.parametrize("container", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("some", [False, True], ids=["all rows", "some rows"])
@pytest.mark.usefixtures("chunked")
def test_pooled_moments(container, weighted, some, rng):
    X, y, weight = draw(rng, n_targets=2, weighted=weighted)
    X[:, 3] += 1e5
    rows = rng.permutation(len(X))[:70] if some else None
    found = pooled_moments(container(X), y, weight, rows)
    w = np.ones(len(X)) if weight is None else weight
    X, y, w = (a if rows is None else a[rows] for a in (X, y, w))
    mean, level = w @ X / w.sum(), w @ y / w.sum()
    expected = w.sum(), mean, level, (X - mean).T * w @ (X - mean), (X - mean).T * w @ (y - level)
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7)


@weighted_or_not
@pytest.mark.parametrize("container", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("some", [False, True], ids=["all rows", "some rows"])
@pytest.mark.usefixtures("chunked")
def test_moments_within_queries(container, weighted, some, rng):
    X, _, qid = make_data(rng, sizes=(6, 1, 9, 4, 7, 50, 2))
    y, weight = rng.normal(size=(len(X), 2)) + 4, rng.uniform(0, 2, len(X)) if weighted else None
    X[:, 1], X[:, 2] = X[:, 1] + 1e5 * qid, qid / 3.0
    rows = rng.permutation(np.flatnonzero(np.isin(qid, [11, 12, 14, 15]))) if some else None
    queries = Queries.from_qid(qid)
    found = WithinQueries(container(X), y, queries, weight).moments(rows)
    gram, moment = np.zeros((4, 4)), np.zeros((4, 2))
    for q in np.unique(qid if rows is None else qid[rows]):
        of_query = qid == q
        w = np.ones(of_query.sum()) if weight is None else weight[of_query]
        x, t = X[of_query] - w @ X[of_query] / w.sum(), y[of_query] - w @ y[of_query] / w.sum()
        gram += len(w) * (x.T * w @ x)
        moment += len(w) * (x.T * w @ t)
    np.testing.assert_allclose(found.gram, gram, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.moment, moment, rtol=1e-6, atol=1e-6)
    assert not found.gram[2].any()
    assert not found.moment[2].any()


def test_rows_out_of_order(rng):
    X, y, _ = draw(rng, n_targets=1)
    for rows in ([0, 5, 2, 3], [3, 2, 1, 0], [4, 5, 6, 7]):
        found, expected = (
            pooled_moments(X, y, None, np.array(rows)),
            pooled_moments(X[rows], y[rows]),
        )
        np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-12)


def test_merging_what_weighs_nothing(rng):
    X, y, weight = draw(rng, n_targets=1, weighted=True)
    far, nothing = np.full((5, 6), 1e12), np.zeros(5)
    empty, some = pooled_moments(far, y[:5], nothing), pooled_moments(X, y, weight)
    for merged in (some.merge(empty), empty.merge(some), empty.merge(empty).merge(some)):
        for ours, theirs in zip(merged, some):
            assert np.array_equal(ours, theirs)


def test_sparse_powers_of_years_are_as_dense_ones(rng):
    year = rng.integers(1990, 2026, 400) * 1.0
    X, t = np.column_stack([year, year**2, year**3]), (year - 2000) / 10 + rng.normal(size=400)
    dense, sparse = (GramRidge(0.0).fit(A, t).score(A, t) for A in (X, csr_matrix(X)))
    assert sparse == pytest.approx(dense, abs=1e-3)
    assert dense > 0.4
