"""Which regressors are fitted in closed form: three classes, alone or after steps of a pipeline."""

from inspect import signature

import numpy as np
import pytest
from cases import make_data, ranker_id, tags_sparse
from every_estimator import EVERY_ESTIMATOR
from fits import EVERY, fitted
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.cross_decomposition import PLSSVD, PLSRegression
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_regression
from sklearn.linear_model import Lasso, LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils import all_estimators

from skcalrank import (
    BoostedRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    QueryKFold,
    RankingTarget,
    SpearmanRanker,
    StackingRanker,
    sample_comparisons,
)
from skcalrank._solvers import SQUARED_LOSSES, fit_regressor, fit_rows, fits_in_closed_form
from skcalrank.data import check
from skcalrank.export import to_json
from skcalrank.linear_model import GramRidge
from skcalrank.measures import Spearman
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, QueryScaler
from skcalrank.rankers import StochasticAggregatedRanker

CLOSED_FORMS = [Ridge(0.3), LinearRegression(), GramRidge(0.3), Ridge(0.3, fit_intercept=False)]


class CubeRoots(TransformerMixin, BaseEstimator):
    """A transformer that is not of scikit-learn, which may read labels for all that is known."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.cbrt(X)


def rooted(base):
    """A subclass that regresses on the cube roots of its features."""

    class Rooted(base):
        def fit(self, X, y, sample_weight=None):
            return super().fit(np.cbrt(X), y, sample_weight)

        def partial_fit(self, X, y, sample_weight=None):
            return super().partial_fit(np.cbrt(X), y, sample_weight)

        def predict(self, X):
            return super().predict(np.cbrt(X))

    return Rooted


@pytest.fixture
def data(rng):
    return make_data(rng, (6, 9, 1, 12, 7, 5, 8, 10))


# -- subclasses ------------------------------------------------------------------------------


def around_regressors():
    """Every public estimator that has regressors, the names of their parameters, and a loss."""
    for case in EVERY_ESTIMATOR:
        params = case.make().get_params()
        names = [
            name
            for name, value in params.items()
            if name.split("__")[-1] == "estimator" and (value is None or type(value) is Ridge)
        ]
        has_choice = any(name.replace("estimator", "n_passes") in params for name in names)
        for loss in (None, *SQUARED_LOSSES) if has_choice else (None,) if names else ():
            yield pytest.param(case, names, loss, id=f"{case.name}-{loss}")


def with_regressor(case, names, regressor, loss):
    """A case with a regressor in place of the ridge, and with a loss where it has a choice."""
    estimator = case.make()
    for name in names:
        owner = name[: -len("estimator")]
        params = estimator.get_params()
        estimator.set_params(**{name: regressor})
        if params.get(f"{owner}surrogate") == "pairwise":
            estimator.set_params(**{f"{owner}pair_features": "concat"})
        elif f"{owner}n_passes" in params:
            estimator.set_params(**{f"{owner}loss": loss})
    return estimator


@pytest.mark.kinds
@pytest.mark.parametrize(("case", "names", "loss"), around_regressors())
def test_a_subclass_is_fitted_as_the_pipeline_that_does_the_same(case, names, loss, data):
    X, y, qid = data
    one, other = (
        type(case)(case.name, lambda it=it: with_regressor(case, names, it, loss), case.target)
        for it in (rooted(Ridge)(0.3), make_pipeline(CubeRoots(), Ridge(0.3)))
    )
    one, other = one.fit(X, y, qid), other.fit(X, y, qid)
    given = () if case.target in ("classes", "sets") else (qid,)
    np.testing.assert_allclose(one.predict(X, *given), other.predict(X, *given), atol=1e-9)


@pytest.mark.parametrize("base", [Ridge, LinearRegression, GramRidge])
@pytest.mark.parametrize("loss", [None, *SQUARED_LOSSES])
@pytest.mark.parametrize("form", ["documents", "items"])
def test_subclasses_of_all_closed_forms(base, loss, form, data, rng):
    X, y, qid = data
    if form == "items":
        y, qid = rng.normal(size=(len(X), 3)), None
    one, other = (
        SpearmanRanker(regressor, loss=loss).fit(X, y, qid)
        for regressor in (rooted(base)(), make_pipeline(CubeRoots(), base()))
    )
    assert one.loss_ == other.loss_ == (loss or "squared")
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-9)


def test_chunks_of_a_subclass(data):
    X, y, qid = data
    one, other = NDCGRanker(rooted(GramRidge)()), NDCGRanker(GramRidge(), loss="squared")
    for chunk in (qid < 13, qid >= 13):
        one.partial_fit(X[chunk], y[chunk], qid[chunk])
        other.partial_fit(np.cbrt(X[chunk]), y[chunk], qid[chunk])
    np.testing.assert_allclose(one.predict(X), other.predict(np.cbrt(X)), atol=1e-12)


@pytest.mark.parametrize("base", [Ridge, GramRidge])
def test_coefficients_of_a_subclass_are_not_those_of_the_features(base, data):
    X, _, qid = data
    # A sum of roots, which the start finds, and a single split does not.
    y = np.digitize(np.cbrt(X).sum(axis=1), [-1.0, 0.0, 1.0])
    ranker = NDCGRanker(rooted(base)())
    with pytest.raises(ValueError, match="function of a sum"):
        to_json(ranker.fit(X, y, qid), feature_names=list("abcd"))
    boosted = BoostedRanker(start=ranker, n_estimators=1, max_leaf_nodes=2, min_samples_leaf=1)
    assert boosted.fit(X, y, qid).start_ is not None
    with pytest.raises(ValueError, match="start must be linear in the features"):
        boosted.contributions(X)
    stack = StackingRanker([("roots", make_query_pipeline(LinearColumns(), ranker))])
    with pytest.raises(ValueError, match="score of 'roots' must be linear"):
        stack.fit(X, y, qid).contributions(X, qid)


def test_sums_over_partitions_are_no_fit_of_a_subclass(data):
    da = pytest.importorskip("dask.array")
    X, y, qid = data
    ranker = NDCGRanker(rooted(Ridge)())
    with pytest.raises(ValueError, match="must be fitted by sums over rows"):
        ranker.fit(*map(da.from_array, (X, y, qid)))


# -- pipelines -------------------------------------------------------------------------------


def test_a_pipeline_in_a_pipeline_is_fitted_as_a_flat_one(data):
    X, y, qid = data
    flat = NDCGRanker(make_pipeline(StandardScaler(), PCA(2), Ridge())).fit(X, y, qid)
    for inner in (make_pipeline(PCA(2), Ridge()), make_pipeline(make_pipeline(PCA(2), Ridge()))):
        nested = NDCGRanker(make_pipeline(StandardScaler(), inner)).fit(X, y, qid)
        assert nested.loss_ == flat.loss_ == "pairwise_squared"
        np.testing.assert_allclose(nested.predict(X), flat.predict(X), rtol=1e-9, atol=1e-12)


STEPS = {
    "none": [],
    "identity": [FunctionTransformer()],
    "passthrough": ["passthrough"],
    "scaler": [StandardScaler()],
    "several": [StandardScaler(), PolynomialFeatures(2), PCA(5, random_state=0)],
    "ours": [QuantileHinges(3)],
    "table": [LinearColumns()],
    "beside": [FeatureUnion([("a", StandardScaler()), ("b", MaxAbsScaler())])],
    "columns": [ColumnTransformer([("a", StandardScaler(), [0, 2])], remainder="passthrough")],
    "inner": [make_pipeline(StandardScaler(), MaxAbsScaler())],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("loss", [None, *SQUARED_LOSSES])
@pytest.mark.parametrize("form", ["documents", "weighted", "items"])
def test_a_pipeline_is_the_closed_form_of_its_rows(steps, loss, form, data, rng):
    X, y, qid = data
    given, params = {"qid": qid}, {"loss": loss}
    if form == "weighted":
        given["sample_weight"] = rng.uniform(0.5, 2.0, len(y))
        params["query_weight"] = "equal"
    if form == "items":
        y, given = rng.normal(size=(len(X), 3)), {}
    rows = make_pipeline(*steps).fit_transform(X) if steps else X
    for regressor in CLOSED_FORMS:
        pipe = SpearmanRanker(make_pipeline(*steps, regressor), **params).fit(X, y, **given)
        plain = SpearmanRanker(regressor, **params).fit(rows, y, **given)
        assert pipe.loss_ == plain.loss_ == (loss or "pairwise_squared")
        np.testing.assert_allclose(pipe.predict(X), plain.predict(rows), atol=1e-9)
        assert type(pipe.estimator_[-1]) is type(regressor)
        np.testing.assert_allclose(pipe.estimator_[-1].coef_, plain.coef_, atol=1e-9)


def test_the_fitted_pipeline_is_one_of_scikit_learn(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame(X, columns=list("abcd"))
    pipe = make_pipeline(StandardScaler(), Ridge()).set_output(transform="pandas")
    ranker = NDCGRanker(pipe).fit(frame, y, qid)
    assert list(ranker.estimator_[-1].feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(ranker.predict(frame), ranker.estimator_.predict(frame))
    rows = StandardScaler().fit_transform(X)
    plain = NDCGRanker(Ridge()).fit(rows, y, qid)
    np.testing.assert_allclose(ranker.predict(frame), plain.predict(rows), atol=1e-9)
    assert pipe[-1].get_params() == Ridge().get_params()
    assert not hasattr(pipe[0], "mean_")


@tags_sparse
@pytest.mark.parametrize("regressor", CLOSED_FORMS, ids=repr)
@pytest.mark.parametrize("step", [MaxAbsScaler(), StandardScaler(with_mean=False)], ids=repr)
def test_sparse_rows_of_steps(regressor, step, data):
    X, y, qid = data
    X = np.where(X > 0.5, X, 0.0)
    ranker = NDCGRanker(make_pipeline(step, regressor))
    dense = clone(ranker).fit(X, y, qid).predict(X)
    sparse = ranker.fit(csr_matrix(X), y, qid).predict(csr_matrix(X))
    np.testing.assert_allclose(sparse, dense, atol=1e-9)


def test_columns_of_categories(data, rng):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame({"kind": rng.choice(list("abc"), len(y)), "price": X[:, 0]})
    columns = ColumnTransformer(
        [("kind", OneHotEncoder(), ["kind"])], remainder="passthrough", sparse_threshold=1.0
    )
    rows = clone(columns).fit_transform(frame)
    assert issparse(rows)
    ranker = NDCGRanker(make_pipeline(columns, Ridge())).fit(frame, y, qid)
    plain = NDCGRanker(Ridge()).fit(rows, y, qid)
    assert ranker.loss_ == "pairwise_squared"
    np.testing.assert_allclose(ranker.predict(frame), plain.predict(rows), atol=1e-9)


class Scaler(StandardScaler):
    """A subclass of a user, which may do anything."""


class Steps(Pipeline):
    """A pipeline of a user."""


@pytest.mark.parametrize(
    "regressor",
    [
        make_pipeline(SelectKBest(f_regression, k=2), Ridge()),
        make_pipeline(TargetEncoder(target_type="continuous"), Ridge()),
        make_pipeline(SelectFromModel(Lasso(0.01)), Ridge()),
        make_pipeline(ColumnTransformer([("a", TargetEncoder(), [0])]), Ridge()),
        make_pipeline(FeatureUnion([("a", SelectKBest(f_regression, k=2))]), Ridge()),
        make_pipeline(make_pipeline(SelectKBest(f_regression, k=2), StandardScaler()), Ridge()),
        make_pipeline(PLSSVD(1), Ridge()),
        make_pipeline(PLSRegression(1), Ridge()),
        make_pipeline(CubeRoots(), Ridge()),
        make_pipeline(ColumnTransformer([("a", CubeRoots(), [0])]), Ridge()),
        make_pipeline(Scaler(), Ridge()),
        make_pipeline(QueryScaler(), Ridge()),
        make_pipeline(LinearColumns(QueryScaler()), Ridge()),
        make_query_pipeline(StandardScaler(), Ridge()),
        Steps([("scaler", StandardScaler()), ("ridge", Ridge())]),
        make_pipeline(StandardScaler(), rooted(Ridge)()),
        make_pipeline(StandardScaler(), RidgeCV()),
        make_pipeline(StandardScaler(), TransformedTargetRegressor(Ridge())),
        make_pipeline(StandardScaler(), None),
        Pipeline([]),
        TransformedTargetRegressor(Ridge()),
    ],
)
def test_what_is_no_closed_form(regressor):
    assert not fits_in_closed_form(regressor)
    assert NDCGRanker(regressor)._plan().loss == "squared"


def test_closed_forms_after_steps_that_read_labels_keep_their_fit(data):
    X, y, qid = data
    pipe = make_pipeline(SelectKBest(f_regression, k=2), Ridge())
    ranker = SpearmanRanker(pipe).fit(X, y, qid)
    queries = check.queries(qid, len(qid))
    targets = queries.ungroup(Spearman().score_targets(queries.group(y), queries))
    expected = clone(pipe).fit(X, targets)
    assert ranker.loss_ == "squared"
    np.testing.assert_allclose(ranker.predict(X), expected.predict(X), atol=1e-9)


#: Transformers of other rows than numbers, and those that contain others.
OTHER_ROWS = {
    *("ColumnTransformer", "DictVectorizer", "FeatureHasher", "FeatureUnion", "HashingVectorizer"),
    *("CountVectorizer", "LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer", "PatchExtractor"),
    *("KernelCenterer", "SparseCoder", "TSNE", "TfidfVectorizer"),
    *("StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"),
}


@pytest.mark.parametrize(
    "cls", [cls for name, cls in all_estimators("transformer") if name not in OTHER_ROWS]
)
@pytest.mark.filterwarnings("ignore")
def test_steps_of_scikit_learn_that_count_as_free_of_labels_are(cls, rng):
    inner = {"estimator": Lasso(0.01)} if "estimator" in signature(cls).parameters else {}
    step = cls(**inner)
    if not fits_in_closed_form(make_pipeline(step, Ridge())):
        return
    small = {"random_state": 0, "n_components": 2, "max_iter": 20}
    step.set_params(**{k: v for k, v in small.items() if k in step.get_params()})
    X = rng.integers(0, 4, size=(40, 6)) + 1.0
    rows = [clone(step).fit_transform(X, rng.normal(size=40)) for _ in range(2)]
    np.testing.assert_array_equal(*(x.toarray() if issparse(x) else x for x in rows))


def test_searches_over_steps_compare_one_loss(data):
    X, y, qid = data
    grid = {
        "estimator__scaler": ["passthrough", StandardScaler(), MaxAbsScaler()],
        "estimator__ridge__alpha": [0.1, 10.0],
    }
    ranker = NDCGRanker(Pipeline([("scaler", StandardScaler()), ("ridge", Ridge())]))
    splits = list(QueryKFold(3).split(X, y, qid))
    search = GridSearchCV(ranker, grid, cv=splits).fit(X, RankingTarget(y, qid))
    assert search.best_estimator_.loss_ == "pairwise_squared"
    plain = NDCGRanker(Ridge(10.0))
    scores = [clone(plain).fit(X[a], y[a], qid[a]).score(X[b], y[b], qid[b]) for a, b in splits]
    number = search.cv_results_["params"].index(
        {"estimator__scaler": "passthrough", "estimator__ridge__alpha": 10.0}
    )
    assert search.cv_results_["mean_test_score"][number] == pytest.approx(np.mean(scores))


def test_passes_have_no_effect_on_a_pipeline_in_closed_form(data):
    ranker = NDCGRanker(make_pipeline(StandardScaler(), Ridge()), n_passes=3)
    with pytest.raises(ValueError, match="n_passes=3 has no effect with estimator=Pipeline"):
        ranker.fit(*data)


def test_errors_of_steps_name_what_they_cannot_read(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(b=np.nan)
    ranker = NDCGRanker(make_pipeline(FunctionTransformer(), Ridge()))
    with pytest.raises(ValueError, match="got none in 'b': drop such columns"):
        ranker.fit(frame, y, qid)


# -- the loss that was used ------------------------------------------------------------------


@pytest.mark.parametrize("ranker", EVERY, ids=ranker_id)
def test_rankers_say_their_loss(ranker, data):
    params = ranker.get_params(deep=False)
    if params.get("loss") is None or "structure" in params:
        return  # or chosen by the members
    X, y, qid = data
    found = fitted(ranker, X, y, qid).loss_
    assert found == params["loss"] or type(found).__name__.lower().startswith(params["loss"][:4])


def test_the_loss_that_none_stands_for(data):
    X, y, qid = data
    trees = HistGradientBoostingRegressor(max_iter=2)
    assert NDCGRanker().fit(X, y, qid).loss_ == "pairwise_squared"
    assert NDCGRanker(trees).fit(X, y, qid).loss_ == "squared"
    assert LeastSquaresRankerCV(cv=2).fit(X, y, qid).loss_ == "pairwise_squared"
    pairs = PairwiseDisagreementRanker(surrogate="pairwise").fit(X, y, qid)
    assert pairs.loss_ == "squared"
    judged = StochasticAggregatedRanker("win_rate", n_updates=5, random_state=0)
    assert judged.fit(X, sample_comparisons(y, qid, random_state=0)).loss_ == "pairwise_squared"
    boosted = BoostedRanker(n_estimators=2, min_samples_leaf=1).fit(X, y, qid)
    assert boosted.loss_ == "pairwise_logistic"
    assert OrderPreservingRanker().fit(X, y, qid).loss_ is not None
    ranker = NDCGRanker(loss="squared").fit(X, y, qid)
    assert ranker.set_params(loss=None).loss_ == "squared"


def test_unranked_items_are_learned_by_squared_errors(rng):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 3))
    y[::4, 1] = np.nan
    assert PairwiseDisagreementRanker().fit(X, y).loss_ == "squared"


# -- parameters that are set for a while -----------------------------------------------------


def test_a_failed_fit_leaves_the_parameters_of_the_regressor(data):
    X, y, _ = data
    regressor = Ridge(max_iter=-1)
    before = regressor.get_params()
    with pytest.raises(ValueError, match="max_iter"):
        fit_regressor(regressor, X, y)
    assert regressor.get_params() == before
    trees = HistGradientBoostingRegressor(max_iter=-1)
    before = trees.get_params()
    with pytest.raises((ValueError, TypeError), match=r"max_iter|X_val"):
        fit_rows(trees, X, y, None, (np.arange(20), np.arange(20, 30)))
    assert trees.get_params() == before
