"""Rankings of any model as a table."""

import sys
from functools import partial
from typing import Any

import numpy as np

from ..columns import tables
from ..columns.types import Array, ArrayLike, Estimator, Floats, Ints, Matrix
from ..data import Queries, check, positions, qid_array, results_of_blocks
from ..metrics import predict_with_queries

# Constructors of libraries whose frames are returned to those who pass them.
_OWN_FRAMES = {"polars": "DataFrame", "pyarrow": "table"}


def rank_frame(
    model: Estimator,
    X: Matrix,
    qid: ArrayLike,
    *,
    k: int | None = None,
    ids: ArrayLike | None = None,
) -> Any:
    """Return the rankings of a model for every query as a data frame.

    Use it to look at rankings, to write them to a file or to join them with other columns. The
    frame has a row for each document, with the query, the score and the position.

    Parameters
    ----------
    model : fitted estimator
        A ranker, a pipeline or search of a ranker, or any regressor. A ``predict`` that takes
        ``qid`` gets it.
    X : array-like of shape (n_rows, d)
        One row for each document. If X is a dask collection, its partitions hold whole queries, and
        only the result is in memory.
    qid : array-like of shape (n_rows,)
        Query of each row.
    k : int, default=None
        Number of documents to keep in each query. If None, all.
    ids : array-like of shape (n_rows,), default=None
        Name of each document. If None, the index of a pandas DataFrame, else the row number.

    Returns
    -------
    frame : DataFrame or Table
        A frame of polars or a table of pyarrow if X is one, else of pandas. Columns are ``qid``,
        ``id``, ``position`` (from 1) and ``score``. Queries are in order of appearance, their
        documents sorted by position; equal scores are in row order.

    Raises
    ------
    ValueError
        If there is not one score, one query and one name for each row.
    ImportError
        If pandas is needed and not installed.

    See Also
    --------
    to_run : The same as a dict of dicts, for other packages.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skcalrank import NDCGRanker, RankingTarget
    >>> from skcalrank.evaluation import rank_frame
    >>> X, qid = [[3.0], [1.0], [2.0], [0.0], [5.0]], ["a", "a", "a", "b", "b"]
    >>> y = RankingTarget([2, 0, 1, 0, 1], qid)
    >>> pipeline = make_pipeline(StandardScaler(), NDCGRanker()).fit(X, y)
    >>> rank_frame(pipeline, X, qid, k=2, ids=["u", "v", "w", "x", "y"]).round(2)
      qid id  position  score
    0   a  u         1   0.06
    1   a  w         2  -0.02
    2   b  y         1   0.22
    3   b  x         2  -0.17
    """
    library = type(X).__module__.partition(".")[0]
    pandas = None if library in _OWN_FRAMES else pandas_for("rank_frame")
    parts = results_of_blocks(partial(_ranked, model, k), qid, X=X, ids=ids)
    if ids is None and not hasattr(X, "iloc"):
        first = np.cumsum([0, *(n_rows for n_rows, _ in parts)])
        parts = [(n, of | {"id": of["id"] + start}) for (n, of), start in zip(parts, first)]
    if pandas is None:
        ((_, columns),) = parts
        return getattr(sys.modules[library], _OWN_FRAMES[library])(
            {k: of if of.dtype.kind in "iuf" else tables.listed(of) for k, of in columns.items()}
        )
    return pandas.concat([pandas.DataFrame(of) for _, of in parts], ignore_index=True)


def _ranked(model: Any, k: Any, *, X: Any, qid: Any, ids: Any) -> tuple[int, dict[str, Array]]:
    """Return the number of rows, and the columns of the rankings of the queries."""
    check.row_order(X=X, qid=qid, ids=ids)
    n_rows = tables.n_rows_of(X)
    queries = check.queries(qid, n_rows)
    values = np.asarray(predict_with_queries(model, X, qid))
    if values.ndim != 1:
        raise ValueError(
            f"model must predict one score for each row, got shape {values.shape}. If every row "
            "ranks the same items (the label-ranking form), use model.rank(X)."
        )
    scores = check.scores(values, (n_rows,)) if n_rows else values
    if ids is None:
        ids = X.index if hasattr(X, "index") and hasattr(X, "iloc") else np.arange(n_rows)
    names = qid_array(ids, "ids")
    if names.shape != (n_rows,):
        raise ValueError(f"ids must have one name for each of {n_rows} rows, got {names.shape}.")
    rows, place = top_rows(scores, queries, k)
    of_rows = np.asarray(queries.names)[queries.codes[rows]]
    return n_rows, {"qid": of_rows, "id": names[rows], "position": place, "score": values[rows]}


def pandas_for(caller: str) -> Any:
    """Return pandas; raise an error with the remedy if it is not installed."""
    remedy = f"{caller} requires pandas: install it with `pip install skcalrank[frames]`."
    return check.installed("pandas", remedy)


def top_rows(scores: Floats, queries: Queries, k: int | None) -> tuple[Ints, Ints]:
    """Return the rows up to position k query by query, best first, and their positions."""
    if queries.names is None:
        raise ValueError("qid must hold the query of each row, or be 0 for one query, got None.")
    place = queries.ungroup(positions(queries.group(scores), queries))
    rows = np.lexsort((place, queries.codes))
    check.cutoff(k)
    rows = rows if k is None else rows[place[rows] <= k]
    return rows, place[rows]
