"""Names, values and sums as SQL has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# In texts of MySQL, BigQuery and Spark. BigQuery has no doubled quotes, and texts of one line.
_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r"})

# Databases limit how deep expressions are nested, in which each plus counts.
_MOST_TERMS = 50


def name_of(column: str, quote: str) -> str:
    """Return the name of a column between quotes."""
    return quote + column.replace(quote, quote * 2) + quote


def literal(value: Any, quote: str) -> str:
    """Return a text, a truth value or a number."""
    if isinstance(value, str):
        escaped = value.translate(_ESCAPES) if quote == "`" else value.replace("'", "''")
        return f"'{escaped}'"
    if isinstance(value, int):
        # TRUE and FALSE are integers of Python, and floats do not hold all large integers.
        text = str(value).upper()
        return f"({text})" if text.startswith("-") else text
    return number(value)


def number(value: float) -> str:
    """Return a number in floating point."""
    # An exponent makes a number one in floating point, and not a decimal.
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def sum_of(terms: Sequence[str]) -> str:
    """Return the sum of expressions, in parentheses where there are many."""
    if len(terms) <= _MOST_TERMS:
        return " + ".join(terms) or "0.0e0"
    parts = [terms[k : k + _MOST_TERMS] for k in range(0, len(terms), _MOST_TERMS)]
    return sum_of([f"({sum_of(part)})" for part in parts])


def log_of(value: str) -> str:
    """Return the signed logarithm of an expression."""
    size = f"ABS({value})"
    # LN alone would lose what adding 1 rounds off, which is all of small values.
    log = f"LN(1.0e0 + {size}) * ({value} / ((1.0e0 + {size}) - 1.0e0))"
    return f"(CASE WHEN 1.0e0 + {size} = 1.0e0 THEN {value} ELSE {log} END)"


def hinge_of(value: str, start: float, end: float) -> str:
    """Return the hinge of an expression: 0 up to a start, 1 from an end."""
    low, high = number(start), number(end)
    rise = f"({value} - {low}) / {number(end - start)}"
    # A comparison with NULL is not true, and the last branch is NULL then.
    ends = f"WHEN {value} <= {low} THEN 0.0e0 WHEN {value} >= {high} THEN 1.0e0"
    return f"(CASE {ends} ELSE {rise} END)"
