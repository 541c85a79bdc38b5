"""Rankers in the formats of databases, search engines and runtimes.

A linear ranker and the steps before it are a sum of curves of single features: numbers by name,
hinges and logarithms, which JSON, SQL and the plugins of search engines hold. Boosted trees are
splits, whichever library grew them. ONNX holds the regressors of scikit-learn. A ranker that needs
all documents of a query to score one of them has none of these forms, and errors name alternatives.

Scores are those of `predict` up to a constant, which ranks nothing.
"""

from ._formats import to_json, to_sql
from ._onnx import register_converters, to_onnx
from ._search import to_elasticsearch, to_engine, to_opensearch

__all__ = [
    "register_converters",
    "to_elasticsearch",
    "to_engine",
    "to_json",
    "to_onnx",
    "to_opensearch",
    "to_sql",
]
