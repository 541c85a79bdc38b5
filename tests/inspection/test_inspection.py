"""Explanations: contributions sum to differences of scores."""

import re

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    RankingTarget,
    SpearmanRanker,
    get_scorer,
)
from skcalrank.data import MissingQidError
from skcalrank.evaluation import rank_frame
from skcalrank.inspection import explain_order, explain_scores
from skcalrank.linear_model import GramRidge
from skcalrank.rankers import PairwiseHingeRanker

LINEAR = [
    NDCGRanker(),
    NDCGRanker(SGDRegressor(random_state=0)),
    NDCGRanker(GramRidge(), loss="squared"),
    LeastSquaresRankerCV(alphas=[1.0, 10.0], cv=2),
    OrderPreservingRanker(loss="logistic"),
    PairwiseHingeRanker(),
]
PIPELINES = [
    make_pipeline(StandardScaler(), NDCGRanker()),
    make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler(), NDCGRanker()),
    make_pipeline(NDCGRanker()),
    make_pipeline("passthrough", NDCGRanker()),
    make_pipeline(FunctionTransformer(np.arctan), NDCGRanker()),
    make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), NDCGRanker())),
    make_pipeline(
        StandardScaler(),
        GridSearchCV(NDCGRanker(Ridge()), {"estimator__alpha": [1, 10]}, cv=2),
    ),
]


@pytest.fixture
def data(data):
    X, y, qid = data
    return X + [0.0, 1.0, -3.0, 10.0, 0.5][: X.shape[1]], y, qid


def two_of_one_query(qid):
    return [int(i) for i in np.flatnonzero(qid == qid[-1])[:2]]


@pytest.mark.parametrize("ranker", [*LINEAR, *PIPELINES], ids=repr)
@pytest.mark.filterwarnings("ignore::skcalrank.data.CutQueriesWarning")
def test_parts_sum_to_the_difference_of_scores(ranker, data):
    X, y, qid = data
    ranker.fit(X, RankingTarget(y, qid))
    scores = ranker.predict(X)
    first, second = two_of_one_query(qid)
    pair = explain_order(ranker, X, first, second)
    assert pair.total == pytest.approx(scores[first] - scores[second], rel=1e-9, abs=1e-12)
    own = scores[qid == qid[first]]
    place = explain_order(ranker, X, first, qid=qid)
    assert place.total == pytest.approx(scores[first] - own.mean(), rel=1e-9, abs=1e-12)
    assert place.constant == pair.constant == 0.0
    # The other way round it is the same with the other sign.
    back = explain_order(ranker, X, second, first, qid=qid)
    np.testing.assert_allclose(back.contributions, -pair.contributions)


def test_contributions_are_coefficients_times_differences(data):
    X, y, qid = data
    ranker = NDCGRanker().fit(X, y, qid)
    first, second = two_of_one_query(qid)
    found = explain_order(ranker, X, first, second)
    np.testing.assert_allclose(found.contributions, ranker.coef_ * (X[first] - X[second]))
    assert not np.shares_memory(found.weights, ranker.coef_)
    for container in (csr_matrix, coo_matrix):
        sparse = explain_order(ranker, container(X), first, second)
        np.testing.assert_allclose(sparse.contributions, found.contributions)
    listed = explain_order(ranker, X.tolist(), first, second)
    np.testing.assert_allclose(listed.contributions, found.contributions)


@pytest.mark.parametrize("ranker", [SpearmanRanker(), SpearmanRanker(loss="squared")], ids=repr)
def test_items_of_an_instance(ranker, rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=(30, 4))
    ranker.fit(X, y)
    scores = ranker.predict(X)
    pair = explain_order(ranker, X, 2, 0, instance=5)
    assert pair.total == pytest.approx(scores[5, 2] - scores[5, 0], rel=1e-9)
    place = explain_order(ranker, X, 2, instance=5)
    assert place.total == pytest.approx(scores[5, 2] - scores[5].mean(), rel=1e-9)
    assert place.constant != 0
    assert "constant" in str(place)


def test_search_and_names(data):
    pd = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"feature {k}" for k in range(X.shape[1])])
    pipe = make_pipeline(StandardScaler(), NDCGRanker(estimator=Ridge()))
    search = GridSearchCV(
        pipe,
        {"ndcgranker__estimator__alpha": [1, 10]},
        cv=GroupKFold(2),
        scoring=get_scorer("ndcg@10"),
    ).fit(frame, RankingTarget(y, qid), groups=qid)
    found = explain_order(search, frame, 0, qid=qid)
    assert list(found.feature_names) == list(frame.columns)
    table = found.to_frame()
    assert table["contribution"].abs().is_monotonic_decreasing
    assert table["contribution"].sum() == pytest.approx(found.total)
    assert list(NDCGRanker().fit(frame, y, qid).feature_names_in_) == list(frame.columns)


@pytest.mark.parametrize(
    "labels", [lambda n: [f"d{k}" for k in range(n)], lambda n: np.arange(n)[::-1]], ids=["s", "i"]
)
@pytest.mark.parametrize("estimator", [None, DecisionTreeRegressor(max_depth=3)], ids=str)
def test_rows_of_a_frame_with_an_index_are_labels(labels, estimator, data):
    pd = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pd.DataFrame(X, index=labels(len(y))).rename(columns=str)
    ranker = NDCGRanker(estimator).fit(frame, y, qid)
    best = rank_frame(ranker, frame, qid, k=2).id.iloc[2:4]
    numbered = frame.reset_index(drop=True)
    assert ranker.top_k(frame, qid, k=2)[2:4].tolist() == best.tolist()
    first, second = ranker.top_k(numbered, qid, k=2)[2:4]
    for pair in ((0, None), (0, 1)):
        named = [None if k is None else best.iloc[k] for k in pair]
        rows = [None if k is None else (first, second)[k] for k in pair]
        explained = explain_order(ranker, frame, *named, qid=qid)
        expected = explain_order(ranker, numbered, *rows, qid=qid)
        np.testing.assert_array_equal(explained.contributions, expected.contributions)
        assert explained.first == f"row {best.iloc[0]}"
    with pytest.raises(ValueError, match=r"label of one row .* which no row has"):
        explain_order(ranker, frame, len(y) + 1, qid=qid)
    doubled = frame.set_axis([7] * 2 + [*range(10, 8 + len(y))])
    with pytest.raises(ValueError, match="got 7, which several rows have"):
        explain_order(ranker, doubled, 7, qid=qid)


def test_an_instance_of_a_frame_with_an_index_is_a_label(rng):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rng.normal(size=(9, 2)), columns=["a", "b"], index=np.arange(9)[::-1])
    ranker = SpearmanRanker().fit(X, rng.normal(size=(9, 3)))
    assert explain_order(ranker, X, 0, 1, instance=2).values.tolist() == X.loc[2].tolist()


def test_names_that_are_given(data):
    X, y, qid = data
    names = [f"f{k}" for k in range(X.shape[1])]
    plain = NDCGRanker().fit(X, y, qid)
    assert list(explain_order(plain, X, 0, qid=qid).feature_names)[:2] == ["x0", "x1"]
    given = explain_order(plain, X, 0, qid=qid, feature_names=names)
    assert list(given.feature_names) == names
    squares = PIPELINES[1].fit(X, RankingTarget(y, qid))
    made = explain_order(squares, X, 0, qid=qid, feature_names=names)
    assert "f0^2" in made.feature_names
    # What a function makes of the columns has no names, until a step gives some.
    function = FunctionTransformer(np.arctan)
    steps = make_pipeline(function, PCA(2), NDCGRanker()).fit(X, RankingTarget(y, qid))
    made = explain_order(steps, X, 0, qid=qid, feature_names=names)
    assert list(made.feature_names) == ["pca0", "pca1"]
    with pytest.raises(ValueError, match="feature_names"):
        explain_order(plain, X, 0, qid=qid, feature_names=names[1:])


def test_table_puts_the_rest_on_one_line(data):
    X, y, qid = data
    found = explain_order(NDCGRanker().fit(X, y, qid), X, 0, qid=qid)
    lines = found.to_string(n_features=2).splitlines()
    assert lines[0] == "row 0 against the mean of its query"
    assert lines[4].startswith(f"{X.shape[1] - 2} others")
    one_left = found.to_string(n_features=X.shape[1] - 1).splitlines()
    assert one_left[X.shape[1] + 1].startswith("1 other ")
    assert lines[-1].endswith(f"{found.total:+.4g}")
    sizes = np.abs(found.contributions[found.order()])
    assert (np.diff(sizes) <= 0).all()
    with pytest.raises(ValueError, match=r"n_features must .* got 0"):
        found.to_string(0)


def test_errors(data, rng):
    X, y, qid = data
    ranker = NDCGRanker().fit(X, y, qid)
    first, second = two_of_one_query(qid)
    with pytest.raises(MissingQidError, match="second="):
        explain_order(ranker, X, 0)
    with pytest.raises(ValueError, match=f"from 0 to {len(y) - 1}, the number of one row"):
        explain_order(ranker, X, len(y), qid=qid)
    with pytest.raises(ValueError, match=r"first must be an integer .*, got True"):
        explain_order(ranker, X, True, qid=qid)
    with pytest.raises(ValueError, match="two queries"):
        explain_order(ranker, X, first, int(np.flatnonzero(qid != qid[first])[0]), qid=qid)
    with pytest.raises(ValueError, match="label-ranking form"):
        explain_order(ranker, X, first, second, instance=0)
    neighbors = NDCGRanker(KNeighborsRegressor(2)).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"linear in the features .coef_., got NDCGRanker"):
        explain_order(neighbors, X, 0, qid=qid)
    with pytest.raises(ValueError, match="X must hold numbers, got dicts"):
        explain_order(NDCGRanker().fit(X, y, qid), [{"a": 0.5}], 0, qid=0)
    pairs = AveragePrecisionRanker(surrogate="pairwise", relevance_level=1).fit(X, y, qid)
    with pytest.raises(ValueError, match="surrogate='pairwise'"):
        explain_order(pairs, X, 0, qid=qid)
    labels = SpearmanRanker().fit(rng.normal(size=(9, 2)), rng.normal(size=(9, 3)))
    with pytest.raises(ValueError, match="instance="):
        explain_order(labels, np.zeros((1, 2)), 0)
    with pytest.raises(ValueError, match="from 0 to 2, the number of one item"):
        explain_order(labels, np.zeros((1, 2)), 3, instance=0)
    with pytest.raises(ValueError, match="Drop qid"):
        explain_order(labels, np.zeros((1, 2)), 0, instance=0, qid=[1])


def test_a_score_that_is_not_linear_is_refused(data):
    X, y, qid = data

    class Squared(Ridge):
        def predict(self, X):
            return super().predict(X) ** 2

    ranker = NDCGRanker(Squared(), loss="squared").fit(X, y, qid)
    with pytest.raises(ValueError, match="a score that is linear in X, got"):
        explain_order(ranker, X, 0, qid=qid)


def test_dask_collections_are_refused(data):
    da = pytest.importorskip("dask.array")
    X, y, qid = data
    with pytest.raises(ValueError, match="X must be in memory, got a dask collection"):
        explain_order(NDCGRanker().fit(X, y, qid), da.from_array(X), 0, qid=qid)


def test_large_values_have_all_digits_before_the_point():
    X = np.array([[63200.4, 0.125], [1.5e13, 41.0]])
    ranker = NDCGRanker().fit(X, [1, 0], [0, 0])
    said = explain_order(ranker, X, 0, 1).to_string()
    assert re.search(r"63200 +1.5e\+13", said)
    assert re.search(r"0.125 +41", said)


@pytest.mark.parametrize("explain", [explain_order, explain_scores])
def test_what_has_no_rows_is_told(explain):
    ranker = NDCGRanker().fit(np.eye(4), [0, 1, 2, 0], [7] * 4)
    with pytest.raises(TypeError, match="Expected sequence or array-like, got"):
        explain(ranker, 3, *([0, 1] * (explain is explain_order)), qid=7)
