"""Measures and losses of a user's own in rankers that clone others."""

import numpy as np
import pytest
from sklearn.base import clone

from skcalrank import (
    BoostedRanker,
    DCGRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    OrderPreservingRanker,
    StackingRanker,
    TabularRanker,
    load_digits_queries,
)
from skcalrank.data import are_alike
from skcalrank.losses import LOSSES
from skcalrank.measures import NDCG, PositionalMeasure


class TimeBiased(PositionalMeasure):
    """Time-biased gain, whose users leave at a rate."""

    name = "tbg"

    def __init__(self, half=10.0):
        self.half = half

    def targets(self, y, queries):
        return y

    def basis(self, positions, sizes):
        return 0.5 ** ((positions - 1.0) / self.half)


class Gain:
    """A gain that is an object."""

    def __init__(self, power):
        self.power = power

    def __call__(self, y):
        return y**self.power


MEASURES = {
    "a class": lambda: TimeBiased(5.0),
    "an object as gain": lambda: NDCG(gain=Gain(1.5)),
}
every_measure = pytest.mark.parametrize("measure", MEASURES)


@pytest.fixture(scope="module")
def problem():
    return load_digits_queries(n_queries=30, n_documents=10)


@every_measure
def test_copies_are_alike(measure):
    one, other = MEASURES[measure](), MEASURES[measure]()
    assert are_alike(one, other)
    assert not are_alike(one, TimeBiased(6.0))
    assert clone(LeastSquaresRanker(measure=one)).measure is not one


def test_own_classes_are_equal_by_their_parameters():
    assert TimeBiased() == TimeBiased(10.0)
    assert hash(TimeBiased()) == hash(TimeBiased(10.0))
    assert TimeBiased() != TimeBiased(3.0)
    assert TimeBiased() != NDCG()
    assert repr(TimeBiased(3.0)) == "TimeBiased(half=3.0)"


@pytest.mark.product
@every_measure
@pytest.mark.parametrize(
    "make",
    [
        lambda m: TabularRanker(m, trees=None),
        lambda m: TabularRanker(m, trees=BoostedRanker(engine="sklearn", n_estimators=2)),
        lambda m: StackingRanker([("a", LeastSquaresRanker(m)), ("b", DCGRanker())], measure=m),
        lambda m: LeastSquaresRankerCV(measure=m, alphas=[1.0, 10.0]),
        lambda m: BoostedRanker(m, engine="sklearn", n_estimators=2),
    ],
    ids=["linear views", "tabular", "stack", "cv", "trees"],
)
def test_every_ranker_takes_them(measure, make, problem):
    X, y, qid = problem
    ranker = make(MEASURES[measure]()).fit(X, y, qid)
    assert np.isfinite(ranker.score(X, y, qid))


@every_measure
def test_fits_of_clones_are_added(measure, problem):
    X, y, qid = problem
    first = qid < 15
    ranker = LeastSquaresRanker(measure=MEASURES[measure](), alpha=1.0)
    one = clone(ranker).partial_fit(X[first], y[first], qid[first])
    other = clone(ranker).partial_fit(X[~first], y[~first], qid[~first])
    np.testing.assert_allclose(one.merge(other).coef_, clone(ranker).fit(X, y, qid).coef_)
    different = LeastSquaresRanker(measure="dcg", alpha=1.0)
    different.partial_fit(X[~first], y[~first], qid[~first])
    with pytest.raises(ValueError, match="measure of a ranker to be merged"):
        one.merge(different)


def test_a_loss_of_a_class_is_cloned(problem):
    X, y, qid = problem
    loss = next(iter(LOSSES.values()))()
    ranker = OrderPreservingRanker("ndcg", loss=loss)
    assert clone(ranker).fit(X, y, qid).score(X, y, qid) > 0
