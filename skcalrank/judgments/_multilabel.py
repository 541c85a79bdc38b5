"""A target with several labels of each document."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..columns import index_of, row_order, tables
from ..columns.types import Array, ArrayLike, Floats, Ints, Self
from ..data import Judgments, Origin, check, check_qid, chosen_rows


class MultiLabelTarget(Judgments):
    """Several labels of each document, such as relevance, margin and freshness, with its query.

    A matrix passed as ``y`` is in the label-ranking form, where every row is a query of its own.
    With this class, every row is a document and the columns are its labels. The target is sliced
    by rows like an array, so that every splitter of scikit-learn accepts it as ``y``.

    Parameters
    ----------
    labels : array-like or data frame of shape (n_rows, n_labels)
        Labels; higher is better in every column.
    qid : array-like of shape (n_rows,)
        Query identifier of each row, of any hashable type, in any order.
    names : list of str, default=None
        Names of the labels. If None, the column names of a data frame, else ``"label0"``,
        ``"label1"`` and so on.

    Attributes
    ----------
    labels, qid, names : ndarray, ndarray, list of str
        The parameters.

    Raises
    ------
    ValueError
        If `labels` are not finite or not two-dimensional, or if `names` are not distinct or not
        one per label.

    See Also
    --------
    RankingTarget : One label of each document.
    MultiLabelRanker : A ranker for several labels.

    Examples
    --------
    >>> from skcalrank import MultiLabelTarget
    >>> y = MultiLabelTarget([[2, 0.5], [0, 1.5], [1, 1.0]], ["a", "a", "b"], ["grade", "margin"])
    >>> y[:2]
    MultiLabelTarget(2 rows, labels grade, margin)
    >>> y.label("margin")
    array([0.5, 1.5, 1. ])
    """

    _remedy = "use its attribute labels, or label(name)."

    def __init__(
        self, labels: ArrayLike, qid: ArrayLike, names: Sequence[str] | None = None
    ) -> None:
        row_order(labels=labels, qid=qid)
        self.index = index_of(qid, labels)
        columns = tables.column_names(labels) if names is None else names
        self.labels: Floats = check.labels(labels, "labels").copy()
        if self.labels.ndim != 2:
            raise ValueError(f"labels must have shape (n_rows, n_labels), got {self.labels.shape}.")
        n_rows, n_labels = self.labels.shape
        self.qid: Array = np.array(check_qid(qid, n_rows))
        numbered = [f"label{number}" for number in range(n_labels)]
        self.names: list[str] = numbered if columns is None else [str(name) for name in columns]
        if len(self.names) != n_labels or len(set(self.names)) < n_labels:
            raise ValueError(f"names must be {n_labels} distinct names, got {self.names}.")
        self.origin: Origin | None = None

    def label(self, name: str) -> Floats:
        """Return one label of all documents, of shape (n_rows,).

        Parameters
        ----------
        name : str
            Name of the label, one of `names`.

        Raises
        ------
        ValueError
            If there is no label of this name.
        """
        check.option("name", name, self.names)
        return self.labels[:, self.names.index(name)]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, key: Any) -> Self:
        rows = chosen_rows(key, len(self), "MultiLabelTarget")
        target = object.__new__(type(self))
        target.labels, target.qid = self.labels[rows], self.qid[rows]
        target.names, target.origin = list(self.names), self.origin_of(rows)
        target.index = self._index_at(rows)
        return target

    def _arrays(self) -> tuple[Array, ...]:
        return self.labels, np.array(self.names, dtype=object)

    @property
    def is_silent(self) -> bool:
        """Whether all documents of each query have equal labels."""
        queries = self.queries()
        columns = (queries.group(label) for label in self.labels.T)
        return not any((queries.max(one) + queries.max(-one) > 0).any() for one in columns)

    @property
    def n_judgments(self) -> Ints:
        """Number of documents of each query, of shape (n_queries,)."""
        return self.queries().sizes

    def __repr__(self) -> str:
        return f"MultiLabelTarget({len(self)} rows, labels {', '.join(self.names)})"
