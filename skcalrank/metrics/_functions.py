"""The metric functions: a measure, its parameters and the shared policies."""

from __future__ import annotations

from .. import measures as m
from ._evaluate import measure_score

__all__ = [
    "auc_score",
    "average_precision_score",
    "dcg_score",
    "err_score",
    "eru_score",
    "kendall_score",
    "ndcg_score",
    "pairwise_disagreement_loss",
    "precision_at_k_score",
    "recall_at_k_score",
    "reciprocal_rank_score",
    "spearman_score",
]


def _no_cutoff(name, k):
    if k is not None:
        raise ValueError(f"k={k!r}: {name} is a measure of the whole ranking, leave k=None.")


def dcg_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    gain="exponential",
):
    r"""Discounted cumulative gain.

    :math:`\sum_i G(y_i)/\log_2(1+\sigma(i))` over positions up to k.
    DMJ13, eq. 14.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        Cutoff; None = all documents.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    gain : {"exponential", "linear"}, default="exponential"
        ``2^y - 1`` or ``y``.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import dcg_score
    >>> round(dcg_score([[0, 2, 1]], [[0.1, 0.9, 0.5]]), 4)
    3.6309
    """
    return measure_score(
        m.DCG(k=k, gain=gain),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def ndcg_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    gain="exponential",
):
    r"""Normalised discounted cumulative gain.

    DCG@k over the largest DCG@k that the labels allow; 0/0 without a relevant
    document.
    DMJ13, eq. 14.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        Cutoff; None = all documents.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    gain : {"exponential", "linear"}, default="exponential"
        ``2^y - 1`` or ``y``.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import ndcg_score
    >>> round(ndcg_score([0, 2, 1, 1], [0.3, 0.9, 0.1, 0.8], qid=[1, 1, 2, 2]), 4)
    1.0
    """
    return measure_score(
        m.NDCG(k=k, gain=gain),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def precision_at_k_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    relevance_level=None,
):
    r"""Precision at k.

    Relevant documents among the first k, over k.
    RAT13, section 4.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        Cutoff; None = all documents.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None wants labels 0 and 1.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import precision_at_k_score
    >>> precision_at_k_score([[0, 1, 1]], [[0.1, 0.9, 0.5]], k=2)
    1.0
    """
    return measure_score(
        m.Precision(k=k, relevance_level=relevance_level),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def recall_at_k_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    relevance_level=None,
):
    r"""Recall at k.

    Relevant documents among the first k, over all relevant ones; 0/0 without one.
    CUG13, Table 1.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        Cutoff; None = all documents.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None wants labels 0 and 1.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import recall_at_k_score
    >>> recall_at_k_score([[0, 1, 1]], [[0.1, 0.9, 0.5]], k=1)
    0.5
    """
    return measure_score(
        m.Recall(k=k, relevance_level=relevance_level),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def average_precision_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    relevance_level=None,
):
    r"""Mean average precision.

    Mean over the relevant documents of the precision at their positions, 0 beyond k;
    0/0 without a relevant document.
    RAT13, section 6; ties: McSherry and Najork, ECIR 2008.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        Cutoff; None = all documents.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None wants labels 0 and 1.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import average_precision_score
    >>> round(average_precision_score([[0, 1, 1]], [[0.6, 0.9, 0.5]]), 4)
    0.8333
    """
    return measure_score(
        m.AveragePrecision(k=k, relevance_level=relevance_level),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def reciprocal_rank_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    relevance_level=None,
):
    r"""Mean reciprocal rank.

    1 / position of the first relevant document, 0 without one among the first k.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        Cutoff; None = all documents.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None wants labels 0 and 1.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import reciprocal_rank_score
    >>> reciprocal_rank_score([[0, 1, 1]], [[0.9, 0.6, 0.5]])
    0.5
    """
    return measure_score(
        m.ReciprocalRank(k=k, relevance_level=relevance_level),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def err_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    max_grade=None,
):
    r"""Expected reciprocal rank.

    Of the position at which a user stops who reads from the top and is satisfied by a
    document with probability ``(2^y - 1)/2^max_grade``.
    DMJ13, eq. 16.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        Cutoff; None = all documents.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    max_grade : float, default=None
        Highest grade of the scale; None = the largest label given, so set it where values
        of several calls, such as folds, are to be compared.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import err_score
    >>> err_score([[0, 1]], [[0.2, 0.7]])
    0.5
    """
    return measure_score(
        m.ERR(k=k, max_grade=max_grade),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def eru_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    neutral=0.0,
    half_life=5.0,
):
    r"""Expected rank utility.

    :math:`\sum_i \max(y_i - v, 0) \, 2^{(1-\sigma(i))/(w-1)}`.
    RAT13, section 5.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        Cutoff; None = all documents.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    neutral : float, default=0.0
        Score that is worth nothing.
    half_life : float, default=5.0
        Position, above 1, at which the discount is one half.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import eru_score
    >>> eru_score([[0, 3, 5]], [[0.1, 0.9, 0.5]], neutral=2, half_life=2)
    2.5
    """
    return measure_score(
        m.ERU(k=k, neutral=neutral, half_life=half_life),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def auc_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    relevance_level=None,
):
    r"""Area under the ROC curve.

    Share of (relevant, irrelevant) pairs in the right order; 0/0 with one class only.
    CUG13, Table 1.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        This measure has no cutoff: leave it None.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None wants labels 0 and 1.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import auc_score
    >>> auc_score([[0, 1, 1, 0]], [[0.1, 0.9, 0.5, 0.7]])
    0.75
    """
    _no_cutoff("auc_score", k)
    return measure_score(
        m.AUC(relevance_level=relevance_level),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def spearman_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
):
    r"""Spearman's rho.

    ``1 - 6 sum d^2 / (r(r^2-1))`` on mid-ranks of the labels, in expectation over ties of
    the scores; 0/0 for a single document.
    CUG13, Table 1.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        This measure has no cutoff: leave it None.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import spearman_score
    >>> spearman_score([[3, 2, 1]], [[0.9, 0.2, 0.5]])
    0.5
    """
    _no_cutoff("spearman_score", k)
    return measure_score(
        m.Spearman(),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def kendall_score(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
):
    r"""Kendall's tau-a.

    Agreeing minus disagreeing pairs over all pairs; equal labels or scores count 0. 0/0
    for a single document.
    RAT13, section 7.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        This measure has no cutoff: leave it None.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import kendall_score
    >>> round(kendall_score([[3, 2, 1]], [[0.9, 0.2, 0.5]]), 4)
    0.3333
    """
    _no_cutoff("kendall_score", k)
    return measure_score(
        m.Kendall(),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )


def pairwise_disagreement_loss(
    y_true,
    y_score,
    *,
    qid=None,
    k=None,
    ties="average",
    empty="skip",
    sample_weight=None,
    average=True,
    weights="difference",
    normalize=False,
):
    r"""Weight of the preferences that the ranking contradicts.

    :math:`\sum_{i \ne j} y_{ij} 1(\sigma(i) > \sigma(j))` per query, lower is better.
    RAT13, section 7.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r), or PreferenceTarget
        Relevances, higher is better; one query per value of qid, or per row of a matrix.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query.
    k : int, default=None
        This measure has no cutoff: leave it None.
    ties, empty, sample_weight, average
        Policies, as in :func:`measure_score`.
    weights : {"difference", "unit"}, default="difference"
        ``y_ij = (y_i - y_j)_+`` or ``1(y_i > y_j)``; of no effect on a PreferenceTarget.
    normalize : bool, default=False
        Divide by the total weight of the query's preferences (0 when it has none).

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is no ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import pairwise_disagreement_loss
    >>> pairwise_disagreement_loss([[3, 2, 1]], [[0.9, 0.2, 0.5]])
    1.0
    """
    _no_cutoff("pairwise_disagreement_loss", k)
    # Zero minus, so that nothing lost is 0.0 and not -0.0.
    return 0.0 - measure_score(
        m.PairwiseDisagreement(weights=weights, normalize=normalize),
        y_true,
        y_score,
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
    )
