"""Text on a terminal: progress, and prose as wide as the terminal."""

import shutil
import sys
import textwrap
from typing import Any


def say(text: str) -> None:
    """Replace the line of progress on a terminal; write nothing in a pipe."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\x1b[K{printable(text)}", end="", file=sys.stderr, flush=True)


def printable(text: Any) -> str:
    """Return text without characters that rule a terminal."""
    text = str(text)
    if text.replace("\n", "").isprintable():
        return text  # without numpy, which help pages and their errors do not need
    from ..columns import texts

    return texts.printable(text)


def width() -> int:
    """Return the number of columns of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def paragraphs(*blocks: str) -> str:
    """Join texts by empty lines; prose is wrapped, tables are left as they are."""
    columns = min(width(), 100)
    return "\n\n".join(
        text if "\n" in text else textwrap.fill(text, columns) for text in blocks if text.strip()
    )
