"""Fits of least-squares rankers to columns that are made in chunks of whole queries."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._solvers import Moments, merge_all
from ..columns.types import Floats, Self
from ..data import ALONE, Queries, Rows, among, workers_of_fit
from ._plan import Call
from ._positional import LeastSquaresRanker
from ._record import FitRecord
from ._regression import is_wide, moments_of
from ._score import ScoreRanker


def learns_in_chunks(ranker: Any, n_rows: int, n_columns: int) -> bool:
    """Return whether a ranker of documents learns dense columns from sums over whole queries."""
    if type(ranker) is not LeastSquaresRanker:
        return False
    plan = ranker._check_params()
    rows = Rows(np.broadcast_to(0.0, (n_rows, n_columns)), None, Queries.equal(1, n_rows))
    in_chunks = plan.regressor is None and plan.in_chunks and plan.loss == "pairwise_squared"
    return in_chunks and not is_wide(rows, plan.loss)


class Learned(NamedTuple):
    """What a closed form learns from whole queries."""

    record: FitRecord
    moments: Moments


class FitInChunks:
    """A fit of a least-squares ranker to columns that are made chunk by chunk.

    Moments of chunks may be computed by several threads, and are added in one order by one.

    * `ranker`: ranker without `estimator`; a clone of it is fitted.
    * `rows`: labels, queries and weights of all rows, each query contiguous. X is not read.
    * `of_targets`: whether the labels are targets.
    """

    def __init__(self, ranker: ScoreRanker, rows: Rows, *, of_targets: bool) -> None:
        self._ranker = clone(ranker)
        self._plan, self._n_rows = self._ranker._check_params(Call(of_targets)), rows.n_rows
        self._sum: Any = None
        # Others may hold rows if this worker has none.
        if rows.n_rows:
            # A column stands for those to come, beside which everything else is validated.
            beside = np.zeros((rows.n_rows, 1)), rows.in_order(rows.y), rows.qid, rows.weight
            with among(ALONE):
                self._plan, rows, self._targets = self._ranker._problem(self._plan, *beside)
                self._weight = self._plan.weighed(rows).weight
                record = self._ranker._record_of(self._plan, rows, self._targets)
            # Several workers number their queries themselves.
            several = workers_of_fit().size > 1
            self._record = replace(record, names=frozenset()) if several else record

    @classmethod
    def of(cls, rankers: list[Any], rows: Rows, *, of_targets: bool) -> list[Self]:
        """Return a fit of each ranker; rows are prepared once for those of equal parameters."""
        fits: list[Self] = []
        for ranker in rankers:
            params = ranker.get_params()
            same = [fit for fit in fits if fit._ranker.get_params() == params]
            fits.append(copy(same[0]) if same else cls(ranker, rows, of_targets=of_targets))
            fits[-1]._ranker = clone(ranker)
        return fits

    def moments_of(self, columns: Floats, queries: Queries, rows: slice) -> Moments:
        """Return the moments of the columns of some rows, which are whole queries."""
        chunk = Rows(columns, None, queries, None if self._weight is None else self._weight[rows])
        return moments_of(chunk, self._targets[rows, None], self._plan.loss, False)()

    def add(self, moments: Moments) -> None:
        """Add the moments of some rows, which are about zero, in place."""
        if self._sum is None:
            self._sum = moments
            return
        self._sum.gram[:] += moments.gram
        self._sum.moment[:] += moments.moment
        self._sum = self._sum._replace(total=self._sum.total + moments.total)

    def learned(self) -> Learned | None:
        """Return what was learned from the rows whose moments were added; None of no rows."""
        return Learned(self._record, self._sum) if self._n_rows else None

    @staticmethod
    def merged(parts: Sequence[Sequence[Learned | None]]) -> list[Learned]:
        """Return what is learned from the rows of all workers, each with a list of several fits."""
        out = []
        for of_fit in zip(*parts):
            records, moments = zip(*(learned for learned in of_fit if learned is not None))
            out.append(Learned(records[0].merge(records[1:]), merge_all(moments)))
        return out

    def fitted(self, learned: Learned) -> ScoreRanker:
        """Return the ranker, fitted to what is learned from the rows of all workers."""
        return self._ranker._fitted_to(self._plan, *learned)
