"""What a fit establishes beside its regressor, in one frozen record that is assigned last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from ..data import MissingQidError
from ..measures import Measure
from ._names import hashed
from ._penalty import NOTHING_SEEN, Seen, penalty

# Statistics add up only where these are the same.
_SETTINGS = [
    "kind",
    "measure",
    "loss",
    "surrogate",
    "targets",
    "score_function",
    "query_weight",
]

_NONE = np.array([], dtype=np.uint64)


class Names(Set[Any]):
    """Names of queries in parts of falling size, so that more names are not a copy of all.

    Parameters
    ----------
    parts : tuple of frozenset
        Disjoint.
    """

    def __init__(self, parts: tuple[frozenset, ...] = ()) -> None:
        self._parts = parts

    def __contains__(self, name: object) -> bool:
        return any(name in part for part in self._parts)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __repr__(self) -> str:
        return f"<{len(self)} names>"

    @classmethod
    def _from_iterable(cls, names: Iterable[Any]) -> Names:
        return cls((frozenset(names),))

    def add(self, names: Set[Any]) -> Names:
        """Return these names and others, of which none is among these."""
        parts = [*self._parts, frozenset(names)]
        while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
            parts[-2:] = [parts[-2] | parts[-1]]
        return Names(tuple(parts))


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
    alpha : float, "auto" or None
        Ridge penalty as it was asked for; None where the regressor brought its own.
    seen : Seen
        Queries and documents that were learned from.
    names : set
        Queries that would count twice if they came again; empty where that does not matter.
    varied : bool
        Whether targets of a regression differed within a query, so that equal predictions of all
        documents would mean that nothing was learned.
    hashes : ndarray of uint64, sorted
        The same of queries whose names a model file did not keep.
    targets : {"measure", "separable"}
        Whether the targets of the measure were regressed, or those of single labels.
    score_function : str or callable, or None
        The score of preferences that was regressed, of rankers that have that parameter.
    query_weight : str or None
        What a query counted, of rankers that have that parameter.
    """

    kind: str
    measure: Measure
    loss: Any
    surrogate: str = "score"
    n_items: int | None = None
    has_qid: bool = False
    alpha: float | str | None = None
    seen: Seen = NOTHING_SEEN
    names: Set[Any] = frozenset()
    varied: bool = False
    targets: str = "measure"
    score_function: Any = None
    query_weight: str | None = None
    hashes: np.ndarray = field(default_factory=_NONE.copy, compare=False, repr=False)

    @property
    def penalty(self) -> float | None:
        """Ridge penalty that was used; None where the regressor brought its own."""
        return None if self.alpha is None else penalty(self.alpha, self.seen, self.n_items)

    def without_names(self) -> FitRecord:
        """Return the record with hashes in place of names, which knows a query again as well."""
        return replace(self, names=frozenset(), hashes=np.union1d(self.hashes, hashed(self.names)))

    def add(self, chunk: FitRecord) -> FitRecord:
        """Return the record after one more chunk, or raise if the chunk does not fit."""
        self._check_form(chunk)
        self._check_settings(chunk, "this chunk")
        again = self._common(chunk)
        if again:
            raise ValueError(
                f"Query {_any_of(again)} was in an earlier chunk: all rows of a query must come "
                "in one chunk, and queries of different files need different names."
            )
        names, varied = _joined(self.names, chunk.names), self.varied or chunk.varied
        seen = self.seen.add(chunk.seen)
        return replace(self, names=names, varied=varied, alpha=chunk.alpha, seen=seen)

    def merge(self, others: Iterable[FitRecord]) -> FitRecord:
        """Return the record of rankers that saw different queries, as if one had seen them all."""
        merged = self
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
            again = merged._common(other)
            if again:
                raise ValueError(
                    f"Query {_any_of(again)} was seen by two of the rankers: all rows of a query "
                    "must go to one, and queries of different files need different names."
                )
            hashes = np.union1d(merged.hashes, other.hashes)
            names = _joined(merged.names, other.names)
            varied = merged.varied or other.varied
            seen = merged.seen.add(other.seen)
            merged = replace(merged, names=names, hashes=hashes, varied=varied, seen=seen)
        return merged

    def _common(self, other: FitRecord) -> list[str]:
        """Return the queries of both, as errors call them."""
        again = list(self.names & other.names)
        again += _known(self.names, other.hashes) + _known(other.names, self.hashes)
        lost = np.isin(self.hashes, other.hashes).sum()
        return [*map(repr, again), *["(a model file keeps no name)"] * lost]

    def _check_settings(self, other: FitRecord, who: str) -> None:
        """Raise where statistics of different settings would be added up."""
        for name in _SETTINGS:
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


def _joined(names: Set[Any], more: Set[Any]) -> Set[Any]:
    """Return two disjoint sets as one; a set that grows is not copied each time."""
    if not more:
        return names
    return (names if isinstance(names, Names) else Names().add(names)).add(more)


def _known(names: Iterable[Any], hashes: np.ndarray) -> list[Any]:
    """Return those of the names that stand among the hashes."""
    if not len(hashes):
        return []
    asked = hashed(names)
    found = hashes[np.searchsorted(hashes[:-1], asked)] == asked
    return [name for name, is_found in zip(names, found.tolist()) if is_found]


def _any_of(names: Iterable[str]) -> str:
    """Return one of the names, the same in every run."""
    return min(names)
