"""Bad input is a clear error: one line of the table for each."""

import numpy as np
import pytest
from cases import ranker_id, rankers_and_losses
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lars
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    ERRRanker,
    ExpectedRankUtilityRanker,
    LeastSquaresRanker,
    LowRankLossClassifier,
    MissingQidError,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PrecisionRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    get_scorer,
    load_letor,
    make_subset_ranking,
    metrics,
    train_test_query_split,
)
from skcalrank.measures import DCG, ERU
from skcalrank.preds import sort_positions

X = np.arange(12.0).reshape(6, 2) ** 0.5
Y = np.array([0.0, 2.0, 1.0, 0.0, 1.0, 0.0])
QID = np.array([1, 1, 1, 2, 2, 2])
S = np.array([0.1, 0.9, 0.4, 0.3, 0.8, 0.2])
LABEL_X, LABEL_Y = X[:3], np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])


def put(values, row, value):
    """A copy with one entry replaced."""
    out = np.array(values, dtype=float if isinstance(value, float) else object)
    out[row] = value
    return out


def fit(ranker=None, X=X, y=Y, qid=QID, **kwargs):
    return (NDCGRanker() if ranker is None else ranker).fit(X, y, qid, **kwargs)


def ndcg(y=Y, scores=S, qid=QID, **kwargs):
    return metrics.ndcg_score(y, scores, qid=qid, **kwargs)


def comparisons(winner=(1,), loser=(0,), qid=QID, **kwargs):
    return PreferenceTarget.from_comparisons(winner, loser, qid, **kwargs)


CYCLE = {"winner": [0, 1, 2], "loser": [1, 2, 0], "judgment": [4, 4, 4], "require_dag": True}
CYCLIC = np.array([[[0, 1, 0], [0, 0, 1], [1, 0, 0]]])
NAN = float("nan")
INF = float("inf")

# name: (call, type, what the message says)
TABLE = {
    # -- X, y, qid, weights
    "nan in X": (lambda: fit(X=put(X, (2, 1), NAN)), ValueError, "X contains NaN"),
    "inf in X": (lambda: fit(X=put(X, (2, 1), INF)), ValueError, "X contains infinity"),
    "nan in X of predict": (
        lambda: fit().predict(put(X, (2, 1), NAN)),
        ValueError,
        "X contains NaN",
    ),
    "inf in X of trees": (
        lambda: fit(NDCGRanker(DecisionTreeRegressor()), X=put(X, (2, 1), INF)),
        ValueError,
        "X contains infinity",
    ),
    "X of one dimension": (lambda: fit(X=X[:, 0]), ValueError, "Expected 2D array"),
    "other features": (lambda: fit().predict(X[:, :1]), ValueError, "X has 1 features"),
    "nan in y": (lambda: fit(y=put(Y, 1, NAN)), ValueError, "y contains NaN"),
    "inf in y": (lambda: fit(y=put(Y, 1, INF)), ValueError, "y contains infinity"),
    "nan in y of a metric": (lambda: ndcg(put(Y, 1, NAN)), ValueError, "y_true contains NaN"),
    "nan in scores": (lambda: ndcg(scores=put(S, 1, NAN)), ValueError, "y_score contains NaN"),
    "inf in scores": (lambda: ndcg(scores=put(S, 1, INF)), ValueError, "y_score contains inf"),
    "no y": (lambda: fit(y=None), ValueError, "requires y to be passed"),
    "words for y": (lambda: fit(y=list("abcdef")), ValueError, "could not convert|dtype"),
    "y of three dimensions": (
        lambda: ndcg(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), None),
        ValueError,
        r"y_true.*|3",
    ),
    "no rows": (lambda: ndcg([], [], []), ValueError, r"y_true|0 sample"),
    "nan in qid": (lambda: fit(qid=put(QID, 4, NAN)), ValueError, "qid is missing in row 4"),
    "inf in qid": (lambda: fit(qid=put(QID, 4, INF)), ValueError, "qid is missing in row 4"),
    "None in qid": (lambda: fit(qid=put(QID, 3, None)), ValueError, "qid is missing in row 3"),
    "NaT in qid": (
        lambda: fit(qid=np.array(["2024-01-01"] * 5 + ["NaT"], dtype="datetime64[D]")),
        ValueError,
        "qid is missing in row 5",
    ),
    "nan in qid of a metric": (
        lambda: ndcg(qid=put(QID, 0, NAN)),
        ValueError,
        "qid is missing in row 0",
    ),
    "qid a matrix": (lambda: fit(qid=np.ones((6, 2))), ValueError, r"qid.*\(6, 2\)"),
    "X and y differ": (lambda: fit(y=Y[:5]), ValueError, r"inconsistent.*\[6, 5\]"),
    "X and qid differ": (lambda: fit(qid=QID[:5]), ValueError, "qid has 5 entries for 6 rows"),
    "qid of predict differs": (
        lambda: fit().predict(X, QID[:5]),
        ValueError,
        "qid has 5 entries for 6 rows",
    ),
    "scores and y differ": (
        lambda: ndcg(scores=S[:5]),
        ValueError,
        r"y_score has shape \(5,\).*\(6,\).*one\s+score per document",
    ),
    "sizes for qid": (lambda: fit(qid=[3, 3]), ValueError, r"group sizes.*np\.repeat"),
    "sizes for qid of a metric": (lambda: ndcg(qid=[4, 2]), ValueError, "group sizes"),
    "target and qid disagree": (
        lambda: fit(y=RankingTarget(Y, QID), qid=QID[::-1]),
        ValueError,
        "qid differs from the qid that y carries",
    ),
    "target without qid": (
        lambda: fit(y=RankingTarget(Y, QID) * 2, qid=None),
        MissingQidError,
        r"lost its qid.*RankingTarget\(y, qid\)",
    ),
    "target of two lengths": (
        lambda: RankingTarget(Y, QID[:3]),
        ValueError,
        "3 entries for 6 rows",
    ),
    "target of two dimensions": (
        lambda: RankingTarget(LABEL_Y, [1, 2, 3]),
        ValueError,
        r"\(3, 2\).*no qid is needed",
    ),
    "weights of queries": (
        lambda: fit(sample_weight=[1.0, 2.0]),
        ValueError,
        r"sample_weight has shape \(2,\) for 6 rows.*w\[codes\]",
    ),
    "weights of queries in a metric": (
        lambda: ndcg(sample_weight=[1.0, 2.0]),
        ValueError,
        r"w\[codes\]",
    ),
    "weights of queries in score": (
        lambda: fit().score(X, Y, QID, [1.0, 2.0]),
        ValueError,
        r"w\[codes\]",
    ),
    "weights too few": (
        lambda: fit(sample_weight=[1.0] * 5),
        ValueError,
        r"sample_weight has shape \(5,\) for 6 rows",
    ),
    "negative weights": (
        lambda: fit(sample_weight=put(np.ones(6), 2, -0.5)),
        ValueError,
        "sample_weight holds -0.5.*non-negative",
    ),
    "negative weights in a metric": (
        lambda: ndcg(sample_weight=put(np.ones(6), 2, -0.5)),
        ValueError,
        "sample_weight holds -0.5",
    ),
    "nan weights": (
        lambda: fit(sample_weight=put(np.ones(6), 2, NAN)),
        ValueError,
        "sample_weight contains NaN",
    ),
    "no weight at all": (
        lambda: fit(sample_weight=np.zeros(6)),
        ValueError,
        "sample_weight is zero",
    ),
    "no weight where it counts": (
        lambda: metrics.recall_at_k_score(
            [0, 0, 1, 0], S[:4], qid=[1, 1, 2, 2], sample_weight=[1, 1, 0, 0]
        ),
        ValueError,
        "sample_weight is zero on every query that counts",
    ),
    "weights for a regressor without": (
        lambda: fit(NDCGRanker(Lars(), loss="squared"), sample_weight=np.ones(6)),
        ValueError,
        "sample_weight was given, but Lars",
    ),
    # -- labels
    "negative relevance for dcg": (
        lambda: metrics.dcg_score(put(Y, 1, -1.0), S),
        ValueError,
        "[Nn]egative relevance.*-1.*dcg.*Shift",
    ),
    "negative relevance for ndcg": (
        lambda: ndcg(put(Y, 1, -1.0)),
        ValueError,
        "[Nn]egative relevance.*-1.*ndcg",
    ),
    "negative relevance for err": (
        lambda: metrics.err_score(put(Y, 1, -1.0), S),
        ValueError,
        "[Nn]egative relevance.*-1.*err",
    ),
    "negative relevance in fit": (
        lambda: fit(y=put(Y, 1, -1.0)),
        ValueError,
        "ndcg is not defined",
    ),
    "negative relevance in fit for err": (
        lambda: fit(ERRRanker(), y=put(Y, 1, -1.0)),
        ValueError,
        "err is not defined",
    ),
    "graded for P@k": (
        lambda: metrics.precision_at_k_score(Y, S),
        ValueError,
        "y holds 2.*relevance_level",
    ),
    "graded for R@k": (lambda: metrics.recall_at_k_score(Y, S), ValueError, "relevance_level"),
    "graded for AUC": (lambda: metrics.auc_score(Y, S), ValueError, "relevance_level"),
    "graded for AP": (lambda: metrics.average_precision_score(Y, S), ValueError, "relevance_level"),
    "graded for RR": (lambda: metrics.reciprocal_rank_score(Y, S), ValueError, "relevance_level"),
    "graded in fit": (lambda: fit(PrecisionRanker()), ValueError, "y holds 2.*relevance_level"),
    "graded in fit of AP": (lambda: fit(AveragePrecisionRanker()), ValueError, "relevance_level"),
    "level not finite": (
        lambda: metrics.auc_score(Y, S, relevance_level=NAN),
        ValueError,
        "relevance_level=nan",
    ),
    "beyond max_grade": (
        lambda: metrics.err_score(Y, S, max_grade=1),
        ValueError,
        "y holds 2, above max_grade=1",
    ),
    "beyond max_grade in fit": (lambda: fit(ERRRanker(max_grade=1)), ValueError, "max_grade=1"),
    "beyond the grade of fit": (
        lambda: fit(ERRRanker()).score(X, put(Y, 0, 3.0), QID),
        ValueError,
        "y holds 3, above max_grade=2",
    ),
    "gain overflows": (
        lambda: metrics.dcg_score(put(Y, 0, 2000.0), S),
        ValueError,
        "y holds 2000.*gain='linear'",
    ),
    # -- the two forms
    "qid in label form": (
        lambda: fit(X=LABEL_X, y=LABEL_Y, qid=[1, 2, 3]),
        ValueError,
        r"qid was given.*\(3, 2\).*drop qid",
    ),
    "qid in label form of a metric": (
        lambda: metrics.ndcg_score(LABEL_Y, LABEL_Y, qid=[1, 2, 3]),
        ValueError,
        "qid was given.*drop qid",
    ),
    "qid in label form of rank": (
        lambda: NDCGRanker().fit(LABEL_X, LABEL_Y).rank(LABEL_X, [1, 2, 3]),
        ValueError,
        "qid was given.*drop qid",
    ),
    "qid beside label preferences": (
        lambda: fit(
            PairwiseDisagreementRanker(),
            LABEL_X,
            PreferenceTarget.from_orders([[1, 2], [1, 2], [2, 1]]),
            [1, 2, 3],
        ),
        ValueError,
        "label-ranking form.*drop qid",
    ),
    "qid missing in score": (
        lambda: fit().score(X, Y),
        MissingQidError,
        r"NDCGRanker was fitted with a qid, and score.*qid=qid.*RankingTarget",
    ),
    "qid missing in rank": (lambda: fit().rank(X), MissingQidError, "rank got none"),
    "qid missing in top_k": (lambda: fit().top_k(X), MissingQidError, "got none"),
    # -- preferences
    "judgement with a cycle": (
        lambda: comparisons(**CYCLE),
        ValueError,
        "Judgment 4 of query 1 has a cycle.*require_dag",
    ),
    "matrices with a cycle": (
        lambda: PreferenceTarget.from_matrices(CYCLIC, require_dag=True),
        ValueError,
        "query 0 has a cycle",
    ),
    "matrix with a cycle": (
        lambda: PreferenceTarget.from_matrix(CYCLIC[0], ["a"] * 3, require_dag=True),
        ValueError,
        "query 'a' has a cycle",
    ),
    "preference across queries": (
        lambda: comparisons([1], [4]),
        ValueError,
        "Row 1 of query 1 is preferred to row 4 of query 2",
    ),
    "preference for itself": (lambda: comparisons([1], [1]), ValueError, "Document 1.*itself"),
    "unknown row": (lambda: comparisons([6], [1]), ValueError, "winner_rows holds 6.*6 rows"),
    "negative row": (lambda: comparisons([1], [-1]), ValueError, "loser_rows holds -1"),
    "rows that are no numbers": (lambda: comparisons([0.5], [1]), ValueError, "winner_rows"),
    "winners and losers differ": (lambda: comparisons([1, 2], [0]), ValueError, "2 entries.* 1"),
    "judgements differ": (lambda: comparisons(judgment=[1, 2]), ValueError, "judgment has 2"),
    "negative weight of a preference": (
        lambda: comparisons(weight=[-2.0]),
        ValueError,
        "weight of a preference is -2.0.*turn a negative one round",
    ),
    "nan weight of a preference": (lambda: comparisons(weight=[NAN]), ValueError, "is nan"),
    "negative matrix": (
        lambda: PreferenceTarget.from_matrices(-CYCLIC),
        ValueError,
        "weight of a preference is -1",
    ),
    "nan matrix": (
        lambda: PreferenceTarget.from_matrices(CYCLIC * NAN),
        ValueError,
        "weight of a preference is nan",
    ),
    "matrices not square": (
        lambda: PreferenceTarget.from_matrices(np.ones((2, 3, 2))),
        ValueError,
        r"\(n, r, r\).*\(2, 3, 2\)",
    ),
    "column beyond the query": (
        lambda: PreferenceTarget.from_matrix(np.eye(6, 4, 3), QID),
        ValueError,
        r"Y\[0, 3\].*query 1, which has only 3",
    ),
    "matrix of other length": (
        lambda: PreferenceTarget.from_matrix(np.eye(5), QID),
        ValueError,
        "qid has 6 entries for 5 rows",
    ),
    "position zero": (
        lambda: PreferenceTarget.from_orders([[0, 1]]),
        ValueError,
        "positions count from 1",
    ),
    "one item": (lambda: PreferenceTarget.from_orders([[1]]), ValueError, "r >= 2"),
    "nan relevance": (
        lambda: PreferenceTarget.from_relevance([1, NAN]),
        ValueError,
        "y contains NaN",
    ),
    "qid of comparisons with NaN": (
        lambda: fit(PairwiseDisagreementRanker(), y=comparisons(qid=put(QID, 5, NAN)), qid=None),
        ValueError,
        "qid is missing in row 5",
    ),
    "qid of from_relevance differs": (
        lambda: PreferenceTarget.from_relevance(Y, QID[:4]),
        ValueError,
        "qid has 4 entries for 6 rows",
    ),
    "qid of a target with NaN": (
        lambda: fit(y=RankingTarget(Y, put(QID, 5, NAN)), qid=None),
        ValueError,
        "qid is missing in row 5",
    ),
    "rows by name": (lambda: comparisons()[0, 1], IndexError, "by rows only"),
    "preferences for a ranker of relevances": (
        lambda: fit(y=comparisons(), qid=None),
        ValueError,
        "NDCGRanker expects relevances.*PairwiseDisagreementRanker",
    ),
    "preferences of other rows": (
        lambda: fit(PairwiseDisagreementRanker(), X[:5], comparisons(), None),
        ValueError,
        "X has 5 rows, y has 6",
    ),
    "preferences for a metric of relevances": (
        lambda: metrics.ndcg_score(comparisons(), S),
        ValueError,
        "ndcg wants relevances.*pairwise_disagreement_loss",
    ),
    "score of wrong shape": (
        lambda: fit(PairwiseDisagreementRanker(score_function=lambda Y: Y)),
        ValueError,
        "score_function returned.*query 1 of 3.*3 finite numbers",
    ),
    # -- parameters
    "k zero": (lambda: ndcg(k=0), ValueError, "k=0.*integer from 1"),
    "k negative": (lambda: ndcg(k=-3), ValueError, "k=-3"),
    "k broken": (lambda: ndcg(k=2.5), ValueError, "k=2.5.*integer"),
    "k true": (lambda: ndcg(k=True), ValueError, "k=True"),
    "k zero in fit": (lambda: fit(NDCGRanker(k=0)), ValueError, "'k' .*Got 0"),
    "k zero in top_k": (lambda: fit().top_k(X, QID, k=0), ValueError, "k=0"),
    "k of a measure without": (lambda: metrics.auc_score(Y, S, k=3), ValueError, "k=3.*auc_score"),
    "@0": (lambda: get_scorer("ndcg@0"), ValueError, "k=0"),
    "@ten": (lambda: get_scorer("ndcg@ten"), ValueError, "ndcg@ten.*integer"),
    "@ where there is none": (lambda: get_scorer("auc@3"), ValueError, "auc has no cutoff"),
    "half-life one": (
        lambda: metrics.eru_score(Y, S, half_life=1),
        ValueError,
        "half_life=1.*above 1",
    ),
    "half-life one in fit": (
        lambda: fit(ExpectedRankUtilityRanker(half_life=0.5)),
        ValueError,
        "'half_life' .*Got 0.5",
    ),
    "neutral nan": (lambda: ERU(neutral=NAN), ValueError, "neutral=nan"),
    "max_grade negative": (
        lambda: metrics.err_score(Y, S, max_grade=-1),
        ValueError,
        "max_grade=-1",
    ),
    "unknown measure": (
        lambda: fit(LeastSquaresRanker(measure="ndgc@3")),
        ValueError,
        r"Unknown measure 'ndgc@3'.*auc.*ndcg.*spearman",
    ),
    "measure that is not positional": (
        lambda: fit(LeastSquaresRanker(measure="map")),
        ValueError,
        "measure='map' is not positional.*AveragePrecisionRanker",
    ),
    "measure that is no measure": (lambda: get_scorer(3), ValueError, "Unknown measure 3"),
    "unknown scorer": (lambda: get_scorer("accuracy"), ValueError, "'accuracy'.*map.*mrr"),
    "unknown option": (
        lambda: get_scorer("ndcg", gian="linear"),
        ValueError,
        "ndcg has no option 'gian': choose among k, gain",
    ),
    "options beside a measure": (lambda: get_scorer(DCG(), k=2), ValueError, r"\['k'\].*DCG"),
    "unknown ties": (
        lambda: ndcg(ties="random"),
        ValueError,
        "ties='random'.*'average', 'stable', 'worst', 'best'",
    ),
    "unknown empty": (
        lambda: ndcg(empty="half"),
        ValueError,
        "empty='half'.*'skip', 'zero', 'one', 'nan', 'error'",
    ),
    "unknown ties of a scorer": (
        lambda: get_scorer("ndcg", ties="random"),
        ValueError,
        "ties='random'.*'average'",
    ),
    "empty as an error": (
        lambda: ndcg(y=np.where(QID == 2, 0, Y), empty="error"),
        ValueError,
        r"ndcg is undefined \(0/0\) on query .*2.*empty='skip'",
    ),
    "unknown loss": (
        lambda: fit(NDCGRanker(loss="logistic")),
        ValueError,
        "'loss' .*'squared', 'pairwise_squared'.*Got 'logistic'",
    ),
    "unknown gain": (lambda: ndcg(gain="log"), ValueError, "gain='log'.*'exponential', 'linear'"),
    "unknown gain in fit": (lambda: fit(NDCGRanker(gain="log")), ValueError, "'gain' .*Got 'log'"),
    "unknown weights": (
        lambda: metrics.pairwise_disagreement_loss(Y, S, weights="equal"),
        ValueError,
        "weights='equal'.*'difference'.*'unit'",
    ),
    "unknown weights in fit": (
        lambda: fit(PairwiseDisagreementRanker(weights="equal")),
        ValueError,
        "'weights' .*Got 'equal'",
    ),
    "unknown score": (
        lambda: fit(PairwiseDisagreementRanker(score_function="borda")),
        ValueError,
        "'score_function' .*'net_preference'.*callable. Got 'borda'",
    ),
    "trees on pairs": (
        lambda: fit(NDCGRanker(DecisionTreeRegressor(), loss="pairwise_squared")),
        ValueError,
        r"DecisionTreeRegressor.*loss='squared'.*skcalrank\.boosting",
    ),
    # -- splitters, data, the classifier
    "folds without queries": (
        lambda: next(QueryKFold(2).split(X, Y)),
        MissingQidError,
        r"RankingTarget\(y, qid\).*groups=qid.*qid=qid",
    ),
    "folds without queries in a tool": (
        lambda: cross_val_score(ElasticNet(), X, Y, cv=QueryKFold(2), scoring=get_scorer("dcg")),
        MissingQidError,
        "RankingTarget",
    ),
    "more folds than queries": (
        lambda: next(QueryKFold(3).split(X, groups=QID)),
        ValueError,
        "n_splits=3.*number of queries, 2",
    ),
    "split without queries": (
        lambda: train_test_query_split(X, Y),
        MissingQidError,
        "RankingTarget",
    ),
    "split of nothing": (lambda: train_test_query_split(), ValueError, "at least one array"),
    "no types": (lambda: make_subset_ranking(n_types=0), ValueError, "n_types=0"),
    "one grade": (lambda: make_subset_ranking(n_grades=1), ValueError, "n_grades=1"),
    "range turned round": (
        lambda: make_subset_ranking(n_documents=(5, 2)),
        ValueError,
        r"n_documents=\(5, 2\)",
    ),
    "Bayes value of MAP": (
        lambda: make_subset_ranking(n_grades=2).law.bayes_value("map"),
        ValueError,
        "map is not positional",
    ),
    "nan to sort": (lambda: sort_positions([1.0, NAN]), ValueError, "u contains NaN"),
    "loss matrix of other classes": (
        lambda: LowRankLossClassifier(np.eye(3)).fit(X, QID),
        ValueError,
        r"loss_matrix has shape \(3, 3\) for 2 classes",
    ),
    "nan in the loss matrix": (
        lambda: LowRankLossClassifier([[0, NAN], [1, 0]]).fit(X, QID),
        ValueError,
        "loss_matrix contains NaN",
    ),
    "classes that are numbers": (
        lambda: LowRankLossClassifier().fit(X, S),
        ValueError,
        "Unknown label type",
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_bad_input(name):
    call, kind, message = TABLE[name]
    with pytest.raises(kind, match=f"(?s){message}"):
        call()


def test_missing_qid_is_a_value_error():
    assert issubclass(MissingQidError, ValueError)


def test_letor_without_queries(tmp_path):
    path = tmp_path / "plain.txt"
    path.write_text("1 1:0.5\n0 1:0.25\n")
    with pytest.raises(ValueError, match=r"plain\.txt has lines without qid.*plain\.txt\.query"):
        load_letor(path)
    (tmp_path / "plain.txt.query").write_text("3\n")
    with pytest.raises(ValueError, match=r"plain\.txt\.query sum to 3.*has 2 rows"):
        load_letor(path)
    path.write_text("1 qid:1 1:0.5\n0 1:0.25\n")
    (tmp_path / "plain.txt.query").unlink()
    with pytest.raises(ValueError, match="2 rows, and 1 of them name a qid"):
        load_letor(path)
    with pytest.raises(FileNotFoundError):
        load_letor(tmp_path / "other.txt")


@pytest.mark.parametrize("ranker", list(rankers_and_losses()), ids=ranker_id)
def test_every_ranker_uses_the_one_door(ranker):
    for case, message in {
        "qid": ({"qid": [3, 3]}, "group sizes"),
        "weights": ({"sample_weight": [1.0, 2.0]}, r"w\[codes\]"),
        "lengths": ({"y": Y[:4]}, "inconsistent"),
        "labels": ({"X": LABEL_X, "y": LABEL_Y, "qid": [1, 2, 3]}, "drop qid"),
        "nan": ({"y": put(Y, 0, NAN)}, "y contains NaN"),
    }.values():
        with pytest.raises(ValueError, match=message):
            fit(clone(ranker), **case)
    with pytest.raises(MissingQidError):
        fit(clone(ranker)).score(X, Y)


def test_nan_in_x_is_for_the_regressor_to_judge():
    ranker = fit(NDCGRanker(DecisionTreeRegressor()), X=put(X, (2, 1), NAN))
    assert np.isfinite(ranker.predict(put(X, (0, 0), NAN))).all()


def test_a_column_for_y_is_ravelled_with_a_warning():
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning, match="ravelled"):
        column = NDCGRanker().fit(X, Y[:, None], QID)
    assert np.array_equal(column.predict(X), fit().predict(X))
    with pytest.warns(DataConversionWarning, match="ravelled"):
        assert ndcg(Y[:, None]) == ndcg()
