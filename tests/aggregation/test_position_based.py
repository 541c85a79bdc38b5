"""The position-based model of clicks: its estimates, their bias and errors, by enumeration."""

import itertools

import numpy as np
import pytest

from skcalrank import AggregatedRanker, ClickSessions, PreferenceTarget, sample_sessions
from skcalrank.aggregation import cascade, fit_propensities, mean_over_subsets, position_based
from skcalrank.evaluation import offline_evaluate
from skcalrank.measures import DCG, ERR, NDCG, RBP

THETA = np.array([1.0, 0.6, 0.3, 0.2])
TRUST = (np.array([0.95, 0.9, 0.8, 0.7]), np.array([0.3, 0.2, 0.1, 0.05]))
LOGS = {
    "one list": [[0, 1, 2, 3]],
    "two lists": [[2, 0, 1], [1, 2]],
    "three lists": [[0, 1], [1, 0], [3, 0]],
    "one document": [[0], [0], [1, 0]],
}


def patterns(lists, click):
    """Yield the sessions of every pattern of clicks, and its probability.

    `click` returns the probability of a click at a position.
    """
    r = 4
    sizes = [len(rows) for rows in lists]
    chance = np.concatenate([[click(row, k) for k, row in enumerate(rows)] for rows in lists])
    for clicks in itertools.product([False, True], repeat=sum(sizes)):
        clicks = np.array(clicks)
        parts = np.split(clicks, np.cumsum(sizes)[:-1])
        sessions = ClickSessions(np.zeros(r), lists, [np.flatnonzero(c) + 1 for c in parts])
        yield sessions, np.prod(np.where(clicks, chance, 1 - chance))


def expected(lists, click, of):
    return sum(chance * of(sessions) for sessions, chance in patterns(lists, click))


def by_position(relevance, trust=None):
    plus, minus = (np.ones(4), np.zeros(4)) if trust is None else trust
    return lambda row, k: THETA[k] * (relevance[row] * plus[k] + (1 - relevance[row]) * minus[k])


def shown(lists):
    return np.isin(np.arange(4), np.concatenate(lists))


@pytest.fixture
def relevance(rng):
    return rng.random(4)


# -- bias ----------------------------------------------------------------------------------


@pytest.mark.parametrize("trust", [None, TRUST, (0.9, 0.2)], ids=["none", "arrays", "numbers"])
@pytest.mark.parametrize("lists", LOGS.values(), ids=LOGS)
def test_estimates_are_unbiased_given_the_positions(lists, trust, relevance):
    both = None if trust is None else [np.broadcast_to(values, 4) for values in trust]
    mean = expected(
        lists,
        by_position(relevance, both),
        lambda y: position_based(y, THETA, trust=trust).relevance,
    )
    np.testing.assert_allclose(mean, relevance * shown(lists), atol=1e-14)


def test_estimates_are_unbiased_over_random_orders(relevance):
    # The order may follow anything but clicks; here it is drawn from a law that favors some.
    orders = list(itertools.permutations(range(3)))
    law = np.arange(1.0, len(orders) + 1) / sum(range(1, len(orders) + 1))
    mean = sum(
        p * expected([order], by_position(relevance), lambda y: position_based(y, THETA).relevance)
        for p, order in zip(law, orders)
    )
    np.testing.assert_allclose(mean, relevance * [1, 1, 1, 0], atol=1e-14)


@pytest.mark.parametrize("trust", [None, TRUST], ids=["none", "trust"])
@pytest.mark.parametrize("lists", LOGS.values(), ids=LOGS)
def test_the_bias_of_a_prior_is_known(lists, trust, relevance, rng):
    prior, m = rng.random(4), 2.5
    mean = expected(
        lists,
        by_position(relevance, trust),
        lambda y: position_based(y, THETA, trust=trust, prior=prior, strength=m).relevance,
    )
    y = ClickSessions(np.zeros(4), lists, [0] * len(lists))
    e = position_based(y, THETA, trust=trust).examinations
    np.testing.assert_allclose(mean, relevance + m * (prior - relevance) / (e + m), atol=1e-14)


def test_targets_linear_in_labels_are_unbiased_and_those_of_ndcg_are_not(relevance):
    lists = LOGS["one list"]
    y = ClickSessions(np.zeros(4), lists, [0])
    queries = y.queries()

    def bias(measure):
        def targets(scores):
            return measure.score_targets(scores, queries)

        mean = expected(
            lists, by_position(relevance), lambda y: targets(position_based(y, THETA).relevance)
        )
        return np.abs(mean - targets(relevance)).max()

    assert bias(DCG(gain="linear")) < 1e-14
    assert bias(DCG(k=2, gain="linear")) < 1e-14
    assert bias(RBP()) < 1e-14
    assert bias(NDCG(gain="linear")) > 0.05
    assert bias(DCG()) > 0.05  # the exponential gain is not linear
    assert bias(ERR(max_grade=1)) > 0.05


def test_pairs_of_documents_are_unbiased(relevance):
    def products(y):
        estimate = position_based(y, THETA).relevance
        return np.outer(estimate, 1 - estimate)

    mean = expected(LOGS["one list"], by_position(relevance), products)
    apart = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(mean[apart], np.outer(relevance, 1 - relevance)[apart], atol=1e-14)


def test_clicks_alone_are_biased(relevance):
    lists = LOGS["three lists"]
    mean = expected(
        lists, by_position(relevance), lambda y: position_based(y, np.ones(4)).relevance
    )
    assert mean[3] == pytest.approx(relevance[3])  # always first
    assert np.all(mean[:2] < relevance[:2] - 1e-3)


def test_clicks_of_cascade_users_are_those_of_their_examinations(relevance):
    lists = LOGS["two lists"]

    def first_clicks(y):
        """Return the sessions of users who leave with the first click."""
        first = [np.flatnonzero(c)[:1] + 1 for c in np.split(y.clicked, y.ptr[1:-1])]
        return np.array(ClickSessions(y.qid, lists, first).counts())

    clicks, examinations = expected(lists, lambda row, _: relevance[row], first_clicks)
    np.testing.assert_allclose(clicks, relevance * examinations, atol=1e-14)


# -- variance ------------------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("trust", [None, TRUST], ids=["none", "trust"])
@pytest.mark.parametrize("lists", LOGS.values(), ids=LOGS)
def test_the_variance_is_at_most_that_of_inverse_propensities(lists, trust, relevance):
    click = by_position(relevance, trust)

    def estimate(y):
        return position_based(y, THETA, trust=trust).relevance

    def inverse(y):
        clicks = np.bincount(y.shown_rows, y.clicked / THETA[y.position - 1], minlength=4)
        return clicks / np.maximum(np.bincount(y.shown_rows, minlength=4), 1)

    def variance(of):
        return expected(lists, click, lambda y: of(y) ** 2) - expected(lists, click, of) ** 2

    v = variance(estimate)
    if trust is None:
        assert (v <= variance(inverse) + 1e-14).all()
    # The standard error is the root of this variance, at the estimate in place of the truth.
    y = ClickSessions(np.zeros(4), lists, [0] * len(lists))
    e = position_based(y, THETA, trust=trust).examinations
    chance = [click(row, k - 1) for row, k in zip(y.shown_rows, y.position)]
    noise = np.bincount(y.shown_rows, np.multiply(chance, np.subtract(1, chance)), minlength=4)
    np.testing.assert_allclose(v[e > 0], (noise[e > 0] / e[e > 0] ** 2), atol=1e-13)


@pytest.mark.parametrize("trust", [None, TRUST], ids=["none", "trust"])
def test_errors_are_standard_errors(trust, rng):
    qid = np.repeat(np.arange(60), 4)
    p = rng.uniform(0.1, 0.9, len(qid))
    y = sample_sessions(
        p, qid, n_sessions=20_000, model="position", propensity=THETA, trust=trust,
        order_scores=p, random_state=0,
    )  # fmt: skip
    found = position_based(y, THETA, trust=trust)
    z = (found.relevance - p) / found.standard_error
    assert np.abs(z).max() < 4.5
    assert 0.85 < np.sqrt(np.mean(z**2)) < 1.15


@pytest.mark.parametrize("model", ["position", "cascade"])
def test_errors_of_rare_clicks_hold(model):
    # Plain binomial errors of these relevances: .34 with position bias.
    hits = []
    for seed in range(20):
        p = 10 ** np.random.default_rng(seed).uniform(-2, -1, 300)
        y = sample_sessions(
            p, np.repeat(np.arange(50), 6), n_sessions=4000, model=model, random_state=seed
        )
        found = cascade(y) if model == "cascade" else position_based(y, 1 / np.arange(1, 7))
        hits.append(np.abs(found[0] - p) <= 1.96 * found.standard_error)
    assert np.mean(hits) > 0.94


# -- what is returned ----------------------------------------------------------------------


def test_documents_never_shown_weigh_nothing():
    y = ClickSessions([1] * 3, [[0, 1], [1, 0]], [[1, 2], [1]])
    found = position_based(y, THETA)
    np.testing.assert_allclose(found.examinations, [1.6, 1.6, 0])
    np.testing.assert_allclose(found.relevance, [1 / 1.6, 2 / 1.6, 0])
    assert found.clicks.tolist() == [1, 2, 0]
    assert np.isinf(found.standard_error).tolist() == [False, False, True]
    with_prior = position_based(y, THETA, prior=0.25)
    np.testing.assert_allclose(with_prior.relevance, [2.25 / 6.6, 3.25 / 6.6, 0.25])
    assert with_prior.examinations.tolist() == found.examinations.tolist()


def test_rows_that_are_removed_leave_the_positions_of_others(rng):
    qid = np.repeat([1, 2], 4)
    y = sample_sessions(rng.random(8), qid, n_sessions=50, model="position", random_state=0)
    rows = [6, 0, 3]
    np.testing.assert_allclose(
        position_based(y[rows], THETA).relevance, position_based(y, THETA).relevance[rows]
    )


def test_subsets_of_sessions_take_a_prior_of_one_number(rng):
    y = sample_sessions(rng.random(3), n_sessions=4, model="position", random_state=0)
    options = {"propensity": THETA, "trust": (0.9, 0.1), "prior": 0.3}
    mean = mean_over_subsets(y, position_based, 3, **options).mean
    every = [y.choose(np.array(some)) for some in itertools.combinations(range(4), 3)]
    by_hand = np.mean([position_based(some, **options).relevance for some in every], axis=0)
    np.testing.assert_allclose(mean, by_hand, atol=1e-14)
    with pytest.raises(ValueError, match="prior must be a number where subsets"):
        mean_over_subsets(y, position_based, 3, propensity=THETA, prior=np.ones(3))


# -- drawn sessions ------------------------------------------------------------------------


@pytest.mark.parametrize("trust", [None, TRUST], ids=["none", "trust"])
def test_sessions_are_drawn_by_the_model(trust):
    p = np.array([0.1, 0.9, 0.5])
    y = sample_sessions(
        p, n_sessions=60_000, n_shown=3, model="position", propensity=THETA, trust=trust,
        random_state=0,
    )  # fmt: skip
    click = by_position(p, trust)
    for row, k in itertools.product(range(3), range(3)):
        at = (y.shown_rows == row) & (y.position == k + 1)
        assert y.clicked[at].mean() == pytest.approx(click(row, k), abs=0.015)
    # Clicks at two positions are independent given the documents.
    first, second = y.clicked.reshape(-1, 3)[y.shown_rows.reshape(-1, 3)[:, 0] == 1, :2].T
    assert np.abs(np.corrcoef(first, second)[0, 1]) < 0.12


def test_fitted_propensities_are_taken_as_they_are():
    p, qid = np.tile([0.1, 0.2, 0.6], 30), np.repeat(np.arange(30), 3)
    options = {"n_sessions": 2000, "model": "position", "random_state": 0}
    y = sample_sessions(p, qid, **options)
    fitted = fit_propensities(y)
    expected = position_based(y, fitted.propensity)
    for found in (position_based(y, fitted), position_based(y, "fit")):
        np.testing.assert_array_equal(found.relevance, expected.relevance)
    X = np.column_stack([p, p**2])
    plain, ranker = (
        AggregatedRanker("position_based", structure_options={"propensity": given}).fit(X, y)
        for given in (fitted.propensity, fitted)
    )
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(X))


def test_propensities_of_drawn_sessions_fall_as_the_inverse_position():
    y = sample_sessions(np.ones(5), n_sessions=20_000, model="position", random_state=0)
    rate = [y.clicked[y.position == k].mean() for k in range(1, 6)]
    np.testing.assert_allclose(rate, 1 / np.arange(1, 6), atol=0.015)


# -- bad input -----------------------------------------------------------------------------


def one_list():
    return ClickSessions([1] * 3, [[2, 0, 1]], [1])


ERRORS = [
    (lambda: position_based(one_list(), [1.0, 0.5]), r"each position up to 3, .* got 2"),
    (lambda: position_based(one_list(), [1.0, 0.0, 0.5]), "> 0, got 0 at position 2"),
    (lambda: position_based(one_list(), []), r"got shape \(0,\) of float64"),
    (lambda: position_based(one_list(), [1.0, np.inf, 0.5]), "propensity must .*, got inf"),
    (lambda: position_based(one_list(), [3.0, 1.5, 1.0]), "got 3 at position 1.*by the largest"),
    (lambda: position_based(one_list(), [1.0, 2.0, 3.0]), "got 2 at position 2.*1 / propensity"),
    (lambda: position_based(one_list(), [0.9, 1.2, 0.5]), "propensity must .* got 1.2 at position"),
    (lambda: offline_evaluate([0] * 3, one_list(), propensity=[1, 2, 3]), "got 2 at position 2"),
    (lambda: position_based(one_list(), "swap"), "propensity must be an array or .*got 'swap'"),
    (
        lambda: sample_sessions([0.5], model="position", propensity=[1.5]),
        "propensity must hold probabilities, got 1.5",
    ),
    (lambda: position_based(one_list(), [1.0, np.nan, 0.5]), "propensity must .*, got nan"),
    (lambda: position_based(one_list(), 0.5), r"propensity must .*, got shape \(\)"),
    (
        lambda: position_based(one_list(), ["a"]),
        "propensity must hold one number for each position",
    ),
    (lambda: position_based(one_list(), THETA, trust=0.9), "trust must be a pair"),
    (lambda: position_based(one_list(), THETA, trust=(0.9, 1.2)), "trust must .*, got 1.2"),
    (
        lambda: position_based(one_list(), THETA, trust=(0.9, [0.1, 0.95, 0.1, 0.1])),
        "0.9 and 0.95 at position 2",
    ),
    (lambda: position_based(one_list(), THETA, trust=(0.9, [0.1])), r"shapes \(4,\) and \(1,\)"),
    (lambda: position_based(one_list(), THETA, prior=[0.1, 2.0, 0]), "prior must .*, got 2"),
    (lambda: position_based(one_list(), THETA, prior=[0.1]), r"shape \(3,\).*got shape \(1,\)"),
    (lambda: position_based(one_list(), THETA, prior=0.5, strength=0), "strength must .*got 0"),
    (lambda: position_based(ClickSessions([], [], []), THETA), "at least one row"),
    (lambda: sample_sessions([0.5], model="pbm"), "model must be .*got 'pbm'"),
    (lambda: sample_sessions([0.5], propensity=[1]), 'propensity must be None for model="casc'),
    (lambda: sample_sessions([0.5] * 3, model="position", propensity=[1]), "up to 3, .* got 1"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_bad_input_is_a_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_estimates_relative_to_the_first_position_may_be_above_it():
    for theta in ([1.0, 1.02, 1.05], [1.0, 1.7, 0.4], np.array([1, 1, 1])):
        assert position_based(one_list(), theta).relevance[2] == 1.0


def test_other_targets_are_refused():
    for rule in (lambda y: position_based(y, THETA), cascade):
        with pytest.raises(TypeError, match="must be ClickSessions"):
            rule(PreferenceTarget.from_relevance([1, 0], [1, 1]))
