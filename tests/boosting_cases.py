"""Labels and groups for boosting."""

import pickle

import numpy as np
import pytest

SIZES = np.array([4, 1, 6, 3])
ROWS = int(SIZES.sum())
# XGBoost has one weight for each query.
QUERY_WEIGHTS = np.array([1.0, 2.0, 0.5, 0.25])


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def through_lightgbm(objective, y, scores, weight=None, sizes=SIZES):
    return objective(y, scores, weight, sizes)


def through_dataset(objective, y, scores, weight=None, sizes=SIZES):
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(np.zeros((len(y), 1)), y, weight=weight, group=sizes)
    params = {"verbose": -1, "feature_pre_filter": False}
    return objective(scores, data._update_params(params).construct())


def through_xgboost(objective, y, scores, weight=None, sizes=SIZES):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.zeros((len(y), 1)), y, group=sizes)
    if weight is not None:
        data.set_weight(weight[np.append(0, sizes.cumsum()[:-1])])
    return objective(scores, data)


LIGHT_TRAIN = {"num_threads": 1, "verbose": -1, "min_data_in_leaf": 5, "num_leaves": 8}
DEEP = {"nthread": 1, "max_depth": 3, "learning_rate": 0.1, "min_child_weight": 0.1}


def draw_labels(rng):
    y = rng.integers(0, 3, ROWS).astype(float)
    y[0], y[5] = 2, 1
    return y
