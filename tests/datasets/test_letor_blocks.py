"""All parsers of LETOR lines give the same data, or the same error."""

import bz2
import gc
import gzip
import lzma
import sys
import threading
from collections import deque
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.sparse import issparse

from skcalrank.datasets import Form, load_letor, read_chunks

pytest.importorskip("pyarrow")

NUMBERS = (
    *("0.25", "-3", "1e-3", "2E+05", ".5", "7.", "-0", "-0.0", "00012", "4.9e-324", "1e-400"),
    *("0.1000000000000000055511151231257827", "179769313486231570814527423731704356798070e267"),
)
# Taken by Python or not, and by Arrow or not.
ODD = (
    *("nan", "-nan", "inf", "1e999", "+1", "1_0", "0x1p3", "--1", "1-2", "e5", "", " ", "NULL"),
    *("1,5", '"1"', "1e", "\t1", "1:2", "٣", "1\x00", "1 ", "1d", "True", "."),
)
ODD_LINES = (
    *("", "# comment", "  ", "1", "1 qid:1", "qid:1 1:2", "1 qid 1:1 2", "1 qid:3 1 1:2:3"),
    *("1 qid:0x1 1:1", "1 qid:1e0 1:1", "1 qid:+1 1:1", "1 qid: 1:1", "1 qid:99999999999999999999"),
    *("1 qid:1 0:1", "1 qid:1 2:1 1:1", "1 qid:1 1:1 1:1", "1 qid:1 01:1", "1 qid:1 1.0:1"),
    *("1 qid:1 -1:1", "1 qid:1 4294967297:1", "1 qid:1  1:1", "1 qid:1\t1:1", " 1 qid:1 1:1"),
    *("nan qid:1 1:1", "1_0 qid:1 1:1", "1 qidx:1 1:1", "1 1:1", "1 1:1 qid:1", "1e999 qid:1 1:1"),
)


def random_text(rng):
    """Lines of plain numbers, with occasional other lines."""
    n_features, dense, odd = rng.integers(1, 6), rng.random() < 0.5, rng.random() < 0.6
    end = rng.choice(["\n", " \n", "\r\n", "# docid = GX-1\n", " #a:b 1_0\n"])
    named = rng.random() < 0.9
    lines = []
    for row in range(rng.integers(1, 24)):
        kept = np.flatnonzero(dense | (rng.random(n_features) < 0.6)) + 1
        values = rng.choice(NUMBERS, len(kept))
        if odd and len(values) and rng.random() < 0.05:
            values[rng.integers(len(values))] = rng.choice(ODD)
        words = [rng.choice(["0", "1", "2.5", "-1"]), *([f"qid:{row // 4}"] * named)]
        lines.append(" ".join([*words, *map("{}:{}".format, kept, values)]))
        if odd and rng.random() < 0.05:
            lines.append(rng.choice(ODD_LINES))
    return end.join(lines) + end * (rng.random() < 0.5)


def outcome(read, *args, **options):
    """All data of a file, exactly, or the error."""
    try:
        found = read(*args, **options)
        return [described(part) for part in ([found] if hasattr(found, "X") else found)]
    except ValueError as error:
        return str(error)


def described(data):
    X = data.X
    parts = (X.data, X.indices, X.indptr) if issparse(X) else (X,)
    return type(X), X.shape, *((a.dtype, a.shape, a.tobytes()) for a in (*parts, *data[1:]))


@pytest.mark.parametrize("seed", range(40))
def test_same_by_arrow(seed, tmp_path, monkeypatch):
    rng = np.random.default_rng(seed)
    path = tmp_path / "a.txt"
    path.write_text(random_text(rng), encoding="utf-8", newline="")
    options = {
        "dtype": rng.choice([np.float64, np.float32, np.int64], p=[0.5, 0.2, 0.3]),
        "sparse": bool(rng.random() < 0.3),
        "n_features": rng.choice([None, 3, 5, 9], p=[0.7, 0.1, 0.1, 0.1]),
        "chunk_rows": rng.choice([None, 1, 5, sys.maxsize]),
    }
    # Some blocks are plain, and some not.
    monkeypatch.setattr("skcalrank.datasets._files._BLOCK_BYTES", int(rng.integers(1, 800)))
    by_arrow = outcome(load_letor, path, **options)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert by_arrow == outcome(load_letor, path, **options)


@pytest.mark.product
@pytest.mark.parametrize("number", [*NUMBERS, *ODD])
@pytest.mark.parametrize("line", ["1 qid:1 1:{} 2:1\n", "{} qid:1 1:1\n", "1 qid:{} 1:1\n"])
def test_same_number_by_arrow(number, line, tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text(line.format(number), encoding="utf-8")
    by_arrow = outcome(load_letor, path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert by_arrow == outcome(load_letor, path)


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
PLAIN = b"2 qid:7 1:0.5 2:1e-3 # docid = a\n0 qid:7 1:-1 2:.25\r\n1 qid:8 1:3 2:4 \n"


@pytest.mark.pairs
@pytest.mark.parametrize("text", [PLAIN, PLAIN.replace(b" 2:", b" 5:"), b"# head\n\n" + PLAIN])
@pytest.mark.parametrize("chunk_rows", [None, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_plain_decimals_are_not_parsed_by_python(text, chunk_rows, dtype, tmp_path, monkeypatch):
    path = tmp_path / "a.txt.gz"
    text = (
        text
        if dtype != np.int8
        else text.replace(b".5", b"5").replace(b"e-3", b"").replace(b".", b"")
    )
    path.write_bytes(gzip.compress(text))
    monkeypatch.delattr("skcalrank.datasets._letor._lines._parse_numbers")
    read = load_letor(path, chunk_rows=chunk_rows, dtype=dtype)
    assert sum(len(y) for _, y, _ in ([read] if chunk_rows is None else read)) == 3


def test_rows_before_a_bad_line_come_first(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("# head\n\n1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:3\n0 qid:2 1:x\n1 qid:3 1:4\n")
    chunks = load_letor(path, chunk_rows=1)
    assert next(chunks).X.tolist() == [[1], [2]]
    with pytest.raises(ValueError, match=r"line 6: could not convert string to float: b?'x'"):
        next(chunks)


def test_queries_are_numbers_in_chunks_too(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:7 1:1\n0 qid:07 1:2\n")
    assert [data.qid.tolist() for data in load_letor(path, chunk_rows=1)] == [[7, 7]]


@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_members_of_gzip_files(chunk_rows, tmp_path, monkeypatch):
    path = tmp_path / "a.txt.gz"
    content = gzip.compress(b"\xef\xbb\xbf" + PLAIN[:20]) + gzip.compress(PLAIN[20:]) + bytes(40)
    path.write_bytes(content)
    for n_bytes in (1, 7, 1 << 20):
        monkeypatch.setattr("skcalrank.datasets._files._BLOCK_BYTES", n_bytes)
        read = load_letor(path, chunk_rows=chunk_rows)
        y = np.concatenate([data.y for data in ([read] if chunk_rows is None else read)])
        assert y.tolist() == [2, 0, 1]
    for damaged in (content[:-41], content + b"more", content[:30]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"cannot read .*a\.txt\.gz: "):
            list(load_letor(path, chunk_rows=chunk_rows))


@pytest.mark.parametrize("suffix", PACKERS)
def test_threads_that_decompress_end_with_the_iterator(suffix, tmp_path):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACKERS[suffix]("".join(f"1 qid:{i} 1:{i}\n" for i in range(9999)).encode()))
    before = threading.active_count()
    chunks = load_letor(path, chunk_rows=1)
    assert next(chunks).qid.tolist() == [0]
    assert threading.active_count() > before
    chunks.close()
    assert threading.active_count() == before


@pytest.mark.product
@pytest.mark.parametrize("chunk_rows", [None, 1])
@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_nothing_stays_open_after_a_bad_line(suffix, chunk_rows, tmp_path, monkeypatch):
    closed, opened = [], []

    @contextmanager
    def noted(path):
        opened.append(path)
        try:
            yield
        finally:
            closed.append(path)

    monkeypatch.setattr("skcalrank.datasets._files.reading", noted)
    path = tmp_path / f"a.txt{suffix}"
    lines = [f"1 qid:{i} 1:{i}\n" for i in range(9999)]
    lines[5] = "none\n"
    path.write_bytes(PACKERS.get(suffix, bytes)("".join(lines).encode()))
    before = threading.active_count()
    gc.disable()
    try:
        with pytest.raises(ValueError, match="line 6: "):
            deque(load_letor(path, n_features=1, chunk_rows=chunk_rows))
        assert threading.active_count() == before
        assert len(closed) == len(opened) > 0
    finally:
        gc.enable()


@pytest.mark.product
@pytest.mark.parametrize("chunk_rows", [None, 1])
@pytest.mark.parametrize("suffix", PACKERS)
def test_damage_is_named_before_a_bad_line(suffix, chunk_rows, tmp_path):
    path = tmp_path / f"a.txt{suffix}"
    lines = [f"1 qid:{i} 1:{i}\n" for i in range(60000)]
    lines[5] = "none\n"
    path.write_bytes(PACKERS[suffix]("".join(lines).encode())[:-9])
    with pytest.raises(ValueError, match=r"cannot read .*a\.txt"):
        deque(load_letor(path, n_features=1, chunk_rows=chunk_rows))


@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_indices_with_a_sign(chunk_rows, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 +1:2 +2:1\n0 qid:1 +1:1\n")
    read = load_letor(path, chunk_rows=chunk_rows)
    X, _, _ = read if chunk_rows is None else next(read)
    assert X.tolist() == [[2, 1], [1, 0]]


@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_features_above_their_number(chunk_rows, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:2\n\n0 qid:1 1:1 3:1\n")
    words = r"a.txt, line 3 has feature 3, which is above n_features=2: pass n_features >= 3, or No"
    with pytest.raises(ValueError, match=words):
        deque(load_letor(path, n_features=2, chunk_rows=chunk_rows))


def test_files_are_decompressed_where_no_thread_starts(tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(PLAIN))
    monkeypatch.setattr("skcalrank.datasets._files.ThreadPoolExecutor.submit", refuse)
    assert load_letor(path).y.tolist() == [2, 0, 1]


@pytest.mark.parametrize("chunk_rows", [None, 1])
@pytest.mark.parametrize("n_features", [0, -1, 2.0])
def test_numbers_of_features_are_counts(n_features, chunk_rows, tmp_path):
    with pytest.raises(ValueError, match=f"n_features must be an integer >= 1.*got {n_features}"):
        load_letor(tmp_path / "a.txt", n_features=n_features, chunk_rows=chunk_rows)


@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_read_can_be_changed(sparse, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(PLAIN)
    X, y, qid = load_letor(path, sparse=sparse)
    for array in (X.data if sparse else X, y, qid):
        array[0] = 0


def test_lines_of_chunks_are_kept(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(PLAIN)
    ((_, rows),) = read_chunks(path, Form(), sys.maxsize)
    assert rows.docids[0] == b"a"
    assert rows.numbers.tolist() == [1, 2, 3]
