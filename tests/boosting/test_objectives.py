"""Objectives for LightGBM and XGBoost: their derivatives."""

import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from boosting_cases import (
    QUERY_WEIGHTS,
    ROWS,
    SIZES,
    draw_labels,
    pickled,
    through_dataset,
    through_lightgbm,
    through_xgboost,
)
from sklearn.exceptions import UndefinedMetricWarning

from skcalrank import RankingTarget
from skcalrank.boosting import (
    group_sizes,
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)
from skcalrank.boosting._objectives import LONGEST_STEP
from skcalrank.data import MissingQidError, Queries
from skcalrank.losses import LOSSES, get_loss
from skcalrank.measures import DCG, MEASURES, Measure, PositionalMeasure, get_measure

EXACT = {"squared", "pairwise_squared"}
HINGES = {"squared_hinge", "differentiable_hinge"}
LOG_ODDS = sorted(set(LOSSES) - EXACT - HINGES)
PAIRWISE = {"pairwise_squared", "pairwise_logistic", "pairwise_exponential"}
WAYS = {
    "LGBMRanker": (lightgbm_objective, through_lightgbm),
    "lightgbm.train": (lightgbm_objective, through_dataset),
    "xgboost.train": (xgboost_objective, through_xgboost),
}


@pytest.fixture(params=WAYS)
def way(request):
    """``derivatives(y, scores, weight, loss=..., ...)`` through the interface of a library."""
    make, through = WAYS[request.param]

    def derivatives(y, scores, weight=None, sizes=SIZES, **options):
        return through(make(**options), y, scores, weight, sizes)

    return derivatives


@pytest.fixture
def labels(rng):
    return draw_labels(rng)


@pytest.fixture
def scores(rng):
    # Between the corners of the hinges and beyond them.
    return rng.uniform(-0.9, 1.9, ROWS)


def loss_of_scores(name, y, weight=None, measure="ndcg@10"):
    """The total loss as a function of the scores."""
    queries, measure = Queries(np.append(0, SIZES.cumsum())), get_measure(measure)
    v = measure.score_targets(measure.labels(y), queries)
    loss = get_loss(name).scaled_to(v, queries)
    return lambda s: loss.evaluate(v, s, queries, weight).sum()


def slopes(function, s, step=1e-6):
    """Central differences in every coordinate."""
    moves = step * np.eye(len(s))
    return np.array([function(s + move) - function(s - move) for move in moves]) / (2 * step)


def bends(function, s, step=1e-4):
    """Second differences in every coordinate."""
    moves = step * np.eye(len(s))
    twice = 2 * function(s)
    return np.array([function(s + m) + function(s - m) - twice for m in moves]) / step**2


# -- derivatives --------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_is_that_of_the_loss(way, loss, weighted, labels, scores):
    weight = np.repeat(QUERY_WEIGHTS, SIZES) if weighted else None
    gradient, _ = way(labels, scores, weight, loss=loss)
    expected = slopes(loss_of_scores(loss, labels, weight), scores)
    np.testing.assert_allclose(gradient, expected, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_curvature_is_the_diagonal_where_it_is_sound(way, loss, weighted, labels, scores):
    weight = np.repeat(QUERY_WEIGHTS, SIZES) if weighted else None
    gradient, curvature = way(labels, scores, weight, loss=loss)
    diagonal = bends(loss_of_scores(loss, labels, weight), scores)
    if loss in EXACT:
        expected = diagonal
    elif loss in HINGES:
        expected = 2.0 if loss == "squared_hinge" else 1.0 / 0.5
        expected = expected * max(loss_targets(labels)) * (1.0 if weight is None else weight)
    else:
        expected = np.maximum(diagonal, np.abs(gradient) / 4)
    np.testing.assert_allclose(curvature, np.broadcast_to(expected, ROWS), atol=1e-6)


def loss_targets(y):
    return get_measure("ndcg@10").targets(y, Queries(np.append(0, SIZES.cumsum())))


@pytest.mark.parametrize("loss", ["squared", "logistic", "pairwise_squared", "pairwise_logistic"])
def test_weights_of_rows(loss, labels, scores, rng):
    weight = rng.uniform(0.5, 2, ROWS)
    weight[2] = 0.0
    gradient, curvature = lightgbm_objective(loss=loss)(labels, scores, weight, SIZES)
    function = loss_of_scores(loss, labels, weight)
    np.testing.assert_allclose(gradient, slopes(function, scores), atol=1e-7)
    assert (curvature >= bends(function, scores) - 1e-6).all()
    # It is ranked, and moves no leaf.
    assert gradient[2] == 0
    assert 0 < curvature[2] < 1e-30


@pytest.mark.product
@pytest.mark.parametrize("level", [0.0, 3.0, 100.0, 1e6])
@pytest.mark.parametrize("loss", LOSSES)
def test_curvature_is_positive_and_finite_wherever_the_scores_are(way, loss, level, labels, rng):
    gradient, curvature = way(labels, level * rng.choice([-1.0, 1.0], ROWS), loss=loss)
    for values in (gradient, curvature):
        assert np.isfinite(values.astype(np.float32)).all()
    assert (curvature.astype(np.float32) > 0).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 10.0, 30.0])
@pytest.mark.parametrize("loss", LOG_ODDS)
def test_no_leaf_is_longer_than_the_longest_step(loss, level, labels, rng):
    gradient, curvature = lightgbm_objective("dcg", loss)(
        labels, level * rng.normal(size=ROWS), None, SIZES
    )
    for _ in range(50):
        leaf = rng.random(ROWS) < rng.random()
        assert abs(gradient[leaf].sum()) <= LONGEST_STEP * curvature[leaf].sum() * (1 + 1e-12)


@pytest.mark.parametrize("loss", sorted(EXACT | HINGES))
def test_a_step_never_increases_the_loss(loss, labels, rng):
    # Leaves of any kind, scores of any size, with a learning rate of 1.
    function = loss_of_scores(loss, labels, measure="dcg")
    objective = lightgbm_objective("dcg", loss)
    for scale in (0.3, 1.0, 10.0, 1000.0):
        for _ in range(20):
            s, leaf = scale * rng.normal(size=ROWS), rng.integers(0, 5, ROWS)
            g, h = (np.bincount(leaf, part) for part in objective(labels, s, None, SIZES))
            step = np.divide(g, h, out=np.zeros(len(g)), where=h > 0)
            before = function(s)
            assert function(s - step[leaf]) <= before + 1e-9 * abs(before)


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_do_not_know_each_other(way, loss, labels, scores):
    # eta is fixed: left None, it is read off all targets together.
    eta = {"eta": 3.0} if hasattr(get_loss(loss), "eta") else {}
    together = way(labels, scores, loss=loss, **eta)
    for first, size in zip(SIZES.cumsum() - SIZES, SIZES):
        rows = slice(first, first + size)
        alone = way(labels[rows], scores[rows], None, np.array([size]), loss=loss, **eta)
        for part, whole in zip(alone, together):
            np.testing.assert_allclose(part, whole[rows], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", sorted(PAIRWISE))
def test_pairwise_losses_do_not_see_the_level_of_a_query(way, loss, labels, scores):
    moved = scores + np.repeat([3.0, -1.0, 0.5, 7.0], SIZES)
    for a, b in zip(way(labels, scores, loss=loss), way(labels, moved, loss=loss)):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_grades_themselves_are_a_target(way, labels, scores):
    gradient, _ = way(labels, scores, measure="dcg", loss="squared", gain="linear")
    np.testing.assert_allclose(gradient, 2 * (scores - labels))


def test_options_reach_measure_and_loss(way, labels, scores):
    given = way(labels, scores, measure="precision", loss="logistic", relevance_level=2, eta=3)
    v = (labels >= 2) * 1.0
    np.testing.assert_allclose(given[0], 3 / (1 + np.exp(-scores)) - v)
    made = lightgbm_objective(DCG(gain="linear"), LOSSES["squared_hinge"](threshold=2.0))
    assert made == lightgbm_objective("dcg", "squared_hinge", gain="linear", threshold=2.0)
    assert made != lightgbm_objective("dcg", "squared_hinge", gain="linear")


def test_documents_without_influence_train():
    # One document alone, a query of equal labels, a query without a relevant document.
    y = np.array([2.0, 1, 1, 1, 0, 0, 0, 1, 0])
    sizes = [1, 3, 3, 2]
    for loss in LOSSES:
        gradient, curvature = lightgbm_objective(loss=loss)(y, np.zeros(9), None, sizes)
        assert np.isfinite(gradient).all()
        assert (curvature > 0).all()
        if loss in PAIRWISE:
            assert gradient[0] == 0
            np.testing.assert_allclose(gradient[1:7], 0, atol=1e-12)


def test_groups_without_documents(labels, scores):
    objective = lightgbm_objective()
    expected = objective(labels, scores, None, SIZES)
    given = objective(labels, scores, None, np.insert(SIZES, [0, 2], 0))
    np.testing.assert_array_equal(expected, given)


# -- targets are made once ----------------------------------------------------------------


@dataclass(frozen=True)
class Counting(PositionalMeasure):
    """A measure whose targets are the labels, which counts their computations."""

    name: ClassVar[str] = "counting"

    def targets(self, y, queries):
        CALLS.append(len(y))
        return y

    def basis(self, positions, sizes):
        return 1.0 / positions


CALLS: list = []


def test_targets_are_made_once_for_a_training_set(labels, scores):
    CALLS.clear()
    objective = lightgbm_objective(Counting(), "squared")
    other = labels[::-1].copy()
    for _ in range(3):
        for y in (labels, other):
            gradient, _ = objective(y.copy(), scores, None, SIZES)
            np.testing.assert_array_equal(gradient, 2 * (scores - y))
    assert len(CALLS) == 2


def test_a_changed_training_set_is_another_one(scores):
    objective = lightgbm_objective("dcg", "pairwise_squared", gain="linear")
    y, weight, sizes = np.arange(ROWS) % 3 * 1.0, np.ones(ROWS), SIZES.copy()
    for change in (lambda: y.__setitem__(0, 2.0), lambda: weight.__setitem__(3, 5.0)):
        before = objective(y, scores, weight, sizes)
        change()
        after = objective(y, scores, weight, sizes)
        assert not np.array_equal(before, after)
        fresh = lightgbm_objective("dcg", "pairwise_squared", gain="linear")
        np.testing.assert_array_equal(after, fresh(y, scores, weight, sizes))
    sizes[:2] = 3, 2
    fresh = lightgbm_objective("dcg", "pairwise_squared", gain="linear")
    np.testing.assert_array_equal(
        objective(y, scores, weight, sizes), fresh(y, scores, weight, sizes)
    )
    assert not np.array_equal(objective(y, scores, None, sizes), fresh(y, scores, weight, sizes))


def test_only_so_many_training_sets_are_remembered(scores):
    objective = lightgbm_objective("dcg", "squared", gain="linear")
    for grade in range(50):
        objective(np.full(ROWS, float(grade)), scores, None, SIZES)
    assert len(objective._known._made) <= 16


def test_nothing_handed_over_is_modified(way, labels, scores):
    for loss in LOSSES:
        y, s, weight, sizes = labels.copy(), scores.copy(), np.ones(ROWS), SIZES.copy()
        for array in (y, s, weight, sizes):
            array.flags.writeable = False
        way(y, s, weight, sizes, loss=loss)


@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_objectives_can_be_copied_and_pickled(make, again, labels, scores):
    objective = make("precision@5", "squared_hinge", threshold=2.0, relevance_level=1)
    if make is lightgbm_objective:
        objective(labels, scores, None, SIZES)
        assert len(objective._known._made) == 1
    other = again(objective)
    assert other == objective
    assert hash(other) == hash(objective)
    assert not other._known._made
    assert other._known is not objective._known
    assert "SquaredHinge(eta=None, threshold=2.0)" in repr(other)


@pytest.mark.parametrize("make", [lightgbm_metric, xgboost_metric])
def test_metrics_can_be_copied_and_pickled(make):
    metric = make("precision@5", ties="worst", relevance_level=1)
    assert pickled(metric) == copy.deepcopy(metric) == metric


# -- errors -------------------------------------------------------------------------------


MAKERS = [lightgbm_objective, xgboost_objective]


@pytest.mark.parametrize("make", MAKERS)
def test_objectives_refuse_what_they_do_not_know(make):
    with pytest.raises(ValueError, match="Unknown loss 'hinge': choose one of squared, "):
        make(loss="hinge")
    with pytest.raises(ValueError, match="Unknown measure 'ndgc@10'"):
        make("ndgc@10")
    with pytest.raises(ValueError, match="threshold must be None for the loss 'squared'"):
        make(loss="squared", threshold=1)
    with pytest.raises(ValueError, match="ndcg has no option 'relevance_level'"):
        make("ndcg", relevance_level=1)
    with pytest.raises(ValueError, match=r"eta must .* got -1"):
        make(loss="logistic", eta=-1)


def has_targets(measure):
    return measure.score_targets is not Measure.score_targets


@pytest.mark.parametrize("name", [n for n, m in MEASURES.items() if not has_targets(m)])
def test_measures_without_targets_are_refused(name):
    fitting = "auc, dcg, err, eru, f1, hit, map, mrr, ndcg"
    with pytest.raises(ValueError, match=f"must have targets .* got {name}. .* {fitting}"):
        lightgbm_objective(name)


@pytest.mark.parametrize("name", [n for n, m in MEASURES.items() if has_targets(m)])
def test_measures_with_targets_are_boosted(name, labels, scores):
    y = np.minimum(labels, 1.0)
    gradient, _ = lightgbm_objective(name, "pairwise_squared")(y, scores, None, SIZES)
    function = loss_of_scores("pairwise_squared", y, measure=name)
    np.testing.assert_allclose(gradient, slopes(function, scores), atol=1e-6)


def test_errors_about_targets(way, labels, scores):
    with pytest.raises(ValueError, match="non-negative for ndcg, got the relevance -2"):
        way(-labels, scores)
    with pytest.raises(ValueError, match=r"y must hold 0 and 1.*got 2.*relevance_level"):
        way(labels, scores, measure=get_measure("precision", relevance_level=None))
    with pytest.raises(ValueError, match=r"eta must be at least 3, the largest target, got 0\.5"):
        way(labels, scores, measure="dcg", loss="exponential", eta=0.5)


def test_errors_about_rows(labels, scores):
    objective = lightgbm_objective()
    with pytest.raises(MissingQidError, match=r"group=group_sizes\(qid\)"):
        objective(labels, scores)
    with pytest.raises(MissingQidError, match=r"group=group_sizes\(qid\)"):
        lightgbm_metric()(labels, scores, None)
    with pytest.raises(ValueError, match="14 labels, 14 scores and group sizes with sum 10"):
        objective(labels, scores, None, [4, 6])
    with pytest.raises(ValueError, match="14 labels, 3 scores"):
        objective(labels, scores[:3], None, SIZES)
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        objective(labels, scores, np.ones(3), SIZES)
    with pytest.raises(ValueError, match="sample_weight must be non-negative"):
        objective(labels, scores, -np.ones(ROWS), SIZES)
    for call in (lightgbm_objective("dcg"), lightgbm_metric("dcg")):
        with pytest.raises(ValueError, match="y_score contains NaN"):
            call([0, 1], [0.0, np.nan], None, [2])
    with pytest.raises(ValueError, match="y_true contains NaN"):
        objective(np.full(ROWS, np.nan), scores, None, SIZES)


def test_metrics_refuse_what_they_do_not_know():
    for make in (lightgbm_metric, xgboost_metric):
        with pytest.raises(ValueError, match="Unknown measure 'gain'"):
            make("gain")
        with pytest.raises(ValueError, match="ties must be one of"):
            make(ties="none")
        with pytest.raises(ValueError, match="empty must be one of"):
            make(empty="two")


def test_metric_undefined_everywhere(scores):
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(lightgbm_metric()(np.zeros(ROWS), scores, None, SIZES)[1])


def test_group_sizes():
    np.testing.assert_array_equal(group_sizes([3, 3, 1, 2, 2, 2]), [2, 1, 3])
    np.testing.assert_array_equal(group_sizes(RankingTarget([0.0, 1], ["a", "b"]).qid), [1, 1])
    with pytest.raises(ValueError, match="must be contiguous, and query 7 comes in several"):
        group_sizes([5, 7, 7, 3, 7, 3])
    with pytest.raises(ValueError, match=r"missing value .* in row 1"):
        group_sizes([1.0, np.nan])
