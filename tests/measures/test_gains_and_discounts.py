"""NDCG and ERR with gains and discounts of one's own: laws of the families are in test_measures."""

import pickle
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from cases import halved, make_data
from definitions import ndcg
from row_laws import law_of
from sklearn.base import clone

from skcalrank import DCGRanker, LeastSquaresRanker, NDCGRanker, OrderPreservingRanker
from skcalrank.measures import DCG, ERR, NDCG, get_measure
from skcalrank.metrics import get_scorer, measure_score

GAINS = [0.0, 1.0, 3.0, 7.0, 15.0]
Y, SCORES = np.array([4.0, 0, 2, 1, 3]), np.array([0.5, 0.9, 0.4, 0.3, 0.1])


def exponential(grades):
    return 2.0**grades - 1


def logarithmic(positions):
    return 1 / np.log2(1 + positions)


def reciprocal(positions):
    return 1 / positions


FAMILY = [
    DCG(gain=GAINS),
    NDCG(k=3, gain=np.array(GAINS), discount=logarithmic),
    NDCG(gain=exponential, discount=np.reciprocal),
    ERR(gain=(0.0, 0.1, 0.2, 0.5, 1.0), discount=logarithmic),
    ERR(k=2, gain=halved),
]


@pytest.mark.parametrize("cls", [DCG, NDCG])
def test_the_usual_gain_and_discount_are_of_the_family(cls):
    usual = measure_score(cls(k=4), Y, SCORES)
    for own in (GAINS, tuple(GAINS), np.array(GAINS), np.array(GAINS, dtype="f4"), exponential):
        found = measure_score(cls(k=4, gain=own, discount=logarithmic), Y, SCORES)
        assert found == pytest.approx(usual, abs=1e-15)
    # Real grades, and more of them than a table holds.
    y = np.r_[Y + 0.5, 9000]
    found = measure_score(cls(gain=lambda grades: grades), y, [*SCORES, 0.2])
    assert found == pytest.approx(measure_score(cls(gain="linear"), y, [*SCORES, 0.2]))


@pytest.mark.product
@pytest.mark.parametrize("k", [None, 1, 2, 9])
@pytest.mark.parametrize("gain", [[1, 2, 4], [2, 2, 3], [0, 0, 1], [0, 1, 1e308]], ids=str)
def test_the_best_order_has_an_ndcg_of_one(gain, k, rng):
    y = rng.integers(0, 3, (6, 4))
    y[0], y[1] = 0, 2
    expected = np.where(np.array(gain)[y.max(axis=1)] > 0, 1.0, np.nan)
    orders = [np.tile(order, (6, 1)) for order in permutations(range(4))]
    # With grades that are integers, and with others.
    for labels, own in ((y, gain), (y + 0.5, lambda grades: np.array(gain)[grades.astype(int)])):
        options = {"average": False, "empty": "nan"}
        values = [measure_score(NDCG(k, own), labels, order, **options) for order in orders]
        np.testing.assert_allclose(np.max(values, axis=0), expected)


@pytest.mark.every_case
@pytest.mark.parametrize("y", [[2, 0, 1, 0], [1, 0, 1, 1], [0, 0, 0, 0]])
@pytest.mark.parametrize("gain", [(1, 2, 4), (0, 0, 1), lambda grades: (grades >= 2) * 1.0])
def test_ndcg_is_its_definition_with_any_gain_of_grade_zero(y, gain):
    for order in permutations(range(1, 5)):
        found = measure_score(NDCG(2, gain), y, np.negative(order), empty="nan")
        assert found == pytest.approx(ndcg(y, order, 2, gain), nan_ok=True)


@pytest.mark.parametrize("highest", [3, 15, 16, 31, 40])
def test_the_best_order_of_many_grades_has_an_ndcg_of_one(highest, rng):
    # Their numbers in a query of nine have four bits each: those of 15 grades fit into an integer.
    y = np.array([rng.permutation(np.linspace(0, highest, 9).round()) for _ in range(5)])
    for k in (1, 4, 9):
        assert measure_score(NDCG(k, "linear"), y, y) == pytest.approx(1.0, abs=1e-12)
        expected = np.sort(y, axis=1)[:, ::-1][:, :k] @ (1 / np.log2(np.arange(k) + 2))
        worst = np.sort(y, axis=1)[:, :k] @ (1 / np.log2(np.arange(k) + 2))
        values = measure_score(NDCG(k, "linear"), y, -y, average=False)
        np.testing.assert_allclose(values, worst / expected, rtol=1e-12)


class LinearDiscount(NDCG):
    name = "linear_discount"

    def basis(self, positions, sizes):
        return np.maximum(1 - (positions - 1) / sizes, 0.0)


def test_a_subclass_of_ndcg_may_have_a_discount_of_the_size_of_the_query():
    y, scores, qid = [0, 2, 1, 2, 0], [5, 4, 3, 2, 1], [1, 1, 2, 2, 2]
    values = measure_score(LinearDiscount(), y, scores, qid=qid, average=False)
    assert values == pytest.approx([1 / 2, (1 + 3 * 2 / 3) / (3 + 1 * 2 / 3)])


def test_ndcg_is_undefined_where_no_gain_is_positive():
    y, scores = [[1, 0, 1], [2, 0, 1]], [[3, 2, 1], [3, 2, 1]]
    assert measure_score(NDCG(gain=lambda grades: (grades >= 2) * 1.0), y, scores) == 1
    assert measure_score(NDCG(gain=[0, 0, 1]), y, scores, empty="zero") == 0.5
    assert measure_score(NDCG(gain=[1, 2]), [[0, 0, 0]], [[3, 2, 1]]) == pytest.approx(1)


def test_reciprocal_rank_is_an_err():
    y = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    scores = [[3, 2, 1], [1, 3, 2], [2, 3, 1]]
    err = measure_score(ERR(gain=[0, 1]), y, scores, average=False)
    np.testing.assert_array_equal(err, measure_score("mrr", y, scores, average=False))
    hit = measure_score(ERR(k=2, gain=[0, 1], discount=np.ones_like), y, scores, average=False)
    np.testing.assert_array_equal(hit, measure_score("hit@2", y, scores, average=False))


@pytest.mark.parametrize("measure", FAMILY, ids=repr)
def test_measures_of_the_family_are_values(measure):
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert measure.same_targets_as(again)
    assert measure != type(measure)()
    with pytest.raises(AttributeError):
        measure.gain = "linear"


def test_the_repr_names_functions_and_leaves_out_what_is_usual():
    assert repr(NDCG(k=5)) == "NDCG(k=5, gain='exponential')"
    assert repr(ERR(max_grade=2)) == "ERR(k=None, max_grade=2)"
    expected = "NDCG(k=None, gain=exponential, discount=reciprocal)"
    assert repr(NDCG(gain=exponential, discount=np.reciprocal)) == expected
    assert repr(ERR(gain=[0, 0.5])) == "ERR(k=None, max_grade=None, gain=(0.0, 0.5))"
    assert "partial" in repr(DCG(gain=partial(np.multiply, 2.0)))


def test_options_reach_measures_scorers_and_rankers(rng):
    measure = get_measure("ndcg@3", gain=GAINS, discount=reciprocal)
    assert measure == NDCG(3, tuple(GAINS), reciprocal)
    assert get_scorer("ndcg@3", gain=GAINS, discount=reciprocal).measure == measure
    X, y, qid = rng.normal(size=(40, 3)), rng.integers(0, 5, 40), np.arange(40) // 5
    for ranker in (
        NDCGRanker(k=3, gain=np.array(GAINS), discount=reciprocal),
        LeastSquaresRanker(measure),
    ):
        fitted = clone(ranker).fit(X, y, qid)
        assert fitted.record_.measure == measure
        expected = measure_score(measure, y, fitted.predict(X), qid=qid)
        assert fitted.score(X, y, qid) == expected
    other = DCGRanker(gain=exponential).fit(X, y, qid).predict(X)
    np.testing.assert_allclose(DCGRanker().fit(X, y, qid).predict(X), other)


@pytest.mark.parametrize("measure", [DCG(2, [0, 1, 1.5], reciprocal), ERR(gain=halved)], ids=repr)
def test_members_of_the_families_are_calibrated(measure, rng):
    for _ in range(3):
        law = law_of(measure, 3, rng)
        X, weight = np.ones((len(law.labels), 1)), 1e3 * law.probabilities
        ranker = OrderPreservingRanker(measure, alpha=1e-9).fit(X, law.labels, sample_weight=weight)
        assert law.target_regret(measure, ranker.predict([[1.0]])[0]) < 1e-9


def test_stop_probabilities_of_their_own_need_no_scale():
    assert ERR(gain=[0, 0.5]).is_scaled
    assert ERR(gain=halved).scaled_to(Y) == ERR(gain=halved)
    assert not ERR(discount=reciprocal).is_scaled


BAD = {
    "unknown name": (lambda: DCG(gain="cubic"), "gain must be one of 'exponential'"),
    "name of another family": (lambda: ERR(gain="linear"), "gain must be one of 'exp"),
    "number": (lambda: NDCG(gain=3), "gain must be 'exponential' or 'linear', .* got 3"),
    "no gains": (lambda: DCG(gain=[]), r"gain must be .* got \[\]"),
    "words": (lambda: DCG(gain=["a", "b"]), r"gain must be .* got \['a', 'b'\]"),
    "matrix": (lambda: DCG(gain=np.eye(2)), "gain must be .* an array"),
    "negative": (lambda: DCG(gain=[-1, 2]), "non-negative, got -1 for grade 0"),
    "infinite": (lambda: DCG(gain=[0, np.inf]), "finite and non-negative, got inf for grade 1"),
    "not a number": (lambda: DCG(gain=[0, np.nan]), "got nan for grade 1"),
    "falling": (lambda: DCG(gain=[0, 2, 1]), "not decrease .* got 1 for grade 2 after 2"),
    "no probability": (lambda: ERR(gain=[0, 2]), "from 0 to 1, got 2 for grade 1"),
    "unhashable": (lambda: DCG(gain=Unhashable()), "gain must be hashable"),
    "discounts": (lambda: NDCG(discount=0.5), "discount must be None, an array .* got 0.5"),
    "no discounts": (lambda: DCG(discount=[]), r"discount must be .* got \[\]"),
    "rising discounts": (lambda: DCG(discount=[1, 2]), "got 2 at position 2, after 1"),
    "discounts of zero": (lambda: ERR(discount=[0, 0]), "positive .* got 0 at position 1"),
    "negative discounts": (lambda: DCG(discount=[1, -1]), "got -1 at position 2, after 1"),
    "infinite discounts": (lambda: NDCG(discount=[np.inf, 1]), "finite, got inf at 1"),
    "missing discounts": (lambda: NDCG(discount=[1, np.nan]), "finite, got nan at 2"),
}
BAD_ON_USE = {
    "missing gain": (DCG(gain=[0, 1]), "grades 0 to 1, because gain has 2 values, got 4"),
    "missing probability": (ERR(gain=[0, 1]), "gain has 2 values, got 4"),
    "negative gain": (DCG(gain=lambda g: g - 1), "non-negative, got -1 for grade 0"),
    "falling gain": (NDCG(gain=lambda g: 5 - g), "must not decrease .* got 4 for grade 1 after 5"),
    "infinite gain": (NDCG(gain=lambda g: g / (g < 4)), "gain must be finite, got inf at 4"),
    "scalar gain": (DCG(gain=np.max), r"array of the shape .* got shape \(\) for \(5,\)"),
    "no probability": (ERR(gain=exponential), "from 0 to 1, got 3 for grade 2"),
    "rising discount": (DCG(discount=np.sqrt), "got 1.41421 at position 2, after 1"),
    "discount of zero": (DCG(discount=np.zeros_like), "positive .* got 0 at position 1"),
    "negative discount": (ERR(discount=lambda i: 2.5 - i), "got -2.5 at position 5"),
    "discount below zero": (DCG(discount=lambda i: (3 - i) / 2), "got -1 at position 5"),
    "infinite discount": (NDCG(discount=lambda i: 1 / (i - 1)), "finite, got inf at 1"),
}


class Unhashable:
    __hash__ = None

    def __call__(self, grades):
        return grades


@pytest.mark.every_case
@pytest.mark.parametrize("case", BAD)
def test_what_is_no_gain_or_discount_is_refused(case):
    make, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.every_case
@pytest.mark.parametrize("case", BAD_ON_USE)
def test_functions_of_wrong_values_are_refused(case):
    measure, message = BAD_ON_USE[case]
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=message):
        measure_score(measure, Y, SCORES)


def test_an_array_of_gains_takes_integer_grades():
    with pytest.raises(ValueError, match=r"gain has 5 values, got 0.5"):
        measure_score(DCG(gain=GAINS), [0.5, 1], [1, 2])


@pytest.mark.parametrize("cls", [DCG, NDCG, ERR])
@pytest.mark.parametrize("k", [None, 1, 3])
def test_an_array_of_discounts_is_the_function_of_its_values(cls, k):
    def of_three(positions):
        return np.select([positions == 1, positions == 2, positions == 3], [1.0, 0.6, 0.4])

    array = cls(k=k, discount=[1, 0.6, 0.4])
    assert array == cls(k=k, discount=(1.0, 0.6, 0.4))
    assert hash(array) == hash(cls(k=k, discount=np.array([1, 0.6, 0.4])))
    assert measure_score(array, Y, SCORES) == measure_score(cls(k=k, discount=of_three), Y, SCORES)


def test_rankers_take_an_array_of_discounts(rng):
    X, y, qid = make_data(rng)
    ranker = NDCGRanker(discount=[1, 0.6, 0.4]).fit(X, y, qid)
    measure = NDCG(k=10, discount=[1, 0.6, 0.4])
    assert ranker.score(X, y, qid) == measure_score(measure, y, ranker.predict(X), qid=qid)
    assert clone(ranker).fit(X, y, qid).coef_.tolist() == ranker.coef_.tolist()
    assert DCGRanker(discount=np.array([1, 0.5])).fit(X, y, qid).score(X, y, qid) > 0
