"""Heat maps of pairs: what is drawn is what rankers and prediction maps say."""

import numpy as np
import pytest
from cases import make_data
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    AveragePrecisionRanker,
    MissingQidError,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    RankingTarget,
    get_scorer,
)
from skcalrank.datasets import make_label_ranking
from skcalrank.displays import PairMatrixDisplay

pytest.importorskip("matplotlib.pyplot")


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
    squares = [path.vertices[:4] for path in display.against_.get_paths()]
    np.testing.assert_allclose([np.ptp(square, axis=0) for square in squares], 0.9)
    centres = {tuple(np.rint(square.mean(axis=0))) for square in squares}
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
    # Names that do not fit side by side stand upright.
    few = PairMatrixDisplay.from_predictions(rng.normal(size=(5, 5)))
    for each, angle in ((display, 90), (few, 0)):
        assert {tick.get_rotation() for tick in each.ax_.get_xticklabels()} == {angle}


PAIRWISE = {
    "map": AveragePrecisionRanker(surrogate="pairwise", relevance_level=1),
    "pd": PairwiseDisagreementRanker(surrogate="pairwise", pred="topological"),
}


@pytest.mark.parametrize("name", PAIRWISE)
def test_query_of_a_ranker(name, rng):
    X, y, qid = make_data(rng)
    ranker = PAIRWISE[name].fit(X, y, qid)
    matrices, rank = ranker.surrogate_values(X, qid), ranker.rank(X, qid)
    for number, query in enumerate(dict.fromkeys(qid.tolist())):
        display = PairMatrixDisplay.from_estimator(ranker, X, qid=qid, query=query)
        rows = np.flatnonzero(qid == query)
        np.testing.assert_array_equal(display.item_names, rows)
        np.testing.assert_array_equal(display.positions, rank[rows])
        expected = matrices[number].copy()
        if name == "pd":
            np.fill_diagonal(expected, np.nan)
        np.testing.assert_allclose(display.matrix, expected)
        np.testing.assert_array_equal(ranker.surrogate_values(X, qid)[number], matrices[number])
    first = PairMatrixDisplay.from_estimator(ranker, X, qid=qid, item_names=np.arange(len(X)) * 2)
    np.testing.assert_array_equal(first.item_names, 2 * np.flatnonzero(qid == qid[0]))
    assert first.ax_.get_title() == type(ranker).__name__


def test_row_of_the_label_ranking_form():
    X, positions = make_label_ranking(30, 4, cyclic=True, random_state=0)
    ranker = PAIRWISE["pd"].fit(X, PreferenceTarget.from_orders(positions))
    display = PairMatrixDisplay.from_estimator(ranker, X, query=7, item_names=list("abcd"))
    np.testing.assert_array_equal(display.positions, ranker.rank(X)[7])
    expected = ranker.surrogate_values(X)[7]
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(display.matrix[off], expected[off])
    first = PairMatrixDisplay.from_estimator(ranker, X)
    np.testing.assert_array_equal(first.positions, ranker.rank(X)[0])
    with pytest.raises(ValueError, match="row number from 0 to 29, got 30"):
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
    with pytest.raises(ValueError, match="fitted with surrogate='pairwise', got NDCG"):
        make(NDCGRanker().fit(X, y, qid), X, qid=qid)
    with pytest.raises(ValueError, match="surrogate='pairwise'"):
        make(AveragePrecisionRanker(relevance_level=1).fit(X, y, qid), X, qid=qid)
    ranker = PAIRWISE["pd"].fit(X, y, qid)
    with pytest.raises(ValueError, match=r"query must be one of .* got 99"):
        make(ranker, X, qid=qid, query=99)
    with pytest.raises(ValueError, match="query must be one of qid, which is None, got 10"):
        make(ranker, X, query=10)
    with pytest.raises(MissingQidError):
        make(ranker, X)
    with pytest.raises(ValueError, match=r"item_names must have 32 names, got shape \(3,\)"):
        make(ranker, X, qid=qid, item_names=list("abc"))


@pytest.mark.parametrize(
    ("u", "positions", "match"),
    [
        ([[0, 1, 2], [1, 0, 2]], None, r"u must be a square.* got shape \(2, 3\)"),
        ([[0, np.nan], [1, 0]], None, "NaN"),
        ([[0, 1], [1, 0]], [0, 1], "the positions 1 to 2 of the documents"),
        ([[0, 1], [1, 0]], [1, 2, 3], "the positions 1 to 2"),
    ],
)
def test_pair_matrix_says_what_is_wrong(u, positions, match):
    with pytest.raises(ValueError, match=match):
        PairMatrixDisplay.from_predictions(u, positions)


def test_frames_are_drawn_as_long_as_they_can_be_seen(rng):
    few, many = (PairMatrixDisplay.from_predictions(rng.random((r, r))) for r in (60, 300))
    assert len(few.against_.get_paths()) == few.n_against
    assert many.n_against > 10_000
    assert many.against_ is None
