"""Readers of MovieLens-100K, SUSHI and the label-ranking sets, whose files are well-formed."""

from __future__ import annotations

import csv
import gzip
import lzma
from itertools import chain
from types import SimpleNamespace

import numpy as np
from _common import data_file

__all__ = ["MOVIELENS", "SUSHI", "load_label_ranking", "load_movielens", "load_sushi"]

MOVIELENS = [f"ml-100k/u.{part}" for part in ("data", "genre", "item", "user")]
SUSHI = "sushi/sushi3a_users_rankings.csv"

_OPENERS = {".gz": gzip.open, ".xz": lzma.open}
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def load_movielens(folder):
    """Ratings in the order of the file (F. M. Harper and J. A. Konstan, ACM TiiS 5:4, 2015).

    `X` holds the genres of the rated film, named in `feature_names`, `y` the ratings from 1 to 5,
    `user` and `film` are rows of `users` and `films`, and `time` is that of the rating.
    """
    ratings, genres, films, users = (
        _columns(folder, name, "\t" if name.endswith("data") else "|") for name in MOVIELENS
    )
    user, film = (_rows_of(ratings[i], of[0]) for i, of in ((0, users), (1, films)))
    flags = np.column_stack(films[5:]).astype(float)
    return SimpleNamespace(
        X=flags[film],
        y=np.array(ratings[2], dtype=float),
        user=user,
        film=film,
        time=np.array(ratings[3], dtype=np.int64).astype("datetime64[s]"),
        feature_names=list(genres[0]),
        users=SimpleNamespace(
            number=np.array(users[0], dtype=int),
            age=np.array(users[1], dtype=int),
            gender=np.array(users[2]),
            occupation=np.array(users[3]),
        ),
        films=SimpleNamespace(
            number=np.array(films[0], dtype=int),
            title=np.array(films[1]),
            released=np.array([_day(cell) for cell in films[2]], dtype="datetime64[D]"),
            genres=flags,
        ),
    )


def load_sushi(folder):
    """Features of 5,000 people, and the positions each gave to ten sushi (T. Kamishima, KDD 2003).

    Numbers come first, then whether the half of Japan is the west, then a column for each region;
    of childhood and of today.
    """
    cells = {name: cells for name, *cells in _columns(folder, SUSHI, ",")}
    numbers = [cells[name] for name in ("sex", "age", "answer_duration", "changed_city")]
    halves = [[cell[0] for cell in cells[time]] for time in ("lived_in", "lives_in")]
    regions = [cells[f"{time}_region"] for time in ("lived_in", "lives_in")]
    names = sorted(set(chain(*regions)), key=lambda cell: int(cell.partition(":")[0]))
    hot = [[cell == name for cell in region] for region in regions for name in names]
    X = np.column_stack([np.array(column, dtype=float) for column in (*numbers, *halves, *hot)])
    return X, _positions(cells["ranking"])


def load_label_ranking(folder, name):
    """Features and positions of a label-ranking set by its name."""
    cells = {name: cells for name, *cells in _columns(folder, f"label-ranking/{name}.txt", ",")}
    orders = cells.pop("ranking")
    return np.column_stack(list(cells.values())).astype(float), _positions(orders)


def _columns(folder, name, separator):
    """Cells of a file by column; titles of films are in Latin-1."""
    path = data_file(folder, name)
    with _OPENERS.get(path.suffix, open)(path, "rt", encoding="latin-1") as file:
        rows = csv.reader(file, delimiter=separator, quoting=csv.QUOTE_NONE)
        return list(zip(*(row for row in rows if row)))


def _rows_of(cells, numbers):
    row_of = {number: row for row, number in enumerate(numbers)}
    return np.array([row_of[cell] for cell in cells])


def _day(cell):
    """Day such as 01-Jan-1995, with months by their English names, whatever the locale."""
    if not cell:
        return "NaT"
    day, month, year = cell.split("-")
    return f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}"


def _positions(orders):
    """Positions of complete orders such as b>a>c, of the items in alphabetical order."""
    return 1.0 + np.array([np.argsort(order.split(">")) for order in orders])
