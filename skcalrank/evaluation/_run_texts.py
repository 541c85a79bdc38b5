"""Text files of runs and judgments, whose form is told by what is in them."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import byte_lines, document_of, is_row, text_lines, to_float
from ._run_kinds import QRELS, RUN, Kind, Row, entry, is_header

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def json_of(path: Path) -> Any:
    """Return what a file of JSON or of JSON lines holds; None for another file."""
    first = next((line for _, line in byte_lines(path) if line.strip()), b"")
    if not first.lstrip().startswith((b"{", b"[")):
        return None
    text, values = "".join(line for _, line in text_lines(path)), []
    decoder, at = json.JSONDecoder(object_pairs_hook=_object), _start(text, 0)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise ValueError(f"{place}: {error.msg} in JSON") from error
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"line {line}: {error}") from error
        values.append(value)
        at = _start(text, end)
    of_queries = (isinstance(v, dict) and {*map(type, v.values())} <= {dict, list} for v in values)
    if all(of_queries):
        return _object(pair for value in values for pair in value.items())
    return values[0] if isinstance(values[0], list) else values


def _start(text: str, at: int) -> int:
    """Return where the next value of JSON begins."""
    return re.compile(r"\s*").match(text, at).end()  # type: ignore[union-attr]


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict; Python would keep the last of two values without a word."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f"{name!r} appears twice in one object")
        values[name] = value
    return values


def rows_of_text(path: Path, kind: Kind) -> Iterator[Row]:
    """Return the rows of a table with a header, or of lines of words."""
    first = next((line for _, line in byte_lines(path) if is_row(line)), b"")
    header = first.decode("utf-8", "replace")
    separator = next((s for s in "\t,; " if is_header(header.split(s))), None)
    if separator is None and not _is_line(first.split()):
        suffixes = map(str.lower, path.suffixes)
        separator = next((_SEPARATORS[s] for s in suffixes if s in _SEPARATORS), None)
    if separator is not None:
        return _of_table(path, kind, separator)
    # Bytes are split at blanks of ASCII alone, as in trec_eval: names may hold others.
    fields = _fields(first)
    split = _fields if len(fields) == 3 and all(fields) else bytes.split
    rows = _of_lines(path, kind, split)
    return rows if kind is QRELS or len(split(first)) > 3 else iter(_with_scores(list(rows)))


def _is_line(words: list[bytes]) -> bool:
    """Return whether words hold a value, which names of columns do not."""
    return any(map(_is_number, words[2:])) or any(w.startswith(b"qid:") for w in words[1:2])


def _is_number(word: bytes) -> bool:
    with suppress(ValueError):
        return bool(np.isfinite(to_float(word.decode())))
    return False


def _of_table(path: Path, kind: Kind, separator: str) -> Iterator[Row]:
    rows = csv.reader((line for _, line in text_lines(path)), delimiter=separator)
    try:
        header: list[str] = next(filter(any, rows), [])
        columns = kind.columns(header, path)
        for row in rows:
            place = f"{path}, line {rows.line_num}"
            if len(row) >= len(header) and not any(map(str.strip, row[len(header) :])):
                yield entry(place, columns, [row[header.index(c)] or None for c in columns])
            elif any(map(str.strip, row)):
                raise ValueError(
                    f"{place} has {len(row)} fields, and the header has {len(header)}: quote "
                    f"fields that hold {separator!r} (decimals need a point)."
                )
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num}: {error}") from error


def _of_lines(path: Path, kind: Kind, split: Callable[[bytes], list[bytes]]) -> Iterator[Row]:
    places, n_words = (0, 0, 0), 0
    for number, line in byte_lines(path):
        words = split(line)
        if not words or words[0].startswith(b"#") or words == [b""]:
            continue
        try:
            if kind is QRELS and words[1:2] and words[1].startswith(b"qid:"):
                words, places, n_words = _judged(line), (0, 1, 2), 3
            elif not n_words:
                places, n_words = _places(words, kind)
            if len(words) != n_words:
                _check_more_words(words, n_words, kind)
            query, document, text = (words[place].decode() for place in places)
            value = to_float(text)
            if not np.isfinite(value):
                raise ValueError(f"{text} is not finite")
        except ValueError as error:
            forms = "' or '".join(kind.lines)
            raise ValueError(f"line {number}: {error} (lines must be '{forms}')") from error
        yield query, document, value


def _fields(line: bytes) -> list[bytes]:
    """Return three fields between tabs, which may hold blanks."""
    return list(map(bytes.strip, line.split(b"\t")))


def _judged(line: bytes) -> list[bytes]:
    """Return the query, the document and the label of a line of a judgment list."""
    label, query = line.split()[:2]
    document = document_of(line)
    if document is None:
        raise ValueError("it names no document in a comment, such as # docid = NAME")
    return [query[len(b"qid:") :], document, label]


def _places(words: list[bytes], kind: Kind) -> tuple[Any, int]:
    """Return where the query, the document and the value are, and the number of words."""
    for form in kind.lines:
        names = form.split()
        if len(words) == len(names) or (kind is RUN and len(words) > len(names) > 3):
            value = "score" if "score" in names else names[-1]
            return tuple(map(names.index, ("query", "document", value))), len(names)
    counts = " or ".join(str(len(form.split())) for form in kind.lines)
    other, n_words = (RUN, 6) if kind is QRELS else (QRELS, 4)
    way = f", as lines of {other.what} have: load_{other.what} reads them"
    raise ValueError(
        f"it must have {counts} words, got {len(words)}{way if len(words) == n_words else ''}"
    )


def _check_more_words(words: list[bytes], n_words: int, kind: Kind) -> None:
    """Raise unless words follow the tag of a run, which trec_eval ignores.

    A name with a blank would move all words behind it: the rank then is no number, or a rank and a
    score come later.
    """
    if kind is QRELS or not len(words) > n_words > 3:
        raise ValueError(f"it must have {n_words} words, as lines before, got {len(words)}")
    rank, score, *others = (word.decode() for word in words[3:])
    if not _is_number(words[3]):
        raise ValueError(
            f"its rank must be a number, as it has more than {n_words} words, got {rank!r}: a name "
            "must be one word"
        )
    for word, after in pairwise([score, *others]):
        if word.isdigit() and _is_number(after.encode()):
            raise ValueError(
                f"it has {len(words)} words, and its rank and score may be {rank} and {score}, or "
                f"{word} and {after} behind a name with a blank: a name must be one word, and a "
                "tag no numbers"
            )


def _with_scores(rows: list[Row]) -> list[Row]:
    """Return rows of three words with scores, where the third word may be a rank."""
    values: dict[str, list[float]] = {}
    for query, _, value in rows:
        values.setdefault(query, []).append(value)
    if not all(value >= 0 and value.is_integer() for _, _, value in rows):
        return rows
    if all(found == list(range(1, len(found) + 1)) for found in values.values()):
        return [(query, document, -value) for query, document, value in rows]
    if all(found == sorted(found, reverse=True) and found[-1] > 1 for found in values.values()):
        return rows
    raise ValueError(
        "the third word may be a rank, 1 for the best, or a score, higher for the better. Say it "
        "in a first line, 'qid pid rank' or 'qid pid score', or pass a frame, such as "
        r'pandas.read_csv(path, sep="\s+", names=["qid", "pid", "rank"], dtype=str)'
    )
