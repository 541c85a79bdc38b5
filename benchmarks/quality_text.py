"""Columns of text in a table: read by their words, left out, or made numbers by hand.

    python benchmarks/quality_text.py --data DIR

Prints mean NDCG@10 over test queries of `TabularRanker(trees=None)` and `TabularRanker()`, its
difference to the table without the text with one paired standard error (sampling of queries only),
and CPU seconds of a fit and a prediction. DIR (or SKCALRANK_DATA) holds ml-100k. Tables:

* offers: `make_offers`, half of its `--queries` to train and half to test, drawn `--draws` times.
  By hand: a flag for the word that matters, weekday and hour of the date, without the identifier.
* offers, shuffled titles: the same offers, with titles that say nothing.
* films: MovieLens-100K, a query is a user and a document a film that the user has rated, at most 30
  of each user, drawn. Columns: genres, year and title. Users are in as many parts as there are
  draws; 300 users outside a part train, and the part tests.
* films, one text: title and names of the genres as one text, beside the year.

As it is, `TabularRanker` decides what the text is; as categories, every text is one of its own; by
its words, `columns` says that it is text.
`skrub.TableVectorizer` with its defaults is a step before `TabularRanker`, where skrub is
installed; it reads the identifier of offers as text, and its values vary from run to run.

How many words and directions `TabularRanker` reads a text by was chosen on other texts and draws.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from _common import data_folder, describe_environment, optional, parser, print_table, say
from _letor import Part
from _loaders import MOVIELENS, load_movielens
from threadpoolctl import threadpool_limits

from skcalrank import TabularRanker
from skcalrank.datasets import make_offers
from skcalrank.metrics import ndcg_score
from skcalrank.pipeline import make_query_pipeline

N_FILMS, N_USERS = 30, 300
WITHOUT = "without the text"


# -- tables --------------------------------------------------------------------------------


def offers(draw, options, is_shuffled=False):
    """Training and test queries of one draw."""
    X, y, qid = make_offers(options.queries, random_state=draw)
    if is_shuffled:
        X["title"] = np.random.default_rng(draw).permutation(X["title"])
    return parts(X, y, qid, qid < options.queries // 2)


def films(draw, options, is_one_text=False):
    """Users outside a part of all users, and those in it."""
    import pandas as pd

    data = load_movielens(data_folder(options.data, MOVIELENS))
    n_users, rng = len(data.users.number), np.random.default_rng(0)
    part_of = rng.permutation(n_users) % options.draws
    others = rng.permutation(np.flatnonzero(part_of != draw))[:N_USERS]
    order = rng.permutation(len(data.y))
    place = pd.Series(data.user[order]).groupby(data.user[order]).cumcount().to_numpy()
    is_train = np.isin(data.user, others)
    rows = np.sort(order[place < N_FILMS])
    rows = rows[is_train[rows] | (part_of[data.user[rows]] == draw)]
    released = data.films.released[data.film[rows]]
    year = released.astype("datetime64[Y]").astype(float) + 1970.0
    title = data.films.title[data.film[rows]].astype(object)
    genres = pd.DataFrame(data.X[rows], columns=data.feature_names)
    if is_one_text:
        names = np.array(data.feature_names)
        title = [f"{t} {' '.join(names[g > 0])}" for t, g in zip(title, genres.to_numpy())]
        genres = genres[[]]
    X = genres.assign(year=np.where(np.isnat(released), np.nan, year), title=title)
    return parts(X, data.y[rows] - 1.0, data.user[rows], is_train[rows])


def parts(X, y, qid, is_train):
    return [Part(X[rows], y[rows], qid[rows]) for rows in (is_train, ~is_train)]


TABLES = {
    "offers": offers,
    "offers, shuffled titles": lambda *args: offers(*args, is_shuffled=True),
    "films": films,
    "films, one text": lambda *args: films(*args, is_one_text=True),
}


# -- what becomes of the text --------------------------------------------------------------


class Arm(NamedTuple):
    """A function of a table, the class of a step before the ranker, and kinds of columns."""

    change: Callable = lambda X: X
    step: type | None = None
    columns: dict | None = None


def without(X):
    return X.drop(columns="title")


def without_identifier(X):
    return X.drop(columns="sku")


def as_categories(X):
    """Numbers of texts as categories, which are not read by their words."""
    import pandas as pd

    code, _ = pd.factorize(X["title"])
    return X.assign(title=pd.Categorical.from_codes(code, range(code.max() + 1)))


def by_hand(X):
    return X.drop(columns=["title", "sku", "listed"]).assign(
        refurbished=X["title"].str.contains("refurbished", case=False).astype(float),
        weekday=X["listed"].dt.day_of_week,
        hour=X["listed"].dt.hour,
    )


def arms_of(name, skrub):
    """Arms by name."""
    arms = {WITHOUT: Arm(without), "as categories": Arm(as_categories), "as it is": Arm()}
    if name.startswith("films"):
        arms["by its words"] = Arm(columns={"title": "text"})
    if name == "offers":
        arms["by hand"] = Arm(by_hand)
    if skrub is not None:
        arms["skrub"] = Arm(step=skrub.TableVectorizer)
        if "offers" in name:
            arms["skrub, no identifier"] = Arm(without_identifier, skrub.TableVectorizer)
    return arms


# -- results -------------------------------------------------------------------------------


def run(arm, trees, train, test, options):
    """NDCG@10 of test queries, and CPU seconds."""
    start = time.process_time()
    settings = {"columns": arm.columns, "random_state": 0, "n_jobs": options.threads}
    ranker = TabularRanker(trees=trees, **settings)
    if arm.step is not None:
        ranker = make_query_pipeline(arm.step(), ranker)
    scores = ranker.fit(*train).predict(test.X, test.qid)
    seconds = time.process_time() - start
    return ndcg_score(test.y, scores, qid=test.qid, k=10, average=False), seconds


def benchmark(name, skrub, options):
    """Values of all test queries, and mean seconds, by arm and trees."""
    arms = arms_of(name, skrub)
    results = {(arm, trees): [] for arm in arms for trees in (None, "auto")}
    for draw in range(options.draws):
        train, test = TABLES[name](draw, options)
        for name_of_arm, arm in arms.items():
            # Categories of both parts have the same numbers.
            X = arm.change(_stacked(train.X, test.X))
            tables = X.iloc[: len(train.X)], X.iloc[len(train.X) :]
            split = [part._replace(X=table) for part, table in zip((train, test), tables)]
            for trees in (None, "auto"):
                results[name_of_arm, trees].append(run(arm, trees, *split, options))
    return {
        key: (np.concatenate([values for values, _ in draws]), np.mean([s for _, s in draws]))
        for key, draws in results.items()
    }


def _stacked(*tables):
    import pandas as pd

    return pd.concat(tables, ignore_index=True)


def show(name, results):
    rows = []
    for arm in dict.fromkeys(arm for arm, _ in results):
        cells = []
        for trees in (None, "auto"):
            values, seconds = results[arm, trees]
            away = values - results[WITHOUT, trees][0]
            away = away[~np.isnan(away)]
            gap = f"{away.mean():+.4f} ± {away.std(ddof=1) / np.sqrt(len(away)):.4f}"
            cells += [f"{np.nanmean(values):.4f}", "" if arm == WITHOUT else gap, f"{seconds:.2f}"]
        rows.append([arm, *cells])
    n_queries = int((~np.isnan(results[WITHOUT, None][0])).sum())
    say(f"\n{name}: NDCG@10 of {n_queries} test queries, difference, CPU seconds")
    columns = ["trees=None", "to the first row", "s", "with trees", "to the first row", "s"]
    print_table(["", *columns], rows)


def main(argv=None):
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    arguments.add_argument("--draws", type=int, default=5)
    arguments.add_argument("--queries", type=int, default=400, help="of offers (default 400)")
    options = arguments.parse_args(argv)
    skrub = optional("skrub")
    packages = ("numpy", "scikit-learn", "lightgbm", "skrub")
    print(describe_environment(*packages, threads=options.threads))
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only:
            show(name, benchmark(name, skrub, options))


if __name__ == "__main__":
    main()
