"""Tables of ranking data are read correctly, or refused."""

import gzip
import os

import numpy as np
import pytest

from skcalrank.datasets import Columns, read_table

pandas = pytest.importorskip("pandas")


def read(path, columns=None, **options):
    names, parts = read_table(path, columns or Columns(), **options)
    X, y, qid, documents = map(list, zip(*parts))
    return names, np.vstack(X), np.concatenate(y), np.concatenate(qid), documents


@pytest.fixture
def csv(tmp_path):
    def write(text, name="table.csv"):
        (tmp_path / name).write_bytes((gzip.compress if ".gz" in name else bytes)(text.encode()))
        return tmp_path / name

    return write


@pytest.fixture
def parquet(tmp_path):
    pytest.importorskip("pyarrow")

    def write(frame):
        frame.to_parquet(tmp_path / "table.parquet")
        return tmp_path / "table.parquet"

    return write


# -- fields ----------------------------------------------------------------------------

HEAD = "qid,label,f1,f2\n"


@pytest.mark.pairs
@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
@pytest.mark.parametrize("chunk_rows", [None, 1, 2, 9])
@pytest.mark.parametrize(
    ("rows", "line", "found"),
    [
        (["1,0,.5,.6,7", "1,1,.5,.6,8", "2,1,.5,.6,9"], 2, 5),  # another column at the end
        (["a,1,0,.5,.6", "b,1,1,.5,.6", "c,2,1,.5,.6"], 2, 5),  # names of rows, as R writes them
        (["1,0,.5,.6", "1,1,.5,.6,8", "2,1,.5,.6"], 3, 5),
        (["1,0,.5,.6", "1,1,.5,.6", "2,1,.5,.6,,7"], 4, 6),
        (["1,0,.5,.6", "1,1,.5", "2,1,.5,.6"], 3, 3),
        (["1,0,.5", "1,1,.5", "2,1,.5"], 2, 3),
        (["1,0,.5,.6", "", '1,1,"a\nb",.6', "2,1"], 6, 2),
        (["1,0,.5,.6,,", "1,1,.5,.6,,", "2,1,.5,.6,,"], 2, 6),
        (["1,0,.5,.6,", "1,1,.5,.6,8", "2,1,.5,.6,"], 3, 5),
    ],
)
def test_rows_of_another_length_than_the_header(csv, name, chunk_rows, rows, line, found):
    path = csv(HEAD + "\n".join(rows) + "\n", name)
    with pytest.raises(ValueError, match=f"line {line} has {found} fields, and the header has 4"):
        read(path, Columns(features=["f2"]), chunk_rows=chunk_rows)


@pytest.mark.parametrize("chunk_rows", [None, 1, 9])
@pytest.mark.parametrize(
    "rows",
    [
        ["1,0,.5,.6,", "1,1,.5,.6,", "2,1,,.7,"],
        ["1,0,.5,.6", "", "1,1,.5,.6", "   ", "2,1,,.7"],
    ],
)
def test_empty_fields_behind_the_last_are_none(csv, chunk_rows, rows):
    names, X, y, qid, _ = read(csv(HEAD + "\n".join(rows) + "\n"), chunk_rows=chunk_rows)
    assert names == ["f1", "f2"]
    np.testing.assert_array_equal(X, [[0.5, 0.6], [0.5, 0.6], [np.nan, 0.7]])
    assert y.tolist() == [0, 1, 1]
    assert qid.tolist() == ["1", "1", "2"]


@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_missing_values_at_the_end_of_a_row(csv, chunk_rows):
    path = csv(HEAD + "1,0,.5,\n2,1,.5,NA\n")
    assert np.isnan(read(path, chunk_rows=chunk_rows)[1][:, 1]).all()


# -- names of columns ------------------------------------------------------------------


@pytest.mark.parametrize(
    "head", ["qid,label,f,f", "f,f,qid,label", "qid,qid,label,f", "label," * 2]
)
def test_columns_of_one_name(csv, head):
    path = csv(f"{head.strip(',')}\n" + ",".join("1" * (head.strip(",").count(",") + 1)) + "\n")
    with pytest.raises(ValueError, match=r"table.csv has several columns '(f|qid|label)'"):
        read(path)


def test_columns_of_one_name_in_parquet(tmp_path):
    pyarrow, write = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = [pyarrow.array([1, 2])] * 4
    table = pyarrow.Table.from_arrays(columns, names=["qid", "label", "f", "f"])
    write.write_table(table, tmp_path / "table.parquet")
    for chunk_rows in (None, 1):
        with pytest.raises(ValueError, match=r"has several columns 'f'|non-unique"):
            read(tmp_path / "table.parquet", chunk_rows=chunk_rows)


def test_a_name_that_pandas_would_make_of_another(csv):
    assert read(csv("qid,label,f,f.1\n1,1,2,3\n"))[0] == ["f", "f.1"]


@pytest.mark.parametrize("columns", [Columns(qid="label"), Columns(document="qid")])
def test_one_column_for_two_things(csv, columns):
    with pytest.raises(ValueError, match=r"'(label|qid)' is given for two of the columns"):
        read(csv(HEAD + "1,0,.5,.6\n"), columns)


@pytest.mark.parametrize("chunk_rows", [None, 1])
@pytest.mark.parametrize("levels", [["qid"], ["docid"], ["qid", "docid"], ["label", "row"], ["f1"]])
def test_an_index_with_a_name_that_is_asked_for(parquet, levels, chunk_rows):
    frame = pandas.DataFrame(
        {"qid": [7, 7, 8], "label": [0, 1, 1], "docid": list("abc"), "row": [5, 6, 7]}
    ).assign(f1=[0.5, 0.25, 1.0], f2=[1.0, 2.0, 3.0])
    path = parquet(frame.set_index(levels).drop(columns="row", errors="ignore"))
    columns = Columns(features=["f1", "f2"])
    _, X, y, qid, documents = read(path, columns, chunk_rows=chunk_rows)
    assert X.tolist() == frame[["f1", "f2"]].to_numpy().tolist()
    assert (y.tolist(), qid.tolist()) == ([0, 1, 1], [7, 7, 8])
    assert np.concatenate(documents).tolist() == ["a", "b", "c"]
    # Without the name of a level, the index is not a feature.
    if levels != ["f1"]:
        assert read(path)[0] == ["f1", "f2"]


# -- values ----------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [None, 1])
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("2,,1,1", "column 'label' has no value: every row needs a label"),
        ("2,NA,1,1", "column 'label' has no value"),
        ("2,inf,1,1", "column 'label' is inf as .*float64"),
        ("2,1_0,1,1", "column 'label' is not a number: '1_0'"),
        (",1,1,1", "column 'qid' has no value"),
        ("2,1,1,inf", "column 'f2' is inf as"),
        ("2,1,1,-inf", "column 'f2' is -inf as"),
    ],
)
def test_values_are_named_by_row_and_column(csv, row, words, chunk_rows):
    path = csv(f"{HEAD}1,0,1,1\n1,1,1,1\n{row}\n3,0,1,1\n")
    with pytest.raises(ValueError, match=rf"table.csv, row 3, {words}"):
        read(path, chunk_rows=chunk_rows)


def test_values_that_do_not_fit(csv):
    path = csv(f"{HEAD}1,0,1,1\n1,1,1,1e39\n")
    assert read(path)[1][1, 1] == pytest.approx(1e39)
    with pytest.raises(ValueError, match=r"row 2, column 'f2' is inf as .*float32"):
        read(path, dtype=np.float32)


@pytest.mark.parametrize("values", ["0,5;1,25", "7;1,25", "-1,5e3;+2"])
def test_decimal_commas(csv, values):
    one, two = values.split(";")
    path = csv(f'qid,label,f,g\n1,0,"{one}",1\n1,1,"{two}",1\n')
    with pytest.raises(
        ValueError, match=r"Column 'f' of .*table.csv holds '.*': write numbers with"
    ):
        read(path)


def test_text_with_commas_is_left_out_as_before(csv):
    path = csv('qid,label,f,g\n1,0,"red, blue",1\n1,1,"1,5",1\n')
    with pytest.warns(UserWarning, match="left out: f"):
        assert read(path)[0] == ["g"]


def test_numbers_and_categories_of_parquet(parquet):
    frame = pandas.DataFrame({"qid": [1, 1], "label": pandas.Categorical([0, 1])})
    frame = frame.assign(
        f=pandas.array([1, None], dtype="Int64"),
        g=pandas.Categorical(["3", "4"]),
        h=pandas.array([True, None], dtype="boolean"),
    )
    path = parquet(frame)
    with pytest.warns(UserWarning, match="left out: g"):
        names, X, y, *_ = read(path)
    assert names == ["f", "h"]
    np.testing.assert_array_equal(X, [[1, 1], [np.nan, np.nan]])
    assert y.tolist() == [0, 1]
    # Text that is numbers is a feature where it is asked for.
    assert read(path, Columns(features=["g"]))[1].tolist() == [[3], [4]]


def test_labels_beyond_53_bits(csv, parquet):
    frame = pandas.DataFrame({"qid": [1, 1], "label": [2**60 + 1, 2**60], "f": [0.5, 1.0]})
    for path in (csv(frame.to_csv(index=False)), parquet(frame)):
        with pytest.raises(ValueError, match="column 'label' must stay distinct"):
            read(path)


def test_durations_are_no_features(parquet):
    frame = pandas.DataFrame({"qid": [1, 1], "label": [0, 1], "f": [0.5, 1.0]})
    frame["age"] = pandas.to_timedelta([1, 2], "D")
    with pytest.warns(UserWarning, match="that do not hold numbers are left out: age"):
        names, X, *_ = read(parquet(frame))
    assert names == ["f"]
    assert X.tolist() == [[0.5], [1.0]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="is a pipe or a device"):
        read(tmp_path / "pipe.csv")
