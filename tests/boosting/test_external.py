"""Rankers of other libraries, and regressors, as rankers of this package."""

import pickle

import numpy as np
import pandas as pd
import pytest
from checks import check_all
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

from skcalrank import (
    BoostedRanker,
    ExternalRanker,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    StackingRanker,
    get_scorer,
)
from skcalrank.evaluation import compare, cross_compare
from skcalrank.export import to_engine, to_json, to_sql
from skcalrank.inspection import explain_order

LIBRARIES = {
    "LGBMRanker": ("lightgbm", {"n_estimators": 5, "verbose": -1, "n_jobs": 1}),
    "LGBMRegressor": ("lightgbm", {"n_estimators": 5, "verbose": -1, "n_jobs": 1}),
    "XGBRanker": ("xgboost", {"n_estimators": 5, "n_jobs": 1}),
    "XGBRegressor": ("xgboost", {"n_estimators": 5, "n_jobs": 1}),
    "CatBoostRanker": (
        "catboost",
        {"iterations": 5, "verbose": 0, "allow_writing_files": False, "thread_count": 1},
    ),
}
REGRESSORS = [
    ExtraTreesRegressor(5, random_state=0),
    HistGradientBoostingRegressor(max_iter=5, random_state=0),
    Ridge(),
    KNeighborsRegressor(),
]
OTHERS = [*LIBRARIES, *REGRESSORS]
RANKERS = [name for name in LIBRARIES if name.endswith("Ranker")]


def of(other, **params):
    """An estimator: the one passed, or that of a library by its name."""
    if not isinstance(other, str):
        return clone(other)
    module, options = LIBRARIES[other]
    return getattr(pytest.importorskip(module), other)(**options | params)


def name_of(other):
    return other if isinstance(other, str) else type(other).__name__


every = pytest.mark.parametrize("other", OTHERS, ids=name_of)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + 1.0), 0, 3)
    return X, y, np.repeat(np.arange(40), 15)


@pytest.fixture(scope="module")
def table():
    """A table with numbers, categories, gaps and levels that the first queries lack."""
    rng = np.random.default_rng(1)
    qid = np.repeat([f"query {n}" for n in range(40)], 15)
    kind = rng.choice(["red", "green", "blue"], size=600).astype(object)
    kind[450:460] = "unseen"
    price = np.where(rng.random(600) < 0.1, np.nan, rng.normal(size=600))
    X = pd.DataFrame({"kind": kind, "price": price, "stars": rng.integers(0, 5, 600)})
    y = 2.0 * (kind == "red") + X["stars"].to_numpy() / 4 + rng.normal(size=600)
    y = np.clip(np.round(y), 0, 3)
    return X, y, qid


# -- the libraries themselves --------------------------------------------------------------


@pytest.mark.product
@every
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_contiguous_rows_are_fitted_as_by_the_library(rows, other, weighted):
    X, y, qid = rows
    estimator, weight = of(other), None
    if weighted:
        if isinstance(estimator, KNeighborsRegressor):
            pytest.skip("takes no weights")
        weight = np.repeat(np.random.default_rng(0).uniform(0.5, 2.0, 40), 15)
    ranker = ExternalRanker(estimator).fit(X, y, qid, weight)
    queries = {"group": np.full(40, 15)} if name_of(other) == "LGBMRanker" else {}
    queries |= {"qid": qid} if name_of(other) == "XGBRanker" else {}
    queries |= {"group_id": qid} if name_of(other) == "CatBoostRanker" else {}
    if weighted:
        each = weight[::15] if name_of(other) == "XGBRanker" else weight
        queries["sample_weight"] = each
    expected = clone(estimator).fit(X, y, **queries)
    np.testing.assert_array_equal(ranker.predict(X, qid), expected.predict(X))


@pytest.mark.parametrize("other", RANKERS)
def test_queries_need_not_be_contiguous_nor_numbers(rows, other):
    X, y, qid = rows
    place = np.argsort(np.tile(np.arange(15), 40), kind="stable")
    names = np.array([f"query {n}" for n in qid], dtype=object)
    expected = ExternalRanker(of(other)).fit(X, y, qid).predict(X)
    mixed = ExternalRanker(of(other)).fit(X[place], y[place], names[place])
    np.testing.assert_array_equal(mixed.predict(X[place], names[place]), expected[place])
    carried = ExternalRanker(of(other)).fit(X[place], RankingTarget(y[place], names[place]))
    np.testing.assert_array_equal(carried.predict(X), expected)


def test_the_default_estimator_has_one_result(rows):
    X, y, qid = rows
    first, second = (ExternalRanker().fit(X, y, qid).predict(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", ["LGBMRanker", "XGBRanker"])
def test_labels_that_objectives_of_gains_misread(rows, name):
    X, y, qid = rows
    message = f"y must be whole numbers from 0 to 30 for {name}, got 0.5"
    with pytest.raises(ValueError, match=message):
        ExternalRanker(of(name)).fit(X, y / 2 + 0.5, qid)


def test_weights_that_are_not_taken(rows):
    X, y, qid = rows
    with pytest.raises(TypeError, match="must be None with KNeighborsRegressor"):
        ExternalRanker(KNeighborsRegressor()).fit(X, y, qid, np.ones(600))


# -- tables --------------------------------------------------------------------------------


@every
def test_tables_are_fitted_and_scored(table, other):
    X, y, qid = table
    ranker = ExternalRanker(of(other)).fit(X[:450], y[:450], qid[:450])
    assert ranker.feature_names_in_.tolist() == ["kind", "price", "stars"]
    assert ranker.score(X[450:], y[450:], qid[450:]) > 0.8
    scores = ranker.predict(X[450:], qid[450:])
    objects = X[450:].to_numpy(dtype=object)
    own = ExternalRanker(of(other)).fit(X[:450].to_numpy(dtype=object), y[:450], qid[:450])
    np.testing.assert_array_equal(own.predict(objects, qid[450:]), scores)


@pytest.mark.parametrize("other", ["LGBMRegressor", "XGBRegressor", REGRESSORS[1]], ids=name_of)
def test_categories_are_marked_as_such(other):
    # Levels in the order of their codes go up and down, which one split on codes cannot follow.
    kinds = np.repeat([f"level {n}" for n in range(6)], 40)
    y = np.repeat([0.0, 3.0, 0.0, 3.0, 0.0, 3.0], 40)
    noise = np.random.default_rng(0).normal(size=240)
    X = pd.DataFrame({"kind": kinds, "noise": noise})
    stump = {"max_leaf_nodes": 2} if not isinstance(other, str) else {"max_depth": 1}
    estimator = of(other).set_params(**stump)
    ranker = ExternalRanker(estimator, columns={"kind": "category"}).fit(X, y, np.arange(240) // 24)
    scores = ranker.predict(X)
    assert scores[y == 3].min() > scores[y == 0].max()


def test_columns_are_read_as_told(table):
    X, y, qid = table
    ranker = ExternalRanker(REGRESSORS[1], columns={"price": "drop", "stars": "category"})
    ranker.fit(X, y, qid)
    assert ranker.encoder_.kinds_ == {"kind": "category", "price": "drop", "stars": "category"}
    assert ranker.encoder_.categorical_ == [0, 1]
    changed = X.assign(price=0.0)
    np.testing.assert_array_equal(ranker.predict(changed), ranker.predict(X))


def test_pipelines_get_the_table_as_it_is(table):
    X, y, qid = table
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]))
    pipe = make_pipeline(columns, Ridge())
    expected = clone(pipe).fit(X, y).predict(X)
    for estimator in (pipe, GridSearchCV(pipe, {"ridge__alpha": [1.0]}, cv=2)):
        ranker = ExternalRanker(estimator).fit(X, y, qid)
        np.testing.assert_array_equal(ranker.predict(X, qid), expected)
        assert ranker.encoder_ is None
    with pytest.raises(ValueError, match="columns must be None, because Pipeline reads tables"):
        ExternalRanker(pipe, columns={"kind": "category"}).fit(X, y, qid)


def test_frozen_estimators_are_not_fitted_again(rows):
    X, y, qid = rows
    fitted = NDCGRanker().fit(X, y, qid)
    ranker = ExternalRanker(FrozenEstimator(fitted)).fit(X[:300], y[:300][::-1], qid[:300])
    np.testing.assert_array_equal(ranker.predict(X, qid), fitted.predict(X, qid))


# -- scikit-learn ----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
@pytest.mark.parametrize("regressor", REGRESSORS[:3], ids=name_of)
def test_estimator_checks(regressor):
    check_all(ExternalRanker(regressor, "spearman"))


@every
def test_parameters_tags_and_pickles(rows, other):
    X, y, qid = rows
    ranker = ExternalRanker(of(other), "ndcg@5")
    name = next(name for name in ranker.get_params() if name.startswith("estimator__"))
    ranker.set_params(**{name: ranker.get_params()[name]})
    assert get_tags(ranker).input_tags.string
    copy = clone(ranker)
    assert copy.estimator is not ranker.estimator
    assert repr(copy).startswith("ExternalRanker(estimator=")
    fitted = ranker.fit(X, y, qid)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict(X, qid), fitted.predict(X, qid))


@pytest.mark.parametrize("other", RANKERS)
def test_searches(rows, other):
    X, y, qid = rows
    names = {"CatBoostRanker": "iterations"}
    name = f"estimator__{names.get(other, 'n_estimators')}"
    search = GridSearchCV(
        ExternalRanker(of(other)), {name: [1, 5]}, scoring=get_scorer("ndcg@5"), cv=QueryKFold(3)
    )
    search.fit(X, RankingTarget(y, qid))
    assert search.cv_results_["mean_test_score"].min() > 0.5
    assert search.best_params_[name] == 5


@every
def test_comparisons(table, other):
    X, y, qid = table
    systems = {"other": ExternalRanker(of(other)), "ours": ExternalRanker(Ridge(1e3))}
    result = cross_compare(systems, X, y, qid, ["ndcg@5"], cv=3)
    assert result.values[0].min() > 0.3
    scores = {name: ranker.fit(X, y, qid).predict(X, qid) for name, ranker in systems.items()}
    assert compare(y, scores, ["ndcg@5"], qid=qid).systems == ["other", "ours"]


# -- stacks ------------------------------------------------------------------------------------


@every
def test_members_of_stacks_read_one_table(table, other):
    X, y, qid = table
    members = [("other", of(other)), ("trees", BoostedRanker(n_estimators=5, n_jobs=1))]
    stack = StackingRanker(members, cv=2).fit(X, y, qid)
    external = stack.named_rankers_.other
    assert isinstance(external, ExternalRanker)
    assert external.encoder_ is stack.encoder_ is stack.named_rankers_.trees.encoder_
    assert stack.score(X, y, qid) > 0.8


@pytest.mark.parametrize("regressor", [Ridge(), KNeighborsRegressor()], ids=name_of)
def test_regressors_are_fitted_to_targets(rows, regressor):
    X, y, qid = rows
    ranker = ExternalRanker(regressor)
    expected = clone(ranker).fit(X, y, qid).predict(X) - 5.0
    np.testing.assert_allclose(ranker.fit_targets(X, y - 5.0, qid).predict(X), expected, atol=1e-9)
    stack = StackingRanker([("a", regressor), ("b", NDCGRanker())], cv=2)
    assert stack.fit_targets(X, y - 5.0, qid).score(X, y, qid) > 0.8
    stack.set_params(a=ExternalRanker(of("LGBMRanker")))
    assert not hasattr(stack, "fit_targets")


# -- what the scores are made of ---------------------------------------------------------------

SUMS = [*LIBRARIES, Ridge()]


@pytest.mark.product
@pytest.mark.parametrize("other", SUMS, ids=name_of)
@pytest.mark.parametrize("kind", ["array", "table"])
def test_contributions_sum_to_scores(rows, table, other, kind):
    X, y, qid = rows if kind == "array" else table
    ranker = ExternalRanker(of(other)).fit(X, y, qid)
    parts = ranker.contributions(X)
    assert parts.shape == (600, X.shape[1] + 1)
    np.testing.assert_allclose(parts.sum(axis=1), ranker.predict(X, qid), atol=1e-9)
    explained = explain_order(ranker, X, 3, 5, qid=qid)
    np.testing.assert_allclose(explained.contributions, parts[3, :-1] - parts[5, :-1], atol=1e-9)
    if kind == "table":
        # The level of a category has one contribution in a linear score.
        assert explained.feature_names.tolist() == ["kind", "price", "stars"]
        reds = parts[(X["kind"] == "red").to_numpy(), 0]
        assert not isinstance(other, Ridge) or np.ptp(reds) < 1e-9


def test_scores_that_are_no_sums(rows):
    X, y, qid = rows
    for estimator in (KNeighborsRegressor(), PoissonRegressor()):
        ranker = ExternalRanker(estimator).fit(X, y, qid)
        with pytest.raises(ValueError, match=f"or trees, got {type(estimator).__name__}"):
            ranker.contributions(X)


def test_classes_are_no_scores(rows):
    X, y, qid = rows
    for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), GaussianNB())):
        for ranker in (ExternalRanker(estimator), StackingRanker([("a", estimator)])):
            with pytest.raises(ValueError, match="predicts classes, which tie most documents"):
                ranker.fit(X, y, qid)


@pytest.mark.parametrize(
    ("other", "objective"), [("LGBMRegressor", "poisson"), ("XGBRegressor", "count:poisson")]
)
def test_exponentials_of_trees_are_no_sums(rows, other, objective):
    X, y, qid = rows
    ranker = ExternalRanker(of(other, objective=objective)).fit(X, y, qid)
    with pytest.raises(ValueError, match=f"SHAP values of {other} do not sum to its scores"):
        ranker.contributions(X)


@pytest.mark.parametrize("other", ["LGBMRanker", "XGBRanker", REGRESSORS[0]], ids=name_of)
def test_importances_are_those_of_columns_of_the_table(table, other):
    X, y, qid = table
    dated = X.assign(day=pd.date_range("2024-01-01", periods=600, freq="7h"))
    ranker = ExternalRanker(of(other)).fit(dated, y, qid)
    importances = ranker.feature_importances_
    assert ranker.encoder_.sources_.tolist() == [0, 1, 2, 3, 3, 3]
    inner = np.asarray(ranker.estimator_.feature_importances_)
    np.testing.assert_allclose(importances, [*inner[:3], inner[3:].sum()], rtol=1e-6)


def test_importances_behind_indicators(table):
    X, y, qid = table
    X = X.assign(day=pd.date_range("2024-01-01", periods=600, freq="7h"), one=1)
    ranker = ExternalRanker(GradientBoostingRegressor(n_estimators=5, random_state=0)).fit(
        X, y, qid
    )
    columns, trees = (step for _, step in ranker.estimator_.steps)
    assert columns.numbers_.tolist() == [1, 2, 3, 4, 5]  # three of a date
    kind, numbers = np.split(trees.feature_importances_, [-5])
    expected = [kind.sum(), *numbers[:2], numbers[2:].sum(), 0.0]
    np.testing.assert_allclose(ranker.feature_importances_, expected, rtol=1e-12)
    stack = StackingRanker([("one", ranker)]).fit(X, y, qid)
    np.testing.assert_allclose(stack.feature_importances_, expected, rtol=1e-12)


@pytest.mark.parametrize("other", LIBRARIES)
def test_comparisons_take_rankers_of_libraries_as_they_are(table, other):
    X, y, qid = table
    systems = {"bare": of(other), "external": ExternalRanker(of(other), "spearman")}
    with pytest.warns(UserWarning, match="Systems are equal on every query"):
        result = cross_compare(systems, X, y, qid, ["ndcg@5"], cv=3)
    np.testing.assert_array_equal(*result.values)


# -- export ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["LGBMRanker", "XGBRanker"])
def test_text_of_the_library(table, name):
    X, y, qid = table
    ranker = ExternalRanker(of(name)).fit(X, y, qid)
    matrix = ranker.encoder_.transform(X)
    if name == "LGBMRanker":
        import lightgbm

        scores = lightgbm.Booster(model_str=to_engine(ranker)).predict(matrix)
    else:
        import xgboost

        booster = xgboost.Booster(model_file=bytearray(to_engine(ranker), "utf-8"))
        scores = booster.inplace_predict(matrix)
    np.testing.assert_allclose(scores, ranker.predict(X), rtol=1e-6)


@pytest.mark.parametrize("export", [to_json, to_sql, to_engine])
def test_scores_with_a_link_are_not_exported(rows, export):
    X, y, qid = rows
    poisson = of("LGBMRegressor", objective="poisson")
    ranker = ExternalRanker(poisson).fit(pd.DataFrame(X, columns=list("abcd")), y, qid)
    with pytest.raises(ValueError, match="LGBMRegressor predicts a function of the sum"):
        export(ranker)


def test_codes_that_no_format_makes(table):
    X, y, qid = table
    ranker = ExternalRanker(ExtraTreesRegressor(3, random_state=0)).fit(X, y, qid)
    with pytest.raises(ValueError, match="ExtraTreesRegressor reads codes of the columns"):
        to_json(ranker)
