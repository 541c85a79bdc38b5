"""Every public estimator that scores documents, made small: the cases of laws over all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from boosting_cases import ENGINES, boosted
from public import public_names
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import skcalrank
from skcalrank import (
    AveragePrecisionRanker,
    BoostedRanker,
    CalibratedRankerCV,
    ExternalRanker,
    GuaranteedCutoff,
    MultiLabelRanker,
    MultiLabelTarget,
    NDCGRanker,
    PairwiseDisagreementRanker,
    StackingRanker,
    TabularRanker,
    rankers,
    sample_comparisons,
    structured,
)
from skcalrank.pipeline import HostedRanker, QueryPipeline, make_query_pipeline
from skcalrank.preprocessing import QuantileHinges, QueryContext, QueryScaler
from skcalrank.structured import FMeasureClassifier, LowRankLossClassifier, StructuredPredictor
from skcalrank.testing import all_rankers


@dataclass(frozen=True)
class Case:
    """An estimator, the labels that it is fitted to, and what its scores depend on.

    `of_query` and `near` are reasons: why a score depends on the other documents of the query, and
    why rounding may depend on the rows beside.
    """

    name: str
    maker: Callable[[], Any]
    target: str = "grades"
    of_query: str = ""
    near: str = ""

    def make(self):
        """A new estimator, whose parts no other one has: tests set their parameters."""
        return clone(self.maker())

    def fit(self, X, y, qid):
        """The fitted estimator."""
        return self.refit(self.make(), X, y, qid)

    def refit(self, estimator, X, y, qid):
        """Fit an estimator of this case to grades, or to what is made of them."""
        if self.target == "classes":
            return estimator.fit(X, y)
        if self.target == "sets":
            return estimator.fit(X, np.column_stack([y > 0, y > 1]))
        if self.target == "comparisons":
            return estimator.fit(X, sample_comparisons(y, qid, n_comparisons=300, random_state=0))
        if self.target == "labels":
            labels = np.column_stack([y, y > 1])
            return estimator.fit(X, MultiLabelTarget(labels, qid, ["grade", "good"]))
        return estimator.fit(X, y, qid=qid)


PRED = "a map ranks the whole query"
SCALED = "scores or features are scaled within the query"
REGRESSOR = "predict of the regressor is one product of BLAS, which rounds by the shape"


def small_boosted(engine, **params):
    """A boosted ranker of a few trees."""
    return boosted(engine, **{"n_estimators": 8, "n_iter_no_change": 3} | params)


def small_tabular(trees, **params):
    """A ranker for tables with a few trees."""
    return TabularRanker(trees=trees and small_boosted(trees), n_jobs=1, **params)


def linear_members(*others):
    """Members of a stack that do not read the query."""
    scaled = make_query_pipeline(StandardScaler(), NDCGRanker())
    hinges = make_query_pipeline(QuantileHinges(3), NDCGRanker(k=3))
    return [("scaled", scaled), ("hinges", hinges), *others]


#: Rankers that have cases of their own below, with parameters that make them fast.
OWN_CASES = {BoostedRanker, ExternalRanker, MultiLabelRanker, StackingRanker, TabularRanker}


def of_registry():
    """Cases of the other rankers, with their defaults."""
    for name, cls in all_rankers():
        if cls in OWN_CASES:
            continue
        wanted = {"random_state": 0, "n_updates": 20, "structure": "win_rate"}
        names = cls().get_params(deep=False)
        params = {key: value for key, value in wanted.items() if key in names}
        target = "comparisons" if "structure" in params else "grades"
        of_query = PRED if getattr(cls(), "surrogate", "score") == "pairwise" else ""
        yield Case(name, lambda cls=cls, params=params: cls(**params), target, of_query=of_query)


def with_regressors():
    """Rankers around regressors, and the pairwise surrogates."""
    for regressor in (Ridge(), DecisionTreeRegressor(max_depth=3, random_state=0)):
        name = type(regressor).__name__
        yield Case(f"NDCGRanker-{name}", lambda regressor=regressor: NDCGRanker(regressor))
    histogram = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    yield Case("NDCGRanker-HistGradientBoosting", lambda: NDCGRanker(histogram))
    yield Case("NDCGRanker-Lasso", lambda: NDCGRanker(Lasso(1e-3)), near=REGRESSOR)
    for cls in (AveragePrecisionRanker, PairwiseDisagreementRanker):
        params = {"surrogate": "pairwise", "random_state": 0}
        name = f"{cls.__name__}-pairwise"
        yield Case(name, lambda cls=cls, params=params: cls(**params), of_query=PRED)


def with_trees():
    """Boosted rankers of every engine."""
    for engine in ENGINES:
        for name, params in {
            "": {},
            "-two": {"n_models": 2},
            "-start": {"start": NDCGRanker()},
        }.items():
            yield Case(
                f"BoostedRanker-{engine}{name}",
                lambda engine=engine, params=params: small_boosted(engine, **params),
            )


def external():
    """Regressors, and rankers of other libraries, as rankers of this package."""
    for regressor in (Ridge(), DecisionTreeRegressor(max_depth=3, random_state=0)):
        name = f"ExternalRanker-{type(regressor).__name__}"
        near = REGRESSOR if isinstance(regressor, Ridge) else ""
        yield Case(name, lambda regressor=regressor: ExternalRanker(regressor), near=near)
    small = {"n_estimators": 5, "n_jobs": 1}
    for module, name, params in (
        ("lightgbm", "LGBMRanker", {"verbose": -1, "min_child_samples": 1}),
        ("xgboost", "XGBRanker", {}),
    ):
        if module in ENGINES:
            other = getattr(import_module(module), name)(**small, **params)
            yield Case(f"ExternalRanker-{name}", lambda other=other: ExternalRanker(other))


def stacks():
    """Stacks, with scores that are scaled over all queries and within each."""
    tree = ("tree", NDCGRanker(DecisionTreeRegressor(max_depth=3, random_state=0)))
    yield Case("StackingRanker", lambda: StackingRanker(linear_members(tree)))
    yield Case(
        "StackingRanker-query",
        lambda: StackingRanker(linear_members(tree), normalize="query"),
        of_query=SCALED,
    )
    yield Case("StackingRanker-default", StackingRanker, of_query=SCALED)
    for trees in (None, *ENGINES):
        yield Case(
            f"TabularRanker-{trees}", lambda trees=trees: small_tabular(trees), of_query=SCALED
        )
    yield Case(
        "TabularRanker-query",
        lambda: small_tabular(ENGINES[0], normalize="query"),
        of_query=SCALED,
    )


def others():
    """Pipelines, several labels, and the classifier."""
    for step in (StandardScaler(), QuantileHinges(3)):
        yield Case(
            f"QueryPipeline-{type(step).__name__}",
            lambda step=step: make_query_pipeline(step, NDCGRanker()),
        )
    for step in (QueryScaler(), QueryScaler("rank"), QueryContext()):
        yield Case(
            f"QueryPipeline-{type(step).__name__}-{getattr(step, 'method', '')}",
            lambda step=step: make_query_pipeline(step, NDCGRanker()),
            of_query=SCALED,
        )
    yield Case("HostedRanker", lambda: HostedRanker(NDCGRanker()))
    scaled = make_query_pipeline(QueryScaler(), NDCGRanker())
    yield Case("HostedRanker-pipeline", lambda: HostedRanker(scaled), of_query=SCALED)
    for level in (None, LogisticRegression(max_iter=1000)):
        yield Case(
            f"CalibratedRankerCV-{type(level).__name__}",
            lambda level=level: CalibratedRankerCV(relevance_level=1, level=level),
            of_query="values depend on the scores of the query",
        )
    for by in ("score", "depth"):
        yield Case(
            f"GuaranteedCutoff-{by}",
            lambda by=by: GuaranteedCutoff(by=by, alpha=0.2, relevance_level=1),
        )
    yield Case("MultiLabelRanker", lambda: MultiLabelRanker(alpha=1.0), "labels")
    for cls in (LowRankLossClassifier, StructuredPredictor):
        yield Case(cls.__name__, cls, "classes", near=REGRESSOR)
    yield Case("FMeasureClassifier", FMeasureClassifier, "sets", near=REGRESSOR)


EVERY_ESTIMATOR = [
    *of_registry(),
    *with_regressors(),
    *with_trees(),
    *external(),
    *stacks(),
    *others(),
]


#: Classes to derive rankers from.
BASES = {"BaseRanker", "LinearScorer", "PairRanker", "ScoreRanker"}


def scoring_classes():
    """Public classes of estimators that score documents."""
    names = {*skcalrank.__all__, *rankers.__all__, *structured.__all__} - BASES
    public = [value for name, value in public_names().items() if name in names]
    classes = [value for value in public if isinstance(value, type) and hasattr(value, "fit")]
    return {*classes, HostedRanker, QueryPipeline}
