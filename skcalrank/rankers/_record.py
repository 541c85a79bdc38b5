"""What a fit establishes beside its regressor, in one frozen record that is assigned last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..data import MissingQidError
from ..measures import Measure


@dataclass(frozen=True)
class FitRecord:
    """The settings that a fit used and the form of its data.

    A ranker reads its fitted state here, never from its parameters, which may have been changed
    since.

    Attributes
    ----------
    kind : str
        Class of the ranker.
    measure : Measure
        The measure whose targets were regressed and that ``score`` computes, with what it reads
        off the labels filled in.
    loss : Any
        The loss that was minimized.
    surrogate : {"score", "pairwise"}
        Whether one value per document was regressed, or one per pair of documents.
    n_items : int or None
        Number of items of the label-ranking form.
    has_qid : bool
        Whether fit had a qid.
    alpha : float or None
        Ridge penalty that was used; None where the regressor brought its own.
    names : frozenset
        Queries that would count twice if they came again; empty where that does not matter.
    score_function : str or callable, or None
        The score of preferences that was regressed, of rankers that have that parameter.
    """

    kind: str
    measure: Measure
    loss: Any
    surrogate: str = "score"
    n_items: int | None = None
    has_qid: bool = False
    alpha: float | None = None
    names: frozenset = frozenset()
    score_function: Any = None

    def add(self, chunk: FitRecord) -> FitRecord:
        """Return the record after one more chunk, or raise if the chunk does not fit."""
        self._check_form(chunk)
        self._check_settings(chunk, "this chunk")
        again = self.names & chunk.names
        if again:
            raise ValueError(
                f"Query {_any_of(again)!r} was in an earlier chunk: all rows of a query must come "
                "in one chunk, and queries of different files need different names."
            )
        return replace(self, names=self.names | chunk.names)

    def merge(self, others: Iterable[FitRecord]) -> FitRecord:
        """Return the record of rankers that saw different queries, as if one had seen them all."""
        names = set(self.names)
        for other in others:
            self._check_settings(other, "a ranker to be merged")
            if other.n_items != self.n_items:
                raise ValueError(
                    f"Rankers of {self.n_items} and of {other.n_items} items cannot be merged "
                    "(None: documents of queries)."
                )
            if other.has_qid != self.has_qid:
                raise ValueError(
                    "Some of the rankers to be merged were fitted with a qid and some without, so "
                    "that a query may count twice: fit all of them with a qid."
                )
            if names & other.names:
                raise ValueError(
                    f"Query {_any_of(names & other.names)!r} was seen by two of the rankers: all "
                    "rows of a query must go to one, and queries of different files need "
                    "different names."
                )
            names |= other.names
        return replace(self, names=frozenset(names))

    def _check_settings(self, other: FitRecord, who: str) -> None:
        """Raise where statistics of different settings would be added up."""
        for name in ("kind", "measure", "loss", "surrogate", "score_function"):
            own, given = getattr(self, name), getattr(other, name)
            if own != given:
                raise ValueError(
                    f"The {name} of {who} is {given}, and was {own} before: statistics add up "
                    "only where all settings are the same. Begin with a new ranker."
                )

    def _check_form(self, chunk: FitRecord) -> None:
        if chunk.n_items != self.n_items:
            raise ValueError(
                f"y of this chunk has {chunk.n_items or 'no'} items in a row, and y of the chunks "
                f"before had {self.n_items or 'none'}: all chunks need y of one form."
            )
        if self.has_qid and not chunk.has_qid:
            raise MissingQidError(
                "qid was given in earlier calls of partial_fit; pass it here too."
            )
        if chunk.has_qid and not self.has_qid:
            raise ValueError(
                "This chunk has a qid, and the chunks before had none: pass qid in every call."
            )


def _any_of(names: Iterable[Any]) -> Any:
    """Return one of the names, the same in every run where names are ordered."""
    return min(names, key=str)
