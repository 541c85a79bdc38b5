"""Columns about the query of a row."""

import warnings

import numpy as np
import pytest
import sklearn
from row_laws import FOUR_KINDS
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AUCRanker,
    AveragePrecisionRanker,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    RecallRanker,
    get_scorer,
)
from skcalrank.data import MissingQidError, OneQueryWarning
from skcalrank.preprocessing import QueryContext

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case

EVERY = ("mean", "std", "min", "max", "size")
BY_NUMPY = {"mean": np.nanmean, "std": np.nanstd, "min": np.nanmin, "max": np.nanmax}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_loops(X, qid, statistics=EVERY):
    rows = []
    for row, q in zip(X, qid):
        own = X[qid == q]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            parts = [
                [len(own)] if name == "size" else BY_NUMPY[name](own, axis=0) for name in statistics
            ]
        rows.append(np.concatenate([row, *parts]))
    return np.array(rows)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("statistics", [EVERY, ["size"], ("max", "mean"), ["std"]], ids=str)
def test_columns_are_those_of_numpy(statistics, missing, data, rng):
    X, _, qid = data
    if missing:
        X = np.where(rng.uniform(size=X.shape) < 0.4, np.nan, X)
        X[qid == 12, 1] = np.nan
    context = QueryContext(statistics).fit(X, qid=qid)
    found, expected = context.transform(X, qid), by_loops(X, qid, statistics)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert found.shape[1] == len(context.get_feature_names_out())
    assert np.array_equal(context.fit_transform(X, qid=qid), found, equal_nan=True)


def test_default_statistics(data):
    X, _, qid = data
    found = QueryContext().fit_transform(X, qid=qid)
    expected = by_loops(X, qid, ("mean", "std", "max", "size"))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_queries_are_transformed_one_by_one_in_any_order(data, rng):
    X, _, qid = data
    context = QueryContext(EVERY).fit(X, qid=qid)
    whole, order = context.transform(X, qid), rng.permutation(len(X))
    np.testing.assert_allclose(context.transform(X[order], qid[order]), whole[order], rtol=1e-12)
    for q in set(qid.tolist()):
        alone = context.transform(X[qid == q], [f"new {q}"] * (qid == q).sum())
        assert np.array_equal(alone, whole[qid == q])


def test_equal_values_have_that_mean_and_no_spread():
    X = np.full((7, 1), 0.1)
    found = QueryContext(EVERY).fit_transform(X, qid=np.zeros(7))
    assert np.array_equal(found[0], [0.1, 0.1, 0.0, 0.1, 0.1, 7.0])


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e150, 1e300, 1e307])
def test_values_at_the_ends_of_the_range(scale):
    x = np.array([[1.0], [-2.0], [16.0], [-15.0], [0.0], [7.0], [np.nan]])
    qid = np.array([1, 1, 2, 2, 2, 3, 3])
    found = QueryContext(EVERY).fit_transform(x * scale, qid=qid)
    expected = by_loops(x, qid, EVERY)
    expected[:, [name != "size" for name in ("x", *EVERY)]] *= scale
    np.testing.assert_allclose(found, expected, rtol=1e-6 if scale < 1e-307 else 1e-12)


def test_single_precision_is_kept(data):
    X, _, qid = data
    found = QueryContext().fit_transform(X.astype(np.float32), qid=qid)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, QueryContext().fit_transform(X, qid=qid), rtol=1e-5)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library, data):
    frames = pytest.importorskip(library)
    X, _, qid = data
    frame = frames.DataFrame(dict(zip("abcd", X.T)))
    context = QueryContext(["mean", "size"]).set_output(transform=library)
    for found in (context.fit_transform(frame, qid=qid), context.transform(frame, qid)):
        assert isinstance(found, frames.DataFrame)
        assert list(found.columns) == [*"abcd", *(f"query_mean_{x}" for x in "abcd"), "query_size"]
        np.testing.assert_allclose(np.asarray(found), by_loops(X, qid, ["mean", "size"]))


def test_queries_without_names(data):
    X, y, qid = data
    with pytest.warns(OneQueryWarning, match="X and no qid"):
        found = QueryContext().fit_transform(X)
    np.testing.assert_allclose(found, QueryContext().fit_transform(X, qid=np.zeros(len(X))))
    with pytest.warns(OneQueryWarning):
        one = QueryContext().fit(X)
    with pytest.warns(OneQueryWarning):
        assert np.array_equal(one.transform(X), found)
    assert QueryContext().fit_transform(X[:1]).shape == (1, 17)
    carried = QueryContext()
    expected = QueryContext().fit_transform(X, qid=qid)
    assert np.array_equal(carried.fit_transform(X, RankingTarget(y, qid)), expected)
    with pytest.raises(MissingQidError, match=r"transform got none\. Pass qid=qid"):
        carried.transform(X)


@pytest.mark.parametrize(
    ("statistics", "message"),
    [("mean", "got 'mean'"), ([], r"got \[\]"), (["median"], r"got \['median'\]"), (3, "got 3")],
)
def test_unknown_statistics(statistics, message, data):
    X, _, qid = data
    with pytest.raises(ValueError, match=f"statistics must be .*{message}"):
        QueryContext(statistics).fit(X, qid=qid)


def test_bad_input_leaves_it_as_it_was(data):
    X, _, qid = data
    context = QueryContext().fit(X, qid=qid)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        context.fit(csr_matrix(X[:, :2]), qid=qid)
    with pytest.raises(ValueError, match="qid"):
        context.fit(X[:, :2], qid=qid[:-1])
    with pytest.raises(ValueError, match="infinity"):
        context.fit(np.where(X > 1, np.inf, X), qid=qid)
    with pytest.raises(ValueError, match="features"):
        context.transform(X[:, :2], qid)
    assert context.transform(X, qid).shape == (32, 17)


# -- around rankers --------------------------------------------------------------------


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "ranker", [RecallRanker(k=1), AUCRanker(), AveragePrecisionRanker(), NDCGRanker()], ids=str
)
def test_an_exact_fit_that_knows_the_query_has_no_regret(ranker):
    X, y, qid, weight = FOUR_KINDS.population()
    rows, queries = FOUR_KINDS.rows()
    ranker.set_params(estimator=DecisionTreeRegressor(random_state=0))
    # Sums of one-hot rows in tenths are rounded, of shares of four documents not.
    asked = ranker.set_fit_request(sample_weight=True)
    pipe = make_pipeline(QueryContext(["mean", "size"]), clone(asked))
    pipe.fit(X, y, qid=qid, sample_weight=weight)
    measure = pipe[-1].record_.measure
    assert FOUR_KINDS.regret(measure, pipe.predict(rows, qid=queries)) < 1e-12
    alone = clone(ranker).fit(X, y, qid, weight).predict(rows)
    assert FOUR_KINDS.regret(measure, alone) > (0.04 if measure.name != "ndcg" else 0.005)


@pytest.mark.usefixtures("routing")
def test_in_tools_of_scikit_learn(data):
    X, y, qid = data
    pipe = make_pipeline(QueryContext(), NDCGRanker(Ridge(), loss="squared"))
    pipe.fit(X, y, qid=qid)
    assert 0 < pipe.score(X, y, qid=qid) <= 1
    with pytest.raises(MissingQidError):
        pipe.predict(X)
    scorer = get_scorer("ndcg@3")
    given = {"cv": QueryKFold(3), "params": {"qid": qid}, "error_score": "raise"}
    found = cross_validate(pipe, X, y, scoring=scorer, **given)
    assert np.isfinite(found["test_score"]).all()
    grid = {"querycontext__statistics": [["mean"], ["size"]]}
    search = GridSearchCV(pipe, grid, cv=QueryKFold(3), scoring=scorer).fit(X, y, qid=qid)
    assert search.best_params_["querycontext__statistics"] in grid["querycontext__statistics"]
