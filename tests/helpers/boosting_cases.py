"""Labels and groups for boosting."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest

from skcalrank import BoostedRanker

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


#: Engines that are installed.
ENGINES = [name for name in ("lightgbm", "xgboost", "sklearn") if find_spec(name) is not None]
FIRST = ENGINES[0]

#: Mark of tests of what only LightGBM has.
NEEDS_LIGHTGBM = pytest.mark.skipif("lightgbm" not in ENGINES, reason="needs lightgbm")

_LEAST = {"lightgbm": 5, "xgboost": 1, "sklearn": 5}


every_engine = pytest.mark.parametrize("engine", ENGINES)


def boosted(engine, **params):
    """A ranker of few trees."""
    if engine is not None:
        pytest.importorskip(engine)
    library = engine or ("xgboost" if ":" in params["loss"] else "lightgbm")
    few = {"min_samples_leaf": _LEAST[library], "n_estimators": 30, "n_iter_no_change": 5}
    if library == "lightgbm":
        few["engine_params"] = {"min_data_per_group": 5}
    return BoostedRanker(engine=engine, **{"n_jobs": 1} | few | params)


def made_queries(n_queries, seed, n_documents=15, n_features=6):
    """Features, grades from 0 to 3 that are not linear in them, and queries."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_documents)
    X = rng.normal(size=(len(qid), n_features))
    worth = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=len(qid))
    return X, np.digitize(worth, [0.5, 1.5, 2.5]), qid
