"""Recipes of TabularRanker, which no parameter chooses."""

import sys
from contextlib import contextmanager

from skcalrank import TabularRanker

#: Recipes by name, whatever the one that TabularRanker has.
RECIPES = {
    "": {"logarithms": True, "in_query": ()},
    "without logarithms": {"logarithms": False, "in_query": ()},
    "in query": {"logarithms": False, "in_query": ("documents",)},
    "both in query": {"logarithms": True, "in_query": ("documents", "pairs")},
}


@contextmanager
def recipe(name):
    """Let TabularRanker be fitted by another recipe."""
    module = sys.modules[TabularRanker.__module__]
    before = module._RECIPE
    module._RECIPE = before._replace(**RECIPES[name])
    try:
        yield
    finally:
        module._RECIPE = before
