"""Plot of the contributions of features to the best scores of a query."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns import tables, texts
from ..columns.arrays import num_samples
from ..columns.types import Array, ArrayLike, Axes, Estimator, Floats, Ints, Matrix, Self
from ..data import check, plain
from ..inspection import Explained, ScoreExplanation, explain_scores
from ._base import Display, literal, styled

# Most rows and columns of cells with a number, and the share of the largest that is a dark color.
_MOST_NUMBERS, _DARK = (25, 15), 0.6


@dataclass(kw_only=True, eq=False, repr=False)
class TopContributionsDisplay(Display):
    """Heat map of the contributions of features to the scores of the best documents of a query.

    Documents stand in ranked order, features by their largest contribution. A cell is how far a
    feature moves a document away from the mean score of the query: blue is up, red is down. Use
    :meth:`from_estimator` or :meth:`from_explanation` to make a display.

    Parameters
    ----------
    name : str, default=None
        Title of the axes.
    contributions : ndarray of shape (k, d)
        What each feature adds to the scores of the best documents, best first.
    feature_names : array-like of str of shape (d,)
        Names of the features.
    item_names : array-like of shape (k,)
        Names of the documents.

    Attributes
    ----------
    im_ : matplotlib AxesImage
        The heat map.
    texts_ : list of matplotlib Text
        Contributions as numbers, in the unit below the columns, if there are few cells.
    colorbar_ : matplotlib Colorbar or None
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.inspection.explain_scores : The contributions as numbers.
    ContributionDisplay : The order of two documents.
    ImportanceDisplay : Means over many queries.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.displays import TopContributionsDisplay
    >>> X, y, qid = load_digits_queries(n_queries=50)
    >>> ranker = NDCGRanker(k=10).fit(X, y, qid)
    >>> display = TopContributionsDisplay.from_estimator(ranker, X, qid, query=3, k=5)
    >>> display.contributions.shape == (5, X.shape[1])
    True
    >>> plt.show()
    """

    contributions: Floats
    feature_names: ArrayLike
    item_names: ArrayLike

    @property
    def totals(self) -> Floats:
        """Scores of the documents minus the mean score of the query, of shape (k,)."""
        return self.contributions.sum(axis=1)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        n_features: int = 10,
        colorbar: bool = True,
        im_kwargs: dict[str, Any] | None = None,
        text_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the heat map.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title of the axes.
        n_features : int, default=10
            Number of columns, for the features with the largest cells. One more is the sum over
            the others.
        colorbar : bool, default=True
            Whether to plot a color bar.
        im_kwargs : dict, default=None
            Style of the heat map, for matplotlib's ``imshow``.
        text_kwargs : dict, default=None
            Style of the numbers, for matplotlib's ``text``.

        Returns
        -------
        display : TopContributionsDisplay
        """
        check.count("n_features", n_features)
        ax = self._open(ax, [self.contributions], name, self.name)
        cells, labels = self._cells(n_features)
        largest = np.abs(cells).max(initial=0.0) or 1.0
        style = {"cmap": "RdBu", "vmin": -largest, "vmax": largest, "aspect": "auto"}
        self.im_ = ax.imshow(cells, **styled("image.AxesImage", im_kwargs, **style))
        self._write(cells, largest, text_kwargs)
        ax.set_xticks(range(len(labels)), labels, rotation=45, ha="right", rotation_mode="anchor")
        rows = [
            f"{literal(item)}: {total:+.3g}"
            for item, total in zip(np.asarray(self.item_names, dtype=object), self.totals)
        ]
        ax.set_yticks(range(len(rows)), rows)
        ax.set_ylabel("score minus the mean of the query")
        label = "contribution to the score"
        self.colorbar_ = self.figure_.colorbar(self.im_, ax=ax, label=label) if colorbar else None
        return self

    def _cells(self, n_features: int) -> tuple[Floats, list[str]]:
        """Return the columns of the heat map with their labels."""
        by_size = np.argsort(-np.abs(self.contributions).max(axis=0, initial=0.0), kind="stable")
        shown, left = by_size[:n_features], by_size[n_features:]
        labels = [literal(name) for name in np.asarray(self.feature_names, dtype=object)[shown]]
        cells = self.contributions[:, shown]
        if not len(left):
            return cells, labels
        others = self.contributions[:, left].sum(axis=1)
        return np.column_stack([cells, others]), [*labels, texts.others(len(left))]

    def _write(self, cells: Floats, largest: float, style: dict[str, Any] | None) -> None:
        """Write the numbers into the cells, if there are few."""
        self.texts_ = []
        if (np.array(cells.shape) > _MOST_NUMBERS).any():
            return
        # One decimal place of the power of ten below the largest: more would not fit into a cell.
        unit = 10.0 ** np.floor(np.log10(largest))
        if unit != 1:
            self.ax_.set_xlabel(f"numbers in units of {unit:g}")
        centered = {"horizontalalignment": "center", "verticalalignment": "center"}
        for (row, column), value in np.ndenumerate(cells):
            color = "white" if abs(value) > _DARK * largest else "black"
            options = styled("text.Text", style, color=color, fontsize="small", **centered)
            number = f"{round(value / unit, 1) + 0.0:.1f}"  # no negative zero
            self.texts_.append(self.ax_.text(column, row, number, **options))

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Matrix,
        qid: ArrayLike | None = None,
        *,
        query: Any = None,
        k: int = 10,
        item_names: ArrayLike | None = None,
        feature_names: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        n_features: int = 10,
        colorbar: bool = True,
        im_kwargs: dict[str, Any] | None = None,
        text_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Explain the best documents of a query by a fitted ranker, and plot the contributions.

        Parameters
        ----------
        estimator, X, qid, feature_names
            As in :func:`skcalrank.inspection.explain_scores`, which calls the estimator `ranker`.
        query : object, default=None
            One of the queries in `qid`. If None, the first.
        k : int, default=10
            Number of documents.
        item_names : array-like of shape (n_rows,), default=None
            Names of the rows of X. If None, the index of a pandas DataFrame, else their numbers.
        ax, n_features, colorbar, im_kwargs, text_kwargs
            As in :meth:`plot`.
        name : str, default=None
            Title. If None, the class of the ranker.

        Returns
        -------
        display : TopContributionsDisplay
        """
        cls._check_support("from_estimator")
        check.count("k", k)
        n_rows, qid = num_samples(X), Explained.of(estimator, X, qid, None).qid
        check.row_order(X=X, qid=qid, item_names=item_names)
        rows, labels = _rows_of_query(query, qid, n_rows), tables.labels_of(X)
        item_names = labels if item_names is None else item_names
        X = tables.take_rows(X, rows)
        of_query = None if qid is None else np.zeros(len(rows))
        explanation = explain_scores(estimator, X, of_query, feature_names=feature_names)
        names = rows if item_names is None else _item_names_of(item_names, n_rows)[rows]
        name = type(estimator).__name__ if name is None else name
        options: Any = {"item_names": names, "ax": ax, "name": name, "n_features": n_features}
        options |= {"colorbar": colorbar, "im_kwargs": im_kwargs, "text_kwargs": text_kwargs}
        return cls.from_explanation(explanation, k=k, **options)

    @classmethod
    def from_explanation(
        cls,
        explanation: ScoreExplanation,
        *,
        k: int = 10,
        item_names: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        n_features: int = 10,
        colorbar: bool = True,
        im_kwargs: dict[str, Any] | None = None,
        text_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the contributions to the best scores of one query.

        Parameters
        ----------
        explanation : ScoreExplanation
            Returned by :func:`skcalrank.inspection.explain_scores` for the rows of one query.
        k : int, default=10
            Number of documents.
        item_names : array-like of shape (n_rows,), default=None
            Names of the rows. If None, ``explanation.labels``, or their numbers.
        ax, name, n_features, colorbar, im_kwargs, text_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : TopContributionsDisplay

        Raises
        ------
        ValueError
            If the explanation is of several queries.
        """
        cls._check_support("from_explanation")
        check.count("k", k)
        n_rows = len(explanation.levels)
        if np.ptp(explanation.levels) > 0:
            raise ValueError(
                "explanation must be of one query, got rows of several: explain the rows of one, "
                "or use from_estimator with query=."
            )
        if (labels := explanation.labels) is not None:
            labels_in_order = {"explanation.labels.to_series()": labels.to_series()}
            check.row_order(**labels_in_order, item_names=item_names)
        names = labels if item_names is None else item_names
        names = np.arange(n_rows) if names is None else _item_names_of(names, n_rows)
        best = np.argsort(-explanation.contributions.sum(axis=1), kind="stable")[:k]
        display = cls(
            contributions=explanation.contributions[best],
            feature_names=explanation.feature_names,
            item_names=names[best],
            name=name,
        )
        style: Any = {"im_kwargs": im_kwargs, "text_kwargs": text_kwargs}
        return display.plot(ax, n_features=n_features, colorbar=colorbar, **style)


def _rows_of_query(query: int | str | None, qid: Any, n_rows: int) -> Ints:
    """Return the rows of a query."""
    queries = check.queries(qid, n_rows)
    number = 0
    if query is not None:
        names = [] if queries.names is None else [plain(name) for name in queries.names]
        if query not in names:
            known = ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)
            raise ValueError(
                f"query must be one of {known or 'qid, which is None'}, got {query!r}."
            )
        number = names.index(query)
    return np.flatnonzero(queries.codes == number)


def _item_names_of(item_names: Any, n: int) -> Array:
    """Return names of so many rows or items as an array."""
    names = np.asarray(item_names)
    if names.shape != (n,):
        raise ValueError(f"item_names must have {n} names, got shape {names.shape}.")
    return names
