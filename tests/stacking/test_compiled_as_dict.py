"""A compiled scorer that is written as plain types, and read again, gives the same scores."""

import json
from functools import cache

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, pickled
from exported import read_scorer
from tables import FORMS, labels, made_columns

from skcalrank import NDCGRanker, TabularRanker, load_digits_queries
from skcalrank.data import Queries
from skcalrank.stacking import scorer_of

COLUMNS = made_columns(160)
Y, QID = labels(COLUMNS)


def rows(seed=0, unseen=()):
    """The made table with a category of many levels, of which some rows have new ones."""
    rng = np.random.default_rng(seed)
    levels = [None if k < 2 else f"l{k**2 // 40}" for k in rng.integers(0, 40, 160)]
    for row in unseen:
        levels[row] = "new"
    brands = [("new" if row in unseen else value) for row, value in enumerate(COLUMNS["brand"])]
    return FORMS["records"]({**COLUMNS, "level": levels, "brand": brands})


@cache
def stack(trees, normalize="pooled"):
    few = trees and boosted(trees, n_estimators=8, min_samples_leaf=4)
    ranker = TabularRanker("ndcg@5", trees=few, normalize=normalize, n_jobs=1)
    ranker.fit(rows(), Y, QID)
    ranker.weights_ = np.ones(len(ranker.weights_))  # some member may have had none
    return pickled(ranker)


@cache
def trees_alone(engine, n_models=1):
    ranker = boosted(engine, n_models=n_models, min_samples_leaf=4)
    return ranker.fit(rows(), Y, QID)


def read_again(scorer):
    return read_scorer(json.loads(json.dumps(scorer.to_dict(), allow_nan=False)))


def scores_of(scorer, table, qid):
    matrix = table if scorer.encoder is None else scorer.encoder.transform(table)
    return scorer.scores(matrix, Queries.from_qid(qid), [None] * len(scorer.trees))


every_stack = pytest.mark.parametrize(
    ("trees", "normalize"),
    [(trees, "pooled") for trees in (*ENGINES, None)] + [(FIRST, "query"), (None, "query")],
)
NEW = range(0, 160, 7)


@every_stack
def test_a_stack_of_a_table(trees, normalize):
    ranker = stack(trees, normalize)
    scorer = read_again(scorer_of(ranker))
    for table, qid in [(rows(1, NEW), QID), (rows(1, NEW), np.arange(160)), (rows(), QID[::-1])]:
        expected = ranker.predict(table, qid)
        assert np.ptp(expected) > 0 or (normalize == "query" and len(set(qid)) == len(qid))
        np.testing.assert_allclose(scores_of(scorer, table, qid), expected, rtol=0, atol=1e-11)


@pytest.mark.product
@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_trees_alone(engine, n_models):
    ranker = trees_alone(engine, n_models)
    scorer = read_again(scorer_of(ranker))
    assert any(forest.codes for forest in scorer.trees[0].forests)
    table = rows(1, NEW)
    expected = ranker.predict(table)
    np.testing.assert_allclose(scores_of(scorer, table, QID), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_next_to_thresholds(engine):
    X, y, qid = load_digits_queries(n_queries=30, n_documents=10)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    X[::9] = np.nan
    ranker = boosted(engine).fit(X, y, qid)
    scorer = read_again(scorer_of(ranker))
    [forest] = scorer.trees[0].forests
    for number, threshold in zip(forest.features, forest.thresholds):
        X = X[:5].copy()
        X[:, number] = [
            threshold,
            *(np.nextafter(threshold, end) for end in (-9e9, 9e9)),
            0,
            np.nan,
        ]
        expected = ranker.predict(X)
        np.testing.assert_allclose(scores_of(scorer, X, np.zeros(5)), expected, atol=1e-12)


@every_stack
def test_what_is_written_is_what_was_read(trees, normalize):
    written = scorer_of(stack(trees, normalize)).to_dict()
    assert read_scorer(written).to_dict() == written


def test_an_encoder_that_is_read_again_refuses_what_the_first_refuses():
    encoder = stack(None).encoder_
    twin = read_again(scorer_of(stack(None))).encoder
    assert twin.describe() == encoder.describe()
    assert twin.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    table = rows()
    table[0]["price"] = "cheap"
    for reader in (encoder, twin):
        with pytest.raises(ValueError, match="'price' of X must hold numbers"):
            reader.transform(table)


def test_rankers_without_a_scorer():
    X, y, qid = load_digits_queries(n_queries=20, n_documents=8)
    started = boosted(FIRST, start=NDCGRanker(), n_estimators=2).fit(X, y, qid)
    assert started.start_scale_ > 0
    for ranker in (started, NDCGRanker().fit(X, y, qid)):
        assert scorer_of(ranker) is None
    stack_of_tables = pickled(stack(FIRST))
    member = stack_of_tables.named_rankers_["by_targets"]
    member.fit([{**row, "brand": row["title"]} for row in rows()], Y, QID)
    assert scorer_of(stack_of_tables) is None
    assert scorer_of(pickled(stack_of_tables)) is None  # it reads tables by an encoder of its own


def test_levels_that_share_a_bin():
    rng = np.random.default_rng(0)
    levels = rng.choice([*"ab", *map(str, range(20))], 400, p=[0.3, 0.3, *[0.02] * 20])
    table = [{"level": level, "x": x} for level, x in zip(levels, rng.normal(size=400))]
    y, qid = np.char.isdigit(levels) * 1.0, np.repeat(range(40), 10)
    ranker = boosted("sklearn", max_bins=3).fit(table, y, qid)
    scorer = read_again(scorer_of(ranker))
    assert max(map(len, scorer.trees[0].forests[0].codes.values())) >= 18
    np.testing.assert_allclose(scores_of(scorer, table, qid), ranker.predict(table), atol=1e-12)
