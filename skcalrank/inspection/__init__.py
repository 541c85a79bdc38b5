"""Explanations of rankings: exact contributions of the features to a score."""

from ._fixed_queries import FixedQueries
from ._order import Explanation, explain_order
from ._parts import Explained, parts_of
from ._permutation import PermutationImportance, query_permutation_importance
from ._scores import ScoreExplanation, explain_scores

__all__ = [
    "Explanation",
    "FixedQueries",
    "PermutationImportance",
    "ScoreExplanation",
    "explain_order",
    "explain_scores",
    "query_permutation_importance",
]
