"""Dask collections whose partitions hold whole queries, as rankers require."""

from __future__ import annotations

from ._cut import gather as gather
from ._partition import partition_by_query
from ._rankers import run as run

__all__ = ["partition_by_query"]
