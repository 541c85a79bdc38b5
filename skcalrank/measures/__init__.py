"""Measures, each written once; metric, surrogate and sort follow from it."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from ._base import Measure, PairMeasure, PositionalMeasure
from ._conventions import CONVENTIONS as CONVENTIONS
from ._conventions import get_convention as get_convention
from ._hits import F1, RBP, RPrecision
from ._pairs import Kendall, PairwiseDisagreement
from ._positional import AUC, DCG, ERU, NDCG, Precision, Recall, Spearman
from ._sequential import ERR, AveragePrecision, HitRate, ReciprocalRank

__all__ = [
    "AUC",
    "DCG",
    "ERR",
    "ERU",
    "F1",
    "MEASURES",
    "NDCG",
    "RBP",
    "AveragePrecision",
    "HitRate",
    "Kendall",
    "Measure",
    "PairMeasure",
    "PairwiseDisagreement",
    "PositionalMeasure",
    "Precision",
    "RPrecision",
    "Recall",
    "ReciprocalRank",
    "Spearman",
    "get_measure",
]

#: Every measure by its name. Tests, error messages and tables are driven by it, in this order.
MEASURES: dict[str, type[Measure]] = {
    measure.name: measure
    for measure in (
        NDCG,
        DCG,
        Precision,
        Recall,
        F1,
        RPrecision,
        HitRate,
        AveragePrecision,
        ReciprocalRank,
        RBP,
        ERR,
        ERU,
        AUC,
        Spearman,
        Kendall,
        PairwiseDisagreement,
    )
}

# Of a measure, and what stands behind @.
_NAME = r"([a-z_][a-z0-9_]*)(?:@(.+))?"


def get_measure(
    measure: str | Measure, *, convention: str | None = None, **options: Any
) -> Measure:
    """A measure by its name.

    Parameters
    ----------
    measure : str or Measure
        ``"ndcg@10"``, ``"map"``, ...; ``@k`` may be left out, and is for measures with a
        cutoff. A measure is returned as it is.
    convention : {"trec_eval", "lightgbm", "xgboost", "sklearn"}, default=None
        Fill in the options that this library has, where none are given: those given stay. A
        measure that has a default in place of such an option is refused. What the library does
        with equal scores and empty queries is up to metrics, which take it too.
    **options
        Parameters of the measure, such as ``gain`` or ``relevance_level``.

    Returns
    -------
    Measure

    Raises
    ------
    ValueError
        For an unknown name (the valid ones are listed), a cutoff where there is none,
        an option that the measure does not have, or a measure that contradicts the convention.

    Examples
    --------
    >>> from skcalrank.measures import get_measure
    >>> get_measure("ndcg@10", gain="linear")
    NDCG(k=10, gain='linear')
    >>> get_measure("map@10", convention="lightgbm")
    AveragePrecision(k=10, relevance_level=1, divisor='attainable')
    """
    if convention is not None:
        given = None if isinstance(measure, Measure) else options
        return get_convention(convention).apply(get_measure(measure, **options), given)
    if isinstance(measure, Measure):
        if options:
            raise ValueError(
                f"Options {sorted(options)} were given beside {measure!r}: set them on it."
            )
        return measure
    match = re.fullmatch(_NAME, measure) if isinstance(measure, str) else None
    if match is None or match[1] not in MEASURES:
        raise ValueError(
            f"Unknown measure {measure!r}: choose one of {', '.join(sorted(MEASURES))}, "
            "with @k for a cutoff."
        )
    cls = MEASURES[match[1]]
    if match[2] is not None:
        if not cls.has_cutoff:
            raise ValueError(f"{measure!r}: {cls.name} has no cutoff, leave @{match[2]} out.")
        if not match[2].isdigit():
            raise ValueError(f"{measure!r}: the cutoff behind @ is an integer from 1.")
        options = {"k": int(match[2])} | options
    known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(
            f"{cls.name} has no option {unknown[0]!r}: choose among {', '.join(known) or 'none'}."
        )
    return cls(**options)
