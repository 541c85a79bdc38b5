"""The calibration gap of a surrogate and a prediction map, and distributions without one."""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..columns.types import Seed
from ..data import check
from ..losses import Loss
from ..measures import Measure, get_measure
from ..preds import PREDS, Pred
from ._conditions import dag_condition, low_noise_condition, reinforce_condition, score_condition
from ._distribution import LabelDistribution
from ._orders import all_positions, is_best
from ._risk import ConditionalRisk
from ._rows import SharedRows, random_rows, regret_stays
from ._surrogates import conditional_risk, preferences_of


class CalibrationGap(NamedTuple):
    """The gap between the risk of suboptimal predictions and the smallest risk.

    Its truth value is whether `calibrated` is True.

    Attributes
    ----------
    gap : float
        Smallest risk of surrogate values whose prediction is suboptimal, minus the smallest
        risk; 0 up to rounding if suboptimal predictions cost nothing, infinite if no
        prediction is suboptimal.
    risk : float
        Smallest risk, up to a term without surrogate values.
    suboptimal_risk : float
        Smallest risk of surrogate values whose prediction is suboptimal.
    u : ndarray of shape (r,) or (r, r), or None
        Surrogate values with that risk; infinite where it is a limit.
    positions : ndarray of int of shape (r,), or None
        The suboptimal positions that are predicted from them.
    regret : float
        Target regret of these positions.
    certificate : {"exact", "tangents", "not proven"}
        What the gap is based on. "exact": a surrogate of the package, whose minima are closed forms
        or those of a convex program. "tangents": another loss, bounded from below by its tangents
        at the solutions, and convex as far as tried. For a `separable` loss the mean loss of
        each document is tried on a grid of some 30,000 scores, with steps of a thousandth of their
        distance, wherever it is less than ten times the change over a unit above its minimum; for
        other losses 60 random midpoints, and lines through the minimum along each document and to
        ten solutions. "not proven": the gap is an estimate, for a loss that is not convex, has
        corners, or comes too near to a gap of 0. The words are about the numeric minimum, which a
        search found and nothing bounds from below. A proof for the loss itself, such as that of
        :class:`skcalrank.losses.PairwiseObjective`, still holds.
    """

    gap: float
    risk: float
    suboptimal_risk: float
    u: np.ndarray | None
    positions: np.ndarray | None
    regret: float
    certificate: str = "exact"

    @property
    def calibrated(self) -> bool | None:
        """Whether the gap is positive; None if that is not proven."""
        return None if self.certificate == "not proven" else self.gap > 0

    def __bool__(self) -> bool:
        return self.calibrated is True


def calibration_gap(
    surrogate: str | Loss,
    pred: str | Pred,
    measure: str | Measure,
    distribution: LabelDistribution,
    *,
    eps: float | None = None,
) -> CalibrationGap:
    r"""Compute whether minimizing a surrogate leads to the best order, under one distribution.

    A surrogate :math:`\psi` and a prediction map are calibrated (Fisher-consistent) for a
    measure on a set of distributions if for each of them

    .. math:: \inf_{u:\ \mathrm{pred}(u)\ \text{suboptimal}} E\,\psi(Y, u)
        > \inf_u E\,\psi(Y, u)

    (RAT13, Definition 1). The gap is the difference, computed by enumeration of all orders: the u
    that can be mapped to a suboptimal order form one or a few closed polyhedral cones for each
    order, and on each cone the risk is minimized, in closed form, as a linear or quadratic program,
    or by iteration. It does not depend on the breaking of ties: the open cones have the same
    infima.

    A custom loss need not be affine in the targets, convex, or order-preserving: its mean over the
    outcomes is minimized numerically, and the result states whether the minimum is proven.

    Parameters
    ----------
    surrogate : str or Loss
        - the name of a loss in ``LOSSES``, a loss with its options, or a custom loss, on the score
          targets of the measure;
        - ``"preference_hinge"``, ``"preference_logistic"``, ``"preference_exponential"``,
          ``"preference_squared_hinge"``: :math:`\sum_{i\to j} y_{ij} f(s_i - s_j)`, and
          ``"margin_hinge"``, ...: :math:`\sum_{i\to j} f(s_i - s_j - y_{ij})`, on the
          preferences of pairwise disagreement or Kendall's tau, else on differences of labels, or
          a :class:`~skcalrank.losses.PreferenceTemplate` of your own;
        - ``"value_regularized"``: the linear loss of DMJ10 with the square regularizer, on the
          same preferences;
        - ``"pairs"``: least squares on the targets of pairs of MAP, Kendall's tau or pairwise
          disagreement.
    pred : {"sort", "exact", "diagonal", "topological"} or Pred
        ``"sort"`` for scores. For pairs the exact map, the sort by the diagonal (MAP), or
        Algorithm 1 (pairwise disagreement, Kendall's tau). The cones of other prediction maps
        are not known.
    measure : str or Measure
        The measure.
    distribution : LabelDistribution
        Distribution of the labels of at most 8 documents. The maps of pairs take about a second for
        6 documents and a minute for 7.
    eps : float, default=None
        Positive target regret: predictions that lose less count as optimal. The gap is then
        :math:`H(\varepsilon, \mu)` of DMJ13, eq. 9, for this distribution :math:`\mu`. If None,
        every prediction that is not best counts.

    Returns
    -------
    gap : CalibrationGap

    Raises
    ------
    ValueError
        If the surrogate is unknown, the map does not belong to it or has no known cones, labels do
        not fit, or a custom loss has no minimum, is not finite, or has derivatives that do not
        match its values.

    See Also
    --------
    find_counterexample : Search for a distribution without a gap.
    calibration_function : Smallest surrogate regret over all distributions.

    Examples
    --------
    Preferences of low noise, for which the logistic loss prefers document 3 to document 2
    (DMJ10, Lemma 10):

    >>> from skcalrank.calibration import LabelDistribution, calibration_gap
    >>> law = LabelDistribution(
    ...     [[[0, 1, 4], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0.3], [2, 0, 0]]]
    ... )
    >>> pd = "neg_pairwise_disagreement"
    >>> law.bayes_positions(pd)
    array([[1, 2, 3]])
    >>> result = calibration_gap("preference_logistic", "sort", pd, law)
    >>> result.gap, result.positions
    (0.0, array([1, 3, 2]))
    >>> calibration_gap("value_regularized", "sort", pd, law).calibrated
    True
    >>> round(calibration_gap("value_regularized", "sort", pd, law, eps=1.0).gap, 4)
    0.8778
    """
    risk = conditional_risk(surrogate, distribution, measure)
    pred = check_pred(pred, risk)
    values = distribution.order_values(measure)
    suboptimal = ~is_best(values)
    if eps is not None:
        check.number("eps", eps, "> 0")
        suboptimal &= values.max() - values >= eps * (1 - 1e-12)
    if not suboptimal.any():
        return CalibrationGap(np.inf, risk.infimum, np.inf, None, None, 0.0)
    positions = all_positions(distribution.n_documents)[suboptimal]
    least, lower, u = risk.least(positions, pred)
    best = int(least.argmin())
    gap, certificate = risk.certify(least, lower, u)
    return CalibrationGap(
        gap,
        risk.infimum,
        float(least[best]),
        u[best],
        positions[best],
        float(values.max() - values[suboptimal][best]),
        certificate,
    )


def check_pred(pred: Any, risk: ConditionalRisk) -> str:
    """Return the name of a prediction map with known cones, or raise."""
    name = pred
    if isinstance(pred, Pred):
        ours = pred.objective == risk.objective and pred == PREDS.get(pred.key)
        name = pred.name if ours else None
    if not isinstance(name, str) or name not in risk.preds:
        raise ValueError(
            f"pred must be one of {', '.join(map(repr, risk.preds))}, got {pred!r}: the gap needs "
            "the cones of u that are mapped to each order, which are known for these maps only."
        )
    return name


# Conditions by name: "reinforce" is on the mean targets of MAP, the others on mean preferences, and
# "score" on net preferences too.
_CONDITIONS: dict[str, Callable[..., Any]] = {
    "low_noise": low_noise_condition,
    "dag": dag_condition,
    "score": score_condition,
    "reinforce": reinforce_condition,
}


def find_counterexample(
    surrogate: str | Loss,
    pred: str | Pred,
    measure: str | Measure,
    *,
    r: int = 3,
    n_tries: int = 1000,
    form: str = "query",
    condition: str | None = None,
    draw: Callable[..., Any] | None = None,
    random_state: Seed = None,
) -> LabelDistribution | SharedRows | None:
    """Search for a distribution under which a surrogate and a prediction map are not calibrated.

    Random distributions are drawn until one has no calibration gap while the prediction loses at
    least a hundredth of the range of the measure. If none is found, nothing is proven. If one is
    found, it is a proof unless its `certificate` is "not proven", which its representation shows:
    then the loss is not convex or has corners, and the law may be no counterexample.

    Parameters
    ----------
    surrogate, pred, measure
        As in :func:`calibration_gap`.
    r : int, default=3
        Number of documents.
    n_tries : int, default=1000
        Number of distributions that are drawn, which bounds the time: for 3 documents most losses
        of the package take a few milliseconds each, a convex custom loss some 40, and one that is
        not convex, which is minimized from several starts, about a second.
    form : {"query", "rows"}, default="query"
        With "query", scores are a function of the whole query, as in the theorems. With "rows",
        they are a function of one row, and queries share rows: the exact fit to the population is
        computed for a few queries of documents of four kinds, whose relevances are independent,
        such that another function of the row has no regret.
    condition : {"low_noise", "score", "dag", "reinforce"}, default=None
        Noise condition that the distribution must meet: :func:`low_noise_condition`,
        :func:`score_condition` (P_f, of net preferences) or :func:`dag_condition`, each of the
        preferences in :func:`calibration_gap`, or :func:`reinforce_condition`. If None, any
        distribution.
    draw : callable, default=None
        Function from a ``RandomState`` to a :class:`LabelDistribution`, or to :class:`SharedRows`
        with ``form="rows"``. If None, :meth:`LabelDistribution.random` draws preferences for
        pairwise disagreement, else relevances 0 and 1, or 0, 1 and 2 if the measure accepts them.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers.

    Returns
    -------
    distribution : LabelDistribution, SharedRows or None
        The first one found, with its `certificate`; None if there is none.

    Raises
    ------
    ValueError
        If the form or the condition is unknown, for a condition with ``form="rows"``, and as in
        :func:`calibration_gap`.

    Examples
    --------
    No convex score surrogate is calibrated for MAP (RAT13, section 6):

    >>> from skcalrank.calibration import calibration_gap, find_counterexample
    >>> law = find_counterexample("squared", "sort", "map", r=4, random_state=0)
    >>> calibration_gap("squared", "sort", "map", law).gap
    0.0
    >>> calibration_gap("pairs", "exact", "map", law).calibrated
    True

    A function of one row can be wrong for recall even if the relevances are independent:

    >>> queries = find_counterexample(
    ...     "squared", "sort", "recall@1", form="rows", r=4, random_state=0
    ... )
    >>> round(queries.regret("recall@1", queries.minimizer("squared", "recall@1")), 3)
    0.009
    """
    measure = get_measure(measure)
    check.option("form", form, ("query", "rows"))
    if condition is not None:
        check.option("condition", condition, tuple(_CONDITIONS))
    check.count("r", r, least=2)
    check.count("n_tries", n_tries)
    if draw is not None and not callable(draw):
        raise ValueError(f"draw must be a function of a RandomState or None, got {draw!r}.")
    rng = check_random_state(random_state)
    if form == "rows":
        if condition is not None:
            raise ValueError(f"condition must be None with form='rows', got {condition!r}.")
        if pred != "sort":
            raise ValueError(f"pred must be 'sort' with form='rows', got {pred!r}.")
        drawn = (random_rows(rng, r) if draw is None else draw(rng) for _ in range(n_tries))
        return next((rows for rows in drawn if regret_stays(rows, surrogate, measure)), None)
    laws = (random_law(rng, r, measure) if draw is None else draw(rng) for _ in range(n_tries))
    for law in laws:
        if _holds(condition, law, measure):
            result = calibration_gap(surrogate, pred, measure, law)
            # There is no gap while the prediction has a regret.
            if result.gap <= 0 and result.regret > 0.01 * np.ptp(law.order_values(measure)):
                marked = copy(law)
                marked.certificate = result.certificate
                return marked
    return None


def random_law(rng: np.random.RandomState, r: int, measure: Measure) -> LabelDistribution:
    """Draw a distribution of labels that the measure accepts."""
    return LabelDistribution.random(
        r,
        n_labels=rng.randint(2, r + 2),
        n_grades=2 if measure.level == 1 or measure.needs_binary_labels else 3,
        preferences=measure.reads_preferences,
        random_state=rng,
    )


def _holds(condition: str | None, distribution: LabelDistribution, measure: Measure) -> Any:
    """Return whether a distribution meets a noise condition."""
    if condition is None:
        return True
    if condition == "reinforce":
        return reinforce_condition(distribution.expected_targets(measure, pairs=True))
    EY = np.tensordot(distribution.probabilities, preferences_of(distribution, measure), 1)
    net = [EY.sum(axis=1) - EY.sum(axis=0)] if condition == "score" else []
    return _CONDITIONS[condition](EY, *net)
