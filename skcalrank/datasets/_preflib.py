"""Orders in files of PrefLib."""

import re
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..columns.types import Floats
from ..data import warn
from ._container import LabelRankingData
from ._files import LARGE_BYTES, text_lines, without_packing

_TYPES = ("soc", "soi", "toc", "toi")
_OTHER_TYPES = ("cat", "mjg", "pwg", "tog", "wmd", "wmg")
_NUMBER = r"[0-9]{1,18}"
_HEADER = re.compile(rf"#+\s*([A-Z][A-Z ]*?)(?: ({_NUMBER}))?\s*:\s*(.*)")
_GROUP = rf"(?:{_NUMBER}|\{{{_NUMBER}(?:,{_NUMBER})*\}})"
_LINE = re.compile(rf"({_NUMBER}):({_GROUP}(?:,{_GROUP})*)")


def load_preflib(path: str | Path, *, expand: bool = True) -> LabelRankingData:
    r"""Read the orders of a PrefLib file: ``.soc``, ``.soi``, ``.toc`` or ``.toi``.

    In the format of 2022, header lines ``# KEY: value`` come before lines ``count: order``
    with the numbers of the alternatives, best first, and ties in braces, such as
    ``12: 3,{1,4},2``. Blank lines and other comments are skipped.

    Alternatives are numbered from 1, or from 0 where one has the number 0.

    An alternative that an order leaves out is NaN: it was not compared with any other one, and
    does not count as worse than the ranked alternatives.

    Parameters
    ----------
    path : str or Path
        Plain text, or compressed as ``.gz``, ``.bz2`` or ``.xz``.
    expand : bool, default=True
        Whether there is one row for every voter. False gives one row for every line; the
        counts are ``data.weights``, to be passed as ``sample_weight``.

    Returns
    -------
    data : LabelRankingData
        Unpacks to ``X, positions``. There are no features: X is a column of ones, on which a
        ranker learns one consensus order. The name of an alternative without
        one in the header is its number.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a line is malformed (it is named), the header says something twice, gives two
        alternatives one name or names one that is not there, the orders with `expand` do not
        reasonably fit into memory, or an order ranks an alternative twice or one
        that is not there, or breaks what the data type promises: no ties in ``.soc`` and ``.soi``,
        complete orders in ``.soc`` and ``.toc``.

    Warns
    -----
    UserWarning
        If the counts do not sum to the number of voters in the header, as in a file that was
        cut off or edited.

    Examples
    --------
    The consensus that disagrees least with the voters (Kemeny's rule) is the exact prediction
    map on their mean preferences:

    >>> import pathlib, tempfile
    >>> from skcalrank import PairwiseDisagreementRanker, PreferenceTarget
    >>> from skcalrank.datasets import load_preflib
    >>> lines = ["# ALTERNATIVE NAME 1: tea", "# ALTERNATIVE NAME 2: coffee", "3: 1,2", "2: 2,1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "drinks.soc")
    ...     _ = file.write_text("\n".join(lines))
    ...     X, positions = data = load_preflib(file)
    >>> positions.shape, data.item_names
    ((5, 2), ['tea', 'coffee'])
    >>> ranker = PairwiseDisagreementRanker(surrogate="pairwise", pred="exact")
    >>> ranker.fit(X, PreferenceTarget.from_orders(positions)).rank(X[:1])
    array([[1, 2]])
    """
    path = Path(path)
    lines = list(_lines(path))
    header, names = _read_header(lines)
    data_type = _data_type(path, header.get("DATA TYPE"))
    counts, orders = _read_orders(path, lines)
    known = _alternatives(path, header.get("NUMBER ALTERNATIVES"), names, orders)
    _check_names(path, names, known)
    _check_sizes(path, counts, len(known), expand)
    for where, groups in orders:
        _check_order(where, groups, data_type, known)
    n_voters = header.get("NUMBER VOTERS", sum(counts))
    if n_voters != sum(counts):
        warn(
            f"{path.name} has the orders of {sum(counts)} voters, its header says "
            f"{n_voters}: it may have been cut off or edited."
        )
    positions = _positions(orders, known)
    positions = np.repeat(positions, counts, axis=0) if expand else positions
    return LabelRankingData(
        np.ones((len(positions), 1)),
        positions,
        item_names=[names.get(number, str(number)) for number in known],
        feature_names=["constant"],
        weights=None if expand else np.array(counts, dtype=float),
        description=f"{header.get('TITLE') or 'Orders'}, read from {path.name}.",
    )


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the places and the text of lines of the header and of orders."""
    for number, line in text_lines(path):
        text = line.strip()
        if text and (not text.startswith("#") or _HEADER.fullmatch(text)):
            yield f"{path.name}, line {number}", text


def _read_header(lines: list[tuple[str, str]]) -> tuple[dict[str, Any], dict[int, str]]:
    """Return the values of the header by key, and the names of the alternatives."""
    values: dict[str, Any] = {}
    names: dict[int, str] = {}
    for where, line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            continue
        key, number, value = match.groups()
        into: tuple[Any, Any] = (values, key)
        if key == "ALTERNATIVE NAME" and number and value:
            into, key = (names, int(number)), f"{key} {number}"
        elif key in ("NUMBER ALTERNATIVES", "NUMBER VOTERS"):
            if not re.fullmatch(_NUMBER, value):
                raise ValueError(f"{where}: {key} is {value!r}, not a whole number.")
            value = int(value)
        elif key not in ("TITLE", "DATA TYPE"):
            continue
        known, name = into
        if name in known:
            raise ValueError(f"{where}: the header has {key} a second time.")
        known[name] = value
    return values, names


def _data_type(path: Path, said: str | None) -> str | None:
    """Return the data type in the header, else that of the file name, else None."""
    kind = (said or without_packing(path).suffix.lstrip(".")).lower()
    if kind in _OTHER_TYPES or (said and kind not in _TYPES):
        raise ValueError(
            f"{path.name} has the data type {kind!r}: this reads orders, {', '.join(_TYPES)}."
        )
    return kind if kind in _TYPES else None


def _read_orders(path: Path, lines: list[tuple[str, str]]) -> tuple[Any, ...]:
    """Return the counts, and the orders with their places in the file."""
    counts, orders = [], []
    for where, line in lines:
        if line.startswith("#"):
            continue
        match = _LINE.fullmatch("".join(line.split()))
        if match is None or int(match[1]) == 0:
            shown = line if len(line) <= 60 else line[:57] + "..."
            raise ValueError(
                f"{where} is {shown!r}: after the header every line is 'count: order', "
                "such as '12: 3,{1,4},2' (the format of PrefLib since 2022)."
            )
        listed = ("".join(of) for of in re.findall(r"\{([\d,]+)\}|(\d+)", match[2]))
        groups = [list(map(int, group.split(","))) for group in listed]
        counts.append(int(match[1]))
        orders.append((where, groups))
    if not orders:
        raise ValueError(f"{path} has no orders.")
    return counts, orders


def _alternatives(path: Path, said: int | None, names: dict[int, str], orders: Any) -> range:
    """Return the alternatives, as many as the header says, or up to the largest."""
    numbers = {*names, *(item for _, groups in orders for group in groups for item in group)}
    first = 0 if 0 in numbers else 1
    r = max(numbers) + 1 - first if said is None else said
    if r < 2:
        raise ValueError(f"{path} has {r} alternatives: there is nothing to rank below 2.")
    return range(first, first + r)


def _check_names(path: Path, names: dict[int, str], known: range) -> None:
    number_of: dict[str, int] = {}
    for number, name in names.items():
        if number not in known:
            raise ValueError(
                f"{path.name} names alternative {number} ({name!r}), but there are {len(known)}, "
                f"from {known[0]}."
            )
        if number_of.setdefault(name, number) != number:
            raise ValueError(
                f"{path.name} calls alternatives {number_of[name]} and {number} by one name, "
                f"{name!r}."
            )


def _check_sizes(path: Path, counts: list[int], r: int, expand: bool) -> None:
    """Raise for arrays that would fill the memory, before they are made."""
    # A name and the number of a column take some 200 bytes.
    if r * (8 * len(counts) + 200) > LARGE_BYTES:
        raise ValueError(
            f"{path.name} has {r} alternatives, too many for the {len(counts)} orders in it: see "
            "NUMBER ALTERNATIVES of its header, and the numbers in its orders."
        )
    if expand and 8 * r * sum(counts) > LARGE_BYTES:
        raise ValueError(
            f"{path.name} has the orders of {sum(counts)} voters, which take "
            f"{8 * r * sum(counts) / 2**30:.1f} GiB with a row each: pass expand=False for one "
            "row a line, with weights."
        )


def _check_order(where: str, groups: list[list[int]], data_type: str | None, known: range) -> None:
    items = [item for group in groups for item in group]
    item, count = max(Counter(items).items(), key=itemgetter(1))
    if count > 1:
        raise ValueError(f"{where}: the order ranks {item} {count} times.")
    if unknown := [item for item in items if item not in known]:
        raise ValueError(
            f"{where} ranks alternative {unknown[0]}, but there are {len(known)}, from {known[0]}."
        )
    if data_type in ("soc", "soi") and len(groups) < len(items):
        raise ValueError(f"{where} has ties, which the data type {data_type} excludes.")
    if data_type in ("soc", "toc") and len(items) < len(known):
        raise ValueError(
            f"{where} ranks {len(items)} of {len(known)} alternatives, but the data type "
            f"{data_type} promises complete orders."
        )


def _positions(orders: Any, known: range) -> Floats:
    """Return positions from 1, one row per order; tied items share the mean, NaN is unranked.

    With mean positions the net preference of a complete order is ``r + 1 - 2 * position``, ties or
    not.
    """
    positions = np.full((len(orders), len(known)), np.nan)
    for row, (_, groups) in zip(positions, orders):
        before = 0
        for group in groups:
            row[np.array(group) - known[0]] = before + (len(group) + 1) / 2
            before += len(group)
    return positions
