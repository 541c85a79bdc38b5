"""What a ranker does is settled by its plan before fit, and by its record after."""

from dataclasses import replace

import numpy as np
import pytest
from cases import every_ranker, labels_for
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from skcalrank import (
    BoostedRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    StackingRanker,
)
from skcalrank.rankers import ScoreRanker, StochasticAggregatedRanker


@pytest.fixture
def data(rng):
    qid = np.repeat(np.arange(8), 6)
    y = np.concatenate([rng.permutation([1.0, 1, 0, 0, 0, 0]) for _ in range(8)])
    return rng.normal(size=(48, 3)) + y[:, None], y, qid


@pytest.mark.parametrize("ranker", every_ranker(), ids=lambda ranker: type(ranker).__name__)
def test_the_record_holds_the_plan(ranker, data):
    X, y, qid = data
    before, recorded = ranker._plan(), ranker.fit(X, labels_for(ranker, y, qid), qid).record_.plan
    # What labels, folds and the regressor add to it.
    chosen = ("loss", "targets") if before.loss is None else ()
    added = {name: getattr(recorded, name) for name in ("reads", "measure", "alpha", *chosen)}
    assert recorded == replace(before.without_regressor(), **added)
    assert type(recorded.measure) is type(before.measure)


@pytest.mark.parametrize(
    "cls", [BoostedRanker, OrderPreservingRanker, StackingRanker, StochasticAggregatedRanker]
)
def test_one_measure_is_not_several(cls, data):
    with pytest.raises(ValueError, match=r"measure \['ndcg@5', 'dcg@5'\]"):
        cls(measure=["ndcg@5", "dcg@5"]).fit(*data)
    assert len(LeastSquaresRankerCV(["ndcg@5", "dcg@5"], cv=2).fit(*data).rankers_) == 2


def test_a_base_class_has_no_measure(data):
    with pytest.raises(TypeError, match="ScoreRanker has no measure"):
        ScoreRanker().fit(*data)


def test_a_fitted_ranker_reads_rows_as_its_record_says(data):
    X, y, qid = data
    X[0, 0] = np.nan
    ranker = NDCGRanker(HistGradientBoostingRegressor(max_iter=3)).fit(X, y, qid)
    expected = ranker.predict(X)
    ranker.set_params(estimator=Ridge(), k=1)
    assert np.array_equal(ranker.predict(X), expected)
    assert ranker.record_.measure.k == 10
    with pytest.raises(ValueError, match="NaN"):
        ranker.fit(X, y, qid)
    assert np.array_equal(ranker.predict(X), expected)


def test_an_invalid_estimator_is_named_by_the_next_fit_and_not_read_before(data):
    ranker = NDCGRanker().fit(*data)
    before = ranker.predict(data[0])
    ranker.set_params(estimator=5)
    np.testing.assert_array_equal(ranker.predict(data[0]), before)
    with pytest.raises(ValueError, match="estimator must be a regressor"):
        ranker.fit(*data)


def test_what_can_be_updated_is_an_ability_of_the_plan():
    assert hasattr(NDCGRanker(), "partial_fit")
    assert hasattr(NDCGRanker(), "merge")
    assert not hasattr(NDCGRanker(HistGradientBoostingRegressor()), "partial_fit")
    assert not hasattr(LeastSquaresRankerCV(), "partial_fit")
    # An invalid parameter is told by the call.
    assert hasattr(NDCGRanker(k=0), "partial_fit")
