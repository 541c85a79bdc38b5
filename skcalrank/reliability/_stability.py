"""How far positions move if a ranker is trained on other queries of the same kind."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..boosting import adapted, scores_of
from ..columns import tables
from ..columns.types import ArrayLike, Estimator, Ints, Labels, Matrix, Seed
from ..data import check, positions


def rank_stability(
    ranker: Estimator,
    X: Matrix,
    y: Labels,
    qid: ArrayLike,
    *,
    X_new: Matrix,
    qid_new: ArrayLike,
    n_draws: int = 100,
    random_state: Seed = 0,
) -> Ints:
    """Return the positions of documents if other queries of the same kind had trained the ranker.

    Training queries are drawn with replacement, by weights, and a clone of the ranker is fitted to
    each draw: milliseconds each in closed form. This is *stability under another draw of the
    training queries*, and no interval of the true position: what all rankers of a class get
    wrong, more queries do not show. With more queries positions become stable, and hold the true
    one less and less often.

    Parameters
    ----------
    ranker : ranker
        A ranker whose `fit` takes weights. It is not changed.
    X : array-like of shape (n_rows, d)
        Documents of the training queries.
    y : array-like of shape (n_rows,)
        Relevances, higher is better.
    qid : array-like of shape (n_rows,)
        Query of each row.
    X_new : array-like of shape (n_new, d)
        Documents to rank.
    qid_new : array-like of shape (n_new,) or scalar
        Query of each row of `X_new`, or a scalar, if all rows are one query.
    n_draws : int, default=100
        Number of draws.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws. They do not depend on the order of the rows.

    Returns
    -------
    positions : ndarray of int of shape (n_draws, n_new)
        1-based position of each document within its query, in each draw. The share of the draws
        with a document among the first k is ``(positions <= k).mean(axis=0)``.

    Raises
    ------
    ValueError
        If the input is not a ranking problem.

    See Also
    --------
    GuaranteedCutoff : The best document is among those that are kept, with a promise.

    Examples
    --------
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.reliability import rank_stability
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=10)
    >>> train = qid < 39
    >>> places = rank_stability(
    ...     NDCGRanker(), X[train], y[train], qid[train],
    ...     X_new=X[~train], qid_new=qid[~train], n_draws=20,
    ... )
    >>> places.shape
    (20, 10)
    """
    check.count("n_draws", n_draws, "a number of draws")
    check.row_order(X_new=X_new, qid_new=qid_new)
    _, queries = check.target(y, check.carried_qid(y, qid, X=X))
    rng, out = check_random_state(random_state), []
    of_new = check.queries(check.of_one_query(qid_new, X_new), tables.n_rows_of(X_new))
    for _ in range(n_draws):
        drawn = rng.randint(queries.n_queries, size=queries.n_queries)
        counts = np.bincount(drawn, minlength=queries.n_queries).astype(float)
        fitted = adapted(clone(ranker)).fit(
            X, y, qid, sample_weight=counts[queries.name_ranks][queries.codes]
        )
        scores = scores_of(fitted, X_new, of_new, True)
        out.append(of_new.ungroup(positions(of_new.group(scores), of_new)))
    return np.array(out)
