"""Weight of a query in a loss: its pairs, its documents, or one."""

import numpy as np
import pytest
from boosting_cases import SIZES, draw_labels, pickled
from cases import make_data
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    DCGRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    RankingTarget,
)
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.boosting import lightgbm_objective, xgboost_objective
from skcalrank.data import Queries
from skcalrank.linear_model import GramRidge
from skcalrank.losses import LOSSES, get_loss
from skcalrank.metrics import get_scorer
from skcalrank.model_selection import QueryKFold
from skcalrank.rankers import DifferenceGraphRanker, PairwiseHingeRanker, ValueRegularizedRanker

POWERS = {"equal": 0, "documents": 1, "pairs": 2}
TREE = DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)
RANKERS = [
    *(DCGRanker(loss=loss, gain="linear") for loss in SQUARED_LOSSES),
    DCGRanker(TREE, gain="linear", loss="pairwise_squared"),
    *(OrderPreservingRanker("dcg", loss=loss, tol=1e-9) for loss in sorted(LOSSES)),
    ValueRegularizedRanker(tol=1e-9),
    ValueRegularizedRanker(regularizer="cosh", tol=1e-9),
    PairwiseHingeRanker(corner_width=0.5, tol=1e-9),
    PairwiseLogisticRanker(tol=1e-9),
    DifferenceGraphRanker(tol=1e-9),
    PairwiseDisagreementRanker(surrogate="pairwise"),
    AveragePrecisionRanker(surrogate="pairwise", relevance_level=2),
]
for ranker in RANKERS:
    # A fixed penalty, which is compared with weighted sums over queries.
    if getattr(ranker, "estimator", None) is None:
        ranker.set_params(alpha=1.0)
LINEAR = [ranker for ranker in RANKERS if "estimator" not in ranker.get_params()]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture
def data(rng, sizes):
    X, y, qid = make_data(rng, sizes)
    return X, y.astype(float), qid


@pytest.fixture
def n(data):
    """Number of documents of the query of each row."""
    _, codes, counts = np.unique(data[2], return_inverse=True, return_counts=True)
    return counts[codes].astype(float)


def values(ranker, X, qid):
    """Predictions of a fitted ranker for pairs or documents, as one array."""
    found = ranker.surrogate_values(X, qid)
    found = np.concatenate([matrix.ravel() for matrix in found]) if type(found) is list else found
    if getattr(ranker, "loss", None) in ("centered", "pairwise_squared"):
        return found - found.mean()
    return found


def natural(ranker):
    """Default weight of a query, as the power of its number of documents."""
    if isinstance(ranker, OrderPreservingRanker):
        return 2 if "pairwise" in ranker.loss else 1
    if isinstance(ranker, DCGRanker):
        return 1 if ranker.loss == "squared" else 2
    return 1 if isinstance(ranker, ValueRegularizedRanker) else 2


# -- losses --------------------------------------------------------------------------------


@pytest.mark.parametrize("query_weight", [None, *POWERS])
# Without losses whose normalization couples the scores of a query.
@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"bregman_kl", "softmax"}))
def test_copies_of_the_documents_of_a_query_tell_what_it_counts(name, query_weight, rng):
    v, s = rng.random(3), rng.normal(size=3)

    def of_copies(copies):
        queries, targets = Queries.equal(1, 3 * copies), np.tile(v, copies)
        loss = get_loss(name).scaled_to(targets, queries)
        weight = loss.document_weights(queries, query_weight)
        return float(loss.evaluate(targets, np.tile(s, copies), queries, weight)[0])

    power = POWERS.get(query_weight, 2 if "pairwise" in name else 1)
    assert np.log2(of_copies(64) / of_copies(32)) == pytest.approx(power, abs=0.05)


def test_weights_of_documents_come_on_top():
    loss, queries = get_loss("pairwise_squared"), Queries(np.array([0, 1, 3]))
    assert loss.document_weights(queries, None) is None
    assert loss.document_weights(queries, "pairs") is None
    given = np.array([5.0, 2.0, 3.0])
    assert loss.document_weights(queries, "pairs", given) is given
    assert loss.document_weights(queries, "documents", given).tolist() == [5.0, 1.0, 1.5]
    assert loss.document_weights(queries, "equal", given).tolist() == [5.0, 0.5, 0.75]


# -- rankers -------------------------------------------------------------------------------


@pytest.mark.parametrize("query_weight", POWERS)
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_solvers_minimize_the_loss_of_a_unit_times_what_a_query_counts(name, query_weight, data):
    X, y, qid = data
    ranker = OrderPreservingRanker(
        "dcg", loss=name, query_weight=query_weight, fit_intercept=False, alpha=0.3, tol=1e-10
    ).fit(X, y, qid)
    gradient = 2 * 0.3 * ranker.coef_
    for query in set(qid.tolist()):
        rows, n = qid == query, int((qid == query).sum())
        one, units = Queries.equal(1, n), n**2 if "pairwise" in name else n
        slopes = ranker.loss_.value_and_gradient(2 ** y[rows] - 1, X[rows] @ ranker.coef_, one)[1]
        gradient += n ** POWERS[query_weight] / units * (X[rows].T @ slopes)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-5 * (1 + np.abs(ranker.coef_).max()))


@pytest.mark.parametrize("query_weight", POWERS)
@pytest.mark.parametrize("loss", SQUARED_LOSSES)
def test_least_squares_of_explicit_pairs_and_documents(loss, query_weight, data):
    X, y, qid = data
    ranker = DCGRanker(gain="linear", loss=loss, alpha=0.3, query_weight=query_weight)
    rows, targets, weights = [], [], []
    for query in set(qid.tolist()):
        Z, t = X[qid == query], y[qid == query]
        n = len(t)
        if loss == "pairwise_squared":
            # Ordered pairs are n ** 2, and each counts twice.
            i, j = np.indices((n, n)).reshape(2, -1)
            Z, t, unit = Z[i] - Z[j], t[i] - t[j], 2.0 * n**2
        else:
            Z, t, unit = Z, t - (t.mean() if loss == "centered" else 0.0), float(n)
        rows.append(Z)
        targets.append(t)
        weights.append(np.full(len(t), n ** POWERS[query_weight] / unit))
    brute = Ridge(0.3, fit_intercept=loss != "pairwise_squared")
    brute.fit(np.vstack(rows), np.concatenate(targets), np.concatenate(weights))
    np.testing.assert_allclose(ranker.fit(X, y, qid).coef_, brute.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("query_weight", POWERS)
@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_what_a_query_counts_is_a_weight_of_its_rows(ranker, query_weight, data, n):
    X, y, qid = data
    ranker = clone(ranker)
    power, given = POWERS[query_weight] - natural(ranker), 1.0 + (qid % 3)
    expected = values(clone(ranker).fit(X, y, qid, given * n**power), X, qid)
    found = ranker.set_params(query_weight=query_weight).fit(X, y, qid, given)
    np.testing.assert_allclose(values(found, X, qid), expected, **CLOSE)


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_nothing_said_is_the_sum_as_it_is_to_the_last_bit(ranker, data):
    X, y, qid = data
    name = {power: name for name, power in POWERS.items()}[natural(ranker)]
    said = clone(ranker).set_params(query_weight=name).fit(X, y, qid)
    silent = clone(ranker).fit(X, y, qid)
    np.testing.assert_array_equal(values(said, X, qid), values(silent, X, qid))


@pytest.mark.parametrize("query_weight", POWERS)
@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_a_query_that_comes_twice_counts_twice(ranker, query_weight, data):
    X, y, qid = data
    rows = qid == qid[0]
    ranker = clone(ranker).set_params(query_weight=query_weight)
    twice = np.vstack([X, X[rows]]), np.append(y, y[rows]), np.append(qid, qid[rows] + 1000)
    expected = values(clone(ranker).fit(X, y, qid, 1.0 + rows), X, qid)
    np.testing.assert_allclose(values(ranker.fit(*twice), X, qid), expected, **CLOSE)


@pytest.mark.parametrize("ranker", [*RANKERS[:3], *LINEAR], ids=repr)
def test_queries_of_one_size_have_the_same_coefficients(ranker, rng):
    X, y, qid = make_data(rng, (5,) * 6)
    expected = clone(ranker).set_params(alpha=0.4).fit(X, y, qid).coef_
    for query_weight, power in POWERS.items():
        alpha = 0.4 * 5.0 ** (power - natural(ranker))
        same = clone(ranker).set_params(query_weight=query_weight, alpha=alpha).fit(X, y, qid)
        np.testing.assert_allclose(same.coef_, expected, **CLOSE)


@pytest.mark.parametrize("ranker", [*RANKERS[:3], *LINEAR], ids=repr)
def test_the_automatic_penalty_is_in_units_of_the_sum(ranker, rng):
    X, y, qid = make_data(rng, (5,) * 6)
    ranker = clone(ranker).set_params(alpha="auto")
    expected = clone(ranker).fit(X, y, qid).coef_
    for query_weight in POWERS:
        same = ranker.set_params(query_weight=query_weight).fit(X, y, qid)
        np.testing.assert_allclose(same.coef_, expected, **CLOSE)


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_all_instances_of_the_label_form_count_the_same(ranker, rng):
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 4, (12, 4))
    same = clone(ranker).set_params(query_weight="equal" if natural(ranker) == 1 else "documents")
    expected = clone(ranker).fit(X, y).surrogate_values(X)
    np.testing.assert_array_equal(same.fit(X, y).surrogate_values(X), expected)


@pytest.mark.parametrize("query_weight", POWERS)
@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
def test_chunks_and_merged_rankers_are_one_fit(loss, query_weight, data):
    X, y, qid = data
    new = NDCGRanker(GramRidge(0.5), loss=loss, query_weight=query_weight)
    whole, first = clone(new).fit(X, y, qid), qid < np.median(qid)
    parts = [(X[part], y[part], qid[part]) for part in (first, ~first)]
    chunks = clone(new).partial_fit(*parts[0]).partial_fit(*parts[1])
    merged = clone(new).fit(*parts[0]).merge(clone(new).fit(*parts[1]))
    for ranker in (chunks, merged):
        np.testing.assert_allclose(ranker.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


def test_chunks_do_not_change_what_a_query_counts(data):
    X, y, qid = data
    first = qid < np.median(qid)
    ranker = NDCGRanker(GramRidge()).partial_fit(X[first], y[first], qid[first])
    ranker.set_params(query_weight="equal")
    with pytest.raises(ValueError, match="The query_weight of this chunk must be None, got equal"):
        ranker.partial_fit(X[~first], y[~first], qid[~first])


@pytest.mark.parametrize("query_weight", POWERS)
def test_partitions_are_one_fit(query_weight, rng):
    pytest.importorskip("dask")
    from dask_cases import as_dask, sorted_data, whole_queries

    data = sorted_data(rng)
    local = NDCGRanker(query_weight=query_weight).fit(*data)
    lazy = NDCGRanker(query_weight=query_weight).fit(*as_dask(whole_queries(data[2]), *data))
    np.testing.assert_allclose(lazy.coef_, local.coef_, rtol=1e-9, atol=1e-12)


# -- searches ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::skcalrank.data.SingleDocumentsWarning")
@pytest.mark.parametrize("cv", [QueryKFold(3), [([0, 1, 2, 5, 6, 7, 8, 9, 10, 11], [3, 4])]])
@pytest.mark.parametrize("loss", SQUARED_LOSSES)
@pytest.mark.filterwarnings("ignore::skcalrank.data.CutQueriesWarning")
def test_the_search_over_penalties_is_that_of_scikit_learn(loss, cv, data):
    X, y, qid = data
    alphas, scorer = [0.1, 10.0, 1000.0], get_scorer("ndcg@10")
    for query_weight in POWERS:
        ours = LeastSquaresRankerCV(alphas=alphas, cv=cv, loss=loss, query_weight=query_weight)
        ours.fit(X, y, qid)
        one = LeastSquaresRanker(estimator=Ridge(), loss=loss, query_weight=query_weight)
        grid = GridSearchCV(one, {"estimator__alpha": alphas}, scoring=scorer, cv=cv, refit=False)
        grid.fit(X, RankingTarget(y, qid), groups=qid)
        found, expected = (r.cv_results_["mean_test_score"] for r in (ours, grid))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        one.set_params(estimator__alpha=ours.alpha_).fit(X, y, qid)
        np.testing.assert_allclose(ours.coef_, one.coef_, rtol=1e-7, atol=1e-10)


def test_a_grid_goes_over_what_a_query_counts(data):
    X, y, qid = data
    grid = {"query_weight": [None, *POWERS]}
    search = GridSearchCV(NDCGRanker(), grid, scoring=get_scorer("ndcg@10"), cv=QueryKFold(3))
    search.fit(X, RankingTarget(y, qid), groups=qid)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_estimator_.query_weight in grid["query_weight"]


# -- what does not go ----------------------------------------------------------------------


@pytest.mark.parametrize("ranker", [*RANKERS, LeastSquaresRankerCV()], ids=repr)
def test_unknown_names_are_refused(ranker, data):
    with pytest.raises(ValueError, match=r"'query_weight' parameter .*'pairs', 'documents', 'equ"):
        clone(ranker).set_params(query_weight="query").fit(*data)


def test_a_regressor_without_weights_counts_documents_or_refuses(data):
    for loss in ("centered", "pairwise_squared"):
        ranker = NDCGRanker(KNeighborsRegressor(2), loss=loss).fit(*data)
        for query_weight in POWERS:
            with pytest.raises(ValueError, match=r"query_weight must be None.*KNeighborsReg"):
                ranker.set_params(query_weight=query_weight).fit(*data)
    ranker = NDCGRanker(KNeighborsRegressor(2), loss="squared", query_weight="documents")
    ranker.fit(*data)


# -- boosting ------------------------------------------------------------------------------


@pytest.mark.parametrize("query_weight", [None, *POWERS])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_gradients_are_those_of_the_weighed_sum(name, query_weight, rng):
    y, scores = draw_labels(rng), rng.normal(size=SIZES.sum()) / 4
    given = rng.random(len(y)) + 0.5
    objective = lightgbm_objective("dcg", name, query_weight=query_weight)
    queries = Queries(np.append(0, SIZES.cumsum()))
    targets = 2.0**y - 1.0
    loss = get_loss(name).scaled_to(targets, queries)
    natural = 2 if "pairwise" in name else 1
    counts = SIZES.astype(float) ** (POWERS.get(query_weight, natural) - natural)

    def value(s):
        return counts @ loss.evaluate(targets, s, queries, given)

    gradient, curvature = objective(y, scores, given, SIZES)
    slopes = approx_fprime(scores, value, 1e-6)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-3, atol=1e-3)
    plain = lightgbm_objective("dcg", name)(y, scores, given, SIZES)[1]
    np.testing.assert_allclose(curvature, plain * np.repeat(counts, SIZES), rtol=1e-12)


@pytest.mark.parametrize("objective", [lightgbm_objective, xgboost_objective])
def test_objectives_keep_what_a_query_counts(objective):
    made = objective("dcg", query_weight="equal")
    assert pickled(made) == made != objective("dcg")
    assert "query_weight='equal'" in repr(made)
    with pytest.raises(ValueError, match=r"query_weight must be one of 'pairs', 'documents'"):
        objective("dcg", query_weight="n")
