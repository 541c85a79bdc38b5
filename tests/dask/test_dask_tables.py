"""Tables in partitions are read as the whole table is, to the last bit."""

import pickle
import warnings
from datetime import date, datetime, time, timedelta
from itertools import cycle, pairwise

import numpy as np
import pytest
import sklearn
from columns import KINDS, made_values, named_tables
from dask_cases import da, dask, dd, forbidden, pd
from scipy.sparse import csr_matrix
from sklearn.base import clone
from tables import FORMS, labels, made_columns

from skcalrank import RankingTarget
from skcalrank.preprocessing import TableEncoder

pytestmark = pytest.mark.usefixtures("dask_in_this_thread", "objects")

N_ROWS = 140

#: Ends of partitions.
CUTS = {
    "one": (0, N_ROWS),
    "of few rows": (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, N_ROWS),
    "empty": (0, 0, 60, 60, N_ROWS),
}

of_pandas = [name for name in FORMS if isinstance(FORMS[name](made_columns(4)), pd.DataFrame)]


@pytest.fixture
def objects():
    """Let dask leave columns of objects as they are, of which it makes text otherwise."""
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def rows(columns, start, end):
    return {name: values[start:end] for name, values in columns.items()}


def lazy(parts):
    """A DataFrame of parts, whose columns may have other types than those of the first."""
    return dd.from_delayed([dask.delayed(x) for x in parts], meta=parts[0][:0], verify_meta=False)


def cut(columns, ends, *forms):
    """A DataFrame of partitions in several forms."""
    forms = cycle(FORMS[form] for form in forms)
    return lazy([next(forms)(rows(columns, *piece)) for piece in pairwise(ends)])


def fitted(encoder, *args):
    """A fitted copy, and the warnings of the fit."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        return clone(encoder).fit(*args), [str(warning.message) for warning in issued]


def check_alike(ours, local, table):
    assert ours.describe() == local.describe()
    assert ours.kinds_ == local.kinds_
    assert ours.n_features_in_ == local.n_features_in_
    assert ours.get_feature_names_out().tolist() == local.get_feature_names_out().tolist()
    assert ours.categorical_ == local.categorical_
    for number, column in local.categories_.items():
        assert ours.categories_[number].levels == column.levels
        assert ours.categories_[number].rare == column.rare
        assert ours.categories_[number].has_missing == column.has_missing
    np.testing.assert_array_equal(ours.sources_, local.sources_)
    np.testing.assert_array_equal(ours.transform(table), local.transform(table))


# -- fit ---------------------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("form", of_pandas)
@pytest.mark.parametrize("ends", CUTS)
def test_fit_is_that_of_the_whole_table(form, ends):
    columns = made_columns(N_ROWS)
    whole = FORMS[form](columns)
    (ours, ours_said), (local, said) = (
        fitted(TableEncoder(), table) for table in (cut(columns, CUTS[ends], form), whole)
    )
    check_alike(ours, local, whole)
    assert ours_said == said
    np.testing.assert_array_equal(ours.feature_names_in_, local.feature_names_in_)


@pytest.mark.parametrize("first", range(0, len(of_pandas), 3))
def test_partitions_may_be_of_other_types(first):
    columns = made_columns(N_ROWS)
    forms = [form for form in of_pandas[first:] + of_pandas[:first] if form != "reordered"]
    table = FORMS["records"](columns)
    ends = np.linspace(0, N_ROWS, 2 * len(forms)).astype(int)
    local = TableEncoder().fit(table)
    check_alike(TableEncoder().fit(cut(columns, ends, *forms)), local, table)


@pytest.mark.parametrize("name", KINDS)
def test_types_of_columns(name):
    values = made_values(name, N_ROWS)
    for table in named_tables(name, values).values():
        if isinstance(table, pd.DataFrame):
            parts = [table[start:end] for start, end in pairwise(CUTS["of few rows"])]
            check_alike(TableEncoder().fit(lazy(parts)), TableEncoder().fit(table), table)


DAY = datetime(2024, 2, 28)

#: Columns that rules decide by all of their rows.
COLUMNS = {
    "consecutive": np.random.default_rng(0).permutation(N_ROWS) + 3.0,
    "one repeats": [*range(N_ROWS - 1), 7],
    # Three of them have the sum and the sum of squares of the three that are missing.
    "others repeat": [{1: 2, 5: 3, 6: 7}.get(k, k) for k in range(N_ROWS)],
    "one missing": [None, *range(1, N_ROWS)],
    "far apart": np.arange(N_ROWS) * 10,
    "halves": np.arange(N_ROWS) / 2,
    "since 1970": 1.7e9 + np.arange(N_ROWS) % 50,
    "late fraction": [*([0, 1] * (N_ROWS // 2 - 1)), 0.5, 1],
    "flags": np.arange(N_ROWS) % 3 == 0,
    "flags and missing": [None if k % 5 else bool(k % 2) for k in range(N_ROWS)],
    "flags and two": [2, *([True] * (N_ROWS - 1))],
    "rare text": ["x", *range(1, N_ROWS)],
    "constant": [4.5] * N_ROWS,
    "constant text": ["x"] * N_ROWS,
    "constant date": [DAY] * N_ROWS,
    "two halves": [4.5] * 70 + [5.5] * 70,
    "constant or missing": [4.5] * 70 + [None] * 70,
    "missing": [None] * N_ROWS,
    "within a day": [DAY + timedelta(minutes=k) for k in range(N_ROWS)],
    "within a year": [DAY + timedelta(days=7 * (k % 9)) for k in range(N_ROWS)],
    "years": [DAY.replace(day=1, year=2000 + k % 9) for k in range(N_ROWS)],
    "days and times": [DAY.date() if k % 2 else DAY + timedelta(k) for k in range(N_ROWS)],
    "late date": [None] * (N_ROWS - 2) + [date(2024, 1, 1), date(2025, 1, 1)],
    "times": [time(k % 24, 5) for k in range(N_ROWS)],
    "durations": [timedelta(seconds=k % 100) for k in range(N_ROWS)],
    "text of dates": [f"2024-01-{1 + k % 30:02}" for k in range(N_ROWS)],
    "text of numbers": [str(k) for k in range(N_ROWS)],
    "text of digits": [f"{k:05}" for k in range(N_ROWS)],
    "identifiers": [f"item{k}" for k in range(N_ROWS)],
    "many levels": [f"item{k // 2}" for k in range(N_ROWS)],
    "titles": [f"a word and {k % 7} more than {k % 40}" for k in range(N_ROWS)],
    "frequent titles": [f"{k % 20} for each of us" for k in range(N_ROWS)],
    "late large integer": [*range(0, 2 * N_ROWS - 2, 2), 2**53 + 1],
    "large integers": [2**53 + k // 2 for k in range(N_ROWS)],
    "level 1": [1, 1.0, True, "1", 2] * (N_ROWS // 5),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_decided_by_all_rows(name):
    frame = pd.DataFrame({"a": COLUMNS[name]})
    parts = [frame[start:end] for start, end in pairwise(CUTS["of few rows"])]
    objects = [part.astype(object) for part in parts]
    for pieces in (parts, objects, [*parts[::2], *objects[1::2]]):
        local, said = fitted(TableEncoder(), pd.concat(pieces))
        ours, ours_said = fitted(TableEncoder(), lazy(pieces))
        check_alike(ours, local, frame)
        assert ours_said == said


CHOICES = {
    "number": [1, 2.5, None, "3"] * 9,
    "category": [1.0, 2.0, None, 3.5] * 9,
    "text": ["a b", "a c", None, "a b"] * 9,
    "date": ["2024-01-01", date(2024, 5, 1), None, DAY] * 9,
    "drop": [object()] * 36,
}


@pytest.mark.parametrize("kind", CHOICES)
def test_kinds_may_be_set(kind):
    frame = pd.DataFrame({"a": pd.Series(CHOICES[kind], dtype=object), "b": np.arange(36) // 2})
    parts = [frame[:6].astype({"a": float} if kind == "category" else {}), frame[6:7], frame[7:]]
    encoder = TableEncoder({"a": kind}, max_categories=3)
    check_alike(clone(encoder).fit(lazy(parts)), clone(encoder).fit(frame), frame)


def test_categories_of_partitions_differ():
    numbers = np.arange(N_ROWS) * np.arange(N_ROWS) % 31
    parts = [pd.DataFrame({"a": pd.Categorical(some)}) for some in np.split(numbers, 4)]
    table = lazy(parts)
    ours, local = TableEncoder().fit(table), TableEncoder().fit(table.compute())
    assert ours.kinds_ == {"a": "category"}
    check_alike(ours, local, pd.concat(parts))


def test_levels_of_texts_that_recur_come_from_all_partitions(rng):
    titles = np.array([" ".join(rng.permutation(list("abcdefghijklmn"))[:6]) for _ in range(120)])
    frame = pd.DataFrame({"a": titles[rng.integers(0, 120, 640)]})
    ours, local = TableEncoder().fit(lazy([frame[:50], frame[50:]])), TableEncoder().fit(frame)
    assert ours.categorical_ == [0]
    check_alike(ours, local, frame)


def test_text_that_dask_makes_of_objects_is_read_as_text():
    frame = pd.DataFrame({"a": pd.Series([True, None, False] * 9, dtype=object)})
    with dask.config.set({"dataframe.convert-string": True}):
        table = dd.from_pandas(frame, npartitions=2)
        ours, local = TableEncoder().fit(table), TableEncoder().fit(table.compute())
        check_alike(ours, local, table.compute())


def test_arrays_of_objects_and_of_numbers():
    columns = made_columns(N_ROWS)
    array = np.array(list(zip(*columns.values())), dtype=object)
    table = da.from_array(array, chunks=(45, 4))
    ours, local = TableEncoder().fit(table), TableEncoder().fit(array)
    check_alike(ours, local, array)
    matrix = ours.transform(table)
    assert matrix.chunks == ((45, 45, 45, 5), (matrix.shape[1],))
    np.testing.assert_array_equal(matrix.compute(), local.transform(array))
    numbers = np.array(columns["price"], dtype=float)[:, None] * [1.0, 0.0, 1e-3]
    table = da.from_array(np.ma.masked_less(numbers, 0.01), chunks=(45, 1))
    check_alike(TableEncoder().fit(table), TableEncoder().fit(table.compute()), numbers)


# -- queries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [int, str])
def test_the_qid_is_left_out(names):
    columns = made_columns(N_ROWS)
    y, qid = labels(columns)
    qid = [names(name) for name in qid]
    frame = pd.DataFrame(columns).assign(y=y, q=qid, almost=[*qid[:-1], qid[0]])
    features = [name for name in frame if name != "y"]
    table = dd.from_pandas(frame, npartitions=4)
    local, said = fitted(TableEncoder(), frame[features], None, frame["q"])
    assert local.kinds_["q"] == "identifier" != local.kinds_["almost"]
    ours, ours_said = fitted(TableEncoder(), table[features], table["y"], table["q"])
    check_alike(ours, local, frame)
    assert ours_said == said
    lazy_rows = table[features].to_dask_array(lengths=True)
    ours, _ = fitted(TableEncoder(), lazy_rows, RankingTarget(y, np.array(qid)))
    assert ours.kinds_[features.index("q")] == "identifier" != ours.kinds_[len(features) - 1]


# -- transform ---------------------------------------------------------------------------------


@pytest.fixture
def frame():
    return pd.DataFrame(made_columns(N_ROWS)).set_index(np.arange(N_ROWS) * 2)


def test_transform_is_lazy(frame):
    encoder = TableEncoder().fit(frame)
    table = dd.from_pandas(frame, npartitions=3)
    matrix = encoder.transform(table)
    expected = clone(encoder).set_output(transform="pandas").fit_transform(frame)
    pd.testing.assert_frame_equal(matrix._meta, expected[:0])
    assert matrix.divisions == table.divisions
    pd.testing.assert_frame_equal(matrix.compute(), expected)
    pd.testing.assert_frame_equal(TableEncoder().fit_transform(table).compute(), expected)
    pd.testing.assert_frame_equal(matrix[["price"]].compute(), expected[["price"]])
    # What later fits do does not change it.
    encoder.fit(frame[["brand"]])
    pd.testing.assert_frame_equal(matrix.compute(), expected)
    assert encoder.fit(np.ones((3, 2)) * [[1], [2], [4]]).transform(
        forbidden(np.ones((9, 2)))
    ).shape == (9, 2)


def test_outputs_that_are_set_do_not_compute(frame):
    table = lazy([frame]).map_partitions(forbid, meta=frame[:0])
    encoder = TableEncoder().fit(frame)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(encoder.transform(table), dd.DataFrame)
    assert isinstance(encoder.set_output(transform="pandas").transform(table), dd.DataFrame)


def forbid(_part):
    raise AssertionError("this was not to be computed")


def test_partitions_without_rows(frame):
    parts = [frame[:0], frame, frame[:0]]
    encoder = TableEncoder().fit(frame)
    np.testing.assert_array_equal(encoder.transform(lazy(parts)), encoder.transform(frame))
    array = da.from_array(np.arange(8.0).reshape(4, 2), chunks=((0, 4, 0), 2))
    encoder = TableEncoder().fit(array)
    np.testing.assert_array_equal(encoder.transform(array), array)


def test_columns_in_another_order_and_among_others(frame):
    table = dd.from_pandas(frame[frame.columns[::-1]].assign(more=1), npartitions=3)
    encoder = TableEncoder().fit(frame)
    np.testing.assert_array_equal(encoder.transform(table), encoder.transform(frame))
    encoder.fit(frame.rename(columns={"price": 1}))
    table = table.rename(columns={"price": 1})
    assert encoder.transform(table).columns.tolist() == encoder.get_feature_names_out().tolist()


def test_sparse_blocks_are_numbers():
    matrix = csr_matrix(np.eye(8))
    table = da.from_array(np.eye(8), chunks=(4, 8)).map_blocks(csr_matrix)
    assert TableEncoder().fit(matrix).transform(table) is table
    with pytest.raises(ValueError, match="X must be dense, got a sparse matrix"):
        TableEncoder().fit(table)


# -- work --------------------------------------------------------------------------------------


def test_fit_reads_each_partition_once(frame):
    reads = []

    def read(number):
        reads.append(number)
        return frame[number * 35 : number * 35 + 35]

    table = dd.from_map(read, range(4), meta=frame[:0])
    TableEncoder().fit(table)
    assert sorted(reads) == list(range(4))


def test_columns_that_are_left_out_need_not_be_there(frame):
    encoder = TableEncoder({"title": "drop"}).fit(frame)
    table = dd.from_pandas(frame, npartitions=3).drop(columns=["title", "one"])
    np.testing.assert_array_equal(encoder.transform(table), encoder.transform(frame))


def test_what_comes_to_the_client_grows_with_the_levels_alone(monkeypatch):
    sizes = []

    def compute(value):
        summaries = dask.compute(value)[0]
        sizes.append(len(pickle.dumps(summaries)))
        return summaries

    monkeypatch.setattr("skcalrank.dask._tables.compute", compute)
    for n_rows in (1000, 50_000):
        k = np.arange(n_rows)
        frame = pd.DataFrame({"number": np.sqrt(k), "row": k, "level": (k % 9).astype(str)})
        frame["date"] = np.datetime64("2024-01-01") + k
        frame["duration"] = (k * 1000).astype("m8[s]")
        TableEncoder({"row": "number"}).fit(dd.from_pandas(frame, npartitions=4))
    assert abs(sizes[1] - sizes[0]) < 100
    assert sizes[1] < 5000


# -- errors ------------------------------------------------------------------------------------


def test_a_missing_column_is_an_error_before_anything_is_computed(frame):
    table = lazy([frame]).map_partitions(forbid, meta=frame[:0])
    encoder = TableEncoder().fit(frame.assign(more=frame.index * 1.5))
    with pytest.raises(ValueError, match="got none named 'more': X has 'price', 'stars'"):
        encoder.transform(table)
    with pytest.raises(ValueError, match=r"columns must have names .*'more'"):
        TableEncoder({"more": "drop"}).fit(table)


@pytest.mark.parametrize(
    ("first", "second", "types"),
    [
        ([1.0, 2.0], ["x", "y"], "float and str"),
        ([DAY, DAY], [1.0, 2.0], "datetime and float"),
        ([DAY, DAY], ["x", "y"], "datetime and str"),
        ([timedelta(1), timedelta(2)], [DAY, DAY], "datetime and timedelta"),
    ],
)
def test_partitions_of_other_kinds_are_an_error(first, second, types):
    table = lazy([pd.DataFrame({"a": values}) for values in (first, second)])
    with pytest.raises(ValueError, match=f"Column 'a' of X must hold .*, got {types}. Convert it"):
        TableEncoder().fit(table)
    assert TableEncoder({"a": "category"}).fit(table).kinds_ == {"a": "category"}


def test_errors_of_fit_leave_the_encoder_as_it_was(frame):
    encoder = TableEncoder().fit(frame)
    before = encoder.transform(frame)
    for values, message in (
        ([1.0, np.inf], "Input X contains infinity in column 'a'"),
        ([[1], [2]], "Column 'a' of X must hold .* got list"),
        ([], r"X must have rows and columns, got the shape \(0, 1\)"),
    ):
        table = lazy([pd.DataFrame({"a": pd.Series(values)}), pd.DataFrame({"a": []})])
        with pytest.raises(ValueError, match=message):
            encoder.fit(table)
        np.testing.assert_array_equal(encoder.transform(frame), before)


def test_rows_are_those_of_a_lazy_table(frame):
    table = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match="X must be a dask collection if y is one"):
        TableEncoder().fit(frame, table["price"])
    with pytest.raises(ValueError, match=r"X must be a dask array .* of 1 dimensions"):
        TableEncoder().fit(table["price"])
