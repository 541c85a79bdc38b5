"""CSV files as frames of pandas, in chunks, with checks of what pandas takes without a word."""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._files import LARGE_BYTES, OPENERS, UnpackedFile, needs, refuse_pipe

# A file is searched in pieces that overlap by the length of a long number.
_PIECE_BYTES, _OVERLAP = 1 << 20, 1 << 12


class Columns(NamedTuple):
    """Names of the columns of a table."""

    qid: str = "qid"
    label: str = "label"
    document: str = "docid"  # may be missing
    features: list[str] | None = None  # None = all other columns
    labelled: bool = True  # whether the label is read, and must exist
    verbatim: bool = False  # whether NA, null and the like in text are text, and not missing
    drop: tuple[str, ...] = ()  # columns that are no features
    text: tuple[str, ...] = ()  # columns of CSV that hold text, whatever it looks like
    codes: bool = False  # whether columns of digits that begin with a zero are text in CSV

    def read_of(self, names: list[str]) -> list[str]:
        """Return those of the names of columns that are read."""
        out = {*self.drop} if self.labelled else {self.label, *self.drop}
        kept = None if self.features is None else {*self.features, self.qid, self.document}
        if kept is not None and self.labelled:
            kept.add(self.label)
        return [n for n in dict.fromkeys(names) if n not in out and (kept is None or n in kept)]


def refuse_twins(path: Any, names: Any) -> None:
    """Raise for columns of one name."""
    twins = [name for name, count in Counter(names).items() if count > 1]
    if twins:
        raise ValueError(f"{path} has several columns {twins[0]!r}: give every column one name.")


def csv_frames(
    path: Path, columns: Columns, chunk_rows: int | None, separator: str = ","
) -> Iterator[Any]:
    """Yield the frames of a CSV file, of about `chunk_rows` rows; None = all rows at once."""
    if isinstance(path, Path):
        refuse_pipe(path)
    pandas = needs("pandas")
    options: dict[str, Any] = {"low_memory": False}  # else a column might be of several types
    if columns.verbatim:
        options.update(keep_default_na=False, na_values=[""])
    if _version(pandas) < (3, 1):  # would change the last bit of numbers
        options["float_precision"] = "round_trip"
    options |= {"sep": separator, "index_col": False}

    def read_csv(file: Any = None, **more: Any) -> Any:
        return pandas.read_csv(_source(path) if file is None else file, **options, **more)

    # pandas gives columns of one name different ones.
    names = read_csv(_source(path, LARGE_BYTES), header=None, nrows=1, dtype=str)
    refuse_twins(path, names.iloc[0].dropna())
    # Names are read as text, as one chunk might hold numbers alone and another not.
    text = dict.fromkeys((columns.qid, columns.document, *columns.text), str)
    widths = _Widths(path, separator)
    if _version(pandas) < (3, 0):  # cuts off the first row of a chunk without a word
        widths.check()
    if chunk_rows is None:
        frame = widths.checked(lambda: read_csv(dtype=text))
        codes = _codes(path, separator, frame, read_csv) if columns.codes else []
        if codes:
            frame[codes] = read_csv(usecols=codes, dtype=str)[codes]
        yield frame
        return
    file = _source(path, LARGE_BYTES)
    with read_csv(file, dtype=text, chunksize=chunk_rows) as frames:
        while (frame := widths.checked(lambda: next(frames, None))) is not None:
            yield frame
            if isinstance(file, UnpackedFile):
                file.begin_chunk()


def _source(path: Path, *limit: int) -> Any:
    """Return what pandas reads, the path of a plain file."""
    if not isinstance(path, Path):
        return path.open(compression="infer")
    return UnpackedFile(path, *limit) if path.suffix in OPENERS else path


def _codes(path: Any, separator: str, frame: Any, read_csv: Callable[..., Any]) -> list[str]:
    """Return the columns of digits, some of which begin with a zero, as those of zip codes do."""
    digits = {name for name in frame.columns if _is_whole(frame[name])}
    codes: set[str] = set()
    # Few files have codes, and reading every column as text takes several times as long as numbers.
    if digits and _may_have_codes(path, separator):
        with read_csv(usecols=list(digits), dtype=object, chunksize=1 << 16) as parts:
            for name, texts in (column for part in parts for column in part.items()):
                lines = "\n".join(["", *map(str.strip, texts.dropna())])
                if lines and not lines.replace("\n", "").isdecimal():
                    digits.discard(name)
                elif re.search("\n0[0-9]", lines):
                    codes.add(name)
    return [name for name in frame.columns if name in codes & digits]


def _may_have_codes(path: Any, separator: str) -> bool:
    """Return whether some field of a file may be digits that begin with a zero."""
    from pandas.io.common import get_handle  # opens whatever read_csv opens

    ends = separator.encode() + b'\n\r"'
    is_start = np.isin(np.arange(256), list(ends + b" \t\v\f"))
    is_digit = np.isin(np.arange(256), list(b"0123456789"))
    is_code = re.compile(rb"0[0-9]+\s*[" + ends + rb"]").match
    kept = b"\n"
    with get_handle(_source(path), "rb", compression="infer", is_text=False) as handles:
        read: Any = partial(handles.handle.read, _PIECE_BYTES)
        for piece in chain(iter(read, b""), [b"\n"]):
            content = kept + piece
            values = np.frombuffer(content, np.uint8)
            zeros = np.flatnonzero(values[1:-1] == ord("0")) + 1
            zeros = zeros[is_start[values[zeros - 1]] & is_digit[values[zeros + 1]]]
            if any(is_code(content, zero) for zero in zeros.tolist()):
                return True
            kept = content[-_OVERLAP:]
    return False


def _is_whole(column: Any) -> bool:
    """Return whether a column holds whole numbers, which are floats beside missing values."""
    numbers = column.dropna()
    return column.dtype.kind in "iuf" and bool(((numbers >= 0) & (numbers % 1 == 0)).all())


def _version(package: Any) -> tuple[int, ...]:
    return tuple(map(int, package.__version__.split(".")[:2]))


class _Widths:
    """Check that all rows of a CSV file have as many fields as its header.

    pandas fills short rows with missing values, and takes the first field of a long row for the
    index or drops the last field.
    """

    def __init__(self, path: Path, separator: str) -> None:
        self.path, self.separator, self.are_right = path, separator, False

    def checked(self, read: Callable[..., Any]) -> Any:
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

    def check(self) -> None:
        """Raise for the first row of another length than the header."""
        from pandas.io.common import get_handle  # opens whatever read_csv opens

        with get_handle(
            _source(self.path), "r", encoding="utf-8-sig", compression="infer"
        ) as handles:
            rows = csv.reader(handles.handle, delimiter=self.separator)
            with suppress(csv.Error):  # of fields without an end, of which read_csv says more
                self._check(rows)
        self.are_right = True

    def _check(self, rows: Any) -> None:
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
