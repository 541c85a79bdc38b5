"""Rankers in the formats of databases, search engines and runtimes.

A ranker is a document that holds all that its scores follow from: how the columns of a table are
read, linear views, trees, whichever library grew them, and weights. JSON is this document, and a
statement of SQL is written from it. Steps before a linear ranker are folded into its coefficients:
it is a sum of curves of single features, numbers, hinges and logarithms, which is an expression of
SQL, too. The plugins of search engines take weights or trees, and ONNX holds the regressors of
scikit-learn. Other rankers that need all documents of a query to score one of them have none of
these forms, and errors name alternatives.

Scores are those of `predict` up to a constant, which ranks nothing.
"""

from ._onnx import register_converters, to_onnx
from ._score_document import to_json
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
