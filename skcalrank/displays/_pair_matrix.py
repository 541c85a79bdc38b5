"""Plot of the values of pairs of documents, in predicted order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..data import arrays, check, tables
from ..data.types import ArrayLike, Floats, Ints
from ..inspection import unwrapped
from ..rankers import reads_diagonal
from ._base import Display, drawn, item_names_of, literal, rows_of_query, styled

# More frames would hide the heat map, and take long to plot.
_MOST_FRAMES = 10_000


@dataclass(kw_only=True, eq=False, repr=False)
class PairMatrixDisplay(Display):
    r"""Heat map of the surrogate values of pairs, with rows and columns in predicted order.

    If :math:`u_{ij}` is the preference of document i over document j, the cells above the diagonal
    are preferences that the order follows. A pair is against the order if the document placed
    lower is preferred on balance, :math:`u_{ij} > u_{ji}` with i below j in the order: its cell
    below the diagonal has a frame. If preferences form a cycle, some pairs are against every order.

    Use :meth:`from_estimator` or :meth:`from_predictions` to make a display.

    Parameters
    ----------
    matrix : ndarray of shape (r, r)
        Values of pairs, with documents in the order given. Cells with NaN are blank.
    positions : ndarray of int of shape (r,)
        1-based position of each document.
    item_names : list of shape (r,), default=None
        Names of the documents. If None, their numbers.
    difference : bool, default=False
        If True, :math:`u_{ij} - u_{ji}` is plotted.
    name : str, default=None
        Title. If None, there is no title.

    Attributes
    ----------
    im_ : matplotlib AxesImage
        The heat map.
    against_ : matplotlib PolyCollection or None
        Frames of the pairs against the order; None if there are none, or more than 10,000.
    colorbar_ : matplotlib Colorbar or None
        The color bar, if there is one.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.calibration.noise_report : Share of queries on which the fast prediction map is as
        good as the exact one.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import PairwiseDisagreementRanker, PreferenceTarget
    >>> from skcalrank.datasets import make_label_ranking
    >>> from skcalrank.displays import PairMatrixDisplay
    >>> X, positions = make_label_ranking(1000, 6, cyclic=True, random_state=0)
    >>> ranker = PairwiseDisagreementRanker(surrogate="pairwise")
    >>> ranker = ranker.fit(X, PreferenceTarget.from_orders(positions))
    >>> display = PairMatrixDisplay.from_estimator(ranker, X, query=0, difference=True)
    >>> display.n_against
    2
    >>> plt.show()
    """

    matrix: Floats
    positions: Ints
    item_names: ArrayLike | None = None
    difference: bool = False
    name: str | None = None

    @property
    def n_against(self) -> int:
        """Number of pairs against the order."""
        return len(self._against())

    def _against(self) -> Ints:
        """Return row and column, in the heat map, of each pair against the order."""
        order = np.argsort(self.positions)
        ranked = self.matrix[np.ix_(order, order)]
        return np.argwhere(np.tril(ranked > ranked.T, -1))

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        colorbar: bool = True,
        im_kwargs: dict[str, Any] | None = None,
        frame_kwargs: dict[str, Any] | None = None,
    ) -> PairMatrixDisplay:
        """Plot the heat map.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title.
        colorbar : bool, default=True
            Whether to plot a color bar.
        im_kwargs : dict, default=None
            Style of the heat map, for matplotlib's ``imshow``.
        frame_kwargs : dict, default=None
            Style of the frames, for matplotlib's ``PolyCollection``.

        Returns
        -------
        display : PairMatrixDisplay
        """
        ax = self._open(ax)
        from matplotlib.image import AxesImage

        order = np.argsort(self.positions)
        shown = self.matrix - self.matrix.T if self.difference else self.matrix
        style = {"cmap": "Blues"}
        if self.difference:
            largest = np.nanmax(np.abs(shown), initial=0.0) or 1.0
            style = {"cmap": "RdBu", "vmin": -largest, "vmax": largest}
        self.im_ = ax.imshow(shown[np.ix_(order, order)], **styled(AxesImage, im_kwargs, **style))
        self._draw_frames(frame_kwargs)
        self._label(order)
        ax.set_title(self.name if name is None else name)
        values = "$u_{ij} - u_{ji}$" if self.difference else "$u_{ij}$"
        self.colorbar_ = self.figure_.colorbar(self.im_, ax=ax, label=values) if colorbar else None
        return self

    def _draw_frames(self, frame_kwargs: Any) -> None:
        from matplotlib.collections import PolyCollection

        cells: Any = self._against()
        self.against_ = None
        if not 0 < len(cells) <= _MOST_FRAMES:
            return
        corners = 0.45 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        width = min(1.5, 30 / len(self.positions))
        style = {"facecolor": "none", "edgecolor": "tab:red", "linewidth": width}
        style = styled(PolyCollection, frame_kwargs, **style)
        frames = PolyCollection(cells[:, None, ::-1] + corners, **style)
        self.against_ = self.ax_.add_collection(frames, autolim=False)

    def _label(self, order: Ints) -> None:
        """Label the axes and as many documents as fit."""
        r = len(order)
        ticks = np.arange(0, r, -(-r // 30))
        names: Any = np.arange(r) if self.item_names is None else self.item_names
        labels = [literal(names[i]) for i in order[ticks]]
        crowded = len(labels) * max(map(len, labels)) > 40
        self.ax_.set(xticks=ticks, yticks=ticks, yticklabels=labels, ylabel="i, in predicted order")
        self.ax_.set_xticklabels(labels, rotation="vertical" if crowded else "horizontal")
        self.ax_.set_xlabel("j, in predicted order")
        if not np.array_equal(self.matrix, self.matrix.T, equal_nan=True):
            pairs = f"{self.n_against} of {r * (r - 1) // 2} pairs are against the order"
            self.ax_.set_xlabel(f"j, in predicted order\n{pairs}")

    @classmethod
    @drawn(plot)
    def from_estimator(
        cls,
        ranker: Any,
        X: Any,
        *,
        qid: ArrayLike | None = None,
        query: Any = None,
        difference: bool = False,
        item_names: ArrayLike | None = None,
    ) -> PairMatrixDisplay:
        """Plot the values of a fitted pairwise ranker for one query, in predicted order.

        Parameters
        ----------
        ranker : AveragePrecisionRanker or PairwiseDisagreementRanker
            Fitted with ``surrogate="pairwise"``; or a pipeline or search of such a ranker.
        X : array-like of shape (n_rows, d)
            Documents.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        query : object, default=None
            One of the queries in `qid`; in the label-ranking form, a row of X, by its number or
            label as in :func:`skcalrank.inspection.explain_order`. If None, the first.
        difference : bool, default=False
            As in :class:`PairMatrixDisplay`. The values of average precision are symmetric.
        item_names : array-like of shape (n_rows,) or (r,), default=None
            Names of the rows of X, or of the items in the label-ranking form. If None, the labels
            of a pandas DataFrame, or their numbers.
        name : str, default=None
            Title. If None, the class of the ranker.
        ax, colorbar, im_kwargs, frame_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : PairMatrixDisplay

        Raises
        ------
        ValueError
            If the ranker was not fitted with ``surrogate="pairwise"``, or the query is unknown.
        """
        ranker, steps = unwrapped(ranker)
        if getattr(ranker, "surrogate_", None) != "pairwise":
            raise ValueError(
                "ranker must be an AveragePrecisionRanker or a PairwiseDisagreementRanker fitted "
                f"with surrogate='pairwise', got {type(ranker).__name__}."
            )
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if ranker.n_items_ is None:
            rows = rows_of_query(query, qid, n_rows)
            qid = None if qid is None else np.zeros(len(rows))
            labels = tables.labels_of(X) if item_names is None else item_names
            names = rows if labels is None else item_names_of(labels, n_rows)[rows]
        else:
            rows = np.array([0 if query is None else check.row_number("query", query, X)])
            names = None if item_names is None else item_names_of(item_names, ranker.n_items_)
        X = _safe_indexing(X, rows)
        for step in steps:
            X = step.transform(X)
        (matrix,) = ranker.surrogate_values(X, qid)
        if not reads_diagonal(ranker):
            matrix = matrix.copy()
            np.fill_diagonal(matrix, np.nan)
        return cls(
            matrix=matrix,
            # The label-ranking form returns a row of positions.
            positions=np.ravel(ranker.rank(X, qid)),
            item_names=names,
            difference=difference,
            name=type(ranker).__name__,
        )

    @classmethod
    @drawn(plot)
    def from_predictions(
        cls,
        u: ArrayLike,
        positions: ArrayLike | None = None,
        *,
        difference: bool = False,
        item_names: ArrayLike | None = None,
    ) -> PairMatrixDisplay:
        """Plot a matrix of predicted values.

        Parameters
        ----------
        u : array-like of shape (r, r)
            Row i, column j: preference of document i over document j.
        positions : array-like of int of shape (r,), default=None
            1-based position of each document, as returned by prediction maps. If None, documents
            are in the order given.
        difference, item_names
            As in :class:`PairMatrixDisplay`.
        ax, name, colorbar, im_kwargs, frame_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : PairMatrixDisplay

        Raises
        ------
        ValueError
            If the matrix is not square or not finite, or positions are not a permutation of 1 to r.

        Examples
        --------
        >>> from skcalrank.displays import PairMatrixDisplay
        >>> from skcalrank.preds import topological_positions
        >>> u = [[0, 3, 0], [0, 0, 2], [1, 0, 0]]
        >>> display = PairMatrixDisplay.from_predictions(
        ...     u, topological_positions(u), item_names=["a", "b", "c"]
        ... )
        >>> display.n_against
        1
        """
        u = arrays.checked(u, "u", copy=True)
        r = len(u)
        if u.shape != (r, r):
            raise ValueError(
                f"u must be a square matrix, one row for each document, got shape {u.shape}."
            )
        positions = np.arange(1, r + 1) if positions is None else np.asarray(positions)
        if not np.array_equal(np.sort(positions, axis=None), np.arange(1, r + 1)):
            raise ValueError(
                f"positions must be the positions 1 to {r} of the documents, got {positions!r}."
            )
        names = None if item_names is None else item_names_of(item_names, r)
        positions = positions.astype(int).ravel()
        return cls(matrix=u, positions=positions, item_names=names, difference=difference)
