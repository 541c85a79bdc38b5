"""MovieLens-100K, on files that are written here."""

import copy
import gzip
import lzma
import pickle
import re

import numpy as np
import pytest

from skcalrank import NDCGRanker, load_movielens
from skcalrank.datasets import MovieLensData

FILES = {
    "u.data": "30\t7\t5\t881250949\n9\t2\t1\t893286638\n9\t7\t4\t0\n30\t5\t2\t881250950\n",
    "u.genre": "Comedy|0\nFilm-Noir|1\n\n",
    "u.item": (
        "2|Léon (1994)|4-Feb-1995||http://example.org|0|1\n"
        "5|unknown||||0|0\n"
        "7|Fargo (1996)|29-Dec-1996|||1|1\n"
    ),
    "u.user": "9|24|M|technician|85711\n30|53|F|other|T8H1N\n",
}


def write(folder, suffix="", **changes):
    """The files, some of them changed; None leaves one out."""
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(suffix, open)
    for name, text in FILES.items():
        text = changes.get(name.replace(".", "_"), text)
        if text is not None:
            with opener(folder / (name + suffix), "wb") as file:
                file.write(text.encode("latin-1"))
    return folder


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_movielens(suffix, tmp_path):
    write(tmp_path, suffix)
    for given in (tmp_path, str(tmp_path)):
        X, y, qid = data = load_movielens(given)
        np.testing.assert_array_equal(X, [[1, 1], [0, 1], [1, 1], [0, 0]])
        np.testing.assert_array_equal(y, [5, 1, 4, 2])
        np.testing.assert_array_equal(qid, [30, 9, 9, 30])
    assert y.dtype == float
    assert data.feature_names == ["Comedy", "Film-Noir"]
    np.testing.assert_array_equal(data.user, [1, 0, 0, 1])
    np.testing.assert_array_equal(data.film, [2, 0, 2, 1])
    times = ["1997-12-04T15:55:49", "1998-04-22T23:10:38", "1970-01-01", "1997-12-04T15:55:50"]
    np.testing.assert_array_equal(data.time, np.array(times, dtype="datetime64[s]"))


def test_tables_of_users_and_films(tmp_path):
    data = load_movielens(write(tmp_path))
    films, users = data.films, data.users
    np.testing.assert_array_equal(films.number, [2, 5, 7])
    np.testing.assert_array_equal(films.title, ["Léon (1994)", "unknown", "Fargo (1996)"])
    days = np.array(["1995-02-04", "NaT", "1996-12-29"], dtype="datetime64[D]")
    np.testing.assert_array_equal(films.released, days)
    np.testing.assert_array_equal(films.genres, [[0, 1], [0, 0], [1, 1]])
    np.testing.assert_array_equal(users.number, [9, 30])
    np.testing.assert_array_equal(users.age, [24, 53])
    np.testing.assert_array_equal(users.gender, ["M", "F"])
    np.testing.assert_array_equal(users.occupation, ["technician", "other"])
    np.testing.assert_array_equal(users.zip_code, ["85711", "T8H1N"])


def test_line_ends_of_windows(tmp_path):
    texts = {name.replace(".", "_"): text.replace("\n", "\r\n") for name, text in FILES.items()}
    data = load_movielens(write(tmp_path, **texts))
    np.testing.assert_array_equal(data.y, [5, 1, 4, 2])
    np.testing.assert_array_equal(data.users.zip_code, ["85711", "T8H1N"])


def test_every_month_is_read(tmp_path):
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    text = "\n".join(f"{n}|title|01-{month}-1980|||0|0" for n, month in enumerate(months, 1))
    data = load_movielens(write(tmp_path, u_item=text, u_data="9\t3\t1\t0\n"))
    days = np.arange("1980-01", "1981-01", dtype="datetime64[M]").astype("datetime64[D]")
    np.testing.assert_array_equal(data.films.released, days)


def test_it_is_a_ranking_problem(tmp_path):
    X, y, qid = load_movielens(write(tmp_path))
    ranker = NDCGRanker(k=2).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.rank(X, qid=qid), [1, 2, 1, 2])


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_container_survives(clone, tmp_path):
    data = load_movielens(write(tmp_path))
    twin = clone(data)
    assert isinstance(twin, MovieLensData)
    assert repr(twin) == repr(data) == "MovieLensData(4 ratings, 2 users, 3 films)"
    for one, other in zip(data, twin):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(twin.film, data.film)
    np.testing.assert_array_equal(twin.films.title, data.films.title)
    assert twin.feature_names == data.feature_names


def test_missing_files_are_named(tmp_path):
    write(tmp_path, u_item=None, u_user=None)
    with pytest.raises(FileNotFoundError, match=r"lacks u\.item, u\.user \(plain"):
        load_movielens(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"lacks u\.data, u\.genre, u\.item, u\.user"):
        load_movielens(tmp_path / "elsewhere")


# The first second that datetime does not know.
YEAR_10000 = 253_402_300_800

# File, what stands there, what is put in its place, and what the error says.
MALFORMED = [
    ("u.data", "9\t2\t1\t893286638", "9\t2\t1", "u.data, line 2 has 3 cells instead of 4: user"),
    ("u.data", "9\t2\t1\t893286638", "", "u.data, line 2 has 1 cells"),
    ("u.data", "30\t7\t5", "30\t7\tnan", "u.data, line 1: the rating 'nan' is not a whole number"),
    ("u.data", "881250950", "soon", "u.data, line 4: the time 'soon' is not a whole number"),
    ("u.data", "893286638", "-1", "u.data, line 2: the time '-1' is not a whole number"),
    ("u.data", "893286638", f"{YEAR_10000}", f"line 2: the time '{YEAR_10000}' is not a whole"),
    ("u.data", "9\t2\t1", "8\t2\t1", "u.data, line 2: the user '8' is not listed in u.user"),
    ("u.data", "9\t2\t1", "9\t3\t1", "u.data, line 2: the film '3' is not listed in u.item"),
    ("u.data", "9\t2\t1", "9\tb\t1", "u.data, line 2: the film 'b' is not listed in u.item"),
    ("u.data", FILES["u.data"], "", "u.data, line 1 has 1 cells"),
    ("u.genre", "Film-Noir|1", "Film-Noir|2", "u.genre does not number its genres 0, 1"),
    ("u.genre", "Film-Noir|1\n", "", "u.item, line 1 has 7 cells instead of 6"),
    ("u.item", "5|unknown", "2|unknown", "u.item, line 2 lists 2 a second time"),
    ("u.item", "4-Feb-1995", "4-Fev-1995", "u.item, line 1: the date '4-Fev-1995' is not a day"),
    ("u.item", "4-Feb-1995", "30-Feb-1995", "the date '30-Feb-1995' is not a day such as 01-Jan"),
    ("u.item", "4-Feb-1995", "1995", "the date '1995' is not a day"),
    ("u.item", "||||0|0", "||||0|2", "u.item, line 2: the Film-Noir '2' is not 0 or 1"),
    ("u.user", "|24|", "||", "u.user, line 1: the age '' is not a whole number"),
    ("u.user", "30|", "9|", "u.user, line 2 lists 9 a second time"),
]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"), MALFORMED, ids=[m[3] for m in MALFORMED]
)
def test_malformed_lines_are_named(name, old, new, message, tmp_path):
    assert old in FILES[name]
    write(tmp_path, **{name.replace(".", "_"): FILES[name].replace(old, new)})
    with pytest.raises(ValueError, match=re.escape(message)):
        load_movielens(tmp_path)
