"""Other members of TabularRanker, as one mixes them by hand in a StackingRanker."""

import sys
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
    module, (without, in_query) = sys.modules[TabularRanker.__module__], RECIPES[name]
    usual = module._members

    def members(*options):
        for key, ranker in usual(*options):
            if key in in_query:
                ranker = make_query_pipeline(QueryScaler(append=True), ranker)
            if key not in without:
                yield key, ranker

    module._members = lambda *options: list(members(*options))
    try:
        yield
    finally:
        module._members = usual
