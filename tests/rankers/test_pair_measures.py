"""A measure of pairs of one's own, and its ranker."""

from dataclasses import dataclass

import numpy as np
import pytest
from definitions import all_positions
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from skcalrank import AveragePrecisionRanker, PairwiseDisagreementRanker
from skcalrank.calibration import (
    LabelDistribution,
    calibration_gap,
    calibration_of,
    find_counterexample,
    noise_report,
    regret_bound,
)
from skcalrank.measures import AveragePrecision, Kendall, PairMeasure
from skcalrank.preds import pair_positions
from skcalrank.rankers import LeastSquaresPairRanker


@dataclass(frozen=True)
class FromTheTop(PairMeasure):
    """Documents behind a more relevant one, over the position of the latter."""

    name = "from_the_top"

    def pair_targets(self, y):
        return np.sign(np.maximum(y[..., :, None] - y[..., None, :], 0.0))

    def pair_basis(self, positions):
        return (positions[..., :, None] < positions[..., None, :]) / positions[..., :, None]

    def evaluate(self, y, ranked):
        out = np.empty(ranked.queries.n_queries)
        for block in ranked.blocks(None):
            labels = block.gather(y)
            positions = np.broadcast_to(block.positions, labels.shape)
            values = self.pair_targets(labels) * self.pair_basis(positions)
            out[block.ids] = values.sum(axis=(1, 2))
        return out


class Together(FromTheTop):
    """Relevant documents near each other, and the first of them near the top."""

    name = "together"

    def pair_targets(self, y):
        return (y[..., :, None] * y[..., None, :] > 0) * 1.0

    def pair_basis(self, positions):
        apart = np.abs(positions[..., :, None] - positions[..., None, :])
        return 1.0 / (1.0 + apart) + np.eye(positions.shape[-1]) / positions[..., None]


class Apart(FromTheTop):
    """Documents two positions or more behind a more relevant one; 0 for all orders of two."""

    name = "apart"

    def pair_basis(self, positions):
        return (positions[..., None, :] - positions[..., :, None] >= 2) * 1.0


class Differences(FromTheTop):
    """RAT13's r (r - 1) / 2 differences, which change their sign with the order of the pair."""

    name = "differences"

    def pair_targets(self, y):
        return y[..., :, None] - y[..., None, :]

    def pair_basis(self, positions):
        return np.tril(positions[..., :, None] > positions[..., None, :], -1) * -1.0


class Ranks(FromTheTop):
    """A basis that depends on a third document."""

    def pair_basis(self, positions):
        return super().pair_basis(positions) * (1.0 + positions[..., :1, None])


OWN = (FromTheTop(), Together(), Apart(), Differences())
every_own = pytest.mark.parametrize("measure", OWN, ids=lambda m: m.name)


def laws(rng, r, n=25):
    """Distributions of grades, each of a few outcomes."""
    return [(rng.integers(0, 3, (5, r)), rng.dirichlet(np.ones(5))) for _ in range(n)]


def regret(measure, law, positions):
    """Best mean value over all orders minus that of the positions."""
    labels, probabilities = law
    mean = np.tensordot(probabilities, measure.pair_targets(labels + 0.0), 1)
    values = (mean * measure.pair_basis(all_positions(len(positions)))).sum(axis=(1, 2))
    return values.max() - (mean * measure.pair_basis(positions[None])).sum()


@pytest.mark.every_case
@every_own
@pytest.mark.parametrize("r", [2, 4, 5])
def test_consistent_by_enumeration(measure, r, rng):
    # One-hot rows, so that least squares gives the mean targets of every law.
    drawn = laws(rng, r)
    X = np.eye(len(drawn)).repeat(5, axis=0)
    y, weight = (np.concatenate(part) for part in zip(*drawn))
    exact = LinearRegression(fit_intercept=False)
    ranker = LeastSquaresPairRanker(measure, estimator=exact).fit(X, y, sample_weight=weight)
    for law, positions in zip(drawn, ranker.rank(np.eye(len(drawn)))):
        assert regret(measure, law, positions) < 1e-10
    assert calibration_of(ranker).holds == "condition"


@every_own
def test_consistent_for_documents_of_a_query(measure, rng):
    for labels, probabilities in laws(rng, 4, n=6):
        qid = np.repeat(np.arange(5), 4)
        X, weight = np.tile(np.eye(4), (5, 1)), np.repeat(probabilities, 4)
        ranker = LeastSquaresPairRanker(measure, alpha=1e-9)
        ranker.fit(X, labels.ravel(), qid, weight)
        assert regret(measure, (labels, probabilities), ranker.rank(X[:4], qid[:4])) < 1e-7


@every_own
def test_known_to_the_tools_of_calibration(measure, rng):
    assert find_counterexample("pairs", "exact", measure, n_tries=30, random_state=0) is None
    law = LabelDistribution(*laws(rng, 4, n=1)[0])
    assert calibration_gap("pairs", "exact", measure, law).calibrated
    with pytest.raises(ValueError, match="'sort'"):
        calibration_gap("pairs", "sort", measure, law)
    mean = law.expected_targets(measure, pairs=True)
    for _ in range(20):
        estimate = mean + 0.1 * rng.normal(size=(4, 4))
        result = pair_positions(estimate, measure.pair_basis, method="local_search")
        bound = regret_bound(
            measure, "squared", ((estimate - mean) ** 2).sum(), r=4, results=result
        )
        value = (mean * measure.pair_basis(result.positions[None])).sum()
        assert law.bayes_value(measure) - value <= bound + 1e-9


def made(rng, n=12, r=9):
    return rng.normal(size=(n * r, 3)), rng.integers(0, 3, n * r), np.repeat(np.arange(n), r)


@pytest.mark.parametrize(
    ("measure", "other"),
    [
        ("map", AveragePrecisionRanker(surrogate="pairwise", pred="exact")),
        (AveragePrecision(k=3), AveragePrecisionRanker(k=3, surrogate="pairwise", pred="exact")),
        ("kendall", PairwiseDisagreementRanker(weights="unit", surrogate="pairwise")),
    ],
    ids=str,
)
def test_rankers_of_the_package_are_special_cases(measure, other, rng):
    X, y, qid = made(rng)
    y = (y > 1) * 1.0 if "map" in str(measure) or measure != "kendall" else y
    pred = other.pred
    general = LeastSquaresPairRanker(measure, pred=pred).fit(X, y, qid)
    assert np.array_equal(general.rank(X, qid), other.fit(X, y, qid).rank(X, qid))
    orders = rng.permuted(np.tile(np.arange(5), (20, 1)), axis=1)
    labels = orders if measure == "kendall" else (orders > 2) * 1.0
    rows = rng.normal(size=(20, 3))
    general, other = clone(general).fit(rows, labels), clone(other).fit(rows, labels)
    assert np.array_equal(general.rank(rows), other.rank(rows))


# The value of Differences contains a term that depends on the order of the rows.
@pytest.mark.parametrize("measure", OWN[:-1], ids=lambda m: m.name)
def test_more_documents_than_are_enumerated(measure, rng):
    X, y, qid = made(rng)
    ranker = LeastSquaresPairRanker(measure, alpha=1.0).fit(X, y, qid)
    for result, matrix in zip(ranker.solve(X, qid), ranker.surrogate_values(X, qid)):
        assert result.method == "local_search"
        value = (matrix * measure.pair_basis(result.positions[None])).sum()
        assert result.value == pytest.approx(value)
        some = rng.permuted(np.tile(np.arange(1, 10), (300, 1)), axis=1)
        values = (matrix * measure.pair_basis(some)).sum(axis=(1, 2))
        assert values.max() <= result.value + 1e-9 <= result.bound + 2e-9
    moved = rng.permutation(len(qid))
    assert np.array_equal(ranker.rank(X[moved], qid[moved]), ranker.rank(X, qid)[moved])
    report = noise_report(ranker, X, qid, pred="local_search")
    assert report.mean_loss == 0


@pytest.mark.every_case
@pytest.mark.parametrize("measure", [*OWN, AveragePrecision(), Kendall()], ids=lambda m: m.name)
def test_search_and_bound_against_all_orders(measure, rng):
    for r in (1, 2, 3, 5, 6):
        U = rng.normal(size=(10, r, r))
        exact = pair_positions(U, measure.pair_basis)
        search = pair_positions(U, measure.pair_basis, method="local_search")
        values = np.tensordot(U, measure.pair_basis(all_positions(r)), axes=([1, 2], [1, 2]))
        np.testing.assert_allclose(exact.value, values.max(axis=1), atol=1e-12)
        assert exact.proven.all()
        assert (search.value <= exact.value + 1e-12).all()
        assert (search.bound >= exact.value - 1e-12).all()
        assert (exact.value - search.value).sum() <= 0.01 * np.abs(exact.value).sum()


def test_a_map_of_ones_own(rng):
    X, y, qid = made(rng)

    def by_sum(U):
        return np.argsort(np.argsort(-(U - U.T).sum(axis=1), kind="stable")) + 1

    ranker = LeastSquaresPairRanker(FromTheTop(), pred=by_sum).fit(X, y, qid)
    searched = LeastSquaresPairRanker(FromTheTop()).fit(X, y, qid)
    for one, two in zip(ranker.solve(X, qid), searched.solve(X, qid)):
        assert one.method == "by_sum"
        assert one.value <= two.value + 1e-9
        assert one.bound == pytest.approx(two.bound)
    third = LeastSquaresPairRanker(Ranks(), pred=by_sum).fit(X, y, qid)
    assert np.isinf(third.solve(X, qid)[0].gap)


def test_errors(rng):
    X, y, qid = made(rng)
    with pytest.raises(ValueError, match="measure must be one of pairs, got 'ndcg'"):
        LeastSquaresPairRanker("ndcg").fit(X, y, qid)
    with pytest.raises(ValueError, match="basis must be a function of the positions of two"):
        LeastSquaresPairRanker(Ranks()).fit(X, y, qid).rank(X, qid)
    with pytest.raises(ValueError, match="no score-based surrogate"):
        LeastSquaresPairRanker(FromTheTop(), surrogate="score").fit(X, y, qid)
    with pytest.raises(ValueError, match="pred must be one of 'auto', 'local_search'"):
        LeastSquaresPairRanker(FromTheTop(), pred="exact").fit(X, y, qid)
    ranker = LeastSquaresPairRanker(FromTheTop()).fit(X, y, qid)
    with pytest.raises(ValueError, match="pred must be given"):
        noise_report(ranker, X, qid)
