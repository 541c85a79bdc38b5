"""What the libraries write of their trees, read as forests."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..columns.types import Floats
from ..preprocessing import Category, read_by_trees
from ._forest import Forest

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


def constant_of(
    forest: Forest, n_columns: int, categories: Categories, predict: Callable[[Floats], Floats]
) -> float:
    """Return the constant that the library adds to the trees; raise unless it adds up the trees."""
    rows = _made_rows(forest, n_columns, {k: of.n_codes for k, of in categories.items()})
    with warnings.catch_warnings():
        # A model that was fitted to a data frame warns of rows without names.
        warnings.simplefilter("ignore")
        expected = predict(read_by_trees(rows, categories))
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
