"""Why a document stands before another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..data import Matrix, check_count
from ..inspection import Explanation, explain_order
from ._base import Display, drawn, styled


@dataclass(kw_only=True, eq=False, repr=False)
class ContributionDisplay(Display):
    """Bars of what each feature adds to a difference of two scores.

    Use :meth:`from_estimator` or :meth:`from_explanation` to make one.

    Parameters
    ----------
    explanation : Explanation
        See :func:`skcalrank.inspection.explain_order`.
    name : str, default=None
        Title of the axes; None = what is compared.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        A bar for each feature with a line of its own, largest at the top, and one for the rest.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.inspection.explain_order : The numbers.

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
    name: str | None = None

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        n_features: int = 10,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> ContributionDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title of the axes.
        n_features : int, default=10
            How many features have a bar of their own; the others share one, and so does the
            constant of two items.
        bar_kwargs : dict, default=None
            Style of the bars, for matplotlib's ``barh``. Without a color, bars for the
            first and bars against it have one each.
        """
        check_count("n_features", n_features)
        ax = self._open(ax)
        from matplotlib.patches import Rectangle

        labels, widths = self._bars(n_features)
        color = ["tab:blue" if width >= 0 else "tab:red" for width in widths]
        style = styled(Rectangle, bar_kwargs)
        if "facecolor" not in style:
            style.setdefault("color", color)
        places = range(len(widths), 0, -1)
        self.bars_ = ax.barh(places, widths, **style)
        ax.set_yticks(places, labels)
        ax.axvline(0.0, color="black", linewidth=0.8)
        found = self.explanation
        title = f"{found.first} against {found.second}: {found.total:+.3g}"
        given = self.name if name is None else name
        ax.set(xlabel="contribution to the difference of scores", title=given or title)
        return self

    def _bars(self, n_features):
        """What is written at each bar, and its length; from the top."""
        found, by_size = self.explanation, self.explanation.order()
        parts = found.contributions
        bars = [(str(found.feature_names[k]), parts[k]) for k in by_size[:n_features]]
        left = by_size[n_features:]
        if len(left):
            bars.append((f"{len(left)} others", parts[left].sum()))
        if found.constant:
            bars.append(("constant", found.constant))
        return zip(*bars)

    @classmethod
    @drawn(plot, options_of=explain_order)
    def from_estimator(
        cls,
        estimator: Any,
        X: Matrix,
        first: int,
        second: int | None = None,
        *,
        name: str | None = None,
        **options: Any,
    ) -> ContributionDisplay:
        """Explain an order of a fitted ranker, and draw it.

        Parameters
        ----------
        estimator, X, first, second, qid, instance, feature_names
            As in :func:`skcalrank.inspection.explain_order`, whose ``ranker`` is the estimator.
        ax, name, n_features, bar_kwargs
            As in :meth:`plot`.
        """
        return cls(explanation=explain_order(estimator, X, first, second, **options), name=name)

    @classmethod
    @drawn(plot)
    def from_explanation(
        cls, explanation: Explanation, *, name: str | None = None
    ) -> ContributionDisplay:
        """Draw an explanation.

        Parameters
        ----------
        explanation : Explanation
        ax, name, n_features, bar_kwargs
            As in :meth:`plot`.
        """
        return cls(explanation=explanation, name=name)
