"""Features scaled within the query."""

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from scipy.sparse import csr_matrix
from scipy.stats import rankdata
from sklearn.compose import make_column_transformer

from skcalrank import NDCGRanker, RankingTarget
from skcalrank.data import MissingQidError, OneQueryWarning
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryContext, QueryScaler

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case

METHODS = ("standard", "minmax", "rank")
every_method = pytest.mark.parametrize("method", METHODS)


def of_one_query(x, method):
    """By the definition, of one feature of one query."""
    known = x[~np.isnan(x)]
    if len(known) == 0 or known.min() == known.max():
        return x * 0.0
    if method == "standard":
        return (x - known.mean()) / known.std()
    x = x if method == "minmax" else rankdata(x, nan_policy="omit")
    return (x - np.nanmin(x)) / (np.nanmax(x) - np.nanmin(x))


def by_loops(X, qid, method):
    out = np.empty(X.shape)
    for q in np.unique(qid):
        for j in range(X.shape[1]):
            out[qid == q, j] = of_one_query(X[qid == q, j], method)
    return out


@pytest.fixture
def given(rng):
    """Features with ties, missing values and constants, queries in any order."""
    qid = rng.permutation(np.repeat(["a", "b", "c", "d", "e"], [1, 2, 5, 9, 13]))
    X = np.column_stack([rng.normal(size=30), rng.integers(3, size=30), rng.normal(size=30)])
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    X[qid == "c", 2], X[qid == "d", 0] = np.nan, 7.1
    return X, qid


@every_method
def test_each_query_by_itself(method, given):
    X, qid = given
    found = QueryScaler(method).fit_transform(X, qid=qid)
    np.testing.assert_allclose(found, by_loops(X, qid, method), rtol=1e-12, atol=1e-14)
    assert np.array_equal(np.isnan(found), np.isnan(X))
    fresh = QueryScaler(method).transform(X, qid)
    np.testing.assert_array_equal(fresh, found)


@every_method
def test_a_part_of_a_query_is_scaled_by_itself(method, given):
    X, qid = given
    scaler, part = QueryScaler(method).fit(X, qid=qid), np.arange(0, 30, 2)
    found = scaler.transform(X[part], qid[part])
    np.testing.assert_allclose(found, by_loops(X[part], qid[part], method), rtol=1e-12, atol=1e-14)


@every_method
def test_constant_features_are_zero(method):
    X = np.array([[0.1, 3.0], [0.1, 5.0], [0.1, np.nan]])
    found = QueryScaler(method).fit_transform(X, qid=[1, 1, 1])
    assert found[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert QueryScaler(method).fit_transform([[5.0]], qid=[1]).tolist() == [[0.0]]


def test_equal_values_share_the_mean_of_their_ranks():
    X = np.array([[1.0], [2.0], [2.0], [9.0], [-0.0], [0.0]])
    found = QueryScaler("rank").fit_transform(X, qid=np.zeros(6)).ravel()
    np.testing.assert_allclose(found, np.array([1.5, 3.0, 3.0, 4.5, 0.0, 0.0]) / 4.5)
    # Values that are tiny beside others are not equal.
    found = QueryScaler("rank").fit_transform([[1e200], [1e-200], [2e-200], [5.0]], qid=np.zeros(4))
    np.testing.assert_allclose(found.ravel(), [1, 0, 1 / 3, 2 / 3])


@every_method
@pytest.mark.parametrize("scale", [1e-308, 1e150, 1e308])
def test_values_at_the_ends_of_the_range(method, scale):
    X = np.array([[-1.0], [0.5], [1.0], [0.0]])
    expected = QueryScaler(method).fit_transform(X, qid=np.zeros(4))
    found = QueryScaler(method).fit_transform(X * scale, qid=np.zeros(4))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@every_method
def test_single_precision_is_kept(method, given):
    X, qid = given
    found = QueryScaler(method).fit_transform(X.astype(np.float32), qid=qid)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_loops(X, qid, method), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library, given):
    frames = pytest.importorskip(library)
    X, qid = given
    frame = frames.DataFrame(dict(zip("abc", X.T)))
    scaler = QueryScaler("rank").set_output(transform=library)
    for found in (scaler.fit_transform(frame, qid=qid), scaler.transform(frame, qid)):
        assert list(found.columns) == list(scaler.get_feature_names_out()) == list("abc")
        np.testing.assert_allclose(np.asarray(found), by_loops(X, qid, "rank"))
    text = frame.assign(d="x") if library == "pandas" else frame.with_columns(d=frames.lit("x"))
    with pytest.raises(ValueError, match="categories, text or dates in 'd'"):
        scaler.fit(text, qid=qid)


def test_what_is_wrong(given):
    X, qid = given
    scaler = QueryScaler().fit(X, RankingTarget(np.zeros(30), qid))
    before = vars(scaler).copy()
    with pytest.raises(MissingQidError, match=r"transform got none\. Pass qid=qid"):
        scaler.transform(X)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        scaler.fit(csr_matrix(np.nan_to_num(X)), qid=qid)
    with pytest.raises(ValueError, match="infinity"):
        scaler.fit(np.where(np.isnan(X), np.inf, X), qid=qid)
    with pytest.raises(ValueError, match="'method' parameter of QueryScaler must be"):
        QueryScaler("max").fit(X, qid=qid)
    with pytest.raises(ValueError, match="features"):
        scaler.transform(X[:, :2], qid)
    assert vars(scaler) == before
    with pytest.warns(OneQueryWarning, match="X and no qid"):
        found = QueryScaler().fit_transform(X)
    np.testing.assert_array_equal(found, QueryScaler().fit_transform(X, qid=np.zeros(30)))


def test_some_columns_by_name(given):
    sklearn, pandas = pytest.importorskip("sklearn"), pytest.importorskip("pandas")
    X, qid = given
    frame = pandas.DataFrame(X, columns=list("abc"))
    some = make_column_transformer((QueryScaler("minmax"), ["c", "a"]), remainder="passthrough")
    with sklearn.config_context(enable_metadata_routing=True):
        found = some.fit_transform(frame, qid=qid)
    np.testing.assert_allclose(found[:, :2], by_loops(X[:, [2, 0]], qid, "minmax"))
    np.testing.assert_array_equal(found[:, 2], X[:, 1])


# -- columns beside the features -------------------------------------------------------------


@every_method
def test_scaled_numbers_are_appended(method, given):
    X, qid = given
    X[qid == "b", 0] = 3.0
    expected = np.hstack([X, by_loops(X, qid, method)])
    scaler = QueryScaler(method, append=True)
    for found in (scaler.fit_transform(X, qid=qid), scaler.transform(X, qid)):
        np.testing.assert_allclose(found, expected, atol=6e-5)
        np.testing.assert_array_equal(found[:, :3], X)
        np.testing.assert_array_equal(found[:, 3:], np.round(found[:, 3:], 4))
    names = ["x0", "x1", "x2", "x0_in_query", "x1_in_query", "x2_in_query"]
    assert scaler.get_feature_names_out().tolist() == names
    single = QueryScaler(method, append=True).fit_transform(X.astype(np.float32), qid=qid)
    assert single.dtype == np.float32
    # Neither the order of rows nor missing values of other queries move a bit of a score.
    order, alone = np.random.default_rng(0).permutation(30), qid == "e"
    np.testing.assert_array_equal(scaler.transform(X[order], qid[order])[:, 3:], found[order, 3:])
    np.testing.assert_array_equal(scaler.transform(X[alone], qid[alone])[:, 3:], found[alone, 3:])


@pytest.mark.parametrize("library", ["pandas", "polars", "objects"])
def test_tables_keep_their_other_columns(library, given):
    X, qid = given
    columns = {"a": X[:, 0], "text": ["x", "y", None] * 10, "digits": ["01", "2", "3"] * 10}
    columns |= {"b": [None if np.isnan(x) else int(x) for x in X[:, 1]], "flag": [True, False] * 15}
    if library == "objects":
        table = np.array(list(zip(*columns.values())), dtype=object)
    else:
        table = pytest.importorskip(library).DataFrame(columns)
    scaler = QueryScaler(append=True)
    numbers = np.column_stack([X[:, :2], np.tile([1.0, 0.0], 15)])
    for found in (scaler.fit_transform(table, qid=qid), scaler.transform(table, qid)):
        assert type(found) is type(table)
        appended = np.asarray(found)[:, 5:].astype(float)
        np.testing.assert_allclose(appended, by_loops(numbers, qid, "standard"), atol=6e-5)
        kept = found[:, :5] if library == "objects" else found[list(columns)]
        assert str(kept) == str(table)
    if library == "objects":
        return
    names = [*columns, "a_in_query", "b_in_query", "flag_in_query"]
    assert list(found.columns) == scaler.get_feature_names_out().tolist() == names
    found = scaler.set_output(transform=library).transform(table, qid)
    assert list(found.columns) == names
    ranker = make_query_pipeline(QueryScaler(append=True), boosted(FIRST, n_estimators=3))
    ranker.fit(table, np.arange(30) % 5 // 2, qid)
    assert ranker[-1].feature_names_in_.tolist() == names
    assert ranker.predict(table, qid).shape == (30,)


def test_values_far_from_zero_keep_their_spread(rng):
    steps, qid = rng.integers(0, 9, 40).astype(float), np.arange(40) // 10
    X = np.column_stack([1e15 + steps, np.where(steps > 3, np.nan, steps)])
    scaled = QueryScaler().fit_transform(steps[:, None], qid=qid)[:, 0]
    np.testing.assert_allclose(QueryScaler().fit_transform(X, qid=qid)[:, 0], scaled, atol=1e-12)
    of_query = QueryContext(["std"]).fit_transform(X, qid=qid)[:, 2]
    np.testing.assert_allclose(of_query, np.repeat(steps.reshape(4, 10).std(axis=1), 10))


@pytest.mark.parametrize("n_rows", [10, 600])  # pandas has levels of many objects
def test_objects_that_are_numbers_are_appended_in_tables_of_any_size(n_rows):
    pandas = pytest.importorskip("pandas")
    columns = {"flag": [True, None, False, True, False], "count": [9, pandas.NA, 7, 9, 7]}
    columns |= {"text": ["x", None, "y", "x", "1"], "pair": [(1, 2), None, (3, 4), (5, 6), (7, 8)]}
    objects = {name: pandas.Series(v * (n_rows // 5), dtype=object) for name, v in columns.items()}
    found = QueryScaler(append=True).fit_transform(
        pandas.DataFrame(objects), qid=np.arange(n_rows) // 5
    )
    assert list(found) == [*columns, "flag_in_query", "count_in_query"]
    for scaled in (found["flag_in_query"], found["count_in_query"]):
        np.testing.assert_array_equal(scaled[:5], [1.0, np.nan, -1.0, 1.0, -1.0])


@pytest.mark.parametrize("as_frame", [False, True])
def test_columns_that_are_appended_twice_have_two_names(as_frame, given):
    X, qid = given
    table = pytest.importorskip("pandas").DataFrame(X[:, :1], columns=["x0"])
    twice = make_query_pipeline(QueryScaler("rank", append=True), QueryScaler(append=True))
    found = twice.set_output(transform="pandas").fit_transform(
        table if as_frame else X[:, :1], qid=qid
    )
    names = ["x0", "x0_in_query", "x0_in_query_2", "x0_in_query_in_query"]
    assert found.columns.tolist() == twice.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("names", [[0, 1, 2], [7, 3, 4]])
def test_columns_with_numbers_for_names_get_more_of_them(names, rng):
    pandas = pytest.importorskip("pandas")
    X, y, qid = rng.normal(size=(40, 3)), np.arange(40) % 3, np.arange(40) // 5
    frame = pandas.DataFrame(X, columns=names, index=np.arange(40) // 2)
    ranker = make_query_pipeline(QueryScaler(append=True), NDCGRanker())
    expected = ranker.fit(X, y, qid).predict(X, qid)
    np.testing.assert_allclose(ranker.fit(frame, y, qid).predict(frame, qid), expected)
    columns = ranker[0].transform(frame, qid=qid).columns.tolist()
    assert columns[:3] == names
    assert len(set(columns)) == 6


def test_what_cannot_be_appended(given):
    pandas = pytest.importorskip("pandas")
    X, qid = given
    frame = pandas.DataFrame(X, columns=list("abc"))
    scaler = QueryScaler(append=True).fit(frame, qid=qid)
    with pytest.raises(ValueError, match="Column 'b' of X must hold numbers, as in fit"):
        scaler.transform(frame.assign(b="high"), qid)
    with pytest.raises(ValueError, match="infinity in column 'c'"):
        scaler.transform(frame.assign(c=np.inf), qid)
    with pytest.raises(ValueError, match="'append' parameter of QueryScaler must be"):
        QueryScaler(append="yes").fit(frame, qid=qid)
    texts = pandas.DataFrame({"brand": ["x", "y"] * 15})
    assert QueryScaler(append=True).fit_transform(texts, qid=qid).equals(texts)
