"""Probabilities that positions are examined, from documents that were shown at several of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, diags, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.isotonic import isotonic_regression

from ..columns import arrays
from ..columns.types import Array, Floats, Ints, Matrix
from ..data import Queries, check, warn
from ..judgments import (
    ClickCounts,
    ClickSessions,
    check_clicks,
    refuse_clicks_alone,
    warn_of_cut_lists,
)

# Steps of least squares by turns, which take about 20, and the largest change of the last one.
_MOST_STEPS, _TOLERANCE = 1000, 1e-7

# Level of Student's intervals in which 1.96 standard errors end.
_LEVEL = 0.975


class PropensityEstimate(NamedTuple):
    """Examination probabilities relative to position 1, each of shape (n_positions,).

    Attributes
    ----------
    propensity : ndarray
        1 for position 1. At positions where nothing was shown, it is interpolated.
    standard_error : ndarray
        0 for position 1 and those merged with it, NaN where nothing was shown. Within 1.96 of them
        is Student's 95 % interval, which is wide if a few queries have most of the clicks.
    group : ndarray of int
        Positions with the same number were merged; -1 where nothing was shown.
    influence : ndarray of shape (n_parts, n_positions)
        What each query adds to the error of the logarithm of the propensities, so that sums of
        products are covariances. :func:`~skcalrank.evaluation.offline_evaluate` reads it.
    query : ndarray of shape (n_parts,)
        Query of each row of `influence`; None if the clicks of one query alone tell the
        propensities, whose influence is a root of the covariance.
    """

    propensity: Floats
    standard_error: Floats
    group: Ints
    influence: Floats
    query: Array

    @classmethod
    def known(cls, propensity: Floats) -> PropensityEstimate:
        """Return propensities without error.

        Parameters
        ----------
        propensity : ndarray of shape (n_positions,)

        Returns
        -------
        estimate : PropensityEstimate
        """
        n, none = len(propensity), np.zeros((0, len(propensity)))
        return cls(propensity, np.full(n, np.nan), np.arange(n), none, none[:, 0])

    def power(self, exponent: float) -> PropensityEstimate:
        """Return the propensities to a power.

        Parameters
        ----------
        exponent : float
            At least 0; below 1 if position bias is weaker.

        Returns
        -------
        estimate : PropensityEstimate
        """
        theta, error, group, influence, query = self
        error = exponent * theta ** (exponent - 1) * error
        return PropensityEstimate(theta**exponent, error, group, exponent * influence, query)

    @property
    def discount(self) -> Floats:
        """The non-increasing sequence nearest to the propensities, by least squares.

        Noise can raise an estimate above that of the position before, which is no discount.
        ``DCG(gain="linear", discount=estimate)`` takes these values, and is the number of clicks
        expected on a list.
        """
        return isotonic_regression(self.propensity, increasing=False)

    def __repr__(self) -> str:
        values = ", ".join(
            f"{value:.3g} ± {error:.1g}" if error > 0 else f"{value:.3g}"
            for value, error in zip(self.propensity, self.standard_error)
        )
        return f"PropensityEstimate({values})"


def fit_propensities(
    sessions: ClickSessions | ClickCounts,
    X: Matrix | None = None,
    *,
    method: str = "swap",
    merge: bool = False,
) -> PropensityEstimate:
    r"""Estimate how often positions are examined, relative to the first one.

    In the position-based model a document with relevance r, shown :math:`n_k` times at position k,
    has :math:`n_k \theta_k r` clicks there in expectation. Two methods tell :math:`\theta` and r
    apart: one by documents that were shown at several positions, the other by features, for logs in
    which documents did not move.

    Parameters
    ----------
    sessions : ClickSessions or ClickCounts
        Clicks, of which some documents were shown at several positions for the same query,
        by randomization or because the system changed.
    X : array-like of shape (n_rows, d), default=None
        Features of the documents, for "alternating". If given, the call warns where they predict
        the positions.
    method : {"swap", "alternating"}, default="swap"
        - "swap": given the clicks of a document, the shares of its positions are
          :math:`n_k \theta_k / \sum_j n_j \theta_j`, whatever r is. Their likelihood is maximized,
          which is concave in :math:`\log \theta`. Its gradient is 0 in expectation at the truth.
        - "alternating": least squares of the clicks on :math:`\theta_k (x^\top w + b)`, by turns in
          :math:`\theta` and in w, each in closed form. Relevance must be linear in X.
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
        If position 1 was never shown, all documents that were shown were clicked, the log does not
        identify the propensities, also after merging, X does not fit the method, or a least-squares
        propensity is not positive.

    Warns
    -----
    UserWarning
        If nearly all lists end with a click, so that documents below it may be missing, positions
        were merged, or X predicts the positions (an adjusted R2 within queries above one half).
        Then "alternating" rests on the linear form alone, and rankers that use its propensities can
        be far below those of the clicks as they are.

    See Also
    --------
    position_based : Relevances from these propensities.

    Notes
    -----
    The propensities are identified by documents if and only if positions are joined by documents
    that were shown at both, in both directions: join j to k if a document was shown at j and
    clicked at k. The call refuses a log in which this graph is not strongly connected, and names
    its components; then the estimate would be 0, infinite or arbitrary for some positions. This is
    the condition of Ford (1957) for comparisons: here positions compete for the clicks of a
    document. For "alternating", positions are joined if the spaces that their features span have
    more than 0 in common. This is necessary, and not enough: see the warning.

    Relevances must not change with the position: where a document moves up because it became more
    relevant, the estimate is too steep. Only ratios are identified, so that the first position
    counts as 1. Standard errors treat queries as independent and allow for any dependence within
    them, with the quantile of Student's distribution in place of 1.96 for as many queries as clicks
    of equal numbers would be; those of a single query treat its clicks as independent and rare. For
    "alternating", they are those of a correct linear form.

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
    >>> fit_propensities(y, p[:, None], method="alternating").propensity.round(1)
    array([1. , 0.5, 0.3, 0.2])
    """
    check_clicks(sessions, "fit_propensities", X=X)
    refuse_clicks_alone(sessions)
    warn_of_cut_lists(sessions)
    check.option("method", method, tuple(_METHODS))
    if X is None and method == "alternating":
        raise ValueError('X must hold the features of the documents for "alternating", got None.')
    if X is not None:
        X = _with_ones(arrays.checked(X, "X"))
        if len(X) != len(sessions):
            raise ValueError(f"X must have a row for each of {len(sessions)} rows, got {len(X)}.")
    shown = np.flatnonzero(np.bincount(sessions.position))
    if not len(shown) or shown[0] != 1:
        raise ValueError("sessions must show documents at position 1, got none there.")
    log = Counts.of(sessions, np.searchsorted(shown, sessions.position), X)
    part, what = _by_features(log) if method == "alternating" else _by_documents(log)
    group = _groups(part, what, shown, merge)
    if X is not None:
        log.warn_of_predictable(shown)
    theta, influence, codes = _METHODS[method](log.grouped(group))
    positions = np.arange(1, shown[-1] + 1)
    between = np.array([np.interp(positions, shown, of_one) for of_one in np.eye(len(shown))])
    out = np.exp(np.log(theta[group]) @ between)
    errors, groups = np.full(len(positions), np.nan), np.full(len(positions), -1)
    errors[shown - 1] = (theta * np.sqrt((influence**2).sum(axis=0)))[group]
    groups[shown - 1] = group
    names: Any = sessions.queries().names
    names = np.full(len(codes), None) if -1 in codes else names[codes]
    return PropensityEstimate(out, errors, groups, influence[:, group] @ between, names)


class Counts(NamedTuple):
    """Impressions and clicks of documents at positions, (n_rows, n_positions) each."""

    impressions: csr_matrix
    clicks: csr_matrix
    query: Ints
    X: Any  # features with a column of ones, or None

    @classmethod
    def of(cls, sessions: ClickSessions | ClickCounts, at: Ints, X: Any) -> Counts:
        """Return the counts of sessions, whose impressions are in the columns `at`."""
        cells, shape = (sessions.shown_rows, at), (len(sessions), at.max() + 1)
        impressions = csr_matrix((sessions.impressions.astype(float), cells), shape=shape)
        clicks = csr_matrix((sessions.clicks.astype(float), cells), shape=shape)
        return cls(impressions, clicks, sessions.queries().codes, X)

    def grouped(self, group: Ints) -> Counts:
        """Return the counts with the positions of a group in one column."""
        to_group = csr_matrix((np.ones(len(group)), (np.arange(len(group)), group)))
        return self._replace(
            impressions=(self.impressions @ to_group).tocsr(),
            clicks=(self.clicks @ to_group).tocsr(),
        )

    def compared(self) -> Counts:
        """Return the documents that were clicked, and shown at several positions."""
        several = np.diff((self.impressions > 0).tocsr().indptr) > 1
        rows = np.flatnonzero(several & (_sums(self.clicks, 1) > 0))
        return Counts(self.impressions[rows], self.clicks[rows], self.query[rows], None)

    def grams(self) -> Floats:
        """Return ``X'X`` of the impressions at each position."""
        columns = self.impressions.tocsc()
        out = np.empty((columns.shape[1], self.X.shape[1], self.X.shape[1]))
        for k, (begin, end) in enumerate(zip(columns.indptr, columns.indptr[1:])):
            X = self.X[columns.indices[begin:end]]
            out[k] = X.T @ (X * columns.data[begin:end, None])
        return out

    def warn_of_predictable(self, shown: Ints) -> None:
        """Warn if a linear function of X predicts the positions within queries."""
        queries, weight = Queries.from_qid(self.query), _sums(self.impressions, 1)
        place, root = arrays.safe_divide(self.impressions @ shown, weight), np.sqrt(weight)
        total = (self.impressions @ shown**2.0).sum() - weight @ queries.levels(place, weight) ** 2
        X = root[:, None] * queries.centered(self.X[:, :-1], weight)
        y = root * queries.centered(place, weight)
        fit = X @ np.linalg.lstsq(X, y, rcond=None)[0]
        n, free = weight.sum() - queries.n_queries, np.linalg.matrix_rank(X)
        if total <= 0 or n <= free:
            return
        r2 = 1 - (total - fit @ fit) / total * n / (n - free)
        if r2 > 0.5:
            warn(
                f"X predicts the positions of documents within queries (adjusted R2 {r2:.2f}), so "
                "features cannot tell position from relevance: propensities of "
                'method="alternating" rest on the linear form, and a ranker that uses them can be '
                "far below the clicks as they are. Show some searches in random order."
            )


def _with_ones(X: Floats) -> Floats:
    """Return columns without their means in units of their deviations, and a column of ones."""
    X = X / arrays.scale_of(np.abs(X).max(axis=0, initial=0.0))
    X = X - X[:1]  # so that the mean of a constant column does not round
    X = X - X.mean(axis=0)
    return np.column_stack([arrays.safe_divide(X, X.std(axis=0)), np.ones(len(X))])


def _sums(matrix: csr_matrix, axis: int) -> Floats:
    return np.asarray(matrix.sum(axis=axis)).ravel()


# -- identification ------------------------------------------------------------------------


def _by_documents(log: Counts) -> tuple[Ints, str]:
    """Return the part of each position, joined by documents, and what does not join parts."""
    was_shown, was_clicked = (log.impressions > 0).astype(float), (log.clicks > 0).astype(float)
    # From a position to another if a document was shown there and clicked here.
    part = connected_components(was_shown.T @ was_clicked, directed=True, connection="strong")[1]
    return part, "no clicks on documents shown at both compare in both directions"


def _by_features(log: Counts) -> tuple[Ints, str]:
    """Return the part of each position, joined by spaces of features that intersect."""
    grams, clicked = log.grams(), _sums(log.clicks, 0) > 0
    scale = np.sqrt(grams.sum(axis=0).diagonal())
    grams = grams / np.outer(scale, scale).clip(np.finfo(float).tiny)
    part = np.arange(len(grams))
    for k in range(len(grams) - 1):
        for other in range(k + 1, len(grams)):
            if part[k] != part[other] and clicked[k] and clicked[other]:
                apart = _rank(grams[k]) + _rank(grams[other])
                if apart > _rank(grams[k] + grams[other]):
                    part[part == part[other]] = part[k]
    part = np.unique(part, return_inverse=True)[1].ravel()
    return part, "no features of clicked documents join"


def _rank(gram: Floats) -> int:
    return int(
        np.linalg.matrix_rank(gram, tol=1e-10 * max(gram.diagonal().max(), 1e-300), hermitian=True)
    )


def _groups(part: Ints, what: str, shown: Ints, merge: bool) -> Ints:
    """Return the group of each position, or raise if the propensities are not identified."""
    n = part.max() + 1
    if n == 1:
        return np.arange(len(shown)) if len(shown) > 1 else np.zeros(1, dtype=np.intp)
    firsts = np.unique(part, return_index=True)[1]
    names = "; ".join(_listed(shown[part == k]) for k in np.argsort(firsts))
    if not merge:
        raise ValueError(
            f"sessions must identify the propensities, got {n} groups of positions that {what}: "
            f"{names}. Show some searches in random order, leave out the last positions, or merge "
            "neighbors with merge=True."
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


def _listed(positions: Ints) -> str:
    """Return positions in words, such as 1-3, 5."""
    runs = np.split(positions, np.flatnonzero(np.diff(positions) > 1) + 1)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


# -- methods -------------------------------------------------------------------------------


def _by_swaps(log: Counts) -> tuple[Floats, Floats, Ints]:
    """Return propensities relative to the first group, and their influence by query."""
    log = log.compared()
    n, c = log.impressions, log.clicks
    total = _sums(c, 1)
    at_group, all_clicks = _sums(c, 0), total.sum()
    row = np.repeat(np.arange(n.shape[0]), np.diff(n.indptr))

    def like_n(values: Floats) -> csr_matrix:
        return csr_matrix((values, n.indices, n.indptr), shape=n.shape)

    def shares(free: Floats) -> tuple[csr_matrix, Floats]:
        """Return the share of each group in the clicks of each document, and the divisors."""
        weighted = n.data * np.exp(np.append(0.0, free))[n.indices]
        divisor: Any = np.bincount(row, weighted)
        return like_n(weighted / divisor[row]), divisor

    def loss(free: Floats) -> float:
        logs = np.append(0.0, free)
        return float(total @ np.log(shares(free)[1]) - at_group @ logs) / all_clicks

    def slope(free: Floats) -> Floats:
        return (shares(free)[0].T @ total - at_group)[1:] / all_clicks

    def curvature(free: Floats) -> Floats:
        share = shares(free)[0]
        both = (share.T @ like_n(total[row] * share.data)).toarray()
        return (np.diag(share.T @ total) - both)[1:, 1:] / all_clicks

    start = np.zeros(n.shape[1] - 1)
    if not len(start):
        return np.ones(1), np.zeros((0, 1)), np.zeros(0, dtype=np.intp)
    free = minimize(
        loss, start, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-10}
    ).x
    theta = np.exp(np.append(0.0, free))
    gradient = c - diags(total) @ shares(free)[0]
    return theta, *_influence(curvature(free) * all_clicks, gradient, log)


def _influence(information: Floats, gradient: Any, log: Counts) -> tuple[Floats, Ints]:
    """Return what queries add to the error of the parameters, 0 for the first, and their numbers.

    Gradients of documents are given. Those of queries are independent; a single query, of number
    -1, has the information as the variance of its gradient.
    """
    inverse = np.linalg.inv(information)
    codes, query = np.unique(log.query, return_inverse=True)
    if len(codes) == 1:
        root = np.insert(np.linalg.cholesky(inverse).T, 0, 0.0, axis=1)
        return root, np.full(len(root), -1)
    of_queries = csr_matrix((np.ones(len(query)), (query.ravel(), np.arange(len(query)))))
    by_query = of_queries @ gradient
    by_query = np.asarray(by_query.todense() if issparse(by_query) else by_query)[:, 1:]
    clicks = of_queries @ _sums(log.clicks, 1)
    alike = clicks.sum() ** 2 / (clicks**2).sum()  # number of queries with as many clicks each
    wider = stats.t.ppf(_LEVEL, max(alike - 1, 1)) / stats.norm.ppf(_LEVEL)
    out = by_query @ inverse * wider * np.sqrt(len(codes) / (len(codes) - 1))
    return np.insert(out, 0, 0.0, axis=1), codes


def _by_turns(log: Counts) -> tuple[Floats, Floats, Ints]:
    """Return the propensities of least squares on features, and their influence by query."""
    grams, sums = log.grams(), np.asarray(log.clicks.T @ log.X)

    def of_groups(theta: Floats) -> tuple[Floats, Floats, Floats]:
        w = np.linalg.lstsq(np.tensordot(theta**2, grams, 1), theta @ sums, rcond=1e-10)[0]
        return w, grams @ w, np.einsum("kij,i,j->k", grams, w, w)

    def step(theta: Floats) -> Floats:
        w, _, squares = of_groups(theta)
        theta = sums @ w / squares
        return theta / theta[0]

    start = _sums(log.clicks, 0) / _sums(log.impressions, 0)
    theta = start / start[0] if start[0] else np.ones(len(start))
    for _ in range(_MOST_STEPS):
        theta, before = step(theta), theta
        if np.abs(theta - before).max() < _TOLERANCE:
            break
    else:
        warn(
            f"The propensities did not settle in {_MOST_STEPS} steps: the log hardly identifies "
            "them."
        )
    if not (np.isfinite(theta) & (theta > 0)).all():
        raise ValueError(
            "X must determine the relevance as a linear function, got a propensity of "
            f"{theta[np.argmin(theta)]:.2g} by least squares: pass features that do, or use "
            'method="swap".'
        )
    if len(theta) == 1:
        return theta, np.zeros((0, 1)), np.zeros(0, dtype=np.intp)
    w, across, squares = of_groups(theta)
    relevance = log.X @ w
    cross = theta[:, None] * across
    taken = cross @ np.linalg.pinv(np.tensordot(theta**2, grams, 1), rcond=1e-10, hermitian=True)
    information = np.diag(squares) - taken @ cross.T
    error = log.clicks - diags(relevance) @ log.impressions @ diags(theta)
    gradient = np.asarray((diags(relevance) @ error).todense())
    gradient -= (error @ theta)[:, None] * (log.X @ taken.T)
    influence, codes = _influence(information[1:, 1:], gradient, log)
    return theta, influence / theta, codes


_METHODS = {"swap": _by_swaps, "alternating": _by_turns}
