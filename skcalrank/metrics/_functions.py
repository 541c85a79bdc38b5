"""The metric functions, one for each measure."""

from .. import measures as m
from ._metric import metric_function

__all__ = [
    "auc_score",
    "average_precision_score",
    "dcg_score",
    "err_score",
    "eru_score",
    "f1_at_k_score",
    "hit_at_k_score",
    "kendall_score",
    "ndcg_score",
    "pairwise_disagreement_loss",
    "precision_at_k_score",
    "r_precision_score",
    "rbp_score",
    "recall_at_k_score",
    "reciprocal_rank_score",
    "spearman_score",
]


@metric_function(m.DCG)
def dcg_score() -> None:
    r"""Compute the discounted cumulative gain.

    :math:`\sum_i G(y_i)/\log_2(1+\sigma(i))` over positions up to k.
    DMJ13, eq. 14.

    >>> round(dcg_score([[0, 2, 1]], [[0.1, 0.9, 0.5]]), 4)
    3.6309
    """


@metric_function(m.NDCG)
def ndcg_score() -> None:
    """Compute the normalized discounted cumulative gain.

    DCG@k divided by the largest DCG@k that the labels allow; undefined (0/0) without a document of
    positive gain.
    DMJ13, eq. 14.

    >>> round(ndcg_score([0, 2, 1, 1], [0.3, 0.9, 0.1, 0.8], qid=[1, 1, 2, 2]), 4)
    1.0
    """


@metric_function(m.Precision)
def precision_at_k_score() -> None:
    """Compute the precision at k.

    Number of relevant documents among the first k, divided by k.
    RAT13, section 4.

    >>> precision_at_k_score([[0, 1, 1]], [[0.1, 0.9, 0.5]], k=2)
    1.0
    """


@metric_function(m.Recall)
def recall_at_k_score() -> None:
    """Compute the recall at k.

    Number of relevant documents among the first k, divided by the number of all relevant ones;
    undefined (0/0) without one.
    CUG13, Table 1.

    >>> recall_at_k_score([[0, 1, 1]], [[0.1, 0.9, 0.5]], k=1)
    0.5
    """


@metric_function(m.F1)
def f1_at_k_score() -> None:
    """Compute the F1 score at k.

    Harmonic mean of precision and recall at k: twice the number of relevant documents among the
    first k, divided by the sum of k and the number of all relevant ones; 0 without a relevant
    document.

    >>> f1_at_k_score([[0, 1, 1, 1]], [[0.1, 0.9, 0.5, 0.4]], k=1)
    0.5
    """


@metric_function(m.RPrecision)
def r_precision_score() -> None:
    """Compute the R-precision.

    Precision at the number of relevant documents of the query; undefined (0/0) without one.

    >>> r_precision_score([[0, 1, 1]], [[0.6, 0.9, 0.5]])
    0.5
    """


@metric_function(m.HitRate)
def hit_at_k_score() -> None:
    """Compute the hit rate, the share of queries with a relevant document among the first k.

    Also called success at k.

    >>> hit_at_k_score([[0, 1, 1], [1, 0, 0]], [[0.6, 0.9, 0.5], [0.1, 0.2, 0.3]], k=1)
    0.5
    """


@metric_function(m.AveragePrecision)
def average_precision_score() -> None:
    """Compute the mean average precision.

    Mean over the relevant documents of the precision at their positions, 0 beyond k;
    undefined (0/0) without a relevant document.
    RAT13, section 6; ties: McSherry and Najork, ECIR 2008.

    >>> round(average_precision_score([[0, 1, 1]], [[0.6, 0.9, 0.5]]), 4)
    0.8333
    """


@metric_function(m.ReciprocalRank)
def reciprocal_rank_score() -> None:
    """Compute the mean reciprocal rank.

    1 / position of the first relevant document; 0 without one among the first k.

    >>> reciprocal_rank_score([[0, 1, 1]], [[0.9, 0.6, 0.5]])
    0.5
    """


@metric_function(m.RBP)
def rbp_score() -> None:
    r"""Compute the rank-biased precision.

    :math:`(1-p) \sum_i y_i \, p^{\sigma(i)-1}`.
    Moffat and Zobel, TOIS 2008.

    >>> rbp_score([[0, 1, 1]], [[0.6, 0.9, 0.5]], p=0.5)
    0.625
    """


@metric_function(m.ERR)
def err_score() -> None:
    """Compute the expected reciprocal rank.

    Expectation of 1 / position at which a user stops, who reads from the top and is satisfied by
    a document with probability ``(2^y - 1)/2^max_grade``.
    DMJ13, eq. 16.

    >>> err_score([[0, 1]], [[0.2, 0.7]])
    0.5
    """


@metric_function(m.ERU)
def eru_score() -> None:
    r"""Compute the expected rank utility.

    :math:`\sum_i \max(y_i - v, 0) \, 2^{(1-\sigma(i))/(w-1)}`.
    RAT13, section 5.

    >>> eru_score([[0, 3, 5]], [[0.1, 0.9, 0.5]], neutral=2, half_life=2)
    2.5
    """


@metric_function(m.AUC)
def auc_score() -> None:
    """Compute the area under the ROC curve.

    Share of (relevant, irrelevant) pairs in the right order; undefined (0/0) with one class only.
    CUG13, Table 1.

    >>> auc_score([[0, 1, 1, 0]], [[0.1, 0.9, 0.5, 0.7]])
    0.75
    """


@metric_function(m.Spearman)
def spearman_score() -> None:
    """Compute Spearman's rho.

    ``1 - 6 sum d^2 / (r(r^2-1))`` on mid-ranks of the labels, in expectation over ties of
    the scores; undefined (0/0) for a single document.
    CUG13, Table 1.

    >>> spearman_score([[3, 2, 1]], [[0.9, 0.2, 0.5]])
    0.5
    """


@metric_function(
    m.Kendall, y_true="array-like of shape (n_rows,) or (n, r), or PreferenceTarget of orders"
)
def kendall_score() -> None:
    """Compute Kendall's tau-a, tau-b or tau-x.

    Number of agreeing minus disagreeing pairs, divided by the number of all pairs; pairs with equal
    labels or scores count 0 (tau-a). Undefined (0/0) for a single document.
    RAT13, section 7; tau-x: Emond and Mason, 2002.

    >>> round(kendall_score([[3, 2, 1]], [[0.9, 0.2, 0.5]]), 4)
    0.3333
    """


@metric_function(
    m.PairwiseDisagreement,
    y_true="array-like of shape (n_rows,) or (n, r), or PreferenceTarget",
    loss=True,
)
def pairwise_disagreement_loss() -> None:
    r"""Compute the weight of the preferences that the ranking contradicts.

    :math:`\sum_{i \ne j} y_{ij} 1(\sigma(i) > \sigma(j))` per query, lower is better.
    RAT13, section 7.

    >>> pairwise_disagreement_loss([[3, 2, 1]], [[0.9, 0.2, 0.5]])
    1.0
    """
