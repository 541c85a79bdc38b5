"""Ridge regression on any number of rows in bounded memory."""

from ._gram_ridge import GramRidge, add_moments, refit

__all__ = ["GramRidge"]
