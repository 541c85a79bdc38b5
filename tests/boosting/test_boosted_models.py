"""Several models of boosted trees, and scores of rows that they were not trained on."""

import numpy as np
import pytest
from boosting_cases import (
    ENGINES,
    FIRST,
    boosted,
    made_queries,
    pickled,
)
from cases import holds_generator
from checks import check_all, every_estimator
from sklearn.base import clone

from skcalrank import NDCGRanker, trees
from skcalrank.data import Queries, Rows
from skcalrank.inspection import explain_order
from skcalrank.metrics import measure_score
from skcalrank.persistence import load_model, save_model

every_engine = pytest.mark.parametrize("engine", ENGINES)
SQUARES = {"loss": "pairwise_squared", "targets": "grades", "query_weight": "documents"}
LISTS = ["booster_", "best_iteration_", "validation_scores_", "start_", "start_scale_"]


@pytest.fixture(scope="module")
def data():
    return made_queries(20, seed=0)


def within(scores, qid):
    """Scores centered within queries."""
    return scores - (np.bincount(qid, scores) / np.bincount(qid))[qid]


def spread_of(scores, qid):
    return np.sqrt(np.mean(within(scores, qid) ** 2))


@pytest.mark.long
@every_estimator([boosted(FIRST, n_models=2, n_estimators=2)])
@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
@pytest.mark.filterwarnings("ignore:Trees found no split")
def test_estimator_checks(estimator):
    check_all(estimator)


# -- what is summed --------------------------------------------------------------------------


@every_engine
def test_two_models_are_the_ranker_and_squares_of_the_grades(engine, data):
    X, y, qid = data
    held = qid >= 15
    valid = X[held], y[held], qid[held]
    train = X[~held], y[~held], qid[~held]
    ranker = boosted(engine, n_models=2).fit(*train, eval_set=valid)
    alone = [boosted(engine, **params).fit(*train, eval_set=valid) for params in ({}, SQUARES)]
    scores = [each.predict(X) for each in alone]
    spreads = [spread_of(each[~held], qid[~held]) for each in scores]
    np.testing.assert_allclose(ranker.model_weights_, 1 / np.array(spreads), rtol=1e-9)
    expected = sum(each / spread for each, spread in zip(scores, spreads))
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-9)
    assert ranker.best_iteration_ == [each.best_iteration_ for each in alone]


def test_one_model_is_as_it_was_and_others_are_lists(data):
    one, three = (boosted(FIRST, n_models=n).fit(*data) for n in (1, 3))
    assert one.model_weights_.tolist() == [1.0]
    assert three.model_weights_.shape == (3,)
    for name in LISTS:
        assert not isinstance(getattr(one, name), list)
        assert len(getattr(three, name)) == 3
    np.testing.assert_array_equal(three.validation_scores_[0], one.validation_scores_)
    assert three.feature_importances_.sum() == pytest.approx(1)


@every_engine
@pytest.mark.parametrize("random_state", [None, 3])
def test_every_query_trains_one_of_the_models(engine, random_state, data, monkeypatch):
    X, y, qid = data
    seen = []

    def begin(self, engine, task):
        seen.append((task.train.X[:, 0], task.valid.X[:, 0]))
        original(self, engine, task)

    growing = trees.ENGINES[engine].growing
    original = growing.__init__
    monkeypatch.setattr(growing, "__init__", begin)
    boosted(engine, n_models=2, n_estimators=1, random_state=random_state).fit(X, y, qid)
    trained, held = ([set(qid[np.isin(X[:, 0], each)]) for each in parts] for parts in zip(*seen))
    assert [len(each) for each in held] == [4, 4]
    assert not held[0] & held[1]
    assert trained == [set(qid) - each for each in held]


def test_folds_begin_again_where_queries_end(data):
    X, y, qid = data
    ranker = boosted(FIRST, n_models=3, n_estimators=3, validation_fraction=0.5).fit(X, y, qid)
    first, second, third = (scores.tolist() for scores in ranker.validation_scores_)
    assert first == third != second


@every_engine
def test_without_validation_all_rounds_of_all_models_are_kept(engine, data):
    ranker = boosted(engine, n_models=2, n_estimators=4, validation_fraction=None).fit(*data)
    assert ranker.best_iteration_ == [4, 4]
    assert [len(scores) for scores in ranker.validation_scores_] == [0, 0]


@pytest.mark.parametrize("loss", ["lambdarank", "rank:ndcg"])
def test_objectives_of_the_engines_are_every_other_model(loss, data):
    engine = "xgboost" if ":" in loss else "lightgbm"
    pytest.importorskip(engine)
    X, y, qid = data
    ranker = boosted(None, loss=loss, n_models=2).fit(X, y, qid)
    alone = boosted(None, loss=loss).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.validation_scores_[0], alone.validation_scores_)
    scores = ranker.predict(X) - ranker.model_weights_[0] * alone.predict(X)
    assert spread_of(scores, qid) == pytest.approx(1)


def test_options_that_break_one_of_the_models_are_refused(data):
    options = {"bagging_by_query": True}
    ranker = boosted("lightgbm", loss="lambdarank", subsample=0.5, engine_params=options)
    ranker.set_params(n_estimators=1).fit(*data)
    with pytest.raises(ValueError, match="bagging_by_query must be False"):
        ranker.set_params(n_models=2).fit(*data)


def test_a_measure_without_targets_is_boosted_by_an_objective_and_the_grades(data):
    pytest.importorskip("lightgbm")
    X, y, qid = data
    ranker = boosted("lightgbm", measure="mrr", loss="lambdarank", n_models=2)
    assert ranker.fit(X, y > 2, qid).score(X, y > 2, qid) > 0.6


@every_engine
def test_order_of_rows_and_types_of_names_do_not_matter(engine, data, rng):
    X, y, qid = data
    given = {"n_models": 2, "random_state": 1, "n_estimators": 10}
    ranker = boosted(engine, **given).fit(X, y, qid)
    order = rng.permutation(len(y))
    other = boosted(engine, **given).fit(X[order], y[order], qid[order].tolist())
    np.testing.assert_allclose(other.predict(X), ranker.predict(X), rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore:Trees found no split")
def test_models_that_learn_nothing_do_not_drown_the_others(data):
    X, y, qid = data
    ranker = boosted(FIRST, n_models=2, min_samples_leaf=10**6).fit(X, y, qid)
    assert ranker.model_weights_.tolist() == [1.0, 1.0]
    assert np.ptp(ranker.predict(X)) == 0


def test_rows_without_weight_have_no_say_in_the_spread(data):
    X, y, qid = data
    weight = (qid % 3 > 0).astype(float)
    ranker = boosted(FIRST, n_models=2).fit(X, y, qid, sample_weight=weight)
    kept, engine = weight > 0, trees.ENGINES[ranker.engine_]
    scores = [engine.predict(booster, X[kept], [], 1) for booster in ranker.booster_]
    codes = np.unique(qid[kept], return_inverse=True)[1]
    expected = [1 / spread_of(values, codes) for values in scores]
    np.testing.assert_allclose(ranker.model_weights_, expected, rtol=1e-6)


def test_lines_name_the_model(data, capsys):
    boosted(FIRST, n_models=2, n_estimators=2, verbose=2).fit(*data)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:24] for line in lines] == [f"model {n} round 2  ndcg@10" for n in (1, 2)]


# -- copies, files and parts ------------------------------------------------------------------


@every_engine
@holds_generator
def test_copies_and_files_predict_the_same(engine, data, tmp_path):
    pytest.importorskip("skops")
    X, y, qid = data
    ranker = boosted(engine, n_models=2, n_estimators=5, start=NDCGRanker()).fit(X, y, qid)
    np.testing.assert_array_equal(pickled(ranker).predict(X), ranker.predict(X))
    np.testing.assert_array_equal(clone(ranker).fit(X, y, qid).predict(X), ranker.predict(X))
    save_model(ranker, tmp_path / "trees.skops")
    twin = load_model(tmp_path / "trees.skops")
    np.testing.assert_array_equal(twin.predict(X), ranker.predict(X))
    assert twin.best_iteration_ == ranker.best_iteration_


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("start", [None, NDCGRanker()], ids=["trees", "start"])
def test_contributions_sum_to_the_scores(engine, start, data):
    X, y, qid = data
    ranker = boosted(engine, n_models=2, start=start).fit(X, y, qid)
    scores = ranker.predict(X)
    np.testing.assert_allclose(ranker.contributions(X).sum(axis=1), scores, atol=1e-4)
    found = explain_order(ranker, X, 3, 1, qid=qid)
    assert found.total == pytest.approx(scores[3] - scores[1], abs=1e-4)


# -- scores of rows that were held out ---------------------------------------------------------


def folds_of(qid, n_folds):
    """Folds: every second query trains every model, the others are held out in turn."""
    return np.where(qid % 2, -1, qid // 2 % n_folds)


def scores_of_held_out(ranker, X, y, qid, folds):
    return ranker._fit_held_out(Rows(X, y, Queries.from_qid(qid), named=True), folds, False)


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("n_models", [1, 2])
def test_held_out_rows_are_scored_by_the_model_that_stopped_on_them(engine, n_models, data, rng):
    X, y, qid = data
    order = rng.permutation(len(y))
    X, y, qid = X[order], y[order], qid[order]
    folds = folds_of(qid, 3)
    ranker = boosted(engine, n_models=n_models, start=NDCGRanker())
    scores = scores_of_held_out(ranker, X, y, qid, folds)
    np.testing.assert_array_equal(np.isnan(scores), folds < 0)
    of_models = [ranker.validation_scores_] if n_models == 1 else ranker.validation_scores_
    for number, of_rounds in enumerate(of_models):
        held = np.minimum(folds, n_models - 1) == number
        found = measure_score("ndcg@10", y[held], scores[held], qid=qid[held])
        assert found == pytest.approx(of_rounds.max(), abs=1e-9)
    kept = np.isfinite(scores)
    ratio = spread_of(scores[kept], qid[kept] // 2) / spread_of(ranker.predict(X), qid)
    assert 0.5 < ratio < 2


def test_held_out_rows_do_not_train_the_model_that_scores_them(data):
    X, y, qid = data
    folds = folds_of(qid, 2)
    twisted = np.where(folds == 1, 3 - y, y)
    given = {"n_models": 2, "n_estimators": 5, "validation_fraction": None}
    rankers = [boosted(FIRST, **given) for _ in range(2)]
    scores = [scores_of_held_out(r, X, t, qid, folds) for r, t in zip(rankers, (y, twisted))]
    first, second = ([s[folds == fold] for s in scores] for fold in (0, 1))
    np.testing.assert_allclose(np.corrcoef(*second)[0, 1], 1)
    assert np.corrcoef(*first)[0, 1] < 0.99


def test_one_model_gives_the_scores_that_it_predicts(data):
    X, y, qid = data
    folds = folds_of(qid, 1)
    ranker = boosted(FIRST, random_state=0)
    scores = scores_of_held_out(ranker, X, y, qid, folds)
    np.testing.assert_array_equal(scores[folds == 0], ranker.predict(X)[folds == 0])
    train, test = folds < 0, folds == 0
    twin = boosted(FIRST, random_state=0)
    twin.fit(X[train], y[train], qid[train], eval_set=(X[test], y[test], qid[test]))
    np.testing.assert_allclose(twin.predict(X), ranker.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (lambda qid: qid * 0 - 1, "must leave rows both to train on"),
        (lambda qid: qid * 0, "rows both to train on"),
    ],
)
def test_folds_that_are_none_are_refused(folds, message, data):
    X, y, qid = data
    ranker = boosted(FIRST, n_models=2)
    with pytest.raises(ValueError, match=message):
        scores_of_held_out(ranker, X, y, qid, folds(qid))
    assert not hasattr(ranker, "n_features_in_")
