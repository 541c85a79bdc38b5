"""Is a surrogate with a prediction map calibrated? Its gap, and distributions without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..data import Seed, check_count, check_option
from ..losses import Loss
from ..measures import Measure, PairwiseDisagreement, get_measure
from ..preds import PREDS, Pred
from ._conditions import dag_condition, low_noise_condition, reinforce_condition
from ._distribution import LabelDistribution
from ._orders import all_positions, is_best
from ._rows import SharedRows, random_rows, regret_stays
from ._surrogates import conditional_risk


class CalibrationGap(NamedTuple):
    """How much surrogate risk keeps suboptimal predictions away.

    Its truth value is whether `calibrated` is True.

    Attributes
    ----------
    gap : float
        Smallest risk of surrogate values whose prediction is suboptimal, minus the smallest
        risk; 0 up to rounding when suboptimal predictions cost nothing, infinite when no
        prediction is suboptimal.
    risk : float
        Smallest risk, up to a term without surrogate values.
    suboptimal_risk : float
        Smallest risk of surrogate values whose prediction is suboptimal.
    u : ndarray of shape (r,) or (r, r), or None
        Surrogate values that have it; infinite where it is a limit.
    positions : ndarray of int of shape (r,), or None
        The suboptimal positions that are predicted from them.
    regret : float
        Target regret of these positions.
    certificate : {"exact", "tangents", "not proven"}
        What the gap rests on. "exact": a surrogate of the package, whose minima are in closed
        form or those of a convex programme. "tangents": another loss, found convex on all scores
        tried, and bounded from below by its tangents at the solutions. "not proven": the gap is
        an estimate, of a loss that is not convex, has corners, or comes too near to a gap of 0.
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
        """Whether the gap is positive; None where that is not proven."""
        return None if self.certificate == "not proven" else self.gap > 0

    def __bool__(self) -> bool:
        return self.calibrated is True


def calibration_gap(
    surrogate: str | Loss, pred: str | Pred, measure: str | Measure, distribution: LabelDistribution
) -> CalibrationGap:
    r"""Whether minimizing a surrogate leads to the best order, under one distribution.

    A surrogate :math:`\psi` and a prediction map are calibrated (Fisher-consistent) for a
    measure on a set of distributions when for each of them

    .. math:: \inf_{u:\ \mathrm{pred}(u)\ \text{suboptimal}} E\,\psi(Y, u)
        > \inf_u E\,\psi(Y, u)

    (RAT13, Definition 1). The gap is the difference, by enumeration of all orders: the u from
    which a suboptimal order can be predicted make up a closed polyhedral cone for each, or a
    few, and on each the risk is minimized, in closed form, as a linear or quadratic program
    or by iteration. It is the same for every breaking of ties: the open cones have the same
    infima.

    Of a loss of one's own nothing is presupposed, neither that it is affine in the targets nor
    that it is convex or keeps order: its mean over the outcomes is minimized numerically, and
    the result says whether that is proven.

    Parameters
    ----------
    surrogate : str or Loss
        - the name of a loss in ``LOSSES``, or one with its options, or a loss of one's own: on
          the score targets of the measure;
        - ``"preference_hinge"``, ``"preference_logistic"``, ``"preference_exponential"``,
          ``"preference_squared_hinge"``: :math:`\sum_{i\to j} y_{ij} f(s_i - s_j)`, and
          ``"margin_hinge"``, ...: :math:`\sum_{i\to j} f(s_i - s_j - y_{ij})`, on the
          preferences of pairwise disagreement or Kendall's tau, else on differences of labels;
        - ``"value_regularized"``: the linear loss of DMJ10 with the square regulariser, on the
          same preferences;
        - ``"pairs"``: least squares on the targets of pairs of MAP, Kendall's tau or pairwise
          disagreement.
    pred : {"sort", "exact", "diagonal", "topological"} or Pred
        ``"sort"`` of scores; of pairs the exact map, the sort by the diagonal (MAP), or
        Algorithm 1 (pairwise disagreement, Kendall's tau). The cones of other prediction maps
        are not known.
    measure : str or Measure
    distribution : LabelDistribution
        Of at most 8 documents. The maps of pairs take about a second for 6 and a minute for 7.

    Returns
    -------
    gap : CalibrationGap

    Raises
    ------
    ValueError
        For an unknown surrogate, a map that is not one of its or has no known cones, labels
        that do not fit, or a loss of one's own that has no minimum, is not finite, or whose
        derivatives are not those of its values.

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
    """
    risk = conditional_risk(surrogate, distribution, measure)
    pred = check_pred(pred, risk)
    values = distribution.order_values(measure)
    suboptimal = ~is_best(values)
    if not suboptimal.any():
        return CalibrationGap(np.inf, risk.infimum, np.inf, None, None, 0.0)
    positions = all_positions(distribution.n_documents)[suboptimal]
    least, lower, u = risk.least(positions, pred)
    best = int(least.argmin())
    gap = float(least[best]) - risk.infimum
    if gap <= risk.error:
        gap = 0.0
    if gap:
        sure = lower.min() - risk.infimum > risk.error
    else:
        sure = least[best] - risk.lowest <= 2 * risk.error
    return CalibrationGap(
        gap,
        risk.infimum,
        float(least[best]),
        u[best],
        positions[best],
        float(values.max() - values[suboptimal][best]),
        risk.certificate if sure else "not proven",
    )


def check_pred(pred, risk):
    """Return the name of a prediction map whose cones are known."""
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


# Conditions by name; "reinforce" is on the mean targets of MAP, the others are on preferences.
_CONDITIONS = {
    "low_noise": low_noise_condition,
    "dag": dag_condition,
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
    """Search for a distribution on which a surrogate with a prediction map fails.

    Random distributions are tried until one has no calibration gap while the prediction
    loses at least a hundredth of the range of the measure. That none is found proves nothing;
    what one that is found proves :func:`calibration_gap` says.

    Parameters
    ----------
    surrogate, pred, measure
        As in :func:`calibration_gap`.
    r : int, default=3
        Number of documents.
    n_tries : int, default=1000
        How many distributions are drawn.
    form : {"query", "rows"}, default="query"
        "query": scores are a function of the whole query, as in the theorems. "rows": of one row,
        and queries share rows. Then the exact fit to the population is tried on a few queries of
        documents of four kinds that are relevant independently of each other, so that another
        function of the row has no regret.
    condition : {"low_noise", "dag", "reinforce"}, default=None
        Look only among distributions with this noise condition, as
        :func:`low_noise_condition`, :func:`dag_condition`, :func:`reinforce_condition`.
    draw : callable, default=None
        From a ``RandomState`` to a :class:`LabelDistribution`, or to :class:`SharedRows` with
        ``form="rows"``. None draws :meth:`LabelDistribution.random`: preferences for the
        pairwise disagreement, else relevances 0 and 1, or 0, 1 and 2 where the measure takes
        them.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    distribution : LabelDistribution, SharedRows or None
        The first found; None when there was none.

    Raises
    ------
    ValueError
        For an unknown form or condition, a condition on rows, and as in
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

    A function of one row can be wrong for recall even where the relevances are independent:

    >>> queries = find_counterexample(
    ...     "squared", "sort", "recall@1", form="rows", r=4, random_state=0
    ... )
    >>> round(queries.regret("recall@1", queries.minimizer("squared", "recall@1")), 3)
    0.009
    """
    measure = get_measure(measure)
    check_option("form", form, ("query", "rows"))
    if condition is not None:
        check_option("condition", condition, tuple(_CONDITIONS))
    check_count("r", r, least=2)
    check_count("n_tries", n_tries)
    if draw is not None and not callable(draw):
        raise ValueError(f"draw={draw!r}: give a function of a RandomState, or None.")
    rng = check_random_state(random_state)
    if form == "rows":
        return _find_rows(surrogate, pred, measure, r, n_tries, condition, draw, rng)
    for _ in range(n_tries):
        distribution = random_law(rng, r, measure) if draw is None else draw(rng)
        holds = _holds(condition, distribution, measure)
        if holds and _fails(surrogate, pred, measure, distribution):
            return distribution
    return None


def _find_rows(surrogate, pred, measure, r, n_tries, condition, draw, rng):
    if condition is not None:
        raise ValueError(f"condition must be None with form='rows', got {condition!r}.")
    if pred != "sort":
        raise ValueError(f"pred must be 'sort' with form='rows', got {pred!r}.")
    for _ in range(n_tries):
        queries = random_rows(rng, r) if draw is None else draw(rng)
        if regret_stays(queries, surrogate, measure):
            return queries
    return None


def random_law(rng, r, measure):
    """A sparse random law of labels that the measure takes."""
    return LabelDistribution.random(
        r,
        n_labels=rng.randint(2, r + 2),
        n_grades=2 if measure.needs_binary_labels else 3,
        preferences=measure.reads_preferences,
        random_state=rng,
    )


def _holds(condition, distribution, measure):
    if condition is None:
        return True
    if condition != "reinforce" and not measure.reads_preferences:
        measure = PairwiseDisagreement()
    return _CONDITIONS[condition](distribution.expected_targets(measure, pairs=True))


def _fails(surrogate, pred, measure, distribution):
    result = calibration_gap(surrogate, pred, measure, distribution)
    values = distribution.order_values(measure)
    return result.gap == 0 and result.regret > 0.01 * np.ptp(values)
