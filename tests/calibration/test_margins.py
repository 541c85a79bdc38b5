"""Regret bounds with a margin, margins of estimates, and the calibration gap of a regret."""

import numpy as np
import pytest
from cases import INSTANCES
from definitions import all_positions
from sklearn.isotonic import isotonic_regression
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    ERRRanker,
    LeastSquaresRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
)
from skcalrank.calibration import (
    LabelDistribution,
    calibration_function,
    calibration_gap,
    margin_report,
    regret_bound,
)
from skcalrank.data import MissingQidError
from skcalrank.losses import LOSSES, get_loss
from skcalrank.measures import get_measure
from skcalrank.rankers import LeastSquaresPairRanker

# Measures of documents and of pairs with several cutoffs, discounts and signs.
MEASURES = [m for m in INSTANCES if m.shape is not None]


def margin_of(values):
    """Best value minus the next lower one, by definition; equally good orders are all best."""
    below = values[values < values.max() - 1e-9 * np.abs(values).max()]
    return values.max() - below.max() if len(below) else np.inf


def laws(rng, n):
    for _ in range(n):
        r = int(rng.integers(2, 5))
        law = LabelDistribution.random(
            r, n_labels=int(rng.integers(2, 6)), random_state=rng.integers(1 << 31)
        )
        if rng.random() < 0.3:  # two documents are equally good
            labels = np.column_stack([law.labels[:, 0], law.labels[:, :-1]])
            law = LabelDistribution(labels, law.probabilities)
        yield law


def options_of(loss, law, measure):
    """Parameters of the bound, computed from the distribution."""
    targets, U = law.targets(measure), law.expected_targets(measure)
    options = {"max_target": float(U.max() * (1 - 1e-12))}
    if hasattr(get_loss(loss), "eta"):
        sums = targets.sum(axis=1) if loss == "bregman_kl" else targets
        options["eta"] = float(sums.max() or 1.0)
    return options


# -- bounds with a margin -------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_bound_with_a_margin_is_never_broken(loss, rng):
    seen, n_tied = 0.0, 0
    for number, law in enumerate(laws(rng, 120)):
        measure = ("precision@1", "dcg", "recall@1")[number % 3]
        margin = margin_of(law.order_values(measure))
        U = np.sort(law.expected_targets(measure))
        n_tied += U[-1] == U[-2] and margin < np.inf
        if not np.isfinite(margin):
            continue
        scores = np.clip(np.nan_to_num(law.surrogate_minimizer(loss, measure)), -8, 8)
        scores = scores + rng.normal(size=(30, len(scores))) * 10 ** rng.uniform(-4, 1, (30, 1))
        scores[::3] = np.round(scores[::3] * 2) / 2
        regret = law.target_regret(measure, scores)
        excess = law.surrogate_regret(loss, measure, scores)
        options = options_of(loss, law, measure) | {"r": law.n_documents}
        bound = regret_bound(measure, loss, excess, margin=margin, **options)
        assert (regret <= bound * (1 + 1e-9) + 1e-9).all()
        assert (bound <= regret_bound(measure, loss, excess, **options)).all()
        # The scores of least risk that do not give the best order.
        gap = calibration_gap(loss, "sort", measure, law)
        linear = regret_bound(measure, loss, 1e6, margin=1e9, **options)
        if 1e-7 < gap.gap < np.inf:
            tight = regret_bound(measure, loss, gap.gap, margin=margin, **options)
            assert gap.regret <= tight * (1 + 1e-6)
            seen = max(seen, gap.regret / tight)
            factor = regret_bound(measure, loss, 1.0, **options)
            assert linear == pytest.approx(factor**2 * 1e6 / 1e9)
    assert seen > 0.9
    assert n_tied > 5


def test_bound_with_a_margin_is_attained_by_two_documents():
    law = LabelDistribution([[1, 0], [0, 1]], [0.6, 0.4])
    excess = law.surrogate_regret("squared", "precision@1", [0.5, 0.5])
    bound = regret_bound("precision@1", "squared", excess, r=2, margin=0.2)
    assert law.target_regret("precision@1", [0.5, 0.5]) == pytest.approx(bound) == 0.2


# -- margins of estimates -------------------------------------------------------------------


def that_estimates(u, measure, rng):
    """A fitted ranker whose estimates are u, (n, r) or (n, r, r)."""
    kind, options = (LeastSquaresRanker, {"loss": "squared"})
    if measure.shape == "pairs":
        kind, options = LeastSquaresPairRanker, {"pred": "exact"}
    y = rng.integers(2, size=(20, u.shape[1]))
    y = y * (2 if getattr(measure, "relevance_level", 1) == 1.5 else 1)
    ranker = kind(measure, **options).fit(y + rng.normal(size=y.shape), y)
    ranker.surrogate_values = lambda *_: u
    return ranker


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_margins_are_those_of_all_orders_and_all_errors(measure, rng):
    of_pairs = measure.shape == "pairs"
    for r in (2, 3, 4):
        places = np.array(all_positions(r))
        bases = measure.pair_basis(places) if of_pairs else measure.basis(places, np.array(r))
        bases = bases.reshape(len(places), -1)
        u = rng.normal(size=(12, *[r] * (1 + of_pairs)))
        u[::2] = np.round(u[::2])  # ties
        report = margin_report(that_estimates(u, measure, rng), np.zeros((12, r)))
        for margin, tolerance, estimate in zip(report.margin, report.tolerance, u.reshape(12, -1)):
            values = bases @ estimate
            loss = values.max() - values
            loss[loss < 1e-9] = 0.0
            for predicted in bases[loss == 0]:  # any of the best orders
                ways = bases - predicted
                size = np.linalg.norm(ways, axis=1)
                differs = size > 1e-9
                nearest = loss[differs].min(initial=np.inf)
                assert margin == pytest.approx(nearest, rel=1e-6, abs=1e-12)
                # At a scale of 1 another order is as good, for the targets nearest to u.
                step = [scale * loss / np.maximum(size, 1e-9) ** 2 for scale in (0.5, 1.01, 3.0)]
                step = np.array([*step, np.full(len(loss), 1e-4)])[:, differs]
                errors = (step[..., None] * ways[differs]).reshape(-1, bases.shape[1])
                U, excess = estimate + errors, (errors**2).sum(axis=1)
                regret = (U @ bases.T).max(axis=1, initial=-np.inf) - U @ predicted
                assert (regret[excess < tolerance * (1 - 1e-9)] <= 1e-9).all()
                if 0 < margin < np.inf:
                    bound = regret_bound(measure, "squared", excess, r=r, margin=margin)
                    assert (regret <= bound * (1 + 1e-9) + 1e-9).all()
                    assert regret.max() > 0
                elif margin == 0:
                    assert (regret > 0).any()
                    assert tolerance == 0


def test_equal_rows_are_ties_unless_their_positions_count_alike():
    X, qid = np.array([[1.0], [1.0], [0.0]] * 40), np.repeat(np.arange(40), 3)
    y = np.tile([1, 1, 0], 40)
    y[: 3 * 10 : 3] = 0
    first, second = (PrecisionRanker(k=k, alpha=0.0).fit(X, y, qid) for k in (1, 2))
    report = margin_report(first, X[:3], qid[:3])
    assert [report.margin, report.tolerance] == [0, 0]
    assert margin_report(first, X[:2], qid[:2]).best_share(5.0) == 0
    u = second.predict(X[:3])
    assert margin_report(second, X[:3], qid[:3]).margin == pytest.approx((u[0] - u[2]) / 2)
    assert margin_report(second, X[:2], qid[:2]).margin == np.inf


def test_margins_of_queries_of_several_sizes(rng):
    sizes = rng.integers(1, 6, size=60)
    qid, X = np.repeat(np.arange(60), sizes), rng.normal(size=(sizes.sum(), 3))
    shuffled = rng.permutation(len(qid))
    X, qid = X[shuffled], qid[shuffled]
    ranker = PrecisionRanker(k=2).fit(X, rng.integers(2, size=len(X)), qid)
    report, u = margin_report(ranker, X, qid), ranker.surrogate_values(X, qid)
    for number, name in enumerate(dict.fromkeys(qid.tolist())):
        of = np.sort(u[qid == name])[::-1]
        expected = (of[1] - of[2]) / 2 if len(of) > 2 else np.inf
        assert report.margin[number] == pytest.approx(expected)
        if len(of) > 2:
            factor = regret_bound("precision@2", "squared", 1.0, r=len(of))
            assert report.tolerance[number] == pytest.approx((expected / factor) ** 2)
    assert report.best_share(np.inf) == 0.0
    assert "queries" in str(report)
    with pytest.raises(MissingQidError, match="fitted with a qid, and margin_report got none"):
        margin_report(ranker, X)
    assert margin_report(ranker, X, 0).margin.shape == (1,)


@pytest.mark.parametrize("measure", ["precision@1", "dcg", "auc"])
def test_orders_are_best_within_the_tolerance(measure, rng):
    closest = np.inf
    for r in (2, 3, 4):
        y = rng.integers(2, size=(400, r))
        X = y + rng.normal(size=y.shape)
        ranker = LeastSquaresRanker(measure=measure).fit(X, y)
        report, u, order = margin_report(ranker, X), ranker.surrogate_values(X), ranker.rank(X)
        basis = get_measure(measure).basis(np.array(all_positions(r)), np.array(r))
        own = get_measure(measure).basis(order, np.array(r))
        for scale in (0.999, 1.5):
            # Towards an exchange of two documents, the worst direction for two of them.
            way = basis[rng.integers(len(basis), size=len(u))] - own
            size = np.linalg.norm(way, axis=1)
            moved = size > 0
            step = scale * np.sqrt(report.tolerance[moved]) / size[moved]
            U = u[moved] + way[moved] * step[:, None]
            regret = (U @ basis.T).max(axis=1) - (U * own[moved]).sum(axis=1)
            if scale < 1:
                assert (regret <= 1e-12).all()
            else:
                closest = min(closest, 1 - (regret > 1e-12).mean())
    assert closest < 1


def test_margins_of_pairs(rng):
    y = rng.integers(2, size=(40, 4))
    X = y + rng.normal(size=y.shape)
    ranker = AveragePrecisionRanker(surrogate="pairwise", pred="exact").fit(X, y)
    report = margin_report(ranker, X)
    basis = [
        [[1 / max(a, b) * (i >= j) for j, b in enumerate(p)] for i, a in enumerate(p)]
        for p in all_positions(4)
    ]
    for margin, u in zip(report.margin, ranker.surrogate_values(X)):
        assert margin == pytest.approx(margin_of((np.tril(u) * np.array(basis)).sum(axis=(1, 2))))


@pytest.mark.parametrize(
    "ranker",
    [
        ERRRanker(),
        OrderPreservingRanker("precision@1", loss="logistic"),
        OrderPreservingRanker("neg_pairwise_disagreement", loss="squared"),
        PairwiseDisagreementRanker(),
        PairwiseLogisticRanker(),
        AveragePrecisionRanker(surrogate="pairwise", pred="diagonal"),
        DecisionTreeRegressor(),
    ],
    ids=repr,
)
def test_margins_of_what_does_not_estimate_means_are_refused(ranker, rng):
    with pytest.raises(ValueError, match="ranker must estimate mean targets"):
        margin_report(ranker, rng.normal(size=(4, 2)))


def test_margins_of_long_queries_of_pairs_are_refused(rng):
    y = rng.integers(2, size=(40, 9))
    ranker = PairwiseDisagreementRanker(surrogate="pairwise", pred="exact").fit(y, y)
    with pytest.raises(ValueError, match="at most 8 documents"):
        margin_report(ranker, y)


# -- the gap of a regret --------------------------------------------------------------------


@pytest.mark.parametrize("n", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_gap_of_a_regret_is_the_least_of_all_orders_that_lose_as_much(n, rng):
    seen = 0
    for law in laws(rng, n):
        U, values = law.expected_targets("map"), law.order_values("map")
        positions, regret = np.array(all_positions(law.n_documents)), values.max() - values
        # Least squares: the distance to the scores sorted as an order.
        away = [
            ((isotonic_regression(U[at], increasing=False) - U[at]) ** 2).sum()
            for at in np.argsort(positions, axis=1)
        ]
        for eps in (
            np.quantile(regret[regret > 0.01], [0.1, 0.5, 1.0]) if regret.max() > 0.01 else ()
        ):
            found = calibration_gap("squared", "sort", "map", law, eps=float(eps))
            assert found.gap == pytest.approx(
                np.array(away)[regret >= eps * (1 - 1e-9)].min(), abs=1e-12
            )
            assert found.regret >= eps * (1 - 1e-9)
            seen += 1
    assert seen > 2 * n


def test_gap_of_a_regret_is_above_the_calibration_function(rng):
    for _ in range(40):
        law = LabelDistribution.random(3, random_state=rng.integers(1 << 31))
        for eps in (0.05, 0.3):
            gap = calibration_gap("pairs", "exact", "map", law, eps=eps).gap
            assert gap >= calibration_function("pairs", "exact", "map", 3, eps) - 1e-9
    assert calibration_gap("squared", "sort", "map", law, eps=5.0).gap == np.inf


@pytest.mark.parametrize("eps", [0.0, -1.0, np.inf, "small", True])
def test_regrets_are_positive(eps):
    law = LabelDistribution([[0, 1]])
    with pytest.raises(ValueError, match="eps must be a finite number > 0, got"):
        calibration_gap("squared", "sort", "map", law, eps=eps)
    with pytest.raises(ValueError, match="margin must be a finite number > 0, got"):
        regret_bound("ndcg", "squared", 0.1, r=3, margin=eps)
