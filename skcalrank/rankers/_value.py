"""Ranker with a linear loss of preferences and a regularizer of the scores."""

from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._solvers import ScorerFit
from ..columns.types import Floats
from ..data import Rows, check, limits
from ..judgments import PreferenceTarget
from ..losses import EXPONENT
from ..measures import PairwiseDisagreement
from ._linear import TargetScorer
from ._regression import AUTO, fit_ridge, gram_ridge


class ValueRegularizedRanker(TargetScorer):
    r"""Linear ranker with a linear loss of preferences and regularized scores (DMJ10, section 3).

    .. math:: \min_{w,b} \sum_{i \to j} y_{ij} (s_j - s_i) + \nu \sum_i \mathrm{reg}(s_i)
        + \alpha \|w\|^2, \qquad s = Xw + b

    Use it in place of :class:`PairwiseDisagreementRanker` to limit the scores of documents with
    very many preferences, by the regularizer "cosh", or "power" with an exponent above 2.

    Parameters
    ----------
    nu : float, default=1.0
        Weight of the regularizer of the scores, positive.
    alpha : float or "auto", default="auto"
        Ridge penalty of the coefficients, as in :class:`~skcalrank.rankers.LinearScorer`.
    regularizer : {"square", "power", "cosh"}, default="square"
        ``s ** 2`` (closed form), ``abs(s) ** power / power`` or ``cosh(s) - 1``.
    power : float, default=4.0
        Exponent of the regularizer "power", greater than 1; an error for the others unless it is
        the default. Exponents below 2 limit large scores less than the square, above 2 more.
    weights : {"difference", "unit"}, default="difference"
        Preferences that relevances imply, as in :class:`PairwiseLogisticRanker`, computed without
        building pairs.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It does not change the order, but without it the regularizer
        shrinks the coefficients of features whose mean is not zero.
    max_iter : int, default=1000
        Maximum number of iterations of the solver.
    tol : float, default=1e-6
        Tolerance of the solver, as in :class:`~skcalrank.rankers.LinearScorer`.
    warm_start : bool, default=False
        Whether the solver starts from the solution of the previous fit.
    verbose : int, default=0
        1 prints the iterations.
    query_weight : {"pairs", "documents", "equal"}, default=None
        Weight of a query in the loss, as in :class:`~skcalrank.rankers.LinearScorer`.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (d,) or (r, d), float or ndarray of shape (r,)
        Coefficients and intercept, with a row per item in the label-ranking form.
    n_iter_ : int
        Number of iterations of the solver; 1 for the regularizer "square".
    alpha_, penalty_scale_ : float, ndarray of shape (d,)
        Ridge penalty that was used and its unit for each feature; 1 if `alpha` is a number.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    PairwiseDisagreementRanker : Ranker that is calibrated under every distribution, with pairs.
    PairwiseHingeRanker, PairwiseLogisticRanker : Inconsistent losses of the same preferences.
    DifferenceGraphRanker : Convex losses of net preferences.
    PreferenceTarget : Target of preferences.

    Notes
    -----
    Without a linear model the best scores satisfy :math:`\mathrm{reg}'(s_i) = f_i / \nu` for the
    net preference :math:`f_i = \sum_j (y_{ij} - y_{ji})`, whatever the regularizer. The loss is
    therefore consistent for pairwise disagreement where the mean net preferences order the
    documents as the mean preferences do,

    .. math:: E[Y_{ij}] > E[Y_{ji}] \Rightarrow E[f_i(Y)] > E[f_j(Y)],

    and, where the graph of :math:`E[Y_{ij}] > E[Y_{ji}]` is acyclic, only there (DMJ10, Theorem
    13). Low noise (DMJ10, Definition 8) is sufficient; with ``weights="difference"`` it always
    holds.

    With the regularizer "square" the ranker is a ridge regression of :math:`f_i / 2\nu` with the
    penalty :math:`\alpha / \nu`, on which alone the order depends. That is the score surrogate of
    :class:`PairwiseDisagreementRanker` with ``loss="squared"``.

    Scores are not probabilities; their scale is that of :math:`\mathrm{reg}'^{-1}(f / \nu)`. A
    ``sample_weight`` multiplies :math:`-f_i s_i + \nu\,\mathrm{reg}(s_i)` of its document.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> from skcalrank.rankers import ValueRegularizedRanker
    >>> X = [[0.1], [0.9], [0.4]]
    >>> y = PreferenceTarget.from_comparisons([1, 1, 2], [0, 2, 0], qid=[7, 7, 7])
    >>> ranker = ValueRegularizedRanker(alpha=0.1).fit(X, y)
    >>> ranker.rank(X, qid=[7, 7, 7])
    array([3, 1, 2])
    >>> ranker.score(X, y)
    0.0
    """

    _judgments = (PreferenceTarget,)
    _measure_type = PairwiseDisagreement
    _theorem: ClassVar[str] = "score_targets"
    _parameter_constraints: ClassVar = {
        "nu": [limits.POSITIVE],
        "regularizer": [limits.one_of("square", "power", "cosh")],
        "power": [limits.Interval(Real, 1, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        nu: float = 1.0,
        alpha: float | str = "auto",
        regularizer: str = "square",
        power: float = 4.0,
        weights: str = "difference",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        verbose: int = 0,
        query_weight: str | None = None,
    ) -> None:
        super().__init__(alpha, fit_intercept, max_iter, tol, warm_start, verbose, query_weight)
        self.nu = nu
        self.regularizer = regularizer
        self.power = power
        self.weights = weights

    def _solve(self, rows: Rows, start: Any) -> ScorerFit:
        if self.regularizer != "power":
            mine = f"regularizer={self.regularizer!r}: set regularizer='power'"
            check.refuse_unread(self, ["power"], mine)
        if self.regularizer != "square":
            return self._solve_smooth(rows, rows.y, start)
        relative, alpha = self.alpha == AUTO, self._alpha(rows)
        alpha = alpha if relative else alpha / self.nu
        ridge = gram_ridge(alpha, relative, fit_intercept=self.fit_intercept)
        ridge = fit_ridge(ridge, rows, rows.y / (2.0 * self.nu), loss="squared")
        scale = ridge.penalty_scale_ * (self.nu if relative else 1.0)
        return ScorerFit(ridge.coef_, ridge.intercept_, 1, scale)

    def _solve_smooth(self, rows: Rows, net: Floats, start: tuple[Floats, Any] | None) -> ScorerFit:
        reg: Any = _Cosh() if self.regularizer == "cosh" else _Power(float(self.power))
        weight = rows.document_weights()
        seen = net if weight is None else net * (weight > 0)
        # Scores are in units of the largest optimal one: the solver takes its first step from the
        # curvature up to a score of 1, where cosh is far from its quadratic approximation.
        with np.errstate(over="ignore"):
            unit = np.abs(reg.optimum(seen / self.nu)).max() or 1.0
        if not np.isfinite(unit**2):
            raise ValueError(
                f"nu and power must be so large that the best scores are finite, got {self.nu!r} "
                f"and {self.power!r}: increase either."
            )

        def objective(s: Floats) -> tuple[float, Floats]:
            z = unit * s
            values, slopes = self.nu * reg.value(z) - net * z, self.nu * reg.slope(z) - net
            if weight is not None:
                values *= weight
                slopes *= weight
            return values.sum() / unit**2, slopes / unit

        if start is not None:
            start = tuple(part / unit for part in start)
        fit = self._descend(objective, rows, start, sees_shift=True)
        return fit._replace(coef=unit * fit.coef, intercept=unit * fit.intercept)


# Regularizers: value, derivative (slope), and inverse of the derivative (optimum).


class _Power(NamedTuple):
    """The regularizer ``abs(z) ** power / power``."""

    power: float

    def value(self, z: Floats) -> Floats:
        return np.abs(z) ** self.power / self.power

    def slope(self, z: Floats) -> Floats:
        return np.sign(z) * np.abs(z) ** (self.power - 1.0)

    def optimum(self, slope: Floats) -> Floats:
        return np.sign(slope) * np.abs(slope) ** (1.0 / (self.power - 1.0))


class _Cosh:
    """The regularizer ``cosh(z) - 1``."""

    def value(self, z: Floats) -> Floats:
        return 2.0 * np.sinh(np.clip(z, -EXPONENT, EXPONENT) / 2.0) ** 2

    def slope(self, z: Floats) -> Floats:
        return np.sinh(np.clip(z, -EXPONENT, EXPONENT))

    def optimum(self, slope: Floats) -> Floats:
        return np.arcsinh(slope)
