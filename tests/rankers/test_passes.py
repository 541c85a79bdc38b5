"""Targets up to a constant of each query, with regressors that are not linear."""

import warnings
from functools import wraps

import numpy as np
import pytest
from cases import make_data, tags_sparse
from row_laws import FOUR_KINDS
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import has_fit_parameter

from skcalrank import (
    AUCRanker,
    AveragePrecisionRanker,
    DCGRanker,
    ERRRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PrecisionRanker,
    RecallRanker,
    SpearmanRanker,
)
from skcalrank.calibration import SharedRows
from skcalrank.data import CutQueriesWarning, NotAMeanWarning

TREE = DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)
RANKERS = [
    RecallRanker(k=1),
    AUCRanker(),
    AveragePrecisionRanker(),
    NDCGRanker(),
    PrecisionRanker(k=1),
    DCGRanker(),
    ERRRanker(max_grade=1),
    PairwiseDisagreementRanker(),
]


def mean_of_query(values, qid, weight):
    means = {q: np.average(values[qid == q], weights=weight[qid == q]) for q in set(qid.tolist())}
    return np.array([means[q] for q in qid.tolist()])


def by_hand(regressor, X, targets, qid, weight, n_passes):
    sizes = np.array([(qid == q).sum() for q in qid])
    fitted = clone(regressor).fit(X, targets, weight * sizes).predict(X)
    for _ in range(n_passes):
        left = mean_of_query(targets - fitted, qid, weight)
        fitted = clone(regressor).fit(X, targets - left, weight * sizes).predict(X)
    return fitted


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_passes", [1, 2, 5])
def test_each_pass_is_a_fit_to_what_the_one_before_left_over(n_passes, weighted, data, rng):
    X, y, qid = data
    weight = rng.uniform(0.1, 3, len(y)) if weighted else np.ones(len(y))
    ranker = DCGRanker(TREE, gain="linear", loss="pairwise_squared", n_passes=n_passes)
    ranker.fit(X, y, qid, sample_weight=weight if weighted else None)
    expected = by_hand(TREE, X, y, qid, weight, n_passes)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-9, atol=1e-12)
    # The loss "centered" is one pass from 0.
    centered = clone(ranker).set_params(loss="centered", n_passes=5)
    centered.fit(X, y, qid, sample_weight=weight if weighted else None)
    sizes = np.array([(qid == q).sum() for q in qid])
    one = clone(TREE).fit(X, y - mean_of_query(y, qid, weight), weight * sizes)
    assert np.array_equal(centered.predict(X), one.predict(X))


@pytest.mark.parametrize("n_passes", [1, 3])
@pytest.mark.parametrize("regressor", [TREE, MultiOutputRegressor(TREE), SVR()], ids=repr)
@pytest.mark.filterwarnings("ignore::skcalrank.data.NotAMeanWarning")
def test_passes_in_the_label_form(regressor, n_passes, label_data):
    X, y = label_data
    ranker = DCGRanker(regressor, gain="linear", loss="pairwise_squared", n_passes=n_passes)
    multiple = MultiOutputRegressor(regressor) if isinstance(regressor, SVR) else regressor
    fitted = clone(multiple).fit(X, y).predict(X)
    for _ in range(n_passes):
        left = (y - fitted).mean(axis=1, keepdims=True)
        fitted = clone(multiple).fit(X, y - left).predict(X)
    np.testing.assert_allclose(ranker.fit(X, y).predict(X), fitted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_passes_go_to_the_minimum_and_the_first_does_not(ranker):
    X, y, qid, weight = FOUR_KINDS.population()
    given = X, y, qid, weight
    tree = clone(ranker).set_params(estimator=DecisionTreeRegressor(), loss="pairwise_squared")
    exact = clone(tree).set_params(estimator=LinearRegression()).fit(*given).predict(np.eye(4))
    near = clone(tree).set_params(n_passes=150).fit(*given).predict(np.eye(4))
    np.testing.assert_allclose(near - near[3], exact - exact[3], atol=1e-3 * np.ptp(exact))
    few = tree.set_params(n_passes=5).fit(*given).predict(np.eye(4))
    assert exact[0] > exact[1]
    assert few[0] > few[1]
    # One pass cannot fit the residuals of a query by a function of rows: it ranks .3 above .133.
    one = tree.set_params(loss="centered").fit(*given).predict(np.eye(4))
    assert one[1] > one[0]


def test_centered_targets_of_a_separable_measure_on_the_four_kinds():
    ranker = PrecisionRanker(DecisionTreeRegressor(), loss="centered")
    X, y, qid, weight = FOUR_KINDS.population()
    found = ranker.fit(X, y, qid, weight).predict(np.eye(4))
    np.testing.assert_allclose(found[:2], [2 / 15, 0.3])
    rows, _ = FOUR_KINDS.rows()
    assert FOUR_KINDS.regret("precision@1", ranker.predict(rows)) > 0.07
    ranker.set_params(loss="pairwise_squared", n_passes=1).fit(X, y, qid, weight)
    assert FOUR_KINDS.regret("precision@1", ranker.predict(rows)) < 1e-12


@pytest.mark.parametrize("n_passes", [1, 2, 5])
def test_passes_keep_the_best_order_of_separable_targets(n_passes):
    # v - mean_q(v - g) has the mean g given the query if v has: the squared fit stays where it is.
    rng, regrets = np.random.RandomState(0), []
    ranker = PrecisionRanker(
        DecisionTreeRegressor(), k=1, loss="pairwise_squared", n_passes=n_passes
    )
    centered = PrecisionRanker(DecisionTreeRegressor(), k=1, loss="centered")
    for _ in range(60):
        n_queries = rng.randint(2, 4)
        kinds = rng.randint(4, size=(n_queries, 4))
        share = rng.dirichlet(np.ones(n_queries))
        queries = SharedRows.independent(kinds, rng.randint(11, size=4) / 10, share)
        X, y, qid, weight = queries.data()
        weight = np.maximum(weight, 1e-300)
        scores = ranker.fit(X, y, qid, weight).predict(np.eye(queries.n_kinds))
        assert queries.regret("precision@1", scores) == pytest.approx(0, abs=1e-12)
        other = centered.fit(X, y, qid, weight).predict(np.eye(queries.n_kinds))
        regrets.append(queries.regret("precision@1", other))
    assert max(regrets) > 0.01


ANY = [
    RandomForestRegressor(5, random_state=0),
    HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2),
    KNeighborsRegressor(),
    SVR(),
    make_pipeline(StandardScaler(), TREE),
    make_pipeline(StandardScaler(), Lasso(0.01)),
    RandomForestRegressor(5, random_state=0, warm_start=True),
]


@pytest.mark.parametrize("regressor", ANY, ids=repr)
@pytest.mark.filterwarnings("ignore::skcalrank.data.NotAMeanWarning")
def test_every_regressor_has_passes(regressor, data, rng):
    X, y, qid = data
    ranker = NDCGRanker(regressor, k=3, loss="pairwise_squared", n_passes=3).fit(X, y, qid)
    first = NDCGRanker(regressor, k=3, loss="centered").fit(X, y, qid)
    assert not np.allclose(ranker.predict(X), first.predict(X))
    assert ranker.estimator_.get_params().keys() == regressor.get_params().keys()
    shuffled = rng.permutation(len(y))
    if not isinstance(regressor, RandomForestRegressor):
        again = clone(ranker).fit(X[shuffled], y[shuffled], qid[shuffled]).predict(X)
        np.testing.assert_allclose(again, ranker.predict(X), atol=2e-3)


def test_a_warm_start_does_not_carry_one_pass_into_the_next(data):
    cold, warm = (
        NDCGRanker(RandomForestRegressor(5, random_state=0, warm_start=w), loss="pairwise_squared")
        for w in (False, True)
    )
    assert np.array_equal(*(ranker.fit(*data).predict(data[0]) for ranker in (cold, warm)))


def test_weights_of_the_user_need_a_regressor_that_takes_them(data):
    X, y, qid = data
    for loss in ("centered", "pairwise_squared"):
        ranker = NDCGRanker(KNeighborsRegressor(), loss=loss)
        with pytest.raises(ValueError, match=r"KNeighborsRegressor\.fit has no sample_weight"):
            ranker.fit(X, y, qid, sample_weight=np.ones(len(y)))
    assert not has_fit_parameter(KNeighborsRegressor(), "sample_weight")


@tags_sparse
def test_missing_values_and_sparse_features(data):
    X, y, qid = data
    sparse = NDCGRanker(TREE, loss="pairwise_squared")
    np.testing.assert_allclose(
        sparse.fit(csr_matrix(X), y, qid).predict(csr_matrix(X)),
        clone(sparse).fit(X, y, qid).predict(X),
    )
    X = np.where(X > 1, np.nan, X)
    trees = NDCGRanker(
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2), loss="pairwise_squared"
    )
    assert np.isfinite(trees.fit(X, y, qid).predict(X)).all()


def test_all_passes_stop_early_on_the_same_whole_queries(rng, monkeypatch):
    X, y, qid = make_data(rng, (5,) * 30)
    seen, fit = [], HistGradientBoostingRegressor.fit

    @wraps(fit)
    def spy(self, X, y, sample_weight=None, **kwargs):
        seen.append((X, kwargs["X_val"]))
        return fit(self, X, y, sample_weight, **kwargs)

    if not has_fit_parameter(HistGradientBoostingRegressor(), "X_val"):
        pytest.skip("scikit-learn hands no rows over")
    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", spy)
    trees = HistGradientBoostingRegressor(early_stopping=True, max_iter=3)
    NDCGRanker(trees, loss="pairwise_squared", n_passes=3).fit(X, y, qid)
    assert len(seen) == 1 + 3
    for part in (0, 1):
        assert all(np.array_equal(seen[0][part], each[part]) for each in seen)
    held_out = {tuple(row) for row in seen[0][1]}
    cut = {q: np.mean([tuple(row) in held_out for row in X[qid == q]]) for q in set(qid.tolist())}
    assert set(cut.values()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("regressor", "category"),
    [
        (SVR(), NotAMeanWarning),
        (SVR(kernel="linear"), NotAMeanWarning),
        (
            make_pipeline(HistGradientBoostingRegressor(early_stopping=True, max_iter=2)),
            CutQueriesWarning,
        ),
    ],
    ids=repr,
)
def test_passes_warn_once(regressor, category, data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        NDCGRanker(regressor, loss="pairwise_squared").fit(*data)
    assert [each.category for each in caught] == [category]


def test_a_regressor_that_is_linear_needs_no_passes(data):
    fits = [
        NDCGRanker(Lasso(0.01), loss="pairwise_squared", n_passes=n).fit(*data).coef_
        for n in (1, 4)
    ]
    assert np.array_equal(*fits)


def test_label_form_of_spearman_is_centered_already(label_data):
    X, y = label_data
    first, last = (
        SpearmanRanker(DecisionTreeRegressor(max_depth=2), loss="pairwise_squared", n_passes=n)
        for n in (1, 4)
    )
    # Trees of several outputs leave nothing over.
    np.testing.assert_allclose(first.fit(X, y).predict(X), last.fit(X, y).predict(X), atol=1e-12)
