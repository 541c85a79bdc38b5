"""What a query of n documents counts in a sum over queries."""

from __future__ import annotations

from ._queries import Queries
from ._types import Floats
from ._validation import check_option

#: What a query of n documents counts, as a power of n.
QUERY_WEIGHTS = {"pairs": 2, "documents": 1, "equal": 0}


def query_factors(queries: Queries, query_weight: str | None, summed_over: str) -> Floats | None:
    """Return what the terms of each query are multiplied by; None where by nothing.

    Parameters
    ----------
    queries : Queries
    query_weight : {"pairs", "documents", "equal"} or None
        What a query is to count: n ** 2, n, or 1. None is what it counts as it is.
    summed_over : {"pairs", "documents"}
        What its terms are: their sum counts n ** 2, or n.
    """
    if query_weight is None:
        return None
    check_option("query_weight", query_weight, QUERY_WEIGHTS)
    power = QUERY_WEIGHTS[query_weight] - QUERY_WEIGHTS[summed_over]
    return queries.sizes.astype(float) ** power if power else None
