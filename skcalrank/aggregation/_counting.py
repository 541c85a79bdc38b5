"""Structures that are sums over the pairs of documents."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..data import Floats, PreferenceTarget, safe_divide
from ._judgments import tally_of


def mean_adjacency(y: PreferenceTarget, *, sparse: bool = False) -> list[Any]:
    r"""Mean preference matrix of each query: :math:`s = \frac{1}{k} \sum_i Y_i`.

    DMJ13, section 5.3. A pair that no judgement compares is 0 both ways. A tie is stated as two
    opposite preferences of half the weight, and counts both ways.

    Parameters
    ----------
    y : PreferenceTarget
    sparse : bool, default=False
        Give CSR matrices, whose memory is that of the comparisons.

    Returns
    -------
    matrices : list of ndarray or CSR matrix of shape (m, m)
        One for each query, in order of first appearance (in the label form one for each row), by
        the documents of the query in row order. Entry (j, l) is the weight with which j is
        preferred to l, summed over the judgements of the query and divided by their number.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import mean_adjacency
    >>> y = PreferenceTarget.from_comparisons([0, 0, 1, 2], [1, 1, 0, 1], qid=[1, 1, 1])
    >>> mean_adjacency(y)[0]
    array([[0.  , 0.5 , 0.  ],
           [0.25, 0.  , 0.  ],
           [0.  , 0.25, 0.  ]])
    """
    tally = tally_of(y, "mean_adjacency")
    return _matrices(tally, *tally.law(conditional=False), sparse)


def log_odds(
    y: PreferenceTarget, *, c: float | None = None, conditional: bool = False, sparse: bool = False
) -> list[Any]:
    r"""Skew-symmetric matrix of smoothed log-odds of each query (DMJ13, section 5.1).

    .. math:: A_{jl} = \log \frac{\hat P(j \succ l) + c}{\hat P(j \prec l) + c}

    Entries of pairs that are not compared are 0, as are those of pairs that are even.

    Parameters
    ----------
    y : PreferenceTarget
    c : float, default=None
        Smoothing, in units of the empirical law. None adds half a judgement to both counts, i.e.
        ``c = 1/(2k)``, or ``1/(2 k_jl)`` under `conditional`, which are the same; it vanishes as
        judgements accumulate. With 0 the pairs of which always the same document wins are left
        out, with a warning.
    conditional : bool, default=False
        Whether the empirical law is that of the judgements that compare the pair,
        :math:`\hat P(j \succ l) = w_{jl}/(w_{jl} + w_{lj})`, or that of all k judgements of the
        query as in the paper, :math:`w_{jl}/k`. It matters only beside a given c > 0.
    sparse : bool, default=False
        Give CSR matrices, whose memory is that of the comparisons. Pairs that are seen and even
        are stored zeros.

    Returns
    -------
    matrices : list of ndarray or CSR matrix of shape (m, m)
        As in :func:`mean_adjacency`.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import log_odds
    >>> y = PreferenceTarget.from_comparisons([0, 0, 0, 1], [1, 1, 1, 0], qid=[1, 1, 1])
    >>> log_odds(y, c=0)[0].round(2)
    array([[ 0. ,  1.1,  0. ],
           [-1.1,  0. ,  0. ],
           [ 0. ,  0. ,  0. ]])
    """
    tally = tally_of(y, "log_odds")
    upper = tally.log_odds(c, conditional)
    return _matrices(tally, upper, -upper, sparse)


def borda(y: PreferenceTarget, *, conditional: bool = False) -> Floats:
    r"""Borda count: :math:`s = A 1` with :math:`A_{jl} = \hat P(j \succ l) - \hat P(j \prec l)`.

    DMJ13, section 5.1. A pair that is not compared, or is even, counts 0. The scores of a query
    sum to 0. They are defined whatever the documents are compared with; documents that meet others
    often have scores further from 0 unless `conditional`.

    Parameters
    ----------
    y : PreferenceTarget
    conditional : bool, default=False
        Whether the empirical law of a pair is that of the judgements that compare it, or of all k
        judgements of the query. The latter is linear in the judgements: the scores are the net
        preferences divided by k.

    Returns
    -------
    scores : ndarray of shape (n_rows,) or (n, r)
        Higher is better.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import borda
    >>> borda(PreferenceTarget.from_orders([[1, 2, 3], [3, 1, 2]]))
    array([[ 2.,  0., -2.],
           [-2.,  2.,  0.]])
    """
    tally = tally_of(y, "borda")
    win, lose = tally.law(conditional)
    return tally.in_rows(tally.incidence.T @ (win - lose))


def win_rate(y: PreferenceTarget, *, conditional: bool = False) -> Floats:
    r"""Probability of winning against a uniformly drawn opponent (DMJ13, section 5.1).

    .. math:: s_j = \frac{1}{m-1} \sum_{l \ne j} \hat P(j \succ l)

    It orders as :func:`borda` does when every pair has been compared equally often.

    Parameters
    ----------
    y : PreferenceTarget
    conditional : bool, default=False
        False: the empirical law over all k judgements of the query, in which a pair that is not
        compared counts 0. The scores are linear in the judgements. True: the share of the wins
        against an opponent, averaged over the opponents that the document has met; 1/2 where
        it has met none.

    Returns
    -------
    scores : ndarray of shape (n_rows,) or (n, r)
        In [0, 1] where a judgement states a pair once, with a weight up to 1; higher is better.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import win_rate
    >>> y = PreferenceTarget.from_comparisons([0, 0, 1, 2], [1, 1, 0, 1], qid=[1, 1, 1])
    >>> win_rate(y)
    array([0.25 , 0.125, 0.125])
    >>> win_rate(y, conditional=True).round(2)
    array([0.67, 0.17, 1.  ])
    """
    tally = tally_of(y, "win_rate")
    wins = tally.row_sums(*tally.law(conditional))
    if not conditional:
        return tally.in_rows(wins / _opponents(tally))
    met = tally.row_sums(np.ones(len(tally.first)), np.ones(len(tally.first)))
    return tally.in_rows(safe_divide(wins, met, 0.5))


def mean_log_odds(
    y: PreferenceTarget, *, c: float | None = None, conditional: bool = False
) -> Floats:
    r"""Mean log-odds of being preferred to another document (DMJ13, section 6.2).

    .. math:: s_j = \frac{1}{m-1} \sum_{l \ne j}
        \log \frac{\hat P(j \succ l) + c}{\hat P(j \prec l) + c}

    A pair that is not compared, or is even, counts 0. The scores of a query sum to 0, and are
    finite whatever the documents are compared with. Under the Bradley-Terry-Luce model of
    relevances r they converge to :math:`(m r_j - \sum_l r_l)/(m - 1)` (DMJ13, eq. 27 simplified)
    as the judgements of every pair accumulate and c vanishes.

    Parameters
    ----------
    y : PreferenceTarget
    c, conditional
        As in :func:`log_odds`.

    Returns
    -------
    scores : ndarray of shape (n_rows,) or (n, r)
        In units of the logit; higher is better.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import mean_log_odds
    >>> y = PreferenceTarget.from_comparisons([0, 0, 1, 2], [1, 1, 0, 1], qid=[1, 1, 1])
    >>> mean_log_odds(y).round(2)
    array([ 0.26, -0.8 ,  0.55])
    """
    tally = tally_of(y, "mean_log_odds")
    return tally.in_rows(tally.incidence.T @ tally.log_odds(c, conditional) / _opponents(tally))


def _opponents(tally):
    """Number of other documents of the query, 1 for a document that is alone."""
    return tally.queries.repeat(np.maximum(tally.queries.sizes - 1, 1))


def _matrices(tally, upper, lower, sparse):
    """One matrix per query, from its entries (first, second) and (second, first)."""
    if sparse:
        return _sparse_matrices(tally, upper, lower)
    sizes = tally.queries.sizes
    ptr = np.append(0, np.cumsum(sizes**2))
    start, size = tally.queries.ptr[:-1][tally.pair_query], sizes[tally.pair_query]
    first, second = tally.first - start, tally.second - start
    cells = np.zeros(ptr[-1])
    cells[ptr[tally.pair_query] + first * size + second] = upper
    cells[ptr[tally.pair_query] + second * size + first] = lower
    return [part.reshape(n, n) for part, n in zip(np.split(cells, ptr[1:-1]), sizes)]


def _sparse_matrices(tally, upper, lower):
    ends = np.concatenate([tally.first, tally.second]), np.concatenate([tally.second, tally.first])
    whole = csr_matrix((np.concatenate([upper, lower]), ends), shape=(tally.queries.n_rows,) * 2)
    return [whole[start:stop, start:stop] for start, stop in pairwise(tally.queries.ptr)]
