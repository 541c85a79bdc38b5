"""Predictors of labels of any kind: optimal under every law, by enumeration."""

import pickle
from itertools import permutations, product

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold

from skcalrank.calibration import regret_bound
from skcalrank.measures import get_measure
from skcalrank.metrics import hit_at_k_score, measure_score
from skcalrank.structured import (
    Factors,
    HitLoss,
    LowRankLossClassifier,
    OrderHamming,
    StructuredPredictor,
    get_factors,
)

EXACT = LinearRegression()


def laws(rng, labels, n_points):
    """Random laws of labels, and rows that have them exactly: X, y, weights, probabilities."""
    law = rng.dirichlet(np.full(len(labels), 0.3), size=n_points)
    X = np.repeat(np.eye(n_points), len(labels), axis=0)
    return X, np.concatenate([labels] * n_points), law.ravel(), law


def asymmetric(rng, n, m):
    return rng.integers(0, 7, size=(n, m)) + rng.random((n, m))


def subsets(s, k=None):
    """All sets of s labels, or those of k."""
    out = np.array(list(product((0, 1), repeat=s)))
    return out if k is None else out[out.sum(axis=1) == k]


def orders(r):
    return np.array(list(permutations(range(1, r + 1))))


# -- losses, and candidates -------------------------------------------------------------------


@pytest.mark.parametrize("m", [3, 5, 9])
def test_best_candidate_of_any_loss_under_any_law(m, rng):
    labels, candidates = np.array(list("abcde")), np.arange(10, 10 + m)
    matrix = asymmetric(rng, 5, m)

    def loss(y, t):
        return matrix[np.searchsorted(labels, y)][:, t - 10]

    X, y, weight, law = laws(rng, labels, 60)
    model = StructuredPredictor(loss, candidates=candidates, estimator=EXACT)
    model.fit(X, y, sample_weight=weight)
    risk = law @ matrix
    chosen = model.predict(np.eye(60))
    np.testing.assert_array_equal(chosen, candidates[risk.argmin(axis=1)])
    estimated = model.expected_loss(np.eye(60))
    np.testing.assert_allclose(
        estimated - estimated[:, :1], risk - risk[:, :1], atol=1e-8, rtol=1e-8
    )
    expected = -np.average(matrix[np.searchsorted(labels, y), np.repeat(chosen - 10, 5)])
    assert model.score(X, y) == pytest.approx(expected)


def test_default_is_the_zero_one_loss_of_labels_of_any_shape(rng):
    for labels in (np.array(["a", "b", "c"]), subsets(3)):
        X, y, weight, law = laws(rng, labels, 40)
        model = StructuredPredictor(estimator=EXACT).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(model.predict(np.eye(40)), labels[law.argmax(axis=1)])
        np.testing.assert_array_equal(model.candidates_, labels)
        hits = (model.predict(X) == y).reshape(len(y), -1).all(axis=1)
        assert -model.score(X, y, weight) == pytest.approx(np.average(~hits, weights=weight))


def test_hit_at_2_of_4_documents_has_rank_5_and_the_best_sets(rng):
    labels, sets = subsets(4), subsets(4, 2)

    def loss(y, t):
        return 1.0 - (y @ t.T > 0)

    X, y, weight, law = laws(rng, labels, 50)
    model = StructuredPredictor(loss, candidates=sets, estimator=EXACT)
    model.fit(X, y, sample_weight=weight)
    assert model.beta_.shape == (6, 5)
    gain = np.empty((50, 24))
    for column, positions in enumerate(orders(4)):
        hits = hit_at_k_score(labels, np.tile(-positions, (16, 1)), k=2, average=False)
        gain[:, column] = law @ hits
    chosen = loss(labels, model.predict(np.eye(50)))
    np.testing.assert_allclose(1 - (law * chosen.T).sum(axis=1), gain.max(axis=1), atol=1e-9)


def weights_of(model, X, Z):
    """Weights w_i(z) of the training rows X of a fitted regressor, one row per row of Z."""
    if isinstance(model, Ridge):
        center = X.mean(axis=0)
        A = X - center
        inner = A.T @ A + model.alpha * np.eye(X.shape[1])
        return 1 / len(X) + (Z - center) @ np.linalg.solve(inner, A.T)
    if isinstance(model, KernelRidge):
        gram = rbf_kernel(X, gamma=model.gamma) + model.alpha * np.eye(len(X))
        return np.linalg.solve(gram, rbf_kernel(X, Z, gamma=model.gamma)).T
    same = model.apply(Z)[:, None, :] == model.apply(X)[None]
    return (same / same.sum(axis=1, keepdims=True)).mean(axis=2)


@pytest.mark.parametrize(
    "regressor",
    [
        Ridge(alpha=2.0),
        KernelRidge(alpha=0.3, kernel="rbf", gamma=0.7),
        RandomForestRegressor(10, bootstrap=False, max_features=2, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_prediction_minimizes_the_weighted_loss_of_the_training_labels(regressor, rng):
    X, Z = rng.normal(size=(60, 3)), rng.normal(size=(80, 3))
    y = (X + rng.normal(size=(60, 3)) > 0).astype(int)
    regressor = clone(regressor)
    matrix = asymmetric(rng, 8, 8)

    def loss(y, t):
        return matrix[y @ [4, 2, 1]][:, t @ [4, 2, 1]]

    candidates = subsets(3)
    model = StructuredPredictor(loss, candidates=candidates, estimator=regressor).fit(X, y)
    risk = weights_of(model.estimator_, X, Z) @ loss(y, candidates)
    np.testing.assert_array_equal(model.predict(Z), candidates[risk.argmin(axis=1)])
    estimated = model.expected_loss(Z)
    differences = estimated - estimated[:, :1]
    np.testing.assert_allclose(differences, risk - risk[:, :1], atol=1e-7)


# -- factors ----------------------------------------------------------------------------------


def partial_orders(rng, r, n):
    """Orders with ties and with items that are not ranked, as positions."""
    y = rng.integers(1, r + 1, size=(n, r)) * 1.0
    y[rng.random((n, r)) < 0.25] = np.nan
    return y


def hamming(y, positions):
    """Expected number of ranked items at other positions, over all ways to break ties."""
    ranked = np.flatnonzero(~np.isnan(y))
    ways = [o for o in permutations(ranked) if (np.diff(y[list(o)]) >= 0).all()]
    misses = [sum(positions[i] != p for p, i in enumerate(o, start=1)) for o in ways]
    return np.mean(misses)


@pytest.mark.parametrize("r", [2, 3, 4])
def test_best_assignment_for_partial_orders(r, rng):
    labels = np.vstack([orders(r)[:5], partial_orders(rng, r, 7)])
    X, y, weight, law = laws(rng, labels, 30)
    model = StructuredPredictor(factors="hamming", estimator=EXACT)
    model.fit(X, y, sample_weight=weight)
    matrix = np.array([[hamming(label, order) for order in orders(r)] for label in labels])
    risk, chosen = law @ matrix, model.predict(np.eye(30))
    column = [np.flatnonzero((orders(r) == order).all(axis=1))[0] for order in chosen]
    np.testing.assert_allclose(risk[np.arange(30), column], risk.min(axis=1), atol=1e-9)
    # The score is the loss, up to the number of items that are ranked.
    ranked = (~np.isnan(labels)).sum(axis=1)
    expected = law @ ranked - risk[np.arange(30), column]
    assert model.score(X, y, weight) == pytest.approx(expected.mean())


def test_regret_is_below_the_diameter_times_the_root_of_the_surrogate_regret(rng):
    factors, all_orders = OrderHamming(), orders(4)
    alpha, beta = factors.alpha(all_orders), factors.beta(all_orders)
    positive = 0
    for _ in range(200):
        mean = rng.dirichlet(np.full(24, 0.3)) @ alpha
        u = mean + rng.normal(scale=rng.choice([0.05, 0.3]), size=16)
        risk = mean @ beta.T
        regret = mean @ factors.beta(factors.argmin(u[None]))[0] - risk.min()
        positive += regret > 1e-9
        assert regret <= regret_bound(beta, "squared", ((u - mean) ** 2).sum(), r=None) + 1e-9
    assert positive > 50


@pytest.mark.parametrize("name", ["r_precision", "hit@1", "hit@2", "hit@3"])
def test_best_order_for_measures_of_the_top(name, rng):
    measure = get_measure(name)
    labels, every = subsets(4), orders(4)
    X, y, weight, law = laws(rng, labels, 40)
    model = StructuredPredictor(factors=name, estimator=EXACT).fit(X, y, sample_weight=weight)
    values = np.empty((16, 24))
    for column, positions in enumerate(every):
        scores = np.tile(-positions, (16, 1))
        values[:, column] = measure_score(measure, labels, scores, empty="zero", average=False)
    expected, chosen = law @ values, model.predict(np.eye(40))
    column = [np.flatnonzero((every == order).all(axis=1))[0] for order in chosen]
    reached = expected[np.arange(40), column]
    np.testing.assert_allclose(reached, expected.max(axis=1), atol=1e-9)
    # Their means of single items do not tell the best order.
    if name == "hit@2":
        by_mean = -np.argsort(np.argsort(-(law @ labels), axis=1), axis=1)
        sorted_by_mean = [
            law[i]
            @ measure_score(
                measure, labels, np.tile(by_mean[i], (16, 1)), empty="zero", average=False
            )
            for i in range(40)
        ]
        assert (expected.max(axis=1) > np.array(sorted_by_mean) + 0.01).any()
    assert model.score(X, y, weight) == pytest.approx(reached.mean())


def test_hits_are_of_fewer_items_than_there_are(rng):
    y = rng.integers(0, 2, size=(8, 3))
    with pytest.raises(ValueError, match=r"k must be less than the number of items \(3\).*got 3"):
        StructuredPredictor(factors="hit@3").fit(X, y)
    with pytest.raises(ValueError, match="must be at most 20000 sets"):
        StructuredPredictor(factors="hit@9").fit(X, np.ones((8, 30)))
    with pytest.raises(ValueError, match="k must be"):
        HitLoss(0)


def alpha_of_sums(y):
    return np.column_stack([y, y.prod(axis=1)])


def beta_of_sums(t):
    return np.column_stack([-t, t.sum(axis=1) - 1])


def argmin_of_sums(u):
    sets = subsets(u.shape[1] - 1)
    return sets[(u @ beta_of_sums(sets).T).argmin(axis=1)]


def test_pair_of_functions_with_candidates_or_an_argmin(rng):
    labels = subsets(4)
    X, y, weight, law = laws(rng, labels, 40)
    risk = law @ alpha_of_sums(labels) @ beta_of_sums(labels).T
    pair = (alpha_of_sums, beta_of_sums)
    listed = StructuredPredictor(factors=pair, estimator=EXACT)
    few = clone(listed).set_params(candidates=labels[::3])
    free = clone(listed).set_params(argmin=argmin_of_sums)
    for model, among in ((listed, labels), (few, labels[::3]), (free, labels)):
        model.fit(X, y, sample_weight=weight)
        risk = law @ alpha_of_sums(labels) @ beta_of_sums(among).T
        np.testing.assert_array_equal(model.predict(np.eye(40)), among[risk.argmin(axis=1)])
        twin = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="expected_loss requires candidates"):
        free.expected_loss(X)
    np.testing.assert_allclose(
        listed.expected_loss(np.eye(40)),
        law @ alpha_of_sums(labels) @ (beta_of_sums(labels).T),
        atol=1e-8,
    )


def test_sparse_features_and_search(rng):
    X = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.5)
    y = (X > 0).astype(int)
    dense = StructuredPredictor(pairwise_distances).fit(X, y)
    sparse = StructuredPredictor(pairwise_distances).fit(csr_matrix(X), y)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(csr_matrix(X)))
    search = GridSearchCV(
        StructuredPredictor(pairwise_distances, estimator=Ridge(), candidates=subsets(3)),
        {"estimator__alpha": [0.1, 10.0]},
        cv=4,
    )
    assert search.fit(X, y).best_score_ <= 0


def test_loss_that_knows_no_prediction(rng):
    X, y = rng.normal(size=(10, 2)), np.arange(10) % 3
    model = StructuredPredictor(lambda y, t: np.ones((len(y), len(t)))).fit(X, y)
    assert model.estimator_ is None
    assert model.score(X, y) == -1


X, Y = np.arange(8.0)[:, None], np.arange(8) % 3
ERRORS = {
    "loss must be None with factors": {"loss": pairwise_distances, "factors": "hamming"},
    "argmin must be None without factors": {"argmin": np.sign},
    r"factors must be one of 'f_measure', 'hamming', 'hit'.*got 'humming'": {"factors": "humming"},
    "factors must be a name, Factors, or a pair of functions": {"factors": (1, 2)},
    r"losses of 3 labels and 3 predictions, of shape \(3, 3\), got shape \(2,\)": {
        "loss": lambda *_: np.ones(2)
    },
    r"loss\(y, t\) contains NaN": {"loss": lambda *_: np.full((3, 3), np.nan)},
    "candidates must hold at least one": {"candidates": []},
    r"alpha\(y\) must have shape \(8, d\), got shape \(8,\)": {"factors": (np.abs, np.abs)},
    r"beta\(candidates\) must have shape \(3, 1\), got shape \(3, 2\)": {
        "factors": (lambda y: y[:, None] * 1.0, lambda t: np.column_stack([t, t]))
    },
    r"y must be positions of shape \(n, r\), got shape \(8,\)": {"factors": "hamming"},
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_name_the_argument(message):
    with pytest.raises(ValueError, match=message):
        StructuredPredictor(**ERRORS[message]).fit(X, Y)


def test_a_fit_leaves_nothing_of_the_fit_before():
    X, positions = [[0.0], [1.0]], [[1, 2], [2, 1]]
    model = StructuredPredictor().fit(X, positions)
    model.set_params(factors="hamming").fit(X, positions)
    learned = vars(StructuredPredictor(factors="hamming").fit(X, positions))
    assert vars(model).keys() == learned.keys()


def test_errors_of_labels_and_of_the_argmin():
    with pytest.raises(ValueError, match="must be finite without factors, got NaN"):
        StructuredPredictor().fit(X, np.where(Y == 1, np.nan, Y))
    with pytest.raises(ValueError, match=r"shape \(n,\) or \(n, s\), got shape \(8, 1, 1\)"):
        StructuredPredictor().fit(X, Y[:, None, None])
    with pytest.raises(ValueError, match="numeric or string dtype, got object"):
        StructuredPredictor().fit(X, np.array([[1, "a"]] * 8, dtype=object))
    pair = (lambda y: y[:, None] * 1.0, lambda t: t[:, None] * 1.0)
    model = StructuredPredictor(factors=pair, argmin=lambda u: u[:1]).fit(X, Y)
    with pytest.raises(ValueError, match=r"one prediction per row \(8\), got 1"):
        model.predict(X)


def test_names_of_factors():
    assert get_factors("hamming") == OrderHamming()
    assert isinstance(get_factors((np.abs, np.abs)), Factors)
    assert get_factors("hit@02") == HitLoss(2) == HitLoss(get_measure("hit@02").k)
    for name in ("hit@two", "hit@-1", "hit@2.5", "hit@0", "hit@\u00b2", "hit@\u0662"):
        for get in (get_factors, get_measure):
            with pytest.raises(ValueError, match=f"cutoff after @ must be .* >= 1, got '{name}'"):
                get(name)
    for name in ("hit@", "hamming@2"):
        with pytest.raises(ValueError, match=f"factors must be one of .*got '{name}'"):
            get_factors(name)


# -- classes with factors, and classes that are missing ---------------------------------------


def test_factors_of_a_matrix_are_the_matrix(rng):
    for n, m, d in ((4, 4, 2), (5, 3, 3), (3, 6, 1)):
        alpha, beta = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        X, y, weight, law = laws(rng, np.arange(n), 40)
        given = LowRankLossClassifier(factors=(alpha, beta), estimator=EXACT)
        matrix = LowRankLossClassifier(alpha @ beta.T, estimator=EXACT)
        losses = [e.fit(X, y, weight).expected_loss(np.eye(40)) for e in (given, matrix)]
        np.testing.assert_allclose(*losses, atol=1e-8)
        np.testing.assert_array_equal(given.predict(np.eye(40)), (law @ alpha @ beta.T).argmin(1))
        assert given.rank_ == d


def test_class_that_is_missing_in_a_fold(rng):
    """Without the rows of a class, the losses of the other classes decide, as by enumeration."""
    names, matrix = np.array(["c", "a", "d", "b"]), asymmetric(rng, 4, 4)
    matrix[:, 1] = 2.5  # a decision that is never bad
    present = np.array([0, 2, 3])
    law = rng.dirichlet(np.ones(3), size=40)
    X, y = np.repeat(np.eye(40), 3, axis=0), np.tile(names[present], 40)
    model = LowRankLossClassifier(matrix, classes=names, estimator=EXACT)
    chosen = model.fit(X, y, law.ravel()).predict(np.eye(40))
    best = (law @ matrix[present]).argmin(axis=1)
    np.testing.assert_array_equal(chosen, names[best])
    assert (best == 1).any(), "the class that is missing is predicted where its losses are least"
    np.testing.assert_array_equal(model.classes_, names)
    factors = clone(model).set_params(loss_matrix=None, factors=(matrix, np.eye(4)))
    np.testing.assert_array_equal(factors.fit(X, y, law.ravel()).predict(np.eye(40)), names[best])


def test_search_over_folds_without_a_class(rng):
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1, 2], 10)
    matrix = asymmetric(rng, 3, 3)
    grid = {"estimator__alpha": [1.0, 10.0]}
    model = LowRankLossClassifier(matrix, classes=[0, 1, 2], estimator=Ridge())
    search = GridSearchCV(model, grid, cv=KFold(3)).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(ValueError, match=r"per class of y \(2, in sorted order\).*classes="):
        LowRankLossClassifier(matrix).fit(X[y > 0], y[y > 0])


def test_score_where_predictions_are_no_classes(rng):
    """Numbers of columns are no labels 1 and 2: the score is minus the mean loss of decisions."""
    matrix = np.array([[0.0, 1.0, 0.2], [3.0, 0.0, 0.2]])
    X, y, weight = rng.normal(size=(60, 2)), rng.permutation([1, 2] * 30), rng.random(60)
    y[X[:, 0] > 0] = 2
    model = LowRankLossClassifier(matrix).fit(X, y)
    losses = matrix[y - 1, model.predict(X)]
    assert model.score(X, y, weight) == pytest.approx(-np.average(losses, weights=weight))
    with pytest.raises(ValueError, match=r"y must hold classes=.*got 0"):
        model.score(X, y - 1)
    square = LowRankLossClassifier(matrix[:, :2]).fit(X, y)
    assert square.score(X, y) == np.mean(square.predict(X) == y)


@pytest.mark.parametrize("model", [LowRankLossClassifier(), StructuredPredictor()])
def test_missing_labels_are_no_class(model):
    for y in (["a", None, "b"], np.array(["2020", "NaT", "2021"], dtype="M8[D]")):
        with pytest.raises(ValueError, match=r"y must have labels, .* in row 1"):
            model.fit(np.eye(3), y)


def test_only_the_order_of_large_positions_counts(rng):
    X = rng.normal(size=(30, 2))
    y = np.argsort(np.argsort(np.c_[X, X @ [1, 2]], axis=1), axis=1) + 1
    model = StructuredPredictor(factors="hamming")
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(X, y + 10**18).predict(X), expected)
    assert model.score(X, y + 10**18) == model.score(X, y)


def test_labels_of_every_container(rng):
    pd = pytest.importorskip("pandas")
    X = rng.normal(size=(30, 2))
    y = np.argsort(np.argsort(np.c_[X, X @ [1, 2]], axis=1), axis=1) + 1
    model = StructuredPredictor(factors="hamming")
    expected = model.fit(X, np.where(y == 3, np.nan, y)).predict(X)
    frame = pd.DataFrame(y).astype("Int64").mask(y == 3)
    np.testing.assert_array_equal(model.fit(X, frame).predict(X), expected)
    texts = np.where(X > 0, "a", "b")
    expected = StructuredPredictor().fit(X, texts).predict(X)
    for frame in (
        pd.DataFrame(texts),
        *(pd.DataFrame(texts, dtype=t) for t in ("string", "category")),
    ):
        model = StructuredPredictor().fit(X, frame)
        np.testing.assert_array_equal(model.predict(X), expected)
        assert model.score(X, frame) == model.score(X, texts)
    model = StructuredPredictor(factors="f_measure")
    expected = model.fit(X, X > 0).predict(X)
    np.testing.assert_array_equal(model.fit(X, csr_matrix(X > 0)).predict(X), expected)
    assert model.score(X, csr_matrix(X > 0)) == model.score(X, X > 0)


@pytest.mark.parametrize("dtype", ["Int64", "UInt64"])
def test_large_numbers_of_classes_are_exact(dtype, rng):
    pd = pytest.importorskip("pandas")
    X = rng.normal(size=(30, 2))
    y = (X > 0).sum(axis=1)
    plain, large = LowRankLossClassifier().fit(X, y), pd.Series(y + 2**53).astype(dtype)
    for classes in (None, [2**53, 2**53 + 1, 2**53 + 2]):
        model = LowRankLossClassifier(classes=classes).fit(X, large)
        np.testing.assert_array_equal(model.predict(X) - 2**53, plain.predict(X))
        assert model.score(X, large) == plain.score(X, y)


def test_candidates_of_another_shape_are_no_labels():
    with pytest.raises(ValueError, match=r"candidates must have shape \(m,\), as y"):
        StructuredPredictor(candidates=[[0, 1], [1, 0]]).fit(np.eye(3), [0, 1, 0])


def test_errors_of_classes_and_factors():
    square = np.eye(3)
    for message, params in {
        "give one of the two": {"loss_matrix": square, "factors": (square, square)},
        "factors must be a pair of arrays": {"factors": square},
        r"factors\[0\] must have one row per class": {"factors": (square[:2], square)},
        r"factors\[1\] must have 3 columns": {"factors": (square, square[:, :2])},
        "classes must be a list of different classes": {"classes": [0, 1, 1]},
        r"y must hold classes=\[0, 1\] only, got 2": {"classes": [0, 1]},
        r"\(4, in the order of classes\)": {"classes": [0, 1, 2, 3], "loss_matrix": square},
    }.items():
        with pytest.raises(ValueError, match=message):
            LowRankLossClassifier(**params).fit(X, Y)


@pytest.mark.parametrize("factors", ["hamming", "r_precision"])
def test_no_means_are_the_positions_of_no_rows(factors):
    positions = get_factors(factors).argmin(np.zeros((0, 9)))
    assert positions.shape == (0, 3)
    assert positions.dtype.kind == "i"


@pytest.mark.parametrize(
    "model", [LowRankLossClassifier(1 - np.eye(3)), StructuredPredictor()], ids=["loss", "labels"]
)
def test_sparse_levels_beside_a_price(model, rng):
    level = rng.integers(0, 30, 900)
    X, y = np.column_stack([np.eye(30)[level], 1e5 * rng.lognormal(size=900)]), level % 3
    assert (clone(model).fit(csr_matrix(X), y).predict(X) == y).all()
