"""Measures with their options, labels for them, and rankers: the cases of many tests."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.fixes import parse_version

from skcalrank import (
    AggregatedRanker,
    BoostedRanker,
    ExternalRanker,
    LeastSquaresRankerCV,
    MultiLabelRanker,
    MultiLabelTarget,
    NDCGRanker,
    StackingRanker,
    TabularRanker,
)
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.data import limits
from skcalrank.losses import LOSSES
from skcalrank.measures import MEASURES
from skcalrank.rankers import ScoreRanker, StochasticAggregatedRanker
from skcalrank.testing import all_rankers


def halved(grades):
    """Gains that are stop probabilities too, of grades up to 2."""
    return grades / 2


# Values of every option, each tried alone and the first one together with a cutoff.
OPTIONS = {
    "k": (1, 2, 3, 9),
    "gain": ("linear", (0.0, 0.25, 1.0), halved),
    "discount": (np.reciprocal,),
    "relevance_level": (1.5, None),
    "neutral": (0.5,),
    "half_life": (2.0,),
    "p": (0.5,),
    "max_grade": (4,),
    "weights": ("unit",),
    "normalize": (True,),
    "divisor": ("attainable",),
}
# With max_grade=None the grade is the largest label given, which one query does not know.
FIXED = {"max_grade": 2}

holds_generator = pytest.mark.skipif(
    parse_version(np.__version__) < parse_version("1.25"),
    reason="skops writes random generators of numpy 1.25 and later",
)
tags_sparse = pytest.mark.skipif(
    not get_tags(DecisionTreeRegressor()).input_tags.sparse,
    reason="scikit-learn 1.6.0 does not say of regressors that they take sparse X",
)


def instances():
    """Every measure of the registry under its options."""
    for cls in MEASURES.values():
        fields = getattr(cls, "__dataclass_fields__", {})
        fixed = {name: value for name, value in FIXED.items() if name in fields}
        yield cls(**fixed)
        for name in fields:
            values = [v for v in OPTIONS.get(name, ()) if v != "linear" or cls.has_gain]
            for value in values:
                yield cls(**fixed | {name: value})
                if cls.has_cutoff and name != "k" and value == values[0]:
                    yield cls(**fixed | {name: value, "k": 2})


INSTANCES = list(instances())


def grades(measure):
    """Labels that a measure takes."""
    if getattr(measure, "relevance_level", 0) is None:
        return np.array([0.0, 1.0])
    if measure.positive_only:
        return np.array([0.0, 1.0, 2.0])
    if measure.level == 1:
        return np.array([-1.0, 0.0, 1.0, 2.0])
    return np.array([-1.0, 0.0, 0.5, 2.0])


def draw_labels(measure, shape, rng):
    return rng.choice(grades(measure), size=shape)


#: Parameters that make a ranker fast, and that let trees split a few rows.
SMALL = {
    # The cheapest structure: checks of scikit-learn have one query of many documents.
    "StochasticAggregatedRanker": {"structure": "win_rate", "n_updates": 10, "random_state": 0},
    "BoostedRanker": boosted(FIRST, n_estimators=3, min_samples_leaf=1).get_params(deep=False),
    "StackingRanker": {"rankers": [("a", NDCGRanker()), ("b", NDCGRanker(k=2))]},
}
# With a surrogate of documents, as its relatives have by default.
SMALL["LeastSquaresPairRanker"] = {"surrogate": "score"}
SMALL["TabularRanker"] = {"trees": BoostedRanker(**SMALL["BoostedRanker"])}

#: Public rankers that take another y than one label of each document.
OTHER_LABELS = {MultiLabelRanker: "takes a MultiLabelTarget, of several labels of each document"}


def labels_for(ranker, y, qid):
    """Labels of documents in the form that a ranker takes."""
    if type(ranker) in OTHER_LABELS:
        return MultiLabelTarget(
            np.column_stack([y, y > 0, -y + y.max()]), qid, ["good", "fair", "poor"]
        )
    return y


#: Public rankers with a file of laws of their own, and why.
OWN_LAWS = {ExternalRanker: "its estimator of any library validates, weighs and rounds by itself"}


def every_ranker():
    """One small ranker of every public class, also of those that `labels_for` has labels for."""
    classes = [(name, cls) for name, cls in all_rankers() if cls not in OWN_LAWS]
    return [cls(**SMALL.get(name, {})) for name, cls in classes]


def rankers(**params):
    """One ranker of every class that takes labels, with the given parameters that it has."""
    for ranker in every_ranker():
        if type(ranker) in OTHER_LABELS:
            continue
        ranker.set_params(**{k: v for k, v in params.items() if k in ranker.get_params(deep=False)})
        yield ranker


def rankers_and_losses():
    """Every ranker with every loss it supports; with Ridge if it takes a regressor.

    Iterative solvers go far enough for their results to be compared. A ranker that splits the
    rows by itself has a test file of its own.
    """
    for ranker in rankers(estimator=Ridge(), tol=1e-9):
        if isinstance(ranker, LeastSquaresRankerCV):
            continue
        if isinstance(ranker, AggregatedRanker):
            ranker.set_params(ranker=NDCGRanker(Ridge()))
        for loss in losses_of(ranker):
            yield ranker if loss is None else clone(ranker).set_params(loss=loss)
        if has_separable_targets(type(ranker)):
            yield clone(ranker).set_params(loss="squared", targets="separable")


def has_separable_targets(cls):
    """Whether a class has a choice of separable targets."""
    constraints = limits.of_class(cls).get("targets", [])
    return any("separable" in getattr(choice, "options", ()) for choice in constraints)


def regressor_of(ranker):
    """Name of the parameter for the regressor of a ranker; None if there is none."""
    params = ranker.get_params()
    return next((name for name in ("estimator", "ranker__estimator") if name in params), None)


def first_of_each_class(estimators):
    """Parameters of a test: all but the first estimator of every class are slow."""
    shown, params = set(), []
    for estimator in estimators:
        marks = [pytest.mark.slow] if type(estimator) in shown else []
        params.append(pytest.param(estimator, marks=marks))
        shown.add(type(estimator))
    return params


def losses_of(ranker):
    """Names of the losses of a ranker; None if there is no choice."""
    params = ranker.get_params(deep=False)
    if isinstance(ranker, StochasticAggregatedRanker):
        return None, "logistic"
    if "loss" not in params or isinstance(ranker, TabularRanker):
        return (None,)
    if isinstance(ranker, StackingRanker):
        return None, "pairwise_logistic"
    if "estimator" in params or isinstance(ranker, ScoreRanker):
        return SQUARED_LOSSES
    return tuple(LOSSES) if "measure" in params else (None,)


def ranker_id(ranker):
    params = ranker.get_params(deep=False)
    of_labels = "-separable" * (params.get("targets") == "separable")
    return f"{type(ranker).__name__}-{params.get('loss')}{of_labels}"


def make_data(rng, sizes=(6, 1, 9, 4, 7, 5), n_features=4):
    """Ragged queries in mixed order, with grades 0, 1, 2 that depend on X."""
    qid = rng.permutation(np.repeat(np.arange(len(sizes)) + 10, sizes))
    X = rng.normal(size=(len(qid), n_features))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(qid)) + 0.6), 0, 2)
    return X, y, qid
