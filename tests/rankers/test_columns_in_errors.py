"""Errors about the size of numbers name the column, and rankers of one X warn of it once."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    BoostedRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    StackingRanker,
    TabularRanker,
)
from skcalrank.data import OutOfRangeError
from skcalrank.linear_model import GramRidge
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns
from skcalrank.rankers import StochasticAggregatedRanker

QID = np.repeat(np.arange(20), 6)
TREES = BoostedRanker(engine="sklearn", n_estimators=2)

#: Rankers, and sizes of numbers with which they cannot compute.
OUT_OF_RANGE = {
    "ridge": (NDCGRanker(), (1e-300, 1e160)),
    "squared": (NDCGRanker(loss="squared"), (1e-300, 1e160)),
    "GramRidge": (NDCGRanker(GramRidge()), (1e-300, 1e160)),
    "descent": (PairwiseLogisticRanker(), (1e-300, 1e160)),
    "stochastic": (StochasticAggregatedRanker("win_rate", n_updates=5), (1e200,)),
    "bilinear": (PairwiseDisagreementRanker(surrogate="pairwise"), (1e80,)),
    "tree": (NDCGRanker(DecisionTreeRegressor(max_depth=2)), (1e39,)),
    "boosted": (TREES, (1e-300, 1e39)),
    "stack": (StackingRanker([("a", NDCGRanker()), ("b", NDCGRanker(k=2))]), (1e-300, 1e160)),
    "linear views": (StackingRanker(), (1e-300,)),
    "table": (TabularRanker(trees=TREES), (1e-300, 1e39)),
    "pipeline": (make_query_pipeline(StandardScaler(), "passthrough", NDCGRanker()), (1e160,)),
    "encoded": (make_query_pipeline(LinearColumns(), NDCGRanker()), (1e-300, 1e160)),
    "encoded for trees": (make_query_pipeline(LinearColumns(), TREES), (1e-300, 1e39)),
}
CASES = [(name, size) for name, (_, sizes) in OUT_OF_RANGE.items() for size in sizes]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(120, 2))
    return X, np.clip(np.round(X[:, 0] + rng.normal(size=120)), 0, 3)


# Of the scaler and the trees of scikit-learn.
@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize(("name", "size"), CASES)
def test_errors_about_numbers_name_the_column(name, size, data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    X = X * [1.0, size]
    ranker = clone(OUT_OF_RANGE[name][0])
    table = pandas.DataFrame(X, columns=["title", "price"])
    with pytest.raises(OutOfRangeError, match=r" in column 'price'\. "):
        ranker.fit(table, y, QID)
    # Transformers call the columns of an array x0 and x1.
    with pytest.raises(OutOfRangeError, match=r" in column (1|'x1')\. "):
        ranker.fit(X, y, QID)
    assert not hasattr(ranker, "record_")


@pytest.mark.parametrize("ranker", [NDCGRanker(), PairwiseLogisticRanker()], ids=repr)
@pytest.mark.parametrize("size", [1e-300, 1e160])
def test_columns_of_sparse_matrices_have_numbers(ranker, size, data):
    X, y = data
    with pytest.raises(OutOfRangeError, match=r" in column 1\. "):
        clone(ranker).fit(csr_matrix(X * [1.0, size]), y, QID)


def test_the_error_crosses_processes(data):
    X, y = data
    with pytest.raises(OutOfRangeError) as caught:
        NDCGRanker().fit(X * [1.0, 1e200], y, QID)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.column) == (str(caught.value), 1)
    assert str(OutOfRangeError("Invalid eval_set")) == "Invalid eval_set"


@pytest.mark.parametrize("trees", [1, 2])
def test_rankers_of_one_table_warn_once(trees, data):
    pytest.importorskip("xgboost")
    X, y = data
    X = X * 1e-2 + [0.0, 1e9]
    boosted = BoostedRanker(engine="xgboost", n_estimators=2, n_jobs=1)
    members = [(f"trees{number}", boosted) for number in range(trees)]
    stack = StackingRanker([*members, ("linear", NDCGRanker())])
    for ranker in (stack, TabularRanker(trees=boosted), stack):
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            clone(ranker).fit(X, y, QID)
        texts = [str(warning.message) for warning in issued]
        assert len(texts) == 1, texts
        assert "different values equal in the columns [1] of X" in texts[0]
        assert issued[0].filename == __file__
