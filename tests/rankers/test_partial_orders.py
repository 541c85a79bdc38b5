"""Orders of some of the items (NaN), with ties, in the label-ranking form."""

from importlib import import_module
from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.tree import DecisionTreeRegressor

from skcalrank import NDCGRanker, PairwiseDisagreementRanker, PreferenceTarget, QueryKFold
from skcalrank.aggregation import kemeny
from skcalrank.datasets import make_label_ranking
from skcalrank.evaluation import compare, cross_compare
from skcalrank.measures import MEASURES
from skcalrank.metrics import get_scorer, kendall_score, measure_score, pairwise_disagreement_loss
from skcalrank.preds import feedback_arc_positions

both_targets = pytest.mark.parametrize("pair_targets", ["preferences", "differences"])


def pairs(estimator=None, **options):
    options = {"surrogate": "pairwise", "weights": "unit"} | options
    return PairwiseDisagreementRanker(estimator, **options)


@pytest.fixture
def partial(rng):
    """Features, labels with ties, and the same labels with NaN."""
    X, positions = make_label_ranking(120, 4, random_state=0)
    y = np.round(-positions / 1.5)
    missing = np.where(rng.random(y.shape) < 0.4, np.nan, y)
    return X, y, missing


# -- forms -----------------------------------------------------------------------------------


def forms(y):
    """Tables of the same labels, in which items that are not ranked are missing."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(y, columns=list("abcd"))
    yield frame
    yield frame.astype("Int64")
    yield frame.astype("Float64")
    yield frame.astype("Int64").astype(object)
    yield frame.astype(object).where(frame.notna(), None)
    if find_spec("polars"):
        yield import_module("polars").DataFrame(y, schema=list("abcd"), nan_to_null=True)
    if find_spec("pyarrow"):
        yield import_module("pyarrow").Table.from_pandas(frame.astype("Int64"))
        yield frame.astype("int64[pyarrow]")


def test_missing_items_of_every_table(partial):
    X, _, y = partial
    scores = X @ np.ones((X.shape[1], 4)) + np.arange(4)
    ranker = PairwiseDisagreementRanker().fit(X, y)
    target = PreferenceTarget.from_orders(4 - y)
    compared = compare(y, {"a": scores, "b": -scores}, ["kendall"])
    crossed = cross_compare({"a": PairwiseDisagreementRanker()}, X, y, None, ["kendall"], cv=3)
    for form in forms(y):
        assert kendall_score(form, scores) == kendall_score(y, scores)
        again = clone(ranker).fit(X, form)
        np.testing.assert_array_equal(again.coef_, ranker.coef_)
        assert again.item_names_in_.tolist() == list("abcd")
        assert again.score(X, form) == ranker.score(X, y)
        other = compare(form, {"a": scores, "b": -scores}, ["kendall"])
        np.testing.assert_array_equal(other.values, compared.values)
        other = cross_compare({"a": clone(ranker)}, X, form, None, ["kendall"], cv=3)
        np.testing.assert_array_equal(other.values, crossed.values)
        with pytest.raises(ValueError, match="an item that a row does not rank"):
            NDCGRanker().fit(X, form)
    for form in forms(4 - y):
        orders = PreferenceTarget.from_orders(form)
        assert orders == target
        assert orders.item_names == tuple("abcd")
        assert kemeny(form) == kemeny(orders)
        assert sorted(kemeny(form).order) == list("abcd")


def test_rows_without_an_order_have_no_value_in_a_cross_comparison(partial):
    X, _, y = partial
    y[3] = np.nan
    found = cross_compare({"a": PairwiseDisagreementRanker()}, X, y, None, ["kendall"], cv=3)
    expected = np.full(len(y), np.nan)
    for train, test in QueryKFold(3).split(X, y):
        scores = PairwiseDisagreementRanker().fit(X[train], y[train]).predict(X[test])
        expected[test] = kendall_score(y[test], scores, average=False)
    np.testing.assert_array_equal(found.values[0, 0], expected)
    assert np.isnan(expected[3])


# -- scores ----------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_only_ranked_items_count(measure, rng):
    y = rng.integers(0, 2, (30, 5)).astype(float)
    y[rng.random(y.shape) < 0.4] = np.nan
    y[3] = np.nan
    scores = rng.integers(0, 4, y.shape).astype(float)
    weight = rng.random(len(y))
    values = measure_score(measure, y, scores, average=False, empty="nan")
    assert np.isnan(values[3])
    alone = []
    for labels, predicted in zip(y, scores):
        ranked = ~np.isnan(labels)
        if ranked.any():
            one = np.zeros(ranked.sum())
            alone.append(
                measure_score(measure, labels[ranked], predicted[ranked], qid=one, empty="nan")
            )
    np.testing.assert_allclose(np.delete(values, 3), alone, atol=1e-12)
    expected = np.delete(weight, 3)[~np.isnan(alone)] @ np.array(alone)[~np.isnan(alone)]
    expected /= np.delete(weight, 3)[~np.isnan(alone)].sum()
    weighted = measure_score(measure, y, scores, sample_weight=weight)
    np.testing.assert_allclose(weighted, expected, atol=1e-12)


def test_preferences_of_partial_orders_count_all_pairs():
    positions = np.array([[1.0, np.nan, 2.0, np.nan]])
    scores = np.array([[4.0, 3.0, 2.0, 1.0]])
    assert kendall_score(-positions, scores) == 1
    # One of six pairs agrees, and the others are stated by nobody.
    assert kendall_score(PreferenceTarget.from_orders(positions), scores) == pytest.approx(1 / 6)


# -- fits ------------------------------------------------------------------------------------


@both_targets
def test_a_pair_is_regressed_on_the_rows_that_rank_it(partial, pair_targets):
    X, _, y = partial
    ranker = pairs(LinearRegression(), pair_targets=pair_targets).fit(X, y)
    u = ranker.surrogate_values(X)
    for i, j in product(range(4), range(4)):
        both = ~np.isnan(y[:, i] - y[:, j])
        target = np.sign(y[both, i] - y[both, j])
        expected = LinearRegression().fit(X[both], target).predict(X)
        np.testing.assert_allclose(u[:, i, j] - u[:, j, i], expected, atol=1e-9)


@pytest.mark.parametrize("weights", ["unit", "difference"])
def test_the_score_of_an_item_is_the_sum_over_its_pairs(partial, weights):
    X, _, y = partial
    ranker = PairwiseDisagreementRanker(LinearRegression(), weights=weights).fit(X, y)
    u = pairs(LinearRegression(), weights=weights).fit(X, y).surrogate_values(X)
    expected = (u - u.swapaxes(1, 2)).sum(axis=2)
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-9)
    coef = np.column_stack([ranker.intercept_, ranker.coef_])
    np.testing.assert_allclose(np.column_stack([np.ones(len(X)), X]) @ coef.T, ranker.predict(X))


@both_targets
@pytest.mark.parametrize("seed", range(10))
def test_calibrated_if_items_are_missing_without_regard_to_the_order(seed, pair_targets):
    rng = np.random.default_rng(seed)
    orders = np.array(list(product(range(3), repeat=3)), dtype=float)  # with ties
    law = rng.dirichlet(np.full(len(orders), 0.2))
    ranked = np.array(list(product([False, True], repeat=3)))
    shown = rng.dirichlet(np.ones(len(ranked)))
    y = np.where(ranked[:, None], orders, np.nan).reshape(-1, 3)
    weight = np.outer(shown, law).ravel()
    ranker = pairs(DummyRegressor(), pred="exact", pair_targets=pair_targets)
    X = np.zeros((len(y), 1))
    ranker.fit(X, y, sample_weight=weight)
    complete = np.einsum("n,nij->ij", law, (orders[:, :, None] > orders[:, None, :]) * 1.0)
    u = ranker.surrogate_values(X[:1])[0]
    np.testing.assert_allclose(u - u.T, complete - complete.T, atol=1e-12)
    scores = PairwiseDisagreementRanker(DummyRegressor(), weights="unit")
    scores = scores.fit(X, y, sample_weight=weight).predict(X[:1])[0]
    np.testing.assert_allclose(scores, (complete - complete.T).sum(axis=1), atol=1e-12)
    best = feedback_arc_positions(complete).value
    score = pairwise_disagreement_loss(
        orders,
        np.repeat(ranker.predict(X[:1]), len(orders), axis=0),
        sample_weight=law,
        weights="unit",
    )
    assert score == pytest.approx(best)


def test_pairs_need_not_be_ranked_equally_often():
    # 3 > 4 in all rows, 1 > 2 in 65 %, both ahead of 3 and 4; rows rank 1 and 2, or 3 and 4.
    y = []
    for order in [[3, 2, 1, 0]] * 13 + [[2, 3, 1, 0]] * 7:
        y += [[*order[:2], np.nan, np.nan]] * 4 + [[np.nan, np.nan, *order[2:]]] * 4 + [order]
    for surrogate in ("score", "pairwise"):
        ranker = PairwiseDisagreementRanker(surrogate=surrogate, weights="unit")
        ranker.fit(np.zeros((len(y), 1)), y)
        assert ranker.rank([[0.0]]).tolist() == [[1, 2, 3, 4]]


def test_missing_labels_cost_less_than_labels_of_zero(partial):
    X, y, missing = partial
    masked = pairs().fit(X[:80], missing[:80]).predict(X[80:])
    as_zero = PreferenceTarget.from_orders(9 - missing)
    stated = pairs().fit(X[:80], as_zero[:80]).predict(X[80:])
    assert kendall_score(y[80:], masked) > kendall_score(y[80:], stated) - 0.02


@pytest.mark.parametrize("surrogate", ["score", "pairwise"])
@pytest.mark.parametrize("estimator", [None, RandomForestRegressor(5, random_state=0)])
def test_regressors_and_searches(partial, surrogate, estimator):
    X, y, missing = partial
    ranker = PairwiseDisagreementRanker(estimator, surrogate=surrogate, weights="unit")
    grid = {"alpha": [1.0, 10.0]} if estimator is None else {"estimator__max_depth": [2, 4]}
    search = GridSearchCV(ranker, grid, scoring=get_scorer("kendall"), cv=KFold(3))
    search.fit(X[:80], missing[:80])
    assert kendall_score(y[80:], search.predict(X[80:])) > 0.2
    assert search.best_estimator_.score(X[80:], missing[80:]) < 0


@both_targets
def test_what_is_never_compared_is_even(pair_targets):
    X, y = np.arange(4.0)[:, None], np.array([[1, 2, np.nan]] * 4)
    ranker = pairs(pair_targets=pair_targets).fit(X, y)
    u = ranker.surrogate_values(X)
    np.testing.assert_allclose((u - u.swapaxes(1, 2))[:, 2], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("ranker", "y", "message"),
    [
        (NDCGRanker(), [[1, np.nan], [0, 1]], "y contains NaN"),
        (pairs(), [1, np.nan], "y contains NaN"),
        (pairs(), [[1, np.inf], [0, 1]], "y contains infinity"),
        (pairs(), [[1, np.nan], [np.nan, 1]], "must rank two items in some row"),
        (PairwiseDisagreementRanker(), [[1, np.nan], [np.nan, 1]], "must rank two items"),
        (
            PairwiseDisagreementRanker(loss="centered"),
            [[1, 2, np.nan], [0, 1, 2]],
            "in fit with loss=None or 'squared' alone, got fit with loss='centered'",
        ),
        (
            PairwiseDisagreementRanker(score_function=np.sum),
            [[1, 2, np.nan], [0, 1, 2]],
            "score_function must be 'net_preference' if y has unranked items",
        ),
    ],
)
def test_errors_of_fit(ranker, y, message):
    with pytest.raises(ValueError, match=message):
        ranker.fit([[0.0], [1.0]], y, **({"qid": [1, 1]} if np.ndim(y) == 1 else {}))


def test_errors_of_chunks_and_scores():
    X, y = [[0.0], [1.0]], [[1, 2, np.nan], [0, 1, 2]]
    with pytest.raises(ValueError, match="got partial_fit with"):
        PairwiseDisagreementRanker().partial_fit(X, y)
    fitted = PairwiseDisagreementRanker().fit(X, y)
    for call in (lambda: fitted.partial_fit(X, [[0, 1, 2]] * 2), lambda: fitted.merge(fitted)):
        with pytest.raises(ValueError, match="kept no statistics, because y had unranked items"):
            call()
    with pytest.raises(ValueError, match="must rank an item in some row"):
        kendall_score([[np.nan, np.nan]], [[1, 2]])
    with pytest.raises(ValueError, match="y_score contains NaN"):
        kendall_score(y, y)


# -- differences of preferences (RAT13, section 7) -------------------------------------------


@pytest.mark.parametrize("weights", ["unit", "difference"])
def test_differences_give_the_same_orders(partial, weights):
    X, y, _ = partial
    rankers = [
        pairs(alpha=1.0, weights=weights, pair_targets=t).fit(X, y)
        for t in ("preferences", "differences")
    ]
    net = [u - u.swapaxes(1, 2) for u in (ranker.surrogate_values(X) for ranker in rankers)]
    np.testing.assert_allclose(net[0], net[1], atol=1e-9)
    np.testing.assert_array_equal(rankers[0].rank(X), rankers[1].rank(X))
    assert rankers[1].estimator_.coef_.shape == (6, X.shape[1])


def test_differences_of_stated_preferences(partial, rng):
    X, *_ = partial
    target = PreferenceTarget.from_matrices(rng.random((len(X), 4, 4)) * ~np.eye(4, dtype=bool))
    rankers = [pairs(alpha=1.0, pair_targets=t) for t in ("preferences", "differences")]
    net = [u - u.swapaxes(1, 2) for u in (r.fit(X, target).surrogate_values(X) for r in rankers)]
    np.testing.assert_allclose(net[0], net[1], atol=1e-9)


@pytest.mark.parametrize("pair_features", ["bilinear", "concat"])
def test_differences_of_documents(pair_features, rng):
    X, y, qid = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), np.repeat(np.arange(10), 6)
    rankers = [
        pairs(alpha=1.0, pair_features=pair_features, pair_targets=t).fit(X, y, qid)
        for t in ("preferences", "differences")
    ]
    first, second = ([u - u.T for u in ranker.surrogate_values(X, qid)] for ranker in rankers)
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_differences_belong_to_the_fit(partial):
    X, y, _ = partial
    ranker = pairs(pair_targets="differences").fit(X, y)
    before = ranker.predict(X)
    changed = clone(ranker).fit(X, y).set_params(pair_targets="preferences")
    np.testing.assert_array_equal(changed.predict(X), before)
    with pytest.raises(ValueError, match="pair_targets='differences' has no effect"):
        PairwiseDisagreementRanker(pair_targets="differences").fit(X, y)


@pytest.mark.parametrize(("weights", "same"), [("unit", True), ("difference", False)])
def test_splits_of_trees_are_those_of_differences_for_unit_weights(weights, same):
    # One feature, and leads of item 1 over item 2.
    X, y = np.arange(3.0)[:, None], np.array([[-2, 0], [1, 0], [4, 0]])
    first, second = (
        pairs(DecisionTreeRegressor(max_depth=1), weights=weights, pair_targets=targets)
        .fit(X, y)
        .rank(X)
        .tolist()
        for targets in ("preferences", "differences")
    )
    assert (first == second) == same
