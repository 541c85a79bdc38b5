"""Labels, queries and numbers of rows among the columns of a frame are told by every ranker."""

import re
import warnings

import numpy as np
import pytest
from cases import rankers
from checks import every_estimator
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import (
    BoostedRanker,
    CalibratedRankerCV,
    ExternalRanker,
    GuaranteedCutoff,
    NDCGRanker,
    PairwiseLogisticRanker,
    StackingRanker,
    TabularRanker,
)

pandas = pytest.importorskip("pandas")

TREES = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5)
OTHERS = [
    NDCGRanker(TREES),
    ExternalRanker(TREES),
    GuaranteedCutoff(NDCGRanker(), alpha=0.4, relevance_level=1),
    CalibratedRankerCV(ExternalRanker(TREES), cv=2, relevance_level=1),
    StackingRanker([("linear", NDCGRanker()), ("trees", BoostedRanker(n_estimators=3))]),
]
N_QUERIES = 24

#: What is told of a column, by its name; each once.
TOLD = {"label": "orders all documents by", "query": "holds the qid", "row": "holds consecutive"}


@pytest.fixture
def data(rng):
    qid = np.repeat(rng.permutation(900)[:N_QUERIES], 8)
    y = rng.integers(0, 3, len(qid))
    X = pandas.DataFrame({"a": y + rng.normal(size=len(y)), "b": rng.normal(size=len(y))})
    return X, y, qid


def told(ranker, X, y, qid):
    """What a fit tells of columns, as (name, part of the text)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(ranker).fit(X, y, qid)
    texts = [str(warning.message) for warning in caught]
    found = [re.match(r"Column '(\w+)' of X (is left out: it )?(.*)", text) for text in texts]
    return sorted((match[1], match[3][: len(TOLD[match[1]])]) for match in found if match)


@every_estimator([*rankers(relevance_level=1), *OTHERS])
def test_every_ranker_tells_leaks_of_a_frame_once(estimator, data):
    X, y, qid = data
    leaks = {"label": 2.0 - 3 * y, "query": qid, "row": np.arange(len(y))[::-1] + 5}
    assert told(estimator, X.assign(**leaks), y, qid) == sorted(TOLD.items())
    assert told(estimator, X, y, qid) == []


@pytest.mark.parametrize("ranker", [NDCGRanker(), TabularRanker(trees=None)], ids=repr)
@pytest.mark.parametrize("sold", [lambda y: y > 0, lambda y: np.where(y > 1, -3.0, 5.0)])
def test_a_class_of_labels_is_told(ranker, sold, data):
    X, y, qid = data
    label = sold(y).astype(float)
    label[:5] = label[:5] if isinstance(ranker, NDCGRanker) else np.nan
    assert told(ranker, X.assign(label=label), y, qid) == [("label", TOLD["label"])]
    wrong = np.roll(sold(y), 1)
    assert told(ranker, X.assign(label=wrong, one=sold(y * 0)), y, qid) == []


@pytest.mark.parametrize("ranker", [NDCGRanker(), PairwiseLogisticRanker()], ids=repr)
def test_what_is_near_a_leak_is_no_leak(ranker, data):
    X, y, qid = data
    last = np.arange(len(y)) == len(y) - 1
    near = {
        "label": np.where(last, 9 - 5 * y, y),
        "query": qid + last,
        "row": np.arange(len(y)) + last,
    }
    assert told(ranker, X.assign(**near), y, qid) == []


def test_arrays_and_chunks_are_not_looked_at(data):
    X, y, qid = data
    leaky = X.assign(label=y)
    assert told(NDCGRanker(), leaky.to_numpy(), y, qid) == []
    NDCGRanker(alpha=1.0).partial_fit(leaky, y, qid)


def test_columns_of_other_types_and_names(data):
    X, y, qid = data
    leaky = X.assign(label=pandas.array(y, dtype="Int64"), row=[str(k) for k in range(len(y))])
    leaky = leaky.assign(row=leaky.row.astype(float)).set_axis(range(4), axis=1)
    with pytest.warns(UserWarning, match="Column [23] of X") as caught:
        NDCGRanker().fit(leaky.iloc[:, ::-1], y, qid)
    assert [each.category for each in caught].count(UserWarning) == 2
