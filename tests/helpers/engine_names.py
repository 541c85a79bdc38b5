"""The names that libraries of boosted trees list for their options."""

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor


def names_of_lightgbm():
    table = pytest.importorskip("lightgbm").basic._ConfigAliases
    table.get()
    return table.aliases


def names_in(config):
    """All names in the nested configuration of a model of XGBoost."""
    if isinstance(config, dict):
        return set(config).union(*map(names_in, config.values()))
    return set().union(*map(names_in, config)) if isinstance(config, list) else set()


def names_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.zeros((2, 1)), np.zeros(2), group=[2])
    kinds = [{"booster": kind} for kind in ("gbtree", "dart", "gblinear")]
    kinds += [{"tree_method": kind} for kind in ("hist", "approx", "exact")]
    kinds += [{"objective": kind} for kind in ("rank:map", "reg:tweedie", "survival:aft")]
    configs = [xgboost.Booster({"verbosity": 0} | kind, [data]).save_config() for kind in kinds]
    named = set().union(*(names_in(json.loads(config)) for config in configs))
    return named.union(xgboost.XGBRanker().get_params())


def names_of_sklearn():
    return HistGradientBoostingRegressor().get_params()


NAMES = {"lightgbm": names_of_lightgbm, "xgboost": names_of_xgboost, "sklearn": names_of_sklearn}
