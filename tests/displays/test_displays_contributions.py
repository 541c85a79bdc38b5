"""Bars of importances, and heat maps of the contributions to the best scores of a query."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from cases import make_data
from scipy.sparse import coo_matrix

from skcalrank import NDCGRanker, TabularRanker
from skcalrank.displays import ImportanceDisplay, TopContributionsDisplay
from skcalrank.evaluation import rank_frame
from skcalrank.inspection import ScoreExplanation, explain_scores

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def fitted(rng):
    X, y, qid = make_data(rng)
    trees = boosted(FIRST, n_estimators=5)
    return TabularRanker(trees=trees, n_jobs=1).fit(X, y, qid), X, qid


def test_bars_are_mean_absolute_contributions(fitted):
    explanation = explain_scores(*fitted)
    display = ImportanceDisplay.from_estimator(*fitted, n_features=2)
    widths = [bar.get_width() for bar in display.bars_]
    largest = np.sort(np.abs(explanation.contributions).mean(axis=0))[::-1]
    np.testing.assert_allclose(widths, largest[:2])
    assert display.bars_[0].get_y() > display.bars_[1].get_y()
    assert display.ax_.get_title() == "TabularRanker"
    left = len(largest) - 2
    assert display.ax_.get_xlabel().endswith(f"not shown: {left} other{'s' * (left > 1)}")
    again = ImportanceDisplay.from_explanation(explanation, name="why")
    assert again.ax_.get_title() == "why"
    np.testing.assert_array_equal(again.importances, display.importances)


def test_cells_are_the_contributions_to_the_best_scores(fitted):
    ranker, X, qid = fitted
    query = qid[len(qid) // 2]
    rows = np.flatnonzero(qid == query)
    display = TopContributionsDisplay.from_estimator(ranker, X, qid, query=query, k=3, n_features=1)
    scores = ranker.predict(X, qid)[rows]
    best = rows[np.argsort(-scores, kind="stable")[:3]]
    assert list(display.item_names) == list(best)
    parts = ranker.contributions(X, qid)[best, :-1]
    np.testing.assert_allclose(display.contributions, parts, atol=1e-12)
    np.testing.assert_allclose(display.totals, np.sort(scores - scores.mean())[::-1][:3])
    cells = display.im_.get_array()
    # The last column is the sum of the others.
    assert cells.shape == (3, 2)
    np.testing.assert_allclose(cells.sum(axis=1), display.totals)
    assert np.abs(cells[:, 0]).max() == pytest.approx(np.abs(parts).max())
    numbers = [float(text.get_text()) for text in display.texts_]
    unit = 10.0 ** np.floor(np.log10(np.abs(cells).max()))
    np.testing.assert_allclose(numbers, cells.ravel() / unit, atol=0.051)


def test_rows_of_a_frame_have_their_labels(rng):
    pandas = pytest.importorskip("pandas")
    X, y, qid = make_data(rng)
    frame = pandas.DataFrame(X, index=[f"d{row}" for row in range(len(X))]).rename(columns=str)
    ranker = NDCGRanker().fit(frame, y, qid)
    display = TopContributionsDisplay.from_estimator(ranker, frame, qid, query=qid[-1], k=3)
    labels = rank_frame(ranker, frame, qid, k=3).query("qid == @qid[-1]").id
    assert list(display.item_names) == list(labels)


def test_explanations_of_one_query_are_drawn(fitted):
    ranker, X, qid = fitted
    rows = qid == qid[0]
    explanation = explain_scores(ranker, X[rows], 0)
    names = [f"item {k}" for k in range(rows.sum())]
    display = TopContributionsDisplay.from_explanation(explanation, item_names=names, k=2)
    expected = TopContributionsDisplay.from_estimator(ranker, X, qid, k=2, colorbar=False)
    np.testing.assert_array_equal(display.contributions, expected.contributions)
    assert expected.colorbar_ is None
    assert display.ax_.get_yticklabels()[0].get_text().startswith("item ")
    with pytest.raises(ValueError, match="explanation must be of one query"):
        TopContributionsDisplay.from_explanation(explain_scores(*fitted))
    with pytest.raises(ValueError, match="query must be one of"):
        TopContributionsDisplay.from_estimator(ranker, X, qid, query="none")


@pytest.mark.parametrize("scale", [1e3, 1.0, 1e-5])
def test_numbers_are_in_the_unit_of_the_largest(scale):
    parts = np.array([[1.5], [-0.3], [-0.02]]) * scale
    explanation = ScoreExplanation(np.array(["a"]), parts, np.zeros(3))
    display = TopContributionsDisplay.from_explanation(explanation)
    assert [text.get_text() for text in display.texts_] == ["1.5", "0.0", "-0.3"]
    unit = "" if scale == 1 else f"numbers in units of {scale:g}"
    assert display.ax_.get_xlabel() == unit


@pytest.mark.parametrize("style", [{"size": 7, "ha": "left"}, {"fontsize": 7, "ha": "left"}])
def test_numbers_of_cells_have_the_style_of_the_user(style):
    explanation = ScoreExplanation(np.array(["a"]), np.array([[1.0], [-1.0]]), np.zeros(2))
    display = TopContributionsDisplay.from_explanation(explanation, text_kwargs=style)
    numbers = [(text.get_fontsize(), text.get_ha()) for text in display.texts_]
    assert numbers == [(7, "left")] * 2


@pytest.mark.parametrize("scale", [1.0, 9.99e-7])
def test_numbers_of_cells_do_not_meet(scale):
    parts = -scale * np.random.default_rng(0).uniform(0.5, 1, (10, 14))
    names = np.array([f"feature {k}" for k in range(14)])
    explanation = ScoreExplanation(names, parts, np.zeros(10))
    display = TopContributionsDisplay.from_explanation(explanation)
    display.figure_.canvas.draw()
    boxes = np.array([text.get_window_extent().extents for text in display.texts_])
    left, bottom, right, top = boxes.reshape(10, 11, 4).transpose(2, 0, 1)
    assert (right[:, :-1] + 1 < left[:, 1:]).all()
    assert (bottom[:-1] > top[1:]).all()


def test_many_cells_have_no_numbers_and_sparse_rows_are_taken(rng):
    X, y, qid = make_data(rng)
    wide = np.hstack([X] * 30)
    ranker = NDCGRanker().fit(coo_matrix(wide), y, qid)
    display = TopContributionsDisplay.from_estimator(
        ranker, coo_matrix(wide), qid, k=10, n_features=200
    )
    assert display.im_.get_array().size > 150
    assert display.texts_ == []
    assert display.contributions.shape[1] == wide.shape[1]
