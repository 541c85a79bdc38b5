"""Bad input is a clear error: one line of the table for each; data in both forms."""

import numpy as np
import pytest
from cases import first_of_each_class, ranker_id, rankers_and_losses
from error_cases import INF, LABEL_X, LABEL_Y, NAN, QID, S, X, Y, fit, ndcg, put
from sklearn.base import clone
from sklearn.linear_model import Lars
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    ERRRanker,
    NDCGRanker,
    PrecisionRanker,
    RankingTarget,
    load_letor,
    metrics,
)
from skcalrank.data import MissingQidError

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
    "nan in y": (
        lambda: fit(y=put(Y, 1, NAN)),
        ValueError,
        "y contains NaN, first in row 1.*never judged",
    ),
    "None in y": (lambda: fit(y=[0, 1, None, 0, 1, 0]), ValueError, "NaN, first in row 2"),
    "inf in y": (lambda: fit(y=put(Y, 1, INF)), ValueError, "y contains infinity"),
    "nan in y of a metric": (lambda: ndcg(put(Y, 1, NAN)), ValueError, "y_true contains NaN"),
    "nan in scores": (lambda: ndcg(scores=put(S, 1, NAN)), ValueError, "y_score contains NaN"),
    "inf in scores": (lambda: ndcg(scores=put(S, 1, INF)), ValueError, "y_score contains inf"),
    "no y": (lambda: fit(y=None), ValueError, "requires y to be passed"),
    "words for y": (
        lambda: fit(y=["1", "ok", "2", "1", "ok", "ok"]),
        ValueError,
        "y must be numbers, got 'ok' in row 1: were y and qid swapped",
    ),
    "y of three dimensions": (
        lambda: ndcg(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), None),
        ValueError,
        r"y_true.*|3",
    ),
    "no rows": (lambda: ndcg([], [], []), ValueError, r"y_true|0 sample"),
    "nan in qid": (lambda: fit(qid=put(QID, 4, NAN)), ValueError, "missing value .* in row 4"),
    "inf in qid": (lambda: fit(qid=put(QID, 4, INF)), ValueError, "missing value .* in row 4"),
    "None in qid": (lambda: fit(qid=put(QID, 3, None)), ValueError, "missing value .* in row 3"),
    "NaT in qid": (
        lambda: fit(qid=np.array(["2024-01-01"] * 5 + ["NaT"], dtype="datetime64[D]")),
        ValueError,
        "missing value .* in row 5",
    ),
    "nan in qid of a metric": (
        lambda: ndcg(qid=put(QID, 0, NAN)),
        ValueError,
        "missing value .* in row 0",
    ),
    "qid a matrix": (lambda: fit(qid=np.ones((6, 2))), ValueError, r"qid.*\(6, 2\)"),
    "X and y differ": (lambda: fit(y=Y[:5]), ValueError, r"inconsistent.*\[6, 5\]"),
    "X and qid differ": (lambda: fit(qid=QID[:5]), ValueError, "qid must have 6 entries, .* got 5"),
    "qid of predict differs": (
        lambda: fit().predict(X, QID[:5]),
        ValueError,
        "qid must have 6 entries, .* got 5",
    ),
    "scores and y differ": (
        lambda: ndcg(scores=S[:5]),
        ValueError,
        r"y_score must have the shape \(6,\).*\(5,\).*one\s+score per document",
    ),
    "sizes for qid": (lambda: fit(qid=[3, 3]), ValueError, r"group sizes.*np\.repeat"),
    "sizes for qid of a metric": (lambda: ndcg(qid=[4, 2]), ValueError, "group sizes"),
    "target and qid disagree": (
        lambda: fit(y=RankingTarget(Y, QID), qid=QID[::-1]),
        ValueError,
        "qid must equal the qid that y carries",
    ),
    "target without qid": (
        lambda: fit(y=RankingTarget(Y, QID) * 2, qid=None),
        MissingQidError,
        r"lost its qid.*RankingTarget\(y, qid\)",
    ),
    "target of two lengths": (
        lambda: RankingTarget(Y, QID[:3]),
        ValueError,
        "6 entries, .* got 3",
    ),
    "target of two dimensions": (
        lambda: RankingTarget(LABEL_Y, [1, 2, 3]),
        ValueError,
        r"\(3, 2\).*no qid is needed",
    ),
    "weights of queries": (
        lambda: fit(sample_weight=[1.0, 2.0]),
        ValueError,
        r"sample_weight must have shape \(6,\).* got \(2,\).*w\[codes\]",
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
        r"sample_weight must have shape \(6,\).* got \(5,\)",
    ),
    "negative weights": (
        lambda: fit(sample_weight=put(np.ones(6), 2, -0.5)),
        ValueError,
        "sample_weight must be non-negative, got -0.5",
    ),
    "negative weights in a metric": (
        lambda: ndcg(sample_weight=put(np.ones(6), 2, -0.5)),
        ValueError,
        "sample_weight must be non-negative, got -0.5",
    ),
    "nan weights": (
        lambda: fit(sample_weight=put(np.ones(6), 2, NAN)),
        ValueError,
        "sample_weight contains NaN",
    ),
    "no weight at all": (
        lambda: fit(sample_weight=np.zeros(6)),
        ValueError,
        "sample_weight must be positive.*got zeros",
    ),
    "weights for a regressor without": (
        lambda: fit(NDCGRanker(Lars(), loss="squared"), sample_weight=np.ones(6)),
        ValueError,
        "query_weight must be None, because Lars",
    ),
    # -- labels
    "negative relevance for dcg": (
        lambda: metrics.dcg_score(put(Y, 1, -1.0), S),
        ValueError,
        "non-negative for dcg, .* -1.*Shift",
    ),
    "negative relevance for ndcg": (
        lambda: ndcg(put(Y, 1, -1.0)),
        ValueError,
        "non-negative for ndcg, .* -1",
    ),
    "negative relevance for err": (
        lambda: metrics.err_score(put(Y, 1, -1.0), S),
        ValueError,
        "non-negative for err, .* -1",
    ),
    "negative relevance in fit": (
        lambda: fit(y=put(Y, 1, -1.0)),
        ValueError,
        "non-negative for ndcg",
    ),
    "negative relevance in fit for err": (
        lambda: fit(ERRRanker(), y=put(Y, 1, -1.0)),
        ValueError,
        "non-negative for err",
    ),
    "graded for P@k": (
        lambda: metrics.precision_at_k_score(Y, S, relevance_level=None),
        ValueError,
        "y must hold 0 and 1.*got 2.*relevance_level",
    ),
    "graded in fit": (
        lambda: fit(PrecisionRanker(relevance_level=None)),
        ValueError,
        "y must hold 0 and 1.*got 2.*relevance_level",
    ),
    "graded in fit of AP": (
        lambda: fit(AveragePrecisionRanker(relevance_level=None)),
        ValueError,
        "relevance_level",
    ),
    "level not finite": (
        lambda: metrics.auc_score(Y, S, relevance_level=NAN),
        ValueError,
        "relevance_level must .*got nan",
    ),
    "beyond max_grade": (
        lambda: metrics.err_score(Y, S, max_grade=1),
        ValueError,
        "at most max_grade=1, got 2",
    ),
    "beyond max_grade in fit": (lambda: fit(ERRRanker(max_grade=1)), ValueError, "max_grade=1"),
    "beyond the grade of fit": (
        lambda: fit(ERRRanker()).score(X, put(Y, 0, 3.0), QID),
        ValueError,
        "at most max_grade=2, got 3",
    ),
    "gain overflows": (
        lambda: metrics.dcg_score(put(Y, 0, 2000.0), S),
        ValueError,
        "got 2000.*gain='linear'",
    ),
}


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
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


@pytest.mark.filterwarnings("ignore:Trees found no split")
@pytest.mark.parametrize("ranker", first_of_each_class(rankers_and_losses()), ids=ranker_id)
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

    with pytest.warns(DataConversionWarning, match="raveled"):
        column = NDCGRanker().fit(X, Y[:, None], QID)
    assert np.array_equal(column.predict(X), fit().predict(X))
    with pytest.warns(DataConversionWarning, match="raveled"):
        assert ndcg(Y[:, None]) == ndcg()
