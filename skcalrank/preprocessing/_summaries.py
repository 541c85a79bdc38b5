"""What decides the kind of a column: a summary of its rows, to which those of others are added.

The extent of values is what a rule asks of them: of numbers and dates how far they go, of any
others which they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from ..columns import hash_cells
from ..columns.tables import Coded, Values, coded
from ..columns.types import Array, Ints, Self
from ..data import SHORTEST_RUN, are_whole
from ._values import NAT, calendar, moments_of, numbers_of, seconds_of

# Numbers of rows of tables are checked so many at a time.
_RUN_BLOCK = 1 << 20

_HASHES = 1 << 64


@dataclass(frozen=True)
class Numbers:
    """Numbers of which at least one is not missing.

    * `is_binary`: whether all are 0 or 1.
    * `run`: how many there are and the sum of their hashes, which tells whether they are
      consecutive. None if they cannot be: one is missing or no integer, or they repeat.
    """

    low: float
    high: float
    is_binary: bool
    run: tuple[int, int] | None

    @classmethod
    def of(cls, numbers: Array | None, counts: Ints | None = None) -> Self | None:
        """Return the summary of numbers that occur once, or `counts` times; None without one."""
        if numbers is None or not len(numbers):
            return None
        low, high = float(np.fmin.reduce(numbers)), float(np.fmax.reduce(numbers))
        if np.isnan(low):
            return None
        is_binary = {low, high} <= {0.0, 1.0} and not _fractions(numbers).any()
        return cls(low, high, is_binary, _run(numbers, counts, high - low + 1))

    @classmethod
    def of_levels(cls, levels: Levels) -> Self | None:
        """Return the summary of numbers as levels, or None if they are of another kind."""
        return cls.of(numbers_of(levels.values), levels.counts)

    @classmethod
    def merge(cls, extents: Sequence[Self]) -> Self:
        """Return the summary of all rows."""
        runs = [extent.run for extent in extents if extent.run is not None]
        count, total = (sum(numbers) for numbers in zip((0, 0), *runs))
        return cls(
            min(extent.low for extent in extents),
            max(extent.high for extent in extents),
            all(extent.is_binary for extent in extents),
            (count, total % _HASHES) if len(runs) == len(extents) else None,
        )

    def are_consecutive(self) -> bool:
        """Return whether these are many consecutive integers, each once and none missing."""
        if self.run is None:
            return False
        count, total = self.run
        return count >= SHORTEST_RUN and count == self.high - self.low + 1 and total == self._sum()

    def _sum(self) -> int:
        """Return the sum of the hashes of all integers from the lowest to the highest."""
        steps = range(0, int(self.high - self.low) + 1, _RUN_BLOCK)
        blocks = (np.arange(step, min(step + _RUN_BLOCK, steps.stop)) for step in steps)
        return sum(_hash_sum(self.low + block) for block in blocks) % _HASHES

    def is_one(self) -> bool:
        """Return whether all values are equal."""
        return self.low == self.high

    def examples(self) -> list[Any]:
        """Return some of the values."""
        return [self.low]


def _fractions(numbers: Array) -> Array:
    """Return whether each of numbers from 0 to 1 is neither 0, 1 nor missing."""
    known = numbers[numbers == numbers]
    return np.asarray(known * known != known)


def _run(numbers: Array, counts: Ints | None, width: float) -> tuple[int, int] | None:
    count = len(numbers) if counts is None else int(counts.sum())
    if width < count or not (are_whole(numbers[:100]) and are_whole(numbers)):
        return None
    return count, _hash_sum(numbers, counts)


def _hash_sum(numbers: Array, counts: Ints | None = None) -> int:
    hashes = hash_cells(numbers)
    return int((hashes if counts is None else hashes * counts.astype(np.uint64)).sum())


class Seconds(Numbers):
    """Durations in seconds."""

    @classmethod
    def of_levels(cls, levels: Levels) -> Self | None:
        """Return the summary of durations as levels, or None if they are of another kind."""
        return cls.of(seconds_of(levels.values))

    def examples(self) -> list[Any]:
        """Return some of the values."""
        return [timedelta(seconds=self.low)]


@dataclass(frozen=True)
class Moments:
    """Dates and times of which at least one is not missing.

    * `first`, `last`: in microseconds since 1970.
    * `ranges`: lowest and highest value of each part of the dates.
    """

    first: int
    last: int
    ranges: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, moments: Ints | None) -> Self | None:
        """Return the summary of microseconds since 1970, or None if all are missing."""
        known = moments if moments is None else moments[moments != NAT]
        if known is None or not len(known):
            return None
        ranges = {name: _range(values) for name, values in calendar(known).items()}
        return cls(*_range(known), ranges)

    @classmethod
    def of_levels(cls, levels: Levels) -> Self | None:
        """Return the summary of dates as levels, or None if they are of another kind."""
        return cls.of(moments_of(levels.values))

    @classmethod
    def merge(cls, extents: Sequence[Self]) -> Self:
        """Return the summary of all rows."""
        ranges = {}
        for name in extents[0].ranges:
            low, high = zip(*(extent.ranges[name] for extent in extents))
            ranges[name] = min(low), max(high)
        return cls(
            min(extent.first for extent in extents), max(extent.last for extent in extents), ranges
        )

    def varying(self) -> list[str]:
        """Return the parts of the dates that differ, beyond the number of days."""
        years = np.array([self.first, self.last]).astype("M8[us]").astype("M8[Y]")
        names = [name for name, (low, high) in self.ranges.items() if low < high]
        # Within a year, the day of the year is the number of days since the first.
        return [name for name in names if name != "dayofyear" or years[0] < years[1]]

    def is_one(self) -> bool:
        """Return whether all values are equal."""
        return self.first == self.last

    def examples(self) -> list[Any]:
        """Return some of the values."""
        return np.array([self.first]).astype("M8[us]").tolist()


def _range(values: Ints) -> tuple[int, int]:
    return int(values.min()), int(values.max())


@dataclass(frozen=True)
class Levels:
    """Values of any type, of which at least one is not missing.

    * `values`: those that occur. Some may be equal to each other.
    * `counts`: number of rows of each.
    * `is_category`: whether they come from a type for categories, in which numbers are names.
    """

    values: list[Any]
    counts: Ints
    is_category: bool

    @classmethod
    def of(cls, column: Coded) -> Self | None:
        """Return the summary of a column, or None if all its values are missing."""
        codes, values = column.codes, column.listed()
        known = codes[codes >= 0] if (codes < 0).any() else codes
        if not len(known):
            return None
        counts = np.bincount(known, minlength=len(values))
        if not counts.all():
            values = [value for value, count in zip(values, counts.tolist()) if count]
            counts = counts[counts > 0]
        return cls(values, counts, hasattr(column.levels, "take"))

    @classmethod
    def merge(cls, extents: Sequence[Self]) -> Self:
        """Return the summary of all rows."""
        counts: dict[Any, int] = {}
        for extent in extents:
            for value, count in zip(extent.values, extent.counts.tolist()):
                counts[value] = counts.get(value, 0) + count
        is_category = all(extent.is_category for extent in extents)
        return cls(list(counts), np.array(list(counts.values())), is_category)

    def is_one(self) -> bool:
        """Return whether all values are equal."""
        return all(value == self.values[0] for value in self.values)

    def all_are(self, *types: type) -> bool:
        """Return whether all values are of given types."""
        return all(isinstance(value, types) for value in self.values)

    def examples(self) -> list[Any]:
        """Return some of the values."""
        return self.values


Extent = Numbers | Moments | Levels


@dataclass(frozen=True)
class Summary:
    """Some rows of a column.

    * `extents`: extent of the values of each type; partitions of a table may have different types.
    * `has_missing`: whether a value is missing; in an array, only if the others are equal.
    * `is_qid`: whether the values are the queries of the rows.
    """

    extents: dict[Any, Any]
    has_missing: bool
    is_qid: bool = False

    @classmethod
    def of(cls, values: Values, is_qid: bool = False) -> Self:
        """Return the summary of values; raise TypeError if one has no hash."""
        extent: Extent | None
        if not isinstance(values, np.ndarray):
            column = coded(values)
            extent, has_missing = Levels.of(column), bool((column.codes < 0).any())
        else:
            extent = _of_array(values)
            has_missing = extent is None or (extent.is_one() and bool((values != values).any()))
        return cls({} if extent is None else {type(extent): extent}, has_missing, is_qid)

    @classmethod
    def merge(cls, summaries: Sequence[Self]) -> Self:
        """Return the summary of all rows."""
        extents: dict[Any, list[Any]] = {}
        for summary in summaries:
            for kind, extent in summary.extents.items():
                extents.setdefault(kind, []).append(extent)
        return cls(
            {kind: kind.merge(of_kind) for kind, of_kind in extents.items()},
            any(summary.has_missing for summary in summaries),
            all(summary.is_qid for summary in summaries),
        )

    def extent(self) -> Extent | None:
        """Return the extent of all values, None without one; raise TypeError if types differ."""
        if len(self.extents) < 2:
            return next(iter(self.extents.values()), None)
        kind, *others = (kind for kind in self.extents if kind is not Levels)
        levels: Any = None if others else kind.of_levels(self.extents[Levels])
        if levels is None:
            raise TypeError
        return kind.merge([self.extents[kind], levels])

    def examples(self) -> list[Any]:
        """Return values of each type."""
        return [value for extent in self.extents.values() for value in extent.examples()]


def _of_array(values: Array) -> Numbers | Moments | None:
    if values.dtype.kind == "M":
        return Moments.of(moments_of(values))
    return Seconds.of(seconds_of(values)) if values.dtype.kind == "m" else Numbers.of(values)
