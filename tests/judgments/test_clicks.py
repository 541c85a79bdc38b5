"""Click sessions, their cascade estimates, and drawn sessions."""

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.model_selection import GroupKFold, train_test_split

from skcalrank import (
    ClickSessions,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    sample_comparisons,
    sample_sessions,
)
from skcalrank.aggregation import cascade

QID = np.array(["a", "b", "a", "a", "b", "c"])
LISTS = [[3, 0, 2], [1, 4], [0], [4], [2, 3]]
CLICKS = [2, 0, 1, 1, 0]


def sessions():
    return ClickSessions(QID, LISTS, CLICKS)


def draw(rng, n=60):
    qid = rng.permutation(np.repeat(np.arange(4), [5, 3, 1, 6]))
    lists, clicks = [], []
    for _ in range(n):
        rows = rng.permutation(np.flatnonzero(qid == rng.integers(4)))
        lists.append(rows[: rng.integers(1, len(rows) + 1)])
        clicks.append(rng.integers(0, len(lists[-1]) + 1))
    return ClickSessions(qid, lists, clicks)


def brute_counts(lists, clicks, n):
    clicked, examined = np.zeros((2, n), dtype=int)
    for rows, click in zip(lists, clicks):
        for position, row in enumerate(rows, start=1):
            if click == 0 or position <= click:
                examined[row] += 1
            if position == click:
                clicked[row] += 1
    return clicked, examined


# -- the target --------------------------------------------------------------------------


def test_what_is_given_can_be_read():
    y = sessions()
    assert (len(y), y.shape, y.ndim, y.n_sessions) == (6, (6,), 1, 5)
    assert y.n_judgments.tolist() == [3, 2, 0]
    assert np.split(y.shown_rows, y.ptr[1:-1])[0].tolist() == LISTS[0]
    assert y.last_click.tolist() == CLICKS
    assert y.examined.tolist() == [True, True, False, True, True, True, True, True, True]
    assert y.position.tolist() == [1, 2, 3, 1, 2, 1, 1, 1, 2]
    assert np.flatnonzero(y.clicked).tolist() == [1, 5, 6]
    assert repr(y) == "ClickSessions(6 rows, 5 sessions, 1 row never shown)"
    assert repr(y[:5]) == "ClickSessions(5 rows, 5 sessions)"
    assert [y.queries().name(q) for q in range(3)] == ["a", "b", "c"]


CONTAINERS = {
    "arrays": lambda: [np.array(rows) for rows in LISTS],
    "unsigned and lists": lambda: [np.array(LISTS[0], dtype=np.uint64), *LISTS[1:]],
    "pyarrow": lambda: pytest.importorskip("pyarrow").array(LISTS),
    "tuple": lambda: tuple(map(tuple, LISTS)),
    "generator of lists": lambda: np.array([np.array(rows) for rows in LISTS], dtype=object),
    "matrix": lambda: np.array([[3, 0, 2], [1, 4, -1], [0, -1, -1], [4, -1, -1], [2, 3, -1]]),
    "padded lists": lambda: [[3, 0, 2, -1], [1, 4], [0, -1], [4], [2, 3, -1]],
    "frame": lambda: pytest.importorskip("pandas").DataFrame(CONTAINERS["matrix"]()),
    "frame of polars": lambda: pytest.importorskip("polars").DataFrame(CONTAINERS["matrix"]()),
    "table of pyarrow": lambda: pytest.importorskip("pyarrow").table(
        list(CONTAINERS["matrix"]().T), names=list("abc")
    ),
}


@pytest.mark.every_case
@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_containers_of_lists_mean_the_same(make):
    assert ClickSessions(list(QID), make(), np.array(CLICKS, dtype=np.int8)) == sessions()


@pytest.mark.every_case
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_of_clicks_have_a_row_for_each_session(library):
    other, columns = pytest.importorskip(library), {"first": [0, 1], "second": [2, 0]}
    table = other.table(columns) if library == "pyarrow" else other.DataFrame(columns)
    lists = [[0, 2], [1, 4]]
    assert ClickSessions(QID, lists, table) == ClickSessions(QID, lists, [[2], [1]])


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda y: pickle.loads(pickle.dumps(y)),
    "all rows": lambda y: y[:],
    "rows and ellipsis": lambda y: y[np.arange(6), ...],
}


@pytest.mark.parametrize("how", COPIES.values(), ids=COPIES)
def test_copies_are_equal(how):
    assert how(sessions()) == sessions()


def test_what_differs_is_not_equal():
    assert sessions() != ClickSessions(QID, LISTS, [1, 0, 1, 1, 0])
    assert sessions() != ClickSessions(QID, [[0, 3, 2], *LISTS[1:]], CLICKS)
    assert sessions() != ClickSessions(np.roll(QID, 0)[:] == "a", LISTS, CLICKS)
    assert sessions() != 5


def test_no_sessions_is_a_target_too():
    y = ClickSessions(QID, [], [])
    assert (len(y), y.n_sessions, y.n_judgments.tolist()) == (6, 0, [0, 0, 0])
    assert y[[0, 1]].n_sessions == 0
    assert repr(y) == "ClickSessions(6 rows, 0 sessions, 6 rows never shown)"
    assert cascade(y).probability.tolist() == [0.0] * 6


# -- slicing -----------------------------------------------------------------------------


def test_slicing_keeps_the_counts_of_the_rows(rng):
    for _ in range(50):
        y = draw(rng)
        rows = rng.permutation(len(y))[: rng.integers(0, len(y) + 1)]
        part = y[rows]
        for whole, sliced in zip(y.counts(), part.counts()):
            np.testing.assert_array_equal(sliced, whole[rows])
        assert part.qid.tolist() == y.qid[rows].tolist()
        # Every document that is left keeps its positions.
        for new, old in enumerate(rows):
            np.testing.assert_array_equal(
                part.position[part.shown_rows == new], y.position[y.shown_rows == old]
            )


def test_a_session_keeps_what_it_says_about_the_rows_that_are_left():
    y = ClickSessions([1] * 5, [[4, 3, 2, 1, 0]], [3])
    for rows, shown, position, click, examined in (
        ([0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 4, 5], 3, 2),  # one above the click is cut away
        ([2, 1], [0, 1], [3, 4], 3, 1),
        # The clicked one is cut away: those below were not examined.
        ([0, 1, 3, 4], [3, 2, 1, 0], [1, 2, 4, 5], 0, 2),
        ([4], [0], [1], 0, 1),
        ([0, 1], [1, 0], [4, 5], 0, 0),
    ):
        part = y[rows]
        assert (part.shown_rows.tolist(), part.position.tolist()) == (shown, position)
        assert ((part.position * part.clicked).max(), part.examined.sum()) == (click, examined)
    assert ClickSessions([1, 1], [[1, 0]], [0])[[0]].shown_rows.tolist() == [0]


SEVERAL = {
    "lists": [[1, 3], [], [1], [1], [2]],
    "arrays": [np.array(rows, dtype=int) for rows in ([3, 1], [], [1], [1], [2])],
    "matrix": np.array([[1, 3], [0, 0], [1, 0], [1, 0], [2, 0]]),
    "zeros": [[1, 3], [0], [1, 1], [1], [0, 2]],
}


@pytest.mark.parametrize("clicks", SEVERAL.values(), ids=SEVERAL)
def test_sessions_have_several_clicks(clicks):
    y = ClickSessions(QID, LISTS, clicks)
    assert y.clicked.tolist() == [True, False, True, False, False, True, True, False, True]
    assert y.last_click.tolist() == [3, 0, 1, 1, 2]
    assert y.counts()[0].tolist() == [1, 0, 1, 2, 1, 0]
    assert y.evidence.tolist() == [2, 1, 2, 2, 2, 0]  # users read to their last click
    assert y[[0, 3]].last_click.tolist() == [3, 1, 2]
    assert (y[[0, 3]].position * y[[0, 3]].clicked).tolist() == [1, 0, 1, 2]


def test_one_click_is_a_list_of_one():
    assert ClickSessions(QID, LISTS, [[click] for click in CLICKS]) == sessions()
    assert (
        ClickSessions(QID, LISTS, np.array([[c] if c else [] for c in CLICKS], object))
        == sessions()
    )


def test_sessions_are_chosen_and_renumbered():
    y = sessions()
    part = y.choose(np.array([4, 0, 0]))
    assert part == ClickSessions(QID, [LISTS[4], LISTS[0], LISTS[0]], [0, 2, 2])
    # What is known of the rows stays.
    y.document, y.index = np.arange(len(y)), np.arange(len(y))
    part = y[:4].choose(np.array([0]))
    assert (part.document.tolist(), part.index.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert part.is_part
    assert y.renumbered(QID[::-1], 5 - y.shown_rows)[::-1] == y


def test_splitters_take_sessions(rng):
    y = draw(rng)
    X = np.arange(2 * len(y)).reshape(-1, 2)
    for train, test in QueryKFold(2).split(X, y):
        assert not set(y.qid[train]) & set(y.qid[test])
    for train, test in GroupKFold(3).split(X, y, groups=y.qid):
        assert y[train].n_sessions + y[test].n_sessions == y.n_sessions
    X_train, _, y_train, y_test = train_test_split(X, y, random_state=0)
    assert isinstance(y_train, ClickSessions)
    assert (len(y_train), len(y_train) + len(y_test)) == (len(X_train), len(y))
    np.testing.assert_array_equal(y_train.counts()[0], y.counts()[0][X_train[:, 0] // 2])


# -- cascade -----------------------------------------------------------------------------


def test_estimates_are_clicks_over_examinations(rng):
    y = draw(rng)
    lists = np.split(y.shown_rows, y.ptr[1:-1])
    clicks, examinations = brute_counts(lists, y.last_click, len(y))
    found = cascade(y)
    np.testing.assert_array_equal(found.clicks, clicks)
    np.testing.assert_array_equal(found.examinations, examinations)
    p = clicks / examinations
    np.testing.assert_allclose(found.probability, p)
    near = (clicks + 2) / (examinations + 4)
    np.testing.assert_allclose(found.standard_error, np.sqrt(near * (1 - near) / examinations))


def test_estimates_maximise_the_likelihood(rng):
    y = draw(rng, n=40)
    lists = np.split(y.shown_rows, y.ptr[1:-1])

    def minus_log_likelihood(logits):
        p, total = 1 / (1 + np.exp(-logits)), 0.0
        for rows, click in zip(lists, y.last_click):
            passed = rows if click == 0 else rows[: click - 1]
            total -= np.log(1 - p[passed]).sum() + (np.log(p[rows[click - 1]]) if click else 0)
        return total

    best = minimize(minus_log_likelihood, np.zeros(len(y))).x
    np.testing.assert_allclose(cascade(y).probability, 1 / (1 + np.exp(-best)), atol=1e-4)


def test_documents_that_nobody_examined_get_the_mean_of_the_query():
    y = ClickSessions([1, 1, 1, 2, 2, 3, 3], [[0, 1, 2], [0], [1, 2], [6, 5]], [1, 0, 1, 1])
    np.testing.assert_allclose(cascade(y).probability, [1 / 2, 1, 2 / 3, 0, 0, 1, 1])
    found = cascade(y)
    assert np.isnan(found.standard_error).tolist() == [False, False, *[True] * 4, False]
    assert found.examinations.tolist() == [2, 1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("order_scores", [None, "p"])
def test_estimates_recover_the_truth(rng, order_scores):
    # Also if documents with many clicks are shown first; clicks per impression would be biased.
    qid = rng.permutation(np.repeat(np.arange(30), rng.integers(2, 12, 30)))
    p = rng.uniform(0.05, 0.6, len(qid))
    scores = None if order_scores is None else 3 * p
    y = sample_sessions(p, qid, n_sessions=60_000, n_shown=8, order_scores=scores, random_state=0)
    found = cascade(y)
    z = (found.probability - p) / found.standard_error
    assert np.abs(z).max() < 4.5
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.2
    clicks, _ = y.counts()
    per_showing = clicks / np.bincount(y.shown_rows, minlength=len(p))
    assert np.abs(per_showing - p).mean() > 10 * np.abs(found.probability - p).mean()


# -- drawn sessions ----------------------------------------------------------------------


def test_orders_are_drawn_by_plackett_luce():
    scores = np.array([0.0, 1.0, -1.0, 0.5])
    share = np.exp(scores) / np.exp(scores).sum()
    y = sample_sessions(
        np.zeros(4), n_sessions=50_000, n_shown=2, order_scores=scores, random_state=0
    )
    first, second = y.shown_rows.reshape(-1, 2).T
    np.testing.assert_allclose(np.bincount(first) / len(first), share, atol=0.01)
    after = np.bincount(second[first == 1], minlength=4) / (first == 1).sum()
    np.testing.assert_allclose(after, share * [1, 0, 1, 1] / (1 - share[1]), atol=0.015)
    even = sample_sessions(np.zeros(4), n_sessions=50_000, random_state=0)
    rows = even.shown_rows.reshape(-1, 4)
    for position in range(4):
        np.testing.assert_allclose(np.bincount(rows[:, position]) / 50_000, 0.25, atol=0.01)


def test_users_click_the_first_that_satisfies():
    y = sample_sessions([1.0, 1.0, 0.0], n_sessions=2000, random_state=0)
    clicked = y.shown_rows.reshape(-1, 3)[np.arange(2000), y.last_click - 1]
    assert set(clicked) == {0, 1}
    first = y.shown_rows.reshape(-1, 3)[:, 0]
    assert (y.last_click == np.where(first == 2, 2, 1)).all()
    assert not sample_sessions([0.0, 0.0], n_sessions=5).last_click.any()


def test_users_of_a_cascade_trust_positions():
    trust = (np.array([0.9, 0.8]), np.array([0.5, 0.1]))
    y = sample_sessions([0.4, 0.4], n_sessions=40_000, trust=trust, random_state=0)
    share = np.bincount(y.last_click, minlength=3) / 40_000
    first, second = 0.4 * 0.9 + 0.6 * 0.5, 0.4 * 0.8 + 0.6 * 0.1
    expected = [(1 - first) * (1 - second), first, (1 - first) * second]
    np.testing.assert_allclose(share, expected, atol=0.01)
    # A logger that does not randomize.
    fixed = sample_sessions([0.4, 0.4], n_sessions=99, order_scores=[0, 1e9], random_state=0)
    assert fixed.shown_rows.tolist() == [1, 0] * 99


def test_queries_are_drawn_uniformly_and_shown_as_far_as_they_reach(rng):
    qid = rng.permutation(np.repeat(["x", "y", "z"], [1, 4, 12]))
    y = sample_sessions(np.full(17, 0.2), qid, n_sessions=30_000, n_shown=5, random_state=0)
    np.testing.assert_allclose(y.n_judgments / 30_000, 1 / 3, atol=0.015)
    queries = y.queries()
    code = queries.codes[y.shown_rows[y.ptr[:-1]]]
    for q, size in enumerate(queries.sizes):
        assert (np.diff(y.ptr)[code == q] == min(size, 5)).all()
    # The constructor accepts the drawn sessions.
    assert ClickSessions(qid, np.split(y.shown_rows, y.ptr[1:-1]), y.last_click) == y


def test_drawn_sessions_follow_the_random_state(monkeypatch):
    p, qid = np.full(6, 0.3), list("aabbba")
    a, b, c = (sample_sessions(p, qid, random_state=seed) for seed in (0, 0, 1))
    assert a == b != c
    assert sample_sessions(RankingTarget(p, qid), random_state=0) == a
    monkeypatch.setattr("skcalrank.datasets._made_judgments.CHUNK_ROWS", 100)
    assert sample_sessions(p, qid, random_state=0).n_judgments.tolist() == a.n_judgments.tolist()


# -- bad input ---------------------------------------------------------------------------


def make(lists=LISTS, clicks=CLICKS, qid=QID):
    return ClickSessions(qid, lists, clicks)


LARGE = np.array([0, 2**64 - 1], dtype=np.uint64)  # -1 as a signed number

ERRORS = [
    (lambda: make([[0, 2, 0]], [1]), ValueError, "Session 0 shows row 0 twice"),
    (lambda: make([[0, 2], [4, 1, 4]], [1, 1]), ValueError, "Session 1 shows row 4 twice"),
    (
        lambda: make([[0, 2], [2, 1]], [1, 1]),
        ValueError,
        "Session 1 shows row 2 of query 'a' and row 1 of query 'b'",
    ),
    (lambda: make([[0, 6]], [1]), ValueError, r"from 0 to 5, .* got 6 in shown_rows\[0\]"),
    (lambda: make([[0], [-2]], [1, 0]), ValueError, r"got -2 in shown_rows\[1\]"),
    (lambda: make([LARGE, [0]], [1, 0]), ValueError, f"shown_rows must .* got {LARGE[1]}"),
    (lambda: make([[0]], LARGE[1:]), ValueError, f"clicked_position must .* got {LARGE[1]}"),
    (lambda: make(LARGE[None], [1]), ValueError, f"shown_rows must .* got {LARGE[1]}"),
    (lambda: make([[0, -1, 2]], [1]), ValueError, r"after -1 in shown_rows\[0\]"),
    (lambda: make([[0], []], [1, 0]), ValueError, r"shown_rows\[1\] must not be empty"),
    (lambda: make([[-1, -1], [0, 2]], [0, 0]), ValueError, r"shown_rows\[0\] must not be empty"),
    (lambda: make([[0.0, 2.0]], [1]), ValueError, "row numbers, which are integers"),
    (lambda: make([[[0, 2]]], [1]), ValueError, "one list of row numbers for each session"),
    (
        lambda: make([[0, 2]], [3]),
        ValueError,
        r"clicked_position\[0\] must be from 0 to 2, .* session 0, got 3",
    ),
    (lambda: make([[0, 2]], [-1]), ValueError, "0 means no click"),
    (lambda: make([[0, 2]], [None]), ValueError, "replace None and NaN by 0"),
    (lambda: make([[0, 2]], [np.nan]), ValueError, "replace None and NaN by 0"),
    (lambda: make([[0, 2]], [1, 1]), ValueError, r"shape \(1,\), .* got \(2,\)"),
    (lambda: make([[0, 2]], [[1], [1]]), ValueError, r"one list of positions .* got \(2,\)"),
    (lambda: make([[0], [0, 2]], [[], [1, 3]]), ValueError, "session 1, got 3"),
    (lambda: make([[0, 2]], [[1.0]]), ValueError, "clicked_position must hold positions, which"),
    (lambda: make(qid="abc"), ValueError, "one identifier per row, got 'abc'"),
    (lambda: make(qid=[1, None]), ValueError, "missing value .* in row 1"),
    (lambda: sessions()[[0, 0]], ValueError, "got a row twice"),
    (lambda: sessions()[0, 1], IndexError, "indexed by rows only"),
    (lambda: sessions()[None], IndexError, "one-dimensional selection"),
    (lambda: np.asarray(sessions()), TypeError, "ClickSessions cannot be converted to an array"),
    (
        lambda: NDCGRanker().fit(np.ones((6, 1)), sessions()),
        ValueError,
        "expects relevances as y, got ClickSessions",
    ),
    (lambda: hash(sessions()), TypeError, "unhashable"),
    (lambda: cascade([1]), TypeError, "must be ClickSessions for cascade, got list"),
    (lambda: cascade(ClickSessions([], [], [])), ValueError, "at least one row for cascade"),
    (lambda: sample_comparisons([1, 2], temperature="a"), ValueError, "temperature must .*got 'a'"),
    (lambda: sample_sessions([0.5, 1.5]), ValueError, "p must hold probabilities, got 1.5"),
    (lambda: sample_sessions([0.5, -0.1]), ValueError, "got -0.1"),
    (lambda: sample_sessions([0.5], n_sessions=0), ValueError, "n_sessions must .*got 0"),
    (lambda: sample_sessions([0.5], n_shown=1.5), ValueError, "n_shown must .*got 1.5"),
    (lambda: sample_sessions([0.5, 0.1], order_scores=[1]), ValueError, "qid must .* got 2"),
    (lambda: sample_sessions([[0.5, 0.1]]), ValueError, "label-ranking form"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_bad_input_is_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_evidence_is_counted():
    sessions = ClickSessions([1] * 4, [[0, 1, 2], [1, 0], [0, 1]], [2, 0, 1])
    assert sessions.evidence.tolist() == [3, 2, 0, 0]
