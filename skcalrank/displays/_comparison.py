"""Plots of comparisons: intervals of means and differences, and differences per query."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns.types import Axes, Floats, Self
from ..data import check
from ._base import Display, IntervalDisplay, literal, spanned, styled


def _measure_of(comparison: Any, measure: str | None) -> str:
    measure = comparison.measures[0] if measure is None else measure
    check.option("measure", measure, comparison.measures)
    return measure


@dataclass(kw_only=True, eq=False, repr=False)
class ComparisonDisplay(IntervalDisplay):
    """Plot of the means of systems, or of mean differences to a baseline, with intervals.

    Use :meth:`from_comparison` to make a display.

    Parameters
    ----------
    name : str, default=None
        Title. If None, there is no title.
    interval_name : str, default=None
        Level, sample and kind of the intervals, for the legend. If None, there is no legend.
    systems : list of str
        Names of the systems, from top to bottom.
    value, low, high : ndarray of shape (n_systems,)
        Means or mean differences, and the ends of their intervals.
    measure_name : str, default=None
        Name of the measure, for the label of the axis.
    baseline : str, default=None
        Name of the system that is subtracted. If None, the values are means.
    margin : float, default=0.0
        Differences were tested against minus this.

    Attributes
    ----------
    points_ : matplotlib Line2D
        The values.
    intervals_ : matplotlib LineCollection
        The intervals.
    zero_ : matplotlib Line2D or None
        The line at the difference 0, or minus the margin; None for means.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.evaluation.compare : Makes a comparison.
    QueryDifferenceDisplay : Differences on each query.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank.displays import ComparisonDisplay
    >>> from skcalrank.evaluation import compare_values
    >>> values = {"a": {"map": [0.1, 0.4, 0.3, 0.5, 0.2, 0.6]}, "b": {"map": [0.5] * 6}}
    >>> display = ComparisonDisplay.from_comparison(compare_values(values))
    >>> display.systems, display.baseline
    (['b'], 'a')
    >>> plt.show()
    """

    _drawn = "systems", "value"
    systems: list[str]
    value: Floats
    measure_name: str | None = None
    baseline: str | None = None
    margin: float = 0.0

    def _label(self, ax: Any) -> None:
        self.zero_, of_what = None, self.measure_name or "measure"
        if self.baseline is not None:
            self.zero_ = ax.axvline(0 - self.margin, color="0.6", linewidth=1, zorder=0)
            of_what = f"{of_what}, difference to {self.baseline}"
        ax.set_xlabel(literal(of_what))

    @classmethod
    def from_comparison(
        cls,
        comparison: Any,
        *,
        measure: str | None = None,
        kind: str = "differences",
        ax: Axes | None = None,
        name: str | None = None,
        point_kwargs: dict[str, Any] | None = None,
        interval_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot means or mean differences of a comparison.

        Parameters
        ----------
        comparison : Comparison
            Returned by :func:`skcalrank.evaluation.compare` or a similar function.
        measure : str, default=None
            One of the measures of the comparison. If None, the first.
        kind : {"differences", "means"}, default="differences"
            Mean differences to the baseline, or the mean of every system.
        ax, point_kwargs, interval_kwargs
            As in :meth:`plot`.
        name : str, default=None
            Title. If None, there is no title.

        Returns
        -------
        display : ComparisonDisplay

        Raises
        ------
        ValueError
            If the measure is unknown, or there is only one system and so no difference.
        """
        cls._check_support("from_comparison")
        check.option("kind", kind, ("differences", "means"))
        measure = _measure_of(comparison, measure)
        means = kind == "means"
        baseline = None if means else comparison.baseline
        rows = [
            (row.system, row.mean if means else row.difference, row.low, row.high, row.n)
            for row in (comparison.estimates if means else comparison.differences)
            if row.measure == measure and (means or row.other == baseline)
        ]
        if not rows:
            raise ValueError(
                "kind must be 'means' for a comparison of one system, got 'differences'."
            )
        systems, *ends = zip(*rows)
        value, low, high, n = map(np.array, ends)
        sample = f"{spanned(n)} {'queries' if comparison.fold_values is None else 'folds'}"
        level = f"{100 * comparison.confidence_level:g} % interval"
        if not means and len(rows) > 1:
            simultaneous = comparison.are_simultaneous
            level = f"simultaneous {level}" if simultaneous else f"{level}, not corrected"
        display = cls(
            systems=list(systems),
            value=value,
            low=low,
            high=high,
            measure_name=measure,
            baseline=baseline,
            margin=comparison.margin,
            interval_name=f"{level}, {sample}",
            name=name,
        )
        return display.plot(ax, point_kwargs=point_kwargs, interval_kwargs=interval_kwargs)


@dataclass(kw_only=True, eq=False, repr=False)
class QueryDifferenceDisplay(Display):
    """Plot of the difference of two systems on each query, in descending order.

    Use :meth:`from_comparison` to make a display.

    Parameters
    ----------
    name : str, default=None
        Title. If None, the numbers of queries on which the system is better, equal and worse.
    difference : ndarray of shape (n_queries,)
        Differences on the queries, in descending order.
    queries : ndarray of shape (n_queries,)
        Names of the queries, in the same order.
    system, other : str
        Names of the systems; the values of `other` are subtracted.
    measure_name : str, default=None
        Name of the measure, for the label of the axis.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        One bar for each query.
    mean_ : matplotlib Line2D
        The line of the mean difference.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.evaluation.compare : Makes a comparison.
    ComparisonDisplay : Means and mean differences with intervals.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank.displays import QueryDifferenceDisplay
    >>> from skcalrank.evaluation import compare_values
    >>> values = {"a": {"map": [0.1, 0.4, 0.3, 0.5, 0.2, 0.6]}, "b": {"map": [0.5] * 6}}
    >>> display = QueryDifferenceDisplay.from_comparison(compare_values(values))
    >>> display.queries
    array([0, 4, 2, 1, 3, 5])
    >>> plt.show()
    """

    difference: Floats
    queries: Any
    system: str
    other: str
    measure_name: str | None = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        bar_kwargs: dict[str, Any] | None = None,
        mean_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot a bar for each query.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on. If None, new axes are made.
        name : str, default=None
            Title. If None, the title of the display.
        bar_kwargs : dict, default=None
            Style of the bars, for matplotlib's ``bar``.
        mean_kwargs : dict, default=None
            Style of the line of the mean, for matplotlib's ``axhline``.

        Returns
        -------
        display : QueryDifferenceDisplay
        """
        better, worse = (self.difference > 0).sum(), (self.difference < 0).sum()
        counts = f"{better} better, {len(self.difference) - better - worse} equal, {worse} worse"
        ax = self._open(ax, [self.difference], name, self.name, counts)
        colors = np.where(self.difference < 0, "C3", "C0")
        bars = styled("patches.Rectangle", bar_kwargs, width=1.0, color=colors)
        self.bars_ = ax.bar(np.arange(1, len(self.difference) + 1), self.difference, **bars)
        line = styled("lines.Line2D", mean_kwargs, color="0.3", linestyle="--", linewidth=1)
        self.mean_ = ax.axhline(self.difference.mean(), **line)
        of_what = f"{self.measure_name or 'measure'}, {self.system} − {self.other}"
        ax.set(xlabel="queries, by difference", ylabel=literal(of_what))
        ax.margins(x=0.01)
        return self

    @classmethod
    def from_comparison(
        cls,
        comparison: Any,
        *,
        system: str | None = None,
        other: str | None = None,
        measure: str | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        bar_kwargs: dict[str, Any] | None = None,
        mean_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the differences of two systems of a comparison.

        Parameters
        ----------
        comparison : Comparison
            Returned by :func:`skcalrank.evaluation.compare` or a similar function.
        system : str, default=None
            One of the systems of the comparison. If None, the first one that is not `other`.
        other : str, default=None
            System to subtract. If None, the baseline.
        measure : str, default=None
            One of the measures of the comparison. If None, the first.
        ax, bar_kwargs, mean_kwargs
            As in :meth:`plot`.
        name : str, default=None
            Title. If None, the numbers of queries on which the system is better, equal and worse.

        Returns
        -------
        display : QueryDifferenceDisplay

        Raises
        ------
        ValueError
            If a name is unknown, or there is only one system and so no difference.
        """
        cls._check_support("from_comparison")
        measure, systems = _measure_of(comparison, measure), comparison.systems
        other = comparison.baseline if other is None else other
        if system is None:
            system = next((first for first in systems if first != other), None)
        if system is None:
            raise ValueError(
                "comparison must have two systems for their differences, got one. Plot its means "
                "with ComparisonDisplay.from_comparison(..., kind='means')."
            )
        difference = comparison.query_differences(system, other, measure=measure)
        number = comparison.measures.index(measure) % comparison.values.shape[1]
        order = np.argsort(-difference, kind="stable")[: (~np.isnan(difference)).sum()]
        display = cls(
            difference=difference[order],
            queries=comparison.queries[order],
            system=system,
            other=other,
            measure_name=comparison.measures[number],
            name=name,
        )
        return display.plot(ax, bar_kwargs=bar_kwargs, mean_kwargs=mean_kwargs)
