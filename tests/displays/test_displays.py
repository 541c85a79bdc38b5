"""Displays: what all of them have in common, and bars of contributions."""

import inspect
import io
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from cases import make_data
from pictures import legend_of

from skcalrank import BoostedRanker, NDCGRanker, displays
from skcalrank.displays import (
    ComparisonDisplay,
    ContributionDisplay,
    CutoffDisplay,
    ImportanceDisplay,
    LeaderboardDisplay,
    MeasureAtKDisplay,
    QueryDifferenceDisplay,
    ReliabilityDisplay,
    TopContributionsDisplay,
    TrainingCurveDisplay,
)
from skcalrank.evaluation import compare_values
from skcalrank.metrics import Bins

plt = pytest.importorskip("matplotlib.pyplot")

CLASSES = [getattr(displays, name) for name in displays.__all__]


def at_k():
    return MeasureAtKDisplay.from_predictions([[0, 1, 1], [1, 0, 0]], [[1, 3, 2], [2, 3, 1]])


def contributions():
    X = [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]]
    return ContributionDisplay.from_estimator(NDCGRanker().fit(X, [0, 1, 2], [7, 7, 7]), X, 1, 0)


def importances():
    X = [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]]
    ranker = NDCGRanker().fit(X, [0, 1, 2], [7, 7, 7])
    return ImportanceDisplay.from_estimator(ranker, X, [7, 7, 7])


def top_contributions():
    X = [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]]
    ranker = NDCGRanker().fit(X, [0, 1, 2], [7, 7, 7])
    return TopContributionsDisplay.from_estimator(ranker, X, [7, 7, 7], k=2)


def training_curve():
    X = np.arange(40.0)[:, None] % 7
    ranker = BoostedRanker(engine="sklearn", n_estimators=3, n_jobs=1, random_state=0)
    return TrainingCurveDisplay.from_estimator(ranker.fit(X, X[:, 0], np.repeat(range(8), 5)))


def reliability():
    values = np.random.default_rng(0).random(80)
    labels = np.random.default_rng(1).random(80) < values
    return ReliabilityDisplay.from_predictions(labels, values, qid=np.repeat(np.arange(40), 2))


def cutoffs():
    cut = {"all queries": np.array([0.1, 0.2])}
    return CutoffDisplay(alpha=np.array([0.1, 0.2]), loss=cut, kept=cut).plot()


def compared():
    values = {"a": {"map": [0.1, 0.4, 0.3, 0.5, 0.2, 0.6]}, "b": {"map": [0.5] * 6}}
    return compare_values(values)


MADE = {
    ComparisonDisplay: lambda: ComparisonDisplay.from_comparison(compared()),
    QueryDifferenceDisplay: lambda: QueryDifferenceDisplay.from_comparison(compared()),
    LeaderboardDisplay: lambda: compared().rank_sets().plot(),
    ContributionDisplay: contributions,
    ImportanceDisplay: importances,
    TopContributionsDisplay: top_contributions,
    MeasureAtKDisplay: at_k,
    TrainingCurveDisplay: training_curve,
    ReliabilityDisplay: reliability,
    CutoffDisplay: cutoffs,
}


WITH_BANDS = ComparisonDisplay, LeaderboardDisplay, MeasureAtKDisplay, ReliabilityDisplay


def constructors(cls):
    return {
        name: method
        for name, method in inspect.getmembers(cls, inspect.ismethod)
        if name.startswith("from_")
    }


def required(method):
    """Return the parameters without a default."""
    return [p for p in inspect.signature(method).parameters.values() if p.default is p.empty]


@pytest.mark.parametrize("cls", CLASSES)
def test_signatures_are_uniform(cls):
    stored = inspect.signature(cls).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY for p in stored)
    plot = inspect.signature(cls.plot).parameters
    assert list(plot)[1:3] == ["ax", "name"]
    assert plot["ax"].default is None
    assert plot["name"].kind is inspect.Parameter.KEYWORD_ONLY
    style = {name: p.default for name, p in plot.items() if name != "self"}
    assert constructors(cls)
    for method in constructors(cls).values():
        shown = inspect.signature(method, follow_wrapped=False).parameters.values()
        assert style.items() <= {p.name: p.default for p in shown}.items(), method
        assert not any(p.kind is p.VAR_KEYWORD for p in shown)
        assert all(p.kind is p.KEYWORD_ONLY for p in shown if p.name in style)


@pytest.mark.parametrize("cls", CLASSES)
def test_display_stores_its_arrays_and_artists(cls):
    display = MADE[cls]()
    assert set(inspect.signature(cls).parameters) <= set(vars(display))
    assert display.figure_ is display.ax_.figure
    assert len(plt.get_fignums()) == 1
    for name in set(vars(display)) - set(inspect.signature(cls).parameters):
        assert name.endswith("_"), name


@pytest.mark.parametrize("cls", CLASSES)
def test_bands_are_named_in_the_legend(cls):
    """The legend says the level of each band or interval, and the number of queries."""
    display = MADE[cls]()
    bands = [artist for artist in display.ax_.collections if artist.get_paths()]
    assert bool(bands) == (cls in WITH_BANDS)
    legend = display.ax_.get_legend()
    texts = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    named = [text for text in texts if re.search(r"\d %.*, \d+ queries$", text)]
    assert len(named) == bool(bands)


@pytest.mark.filterwarnings("ignore:.*are defined on different queries:UserWarning")
def test_counts_of_a_comparison_are_in_its_legend():
    rng = np.random.default_rng(0)
    values = {name: rng.random(9) for name in "abc"}
    values["b"][2:4], values["c"][5] = np.nan, np.nan
    comparison = compare_values({name: {"m": row} for name, row in values.items()})
    for kind, text in (
        ("means", "95 % interval, 7 to 9 queries"),
        ("differences", "95 % interval, not corrected, 7 to 8 queries"),
    ):
        assert legend_of(comparison.plot(kind=kind).ax_) == [text]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("kind", ["undefined", "empty"])
def test_an_empty_picture_is_an_error(cls, kind):
    def emptied(value):
        if isinstance(value, dict):
            return {name: emptied(part) for name, part in value.items()}
        if isinstance(value, Bins):
            return Bins(*map(emptied, value))
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return value
        return np.full(value.shape, np.nan) if kind == "undefined" else value[:0]

    display = MADE[cls]()
    if cls is ContributionDisplay:
        order = display.explanation
        display.explanation = replace(order, parts=emptied(order.contributions))
    for name in inspect.signature(cls).parameters:
        setattr(display, name, emptied(getattr(display, name)))
    n_figures = len(plt.get_fignums())
    with pytest.raises(ValueError, match=f"{cls.__name__} must have a finite value to draw"):
        display.plot()
    assert len(plt.get_fignums()) == n_figures


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


@pytest.mark.parametrize("cls", [c for c in CLASSES if "name" in inspect.signature(c).parameters])
def test_a_name_is_kept_until_plot_gets_another(cls):
    display = MADE[cls]()
    display.name = "kept"
    for name, shown in ((None, "kept"), ("another", "another")):
        ax = display.plot(name=name).ax_
        legend = ax.get_legend()
        texts = [] if legend is None else [text.get_text() for text in legend.get_texts()]
        assert any(text.startswith(shown) for text in [ax.get_title(), *texts])


def test_a_name_of_a_leaderboard_is_kept():
    display = LeaderboardDisplay.from_leaderboard(compared().rank_sets(), name="kept")
    assert display.plot().ax_.get_title() == "kept"


@pytest.mark.parametrize("option", ["system", "other", "measure"])
def test_names_of_a_comparison_are_checked(option):
    with pytest.raises(ValueError, match=f"{option} must be one of .* got 'z'"):
        QueryDifferenceDisplay.from_comparison(compared(), **{option: "z"})


@pytest.mark.parametrize("cls", CLASSES)
def test_matplotlib_is_asked_for_by_name(cls, monkeypatch):
    display = MADE[cls]()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=rf"{cls.__name__}.plot requires .*skcalrank\[plot\]"):
        display.plot()
    for name, method in constructors(cls).items():
        with pytest.raises(ImportError, match=rf"{cls.__name__}.{name} requires matplotlib"):
            method(*[None] * len(required(method)))


@pytest.mark.parametrize("cls", CLASSES)
def test_unknown_options_are_refused_before_any_work(cls):
    for method in constructors(cls).values():
        with pytest.raises(TypeError, match="'colour'"):
            method(*[None] * len(required(method)), colour="red")


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


# -- names -----------------------------------------------------------------------------

HOSTILE = [r"$\foo$", "_a_$x_1$", "a\nb"]


def named_values(*names):
    values = np.random.default_rng(0).random((len(names), 8))
    return compare_values({name: {"$m$": row} for name, row in zip(names, values)})


def named_contributions(*names):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.eye(3), columns=names)
    ranker = NDCGRanker().fit(X, [0, 1, 2], [7, 7, 7])
    return ContributionDisplay.from_estimator(ranker, X, 1, 0)


def named_curves(*names):
    values = {name: np.array([0.1, 0.2]) for name in names}
    display = TrainingCurveDisplay(values=values, best=dict.fromkeys(names, 2), measure_name="$m$")
    return display.plot()


NAMED = {
    "systems": lambda *names: ComparisonDisplay.from_comparison(named_values(*names)),
    "items": lambda *names: named_values(*names).rank_sets().plot(),
    "queries": lambda *names: QueryDifferenceDisplay.from_comparison(named_values(*names)),
    "features": named_contributions,
    "curves": named_curves,
}


@pytest.mark.parametrize("kind", NAMED)
def test_names_are_drawn_as_they_are(kind):
    figure = NAMED[kind](*HOSTILE).figure_
    text = io.StringIO()
    with plt.matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg")
    plt.close(figure)
    drawn = " ".join(ElementTree.fromstring(text.getvalue()).itertext())
    shown = {"queries": 2}.get(kind, 3) - (kind == "systems")
    names = [" ".join(name.split()) for name in HOSTILE]
    assert sum(name in " ".join(drawn.split()) for name in names) >= shown
    if kind == "curves":
        # A legend would leave out what begins with an underscore.
        assert len(figure.axes[0].get_legend().get_texts()) == 3


def test_a_name_of_the_caller_may_hold_mathematics():
    display = ComparisonDisplay.from_comparison(compared(), name=r"$\alpha$")
    assert display.ax_.get_title() == r"$\alpha$"
