"""Rankers of positional measures: regress the targets, sort."""

from __future__ import annotations

from dataclasses import fields
from numbers import Real
from typing import Any, ClassVar

from ..data import AT_LEAST_ONE, FINITE, OWN_ERROR, Interval, one_of
from ..measures import (
    AUC,
    DCG,
    ERU,
    NDCG,
    RBP,
    PositionalMeasure,
    Precision,
    Recall,
    Spearman,
    get_measure,
)
from ._score import ScoreRanker

_CONSTRAINTS = ScoreRanker._parameter_constraints
_CUTOFF = [AT_LEAST_ONE, None]
_LEVEL = [FINITE, None]
_TARGETS = [one_of("measure", "separable")]
_GAIN = [one_of("exponential", "linear"), "array-like", callable]
_DISCOUNT = [callable, None]


class _PositionalRanker(ScoreRanker):
    # The measure; parameters of the ranker that it has too are its own.
    _kind: ClassVar[type[PositionalMeasure]]

    def _measure(self):
        params = self.get_params(deep=False)
        names = (field.name for field in fields(self._kind))
        return self._kind(**{name: params[name] for name in names if name in params})

    def _positive_only(self):
        try:
            measure = self._measure()
        except (ValueError, TypeError):  # parameters are validated in fit
            return False
        return measure.positive_only or measure.needs_binary_labels


class LeastSquaresRanker(_PositionalRanker):
    r"""Least-squares surrogate of any positional measure.

    Regresses the targets :math:`u_i(y)` of the measure and sorts by the result:
    calibrated (Fisher-consistent) for the measure under every distribution of the
    labels (RAT13, Theorem 3; CUG13, Theorem 3.2), which is a statement about regressors
    of the whole query. In the label-ranking form a row is the whole query. With rows of
    documents it holds for separable measures where the row determines the law of its
    label, and for all where the row carries the context of its query, see
    :class:`~skcalrank.preprocessing.QueryContext` and :ref:`rows-and-context`.

    Parameters
    ----------
    measure : str or PositionalMeasure, default="ndcg@10"
        ``"precision@k"``, ``"recall@k"``, ``"dcg@k"``, ``"ndcg@k"``, ``"f1@k"``,
        ``"rbp"``, ``"eru"``, ``"auc"``, ``"spearman"``, or an object of :mod:`skcalrank.measures`.
    estimator : regressor, default=None
        Any regressor of scikit-learn; None is ridge regression with the penalty `alpha`, which
        can learn in chunks (:meth:`partial_fit`, :meth:`merge`). Calibration needs one
        that estimates the conditional mean, as squared errors do: absolute errors, quantiles or
        Huber's loss estimate something else.
    alpha : float or "auto", default="auto"
        Ridge penalty with ``estimator=None``; set that of another regressor on the regressor.
        "auto" is ``3 / sqrt(number of queries)`` times the sum of squares of each feature within
        the queries: it depends neither on units nor on names, costs no search, and vanishes as
        queries come. In the label-ranking form it is ``.3 / sqrt(number of rows)`` times the
        squares about the mean. Of a single query, every hundred documents count as one query.
        :class:`LeastSquaresRankerCV` searches for the multiple of it that is best for the measure,
        which is worth its time where queries are few. A number counts as in `Ridge`: under the
        loss "pairwise_squared" it is added to squares summed over all pairs of documents, so good
        numbers are often 100 to 10,000.
    loss : {"squared", "centered", "pairwise_squared"}, default=None
        Squared errors of the targets, or of their differences within a query. "pairwise_squared"
        leaves a constant of each query free: in closed form for ``Ridge``, ``LinearRegression``
        and ``GramRidge``, on centered features for other regressors linear in X, and else by
        passes that refit on ``u - mean_q(u - f)``, where f is the fit before. "centered" is the
        first pass by itself, from ``f = 0``: calibrated where a row carries its whole query, and
        otherwise not, not even for measures whose targets are separable. None is
        "pairwise_squared" for ``Ridge``, ``LinearRegression`` and ``GramRidge``, else "squared".
    n_passes : int, default=5
        Fits that "pairwise_squared" makes where the regressor is not linear in X; more come closer
        to its minimum. :meth:`partial_fit` makes no passes.
    query_weight : {"pairs", "documents", "equal"}, default=None
        What a query of n documents counts in the loss: its mean squared error, under the losses
        "centered" and "pairwise_squared" that of centered targets, times n ** 2, n, or 1. None is
        the sum over what the loss compares: "documents" for "squared", and "pairs" for the others,
        whose sums over pairs are n times sums over documents (without effect on regressors that
        take no weights). A penalty given as a number is added to that sum, so each has its own
        good `alpha`; "auto" is in its units. Instances of the label-ranking form, which rank
        equally many items, count the same under all of them.

    Attributes
    ----------
    estimator_ : regressor
        The fitted one; with ``estimator=None`` a
        :class:`~skcalrank.linear_model.GramRidge`, or `Ridge` of more features than rows.
    alpha_ : float
        The penalty that was used; only with ``estimator=None``.
    penalty_scale_ : ndarray of shape (d,)
        The units that ``alpha_`` is counted in, sums of squares of the features; ones for a
        number. Only with ``estimator=None``.
    n_items_ : int or None
        Number of items of the label-ranking form.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    LeastSquaresRankerCV : A ridge penalty chosen by the measure.
    skcalrank.linear_model.GramRidge : Ridge regression of rows that come in chunks.

    Examples
    --------
    >>> from skcalrank import LeastSquaresRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> ranker = LeastSquaresRanker(measure="recall@5").fit(X, y, qid)
    >>> ranker.rank(X, qid).shape
    (1200,)
    """

    _parameter_constraints: ClassVar = {**_CONSTRAINTS, "measure": OWN_ERROR}

    def __init__(
        self,
        measure: str | PositionalMeasure = "ndcg@10",
        *,
        estimator: Any = None,
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(
            estimator, alpha=alpha, loss=loss, n_passes=n_passes, query_weight=query_weight
        )
        self.measure = measure

    def _measure(self):
        if hasattr(self.measure, "fit"):
            raise ValueError(
                f"measure must be a name or a Measure, got {self.measure!r}: did you mean "
                f"{type(self).__name__}(estimator={self.measure!r})?"
            )
        measure = get_measure(self.measure)
        if measure.shape != "documents":
            raise ValueError(
                f"measure={self.measure!r} is not positional, so no least-squares surrogate "
                "with one value per document is calibrated for it without conditions: see "
                "AveragePrecisionRanker, PairwiseDisagreementRanker and ERRRanker."
            )
        return measure


# Of measures that read relevant or not from the labels, and cut off at k.
class _BinaryRanker(_PositionalRanker):
    _parameter_constraints: ClassVar = {**_CONSTRAINTS, "k": _CUTOFF, "relevance_level": _LEVEL}

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: int | None = 10,
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = None,
    ) -> None:
        super().__init__(
            estimator, alpha=alpha, loss=loss, n_passes=n_passes, query_weight=query_weight
        )
        self.k = k
        self.relevance_level = relevance_level


class PrecisionRanker(_BinaryRanker):
    """Precision at k; k = 1 is "winner takes all" (RAT13, section 4).

    Regresses the relevance itself and sorts: calibrated (Fisher-consistent) for P@k
    under every distribution of the labels, with rows where the row determines the
    probability of its relevance (:ref:`rows-and-context`).

    Parameters
    ----------
    estimator, alpha, loss, n_passes, query_weight
        As in :class:`LeastSquaresRanker`.
    k : int, default=10
        Cutoff of `score`; the surrogate is the same for every k. None = all.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None requires labels 0 and 1.

    Examples
    --------
    >>> from skcalrank import PrecisionRanker
    >>> X, y = [[0.1], [0.9], [0.4], [0.8]], [0, 1, 0, 1]
    >>> PrecisionRanker(k=2).fit(X, y, qid=[1, 1, 2, 2]).top_k(X, qid=[1, 1, 2, 2], k=1)
    array([1, 3])
    """

    short_names: ClassVar = {"precision": {}}
    _kind = Precision


class RecallRanker(_BinaryRanker):
    """Recall at k.

    Regresses ``y_i / |y|_1`` and sorts: calibrated (Fisher-consistent) for R@k under
    every distribution of the labels (CUG13, Table 1), as a regressor of the whole query;
    with rows, where they carry its context (:ref:`rows-and-context`). The target is 0 on
    a query without a relevant document.

    Parameters
    ----------
    estimator, k, alpha, loss, n_passes, query_weight, relevance_level
        As in :class:`PrecisionRanker`.
    targets : {"measure", "separable"}, default="measure"
        What is regressed: ``y_i / |y|_1``, or the relevance ``y_i`` itself. The latter is
        calibrated where the relevances of a query are independent given the query; and where also
        each is given by the row alone, a regressor of rows, which cannot see ``|y|_1``, attains it.

    Examples
    --------
    >>> from skcalrank import RecallRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 1], [7, 7]
    >>> RecallRanker(k=1).fit(X, y, qid).score(X, y, qid)
    1.0
    """

    short_names: ClassVar = {"recall": {}}
    _kind = Recall
    _parameter_constraints: ClassVar = {**_BinaryRanker._parameter_constraints, "targets": _TARGETS}

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: int | None = 10,
        targets: str = "measure",
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = None,
    ) -> None:
        super().__init__(
            estimator,
            k=k,
            alpha=alpha,
            loss=loss,
            n_passes=n_passes,
            query_weight=query_weight,
            relevance_level=relevance_level,
        )
        self.targets = targets


class DCGRanker(_PositionalRanker):
    """Discounted cumulative gain.

    Regresses the gain and sorts: calibrated (Fisher-consistent) for DCG@k under every
    distribution of the labels (CUG13, Table 1), with rows where the row determines its
    mean gain (:ref:`rows-and-context`).

    Parameters
    ----------
    estimator, alpha, loss, n_passes, query_weight
        As in :class:`LeastSquaresRanker`.
    k : int, default=None
        Cutoff of `score`; the surrogate is the same for every k. None = all.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        ``2^y - 1`` or ``y``; ``gain[y]``, or a function of grades that does not decrease.
    discount : callable, default=None
        Function of positions from 1 that does not increase; None is ``1 / log2(1 + i)``. For DCG it
        changes `score` only.

    Examples
    --------
    >>> from skcalrank import DCGRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 2], [7, 7]
    >>> DCGRanker().fit(X, y, qid).score(X, y, qid)
    3.0
    """

    short_names: ClassVar = {"dcg": {}}
    _kind = DCG
    _parameter_constraints: ClassVar = {
        **_CONSTRAINTS,
        "k": _CUTOFF,
        "gain": _GAIN,
        "discount": _DISCOUNT,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: int | None = None,
        gain: Any = "exponential",
        discount: Any = None,
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(
            estimator, alpha=alpha, loss=loss, n_passes=n_passes, query_weight=query_weight
        )
        self.k = k
        self.gain = gain
        self.discount = discount


class NDCGRanker(_PositionalRanker):
    """Normalized discounted cumulative gain.

    Regresses ``G(y_i) / IDCG@k(y)`` and sorts: calibrated (Fisher-consistent) for
    NDCG@k under every distribution of the labels (CUG13, Table 1; DMJ13, eq. 28), as a
    regressor of the whole query; with rows, where they carry its context
    (:ref:`rows-and-context`). The target is 0 on a query without a relevant document.

    Parameters
    ----------
    estimator, alpha, loss, n_passes, query_weight
        As in :class:`LeastSquaresRanker`.
    k : int, default=10
        Cutoff; None = all documents.
    gain, discount
        As in :class:`DCGRanker`; IDCG is that of both.
    targets : {"measure", "separable"}, default="measure"
        What is regressed: ``G(y_i) / IDCG@k(y)``, or the gain ``G(y_i)`` itself. The latter is
        calibrated where the labels of a query are independent given the query and their laws
        stochastically ordered (of two documents, one has the higher probability of a label above
        each grade, as two labels always have it and cumulative models do; a document that is
        seldom excellent against one that is always fair is not in such an order). Where also each
        label is given by the row alone, a regressor of rows, which cannot see IDCG, attains it.

    Examples
    --------
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> ranker = NDCGRanker(k=10).fit(X, y, qid)
    >>> 0.5 < ranker.score(X, y, qid) <= 1
    True
    """

    short_names: ClassVar = {"ndcg": {}}
    _kind = NDCG
    _parameter_constraints: ClassVar = {
        **_CONSTRAINTS,
        "k": _CUTOFF,
        "gain": _GAIN,
        "discount": _DISCOUNT,
        "targets": _TARGETS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: int | None = 10,
        gain: Any = "exponential",
        discount: Any = None,
        targets: str = "measure",
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(
            estimator, alpha=alpha, loss=loss, n_passes=n_passes, query_weight=query_weight
        )
        self.k = k
        self.gain = gain
        self.discount = discount
        self.targets = targets


class ExpectedRankUtilityRanker(_PositionalRanker):
    """Expected rank utility (RAT13, section 5).

    Regresses ``max(y_i - neutral, 0)`` and sorts: calibrated (Fisher-consistent) for
    ERU under every distribution of the labels, with rows where the row determines its
    mean target (:ref:`rows-and-context`).

    Parameters
    ----------
    estimator, alpha, loss, n_passes, query_weight
        As in :class:`LeastSquaresRanker`.
    neutral : float, default=0.0
        Label that is worth nothing.
    half_life : float, default=5.0
        Position, above 1, at which the discount is one half (of the score only).

    Examples
    --------
    >>> from skcalrank import ExpectedRankUtilityRanker
    >>> ranker = ExpectedRankUtilityRanker(neutral=2).fit([[0.0], [1.0]], [1, 5], [7, 7])
    >>> ranker.score([[0.0], [1.0]], [1, 5], [7, 7])
    3.0
    """

    short_names: ClassVar = {"eru": {}}
    _kind = ERU
    _parameter_constraints: ClassVar = {
        **_CONSTRAINTS,
        "neutral": [FINITE],
        "half_life": [Interval(Real, 1, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        neutral: float = 0.0,
        half_life: float = 5.0,
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(
            estimator, alpha=alpha, loss=loss, n_passes=n_passes, query_weight=query_weight
        )
        self.neutral = neutral
        self.half_life = half_life


class RBPRanker(_PositionalRanker):
    """Rank-biased precision (Moffat and Zobel, 2008).

    Regresses the relevance itself and sorts: calibrated (Fisher-consistent) for RBP
    under every distribution of the labels, as its discount does not increase (CUG13, Theorem 3.2),
    with rows where the row determines the probability of its relevance (:ref:`rows-and-context`).
    It learns what :class:`PrecisionRanker` learns, and `score` is another.

    Parameters
    ----------
    estimator, alpha, loss, n_passes, query_weight
        As in :class:`LeastSquaresRanker`.
    k : int, default=None
        Cutoff of `score`; the surrogate is the same for every k. None = all.
    p : float, default=0.8
        Persistence of the user, in [0, 1) (of `score` only).
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None requires labels 0 and 1.

    Examples
    --------
    >>> from skcalrank import RBPRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 1], [7, 7]
    >>> RBPRanker(p=0.5).fit(X, y, qid).score(X, y, qid)
    0.5
    """

    short_names: ClassVar = {"rbp": {}}
    _kind = RBP
    _parameter_constraints: ClassVar = {
        **_CONSTRAINTS,
        "k": _CUTOFF,
        "p": [Interval(Real, 0, 1, closed="left")],
        "relevance_level": _LEVEL,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: int | None = None,
        p: float = 0.8,
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = None,
    ) -> None:
        super().__init__(
            estimator, alpha=alpha, loss=loss, n_passes=n_passes, query_weight=query_weight
        )
        self.k = k
        self.p = p
        self.relevance_level = relevance_level


class AUCRanker(_PositionalRanker):
    """Area under the ROC curve within the query.

    Regresses ``y_i / (|y|_1 (r - |y|_1))`` and sorts: calibrated (Fisher-consistent)
    for the AUC under every distribution of the labels (CUG13, Table 1), as a regressor of
    the whole query; with rows, where they carry its context (:ref:`rows-and-context`).
    The target is 0 on a query with one class only.

    Parameters
    ----------
    estimator, alpha, loss, n_passes, query_weight
        As in :class:`LeastSquaresRanker`.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None requires labels 0 and 1.
    targets : {"measure", "separable"}, default="measure"
        What is regressed: ``y_i / (|y|_1 (r - |y|_1))``, or the relevance ``y_i`` itself, under the
        condition of :class:`RecallRanker`.

    Examples
    --------
    >>> from skcalrank import AUCRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 1], [7, 7]
    >>> AUCRanker().fit(X, y, qid).score(X, y, qid)
    1.0
    """

    short_names: ClassVar = {"auc": {}}
    _kind = AUC
    _parameter_constraints: ClassVar = {
        **_CONSTRAINTS,
        "relevance_level": _LEVEL,
        "targets": _TARGETS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        targets: str = "measure",
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = None,
    ) -> None:
        super().__init__(
            estimator, alpha=alpha, loss=loss, n_passes=n_passes, query_weight=query_weight
        )
        self.targets = targets
        self.relevance_level = relevance_level


class SpearmanRanker(_PositionalRanker):
    """Spearman's rho.

    Regresses ``r - position_i`` (mid-ranks of the labels) and sorts: calibrated
    (Fisher-consistent) for Spearman's rho under every distribution of the labels
    (CUG13, Table 1), as a regressor of the whole query; with rows, where they carry its
    context (:ref:`rows-and-context`). In the label-ranking form it is the regression of
    Borda counts.

    Parameters
    ----------
    estimator, alpha, loss, n_passes, query_weight
        As in :class:`LeastSquaresRanker`.

    Examples
    --------
    Instances that each rank the same three items:

    >>> from skcalrank import SpearmanRanker
    >>> X, y = [[0.0], [1.0], [2.0]], [[3, 2, 1], [3, 2, 1], [1, 2, 3]]
    >>> SpearmanRanker().fit(X, y).rank([[0.0], [3.0]])
    array([[1, 2, 3],
           [3, 2, 1]])
    """

    short_names: ClassVar = {"spearman": {}}
    _kind = Spearman
