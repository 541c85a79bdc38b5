"""The command line: compare, fit, apply and evaluate rankers on files."""

from __future__ import annotations

from ._parser import main

__all__ = ["main"]
