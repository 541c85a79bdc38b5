"""The scores of a stack of a table as arithmetic on the columns of one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ..boosting import tree_scores
from ..columns.types import Floats, Ints
from ..data import Queries
from ..pipeline import QueryPipeline
from ..preprocessing import (
    LinearColumns,
    ScaledBeside,
    TableEncoder,
    hinges_of,
    scaled_beside,
    scaled_within,
    signed_log1p,
)
from ..trees import TreeScores
from ._members import scaled, units_within
from ._views import LinearView, kind_of, trees_behind


@dataclass(eq=False)
class CompiledScorer:
    """Scores of fitted linear views and trees, computed from one matrix.

    * `views`: linear rankers, which share the columns of numbers and their means.
    * `weights` (n_members,): weights of the views, then of the trees.
    * `spreads` (n_members,): what their scores are divided by, unless they are normalized in each
      query.
    * `by_query`: whether scores are normalized in each query.
    * `encoder`: reader of the matrix, if it is made of a table.
    * `beside`: columns that trees also read scaled within the query, to the right of the matrix.
      Those of the numbers of the views, if there are any; None if no trees read any.
    """

    views: list[View]
    trees: Sequence[TreeScores]
    weights: Floats
    spreads: Floats
    by_query: bool
    encoder: TableEncoder | None = None
    beside: Ints | None = None

    def __post_init__(self) -> None:
        # Levels of all categories stand one below the other, with a column for each view.
        self.categories: Ints = np.zeros(0, dtype=np.intp)
        self.numbers: Ints = self.categories if self.beside is None else self.beside
        self.in_query = len(self.numbers) > 0
        self.means: Any = None
        if self.views:
            first = self.views[0]
            self.numbers, self.means, self.categories = first.numbers, first.means, first.categories
            sizes = list(map(len, first.tables))
            self.last: Ints = np.cumsum(sizes, dtype=np.intp) - 1
            self.first: Ints = self.last - np.array(sizes, dtype=np.intp) + 1
            columns = [np.hstack([np.zeros(0), *view.tables]) for view in self.views]
            self.table: Floats = np.column_stack(columns)

    @property
    def reads_queries(self) -> bool:
        """Whether a score depends on the other documents of the query."""
        return self.by_query or self.in_query or any(view.kind == "scaled" for view in self.views)

    def members(self, matrix: Floats, queries: Queries, n_jobs: Sequence[int | None]) -> Floats:
        """Return the scores of the members, of shape (n_members, n_rows)."""
        out, block = np.empty((len(self.weights), len(matrix))), Block(self, matrix, queries)
        for row, view in zip(out, self.views):
            row[:] = view.of_numbers(block)
        if len(self.categories):
            out[: len(self.views)] += self._levels(matrix).sum(axis=1).T
        for row, trees, threads in zip(out[len(self.views) :], self.trees, n_jobs):
            row[:] = trees.of_rows(block.columns(trees.n_columns), threads)
        return out

    def scores(self, matrix: Floats, queries: Queries, n_jobs: Sequence[int | None]) -> Floats:
        """Return the scores of rows: the weighted sum of the normalized scores of the members."""
        members = self.members(matrix, queries, n_jobs)
        if self.by_query:
            normalized = [scaled(values, queries, 1.0, by_query=True) for values in members]
            return np.sum([w * values for w, values in zip(self.weights, normalized)], axis=0)
        # A product of matrices would round by the number of rows.
        return ((self.weights / self.spreads)[:, None] * members).sum(axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Return the scorer as lists, numbers, texts and dicts, from which the scores follow.

        JSON holds it if names and levels are texts and numbers.

        Raises ValueError unless the trees are sums of splits; those with linear leaves are not.
        """
        return {
            "columns": None if self.encoder is None else self.encoder.to_dicts(),
            "numbers": self.numbers.tolist(),
            "in_query": self.in_query,
            "means": [] if self.means is None else self.means.tolist(),
            "categories": self.categories.tolist(),
            "views": [view.to_dict() for view in self.views],
            "trees": [[forest.to_dict() for forest in of.written()] for of in self.trees],
            "weights": self.weights.tolist(),
            "spreads": self.spreads.tolist(),
            "by_query": self.by_query,
        }

    def contributions(
        self, matrix: Floats, queries: Queries, n_jobs: Sequence[int | None]
    ) -> Floats:
        """Return what each column of the matrix adds to the scores, within each query.

        * `matrix`, `queries`, `n_jobs`: as in :meth:`members`.

        Returns `parts` (n_rows, n_columns): their mean over a query is 0. Rows sum to the score
        minus its mean over the query.
        """
        units = self.spreads[:, None]
        if self.by_query:
            members = self.members(matrix, queries, n_jobs)
            units = np.array([units_within(scores, queries) for scores in members])
        # One for each member and row, or for all rows.
        factors, out = self.weights[:, None] / units, np.zeros(matrix.shape)
        n_columns, block = matrix.shape[1], Block(self, matrix, queries)
        for factor, view in zip(factors, self.views):
            out[:, self.numbers] += factor[:, None] * view.terms(block)
        if self.views:
            of_levels = self._levels(matrix) * factors[: len(self.views)].T[:, None]
            out[:, self.categories] = of_levels.sum(axis=2)
        for factor, trees, threads in zip(factors[len(self.views) :], self.trees, n_jobs):
            parts = factor[:, None] * trees.contributions(block.columns(trees.n_columns), threads)
            out += parts[:, :n_columns]
            if parts.shape[1] > n_columns:
                out[:, self.numbers] += parts[:, n_columns:]
        return queries.centered(out)

    def _levels(self, matrix: Floats) -> Floats:
        """Return what each category adds to each view, of shape (n_rows, n_categories, n_views)."""
        codes = matrix[:, self.categories]
        missing = np.isnan(codes)
        # The last two values of a table are those of an unseen and of a missing level.
        places = np.where(missing, 0.0, codes).astype(np.intp) + self.first
        places = np.minimum(places, self.last - 2)
        places = np.where(codes < 0, self.last - 1, places)
        places = np.where(missing, self.last, places)
        return self.table[places]


class Block:
    """Rows of a matrix, and what several members read of them, which is made once."""

    def __init__(self, scorer: CompiledScorer, matrix: Floats, queries: Queries) -> None:
        self.matrix, self.queries, self._means = matrix, queries, scorer.means
        self._places = scorer.numbers

    @cached_property
    def _given(self) -> Floats:
        is_whole = len(self._places) == self.matrix.shape[1]
        return self.matrix if is_whole else self.matrix[:, self._places]

    @cached_property
    def numbers(self) -> Floats:
        """The numbers, with means in place of missing ones."""
        missing = np.isnan(self._given)
        return np.where(missing, self._means, self._given) if missing.any() else self._given

    @cached_property
    def scaled(self) -> Floats:
        """The numbers, scaled within the query."""
        return scaled_within(self.numbers, self.queries, "standard")

    @cached_property
    def _wide(self) -> Floats:
        """The matrix, with numbers scaled within the query to the right, missing ones as such."""
        is_filled = self._means is None or self.numbers is not self._given
        scaled = scaled_within(self._given, self.queries, "standard") if is_filled else self.scaled
        return np.hstack([self.matrix, scaled_beside(scaled)])

    def columns(self, n_columns: int) -> Floats:
        """Return the matrix, or with more columns than it has also those to the right."""
        return self._wide if n_columns > self.matrix.shape[1] else self.matrix


@dataclass(eq=False)
class View:
    """A linear ranker of curves of the numbers, and of the levels of categories.

    * `kind`: curves: "linear", the numbers; "scaled", within the query; "logs"; "hinges" and
      "log_hinges", those of numbers and of logarithms.
    * `numbers`, `means`: columns of the matrix, and what stands for missing values.
    * `categories`, `tables`: columns of the matrix, and what each of their codes adds, then what an
      unseen and a missing level add.
    * `hinges`: which of the numbers each of the curves belongs to, and where it starts and ends.
    """

    kind: str
    numbers: Ints
    means: Any
    categories: Ints
    tables: list[Floats]
    coef: Floats
    intercept: float
    hinges: Sequence[Any] = ()

    def __post_init__(self) -> None:
        # Which of the numbers each of the curves belongs to.
        self.features: Ints = self.hinges[0] if self.hinges else np.arange(len(self.coef))

    def to_dict(self) -> dict[str, Any]:
        """Return the view as plain Python types, but for what it shares with others."""
        return {
            "kind": self.kind,
            "intercept": self.intercept,
            "coefficients": self.coef.tolist(),
            "levels": [values.tolist() for values in self.tables],
            **{name: values.tolist() for name, values in zip(_HINGES, self.hinges)},
        }

    def of_numbers(self, block: Block) -> Floats:
        """Return the scores by the numbers, with the intercept."""
        if not len(self.coef):
            return np.full(len(block.matrix), self.intercept)
        curves = np.ascontiguousarray(self.curves(block))
        # A product by BLAS would round by the number of rows.
        return np.einsum("ij,j->i", curves, self.coef) + self.intercept

    def terms(self, block: Block) -> Floats:
        """Return what each of the numbers adds to the scores, by all its curves."""
        out = np.zeros((len(block.matrix), len(self.numbers)))
        if len(self.coef):
            np.add.at(out.T, self.features, (self.coef * self.curves(block)).T)
        return out

    def curves(self, block: Block) -> Floats:
        """Return the columns that the coefficients belong to."""
        numbers = block.scaled if self.kind == "scaled" else block.numbers
        if self.kind.startswith("log"):
            numbers = signed_log1p(numbers)
        return hinges_of(numbers, *self.hinges) if self.hinges else numbers


# What a view of hinges has more.
_HINGES = ("features", "starts", "ends")


def _levels_of(indicators: Any, coef: Floats) -> Floats:
    """Return what each code of a column adds, then what an unseen and a missing level add."""
    codes = np.append(np.arange(max(indicators.n_levels + indicators.has_rare, 1)), [-1, np.nan])
    matrix = np.zeros((len(codes), indicators.column + 1))
    matrix[:, indicators.column] = codes
    return indicators.of(matrix) @ coef


class Compiled(NamedTuple):
    """The scorer of a stack, and what it was made of."""

    scorer: CompiledScorer
    weights: Floats  # of all members
    fitted: list[Any]  # records of all members

    def is_of(self, stack: Any) -> bool:
        """Return whether the fitted attributes of a stack are those that this was made of."""
        return np.array_equal(self.weights, stack.weights_) and all(
            map(is_, self.fitted, map(_fitted, stack.rankers_))
        )


def scorer_of(ranker: Any) -> CompiledScorer | None:
    """Return the scorer of a fitted ranker.

    Returns `scorer`: None unless the ranker is a BoostedRanker without `start`, an ExternalRanker
    of boosted trees, or a stack of linear views and of rankers of the first kind, also behind a
    QueryScaler that appends columns.
    """
    ranker = trees_behind(ranker) or ranker
    trees, one = tree_scores(ranker), np.ones(1)
    if trees is not None:
        encoder, beside = _columns_of(ranker)
        is_known = not isinstance(encoder, ScaledBeside)
        return CompiledScorer([], [trees], one, one, False, encoder, beside) if is_known else None
    made = getattr(ranker, "_compiled", None)
    return made.scorer if made is not None and made.is_of(ranker) else None


def _columns_of(ranker: Any) -> tuple[Any, Ints | None]:
    """Return the reader of the matrix of trees, and the numbers whose z-scores are beside it."""
    reader: Any = ranker.encoder_
    beside = getattr(reader, "standard", None)
    return (reader if beside is None else reader.before), beside


def _fitted(ranker: Any) -> Any:
    """Return what a refit of a member replaces."""
    last = ranker.steps[-1][1] if isinstance(ranker, QueryPipeline) else ranker
    return getattr(last, "record_", last)


def compiled(stack: Any) -> Compiled | None:
    """Return the scorer of a fitted stack, or None if it has a member of another kind."""
    views: dict[int, Any] = {}
    trees: dict[int, Any] = {}
    besides: list[Any] = []
    for number in np.flatnonzero(stack.weights_ > 0).tolist():  # others do not count
        ranker = stack.rankers_[number]
        boosted = trees_behind(ranker)
        if boosted is not None and _columns_of(boosted)[0] is stack.encoder_:
            trees[number] = tree_scores(boosted, stack.names_[number])
            besides.append(_columns_of(boosted)[1])
        else:
            # Others may have tables of other levels.
            views[number] = view_of(ranker) if type(ranker) is LinearView else None
    if None in (*views.values(), *trees.values()):
        return None
    if len({tuple(map(len, view.tables)) for view in views.values()}) > 1:
        return None  # of different numbers of levels
    weights, spreads = (values[[*views, *trees]] for values in (stack.weights_, stack.spreads_))
    members, by_query = ([*views.values()], [*trees.values()]), stack.normalize_ == "query"
    beside = next((numbers for numbers in besides if numbers is not None), None)
    scorer = CompiledScorer(*members, weights, spreads, by_query, stack.encoder_, beside)
    return Compiled(scorer, stack.weights_.copy(), [*map(_fitted, stack.rankers_)])


def view_of(ranker: Any) -> View | None:
    """Return a linear ranker behind columns of a table as a View, or None for another ranker."""
    if not isinstance(ranker, QueryPipeline) or len(ranker.steps) != 2:
        return None
    columns, last = (step for _, step in ranker.steps)
    kind = kind_of(columns.curve_) if type(columns) is LinearColumns else None
    if kind is None or not hasattr(last, "coef_"):
        return None
    coef, start, tables = np.ravel(last.coef_), 0, []
    for indicators in columns.indicators_:
        tables.append(_levels_of(indicators, coef[start : start + indicators.width]))
        start += indicators.width
    hinges = [getattr(columns.curve_, f"{name}_") for name in _HINGES if kind == "hinges"]
    places = np.array([indicators.column for indicators in columns.indicators_], dtype=np.intp)
    intercept = float(np.ravel(last.intercept_)[0])
    shared = columns.numbers_, columns.means_, places
    return View(kind, *shared, tables, coef[start:], intercept, hinges)
