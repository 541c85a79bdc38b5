"""Pairs in the wrong order, counted side by side for many queries and for very large ones."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from skcalrank.metrics import kendall_score, pairwise_disagreement_loss

WIDTHS = (1, 2, 3, 31, 32, 33, 64, 65, 130, 300)


def by_pairs(y, scores, weights):
    """Weight of all preferences, and of the violated ones; ties count half."""
    gap = np.maximum(y[:, None] - y, 0)
    gap = gap if weights == "difference" else 1.0 * (gap > 0)
    behind = scores[:, None] - scores
    return gap.sum(), (gap * ((behind < 0) + 0.5 * (behind == 0))).sum()


def draw(kind, rng, n):
    return {
        "grades": lambda: rng.integers(0, 4, n),
        "orders": lambda: rng.permutation(n),
        "reals": lambda: rng.normal(size=n),
        "few reals": lambda: rng.choice([-0.25, 1 / 3, 1e6 + 1 / 3], n),
        "large integers": lambda: rng.integers(-(2**40), 2**40, n),
    }[kind]()


@pytest.mark.product
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kind", ["grades", "orders", "reals", "few reals", "large integers"])
def test_counts_are_those_of_all_pairs(kind, tied, rng):
    # Some queries of each size, and of similar sizes, which are padded.
    sizes = rng.permutation(np.repeat([*WIDTHS, 100, 120], 3))
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y, scores = draw(kind, rng, len(qid)).astype(float), rng.normal(size=len(qid))
    scores = np.round(scores) if tied else scores
    for weights in ("unit", "difference"):
        pairs = [by_pairs(y[qid == q], scores[qid == q], weights) for q in range(len(sizes))]
        total, lost = np.array(pairs).T
        options = {"qid": qid, "weights": weights, "average": False}
        found = pairwise_disagreement_loss(y, scores, **options)
        np.testing.assert_allclose(found, lost, rtol=1e-12)
        found = pairwise_disagreement_loss(y, scores, normalize=True, **options)
        share = np.divide(lost, total, out=np.zeros(len(total)), where=total > 0)
        np.testing.assert_allclose(found, share, rtol=1e-12)
        if weights == "unit":
            tau = (total - 2 * lost) / np.maximum(sizes * (sizes - 1) / 2, 1)
            found = kendall_score(y, scores, qid=qid, average=False, empty="zero")
            np.testing.assert_allclose(found, tau, rtol=1e-12, atol=1e-15)


@pytest.mark.product
@pytest.mark.parametrize("kind", ["grades", "reals"])
@pytest.mark.parametrize("tied", [False, True])
def test_one_query_of_very_many_documents(kind, tied, rng):
    # Sums of places are beyond 32 bits.
    n = 100_000
    y = draw(kind, rng, n)
    scores = y + 2 * rng.normal(size=n)
    scores = np.round(scores) if tied else scores
    untied = [1 - (np.unique(v, return_counts=True)[1] ** 2).sum() / n**2 for v in (y, scores)]
    tau_a = kendalltau(y, scores).statistic * np.sqrt(np.prod(untied)) * n / (n - 1)
    assert kendall_score([y], [scores]) == pytest.approx(tau_a, abs=1e-12)


def test_nothing_lost_is_zero_to_the_last_bit(rng):
    y = np.sort(1e6 + rng.normal(size=(20, 90)), axis=1)
    scores = np.arange(90.0)[None] + np.zeros((20, 1))
    assert (pairwise_disagreement_loss(y, scores, average=False) == 0).all()
    y[:, [0, 1]] = y[:, [1, 0]]
    lost = pairwise_disagreement_loss(y, scores, average=False)
    np.testing.assert_allclose(lost, y[:, 0] - y[:, 1], rtol=1e-15)
