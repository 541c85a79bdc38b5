"""What prediction maps cost: roughly, for whoever shares the work out."""

from __future__ import annotations

from collections.abc import Callable

from ._feedback_arc import _AUTO_UP_TO as _FEEDBACK_ARC_AUTO
from ._feedback_arc import _SUBSETS_UP_TO
from ._map import _AUTO_UP_TO as _MAP_AUTO

__all__ = ["SECONDS"]


# More documents than this have too many sets for any number.
_MOST = 1000


def _feedback_arc(r):
    return 1e-8 * r * 2.0**r if r <= _SUBSETS_UP_TO else 2e-7 * r**4.0


def _local_search(r):
    return 3e-6 * r**2


def _map(r):
    return 5e-9 * r * 2.0 ** min(r, _MOST)


def _beam(r):
    return 3e-6 * r**2


#: Seconds that a matrix of r documents takes on one core, when it is hard and one of a stack:
#: of the maps of MAP and of pairwise disagreement, by name.
SECONDS: dict[str, dict[str, Callable[[int], float]]] = {
    "map": {
        "exact": _map,
        "beam": _beam,
        "diagonal": lambda r: 5e-8 * r**2,
        "auto": lambda r: _map(r) if r <= _MAP_AUTO else _beam(r),
    },
    "disagreement": {
        "topological": lambda r: 1e-7 * r**2,
        "exact": _feedback_arc,
        "local_search": _local_search,
        "auto": lambda r: _feedback_arc(r) if r <= _FEEDBACK_ARC_AUTO else _local_search(r),
    },
}
