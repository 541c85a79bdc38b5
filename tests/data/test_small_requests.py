"""A request for one query skips checks that would find nothing, and no others."""

import warnings

import numpy as np
import pytest

from skcalrank import BoostedRanker, NDCGRanker
from skcalrank.preprocessing import QueryScaler

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
Y = np.digitize(X[:, 0], [0.5, 1.0])

ESTIMATORS = {
    "linear": NDCGRanker(),
    "trees": BoostedRanker(engine="sklearn", n_estimators=3, validation_fraction=None),
    "scaler": QueryScaler(),
}


def with_cell(value):
    rows = X[:10].copy()
    rows[3, 1] = value
    return rows


REQUESTS = {
    "doubles": X[:10],
    "singles": X[:10].astype(np.float32),
    "columns in memory": np.asfortranarray(X[:10]),
    "every second row": X[:20:2],
    "other bytes": X[:10].astype(">f8"),
    "integers": X[:10].astype(int),
    "a list": X[:10].tolist(),
    "objects": X[:10].astype(object),
    "complex": X[:10] + 0j,
    "missing": with_cell(np.nan),
    "infinite": with_cell(np.inf),
    "one column too few": X[:10, :2],
    "one column too many": np.hstack([X[:10], X[:10, :1]]),
    "one row": X[0],
    "three axes": X[:10, :, None],
    "no columns": X[:10, :0],
    "masked": np.ma.masked_greater(X[:10], 1.0),
}


def result(call):
    """What a call returns, warns of and raises."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            value = repr(call().tolist())  # NaN is not equal to itself
        except (ValueError, TypeError) as error:
            value = type(error), str(error)
    return value, [str(warning.message) for warning in told]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_small_requests_are_read_as_large_ones(name, monkeypatch):
    estimator = ESTIMATORS[name].fit(X, Y, QID)
    method = estimator.transform if name == "scaler" else estimator.predict
    calls = [lambda rows=rows: method(rows, qid=np.zeros(len(rows))) for rows in REQUESTS.values()]
    small = list(map(result, calls))
    monkeypatch.setattr("skcalrank.data.check._FEW_CELLS", 0)
    assert dict(zip(REQUESTS, small)) == dict(zip(REQUESTS, map(result, calls)))
    assert isinstance(small[0][0], str)
    assert isinstance(small[list(REQUESTS).index("infinite")][0], tuple)
