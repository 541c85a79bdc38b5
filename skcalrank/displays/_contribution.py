"""Bar plots of the contributions of features: to the order of two documents, and to scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns import texts
from ..columns.types import ArrayLike, Axes, Estimator, Floats, Matrix, Self
from ..data import check
from ..inspection import Explanation, ScoreExplanation, explain_order, explain_scores
from ._base import Display, literal, styled


@dataclass(kw_only=True, eq=False, repr=False)
class ContributionDisplay(Display):
    """Bar plot of the contribution of each feature to the difference of two scores.

    Use :meth:`from_estimator` or :meth:`from_explanation` to make a display.

    Parameters
    ----------
    name : str, default=None
        Title of the axes. If None, the two rows or items and the difference of their scores.
    explanation : Explanation
        Returned by :func:`skcalrank.inspection.explain_order`.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        One bar for each of the largest contributions, from the top, and one for the sum of the
        others.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.inspection.explain_order : The contributions as numbers.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.displays import ContributionDisplay
    >>> X, y, qid = load_digits_queries(n_queries=50)
    >>> ranker = NDCGRanker(k=10).fit(X, y, qid)
    >>> display = ContributionDisplay.from_estimator(ranker, X, 3, qid=qid, n_features=5)
    >>> len(display.bars_)
    6
    >>> plt.show()
    """

    explanation: Explanation

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        n_features: int = 10,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the bars.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title of the axes.
        n_features : int, default=10
            Number of features with their own bar. The others share one; the constant, if there is
            one, has its own.
        bar_kwargs : dict, default=None
            Style of the bars, for matplotlib's ``barh``. By default, positive bars are blue and
            negative bars red.

        Returns
        -------
        display : ContributionDisplay
        """
        check.count("n_features", n_features)
        self._check_support("plot")
        order = self.explanation
        title = literal(f"{order.first} against {order.second}: {order.total:+.3g}")
        ax = self._open(ax, [order.contributions], name, self.name, title)
        labels, widths = self._bars(n_features)
        color = ["tab:blue" if width >= 0 else "tab:red" for width in widths]
        style = styled("patches.Rectangle", bar_kwargs, tick_label=labels)
        if "facecolor" not in style:
            style.setdefault("color", color)
        self.bars_ = ax.barh(range(len(widths), 0, -1), widths, **style)
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("contribution to the difference of scores")
        return self

    def _bars(self, n_features: int) -> Any:
        """Return labels and lengths of the bars, from top to bottom."""
        explanation, by_size = self.explanation, self.explanation.order()
        widths, others = explanation.contributions, by_size[n_features:]
        bars = [(literal(explanation.feature_names[k]), widths[k]) for k in by_size[:n_features]]
        if len(others):
            bars.append((texts.others(len(others)), widths[others].sum()))
        if explanation.constant:
            bars.append(("constant", explanation.constant))
        return zip(*bars)

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Matrix,
        first: Any,
        second: Any = None,
        *,
        qid: ArrayLike | None = None,
        instance: Any = None,
        feature_names: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        n_features: int = 10,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Explain the order of two documents by a fitted ranker, and plot it.

        Parameters
        ----------
        estimator, X, first, second, qid, instance, feature_names
            As in :func:`skcalrank.inspection.explain_order`, which calls the estimator `ranker`.
        ax, name, n_features, bar_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : ContributionDisplay
        """
        cls._check_support("from_estimator")
        explanation = explain_order(
            estimator, X, first, second, qid=qid, instance=instance, feature_names=feature_names
        )
        return cls.from_explanation(
            explanation, ax=ax, name=name, n_features=n_features, bar_kwargs=bar_kwargs
        )

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        n_features: int = 10,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot an explanation.

        Parameters
        ----------
        explanation : Explanation
            Returned by :func:`skcalrank.inspection.explain_order`.
        ax, name, n_features, bar_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : ContributionDisplay
        """
        cls._check_support("from_explanation")
        display = cls(explanation=explanation, name=name)
        return display.plot(ax, n_features=n_features, bar_kwargs=bar_kwargs)


@dataclass(kw_only=True, eq=False, repr=False)
class ImportanceDisplay(Display):
    """Bar plot of how much each feature moves the scores of documents within their queries.

    The importance of a feature is the mean absolute value of its contributions, in the unit of the
    score. Use :meth:`from_estimator` or :meth:`from_explanation` to make a display.

    Parameters
    ----------
    name : str, default=None
        Title of the axes.
    importances : ndarray of shape (d,)
        Mean absolute contribution of each feature.
    feature_names : array-like of str of shape (d,)
        Names of the features.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        One bar for each of the largest importances, from the top.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.inspection.explain_scores : The contributions as numbers.
    TopContributionsDisplay : The contributions to the scores of one query.
    sklearn.inspection.permutation_importance : Loss of the measure if a feature is shuffled.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.displays import ImportanceDisplay
    >>> X, y, qid = load_digits_queries(n_queries=50)
    >>> ranker = NDCGRanker(k=10).fit(X, y, qid)
    >>> display = ImportanceDisplay.from_estimator(ranker, X, qid, n_features=5)
    >>> len(display.bars_)
    5
    >>> plt.show()
    """

    importances: Floats
    feature_names: ArrayLike

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        n_features: int = 20,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the bars.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title of the axes.
        n_features : int, default=20
            Number of features with a bar, those of the largest importance.
        bar_kwargs : dict, default=None
            Style of the bars, for matplotlib's ``barh``, such as ``{"color": "gray"}``.

        Returns
        -------
        display : ImportanceDisplay
        """
        check.count("n_features", n_features)
        ax = self._open(ax, [self.importances], name, self.name)
        shown = np.argsort(-self.importances, kind="stable")[:n_features]
        names = np.asarray(self.feature_names, dtype=object)[shown]
        style = styled("patches.Rectangle", bar_kwargs, tick_label=list(map(literal, names)))
        self.bars_ = ax.barh(range(len(shown), 0, -1), self.importances[shown], **style)
        left = len(self.importances) - len(shown)
        others = f"\nnot shown: {texts.others(left)}" if left else ""
        ax.set_xlabel(f"mean absolute contribution to the score{others}")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Matrix,
        qid: ArrayLike | None = None,
        *,
        feature_names: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        n_features: int = 20,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Compute the contributions of the features to the scores of rows, and plot their means.

        Parameters
        ----------
        estimator, X, qid, feature_names
            As in :func:`skcalrank.inspection.explain_scores`, which calls the estimator `ranker`.
        ax, n_features, bar_kwargs
            As in :meth:`plot`.
        name : str, default=None
            Title. If None, the class of the ranker.

        Returns
        -------
        display : ImportanceDisplay
        """
        cls._check_support("from_estimator")
        explanation = explain_scores(estimator, X, qid, feature_names=feature_names)
        name = type(estimator).__name__ if name is None else name
        return cls.from_explanation(
            explanation, ax=ax, name=name, n_features=n_features, bar_kwargs=bar_kwargs
        )

    @classmethod
    def from_explanation(
        cls,
        explanation: ScoreExplanation,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        n_features: int = 20,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the means of contributions.

        Parameters
        ----------
        explanation : ScoreExplanation
            Returned by :func:`skcalrank.inspection.explain_scores`.
        ax, name, n_features, bar_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        cls._check_support("from_explanation")
        importances, names = explanation.importances, explanation.feature_names
        display = cls(importances=importances, feature_names=names, name=name)
        return display.plot(ax, n_features=n_features, bar_kwargs=bar_kwargs)
