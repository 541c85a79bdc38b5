"""Trees: one class a library, which alone imports it, and one class of arrays of nodes."""

from ._engine import Engine, Growing, Rounds, Task, Values, threads
from ._ensembles import has_tree_parts, tree_parts
from ._forest import Forest, quietly
from ._library import reads_queries
from ._option_names import NAMES, TREE_OPTIONS, hinting, unknown
from ._registry import (
    ENGINES,
    LIBRARIES,
    OBJECTIVES,
    is_objective,
    is_of_library,
    library_of,
    preferred,
)
from ._scores import TreeScores, naming_ranker
from ._shap import summing_to

__all__: list[str] = []  # a room for others, without public names
