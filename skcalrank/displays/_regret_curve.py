"""Plot of regret, or of the value of a measure, against sample size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..data import RankingTarget, arrays, check, timed, warning_once, warning_once_in_jobs
from ..data.types import Array, ArrayLike, Floats, Ints, Seed
from ..measures import Measure, get_measure
from ..metrics import predict_with_queries
from ._base import (
    Display,
    check_regret,
    draw_band,
    draw_line,
    draw_zeros,
    drawn,
    literal,
    measure_label,
)


def _reached_values(
    estimators: Any,
    data: Any,
    test: Any,
    measure: Measure,
    sizes: Any,
    *,
    n_repeats: int = 10,
    random_state: Seed = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> np.ndarray:
    """Return expected values on the test data, of shape (n_estimators, n_sizes, n_repeats)."""
    _law(test)
    X, y, codes = _rows(data)
    n_queries = int(codes.max()) + 1
    if sizes[-1] > n_queries:
        raise ValueError(
            f"n_samples must be at most {n_queries}, the number of queries, got {sizes[-1]}."
        )
    check.count("n_repeats", n_repeats)
    rng = check_random_state(random_state)
    with warning_once():
        repeat = delayed(warning_once_in_jobs(_timed_repeat))
        repeats = (
            repeat(
                *(verbose, f"repetition {number} of {n_repeats}", estimators, X, y),
                *(rng.permutation(n_queries)[codes], test, measure, sizes),
            )
            for number in range(1, n_repeats + 1)
        )
        return np.stack(Parallel(n_jobs)(repeats), axis=-1)


@dataclass(kw_only=True, eq=False, repr=False)
class RegretCurveDisplay(Display):
    """Plot of the regret of rankers against the number of queries they were fitted to.

    Both axes are logarithmic: a regret that decreases like a power of the sample size is a straight
    line, whose slope is in the legend. Use :meth:`from_estimators` or :meth:`from_results` to make
    a display.

    Parameters
    ----------
    n_samples : ndarray of shape (n_sizes,)
        Sample sizes.
    values : dict of str to ndarray of shape (n_sizes, n_repeats)
        Regrets, or values of the measure, by the name of the ranker.
    quantity : {"regret", "value"}, default="regret"
        Meaning of `values`. Values of a measure have a linear axis, and no slope.
    measure_name : str, default=None
        Name of the measure, for the label of the axis.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One curve for each ranker.
    bands_ : list of matplotlib PolyCollection
        Bands around the curves; empty without bands.
    zeros_ : list of matplotlib Line2D
        For each ranker, triangles at the lower end of the axis where the mean regret is 0.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    sklearn.model_selection.LearningCurveDisplay : Cross-validated scores, for data whose label
        distribution is unknown.

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
        """Least-squares slope of log mean regret over log sample size, by name.

        NaN if fewer than two sizes have a positive mean.
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
        """Plot the curves.

        A mean regret of 0 (every ranking was optimal) cannot be shown on a logarithmic axis; it
        is marked by a triangle at the lower end.

        Parameters
        ----------
        name : list of str, default=None
            Names of the curves in the legend. If None, the names in `values`.
        band : float, default=1.0
            Half width of the band, in standard errors over repetitions. With 0, or a single
            repetition, there is no band. On the logarithmic axis it is the standard error of the
            logarithm.
        curve_kwargs : dict or list of dict, default=None
            Style of the curves, for matplotlib's ``plot``: one for all curves, or a list with one
            for each.
        ax, band_kwargs
            As in :meth:`MeasureAtKDisplay.plot`.

        Returns
        -------
        display : RegretCurveDisplay

        Raises
        ------
        ValueError
            If `name` or `curve_kwargs` is a list whose length is not the number of curves.
        """
        ax = self._open(ax)
        names = list(map(literal, self.values)) if name is None else name
        names = _one_each("name", names, self.values)
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
        ax.set_ylabel(literal(" ".join(word for word in words if word)))
        ax.legend()
        return self

    def _draw(self, key: str, label: str, style: Any, band: float, band_kwargs: Any) -> None:
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
            # Layout engines treat an empty line that is not clipped as a point at the origin.
            self.zeros_[-1].set_in_layout(len(sizes) > 0)
        if low is not None:
            self.bands_.append(draw_band(line, low, high, band_kwargs, alpha=0.2))

    @classmethod
    @drawn(plot, options_of=_reached_values, without=["name"])
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
        """Fit rankers to samples of several sizes, and plot their regrets.

        A sample consists of queries drawn at random without replacement; within a repetition,
        larger samples contain the smaller ones. The expected value of a predicted ranking, and
        that of the best ranking, are computed exactly from the distribution of the labels, so
        that regrets are free of the noise of test labels.

        Parameters
        ----------
        estimators : dict of str to estimator
            Rankers, or any regressors, by their names in the legend. They are cloned.
        data : RankingData or LabelRankingData
            Data from which samples are drawn. They should be far larger than the largest sample,
            so that repetitions have few queries in common.
        test : RankingData or LabelRankingData, default=None
            Data on which rankings are evaluated, of the same problem and with the attribute
            ``law``, the distribution of the labels. If None, `data` with new labels. Data of
            :func:`~skcalrank.datasets.make_subset_ranking` and of
            :func:`~skcalrank.datasets.make_label_ranking` are of the same problem if only their
            number of queries or samples differs.
        measure : str or Measure, default="ndcg@10"
            Measure of the rankings, as in ``test.law.value``.
        quantity : {"regret", "value"}, default="regret"
            "regret": best expected value minus expected value. "value": expected value, for
            measures whose best value is not known.
        n_samples : array-like of int of shape (n_sizes,), \
                default=(50, 100, 200, 400, 800, 1600)
            Sample sizes, in queries (rows in the label-ranking form).
        n_repeats : int, default=10
            Number of repetitions.
        random_state : int, RandomState instance or None, default=None
            Seed of the samples.
        n_jobs : int, default=None
            Number of repetitions that joblib runs in parallel. None means 1, -1 one for each core.
        verbose : int, default=0
            If not 0, the time of each repetition is printed.
        ax, band, curve_kwargs, band_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : RegretCurveDisplay

        Raises
        ------
        ValueError
            If there is no estimator, there are too few data, the test data have no ``law``, or the
            measure has no known best value.
        """
        check.option("quantity", quantity, ("regret", "value"))
        if not isinstance(estimators, Mapping) or not estimators:
            raise ValueError(f"estimators must be a dict of rankers by name, got {estimators!r}.")
        sizes = _check_sizes(n_samples)
        measure = get_measure(measure)
        test = data if test is None else test
        best = _best_value(test, measure) if quantity == "regret" else None
        rankers = list(estimators.values())
        values = _reached_values(rankers, data, test, measure, sizes, **options)
        if best is not None:
            # Differences by rounding count as 0.
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
        """Plot given regrets or values.

        Parameters
        ----------
        values : dict of str to array-like of shape (n_sizes, n_repeats) or (n_sizes,)
            Regrets, or values of the measure, by the name of the ranker.
        n_samples, quantity, measure_name
            As in :class:`RegretCurveDisplay`.
        ax, name, band, curve_kwargs, band_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : RegretCurveDisplay

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


def _results(n_samples: Any, values: Any, quantity: str) -> dict[str, Any]:
    """Return validated results, as parameters of a display."""
    check.option("quantity", quantity, ("regret", "value"))
    if not isinstance(values, Mapping) or not values:
        raise ValueError(f"values must be a dict of arrays by name, got {values!r}.")
    sizes = _check_sizes(n_samples)
    values = {key: _check_values(key, v, len(sizes), quantity) for key, v in values.items()}
    return {"n_samples": sizes, "values": values, "quantity": quantity}


def _check_sizes(n_samples: Any) -> Ints:
    sizes = arrays.checked(n_samples, "n_samples", ensure_2d=False, dtype=None)
    if sizes.ndim != 1 or not (sizes > 0).all() or not (np.diff(sizes) > 0).all():
        raise ValueError(f"n_samples must be positive and increasing, got {n_samples!r}.")
    return sizes


def _check_values(name: str, values: Any, n_sizes: int, quantity: str) -> Floats:
    name = f"values[{name!r}]"
    values = arrays.checked(values, name, ensure_2d=False)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != n_sizes:
        raise ValueError(
            f"{name} must have one row for each of {n_sizes} sample sizes and one column for each "
            f"repetition, got shape {values.shape}."
        )
    return check_regret(values, name) if quantity == "regret" else values


def _one_each(what: str, entries: Any, values: dict[str, Floats]) -> Any:
    if isinstance(entries, str) or len(entries) != len(values):
        raise ValueError(
            f"{what} must be a list of {len(values)}, one for each curve, got {entries!r}."
        )
    return entries


def _curve(values: Floats, band: float, log: bool) -> tuple[Floats, Floats | None, Floats | None]:
    """Return the mean over the repetitions, and the edges of a band or None."""
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


def _slope(sizes: Ints, values: Floats) -> float:
    mean = values.mean(axis=1)
    positive = mean > 0
    if np.count_nonzero(positive) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[positive]), np.log(mean[positive]), 1)[0])


def _best_value(test: Any, measure: Measure) -> float:
    """Return the largest expected value of a ranking of the test data."""
    law = _law(test)
    try:
        return law.bayes_value(measure)
    except ValueError as error:
        if measure.shape == "documents":
            raise
        raise ValueError(
            f"{error} Set quantity='value', which does not need the best value."
        ) from error


def _law(data: Any) -> Any:
    law = getattr(data, "law", None)
    if law is None:
        raise ValueError(
            "test must have the attribute law, the distribution of its labels, as data of "
            "make_subset_ranking and make_label_ranking do. For other data, plot scores with "
            "sklearn.model_selection.LearningCurveDisplay."
        )
    return law


def _rows(data: Any) -> tuple[Array, Any, Ints]:
    """Return features, target and number of the query of each row."""
    if hasattr(data, "positions"):
        return data.X, -data.positions, np.arange(len(data.positions))
    return data.X, RankingTarget(data.y, data.qid), check.queries(data.qid, len(data.y)).codes


def _timed_repeat(verbose: int, work: str, *args: Any) -> Floats:
    with timed(verbose, "RegretCurveDisplay", work):
        return _one_repeat(*args)


def _one_repeat(
    estimators: list[Any], X: Any, y: Any, place: Ints, test: Any, measure: Measure, sizes: Ints
) -> Floats:
    """Return the values of one repetition, of shape (n_estimators, n_sizes).

    A sample of size n consists of the rows with `place`, the random number of their query, below n.
    """
    values = np.empty((len(estimators), len(sizes)))
    qid = getattr(test, "qid", None)
    for column, size in enumerate(sizes):
        sample = np.flatnonzero(place < size)
        for row, estimator in enumerate(estimators):
            fitted = clone(estimator).fit(X[sample], y[sample])
            values[row, column] = test.law.value(measure, predict_with_queries(fitted, test.X, qid))
    return values
