"""Dask collections whose partitions hold whole queries, as rankers require."""

from ._cut import gather, results_of_blocks
from ._exchange import Exchange, OnCluster
from ._partition import partition_by_query
from ._run import run

__all__ = ["partition_by_query"]
