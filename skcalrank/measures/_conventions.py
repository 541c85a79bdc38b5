"""How other libraries measure: options of measures, and policies of their metrics."""

from __future__ import annotations

from collections.abc import Container, Mapping
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

    @property
    def policies(self) -> dict[str, str]:
        """What metrics do with equal scores and empty queries."""
        return {"ties": self.ties, "empty": self.empty}

    def apply(self, measure: Measure, given: Container[str] | None) -> Measure:
        """Return the measure with the options of the library that were not given.

        An object (`given` is None) does not tell which of its options were given: one that is at
        its default, unlike the library's, is an error.
        """
        if measure.name not in self.options:
            raise ValueError(
                f"convention={self.name!r} has no {measure.name}: choose one of "
                f"{', '.join(self.options)}, or leave convention out."
            )
        own = self.options[measure.name]
        if given is not None:
            left = {name: value for name, value in own.items() if name not in given}
            return replace(measure, **left)  # type: ignore[type-var]
        defaults = {field.name: field.default for field in fields(measure)}  # type: ignore[arg-type]
        missing = [f"{k}={v!r}" for k, v in own.items() if getattr(measure, k) == defaults[k]]
        if missing:
            raise ValueError(
                f"{measure!r} contradicts convention={self.name!r}, which has "
                f"{' and '.join(missing)}: set that on the measure, or give the name "
                f"{measure.full_name!r}."
            )
        return measure


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
