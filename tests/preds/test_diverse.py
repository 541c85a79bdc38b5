"""Maximal marginal relevance, against its definition."""

import numpy as np
import pytest

from skcalrank.preds import rerank_diverse


def by_definition(s, x, score_weight, k):
    """Positions of one query, chosen one after another."""
    low, high = min(s), max(s)
    s = [(v - low) / (high - low) if high > low else 0.0 for v in s]
    unit = [v / (np.linalg.norm(v) or 1.0) for v in x]
    left, order = list(range(len(s))), []
    while left and len(order) < k:
        values = {
            i: score_weight * s[i]
            - (1 - score_weight) * max((unit[i] @ unit[j] for j in order), default=0.0)
            for i in left
        }
        best = max(left, key=lambda i: (values[i], -i))
        order.append(best)
        left.remove(best)
    order += sorted(left, key=lambda i: (-s[i], i))
    return np.argsort(order) + 1


@pytest.mark.parametrize("k", [1, 3, None])
@pytest.mark.parametrize("score_weight", [0.0, 0.4, 0.9])
def test_positions_are_those_of_the_definition(rng, k, score_weight):
    qid = rng.integers(0, 6, 40)
    qid[0] = 99  # a query of one document
    scores, X = rng.normal(size=40), rng.normal(size=(40, 3))
    positions = rerank_diverse(scores, X, qid, score_weight=score_weight, k=k)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        expected = by_definition(scores[rows], X[rows], score_weight, k or len(rows))
        assert positions[rows].tolist() == expected.tolist()


def test_weight_1_sorts_and_the_unit_of_scores_does_not_matter(rng):
    scores, X = rng.normal(size=12), rng.normal(size=(12, 2))
    X[3] = 0.0
    expected = np.argsort(np.argsort(-scores)) + 1
    assert rerank_diverse(scores, X, score_weight=1).tolist() == expected.tolist()
    found = rerank_diverse(scores, X)
    assert rerank_diverse(100 * scores - 7, 3 * X).tolist() == found.tolist()
    assert rerank_diverse([1, 1, 1], np.eye(3)).tolist() == [1, 2, 3]


@pytest.mark.every_case
@pytest.mark.parametrize("k", [1, 2, None])
def test_documents_below_k_follow_by_scores_however_close(k):
    scores = [1.0, 1e-20, 1e-18, 0.0, 1e-19]  # as those of a softmax
    assert rerank_diverse(scores, np.eye(5), score_weight=1, k=k).tolist() == [1, 4, 2, 5, 3]


@pytest.mark.every_case
@pytest.mark.parametrize("unit", [1e-170, 1e160, 1e307])
def test_units_at_the_ends_of_the_range_do_not_matter(unit):
    X = np.array([[1, 0], [1, 0.1], [0, 1.0]])
    assert rerank_diverse([0.9, 0.8, 0.5], X * unit, score_weight=0.5).tolist() == [1, 3, 2]
    scores, expected = [9 * unit, -9 * unit, 0], [1, 3, 2]
    assert rerank_diverse(scores, X, score_weight=1).tolist() == expected
    # Nor do scores of other queries.
    scores, X = [*scores, 3e-200, 1e-200, 2e-200], np.eye(6)
    found = rerank_diverse(scores, X, [0, 0, 0, 1, 1, 1], score_weight=1)
    assert found.tolist() == [*expected, 1, 3, 2]


def test_errors():
    with pytest.raises(ValueError, match="y_score must stay distinct in double precision"):
        rerank_diverse([2**60, 2**60 + 1, 2**60 + 2], np.eye(3))
    with pytest.raises(ValueError, match="y_score must be one number for each of the 3 rows"):
        rerank_diverse([1, 2], np.eye(3))
    with pytest.raises(ValueError, match=r"score_weight must be .* >= 0 and <= 1, got 2"):
        rerank_diverse([1, 2, 3], np.eye(3), score_weight=2)
    with pytest.raises(ValueError, match="k must be an integer"):
        rerank_diverse([1, 2, 3], np.eye(3), k=0)
