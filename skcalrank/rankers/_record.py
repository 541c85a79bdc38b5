"""Record of a fit: everything but the regressor, frozen and assigned last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain
from typing import Any

import numpy as np

from ..columns import hash_names, is_repeatable
from ..data import MissingQidError, QuerySizes, are_alike, workers_of_fit
from ..measures import Measure
from ._plan import Plan
from ._regression import NOTHING_SEEN, Seen, penalty

# Statistics can be added only if these settings are equal.
_SETTINGS = (
    *("kind", "measure", "loss", "kernel", "surrogate"),
    *("targets", "score_function", "structure", "query_weight"),
)

_NONE = np.array([], dtype=np.uint64)


class Names(Set[Any]):
    """Set of names of queries, in parts of decreasing size so that adding names copies few."""

    def __init__(self, parts: tuple[frozenset[Any], ...] = ()) -> None:
        self._parts = parts

    def __contains__(self, name: object) -> bool:
        return any(name in part for part in self._parts)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @classmethod
    def _from_iterable(cls, names: Iterable[Any]) -> Names:
        return cls((frozenset(names),))

    def add(self, names: Set[Any]) -> Names:
        """Return the union with a disjoint set of names."""
        parts = [*self._parts, frozenset(names)]
        while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
            parts[-2:] = [parts[-2] | parts[-1]]
        return Names(tuple(parts))


@dataclass(frozen=True)
class FitRecord:
    """The plan of a fit and the form of its data.

    A ranker reads its fitted state from the record and not from its parameters, which may have been
    changed since.

    * `plan`: what was fitted, without the regressor.
    * `n_items`: number of items in the label-ranking form, None otherwise.
    * `items`: names of the items, if they have any.
    * `has_qid`: whether fit had a qid.
    * `seen`: counts of queries and documents that were learned from.
    * `names`: names of queries that would count twice if they occurred again; empty where that does
      not matter.
    * `varied`: whether targets of a regression differed within a query, so that equal predictions
      for all documents mean that nothing was learned.
    * `hashes`: hashes of the names that a model file did not keep.
    * `sizes`: number of rows of each query of a fit that is complete.
    * `missing`: columns with a missing value in fit; None if it is not known.
    """

    plan: Plan
    n_items: int | None = None
    items: tuple[str, ...] | None = None
    has_qid: bool = False
    seen: Seen = NOTHING_SEEN
    names: Set[Any] = frozenset()
    varied: bool = False
    hashes: np.ndarray = field(default_factory=_NONE.copy, compare=False, repr=False)
    sizes: QuerySizes | None = field(default=None, compare=False, repr=False)
    missing: tuple[int, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def measure(self) -> Measure:
        """The measure that ``score`` computes, with options that depend on the labels filled in."""
        return self.plan.measure if self.plan.scored is None else self.plan.scored

    @property
    def penalty(self) -> float | None:
        """Ridge penalty that was used; None if the regressor has its own."""
        alpha = self.plan.alpha
        return None if alpha is None else penalty(alpha, self.seen, self.n_items)

    def without_names(self) -> FitRecord:
        """Return the record with hashes in place of names, which also detect repeated queries."""
        hashes = hash_names(filter(is_repeatable, self.names))
        return replace(self, names=frozenset(), hashes=np.union1d(self.hashes, hashes))

    def of_all(self, hashes: np.ndarray) -> FitRecord:
        """Return the record of the queries of all workers, with hashes in place of names."""
        if workers_of_fit().size == 1:
            return self
        # The plan is that of all workers, and may hold a loss or measure that pickle cannot name.
        part: Any = {"plan": None, "sizes": None, "names": frozenset()}
        part["hashes"] = hashes if self.names else self.hashes
        joined = partial(reduce, FitRecord._joined)
        record = workers_of_fit().total(lambda: replace(self, **part), joined)
        return replace(record, plan=self.plan)

    def add(self, chunk: FitRecord) -> FitRecord:
        """Return the record after one more chunk, or raise if the chunk does not fit."""
        self._check_form(chunk)
        self._check_settings(chunk, "this chunk")
        again = self._common(chunk)
        if again:
            raise ValueError(
                f"Query {min(again)} was in an earlier chunk: all rows of a query must be in "
                "one chunk, and queries of different files need different names. Chunks that are "
                "one query each need different names, such as qid=i."
            )
        return replace(self._joined(chunk), plan=replace(self.plan, alpha=chunk.plan.alpha))

    def merge(self, others: Iterable[FitRecord]) -> FitRecord:
        """Return the record of one fit to the different queries of several rankers."""
        merged = self
        for other in others:
            self._check_settings(other, "a ranker to be merged")
            if other.n_items != self.n_items:
                raise ValueError(
                    "Rankers to be merged must have equally many items, got "
                    f"{self.n_items} and {other.n_items} (None: documents of queries)."
                )
            self._check_items(other, "Rankers to be merged")
            if other.has_qid != self.has_qid:
                raise ValueError(
                    "Rankers to be merged must all have been fitted with a qid, got some without: "
                    "a query could count twice. Fit all of them with a qid."
                )
            again = merged._common(other)
            if again:
                raise ValueError(
                    f"Query {min(again)} was seen by two of the rankers: all rows of a query "
                    "must be given to one of them, and queries of different files need different "
                    "names."
                )
            merged = merged._joined(other)
        return merged

    def _joined(self, other: FitRecord) -> FitRecord:
        """Return the record of one fit to the different queries of two records."""
        names: Set[Any] = self.names
        if other.names:  # without copying a set that grows each time
            names = (names if isinstance(names, Names) else Names().add(names)).add(other.names)
        unknown = None in (self.missing, other.missing)
        missing = {*(self.missing or ()), *(other.missing or ())}
        return replace(
            self,
            names=names,
            hashes=np.union1d(self.hashes, other.hashes),
            varied=self.varied or other.varied,
            seen=self.seen.add(other.seen),
            sizes=None,
            missing=None if unknown else tuple(sorted(missing)),
        )

    def _common(self, other: FitRecord) -> list[str]:
        """Return the names of queries in both records, as error messages print them."""
        again = list(self.names & other.names)
        again += _known(self.names, other.hashes) + _known(other.names, self.hashes)
        lost = np.isin(self.hashes, other.hashes).sum()
        return [*map(repr, again), *["(a model file keeps no name)"] * lost]

    def _check_settings(self, other: FitRecord, who: str) -> None:
        """Raise if the records have different settings, so that sums cannot be added."""
        for name in _SETTINGS:
            before, now = (getattr(record.plan, name) for record in (self, other))
            if not are_alike(before, now):
                raise ValueError(
                    f"The {name} of {who} must be {before}, got {now}: statistics can be added "
                    "only if all settings are equal. Begin with a new ranker."
                )

    def _check_items(self, other: FitRecord, who: str) -> None:
        """Raise if the items of two records have different names, or another order."""
        if None not in (self.items, other.items) and self.items != other.items:
            raise ValueError(
                f"{who} must have the same items in the same order, got {self.items} and "
                f"{other.items}: choose the columns of y."
            )

    def _check_form(self, chunk: FitRecord) -> None:
        """Raise if the chunk has another form than the previous ones."""
        if chunk.n_items != self.n_items:
            raise ValueError(
                f"y must have {self.n_items or 'no'} items per row, as in the chunks before, got "
                f"{chunk.n_items or 'none'}: all chunks need y of one form."
            )
        self._check_items(chunk, "y of all chunks")
        if self.has_qid and not chunk.has_qid:
            raise MissingQidError(
                "qid was given in earlier calls of partial_fit; pass it here too."
            )
        if chunk.has_qid and not self.has_qid:
            raise ValueError(
                "qid must be None, because the chunks before had none: pass qid in every call."
            )


def _known(names: Iterable[Any], hashes: np.ndarray) -> list[Any]:
    """Return the names whose hashes are among the given ones."""
    if not len(hashes):
        return []
    asked = hash_names(names)
    is_known = hashes[np.searchsorted(hashes[:-1], asked)] == asked
    return [name for name, known in zip(names, is_known.tolist()) if known]
