"""Rankers in the formats of databases, search engines and runtimes.

A ranker of a table, and boosted trees, are JSON that holds all that scores follow from, or a
statement of SQL. A linear ranker and the steps before it are a sum of curves of single features:
numbers by name, hinges and logarithms, which JSON, an expression of SQL and the plugins of search
engines hold. Boosted trees are splits, whichever library grew them. ONNX holds the regressors of
scikit-learn. Other rankers that need all documents of a query to score one of them have none of
these forms, and errors name alternatives.

Scores are those of `predict` up to a constant, which ranks nothing.
"""

from ._json import to_json
from ._onnx import register_converters, to_onnx
from ._search import to_elasticsearch, to_engine, to_opensearch
from ._sql import to_sql

__all__ = [
    "register_converters",
    "to_elasticsearch",
    "to_engine",
    "to_json",
    "to_onnx",
    "to_opensearch",
    "to_sql",
]
