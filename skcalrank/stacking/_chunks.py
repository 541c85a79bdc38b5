"""Fits of linear views in one pass over chunks of whole queries, whose columns are not kept."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from ..columns.tables import EncodedTable
from ..columns.types import Bools, Floats, Ints
from ..data import Queries, Rows, among, each, workers_of_fit
from ..pipeline import naming_columns
from ..preprocessing import LinearColumns, TableMatrix, curve_of, fit_together, transform_together
from ..rankers import FitInChunks, learns_in_chunks
from ._streamed import OverChunks, Streamed
from ._views import LinearView, kind_of

# Number of rows of a chunk, but for longer queries.
_ROWS = 2048


def fitted_together(members: list[tuple[str, Any]], rows: Rows) -> list[int]:
    """Return the numbers of the rankers that one pass over rows of several queries can fit."""
    n_rows = workers_of_fit().reduce(rows.n_rows, sum)
    numbers = [k for k, (_, ranker) in enumerate(members) if _fits_in_chunks(ranker, rows, n_rows)]
    return numbers if len({members[k][1].steps[0][1].max_categories for k in numbers}) == 1 else []


def _fits_in_chunks(ranker: Any, rows: Rows, n_rows: int) -> bool:
    """Return whether a ranker is a linear view that sums over chunks of rows determine."""
    if type(ranker) is not LinearView or len(ranker.steps) != 2:
        return False
    columns, last = (step for _, step in ranker.steps)
    if type(columns) is not LinearColumns or kind_of(columns.curve) is None:
        return False
    encoder = getattr(rows.table, "encoder", None)
    n_levels = 0 if encoder is None else len(encoder.categorical_) * (columns.max_categories + 1)
    n_columns = (getattr(columns.curve, "n_knots", 2) - 1) * rows.X.shape[1] + n_levels
    is_dense = isinstance(rows.X, (np.ndarray, TableMatrix))
    return is_dense and learns_in_chunks(last, n_rows, n_columns)


def fit_views(views: list[LinearView], plan: Any) -> list[tuple[LinearView, Floats]]:
    """Return linear views that are fitted to all rows, each with its out-of-fold scores.

    The columns, which do not depend on labels, are learned from all rows. The rankers are fitted to
    the rows that train, score the held-out ones, and learn these.
    """
    rows, X, small = plan.rows, plan.X, plan.sample
    kept, held_out = plan.splits[0]
    columns = [clone(view.steps[0][1]) for view in views]
    tested, of_tested = rows, X
    if small is not None:
        numbers = np.full(rows.n_rows, -1)
        numbers[plan.sampled] = np.arange(small.rows.n_rows)
        of_tested, tested = small.X, replace(rows, numbers=numbers)
        chunks = OverChunks(X, np.isin(np.arange(X.shape[0]), rows.numbers))
        with among(chunks):
            fit_together(columns, X.table(), X.qid, rows=chunks.rows)
    else:
        encoder = getattr(rows.table, "encoder", None)
        if len(X) > rows.n_rows:
            of_tested = X = X[rows.numbers]
            tested = rows = replace(rows, numbers=np.arange(rows.n_rows))
        fit_together(columns, EncodedTable(X, encoder, None), rows.codes, rows.numbers)
    rankers = [view.steps[1][1] for view in views]
    fitted, _ = _Chunks(columns, rankers, X, rows, kept, plan.of_targets).learn()
    test = _Chunks(columns, rankers, of_tested, tested, held_out, plan.of_targets)
    others, scores = test.learn(fitted)
    of_rows = np.full((len(views), len(kept)), np.nan)
    of_rows[:, held_out] = scores
    out = []
    for view, made, ranker, other, of_view in zip(views, columns, fitted, others, of_rows):
        whole = clone(view)
        whole.steps = [(view.steps[0][0], made), (view.steps[1][0], ranker.merge(other))]
        whole.has_qid_ = True
        out.append((whole, of_view))
    return out


class _Chunks:
    """Some of the rows, in chunks of whole queries, and what is learned from them."""

    def __init__(
        self,
        columns: list[Any],
        rankers: list[Any],
        X: Floats,
        rows: Rows,
        mask: Bools,
        of_targets: bool,
    ) -> None:
        self._columns, self._X = columns, X
        chosen = np.flatnonzero(mask)
        if isinstance(X, Streamed):
            chosen = chosen[np.argsort(rows.numbers[chosen])]  # type: ignore[index]
        self._rows = replace(rows.without_features(), table=None).take(chosen)
        self._numbers: Any = self._rows.numbers
        self._fits = FitInChunks.of(rankers, self._rows, of_targets=of_targets)

    def learn(self, scorers: list[Any] | None = None) -> tuple[list[Any], list[Floats]]:
        """Return the rankers fitted to the rows, and the scores of the rows by fitted rankers."""
        scores, is_read = np.empty((len(scorers or []), self._rows.n_rows)), False

        def of_rows() -> list[Any]:
            nonlocal is_read
            is_read = True
            self._read(scorers, scores, learns=True)
            return [fit.learned() for fit in self._fits]

        learned = workers_of_fit().total(of_rows, FitInChunks.merged)
        if scorers and not is_read:  # the moments were known already
            self._read(scorers, scores, learns=False)
        return [fit.fitted(of) for fit, of in zip(self._fits, learned)], list(scores)

    def _read(self, scorers: list[Any] | None, scores: Floats, *, learns: bool) -> None:
        """Read the rows once, whole queries at a time, to learn from them and to score them."""

        def of_chunk(X: Any, numbers: Ints, first: int, chunk: Any) -> list[Any]:
            _, rows, queries = chunk
            pick = slice(first + rows.start, first + rows.stop)
            curves, moments = partial(curve_of, queries=queries), []
            columns = transform_together(self._columns, X[numbers[rows]], curves)
            for number, made in enumerate(columns):
                if learns:
                    with naming_columns([self._columns[number]]):
                        moments.append(self._fits[number].moments_of(made, queries, pick))
                if scorers is not None:
                    scores[number, pick] = scorers[number].predict(made)
            return moments

        def add(moments: list[Any]) -> None:
            for fit, of_fit in zip(self._fits, moments):
                fit.add(of_fit)

        for X, numbers, first, queries in self._blocks():
            each(partial(of_chunk, X, numbers, first), list(queries.parts(_ROWS)), add)

    def _blocks(self) -> Iterator[tuple[Floats, Any, int, Queries]]:
        """Yield features, the numbers of rows in them, the first of the rows, and their queries."""
        queries, numbers = self._rows.queries, self._numbers
        if not isinstance(self._X, Streamed):
            yield self._X, numbers, 0, queries
            return
        for start, X in self._X.blocks():
            ends = np.searchsorted(numbers, [start, start + len(X)])
            first, last = np.searchsorted(queries.ptr, ends)
            if first < last:
                ptr = queries.ptr[first : last + 1] - ends[0]
                yield X, numbers[ends[0] : ends[1]] - start, int(ends[0]), Queries(ptr)
