"""Values of measures for labels, queries and scores that are checked: one path for all callers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ..columns import arrays
from ..columns.types import ArrayLike, Bools, Floats, Labels, Self
from ..data import TIES, Queries, Ranked, check, each, warn
from ..judgments import PreferenceTarget, RankedItems
from ..measures import Measure, get_convention, warn_unless_grades

# Approximate number of rows that are evaluated at a time.
_PART_ROWS = 1 << 17

# Distance by which sums of shares differ from 1 by rounding.
_LAST_DIGITS = 2e-15

EMPTY = ("skip", "zero", "one", "nan", "error")


@dataclass(frozen=True)
class RowPolicies:
    """What metrics of rows do with equal scores, and with queries that have no value."""

    ties: str = "average"
    empty: str = "skip"

    def __post_init__(self) -> None:
        check.option("ties", self.ties, TIES)
        check.option("empty", self.empty, EMPTY)

    @classmethod
    def of(cls, ties: str | None, empty: str | None, convention: str | None = None) -> Self:
        """Return policies that are given, those of a convention, or else the defaults."""
        others: Any = cls if convention is None else get_convention(convention)
        return cls(others.ties if ties is None else ties, others.empty if empty is None else empty)


@dataclass(frozen=True)
class CheckedTarget:
    """Relevances in grouped order, or preferences, which are validated once for many scores.

    `shape` is that of their scores. `ranked` are the items that have relevances, if some of the
    label-ranking form have none: the others, and rows without any, do not count.
    """

    y: Any
    queries: Queries
    shape: tuple[int, ...]
    ranked: RankedItems | None = None

    @classmethod
    def of(
        cls, y_true: Labels, qid: ArrayLike | None = None, queries: Queries | None = None
    ) -> Self:
        """Validate relevances or preferences in memory, whose `queries` may have been validated."""
        if isinstance(y_true, PreferenceTarget):
            check.carried_qid(y_true, qid)
            n_items = () if y_true.n_items is None else (y_true.n_items,)
            return cls(y_true, y_true.queries(), (len(y_true), *n_items))
        y, queries = check.target(y_true, qid, name="y_true", known=queries, unranked=True)
        if np.ndim(y_true) != 2 or np.shape(y_true)[1] == 1:
            return cls(y, queries, (queries.n_rows,))
        ranked = RankedItems.of(y, np.shape(y_true)[1])
        if ranked is None:
            return cls(y, queries, np.shape(y_true))
        if not len(ranked.rows):
            raise ValueError("y_true must rank an item in some row, got NaN alone.")
        return cls(y[ranked.cells], ranked.queries, np.shape(y_true), ranked)

    def scores(self, y_score: ArrayLike) -> Floats:
        """Return validated scores, in the order that :meth:`values` takes."""
        scores = check.scores(y_score, self.shape)
        if self.ranked is not None:
            return scores[self.ranked.cells]
        return scores if isinstance(self.y, PreferenceTarget) else self.queries.group(scores)

    def query_weight(self, sample_weight: ArrayLike | None, shares: bool = True) -> Floats | None:
        """Return the mean weight of the rows of each query, of any scale with `shares`."""
        weight = check.sample_weight(sample_weight, self.shape[0], self.queries, only_shares=shares)
        if weight is not None and self.ranked is not None:
            return weight[self.ranked.rows]
        if weight is None or len(self.shape) == 2:
            return weight
        return self.queries.mean(self.queries.group(weight))

    def evaluate(
        self,
        measures: Mapping[Any, Measure],
        y_score: ArrayLike,
        policies: RowPolicies,
        sample_weight: ArrayLike | None = None,
        average: bool = True,
    ) -> dict[Any, Any]:
        """Return the mean of each measure, or its values per query; validate scores and weights."""
        scores, weight = self.scores(y_score), self.query_weight(sample_weight)
        if average:
            return self.means(measures, scores, weight, policies)
        (values,) = self.values(measures, [scores], policies)
        if self.ranked is not None:  # NaN for rows that rank nothing
            for name, of_ranked in values.items():
                values[name] = np.full(self.shape[0], np.nan)
                values[name][self.ranked.rows] = of_ranked
        return values

    def means(
        self,
        measures: Mapping[Any, Measure],
        scores: Floats,
        weight: Floats | None,
        policies: RowPolicies,
    ) -> dict[Any, Any]:
        """Return the mean of each measure, for checked scores and weights of the queries."""
        target, rows, weight = self.of_weight(weight)
        if not target.queries.n_queries:  # those of positive weight rank nothing
            return {name: undefined_mean(measure, True) for name, measure in measures.items()}
        (values,) = target.values(measures, [scores[rows]], policies)
        return {
            name: mean_of_queries(v, weight, policies.empty, measures[name])
            for name, v in values.items()
        }

    def of_weight(self, weight: Floats | None) -> tuple[Self, Any, Floats | None]:
        """Return the target of the queries of positive weight, their rows, and their weights.

        The rows are those of checked scores.
        """
        if weight is None or weight.all():
            return self, slice(None), weight
        counts = weight > 0
        rows: Any = self.queries.repeat(counts)
        if isinstance(self.y, PreferenceTarget):  # in row order
            rows = self.queries.group(np.arange(self.queries.n_rows))[rows]
        y = self.y[counts if getattr(self.y, "n_items", None) else rows]
        return replace(self, y=y, queries=self.queries.some(counts)), rows, weight[counts]

    def values(
        self, measures: Mapping[Any, Measure], scores: Iterable[Floats], policies: RowPolicies
    ) -> list[dict[Any, Floats]]:
        """Return the values of each query by measure, for each of several checked scores."""
        if isinstance(self.y, PreferenceTarget):
            return [
                {name: self._of_preferences(m, s, policies) for name, m in measures.items()}
                for s in scores
            ]
        scores = list(scores)
        warn_unless_grades(measures.values(), self.y)
        scaled = {name: measure.scaled_to(self.y) for name, measure in measures.items()}
        out: list[dict[Any, Floats]] = [
            {name: np.empty(self.queries.n_queries) for name in scaled} for _ in scores
        ]
        # Measures of the whole order come first, so that the others reuse their sort.
        by_need = sorted(scaled, key=lambda name: scaled[name].cutoff is not None)

        def evaluate_some(some: tuple[Any, Any, Queries]) -> None:
            numbers, rows, queries = some
            rankings = [Ranked(s[rows], queries, policies.ties) for s in scores]
            for name in by_need:
                labels = MeasuredLabels(scaled[name], self.y[rows], queries)
                for values, ranked in zip(out, rankings):
                    values[name][numbers] = labels.values(ranked, policies.empty)

        each(evaluate_some, list(self.queries.parts(_PART_ROWS)), long=True)
        return out

    def _of_preferences(self, measure: Any, scores: Floats, policies: RowPolicies) -> Floats:
        """Return the value of each query of preferences, as a sum over them."""
        preferences, queries = self.y, self.queries
        _check_reads(measure, preferences)
        lost = preferences.weight * _share_lost(preferences, scores, policies.ties)
        code = queries.codes[preferences.winner]
        lost = np.bincount(code, lost, queries.n_queries)
        total = np.bincount(code, preferences.weight, queries.n_queries)
        values = measure.of_preferences(total, lost, queries.sizes)
        fill_undefined(values, np.isnan(values), policies.empty, measure.name, queries)
        return values


class MeasuredLabels:
    """A measure and labels, for the evaluation of any number of rankings."""

    def __init__(self, measure: Measure, y: Floats, queries: Queries) -> None:
        self.measure, self.queries, self.labels = measure, queries, measure.labels(y)
        self.undefined = measure.undefined(self.labels, queries)
        with np.errstate(over="ignore", invalid="ignore"):
            self.evaluate = measure.evaluator(self.labels, queries)

    def values(self, ranked: Ranked, empty: str) -> np.ndarray:
        """Return the value of each query."""
        if ranked.ties in ("worst", "best"):
            # The best order of ties depends on the measure, so the sort cannot be shared.
            ranked = ranked.with_labels(self.measure.gains_of(self.labels, self.queries))
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.full(self.undefined.shape, self.evaluate(ranked), dtype=float)
        values[values > self.measure.largest_value - _LAST_DIGITS] = self.measure.largest_value
        fill_undefined(values, self.undefined, empty, self.measure.name, self.queries)
        if not np.isfinite(values[~self.undefined]).all():
            raise ValueError(f"{self.measure.name} overflows: divide the labels by the largest.")
        return values


class PreparedScore:
    """:func:`measure_score` of many rankings of the same documents.

    Relevances and weights of the rows are in grouped order.
    """

    def __init__(
        self,
        measure: Measure,
        y: Floats,
        queries: Queries,
        weight: Any = None,
        ties: str = "average",
        empty: str = "skip",
    ) -> None:
        shares = check.sample_weight(weight, len(y), queries, only_shares=True)
        target, self._rows, self._weight = CheckedTarget(y, queries, y.shape).of_weight(
            None if shares is None else queries.mean(shares)
        )
        y, queries = target.y, target.queries
        self._measure, self._policies = measure.scaled_to(y), RowPolicies(ties, empty)
        self._unit = 1.0 if shares is None else float(np.max(weight) / shares.max())
        self._n_queries = queries.n_queries
        self._parts = [
            (numbers, rows, MeasuredLabels(self._measure, y[rows], some))
            for numbers, rows, some in queries.kept_parts(_PART_ROWS)
        ]

    @property
    def is_defined(self) -> bool:
        """Whether the measure is defined on a query of positive weight."""
        return not all(labels.undefined.all() for *_, labels in self._parts)

    def __call__(self, scores: np.ndarray) -> float:
        """Return the mean over the queries, for scores in grouped order."""
        values, empty = self._values(scores), self._policies.empty
        return float(mean_of_queries(values, self._weight, empty, self._measure))

    def sums(self, scores: np.ndarray) -> tuple[float, float]:
        """Return the sum over the queries that count, and their number, or sum of weights.

        Such sums of parts of the queries give the mean over all queries.
        """
        values, weight = self._values(scores), self._weight
        weight = np.ones(len(values)) if weight is None else self._unit * weight
        if self._policies.empty == "skip":
            counted = ~np.isnan(values)
            values, weight = values[counted], weight[counted]
        return float(values @ weight), float(weight.sum())

    def _values(self, scores: Floats) -> Floats:
        values, policies = np.empty(self._n_queries), self._policies
        scores = scores[self._rows]

        def evaluate_some(some: tuple[Any, Any, MeasuredLabels]) -> None:
            numbers, rows, labels = some
            ranked = Ranked(scores[rows], labels.queries, policies.ties)
            values[numbers] = labels.values(ranked, policies.empty)

        each(evaluate_some, self._parts, long=True)
        return values


def fill_undefined(
    values: Floats, undefined: Bools, empty: str, name: str, queries: Queries
) -> None:
    """Write the values of queries on which the measure is undefined, or raise for them."""
    if not undefined.any():
        return
    if empty == "error":
        query = queries.name(int(np.flatnonzero(undefined)[0]))
        raise ValueError(
            f"{name} is undefined (0/0) on query {query!r}: set the value of such queries with "
            "empty='skip', 'zero' or 'one'."
        )
    values[undefined] = {"zero": 0.0, "one": 1.0}.get(empty, np.nan)


def undefined_mean(measure: Measure | None = None, weighted: bool = False) -> float:
    """Return NaN, with a warning that says what the queries lack."""
    name, why = "The measure", ""
    if measure is not None:
        name, why = measure.full_name, f", because none has {measure.needs}" * bool(measure.needs)
        why += "" if measure.level is None else f" (relevance_level={measure.level:g})"
    warn(
        f"{name} is undefined on every query{' of positive weight' * weighted}{why}, so its mean "
        "is NaN. A search or a cross-validation with such a fold has no mean either: take fewer "
        "folds, or set empty='zero'.",
        UndefinedMetricWarning,
    )
    return np.nan


def mean_of_queries(
    values: Floats, weight: Floats | None, empty: str = "skip", measure: Measure | None = None
) -> float:
    """Return the mean over the queries; with "skip" only over those that are defined.

    Weights are positive.
    """
    if empty == "skip":
        defined = ~np.isnan(values)
        values = values[defined]
        weight = None if weight is None else weight[defined]
    if not len(values):
        return undefined_mean(measure, weight is not None)
    scale = arrays.scale_of(np.abs(values).max(initial=0.0))
    return float(scale * np.average(values / scale, weights=weight))


def _check_reads(measure: Measure, target: PreferenceTarget) -> None:
    """Raise unless the measure can be computed from the preferences of the target."""
    if measure.reads_preferences:
        return
    if not measure.reads_orders:
        raise ValueError(
            f"{measure.name} needs relevances, and a PreferenceTarget has none: use "
            "pairwise_disagreement_loss, or kendall_score for preferences of orders, or pass "
            "y=-positions."
        )
    if not target.is_of_orders:
        raise ValueError(
            f"{measure.name} needs relevances, or unit preferences that state each pair once, as "
            "from PreferenceTarget.from_orders: use pairwise_disagreement_loss for other "
            "preferences."
        )


def _share_lost(target: PreferenceTarget, scores: Floats, ties: str) -> Floats:
    """Return the probability that the loser of each preference is ranked above the winner."""
    winner, loser = scores[target.winner], scores[target.loser]
    share = (winner < loser) * 1.0
    tied = winner == loser
    if ties == "average":
        share[tied] = 0.5
    elif ties == "stable":
        share[tied] = target.winner[tied] > target.loser[tied]
    elif ties == "reversed":
        share[tied] = target.winner[tied] < target.loser[tied]
    elif tied.any():
        share[tied] = target.share_lost_in_ties(tied, ties)
    return share
