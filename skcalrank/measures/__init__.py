"""Measures of rankings; metrics, surrogates and prediction maps are derived from them."""

import re
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from inspect import isclass
from typing import Any

from ..data import check
from ._base import Measure, PairMeasure, PositionalMeasure
from ._conventions import CONVENTIONS, get_convention
from ._dcg import DCG, NDCG
from ._families import Discount as Discount
from ._families import Gain as Gain
from ._hits import F1, RBP, RPrecision
from ._options import warn_unless_grades as warn_unless_grades
from ._pairs import Kendall, PairwiseDisagreement
from ._positional import AUC, ERU, Precision, Recall, Spearman
from ._positional import OfTargets as OfTargets
from ._sequential import ERR, AveragePrecision, HitRate, ReciprocalRank
from ._user_measures import check_own, is_own

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

#: Every measure class by its name. Tests, error messages and tables list measures in this order.
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

# The name of a measure and, optionally, the cutoff after @.
_NAME = r"([a-z_][a-z0-9_]*)(?:@(.+))?"

# Other names of measures, those of trec_eval among them.
_SYNONYMS = {
    "p": "precision",
    "r": "recall",
    "ap": "map",
    "average_precision": "map",
    "rr": "mrr",
    "recip_rank": "mrr",
    "reciprocal_rank": "mrr",
    "success": "hit",
    "rprec": "r_precision",
    "tau": "kendall",
    "rho": "spearman",
    "lambdarank": "ndcg",
}


def get_measure(
    measure: str | Measure, *, convention: str | None = None, **options: Any
) -> Measure:
    """Return the measure of a name.

    Parameters
    ----------
    measure : str or Measure
        Name of a measure, such as ``"ndcg@10"`` or ``"map"``. Measures with a cutoff accept an
        optional ``@k``. A Measure object is returned unchanged.
    convention : {"trec_eval", "lightgbm", "xgboost", "sklearn"}, default=None
        Library whose definition of the measure is used: options that are not given are set to
        the values that the library uses, and options that are given are kept. A Measure object
        must already have the options of the library where these differ from the defaults. How the
        library treats equal scores and empty queries is not part of a measure: pass `convention`
        to a metric as well.
    **options
        Parameters of the measure, such as ``gain`` or ``relevance_level``.

    Returns
    -------
    measure : Measure

    Raises
    ------
    ValueError
        If the name is unknown (the message lists the valid names), the measure has no cutoff or
        no such option, `k` contradicts the name, or a Measure object contradicts the convention.
        Also if a measure of your own has no name, or its basis increases with the position.

    See Also
    --------
    skcalrank.metrics.measure_score : Compute any measure.
    skcalrank.get_scorer : Scorer of a measure for model selection.

    Examples
    --------
    >>> from skcalrank.measures import get_measure
    >>> get_measure("ndcg@10", gain="linear")
    NDCG(k=10, gain='linear')
    >>> get_measure("map@10", convention="lightgbm")
    AveragePrecision(k=10, relevance_level=1, divisor='attainable')
    """
    if convention is not None:
        chosen = None if isinstance(measure, Measure) else options
        return get_convention(convention).apply(get_measure(measure, **options), chosen)
    if isinstance(measure, Measure):
        if options:
            raise ValueError(
                f"options must be given together with a name, got {sorted(options)} with "
                f"{measure!r}. Set them on the measure."
            )
        if is_own(measure):
            check_own(measure)
        return measure
    match = re.fullmatch(_NAME, measure) if isinstance(measure, str) else None
    if match is None or match[1] not in MEASURES:
        raise unknown_measure(measure, MEASURES)
    cls = MEASURES[match[1]]
    if match[2] is not None:
        if not cls.has_cutoff:
            raise ValueError(f"{cls.name} has no cutoff, got {measure!r}. Leave @{match[2]} out.")
        k = check.cutoff_of(measure)
        if options.setdefault("k", k) != k:
            raise ValueError(
                f"k must be {k} for {measure!r}, got k={options['k']!r}. Leave one out."
            )
    known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(
            f"{cls.name} has no option {unknown[0]!r}: choose among {', '.join(known) or 'none'}."
        )
    return cls(**options)


def unknown_measure(measure: Any, names: Iterable[str]) -> ValueError:
    """Return the error for a measure that has none of the names; "@k" ends those with a cutoff."""
    if isclass(measure) and issubclass(measure, Measure):
        return ValueError(
            f"measure must be a name or a Measure, got the class {measure.__name__}: did you mean "
            f"{measure.__name__}()?"
        )
    names = sorted(names)
    return ValueError(
        f"Unknown measure {measure!r}{_meant(measure, names)}: choose one of {', '.join(names)}, "
        "optionally with a cutoff, as in 'ndcg@10'."
    )


def _meant(measure: Any, names: list[str]) -> str:
    """Return the part of a message that names the measure that was probably meant, if any."""
    if not isinstance(measure, str):
        return ""
    takes_k = {name.removesuffix("@k"): name.endswith("@k") for name in names}
    takes_k |= {name: cls.has_cutoff for name, cls in MEASURES.items() if name in takes_k}
    word, k = re.fullmatch(r"(.*?)(?:_?cut)?[@_ -]*(\d*)", measure.strip().lower()).groups()  # type: ignore[union-attr]
    word = word.replace("-", "_").replace(" ", "_")
    alike = get_close_matches(_SYNONYMS.get(word, word), takes_k, 1)
    if not alike:
        return ""
    cutoff = f"@{k}" if k and takes_k[alike[0]] else ""
    return f" (did you mean {alike[0] + cutoff!r}?)"
