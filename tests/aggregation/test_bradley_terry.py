"""Bradley-Terry: published abilities, maximum likelihood, drawn comparisons."""

import numpy as np
import pytest

from skcalrank import PreferenceTarget, RankingTarget, sample_comparisons
from skcalrank.aggregation import bradley_terry, kemeny, log_odds, principal_eigenvector

pytestmark = pytest.mark.filterwarnings("ignore:Query .* has documents that were never compared")

# -- Bradley-Terry -----------------------------------------------------------------------


# Games won by the row against the column: American League East 1987 (Agresti, Categorical Data
# Analysis, 2nd ed., p. 438), and abilities relative to Baltimore as the vignette of the R package
# BradleyTerry2 prints them.
BASEBALL = {
    "Milwaukee": ([0, 7, 9, 7, 7, 9, 11], 1.5814),
    "Detroit": ([6, 0, 7, 5, 11, 9, 9], 1.4364),
    "Toronto": ([4, 6, 0, 7, 7, 8, 12], 1.2945),
    "New York": ([6, 8, 6, 0, 6, 7, 10], 1.2476),
    "Boston": ([6, 2, 6, 7, 0, 7, 12], 1.1077),
    "Cleveland": ([4, 4, 5, 6, 6, 0, 6], 0.6839),
    "Baltimore": ([2, 4, 1, 3, 1, 7, 0], 0.0),
}
# Citations of the column in the row's favour (Stigler 1994), likewise, relative to Biometrika.
JOURNALS = {
    "Biometrika": ([0, 730, 498, 221], 0.0),
    "Communications in Statistics": ([33, 0, 68, 17], -2.94907),
    "JASA": ([320, 813, 0, 142], -0.47957),
    "JRSS-B": ([284, 276, 325, 0], 0.26895),
}


@pytest.mark.parametrize(("data", "digits"), [(BASEBALL, 4), (JOURNALS, 5)])
def test_bradley_terry_gives_the_published_abilities(data, digits):
    wins, abilities = zip(*data.values())
    s = bradley_terry(PreferenceTarget.from_matrices([wins]), alpha=0)[0]
    reference = abilities.index(0.0)
    np.testing.assert_array_equal(np.round(s - s[reference], digits), abilities)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_names(library):
    other = pytest.importorskip(library)
    make = other.table if library == "pyarrow" else other.DataFrame
    names, games = sorted(BASEBALL), []
    for winner, (row, _) in BASEBALL.items():
        games += [(winner, loser, n) for loser, n in zip(BASEBALL, row) if n]
    columns = dict(zip(("winner", "loser", "n"), map(list, zip(*games))))
    y = PreferenceTarget.from_frame(make(columns), weight="n")
    assert list(y.item_names) == names
    scores = dict(zip(names, bradley_terry(y, alpha=0)[0]))
    expected = bradley_terry(
        PreferenceTarget.from_matrices([[r for r, _ in BASEBALL.values()]]), alpha=0
    )
    np.testing.assert_allclose([scores[name] for name in BASEBALL], expected[0], atol=1e-7)
    assert kemeny(y).order[0] == "Milwaukee"
    judged = make(columns | {"by": ["b", "a"] * (len(games) // 2)})
    votes = PreferenceTarget.from_frame(judged, judge="by")
    assert [len(votes), len(votes[[1]].winner)] == [2, len(games) // 2]
    assert votes.winner[0] // 7 == 0
    with pytest.raises(ValueError, match="must have a column 'lost'"):
        PreferenceTarget.from_frame(judged, loser="lost")
    with pytest.raises(ValueError, match="got 'Milwaukee' over itself"):
        PreferenceTarget.from_frame(judged, loser="winner")


def draw_comparisons(rng, n_queries=12, m=7, n=60, **options):
    """Comparisons in queries whose likelihood has a maximum."""
    qid = np.repeat(np.arange(n_queries), m)
    cycle = np.arange(len(qid))
    following = cycle + 1 - m * (cycle % m == m - 1)
    y = sample_comparisons(rng.normal(size=len(qid)), qid, n_comparisons=n * n_queries, **options)
    winner, loser = np.append(y.winner, cycle), np.append(y.loser, following)
    return PreferenceTarget.from_comparisons(winner, loser, qid)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_bradley_terry_equals_choix(rng, alpha):
    choix = pytest.importorskip("choix")
    y = draw_comparisons(rng, random_state=0)
    s = bradley_terry(y, alpha=alpha).reshape(12, 7)
    for q in range(12):
        some = y.winner // 7 == q
        data = list(zip((y.winner[some] % 7).tolist(), (y.loser[some] % 7).tolist()))
        theirs = choix.opt_pairwise(7, data, alpha=alpha / 2, tol=1e-12)
        np.testing.assert_allclose(s[q], theirs - theirs.mean(), atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_bradley_terry_is_stationary(rng, alpha):
    y = draw_comparisons(rng, random_state=0)
    s = bradley_terry(y, alpha=alpha)
    lost = 1 / (1 + np.exp(s[y.winner] - s[y.loser]))
    n = len(y)
    gradient = np.bincount(y.winner, lost, n) - np.bincount(y.loser, lost, n) - alpha * s
    np.testing.assert_allclose(gradient, 0, atol=1e-10)


def test_bradley_terry_has_far_apart_scores_if_asked():
    # Each wins a thousand times as often as the next: the log-odds add up along the chain.
    a = np.arange(99)
    y = PreferenceTarget.from_comparisons(
        np.append(a, a + 1), np.append(a + 1, a), np.zeros(100), weight=np.repeat([1e3, 1.0], 99)
    )
    np.testing.assert_allclose(np.diff(bradley_terry(y, alpha=0)), -np.log(1e3), rtol=1e-9)


def test_bradley_terry_converges_where_newton_steps_would_overshoot(rng):
    m = 7
    Y = np.exp(6 * rng.normal(size=(200, m, m))) * (rng.random((200, m, m)) < 0.6)
    Y[:, np.arange(m), np.arange(m)] = 0.0
    Y[:, np.arange(m), (np.arange(m) + 1) % m] += 1e-3
    s = bradley_terry(PreferenceTarget.from_matrices(Y), alpha=0)
    lost = 1 / (1 + np.exp(s[:, :, None] - s[:, None, :]))
    gained = Y * lost
    gradient = gained.sum(axis=2) - gained.sum(axis=1)
    assert np.abs(gradient / (gained.sum(axis=2) + gained.sum(axis=1))).max() < 1e-8
    assert s.max() > 15


def test_bradley_terry_without_a_maximum_is_finite_and_says_so():
    y = PreferenceTarget.from_comparisons([0, 0, 3, 4], [1, 2, 4, 3], list("aaabb"))
    with pytest.warns(UserWarning, match="Query 'a' has no single maximum.*alpha=0.1 is used"):
        s = bradley_terry(y, alpha=0)
    np.testing.assert_allclose(s[:3], bradley_terry(y, alpha=0.1)[:3], atol=1e-9)
    np.testing.assert_allclose(s[3:], 0, atol=1e-12)
    assert s[0] > s[1] == pytest.approx(s[2])


@pytest.mark.parametrize("winner", [0, 1])
def test_bradley_terry_has_no_maximum_if_a_document_never_loses(winner):
    y = PreferenceTarget.from_comparisons([winner] * 3, [1 - winner] * 3, np.zeros(2))
    with pytest.warns(UserWarning, match="has no single maximum"):
        bradley_terry(y, alpha=0)


def test_rare_comparisons_of_large_weight_are_no_obstacle():
    weight = [1e6, 1e-6, 1e6, 1e-6]
    y = PreferenceTarget.from_comparisons([0, 1, 1, 2], [1, 0, 2, 1], np.zeros(3), weight=weight)
    np.testing.assert_allclose(np.diff(bradley_terry(y, alpha=0)), -np.log(1e12), rtol=1e-9)
    scores = principal_eigenvector(y)
    A = np.exp(log_odds(y)[0])
    np.testing.assert_allclose(A @ scores, scores * (A @ scores)[0] / scores[0], rtol=1e-8)


# -- the penalty that is learned ---------------------------------------------------------


def tournaments(deviation, games, n_tournaments=40, m=10):
    """Strengths, and games that each plays, in many tournaments of one kind."""
    qid = np.repeat(np.arange(n_tournaments), m)
    s = deviation * np.random.default_rng(0).normal(size=len(qid))
    n = n_tournaments * m * games // 2
    return s, sample_comparisons(s, qid, n_comparisons=n, random_state=0)


def later_log_loss(strengths, found, m=10):
    """Expected log loss of a later match of each pair."""
    strengths, found = strengths.reshape(-1, m), found.reshape(-1, m)
    win = 1 / (1 + np.exp(strengths[:, None, :] - strengths[:, :, None]))
    loss = win * np.logaddexp(0, found[:, None, :] - found[:, :, None])
    pairs = np.triu(loss + loss.transpose(0, 2, 1), 1)
    return 2 * pairs.sum() / (len(found) * m * (m - 1))


@pytest.mark.filterwarnings("ignore:Query .* has groups of documents that never met")
@pytest.mark.product
@pytest.mark.parametrize("games", [1, 2, 6, 30])
@pytest.mark.parametrize("deviation", [0.5, 1.0, 2.0])
def test_probabilities_of_later_matches_are_better_than_those_of_a_coin(deviation, games):
    strengths, y = tournaments(deviation, games)
    losses = {
        alpha: later_log_loss(strengths, bradley_terry(y, alpha=alpha))
        for alpha in ("auto", 0.3, 1.0, 3.0, 10.0)
    }
    learned = losses.pop("auto")
    assert learned < np.log(2)
    # Near the best of all penalties, which depends on strengths that are not known.
    assert learned < min(losses.values()) + (0.005 if games > 6 else 0.06)


@pytest.mark.filterwarnings("ignore:Query .* has groups of documents that never met")
@pytest.mark.parametrize("games", [1, 2, 6, 30])
def test_where_all_are_nearly_equal_little_is_lost_to_a_coin(games):
    strengths, y = tournaments(0.2, games)
    assert later_log_loss(strengths, bradley_terry(y)) < np.log(2) + 0.015


def test_the_learned_penalty_vanishes_beside_many_comparisons():
    wins = np.array([[0.0, 3, 5, 1], [2, 0, 3, 3], [1, 1, 0, 2], [4, 2, 1, 0]])
    gaps = []
    for n in (1.0, 1e2, 1e4, 1e6):
        y = PreferenceTarget.from_matrices([n * wins])
        gaps.append(np.abs(bradley_terry(y) - bradley_terry(y, alpha=0)).max())
    assert gaps[1] < gaps[0] / 5
    assert gaps[2] < gaps[1] / 50
    assert gaps[3] < gaps[2] / 50


def test_without_comparisons_learned_scores_are_0_and_nothing_warns():
    y = PreferenceTarget.from_comparisons([0], [1], list("aabbc"))
    s = bradley_terry(y)
    assert s[0] == -s[1] > 0
    np.testing.assert_array_equal(s[2:], 0.0)


def test_each_query_learns_its_own_penalty():
    _, few = tournaments(2.0, 4, n_tournaments=3)
    alone = [bradley_terry(few[few.qid == q]) for q in range(3)]
    np.testing.assert_allclose(bradley_terry(few), np.concatenate(alone), atol=1e-6)


# -- drawn comparisons -------------------------------------------------------------------


def test_queries_and_pairs_are_drawn_uniformly():
    qid = np.array([0, 0, 0, 0, 1, 1, 2])
    y = sample_comparisons(np.zeros(7), qid, n_comparisons=60_000, random_state=0)
    pairs = np.unique(np.sort([y.winner, y.loser], axis=0), axis=1, return_counts=True)
    shares = {tuple(pair): count / 60_000 for pair, count in zip(pairs[0].T.tolist(), pairs[1])}
    assert shares.pop((4, 5)) == pytest.approx(1 / 2, abs=0.01)
    assert len(shares) == 6
    np.testing.assert_allclose(list(shares.values()), 1 / 12, atol=0.005)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_comparisons_are_won_as_the_model_says(temperature):
    y = sample_comparisons(
        [1.0, 0.0], n_comparisons=40_000, temperature=temperature, random_state=0
    )
    share = np.mean(y.winner == 0)
    assert share == pytest.approx(1 / (1 + np.exp(-1 / temperature)), abs=0.01)


def test_drawn_comparisons_carry_what_was_given():
    qid = np.array(["a", "b", "a", "b"])
    r = np.array([0.0, 1.0, 2.0, 3.0])
    a = sample_comparisons(r, qid, random_state=3)
    b = sample_comparisons(RankingTarget(r, qid), random_state=3)
    assert a == b != sample_comparisons(r, qid, random_state=4)
    assert a.qid.tolist() == qid.tolist()
    assert (qid[a.winner] == qid[a.loser]).all()
    assert a.n_judgments.sum() == 1000
    label = sample_comparisons(r.reshape(2, 2), n_comparisons=10, random_state=0)
    assert (len(label), label.n_items, label.qid) == (2, 2, None)
    assert sample_comparisons(r, n_comparisons=10).qid is None


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_items_of_a_table_have_names(library, missing):
    make = getattr(pytest.importorskip(library), "table" if library == "pyarrow" else "DataFrame")
    for winner in (["a", missing if library == "pandas" else None], [1.0, missing]):
        with pytest.raises(ValueError, match="identifier in every row, got a missing value in row"):
            PreferenceTarget.from_frame(make({"winner": winner, "loser": ["b", "a"]}))


def test_items_of_a_table_that_are_one_text_are_refused():
    pd = pytest.importorskip("pandas")
    won = pd.DataFrame({"winner": [1, 2], "loser": ["1", "3"]})
    with pytest.raises(ValueError, match=r"different names as text, got 1 and '1': convert both"):
        PreferenceTarget.from_frame(won)
    # Equal numbers of two types are one item.
    mixed = pd.DataFrame({"winner": [1, 2], "loser": [3.0, 1.0]})
    assert len(PreferenceTarget.from_frame(mixed).item_names) == 3
    nanoseconds = pd.DataFrame({"winner": pd.to_datetime([1, 2]), "loser": pd.to_datetime([2, 3])})
    assert len(PreferenceTarget.from_frame(nanoseconds).item_names) == 3
