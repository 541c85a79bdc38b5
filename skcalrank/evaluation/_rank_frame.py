"""Rankings of any model as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import ArrayLike, Matrix, check_count, check_queries, check_scores, positions
from ..metrics import predict_with_queries


def rank_frame(
    model: Any,
    X: Matrix,
    qid: ArrayLike,
    *,
    k: int | None = None,
    ids: ArrayLike | None = None,
) -> Any:
    """Return the rankings of a model for every query as a pandas DataFrame.

    Parameters
    ----------
    model : fitted estimator
        A ranker, a pipeline or search of a ranker, or any regressor. A ``predict`` that takes
        ``qid`` gets it.
    X : array-like of shape (n_rows, d)
        One row for each document.
    qid : array-like of shape (n_rows,)
        Query of each row.
    k : int, default=None
        Number of documents to keep in each query. If None, all.
    ids : array-like of shape (n_rows,), default=None
        Name of each document. If None, the index of a pandas DataFrame, else the row number.

    Returns
    -------
    frame : DataFrame
        With columns ``qid``, ``id``, ``position`` (from 1) and ``score``. Queries are in order of
        appearance, their documents sorted by position; equal scores are in row order.

    Raises
    ------
    ValueError
        If there is not one score, one query and one name for each row.
    ImportError
        If pandas is not installed.

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
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ImportError(
            "rank_frame requires pandas: install it with `pip install skcalrank[frames]`."
        ) from error
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]
    queries = check_queries(qid, n_rows)
    found = np.asarray(predict_with_queries(model, X, qid))
    if found.ndim != 1:
        raise ValueError(
            f"model must predict one score for each row, got shape {found.shape}. If every row "
            "ranks the same items (the label-ranking form), use model.rank(X)."
        )
    scores = check_scores(found, (n_rows,))
    names = _names(X, ids, n_rows)
    place = queries.ungroup(positions(queries.group(scores), queries))
    rows = np.lexsort((place, queries.codes))
    if k is not None:
        check_count("k", k, "or None for all documents")
        rows = rows[place[rows] <= k]
    queries_of = np.asarray(queries.names)[queries.codes[rows]]
    columns = {"qid": queries_of, "id": names[rows], "position": place[rows], "score": found[rows]}
    return DataFrame(columns)


def _names(X, ids, n_rows):
    if ids is None:
        ids = X.index if hasattr(X, "index") and hasattr(X, "iloc") else np.arange(n_rows)
    names = np.asarray(ids)
    if names.shape != (n_rows,):
        raise ValueError(f"ids must have one name for each of {n_rows} rows, got {names.shape}.")
    return names
