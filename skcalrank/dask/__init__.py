"""Dask collections whose partitions hold whole queries, as rankers require."""

from __future__ import annotations

from ._partition import partition_by_query

__all__ = ["partition_by_query"]
