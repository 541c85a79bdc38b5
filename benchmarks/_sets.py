"""Ranking tables of many fields, and the halves in which defaults are chosen and reported.

    python benchmarks/_sets.py --data DIR

prints what the tables hold. The first six are those of the other benchmarks; the others come from
tables that packages of the Python index carry (_sets_packages.py), or from published functions
with categories (_sets_drawn.py). DIR (or SKCALRANK_DATA) holds the folders MQ2008, MSLR-sample,
lightgbm-lambdarank and ml-100k. Nothing is downloaded.

What holds for every set:

* A query has at least 3 documents, a set at least 60 queries and at most 12,000 documents: whole
  queries, in the order of the SHA-256 of the set's name and the query, until the next is too much.
* Queries, columns and grades were settled by what the tables describe, before any model was fitted
  on them. Grades of a numeric outcome are 0 to 4 by its rank within the query, from which ties take
  their mean: below .4, .6, .8, .9 of the query, and the rest. The outcome, and columns that follow
  from it or were measured after it, are not among the columns; nor are names of single rows.
* Categories are pandas categories of strings, missing values NaN. Rows of a query are shuffled.

The halves (`HALVES`): the six sets on which defaults were ever chosen or looked at are in the
selecting half. The others are sorted by the SHA-256 of their name, and fill it up to twelve in
turn. The rest is reported, and nothing is chosen by it. A third group, "later", was written down
when all defaults stood (`LATER` in _sets_packages.py), and is reported as it falls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from _common import data_folder, parser, print_table
from _films import FILES as FILM_FILES
from _films import NAME as FILMS
from _films import film_table
from _letor import SETS as LETOR
from _letor import joined
from _made import MADE, made_part
from _sets_drawn import DRAWN
from _sets_packages import LATER, PACKAGED, Source, whole_queries

__all__ = ["FILES", "HALVES", "SETS", "RankingSet", "Table", "load"]

MAX_ROWS = 12_000
N_SELECTING = 12


class Table(NamedTuple):
    """Rows sorted by query; `qid` counts from 0."""

    X: pd.DataFrame
    y: np.ndarray
    qid: np.ndarray


class RankingSet(NamedTuple):
    """Where a set comes from; `read(folder)` returns frame, grades and a name of each query."""

    source: str
    licence: str
    query: str
    read: Callable
    files: tuple = ()


def load(name, folder=None):
    """Return a set as a `Table`; the folder of data is needed where the set has files."""
    if name not in SETS:
        raise ValueError(f"name must be one of {', '.join(SETS)}, got {name!r}.")
    one = SETS[name]
    X, y, query = one.read(data_folder(folder, one.files) if one.files else None)
    number, names = pd.factorize(pd.Series(query).astype(str), sort=True)
    kept = whole_queries(name, number, names, MAX_ROWS)
    # Shuffled by a fixed draw: the order of the source must not tell of the grades.
    kept = np.random.default_rng(0).permutation(kept)
    kept = kept[np.argsort(number[kept], kind="stable")]
    X = X.iloc[kept].reset_index(drop=True)
    categories = X.select_dtypes("category").columns
    X = X.assign(**{column: X[column].cat.remove_unused_categories() for column in categories})
    return Table(
        X, np.asarray(y)[kept].astype(int), np.unique(number[kept], return_inverse=True)[1]
    )


def _letor(name):
    def read(folder):
        # Files of one set may number their queries alike.
        parts = LETOR[name][1](folder)[0]
        whole = joined(*(part._replace(qid=part.qid + 10**6 * k) for k, part in enumerate(parts)))
        return _numbers(whole.X), whole.y, whole.qid

    return read


def _made(name):
    def read(_):
        part = made_part(125, 0, *MADE[name])
        return _numbers(part.X), part.y, part.qid

    return read


def _numbers(X):
    return pd.DataFrame(X, columns=[f"column_{number}" for number in range(1, X.shape[1] + 1)])


def _films(folder):
    # The users of the set, and no others: statistics of a film come from the remaining users.
    return film_table(
        folder, lambda user: whole_queries(FILMS, user, range(user.max() + 1), MAX_ROWS)
    )


_LETOR_LICENCES = {
    "MQ2008": ("LETOR 4.0 (Qin and Liu, 2013)", "research use, from Microsoft"),
    "MSLR-sample": ("MSLR-WEB30K, sample (Qin and Liu, 2013)", "research use, from Microsoft"),
    "lightgbm-lambdarank": ("example of LightGBM", "MIT"),
}
# On these defaults were chosen, or looked at.
_KNOWN = {
    **{
        name: RankingSet(*_LETOR_LICENCES[name], "a search query", _letor(name), tuple(files))
        for name, (files, _) in LETOR.items()
    },
    FILMS: RankingSet(
        "GroupLens (Harper and Konstan, 2015)",
        "research use, not redistributed",
        "a user",
        _films,
        tuple(FILM_FILES),
    ),
    **{
        name: RankingSet("_made.py", "drawn", "a drawn level and spread", _made(name))
        for name in MADE
    },
}


def _set(source: Source):
    return RankingSet(source.origin, source.licence, source.query, lambda _: source.read())


SETS = {
    **_KNOWN,
    **{name: _set(source) for name, source in {**PACKAGED, **DRAWN, **LATER}.items()},
}
FILES = [file for one in SETS.values() for file in one.files]


def _halves():
    others = [*PACKAGED, *DRAWN]
    others.sort(key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    n_filled = N_SELECTING - len(_KNOWN)
    halves = {"selecting": [*_KNOWN, *others[:n_filled]], "reported": others[n_filled:]}
    return halves | {"later": list(LATER)}


HALVES = _halves()


def _row(name, folder):
    X, y, qid = load(name, folder)
    one, half = SETS[name], next(half for half, names in HALVES.items() if name in names)
    categories = X.select_dtypes("category")
    levels = f" ({categories.nunique().max()})" if categories.shape[1] else ""
    shares = "/".join(f"{share:.0%}".rstrip("%") for share in np.bincount(y) / len(y))
    return [
        name,
        one.source,
        one.licence,
        half,
        len(y),
        qid[-1] + 1,
        X.shape[1],
        f"{categories.shape[1]}{levels}",
        f"{X.isna().to_numpy().mean():.2f}",
        shares,
        one.query,
    ]


def main(argv=None):
    options = parser(__doc__, data=True, threads=False).parse_args(argv)
    columns = "name, source, licence, half, rows, queries, columns, categories (levels), missing"
    columns = [*columns.split(", "), "% of grades 0, 1, ...", "a query is"]
    folder = data_folder(options.data, FILES)
    print_table(columns, [_row(name, folder) for name in SETS])


if __name__ == "__main__":
    main()
