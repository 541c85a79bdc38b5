"""CSV files as frames of pandas: cells are read once, as text, and columns of numbers cast."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ._files import OPENERS, UnpackedFile, needs, refuse_pipe, to_float

# The header is looked for in so many bytes. A block of rows, which fits into the cache of a core,
# has so many, and no row more; a frame has so many blocks, as casts of a small one take longer.
_HEAD_BYTES, _BLOCK_BYTES, _N_BLOCKS = 1 << 16, 1 << 20, 8

# Values of a column that tell most types that it cannot have.
_SAMPLE = 100

_SEPARATORS = ",;\t|"
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# What pandas takes for a missing value.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip


class Columns(NamedTuple):
    """Names of the columns of a table, and how a file of text is read."""

    qid: str = "qid"
    label: str = "label"
    document: str = "docid"  # may be missing
    features: list[str] | None = None  # None = all other columns
    labelled: bool = True  # whether the label is read, and must exist
    drop: tuple[str, ...] = ()  # columns that are no features
    text: tuple[str, ...] = ()  # columns of CSV that hold text, whatever it looks like
    codes: bool = False  # whether columns of digits that begin with a zero are text in CSV
    told: bool = False  # whether `text` names all columns that some chunk of CSV shows as text
    sep: str | None = None  # between the fields of a line; None as the suffix or the header says
    encoding: str | None = None  # of text; None as its first bytes say, else UTF-8
    chosen_by: str = "features (--features)"  # the argument that names features, "" if none does
    named: tuple[tuple[str, str], ...] = ()  # of other tables, what `required` returns

    def required(self) -> list[tuple[str, str]]:
        """Return the columns that must exist, each behind the argument that names it."""
        roles = [("qid (--qid-column)", self.qid), ("label (--label-column)", self.label)]
        features = [(self.chosen_by, name) for name in self.features or ()]
        drop = [("drop (--drop)", name) for name in self.drop]
        return [*self.named] or roles[: 1 + self.labelled] + features + drop

    def read_of(self, names: list[str]) -> list[str]:
        """Return those of the names of columns that are read."""
        out = {*self.drop} if self.labelled else {self.label, *self.drop}
        asked = names if self.features is None else self.features
        kept = {*asked, self.qid, self.document, self.label}
        return [name for name in dict.fromkeys(names) if name in kept and name not in out]


def refuse_twins(path: Any, names: Any) -> None:
    """Raise for columns of one name."""
    if twins := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{path} has several columns {twins[0]!r}: give every column one name.")


def advice_on_separators(names: Any) -> str:
    """Return a sentence on what may separate the fields of a header; nothing if none may."""
    sep = next((mark for mark in ";\t|" if any(mark in name for name in names)), None)
    return (sep and f" If {sep!r} separates fields, pass sep={sep!r} (--sep).") or ""


def csv_frames(
    separator: str, path: Any, columns: Columns, chunk_rows: int | None, _schema: Any = None
) -> Iterator[Any]:
    """Yield the frames of a CSV file; without `chunk_rows` one of all rows."""
    needs("pandas")
    pyarrow = needs("pyarrow")
    if isinstance(path, Path):
        refuse_pipe(path)
    encoding, separator, header = _told(path, columns, separator)
    if not header:
        raise ValueError(f"{path} has no rows: write a header and one for each document.")
    refuse_twins(path, filter(None, header))
    # As pandas calls a column without a name.
    names = [name or f"Unnamed: {at}" for at, name in enumerate(header)]
    kept = {columns.qid, columns.document, *columns.text}
    n_read = 0
    try:
        with _opened(path) as file:
            for table in _tables(file.handle, header, separator, encoding, chunk_rows):
                yield _frame(table.rename_columns(names), kept, columns.codes)
                n_read += 1
    except pyarrow.ArrowInvalid as error:
        if "straddl" in str(error):
            raise ValueError(
                f"{path} has a row of more than {_bytes_of(chunk_rows):,} bytes: a quotation mark "
                "is not closed, or pass load_table(pandas.read_csv(path), ...)."
            ) from error
        right = _without_last_separators(path, header, separator, encoding)
        if right is None or n_read:
            raise ValueError(f"{path}: {error}") from error
        (table,) = _tables(right, header, separator, "utf-8", None)
        yield _frame(table.rename_columns(names), kept, columns.codes)


def _opened(path: Any) -> Any:
    """Open what pandas opens, unpacked."""
    from pandas.io.common import get_handle

    if not isinstance(path, Path):
        path = path.open(compression="infer")
    elif path.suffix.lower() in OPENERS:
        path = io.BufferedReader(UnpackedFile(path))
    return get_handle(path, "rb", compression="infer", is_text=False)


def _told(path: Any, columns: Columns, separator: str) -> tuple[str, str, list[str]]:
    """Return the encoding, as the first bytes say, the separator, as the header does, and it."""
    with _opened(path) as file:
        head = file.handle.read(_HEAD_BYTES)
    marked = (name for mark, name in _MARKS.items() if head.startswith(mark))
    encoding = columns.encoding or next(marked, "utf-8")
    content = head.decode(encoding, "replace").lstrip("\ufeff\r\n")
    marks = [mark for mark in _SEPARATORS if mark in content.partition("\n")[0]]
    if columns.sep is not None:
        separator = columns.sep
    elif separator not in marks and len(marks) == 1:
        separator = marks[0]
    header: list[str] = []
    with suppress(csv.Error):
        header = next(csv.reader(io.StringIO(content, newline=""), delimiter=separator), header)
    return encoding, separator, header


def _bytes_of(chunk_rows: int | None) -> int:
    """Return the largest number of bytes of a row."""
    return _BLOCK_BYTES * (1 if chunk_rows else _N_BLOCKS)


def _tables(file: Any, header: list[str], separator: str, encoding: str, chunk_rows: Any) -> Any:
    """Return tables of text, of all rows or of blocks of them."""
    from pyarrow import Table, string
    from pyarrow import csv as arrow

    options = {
        "read_options": arrow.ReadOptions(block_size=_bytes_of(chunk_rows), encoding=encoding),
        "parse_options": arrow.ParseOptions(delimiter=separator, newlines_in_values=True),
        "convert_options": arrow.ConvertOptions(
            column_types=dict.fromkeys(header, string()),
            null_values=_MISSING,
            strings_can_be_null=True,
        ),
    }
    if chunk_rows is None:
        return iter([arrow.read_csv(file, **options)])
    blocks = arrow.open_csv(file, **options)
    return map(Table.from_batches, iter(lambda: list(islice(blocks, _N_BLOCKS)), []))


def _frame(table: Any, kept: set[str], codes: bool) -> Any:
    """Return a frame; columns are numbers where all values are, unless they are kept as text."""
    named = zip(table.column_names, table.columns)
    columns = [column if name in kept else _typed(column, codes) for name, column in named]
    return needs("pyarrow").table(columns, table.column_names).to_pandas()


def _typed(column: Any, codes: bool) -> Any:
    """Return a column as numbers, truth values or text."""
    from pyarrow import compute, types

    # A cast that fails takes as long as one that does not.
    sample = [value for value in column[:_SAMPLE].to_pylist() if value] or ["0"]
    kinds = ["double"] if any("." in value for value in sample) else ["int64", "uint64", "double"]
    found, texts = None, column
    if _numbers(sample[:1]) is not None:
        found = _cast(column, kinds)
        if found is None:
            texts = compute.utf8_trim_whitespace(column)
            found = _cast(texts, kinds)
        if found is not None and types.is_integer(found.type):
            # Arrow also reads 0x1F.
            hexadecimal = compute.match_substring(texts, "x", ignore_case=True)
            found = None if compute.any(hexadecimal).as_py() else found
        found = _numbers(column.to_pylist()) if found is None else found
    if found is None:
        found = _cast(column, ["bool"])
    elif codes and types.is_integer(found.type):
        # As zip codes and the like have a zero in front.
        is_longer = compute.greater(compute.binary_length(texts), 1)
        coded = compute.and_(compute.starts_with(texts, "0"), is_longer)
        least = compute.min(found).as_py()
        if least is not None and least >= 0 and compute.any(coded).as_py():
            return column
    return column if found is None else found


def _cast(column: Any, kinds: list[str]) -> Any:
    """Return a column as the first type that holds all values; None if there is none."""
    for kind in kinds:
        with suppress(ValueError):
            return column.cast(kind)
    return None


def _numbers(values: list[str | None]) -> Any:
    """Return values as numbers, as Python reads them; None if it does not."""
    with suppress(ValueError):
        return needs("pyarrow").array([value and to_float(value) for value in values])
    return None


def _without_last_separators(path: Any, header: list[str], separator: str, encoding: str) -> Any:
    """Return the rows as bytes without an empty field too many, which is usual; or raise.

    None means that Python's reader does not know what is wrong either.
    """
    out, n_names, line = io.StringIO(), len(header), 0
    with _opened(path) as file, suppress(csv.Error):
        rows = csv.reader(io.TextIOWrapper(file.handle, encoding, newline=""), delimiter=separator)
        try:
            for row in rows:
                if len(row) < 2 and not "".join(row).strip():
                    continue
                if not 0 <= len(row) - n_names <= 1 or any(row[n_names:]):
                    raise ValueError(
                        f"{path}, line {rows.line_num} has {len(row)} fields, and the header has "
                        f"{n_names}: name every column (in R, write.table with row.names=FALSE), "
                        f"and quote fields that hold {separator!r}."
                        f"{advice_on_separators(header)}"
                    )
                line = rows.line_num
                csv.writer(out, delimiter=separator).writerow(row[:n_names])
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not text in {encoding}, after line {line}: pass its encoding, such as "
                "'cp1252' of Windows or 'utf-16' (on the command line --encoding)."
            ) from error
        return io.BytesIO(out.getvalue().encode())
    return None
