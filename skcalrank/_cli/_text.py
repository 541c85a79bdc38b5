"""Text on a terminal: progress, and prose as wide as the terminal."""

import io
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any


def say(text: str, *, verbose: bool = False) -> None:
    """Replace the line of progress on a terminal, and write nothing in a pipe.

    If `verbose`, write a line that stays, wherever.
    """
    if sys.stderr is not None and (verbose or sys.stderr.isatty()):
        start, end = ("", "\n") if verbose else ("\r\x1b[K", "")
        print(start + printable(text), end=end, file=sys.stderr, flush=True)


@contextmanager
def printed_as(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell what is printed line by line, in place of the standard output."""

    class Lines(io.StringIO):
        def write(self, text: str) -> int:
            if text:
                tell(text.rstrip("\n"))
            return len(text)

    with redirect_stdout(Lines()):
        yield


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
