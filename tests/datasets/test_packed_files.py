"""Compressed files are read in memory that does not grow with what they unpack to."""

import bz2
import gzip
import lzma
import tracemalloc
from zlib import crc32

import pytest
from readers import READERS

from skcalrank import load_letor
from skcalrank._cli._files import read_scores
from skcalrank.datasets import load_table
from skcalrank.evaluation import load_qrels, load_run

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

# Much less than what the files here unpack to.
MOST = 1 << 24
BLANK = (b" " * 1023 + b"\n") * (3 << 13)

ALL = {
    **READERS,
    "run": (load_run, "a.run", "1 Q0 a 1 2.5 x\n"),
    "qrels": (load_qrels, "a.qrels", "1 0 a 1\n"),
    "scores": (lambda path: read_scores(path, 1, "file", None), "a.scores", "1.5\n"),
}


@pytest.fixture
def file(tmp_path):
    """A function that writes a file which is far smaller than its content."""

    def write(name, content, suffix=".gz"):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(PACKERS[suffix](content))
        assert path.stat().st_size * 100 < len(content)
        return path

    return write


def peak_of(read, *args, **kwargs):
    """The memory that a function takes, whether it raises or not."""
    tracemalloc.start()
    try:
        read(*args, **kwargs)
    except ValueError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@pytest.fixture(autouse=True)
def imported():
    """What readers import would count as memory."""
    pytest.importorskip("pandas")
    import sklearn.datasets  # noqa: F401


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "suffix"), [*((name, ".gz") for name in ALL), ("letor", ".bz2"), ("run", ".xz")]
)
def test_what_says_nothing_takes_no_memory(name, suffix, file):
    read, file_name, text = ALL[name]
    # Empty lines of a file with cells have no spaces.
    blank = b"\n" * (1 << 19) if name in ("movielens", "table") else BLANK
    path = file(file_name, text.encode() + blank, suffix)
    assert peak_of(read, path) < MOST


@pytest.mark.parametrize("name", ALL)
def test_lines_have_a_largest_length(name, file, monkeypatch):
    monkeypatch.setattr("skcalrank.datasets._files._LONGEST_LINE", 1 << 20)
    read, file_name, text = ALL[name]
    path = file(file_name, text.encode() + b"1" * (3 << 23))
    line = text.count("\n") + 1
    assert peak_of(read, path) < MOST
    path = file(file_name, text.encode() + b"1" * (3 << 23))
    with pytest.raises(ValueError, match=rf", line {line} has more than 1,048,576 bytes"):
        read(path)


def test_quotation_marks_that_are_not_closed(file, monkeypatch):
    monkeypatch.setattr("skcalrank.datasets._csv_files._BLOCK_BYTES", 1 << 18)
    path = file("a.csv", b'qid,label,f\n1,0,2\n1,1,"' + BLANK)
    with pytest.raises(ValueError, match=r"has a row of more than 262,144 bytes.*not closed"):
        list(load_table(path, chunk_rows=1))
    assert peak_of(lambda: list(load_table(path, chunk_rows=1))) < MOST
    with pytest.raises(ValueError, match=r"has a row of more than 2,097,152 bytes.*not closed"):
        load_table(path)


@pytest.mark.long
def test_group_sizes_beyond_the_rows(file, tmp_path):
    (tmp_path / "a").write_text("1 1:1\n0 1:2\n")
    file("a.query", b"1\n" * (1 << 18))
    with pytest.raises(ValueError, match="sum to 262144, but a has 2 rows"):
        load_letor(tmp_path / "a")
    assert peak_of(load_letor, tmp_path / "a") < MOST


def test_no_more_scores_are_read_than_there_are_rows(file):
    path = file("scores", b"1\n" * (1 << 20))
    with pytest.raises(ValueError, match=r"3 scores, one per row of a\.txt, got more"):
        read_scores(path, 3, "a.txt", None)
    assert peak_of(read_scores, path, 3, "a.txt", None) < MOST


def test_decoders_that_ask_for_gigabytes(tmp_path):
    # The dictionary of an xz file has any size up to 4 GB, which its header tells.
    path = tmp_path / "a.txt.xz"
    content = bytearray(lzma.compress(b"1 qid:1 1:1\n", check=lzma.CHECK_CRC32))
    block = content[12 : 12 + 4 * (content[12] + 1)]
    assert block[2:4] == b"\x21\x01"  # LZMA2, with one byte of options
    block[4] = 40
    block[-4:] = crc32(block[:-4]).to_bytes(4, "little")
    content[12 : 12 + len(block)] = block
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot read .*a\.txt\.xz: Memory usage limit exceeded"):
        load_letor(path)


@pytest.mark.product
@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("behind", [b"", b"\0" * 8])
def test_members_are_read_one_after_the_other(suffix, behind, tmp_path, rng):
    # What does not compress fills the buffers of decoders.
    rows = b"".join(b"%d qid:1 1:%f\n" % (i % 2, x) for i, x in enumerate(rng.normal(size=50_000)))
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACKERS[suffix](rows) + PACKERS[suffix](rows) + behind)
    (tmp_path / "a.txt").write_bytes(rows + rows)
    X, y, _ = load_letor(path)
    expected, labels, _ = load_letor(tmp_path / "a.txt")
    assert (expected == X).all()
    assert (y == labels).all()
