"""Measures and losses that users write: what fit and metrics refuse, by the name of the method."""

import numpy as np
import pytest

from skcalrank import BoostedRanker, LeastSquaresRanker, OrderPreservingRanker, get_scorer
from skcalrank.losses import PointwiseLoss
from skcalrank.measures import Measure, PositionalMeasure
from skcalrank.metrics import measure_score

X = np.linspace(-1, 1, 40).reshape(20, 2)
Y, QID = np.arange(20) % 3, np.arange(20) // 5


def measure_with(**members):
    """Return a measure that is right but for some members; None takes a member away."""
    right = {
        "name": "own",
        "targets": lambda _self, y, _queries: y,
        "basis": lambda _self, positions, _sizes: 1.0 / positions,
    }
    members = {name: member for name, member in (right | members).items() if member is not None}
    return type("Own", (PositionalMeasure,), {"__module__": "theirs", **members})()


WRONG = {
    "a basis that rises": (
        {"basis": lambda _self, p, _sizes: p * 1.0},
        "basis of Own must be .*non-increasing in the position, got 2 at position 2 after 1",
    ),
    "a basis with NaN": (
        {"basis": lambda _self, p, _sizes: np.where(p > 3, np.nan, 1.0)},
        "basis of Own must be finite.*, got nan at position 4",
    ),
    "a negative basis": ({"basis": lambda _self, p, _sizes: 3.0 - p}, "basis of Own .*position 4"),
    "a basis of bools": (
        {"basis": lambda _self, p, _sizes: p <= 3},
        "basis of Own must return numbers .*, got bool of shape .* Multiply bools by 1.0",
    ),
    "a basis of one number": ({"basis": lambda _self, _p, _sizes: 1.0}, "basis of Own .*shape"),
    "negative targets": (
        {"targets": lambda _self, y, _queries: y - 1.0},
        "targets of Own must be finite and non-negative, got -1 for the label 0",
    ),
    "targets with NaN": (
        {"targets": lambda _self, y, _queries: np.where(y > 1, np.nan, y)},
        "targets of Own must be finite and non-negative, got nan for the label 2",
    ),
    "targets of a column": (
        {"targets": lambda _self, y, _queries: y[:, None]},
        r"targets of Own must return one number .*, got \(\d+, 1\)",
    ),
    "targets too few": (
        {"targets": lambda _self, y, _queries: y[1:]},
        r"targets of Own must return one number .*, got \(\d+,\)",
    ),
    "no name": ({"name": None}, "Own must have a name"),
}


@pytest.mark.every_case
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_in_a_measure_is_named(wrong):
    members, message = WRONG[wrong]
    measure = measure_with(**members)
    for call in (
        lambda: LeastSquaresRanker(measure).fit(X, Y, QID),
        lambda: OrderPreservingRanker(measure).fit(X, Y, QID),
        lambda: BoostedRanker(measure, engine="sklearn").fit(X, Y, QID),
        lambda: measure_score(measure, Y, X[:, 0], qid=QID),
        lambda: get_scorer(measure)(LeastSquaresRanker(measure_with()).fit(X, Y, QID), X, Y, QID),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_measure_that_is_right_is_taken():
    measure = measure_with()
    ranker = LeastSquaresRanker(measure).fit(X, Y, QID)
    assert ranker.score(X, Y, QID) == get_scorer(measure)(ranker, X, Y, QID)


@pytest.mark.every_case
@pytest.mark.parametrize("kind", [list, np.int8, bool])
def test_values_of_a_measure_may_be_of_any_kind(kind):
    class Found(Measure):
        name = "found"

        def evaluate(self, y, ranked):
            found = ranked.queries.max(y) > 1
            return found.tolist() if kind is list else found.astype(kind)

    assert measure_score(Found(), [2, 1, 0], [1, 2, 3], qid=[1, 2, 2]) == 0.5


class Square(PointwiseLoss):
    """(v - s)^2, whose slopes are multiplied by `factor`."""

    name = "square"

    def __init__(self, factor=1.0):
        self.factor = factor

    def terms(self, v, s):
        return (v - s) ** 2

    def slopes(self, v, s):
        return 2 * self.factor * (s - v)

    def curvatures(self, v, s):
        return np.full(len(s), 2.0)

    def least(self, v):
        return np.zeros(len(v))

    def minimizer(self, v, queries):
        return v

    def constant(self, largest=1.0):
        return np.inf


@pytest.mark.parametrize("factor", [-1.0, 1.01, np.nan])
@pytest.mark.parametrize(
    "ranker", [OrderPreservingRanker(), BoostedRanker(engine="sklearn")], ids=repr
)
def test_slopes_are_those_of_the_terms(ranker, factor):
    ranker.set_params(loss=Square()).fit(X, Y, QID)
    with pytest.raises(ValueError, match="slopes of Square must be the derivative of its terms"):
        ranker.set_params(loss=Square(factor)).fit(X, Y, QID)
