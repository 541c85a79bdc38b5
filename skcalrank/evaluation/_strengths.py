"""Strengths of items from votes: the maximum of the likelihood, and how clusters vary around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse import bmat, csr_matrix, diags
from scipy.special import expit

from ..columns import arrays
from ..columns.types import Floats, Ints

#: Items up to which matrices of all pairs are held.
MOST_DENSE = 2000

# Newton's method ends at a step of this size, so that what is left is its square.
_SMALL_STEP, _MOST_STEPS = 1e-7, 200

# Score of a covariate, in units of its root mean square, and of all covariates of a vote, that only
# a separation reaches together: beside an order effect the former may cancel, one vote may be far.
_SEPARATED = 30.0

# Share of the curvature of a covariate below which it is a combination of items, or of others.
_OF_ITEMS, _COLLINEAR = 1e-9, 1e-12

# Random signs of the scores of clusters, and how many are solved for at a time.
_N_SIGNS, _BLOCK, _ROUGH = 640, 32, 1e-4

#: Items of fewer clusters have the larger of two variances.
FEW_CLUSTERS = 10


class Law(NamedTuple):
    """What a model says of each row: residuals, variances and covariance of result and tie."""

    residual: Floats
    variance: Floats
    tie_residual: Any = None
    covariance: Any = None
    tie_variance: Any = None


class Curvature(NamedTuple):
    """Curvature of the likelihood, dense or sparse, without that of constants of groups."""

    matrix: Any
    group: Ints
    diagonal: Floats

    def solve(self, right: Floats, tol: float = 1e-12) -> Floats:
        """Return solutions for columns, centered within the groups of items."""
        right = self.centered(right)
        if isinstance(self.matrix, np.ndarray):
            return linalg.cho_solve(linalg.cho_factor(self.matrix, lower=True), right)
        return self.centered(_conjugate_gradients(self.matrix, self.diagonal, right, tol))

    def centered(self, columns: Floats, weight: Floats | None = None) -> Floats:
        """Return columns less the weighted means of the items of each group."""
        m = len(self.group)
        weight = np.ones(m) if weight is None else weight
        of_groups = csr_matrix((weight, (self.group, np.arange(m))))
        means = (of_groups @ columns[:m]).T / np.asarray(of_groups.sum(axis=1)).ravel()
        columns = columns.copy()
        columns[:m] -= means.T[self.group]
        return columns


def _conjugate_gradients(matrix: Any, diagonal: Floats, right: Floats, tol: float) -> Floats:
    """Solve for all columns at a time, with the diagonal as preconditioner."""
    columns = right.reshape(len(right), -1)
    scale = np.where(diagonal > 0, diagonal, 1.0)[:, None]
    x, residual = np.zeros_like(columns), columns.copy()
    direction = residual / scale
    size = (residual * direction).sum(axis=0)
    goal = tol**2 * size
    for _ in range(10 * len(right)):
        if not (size > goal).any():
            break
        image = matrix @ direction
        step = arrays.safe_divide(size, (direction * image).sum(axis=0))
        x += step * direction
        residual -= step * image
        scaled = residual / scale
        before, size = size, (residual * scaled).sum(axis=0)
        direction = scaled + arrays.safe_divide(size, before) * direction
    return x.reshape(right.shape)


@dataclass
class Regression:
    """Rows of votes of one outcome: two items, result of the first, covariates.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows,)
        Numbers of the items.
    result, weight, count : ndarray of shape (n_rows,)
        Result of the first, sum of the weights, and number of votes.
    covariates : ndarray of shape (n_rows, n_covariates)
    cluster : ndarray of shape (n_rows,) or None
        Number of the cluster; None = each vote is its own.
    names : list of str
        Names of the covariates.
    group : ndarray of shape (n_items,)
        Group of each item.
    has_ties : bool
        Whether ties have a probability of their own (Davidson); else they are half of a win.
    """

    first: Ints
    second: Ints
    result: Floats
    weight: Floats
    count: Floats
    covariates: Floats
    cluster: Ints | None
    names: list[str]
    group: Ints
    has_ties: bool

    def between_items(self, values: Floats, of_second: float = -1.0) -> Floats:
        """Return the sums over the rows of each item, those of the second by a factor."""
        n = len(self.group)
        sums = np.bincount(self.first, values, n), np.bincount(self.second, values, n)
        return sums[0] + of_second * sums[1]

    def linear(self, theta: Floats) -> Floats:
        """Return the difference of the scores of each row."""
        m, k = len(self.group), self.covariates.shape[1]
        out = theta[self.first] - theta[self.second]
        return out + self.covariates @ theta[m : m + k] if k else out

    def law(self, eta: Floats, log_nu: Floats) -> Law:
        """Return the moments of the rows, from an array of one number if ties have a law."""
        if not self.has_ties:
            mean = expit(eta)
            return Law(self.result - mean, mean * (1 - mean))
        win, nu, lose = np.exp(eta / 2), np.exp(log_nu), np.exp(-eta / 2)
        total = win + nu + lose
        tie, mean = nu / total, (win + nu / 2) / total
        variance = (win + nu / 4) / total - mean**2
        of_ties = (self.result == 0.5) - tie, tie * (0.5 - mean), tie * (1 - tie)
        return Law(self.result - mean, variance, *of_ties)

    def law_at(self, theta: Floats) -> Law:
        """Return the moments of the rows at scores and coefficients."""
        return self.law(self.linear(theta), theta[len(self.group) + self.covariates.shape[1] :])

    def sums(self, of_result: Floats, of_tie: Any) -> Floats:
        """Return weighted sums for the scores, the coefficients and the logarithm of nu."""
        values = self.weight * of_result
        of_ties = [self.weight @ of_tie] if self.has_ties else []
        return np.concatenate([self.between_items(values), values @ self.covariates, of_ties])

    def curvature(self, law: Law) -> Curvature:
        """Return the curvature in the scores, the coefficients and the logarithm of nu."""
        weight, n = self.weight * law.variance, len(self.group)
        columns = [weight * column for column in self.covariates.T]
        corner = weight * self.covariates.T @ self.covariates
        if self.has_ties:
            columns.append(self.weight * law.covariance)
            beside = columns[-1] @ self.covariates
            corner = np.block([[corner, beside[:, None]], [beside, self.weight @ law.tie_variance]])
        border = np.array(list(map(self.between_items, columns))).reshape(len(columns), n).T
        items: Any
        if n <= MOST_DENSE:
            items = np.bincount(self.first * n + self.second, weight, n * n).reshape(n, n)
        else:
            items = csr_matrix((weight, (self.first, self.second)), shape=(n, n))
        items = items + items.T
        of_items = np.asarray(items.sum(axis=1)).ravel()
        diagonal = np.concatenate([of_items, np.diagonal(corner)])
        if n > MOST_DENSE:
            items = diags(of_items) - items
            matrix = bmat([[items, border], [border.T, corner]]) if len(corner) else items
            return Curvature(matrix.tocsr(), self.group, diagonal)
        # Constants of groups, which have no curvature, get that of a mean item.
        same = self.group[:, None] == self.group
        items = np.diag(of_items) - items + same * (of_items.mean() / same.sum(axis=0))
        return Curvature(np.block([[items, border], [border.T, corner]]), self.group, diagonal)

    def fit(self) -> tuple[Floats, Curvature]:
        """Return the scores and coefficients at the maximum, and the curvature.

        Each step of Newton's method is multiplied by ``log(1 + R) / R``, where R is the largest
        change of a row, so that the likelihood grows in every step.
        """
        m, k = len(self.group), self.covariates.shape[1]
        theta, step, sizes = np.zeros((3, m + k + self.has_ties))
        eta = np.zeros(len(self.first))
        for number, column in enumerate(self.covariates.T, m):
            sizes[number] = np.sqrt(column @ column / max(np.count_nonzero(column), 1))
        for number in range(_MOST_STEPS):
            law = self.law(eta, theta[m + k :])
            curvature = self.curvature(law)
            if not number:
                self._check_identified(curvature)
            try:
                step = curvature.solve(self.sums(law.residual, law.tie_residual))
            except linalg.LinAlgError as error:
                if not k:
                    raise
                raise self._separation(step * sizes) from error
            along = self.linear(step)
            change = np.abs(along).max() + np.abs(step[m + k :]).sum()
            length = np.log1p(change) / change if change else 1.0
            theta += length * step
            eta += length * along
            far = np.abs(theta * sizes).max(), np.abs(self.covariates @ theta[m : m + k]).max()
            if min(far) > _SEPARATED or (k and number == _MOST_STEPS - 1):
                raise self._separation(step * sizes)
            if change < _SMALL_STEP:
                break
        return theta, curvature

    def _separation(self, step: Floats) -> ValueError:
        """Return the error of covariates that decide votes; the last step goes along them."""
        name = self.names[np.argmax(np.abs(step)) - len(self.group)]
        return ValueError(
            f"Covariate {name!r} must not decide votes, got one that does: beside the scores it is "
            "always on the side of the winner, so that its coefficient is infinite. Leave it out."
        )

    def _check_identified(self, curvature: Curvature) -> None:
        """Raise for covariates that are a combination of the items and of other covariates."""
        m, k = len(self.group), self.covariates.shape[1]
        if not k:
            return
        items = Curvature(curvature.matrix[:m, :m], self.group, curvature.diagonal[:m])
        border, corner = curvature.matrix[:m, m : m + k], curvature.matrix[m : m + k, m : m + k]
        if not isinstance(border, np.ndarray):
            border, corner = border.toarray(), corner.toarray()
        size = np.sqrt(np.diagonal(corner))
        rest = corner - border.T @ items.solve(border)
        rest = arrays.safe_divide(rest, np.outer(size, size))
        for number, name in enumerate(self.names):
            if not size[number]:
                raise ValueError(
                    f"Covariate {name!r} must differ from 0, got 0 in all votes: drop it."
                )
            if rest[number, number] < _OF_ITEMS:
                raise ValueError(
                    f"Covariate {name!r} must vary between votes of the same items, got the "
                    "difference of a number of each item: leave it out, the scores hold it."
                )
            before = slice(number)
            of_others = np.linalg.lstsq(rest[before, before], rest[before, number], rcond=None)[0]
            if rest[number, number] - rest[number, before] @ of_others < _COLLINEAR:
                others = [self.names[other] for other in np.flatnonzero(np.abs(of_others) > 1e-6)]
                raise ValueError(
                    f"Covariates must not be collinear, got {name!r}, a combination of "
                    f"{', '.join(map(repr, others))}: leave one out."
                )

    def scores(self, law: Law, curvature: Curvature) -> Scores:
        """Return the scores of clusters.

        Entry j of cluster g is divided by 1 minus its share of the curvature of j.
        """
        n, m = len(self.first), len(self.group)
        each = self.weight / self.count  # weight of one vote, of which a cluster has all or one
        total = self.n_clusters()
        times = each * np.sqrt(self.count * total / (total - 1))
        residual, share = times * law.residual, each * law.variance
        rows = np.arange(n) if self.cluster is None else self.cluster
        n_clusters = int(rows.max()) + 1
        # Two sums at once: the real parts are scores, the imaginary ones curvatures.
        values = residual + 1j * share
        places = np.tile(rows, 2), np.concatenate([self.first, self.second])
        both = csr_matrix((np.concatenate([values, -values.conj()]), places), shape=(n_clusters, m))
        columns = [column * residual + 1j * column**2 * share for column in self.covariates.T]
        if self.has_ties:
            columns.append(times * law.tie_residual + 1j * each * law.tie_variance)
        sums = np.column_stack([*columns, values])
        if self.cluster is not None:
            sums = csr_matrix((np.ones(n), (rows, np.arange(n)))) @ sums
        whole = np.where(curvature.diagonal > 0, curvature.diagonal, 1.0)
        of_items = _corrected(both.data.real, both.data.imag / whole[both.indices])
        items = csr_matrix((of_items, both.indices, both.indptr), shape=both.shape)
        whole = np.append(whole[m:], share @ self.count)
        others = _corrected(sums.real, sums.imag / whole)
        return Scores(items, others[:, :-1], others[:, -1])

    def weights_of_items(self) -> Floats:
        """Return the weight of the votes of each item, 1 for one without."""
        weight = self.between_items(self.weight, 1.0)
        return np.where(weight > 0, weight, 1.0)

    def n_clusters(self) -> int:
        """Return the number of clusters."""
        if self.cluster is None:
            return int(self.count.sum())
        return int(np.count_nonzero(np.bincount(self.cluster)))

    def effective(self, group: Ints) -> Floats:
        """Return how many clusters of equal weight tell as much, of each item those of its group.

        That is the square of the sum of their weights over the sum of the squares.
        """
        part, n = group[self.first], int(group.max()) + 1
        if self.cluster is None:
            square = np.bincount(part, self.weight**2 / self.count, n)
        else:
            shape = self.cluster.max() + 1, n
            sums = csr_matrix((self.weight, (self.cluster, part)), shape=shape)
            square = np.asarray(sums.multiply(sums).sum(axis=0)).ravel()
        return arrays.safe_divide(np.bincount(part, self.weight, n) ** 2, square)[group]


class Scores(NamedTuple):
    """Scores of clusters: of items (sparse), of coefficients, and of an order effect."""

    items: Any
    others: Floats
    order: Floats

    def times(self, columns: Floats) -> Floats:
        """Return the products of the scores of each cluster with columns."""
        m = self.items.shape[1]
        return self.items @ columns[:m] + self.others @ columns[m:]

    def squares(self) -> Floats:
        """Return the sum over the clusters of the outer products of their scores."""
        beside = self.items.T @ self.others
        items = (self.items.T @ self.items).toarray()
        return np.block([[items, beside], [beside.T, self.others.T @ self.others]])


def _corrected(scores: Floats, share: Floats) -> Floats:
    """Return scores divided by 1 minus the share of their cluster; 0 where it has all."""
    return arrays.safe_divide(scores, np.where(share < 1 - 1e-9, 1 - share, 0.0))


class Spread(NamedTuple):
    """How far scores and coefficients vary: variances by clusters, and by the curvature."""

    variance: Floats
    of_curvature: Floats
    covariance: Floats | None

    @classmethod
    def exact(cls, curvature: Curvature, scores: Scores, weight: Floats) -> Spread:
        """Return the covariance of all; scores of items are less their means of these weights."""
        inverse = curvature.centered(curvature.solve(np.eye(len(curvature.diagonal))), weight)
        covariance = inverse @ scores.squares() @ inverse.T
        of_curvature = np.diagonal(curvature.centered(inverse.T, weight))
        return cls(np.diagonal(covariance), of_curvature, covariance)

    @classmethod
    def sampled(
        cls, curvature: Curvature, scores: Scores, weight: Floats, rng: np.random.Generator
    ) -> Spread:
        """Return the variances of random signs of the clusters, without a matrix of all items.

        They are seen beside those of the score of an item over its curvature, which are known.
        """
        transposed, square, simple = scores.items.T.tocsr(), 0.0, 0.0
        for _ in range(0, _N_SIGNS, _BLOCK):
            signs = rng.choice(np.array([-1.0, 1.0]), size=(scores.items.shape[0], _BLOCK))
            right = np.vstack([transposed @ signs, scores.others.T @ signs])
            solved = curvature.centered(curvature.solve(right, _ROUGH), weight)
            square = square + (solved**2).sum(axis=1)
            simple = simple + (right**2).sum(axis=1)
        of_items = np.asarray(scores.items.multiply(scores.items).sum(axis=0)).ravel()
        known = np.append(of_items, (scores.others**2).sum(axis=0))
        share = arrays.safe_divide(square, simple)
        return cls(share * known, share * curvature.diagonal, None)
