"""Fit of a leaderboard: scores and coefficients in logits, how they vary, what is wrong."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from ..columns.types import Array, Bools, Floats, Ints, Self
from ..data import warn
from ._ballots import TIES, Ballots
from ._rank_sets import LEAST_FREEDOM, Apart, told_apart
from ._strengths import FEW_CLUSTERS, MOST_DENSE, Curvature, Law, Regression, Scores, Spread

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
    weight = model.weight * law.variance
    ties = [model.weight @ law.covariance] if model.has_ties else []
    along = np.concatenate([model.between_items(weight), weight @ model.covariates, ties])
    of_clusters = clusters.order - clusters.times(curvature.solve(along))
    total, size = model.weight @ law.residual, of_clusters @ of_clusters
    if size <= _NO_SPREAD * (clusters.order @ clusters.order):
        return 0.0, 1.0
    return float(total), float(2 * stats.t.sf(abs(total) / np.sqrt(size), freedom))
