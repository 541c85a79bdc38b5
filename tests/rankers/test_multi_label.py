"""Several labels of each document: a mix equals the ranker fitted to the mixed labels."""

import copy
import json
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from skcalrank import (
    LeastSquaresRanker,
    MultiLabelRanker,
    MultiLabelTarget,
    NDCGRanker,
    QueryKFold,
    train_test_query_split,
)
from skcalrank.data import CutQueriesWarning
from skcalrank.measures import DCG, Precision
from skcalrank.metrics import measure_score
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

NAMES = ["relevance", "margin", "freshness"]
LINEAR = DCG(k=4, gain="linear")


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(150, 4)) * [1.0, 3.0, 0.5, 1.0]
    qid = np.repeat(np.arange(25), 6)[rng.permutation(150)]
    labels = np.abs(X[:, :3] + 0.3 * rng.normal(size=(150, 3))) * [1.0, 50.0, 0.1]
    return X, MultiLabelTarget(labels, qid, NAMES)


@pytest.mark.parametrize("alpha", ["auto", 0.0, 100.0])
@pytest.mark.parametrize("weights", [[1, 0, 0], [1, 1, 1], [0.2, 0.0, 5.0]])
def test_a_mix_is_the_fit_to_mixed_labels(alpha, weights, problem):
    X, y = problem
    ranker = MultiLabelRanker(LINEAR, alpha=alpha).fit(X, y).mix(weights)
    # Linear gains are targets as they are, in units of their spread within queries.
    away = y.labels.copy()
    for query in np.unique(y.qid):
        away[y.qid == query] -= away[y.qid == query].mean(axis=0)
    spreads = np.sqrt((away**2).mean(axis=0))
    np.testing.assert_allclose(ranker.spreads_, spreads)
    mixed = y.labels @ (np.array(weights) / np.sum(weights) / spreads)
    other = LeastSquaresRanker(LINEAR, alpha=alpha).fit(X, mixed, y.qid)
    np.testing.assert_allclose(ranker.coef_, other.coef_, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(ranker.rank(X, y.qid), other.rank(X, y.qid))


@pytest.mark.filterwarnings("ignore:alpha='auto' is made for fewer columns than rows")
@pytest.mark.parametrize("alpha", ["auto", 2.0])
@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
def test_more_columns_than_rows(container, alpha, problem, rng):
    X, y = problem
    X = container(np.hstack([X, rng.normal(size=(150, 1496)) * (rng.random((150, 1496)) < 0.1)]))
    ranker = MultiLabelRanker(LINEAR, alpha=alpha)
    tracemalloc.start()
    try:
        ranker.fit(X, y)
        assert tracemalloc.get_traced_memory()[1] < 1500**2 * 8
    finally:
        tracemalloc.stop()
    for coef, name, spread in zip(ranker.coefs_, NAMES, ranker.spreads_):
        other = LeastSquaresRanker(LINEAR, alpha=alpha).fit(X, y.label(name) / spread, y.qid)
        np.testing.assert_allclose(coef, other.coef_, rtol=1e-8, atol=1e-12)


def test_a_penalty_that_may_be_too_small_is_told(problem):
    X, y = problem
    wide = csr_matrix(np.hstack([X, np.zeros((150, 500))]))
    with pytest.warns(UserWarning, match="alpha='auto' is made for fewer columns than rows"):
        MultiLabelRanker(LINEAR).fit(wide, y)


def test_units_of_labels_change_nothing(problem):
    X, y = problem
    first = MultiLabelRanker(LINEAR).fit(X, y)
    for units in ([1.0, 1e6, 1e-3], [1.0, 1e-170, 1e160]):
        other = MultiLabelTarget(y.labels * units, y.qid, NAMES)
        second = MultiLabelRanker(LINEAR).fit(X, other)
        np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-9)


def test_each_label_has_its_measure(problem):
    X, y = problem
    grades = np.column_stack([y.label("relevance").round(), y.labels[:, 1:]])
    y = MultiLabelTarget(grades, y.qid, NAMES)
    measures = {"relevance": "ndcg@5", "margin": LINEAR, "freshness": DCG(gain="linear")}
    ranker = MultiLabelRanker(measures, weights={"relevance": 2.0}).fit(X, y)
    np.testing.assert_array_equal(ranker.weights_, [1.0, 0.0, 0.0])
    other = NDCGRanker(k=5).fit(X, grades[:, 0], y.qid)
    np.testing.assert_allclose(ranker.coef_ * ranker.spreads_[0], other.coef_)
    assert ranker.score(X, y) == pytest.approx(other.score(X, grades[:, 0], y.qid))
    scores = ranker.predict(X)
    values = [
        measure_score("ndcg@5", grades[:, 0], scores, qid=y.qid),
        measure_score(LINEAR, grades[:, 1], scores, qid=y.qid),
    ]
    mixed = ranker.mix([1, 3, 0])
    assert (mixed.predict(X) != scores).any()
    assert ranker.mix([1, 0, 0]).score(X, y) == pytest.approx(values[0])
    ranker.weights_ = np.array([0.25, 0.75, 0.0])
    values = [
        measure_score(measure, label, ranker.predict(X), qid=y.qid)
        for measure, label in zip(["ndcg@5", LINEAR], grades.T)
    ]
    assert ranker.score(X, y) == pytest.approx(ranker.measure_weights_[:2] @ values)


def test_score_measures_what_is_learned():
    # The second label has large gains, of which the spread takes the unit: the best order for the
    # mean of the measures by `weights` alone is the other one.
    often = np.repeat([0.0, 1.0], [6, 4])
    first = np.tile([1.0, 0.0], 10)
    second = 100 * np.column_stack([often, 1 - often]).ravel()
    X, qid = np.tile(np.eye(2), (10, 1)), np.repeat(np.arange(10), 2)
    y = MultiLabelTarget(np.column_stack([first, second]), qid, ["a", "b"])
    top = DCG(k=1, gain="linear")
    ranker = MultiLabelRanker(top, alpha=1e-9).fit(X, y)
    np.testing.assert_allclose(ranker.spreads_, [0.5, 50.0])
    np.testing.assert_allclose(ranker.measure_weights_, [100 / 101, 1 / 101])
    other = copy.copy(ranker)
    other.coefs_ = -ranker.coefs_
    assert ranker.rank(X[:2], [0, 0]).tolist() == [1, 2]
    assert ranker.score(X, y) > other.score(X, y)
    assert ranker.score(X, y) == pytest.approx((100 * 1.0 + 40.0) / 101)


def test_no_other_order_has_a_better_score(problem):
    # With a row of its own for each document the fit is as rich as any function.
    _, y = problem
    X = np.eye(len(y.labels))
    ranker = MultiLabelRanker(LINEAR, weights=[1.0, 2.0, 3.0], alpha=1e-9).fit(X, y)
    best = ranker.score(X, y)
    for mix in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [3, 2, 1]):
        other = copy.copy(ranker)
        other.coefs_ = np.tile(ranker.mix(mix).coef_, (3, 1))
        assert best >= other.score(X, y) - 1e-9


def test_a_mix_leaves_the_ranker_as_it_was(problem):
    X, y = problem
    ranker = MultiLabelRanker(LINEAR).fit(X, y)
    before = ranker.predict(X)
    other = ranker.mix({"margin": 1})
    assert other.weights == {"margin": 1}
    np.testing.assert_array_equal(ranker.predict(X), before)
    np.testing.assert_array_equal(ranker.weights_, [1 / 3] * 3)
    np.testing.assert_allclose(clone(other).fit(X, y).predict(X), other.predict(X))


# -- the front ---------------------------------------------------------------------------


@pytest.fixture
def front(problem):
    X, y = problem
    ranker = MultiLabelRanker(LINEAR).fit(X, y)
    return ranker, ranker.front(X, y, mixes=6)


def test_values_of_the_front_are_those_of_the_rankers(front, problem):
    (ranker, found), (X, y) = front, problem
    assert found.axes == NAMES
    # All mixes of three labels in sixths.
    assert len(found.weights) == 28
    assert len(np.unique(found.weights, axis=0)) == 28
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    for weights, values in zip(found.weights, found.values):
        scores = ranker.mix(weights).predict(X)
        expected = [measure_score(LINEAR, label, scores, qid=y.qid) for label in y.labels.T]
        np.testing.assert_allclose(values, expected)


def test_no_mix_dominates_an_efficient_one(front):
    values = front[1].values
    for row, efficient in zip(values, front[1].efficient):
        dominated = any((other >= row).all() and (other > row).any() for other in values)
        assert efficient != dominated


def test_a_mix_is_chosen_under_constraints(front):
    found = front[1]
    relevance, margin, freshness = found.values.T
    number = found.choose("margin", lose={"relevance": 0.05})
    allowed = relevance >= 0.95 * relevance.max()
    assert allowed[number]
    assert margin[number] == margin[allowed].max()
    bound = np.median(freshness)
    number = found.choose("margin", lose={"relevance": 0.05}, least={"freshness": bound})
    allowed &= freshness >= bound
    assert allowed[number]
    assert margin[number] == margin[allowed].max()
    assert found.choose("relevance") == relevance.argmax()
    with pytest.raises(ValueError, match="must be met by some mix"):
        found.choose("margin", least={"relevance": 1e9})
    with pytest.raises(ValueError, match="must be one of relevance, margin, freshness, got 'age'"):
        found.choose("age")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_measure_that_is_undefined_chooses_no_mix(problem):
    X, y = problem
    none = MultiLabelTarget(
        np.column_stack([y.label("relevance"), 0 * y.qid]), y.qid, ["some", "no"]
    )
    ranker = MultiLabelRanker(LINEAR).fit(X, y)
    axes = {"some": ("some", "ndcg"), "no": ("no", "ndcg"), "also": ("some", "ndcg@2")}
    found, alone = (
        ranker.front(X, none, None, {k: axes[k] for k in ks}, mixes=12) for ks in (axes, ["some"])
    )
    assert found.choose("some") == alone.choose("some") == found.choose("some", lose={"some": 0})
    assert not found.efficient.all()
    for choose in ({"best": "no"}, {"best": "some", "lose": {"no": 0.1}}):
        with pytest.raises(ValueError, match="defined on some query of the front, got 'no'"):
            found.choose(**choose)


def test_exposure_of_a_group_is_an_axis(problem):
    X, y = problem
    group = X[:, 3] > 0
    ranker = MultiLabelRanker(LINEAR).fit(X, y)
    more = MultiLabelTarget(np.column_stack([y.labels, group]), y.qid, [*NAMES, "small sellers"])
    axes = {"margin": ("margin", LINEAR), "exposure": ("small sellers", LINEAR)}
    found = ranker.front(X, more, measures=axes, mixes=[[1, 0, 0], [0, 1, 0]])
    assert found.axes == ["margin", "exposure"]
    # Discounts of the four places, summed over those that the group has.
    places = ranker.mix([1, 0, 0]).rank(X, y.qid)
    exposure = np.where(group & (places <= 4), 1 / np.log2(1 + places), 0.0)
    assert found.values[0, 1] == pytest.approx(exposure.sum() / 25)


def test_the_front_is_a_table(front):
    pytest.importorskip("pandas")
    table = front[1].to_frame()
    assert len(table) == 28
    np.testing.assert_array_equal(table["value"]["margin"], front[1].values[:, 1])
    assert table["efficient"].to_numpy().ravel().sum() == front[1].efficient.sum()


def test_mixes_are_steps_or_rows(front, problem):
    ranker, (X, y) = front[0], problem
    for mixes, match in [
        (0, "number of steps >= 1"),
        (1000, "at most 20,000 mixes"),
        ([[1, 0]], "weights must be 3 numbers >= 0"),
        ([[0, 0, 0]], "not all 0"),
    ]:
        with pytest.raises(ValueError, match=match):
            ranker.front(X, y, mixes=mixes)


# -- the target, and the tools of scikit-learn -------------------------------------------


def test_the_target_is_sliced_with_its_queries(problem):
    _, y = problem
    part = y[[3, 1]]
    assert len(part) == 2
    assert part.names == NAMES
    np.testing.assert_array_equal(part.qid, y.qid[[3, 1]])
    np.testing.assert_array_equal(part.label("margin"), y.label("margin")[[3, 1]])
    assert y[:] == y
    assert pickle.loads(pickle.dumps(y)) == copy.deepcopy(y) == y
    assert y != MultiLabelTarget(y.labels, y.qid)
    with pytest.raises(TypeError, match="use its attribute labels"):
        np.asarray(y)


def test_columns_of_a_frame_are_names():
    pandas = pytest.importorskip("pandas")
    y = MultiLabelTarget(pandas.DataFrame({"a": [0, 1], "b": [2.0, 3.0]}), ["q", "q"])
    assert y.names == ["a", "b"]
    np.testing.assert_array_equal(y.label("b"), [2.0, 3.0])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([1, 2], [0, 0]), "labels must have shape \\(n_rows, n_labels\\)"),
        (([[1, 2]], [0], ["a"]), r"names must be 2 distinct names, got \['a'\]"),
        (([[1, 2]], [0], ["a", "a"]), "names must be 2 distinct names"),
        (([[1, 2]], [0, 1]), "qid must have 1 entries, .* got 2"),
        (([[1, np.nan]], [0]), "labels"),
    ],
)
def test_bad_targets_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        MultiLabelTarget(*arguments)


def test_forms_are_told_apart_by_type(problem):
    X, y = problem
    for given in (y.labels, y.label("margin")):
        with pytest.raises(TypeError, match="expects a MultiLabelTarget as y, got ndarray"):
            MultiLabelRanker().fit(X, given)
    with pytest.raises(ValueError, match="use MultiLabelTarget"):
        NDCGRanker().fit(X, y.labels, y.qid)
    with pytest.raises(ValueError, match="NDCGRanker expects relevances as y, got MultiLabel"):
        NDCGRanker().fit(X, y)


def test_one_label_of_each_document_is_refused(problem):
    X, y = problem
    with pytest.raises(TypeError, match="expects a MultiLabelTarget as y"):
        MultiLabelRanker().fit(X, y.label("relevance"), y.qid)


def test_searches_and_pipelines_take_it(problem):
    X, y = problem
    grid = {"alpha": [1.0, 100.0], "weights": [None, {"margin": 1}]}
    search = GridSearchCV(MultiLabelRanker(LINEAR), grid, cv=QueryKFold(2)).fit(X, y)
    assert search.predict(X).shape == (150,)
    values = cross_val_score(MultiLabelRanker(LINEAR), X, y, cv=QueryKFold(3))
    assert np.isfinite(values).all()
    pipe = make_query_pipeline(QueryScaler(), MultiLabelRanker(LINEAR)).fit(X, y)
    assert np.isfinite(pipe.score(X, y))
    X_train, X_test, y_train, y_test = train_test_query_split(X, y, random_state=0)
    ranker = MultiLabelRanker(LINEAR).fit(X_train, y_train)
    assert len(ranker.front(X_test, y_test, mixes=2).weights) == 6


def test_cut_queries_are_seen(problem):
    X, y = problem
    with pytest.warns(CutQueriesWarning):
        MultiLabelRanker(LINEAR).fit(X[:100], y[:100])


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"weights": {"age": 1}}, "weights must name labels .* got age"),
        ({"weights": [1, -1, 0]}, "weights must be 3 numbers >= 0"),
        ({"measure": {"age": "ndcg"}}, "measure must name labels .* got age"),
        ({"measure": Precision(relevance_level=None)}, "y must hold 0 and 1"),
        ({"measure": "judged"}, "Unknown measure"),
        ({"alpha": -1.0}, "alpha"),
    ],
)
def test_a_failed_fit_changes_nothing(params, match, problem):
    X, y = problem
    ranker = MultiLabelRanker(LINEAR).fit(X, y)
    before = ranker.predict(X)
    ranker.set_params(**params)
    state = dict(vars(ranker))
    with pytest.raises(ValueError, match=match):
        ranker.fit(X, y)
    assert {name: id(value) for name, value in vars(ranker).items()} == {
        name: id(value) for name, value in state.items()
    }
    np.testing.assert_array_equal(ranker.predict(X), before)


def test_files_and_exports_hold_the_mix(problem, tmp_path):
    from skcalrank.export import to_json

    X, y = problem
    ranker = MultiLabelRanker(LINEAR, weights=[3, 1, 0]).fit(X, y)
    text = to_json(ranker, feature_names=list("abcd"))
    assert [view["kind"] for view in json.loads(text)["views"]] == ["linear"]
    pytest.importorskip("skops")
    from skcalrank.persistence import load_model, save_model

    save_model(ranker, tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), ranker.predict(X))


def test_the_score_reads_rows_as_those_of_other_rankers(problem):
    X, y = problem
    ranker = MultiLabelRanker(LINEAR).fit(X, y)
    expected = ranker.score(X, y)
    assert ranker.score(X, y, y.qid) == expected
    with pytest.raises(ValueError, match="qid must equal the qid that y carries"):
        ranker.score(X, y, np.arange(len(y)) // 2)
    with pytest.raises(ValueError, match="qid must equal the qid that y carries"):
        ranker.front(X, y, np.arange(len(y)) // 2)
    half = np.isin(y.qid, np.unique(y.qid)[::2])
    weight = np.where(half, 2.0, 0.0)
    assert ranker.score(X, y, sample_weight=weight) == pytest.approx(ranker.score(X[half], y[half]))
    ranker.set_params(measure="ndcg@1")
    assert ranker.score(X, y) == expected
    assert ranker.measures_ == [LINEAR] * len(y.names)
