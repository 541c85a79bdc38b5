"""The SUSHI preference data."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..data.types import Floats
from ._container import LabelRankingData
from ._files import plain_or_compressed
from ._label_ranking import numbers_of, order_of, positions_of_orders, read_cells

_SUSHI_FILE = "sushi3a_users_rankings.csv"

#: Item set A, by the letters of the orders.
_SUSHI = {
    **{"a": "shrimp", "b": "sea eel", "c": "tuna", "d": "squid", "e": "sea urchin"},
    **{"f": "salmon roe", "g": "egg", "h": "fatty tuna", "i": "tuna roll", "j": "cucumber roll"},
}

_SUSHI_DESCRIPTION = """SUSHI preference data (T. Kamishima, KDD 2003), item set A.

Each of 5,000 people put ten kinds of sushi in order, and stated sex, age group, the place where
they live, and the place where they lived longest until they were 15.
"""


def load_sushi(path: str | Path, *, prefectures: bool = False) -> LabelRankingData:
    r"""Read the SUSHI preference data: the orders that 5,000 people gave to ten sushi.

    The features are, in this order:

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

    The columns of regions sum to one, so that a linear regressor needs a penalty, as Ridge
    has. Features have different scales: put a ``StandardScaler`` before a regressor that
    depends on scales.

    Parameters
    ----------
    path : str or Path
        The file ``sushi3a_users_rankings.csv`` (plain, ``.gz`` or ``.xz``), or the folder it is
        in. The data may not be passed on, so they do not come with this package.
    prefectures : bool, default=False
        Whether to add the prefectures, 47 columns for each of the two times.

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
    ...     _ = file.write_text(f"{header}\n{person}\n")
    ...     X, positions = data = load_sushi(folder)
    >>> data.item_names[positions[0].argmin()]
    'fatty tuna'
    >>> dict(zip(data.feature_names, X[0].tolist()))["lived_in_region=Kinki"]
    1.0
    """
    numeric = ["sex", "age", "answer_duration", "changed_city"]
    times = ["lived_in", "lives_in"]
    places = [f"{time}_{kind}" for kind in ("region", "prefecture") for time in times]
    table = read_cells(_sushi_file(Path(path)), needed=[*numeric, *times, *places, "ranking"])
    # The number of a half of Japan is 1 for the west.
    halves = [[_place(*cell)[0] for cell in table.column(time)] for time in times]
    blocks = [
        (numbers_of(table, numeric), numeric),
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


def _sushi_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    file = plain_or_compressed(path / _SUSHI_FILE)
    if file is None:
        raise FileNotFoundError(f"{_SUSHI_FILE} (plain, .gz or .xz) is not in {path}.")
    return file


def _sushi_positions(table: Any) -> Floats:
    orders = [order_of(where, cell) for where, cell in table.column("ranking")]
    for (where, cell), groups in zip(table.column("ranking"), orders):
        if sorted(chain.from_iterable(groups)) != list(_SUSHI) or len(groups) != len(_SUSHI):
            raise ValueError(f"{where}: {cell!r} is not an order of the letters a to j.")
    return positions_of_orders(orders, _SUSHI)


def _place(where: str, cell: str) -> tuple[int, str]:
    """Return the number and the name of a place such as ``6:Kinki``."""
    number, colon, name = cell.partition(":")
    if not (number.isdecimal() and colon and name):
        raise ValueError(f"{where}: {cell!r} is not a place such as '6:Kinki'.")
    return int(number), name


def _one_hot(table: Any, kind: str) -> Iterator[tuple[Floats, list[str]]]:
    """Yield columns of 0 and 1 of childhood and of today, for the places of either."""
    columns = [f"lived_in_{kind}", f"lives_in_{kind}"]
    cells = [[_place(*cell) for cell in table.column(column)] for column in columns]
    places = sorted({place for of_column in cells for place in of_column})
    for column, of_column in zip(columns, cells):
        hot = np.array([[place == other for other in places] for place in of_column], dtype=float)
        yield hot, [f"{column}={name}" for _, name in places]
