"""Progress on a terminal, and prose as wide as the terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap


def say(text):
    """Replace the line of progress on a terminal; write nothing in a pipe."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def width() -> int:
    """Return the number of columns of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def paragraphs(*parts) -> str:
    """Join parts by empty lines; prose is wrapped, tables are left as they are."""
    columns = min(width(), 100)
    return "\n\n".join(
        part if "\n" in part else textwrap.fill(part, columns) for part in parts if part.strip()
    )
