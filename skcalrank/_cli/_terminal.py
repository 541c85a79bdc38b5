"""What a person sees: progress while they watch, prose as wide as their terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time

__all__ = ["RowCounter", "paragraphs", "say", "width"]


def say(text):
    """One line on a terminal, over the one before; nothing in a pipe."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


class RowCounter:
    """Says how many rows went by, and how fast."""

    def __init__(self, doing):
        self.doing = doing
        self.n_rows = 0
        self._start = time.perf_counter()

    def add(self, n_rows):
        """Count rows, and say so."""
        self.n_rows += n_rows
        rate = self.n_rows / max(time.perf_counter() - self._start, 1e-9)
        say(f"{self.doing}: {self.n_rows:,} rows, {rate:,.0f} rows/s")


def width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def paragraphs(*parts) -> str:
    """Parts apart by an empty line; prose is wrapped, a table stays as it is."""
    columns = min(width(), 100)
    return "\n\n".join(
        part if "\n" in part else textwrap.fill(part, columns) for part in parts if part.strip()
    )
