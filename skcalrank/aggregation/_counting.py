"""Structures that are sums over the pairs of documents."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..columns import arrays
from ..columns.types import Floats
from ..judgments import PreferenceTarget
from ._judgments import tally_of
from ._tally import Tally


def mean_adjacency(y: PreferenceTarget, *, sparse: bool = False) -> list[Any]:
    r"""Return the mean preference matrix of each query, :math:`s = \frac{1}{k} \sum_i Y_i`.

    DMJ13, section 5.3. A pair that no judgment compares is 0 both ways. A tie is stated as two
    opposite preferences of half the weight, and counts both ways.

    Parameters
    ----------
    y : PreferenceTarget
        Comparisons of one or more queries.
    sparse : bool, default=False
        Whether to return CSR matrices, whose memory is proportional to the number of compared
        pairs.

    Returns
    -------
    matrices : list of ndarray or CSR matrix of shape (m, m)
        One for each query, in order of first appearance (one for each row in the label-ranking
        form), with the documents of the query in row order. Entry (j, l) is the weight with which j
        is preferred to l, summed over the judgments of the query and divided by their number.

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
    r"""Return the skew-symmetric matrix of smoothed log-odds of each query (DMJ13, section 5.1).

    .. math:: A_{jl} = \log \frac{\hat P(j \succ l) + c}{\hat P(j \prec l) + c}

    The entry is 0 if a pair is not compared, or is even.

    Parameters
    ----------
    y : PreferenceTarget
        Comparisons of one or more queries.
    c : float, default=None
        Smoothing, in units of the empirical probability. If None, half a judgment is added to both
        counts, i.e. ``c = 1/(2k)``, or ``1/(2 k_jl)`` with `conditional`, which are the same; it
        vanishes as judgments accumulate. With 0, pairs that the same document always wins are
        left out, with a warning.
    conditional : bool, default=False
        Whether the empirical probability refers to the judgments that compare the pair,
        :math:`\hat P(j \succ l) = w_{jl}/(w_{jl} + w_{lj})`, or to all k judgments of the
        query as in the paper, :math:`w_{jl}/k`. It matters only with a given c > 0.
    sparse : bool, default=False
        Whether to return CSR matrices, whose memory is proportional to the number of compared
        pairs. Compared pairs that are even are stored zeros.

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
    r"""Return Borda counts (DMJ13, section 5.1).

    They are :math:`s = A 1` with :math:`A_{jl} = \hat P(j \succ l) - \hat P(j \prec l)`. A pair
    that is not compared, or is even, counts 0. The scores of a query sum to 0. They are finite for
    every set of comparisons. Unless `conditional`, a pair weighs as much as it is compared: of
    two documents that win the same share, above a half, the more often compared one is first.

    Parameters
    ----------
    y : PreferenceTarget
        Comparisons of one or more queries.
    conditional : bool, default=False
        Whether the empirical probability of a pair refers to the judgments that compare it, or to
        all k judgments of the query. The latter is linear in the judgments: the scores are the net
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
    sizes = tally.row_sums(win + lose, win + lose)
    return tally.in_rows(tally.incidence.T @ (win - lose), sizes)


def win_rate(y: PreferenceTarget, *, conditional: bool = True) -> Floats:
    r"""Return the share of wins against an opponent, averaged over the opponents that were met.

    It is the probability of winning against a uniformly drawn one of them,

    .. math:: s_j = \frac{1}{m_j} \sum_{l} \frac{w_{jl}}{w_{jl} + w_{lj}},

    with the weight :math:`w_{jl}` of the preferences of j over l, over the :math:`m_j` documents
    that j was compared with. An opponent counts alike, met once or a thousand times. The order is
    that of :func:`borda` if every pair is compared equally often.

    Parameters
    ----------
    y : PreferenceTarget
        Comparisons of one or more queries.
    conditional : bool, default=True
        If False, the score is the mean over all m - 1 other documents of the weight of the wins
        divided by the number k of judgments of the query (DMJ13, section 5.1). It is linear in the
        judgments, and no rate of the games of a document: with 60 comparisons of single pairs of
        five documents, one that wins 14 has 14 / 60 / 4 = .058.

    Returns
    -------
    scores : ndarray of shape (n_rows,) or (n, r)
        In [0, 1], and 1/2 for documents without comparisons; higher is better. With
        ``conditional=False``: in [0, 1] if a judgment states a pair once, with a weight up to 1.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.aggregation import win_rate
    >>> y = PreferenceTarget.from_comparisons([0, 0, 1, 2], [1, 1, 0, 1], qid=[1, 1, 1])
    >>> win_rate(y).round(2)
    array([0.67, 0.17, 1.  ])
    >>> win_rate(y, conditional=False)
    array([0.25 , 0.125, 0.125])
    """
    tally = tally_of(y, "win_rate")
    wins = tally.row_sums(*tally.law(conditional))
    ones = np.ones(len(tally.first))
    met = tally.row_sums(ones, ones) if conditional else _opponents(tally)
    return tally.in_rows(arrays.safe_divide(wins, met, 0.5))


def mean_log_odds(
    y: PreferenceTarget, *, c: float | None = None, conditional: bool = False
) -> Floats:
    r"""Return the mean log-odds of being preferred to another document (DMJ13, section 6.2).

    .. math:: s_j = \frac{1}{m-1} \sum_{l \ne j}
        \log \frac{\hat P(j \succ l) + c}{\hat P(j \prec l) + c}

    A pair that is not compared, or is even, counts 0. The scores of a query sum to 0, and are
    finite for every set of comparisons. Under the Bradley-Terry-Luce model of
    relevances r they converge to :math:`(m r_j - \sum_l r_l)/(m - 1)` (DMJ13, eq. 27 simplified)
    as the judgments of every pair accumulate and c vanishes.

    Parameters
    ----------
    y : PreferenceTarget
        Comparisons of one or more queries.
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
    odds, others = tally.log_odds(c, conditional), _opponents(tally)
    sizes = tally.row_sums(np.abs(odds), np.abs(odds)) / others
    return tally.in_rows(tally.incidence.T @ odds / others, sizes)


def _opponents(tally: Tally) -> Floats:
    """Return the number of other documents of the query, but at least 1."""
    return tally.queries.repeat(np.maximum(tally.queries.sizes - 1, 1))


def _matrices(tally: Tally, upper: Floats, lower: Floats, sparse: bool) -> list[Any]:
    """Return one matrix per query, given its entries (first, second) and (second, first)."""
    first, second = tally.first, tally.second
    if sparse:
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        shape = (tally.queries.n_rows,) * 2
        whole = csr_matrix((np.concatenate([upper, lower]), ends), shape=shape)
        return [whole[start:stop, start:stop] for start, stop in pairwise(tally.queries.ptr)]
    sizes = tally.queries.sizes
    ptr = np.append(0, np.cumsum(sizes**2))
    start, size = tally.queries.ptr[:-1][tally.pair_query], sizes[tally.pair_query]
    first, second = first - start, second - start
    cells = np.zeros(ptr[-1])
    cells[ptr[tally.pair_query] + first * size + second] = upper
    cells[ptr[tally.pair_query] + second * size + first] = lower
    return [block.reshape(n, n) for block, n in zip(np.split(cells, ptr[1:-1]), sizes)]
