"""Made offers of a shop: a table with text, dates, categories and missing values."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..columns.types import Array, Floats, Ints, Seed
from ..data import check
from ._container import RankingData
from ._made import made_sizes

# Words of titles, the most frequent first; the k-th is as frequent as 1 / (k + 3).
_WORDS = """
new set pro black with steel classic mini white kit pack plus home portable premium light wood
case digital blue smart large cotton travel red compact cover wireless stand original series small
glass leather outdoor kids power green gray board heavy slim bag vintage storage water air soft
electric garden duo holder table natural adjustable tool kitchen round silver foldable bamboo
office dual audio professional flat double extra lamp box sport high bottle rack long deluxe
copper folding cable screen speed quiet motor ceramic waterproof pink desk hook chair gold shelf
magnetic rubber hand quick tray desktop camera fitness universal brush winter plate mesh filter
summer frame rope modern ring thermal baby hanging pillow marble cap clip square basket handle
retro solar oak yellow brass linen curved tripod velvet orange lid mat charger hammer vase mirror
purple ladder wheel towel sensor kettle scale whisk drill nylon turquoise clock pan beige hose
walnut timer quilt apron ivory drawer tongs lantern crate jug wicker
"""

# The word that matters, and the share of the titles that have it.
_TELLING, _SHARE = "refurbished", 0.25

_N_CATEGORIES = 200
_START, _DAYS = np.datetime64("2025-01-06T00:00:00", "s"), 280  # a Monday
_DAY = 86_400  # seconds

# A grade is the number of these that the worth of an offer exceeds.
_STEPS = (0.4, 1.4, 2.2, 3.0)


def make_offers(
    n_queries: int = 200, n_documents: int | tuple[int, int] = 20, *, random_state: Seed = None
) -> RankingData:
    """Make a table of offers in a shop, whose columns are as messy as those of real tables.

    A query is a search, its documents are offers. What an offer is worth is the sum of effects of
    its columns and of noise; the label is its grade, from 0 to 4.

    * ``title``: three to eight words. One, "refurbished", is in a quarter of the titles, and makes
      an offer worth less. The other 162 do not matter; their frequencies decrease as in texts.
    * ``listed``: date and time; the hour and the weekday matter, the date does not.
    * ``category``: 200 levels of decreasing frequency, with an effect each.
    * ``price``: matters relative to the query.
    * ``rating``, ``n_ratings``: mean and number of ratings. The mean counts for more the more
      ratings there are, and is missing where there are none.
    * ``in_stock``: True or False.
    * ``sku``: an identifier that differs in all rows.

    Titles, dates, categories and truth values may also be missing, at random.

    Parameters
    ----------
    n_queries : int, default=200
    n_documents : int or (int, int), default=20
        Number of documents of each query, or the range (both ends included) it is drawn from.
    random_state : int, RandomState instance or None, default=None
        Also determines the effects of the categories: take training and test queries from one call.

    Returns
    -------
    data : RankingData
        Unpacks to ``X, y, qid``; X is a pandas DataFrame.

    Raises
    ------
    ValueError
        If a number is too small to make a ranking problem.
    ImportError
        If pandas is not installed.

    See Also
    --------
    make_subset_ranking : Numbers with a known conditional distribution.
    skcalrank.preprocessing.TableEncoder : The reader of such tables.

    Examples
    --------
    >>> from skcalrank.datasets import make_offers
    >>> X, y, qid = make_offers(n_queries=50, random_state=0)
    >>> list(X.columns)
    ['title', 'listed', 'category', 'price', 'rating', 'n_ratings', 'in_stock', 'sku']
    >>> is_refurbished = X["title"].str.contains("refurbished", case=False, na=False)
    >>> bool(y[is_refurbished].mean() < y[~is_refurbished].mean())
    True
    """
    check.count("n_queries", n_queries)
    rng = check_random_state(random_state)
    qid = np.repeat(np.arange(n_queries), made_sizes(n_queries, n_documents, rng))
    remedy = 'make_offers makes a data frame, which needs pandas: pip install "skcalrank[frames]"'
    pandas = check.installed("pandas", remedy)
    n_rows = len(qid)
    titles, is_telling = _titles(n_rows, rng)
    listed = _START + rng.randint(_DAYS * _DAY, size=n_rows)
    levels = _zipf(n_rows, _N_CATEGORIES, 5, rng)
    of_query, relative = rng.normal(3.5, 1.0, size=n_queries)[qid], rng.normal(size=n_rows)
    n_ratings = rng.negative_binomial(1, 0.05, size=n_rows)
    rating = np.clip(rng.normal(4.0, 0.6, size=n_rows), 1.0, 5.0).round(1)
    in_stock = rng.random_sample(n_rows) < 0.8
    worth = (
        np.where(is_telling, -1.2, 0.0)
        + _of_moments(listed)
        + rng.normal(scale=0.6, size=_N_CATEGORIES)[levels]
        - 0.5 * relative
        + 0.25 * (rating - 4.0) * np.log1p(n_ratings)
        + 0.5 * in_stock
        + rng.logistic(scale=0.4, size=n_rows)
    )
    categories = np.char.add("c", levels.astype(str)).astype(object)
    columns = {
        "title": _with_holes(titles, None, 0.02, rng),
        "listed": _with_holes(listed, np.datetime64("NaT", "s"), 0.02, rng),
        "category": _with_holes(categories, None, 0.03, rng),
        "price": np.exp(of_query + 0.4 * relative).round(2),
        "rating": np.where(n_ratings > 0, rating, np.nan),
        "n_ratings": n_ratings,
        "in_stock": _with_holes(in_stock.astype(object), None, 0.05, rng),
        "sku": [f"SKU-{number:06d}" for number in rng.permutation(10 * n_rows)[:n_rows]],
    }
    return RankingData(
        pandas.DataFrame(columns),
        np.searchsorted(_STEPS, worth),
        qid,
        description="Offers of a shop, with text, dates, categories and missing values.",
        feature_names=list(columns),
    )


def _titles(n_rows: int, rng: Any) -> tuple[Array, Array]:
    """Return titles, and whether they have the word that matters."""
    is_telling = rng.random_sample(n_rows) < _SHARE
    lengths = rng.randint(3, 9, size=n_rows)
    plain = _WORDS.split()
    words = _zipf(lengths.sum(), len(plain), 3, rng)
    titles = np.empty(n_rows, dtype=object)
    for row, of_title in enumerate(np.split(words, np.cumsum(lengths)[:-1])):
        title = [plain[word] for word in dict.fromkeys(of_title.tolist())]
        if is_telling[row]:
            title.insert(rng.randint(len(title) + 1), _TELLING)
        titles[row] = " ".join(title).capitalize()
    return titles, is_telling


def _zipf(n: int, n_levels: int, offset: int, rng: Any) -> Ints:
    """Return levels, of which the k-th is as frequent as 1 / (k + offset)."""
    chances = 1.0 / (np.arange(n_levels) + offset)
    return rng.choice(n_levels, size=n, p=chances / chances.sum())


def _of_moments(listed: Array) -> Floats:
    """Return the effects of the hour and of the weekday: evenings and weekends are good."""
    seconds = (listed - _START).astype(np.int64)
    by_hour = 0.8 * np.cos(2 * np.pi * (seconds % _DAY / _DAY - 20 / 24))
    return by_hour + np.where(seconds // _DAY % 7 >= 5, 0.8, 0.0)


def _with_holes(values: Array, missing: Any, share: float, rng: Any) -> Array:
    """Return values of which a share is missing."""
    out = values.copy()
    out[rng.random_sample(len(out)) < share] = missing
    return out
