"""How other libraries measure: options of measures, and policies of their metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ._base import Measure


@dataclass(frozen=True)
class Convention:
    """Policies of a library, and the options of the measures that it has.

    Attributes
    ----------
    name : str
    ties, empty : str
        As in :func:`skcalrank.metrics.measure_score`.
    options : dict of dict
        Options by the name of the measure.
    """

    name: str
    ties: str
    empty: str
    options: Mapping[str, Mapping[str, Any]]

    def apply(self, measure: Measure) -> Measure:
        """Return the measure with the options of the library where it has its defaults."""
        if measure.name not in self.options:
            raise ValueError(
                f"convention={self.name!r} has no {measure.name}: choose one of "
                f"{', '.join(self.options)}, or leave convention out."
            )
        own = self.options[measure.name]
        defaults = {field.name: field.default for field in fields(measure)}  # type: ignore[arg-type]
        unset = {k: v for k, v in own.items() if getattr(measure, k) == defaults[k]}
        return replace(measure, **unset)  # type: ignore[type-var]


_RELEVANT = {"relevance_level": 1}
_ATTAINABLE = {"divisor": "attainable"}
_LINEAR = {"gain": "linear"}

#: Conventions by the name of the library.
CONVENTIONS = {
    each.name: each
    for each in (
        Convention(
            "trec_eval",
            "reversed",
            "zero",
            {"ndcg": _LINEAR}
            | dict.fromkeys(("map", "precision", "recall", "r_precision", "hit", "mrr"), _RELEVANT),
        ),
        Convention("lightgbm", "stable", "one", {"ndcg": {}, "map": _RELEVANT | _ATTAINABLE}),
        Convention("xgboost", "stable", "one", {"ndcg": {}, "map": _ATTAINABLE}),
        Convention("sklearn", "average", "zero", {"ndcg": _LINEAR, "dcg": _LINEAR}),
    )
}


def get_convention(name: str) -> Convention:
    """A convention by its name."""
    if not isinstance(name, str) or name not in CONVENTIONS:
        raise ValueError(
            f"convention={name!r}: choose one of {', '.join(map(repr, CONVENTIONS))}, or None."
        )
    return CONVENTIONS[name]
