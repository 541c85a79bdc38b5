"""Data that is made, embedded and read."""

import bz2
import gzip
import lzma
import os
import pickle
import re
import sys
import tracemalloc
from collections import deque
from threading import Thread

import numpy as np
import pytest
from definitions import all_positions
from scipy.sparse import issparse, vstack
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.utils.validation import check_random_state

from skcalrank import load_digits_queries, load_letor, make_subset_ranking
from skcalrank.datasets import Columns, LabelMixture, RankingData, read_table
from skcalrank.evaluation import load_qrels, to_qrels
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
    targets = law.expected_targets("err")
    np.testing.assert_allclose(targets, law.expected_targets(ERR(max_grade=2)), rtol=1e-12)


POSITIONAL = [name for name, cls in MEASURES.items() if cls.shape == "documents"]


@pytest.mark.every_case
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


def test_graded_digits_are_the_same_images():
    X, y, qid = load_digits_queries(10, 400)
    graded_X, grades, graded_qid = load_digits_queries(10, 400, graded=True)
    assert np.array_equal(graded_X, X)
    assert np.array_equal(graded_qid, qid)
    assert np.array_equal(grades == 4, y == 1)
    # Ten digits, each about as often: one is the same, and at most two and four are near.
    assert set(grades.tolist()) == {0, 1, 2, 4}
    assert np.bincount(qid, grades == 2).max() < 2 * 1.5 * 40
    assert 0.2 < (grades == 1).mean() < 0.4


@pytest.mark.parametrize(
    "options", [{"n_queries": 0}, {"n_queries": 1798}, {"n_documents": 1797}, {"graded": 3}]
)
def test_digits_have_bounds(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
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
    opener = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wt") as file:
        file.write(text)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.bz2", "a.txt.xz", "without_suffix"])
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


# -- chunks ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def letor_text():
    """Lines of ragged queries with comments between, and the last features in some rows only."""
    X, y, qid = make_subset_ranking(20, (1, 9), 6, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.4] = 0
    rows = [
        f"{label:g} qid:{q} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x.tolist()) if v)
        for x, label, q in zip(X, y, qid)
    ]
    rows[3] += " #docid = GX-3"
    return "# head\n" + "\n# between\n\n".join(rows) + "\n# tail"


def together(chunks):
    return [np.concatenate(parts) for parts in zip(*chunks)]


@pytest.mark.product
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
@pytest.mark.parametrize("chunk_rows", [1, 2, 7, 40, 10**9])
@pytest.mark.parametrize("with_qid", [True, False])
def test_chunks_are_the_whole(letor_text, suffix, chunk_rows, with_qid, tmp_path):
    if not with_qid:
        sizes = np.unique(load_letor(write(tmp_path / "a", letor_text)).qid, return_counts=True)[1]
        letor_text = re.sub(r"qid:\d+", "", letor_text)
        write(tmp_path / "a.txt.query", "\n".join(map(str, sizes)))
    path = write(tmp_path / f"a.txt{suffix}", letor_text)
    whole, chunks = load_letor(path), list(load_letor(path, chunk_rows=chunk_rows))
    for one, two in zip(together(chunks), whole):
        np.testing.assert_array_equal(one, two)
    # Whole queries, of as many rows as asked for, and not a query more.
    sizes = [np.unique(chunk.qid, return_counts=True)[1] for chunk in chunks]
    assert sum(map(len, sizes)) == 20
    assert all(s.sum() >= chunk_rows for s in sizes[:-1])
    last = [np.count_nonzero(chunk.qid == chunk.qid[-1]) for chunk in chunks]
    assert all(s.sum() - n < chunk_rows for s, n in zip(sizes, last))
    assert chunks[0].description == whole.description


def test_options_of_chunks(letor_text, tmp_path):
    path = write(tmp_path / "a.txt", letor_text)
    options = {"n_features": 9, "dtype": np.float32, "sparse": True}
    whole = load_letor(path, **options)
    chunks = list(load_letor(path, chunk_rows=10, **options))
    assert len(chunks) > 3
    assert all(issparse(c.X) and c.X.shape[1] == 9 and c.X.dtype == np.float32 for c in chunks)
    assert np.array_equal(vstack([c.X for c in chunks]).toarray(), whole.X.toarray())
    with pytest.raises(ValueError, match="n_features"):
        list(load_letor(path, n_features=2, chunk_rows=10))
    for bad in (0, 2.5, True):
        with pytest.raises(ValueError, match=r"chunk_rows must be an integer >= 1"):
            load_letor(path, chunk_rows=bad)


@pytest.mark.parametrize("options", [{}, {"chunk_rows": 1}, {"chunk_rows": 9, "sparse": True}])
def test_a_judgment_list_is_refused_with_the_call_that_reads_it(tmp_path, options):
    path = write(tmp_path / "a.txt", "# rambo\n4\tqid:1 #\t7555\tRambo\n0 qid:1 # 13 Blood\n")
    with pytest.raises(ValueError, match="has no features, as a judgment list") as caught:
        list(load_letor(path, **options))
    call = re.search(r"load_qrels\('.*'\)", str(caught.value))[0]
    assert eval(call, {"load_qrels": load_qrels}) == {"1": {"7555": 4, "13": 0}}
    # Rows without a feature are zeros beside others.
    path.write_text("1 qid:1\n0 qid:1 # none\n0 qid:1 2:3\n")
    for data in (load_letor(path), *load_letor(path, chunk_rows=9)):
        assert data.X.tolist() == [[0, 0], [0, 0], [0, 3]]


@pytest.mark.parametrize("chunk_rows", [None, 1, 100])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_from_zero(tmp_path, rng, chunk_rows, sparse):
    X, y = rng.integers(0, 3, (60, 4)) * 0.5, rng.integers(0, 3, 60)
    qid = np.repeat(np.arange(20), 3)
    X[0] = 0, 1, 0, 2  # without a feature 0
    X[59, 0] = X[:, 3].max() + 1
    options = {"chunk_rows": chunk_rows, "sparse": sparse}

    def read(path, **more):
        data = load_letor(path, **options, **more)
        parts = [data] if chunk_rows is None else list(data)
        parts = [part.X.toarray() if sparse else part.X for part in parts]
        return np.concatenate(parts)

    for zero_based in (False, True):
        path = str(tmp_path / f"{zero_based}.txt")
        dump_svmlight_file(X, y, path, query_id=qid, zero_based=zero_based)
        for said in ("auto", zero_based):
            np.testing.assert_array_equal(read(path, zero_based=said), X)
            if chunk_rows is None or said != "auto":
                np.testing.assert_array_equal(read(path, zero_based=said, n_features=4), X)
    with pytest.raises(ValueError, match=r"line .* it has feature 0: pass zero_based=True"):
        read(path, zero_based=False)
    with pytest.raises(ValueError, match=r"has feature 3, which is above n_features=3: .* >= 4"):
        read(path, zero_based=True, n_features=3)
    np.testing.assert_array_equal(read(path, zero_based=np.True_), X)
    for bad in ("yes", 1):
        with pytest.raises(ValueError, match=f"zero_based must be True, .* got {bad!r}"):
            read(path, zero_based=bad)
    X[0, 0] = 7  # of the first row
    dump_svmlight_file(X, y, path, query_id=qid, zero_based=True)
    np.testing.assert_array_equal(read(path, n_features=4), X)


def test_a_late_feature_zero_of_a_file_in_chunks_is_told(tmp_path):
    rows = [f"1 qid:{q} 1:2 2:3 # {'x' * 9000}\n" for q in range(200)]
    path = write(tmp_path / "a.txt", "".join(rows) + "1 qid:999 0:5\n")
    with pytest.raises(ValueError, match="line 201: it has feature 0: pass zero_based=True"):
        list(load_letor(path, chunk_rows=1, n_features=3))
    chunks = list(load_letor(path, chunk_rows=1, n_features=3, zero_based=True))
    assert chunks[-1].X.tolist() == [[5, 0, 0]]
    assert load_letor(path).X[-1].tolist() == [5, 0, 0]


@pytest.mark.parametrize("chunk_rows", [None, 1, 9])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_lone_carriage_return_is_an_error_with_its_line(tmp_path, chunk_rows, suffix):
    path, pack = tmp_path / f"a.txt{suffix}", gzip.compress if suffix else bytes
    for line, content in [
        (1, b"2 qid:1 1:1 # a\r0 qid:1 1:2 # b\r"),
        (2, b"2 qid:1 1:1\r\n0 qid:1 1:2\r1 qid:1 1:3\r\n"),
    ]:
        path.write_bytes(pack(content))
        with pytest.raises(ValueError, match=f"a.txt.*, line {line} has a carriage return"):
            deque(load_letor(path, chunk_rows=chunk_rows))
    path.write_bytes(pack(content.replace(b"\r", b"\n")))  # as the error says
    assert load_letor(path).y.tolist() == [2, 0, 1]


@pytest.mark.parametrize("chunk_rows", [None, 1])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_nothing_comes_behind_the_last_carriage_return(tmp_path, chunk_rows, suffix):
    path, pack = tmp_path / f"a.txt{suffix}", gzip.compress if suffix else bytes
    path.write_bytes(pack(b"2 qid:1 1:1\r\n0 qid:1 1:2\r"))
    read = load_letor(path, chunk_rows=chunk_rows)
    assert [y for part in ([read] if chunk_rows is None else read) for y in part.y] == [2, 0]


NAMED = {
    "docid": ("2 qid:7 1:1 #docid = GX1 inc = 1\n0 qid:7 1:2 #docid=GX2\n", ["GX1", "GX2"]),
    "first words": ("2 qid:7 1:1 # 7555 Rambo\n\n0 qid:7 1:2 #12\tRambo II # 2\n", ["7555", "12"]),
    "comments between": ("# docid = 5\n2 qid:7 1:1 # docid = a\n# x\n0 qid:8 1:2 # docid = a\n",
                         ["a", "a"]),
    "one lacks it": ("2 qid:7 1:1 # a\n0 qid:7 1:2\n", None),
    "one lacks the docid": ("2 qid:7 1:1 # docid = a\n0 qid:7 1:2 # b\n", None),
    "twice in a query": ("2 qid:7 1:1 # good\n0 qid:7 1:2 # good\n", None),
    "no comment": ("2 qid:7 1:1\n0 qid:7 1:2\n", None),
    "no text": ("2 qid:7 1:1 # \xff\n0 qid:7 1:2 # b\n", None),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_documents_named_in_comments_are_ids(tmp_path, name):
    text, ids = NAMED[name]
    (tmp_path / "a.txt").write_bytes(text.encode("latin-1"))
    for data in (load_letor(tmp_path / "a.txt"), *load_letor(tmp_path / "a.txt", chunk_rows=9)):
        assert (data.ids if data.ids is None else data.ids.tolist()) == ids
        if ids is not None:
            assert to_qrels(data.y, data.qid, data.ids) == load_qrels(tmp_path / "a.txt")


def test_null_is_missing(tmp_path):
    path = write(tmp_path / "a.txt", "2 qid:7 1:NULL 2:1 # NULL\n0 qid:7 1:3 2:NULL\n")
    for data in (load_letor(path), *load_letor(path, chunk_rows=9)):
        np.testing.assert_array_equal(data.X, [[np.nan, 1], [3, np.nan]])


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("2 qid:7 1:0.5\n\n0 qid:7 2:x\n1 qid:8 1:3\n", 3, "convert"),
        ("2 qid:7 1:0.5\n1 qid:8 2:3 1:3\n", 2, "sorted"),
        ("# head\nwords are here\n", 2, "convert"),
        ("2 qid:7 -1:0.5\n", 1, "index -1"),
        ("2 qid:7 1:NULLS\n", 1, "could not convert"),
        ("2 qid:7 1:1\n1 qid:x 1:1\n", 2, ""),
    ],
)
def test_bad_lines_are_named(text, line, reason, chunk_rows, tmp_path):
    path = write(tmp_path / "bad.txt", text)
    with pytest.raises(ValueError, match="not a file of LETOR lines"):
        load_letor(path)
    with pytest.raises(ValueError, match=rf"bad.txt is not .* line {line}: .*{reason}"):
        list(load_letor(path, chunk_rows=chunk_rows))


@pytest.mark.parametrize(
    ("text", "chunk_rows", "words"),
    [
        ("", 5, "has no rows"),
        ("# nothing\n\n", 5, "has no rows"),
        ("1 1:2\n", 5, "without qid"),
        ("1 qid:1 1:2\n1 1:3\n", 5, "lines 1 to 2: 2 rows, and 1 of them name a qid"),
        ("1 qid:1 1:2\n1 1:3\n", 1, "lines 2 to 2: 1 rows, and 0 of them name a qid"),
        ("1 qid:1 1:2\n0 qid:2 1:1\n1 qid:1 1:3\n", 1, "lines 3 to 3: query 1 was in an earlier"),
    ],
)
def test_bad_files_in_chunks(text, chunk_rows, words, tmp_path):
    path = write(tmp_path / "bad.txt", text)
    with pytest.raises(ValueError, match=words):
        list(load_letor(path, chunk_rows=chunk_rows))
    with pytest.raises(FileNotFoundError):
        load_letor(tmp_path / "missing.txt", chunk_rows=5)


@pytest.mark.parametrize("sizes", ["1 1", "1 3", "2 2"])
def test_bad_group_sizes_in_chunks(sizes, tmp_path):
    path = write(tmp_path / "bad.txt", "1 1:2\n0 1:1\n1 1:3\n")
    write(tmp_path / "bad.txt.query", sizes)
    total = sum(map(int, sizes.split()))
    for chunk_rows in (None, 1):
        with pytest.raises(ValueError, match=f"sum to {total}, but bad.txt has 3 rows"):
            load_letor(path, chunk_rows=chunk_rows)
    write(tmp_path / "bad.txt.query", "1 2")
    write(path, "1 1:2\n0 1:1\n1 qid:4 1:3\n")
    with pytest.raises(ValueError, match="1 of them name a qid"):
        list(load_letor(path, chunk_rows=1))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_byte_order_mark(suffix, chunk_rows, tmp_path):
    path = write(tmp_path / f"a.txt{suffix}", "\ufeff2 qid:7 1:0.5\r\n0 qid:8 1:2\r\n")
    data = load_letor(path, chunk_rows=chunk_rows)
    chunks = [data] if chunk_rows is None else list(data)
    np.testing.assert_array_equal(np.concatenate([y for _, y, _ in chunks]), [2, 0])


@pytest.mark.parametrize("row", ["1 qid:99999999999999999999 1:1", "1 qid:1 99999999999:1"])
@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_numbers_that_are_too_large(row, chunk_rows, tmp_path):
    path = write(tmp_path / "a.txt", f"1 qid:1 1:1\n{row}\n")
    with pytest.raises(ValueError, match=r"too large .*: a qid has 64 bits, and a feature 31"):
        list(load_letor(path, chunk_rows=chunk_rows))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("row", ["2 qid:1 1:1", "1 qid:1"])
def test_a_pipe_is_read_as_a_file(row, tmp_path):
    text = f"{row}\n0 qid:1 2:0.5\n"
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=write, args=(tmp_path / "pipe", text))
    writer.start()
    piped = load_letor(tmp_path / "pipe")
    writer.join()
    for values, expected in zip(piped, load_letor(write(tmp_path / "file", text))):
        np.testing.assert_array_equal(values, expected)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_chunks_of_a_pipe(tmp_path):
    # A pipe cannot be read a second time from the beginning.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe or a device, and a file is read more than"):
        list(load_letor(tmp_path / "pipe", chunk_rows=5))


@pytest.mark.parametrize(("sizes", "bad"), [("4\n-1\n", "'-1'"), ("two\n1\n", "'two'")])
@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_what_is_no_group_size(sizes, bad, chunk_rows, tmp_path):
    path = write(tmp_path / "a.txt", "1 1:1\n0 1:2\n1 1:3\n")
    write(tmp_path / "a.txt.query", sizes)
    with pytest.raises(ValueError, match=f"a.txt.query holds {bad}, which is not a group size"):
        list(load_letor(path, chunk_rows=chunk_rows))


@pytest.mark.long
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_chunks_take_the_memory_of_one(suffix, tmp_path):
    row = " ".join(f"{j}:0.25" for j in range(1, 21))
    lines = "".join(f"{i % 3} qid:{i // 10} {row}\n" for i in range(12_000))
    path = write(tmp_path / f"long.txt{suffix}", lines)
    peaks = {100: np.inf, 10**9: np.inf}
    list(load_letor(path))  # imports what readers need
    for chunk_rows in 3 * list(peaks):  # threads of other tests may take memory, too
        tracemalloc.start()
        assert sum(len(y) for _, y, _ in load_letor(path, chunk_rows=chunk_rows)) == 12_000
        peaks[chunk_rows] = min(peaks[chunk_rows], tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[100] < peaks[10**9] / 10
    assert peaks[100] < len(lines) / 2


# -- tables ----------------------------------------------------------------------------

SUFFIXES = [".csv", ".csv.gz", ".csv.xz", ".tsv", ".parquet"]


@pytest.fixture(scope="module")
def frame():
    pandas = pytest.importorskip("pandas")
    X, y, qid = make_subset_ranking(20, (1, 9), 3, random_state=0)
    frame = pandas.DataFrame(X, columns=["price", "age", "stars"])
    frame.insert(1, "label", y.astype(int))
    frame.insert(0, "qid", [f"{q:03d}" for q in qid])
    frame["title"] = "words"
    frame["docid"] = np.arange(len(y)) + 100
    frame["sold"] = y > 0
    return frame


def write_table(frame, path):
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
    return path


def read_whole(path, columns, **options):
    names, parts = read_table(path, columns, **options)
    return names, list(parts)


@pytest.mark.product
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("chunk_rows", [None, 1, 7, 1000])
def test_tables(frame, suffix, chunk_rows, tmp_path):
    path = write_table(frame, tmp_path / f"table{suffix}")
    with pytest.warns(UserWarning, match="left out: title"):
        names, parts = read_whole(path, Columns(), chunk_rows=chunk_rows, dtype=np.float32)
    assert names == ["price", "age", "stars", "sold"]
    X, y, qid, documents = together(parts)
    assert X.dtype == np.float32
    np.testing.assert_allclose(X, frame[names].to_numpy(np.float32), rtol=1e-6)
    np.testing.assert_array_equal(y, frame["label"])
    assert qid.tolist() == frame["qid"].tolist()
    assert list(map(str, documents)) == frame["docid"].astype(str).tolist()
    assert sum(len(set(part.qid)) for part in parts) == 20
    assert len(parts) == {None: 1, 1: 20, 1000: 1}.get(chunk_rows, len(parts))
    assert all(len(part.y) >= (chunk_rows or 0) for part in parts[:-1])


def test_columns_of_tables(frame, tmp_path):
    path = write_table(frame.drop(columns=["label", "docid"]), tmp_path / "table.csv")
    columns = Columns(features=["stars", "price"], labelled=False)
    names, (part,) = read_table(path, columns)
    assert names == ["stars", "price"]
    assert part.y is None
    assert part.documents.tolist() == [None] * len(frame)
    np.testing.assert_allclose(part.X, frame[names], rtol=1e-14)
    with pytest.raises(ValueError, match=r"no column 'label': its columns are qid, price"):
        read_table(path, Columns())
    with pytest.raises(ValueError, match=r"no column 'weight'"):
        read_table(path, columns._replace(features=["stars", "weight"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no rows: write a header"),
        ("qid,label,a\n", "has no rows"),
        ("qid,label\n1,0\n", "no column of numbers"),
        (
            "qid,label,a\n1,0,2\n,0,2\n",
            "bad.csv, row 2, column 'qid' has no value: every row must name its query. Drop",
        ),
        ("qid,label,a\n1,0,2\n1,high,2\n", "row 2, column 'label' is not a number: .*'high'"),
        ("qid,label,a\n1,0,2\n1,0,2,3\n", "line 3"),
    ],
)
def test_bad_tables(text, words, tmp_path):
    pytest.importorskip("pandas")
    path = write(tmp_path / "bad.csv", text)
    with pytest.raises(ValueError, match=words):
        list(read_table(path, Columns())[1])


def test_what_is_no_table(tmp_path):
    with pytest.raises(ValueError, match=r"The suffix of .*a.xls must be one of .csv, .tsv,"):
        read_table(tmp_path / "a.xls", Columns())


def test_bad_tables_in_chunks(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.setattr("skcalrank.datasets._csv_files._BLOCK_BYTES", 12)
    monkeypatch.setattr("skcalrank.datasets._csv_files._N_BLOCKS", 1)
    path = write(tmp_path / "bad.csv", "qid,label,a\n1,0,2\n2,0,2\n1,0,2\n")
    with pytest.raises(ValueError, match=r"query '1' was in an earlier chunk"):
        list(read_table(path, Columns(), chunk_rows=1)[1])
    write(path, "qid,label,a\n1,0,2\n1,0,2\n2,0,words\n")
    with pytest.raises(ValueError, match=r"bad.csv, row 3, column 'a' is not a number: .*'words'"):
        list(read_table(path, Columns(), chunk_rows=1)[1])


@pytest.mark.parametrize(
    ("module", "suffix"), [("pandas", ".csv"), ("pyarrow.parquet", ".parquet")]
)
def test_tables_without_the_extra(module, suffix, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    name = module.partition(".")[0]
    with pytest.raises(ImportError, match=rf'needs {name}: pip install "skcalrank\[files\]"$'):
        read_table(tmp_path / f"table{suffix}", Columns())
