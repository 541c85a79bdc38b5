"""The example that needs numpy alone says what the package computes."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from skcalrank import NDCGRanker, PairwiseDisagreementRanker
from skcalrank.calibration import LabelDistribution, regret_bound

plt = pytest.importorskip("matplotlib.pyplot")

PATH = Path(__file__).parents[2] / "examples" / "theory" / "plot_the_law_from_scratch.py"


@pytest.fixture(scope="module")
def law():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plt, "show", plt.close)
        return runpy.run_path(str(PATH))


def test_the_file_is_short_and_needs_no_package():
    text = PATH.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "skcalrank" not in text


def test_scores_are_those_of_the_ranker(law):
    ranker = NDCGRanker(Ridge(1.0), k=None).fit(law["x"], law["grades"])
    centered = law["scores"] - law["scores"].mean(axis=1, keepdims=True)  # as the ranker's are
    assert_allclose(ranker.predict(law["x_new"]), centered, rtol=0, atol=1e-10)


def test_orders_of_pairs_follow_the_edges_that_the_ranker_keeps(law):
    ranker = PairwiseDisagreementRanker(
        Ridge(1.0), surrogate="pairwise", weights="unit", pred="topological"
    ).fit(law["x"], law["grades"])
    positions = ranker.rank(law["x_new"])
    for net, ours, theirs in zip(law["net"], law["by_pairs"], positions, strict=True):
        edges = sorted(np.argwhere(net > 0), key=lambda edge: net[tuple(edge)])
        broken = [n for n, (i, j) in enumerate(edges) if ours[i] > ours[j]]
        for i, j in edges[max(broken, default=-1) + 1 :]:  # the rest are ties to Algorithm 1
            assert theirs[i] < theirs[j]


def test_regrets_and_bounds_are_those_of_the_laws(law):
    bounds, regrets = law["bound"](law["scores"]), law["ndcg_regret"](law["scores"])
    surrogate = ((law["U"] - law["scores"]) ** 2).sum(axis=1)
    expected = [regret_bound("ndcg", "squared", value, r=law["N_FILMS"]) for value in surrogate]
    assert_allclose(bounds, expected, rtol=1e-10)
    assert (regrets <= bounds + 1e-12).all()
    for shares, scores, regret in zip(law["x_new"][:50], law["scores"], regrets, strict=False):
        one = LabelDistribution(law["TASTES"], shares / shares.sum())
        assert_allclose(one.bayes_value("ndcg") - one.value("ndcg", scores), regret, atol=1e-10)


def test_pairs_lose_less_than_their_sums(law):
    by_sum, by_pairs = (law["wrong_pairs"](law[name]).mean() for name in ("by_sum", "by_pairs"))
    assert by_pairs < by_sum - 0.1
