"""Votes as the rows of a regression, in groups of items that can be compared."""

import os
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ..columns.types import Floats, Ints, Self
from ..datasets import Columns, needs, table_files
from ..judgments import Votes, finite_numbers, identifiers
from ._statistics import unit_of
from ._strengths import Regression

#: Name of the order effect among the coefficients, and of the logarithm of nu.
ORDER, TIES = "order_effect", "ties"


def table_of_votes(votes: Any, columns: list[tuple[str, str]]) -> Any:
    """Return a table, of a path one with these columns, each behind the argument that names it."""
    if not isinstance(votes, (str, os.PathLike, list)):
        return votes
    files = table_files(votes)
    if files is None:
        raise ValueError(f"votes must be a table, .csv, .tsv or .parquet, got {votes}.")
    first, *others = [column for _, column in columns]
    named = tuple((f"{argument} (--{argument})", column) for argument, column in columns)
    kept = Columns(qid=first, features=others, labelled=False, named=named)
    return needs("pandas").concat([frame for _, frame in files.frames(kept)])


class Ballots(NamedTuple):
    """Votes that have been read, their items in groups.

    * `votes`: items and results, in the order of the table.
    * `covariates` (n_votes, k), divided by `units` (k,), with their `names`.
    * `cluster` (n_votes,): number of the cluster; None = each vote is its own.
    * `weight` (n_votes,)
    * `distinct`: items and results of distinct votes, their numbers, and the sums of their weights.
    * `group` (n_items,): from the strongly connected component with the most votes to items alone.
    * `n_groups`: number of groups of two items or more.
    """

    votes: Votes
    covariates: Floats
    units: Floats
    names: list[str]
    cluster: Ints | None
    weight: Floats
    distinct: tuple[Ints, Ints, Floats, Floats, Floats]
    group: Ints
    n_groups: int

    @classmethod
    def read(
        cls,
        table: Any,
        words: tuple[str, str, str, Any],
        covariates: list[str],
        order_effect: bool,
        cluster: str | None,
        weight: str | None,
    ) -> Self:
        """Read the columns of items and outcome (`words`), of covariates, cluster and weight.

        The order effect is a covariate of 1 behind the others.
        """
        votes = Votes.read(table, *words, name="votes")
        n = len(votes.result)
        columns = [finite_numbers(table, name, "votes") for name in covariates]
        columns += [np.ones(n)] * order_effect
        names = covariates + [ORDER] * order_effect
        of_votes = np.ones(n) if weight is None else finite_numbers(table, weight, "votes")
        if (of_votes < 0).any() or not of_votes.any():
            raise ValueError(
                f"Column {weight!r} of votes must hold weights of at least 0, and some above, got "
                f"{of_votes.min():g}."
            )
        codes = None if cluster is None else identifiers(table, cluster, "votes").codes
        matrix = np.array(columns).reshape(len(columns), n).T
        if not of_votes.all():
            cast = of_votes > 0
            votes, of_votes, matrix = votes.where(cast), of_votes[cast], matrix[cast]
            codes = None if codes is None else codes[cast]
        # A weight of all votes changes neither a score nor an error.
        of_votes = of_votes / of_votes.max()
        of_votes *= of_votes.sum() / (of_votes @ of_votes)
        units, counted = unit_of(matrix, 0), _distinct(votes, of_votes)
        groups = _groups(len(votes.items), *counted[:4])
        return cls(votes, matrix / units, units, names, codes, of_votes, counted, *groups)

    def regression(self, has_ties: bool, *, distinct: bool) -> Regression:
        """Return the rows of a regression: votes, or distinct votes where they tell all.

        Votes between groups have no finite effect, and are left out.
        """
        first, second, result = self.votes[1:]
        weight, covariates, cluster = self.weight, self.covariates, self.cluster
        count: Floats = np.ones(len(result))
        if distinct and (self.covariates == 1).all():
            first, second, result, count, weight = self.distinct
            covariates, cluster = np.ones((len(first), len(self.names))), None
        inside: Any = self.group[first] == self.group[second]
        inside = slice(None) if inside.all() else inside
        rows: Any = [
            column[inside] for column in (first, second, result, weight, count, covariates)
        ]
        has_ties = has_ties and bool((result[inside] == 0.5).any())
        cluster = None if cluster is None else cluster[inside]
        rows += [cluster, self.names, self.group, has_ties]
        return Regression(*rows)

    def n_votes(self) -> Ints:
        """Return the number of votes of each item."""
        _, first, second, _ = self.votes
        m = len(self.group)
        return np.bincount(first, minlength=m) + np.bincount(second, minlength=m)

    def notes(self) -> list[str]:
        """Return for each item without a rank the votes that all ended one way."""
        tally: Counter[tuple[int, bool, int]] = Counter()
        apart = self.group[self.distinct[0]] != self.group[self.distinct[1]]
        for i, j, y, n in zip(*(column[apart] for column in self.distinct[:4])):
            for item, other, won in ((i, j, y == 1), (j, i, y == 0)):
                if self.group[item] >= self.n_groups:
                    tally[item, not won, self.group[other]] += int(n)
        said: list[list[str]] = [[] for _ in self.group]
        for (item, lost, other), n in sorted(tally.items()):
            text = f"{'lost' if lost else 'won'} {'its vote' if n == 1 else f'all {n} votes'}"
            said[item].append(f"{text} against group {other + 1}")
        return ["; ".join(texts) for texts in said]


def _distinct(votes: Votes, weight: Floats) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return items and results of distinct votes, how often they occur, and their weights."""
    m = len(votes.items)
    keys = (votes.first * m + votes.second) * 3 + (2 * votes.result).astype(np.intp)
    if 3 * m**2 > 4 * len(keys):
        distinct, keys = np.unique(keys, return_inverse=True)
    else:
        distinct = np.arange(3 * m**2)
    count: Any = np.bincount(keys, minlength=len(distinct)).astype(np.float64)
    sums: Any = np.bincount(keys, weight, len(distinct))
    pair, result = np.divmod(distinct[count > 0], 3)
    return *np.divmod(pair, m), result / 2, count[count > 0], sums[count > 0]


def _groups(m: int, first: Ints, second: Ints, result: Floats, count: Floats) -> tuple[Ints, int]:
    """Return the group of each item, and the number of groups of two items or more.

    In a group a chain of wins and ties leads from each item to each other one.
    """
    won, lost = result > 0, result < 1
    edges = np.append(first[won], second[lost]), np.append(second[won], first[lost])
    graph = csr_matrix((np.ones(len(edges[0])), edges), shape=(m, m))
    n, labels = connected_components(graph, connection="strong")
    inside = labels[first] == labels[second]
    n_votes = np.bincount(labels[first[inside]], count[inside], n)
    alone = np.bincount(labels) < 2
    order = np.lexsort((np.unique(labels, return_index=True)[1], -n_votes, alone))
    return np.argsort(order)[labels], int((~alone).sum())
