"""Displays: what is drawn is what the metrics, laws and rankers say."""

import inspect
import pickle
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from cases import INSTANCES, draw_labels, make_data
from joblib import parallel_backend
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    AveragePrecisionRanker,
    DCGRanker,
    MissingQidError,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    RankingTarget,
    SpearmanRanker,
    displays,
    get_scorer,
)
from skcalrank.calibration import LabelDistribution, regret_bound
from skcalrank.datasets import make_label_ranking, make_subset_ranking
from skcalrank.displays import (
    ContributionDisplay,
    MeasureAtKDisplay,
    PairMatrixDisplay,
    RegretBoundDisplay,
    RegretCurveDisplay,
)
from skcalrank.losses import LOSSES
from skcalrank.measures import NDCG, Precision
from skcalrank.metrics import measure_score

plt = pytest.importorskip("matplotlib.pyplot")

WITH_CUTOFF = [m for m in INSTANCES if m.has_cutoff and m.k is None]
CLASSES = [getattr(displays, name) for name in displays.__all__]


def at_k():
    return MeasureAtKDisplay.from_predictions([[0, 1, 1], [1, 0, 0]], [[1, 3, 2], [2, 3, 1]])


def regret_curve():
    return RegretCurveDisplay.from_results([10, 100], {"a": [[2.0, 1.0], [0.2, 0.1]]})


def regret_bound_of():
    return RegretBoundDisplay.from_regrets([0.1, 0.4], [0.1, 0.2], bound=np.sqrt, name="points")


def contributions():
    X = [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]]
    return ContributionDisplay.from_estimator(NDCGRanker().fit(X, [0, 1, 2]), X, 1, 0)


def pair_matrix():
    return PairMatrixDisplay.from_predictions([[0, 1, 0], [0, 0, 1], [1, 0, 0]])


MADE = {
    ContributionDisplay: contributions,
    MeasureAtKDisplay: at_k,
    RegretCurveDisplay: regret_curve,
    RegretBoundDisplay: regret_bound_of,
    PairMatrixDisplay: pair_matrix,
}


# -- what all displays have in common ------------------------------------------------


def constructors(cls):
    return {
        name: method
        for name, method in inspect.getmembers(cls, inspect.ismethod)
        if name.startswith("from_")
    }


@pytest.mark.parametrize("cls", CLASSES)
def test_signatures_are_uniform(cls):
    stored = inspect.signature(cls).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY for p in stored)
    plot = inspect.signature(cls.plot).parameters
    assert list(plot)[1:3] == ["ax", "name"]
    assert plot["ax"].default is None
    assert plot["name"].kind is inspect.Parameter.KEYWORD_ONLY
    style = {name for name in plot if name not in ("self", "name")}
    assert constructors(cls)
    for method in constructors(cls).values():
        assert style <= set(inspect.signature(method).parameters), method


@pytest.mark.parametrize("cls", CLASSES)
def test_display_stores_its_arrays_and_artists(cls):
    display = MADE[cls]()
    assert set(inspect.signature(cls).parameters) <= set(vars(display))
    assert display.figure_ is display.ax_.figure
    assert len(plt.get_fignums()) == 1
    for name in set(vars(display)) - set(inspect.signature(cls).parameters):
        assert name.endswith("_"), name


@pytest.mark.parametrize("cls", CLASSES)
def test_plot_returns_the_display_and_takes_axes(cls):
    display = MADE[cls]()
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first
    _, ax = plt.subplots()
    n_artists = len(ax.get_children())
    assert display.plot(ax).ax_ is ax
    once = len(ax.get_children())
    assert once > n_artists
    assert display.plot(ax).ax_ is ax
    assert len(ax.get_children()) > once
    # Every artist can be drawn, and the display outlives its figure.
    display.figure_.canvas.draw()
    plt.close("all")
    assert display.plot().figure_ is not ax.figure
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("cls", CLASSES)
def test_matplotlib_is_asked_for_by_name(cls, monkeypatch):
    display = MADE[cls]()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=rf"{cls.__name__}.plot requires .*skcalrank\[plot\]"):
        display.plot()
    for name, method in constructors(cls).items():
        wanted = [
            p
            for p in inspect.signature(method).parameters.values()
            if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        with pytest.raises(ImportError, match=rf"{cls.__name__}.{name} requires matplotlib"):
            method(*[None] * len(wanted))


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# -- measure at k --------------------------------------------------------------------


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


@pytest.mark.parametrize("empty", ["skip", "zero", "one"])
def test_curve_in_label_form(empty, rng):
    y, scores = rng.integers(2, size=(9, 4)), rng.normal(size=(9, 4))
    y[3] = 0
    weight = rng.uniform(size=9)
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


def edges(band, x):
    """Lower and upper edge of a band at each x."""
    vertices = band.get_paths()[0].vertices
    return np.array([[f(vertices[vertices[:, 0] == at, 1]) for at in x] for f in (np.min, np.max)])


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
        assert legend_of(display.ax_) == [type(estimator).__name__]
        carried = MeasureAtKDisplay.from_estimator(estimator, X, target, k=3)
        np.testing.assert_array_equal(carried.value, display.value)


def test_curves_share_axes_and_have_names(rng):
    y, scores = rng.integers(4, size=(12, 5)), rng.normal(size=(12, 5))
    display = MeasureAtKDisplay.from_predictions(y, scores)
    assert display.ax_.get_legend() is None
    display.plot(display.ax_, name="again", curve_kwargs={"c": "red", "ls": ":"})
    assert display.line_.get_color() == "red"
    assert display.line_.get_linestyle() == ":"
    assert len(display.ax_.lines) == 2
    assert legend_of(display.ax_) == ["again"]
    assert display.name is None
    np.testing.assert_allclose(display.band_.get_facecolor()[0, :3], [1, 0, 0])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"measure": "auc"}, "auc has no cutoff, choose one of ndcg, dcg, precision"),
        ({"measure": "ndcg@5"}, "leave it out, and pass the last one as k"),
        ({"measure": NDCG(k=5)}, "leave it out"),
        ({"measure": "ndgc"}, "Unknown measure 'ndgc'"),
        ({"k": 0}, "k=0: the cutoff is an integer from 1"),
        ({"ties": "random"}, "ties='random'"),
    ],
)
def test_curve_says_what_is_wrong(options, match):
    with pytest.raises(ValueError, match=match):
        MeasureAtKDisplay.from_predictions([0, 1], [0.1, 0.2], **options)


def test_curve_needs_relevances_a_defined_measure_and_queries():
    target = PreferenceTarget.from_comparisons([1], [0], qid=[7, 7])
    with pytest.raises(ValueError, match="ndcg wants relevances"):
        MeasureAtKDisplay.from_predictions(target, [0.1, 0.2])
    with pytest.raises(ValueError, match="on every query: there is no curve"):
        MeasureAtKDisplay.from_predictions([0, 0], [0.1, 0.2], measure="recall")
    regressor = DummyRegressor().fit([[0], [1]], [0, 1])
    with pytest.warns(UserWarning, match="all rows count as one query"):
        MeasureAtKDisplay.from_estimator(regressor, [[0], [1]], [0, 1])


def test_options_of_the_measure():
    y, scores = [[0, 2, 1]], [[3.0, 2.0, 1.0]]
    display = MeasureAtKDisplay.from_predictions(y, scores, measure=Precision(relevance_level=2))
    np.testing.assert_allclose(display.value, [0, 1 / 2, 1 / 3])


# -- regret curve --------------------------------------------------------------------

SIZES = np.array([10, 100, 1000])


def test_slope_of_a_power():
    noise = np.array([[0.5, 1.5]])
    values = {"half": noise * SIZES[:, None] ** -0.5, "one": 3.0 / SIZES, "none": np.zeros(3)}
    display = RegretCurveDisplay.from_results(SIZES, values, measure_name="dcg@3")
    np.testing.assert_allclose(list(display.slopes.values()), [-0.5, -1.0, np.nan])
    assert legend_of(display.ax_) == ["half (slope -0.50)", "one (slope -1.00)", "none"]
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylabel() == "dcg@3 regret"
    np.testing.assert_allclose(display.lines_[0].get_ydata(), SIZES**-0.5)
    assert len(display.bands_) == 1, "one repetition has no error"


def test_band_of_a_regret_is_symmetric_in_the_logarithm(rng):
    values = rng.exponential(size=(3, 8)) / SIZES[:, None]
    display = RegretCurveDisplay.from_results(SIZES, {"a": values}, band=2.0)
    mean = values.mean(axis=1)
    factor = np.exp(2 * values.std(axis=1, ddof=1) / np.sqrt(8) / mean)
    np.testing.assert_allclose(
        edges(display.bands_[0], SIZES), [mean / factor, mean * factor], rtol=1e-12
    )
    assert display.plot(band=0).bands_ == []


def test_regrets_of_zero_stand_at_the_lower_end():
    values = {"a": [[0.2, 0.4], [0.1, 0.0], [0.0, 0.0]]}
    display = RegretCurveDisplay.from_results(SIZES, values)
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [0.3, 0.05, np.nan])
    assert display.zeros_[0].get_xdata().tolist() == [1000]
    display.figure_.canvas.draw()
    lower = display.ax_.transAxes.transform([0, 0])[1]
    height = display.zeros_[0].get_transform().transform([1000, 0.0])[1]
    assert height == pytest.approx(lower)
    assert display.slopes["a"] == pytest.approx(np.log10(0.05 / 0.3))


def test_values_stand_on_a_linear_axis():
    values = {"a": [[0.2, 0.4], [-0.5, 0.7]], "b": [[0.0, 0.0], [0.1, 0.1]]}
    display = RegretCurveDisplay.from_results(
        [1, 2], values, quantity="value", measure_name="kendall", name=["x", "y"]
    )
    assert legend_of(display.ax_) == ["x", "y"]
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "linear")
    assert display.ax_.get_ylabel() == "kendall"
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [0.3, 0.1])
    np.testing.assert_allclose(edges(display.bands_[0], [1, 2]), [[0.2, -0.5], [0.4, 0.7]])
    assert display.zeros_ == []


def test_styles_of_all_curves_or_of_each():
    values = {"a": SIZES / 1.0, "b": SIZES / 2.0}
    make = partial(RegretCurveDisplay.from_results, SIZES, values)
    assert [line.get_linestyle() for line in make(curve_kwargs={"ls": ":"}).lines_] == [":", ":"]
    each = make(curve_kwargs=[{"color": "red"}, {"lw": 3}]).lines_
    assert each[0].get_color() == "red"
    assert each[1].get_linewidth() == 3


def test_regrets_are_those_of_the_law():
    data = make_subset_ranking(60, n_types=20, random_state=1)
    test = make_subset_ranking(30, n_types=20, random_state=1)
    estimators = {"dcg": DCGRanker(k=3), "plain": LinearRegression()}
    display = RegretCurveDisplay.from_estimators(
        estimators,
        data,
        test=test,
        measure="dcg@3",
        n_samples=[5, 60],
        n_repeats=2,
        random_state=0,
    )
    X, y, qid = data
    for name, fitted in {
        "dcg": DCGRanker(k=3).fit(X, y, qid),
        "plain": LinearRegression().fit(X, y),
    }.items():
        regret = test.law.bayes_value("dcg@3") - test.law.value("dcg@3", fitted.predict(test.X))
        # The sample of all queries is the data, whatever was drawn.
        np.testing.assert_allclose(display.values[name][1], regret, atol=1e-10)
        assert regret > 0
        assert np.ptp(display.values[name][0]) > 0
    assert not hasattr(estimators["plain"], "coef_")
    with parallel_backend("threading"):
        value = RegretCurveDisplay.from_estimators(
            estimators,
            data,
            test=pickle.loads(pickle.dumps(test)),  # as another process gets it
            measure="dcg@3",
            quantity="value",
            n_samples=[5, 60],
            n_repeats=2,
            random_state=0,
            n_jobs=2,
        )
    for name in estimators:
        np.testing.assert_allclose(
            display.values[name],
            test.law.bayes_value("dcg@3") - value.values[name],
            atol=1e-10,
        )


class Recorder(DummyRegressor):
    """Remembers what every copy of it was fitted on."""

    seen = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append((np.asarray(X), y))
        return super().fit(X, y)


def test_samples_are_whole_queries_and_nested(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    _, y, qid = made = make_subset_ranking(40, (2, 6), random_state=0)
    data = type(made)(np.arange(len(y))[:, None], y, qid, law=made.law)
    RegretCurveDisplay.from_estimators(
        {"a": Recorder()}, data, n_samples=[3, 10], n_repeats=2, random_state=0
    )
    rows = [set(X.ravel().tolist()) for X, _ in Recorder.seen]
    for (X, target), size in zip(Recorder.seen, [3, 10, 3, 10]):
        chosen = np.unique(qid[X.ravel()])
        assert len(chosen) == size
        assert set(X.ravel()) == set(np.flatnonzero(np.isin(qid, chosen)))
        np.testing.assert_array_equal(target, y[X.ravel()])
        np.testing.assert_array_equal(target.qid, qid[X.ravel()])
    assert rows[0] < rows[1]
    assert rows[2] < rows[3]
    assert rows[0] != rows[2]


def test_label_ranking_by_default_on_its_own_law():
    X, positions = data = make_label_ranking(50, 4, random_state=0)
    display = RegretCurveDisplay.from_estimators(
        {"rho": SpearmanRanker()}, data, measure="kendall", n_samples=[50], n_repeats=1
    )
    scores = SpearmanRanker().fit(X, -positions).predict(X)
    regret = data.law.bayes_value("kendall") - data.law.value("kendall", scores)
    np.testing.assert_allclose(display.values["rho"], [[regret]])


@pytest.mark.parametrize("make", [make_subset_ranking, make_label_ranking])
def test_made_data_of_one_seed_are_of_one_problem(make):
    # What `test` of from_estimators is documented to rest on.
    few, many = make(300, random_state=3), make(500, random_state=3)
    np.testing.assert_array_equal(np.unique(few.X, axis=0), np.unique(many.X, axis=0))
    np.testing.assert_array_equal(few.law.probabilities, many.law.probabilities)
    types = [np.unique(data.X, axis=0, return_inverse=True)[1].ravel() for data in (few, many)]
    for data in (few, many):
        data.of_type = (
            data.law.labels.T if make is make_subset_ranking else data.law.orders[data.law.types]
        )
    for kind in np.unique(types[0]):
        pair = [data.of_type[of == kind][0] for data, of in zip((few, many), types)]
        np.testing.assert_array_equal(*pair)


@pytest.mark.parametrize(
    ("args", "options", "match"),
    [
        (([10, 10], {"a": [1, 2]}), {}, "in increasing order"),
        (([0, 10], {"a": [1, 2]}), {}, "positive sizes"),
        (([1, 10], {"a": [1, 2, 3]}), {}, r"values\['a'\] has shape \(3, 1\) for 2 sample sizes"),
        (([1, 10], {"a": [1, -2]}), {}, r"values\['a'\] holds -2: a regret is not negative"),
        (([1, 10], {"a": [1, np.nan]}), {}, "NaN"),
        (([1, 10], {}), {}, "give a dict"),
        (([1, 10], [[1, 2]]), {}, "give a dict"),
        (([1, 10], {"a": [1, 2]}), {"quantity": "loss"}, "quantity='loss'"),
        (([1, 10], {"a": [1, 2]}), {"name": "a"}, "give a list of 1"),
        (([1, 10], {"a": [1, 2]}), {"curve_kwargs": [{}, {}]}, "curve_kwargs=.* a list of 1"),
    ],
)
def test_regret_curve_says_what_is_wrong(args, options, match):
    with pytest.raises(ValueError, match=match):
        RegretCurveDisplay.from_results(*args, **options)


def test_regret_curve_of_estimators_says_what_is_wrong():
    data = make_subset_ranking(20, n_grades=2, random_state=0)
    make = partial(RegretCurveDisplay.from_estimators, n_samples=[5], n_repeats=1)
    with pytest.raises(ValueError, match="n_samples asks for 21 queries, data has 20"):
        make({"a": NDCGRanker()}, data, n_samples=[5, 21])
    with pytest.raises(ValueError, match="give a dict of rankers"):
        make([NDCGRanker()], data)
    with pytest.raises(ValueError, match=r"map is not positional.*quantity='value' needs none"):
        make({"a": NDCGRanker()}, data, measure="map")
    with pytest.raises(ValueError, match="n_repeats=0"):
        make({"a": NDCGRanker()}, data, n_repeats=0)
    assert make({"a": NDCGRanker()}, data, measure="map", quantity="value").values["a"] > 0
    with pytest.raises(ValueError, match="There is no law"):
        make({"a": NDCGRanker()}, type(data)(*data), quantity="value")


# -- regret bound --------------------------------------------------------------------

BOUNDED = [
    *[("ndcg@2", loss) for loss in LOSSES],
    ("dcg", "squared"),
    ("spearman", "pairwise_squared"),
    ("map", "squared"),
    ("kendall", "squared"),
    ("neg_pairwise_disagreement", "squared"),
]


@pytest.mark.parametrize(("measure", "loss"), BOUNDED)
def test_random_points_keep_the_bound(measure, loss):
    make = partial(RegretBoundDisplay.from_loss, measure, loss, n_samples=195)
    display = make(random_state=0)
    assert display.surrogate_regret.shape == display.target_regret.shape == (200,)
    assert display.target_regret.max() > 0
    assert 0.02 < display.largest_ratio <= 1 + 1e-9
    assert legend_of(display.ax_)[0] == f"{measure}, {loss}"
    again = make(random_state=0)
    np.testing.assert_array_equal(again.surrogate_regret, display.surrogate_regret)
    assert (make(random_state=1).surrogate_regret != display.surrogate_regret).any()


def test_bound_is_that_of_calibration():
    display = RegretBoundDisplay.from_loss("precision@1", "squared", r=5, random_state=0)
    x, y = display.bound_.get_data()
    np.testing.assert_allclose(y, regret_bound("precision@1", "squared", x, r=5))
    positive = display.surrogate_regret[display.surrogate_regret > 0]
    np.testing.assert_allclose([x[0], x[-1]], [positive.min(), positive.max()])


def test_points_are_regrets_of_one_law(monkeypatch):
    law = LabelDistribution([[0, 1, 2], [2, 0, 1]], [0.75, 0.25])
    monkeypatch.setattr(LabelDistribution, "random", lambda *args, **kwargs: law)
    display = RegretBoundDisplay.from_loss("dcg", "squared", n_samples=10, random_state=0)
    # Of three documents there are six orders, and so many regrets.
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
    broken.figure_.canvas.draw()


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
    nothing = RegretCurveDisplay.from_results(SIZES, {"a": np.zeros(3)})
    nothing.figure_.canvas.draw()
    assert nothing.zeros_[0].get_xdata().tolist() == SIZES.tolist()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda make: make.from_regrets([1], [1, 2]), "has 1 values, target_regret 2"),
        (lambda make: make.from_regrets([-1], [1]), "surrogate_regret holds -1"),
        (lambda make: make.from_regrets([1], [-1]), "target_regret holds -1"),
        (lambda make: make.from_regrets([np.inf], [1]), "infinity"),
        (lambda make: make.from_regrets([1], [1], scale="root"), "scale='root'"),
        (lambda make: make.from_loss("err", "squared"), "calibrated for err"),
        (lambda make: make.from_loss("map", "pairwise_squared"), "loss='pairwise_squared'"),
        (lambda make: make.from_loss("ndcg@2", "hinge"), "Unknown loss 'hinge'"),
        (lambda make: make.from_loss("ndcg@2", "squared", eta=1.0), "no such option"),
        (lambda make: make.from_loss("ndcg@2", "squared", r=1), "r=1: choose an integer from 2"),
        (
            lambda make: make.from_loss("ndcg@2", "squared", n_samples=0),
            "n_samples=0: choose an integer from 1",
        ),
    ],
)
def test_regret_bound_says_what_is_wrong(call, match):
    with pytest.raises(ValueError, match=match):
        call(RegretBoundDisplay)


# -- pair matrix ---------------------------------------------------------------------


def against(u, positions):
    r = range(len(u))
    return {(i, j) for i in r for j in r if positions[i] > positions[j] and u[i][j] > u[j][i]}


@pytest.mark.parametrize("difference", [False, True])
def test_heat_map_is_the_matrix_in_order(difference, rng):
    u, positions = rng.normal(size=(6, 6)), rng.permutation(6) + 1
    given = u.copy()
    display = PairMatrixDisplay.from_predictions(
        u, positions, difference=difference, item_names=list("abcdef"), name="title"
    )
    shown, drawn = u - u.T if difference else u, display.im_.get_array()
    for i in range(6):
        for j in range(6):
            assert drawn[positions[i] - 1, positions[j] - 1] == shown[i, j]
    labels = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert [labels[p - 1] for p in positions] == list("abcdef")
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == labels
    assert display.ax_.get_title() == "title"
    assert display.n_against == len(against(u, positions)) > 0
    assert f"{display.n_against} of 15 pairs" in display.ax_.get_xlabel()
    # A frame around the centre of the cell of every pair, row downwards.
    centres = {tuple(np.rint(p.vertices[:4].mean(axis=0))) for p in display.against_.get_paths()}
    expected = {(positions[j] - 1, positions[i] - 1) for i, j in against(u, positions)}
    assert centres == expected
    np.testing.assert_array_equal(u, given)
    if difference:
        low, high = display.im_.get_clim()
        assert -low == high == np.abs(shown).max()


def test_order_without_a_pair_against_it():
    display = PairMatrixDisplay.from_predictions([[0, 1], [0, 0]], [1, 2], colorbar=False)
    assert display.n_against == 0
    assert display.against_ is None
    assert display.colorbar_ is None
    assert "0 of 1 pairs" in display.ax_.get_xlabel()
    # Values that are symmetric say nothing about the order of a pair.
    symmetric = PairMatrixDisplay.from_predictions([[2, 1], [1, 0]], difference=True)
    assert "pairs" not in symmetric.ax_.get_xlabel()
    symmetric.figure_.canvas.draw()


def test_many_items_get_as_many_names_as_there_is_room_for(rng):
    display = PairMatrixDisplay.from_predictions(rng.normal(size=(100, 100)))
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks == [str(i) for i in range(0, 100, 4)]


PAIRWISE = {
    "map": AveragePrecisionRanker(surrogate="pairwise", relevance_level=1),
    "pd": PairwiseDisagreementRanker(surrogate="pairwise", pred="topological"),
}


@pytest.mark.parametrize("name", PAIRWISE)
def test_query_of_a_ranker(name, rng):
    X, y, qid = make_data(rng)
    ranker = PAIRWISE[name].fit(X, y, qid)
    matrices, rank = ranker.decision_function(X, qid), ranker.rank(X, qid)
    for number, query in enumerate(dict.fromkeys(qid.tolist())):
        display = PairMatrixDisplay.from_estimator(ranker, X, qid=qid, query=query)
        rows = np.flatnonzero(qid == query)
        np.testing.assert_array_equal(display.item_names, rows)
        np.testing.assert_array_equal(display.positions, rank[rows])
        expected = matrices[number].copy()
        if name == "pd":
            np.fill_diagonal(expected, np.nan)
        np.testing.assert_allclose(display.matrix, expected)
        np.testing.assert_array_equal(ranker.decision_function(X, qid)[number], matrices[number])
    first = PairMatrixDisplay.from_estimator(ranker, X, qid=qid, item_names=np.arange(len(X)) * 2)
    np.testing.assert_array_equal(first.item_names, 2 * np.flatnonzero(qid == qid[0]))
    assert first.ax_.get_title() == type(ranker).__name__


def test_row_of_the_label_ranking_form():
    X, positions = make_label_ranking(30, 4, cyclic=True, random_state=0)
    ranker = PAIRWISE["pd"].fit(X, PreferenceTarget.from_orders(positions))
    display = PairMatrixDisplay.from_estimator(ranker, X, query=7, item_names=list("abcd"))
    np.testing.assert_array_equal(display.positions, ranker.rank(X)[7])
    expected = ranker.decision_function(X)[7]
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(display.matrix[off], expected[off])
    first = PairMatrixDisplay.from_estimator(ranker, X)
    np.testing.assert_array_equal(first.positions, ranker.rank(X)[0])
    with pytest.raises(ValueError, match=r"query=30: .* 0 to 29"):
        PairMatrixDisplay.from_estimator(ranker, X, query=30)


def test_ranker_at_the_end_of_a_pipeline_or_search(rng):
    pd = pytest.importorskip("pandas")
    X, y, qid = make_data(rng)
    X = pd.DataFrame(X, columns=list("abcd"))
    pipe = make_pipeline(StandardScaler(), AveragePrecisionRanker(surrogate="pairwise"))
    target = RankingTarget((y > 0) * 1.0, qid)
    grid = {"averageprecisionranker__alpha": [1.0]}
    search = GridSearchCV(pipe, grid, cv=GroupKFold(2), scoring=get_scorer("map"))
    search.fit(X, target, groups=qid)
    expected = -search.best_estimator_.predict(X, qid=qid)[qid == 12]
    display = PairMatrixDisplay.from_estimator(search, X, qid=qid, query=12)
    np.testing.assert_array_equal(display.positions, expected)
    alone = make_pipeline(PAIRWISE["map"]).fit(X.to_numpy(), y, averageprecisionranker__qid=qid)
    PairMatrixDisplay.from_estimator(alone, X.to_numpy(), qid=qid)


def test_pair_matrix_of_a_ranker_says_what_is_wrong(rng):
    X, y, qid = make_data(rng)
    make = PairMatrixDisplay.from_estimator
    with pytest.raises(ValueError, match="NDCGRanker has no surrogate values of pairs"):
        make(NDCGRanker().fit(X, y, qid), X, qid=qid)
    with pytest.raises(ValueError, match="surrogate='pairwise'"):
        make(AveragePrecisionRanker(relevance_level=1).fit(X, y, qid), X, qid=qid)
    ranker = PAIRWISE["pd"].fit(X, y, qid)
    with pytest.raises(ValueError, match="query=99 is none of qid: "):
        make(ranker, X, qid=qid, query=99)
    with pytest.raises(ValueError, match="query=10 is none of qid: there is no qid"):
        make(ranker, X, query=10)
    with pytest.raises(MissingQidError):
        make(ranker, X)
    with pytest.raises(ValueError, match=r"item_names has shape \(3,\): give 32 names"):
        make(ranker, X, qid=qid, item_names=list("abc"))


@pytest.mark.parametrize(
    ("u", "positions", "match"),
    [
        ([[0, 1, 2], [1, 0, 2]], None, r"u must be square.* got \(2, 3\)"),
        ([[0, np.nan], [1, 0]], None, "NaN"),
        ([[0, 1], [1, 0]], [0, 1], "the position, from 1 to 2, of each document"),
        ([[0, 1], [1, 0]], [1, 2, 3], "the position, from 1 to 2"),
    ],
)
def test_pair_matrix_says_what_is_wrong(u, positions, match):
    with pytest.raises(ValueError, match=match):
        PairMatrixDisplay.from_predictions(u, positions)


# -- contributions -------------------------------------------------------------------


def test_bars_are_the_contributions(rng):
    X, y, qid = make_data(rng)
    ranker = NDCGRanker().fit(X, y, qid)
    display = ContributionDisplay.from_estimator(ranker, X, 0, qid=qid, n_features=2)
    found = display.explanation
    widths = [bar.get_width() for bar in display.bars_]
    assert len(widths) == 3
    np.testing.assert_allclose(widths[:2], found.contributions[found.order()[:2]])
    assert sum(widths) == pytest.approx(found.total)
    # Largest at the top.
    assert display.bars_[0].get_y() > display.bars_[1].get_y()
    again = ContributionDisplay.from_explanation(found, name="why", bar_kwargs={"fc": "green"})
    assert again.ax_.get_title() == "why"
    assert again.bars_[0].get_facecolor()[:3] == plt.matplotlib.colors.to_rgb("green")
