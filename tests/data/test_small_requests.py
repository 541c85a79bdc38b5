"""A frame of few rows, which is read at once, gives what a frame of many rows gives."""

import datetime
import decimal

import numpy as np
import pytest

from skcalrank import BoostedRanker, NDCGRanker
from skcalrank.columns import tables

N, MANY = 20, 40  # rows of a request, and how often they are repeated to be many
WHOLE = list(range(N))
HALVES = [k / 2 for k in WHOLE]


def of_pandas(kind):
    pandas = pytest.importorskip("pandas")
    made = {
        "categories of numbers": lambda: pandas.Categorical(HALVES),
        "missing": lambda: [None, *HALVES[1:]],
        "nullable": lambda: pandas.array(HALVES, dtype="Float64"),
        "missing of its own": lambda: pandas.array([None, *WHOLE[1:]], dtype="Int64"),
        "sparse": lambda: pandas.arrays.SparseArray(HALVES),
        "dates": lambda: pandas.date_range("2024-01-01", periods=N),
        "objects": lambda: pandas.Series(HALVES, dtype=object),
    }
    values = OF_BOTH[kind] if kind in OF_BOTH else made[kind]()
    frame = pandas.DataFrame({"a": HALVES[::-1], "b": values})
    return frame, pandas.concat([frame] * MANY, ignore_index=True)


def of_polars(kind):
    polars = pytest.importorskip("polars")
    made = {
        "missing": lambda: [None, *HALVES[1:]],
        "missing of its own": lambda: [None, *WHOLE[1:]],
        "dates": lambda: [datetime.date(2024, 1, 1 + k) for k in WHOLE],
        "durations": lambda: [datetime.timedelta(k) for k in WHOLE],
        "decimals": lambda: [decimal.Decimal(k) / 10 for k in WHOLE],
        "nothing": lambda: [None] * N,
    }
    values = OF_BOTH[kind] if kind in OF_BOTH else made[kind]()
    frame = polars.DataFrame({"a": HALVES[::-1], "b": values})
    return frame, polars.concat([frame] * MANY)


OF_BOTH = {
    "floats": HALVES,
    "integers": WHOLE,
    "singles": np.array(HALVES, dtype=np.float32),
    "bytes": np.array(WHOLE, dtype=np.uint8),
    "truth values": [k % 2 == 0 for k in WHOLE],
    "text": ["x", "y"] * (N // 2),
    "text of numbers": [str(k) for k in WHOLE],
    "large integers": [2**53 + k for k in WHOLE],
    "infinite": [np.inf, *HALVES[1:]],
}
ONE = ["categories of numbers", "nullable", "sparse", "objects"]
BOTH = [*OF_BOTH, "missing", "missing of its own", "dates"]
CASES = [(of_pandas, kind) for kind in (*BOTH, *ONE)]
CASES += [(of_polars, kind) for kind in (*BOTH, "durations", "decimals", "nothing")]

Y, QID = np.arange(N) % 3, np.repeat(np.arange(4), 5)
few = {"n_jobs": 1, "n_estimators": 3, "min_samples_leaf": 1, "validation_fraction": None}
RANKERS = {"linear": NDCGRanker(), "trees": BoostedRanker(engine="sklearn", **few)}


def outcome(ranker, rows):
    try:
        return ranker.predict(rows)[:N]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.every_case
@pytest.mark.filterwarnings("ignore")  # rows without a query, columns of one value
@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize(("library", "kind"), CASES, ids=lambda of: getattr(of, "__name__", of))
def test_few_rows_are_read_as_many(library, kind, ranker):
    frame, _ = library("floats")
    asked, many = library(kind)
    assert len(asked) <= tables.FEW < len(many)
    fitted = RANKERS[ranker].fit(frame, Y, QID)
    assert tables.few_numbers(frame) is not None
    expected, found = outcome(fitted, many), outcome(fitted, asked)
    if isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_array_equal(found, expected)
