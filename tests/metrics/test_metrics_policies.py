"""Arguments shared by all metrics."""

import re
import warnings
from functools import partial

import numpy as np
import pytest
from cases import draw_labels
from definitions import all_positions, disagreement, orders_of_ties, preferences
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skcalrank import (
    DCGRanker,
    OrderPreservingRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    get_scorer,
    get_scorer_names,
    metrics,
)
from skcalrank.boosting import lightgbm_metric
from skcalrank.data import TIES
from skcalrank.measures import MEASURES, get_measure
from skcalrank.metrics import EMPTY, evaluate, measure_score, pairwise_disagreement_loss
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

# Labels of a query on which the measure is 0/0; the others are 0 there, or never 0/0.
UNDEFINED = {
    "ndcg": [[0, 0, 0]],
    "recall": [[0, 0, 0]],
    "r_precision": [[0, 0, 0]],
    "map": [[0, 0, 0]],
    "auc": [[0, 0, 0], [1, 1, 1]],
    "spearman": [[1]],
    "kendall": [[1]],
}
ZERO = sorted(set(MEASURES) - set(UNDEFINED))

every_measure = pytest.mark.parametrize("name", sorted(MEASURES))


@pytest.fixture
def problem(rng):
    """Binary labels with both classes in every query."""
    qid = rng.permutation(np.repeat([3, 1, 2, 7], [5, 4, 6, 3]))
    y = np.zeros(len(qid))
    for q in (3, 1, 2, 7):
        y[np.flatnonzero(qid == q)[:2]] = [1, 0]
    return y, rng.integers(0, 4, len(qid)).astype(float), qid


# -- queries on which a measure is 0/0 -------------------------------------------------


@pytest.mark.parametrize(("name", "labels"), [(n, q) for n, qs in UNDEFINED.items() for q in qs])
def test_undefined_queries(name, labels, problem):
    y, scores, qid = problem
    plain = measure_score(name, y, scores, qid=qid, average=False)
    y_, scores_ = np.r_[y, labels], np.r_[scores, np.arange(len(labels))]
    qid_ = np.r_[qid, [99] * len(labels)]

    def with_empty(empty, average=True):
        return measure_score(name, y_, scores_, qid=qid_, empty=empty, average=average)

    assert with_empty("skip") == pytest.approx(plain.mean())
    assert with_empty("zero") == pytest.approx(plain.sum() / 5)
    assert with_empty("one") == pytest.approx((plain.sum() + 1) / 5)
    assert np.isnan(with_empty("nan"))
    with pytest.raises(ValueError, match=f"{name} is undefined"):
        with_empty("error")
    last = {"skip": np.nan, "nan": np.nan, "zero": 0.0, "one": 1.0}
    for empty, value in last.items():
        np.testing.assert_allclose(with_empty(empty, average=False), [*plain, value])


@pytest.mark.parametrize("name", ZERO)
@pytest.mark.parametrize("labels", [[0], [0, 0, 0]])
def test_measures_that_are_zero_there(name, labels):
    for empty in ("skip", "zero", "one", "nan", "error"):
        scores = -np.arange(len(labels))
        assert measure_score(name, labels, scores, empty=empty) == 0.0


def test_the_empty_query_may_be_in_label_form():
    y, scores = [[0, 0, 0], [0, 1, 0]], [[3, 2, 1], [1, 3, 2]]
    values = metrics.ndcg_score(y, scores, average=False)
    np.testing.assert_array_equal(values, [np.nan, 1.0])


@pytest.mark.parametrize("name", UNDEFINED)
def test_nothing_defined_is_nan_with_a_warning(name):
    labels = UNDEFINED[name][0]
    said = rf"^{name} is undefined on every query, because none has .*, so its mean is NaN"
    with pytest.warns(UndefinedMetricWarning, match=said):
        assert np.isnan(measure_score(name, labels, np.zeros(len(labels))))


def test_nothing_defined_of_positive_weight_is_told_as_that():
    y, scores, qid = [1, 0, 0, 0], np.arange(4.0), [0, 0, 1, 1]
    said = r"^ndcg is undefined on every query of positive weight, because none has .* gain, so"
    with pytest.warns(UndefinedMetricWarning, match=said):
        assert np.isnan(measure_score("ndcg", y, scores, qid=qid, sample_weight=[0, 0, 1, 1]))


def test_a_search_over_folds_without_a_relevant_document_says_why(rng):
    X, qid = rng.normal(size=(40, 3)), np.repeat(np.arange(8), 5)
    y = RankingTarget((np.arange(40) == 0) * 3, qid)
    grid, cv = {"alpha": [1.0, 2.0]}, QueryKFold(4)
    scorer = partial(get_scorer, "map", relevance_level=2)

    def searched(scoring):
        ranker = DCGRanker(gain="linear")
        return GridSearchCV(ranker, grid, cv=cv, scoring=scoring, error_score="raise")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert np.isnan(searched(scorer()).fit(X, y, groups=qid).best_score_)
        of_zeros = searched(scorer(empty="zero")).fit(X, y, groups=qid)
    assert np.isfinite(of_zeros.cv_results_["mean_test_score"]).all()
    told = [str(w.message) for w in caught if w.category is UndefinedMetricWarning]
    assert "map is undefined on every query, because none has a relevant document" in told[0]
    assert "(relevance_level=2)" in told[0]


# -- weights, order, forms -------------------------------------------------------------


@every_measure
def test_weights(name, problem, rng):
    y, scores, qid = problem
    each = measure_score(name, y, scores, qid=qid, average=False)
    names = list(dict.fromkeys(qid.tolist()))
    weight = rng.uniform(0, 2, len(y))

    def weighted(sample_weight):
        return measure_score(name, y, scores, qid=qid, sample_weight=sample_weight)

    means = [weight[qid == q].mean() for q in names]
    assert weighted(weight) == pytest.approx(np.average(each, weights=means))
    assert weighted(np.full(len(y), 0.2)) == pytest.approx(each.mean())
    dropped = np.where(qid == names[0], 0.0, 1.0)
    assert weighted(dropped) == pytest.approx(each[1:].mean())


def test_scalar_weight_counts_the_same_for_all_rows(problem):
    y, scores, qid = problem
    plain = metrics.dcg_score(y, scores, qid=qid)
    assert metrics.dcg_score(y, scores, qid=qid, sample_weight=2.0) == pytest.approx(plain)


def test_weights_skip_with_their_query():
    y, scores = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 1.0, 2.0])
    value = metrics.ndcg_score(y, scores, qid=[1, 1, 2, 2], sample_weight=[9, 9, 1, 1])
    assert value == 1.0


def results_of(name, y, scores, qid, weight, empty):
    """The mean by each function that takes weights, or the errors that they raise."""

    class Scores:
        def predict(self, X):
            return X

    measure, policies = get_measure(name).scaled_to(np.ones(1)), {"empty": empty}
    sizes = np.unique(qid, return_counts=True)[1]
    named = {"qid": qid, "sample_weight": weight, **policies}
    calls = {
        "measure_score": lambda: measure_score(measure, y, scores, **named),
        "evaluate": lambda: evaluate(y, scores, [measure, "rbp"], **named)[measure],
        "scorer": lambda: get_scorer(measure, **policies)(Scores(), scores, y, qid, weight),
        "lightgbm": lambda: lightgbm_metric(measure, **policies)(y, scores, weight, sizes)[1],
    }
    if name in ("kendall", "neg_pairwise_disagreement"):
        preferences = PreferenceTarget.from_relevance(y, qid, weights="unit")
        calls["preferences"] = lambda: measure_score(
            measure, preferences, scores, sample_weight=weight, **policies
        )
    out = {}
    for call, result in calls.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                out[call] = result()
            except ValueError as error:
                out[call] = re.sub(r"query \d+", "a query", str(error))
        out[call, "warned"] = [w.category for w in caught]
    return out


@every_measure
@pytest.mark.parametrize("empty", EMPTY)
def test_queries_of_weight_0_are_absent(name, empty, problem, rng):
    y, scores, qid = problem
    order = np.argsort(qid, kind="stable")
    y, scores, qid = y[order], scores[order], qid[order]
    # Queries on which the measure is undefined, if it is so anywhere, are first and last.
    labels = np.array(UNDEFINED.get(name, [[0, 0, 0]])[0], dtype=float)
    y = np.r_[labels, y, labels]
    scores = np.r_[rng.normal(size=len(labels)), scores, rng.normal(size=len(labels))]
    qid = np.r_[np.full(len(labels), 0), qid, np.full(len(labels), 9)]
    weight = qid % 4 + 0.5
    is_last, is_usual = qid == 9, np.isin(qid, [1, 3])
    for kept in (~is_last, is_usual, is_last):
        found = results_of(name, y, scores, qid, weight * kept, empty)
        expected = results_of(name, y[kept], scores[kept], qid[kept], weight[kept], empty)
        for call, value in expected.items():
            assert found[call] == pytest.approx(value, nan_ok=True) or found[call] == value, call


@every_measure
@pytest.mark.parametrize("empty", EMPTY)
def test_rows_of_weight_0_are_absent_in_label_form(name, empty, rng):
    y, scores = rng.integers(0, 2, (6, 4)) * 1.0, rng.normal(size=(6, 4))
    y[0], y[1], y[:, 0], y[0, :3], weight = 0, [0, 1, 0, 1], 0, np.nan, np.array([0, 1, 2, 0, 1, 3])
    y[2:, 1] = 1
    kept = weight > 0

    def mean(rows, weight):
        return measure_score(name, y[rows], scores[rows], sample_weight=weight, empty=empty)

    assert mean(slice(None), weight) == pytest.approx(mean(kept, weight[kept]))


def test_rows_of_positive_weight_that_rank_nothing_have_no_mean():
    y = [[np.nan, np.nan, np.nan], [0, 1, 0]]
    for measure, empty in (("ndcg", "skip"), ("err", "zero")):
        with pytest.warns(UndefinedMetricWarning, match=f"^{measure} is undefined on every query"):
            value = measure_score(measure, y, np.eye(3)[:2], sample_weight=[1, 0], empty=empty)
        assert np.isnan(value)


def test_weights_in_label_form(rng):
    y, scores = rng.integers(0, 3, (5, 4)), rng.normal(size=(5, 4))
    weight = rng.uniform(size=5)
    each = metrics.dcg_score(y, scores, average=False)
    weighted = metrics.dcg_score(y, scores, sample_weight=weight)
    assert weighted == pytest.approx(np.average(each, weights=weight))


@every_measure
def test_values_come_in_order_of_first_appearance(name, problem):
    y, scores, qid = problem
    each = measure_score(name, y, scores, qid=qid, average=False)
    for value, q in zip(each, dict.fromkeys(qid.tolist())):
        alone = measure_score(name, y[qid == q], scores[qid == q])
        assert value == pytest.approx(alone, abs=1e-12)
    assert measure_score(name, y, scores, qid=qid) == pytest.approx(each.mean())


@every_measure
def test_label_form_is_one_query_a_row(name, rng):
    y, scores = rng.integers(0, 2, (6, 5)), rng.integers(0, 3, (6, 5))
    y[:, :2] = [0, 1]
    label = measure_score(name, y, scores, average=False)
    subset = measure_score(
        name, y.ravel(), scores.ravel(), qid=np.repeat(np.arange(6), 5), average=False
    )
    np.testing.assert_array_equal(label, subset)


@every_measure
def test_evaluate_equals_single_calls(name, problem, rng):
    y, scores, qid = problem
    names = [*rng.permutation(sorted(MEASURES)), "ndcg@2", "precision@1", "map@3"]
    for average in (True, False):
        for ties in TIES:
            policies = {"qid": qid, "ties": ties, "average": average}
            together = evaluate(y, scores, names, **policies)
            assert list(together) == names
            alone = measure_score(name, y, scores, **policies)
            np.testing.assert_allclose(together[name], alone, atol=1e-14)
    cut = measure_score("ndcg@2", y, scores, **policies)
    np.testing.assert_allclose(together["ndcg@2"], cut, atol=1e-14)


def test_no_qid_is_one_query(problem):
    y, scores, _ = problem
    same = metrics.ndcg_score(y, scores, qid=np.zeros(len(y)))
    assert metrics.ndcg_score(y, scores) == same


def test_a_column_of_scores_is_taken(problem):
    y, scores, qid = problem
    assert metrics.dcg_score(y, scores[:, None], qid=qid) == metrics.dcg_score(y, scores, qid=qid)


def test_values_are_plain_floats(problem):
    y, scores, qid = problem
    assert type(metrics.dcg_score(y, scores, qid=qid)) is float
    assert type(pairwise_disagreement_loss(y, scores, qid=qid)) is float


# -- pairwise disagreement -------------------------------------------------------------


def loss_by_hand(matrix, scores, reduce=np.mean, normalize=False):
    value = reduce([disagreement(matrix, p) for p in orders_of_ties(scores)])
    return value / matrix.sum() if normalize and matrix.sum() else value


REDUCE = {"average": np.mean, "best": np.min, "worst": np.max}


@pytest.mark.parametrize("ties", REDUCE)
@pytest.mark.parametrize("weights", ["difference", "unit"])
@pytest.mark.parametrize("normalize", [False, True])
def test_disagreement_of_relevances(ties, weights, normalize, rng):
    y, scores = rng.integers(0, 3, size=(2, 20, 5)).astype(float)
    y[0] = 1
    expected = [
        loss_by_hand(preferences(a, weights), s, REDUCE[ties], normalize) for a, s in zip(y, scores)
    ]
    policies = {"ties": ties, "average": False, "normalize": normalize}
    plain = pairwise_disagreement_loss(y, scores, weights=weights, **policies)
    np.testing.assert_allclose(plain, expected, atol=1e-12)
    assert not np.signbit(plain[0])
    target = PreferenceTarget.from_relevance(y, weights=weights)
    np.testing.assert_allclose(
        pairwise_disagreement_loss(target, scores, **policies), expected, atol=1e-12
    )


def random_dags(n, r, rng):
    matrices = np.triu(rng.integers(0, 4, (n, r, r)), 1).astype(float)
    orders = [rng.permutation(r) for _ in range(n)]
    return np.array([m[np.ix_(o, o)] for m, o in zip(matrices, orders)])


@pytest.mark.parametrize("ties", REDUCE)
@pytest.mark.parametrize("normalize", [False, True])
def test_disagreement_of_preferences(ties, normalize, rng):
    matrices = random_dags(20, 5, rng)
    # Opposite preferences, which their sum decides or which balance.
    matrices[:5] += 2 * matrices[:5].transpose(0, 2, 1)
    matrices[5] += matrices[5].T
    scores = rng.integers(0, 3, size=(20, 5)).astype(float)
    expected = [loss_by_hand(m, s, REDUCE[ties], normalize) for m, s in zip(matrices, scores)]
    target = PreferenceTarget.from_matrices(matrices)
    found = pairwise_disagreement_loss(
        target, scores, ties=ties, normalize=normalize, average=False
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert pairwise_disagreement_loss(
        target, scores, ties=ties, normalize=normalize
    ) == pytest.approx(np.mean(expected))


def test_stable_disagreement_follows_the_rows(rng):
    matrices = random_dags(10, 4, rng)
    scores = np.zeros((10, 4))
    expected = [disagreement(m, [1, 2, 3, 4]) for m in matrices]
    found = pairwise_disagreement_loss(
        PreferenceTarget.from_matrices(matrices), scores, ties="stable", average=False
    )
    np.testing.assert_allclose(found, expected)


def test_reversed_disagreement_is_that_of_dmj10(rng):
    matrices, scores = random_dags(10, 4, rng), rng.integers(0, 2, (10, 4))
    i, j = np.indices((4, 4))
    # DMJ10, eq. 7: a tie is lost by the preference for the document with the smaller index.
    behind = [np.where(i < j, s[i] <= s[j], s[i] < s[j]) for s in scores]
    expected = [(m * lost).sum() for m, lost in zip(matrices, behind)]
    options = {"ties": "reversed", "average": False}
    target = PreferenceTarget.from_matrices(matrices)
    found = pairwise_disagreement_loss(target, scores.astype(float), **options)
    np.testing.assert_allclose(found, expected)
    y = rng.integers(0, 3, (10, 4))
    expected = [(preferences(a) * lost).sum() for a, lost in zip(y, behind)]
    np.testing.assert_allclose(pairwise_disagreement_loss(y, scores, **options), expected)


@pytest.mark.parametrize("ties", ["best", "worst"])
def test_cyclic_ties_are_too_hard(ties):
    cycle = np.array([[[0, 1, 0], [0, 0, 1], [1, 0, 0]]])
    target = PreferenceTarget.from_matrices(cycle)
    with pytest.raises(ValueError, match=rf"ties='{ties}'.*cyclic.*ties='average'"):
        pairwise_disagreement_loss(target, [[1.0, 1.0, 1.0]], ties=ties)
    assert pairwise_disagreement_loss(target, [[1.0, 1.0, 1.0]]) == 1.5
    # Once the scores break it, nothing is hard.
    assert pairwise_disagreement_loss(target, [[3.0, 1.0, 1.0]], ties=ties) in (1.0, 2.0)
    best = min(disagreement(cycle[0], p) for p in all_positions(3) if p[0] == 1)
    assert pairwise_disagreement_loss(target, [[3.0, 1.0, 1.0]], ties="best") == best


def test_disagreement_of_interleaved_queries(rng):
    qid = rng.permutation(np.repeat(["a", "b", "c"], [4, 3, 5]))
    y, scores = rng.integers(0, 3, (2, 12)).astype(float)
    target = PreferenceTarget.from_relevance(y, qid)
    weight = rng.uniform(size=12)
    for options in ({"average": False}, {"sample_weight": weight}, {}):
        one = pairwise_disagreement_loss(y, scores, qid=qid, **options)
        two = pairwise_disagreement_loss(target, scores, **options)
        np.testing.assert_allclose(two, one, atol=1e-12)
    assert one == pytest.approx(
        np.mean([loss_by_hand(preferences(y[qid == q]), scores[qid == q]) for q in "abc"])
    )


@pytest.mark.parametrize("measures", [[], {}, iter(())], ids=["list", "dict", "iterator"])
def test_several_measures_are_one_at_least(measures):
    with pytest.raises(ValueError, match="measures must hold at least one measure, got none"):
        evaluate([0, 1], [0, 1], measures)


# -- scorers ---------------------------------------------------------------------------


def test_scorers_are_named_as_measures():
    assert get_scorer_names() == sorted(MEASURES)


@every_measure
def test_scorers_are_their_measures(name, rng):
    X = rng.normal(size=(40, 3))
    qid = np.arange(40) % 8
    y = draw_labels(get_measure(name), 40, rng)
    measure = get_measure(name).scaled_to(y)
    model = Ridge().fit(X, y)
    for ties, empty in (("average", "zero"), ("worst", "one")):
        scorer = get_scorer(measure, ties=ties, empty=empty)
        expected = measure_score(measure, y, model.predict(X), qid=qid, ties=ties, empty=empty)
        assert scorer(model, X, y, qid=qid) == expected
        assert scorer(model, X, RankingTarget(y, qid)) == expected
    weight = rng.uniform(size=40)
    options = {"qid": qid, "sample_weight": weight, "empty": "one"}
    expected = measure_score(measure, y, model.predict(X), **options)
    assert get_scorer(measure, empty="one")(model, X, y, qid, weight) == expected


@every_measure
def test_no_value_is_above_the_largest_one(name, rng):
    measure = get_measure(name)
    y, qid = draw_labels(measure, 20_000, rng), rng.integers(0, 1500, 20_000)
    values = measure_score(measure, y, y, qid=qid, average=False, empty="nan")
    assert np.nanmax(values) <= measure.largest_value
    if name in ("ndcg", "recall", "auc", "map", "r_precision"):
        # In the best order, to the last digit: XGBoost refuses a value above 1.
        assert set(values[~np.isnan(values)]) == {1.0}


@pytest.mark.every_case
@every_measure
def test_values_of_folds_have_one_scale(name, rng):
    # The first fold has no document of the highest grade, which sets the scale of the second.
    measure = get_measure(name)
    y, qid, scores = draw_labels(measure, 40, rng), np.arange(40) // 10, rng.normal(size=40)
    y[20] = 2 * y.max()
    whole = RankingTarget(y, qid)
    shuffled, part = whole[::-1], np.concatenate([whole[:10], whole[10:20]])
    expected = measure_score(name, whole, scores)
    assert measure_score(name, shuffled, scores[::-1]) == pytest.approx(expected, rel=1e-12)
    if measure.is_scaled:
        values = measure_score(name, whole, scores, average=False)
        np.testing.assert_array_equal(
            measure_score(name, part, scores[:20], average=False), values[:2]
        )
        return
    for ask in (
        lambda: measure_score(name, part, scores[:20]),
        lambda: evaluate(part, scores[:20], [name]),
        lambda: get_scorer(name),
        lambda: cross_val_score(
            OrderPreservingRanker(name),
            y[:, None],
            whole,
            cv=GroupKFold(2),
            groups=qid,
            error_score="raise",
        ),
    ):
        with pytest.raises(ValueError, match="set max_grade"):
            ask()


def test_scorers_take_the_expected_labels_of_classifiers(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    X[:, 0] += y
    qid, scorer = np.repeat(np.arange(10), 8), get_scorer("ndcg@3")
    plain = LogisticRegression().fit(X, y)
    expected = measure_score("ndcg@3", y, plain.predict_proba(X) @ [0, 1, 2], qid=qid)
    assert expected > measure_score("ndcg@3", y, plain.predict(X), qid=qid)
    searched = GridSearchCV(make_pipeline(LogisticRegression()), {}, cv=2).fit(X, y)
    for model in (plain, FrozenEstimator(plain), searched):
        assert scorer(model, X, y, qid) == pytest.approx(expected)
    scaled = make_query_pipeline(QueryScaler(), LogisticRegression()).fit(X, y, qid=qid)
    expected = measure_score("ndcg@3", y, scaled.predict_proba(X, qid) @ [0, 1, 2], qid=qid)
    assert scorer(scaled, X, y, qid) == expected
    # Several labels of each row are scores of items.
    labels, grades = np.column_stack([y > 0, y > 1]), np.column_stack([y > 0, y])
    each = OneVsRestClassifier(LogisticRegression()).fit(X, labels)
    for several, of in (
        (each, labels),
        (MultiOutputClassifier(GaussianNB()).fit(X, grades), grades),
    ):
        expected = measure_score("ndcg", of, several.predict(X))
        assert get_scorer("ndcg")(several, X, of) == expected
    # Classes alone are scores as they are; names of classes are none.
    vectors = LinearSVC().fit(X, y)
    assert scorer(vectors, X, y, qid) == measure_score("ndcg@3", y, vectors.predict(X), qid=qid)
    with pytest.raises(ValueError, match="y_score"):
        scorer(LogisticRegression().fit(X, np.array(list("abc"))[y]), X, y, qid)


def test_scorer_of_preferences_is_minus_the_loss(rng):
    X, y, qid = rng.normal(size=(20, 2)), rng.integers(0, 3, 20), np.arange(20) % 4
    model = Ridge().fit(X, y)
    target = PreferenceTarget.from_relevance(y, qid, weights="unit")
    scorer = get_scorer("neg_pairwise_disagreement")
    expected = -pairwise_disagreement_loss(y, model.predict(X), qid=qid, weights="unit")
    assert scorer(model, X, target) == pytest.approx(expected)


def test_scorer_tells_a_predict_that_asks():
    class Wants:
        def predict(self, X, qid=None):
            assert qid is not None
            return np.arange(len(X), dtype=float)

    X, y, qid = np.zeros((4, 1)), np.array([0, 1, 0, 1]), [1, 1, 2, 2]
    assert get_scorer("ndcg")(Wants(), X, y, qid=qid) == 1.0
    assert get_scorer("ndcg")(Wants(), X, RankingTarget(y, qid)) == 1.0


def test_none_is_the_default_policy():
    y, scores = [[0, 1, 1], [0, 0, 0]], [[2, 2, 1], [1, 2, 3]]
    expected = measure_score("ndcg", y, scores, ties="average", empty="skip")
    assert measure_score("ndcg", y, scores, ties=None, empty=None) == expected
    library = measure_score("ndcg", y, scores, convention="xgboost")
    unset = measure_score("ndcg", y, scores, ties=None, empty=None, convention="xgboost")
    assert unset == library != expected
