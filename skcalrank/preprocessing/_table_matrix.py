"""The matrix of a table in memory, of which some rows or columns are made at a time."""

from collections.abc import Iterable
from functools import partial
from itertools import accumulate, islice
from typing import Any

import numpy as np

from ..columns.arrays import is_plain
from ..columns.tables import Values
from ..columns.types import Floats, Ints
from ._column_kinds import Column, Flag, Number

# Rows of a block of a matrix that is filled column by column, small enough for the cache.
_BLOCK = 4096

# Columns of many rows that are read before they are copied to the matrix: a line of a cache.
_AT_ONCE = 8


class TableMatrix:
    """The matrix of a table, of which rows and columns are made when they are asked for.

    Columns of numbers stay what they are in the table. Others are read once, and kept in single
    precision where it holds all of their values.

    * `columns`: fitted columns that have a place in the matrix.
    * `values`: what the table has in each of them. Infinite numbers were refused before.
    """

    dtype = np.dtype(float)

    def __init__(self, columns: list[Column], values: Iterable[Values], n_rows: int) -> None:
        self._sizes = [column.n_outputs for column in columns]
        self._parts = list(map(_kept, columns, values))
        self.shape = n_rows, sum(self._sizes)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Floats:
        """Return some rows, ``matrix[rows]``, or their values in a column, ``matrix[rows, k]``."""
        if isinstance(rows, tuple):
            return self._column(*rows)
        rows = np.arange(len(self))[rows]
        return joined((read(values[rows]) for values, read in self._parts), self._sizes, len(rows))

    def take(self, columns: Ints, axis: int) -> Floats:  # noqa: ARG002 (as that of an array)
        """Return some columns, for ``axis=1``."""
        out = np.empty((len(self), len(columns)))
        for place, number in enumerate(columns):
            out[:, place] = self._column(slice(None), number)
        return out

    def _column(self, rows: Any, number: int) -> Floats:
        firsts = list(accumulate(self._sizes, initial=0))
        part = int(np.searchsorted(firsts, number, "right")) - 1
        values, read = self._parts[part]
        out = read(values[rows])
        return out if out.ndim == 1 else out[:, number - firsts[part]]


def _kept(column: Column, values: Values) -> tuple[Any, Any]:
    """Return the values of a column that are kept, and the function that reads rows of them."""
    if type(column) in (Number, Flag) and is_plain(values):
        return values, column.read
    numbers = column.read(values)
    single = numbers.astype(np.float32)
    is_exact = np.array_equal(single, numbers, equal_nan=True)
    return single if is_exact else numbers, partial(np.asarray, dtype=float)


def joined(parts: Iterable[Floats], sizes: list[int], n_rows: int) -> Floats:
    """Return the matrix that consists of columns, and of matrices of some columns.

    Few of many rows are in memory beside it.
    """
    out, n_at_once = np.empty((n_rows, sum(sizes))), None if n_rows <= _BLOCK else _AT_ONCE
    places = zip(parts, accumulate(sizes, initial=0))
    while some := list(islice(places, n_at_once)):
        for start in range(0, n_rows, _BLOCK):
            block = out[start : start + _BLOCK]
            for part, first in some:
                rows = part if n_rows <= _BLOCK else part[start : start + _BLOCK]
                if part.ndim == 1:
                    block[:, first] = rows
                else:
                    block[:, first : first + part.shape[1]] = rows
    return out
