"""Structures: laws over the registry, and each against its definition in dense numpy."""

import dataclasses
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from structures import (
    DEFINITIONS,
    OF_CLICKS,
    RULES,
    SHAPES,
    dense_log_odds,
    draw_matrices,
    draw_sessions,
    population,
    rows_of,
    seen,
    target_of,
)

from skcalrank import (
    AggregatedRanker,
    ClickSessions,
    PreferenceTarget,
    SpearmanRanker,
    sample_comparisons,
)
from skcalrank.aggregation import (
    borda,
    bradley_terry,
    log_odds,
    mean_adjacency,
    mean_log_odds,
    principal_eigenvector,
    thurstone_mosteller,
    win_rate,
)

pytestmark = pytest.mark.filterwarnings("ignore:Query .* has documents that were never compared")

PAIR_STRUCTURES = {name: rule for name, rule in RULES.items() if name not in OF_CLICKS}
every_structure = pytest.mark.parametrize("name", RULES)
every_pair_structure = pytest.mark.parametrize("name", PAIR_STRUCTURES)
OPTIONS = [(name, options) for name, (_, all_) in DEFINITIONS.items() for options in all_]
every_option = pytest.mark.parametrize(("name", "options"), OPTIONS)


def test_definitions_are_of_structures():
    assert set(DEFINITIONS) < set(RULES)


@pytest.fixture
def matrices(rng):
    return [draw_matrices(rng, m, k) for m, k in SHAPES]


def draw_target(name, rng):
    if name in OF_CLICKS:
        return draw_sessions(rng)
    return target_of(rng, [draw_matrices(rng, m, k) for m, k in SHAPES])


# -- laws of all structures --------------------------------------------------------------


@every_structure
def test_one_finite_score_per_row(name, rng):
    y = draw_target(name, rng)
    scores = RULES[name](y)
    assert scores.shape == (len(y),)
    assert scores.dtype == float
    assert np.isfinite(scores).all()
    # Rules that count may tie documents, but they tell some apart.
    assert len(np.unique(scores)) > 1


@every_structure
def test_scores_follow_the_rows(name, rng):
    y = draw_target(name, rng)
    rows = rng.permutation(len(y))
    np.testing.assert_allclose(RULES[name](y[rows]), RULES[name](y)[rows], atol=1e-9)


@every_structure
def test_all_queries_at_once_are_one_by_one(name, rng):
    y = draw_target(name, rng)
    together = RULES[name](y)
    for query in np.unique(y.qid):
        rows = np.flatnonzero(y.qid == query)
        np.testing.assert_allclose(RULES[name](y[rows]), together[rows], atol=1e-9)


@every_structure
def test_queries_that_do_not_fit_into_one_part_are_the_same(name, rng, monkeypatch):
    y = draw_target(name, rng)
    together = RULES[name](y)
    monkeypatch.setattr("skcalrank.aggregation._tally._BATCH_ROWS", 5)
    np.testing.assert_allclose(RULES[name](y), together, atol=1e-9)


@every_structure
def test_targets_are_not_modified(name, rng):
    y = draw_target(name, rng)
    before = pickle.loads(pickle.dumps(y))
    for values in vars(y).values():
        if isinstance(values, np.ndarray):
            values.flags.writeable = False
    scores = RULES[name](y)
    assert y == before
    np.testing.assert_array_equal(RULES[name](before), scores)


@every_pair_structure
def test_order_of_the_preferences_does_not_matter(name, matrices):
    a, b = (target_of(np.random.default_rng(seed), matrices) for seed in (1, 2))
    for i in range(len(matrices)):
        np.testing.assert_allclose(
            RULES[name](a)[rows_of(a, i)], RULES[name](b)[rows_of(b, i)], atol=1e-9
        )


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "options"), [case for case in OPTIONS if case[0] in PAIR_STRUCTURES], ids=str
)
@pytest.mark.filterwarnings("ignore:Query:UserWarning")
def test_equal_scores_are_equal_in_every_order_of_rows(name, options, rng):
    structure, qid = RULES[name], np.repeat(np.arange(50), 6)
    y = sample_comparisons(np.zeros(300), qid, n_comparisons=750, random_state=0)
    order, moved = rng.permutation(300), np.empty(300)
    moved[order] = structure(y[order], **options)
    scores, moved = structure(y, **options).reshape(50, 6), moved.reshape(50, 6)
    gaps, again = (s[:, :, None] - s[:, None] for s in (scores, moved))
    near = np.isclose(gaps, 0, atol=1e-12 * np.abs(scores).max())
    assert near.sum() > 300
    np.testing.assert_array_equal(gaps == 0, near)
    np.testing.assert_array_equal(np.sign(again), np.sign(gaps))


def test_borda_counts_that_are_equal_share_their_positions():
    winners, losers = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2], [2, 3, 3, 2, 2, 2, 3, 3, 3, 3]
    y = PreferenceTarget.from_comparisons(winners, losers, qid=[1] * 4)
    assert AggregatedRanker("borda", SpearmanRanker()).fit(np.eye(4), y).targets_.tolist() == [
        *(2.5, 2.5, 1.0, 0.0)
    ]


@every_pair_structure
def test_label_form_has_one_query_per_row(name, rng):
    Y = np.stack([draw_matrices(rng, 4, 1)[0] for _ in range(5)])
    scores = RULES[name](PreferenceTarget.from_matrices(Y))
    assert scores.shape == (5, 4)
    whole = PreferenceTarget.from_matrix(Y.reshape(20, 4), np.repeat(np.arange(5), 4))
    np.testing.assert_allclose(scores.ravel(), RULES[name](whole), atol=1e-12)


@every_pair_structure
def test_the_bradley_terry_population_is_ordered_by_its_relevances(name, rng):
    r = rng.normal(size=6) * 2
    s = RULES[name](PreferenceTarget.from_matrices(population(r)))[0]
    assert np.array_equal(np.argsort(s), np.argsort(r))


# Reversed preferences transpose the matrix, whose principal eigenvector is a different one.
@pytest.mark.parametrize("name", sorted(set(PAIR_STRUCTURES) - {"principal_eigenvector"}))
def test_turned_preferences_turn_the_scores(name, rng):
    wins = rng.integers(0, 10, (5, 5))
    Y = np.triu(wins, 1) + np.tril(9 - wins.T, -1)
    up, down = (RULES[name](PreferenceTarget.from_matrices([Z]))[0] for Z in (Y, Y.T))
    np.testing.assert_allclose(up - up.mean(), down.mean() - down, atol=1e-8)


@every_pair_structure
@pytest.mark.filterwarnings("ignore:Query:UserWarning")
def test_no_comparisons_no_order(name):
    y = PreferenceTarget.from_comparisons([0], [1], [1, 1, 1, 2, 2, 3])
    scores = RULES[name](y)
    assert np.isfinite(scores).all()
    assert scores[0] > scores[1]
    assert scores[3] == scores[4]


@every_pair_structure
@pytest.mark.filterwarnings("ignore:Query:UserWarning")
def test_weight_zero_states_nothing(name):
    # But its judgment was made: it counts for the empirical law.
    winner, loser, weight = [0, 1, 1, 3], [1, 0, 2, 0], [1.0, 2.0, 1.0, 0.0]
    y = PreferenceTarget.from_comparisons(winner, loser, np.zeros(4), weight=weight)
    shorter = PreferenceTarget.from_comparisons(
        winner[:3], loser[:3], np.zeros(4), weight=weight[:3]
    )
    share = 3 / 4 if name == "borda" else 1
    np.testing.assert_allclose(RULES[name](y), share * RULES[name](shorter), atol=1e-12)


# -- definitions -------------------------------------------------------------------------


@pytest.mark.every_case
@every_option
def test_structure_is_what_it_is_defined_as(name, options, rng, matrices):
    y = target_of(rng, matrices)
    scores = RULES[name](y, **options)
    atol = 1e-5 if name == "bradley_terry" else 1e-8  # what the minimizer of the test reaches
    for i, Y in enumerate(matrices):
        np.testing.assert_allclose(
            scores[rows_of(y, i)], DEFINITIONS[name][0](Y, **options), atol=atol
        )


@every_option
@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.filterwarnings("ignore:Query .* has not converged in max_iter=10000")
def test_weights_at_the_ends_of_the_range(name, options, unit, rng, matrices):
    rule, (definition, _) = RULES[name], DEFINITIONS[name]
    y, alpha = target_of(rng, matrices), options.get("alpha", 3.0)
    s = rule(dataclasses.replace(y, weight=y.weight * unit), **options)
    assert np.isfinite(s).all()
    if name == "bradley_terry":
        # A large weight leaves no penalty; with a small one the likelihood is linear.
        no_penalty = alpha == 0 or unit > 1
        expected = rule(y, alpha=0) if no_penalty else y.net_preference() / 2 / alpha * unit
        np.testing.assert_allclose(s, expected, atol=1e-6 * min(np.abs(expected).max(), 1.0))
    elif name != "principal_eigenvector" or unit < 1:
        for i, Y in enumerate(matrices):
            with np.errstate(all="ignore"):
                expected = definition(Y * unit, **options)
            if np.isfinite(expected).all():  # shares of the definition round to 1
                atol = 1e-9 * np.abs(expected).max(initial=0.0)
                np.testing.assert_allclose(s[rows_of(y, i)], expected, rtol=0, atol=atol)


@pytest.mark.parametrize("sparse", [False, True])
def test_matrices_are_what_they_are_defined_as(sparse, rng, matrices):
    y = target_of(rng, matrices)
    names = list(dict.fromkeys(y.qid))
    for options in ({}, {"c": 0.3}, {"c": 0.3, "conditional": True}):
        for query, A in zip(names, log_odds(y, sparse=sparse, **options), strict=True):
            A = A.toarray() if sparse else A
            np.testing.assert_allclose(A, -A.T, atol=1e-12)
            np.testing.assert_allclose(
                A, dense_log_odds(matrices[int(query[1:])], **options), atol=1e-12
            )
    for query, mean in zip(names, mean_adjacency(y, sparse=sparse), strict=True):
        mean = mean.toarray() if sparse else mean
        Y = matrices[int(query[1:])]
        np.testing.assert_allclose(mean, Y.sum(axis=0) / max(len(Y), 1), atol=1e-12)


def test_mean_adjacency_is_the_adjacency_over_the_judgments(rng, matrices):
    y = target_of(rng, matrices)
    for mean, whole, k in zip(mean_adjacency(y), y.matrices(), y.n_judgments, strict=True):
        np.testing.assert_allclose(mean * max(k, 1), whole)


def test_default_smoothing_is_half_a_judgment(rng):
    matrices = [draw_matrices(rng, 5, 8)]
    y = target_of(rng, matrices)
    np.testing.assert_allclose(
        mean_log_odds(y), mean_log_odds(y, c=1 / (2 * len(matrices[0]))), atol=1e-12
    )
    single = PreferenceTarget.from_comparisons([0, 0, 1], [1, 1, 0], [0, 0])
    np.testing.assert_allclose(
        mean_log_odds(single), mean_log_odds(single, c=1 / 6, conditional=True), atol=1e-12
    )


@pytest.mark.parametrize("link", ["logit", "probit", "linear"])
def test_smoothing_as_small_as_it_may_be_leaves_scores_finite(link):
    y = PreferenceTarget.from_comparisons([0, 1], [1, 2], np.zeros(3))
    for c in (1e-20, 1e-300):
        s = thurstone_mosteller(y, link=link, c=c)
        assert np.isfinite(s).all()
        assert s[0] > s[1] > s[2]


def test_borda_is_the_win_rate_when_all_pairs_are_compared_alike(rng):
    wins = rng.integers(0, 10, (5, 5))
    y = PreferenceTarget.from_matrices([np.triu(wins, 1) + np.tril(9 - wins.T, -1)])
    for conditional, total in ((False, 9), (True, 1)):
        b, w = (f(y, conditional=conditional)[0] for f in (borda, win_rate))
        np.testing.assert_allclose(w, total / 2 + b / 8)


def test_win_rate_is_the_mean_share_of_wins_and_not_of_judgments():
    # The first document wins 14 of 23 games: 5 of 9 against one opponent, 9 of 14 against another.
    games = [(0, 1)] * 5 + [(1, 0)] * 4 + [(0, 2)] * 9 + [(2, 0)] * 5 + [(3, 4)] * 37
    y = PreferenceTarget.from_comparisons(*np.array(games).T, np.zeros(6))
    rate = win_rate(y)
    np.testing.assert_allclose(rate, [(5 / 9 + 9 / 14) / 2, 4 / 9, 5 / 14, 1, 0, 0.5])
    assert win_rate(y, conditional=False)[0] == pytest.approx(14 / 60 / 5)


@pytest.mark.parametrize(("often", "seldom"), [(2, 1), (5, 3)])
def test_of_equal_shares_of_wins_borda_prefers_the_more_often_compared_one(often, seldom):
    n_wins, pairs = [2 * often, 2 * seldom, often, seldom], [[0, 2], [1, 2], [2, 0], [2, 1]]
    winner, loser = np.repeat(pairs, n_wins, axis=0).T
    scores = borda(PreferenceTarget.from_comparisons(winner, loser, qid=[1, 1, 1]))
    assert scores[0] > scores[1] > 0


def test_borda_is_the_net_preference_over_the_judgments(rng, matrices):
    y = target_of(rng, matrices)
    k = y.n_judgments[y.queries().codes]
    np.testing.assert_allclose(borda(y), y.net_preference() / np.maximum(k, 1))


def test_thurstone_mosteller_residuals_are_orthogonal(rng, matrices):
    y = target_of(rng, matrices)
    s = thurstone_mosteller(y)
    for i, (query, A) in enumerate(zip(dict.fromkeys(y.qid), log_odds(y))):
        rows = np.flatnonzero(y.qid == query)
        mask = seen(matrices[int(query[1:])])
        residuals = mask * (A - (s[rows][:, None] - s[rows][None, :]))
        np.testing.assert_allclose(residuals.sum(axis=1), 0, atol=1e-10)
        assert len(rows) < 3 or np.abs(residuals).max() > 0.1, i


def test_least_squares_of_a_large_sparse_graph():
    y = sample_comparisons(np.linspace(0, 3, 60), n_comparisons=400, random_state=0)
    Y = np.zeros((1, 60, 60))
    np.add.at(Y[0], (y.winner, y.loser), 1.0)
    np.testing.assert_allclose(
        thurstone_mosteller(y), DEFINITIONS["thurstone_mosteller"][0](Y), rtol=1e-9, atol=1e-10
    )


def test_where_nothing_is_won_on_balance_scores_are_equal(rng):
    # The right side is rounding, which no iteration may chase.
    Y = np.zeros((100, 8, 8))
    for of_query in Y:
        for _ in range(12):
            cycle = rng.permutation(8)[: rng.integers(3, 9)]
            of_query[cycle, np.roll(cycle, -1)] += rng.random()
    y = PreferenceTarget.from_matrices(Y)
    np.testing.assert_allclose(bradley_terry(y), 0, atol=1e-13)
    np.testing.assert_allclose(thurstone_mosteller(y, link="linear"), 0, atol=1e-13)


# -- populations: every structure recovers a consistent law ------------------------------


R = np.array([0.3, -1.2, 2.0, 0.0, 1.1])


@pytest.mark.parametrize(
    ("structure", "limit"),
    [
        (lambda y: mean_log_odds(y, c=0), (len(R) * R - R.sum()) / (len(R) - 1)),
        (lambda y: thurstone_mosteller(y, c=0), R - R.mean()),
        (lambda y: bradley_terry(y, alpha=0), R - R.mean()),
        (lambda y: np.log(principal_eigenvector(y, c=0)), R - np.log(np.exp(R).sum())),
    ],
    ids=["mean_log_odds", "thurstone_mosteller", "bradley_terry", "principal_eigenvector"],
)
def test_the_bradley_terry_population_is_recovered(structure, limit):
    np.testing.assert_allclose(
        structure(PreferenceTarget.from_matrices(population(R)))[0], limit, atol=1e-8
    )


def test_default_smoothing_vanishes_as_judgments_accumulate():
    limit = (len(R) * R - R.sum()) / (len(R) - 1)
    gaps = [
        np.abs(mean_log_odds(PreferenceTarget.from_matrices(population(R, n)))[0] - limit).max()
        for n in (1e2, 1e4, 1e6)
    ]
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2]
    assert gaps[2] < 1e-5


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_mean_log_odds_of_draws_reach_their_limit(temperature):
    # DMJ13, eq. 27 simplified, on ragged queries; 4 standard errors of some 4,000 draws per pair.
    qid = np.array([3, 1, 1, 3, 3, 3, 1, 2])
    r = np.array([0.5, 1.0, -0.3, 2.0, -1.0, 0.0, 0.2, 9.0])
    y = sample_comparisons(r, qid, n_comparisons=50_000, temperature=temperature, random_state=0)
    limit = np.zeros(8)
    for query in (1, 3):
        of_query = qid == query
        m = of_query.sum()
        limit[of_query] = (m * r[of_query] - r[of_query].sum()) / (m - 1) / temperature
    np.testing.assert_allclose(mean_log_odds(y), limit, atol=0.12)


# -- what lacks comparisons --------------------------------------------------------------


def test_parts_that_nothing_connects_are_centred_each():
    y = PreferenceTarget.from_comparisons([0, 2, 2], [1, 3, 3], list("aaaaa"))
    with pytest.warns(UserWarning, match="Query 'a' has documents that no chain"):
        s = thurstone_mosteller(y, link="linear")
    np.testing.assert_allclose(s, [1 / 6, -1 / 6, 1 / 3, -1 / 3, 0], atol=1e-12)


def test_groups_that_never_met_are_told():
    def of_frame():
        frame = pytest.importorskip("pandas").DataFrame({"won": ["a", "c"], "lost": ["b", "d"]})
        return PreferenceTarget.from_frame(frame, winner="won", loser="lost")

    def of_rows():
        # Query "a" is connected, and documents that nobody compared make no group.
        qid = ["b", "a", "b", "a", "b", "b", "b"]
        return PreferenceTarget.from_comparisons([1, 0, 5], [3, 4, 2], qid)

    def of_items():
        return PreferenceTarget.from_orders([[1, 2, np.nan, np.nan]])[[0, 0]]

    with pytest.warns(UserWarning, match="Query 0 has groups .* those of 'a' and 'c': each"):
        scores = bradley_terry(of_frame())
    assert scores[0, 0] + scores[0, 1] == pytest.approx(0)
    with pytest.warns(UserWarning, match="Query 'b' has groups .* of document 0 and document 2"):
        bradley_terry(of_rows(), alpha=1.0)
    bradley_terry(of_items())
    Y = np.zeros((2, 4, 4))
    Y[1, 0, 1] = Y[1, 3, 2] = 1
    with pytest.warns(UserWarning, match="Query 1 has groups .* of item 0 of row 1 and item 2"):
        bradley_terry(PreferenceTarget.from_matrices(Y))


def test_a_warning_counts_the_other_queries():
    y = PreferenceTarget.from_comparisons([0, 2, 5], [1, 3, 4], [1, 1, 2, 2, 3, 3, 3])
    with pytest.warns(UserWarning, match=r"Query 1 \(and 2 more\) has no single maximum"):
        bradley_terry(y, alpha=0)
    with pytest.warns(UserWarning, match="Query 3 has documents"):
        thurstone_mosteller(y)
    with pytest.warns(UserWarning, match="Query 1 has documents"):
        thurstone_mosteller(PreferenceTarget.from_orders([[1, 2], [np.nan, 1]]))


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_one_way_pairs_that_are_left_out_are_not_even(link, rng):
    counts = rng.integers(1, 6, (5, 5)) * (1 - np.eye(5, dtype=int))
    counts[0, 1], counts[2, 3] = 0, 0
    left = counts * (counts > 0) * (counts.T > 0)
    (i, j), (a, b) = np.nonzero(counts), np.nonzero(left)
    y = PreferenceTarget.from_comparisons(i, j, np.zeros(5), weight=counts[i, j])
    expected = PreferenceTarget.from_comparisons(a, b, np.zeros(5), weight=left[a, b])
    with pytest.warns(UserWarning, match="pairs are left out"):
        found = thurstone_mosteller(y, link=link, c=0)
    np.testing.assert_allclose(found, thurstone_mosteller(expected, link=link, c=0), rtol=1e-8)


@pytest.mark.parametrize(
    "structure", [mean_log_odds, thurstone_mosteller, principal_eigenvector, log_odds]
)
@pytest.mark.filterwarnings("ignore:Query 'b' has documents that no chain of comparisons")
def test_without_smoothing_one_way_pairs_are_left_out(structure):
    y = PreferenceTarget.from_comparisons(
        [0, 0, 1, 1, 2, 2], [1, 1, 0, 2, 0, 0], ["b"] * 3, weight=[1, 1, 1, 3, 1, 1]
    )
    with pytest.warns(UserWarning, match="Query 'b' has pairs of documents of which always"):
        found = structure(y, c=0)
    A = np.zeros((3, 3))
    A[0, 1], A[1, 0] = np.log(2), -np.log(2)
    if structure is log_odds:
        np.testing.assert_allclose(found[0], A)
    elif structure is mean_log_odds:
        np.testing.assert_allclose(found, A.sum(axis=1) / 2)
    elif structure is principal_eigenvector:
        values, vectors = np.linalg.eig(np.exp(A))
        vector = np.abs(vectors[:, np.argmax(values.real)].real)
        np.testing.assert_allclose(found, vector / vector.sum())
    else:
        np.testing.assert_allclose(found, A.sum(axis=1) / 2, atol=1e-12)


def test_a_tie_is_two_opposite_preferences_of_half_the_weight():
    judgment, weight = [0, 0, 1], [0.5, 0.5, 1.0]
    y = PreferenceTarget.from_comparisons(
        [0, 1, 1], [1, 0, 2], np.zeros(3), weight=weight, judgment=judgment
    )
    np.testing.assert_allclose(mean_adjacency(y)[0], [[0, 0.25, 0], [0.25, 0, 0.5], [0, 0, 0]])
    s = thurstone_mosteller(y)
    assert s[0] == pytest.approx(s[1])


@pytest.mark.parametrize(
    ("structure", "options"),
    [
        (bradley_terry, {"alpha": 0, "max_iter": 2}),
        (thurstone_mosteller, {"max_iter": 1}),
        (principal_eigenvector, {"max_iter": 2}),
    ],
)
def test_an_iteration_that_is_cut_short_names_the_query(structure, options):
    y = PreferenceTarget.from_comparisons(
        [0, 1, 2, 3, 0, 4, 5],
        [1, 2, 3, 0, 2, 5, 4],
        ["hard"] * 4 + ["easy"] * 2,
        weight=[3, 1, 1, 1, 5, 1, 1],
    )
    with pytest.warns(ConvergenceWarning, match="Query 'hard' has not converged in max_iter"):
        scores = structure(y, **options)
    assert np.isfinite(scores).all()


# -- bad input ---------------------------------------------------------------------------


Y2 = PreferenceTarget.from_comparisons([0], [1], [0, 0])
ERRORS = [
    (lambda: borda([1.0, 2.0]), TypeError, "must be a PreferenceTarget for borda, got list"),
    (
        lambda: bradley_terry(ClickSessions([1], [[0]], [1])),
        TypeError,
        "use cascade for clicks",
    ),
    (lambda: borda(Y2[[]]), ValueError, "at least one row"),
    (
        lambda: mean_log_odds(Y2, c=-0.5),
        ValueError,
        r"c must be a finite number >= 0, or.*got -0.5",
    ),
    (lambda: log_odds(Y2, c=np.inf), ValueError, "c must be a finite number >= 0, or.*got inf"),
    (
        lambda: principal_eigenvector(Y2, c="half"),
        ValueError,
        "c must be a finite number >= 0, or.*got 'half'",
    ),
    (lambda: thurstone_mosteller(Y2, link="log"), ValueError, "link must be one of 'logit'"),
    (lambda: bradley_terry(Y2, alpha=-1), ValueError, "alpha must be .*got -1"),
    (lambda: bradley_terry(Y2, alpha="mle"), ValueError, "alpha must be one of 'auto'"),
    (lambda: bradley_terry(Y2, tol=True), ValueError, "tol must be .* got True"),
    (lambda: mean_log_odds(Y2, c=True), ValueError, "c must be .* got True"),
    (lambda: bradley_terry(Y2, tol=0), ValueError, "tol must be a finite number > 0, got 0"),
    (lambda: bradley_terry(Y2, tol=np.inf), ValueError, "tol must be a finite number > 0, got inf"),
    (
        lambda: principal_eigenvector(Y2, max_iter=0),
        ValueError,
        "max_iter must be an integer >= 1, got 0",
    ),
    (lambda: sample_comparisons([1, 2], [1, 2]), ValueError, "No query has two documents"),
    (lambda: sample_comparisons([1, 2], n_comparisons=0), ValueError, "n_comparisons must .*got 0"),
    (lambda: sample_comparisons([1, 2], temperature=0), ValueError, "temperature must .*got 0"),
    (lambda: sample_comparisons([1, np.nan]), ValueError, "NaN"),
    (
        lambda: PreferenceTarget.from_comparisons([0], [0], [1, 1]),
        ValueError,
        "got document 0 over itself",
    ),
    (
        lambda: PreferenceTarget.from_comparisons([0], [1], [1, 2]),
        ValueError,
        "must be between rows of one query",
    ),
    (
        lambda: PreferenceTarget.from_comparisons([0], [2], [1, 1]),
        ValueError,
        "loser_rows must .*got 2",
    ),
    (
        lambda: PreferenceTarget.from_comparisons([0], [1], [1, 1], weight=[-1]),
        ValueError,
        "non-negative",
    ),
    (
        lambda: PreferenceTarget.from_comparisons([0, 0], [1, 1], [1, 1], weight=[1e308, 1e308]),
        ValueError,
        "must be non-negative with a finite sum, got inf",
    ),
    (
        lambda: PreferenceTarget.from_comparisons(np.array([2**64 - 1], "u8"), [1], [1, 1]),
        ValueError,
        f"winner_rows must hold row numbers, got {2**64 - 1}",
    ),
]


def test_weights_have_a_finite_sum_whatever_the_largest():
    weight = [1e308, 1.0, 1.0]
    y = PreferenceTarget.from_comparisons([0, 1, 2], [1, 2, 3], qid=[0] * 4, weight=weight)
    assert y.weight.tolist() == weight


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_bad_input_is_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_single_one_way_pair_is_warned_about():
    y = PreferenceTarget.from_comparisons([0, 1, 2, 1], [1, 0, 1, 2], [1, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean_log_odds(y, c=0)
    y = PreferenceTarget.from_comparisons([0, 1, 2], [1, 0, 1], [1, 1, 1])
    with pytest.warns(UserWarning, match="Query 1 has pairs of documents of which always the same"):
        mean_log_odds(y, c=0)


@pytest.mark.filterwarnings("ignore:Query .* has documents that no chain")
@every_pair_structure
def test_a_document_that_was_never_compared_is_told(name):
    structure = RULES[name]
    y = PreferenceTarget.from_comparisons([0, 2, 0, 3], [2, 0, 3, 2], qid=[7, 7, 7, 7])
    with pytest.warns(UserWarning, match="Query 7 has .* never compared, such as document 1:"):
        structure(y)
    # A query without a comparison has one score, and no order.
    y = PreferenceTarget.from_comparisons([0, 2, 0], [2, 3, 3], qid=[7, 8, 7, 7])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Query .* never compared")
        structure(y)
