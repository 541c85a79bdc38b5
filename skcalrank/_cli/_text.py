"""Text on a terminal: progress, prose as wide as the terminal, and tables."""

import shutil
import sys
import textwrap
from typing import NamedTuple


def say(text):
    """Replace the line of progress on a terminal; write nothing in a pipe."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def width() -> int:
    """Return the number of columns of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def paragraphs(*texts) -> str:
    """Join texts by empty lines; prose is wrapped, tables are left as they are."""
    columns = min(width(), 100)
    return "\n\n".join(
        text if "\n" in text else textwrap.fill(text, columns) for text in texts if text.strip()
    )


class Column(NamedTuple):
    """Head and cells of one column, from top to bottom."""

    head: str
    cells: list[str]


def format_table(labels, columns, n_characters=None) -> str:
    """Format columns of text beside their labels, in several blocks if the width demands it."""
    n_characters = n_characters or width()
    room = max(map(len, labels))
    blocks: list[list[Column]] = []
    used = n_characters + 1
    for column in columns:
        needed = 1 + max(map(len, (column.head, *column.cells)))
        if used + needed > n_characters:
            blocks.append([])
            used = room
        blocks[-1].append(column)
        used += needed
    return "\n\n".join(_block(labels, block) for block in blocks)


def _block(labels, columns) -> str:
    texts = [["", *labels], *([column.head, *column.cells] for column in columns)]
    widths = [max(map(len, text)) for text in texts]
    lines = [
        " ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:]))])
        for first, *rest in zip(*texts)
    ]
    lines.insert(1, "-" * len(lines[0].rstrip()))
    return "\n".join(line.rstrip() for line in lines)
