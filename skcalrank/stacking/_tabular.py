"""The ranker of a table in one call."""

from __future__ import annotations

from ..boosting import BoostedRanker
from ..measures import Measure
from ._ranker import StackingRanker
from ._views import linear_views


def tabular_ranker(
    measure: str | Measure = "ndcg@10", *, trees: str | None = "auto", n_jobs=None
) -> StackingRanker:
    """x"""
    views = linear_views(measure)
    rankers = list(views)
    starts = None
    if trees is not None:
        engine = None if trees == "auto" else trees
        common = {
            "engine": engine,
            "query_weight": "documents",
            "n_jobs": n_jobs,
            "engine_params": {"feature_fraction": 0.8},
        }
        rankers += [
            (
                "squares",
                BoostedRanker(measure, loss="pairwise_squared", targets="grades", **common),
            ),
            ("logistic", BoostedRanker(measure, **common)),
        ]
        starts = {"squares": [name for name, _ in views]}
    return StackingRanker(
        rankers, measure=measure, normalize="query", targets="grades", starts=starts
    )
