"""Parameters that are objects of a user's own: equal if they were made of the same."""

import copy
from functools import partial
from operator import itemgetter

import numpy as np
import pytest

from skcalrank import LeastSquaresRanker
from skcalrank.data import are_alike
from skcalrank.measures import DCG

# Cases are kinds of values and operations, of which each has lines of its own.
pytestmark = pytest.mark.every_case


def power(exponent, positions):
    return (positions + 0.0) ** -exponent


class Power:
    def __init__(self, exponent):
        self.exponent = exponent

    def discount(self, positions):
        return power(self.exponent, positions)

    __call__ = discount


def holding_itself(exponent):
    made = Power(exponent)
    made.me = [made]
    return made


class Slots:
    __slots__ = ("exponent",)

    def __init__(self, exponent):
        self.exponent = exponent


class SlotsAndMore(Slots):
    pass


class Text(str):
    pass


class Number(float):
    pass


MAKERS = {
    "objects": Power,
    "partial functions": lambda value: partial(power, value),
    "partial functions by name": lambda value: partial(power, exponent=value),
    "bound methods": lambda value: Power(value).discount,
    "slots": Slots,
    "slots beside a dict": SlotsAndMore,
    "texts": lambda value: Text(f"text {value}"),
    "numbers": Number,
    "getters": itemgetter,
    "arrays of objects": lambda value: np.array([Power(value), None], dtype=object),
    "missing numbers": lambda value: Power([float("nan"), np.full(2, np.nan), value]),
    "objects that hold themselves": holding_itself,
    "arrays in a list": lambda value: [np.arange(3.0) * value],
}


@pytest.mark.parametrize("kind", MAKERS)
def test_parameters_are_equal_if_they_are_made_of_the_same(kind):
    make = MAKERS[kind]
    assert are_alike(make(1), make(1))
    assert are_alike(make(1), copy.deepcopy(make(1)))
    assert not are_alike(make(1), make(2))


def test_arrays_of_other_types_or_shapes_are_not_equal():
    ones = [np.ones(3), np.ones(3, dtype=object), np.ones((1, 3), dtype=object)]
    assert [[are_alike(one, other) for other in ones] for one in ones] == np.eye(3).tolist()


@pytest.mark.parametrize("kind", ["objects", "partial functions", "bound methods"])
def test_sums_of_other_discounts_are_not_added(kind, rng):
    X, y, qid = rng.normal(size=(40, 3)), rng.integers(0, 3, 40), np.repeat(np.arange(8), 5)

    def part(value, rows):
        measure = DCG(gain="linear", discount=MAKERS[kind](value))
        return LeastSquaresRanker(measure).partial_fit(X[rows], y[rows], qid[rows])

    first, second = slice(20), slice(20, 40)
    part(1.0, first).merge(part(1.0, second))
    with pytest.raises(ValueError, match="measure of a ranker to be merged must be"):
        part(1.0, first).merge(part(0.1, second))
