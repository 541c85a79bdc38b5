"""A table in several files is the table in one file."""

import os
from itertools import pairwise

import numpy as np
import pytest

from skcalrank import NDCGRanker
from skcalrank.datasets import load_table, table_files

pandas = pytest.importorskip("pandas")


def frame_of(seed=0, n_queries=30):
    """Queries of several sizes with a text qid, rows of a query beside each other."""
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"q{i}" for i in range(n_queries)], rng.integers(1, 9, n_queries))
    n_rows = len(qid)
    return pandas.DataFrame(
        {
            "qid": qid,
            "label": rng.integers(0, 3, n_rows),
            "price": rng.random(n_rows),
            "size": rng.integers(0, 9, n_rows),
            "brand": rng.choice(list("abc"), n_rows),
        }
    )


FRAME = frame_of()


def write(frame, path, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path, **options)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",", **options)


def write_shards(folder, suffix, ends, frame=FRAME):
    """Write rows up to each of some ends as shards that are numbered without leading zeros."""
    for number, (start, end) in enumerate(zip([0, *ends], [*ends, len(frame)])):
        write(frame[start:end], folder / f"part-{number}{suffix}")
    return folder


def together(chunks):
    chunks = list(chunks)
    X = pandas.concat([chunk.X for chunk in chunks], ignore_index=True)
    return X, np.concatenate([c.y for c in chunks]), np.concatenate([c.qid for c in chunks])


def files_of(source):
    return [str(shard.path) for shard in table_files(source).shards]


def same(data, frame=FRAME, features=("price", "size", "brand")):
    X, y, qid = data
    assert list(X.columns) == list(features)
    for name in features:
        assert X[name].tolist() == frame[name].tolist()
    assert y.tolist() == frame.label.tolist()
    assert qid.tolist() == frame.qid.tolist()
    return True


SUFFIXES = [".parquet", ".csv", ".tsv.gz"]
ENDS = [3, 4, 4, 20, 21, 22, 40, 60, 61, 70]  # cut queries, one file of no rows


@pytest.fixture(params=SUFFIXES[:2])
def folder(request, tmp_path):
    return write_shards(tmp_path / "shards", request.param, ENDS)


# -- what is read, and in which order ----------------------------------------------------


@pytest.mark.parametrize("form", ["folder", "Path", "pattern", "list", "tuple", "of folders"])
def test_sources(folder, form):
    names = files_of(folder)
    half = {"of folders": [*names[:2], f"{folder}/part-[2-9].*", f"{folder}/part-1[0-9].*"]}
    forms = {"folder": str(folder), "Path": folder, "pattern": f"{folder}/part-*"}
    forms |= {"list": names, "tuple": tuple(names)} | half
    assert same(load_table(forms[form]))
    assert "part-0" in load_table(names).description


def test_natural_order(tmp_path):
    names = ["a/1", "a/part-9", "a/part-9b", "a/part-10", "a/x1y9", "a/x1y10", "a-1/x", "b/1"]
    for name in reversed(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.csv").touch()
    assert files_of(tmp_path) == [str(tmp_path / f"{name}.csv") for name in names]


def test_a_list_keeps_its_order(folder):
    files = files_of(folder)[::-1]
    assert load_table(files).qid[-1] == "q0"


def test_what_is_no_data_is_left_out(folder):
    for name in ["_SUCCESS", ".part-0.csv.crc", "_temporary/part-0.csv", ".x/part-1.parquet"]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("junk")
    (folder / "README.txt").write_text("about")
    assert same(load_table(folder))
    assert same(load_table(f"{folder}/*"))


def test_a_folder_with_the_name_of_a_file(tmp_path):
    # As Spark writes it.
    write_shards(tmp_path / "table.csv", ".csv", ENDS)
    assert same(load_table(tmp_path / "table.csv"))


def test_a_file_whose_name_is_a_pattern(tmp_path):
    write(FRAME, tmp_path / "part[1].csv")
    write(FRAME[:5], tmp_path / "part1.csv")
    assert same(load_table(tmp_path / "part[1].csv"))


def test_folders_in_folders(tmp_path):
    write_shards(tmp_path / "2", ".csv", [], FRAME[:40])
    write_shards(tmp_path / "10" / "a", ".csv", [], FRAME[40:])
    assert same(load_table(tmp_path))
    assert same(load_table(f"{tmp_path}/**/*.csv"))


# -- chunks ----------------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("chunk_rows", [1, 7, 10**6])
def test_a_query_that_a_file_cuts_goes_on_in_the_next(tmp_path, suffix, chunk_rows):
    folder = write_shards(tmp_path, suffix, ENDS)
    columns = ["qid", "label", "price", "size"]
    chunks = list(load_table(folder, columns=columns, chunk_rows=chunk_rows))
    assert same(together(chunks), features=("price", "size"))
    ends = [chunk.qid[-1] for chunk in chunks[:-1]]
    assert not any(end == chunk.qid[0] for end, chunk in zip(ends, chunks[1:]))
    assert len(chunks) == {1: 30, 7: len(chunks), 10**6: 1}[chunk_rows]


@pytest.mark.long
def test_a_row_group_and_a_file_for_each_query(tmp_path):
    write(FRAME[:50], tmp_path / "part-0.parquet", row_group_size=1)
    for number, (_, rows) in enumerate(FRAME[50:].groupby("qid", sort=False)):
        write(rows, tmp_path / f"part-{number + 1}.parquet")
    for chunk_rows in (None, 1, 20):
        data = load_table(tmp_path, features=["price"], chunk_rows=chunk_rows)
        assert same(data if chunk_rows is None else together(data), features=("price",))


def test_fits_are_those_of_one_file(folder):
    ranker, columns = NDCGRanker(), ["price", "size"]
    for chunk in load_table(folder, features=columns, chunk_rows=10):
        ranker.partial_fit(*chunk)
    expected = NDCGRanker().fit(FRAME[columns], FRAME.label, FRAME.qid)
    np.testing.assert_allclose(ranker.coef_, expected.coef_)


def test_a_query_that_comes_back_is_an_error(tmp_path):
    write(FRAME[:20], tmp_path / "part-0.csv")
    write(FRAME[20:], tmp_path / "part-1.csv")
    write(FRAME[:2], tmp_path / "part-2.csv")
    chunks = load_table(tmp_path, features=["price"], chunk_rows=5)
    with pytest.raises(ValueError, match=r"'q0' was in an earlier chunk.*partition_by_query"):
        list(chunks)
    assert len(load_table(tmp_path).y) == len(FRAME) + 2  # rows may be anywhere if all are read


# -- columns -----------------------------------------------------------------------------------


def test_only_columns_that_are_asked_for_are_read(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_shards(tmp_path, ".parquet", ENDS)
    read, batches, names = parquet.ParquetFile.read, parquet.ParquetFile.iter_batches, []
    for name, call in {"read": read, "iter_batches": batches}.items():
        monkeypatch.setattr(
            parquet.ParquetFile,
            name,
            lambda self, *a, call=call, **k: names.append(k["columns"]) or call(self, *a, **k),
        )
    for options in ({"columns": ["size", "qid"]}, {"features": ["size"]}):
        assert same(load_table(tmp_path, **options), features=["size"])
        assert same(together(load_table(tmp_path, chunk_rows=9, **options)), features=["size"])
    assert all(set(columns) == {"qid", "label", "size"} for columns in names)


@pytest.mark.parametrize("suffix", SUFFIXES[:2])
def test_files_without_rows(tmp_path, suffix):
    write_shards(tmp_path, suffix, [0, 10, 10, len(FRAME)])
    if suffix == ".csv":
        (tmp_path / "part-7.csv").touch()
    assert same(load_table(tmp_path))
    for file in tmp_path.iterdir():
        write(FRAME[:0], file)
    with pytest.raises(ValueError, match="has no rows"):
        load_table(tmp_path)


def types_of(tmp_path, first, second, **options):
    n_rows = len(first)
    for number, values in enumerate([first, second]):
        frame = pandas.DataFrame({"qid": f"q{number}", "label": 1, "x": values, "z": 1.0})
        write(frame, tmp_path / f"{number}.parquet")
    data = load_table(tmp_path, **options)
    return (data.X.x[:n_rows], data.X.x[n_rows:]) if not options else list(data)


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (np.int32([1, 2]), np.int64([3, 2**40]), "int64"),
        (np.int64([1, 2]), np.float64([0.5, np.nan]), "float64"),
        (np.float32([1, 2]), np.float64([0.1, 2]), "float64"),
        ([None, None], ["a", "b"], "object"),
        (pandas.Categorical(["a", "b"]), pandas.Categorical(["c", "b"]), "category"),
        (pandas.Categorical(["a", "b"]), ["c", "b"], "object"),
        (pandas.array([1, None], "Int64"), pandas.array([2, 3], "Int64"), "Int64"),
    ],
)
def test_types_are_promoted(tmp_path, first, second, dtype):
    read = types_of(tmp_path, first, second)
    for values, expected in zip(read, map(pandas.Series, [first, second])):
        assert values.dropna().tolist() == expected.dropna().tolist()
        assert values.isna().tolist() == expected.isna().tolist()
    text = pandas.Series(["a"]).dtype.name
    assert read[0].dtype.name == {"object": text}.get(dtype, dtype)


@pytest.mark.parametrize(
    ("first", "second"), [([1, 2], ["1", "2"]), ([True, False], [1, 2]), ([1, 2], [[1], [2]])]
)
def test_types_that_no_type_can_hold(tmp_path, first, second):
    with pytest.raises(
        ValueError, match=r"Column 'x' must be of one type in all files, got int64|bool"
    ):
        types_of(tmp_path, first, second)


def test_numbers_that_a_type_would_round(tmp_path):
    with pytest.raises(
        ValueError, match=r"0\.parquet: Integer value 9007199254740993 not in range"
    ):
        types_of(tmp_path, [2**53 + 1, 1], [0.5, 0.5])
    for number, query in enumerate([1, 2.0]):
        frame = pandas.DataFrame({"qid": [query], "label": 1, "x": 1})
        write(frame, tmp_path / f"{number}.parquet")
    with pytest.raises(ValueError, match=r"Column 'qid' must be of one type .* got int64 in"):
        load_table(tmp_path)


@pytest.mark.product
@pytest.mark.parametrize("suffix", SUFFIXES[:2])
@pytest.mark.parametrize("chunk_rows", [None, 5])
def test_columns_that_a_file_lacks(tmp_path, suffix, chunk_rows):
    write(FRAME[:40].drop(columns="brand"), tmp_path / f"0{suffix}")
    write(FRAME[40:].drop(columns=["brand", "size"]), tmp_path / f"1{suffix}")
    words = f"1{suffix} has no column 'size', and .*0{suffix} has one: .* by features"
    with pytest.raises(ValueError, match=words):
        list(load_table(tmp_path, chunk_rows=chunk_rows))
    write(FRAME[40:].drop(columns="brand").assign(more=1), tmp_path / f"1{suffix}")
    with pytest.raises(
        ValueError, match=f"0{suffix} has no column 'more', and .*1{suffix} has one"
    ):
        list(load_table(tmp_path, chunk_rows=chunk_rows))
    data = load_table(tmp_path, features=["price"], chunk_rows=chunk_rows)
    assert same(data if chunk_rows is None else together(data), features=["price"])


def test_columns_of_any_kind_in_chunks(tmp_path):
    frame = FRAME.assign(brand=FRAME.brand.astype("category"), city=FRAME.qid.str.upper())
    write_shards(tmp_path, ".parquet", ENDS, frame)
    features = ["price", "size", "brand", "city"]
    chunks = list(load_table(tmp_path, chunk_rows=9, kinds="any"))
    assert same(together(chunks), frame, features)
    assert {chunk.X.brand.dtype.name for chunk in chunks} == {"category"}
    assert same(load_table(tmp_path, kinds="any"), frame, features)
    with pytest.warns(UserWarning, match="do not hold numbers are left out: brand, city"):
        numbers = load_table(tmp_path, kinds="numbers")
    assert same(numbers, frame, ["price", "size"])
    assert numbers.X["size"].dtype == float
    with pytest.raises(ValueError, match=r"kinds must be .* got 'text'"):
        load_table(tmp_path, kinds="text")


@pytest.mark.parametrize("n_files", [1, 4])
def test_chunks_of_csv_are_of_the_types_of_the_whole(tmp_path, monkeypatch, n_files):
    monkeypatch.setattr("skcalrank.datasets._csv_files._BLOCK_BYTES", 256)
    # A column is text in the last rows alone, in some, or as digits with a zero in front.
    frame = pandas.DataFrame({"qid": np.repeat(np.arange(40), 3), "label": 1})
    frame = frame.assign(
        size=["XL" if i == 117 else str(i) for i in range(120)],
        brand=["a"] * 60 + [None] * 60,
        zip=["501"] * 100 + ["00501"] * 20,
        listed="2024-12-06",
        price=[*range(100), *np.arange(20) / 4],
        sold=[True, False] * 60,
    )
    ends = np.linspace(0, 120, n_files + 1).astype(int)
    for number, (start, end) in enumerate(pairwise(ends)):
        write(frame[start:end], tmp_path / f"{number}.csv")
    whole, chunks = load_table(tmp_path), list(load_table(tmp_path, chunk_rows=9))
    assert len(chunks) > 10
    X = pandas.concat([chunk.X for chunk in chunks], ignore_index=True)
    # A chunk without a text has NaN where others have None.
    one, other = (of.astype(object).where(of.notna(), None) for of in (X, whole.X))
    pandas.testing.assert_frame_equal(one, other)
    for chunk in chunks:
        assert not {"size", "zip", "listed"} & set(chunk.X.select_dtypes(["number"]).columns)
    numbers = list(load_table(tmp_path, chunk_rows=9, kinds="numbers", columns=["price"]))
    assert (np.concatenate([c.X.to_numpy().ravel() for c in numbers]) == whole.X.price).all()


def test_codes_of_one_csv_file_are_text_in_all(tmp_path):
    for number, codes in enumerate([["90210", "10001"], ["00501", "10001"], ["", ""]]):
        frame = pandas.DataFrame({"qid": number, "label": 1, "zip": codes, "size": 3})
        write(frame, tmp_path / f"{number}.csv")
    X = load_table(tmp_path).X
    assert X.zip.dropna().tolist() == ["90210", "10001", "00501", "10001"]
    assert X["size"].dtype == int


# -- partitions --------------------------------------------------------------------------------


def write_partitions(folder, suffix):
    """Write each year and shop into its folder, in the order of the rows."""
    frame = FRAME.assign(year=2020 + np.arange(len(FRAME)) // 40)
    frame["shop"] = [f"a/{row // 10:02}" for row in range(len(frame))]
    for (year, shop), rows in frame.groupby(["year", "shop"]):
        path = folder / f"year={year}" / f"shop={shop.replace('/', '%2F')}" / f"part-0{suffix}"
        write(rows.drop(columns=["year", "shop"]), path)
    return frame


@pytest.mark.product
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("form", ["{}", "{}/year=*", "{}/*/*/*"])
def test_partitions_are_columns(tmp_path, suffix, form):
    frame = write_partitions(tmp_path / "seed=1", suffix)
    data = load_table(form.format(tmp_path / "seed=1"))
    assert same(data, frame, ["price", "size", "brand", "year", "shop"])
    assert data.X.shop.dtype == "category"
    assert data.X.year.dtype == np.int64
    chunks = load_table(tmp_path / "seed=1", features=["year", "price"], chunk_rows=9)
    assert same(together(chunks), frame, ["year", "price"])


def test_partitions_in_a_list(tmp_path):
    frame = write_partitions(tmp_path / "seed=1", ".csv")
    files = files_of(tmp_path / "seed=1")
    assert same(load_table(files), frame, ["price", "size", "brand", "year", "shop"])
    one = load_table(files[0]), load_table(files[:1])
    assert all(list(data.X.columns) == ["price", "size", "brand"] for data in one)


@pytest.mark.parametrize("suffix", SUFFIXES[:2])
@pytest.mark.parametrize("text", [True, False])
def test_a_partition_is_the_query(tmp_path, suffix, text):
    queries = ["a b", "__HIVE_DEFAULT_PARTITION__"] if text else ["10", "9"]
    for query in queries:
        write(FRAME[:3].drop(columns="qid"), tmp_path / f"qid={query}" / f"part-0{suffix}")
    if text:
        with pytest.raises(ValueError, match="row 1, column 'qid' has no value"):
            load_table(tmp_path)
        (tmp_path / "qid=__HIVE_DEFAULT_PARTITION__").rename(tmp_path / "qid=%23")
    expected = ["#", "a b"] if text else [9, 10]
    for data in (load_table(tmp_path), *load_table(tmp_path, features=["size"], chunk_rows=99)):
        assert data.qid.tolist() == np.repeat(expected, 3).tolist()


def test_partitions_with_a_leading_zero_are_text(tmp_path):
    for month in ("01", "12"):
        write(FRAME[:3], tmp_path / f"month={month}" / "a.csv")
    assert load_table(tmp_path).X.month.tolist() == ["01"] * 3 + ["12"] * 3


def test_partitions_that_are_wrong(tmp_path):
    write(FRAME[:5], tmp_path / "year=1" / "a.csv")
    write(FRAME[5:], tmp_path / "b.csv")
    with pytest.raises(ValueError, match=r"b\.csv must be in a folder year=VALUE"):
        load_table(tmp_path)
    (tmp_path / "b.csv").unlink()
    write(FRAME.assign(year=2), tmp_path / "year=2" / "a.csv")
    (tmp_path / "year=1" / "a.csv").unlink()
    with pytest.raises(ValueError, match="has several columns 'year'"):
        load_table(tmp_path)


# -- remote files --------------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("chunk_rows", [None, 7])
def test_remote_files(tmp_path, suffix, chunk_rows):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    write_shards(tmp_path / "year=1", suffix, ENDS)
    memory.put(str(tmp_path), "/shards", recursive=True)
    try:
        for source in ("", "/year=*", "/*/part-*", f"/year=1/part-0{suffix}"):
            data = load_table(f"memory://shards{source}", columns=["price"], chunk_rows=chunk_rows)
            frame = FRAME[: ENDS[0]] if source.endswith(suffix) else FRAME
            assert same(data if chunk_rows is None else together(data), frame, ["price"])
        assert load_table("memory://shards").X.year.tolist() == [1] * len(FRAME)
        with pytest.raises(FileNotFoundError, match="No file matches memory://shards/x"):
            load_table("memory://shards/x*.csv")
        with pytest.raises(FileNotFoundError, match="There is no file memory://shards/x"):
            load_table("memory://shards/x.csv")
    finally:
        memory.rm("/shards", recursive=True)


def test_urls_need_fsspec(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(ImportError, match="Reading s3://b/x needs fsspec: pip install fsspec"):
        load_table("s3://b/x")


# -- bad sources -----------------------------------------------------------------------------------


def test_bad_sources(tmp_path):
    with pytest.raises(FileNotFoundError, match="No file matches"):
        load_table(tmp_path / "*.csv")
    with pytest.raises(ValueError, match="must hold tables, got 0 files of other names"):
        load_table(tmp_path)
    with pytest.raises(ValueError, match="source must have a file, got an empty list"):
        load_table([])
    with pytest.raises(TypeError, match=r"source must be a file, a folder, .* got 3"):
        load_table(3)
    with pytest.raises(TypeError, match=r"source must be a file, a folder, .* got None"):
        load_table(["a.csv", None])
    write(FRAME, tmp_path / "a.csv")
    write(FRAME, tmp_path / "b.tsv")
    (tmp_path / "c.txt").touch()
    with pytest.raises(ValueError, match=r"must be files of one format, .* got \.csv, \.tsv"):
        load_table(tmp_path)
    with pytest.raises(ValueError, match=r"must be files of one format, .* got \.csv, \.txt"):
        load_table([tmp_path / "a.csv", tmp_path / "c.txt"])
    with pytest.raises(ValueError, match=r"must have each file once, got .*a\.csv more than once"):
        load_table([tmp_path / "a.csv", f"{tmp_path}/*.csv"])
    with pytest.raises(ValueError, match="columns must be None beside features"):
        load_table(tmp_path / "a.csv", columns=["price"], features=["price"])
    with pytest.raises(ValueError, match="columns must be a list of columns, got 'price'"):
        load_table(tmp_path / "a.csv", columns="price")
    with pytest.raises(ValueError, match=r"no column 'prize' .* these by columns\."):
        load_table(tmp_path / "a.csv", columns=["prize"])


def test_rows_are_counted_in_their_file(tmp_path):
    write(FRAME[:20], tmp_path / "0.csv")
    write(FRAME[20:].assign(label="x"), tmp_path / "1.csv")
    for chunk_rows in (None, 5):
        with pytest.raises(ValueError, match=r"1\.csv, row 1, column 'label' is not a number"):
            list(load_table(tmp_path, features=["price"], chunk_rows=chunk_rows))


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_shards(tmp_path / "a" / "k=1", ".csv", ENDS)
    for source in (".", "a", "./a", "a/", "../" + os.path.basename(tmp_path), "*", "./*/k=*"):
        assert list(load_table(source).X.columns)[-1] == "k"
        assert files_of(source)[10].endswith("part-10.csv")
