"""Tables in CSV files: instances, and the order that each gives to the items."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data.types import Floats
from ._container import LabelRankingData
from ._files import needs, reading, text_lines, to_float
from ._table_files import COMMAS

# Cells that hold no value.
_MISSING = ("", "?", "NA")


class _Table(NamedTuple):
    name: str
    header: list[Any]
    rows: list[Any]
    line_numbers: list[Any]

    def column(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the cells of a column, each after its place in the file."""
        number = self.header.index(name)
        for line, row in zip(self.line_numbers, self.rows):
            yield f"{self.name}, line {line}, column {name!r}", row[number]


def load_label_ranking(
    path: str | Path,
    *,
    ranking: str = "ranking",
    item_names: Sequence[str] | None = None,
    categorical: Sequence[str] | None = None,
    as_frame: bool = False,
) -> LabelRankingData:
    r"""Read a table of features and orders such as ``a>c>b``.

    The file is CSV with a header. An order has the best item first; ``=`` ties items
    (``a>b=c``), and an item that is left out is unranked (NaN): it was not compared with the
    others. An empty cell ranks nothing.

    Parameters
    ----------
    path : str or Path
        Plain text, or compressed as ``.gz``, ``.bz2`` or ``.xz``.
    ranking : str, default="ranking"
        Name of the column of orders; all other columns are features.
    item_names : list of str, default=None
        The items, in the order of the columns of positions; None = all that occur, sorted
        (as numbers, where all are whole numbers). Pass it where one of several files may lack
        items.
    categorical : list of str, default=None
        Columns whose categories may be numbers. Columns without any number are always
        categorical.
    as_frame : bool, default=False
        Whether X and positions are pandas DataFrames, in which a categorical feature is one column
        of pandas categories: encode it in a pipeline, as with
        ``OneHotEncoder(handle_unknown="ignore")``, which also accepts a later file with
        other categories.

    Returns
    -------
    data : LabelRankingData
        Unpacks to ``X, positions``. Features that are empty, ``NA`` or ``?`` are NaN in X. A
        categorical feature is a column ``name=category`` of 0 and 1 for every category that occurs
        in the file, sorted, all 0 where it is missing; with `as_frame` a column of its own.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If there is no column of orders, columns have no name or the same, or a line is malformed:
        its number of cells, a feature that is not a finite number in a column that is not
        categorical, a name in `categorical` that is not a feature, an item ranked twice or not in
        ``item_names``, an order with ``<``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.datasets import load_label_ranking
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "wine.csv")
    ...     _ = file.write_text("acid,sugar,ranking\n0.5,1,b>a>c\n0.25,2,a>b=c\n")
    ...     X, positions = data = load_label_ranking(file)
    >>> positions
    array([[2. , 1. , 3. ],
           [1. , 2.5, 2.5]])
    >>> data.feature_names, data.item_names
    (['acid', 'sugar'], ['a', 'b', 'c'])

    Columns of text are encoded, or kept for an encoder in a pipeline:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "wine.csv")
    ...     _ = file.write_text("color,sugar,ranking\nred,1,b>a\nwhite,2,a>b\n")
    ...     encoded, frame = (load_label_ranking(file, as_frame=a) for a in (False, True))
    >>> encoded.X, encoded.feature_names
    (array([[1., 0., 1.],
           [0., 1., 2.]]), ['color=red', 'color=white', 'sugar'])
    >>> frame.X.dtypes.astype(str).tolist(), list(frame.positions)
    (['category', 'float64'], ['a', 'b'])
    """
    path = Path(path)
    table = read_cells(path, needed=[ranking])
    orders = [order_of(where, cell) for where, cell in table.column(ranking)]
    if item_names is None:
        for where, cell in table.column(ranking):
            if "<" in cell:
                raise ValueError(
                    f"{where}: {cell!r} holds '<'. Orders are written best first, as in a>b; if it "
                    "is part of a name, pass item_names."
                )
        item_names = _sorted_names({item for order in orders for group in order for item in group})
    names = list(item_names)
    if len(set(names)) < len(names):
        raise ValueError(f"item_names={names!r} holds a name twice.")
    for (where, _), groups in zip(table.column(ranking), orders):
        unknown = [item for group in groups for item in group if item not in names]
        if unknown:
            raise ValueError(f"{where}: the item {unknown[0]!r} is not among item_names.")
    if len(names) < 2:
        raise ValueError(f"{path} ranks {len(names)} items: there is nothing to rank below 2.")
    columns = _features(table, [name for name in table.header if name != ranking], categorical)
    positions: Any = positions_of_orders(orders, names)
    if as_frame:
        positions = needs("pandas").DataFrame(positions, columns=names)
        X = _frame(columns)
        features = list(columns)
    else:
        X, features = _encoded(columns, len(orders))
    return LabelRankingData(
        X,
        positions,
        item_names=names,
        feature_names=features,
        description=f"Read from {path.name}.",
    )


def _features(table: Any, columns: list[str], categorical: Any) -> dict[str, Any]:
    """Return columns by name: arrays of numbers, or lists of categories with None for missing."""
    unknown = [name for name in categorical or () if name not in columns]
    if unknown:
        raise ValueError(
            f"categorical names {unknown[0]!r}, which is not a feature of {table.name}: its "
            f"features are {', '.join(map(repr, columns[:20]))}."
        )
    values = {}
    for name in columns:
        cells = [cell for _, cell in table.column(name)]
        text = [None if cell in _MISSING else cell for cell in cells]
        words = {cell for cell in cells if cell not in _MISSING}
        is_text = name in (categorical or ()) or (words and not any(map(_like_a_number, words)))
        values[name] = text if is_text else numbers_of(table, [name])[:, 0]
    return values


def _like_a_number(cell: str) -> bool:
    """Return whether a cell is a number, or may have been meant for one."""
    try:
        float(cell)
    except ValueError:
        return COMMAS.fullmatch(cell) is not None
    return True


def _encoded(columns: dict[str, Any], n_rows: int) -> tuple[Floats, list[str]]:
    """Return features and their names, with a column of 0 and 1 for every category."""
    blocks, names = [np.empty((n_rows, 0))], []
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            blocks.append(values[:, None])
            names.append(name)
            continue
        categories = _sorted_names(set(values) - {None})
        blocks.append(np.array([[v == c for c in categories] for v in values], dtype=float))
        names += [f"{name}={category}" for category in categories]
    return np.hstack(blocks), names


def _frame(columns: dict[str, Any]) -> Any:
    """Return features as a DataFrame, in which text is a column of categories."""
    pandas = needs("pandas")
    for name, values in columns.items():
        if not isinstance(values, np.ndarray):
            categories = _sorted_names(set(values) - {None})
            columns = columns | {name: pandas.Categorical(values, categories=categories)}
    return pandas.DataFrame(columns)


def read_cells(path: Path, needed: list[str]) -> _Table:
    """Return the cells of a CSV file, without blank lines."""
    rows, line_numbers = [], []
    with reading(path):
        # Not strictly, a quotation mark that is not closed would swallow the lines behind it.
        reader = csv.reader((line for _, line in text_lines(path)), strict=True)
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append([cell.strip() for cell in row])
                line_numbers.append(reader.line_num)
    header, *rows = rows or [[]]
    _check_header(path, header, needed)
    for line, row in zip(line_numbers[1:], rows):
        if len(row) != len(header):
            raise ValueError(
                f"{path.name}, line {line} has {len(row)} cells, the header has {len(header)}."
            )
    if not rows:
        raise ValueError(f"{path} has no rows.")
    return _Table(path.name, header, rows, line_numbers[1:])


def _check_header(path: Path, header: list[str], needed: list[str]) -> None:
    """Raise unless every column has a name of its own, and those that are needed are there."""
    for name in [*needed, *header]:
        if header.count(name) != 1:
            raise ValueError(
                f"{path.name} has {header.count(name)} columns {name!r}, 1 is needed; its first "
                f"line names {', '.join(map(repr, header[:20])) or 'nothing'}."
            )
    if "" in header:
        raise ValueError(
            f"Column {header.index('') + 1} of {path.name} has no name. If it is the index of a "
            "DataFrame, write the file with index=False; if it is a feature, name it."
        )


def order_of(where: str, cell: str) -> list[list[str]]:
    """Return the groups of tied items of an order such as ``a>b=c``."""
    if not cell:
        return []
    groups = [[item.strip() for item in group.split("=")] for group in cell.split(">")]
    check_groups(groups, where)
    return groups


def _sorted_names(names: set[str]) -> list[str]:
    # "10" comes after "9" where all names are numbers.
    numeric = all(name.isdecimal() for name in names)
    return sorted(names, key=(lambda name: (int(name), name)) if numeric else None)


def numbers_of(table: Any, columns: list[str]) -> Floats:
    """Return columns as a matrix, in which a missing value is NaN."""
    X = np.empty((len(table.rows), len(columns)))
    for number, name in enumerate(columns):
        X[:, number] = [_number(where, cell) for where, cell in table.column(name)]
    return X


def _number(where: str, cell: str) -> float:
    if cell in _MISSING:
        return np.nan
    try:
        number = to_float(cell)
    except ValueError:
        raise ValueError(
            f"{where}: {cell!r} is not a number. If the column holds categories, name it in "
            "categorical."
        ) from None
    if np.isinf(number):
        raise ValueError(f"{where}: {cell!r} is not a finite number.")
    return number


def check_groups(groups: Any, where: str) -> None:
    """Raise if an order has an empty item or one item twice, and name its place in the file."""
    counts = Counter(item for group in groups for item in group)
    if "" in counts:
        raise ValueError(f"{where}: the order names an empty item.")
    twice = next((item for item, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{where}: the order ranks {twice!r} {counts[twice]} times.")


def positions_of_orders(orders: Any, items: Any) -> Floats:
    """Return positions from 1, one row per order; tied items share the mean, NaN is unranked.

    An order is a list of groups of tied items, the best first. With mean positions the net
    preference of a complete order is ``r + 1 - 2 * position``, ties or not.
    """
    column_of = {item: column for column, item in enumerate(items)}
    positions = np.full((len(orders), len(column_of)), np.nan)
    for row, groups in zip(positions, orders):
        before = 0
        for group in groups:
            row[[column_of[item] for item in group]] = before + (len(group) + 1) / 2
            before += len(group)
    return positions
