"""Plot of a leaderboard: scores with intervals, and the sets of ranks beside them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns.types import Axes, Floats, Self
from ._base import IntervalDisplay, literal, spanned


@dataclass(kw_only=True, eq=False, repr=False)
class LeaderboardDisplay(IntervalDisplay):
    """Plot of the scores of a leaderboard with intervals, and rank sets in the margin.

    Use :meth:`from_leaderboard` to make a display. Overlapping intervals do not say that ranks are
    open: the rank sets do.

    Parameters
    ----------
    name : str, default=None
        Title. If None, there is no title.
    interval_name : str, default=None
        Level, sample and kind of the intervals, for the legend. If None, there is no legend.
    items : list of str
        Names of the items, from top to bottom.
    score, low, high : ndarray of shape (n_items,)
        Scores, and the ends of their intervals.
    rank_sets : list of str, default=None
        Text beside each item. If None, there is none.
    score_name : str, default="score"
        Label of the axis.

    Attributes
    ----------
    points_ : matplotlib Line2D
        The scores.
    intervals_ : matplotlib LineCollection
        The intervals.
    ranks_ : list of matplotlib Text
        The rank sets.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.evaluation.leaderboard : Makes a leaderboard of votes.
    skcalrank.evaluation.rank_sets : Makes a leaderboard of tasks and systems.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank.displays import LeaderboardDisplay
    >>> from skcalrank.evaluation import rank_sets
    >>> board = rank_sets([[0.7, 0.4], [0.6, 0.5], [0.9, 0.6], [0.8, 0.5], [0.7, 0.3]])
    >>> display = LeaderboardDisplay.from_leaderboard(board)
    >>> display.rank_sets
    ['1', '2']
    >>> plt.show()
    """

    _drawn = "items", "score"
    items: list[str]
    score: Floats
    rank_sets: list[str] | None = None
    score_name: str = "score"

    def _label(self, ax: Any) -> None:
        ax.set_xlabel(literal(self.score_name))
        self.ranks_ = [
            ax.text(1.01, place, text, va="center", transform=ax.get_yaxis_transform())
            for place, text in enumerate(self.rank_sets or [])
        ]

    @classmethod
    def from_leaderboard(
        cls,
        leaderboard: Any,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        point_kwargs: dict[str, Any] | None = None,
        interval_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot a leaderboard; items without a score are left out.

        Parameters
        ----------
        leaderboard : Leaderboard
            Returned by :func:`skcalrank.evaluation.leaderboard` or
            :func:`skcalrank.evaluation.rank_sets`.
        ax, point_kwargs, interval_kwargs
            As in :meth:`plot`.
        name : str, default=None
            Title. If None, there is no title.

        Returns
        -------
        display : LeaderboardDisplay
        """
        cls._check_support("from_leaderboard")
        of, is_scored = leaderboard.columns, ~np.isnan(leaderboard.scores)
        ends = zip(of["rank_low"][is_scored], of["rank_high"][is_scored])
        level = f"{100 * leaderboard.confidence_level:g} %"
        display = cls(
            items=of["item"][is_scored].tolist(),
            **{name: of[name][is_scored] for name in ("score", "low", "high")},
            rank_sets=None if leaderboard.above is None else list(map(spanned, ends)),
            score_name="mean" if leaderboard.scale == "mean" else f"score ({leaderboard.scale})",
            interval_name=f"{level} interval, {leaderboard.sample}",
            name=name,
        )
        return display.plot(ax, point_kwargs=point_kwargs, interval_kwargs=interval_kwargs)
