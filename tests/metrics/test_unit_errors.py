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
    below = query_calibration_error(-y, -p, qid=qid, relative=True)
    assert below == pytest.approx(query_calibration_error(y, p, qid=qid, relative=True))


@pytest.mark.parametrize("return_expected", [False, True])
def test_rows_of_weight_zero_are_absent(return_expected, law, rng):
    y, p, _ = law
    weight = rng.integers(0, 3, len(y))
    kept, options = weight > 0, {"return_expected": return_expected}
    assert document_calibration_error(
        np.where(kept, y, 7.0), p, sample_weight=weight, **options
    ) == document_calibration_error(y[kept], p[kept], sample_weight=weight[kept], **options)


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("of_queries", [False, True])
def test_expected_error_is_that_of_perfect_probabilities(n, of_queries):
    """The mean over 1,000 draws of labels, by the definition: bins by their edges."""
    rng, qid = np.random.default_rng(1), np.repeat(np.arange(n), 10)
    p = 1 / (1 + np.exp(2 - rng.normal(size=n)[qid] - rng.normal(size=10 * n)))
    drawn = (rng.random((1000, 10 * n)) < p) * 1.0
    if of_queries:
        found = query_calibration_error(drawn[0], p, qid=qid, return_expected=True)
        v, y, n_bins = p.reshape(n, 10).sum(1), drawn.reshape(-1, n, 10).sum(2), 10
    else:
        found = document_calibration_error(drawn[0], p, return_expected=True)
        v, y, n_bins = p, drawn, 15
    order = np.argsort(v)
    parts = np.array_split(order, n_bins)
    if len(order) % n_bins:
        bins = np.arange(len(order)) * n_bins // len(order)
        parts = [order[bins == b] for b in range(n_bins)]
    errors = sum(np.abs(y[:, part].sum(1) - v[part].sum()) for part in parts) / len(v)
    assert found.error == pytest.approx(errors[0])
    error = errors.std() * np.sqrt(1 / 1000 + 1 / 200)
    assert found.expected == pytest.approx(errors.mean(), abs=2.6 * error)
    assert error < 0.03 * errors.mean()


def test_expected_errors_keep_order_weight_and_unit(law):
    y, p, qid = law
    rows = np.random.default_rng(1).permutation(len(y))
    weight = 1.0 + (qid < 200)

    def found(y, p, qid, weight, **options):
        options["return_expected"] = True
        yield document_calibration_error(y, p, sample_weight=weight, **options)
        yield query_calibration_error(y, p, qid=qid, **options)

    whole = list(found(y, p, qid, weight))
    np.testing.assert_allclose(list(found(y[rows], p[rows], qid[rows], weight[rows])), whole)
    assert document_calibration_error(y, p, sample_weight=weight) == whole[0].error
    relative = query_calibration_error(y, p, qid=qid, relative=True, return_expected=True)
    np.testing.assert_allclose(relative, np.array(whole[1]) / (y.sum() / 400))


def test_queries_of_equal_sums_stay_together_in_every_order_of_rows(rng):
    p, qid = np.tile([0.1, 0.2, 0.3], 20), np.repeat(np.arange(20), 3)
    y, rows = (rng.random(60) < p).astype(int), rng.permutation(60)
    options = {"return_expected": True}
    whole = query_calibration_error(y, p, qid=qid, **options)
    assert query_calibration_error(y[rows], p[rows], qid=qid[rows], **options) == pytest.approx(
        whole
    )
    assert whole.error == pytest.approx(abs(y.mean() - p.mean()) * 3)  # one bin


@pytest.mark.parametrize(
    ("y", "p"), [([0, 2], [0.1, 0.5]), ([0, 1], [-0.1, 0.5]), ([0, 1], [0, 2])]
)
def test_labels_are_drawn_from_probabilities_alone(y, p):
    with pytest.raises(ValueError, match="y_true must be 0 or 1 and y_value in"):
        document_calibration_error(y, p, return_expected=True)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="y_value must have the shape"):
        document_calibration_error([0, 1], [0.5])
    with pytest.raises(ValueError, match="n_bins must be an integer"):
        document_calibration_error([0, 1], [0.5, 0.5], n_bins=0)
    with pytest.raises(ValueError, match="y_value"):
        query_calibration_error([0, 1], [0.5, np.nan], qid=[0, 0])
