"""Model files of rankers that take chunks know the queries that they have seen."""

import copy
import pickle
from datetime import date
from decimal import Decimal
from zipfile import ZipFile

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import LeastSquaresRankerCV, NDCGRanker
from skcalrank.linear_model import GramRidge
from skcalrank.measures import get_measure
from skcalrank.persistence import load_model, save_model
from skcalrank.rankers import FitRecord

pytest.importorskip("skops.io")

NAMES = {
    "integers": range(10),
    "negative": range(-1, -11, -1),  # Python hashes -1 as -2
    "large": range(2**64, 2**64 + 10),
    "floats": np.arange(10) / 4,
    "text": [f"query-{i}" for i in range(10)],
    "bytes": [bytes([i + 1]) for i in range(10)],
    "pairs": [("a", i) for i in range(10)],
    "days": [date(2020, 1, i + 1) for i in range(10)],
}


def loaded(ranker, folder):
    save_model(ranker, folder / "model.skops")
    return load_model(folder / "model.skops")


def pickled(ranker, _):
    return pickle.loads(pickle.dumps(ranker))


def chunk(names, which):
    """Rows of some of ten queries of four documents each."""
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40.0) % 3
    qid = np.empty(40, dtype=object)
    qid[:] = [list(names)[row // 4] for row in range(40)]
    rows = np.isin(np.arange(40) // 4, which)
    return X[rows], y[rows], qid[rows]


@pytest.mark.product
@pytest.mark.parametrize("keep", [loaded, pickled])
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_a_chunk_that_was_counted_is_refused(names, keep, tmp_path):
    ranker = NDCGRanker(GramRidge()).partial_fit(*chunk(names, [0, 1, 2]))
    twin = keep(ranker, tmp_path)
    coef = twin.coef_.copy()
    with pytest.raises(ValueError, match=r"Query .* was in an earlier chunk"):
        twin.partial_fit(*chunk(names, [5, 2]))
    np.testing.assert_array_equal(twin.coef_, coef)
    # Other queries are accepted; they and the earlier ones are then known, also after saving again.
    for new in ([5], [6, 7]):
        twin = keep(twin.partial_fit(*chunk(names, new)), tmp_path)
    for old in ([0], [5], [7]):
        with pytest.raises(ValueError, match=r"Query .* was in an earlier chunk"):
            twin.partial_fit(*chunk(names, old))
    whole = NDCGRanker(GramRidge()).fit(*chunk(names, [0, 1, 2, 5, 6, 7]))
    np.testing.assert_allclose(twin.coef_, whole.coef_, rtol=1e-10)


def test_merging_models_that_were_loaded(tmp_path):
    names = NAMES["text"]
    parts = [[0, 1], [1, 2], [3]]
    new = [NDCGRanker(GramRidge()).partial_fit(*chunk(names, which)) for which in parts]
    old = [loaded(ranker, tmp_path) for ranker in new]
    for one, other in ((new[0], old[1]), (old[0], new[1]), (old[0], old[1])):
        with pytest.raises(ValueError, match=r"Query .* was seen by two of the rankers"):
            one.merge(other)
        with pytest.raises(ValueError, match=r"Query .* was seen by two of the rankers"):
            other.merge(old[2], one)
    for merged in (old[0].merge(new[2]), new[0].merge(old[2]), old[0].merge(old[2])):
        for which in ([1], [3]):
            with pytest.raises(ValueError, match=r"Query 'query-.' was in an earlier"):
                merged.partial_fit(*chunk(names, which))
        merged.partial_fit(*chunk(names, [2]))


@pytest.mark.parametrize(
    "ranker",
    [
        NDCGRanker(GramRidge()),
        LeastSquaresRankerCV(cv=2),
        make_pipeline(StandardScaler(), NDCGRanker(GramRidge())),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_names_of_queries_are_left_out(ranker, tmp_path):
    X, y, qid = chunk(NAMES["text"], range(10))
    fitted = ranker.fit(X, y, **{"ndcgranker__qid" if hasattr(ranker, "steps") else "qid": qid})
    loaded(fitted, tmp_path)
    with ZipFile(tmp_path / "model.skops") as archive:
        assert "query-1" not in archive.read("schema.json").decode()
    # The ranker itself keeps them.
    inner = fitted[-1] if hasattr(fitted, "steps") else fitted
    inner = inner.rankers_["ndcg@10"] if hasattr(inner, "rankers_") else inner
    assert "query-1" in inner.record_.names


def hashes(*names):
    record = FitRecord("any", get_measure("dcg"), None, names=frozenset(names))
    return record.without_names().hashes.tolist()


def test_hashes_are_the_same_in_every_process_and_of_equal_names():
    assert hashes("a", (1, "a"), 5, -1) == sorted(
        [8322617052064244408, 17515180274792458824, 5, 2**64 - 1]
    )
    for same in (1.0, True, np.int8(1), np.float32(1), Decimal(1), np.bool_(True)):
        assert hashes(same) == [1]
    different = [0.5, "0.5", b"0.5", 2**63, -(2**63), 2**64, "9", 9, None, (1, 2), ("1", 2), np.inf]
    assert len(set(hashes(*different))) == len(different)


def test_a_copy_that_goes_on_leaves_the_ranker_as_it_was(tmp_path):
    names = NAMES["integers"]
    ranker = loaded(NDCGRanker(GramRidge()).partial_fit(*chunk(names, [0, 1, 2])), tmp_path)
    before = ranker.coef_.copy()
    copy.copy(ranker).partial_fit(*chunk(names, [3, 4]))
    np.testing.assert_array_equal(ranker.coef_, before)
    ranker.partial_fit(*chunk(names, [3]))
