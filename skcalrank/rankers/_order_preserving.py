"""Linear ranker with any order-preserving loss of the targets of a measure."""

from numbers import Real
from typing import Any, ClassVar

from .._solvers import ScorerFit
from ..columns.types import Floats
from ..data import Rows, limits, workers_of_fit
from ..losses import Loss, get_loss, scaled_to_all
from ..measures import Measure
from ._linear import TargetScorer
from ._plan import LossPlan
from ._regression import AUTO, fit_ridge, gram_ridge


class OrderPreservingRanker(TargetScorer):
    r"""Linear ranker that minimizes an order-preserving loss of the targets of a measure.

    .. math:: \min_{w,b} \sum_q L\bigl(v_q, X_q w + b\bigr) + \alpha \|w\|^2

    Use it in place of :class:`LeastSquaresRanker` for other losses, such as logistic or pairwise
    ones. The targets and the order of the minimizer are the same; the losses differ in their regret
    bounds and in how a linear model fits.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Any measure with score targets, see :class:`LeastSquaresRanker`.
    loss : str or Loss, default="pairwise_squared"
        ``"squared"``, ``"logistic"``, ``"exponential"``, ``"squared_hinge"``,
        ``"differentiable_hinge"``, ``"pairwise_squared"``, ``"pairwise_logistic"``,
        ``"pairwise_exponential"``, ``"bregman_kl"``, ``"bregman_logistic"``, ``"softmax"``, or an
        object of :mod:`skcalrank.losses`. A sum over documents, or over pairs of documents.
    alpha : float or "auto", default="auto"
        Ridge penalty of the coefficients, as in :class:`~skcalrank.rankers.LinearScorer`.
    eta : float, default=None
        Upper bound of the targets, for the pointwise losses, and of the sum of the targets of a
        query, for "bregman_kl". Other losses ignore it. The regret bound grows with its root. If
        None, the largest value seen in :meth:`fit`.
    threshold : float, default=None
        Threshold of "squared_hinge", positive. If None, 1.
    smoothing : float, default=None
        Smoothing of "differentiable_hinge", in (0, 1/2]. If None, 1/2.
    fit_intercept, max_iter, tol, warm_start, verbose, query_weight
        Options of the fit, as in :class:`~skcalrank.rankers.LinearScorer`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, alpha_, penalty_scale_
        Linear score and its penalty, as in :class:`~skcalrank.rankers.LinearScorer`.
    loss_ : Loss
        The loss that was minimized, with its ``eta``.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRanker : Ranker with squared losses and any regressor.
    BoostedRanker : Boosted trees with the same losses.
    skcalrank.boosting : The same losses as objectives of tree libraries.
    skcalrank.losses : The losses.
    skcalrank.calibration.regret_bound : Regret bound of a loss and a measure.

    Notes
    -----
    Sorting by the minimizer of any of these losses is calibrated (Fisher-consistent) for the
    positional measure whose targets v it is given, under every distribution of the labels (CUG13,
    Theorem 3.2), with the regret bound of :func:`skcalrank.calibration.regret_bound`. With rows of
    documents it is where :class:`LeastSquaresRanker` is for a loss with
    :attr:`~skcalrank.losses.Loss.of_rows`: not for "bregman_kl", whose best scores depend on the
    sum of the targets of the query, and not for templates of pairs.

    For MAP, pairwise disagreement and ERR the conditions of :class:`AveragePrecisionRanker` and
    :class:`PairwiseDisagreementRanker` (with ``surrogate="score"``) and of :class:`ERRRanker`
    remain. For pairwise disagreement the targets are net preferences :math:`f_i(y)`, a
    standardization function on :math:`P_f` (RAT13, section 7.1). Losses that need non-negative
    targets are given :math:`f_i(y) - \min_j f_j(y)`, which has the same order.

    Squared losses are solved by :class:`~sklearn.linear_model.Ridge`, all others by L-BFGS.

    Examples
    --------
    >>> from skcalrank import OrderPreservingRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=30)
    >>> ranker = OrderPreservingRanker("precision@5", loss="logistic").fit(X, y, qid)
    >>> ranker.loss_
    Logistic(eta=1.0)
    """

    fits_among_workers = True
    _plan_type: ClassVar = LossPlan
    _theorem: ClassVar[str] = "loss"
    _parameter_constraints: ClassVar = {
        "eta": [limits.NON_NEGATIVE, None],
        "threshold": [limits.POSITIVE, None],
        "smoothing": [limits.Interval(Real, 0, 0.5, closed="right"), None],
    }

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        loss: str | Loss = "pairwise_squared",
        alpha: float | str = "auto",
        eta: float | None = None,
        threshold: float | None = None,
        smoothing: float | None = None,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        verbose: int = 0,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(alpha, fit_intercept, max_iter, tol, warm_start, verbose, query_weight)
        self.measure = measure
        self.loss = loss
        self.eta = eta
        self.threshold = threshold
        self.smoothing = smoothing

    def _loss(self) -> Any:
        return get_loss(self.loss, eta=self.eta, threshold=self.threshold, smoothing=self.smoothing)

    def _solve(self, rows: Rows, start: Any) -> ScorerFit:
        if workers_of_fit().size > 1 and rows.n_items is not None:
            raise ValueError(
                "y must be one number for each row for dask collections of several partitions, got "
                f"{rows.n_items} columns (the label-ranking form), whose columns of X are centered "
                "over all rows: pass X.compute()."
            )
        self.loss_ = loss = scaled_to_all(
            self._loss(), rows.y, rows.queries, rows.document_weights()
        )
        if loss.separable:
            # Documents of weight 0 are no terms, but their features would scale the solver's steps.
            rows = rows.weighted(documents=True)
        targets, queries, weight = rows.y, rows.queries, rows.document_weights()
        loss.check_some(workers_of_fit().reduce(float(targets.max(initial=0.0)), max))
        if loss.family == "squared":
            return self._solve_squares(rows, targets)

        def objective(s: Floats) -> tuple[float, Floats]:
            return loss.value_and_gradient(targets, s, queries, weight)

        return self._descend(objective, rows, start, sees_shift=loss.needs_intercept)

    def _solve_squares(self, rows: Rows, targets: Floats) -> ScorerFit:
        pairwise, relative = not self.loss_.separable, self.alpha == AUTO
        # The sum over pairs of r items is r times the sum of centered squares.
        unit = (rows.n_items or 1) if pairwise else 1
        alpha = self._alpha(rows) / (1 if relative else unit)
        ridge = gram_ridge(alpha, relative, fit_intercept=self.fit_intercept)
        ridge = fit_ridge(ridge, rows, targets, loss="pairwise_squared" if pairwise else "squared")
        scale = ridge.penalty_scale_ * (unit if relative else 1)
        return ScorerFit(ridge.coef_, ridge.intercept_, 1, scale)
