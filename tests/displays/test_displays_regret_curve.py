"""Regret against sample size: what is drawn is what the laws say."""

import pickle
from functools import partial

import numpy as np
import pytest
from joblib import parallel_backend
from pictures import edges, legend_of
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from skcalrank import DCGRanker, NDCGRanker, SpearmanRanker
from skcalrank.datasets import make_label_ranking, make_subset_ranking
from skcalrank.displays import RegretCurveDisplay

pytest.importorskip("matplotlib.pyplot")

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


def test_curve_without_any_regret():
    nothing = RegretCurveDisplay.from_results(SIZES, {"a": np.zeros(3)})
    nothing.figure_.canvas.draw()
    assert nothing.zeros_[0].get_xdata().tolist() == SIZES.tolist()


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
        (([10, 10], {"a": [1, 2]}), {}, "positive and increasing"),
        (([0, 10], {"a": [1, 2]}), {}, "positive and increasing"),
        (([1, 10], {"a": [1, 2, 3]}), {}, r"one row for each of 2 .* got shape \(3, 1\)"),
        (([1, 10], {"a": [1, -2]}), {}, r"values\['a'\] must be non-negative regrets, got -2"),
        (([1, 10], {"a": [1, np.nan]}), {}, "NaN"),
        (([1, 10], {}), {}, "values must be a dict"),
        (([1, 10], [[1, 2]]), {}, "values must be a dict"),
        (([1, 10], {"a": [1, 2]}), {"quantity": "loss"}, "quantity must .* got 'loss'"),
        (([1, 10], {"a": [1, 2]}), {"name": "a"}, "name must be a list of 1"),
        (([1, 10], {"a": [1, 2]}), {"curve_kwargs": [{}, {}]}, "curve_kwargs must be a list of 1"),
    ],
)
def test_regret_curve_says_what_is_wrong(args, options, match):
    with pytest.raises(ValueError, match=match):
        RegretCurveDisplay.from_results(*args, **options)


def test_regret_curve_of_estimators_says_what_is_wrong():
    data = make_subset_ranking(20, n_grades=2, random_state=0)
    make = partial(RegretCurveDisplay.from_estimators, n_samples=[5], n_repeats=1)
    with pytest.raises(ValueError, match=r"n_samples must be at most 20, .* got 21"):
        make({"a": NDCGRanker()}, data, n_samples=[5, 21])
    with pytest.raises(ValueError, match="estimators must be a dict of rankers"):
        make([NDCGRanker()], data)
    with pytest.raises(ValueError, match=r"map is not positional.*Set quantity='value'"):
        make({"a": NDCGRanker()}, data, measure="map")
    with pytest.raises(ValueError, match=r"n_repeats must .* got 0"):
        make({"a": NDCGRanker()}, data, n_repeats=0)
    assert make({"a": NDCGRanker()}, data, measure="map", quantity="value").values["a"] > 0
    with pytest.raises(ValueError, match="test must have the attribute law"):
        make({"a": NDCGRanker()}, type(data)(*data), quantity="value")
