"""Values per query of every ranker."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..metrics import evaluate


class Result(NamedTuple):
    """The values of a ranker, or of a reference."""

    name: str
    values: dict[str, np.ndarray]  # per query, NaN where it does not count; by measure
    ranker: Any = None  # None for a reference
    seconds: float | None = None  # of fit


def measure_scores(name, scores, data, measures, *, empty="skip", **more) -> Result:
    """Measure scores by all measures, from one sort."""
    values = evaluate(
        data.y, scores, list(measures.values()), qid=data.qid, empty=empty, average=False
    )
    return Result(name, {key: values[measure] for key, measure in measures.items()}, **more)


def references(data, measures, *, empty="skip") -> list[Result]:
    """Measure equal scores, whose expectation over ties is that of random order, and the labels."""
    return [
        measure_scores("constant", np.zeros(len(data.y)), data, measures, empty=empty),
        measure_scores("ideal", data.y, data, measures, empty=empty),
    ]


def summary(values) -> tuple[float, float]:
    """Return mean and standard error over the queries that count; NaN where there are too few."""
    values = values[~np.isnan(values)]
    n = len(values)
    mean = values.mean() if n else np.nan
    return mean, values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
