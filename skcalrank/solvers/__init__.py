"""How a regressor is fitted to the targets of a surrogate."""

from __future__ import annotations

from ._least_squares import LOSSES, fit_centred, fit_regressor, is_closed_form

__all__ = ["LOSSES", "fit_centred", "fit_regressor", "is_closed_form"]
