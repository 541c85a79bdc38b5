"""Curves of the measure against the rounds of boosting."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted, made_queries
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import NDCGRanker, QueryKFold, RankingTarget, StackingRanker, TabularRanker
from skcalrank.boosting import BoostedRanker
from skcalrank.displays import TrainingCurveDisplay

plt = pytest.importorskip("matplotlib.pyplot")

X, Y, QID = made_queries(20, seed=0)
Y_OF = RankingTarget(Y, QID)


def few(**params):
    return boosted(FIRST, **{"n_estimators": 12} | params)


def curves(estimator):
    return TrainingCurveDisplay.from_estimator(estimator)


def test_curves_are_the_values_that_were_followed():
    sets = {"training": (X, Y, QID), "other": made_queries(9, seed=1)}
    ranker = few().fit(X, Y, QID, eval_set=sets)
    display = curves(ranker)
    assert list(display.values) == ["training", "other"]
    assert display.best == dict.fromkeys(sets, ranker.best_iteration_)
    for (name, values), line, mark in zip(
        ranker.evals_result_.items(), display.lines_, display.marks_
    ):
        np.testing.assert_array_equal(line.get_xdata(), range(1, len(values) + 1))
        np.testing.assert_array_equal(line.get_ydata(), values)
        assert line.get_label() == name
        assert mark.get_xdata() == [ranker.best_iteration_]
        assert mark.get_ydata() == [values[ranker.best_iteration_ - 1]]
        assert mark.get_color() == line.get_color()
    assert display.lines_[1].get_ydata().max() == display.marks_[1].get_ydata()[0]
    assert display.ax_.get_ylabel() == "ndcg@10"
    assert len(display.ax_.get_legend().get_texts()) == 2


def test_each_model_has_a_curve():
    ranker = few(n_models=2).fit(X, Y, QID)
    display = curves(ranker)
    assert list(display.values) == ["model 1 validation", "model 2 validation"]
    assert list(display.best.values()) == ranker.best_iteration_


@pytest.mark.parametrize("inside", ["pipeline", "search", "pipeline in a search"])
def test_a_ranker_inside_of_others(inside):
    ranker = few(random_state=0)
    if inside != "search":
        ranker = make_pipeline(StandardScaler(), ranker)
    if inside != "pipeline":
        ranker = GridSearchCV(ranker, {}, cv=QueryKFold(2))
    display = curves(ranker.fit(X, Y_OF))
    assert list(display.values) == ["validation"]
    plain = few(random_state=0).fit(X, Y, QID).evals_result_["validation"]
    if inside == "search":
        np.testing.assert_array_equal(display.values["validation"], plain)


def test_members_of_a_stack():
    trees = BoostedRanker(engine=FIRST, n_estimators=4, n_jobs=1)
    display = curves(TabularRanker(trees=trees).fit(X, Y, QID))
    assert list(display.values) == ["by_targets validation", "by_grades validation"]


def test_styles_and_titles():
    display = curves(few(random_state=0).fit(X, Y, QID))
    display.plot(name=r"$\alpha$", curve_kwargs={"c": "red"}, mark_kwargs={"marker": "x"})
    assert display.ax_.get_title() == r"$\alpha$"
    assert display.lines_[0].get_color() == "red"
    assert display.marks_[0].get_color() == "red"
    assert display.marks_[0].get_marker() == "x"


def test_estimators_without_curves():
    with pytest.raises(NotFittedError):
        curves(few())
    with pytest.raises(NotFittedError):
        curves(GridSearchCV(few(), {}))
    followed_nothing = few(validation_fraction=None).fit(X, Y, QID)
    lightgbm = pytest.importorskip("lightgbm").LGBMRanker(n_estimators=2, verbose=-1)
    lightgbm.fit(X, Y, group=[15] * 20)
    stack = StackingRanker([("a", NDCGRanker())]).fit(X, Y, QID)
    for estimator in (lightgbm, followed_nothing, NDCGRanker().fit(X, Y, QID), stack):
        with pytest.raises(ValueError, match=f"evals_result_.* got {type(estimator).__name__}"):
            curves(estimator)
