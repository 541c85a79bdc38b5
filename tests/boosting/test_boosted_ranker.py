"""Boosted trees as a ranker: what it boosts, when it stops, what it refuses."""

import inspect
import re
import sys

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, made_queries, pickled
from cases import make_data
from checks import check_all, every_estimator
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from skcalrank import (
    BoostedRanker,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    get_scorer,
    make_label_ranking,
    trees,
)
from skcalrank.boosting import lightgbm_objective
from skcalrank.data import MissingQidError, OneQueryWarning, check, limits
from skcalrank.losses import LOSSES, Logistic
from skcalrank.measures import AveragePrecision
from skcalrank.metrics import measure_score

every_engine = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(scope="module")
def data():
    return made_queries(40, seed=0)


@pytest.mark.long
@every_estimator([boosted(engine, n_estimators=10, n_iter_no_change=3) for engine in ENGINES])
@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
@pytest.mark.filterwarnings("ignore:Trees found no split")
def test_estimator_checks(estimator):
    check_all(estimator)


# -- when it stops ---------------------------------------------------------------------------


@every_engine
def test_the_round_that_is_best_on_the_validation_queries_is_kept(engine, data):
    X, y, qid = data
    held = qid >= 30
    ranker = boosted(engine)
    ranker.fit(X[~held], y[~held], qid[~held], eval_set=(X[held], y[held], qid[held]))
    scores = ranker.validation_scores_
    assert ranker.best_iteration_ == scores.argmax() + 1
    assert len(scores) == ranker.best_iteration_ + ranker.n_iter_no_change
    found = measure_score("ndcg@10", y[held], ranker.predict(X[held]), qid=qid[held])
    assert found == pytest.approx(scores.max(), abs=1e-12)
    assert ranker.engine_ == engine


@every_engine
def test_queries_are_held_out_whole(engine, data, monkeypatch):
    X, y, qid = data
    seen = {}

    def start(*args):
        seen["train"], seen["valid"] = args[2].train.X[:, 0], args[2].valid.X[:, 0]
        raise KeyboardInterrupt

    monkeypatch.setattr(trees.ENGINES[engine].growing, "__init__", start)
    for random_state in (None, 3):
        with pytest.raises(KeyboardInterrupt):
            boosted(engine, random_state=random_state).fit(X, y, qid)
        trained, held = (set(qid[np.isin(X[:, 0], seen[part])]) for part in ("train", "valid"))
        assert not trained & held
        assert len(held) == 8
        assert len(seen["train"]) + len(seen["valid"]) == len(y)


@pytest.mark.product
@every_engine
@pytest.mark.parametrize(
    "params", [{}, {"random_state": 1}, {"start": NDCGRanker()}], ids=["default", "drawn", "start"]
)
def test_order_of_rows_and_types_of_names_do_not_matter(engine, params, data, rng):
    X, y, qid = data
    names = [("query", int(q)) for q in qid]
    ranker = boosted(engine, **params).fit(X, y, names)
    order = rng.permutation(len(y))
    others = [("query", q) for q in qid[order]]
    other = boosted(engine, **params).fit(X[order], y[order], others)
    np.testing.assert_allclose(other.predict(X), ranker.predict(X), rtol=1e-9, atol=1e-12)
    assert other.best_iteration_ == ranker.best_iteration_


def test_other_seeds_hold_out_other_queries(data):
    fits = [boosted("lightgbm", random_state=seed).fit(*data) for seed in (0, 0, 1)]
    scores = [ranker.validation_scores_.tolist() for ranker in fits]
    assert scores[0] == scores[1] != scores[2]


@every_engine
@pytest.mark.parametrize("fraction", [None, 0])
def test_without_validation_all_rounds_are_kept(engine, fraction, data):
    ranker = boosted(engine, n_estimators=4, validation_fraction=fraction).fit(*data)
    assert ranker.best_iteration_ == 4
    assert ranker.validation_scores_.shape == (0,)


@every_engine
def test_validation_queries_without_relevant_documents_are_told(engine, data):
    X, y, qid = data
    ranker = boosted(engine)
    with pytest.warns(UndefinedMetricWarning, match="the first round is kept"):
        ranker.fit(X, y, qid, eval_set=(X[:15], np.zeros(15), [f"other {q}" for q in qid[:15]]))
    assert ranker.best_iteration_ == 1
    assert np.isnan(ranker.validation_scores_).all()


def test_a_query_that_tells_rankings_apart_is_held_out(data):
    X, y, qid = data
    y = np.where(qid < 2, y, 0)
    ranker = boosted("lightgbm").fit(X, y, qid)
    assert not np.isnan(ranker.validation_scores_).any()


def test_queries_of_equal_labels_tell_no_rankings_apart(data):
    X, y, qid = data
    y = np.where(qid < 2, np.arange(len(y)) % 3, 1)
    for seed in range(9):
        scores = boosted("lightgbm", random_state=seed).fit(X, y, qid).validation_scores_
        # Every order of equal labels has an NDCG of 1.
        assert scores.min() < 1


def test_documents_of_the_only_query_are_held_out(data):
    X, y, _ = data
    ranker = boosted("lightgbm").fit(X[:200], y[:200], np.zeros(200))
    assert len(ranker.validation_scores_)
    with pytest.warns(OneQueryWarning):
        boosted("lightgbm").fit(X[:200], y[:200])


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match=r"n_samples=1 rows must leave rows both to train on"):
        boosted("lightgbm").fit([[0.0]], [1], [0])


def test_rounds_are_printed(data, capsys):
    boosted("lightgbm", n_estimators=4, verbose=2).fit(*data)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:16] for line in lines] == ["round 2  ndcg@10", "round 4  ndcg@10"]


# -- what it boosts --------------------------------------------------------------------------


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns(engine, loss, data):
    X, y, qid = data
    ranker = boosted(engine, loss=loss).fit(X, y, qid)
    assert ranker.score(X, y, qid) > measure_score("ndcg@10", y, np.zeros(len(y)), qid=qid) + 0.1


@pytest.mark.parametrize(
    "loss", ["lambdarank", "rank_xendcg", "rank:ndcg", "rank:pairwise", "rank:map"]
)
def test_objectives_of_the_engines_are_losses(loss, data):
    X, y, qid = data
    engine = "xgboost" if ":" in loss else "lightgbm"
    pytest.importorskip(engine)
    measure = AveragePrecision(relevance_level=2) if loss == "rank:map" else "ndcg@10"
    ranker = boosted(None, measure=measure, loss=loss).fit(X, y, qid)
    assert ranker.engine_ == engine
    assert ranker.score(X, y, qid) > measure_score(measure, y, np.zeros(len(y)), qid=qid)
    other = {"lightgbm": "xgboost", "xgboost": "lightgbm"}[engine]
    with pytest.raises(ValueError, match=rf"engine must be '{engine}' .* Set engine='{engine}'"):
        boosted(other, loss=loss).fit(X, y, qid)


def test_lambdarank_is_that_of_lightgbm(data, monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = data
    ranker, seen = boosted(None, loss="lambdarank", n_estimators=8, validation_fraction=None), []
    growing = trees.ENGINES["lightgbm"].growing
    begin = growing.__init__
    monkeypatch.setattr(
        growing, "__init__", lambda *args: seen.append(args[2].train) or begin(*args)
    )
    ranker.fit(X, y, qid)
    params = {"num_leaves": 15, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
    # Where scores are equal, it depends on the order of the rows.
    (rows,) = seen
    theirs = lightgbm.LGBMRanker(n_estimators=8, **params)
    theirs.fit(rows.X, rows.y, group=rows.queries.sizes)
    np.testing.assert_allclose(ranker.predict(X), theirs.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("targets", "measure"), [("measure", {}), ("separable", {"measure": "dcg"})]
)
def test_targets_are_those_of_the_objectives(targets, measure, data):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = data
    given = {"loss": "squared", "query_weight": None, "n_estimators": 5}
    ranker = boosted("lightgbm", targets=targets, validation_fraction=None, **given).fit(X, y, qid)
    objective = lightgbm_objective(**{"measure": "ndcg@10"} | measure, loss="squared")
    trees = lightgbm.LGBMRanker(
        objective=objective, n_estimators=5, num_leaves=15, min_child_samples=5, verbose=-1
    ).fit(X, y, group=np.bincount(qid))
    np.testing.assert_allclose(ranker.predict(X), trees.predict(X), rtol=1e-4, atol=1e-6)


def test_grades_are_the_labels_that_the_measure_reads(data):
    given = {"loss": "squared", "n_estimators": 5, "validation_fraction": None}
    grades = boosted("lightgbm", targets="grades", **given).fit(*data)
    linear = boosted("lightgbm", **given)
    linear.set_params(measure=lightgbm_objective("dcg", gain="linear").measure).fit(*data)
    np.testing.assert_allclose(grades.predict(data[0]), linear.predict(data[0]))


@every_engine
def test_the_unit_of_targets_and_weights_does_not_matter(engine, data):
    X, y, qid = data
    given = {"measure": "spearman", "validation_fraction": None}
    one = boosted(engine, **given).fit(X, y, qid)
    # A power of two, and the order of the rows that comes with it.
    two = boosted(engine, **given).fit(X, y, qid, sample_weight=np.full(len(y), 2.0**-20))
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-3, atol=1e-4)


@every_engine
def test_weights_of_any_size_are_their_shares(engine, data):
    X, y, qid = data
    weight = 1.0 + qid % 3
    expected = boosted(engine).fit(X, y, qid, sample_weight=weight).predict(X)
    for power in (-140, -930, 140, 930):  # beyond single precision, and almost beyond double
        found = boosted(engine).fit(X, y, qid, sample_weight=np.ldexp(weight, power)).predict(X)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_any_size_are_their_shares_for_every_loss(loss, data):
    X, y, qid = data
    settings = {"measure": "dcg", "loss": loss, "n_estimators": 2, "validation_fraction": None}
    weights = (np.ldexp(1.0 + qid % 3, power) for power in (0, -930, 930))
    fits = (boosted(FIRST, **settings).fit(X, y, qid, sample_weight=weight) for weight in weights)
    expected, *found = (ranker.predict(X) for ranker in fits)
    np.testing.assert_allclose(found, [expected] * 2, rtol=1e-12, atol=1e-12)


@pytest.mark.every_case
@pytest.mark.parametrize("loss", ["lambdarank", "rank:ndcg"])
def test_objectives_of_engines_take_weights_of_single_precision(loss, data):
    X, y, qid = data
    engine = "xgboost" if ":" in loss else "lightgbm"
    pytest.importorskip(engine)
    ranker = boosted(engine, loss=loss)
    for size in (1e-40, 1e40):
        words = re.escape(f"must be between 1e-31 and 1e+31 for '{loss}', ")
        with pytest.raises(ValueError, match=f"largest sample_weight {words}"):
            ranker.fit(X, y, qid, sample_weight=size * (1.0 + qid % 3))


@every_engine
def test_weights_count(engine, data):
    X, y, qid = data
    weight = np.where(qid % 2, 1.0, 1e-9)
    ranker = boosted(engine).fit(X, y, qid, sample_weight=weight)
    odd = qid % 2 == 1
    assert ranker.score(X[odd], y[odd], qid[odd]) > ranker.score(X[~odd], y[~odd], qid[~odd])


def test_xgboosts_objectives_take_weights_of_queries(data):
    pytest.importorskip("xgboost")
    X, y, qid = data
    ranker = boosted("xgboost", loss="rank:ndcg")
    ranker.fit(X, y, qid, sample_weight=1.0 + qid)
    with pytest.raises(ValueError, match="must be constant within each query"):
        ranker.fit(X, y, qid, sample_weight=1.0 + np.arange(len(y)))


# -- a start ---------------------------------------------------------------------------------


def linear_queries():
    X, _, qid = made_queries(60, seed=0)
    noise = np.random.default_rng(1).normal(size=len(X))
    return X, np.digitize(X[:, :4].sum(axis=1) + noise, [0.0, 2.0, 3.0]), qid


@every_engine
def test_trees_begin_at_a_start_that_helps(engine):
    X, y, qid = linear_queries()
    without = boosted(engine).fit(X, y, qid)
    ranker = boosted(engine, start=NDCGRanker()).fit(X, y, qid)
    assert ranker.validation_scores_.max() > without.validation_scores_.max()
    assert ranker.start_scale_ > 0
    trees = ranker.predict(X) - ranker.start_scale_ * ranker.start_.predict(X)
    assert np.ptp(trees) > 0
    assert not hasattr(ranker.start, "estimator_")


def test_a_start_that_does_not_help_is_off(data):
    X, y, qid = data
    without = boosted("lightgbm").fit(X, y, qid)
    ranker = boosted("lightgbm", start=Reversed()).fit(X, y, qid)
    assert ranker.start_ is None
    assert ranker.start_scale_ == 0
    np.testing.assert_array_equal(ranker.predict(X), without.predict(X))


class Reversed(NDCGRanker):
    """A ranker with reversed scores."""

    def predict(self, X, qid=None):
        return -super().predict(X, qid)


# -- refusals --------------------------------------------------------------------------------


REFUSED = [
    ({"loss": "lambdarank", "targets": "grades"}, r"targets='grades' has no effect with loss='"),
    ({"loss": "lambdarank", "query_weight": None}, r"query_weight=None has no effect with loss="),
    ({"loss": "nonsense"}, r"Unknown loss 'nonsense': .* rank_xendcg"),
    ({"loss": "LambdaRank"}, r"Unknown loss 'LambdaRank' \(did you mean 'lambdarank'\?\)"),
    ({"measure": "kendall"}, r"must have targets of single documents .* got kendall"),
    ({"start": NDCGRanker}, r"start must be a ranker.*NDCGRanker"),
    ({"start": 3}, r"start must be a ranker.* got 3"),
    ({"start": NDCGRanker(), "validation_fraction": 0}, r"start=.* needs validation queries"),
    ({"targets": "separable", "measure": "spearman"}, r"spearman', which has no separable"),
]
OPTIONS = [
    ("lightgbm", {"num_leaves": 3}, {}, r"not contain 'num_leaves': set max_leaf_nodes="),
    ("lightgbm", {"eta": 3}, {}, r"set learning_rate="),
    ("lightgbm", {"objective": "l2"}, {}, r"set loss="),
    ("lightgbm", {"metric": "ndcg"}, {}, r"set measure="),
    ("xgboost", {"eta": 3}, {}, r"set learning_rate="),
    ("xgboost", {"seed": 3}, {}, r"set random_state="),
    ("lightgbm", {"bagging_by_query": True}, {}, r"bagging_by_query must be False .*wrong rows"),
    ("lightgbm", {"boosting": "rf"}, {}, r"boosting='rf': a random forest does not boost"),
    ("lightgbm", {"boosting": "dart"}, {}, r"boosting='dart': later rounds change"),
    ("xgboost", {"booster": "dart"}, {}, r"booster='dart': later rounds change"),
    ("xgboost", {"booster": "gblinear"}, {}, r"booster='gblinear': it grows no trees"),
    ("lightgbm", {"categorical_feature": [0]}, {}, r"set columns="),
    ("xgboost", {"lambdarank_num_pair_per_sample": 1}, {}, r"xgboost does not read"),
    (
        "lightgbm",
        {"feature_fractoin": 0.5},
        {},
        r"'feature_fractoin', which lightgbm does",
    ),
    ("lightgbm", {"subsampl": 1, "top": "a"}, {}, r"'subsampl', 'top', which"),
    ("lightgbm", {"lambda_l3": 1.0}, {"loss": "lambdarank"}, r"'lambda_l3'"),
    ("xgboost", {"max_bins": 9}, {}, r"'max_bins', which xgboost does not read"),
    ("xgboost", {"num_leaves": 9}, {}, r"xgboost does not read: did you mean max_leaf_nodes="),
    ("sklearn", {"rsm": 0.5}, {}, r"sklearn does not read: did you mean max_features="),
    ("xgboost", {"rate_drop": 0.5}, {"loss": "rank:ndcg"}, r"rate_drop=0.5: later rounds change"),
    ("sklearn", {"min_samples": 5}, {}, r"'min_samples', which sklearn does not read"),
    ("sklearn", {"max_iter": 5}, {}, r"set n_estimators="),
    ("sklearn", {"early_stopping": True}, {}, r"set n_iter_no_change="),
]


@pytest.mark.parametrize(("params", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_parameters_that_contradict_each_other(params, message, data):
    ranker = boosted("lightgbm", **params)
    with pytest.raises(ValueError, match=message):
        ranker.fit(*data)
    assert not hasattr(ranker, "n_features_in_")


@pytest.mark.parametrize(
    ("engine", "given", "params", "message"), OPTIONS, ids=[str(o[:2]) for o in OPTIONS]
)
def test_options_that_collide_or_break_are_refused(engine, given, params, message, data):
    pytest.importorskip(engine)
    with pytest.raises(ValueError, match=message):
        BoostedRanker(engine=engine, engine_params=given, **params).fit(*data)


@pytest.mark.parametrize(
    ("engine", "given", "params"),
    [
        ("lightgbm", {"data_sample_strategy": "goss"}, {}),
        ("lightgbm", {"bagging_freq": 2}, {"subsample": 0.5}),
        ("lightgbm", {"boosting": "dart"}, {"validation_fraction": None}),
        ("lightgbm", {"lambdarank_truncation_level": 5}, {"loss": "lambdarank"}),
        ("lightgbm", {"sub_feature": 0.5, "reg_alpha": 2.0, "sparse": True}, {}),
        ("xgboost", {"colsample_bytree": 0.5, "alpha": 2.0}, {}),
        ("sklearn", {"max_depth": 2}, {}),
        ("xgboost", {"booster": "dart", "rate_drop": 0.5}, {"validation_fraction": None}),
        ("xgboost", {"ndcg_exp_gain": False}, {"loss": "rank:ndcg"}),
    ],
)
def test_other_options_reach_the_engine(engine, given, params, data):
    pytest.importorskip(engine)
    X, y, qid = data
    plain = BoostedRanker(engine=engine, n_estimators=20, n_jobs=1, **params).fit(X, y, qid)
    ranker = clone(plain).set_params(engine_params=given).fit(X, y, qid)
    assert not np.array_equal(ranker.predict(X), plain.predict(X))
    assert ranker.score(X, y, qid) > measure_score("ndcg@10", y, np.zeros(len(y)), qid=qid)


NONSENSE = ["nonsense", -3, [1, 2], object(), float("nan")]


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", inspect.signature(BoostedRanker).parameters)
def test_nonsense_is_refused_by_name(name, value):
    X, y, qid = made_queries(8, seed=0)
    pytest.importorskip(FIRST)
    ranker = BoostedRanker(**{"n_estimators": 3, name: value})
    if (name, value) == ("n_jobs", -3):
        check.params(ranker)
        return
    with pytest.raises((ValueError, TypeError), match=rf"{name}|Unknown {name}"):
        ranker.fit(X, y, qid)


def test_parameters_are_declared_and_documented():
    names = set(inspect.signature(BoostedRanker).parameters)
    assert set(limits.of_class(BoostedRanker)) == names
    block = inspect.getdoc(BoostedRanker).partition("Parameters\n----------\n")[2]
    block = block.partition("Attributes\n----------")[0]
    assert set(re.findall(r"^(\w+) :", block, flags=re.M)) == names


def test_grades_that_an_objective_does_not_take(data):
    X, y, qid = data
    with pytest.raises(ValueError, match=r"whole grades from 0 to 30 .* got 0\.5"):
        boosted("lightgbm", loss="lambdarank").fit(X, y + 0.5, qid)


def test_the_label_ranking_form_is_refused():
    X, Y = make_label_ranking(n_samples=20, random_state=0)[:2]
    with pytest.raises(ValueError, match="the label-ranking form"):
        boosted("lightgbm", measure="spearman").fit(X, Y)


def test_without_a_library_the_trees_are_those_of_scikit_learn(data, monkeypatch):
    monkeypatch.setattr("skcalrank.trees._library.find_spec", lambda _: None)
    ranker = BoostedRanker(n_estimators=3).fit(*data)
    assert ranker.engine_ == "sklearn"
    assert isinstance(ranker.booster_, HistGradientBoostingRegressor)


def test_a_library_that_is_not_installed_is_told(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match="engine='xgboost' needs xgboost: pip install xgboost"):
        BoostedRanker(engine="xgboost").fit(*data)


# -- as other rankers ------------------------------------------------------------------------


def test_a_fit_that_fails_changes_nothing(data):
    X, y, qid = data
    ranker = boosted("lightgbm").fit(X, y, qid)
    before = dict(vars(ranker))
    for bad in ((X[:, :2], y - 9, qid), (X, y, qid[:-1]), (X, y + np.inf, qid)):
        with pytest.raises(ValueError, match=r"."):
            ranker.fit(*bad)
        assert vars(ranker) == before
    ranker.set_params(loss="nonsense")
    with pytest.raises(ValueError, match="Unknown loss"):
        ranker.fit(X[:, :2], y, qid)
    assert ranker.n_features_in_ == X.shape[1]


@every_engine
def test_copies_predict_the_same(engine, data):
    X, y, qid = data
    ranker = boosted(engine, loss=Logistic(), start=NDCGRanker()).fit(X, y, qid)
    np.testing.assert_array_equal(pickled(ranker).predict(X), ranker.predict(X))
    twin = clone(ranker)
    assert not hasattr(twin, "booster_")
    np.testing.assert_array_equal(twin.fit(X, y, qid).predict(X), ranker.predict(X))
    assert ranker.feature_importances_.sum() == pytest.approx(1)


def test_a_ranker_that_needs_a_qid_says_so(data):
    X, y, qid = data
    ranker = boosted("lightgbm").fit(X, RankingTarget(y, qid))
    for method in ("rank", "top_k"):
        with pytest.raises(MissingQidError):
            getattr(ranker, method)(X)
    assert ranker.score(X, RankingTarget(y, qid)) == ranker.score(X, y, qid)
    assert ranker.rank(X, qid).max() == np.bincount(qid).max()


def test_tools_of_scikit_learn_search_and_validate(data):
    X, y, qid = data
    target, folds = RankingTarget(y, qid), QueryKFold(3)
    search = GridSearchCV(
        boosted("lightgbm", n_iter_no_change=3),
        {"loss": ["pairwise_logistic", "lambdarank"]},
        cv=folds,
        scoring=get_scorer("ndcg@10"),
        error_score="raise",
    )
    scores = cross_val_score(search, X, target, cv=folds, scoring=get_scorer("ndcg@10"))
    assert (scores > 0.4).all()


def test_small_data_of_ragged_queries(rng):
    X, y, qid = make_data(rng)
    assert np.isfinite(boosted("lightgbm").fit(X, y, qid).score(X, y, qid))


@pytest.mark.parametrize("name", ["categorical_features_", "feature_importances_"])
def test_what_is_learned_is_asked_for_after_fit(name):
    with pytest.raises(NotFittedError, match="BoostedRanker instance is not fitted yet"):
        getattr(boosted(ENGINES[0]), name)
