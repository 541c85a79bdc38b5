"""Cross-validated penalties, against GridSearchCV around the plain ranker."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from cases import make_data
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    QueryKFold,
    QueryShuffleSplit,
    RankingTarget,
    get_scorer,
)
from skcalrank._solvers import SQUARED_LOSSES, WithinQueries, pooled_moments
from skcalrank.data import MissingQidError, Queries
from skcalrank.linear_model import GramRidge
from skcalrank.measures import AUC, DCG, Precision
from skcalrank.rankers._folds import Split, training_moments

ALPHAS = [1e-3, 1.0, 30.0, 1e4]
SIZES = (6, 1, 9, 4, 7, 5, 8, 3, 12, 2, 6, 5)
QUERY_SPLITTERS = {
    "QueryKFold": QueryKFold(4),
    "shuffled": QueryKFold(3, shuffle=True, random_state=0),
    "GroupKFold": GroupKFold(5),
    "one query out": LeaveOneGroupOut(),
    "overlapping": QueryShuffleSplit(4, test_size=3, random_state=0),
    "smaller training parts": QueryShuffleSplit(3, test_size=3, train_size=5, random_state=0),
    "two folds": QueryKFold(2),
}
ROW_SPLITTERS = {
    "KFold": KFold(4),
    "shuffled": KFold(3, shuffle=True, random_state=0),
    "repeated": RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
    "overlapping": ShuffleSplit(3, random_state=0),
    "some never tested": PredefinedSplit([0, -1, 1, -1, 2] * 12),
}
every_loss = pytest.mark.parametrize("loss", SQUARED_LOSSES)


@pytest.fixture
def sizes():
    return SIZES


@pytest.fixture
def label_data(rng):
    X = rng.normal(size=(60, 3))
    return X, np.clip(np.round(X @ rng.normal(size=(3, 4)) + rng.normal(size=(60, 4)) + 1), 0, 3)


def search(X, y, qid=None, *, measure="ndcg@10", alphas=ALPHAS, loss=None, cv=None):
    """GridSearchCV around the ranker, the queries inside the target."""
    return GridSearchCV(
        LeastSquaresRanker(measure, estimator=Ridge(solver="svd"), loss=loss),
        {"estimator__alpha": alphas},
        cv=cv,
        scoring=get_scorer(measure),
    ).fit(X, y if qid is None else RankingTarget(y, qid), groups=qid)


def check_same(ranker, grid, key="score"):
    """All scores, the chosen penalty and the last fit."""
    assert ranker.n_splits_ == grid.n_splits_
    names = [f"split{i}_test" for i in range(grid.n_splits_)] + ["mean_test", "std_test"]
    for name in names:
        ours, theirs = ranker.cv_results_[f"{name}_{key}"], grid.cv_results_[f"{name}_score"]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    for name in ("rank_test", "mean_test"):
        assert ranker.cv_results_[f"{name}_{key}"].dtype == grid.cv_results_[f"{name}_score"].dtype
    # Means that differ by their rounding alone may rank either way.
    ranks = ranker.cv_results_[f"rank_test_{key}"], grid.cv_results_["rank_test_score"]
    means = np.round(grid.cv_results_["mean_test_score"], 9)
    if len(set(means)) == len(means):
        assert np.array_equal(*ranks)
    theirs = grid.cv_results_["param_estimator__alpha"]
    assert np.array_equal(ranker.cv_results_["param_alpha"].data, theirs.data)
    assert ranker.cv_results_["params"] == [{"alpha": alpha} for alpha in theirs]


def check_best(ranker, grid, X):
    assert ranker.best_index_ == grid.best_index_
    assert ranker.alpha_ == grid.best_params_["estimator__alpha"]
    assert ranker.best_score_ == pytest.approx(grid.best_score_, rel=1e-9)
    best = grid.best_estimator_
    np.testing.assert_allclose(ranker.coef_, best.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ranker.intercept_, best.intercept_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ranker.predict(X), best.predict(X), rtol=1e-8, atol=1e-10)


# -- GridSearchCV ----------------------------------------------------------------------


@pytest.mark.product
@pytest.mark.filterwarnings("ignore:The measure is undefined on every query")
@pytest.mark.parametrize("measure", ["dcg@3", "spearman", "eru"])
@pytest.mark.parametrize("cv", QUERY_SPLITTERS.values(), ids=QUERY_SPLITTERS)
@every_loss
def test_is_a_grid_search_over_queries(loss, cv, measure, data):
    X, y, qid = data
    if measure == "spearman":  # which is undefined on a query of one document
        X, y, qid = (a[~np.isin(qid, [11, 19])] for a in data)
    params = {"measure": measure, "loss": loss, "cv": cv}
    ranker = LeastSquaresRankerCV(alphas=ALPHAS, **params).fit(X, y, qid)
    grid = search(X, y, qid, **params)
    check_same(ranker, grid)
    check_best(ranker, grid, X)


@pytest.mark.product
@pytest.mark.parametrize("measure", ["ndcg@2", "spearman"])
@pytest.mark.parametrize("cv", ROW_SPLITTERS.values(), ids=ROW_SPLITTERS)
@every_loss
def test_is_a_grid_search_over_instances(loss, cv, measure, label_data):
    X, y = label_data
    params = {"measure": measure, "loss": loss, "cv": cv}
    ranker = LeastSquaresRankerCV(alphas=ALPHAS, **params).fit(X, y)
    grid = search(X, y, **params)
    check_same(ranker, grid)
    check_best(ranker, grid, X)
    assert ranker.coef_.shape == (4, 3)
    assert ranker.rank(X).shape == (60, 4)


@pytest.mark.parametrize("cv", [KFold(3), KFold(3, shuffle=True, random_state=1)], ids=str)
@pytest.mark.parametrize("one_query", [True, False])
@every_loss
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
@pytest.mark.filterwarnings("ignore::skcalrank.data.CutQueriesWarning")
def test_folds_that_cut_queries(loss, cv, one_query, data):
    X, y, qid = data
    qid = None if one_query else qid
    ranker = LeastSquaresRankerCV(alphas=ALPHAS, cv=cv, loss=loss).fit(X, y, qid)
    grid = search(X, y, qid, cv=cv, loss=loss)
    check_same(ranker, grid)
    check_best(ranker, grid, X)


@every_loss
@pytest.mark.parametrize("form", ["queries", "instances"])
def test_weights_as_with_metadata_routing(loss, form, data, label_data, rng):
    X, y = data[:2] if form == "queries" else label_data
    metadata = {"sample_weight": rng.uniform(0.1, 3, len(X))}
    metadata |= {"qid": data[2]} if form == "queries" else {}
    cv = QueryKFold(3) if form == "queries" else KFold(3)
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS, cv=cv, loss=loss).fit(X, y, **metadata)
    plain = LeastSquaresRanker("dcg@3", estimator=Ridge(solver="svd"), loss=loss)
    with config_context(enable_metadata_routing=True):
        plain.set_fit_request(sample_weight=True)
        scorer = get_scorer("dcg@3").set_score_request(sample_weight=True)
        grid = GridSearchCV(plain, {"estimator__alpha": ALPHAS}, cv=cv, scoring=scorer).fit(
            X, y, **metadata
        )
    check_same(ranker, grid)
    check_best(ranker, grid, X)


@every_loss
def test_single_precision(loss, data):
    X, y, qid = data
    X = X.astype(np.float32)
    ranker = LeastSquaresRankerCV(alphas=ALPHAS, cv=QueryKFold(3), loss=loss).fit(X, y, qid)
    check_same(ranker, search(X.astype(float), y, qid, loss=loss, cv=QueryKFold(3)))


def test_of_equal_scores_the_first(data):
    X, y, qid = data
    alphas = [1e-9, 2e-9, 1e-10]
    ranker = LeastSquaresRankerCV(alphas=alphas, cv=QueryKFold(3)).fit(X, y, qid)
    assert ranker.best_index_ == 0
    assert ranker.alpha_ == 1e-9
    assert np.array_equal(ranker.cv_results_["rank_test_score"], [1, 1, 1])


# -- what makes it fast ----------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("cells", [1, 100, 200], ids="{} cells kept".format)
def test_moments_of_folds_that_are_made_again(loss, cells, data, monkeypatch):
    X, y, qid = data
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS, cv=LeaveOneGroupOut(), loss=loss)
    expected = clone(ranker).fit(X, y, qid)
    monkeypatch.setattr("skcalrank.rankers._folds.KEPT_CELLS", cells)
    found = ranker.fit(X, y, qid)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name], rtol=1e-12)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)


@pytest.mark.parametrize("cells", [1, 40], ids="{} cells scored".format)
@pytest.mark.parametrize("form", ["queries", "instances"])
def test_scores_in_parts(cells, form, data, label_data, monkeypatch, rng):
    X, y, qid = data if form == "queries" else (*label_data, None)
    weight = rng.uniform(0, 2, len(X))
    ranker = LeastSquaresRankerCV(["ndcg@10", "dcg@2"], alphas=ALPHAS, cv=3)
    expected = clone(ranker).fit(X, y, qid, weight).cv_results_
    monkeypatch.setattr("skcalrank.rankers._folds.PART_CELLS", cells)
    found = ranker.fit(X, y, qid, weight).cv_results_
    for name in ("mean_test_ndcg@10", "std_test_dcg@2"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)


@every_loss
def test_a_fold_that_outweighs_the_others(loss, rng):
    # Taken from the total, the moments of the others would be nothing but rounding.
    X, y, qid = make_data(rng, SIZES)
    large = np.isin(qid, [10, 11, 12])
    X[large] *= 1e9
    folds = [(np.flatnonzero(~part), np.flatnonzero(part)) for part in (large, ~large)]
    ranker = LeastSquaresRankerCV(loss=loss)
    plan, rows, _ = ranker._problem(ranker._check_params(), X, y, qid, None)
    measures = [DCG()]
    splits = [Split(test, None) for _, test in folds]
    splits[1:] = [Split(np.flatnonzero(qid == q), None) for q in range(13, 22)]
    _, training = training_moments(rows, splits, measures, plan)
    found = next(iter(training))
    targets = (2.0**y - 1)[:, None]
    if loss == "pairwise_squared":
        queries = Queries.from_qid(qid[~large])
        expected = WithinQueries(X[~large], targets[~large], queries).moments()
    elif loss == "centered":
        queries = Queries.from_qid(qid[~large])
        centered = WithinQueries(X[~large], targets[~large], queries)
        expected = pooled_moments(X[~large], centered.centered_targets(), centered.weight())
    else:
        expected = pooled_moments(X[~large], targets[~large])
    np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(found.moment, expected.moment, rtol=1e-10, atol=1e-9)


# -- several measures ------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("form", ["queries", "instances"])
def test_several_measures_are_one_each(loss, form, data, label_data):
    X, y, qid = data if form == "queries" else (*label_data, None)
    measures = {
        "dcg": DCG(k=3),
        "p@2": Precision(k=2, relevance_level=1),
        "spearman": "spearman",
        "eru": "eru",
    }
    cv = QueryKFold(4) if form == "queries" else KFold(4)
    jointly = LeastSquaresRankerCV(measures, alphas=ALPHAS, cv=cv, loss=loss).fit(X, y, qid)
    assert list(jointly.rankers_) == list(measures)
    for name, measure in measures.items():
        alone = LeastSquaresRankerCV(measure, alphas=ALPHAS, cv=cv, loss=loss).fit(X, y, qid)
        for kind in ("mean", "std", "rank"):
            np.testing.assert_allclose(
                jointly.cv_results_[f"{kind}_test_{name}"], alone.cv_results_[f"{kind}_test_score"]
            )
        ranker = jointly.rankers_[name]
        assert ranker.estimator.alpha == alone.alpha_
        np.testing.assert_allclose(ranker.predict(X), alone.predict(X), rtol=1e-9, atol=1e-12)
        assert ranker.score(X, y, qid) == pytest.approx(alone.score(X, y, qid))
    first = jointly.rankers_["dcg"]
    assert jointly.alpha_ == first.estimator.alpha
    assert np.array_equal(jointly.predict(X), first.predict(X))
    assert jointly.best_score_ == jointly.cv_results_["mean_test_dcg"][jointly.best_index_]


def test_names_of_measures(data):
    X, y, qid = data
    ranker = LeastSquaresRankerCV(["dcg@3", DCG(k=2)], alphas=[1.0], cv=3).fit(X, y, qid)
    assert list(ranker.rankers_) == ["dcg@3", "DCG(k=2, gain='exponential')"]
    assert "mean_test_dcg@3" in ranker.cv_results_


def test_rankers_are_whole(data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame(X, columns=list("abcd"))
    ranker = (
        LeastSquaresRankerCV("ndcg@10", alphas=ALPHAS, cv=3).fit(frame, y, qid).rankers_["ndcg@10"]
    )
    plain = LeastSquaresRanker(estimator=GramRidge(ranker.estimator.alpha)).fit(frame, y, qid)
    assert set(vars(ranker)) == set(vars(plain))
    assert ranker.estimator_.get_params() == plain.estimator_.get_params()
    assert list(ranker.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(ranker.surrogate_values(frame), plain.surrogate_values(frame))
    with pytest.raises(MissingQidError):
        ranker.rank(frame)
    with pytest.raises(ValueError, match=r"was in an earlier chunk"):
        ranker.partial_fit(frame, y, qid)
    both = [r.partial_fit(frame, y, qid + 100).coef_ for r in (ranker, plain)]
    np.testing.assert_allclose(*both)


# -- splits ----------------------------------------------------------------------------


class Spy:
    """A splitter that remembers what it was asked."""

    def split(self, X, y, groups=None):
        self.asked = X, y, groups
        yield from GroupKFold(2).split(X, y, groups)


def test_what_a_splitter_is_asked(data):
    X, y, qid = data
    spy, names = Spy(), np.array([f"q{q}" for q in qid])
    LeastSquaresRankerCV(cv=spy).fit(X, RankingTarget(y, names))
    asked = spy.asked
    assert np.array_equal(asked[0], X)
    assert np.array_equal(asked[1], y)
    assert np.array_equal(asked[2], names)


def test_splits_given_as_rows(data):
    X, y, qid = data
    held = [np.isin(qid, [10, 12, 14]), np.isin(qid, [11, 13])]
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS)
    as_masks = clone(ranker).set_params(cv=[(~part, part) for part in held]).fit(X, y, qid)
    as_rows = [(np.flatnonzero(~part).tolist(), np.flatnonzero(part)) for part in held]
    found = ranker.set_params(cv=as_rows).fit(X, y, qid).cv_results_
    assert np.array_equal(found["mean_test_score"], as_masks.cv_results_["mean_test_score"])
    check_same(ranker, search(X, y, qid, measure="dcg@3", cv=as_rows))


@pytest.mark.filterwarnings("ignore::skcalrank.data.CutQueriesWarning")
def test_numbers_of_rows_from_the_end(data):
    X, y, qid = data
    scores = []
    for shift in (0, len(y)):
        parts = [np.arange(k, len(y), 3) - shift for k in range(3)]
        cv = [(np.delete(np.arange(len(y)), part) - shift, part) for part in parts]
        ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS, cv=cv).fit(X, y, qid)
        scores.append(ranker.cv_results_["mean_test_score"])
    assert np.array_equal(*scores)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"cv": 1}, r"number of queries, 12 .*got 1\."),
        ({"cv": 13}, r"number of queries, 12 .*got 13"),
        ({"cv": "five"}, r"cv must be a number of folds.*got 'five'"),
        ({"cv": 2.5}, r"cv must be a number of folds.*got 2\.5"),
        ({"cv": []}, r"at least one split"),
        ({"cv": [1, 2]}, r"cv must yield pairs .*got 1"),
        ({"cv": [([0, 1], [])]}, r"2 to train on and 0 to test"),
        ({"cv": [([0, 1], [10**6])]}, r"pairs \(train, test\) of rows, got"),
        ({"cv": [([0, 1], [2.5])]}, r"pairs \(train, test\) of rows, got"),
        ({"alphas": []}, r"alphas must be a list .*got \[\]"),
        ({"alphas": 1.0}, r"\'alphas\' .*array-like.*Got 1.0"),
        ({"alphas": [1.0, -1.0]}, r"alphas must be .*got \[1.0, -1.0\]"),
        ({"measure": []}, r"at least one measure"),
        ({"measure": "map"}, r"must be positional"),
        ({"measure": ["ndcg@10", "nothing"]}, r"Unknown measure 'nothing'"),
        ({"measure": 3}, r"Unknown measure 3"),
        ({"loss": "hinge"}, r"'loss' .*Got 'hinge'"),
        ({"measure": ["dcg", AUC(relevance_level=None)]}, r"relevance_level"),
    ],
    ids=str,
)
def test_bad_parameters(params, message, data):
    X, y, qid = data
    with pytest.raises(ValueError, match=message):
        LeastSquaresRankerCV(**params).fit(X, y, qid)


def test_features_by_the_ten_thousand_are_an_error():
    with pytest.raises(ValueError, match=r"2 GB, got 20000"):
        LeastSquaresRankerCV().fit(csr_matrix((4, 20_000)), [0, 1, 2, 0], [1, 1, 2, 2])


# -- measures that are 0/0 -------------------------------------------------------------


def test_folds_on_which_the_measure_is_undefined(data):
    X, y, qid = data
    y = np.where(np.isin(qid, [12, 15]), 0.0, y)
    ranker = LeastSquaresRankerCV("ndcg@10", alphas=ALPHAS, cv=LeaveOneGroupOut()).fit(X, y, qid)
    splits = np.array([ranker.cv_results_[f"split{i}_test_score"] for i in range(12)])
    relevant = np.array([y[qid == q].any() for q in np.unique(qid)])
    assert np.array_equal(np.isnan(splits), np.repeat(~relevant[:, None], 4, axis=1))
    assert not relevant.all()
    mean, std = splits[relevant].mean(axis=0), splits[relevant].std(axis=0)
    np.testing.assert_allclose(ranker.cv_results_["mean_test_score"], mean)
    np.testing.assert_allclose(ranker.cv_results_["std_test_score"], std)
    assert ranker.best_index_ == mean.argmax()


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
def test_undefined_everywhere(data):
    X, y, qid = data
    ranker = LeastSquaresRankerCV(["dcg", "ndcg@10"], alphas=ALPHAS)
    with pytest.warns(UndefinedMetricWarning, match="ndcg@10 is undefined.*the first one is used"):
        ranker.fit(X, 0 * y, qid)
    assert np.isnan(ranker.cv_results_["mean_test_ndcg@10"]).all()
    assert ranker.rankers_["ndcg@10"].estimator.alpha == ALPHAS[0]
    assert not ranker.cv_results_["mean_test_dcg"].any()


# -- an estimator like the others ------------------------------------------------------


@every_loss
def test_forms_of_the_data(loss, data, rng):
    X, y, qid = data
    weight = rng.uniform(0.1, 2, len(y))
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS, cv=GroupKFold(3), loss=loss)
    before = clone(ranker).fit(X, y, qid, weight)
    rows = rng.permutation(len(y))
    forms = {
        "carried": (X, RankingTarget(y, qid), None, weight),
        "sparse": (csr_matrix(X), y, qid, weight),
        "fortran": (np.asfortranarray(X), y, qid, weight),
        "lists": (X.tolist(), y.tolist(), qid.tolist(), weight.tolist()),
        "column": (X, y, qid, weight),
        "order": (X[rows], y[rows], qid[rows], weight[rows]),
    }
    for name, form in forms.items():
        for array in form:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        found = clone(ranker).fit(*form)
        np.testing.assert_allclose(found.predict(X), before.predict(X), rtol=1e-8, err_msg=name)
        assert found.alpha_ == before.alpha_
        scores = found.cv_results_["mean_test_score"], before.cv_results_["mean_test_score"]
        np.testing.assert_allclose(*scores, rtol=1e-9)
    assert before.score(X, y, qid) == pytest.approx(before.rankers_["dcg@3"].score(X, y, qid))


def test_any_qid(data):
    X, y, qid = data
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS, cv=3)

    def scores(names):
        return clone(ranker).fit(X, y, names).cv_results_["mean_test_score"]

    # Folds are drawn by the names: equal ones draw alike, of whatever type, and others do not.
    assert np.array_equal(scores([Fraction(int(q)) for q in qid]), scores(qid))
    for names in ([(int(q), "x") for q in qid], [f"q{q}" for q in qid]):
        assert np.array_equal(scores(names), scores(list(names)))
        assert not np.array_equal(scores(names), scores(qid))


def test_inside_scikit_learn(data):
    X, y, qid = data
    ranker = LeastSquaresRankerCV("dcg@3", alphas=ALPHAS, cv=3)
    pipe = make_pipeline(StandardScaler(), ranker).fit(X, RankingTarget(y, qid))
    plain = clone(ranker).fit(StandardScaler().fit_transform(X), y, qid)
    np.testing.assert_allclose(pipe.predict(X), plain.predict(StandardScaler().fit_transform(X)))
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), ranker).fit(X, y, qid=qid)
        assert routed.score(X, y, qid=qid) == pytest.approx(pipe.score(X, RankingTarget(y, qid)))
    grid = GridSearchCV(
        ranker, {"loss": SQUARED_LOSSES}, cv=GroupKFold(3), scoring=get_scorer("dcg@3")
    ).fit(X, RankingTarget(y, qid), groups=qid)
    assert np.isfinite(grid.best_score_)
    assert not hasattr(ranker, "partial_fit")
    assert not hasattr(ranker, "estimator")


def test_pickling_and_cloning(data):
    X, y, qid = data
    ranker = LeastSquaresRankerCV({"a": "dcg@3", "b": DCG(k=2)}, alphas=ALPHAS, cv=3)
    found = clone(ranker).fit(X, y, qid)
    for twin in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert np.array_equal(twin.predict(X), found.predict(X))
        assert np.array_equal(twin.rankers_["b"].coef_, found.rankers_["b"].coef_)
    assert "alpha_" not in vars(clone(found))


def test_negative_labels_are_an_error_where_a_measure_says_so(data):
    X, y, qid = data
    for measure, positive in (("dcg@3", True), (["spearman", "dcg@3"], True), ("spearman", False)):
        ranker = LeastSquaresRankerCV(measure, alphas=ALPHAS)
        assert ranker.__sklearn_tags__().target_tags.positive_only is positive
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        LeastSquaresRankerCV(["spearman", "dcg@3"]).fit(X, y - 1, qid)
