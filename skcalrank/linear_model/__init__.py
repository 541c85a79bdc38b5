"""Ridge regression on any number of rows in bounded memory."""

from ._gram_ridge import GramRidge, add_moments, learn_moments, refit, settled, variances

__all__ = ["GramRidge"]
