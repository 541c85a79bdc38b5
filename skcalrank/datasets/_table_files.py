"""Tables of ranking data, CSV or Parquet, read in chunks of whole queries."""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import arrays, check, tables, warn
from ._files import reading, refuse_cut_queries, refuse_pipe, to_float, whole_queries

COMMAS = re.compile(r"[+-]?[0-9.]*,?[0-9.]*(e[+-]?[0-9]+)?")


class Columns(NamedTuple):
    """Names of the columns of a table."""

    qid: str = "qid"
    label: str = "label"
    document: str = "docid"  # may be missing
    features: list[str] | None = None  # None = all other columns that hold numbers
    labelled: bool = True  # whether the label is read, and must exist
    verbatim: bool = False  # whether NA, null and the like in text are text, and not missing


class TableRows(NamedTuple):
    """Features as numbers, labels, queries, and names of documents.

    Labels are None where the table has none, and so is the name of a single document.
    """

    X: Any
    y: Any
    qid: np.ndarray
    documents: Any


def read_table(path, columns: Columns, *, chunk_rows=None, dtype=np.float64):
    """Return the names of the features, and an iterator over ``TableRows``.

    These are about `chunk_rows` rows, up to where a query ends; None = all rows at once.
    """
    path, frames = _frames(path, columns, chunk_rows)
    first = next(frames, None)
    if first is None or not len(first):
        raise ValueError(f"{path} has no rows.")
    names = feature_names(path, first, columns)
    blocks = _blocks(path, chain([first], frames), names, columns, dtype)
    return names, blocks if chunk_rows is None else _whole_queries(path, blocks, chunk_rows)


def _refuse_shared(columns: Columns):
    roles = [columns.qid, columns.document, *([columns.label] * columns.labelled)]
    shared = [name for name, count in Counter(roles).items() if count > 1]
    if shared:
        raise ValueError(f"{shared[0]!r} cannot be one column for two of query, label, document.")


def checked_frames(source, columns: Columns):
    """Return a name for a file or a frame, and all of it as one DataFrame of pandas."""
    if tables.is_frame(source):
        _refuse_shared(columns)
        frame = source.to_pandas() if hasattr(source, "to_pandas") else source
        name = "the frame"
        _refuse_twins(name, frame.columns)
        frame = _with_index(frame, columns)
    else:
        path, frames = _frames(source, columns, None)
        name, frame = path.name, next(frames, None)
    if frame is None or not len(frame):
        raise ValueError(f"{name} has no rows.")
    return name, frame


def _frames(path, columns, chunk_rows):
    """Return the path of a table, and an iterator over its frames."""
    path, kind = Path(path), table_format(path)
    if kind is None:
        raise ValueError(f"The suffix of {path} must be one of {', '.join(TABLES)}.")
    _refuse_shared(columns)
    return path, _checked(path, kind.frames(path, columns, chunk_rows))


def table_format(path) -> TableFormat | None:
    """Return the format that the suffix of a file names; None if it is not a table."""
    return next((TABLES[s] for s in reversed(Path(path).suffixes) if s in TABLES), None)


# -- frames ------------------------------------------------------------------------


def _checked(path, frames):
    """Yield frames after a check that their columns have different names."""
    with reading(path):
        for frame in frames:
            _refuse_twins(path, frame.columns)
            yield frame


def _refuse_twins(path, names):
    twins = [name for name, count in Counter(names).items() if count > 1]
    if twins:
        raise ValueError(f"{path} has several columns {twins[0]!r}: give every column one name.")


def needs(package) -> Any:
    name = package.partition(".")[0]
    remedy = f'Reading tables needs {name}: pip install "skcalrank[files]"'
    return check.installed(package, remedy)


def _csv_frames(path, columns, chunk_rows, separator=","):
    refuse_pipe(path)
    pandas = needs("pandas")
    options = {"keep_default_na": False, "na_values": [""]} if columns.verbatim else {}
    if _version(pandas) < (3, 1):  # would change the last bit of numbers
        options["float_precision"] = "round_trip"
    read_csv = partial(pandas.read_csv, path, sep=separator, index_col=False, **options)
    # pandas gives columns of one name different ones.
    names = read_csv(header=None, nrows=1, dtype=str)
    _refuse_twins(path, names.iloc[0].dropna())
    # Names are read as text, as one chunk might hold numbers alone and another not.
    text = {columns.qid: str, columns.document: str}
    widths = _Widths(path, separator)
    if _version(pandas) < (3, 0):  # cuts off the first row of a chunk without a word
        widths.check()
    if chunk_rows is None:
        yield widths.checked(lambda: read_csv(dtype=text))
        return
    with read_csv(dtype=text, chunksize=chunk_rows) as frames:
        while (frame := widths.checked(lambda: next(frames, None))) is not None:
            yield frame


def _version(package) -> tuple[int, ...]:
    return tuple(map(int, package.__version__.split(".")[:2]))


class _Widths:
    """Check that all rows of a CSV file have as many fields as its header.

    pandas fills short rows with missing values, and takes the first field of a long row for the
    index or drops the last field.
    """

    def __init__(self, path, separator):
        self.path, self.separator, self.are_right = path, separator, False

    def checked(self, read):
        """Return the frame that a function reads."""
        from pandas.errors import ParserError, ParserWarning

        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            try:
                frame = read()
            except (ParserError, ParserWarning) as error:
                self.check()
                raise ValueError(str(error)) from error
        if frame is not None and not self.are_right and frame.iloc[:, -1].isna().any():
            self.check()
        return frame

    def check(self):
        """Raise for the first row of another length than the header."""
        from pandas.io.common import get_handle  # opens whatever read_csv opens

        with get_handle(self.path, "r", encoding="utf-8-sig", compression="infer") as handles:
            rows = csv.reader(handles.handle, delimiter=self.separator)
            lines = ((rows.line_num, row) for row in rows if len(row) > 1 or "".join(row).strip())
            _, header = next(lines)
            for line, row in lines:
                # One separator too many at the end of the rows is usual.
                if not 0 <= len(row) - len(header) <= 1 or any(row[len(header) :]):
                    raise ValueError(
                        f"{self.path}, line {line} has {len(row)} fields, and the header has "
                        f"{len(header)}: name every column (in R, write.table with "
                        f"row.names=FALSE), and quote fields that hold {self.separator!r}."
                    )
        self.are_right = True


def _parquet_frames(path, columns, chunk_rows):
    needs("pandas")
    with needs("pyarrow.parquet").ParquetFile(path) as file:
        tables = [file.read()] if chunk_rows is None else file.iter_batches(batch_size=chunk_rows)
        for table in tables:
            yield _with_index(table.to_pandas().rename(columns=str), columns)


def _with_index(frame, columns: Columns):
    """Return a frame in which the levels of the index that are asked for are columns."""
    wanted = {columns.qid, columns.label, columns.document, *(columns.features or [])}
    levels = [name for name in frame.index.names if name in wanted - set(frame.columns)]
    return frame.reset_index(level=levels) if levels else frame


class TableFormat(NamedTuple):
    """Format of tables, with functions of the path, the columns, and the most rows of a frame."""

    frames: Callable[[Any, Columns, Any], Iterator[Any]]
    packed: bool = False  # whether tables are larger than their files
    n_rows: Callable[[Any], int] | None = None  # counts the rows of a file that tells


def _parquet_rows(path) -> int:
    return int(needs("pyarrow.parquet").read_metadata(path).num_rows)


#: Formats of tables by suffix; a new one is an entry here.
TABLES = {
    ".csv": TableFormat(_csv_frames),
    ".tsv": TableFormat(partial(_csv_frames, separator="\t")),
    ".parquet": TableFormat(_parquet_frames, packed=True, n_rows=_parquet_rows),
    ".pq": TableFormat(_parquet_frames, packed=True, n_rows=_parquet_rows),
}


# -- columns -----------------------------------------------------------------------


def feature_names(path, frame, columns: Columns, *, categories=False, taken="numbers") -> list[str]:
    """Return the names of the columns of features: numbers, and categories if asked for.

    The warning about columns that are left out says that features are the values `taken`.
    """
    needed = [columns.qid, *([columns.label] * columns.labelled), *(columns.features or [])]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, missing[:5]))}: its columns are "
            f"{', '.join(map(str, frame.columns[:20]))}."
        )
    if columns.features is not None:
        return columns.features
    others = frame.drop(columns=[columns.qid, columns.label, columns.document], errors="ignore")
    # A duration would be a number of units that depend on the version of pandas.
    kinds = ["number", "bool", *(["category"] * categories)]
    numeric = others.select_dtypes(kinds, exclude="timedelta").columns
    nameless = [name for name in numeric if str(name).startswith("Unnamed: ")]
    if nameless:
        raise ValueError(
            f"A column of {path} has no name (pandas calls it {nameless[0]!r}). If it is the index "
            "of a DataFrame, write the file with index=False; if it is a feature, name it."
        )
    left_out = [str(name) for name in others.columns if name not in numeric]
    for name in left_out:
        refuse_commas(path, name, others[name].dropna())
    if not len(numeric):
        raise ValueError(f"{path} has no column of numbers to be a feature.")
    if left_out:
        remedy = " Name them in features to read them as categories." if categories else ""
        warn(
            f"Columns of {path} that do not hold {taken} are left out: {', '.join(left_out)}."
            + remedy
        )
    return list(numeric)


def refuse_commas(path, name, values):
    """Raise for numbers such as 0,5, which are text."""
    texts = [value for value in values.head(1000) if isinstance(value, str)]
    with_comma = [text for text in texts if "," in text]
    if with_comma and all(COMMAS.fullmatch(text.strip()) for text in texts):
        raise ValueError(
            f"Column {name!r} of {path} holds {with_comma[0]!r}: write numbers with a decimal "
            "point, and without a comma."
        )


def _blocks(path, frames, names, columns, dtype) -> Iterator[TableRows]:
    n_rows = 0
    for frame in frames:
        with reading(path):
            rows = rows_of(frame, names, columns, dtype, Place(path, n_rows))
        yield rows
        n_rows += len(frame)


class Place(NamedTuple):
    """The rows of a frame in a file."""

    path: Path
    n_before: int

    def refuse(self, bad, name, why):
        """Raise for the first row of those marked as bad."""
        if np.any(bad):
            row = self.n_before + int(np.argmax(bad)) + 1
            raise ValueError(f"{self.path}, row {row}, column {name!r} {why}")


def rows_of(frame, names, columns, dtype, place) -> TableRows:
    """Return the rows of a frame, with the columns `names` as features."""
    labels, qid = labels_and_queries(frame, columns, place)
    documents = np.full(len(frame), None)
    if columns.document in frame:
        column = frame[columns.document]
        documents = np.where(column.isna(), None, column.astype(object))
    return TableRows(_numbers(frame, names, dtype, place), labels, qid, documents)


def labels_and_queries(frame, columns: Columns, place):
    """Return the labels, or None, and the queries; raise for a row without one."""
    place.refuse(
        frame[columns.qid].isna(),
        columns.qid,
        "has no value: every row must name its query. Drop such rows, for example by "
        f"frame.dropna(subset=[{columns.qid!r}]), or fill the column (in text, NA and null mean no "
        "value)",
    )
    labels, name = None, columns.label
    if columns.labelled:
        labels = _numbers(frame, [name], np.float64, place)[:, 0]
        why = "has no value: every row needs a label. Drop such rows"
        place.refuse(np.isnan(labels), name, why)
        arrays.refuse_rounding(frame[name], f"{place.path}, column {name!r}")
    return labels, frame[columns.qid].to_numpy()


def _numbers(frame, names, dtype, place):
    """Return columns as numbers, or raise an error that names the row and the column."""
    for name in frame[names].select_dtypes(exclude=["number", "bool"]).columns:
        _check_texts(frame[name], name, place)
    with np.errstate(over="ignore"):
        # pandas has several missing values; types of numpy have one, or none.
        of_numpy = all(isinstance(kind, np.dtype) for kind in frame[names].dtypes)
        numbers = frame[names].to_numpy(dtype, **({} if of_numpy else {"na_value": np.nan}))
    infinite = np.isinf(numbers)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        place.refuse(infinite[:, column], names[column], f"is {numbers[row, column]} as {dtype}")
    return numbers


def _check_texts(column, name, place):
    for row in np.flatnonzero(column.notna()):
        value = column.iloc[row]
        try:
            to_float(value) if isinstance(value, str) else np.float64(value)
        except (ValueError, TypeError) as error:
            place.refuse(np.arange(len(column)) == row, name, f"is not a number: {error}")


def _whole_queries(path, blocks, chunk_rows) -> Iterator[TableRows]:
    seen: set = set()
    for chunk in whole_queries(((block.qid, block) for block in blocks), chunk_rows):
        cuts = [[None if c is None else c[rows] for c in block] for _, block, rows in chunk]
        columns: Any = (None if c[0] is None else np.concatenate(c) for c in zip(*cuts))
        joined = TableRows(*columns)
        refuse_cut_queries(joined.qid, seen, f"{path}, after its first chunk")
        yield joined
