"""Columns that stand beside those that they are made of: of a matrix, and of a table."""

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from ..columns import tables
from ..columns.types import Array, Ints, Self
from ._table_encoder import TableEncoder


class ScaledBeside(TableEncoder):
    """The reader of a matrix with numbers scaled within the query to the right of its columns.

    Rankers behind a :class:`QueryScaler` take it for the reader of the table: columns to the right
    come from the columns of the table from which their numbers come.
    """

    before: TableEncoder | None  # reader of the other columns, None if they are an array
    scaled_: Ints
    method: str

    @classmethod
    def of(cls, encoder: TableEncoder | None, n_columns: int, method: str) -> Self:
        """Return the reader of the matrix of an encoder, or of an array of so many columns."""
        beside = cls()
        beside.before, beside.method = encoder, method
        if encoder is None:
            number = {"kind": "number", "from_text": False, "offset": 0.0}
            encoder = TableEncoder.from_dicts([{**number, "name": k} for k in range(n_columns)])
        beside.__dict__ = {**vars(encoder), **vars(beside)}
        beside.scaled_ = np.setdiff1d(np.arange(n_columns), encoder.categorical_)
        return beside

    @property
    def standard(self) -> Ints | None:
        """The numbers whose z-scores are all that there is beside a table or array, else None."""
        is_first = not isinstance(self.before, ScaledBeside)
        return self.scaled_ if is_first and self.method == "standard" else None

    @property
    def sources_(self) -> Ints:
        """Number of the column of the table that each column of the matrix comes from."""
        sources = super().sources_ if self.before is None else self.before.sources_
        return np.append(sources, sources[self.scaled_])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of the matrix, those to the right last."""
        reader: Any = super() if self.before is None else self.before
        return with_scaled(reader.get_feature_names_out(input_features), self.scaled_)

    def _matrix(self, X: Any) -> NoReturn:
        del X
        raise ValueError(
            "This ranker reads numbers scaled within the query beside the columns, got X without "
            "them: call the pipeline around it, as named_rankers_ of a stack has it."
        )


def with_scaled(names: Iterable[Any], scaled: Ints) -> Array:
    """Return names of columns, followed by those of columns that are scaled within the query."""
    names = list(names)
    return tables.distinct([*names, *(f"{names[k]}_in_query" for k in scaled)])
