"""Curves of a measure against its cutoff: what is drawn is what the metrics say."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from cases import INSTANCES, draw_labels, make_data
from pictures import edges, legend_of
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    AveragePrecisionRanker,
    NDCGRanker,
    PreferenceTarget,
    RankingTarget,
    get_scorer,
)
from skcalrank.displays import MeasureAtKDisplay
from skcalrank.measures import NDCG, Precision
from skcalrank.metrics import EMPTY, measure_score

pytest.importorskip("matplotlib.pyplot")

WITH_CUTOFF = [m for m in INSTANCES if m.has_cutoff and m.k is None]


@pytest.mark.product
@pytest.mark.parametrize("measure", WITH_CUTOFF, ids=repr)
@pytest.mark.parametrize("ties", ["average", "worst"])
def test_curve_is_the_metric_at_every_cutoff(measure, ties, rng):
    qid = rng.permutation(np.repeat(np.arange(6), [3, 1, 7, 5, 2, 4]))
    y = draw_labels(measure, len(qid), rng)
    scores = rng.integers(4, size=len(qid)).astype(float)
    weight = rng.uniform(size=len(qid))
    display = MeasureAtKDisplay.from_predictions(
        y, scores, qid=qid, measure=measure, ties=ties, sample_weight=weight
    )
    assert display.k.tolist() == [1, 2, 3, 4, 5, 6, 7]
    expected = [
        measure_score(replace(measure, k=k), y, scores, qid=qid, ties=ties, sample_weight=weight)
        for k in range(1, 8)
    ]
    np.testing.assert_allclose(display.value, expected, rtol=1e-12)
    np.testing.assert_array_equal(display.line_.get_xdata(), display.k)
    np.testing.assert_array_equal(display.line_.get_ydata(), display.value)
    assert display.ax_.get_ylabel() == f"{measure.name}@k"


@pytest.mark.parametrize("empty", EMPTY)
def test_curve_in_label_form(empty, rng):
    y, scores = rng.integers(2, size=(9, 4)), rng.normal(size=(9, 4))
    y[3] = 0
    weight = rng.uniform(size=9)
    if empty in ("nan", "error"):
        weight[~y.any(axis=1)] = 0  # a row of weight 0 needs no value
    policies = {"empty": empty, "sample_weight": weight}
    display = MeasureAtKDisplay.from_predictions(y, scores, measure="recall", k=3, **policies)
    expected = [measure_score(f"recall@{k}", y, scores, **policies) for k in (1, 2, 3)]
    np.testing.assert_allclose(display.value, expected, rtol=1e-12)


def test_standard_error_is_that_of_the_mean_over_queries(rng):
    y, scores = rng.integers(4, size=(12, 5)), rng.normal(size=(12, 5))
    display = MeasureAtKDisplay.from_predictions(y, scores, measure="dcg")
    values = [measure_score(f"dcg@{k}", y, scores, average=False) for k in display.k]
    expected = np.std(values, axis=1, ddof=1) / np.sqrt(12)
    np.testing.assert_allclose(display.standard_error, expected, rtol=1e-12)
    # Equal weights are none, and a weight of zero leaves the query out.
    weighted = partial(MeasureAtKDisplay.from_predictions, measure="dcg")
    same = weighted(y, scores, sample_weight=np.full(12, 3.0))
    np.testing.assert_allclose(same.standard_error, expected, rtol=1e-12)
    without = weighted(y, scores, sample_weight=np.arange(12) > 3)
    np.testing.assert_allclose(
        without.standard_error, weighted(y[4:], scores[4:]).standard_error, rtol=1e-12
    )


def test_band_around_the_curve(rng):
    y, scores = rng.integers(4, size=(12, 5)), rng.normal(size=(12, 5))
    display = MeasureAtKDisplay.from_predictions(y, scores, band=2.0)
    np.testing.assert_allclose(
        edges(display.band_, display.k),
        [
            display.value - 2 * display.standard_error,
            display.value + 2 * display.standard_error,
        ],
    )
    assert display.plot(band=0).band_ is None
    single = MeasureAtKDisplay.from_predictions(y[0], scores[0])
    assert single.standard_error is None
    assert single.band_ is None


def test_any_estimator_can_be_drawn(rng):
    X, y, qid = make_data(rng)
    pipe = make_pipeline(StandardScaler(), NDCGRanker(estimator=Ridge()))
    search = GridSearchCV(
        pipe,
        {"ndcgranker__estimator__alpha": [1.0]},
        cv=GroupKFold(2),
        scoring=get_scorer("ndcg@3"),
    )
    pairs = AveragePrecisionRanker(surrogate="pairwise", relevance_level=1)
    target = RankingTarget(y, qid)
    fitted = [
        LinearRegression().fit(X, y),
        NDCGRanker().fit(X, y, qid),
        pipe.fit(X, y, ndcgranker__qid=qid),
        search.fit(X, target, groups=qid),
        pairs.fit(X, y, qid),  # its predict needs the queries
    ]
    for estimator in fitted:
        display = MeasureAtKDisplay.from_estimator(estimator, X, y, qid=qid, k=3)
        expected = [get_scorer(f"ndcg@{k}")(estimator, X, y, qid=qid) for k in (1, 2, 3)]
        np.testing.assert_allclose(display.value, expected, rtol=1e-12)
        assert legend_of(display.ax_)[0] == type(estimator).__name__
        assert display.ax_.get_title() == ""
        carried = MeasureAtKDisplay.from_estimator(estimator, X, target, k=3)
        np.testing.assert_array_equal(carried.value, display.value)


def test_curves_share_axes_and_have_names(rng):
    y, scores = rng.integers(4, size=(12, 5)), rng.normal(size=(12, 5))
    display = MeasureAtKDisplay.from_predictions(y, scores)
    named = "± 1 standard error (66.1 %), 12 queries"
    assert legend_of(display.ax_) == [named]
    display.plot(display.ax_, name="again", curve_kwargs={"c": "red", "ls": ":"})
    assert display.line_.get_color() == "red"
    assert display.line_.get_linestyle() == ":"
    assert len(display.ax_.lines) == 2
    # Both curves have the same kind of band.
    assert legend_of(display.ax_) == [named, "again"]
    assert display.name is None
    np.testing.assert_allclose(display.band_.get_facecolor()[0, :3], [1, 0, 0])
    display.plot(display.ax_, band=2, band_kwargs={"label": "mine"})
    assert "mine" in legend_of(display.ax_)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"measure": "auc"}, "one with a cutoff .ndcg, dcg, precision"),
        ({"measure": "ndcg@5"}, "must have no cutoff, .* got NDCG"),
        ({"measure": NDCG(k=5)}, "must have no cutoff"),
        ({"measure": "ndgc"}, "Unknown measure 'ndgc'"),
        ({"k": 0}, "k must be an integer >= 1, .* got 0"),
        ({"ties": "random"}, "ties must .* got 'random'"),
    ],
)
def test_curve_says_what_is_wrong(options, match):
    with pytest.raises(ValueError, match=match):
        MeasureAtKDisplay.from_predictions([0, 1], [0.1, 0.2], **options)


def test_curve_needs_relevances_a_defined_measure_and_queries():
    target = PreferenceTarget.from_comparisons([1], [0], qid=[7, 7])
    with pytest.raises(ValueError, match="ndcg needs relevances"):
        MeasureAtKDisplay.from_predictions(target, [0.1, 0.2])
    with pytest.raises(ValueError, match="must be defined on a query"):
        MeasureAtKDisplay.from_predictions([0, 0], [0.1, 0.2], measure="recall")
    regressor = DummyRegressor().fit([[0], [1]], [0, 1])
    with pytest.warns(UserWarning, match="all rows count as one query"):
        MeasureAtKDisplay.from_estimator(regressor, [[0], [1]], [0, 1])


def test_options_of_the_measure():
    y, scores = [[0, 2, 1]], [[3.0, 2.0, 1.0]]
    display = MeasureAtKDisplay.from_predictions(y, scores, measure=Precision(relevance_level=2))
    np.testing.assert_allclose(display.value, [0, 1 / 2, 1 / 3])


@pytest.mark.parametrize("band", [-1, "1", np.nan, None])
def test_bands_have_a_width_from_zero(band):
    with pytest.raises(ValueError, match=r"band must be a finite number >= 0"):
        MeasureAtKDisplay.from_predictions([0, 1, 1], [0.1, 0.2, 0.0], qid=[1, 1, 1], band=band)
