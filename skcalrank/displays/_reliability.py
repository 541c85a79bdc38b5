"""Plots of values with a unit against what is observed, and of what cut-offs lose."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..columns.types import ArrayLike, Axes, Estimator, Floats, Labels, Matrix, Seed, Self
from ..data import Queries, check
from ..metrics import Bins, checked_values, predict_with_queries
from ..rankers import ranker_in
from ..reliability import CalibratedRankerCV, GuaranteedCutoff, Judged, observed, on_halves
from ._base import Display, draw_line, literal, name_band, spanned, styled


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Plot of values with a unit, such as probabilities, against what is observed.

    One curve has documents, in bins of equal numbers, as scikit-learn's ``CalibrationDisplay`` with
    quantiles; another has whole queries: the mean value of a query against its mean label. Values
    can be right for documents, and wrong for queries that have nothing relevant.

    Use :meth:`from_estimator` or :meth:`from_predictions` to make a display.

    Parameters
    ----------
    name : str, default=None
        Title of the axes. If None, there is no title.
    documents, queries : Bins
        Named tuples of arrays of shape (n_bins,): mean ``value`` and mean ``observed`` of bins of
        documents, and of queries, the ends ``low`` and ``high`` of 95 % intervals of what is
        observed, and the ``counts`` of the bins.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The curves of documents and of queries.
    intervals_ : list of matplotlib LineCollection
        One collection of vertical lines for each curve.
    diagonal_ : matplotlib Line2D
        Where values are right.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.metrics.document_calibration_error : One number for the curve of documents.
    sklearn.calibration.CalibrationDisplay : Documents alone.

    Notes
    -----
    Intervals are Wilson's, with quantiles of Student's t, for the number of independent
    observations that would have the variance of the mean of a bin between queries: documents of a
    query may depend on each other. Where queries do not vary, it is their number. A bin of one
    query has none. Labels are taken for shares of the largest.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import CalibratedRankerCV, NDCGRanker, load_digits_queries
    >>> from skcalrank.displays import ReliabilityDisplay
    >>> X, y, qid = load_digits_queries(n_queries=100, n_documents=20)
    >>> train = qid < 60
    >>> ranker = CalibratedRankerCV(NDCGRanker(), level=None).fit(X[train], y[train], qid[train])
    >>> display = ReliabilityDisplay.from_estimator(
    ...     ranker, X[~train], y[~train], qid=qid[~train], n_bins=5
    ... )
    >>> display.documents.counts
    array([160, 160, 160, 160, 160])
    >>> plt.show()
    """

    documents: Bins
    queries: Bins

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        interval_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the curves.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title of the axes.
        curve_kwargs : dict, default=None
            How matplotlib's ``plot`` draws documents and queries.
        interval_kwargs : dict, default=None
            How matplotlib's ``vlines`` draws what bins may have observed.

        Returns
        -------
        display : ReliabilityDisplay
        """
        curves = {"documents": self.documents, "queries": self.queries}
        means = [part for bins in curves.values() for part in bins[:2]]
        ax = self._open(ax, means, name, self.name)
        ends = [min(map(np.min, means)), max(map(np.max, means))]
        self.diagonal_ = draw_line(ax, ends, ends, None, color="gray", linestyle=":")
        self.lines_, self.intervals_ = [], []
        for (kind, bins), marker in zip(curves.items(), "o^"):
            label = f"{kind}, {spanned(bins.counts)} in a bin"
            line = draw_line(ax, *bins[:2], curve_kwargs, marker=marker, label=label)
            style = styled(
                "collections.LineCollection", interval_kwargs, color=line.get_color(), alpha=0.4
            )
            # matplotlib 3.7 warns of bins without an interval.
            known = [part[~np.isnan(bins.low)] for part in (bins.value, bins.low, bins.high)]
            intervals = ax.vlines(*known, **style)
            name_band(ax, intervals, f"95 % interval, {self.queries.counts.sum()} queries")
            self.lines_.append(line)
            self.intervals_.append(intervals)
        ax.set(xlabel="mean value", ylabel="mean observed")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Matrix,
        y: Labels,
        *,
        qid: ArrayLike | None = None,
        relevance_level: float | None = None,
        n_bins: int = 10,
        ax: Axes | None = None,
        name: str | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        interval_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the values of a fitted estimator, such as a CalibratedRankerCV.

        Parameters
        ----------
        estimator : fitted estimator
            Its ``predict`` returns values with a unit.
        X : array-like of shape (n_rows, d)
            Documents of queries that the estimator has not seen.
        y : array-like of shape (n_rows,)
            Relevances. May carry its queries.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        relevance_level : float, default=None
            Documents with labels of at least this level are relevant; grades and gains are observed
            as 1 and 0 then. If None, the level of a CalibratedRankerCV, whose `target` is observed:
            masses in the queries that have some. Of other estimators, labels as they are.
        n_bins : int, default=10
            Number of bins of documents, and of queries.
        ax, name, curve_kwargs, interval_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : ReliabilityDisplay
        """
        cls._check_support("from_estimator")
        qid = check.qid_of_metric(cls.__name__, y, qid, "y", X=X)
        labels, queries = check.target(y, qid)
        values = queries.group(np.asarray(predict_with_queries(estimator, X, qid)))
        ranker, target, level = ranker_in(estimator), "grade", relevance_level
        if isinstance(ranker, CalibratedRankerCV):
            target = ranker.target
            level = ranker.relevance_level if level is None else level
        if relevance_level is not None and target in ("grade", "gain"):
            target = "relevant"
        labels, counts = observed(target, Judged(queries, labels, values, level))
        judged = Judged(queries, labels, values).take(counts)
        display = cls(**_means(judged.labels, judged.scores, judged.queries, n_bins), name=name)
        return display.plot(ax, curve_kwargs=curve_kwargs, interval_kwargs=interval_kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_value: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        n_bins: int = 10,
        ax: Axes | None = None,
        name: str | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        interval_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot given values.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            What is observed: 0 and 1 for probabilities.
        y_value : array-like of shape (n_rows,)
            Values with the unit of `y_true`.
        qid, n_bins
            As in :meth:`from_estimator`.
        ax, name, curve_kwargs, interval_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : ReliabilityDisplay

        Raises
        ------
        ValueError
            If the arrays do not fit together.

        Warns
        -----
        OneQueryWarning
            If there are 20 rows or more and no queries.
        CutQueriesWarning
            If `y_true` carries its queries and rows of some of them are missing.
        """
        cls._check_support("from_predictions")
        qid = check.qid_of_metric(cls.__name__, y_true, qid, y_value=y_value)
        labels, queries = check.target(y_true, qid, name="y_true")
        display = cls(**_means(labels, y_value, queries, n_bins), name=name)
        return display.plot(ax, curve_kwargs=curve_kwargs, interval_kwargs=interval_kwargs)


def _means(labels: Floats, y_value: Any, queries: Queries, n_bins: int) -> dict[str, Any]:
    labels, values = checked_values(labels, y_value, n_bins)
    values = queries.group(values)
    numbers = np.arange(queries.n_queries)
    return {
        "documents": Bins.of(labels, values, n_bins, queries.repeat(numbers)),
        "queries": Bins.of(queries.mean(labels), queries.mean(values), n_bins, numbers),
    }


@dataclass(kw_only=True, eq=False, repr=False)
class CutoffDisplay(Display):
    """Plot of what a cut-off loses and keeps against what is promised, by size of query.

    A promise on average over queries can be broken for large queries and useless for small ones:
    this is where one sees it. Solid lines are losses, dashed ones the kept share of the documents.

    Use :meth:`from_estimator` to make a display.

    Parameters
    ----------
    name : str, default=None
        Title of the axes. If None, there is no title.
    alpha : ndarray of shape (n_alphas,)
        Mean loss that is promised.
    loss, kept : dict of str to ndarray of shape (n_alphas,)
        Mean loss, and mean share of the documents that is kept, by the name of a class of queries.

    Attributes
    ----------
    loss_lines_, kept_lines_ : list of matplotlib Line2D
        The curves.
    diagonal_ : matplotlib Line2D
        Where the loss is what is promised.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.GuaranteedCutoff : `groups` of its `fit` promise within categories of queries.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import GuaranteedCutoff, NDCGRanker, load_digits_queries
    >>> from skcalrank.displays import CutoffDisplay
    >>> X, y, qid = load_digits_queries(n_queries=160, n_documents=20)
    >>> train = qid < 80
    >>> cutoff = GuaranteedCutoff(NDCGRanker(), by="score").fit(X[train], y[train], qid[train])
    >>> display = CutoffDisplay.from_estimator(cutoff, X[~train], y[~train], qid=qid[~train])
    >>> bool((display.loss["all queries"] < display.alpha + 0.05).all())
    True
    >>> plt.show()
    """

    alpha: Floats
    loss: dict[str, Floats]
    kept: dict[str, Floats]

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        loss_kwargs: dict[str, Any] | None = None,
        kept_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the curves.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title of the axes.
        loss_kwargs, kept_kwargs : dict, default=None
            Style of the curves of losses, and of kept shares, for matplotlib's ``plot``.

        Returns
        -------
        display : CutoffDisplay
        """
        ax = self._open(ax, self.loss.values(), name, self.name)
        self.diagonal_ = draw_line(ax, self.alpha, self.alpha, None, color="gray", linestyle=":")
        self.loss_lines_, self.kept_lines_ = [], []
        for label, loss in self.loss.items():
            line = draw_line(ax, self.alpha, loss, loss_kwargs, label=literal(label), marker=".")
            style = {"color": line.get_color(), "linestyle": "--"}
            self.loss_lines_.append(line)
            kept = draw_line(ax, self.alpha, self.kept[label], kept_kwargs, **style)
            self.kept_lines_.append(kept)
        ax.set(xlabel="promised loss", ylabel="loss (solid), kept share (dashed)")
        ax.legend()
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: GuaranteedCutoff,
        X: Matrix,
        y: Labels,
        *,
        qid: ArrayLike | None = None,
        alpha: ArrayLike | None = None,
        n_sizes: int = 3,
        n_splits: int = 20,
        random_state: Seed = 0,
        ax: Axes | None = None,
        name: str | None = None,
        loss_kwargs: dict[str, Any] | None = None,
        kept_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot a fitted cut-off on further queries.

        For every value of `alpha` a threshold is calibrated on a random half of the queries, and
        applied to the others. Curves are means over several such halves, and over the queries that
        have something to lose.

        Parameters
        ----------
        estimator : fitted GuaranteedCutoff
            Its ranker, loss, confidence level and rule are used; any loss but "precision".
        X : array-like of shape (n_rows, d)
            Documents of queries that did not train the ranker.
        y : array-like of shape (n_rows,)
            Relevances. May carry its queries.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        alpha : array-like, default=None
            Mean losses that are promised. If None, .05, .1, ..., .5. Those for which half of the
            queries are too few are left out.
        n_sizes : int, default=3
            Number of classes of queries by their number of documents, beside all queries.
        n_splits : int, default=20
            Number of random halves.
        random_state : int, RandomState instance or None, default=0
            Seed of the halves.
        ax, name, loss_kwargs, kept_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : CutoffDisplay

        Raises
        ------
        ValueError
            If there are too few queries for all values of `alpha`, or one is not above 0 and
            below 1.
        """
        cls._check_support("from_estimator")
        check.count("n_sizes", n_sizes, "the number of classes of size")
        check.count("n_splits", n_splits, "the number of random halves")
        qid = check.qid_of_metric(cls.__name__, y, qid, "y", X=X)
        alpha = np.arange(1, 11) / 20 if alpha is None else alpha
        halves = on_halves(estimator, X, y, qid, alpha, n_splits, random_state)
        sizes = halves.sizes
        classes = {"all queries": np.ones(len(sizes), dtype=bool)}
        edges = np.unique(np.quantile(sizes, np.linspace(0, 1, n_sizes + 1), method="lower"))
        for low, high in pairwise(edges):
            last = high == edges[-1]
            inside = (sizes >= low) & (sizes < high + last)
            size = spanned((low, high - (not last)))
            classes[f"{size} document{'s' * (size != '1')}"] = inside
        display = cls(
            alpha=halves.alpha,
            loss={size: halves.loss[:, which].mean(axis=1) for size, which in classes.items()},
            kept={size: halves.kept[:, which].mean(axis=1) for size, which in classes.items()},
            name=name,
        )
        return display.plot(ax, loss_kwargs=loss_kwargs, kept_kwargs=kept_kwargs)
