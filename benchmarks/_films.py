"""MovieLens-100K as a table: users are queries, rated films are documents, ratings are grades."""

from __future__ import annotations

import numpy as np
from _letor import Part
from _loaders import MOVIELENS as FILES
from _loaders import load_movielens

__all__ = ["FILES", "NAME", "film_folds", "film_table"]

NAME = "MovieLens-100K"

N_FOLDS = 3
# Parts of the training users: the statistics of a film in one part come from the other parts.
N_PARTS = 10
# Ratings of average height that are added to those of each film.
N_ADDED = 5


def film_folds(folder, seed):
    """Return pairs (train, test) of tables; the seed draws the users of each fold.

    Columns: the genres and the year of the film, the age (a number), gender and occupation
    (categories) of the user, and three statistics of the film's ratings by other users of the
    training part: smoothed mean, standard deviation, share of the users who rated the film.
    Statistics of training rows come from the other nine of ten parts of the training users, those
    of test rows from all training users.
    """
    data = load_movielens(folder)
    rng = np.random.default_rng(seed)
    n_users = len(data.users.number)
    fold_of, part_of = (rng.permutation(n_users) % count for count in (N_FOLDS, N_PARTS))
    order = np.argsort(data.user, kind="stable")
    return [_fold(data, order, fold_of == fold, part_of) for fold in range(N_FOLDS)]


def film_table(folder, rows_of):
    """Return table, grades and users of some users, with statistics of films by all others.

    `rows_of` takes the user of each rating and returns the rows of whole users.
    """
    data = load_movielens(folder)
    rows = rows_of(data.user)
    others = ~np.isin(data.user, data.user[rows])
    statistics = _statistics(data, others)[data.film]
    return _table(data, statistics).iloc[rows], data.y[rows] - 1.0, data.user[rows]


def _fold(data, order, is_test_user, part_of):
    test = is_test_user[data.user]
    statistics = np.empty((len(data.y), 3))
    statistics[test] = _statistics(data, ~test)[data.film[test]]
    for part in range(N_PARTS):
        inside = part_of[data.user] == part
        rows = ~test & inside
        statistics[rows] = _statistics(data, ~test & ~inside)[data.film[rows]]
    table = _table(data, statistics)
    return tuple(
        Part(table.iloc[rows], data.y[rows] - 1.0, data.user[rows])
        for rows in (order[~test[order]], order[test[order]])
    )


def _statistics(data, rows):
    """Return statistics of each film, from some rows."""
    n_films = len(data.films.number)
    film, y = data.film[rows], data.y[rows]
    count, total, squares = (
        np.bincount(film, weights=weights, minlength=n_films) for weights in (None, y, y**2)
    )
    mean = (total + N_ADDED * y.mean()) / (count + N_ADDED)
    few = np.maximum(count, 1)
    spread = np.sqrt(np.maximum(squares / few - (total / few) ** 2, 0.0))
    spread[count < 2] = np.nan
    return np.column_stack([mean, spread, count / len(np.unique(data.user[rows]))])


def _table(data, statistics):
    import pandas as pd

    released = data.films.released[data.film]
    year = released.astype("datetime64[Y]").astype(float) + 1970.0
    table = pd.DataFrame(data.X, columns=data.feature_names)
    return table.assign(
        year=np.where(np.isnat(released), np.nan, year),
        age=data.users.age[data.user].astype(float),
        gender=pd.Categorical(data.users.gender[data.user]),
        occupation=pd.Categorical(data.users.occupation[data.user]),
        film_mean=statistics[:, 0],
        film_spread=statistics[:, 1],
        film_share=statistics[:, 2],
    )
