"""Distances of values with a unit from what is observed, over documents and over queries."""

import numpy as np
import pytest

from skcalrank.metrics import document_calibration_error, query_calibration_error


@pytest.fixture
def law(rng):
    qid = rng.permutation(np.repeat(np.arange(400), 10))
    p = 1 / (1 + np.exp(-rng.normal(size=400)[qid] - rng.normal(size=len(qid))))
    return (rng.random(len(qid)) < p) * 1.0, p, qid


def test_the_truth_is_calibrated_and_other_values_are_not(law):
    y, p, qid = law
    assert document_calibration_error(y, p) < 0.03
    assert query_calibration_error(y, p, qid=qid) < 0.4
    assert document_calibration_error(y, p / 2) > 0.2
    assert query_calibration_error(y, p / 2, qid=qid) == pytest.approx(
        (y.sum() - p.sum() / 2) / 400, abs=0.1
    )
    # Means over all queries are right on average over documents, and wrong for queries.
    assert document_calibration_error(y, np.full(len(y), y.mean())) == pytest.approx(0, abs=1e-12)
    within = np.bincount(qid, p)[qid] / 10
    flat = p - within + within.mean()
    assert query_calibration_error(y, flat, qid=qid) < 1e-9 + query_calibration_error(
        y, 2 * flat, qid=qid
    )


def by_definition(y, v, n_bins):
    """The error with equal values in one bin, that of the first of them."""
    order = np.argsort(v, kind="stable")
    bins = {}
    for number, row in enumerate(order):
        first = next(k for k, other in enumerate(order) if v[other] == v[row])
        bins.setdefault(first * n_bins // len(y), []).append(row)
        assert first <= number
    return sum(abs(sum(y[rows]) - sum(v[rows])) for rows in bins.values()) / len(y)


@pytest.mark.parametrize("n_bins", [1, 3, 7])
def test_bins_are_those_of_the_definition(n_bins, rng):
    y, v = rng.integers(0, 3, 40) * 1.0, np.round(rng.random(40), 1)
    expected = by_definition(y, v, n_bins)
    assert document_calibration_error(y, v, n_bins=n_bins) == pytest.approx(expected)
    rows = rng.permutation(40)
    assert document_calibration_error(y[rows], v[rows], n_bins=n_bins) == pytest.approx(expected)
    assert query_calibration_error(y, v, qid=np.arange(40), n_bins=n_bins) == pytest.approx(
        expected
    )
    twice = np.repeat(rows, 2)
    assert document_calibration_error(y[twice], v[twice], n_bins=n_bins) == pytest.approx(expected)


def test_weights_and_relative_errors(law):
    y, p, qid = law
    weight = (qid < 200) * 2.0
    found = document_calibration_error(y, p, n_bins=1, sample_weight=weight)
    assert found == pytest.approx(abs(y[qid < 200].mean() - p[qid < 200].mean()))
    plain = query_calibration_error(y, p, qid=qid)
    assert query_calibration_error(y, p, qid=qid, relative=True) == pytest.approx(
        plain / (y.sum() / 400)
    )
    assert np.isnan(query_calibration_error(0 * y, p, qid=qid, relative=True))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="y_value must have the shape"):
        document_calibration_error([0, 1], [0.5])
    with pytest.raises(ValueError, match="n_bins must be an integer"):
        document_calibration_error([0, 1], [0.5, 0.5], n_bins=0)
    with pytest.raises(ValueError, match="y_value"):
        query_calibration_error([0, 1], [0.5, np.nan], qid=[0, 0])
