"""Boosted trees of every library as arrays, and their scores without the library."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..columns.types import Array, Bools, Floats, Ints, Self
from ..preprocessing import Category, read_by_trees

# Leaves that are looked up at once, which bounds the memory.
_AT_ONCE = 1 << 20

_NONE = np.zeros(0)

# What is written of a forest beside its numbers, in this order.
_WRITTEN = (
    *("roots", "features", "thresholds", "codes"),
    *("below", "above", "missing_below", "values"),
)


@dataclass(eq=False, repr=False)
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
    * `in_order`: whether the library adds up the constant and the leaves one after the other, in
      double precision.
    * `counts`: numbers of rows of fit at the splits and at the leaves, for contributions.
    """

    roots: Any
    features: Any
    thresholds: Any
    codes: dict[int, list[int]]
    below: Any
    above: Any
    missing_below: Any
    values: Any
    constant: float = 0.0
    is_single: bool = False
    weight: float = 1.0
    in_order: bool = False
    counts: tuple[Array, Array] = (_NONE, _NONE)

    def __post_init__(self) -> None:
        # As arrays; the codes of a split are flags, which begin at its place.
        self._roots = np.array(self.roots, dtype=np.intp)
        self._features = np.array(self.features, dtype=np.intp)
        self._thresholds = np.array(self.thresholds, dtype=float)
        #: Where false and true lead at each split, one after the other.
        self.ways = np.array([self.above, self.below], dtype=np.intp).T.ravel()
        self._missing_below = np.array(self.missing_below, dtype=bool)
        self._values = np.array(self.values, dtype=float)
        self._is_coded = np.zeros(len(self._features), dtype=bool)
        self._is_coded[list(self.codes)] = True
        largest = (max(of_split, default=0) for of_split in self.codes.values())
        self._width = 1 + max(largest, default=0)
        self._flags = np.zeros((len(self.codes) + 1, self._width + 2), dtype=bool)
        self._place = np.full(len(self._features), len(self.codes))
        for place, (split, of_split) in enumerate(self.codes.items()):
            self._place[split] = place
            self._flags[place, np.array(of_split, dtype=int) + 1] = True

    @classmethod
    def of_nodes(
        cls,
        roots: Ints,
        nodes: dict[str, Any],
        codes: Mapping[int, list[int]] = MappingProxyType({}),
        **options: Any,
    ) -> Self:
        """Return the trees of which scikit-learn numbers splits and leaves together.

        * `nodes`: arrays that tell whether a node `is_leaf`, its `left` and `right` child,
          `feature` and `threshold`, whether missing values go to the left, `value` and `count`.
        * `codes`: those that go to the left, by the number of the node.
        """
        is_leaf, splits = nodes["is_leaf"], ~nodes["is_leaf"]
        number = np.where(is_leaf, -np.cumsum(is_leaf, dtype=np.intp), np.cumsum(splits) - 1)
        of_splits = {name: values[splits] for name, values in nodes.items()}
        return cls(
            number[roots],
            of_splits["feature"],
            of_splits["threshold"],
            {int(number[node]): of_node for node, of_node in codes.items()},
            number[of_splits["left"]],
            number[of_splits["right"]],
            of_splits["missing_left"],
            nodes["value"][is_leaf],
            counts=(of_splits["count"], nodes["count"][is_leaf]),
            **options,
        )

    def of_rows(self, matrix: Floats) -> Floats:
        """Return the scores of the rows of a matrix."""
        n_rows = max(1, _AT_ONCE // max(1, len(self._roots)))
        starts = range(0, len(matrix), n_rows)
        leaves = (self._leaves(matrix[start : start + n_rows]) for start in starts)
        parts = [self._sums(self._values[of_rows]) for of_rows in leaves]
        return self.weight * (parts[0] if len(parts) == 1 else np.concatenate([_NONE, *parts]))

    def _sums(self, leaves: Floats) -> Any:
        if self.in_order:  # `sum` would add in another order
            levels = np.full((len(leaves), 1), self.constant)
            return np.cumsum(np.hstack([levels, leaves]), axis=1)[:, -1]
        if self.is_single:
            sums = leaves.astype(np.float32).cumsum(axis=1, dtype=np.float32)[:, -1]
            return self.constant + sums.astype(float)
        return self.constant + leaves.sum(axis=1)

    def _leaves(self, matrix: Floats) -> Ints:
        """Return the number of the leaf of each row in each tree."""
        cells, some_missing = matrix.ravel(), bool(np.isnan(matrix).any())
        start = np.repeat(np.arange(len(matrix)) * matrix.shape[1], len(self._roots))
        at = np.tile(self._roots, len(matrix))
        moving = np.flatnonzero(at >= 0)
        while len(moving):
            splits = at[moving]
            x = cells[start[moving] + self._features[splits]]
            to = self.ways[2 * splits + self._is_below(x, splits, some_missing)]
            at[moving] = to
            moving = moving[to >= 0]
        return -1 - at.reshape(len(matrix), -1)

    def _is_below(self, x: Floats, splits: Any, some_missing: bool) -> Bools:
        """Return whether splits send values below, given those that each of them reads."""
        is_below = x <= self._thresholds[splits]
        missing = np.isnan(x) if some_missing else None
        if self.codes:
            coded = np.flatnonzero(self._is_coded[splits])
            codes = np.nan_to_num(x[..., coded]) if some_missing else x[..., coded]
            codes = np.minimum(codes, self._width).astype(np.intp) + 1
            is_below[..., coded] = self._flags[self._place[splits][coded], codes]
        if missing is not None:
            is_below = np.where(missing, self._missing_below[splits], is_below)
        return is_below

    def ways_of(self, matrix: Floats) -> Bools:
        """Return whether each split sends the rows below, of shape (n_rows, n_splits)."""
        return self._is_below(matrix.take(self._features, axis=1), slice(None), True)

    def to_dict(self) -> dict[str, Any]:
        """Return the trees as plain Python types."""
        codes = [self.codes.get(split) for split in range(len(self.features))]
        numbers = {"weight": self.weight, "constant": self.constant, "single": self.is_single}
        return numbers | {name: getattr(self, name) for name in _WRITTEN} | {"codes": codes}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return the trees that :meth:`to_dict` has written."""
        codes = {k: of_split for k, of_split in enumerate(written["codes"]) if of_split is not None}
        parts = {name: written[name] for name in ("weight", "constant", *_WRITTEN)}
        return cls(**parts | {"codes": codes}, is_single=written["single"])


# Tolerance of the check that trees add up to the scores of the library, relative to the largest.
_TOLERANCE = 1e-5

_LARGEST = float(np.finfo(np.float64).max)


class Split(NamedTuple):
    """A split as a library has it: its column, what goes below, and the nodes that it leads to."""

    feature: int
    below_if: float | list[int]  # threshold, or codes
    below: Any
    above: Any
    missing_below: bool


Read: TypeAlias = Callable[[Any], Split | float]
Categories: TypeAlias = Mapping[int, Category]


def grown(roots: list[Any], read: Read, categories: Categories, **options: Any) -> Forest:
    """Return the trees of which `read` returns a split or the value of a leaf, given a node."""
    splits: list[Split] = []
    values: list[float] = []

    def place(node: Any) -> int:
        split = read(node)
        if not isinstance(split, Split):
            values.append(float(split))
            return -len(values)
        number = len(splits)
        splits.append(split)
        below, above = place(split.below), place(split.above)
        splits[number] = split._replace(below=below, above=above)
        return number

    starts = [place(root) for root in roots]
    columns: Any = ([split[k] for split in splits] for k in range(5))
    features, conditions, below, above, missing_below = columns
    coded = {k: of_split for k, of_split in enumerate(conditions) if type(of_split) is list}
    for k, codes in coded.items():
        read_as = categories[features[k]]
        coded[k], missing_below[k] = coded_as_written(codes, missing_below[k], read_as)
    limits = [0.0 if k in coded else finite(of_split) for k, of_split in enumerate(conditions)]
    return Forest(starts, features, limits, coded, below, above, missing_below, values, **options)


def coded_as_written(
    below: list[int], unseen_below: bool, category: Category
) -> tuple[list[int], bool]:
    """Return the codes of a table that go below, and whether missing ones do.

    `below` has them as trees read them, which may have a code for missing ones.
    """
    shift = category.has_missing
    codes = [code - shift for code in below if code >= shift] + [-1] * unseen_below
    return codes, 0 in below if shift else unseen_below


def finite(threshold: Any) -> float:
    """Return a threshold that every format can write."""
    return float(np.clip(threshold, -_LARGEST, _LARGEST))


def quietly(call: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a call; a model of a data frame would warn of rows without names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)


def constant_of(
    forest: Forest, n_columns: int, categories: Categories, predict: Callable[[Floats], Floats]
) -> float:
    """Return the constant that the library adds to the trees; raise unless it adds up the trees."""
    rows = _made_rows(forest, n_columns, {k: of.n_codes for k, of in categories.items()})
    expected = quietly(predict, read_by_trees(rows, categories))
    sums = forest.of_rows(rows)
    rest = expected - sums
    if np.ptp(rest) > _TOLERANCE * max(1e-30, np.abs(expected).max(), np.abs(sums).max()):
        raise ValueError(
            "The trees do not add up to the scores of the library, as those of booster='dart' of "
            "XGBoost: export its own format with to_engine."
        )
    # Sums in single precision that begin at 0 are those of the library.
    return 0.0 if forest.is_single and not rest.any() else float(rest.mean())


def _made_rows(forest: Forest, n_columns: int, n_codes: Mapping[int, int]) -> Floats:
    """Return rows on both sides of the thresholds, and with every code."""
    n_rows = max(4, *n_codes.values()) if n_codes else 4
    sizes = np.ones(n_columns)
    # Infinite values would give NaN.
    np.maximum.at(sizes, forest.features, np.minimum(np.abs(forest.thresholds), 1e18))
    rows = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    rows[1:] *= sizes
    rows = rows.astype(np.float32).astype(float)
    for feature, number in n_codes.items():
        rows[:, feature] = np.arange(n_rows) % max(number, 1)
    return rows
