"""U-statistics: means over subsets of judgments, against enumeration."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.stats import chisquare
from structures import (
    DEFINITIONS,
    OF_CLICKS,
    RULES,
    draw_matrices,
    draw_sessions,
    rows_of,
    target_of,
)

from skcalrank import ClickSessions, PreferenceTarget, RankingTarget, sample_comparisons
from skcalrank.aggregation import (
    borda,
    cascade,
    judgments_of,
    mean_log_odds,
    mean_over_subsets,
    win_rate,
)
from skcalrank.aggregation._judgments import random_subsets
from skcalrank.measures import get_measure

pytestmark = pytest.mark.filterwarnings("ignore:Query .* has documents that were never compared")

SHAPES = [(4, 5), (1, 0), (3, 4), (2, 3), (3, 1), (5, 0), (3, 2)]
every_structure = pytest.mark.parametrize("name", DEFINITIONS)


@pytest.fixture
def matrices(rng):
    return [draw_matrices(rng, m, k) for m, k in SHAPES]


@pytest.fixture
def y(matrices):
    return target_of(np.random.default_rng(1), matrices)


def subsets(Y, order):
    return [Y[list(s)] for s in combinations(range(len(Y)), min(order, len(Y)))]


def softmax(s, queries):
    e = np.exp(s)
    return e / queries.repeat(queries.sum(e))


def dense_softmax(s):
    return np.exp(s) / np.exp(s).sum()


# -- exact means -------------------------------------------------------------------------


@pytest.mark.product
@every_structure
@pytest.mark.parametrize("order", [2, 1, 3, 5])
@pytest.mark.parametrize("targets", [None, softmax])
def test_mean_is_that_of_all_subsets(name, order, targets, y, matrices):
    of_scores = dense_softmax if targets else np.asarray
    found = mean_over_subsets(y, RULES[name], order, targets, n_draws=10)
    for i, Y in enumerate(matrices):
        values = [of_scores(DEFINITIONS[name][0](Z)) for Z in subsets(Y, order)]
        np.testing.assert_allclose(
            found.mean[rows_of(y, i)],
            np.mean(values, axis=0),
            atol=1e-5 if "terry" in name else 1e-8,
        )
    assert not found.standard_error.any()


@every_structure
def test_parts_of_the_queries_are_the_same(name, y, monkeypatch):
    whole = mean_over_subsets(y, RULES[name], 2, softmax, n_draws=10)
    monkeypatch.setattr("skcalrank.aggregation._subsets.CHUNK_ROWS", 4)
    np.testing.assert_allclose(
        mean_over_subsets(y, RULES[name], 2, softmax, n_draws=10).mean, whole.mean, atol=1e-9
    )


@pytest.mark.parametrize("order", [None, 30])
@pytest.mark.parametrize("name", RULES)
def test_order_of_all_judgments_is_complete_aggregation(name, order, y, rng):
    y = draw_sessions(rng, n=25) if name in OF_CLICKS else y
    if name in ("bradley_terry", "thurstone_mosteller"):
        y = y[np.isin(y.qid, ["q0", "q2", "q3"])]
    found = mean_over_subsets(y, RULES[name], order)
    np.testing.assert_allclose(found.mean, RULES[name](y), atol=1e-9)
    assert not found.standard_error.any()


@pytest.mark.parametrize("structure", [borda, win_rate])
def test_structures_linear_in_the_judgments_need_no_subsets(structure, y):
    # A wrapper is not known to be linear.
    law = {"conditional": False}
    for order in (1, 2, 4):
        listed = mean_over_subsets(y, lambda t: structure(t, **law), order, n_draws=10)
        shortcut = mean_over_subsets(y, structure, order, n_draws=1, **law)
        np.testing.assert_allclose(shortcut.mean, listed.mean, atol=1e-12)
        np.testing.assert_allclose(shortcut.mean, structure(y, **law), atol=1e-12)
        assert not shortcut.standard_error.any()
    some = mean_over_subsets(y, structure, 2, n_draws=10, conditional=True)
    assert np.abs(some.mean - structure(y, conditional=True)).max() > 0.01


@pytest.mark.parametrize("order", [2, 1, 4])
def test_mean_of_the_cascade_is_that_of_all_subsets_of_sessions(order, rng):
    y = draw_sessions(rng, sizes=(4, 3, 2), n=11)
    found = mean_over_subsets(y, cascade, order, softmax, n_draws=comb(11, 4))
    query = y.qid[y.shown_rows[y.ptr[:-1]]]
    lists = np.split(y.shown_rows, y.ptr[1:-1])
    for q in np.unique(y.qid):
        rows, sessions = np.flatnonzero(y.qid == q), np.flatnonzero(query == q)
        values = [
            dense_softmax(
                cascade(
                    ClickSessions(y.qid, [lists[i] for i in some], y.last_click[list(some)])
                ).probability[rows]
            )
            for some in combinations(sessions, min(order, len(sessions)))
        ]
        np.testing.assert_allclose(found.mean[rows], np.mean(values, axis=0), atol=1e-12)


def test_comparisons_that_are_judgments_of_their_own(rng):
    qid = rng.permutation(np.repeat(["q0", "q1", "q2"], [3, 4, 2]))
    y = sample_comparisons(rng.normal(size=9), qid, n_comparisons=14, random_state=0)
    found = mean_over_subsets(y, mean_log_odds, 2, softmax, n_draws=comb(14, 2))
    for i in range(3):
        rows = rows_of(y, i)
        edges = np.flatnonzero(np.isin(y.winner, rows))
        Y = np.zeros((len(edges), len(rows), len(rows)))
        ends = (np.searchsorted(rows, end[edges]) for end in (y.winner, y.loser))
        Y[(np.arange(len(edges)), *ends)] = 1.0
        values = [dense_softmax(DEFINITIONS["mean_log_odds"][0](Z)) for Z in subsets(Y, 2)]
        np.testing.assert_allclose(found.mean[rows], np.mean(values, axis=0), atol=1e-12)


def test_label_form_keeps_its_shape():
    # Rows with 3, 2 and 0 judgments of 3 items.
    winner, loser = np.array([0, 1, 2, 3, 3]), np.array([1, 2, 0, 4, 5])
    y = PreferenceTarget(winner, loser, np.ones(5), np.arange(5), 3, None, 3)
    found = mean_over_subsets(y, mean_log_odds, 1)
    half = np.log(3) / 2
    np.testing.assert_allclose(
        found.mean, [[0, 0, 0], [half, -half / 2, -half / 2], [0, 0, 0]], atol=1e-12
    )
    assert found.standard_error.shape == (3, 3)


def test_targets_of_a_measure(y):
    ndcg = get_measure("ndcg@2")

    def targets(scores, queries):
        return ndcg.score_targets(scores + queries.repeat(queries.max(-scores)), queries)

    s = mean_log_odds(y)
    low = np.array([s[y.qid == q].min() for q in y.qid])
    expected = ndcg.score_targets((s - low)[y.queries().order], y.queries())
    found = mean_over_subsets(y, mean_log_odds, None, targets).mean
    np.testing.assert_allclose(found, y.queries().ungroup(expected), atol=1e-12)


# -- draws -------------------------------------------------------------------------------


@pytest.mark.long
def test_draws_miss_the_mean_by_their_standard_error(y, matrices):
    exact = mean_over_subsets(y, mean_log_odds, 2, softmax, n_draws=10).mean
    drawn = np.array([comb(k, 2) > 4 for k in y.n_judgments])[y.queries().codes]
    assert set(y.qid[drawn]) == {"q0", "q2"}
    repeats = [
        mean_over_subsets(y, mean_log_odds, 2, softmax, n_draws=4, random_state=seed)
        for seed in range(500)
    ]
    means, errors = (np.array(values) for values in zip(*repeats))
    assert not errors[:, ~drawn].any()
    np.testing.assert_allclose(means[0, ~drawn], exact[~drawn], atol=1e-12)
    for i in (0, 2):
        values = [
            dense_softmax(DEFINITIONS["mean_log_odds"][0](Z)) for Z in subsets(matrices[i], 2)
        ]
        rows, expected = rows_of(y, i), np.std(values, axis=0) / 2
        np.testing.assert_allclose(
            np.sqrt(np.mean(errors[:, rows] ** 2, axis=0)), expected, rtol=0.1
        )
        np.testing.assert_allclose(means[:, rows].std(axis=0), expected, rtol=0.1)
        gaps = np.abs(means[:, rows].mean(axis=0) - exact[rows])
        assert (gaps < 4 * expected / np.sqrt(500)).all()


def test_draws_follow_the_random_state(y):
    a, b, c = (
        mean_over_subsets(y, mean_log_odds, 2, n_draws=4, random_state=seed) for seed in (0, 0, 1)
    )
    assert np.array_equal(a.mean, b.mean)
    assert not np.array_equal(a.mean, c.mean)


def test_the_error_of_a_single_draw_is_unknown(y):
    error = mean_over_subsets(y, mean_log_odds, 2, n_draws=1, random_state=0).standard_error
    several = np.isin(y.qid, ["q0", "q2", "q3"])
    assert np.isnan(error[several]).all()
    assert not error[~several].any()


def test_every_subset_is_drawn_equally_often():
    counts = np.tile([5, 4, 7, 3, 900], 3000)
    drawn = np.sort(random_subsets(counts, 3, np.random.RandomState(0)), axis=1)
    for n in (3, 4, 5, 7):
        found, frequency = np.unique(drawn[counts == n], axis=0, return_counts=True)
        assert list(map(tuple, found.tolist())) == list(combinations(range(n), 3))
        assert n == 3 or chisquare(frequency).pvalue > 1e-3
    single = np.bincount(drawn[counts == 900].ravel(), minlength=900)
    assert chisquare(single).pvalue > 1e-3


def test_a_structure_of_ones_own_sees_the_judgments_of_the_subset(y):
    def structure(target):
        sizes.append(target.n_judgments.max())
        net = target.net_preference()
        return net / np.maximum(target.n_judgments[target.queries().codes], 1)

    sizes = []
    found = mean_over_subsets(y, structure, 2, n_draws=10)
    np.testing.assert_allclose(found.mean, borda(y), atol=1e-12)
    assert set(sizes) == {2}


def test_a_query_can_be_kept_several_times(y):
    # What a stochastic gradient needs: queries drawn with replacement, a subset of each.
    queries = y.queries()
    judgments = judgments_of(y, queries)
    ids = np.array([2, 0, 2, 6])
    part = judgments.keep(ids)
    assert part.counts.tolist() == judgments.counts[ids].tolist()
    scores = mean_log_odds(part.choose(np.arange(part.ptr[-1])))
    complete = np.split(queries.group(mean_log_odds(y)), queries.ptr[1:-1])
    np.testing.assert_allclose(scores, np.concatenate([complete[i] for i in ids]))
    drawn = part.choose(part.draw(1, np.random.RandomState(0)))
    assert drawn.n_judgments.tolist() == np.minimum(part.counts, 1).tolist()
    assert len(set(drawn.judgment.tolist())) == 4


# -- bad input ---------------------------------------------------------------------------

Y2 = PreferenceTarget.from_comparisons([0, 0], [1, 1], [0, 0])

ERRORS = [
    ({"order": 0}, ValueError, "order must be an integer >= 1, .* got 0"),
    ({"order": 1.5}, ValueError, "order must .*got 1.5"),
    ({"order": True}, ValueError, "order must .*got True"),
    ({"order": 1, "n_draws": 0}, ValueError, "n_draws must be an integer >= 1, .* got 0"),
    ({"y": RankingTarget([1, 2], [1, 1])}, TypeError, "got RankingTarget"),
    ({"structure": cascade, "order": 1}, TypeError, "must be ClickSessions for cascade"),
    (
        {"y": ClickSessions([1, 1], [[0, 1]] * 2, [1, 2]), "order": 1},
        TypeError,
        "got ClickSessions",
    ),
]


@pytest.mark.parametrize(("given", "error", "message"), ERRORS)
def test_bad_input_is_a_clear_error(given, error, message):
    with pytest.raises(error, match=message):
        mean_over_subsets(**{"y": Y2, "structure": mean_log_odds} | given)
