"""Conventions of other libraries: options of measures, and policies of metrics."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ..data import check
from ._base import Measure


@dataclass(frozen=True)
class Convention:
    """Policies of a library, and the options of the measures that it implements, by their names."""

    name: str
    ties: str
    empty: str
    options: Mapping[str, Mapping[str, Any]]

    def apply(self, measure: Measure, chosen: Container[str] | None) -> Measure:
        """Return the measure with options that are not in `chosen` set as in the library.

        If `chosen` is None, the measure was passed as an object, and it is unknown which of its
        options the user set. Then raise ValueError if an option has its default and the library
        uses another value.
        """
        if measure.name not in self.options:
            raise ValueError(
                f"The measure must be one of {', '.join(self.options)} with "
                f"convention={self.name!r}, got {measure.name}. Choose another measure, or leave "
                "convention out."
            )
        options = self.options[measure.name]
        if chosen is not None:
            left = {name: value for name, value in options.items() if name not in chosen}
            return replace(measure, **left)  # type: ignore[type-var]
        defaults = {field.name: field.default for field in fields(measure)}  # type: ignore[arg-type]
        missing = [f"{k}={v!r}" for k, v in options.items() if getattr(measure, k) == defaults[k]]
        if missing:
            raise ValueError(
                f"The measure must have {' and '.join(missing)} with convention={self.name!r}, got "
                f"{measure!r}. Set the option, or pass the name {measure.full_name!r}."
            )
        return measure


_ATTAINABLE = {"divisor": "attainable"}
_LINEAR = {"gain": "linear"}

#: Conventions by the name of the library.
CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention(
            "trec_eval",
            "reversed",
            "zero",
            {"ndcg": _LINEAR}
            | {name: {} for name in ("map", "precision", "recall", "r_precision", "hit", "mrr")},
        ),
        Convention("lightgbm", "stable", "one", {"ndcg": {}, "map": _ATTAINABLE}),
        Convention("xgboost", "stable", "one", {"ndcg": {}, "map": _ATTAINABLE}),
        Convention("sklearn", "average", "zero", {"ndcg": _LINEAR, "dcg": _LINEAR}),
    )
}


def get_convention(name: str) -> Convention:
    """Return the convention of a name."""
    check.option("convention", name, (*CONVENTIONS, None))
    return CONVENTIONS[name]
