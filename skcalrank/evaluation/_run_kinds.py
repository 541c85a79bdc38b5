"""What runs and judgments hold, and how their columns, lines, entries and documents are called."""

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..columns import is_missing

# Types of numbers that may be whole.
_FRACTIONS = (float, np.floating, Fraction, Decimal)

# Binary digits of a float of Python behind the first.
_MANTISSA = np.finfo(float).nmant

#: A query, a document and its value.
Row = tuple[Any, str, float]


class Kind(NamedTuple):
    """A run or judgments: names of the column with the value, and forms of a line of words."""

    what: str
    values: tuple[str, ...]
    lines: tuple[str, ...]  # each of its own number of words; the last one is the value, or a tag

    def columns(self, names: Iterable[Any], place: Any) -> list[Any]:
        """Return which of the names are the query, the document and the value; or raise."""
        names = list(names)
        known, columns = list(map(plain, names)), []
        roles = {"query": _QUERIES, "document": _DOCUMENTS, "value": self.values}
        for role, choices in roles.items():
            choice = next((choice for choice in choices if choice in known), None)
            if choice is None or known.count(choice) > 1:
                any_of = f"a column of the {role} ({', '.join(choices)})"
                wanted = f"one column {choice!r}" if choice else any_of
                raise ValueError(
                    f"{place} must have {wanted}, got columns {', '.join(map(str, names[:20]))}."
                )
            columns.append(names[known.index(choice)])
        return columns


#: A rank is read where there is no score; see `entry`.
RUN = Kind(
    "run", ("score", "sim", "rank"), ("query Q0 document rank score tag", "query document rank")
)
QRELS = Kind(
    "qrels",
    ("relevance", "rel", "label", "score", "grade", "rating"),
    ("query 0 document relevance", "query document relevance"),
)
_QUERIES = ("qid", "query_id", "q_id", "query", "topic", "user_id")
_DOCUMENTS = ("docid", "doc_id", "docno", "document", "pid", "corpus_id", "id", "item_id")


def plain(name: Any) -> Any:
    """Return the name of a column as it is known."""
    return name.strip().replace("-", "_") if isinstance(name, str) else name


def is_header(names: list[str]) -> bool:
    """Return whether names are those of columns, of a query and a document among them."""
    known = set(map(plain, names))
    return bool(known & set(_QUERIES) and known & set(_DOCUMENTS))


def entry(place: str, columns: Sequence[Any], cells: Iterable[Any]) -> Row:
    """Return checked names and the score of a row; the best rank has the highest score."""
    in_query, in_document, in_value = (f"{place}, column {column!r}" for column in columns)
    query, document, value = cells
    names = name_of(query, in_query), str(name_of(document, in_document))
    score = number(value, in_value)
    return *names, -score if plain(columns[2]) == "rank" else score


def number(value: Any, place: str) -> float:
    """Return a value as a finite number, or raise."""
    try:
        found = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place} must be a number, got {value!r}.") from error
    if not np.isfinite(found):
        raise ValueError(f"{place} must be finite, got {value!r}.")
    return found


def name_of(value: Any, place: str) -> Any:
    """Return the name that a value stands for; as text it is the same for all types of the value.

    Bytes are text in UTF-8, and a whole number is an integer: pandas makes floats of integers
    beside a missing value. `place` is for errors.
    """
    if type(value) in (str, int):
        return value  # most of them
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{place} is not text in UTF-8, got {value!r}: decode it.") from error
    if is_missing(value):
        raise ValueError(f"{place} has no value: every row must name a query and a document.")
    return _whole(value, place) if isinstance(value, _FRACTIONS) else value


def names_of(values: Collection[Any], place: str) -> list[str]:
    """Return the names of several values as text."""
    if {type(value) for value in values} <= {str, int}:
        return list(map(str, values))
    return [str(name_of(value, f"{place}[{value!r}]")) for value in values]


def _whole(value: Any, place: str) -> Any:
    """Return a whole number as an integer, and other numbers unchanged."""
    if isinstance(value, (float, np.floating)):
        n_digits = np.finfo(value).nmant if isinstance(value, np.floating) else _MANTISSA
        if abs(value) >= 2 ** (n_digits + 1):
            raise ValueError(
                f"{place} is {value!r}, too large for a float to hold all its digits: read names "
                "as integers or text."
            )
    try:
        return whole if (whole := int(value)) == value else value
    except OverflowError:  # infinity
        return value
