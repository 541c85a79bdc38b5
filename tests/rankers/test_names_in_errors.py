"""Errors about numbers name the column of a frame that has categories and dates beside it."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from skcalrank import BoostedRanker, NDCGRanker, StackingRanker, TabularRanker
from skcalrank.data import OutOfRangeError
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QueryScaler

pandas = pytest.importorskip("pandas")

QID = np.repeat(np.arange(20), 6)
MARKER = float(np.finfo(float).max)  # of missing values in files of other languages
TREES = BoostedRanker(engine="sklearn", n_estimators=2)

RANKERS = {
    "linear": TabularRanker(trees=None),
    "tabular": TabularRanker(trees=TREES),
    "stack": StackingRanker(),
    "boosted": TREES,
    "columns": make_query_pipeline(LinearColumns(), NDCGRanker()),
    "scaled beside": make_query_pipeline(QueryScaler(append=True), TREES),
}
WRONG = {
    "tiny": lambda x: x * 1e-300,
    "marked": lambda x: np.where(np.abs(x) < 0.2, MARKER, x),
    "marked by a round number": lambda x: np.where(np.abs(x) < 0.2, -1e300, x),
}


@pytest.fixture
def frame(rng):
    days = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 900, 120), "D")
    levels = rng.choice(["u", "v", "w"], 120)
    return pandas.DataFrame({"c": levels, "d": days, "x": rng.normal(size=120)})


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", RANKERS)
def test_the_wrong_column_is_named_wherever_it_stands(name, wrong, frame, rng):
    frame = frame.assign(t=WRONG[wrong](rng.normal(size=120)))
    y = np.clip(np.round(frame.x + rng.normal(size=120)), 0, 3)
    for order in itertools.islice(itertools.permutations("cdxt"), 0, None, 7):
        with pytest.raises(OutOfRangeError, match=r" in column 't'\. "):
            clone(RANKERS[name]).fit(frame[list(order)], y, QID)


@pytest.mark.parametrize("ranker", [TabularRanker(trees=None), StackingRanker()], ids=repr)
def test_markers_of_missing_values_are_told_in_arrays(ranker, rng):
    X = rng.normal(size=(120, 3))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=120)), 0, 3)
    X[:9, 1] = MARKER
    with pytest.raises(OutOfRangeError, match=r"in column 1\. .* missing ones by NaN"):
        clone(ranker).fit(X, y, QID)
    # In a request they are read as any large number is.
    X[:9, 1] = 0
    X_new = X.copy()
    X_new[:9, 1] = MARKER
    assert np.isfinite(clone(ranker).fit(X, y, QID).predict(X_new, QID)).all()
