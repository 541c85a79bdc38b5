"""Probabilities that positions are examined, from documents that were shown at several of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, diags
from scipy.sparse.csgraph import connected_components

from ..data import ClickSessions, warn
from ..data.types import Floats, Ints


class PropensityEstimate(NamedTuple):
    """Examination probabilities relative to position 1, each of shape (n_positions,).

    Attributes
    ----------
    propensity : ndarray
        1 for position 1. At positions where nothing was shown, it is interpolated.
    standard_error : ndarray
        0 for position 1 and those merged with it, NaN where nothing was shown.
    group : ndarray of int
        Positions with the same number were merged; -1 where nothing was shown.
    """

    propensity: Floats
    standard_error: Floats
    group: Ints


def fit_propensities(sessions: ClickSessions, *, merge: bool = False) -> PropensityEstimate:
    r"""Estimate how often positions are examined, relative to the first one.

    In the position-based model a document with relevance r, shown :math:`n_k` times at position k,
    has :math:`n_k \theta_k r` clicks there in expectation. Among documents that were shown at
    several positions, r cancels: given its clicks, the shares of the positions are
    :math:`n_k \theta_k / \sum_j n_j \theta_j`. The estimate maximizes

    .. math:: \sum_{\text{documents}} \sum_k c_k \log \frac{n_k \theta_k}{\sum_j n_j \theta_j}

    which is concave in :math:`\log \theta`. Its gradient is 0 in expectation at the true
    propensities, whatever the relevances are.

    Parameters
    ----------
    sessions : ClickSessions
        Click sessions, of which some documents were shown at several positions for the same query,
        by randomization or because the system changed.
    merge : bool, default=False
        Whether to give neighboring positions one propensity where the log cannot tell them apart,
        with a warning.

    Returns
    -------
    estimate : PropensityEstimate

    Raises
    ------
    TypeError
        For other targets.
    ValueError
        If position 1 was never shown, or the log does not identify the propensities, also after
        merging.

    Warns
    -----
    UserWarning
        If positions were merged.

    See Also
    --------
    position_based : Relevances from these propensities.

    Notes
    -----
    The propensities are identified if and only if positions are joined by documents that were shown
    at both, in both directions: join j to k if a document was shown at j and clicked at k. The call
    refuses a log in which this graph is not strongly connected, and names its components; then the
    estimate would be 0, infinite or arbitrary for some positions. This is the condition of Ford
    (1957) for comparisons: here positions compete for the clicks of a document.

    Relevances must not change with the position: where a document moves up because it became more
    relevant, the estimate is too steep. Only ratios are identified, so that the first position
    counts as 1. Standard errors treat queries as independent and allow for any dependence within
    them; those of a single query treat its clicks as independent and rare.

    References
    ----------
    Agarwal, Zaitsev, Wang, Li, Najork and Joachims (2019). Estimating position bias without
    intrusive interventions. WSDM.

    Ford (1957). Solution of a ranking problem from binary comparisons. American Mathematical
    Monthly 64.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank import sample_sessions
    >>> from skcalrank.aggregation import fit_propensities
    >>> p, theta = np.linspace(0.1, 0.9, 4), [1.0, 0.5, 0.3, 0.2]
    >>> y = sample_sessions(
    ...     p, n_sessions=100_000, model="position", propensity=theta, random_state=0)
    >>> fit_propensities(y).propensity.round(2)
    array([1. , 0.5, 0.3, 0.2])
    """
    if not isinstance(sessions, ClickSessions):
        raise TypeError(
            f"sessions must be ClickSessions for fit_propensities, got {type(sessions).__name__}: "
            "make them with ClickSessions.from_frame."
        )
    shown = np.flatnonzero(np.bincount(sessions.position))
    if not len(shown) or shown[0] != 1:
        raise ValueError("sessions must show documents at position 1, got none there.")
    at = np.searchsorted(shown, sessions.position)
    cells = (sessions.shown_rows, at)
    shape = (len(sessions), len(shown))
    impressions = csr_matrix((np.ones(len(at)), cells), shape=shape)
    clicks = csr_matrix((sessions.clicked.astype(float), cells), shape=shape)
    group = _groups(impressions, clicks, shown, merge)
    to_group = csr_matrix((np.ones(len(shown)), (np.arange(len(shown)), group)))
    theta, error = _fitted(impressions @ to_group, clicks @ to_group, sessions.queries().codes)
    positions = np.arange(1, shown[-1] + 1)
    out = np.exp(np.interp(positions, shown, np.log(theta[group])))
    errors, groups = np.full(len(positions), np.nan), np.full(len(positions), -1)
    errors[shown - 1], groups[shown - 1] = error[group], group
    return PropensityEstimate(out, errors, groups)


def _groups(impressions: csr_matrix, clicks: csr_matrix, shown: Ints, merge: bool) -> Ints:
    """Return the group of each position, or raise if the propensities are not identified."""
    was_shown, was_clicked = (impressions > 0).astype(float), (clicks > 0).astype(float)
    # From a position to another if a document was shown there and clicked here.
    n, part = connected_components(was_shown.T @ was_clicked, directed=True, connection="strong")
    if n == 1:
        return np.arange(len(shown)) if len(shown) > 1 else np.zeros(1, dtype=np.intp)
    names = "; ".join(_listed(shown[part == k]) for k in np.argsort(_first(part)))
    if not merge:
        raise ValueError(
            f"sessions must identify the propensities, got {n} groups of positions that no clicks "
            f"on documents shown at both compare in both directions: {names}. Show some searches "
            "in random order, leave out the last positions, or merge neighbors with merge=True."
        )
    label = part.copy()
    joined = np.zeros(len(shown), dtype=bool)  # whether a position is merged with the next one
    for k in range(len(shown) - 1):
        if label[k] != label[k + 1]:
            joined[k] = True
            label[label == label[k + 1]] = label[k]
    group = np.cumsum(np.append(0, ~joined[:-1]))
    if group[-1] == 0:
        raise ValueError(
            "sessions must identify the propensities, got one group of positions after merging: no "
            "documents were clicked at several of them. Show some searches in random order."
        )
    merged = "; ".join(_listed(shown[group == k]) for k in np.flatnonzero(np.bincount(group) > 1))
    warn(
        f"The log cannot compare the positions {names}. They have one propensity within "
        f"{merged}: estimates of documents there are biased by what lies between the positions."
    )
    return group


def _first(part: Ints) -> Ints:
    """Return the first place of each number."""
    return np.unique(part, return_index=True)[1]


def _listed(positions: Ints) -> str:
    """Return positions in words, such as 1-3, 5."""
    runs = np.split(positions, np.flatnonzero(np.diff(positions) > 1) + 1)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _fitted(impressions: csr_matrix, clicks: csr_matrix, query: Ints) -> tuple[Floats, Floats]:
    """Return propensities relative to the first group, and their standard errors."""
    total = np.asarray(clicks.sum(axis=1)).ravel()
    several = (np.diff((impressions > 0).tocsr().indptr) > 1) & (total > 0)
    n, c, total, query = impressions[several], clicks[several], total[several], query[several]
    at_group, all_clicks = np.asarray(c.sum(axis=0)).ravel(), total.sum()

    def shares(free: Floats) -> tuple[csr_matrix, Floats]:
        """Return the share of each group in the clicks of each document, and the divisors."""
        weighted = n @ diags(np.exp(np.append(0.0, free)))
        divisor = np.asarray(weighted.sum(axis=1)).ravel()
        return diags(1 / divisor) @ weighted, divisor

    def loss(free: Floats) -> float:
        logs = np.append(0.0, free)
        return float(total @ np.log(shares(free)[1]) - at_group @ logs) / all_clicks

    def slope(free: Floats) -> Floats:
        return (shares(free)[0].T @ total - at_group)[1:] / all_clicks

    def curvature(free: Floats) -> Floats:
        share = shares(free)[0]
        both = (share.T @ diags(total) @ share).toarray()
        return (np.diag(share.T @ total) - both)[1:, 1:] / all_clicks

    start = np.zeros(n.shape[1] - 1)
    if not len(start):
        return np.ones(1), np.zeros(1)
    free = minimize(
        loss, start, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-10}
    ).x
    share = shares(free)[0]
    inverse = np.linalg.inv(curvature(free))
    names, query = np.unique(query, return_inverse=True)
    if len(names) > 1:
        of_queries = csr_matrix((np.ones(len(query)), (query.ravel(), np.arange(len(query)))))
        gradient = (of_queries @ (c - diags(total) @ share)).toarray()[:, 1:] / all_clicks
        spread = gradient.T @ gradient * len(names) / (len(names) - 1)
        variance = inverse @ spread @ inverse
    else:
        variance = inverse / all_clicks
    theta = np.exp(np.append(0.0, free))
    return theta, theta * np.append(0.0, np.sqrt(np.diag(variance)))
