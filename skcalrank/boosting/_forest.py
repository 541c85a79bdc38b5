"""Boosted trees of every library as arrays, and their scores without the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.types import Floats, Ints, Self

# Leaves that are looked up at once, which bounds the memory.
_AT_ONCE = 1 << 20


class Forest:
    """Trees whose leaves are summed, with a constant, in double precision.

    A row goes below a split if its value is at most the threshold, or if its code is among the
    codes of the split. Missing values go where the split says. Splits and leaves of all trees are
    numbered together; where a split leads to is the number of a split, or ``-1 - k`` for leaf k.

    * `roots`: first split, or only leaf, of each tree.
    * `features`: column that each split reads.
    * `thresholds`: threshold of each split, 0 for splits of codes.
    * `codes`: codes that go below, for splits of categories; -1 is that of all unseen levels.
    * `below`, `above`: where each split leads to.
    * `missing_below`: whether missing values go below.
    * `values`: values of the leaves.
    * `constant`: what is added to them.
    * `is_single`: whether the library adds up the leaves in single precision, one tree after the
      other.
    * `weight`: factor of the sum.
    """

    def __init__(
        self,
        roots: list[int],
        features: list[int],
        thresholds: list[float],
        codes: dict[int, list[int]],
        below: list[int],
        above: list[int],
        missing_below: list[bool],
        values: list[float],
        constant: float = 0.0,
        is_single: bool = False,
        weight: float = 1.0,
    ) -> None:
        self.roots, self.features, self.thresholds = roots, features, thresholds
        self.codes, self.below, self.above = codes, below, above
        self.missing_below, self.values = missing_below, values
        self.constant, self.is_single, self.weight = constant, is_single, weight
        # As arrays; the codes of a split are flags, which begin at its place.
        self._roots = np.array(roots, dtype=np.intp)
        self._features = np.array(features, dtype=np.intp)
        self._thresholds = np.array(thresholds)
        self._ways = np.array([above, below], dtype=np.intp).T.ravel()  # where false and true lead
        self._missing_below = np.array(missing_below, dtype=bool)
        self._values = np.array(values)
        self._is_coded = np.zeros(len(features), dtype=bool)
        self._is_coded[list(codes)] = True
        self._width = 1 + max((max(of_split, default=0) for of_split in codes.values()), default=0)
        self._flags = np.zeros((len(codes) + 1, self._width + 2), dtype=bool)
        self._place = np.full(len(features), len(codes))
        for place, (split, of_split) in enumerate(codes.items()):
            self._place[split] = place
            self._flags[place, np.array(of_split, dtype=int) + 1] = True

    def of_rows(self, matrix: Floats) -> Floats:
        """Return the scores of the rows of a matrix."""
        n_rows = max(1, _AT_ONCE // max(1, len(self.roots)))
        parts = [
            self._sums(self._values[self._leaves(matrix[start : start + n_rows])])
            for start in range(0, len(matrix), n_rows)
        ]
        return self.weight * (self.constant + np.concatenate(parts or [np.zeros(0)]))

    def _sums(self, leaves: Floats) -> Any:
        if not self.is_single:
            return leaves.sum(axis=1)
        return leaves.astype(np.float32).cumsum(axis=1, dtype=np.float32)[:, -1].astype(float)

    def _leaves(self, matrix: Floats) -> Ints:
        """Return the number of the leaf of each row in each tree."""
        at = np.tile(self._roots, (len(matrix), 1)).ravel()
        rows = np.repeat(np.arange(len(matrix)), len(self.roots))
        moving = np.flatnonzero(at >= 0)
        while len(moving):
            splits = at[moving]
            x = matrix[rows[moving], self._features[splits]]
            is_coded, missing = self._is_coded[splits], np.isnan(x)
            is_below = x <= self._thresholds[splits]
            if is_coded.any():
                codes = np.where(missing | ~is_coded, 0, x).astype(np.intp)
                codes = np.minimum(codes, self._width) + 1
                is_below = np.where(is_coded, self._flags[self._place[splits], codes], is_below)
            is_below = np.where(missing, self._missing_below[splits], is_below)
            at[moving] = self._ways[2 * splits + is_below]
            moving = moving[at[moving] >= 0]
        return -1 - at.reshape(len(matrix), -1)

    def to_dict(self) -> dict[str, Any]:
        """Return the trees as plain Python types."""
        return {
            "weight": self.weight,
            "constant": self.constant,
            "single": self.is_single,
            "roots": self.roots,
            "features": self.features,
            "thresholds": self.thresholds,
            "codes": [self.codes.get(split) for split in range(len(self.features))],
            "below": self.below,
            "above": self.above,
            "missing_below": self.missing_below,
            "values": self.values,
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return the trees that :meth:`to_dict` has written."""
        names = ("roots", "features", "thresholds", "below", "above", "missing_below", "values")
        codes = {k: of_split for k, of_split in enumerate(written["codes"]) if of_split is not None}
        return cls(
            **{name: written[name] for name in names},
            codes=codes,
            constant=written["constant"],
            is_single=written["single"],
            weight=written["weight"],
        )


class Forests:
    """The sum of forests, with the interface of :class:`TreeScores`."""

    def __init__(self, forests: list[Forest]) -> None:
        self.forests = forests
        columns = [column for forest in forests for column in forest.features]
        self.n_columns = 1 + max(columns, default=-1)  # that the trees read

    def of_rows(self, matrix: Floats, n_jobs: int | None = None) -> Floats:
        """Return the scores of validated rows."""
        del n_jobs  # numpy takes one thread
        scores: Floats = np.sum([forest.of_rows(matrix) for forest in self.forests], axis=0)
        return scores

    def contributions(self, matrix: Floats, n_jobs: int | None = None) -> Floats:
        """Raise ValueError: what was written has no numbers of rows, which SHAP values need."""
        del matrix, n_jobs
        raise ValueError(
            "Contributions need the ranker itself, got trees that were read from a dict, which "
            "does not have the numbers of rows of their leaves."
        )

    def written(self) -> Forests:
        """Return the trees as arrays, which these are."""
        return self

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the forests as plain Python types."""
        return [forest.to_dict() for forest in self.forests]

    @classmethod
    def from_dict(cls, written: list[dict[str, Any]]) -> Self:
        """Return the forests that :meth:`to_dict` has written."""
        return cls([Forest.from_dict(forest) for forest in written])
