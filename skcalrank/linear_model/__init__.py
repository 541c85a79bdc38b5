"""Linear regression that learns from any number of rows in the memory of a few."""

from __future__ import annotations

from ._gram_ridge import GramRidge

__all__ = ["GramRidge"]
