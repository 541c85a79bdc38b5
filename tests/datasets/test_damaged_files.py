"""Files that cannot be read, or would be misread, raise an error that names the place."""

import bz2
import gzip
import lzma
import re
from zipfile import ZipFile

import numpy as np
import pytest
from readers import READERS, read_columns

from skcalrank import load_letor
from skcalrank.datasets import load_preflib


def cut(content):
    return content[: len(content) * 2 // 3]


def garbled(content):
    middle = len(content) // 2
    return content[:middle] + bytes(255 - byte for byte in content[middle:])


PACKERS = {".gz": gzip.compress, ".xz": lzma.compress}


@pytest.mark.every_case
@pytest.mark.pairs
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    "damage", [cut, garbled, lambda _: b"none of this", lambda c: c[:5]], ids=["c", "g", "n", "s"]
)
def test_damaged_archives_are_named(name, suffix, damage, tmp_path):
    read, file, text = READERS[name]
    if name == "table":
        pytest.importorskip("pandas")
    path = tmp_path / f"{file}{suffix}"
    path.write_bytes(damage(PACKERS[suffix](text.encode())))
    with pytest.raises(ValueError, match=re.escape(path.name)):
        read(path)


@pytest.mark.every_case
@pytest.mark.product
@pytest.mark.parametrize("suffix", [".bz2", ".zip", ".parquet", ".gz"])
@pytest.mark.parametrize("damage", [cut, garbled, lambda _: b"nothing", lambda _: b""])
def test_damaged_tables_are_named(suffix, damage, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"qid": [1, 1], "label": [0, 1], "f": [2.0, 3.0]})
    path = tmp_path / f"table.csv{suffix}" if suffix != ".parquet" else tmp_path / "table.parquet"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif suffix == ".zip":
        with ZipFile(path, "w") as archive:
            archive.writestr("table.csv", frame.to_csv(index=False))
    else:
        pack = {".bz2": bz2, ".gz": gzip}[suffix].compress
        path.write_bytes(pack(frame.to_csv(index=False).encode()))
    assert read_columns(path)[0].X.to_numpy().tolist() == [[2.0], [3.0]]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=re.escape(path.name)):
        read_columns(path)


@pytest.mark.parametrize("name", ["preflib", "table"])
def test_text_in_another_encoding(name, tmp_path):
    read, file, text = READERS[name]
    if name == "table":
        pytest.importorskip("pandas")
    (tmp_path / file).write_bytes(text.encode() + "caf\u00e9\n".encode("latin-1"))
    line = "" if name == "table" else f", line {text.count(chr(10)) + 1} is not text in UTF-8"
    with pytest.raises(ValueError, match=re.escape(f"{file}{line}")):
        read(tmp_path / file)


@pytest.mark.parametrize("name", [name for name in READERS if name != "table"])
def test_what_the_system_says_stays(name, tmp_path):
    read, file, _ = READERS[name]
    with pytest.raises(FileNotFoundError):
        read(tmp_path / file)


# -- LETOR lines -----------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize(
    ("row", "options", "words"),
    [
        ("1 qid:2 1:300.7", {"dtype": np.int8}, "feature 1 is 300.69.*does not fit int8"),
        ("1 qid:2 1:1 2:-1", {"dtype": np.uint8}, "feature 2 is -1, which does not fit uint8"),
        ("1 qid:2 1:0.5", {"dtype": int}, "feature 1 is 0.5, which does not fit int64"),
        ("1 qid:2 1:9007199254740993", {"dtype": int}, "does not fit int64"),
        ("1 qid:2 1:2", {"dtype": bool}, "does not fit bool"),
        ("1 qid:2 1:nan", {"dtype": int}, "feature 1 is nan, which does not fit"),
        ("1 qid:2 3:1e39", {"dtype": np.float32}, "feature 3 is inf as float32"),
        ("1 qid:2 3:-1e400", {}, "feature 3 is -inf as float64"),
        ("nan qid:2 1:1", {}, "the label is nan"),
        ("-inf qid:2 1:1", {}, "the label is -inf"),
        ("1e400 qid:2 1:1", {}, "the label is inf"),
        ("1_0 qid:2 1:1", {}, "could not convert to numbers: '1_0'"),
        ("1 qid:2 1:1_0 # a_b", {}, "could not convert to numbers: '1:1_0'"),
        ("1 qid:2_0 1:1", {}, "could not convert"),
    ],
)
@pytest.mark.parametrize("chunk_rows", [None, 1, 9])
def test_values_that_would_be_others(row, options, words, chunk_rows, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(f"# head\n1 qid:1 1:1 # id_1\n{row}\n1 qid:3 1:0 #_\n")
    with pytest.raises(ValueError, match=f"a.txt is not a file of LETOR lines, line 3: .*{words}"):
        list(load_letor(path, chunk_rows=chunk_rows, **options))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool, np.float32])
@pytest.mark.parametrize("sparse", [True, False])
def test_values_that_fit(dtype, sparse, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:1 # id_1\n0 qid:2 2:1 #_\n")
    X = load_letor(path, dtype=dtype, sparse=sparse).X
    assert X.dtype == dtype
    np.testing.assert_array_equal(X.toarray() if sparse else X, np.eye(2))


@pytest.mark.parametrize("value", [127, 2**31, 2**53 - 1])
def test_integers_that_doubles_tell_apart_fit(value, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(f"1 qid:1 1:{value}\n0 qid:1 1:{-value}\n")
    assert load_letor(path, dtype=np.int64).X.ravel().tolist() == [value, -value]
    path.write_text(f"1 qid:1 1:{2**53}\n")
    with pytest.raises(ValueError, match="feature 1 is 9007199254740992, which does not fit"):
        load_letor(path, dtype=np.int64)


@pytest.mark.parametrize("dtype", [np.float16, object, complex, "U3", "M8[s]"])
def test_types_that_features_cannot_have(dtype, tmp_path):
    with pytest.raises(ValueError, match=r"dtype=.*can be float64, float32, or integers"):
        load_letor(tmp_path / "a.txt", dtype=dtype)


@pytest.mark.parametrize("chunk_rows", [None, 1, 9])
def test_one_feature_that_would_fill_the_memory(chunk_rows, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("# head\n1 qid:1 1:1\n\n0 qid:1 2:1 1500000000:1\n")
    with pytest.raises(ValueError, match=r"line 4 has feature 1500000000: .* sparse=True"):
        list(load_letor(path, chunk_rows=chunk_rows))
    data = load_letor(path, chunk_rows=chunk_rows, sparse=True)
    assert next(iter([data] if chunk_rows is None else data)).X.shape == (2, 1_500_000_000)


def test_group_sizes_of_twenty_digits(tmp_path):
    (tmp_path / "a.txt").write_text("1 1:1\n")
    (tmp_path / "a.txt.query").write_text("99999999999999999999")
    with pytest.raises(ValueError, match=r"a.txt.query holds '9999.*not a group size"):
        load_letor(tmp_path / "a.txt")


# -- PrefLib ---------------------------------------------------------------------------

DRINKS = "# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: coffee\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{DRINKS}4000000000: 1,2\n", "4000000000 voters, .*GiB.*expand=False"),
        (f"{DRINKS}999999999999999999: 1,2\n", "expand=False"),
        (f"{DRINKS}99999999999999999999: 1,2\n", "line 3 is '999"),
        ("# NUMBER ALTERNATIVES: 1000000000\n1: 1,2\n", "has 1000000000 alternatives, too many"),
        ("1: 1,1000000000\n", "has 1000000000 alternatives, too many"),
        ("# NUMBER ALTERNATIVES: 2\u00b2\n1: 1,2\n", "line 1: NUMBER ALTERNATIVES is '2.', not a"),
        ("# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 9: rum\n1: 1,2\n", "alternative 9 .'rum'"),
        (
            "# ALTERNATIVE NAME 0: rum\n# NUMBER ALTERNATIVES: 2\n1: 1,2\n",
            "alternative 2, but .* from 0",
        ),
        (f"{DRINKS}# ALTERNATIVE NAME 3: tea\n1: 1,2,3\n", "alternatives 1 and 3 by one name"),
        (f"{DRINKS}# ALTERNATIVE NAME 1: rum\n1: 1,2\n", "line 3: .*ALTERNATIVE NAME 1 a second"),
        ("# TITLE: a\n# TITLE: b\n1: 1,2\n", "line 2: the header has TITLE a second time"),
        ("# NUMBER VOTERS: 1\n# NUMBER VOTERS: 2\n2: 1,2\n", "line 2: .*NUMBER VOTERS a second"),
    ],
)
def test_preflib(text, words, tmp_path):
    (tmp_path / "drinks.soi").write_text(text)
    with pytest.raises(ValueError, match=words):
        load_preflib(tmp_path / "drinks.soi")


def test_as_many_voters_as_there_may_be(tmp_path):
    (tmp_path / "drinks.soc").write_text(f"{DRINKS}4000000000: 1,2\n1: 2,1\n")
    assert load_preflib(tmp_path / "drinks.soc", expand=False).weights.tolist() == [4e9, 1]


@pytest.mark.parametrize("suffix", ["wmd", "cat", "wmg.gz"])
def test_preflib_of_other_types(suffix, tmp_path):
    pack = gzip.compress if suffix.endswith("gz") else bytes
    (tmp_path / f"drinks.{suffix}").write_bytes(pack(b"1: 1,2\n"))
    with pytest.raises(ValueError, match=f"has the data type '{suffix[:3]}': this reads orders"):
        load_preflib(tmp_path / f"drinks.{suffix}")


def test_errors_without_words_are_named(tmp_path, monkeypatch):
    def stop(*_args):
        yield b"1 qid"
        raise EOFError

    monkeypatch.setattr("skcalrank.datasets._files._unpacked", stop)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"1 qid:1 1:1\n"))
    with pytest.raises(ValueError, match=r"^cannot read .*a\.txt\.gz: EOFError$"):
        load_letor(tmp_path / "a.txt.gz")
