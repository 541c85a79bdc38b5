"""Files with random changes: read equally in chunks and at once, or an error with their name."""

import bz2
import gzip
import lzma
import tempfile
import warnings
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import given
from hypothesis import strategies as st
from readers import READERS
from strategies import examples

from skcalrank import load_letor
from skcalrank.datasets import TABLES, Columns, load_table, read_table
from skcalrank.evaluation import load_qrels, load_run

LETOR = (
    "# a comment\n2 qid:10 1:0.5 3:1 # docid = a\n0 qid:10 2:-1e3 #b\n\n1 qid:7 1:2 2:0 3:.25\n"
    "0 qid:8 3:1\n3 qid:8 1:1e-3\n"
)
FROM_ZERO = "1 qid:1 1:1 # a b\n0 qid:1 0:2 1:NULL # c\n1 qid:2 0:1 2:.5 # a\n"
TABLE = 'qid,label,docid,f,g\na,1,x,0.5,3\na,0,y,,4\nb,2,"z,z",1e3,-5\nc,0,,7,6\nc,1,w,2.5,7\n'
PREFLIB = (
    "# FILE NAME: a.soi\n# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 6\n"
    "# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: rum\n# ALTERNATIVE NAME 3: gin\n"
    "3: 1,2\n2: 2,{1,3}\n1: 3\n"
)
RUNS = {
    "TREC": "q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.5 t\nq2 Q0 d1 1 0.7 t\n",
    "qrels": "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n",
    "MS MARCO": "1\t7\t1\n1\t9\t2\n2\t7\t1\n",
    "BEIR": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t1\n",
    "Quepid": 'query,docid,rating\n"a, b",1,3\n"a, b",2,0\nc,1,1\n',
    "judgment list": "# rambo\n4\tqid:1 #\t75\tRambo\n0\tqid:1 #\t13\tBlood\n",
    "JSON": '{"q1": {"d1": 0.9, "d2": 1},\n "q2": {"d1": 2}}',
    "lists": '{"q1": ["d1", "d2"], "q2": ["d1"]}',
    "JSON lines": '{"qid": "q", "docid": "a", "score": 1}\n{"qid": "q", "docid": "b", "score": 2}',
}
TEXTS = {name: text for name, (_, _, text) in READERS.items()} | {
    "letor": LETOR,
    "letor in chunks": LETOR,
    "preflib": PREFLIB,
    "table": TABLE,
}
TOKENS = (
    b"\n", b"\r", b"\r\n", b"\0", b",", b'"', b":", b" ", b"\t", b"|", b"#", b"{", b"}", b">", b"-",
    b"nan", b"inf", b"1e999", b"1e-999", b"99999999999999999999", b"-1", b"0", b"qid:", b"1_0",
    b"0x1", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", "\u0663".encode(), "\u2028".encode(), b"1:1",
)  # fmt: skip


# -- what happens to files -------------------------------------------------------------


def place(draw, content):
    return draw(st.integers(0, len(content)))


def flipped(draw, content):
    at = place(draw, content[1:])
    return content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :]


def truncated(draw, content):
    return content[: place(draw, content)]


def inserted(draw, content):
    at = place(draw, content)
    return content[:at] + draw(st.sampled_from(TOKENS)) + content[at:]


def removed(draw, content):
    first = place(draw, content)
    return content[:first] + content[first + draw(st.integers(1, 9)) :]


def repeated(draw, content):
    lines = content.splitlines(keepends=True) or [b""]
    which, where = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    return b"".join([*lines[:where], lines[which], *lines[where:]])


def reordered(draw, content):
    lines = content.splitlines(keepends=True)
    return b"".join(draw(st.permutations(lines)))


def other_encoding(draw, content):
    encoding = draw(st.sampled_from(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7"]))
    return content.decode("latin-1").encode(encoding)


def other_line_ends(draw, content):
    return content.replace(b"\n", draw(st.sampled_from([b"\r\n", b"\r", b"\n\n", b"\n \n"])))


CHANGES = (
    flipped, truncated, inserted, removed, repeated, reordered, other_encoding, other_line_ends,
)  # fmt: skip


@st.composite
def damaged(draw, content):
    for change in draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3)):
        content = change(draw, content)
    return content


# -- laws ------------------------------------------------------------------------------


def read(call, name):
    """The data from a file, or None after an error that names the file."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f".*{name}")
        try:
            return call()
        except ValueError as error:
            if name not in str(error):
                raise AssertionError(f"The error does not name the file: {error}") from error
    return None


class folder:
    """A new folder for each example."""

    def __enter__(self):
        self.held = tempfile.TemporaryDirectory()
        return Path(self.held.__enter__())

    def __exit__(self, *error):
        return self.held.__exit__(*error)


@pytest.mark.parametrize("name", READERS)
@examples(2)
@given(data=st.data())
def test_readers_read_or_name_the_file(name, data):
    if name == "table":
        pytest.importorskip("pandas")
    reader, file, _ = READERS[name]
    content = data.draw(damaged(TEXTS[name].encode()))
    with folder() as path:
        (path / file).write_bytes(content)
        read(lambda: reader(path / file), file)


@pytest.mark.parametrize("form", RUNS)
@examples(1)
@given(data=st.data())
def test_runs_and_judgments_are_read_or_name_the_file(form, data):
    name = data.draw(st.sampled_from(["a.txt", "a.csv", "a.tsv"]))
    with folder() as path:
        (path / name).write_bytes(data.draw(damaged(RUNS[form].encode())))
        for reader in (load_run, load_qrels):
            values = read(partial(reader, path / name), name)
            numbers = [v for of in (values or {}).values() for v in of.values()]
            assert values is None or np.isfinite(numbers).all()


PACKERS = {".gz": gzip.compress, ".xz": lzma.compress}


@pytest.mark.product
@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", [each for each in READERS if each != "table"])
@examples(0.5)
@given(data=st.data())
def test_packed_files_read_or_are_named(name, suffix, data):
    reader, file, _ = READERS[name]
    content = data.draw(damaged(PACKERS[suffix](TEXTS[name].encode())))
    with folder() as path:
        (path / f"{file}{suffix}").write_bytes(content)
        read(lambda: reader(path / f"{file}{suffix}"), file)


def rows_of(parts):
    """Rows of the parts of a file, one after the other, features filled up to one number."""
    parts = list(parts)
    width = max(part.X.shape[1] for part in parts)
    X = [np.pad(part.X, [(0, 0), (0, width - part.X.shape[1])]) for part in parts]
    return [np.concatenate(X), *(np.concatenate([p[i] for p in parts]) for i in (1, 2))]


@examples(3)
@given(data=st.data())
def test_letor_in_chunks_is_letor_at_once(data):
    content = data.draw(damaged(data.draw(st.sampled_from([LETOR, FROM_ZERO])).encode()))
    with folder() as path:
        (path / "a.txt").write_bytes(content)
        whole = read(lambda: load_letor(path / "a.txt"), "a.txt")
        rows = data.draw(st.integers(1, 6))
        parts = read(lambda: list(load_letor(path / "a.txt", chunk_rows=rows)), "a.txt")
    check_chunks(parts, whole)


def check_chunks(parts, whole):
    """Check that chunks have the rows of the whole file, or that both raise."""
    if whole is None:
        assert parts is None
    elif parts is not None:
        for one, other in zip(rows_of(parts), rows_of([whole])):
            np.testing.assert_array_equal(one, other)
        for part in parts[1:]:
            assert not set(parts[0].qid) & set(part.qid)
    else:
        # Only whole queries make chunks.
        changes = 1 + np.count_nonzero(whole.qid[1:] != whole.qid[:-1])
        assert changes > len(set(whole.qid.tolist()))


def written(suffix):
    """The table in a format."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(BytesIO(TABLE.encode()))
    file = BytesIO()
    if suffix in (".parquet", ".pq"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(file, row_group_size=2)
    else:
        frame.to_csv(file, index=False, sep="\t" if suffix == ".tsv" else ",")
    return file.getvalue()


PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", TABLES)
@examples(1)
@given(data=st.data())
def test_tables_in_chunks_are_tables_at_once(suffix, data):
    packing = data.draw(st.sampled_from(sorted(PACKED) if suffix in (".csv", ".tsv") else [""]))
    content = written(suffix)
    if packing and data.draw(st.booleans()):
        content = data.draw(damaged(PACKED[packing](content)))
    else:
        content = PACKED[packing](data.draw(damaged(content)))
    name, rows = f"a{suffix}{packing}", data.draw(st.integers(1, 6))
    with folder() as path:
        (path / name).write_bytes(content)
        whole = read(lambda: next(read_table(path / name, Columns())[1]), name)
        parts = read(lambda: list(read_table(path / name, Columns(), chunk_rows=rows)[1]), name)
    if whole is not None and parts is not None:
        check_chunks(parts, whole)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@examples(1)
@given(data=st.data())
def test_columns_of_any_kind_in_chunks_are_those_at_once(suffix, data):
    pandas = pytest.importorskip("pandas")
    content, name = data.draw(damaged(written(suffix))), f"a{suffix}"
    with folder() as path, pytest.MonkeyPatch.context() as patch:
        (path / name).write_bytes(content)
        whole = read(lambda: load_table(path / name), name)
        patch.setattr("skcalrank.datasets._csv_files._BLOCK_BYTES", 40)
        parts = read(lambda: list(load_table(path / name, chunk_rows=2)), name)
    if whole is not None and parts:
        X = pandas.concat([part.X for part in parts], ignore_index=True)
        pandas.testing.assert_frame_equal(X, whole.X, check_dtype=False)
