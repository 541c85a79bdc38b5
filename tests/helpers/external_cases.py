"""Rankers of other libraries, made small."""

from importlib import import_module

from boosting_cases import ENGINES
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import ExternalRanker

_SMALL = {"n_estimators": 8, "n_jobs": 1}

_MAKERS = {
    "lightgbm": ("LGBMRanker", _SMALL | {"verbose": -1, "min_child_samples": 4}),
    "xgboost": ("XGBRanker", _SMALL),
}


def tree_ranker(engine, **params):
    """An ExternalRanker of boosted trees as the library of an engine makes them."""
    if engine not in _MAKERS:
        trees = HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=4, random_state=0)
        return ExternalRanker(trees, **params)
    name, options = _MAKERS[engine]
    return ExternalRanker(getattr(import_module(engine), name)(**options), **params)


#: Engines whose libraries are installed.
TREES = [engine for engine in ENGINES if engine in _MAKERS or engine == "sklearn"]
