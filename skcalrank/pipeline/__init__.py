"""Pipelines that pass the qid to every step that accepts it, and rankers in other programs."""

from ._hosted import HostedRanker, hosted_rows
from ._query_pipeline import QueryPipeline, make_query_pipeline, naming_columns

__all__ = ["HostedRanker", "QueryPipeline", "make_query_pipeline"]
