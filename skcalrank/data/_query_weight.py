"""Weight of a query of n documents in a sum over queries."""

from __future__ import annotations

from . import check
from ._queries import Queries
from .types import Floats

#: Weight of a query of n documents, as an exponent of n.
QUERY_WEIGHTS = {"pairs": 2, "documents": 1, "equal": 0}


def query_factors(queries: Queries, query_weight: str | None, summed_over: str) -> Floats | None:
    """Return the factor of the terms of each query; None if all factors are 1.

    Parameters
    ----------
    queries : Queries
    query_weight : {"pairs", "documents", "equal"} or None
        Weight that a query of n documents should have: n ** 2, n, or 1. If None, keep the weight
        that results from summing its terms.
    summed_over : {"pairs", "documents"}
        What the terms of a query belong to: the number of terms grows as n ** 2, or as n.
    """
    if query_weight is None:
        return None
    check.option("query_weight", query_weight, QUERY_WEIGHTS)
    power = QUERY_WEIGHTS[query_weight] - QUERY_WEIGHTS[summed_over]
    return queries.sizes.astype(float) ** power if power else None
