"""Transformers that know which rows are a query."""

from __future__ import annotations

from ._context import QueryContext

__all__ = ["QueryContext"]
