"""Equal documents: no score depends on the order of the rows."""

from itertools import islice

import numpy as np
import pytest
from cases import ranker_id
from definitions import disagreement, orders_of_ties
from fits import EVERY, fitted
from matrices import MATRICES, OBJECTIVES, posed
from pair_cases import PREDS, is_refused, map_ranker, over, pd_ranker, setting
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, Ridge, RidgeCV, SGDRegressor
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

from skcalrank import ExternalRanker, NDCGRanker, PreferenceTarget, RankingTarget, TabularRanker
from skcalrank.columns import first_equal_rows
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import get_scorer
from skcalrank.preds import PREDS as EVERY_PRED
from skcalrank.preds import Pred, solve_with_ties, sort_positions

OF_PAIRS = [pred for pred in map(posed, EVERY_PRED.values()) if pred.shape == "pairs"]
every_pair_pred = pytest.mark.parametrize("pred", OF_PAIRS, ids=lambda pred: pred.key)
SETTINGS = [
    (make, pred, features)
    for make, preds in PREDS.items()
    for pred in preds
    for features in ("bilinear", "concat", "difference", "tree")
    if not is_refused(make, features)
]
every_setting = over(*SETTINGS)
every_maker = pytest.mark.parametrize("make", PREDS)


@pytest.fixture
def ranker(which):
    return setting(*which)


def few_values(rng, n_queries=12, size=6, width=2):
    """Features of few values, so that queries hold equal documents, and labels of pure noise."""
    n = n_queries * size
    X = rng.integers(0, 2, (n, width)) + 0.0
    return X, (rng.random(n) < 0.4) * 1.0, np.repeat(np.arange(n_queries), size)


def sorted_files(y, q):
    """Rows of each query best first, and worst first."""
    return np.lexsort((-y, q)), np.lexsort((y, q))


def by_document(scores, X, q):
    """Scores of the rows, sorted among equal rows."""
    return scores[np.lexsort((scores, *X.T, q))]


# -- rankers: the order of the rows ----------------------------------------------------------


@every_maker
def test_cross_validation_does_not_see_how_rows_are_sorted(make, rng):
    X, y, q = few_values(rng, 60, 8)
    scorer = get_scorer({map_ranker: "map", pd_ranker: "neg_pairwise_disagreement"}[make])
    found = []
    for rows in sorted_files(y, q):
        tools = {"groups": q[rows], "cv": GroupKFold(5), "scoring": scorer}
        ranker, target = make(random_state=0), RankingTarget(y[rows], q[rows])
        found.append(cross_val_score(ranker, X[rows], target, **tools).mean())
    # Where MAP separates equal documents, the draws of 60 queries are left.
    assert found[0] == pytest.approx(found[1], abs=1e-9 if make is pd_ranker else 0.05)


@every_setting
def test_constant_features_give_constant_scores(ranker, rng):
    _, y, q = few_values(rng)
    for X in (np.full((len(y), 9), 0.7), np.zeros((len(y), 2))):
        found = []
        for rows in sorted_files(y, q):
            ranker.fit(X, y[rows], q)
            assert len(np.unique(ranker.predict(X, q))) == 1
            found.append(ranker.score(X, y[rows], q))
        assert found[0] == pytest.approx(found[1], rel=1e-12)


@every_setting
def test_scores_follow_the_rows(ranker, rng):
    X, y, q = few_values(rng, width=3)
    rows = rng.permutation(len(y))
    ranker.fit(X, y, q)
    one, two = ranker.predict(X, q), ranker.predict(X[rows], q[rows])
    assert np.array_equal(by_document(one, X, q), by_document(two, X[rows], q[rows]))
    if isinstance(ranker, type(pd_ranker())):
        assert np.array_equal(two, one[rows])
        assert ranker.score(X[rows], y[rows], q[rows]) == pytest.approx(ranker.score(X, y, q))
    refitted = clone(ranker).fit(X[rows], y[rows], q[rows]).predict(X[rows], q[rows])
    assert np.array_equal(by_document(one, X, q), by_document(refitted, X[rows], q[rows]))


@pytest.mark.parametrize("features", ["bilinear", "concat", "network"])
def test_equal_documents_share_a_score_however_many_features(features, rng):
    # Products of matrices are rounded in one way or another, by the place of the row.
    _, y, q = few_values(rng, 4, 13)
    X = rng.normal(size=(5, 40))[rng.integers(0, 5, len(y))]
    ranker = setting(pd_ranker, None, features).fit(X, y, q)
    for matrix, rows in zip(ranker.surrogate_values(X, q), np.split(np.arange(len(y)), 4)):
        equal = (X[rows][:, None] == X[rows]).all(axis=2)
        assert (matrix[equal.argmax(axis=1)] == matrix).all()
        assert (np.ptp(ranker.predict(X, q)[rows][equal[0]])) == 0.0


EXTERNAL = [ExternalRanker(regressor) for regressor in (Ridge(), KernelRidge())]


@pytest.mark.parametrize("ranker", [*EVERY, *EXTERNAL], ids=ranker_id)
def test_equal_documents_have_equal_scores_in_every_ranker(ranker, rng):
    X = rng.normal(size=(6, 17))[rng.integers(0, 6, 75)]
    y, q = rng.integers(0, 3, 75) + 0.0, np.repeat([4, 2, 9], 25)
    # One of its members scales columns within the query.
    Z = np.column_stack([X, q]) if isinstance(ranker, TabularRanker) else X
    for data in (X, np.asfortranarray(X)):
        found = fitted(ranker, data, y, q)
        for rows in (slice(75), slice(0, 75, 3), slice(1)):
            scores = found.predict(data[rows], q[rows])
            same = (Z[rows][:, None] == Z[rows]).all(axis=2).argmax(axis=1)
            assert np.array_equal(scores, scores[same])


REGRESSORS = [
    make_pipeline(StandardScaler(with_mean=False), Ridge()),
    KernelRidge(kernel="rbf"),
    SGDRegressor(random_state=0),
    RidgeCV(),
    make_pipeline(Nystroem(n_components=20, random_state=0), Ridge()),
]


@pytest.mark.parametrize("regressor", REGRESSORS, ids=lambda e: type(e).__name__)
def test_equal_documents_have_equal_scores_with_every_regressor(regressor, rng):
    X = rng.normal(size=(6, 37))[rng.integers(0, 6, 203)]
    y, q = rng.integers(0, 3, 203) + 0.0, np.arange(203) // 25
    first = (X[:, None] == X).all(axis=2).argmax(axis=1)
    single = X.astype(np.float32)
    forms = [X, np.asfortranarray(X), single]
    if get_tags(regressor).input_tags.sparse:
        forms += [csr_matrix(X), csr_matrix(single)]
    for data in forms:
        scores = NDCGRanker(regressor, loss="squared").fit(data, y, q).predict(data)
        assert np.array_equal(scores, scores[first])


def test_rows_of_any_form_are_found_equal(rng):
    X = rng.integers(-1, 2, (40, 5)) * 1.5
    X[X == 0] *= rng.choice([-1, 1], (X == 0).sum())
    expected = (X[:, None] == X).all(axis=2).argmax(axis=1)
    for rows in (X, X.astype(np.float32), csr_matrix(X)):
        assert np.array_equal(first_equal_rows(rows), expected)


@every_maker
def test_rank_is_a_permutation_with_equal_scores_in_row_order(make, rng):
    X, y, q = few_values(rng)
    ranker = make(random_state=3).fit(X, y, q)
    scores, places = ranker.predict(X, q), ranker.rank(X, q)
    for query, result in enumerate(ranker.solve(X, q)):
        assert np.array_equal(places[q == query], sort_positions(scores[q == query]))
        assert np.array_equal(places[q == query], result.positions)


# -- draws --------------------------------------------------------------------------------

#: Of two equal documents with a third that goes with one of them the best order has it between.
APART = np.array([[1.0, -2.0, 0.9], [-2.0, 1.0, 0.9], [0.9, 0.9, 0.2]])


def fixed(U):
    """A ranker whose surrogate is given, in the form that has no features."""
    ranker = map_ranker().fit(np.zeros((2, 1)), np.eye(3)[:2])
    ranker._matrices_of_items = lambda u, _r: np.tile(U, (len(u), 1, 1))
    return ranker


def test_twins_that_a_best_order_separates_are_drawn():
    ranker = fixed(APART)
    assert ranker.solve(np.zeros((1, 1)))[0].value == pytest.approx(1 + 1.1 / 2 - 0.1 / 3)
    X = np.zeros((4000, 1))
    scores = ranker.set_params(random_state=0).predict(X)
    assert np.array_equal(np.unique(scores, axis=0), [[-3, -1, -2], [-1, -3, -2]])
    assert (scores[:, 0] == -1).mean() == pytest.approx(0.5, abs=0.05)
    assert np.array_equal(scores, ranker.predict(X))
    ranker.set_params(random_state=1)
    assert not np.array_equal(scores, ranker.predict(X))


def test_a_cycle_of_items_starts_anywhere():
    X, orders = np.zeros((3, 1)), [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    ranker = pd_ranker(weights="unit", random_state=0).fit(X, -np.array(orders))
    scores = ranker.predict(np.zeros((3000, 1)))
    np.testing.assert_allclose(scores.mean(axis=0), -2.0, atol=0.07)


@every_maker
def test_items_of_equal_labels_share_a_score(make, rng):
    X, y = rng.normal(size=(60, 17)), rng.integers(0, 2, (60, 5)) + 0.0
    y[:, 3] = y[:, 1]
    ranker = make().fit(X, y)
    U = ranker.surrogate_values(X)
    assert np.array_equal(U[:, 1, [0, 2, 4]], U[:, 3, [0, 2, 4]])
    scores = ranker.predict(X)
    if make is pd_ranker:
        assert np.array_equal(scores[:, 1], scores[:, 3])


# -- prediction maps ------------------------------------------------------------------------


def with_twins(kind, rng, n=5, r=7):
    """Matrices with documents that occur several times; symmetric, as MAP reads them, or not."""
    U = np.array([MATRICES[kind](r, rng) for _ in range(n)])
    which = rng.integers(0, r - 3, (n, r))
    U = U[np.arange(n)[:, None, None], which[:, :, None], which[:, None, :]]
    return U, which


def for_objective(pred, U):
    return U + U.swapaxes(1, 2) if pred.objective == "map" else U


def map_value(U, positions):
    return (np.tril(U) / np.maximum(positions[:, None], positions)).sum()


VALUES = {"map": map_value, "disagreement": disagreement, "pairs": OBJECTIVES["pairs"][0]}


@pytest.mark.product
@every_pair_pred
@pytest.mark.parametrize("kind", MATRICES)
def test_sharing_costs_nothing(pred, kind, rng):
    U, which = with_twins(kind, rng)
    U, value = for_objective(pred, U), VALUES[pred.objective]
    result, scores = solve_with_ties(pred, U, rng.random(which.shape))
    alone = pred.solve(U)
    for matrix, documents, one, shared in zip(U, which, result.each(), scores):
        assert np.array_equal(one.positions, sort_positions(shared))
        for positions in islice(orders_of_ties(shared), 50):
            assert value(matrix, positions) == pytest.approx(one.value, abs=1e-9)
        equal = documents[:, None] == documents
        if pred.objective == "disagreement":
            assert (shared[:, None] == shared)[equal].all()
        else:
            # Adjacent equal documents share a position; others have another document between.
            for i, j in np.argwhere(equal & (shared[:, None] > shared)):
                between = (shared < shared[i]) & (shared > shared[j])
                assert (documents[between] != documents[i]).any()
    if pred.exact:
        np.testing.assert_allclose(result.value, alone.value, atol=1e-9)
    sign = 1 if pred.larger_is_better else -1
    assert (sign * (result.bound - result.value) >= -1e-12).all()


@pytest.mark.product
@every_pair_pred
@pytest.mark.parametrize("kind", MATRICES)
def test_scores_follow_the_documents(pred, kind, rng):
    U, which = with_twins(kind, rng)
    U, turn = for_objective(pred, U), rng.random(which.shape)
    order = np.argsort(rng.random(which.shape), axis=1)
    moved = U[np.arange(len(U))[:, None, None], order[:, :, None], order[:, None, :]]
    expected = np.take_along_axis(solve_with_ties(pred, U, turn)[1], order, axis=1)
    found = solve_with_ties(pred, moved, np.take_along_axis(turn, order, axis=1))[1]
    assert np.array_equal(found, expected)


@every_pair_pred
def test_nothing_to_go_by_gives_equal_scores(pred):
    for U in (np.zeros((2, 6, 6)), np.full((2, 6, 6), -0.3), np.tile(np.eye(6), (2, 1, 1))):
        _, scores = solve_with_ties(pred, U, np.tile(np.arange(6.0), (2, 1)))
        assert (scores == -3.5).all()


def test_twins_are_gathered_where_they_lose_least():
    # In row order, the document that beats both twins is between them.
    pred = Pred.from_positions(lambda _U: np.arange(1, 4), "disagreement", name="as they stand")
    U = np.array([[[0, 0, 0], [3, 0, 3], [0, 0, 0.0]]])
    result, scores = solve_with_ties(pred, U, np.arange(3.0)[None])
    assert scores.tolist() == [[-2.5, -1.0, -2.5]]
    assert (result.value[0], result.bound[0]) == (0.0, 0.0)


def test_votes_that_tie_do_not_see_the_order_of_the_rows(rng):
    def copeland(U):
        return sort_positions((U > U.T).sum(axis=1))

    X, y, q = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), np.repeat(np.arange(4), 15)
    rows = rng.permutation(60)
    ranker = pd_ranker(pred=copeland).fit(X, y, q)
    assert np.array_equal(ranker.predict(X[rows], q[rows]), ranker.predict(X, q)[rows])


# -- nothing to learn -----------------------------------------------------------------------

LINEAR_REGRESSORS = [
    None,
    Ridge(),
    LinearRegression(),
    GramRidge(),
    Lasso(1e-3),
    make_pipeline(StandardScaler(), Ridge()),
    make_pipeline(MinMaxScaler(), Ridge()),  # zeros are not where zeros were
]


# Where there is nothing to learn, Lasso of scikit-learn 1.6 does not see that it is done.
@pytest.mark.every_case
@pytest.mark.filterwarnings("ignore:Objective did not converge")
@pytest.mark.parametrize("estimator", LINEAR_REGRESSORS, ids=lambda e: type(e).__name__)
def test_linear_differences_are_refused_for_symmetric_targets(estimator, rng):
    X, y, q = few_values(rng)
    ranker = map_ranker(pair_features="difference", estimator=estimator)
    with pytest.raises(ValueError, match=r"'difference' for MAP.*Set pair_features='bilinear'"):
        ranker.fit(X, y, q)
    # Items have no features of pairs.
    ranker.fit(X[:6], y.reshape(-1, 6)[:6])


@pytest.mark.every_case
@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeRegressor(max_depth=3),
        KernelRidge(kernel="rbf"),
        make_pipeline(PolynomialFeatures(2), Ridge()),
    ],
    ids=lambda e: type(e).__name__,
)
def test_other_differences_are_not(estimator, rng):
    X, y, q = few_values(rng)
    ranker = map_ranker(pair_features="difference", estimator=estimator).fit(X, y, q)
    assert 0 < ranker.score(X, y, q) < 1
    target = PreferenceTarget.from_relevance(y, q)
    assert pd_ranker(pair_features="difference", alpha=0.1).fit(X, target).score(X, target) < 0
