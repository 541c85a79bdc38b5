"""Relevances that know their queries, so that they survive every splitter."""

from __future__ import annotations

import numpy as np

from ._queries import check_qid

__all__ = ["RankingTarget"]


class RankingTarget(np.ndarray):
    """Relevances that carry the query of each row.

    An ndarray that survives row slicing, pickling and every splitter of scikit-learn
    with metadata routing switched off: pipelines pass ``y`` on untouched, splitters
    slice it and scorers receive it. Slicing, ``copy``, ``astype``, ``take`` and
    ``np.concatenate`` keep the queries. What changes values or rows in place or by
    arithmetic (``y + 1``, sorting, shuffling, assignment, reshaping) loses them, and a
    ranker or metric then says so. A numpy function that returns a plain array, such as
    ``np.where``, returns one without queries, and a random generator that shuffles in
    place goes unnoticed: index with a permutation instead.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Relevances, higher is better.
    qid : array-like of shape (n_rows,)
        Query identifier of each row, of any hashable type, in any order.

    Attributes
    ----------
    qid : ndarray of shape (n_rows,) or None
        The identifiers; None when they were lost.

    Raises
    ------
    ValueError
        If ``y`` is not one-dimensional, or ``y`` and ``qid`` differ in length.

    Examples
    --------
    >>> from skcalrank import RankingTarget
    >>> y = RankingTarget([2, 0, 1], qid=["a", "a", "b"])
    >>> y[[0, 2]]
    RankingTarget([2, 1], qid=['a', 'b'])
    """

    qid: np.ndarray | None

    def __new__(cls, y, qid):
        values = np.asarray(y)
        if values.ndim != 1:
            raise ValueError(
                f"RankingTarget wants y of shape (n_rows,), got {values.shape}. In the "
                "label-ranking form, y of shape (n, r), every row is a query of its own "
                "and no qid is needed."
            )
        out = values.view(cls)
        out.qid = check_qid(qid, len(values))
        return out

    def __array_finalize__(self, obj):
        # What a numpy function makes of us need not have our rows.
        self.qid = None

    def __getitem__(self, key):
        out = super().__getitem__(key)
        if isinstance(out, RankingTarget) and self.qid is not None and out.ndim == 1:
            rows = np.arange(len(self))[key]
            if rows.shape == out.shape:
                out.qid = self.qid[rows]
        return out

    def __setitem__(self, key, value):
        # Who writes rows may be moving them: shuffling in place does.
        self.qid = None
        super().__setitem__(key, value)

    def __array_function__(self, func, types, args, kwargs):
        out = super().__array_function__(func, types, args, kwargs)
        if func is not np.concatenate or np.ndim(out) != 1:
            return out
        parts = args[0]
        if all(isinstance(part, RankingTarget) and part.qid is not None for part in parts):
            return RankingTarget(out, np.concatenate([part.qid for part in parts]))
        return out

    def _with_qid(self, out):
        if isinstance(out, RankingTarget) and out.shape == self.shape:
            out.qid = self.qid
        return out

    def copy(self, order="C"):
        """Copy, keeping the queries."""
        return self._with_qid(super().copy(order))

    def astype(self, dtype, *args, **kwargs):
        """Convert, keeping the queries."""
        return self._with_qid(super().astype(dtype, *args, **kwargs))

    def take(self, indices, axis=None, out=None, mode="raise"):
        """Rows by number, keeping the queries."""
        return self[np.arange(len(self)).take(indices, mode=mode)]

    def sort(self, *args, **kwargs):
        """Sort in place, losing the queries."""
        self.qid = None
        super().sort(*args, **kwargs)

    def partition(self, *args, **kwargs):
        """Partition in place, losing the queries."""
        self.qid = None
        super().partition(*args, **kwargs)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        return _rebuild_ranking_target, (np.asarray(self), self.qid)

    def __repr__(self):
        if self.ndim != 1 or self.qid is None:
            return np.array_repr(np.asarray(self)).replace("array", "RankingTarget", 1)
        y, qid = (np.array2string(np.asarray(a), separator=", ") for a in (self, self.qid))
        return f"RankingTarget({y}, qid={qid})"


def _rebuild_ranking_target(values, qid):
    out = values.view(RankingTarget)
    out.qid = qid
    return out
