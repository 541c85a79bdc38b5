"""Plots of values with a unit against what is observed, and of what cut-offs lose."""

import numpy as np
import pytest
from around_cases import drawn_law, frozen
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.pipeline import make_pipeline

from skcalrank import CalibratedRankerCV, GuaranteedCutoff, RankingTarget
from skcalrank.displays import CutoffDisplay, ReliabilityDisplay
from skcalrank.metrics import Bins, document_calibration_error, query_calibration_error

pytest.importorskip("matplotlib")


def test_documents_are_binned_as_by_sklearn(rng):
    X, y, qid = drawn_law(rng, 50, 16)
    p, y = 1 / (1 + np.exp(-X[:, 0])), (y >= 1) * 1.0
    rows = slice(0, len(y) // 8 * 8)
    display = ReliabilityDisplay.from_predictions(y[rows], p[rows], qid=qid[rows], n_bins=8)
    expected = calibration_curve(y[rows], p[rows], n_bins=8, strategy="quantile")
    assert_allclose(display.documents[:2], expected[::-1], rtol=1e-12)
    error = document_calibration_error(y[rows], p[rows], n_bins=8)
    assert np.abs(np.diff(display.documents[:2], axis=0)).mean() == pytest.approx(error)
    assert_array_equal(display.lines_[0].get_xydata().T, display.documents[:2])
    drawn = [lines.vertices for lines in display.intervals_[0].get_paths()]
    assert_allclose(np.array(drawn)[:, :, 1].T, display.documents[2:4])


def test_queries_are_means_of_their_documents(rng):
    y, p = (rng.random((40, 5)) < 0.4).ravel() * 1.0, rng.random(200)
    qid = np.repeat(np.arange(40), 5)
    display = ReliabilityDisplay.from_predictions(y, p, qid=qid, n_bins=10)
    order = np.argsort(p.reshape(40, 5).mean(axis=1)).reshape(10, 4)
    for found, of in zip(display.queries[:2], (p, y)):
        assert_allclose(found, of.reshape(40, 5).mean(axis=1)[order].mean(axis=1))
    error = query_calibration_error(y, p, qid=qid, n_bins=10)
    assert 5 * np.abs(np.diff(display.queries[:2], axis=0)).mean() == pytest.approx(error)


def test_the_level_is_that_of_the_estimator(rng):
    X, y, qid = drawn_law(rng, 60, 12)
    fitted = CalibratedRankerCV(frozen(), relevance_level=2, level=None).fit(X, y, qid)
    shown = ReliabilityDisplay.from_estimator(fitted, X, RankingTarget(y, qid))
    given = ReliabilityDisplay.from_predictions(y >= 2, fitted.predict(X, qid), qid=qid)
    assert_array_equal(shown.documents, given.documents)
    assert_array_equal(shown.queries, given.queries)
    other = ReliabilityDisplay.from_estimator(fitted, X, y, qid=qid, relevance_level=1)
    assert (other.documents.observed >= shown.documents.observed).all()
    grades = fitted.set_params(target="grade").fit(X, y, qid)
    assert ReliabilityDisplay.from_estimator(grades, X, y, qid=qid).documents.value.max() > 1


@pytest.mark.parametrize("target", ["gain", "recall"])
def test_what_is_observed_is_the_target(rng, target):
    X, y, qid = drawn_law(rng, 60, 12)
    y[qid == qid[0]] = 0
    fitted = CalibratedRankerCV(frozen(), target, relevance_level=2, level=None).fit(X, y, qid)
    p, seen, counts = fitted.predict(X, qid), 2.0**y - 1, np.ones(len(y), dtype=bool)
    if target == "recall":
        relevant = {q: (y[qid == q] >= 2).sum() for q in np.unique(qid)}
        number = np.array([relevant[q] for q in qid])
        seen, counts = (y >= 2) / np.maximum(number, 1), number > 0
        assert not counts.all()
    shown = ReliabilityDisplay.from_estimator(make_pipeline("passthrough", fitted), X, y, qid=qid)
    given = ReliabilityDisplay.from_predictions(seen[counts], p[counts], qid=qid[counts])
    assert_allclose(shown.documents, given.documents)
    assert_allclose(shown.queries, given.queries)


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="y_value must have the shape"):
        ReliabilityDisplay.from_predictions([0, 1], [0.1])
    with pytest.raises(ValueError, match="n_bins must be an integer >= 1"):
        ReliabilityDisplay.from_predictions([0, 1], [0.1, 0.2], n_bins=0)


@pytest.mark.parametrize("alike", [0.0, 0.3])
@pytest.mark.parametrize("n", [20, 50, 200])
def test_intervals_of_bins_cover(n, alike):
    """95 % intervals hold the mean value of perfect probabilities, or of dependent documents."""
    rng, qid, covered = np.random.default_rng(0), np.repeat(np.arange(n), 10), []
    for _ in range(200):
        p = 1 / (1 + np.exp(2 - rng.normal(size=n)[qid] - rng.normal(size=10 * n)))
        same = rng.random(10 * n) < alike
        y = np.where(same, rng.random(n)[qid], rng.random(10 * n)) < p
        bins = Bins.of(y * 1.0, p, 10, qid)
        assert bins.counts.sum() == 10 * n
        covered.append(((bins.low <= bins.value) & (bins.value <= bins.high)).mean())
    assert 0.94 < np.mean(covered) < 0.98


@pytest.mark.parametrize("n", [10, 20, 50])
def test_intervals_of_bins_with_equal_labels_cover(n):
    # Documents of a query have one label, mostly 0: bins often have no other.
    rng, qid, covered = np.random.default_rng(0), np.repeat(np.arange(n), 20), []
    for _ in range(300):
        p = rng.beta(1, 9, size=n)
        bins = Bins.of((rng.random(n) < p)[qid] * 1.0, p[qid], 3, qid)
        covered.append(((bins.low <= bins.value) & (bins.value <= bins.high)).mean())
    assert np.mean(covered) > 0.94


def test_intervals_follow_the_unit_of_the_labels(rng):
    y, p, qid = rng.integers(0, 2, 80) * 1.0, rng.random(80), np.repeat(np.arange(16), 5)
    shares, grades = Bins.of(y, p, 4, qid), Bins.of(3 * y, 3 * p, 4, qid)
    assert_allclose(grades[:4], 3 * np.array(shares[:4]))
    assert (shares.low < shares.observed).all()
    assert (shares.observed < shares.high).all()
    none = Bins.of(0 * y, p, 4, qid)
    assert (none.low == 0).all()
    assert ((none.high > 0.2) & (none.high < 0.4)).all()  # of about 11 queries each
    # A bin of one query tells nothing about others.
    assert np.isnan(Bins.of(y, p, 1, 0 * qid).low).all()


@pytest.mark.parametrize("by", ["score", "depth"])
@pytest.mark.parametrize("loss", ["recall", "dcg", "no_answer"])
def test_losses_are_those_of_cutoffs(loss, by, rng):
    if (loss, by) == ("no_answer", "depth"):
        return
    X, y, qid = drawn_law(rng, 120, 12)
    cutoff = GuaranteedCutoff(frozen(), loss, 0.2, by=by, relevance_level=1).fit(X, y, qid)
    display = CutoffDisplay.from_estimator(cutoff, X, y, qid=qid, n_splits=40)
    assert_allclose(display.alpha, np.arange(1, 11) / 20)
    lost, kept = display.loss["all queries"], display.kept["all queries"]
    # All queries are on both sides, so that the mean over halves is close to what is promised.
    assert (np.diff(lost) >= 0).all()
    assert (np.diff(kept) <= 0).all()
    if by == "score":
        assert np.abs(lost - display.alpha).max() < 0.04
    assert len(display.loss) == 4
    assert [line.get_label() for line in display.loss_lines_] == list(display.loss)


def test_large_queries_lose_more_at_the_same_depth(rng):
    X, y, qid = drawn_law(rng, 120, 30)
    cutoff = GuaranteedCutoff(frozen(), by="depth", relevance_level=1).fit(X, y, qid)
    display = CutoffDisplay.from_estimator(cutoff, X, y, qid=qid, alpha=[0.2], n_sizes=2)
    _, small, large = (loss[0] for loss in display.loss.values())
    assert small < 0.1 < 0.2 < large
    display = CutoffDisplay.from_estimator(cutoff, X, y, qid=qid, alpha=[0.2], n_sizes=99)
    ends = [label.split()[:3:2] for label in display.loss if " to " in label]
    assert all(first != last for first, last in ends)
    assert "10 documents" in display.loss


def test_what_cannot_be_promised_is_left_out_or_refused(rng):
    X, y, qid = drawn_law(rng, 30, 12, empty=0.0)
    cutoff = GuaranteedCutoff(frozen(), by="score", relevance_level=1, alpha=0.2).fit(X, y, qid)
    assert CutoffDisplay.from_estimator(cutoff, X, y, qid=qid).alpha.min() > 0.05
    with pytest.raises(ValueError, match="at least 98 queries with something to lose"):
        CutoffDisplay.from_estimator(cutoff, X, y, qid=qid, alpha=[0.02])
    for wrong in ([], [0], [0.2, 1.0], [np.nan]):
        with pytest.raises(ValueError, match="alpha must have losses above 0 and below 1"):
            CutoffDisplay.from_estimator(cutoff, X, y, qid=qid, alpha=wrong)
    cutoff.loss = "precision"
    with pytest.raises(ValueError, match="a loss of mass"):
        CutoffDisplay.from_estimator(cutoff, X, y, qid=qid)
