"""Metrics of random problems: enumeration, containers, and invariances."""

from dataclasses import replace

import numpy as np
import pytest
from cases import INSTANCES, grades
from definitions import definition, orders_of_ties, stable_positions

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    FEATURES,
    codes_of_queries,
    contained,
    examples,
    orders,
    qids,
    quiet,
    refused,
    snapshot,
    vectors,
)

from skcalrank.data import TIES
from skcalrank.measures import MEASURES
from skcalrank.metrics import EMPTY, measure_score

every_measure = pytest.mark.parametrize("name", MEASURES)
WEIGHTS = (0.0, 0.25, 1.0, 3.0)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
OF_UNDEFINED = {"zero": 0.0, "one": 1.0}


@st.composite
def measures(draw, name):
    measure = draw(st.sampled_from([each for each in INSTANCES if each.name == name]))
    return replace(measure, k=draw(st.integers(1, 7))) if measure.has_cutoff else measure


@st.composite
def problems(draw, name):
    """A measure, and labels and scores of documents of some queries."""
    measure, codes = draw(measures(name)), draw(codes_of_queries())
    y = draw(vectors(len(codes), grades(measure).tolist()))
    return measure, codes, y, draw(vectors(len(codes), FEATURES))


def one_query(measure, y, scores, ties):
    """The value of a query, over all orders of tied documents."""
    if ties in ("stable", "reversed"):
        return definition(measure, y, stable_positions(scores, last_first=ties == "reversed"))
    values = [definition(measure, y, positions) for positions in orders_of_ties(scores)]
    return {"average": np.mean, "worst": np.min, "best": np.max}[ties](values)


def by_enumeration(measure, codes, y, scores, ties):
    rows = [codes == code for code in dict.fromkeys(codes.tolist())]
    return np.array([one_query(measure, y[these], scores[these], ties) for these in rows])


def test_the_slow_profile_draws_other_examples_each_time():
    assert settings.get_profile("default").derandomize
    assert not settings.get_profile("slow").derandomize


@every_measure
@examples(2)
@given(data=st.data())
def test_values_are_those_of_all_orders(name, data):
    measure, codes, y, scores = data.draw(problems(name))
    ties = data.draw(st.sampled_from(TIES))
    empty = data.draw(st.sampled_from([each for each in EMPTY if each != "error"]))
    options = {"qid": codes, "ties": ties, "empty": empty}
    expected = by_enumeration(measure, codes, y, scores, ties)
    filled = np.where(np.isnan(expected), OF_UNDEFINED.get(empty, np.nan), expected)
    found = measure_score(measure, y, scores, average=False, **options)
    np.testing.assert_allclose(found, filled, rtol=1e-9, atol=1e-12)
    if empty == "skip":
        filled = filled[~np.isnan(filled)]
    with quiet():
        mean = measure_score(measure, y, scores, **options)
    np.testing.assert_allclose(
        mean, filled.mean() if len(filled) else np.nan, rtol=1e-9, atol=1e-12
    )


@every_measure
@examples(0.6)
@given(data=st.data())
def test_containers_change_nothing(name, data):
    measure, codes, y, scores = data.draw(problems(name))
    weight = data.draw(vectors(len(codes), WEIGHTS).filter(np.any))
    ties = data.draw(st.sampled_from(TIES))
    expected = measure_score(measure, y, scores, qid=codes, ties=ties, average=False)
    given_ = {
        "y_true": data.draw(contained(y)),
        "y_score": data.draw(contained(scores)),
        "qid": data.draw(qids(codes)),
        "sample_weight": data.draw(contained(weight)),
    }
    before = {key: snapshot(value) for key, value in given_.items()}
    found = measure_score(measure, **given_, ties=ties, average=False)
    np.testing.assert_array_equal(found, expected)
    assert before == {key: snapshot(value) for key, value in given_.items()}


@every_measure
@given(data=st.data())
def test_order_of_rows_and_queries_changes_nothing(name, data):
    measure, codes, y, scores = data.draw(problems(name))
    weight = data.draw(vectors(len(codes), WEIGHTS))
    weight = weight if all(weight[codes == code].any() for code in codes) else weight + 1
    rows = data.draw(orders(len(codes)))
    ties = data.draw(st.sampled_from(["average", "worst", "best"]))
    options = {"ties": ties, "empty": "zero"}
    first = measure_score(measure, y, scores, qid=codes, sample_weight=weight, **options)
    again = measure_score(
        measure, y[rows], scores[rows], qid=codes[rows], sample_weight=weight[rows], **options
    )
    assert again == pytest.approx(first, rel=1e-9, abs=1e-12)
    # A weight is a share, and scores are an order.
    scaled = measure_score(
        measure, y, np.exp(scores) - 9, qid=-codes, sample_weight=weight * 1e-200, **options
    )
    assert scaled == pytest.approx(first, rel=1e-9, abs=1e-12)


@every_measure
@given(data=st.data())
def test_a_matrix_has_a_query_in_every_row(name, data):
    measure = data.draw(measures(name))
    n, r = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 5))
    y = data.draw(vectors(n * r, grades(measure).tolist()))
    scores = data.draw(vectors(n * r, FEATURES))
    ties = data.draw(st.sampled_from(TIES))
    expected = measure_score(
        measure, y, scores, qid=np.repeat(np.arange(n), r), ties=ties, average=False
    )
    found = measure_score(
        measure,
        data.draw(contained(y.reshape(n, r))),
        data.draw(contained(scores.reshape(n, r))),
        ties=ties,
        average=False,
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
@every_measure
@given(data=st.data())
def test_numbers_of_every_size_give_a_value_or_an_error(name, data):
    measure, codes, y, scores = data.draw(problems(name))
    size = data.draw(st.sampled_from([5e-324, 1e-300, 1e-17, 1.0, 1e17, 1e154, 1e300, 1.7e308]))
    labels = vectors(len(codes), (y * min(size, 8e307)).tolist())
    wild = st.lists(FINITE, min_size=len(codes), max_size=len(codes)).map(np.array)
    y, scores = data.draw(labels | wild), data.draw(wild)
    y = np.abs(y) if measure.positive_only else y
    ties = data.draw(st.sampled_from(TIES))
    value = refused(lambda: measure_score(measure, y, scores, qid=codes, ties=ties))
    assert value is None or np.isfinite(value) or np.isnan(value)
