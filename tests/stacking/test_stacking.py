"""Stacks: weights, held-out rows, and the kinds of rankers that can be mixed."""

import pickle
import re
from datetime import date

import numpy as np
import pytest
import sklearn
from boosting_cases import FIRST, boosted, made_queries
from cases import tags_sparse
from checks import check_all, every_estimator
from joblib import parallel_backend
from scipy.optimize import nnls
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    BoostedRanker,
    DCGRanker,
    ExternalRanker,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    SpearmanRanker,
    StackingRanker,
    TabularRanker,
    get_scorer,
    trees,
)
from skcalrank.data import MissingQidError, check
from skcalrank.measures import get_measure
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QuantileHinges, QueryScaler


@pytest.fixture(scope="module")
def data():
    return made_queries(40, seed=0)


def pair():
    return [("linear", NDCGRanker()), ("bent", make_pipeline(QuantileHinges(), Ridge()))]


def centered(values, qid):
    codes = np.unique(qid, return_inverse=True)[1]
    return values - (np.bincount(codes, values) / np.bincount(codes))[codes]


@pytest.mark.long
@every_estimator(
    [
        StackingRanker(),
        StackingRanker(
            [("linear", SpearmanRanker()), ("trees", ExtraTreesRegressor(3, random_state=0))],
            measure="spearman",
            normalize="query",
            cv=2,
        ),
    ]
)
@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
def test_estimator_checks(estimator):
    check_all(estimator)


# -- weights -----------------------------------------------------------------------------


@pytest.mark.parametrize("targets", ["measure", "grades"])
def test_weights_are_least_squares_of_scores_out_of_fold(data, targets):
    X, y, qid = data
    splits = list(QueryKFold(3).split(X, y, groups=qid))
    stack = StackingRanker(pair(), cv=splits, targets=targets).fit(X, y, qid)
    aim = y.astype(float)
    if targets == "measure":
        aim = get_measure("ndcg@10").score_targets(aim, check.queries(qid, len(qid)))
    columns = np.empty((len(y), 2))
    for train, test in splits:
        for column, (_, member) in enumerate(pair()):
            given = {"qid": qid[train]} if column == 0 else {}
            fitted = clone(member).fit(X[train], y[train], **given)
            columns[test, column] = centered(fitted.predict(X[test]), qid[test])
    expected, _ = nnls(columns, centered(aim, qid))
    np.testing.assert_allclose(stack.weights_ / stack.spreads_, expected, rtol=1e-6)
    np.testing.assert_allclose(stack.spreads_, np.sqrt((columns**2).mean(axis=0)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normalize", ["pooled", "query"])
def test_rankers_that_are_the_same_but_for_a_factor_share_alike(data, dtype, normalize):
    X, y, qid = data[0].astype(dtype), *data[1:]
    same = [("one", DCGRanker()), ("again", DCGRanker()), ("tenfold", Tenfold())]
    stack = StackingRanker(same, normalize=normalize).fit(X, y, qid)
    assert stack.weights_[0] > 0
    # What rounding leaves of the differences is divided by a small penalty.
    np.testing.assert_allclose(stack.weights_, stack.weights_[0], rtol=1e-5)
    alone = StackingRanker(same[:1], normalize=normalize).fit(X, y, qid)
    np.testing.assert_allclose(stack.predict(X, qid), alone.predict(X, qid), rtol=1e-4, atol=1e-4)


class Tenfold(DCGRanker):
    """A ranker whose scores are ten times those of another one."""

    def predict(self, X, qid=None):
        return 10 * super().predict(X, qid)


@pytest.mark.parametrize("carried", [False, True])
def test_splitters_get_the_queries(data, carried):
    X, y, qid = data
    splits = list(GroupKFold(3).split(X, y, groups=qid))
    expected = StackingRanker(pair(), cv=splits).fit(X, y, qid)
    problem = (X, RankingTarget(y, qid)) if carried else (X, y, qid)
    stack = StackingRanker(pair(), cv=GroupKFold(3)).fit(*problem)
    np.testing.assert_array_equal(stack.weights_, expected.weights_)


def test_a_ranker_of_the_best_targets_is_all_that_counts():
    # The mean of the grades is linear in X: scores of noise count nothing as queries come.
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(2000), 5)
    X = rng.normal(size=(len(qid), 4))
    y = X[:, 0] + rng.normal(size=len(qid)) + rng.normal(size=2000)[qid]
    noise = make_pipeline(QuantileHinges(2), KNeighborsRegressor(1))
    members = [("linear", SpearmanRanker()), ("noise", noise)]
    stack = StackingRanker(members, measure="spearman").fit(X, y, qid)
    assert stack.weights_[1] < 0.1 * stack.weights_[0]


def test_all_count_alike_where_none_helps():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 2)), np.repeat(np.arange(12), 5)
    y = rng.integers(0, 2, 60)

    class Backward(LinearRegression):
        def predict(self, X):
            return -super().predict(X)

    members = [("a", Backward()), ("b", Backward(fit_intercept=False))]
    stack = StackingRanker(members, cv=[(np.arange(60), np.arange(60))]).fit(X, y, qid)
    np.testing.assert_array_equal(stack.weights_, [0.5, 0.5])


# -- what is fitted ----------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize(
    "member",
    [
        NDCGRanker(),
        NDCGRanker(ExtraTreesRegressor(5, random_state=0)),
        make_query_pipeline(QueryScaler(), QuantileHinges(), NDCGRanker()),
        make_query_pipeline(QueryScaler(), "passthrough", NDCGRanker()),
        make_query_pipeline(QueryScaler(), StandardScaler(), NDCGRanker(Ridge())),
        DecisionTreeRegressor(max_depth=3),
    ],
    ids=["closed form", "forest", "pipeline", "passthrough", "pipeline of a regressor", "trees"],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_members_are_fitted_to_all_queries_in_the_end(data, member, weighted):
    X, y, qid = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    stack = StackingRanker([("member", member)]).fit(X, y, qid, sample_weight=weight)
    (fitted,) = stack.rankers_
    # Rows of an order of their own, in which a forest draws.
    given = {} if isinstance(member, DecisionTreeRegressor) else {"qid": qid}
    given |= {"sample_weight": weight} if weighted else {}
    alone = clone(member).fit(X, y, **given)
    if not isinstance(getattr(member, "estimator", None), ExtraTreesRegressor):
        asked = {"qid": qid} if hasattr(fitted, "steps") else {}
        expected = alone.predict(X, **asked)
        np.testing.assert_allclose(fitted.predict(X, **asked), expected, atol=1e-9)
    inner = fitted.estimator_ if isinstance(fitted, ExternalRanker) else fitted
    assert type(inner) is type(member)
    assert inner is not member


def test_trees_are_stopped_on_queries_of_their_own(data):
    X, y, qid = data
    members = [("linear", NDCGRanker()), ("trees", boosted(FIRST)), ("more", boosted(FIRST))]
    stack = StackingRanker(members).fit(X, y, qid)
    first, second = (stack.named_rankers_[name].validation_scores_ for name in ("trees", "more"))
    assert first[:3].tolist() != second[:3].tolist()
    total = sum(
        weight / spread * ranker.predict(X)
        for weight, spread, ranker in zip(stack.weights_, stack.spreads_, stack.rankers_)
    )
    np.testing.assert_allclose(stack.predict(X), total, atol=1e-9)


@pytest.mark.product
@pytest.mark.parametrize("library", ["LGBMRanker", "XGBRanker", "CatBoostRanker"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_rankers_of_other_libraries(data, library, weighted):
    X, y, qid = data
    module = {"L": "lightgbm", "X": "xgboost", "C": "catboost"}[library[0]]
    options = {
        "LGBMRanker": {"n_estimators": 5, "verbose": -1, "n_jobs": 1},
        "XGBRanker": {"n_estimators": 5, "n_jobs": 1},
        "CatBoostRanker": {"iterations": 5, "verbose": 0, "allow_writing_files": False},
    }[library]
    other = getattr(pytest.importorskip(module), library)(**options)
    weight = np.repeat(np.random.default_rng(0).uniform(0.5, 2.0, 40), 15) if weighted else None
    shuffled = np.random.default_rng(1).permutation(len(y))
    members = [("linear", NDCGRanker()), ("other", other)]
    X, y, qid = X[shuffled], y[shuffled], np.char.add("query ", qid.astype(str))[shuffled]
    weight = weight if weight is None else weight[shuffled]
    stack = StackingRanker(members).fit(X, y, qid, sample_weight=weight)
    assert stack.weights_[1] > 0
    assert stack.score(X, y, qid) > NDCGRanker().fit(X, y, qid).score(X, y, qid)


# -- what does not matter ----------------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("random_state", [None, 3])
@pytest.mark.parametrize("normalize", ["pooled", "query"])
def test_neither_order_nor_types_of_names_matter(data, normalize, random_state):
    X, y, qid = data
    members = [*pair(), ("trees", boosted(FIRST))]
    stack = StackingRanker(members, normalize=normalize, random_state=random_state)
    expected = stack.fit(X, y, qid).predict(X, qid)
    shuffled = np.random.default_rng(0).permutation(len(y))
    names = qid.astype(object)
    again = clone(stack).fit(X[shuffled], y[shuffled], names[shuffled])
    np.testing.assert_allclose(again.predict(X, names), expected, atol=1e-8)
    carried = clone(stack).fit(X, RankingTarget(y, qid))
    np.testing.assert_allclose(carried.predict(X, qid), expected, atol=1e-12)


def test_several_at_a_time(data):
    X, y, qid = data
    with parallel_backend("threading"):
        alone, side_by_side = (StackingRanker(pair(), n_jobs=n).fit(X, y, qid) for n in (None, 2))
    np.testing.assert_array_equal(alone.predict(X), side_by_side.predict(X))


def test_scores_of_one_scale_add_up_in_any_units(data):
    X, y, qid = data
    tenfold = make_pipeline(StandardScaler(), Ridge())
    stack = StackingRanker([("a", NDCGRanker()), ("b", tenfold)], normalize="query").fit(X, y, qid)
    scores = stack.predict(X, qid)
    by_query = scores.reshape(40, 15)
    parts = [ranker.predict(X) for ranker in stack.rankers_]
    z = [(part.reshape(40, 15).T - part.reshape(40, 15).mean(1)) for part in parts]
    z = [(part / part.std(axis=0)).T for part in z]
    expected = sum(weight * part for weight, part in zip(stack.weights_, z))
    np.testing.assert_allclose(by_query, expected, atol=1e-9)


# -- tools -------------------------------------------------------------------------------


class FirstColumn(BaseEstimator):
    """A ranker whose scores are the first column, in a unit, whatever it is fitted to."""

    def __init__(self, unit=1.0):
        self.unit = unit

    def fit(self, X, y, sample_weight=None):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return self.unit * X[:, 0]


def test_small_differences_of_large_scores_have_a_spread(data, monkeypatch):
    X, y, qid = data
    X = X.copy()
    X[:, 0] = 1e3 + 1e-5 * X[:, 0]
    spread = np.sqrt(np.mean(centered(X[:, 0], qid) ** 2))
    everything = np.arange(len(y)), np.arange(len(y))
    stack = StackingRanker([("first", FirstColumn())], cv=[everything]).fit(X, y, qid)
    assert stack.spreads_ == pytest.approx(spread, rel=1e-4)
    # Both rooms know the same rule for what is a rounding error.
    ranker = boosted("sklearn", n_models=2, n_estimators=2)
    engine = type(trees.ENGINES["sklearn"])
    monkeypatch.setattr(engine, "predict", lambda *args: args[2][:, 0])
    assert 1 / ranker.fit(X, y, qid).model_weights_ == pytest.approx(stack.spreads_[[0, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normalize", ["pooled", "query"])
@pytest.mark.parametrize("views", [False, True])
def test_scores_that_are_rounding_errors_have_no_spread(dtype, normalize, views):
    # Where the held-out queries are left out, the features are unrelated to the labels.
    X = np.array([[-1.0, -1, 0, -1, -1, -1, -1, -1, -1, 0, 0]], dtype=dtype).T
    y = np.array([0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0])
    qid = np.array([0, 1, 1, 2, 2, 3, 4, 4, 4, 4, 2])
    rankers = None if views else [("all", NDCGRanker()), ("two", NDCGRanker(k=2))]
    stack = StackingRanker(rankers, normalize=normalize).fit(X, y, qid)
    # Scaled within the query, the first view of the features learns a little.
    np.testing.assert_array_equal(stack.spreads_[views:], 1.0)
    assert np.abs(stack.predict(X, qid)).max() < 1e3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_are_equal_in_the_held_out_queries_have_equal_weights(dtype):
    # The documents of the query that is held out are the same.
    X = np.array([[-1, 0.5, 0.5, 2, -1, -1, -1, 0.5, 0, 0.5, -1]], dtype=dtype).T
    y = np.array([0, 1, 0, 1, 1, 1, 1, 2, 2, 1, 1])
    qid = np.array([4, 3, 0, 1, 2, 2, 2, 3, 1, 0, 2])
    weight = np.where(np.arange(11) == 1, 1, 0.25)
    stack = StackingRanker([("all", NDCGRanker()), ("two", NDCGRanker(k=2))])
    assert stack.fit(X, y, qid, weight).weights_.tolist() == [0.5, 0.5]


@pytest.mark.filterwarnings("ignore:Trees found no split")
@pytest.mark.filterwarnings("ignore:ndcg is undefined")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_views_that_learn_nothing_have_no_spread(dtype):
    # Two documents are the same, and differ in the only labels that do.
    qid = np.array([0, 0, 1, 1, 3, 3, 3, 3, 4, 4, 4, 1, 1, 4, 2, 4, 2])
    last = np.arange(17) == 16
    X = np.full((17, 3), -1, dtype=dtype)
    X[[11, 14, 15, 16], 1] = 0, 0.5, 0, 0.5
    trees = BoostedRanker(engine="sklearn", n_estimators=2, min_samples_leaf=1)
    stack = TabularRanker(trees=trees).fit(X, last * 1, qid, np.where(last, 1, 0.25))
    assert stack.spreads_.tolist() == [1.0] * len(stack.spreads_)
    np.testing.assert_allclose(stack.predict(X, qid), 0, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1e-30])
def test_small_scores_have_a_spread(data, unit):
    X, y, qid = data
    stack = StackingRanker([("small", FirstColumn(unit))]).fit(X, y, qid)
    same = StackingRanker([("small", FirstColumn())]).fit(X, y, qid)
    np.testing.assert_allclose(stack.spreads_, unit * same.spreads_)
    np.testing.assert_allclose(stack.predict(X), same.predict(X))


def test_small_scores_of_a_frame_have_a_spread(data):
    pd = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pd.DataFrame(X).rename(columns=str).assign(text="a word")
    first = FunctionTransformer(lambda X: X[["0"]].to_numpy())
    stack, same = (
        StackingRanker([("small", make_pipeline(first, FirstColumn(unit)))]).fit(frame, y, qid)
        for unit in (1e-12, 1.0)
    )
    np.testing.assert_allclose(stack.spreads_, 1e-12 * same.spreads_)


def test_held_out_rows_without_weight_have_a_spread(data):
    X, y, qid = data
    weight = np.where(qid < 20, 1.0, 0.0)
    split = np.flatnonzero(qid < 20), np.flatnonzero(qid >= 20)
    stack = StackingRanker([("first", FirstColumn())], cv=[split]).fit(X, y, qid, weight)
    spread = np.sqrt(np.mean(centered(X[split[1], 0], qid[split[1]]) ** 2))
    assert stack.spreads_ == pytest.approx(spread)
    assert stack.weights_.tolist() == [1.0]


def test_the_qid_in_predict(data):
    X, y, qid = data
    assert StackingRanker(pair()).fit(X, y, qid).predict(X).shape == y.shape
    with pytest.raises(MissingQidError, match="fitted with a qid, and predict got none"):
        StackingRanker(pair(), normalize="query").fit(X, y, qid).predict(X)
    views = StackingRanker([("view", make_query_pipeline(QueryScaler(), NDCGRanker()))])
    views.fit(X, y, qid)
    with pytest.raises(MissingQidError, match="needs it"):
        views.predict(X)
    assert views.rank(X, qid).max() == 15
    assert len(views.top_k(X, qid, k=3)) == 120


@pytest.mark.parametrize("routing", [False, True])
def test_under_searches(data, routing):
    X, y, qid = data
    search = GridSearchCV(
        StackingRanker(pair()),
        {"linear": [NDCGRanker(), DCGRanker()], "linear__alpha": [1.0]},
        cv=QueryKFold(2),
        scoring=get_scorer("ndcg@5"),
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        if routing:
            search.fit(X, y, qid=qid)
        else:
            search.fit(X, RankingTarget(y, qid))
    assert search.best_estimator_.named_rankers_.linear.alpha == 1.0
    folds = {"cv": QueryKFold(2), "scoring": get_scorer("ndcg@5")}
    inside = cross_val_score(
        make_pipeline(StandardScaler(), StackingRanker(pair())), X, RankingTarget(y, qid), **folds
    )
    assert np.isfinite(inside).all()


def test_parameters_go_by_the_names_of_the_rankers():
    stack = StackingRanker([("linear", NDCGRanker()), ("trees", BoostedRanker())])
    assert stack.get_params()["trees__max_leaf_nodes"] == 15
    stack.set_params(trees__max_leaf_nodes=7, linear=DCGRanker(), normalize="query")
    assert stack.rankers[1][1].max_leaf_nodes == 7
    assert isinstance(stack.rankers[0][1], DCGRanker)
    assert clone(stack).get_params()["trees__max_leaf_nodes"] == 7
    assert StackingRanker().set_params(cv=3).cv == 3
    given = StackingRanker().set_params(rankers=[("a", Ridge())], a__alpha=2.0)
    assert given.rankers[0][1].alpha == 2.0
    assert "trees" in repr(stack)


def test_dropped_rankers_are_left_out(data):
    X, y, qid = data
    stack = StackingRanker(pair()).set_params(bent="drop").fit(X, y, qid)
    assert list(stack.named_rankers_) == ["linear"]
    alone = StackingRanker(pair()[:1]).fit(X, y, qid)
    np.testing.assert_array_equal(stack.predict(X), alone.predict(X))


class BestColumn(TransformerMixin, BaseEstimator):
    """A transformer that reads labels without declaring it."""

    def fit(self, X, y):
        self.best_ = int(np.argmax([abs(np.corrcoef(column, y)[0, 1]) for column in X.T]))
        return self

    def transform(self, X):
        return X[:, [self.best_]]


@pytest.mark.parametrize(
    "step",
    [
        BestColumn(),
        make_pipeline(SelectKBest(f_regression, k=1)),
        ColumnTransformer([("best", SelectKBest(f_regression, k=1), [0, 2, 3])]),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_that_read_labels_are_fitted_with_them(step, data):
    X, y, qid = data
    pipe = make_query_pipeline(step, NDCGRanker())
    stack = StackingRanker([("pipe", pipe)]).fit(X, y, qid)
    expected = clone(pipe).fit(X, y, qid).predict(X, qid)
    np.testing.assert_allclose(stack.rankers_[0].predict(X, qid), expected, atol=1e-9)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda step: step,
        make_pipeline,
        lambda step: ColumnTransformer([("noted", step, [0, 1, 2, 3])], remainder="drop"),
        lambda step: ColumnTransformer([("none", "drop", [0])], remainder=make_pipeline(step)),
    ],
    ids=["step", "pipeline", "columns", "rest"],
)
def test_steps_that_ignore_labels_see_all_rows_at_once(wrapped, data):
    X, y, qid = data
    counts = []

    def noted(X):
        counts.append(len(X))
        return X

    pipe = make_query_pipeline(wrapped(FunctionTransformer(noted)), NDCGRanker())
    stack = StackingRanker([("pipe", pipe)]).fit(X, y, qid)
    assert set(counts) == {len(y)}  # no fold alone
    expected = clone(pipe).fit(X, y, qid).predict(X, qid)
    np.testing.assert_allclose(stack.rankers_[0].predict(X, qid), expected, atol=1e-9)


def test_scores_of_a_query_do_not_depend_on_other_queries(data):
    X, y, qid = data
    stack = StackingRanker([("linear", Ridge())], normalize="query").fit(X, y, qid)
    far = np.vstack([X[:15], 1e12 * X[15:30]])
    both = stack.predict(far, qid[:30])
    np.testing.assert_allclose(both[:15], stack.predict(X[:15], qid[:15]))


def test_pickles(data):
    X, y, qid = data
    stack = StackingRanker([*pair(), ("trees", boosted(FIRST))]).fit(X, y, qid)
    again = pickle.loads(pickle.dumps(stack))
    np.testing.assert_array_equal(again.predict(X), stack.predict(X))


@tags_sparse
def test_sparse_rows_go_to_rankers_that_take_them(data):
    X, y, qid = data
    members = [("a", NDCGRanker(loss="squared")), ("b", Ridge())]
    dense = StackingRanker(members).fit(X, y, qid)
    sparse = StackingRanker(members).fit(csr_matrix(X), y, qid)
    np.testing.assert_allclose(sparse.predict(csr_matrix(X)), dense.predict(X), atol=1e-4)
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        StackingRanker().fit(csr_matrix(X), y, qid)


def test_dask_collections(data):
    X, y, qid = data
    array = pytest.importorskip("dask.array")
    lazy = array.from_array(X, chunks=(150, 6))
    stack = StackingRanker(pair()).fit(X, y, qid)
    # Without a cluster all rows are in this process.
    of_lazy = StackingRanker(pair()).fit(lazy, y, qid)
    np.testing.assert_allclose(of_lazy.predict(X), stack.predict(X), rtol=1e-9)
    np.testing.assert_allclose(stack.predict(lazy).compute(), stack.predict(X))


def test_a_failed_fit_changes_nothing(data):
    X, y, qid = data
    stack = StackingRanker(pair()).fit(X, y, qid)
    before = vars(stack).copy()
    with pytest.raises(ValueError, match="y must be non-negative"):
        stack.fit(X[:, :3], y - 5.0, qid)
    assert vars(stack) == before


def test_one_query_holds_out_documents(data):
    X, y, _ = data
    stack = StackingRanker([*pair(), ("trees", boosted(FIRST))])
    assert stack.fit(X, y, np.zeros(len(y))).predict(X).shape == y.shape


def test_progress(data, capsys):
    X, y, qid = data
    StackingRanker([("linear", NDCGRanker()), ("trees", boosted(FIRST))], verbose=1).fit(X, y, qid)
    lines = [line for line in capsys.readouterr().out.splitlines() if "StackingRanker" in line]
    assert [line.split()[1] for line in lines] == ["linear", "trees", "mixture"]
    assert re.search(
        r"ndcg@10 on held-out queries: linear 0\.\d+, trees 0\.\d+, mixture", lines[-1]
    )


# -- what is refused ---------------------------------------------------------------------

LINEAR = [("linear", NDCGRanker())]
REFUSED = {
    "rankers must be a list of": {"rankers": NDCGRanker()},
    "rankers must be a list": {"rankers": []},
    "Names provided are not unique": {"rankers": LINEAR * 2},
    "must not contain __": {"rankers": [("a__b", NDCGRanker())]},
    "conflict with constructor": {"rankers": [("cv", NDCGRanker())]},
    "must have other names than 'mixture'": {"rankers": [("mixture", NDCGRanker())]},
    "at least one that is not 'drop'": {"rankers": [("a", "drop")]},
    "must have fit and predict, got .*NDCGRanker": {"rankers": [("a", NDCGRanker)]},
    "cv must be a number of folds": {"rankers": LINEAR, "cv": "five"},
    "Unknown measure": {"rankers": LINEAR, "measure": "nothing"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused_parameters(data, message):
    X, y, qid = data
    with pytest.raises(ValueError, match=message):
        StackingRanker(**REFUSED[message]).fit(X, y, qid)


def test_refused_data(data):
    X, y, qid = data
    with pytest.raises(ValueError, match="label-ranking form"):
        StackingRanker().fit(X, np.column_stack([y, y[::-1]]))
    with pytest.raises(ValueError, match="are too few to hold some out"):
        StackingRanker(pair()).fit(X[:1], y[:1], qid[:1])
    members = [("neighbors", KNeighborsRegressor())]
    with pytest.raises(TypeError, match=r"must be None with KNeighborsRegressor"):
        StackingRanker(members).fit(X, y, qid, sample_weight=np.ones(len(y)))


def test_a_boosted_ranker_is_compared_like_for_like(data):
    # Its folds are those of the stack, whatever it would hold out by itself.
    X, y, qid = data
    stack = StackingRanker([("trees", boosted(FIRST))]).fit(X, y, qid)
    alone = boosted(FIRST).fit(X, y, qid)
    assert isinstance(stack.rankers_[0], BoostedRanker)
    assert len(stack.rankers_[0].validation_scores_) > 0
    np.testing.assert_array_equal(stack.rankers_[0].predict(X), alone.predict(X))


def test_weights_that_are_rounding_errors_count_as_none():
    # The best weights of these held-out scores are 0, which rows in another order round to 5e-17.
    X = np.full((14, 2), -1.0)
    X[0, 1] = X[6, 0] = X[6, 1] = X[13, 1] = 0.0
    y = np.array([0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 1.0])
    qid = [date(2024, 1, 1 + code) for code in (3, 4, 0, 0, 3, 1, 3, 4, 4, 2, 2, 2, 2, 2)]
    rows, scores = np.roll(np.arange(14), -1), []
    for order in (np.arange(14), rows):
        params = {"min_samples_leaf": 1, "n_estimators": 3, "n_iter_no_change": 5, "n_jobs": 1}
        trees = boosted("lightgbm", **params)
        ranker = TabularRanker(trees=trees).fit(X[order], y[order], [qid[i] for i in order])
        scores.append(ranker.predict(X, qid))
    np.testing.assert_allclose(*scores, rtol=2e-4, atol=2e-4)


def test_scores_are_normalized_whatever_their_size(rng):
    X, qid = rng.normal(size=(80, 2)), np.repeat(np.arange(8), 10)
    ranker = StackingRanker([("a", NDCGRanker())], normalize="query")
    ranker.fit(X, (X[:, 0] + rng.normal(size=80) > 0) * 1, qid)
    ranker.weights_ = np.ones(1)
    expected = ranker.predict(X * 1e100, qid)
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(ranker.predict(X * 1e300, qid), expected, rtol=1e-12)
