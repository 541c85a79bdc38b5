"""Weighted preferences between documents, as a target that survives every splitter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.sparse.csgraph import connected_components

from ._arrays import as_array, exact_ranks
from ._queries import Queries, check_own_qid, check_qid, plain
from ._targets import Judgments, Target, chosen_rows
from ._types import Array, ArrayLike, Bools, Floats, Ints, Matrix
from ._validation import carried_qid, check_option, check_target

#: How relevances become weights of preferences.
PREFERENCE_WEIGHTS = ("difference", "unit")


class PreferenceTarget(Judgments):
    """Weighted preferences between the rows of a query: which row beats which.

    Build it with one of its constructors: :meth:`from_comparisons`,
    :meth:`from_relevance`, :meth:`from_orders`, :meth:`from_matrix` or
    :meth:`from_matrices`, which check what they are given. It has a length and can be sliced by
    rows like an array, so every splitter of scikit-learn takes it as ``y``; preferences for or
    against rows that are cut away drop out. It carries its queries.

    Parameters
    ----------
    winner, loser, weight, judgment, qid, n_items
        What the attributes hold, unchecked.
    n_rows : int
        Number of rows, its length.

    Attributes
    ----------
    winner, loser : ndarray of shape (n_preferences,)
        Documents. In the subset-ranking form the number of the row; in the
        label-ranking form ``row * n_items + item``.
    weight : ndarray of shape (n_preferences,)
        Non-negative weights.
    judgment : ndarray of shape (n_preferences,)
        Number of the judgment that a preference belongs to, see :attr:`n_judgments`.
    qid : ndarray of shape (n_rows,) or None
        Query of each row; None when all rows are one query, and in the label form.
    n_items : int or None
        Number of items that every row ranks in the label-ranking form, else None.

    Examples
    --------
    >>> from skcalrank import PreferenceTarget
    >>> y = PreferenceTarget.from_comparisons([0, 2], [1, 0], qid=["a", "a", "a"])
    >>> y
    PreferenceTarget(3 rows, 2 preferences)
    >>> y[[0, 1]].winner
    array([0])
    """

    _remedy = (
        "it is a target of PairwiseDisagreementRanker and of pairwise_disagreement_loss. Pass "
        "it as it is."
    )

    def __init__(
        self,
        winner: Ints,
        loser: Ints,
        weight: Floats,
        judgment: Array,
        n_rows: int,
        qid: Array | None = None,
        n_items: int | None = None,
    ) -> None:
        self.winner = winner
        self.loser = loser
        self.weight = weight
        self.judgment = judgment
        self.qid = qid
        self.n_items = n_items
        self._n_rows = n_rows

    # -- constructors -------------------------------------------------------------

    @classmethod
    def from_comparisons(
        cls,
        winner_rows: ArrayLike,
        loser_rows: ArrayLike,
        qid: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        judgment: ArrayLike | None = None,
        require_dag: bool = False,
    ) -> PreferenceTarget:
        """Preferences given one by one.

        Parameters
        ----------
        winner_rows, loser_rows : array-like of int of shape (n_preferences,)
            Row numbers of the document that wins and of the one that loses.
        qid : array-like of shape (n_rows,)
            Query of each row.
        weight : array-like of shape (n_preferences,), default=None
            Non-negative weights; None = 1.
        judgment : array-like of shape (n_preferences,), default=None
            Which preferences were stated together; None = each is a judgment of its own.
        require_dag : bool, default=False
            Check that every judgment is a directed acyclic graph.

        Raises
        ------
        ValueError
            For unknown rows, preferences across queries or of a row with itself,
            negative weights, and judgments with a cycle under ``require_dag``.
        """
        qid = check_own_qid(qid)
        winner = _row_numbers(winner_rows, "winner_rows", len(qid))
        loser = _row_numbers(loser_rows, "loser_rows", len(qid))
        if len(winner) != len(loser):
            raise ValueError(f"winner_rows has {len(winner)} entries, loser_rows has {len(loser)}.")
        if judgment is None:
            judgment = np.arange(len(winner))
        judgment = np.array(as_array(judgment, "judgment"))
        weight = _weights(weight, len(winner))
        if len(judgment) != len(winner):
            raise ValueError(f"judgment has {len(judgment)} entries for {len(winner)} preferences.")
        codes = Queries.from_qid(qid).codes
        across = codes[winner] != codes[loser]
        if across.any():
            w, l = winner[across][0], loser[across][0]
            raise ValueError(
                f"Row {w} of query {plain(qid[w])!r} is preferred to row {l} of query "
                f"{plain(qid[l])!r}: preferences hold within a query."
            )
        out = cls(winner, loser, weight, judgment, len(qid), qid)
        return out._checked(require_dag)

    @classmethod
    def from_relevance(
        cls, y: ArrayLike, qid: ArrayLike | None = None, *, weights: str = "difference"
    ) -> PreferenceTarget:
        """Every preference that relevances imply.

        ``y_ij = (y_i - y_j)_+`` ("difference") or ``1(y_i > y_j)`` ("unit", as in
        Kendall's tau). Memory is that of all pairs; the rankers and metrics never
        build them, so pass ``y`` itself unless you need the pairs.

        Parameters
        ----------
        y : array-like of shape (n_rows,) or (n, r)
            Relevances, higher is better.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        weights : {"difference", "unit"}, default="difference"
            Weight of a preference.
        """
        check_preference_weights(weights)
        qid = carried_qid(y, qid)
        grouped, queries = check_target(y, qid)
        values = queries.ungroup(grouped)
        n_rows, n_items = np.shape(y)[0], None
        if np.ndim(y) == 2 and np.shape(y)[1] > 1:
            n_items = np.shape(y)[1]
        qid = None if qid is None else check_qid(qid, n_rows)
        first, second = _pairs_within(queries)
        winner = np.where(values[first] >= values[second], first, second)
        loser = first + second - winner
        gap = values[winner] - values[loser]
        keep = gap > 0
        winner, loser, gap = winner[keep], loser[keep], gap[keep]
        weight = gap if weights == "difference" else np.ones_like(gap)
        out = cls(winner, loser, weight, _together(winner), n_rows, qid, n_items)
        # Preferences of a part of the documents are a part of those of all.
        out.origin = y.origin if isinstance(y, Target) else None
        return out

    @classmethod
    def from_orders(cls, positions: ArrayLike) -> PreferenceTarget:
        """Unit preferences from orders, in the label-ranking form.

        Parameters
        ----------
        positions : array-like of shape (n, r)
            1-based position of each item; NaN = unranked (no preference with others).
        """
        ranks = exact_ranks(positions)
        positions = as_array(positions if ranks is None else ranks + 1, "positions").astype(float)
        if positions.ndim != 2 or positions.shape[1] < 2:
            raise ValueError(
                f"positions must have shape (n, r) with r >= 2 items, got {positions.shape}."
            )
        if (positions < 1).any() or np.isinf(positions).any():
            raise ValueError("positions count from 1, and NaN stands for an unranked item.")
        n, r = positions.shape
        row, i, j = np.nonzero(positions[:, :, None] < positions[:, None, :])
        return cls(row * r + i, row * r + j, np.ones(len(row)), _together(row), n, None, r)

    @classmethod
    def from_matrix(
        cls, Y: Matrix, qid: ArrayLike, *, require_dag: bool = False
    ) -> PreferenceTarget:
        """Preferences as a matrix by local index.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n_rows, n_columns)
            ``Y[i, k] > 0``: row ``i`` is preferred to the ``k``-th row of its query (in
            the order in which the rows of the query are given), with that weight.
        qid : array-like of shape (n_rows,)
            Query of each row.
        require_dag : bool, default=False
            Check that the preferences of every query form a directed acyclic graph.
        """
        matrix = csr_matrix(Y if issparse(Y) else as_array(Y, "Y").astype(float))
        qid = check_qid(qid, matrix.shape[0])
        queries = Queries.from_qid(qid)
        codes = queries.codes
        matrix = matrix.tocoo()
        nonzero = matrix.data != 0
        winner, local = matrix.row[nonzero].astype(np.intp), matrix.col[nonzero]
        weight = matrix.data[nonzero].astype(float)
        beyond = local >= queries.sizes[codes[winner]]
        if beyond.any():
            w, k = winner[beyond][0], local[beyond][0]
            raise ValueError(
                f"Y[{w}, {k}] names document {k} of query {plain(qid[w])!r}, which has only "
                f"{queries.sizes[codes[w]]}: columns are local indices within the query."
            )
        by_query = np.arange(len(qid)) if queries.order is None else queries.order
        loser = by_query[queries.ptr[codes[winner]] + local]
        weight = _weights(weight, len(winner))
        out = cls(winner, loser, weight, _together(winner), len(qid), qid)
        return out._checked(require_dag)

    @classmethod
    def from_matrices(cls, Y: ArrayLike, *, require_dag: bool = False) -> PreferenceTarget:
        """Preferences as one matrix per row, in the label-ranking form.

        Parameters
        ----------
        Y : array-like of shape (n, r, r)
            ``Y[n, i, j] > 0``: item ``i`` is preferred to item ``j``, with that weight.
        require_dag : bool, default=False
            Check that every matrix is the adjacency of a directed acyclic graph.
        """
        Y = as_array(Y, "Y").astype(float)
        if Y.ndim != 3 or Y.shape[1] != Y.shape[2] or Y.shape[1] < 2:
            raise ValueError(f"Y must have shape (n, r, r) with r >= 2, got {Y.shape}.")
        row, i, j = np.nonzero(Y)
        r = Y.shape[1]
        weight = _weights(Y[row, i, j], len(row))
        out = cls(row * r + i, row * r + j, weight, _together(row), len(Y), None, r)
        return out._checked(require_dag)

    def _checked(self, require_dag: bool) -> PreferenceTarget:
        itself = self.winner == self.loser
        if itself.any():
            raise ValueError(
                f"Document {self.winner[itself][0]} is preferred to itself: drop that preference."
            )
        if require_dag:
            self._check_dags()
        return self

    def _check_dags(self) -> None:
        """Raise for the first judgment that has a cycle."""
        queries = self.queries()
        code_of = self._query_of(self.winner)
        order = np.lexsort((self.judgment, code_of))
        keys = np.column_stack([code_of, _numbers(self.judgment)])[order]
        new = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
        for edges in np.split(order, new) if len(order) else ():
            if not is_acyclic(self.winner[edges], self.loser[edges]):
                raise ValueError(
                    f"Judgment {plain(self.judgment[edges[0]])!r} of query "
                    f"{queries.name(code_of[edges[0]])!r} has a cycle, so it is not a DAG. Drop "
                    "require_dag to accept cyclic preferences."
                )

    # -- what a target must be able to do -----------------------------------------

    def __len__(self) -> int:
        return self._n_rows

    def check_qid_beside(self, qid: ArrayLike | None) -> None:
        """Raise ValueError for a qid beside preferences that were built without one."""
        if qid is None or self.qid is not None:
            return
        if self.n_items is not None:
            raise ValueError(
                "qid was given beside preferences in the label-ranking form, where every "
                "row is a query of its own: drop qid."
            )
        raise ValueError(
            "qid was given beside a PreferenceTarget that was built without: build it with "
            "the qid, which tells whether its preferences hold within queries."
        )

    def __repr__(self) -> str:
        items = "" if self.n_items is None else f" of {self.n_items} items"
        return f"PreferenceTarget({len(self)} rows{items}, {len(self.winner)} preferences)"

    def __getitem__(self, key: Any) -> PreferenceTarget:
        rows = chosen_rows(key, len(self), "PreferenceTarget")
        r = 1 if self.n_items is None else self.n_items
        documents = (rows[:, None] * r + np.arange(r)).ravel()
        edge, winner, loser = _follow(self.winner, self.loser, documents, len(self) * r)
        if self.n_items is not None:
            same = winner // r == loser // r
            edge, winner, loser = edge[same], winner[same], loser[same]
        qid = None if self.qid is None else self.qid[rows]
        weight, judgment = self.weight[edge], self.judgment[edge]
        part = PreferenceTarget(winner, loser, weight, judgment, len(rows), qid, self.n_items)
        part.origin = self.origin_of(rows)
        return part

    def _arrays(self) -> tuple[Array, ...]:
        return self.winner, self.loser, self.weight, self.judgment

    # -- reading it ---------------------------------------------------------------

    def _query_of(self, documents: Ints) -> Ints:
        return self.queries().codes[documents]

    @property
    def n_judgments(self) -> Ints:
        """Number of distinct judgments of each query, of shape (n_queries,)."""
        queries, number = self.queries(), _numbers(self.judgment)
        # One integer for a judgment of a query.
        n_numbers = int(number.max(initial=0)) + 1
        stated = np.unique(self._query_of(self.winner) * n_numbers + number)
        return np.bincount(stated // n_numbers, minlength=queries.n_queries)

    @property
    def is_silent(self) -> bool:
        """Whether no preference has a positive weight."""
        return not (self.weight > 0).any()

    @property
    def is_of_orders(self) -> bool:
        """Whether all weights are 1 and no pair of documents is stated twice, as in orders."""
        low, high = np.minimum(self.winner, self.loser), np.maximum(self.winner, self.loser)
        pairs = np.unique(np.column_stack([low, high]), axis=0)
        return bool((self.weight == 1).all()) and len(pairs) == len(self.winner)

    def net_preference(self) -> Floats:
        """``sum_j (y_ij - y_ji)`` of each document: (n_rows,), or (n, r) in label form."""
        n = len(self) * (self.n_items or 1)
        net: Array = np.bincount(self.winner, self.weight, n)
        net -= np.bincount(self.loser, self.weight, n)
        return net if self.n_items is None else net.reshape(len(self), self.n_items)

    def adjacency(self) -> csr_matrix:
        """Weights ``y_ij`` between documents in grouped order, preferences summed.

        Returns
        -------
        matrix : CSR matrix of shape (n_documents, n_documents)
        """
        queries = self.queries()
        place = queries.ungroup(np.arange(queries.n_rows))
        ends = (place[self.winner], place[self.loser])
        return csr_matrix((self.weight, ends), shape=(queries.n_rows, queries.n_rows))

    def share_lost_in_ties(self, tied: Bools, breaking: str) -> Floats:
        """What the preferences between documents of equal score lose.

        Under the breaking of the ties that is "best" or "worst" for the pairwise
        disagreement. Where the net preferences among tied documents have a cycle,
        finding it is a feedback arc set problem, which is left to the caller.

        Parameters
        ----------
        tied : ndarray of bool of shape (n_preferences,)
        breaking : {"best", "worst"}

        Returns
        -------
        share : ndarray of shape (n_tied,)
            0 or 1, or 1/2 where opposite preferences balance.

        Raises
        ------
        ValueError
            If tied documents have cyclic net preferences.
        """
        winner, loser, weight = self.winner[tied], self.loser[tied], self.weight[tied]
        low, high = np.minimum(winner, loser), np.maximum(winner, loser)
        pair = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)[1].ravel()
        sign = np.where(winner == low, 1.0, -1.0)
        net = np.bincount(pair, sign * weight)[pair] * sign
        if not is_acyclic(winner[net > 0], loser[net > 0]):
            raise ValueError(
                f"ties={breaking!r}: preferences between documents of equal score are cyclic, and "
                f"the {breaking} order of them is a hard problem. Use ties='average' or 'stable'."
            )
        # Of two opposite preferences of equal weight exactly one is lost in any order.
        worse = net < 0 if breaking == "best" else net > 0
        return np.where(net == 0, 0.5, worse)

    def matrices(self) -> Iterator[Floats]:
        """Yield the dense (r, r) matrix ``y_ij`` of each query, preferences summed.

        Queries come in order of first appearance, their documents in row order.
        """
        whole, ptr = self.adjacency(), self.queries().ptr
        for start, stop in pairwise(ptr):
            yield whole[start:stop, start:stop].toarray()


def check_preference_weights(weights: str) -> None:
    """Raise for an unknown name of the weights of preferences."""
    check_option("weights", weights, PREFERENCE_WEIGHTS)


def is_acyclic(winner: Ints, loser: Ints) -> bool:
    """Whether the graph of the edges winner -> loser has no directed cycle."""
    if np.any(winner == loser):
        return False
    ends = _numbers(np.concatenate([winner, loser])).reshape(2, -1)
    n = int(ends.max(initial=-1)) + 1
    graph = csr_matrix((np.ones(len(winner)), (ends[0], ends[1])), (n, n))
    return bool(connected_components(graph, connection="strong")[0] == n)


def _together(preferences: Array) -> Ints:
    """Return one judgment per query, of all its preferences."""
    return np.zeros(len(preferences), dtype=int)


def _numbers(values: Array) -> Ints:
    return np.unique(values, return_inverse=True)[1].ravel()


def _row_numbers(rows: ArrayLike, name: str, n_rows: int) -> Ints:
    rows = as_array(rows, name)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a one-dimensional array of row numbers.")
    rows = rows.astype(np.intp)
    outside = (rows < 0) | (rows >= n_rows)
    if outside.any():
        raise ValueError(f"{name} holds {rows[outside][0]}, but qid has {n_rows} rows, from 0.")
    return rows


def _weights(weight: ArrayLike | None, n: int) -> Floats:
    weight = np.ones(n) if weight is None else as_array(weight, "weight").astype(float)
    if weight.shape != (n,):
        raise ValueError(f"weight has shape {weight.shape} for {n} preferences.")
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        raise ValueError(
            f"The weight of a preference is {weight[bad][0]}: weights are finite and "
            "non-negative; turn a negative one round."
        )
    return weight


def _pairs_within(queries: Queries) -> tuple[Ints, Ints]:
    """All unordered pairs of documents of a query, in row numbers."""
    rows = np.arange(queries.n_rows)
    # Each document is paired with the later ones of its query.
    later = queries.repeat(queries.ptr[1:]) - rows - 1
    first = np.repeat(rows, later)
    begin = np.cumsum(later) - later
    second = first + 1 + np.arange(len(first)) - np.repeat(begin, later)
    order = rows if queries.order is None else queries.order
    return order[first], order[second]


def _follow(
    winner: Ints, loser: Ints, documents: Ints, n_documents: int
) -> tuple[Ints, Ints, Ints]:
    """Return the edges in a selection, which may repeat documents, and their ends as places."""
    by_document = np.argsort(documents, kind="stable")
    count = np.bincount(documents, minlength=n_documents)
    begin = np.cumsum(count) - count
    copies = count[winner] * count[loser]
    edge = np.repeat(np.arange(len(winner)), copies)
    within = np.arange(len(edge)) - np.repeat(np.cumsum(copies) - copies, copies)
    first, second = np.divmod(within, count[loser[edge]]) if len(edge) else (within, within)
    first, second = begin[winner[edge]] + first, begin[loser[edge]] + second
    return edge, by_document[first], by_document[second]
