"""MovieLens-100K: ratings of films."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from ..data.types import Array, Ints, Self
from ._container import RankingData
from ._files import plain_or_compressed, text_lines, to_int

_FILES = ("u.data", "u.genre", "u.item", "u.user")

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

_RATINGS = {str(rating): float(rating) for rating in range(1, 6)}

_DESCRIPTION = """MovieLens-100K (F. M. Harper and J. A. Konstan, ACM TiiS 5:4, 2015).

Ratings of films from 1 to 5, collected by GroupLens from September 1997 to April 1998.
"""


class MovieLensData(RankingData):
    """``X, y, qid`` of ratings: a row is a rating, and a query is a user.

    Attributes
    ----------
    X : ndarray of shape (n_ratings, n_genres)
        Genres of the rated film, 1 or 0: ``films.genres[film]``.
    y : ndarray of shape (n_ratings,)
        Ratings, from 1 to 5.
    qid : ndarray of int of shape (n_ratings,)
        Number of the user, ``users.number[user]``.
    user, film : ndarray of int of shape (n_ratings,)
        Row of ``users`` and of ``films`` that each rating belongs to.
    time : ndarray of datetime64[s] of shape (n_ratings,)
        Time at which the rating was given, in universal time.
    users : Bunch
        Arrays of shape (n_users,): ``number``, ``age`` in years, ``gender`` ("F" or "M"),
        ``occupation``, ``zip_code``.
    films : Bunch
        Arrays of shape (n_films,): ``number``, ``title``, ``released`` (datetime64[D], NaT where
        it is unknown); and ``genres`` of shape (n_films, n_genres).
    feature_names : list of str
        Names of the genres.
    description : str
    """

    user: np.ndarray
    film: np.ndarray
    time: np.ndarray
    users: Bunch
    films: Bunch

    # The defaults are for copies and pickles, which set the attributes afterwards.
    def __new__(
        cls,
        X: Array,
        y: Array,
        qid: Array,
        *,
        user: Any = None,
        film: Any = None,
        time: Any = None,
        users: Any = None,
        films: Any = None,
        **about: Any,
    ) -> Self:
        out = super().__new__(cls, X, y, qid, **about)
        out.user, out.film, out.time = user, film, time
        out.users, out.films = users, films
        return out

    def __repr__(self) -> str:
        return (
            f"MovieLensData({len(self.y)} ratings, {len(self.users.number)} users, "
            f"{len(self.films.number)} films)"
        )


def load_movielens(path: str | Path) -> MovieLensData:
    r"""Read MovieLens-100K: 100,000 ratings that 943 users gave to 1,682 films.

    Rows have the order of the file. X holds the genres of the film and nothing more: features
    such as the mean rating of a film come from ratings, so they must be made of the training part
    alone. ``user`` and ``film`` of the returned data number users and films from 0, as
    ``np.bincount`` and the rows of a matrix of ratings need.

    Parameters
    ----------
    path : str or Path
        The folder of ``u.data``, ``u.genre``, ``u.item`` and ``u.user`` (each plain, ``.gz`` or
        ``.xz``). The data may not be passed on, so they do not come with this package.

    Returns
    -------
    data : MovieLensData
        Unpacks to ``X, y, qid``.

    Raises
    ------
    FileNotFoundError
        If the folder lacks files; all of them are named.
    ValueError
        If a line is malformed, lists a number a second time, names a user or a film that is not
        listed, or rates a film again (the line is named).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.datasets import load_movielens
    >>> files = {
    ...     "u.data": "7\t2\t5\t881250949\n7\t1\t3\t881250950\n",
    ...     "u.genre": "Comedy|0\nThriller|1\n",
    ...     "u.item": "1|Toy Story (1995)|01-Jan-1995|||1|0\n2|GoldenEye (1995)||||0|1\n",
    ...     "u.user": "7|24|M|technician|85711\n",
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in files.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     X, y, qid = data = load_movielens(folder)
    >>> data
    MovieLensData(2 ratings, 1 users, 2 films)
    >>> y
    array([5., 3.])
    >>> data.films.title[data.film]
    array(['GoldenEye (1995)', 'Toy Story (1995)'], dtype='<U16')
    """
    paths = _paths(Path(path))
    genres = _read(paths["u.genre"], "|", ["genre", "number"])
    names = list(genres.columns["genre"])
    if len(set(names)) < len(names):
        raise ValueError(f"{genres.name} lists a genre twice: {', '.join(names)}.")
    if list(genres.columns["number"]) != [str(number) for number in range(len(names))]:
        raise ValueError(f"{genres.name} does not number its genres 0, 1, 2, ...")
    users, row_of_user = _users(paths["u.user"])
    films, row_of_film = _films(paths["u.item"], names)
    ratings = _read(paths["u.data"], "\t", ["user", "film", "rating", "time"])
    user = ratings.convert("user", lambda cell: row_of_user[to_int(cell)], "listed in u.user")
    film = ratings.convert("film", lambda cell: row_of_film[to_int(cell)], "listed in u.item")
    _refuse_twice(ratings.name, user, film)
    return MovieLensData(
        films.genres[film],
        ratings.convert("rating", _RATINGS.__getitem__, "a whole number from 1 to 5"),
        users.number[user],
        user=user,
        film=film,
        time=ratings.convert(
            "time", _time, "a whole number of seconds since 1970", "datetime64[s]"
        ),
        users=users,
        films=films,
        feature_names=names,
        description=_DESCRIPTION,
    )


def _refuse_twice(name: str, user: Ints, film: Ints) -> None:
    """Raise for a user who rated a film twice."""
    pairs = user * (film.max() + 1) + film
    first, inverse = np.unique(pairs, return_index=True, return_inverse=True)[1:]
    again = np.flatnonzero(first[inverse] != np.arange(len(pairs)))
    if len(again):
        raise ValueError(
            f"{name}, line {again[0] + 1}: this user rated this film in line "
            f"{first[inverse[again[0]]] + 1} already."
        )


def _paths(folder: Path) -> dict[str, Path]:
    """Return the files, compressed or not."""
    stored: dict[str, Any] = {name: plain_or_compressed(folder / name) for name in _FILES}
    missing = [name for name, file in stored.items() if file is None]
    if missing:
        raise FileNotFoundError(
            f"{folder} lacks {', '.join(missing)} (plain, .gz or .xz): it must be the folder of "
            "MovieLens-100K."
        )
    return stored


class _Columns(NamedTuple):
    """Cells of a file, by column."""

    name: str
    columns: dict[str, Any]

    def convert(self, column: str, of: Callable[..., Any], what: str, dtype: Any = None) -> Array:
        """Return a column as an array, or raise an error that names the line."""
        out = []
        for line, cell in enumerate(self.columns[column], 1):
            try:
                out.append(of(cell))
            except (KeyError, ValueError):
                raise ValueError(
                    f"{self.name}, line {line}: the {column} {cell!r} is not {what}."
                ) from None
        return np.array(out, dtype=dtype)

    def integers(self, column: str) -> Ints:
        return self.convert(column, to_int, "a whole number", np.int64)

    def rows(self, numbers: Ints) -> dict[int, int]:
        """Return the row of each number, or raise an error that names a line that repeats one."""
        out: dict[int, int] = {}
        for line, number in enumerate(numbers.tolist(), 1):
            if out.setdefault(number, line - 1) != line - 1:
                raise ValueError(f"{self.name}, line {line} lists {number} a second time.")
        return out


def _read(path: Path, separator: str, names: list[str]) -> _Columns:
    # Titles are in Latin-1; u.genre ends with an empty line.
    cells: list[Any] = []
    for number, text in text_lines(path, "latin-1"):
        row, line = text.rstrip("\r\n").split(separator), len(cells) + 1
        if row == [""]:
            continue
        if number > line or len(row) != len(names):
            raise _not_cells(path, line, row if number == line else [""], names)
        cells.append(row)
    if not cells:
        raise _not_cells(path, 1, [""], names)
    return _Columns(path.name, dict(zip(names, zip(*cells))))


def _not_cells(path: Path, line: int, row: list[str], names: list[str]) -> ValueError:
    return ValueError(
        f"{path.name}, line {line} has {len(row)} cells instead of {len(names)}: "
        f"{', '.join(names)}."
    )


def _users(path: Path) -> tuple[Any, dict[int, int]]:
    table = _read(path, "|", ["number", "age", "gender", "occupation", "zip code"])
    number = table.integers("number")
    users = Bunch(
        number=number,
        age=table.integers("age"),
        gender=np.array(table.columns["gender"]),
        occupation=np.array(table.columns["occupation"]),
        zip_code=np.array(table.columns["zip code"]),
    )
    return users, table.rows(number)


def _films(path: Path, genres: list[str]) -> tuple[Any, dict[int, int]]:
    table = _read(path, "|", ["number", "title", "date", "video date", "address", *genres])
    number = table.integers("number")
    flags = {"0": 0.0, "1": 1.0}
    films = Bunch(
        number=number,
        title=np.array(table.columns["title"]),
        released=table.convert("date", _date, "a day such as 01-Jan-1995", "datetime64[D]"),
        genres=np.column_stack([table.convert(g, flags.__getitem__, "0 or 1") for g in genres]),
    )
    return films, table.rows(number)


def _time(cell: str) -> Any:
    seconds = to_int(cell)
    if not 0 <= seconds < 253_402_300_800:  # the year 10000, where datetime ends
        raise ValueError
    return np.datetime64(seconds, "s")


def _date(cell: str) -> Any:
    # Months by their English names, whatever the locale.
    if not cell:
        return np.datetime64("NaT", "D")
    day, month, year = cell.split("-")
    return np.datetime64(f"{int(year):04}-{_MONTHS.index(month) + 1:02}-{int(day):02}")
