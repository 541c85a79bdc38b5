"""Constraints on columns of a table, as constraints on those of the matrix that trees read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

_ORDERED = ("number", "duration", "flag")  # kinds of columns that increase
_UNREAD = ("constant", "identifier", "drop")
_SIGNS = "1 (increasing), -1 (decreasing) or 0 (any)"


class Columns(NamedTuple):
    """The columns of X, and where they are in the matrix."""

    names: list[Any]
    sources: list[int]  # the column of X behind each column of the matrix
    kinds: list[str]  # of the columns of X

    @classmethod
    def of(cls, ranker: Any) -> Columns:
        """Return the columns of a ranker that has read X."""
        encoder = ranker.encoder_
        if encoder is not None and encoder.columns_:
            kinds = [column.kind for column in encoder.columns_]
            return cls(list(encoder.names_), encoder.sources_.tolist(), kinds)
        numbers = list(range(ranker.n_features_in_))
        return cls(numbers, numbers, ["number"] * len(numbers))

    def number(self, name: Any, parameter: str) -> int:
        """Return the number of a column of X from its name or number."""
        if name in self.names:
            return self.names.index(name)
        is_number = isinstance(name, Integral) and not isinstance(name, bool)
        if is_number and 0 <= name < len(self.names):
            return int(name)
        has = f"{len(self.names)} columns, numbered from 0"
        if self.names != list(range(len(self.names))):
            has = f"the columns {', '.join(map(repr, self.names))}"
        raise ValueError(
            f"{parameter} must have names or numbers of columns of X, got {name!r}: X has {has}."
        )


def monotonic(cst: Any, columns: Columns) -> list[int] | None:
    """Return 1, -1 or 0 for each column of the matrix; None without a constraint."""
    if cst is None:
        return None
    signs = _signs(cst, columns)
    for sign, name, kind in zip(signs, columns.names, columns.kinds):
        if sign not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst must be {_SIGNS}, got {sign!r} for column {name!r}.")
        if sign and kind not in (*_ORDERED, *_UNREAD):
            raise ValueError(
                f"monotonic_cst must be 0 for columns that are not numbers, got {sign} for column "
                f"{name!r}, which holds a {kind}. Leave it out, or make a column of numbers from "
                "it."
            )
    of_matrix = [int(signs[source]) for source in columns.sources]
    return of_matrix if any(of_matrix) else None


def _signs(cst: Any, columns: Columns) -> list[float]:
    """Return the value for each column of X."""
    if isinstance(cst, Mapping):
        signs: list[Any] = [0] * len(columns.names)
        for name, sign in cst.items():
            signs[columns.number(name, "monotonic_cst")] = sign
        return signs
    is_list = not isinstance(cst, (str, bytes)) and np.ndim(cst) == 1
    if not is_list or len(cst) != len(columns.names):
        raise ValueError(
            f"monotonic_cst must be a dict of columns of X, or have {_SIGNS} for each of the "
            f"{len(columns.names)} columns of X, got {cst!r}."
        )
    return np.asarray(cst).tolist()


def interactions(cst: Any, columns: Columns) -> list[list[int]] | None:
    """Return sets of columns of the matrix that cover it; None without a constraint.

    * `cst`: sets of names or numbers of columns of X. Those in no set make one more.
    """
    if cst is None:
        return None
    sets = [sorted(members) for members in _sets(cst, columns)]
    places: dict[int, list[int]] = {}
    for place, source in enumerate(columns.sources):
        places.setdefault(source, []).append(place)
    of_matrix = [
        [place for column in members for place in places.get(column, ())] for members in sets
    ]
    return [members for members in of_matrix if members]


def _sets(cst: str | list[set[int | str]], columns: Columns) -> list[set[int]]:
    """Return sets of numbers of columns of X that cover all of them."""
    everything = set(range(len(columns.names)))
    if isinstance(cst, str):
        if cst == "no_interactions":
            return [{number} for number in everything]
        if cst == "pairwise":
            return [set(pair) for pair in combinations(everything, 2)] or [everything]
    else:
        is_set = isinstance(cst, Collection) and not isinstance(cst, (bytes, Mapping))
        sets = list(cst) if is_set else [cst]
        if all(isinstance(one, Collection) and not isinstance(one, (str, bytes)) for one in sets):
            numbered = [{columns.number(name, "interaction_cst") for name in one} for one in sets]
            rest = everything.difference(*numbered)
            return [*numbered, rest] if rest else numbered
    raise ValueError(
        "interaction_cst must be 'pairwise', 'no_interactions' or a list of sets of columns of X, "
        f"such as [{{0, 1}}, {{2, 3}}], got {cst!r}."
    )
