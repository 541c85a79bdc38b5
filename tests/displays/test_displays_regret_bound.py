"""Bounds of regret: points are those of a law, and keep the bound."""

import numpy as np
import pytest
from pictures import legend_of

from skcalrank.calibration import LabelDistribution, regret_bound
from skcalrank.displays import RegretBoundDisplay
from skcalrank.losses import LOSSES

pytest.importorskip("matplotlib.pyplot")

BOUNDED = [
    *[("ndcg@2", loss) for loss in LOSSES],
    ("dcg", "squared"),
    ("spearman", "pairwise_squared"),
    ("map", "squared"),
    ("map@1", "squared"),
    ("kendall", "squared"),
    ("neg_pairwise_disagreement", "squared"),
]


@pytest.mark.parametrize(("measure", "loss"), BOUNDED)
def test_random_points_keep_the_bound(measure, loss):
    display = RegretBoundDisplay.from_loss(measure, loss, n_samples=195, random_state=0)
    assert display.surrogate_regret.shape == display.target_regret.shape == (200,)
    assert display.target_regret.max() > 0
    assert 0.02 < display.largest_ratio <= 1 + 1e-9
    assert legend_of(display.ax_)[0] == f"{measure}, {loss}"


def test_points_are_drawn_by_the_random_state():
    first, again, other = (
        RegretBoundDisplay.from_loss("ndcg@2", "squared", random_state=seed).surrogate_regret
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(again, first)
    assert (other != first).any()


def test_bound_is_that_of_calibration():
    display = RegretBoundDisplay.from_loss("precision@1", "squared", r=5, random_state=0)
    x, y = display.bound_.get_data()
    np.testing.assert_allclose(y, regret_bound("precision@1", "squared", x, r=5))
    positive = display.surrogate_regret[display.surrogate_regret > 0]
    np.testing.assert_allclose([x[0], x[-1]], [positive.min(), positive.max()])


def test_points_are_regrets_of_one_law(monkeypatch):
    law = LabelDistribution([[0, 1, 2], [2, 0, 1]], [0.75, 0.25])
    monkeypatch.setattr(LabelDistribution, "random", lambda *_args, **_kwargs: law)
    display = RegretBoundDisplay.from_loss("dcg", "squared", n_samples=10, random_state=0)
    # Three documents have six orders, so six possible regrets.
    values = law.bayes_value("dcg") - law.order_values("dcg")
    apart = np.abs(display.target_regret[:, None] - values)
    np.testing.assert_allclose(apart.min(axis=1), 0, atol=1e-12)


def test_ratio_and_zeros():
    display = RegretBoundDisplay.from_regrets(
        [0.0, 0.25, 1.0, 4.0], [0.0, 0.4, 0.0, 0.5], bound=np.sqrt, name="points"
    )
    assert display.largest_ratio == pytest.approx(0.8)
    assert legend_of(display.ax_) == ["points", "bound (points reach 80% of it)"]
    np.testing.assert_allclose(display.scatter_.get_offsets(), [[0.25, 0.4], [4.0, 0.5]])
    np.testing.assert_allclose(display.zeros_.get_xdata(), [1.0])
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    display.plot(scale="linear", name="renamed")
    assert len(display.scatter_.get_offsets()) == 4
    assert display.zeros_ is None
    assert display.ax_.get_yscale() == "linear"
    assert legend_of(display.ax_)[0] == "renamed"
    assert display.bound_.get_xdata()[[0, -1]].tolist() == [0.0, 4.0]
    broken = RegretBoundDisplay.from_regrets([0.0, 1.0], [0.1, 0.1], bound=np.sqrt)
    assert broken.largest_ratio == np.inf
    np.testing.assert_allclose(broken.scatter_.get_offsets(), [[1.0, 0.1]])
    broken.figure_.canvas.draw()
    with pytest.raises(ValueError, match=r"largest_ratio needs a bound, got bound=None\."):
        _ = RegretBoundDisplay.from_regrets([0.0, 1.0], [0.1, 0.1]).largest_ratio


def test_hollow_points_and_their_zeros():
    style = {"fc": "none", "ec": "red", "lw": 1}
    display = RegretBoundDisplay.from_regrets([0.1, 0.2], [0.2, 0.0], scatter_kwargs=style)
    np.testing.assert_allclose(display.zeros_.get_color()[:3], [1, 0, 0])


def test_points_without_a_bound_or_any_regret():
    display = RegretBoundDisplay.from_regrets([0.1], [0.2], scatter_kwargs={"ec": "red"})
    assert display.bound_ is None
    assert display.ax_.get_legend() is None
    np.testing.assert_allclose(display.scatter_.get_edgecolor()[0, :3], [1, 0, 0])
    for surrogate in (0.0, 1.0):
        RegretBoundDisplay.from_regrets([surrogate], [0.0], bound=np.sqrt).figure_.canvas.draw()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda make: make.from_regrets([1], [1, 2]), "got 1 and 2 values"),
        (lambda make: make.from_regrets([-1], [1]), "surrogate_regret must be non-negative"),
        (lambda make: make.from_regrets([1], [-1]), "target_regret must be non-negative"),
        (lambda make: make.from_regrets([np.inf], [1]), "infinity"),
        (lambda make: make.from_regrets([1], [1], scale="root"), "scale must .* got 'root'"),
        (lambda make: make.from_loss("err", "squared"), "calibrated.*got err"),
        (lambda make: make.from_loss("map", "pairwise_squared"), "got 'pairwise_squared'"),
        (lambda make: make.from_loss("ndcg@2", "hinge"), "Unknown loss 'hinge'"),
        (lambda make: make.from_loss("ndcg@2", "squared", eta=1.0), "no such option"),
        (lambda make: make.from_loss("ndcg@2", "squared", r=1), "r must be an integer.* got 1"),
        (
            lambda make: make.from_loss("ndcg@2", "squared", n_samples=0),
            "n_samples must be an integer >= 1, got 0",
        ),
    ],
)
def test_regret_bound_says_what_is_wrong(call, match):
    with pytest.raises(ValueError, match=match):
        call(RegretBoundDisplay)


@pytest.mark.parametrize("bound", [lambda _: 1.0, lambda regret: np.sqrt(regret)[:-1]])
def test_a_bound_of_another_shape_is_named(bound):
    with pytest.raises(ValueError, match=r"bound must return one number for each .* got shape"):
        RegretBoundDisplay.from_regrets([0.1, 0.2, 0.3], [0.1, 0.2, 0.1], bound=bound)
