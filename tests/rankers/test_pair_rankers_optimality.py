"""Rankers with a surrogate on pairs: Bayes-optimal by enumeration."""

import numpy as np
import pytest
from definitions import all_positions, average_precision, disagreement, err, preferences
from pair_cases import map_ranker, pd_ranker
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from skcalrank import AveragePrecisionRanker, PairwiseDisagreementRanker, PreferenceTarget

sizes = pytest.mark.parametrize("r", [4, 2, 3, 5])


#
# Each kind of instance has a law over labels of its own and one-hot features; there is a row
# for each label of the law, weighted by its probability. Least squares then gives the expected
# targets of every kind exactly.


def rows_of(laws):
    """X and weights for distributions of the form (labels, probabilities)."""
    kinds = np.repeat(np.arange(len(laws)), [len(labels) for labels, _ in laws])
    return np.eye(len(laws))[kinds], np.concatenate([p for _, p in laws])


def learn(ranker, laws, target=np.asarray):
    """The ranking of each kind of instance, by a ranker fitted to their distributions."""
    X, weight = rows_of(laws)
    y = target(np.concatenate([labels for labels, _ in laws]))
    ranker = clone(ranker).set_params(estimator=LinearRegression(fit_intercept=False))
    return ranker.fit(X, y, sample_weight=weight).rank(np.eye(len(laws)))


def map_regret(law, positions, **options):
    """Regret of a ranking: largest expected average precision minus its own."""
    labels, probabilities = law
    rankings = np.vstack([positions, all_positions(len(positions))])
    table = [[average_precision(y, p, **options) for y in labels] for p in rankings]
    values = np.nan_to_num(np.array(table)) @ probabilities
    return values.max() - values[0]


def mean_preferences(law):
    labels, probabilities = law
    return np.tensordot(probabilities, labels, 1)


def pd_regret(mean, positions):
    rankings = all_positions(len(mean))
    losses = (mean * (rankings[:, :, None] > rankings[:, None, :])).sum(axis=(1, 2))
    return disagreement(mean, positions) - losses.min()


def draw_binary(r, rng):
    n = rng.integers(1, 6)
    return rng.integers(0, 2, (n, r)), rng.dirichlet(np.ones(n))


def draw_dags(r, rng):
    """Random weighted DAGs as matrices: each edge of a random order exists or not."""
    n = rng.integers(1, 6)
    out = np.zeros((n, r, r))
    for matrix in out:
        order = rng.permutation(r)
        weights = np.triu(rng.integers(0, 4, (r, r)) * (rng.random((r, r)) < 0.7), 1)
        matrix[np.ix_(order, order)] = weights
    return out, rng.dirichlet(np.ones(n))


def draw_orders(r, rng):
    """Unit preferences of complete orders."""
    n = rng.integers(1, 6)
    orders = [rng.permutation(r) for _ in range(n)]
    return np.array([preferences(o, "unit") for o in orders]), rng.dirichlet(np.ones(n))


def draw_many(draw, r, rng, condition=None, n=40):
    laws = []
    while len(laws) < n:
        law = draw(r, rng)
        if condition is None or condition(law):
            laws.append(law)
    return laws


@pytest.mark.product
@sizes
@pytest.mark.parametrize("pred", [None, "exact", "auto"])
def test_map_is_bayes_optimal_under_every_law(r, pred, rng):
    laws = draw_many(draw_binary, r, rng)
    for law, positions in zip(laws, learn(map_ranker(pred=pred), laws)):
        assert map_regret(law, positions) < 1e-10


@pytest.mark.product
@sizes
@pytest.mark.parametrize("pred", [None, "exact", "auto"])
@pytest.mark.parametrize("draw", [draw_dags, draw_orders])
def test_disagreement_is_bayes_optimal_under_every_law(r, pred, draw, rng):
    laws = draw_many(draw, r, rng)
    found = learn(pd_ranker(pred=pred), laws, PreferenceTarget.from_matrices)
    for law, positions in zip(laws, found):
        assert pd_regret(mean_preferences(law), positions) < 1e-10


@sizes
@pytest.mark.parametrize("weights", ["difference", "unit"])
def test_disagreement_of_relevances_is_bayes_optimal(r, weights, rng):
    laws = [(rng.integers(0, 4, (5, r)), rng.dirichlet(np.ones(5))) for _ in range(40)]
    found = learn(pd_ranker(pred="exact", weights=weights), laws)
    for (labels, probabilities), positions in zip(laws, found):
        law = np.array([preferences(y, weights) for y in labels]), probabilities
        assert pd_regret(mean_preferences(law), positions) < 1e-10


def has_no_cycle(mean):
    """Whether documents can be removed one by one, each not beaten by a remaining one."""
    left = list(range(len(mean)))
    while left:
        free = [j for j in left if not any(mean[i, j] > mean[j, i] + 1e-9 for i in left)]
        if not free:
            return False
        left.remove(free[0])
    return True


@sizes
def test_algorithm_one_is_optimal_on_p_dag(r, rng):
    for draw in (draw_dags, draw_orders):
        laws = draw_many(draw, r, rng, lambda law: has_no_cycle(mean_preferences(law)))
        ranker = pd_ranker(pred="topological")
        found = learn(ranker, laws, PreferenceTarget.from_matrices)
        for law, positions in zip(laws, found):
            assert pd_regret(mean_preferences(law), positions) < 1e-10


@sizes
def test_any_topological_order_is_optimal_on_p_dag(r, rng):
    laws = draw_many(draw_dags, r, rng, lambda law: has_no_cycle(mean_preferences(law)), n=15)
    for mean in map(mean_preferences, laws):
        edges = np.argwhere(mean > mean.T + 1e-9)
        orders = [p for p in all_positions(r) if all(p[i] < p[j] for i, j in edges)]
        assert orders
        assert max(pd_regret(mean, p) for p in orders) < 1e-8


CUTOFFS = [{"k": k, "divisor": d} for k in (1, 2, 3) for d in ("relevant", "attainable")]


@pytest.mark.parametrize("options", CUTOFFS, ids=lambda o: "-".join(map(str, o.values())))
def test_map_with_a_cutoff_is_bayes_optimal(options, rng):
    laws = draw_many(draw_binary, 4, rng)
    for law, positions in zip(laws, learn(map_ranker(pred="exact", **options), laws)):
        assert map_regret(law, positions, **options) < 1e-10
    most = options["k"] if options["divisor"] == "attainable" else 4
    laws = draw_many(draw_binary, 4, rng, lambda law: reinforces(law, most), n=25)
    for ranker in (map_ranker(pred="diagonal", **options), AveragePrecisionRanker(**options)):
        for law, positions in zip(laws, learn(ranker, laws)):
            assert map_regret(law, positions, **options) < 1e-10


def pair_means(law, most):
    """``E[Y_i Y_j / min(|Y|_1, most)]``."""
    return sum(p * np.outer(y, y) / max(min(y.sum(), most), 1) for y, p in zip(*law))


def reinforces(law, most=np.inf):
    """Whether a distribution is in P_reinforce with a margin above rounding."""
    u = pair_means(law, most)
    documents = range(len(u))
    for i in documents:
        for j in documents:
            rest = sum(max(u[j, g] - u[i, g], 0) for g in documents if g not in (i, j))
            if i != j and u[i, i] >= u[j, j] and u[i, i] < u[j, j] + rest + 1e-9:
                return False
    return True


@sizes
def test_diagonal_is_optimal_on_p_reinforce(r, rng):
    laws = draw_many(draw_binary, r, rng, reinforces, n=25)
    ranker = map_ranker(pred="diagonal")
    for law, positions in zip(laws, learn(ranker, laws)):
        assert map_regret(law, positions) < 1e-10


# CUG13, proof of Theorem 3.3: documents 1 and 2 are relevant together, or 3 and 4 are. The
# ranking 1 > 3 > 2 > 4 mixes the two, 1 > 2 > 3 > 4 keeps them apart.
TOGETHER = np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), np.array([0.5, 0.5])
MIXED, APART = np.array([1, 3, 2, 4]), np.array([1, 2, 3, 4])


def test_printed_counterexample():
    labels, half = TOGETHER
    gap = np.mean([average_precision(y, MIXED) - average_precision(y, APART) for y in labels])
    assert gap == pytest.approx(-1 / 24, abs=1e-15)
    gap = np.mean([err(y, MIXED, max_grade=1) - err(y, APART, max_grade=1) for y in labels])
    assert gap == pytest.approx(1 / 48, abs=1e-15)
    # One score per document sees no difference between the two.
    X, score = np.ones((2, 1)), AveragePrecisionRanker()
    scores = score.fit(X, labels, sample_weight=half).predict(X[:1])[0]
    np.testing.assert_allclose(scores, scores[0], atol=1e-12)
    assert map_regret(TOGETHER, MIXED) == pytest.approx(1 / 24)
    for pred in ("exact", "beam"):
        assert map_regret(TOGETHER, learn(map_ranker(pred=pred), [TOGETHER])[0]) < 1e-12


def test_score_form_of_map_fails_on_the_counterexample():
    # A little mass on single documents makes the scores decrease in the order 1, 3, 2, 4.
    labels = np.vstack([TOGETHER[0], np.eye(4, dtype=int)])
    law = labels, np.array([0.497, 0.497, 0.003, 0.001, 0.002, 0.0])
    by_score = learn(AveragePrecisionRanker(), [law])[0]
    by_diagonal = learn(map_ranker(pred="diagonal"), [law])[0]
    assert by_score.tolist() == by_diagonal.tolist() == MIXED.tolist()
    assert map_regret(law, by_score) == pytest.approx(1 / 24, abs=2e-3)
    assert map_regret(law, learn(map_ranker(pred="exact"), [law])[0]) < 1e-12


# 40% hold 1 > 2 > 3, 37% 3 > 1 > 2, 23% 2 > 3 > 1: a majority for 1 > 2 > 3 > 1. The majority
# for 3 > 1 is smallest, yet 2 loses more than 3 does.
CONDORCET = np.array([[3, 2, 1], [2, 1, 3], [1, 3, 2]]), np.array([0.4, 0.37, 0.23])


@pytest.mark.parametrize("pred", [None, "exact", "topological", "local_search"])
def test_net_preference_fails_on_a_cycle_and_pairs_do_not(pred):
    labels, probabilities = CONDORCET
    mean = sum(p * preferences(y, "unit") for y, p in zip(labels, probabilities))
    assert not has_no_cycle(mean)
    by_score = learn(PairwiseDisagreementRanker(weights="unit"), [CONDORCET])[0]
    by_pairs = learn(pd_ranker(weights="unit", pred=pred), [CONDORCET])[0]
    assert by_score.tolist() == [1, 3, 2]
    assert by_pairs.tolist() == [1, 2, 3]
    assert pd_regret(mean, by_pairs) < 1e-12
    assert pd_regret(mean, by_score) == pytest.approx(0.26)


def as_subset(law):
    """Documents with one-hot features; one query for each label vector of the distribution."""
    labels, probabilities = law
    n, r = labels.shape[:2]
    qid = np.repeat(np.arange(n), r)
    return np.tile(np.eye(r), (n, 1)), qid, np.repeat(probabilities, r)


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
@pytest.mark.parametrize("r", [2, 4, 5])
def test_subset_form_is_bayes_optimal(r, rng):
    for law in draw_many(draw_binary, r, rng, n=8):
        X, qid, weight = as_subset(law)
        ranker = map_ranker(pred="exact", alpha=1e-9).fit(X, law[0].ravel(), qid, weight)
        assert map_regret(law, ranker.rank(X[:r], qid[:r])) < 1e-8
    for law in draw_many(draw_dags, r, rng, lambda law: law[0].any(), n=8):
        X, qid, weight = as_subset(law)
        y = PreferenceTarget.from_matrix(law[0].reshape(-1, r), qid)
        ranker = pd_ranker(pred="exact", alpha=1e-9).fit(X, y, sample_weight=weight)
        assert pd_regret(mean_preferences(law), ranker.rank(X[:r], qid[:r])) < 1e-8
