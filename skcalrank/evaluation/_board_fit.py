"""Fit of a leaderboard: scores and coefficients in logits, how they vary, what is wrong."""

import os
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ..columns.types import Array, Bools, Floats, Ints, Self
from ..data import warn
from ..datasets import Columns, needs, table_files
from ..judgments import Votes, finite_numbers, identifiers
from ._rank_sets import LEAST_FREEDOM, Apart, told_apart
from ._statistics import unit_of
from ._strengths import FEW_CLUSTERS, MOST_DENSE, Curvature, Law, Regression, Scores, Spread

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
    numbers = {column for argument, column in columns if argument in ("covariates", "weight")}
    text = tuple({first, *others} - numbers)
    kept = Columns(qid=first, features=others, labelled=False, text=text, named=named)
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


# Fewer clusters of equal weight deserve a warning; an order effect of a smaller p a note.
_FEW_EFFECTIVE, _ORDER_P = 5, 1e-3

# Share of the variance of the curvature below which clusters do not vary.
_NO_SPREAD = 1e-12


class BoardFit(NamedTuple):
    """Scores and coefficients at the maximum of the likelihood, and how they vary.

    * `theta`, `variance` (n_items + n_coefficients,): NaN where there is none.
    * `covariance` (n_items, n_items): None of many items.
    * `freedom` (n_items,): degrees of freedom of each item; `freedom_of_all`: of all votes.
    * `n_clusters` (n_items,), `total`: clusters of each item, and of all.
    * `more` (n_items,): variance of items of few clusters beside that between clusters.
    * `order`: excess of wins of the first of two items, and its p-value.
    """

    ballots: Ballots
    theta: Floats
    variance: Floats
    covariance: Floats | None
    freedom: Floats
    freedom_of_all: float
    n_clusters: Ints
    total: int
    more: Floats
    order: tuple[float, float]
    curvature: Curvature
    clusters: Scores

    @classmethod
    def of(
        cls, ballots: Ballots, has_ties: bool, anchor: str | None, rng: np.random.Generator
    ) -> Self:
        """Fit a model of votes."""
        if not ballots.n_groups:
            raise ValueError(
                "votes must hold two items of which each has lost to, or tied with, the other, if "
                "only by a chain of others, got no two items: no score is finite."
            )
        m, group, is_anchor = len(ballots.group), ballots.group, ballots.votes.items == anchor
        is_equal = ballots.cluster is None and np.ptp(ballots.weight) == 0
        model = ballots.regression(has_ties, distinct=is_equal)
        total = _checked_clusters(model)
        theta, curvature = ballots.regression(has_ties, distinct=True).fit()
        law = model.law_at(theta)
        clusters = model.scores(law, curvature)
        n_clusters = model.between_items(model.count, 1.0).astype(np.intp)
        if model.cluster is not None:
            n_clusters = np.bincount(clusters.items.indices, minlength=m)
        is_ranked = (n_clusters > 1) & (group < ballots.n_groups)
        _check_anchor(anchor, ballots.votes.items, is_ranked)
        # The mean of a group that is 0 is that of the anchor, or is weighted by votes.
        weight = model.weights_of_items()
        gauge = np.where(np.isin(group, group[is_anchor]), is_anchor, weight)
        if m <= MOST_DENSE:
            spread = Spread.exact(curvature, clusters, weight)
        else:
            spread = Spread.sampled(curvature, clusters, gauge, rng)
        more = np.maximum(spread.of_curvature - spread.variance, 0.0)[:m]
        more[n_clusters >= FEW_CLUSTERS] = 0.0
        known = (spread.variance > _NO_SPREAD * spread.of_curvature)[:m] | is_anchor
        theta = curvature.centered(theta, gauge)
        theta[:m][group >= ballots.n_groups] = np.nan
        freedom = np.maximum(model.effective(group) - 1, LEAST_FREEDOM)
        of_all = float(model.effective(np.zeros_like(group))[0]) - 1
        return cls(
            ballots,
            theta,
            *_in_gauge(
                spread, more, known & is_ranked, gauge if is_anchor.any() else None, curvature
            ),
            freedom,
            of_all,
            n_clusters,
            total,
            more,
            _order_effect(model, law, curvature, clusters, of_all),
            curvature,
            clusters,
        )

    def apart(self, error: float, rng: np.random.Generator) -> Apart | None:
        """Return what tells items of one group apart; None of many items."""
        covariance, error = self.covariance, error / self.ballots.n_groups
        if covariance is None:
            return None

        def apart(members: Ints) -> Bools:
            block, freedom = covariance[np.ix_(members, members)], self.freedom[members[0]]
            return told_apart(self.theta[members], block, freedom, error, rng)

        return apart

    def variance_of(self, *names: str) -> float:
        """Return the variance of the difference of two items, by one solution."""
        i, j = (int(np.argmax(self.ballots.votes.items == name)) for name in names)
        contrast = np.zeros(len(self.theta))
        contrast[[i, j]] = 1.0, -1.0
        of_clusters = self.clusters.times(self.curvature.solve(contrast))
        variance = of_clusters @ of_clusters
        is_known = not np.isnan(self.variance[[i, j]]).any()
        return float(variance + self.more[i] + self.more[j]) if is_known else np.nan

    def notes(self) -> list[str]:
        """Return a note for each item without a rank or an interval."""
        texts = self.ballots.notes()
        for item in np.flatnonzero(np.isnan(self.variance[: len(texts)])):
            if self.ballots.group[item] < self.ballots.n_groups:
                one = self.n_clusters[item] < 2
                texts[item] = f"no interval: {'one cluster' if one else 'its votes do not vary'}"
        return texts

    def troubles(self, notes: list[str]) -> list[str]:
        """Return what is wrong with all votes, and warn of it."""
        ballots, texts = self.ballots, []
        alone = np.flatnonzero(ballots.group >= ballots.n_groups)
        if len(alone):
            texts.append(
                f"{len(alone)} item{'s' * (len(alone) > 1)} without a finite score, such as "
                f"{ballots.votes.items[alone[0]]!r} ({notes[alone[0]]}), stand last, without a "
                "rank."
            )
        if ballots.n_groups > 1:
            texts.append(
                f"The items are in {ballots.n_groups} groups, between which no chain of wins and "
                "ties leads both ways: each is ranked apart, and their scores are not comparable."
            )
        if self.freedom_of_all + 1 < _FEW_EFFECTIVE:
            texts.append(
                f"The votes tell as much as {self.freedom_of_all + 1:.1f} clusters of equal "
                "weight: with so few, errors are rough."
            )
        if texts:
            warn(" ".join(texts))
        return texts

    def about_order(self, a: str, b: str, order_effect: bool) -> list[str]:
        """Return a note if one of two items is preferred for its place, which was left out."""
        excess, p = self.order
        if order_effect or not p < _ORDER_P:
            return []
        return [
            f"Items of {a if excess > 0 else b} win more often than their scores say (p < "
            f"{_ORDER_P:g}): set order_effect=True."
        ]

    def estimates(
        self, points: float, level: float
    ) -> list[tuple[str, float, float, float, float]]:
        """Return name, value, error, and ends of the interval of each coefficient."""
        m, freedom = len(self.ballots.group), max(self.freedom_of_all, LEAST_FREEDOM)
        names = [*self.ballots.names, TIES]
        at, error = self.theta[m:], np.sqrt(self.variance[m:])
        reach = stats.t.ppf((1 + level) / 2, freedom) * error
        with np.errstate(over="ignore"):
            units = np.append(self.ballots.units / points, 1.0)[: len(at)]
            columns = np.array([at, error, at - reach, at + reach]) / units
        return list(zip(names, *columns.tolist()))


def _checked_clusters(model: Regression) -> int:
    """Return the number of clusters; raise ValueError if votes say nothing of errors."""
    if (model.result == 0.5).all():
        raise ValueError(
            "votes between items that can be ranked must differ from a tie, got ties alone: "
            "they say nothing of errors."
        )
    total = model.n_clusters()
    if total < 2:
        raise ValueError(
            "Errors need two clusters, got votes of one: collect votes of others, or leave "
            "cluster= out if votes are independent."
        )
    return total


def _check_anchor(anchor: str | None, items: Array, is_ranked: Bools) -> None:
    """Raise ValueError unless the anchor, if any, has a score with an error."""
    if anchor is not None and not is_ranked[items == anchor].any():
        raise ValueError(
            "anchor must be an item with a finite score and votes of two clusters, such as "
            f"{items[np.argmax(is_ranked)]!r}, got {anchor!r}."
        )


def _in_gauge(
    spread: Spread, more: Floats, known: Bools, gauge: Floats | None, curvature: Curvature
) -> tuple[Floats, Floats | None]:
    """Return variances, and the covariance between items, with `more` of items; NaN of unknown."""
    m, covariance = len(more), spread.covariance
    variance = spread.variance + np.append(more, np.zeros(len(spread.variance) - m))
    if covariance is not None:
        covariance = covariance.copy()
        covariance[np.arange(m), np.arange(m)] += more
        if gauge is not None:
            covariance = curvature.centered(curvature.centered(covariance, gauge).T, gauge)
        variance = np.diagonal(covariance).copy()
        covariance = covariance[:m, :m]
        covariance[~known] = covariance[:, ~known] = np.nan
    variance[:m][~known] = np.nan
    return variance, covariance


def _order_effect(
    model: Regression, law: Law, curvature: Curvature, clusters: Scores, freedom: float
) -> tuple[float, float]:
    """Return the score of an order effect that was left out, and the p-value of its test."""
    along = model.sums(law.variance, law.covariance)
    of_clusters = clusters.order - clusters.times(curvature.solve(along))
    total, size = model.weight @ law.residual, of_clusters @ of_clusters
    if size <= _NO_SPREAD * (clusters.order @ clusters.order):
        return 0.0, 1.0
    return float(total), float(2 * stats.t.sf(abs(total) / np.sqrt(size), freedom))
