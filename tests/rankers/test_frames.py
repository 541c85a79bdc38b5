"""A table reaches the regressor inside a ranker as the user passed it."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, Ridge, SGDRegressor
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AggregatedRanker,
    AveragePrecisionRanker,
    BoostedRanker,
    CalibratedRankerCV,
    ERRRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    QueryKFold,
    RankingTarget,
    get_scorer,
    train_test_query_split,
)
from skcalrank.data import CutQueriesWarning, NotAMeanWarning
from skcalrank.evaluation import cross_compare
from skcalrank.linear_model import GramRidge
from skcalrank.pipeline import HostedRanker, make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QueryScaler
from skcalrank.structured import LowRankLossClassifier

pandas = pytest.importorskip("pandas")

N_QUERIES, N_DOCUMENTS = 30, 10
SCORERS = [
    NDCGRanker(),
    LeastSquaresRanker("dcg@3"),
    ERRRanker(max_grade=4),
    AveragePrecisionRanker(),
    AggregatedRanker("borda", NDCGRanker()),
]
INSIDE = pytest.mark.parametrize("ranker", SCORERS, ids=lambda r: type(r).__name__)


def trees(**params):
    return HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5, **params)


def by_name():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["shop"]), (numbers, ["price", "age"])
    )
    return make_pipeline(encoded, Ridge())


REGRESSORS = {
    "from_dtype": trees(categorical_features="from_dtype"),
    "categories by name": trees(categorical_features=["shop"]),
    "constraint by name": trees(categorical_features=["shop"], monotonic_cst={"price": -1}),
    "columns by name": by_name(),
}


@pytest.fixture
def columns(rng):
    n = N_QUERIES * N_DOCUMENTS
    return {
        "price": rng.normal(size=n),
        "shop": rng.choice(list("abcdefgh"), size=n),
        "age": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(size=n)),
    }


@pytest.fixture
def table(columns):
    return pandas.DataFrame(columns).astype({"shop": "category"})


@pytest.fixture
def y(columns):
    # Shops that follow each other in the alphabet have nothing in common.
    level = np.array([0, 4, 1, 3, 0, 4, 1, 3])[np.searchsorted(list("abcdefgh"), columns["shop"])]
    return np.clip(level - np.round(columns["price"]), 0, 4)


@pytest.fixture
def qid():
    return np.repeat([f"q{number}" for number in range(N_QUERIES)], N_DOCUMENTS)


def with_regressor(ranker, regressor, **params):
    ranker = clone(ranker)
    inner = ranker.ranker if "ranker" in ranker.get_params(deep=False) else ranker
    inner.set_params(estimator=clone(regressor), **params)
    return ranker


def relevances(ranker, y):
    return (y > 2).astype(float) if isinstance(ranker, AveragePrecisionRanker) else y


@pytest.mark.product
@pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=REGRESSORS)
@INSIDE
def test_a_frame_reaches_the_regressor(ranker, regressor, table, y, qid):
    fitted = with_regressor(ranker, regressor).fit(table, relevances(ranker, y), qid)
    assert list(fitted.feature_names_in_) == list(table.columns)
    scores = fitted.predict(table, qid)
    inner = getattr(fitted, "ranker_", fitted).estimator_
    assert list(inner.feature_names_in_) == list(table.columns)
    np.testing.assert_array_equal(scores, inner.predict(table))
    assert fitted.rank(table, qid).index.equals(table.index)
    assert len(fitted.top_k(table, qid, k=2)) == 2 * N_QUERIES
    assert fitted.score(table, relevances(ranker, y), qid) > 0.75


@pytest.mark.product
@pytest.mark.parametrize("loss", ["squared", "centered", "pairwise_squared"])
@pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=REGRESSORS)
def test_under_every_loss(regressor, loss, table, y, qid):
    ranker = NDCGRanker(regressor, loss=loss).fit(table, y, qid)
    assert ranker.score(table, y, qid) > 0.85


def test_categories_of_numbers_are_no_numbers(table, y, qid):
    table["shop"] = table["shop"].cat.rename_categories(list(range(8)))
    ranker = NDCGRanker(trees(categorical_features="from_dtype", max_leaf_nodes=3)).fit(
        table, y, qid
    )
    assert ranker.estimator_.is_categorical_.tolist() == [False, True, False]
    as_numbers = NDCGRanker(trees(max_leaf_nodes=3)).fit(table.astype(float), y, qid)
    assert ranker.score(table, y, qid) > as_numbers.score(table.astype(float), y, qid)


def test_lightgbm_reads_its_categories(table, y, qid):
    lightgbm = pytest.importorskip("lightgbm")
    regressor = lightgbm.LGBMRegressor(n_estimators=10, min_child_samples=5, n_jobs=1, verbose=-1)
    ranker = NDCGRanker(regressor).fit(table, y, qid)
    targets = ranker._problem(ranker._check_params(), table, y, qid, None)[2]
    alone = clone(regressor).fit(table, targets)
    np.testing.assert_array_equal(ranker.predict(table), alone.predict(table))


def test_frames_of_polars(columns, y, qid):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(columns).with_columns(polars.col("shop").cast(polars.Categorical))
    for regressor in REGRESSORS.values():
        for loss in ("squared", "pairwise_squared"):
            ranker = NDCGRanker(regressor, loss=loss).fit(table, y, qid)
            assert ranker.score(table, y, qid) > 0.85
            assert list(ranker.feature_names_in_) == ["price", "shop", "age"]
    with pytest.raises(ValueError, match=r"categories, text or dates in 'shop'\. Use"):
        NDCGRanker().fit(table, y, qid)
    with pytest.raises(ValueError, match="infinity in column 'price'"):
        ranker.predict(table.with_columns(price=np.inf))


def dated(columns, library):
    """A table with text and dates, of some library."""
    days = (
        np.datetime64("2024-01-01", "us") + np.arange(len(columns["price"])) % 28 * 86_400_000_000
    )
    columns = {**columns, "day": days}
    if library == "pandas":
        return pandas.DataFrame(columns)
    module = pytest.importorskip("polars" if library == "polars" else "pyarrow")
    if library == "polars":
        return module.DataFrame(columns)
    table = module.table(columns)
    return table if library == "pyarrow" else table.combine_chunks().to_batches()[0]


@pytest.mark.every_case
@pytest.mark.parametrize("library", ["polars", "pyarrow", "batch"])
def test_tables_pass_through_to_a_ranker_that_reads_them(library, columns, y, qid):
    boosted = BoostedRanker(engine="sklearn", n_estimators=3, random_state=0)
    table, frame = dated(columns, library), dated(columns, "pandas")
    for around in (
        CalibratedRankerCV(boosted, cv=2),
        make_query_pipeline(QueryScaler(append=True), boosted),
    ):
        expected = clone(around).fit(frame, y, qid).predict(frame, qid)
        scores = clone(around).fit(table, y, qid).predict(table, qid)
        np.testing.assert_allclose(scores, expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"categories, text or dates in 'shop', 'day'\. Use"):
        NDCGRanker().fit(table, y, qid)


@pytest.mark.every_case
@pytest.mark.parametrize("library", ["polars", "pyarrow", "batch"])
def test_columns_of_numbers_have_names(library, columns, y, qid):
    numbers = {"price": columns["price"], "size": columns["price"] ** 2}
    table = dated(numbers, library)
    numbers_alone = table[["price", "size"]] if library == "polars" else table.select([0, 1])
    ranker = NDCGRanker().fit(numbers_alone, y, qid)
    assert ranker.feature_names_in_.tolist() == ["price", "size"]
    swapped = table[["size", "price"]] if library == "polars" else table.select([1, 0])
    with pytest.raises(ValueError, match="names must be in the same order"):
        ranker.predict(swapped)
    train, test = train_test_query_split(numbers_alone, qid=qid, random_state=0)[:2]
    assert len(ranker.predict(train)) + len(ranker.predict(test)) == len(y)
    means = [
        cross_compare({"ridge": NDCGRanker()}, X, y, qid, ["ndcg"], cv=3).estimates[0].mean
        for X in (numbers_alone, pandas.DataFrame(numbers))
    ]
    assert means[0] == pytest.approx(means[1])


def test_arrays_of_objects(columns, y, qid):
    X = np.empty((len(y), 2), dtype=object)
    X[:, 0], X[:, 1] = columns["shop"], columns["price"]
    encoded = make_column_transformer((OneHotEncoder(), [0]), remainder="passthrough")
    ranker = NDCGRanker(make_pipeline(encoded, Ridge())).fit(X, y, qid)
    assert ranker.score(X, y, qid) > 0.85
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        NDCGRanker(DecisionTreeRegressor()).fit(X[:, 1:], y, qid)


def test_held_out_queries_of_a_table(table, y, qid):
    stops = trees(early_stopping=True, categorical_features="from_dtype", random_state=0)
    pytest.importorskip("sklearn", minversion="1.7")
    ranker = NDCGRanker(stops).fit(table, y, qid)
    assert len(ranker.estimator_.validation_score_) > 1
    behind = make_pipeline(OrdinalEncoder(), stops.set_params(categorical_features=None))
    with pytest.warns(CutQueriesWarning):
        NDCGRanker(behind).fit(table, y, qid)


def test_label_ranking_form(table, rng):
    y = rng.integers(5, size=(len(table), 3))
    for regressor in (REGRESSORS["from_dtype"], by_name()):
        for loss in ("squared", "pairwise_squared"):
            ranker = NDCGRanker(regressor, loss=loss).fit(table, y)
            assert ranker.rank(table).shape == (len(table), 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
def test_chunks_of_a_frame_of_numbers(library, loss, data):
    frames = pytest.importorskip(library)
    X, y, qid = data
    frame = frames.DataFrame(dict(zip("abcd", X.T)))
    by_array = NDCGRanker(SGDRegressor(random_state=0), loss=loss)
    by_frame = clone(by_array)
    for _ in range(2):
        by_array.partial_fit(X, y, qid)
        by_frame.partial_fit(frame, y, qid)
    np.testing.assert_allclose(by_frame.predict(frame), by_array.predict(X), rtol=1e-10)


@pytest.mark.parametrize("regressor", [Lasso(0.01), DecisionTreeRegressor(random_state=0)])
@pytest.mark.parametrize("loss", ["squared", "centered", "pairwise_squared"])
def test_frames_of_numbers_are_as_arrays(regressor, loss, data):
    X, y, qid = data
    frame = pandas.DataFrame(X, columns=list("abcd"))
    ranker = NDCGRanker(regressor, loss=loss).fit(frame, y, qid)
    expected = clone(ranker).fit(X, y, qid).predict(X)
    np.testing.assert_allclose(ranker.predict(frame), expected, rtol=1e-10)


class Rounding(RegressorMixin, BaseEstimator):
    """Predictions of equal rows that differ by rounding."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return 1.0 + np.arange(len(X)) * 1e-15


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_equal_rows_tie(library):
    frames = pytest.importorskip(library)
    table = frames.DataFrame({"a": ["x", "y", "x", "y"], "b": [1.0, None, 1.0, None]})
    ranker = NDCGRanker(Rounding()).fit(table, [0, 1, 2, 0], [0] * 4)
    found = ranker.predict(table)
    assert found[0] == found[2] != found[1] == found[3]


def test_rows_that_cannot_be_compared_are_left_alone():
    table = pandas.DataFrame({"a": ["x", 1, [2], "x"]})
    ranker = NDCGRanker(Rounding()).fit(table, [0, 1, 2, 0], [0] * 4)
    assert len(set(ranker.predict(table))) == 4


@pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=REGRESSORS)
def test_classes_of_a_table(regressor, table, y):
    classes = np.where(y > 2, "good", "bad")
    model = LowRankLossClassifier(estimator=regressor).fit(table, classes)
    assert (model.predict(table) == classes).mean() > 0.8
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(table, classes[1:])
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(table, np.where(y > 2, np.nan, y))
    with pytest.raises(ValueError, match=r"dates in 'shop'\. Use"):
        LowRankLossClassifier().fit(table, classes)


def test_one_value_for_all_rows_of_a_table(table, y, qid):
    deaf = NDCGRanker(DummyRegressor()).fit(table, y, qid)
    with pytest.warns(NotAMeanWarning, match="DummyRegressor predicts one value"):
        deaf.predict(table)
    alike = table.iloc[[0] * 50]
    assert len(set(deaf.predict(alike))) == 1


def test_partitions_of_a_table(table, y, qid):
    frames = pytest.importorskip("dask.dataframe")
    ranker = NDCGRanker(REGRESSORS["from_dtype"]).fit(table, y, qid)
    found = ranker.predict(frames.from_pandas(table, npartitions=3)).compute()
    np.testing.assert_array_equal(found.to_numpy(), ranker.predict(table))


# -- what is checked -------------------------------------------------------------------


@pytest.mark.parametrize("regressor", REGRESSORS.values(), ids=REGRESSORS)
def test_what_is_wrong_with_a_table(regressor, table, y, qid):
    ranker = NDCGRanker(regressor).fit(table, y, qid)
    before = vars(ranker).copy()
    with pytest.raises(ValueError, match="infinity in column 'price'"):
        ranker.fit(table.assign(price=np.inf), y, qid)
    with pytest.raises(ValueError, match="Complex data not supported: column 'age'"):
        ranker.fit(table.assign(age=1j), y, qid)
    with pytest.raises(ValueError, match="feature names should match"):
        ranker.predict(table[["shop", "price", "age"]])
    with pytest.raises(ValueError, match=r"Feature names unseen|feature names should match"):
        ranker.predict(table.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="qid must have 0 entries, one for each of the rows"):
        ranker.predict(table.head(0), qid)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        ranker.fit(table[[]], y, qid)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ranker.fit(table, y[1:], qid)
    with pytest.raises(ValueError, match=r"y cannot be None|y to be passed"):
        ranker.fit(table, None, qid)
    assert vars(ranker) == before


LINEAR = [
    NDCGRanker(),
    NDCGRanker(Ridge()),
    NDCGRanker(LinearRegression()),
    NDCGRanker(GramRidge()),
    LeastSquaresRankerCV("ndcg"),
    OrderPreservingRanker("ndcg"),
]


@pytest.mark.parametrize("ranker", LINEAR, ids=str)
@pytest.mark.parametrize("kind", ["category", "object", "string"])
def test_a_linear_ranker_names_the_columns_to_encode(ranker, kind, table, y, qid):
    table = table.fillna({"age": 0.0}).astype({"shop": kind}).assign(brand="acme")
    with pytest.raises(ValueError, match=r"dates in 'shop', 'brand'\. Use .*LinearColumns"):
        ranker.fit(table, y, qid)
    numbers = table.assign(shop=pandas.Categorical([1] * len(y)))[["price", "shop"]]
    with pytest.raises(ValueError, match="categories, text or dates in 'shop'"):
        ranker.fit(numbers, y, qid)


@pytest.mark.parametrize("ranker", [*LINEAR, make_query_pipeline(QueryScaler(), NDCGRanker())])
def test_a_ranker_of_numbers_tells_what_reads_dicts(ranker, table, y, qid):
    table = table[["price"]].assign(search=[f"q{number}" for number in qid])
    records = table.to_dict("records")
    prices = [{"price": row["price"]} for row in records]
    said = (
        r"^X must hold numbers, got dicts\. Use TabularRanker or BoostedRanker, which read them, .*"
    )
    with pytest.raises(ValueError, match=said):
        clone(ranker).fit(prices, y, qid)
    fitted = clone(ranker).fit(table[["price"]], y, qid)
    hosted = HostedRanker(ranker, qid_column="search")
    with pytest.raises(ValueError, match=said):
        hosted.fit(records, y)
    hosted.fit(table, y)
    for n_rows in (1, len(y)):
        with pytest.raises(ValueError, match=said):
            fitted.predict(prices[:n_rows], qid[:n_rows])
        with pytest.raises(ValueError, match=said):
            hosted.predict(records[:n_rows])
    make_query_pipeline(LinearColumns(), ranker).fit(prices, y, qid)  # the other remedy


@pytest.mark.parametrize("ranker", LINEAR, ids=str)
def test_a_linear_ranker_names_the_columns_to_fill(ranker, table, y, qid):
    numbers = table[["price", "age"]].assign(size=1.0)
    said = r"X contains NaN in the column%s\. Use TabularRanker .*LinearColumns"
    with pytest.raises(ValueError, match=said % " 'age'"):
        ranker.fit(numbers, y, qid)
    fitted = clone(ranker).fit(numbers.fillna(0.0), y, qid)
    holed = numbers.assign(size=np.nan)
    with pytest.raises(ValueError, match=said % "s 'age', 'size'"):
        fitted.predict(holed, qid)
    make_query_pipeline(LinearColumns(), ranker).fit(numbers, y, qid)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix, np.ndarray.tolist])
def test_missing_values_of_an_array_have_the_numbers_of_columns(form, y, qid):
    X = np.where(np.arange(20) < 13, 1.0, np.nan) * np.ones((len(y), 1))
    with pytest.raises(ValueError, match=r"columns 13, 14, 15, 16, 17, 18, 19\. Use"):
        NDCGRanker().fit(form(X), y, qid)
    X[:, :13] = np.nan
    with pytest.raises(ValueError, match=r"columns 0, 1, .* 9, \.\.\.\. Use"):
        NDCGRanker().fit(form(X), y, qid)


@pytest.mark.every_case
@pytest.mark.parametrize("fill", [np.nan, 0.0, 1.0])
def test_sparse_frames_are_read_whatever_they_leave_out(fill, rng, y, qid):
    X = rng.choice([0.0, 1.0, 2.5], size=(len(y), 2))
    sparse = pandas.DataFrame(
        {k: pandas.arrays.SparseArray(X[:, k], fill_value=fill) for k in range(2)}
    )
    expected = NDCGRanker().fit(X, y, qid).predict(X)
    np.testing.assert_allclose(NDCGRanker().fit(sparse, y, qid).predict(sparse), expected)
    expected = QueryScaler().fit_transform(X, qid=qid)
    np.testing.assert_allclose(QueryScaler().fit_transform(sparse, qid=qid), expected)


def test_a_linear_ranker_names_dates(table, y, qid):
    dates = table.assign(since=pandas.Timestamp("2024-01-01"), ago=pandas.Timedelta("1D"))
    with pytest.raises(ValueError, match="categories, text or dates in 'since', 'ago'"):
        NDCGRanker().fit(dates[["price", "since", "ago"]], y, qid)


def test_the_remedy_works(table, y, qid):
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoded = make_column_transformer((encode, ["shop"]), remainder="passthrough")
    pipe = make_pipeline(encoded, NDCGRanker())
    scorer = get_scorer("ndcg@3")
    found = cross_val_score(
        pipe, table.fillna({"age": 0.0}), RankingTarget(y, qid), cv=QueryKFold(3), scoring=scorer
    )
    assert (found > 0.8).all()


def test_features_of_pairs_need_numbers(table, y, qid):
    ranker = AveragePrecisionRanker(trees(), surrogate="pairwise", pair_features="difference")
    with pytest.raises(ValueError, match="categories, text or dates in 'shop'"):
        ranker.fit(table, y > 2, qid)


def test_in_a_search_over_whole_queries(table, y, qid):
    scorer = get_scorer("ndcg@3")
    given = {"cv": QueryKFold(3), "scoring": scorer, "error_score": "raise"}
    ranker = NDCGRanker(REGRESSORS["from_dtype"])
    assert (cross_val_score(ranker, table, RankingTarget(y, qid), **given) > 0.7).all()


@pytest.mark.parametrize("form", ["frame", "array"])
def test_columns_without_values_are_named(form, table, y, qid):
    X = table[["price", "age"]].assign(void=np.nan)
    X = X if form == "frame" else X.to_numpy()
    name = "'void'" if form == "frame" else "2"
    try:
        trees().fit(X, y)
    except ValueError:
        pass
    else:
        pytest.skip("these versions of scikit-learn and numpy take columns without values")
    for regressor in (trees(), trees(early_stopping=True)):
        with pytest.raises(ValueError, match=f"got none in {name}: drop"):
            NDCGRanker(regressor).fit(X, y, qid)
