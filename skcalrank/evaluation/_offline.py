"""Values of rankings that were never shown, estimated from the clicks on those that were."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import ArrayLike, Floats
from ..data import check
from ..judgments import ClickSessions
from ..measures import Measure
from ._impressions import (
    FEW,
    ClickLogEstimate,
    known_propensities,
    linear_measure,
    mean_and_error,
    warn_of_few,
)


@dataclass(frozen=True)
class Safety:
    """Whether a ranking is not worse than a baseline, by a lower confidence limit.

    Its truth value is `holds`: a ranking that is worse by more than the margin passes with about
    one minus the confidence level as its probability, at most.

    Attributes
    ----------
    holds : bool
        Whether the lower limit is at least minus the margin, and the effective sample size at least
        40: with fewer, the limit is not reliable.
    difference, low, high : float
        Estimated difference to the baseline, and its lower and upper confidence limits, each of the
        level: both hold with twice its error. If the ranking has weight on documents never shown,
        `high` counts them as relevant.
    effective_sample_size : float
        As in :class:`OfflineEstimate`.
    """

    holds: bool
    difference: float
    low: float
    high: float
    effective_sample_size: float

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return (
            f"Safety(holds={self.holds}, {self.difference:.4g} [{self.low:.4g}, "
            f"{self.high:.4g}], effective_sample_size={self.effective_sample_size:.0f})"
        )


class Sensitivity(NamedTuple):
    """Estimated values for several strengths of position bias, each of shape (n_exponents,).

    Attributes
    ----------
    exponent : ndarray
        Powers that the propensities were raised to.
    value, low, high : ndarray
        As in :class:`OfflineEstimate`.
    shown : ndarray
        Estimated value of the lists as they were shown.
    """

    exponent: Floats
    value: Floats
    low: Floats
    high: Floats
    shown: Floats

    def __repr__(self) -> str:
        lines = [
            f"exponent {exponent:g}: {value:.4g} [{low:.4g}, {high:.4g}], as shown {shown:.4g}"
            for exponent, value, low, high, shown in zip(*self)
        ]
        return "\n".join(["Sensitivity", *lines])


class OfflineEstimate(NamedTuple):
    """Estimated value of a ranking, with its interval.

    Attributes
    ----------
    value : float
        Estimate of the mean of the measure over queries.
    low, high : float
        Both ends of the confidence interval. If some weight is on documents never shown, `low`
        counts them as not relevant and `high` as relevant.
    effective_sample_size : float
        Number of clicks of equal weight whose sum would be as skewed, at most that of the queries.
    unseen : float
        Mean share of the measure's weight on documents that were never shown.
    query_values : ndarray of shape (n_queries,)
        Terms whose mean is the value, one for each query of the sessions, NaN without sessions: the
        estimated value of the query, for "snips" linearized. With fitted propensities, it includes
        what the query adds to their error.
    safety : Safety
        Whether the ranking is not worse than the baseline.
    sensitivity : Sensitivity or None
        The value if position bias were weaker or stronger than assumed; None without `exponents`.
    """

    value: float
    low: float
    high: float
    effective_sample_size: float
    unseen: float
    query_values: Floats
    safety: Safety
    sensitivity: Sensitivity | None

    def __repr__(self) -> str:
        unseen = f", unseen={self.unseen:.2g}" if self.unseen else ""
        return (
            f"OfflineEstimate({self.value:.4g} [{self.low:.4g}, {self.high:.4g}], "
            f"effective_sample_size={self.effective_sample_size:.0f}{unseen})"
        )


def offline_evaluate(
    scores: ArrayLike,
    sessions: ClickSessions,
    measure: str | Measure = "dcg@10",
    *,
    propensity: ArrayLike | str,
    estimator: str = "ratio",
    trust: tuple[ArrayLike, ArrayLike] | None = None,
    prior: ArrayLike | None = None,
    clip: float = 0.0,
    max_unseen: float = 0.0,
    baseline: ArrayLike | str = "logged",
    margin: float = 0.0,
    exponents: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> OfflineEstimate:
    r"""Estimate the value that a ranking would have had, from the clicks on what was shown.

    Use it before a test with users: the log was made by one system, and `scores` are those of
    another one. The value of a query is :math:`\sum_i \phi(\sigma(i)) r_i`, with the discount
    :math:`\phi` of the measure, the positions :math:`\sigma` of the candidate, and relevances
    :math:`r_i` that are estimated in the position-based model of
    :func:`skcalrank.aggregation.position_based`. Queries with sessions count alike.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the candidate for the rows of the sessions; higher is better. Equal scores are
        broken at random.
    sessions : ClickSessions
        The log. Its clicks must not have been used to train the candidate.
    measure : str or Measure, default="dcg@10"
        A measure that is linear in the relevance: DCG with a linear gain (``"dcg"`` means this
        here), precision or RBP.
    propensity : array-like of shape (n_positions,), PropensityEstimate or "fit"
        As in :func:`~skcalrank.aggregation.position_based`. An array has no error; "fit", and the
        result of :func:`~skcalrank.aggregation.fit_propensities` on these or other queries, have
        one, which widens the interval.
    estimator : {"ratio", "ips", "snips", "dr"}, default="ratio"
        Estimate of a relevance from n impressions, at positions with propensities
        :math:`\theta_j`, whose sum is e.

        - "ratio": clicks / e, unbiased, never with more variance than "ips".
        - "ips": the mean of :math:`\text{click}_j / \theta_j`, unbiased.
        - "snips": the value by "ips" is divided by the mean number of relevant documents by "ips"
          and multiplied by that by "ratio"; biased, and consistent for many queries.
        - "dr": :math:`p + (\text{clicks} - e p) / \max(e, \text{clip})`, doubly robust: unbiased
          for documents with :math:`e \ge` `clip`, and for those whose prior p is right, also if
          they were never shown.
    trust : pair, default=None
        Trust bias, as in :func:`~skcalrank.aggregation.position_based`.
    prior : float or array-like of shape (n_rows,), default=None
        Relevances p in [0, 1] from other data than these clicks, for "dr" alone.
    clip : float, default=0.0
        Number of examinations that "dr" divides by at least. With 0 the prior counts for documents
        that were never shown alone; more has less variance, and the bias of the prior. The other
        estimators have no clip: bound the propensities that you pass.
    max_unseen : float, default=0.0
        Largest share of the weight of the measure on documents that were never shown. Up to it they
        count as not relevant, and in `high` as relevant.
    baseline : "logged" or array-like of shape (n_rows,), default="logged"
        What `safety` of the result compares with: the lists as they were shown, or the order of
        other scores.
    margin : float, default=0.0
        Loss of the measure against the baseline that `safety` tolerates, >= 0.
    exponents : array-like of shape (n_exponents,), default=None
        Numbers s >= 0, such as ``[0, 0.5, 1, 1.5]``, for the `sensitivity` of the result: values
        and those of the lists as shown with the propensities :math:`\theta^s`. 0 is no position
        bias. If the candidate is better than what was shown for one s and worse for another, an
        experiment must tell the propensities before the clicks can tell the rankings.
    confidence_level : float, default=0.95
        Level of the interval, which is Student's over queries, and of each limit of `safety`.

    Returns
    -------
    estimate : OfflineEstimate

    Raises
    ------
    ValueError
        If the candidate, or the baseline, gives documents that were never shown more of the weight
        than `max_unseen`, fewer than two queries have sessions, all documents shown were clicked,
        the measure is not linear in the relevance, scores have the index of the sessions in another
        order, or a parameter is out of range.

    Warns
    -----
    UserWarning
        If an effective sample size is below 40, so that intervals are too short, and nothing is
        safe; or shown lists, with which `safety` or `sensitivity` compare, are shorter than what
        the measure counts, so that the candidate compares too well.

    See Also
    --------
    click_ranker : A ranker of the log, and this evaluation of it.
    skcalrank.aggregation.position_based : The relevances.

    Notes
    -----
    An impression j contributes :math:`x_j \text{click}_j`, with a weight that does not depend on
    clicks. If clicks are rare, the variance is about :math:`\kappa_2 = \sum_j p_j x_j^2` and the
    third cumulant :math:`\kappa_3 = \sum_j p_j x_j^3`, with click probabilities :math:`p_j` at the
    mean relevance. N clicks of equal weight have :math:`\kappa_2^3 / \kappa_3^2 = N`, which is the
    effective sample size. It is known from the display: a sample in which the rare clicks of large
    weight did not occur looks precise and is not.

    Fitted propensities err too, and more sessions do not make their share of the error smaller. By
    the delta method the value :math:`V = (1/n) \sum_q v_q` of n queries has the error
    :math:`\sum_q (v_q - V) / n + a_q^\top \nabla V`, with the gradient of V in the logarithms of
    the propensities, and the influence :math:`a_q` of query q on them, from its term of their
    estimating equations. One pass gives both; a jackknife that fits without each query agrees.

    Limits of `safety` are one-sided, for the mean difference over queries. Documents at equal
    positions in both rankings do not add to its variance. Documents that were never shown count as
    not relevant in the lower limit, which is on the safe side for the candidate only.

    The estimate trusts the propensities and the model. DCG of a list with a cutoff is a value of
    the documents above it, and says nothing of how users would see them beside each other.

    References
    ----------
    Joachims, Swaminathan and Schnabel (2017). Unbiased learning-to-rank with biased feedback. WSDM.

    Oosterhuis (2023). Doubly robust estimation for correcting position bias in click feedback for
    unbiased learning to rank. ACM Transactions on Information Systems 41.

    Swaminathan and Joachims (2015). The self-normalized estimator for counterfactual learning.
    NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank import sample_sessions
    >>> from skcalrank.evaluation import offline_evaluate
    >>> p, qid, theta = np.tile([0.1, 0.2, 0.6], 500), np.repeat(np.arange(500), 3), [1, 0.5, 0.3]
    >>> y = sample_sessions(
    ...     p, qid, n_sessions=5000, model="position", propensity=theta, random_state=0)
    >>> estimate = offline_evaluate(p, y, "precision@1", propensity=theta)
    >>> estimate.low < 0.6 < estimate.high
    True
    >>> worse = offline_evaluate(-p, y, propensity=theta, exponents=[0, 1, 2])
    >>> bool(estimate.safety), bool(worse.safety)
    (True, False)
    >>> (worse.sensitivity.value < worse.sensitivity.shown).tolist()
    [True, True, True]
    """
    check.share("confidence_level", confidence_level)
    check.number("margin", margin, ">= 0")
    is_logged = baseline is None or isinstance(baseline, str)
    if is_logged:
        check.option("baseline", baseline, ["logged"])
    propensity = known_propensities(propensity, sessions)
    log_of = partial(ClickLogEstimate.of, sessions, trust=trust)
    options: dict[str, Any] = {"estimator": estimator, "prior": prior, "clip": clip}
    log, measure = log_of(propensity, **options), linear_measure(measure)
    weight = log.weights_of(scores, measure, "scores")
    unseen = log.check_seen(weight, measure, "scores", max_unseen)
    shown: Any = log.shown_weights(measure) if is_logged or exponents is not None else None
    other = shown if is_logged else log.weights_of(baseline, measure, "baseline")
    log.check_seen(other, measure, "baseline", max_unseen)
    ranking = weight, unseen, (1 + confidence_level) / 2
    value, low, high, values = log.limits(*ranking)
    size, size_of_gain = log.effective_size(weight), log.effective_size(weight - other)
    gain, least, most, _ = log.limits(weight - other, unseen, confidence_level)
    safety = Safety(least >= -margin and size_of_gain >= FEW, gain, least, most, size_of_gain)
    sensitivity = None
    name = measure.full_name
    sizes = {name: size, f"the difference in {name}": size_of_gain}
    if exponents is not None:
        sensitivity, smallest = _sensitivity(log_of, propensity, options, exponents, ranking, shown)
        sizes[f"{name} with weaker or stronger position bias"] = smallest
    warn_of_few(sizes)
    return OfflineEstimate(value, low, high, size, unseen.share, values, safety, sensitivity)


def _sensitivity(
    log_of: Any, propensity: Any, options: Any, exponents: Any, ranking: Any, shown: Floats
) -> tuple[Sensitivity, float]:
    """Return values for powers of propensities, and the smallest effective sample size."""
    exponents = np.atleast_1d(arrays.as_array(exponents, "exponents")).astype(float)
    are_valid = exponents.ndim == 1 and len(exponents) > 0
    if not are_valid or not ((exponents >= 0) & (exponents < np.inf)).all():
        raise ValueError(f"exponents must be finite numbers >= 0, got {exponents}.")
    values, sizes = np.empty((4, len(exponents))), []
    for i, powers in enumerate(map(propensity.power, exponents)):
        log = log_of(powers, **options)
        values[:3, i] = log.limits(*ranking)[:3]
        values[3, i], *_ = mean_and_error(*log_of(powers).query_values(shown))
        sizes.append(log.effective_size(ranking[0]))
    return Sensitivity(exponents, *values), min(sizes, default=np.inf)
