"""Regret bounds of other exponents (CUG13, Theorem 5.2), and by the best value (Corollary A.2)."""

import numpy as np
import pytest

from skcalrank.calibration import c_phi, regret_bound
from skcalrank.data import Queries
from skcalrank.losses import PointwiseLoss, get_loss
from skcalrank.measures import get_measure


class Quartic(PointwiseLoss):
    """The Bregman divergence of x^4 / 4: ``3 s^4 / 4 - v s^3``, plus ``v^4 / 4``."""

    name, exponent = "quartic", 4.0

    def terms(self, v, s):
        return 0.75 * s**4 - v * s**3

    def slopes(self, v, s):
        return 3 * s**3 - 3 * v * s**2

    def curvatures(self, v, s):
        return 9 * s**2 - 6 * v * s

    def least(self, v):
        return -0.25 * v**4

    def minimizer(self, v, queries):
        return v

    def constant(self, largest=1.0):
        # The excess is at least (v - s)^4 / 12, so that of two targets that are d apart, with
        # equal scores, is at least 2 (d / 2)^4 / 12.
        return 96.0**0.25


def values(U, s, measure):
    """Best values, and values of the sort by s, for mean targets U."""
    phi = measure.basis(np.arange(1, U.shape[1] + 1), np.array([U.shape[1]]))
    best = -np.sort(-U, axis=1) @ phi
    return best, np.take_along_axis(U, np.argsort(-s, axis=1), axis=1) @ phi


@pytest.mark.long
@pytest.mark.parametrize(("name", "r"), [("precision@1", 2), ("ndcg", 3)])
def test_bound_with_an_exponent_of_4(name, r, rng):
    measure, loss = get_measure(name), Quartic()
    U = rng.random((50, r))
    s = U + rng.normal(size=U.shape) * rng.choice([0.1, 1.0], size=(50, 1))
    excess = (loss.terms(U, s) - loss.least(U)).sum(axis=1)
    bound = regret_bound(measure, loss, excess, r=r)
    # The exponents 4 and 4/3 are conjugate.
    np.testing.assert_allclose(bound, 96**0.25 * c_phi(measure, r, 4 / 3) * excess**0.25)
    best, reached = values(U, s, measure)
    assert (best - reached <= bound + 1e-12).all()
    assert (best - reached > 1e-6).sum() > 4


@pytest.mark.parametrize("name", ["pairwise_logistic", "pairwise_exponential"])
def test_bound_by_the_best_value_for_targets_of_any_size(name, rng):
    """Means over queries whose targets are very different in size."""
    measure, loss, r = get_measure("dcg@2", gain="linear"), get_loss(name), 3
    one, better = Queries.equal(1, r), 0
    for _ in range(20):
        share = rng.dirichlet(np.ones(6))
        U = rng.random((6, r)) * 10.0 ** rng.uniform(-2, 2, (6, 1))
        s = np.log(U) + rng.normal(size=U.shape)
        excess = share @ [
            loss.evaluate(u, x, one)[0] - loss.infimum(u, one)[0] for u, x in zip(U, s)
        ]
        best, reached = (share @ v for v in values(U, s, measure))
        bound = regret_bound(measure, name, excess, r=r, best_value=best)
        assert best - reached <= bound + 1e-9
        # phi(1) = 1.
        by_hand = loss.constant(best) * c_phi(measure, r) * np.sqrt(excess)
        assert bound == pytest.approx(by_hand)
        better += bound < regret_bound(measure, name, excess, r=r, max_target=U.max())
    assert better > 10
    sizes = [regret_bound("auc", name, 0.1, r=r, best_value=2.0) for r in (3, 6)]
    assert regret_bound("auc", name, 0.1, r=[3, 6], best_value=2.0) == max(sizes)


def test_errors_of_the_best_value_and_of_exponents():
    given = {"measure": "precision@1", "loss": "pairwise_logistic", "best_value": 1.0, "r": 3}
    for message, options in {
        "best_value must be None with max_target": {"max_target": 1.0},
        "best_value must be a finite number >= 0": {"best_value": -1.0},
        "best_value must be None unless .* got precision and 'squared'": {"loss": "squared"},
        "best_value must be None unless .* got map": {"measure": "map"},
        "margin must be None with results or best_value": {"margin": 0.1},
    }.items():
        with pytest.raises(ValueError, match=message):
            regret_bound(surrogate_regret=0.1, **given | options)
    wrong = Quartic()
    wrong.exponent = 0.5
    with pytest.raises(ValueError, match=r"of the loss must be a finite number >= 1, got 0\.5"):
        regret_bound("precision@1", wrong, 0.1, r=3)
