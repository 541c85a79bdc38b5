"""Comparison by labels of people on some queries and of a judge, such as a model, on all."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from ..columns import arrays
from ..columns.types import Bools, Floats, Self
from ..data import Queries, Ranked, check, warn
from ..judgments import PreferenceTarget
from ..measures import Measure
from ..metrics import CheckedTarget, RowPolicies
from ._comparison import Comparison
from ._make_comparison import Design, warn_of_equal
from ._regression_means import RegressionMeans
from ._statistics import TITLES, Methods, adjusted, snapped

# With fewer human queries, intervals are wide and rough.
_FEW_QUERIES = 10

# Chance below which the queries of people do not look like a random draw.
_CHANCE = 0.001


@dataclass(frozen=True)
class JudgedValues:
    """Values of measures by people and by a judge, of shape (n_systems, n_measures, n_queries).

    `human` and `alone` are of the queries that `is_human` marks. `human` may rest on the judge,
    where people judged some documents of a query only; `alone` never does.
    """

    human: Floats
    alone: Floats
    judge: Floats
    is_human: Bools

    def __post_init__(self) -> None:
        fewest = int((~np.isnan(self.human)).sum(-1).min())
        if fewest < _FEW_QUERIES:
            warn(
                f"People judged {fewest} queries on which a measure is defined: with fewer than "
                f"{_FEW_QUERIES}, intervals are wide and rough. Have more queries judged."
            )

    @classmethod
    def of_runs(cls, human: Any, queries: Any, judge: Any, of_judge: Any) -> Self:
        """Return the values of runs by people and by a judge, and of which queries they are."""
        places = {query: number for number, query in enumerate(queries)}
        is_human = np.array([query in places for query in of_judge])
        if is_human.sum() < len(places):
            lacking = next(query for query in places if query not in set(of_judge))
            raise ValueError(
                f"judge must hold every query that people judged, but it lacks {lacking!r}. Let "
                "the judge judge all queries from which those of people were drawn."
            )
        _check_number("qrels", len(places))
        human = np.asarray(human)[..., [places[query] for query in of_judge if query in places]]
        return cls(human, human, np.asarray(judge), is_human)


@dataclass(frozen=True)
class JudgedTarget:
    """Labels of people and of a judge, in grouped order; where people gave none, the judge's.

    `times` is the number of documents for which a judged document stands, 0 for the others; None if
    people judged whole queries.
    """

    people: Floats
    judge: CheckedTarget
    is_judged: Bools
    times: Floats | None

    @classmethod
    def of(cls, y_true: Any, judge: Any, probability: Any, qid: Any) -> Self:
        """Validate labels of people, NaN where there are none, and of a judge."""
        if isinstance(y_true, PreferenceTarget) or np.ndim(y_true) != 1:
            raise ValueError(
                "y_true must hold one label for each document beside judge: drop judge."
            )
        people = arrays.numbers(y_true, "y_true")
        missing = np.isnan(people)
        judged = _numbers_of_rows("judge", judge, len(people))
        if (absent := np.flatnonzero(np.isnan(judged))).size:
            raise ValueError(
                f"judge must hold a label for every row, got NaN in row {absent[0]}. Let the judge "
                "label it, or leave out its query from all arguments alike."
            )
        judged, queries = check.target(judged, qid, name="judge")
        filled = np.where(missing, queries.ungroup(judged), people)
        people, _ = check.target(filled, qid, name="y_true", known=queries)
        is_judged, times = ~queries.group(missing), None
        if probability is not None:
            chances = _numbers_of_rows("judged_probability", probability, len(people))
            times = _times(queries.group(chances), is_judged)
        out = cls(people, CheckedTarget(judged, queries, (queries.n_rows,)), is_judged, times)
        _check_number("y_true", int(out.is_human.sum()))
        return out

    @property
    def is_human(self) -> Bools:
        """Whether people judged a document of each query."""
        return self.judge.queries.max(self.is_judged * 1.0) > 0

    def values(
        self, measures: Mapping[str, Measure], scores: list[Floats], policies: RowPolicies
    ) -> JudgedValues:
        """Return the values of measures, for checked scores in grouped order."""
        # By the scale of people: their values must not depend on the judge.
        labels, known = self.people[self.is_judged], self.times is not None
        scaled = {name: measure.scaled_to(labels) for name, measure in measures.items()}
        sums: Any = {name: m for name, m in scaled.items() if known and m.sums_documents}
        lists = {name: m for name, m in scaled.items() if name not in sums}
        self._refuse_parts(next(iter(lists), None))
        of_people = self.is_human
        rows, queries = self.judge.queries.repeat(of_people), self.judge.queries.some(of_people)
        people = CheckedTarget(self.people[rows], queries, (queries.n_rows,))
        there = [values[rows] for values in scores]
        human = people.values(lists, there, policies)
        alone = [dict(of) for of in human]
        if sums:
            # Other orders of ties need the labels of all documents.
            check.option("ties", policies.ties, ("average", "stable", "reversed"))
            rankings = [Ranked(values, queries, policies.ties) for values in there]
        for name, measure in sums.items():
            for table, targets in zip((human, alone), self._sum_targets(measure, rows, queries)):
                for of, ranked in zip(table, rankings):
                    of[name] = measure.evaluate_targets(targets, 0.0 * queries.sizes, ranked)
        with arrays.naming("judge"):
            scaled = {name: of.scaled_to(self.judge.y) for name, of in measures.items()}
            judge = self.judge.values(scaled, scores, policies)
        tables = (
            np.array([[of[name] for name in measures] for of in table])
            for table in (human, alone, judge)
        )
        return JudgedValues(*tables, of_people)  # type: ignore[call-arg]

    def _sum_targets(self, measure: Any, rows: Bools, queries: Queries) -> tuple[Floats, Floats]:
        """Return targets of the documents of people's queries, with the judge's and without.

        Sums of both have the expectation of those of people (Horvitz and Thompson, 1952).
        """
        times: Any = self.times
        people, judge = (
            measure.score_targets(measure.labels(y[rows]), queries)
            for y in (self.people, self.judge.y)
        )
        return judge + times[rows] * (people - judge), times[rows] * people

    def _refuse_parts(self, measure: str | None) -> None:
        """Raise if people judged a part of a query that a measure of whole lists needs."""
        queries = self.judge.queries
        counts = queries.sum(self.is_judged * 1.0)
        parts = np.flatnonzero((counts > 0) & (counts < queries.sizes))
        if measure is not None and len(parts):
            first = parts[0]
            raise ValueError(
                f"y_true must hold labels of all documents of a query, or of none, for {measure}, "
                f"got {counts[first]:.0f} of {queries.sizes[first]} of query "
                f"{queries.name(first)!r}. Have the others judged, or make all NaN. Sums over "
                "documents, such as precision@k, dcg and rbp, take a part of them if "
                "judged_probability= is given."
            )


def _numbers_of_rows(name: str, values: Any, n_rows: int) -> Floats:
    out = arrays.numbers(values, name)
    if out.shape != (n_rows,):
        raise ValueError(
            f"{name} must be one number for each of {n_rows} rows, got {out.shape}. Let y_true, "
            "the judge and the scores have the same rows, with NaN in y_true where nobody judged."
        )
    return out


def _times(probability: Floats, is_judged: Bools) -> Floats:
    """Return the number of documents for which each one stands, from its chance to be judged."""
    of_judged = probability[is_judged]
    wrong = of_judged[~((of_judged > 0) & (of_judged <= 1))]
    if wrong.size:
        raise ValueError(
            "judged_probability must be in (0, 1] for every document that people judged, got "
            f"{wrong[0]}. Pass the chance with which it was drawn from its query."
        )
    return np.where(is_judged, 1 / np.where(is_judged, probability, 1.0), 0.0)


def _check_number(name: str, n_human: int) -> None:
    if n_human < 2:
        raise ValueError(
            f"{name} must hold labels of people for at least two queries, got {n_human}. Draw some "
            "30 queries at random, and have their documents judged."
        )


def check_methods(methods: Methods, judge: Any, probability: Any = None) -> None:
    """Raise unless the methods are those that are known beside a judge, if there is one."""
    if judge is None and probability is not None:
        raise ValueError("judged_probability must be None without judge: pass both.")
    for name, only in {"test": "t", "interval": "student", "tail": None}.items():
        if judge is not None and (value := getattr(methods, name)) != only:
            raise ValueError(
                f"{name} must be {only!r} beside judge, got {value!r}: only Student's tests and "
                "intervals are known for means that a judge corrects. Leave it out."
            )


def made_with_judge(design: Design, values: JudgedValues) -> Comparison:
    """Return the comparison by people, with means that the values of the judge correct."""
    systems, measures, *_, methods = design
    pairs, sides = design.names(), (values.human, values.alone, values.judge)
    of_pairs = [[snapped(of[a], of[b]) for a, b in design.pairs()] for of in sides]
    warn_of_equal(of_pairs[0], pairs)
    human, alone, judge = (np.concatenate([*of, *more]) for of, more in zip(sides, of_pairs))
    means = RegressionMeans.of(human, alone, judge, values.is_human)
    keys: list[Any] = [*product(systems, measures)]
    n_means = len(keys)
    warn_of_shift(means.shift[:n_means], values.is_human, keys)
    keys += [(*pair, measure) for pair, measure in product(pairs, measures)]
    n, p = means.moments.n, means.p_values(methods.margin)
    corrected = np.append(p[:n_means], adjusted(p[n_means:], n[n_means:], methods.correction))
    counts = [(np.sign(human) == sign).sum(1) for sign in (1, 0, -1)]
    columns = means.mean, *means.ends(methods.confidence_level), means.moments.spread
    columns += means.effect_sizes(), *counts, n, p, corrected
    everywhere = np.full((*values.human.shape[:2], len(values.is_human)), np.nan)
    everywhere[..., values.is_human] = values.human
    return design.comparison(
        [column[:n_means] for column in (*columns[:3], n)],
        [column[n_means:] for column in columns],
        n[n_means:],
        values=everywhere,
        interval_title=f"{TITLES['student']}, with a judge of {len(values.is_human)} queries",
        corrections=dict(zip(keys, means.corrections())),
    )


def warn_of_shift(shift: Floats, is_human: Bools, keys: list[tuple[str, ...]]) -> None:
    """Warn if the judge's values differ more between queries than a random draw lets them."""
    p = 2 * stats.t.sf(np.abs(shift), max(is_human.sum() - 1, 1))
    least = int(np.argmin(p))
    if p[least] * len(p) < _CHANCE:
        system, measure = keys[least]
        more = "higher" if shift[least] > 0 else "lower"
        warn(
            f"Queries that people judged do not look like a random draw: by the judge, {measure} "
            f"of {system!r} is {more} there than on the others (p = {p[least]:.2g}). No method "
            "repairs that: means and intervals hold for queries drawn at random only."
        )
