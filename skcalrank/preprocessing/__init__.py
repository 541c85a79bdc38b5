"""Transformers of features, within queries, of single features, and of tables."""

from ._column_kinds import Category, read_by_trees
from ._context import QueryContext
from ._hinges import QuantileHinges, hinges_of
from ._linear_columns import LinearColumns, curve_of, fit_together, transform_together
from ._logs import signed_log1p
from ._rules import summarized
from ._scaler import QueryScaler, ScaledBeside, numeric, scaled_beside, scaled_within
from ._summaries import Summary
from ._table_encoder import (
    TableEncoder,
    by_column,
    encoded,
    fit_encoded,
    fit_summaries,
    refuse_names,
)
from ._table_matrix import TableMatrix

__all__ = [
    "LinearColumns",
    "QuantileHinges",
    "QueryContext",
    "QueryScaler",
    "TableEncoder",
    "signed_log1p",
]
