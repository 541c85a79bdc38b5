"""Registry of the libraries of boosted trees."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from ..data import Floats
from ._engine import Engine
from ._lightgbm import LightGBM
from ._sklearn import ScikitLearn
from ._xgboost import XGBoost

# The gains 2^y - 1 must fit the integers of the library; average precision takes 0 and 1 only.
_LARGEST_GRADE = {"lambdarank": 30, "rank_xendcg": 30, "rank:ndcg": 31, "rank:map": 1}


def grades_for(objective: str, labels: Floats) -> Floats:
    """Return the labels; raise if the ranking objective of an engine does not take them."""
    most = _LARGEST_GRADE.get(objective, np.inf)
    strange = labels[(labels < 0) | (labels > most) | (labels % 1 != 0)]
    if len(strange) and most < np.inf:
        raise ValueError(
            f"y must be whole grades from 0 to {most} with loss={objective!r}, got "
            f"{strange[0]:g}. Choose a loss of skcalrank.losses for other labels."
        )
    return labels


#: Engines by name, in order of preference.
ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (LightGBM(), XGBoost(), ScikitLearn())
}


def preferred() -> Engine:
    """Return the first engine that is installed; scikit-learn always is."""
    *libraries, last = ENGINES.values()
    return next((engine for engine in libraries if find_spec(engine.name) is not None), last)
