"""How a regressor is fitted to the targets of a surrogate."""

from __future__ import annotations

from ._least_squares import LOSSES, effective_loss, fit_centred, fit_regressor

__all__ = ["LOSSES", "effective_loss", "fit_centred", "fit_regressor"]
