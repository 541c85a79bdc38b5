"""Shared fixtures: everything random is seeded."""

import numpy as np
import pytest
from cases import make_data

SHOWN = set()


def pytest_itemcollected(item):
    """Mark as slow what shows nothing new of a product of parameters, before items are shuffled."""
    if item.get_closest_marker("product") and not item.get_closest_marker("slow"):
        given = item.callspec.params.items()
        values = {(item.nodeid.partition("[")[0], name, id(value)) for name, value in given}
        if values <= SHOWN:
            item.add_marker("slow")
        SHOWN.update(values)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def sizes():
    """Documents of each query; a test file may have its own."""
    return (6, 1, 9, 4, 7, 5)


@pytest.fixture
def data(rng, sizes):
    """Features, grades and queries in mixed order."""
    return make_data(rng, sizes)


@pytest.fixture
def label_data(rng):
    """Features, and grades of the same four items for every row."""
    X = rng.normal(size=(40, 3))
    return X, np.clip(np.round(X @ rng.normal(size=(3, 4)) + 0.7), 0, 3)


@pytest.fixture
def dask_in_this_thread():
    """Collections are computed here, unless a test has a cluster."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield
