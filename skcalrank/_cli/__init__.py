"""The command line: rankers compared, fitted, applied and evaluated, on files."""

from __future__ import annotations

from ._parser import main

__all__ = ["main"]
