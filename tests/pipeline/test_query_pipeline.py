"""A pipeline that passes the queries to every step."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import rankers
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Lasso, Ridge, SGDRegressor
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler, TargetEncoder

from skcalrank import (
    AggregatedRanker,
    AveragePrecisionRanker,
    CalibratedRankerCV,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    get_scorer,
    sample_comparisons,
    sample_sessions,
)
from skcalrank.data import MissingQidError
from skcalrank.inspection import explain_order
from skcalrank.persistence import load_model, save_model
from skcalrank.pipeline import QueryPipeline, make_query_pipeline
from skcalrank.preprocessing import (
    LinearColumns,
    QuantileHinges,
    QueryContext,
    QueryScaler,
    TableEncoder,
)

SCORER = get_scorer("ndcg@3")


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


@pytest.fixture
def scaled(data):
    X, _, qid = data
    return QueryScaler("minmax").fit_transform(X, qid=qid)


def pipeline():
    return make_query_pipeline(QueryScaler("minmax"), NDCGRanker())


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ranker", [NDCGRanker(), NDCGRanker(Lasso(0.01), loss="squared")])
def test_every_method_sees_whole_queries(ranker, data, scaled):
    X, y, qid = data
    pipe, alone = make_query_pipeline(QueryScaler("minmax"), ranker), clone(ranker)
    assert pipe.fit(X, y, qid) is pipe
    alone.fit(scaled, y, qid)
    for method in ("predict", "surrogate_values", "rank", "top_k"):
        expected = getattr(alone, method)(scaled, qid)
        np.testing.assert_array_equal(getattr(pipe, method)(X, qid), expected)
        np.testing.assert_array_equal(getattr(pipe, method)(X, qid=qid), expected)
    inner = pipe[-1].surrogate_values(pipe[:-1].transform(X, qid))
    np.testing.assert_array_equal(pipe.surrogate_values(X, qid), inner)
    best = alone.top_k(scaled, qid, k=1)
    np.testing.assert_array_equal(pipe.top_k(X, qid, k=1), best)
    frame = pytest.importorskip("pandas").DataFrame(X, index=np.arange(len(X)) + 7)
    np.testing.assert_array_equal(pipe.top_k(frame, qid, k=1), best + 7)
    assert pipe.score(X, y, qid) == alone.score(scaled, y, qid)
    np.testing.assert_array_equal(pipe[:-1].transform(X, qid), scaled)
    np.testing.assert_array_equal(pipe[:-1].fit_transform(X, y, qid), scaled)
    assert not hasattr(pipe, "transform")


@pytest.mark.usefixtures("routing")
def test_the_target_carries_the_qid(data, scaled):
    X, y, qid = data
    expected = NDCGRanker().fit(scaled, y, qid)
    pipe = pipeline().fit(X, RankingTarget(y, qid))
    np.testing.assert_array_equal(pipe.predict(X, qid), expected.predict(scaled))
    assert pipe.score(X, RankingTarget(y, qid)) == expected.score(scaled, y, qid)
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(y, index=pandas.Index(qid, name="qid"))
    pipe = pipeline().fit(X, series)
    np.testing.assert_array_equal(pipe.predict(X, qid), expected.predict(scaled))
    with pytest.raises(ValueError, match="qid must equal"):
        pipe.fit(X, RankingTarget(y, qid), qid[::-1])


@pytest.mark.parametrize(
    "reader", [LinearColumns(), LinearColumns(QuantileHinges()), TableEncoder()]
)
def test_readers_of_tables_see_the_qid(reader, data):
    X, y, qid = data
    rows = [
        {"price": x, "kind": "abc"[k % 3], "query": q} for k, (x, q) in enumerate(zip(X[:, 0], qid))
    ]
    with pytest.warns(UserWarning, match="'query' of X is left out: it holds the qid"):
        make_query_pipeline(reader, NDCGRanker()).fit(rows, y, qid)


class Centered(TransformerMixin, BaseEstimator):
    """Written by a user: takes a qid, and inherits fit_transform."""

    def fit(self, X, y=None, qid=None):
        return self

    def transform(self, X, qid=None):
        assert qid is not None
        codes = np.unique(qid, return_inverse=True)[1]
        return X - (np.eye(codes.max() + 1)[codes] @ _means(X, codes))


def _means(X, codes):
    return np.array([X[codes == q].mean(axis=0) for q in range(codes.max() + 1)])


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "step",
    [
        Centered(),
        make_pipeline(QueryContext(), StandardScaler()),
        make_query_pipeline("passthrough", QueryContext()),
        make_query_pipeline(QueryContext(), "passthrough"),
        make_column_transformer((QueryScaler(), [0, 2]), remainder="passthrough"),
        SelectFromModel(NDCGRanker(alpha=1.0)),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_of_every_kind(step, data):
    X, y, qid = data
    pipe = make_query_pipeline(StandardScaler(), "passthrough", step, NDCGRanker())
    pipe.fit(X, y, qid)
    with sklearn.config_context(enable_metadata_routing=True):
        inner, params = pipe[2], {} if isinstance(step, SelectFromModel) else {"qid": qid}
        seen = inner.transform(StandardScaler().fit_transform(X), **params)
    np.testing.assert_allclose(pipe.predict(X, qid), pipe[-1].predict(seen))
    np.testing.assert_array_equal(pipe[:2].transform(X), pipe[0].transform(X))
    if params:
        with pytest.raises(MissingQidError, match=r"step '.*' needs it"):
            pipe.predict(X)
    else:
        assert pipe.predict(X).shape == y.shape


def test_encoders_that_read_the_target(data):
    # scikit-learn's does not fit with routing on, which steps without metadata do not need.
    X, y, qid = data
    names = np.array(["a", "b", "c"])[np.digitize(X[:, :1], [-0.5, 0.5])]
    pipe = make_query_pipeline(TargetEncoder(target_type="continuous"), NDCGRanker())
    scores = pipe.fit(names, y, qid).predict(names, qid)
    assert len(np.unique(scores)) == len(np.unique(names))


class Unseen(TransformerMixin, BaseEstimator):
    """An encoder that hides from each row of the fit its own label, as TargetEncoder does."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def transform(self, X):
        return X + self.mean_

    def fit_transform(self, X, y):
        return X + (self.fit(X, y).mean_ * len(y) - np.asarray(y)[:, None]) / (len(y) - 1)


@pytest.mark.parametrize("last", [MinMaxScaler(), Unseen(), None, "passthrough"])
def test_rows_of_the_fit_are_not_encoded_by_their_own_labels(last, data):
    X, y, qid = data
    steps = [("encode", Unseen())] + [("last", last)] * (last is not None)
    expected = Pipeline(steps).fit_transform(X, y)
    inner = QueryPipeline(steps)
    np.testing.assert_array_equal(inner.fit_transform(X, y, qid), expected)
    ranker = QueryPipeline([("encode", inner), ("rank", NDCGRanker())]).fit(X, y, qid)
    np.testing.assert_array_equal(ranker[-1].coef_, NDCGRanker().fit(expected, y, qid).coef_)


@pytest.mark.filterwarnings("ignore:y should have at least 10 queries")
def test_probabilities_of_the_last_step(data):
    X, y, qid = data
    pipe = make_query_pipeline(QueryScaler(), CalibratedRankerCV(NDCGRanker())).fit(X, y, qid)
    np.testing.assert_array_equal(pipe.predict_proba(X, qid)[:, 1], pipe.predict(X, qid))
    with pytest.raises(MissingQidError, match="predict_proba got none"):
        pipe.predict_proba(X)


def test_refused_requests_are_kept(data):
    X, y, qid = data
    with sklearn.config_context(enable_metadata_routing=True):
        deaf = QueryScaler().set_transform_request(qid=False).set_fit_request(qid=False)
    with pytest.warns(UserWarning, match="no qid"):
        make_query_pipeline(deaf, NDCGRanker()).fit(X, y, qid)


@pytest.mark.usefixtures("routing")
def test_weights_go_to_the_ranker(data, scaled, rng):
    X, y, qid = data
    weight = rng.uniform(size=len(y))
    pipe = make_query_pipeline(StandardScaler(), QueryScaler("minmax"), NDCGRanker())
    pipe.fit(X, y, qid, weight)
    expected = NDCGRanker().fit(scaled, y, qid, weight)
    np.testing.assert_allclose(pipe.predict(X, qid), expected.predict(scaled), rtol=1e-8)
    found = pipe.score(X, y, qid, sample_weight=weight)
    assert found == pytest.approx(expected.score(scaled, y, qid, sample_weight=weight))
    with pytest.raises(TypeError, match="the last step 'selectfrommodel' does not accept it"):
        make_query_pipeline(SelectFromModel(Lasso())).fit(X, y, qid, weight)


def test_weights_that_a_step_requests(data, rng):
    X, y, qid = data
    weight = rng.uniform(size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
    pipe = make_query_pipeline(scaler, NDCGRanker()).fit(X, y, qid, weight)
    np.testing.assert_array_equal(pipe[0].mean_, StandardScaler().fit(X, None, weight).mean_)


# -- without a qid ---------------------------------------------------------------------


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("method", ["predict", "surrogate_values", "rank", "top_k"])
def test_a_missing_qid(method, data):
    X, y, qid = data
    with pytest.raises(NotFittedError):
        getattr(pipeline(), method)(X, qid)
    pipe = pipeline().fit(X, y, qid)
    with pytest.raises(MissingQidError, match=f"{method} got none, and step 'queryscaler'"):
        getattr(pipe, method)(X)
    with pytest.raises(MissingQidError, match="score got none"):
        pipe.score(X, y)
    plain = make_query_pipeline(StandardScaler(), NDCGRanker()).fit(X, y, qid)
    assert plain.predict(X).shape == y.shape
    with pytest.raises(MissingQidError, match="NDCGRanker was fitted with a qid"):
        plain.rank(X)


@pytest.mark.usefixtures("routing")
def test_tools_that_hand_none_to_predict(data):
    X, y, qid = data
    target = RankingTarget(y, qid)
    with pytest.raises(MissingQidError, match="cross_val_predict"):
        cross_val_predict(pipeline(), X, target, cv=QueryKFold(3), params={})
    grid = {"ndcgranker__alpha": [1.0]}
    search = GridSearchCV(pipeline(), grid, cv=QueryKFold(3), scoring=SCORER).fit(X, target)
    with pytest.raises(MissingQidError):
        search.predict(X)
    assert search.best_estimator_.predict(X, qid).shape == y.shape


# -- in tools --------------------------------------------------------------------------


def test_searches_are_the_same_both_ways(data):
    X, y, qid = data
    grid = {"queryscaler__method": ["standard", "rank"], "ndcgranker__alpha": [0.1, 10.0]}
    given = {"cv": QueryKFold(3), "scoring": SCORER, "error_score": "raise"}
    carried = GridSearchCV(pipeline(), grid, **given).fit(X, RankingTarget(y, qid))
    by_target = cross_validate(pipeline(), X, RankingTarget(y, qid), **given)["test_score"]
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GridSearchCV(pipeline(), grid, **given).fit(X, y, qid=qid)
        by_routing = cross_val_score(pipeline(), X, y, params={"qid": qid}, **given)
        np.testing.assert_array_equal(by_routing, by_target)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(carried.cv_results_[name], routed.cv_results_[name])
    for fold, (train, test) in enumerate(QueryKFold(3).split(X, y, qid=qid)):
        pipe = pipeline().fit(X[train], y[train], qid[train])
        assert by_target[fold] == SCORER(pipe, X[test], y[test], qid=qid[test])


def test_scorers_hand_the_qid_to_a_baseline(data, scaled):
    X, y, qid = data
    baseline = make_query_pipeline(QueryScaler("minmax"), Ridge()).fit(X, y, qid)
    assert SCORER(baseline, X, y, qid=qid) == SCORER(Ridge().fit(scaled, y), scaled, y, qid=qid)
    search = GridSearchCV(baseline, {"ridge__alpha": [1.0]}, cv=QueryKFold(3), scoring=SCORER)
    search.fit(X, RankingTarget(y, qid))
    assert SCORER(search, X, y, qid=qid) == SCORER(baseline, X, y, qid=qid)


@pytest.mark.filterwarnings("ignore::skcalrank.data.CutQueriesWarning")  # of learning_curve
def test_other_tools(data):
    X, y, qid = data
    pipe, target = pipeline().fit(X, y, qid), RankingTarget(y, qid)
    found = permutation_importance(pipe, X, target, scoring=SCORER, n_repeats=2, random_state=0)
    assert found.importances.shape == (X.shape[1], 2)
    curve = learning_curve(
        pipe, X, target, cv=QueryKFold(2), scoring=SCORER, train_sizes=[1.0], error_score="raise"
    )
    assert np.isfinite(curve[2]).all()


@pytest.mark.parametrize("second", [None, 1])
def test_explanations_run_through_it(second, data):
    X, y, qid = data
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    pipe = make_query_pipeline(QueryScaler("standard"), NDCGRanker()).fit(X, y, qid)
    scores = pipe.predict(X, qid)
    found = explain_order(pipe, X, 0, second, qid=qid)
    against = scores[qid == qid[0]].mean() if second is None else scores[second]
    assert found.total == pytest.approx(scores[0] - against)
    assert list(found.feature_names) == [f"x{k}" for k in range(X.shape[1])]
    with pytest.raises(MissingQidError):
        explain_order(pipe, X, 0, 1)
    with sklearn.config_context(enable_metadata_routing=True):
        plain = make_pipeline(QueryScaler(), NDCGRanker()).fit(X, y, qid=qid)
    assert explain_order(plain, X, 0, second, qid=qid).total == pytest.approx(found.total)


def test_chunks(data):
    X, y, qid = data
    names = np.unique(qid)
    parts = [np.isin(qid, names[::2]), np.isin(qid, names[1::2])]
    pipe = make_query_pipeline(QueryScaler("rank"), Normalizer(), NDCGRanker())
    for part in parts:
        pipe.partial_fit(X[part], y[part], qid[part])
    whole = clone(pipe).fit(X, y, qid)
    np.testing.assert_allclose(pipe.predict(X, qid), whole.predict(X, qid), rtol=1e-9)
    pipe = make_query_pipeline(MinMaxScaler(), NDCGRanker(SGDRegressor()))
    for part in parts:
        pipe.partial_fit(X[part], RankingTarget(y[part], qid[part]))
    np.testing.assert_array_equal(pipe[0].data_max_, X.max(axis=0))
    assert not hasattr(make_query_pipeline(SelectFromModel(Lasso()), NDCGRanker()), "partial_fit")
    assert not hasattr(make_query_pipeline(QueryScaler(), NDCGRanker(Lasso())), "partial_fit")


# -- an estimator like others ----------------------------------------------------------


def test_copies(data, tmp_path):
    X, y, qid = data
    pipe = pipeline().set_params(queryscaler__method="rank", ndcgranker__alpha=3.0)
    assert isinstance(pipe, Pipeline)
    twin = clone(pipe)
    assert twin.get_params()["queryscaler__method"] == "rank"
    assert isinstance(pipe[:-1], QueryPipeline)
    pipe.fit(X, y, qid)
    expected = pipe.predict(X, qid)
    copies = [pickle.loads(pickle.dumps(pipe)), twin.fit(X, y, qid)]
    pytest.importorskip("skops")
    save_model(pipe, tmp_path / "pipe.skops")
    copies.append(load_model(tmp_path / "pipe.skops"))
    for copy in copies:
        np.testing.assert_array_equal(copy.predict(X, qid), expected)
        with pytest.raises(MissingQidError):
            copy.predict(X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names(library, data):
    frames = pytest.importorskip(library)
    X, y, qid = data
    frame = frames.DataFrame(dict(zip("abcd", X.T)))
    pipe = make_query_pipeline(QueryContext(["size"]), NDCGRanker()).set_output(transform=library)
    pipe.fit(frame, y, qid)
    assert list(pipe.feature_names_in_) == list("abcd")
    assert pipe.n_features_in_ == 4
    assert list(pipe[:-1].get_feature_names_out()) == [*"abcd", "query_size"]
    assert list(pipe[-1].feature_names_in_) == [*"abcd", "query_size"]
    if library == "pandas":
        frame.index = np.arange(len(y))[::-1]
        assert pipe.rank(frame, qid).index.equals(frame.index)
        assert type(pipe.fit(X, y, qid).rank(X, qid)) is np.ndarray


class Counting(MinMaxScaler):
    calls = 0

    def fit(self, X, y=None):
        Counting.calls += 1
        return super().fit(X, y)


def test_memory_and_time(data, tmp_path, capsys, monkeypatch):
    X, y, qid = data
    monkeypatch.setattr(Counting, "calls", 0)
    pipe = make_query_pipeline(Counting(), NDCGRanker(), memory=str(tmp_path), verbose=True)
    scores = [clone(pipe).fit(X, y, qid).predict(X) for _ in range(2)]
    np.testing.assert_array_equal(*scores)
    assert Counting.calls == 1
    told = capsys.readouterr().out
    assert "[QueryPipeline] (step 1 of 2) Processing counting, total=" in told


def test_steps_are_fitted_in_place_without_a_memory(data, tmp_path):
    X, y, qid = data
    for memory in (None, str(tmp_path)):
        step = Counting()
        pipe = make_query_pipeline(step, NDCGRanker(), memory=memory).fit(X, y, qid)
        assert (pipe[0] is step) == hasattr(step, "scale_") == (memory is None)
        assert hasattr(pipe[0], "scale_")


@pytest.mark.parametrize("ranker", rankers(), ids=lambda ranker: type(ranker).__name__)
def test_every_ranker(ranker, data, scaled):
    X, y, qid = data
    pipe = make_query_pipeline(QueryScaler("minmax"), ranker).fit(X, y, qid)
    alone = clone(ranker).fit(scaled, y, qid)
    np.testing.assert_array_equal(pipe.rank(X, qid), alone.rank(scaled, qid))
    assert pipe.score(X, y, qid) == alone.score(scaled, y, qid)


def test_items_of_the_label_ranking_form(data):
    X, _, _ = data
    y = np.argsort(X, axis=1).argsort(axis=1).astype(float)
    pipe = make_query_pipeline(StandardScaler(), NDCGRanker()).fit(X, y)
    assert pipe.rank(X).shape == y.shape


def test_pairs_of_a_query(data, scaled):
    X, y, qid = data
    ranker = AveragePrecisionRanker(surrogate="pairwise")
    pipe = make_query_pipeline(QueryScaler("minmax"), ranker).fit(X, y > 0, qid)
    expected = clone(ranker).fit(scaled, y > 0, qid)
    np.testing.assert_array_equal(pipe.predict(X, qid), expected.predict(scaled, qid))


@pytest.mark.parametrize("kind", ["clicks", "comparisons"])
def test_judgments_pass_through_to_the_ranker(kind, rng):
    qid, X = np.repeat([0, 1, 2], 4), rng.normal(size=(12, 2))
    if kind == "clicks":
        y = sample_sessions(rng.random(12), qid, n_sessions=60, model="position", random_state=0)
        last = AggregatedRanker("position_based", structure_options={"propensity": np.ones(4)})
    else:
        y = sample_comparisons(rng.random(12), qid, n_comparisons=60, random_state=0)
        last = AggregatedRanker("borda")
    table = pd.DataFrame(X, columns=["a", "b"]).assign(c=list("uvw") * 4)
    pipe = make_query_pipeline(LinearColumns(), clone(last)).fit(table, y)
    columns = LinearColumns().fit(table, qid=qid)
    plain = clone(last).fit(columns.transform(table), y)
    np.testing.assert_allclose(pipe.predict(table), plain.predict(columns.transform(table)))
    assert pipe.score(table, y) == pytest.approx(plain.score(columns.transform(table), y))
    with pytest.raises(TypeError, match=r"did you mean make_query_pipeline\(\.\.\., Aggreg"):
        clone(last).set_params(ranker=make_query_pipeline(LinearColumns(), NDCGRanker())).fit(X, y)
