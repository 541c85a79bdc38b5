"""Identifiers of any kind, and reductions over queries against loops."""

import datetime

import numpy as np
import pytest

from skcalrank import NDCGRanker, RankingTarget
from skcalrank.columns import arrays
from skcalrank.data import Queries, check_qid
from skcalrank.metrics import ndcg_score

# Numbers of the queries of the rows: interleaved, and one after the other.
INTERLEAVED = [0, 1, 0, 2, 1, 1, 0, 3, 2, 0, 1, 2]
CONTIGUOUS = sorted(INTERLEAVED, key=[2, 0, 3, 1].index)


def frames(name):
    return pytest.importorskip(name)


def pandas_series(values, dtype=None):
    return frames("pandas").Series(values, dtype=dtype, index=range(100, 100 + len(values)))


WORDS = ("b", "a", "long name", "")
DAYS = [datetime.date(2024, 1, 5 - i) for i in range(4)]
MIXED = (1, "a", "1", 2.5)

KINDS = {
    "int": lambda c: [[7, 3, 5, 9][i] for i in c],
    "int32 array": lambda c: np.array(c, dtype=np.int32),
    "negative": lambda c: [[-1, -5, 0, 3][i] for i in c],
    "float": lambda c: np.array(c) / 4 - 0.5,
    "bool or so": lambda c: np.array(c, dtype=np.uint8),
    "large": lambda c: np.array(c, dtype=np.uint64) + np.uint64(2**63 + 5),
    "larger than int64": lambda c: [2**70 + i for i in c],
    "string": lambda c: [WORDS[i] for i in c],
    "string array": lambda c: np.array([WORDS[i] for i in c]),
    "bytes": lambda c: np.array([WORDS[i] for i in c], dtype="S9"),
    "object": lambda c: np.array([WORDS[i] for i in c], dtype=object),
    "mixed": lambda c: [MIXED[i] for i in c],
    "mixed object": lambda c: np.array([MIXED[i] for i in c], dtype=object),
    "tuples": lambda c: [(i % 2, str(i // 2)) for i in c],
    "tuple of ints": lambda c: [(i, i + 1) for i in c],
    "frozen sets": lambda c: [frozenset({i}) for i in c],
    "datetime64": lambda c: np.array([DAYS[i] for i in c], dtype="datetime64[D]"),
    "dates": lambda c: [DAYS[i] for i in c],
    "column": lambda c: np.array(c)[:, None],
    "tuple": tuple,
    "Categorical": lambda c: frames("pandas").Categorical([WORDS[i] for i in c]),
    "ordered": lambda c: frames("pandas").Categorical.from_codes(c, list("zyxw"), ordered=True),
    "category Series": lambda c: pandas_series([WORDS[i] for i in c], "category"),
    "Int64": lambda c: pandas_series(c, "Int64"),
    "string Series": lambda c: pandas_series([WORDS[i] for i in c], "string"),
    "str Series": lambda c: pandas_series([WORDS[i] for i in c]),
    "datetime Series": lambda c: frames("pandas").to_datetime(pandas_series([DAYS[i] for i in c])),
    "Index": lambda c: frames("pandas").Index([WORDS[i] for i in c]),
    "polars": lambda c: frames("polars").Series([WORDS[i] for i in c]),
    "polars int": lambda c: frames("polars").Series(c),
    "polars Categorical": lambda c: frames("polars").Series(
        [WORDS[i] for i in c], dtype=frames("polars").Categorical
    ),
}


@pytest.mark.product
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("codes", [INTERLEAVED, CONTIGUOUS], ids=["interleaved", "contiguous"])
def test_any_kind_of_identifier(kind, codes, rng):
    X, y = rng.normal(size=(12, 3)), rng.integers(0, 3, 12)
    plain, qid = np.array(codes), KINDS[kind](codes)
    expected = NDCGRanker(k=2).fit(X, y, plain)
    ranker = NDCGRanker(k=2).fit(X, y, qid)
    scores = ranker.predict(X)
    assert np.array_equal(scores, expected.predict(X))
    assert np.array_equal(ranker.rank(X, qid), expected.rank(X, plain))
    assert ranker.score(X, y, qid) == expected.score(X, y, plain)
    values = ndcg_score(y, scores, qid=plain, average=False)
    np.testing.assert_array_equal(ndcg_score(y, scores, qid=qid, average=False), values)
    if kind != "column":
        target = RankingTarget(y, qid)
        np.testing.assert_array_equal(ndcg_score(target, scores, average=False), values)
        np.testing.assert_array_equal(ndcg_score(target, scores, qid=qid, average=False), values)


@pytest.mark.parametrize("kind", ["Int64", "category Series", "string Series", "str Series"])
def test_missing_in_a_frame_is_missing(kind, rng):
    codes = list(INTERLEAVED)
    qid = KINDS[kind](codes)
    qid = qid.where(np.arange(12) != 3)
    with pytest.raises(ValueError, match=r"missing value .* in row 3"):
        NDCGRanker().fit(rng.normal(size=(12, 2)), np.zeros(12), qid)


@pytest.mark.parametrize("lost", [float("nan"), np.float32("nan"), np.datetime64("NaT", "D")])
def test_a_missing_part_of_a_name_is_missing(lost):
    # NaN is equal to no other NaN, so that each of these rows was a query of its own.
    names = [("u", 1), ("u", 1), (type(lost)(lost), 2), (type(lost)(lost), 2)]
    for name in (names, [("s", name) for name in names], [(None, name) for name in names]):
        with pytest.raises(ValueError, match=r"missing value .* in row 2"):
            check_qid(name, 4)
    assert Queries.from_qid(check_qid([(None, 1), (None, 2)] * 2, 4)).n_queries == 2


def test_null_in_polars_is_missing(rng):
    polars = frames("polars")
    for values in ([1, None, 2], ["a", None, "b"]):
        with pytest.raises(ValueError, match=r"missing value .* in row 1"):
            NDCGRanker().fit(rng.normal(size=(3, 2)), np.zeros(3), polars.Series(values))


# -- the data type ---------------------------------------------------------------------


@pytest.fixture(params=["interleaved", "contiguous", "one", "singles"])
def qid(request, rng):
    ragged = np.repeat(np.arange(40), rng.integers(1, 60, size=40))
    return {
        "interleaved": rng.permutation(ragged),
        "contiguous": ragged[::-1],
        "one": np.zeros(17, dtype=int),
        "singles": rng.permutation(30),
    }[request.param]


def rows_by_query(qid):
    return [np.flatnonzero(qid == q) for q in dict.fromkeys(qid.tolist())]


def test_grouped_order(qid):
    queries = Queries.from_qid(qid)
    groups = rows_by_query(qid)
    rows = np.arange(len(qid))
    assert np.array_equal(queries.group(rows), np.concatenate(groups))
    assert queries.sizes.tolist() == [len(g) for g in groups]
    assert queries.names.tolist() == list(dict.fromkeys(qid.tolist()))
    assert queries.n_rows == len(qid)
    assert queries.n_queries == len(groups)
    for number, group in enumerate(groups):
        assert (queries.codes[group] == number).all()
    assert queries.name(0) == qid[0]


def test_group_and_ungroup_are_inverse(qid, rng):
    queries = Queries.from_qid(qid)
    for values in (rng.normal(size=len(qid)), rng.normal(size=(len(qid), 2))):
        assert np.array_equal(queries.ungroup(queries.group(values)), values)
        assert np.array_equal(queries.group(queries.ungroup(values)), values)


def test_reductions(qid, rng):
    queries, groups = Queries.from_qid(qid), rows_by_query(qid)
    values = rng.normal(size=len(qid))
    grouped = queries.group(values)
    for name in ("sum", "max", "mean"):
        expected = [getattr(values[g], name)() for g in groups]
        np.testing.assert_allclose(getattr(queries, name)(grouped), expected, atol=1e-12)
    numbers = np.arange(len(groups))
    spread = queries.ungroup(queries.repeat(numbers))
    assert np.array_equal(spread, queries.codes)


def test_indicator_sums_rows(qid, rng):
    queries, groups = Queries.from_qid(qid), rows_by_query(qid)
    weights, X = rng.normal(size=len(qid)), rng.normal(size=(len(qid), 3))
    expected = [weights[g] @ X[g] for g in groups]
    np.testing.assert_allclose(queries.indicator(queries.group(weights)) @ X, expected, atol=1e-12)


def test_buckets_hold_every_query_once(qid, rng):
    queries = Queries.from_qid(qid)
    values = rng.normal(size=len(qid))
    extended, seen = queries.extend(values), []
    for bucket in queries.buckets:
        padded = bucket.pad(extended, np.inf)
        assert padded.shape == (len(bucket.ids), bucket.width)
        for number, row, (size,) in zip(bucket.ids, padded, bucket.sizes):
            seen.append(number)
            first, last = queries.ptr[number : number + 2]
            assert np.array_equal(row, np.append(values[first:last], [np.inf] * (len(row) - size)))
        assert bucket.width < 2 * bucket.sizes.min()
    assert sorted(seen) == list(range(queries.n_queries))


def test_buckets_are_bounded():
    buckets = Queries.equal(5000, 100).buckets
    assert max(len(bucket.ids) * bucket.width for bucket in buckets) <= 1 << 17
    assert sum(len(bucket.ids) for bucket in buckets) == 5000


def test_mean_weight_is_a_divisor():
    queries = Queries(np.array([0, 2, 3]))
    assert queries.mean_weight(np.array([1.0, 4.0, 0.0])).tolist() == [2.5, 1.0]


def test_division_by_zero():
    assert arrays.safe_divide(1, np.array([0, 4])).tolist() == [0.0, 0.25]
    assert (
        arrays.safe_divide(np.zeros((2, 1)), np.array([0.0, -1.0]), 0.5).tolist()
        == [[0.5, 0.0]] * 2
    )


def test_queries_of_one_size():
    queries = Queries.equal(3, 4)
    assert queries.ptr.tolist() == [0, 4, 8, 12]
    assert queries.name(2) == 2
    assert queries.codes.tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize("kind", [float, int, object, "U1", "datetime64[D]"])
def test_no_rows_are_no_queries(kind):
    queries = Queries.from_qid(np.array([], dtype=kind))
    assert (queries.n_rows, queries.n_queries, len(queries.codes)) == (0, 0, 0)
    assert queries.names.tolist() == []
