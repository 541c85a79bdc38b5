"""Ridge regression on any number of rows in bounded memory."""

from __future__ import annotations

from ._gram_ridge import GramRidge
from ._gram_ridge import add_moments as add_moments
from ._gram_ridge import refit as refit

__all__ = ["GramRidge"]
