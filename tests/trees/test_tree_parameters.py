"""Parameters of the trees mean the same with each library."""

import inspect

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, made_queries
from engine_names import NAMES, names_of_lightgbm
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline

from skcalrank import BoostedRanker, QueryKFold, RankingTarget, TabularRanker
from skcalrank.trees import NAMES as TABLE
from skcalrank.trees import TREE_OPTIONS, Engine

every_engine = pytest.mark.parametrize("engine", ENGINES)


def boosted(engine, **params):
    """A ranker of a few rounds on all rows."""
    given = {"n_estimators": 6, "validation_fraction": None, "random_state": 0, "n_jobs": 1}
    return BoostedRanker(engine=engine, **given | params)


@pytest.fixture(scope="module")
def data():
    return made_queries(40, seed=0)


def scores(engine, data, **params):
    return boosted(engine, **params).fit(*data).predict(data[0])


# -- the table ----------------------------------------------------------------------------


def test_the_table_has_the_parameters_of_the_ranker():
    parameters = inspect.signature(BoostedRanker).parameters
    assert set(TREE_OPTIONS).union(*TABLE.values()) <= parameters.keys()


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        *((name, f"must set {name}, ") for name in ("growing", "objectives", "boosters")),
        ("name", r"must be one of \['lightgbm', .*, got ''"),
    ],
)
def test_an_engine_that_lacks_an_attribute_is_an_error(lacks, told):
    given = {"name": "xgboost", "growing": None, "objectives": (), "boosters": ()}
    type("Complete", (Engine,), given)
    with pytest.raises(TypeError, match=told):
        type("Lacking", (Engine,), {k: v for k, v in given.items() if k != lacks})


def test_no_name_is_that_of_two_parameters():
    for rows in TABLE.values():
        names = " ".join(rows.values()).split()
        assert len(names) == len(set(names))


def test_the_table_has_all_names_of_lightgbm():
    options = [set(names) for names in names_of_lightgbm().values()]
    for row in TABLE["lightgbm"].values():
        named = set(row.split())
        assert named == set().union(*(names for names in options if names & named))


@every_engine
def test_the_table_has_only_names_of_the_library(engine):
    listed = set(NAMES[engine]())
    if engine == "lightgbm":
        listed = listed.union(*NAMES[engine]().values())
    if engine == "xgboost":
        listed |= set(inspect.signature(pytest.importorskip("xgboost").train).parameters)
    assert set(" ".join(TABLE[engine].values()).split()) <= listed


@every_engine
@pytest.mark.parametrize("name", TREE_OPTIONS)
def test_a_library_refuses_its_own_names_of_a_parameter(engine, name):
    for option in TABLE[engine].get(name, "").split():
        with pytest.raises(ValueError, match=f"'{option}': set {name}=... of the ranker"):
            boosted(engine, engine_params={option: 1})._check_params()


DEFAULTS = {
    "lightgbm": {"min_samples_leaf": 20, "l2_regularization": 0.0, "max_bins": 255},
    "xgboost": {"min_samples_leaf": 1, "l2_regularization": 1.0, "max_bins": 256},
    "sklearn": {"min_samples_leaf": 20, "l2_regularization": 0.0, "max_bins": 255},
}


@every_engine
@pytest.mark.parametrize("loss", ["pairwise_logistic", "squared"])
def test_none_is_the_default_of_the_library(engine, loss, data):
    plain = scores(engine, data, loss=loss)
    same = {"max_features": 1.0, "subsample": 1.0, "monotonic_cst": [0] * 6}
    changed = scores(engine, data, loss=loss, **DEFAULTS[engine], **same)
    np.testing.assert_array_equal(changed, plain)


# -- what they mean -----------------------------------------------------------------------


@every_engine
def test_the_learning_rate_is_a_factor_of_the_first_tree(engine, data):
    one, half = (
        scores(engine, data, n_estimators=1, learning_rate=rate, loss="squared")
        for rate in (1.0, 0.5)
    )
    np.testing.assert_allclose(half - half.mean(), (one - one.mean()) / 2, atol=1e-6)


@every_engine
@pytest.mark.parametrize("n_leaves", [2, 5])
def test_a_tree_has_as_many_leaves_as_it_may(engine, n_leaves, data):
    values = scores(engine, data, n_estimators=1, max_leaf_nodes=n_leaves, min_samples_leaf=5)
    assert len(np.unique(values)) == n_leaves


@every_engine
@pytest.mark.parametrize("least", [60, 150])
def test_a_leaf_has_as_many_documents_as_it_must(engine, least, data):
    # With equal curvatures, as of squares, XGBoost counts documents too.
    given = {"n_estimators": 1, "loss": "squared", "query_weight": "documents"}
    values = scores(engine, data, min_samples_leaf=least, **given)
    counts = np.unique(values, return_counts=True)[1]
    assert counts.min() >= least
    assert len(counts) > 2


@every_engine
def test_l2_regularization_shrinks_in_units_of_documents(engine, data):
    given = {"n_estimators": 1, "loss": "squared", "max_leaf_nodes": 2, "learning_rate": 1.0}
    free, shrunk = (scores(engine, data, l2_regularization=l2, **given) for l2 in (0.0, 100.0))
    counts = np.unique(free, return_inverse=True, return_counts=True)
    size = counts[2][counts[1]]
    free, shrunk = (values - values.mean() for values in (free, shrunk))
    assert np.abs(shrunk).max() < np.abs(free).max()
    assert (size < 600).any()


@every_engine
def test_a_column_has_as_many_bins_as_it_may(engine, data):
    X, y, qid = data
    ranker = boosted(engine, max_bins=4, max_leaf_nodes=31, min_samples_leaf=1)
    values = ranker.fit(X[:, :1], y, qid).predict(X[:, :1])
    assert 2 <= len(np.unique(values)) <= 4


@every_engine
def test_splits_choose_from_a_share_of_the_features(engine, data):
    X, y, qid = data
    twice = np.column_stack([X[:, 0], X[:, 0] + 0.1 * X[:, 1], X[:, 2:]])
    all_of_them, one = (
        boosted(engine, max_features=share, n_estimators=30).fit(twice, y, qid)
        for share in (1.0, 0.2)
    )
    # Where a split draws one column, those without worth have more splits.
    assert one.feature_importances_.max() < all_of_them.feature_importances_.max()
    assert (one.feature_importances_ > 0).all()


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("name", ["max_features", "subsample"])
def test_what_is_drawn_depends_on_the_random_state(engine, name, data):
    def drawn(seed):
        return scores(engine, data, random_state=seed, **{name: 0.5})

    np.testing.assert_array_equal(drawn(0), drawn(0))
    assert not np.array_equal(drawn(0), drawn(1))
    np.testing.assert_array_equal(scores(engine, data), scores(engine, data, random_state=1))


@every_engine
@pytest.mark.filterwarnings("ignore:Trees found no split")
def test_a_tree_grows_on_a_share_of_the_documents(engine, data):
    _, y, qid = data
    column = (np.arange(len(y)) % 2).astype(float)[:, None]  # two leaves of 300 documents
    y = y + 3 * column[:, 0]
    ranker = boosted(engine, n_estimators=1, loss="squared", query_weight="documents")
    for least, n_leaves in [(130, 2), (170, 1)]:
        ranker.set_params(subsample=0.5, min_samples_leaf=least, max_leaf_nodes=2)
        assert len(np.unique(ranker.fit(column, y, qid).predict(column))) == n_leaves


@every_engine
def test_shares_of_documents_rank_about_as_well(engine, data):
    values = [
        boosted(engine, subsample=share, n_estimators=30).fit(*data).score(*data)
        for share in (0.5, 1.0)
    ]
    assert values[0] == pytest.approx(values[1], abs=0.05)


def test_lightgbm_reads_shares_with_its_own_options(data):
    pytest.importorskip("lightgbm")
    plain = scores("lightgbm", data, subsample=0.5)
    seldom = scores("lightgbm", data, subsample=0.5, engine_params={"subsample_freq": 3})
    assert not np.array_equal(seldom, plain)
    for name, value in [("bagging_freq", 0), ("subsample_freq", -1), ("boosting", "goss")]:
        ranker = boosted("lightgbm", subsample=0.5, engine_params={name: value})
        with pytest.raises(ValueError, match=rf"subsample must be None .*'{name}'\]={value!r}"):
            ranker.fit(*data)


def test_scikit_learn_has_at_most_255_bins(data):
    with pytest.raises(ValueError, match=r"'max_bins' .* in the range \[2, 255\]. Got 256"):
        scores("sklearn", data, max_bins=256)


# -- searches -----------------------------------------------------------------------------


SPACE = {
    "learning_rate": loguniform(0.02, 0.5),
    "max_leaf_nodes": randint(2, 40),
    "min_samples_leaf": randint(1, 60),
    "l2_regularization": loguniform(1e-3, 1e3),
    "max_features": uniform(0.2, 0.8),
    "subsample": uniform(0.3, 0.7),
    "max_bins": randint(2, 256),
    "n_estimators": randint(1, 12),
    "n_iter_no_change": randint(1, 9),
    "validation_fraction": uniform(0.1, 0.4),
    "monotonic_cst": [None, {0: 1}, [1, 0, 0, 0, 0, 0]],
    "interaction_cst": [None, "pairwise", "no_interactions", [{0, 1}, {2, 3}]],
}


@every_engine
@pytest.mark.filterwarnings("ignore:Creating an ndarray from ragged nested sequences")
def test_distributions_of_all_parameters_can_be_searched(engine, data):
    X, y, qid = data
    search = RandomizedSearchCV(
        BoostedRanker(engine=engine, n_jobs=1, random_state=0),
        SPACE,
        n_iter=6,
        cv=QueryKFold(2),
        random_state=0,
        error_score="raise",
    )
    search.fit(X, RankingTarget(y, qid))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert SPACE.keys() <= search.best_params_.keys()


# -- names of other libraries -------------------------------------------------------------


MEANT = {
    **{"num_leaves": "max_leaf_nodes", "max_leaves": "max_leaf_nodes", "rsm": "max_features"},
    **{"min_child_samples": "min_samples_leaf", "min_child_weight": "min_samples_leaf"},
    **{
        "reg_lambda": "l2_regularization",
        "l2_leaf_reg": "l2_regularization",
        "eta": "learning_rate",
    },
    **{"colsample_bynode": "max_features", "bagging_fraction": "subsample", "max_bin": "max_bins"},
    **{"border_count": "max_bins", "monotone_constraints": "monotonic_cst", "objective": "loss"},
    **{"interaction_constraints": "interaction_cst", "iterations": "n_estimators"},
    **{"early_stopping_rounds": "n_iter_no_change", "od_wait": "n_iter_no_change"},
    **{"cat_features": "columns", "thread_count": "n_jobs", "seed": "random_state"},
    **{"od_type": "n_iter_no_change", "metric_period": "verbose"},
    **{"eval_metric": "measure", "loss_function": "loss", "num_boost_round": "n_estimators"},
}


@pytest.mark.parametrize(("name", "meant"), MEANT.items())
def test_names_of_other_libraries_tell_the_parameter(name, meant):
    message = f"BoostedRanker has no parameter '{name}': did you mean {meant}="
    with pytest.raises(TypeError, match=message):
        BoostedRanker(**{name: 1})
    with pytest.raises(ValueError, match=message):
        BoostedRanker().set_params(**{name: 1})
    pipe = make_pipeline(BoostedRanker())
    with pytest.raises(ValueError, match=message):
        pipe.set_params(**{f"boostedranker__{name}": 1})


@pytest.mark.parametrize("ranker", [BoostedRanker, TabularRanker])
def test_options_of_measures_tell_where_they_go(ranker):
    message = r"no parameter 'gain': .* measure=NDCG\(k=10, gain='linear'\)"
    with pytest.raises(TypeError, match=message):
        ranker(gain="linear")


def test_other_names_tell_where_they_go():
    with pytest.raises(TypeError, match=r"'max_depth': .* engine_params=\{'max_depth': ...\}"):
        BoostedRanker(max_depth=3)
    with pytest.raises(TypeError, match="'eval_set': pass eval_set to fit"):
        BoostedRanker(eval_set=())
    with pytest.raises(ValueError, match="'nonsense'"):
        BoostedRanker().set_params(nonsense=1)
    with pytest.raises(TypeError, match="positional"):
        BoostedRanker("ndcg@10", "logistic")


def test_a_search_tells_the_parameter(data):
    X, y, qid = data
    search = RandomizedSearchCV(boosted(FIRST), {"num_leaves": randint(2, 9)}, cv=QueryKFold(2))
    with pytest.raises(ValueError, match="did you mean max_leaf_nodes="):
        search.fit(X, RankingTarget(y, qid))


def test_parameters_are_set_as_in_every_estimator():
    ranker = BoostedRanker(start=BoostedRanker(), max_bins=9)
    ranker.set_params(start__max_leaf_nodes=3, subsample=0.5)
    assert (ranker.start.max_leaf_nodes, ranker.subsample) == (3, 0.5)
    assert repr(clone(BoostedRanker(max_bins=9))) == "BoostedRanker(max_bins=9)"
