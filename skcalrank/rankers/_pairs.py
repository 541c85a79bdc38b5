"""Rankers for average precision and pairwise disagreement, on documents or on pairs."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._solvers import is_affine, is_closed_form
from ..columns.types import Estimator, Floats, Ints, Seed
from ..data import Rows, limits
from ..judgments import PreferenceTarget, RankedItems
from ..measures import AveragePrecision, PairwiseDisagreement
from ..preds import TIME_LIMIT, Pred
from ._pair_base import PairRanker
from ._plan import RegressionPlan

_NOTHING_LEFT = (
    "pair_features must not be 'difference' for MAP if the regressor is linear: the targets of "
    "(i, j) and (j, i) are equal and their differences opposite, so all predictions are equal. "
    "Set pair_features='bilinear' or 'concat', or an estimator that is not linear."
)


class AveragePrecisionRanker(PairRanker):
    r"""Least-squares ranker for mean average precision (MAP).

    Use it for relevant and other documents where each relevant one should come early, as in the
    evaluation of TREC. With ``surrogate="score"`` it regresses ``y_i / |y|_1`` and sorts. With
    ``surrogate="pairwise"`` it regresses :math:`y_i y_j / |y|_1` on pairs of documents and predicts
    by `pred`, which takes longer and is calibrated more generally.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`; None for the pair features
        "bilinear".
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count.
    divisor : {"relevant", "attainable"}, default="relevant"
        Divisor with a cutoff, as in :class:`~skcalrank.measures.AveragePrecision`:
        :math:`|y|_1`, or :math:`\min(|y|_1, k)`, also in the targets.
    surrogate : {"score", "pairwise"}, default="score"
        Whether one value per document is regressed, or one per pair. "score" is faster and needs a
        condition on the distribution of the labels; "pairwise" with an exact map needs none.
    targets : {"measure", "separable"}, default="measure"
        What the score surrogate regresses: ``y_i / |y|_1``, or the relevance, as in
        :class:`RecallRanker`.
    pred : {"diagonal", "exact", "beam", "auto"}, Pred or callable, default=None
        Prediction map of the pairwise surrogate, see :func:`skcalrank.preds.map_positions`. If
        None, "auto". A callable maps the (r, r) matrix of a query to positions.
    pair_features, alpha, loss, n_passes, query_weight, time_limit, n_jobs, random_state, verbose
        Options of the fit and of the map, as in :class:`~skcalrank.rankers.PairRanker`.
    relevance_level : float or None, default=1
        Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.

    Attributes
    ----------
    estimator_ : object
        The fitted regressor, or model of pairs.
    loss_ : str
        Loss that was minimized, "squared" for pairs.
    surrogate_ : {"score", "pairwise"}
        The surrogate that was fitted.
    n_iter_ : int
        Number of iterations of the bilinear fit; only there.
    alpha_, penalty_scale_ : float, ndarray of shape (d,)
        Ridge penalty that was used and its unit for each feature; only with ``estimator=None``.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    PrecisionRanker : Ranker for the precision at one cutoff.
    OrderPreservingRanker : Linear ranker with other losses of the score targets.
    BoostedRanker : Boosted trees of the score targets.
    skcalrank.preds.map_positions : The prediction maps.
    skcalrank.metrics.average_precision_score : The measure.

    Notes
    -----
    With ``surrogate="pairwise"`` and the exact map, calibrated (Fisher-consistent) for MAP under
    every distribution of the labels (RAT13, Theorem 3); with ``pred="diagonal"`` on
    :math:`P_{reinforce}` (RAT13, Theorem 4), the distributions for which, with :math:`u_{ij} =
    E[Y_i Y_j / |Y|_1]`,

    .. math:: u_{ii} \ge u_{jj} \Rightarrow
        u_{ii} \ge u_{jj} + \sum_{g \notin \{i,j\}} (u_{jg} - u_{ig})_+ .

    With ``surrogate="score"``, calibrated on the same distributions (RAT13, Corollary 5). The
    condition is sufficient, not necessary. No convex surrogate with one score per document is
    calibrated for MAP under every distribution (RAT13, section 6). All of these statements are
    about regressors of the whole query; for rows of documents see :ref:`rows-and-context`.

    They hold for MAP@k with both divisors, too, with its own :math:`u_{ij}` and the map for the
    first k positions: by parts, it is a sum of positive multiples of the weights of the sets of
    first documents, and on :math:`P_{reinforce}` the documents of the largest :math:`u_{ii}` are
    the best set of each size.

    With ``targets="separable"`` the ranker is calibrated where the relevances of a query are
    independent given the query (a part of :math:`P_{reinforce}`). Where in addition the probability
    of each relevance is a function of the row alone, a regressor of rows attains the best ranking.

    With ``pair_features="difference"``, a regressor that is linear in X is an error: the targets
    are symmetric, so that they average to a constant.

    Examples
    --------
    >>> from skcalrank import AveragePrecisionRanker
    >>> X, y, qid = [[0.1, 1], [0.9, 1], [0.4, 1]], [0, 1, 0], [7, 7, 7]
    >>> AveragePrecisionRanker().fit(X, y, qid).score(X, y, qid)
    1.0
    >>> ranker = AveragePrecisionRanker(surrogate="pairwise", alpha=0.01).fit(X, y, qid)
    >>> ranker.rank(X, qid)
    array([3, 1, 2])
    """

    short_names: ClassVar = {"map": {}}
    _measure_type = AveragePrecision
    _diagonal = True
    _of_documents = ("loss", "n_passes", "targets")
    _parameter_constraints: ClassVar = {"divisor": [limits.one_of("relevant", "attainable")]}

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        k: int | None = None,
        divisor: str = "relevant",
        surrogate: str = "score",
        targets: str = "measure",
        pred: str | Pred | Callable[..., Any] | None = None,
        pair_features: str | Callable[..., Any] = "bilinear",
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = 1,
        time_limit: float | None = TIME_LIMIT,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(estimator, alpha, loss, n_passes, query_weight)
        self.surrogate = surrogate
        self.pred = pred
        self.pair_features = pair_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.k = k
        self.divisor = divisor
        self.targets = targets
        self.relevance_level = relevance_level
        self.time_limit = time_limit

    def _fit_documents(self, plan: RegressionPlan, rows: Rows, values: Callable[..., Any]) -> Any:
        differences = isinstance(self.pair_features, str) and self.pair_features == "difference"
        if differences and is_closed_form(self.estimator):
            raise ValueError(_NOTHING_LEFT)
        model = super()._fit_documents(plan, rows, values)
        if differences and is_affine(model.regressor, rows.X.shape[1]):
            raise ValueError(_NOTHING_LEFT)
        return model

    def _pair_values(self, plan: RegressionPlan, rows: Rows) -> Callable[..., Any]:
        y = plan.measure.labels(rows.y)
        share = plan.measure.score_targets(y, rows.queries)
        return lambda first, second: share[first] * y[second]


class PairwiseDisagreementRanker(PairRanker):
    r"""Least-squares ranker for pairwise disagreement, from relevances or preferences.

    Use it for comparisons of two documents, and for partial orders of items. With
    ``surrogate="score"`` it regresses a score :math:`f_i(y)` of the preferences of each document
    and sorts. With ``surrogate="pairwise"`` it regresses the preferences :math:`y_{ij}` on pairs of
    documents and predicts by `pred`, which takes longer and is calibrated more generally.

    Parameters
    ----------
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`; None for the pair features
        "bilinear".
    surrogate : {"score", "pairwise"}, default="score"
        One value per document or per pair, as in :class:`AveragePrecisionRanker`.
    score_function : "net_preference" or callable, default="net_preference"
        Score :math:`f_i` of the score surrogate. A callable maps the (r, r) matrix ``y_ij`` of a
        query to (r,) scores.
    weights : {"difference", "unit"}, default="difference"
        Preferences that relevances imply, as in :class:`PairwiseLogisticRanker`. Only "unit" can
        make the pairwise surrogate better than the score surrogate, because averaged differences
        of complete rows are always acyclic.
    pred : {"topological", "exact", "local_search", "auto"}, Pred or callable, default=None
        Prediction map of the pairwise surrogate: Algorithm 1 of RAT13
        (:func:`skcalrank.preds.topological_positions`), or a method of
        :func:`skcalrank.preds.feedback_arc_positions`. If None, "auto". A callable maps the (r, r)
        matrix of a query to positions.
    pair_features, alpha, loss, n_passes, query_weight, time_limit, n_jobs, random_state, verbose
        Options of the fit and of the map, as in :class:`~skcalrank.rankers.PairRanker`.
    pair_targets : {"preferences", "differences"}, default="preferences"
        What the pairwise surrogate regresses: the preferences :math:`y_{ij}` of all
        :math:`r (r - 1)` ordered pairs, or the :math:`r (r - 1)/2` differences :math:`y_{ij} -
        y_{ji}`, which take half the outputs in the label-ranking form. With all features of a query
        in a row, regressors that are linear in the targets predict the same orders. With features
        of pairs, both orders of a pair are regressed, and half the difference of their predictions
        is its value.

    Attributes
    ----------
    estimator_ : object
        The fitted regressor, or model of pairs.
    loss_ : str
        Loss that was minimized, "squared" for pairs.
    surrogate_ : {"score", "pairwise"}
        The surrogate that was fitted.
    n_iter_ : int
        Number of iterations of the bilinear fit; only there.
    alpha_, penalty_scale_ : float, ndarray of shape (d,)
        Ridge penalty that was used and its unit for each feature; only with ``estimator=None``.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    ValueRegularizedRanker : Linear loss of preferences with a regularizer of the scores.
    DifferenceGraphRanker : Convex losses of net preferences.
    PairwiseHingeRanker, PairwiseLogisticRanker : Baselines that are not calibrated.
    SpearmanRanker : Ranker for Spearman's rho.
    PreferenceTarget : Target of preferences.
    skcalrank.metrics.pairwise_disagreement_loss : The measure.

    Notes
    -----
    With ``surrogate="pairwise"`` and the exact map, a minimum weighted feedback arc set, calibrated
    (Fisher-consistent) under every distribution of the preferences (RAT13, Theorem 3); with
    ``pred="topological"``, Algorithm 1, on :math:`P_{DAG}`, where the graph of
    :math:`E[Y_{ij}] > E[Y_{ji}]` is acyclic (RAT13, Theorem 7).

    With ``surrogate="score"``, calibrated on the distributions for which

    .. math:: E[Y_{ij}] > E[Y_{ji}] \Rightarrow E[f_i(Y)] > E[f_j(Y)]

    (RAT13, Theorem 6), a smaller set. For the net preference :math:`f_i = \sum_j (y_{ij} - y_{ji})`
    this is the surrogate of DMJ10 with the square regularizer; low noise (DMJ10, Definition 8) is
    sufficient. No convex surrogate with one score per document is calibrated under every
    distribution. All of these statements are about regressors of the whole query; with rows of
    documents, the row must determine the mean of its target (:ref:`rows-and-context`).

    Unlike :class:`SpearmanRanker`, the ranker has no `kernel`: it is linear unless `estimator` is a
    curved regressor, such as kernel ridge.

    In the label-ranking form, items of y may be NaN: the row does not rank them. Every pair is then
    regressed on the rows that rank both its items; with ``surrogate="score"``, too, whose score of
    an item is the sum over its pairs, which takes r(r-1)/2 outputs in place of r. A pair without
    such rows is predicted as even. Where the unranked items are drawn without regard to the order,
    given X, both surrogates are calibrated as for complete orders (:doc:`/label_ranking`).

    Examples
    --------
    >>> from skcalrank import PairwiseDisagreementRanker, PreferenceTarget
    >>> y = PreferenceTarget.from_comparisons([1, 1, 2], [0, 2, 0], qid=[7, 7, 7])
    >>> ranker = PairwiseDisagreementRanker().fit([[0.1], [0.9], [0.4]], y)
    >>> ranker.score([[0.1], [0.9], [0.4]], y)
    0.0
    """

    short_names: ClassVar = {"pd": {}, "kendall": {"weights": "unit"}}
    takes_unranked: ClassVar[bool] = True
    _judgments = (PreferenceTarget,)
    _measure_type = PairwiseDisagreement
    _of_documents = ("loss", "n_passes", "score_function")
    _of_pairs = ("pair_features", "pair_targets", "time_limit")
    _parameter_constraints: ClassVar = {
        "score_function": [limits.one_of("net_preference"), callable],
        "pair_targets": [limits.one_of("preferences", "differences")],
    }

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        surrogate: str = "score",
        score_function: str | Callable[..., Any] = "net_preference",
        weights: str = "difference",
        pred: str | Pred | Callable[..., Any] | None = None,
        pair_features: str | Callable[..., Any] = "bilinear",
        pair_targets: str = "preferences",
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        time_limit: float | None = TIME_LIMIT,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(estimator, alpha, loss, n_passes, query_weight)
        self.surrogate = surrogate
        self.pred = pred
        self.pair_features = pair_features
        self.pair_targets = pair_targets
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.score_function = score_function
        self.weights = weights
        self.time_limit = time_limit

    def _targets(self, plan: Any, rows: Any) -> Floats:
        if isinstance(rows.y, PreferenceTarget) or not np.isnan(rows.y).any():
            if callable(plan.score_function):
                return _score_matrices(plan.score_function, rows, plan.measure)
            return super()._targets(plan, rows)
        if callable(plan.score_function):
            raise ValueError(
                "score_function must be 'net_preference' if y has unranked items (NaN), got "
                f"{plan.score_function!r}."
            )
        ranked: Any = RankedItems.of(rows.y, rows.n_items)
        targets = np.full(rows.y.shape, np.nan)
        targets[ranked.cells] = plan.measure.score_targets(rows.y[ranked.cells], ranked.queries)
        return targets

    def _pair_values(self, plan: Any, rows: Rows) -> Callable[..., Any]:
        opposite = plan.pair_targets == "differences"
        if isinstance(rows.y, PreferenceTarget):
            weights = rows.y.adjacency()
            return partial(_entries, weights - weights.T if opposite else weights)
        return partial(_preferences, rows.y, plan.measure.weights == "unit", opposite)

    def _is_symmetric(self, measure: Any) -> bool:
        return False

    def _item_pairs(self, plan: Any, r: int) -> Any:
        is_half = plan.pair_targets == "differences"
        return np.triu_indices(r, 1) if is_half else super()._item_pairs(plan, r)

    def _matrices_of_items(self, u: Floats, r: int) -> Floats:
        out = super()._matrices_of_items(u, r)
        if self.record_.plan.pair_targets == "differences":
            return np.maximum(out - out.swapaxes(1, 2), 0.0)
        return out

    def _as_read(self, matrix: Floats) -> Floats:
        if self.record_.plan.pair_targets == "preferences":
            return matrix
        return np.maximum(matrix - matrix.T, 0.0) / 2


def _preferences(y: Floats, unit: bool, opposite: bool, first: Ints, second: Ints) -> Floats:
    """Return the preferences ``y_ij`` of pairs, minus ``y_ji`` if `opposite`; NaN if y is NaN."""
    out = y[first] - y[second]
    if unit:
        np.sign(out, out=out)
    return out if opposite else np.maximum(out, 0.0, out=out)


def _entries(matrix: Any, first: Ints, second: Ints) -> Floats:
    """Return entries of a sparse matrix, for pairs or for a grid of rows and columns."""
    if np.ndim(first) == 2:
        return matrix[first[:, 0]][:, second[0]].toarray()
    return np.asarray(matrix[first, second]).ravel()


def _score_matrices(score: Callable[..., Any], rows: Rows, measure: Any) -> Floats:
    """Return the scores by `score` of the preference matrix of each query."""
    queries = rows.queries
    if isinstance(rows.y, PreferenceTarget):
        matrices = rows.y.matrices()
    else:
        matrices = (measure.pair_targets(labels) for labels in np.split(rows.y, queries.ptr[1:-1]))
    out = [np.asarray(score(matrix), dtype=float) for matrix in matrices]
    for query, (values, size) in enumerate(zip(out, queries.sizes)):
        if values.shape != (size,) or not np.isfinite(values).all():
            raise ValueError(
                f"score_function must return {size} finite numbers for the {size} documents of "
                f"query {queries.name(query)!r}, got {values!r}."
            )
    return np.concatenate(out)
