"""Regret, or value, against sample size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Array, ArrayLike, Floats, check_option, checked_array
from ..measures import Measure, get_measure
from ._base import Display, check_regret, draw_band, draw_line, draw_zeros, drawn, measure_label
from ._samples import best_value, reached_values


@dataclass(kw_only=True, eq=False, repr=False)
class RegretCurveDisplay(Display):
    """Regret of rankers against the size of the sample that they were fitted on.

    Both axes are logarithmic: a regret that falls like a power of the sample size is a straight
    line, whose slope the legend tells. Use :meth:`from_estimators` or :meth:`from_results` to
    make one.

    Parameters
    ----------
    n_samples : ndarray of shape (n_sizes,)
        The sample sizes.
    values : dict of str to ndarray of shape (n_sizes, n_repeats)
        By the name of the ranker its regrets, or values of the measure.
    quantity : {"regret", "value"}, default="regret"
        Which of the two; values stand on a linear axis, and have no slope.
    measure_name : str, default=None
        Name of the measure, for the label of the axis.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One for each ranker.
    bands_ : list of matplotlib PolyCollection
        Around them; empty when none is drawn.
    zeros_ : list of matplotlib Line2D
        For each ranker the triangles at the lower end of the axis, where the mean regret is
        exactly 0.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    sklearn.model_selection.LearningCurveDisplay : Scores by cross-validation, where the law of
        the data is not known.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import DCGRanker, SpearmanRanker
    >>> from skcalrank.datasets import make_subset_ranking
    >>> from skcalrank.displays import RegretCurveDisplay
    >>> display = RegretCurveDisplay.from_estimators(
    ...     {"DCG targets": DCGRanker(k=3), "mid-ranks": SpearmanRanker()},
    ...     make_subset_ranking(n_queries=5000, random_state=0),
    ...     measure="dcg@3",
    ...     n_samples=[50, 200, 800],
    ...     n_repeats=5,
    ...     random_state=0,
    ... )
    >>> display.values["DCG targets"].shape
    (3, 5)
    >>> plt.show()
    """

    n_samples: Array
    values: dict[str, Floats]
    quantity: str = "regret"
    measure_name: str | None = None

    @property
    def slopes(self) -> dict[str, float]:
        """By name, the slope of log mean regret over log sample size, by least squares.

        NaN where fewer than two sizes have a positive mean.
        """
        return {name: _slope(self.n_samples, values) for name, values in self.values.items()}

    def plot(
        self,
        ax: Any = None,
        *,
        name: Sequence[str] | None = None,
        band: float = 1.0,
        curve_kwargs: dict[str, Any] | list[dict[str, Any]] | None = None,
        band_kwargs: dict[str, Any] | None = None,
    ) -> RegretCurveDisplay:
        """Draw the curves.

        A mean regret of exactly 0 (every ranking was the best) has no place on a logarithmic
        axis: a triangle at its lower end stands for it.

        Parameters
        ----------
        name : list of str, default=None
            Names of the curves in the legend; None = those of `values`.
        band : float, default=1.0
            Half width of the band, in standard errors over repetitions; 0 = no band. There is
            none for a single repetition. On the logarithmic axis it is the standard error of
            the logarithm.
        curve_kwargs : dict or list of dict, default=None
            Style of the curves, for matplotlib's ``plot``; of all, or of each.
        ax, band_kwargs
            As in :meth:`MeasureAtKDisplay.plot`.

        Raises
        ------
        ValueError
            If `name` or `curve_kwargs` is a list of another length than `values`.
        """
        ax = self._open(ax)
        names = _one_each("name", list(self.values) if name is None else name, self.values)
        styles: Any = curve_kwargs if isinstance(curve_kwargs, (list, tuple)) else None
        styles = _one_each("curve_kwargs", styles or [curve_kwargs] * len(self.values), self.values)
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self.zeros_: list[Any] = []
        for label, style, key in zip(names, styles, self.values):
            self._draw(key, label, style, band, band_kwargs)
        regret = self.quantity == "regret"
        log = regret and any(values.any() for values in self.values.values())
        ax.set(xscale="log", yscale="log" if log else "linear", xlabel="sample size")
        words = [self.measure_name, self.quantity if regret or not self.measure_name else None]
        ax.set_ylabel(" ".join(word for word in words if word))
        ax.legend()
        return self

    def _draw(self, key, label, style, band, band_kwargs):
        log = self.quantity == "regret"
        slope = self.slopes[key] if log else np.nan
        label = label if np.isnan(slope) else f"{label} (slope {slope:.2f})"
        mean, low, high = _curve(self.values[key], band, log)
        marker = {"marker": "o", "markersize": 4}
        line = draw_line(self.ax_, self.n_samples, mean, style, label=label, **marker)
        self.lines_.append(line)
        if log:
            sizes = np.asarray(self.n_samples)[np.isnan(mean)]
            self.zeros_.append(draw_zeros(self.ax_, sizes, "v", line.get_color()))
            # Layout engines would take an empty line that is not clipped for a point at the origin.
            self.zeros_[-1].set_in_layout(len(sizes) > 0)
        if low is not None:
            self.bands_.append(draw_band(line, low, high, band_kwargs, alpha=0.2))

    @classmethod
    @drawn(plot, options_of=reached_values, without=["name"])
    def from_estimators(
        cls,
        estimators: dict[str, Any],
        data: Any,
        *,
        test: Any = None,
        measure: str | Measure = "ndcg@10",
        quantity: str = "regret",
        n_samples: ArrayLike = (50, 100, 200, 400, 800, 1600),
        **options: Any,
    ) -> RegretCurveDisplay:
        """Fit rankers on samples of growing size, and draw by how much they miss the best.

        A sample is that many queries of the data, drawn at random without replacement; within a
        repetition a larger one holds the smaller. What a fitted ranker predicts has an exact
        expected value under the law of the labels, and so has the best ranking: no noise of
        test labels is in a regret.

        Parameters
        ----------
        estimators : dict of str to estimator
            Rankers, or any regressors, by the names that they get in the legend. They are
            cloned.
        data : RankingData or LabelRankingData
            What samples are drawn from; far larger than the largest of them, or the repetitions
            have their queries in common.
        test : RankingData or LabelRankingData, default=None
            What the rankings are valued on, of the same problem as the data and with a ``law``;
            None = the data, with labels anew. Made data are of the same problem when only their
            number of queries or samples differs: :func:`~skcalrank.datasets.make_subset_ranking`
            and :func:`~skcalrank.datasets.make_label_ranking` draw the problem before them.
        measure : str or Measure, default="ndcg@10"
            What the rankings are valued by, as in ``test.law.value``.
        quantity : {"regret", "value"}, default="regret"
            Best expected value minus the one reached; or the one reached, for measures whose
            best value is not known.
        n_samples : array-like of int of shape (n_sizes,), \
                default=(50, 100, 200, 400, 800, 1600)
            Sizes of the samples, in queries (rows in the label-ranking form).
        n_repeats : int, default=10
        random_state : int, RandomState instance or None, default=None
        n_jobs : int, default=None
            Processes over repetitions.
        ax, band, curve_kwargs, band_kwargs
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If there is no estimator, the data are too few, the test data have no law, or the
            measure has no known best value.
        """
        check_option("quantity", quantity, ("regret", "value"))
        if not isinstance(estimators, Mapping) or not estimators:
            raise ValueError(f"estimators={estimators!r}: give a dict of rankers by their names.")
        sizes = _check_sizes(n_samples)
        measure = get_measure(measure)
        test = data if test is None else test
        best = best_value(test, measure) if quantity == "regret" else None
        rankers = list(estimators.values())
        values = reached_values(rankers, data, test, measure, sizes, **options)
        if best is not None:
            # Sums that differ in the order of addition only are equal.
            missed = best - values
            values = np.where(missed > 1e-12 * max(1.0, abs(best)), missed, 0.0)
        results = _results(sizes, dict(zip(estimators, values)), quantity)
        return cls(**results, measure_name=measure_label(measure))

    @classmethod
    @drawn(plot)
    def from_results(
        cls,
        n_samples: ArrayLike,
        values: Mapping[str, ArrayLike],
        *,
        quantity: str = "regret",
        measure_name: str | None = None,
    ) -> RegretCurveDisplay:
        """Draw regrets or values that are at hand.

        Parameters
        ----------
        values : dict of str to array-like of shape (n_sizes, n_repeats) or (n_sizes,)
            By the name of the ranker its regrets, or values of the measure.
        n_samples, quantity, measure_name
            As in :class:`RegretCurveDisplay`.
        ax, name, band, curve_kwargs, band_kwargs
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If a shape does not fit the sample sizes, or a regret is negative.

        Examples
        --------
        >>> from skcalrank.displays import RegretCurveDisplay
        >>> display = RegretCurveDisplay.from_results(
        ...     [100, 10_000], {"root of n": [[0.2, 0.1], [0.02, 0.01]]}
        ... )
        >>> round(display.slopes["root of n"], 3)
        -0.5
        """
        return cls(**_results(n_samples, values, quantity), measure_name=measure_name)


def _results(n_samples, values, quantity):
    """Return validated results, as the parameters of a display."""
    check_option("quantity", quantity, ("regret", "value"))
    if not isinstance(values, Mapping) or not values:
        raise ValueError(f"values={values!r}: give a dict of arrays by names.")
    sizes = _check_sizes(n_samples)
    values = {key: _check_values(key, v, len(sizes), quantity) for key, v in values.items()}
    return {"n_samples": sizes, "values": values, "quantity": quantity}


def _check_sizes(n_samples):
    sizes = checked_array(n_samples, "n_samples", ensure_2d=False, dtype=None)
    if sizes.ndim != 1 or not (sizes > 0).all() or not (np.diff(sizes) > 0).all():
        raise ValueError(f"n_samples={n_samples!r}: give positive sizes in increasing order.")
    return sizes


def _check_values(name, values, n_sizes, quantity):
    name = f"values[{name!r}]"
    values = checked_array(values, name, ensure_2d=False)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != n_sizes:
        raise ValueError(
            f"{name} has shape {values.shape} for {n_sizes} sample sizes: give a row for each "
            "size, with a column for each repetition."
        )
    return check_regret(values, name) if quantity == "regret" else values


def _one_each(what, given, values):
    if isinstance(given, str) or len(given) != len(values):
        raise ValueError(f"{what}={given!r}: give a list of {len(values)}, one for each curve.")
    return given


def _curve(values, band, log):
    """Mean over the repetitions, and the edges of a band if there is one."""
    n = values.shape[1]
    mean = values.mean(axis=1)
    if log:
        mean[mean == 0] = np.nan
    if n == 1 or not band:
        return mean, None, None
    half = band * values.std(axis=1, ddof=1) / np.sqrt(n)
    if not log:
        return mean, mean - half, mean + half
    factor = np.exp(half / mean)
    return mean, mean / factor, mean * factor


def _slope(sizes, values):
    mean = values.mean(axis=1)
    positive = mean > 0
    if np.count_nonzero(positive) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[positive]), np.log(mean[positive]), 1)[0])
