"""Impressions of a log, and the relevances that are estimated from their clicks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ..aggregation import PropensityEstimate, fit_propensities
from ..columns import arrays, hash_names
from ..columns.types import Floats, Ints, Self
from ..data import Queries, check, mean_of_runs, runs, warn
from ..judgments import ClickSessions, PositionModel, check_probabilities, refuse_clicks_alone
from ..measures import Measure, get_measure

ESTIMATORS = ("ratio", "ips", "snips", "dr")

# Below this effective sample size, intervals covered less than 93 % in simulations.
FEW = 40

# Share of the weight of a query that counts as rounding.
_ROUNDING = 1e-12

# Largest share of the weight of a measure that shown lists may lack without a warning.
_MISSING = 0.01


class Unseen(NamedTuple):
    """Weight of documents never shown: the total of each query, and the mean share."""

    total: Floats
    share: float


@dataclass(frozen=True)
class ClickLogEstimate:
    """Impressions with the estimate of each relevance, which is linear in the clicks.

    * `relevance` (n_rows,)
    * `factor`, `probability` (n_shown,): what a click of the impression adds to the estimate of its
      document, and how probable a click is at the mean relevance.
    * `bend` (n_shown,): what it adds to the derivative of the estimate of its document by the
      logarithm of the propensity of its position.
    * `ratio` (n_rows,), `ratio_bend` (n_shown,): relevances by which the number of relevant
      documents is estimated, for "snips", and the same of them.
    * `seen` (n_rows,): whether the relevance is estimated.
    """

    sessions: ClickSessions
    propensity: PropensityEstimate
    queries: Queries
    relevance: Floats
    factor: Floats
    probability: Floats
    bend: Floats
    ratio: Floats | None
    ratio_bend: Floats | float
    seen: Any

    @classmethod
    def of(
        cls,
        sessions: Any,
        propensity: PropensityEstimate,
        trust: Any,
        estimator: str = "ratio",
        prior: Any = None,
        clip: float = 0.0,
    ) -> Self:
        """Return the estimate of validated arguments of `offline_evaluate`."""
        check.option("estimator", estimator, ESTIMATORS)
        if (prior is not None) != (estimator == "dr"):
            raise ValueError(
                f'prior must be given for "dr" alone, got {prior!r} and {estimator!r}.'
            )
        check.number("clip", clip, ">= 0")
        if clip and estimator != "dr":
            raise ValueError(
                f'clip must be 0 unless estimator is "dr", got {clip!r} and {estimator!r}: bound '
                "the propensities that you pass."
            )
        slope, offset = PositionModel.of(propensity.propensity, trust).at(sessions.position)
        rows, n_rows = sessions.shown_rows, len(sessions)

        def total(values: Any) -> Any:
            return np.bincount(rows, values, minlength=n_rows)

        check.row_order(sessions=sessions, prior=prior)
        assumed: Any = check_probabilities(0.0 if prior is None else prior, "prior")
        if assumed.shape not in ((), (n_rows,)):
            raise ValueError(f"prior must have shape ({n_rows},), got {assumed.shape}.")
        assumed = np.broadcast_to(assumed, n_rows)
        shown, examinations = np.bincount(rows, minlength=n_rows), total(slope)
        is_mean = estimator in ("ips", "snips")
        factor = 1 / (slope * shown[rows] if is_mean else np.maximum(examinations, clip)[rows])
        clicks = sessions.clicked - offset
        relevance = assumed + total(factor * (clicks - slope * assumed[rows]))
        if is_mean:
            bend = -factor * sessions.clicked
        else:
            divides = examinations >= clip
            bend = -factor * (offset + slope * np.where(divides, relevance, assumed)[rows])
        ratio = arrays.safe_divide(total(clicks), examinations) if estimator == "snips" else None
        ratio_bend = 0.0 if ratio is None else -(offset + slope * ratio[rows]) / examinations[rows]
        probability = slope * np.clip(clicks.sum() / slope.sum(), 0, 1) + offset
        seen = (shown > 0) | (estimator == "dr")
        estimates = relevance, factor, probability, bend, ratio, ratio_bend, seen
        return cls(sessions, propensity, sessions.queries(), *estimates)

    @property
    def in_use(self) -> Any:
        """Whether each query has sessions."""
        return self.sessions.n_judgments > 0

    def by_query(self, values: Floats) -> Floats:
        """Return the sums of values of rows over the queries, NaN without sessions."""
        sums = np.bincount(self.queries.codes, values, minlength=self.queries.n_queries)
        return np.where(self.in_use, sums, np.nan)

    def weights_of(self, scores: Any, measure: Any, name: str) -> Floats:
        """Return the mean discount of each row over random orders of equal scores."""
        check.row_order(sessions=self.sessions, **{name: scores})
        ranks = arrays.exact_ranks(scores, name)
        scores = scores if ranks is None else ranks
        # Minus an unsigned integer is a large number.
        scores = arrays.checked(scores, name, ensure_2d=False, ensure_all_finite=False)
        n_rows = len(self.sessions)
        if scores.shape != (n_rows,) or not np.isfinite(scores).all():
            raise ValueError(
                f"{name} must hold a finite number for each of {n_rows} rows of sessions, got "
                f"shape {scores.shape}."
            )
        queries = self.queries
        discount = measure.basis(queries.places, queries.repeat(queries.sizes))
        return queries.ungroup(mean_of_runs(discount, *runs(queries.group(scores), queries)))

    def shown_weights(self, measure: Any) -> Floats:
        """Return the mean discount of each row over the sessions of its query.

        Warn if shown lists are shorter than what the measure counts of a ranking of all rows.
        """
        rows, codes = self.sessions.shown_rows, self.queries.codes
        discount = self._discount(measure, self.sessions.position, codes[rows])
        total = np.bincount(rows, discount, minlength=len(self.sessions))
        weight = arrays.safe_divide(total, self.sessions.n_judgments[codes])
        places = self.queries.ungroup(self.queries.places)
        shares = arrays.safe_divide(
            self.by_query(weight), self.by_query(self._discount(measure, places, codes))
        )
        missing = 1 - float(np.nanmean(shares))
        if missing > _MISSING:
            warn(
                f"The lists of sessions are shorter than what {measure.full_name} counts: they "
                f"lack {missing:.2g} of its weight. A candidate that ranks all rows gets credit "
                "below their ends, and compares too well with what was shown. Use a cutoff that "
                f"all lists reach; the longest has {int(self.sessions.position.max())} documents."
            )
        return weight

    def _discount(self, measure: Any, position: Ints, codes: Ints) -> Floats:
        return measure.basis(position, self.queries.sizes[codes])

    def check_seen(self, weight: Floats, measure: Measure, name: str, max_unseen: float) -> Unseen:
        """Raise if documents never shown have too much weight; else return their weight."""
        check.number("max_unseen", max_unseen, ">= 0 and <= 1")
        total = self.by_query(np.where(self.seen, 0.0, weight))
        shares = arrays.safe_divide(total, self.by_query(weight))
        share = float(np.nanmean(shares))
        if share > max_unseen + _ROUNDING:
            worst, k = int(np.nanargmax(shares)), measure.full_name.partition("@")[2]
            cutoff = f"a cutoff below {k}" if k else "a cutoff, as in 'dcg@5'"
            cutoff = "" if k == "1" else f"use {cutoff}, "
            raise ValueError(
                f"{name} must put documents on top that sessions have shown, got {share:.3g} of "
                f"the weight of the measure on others ({np.nanmax(shares):.3g} in query "
                f"{self.queries.name(worst)!r}): {cutoff}rank only "
                f"what was shown, or accept it with max_unseen={np.ceil(100 * share) / 100:g}."
            )
        return Unseen(total, share)

    def query_values(self, weight: Floats) -> tuple[Floats, float]:
        """Return one value for each query, whose mean is the estimate, and a variance beside it.

        Values include what their queries add to the error of fitted propensities. The variance is
        what other queries add.
        """
        values, rows = weight * self.relevance, self.sessions.shown_rows
        bend = weight[rows] * self.bend
        if self.ratio is not None:
            mean, relevant, number = (
                np.nanmean(self.by_query(v)) for v in (values, self.relevance, self.ratio)
            )
            if not relevant > 0:
                raise ValueError("sessions must have clicks for 'snips', got none above trust.")
            # Influence of each query on the product and the quotient of means.
            share = mean / relevant
            weight = (weight - share) * number / relevant
            values = weight * self.relevance + share * self.ratio
            bend = weight[rows] * self.bend + share * self.ratio_bend
        n, position = self.in_use.sum(), self.sessions.position
        slope = np.bincount(position - 1, bend, minlength=len(self.propensity.propensity)) / n
        own, elsewhere = self._of_queries(self.propensity.influence @ slope)
        return self.by_query(values) + n * (own - own[self.in_use].mean()), elsewhere

    def _of_queries(self, influence: Floats) -> tuple[Floats, float]:
        """Return influences by query of the sessions, and the sum of squares of the others."""
        if not len(influence):
            return np.zeros(self.queries.n_queries), 0.0
        hashes, others = self.queries.hashes, hash_names(self.propensity.query)
        order = np.argsort(hashes)
        at = order[np.searchsorted(hashes, others, sorter=order).clip(max=len(order) - 1)]
        here = (hashes[at] == others) & self.in_use[at]
        own: Any = np.bincount(at[here], influence[here], minlength=len(hashes))
        return own, float((influence[~here] ** 2).sum())

    def limits(
        self, weight: Floats, unseen: Unseen, share: float
    ) -> tuple[float, float, float, Floats]:
        """Return the estimate, limits that hold with probability `share`, and values of queries."""
        values, elsewhere = self.query_values(weight)
        value, error, n = mean_and_error(values, elsewhere)
        most, error_of_most, _ = mean_and_error(values + unseen.total, elsewhere)
        t = stats.t.ppf(share, n - 1)
        return value, float(value - t * error), float(most + t * error_of_most), values

    def effective_size(self, weight: Floats) -> float:
        """Return the effective sample size of an estimate."""
        x = np.abs(weight[self.sessions.shown_rows] * self.factor)
        x, n_queries = x / max(x.max(initial=0.0), 1e-300), float(self.in_use.sum())
        second, third = (float(self.probability @ x**power) for power in (2, 3))
        if third > 0:
            return min(n_queries, second**3 / third**2)
        return 0.0 if x.any() else n_queries  # no clicks, or no weight


def warn_of_few(sizes: Mapping[str, float]) -> None:
    """Warn of the first estimate whose effective sample size is small."""
    what = next((what for what, size in sizes.items() if size < FEW), None)
    if what is not None:
        # A number in the text would repeat the warning for each ranking.
        warn(
            f"The effective sample size for {what} is below {FEW}: few clicks, or queries, decide "
            "its estimate, and the interval is too short. The result has the numbers of the value "
            "and of its difference as effective_sample_size. Log more sessions, of more queries; "
            "let click_ranker hold out more of them (test_size); try a lower cutoff; or, in "
            "offline_evaluate, estimator='dr' with a prior and with clip, which bounds the weight "
            "of a click."
        )


def known_propensities(propensity: Any, sessions: Any, merge: bool = False) -> PropensityEstimate:
    """Return given or estimated propensities, or raise without sessions, or for clicks alone."""
    if not isinstance(sessions, ClickSessions):
        raise TypeError(f"sessions must be ClickSessions, got {type(sessions).__name__}.")
    refuse_clicks_alone(sessions)
    if merge and not isinstance(propensity, str):
        raise ValueError('merge must be False unless propensity is "fit", got True.')
    if isinstance(propensity, PropensityEstimate):
        return propensity
    if not isinstance(propensity, str):
        return PropensityEstimate.known(PositionModel.of(propensity, None).slope)
    check.option("propensity", propensity, ["fit"])
    return fit_propensities(sessions, merge=merge)


def linear_measure(measure: str | Measure) -> Measure:
    """Return a measure that is linear in the relevance, or raise."""
    if isinstance(measure, str) and measure.partition("@")[0] == "dcg":
        measure = get_measure(measure, gain="linear")
    measure = get_measure(measure).of_estimates()
    if measure.shape == "documents" and measure.is_linear():
        # A constant would count for every document.
        constant = measure.score_targets(np.zeros(2), Queries.equal(1, 2))
        if not constant.any():
            return measure
    raise ValueError(
        "measure must be linear in the relevance, as dcg (linear gain), precision and rbp are with "
        f"relevance_level=1, got {measure!r}: clicks do not estimate its value without bias."
    )


def mean_and_error(values: Floats, elsewhere: float) -> tuple[float, float, int]:
    """Return mean, standard error and number of the values that are not NaN.

    The variance of what is `elsewhere` is added to that of the mean.
    """
    values = values[~np.isnan(values)]
    n = len(values)
    if n < 2:
        raise ValueError(f"sessions must be of two queries at least, got {n}.")
    return float(values.mean()), float(np.sqrt(values.var(ddof=1) / n + elsewhere)), n
