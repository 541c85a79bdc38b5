"""Choices from sets without an order: which preferences they state, and what reads them."""

import numpy as np
import pytest
from structures import OF_CLICKS, RULES

from skcalrank import AggregatedRanker, PreferenceTarget
from skcalrank.rankers import DifferenceGraphRanker

QID = ["a"] * 4 + ["b"] * 3


def draw_choices(rng, n, sizes=(4, 3)):
    """Sets of rows of one query each, and rows chosen from each."""
    first = np.append(0, np.cumsum(sizes))
    shown, chosen = [], []
    for q in rng.integers(len(sizes), size=n):
        rows = rng.permutation(np.arange(first[q], first[q + 1]))
        shown.append(rows[: rng.integers(2, sizes[q] + 1)])
        chosen.append(rng.permutation(shown[-1])[: rng.integers(1, len(shown[-1]))])
    return shown, chosen


def test_every_chosen_row_beats_every_other_row_of_its_set(rng):
    for _ in range(30):
        n = rng.integers(1, 60)
        shown, chosen = draw_choices(rng, n)
        weight = rng.random(n)
        y = PreferenceTarget.from_choices(shown, chosen, QID, weight=weight)
        found = sorted(zip(y.judgment, y.winner, y.loser, y.weight))
        expected = [
            (number, i, j, weight[number])
            for number in range(n)
            for i in chosen[number]
            for j in set(shown[number].tolist()) - set(chosen[number].tolist())
        ]
        assert found == sorted(expected)
        assert len(y) == len(QID)


def test_forms_of_sets():
    table = PreferenceTarget.from_choices([[0, 1, 2], [3, 2, 1]], [1, 2], QID)
    lists = PreferenceTarget.from_choices([np.array([0, 1, 2]), [3, 2, 1]], [[1], [2]], QID)
    array = PreferenceTarget.from_choices(np.array([[0, 1, 2], [3, 2, 1]]), np.array([1, 2]), QID)
    unsigned = PreferenceTarget.from_choices(
        [np.array([0, 1, 2], dtype=np.uint64), [3, 2, 1]], [np.array([1], dtype=np.uint64), 2], QID
    )
    for other in (lists, array, unsigned):
        for name in ("winner", "loser", "weight", "judgment"):
            np.testing.assert_array_equal(getattr(table, name), getattr(other, name))
    assert table.n_judgments.tolist() == [2, 0]
    assert PreferenceTarget.from_choices([], [], QID).winner.size == 0


@pytest.mark.every_case
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_have_a_row_for_each_set(library):
    other, columns = pytest.importorskip(library), {"a": [0, 3], "b": [1, 2], "c": [2, 1]}
    table = other.table(columns) if library == "pyarrow" else other.DataFrame(columns)
    y, plain = (
        PreferenceTarget.from_choices(s, [1, 2], QID) for s in (table, [[0, 1, 2], [3, 2, 1]])
    )
    np.testing.assert_array_equal([y.winner, y.loser], [plain.winner, plain.loser])


def test_sets_of_pyarrow():
    pa = pytest.importorskip("pyarrow")
    plain = PreferenceTarget.from_choices([[0, 1, 2], [3, 2]], [1, 2], QID)
    for chosen in (pa.array([1, 2]), pa.chunked_array([[1], [2]]), pa.array([[1], [2]])):
        y = PreferenceTarget.from_choices(pa.array([[0, 1, 2], [3, 2]]), chosen, QID)
        np.testing.assert_array_equal([y.winner, y.loser], [plain.winner, plain.loser])


@pytest.mark.every_case
@pytest.mark.parametrize("name", [name for name in RULES if name not in OF_CLICKS])
@pytest.mark.filterwarnings("ignore:Query .* has documents that were never compared")
def test_every_structure_reads_choices(name, rng):
    shown, chosen = draw_choices(rng, 200)
    # The first row of each query is chosen whenever it is shown, and alone.
    first = [min(rows) for rows in shown]
    chosen = [[a] if a in (0, 4) else c for a, c in zip(first, chosen)]
    scores = RULES[name](PreferenceTarget.from_choices(shown, chosen, QID))
    assert scores[:4].argmax() == scores[4:].argmax() == 0


def test_rankers_read_choices(rng):
    X = rng.normal(size=(300, 2))
    qid = np.repeat(np.arange(60), 5)
    shown = np.concatenate([rng.permuted(np.arange(300).reshape(60, 5), axis=1)[:, :4]] * 20)
    noise = rng.gumbel(size=shown.shape) / 3
    chosen = shown[np.arange(len(shown)), (X[shown, 0] + noise).argmax(axis=1)]
    y = PreferenceTarget.from_choices(shown, chosen, qid)
    for ranker in (AggregatedRanker(), DifferenceGraphRanker()):
        scores = ranker.fit(X, y).predict(X, qid)
        assert np.corrcoef(scores, X[:, 0])[0, 1] > 0.9


@pytest.mark.parametrize(
    ("shown", "chosen", "options", "message"),
    [
        ([[0, 1]], [2], {}, r"chosen must be some of the rows that were shown, .* got \[2\] of"),
        ([[0, 1]], [[]], {}, r"got \[\] of \[0, 1\]"),
        ([[0, 1]], [[0, 1]], {}, r"got \[0, 1\] of \[0, 1\]"),
        ([[0, 1]], [0, 1], {}, "chosen must have 1 entries, one per set, got 2"),
        ([[0, 0, 1]], [0], {}, "shown must hold each row of a set once"),
        ([[0, 1, 2]], [[0, 0]], {}, "chosen must hold each row of a set once"),
        ([[0, 9]], [0], {}, "shown must hold row numbers from 0 to 6, got 9"),
        ([[0, 1.5]], [0], {}, "shown must hold row numbers, which are integers, got dtype float64"),
        ([[[0], [1]]], [0], {}, "shown must hold one list of row numbers for each set"),
        ([[0, 4]], [0], {}, "must be between rows of one query"),
        ([[0, 1]], [0], {"weight": [-1.0]}, "must be non-negative with a finite sum"),
        ([[0, 1]], [0], {"weight": [1.0, 1.0]}, r"weight must have shape \(1,\)"),
    ],
)
def test_refused(shown, chosen, options, message):
    with pytest.raises(ValueError, match=message):
        PreferenceTarget.from_choices(shown, chosen, QID, **options)
