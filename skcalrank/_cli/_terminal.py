"""What a person sees: progress while they watch, prose as wide as their terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap


def say(text):
    """One line on a terminal, over the one before; nothing in a pipe."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def paragraphs(*parts) -> str:
    """Parts apart by an empty line; prose is wrapped, a table stays as it is."""
    columns = min(width(), 100)
    return "\n\n".join(
        part if "\n" in part else textwrap.fill(part, columns) for part in parts if part.strip()
    )
