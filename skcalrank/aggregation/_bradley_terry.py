"""Bradley-Terry maximum likelihood for many queries at once."""

import numpy as np
from scipy.special import expit

from ..columns import arrays
from ..columns.types import Bools, Floats
from ..data import check
from ..judgments import PreferenceTarget
from ._judgments import tally_of
from ._tally import Tally, check_iteration

# Prior knowledge about the scores: so many of them, of this precision.
_KNOWN, _PRECISION = 2.0, 3.0

#: Penalty where a likelihood has no single maximum: a normal prior of standard deviation 3.2.
FALLBACK_ALPHA = 0.1


def bradley_terry(
    y: PreferenceTarget,
    *,
    alpha: float | str = "auto",
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Floats:
    r"""Estimate Bradley-Terry abilities by penalized maximum likelihood.

    .. math:: s \in \arg\max \sum_{j,l} w_{jl} \log \frac{1}{1 + e^{s_l - s_j}}
        - \frac{\alpha}{2} \|s\|^2

    with the weight :math:`w_{jl}` of the preferences of j over l. Pairs that are not compared do
    not contribute; a tie is stated as two opposite preferences of half the weight. The scores of a
    query sum to 0.

    Parameters
    ----------
    y : PreferenceTarget
        Comparisons of one or more queries.
    alpha : float or "auto", default="auto"
        Precision of a normal prior with mean 0 on every score: a prior of standard deviation 1 has
        alpha=1. "auto" estimates it for each query, see the Notes.
    tol : float, default=1e-8
        A query has converged after a step that changes neither a difference of scores nor the
        logarithm of an estimated alpha by more than this. The remaining error is smaller; with a
        given alpha it is of the order of the square.
    max_iter : int, default=1000
        Maximum number of Newton iterations. A `ConvergenceWarning` names queries that need more.

    Returns
    -------
    scores : ndarray of shape (n_rows,) or (n, r)
        In units of the logit: j beats l with probability :math:`1/(1 + e^{s_l - s_j})`.

    Warns
    -----
    UserWarning
        If compared documents of a query are in groups that no chain of comparisons connects, each
        of which is centered at 0, or ``alpha=0`` has no single maximum.

    See Also
    --------
    skcalrank.evaluation.leaderboard : Scores of votes with errors, ties and covariates.

    Notes
    -----
    The penalty is a normal prior of the scores. With ``alpha="auto"`` its precision is estimated
    for each query from its own comparisons, by empirical Bayes [3]_,

    .. math:: \alpha = \frac{\gamma + 2}{\|s\|^2 + 2/3}, \qquad
        \gamma = \sum_j \frac{h_j}{h_j + \alpha}

    with the curvature :math:`h_j` of the likelihood in the score of j. Here :math:`\gamma` is the
    number of scores that the comparisons determine, and the other terms are prior knowledge, worth
    two scores of precision 3. Without comparisons alpha is 3. Few or even comparisons shrink the
    probabilities toward 1/2. However few documents are compared, alpha stays below a bound (1.5 (m
    + 2) for m documents), so its effect vanishes as comparisons accumulate. A weight counts as that
    many comparisons.

    With ``alpha=0``, maximum likelihood, there is a single maximum if and only if a chain of wins
    leads from every document of the query to every other one [1]_. Queries without one get
    ``alpha=0.1``, so that no score is infinite, and a warning names the first of them.

    Newton's method runs on all queries at once. Its linear systems, with sparse Laplacians, are
    solved by conjugate gradients. Each step is multiplied by :math:`\log(1 + R)/R`, where R is the
    largest change of a difference of scores, so that the likelihood grows in every step [2]_.

    References
    ----------
    .. [1] Ford: Solution of a ranking problem from binary comparisons, American Mathematical
       Monthly 1957.
    .. [2] Bach: Self-concordant analysis for logistic regression, Electronic Journal of
       Statistics 2010.
    .. [3] MacKay: Bayesian interpolation, Neural Computation 4, 1992.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import bradley_terry
    >>> y = PreferenceTarget.from_comparisons([0, 0, 1, 1, 2], [1, 1, 0, 2, 1], qid=[1, 1, 1])
    >>> bradley_terry(y).round(2)
    array([ 0.1 , -0.09, -0.01])
    >>> bradley_terry(y, alpha=0).round(2)
    array([ 0.46, -0.23, -0.23])
    """
    learned = isinstance(alpha, str)
    if learned:
        check.option("alpha", alpha, ["auto"])
    else:
        check.number("alpha", alpha, ">= 0")
    check_iteration(tol, max_iter)
    tally = tally_of(y, "bradley_terry")
    penalty = np.full(tally.queries.n_queries, _PRECISION if learned else float(alpha))
    if alpha == 0:
        _, endless = tally.components("strong")
        penalty[endless] = FALLBACK_ALPHA
        tally.warn_of(
            endless,
            "has no single maximum of the likelihood, because some of its documents never lose to, "
            f"or never meet, the others: alpha={FALLBACK_ALPHA} is used. Set alpha='auto' or > 0.",
        )
    else:
        _warn_of_groups(tally, y)

    def solve(batch: Tally, ids: slice, _: slice) -> tuple[Floats, Bools]:
        scores, done, penalty[ids] = _newton(batch, penalty[ids], tol, max_iter, learned)
        return scores, done

    return tally.in_rows(tally.solve_in_batches(solve, max_iter))


def _warn_of_groups(tally: Tally, y: PreferenceTarget) -> None:
    """Warn if compared documents of a query are in groups that never met, which only alpha relates.

    Documents without comparisons have the score 0 of no knowledge.
    """
    group, ones = tally.components("weak")[0], np.ones(len(tally.first))
    compared = tally.row_sums(ones, ones) > 0
    last = tally.queries.max(np.where(compared, group, -1))
    apart = compared & (group < tally.queries.repeat(last))
    if apart.any():
        one = int(np.argmax(apart))
        other = int(np.argmax(group == tally.queries.repeat(last)[one]))
        order = tally.queries.order
        ends = [one, other] if order is None else order[[one, other]].tolist()
        names = " and ".join(map(y.document_name, ends))
        tally.warn_of(
            tally.queries.max(apart) > 0,
            f"has groups of documents that never met, as those of {names}: each group is centered "
            "at 0, and the order between groups is not meaningful. Compare documents of both, or "
            "score each group alone.",
        )


def _newton(
    tally: Tally, penalty: Floats, tol: float, max_iter: int, learned: bool
) -> tuple[Floats, Bools, Floats]:
    """Return the scores of all queries, whether each query has converged, and its penalty."""
    queries, edges, total = tally.queries, tally.incidence, tally.wins + tally.losses
    scores = np.zeros(queries.n_rows)
    moved = np.ones(queries.n_queries)
    last: tuple[Floats, Floats] | None = None
    for _ in range(max_iter):
        gap, ridge = edges @ scores, queries.repeat(penalty)
        win, lose = expit(gap), expit(-gap)
        gained, lost = tally.wins * lose, tally.losses * win
        gradient = edges.T @ (gained - lost) - ridge * scores
        done = moved <= tol
        gradient[queries.repeat(done)] = 0.0
        # A tolerance proportional to the last step keeps the convergence quadratic.
        exact_to = np.minimum(moved, 0.1)
        scale = tally.row_sums(gained + lost, gained + lost)
        step, _ = tally.solve_laplacian(
            total * win * lose, ridge, gradient, scale, exact_to, 10_000
        )
        change = tally.largest(np.abs(edges @ step))
        moved = np.where(done, moved, change)
        scores += step * queries.repeat(arrays.safe_divide(np.log1p(change), change, 1.0))
        if learned:
            before, last = last, (np.log(penalty), np.log(_precision(tally, scores, penalty)))
            further = np.where(done, 0.0, _secant(before, last, change))
            penalty = penalty * np.exp(further)
            moved = np.maximum(moved, np.abs(further))
        if (moved <= tol).all():
            break
    return scores - queries.repeat(queries.mean(scores)), moved <= tol, penalty


def _secant(
    before: tuple[Floats, Floats] | None, last: tuple[Floats, Floats], change: Floats
) -> Floats:
    """Return the change of the logarithm of each precision toward the fixed point of its estimate.

    `before` and `last` are pairs of logarithms, of precisions and of their estimates. When scores
    hardly change, the difference of the two is nearly linear in the former.
    """
    at, estimate = last
    rest = estimate - at
    if before is None:
        return rest
    slope = arrays.safe_divide(rest - (before[1] - before[0]), at - before[0], -1.0)
    # Without a secant the iteration assumes a slope of -1.
    return np.where(change < 0.1, np.clip(rest / np.clip(-slope, 0.1, 1.0), -1.0, 1.0), rest)


def _precision(tally: Tally, scores: Floats, penalty: Floats) -> Floats:
    """Return the estimated precision of the scores of each query, given a previous estimate."""
    gap = tally.incidence @ scores
    curvature = (tally.wins + tally.losses) * expit(gap) * expit(-gap)
    curvature = tally.row_sums(curvature, curvature)
    determined = tally.queries.sum(curvature / (curvature + tally.queries.repeat(penalty)))
    return (determined + _KNOWN) / (tally.queries.sum(scores**2) + _KNOWN / _PRECISION)
