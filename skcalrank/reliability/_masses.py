"""How much of a query is lost with each of its documents."""

from collections.abc import Callable
from inspect import isclass
from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import Bools, Floats, Self
from ..data import Queries, mean_of_runs, runs
from ..measures import get_measure, warn_unless_grades


class Judged(NamedTuple):
    """Queries with labels and scores, in grouped order.

    Documents with labels of at least `level` are relevant; if it is None, labels must be 0 and 1.
    `tunes` are queries that choose where the tests of a threshold begin.
    """

    queries: Queries
    labels: Floats
    scores: Floats
    level: float | None = 1
    tunes: Bools | None = None

    def take(self, which: Bools) -> Self:
        """Return some of the queries."""
        rows = self.queries.repeat(which)
        queries = self.queries.some(which)
        tunes = None if self.tunes is None else self.tunes[which]
        labels, scores = self.labels[rows], self.scores[rows]
        return self._replace(queries=queries, labels=labels, scores=scores, tunes=tunes)

    @property
    def relevance(self) -> Floats:
        """1 for relevant documents and 0 for others."""
        measure = get_measure("recall", relevance_level=self.level)
        warn_unless_grades([measure], self.labels)
        return measure.labels(self.labels)


#: What documents share of the mass of their query, in any unit.
Shares = Callable[[Judged], Floats]


def depths(scores: Floats, queries: Queries) -> Floats:
    """Return how far down each document is: 1 + the number of documents with a higher score."""
    order, starts = runs(scores, queries)
    out = np.empty(len(order))
    out[order] = np.repeat(queries.places[starts], np.diff(starts, append=len(order)))
    return out


def _of_measure(measure: Any) -> Shares:
    """Return what documents add to a measure, in expectation over the order of equal scores."""

    def shares(judged: Judged) -> Floats:
        queries, scaled = judged.queries, measure.scaled_to(judged.labels)
        labels, sizes = scaled.labels(judged.labels), queries.repeat(queries.sizes)
        discounts = np.broadcast_to(scaled.basis(queries.places, sizes), len(labels))
        discounts = mean_of_runs(discounts, *runs(judged.scores, queries))
        out: Floats = scaled.score_targets(labels, queries) * discounts
        if (out < 0).any() or scaled.offset(labels, queries).any():
            raise ValueError(
                "loss must be a measure to which every document adds a non-negative share, got "
                f"{measure.full_name}: choose 'recall', 'dcg', or another measure of gains."
            )
        return out

    return shares


def _best(judged: Judged) -> Floats:
    # Where all labels are equal there is no best.
    labels, queries = judged.labels, judged.queries
    top, bottom = queries.max(labels), -queries.max(-labels)
    is_best = (labels == queries.repeat(top)) & queries.repeat(top > bottom)
    return _highest(is_best.astype(float), judged)


def _highest(which: Floats, judged: Judged) -> Floats:
    """Return a mask of the documents with the highest score among those of a mask."""
    among, queries = np.where(which > 0, judged.scores, -np.inf), judged.queries
    return which * (among == queries.repeat(queries.max(among)))


#: Losses of mass by name.
SHARES: dict[str, Shares] = {
    "recall": lambda judged: judged.relevance,
    "dcg": _of_measure(get_measure("dcg")),
    "first": lambda judged: _highest(judged.relevance, judged),
    "best": _best,
}

#: Names of losses of mass.
LOSSES = tuple(SHARES)

#: Losses that are no masses of documents.
OTHERS = ("precision", "no_answer")


def shares_of(loss: Any, parameter: str = "loss", others: tuple[str, ...] = OTHERS) -> Shares:
    """Return the shares of documents in what a loss, named or a measure, counts."""
    if isinstance(loss, str) and loss in SHARES:
        return SHARES[loss]
    is_positional = getattr(loss, "objective", None) == "positional" and hasattr(loss, "basis")
    if is_positional and not isclass(loss):
        return _of_measure(loss)
    names = ", ".join(map(repr, [*SHARES, *others]))
    raise ValueError(f"{parameter} must be one of {names}, or a positional measure, got {loss!r}.")


def masses(shares: Floats, queries: Queries) -> Floats:
    """Return shares divided by their sums over queries; 0 where nothing is to be shared."""
    return arrays.safe_divide(shares, queries.repeat(queries.sum(shares)))
