"""Maximal marginal relevance: orders whose first documents are unlike each other."""

import numpy as np

from ..columns import arrays
from ..columns.types import ArrayLike, Floats, Ints
from ..data import Queries, check, positions


def rerank_diverse(
    y_score: ArrayLike,
    X: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    score_weight: float = 0.7,
    k: int | None = None,
) -> Ints:
    r"""Return positions that trade scores against likeness to documents ranked before (MMR).

    Use it after any ranker where the first results should not all say the same. The document of
    each position is, of those that are left, the one that maximizes [1]_

    .. math:: \lambda s_i - (1 - \lambda) \max_{j \text{ ranked}} \cos(x_i, x_j)

    with the scores of a query scaled to the range from 0 to 1.

    Parameters
    ----------
    y_score : array-like of shape (n_rows,)
        Scores of a ranker, higher is better.
    X : array-like of shape (n_rows, d)
        What the documents are compared by, such as embeddings of their texts. A row of zeros is
        like no other one.
    qid : array-like of shape (n_rows,), default=None
        Query of each row. If None, all rows are one query.
    score_weight : float, default=0.7
        Weight :math:`\lambda` of the score, from 0 to 1; 1 sorts by the score alone.
    k : int, default=None
        Number of positions that are chosen in this way; the documents below follow by their scores.
        If None, all, in time that grows with the square of the length of a query.

    Returns
    -------
    positions : ndarray of int of shape (n_rows,)
        1-based position of each document in its query; equal values keep their order.

    Raises
    ------
    ValueError
        If a value is not finite, the lengths differ, or `score_weight` or `k` is out of range.

    References
    ----------
    .. [1] Carbonell and Goldstein: The use of MMR, diversity-based reranking for reordering
       documents and producing summaries, SIGIR 1998.

    Examples
    --------
    The second document repeats the first, so the third one comes before it:

    >>> from skcalrank.preds import rerank_diverse
    >>> rerank_diverse([0.9, 0.8, 0.5], [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], score_weight=0.5)
    array([1, 3, 2])
    """
    check.row_order(y_score=y_score, X=X, qid=qid)
    arrays.refuse_rounding(y_score, "y_score")
    values: Floats = arrays.checked(y_score, "y_score", ensure_2d=False)
    features: Floats = arrays.checked(X, "X")
    if values.ndim != 1 or len(features) != len(values):
        raise ValueError(
            f"y_score must be one number for each of the {len(features)} rows of X, got shape "
            f"{values.shape}."
        )
    check.number("score_weight", score_weight, ">= 0 and <= 1")
    check.cutoff(k)
    queries = check.queries(qid, len(values))
    # Differences and squares of the largest and smallest numbers stay in range.
    s = queries.group(values)
    s = s / queries.repeat(arrays.scale_of(queries.max(np.abs(s))))
    x = queries.group(features / arrays.scale_of(np.abs(features).max(axis=1, keepdims=True)))
    last = int(queries.sizes.max()) if k is None else min(k, int(queries.sizes.max()))
    return queries.ungroup(positions(_chosen(s, x, queries, float(score_weight), last), queries))


def _chosen(s: Floats, x: Floats, queries: Queries, weight: float, k: int) -> Floats:
    """Return scores, in grouped order, that sort documents as they are chosen."""
    codes, starts = queries.repeat(np.arange(queries.n_queries)), queries.ptr[:-1]
    low, out = queries.repeat(-queries.max(-s)), -1.0 * positions(s, queries)  # below the chosen
    s = arrays.safe_divide(s - low, queries.repeat(queries.max(s)) - low)
    x = arrays.safe_divide(x, np.linalg.norm(x, axis=1, keepdims=True))
    likeness, left, numbers = np.zeros(len(s)), np.ones(len(s), dtype=bool), np.arange(len(s))
    for place in range(k):
        value = np.where(left, weight * s - (1 - weight) * likeness, -np.inf)
        is_best = left & (value == queries.max(value)[codes])
        first = np.minimum.reduceat(np.where(is_best, numbers, len(s)), starts)
        rows = first[first < len(s)]  # queries that have a document left
        out[rows], left[rows] = k - place, False
        with_best = np.where(first < len(s), first, 0)[codes]
        near = np.einsum("ij,ij->i", x, x[with_best])
        likeness = near if place == 0 else np.maximum(likeness, near)
    return out
