"""Leaderboards: scores of items with errors, and ranks that hold for all items at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import stats
from scipy.special import expit
from sklearn.utils import check_random_state

from ..columns import arrays, by_hash, hash_names, tables
from ..columns.types import Array, ArrayLike, Axes, Bools, Floats, Ints, Seed
from ..data import check, warn
from ._board_fit import Ballots, BoardFit, table_of_votes
from ._rank_frame import pandas_for
from ._rank_sets import Ranks, gap_errors, gap_errors_of_means, told_apart_by_signs
from ._statistics import Moments, unit_of
from ._strengths import MOST_DENSE
from ._table import Cell, Table

# Share of the largest value that is rounding, beside that of a logit.
_ROUNDED = 1e-5

# A covariance is NaN if the square of its unit is not above this, or overflows.
_LEAST_SQUARE = 1e-280

# Points and offset of a score.
SCALES = {"logit": (1.0, 0.0), "elo": (400 / np.log(10), 1000.0)}


class ScoreDifference(NamedTuple):
    """Difference of two scores of a :class:`Leaderboard`, with its interval and test.

    Parameters
    ----------
    difference, low, high : float
        Difference in the scale of the scores, and the ends of its interval, which holds for this
        pair alone; NaN where the difference does not vary.
    p : float
        p-value of no difference, of this pair alone. Without an interval it is NaN, or 1 if the two
        are equal.
    probability : float
        Probability that the first item wins, with a tie as half of a win, or with
        ``ties="davidson"`` without ties; NaN without votes.
    separated : bool or None
        Whether the rank sets, which hold for all pairs at once, tell the two apart, for which the
        interval must exclude 0; None without.
    """

    difference: float
    low: float
    high: float
    p: float
    probability: float
    separated: bool | None


@dataclass(kw_only=True, eq=False, repr=False)
class Leaderboard:
    """Scores and ranks of items, as :func:`leaderboard` and :func:`rank_sets` return them.

    Parameters
    ----------
    columns : dict of ndarray
        Columns of :meth:`to_frame`, best items first.
    covariance : ndarray of shape (n_items, n_items) or None
        Covariance of the scores, in the order of the items; NaN where it is not known, or where
        squares of the scores are outside the range of double precision. None above 2,000 items, of
        which no matrix is made.
    gap_errors : ndarray of shape (n_items, n_items) or None
        Standard errors of the differences of scores, in the order of the items; 0 of differences
        that do not vary. None without `covariance`.
    estimates : list of tuple
        Rows of `coefficients`.
    notes : list of str
        What a reader must know of the votes; captions of tables hold it.
    confidence_level : float
        Level of intervals, and of all rank sets together.
    scale : {"logit", "elo", "mean"}
        Unit of the scores; "mean" of :func:`rank_sets`.
    sample : str
        What the scores were estimated from, for captions.
    freedom : ndarray of shape (n_items,)
        Degrees of freedom of Student's t.
    above : ndarray of bool of shape (n_items, n_items) or None
        Which item is certainly above which; None without rank sets.
    fit : object, default=None
        What gives errors of differences where there are no `gap_errors`.

    See Also
    --------
    skcalrank.displays.LeaderboardDisplay : Plot of a leaderboard.

    Examples
    --------
    >>> from skcalrank.evaluation import rank_sets
    >>> values = [[0.7, 0.4], [0.6, 0.5], [0.9, 0.6], [0.8, 0.5], [0.7, 0.3], [0.8, 0.6]]
    >>> board = rank_sets(values)
    >>> board
    Leaderboard(2 items, 6 tasks)
    >>> board.items
    ['0', '1']
    >>> board.difference("0", "1").separated
    True
    """

    columns: dict[str, Array]
    covariance: Floats | None
    gap_errors: Floats | None
    estimates: list[tuple[str, float, float, float, float]]
    notes: list[str]
    confidence_level: float
    scale: str
    sample: str
    freedom: Floats
    above: Bools | None
    fit: Any = None

    def __repr__(self) -> str:
        return f"Leaderboard({len(self.items)} items, {self.sample})"

    @property
    def items(self) -> list[str]:
        """Names of the items, best first within a group; those without a score are last."""
        return self.columns["item"].tolist()

    @property
    def scores(self) -> Floats:
        """Scores of the items, shape (n_items,)."""
        return self.columns["score"]

    @property
    def coefficients(self) -> Any:
        """Coefficients of covariates as a pandas DataFrame: name, value, error, low, high.

        They are in the scale of the scores. With ``ties="davidson"`` the last, "ties", is the
        logarithm of nu, which has no scale.
        """
        names = ["name", "value", "error", "low", "high"]
        return pandas_for("Leaderboard.coefficients").DataFrame(self.estimates, columns=names)

    def to_frame(self) -> Any:
        """Return a row for each item as a pandas DataFrame, best first.

        Returns
        -------
        frame : DataFrame
            With columns ``item``, ``rank`` (within the group), ``rank_low``, ``rank_high`` (the
            best and the worst rank that the votes allow, for all items at once), ``score``,
            ``low``, ``high``, ``error``, ``n_votes``, ``n_clusters`` (of votes within the group),
            ``group`` and ``note``.
            Without a score, interval or rank, cells are missing.
        """
        frame = pandas_for("Leaderboard.to_frame").DataFrame(self.columns)
        return frame.astype(dict.fromkeys(["rank", "rank_low", "rank_high"], "Int64"))

    def difference(self, a: str, b: str) -> ScoreDifference:
        """Return the difference of the scores of two items, with its interval and test.

        Parameters
        ----------
        a, b : str
            Two of `items`, of one group; the score of `b` is subtracted.

        Returns
        -------
        difference : ScoreDifference
            ``difference``, ``low``, ``high``, ``p`` (of no difference, of this pair alone),
            ``probability``, ``separated`` (by the rank sets, which hold for all pairs at once).

        Raises
        ------
        ValueError
            If an item is unknown or has no score, or the two are of different groups.
        """
        items, group = self.items, self.columns["group"]
        check.option("a", a, items)
        check.option("b", b, [item for item in items if item != a])
        i, j = items.index(a), items.index(b)
        if np.isnan(self.scores[[i, j]]).any() or group[i] != group[j]:
            raise ValueError(
                f"a and b must be items of one group that have scores, got {a!r} of group "
                f"{group[i]} and {b!r} of group {group[j]}: no chain of wins and ties leads both "
                "ways between them."
            )
        points = SCALES[self.scale][0] if self.scale in SCALES else np.nan
        if self.gap_errors is None:
            error = points * np.sqrt(self.fit.variance_of(a, b))
        else:
            error = self.gap_errors[i, j]
        gap, divisor = float(self.scores[i]) - float(self.scores[j]), float(error) or np.nan
        reach = float(stats.t.isf((1 - self.confidence_level) / 2, self.freedom[i])) * divisor
        p = 2 * stats.t.sf(abs(gap) / divisor, self.freedom[i])
        if not error and self.columns["rank"][i] == self.columns["rank"][j]:
            p = 1.0
        separated = None if self.above is None else bool(self.above[i, j] or self.above[j, i])
        probability = float(expit(gap / points))
        return ScoreDifference(gap, gap - reach, gap + reach, float(p), probability, separated)

    def caption(self) -> str:
        """Return a caption for a table: unit, sample, level, and what a reader must know.

        Returns
        -------
        caption : str
        """
        level = f"{100 * self.confidence_level:g} %"
        sets = "" if self.above is None else f"; ranks hold for all items at once at {level}"
        unit = "Means" if self.scale == "mean" else f"Bradley-Terry scores ({self.scale})"
        return " ".join([f"{unit} of {self.sample}, with {level} intervals{sets}.", *self.notes])

    def table(self, digits: int = 2) -> Table:
        """Return the table that all formats write, without columns that tell nothing.

        Parameters
        ----------
        digits : int, default=2
            Number of decimals.

        Returns
        -------
        table : Table
            With the method ``to_text`` for a terminal.
        """
        check.count("digits", digits, least=0)
        counted = "values" if self.scale == "mean" else "votes"
        heads = ["item", "rank", "rank set", "score", counted]
        shown = [name for name in ("group", "note") if len({*self.columns[name]}) > 1]
        rows = []
        for values in zip(*self.columns.values()):
            of = dict(zip(self.columns, values))
            score, low, high = (f"{of[name]:.{digits}f}" for name in ("score", "low", "high"))
            first, last = f"{of['rank_low']:.0f}", f"{of['rank_high']:.0f}"
            numbers = [
                f"{of['rank']:.0f}",
                first if first == last else f"{first} to {last}",
                score,
                *(str(of[name]) for name in ("n_votes", *shown)),
            ]
            cells = [Cell("-" if number == "nan" else number) for number in numbers]
            if low != "nan":
                cells[2] = cells[2]._replace(interval=f"[{low}, {high}]")
            rows.append((of["item"], cells))
        return Table([*heads, *shown], rows, self.caption())

    def __str__(self) -> str:
        return self.to_markdown()

    def to_markdown(self, *, digits: int = 2) -> str:
        """Return a table in Markdown, best items first.

        Parameters
        ----------
        digits : int, default=2
            Number of decimals.

        Returns
        -------
        text : str
        """
        return self.table(digits).to_markdown()

    def to_latex(self, *, digits: int = 2) -> str:
        """Return the table in LaTeX, which needs the package booktabs.

        Parameters
        ----------
        digits : int, default=2
            Number of decimals.

        Returns
        -------
        text : str
        """
        return self.table(digits).to_latex()

    def to_html(self, *, digits: int = 2) -> str:
        """Return the table in HTML, the form shown in notebooks.

        Parameters
        ----------
        digits : int, default=2
            Number of decimals.

        Returns
        -------
        text : str
        """
        return self.table(digits).to_html()

    _repr_html_ = to_html

    def plot(self, *, ax: Axes | None = None, **style: Any) -> Any:
        """Plot scores with intervals, and the rank sets in the margin.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on. If None, new axes are made.
        **style
            Passed to the ``plot`` method of the display.

        Returns
        -------
        display : LeaderboardDisplay
            A display of :mod:`skcalrank.displays`.
        """
        from ..displays import LeaderboardDisplay

        return LeaderboardDisplay.from_leaderboard(self, ax=ax, **style)


def leaderboard(
    votes: Any,
    *,
    a: str = "model_a",
    b: str = "model_b",
    outcome: str = "winner",
    covariates: Iterable[str] = (),
    order_effect: bool = False,
    cluster: str | None = None,
    weight: str | None = None,
    ties: str = "half",
    outcomes: Mapping[Any, str] | None = None,
    anchor: str | None = None,
    scale: str = "logit",
    confidence_level: float = 0.95,
    random_state: Seed = 0,
) -> Leaderboard:
    r"""Rank items by votes between two of them, with intervals and ranks that hold for all at once.

    Use it for language models, players and products that people compare in pairs, where a table is
    the result. To train a ranker on comparisons of documents, use
    :class:`~skcalrank.AggregatedRanker`. Leaderboards are provisional: names may change between
    minor versions. The model is Bradley-Terry's, by maximum likelihood, with covariates:

    .. math:: \eta = s_a - s_b + z^\top \beta, \qquad
        P(a) : P(\mathrm{tie}) : P(b) = e^\eta : \nu e^{\eta/2} : 1

    Parameters
    ----------
    votes : DataFrame of pandas or polars, Table of pyarrow, str or Path
        One row for each vote; repeated rows are several votes. A path is that of a table, such as
        ``"votes.parquet"``; items, outcomes and clusters of CSV are text, as they are written.
    a : str, default="model_a"
        Column of the names of the first items.
    b : str, default="model_b"
        Column of the names of the second items.
    outcome : str, default="winner"
        Column of who won: "model_a", "a", "left", 1 or True; "model_b", "b", "right", 0 or False;
        "tie", "draw", "tie (bothbad)", "both_bad" or 0.5; or the name of the winner.
    covariates : list of str, default=()
        Columns of differences a minus b, such as that of the lengths of two answers. They are not
        penalized; scores are those of two items with differences of 0.
    order_effect : bool, default=False
        Whether the first item may have an advantage, as in the covariate 1. If False it is tested,
        and at p < .001 there is a note.
    cluster : str, default=None
        Column of who votes. Votes of one voter count as dependent. If None, all votes are
        independent.
    weight : str, default=None
        Column of weights. If None, all are 1. A factor of all weights changes nothing, and a vote
        of weight 0 is left out.
    ties : {"half", "davidson"}, default="half"
        "half": a tie is half of a win of both, as in Elo and arenas. "davidson": ties have the
        probability above, with :math:`\nu` estimated [1]_. The order is nearly the same; "half"
        makes differences of scores smaller where ties are many.
    outcomes : dict, default=None
        What other words of `outcome` mean, as ``{"left wins": "a", "none": "tie"}``, of "a", "b"
        and "tie". Capitals do not matter, unless two of these words differ by them alone.
    anchor : str, default=None
        Item of two clusters or more whose score is 0, without an error. If None, the mean of the
        scores, weighted by votes, is 0. Differences and ranks do not depend on it.
    scale : {"logit", "elo"}, default="logit"
        Unit of scores and coefficients. "elo": 400 / ln 10 points for a logit, and 1,000 for 0.
    confidence_level : float, default=0.95
        Level of intervals, and of all rank sets together.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws of rank sets, and above 2,000 items of errors, which then depend on the
        order of the votes.

    Returns
    -------
    board : Leaderboard

    Raises
    ------
    ValueError
        If no two items have each lost to, or tied with, the other (by a chain of others); all
        votes are ties; they are of one cluster; a column is missing, lacks a value or holds an
        unknown outcome; a covariate is 0, collinear, a difference of a number of each item, or
        decides votes.

    Warns
    -----
    UserWarning
        If items have no finite score, as one that has won all its votes, or have never met: the
        former are listed last, and groups are ranked apart. If votes tell as much as fewer than
        five clusters of equal weight.

    See Also
    --------
    rank_sets : The same for a table of tasks and systems.
    skcalrank.aggregation.bradley_terry : Scores of many queries at once, with a penalty.

    Notes
    -----
    Errors are those of scores of the likelihood, summed by cluster, whose entries are divided by 1
    minus the share of the cluster in the curvature, with Student's t of :math:`(\sum w)^2 / \sum
    w^2 - 1` degrees of freedom for clusters of weights w. They hold where the model does not, with
    ties and with repeated judges. Items of fewer than ten clusters take the larger of this variance
    and that of the curvature; an item of one cluster has no interval, and any rank.

    An item is certainly above another if a stepdown over all ordered pairs says so, with
    probability .05 of any error [2]_, [3]_; the rank set of an item counts these. Overlapping
    intervals tell neither that two items are level nor that they are not.

    Above 2,000 items no matrix of all is made: errors are estimated from 640 random signs of the
    scores of clusters, and ranks have no sets.

    References
    ----------
    .. [1] Davidson: On extending the Bradley-Terry model to accommodate ties in paired comparison
       experiments, JASA 65, 1970.
    .. [2] Romano, Shaikh and Wolf: A practical two-step method for testing moment inequalities,
       Econometrica 82, 2014.
    .. [3] Mogstad, Romano, Shaikh and Wilhelm: Inference for ranks with applications to mobility
       across neighbourhoods and academic achievement across countries, Review of Economic Studies
       91, 2024.

    Examples
    --------
    >>> from pandas import DataFrame
    >>> from skcalrank import leaderboard
    >>> rows = [("x", "y", "model_a")] * 30 + [("x", "y", "model_b")] * 10
    >>> rows += [("y", "z", "tie")] * 10 + [("y", "z", "model_b")] * 24
    >>> rows += [("x", "z", "model_a")] * 21 + [("x", "z", "model_b")] * 19
    >>> votes = DataFrame(rows, columns=["model_a", "model_b", "winner"])
    >>> board = leaderboard(votes)
    >>> print(board.to_frame()[["item", "rank", "rank_low", "rank_high", "score"]].round(2))
      item  rank  rank_low  rank_high  score
    0    z     1         1          2   0.48
    1    x     2         1          2   0.41
    2    y     3         3          3  -0.93
    >>> round(board.difference("z", "y").probability, 2)
    0.8
    """
    check.option("ties", ties, ("half", "davidson"))
    check.option("scale", scale, SCALES)
    check.share("confidence_level", confidence_level)
    if isinstance(covariates, str) or not isinstance(covariates, Iterable):
        raise ValueError(
            f"covariates must be a list of columns, such as ['length'], got {covariates!r}."
        )
    columns = [*covariates]
    named = [("a", a), ("b", b), ("outcome", outcome), *(("covariates", of) for of in columns)]
    named += [(of, name) for of, name in (("cluster", cluster), ("weight", weight)) if name]
    table = table_of_votes(votes, named)
    words, rng = (a, b, outcome, outcomes), _generator(random_state)
    ballots = Ballots.read(table, words, columns, bool(order_effect), cluster, weight)
    fit = BoardFit.of(ballots, ties == "davidson", anchor, rng)
    scores, group = fit.theta[: len(ballots.group)], ballots.group
    known = ~np.isnan(fit.variance[: len(group)])
    ranks = Ranks.of(scores, group, known, fit.apart(1 - confidence_level, rng))
    of_items = fit.notes()
    notes = [*fit.troubles(of_items), *fit.about_order(a, b, order_effect)]
    if ranks.above is None:
        notes.append(f"Above {MOST_DENSE:,} items ranks have no sets.")
    by = "" if cluster is None else f" in {fit.total:,} clusters ({cluster})"
    return _board(
        {"item": ballots.votes.items, "score": scores},
        ranks,
        np.sqrt(fit.variance[: len(group)]),
        fit.freedom,
        {"n_votes": ballots.n_votes(), "n_clusters": fit.n_clusters, "group": group + 1},
        of_items,
        covariance=fit.covariance,
        gap_errors=None if fit.covariance is None else gap_errors(fit.covariance),
        unit=SCALES[scale],
        estimates=fit.estimates(SCALES[scale][0], confidence_level),
        notes=notes,
        confidence_level=confidence_level,
        scale=scale,
        sample=f"{len(ballots.weight):,} votes{by}",
        fit=fit if fit.covariance is None else None,
    )


def _board(
    scored: dict[str, Array],
    ranks: Ranks,
    error: Floats,
    freedom: Floats,
    counts: dict[str, Ints],
    notes_of_items: Any,
    *,
    covariance: Floats | None,
    gap_errors: Floats | None,
    unit: tuple[float, float],
    confidence_level: float,
    **others: Any,
) -> Leaderboard:
    """Return a leaderboard, with the best items of each group first.

    `unit` is what scores, errors and covariances are multiplied by, and what is added to scores.
    """
    (factor, offset), score, group = unit, scored["score"], counts["group"]
    order = np.lexsort((-score, group))
    reach = stats.t.isf((1 - confidence_level) / 2, freedom) * error
    with np.errstate(over="ignore"):
        columns = {
            "item": scored["item"],
            "rank": ranks.rank,
            "rank_low": ranks.low,
            "rank_high": ranks.high,
            "score": offset + factor * score,
            "low": offset + factor * (score - reach),
            "high": offset + factor * (score + reach),
            "error": factor * error,
            **counts,
            "note": np.array(notes_of_items, dtype=object),
        }
        of_covariance = np.square(factor)
        gap_errors = None if gap_errors is None else factor * gap_errors
    if not _LEAST_SQUARE < of_covariance < np.inf:
        of_covariance = np.nan
    square = np.ix_(order, order)
    return Leaderboard(
        columns={name: values[order] for name, values in columns.items()},
        covariance=None if covariance is None else of_covariance * covariance[square],
        gap_errors=None if gap_errors is None else gap_errors[square],
        above=None if ranks.above is None else ranks.above[square],
        freedom=freedom[order],
        confidence_level=confidence_level,
        **others,
    )


def rank_sets(
    values: ArrayLike, *, confidence_level: float = 0.95, random_state: Seed = 0
) -> Leaderboard:
    """Rank systems by a table of tasks, with ranks that hold for all systems at once.

    Use it for benchmarks: scores of models on tasks, of rankers on queries.

    Parameters
    ----------
    values : array-like of shape (n_tasks, n_systems)
        Scores, higher is better; the columns of a DataFrame name the systems.
    confidence_level : float, default=0.95
        Level of intervals, and of all rank sets together.
    random_state : int, RandomState instance or None, default=0
        Seed of the sign changes, which are drawn for the index of a DataFrame of pandas; in other
        tables for the numbers of the rows.

    Returns
    -------
    board : Leaderboard
        With the means of the systems as scores.

    Raises
    ------
    ValueError
        If there are fewer than two tasks or systems, or a value is missing.

    Warns
    -----
    UserWarning
        If two systems differ by the same number on all tasks, up to 1e-12 of the values: they are
        not told apart, and their interval is NaN, as that of a t-test.

    See Also
    --------
    leaderboard : Rank items by votes.
    Comparison.rank_sets : The same for the queries of a comparison.

    Notes
    -----
    Paired t-tests of all pairs are compared with the largest t of all under 2,000 random changes
    of the signs of the centered rows, with which errors are computed anew; with few tasks for the
    level, such as 8 at .95, also with Bonferroni's bound. Tasks count as independent draws from
    those of interest.

    Examples
    --------
    >>> from pandas import DataFrame
    >>> from skcalrank.evaluation import rank_sets
    >>> a, b, c = [0.5, 0.6, 0.4, 0.7, 0.6, 0.5], [0.4, 0.7, 0.4, 0.6, 0.6, 0.4], [0.2] * 6
    >>> board = rank_sets(DataFrame({"a": a, "b": b, "c": c}))
    >>> board.to_frame()[["item", "rank", "rank_low", "rank_high"]]
      item  rank  rank_low  rank_high
    0    a     1         1          2
    1    b     2         1          2
    2    c     3         3          3
    """
    check.share("confidence_level", confidence_level)
    matrix = arrays.numbers(values, "values")
    names = tables.column_names(values) or range(matrix.shape[-1] if matrix.ndim else 0)
    if hasattr(values, "iloc"):
        matrix = matrix[by_hash(hash_names(cast(Any, values).index))]
    return rank_values(matrix, names, "tasks", confidence_level, random_state)


def rank_values(
    matrix: Floats, names: Iterable[Any], unit: str, level: float, random_state: Seed = 0
) -> Leaderboard:
    """Return a leaderboard of the columns of a matrix, whose rows are tasks or queries."""
    if matrix.ndim != 2 or min(matrix.shape) < 2:
        raise ValueError(
            f"values must be a table of two {unit} (rows) and two systems (columns) at least, got "
            f"shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"values must be finite, got {matrix[row, column]} in row {row}, column {column}: "
            "leave out the tasks that a system lacks, or the system."
        )
    n, m = matrix.shape
    items = list(map(str, names))
    if len({*items}) < m:
        raise ValueError(f"Systems must have names that differ, got {', '.join(items)}.")
    scale, rng = unit_of(matrix), _generator(random_state)
    matrix = matrix / scale
    moments, largest = Moments.of(matrix.T), np.abs(matrix).max()
    means, error = moments.mean, moments.error(0.0)
    residuals = matrix - means
    covariance = residuals.T @ residuals / (n - 1) / n
    spread = gap_errors_of_means(matrix.T, covariance)

    def apart(_: Ints) -> Bools:
        return told_apart_by_signs(means, residuals, spread, 1 - level, rng)

    group, everywhere = np.ones(m, dtype=np.intp), np.full(m, n)
    ranks = Ranks.of(means / (_ROUNDED * largest or 1.0), group, group > 0, apart)
    _warn_of_no_spread(np.triu((spread == 0) & (ranks.rank[:, None] != ranks.rank)), items, unit)
    return _board(
        {"item": np.array(items, dtype=object), "score": means},
        ranks,
        np.where(error > 0, error, np.nan),
        np.full(m, n - 1.0),
        {"n_votes": everywhere, "n_clusters": everywhere, "group": group},
        [""] * m,
        covariance=covariance,
        gap_errors=spread,
        unit=(scale, 0.0),
        estimates=[],
        notes=[],
        confidence_level=level,
        scale="mean",
        sample=f"{n:,} {unit}",
    )


def _warn_of_no_spread(constant: Bools, items: list[str], unit: str) -> None:
    """Warn of pairs that differ by a number other than 0 which does not vary."""
    if constant.any():
        a, b = (items[place] for place in np.argwhere(constant)[0])
        warn(
            f"{constant.sum()} of the pairs of systems, such as {a!r} and {b!r}, differ by the "
            f"same number on all {unit}. Ranks do not tell them apart, and their intervals and "
            f"p-values are NaN, since errors need differences that vary: take more {unit}."
        )


def _generator(random_state: Seed) -> np.random.Generator:
    check_random_state(random_state)
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return np.random.default_rng(random_state)
