"""How a regressor is fitted to the targets of a surrogate."""

from __future__ import annotations

from ._least_squares import (
    LOSSES,
    as_dense,
    effective_loss,
    fit_centred,
    fit_outputs,
    fit_regressor,
    takes_nan,
    takes_sparse,
)
from ._pairs import PAIR_FEATURES, fit_pairs

__all__ = [
    "LOSSES",
    "PAIR_FEATURES",
    "as_dense",
    "effective_loss",
    "fit_centred",
    "fit_outputs",
    "fit_pairs",
    "fit_regressor",
    "takes_nan",
    "takes_sparse",
]
