"""Plot of a measure against its cutoff."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr

from ..columns.types import ArrayLike, Axes, Estimator, Floats, Ints, Labels, Matrix, Self
from ..data import CutQueriesWarning, OneQueryWarning, check, settle, warning_once
from ..judgments import PreferenceTarget
from ..measures import MEASURES, Measure, get_measure
from ..metrics import CheckedTarget, RowPolicies, predict_with_queries, warn_of_queries
from ._base import Display, draw_line, literal, name_band, styled


@dataclass(kw_only=True, eq=False, repr=False)
class MeasureAtKDisplay(Display):
    """Plot of a measure against its cutoff: NDCG@k, precision@k, ... for k = 1, 2, ...

    Use :meth:`from_estimator` or :meth:`from_predictions` to make a display.

    Parameters
    ----------
    name : str, default=None
        Name of the curve in the legend, which names the band as well.
    k : ndarray of int of shape (n_cutoffs,)
        The cutoffs.
    value : ndarray of shape (n_cutoffs,)
        Mean of the measure over the queries at each cutoff.
    standard_error : ndarray of shape (n_cutoffs,), default=None
        Standard error of the mean. If None, there is no band.
    n_queries : int, default=None
        Number of queries of the mean, for the legend.
    measure_name : str, default=None
        Name of the measure, without cutoff, for the label of the axis.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The band around the curve.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.metrics.measure_score : The measure at one cutoff.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.displays import MeasureAtKDisplay
    >>> X, y, qid = load_digits_queries(n_queries=50)
    >>> ranker = NDCGRanker(k=10).fit(X, y, qid)
    >>> display = MeasureAtKDisplay.from_estimator(ranker, X, y, qid=qid, measure="ndcg", k=30)
    >>> display.value.shape
    (30,)

    Another ranker on the same axes:

    >>> other = NDCGRanker(k=1).fit(X, y, qid)
    >>> display = MeasureAtKDisplay.from_estimator(
    ...     other, X, y, qid=qid, measure="ndcg", k=30, name="NDCG@1", ax=display.ax_
    ... )
    >>> plt.show()
    """

    k: Ints
    value: Floats
    standard_error: Floats | None = None
    n_queries: int | None = None
    measure_name: str | None = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        band: float = 1.0,
        curve_kwargs: dict[str, Any] | None = None,
        band_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on. If None, new axes are made.
        name : str, default=None
            Name of the curve in the legend. If None, the name of the display.
        band : float, default=1.0
            Half width of the band, in standard errors over queries. With 0, or a single query,
            there is no band. The legend has the level that Student's t gives it at one cutoff.
        curve_kwargs : dict, default=None
            Style of the curve, for matplotlib's ``plot``.
        band_kwargs : dict, default=None
            Style of the band, for matplotlib's ``fill_between``.

        Returns
        -------
        display : MeasureAtKDisplay
        """
        label = self.name if name is None else name
        ax = self._open(ax, [self.value])
        from matplotlib.ticker import MaxNLocator

        self.line_ = draw_line(ax, self.k, self.value, curve_kwargs, label=label, marker=".")
        check.number("band", band, ">= 0", "in standard errors")
        self.band_ = None
        if band and self.standard_error is not None:
            low, high = self.value + np.outer([-band, band], self.standard_error)
            style = {"color": self.line_.get_color(), "linewidth": 0, "alpha": 0.15}
            style = styled("collections.PolyCollection", band_kwargs, **style)
            self.band_ = ax.fill_between(self.k, low, high, **style)
            name_band(ax, self.band_, self._about_band(band))
        ax.set(xlabel="k", ylabel=literal(f"{self.measure_name or 'measure'}@k"))
        ax.margins(x=0.02)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        if label is not None or "label" in (curve_kwargs or {}):
            ax.legend()
        return self

    def _about_band(self, band: float) -> str:
        n = self.n_queries
        level = 2 * stdtr(np.inf if n is None else n - 1, band) - 1
        sample = "" if n is None else f", {n} queries"
        return f"± {band:g} standard error{'s' * (band != 1)} ({100 * level:.3g} %){sample}"

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Matrix,
        y: Labels,
        *,
        qid: ArrayLike | None = None,
        measure: str | Measure = "ndcg",
        k: int | None = 20,
        ties: str = "average",
        empty: str = "skip",
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        band: float = 1.0,
        curve_kwargs: dict[str, Any] | None = None,
        band_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot a measure of a fitted estimator against its cutoff.

        Parameters
        ----------
        estimator : fitted estimator
            A ranker, a pipeline or search of a ranker, or any regressor. A ``predict`` that takes
            ``qid`` gets it.
        X : array-like of shape (n_rows, d)
            Documents.
        y, qid, measure, k, ties, empty, sample_weight
            As in :meth:`from_predictions`.
        ax, band, curve_kwargs, band_kwargs
            As in :meth:`plot`.
        name : str, default=None
            Name of the curve in the legend. If None, the class of the estimator.

        Returns
        -------
        display : MeasureAtKDisplay
        """
        cls._check_support("from_estimator")
        beside: Any = {"X": X, "sample_weight": sample_weight, "measures": [get_measure(measure)]}
        qid = check.qid_of_metric(cls.__name__, y, qid, "y", least=2, **beside)
        warn_of_queries(estimator, X, y, qid, cls.__name__)
        scores = predict_with_queries(estimator, X, qid)
        name = type(estimator).__name__ if name is None else name
        options: Any = {"measure": measure, "k": k, "ties": ties, "empty": empty}
        options |= {"sample_weight": sample_weight, "ax": ax, "name": name, "band": band}
        options |= {"curve_kwargs": curve_kwargs, "band_kwargs": band_kwargs}
        with warning_once():
            settle(OneQueryWarning)
            settle(CutQueriesWarning)
            return cls.from_predictions(y, scores, qid=qid, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Labels,
        y_score: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        measure: str | Measure = "ndcg",
        k: int | None = 20,
        ties: str = "average",
        empty: str = "skip",
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        band: float = 1.0,
        curve_kwargs: dict[str, Any] | None = None,
        band_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot a measure of given scores against its cutoff.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,) or (n, r)
            Relevances, higher is better. May carry its queries, as a
            :class:`~skcalrank.RankingTarget` does.
        y_score : array-like, same shape
            Scores, higher is better.
        qid : array-like of shape (n_rows,), default=None
            Query of each row. If None, the queries that `y_true` carries; without any, all rows are
            one query, or each row of a matrix is one.
        measure : str or Measure, default="ndcg"
            A measure that can have a cutoff, given without one: ``"precision"``, ``"recall"``, ...,
            or an object, such as ``Precision(relevance_level=2)``.
        k : int, default=20
            Largest cutoff. The curve ends at the number of documents of the largest query if that
            is smaller. If None, it always ends there.
        ties, empty, sample_weight
            As in :func:`skcalrank.metrics.measure_score`.
        ax, name, band, curve_kwargs, band_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : MeasureAtKDisplay

        Raises
        ------
        ValueError
            If the measure has no cutoff, is undefined on every query, or the input is not a
            ranking problem; or if a part of a target would set the scale of ERR.

        Warns
        -----
        OneQueryWarning
            If there are 20 rows or more and no queries.
        CutQueriesWarning
            If `y_true` carries its queries and rows of some of them are missing.

        Examples
        --------
        >>> from skcalrank.displays import MeasureAtKDisplay
        >>> y_true, y_score = [[0, 1, 1], [1, 0, 0]], [[0.1, 0.3, 0.2], [0.2, 0.3, 0.1]]
        >>> MeasureAtKDisplay.from_predictions(y_true, y_score, measure="recall").value
        array([0.25, 1.  , 1.  ])
        """
        cls._check_support("from_predictions")
        of_any_k = _open_measure(measure)
        beside: Any = {"y_score": y_score, "sample_weight": sample_weight, "measures": [of_any_k]}
        qid = check.qid_of_metric(cls.__name__, y_true, qid, **beside)
        check.cutoff(k)
        if isinstance(y_true, PreferenceTarget):
            raise ValueError(f"{of_any_k.name} needs relevances, got a PreferenceTarget.")
        target, policies = CheckedTarget.of(y_true, qid), RowPolicies(ties, empty)
        last = int(target.queries.sizes.max())
        cutoffs = np.arange(1, last + 1 if k is None else min(k, last) + 1)
        # Evaluating the measure without cutoff first makes all cutoffs share one sort.
        measures = {None: of_any_k} | {at: replace(of_any_k, k=int(at)) for at in cutoffs}
        scores, weight = target.scores(y_score), target.query_weight(sample_weight)
        target, rows, weight = target.of_weight(weight)
        ((_, *values),) = (of.values() for of in target.values(measures, [scores[rows]], policies))
        weight = np.ones(target.queries.n_queries) if weight is None else weight
        of_mean = _mean_and_error(np.column_stack(values), weight, empty)
        display = cls(k=cutoffs, **of_mean, measure_name=of_any_k.name, name=name)
        return display.plot(ax, band=band, curve_kwargs=curve_kwargs, band_kwargs=band_kwargs)


def _open_measure(measure: Any) -> Any:
    """Return the measure; raise unless it can have a cutoff and has none."""
    measure = get_measure(measure)
    if not measure.has_cutoff:
        known = ", ".join(name for name, cls in MEASURES.items() if cls.has_cutoff)
        raise ValueError(f"measure must be one with a cutoff ({known}), got {measure.name!r}.")
    if measure.k is not None:  # type: ignore[attr-defined]
        raise ValueError(
            f"measure must have no cutoff, since the curve is over all cutoffs, got {measure!r}. "
            "Pass the largest cutoff as k."
        )
    return measure


def _mean_and_error(values: Floats, weight: Floats, empty: str) -> dict[str, Any]:
    """Return weighted mean, standard error or None, and number of the queries (rows)."""
    if empty == "skip":
        defined = ~np.isnan(values).any(axis=1)
        values, weight = values[defined], weight[defined]
    if not weight.any():
        raise ValueError(
            "measure must be defined on a query with positive sample_weight, got 0/0 or weight 0 "
            "on all of them. Set empty='zero' or 'one' to count undefined queries."
        )
    share = weight / weight.sum()
    mean = share @ values
    n = int(np.count_nonzero(weight))
    error = np.sqrt(n / (n - 1) * (share**2 @ (values - mean) ** 2)) if n > 1 else None
    return {"value": mean, "standard_error": error, "n_queries": n}
