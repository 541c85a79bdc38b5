"""Several labels of each document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._origin import Origin
from ._queries import check_qid
from ._targets import Judgments, chosen_rows
from ._types import Array, ArrayLike, Floats, Ints
from ._validation import check_labels


class MultiLabelTarget(Judgments):
    """Several labels of each document, such as relevance, margin and freshness, and its query.

    A matrix as y is the label-ranking form, in which every row is a query of its own; this class
    says that columns are labels of documents instead. It is sliced by rows like an array, so that
    every splitter of scikit-learn takes it as y.

    Parameters
    ----------
    labels : array-like or data frame of shape (n_rows, n_labels)
        Higher is better in every column.
    qid : array-like of shape (n_rows,)
        Query of each row, of any hashable type, in any order.
    names : list of str, default=None
        Names of the labels; None are the columns of a data frame, else ``"label0"`` and so on.

    Attributes
    ----------
    labels : ndarray of shape (n_rows, n_labels)
    qid : ndarray of shape (n_rows,)
    names : list of str

    Raises
    ------
    ValueError
        If labels are not finite or not of this shape, or names are not as many, or equal.

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
        given = getattr(labels, "columns", None) if names is None else names
        self.labels: Floats = check_labels(labels, "labels").copy()
        if self.labels.ndim != 2:
            raise ValueError(
                f"labels must have a column for each label, got shape {self.labels.shape}."
            )
        n_rows, n_labels = self.labels.shape
        self.qid: Array = np.array(check_qid(qid, n_rows))
        numbered = [f"label{number}" for number in range(n_labels)]
        self.names: list[str] = numbered if given is None else [str(name) for name in given]
        if len(self.names) != n_labels or len(set(self.names)) < n_labels:
            raise ValueError(f"names must be {n_labels} that differ, got {self.names}.")
        self.origin: Origin | None = None

    def label(self, name: str) -> Floats:
        """Return a column of labels.

        Parameters
        ----------
        name : str

        Returns
        -------
        label : ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            If there is none of this name.
        """
        if name not in self.names:
            raise ValueError(f"name must be one of {', '.join(self.names)}, got {name!r}.")
        return self.labels[:, self.names.index(name)]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, key: Any) -> MultiLabelTarget:
        rows = chosen_rows(key, len(self), "MultiLabelTarget")
        part = object.__new__(type(self))
        part.labels, part.qid, part.names = self.labels[rows], self.qid[rows], self.names
        part.origin = self.origin_of(rows)
        return part

    def _arrays(self) -> tuple[Array, ...]:
        return self.labels, np.array(self.names, dtype=object)

    @property
    def is_silent(self) -> bool:
        """Whether no label differs between documents of a query."""
        queries = self.queries()
        columns = (queries.group(label) for label in self.labels.T)
        return not any((queries.max(one) + queries.max(-one) > 0).any() for one in columns)

    @property
    def n_judgments(self) -> Ints:
        """Number of documents of each query, of shape (n_queries,)."""
        return self.queries().sizes

    def __repr__(self) -> str:
        return f"MultiLabelTarget({len(self)} rows, labels {', '.join(self.names)})"
