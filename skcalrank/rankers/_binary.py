"""Rankers of positional measures of binary relevance."""

from numbers import Real
from typing import ClassVar

from ..columns.types import Estimator
from ..data import limits
from ..measures import AUC, RBP, Precision, Recall
from ._positional import PositionalRanker


class PrecisionRanker(PositionalRanker):
    """Least-squares ranker for precision at k (P@k).

    Use it where k results are shown, and the number of relevant ones counts, not their order.
    Regresses the relevance itself and sorts the documents by the prediction. With ``k=1`` the
    measure is "winner takes all".

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    k : int, default=10
        Cutoff of :meth:`score`, as in :class:`DCGRanker`.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    kernel, loss, n_passes, query_weight
        Kernel, loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Attributes
    ----------
    estimator_, kernel_, loss_, alpha_, penalty_scale_
        As in :class:`LeastSquaresRanker`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        As in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validated precision.
    RecallRanker : Ranker for the share of the relevant documents that are found.
    AveragePrecisionRanker : Ranker for the mean of the precision over the relevant documents.
    BoostedRanker : Boosted trees of the same targets.
    skcalrank.metrics.precision_at_k_score : The measure.

    Notes
    -----
    Calibrated (Fisher-consistent) for P@k under every distribution of the labels (RAT13, section
    4); with rows of documents, where the row determines the probability of its relevance
    (:ref:`rows-and-context`).

    Examples
    --------
    >>> from skcalrank import PrecisionRanker
    >>> X, y = [[0.1], [0.9], [0.4], [0.8]], [0, 1, 0, 1]
    >>> PrecisionRanker(k=2).fit(X, y, qid=[1, 1, 2, 2]).top_k(X, qid=[1, 1, 2, 2], k=1)
    array([1, 3])
    """

    short_names: ClassVar = {"precision": {}}
    _measure_type = Precision

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        k: int | None = 10,
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = 1,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
        self.k = k
        self.relevance_level = relevance_level


class RecallRanker(PositionalRanker):
    """Least-squares ranker for recall at k (R@k).

    Use it for the first stage of a search, whose k candidates another ranker sorts. Regresses ``y_i
    / |y|_1``, the relevance divided by the number of relevant documents of the query, and sorts by
    the prediction.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    k : int, default=10
        Cutoff of :meth:`score`, as in :class:`DCGRanker`.
    targets : {"measure", "separable"}, default="measure"
        What is regressed: ``y_i / |y|_1``, or the relevance ``y_i`` itself. "separable" suits
        regressors of single rows, which cannot see ``|y|_1``, under the condition in the Notes.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    kernel, loss, n_passes, query_weight
        Kernel, loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Attributes
    ----------
    estimator_, kernel_, loss_, alpha_, penalty_scale_
        As in :class:`LeastSquaresRanker`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        As in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validated recall.
    PrecisionRanker : Ranker for the share of the first k documents that are relevant.
    BoostedRanker : Boosted trees of the same targets.
    skcalrank.metrics.recall_at_k_score : The measure.

    Notes
    -----
    Calibrated (Fisher-consistent) for R@k under every distribution of the labels (CUG13, Table 1),
    as a regressor of the whole query; with rows of documents, where the rows carry the context of
    their query (:ref:`rows-and-context`). The target is 0 on a query without a relevant document.

    With ``targets="separable"`` the ranker is calibrated where the relevances of a query are
    independent given the query. Where in addition the probability of each relevance is a function
    of the row alone, a regressor of rows attains the best ranking.

    Examples
    --------
    >>> from skcalrank import RecallRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 1], [7, 7]
    >>> RecallRanker(k=1).fit(X, y, qid).score(X, y, qid)
    1.0
    """

    short_names: ClassVar = {"recall": {}}
    _measure_type = Recall

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        k: int | None = 10,
        targets: str = "measure",
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = 1,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
        self.k = k
        self.targets = targets
        self.relevance_level = relevance_level


class RBPRanker(PositionalRanker):
    """Least-squares ranker for rank-biased precision (RBP).

    Use it for readers who go on from each result to the next with one probability. Regresses the
    relevance itself and sorts the documents by the prediction. It learns what
    :class:`PrecisionRanker` learns; only :meth:`score` differs.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    k : int, default=None
        Cutoff of :meth:`score`, as in :class:`DCGRanker`.
    p : float, default=0.8
        Persistence of the user, in [0, 1): the probability of reading on after each document.
        Changes :meth:`score` only.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    kernel, loss, n_passes, query_weight
        Kernel, loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Attributes
    ----------
    estimator_, kernel_, loss_, alpha_, penalty_scale_
        As in :class:`LeastSquaresRanker`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        As in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validated RBP.
    PrecisionRanker : Ranker with a cutoff in place of a discount.
    ERRRanker : Ranker for users who stop when they are satisfied.
    BoostedRanker : Boosted trees of the same targets.
    skcalrank.metrics.rbp_score : The measure, of Moffat and Zobel (2008).

    Notes
    -----
    Calibrated (Fisher-consistent) for RBP under every distribution of the labels, as its discount
    does not increase (CUG13, Theorem 3.2); with rows of documents, where the row determines the
    probability of its relevance (:ref:`rows-and-context`).

    Examples
    --------
    >>> from skcalrank import RBPRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 1], [7, 7]
    >>> RBPRanker(p=0.5).fit(X, y, qid).score(X, y, qid)
    0.5
    """

    short_names: ClassVar = {"rbp": {}}
    _measure_type = RBP
    _parameter_constraints: ClassVar = {"p": [limits.Interval(Real, 0, 1, closed="left")]}

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        k: int | None = None,
        p: float = 0.8,
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = 1,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
        self.k = k
        self.p = p
        self.relevance_level = relevance_level


class AUCRanker(PositionalRanker):
    """Least-squares ranker for the area under the ROC curve (AUC) of each query.

    Use it for relevant and other documents where the whole list counts, its end as its top.
    Regresses ``y_i / (|y|_1 (r - |y|_1))``, where r is the number of documents of the query and
    ``|y|_1`` that of the relevant ones, and sorts by the prediction.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    targets : {"measure", "separable"}, default="measure"
        What is regressed: ``y_i / (|y|_1 (r - |y|_1))``, or the relevance, as in
        :class:`RecallRanker`.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    kernel, loss, n_passes, query_weight
        Kernel, loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Attributes
    ----------
    estimator_, kernel_, loss_, alpha_, penalty_scale_
        As in :class:`LeastSquaresRanker`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        As in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validated AUC.
    PairwiseDisagreementRanker : Ranker for pairs of graded labels.
    BoostedRanker : Boosted trees of the same targets.
    skcalrank.metrics.auc_score : The measure.

    Notes
    -----
    Calibrated (Fisher-consistent) for the AUC under every distribution of the labels (CUG13, Table
    1), as a regressor of the whole query; with rows of documents, where the rows carry the context
    of their query (:ref:`rows-and-context`). The target is 0 on a query with one class only.

    With ``targets="separable"`` the ranker is calibrated where the relevances of a query are
    independent given the query. Where in addition the probability of each relevance is a function
    of the row alone, a regressor of rows attains the best ranking.

    Examples
    --------
    >>> from skcalrank import AUCRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 1], [7, 7]
    >>> AUCRanker().fit(X, y, qid).score(X, y, qid)
    1.0
    """

    short_names: ClassVar = {"auc": {}}
    _measure_type = AUC

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        targets: str = "measure",
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = 1,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
        self.targets = targets
        self.relevance_level = relevance_level
