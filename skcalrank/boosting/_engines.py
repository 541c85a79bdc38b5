"""Every library of boosted trees that the ranker knows."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from ..data import Floats
from ._engine import Engine
from ._lightgbm import LightGBM
from ._sklearn import ScikitLearn
from ._xgboost import XGBoost

# Of gains 2^y - 1, which both libraries keep as whole numbers; of average precision.
_LARGEST_GRADE = {"lambdarank": 30, "rank_xendcg": 30, "rank:ndcg": 31, "rank:map": 1}


def grades_for(objective: str, labels: Floats) -> Floats:
    """Return labels, or raise for those that an objective of an engine does not take."""
    most = _LARGEST_GRADE.get(objective, np.inf)
    strange = labels[(labels < 0) | (labels > most) | (labels % 1 != 0)]
    if len(strange) and most < np.inf:
        raise ValueError(
            f"loss={objective!r} takes whole grades from 0 to {most}, and y holds "
            f"{strange[0]:g}: choose a loss of skcalrank.losses."
        )
    return labels


#: Every engine by its name, the one that is preferred first.
ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (LightGBM(), XGBoost(), ScikitLearn())
}


def preferred() -> Engine:
    """Return the first engine that is installed; that of scikit-learn always is."""
    *libraries, last = ENGINES.values()
    return next((engine for engine in libraries if find_spec(engine.name) is not None), last)
