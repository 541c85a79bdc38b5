"""Rankings of any model as one table."""

import numpy as np
import pytest
from cases import make_data
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    NDCGRanker,
    PrecisionRanker,
    QueryKFold,
    RankingTarget,
    SpearmanRanker,
    load_digits_queries,
)
from skcalrank.calibration import margin_report
from skcalrank.evaluation import load_run, rank_frame, to_run
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

pandas = pytest.importorskip("pandas")

MODELS = {
    "ranker": lambda: NDCGRanker(),
    "pipeline": lambda: make_pipeline(StandardScaler(), NDCGRanker()),
    "query pipeline": lambda: make_query_pipeline(QueryScaler(), NDCGRanker()),
    "search": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1, 10]}, cv=QueryKFold(2)
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_frame_has_every_document_at_its_position(data, name):
    X, y, qid = data
    model = MODELS[name]()
    model.fit(X, RankingTarget(y, qid), **({"groups": qid} if name == "search" else {}))
    frame = rank_frame(model, X, qid)
    scores = model.predict(X, qid=qid) if "query" in name else model.predict(X)
    assert frame.columns.tolist() == ["qid", "id", "position", "score"]
    np.testing.assert_array_equal(frame.score, scores[frame.id])
    np.testing.assert_array_equal(frame.qid, qid[frame.id])
    assert frame.qid.drop_duplicates().tolist() == list(dict.fromkeys(qid.tolist()))
    for _, part in frame.groupby("qid"):
        assert part.position.tolist() == list(range(1, len(part) + 1))
        assert part.score.is_monotonic_decreasing
    if name == "ranker":
        np.testing.assert_array_equal(model.rank(X, qid)[frame.id], frame.position)
    top = rank_frame(model, X, qid, k=2)
    pandas.testing.assert_frame_equal(top, frame[frame.position <= 2].reset_index(drop=True))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_frame_of_another_library_comes_back(library, rng):
    other = pytest.importorskip(library)
    X, y, qid = make_data(rng)
    names = [f"q{name}" for name in qid]
    columns = {f"f{i}": column for i, column in enumerate(X.T)}
    X = pandas.DataFrame(columns)
    model = NDCGRanker().fit(X, y, names)
    frame = other.DataFrame(columns) if library == "polars" else other.table(columns)
    ranked = rank_frame(model, frame, names, k=2, ids=[f"d{i}" for i in range(len(y))])
    assert type(ranked) is type(frame)
    expected = rank_frame(model, X, names, k=2, ids=[f"d{i}" for i in range(len(y))])
    pandas.testing.assert_frame_equal(ranked.to_pandas(), expected, check_dtype=False)
    assert load_run(ranked) == load_run(ranked.to_pandas())
    numbered = rank_frame(model, frame, names, k=2)
    assert np.array_equal(numbered["id"], rank_frame(model, X, names, k=2)["id"])


def test_a_missing_qid(data):
    X, y, qid = data
    model = NDCGRanker().fit(X, y, qid)
    for call in (lambda: rank_frame(model, X, None), lambda: to_run(y, None)):
        with pytest.raises(ValueError, match=r"qid must hold the query of each row, .* got None"):
            call()


def test_documents_have_names(rng):
    X, y, qid = make_data(rng)
    names = np.array([f"d{i}" for i in range(len(y))])
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])], index=names)
    model = NDCGRanker().fit(frame, y, qid)
    found = rank_frame(model, frame, pandas.Series(qid, index=names), k=1)
    again = rank_frame(model, frame, qid, k=1, ids=names.tolist())
    pandas.testing.assert_frame_equal(found, again)
    # Equal scores stand in row order.
    tied = rank_frame(model, frame.iloc[[0, 0, 0]], ["q"] * 3, ids=list("abc"))
    assert tied.id.tolist() == ["a", "b", "c"]
    for of_types in ([1, "1", "b"], [("a", 1), ("a", 2), "b"]):
        tied = rank_frame(model, frame.iloc[[0, 0, 0]], ["q"] * 3, ids=of_types)
        assert tied.id.tolist() == of_types


def test_what_cannot_be_ranked(data):
    X, y, qid = data
    model = NDCGRanker().fit(X, y, qid)
    by_rows = SpearmanRanker().fit(X[:4], [[1, 2, 3]] * 2 + [[3, 1, 2]] * 2)
    for call, words in [
        (lambda: rank_frame(model, X, qid[:3]), r"qid must have 32 entries.*got 3"),
        (lambda: rank_frame(model, X, qid, ids=["a"]), r"ids must have one name for each of 32"),
        (lambda: rank_frame(model, X, qid, k=0), "k must be an integer >= 1, .* got 0"),
        (lambda: rank_frame(by_rows, X[:4], [1, 2, 3, 4]), "fitted in the label-ranking form"),
        (lambda: rank_frame(Ridge().fit(X, X[:, :2]), X, qid), "model must predict one score for"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_no_rows_are_no_rankings():
    X, y, qid = load_digits_queries(n_queries=12, n_documents=8)
    frame = rank_frame(NDCGRanker().fit(X, y, qid), X[:0], qid[:0])
    assert frame.columns.tolist() == ["qid", "id", "position", "score"]
    assert frame.empty
    nothing = margin_report(PrecisionRanker(k=2).fit(X, y, qid), X[:0], qid[:0])
    assert str(nothing) == "queries  0"
