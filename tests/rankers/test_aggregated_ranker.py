"""A ranker fitted to aggregated judgments: its risk written out, and its limits."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from every_estimator import small_tabular
from judged import counts, evidence, make, mean_targets, subset, targets_of
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.tree import DecisionTreeRegressor
from structures import OF_CLICKS

from skcalrank import (
    AggregatedRanker,
    AveragePrecisionRanker,
    ClickSessions,
    DCGRanker,
    ERRRanker,
    ExpectedRankUtilityRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    MultiLabelRanker,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    PreferenceTarget,
    QueryKFold,
    RBPRanker,
    StackingRanker,
    get_scorer,
    sample_comparisons,
    sample_sessions,
)
from skcalrank.aggregation import STRUCTURES, borda, cascade, mean_log_odds
from skcalrank.data import Queries
from skcalrank.losses import LOSSES, get_loss
from skcalrank.measures import NDCG
from skcalrank.metrics import err_score
from skcalrank.rankers import (
    DifferenceGraphRanker,
    PairwiseHingeRanker,
    StochasticAggregatedRanker,
    ValueRegularizedRanker,
)

pytestmark = pytest.mark.filterwarnings("ignore:Query .* has documents that were never compared")

CLOSE = {"rtol": 1e-6, "atol": 1e-8}
SQUARED = NDCGRanker(k=3, loss="squared")
ALL_ROUNDS = {"validation_fraction": None}
TREES = ("trees", boosted(FIRST, measure="dcg", n_estimators=5))
STACK = StackingRanker([TREES, ("line", DCGRanker(loss="squared"))], measure="dcg")


def linear(loss=None, measure="ndcg@3", alpha=1.0):
    return OrderPreservingRanker(measure, loss=loss or "pairwise_squared", alpha=alpha)


@pytest.mark.parametrize("order", [None, 1, 2, 3])
def test_targets_are_means_over_subsets(order, rng):
    X, y, _, _ = make(rng, sizes=(3, 4, 2), n_comparisons=14)
    ranker = AggregatedRanker("borda", SQUARED, order=order, n_draws=1000).fit(X, y)
    np.testing.assert_allclose(ranker.targets_, mean_targets(y, borda, order), **CLOSE)
    assert (ranker.standard_error_ == 0).all()


@pytest.mark.product
@pytest.mark.parametrize("order", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_closed_form_is_the_minimum_of_the_risk(order, weighted, rng):
    """The explicit sum over queries and subsets, minimized by brute force."""
    X, y, qid, _ = make(rng, sizes=(3, 4, 2), n_comparisons=14)
    weight = rng.uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    terms = []
    for q in dict.fromkeys(qid.tolist()):
        rows = np.flatnonzero(qid == q)
        mine = np.unique(y.judgment[np.isin(y.winner, rows)])
        n = len(mine) if order is None else min(order, len(mine))
        subsets = list(combinations(mine, n))
        for s in subsets if len(mine) else ():
            target = targets_of(borda(subset(y, np.array(s))), qid)[rows]
            terms.append((rows, target, len(mine) / len(rows) / len(subsets)))

    def risk(w):
        total = 0.7 * np.sum(w[:-1] ** 2)
        for rows, target, share in terms:
            total += share * np.sum(weight[rows] * (X[rows] @ w[:-1] + w[-1] - target) ** 2)
        return total

    for inner in (linear("squared", alpha=0.7), clone(SQUARED).set_params(estimator=Ridge(0.7))):
        ranker = AggregatedRanker("borda", inner, order=order, n_draws=1000, row_weight="judgments")
        ranker.fit(X, y, sample_weight=weight if weighted else None)
        best = minimize(risk, np.zeros(4), tol=1e-14)
        np.testing.assert_allclose(ranker.coef_, best.x[:-1], rtol=1e-4, atol=1e-5)
        assert ranker.intercept_ == pytest.approx(best.x[-1], rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_of_the_mean_target(loss, rng):
    """Losses are affine in targets: the mean loss and the loss of the mean share a minimum."""
    X, y, qid, _ = make(rng, sizes=(3, 4, 2), n_comparisons=14)
    queries = Queries.from_qid(qid)
    share = queries.group(counts(y))
    ranker = AggregatedRanker(
        "borda", linear(loss, alpha=0.3), order=2, n_draws=1000, row_weight="judgments"
    ).fit(X, y)
    targets = queries.group(mean_targets(y, borda, 2))
    used = get_loss(loss).scaled_to(targets, queries)

    def value(w):
        s = queries.group(X @ w[:-1] + w[-1])
        return used.evaluate(targets, s, queries, share).sum() + 0.3 * np.sum(w[:-1] ** 2)

    at = np.append(ranker.coef_, ranker.intercept_)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(30):
            assert value(at + size * rng.normal(size=4)) >= value(at) * (1 - 1e-9)


def test_draws_are_unbiased_and_their_error_is_told(rng):
    X, y, _, _ = make(rng, sizes=(3, 4, 2), n_comparisons=30)
    exact = AggregatedRanker("borda", SQUARED, order=3, n_draws=10**5).fit(X, y)
    drawn = AggregatedRanker("borda", SQUARED, order=3, n_draws=60, random_state=1)
    drawn.fit(X, y)
    assert (exact.standard_error_ == 0).all()
    error = drawn.standard_error_
    assert (error > 0).sum() >= 7
    assert (np.abs(drawn.targets_ - exact.targets_) <= 5 * error + 1e-12).all()
    again = clone(drawn).fit(X, y)
    assert np.array_equal(again.targets_, drawn.targets_)


@pytest.mark.parametrize("structure", [s for s in STRUCTURES if s not in OF_CLICKS])
def test_every_structure(structure, rng):
    X, y, qid, _ = make(rng, n_comparisons=4000)
    by_name = AggregatedRanker(structure).fit(X, y)
    by_function = AggregatedRanker(STRUCTURES[structure]).fit(X, y)
    assert np.array_equal(by_name.predict(X), by_function.predict(X))
    assert by_name.score(X, y) == pytest.approx(
        by_name.score(X, STRUCTURES[structure](y) - STRUCTURES[structure](y).min(), qid), abs=0.2
    )
    assert by_name.score(X, y) > 0.6
    assert by_name.rank(X, qid).shape == (len(y),)


def test_score_is_the_measure_of_the_aggregated_judgments(rng):
    X, y, qid, _ = make(rng)
    ranker = AggregatedRanker("mean_log_odds", NDCGRanker(k=3)).fit(X, y)
    s = mean_log_odds(y)
    for q in set(qid.tolist()):
        s[qid == q] -= s[qid == q].min()
    assert ranker.score(X, y) == pytest.approx(ranker.score(X, s, qid))


# -- the ranker inside -------------------------------------------------------------------

INNER = {
    "ndcg": NDCGRanker(k=3),
    "dcg": DCGRanker(gain="linear"),
    "least squares": LeastSquaresRanker(measure="spearman"),
    "err": ERRRanker(max_grade=40),
    "map": AveragePrecisionRanker(relevance_level=1),
    "disagreement": PairwiseDisagreementRanker(),
    "order preserving": OrderPreservingRanker("eru", loss="logistic"),
}


@pytest.mark.parametrize("inner", INNER)
def test_is_the_ranker_fitted_to_the_scores_of_the_structure(inner, rng):
    """Labels that are estimates: measures of one label take them as they are."""
    X, _, qid, relevance = make(rng)
    y = PreferenceTarget.from_relevance(np.round(relevance), qid)
    s = borda(y)
    for q in set(qid.tolist()):
        s[qid == q] -= s[qid == q].min() if inner == "ndcg" else 0
    ranker = AggregatedRanker("borda", INNER[inner]).fit(X, y)
    if inner in ("dcg", "err"):
        targets = s if inner == "dcg" else (2**s - 1) / 2**40
        same = clone(INNER[inner]).fit_targets(X, targets, qid, evidence(y))
    else:
        same = clone(INNER[inner]).fit(X, s, qid, evidence(y))
    np.testing.assert_allclose(ranker.predict(X), same.predict(X), **CLOSE)
    if inner not in ("dcg", "err"):
        assert ranker.score(X, y) == pytest.approx(same.score(X, s, qid))
    assert type(ranker.ranker_) is type(same)
    assert np.array_equal(ranker.ranker_.predict(X, qid), ranker.predict(X, qid))
    assert np.array_equal(ranker.coef_, ranker.ranker_.coef_)
    assert np.array_equal(ranker.intercept_, ranker.ranker_.intercept_)
    assert vars(INNER[inner]) == vars(clone(INNER[inner]))


def test_score_function_of_the_ranker_inside(rng):
    """The targets are those of the ranker, where it computes them in another way."""
    X, y, _, _ = make(rng)
    params = PairwiseDisagreementRanker().get_params()
    name = "score_function" if "score_function" in params else "score"
    inner = PairwiseDisagreementRanker(**{name: lambda matrix: np.arange(len(matrix)) * 1.0})
    targets = AggregatedRanker("borda", inner).fit(X, y).targets_
    assert set(targets.tolist()) == set(range(6))


def test_any_regressor(rng):
    X, y, _, _ = make(rng)
    forest = RandomForestRegressor(10, random_state=0)
    ranker = AggregatedRanker(ranker=NDCGRanker(forest)).fit(X, y)
    assert ranker.feature_importances_.shape == (3,)
    assert ranker.ranker_.estimator_.n_estimators == 10
    assert not hasattr(ranker, "coef_")
    same = AggregatedRanker(ranker=NDCGRanker(Ridge(3.0))).fit(X, y).predict(X)
    inner = OrderPreservingRanker(alpha=3.0)
    np.testing.assert_allclose(AggregatedRanker(ranker=inner).fit(X, y).predict(X), same)


def test_default_is_ndcg(rng):
    X, y, _, _ = make(rng)
    default = AggregatedRanker().fit(X, y)
    assert default.get_params()["ranker"] is None
    same = AggregatedRanker("mean_log_odds", NDCGRanker()).fit(X, y)
    assert np.array_equal(default.predict(X), same.predict(X))
    assert default.record_.measure == NDCG(k=10)


def test_tags_are_those_of_the_ranker(rng):
    X, y, qid, _ = make(rng)
    X[::4, 0] = np.nan
    trees = HistGradientBoostingRegressor(min_samples_leaf=2, max_iter=5)
    ranker = AggregatedRanker(ranker=NDCGRanker(trees))
    tags = ranker.__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert not tags.sparse
    assert ranker.fit(X, y).rank(X, qid).shape == qid.shape
    tags = AggregatedRanker().__sklearn_tags__().input_tags
    assert tags.sparse
    assert not tags.allow_nan


def test_names_of_features_reach_the_ranker_inside(rng):
    pandas = pytest.importorskip("pandas")
    X, y, _, _ = make(rng)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    ranker = AggregatedRanker().fit(frame, y)
    assert ranker.ranker_.feature_names_in_.tolist() == ["a", "b", "c"]
    assert ranker.ranker_.n_features_in_ == ranker.n_features_in_ == 3
    for each in (ranker, ranker.ranker_):
        with pytest.raises(ValueError, match="feature names should match"):
            each.predict(frame[["b", "a", "c"]])


@pytest.mark.every_case
@pytest.mark.parametrize(
    "ranker",
    [
        NDCGRanker(k=3),
        DCGRanker(DecisionTreeRegressor(max_depth=3, random_state=0)),
        LeastSquaresRankerCV("dcg", cv=QueryKFold(3)),
        OrderPreservingRanker("ndcg", loss="logistic"),
        ValueRegularizedRanker(),
        PairwiseDisagreementRanker(loss="squared"),
        ERRRanker(max_grade=9),
        boosted(FIRST, measure="dcg@3", loss="pairwise_squared", n_estimators=5),
        boosted(FIRST, measure="dcg@3", n_estimators=5, columns={0: "drop"}),
        boosted(FIRST, measure="neg_pairwise_disagreement", n_estimators=5, **ALL_ROUNDS),
        boosted(FIRST, measure="dcg@3", start=linear("logistic", "dcg@3"), n_estimators=5),
        boosted(FIRST, measure="dcg@3", loss="pairwise_squared", start=linear("logistic", "dcg@3")),
        STACK,
    ],
    ids=repr,
)
def test_the_ranker_is_fitted_to_the_targets(ranker, rng):
    X, y, qid, _ = make(rng, sizes=(5, 8) * 6, n_comparisons=600)
    aggregated = AggregatedRanker("borda", ranker).fit(X, y)
    expected = clone(ranker).fit_targets(X, aggregated.targets_, qid, evidence(y))
    np.testing.assert_allclose(aggregated.predict(X), expected.predict(X), **CLOSE)


@pytest.mark.parametrize("structure", ["borda", "mean_log_odds"])
def test_mixtures_learn_from_estimates_below_zero(structure, rng):
    X, y, qid, relevance = make(rng, sizes=(5, 8) * 6, n_comparisons=600)
    mixture = small_tabular(FIRST, measure="dcg", random_state=0)
    ranker = AggregatedRanker(structure, mixture).fit(X, y)
    assert ranker.targets_.min() == 0
    places = np.argsort(np.lexsort((relevance, qid)))
    assert np.corrcoef(ranker.rank(X, qid), places)[0, 1] < 0


def test_columns_that_are_not_there_are_told(rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker("borda", boosted(FIRST, measure="dcg", columns={7: "category"}))
    with pytest.raises(ValueError, match="columns must have names of columns of X, got 7"):
        ranker.fit(X, y)


REFUSED = [
    (PairwiseDisagreementRanker(surrogate="pairwise"), ValueError, "one target per document"),
    (AveragePrecisionRanker(surrogate="pairwise"), ValueError, "one target per document"),
    (DifferenceGraphRanker(), ValueError, "got DifferenceGraphRanker"),
    (PairwiseHingeRanker(), ValueError, "got PairwiseHingeRanker"),
    (MultiLabelRanker(), ValueError, "got MultiLabelRanker"),
    (AggregatedRanker(), ValueError, "got AggregatedRanker"),
    (StochasticAggregatedRanker(), ValueError, "got StochasticAggregatedRanker"),
    ("ndcg", TypeError, r"did you mean ranker=NDCGRanker\(\)\?"),
    ("dcg@5", TypeError, r"did you mean ranker=LeastSquaresRanker\(measure='dcg@5'\)\?"),
    (NDCG(k=5), TypeError, r"did you mean ranker=LeastSquaresRanker\(measure=NDCG"),
    (NDCGRanker, TypeError, r"did you mean ranker=NDCGRanker\(\)\?"),
    (Ridge(2.0), TypeError, r"did you mean ranker=NDCGRanker\(estimator=Ridge\(alpha=2\.0\)\)\?"),
    (20, TypeError, r"did you mean order=20\?"),
]


@pytest.mark.parametrize(("ranker", "error", "message"), REFUSED, ids=str)
def test_what_is_not_a_ranker_of_targets_is_refused(ranker, error, message, rng):
    X, y, _, _ = make(rng)
    with pytest.raises(error, match=message):
        AggregatedRanker("borda", ranker).fit(X, y)


# -- estimates of labels -----------------------------------------------------------------


def signed(sessions):
    """Clicks over examinations, less clicks by accident: below 0 where nothing was clicked."""
    return cascade(sessions).probability - 0.2


def make_sessions(rng):
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    p = 1 / (1 + np.exp(-X[:, 0]))
    return X, sample_sessions(p, qid, n_sessions=60, n_shown=4, random_state=0), qid


TAKEN = {
    "precision": (PrecisionRanker(k=3), lambda s: s),
    "rbp": (RBPRanker(), lambda s: s),
    "dcg": (DCGRanker(gain="linear"), lambda s: s),
    "dcg exponential": (DCGRanker(), lambda s: 2**s - 1),
    "separable": (NDCGRanker(targets="separable", gain="linear"), lambda s: s),
    "eru": (ExpectedRankUtilityRanker(), lambda s: np.maximum(s, 0)),
    "err": (ERRRanker(max_grade=1), lambda s: (2**s - 1) / 2),
    "level": (PrecisionRanker(k=3, relevance_level=0.5), lambda s: (s >= 0.5) * 1.0),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", TAKEN)
def test_estimates_are_taken_as_they_are(name, rng):
    X, y, _ = make_sessions(rng)
    inner, targets = TAKEN[name]
    ranker = AggregatedRanker(signed, inner).fit(X, y)
    assert signed(y).min() < 0
    np.testing.assert_allclose(ranker.targets_, targets(signed(y)), rtol=1e-12)


def test_the_value_of_a_ranking_is_linear_in_estimates(rng):
    X, y, qid = make_sessions(rng)
    ranker = AggregatedRanker(signed, PrecisionRanker(k=3)).fit(X, y)
    top = ranker.top_k(X, qid, k=3)
    assert ranker.score(X, y) == pytest.approx(signed(y)[top].sum() / 3 / 6)


def test_measures_of_grades_count_from_the_lowest(rng):
    X, y, qid = make_sessions(rng)
    ranker = AggregatedRanker(signed, NDCGRanker(k=3)).fit(X, y)
    np.testing.assert_allclose(ranker.targets_, targets_of(signed(y), qid))
    with pytest.warns(UserWarning, match=r"ndcg@10 are no linear .* targets='separable'"):
        positive = AggregatedRanker("cascade", NDCGRanker(gain="linear")).fit(X, y)
    gain, discount = cascade(y).probability, 1 / np.log2(np.arange(10) + 2)
    for rows in (qid == q for q in range(6)):
        ideal = np.sort(gain[rows])[::-1] @ discount
        np.testing.assert_allclose(positive.targets_[rows], gain[rows] / ideal)


@pytest.mark.parametrize("structure", ["cascade", "borda"])
def test_documents_without_evidence_are_not_learned_from(structure, rng):
    if structure == "cascade":
        X, y, _ = make_sessions(rng)
    else:
        X, y, _, _ = make(rng, sizes=(6,) * 5, n_comparisons=8)
    unknown = y.evidence == 0
    assert 0 < unknown.sum() < len(y)
    expected = AggregatedRanker(structure).fit(X, y)
    X = np.where(unknown[:, None], rng.normal(size=X.shape), X)
    np.testing.assert_allclose(AggregatedRanker(structure).fit(X, y).coef_, expected.coef_)


def test_weights_of_documents_without_evidence_alone_are_refused(rng):
    X, y, _, _ = make(rng, sizes=(6,) * 5, n_comparisons=8)
    with pytest.raises(ValueError, match="positive for a document that was judged"):
        AggregatedRanker("borda").fit(X, y, sample_weight=(y.evidence == 0) * 1.0)


def test_items_share_the_mean_weight_of_their_row(rng):
    X = rng.normal(size=(9, 3))
    y = sample_comparisons(rng.normal(size=(9, 4)), n_comparisons=60, random_state=0)
    weight = (y.evidence / (y.evidence + 5)).mean(axis=1)
    ranker = AggregatedRanker("borda", SQUARED).fit(X, y)
    expected = clone(SQUARED).fit_targets(X, ranker.targets_, sample_weight=weight)
    np.testing.assert_allclose(ranker.coef_, expected.coef_, **CLOSE)


def test_a_ranker_of_documents_refuses_items(rng):
    X, y = rng.normal(size=(8, 3)), rng.integers(0, 3, (8, 4))
    with pytest.raises(ValueError, match=r"got 4 columns \(the label-ranking form\)"):
        AggregatedRanker("borda", boosted("sklearn")).fit(X, y)


def test_inside_a_search(rng):
    X, y, qid, _ = make(rng, sizes=(5,) * 12, n_comparisons=600)
    search = GridSearchCV(
        AggregatedRanker(ranker=NDCGRanker(Ridge())),
        {"order": [None, 5], "ranker__estimator__alpha": [0.1, 10], "ranker__k": [3]},
        cv=GroupKFold(3),
    ).fit(X, y, groups=qid)
    assert search.best_score_ > 0.5
    assert search.best_estimator_.ranker_.k == 3
    ranker = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(ranker.predict(X), search.predict(X))
    assert get_scorer("ndcg@3", gain="linear")(ranker, X, np.abs(X[:, 0]), qid=qid) > 0


def test_ndcg_measure_object(rng):
    X, y, _, _ = make(rng)
    inner = LeastSquaresRanker(measure=NDCG(k=3, gain="linear"))
    assert AggregatedRanker(ranker=inner).fit(X, y).score(X, y) > 0.5


# -- judgments ---------------------------------------------------------------------------


def test_label_form(rng):
    X, r = rng.normal(size=(40, 3)), 4
    relevance = X @ rng.normal(size=(3, r))
    y = sample_comparisons(relevance, n_comparisons=4000, random_state=0)
    ranker = AggregatedRanker("borda", NDCGRanker(loss="squared")).fit(X, y)
    assert ranker.predict(X).shape == ranker.targets_.shape == (40, r)
    assert ranker.coef_.shape == (r, 3)
    truth = np.argsort(np.argsort(relevance, axis=1), axis=1)
    found = np.argsort(np.argsort(ranker.predict(X), axis=1), axis=1)
    assert np.corrcoef(truth.ravel(), found.ravel())[0, 1] > 0.8


def test_queries_without_judgments_teach_nothing(rng):
    X, y, qid, _ = make(rng)
    lonely = PreferenceTarget.from_comparisons(
        y.winner, y.loser, np.append(qid, [99, 99, 98]), judgment=y.judgment
    )
    wider = np.vstack([X, rng.normal(size=(3, 3))])
    one, two = AggregatedRanker().fit(X, y), AggregatedRanker().fit(wider, lonely)
    np.testing.assert_allclose(one.coef_, two.coef_, **CLOSE)
    with pytest.raises(ValueError, match="one judgment"):
        AggregatedRanker().fit(X, PreferenceTarget.from_comparisons([], [], qid))


def test_relevances_are_one_judgment(rng):
    X, _, qid, relevance = make(rng)
    by_relevance = AggregatedRanker("borda").fit(X, relevance, qid)
    target = PreferenceTarget.from_relevance(relevance, qid)
    np.testing.assert_allclose(by_relevance.coef_, AggregatedRanker("borda").fit(X, target).coef_)


def test_clicks(rng):
    qid = np.repeat(np.arange(30), 6)
    X = rng.normal(size=(180, 3))
    p = 1 / (1 + np.exp(1.5 - 1.5 * X[:, 0]))
    y = sample_sessions(p, qid, n_sessions=20_000, random_state=0)
    inner = NDCGRanker(k=3, gain="linear")  # many sessions of each query: no warning
    ranker = AggregatedRanker("cascade", inner).fit(X, y)
    assert np.corrcoef(ranker.predict(X), X[:, 0])[0, 1] > 0.9
    part = AggregatedRanker("cascade", inner, order=20, random_state=0)
    assert part.fit(X, y).score(X, y) > 0.8
    # ERR of the cascade model is about these probabilities themselves.
    err = ERRRanker(Ridge(), loss="squared").fit(X, y)
    np.testing.assert_allclose(err.coef_, Ridge().fit(X, cascade(y).probability).coef_, rtol=1e-6)
    assert err.score(X, y) > ERRRanker(Ridge()).fit(-X, y).score(X, y)
    with pytest.raises(ValueError, match=r"expects relevances.*ClickSessions"):
        PairwiseLogisticRanker().fit(X, y)


def test_a_ranker_of_clicks_is_scored_on_grades_by_their_own_scale(rng):
    X, _, qid, relevance = make(rng)
    grades = np.clip(np.round(relevance) + 2, 0, 4)
    y = sample_sessions(grades / 5, qid, n_sessions=200, random_state=0)
    ranker = ERRRanker().fit(X, y)
    expected = err_score(grades, ranker.predict(X), qid=qid)
    assert expected > 0.1
    assert ranker.score(X, grades, qid) == pytest.approx(expected)
    ranker = ERRRanker(max_grade=5).fit(X, y)
    expected = err_score(grades, ranker.predict(X), qid=qid, max_grade=5)
    assert ranker.score(X, grades, qid) == pytest.approx(expected)


# -- errors ------------------------------------------------------------------------------

BAD = [
    ({"structure": "elo"}, "'structure' parameter .*'mean_log_odds'.* or a callable.*'elo'"),
    ({"structure": ["borda"]}, "'structure' parameter"),
    ({"order": 0}, "'order' parameter of AggregatedRanker must be an int"),
    ({"order": 2.5}, "'order' parameter"),
    ({"n_draws": 0}, "'n_draws' parameter"),
    ({"structure_options": 3}, "'structure_options' parameter"),
    ({"random_state": "seed"}, "'random_state' parameter"),
    ({"ranker": OrderPreservingRanker(alpha=-1)}, "alpha"),
    ({"ranker": OrderPreservingRanker(loss="hinge")}, "Unknown loss"),
    ({"ranker": OrderPreservingRanker("kendall")}, "no score-based surrogate"),
    ({"ranker": NDCGRanker(loss="logistic")}, "loss"),
    ({"ranker": DCGRanker(gain="cubic")}, "gain"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=str)
def test_bad_parameters(params, message, rng):
    X, y, _, _ = make(rng)
    with pytest.raises(ValueError, match=message):
        AggregatedRanker("borda").set_params(**params).fit(X, y)


def test_comparisons_where_sessions_are_wanted(rng):
    X, y, _, _ = make(rng)
    with pytest.raises(TypeError, match="sessions must be ClickSessions for cascade"):
        AggregatedRanker("cascade").fit(X, y)
    sessions = ClickSessions([1, 1, 1], [[0, 1, 2]], [2])
    with pytest.raises(TypeError):
        AggregatedRanker("borda").fit(X[:3], sessions)


AGGREGATED = [
    AggregatedRanker(),
    AggregatedRanker(order=2),
    StochasticAggregatedRanker(n_updates=20, random_state=0),
]


@pytest.mark.parametrize("ranker", AGGREGATED, ids=str)
@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (lambda y: np.zeros(len(y) + 1), "must return one score for each"),
        (lambda y: np.full(len(y), np.nan), "must return finite"),
        (lambda y: ["a"] * len(y), "must return finite numbers"),
    ],
)
def test_structures_of_users_are_checked(ranker, structure, message, rng):
    X, y, _, _ = make(rng)
    with pytest.raises(ValueError, match=message):
        clone(ranker).set_params(structure=structure).fit(X, y)


def stop_grades(y):
    """Grades of a user, made of clicks."""
    return np.round(4 * cascade(y).probability)


def test_a_scale_that_depends_on_the_subset_is_an_error(rng):
    X, _, qid, relevance = make(rng)
    p = 1 / (1 + np.exp(-relevance))
    y = sample_sessions(p, qid, n_sessions=60, random_state=0)
    for ranker in (
        AggregatedRanker(stop_grades, ERRRanker(), order=2),
        AggregatedRanker(stop_grades, OrderPreservingRanker("err"), order=2),
        StochasticAggregatedRanker(stop_grades, "err"),
    ):
        with pytest.raises(ValueError, match="max_grade of err must be a number for estimates"):
            ranker.fit(X, y)
    assert AggregatedRanker(stop_grades, ERRRanker()).fit(X, y).score(X, y) > 0
    ranker = AggregatedRanker(stop_grades, ERRRanker(max_grade=4), order=2, n_draws=10_000).fit(
        X, y
    )
    cats = qid == qid[0]
    part = clone(ranker).fit(X[cats], y[cats])
    np.testing.assert_allclose(part.targets_, ranker.targets_[cats], **CLOSE)


@pytest.mark.parametrize("inner", [NDCGRanker(), NDCGRanker(Lasso(0.01)), OrderPreservingRanker()])
def test_a_fit_that_fails_changes_no_prediction(inner, rng):
    X, y, _, _ = make(rng)
    ranker = AggregatedRanker("borda", inner).fit(X, y)
    before, kept = ranker.predict(X), ranker.ranker_
    ranker.set_params(structure_options={"unknown": 1})
    with pytest.raises(TypeError):
        ranker.fit(X[:, :2], y)
    assert ranker.ranker_ is kept
    np.testing.assert_array_equal(ranker.predict(X), before)
