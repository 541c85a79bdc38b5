"""Preferences between documents, as a target."""

import copy
import pickle

import numpy as np
import pytest
from cases import make_data
from definitions import preferences
from scipy.sparse import coo_matrix, csr_array, csr_matrix
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import KFold, cross_val_score

import skcalrank
from skcalrank import (
    PairwiseDisagreementRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    get_scorer,
)
from skcalrank.aggregation import mean_over_subsets, win_rate
from skcalrank.metrics import pairwise_disagreement_loss

# Cases are kinds of values and operations, of which each has lines of its own.
pytestmark = pytest.mark.every_case


def dense(target):
    """Matrix of all documents; every preference at its place, or outside it."""
    n = len(target) * (target.n_items or 1)
    out = np.zeros((n, n))
    np.add.at(out, (target.winner, target.loser), target.weight)
    return out


def same_query(qid):
    qid = np.asarray(qid)
    return qid[:, None] == qid


@pytest.fixture
def subset(rng):
    """Comparisons in interleaved queries, some of them twice, both ways or cyclic."""
    qid = rng.permutation(np.repeat([5, 3, 9], [4, 5, 3]))
    pairs = np.argwhere(same_query(qid) & ~np.eye(12, dtype=bool))
    winner, loser = pairs[rng.integers(len(pairs), size=40)].T
    weight = rng.integers(0, 4, 40).astype(float)
    judgment = rng.integers(0, 6, 40)
    return PreferenceTarget.from_comparisons(winner, loser, qid, weight=weight, judgment=judgment)


@pytest.fixture
def label(rng):
    return PreferenceTarget.from_matrices(rng.integers(0, 3, (6, 4, 4)) * (1 - np.eye(4)))


def test_from_comparisons():
    target = PreferenceTarget.from_comparisons([2, 0, 2], [0, 1, 0], list("aaab"), weight=[1, 2, 3])
    expected = np.zeros((4, 4))
    expected[2, 0], expected[0, 1] = 4, 2
    np.testing.assert_array_equal(dense(target), expected)
    assert target.n_judgments.tolist() == [3, 0]
    together = PreferenceTarget.from_comparisons(
        [2, 0, 2], [0, 1, 0], list("aaab"), judgment=["x", "y", "x"]
    )
    assert together.n_judgments.tolist() == [2, 0]
    assert together.weight.tolist() == [1, 1, 1]


def test_differences_of_relevances_beyond_the_range_are_refused():
    y = [1.7e308, -1.7e308]
    with pytest.raises(ValueError, match="must be non-negative with a finite sum, got inf"):
        PreferenceTarget.from_relevance(y)
    assert PreferenceTarget.from_relevance(y, weights="unit").weight.tolist() == [1]


@pytest.mark.parametrize("weights", ["difference", "unit"])
def test_from_relevance(weights, rng):
    _, y, qid = make_data(rng)
    target = PreferenceTarget.from_relevance(y, qid, weights=weights)
    np.testing.assert_array_equal(dense(target), preferences(y, weights) * same_query(qid))
    rows = PreferenceTarget.from_relevance(y.reshape(4, -1), weights=weights)
    np.testing.assert_array_equal(
        list(rows.matrices()), [preferences(row, weights) for row in y.reshape(4, -1)]
    )
    alone = PreferenceTarget.from_relevance(y)
    np.testing.assert_array_equal(dense(alone), preferences(y))
    # One column is one relevance for each document, not one item for each query.
    with pytest.warns(DataConversionWarning):
        assert PreferenceTarget.from_relevance(y[:, None], qid, weights=weights) == target


def test_missing_positions_round_no_others():
    pd = pytest.importorskip("pandas")
    first = 1_700_000_000_000_000_000
    rows = [[first, first + 1, first + 500], [first, first + 1, None]]
    y = PreferenceTarget.from_orders(pd.DataFrame(rows, dtype=object).astype("Int64"))
    assert list(zip(y.winner, y.loser)) == [(0, 1), (0, 2), (1, 2), (3, 4)]
    with pytest.raises(ValueError, match="must be non-negative with a finite sum, got nan"):
        PreferenceTarget.from_matrix(pd.DataFrame({"a": [0, None]}).astype("Int64"), [1, 1])


def test_from_orders():
    target = PreferenceTarget.from_orders([[2, 1, 3], [1, np.nan, 2], [1, 1, 2]])
    expected = np.zeros((3, 3, 3))
    expected[0, 1, [0, 2]], expected[0, 0, 2] = 1, 1
    expected[1, 0, 2] = 1
    expected[2, [0, 1], 2] = 1
    np.testing.assert_array_equal(list(target.matrices()), expected)


@pytest.mark.parametrize("convert", [np.asarray, csr_matrix, csr_array, np.ndarray.tolist])
def test_from_matrix(convert, rng):
    qid = rng.permutation(np.repeat(["u", "v"], [3, 4]))
    local = rng.integers(0, 3, (7, 4)).astype(float)
    columns = {q: np.flatnonzero(qid == q) for q in "uv"}
    expected = np.zeros((7, 7))
    for i, q in enumerate(qid):
        local[i, np.searchsorted(columns[q], i)] = 0
        local[i, len(columns[q]) :] = 0
        expected[i, columns[q]] = local[i, : len(columns[q])]
    target = PreferenceTarget.from_matrix(convert(local), qid)
    np.testing.assert_array_equal(dense(target), expected)
    order = list(dict.fromkeys(qid.tolist()))
    for q, matrix in zip(order, target.matrices()):
        np.testing.assert_array_equal(matrix, expected[np.ix_(columns[q], columns[q])])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8])
def test_entries_of_one_place_are_added_in_any_type(dtype):
    ends = np.repeat([0, 1], [300, 200]), np.repeat([1, 0], [300, 200])
    target = PreferenceTarget.from_matrix(coo_matrix((np.ones(500, dtype), ends)), [0, 0])
    assert target.weight.tolist() == [300, 200]


def test_from_matrices(rng):
    Y = rng.integers(0, 3, (5, 4, 4)) * (1 - np.eye(4))
    target = PreferenceTarget.from_matrices(Y)
    np.testing.assert_array_equal(list(target.matrices()), Y)
    np.testing.assert_array_equal(target.net_preference(), Y.sum(axis=2) - Y.sum(axis=1))
    assert len(target) == 5
    assert target.n_items == 4


def test_net_preference(subset):
    matrix = dense(subset)
    np.testing.assert_allclose(subset.net_preference(), matrix.sum(axis=1) - matrix.sum(axis=0))


def test_matrices_are_blocks(subset):
    matrix, blocks = dense(subset), list(subset.matrices())
    queries = list(dict.fromkeys(subset.qid.tolist()))
    assert len(blocks) == len(queries)
    for q, block in zip(queries, blocks):
        rows = np.flatnonzero(subset.qid == q)
        np.testing.assert_array_equal(block, matrix[np.ix_(rows, rows)])


def test_n_judgments(subset):
    queries = list(dict.fromkeys(subset.qid.tolist()))
    code = subset.qid[subset.winner]
    expected = [len(set(subset.judgment[code == q].tolist())) for q in queries]
    assert subset.n_judgments.tolist() == expected


ROWS = {
    "shuffled": np.random.default_rng(1).permutation(12),
    "some": np.array([3, 1, 8]),
    "twice": np.array([2, 2, 5, 7, 5, 0, 2]),
    "none": np.array([], dtype=int),
    "mask": np.arange(12) % 3 > 0,
    "slice": slice(2, 10, 2),
    "backwards": slice(None, None, -1),
    "list": [1, 4, 6],
    "ellipsis": (np.array([1, 4, 6]), Ellipsis),
    "negative": np.array([-1, -5]),
}


@pytest.mark.parametrize("key", ROWS.values(), ids=ROWS)
def test_slices_of_preferences(key, subset):
    rows = np.arange(12)[key]
    part = subset[key]
    np.testing.assert_array_equal(dense(part), dense(subset)[np.ix_(rows, rows)])
    np.testing.assert_array_equal(part.qid, subset.qid[rows])
    assert len(part) == len(rows) == part.shape[0]
    np.testing.assert_allclose(
        part.net_preference(), dense(part).sum(axis=1) - dense(part).sum(axis=0)
    )


def test_slices_keep_judgments(subset):
    part = subset[np.flatnonzero(subset.qid == subset.qid[0])]
    inside = subset.qid[subset.winner] == subset.qid[0]
    assert sorted(part.judgment.tolist()) == sorted(subset.judgment[inside].tolist())


LABEL_ROWS = {
    "shuffled": np.array([4, 0, 5, 1, 3, 2]),
    "twice": np.array([1, 1, 4]),
    "mask": np.arange(6) % 2 == 0,
    "slice": slice(1, 3),
}


@pytest.mark.parametrize("key", LABEL_ROWS.values(), ids=LABEL_ROWS)
def test_slices_of_label_preferences(key, label):
    part = label[key]
    expected = np.array(list(label.matrices()))[key]
    np.testing.assert_array_equal(np.array(list(part.matrices())), expected)
    assert part.n_items == 4
    assert len(part) == len(expected)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda y: pickle.loads(pickle.dumps(y))])
def test_preferences_survive_copies(how, subset, label):
    assert how(subset) == subset
    assert how(label) == label
    assert subset != label
    assert subset[:5] != subset
    assert subset != 3


def test_require_dag(rng):
    acyclic = np.triu(rng.integers(0, 3, (3, 4, 4)), 1)
    assert len(PreferenceTarget.from_matrices(acyclic, require_dag=True)) == 3
    # Judgments may contradict one another, each is one by itself.
    both = {"winner_rows": [0, 1], "loser_rows": [1, 0], "qid": [1, 1]}
    PreferenceTarget.from_comparisons(**both, require_dag=True)
    PreferenceTarget.from_comparisons(**both, judgment=[0, 0])
    with pytest.raises(ValueError, match="cycle"):
        PreferenceTarget.from_comparisons(**both, judgment=[0, 0], require_dag=True)
    acyclic[1] += acyclic[1].T + (np.ones((4, 4)) - np.eye(4)).astype(int)
    with pytest.raises(ValueError, match=r"cycle in judgment .* of query 1\b"):
        PreferenceTarget.from_matrices(acyclic, require_dag=True)


def test_no_preference_at_all():
    target = PreferenceTarget.from_comparisons([], [], [1, 1, 2])
    assert target.net_preference().tolist() == [0, 0, 0]
    assert target.n_judgments.tolist() == [0, 0]
    assert [m.tolist() for m in target.matrices()] == [[[0, 0], [0, 0]], [[0]]]
    assert pairwise_disagreement_loss(target, [1.0, 2.0, 3.0]) == 0


def test_cross_validation_of_preferences(rng):
    X, y, qid = make_data(rng, sizes=(5,) * 9)
    target = PreferenceTarget.from_relevance(y, qid)
    scorer = get_scorer("neg_pairwise_disagreement")
    ranker = PairwiseDisagreementRanker()
    found = cross_val_score(ranker, X, target, cv=QueryKFold(3), scoring=scorer)
    expected = cross_val_score(ranker, X, RankingTarget(y, qid), cv=QueryKFold(3), scoring=scorer)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert (found < 0).all()


def test_cross_validation_of_label_preferences(rng):
    X = rng.normal(size=(30, 3))
    positions = np.argsort(np.argsort(-X @ rng.normal(size=(3, 4)), axis=1), axis=1) + 1
    target = PreferenceTarget.from_orders(positions)
    scorer = get_scorer("neg_pairwise_disagreement")
    ranker = PairwiseDisagreementRanker(weights="unit")
    found = cross_val_score(ranker, X, target, cv=KFold(3), scoring=scorer)
    expected = cross_val_score(
        ranker, X, -positions, cv=KFold(3), scoring=get_scorer(scorer.measure.name, weights="unit")
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::skcalrank.data.CutQueriesWarning")
def test_a_row_that_is_cut_away_takes_its_preferences_along(rng):
    X, y, qid = make_data(rng)
    target = PreferenceTarget.from_relevance(y, qid)
    rows = rng.permutation(len(y))[:20]
    one = PairwiseDisagreementRanker().fit(X[rows], target[rows])
    two = PairwiseDisagreementRanker().fit(X[rows], y[rows], qid[rows])
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-9, atol=1e-11)


def test_evidence_counts_judgments_and_not_preferences():
    y = PreferenceTarget.from_comparisons(
        [0, 0, 1, 2], [1, 2, 2, 0], [7] * 5, weight=[1, 1, 1, 0], judgment=["a", "a", "b", "c"]
    )
    assert y.evidence.tolist() == [1, 2, 2, 0, 0]
    orders = PreferenceTarget.from_orders([[1, 2, 3], [2, 1, np.nan]])
    assert orders.evidence.tolist() == [[1, 1, 1], [1, 1, 0]]


#: Identifiers of four judgments, of which the first two are the same.
IDENTIFIERS = {
    "integers": [7, 7, 2, 3],
    "text": ["b", "b", "a", "c"],
    "dates": np.array(["2020", "2020", "2019", "2021"], dtype="M8[Y]"),
    "tuples": [("u", 2), ("u", 2), ("u", 1), ("v", 1)],
    "types": np.array([1, 1, "1", ("1",)], dtype=object),
    "none": np.zeros(0, dtype=object),
}


@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_judgments_have_identifiers_of_any_kind(kind):
    judgment = IDENTIFIERS[kind]
    n = len(judgment)
    ends = [0, 1, 2, 2][:n], [1, 2, 0, 3][:n], ["a"] * 4

    def stated(judgment):
        y = PreferenceTarget.from_comparisons(*ends, judgment=judgment, require_dag=True)
        means = mean_over_subsets(y, win_rate, 1).mean.round(9).tolist() if n else []
        return y.n_judgments.tolist(), y.evidence.tolist(), means

    assert stated(judgment) == stated([0, 0, 1, 2][:n])


@pytest.mark.parametrize(
    "judgment",
    [
        [np.nan, np.nan, 1.0],
        [None, None, "x"],
        np.array(["NaT", "NaT", "2020"], dtype="M8[D]"),
        [-np.inf, 1.0, 2.0],
    ],
    ids=str,
)
def test_judgments_need_an_identifier(judgment):
    with pytest.raises(ValueError, match=r"^judgment must hold an identifier .* in row 0"):
        PreferenceTarget.from_comparisons([0, 1, 2], [1, 2, 3], ["a"] * 4, judgment=judgment)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("_click_counts", "ClickCounts"),
        ("_clicks", "ClickSessions"),
        ("_multilabel", "MultiLabelTarget"),
        ("_preferences", "PreferenceTarget"),
    ],
)
def test_pickles_that_name_the_modules_of_before_are_read(module, name):
    pickled = f"cskcalrank.data.{module}\n{name}\n.".encode()
    assert pickle.loads(pickled) is getattr(skcalrank.data, name)
