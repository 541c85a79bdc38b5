"""How a regressor is fitted to the targets of a surrogate."""

from __future__ import annotations

from ._least_squares import (
    SQUARED_LOSSES,
    as_dense,
    effective_loss,
    fit_centred,
    fit_outputs,
    fit_regressor,
    takes_nan,
    takes_sparse,
)
from ._pairs import PAIR_FEATURES, fit_pairs
from ._scorer import ScorerFit, fit_scorer
from ._stochastic import AveragedDescent

__all__ = [
    "PAIR_FEATURES",
    "SQUARED_LOSSES",
    "AveragedDescent",
    "ScorerFit",
    "as_dense",
    "effective_loss",
    "fit_centred",
    "fit_outputs",
    "fit_pairs",
    "fit_regressor",
    "fit_scorer",
    "takes_nan",
    "takes_sparse",
]
