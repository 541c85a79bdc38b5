"""Law: a ranker that is fitted to its own targets is the ranker that is fitted to the labels."""

import copy
import pickle
import re

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted
from every_estimator import EVERY_ESTIMATOR, Case, small_tabular
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    DCGRanker,
    ERRRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    MultiLabelRanker,
    MultiLabelTarget,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PrecisionRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    RecallRanker,
    SpearmanRanker,
    StackingRanker,
)
from skcalrank.data import CutQueriesWarning, MissingQidError, OneQueryWarning
from skcalrank.losses import LOSSES
from skcalrank.persistence import load_model, save_model
from skcalrank.pipeline import make_query_pipeline
from skcalrank.rankers import PairwiseHingeRanker, ValueRegularizedRanker, door

# Targets of pairs, judgments that are drawn, rankers of several kinds at once, classes, rankers of
# other libraries that read queries, and what is calibrated on the scores of a ranker.
WITHOUT = {
    "AggregatedRanker",
    "AveragePrecisionRanker-pairwise",
    "CalibratedRankerCV",
    "DifferenceGraphRanker",
    "ExternalRanker",
    "FMeasureClassifier",
    "GuaranteedCutoff",
    "HostedRanker",
    "LeastSquaresPairRanker",
    "LowRankLossClassifier",
    "PairwiseDisagreementRanker-pairwise",
    "PairwiseHingeRanker",
    "PairwiseLogisticRanker",
    "StochasticAggregatedRanker",
    "StructuredPredictor",
}
EXACT = {"rtol": 1e-12, "atol": 1e-12}
LOSS_CASES = [
    Case(f"OrderPreservingRanker-{loss}", lambda loss=loss: OrderPreservingRanker(loss=loss))
    for loss in LOSSES
]
LOSS_CASES += [
    Case(
        f"ValueRegularizedRanker-{kind}", lambda kind=kind: ValueRegularizedRanker(regularizer=kind)
    )
    for kind in ("power", "cosh")
]
LOSS_CASES += [
    Case(f"NDCGRanker-{loss}", lambda loss=loss: NDCGRanker(loss=loss, targets="separable"))
    for loss in ("squared", "centered")
]
CASES = [case for case in [*EVERY_ESTIMATOR, *LOSS_CASES] if hasattr(case.make(), "fit_targets")]
# Rows that are held out are drawn by their labels, or by their targets.
DRAWN = ("LeastSquaresRankerCV", "BoostedRanker")
STACKED = ("StackingRanker", "TabularRanker")
# A regressor of another library is fitted to the labels, and not to targets made of them.
OF_LABELS = ("ExternalRanker",)
APART = DRAWN + STACKED + OF_LABELS
LAWFUL = [c for c in CASES if not c.name.startswith(APART) and c.target == "grades"]
BOOSTED = [case for case in CASES if case.name.startswith("BoostedRanker")]


@pytest.fixture
def problem(rng):
    """Documents in mixed order, grades, names of queries, and weights."""
    X, qid = rng.normal(size=(240, 4)), np.repeat([f"query {k}" for k in range(24)], 10)
    y, order = rng.integers(0, 3, 240) * 1.0, rng.permutation(240)
    return X[order], y[order], qid[order], rng.random(240) + 0.5


def own_targets(estimator, X, y, qid):
    """The targets that an estimator would compute from labels, in row order."""
    ranker = clone(estimator)
    ranker = ranker.steps[-1][1] if isinstance(ranker, Pipeline) else ranker
    plan = ranker._check_params()
    plan, rows = door(ranker, plan, X, y, qid)
    return rows.in_order(ranker._targets(plan, rows))


# -- own targets -------------------------------------------------------------------------------


def test_every_ranker_of_targets_takes_them():
    names = {case.name for case in EVERY_ESTIMATOR if case not in CASES}
    # Without those libraries there is no such case.
    missing = {re.sub("-(?!pairwise).*", "", name) for name in names} ^ WITHOUT
    assert missing <= ({"ExternalRanker"} if ENGINES == ["sklearn"] else set())


@pytest.mark.product
@pytest.mark.parametrize("case", LAWFUL, ids=lambda case: case.name)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_own_targets_are_labels(case, weighted, problem):
    X, y, qid, weight = problem
    weight = weight if weighted else None
    by_labels = case.make().fit(X, y, qid, weight)
    by_targets = case.make()
    assert by_targets.fit_targets(X, own_targets(by_targets, X, y, qid), qid, weight) is by_targets
    np.testing.assert_allclose(by_targets.predict(X, qid), by_labels.predict(X, qid), **EXACT)
    assert by_targets.score(X, y, qid) == pytest.approx(by_labels.score(X, y, qid), abs=1e-12)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name.startswith(OF_LABELS)], ids=lambda case: case.name
)
def test_labels_are_targets_of_regressors_of_labels(case, problem):
    X, y, qid, weight = problem
    by_labels = case.make().fit(X, y, qid, weight).predict(X, qid)
    by_targets = case.make().fit_targets(X, y, qid, weight).predict(X, qid)
    np.testing.assert_array_equal(by_targets, by_labels)


@pytest.mark.product
@pytest.mark.parametrize(
    "measure", ["ndcg@3", "precision@2", "recall@3", "auc", "spearman", "f1@4"]
)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_own_targets_choose_the_penalty(measure, weighted, problem):
    X, y, qid, weight = problem
    y, weight = (y > 1) * 1.0, weight if weighted else None
    y[np.isin(qid, ["query 3", "query 17"])] = 0
    y[qid == "query 5"] = 1
    ranker = LeastSquaresRankerCV(measure, cv=QueryKFold(4))
    expected = clone(ranker).fit(X, y, qid, weight)
    targets = own_targets(ranker, X, y, qid)
    fitted = ranker.fit_targets(X, targets, qid, weight)
    assert fitted.alpha_ == expected.alpha_
    np.testing.assert_allclose(fitted.coef_, expected.coef_, **EXACT)
    assert fitted.score(X, y, qid) == pytest.approx(expected.score(X, y, qid), abs=1e-12)
    ranks = (one.cv_results_["rank_test_score"] for one in (fitted, expected))
    np.testing.assert_array_equal(*ranks)


def test_targets_of_labels_draw_the_same_folds(problem):
    X, y, qid, _ = problem
    y = (y > 0) * 1.0
    expected = LeastSquaresRankerCV("precision@3").fit(X, y, qid)
    fitted = LeastSquaresRankerCV("precision@3").fit_targets(X, y, qid)
    for name in ("param_alpha", "mean_test_score", "split0_test_score"):
        results = (ranker.cv_results_[name] for ranker in (fitted, expected))
        np.testing.assert_allclose(*results, rtol=1e-12)
    with pytest.raises(ValueError, match="measure must be one measure"):
        LeastSquaresRankerCV(["dcg", "eru"]).fit_targets(X, y, qid)


@pytest.mark.parametrize("case", BOOSTED, ids=lambda case: case.name)
def test_own_targets_grow_the_same_trees(case, problem):
    X, y, qid, _ = problem
    y = (y > 0) * 1.0
    ranker = case.make().set_params(measure="precision@3", loss="pairwise_squared")
    if ranker.start is not None:
        ranker.set_params(start=PrecisionRanker())
    # The targets of precision are the labels, so that the same queries are held out.
    expected = clone(ranker).fit(X, y, qid)
    fitted = clone(ranker).fit_targets(X, y, qid)
    np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))
    scores = [np.hstack(one.validation_scores_) for one in (fitted, expected)]
    np.testing.assert_allclose(*scores, **EXACT)
    assert fitted.score(X, y, qid) == expected.score(X, y, qid)
    fitted.fit_targets(X, y - 0.5, qid)
    with pytest.raises(ValueError, match="pass queries with labels as eval_set"):
        clone(ranker).set_params(measure="map").fit_targets(X, y, qid)


@pytest.mark.parametrize("measure", ["ndcg@3", "map", "neg_pairwise_disagreement"])
def test_own_targets_grow_as_many_trees(measure, problem):
    X, y, qid, _ = problem
    y = (y > 0) * 1.0
    test = np.isin(qid, [f"query {k}" for k in range(8)])
    ranker = boosted(FIRST, measure=measure, loss="pairwise_squared", n_iter_no_change=5)
    valid = X[test], y[test], qid[test]
    expected = clone(ranker).fit(X[~test], y[~test], qid[~test], eval_set=valid)
    targets = own_targets(ranker, X[~test], y[~test], qid[~test])
    fitted = clone(ranker).fit_targets(X[~test], targets, qid[~test], eval_set=valid)
    np.testing.assert_array_equal(fitted.validation_scores_, expected.validation_scores_)
    np.testing.assert_allclose(fitted.predict(X), expected.predict(X), **EXACT)


def members():
    """Rankers of a stack that learn precision, and a regressor."""
    piped = make_query_pipeline(StandardScaler(), PrecisionRanker())
    trees = boosted("sklearn", measure="precision", n_estimators=8, n_iter_no_change=3)
    regressor = DecisionTreeRegressor(max_depth=3, random_state=0)
    return [
        ("piped", piped),
        ("trees", trees),
        ("regressor", regressor),
        ("odds", OrderPreservingRanker("precision", loss="logistic")),
    ]


STACKS = {
    "default": lambda: StackingRanker(measure="precision@3"),
    "folds": lambda: StackingRanker(members(), measure="precision@3", cv=3),
    "held out": lambda: StackingRanker(members(), measure="precision@3", normalize="query"),
    "tabular": lambda: small_tabular(None, measure="precision@3"),
    "tabular trees": lambda: small_tabular("sklearn", measure="precision@3"),
}


@pytest.mark.product
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", STACKS)
def test_own_targets_make_the_same_stack(name, weighted, problem):
    X, y, qid, weight = problem
    y, weight = (y > 0) * 1.0, weight if weighted else None
    expected = STACKS[name]().fit(X, y, qid, weight)
    fitted = STACKS[name]().fit_targets(X, y, qid, weight)
    np.testing.assert_array_equal(fitted.weights_, expected.weights_)
    np.testing.assert_array_equal(fitted.predict(X, qid), expected.predict(X, qid))
    assert fitted.score(X, y, qid) == expected.score(X, y, qid)


def test_a_stack_learns_signed_targets(problem):
    X, y, qid, _ = problem
    stack = StackingRanker([*members()[:1], members()[2]], measure="precision@3")
    stack.fit_targets(X, y - 1.5, qid)
    assert stack.predict(X).shape == y.shape
    with pytest.raises(ValueError, match=r"non-negative .* loss='pairwise_squared'"):
        STACKS["held out"]().fit_targets(X, y - 1.5, qid)


def test_a_stack_of_rankers_of_labels_takes_no_targets():
    search = GridSearchCV(PrecisionRanker(), {"k": [1, 2]}, cv=QueryKFold(2))
    for member in (search, PairwiseHingeRanker(), AveragePrecisionRanker(surrogate="pairwise")):
        assert not hasattr(StackingRanker([("a", PrecisionRanker()), ("b", member)]), "fit_targets")


def test_objectives_of_labels_refuse_targets(problem):
    pytest.importorskip("lightgbm")
    X, y, qid, _ = problem
    with pytest.raises(ValueError, match=r"loss must be .* got 'lambdarank', which reads labels"):
        boosted("lightgbm", loss="lambdarank").fit_targets(X, y, qid)


def test_own_targets_of_several_labels(problem):
    X, y, qid, weight = problem
    labels = MultiLabelTarget(np.column_stack([y, y > 1]), qid, ["grade", "good"])
    ranker = MultiLabelRanker({"grade": "ndcg@5", "good": "precision"})
    expected = clone(ranker).fit(X, labels, sample_weight=weight)
    columns = [
        own_targets(NDCGRanker(k=5), X, y, qid),
        (y > 1) * 1.0,
    ]
    targets = MultiLabelTarget(np.column_stack(columns), qid, ["grade", "good"])
    fitted = clone(ranker).fit_targets(X, targets, sample_weight=weight)
    np.testing.assert_allclose(fitted.coefs_, expected.coefs_, **EXACT)
    assert fitted.score(X, labels) == pytest.approx(expected.score(X, labels), abs=1e-12)
    signed_targets = MultiLabelTarget(targets.labels - 1.5, qid, ["grade", "good"])
    # Centers do not count.
    np.testing.assert_allclose(
        fitted.fit_targets(X, signed_targets, sample_weight=weight).coefs_, expected.coefs_
    )
    with pytest.raises(TypeError, match="MultiLabelTarget as targets, got ndarray"):
        ranker.fit_targets(X, targets.labels, qid)
    with pytest.raises(ValueError, match="measure must name labels of y"):
        ranker.fit_targets(X, MultiLabelTarget(targets.labels, qid))


@pytest.mark.parametrize(
    "ranker",
    [
        SpearmanRanker(),
        SpearmanRanker(loss="squared"),
        SpearmanRanker(Ridge()),
        SpearmanRanker(DecisionTreeRegressor(max_depth=3, random_state=0)),
        NDCGRanker(k=2),
        OrderPreservingRanker("ndcg", loss="logistic"),
        OrderPreservingRanker("ndcg", loss="pairwise_exponential"),
        PairwiseDisagreementRanker(),
        ValueRegularizedRanker(),
    ],
    ids=repr,
)
def test_own_targets_of_items_are_labels(ranker, rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 4, (60, 5))
    targets = own_targets(ranker, X, y, None)
    assert targets.shape == y.shape
    expected = clone(ranker).fit(X, y)
    fitted = clone(ranker).fit_targets(X, targets)
    np.testing.assert_allclose(fitted.predict(X), expected.predict(X), **EXACT)
    assert fitted.n_items_ == 5


def test_targets_of_preferences(problem):
    X, y, qid, _ = problem
    preferences = PreferenceTarget.from_relevance(y, qid, weights="unit")
    for ranker in (PairwiseDisagreementRanker(), ValueRegularizedRanker()):
        expected = clone(ranker).fit(X, preferences).coef_
        fitted = clone(ranker).fit_targets(X, preferences.net_preference(), qid)
        np.testing.assert_allclose(fitted.coef_, expected, **EXACT)


# -- estimated targets -------------------------------------------------------------------------


def signed(rng, y, n_draws):
    """Draws of fractional and negative targets whose mean is y exactly, up to rounding."""
    noise = rng.normal(scale=3.0, size=(n_draws, len(y)))
    return y + noise - noise.mean(axis=0)


SQUARED = [
    PrecisionRanker(k=3),
    PrecisionRanker(k=3, alpha=2.0, loss="squared"),
    PrecisionRanker(k=3, loss="centered", query_weight="equal"),
    DCGRanker(gain="linear", estimator=Ridge()),
    RecallRanker(targets="separable"),
    LeastSquaresRanker("rbp"),
    AveragePrecisionRanker(targets="separable"),
    ERRRanker(max_grade=1),
    OrderPreservingRanker("precision", loss="squared"),
    OrderPreservingRanker("precision", loss="pairwise_squared", alpha=1.0),
    ValueRegularizedRanker(),
]


@pytest.mark.parametrize("ranker", SQUARED, ids=repr)
def test_errors_of_unbiased_targets_average_out(ranker, problem, rng):
    X, y, qid, weight = problem
    y = (y > 0) * 1.0
    expected = clone(ranker).fit(X, y, qid, weight)
    draws = signed(rng, own_targets(ranker, X, y, qid), 7)
    assert draws.min() < -1
    assert draws.max() > 2
    fits = [clone(ranker).fit_targets(X, t, qid, weight) for t in draws]
    for name in ("coef_", "intercept_"):
        mean = np.mean([getattr(fit, name) for fit in fits], axis=0)
        np.testing.assert_allclose(mean, getattr(expected, name), rtol=1e-9, atol=1e-11)


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
@pytest.mark.parametrize("examined", [0.2, 0.7])
def test_clicks_over_examinations_estimate_precision(examined, problem, rng):
    X, y, qid, _ = problem
    y = (y > 0) * 1.0
    # Each document is relevant and examined, or not, in its share of five sessions.
    clicks = np.array([(rng.permutation(10)[:, None] < 10 * examined) @ y[None, :] for _ in "abc"])
    targets = clicks.reshape(-1, len(y)) / examined
    np.testing.assert_allclose(targets.mean(axis=0), y)
    coefs = [PrecisionRanker().fit_targets(X, t, qid).coef_ for t in targets]
    np.testing.assert_allclose(np.mean(coefs, axis=0), PrecisionRanker().fit(X, y, qid).coef_)
    fractions = targets[targets.max(axis=1) > 1][0]
    with pytest.raises(ValueError, match=r"y must hold 0 and 1 .* pass them to fit_targets"):
        PrecisionRanker(relevance_level=None).fit(X, fractions, qid)


def test_labels_that_are_estimates_are_told_where_to_go(problem):
    X, y, qid, _ = problem
    with pytest.raises(ValueError, match=r"non-negative for dcg.* pass them to fit_targets"):
        DCGRanker(gain="linear").fit(X, y - 0.5, qid)


NOT_SIGNED = [name for name in LOSSES if "squared" not in name or "hinge" in name]


@pytest.mark.parametrize("loss", NOT_SIGNED)
def test_losses_of_non_negative_targets_say_which_loss_to_take(loss, problem):
    X, y, qid, _ = problem
    ranker = OrderPreservingRanker("dcg", loss=loss)
    with pytest.raises(ValueError, match=r"non-negative .* loss='pairwise_squared'") as error:
        ranker.fit_targets(X, y - 1, qid)
    assert "labels" not in str(error.value)
    ranker.set_params(loss="pairwise_squared").fit_targets(X, y - 1, qid)


def test_measures_with_a_scale_of_labels_have_none(problem):
    X, y, qid, _ = problem
    expected = ERRRanker().fit(X, y, qid)
    ranker = ERRRanker().fit_targets(X, own_targets(ERRRanker(), X, y, qid), qid)
    assert ranker.score(X, y, qid) == expected.score(X, y, qid)
    ranker.score(X, y + 5, qid)
    with pytest.raises(ValueError, match="max_grade"):
        expected.score(X, y + 5, qid)


# -- the door ----------------------------------------------------------------------------------


REFUSED = {
    "None": (None, "targets must be .* got NoneType"),
    "judgments": (PreferenceTarget.from_relevance([2, 1, 0, 1], [7] * 4), "got PreferenceTarget"),
    "NaN": ([1, np.nan, 0, 1], "targets contains NaN"),
    "infinite": ([1, np.inf, 0, 1], "targets contains infinity"),
    "too few": ([1, 0, 1], r"targets: .*\[4, 3\]"),
    "text": (list("abcd"), "targets"),
    "two columns": (np.eye(4)[:, :2], r"targets of shape \(4, 2\)"),
    "too large": ([1e300, 1, 0, 1], "targets must be at most 1e[+]290"),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_target_is_refused_by_name(name):
    targets, message = REFUSED[name]
    X, qid = np.arange(12.0).reshape(4, 3), [7] * 4
    ranker = NDCGRanker().fit(X, [1, 0, 0, 2], qid)
    before = copy.copy(vars(ranker))
    with pytest.raises(ValueError, match=message):
        ranker.fit_targets(X[:, :2], targets, qid)
    assert vars(ranker) == before


def test_targets_carry_queries(problem):
    X, y, qid, _ = problem
    expected = PrecisionRanker().fit_targets(X, y - 0.5, qid).coef_
    carried = PrecisionRanker().fit_targets(X, RankingTarget(y - 0.5, qid))
    np.testing.assert_array_equal(carried.coef_, expected)
    with pytest.raises(MissingQidError, match="got targets of more than 200 rows and no qid"):
        PrecisionRanker().fit_targets(X, y - 0.5)
    with pytest.warns(OneQueryWarning, match="got targets and no qid"):
        PrecisionRanker().fit_targets(X[:200], y[:200] - 0.5)
    with pytest.warns(CutQueriesWarning, match="queries cut"):
        PrecisionRanker().fit_targets(X[1:200], RankingTarget(y - 0.5, qid)[1:200])
    with pytest.warns(CutQueriesWarning, match="another number of rows"):
        carried.score(X[1:], (y[1:] > 0) * 1, qid[1:])


def test_frames_of_pandas(problem):
    pandas = pytest.importorskip("pandas")
    X, y, qid, weight = problem
    names = [f"row {k}" for k in range(len(y))]
    frame = pandas.DataFrame(X, columns=list("abcd"), index=names)
    targets = pandas.Series(y - 0.5, index=names)
    ranker = DCGRanker().fit_targets(frame, targets, pandas.Series(qid, index=names), weight)
    assert ranker.feature_names_in_.tolist() == list("abcd")
    expected = DCGRanker().fit_targets(X, y - 0.5, qid, weight)
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)


def test_what_was_fitted_is_copied(problem, tmp_path):
    pytest.importorskip("skops")
    X, y, qid, _ = problem
    ranker = DCGRanker(k=3).fit_targets(X, y - 0.5, qid)
    save_model(ranker, tmp_path / "ranker.skcal")
    for copied in (
        load_model(tmp_path / "ranker.skcal"),
        pickle.loads(pickle.dumps(ranker)),
        clone(ranker).fit_targets(X, y - 0.5, qid),
    ):
        np.testing.assert_array_equal(copied.predict(X), ranker.predict(X))
        assert copied.score(X, y, qid) == ranker.score(X, y, qid)


def test_chunks_of_labels_go_on_from_targets(problem):
    X, y, qid, _ = problem
    first = np.isin(qid, [f"query {k}" for k in range(12)])
    targets = own_targets(NDCGRanker(), X[first], y[first], qid[first])
    ranker = NDCGRanker(alpha=1.0).fit_targets(X[first], targets, qid[first])
    ranker.partial_fit(X[~first], y[~first], qid[~first])
    expected = NDCGRanker(alpha=1.0).fit(X, y, qid)
    np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-9)


def test_targets_of_documents_follow_pairs(problem):
    X, y, qid, _ = problem
    ranker = AveragePrecisionRanker(surrogate="pairwise", relevance_level=1).fit(X, y, qid)
    assert not hasattr(ranker, "fit_targets")
    ranker.set_params(surrogate="score").fit_targets(X, y - 1, qid)
    assert not hasattr(ranker, "n_iter_")
    assert ranker.predict(X).shape == y.shape
