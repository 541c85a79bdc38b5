"""Bradley-Terry maximum likelihood of many queries at once."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from ..data import Floats, PreferenceTarget, check_alpha, safe_divide
from ._graph import components, n_components, solve_laplacian
from ._judgments import tally_of
from ._tally import check_iteration, solve_in_parts, warn_of

#: Penalty of queries whose likelihood has no maximum: a normal prior of deviation 3.2.
FALLBACK_ALPHA = 0.1


def bradley_terry(
    y: PreferenceTarget, *, alpha: float = 0.0, tol: float = 1e-8, max_iter: int = 1000
) -> Floats:
    r"""Bradley-Terry abilities by maximum likelihood.

    .. math:: s \in \arg\max \sum_{j,l} w_{jl} \log \frac{1}{1 + e^{s_l - s_j}}
        - \frac{\alpha}{2} \|s\|^2

    with the weight :math:`w_{jl}` of the preferences of j over l. Pairs that are not compared have
    no part in it; a tie is stated as two opposite preferences of half the weight. The scores of a
    query sum to 0.

    A maximum exists if and only if a chain of wins leads from every document of the query to
    every other [1]_. Other queries get ``alpha=0.1`` where alpha is 0, so that no score is
    infinite, and a warning names the first of them. Unless alpha is given, compare the scores of
    such a query among themselves only.

    Newton's method runs on all queries at once. Its systems, of sparse Laplacians, are solved
    by conjugate gradients; a step is shortened by the factor :math:`\log(1 + R)/R`, R being the
    largest change of a difference of scores, with which the likelihood grows in every
    step [2]_.

    Parameters
    ----------
    y : PreferenceTarget
    alpha : float, default=0.0
        Precision of a normal prior with mean 0 on every score. A prior of deviation 1 has alpha=1.
    tol : float, default=1e-8
        A query is done after a step that changes no difference of scores by more than this; the
        error that is left is of the order of its square.
    max_iter : int, default=1000
        Of Newton's method. Queries that need more are named by a `ConvergenceWarning`.

    Returns
    -------
    scores : ndarray of shape (n_rows,) or (n, r)
        In units of the logit: j beats l with probability :math:`1/(1 + e^{s_l - s_j})`.

    References
    ----------
    .. [1] Ford: Solution of a ranking problem from binary comparisons, American Mathematical
       Monthly 1957.
    .. [2] Bach: Self-concordant analysis for logistic regression, Electronic Journal of
       Statistics 2010.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import bradley_terry
    >>> y = PreferenceTarget.from_comparisons([0, 0, 1, 1, 2], [1, 1, 0, 2, 1], qid=[1, 1, 1])
    >>> bradley_terry(y).round(2)
    array([ 0.46, -0.23, -0.23])
    """
    check_alpha(alpha)
    check_iteration(tol, max_iter)
    tally = tally_of(y, "bradley_terry")
    penalty = np.full(tally.queries.n_queries, float(alpha))
    if alpha == 0:
        endless = n_components(components(tally, "strong"), tally.queries) > 1
        penalty[endless] = FALLBACK_ALPHA
        warn_of(
            tally,
            endless,
            "has no maximum of the likelihood, for some of its documents never lose to, or never "
            f"meet, the others: alpha={FALLBACK_ALPHA} is used. Choose alpha > 0 for all queries.",
        )

    def solve(part, ids, _):
        return _newton(part, penalty[ids], tol, max_iter)

    return tally.in_rows(solve_in_parts(tally, solve, max_iter))


def _newton(part, penalty, tol, max_iter):
    queries, edges, total = part.queries, part.incidence, part.wins + part.losses
    ridge = queries.repeat(penalty)
    scores = np.zeros(queries.n_rows)
    moved = np.ones(queries.n_queries)
    for _ in range(max_iter):
        gap = edges @ scores
        win, lose = expit(gap), expit(-gap)
        gained, lost = part.wins * lose, part.losses * win
        gradient = edges.T @ (gained - lost) - ridge * scores
        gradient[queries.repeat(moved <= tol)] = 0.0
        # Solving as precisely as the last step was long keeps the convergence quadratic.
        exact_to = np.minimum(moved, 0.1)
        scale = part.row_sums(gained + lost, gained + lost)
        step, _ = solve_laplacian(
            part, total * win * lose, ridge, gradient, scale, exact_to, 10_000
        )
        change = part.largest(np.abs(edges @ step))
        moved = np.where(moved <= tol, moved, change)
        scores += step * queries.repeat(safe_divide(np.log1p(change), change, 1.0))
        if (moved <= tol).all():
            break
    means = queries.repeat(queries.mean(scores))
    return scores - means, moved <= tol
