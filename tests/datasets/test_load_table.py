"""Tables of ranking data with the columns as they are."""

import re

import numpy as np
import pytest

from skcalrank import NDCGRanker
from skcalrank.datasets import load_table
from skcalrank.evaluation import to_run

pandas = pytest.importorskip("pandas")

FRAME = pandas.DataFrame(
    {
        "qid": ["b", "b", "a", "a", "c"],
        "label": [0, 2, 1, 0, 1],
        "docid": ["d1", "d2", "d1", "d3", "d2"],
        "price": [1.5, 2.0, np.nan, 0.5, 3.0],
        "stock": [True, False, True, True, False],
        "brand": ["x", "y", "x", "z", "y"],
    }
)


SOURCES = ["frame", "csv", "CSV", "csv.bz2", "tsv.gz", "TSV.GZ", "parquet", "polars"]


@pytest.mark.every_case
@pytest.mark.parametrize("kind", SOURCES)
def test_sources(tmp_path, kind):
    path = tmp_path / f"table.{kind}"
    source = path
    if kind == "frame":
        source = FRAME
    elif kind == "polars":
        pytest.importorskip("pyarrow")
        source = pytest.importorskip("polars").DataFrame(FRAME.to_dict("list"))
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if "tsv" in kind.lower() else ",")
    data = load_table(source)
    assert data.feature_names == list(data.X.columns) == ["price", "stock", "brand"]
    assert data.y.tolist() == [0, 2, 1, 0, 1]
    assert data.qid.tolist() == list("bbaac")
    assert data.ids.tolist() == FRAME.docid.tolist()
    np.testing.assert_array_equal(data.X.price, FRAME.price)
    named = load_table(source, features=["brand", "price"])
    assert named.feature_names == list(named.X.columns) == ["brand", "price"]
    assert named.X.brand.tolist() == FRAME.brand.tolist()


def test_columns_are_as_they_are():
    frame = FRAME.assign(brand=FRAME.brand.astype("category"), day=pandas.Timestamp("2026-01-31"))
    columns = frame.columns.tolist()
    data = load_table(frame)
    assert data.X.dtypes.equals(frame[["price", "stock", "brand", "day"]].dtypes)
    assert frame.columns.tolist() == columns


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.csv.zip"])
@pytest.mark.parametrize(
    ("codes", "is_text"),
    [
        (["01234", "10001", "00501", "10001", "90210"], True),
        ([" 01", "2", "3", "4", "5"], True),
        (["01234", None, "00501", None, "90210"], True),
        (["0", "10", "20", "100", "-1"], False),
        (["0.5", "00.5", "1", "2", "03"], False),
    ],
)
def test_digits_that_begin_with_a_zero_stay_text(tmp_path, name, codes, is_text):
    separator = "\t" if "tsv" in name else ","
    FRAME.assign(zip=codes).to_csv(tmp_path / name, index=False, sep=separator)
    X = load_table(tmp_path / name).X
    assert (X.zip.fillna("").tolist() == [code or "" for code in codes]) == is_text
    assert X.price.dtype == float


@pytest.mark.product
@pytest.mark.parametrize("code", ["01", " 01", "01 ", '"01"', " \t 007"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_code_is_seen_wherever_it_stands(tmp_path, code, end):
    rows = ["qid,label,size,zip", "a,1,10,200", "a,0,30,100", f"b,1,20,{code}"]
    (tmp_path / "t.csv").write_text((end or "\n").join(rows) + end, newline="")
    X = load_table(tmp_path / "t.csv").X
    assert X.zip.tolist() == ["200", "100", code.strip('"')]
    assert X.zip.dtype == pandas.read_csv(tmp_path / "t.csv", dtype=str).zip.dtype
    assert X["size"].tolist() == [10, 30, 20]


@pytest.mark.parametrize("values", [["-3", "0x1F"], ["0x1F", "-3"], ["12", " 0Xff"]])
def test_hexadecimal_numbers_are_text_in_any_order(tmp_path, values):
    (tmp_path / "t.csv").write_text("qid,label,code\na,1,{}\na,0,{}\n".format(*values))
    assert load_table(tmp_path / "t.csv").X.code.tolist() == values
    with pytest.raises(ValueError, match="no column of numbers"):
        load_table(tmp_path / "t.csv", kinds="numbers")


@pytest.mark.parametrize(
    "field",
    ["0", "007", "0.5", "00.5", "100", "-01", "01/02/2024", "2024-01-01 05:10", "model 05 red"],
)
def test_a_file_is_read_once(tmp_path, monkeypatch, field):
    arrow = pytest.importorskip("pyarrow.csv")
    FRAME.assign(other=field).to_csv(tmp_path / "t.csv", index=False)
    calls, read_csv = [], arrow.read_csv
    monkeypatch.setattr(arrow, "read_csv", lambda *a, **k: calls.append(k) or read_csv(*a, **k))
    monkeypatch.setattr(pandas, "read_csv", None)
    load_table(tmp_path / "t.csv")
    assert len(calls) == 1


@pytest.mark.parametrize("chunk_rows", [None, 3])
@pytest.mark.parametrize("sep", [";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separators_and_encodings_are_told_by_the_file(tmp_path, sep, encoding, chunk_rows):
    path = tmp_path / "t.csv"
    frame = FRAME.assign(city="Köln", price=0.5)
    frame.to_csv(path, index=False, sep=sep, encoding=encoding)
    data = load_table(path, chunk_rows=chunk_rows)
    X = data.X if chunk_rows is None else pandas.concat([part.X for part in data])
    assert set(X.city) == {"Köln"}
    assert (X.price == 0.5).all()


def test_separators_and_encodings_that_a_file_does_not_tell(tmp_path):
    path = tmp_path / "t.csv"
    frame = FRAME.rename(columns={"price": "price, net"}).assign(city="Köln")
    frame.to_csv(path, index=False, sep=";", encoding="cp1252")
    path.write_bytes(path.read_bytes().replace(b'"', b""))
    with pytest.raises(ValueError, match=r"t.csv has no column .* pass sep=';' \(--sep\)"):
        load_table(path, sep="\t", encoding="cp1252")
    with pytest.raises(ValueError, match=r"t.csv, line 2 has .* pass sep=';' \(--sep\)") as told:
        load_table(path, encoding="cp1252")
    sep = re.search("pass sep=('.')", str(told.value))[1]
    for chunk_rows in (None, 3):
        with pytest.raises(ValueError, match=r"t.csv is not text in utf-8.* 'cp1252'.*--encoding"):
            list(load_table(path, sep=eval(sep), chunk_rows=chunk_rows))
    X = load_table(path, sep=eval(sep), encoding="cp1252").X
    assert set(X.city) == {"Köln"}
    assert "price, net" in X.columns


@pytest.mark.long
def test_a_column_is_of_one_type_however_long(tmp_path):
    pandas.DataFrame({"qid": 1, "label": 1, "size": [*range(300_000), "XL"]}).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert {type(size) for size in load_table(tmp_path / "t.csv").X["size"]} == {str}


def test_own_names_and_no_label():
    frame = FRAME.rename(columns={"qid": "session", "docid": "item"}).drop(columns="label")
    X, y, qid = load_table(
        frame, qid="session", label=None, document="item", features=["price", "stock"]
    )
    assert y is None
    assert (X.shape, qid.tolist()) == ((5, 2), list("bbaac"))
    indexed = FRAME.set_index(["qid", "docid"])[["label", "price"]]
    again = load_table(indexed)
    assert again.qid.tolist() == list("bbaac")
    assert again.ids.tolist() == FRAME.docid.tolist()
    assert list(again.X.columns) == ["price"]


def test_names_of_documents_are_those_of_all_rows():
    assert load_table(FRAME.drop(columns="docid")).ids is None
    assert load_table(FRAME.assign(docid=["d1", None, "d2", "d3", "d4"])).ids is None
    data = load_table(FRAME.assign(sku=range(5)), document="sku")
    assert data.ids.tolist() == [0, 1, 2, 3, 4]
    assert list(to_run(-data.ids.astype(float), data.qid, data.ids)["b"]) == ["0", "1"]


def test_chunks_are_the_whole(tmp_path):
    frame = FRAME.drop(columns="brand").fillna(0.0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    whole = load_table(tmp_path / "t.csv")
    chunks = list(load_table(tmp_path / "t.csv", chunk_rows=1))
    assert [len(chunk.y) for chunk in chunks] == [2, 2, 1]
    assert pandas.concat([c.X for c in chunks], ignore_index=True).equals(whole.X)
    assert np.concatenate([chunk.ids for chunk in chunks]).tolist() == whole.ids.tolist()
    ranker = NDCGRanker()
    for chunk in chunks:
        ranker.partial_fit(*chunk)
    np.testing.assert_allclose(ranker.coef_, NDCGRanker().fit(*whole).coef_)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"qid": "query"}, "the frame has no column 'query'"),
        ({}, {"label": "grade"}, "the frame has no column 'grade'"),
        ({}, {"features": ["size"]}, "the frame has no column 'size'"),
        ({}, {"features": "price"}, r"features must be a list of columns, got 'price'"),
        (
            {},
            {"label": "qid"},
            "'qid' is given for two of the columns of queries, labels",
        ),
        ({"qid": ["a", "a", None, "b", "b"]}, {}, "the frame, row 3, column 'qid' has no value"),
        ({"label": [0, 1, np.nan, 0, 1]}, {}, "the frame, row 3, column 'label' has no value"),
        ({"label": list("01x01")}, {}, "the frame, row 3, column 'label' is not a number"),
        ({}, {"chunk_rows": 2}, "chunk_rows is for files: a DataFrame is in memory"),
        ({}, {"chunk_rows": 0}, "chunk_rows must be an integer >= 1.* got 0"),
    ],
)
def test_what_is_no_table(change, options, words):
    frame = FRAME.drop(columns="brand").assign(**change)
    with pytest.raises(ValueError, match=words):
        load_table(frame, **options)


def test_files_that_are_no_tables(tmp_path):
    with pytest.raises(ValueError, match=r"must be one of \.csv, "):
        load_table("train.txt")
    with pytest.raises(FileNotFoundError):
        load_table(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="the frame has no rows"):
        load_table(FRAME[:0])


def test_the_columns_of_recommendations_are_known():
    frame = pandas.DataFrame(
        {"user_id": [1, 1], "item_id": [3, 4], "rating": [1, 2], "x": [0.5, 1]}
    )
    with pytest.raises(ValueError, match=r"no column 'qid', 'label' \(did you mean 'user_id'\?\)"):
        load_table(frame)
    with pytest.raises(ValueError, match=r"x\. Choose among these by qid .*\) and label \(--label"):
        load_table(frame)
    with pytest.raises(ValueError, match=r"no column 'label' \(did you mean 'rating'\?\)"):
        load_table(frame, qid="user_id")
    X, y, qid = load_table(frame, qid="user_id", label="rating", document="item_id")
    assert (list(X), y.tolist(), qid.tolist()) == (["x"], [1, 2], [1, 1])
