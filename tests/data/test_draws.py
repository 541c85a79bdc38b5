"""Draws of queries: hashes of names, keys of a seed, exact shares, and the order of the rows."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from skcalrank import NDCGRanker
from skcalrank.columns import hash_names
from skcalrank.data import Queries, QuerySizes, Rows, qid_array, seed_of

UTC = dt.timezone.utc


def rows_of(qid, X=None):
    queries = Queries.from_qid(qid_array(qid))
    return Rows(np.zeros((queries.n_rows, 1)) if X is None else X, np.zeros(len(qid)), queries)


def hashes(qid):
    return rows_of(qid).queries.hashes.tolist()


# -- hashes of names -----------------------------------------------------------------------


def numbers():
    values = [0, 1, 5, 100]
    yield from (np.array(values, dtype=dtype) for dtype in ("i1", "u8", "f4", "f8", ">i4", "f2"))
    yield from (values, [float(v) for v in values], np.array(values, dtype=object))
    yield [Decimal(v) for v in values]
    yield [Fraction(v) for v in values]
    pd, pl, pa = map(imported, ("pandas", "polars", "pyarrow"))
    if pd:
        yield pd.Series(values, dtype="Int64")
        yield pd.Series(values, dtype="category")
    if pl:
        yield pl.Series(values)
    if pa:
        yield pa.array(values)


def texts():
    values = ["a", "é", "b c", ""]
    yield from (values, np.array(values), np.array(values, dtype=object))
    pd, pl, pa = map(imported, ("pandas", "polars", "pyarrow"))
    if pd:
        yield pd.Series(values, dtype="string")
        yield pd.Series(values, dtype="category")
    if pl:
        yield pl.Series(values)
        yield pl.Series(values, dtype=pl.Categorical)
    if pa:
        yield pa.array(values)


def instants():
    """The same days, at midnight in UTC."""
    days = [dt.date(2024, 3, 1), dt.date(1969, 12, 31)]
    yield days
    yield from (np.array(days, dtype=f"M8[{unit}]") for unit in ("D", "h", "s", "ms", "us", "ns"))
    naive = [dt.datetime(day.year, day.month, day.day) for day in days]
    yield naive
    yield [moment.replace(tzinfo=UTC) for moment in naive]
    east = dt.timezone(dt.timedelta(hours=5, minutes=30))
    yield [moment.replace(tzinfo=UTC).astimezone(east) for moment in naive]
    pd, pl = map(imported, ("pandas", "polars"))
    if pd:
        yield [pd.Timestamp(moment) for moment in naive]
        yield pd.Series(naive).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
        yield pd.Series(naive).astype("category")
    if pl:
        yield pl.Series(days)
        yield pl.Series(naive, dtype=pl.Datetime("ms"))


def imported(name):
    try:
        return __import__(name)
    except ImportError:
        return None


def durations():
    values = [dt.timedelta(seconds=v) for v in (0, 1, 90_000)]
    yield values
    for unit in ("s", "ms", "ns"):
        exact = np.array(values, dtype=f"m8[{unit}]")
        yield from (exact, list(exact))
    pd, pl = map(imported, ("pandas", "polars"))
    if pd:
        yield pd.Series(values)
    if pl:
        yield pl.Series(values)


def bytes_of_one_kind():
    values = [b"a", b"{b}", b"b c"]
    yield from (values, np.array(values), np.array(values, dtype=object))


def long_decimals():
    values = [10**30, 10**30 + 1, -(10**40)]
    yield from (values, [Decimal(v) for v in values])


@pytest.mark.parametrize(
    "kinds", [numbers, texts, instants, durations, bytes_of_one_kind, long_decimals]
)
def test_equal_names_have_equal_hashes_in_all_types(kinds):
    first, *others = kinds()
    expected = hashes(first)
    assert len(set(expected)) == len(expected)
    assert [hashes(other) for other in others] == [expected] * len(others)


def test_fractions_of_seconds_count():
    moment = np.datetime64("1969-12-31T23:59:59.123456")
    pd = imported("pandas")
    same = [moment, moment.astype("M8[ns]"), moment.item(), *([pd.Timestamp(moment)] if pd else [])]
    assert len(set(hash_names(same).tolist())) == 1
    finer = [moment.astype("M8[ns]") + np.timedelta64(1, "ns"), moment.astype("M8[s]")]
    assert len(set(hash_names([moment, *finer]).tolist())) == 3
    if pd:
        assert hash_names([pd.Timestamp(finer[0])]) == hash_names(finer[:1])


def test_names_of_other_kinds_differ():
    names = [1, "1", b"1", (1,), ("1",), 1.5, "1.5", 2**63, -(2**63) - 1, dt.date(1970, 1, 1), ""]
    assert len(set(hash_names(names).tolist())) == len(names)
    assert hash_names([2**64 - 1]) == hash_names(np.array([2**64 - 1], dtype="u8"))


class Plain:
    """An object that is written with its address."""


@dataclass(frozen=True)
class Holder:
    held: Plain


@pytest.mark.parametrize("dtype", ["m8[M]", "m8[Y]", "m8"])
def test_durations_without_a_number_of_seconds_are_names(dtype):
    names = np.arange(4).astype(dtype)
    assert len(set(hash_names(names).tolist())) == 4


def test_braces_in_bytes_and_tuples_are_no_sets():
    for names in ([b"{a}", b"{b}"], [("{a}", 1), ("{b}", 2)]):
        assert hash_names(names).tolist() == hash_names(names[::-1]).tolist()[::-1]


@pytest.mark.parametrize("make", [Plain, lambda: (1, Plain()), lambda: Holder(Plain())])
def test_names_that_no_process_can_repeat_are_numbered(make):
    one, two = ([make() for _ in range(6)] for _ in range(2))
    assert hashes(one) == hashes(two)
    assert len(set(hashes(one))) == 6
    assert QuerySizes.of(rows_of(one).queries) is None
    assert QuerySizes.of(rows_of([*range(5), *range(5)]).queries) is not None


def test_sets_are_numbered():
    assert hashes([frozenset("ab"), frozenset("cd")]) == hashes([frozenset("ef"), frozenset("g")])


def test_a_file_forgets_names_that_it_cannot_repeat(rng):
    X, names = rng.normal(size=(20, 2)), np.repeat([Plain() for _ in range(4)], 5)
    ranker = NDCGRanker().partial_fit(X, np.tile([0, 1, 2, 1, 0], 4), names)
    assert len(ranker.record_.names) == 4
    assert not len(ranker.record_.without_names().hashes)


def test_names_are_hashed_once(monkeypatch):
    calls = []

    def hashed(names):
        calls.append(names)
        return hash_names(names)

    monkeypatch.setattr("skcalrank.data._queries.hash_names", hashed)
    rows = rows_of(["b", "a", "c", "a"]).by_names()
    rows.folds(2)
    rows.take(rows.held_out(0.5)[0]).held_out(0.5)
    QuerySizes.of(rows.queries)
    assert len(calls) == 1


# -- keys of a seed ------------------------------------------------------------------------

N, SHARE, N_SEEDS = 1000, 0.2, 200
NAMES = {
    "numbers": np.arange(N),
    "steps": 7 * np.arange(N) + 3,
    "high bits": np.arange(N) << 20,
    "texts": np.array([f"query {number}" for number in range(N)]),
}


@pytest.mark.parametrize("names", NAMES)
def test_draws_are_independent(names):
    rows = rows_of(NAMES[names])
    drawn = np.array([rows.held_out(SHARE, seed)[0] for seed in range(N_SEEDS)])
    assert (drawn.sum(axis=1) == SHARE * N).all()
    # Two draws have a hypergeometric number of queries in common, with mean 40 and variance 25.6.
    shared = np.inner(drawn, drawn.astype(int))[np.triu_indices(N_SEEDS, 1)]
    assert abs(shared.mean() - 40) < 0.2
    assert 4.8 < shared.std() < 5.3
    # Distances of neighbors are geometric but for the end: an even draw would have no variance.
    gaps = np.array([np.diff(np.flatnonzero(mask)).var() for mask in drawn])
    assert 18 < gaps.mean() < 21
    # Every query is drawn by a fifth of the seeds.
    assert drawn.mean(axis=0).std() == pytest.approx(np.sqrt(0.16 / N_SEEDS), rel=0.1)


@pytest.mark.parametrize("names", NAMES)
def test_a_query_keeps_its_side_and_fold_in_a_subset(names):
    kept = np.arange(N) != 17
    whole, part = rows_of(NAMES[names]), rows_of(NAMES[names][kept])
    for seed in range(5):
        masks = (rows.held_out(0.1, seed, n_folds=3) for rows in (whole, part))
        assert all((one[kept] != two).sum() <= 2 for one, two in zip(*masks))
        fold, again = np.zeros(N), np.zeros(N - 1)
        for of_row, rows in ((fold, whole), (again, part)):
            for number, (_, test) in enumerate(rows.folds(5, seed)):
                of_row[test] = number
        assert (fold[kept] != again).sum() <= 5


def test_a_state_gives_one_number_of_its_own():
    state, other = np.random.RandomState(3), np.random.RandomState(3)
    assert seed_of(state) == seed_of(other) != seed_of(state)
    assert seed_of(None) == seed_of(0) == 0
    assert seed_of(np.int64(7)) == 7


# -- order ---------------------------------------------------------------------------------


def test_sorted_queries_are_not_copied(rng):
    qid = np.repeat([-3, 0, 4, 9], 3)
    X = rng.normal(size=(12, 2))
    rows = rows_of(qid, X).by_names()
    assert rows.X is X
    assert rows.numbers.tolist() == list(range(12))
    places = np.argsort([4, 9, -3, 0] * 3, kind="stable")
    moved = np.array([4, 9, -3, 0] * 3)
    again = rows_of(moved, X).by_names()
    assert again.numbers.tolist() == places.tolist()
    np.testing.assert_array_equal(again.qid, qid)


def test_queries_come_in_one_order(rng):
    names = np.array(["b", "a", "d", "c"])
    X, qid = rng.normal(size=(20, 2)), np.repeat(names, 5)
    expected = rows_of(qid, X).by_names()
    for order in ([3, 1, 0, 2], [2, 3, 1, 0]):
        rows = np.concatenate([np.flatnonzero(qid == name) for name in names[order]])
        moved = rows_of(qid[rows], X[rows]).by_names()
        np.testing.assert_array_equal(moved.X, expected.X)
        np.testing.assert_array_equal(moved.qid, expected.qid)
