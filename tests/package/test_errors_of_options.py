"""Bad parameters, preferences and splits are clear errors: one line of the table for each."""

import numpy as np
import pytest
from error_cases import (
    CYCLE,
    CYCLIC,
    LABEL_X,
    LABEL_Y,
    NAN,
    QID,
    S,
    X,
    Y,
    comparisons,
    fit,
    ndcg,
    put,
)
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import ElasticNet, PoissonRegressor
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    ExpectedRankUtilityRanker,
    LeastSquaresRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    QueryKFold,
    RankingTarget,
    get_scorer,
    make_subset_ranking,
    metrics,
    train_test_query_split,
)
from skcalrank.data import MissingQidError
from skcalrank.measures import DCG, ERU
from skcalrank.preds import sort_positions
from skcalrank.structured import LowRankLossClassifier

# name: (call, type, what the message says)
TABLE = {
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
        "qid must be None.*drop qid",
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
    "judgment with a cycle": (
        lambda: comparisons(**CYCLE),
        ValueError,
        "cycle in judgment 4 of query 1.*require_dag",
    ),
    "matrices with a cycle": (
        lambda: PreferenceTarget.from_matrices(CYCLIC, require_dag=True),
        ValueError,
        "cycle in judgment 0 of query 0",
    ),
    "matrix with a cycle": (
        lambda: PreferenceTarget.from_matrix(CYCLIC[0], ["a"] * 3, require_dag=True),
        ValueError,
        "cycle in judgment 0 of query 'a'",
    ),
    "preference across queries": (
        lambda: comparisons([1], [4]),
        ValueError,
        "got row 1 of query 1 over row 4 of query 2",
    ),
    "preference for itself": (lambda: comparisons([1], [1]), ValueError, "document 1 over itself"),
    "unknown row": (lambda: comparisons([6], [1]), ValueError, "winner_rows must .* 5, got 6"),
    "negative row": (lambda: comparisons([1], [-1]), ValueError, "loser_rows must hold .* got -1"),
    "rows that are no numbers": (lambda: comparisons([0.5], [1]), ValueError, "winner_rows"),
    "winners and losers differ": (
        lambda: comparisons([1, 2], [0]),
        ValueError,
        r"winner_rows of 2, loser_rows of 1\.",
    ),
    "judgments differ": (
        lambda: comparisons(judgment=[1, 2]),
        ValueError,
        "winner_rows of 1, loser_rows of 1, judgment of 2",
    ),
    "negative weight of a preference": (
        lambda: comparisons(weight=[-2.0]),
        ValueError,
        "Weights of preferences .* got -2.0.*swap winner and loser",
    ),
    "nan weight of a preference": (lambda: comparisons(weight=[NAN]), ValueError, "got nan"),
    "negative matrix": (
        lambda: PreferenceTarget.from_matrices(-CYCLIC),
        ValueError,
        "Weights of preferences .* got -1",
    ),
    "nan matrix": (
        lambda: PreferenceTarget.from_matrices(CYCLIC * NAN),
        ValueError,
        "Weights of preferences .* got nan",
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
        "qid must have 5 entries, .* got 6",
    ),
    "position zero": (
        lambda: PreferenceTarget.from_orders([[0, 1]]),
        ValueError,
        "positions must be finite and >= 1",
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
        "missing value .* in row 5",
    ),
    "qid of from_relevance differs": (
        lambda: PreferenceTarget.from_relevance(Y, QID[:4]),
        ValueError,
        "qid must have 6 entries, .* got 4",
    ),
    "qid of a target with NaN": (
        lambda: fit(y=RankingTarget(Y, put(QID, 5, NAN)), qid=None),
        ValueError,
        "missing value .* in row 5",
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
        "X and y must have equally many rows, got X of 5, y of 6",
    ),
    "preferences for a metric of relevances": (
        lambda: metrics.ndcg_score(comparisons(), S),
        ValueError,
        "ndcg needs relevances.*pairwise_disagreement_loss",
    ),
    "score of wrong shape": (
        lambda: fit(PairwiseDisagreementRanker(score_function=lambda Y: Y)),
        ValueError,
        "score_function must return 3 finite numbers.*query 1",
    ),
    # -- parameters
    "k zero": (lambda: ndcg(k=0), ValueError, "k must be an integer >= 1.*got 0"),
    "k negative": (lambda: ndcg(k=-3), ValueError, "k must be .*got -3"),
    "k broken": (lambda: ndcg(k=2.5), ValueError, "k must be an integer.*got 2.5"),
    "k true": (lambda: ndcg(k=True), ValueError, "k must be .*got True"),
    "k zero in fit": (lambda: fit(NDCGRanker(k=0)), ValueError, "'k' .*Got 0"),
    "k zero in top_k": (lambda: fit().top_k(X, QID, k=0), ValueError, "k must be .*got 0"),
    "k of a measure without": (lambda: metrics.auc_score(Y, S, k=3), ValueError, "no cutoff, got"),
    "@0": (lambda: get_scorer("ndcg@0"), ValueError, "after @ must be .*'ndcg@0'"),
    "@ with other digits": (
        lambda: get_scorer("ndcg@\u0662"),
        ValueError,
        "after @ must be .*'ndcg@\u0662'",
    ),
    "@ten": (lambda: get_scorer("ndcg@ten"), ValueError, "integer.*ndcg@ten"),
    "@ where there is none": (lambda: get_scorer("auc@3"), ValueError, "auc has no cutoff"),
    "half-life one": (
        lambda: metrics.eru_score(Y, S, half_life=1),
        ValueError,
        "half_life must be a finite number > 1",
    ),
    "half-life one in fit": (
        lambda: fit(ExpectedRankUtilityRanker(half_life=0.5)),
        ValueError,
        "'half_life' .*Got 0.5",
    ),
    "neutral nan": (lambda: ERU(neutral=NAN), ValueError, "neutral must .* got nan"),
    "max_grade negative": (
        lambda: metrics.err_score(Y, S, max_grade=-1),
        ValueError,
        "max_grade must .* got -1",
    ),
    "unknown measure": (
        lambda: fit(LeastSquaresRanker(measure="ndgc@3")),
        ValueError,
        r"Unknown measure 'ndgc@3'.*auc.*ndcg.*spearman",
    ),
    "measure that is not positional": (
        lambda: fit(LeastSquaresRanker(measure="map")),
        ValueError,
        "measure must be positional, got 'map'.*AveragePrecisionRanker",
    ),
    **{
        f"measure {name} that is not positional": (
            lambda name=name: fit(LeastSquaresRanker(name)),
            ValueError,
            f"measure must be positional, got '{name}': .*use {ranker}.$",
        )
        for name, ranker in {
            "hit@1": r"PrecisionRanker\(k=1\)",
            "mrr@1": r"PrecisionRanker\(k=1\)",
            "hit@3": r"OrderPreservingRanker\('hit@3'\)",
            "r_precision": r"OrderPreservingRanker\('r_precision'\)",
            "map@5": r"OrderPreservingRanker\('map@5'\)",
            "err@10": "ERRRanker",
            "kendall": r"PairwiseDisagreementRanker\(weights='unit'\)",
        }.items()
    },
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
        "ties must .*'average', 'stable', 'reversed', 'worst'.*got 'random'",
    ),
    "unknown empty": (
        lambda: ndcg(empty="half"),
        ValueError,
        "empty must .*'skip', 'zero', 'one', 'nan', 'error', got 'half'",
    ),
    "unknown ties of a scorer": (
        lambda: get_scorer("ndcg", ties="random"),
        ValueError,
        "ties must .*'average'.*got 'random'",
    ),
    "empty as an error": (
        lambda: ndcg(y=np.where(QID == 2, 0, Y), empty="error"),
        ValueError,
        r"ndcg is undefined \(0/0\) on query .*2.*empty='skip'",
    ),
    "unknown loss": (
        lambda: fit(NDCGRanker(loss="logistic")),
        ValueError,
        "'loss' .*'squared', 'centered', 'pairwise_squared'.*Got 'logistic'",
    ),
    "unknown gain": (
        lambda: ndcg(gain="log"),
        ValueError,
        "gain must .*'exponential', 'linear', got 'log'",
    ),
    "unknown gain in fit": (lambda: fit(NDCGRanker(gain="log")), ValueError, "'gain' .*Got 'log'"),
    "unknown weights": (
        lambda: metrics.pairwise_disagreement_loss(Y, S, weights="equal"),
        ValueError,
        "weights must .*'difference', 'unit', got 'equal'",
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
    "centered counts": (
        lambda: fit(NDCGRanker(PoissonRegressor(), loss="pairwise_squared")),
        ValueError,
        r"PoissonRegressor.*non-negative targets.*set loss='squared'",
    ),
    "centered counts by trees": (
        lambda: fit(NDCGRanker(HistGradientBoostingRegressor(loss="poisson"), loss="centered")),
        ValueError,
        r"loss='poisson'.*got 'centered': set loss='squared'",
    ),
    "passes without pairs": (
        lambda: fit(NDCGRanker(DecisionTreeRegressor(), n_passes=3)),
        ValueError,
        "n_passes=3 has no effect with loss='squared': set loss='pairwise_squared'",
    ),
    "passes in closed form": (
        lambda: fit(NDCGRanker(n_passes=3)),
        ValueError,
        r"n_passes=3 has no effect with estimator=None.* closed form.*leave n_passes=5",
    ),
    "passes over chunks": (
        lambda: NDCGRanker(MLPRegressor(), loss="pairwise_squared").partial_fit(X, Y, QID),
        ValueError,
        "partial_fit with loss='pairwise_squared', got MLPRegressor. Call fit with all rows",
    ),
    # -- splitters, data, the classifier
    "folds without queries": (
        lambda: next(QueryKFold(2).split(X, Y)),
        MissingQidError,
        r"qid=qid.*RankingTarget\(y, qid\).*groups=qid",
    ),
    "folds without queries in a tool": (
        lambda: cross_val_score(ElasticNet(), X, Y, cv=QueryKFold(2), scoring=get_scorer("dcg")),
        MissingQidError,
        "RankingTarget",
    ),
    "more folds than queries": (
        lambda: next(QueryKFold(3).split(X, groups=QID)),
        ValueError,
        "n_splits must be at most the number of queries, 2, got 3",
    ),
    "split without queries": (
        lambda: train_test_query_split(X, Y),
        MissingQidError,
        "RankingTarget",
    ),
    "split of nothing": (lambda: train_test_query_split(), ValueError, "at least one array"),
    "no types": (lambda: make_subset_ranking(n_types=0), ValueError, "n_types must .*got 0"),
    "one grade": (lambda: make_subset_ranking(n_grades=1), ValueError, "n_grades must .*got 1"),
    "range turned round": (
        lambda: make_subset_ranking(n_documents=(5, 2)),
        ValueError,
        r"n_documents must .*got \(5, 2\)",
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
        r"one row per class of y \(2, in sorted order\), got shape \(3, 3\)",
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
