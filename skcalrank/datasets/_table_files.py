"""Tables of ranking data, CSV or Parquet, read in chunks of whole queries."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain
from math import prod
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from ..columns import PART_CELLS, arrays, tables
from ..columns.types import Array, Floats
from ..data import warn
from ._csv_files import Columns, advice_on_separators, csv_frames, refuse_twins
from ._files import is_larger_unpacked, needs, reading, refuse_cut_queries, to_float, whole_queries
from ._table_sources import PartitionColumns, Shard, shards_of

_COMMAS = re.compile(r"[+-]?[0-9.]*,?[0-9.]*(e[+-]?[0-9]+)?")


class TableRows(NamedTuple):
    """Features as a DataFrame, labels, queries, and names of documents.

    Labels are None where the table has none, and so is the name of a single document.
    """

    X: Any
    y: Any
    qid: np.ndarray
    documents: Any


def read_table(
    source: Any, columns: Columns, *, chunk_rows: int | None = None, dtype: Any = np.float64
) -> tuple[list[str], Any]:
    """Return the names of the features of files or a frame, and an iterator over ``TableRows``.

    These are about `chunk_rows` rows, up to where a query ends; None = all rows at once. Features
    are columns of numbers, of the type `dtype`; None = columns as they are.
    """
    name, frames = _frames(source, columns, chunk_rows, typed=dtype is None)
    frames = ((path, frame) for path, frame in frames if len(frame))
    first = next(frames, None)
    if first is None:
        raise ValueError(f"{name} has no rows: behind the header, write one for each document.")
    names = _feature_names(name, first[1], columns, of_numbers=dtype is not None)
    blocks = _blocks(chain([first], frames), names, columns, dtype)
    if chunk_rows is None:
        return names, iter([_joined([(rows, slice(None)) for rows in blocks])])
    return names, _whole_queries(name, blocks, chunk_rows)


def _frames(
    source: Any, columns: Columns, chunk_rows: int | None, *, typed: bool
) -> tuple[str, Any]:
    """Return the name of a table, and an iterator over its files and frames of pandas."""
    roles = [columns.qid, columns.document, *([columns.label] * columns.labelled)]
    if shared := [name for name, count in Counter(roles).items() if count > 1]:
        raise ValueError(
            f"{shared[0]!r} is given for two of the columns of queries, labels and documents: name "
            "others by qid, label and document (--qid-column, --label-column, --doc-column)."
        )
    if columns.labelled and columns.label in (columns.features or ()):
        raise ValueError(f"{columns.label!r} cannot be a feature: it holds the labels.")
    if tables.is_frame(source):
        frame = source.to_pandas() if hasattr(source, "to_pandas") else source
        refuse_twins("the frame", frame.columns)
        frame = _with_index(frame, columns)
        _refuse_unknown("the frame", frame.columns, columns)
        return "the frame", iter([(Path("the frame"), frame)])
    files = source if isinstance(source, TableFiles) else table_files(source)
    if files is None:
        raise ValueError(f"The suffix of {source} must be one of {', '.join(TABLES)}.")
    if chunk_rows is None:
        return files.name, files.frames(columns)
    columns = files.told(columns, chunk_rows) if typed else columns
    return files.name, files.chunks(columns, chunk_rows)


def table_format(path: Any) -> TableFormat | None:
    """Return the format that the suffix of a file names; None if it is not a table."""
    suffixes = reversed(PurePath(str(path).lower()).suffixes)
    return next((TABLES[suffix] for suffix in suffixes if suffix in TABLES), None)


def table_files(source: Any) -> TableFiles | None:
    """Return the files of a table; None for one file that is none by its suffix."""
    shards = shards_of(source, table_format)
    kinds = {table_format(shard.path) for shard in shards}
    if None in kinds and len(shards) == 1:
        return None
    name = source
    if isinstance(source, (list, tuple)):
        name = f"{shards[0].path}{f' and {n} more' if (n := len(shards) - 1) else ''}"
    if len(kinds) > 1 or None in kinds:
        suffixes = sorted({shard.path.suffix for shard in shards})
        raise ValueError(
            f"{name} must be files of one format, {', '.join(TABLES)}, got {', '.join(suffixes)}."
        )
    return TableFiles(str(name), shards, kinds.pop())


class TableFiles(NamedTuple):
    """The files of a table, in the order in which they are read."""

    name: str
    shards: list[Shard]
    kind: Any

    def shape(self) -> tuple[int, int] | None:
        """Return the numbers of rows and columns, if the files tell."""
        if self.kind.shape is None:
            return None
        n_rows, n_columns = zip(*(self.kind.shape(shard.path) for shard in self.shards))
        return sum(n_rows), max(n_columns)

    def is_larger(self, n_bytes: int) -> bool:
        """Return whether the content, unpacked, has more bytes."""
        if sum(shard.n_bytes for shard in self.shards) > n_bytes:
            return True
        if self.kind.shape is not None:
            return 8 * prod(self.shape() or ()) > n_bytes
        paths = (shard.path for shard in self.shards)
        return any(is_larger_unpacked(path, n_bytes) for path in paths if isinstance(path, Path))

    def frames(self, columns: Columns) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over the frames of all files, each behind its file."""
        if len(self.shards) == 1 or self.kind.packed:
            return self.chunks(columns, None)
        # Of CSV the values tell the types, and those of one file do not know the others.
        frames = list(self.chunks(columns, None))
        if not (text := _text_in_some(frames)):
            return iter(frames)
        return self.chunks(columns._replace(text=(*columns.text, *text)), None)

    def told(self, columns: Columns, chunk_rows: int) -> Columns:
        """Return columns of which it is known which are text, of CSV by reading it once."""
        if columns.told or self.kind.packed:
            return columns
        text = _text_in_some(self.chunks(columns, chunk_rows))
        return columns._replace(text=(*columns.text, *text), told=True)

    def chunks(self, columns: Columns, chunk_rows: int | None) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over frames of about so many rows, each behind its file."""
        several, paths = len(self.shards) > 1, [shard.path for shard in self.shards]
        partitions = PartitionColumns(self.shards, columns.text)
        schema = self.kind.schema(paths, columns, partitions.names) if self.kind.schema else None
        first: Any = None
        for path, shard in zip(paths, self.shards):
            if several and not self.kind.packed and not shard.n_bytes:
                continue  # as writers of shards leave a partition without rows
            known = False
            with reading(path):
                for frame in self.kind.frames(path, columns, chunk_rows, schema):
                    refuse_twins(path, [*frame.columns, *partitions.names])
                    if not first and not schema:
                        _refuse_unknown(path, [*frame.columns, *partitions.names], columns)
                    first = first or (path, frame.columns)
                    known = known or _refuse_others(first, path, frame.columns, columns)
                    yield path, frame.assign(**dict(partitions.of(shard, len(frame))))


def _refuse_others(known: tuple[Any, Any], path: Any, others: Any, columns: Columns) -> bool:
    """Raise for columns to be read that only one of two files has; return True."""
    first, names = known
    for name in columns.read_of([*names, *others]):
        if (name in names) != (name in others):
            has, lacks = (first, path) if name in names else (path, first)
            raise ValueError(
                f"{lacks} has no column {name!r}, and {has} has one: files of a table must have "
                "the same columns. Name those to be read by features, or write the column into all "
                "files, without values if there are none."
            )
    return True


def _text_in_some(frames: Any) -> list[str]:
    """Return the columns that are text, or of several types, in some of the frames alone."""
    kinds: dict[str, set[bool]] = {}
    for _, frame in frames:
        for name, values in frame.items():
            if values.notna().any():
                kinds.setdefault(name, set()).add(values.dtype.kind in "iuf")
    return [name for name, found in kinds.items() if len(found) > 1]


# -- Parquet -----------------------------------------------------------------------


def _parquet_frames(path: Path, columns: Columns, chunk_rows: Any, schema: Any) -> Iterator[Any]:
    needs("pandas")
    # Small reads, one after the other, of what is read in chunks.
    small = {"pre_buffer": False, "buffer_size": 1 << 16}
    options = small if chunk_rows is not None and isinstance(path, Path) else {}
    with _parquet_file(path, **options) as file:
        schema = file.schema_arrow if schema is None else schema
        if chunk_rows is None:
            parts = iter([file.read(columns=schema.names)])
        else:
            # Arrays of several libraries stand beside each other for a moment.
            n_rows = min(chunk_rows, max(1, PART_CELLS // len(schema.names)))
            batches = file.iter_batches(batch_size=n_rows, columns=schema.names)
            parts = (needs("pyarrow").Table.from_batches([batch]) for batch in batches)
        for part in parts:
            frame = part.select(schema.names).cast(schema).to_pandas()
            yield _with_index(frame.rename(columns=str), columns)


@contextmanager
def _parquet_file(path: Path, **options: bool | int) -> Iterator[Any]:
    with ExitStack() as stack:
        source = path if isinstance(path, Path) else stack.enter_context(path.open())
        yield stack.enter_context(needs("pyarrow.parquet").ParquetFile(source, **options))


def _parquet_schema(paths: list[Any], columns: Columns, partitions: list[str]) -> Any:
    """Return the columns to be read from all files, each with a type that holds those of all."""
    pyarrow, fields, schemas = needs("pyarrow"), [], []
    for path in paths:
        with reading(path), _parquet_file(path) as file:
            schemas.append(file.schema_arrow)
            refuse_twins(path, file.schema_arrow.names)
            if len(schemas) == 1:
                _refuse_unknown(path, [*schemas[0].names, *partitions], columns)
            _refuse_others((paths[0], schemas[0].names), path, file.schema_arrow.names, columns)
    for name in columns.read_of(schemas[0].names):
        types = {schema.field(name).type: path for schema, path in zip(schemas, paths)}
        fields.append(pyarrow.field(name, _type_of_all(pyarrow, name, types, columns)))
    return pyarrow.schema(fields, schemas[0].metadata)


def _type_of_all(pyarrow: Any, name: str, types: dict[Any, Any], columns: Columns) -> Any:
    """Return the type for the values of all types, which are given with a file of each."""
    if len(types) == 1:
        return next(iter(types))
    plain = [t.value_type if pyarrow.types.is_dictionary(t) else t for t in types]
    for kinds in (list(types), plain):
        with suppress(pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            schemas = [pyarrow.schema([(name, kind)]) for kind in kinds]
            of_all = pyarrow.unify_schemas(schemas, promote_options="permissive").field(name).type
            # The number of a query would be rounded.
            is_rounded = name in (columns.qid, columns.document)
            if not (is_rounded and pyarrow.types.is_floating(of_all)):
                return of_all
    listed = ", ".join(f"{kind} in {path}" for kind, path in types.items())
    raise ValueError(f"Column {name!r} must be of one type in all files, got {listed}.")


def _parquet_shape(path: Path) -> tuple[int, int]:
    with _parquet_file(path) as file:
        return file.metadata.num_rows, file.metadata.num_columns


def _with_index(frame: Any, columns: Columns) -> Any:
    """Return a frame in which the levels of the index that are asked for are columns."""
    wanted = {columns.qid, columns.label, columns.document, *(columns.features or [])}
    levels = [name for name in frame.index.names if name in wanted - set(frame.columns)]
    return frame.reset_index(level=levels) if levels else frame


# -- formats -----------------------------------------------------------------------


class TableFormat(NamedTuple):
    """Format of tables.

    Its functions are of the path of a file, the columns, the most rows of a frame, and the schema
    of all files, None for all columns of one file. Another makes this of the paths, the columns,
    and the names of partitions.
    """

    frames: Callable[[Any, Columns, Any, Any], Iterator[Any]]
    packed: bool = False  # whether tables are larger than their files
    shape: Callable[[Any], tuple[int, int]] | None = None  # of a file that tells
    schema: Callable[[list[Any], Columns, list[str]], Any] | None = None


_CSV, _TSV = (TableFormat(partial(csv_frames, separator)) for separator in ",\t")
_PARQUET = TableFormat(_parquet_frames, packed=True, shape=_parquet_shape, schema=_parquet_schema)

#: Formats of tables by suffix; a new one is an entry here.
TABLES = {".csv": _CSV, ".tsv": _TSV, ".parquet": _PARQUET, ".pq": _PARQUET}


# -- columns -----------------------------------------------------------------------


def _feature_names(path: str, frame: Any, columns: Columns, *, of_numbers: bool) -> list[str]:
    """Return the names of the features: those asked for, or all others or those of numbers."""
    if columns.features is not None:
        return [name for name in columns.features if name not in columns.drop]
    roles = [columns.qid, columns.label, columns.document]
    others = frame.drop(columns=[*roles, *columns.drop], errors="ignore")
    if nameless := [name for name in others.columns if str(name).startswith("Unnamed: ")]:
        raise ValueError(
            f"A column of {path} has no name (pandas calls it {nameless[0]!r}). If it is the index "
            "of a DataFrame, write the file with index=False; if it is a feature, name it."
        )
    # A duration would be a number of units that depend on the version of pandas.
    numeric = others.select_dtypes(["number", "bool"], exclude="timedelta").columns
    rest = [name for name in others.columns if name not in numeric]
    for name in rest:
        _refuse_commas(path, name, others[name].dropna())
    if not of_numbers and len(others.columns):
        return list(others.columns)
    if not len(numeric):
        raise ValueError(f"{path} has no column{' of numbers' * of_numbers} to be a feature.")
    if rest:
        warn(
            f"Columns of {path} that do not hold numbers are left out: {', '.join(map(str, rest))}."
            " To keep them, pass kinds='any' to load_table."
        )
    return list(numeric)


def _refuse_unknown(path: Any, names: Any, columns: Columns) -> None:
    """Raise for columns that are asked for and are not among the names of a table."""
    names = list(map(str, names))
    unknown = {name: by for by, name in columns.required() if name not in names}
    if not unknown:
        return
    first = next(iter(unknown))
    usual = {columns.qid: "user_id", columns.label: "rating"}.get(first)
    close = [usual] if usual in names else difflib.get_close_matches(first, names, 1)
    arguments = " and ".join(filter(None, dict.fromkeys(unknown.values())))
    raise ValueError(
        f"{path} has no column {', '.join(map(repr, unknown))}"
        + (f" (did you mean {close[0]!r}?)" if close else "")
        + f": its columns are {', '.join(names)}."
        + advice_on_separators(names)
        + f" Choose among these by {arguments}." * bool(arguments)
    )


def _refuse_commas(path: str, name: str, values: Any) -> None:
    """Raise for numbers such as 0,5, which are text."""
    texts = [value for value in values.head(1000) if isinstance(value, str)]
    with_comma = [text for text in texts if "," in text]
    if with_comma and all(_COMMAS.fullmatch(text.strip()) for text in texts):
        raise ValueError(
            f"Column {name!r} of {path} holds {with_comma[0]!r}: write numbers with a decimal "
            "point, and without a comma, or pass load_table(pandas.read_csv(path, decimal=','))."
        )


def _blocks(frames: Any, names: list[str], columns: Columns, dtype: Any) -> Iterator[TableRows]:
    n_rows: Counter[Any] = Counter()  # so far, of each file
    for path, frame in frames:
        with reading(path):
            rows = _rows_of(frame, names, columns, dtype, _Place(path, n_rows[path]))
        yield rows
        n_rows[path] += len(frame)


class _Place(NamedTuple):
    """The rows of a frame in a file."""

    path: Path
    n_before: int

    def refuse(self, bad: Any, name: str, why: str) -> None:
        """Raise for the first row of those marked as bad."""
        if np.any(bad):
            row = self.n_before + int(np.argmax(bad)) + 1
            raise ValueError(f"{self.path}, row {row}, column {name!r} {why}")


def _rows_of(frame: Any, names: Any, columns: Columns, dtype: Any, place: _Place) -> TableRows:
    """Return the rows of a frame, with the columns `names` as features."""
    labels, qid = _labels_and_queries(frame, columns, place)
    documents = np.full(len(frame), None)
    if columns.document in frame:
        column = frame[columns.document]
        documents = np.where(column.isna(), None, column.astype(object))
    if dtype is None:
        X = frame[names].reset_index(drop=True)
    else:
        X = needs("pandas").DataFrame(_numbers(frame, names, dtype, place), columns=names)
    return TableRows(X, labels, qid, documents)


def _labels_and_queries(frame: Any, columns: Columns, place: _Place) -> tuple[Floats | None, Array]:
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


def _numbers(frame: Any, names: list[str], dtype: Any, place: _Place) -> Floats:
    """Return columns as numbers, or raise an error that names the row and the column."""
    for name, column in frame[names].select_dtypes(exclude=["number", "bool"]).items():
        for row in np.flatnonzero(column.notna()):
            value = column.iloc[row]
            try:
                to_float(value) if isinstance(value, str) else np.float64(value)
            except (ValueError, TypeError) as error:
                place.refuse(np.arange(len(column)) == row, name, f"is not a number: {error}")
    with np.errstate(over="ignore"):
        # pandas has several missing values; types of numpy have one, or none.
        of_numpy = all(isinstance(kind, np.dtype) for kind in frame[names].dtypes)
        numbers = frame[names].to_numpy(dtype, **({} if of_numpy else {"na_value": np.nan}))
    infinite = np.isinf(numbers)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        place.refuse(infinite[:, column], names[column], f"is {numbers[row, column]} as {dtype}")
    return numbers


def _whole_queries(name: str, blocks: Iterator[Any], chunk_rows: int) -> Iterator[TableRows]:
    seen: set[Any] = set()
    for chunk in whole_queries(((block.qid, block) for block in blocks), chunk_rows):
        joined = _joined([(block, rows) for _, block, rows in chunk])
        chunk.clear()  # not in memory beside what is made of it
        refuse_cut_queries(joined.qid, seen, f"{name}, after its first chunk")
        yield joined


def _joined(blocks: list[tuple[TableRows, Any]]) -> TableRows:
    """Return some rows of each block, one after the other; a single block as it is."""
    if len(blocks) == 1 and blocks[0][1] == slice(None):
        return blocks[0][0]
    pandas: Any = needs("pandas")
    frames = [block.X.iloc[rows] for block, rows in blocks]
    for name in frames[0].select_dtypes("category").columns:
        values = [frame[name] for frame in frames]
        if all(isinstance(column.dtype, pandas.CategoricalDtype) for column in values):
            levels = pandas.api.types.union_categoricals(values).categories
            frames = [f.assign(**{name: f[name].cat.set_categories(levels)}) for f in frames]
    cuts = [[None if c is None else c[rows] for c in block[1:]] for block, rows in blocks]
    columns: Any = (None if c[0] is None else np.concatenate(c) for c in zip(*cuts))
    return TableRows(pandas.concat(frames, ignore_index=True), *columns)
