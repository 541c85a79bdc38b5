"""Rankers of positional measures, which regress the targets and sort."""

from numbers import Real
from typing import Any, ClassVar

from ..columns.types import ArrayLike, Estimator
from ..data import limits
from ..measures import DCG, ERU, NDCG, Discount, Gain, PositionalMeasure, Spearman, get_measure
from ._score import ScoreRanker

# Rankers of measures that are not positional, if they have one of their own.
_RANKERS = {
    "map": "AveragePrecisionRanker",
    "neg_pairwise_disagreement": "PairwiseDisagreementRanker",
    "kendall": "PairwiseDisagreementRanker(weights='unit')",
    "err": "ERRRanker",
}


def positional(measure: Any) -> PositionalMeasure:
    """Return a positional measure by name, or raise for another one."""
    if hasattr(measure, "fit"):
        raise ValueError(
            f"measure must be a name or a Measure, got {measure!r}: did you mean "
            f"LeastSquaresRanker(estimator={measure!r})?"
        )
    known: Any = get_measure(measure)
    if known.shape != "documents":
        raise ValueError(f"measure must be positional, got {measure!r}: {_ranker_of(known)}.")
    return known


def _ranker_of(measure: Any) -> str:
    """Return which rankers there are for a measure that is not positional."""
    if measure.condition == "always":
        return "it is P@1, use PrecisionRanker(k=1)"
    # The ranker of MAP has no cutoff.
    name = measure.full_name if measure.shape == "pairs" else measure.name
    if name not in _RANKERS and not measure.has_score_targets():
        return "no targets are known for it, choose another measure"
    ranker = _RANKERS.get(name, f"OrderPreservingRanker({measure.full_name!r})")
    return (
        "no least-squares surrogate with one value per document is calibrated for it without "
        f"conditions, use {ranker}"
    )


class PositionalRanker(ScoreRanker):
    """Base class of rankers of positional measures, whose targets may be regressed on a kernel."""

    _parameter_constraints: ClassVar = {
        "kernel": [limits.one_of("linear", "gaussian", "auto"), None],
        "gain": [limits.one_of("exponential", "linear"), "array-like", callable],
        "discount": ["array-like", callable, None],
    }

    def __init__(
        self,
        estimator: Estimator | None = None,
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(estimator, alpha, loss, n_passes, query_weight)
        self.kernel = kernel

    @property
    def kernel_(self) -> str:
        """Kernel that was used, "linear" or "gaussian"."""
        self._check_fitted()
        return str(self.record_.plan.kernel)


class LeastSquaresRanker(PositionalRanker):
    """Least-squares ranker for any positional measure.

    Use it to train for a measure by name, or for a measure of your own. Most users set `measure`
    and `alpha`. The ranker regresses the targets :math:`u_i(y)` of the measure, and sorts the
    documents by the prediction. Named rankers, such as :class:`NDCGRanker`, fix the measure and
    have its options as parameters.

    Parameters
    ----------
    measure : str or PositionalMeasure, default="ndcg@10"
        ``"precision@k"``, ``"recall@k"``, ``"dcg@k"``, ``"ndcg@k"``, ``"f1@k"``,
        ``"rbp"``, ``"eru"``, ``"auc"``, ``"spearman"``, or an object of :mod:`skcalrank.measures`.
    estimator : regressor, default=None
        Regressor of the targets, any of scikit-learn. If None, ridge regression with the penalty
        `alpha` and the kernel `kernel`, which can also learn in chunks (:meth:`partial_fit`,
        :meth:`merge`) if the kernel is linear. Calibration
        needs an estimate of the conditional mean, as squared errors give: absolute errors,
        quantiles and Huber's loss estimate something else.
    alpha : float or "auto", default="auto"
        Ridge penalty, used only with ``estimator=None``; set the penalty of another regressor on
        that regressor.

        - "auto" is ``3 / sqrt(number of queries)`` times the sum of squares of each feature within
          the queries. It depends neither on the units nor on the names of the features, needs no
          search, and vanishes as the number of queries grows. In the label-ranking form it is
          ``.3 / sqrt(number of rows)`` times the squares about the mean. If there is a single
          query, every hundred documents count as one query.
        - A number is the penalty of `Ridge`: under the loss "pairwise_squared" it is added to
          squares summed over all pairs of documents, so good numbers are often 100 to 10,000.

        :class:`LeastSquaresRankerCV` finds the multiple of "auto" that is best for the measure,
        which pays if there are few queries.
    kernel : {"linear", "gaussian", "auto"}, default=None
        Kernel of the ridge regression of ``estimator=None``; `kernel_` says which was used.
        "gaussian" and "auto" need the label-ranking form, dense X in memory and ``alpha="auto"``,
        and are errors elsewhere.

        - "linear": coefficients, which can be read, exported, and updated with more rows.
        - "gaussian": ``exp(-gamma |x - z|^2)`` of standardized features. `gamma` among 1/4, 1 and 4
          over the number of features and the penalty among .01, .1 and 1 are those of the best
          measure in four draws of five folds of at most 1,000 rows, drawn by the row numbers. The
          model keeps the rows, of which :meth:`predict` reads all, learns no chunks and has no
          coefficients, so that it is neither exported nor explained. The fit takes a second for
          1,000 to 3,000 rows, and 3 seconds and half a gigabyte for 5,000.
        - "auto": the better one of "linear" and "gaussian" by the same folds; above 5,000 rows
          "linear", with a warning.
        - None: "auto" where that is no error and 100 to 3,000 rows have a weight: of fewer rows
          folds tell too little, and with more the fit takes longer than about a second. "linear"
          elsewhere: for documents of queries, sparse X, collections of dask, :meth:`partial_fit`,
          another regressor, and an `alpha` that is a number.
    loss : {"squared", "centered", "pairwise_squared"}, default=None
        Loss of the regression. If None, "pairwise_squared" for regressors in closed form, else
        "squared"; `loss_` says which. In closed form are exactly ``Ridge``, ``LinearRegression``
        and ``GramRidge``, not their subclasses, also as the last step of a ``Pipeline`` whose other
        steps are of scikit-learn or this package and need neither labels nor queries.

        - "squared": squared errors of the targets.
        - "pairwise_squared": squared errors of the differences of targets within a query, which
          leaves a constant of each query free. Minimized in closed form where there is one, on
          centered features for other regressors linear in X, and approached for all others by
          `n_passes` passes from the fit of "squared", each of which fits ``u - mean_q(u - f)``,
          where f is the fit before.
        - "centered": one such pass from ``f = 0``. Calibrated only where a row carries its whole
          query, even for measures whose targets are separable.
    n_passes : int, default=5
        Number of passes, each a fit, that "pairwise_squared" makes after the squared fit if the
        regressor is not linear in X. More take longer and come closer to the minimum; where
        "squared" is calibrated, all of them are. :meth:`partial_fit` makes no passes.
    query_weight : {"pairs", "documents", "equal"}, default=None
        Weight of a query of n documents in the loss: its mean squared error, of centered targets
        under the losses "centered" and "pairwise_squared", times n ** 2, n, or 1. If None, the sum
        over what the loss compares: "documents" for "squared", and "pairs" for the others, whose
        sums over pairs are n times sums over documents (without effect on regressors that take no
        weights). A penalty given as a number is added to that sum, so the best `alpha` differs
        between them; "auto" scales with it. Choose "equal" if long queries should count no more
        than short ones. Instances of the label-ranking form, which rank equally many items, have
        equal weights under all of them.

    Attributes
    ----------
    estimator_ : regressor
        The fitted regressor. With ``estimator=None`` a :class:`~skcalrank.linear_model.GramRidge`,
        or `Ridge` where X has more features than rows (and more than 1,000), or too many for a
        d x d matrix in memory.
    loss_ : str
        Loss that was minimized.
    kernel_ : str
        Kernel that was used, "linear" or "gaussian". With "gaussian", `estimator_` is a pipeline of
        scikit-learn around a ``KernelRidge``, fitted by "centered".
    alpha_ : float
        Ridge penalty that was used; only with ``estimator=None`` and a linear kernel.
    penalty_scale_ : ndarray of shape (d,)
        Unit of `alpha_` for each feature: its sum of squares, or 1 if `alpha` is a number. Only
        with ``estimator=None`` and a linear kernel.
    n_items_ : int or None
        Number of items in the label-ranking form, None otherwise.
    item_names_in_ : ndarray of shape ``(n_items_,)``
        Names of the items, if y has columns with names that are all strings.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validating the measure.
    NDCGRanker : Ranker for NDCG, with its options as parameters.
    OrderPreservingRanker : Linear ranker with other losses of the same targets.
    BoostedRanker : Boosted trees of the same targets.
    TabularRanker : Ranker of a data frame in one call.
    skcalrank.linear_model.GramRidge : Ridge regression of rows that come in chunks.

    Notes
    -----
    Calibrated (Fisher-consistent) for the measure under every distribution of the labels (RAT13,
    Theorem 3; CUG13, Theorem 3.2), as a regressor of the whole query. In the label-ranking form a
    row is the whole query. With rows of documents the ranker is calibrated for separable measures
    where the row determines the distribution of its label, and for all measures where the row
    carries the context of its query, see :class:`~skcalrank.preprocessing.QueryContext` and
    :ref:`rows-and-context`.

    Examples
    --------
    >>> from skcalrank import LeastSquaresRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> ranker = LeastSquaresRanker(measure="recall@5").fit(X, y, qid)
    >>> ranker.rank(X, qid).shape
    (1200,)
    """

    _read_measure = staticmethod(positional)

    def __init__(
        self,
        measure: str | PositionalMeasure = "ndcg@10",
        *,
        estimator: Estimator | None = None,
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
        self.measure = measure


class DCGRanker(PositionalRanker):
    """Least-squares ranker for discounted cumulative gain (DCG@k).

    Use it where labels are worth something, such as money or clicks, so that the sum counts.
    Regresses the gain ``G(y_i)`` of a document and sorts the documents by the prediction. Queries
    with high grades count more than in :class:`NDCGRanker`, and the target of a document does not
    depend on the other documents of its query.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    k : int, default=None
        Cutoff of :meth:`score`; if None, all documents count. The fitted model is the same for
        every k.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        Gain of a grade: ``2^y - 1``, ``y``, ``gain[y]``, or a non-decreasing function of grades.
    discount : array-like or callable, default=None
        Non-increasing discounts, of :meth:`score` only: an array for positions 1, 2, ..., with 0
        behind the last, or a function of an array of positions. If None, ``1 / log2(1 + i)``.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    kernel, loss, n_passes, query_weight
        Kernel, loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.

    Attributes
    ----------
    estimator_, kernel_, loss_, alpha_, penalty_scale_
        As in :class:`LeastSquaresRanker`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        As in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validated DCG.
    NDCGRanker : Ranker for the measure that is normalized by the query.
    OrderPreservingRanker : Linear ranker with other losses of the same targets.
    BoostedRanker : Boosted trees of the same targets.
    skcalrank.metrics.dcg_score : The measure.

    Notes
    -----
    Calibrated (Fisher-consistent) for DCG@k under every distribution of the labels (CUG13, Table
    1); with rows of documents, where the row determines the mean gain of its document
    (:ref:`rows-and-context`).

    Examples
    --------
    >>> from skcalrank import DCGRanker
    >>> X, y, qid = [[0.0], [1.0]], [0, 2], [7, 7]
    >>> DCGRanker().fit(X, y, qid).score(X, y, qid)
    3.0
    """

    short_names: ClassVar = {"dcg": {}}
    _measure_type = DCG

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        k: int | None = None,
        gain: Gain | ArrayLike = "exponential",
        discount: Discount | ArrayLike | None = None,
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
        self.k = k
        self.gain = gain
        self.discount = discount


class NDCGRanker(PositionalRanker):
    """Least-squares ranker for normalized discounted cumulative gain (NDCG@k).

    Use it for graded relevance where the top of each list matters most, as in search. Most users
    set `k` and `alpha`, and nothing else.

    The ranker regresses ``G(y_i) / IDCG@k(y)``, the gain of a document divided by the largest DCG@k
    that the labels of the query allow, and sorts the documents by the prediction.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    k : int, default=10
        Cutoff, of the targets and of :meth:`score`; if None, all documents count.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        Gain of a grade: ``2^y - 1``, ``y``, ``gain[y]``, or a non-decreasing function of grades.
    discount : array-like or callable, default=None
        Discounts of positions 1, 2, ..., with 0 behind the last, or a function of an array of
        positions; both non-increasing. If None, ``1 / log2(1 + i)``.
    targets : {"measure", "separable"}, default="measure"
        What is regressed: ``G(y_i) / IDCG@k(y)``, or the gain ``G(y_i)``, as in
        :class:`RecallRanker`.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    kernel, loss, n_passes, query_weight
        Kernel, loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.

    Attributes
    ----------
    estimator_, kernel_, loss_, alpha_, penalty_scale_
        As in :class:`LeastSquaresRanker`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        As in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validated NDCG.
    DCGRanker : Ranker for the measure that is not normalized.
    OrderPreservingRanker : Linear ranker with other losses of the same targets.
    BoostedRanker : Boosted trees of the same targets.
    TabularRanker : Ranker of a data frame in one call.
    skcalrank.metrics.ndcg_score : The measure.

    Notes
    -----
    Calibrated (Fisher-consistent) for NDCG@k under every distribution of the labels (CUG13, Table
    1; DMJ13, eq. 28), as a regressor of the whole query; with rows of documents, where the rows
    carry the context of their query (:ref:`rows-and-context`). The target is 0 on a query without a
    document of positive gain.

    With ``targets="separable"`` the ranker is calibrated where the labels of a query are
    independent given the query and their distributions are stochastically ordered: of two
    documents, one has the higher probability of a label above each grade. Distributions on two
    grades always are, and so are those of cumulative link models; a document that is seldom
    excellent and one that is always fair are not. Where in addition the distribution of each label
    is a function of the row alone, a regressor of rows attains the best ranking.

    Examples
    --------
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> ranker = NDCGRanker(k=10).fit(X, y, qid)
    >>> 0.5 < ranker.score(X, y, qid) <= 1
    True
    """

    short_names: ClassVar = {"ndcg": {}}
    _measure_type = NDCG

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        k: int | None = 10,
        gain: Gain | ArrayLike = "exponential",
        discount: Discount | ArrayLike | None = None,
        targets: str = "measure",
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
        self.k = k
        self.gain = gain
        self.discount = discount
        self.targets = targets


class ExpectedRankUtilityRanker(PositionalRanker):
    """Least-squares ranker for expected rank utility (ERU).

    Regresses ``max(y_i - neutral, 0)`` and sorts the documents by the prediction. Suits ratings of
    which only those above a neutral one are worth anything, such as stars.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    neutral : float, default=0.0
        Label up to which a document is worth nothing.
    half_life : float, default=5.0
        Position, greater than 1, at which the discount is one half; changes :meth:`score` only.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    kernel, loss, n_passes, query_weight
        Kernel, loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.

    Attributes
    ----------
    estimator_, kernel_, loss_, alpha_, penalty_scale_
        As in :class:`LeastSquaresRanker`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        As in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validated ERU.
    DCGRanker : Ranker for the logarithmic discount.
    BoostedRanker : Boosted trees of the same targets.
    skcalrank.metrics.eru_score : The measure.

    Notes
    -----
    Calibrated (Fisher-consistent) for ERU under every distribution of the labels (RAT13, section
    5); with rows of documents, where the row determines the mean target of its document
    (:ref:`rows-and-context`).

    Examples
    --------
    >>> from skcalrank import ExpectedRankUtilityRanker
    >>> ranker = ExpectedRankUtilityRanker(neutral=2).fit([[0.0], [1.0]], [1, 5], [7, 7])
    >>> ranker.score([[0.0], [1.0]], [1, 5], [7, 7])
    3.0
    """

    short_names: ClassVar = {"eru": {}}
    _measure_type = ERU
    _parameter_constraints: ClassVar = {
        "neutral": [limits.FINITE],
        "half_life": [limits.Interval(Real, 1, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        neutral: float = 0.0,
        half_life: float = 5.0,
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
        self.neutral = neutral
        self.half_life = half_life


class SpearmanRanker(PositionalRanker):
    """Least-squares ranker for Spearman's rho.

    Regresses ``r - position_i``, where r is the number of documents of the query and positions are
    mid-ranks of the labels, and sorts by the prediction. Suits labels whose whole order matters,
    and label ranking, where it is the regression of Borda counts.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker`.
    kernel, loss, n_passes, query_weight
        Kernel, loss, its passes, and the weight of a query, as in :class:`LeastSquaresRanker`.

    Attributes
    ----------
    estimator_, kernel_, loss_, alpha_, penalty_scale_
        As in :class:`LeastSquaresRanker`.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        As in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRankerCV : Same ranker with a penalty chosen by cross-validated Spearman's rho.
    PairwiseDisagreementRanker : Ranker for pairwise disagreement and Kendall's tau.
    BoostedRanker : Boosted trees of the same targets.
    skcalrank.metrics.spearman_score : The measure.

    Notes
    -----
    Calibrated (Fisher-consistent) for Spearman's rho under every distribution of the labels (CUG13,
    Table 1), as a regressor of the whole query; with rows of documents, where the rows carry the
    context of their query (:ref:`rows-and-context`).

    Examples
    --------
    Instances that each rank the same three items:

    >>> from skcalrank import SpearmanRanker
    >>> X, y = [[0.0], [1.0], [2.0]], [[3, 2, 1], [3, 2, 1], [1, 2, 3]]
    >>> SpearmanRanker().fit(X, y).rank([[0.0], [3.0]])
    array([[1, 2, 3],
           [3, 2, 1]])

    One item is better in the middle, which no linear function says:

    >>> import numpy as np
    >>> X = np.linspace(-2, 2, 20)[:, None]
    >>> y = np.where(abs(X) < 1, [0, 1], [1, 0])
    >>> SpearmanRanker(kernel="gaussian").fit(X, y).rank([[-1.5], [0.0], [1.5]])
    array([[1, 2],
           [2, 1],
           [1, 2]])
    """

    short_names: ClassVar = {"spearman": {}}
    _measure_type = Spearman

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        alpha: float | str = "auto",
        kernel: str | None = None,
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(estimator, alpha, kernel, loss, n_passes, query_weight)
