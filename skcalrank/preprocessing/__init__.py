"""Transformers of features, within queries and of single features."""

from ._context import QueryContext
from ._hinges import QuantileHinges
from ._logs import signed_log1p
from ._scaler import QueryScaler

__all__ = ["QuantileHinges", "QueryContext", "QueryScaler", "signed_log1p"]
