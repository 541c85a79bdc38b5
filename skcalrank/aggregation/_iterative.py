"""Structures that are found by iteration: least squares on pairs, and an eigenvector of odds."""

from typing import Any

import numpy as np
from scipy.special import log_expit, ndtri_exp

from ..columns.types import Bools, Floats
from ..data import check
from ..judgments import PreferenceTarget
from ._judgments import tally_of
from ._tally import Tally, check_iteration


def thurstone_mosteller(
    y: PreferenceTarget,
    *,
    link: str = "logit",
    c: float | None = None,
    conditional: bool = False,
    tol: float = 1e-12,
    max_iter: int = 10_000,
) -> Floats:
    r"""Return scores whose differences are closest to the observed log-odds (DMJ13, eq. 22).

    .. math:: s = (D_\Omega - \Omega)^\dagger (\Omega \circ A) 1

    minimizes :math:`\sum_{jl} \Omega_{jl} (A_{jl} - (s_j - s_l))^2` for a skew-symmetric A, with
    the mask :math:`\Omega` of the compared pairs. By default A is the log-odds; Thurstone's model
    is ``link="probit"``. A pair counts alike, compared once or a thousand times, as in the paper:
    :func:`bradley_terry` weighs pairs by their comparisons. Pairs that are not compared do not
    contribute;
    even pairs favor equal scores. The scores of a query sum to 0. If the comparisons do not connect
    all documents of a query, the scores of every connected component sum to 0, and the order
    between components is not meaningful: a warning names the query. The scores of documents without
    comparisons are 0.

    Parameters
    ----------
    y : PreferenceTarget
        Comparisons of one or more queries.
    link : {"logit", "probit", "linear"}, default="logit"
        Definition of A: log-odds as in :func:`log_odds`; the normal quantile of the smoothed share
        :math:`(\hat P(j \succ l) + c)/(\hat P(j \succ l) + \hat P(j \prec l) + 2c)`, Thurstone's
        case V; or :math:`\hat P(j \succ l) - \hat P(j \prec l)`.
    c : float, default=None
        As in :func:`log_odds`; no effect on "linear".
    conditional : bool, default=False
        As in :func:`log_odds`; it affects "linear" too.
    tol : float, default=1e-12
        Residual of the normal equations at which a query has converged, relative to their right
        side, in the norm of the diagonal preconditioner.
    max_iter : int, default=10_000
        Maximum number of iterations of conjugate gradients. A `ConvergenceWarning` names queries
        that need more.

    Returns
    -------
    scores : ndarray of shape (n_rows,) or (n, r)
        In the units of A; higher is better.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import thurstone_mosteller
    >>> y = PreferenceTarget.from_comparisons([0, 0, 1, 2], [1, 1, 0, 1], qid=[1, 1, 1])
    >>> thurstone_mosteller(y).round(2)
    array([-0.03, -0.54,  0.56])
    """
    check.option("link", link, ("logit", "probit", "linear"))
    check_iteration(tol, max_iter)
    tally = tally_of(y, "thurstone_mosteller")
    asked = _differences(tally, link, c, conditional)
    both = (tally.wins > 0) & (tally.losses > 0)
    kept = np.where(both | (c != 0) | (link == "linear"), 1.0, 0.0)

    def solve(batch: Tally, _: slice, pairs: slice) -> tuple[Floats, Bools]:
        right, size = batch.incidence.T @ asked[pairs], np.abs(asked[pairs])
        scale, none = batch.row_sums(size, size), np.zeros(len(right))
        return batch.solve_laplacian(kept[pairs], none, right, scale, tol, max_iter)

    scores = tally.solve_in_batches(solve, max_iter)
    component, apart = tally.components("weak", kept)
    tally.warn_of(
        apart,
        "has documents that no chain of comparisons connects: each connected component is centered "
        "at 0, and the order between components is not meaningful.",
    )
    scores -= (np.bincount(component, scores) / np.bincount(component))[component]
    return tally.in_rows(scores, tally.row_sums(np.abs(asked), np.abs(asked)))


def _differences(tally: Tally, link: str, c: float | None, conditional: bool) -> Any:
    """Return the entries of A for the compared pairs."""
    if link == "linear":
        win, lose = tally.law(conditional)
        return win - lose
    logit = tally.log_odds(c, conditional)
    if link == "logit":
        return logit
    # Use the smaller one of the two shares, which does not round to 1.
    return -np.sign(logit) * ndtri_exp(log_expit(-np.abs(logit)))


def principal_eigenvector(
    y: PreferenceTarget,
    *,
    c: float | None = None,
    conditional: bool = False,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> Floats:
    r"""Return the Perron vector of the reciprocal matrix of smoothed odds (DMJ13, section 5.1).

    .. math:: A_{jl} = \frac{\hat P(j \succ l) + c}{\hat P(j \prec l) + c}, \qquad A s = \lambda s

    so that :math:`s_j/s_l \approx A_{jl}` (Saaty). The entry is 1 on the diagonal, and if a pair is
    not compared, or is even. The matrix is therefore positive and its Perron vector unique for
    every set of comparisons.

    Parameters
    ----------
    y : PreferenceTarget
        Comparisons of one or more queries.
    c, conditional
        As in :func:`log_odds`.
    tol : float, default=1e-10
        The power iteration of a query has converged when the relative difference of the bounds
        :math:`\min_j (As)_j/s_j \le \lambda \le \max_j (As)_j/s_j` is at most this.
    max_iter : int, default=10_000
        Maximum number of iterations. A `ConvergenceWarning` names queries that need more.

    Returns
    -------
    scores : ndarray of shape (n_rows,) or (n, r)
        Positive, with sum 1 in each query; higher is better.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import principal_eigenvector
    >>> y = PreferenceTarget.from_comparisons([0, 0, 1, 2], [1, 1, 0, 1], qid=[1, 1, 1])
    >>> principal_eigenvector(y).round(2)
    array([0.37, 0.18, 0.45])
    """
    check_iteration(tol, max_iter)
    tally = tally_of(y, "principal_eigenvector")
    odds = np.exp(tally.log_odds(c, conditional))

    def solve(batch: Tally, _ids: slice, pairs: slice) -> tuple[Floats, Bools]:
        """Return Perron vectors by power iteration, and whether each has converged."""
        queries, of_pairs = batch.queries, odds[pairs]
        # The matrix minus the matrix of ones, above and below the diagonal.
        upper, lower = batch.upper(of_pairs - 1), batch.upper(1 / of_pairs - 1).T
        scores = queries.repeat(1 / queries.sizes)
        for _ in range(max_iter):
            image = upper @ scores + lower @ scores + queries.repeat(queries.sum(scores))
            ratio, size = image / scores, queries.sum(image)
            low, high = -queries.max(-ratio), queries.max(ratio)
            # Add half the eigenvalue to the diagonal, or cyclic preferences would oscillate.
            scores = (image / queries.repeat(size) + scores / 2) / 1.5
            converged = high - low <= tol * high
            if converged.all():
                break
        return scores, converged

    return tally.in_rows(tally.solve_in_batches(solve, max_iter))
