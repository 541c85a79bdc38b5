"""The libraries of trees by name, and whose an estimator is."""

from typing import Any, TypeGuard

from sklearn.ensemble import HistGradientBoostingRegressor

from ._catboost import CatBoost
from ._engine import Engine
from ._library import Library
from ._lightgbm import LightGBM
from ._sklearn import ScikitLearn
from ._xgboost import XGBoost

#: Engines by name, in order of preference.
ENGINES: dict[str, Engine] = {cls.name: cls() for cls in (LightGBM, XGBoost, ScikitLearn)}


def preferred() -> Engine:
    """Return the first engine that is installed; scikit-learn always is."""
    *libraries, last = ENGINES.values()
    return next((engine for engine in libraries if engine.is_installed()), last)


#: Engines by the names of their objectives.
OBJECTIVES = {name: engine for engine in ENGINES.values() for name in engine.objectives}


def is_objective(loss: Any) -> TypeGuard[str]:
    """Return whether a loss is the name of an objective of an engine."""
    return isinstance(loss, str) and loss in OBJECTIVES


_OTHERS: tuple[Library, ...] = (ENGINES["lightgbm"], ENGINES["xgboost"], CatBoost())

#: Libraries beside scikit-learn, by name.
LIBRARIES = {library.name: library for library in _OTHERS}


def is_of_library(estimator: Any) -> bool:
    """Return whether an estimator is one of LightGBM, XGBoost or CatBoost."""
    return library_of(estimator) in LIBRARIES.values()


def library_of(estimator: Any) -> Library:
    """Return the library that defines the class of an estimator, or of its trees."""
    packages = (cls.__module__.partition(".")[0] for cls in type(estimator).__mro__)
    known = (LIBRARIES[package] for package in packages if package in LIBRARIES)
    is_sklearn = isinstance(estimator, HistGradientBoostingRegressor)
    return next(known, ENGINES["sklearn"] if is_sklearn else Library())
