"""Tables of votes between two items: who met whom, and how it ended."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays, tables
from ..columns.types import Array, Bools, Floats, Ints, Self
from ..data import check
from ._click_log import identifiers, numbers_in, plain_name, refuse_twins

# Results of the first item that words mean; in outcomes= only the sides and a tie count.
_SIDES = {"a": 1.0, "b": 0.0, "tie": 0.5}
_WORDS: dict[Any, float] = {
    **dict.fromkeys(("model_a", "a", "left", "true", 1), 1.0),
    **dict.fromkeys(("model_b", "b", "right", "false", 0), 0.0),
    **dict.fromkeys(("tie", "draw", "tie (bothbad)", "both_bad", "bothbad", 0.5), 0.5),
}
_ABOUT_WORDS = "model_a, a, left, 1; model_b, b, right, 0; tie, draw, both_bad, 0.5; or its name"

# Unknown words that a message lists.
_MOST_WORDS = 20


class Votes(NamedTuple):
    """Votes by the numbers of two items, and the result of the first: 1, 0, or 1/2 for a tie."""

    items: Array
    first: Ints
    second: Ints
    result: Floats

    @classmethod
    def read(
        cls,
        table: Any,
        a: str,
        b: str,
        outcome: str,
        outcomes: Mapping[Any, str] | None,
        name: str = "frame",
    ) -> Self:
        """Read the columns of two items and of the outcome."""
        if not isinstance(outcomes, Mapping | None):
            raise ValueError(
                "outcomes must be a dict of words, such as {'left': 'a', 'right': 'b'}, got "
                f"{outcomes!r}."
            )
        items, first, second = paired_items(table, a, b, name)
        same = first == second
        if same.any():
            row = int(np.argmax(same))
            raise ValueError(
                f"Columns {a!r} and {b!r} of {name} must hold different items, got "
                f"{items[first[row]]!r} in both in row {row} ({same.sum()} such rows): drop them."
            )
        words = identifiers(table, outcome, name, distinct=False)
        result = _results(words, items, first, second, dict(outcomes or {}))
        if np.isnan(result).any():
            raise ValueError(
                f"Column {outcome!r} of {name} must say which item won, got "
                f"{_listed(words, np.isnan(result))}. Known are {_ABOUT_WORDS}. Name others: "
                f"outcomes={{{words.listed()[words.codes[np.argmax(np.isnan(result))]]!r}: 'a', "
                "...}, of 'a', 'b' and 'tie'."
            )
        return cls(items, first, second, result)

    def where(self, rows: Bools) -> Self:
        """Return some of the votes, and their items."""
        met = _met(self.items, self.first[rows], self.second[rows])
        return type(self)(*met, self.result[rows])


def _met(items: Array, first: Ints, second: Ints) -> tuple[Array, Ints, Ints]:
    """Return the items that have met others, and their new numbers."""
    n = len(items)
    met = np.bincount(first, minlength=n) + np.bincount(second, minlength=n) > 0
    number = np.cumsum(met) - 1
    return items[met], number[first], number[second]


def paired_items(table: Any, a: str, b: str, name: str = "frame") -> tuple[Array, Ints, Ints]:
    """Return the names of the items of two columns, sorted, and the items of each row."""
    sides = [identifiers(table, column, name) for column in (a, b)]
    levels = [side.listed() for side in sides]
    items = dict.fromkeys([*levels[0], *levels[1]])
    refuse_twins(items, "Items", {})
    names, numbers = np.unique(np.array(list(map(str, items)), object), return_inverse=True)
    items = dict(zip(items, numbers))
    first, second = (np.array([items[level] for level in side], np.intp) for side in levels)
    # Categories of pandas may hold names of no row.
    return _met(names, first[sides[0].codes], second[sides[1].codes])


def finite_numbers(table: Any, column: str, name: str = "frame") -> Floats:
    """Return the numbers of a column, all of which must be finite."""
    numbers = np.asarray(numbers_in(table, column, "numbers", name=name), dtype=np.float64)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Column {column!r} of {name} must hold finite numbers, got {numbers[row]} in row "
            f"{row} ({wrong.sum()} such rows): drop them, as dropna(subset=[{column!r}]) does."
        )
    return numbers


def _results(
    words: tables.Coded, items: Array, first: Ints, second: Ints, own: dict[Any, str]
) -> Floats:
    """Return the result of each vote, NaN where its outcome is not known."""
    for side in own.values():
        check.option("outcomes", side, _SIDES)
    listed = words.listed()
    plain = [*map(_plain, listed)]
    own = {**{_plain(word): side for word, side in own.items()}, **own}
    sides = [own.get(word, own.get(key, "")) for word, key in zip(listed, plain)]
    number = {item: k for k, item in enumerate(items)}
    names = np.array([number.get(str(word), -1) for word in listed], np.intp)
    others = (key for key, side in zip(plain, sides) if not side)
    if (names >= 0).any() and not {*_SIDES.values()}.issuperset(others):
        # Beside names of items, a number that is text is one of them, and no side.
        plain = [key if isinstance(key, str) else word for word, key in zip(listed, plain)]
    of_level = [_SIDES.get(side, _WORDS.get(key, np.nan)) for side, key in zip(sides, plain)]
    result, named = np.array(of_level)[words.codes], names[words.codes]
    if (named < 0).all():
        return result
    by_name = np.where(named == first, 1.0, np.where(named == second, 0.0, np.nan))
    for level in np.unique(words.codes[(named >= 0) & ~np.isnan(result)]):
        word, rows = listed[level], words.codes == level
        differ = rows & (by_name != result)
        if not sides[level] and differ.any() and not np.isnan(by_name[rows]).any():
            raise ValueError(
                f"Outcome {word!r} is the name of an item and of a side, which differ in row "
                f"{int(np.argmax(differ))}: give the item another name, or say which side is "
                f"meant, outcomes={{{word!r}: 'a', ...}}."
            )
    return np.where(np.isnan(result), by_name, result)


def _plain(word: Any) -> str | float:
    """Return a word in small letters, without blanks around it; a number for the text of one."""
    text = str(plain_name(word)).strip().lower()
    return float(text) if arrays.is_number(text) else text


def _listed(words: tables.Coded, which: Bools) -> str:
    """Return some outcomes with their numbers of rows."""
    counts = np.bincount(words.codes[which], minlength=len(words.listed()))
    shown = [f"{word!r} ({n} rows)" for word, n in zip(words.listed(), counts) if n]
    return ", ".join(shown[:_MOST_WORDS] + ["..."] * (len(shown) > _MOST_WORDS))
