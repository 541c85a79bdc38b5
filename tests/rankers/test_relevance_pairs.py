"""Preferences from relevances, evaluated in blocks, give the same results as at once."""

import tracemalloc

import numpy as np
import pytest

from skcalrank import PairwiseLogisticRanker
from skcalrank.data import PreferenceTarget, Queries
from skcalrank.losses import PREFERENCE_LOSSES
from skcalrank.rankers import DifferenceGraphRanker, PairwiseHingeRanker
from skcalrank.rankers._edges import RelevancePairs

SIZES = [1, 2, 7, 30, 7, 1, 12]


@pytest.mark.pairs
@pytest.mark.parametrize("cells", [1, 40, 10_000])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PREFERENCE_LOSSES)
def test_blocks_add_up_to_all_pairs(cells, unit, margin, weighted, name, rng, monkeypatch):
    monkeypatch.setattr("skcalrank.rankers._edges.CACHE_CELLS", cells)
    monkeypatch.setattr("skcalrank.data._queries.CACHE_CELLS", cells)
    queries, loss = Queries(np.append(0, np.cumsum(SIZES))), PREFERENCE_LOSSES[name]()
    y, s = rng.integers(-2, 3, queries.n_rows) * 1.0, rng.normal(size=queries.n_rows)
    weight = rng.integers(0, 4, queries.n_rows) * 1.0 if weighted else None
    pairs = RelevancePairs(y, queries, unit=unit, weight=weight, margin=margin)
    value, gradient = pairs.value_and_gradient(loss, s)
    codes = queries.codes
    target = PreferenceTarget.from_relevance(y, codes, weights="unit" if unit else "difference")
    factor = None
    if weighted:
        mean = queries.mean_weight(weight)[codes[target.winner]]
        factor = weight[target.winner] * weight[target.loser] / mean
    ends = target.winner, target.loser, target.weight
    expected = loss.value_and_gradient(s, *ends, factor=factor, margin=margin)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10, atol=1e-12)


RANKERS = [
    PairwiseHingeRanker(),
    PairwiseHingeRanker(margin=True, weights="unit"),
    PairwiseLogisticRanker(),
    DifferenceGraphRanker(weights="unit"),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
@pytest.mark.parametrize("form", ["queries", "weighted", "labels"])
def test_many_pairs_are_fitted_as_few(ranker, form, rng, monkeypatch):
    X = rng.normal(size=(60, 3))
    y = np.round(X[:, 0] + rng.normal(size=60))
    data = X, y, rng.integers(0, 4, 60), rng.uniform(0.5, 2, 60) if form == "weighted" else None
    if form == "labels":
        data = X, rng.integers(0, 4, (60, 4))
    few = ranker.fit(*data).coef_
    monkeypatch.setattr("skcalrank.rankers._edges._HELD_PAIRS", 0)
    np.testing.assert_allclose(ranker.fit(*data).coef_, few, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("ranker", [RANKERS[0], RANKERS[3]], ids=str)
def test_memory_does_not_grow_with_the_pairs(ranker, rng):
    X = rng.normal(size=(1800, 1))
    y = X[:, 0] + rng.normal(size=1800)
    tracemalloc.start()
    try:
        # The 1.6 million pairs alone take 39 MB.
        with pytest.warns(match="without reaching"):
            ranker.set_params(max_iter=1).fit(X, y, np.zeros(1800))
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
        ranker.set_params(max_iter=1000)
