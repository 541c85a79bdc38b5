"""Chunks of whole queries: which of them were seen."""

from __future__ import annotations

from .solvers import is_closed_form

__all__ = ["check_new", "names_that_count"]


def names_that_count(regressor, queries) -> set:
    """The queries, where the regressor would count one twice that comes again."""
    exact = hasattr(regressor, "partial_fit") and is_closed_form(regressor)
    return set(queries.names.tolist()) if exact and queries.names is not None else set()


def check_new(queries, again):
    """Raise for queries of a chunk that were in an earlier one."""
    if again:
        name = next(name for name in queries.names.tolist() if name in again)
        raise ValueError(
            f"Query {name!r} was in an earlier chunk: all rows of a query must come in one "
            "chunk, and queries of different files need different names."
        )
