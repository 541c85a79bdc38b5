"""Kendall's tau-a, tau-b and tau-x, over all weak orders of up to four items."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.stats import kendalltau

from skcalrank import PreferenceTarget
from skcalrank.measures import Kendall, get_measure
from skcalrank.metrics import kendall_score, measure_score


def weak_orders(r):
    """Labels of all orders of r items, with ties."""
    labels = np.array(list(product(range(r), repeat=r)), dtype=float)
    return labels[[set(row) == set(range(int(max(row)) + 1)) for row in labels]]


def emond_mason(y, s):
    """The coefficient by its definition: 1 for ahead or tied, -1 for behind, 0 on the diagonal."""
    a, b = (np.where(np.greater_equal.outer(v, v), 1, -1) for v in (y, s))
    off = ~np.eye(len(y), dtype=bool)
    return (a * b)[off].sum() / off.sum()


def kemeny_snell(y, s):
    """Distance of two weak orders: 2 for an opposite pair, 1 for a tie in one of the two."""
    return sum(
        abs(np.sign(y[i] - y[j]) - np.sign(s[i] - s[j])) for i, j in combinations(range(len(y)), 2)
    )


@pytest.fixture(params=[2, 3, 4])
def couples(request):
    """All pairs of weak orders."""
    orders = weak_orders(request.param)
    assert len(orders) == {2: 3, 3: 13, 4: 75}[request.param]
    return np.repeat(orders, len(orders), axis=0), np.tile(orders, (len(orders), 1))


def test_tau_x_is_that_of_emond_and_mason(couples):
    y, s = couples
    values = kendall_score(y, s, variant="x", average=False)
    expected = [emond_mason(*couple) for couple in zip(y, s)]
    np.testing.assert_allclose(values, expected, atol=1e-12)
    r = y.shape[1]
    distance = [kemeny_snell(*couple) for couple in zip(y, s)]
    np.testing.assert_allclose(values, 1 - 2 * np.array(distance) / (r * (r - 1)), atol=1e-12)


def test_tau_b_is_that_of_scipy(couples):
    y, s = (orders[:: max(1, len(couples[0]) // 400)] for orders in couples)
    values = kendall_score(y, s, variant="b", average=False, empty="nan")
    constant = np.ptp(y, axis=1) == 0
    np.testing.assert_array_equal(np.isnan(values), constant)
    flat = np.ptp(s, axis=1) == 0
    np.testing.assert_array_equal(values[flat & ~constant], 0)
    both = ~flat & ~constant
    expected = [kendalltau(*couple).statistic for couple in zip(y[both], s[both])]
    np.testing.assert_allclose(values[both], expected, atol=1e-12)


def test_what_equals_what(couples):
    y, s = couples
    a, b, x = (kendall_score(y, s, variant=v, average=False, empty="nan") for v in "abx")
    n = y.shape[1] * (y.shape[1] - 1) / 2
    n_y = tied(y)
    strict = tied(s) == 0
    np.testing.assert_allclose(x[strict], a[strict], atol=1e-12)
    some = strict & (n_y < n)
    np.testing.assert_allclose(b[some], (a * np.sqrt(n / (n - np.minimum(n_y, n - 1))))[some])
    neither = strict & (n_y == 0)
    np.testing.assert_allclose(a[neither], b[neither], atol=1e-12)
    # The best order without ties breaks ties of the labels in any way.
    for labels in weak_orders(y.shape[1]):
        of_labels = strict & (y == labels).all(axis=1)
        t = tied(labels[None])[0]
        assert a[of_labels].max() == pytest.approx(1 - t / n)
        assert t == n or b[of_labels].max() == pytest.approx(np.sqrt(1 - t / n))


def tied(labels):
    """Number of pairs of equal labels in each row."""
    i, j = np.triu_indices(labels.shape[1], 1)
    return (labels[:, i] == labels[:, j]).sum(axis=1)


@pytest.mark.parametrize("variant", "abx")
def test_targets_and_basis_give_the_value(variant):
    measure, orders = Kendall(variant), np.array(list(permutations(range(1, 5))))
    y = weak_orders(4)
    y, positions = np.repeat(y, len(orders), axis=0), np.tile(orders, (len(y), 1))
    values = measure_score(measure, y, -positions, average=False, empty="zero")
    inner = (measure.pair_targets(y) * measure.pair_basis(positions)).sum(axis=(1, 2))
    np.testing.assert_allclose(values, inner, atol=1e-12)


@pytest.mark.parametrize("variant", "abx")
def test_queries_of_many_sizes(variant, rng):
    qid = np.sort(rng.integers(0, 30, 300))
    y, s = rng.integers(0, 4, 300), rng.integers(0, 5, 300)
    values = kendall_score(y, s, qid=qid, variant=variant, average=False, empty="zero")
    alone = [
        kendall_score(y[qid == q], s[qid == q], qid=qid[qid == q], variant=variant, empty="zero")
        for q in np.unique(qid)
    ]
    np.testing.assert_allclose(values, alone, atol=1e-12)


def test_ties_that_are_broken_are_no_statement():
    y, s = [[2, 1, 1]], [[1, 0, 0]]
    assert kendall_score(y, s, variant="x") == pytest.approx(1)
    assert kendall_score(y, s, variant="x", ties="stable") == pytest.approx(2 / 3)
    assert kendall_score(y, s, variant="b", ties="stable") == pytest.approx(np.sqrt(2 / 3))


def test_the_same_best_orders():
    assert Kendall("x").same_targets_as(Kendall())
    assert not Kendall("b").same_targets_as(Kendall())
    assert get_measure("kendall", variant="b") == Kendall("b")


def test_errors():
    with pytest.raises(ValueError, match="variant must be one of 'a', 'b', 'x', got 'c'"):
        kendall_score([[1, 2]], [[1, 2]], variant="c")
    y = PreferenceTarget.from_orders([[1, 2, 2]])
    with pytest.raises(ValueError, match="variant must be 'a' for a PreferenceTarget"):
        kendall_score(y, [[1, 2, 3]], variant="x")
