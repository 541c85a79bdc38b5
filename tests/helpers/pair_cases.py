"""Rankers with a surrogate on pairs, and their settings."""

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor

from skcalrank import AveragePrecisionRanker, PairwiseDisagreementRanker


def map_ranker(**params):
    return AveragePrecisionRanker(surrogate="pairwise", **params)


def pd_ranker(**params):
    return PairwiseDisagreementRanker(surrogate="pairwise", **params)


def products(first, second):
    return np.hstack([first * second, first - second])


PREDS = {
    map_ranker: (None, "diagonal", "exact", "beam", "auto"),
    pd_ranker: (None, "topological", "exact", "local_search", "auto"),
}
FEATURES = {
    "bilinear": {"alpha": 0.1},
    "concat": {"pair_features": "concat"},
    "difference": {"pair_features": "difference", "alpha": 0.1},
    "callable": {"pair_features": products},
    "tree": {
        "pair_features": "concat",
        "estimator": DecisionTreeRegressor(max_depth=4, random_state=0),
    },
    "network": {
        "pair_features": "concat",
        "estimator": MLPRegressor(
            hidden_layer_sizes=3, activation="tanh", tol=0.1, n_iter_no_change=1, random_state=0
        ),
    },
}
LINEAR = ("bilinear", "concat", "difference", "callable")


def setting(make, pred=None, features="bilinear", **params):
    """A pairwise ranker."""
    return make(pred=pred, **FEATURES[features] | params)


def over(*which):
    """Parametrize by pairs of a prediction map and features; each test gets a new ranker."""
    names = [f"{make.__name__}-{pred}-{features}" for make, pred, features in which]
    return pytest.mark.parametrize("which", which, ids=names)


def is_refused(make, features):
    """Whether nothing can be learned: linear differences of pairs with symmetric targets."""
    return make is map_ranker and features == "difference"


def every_other(names):
    """Both rankers with every kind of features but "bilinear" that they accept."""
    both = [(make, None, f) for make in PREDS for f in names if f != "bilinear"]
    return [which for which in both if not is_refused(which[0], which[2])]


EVERY_PRED = [(make, pred, "bilinear") for make, preds in PREDS.items() for pred in preds]
EVERY_SETTING = EVERY_PRED + every_other(FEATURES)
EVERY_LINEAR = EVERY_PRED + every_other(LINEAR)
every_setting, every_pred, every_linear = (
    over(*which) for which in (EVERY_SETTING, EVERY_PRED, EVERY_LINEAR)
)
every_maker = pytest.mark.parametrize("make", PREDS)


def wins(matrix):
    return matrix.sum(axis=1)
