"""Chunks of whole queries: which of them were seen, and rankers that saw different ones."""

from __future__ import annotations

import copy

from sklearn.utils.validation import check_is_fitted

from .._solvers import effective_loss, is_closed_form

__all__ = ["check_new", "check_same", "merge_rankers", "names_that_count", "what_is_learnt"]


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


def what_is_learnt(ranker) -> dict:
    """What the statistics of a ranker are of; those of another kind do not add up with them."""
    loss = effective_loss(ranker.loss, ranker._inner())
    return {"class": type(ranker).__name__, "measure": ranker._measure(), "loss": loss}


def check_same(before: dict, now: dict, who: str):
    """Raise where statistics would be added up that are of different things."""
    for what, own in before.items():
        if now[what] != own:
            raise ValueError(
                f"The {what} of {who} is {now[what]}, and was {own} before: statistics add up "
                "where they are of the same. Begin with a new ranker."
            )


def merge_rankers(ranker, others):
    """A ranker with the statistics of all; they must have learnt the same from other queries."""
    check_is_fitted(ranker)
    seen = set(ranker._seen)
    for other in others:
        check_is_fitted(other)
        check_same(ranker._learnt, other._learnt, "a ranker to be merged")
        if other.n_items_ != ranker.n_items_:
            raise ValueError(
                f"Rankers of {ranker.n_items_} and of {other.n_items_} items cannot be merged "
                "(None: documents of queries)."
            )
        if seen & other._seen:
            raise ValueError(
                f"Query {next(iter(seen & other._seen))!r} was seen by two of the rankers: all "
                "rows of a query must go to one, and queries of different files need different "
                "names."
            )
        seen |= other._seen
    merged = copy.copy(ranker)
    merged.estimator_ = ranker.estimator_.merge(*(other.estimator_ for other in others))
    merged._seen = seen
    return merged
