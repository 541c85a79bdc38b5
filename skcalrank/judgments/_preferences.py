"""Weighted preferences between documents, as a target that is sliced by rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, issparse
from scipy.sparse.csgraph import connected_components

from ..columns import arrays, tables
from ..columns.types import Array, ArrayLike, Bools, Floats, Ints, Matrix
from ..data import (
    Judgments,
    Queries,
    Target,
    check,
    check_own_qid,
    check_qid,
    chosen_rows,
    factorized,
    plain,
)
from ._click_log import concatenated, identifiers, integers
from ._votes import Votes, finite_numbers, paired_items

#: Names of the formulas that turn relevances into weights of preferences.
PREFERENCE_WEIGHTS = ("difference", "unit")


@dataclass(eq=False, repr=False)
class PreferenceTarget(Judgments):
    """Weighted preferences between the documents of a query: which document beats which.

    Build a target with one of the constructors :meth:`from_frame`, :meth:`from_comparisons`,
    :meth:`from_choices`, :meth:`from_relevance`, :meth:`from_orders`, :meth:`from_matrix` and
    :meth:`from_matrices`, which validate their arguments. The target carries its queries. It has a
    length and is sliced by rows like an array, so that every splitter of scikit-learn accepts it as
    ``y``; preferences for or against rows that are removed are removed too.

    Parameters
    ----------
    winner, loser, weight, judgment, n_rows, qid, n_items
        Values of the attributes, which are not validated.

    Attributes
    ----------
    winner, loser : ndarray of shape (n_preferences,)
        Documents that win and lose. A document is a row number in the subset-ranking form, and
        ``row * n_items + item`` in the label-ranking form.
    weight : ndarray of shape (n_preferences,)
        Non-negative weight of each preference.
    judgment : ndarray of shape (n_preferences,)
        Identifier of the judgment that a preference belongs to, see :attr:`n_judgments`.
    n_rows : int
        Number of rows, the length of the target.
    qid : ndarray of shape (n_rows,) or None
        Query of each row; None if all rows are one query, and in the label-ranking form.
    n_items : int or None
        Number of items that every row ranks in the label-ranking form, else None.

    See Also
    --------
    RankingTarget : One relevance per document.
    ClickSessions : Lists of shown documents and clicks.
    PairwiseDisagreementRanker : A ranker for preferences.

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
        "pass it unchanged to PairwiseDisagreementRanker, pairwise_disagreement_loss or another "
        "function that accepts preferences."
    )

    winner: Ints
    loser: Ints
    weight: Floats
    judgment: Array
    n_rows: int
    qid: Array | None = None
    n_items: int | None = None
    # Names of the items in the label-ranking form, if the labels or positions had any.
    item_names: tuple[str, ...] | None = field(default=None, init=False)

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
        """Return a target from preferences given one by one.

        Parameters
        ----------
        winner_rows, loser_rows : array-like of int of shape (n_preferences,)
            Row numbers of the documents that win and of the documents that lose.
        qid : array-like of shape (n_rows,)
            Query of each row.
        weight : array-like of shape (n_preferences,), default=None
            Non-negative weights. If None, all weights are 1.
        judgment : array-like of shape (n_preferences,), default=None
            Identifier of the judgment that each preference belongs to; preferences that were
            stated together share it. If None, each preference is a judgment of its own.
        require_dag : bool, default=False
            Whether to check that every judgment is a directed acyclic graph.

        Returns
        -------
        target : PreferenceTarget

        Raises
        ------
        ValueError
            If a row does not exist, a preference is between different queries or of a row over
            itself, a weight is negative, or, with `require_dag`, a judgment has a cycle.
        """
        rows: dict[str, Any] = {"winner_rows": winner_rows, "loser_rows": loser_rows}
        check.row_order(**rows, weight=weight, judgment=judgment)
        index, qid = check.index_of(qid), check_own_qid(qid)
        winner, loser = (_row_numbers(of, name, len(qid)) for name, of in rows.items())
        check.equally_many("Preferences", **rows, judgment=judgment)
        judgment = np.arange(len(winner)) if judgment is None else judgment
        judgment = check_own_qid(judgment, "judgment")
        weight = _weights(weight, len(winner))
        codes = Queries.from_qid(qid).codes
        across = codes[winner] != codes[loser]
        if across.any():
            w, l = winner[across][0], loser[across][0]
            raise ValueError(
                "Preferences must be between rows of one query, got row "
                f"{w} of query {plain(qid[w])!r} over row {l} of query {plain(qid[l])!r}."
            )
        out = cls(winner, loser, weight, judgment, len(qid), qid)
        return out._checked(require_dag, index)

    @classmethod
    def from_choices(
        cls,
        shown: ArrayLike,
        chosen: ArrayLike,
        qid: ArrayLike,
        *,
        weight: ArrayLike | None = None,
    ) -> PreferenceTarget:
        """Return a target of choices: of a set of rows that was shown, one or several were chosen.

        The set has no order (selection data: DMJ13, section 2). Each choice is a judgment, in which
        every chosen row beats every other row of its set. For lists that are read from the top, see
        :class:`ClickSessions`.

        Parameters
        ----------
        shown : array-like of int of shape (n_choices, m), or sequence of such arrays (m_i,)
            Row numbers of the documents of each set.
        chosen : array-like of int of shape (n_choices,), or sequence of such arrays
            Row number, or row numbers, of the documents that were chosen from each set.
        qid : array-like of shape (n_rows,)
            Query of each row.
        weight : array-like of shape (n_choices,), default=None
            Non-negative weights of the preferences of each choice. If None, all weights are 1.

        Returns
        -------
        target : PreferenceTarget

        Raises
        ------
        ValueError
            If a row does not exist, a set has rows of several queries or one twice, none or all of
            its rows were chosen, a row was chosen that was not shown, or a weight is negative.

        Examples
        --------
        >>> from skcalrank import PreferenceTarget
        >>> from skcalrank.aggregation import win_rate
        >>> y = PreferenceTarget.from_choices([[0, 1, 2], [1, 2]], [1, 2], qid=["a", "a", "a"])
        >>> y.winner, y.loser, y.judgment
        (array([1, 1, 2]), array([0, 2, 1]), array([0, 0, 1]))
        >>> win_rate(y)
        array([0.  , 0.75, 0.5 ])
        """
        check.row_order(shown=shown, chosen=chosen, weight=weight)
        n_rows = len(check_own_qid(qid))
        rows, sets, n = _rows_of_sets(shown, "shown", n_rows)
        own, by, n_chosen = _rows_of_sets(chosen, "chosen", n_rows)
        if n != n_chosen:
            raise ValueError(f"chosen must have {n} entries, one per set, got {n_chosen}.")
        taken = np.isin(sets * n_rows + rows, by * n_rows + own)
        ahead, behind = (np.bincount(sets[of], minlength=n) for of in (taken, ~taken))
        wrong = (ahead != np.bincount(by, minlength=n)) | (ahead == 0) | (behind == 0)
        if wrong.any():
            at = int(wrong.argmax())
            raise ValueError(
                "chosen must be some of the rows that were shown, each once, and not all of them, "
                f"got {own[by == at].tolist()} of {rows[sets == at].tolist()}. Leave sets out "
                "without a choice."
            )
        # Each chosen row is paired with all rows of its set that were not chosen.
        others, _ = arrays.ranges(np.append(0, np.cumsum(behind)), by)
        winner, judgment = np.repeat(own, behind[by]), np.repeat(by, behind[by])
        weight = _weights(weight, n)[judgment]
        loser = rows[~taken][others]
        return cls.from_comparisons(winner, loser, qid, weight=weight, judgment=judgment)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        winner: str = "winner",
        loser: str = "loser",
        a: str = "model_a",
        b: str = "model_b",
        outcome: str | None = None,
        outcomes: Mapping[Any, str] | None = None,
        judge: str | None = None,
        weight: str | None = None,
    ) -> PreferenceTarget:
        """Return a target of a table of comparisons by name, in the label-ranking form.

        Use it for matches, votes and annotations: a row says which of two items won, or that none
        did.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, or Table of pyarrow
            One row for each comparison.
        winner, loser : str
            Columns of the names of the items. Names that are not text become text.
        a, b : str
            Columns of the names of the items where `outcome` says which of the two won.
        outcome : str, default=None
            Column of who won, `a` or `b`, in the words of
            :func:`~skcalrank.evaluation.leaderboard`, or a tie: two opposite preferences of half
            the weight, of one judgment. If None, `winner` and `loser` say it.
        outcomes : dict, default=None
            What other words of `outcome` mean: "a", "b" or "tie".
        judge : str, default=None
            Column of the judge, whose comparisons are a row of the target, in order of appearance.
            If None, the target has a single row.
        weight : str, default=None
            Column of non-negative weights. If None, all weights are 1.

        Returns
        -------
        target : PreferenceTarget
            With the names of the items, sorted, in ``item_names``.

        Raises
        ------
        ValueError
            If a column is not there or lacks a value, an outcome is not known, a weight is
            negative, two items have one name as text, or an item is compared with itself.

        See Also
        --------
        skcalrank.evaluation.leaderboard : Scores of items with errors and ranks.

        Examples
        --------
        >>> from skcalrank import PreferenceTarget
        >>> from skcalrank.aggregation import bradley_terry, kemeny
        >>> from pandas import DataFrame
        >>> won = [("Ann", "Bob"), ("Ann", "Cid"), ("Bob", "Cid"), ("Cid", "Bob")]
        >>> matches = DataFrame(won, columns=["winner", "loser"])
        >>> y = PreferenceTarget.from_frame(matches)
        >>> kemeny(y).order[0]
        'Ann'
        >>> dict(zip(y.item_names, bradley_terry(y)[0].round(2).tolist()))
        {'Ann': 0.25, 'Bob': -0.12, 'Cid': -0.12}
        >>> columns = {"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["a", "tie"]}
        >>> votes = DataFrame(columns)
        >>> PreferenceTarget.from_frame(votes, outcome="winner").weight
        array([1. , 0.5, 0.5])
        """
        if outcome is None:
            _refuse_votes(frame, winner, loser)
            names, first, second = paired_items(frame, winner, loser)
            won = np.ones(len(first))
        else:
            names, first, second, won = Votes.read(frame, a, b, outcome, outcomes)
        r, row, n_rows = len(names), np.zeros(len(won), dtype=np.intp), 1
        if judge is not None:
            row, distinct = factorized(identifiers(frame, judge, "frame").codes)
            n_rows = len(distinct)
        of_votes = _weights(None if weight is None else finite_numbers(frame, weight), len(row))
        # A tie is once a win of each, of half the weight.
        tied = np.flatnonzero(won == 0.5)
        votes = np.append(np.arange(len(row)), tied)
        swapped = np.append(won < 0.5, np.ones(len(tied), dtype=bool))
        winners = np.where(swapped, second[votes], first[votes])
        out = cls(
            row[votes] * r + winners,
            row[votes] * r + (first[votes] + second[votes] - winners),
            np.where(won[votes] == 0.5, 0.5, 1.0) * of_votes[votes],
            votes,
            n_rows,
            None,
            r,
        )
        out.item_names = tuple(names.tolist())
        return out._checked(False)

    @classmethod
    def from_relevance(
        cls, y: ArrayLike, qid: ArrayLike | None = None, *, weights: str = "difference"
    ) -> PreferenceTarget:
        """Return a target of all preferences that relevances imply.

        The weight of the preference for document i over document j is ``(y_i - y_j)_+``
        ("difference") or ``1(y_i > y_j)`` ("unit", as in Kendall's tau). All pairs are held in
        memory. Rankers and metrics never build the pairs, so pass them `y` itself unless you need
        the pairs.

        Parameters
        ----------
        y : array-like of shape (n_rows,) or (n, r)
            Relevances, higher is better.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        weights : {"difference", "unit"}, default="difference"
            Weight of a preference.

        Returns
        -------
        target : PreferenceTarget
        """
        check.option("weights", weights, PREFERENCE_WEIGHTS)
        qid = check.carried_qid(y, qid)
        index = check.index_of(qid, y)
        grouped, queries = check.target(y, qid)
        values = queries.ungroup(grouped)
        n_rows, *columns = np.shape(y)
        n_items = columns[0] if columns and columns[0] > 1 else None
        qid = None if qid is None else np.array(check_qid(qid, n_rows))
        first, second = _pairs_within(queries)
        ahead, apart = values[first] > values[second], values[first] != values[second]
        winner, loser = np.where(ahead, [first, second], [second, first])[:, apart]
        with np.errstate(over="ignore"):
            gap = values[winner] - values[loser] if weights == "difference" else None
        weight = _weights(gap, len(winner))
        out = cls(winner, loser, weight, _together(winner), n_rows, qid, n_items)
        # If rows of y were removed, preferences of these rows are missing as well.
        out.origin = y.origin if isinstance(y, Target) else None
        out.item_names = check.item_names(y)
        out.index = index
        return out

    @classmethod
    def from_orders(cls, positions: ArrayLike) -> PreferenceTarget:
        """Return a target of unit preferences from orders, in the label-ranking form.

        Parameters
        ----------
        positions : array-like of shape (n, r)
            1-based position of each item; NaN, None or NA if the item is unranked, which implies
            no preference for or against it.

        Returns
        -------
        target : PreferenceTarget
        """
        ranks, names = arrays.exact_ranks(positions, "positions"), check.item_names(positions)
        index = check.index_of(positions)
        positions = arrays.numbers(positions if ranks is None else ranks + 1, "positions")
        if positions.ndim != 2 or positions.shape[1] < 2:
            raise ValueError(
                f"positions must have shape (n, r) with r >= 2 items, got {positions.shape}."
            )
        if (positions < 1).any() or np.isinf(positions).any():
            raise ValueError(
                "positions must be finite and >= 1, or NaN for an unranked item, got "
                f"{positions[(positions < 1) | np.isinf(positions)][0]:g}."
            )
        n, r = positions.shape
        row, i, j = np.nonzero(positions[:, :, None] < positions[:, None, :])
        out = cls(row * r + i, row * r + j, np.ones(len(row)), _together(row), n, None, r)
        out.item_names, out.index = names, index
        return out

    @classmethod
    def from_matrix(
        cls, Y: Matrix, qid: ArrayLike, *, require_dag: bool = False
    ) -> PreferenceTarget:
        """Return a target from a matrix whose columns are local indices within a query.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n_rows, n_columns)
            If ``Y[i, k] > 0``, row ``i`` is preferred to row ``k`` of its query with this weight.
            Rows of a query are counted from 0, in the order in which they are given.
        qid : array-like of shape (n_rows,)
            Query of each row.
        require_dag : bool, default=False
            Whether to check that the preferences of every query form a directed acyclic graph.

        Returns
        -------
        target : PreferenceTarget
        """
        check.row_order(Y=Y, qid=qid)
        matrix: Any = coo_matrix(Y if issparse(Y) else arrays.numbers(Y, "Y"))
        # Entries of one place are added by scipy in their own type, which may be too small.
        entries = matrix.data.astype(float), (matrix.row, matrix.col)
        matrix = csr_matrix(entries, shape=matrix.shape).tocoo()
        index, qid = check.index_of(qid), np.array(check_qid(qid, matrix.shape[0]))
        queries = Queries.from_qid(qid)
        codes = queries.codes
        nonzero = matrix.data != 0
        winner, local = matrix.row[nonzero].astype(np.intp), matrix.col[nonzero]
        weight = matrix.data[nonzero]
        beyond = local >= queries.sizes[codes[winner]]
        if beyond.any():
            w, k = winner[beyond][0], local[beyond][0]
            raise ValueError(
                f"Columns of Y must be local indices within the query, got Y[{w}, {k}] != 0 for "
                f"query {plain(qid[w])!r}, which has only {queries.sizes[codes[w]]} documents."
            )
        by_query = np.arange(len(qid)) if queries.order is None else queries.order
        loser = by_query[queries.ptr[codes[winner]] + local]
        weight = _weights(weight, len(winner))
        out = cls(winner, loser, weight, _together(winner), len(qid), qid)
        return out._checked(require_dag, index)

    @classmethod
    def from_matrices(cls, Y: ArrayLike, *, require_dag: bool = False) -> PreferenceTarget:
        """Return a target from one matrix per row, in the label-ranking form.

        Parameters
        ----------
        Y : array-like of shape (n, r, r)
            If ``Y[n, i, j] > 0``, item ``i`` is preferred to item ``j`` in row ``n``, with this
            weight.
        require_dag : bool, default=False
            Whether to check that every matrix is the adjacency of a directed acyclic graph.

        Returns
        -------
        target : PreferenceTarget
        """
        Y = arrays.as_array(Y, "Y").astype(float)
        if Y.ndim != 3 or Y.shape[1] != Y.shape[2] or Y.shape[1] < 2:
            raise ValueError(f"Y must have shape (n, r, r) with r >= 2, got {Y.shape}.")
        row, i, j = np.nonzero(Y)
        r = Y.shape[1]
        weight = _weights(Y[row, i, j], len(row))
        out = cls(row * r + i, row * r + j, weight, _together(row), len(Y), None, r)
        return out._checked(require_dag)

    def _checked(self, require_dag: bool, index: Any = None) -> PreferenceTarget:
        """Return the target with an index; raise for what its preferences must not be."""
        self.index, itself = index, self.winner == self.loser
        if itself.any():
            raise ValueError(
                "Preferences must be between different documents, got "
                f"{self.document_name(self.winner[itself][0])} over itself. Drop this preference."
            )
        if require_dag:
            self._check_dags()
        return self

    def _check_dags(self) -> None:
        """Raise ValueError for the first judgment that has a cycle."""
        queries = self.queries()
        code_of = queries.codes[self.winner]
        number, _ = factorized(self.judgment)
        order = np.lexsort((number, code_of))
        new = arrays.run_starts(code_of[order], number[order])
        for edges in np.split(order, new)[1:]:
            if not is_acyclic(self.winner[edges], self.loser[edges]):
                raise ValueError(
                    "Judgments must be directed acyclic graphs, got a cycle in judgment "
                    f"{plain(self.judgment[edges[0]])!r} of query "
                    f"{queries.name(code_of[edges[0]])!r}. Drop require_dag to accept cycles."
                )

    # -- interface of targets ------------------------------------------------------

    def __len__(self) -> int:
        return self.n_rows

    def check_qid_beside(self, qid: ArrayLike | None) -> None:
        """Raise ValueError if a qid is passed with preferences that were built without one."""
        if qid is None or self.qid is not None:
            return
        if self.n_items is not None:
            raise ValueError(
                "qid was given together with preferences in the label-ranking form, where every "
                "row is a query of its own: drop qid."
            )
        raise ValueError(
            "qid was given together with a PreferenceTarget that was built without a qid. Build "
            "the target with this qid, so that its preferences are checked to be within queries."
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
        target = PreferenceTarget(winner, loser, weight, judgment, len(rows), qid, self.n_items)
        target.origin, target.item_names = self.origin_of(rows), self.item_names
        target.index = self._index_at(rows)
        return target

    def _arrays(self) -> tuple[Array, ...]:
        return self.winner, self.loser, self.weight, self.judgment

    # -- properties of the preferences ----------------------------------------------

    def document_name(self, document: int) -> str:
        """Return what a document is called in messages.

        Parameters
        ----------
        document : int
            Number of the document, as in the attributes.
        """
        if self.n_items is None:
            return f"document {document}"
        row, item = divmod(document, self.n_items)
        if self.item_names is not None:
            return repr(self.item_names[item])
        return f"item {item}" + f" of row {row}" * (len(self) > 1)

    @property
    def n_judgments(self) -> Ints:
        """Number of distinct judgments of each query, of shape (n_queries,)."""
        queries, number = self.queries(), factorized(self.judgment)[0]
        return _n_distinct(queries.codes[self.winner], number, queries.n_queries)

    @property
    def evidence(self) -> Ints:
        """Number of judgments that compare each document, of shape (n_rows,) or (n, r)."""
        stated = self.weight > 0
        number = np.tile(factorized(self.judgment)[0][stated], 2)
        documents = np.append(self.winner[stated], self.loser[stated])
        counts = _n_distinct(documents, number, len(self) * (self.n_items or 1))
        return counts if self.n_items is None else counts.reshape(-1, self.n_items)

    @property
    def is_silent(self) -> bool:
        """Whether no preference has a positive weight."""
        return not (self.weight > 0).any()

    @property
    def is_of_orders(self) -> bool:
        """Whether all weights are 1 and no pair of documents occurs twice, as in orders."""
        pairs = np.unique(np.sort(np.column_stack([self.winner, self.loser]), axis=1), axis=0)
        return bool((self.weight == 1).all()) and len(pairs) == len(self.winner)

    def net_preference(self) -> Floats:
        """Return the net preference ``sum_j (y_ij - y_ji)`` of each document i.

        Returns
        -------
        net : ndarray of shape (n_rows,) or (n, r)
            Of shape (n, r) in the label-ranking form.
        """
        n = len(self) * (self.n_items or 1)
        net: Array = np.bincount(self.winner, self.weight, n)
        net -= np.bincount(self.loser, self.weight, n)
        return net if self.n_items is None else net.reshape(len(self), self.n_items)

    def adjacency(self) -> csr_matrix:
        """Return the weights ``y_ij`` between all documents, in grouped order.

        Returns
        -------
        matrix : CSR matrix of shape (n_documents, n_documents)
            Weights of repeated preferences are summed.
        """
        queries = self.queries()
        place = queries.ungroup(np.arange(queries.n_rows))
        ends = (place[self.winner], place[self.loser])
        return csr_matrix((self.weight, ends), shape=(queries.n_rows, queries.n_rows))

    def share_lost_in_ties(self, tied: Bools, breaking: str) -> Floats:
        """Return the share of each preference between tied documents that is violated.

        Ties are broken in the order of the tied documents that is best or worst for the pairwise
        disagreement. If the net preferences between tied documents have a cycle, finding this
        order is a feedback arc set problem, which is not attempted.

        Parameters
        ----------
        tied : ndarray of bool of shape (n_preferences,)
            Whether the two documents of a preference have equal scores.
        breaking : {"best", "worst"}
            How to break the ties.

        Returns
        -------
        share : ndarray of shape (n_tied,)
            0 or 1, or 1/2 if the opposite preferences of a pair have equal weight.

        Raises
        ------
        ValueError
            If the net preferences between tied documents have a cycle.
        """
        winner, loser, weight = self.winner[tied], self.loser[tied], self.weight[tied]
        ends = np.sort(np.column_stack([winner, loser]), axis=1)
        pair = np.unique(ends, axis=0, return_inverse=True)[1].ravel()
        sign = np.where(winner < loser, 1.0, -1.0)
        net = np.bincount(pair, sign * weight)[pair] * sign
        if not is_acyclic(winner[net > 0], loser[net > 0]):
            raise ValueError(
                f"ties={breaking!r} requires acyclic preferences between documents of equal "
                f"score, got a cycle, for which finding the {breaking} order is NP-hard. Use "
                "ties='average' or 'stable'."
            )
        # Any order violates exactly one of two opposite preferences of equal weight.
        return np.where(net == 0, 0.5, net < 0 if breaking == "best" else net > 0)

    def matrices(self) -> Iterator[Floats]:
        """Yield the dense (r, r) matrix ``y_ij`` of each query of r documents.

        Weights of repeated preferences are summed. Queries are in order of first appearance, and
        their documents in row order.
        """
        whole, ptr = self.adjacency(), self.queries().ptr
        for start, stop in pairwise(ptr):
            yield whole[start:stop, start:stop].toarray()


def is_acyclic(winner: Ints, loser: Ints) -> bool:
    """Return whether the graph of the edges winner -> loser has no directed cycle."""
    ends = factorized(np.concatenate([winner, loser]))[0].reshape(2, -1)
    n = int(ends.max(initial=-1)) + 1
    graph = csr_matrix((np.ones(len(winner)), (ends[0], ends[1])), (n, n))
    return bool(connected_components(graph, connection="strong")[0] == n)


def _together(preferences: Array) -> Ints:
    """Return the same judgment for all preferences, so that each query has one judgment."""
    return np.zeros(len(preferences), dtype=int)


def _n_distinct(keys: Ints, numbers: Ints, n_keys: int) -> Ints:
    """Return how many distinct numbers each key has."""
    # Encode each pair of key and number as one integer.
    n_numbers = int(numbers.max(initial=0)) + 1
    return np.bincount(np.unique(keys * n_numbers + numbers) // n_numbers, minlength=n_keys)


def _row_numbers(rows: ArrayLike, name: str, n_rows: int) -> Ints:
    rows = arrays.as_array(rows, name)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be a one-dimensional array of row numbers, which are integers, got "
            f"shape {rows.shape} and dtype {rows.dtype}. Names are read by from_frame."
        )
    rows = integers(rows, name, "row number")
    outside = (rows < 0) | (rows >= n_rows)
    if outside.any():
        raise ValueError(
            f"{name} must hold row numbers from 0 to {n_rows - 1}, got {rows[outside][0]}."
        )
    return rows


def _rows_of_sets(sets: Any, name: str, n_rows: int) -> tuple[Ints, Ints, int]:
    """Return the row numbers of all sets, their sets, and the number of sets."""
    rows, sizes = concatenated(sets, name, unit="set")
    rows = _row_numbers(rows, name, n_rows)
    of = np.repeat(np.arange(len(sizes)), sizes)
    _, counts = np.unique(of * n_rows + rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{name} must hold each row of a set once, got {sets!r}.")
    return rows, of, len(sizes)


def _weights(weight: ArrayLike | None, n: int) -> Floats:
    weight = np.ones(n) if weight is None else arrays.as_array(weight, "weight").astype(float)
    if weight.shape != (n,):
        raise ValueError(
            f"weight must have shape ({n},), one weight per preference, got {weight.shape}."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        bad = np.append(weight[~(weight >= 0)], weight.sum())
    if len(bad) > 1 or not np.isfinite(bad[0]):
        raise ValueError(
            f"Weights of preferences must be non-negative with a finite sum, got {bad[0]}. "
            "Instead of a negative weight, swap winner and loser."
        )
    return weight


def _pairs_within(queries: Queries) -> tuple[Ints, Ints]:
    """Return the row numbers of all unordered pairs of documents of the same query."""
    rows = np.arange(queries.n_rows)
    # Each document is paired with the later ones of its query.
    ends = np.column_stack([rows + 1, queries.repeat(queries.ptr[1:])]).ravel()
    second, ptr = arrays.ranges(ends, 2 * rows)
    order = queries.group(rows)
    return order[np.repeat(rows, np.diff(ptr))], order[second]


def _refuse_votes(frame: Any, winner: str, loser: str) -> None:
    """Raise ValueError for a table of votes whose winner is neither of the two columns."""
    columns = tables.column_names(frame) or []
    sides, named = {"model_a", "model_b"}, {winner, loser}
    if sides <= {*columns} and not (named <= {*columns} and named.isdisjoint(sides)):
        raise ValueError(
            f"frame holds votes of 'model_a' and 'model_b', got winner={winner!r} and "
            f"loser={loser!r}, which are not who won and who lost: name the column of the result, "
            "outcome='winner', which may be a tie."
        )


def _follow(
    winner: Ints, loser: Ints, documents: Ints, n_documents: int
) -> tuple[Ints, Ints, Ints]:
    """Return the edges whose two ends are selected, and the places of their ends.

    * `winner`, `loser` (n_edges,): documents at the ends of each edge.
    * `documents` (n_selected,): the selected documents. An edge between repeated documents is
      repeated for every copy.
    * `n_documents`: number of documents to select from.

    Returns `edge`: numbers of the edges.
    Returns `winner_place, loser_place`: indices into `documents` of the ends of each edge.
    """
    by_document = np.argsort(documents, kind="stable")
    count = np.bincount(documents, minlength=n_documents)
    begin = np.cumsum(count) - count
    copies = count[winner] * count[loser]
    edge = np.repeat(np.arange(len(winner)), copies)
    within = np.arange(len(edge)) - np.repeat(np.cumsum(copies) - copies, copies)
    first, second = np.divmod(within, count[loser[edge]]) if len(edge) else (within, within)
    first, second = begin[winner[edge]] + first, begin[loser[edge]] + second
    return edge, by_document[first], by_document[second]
