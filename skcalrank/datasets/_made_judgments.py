"""Partial judgments drawn from a known distribution: comparisons and click sessions."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from ..columns import CHUNK_ROWS, arrays
from ..columns.types import ArrayLike, Floats, Ints, Seed
from ..data import Queries, check, check_qid
from ..judgments import ClickSessions, PositionModel, PreferenceTarget, check_probabilities


def sample_comparisons(
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    n_comparisons: int = 1000,
    temperature: float = 1.0,
    random_state: Seed = None,
) -> PreferenceTarget:
    r"""Draw comparisons of documents by the Bradley-Terry-Luce model (DMJ13, section 6.2).

    For each comparison, a query is drawn uniformly among those with two documents or more, then a
    pair of its documents uniformly, and document i wins against j with probability

    .. math:: P(i \succ j) = \frac{1}{1 + e^{(y_j - y_i)/T}} .

    Parameters
    ----------
    y : array-like of shape (n_rows,) or (n, r)
        Relevances. In the label-ranking form every row is a query.
    qid : array-like of shape (n_rows,), default=None
        Query of each row.
    n_comparisons : int, default=1000
    temperature : float, default=1.0
        T > 0: the larger, the more comparisons go against the relevances.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    target : PreferenceTarget
        Each comparison is a judgment of its own, of weight 1.

    Raises
    ------
    ValueError
        If no query has two documents, or a parameter is out of range.

    Examples
    --------
    >>> from skcalrank import sample_comparisons
    >>> from skcalrank.aggregation import mean_log_odds
    >>> y = sample_comparisons([2.0, 0.0, 1.0], n_comparisons=100_000, random_state=0)
    >>> y
    PreferenceTarget(3 rows, 100000 preferences)
    >>> mean_log_odds(y).round(1)
    array([ 1.5, -1.5,  0. ])
    """
    check.count("n_comparisons", n_comparisons)
    check.number("temperature", temperature, "> 0")
    index, qid = check.index_of(qid, y), check.carried_qid(y, qid)
    relevance, queries = check.target(y, qid)
    several = np.flatnonzero(queries.sizes > 1)
    if not len(several):
        raise ValueError("No query has two documents: there is nothing to compare.")
    rng = check_random_state(random_state)
    query = several[rng.randint(len(several), size=n_comparisons)]
    size = queries.sizes[query]
    first = rng.randint(size)
    second = (first + rng.randint(1, size)) % size
    first, second = queries.ptr[query] + first, queries.ptr[query] + second
    share = expit((relevance[first] - relevance[second]) / temperature)
    wins = rng.random_sample(n_comparisons) < share
    winner, loser = np.where(wins, first, second), np.where(wins, second, first)
    if queries.order is not None:
        winner, loser = queries.order[winner], queries.order[loser]
    n_rows = len(y)  # type: ignore[arg-type]
    n_items = None if n_rows == queries.n_rows else int(queries.sizes[0])
    weights, judgments = np.ones(n_comparisons), np.arange(n_comparisons)
    qid = None if qid is None else np.array(check_qid(qid, n_rows))
    target = PreferenceTarget(winner, loser, weights, judgments, n_rows, qid, n_items)
    target.index = index
    return target


def sample_sessions(
    p: Any,
    qid: ArrayLike | None = None,
    *,
    n_sessions: int = 1000,
    n_shown: int | None = None,
    order_scores: ArrayLike | None = None,
    model: str = "cascade",
    propensity: ArrayLike | None = None,
    trust: tuple[ArrayLike, ArrayLike] | None = None,
    random_state: Seed = None,
) -> ClickSessions:
    r"""Draw click sessions of users with known probabilities.

    For each session, a query is drawn uniformly, and its documents are put in order. A user of the
    cascade model (DMJ13, section 5.2) reads from the top, clicks document l with probability
    :math:`p_l` when arriving at it, and leaves with the first click. A user of the position-based
    model examines position k with probability :math:`\theta_k`, and clicks on an examined document
    with probability :math:`p_l`, independently of the other documents.

    Parameters
    ----------
    p : array-like of shape (n_rows,)
        Click probability of each document, given that it is examined; the probability that it is
        relevant, with `trust`.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    n_sessions : int, default=1000
    n_shown : int, default=None
        Cutoff: number of documents that a session shows, all where the query has fewer; None = all.
    order_scores : array-like of shape (n_rows,), default=None
        Scores of the logger. The orders are drawn by the Plackett-Luce model of these scores: the
        next document is one of the remaining ones, with probability proportional to
        ``exp(order_scores)``. Scores times 1e9 make a logger that does not randomize. None: all
        orders are equally likely.
    model : {"cascade", "position"}, default="cascade"
    propensity : array-like of shape (n_positions,), default=None
        Probabilities :math:`\theta_k` of the position-based model. None is :math:`1 / k`.
    trust : pair of numbers or arrays of shape (n_positions,), default=None
        Click probabilities of examined documents that are relevant and not, in both models, as in
        :func:`skcalrank.aggregation.position_based`. None is (1, 0).
    random_state : int, RandomState instance or None, default=None

    Raises
    ------
    ValueError
        If a probability or parameter is out of range.

    Examples
    --------
    >>> from skcalrank import sample_sessions
    >>> from skcalrank.aggregation import cascade
    >>> y = sample_sessions([0.1, 0.5, 0.3], n_sessions=100_000, random_state=0)
    >>> y
    ClickSessions(3 rows, 100000 sessions)
    >>> cascade(y).probability.round(2)
    array([0.1, 0.5, 0.3])
    >>> from skcalrank.aggregation import position_based
    >>> theta = [1.0, 0.5, 0.3]
    >>> y = sample_sessions(
    ...     [0.1, 0.5, 0.3], n_sessions=100_000, model="position", propensity=theta, random_state=0)
    >>> position_based(y, theta).relevance.round(2)
    array([0.1, 0.5, 0.3])
    """
    check.option("model", model, ("cascade", "position"))
    if model == "cascade" and propensity is not None:
        raise ValueError('propensity must be None for model="cascade": it is of "position".')
    check.count("n_sessions", n_sessions)
    if n_shown is not None:
        check.count("n_shown", n_shown)
    index, qid = check.index_of(qid, p), check.carried_qid(p, qid, order_scores=order_scores)
    qid = np.zeros(len(p), dtype=int) if qid is None else np.array(check_qid(qid, len(p)))
    p, queries = check.target(arrays.as_array(p, "p"), qid, name="p")
    check_probabilities(p, "p")
    order_scores = np.zeros(len(p)) if order_scores is None else order_scores
    order_scores = arrays.as_array(order_scores, "order_scores")
    scores, _ = check.target(order_scores, qid, name="order_scores")
    rng = check_random_state(random_state)
    query = rng.randint(queries.n_queries, size=n_sessions)
    shown, ptr = _orders(scores, queries, query, n_shown, rng)
    position = np.arange(1, len(shown) + 1) - np.repeat(ptr[:-1], np.diff(ptr))
    if propensity is None:
        places = np.arange(1, position.max() + 1)
        propensity = places**0.0 if model == "cascade" else 1 / places
    if np.max(propensity, initial=0) > 1:
        raise ValueError(f"propensity must hold probabilities, got {np.max(propensity):g}.")
    slope, offset = PositionModel.of(propensity, trust).at(position)
    clicked = rng.random_sample(len(shown)) < slope * p[shown] + offset
    if model == "cascade":  # the first click of a session alone
        before = np.cumsum(clicked) - clicked
        clicked &= before == np.repeat(before[ptr[:-1]], np.diff(ptr))
    rows = shown if queries.order is None else queries.order[shown]
    sessions = ClickSessions.unchecked(qid, rows, ptr, clicked)
    sessions.index = index
    return sessions


def _orders(
    scores: Floats, queries: Queries, query: Ints, n_shown: int | None, rng: np.random.RandomState
) -> tuple[Ints, Ints]:
    """Return the documents of each session in the order shown, and pointers to the sessions."""
    sizes = queries.sizes[query]
    taken = sizes if n_shown is None else np.minimum(sizes, n_shown)
    ptr = np.append(0, np.cumsum(taken))
    shown = np.empty(ptr[-1], dtype=np.intp)
    for ids, _, sessions in Queries(np.append(0, np.cumsum(sizes))).parts(CHUNK_ROWS):
        start = queries.ptr[query[ids]]
        document = np.arange(sessions.n_rows) + sessions.repeat(start - sessions.ptr[:-1])
        # Sorting scores with Gumbel noise draws from the Plackett-Luce model.
        keys = sessions.extend(scores[document] + rng.gumbel(size=sessions.n_rows), np.negative)
        for bucket in sessions.buckets:
            count, to = taken[ids][bucket.ids, None], ptr[:-1][ids][bucket.ids, None]
            order = np.argsort(bucket.pad(keys, np.inf), axis=1)[:, : count.max()]
            position = np.arange(order.shape[1])
            some = position < count
            shown[(to + position)[some]] = (start[bucket.ids, None] + order)[some]
    return shown, ptr
