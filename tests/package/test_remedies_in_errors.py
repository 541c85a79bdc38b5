"""Errors name the argument that was meant; warnings point to the line of the user."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import cross_val_predict

import skcalrank
from skcalrank import (
    AggregatedRanker,
    AveragePrecisionRanker,
    BoostedRanker,
    ClickSessions,
    ERRRanker,
    LeastSquaresRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    StackingRanker,
    get_scorer,
    sample_sessions,
    train_test_query_split,
)
from skcalrank.evaluation import rank_frame
from skcalrank.metrics import (
    document_calibration_error,
    kendall_score,
    measure_score,
    ndcg_score,
)
from skcalrank.preprocessing import QuantileHinges
from skcalrank.rankers import DifferenceGraphRanker, ValueRegularizedRanker

X, Y, QID = np.arange(6.0)[:, None], np.array([1, 0, 0, 1, 1, 0]), np.repeat([0, 1], 3)

MEANT = {
    "cutoff": (NDCGRanker(10), r"NDCGRanker\(k=10\)"),
    "cutoff of precision": (PrecisionRanker(5), r"PrecisionRanker\(k=5\)"),
    "gain": (NDCGRanker("linear"), r"NDCGRanker\(gain='linear'\)"),
    "measure": (NDCGRanker("ndcg@5"), r"LeastSquaresRanker\(measure='ndcg@5'\)"),
    "measure of pairs": (AveragePrecisionRanker("map@5"), r"LeastSquaresRanker\(measure='map@5'\)"),
    "map": (PairwiseDisagreementRanker("exact"), r"PairwiseDisagreementRanker\(pred='exact'\)"),
    "class": (NDCGRanker(Ridge), r"Ridge\(\)"),
}


@pytest.mark.parametrize("name", MEANT)
def test_what_is_no_estimator_names_the_parameter_that_was_meant(name):
    ranker, meant = MEANT[name]
    with pytest.raises(ValueError, match=f"estimator must be.*did you mean {meant}") as caught:
        ranker.fit(X, Y, QID)
    assert not isinstance(caught.value, NotFittedError)
    assert ranker.__sklearn_tags__().target_tags.required


def test_a_regressor_in_place_of_the_measure():
    with pytest.raises(ValueError, match=r"did you mean LeastSquaresRanker\(estimator=Ridge\(\)\)"):
        LeastSquaresRanker(Ridge()).fit(X, Y, QID)


@pytest.mark.parametrize("ranker", [NDCGRanker(), PairwiseLogisticRanker(), AggregatedRanker()])
@pytest.mark.parametrize(
    ("name", "remedy"),
    [("group", r"qid=np.repeat\(np.arange\(len\(group\)\), group\)"), ("groups", "qid=groups")],
)
def test_sizes_of_groups_are_no_argument(ranker, name, remedy):
    kind = type(ranker).__name__
    with pytest.raises(TypeError, match=f"{kind}.fit has no argument '{name}': pass {remedy}"):
        ranker.fit(X, Y, **{name: [3, 3]})


@pytest.mark.parametrize("ranker", [NDCGRanker(), PairwiseLogisticRanker(), BoostedRanker()])
@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("eval_metric", "measure="),
        ("early_stopping_rounds", "n_iter_no_change="),
    ],
)
def test_early_stopping_is_that_of_the_boosted_ranker(ranker, name, remedy):
    kind = type(ranker).__name__
    found = rf"{kind}.fit has no argument '{name}': BoostedRanker has .* BoostedRanker\({remedy}"
    with pytest.raises(TypeError, match=found):
        ranker.fit(X, Y, QID, **{name: [(X, Y)]})


@pytest.mark.parametrize("name", ["eval_set", "eval_group", "eval_qid"])
@pytest.mark.parametrize("ranker", [NDCGRanker(), PairwiseLogisticRanker()])
def test_an_evaluation_set_is_an_argument_of_the_boosted_ranker(ranker, name):
    remedy = rf"fit has no argument '{name}': BoostedRanker.fit takes eval_set=\(X, y, qid\)"
    with pytest.raises(TypeError, match=remedy):
        ranker.fit(X, Y, QID, **{name: [(X, Y)]})


class ArrayElsewhere:
    """An array of another library that follows the array API."""

    shape, ndim = (6, 1), 2

    def __array_namespace__(self, api_version=None):
        raise NotImplementedError

    def __len__(self):
        return 6


def test_arrays_of_other_libraries_are_refused_by_name():
    other = ArrayElsewhere()
    for call, name in [
        (lambda: NDCGRanker().fit(other, Y, QID), "X"),
        (lambda: NDCGRanker(Lasso()).fit(other, Y, QID), "X"),
        (lambda: BoostedRanker().fit(other, Y, QID), "X"),
        (lambda: StackingRanker().fit(other, Y, QID), "X"),
        (lambda: NDCGRanker().fit(X, Y, QID).predict(other), "X"),
        (lambda: NDCGRanker().fit(X, other, QID), "y"),
        (lambda: NDCGRanker().fit(X, Y, other), "qid"),
        (lambda: NDCGRanker().fit(X, Y, QID, sample_weight=other), "sample_weight"),
        (lambda: ndcg_score(other, Y, qid=QID), "y_true"),
        (lambda: ndcg_score(Y, other, qid=QID), "y_score"),
        (lambda: QuantileHinges().fit(other), "X"),
    ]:
        with pytest.raises(TypeError, match=rf"^{name} must be a numpy array, got an array of"):
            call()


def test_cross_val_predict_says_that_tools_hand_on_no_qid():
    ranker = AveragePrecisionRanker(surrogate="pairwise", alpha=10.0)
    with pytest.raises(
        skcalrank.data.MissingQidError, match=r"cross_val_predict.*splits of QueryKFold"
    ):
        cross_val_predict(ranker, X, RankingTarget(Y, QID), cv=QueryKFold(2), groups=QID)


@pytest.mark.parametrize(
    ("structure", "options"), [("bradley_terry", {"alpha": 0}), ("thurstone_mosteller", None)]
)
def test_warnings_of_structures_name_the_line_of_the_user(structure, options):
    y = PreferenceTarget.from_comparisons([0], [1], [1, 1, 1, 1])
    ranker = AggregatedRanker(structure, structure_options=options)
    rows = np.arange(4.0)[:, None]
    for call in (ranker.fit, ranker.score):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call(rows, y)
        found = [w.filename for w in found if "Query 1" in str(w.message)]
        assert set(found) == {__file__}


# -- nothing to learn from -----------------------------------------------------------------

EMPTY = PreferenceTarget.from_comparisons([], [], QID)
WEIGHTLESS = PreferenceTarget.from_comparisons([0], [1], QID, weight=[0.0])


@pytest.mark.parametrize("y", [EMPTY, WEIGHTLESS], ids=["none", "weight 0"])
@pytest.mark.parametrize(
    "ranker",
    [
        DifferenceGraphRanker(),
        PairwiseLogisticRanker(),
        ValueRegularizedRanker(),
        PairwiseDisagreementRanker(),
        PairwiseDisagreementRanker(surrogate="pairwise"),
        AggregatedRanker(),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_no_preference_is_nothing_to_learn_from(y, ranker):
    with pytest.raises(ValueError, match=r"one judgment.*nothing to learn from"):
        ranker.fit(X, y)


@pytest.mark.parametrize("ranker", [ERRRanker(), AggregatedRanker("cascade")], ids=str)
def test_sessions_without_a_click_are_nothing_to_learn_from(ranker):
    sessions = ClickSessions(QID, [[0, 1], [3, 4, 5]], [0, 0])
    with pytest.raises(ValueError, match=r"one judgment.*nothing to learn from"):
        ranker.fit(X, sessions)
    ranker.fit(X, ClickSessions(QID, [[0, 1], [3, 4, 5]], [0, 1]))


# -- Kendall's tau of orders ---------------------------------------------------------------


@pytest.mark.parametrize("ties", ["average", "stable", "worst", "best"])
def test_kendall_reads_orders(ties, rng):
    positions = rng.random((20, 5)).argsort(axis=1) + 1.0
    scores = rng.integers(0, 4, (20, 5))
    target = PreferenceTarget.from_orders(positions)
    options = {"ties": ties, "average": False}
    expected = kendall_score(-positions, scores, **options)
    np.testing.assert_allclose(kendall_score(target, scores, **options), expected)


def test_unranked_items_agree_with_nothing():
    target = PreferenceTarget.from_orders([[1, 2, np.nan], [2, 1, 3]])
    assert kendall_score(target, [[3, 2, 1], [3, 2, 1]], average=False) == pytest.approx(
        [1 / 3, 1 / 3]
    )


def test_scorer_of_kendall_reads_the_orders_that_the_ranker_learned_from(rng):
    features = rng.normal(size=(40, 2))
    positions = (features @ rng.normal(size=(2, 4))).argsort(axis=1).argsort(axis=1) + 1
    target = PreferenceTarget.from_orders(positions)
    ranker = PairwiseDisagreementRanker(surrogate="pairwise").fit(features, target)
    value = get_scorer("kendall")(ranker, features, target)
    assert value == pytest.approx(kendall_score(-positions, ranker.predict(features)))


def test_kendall_refuses_preferences_that_are_no_orders():
    for y in (
        PreferenceTarget.from_comparisons([0], [1], QID, weight=[2.0]),
        PreferenceTarget.from_comparisons([0, 1], [1, 0], QID),
        PreferenceTarget.from_comparisons([0, 0], [1, 1], QID),
    ):
        with pytest.raises(ValueError, match="kendall needs relevances, or unit preferences"):
            kendall_score(y, np.zeros(6))
    with pytest.raises(ValueError, match=r"spearman needs relevances.*y=-positions"):
        measure_score("spearman", PreferenceTarget.from_orders([[1, 2]]), [[1, 2]])


def test_kendall_of_one_document_counts_what_empty_says():
    y = PreferenceTarget.from_comparisons([0], [1], [1, 1, 2])
    assert kendall_score(y, [2, 1, 0]) == 1
    assert kendall_score(y, [2, 1, 0], empty="zero") == 0.5
    with pytest.raises(ValueError, match="undefined"):
        kendall_score(y, [2, 1, 0], empty="error")


def test_remedies_name_what_the_call_takes():
    X, y, qid = [[1.0], [2.0], [0.0]], [1, 0, 1], [7, 7, 8]
    with pytest.raises(ValueError, match=r"Pass qid=qid, or y=RankingTarget\(y, qid\)"):
        train_test_query_split(X, y)
    with pytest.raises(ValueError, match=r"\['S0572'\] \* len\(X\) if all rows are of this query"):
        rank_frame(NDCGRanker().fit(X, y, qid), X, "S0572")
    sessions = sample_sessions([0.2, 0.5, 0.9], qid, n_sessions=9, random_state=0)
    with pytest.raises(TypeError, match="learn from them with AggregatedRanker"):
        np.asarray(sessions)
    value = document_calibration_error(y, [0.5, 0.4, 0.9], qid=qid)
    assert value == document_calibration_error(y, [0.5, 0.4, 0.9])
