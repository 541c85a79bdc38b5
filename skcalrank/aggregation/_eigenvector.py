"""The principal eigenvector of the reciprocal matrix of odds."""

import numpy as np

from ..columns.types import Bools, Floats
from ..judgments import PreferenceTarget
from ._judgments import tally_of
from ._tally import Tally, check_iteration


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
