"""What each surrogate is calibrated for, by enumeration of all rankings.

A distribution of labels is fitted as it stands: one row per label vector, weighted by its
probability, all with the same features. Least squares then gives the expected targets.
"""

import numpy as np
import pytest
from cases import INSTANCES, draw_labels
from definitions import all_positions, average_precision, definition, disagreement, err
from sklearn.linear_model import LinearRegression

from skcalrank import (
    AveragePrecisionRanker,
    ERRRanker,
    LeastSquaresRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    make_subset_ranking,
)
from skcalrank.measures import PositionalMeasure, get_measure
from skcalrank.structured import LowRankLossClassifier

POSITIONAL = [m for m in INSTANCES if isinstance(m, PositionalMeasure)]
LOSSES = ("squared", "centered", "pairwise_squared")


def predicted_positions(ranker, labels, probabilities):
    """The ranking that a ranker fitted to a distribution of the labels predicts."""
    X = np.ones((len(labels), 1))
    ranker.set_params(estimator=LinearRegression())
    ranker.fit(X, labels, sample_weight=probabilities)
    return ranker.rank(X[:1])[0]


def expected_value(value, labels, probabilities, positions):
    """Mean over the labels, for each of some rankings; 0/0 counts 0 in all of them."""
    table = [[value(y, p) for y in labels] for p in positions]
    return np.nan_to_num(np.array(table)) @ probabilities


def regret(value, labels, probabilities, positions):
    """Regret of a ranking: largest expected value minus its expected value."""
    rankings = np.vstack([positions, all_positions(len(positions))])
    values = expected_value(value, labels, probabilities, rankings)
    return values.max() - values[0]


def draw_law(measure, r, rng):
    n = rng.integers(2, 6)
    return draw_labels(measure, (n, r), rng), rng.dirichlet(np.ones(n))


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
@pytest.mark.parametrize("measure", POSITIONAL, ids=repr)
def test_sort_is_bayes_optimal_for_positional_measures(measure, rng):
    for r in (2, 3, 4, 4):
        labels, probabilities = draw_law(measure, r, rng)
        for loss in LOSSES:
            ranker = LeastSquaresRanker(measure, loss=loss)
            positions = predicted_positions(ranker, labels, probabilities)
            gap = regret(lambda y, p: definition(measure, y, p), labels, probabilities, positions)
            assert gap < 1e-10


# -- average precision -----------------------------------------------------------------


def pair_means(labels, probabilities):
    """``u_ij = E[Y_i Y_j / |Y|_1]``."""
    u = np.zeros((labels.shape[1], labels.shape[1]))
    for y, p in zip(labels, probabilities):
        u += p * np.outer(y, y) / max(y.sum(), 1)
    return u


def reinforces(u):
    """Whether the law is in P_reinforce."""
    documents = range(len(u))
    for i in documents:
        for j in documents:
            rest = sum(max(u[j, g] - u[i, g], 0) for g in documents if g not in (i, j))
            if i != j and u[i, i] >= u[j, j] and u[i, i] < u[j, j] + rest:
                return False
    return True


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
def test_score_form_of_map_is_optimal_in_p_reinforce(rng):
    inside = 0
    while inside < 60:
        labels, probabilities = draw_law(
            get_measure("map", relevance_level=None), rng.integers(2, 6), rng
        )
        if not reinforces(pair_means(labels, probabilities)):
            continue
        inside += 1
        loss = LOSSES[inside % 3]
        positions = predicted_positions(AveragePrecisionRanker(loss=loss), labels, probabilities)
        assert regret(average_precision, labels, probabilities, positions) < 1e-10


MAP_LABELS = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 1]])
MAP_PROBABILITIES = np.array([0.3, 0.2, 0.5])


@pytest.mark.parametrize("loss", LOSSES)
def test_score_form_of_map_fails_outside(loss):
    assert not reinforces(pair_means(MAP_LABELS, MAP_PROBABILITIES))
    positions = predicted_positions(
        AveragePrecisionRanker(loss=loss), MAP_LABELS, MAP_PROBABILITIES
    )
    # E[Y_i / |Y|] = 0, .25, .3, .45, but documents 2 and 4 belong together.
    assert positions.tolist() == [4, 3, 2, 1]
    gap = regret(average_precision, MAP_LABELS, MAP_PROBABILITIES, positions)
    assert gap == pytest.approx(1 / 30, abs=1e-12)


# -- pairwise disagreement -------------------------------------------------------------


def draw_dags(n, r, rng):
    """Random weighted DAGs as matrices: each edge of a random order exists or not."""
    out = np.zeros((n, r, r))
    for matrix in out:
        order = rng.permutation(r)
        weights = np.triu(rng.integers(0, 4, (r, r)) * (rng.random((r, r)) < 0.7), 1)
        matrix[np.ix_(order, order)] = weights
    return out


def in_p_f(mean):
    """Whether the net preference orders every pair as its mean weights do."""
    f = mean.sum(axis=1) - mean.sum(axis=0)
    return all(f[i] > f[j] for i, j in np.argwhere(mean > mean.T))


def disagreement_regret(mean, positions):
    losses = [disagreement(mean, p) for p in all_positions(len(mean))]
    return disagreement(mean, positions) - min(losses)


def test_score_form_of_pd_is_optimal_in_p_f(rng):
    inside = 0
    while inside < 60:
        dags = draw_dags(rng.integers(1, 5), rng.integers(2, 6), rng)
        probabilities = rng.dirichlet(np.ones(len(dags)))
        mean = np.tensordot(probabilities, dags, 1)
        if not in_p_f(mean) or not mean.any():
            continue
        inside += 1
        ranker = PairwiseDisagreementRanker(loss=LOSSES[inside % 3])
        y = PreferenceTarget.from_matrices(dags, require_dag=True)
        assert disagreement_regret(mean, predicted_positions(ranker, y, probabilities)) < 1e-10


@pytest.mark.parametrize("loss", LOSSES)
def test_score_form_of_pd_fails_outside(loss):
    # 3 beats 1 by one and 2 beats 3 by three, so 2 > 3 > 1 loses nothing; but the loss to
    # document 2 puts the net preference of 3 below that of 1.
    dags = np.zeros((2, 3, 3))
    dags[0, 2, 0], dags[1, 1, 2] = 1, 3
    mean = dags.mean(axis=0)
    assert not in_p_f(mean)
    ranker = PairwiseDisagreementRanker(loss=loss)
    positions = predicted_positions(ranker, PreferenceTarget.from_matrices(dags), [0.5, 0.5])
    assert positions.tolist() == [2, 1, 3]
    assert disagreement_regret(mean, positions) == pytest.approx(0.5)


def test_a_score_of_ones_own_can_succeed_where_net_preference_fails():
    # Wins alone: 0, 1.5, 0.5.
    dags = np.zeros((2, 3, 3))
    dags[0, 2, 0], dags[1, 1, 2] = 1, 3
    ranker = PairwiseDisagreementRanker(score_function=lambda Y: Y.sum(axis=1))
    positions = predicted_positions(ranker, PreferenceTarget.from_matrices(dags), [0.5, 0.5])
    assert disagreement_regret(dags.mean(axis=0), positions) == 0


# -- expected reciprocal rank ----------------------------------------------------------


def test_err_sort_is_optimal_for_independent_relevances(rng):
    for r in (2, 3, 4):
        for loss in LOSSES:
            labels = np.stack(np.meshgrid(*[[0, 1, 2]] * r), axis=-1).reshape(-1, r)
            each = rng.dirichlet(np.ones(3), size=r)
            probabilities = each[np.arange(r), labels].prod(axis=1)
            positions = predicted_positions(ERRRanker(loss=loss), labels, probabilities)
            gap = regret(lambda y, p: err(y, p, max_grade=2), labels, probabilities, positions)
            assert gap < 1e-10


def test_gaps_of_err_and_ap_that_the_paper_prints_twice_too_large():
    # CUG13, proof of Theorem 3.3: every document has the same expected target whatever is
    # regressed, yet the rankings differ. Printed are +1/24 and -1/12.
    labels, half = np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), np.array([0.5, 0.5])
    mixed, apart = [1, 3, 2, 4], [1, 2, 3, 4]
    for name, expected in {"err": 1 / 48, "map": -1 / 24}.items():
        measure = get_measure(name)
        values = expected_value(
            lambda y, p, m=measure: definition(m, y, p), labels, half, [mixed, apart]
        )
        assert values[0] - values[1] == pytest.approx(expected, abs=1e-15)


# -- from samples ----------------------------------------------------------------------

SEPARABLE = [
    cls(**cutoff)
    for cls in dict.fromkeys(type(m) for m in POSITIONAL if m.separable)
    for cutoff in ([{"k": 1}, {"k": 3}] if cls.has_cutoff else [{}])
]


@pytest.mark.product
@pytest.mark.parametrize("measure", SEPARABLE, ids=repr)
@pytest.mark.parametrize("loss", LOSSES)
def test_least_squares_reaches_the_bayes_value(measure, loss):
    X, y, qid = data = make_subset_ranking(
        n_queries=20_000,
        n_documents=(2, 8),
        n_grades=2 if "relevance_level" in vars(measure) else 4,
        random_state=3,
    )
    bayes = data.law.bayes_value(measure)
    few = qid < 10
    regrets = [
        bayes
        - data.law.value(
            measure,
            LeastSquaresRanker(measure, loss=loss).fit(X[r], y[r], qid[r]).predict(X),
        )
        for r in (few, ...)
    ]
    assert -1e-12 < regrets[1] < 1e-3 * bayes
    assert regrets[0] > 10 * max(regrets[1], 0)
    assert bayes - data.law.value(measure, np.zeros(len(y))) > 0.05 * bayes


# -- any loss matrix -------------------------------------------------------------------


def hamming():
    """Loss between sets of three labels, a set being a class."""
    sets = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    return (sets[:, None] != sets[None]).mean(axis=2)


def loss_matrices():
    rng = np.random.default_rng(5)
    classes = np.arange(5)
    yield "zero-one", 1.0 - np.eye(5), 4
    yield "two classes", 1.0 - np.eye(2), 1
    yield "ordinal", np.abs(classes[:, None] - classes).astype(float), 4
    yield "cost-sensitive", rng.uniform(size=(5, 5)) * (1 - np.eye(5)), 4
    yield "abstaining", np.column_stack([1.0 - np.eye(4), np.full(4, 0.4)]), 4
    yield "wide", rng.uniform(size=(4, 7)), 4
    yield "tall", rng.uniform(size=(7, 3)), 2
    yield "low rank", rng.normal(size=(6, 2)) @ rng.normal(size=(2, 6)), 2
    yield "hamming", hamming(), 3
    yield "indifferent", np.tile([[0.3], [0.1]], 4), 0


matrices = pytest.mark.parametrize(
    ("loss", "rank"), [pytest.param(loss, rank, id=name) for name, loss, rank in loss_matrices()]
)


@pytest.mark.parametrize("loss", [pytest.param(m, id=name) for name, m, _ in loss_matrices()])
def test_loss_classifier_is_bayes_optimal(loss, rng):
    n_classes, n_points = len(loss), 40
    law = rng.dirichlet(np.ones(n_classes), size=n_points)
    X = np.repeat(np.eye(n_points), n_classes, axis=0)
    y = np.tile(np.arange(n_classes) * 10, n_points)
    classifier = LowRankLossClassifier(loss, estimator=LinearRegression())
    classifier.fit(X, y, sample_weight=law.ravel())
    chosen = classifier.predict(np.eye(n_points))
    if loss.shape[0] == loss.shape[1]:
        chosen = chosen // 10
    risk = law @ loss
    np.testing.assert_allclose(risk[np.arange(n_points), chosen], risk.min(axis=1), atol=1e-8)
    # Differences of expected losses equal those under the true distribution.
    estimated = classifier.expected_loss(np.eye(n_points))
    assert estimated.shape == risk.shape
    np.testing.assert_allclose(estimated - estimated[:, :1], risk - risk[:, :1], atol=1e-8)


@matrices
def test_loss_is_factorised_to_its_rank(loss, rank):
    y = np.arange(len(loss))
    classifier = LowRankLossClassifier(loss).fit(np.eye(len(loss)), y)
    centred = loss - loss.mean(axis=1, keepdims=True)
    assert classifier.rank_ == np.linalg.matrix_rank(centred) == rank
    assert classifier.alpha_.shape == (len(loss), rank)
    assert classifier.beta_.shape == (loss.shape[1], rank)
    np.testing.assert_allclose(classifier.alpha_ @ classifier.beta_.T, centred, atol=1e-12)


def test_no_loss_matrix_is_zero_one(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    same = [LowRankLossClassifier(loss).fit(X, y).predict(X) for loss in (None, 1 - np.eye(4))]
    assert np.array_equal(*same)


def test_level_of_the_expected_loss_is_the_mean(rng):
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 3, 200)
    loss = rng.uniform(size=(3, 3))
    estimated = LowRankLossClassifier(loss, estimator=LinearRegression()).fit(X, y).expected_loss(X)
    np.testing.assert_allclose(estimated.mean(), loss[y].mean(), atol=1e-12)


def test_decision_function_agrees_with_predict(rng):
    X = rng.normal(size=(50, 2))
    for n_classes in (2, 3):
        y = rng.permutation(np.arange(50) % n_classes)
        classifier = LowRankLossClassifier().fit(X, y)
        decision = classifier.decision_function(X)
        best = (decision > 0).astype(int) if n_classes == 2 else decision.argmax(axis=1)
        assert decision.ndim == (1 if n_classes == 2 else 2)
        assert np.array_equal(best, classifier.predict(X))
