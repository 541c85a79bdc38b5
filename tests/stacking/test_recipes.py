"""Recipes of TabularRanker: scores, explanations and files where trees read z-scores beside."""

import pickle
from functools import cache

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, made_queries, pickled
from recipes import RECIPES, recipe
from tables import FORMS, labels, made_columns

from skcalrank import BoostedRanker, NDCGRanker, StackingRanker, TabularRanker, load_digits_queries
from skcalrank.data import MissingQidError
from skcalrank.export import to_elasticsearch, to_json
from skcalrank.inspection import explain_order
from skcalrank.persistence import load_model, save_model
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler
from skcalrank.stacking import scorer_of

pd = pytest.importorskip("pandas")

COLUMNS = made_columns(160)
Y, QID = labels(COLUMNS)
TABLE = FORMS["records"](COLUMNS)
NEW = FORMS["records"](made_columns(160, seed=1))


def arrays(share=0.05):
    X, y, qid = load_digits_queries(n_queries=40, n_documents=10)
    X = X[:, ::4].astype(float)
    X[np.random.default_rng(0).random(X.shape) < share] = np.nan
    return X, y, qid


@cache
def fitted(trees, normalize="pooled", form="table", name="in query", **options):
    few = boosted(trees, n_estimators=8, min_samples_leaf=4, **options)
    with recipe(name):
        ranker = TabularRanker("ndcg@5", trees=few, normalize=normalize, n_jobs=1)
        ranker.fit(*problem(form))
    ranker.weights_ = 1.0 + np.arange(len(ranker.weights_))  # some may have had none
    return pickled(ranker)


def problem(form):
    if form == "table":
        return TABLE, Y, QID
    return arrays() if form == "array" else arrays(0.0)


def of_members(ranker, *rows):
    """Scores without the compiled scorer."""
    twin = pickled(ranker)
    twin._compiled = None
    return twin.predict(*rows)


def test_members_of_each_recipe():
    names = {}
    for name in RECIPES:
        ranker = fitted(FIRST, name=name)
        wide = [key for key, trees in ranker.boosted_.items() if hasattr(trees, "steps")]
        names[name] = list(ranker.linear_), wide
        trees = [each[-1] if hasattr(each, "steps") else each for each in ranker.boosted_.values()]
        assert [type(each) for each in trees] == [BoostedRanker] * 2
    views = ["scaled", "hinges"]
    assert names == {
        "": (["scaled", "logs", "hinges"], []),
        "without logarithms": (views, []),
        "in query": (views, ["by_targets"]),
        "both in query": (["scaled", "logs", "hinges"], ["by_targets", "by_grades"]),
    }


every_stack = pytest.mark.parametrize(
    ("trees", "normalize", "form"),
    [(trees, "pooled", "table") for trees in ENGINES]
    + [(FIRST, normalize, form) for normalize in ("pooled", "query") for form in ("array", "full")]
    + [(FIRST, "query", "table")],
)


@every_stack
def test_the_compiled_scorer_gives_the_scores_of_the_members(trees, normalize, form):
    ranker, (X, _, qid) = fitted(trees, normalize, form), problem(form)
    X = NEW if form == "table" else X
    assert ranker._compiled.is_of(ranker)
    assert scorer_of(ranker).in_query
    scores = ranker.predict(X, qid)
    assert np.ptp(scores) > 0
    np.testing.assert_allclose(scores, of_members(ranker, X, qid), rtol=1e-12, atol=1e-12)
    order = np.random.default_rng(1).permutation(len(qid))
    moved = [X[row] for row in order] if form == "table" else X[order]
    np.testing.assert_allclose(ranker.predict(moved, qid[order]), scores[order], atol=1e-9)
    with pytest.raises(MissingQidError, match="predict"):
        ranker.predict(X)


@every_stack
def test_contributions_are_those_of_the_columns(trees, normalize, form):
    ranker, (X, _, qid) = fitted(trees, normalize, form), problem(form)
    parts, scores = ranker.contributions(X, qid), ranker.predict(X, qid)
    assert parts.shape == (len(qid), ranker.n_features_in_ + 1)
    np.testing.assert_allclose(parts.sum(axis=1), scores, rtol=0, atol=1e-9)
    twin = pickled(ranker)
    twin._compiled = None
    np.testing.assert_allclose(twin.contributions(X, qid), parts, rtol=0, atol=1e-9)
    pair = explain_order(ranker, X, 3, 5, qid=qid)
    # A column that is constant is dropped.
    assert len(pair.feature_names) == ranker.n_features_in_ - (form == "table")
    assert pair.total == pytest.approx(scores[3] - scores[5], abs=1e-9)


@pytest.mark.parametrize("form", ["table", "array"])
def test_importances_add_up_both_columns_of_a_number(form):
    ranker = pickled(fitted(FIRST, form=form, name="both in query"))
    ranker.weights_[:] = [0.0] * 3 + [1.0, 0.0]
    importances = ranker.feature_importances_
    assert importances.shape == (ranker.n_features_in_,)
    assert importances.sum() == pytest.approx(1)
    pipe = ranker.named_rankers_["by_targets"]
    trees = pipe[-1]
    np.testing.assert_allclose(importances, trees.feature_importances_)
    beside = len(trees.encoder_.sources_) - len(trees.encoder_.scaled_)
    [forest] = scorer_of(pickled(ranker)).to_dict()["trees"][0]
    features = forest["features"]
    assert max(features) >= beside > min(features)
    if form == "table":
        assert importances[list(COLUMNS).index("one")] == 0


def test_a_number_that_counts_within_the_query_alone():
    # Of a column with a level in each query, trees see nothing, and those beside all.
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(120), 10)
    X = rng.normal(size=(1200, 3))
    y = np.digitize(X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 0], [-0.7, 0.7])
    X[:, 0] += 100 * rng.normal(size=120)[qid]
    train, test = qid < 80, qid >= 80
    scores = {}
    for name in ("", "in query"):
        with recipe(name):
            ranker = TabularRanker("ndcg@5", trees=boosted(FIRST))
            ranker.fit(X[train], y[train], qid[train])
        scores[name] = ranker.score(X[test], y[test], qid[test])
    assert scores["in query"] > scores[""] + 0.05


@pytest.mark.parametrize("form", ["table", "array"])
def test_model_files(form, tmp_path):
    pytest.importorskip("skops")
    ranker, (X, _, qid) = fitted(FIRST, form=form), problem(form)
    save_model(ranker, tmp_path / "model.skops")
    twin = load_model(tmp_path / "model.skops")
    assert twin._compiled.is_of(twin)
    np.testing.assert_array_equal(twin.predict(X, qid), ranker.predict(X, qid))
    np.testing.assert_array_equal(of_members(twin, X, qid), of_members(ranker, X, qid))
    before = len(pickle.dumps(fitted(FIRST, form=form, name="without logarithms")))
    assert len(pickle.dumps(ranker)) < before + 40_000


def test_trees_that_begin_at_a_ranker():
    few = boosted(FIRST, n_estimators=3, start=NDCGRanker())
    X, _, qid = made_queries(40, seed=0)
    y = np.digitize(X @ [2.0, 1.0, 1.0, 0.5, 0.5, 0.0], [-1, 1, 3])
    with recipe("in query"):
        ranker = TabularRanker(trees=few, n_jobs=1).fit(X, y, qid)
    ranker.weights_[:] = 1.0
    assert ranker.boosted_.by_targets[-1].start_.n_features_in_ == X.shape[1]
    parts, scores = ranker.contributions(X, qid), ranker.predict(X, qid)
    np.testing.assert_allclose(parts.sum(axis=1), scores, rtol=0, atol=1e-9)


def test_other_scalers_are_asked_themselves():
    X, y, qid = arrays()
    pipe = make_query_pipeline(QueryScaler("rank", append=True), boosted(FIRST, n_estimators=5))
    stack = StackingRanker([("trees", pipe)]).fit(X, y, qid)
    assert stack._compiled is None
    assert scorer_of(stack.rankers_[0]) is None
    parts = stack.contributions(X, qid)
    np.testing.assert_allclose(parts.sum(axis=1), stack.predict(X, qid), rtol=0, atol=1e-9)
    assert stack.feature_importances_.shape == (X.shape[1],)


def test_a_member_is_a_scorer_of_its_own():
    ranker = fitted(FIRST)
    pipe = ranker.named_rankers_["by_targets"]
    for member in (pipe, pipe[-1]):
        scorer = scorer_of(member)
        matrix = ranker.encoder_.transform(TABLE)
        queries = ranker._check_rows(TABLE, QID, "predict").queries
        scores = scorer.scores(matrix, queries, [1])
        np.testing.assert_allclose(scores, pipe.predict(TABLE, QID), rtol=1e-12)
        assert to_json(member)
    with pytest.raises(ValueError, match="sees one document at a time"):
        to_elasticsearch(pipe[-1], "trees")


def test_a_member_that_appends_columns_takes_what_the_stack_takes():
    X, y, qid = load_digits_queries(n_queries=40, n_documents=10)
    trees = make_query_pipeline(QueryScaler(append=True), boosted("sklearn"))
    members = [("trees", trees), ("linear", NDCGRanker())]
    stack = StackingRanker(members).fit(X, y, qid)
    frame = pd.DataFrame(X)
    np.testing.assert_allclose(stack.predict(frame, qid), stack.predict(X, qid), atol=1e-14)
    member = stack.named_rankers_.trees
    np.testing.assert_array_equal(member.predict(frame, qid), member.predict(X, qid))
    StackingRanker(members).fit(X, y, qid, eval_set=(X, 4 - y, qid + 100))
