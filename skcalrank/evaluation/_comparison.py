"""Result of a comparison of systems: values per query, means, differences, tests."""

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..columns import by_hash, hash_names, texts
from ..columns.types import Array, Axes, Floats
from ..data import check, warn
from ._comparison_tables import TABLES, table_of
from ._leaderboard import Leaderboard, rank_values
from ._rank_frame import pandas_for
from ._regression_means import Correction
from ._statistics import Moments, n_needed, snapped, unit_of, with_tails


class Estimate(NamedTuple):
    """Mean of a measure for a system, with its interval and the number of values."""

    system: str
    measure: str
    mean: float
    low: float
    high: float
    n: int


class Difference(NamedTuple):
    """Mean difference of two systems over the queries, with its interval and test."""

    system: str
    other: str
    measure: str
    difference: float
    low: float
    high: float
    spread: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    n: int
    p: float
    p_adjusted: float


_ESTIMATE, _DIFFERENCE = list(Estimate.__annotations__), list(Difference.__annotations__)

#: What the tables hold of runs, beside measures.
ABOUT_JUDGED = "Judged docs: the share of judged documents among those that were retrieved."

_COUNTS = ("wins", "ties", "losses")

# Columns of frames, and the fields of Difference that hold their values.
_OF_DIFFERENCE = {
    "difference": "difference",
    "difference_low": "low",
    "difference_high": "high",
    **{name: name for name in ("effect_size", *_COUNTS, "p", "p_adjusted")},
}

# Columns of frames with a judge, which are the first fields of Correction.
_OF_JUDGE = ("human", "judge", "gain")


@dataclass(kw_only=True, eq=False, repr=False)
class Comparison:
    """Result of a comparison of systems, as :func:`compare` and similar functions return it.

    Parameters
    ----------
    systems, measures : list of str
        Names of the systems and of the measures.
    queries : ndarray of shape (n_queries,)
        Names of the queries.
    values : ndarray of shape (n_systems, n_measures, n_queries)
        Values of the measures; NaN where a measure is undefined. Those of tails are not repeated.
    baseline : str
        Name of the system to which the others are compared.
    estimates : list of tuple
        One for each system and measure: ``system``, ``measure``, ``mean``, ``low``, ``high``,
        ``n``.
    differences : list of tuple
        One for each pair of systems and each measure, ``system`` minus ``other``: ``system``,
        ``other``, ``measure``, ``difference``, ``low``, ``high``, ``spread`` (standard deviation
        of the differences), ``effect_size`` (mean over spread, Cohen's d for pairs), ``wins``,
        ``ties``, ``losses``, ``n`` (queries on which both are defined; of a tail, those in it),
        ``p``, ``p_adjusted``.
    confidence_level : float, default=0.95
        Confidence level of the intervals. Tables mark differences with a ``p_adjusted`` below 1
        minus this level.
    interval_title, test_title : str, default=""
        Names of the methods in captions.
    fold_values : ndarray of shape (n_systems, n_measures, n_folds), default=None
        Means of the folds of a cross-validation, from which estimates and differences were
        computed; None if they were computed from `values`.
    fit_times : ndarray of shape (n_systems, n_folds), default=None
        Seconds of each fit of a cross-validation; None where nothing was fitted.
    margin : float, default=0.0
        Differences were tested against minus this.
    tail : float, default=None
        Share of the queries of the tails, which are the second half of the measures; None without.
    are_simultaneous : bool, default=False
        Whether the intervals of differences hold for all of them at once, as of ``"max-t"``.
    judged_ : dict, default=None
        For runs, the share of judged documents among those that were retrieved, by system
        (:class:`RunValues`); a column of the tables. None if it is unknown.
    corrections : dict, default=None
        With a judge, what it adds, by ``(system, measure)`` and ``(system, other, measure)``:
        tuples of `human` (the estimate by people alone), `judge` (the mean of the judge's own
        values), `gain` (1.9 if the judge is worth .9 times the people in addition), and the parts
        of the squared error, ``residual / n + explained / n_judged`` with n human queries.

    See Also
    --------
    compare : Compare scores of systems.
    cross_compare : Compare estimators by cross-validation.
    compare_values : Compare values per query.

    Examples
    --------
    >>> from skcalrank.evaluation import compare
    >>> y, qid = [1, 0, 0, 1] * 6, [q for q in range(12) for _ in range(2)]
    >>> scores = {"up": [1, 2, 1, 2] * 6, "down": [2, 1] * 12}
    >>> result = compare(y, scores, ["precision@1", "mrr"], qid=qid)
    >>> result
    Comparison(2 systems, 2 measures, 12 queries, baseline='up')
    >>> result.per_query("mrr").shape
    (12, 2)
    """

    systems: list[str]
    measures: list[str]
    queries: Array
    values: Floats
    baseline: str
    estimates: list[Estimate]
    differences: list[Difference]
    confidence_level: float = 0.95
    interval_title: str = ""
    test_title: str = ""
    fold_values: Floats | None = None
    fit_times: Floats | None = None
    margin: float = 0.0
    tail: float | None = None
    are_simultaneous: bool = False
    judged_: dict[str, float] | None = None
    corrections: dict[tuple[str, ...], Correction] | None = None

    def __repr__(self) -> str:
        counts = {"system": len(self.systems), "measure": len(self.measures)}
        sizes = ", ".join(f"{n} {word}{'s' * (n != 1)}" for word, n in counts.items())
        folds = "" if self.fold_values is None else f", {self.fold_values.shape[-1]} folds"
        return (
            f"Comparison({sizes}, {len(self.queries)} queries{folds}, baseline={self.baseline!r})"
        )

    # -- frames --------------------------------------------------------------------

    def to_frame(self, *, pairs: bool = False) -> Any:
        """Return means, differences and tests as a pandas DataFrame.

        Parameters
        ----------
        pairs : bool, default=False
            If False, one row for each system and measure, with the difference to the baseline. If
            True, one row for each measure and pair of systems that was tested.

        Returns
        -------
        frame : DataFrame
            With columns ``system``, ``measure``, ``mean``, ``low``, ``high``, ``n``,
            ``difference``, ``difference_low``, ``difference_high``, ``effect_size``, ``wins``,
            ``ties``, ``losses``, ``p``, ``p_adjusted``, for runs also ``judged``; with
            ``pairs=True`` the fields of `differences`. With a judge also ``human``, ``judge`` and
            ``gain``, of means, or of differences.
        """
        frame_of = pandas_for("Comparison.to_frame").DataFrame
        if pairs:
            rows = [[*row, *_of_judge(self, *row[:3])] for row in self.differences]
            return frame_of(rows, columns=[*_DIFFERENCE, *(_OF_JUDGE if self.corrections else ())])
        numbers = dict.fromkeys(_OF_DIFFERENCE, float) | dict.fromkeys(_COUNTS, "Int64")
        columns, *rows = numbers_of(self)
        return frame_of(rows, columns=columns).astype(numbers)

    def to_csv(self) -> str:
        """Return the table of :meth:`to_frame` as CSV text, without pandas.

        Returns
        -------
        text : str
            A header, and a line for each system and measure. Cells are empty if a value is
            undefined, as the difference of the baseline to itself. Names that a spreadsheet would
            compute, such as ``=A1``, have an apostrophe before them.
        """
        return texts.csv(numbers_of(self))

    def per_query(self, measure: str | None = None) -> Any:
        """Return the values of each query as a pandas DataFrame.

        Parameters
        ----------
        measure : str, default=None
            One of `measures`; of a tail, the values of all queries. If None, all but tails.

        Returns
        -------
        frame : DataFrame
            One row for each query, with the index ``"qid"``, and one column for each system:
            ``df.join(result.per_query("map"), on="qid")`` adds them to a frame of your own. With
            ``measure=None`` the columns have two levels, measure and system.
        """
        pandas = pandas_for("Comparison.per_query")
        index = pandas.Index(self.queries, name="qid")
        if measure is not None:
            values = self.values[:, self._number_of(measure) % self.values.shape[1]].T
            return pandas.DataFrame(values, index=index, columns=self.systems)
        columns = pandas.MultiIndex.from_product(
            [self.measures[: self.values.shape[1]], self.systems], names=["measure", "system"]
        )
        values = self.values.transpose(2, 1, 0).reshape(len(self.queries), -1)
        return pandas.DataFrame(values, index=index, columns=columns)

    def _number_of(self, measure: str) -> int:
        check.option("measure", measure, self.measures)
        return self.measures.index(measure)

    def query_differences(self, system: str, other: str, *, measure: str) -> Floats:
        """Return the difference of two systems on each query.

        Parameters
        ----------
        system, other : str
            Two of `systems`; the values of `other` are subtracted.
        measure : str
            One of `measures`; of a tail, the values of all queries are subtracted.

        Returns
        -------
        differences : ndarray of shape (n_queries,)
            In the order of `queries`; NaN where the measure is undefined.
        """
        check.option("system", system, self.systems)
        check.option("other", other, self.systems)
        values = self.values[:, self._number_of(measure) % self.values.shape[1]]
        return snapped(*(values[self.systems.index(name)] for name in (system, other)))

    def queries_needed(
        self, difference: float, *, power: float = 0.8, confidence_level: float | None = None
    ) -> Any:
        """Return the number of queries needed to detect a difference of a given size.

        Of one system alone, the difference is that of its mean to a value fixed beforehand.

        Parameters
        ----------
        difference : float
            Mean difference to detect, such as 0.01; with a margin, the distance from minus it.
        power : float, default=0.8
            Probability of detecting it. With 0.5, the interval of that many queries reaches about
            `difference` to either side.
        confidence_level : float, default=None
            1 minus the level of a two-sided paired t-test. If None, that of the comparison. For n
            corrected tests, ``1 - (1 - confidence_level) / n`` is on the safe side.

        Returns
        -------
        frame : DataFrame
            With columns ``system``, ``other``, ``measure``, ``spread`` and ``n_queries``, of
            queries like those here: differences vary as much, and are undefined as often. NaN if
            they do not vary. Of one system, ``other`` is None, and the values are what varies.
            With a judge, the queries that people need to judge; infinity if all are too few.

        Raises
        ------
        ValueError
            If an argument is out of range, or the comparison is over folds.

        Warns
        -----
        UserWarning
            With a judge, if only more queries, judged by the judge too, would detect it.
        """
        if self.fold_values is not None:
            raise ValueError(
                "queries_needed must be called on a comparison over queries, got one over folds. "
                "Call it on compare(...) of scores on a test set."
            )
        check.number("difference", difference, "!= 0")
        check.share("power", power)
        confidence_level = self.confidence_level if confidence_level is None else confidence_level
        check.share("confidence_level", confidence_level)
        size = abs(difference), power, 1 - confidence_level
        # With the number of queries on which they are defined.
        spreads = {r[:3]: (r.spread, r.wins + r.ties + r.losses) for r in self.differences}
        if len(self.systems) == 1:
            unit = unit_of(self.values)
            moments = Moments.of(with_tails(self.values / unit, self.tail)[0])
            of_measures = zip((unit * moments.spread).tolist(), moments.n.tolist())
            spreads = {(self.baseline, m): of for m, of in zip(self.measures, of_measures)}
        rows = []
        for key, (spread, n_defined) in spreads.items():
            if self.corrections:
                n = self.corrections[key].n_needed(*size)
            else:
                n = -(-n_needed(spread, *size) * len(self.queries) // max(n_defined, 1))
            rows.append((key[0], key[1] if key[2:] else None, key[-1], spread, n))
        if math.inf in [row[-1] for row in rows]:
            warn(
                f"A difference of {difference:g} cannot be detected on these {len(self.queries)} "
                "queries, even if people judge all: let the judge label more queries."
            )
        columns = ["system", "other", "measure", "spread", "n_queries"]
        return pandas_for("Comparison.queries_needed").DataFrame(rows, columns=columns)

    def rank_sets(self, measure: str | None = None) -> Leaderboard:
        """Rank the systems, with ranks that hold for all of them at once.

        Parameters
        ----------
        measure : str, default=None
            One of `measures`. If None, the first.

        Returns
        -------
        board : Leaderboard
            Of the queries on which the measure is defined for all systems, see :func:`rank_sets`.
            With a judge, of the queries of people alone.

        Raises
        ------
        ValueError
            If the measure is unknown, there is one system, or the comparison is over folds.
        """
        if self.fold_values is not None:
            raise ValueError(
                "rank_sets must be called on a comparison over queries, got one over folds. Call "
                "it on compare(...) of scores on a test set."
            )
        number = 0 if measure is None else self._number_of(measure)
        values = with_tails(self.values, self.tail)[:, number].T
        values = values[by_hash(hash_names(self.queries))]
        return rank_values(
            values[~np.isnan(values).any(axis=1)], self.systems, "queries", self.confidence_level
        )

    # -- tables --------------------------------------------------------------------

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self, *, digits: int = 4, interval: bool = True, table: str = "means") -> str:
        """Return a table in Markdown, with a column for each measure.

        Parameters
        ----------
        digits : int, default=4
            Number of decimals.
        interval : bool, default=True
            Whether to write the interval after each number.
        table : {"means", "differences"}, default="means"
            "means": a row for each system. "differences": a row for each pair of systems that was
            tested, with the mean difference and its corrected p-value.

        Returns
        -------
        text : str
            Of means, the largest mean of a column is bold. ``+`` and ``-`` mark systems that are
            significantly better and worse than the baseline; with ``pairs="all"`` letters name the
            systems that a system is significantly better than.
        """
        return table_of(self, digits, interval, table).to_markdown()

    def to_latex(self, *, digits: int = 4, interval: bool = True, table: str = "means") -> str:
        """Return the table in LaTeX, which needs the package booktabs.

        Parameters
        ----------
        digits, interval, table
            As in :meth:`to_markdown`.

        Returns
        -------
        text : str
            A ``tabular`` in a ``table`` with a caption.
        """
        return table_of(self, digits, interval, table).to_latex()

    def to_html(self, *, digits: int = 4, interval: bool = True, table: str = "means") -> str:
        """Return the table in HTML, the form shown in notebooks.

        Parameters
        ----------
        digits, interval, table
            As in :meth:`to_markdown`.

        Returns
        -------
        text : str
            A ``table`` element with a caption.
        """
        return table_of(self, digits, interval, table).to_html()

    _repr_html_ = to_html

    def caption(self, *, interval: bool = True, table: str = "means") -> str:
        """Return a caption for a table of the comparison.

        Parameters
        ----------
        interval : bool, default=True
            Whether the table shows intervals.
        table : {"means", "differences"}, default="means"
            The table.

        Returns
        -------
        caption : str
            Number of queries, intervals, tests, and meaning of bold figures and marks, in a few
            sentences.
        """
        check.option("table", table, TABLES)
        of_differences = table == "differences"
        text = self._about_sample(interval, of_differences)
        if of_differences:
            return f"{text} {self._about_tests(interval)}"
        if self.judged_:
            text = f"{text} {ABOUT_JUDGED}"
        if len(self.systems) > 1:
            text = f"{text} The largest mean is bold, even if others are level."
        if not self.differences:
            return text
        pairs = {(row.system, row.other) for row in self.differences}
        if len(pairs) < len(self.systems) or len(self.systems) == 2:
            than = repr(self.baseline) + (f" less {self.margin:g}" if self.margin else "")
            marks = f"+ and - mark systems that are better and worse than {than}"
        else:
            marks = "Letters name the systems that a system is better than"
        return f"{text} {marks} at p < {1 - self.confidence_level:.3g} ({self.test_title})."

    def _about_sample(self, interval: bool, of_differences: bool) -> str:
        """Say over what means and intervals are, with their number for each measure."""
        rows: Any = self.differences if of_differences else self.estimates
        unit = "queries" if self.fold_values is None else "folds"
        of_count: dict[str, list[str]] = defaultdict(list)
        for measure in self.measures:
            counts = sorted({row.n for row in rows if row.measure == measure})
            n = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
            of_count[f"{n} {unit}"].append(measure)
        n = " and ".join(
            f"{n} ({', '.join(names)})" if len(of_count) > 1 else n for n, names in of_count.items()
        )
        level = f"{100 * self.confidence_level:g} %"
        shown = f", with {level} intervals ({self.interval_title})" if interval else ""
        if interval and of_differences and self.are_simultaneous:
            shown = f", with simultaneous {level} intervals (max-T)"
        return f"{'Mean differences' if of_differences else 'Means'} over {n}{shown}."

    def _about_tests(self, interval: bool) -> str:
        """Say how the p-values of differences were made, and that intervals are not corrected."""
        text = f"p: {self.test_title}."
        if interval and not self.are_simultaneous and are_corrected(self.differences):
            # A reader would take the two for a contradiction.
            against = f"{0 - self.margin:g}"
            text += f" Intervals are not corrected, and may exclude {against} where p is large."
        return text

    # -- pictures ------------------------------------------------------------------

    def plot(
        self,
        measure: str | None = None,
        *,
        kind: str = "differences",
        system: str | None = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> Any:
        """Plot the comparison for one measure.

        Parameters
        ----------
        measure : str, default=None
            One of `measures`. If None, the first.
        kind : {"differences", "means", "queries"}, default="differences"
            "differences": mean differences to the baseline, with intervals. "means": means, with
            intervals. "queries": differences of one system to the baseline on every query, sorted.
        system : str, default=None
            System for ``kind="queries"``. If None, the first one that is not the baseline.
        ax : matplotlib Axes, default=None
            Axes to plot on. If None, new axes are made.
        **style
            Passed to the ``plot`` method of the display.

        Returns
        -------
        display : ComparisonDisplay or QueryDifferenceDisplay
            A display of :mod:`skcalrank.displays`.

        Raises
        ------
        ValueError
            If `system` is given and `kind` is not "queries", or a name is unknown.
        """
        check.option("kind", kind, ("differences", "means", "queries"))
        from ..displays import ComparisonDisplay, QueryDifferenceDisplay

        if kind == "queries":
            return QueryDifferenceDisplay.from_comparison(
                self, measure=measure, system=system, ax=ax, **style
            )
        if system is not None:
            raise ValueError(
                f"system must be None unless kind='queries', got {system!r}. Leave it out."
            )
        return ComparisonDisplay.from_comparison(self, measure=measure, kind=kind, ax=ax, **style)


def are_corrected(differences: list[Difference]) -> bool:
    """Return whether a correction has raised a p-value; the intervals are never corrected."""
    return any(row.p_adjusted > row.p for row in differences)


def _of_judge(comparison: Comparison, *key: str) -> list[float]:
    """Return people alone, judge and gain of a mean or a difference; nothing without a judge."""
    return [*comparison.corrections[key][: len(_OF_JUDGE)]] if comparison.corrections else []


def numbers_of(comparison: Comparison) -> list[list[Any]]:
    """Return the columns and the rows of the frame; None for differences of the baseline."""
    differences = {(row.system, row.other, row.measure): row for row in comparison.differences}
    judged = {system: [share] for system, share in (comparison.judged_ or {}).items()}
    columns = [*_ESTIMATE, *_OF_DIFFERENCE, *(["judged"] if judged else [])]
    columns += _OF_JUDGE if comparison.corrections else ()
    return [columns] + [
        [
            *row,
            *(getattr(difference, name, None) for name in _OF_DIFFERENCE.values()),
            *judged.get(row.system, []),
            *_of_judge(comparison, row.system, row.measure),
        ]
        for row in comparison.estimates
        for difference in [differences.get((row.system, comparison.baseline, row.measure))]
    ]
