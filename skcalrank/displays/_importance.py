"""Plot of the importances of features."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns import texts
from ..columns.types import ArrayLike, Axes, Estimator, Floats, Matrix, Self
from ..data import check
from ..inspection import ScoreExplanation, explain_scores
from ._base import Display, handing_on_to, literal, styled


@dataclass(kw_only=True, eq=False, repr=False)
class ImportanceDisplay(Display):
    """Bar plot of how much each feature moves the scores of documents within their queries.

    The importance of a feature is the mean absolute value of its contributions, in the unit of the
    score. Use :meth:`from_estimator` or :meth:`from_explanation` to make a display.

    Parameters
    ----------
    importances : ndarray of shape (d,)
        Mean absolute contribution of each feature.
    feature_names : array-like of str of shape (d,)
        Names of the features.
    name : str, default=None
        Title of the axes.

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
    name: str | None = None

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
        from matplotlib.patches import Rectangle

        shown = np.argsort(-self.importances, kind="stable")[:n_features]
        names = np.asarray(self.feature_names, dtype=object)[shown]
        places = range(len(shown), 0, -1)
        self.bars_ = ax.barh(places, self.importances[shown], **styled(Rectangle, bar_kwargs))
        ax.set_yticks(places, [literal(feature) for feature in names])
        left = len(self.importances) - len(shown)
        others = f"\nnot shown: {texts.others(left)}" if left else ""
        ax.set_xlabel(f"mean absolute contribution to the score{others}")
        return self

    @classmethod
    @handing_on_to(plot)
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Matrix,
        qid: ArrayLike | None = None,
        *,
        feature_names: ArrayLike | None = None,
        name: str | None = None,
        **style: Any,
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
        explanation = explain_scores(estimator, X, qid, feature_names=feature_names)
        name = type(estimator).__name__ if name is None else name
        return cls.from_explanation(explanation, name=name, **style)

    @classmethod
    @handing_on_to(plot)
    def from_explanation(
        cls, explanation: ScoreExplanation, *, name: str | None = None, **style: Any
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
        importances, names = explanation.importances, explanation.feature_names
        return cls(importances=importances, feature_names=names, name=name).plot(**style)
