"""Data that is made, embedded and read."""

import gzip
import lzma
import pickle

import numpy as np
import pytest
from definitions import all_positions
from scipy.sparse import issparse
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.utils.validation import check_random_state

from skcalrank import load_digits_queries, load_letor, make_subset_ranking
from skcalrank.datasets import LabelMixture, RankingData
from skcalrank.measures import ERR, MEASURES, get_measure
from skcalrank.metrics import measure_score

# -- make_subset_ranking ---------------------------------------------------------------


def test_shapes_and_unpacking():
    X, y, qid = data = make_subset_ranking(30, (2, 6), 5, n_grades=4, random_state=0)
    assert X.shape == (len(y), 5)
    assert np.array_equal(data.X, X)
    sizes = np.bincount(qid)
    assert len(sizes) == 30
    assert set(sizes.tolist()) == {2, 3, 4, 5, 6}
    assert set(y.tolist()) <= {0, 1, 2, 3}
    assert repr(data) == f"RankingData({len(y)} rows, 5 features, 30 queries)"
    assert (np.bincount(make_subset_ranking(4, 7, random_state=0).qid) == 7).all()


def test_made_data_is_reproducible():
    one, two, other = (make_subset_ranking(20, random_state=s) for s in (0, 0, 1))
    for a, b in zip(one, two):
        assert np.array_equal(a, b)
    assert not np.array_equal(one.X, other.X)
    twin = make_subset_ranking(20, random_state=check_random_state(0))
    assert np.array_equal(one.X, twin.X)


def test_labels_follow_the_law():
    _, y, qid = data = make_subset_ranking(4000, 5, random_state=0)
    law = data.law
    assert law.probabilities.sum() == pytest.approx(1)
    # Every query shows one of the label vectors of its documents, as often as the law says.
    shown = (law.labels == y).reshape(len(law.probabilities), -1, 5).all(axis=2)
    assert shown.any(axis=0).all()
    clear = shown.sum(axis=0) == 1
    assert clear.mean() > 0.5
    expected_y = law.probabilities @ law.labels
    assert abs((y - expected_y).mean()) < 0.02
    share = shown[:, clear].mean(axis=1)
    np.testing.assert_allclose(share, law.probabilities, atol=0.05)
    assert np.array_equal(law.qid, qid)


VALUES = [get_measure(n) for n in ("ndcg@3", "dcg", "map", "mrr", "kendall", "spearman")]


@pytest.mark.parametrize("measure", [*VALUES, ERR(k=2, max_grade=2)], ids=repr)
def test_value_is_the_mean_over_intents(measure, rng):
    binary = "relevance_level" in vars(measure)
    data = make_subset_ranking(12, (2, 6), n_grades=2 if binary else 3, random_state=1)
    scores = rng.integers(0, 4, len(data.y)).astype(float)
    law = data.law
    for ties in ("average", "worst"):
        # Simulation: an intent drawn for every query on its own.
        each = np.array(
            [
                measure_score(
                    measure, y, scores, qid=data.qid, ties=ties, empty="zero", average=False
                )
                for y in law.labels
            ]
        )
        drawn = rng.choice(len(each), size=(20_000, 12), p=law.probabilities)
        simulated = each[drawn, np.arange(12)].mean(axis=1)
        error = 5 * simulated.std() / np.sqrt(20_000) + 1e-12
        assert abs(law.value(measure, scores, ties=ties) - simulated.mean()) < error


def test_all_intents_have_one_grade():
    # The largest label of an intent is not the highest grade of the scale.
    labels, qid = np.array([[0, 1, 0], [2, 0, 1]]), np.array([5, 5, 5])
    law = LabelMixture(labels, np.array([0.5, 0.5]), qid)
    scores = [0.1, 0.3, 0.2]
    assert law.value("err", scores) == pytest.approx(law.value(ERR(max_grade=2), scores))


POSITIONAL = [name for name, cls in MEASURES.items() if cls.shape == "documents"]


@pytest.mark.parametrize("name", POSITIONAL)
def test_bayes_value_is_the_best_by_brute_force(name):
    measure = get_measure(name)
    binary = "relevance_level" in vars(measure)
    data = make_subset_ranking(6, 4, n_grades=2 if binary else 3, random_state=2)
    rankings = all_positions(4)
    # Queries are ranked independently: the best of each, and their mean.
    best = []
    for q in range(6):
        rows = data.qid == q
        labels = data.law.labels[:, rows]
        values = [
            data.law.probabilities
            @ measure_score(
                measure, labels, np.tile(-p, (len(labels), 1)), empty="zero", average=False
            )
            for p in rankings
        ]
        best.append(max(values))
    assert data.law.bayes_value(name) == pytest.approx(np.mean(best), abs=1e-12)


def test_law_survives_pickling():
    data = make_subset_ranking(5, random_state=0)
    law = pickle.loads(pickle.dumps(data.law))
    assert law.bayes_value("dcg") == data.law.bayes_value("dcg")


# -- digits ----------------------------------------------------------------------------


def test_digits():
    X, y, qid = data = load_digits_queries(30, 40)
    assert isinstance(data, RankingData)
    assert X.shape == (1200, 83) == (1200, len(data.feature_names))
    assert set(y.tolist()) == {0, 1}
    assert (np.bincount(qid) == 40).all()
    assert np.isfinite(X).all()
    assert 0.05 < y.mean() < 0.15
    for a, b in zip(data, load_digits_queries(30, 40)):
        assert np.array_equal(a, b)
    assert not np.array_equal(load_digits_queries(30, 40, random_state=1).X, X)


def test_digits_labels_are_same_digit():
    # With all other images as documents the number of relevant ones is known.
    digits = load_digits().target
    _, y, qid = data = load_digits_queries(3, 1796)
    relevant = np.bincount(qid, y)
    assert set(relevant.tolist()) <= set((np.bincount(digits) - 1).tolist())
    # No document is the query itself: none is at distance zero.
    assert data.X[:, data.feature_names.index("distance")].min() > 0


@pytest.mark.parametrize("options", [{"n_queries": 0}, {"n_queries": 1798}, {"n_documents": 1797}])
def test_digits_have_bounds(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        load_digits_queries(**options)


# -- LETOR files -----------------------------------------------------------------------

LINES = """\
# a comment line
2 qid:10 1:0.5 3:1e-3 # docid = GX001
0 qid:10 2:-2
1 qid:7 1:1 2:1 3:1 #inc = 0.5
0 qid:7
"""
DENSE = np.array([[0.5, 0, 1e-3], [0, -2, 0], [1, 1, 1], [0, 0, 0]])


def write(path, text):
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wt") as file:
        file.write(text)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz", "without_suffix"])
def test_letor(name, tmp_path):
    path = write(tmp_path / name, LINES)
    for given in (path, str(path)):
        X, y, qid = load_letor(given)
        np.testing.assert_array_equal(X, DENSE)
        assert y.tolist() == [2, 0, 1, 0]
        assert qid.tolist() == [10, 10, 7, 7]


def test_letor_options(tmp_path):
    path = write(tmp_path / "a.txt", LINES)
    wide = load_letor(path, n_features=5, dtype=np.float32)
    assert wide.X.shape == (4, 5)
    assert wide.X.dtype == np.float32
    sparse = load_letor(path, sparse=True)
    assert issparse(sparse.X)
    np.testing.assert_array_equal(sparse.X.toarray(), DENSE)
    with pytest.raises(ValueError, match="n_features"):
        load_letor(path, n_features=2)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
@pytest.mark.parametrize("sizes_suffix", ["", ".gz", ".xz"])
def test_group_sizes_beside(suffix, sizes_suffix, tmp_path):
    plain = "\n".join(line.split(" qid:")[0] + " 1:0.5" for line in LINES.splitlines()[1:])
    path = write(tmp_path / f"rank.train{suffix}", plain)
    write(tmp_path / f"rank.train.query{sizes_suffix}", "1\n3\n")
    X, y, qid = load_letor(path)
    assert X.shape == (4, 1)
    assert y.tolist() == [2, 0, 1, 0]
    assert qid.tolist() == [0, 1, 1, 1]


def test_a_written_file_is_read_back(tmp_path):
    X, y, qid = make_subset_ranking(8, (2, 5), random_state=0)
    dump_svmlight_file(X, y, str(tmp_path / "made"), query_id=qid, zero_based=False)
    for one, two in zip((X, y, qid), load_letor(tmp_path / "made")):
        np.testing.assert_allclose(two, one, rtol=1e-12)
