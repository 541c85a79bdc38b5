"""Tables in csv files: instances, and the order that each gives to the items."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._container import LabelRankingData
from ._files import plain_or_compressed, read_text, reading, to_float
from ._orders import check_groups, positions_of_orders
from ._tabular import COMMAS, needs

# Cells that hold no value.
_MISSING = ("", "?", "NA")


class _Table(NamedTuple):
    name: str
    header: list
    rows: list
    line_numbers: list

    def column(self, name):
        """Cells of a column, each with its place in the file."""
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
    """Read a table of features and orders such as ``a>c>b``.

    A csv file with a header. The order stands best first; ``=`` ties items (``a>b=c``), and an
    item that is left out is unranked (NaN): it was not compared with the others. An empty
    cell ranks nothing.

    Parameters
    ----------
    path : str or Path
        Plain text, or compressed as ``.gz`` or ``.xz``.
    ranking : str, default="ranking"
        Name of the column of orders; all other columns are features.
    item_names : list of str, default=None
        The items, in the order of the columns of positions; None = all that occur, sorted
        (as numbers, where they all are whole numbers). Give it when a file may lack some items
        of another.
    categorical : list of str, default=None
        Columns of categories some of which are numbers. Columns without any number are always
        categorical.
    as_frame : bool, default=False
        Whether X and positions are pandas DataFrames, in which a categorical feature is one column
        of pandas categories: encode it in a pipeline, as with
        ``OneHotEncoder(handle_unknown="ignore")``, which also copes with a later file that has
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
        its number of cells, a feature that is no finite number in a column that is not
        categorical, a name in `categorical` that is no feature, an item ranked twice or not in
        ``item_names``, an order with ``<``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.datasets import load_label_ranking
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "wine.csv")
    ...     _ = file.write_text("acid,sugar,ranking\\n0.5,1,b>a>c\\n0.25,2,a>b=c\\n")
    ...     X, positions = data = load_label_ranking(file)
    >>> positions
    array([[2. , 1. , 3. ],
           [1. , 2.5, 2.5]])
    >>> data.feature_names, data.item_names
    (['acid', 'sugar'], ['a', 'b', 'c'])

    Columns of text are encoded, or kept for an encoder in a pipeline:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "wine.csv")
    ...     _ = file.write_text("color,sugar,ranking\\nred,1,b>a\\nwhite,2,a>b\\n")
    ...     encoded, frame = (load_label_ranking(file, as_frame=a) for a in (False, True))
    >>> encoded.X, encoded.feature_names
    (array([[1., 0., 1.],
           [0., 1., 2.]]), ['color=red', 'color=white', 'sugar'])
    >>> frame.X.dtypes.astype(str).tolist(), list(frame.positions)
    (['category', 'float64'], ['a', 'b'])
    """
    path = Path(path)
    table = _read_table(path, needed=[ranking])
    orders = [_order(where, cell) for where, cell in table.column(ranking)]
    found = {item for groups in orders for group in groups for item in group}
    if item_names is None:
        _check_items(table.column(ranking))
    names = _sorted_names(found) if item_names is None else list(item_names)
    if len(set(names)) < len(names):
        raise ValueError(f"item_names={names!r} holds a name twice.")
    for (where, _), groups in zip(table.column(ranking), orders):
        unknown = [item for group in groups for item in group if item not in names]
        if unknown:
            raise ValueError(f"{where}: the item {unknown[0]!r} is not among item_names.")
    if len(names) < 2:
        raise ValueError(f"{path} ranks {len(names)} items: there is nothing to rank below 2.")
    columns = _features(table, [name for name in table.header if name != ranking], categorical)
    positions: Any = positions_of_orders(orders, {name: i for i, name in enumerate(names)})
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


def _features(table, columns, categorical):
    """Columns by name: arrays of numbers, and lists of categories, None where one is missing."""
    unknown = [name for name in categorical or () if name not in columns]
    if unknown:
        raise ValueError(
            f"categorical names {unknown[0]!r}, which is no feature of {table.name}: its features "
            f"are {', '.join(map(repr, columns[:20]))}."
        )
    found = {}
    for name in columns:
        cells = [cell for _, cell in table.column(name)]
        is_text = name in (categorical or ()) or _is_text(cells)
        text = [None if cell in _MISSING else cell for cell in cells]
        found[name] = text if is_text else _numbers(table, [name])[:, 0]
    return found


def _is_text(cells):
    """Whether a column has values, and none that may have been meant for a number."""
    values = {cell for cell in cells if cell not in _MISSING}
    return bool(values) and not any(map(_like_a_number, values))


def _like_a_number(cell):
    try:
        float(cell)
    except ValueError:
        return COMMAS.fullmatch(cell) is not None
    return True


def _encoded(columns, n_rows):
    """Features and their names, a column of 0 and 1 for every category."""
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


def _frame(columns):
    """Features as a DataFrame, a column of categories for those of text."""
    pandas = needs("pandas")
    for name, values in columns.items():
        if not isinstance(values, np.ndarray):
            categories = _sorted_names(set(values) - {None})
            columns = columns | {name: pandas.Categorical(values, categories=categories)}
    return pandas.DataFrame(columns)


def _check_items(cells):
    for where, cell in cells:
        if "<" in cell:
            raise ValueError(
                f"{where}: {cell!r} holds '<'. Orders stand best first, as in a>b; if it is part "
                "of a name, give item_names."
            )


def _read_table(path, needed):
    """The cells of a csv file, blank lines left out."""
    rows, line_numbers = [], []
    with reading(path):
        # Strictly: a quotation mark that is not closed would swallow the lines behind it.
        reader = csv.reader(io.StringIO(read_text(path)), strict=True)
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


def _check_header(path, header, needed):
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


def _order(where, cell):
    """``a>b=c`` as groups of tied items."""
    if not cell:
        return []
    groups = [[item.strip() for item in group.split("=")] for group in cell.split(">")]
    check_groups(groups, where)
    return groups


def _sorted_names(names):
    # "10" stands behind "9" where all names are numbers.
    numeric = all(name.isdecimal() for name in names)
    return sorted(names, key=(lambda name: (int(name), name)) if numeric else None)


def _numbers(table, columns):
    """Columns as a matrix; a missing value is NaN."""
    X = np.empty((len(table.rows), len(columns)))
    for number, name in enumerate(columns):
        X[:, number] = [_number(where, cell) for where, cell in table.column(name)]
    return X


def _number(where, cell):
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


# -- SUSHI ----------------------------------------------------------------------------------

_SUSHI_FILE = "sushi3a_users_rankings.csv"

#: Item set A, by the letters of the orders.
_SUSHI = {
    **{"a": "shrimp", "b": "sea eel", "c": "tuna", "d": "squid", "e": "sea urchin"},
    **{"f": "salmon roe", "g": "egg", "h": "fatty tuna", "i": "tuna roll", "j": "cucumber roll"},
}

_SUSHI_DESCRIPTION = """SUSHI preference data (T. Kamishima, KDD 2003), item set A.

Each of 5,000 people put ten kinds of sushi in order, and told sex, age group, and where they
live and have lived longest until they were 15.
"""


def load_sushi(path: str | Path, *, prefectures: bool = False) -> LabelRankingData:
    """Read the SUSHI preference data: the orders that 5,000 people gave to ten sushi.

    The features, in this order:

    * ``sex`` (0 male, 1 female);
    * ``age``, the number of the age group, in ascending order: 15-19, 20-29, 30-39, 40-49,
      50-59, 60 and above;
    * ``answer_duration``, the seconds that the questionnaire took;
    * ``changed_city``, 1 when the prefectures of childhood and of today differ;
    * ``lived_in=Western_Japan`` and ``lives_in=Western_Japan``, 1 for the western half, of
      childhood and of today;
    * ``lived_in_region=...`` and ``lives_in_region=...``, one column of 0 and 1 for every
      region that occurs in the file, of childhood and of today;
    * with ``prefectures=True`` the same for the prefectures, ``lived_in_prefecture=...`` and
      ``lives_in_prefecture=...``.

    The columns of regions sum to one: a linear regressor wants a penalty, as Ridge has. They
    are on different scales: put a ``StandardScaler`` before regressors that mind.

    Parameters
    ----------
    path : str or Path
        The file ``sushi3a_users_rankings.csv`` (plain, ``.gz`` or ``.xz``), or the folder it is
        in. The data may not be passed on, so they do not come with this package.
    prefectures : bool, default=False
        Add the prefectures, 47 columns each.

    Returns
    -------
    data : LabelRankingData
        Unpacks to ``X, positions``: positions of shape (5000, 10), complete orders without
        ties.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the columns are others, or a line is malformed (it is named).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.datasets import load_sushi
    >>> header = (
    ...     "sex,age,answer_duration,lived_in_prefecture,lived_in_region,lived_in,"
    ...     "lives_in_prefecture,lives_in_region,lives_in,changed_city,ranking"
    ... )
    >>> person = (
    ...     "1,2,240,26:Osaka,6:Kinki,1:Western_Japan,13:Tokyo,3:Kanto+Shizuoka,"
    ...     "0:Eastern_Japan,1,h>a>c>d>i>e>f>b>j>g"
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "sushi3a_users_rankings.csv")
    ...     _ = file.write_text(f"{header}\\n{person}\\n")
    ...     X, positions = data = load_sushi(folder)
    >>> data.item_names[positions[0].argmin()]
    'fatty tuna'
    >>> dict(zip(data.feature_names, X[0].tolist()))["lived_in_region=Kinki"]
    1.0
    """
    numeric = ["sex", "age", "answer_duration", "changed_city"]
    times = ["lived_in", "lives_in"]
    places = [f"{time}_region" for time in times]
    places += [f"{time}_prefecture" for time in times]
    table = _read_table(_sushi_file(Path(path)), needed=[*numeric, *times, *places, "ranking"])
    # The number of a half of Japan is 1 for the west.
    halves = [[_place(*cell)[0] for cell in table.column(time)] for time in times]
    blocks = [
        (_numbers(table, numeric), numeric),
        (np.array(halves, dtype=float).T, [f"{time}=Western_Japan" for time in times]),
    ]
    kinds = ("region", "prefecture") if prefectures else ("region",)
    blocks += [block for kind in kinds for block in _one_hot(table, kind)]
    return LabelRankingData(
        np.hstack([values for values, _ in blocks]),
        _sushi_positions(table),
        item_names=list(_SUSHI.values()),
        feature_names=[name for _, names in blocks for name in names],
        description=_SUSHI_DESCRIPTION,
    )


def _sushi_file(path):
    if not path.is_dir():
        return path
    found = plain_or_compressed(path / _SUSHI_FILE)
    if found is None:
        raise FileNotFoundError(f"{_SUSHI_FILE} (plain, .gz or .xz) is not in {path}.")
    return found


def _sushi_positions(table):
    orders = [_order(where, cell) for where, cell in table.column("ranking")]
    for (where, cell), groups in zip(table.column("ranking"), orders):
        if sorted(chain.from_iterable(groups)) != list(_SUSHI) or len(groups) != len(_SUSHI):
            raise ValueError(f"{where}: {cell!r} is no order of the letters a to j.")
    return positions_of_orders(orders, {letter: i for i, letter in enumerate(_SUSHI)})


def _place(where, cell):
    """``6:Kinki`` as number and name."""
    number, colon, name = cell.partition(":")
    if not (number.isdecimal() and colon and name):
        raise ValueError(f"{where}: {cell!r} is no place such as '6:Kinki'.")
    return int(number), name


def _one_hot(table, kind):
    """Columns of 0 and 1 of childhood and of today, for the places of either."""
    columns = [f"lived_in_{kind}", f"lives_in_{kind}"]
    cells = [[_place(*cell) for cell in table.column(column)] for column in columns]
    places = sorted({place for of_column in cells for place in of_column})
    for column, of_column in zip(columns, cells):
        hot = np.array([[place == other for other in places] for place in of_column], dtype=float)
        yield hot, [f"{column}={name}" for _, name in places]
