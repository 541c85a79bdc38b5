"""Files with random changes: read equally in chunks and at once, or an error with their name."""

import bz2
import gzip
import lzma
import tempfile
import warnings
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
from skcalrank.datasets import TABLES, Columns, read_table

LETOR = (
    "# a comment\n2 qid:10 1:0.5 3:1 # docid = a\n0 qid:10 2:-1e3 #b\n\n1 qid:7 1:2 2:0 3:.25\n"
    "0 qid:8 3:1\n3 qid:8 1:1e-3\n"
)
TABLE = 'qid,label,docid,f,g\na,1,x,0.5,3\na,0,y,,4\nb,2,"z,z",1e3,-5\nc,0,,7,6\nc,1,w,2.5,7\n'
PREFLIB = (
    "# FILE NAME: a.soi\n# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 6\n"
    "# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: rum\n# ALTERNATIVE NAME 3: gin\n"
    "3: 1,2\n2: 2,{1,3}\n1: 3\n"
)
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
    content = data.draw(damaged(LETOR.encode()))
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
