"""Rankers, runs and scores beside each other, with intervals and tests over queries."""

from __future__ import annotations

from ._compare import compare, compare_values
from ._comparison import Comparison
from ._cross import cross_compare

__all__ = ["Comparison", "compare", "compare_values", "cross_compare"]
