"""Other members of TabularRanker, as one mixes them by hand in a StackingRanker."""

from contextlib import contextmanager

from skcalrank import TabularRanker
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

#: Names of the members that are left out, and of those that read z-scores beside the columns.
RECIPES = {
    "": ((), ()),
    "without logarithms": (("logs",), ()),
    "in query": (("logs",), ("by_targets",)),
    "both in query": ((), ("by_targets", "by_grades")),
}


@contextmanager
def recipe(name):
    """Let TabularRanker be fitted with other members."""
    usual, (without, in_query) = TabularRanker._members, RECIPES[name]

    def members(self):
        for key, ranker in usual(self):
            if key in in_query:
                ranker = make_query_pipeline(QueryScaler(append=True), ranker)
            if key not in without:
                yield key, ranker

    TabularRanker._members = lambda self: list(members(self))
    try:
        yield
    finally:
        TabularRanker._members = usual
