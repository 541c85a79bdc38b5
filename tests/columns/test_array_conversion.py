"""Values that numpy merges, drops or rounds when it makes arrays of them."""

from collections import deque
from decimal import Decimal

import numpy as np
import pytest
from sklearn.utils.fixes import parse_version

from skcalrank import ClickSessions, NDCGRanker, PreferenceTarget, RankingTarget, SpearmanRanker
from skcalrank.aggregation import borda
from skcalrank.calibration import (
    LabelDistribution,
    dag_condition,
    low_noise_condition,
    regret_bound,
    reinforce_condition,
    score_condition,
)
from skcalrank.data import Queries, qid_array
from skcalrank.datasets import sample_comparisons, sample_sessions
from skcalrank.evaluation import offline_evaluate, to_run
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import (
    get_scorer,
    kendall_score,
    measure_score,
    ndcg_score,
    pairwise_disagreement_loss,
    spearman_score,
)
from skcalrank.model_selection import QueryKFold
from skcalrank.preds import map_positions
from skcalrank.preprocessing import TableEncoder
from skcalrank.structured import LowRankLossClassifier, StructuredPredictor

# Cases are kinds of values and operations, of which each has lines of its own.
pytestmark = pytest.mark.every_case

BIG = 2**60


class Key:
    """A hashable key that equals only other keys of its class."""

    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == other.v

    def __hash__(self):
        return hash(self.v)


IDS = {
    "from 2**63 on": [2**63 + 5, 2**63 + 6, 7],
    "around 2**63": [2**63 - 1, 2**63, 2**63 + 1],
    "negative": [-1, 2**63, 2**63 + 1],
    "above 2**64": [2**70, 2**70 + 1, 1],
    "trailing NUL": ["a", "a\0", "a\0\0"],
    "trailing NUL in bytes": [b"a", b"a\0", b""],
    "only NUL": ["", "\0", "\0\0"],
    "objects": [Key(1), Key(2), Key(3)],
    "objects and others": [Key(1), "a", 2.0],
    "numpy integers": [np.uint64(2**63 + 5), np.uint64(2**63 + 6), np.int64(7)],
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("container", [list, tuple, deque, lambda ids: np.array(ids, dtype=object)])
def test_different_identifiers_stay_different(kind, container):
    ids = [IDS[kind][i] for i in (0, 1, 0, 2, 1)]
    y, s = [2, 0, 1, 1, 3], [0.1, 0.7, 0.5, 0.3, 0.2]
    expected = ndcg_score(y, s, qid=[0, 1, 0, 2, 1], average=False)
    assert np.array_equal(ndcg_score(y, s, qid=container(ids), average=False), expected)
    target = RankingTarget(y, container(ids))
    assert np.array_equal(ndcg_score(target[::-1][::-1], s, average=False), expected)
    assert ndcg_score(target, s, qid=container(ids)) == expected.mean()


def test_objects_next_to_each_other_need_not_compare():
    qid = qid_array([Key(1), Key(1), "a", 3, Key(2)])
    assert Queries.from_qid(qid).sizes.tolist() == [2, 1, 1, 1]
    y = PreferenceTarget.from_comparisons([0], [1], qid=[Key(1), Key(1), "a"])
    assert y.queries().n_queries == 2


def test_targets_of_different_identifiers_are_joined():
    small = RankingTarget([1, 0], np.array([7, 7]))
    large = RankingTarget([1, 0, 1], np.array([2**63 + 5, 2**63 + 6, 2**63 + 6], dtype=np.uint64))
    joined = np.concatenate([small, large, RankingTarget([1], ["7"])])
    assert joined.queries().sizes.tolist() == [2, 1, 2, 1]


@pytest.mark.parametrize("value", [{1}, [1, 2], {}], ids=str)
def test_identifiers_that_are_not_hashable(value):
    qid = np.empty(2, dtype=object)
    qid[:] = [value, value]
    for check in (
        lambda q: RankingTarget([1, 0], q),
        lambda q: NDCGRanker().fit([[1], [2]], [0, 1], q),
    ):
        with pytest.raises(ValueError, match=r"hashable values.*Identify them by numbers"):
            check(qid)


# -- more than 53 bits ---------------------------------------------------------------------

LARGE = {
    "int64": np.array([BIG + 1, BIG, BIG - 1]),
    "one above 2**53": np.array([2**53 + 1, 2**53, 0]),
    "uint64": np.array([2**63 + 1, 2**63, 5], dtype=np.uint64),
    "list": [BIG + 1, BIG, BIG - 1],
    "list from 2**63 on": [2**63 + 1, 2**63, 7],
    "objects": np.array([2**70 + 1, 2**70, 3], dtype=object),
    "beyond double precision": [10**400 + 1, 10**400, -(10**400)],
    "Decimal": [Decimal("1.00000000000000000002"), Decimal("1.00000000000000000001"), Decimal(0)],
    "longdouble": np.array([3, 2, 1], dtype=np.longdouble) * np.finfo(np.longdouble).eps + 1,
    "negative": np.array([-BIG, -BIG - 1, -BIG - 2]),
    "Int64": "Int64",
}


def large(kind):
    if kind != "Int64":
        return LARGE[kind]
    return pytest.importorskip("pandas").Series([BIG + 1, BIG, BIG - 1], dtype="Int64")


@pytest.mark.product
@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("ties", ["average", "stable", "worst", "best"])
def test_large_scores_that_differ_are_not_tied(kind, ties):
    scores, y = large(kind), [3, 2, 1]
    one = pytest.approx(1, rel=1e-15)
    assert spearman_score(y, scores, ties=ties) == kendall_score(y, scores, ties=ties) == one
    assert measure_score("ndcg", y, scores, ties=ties) == one
    preferences = PreferenceTarget.from_relevance(y)
    assert pairwise_disagreement_loss(preferences, scores, ties=ties) == 0
    law = LabelDistribution([y, y])
    assert law.target_regret("dcg", scores, ties=ties) == 0


def test_large_scores_that_are_equal_stay_tied():
    assert spearman_score([1, 0], np.array([BIG + 1, BIG + 1])) == 0
    assert spearman_score([2, 1, 0], np.array([BIG + 1, BIG + 1, BIG])) == spearman_score(
        [2, 1, 0], [1, 1, 0]
    )


@pytest.mark.parametrize("kind", LARGE)
def test_large_labels_that_differ_are_refused(kind):
    y, X = large(kind), [[1.0], [2.0], [3.0]]
    for call in (
        lambda: spearman_score(y, [3, 2, 1]),
        lambda: PreferenceTarget.from_relevance(y),
        lambda: SpearmanRanker().fit(X, y),
        lambda: LabelDistribution([list(y), list(y)]),
        lambda: sample_comparisons(y),
    ):
        with pytest.raises(ValueError, match=r"distinct in double.*Subtract the smallest"):
            call()


def test_large_labels_that_stay_different_are_taken():
    y = np.array([3, 2, 1]) * BIG
    assert spearman_score(y, [3, 2, 1]) == 1
    assert spearman_score(y.astype(object), [3, 2, 1]) == 1
    assert kendall_score(np.array([BIG + 1] * 3), [3, 2, 1]) == 0


def test_large_positions_of_an_order():
    y = PreferenceTarget.from_orders(np.array([[BIG, BIG + 1]]))
    assert (y.winner.tolist(), y.loser.tolist()) == ([0], [1])


# -- masked arrays -------------------------------------------------------------------------

M = np.ma.array([1.0, 0.0, 1.0, 0.0], mask=[0, 1, 0, 0])
MI = M.astype(int)
X = np.arange(8.0).reshape(4, 2)
MX = np.ma.array(X, mask=X == 3)
# Ranks replace these numbers, which double precision would round.
ML = np.ma.array(BIG + np.arange(4), mask=M.mask)
SQUARE = np.ma.array([[0.0, 1.0], [0.5, 0.0]], mask=[[0, 1], [0, 0]])
Y, QID = [1, 0, 1, 0], [1, 1, 2, 2]
FITTED = NDCGRanker().fit(X, Y, QID)
MASKED = {
    "fit X": lambda: NDCGRanker().fit(MX, Y, QID),
    "fit y": lambda: NDCGRanker().fit(X, M, QID),
    "fit y rows": lambda: SpearmanRanker().fit(X[:2], [M, M]),
    "fit qid": lambda: NDCGRanker().fit(X, Y, MI),
    "fit weights": lambda: NDCGRanker().fit(X, Y, QID, M),
    "fit a constant": lambda: NDCGRanker().fit(X, [1, 0, np.ma.masked, 0], QID),
    "partial_fit": lambda: NDCGRanker(estimator=GramRidge()).partial_fit(X, M, QID),
    "predict": lambda: FITTED.predict(MX),
    "rank": lambda: FITTED.rank(X, MI),
    "score": lambda: FITTED.score(X, M, QID),
    "target y": lambda: RankingTarget(M, QID),
    "target qid": lambda: RankingTarget(Y, MI),
    "metric labels": lambda: ndcg_score(M, Y),
    "metric scores": lambda: ndcg_score(Y, M),
    "large metric scores": lambda: ndcg_score(Y, ML),
    "large labels": lambda: ndcg_score(ML, Y),
    "large scores of logs": lambda: offline_evaluate(
        ML, ClickSessions(QID, [[0, 1]], [2]), propensity=[1.0, 0.5]
    ),
    "large scores of a run": lambda: to_run(ML, QID),
    "large orders": lambda: PreferenceTarget.from_orders(ML.reshape(2, 2)),
    "large value": lambda: LabelDistribution([[0, 1, 0, 1]]).value("dcg", ML),
    "metric qid": lambda: ndcg_score(Y, Y, qid=MI),
    "metric weights": lambda: ndcg_score(Y, Y, sample_weight=M),
    "preference scores": lambda: pairwise_disagreement_loss(PreferenceTarget.from_relevance(Y), M),
    "scorer": lambda: get_scorer("ndcg")(FITTED, MX, Y, qid=QID),
    "splitter": lambda: list(QueryKFold(2).split(X, groups=MI)),
    "winners": lambda: PreferenceTarget.from_comparisons(MI[:2], [2, 3], QID),
    "preference weights": lambda: PreferenceTarget.from_comparisons([0], [1], QID, weight=M[1:2]),
    "judgments": lambda: PreferenceTarget.from_comparisons([0], [1], QID, judgment=MI[1:2]),
    "relevance": lambda: PreferenceTarget.from_relevance(M),
    "orders": lambda: PreferenceTarget.from_orders(SQUARE + 1),
    "matrix": lambda: PreferenceTarget.from_matrix(SQUARE, [1, 1]),
    "matrices": lambda: PreferenceTarget.from_matrices(SQUARE[None]),
    "shown": lambda: ClickSessions(QID, MI[None, 1:2], [0]),
    "shown lists": lambda: ClickSessions(QID, [MI[1:2]], [0]),
    "clicked": lambda: ClickSessions(QID, [[0], [1]], MI[:2]),
    "made": lambda: sample_sessions(M / 2, QID, n_sessions=3),
    "made comparisons": lambda: sample_comparisons(M, QID, n_comparisons=3),
    "ridge X": lambda: GramRidge().fit(MX, Y),
    "ridge y": lambda: GramRidge().fit(X, M),
    "ridge weights": lambda: GramRidge().fit(X, Y, M),
    "ridge predict": lambda: GramRidge().fit(X, Y).predict(MX),
    "classifier X": lambda: LowRankLossClassifier().fit(MX, Y),
    "classifier y": lambda: LowRankLossClassifier().fit(X, MI),
    "classifier loss": lambda: LowRankLossClassifier(SQUARE).fit(X, Y),
    "structured y": lambda: StructuredPredictor().fit(X, MI),
    "law": lambda: LabelDistribution(SQUARE),
    "probabilities": lambda: LabelDistribution([[0, 1], [1, 0]], M[:2]),
    "value": lambda: LabelDistribution([[0, 1], [1, 0]]).value("dcg", M[:2]),
    "surrogate": lambda: LabelDistribution([[0, 1]]).surrogate_regret("squared", "dcg", M[:2]),
    "reinforce": lambda: reinforce_condition(SQUARE),
    "low noise": lambda: low_noise_condition(SQUARE),
    "dag": lambda: dag_condition(SQUARE),
    "score condition": lambda: score_condition([[0, 1], [0, 0]], M[:2]),
    "bound": lambda: regret_bound("dcg", "squared", M, r=3),
    "vectors": lambda: regret_bound(MX, "squared", 1.0, r=None),
    "map": lambda: map_positions(SQUARE),
}


def of_cells(cell, n=4):
    """An array of objects, each of which is an array."""
    cells = np.empty(n, dtype=object)
    cells[:] = [np.array(cell) for _ in range(n)]
    return cells


CELLS = {
    "y": (lambda cells: NDCGRanker().fit(X, cells, QID), "y: setting an array element"),
    "weight": (lambda cells: NDCGRanker().fit(X, Y, QID, cells), "sample_weight: setting an array"),
    "y_score": (lambda cells: ndcg_score(Y, cells, qid=QID), "y_score: setting an array element"),
    "orders": (PreferenceTarget.from_orders, "positions must hold numbers"),
    "X": (
        lambda cells: TableEncoder().fit(np.column_stack([cells, cells])),
        "Column 0 of X must hold numbers, text, .* got ndarray",
    ),
}


@pytest.mark.every_case
@pytest.mark.parametrize("cell", [[1.0, 2.0], [np.nan]], ids=str)
@pytest.mark.parametrize("door", CELLS)
def test_arrays_in_cells_are_told(door, cell):
    call, said = CELLS[door]
    if len(cell) == 1 and parse_version(np.__version__) < parse_version("1.25"):
        said += "|contains NaN|must have shape"  # An array of one number is the number.
    with pytest.raises(ValueError, match=said):
        call(of_cells(cell))


@pytest.mark.parametrize("door", MASKED)
def test_masked_values_are_refused(door):
    with pytest.raises(ValueError, match="must not have masked values"):
        MASKED[door]()


def test_a_mask_of_nothing_changes_nothing():
    whole = [np.ma.array(values) for values in (X, Y, QID, [1.0, 2.0, 1.0, 1.0])]
    plain = [np.asarray(values) for values in whole]
    assert np.array_equal(NDCGRanker().fit(*whole).coef_, NDCGRanker().fit(*plain).coef_)
    assert borda(PreferenceTarget.from_orders(np.ma.array([[1, 2]]))).tolist() == [[1, -1]]
