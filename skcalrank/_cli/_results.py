"""Values per query of every ranker, and what stands out in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..metrics import evaluate


class Result(NamedTuple):
    """What a ranker, or a reference, reached."""

    name: str
    values: dict[str, np.ndarray]  # per query, NaN where it does not count; by measure
    ranker: Any = None  # None for a reference
    seconds: float | None = None  # that fit took


def measure_scores(name, scores, data, measures, *, empty="skip", **more) -> Result:
    """The result of scores on data, all measures from one sort."""
    values = evaluate(
        data.y, scores, list(measures.values()), qid=data.qid, empty=empty, average=False
    )
    return Result(name, {key: values[measure] for key, measure in measures.items()}, **more)


def references(data, measures, *, empty="skip") -> list[Result]:
    """Equal scores, whose exact tie expectation is that of random order; and the labels."""
    return [
        measure_scores("constant", np.zeros(len(data.y)), data, measures, empty=empty),
        measure_scores("ideal", data.y, data, measures, empty=empty),
    ]


def summary(values) -> tuple[float, float]:
    """Mean and standard error over the queries that count; NaN where there are too few."""
    values = values[~np.isnan(values)]
    n = len(values)
    mean = values.mean() if n else np.nan
    return mean, values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan


def group_equal(results) -> list[list[Result]]:
    """Results that agree on every query and measure, together, in order of appearance."""
    groups: list[list[Result]] = []
    for result in results:
        twins = next((group for group in groups if _equal(group[0], result)), None)
        if twins is None:
            groups.append([result])
        else:
            twins.append(result)
    return groups


def _equal(a, b) -> bool:
    return all(np.allclose(a.values[m], b.values[m], 1e-9, 1e-12, equal_nan=True) for m in a.values)
