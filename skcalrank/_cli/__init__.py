"""The command line: compare, fit, apply and evaluate rankers on files."""

from ._parser import main

__all__ = ["main"]
