"""Rankers of the label-ranking form on a Gaussian kernel, and the choice between the two."""

import inspect
import pickle

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    AggregatedRanker,
    LeastSquaresRanker,
    NDCGRanker,
    PreferenceTarget,
    SpearmanRanker,
)
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.calibration import calibration_of
from skcalrank.export import to_json, to_onnx, to_sql
from skcalrank.inspection import explain_order, explain_scores
from skcalrank.rankers._gaussian import held_out_by
from skcalrank.testing import all_rankers

# With a cutoff below the number of items, where there is one: else precision does not vary.
CUTOFF = {"k": 2}
CLASSES = [cls for _, cls in all_rankers() if "kernel" in inspect.signature(cls).parameters]


def made(cls, **params):
    return cls(**{name: k for name, k in CUTOFF.items() if name in cls().get_params()}, **params)


every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
every_kernel = pytest.mark.parametrize("kernel", ["gaussian", "auto"])
NEAR = {"rtol": 1e-7, "atol": 1e-9}


@pytest.fixture
def curved(rng):
    """Features, and relevant or not of four items, by a law that is even in the features."""
    X = rng.normal(size=(120, 2)) * [1, 100]
    scores = (X / [1, 100]) ** 2 @ rng.normal(size=(2, 4))
    return X, (scores > np.median(scores, axis=0)) * 1.0


def test_the_rankers_of_named_measures_have_a_kernel():
    assert {NDCGRanker, SpearmanRanker, LeastSquaresRanker} < set(CLASSES)
    assert len(CLASSES) == 9


# -- what is fitted ----------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_of_folds_are_those_of_fits_to_the_others(weighted, rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    weight = rng.uniform(0.1, 3, 30) if weighted else np.ones(30)
    fold = np.arange(30) % 4
    gram = rbf_kernel(X, gamma=0.3)
    draws = [[np.flatnonzero(fold == k) for k in range(4)], [np.arange(30) == 7]]
    several, one = held_out_by(draws, gram, weight, 0.2, y)
    model = KernelRidge(0.2, kernel="rbf", gamma=0.3)
    for k in range(4):
        model.fit(X[fold != k], y[fold != k], sample_weight=weight[fold != k])
        np.testing.assert_allclose(several[fold == k], model.predict(X[fold == k]), **NEAR)
    others = np.arange(30) != 7
    model.fit(X[others], y[others], sample_weight=weight[others])
    np.testing.assert_allclose(one[7], model.predict(X[[7]])[0], **NEAR)


@every_class
def test_the_kernel_is_that_of_scikit_learn_with_the_setting_that_was_chosen(cls, curved):
    X, y = curved
    ranker = made(cls, kernel="gaussian").fit(X, y)
    assert (ranker.kernel_, ranker.loss_) == ("gaussian", "centered")
    chosen = ranker.estimator_[-1].get_params()
    regressor = make_pipeline(StandardScaler(), KernelRidge(**chosen))
    plain = made(cls, estimator=regressor, loss="centered").fit(X, y)
    np.testing.assert_allclose(ranker.predict(X), plain.predict(X), **NEAR)
    assert ranker.predict(X).shape == y.shape


@pytest.mark.parametrize("chosen", ["gaussian", "linear"])
def test_auto_goes_with_the_law(chosen, rng):
    X, B = rng.normal(size=(150, 2)), rng.normal(size=(2, 5))
    y = (X**2 if chosen == "gaussian" else X) @ B + rng.normal(size=(150, 5))
    ranker = SpearmanRanker(kernel="auto").fit(X, y)
    assert ranker.kernel_ == chosen
    expected = SpearmanRanker(kernel=chosen).fit(X, y).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)


def test_auto_is_linear_above_a_number_of_rows(curved, monkeypatch):
    X, y = curved
    monkeypatch.setattr("skcalrank.rankers._gaussian._MOST_ROWS", len(X) - 1)
    with pytest.warns(UserWarning, match="more than 119 rows, got 120: .* Set kernel="):
        assert NDCGRanker(kernel="auto").fit(X, y).kernel_ == "linear"
    assert NDCGRanker(kernel="gaussian").fit(X, y).kernel_ == "gaussian"


def test_some_rows_choose_and_all_are_fitted(curved, monkeypatch):
    X, y = curved
    monkeypatch.setattr("skcalrank.rankers._gaussian._MOST_TRIED", 40)
    few = SpearmanRanker(kernel="auto").fit(X, y)
    assert few.estimator_[-1].X_fit_.shape == X.shape
    monkeypatch.undo()
    chosen = SpearmanRanker(kernel="auto").fit(X, y).estimator_[-1].get_params()
    assert few.estimator_[-1].get_params() != chosen  # so that few rows were asked


def test_the_rows_that_choose_are_drawn_of_those_that_count(curved, monkeypatch, rng):
    X, y = curved
    monkeypatch.setattr("skcalrank.rankers._gaussian._MOST_TRIED", 40)
    weight = rng.integers(0, 3, len(X)).astype(float)
    kept = weight > 0
    ranker = SpearmanRanker(kernel="gaussian").fit(X, y, sample_weight=weight)
    expected = SpearmanRanker(kernel="gaussian").fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(ranker.predict(X), expected.predict(X), **NEAR)


def test_rows_are_predicted_in_parts(curved, monkeypatch):
    X, y = curved
    ranker = SpearmanRanker(kernel="gaussian").fit(X, y)
    expected = ranker.predict(X)
    monkeypatch.setattr("skcalrank.rankers._gaussian.PART_CELLS", 7 * len(X))
    for rows in (X, csr_array(X), coo_array(X)):
        np.testing.assert_allclose(ranker.predict(rows), expected, **NEAR)


# -- the default -------------------------------------------------------------------------


@every_class
def test_the_default_is_auto_for_some_numbers_of_rows(cls, curved, rng):
    X, y = curved
    ranker, auto = made(cls).fit(X, y), made(cls, kernel="auto").fit(X, y)
    assert (ranker.kernel_, auto.kernel_) == ("gaussian", "gaussian")
    np.testing.assert_array_equal(ranker.predict(X), auto.predict(X))
    assert made(cls).fit(X[:100], y[:100]).kernel_ == "gaussian"
    many = rng.integers(len(X), size=3001)
    weight = np.append(np.ones(99), np.zeros(len(X) - 99))  # rows of weight 0 do not count
    for linear in (
        made(cls).fit(X[:99], y[:99]),
        made(cls).fit(X, y, sample_weight=weight),
        made(cls).fit(X[many], y[many]),
    ):
        assert linear.kernel_ == "linear"
        assert linear.coef_.shape == (4, 2)


@every_class
def test_the_default_is_linear_where_another_kernel_is_an_error(cls, curved):
    X, y = curved
    qid = np.arange(len(X)) // 5
    for ranker in (
        made(cls).fit(X, y[:, 0], qid),
        made(cls).fit(csr_array(X), y),
        made(cls, alpha=2.0).fit(X, y),
        made(cls, estimator=RandomForestRegressor(2)).fit(X, y),
    ):
        assert ranker.kernel_ == "linear"
    chunks = made(cls).partial_fit(X[:110], y[:110]).partial_fit(X[110:], y[110:])
    assert chunks.kernel_ == "linear"
    expected = made(cls, kernel="linear").fit(X, y).predict(X)
    np.testing.assert_allclose(chunks.predict(X), expected, **NEAR)


@pytest.mark.parametrize("name", ["coef_", "intercept_", "alpha_", "penalty_scale_"])
def test_attributes_of_a_linear_kernel_tell_the_remedy(name, curved):
    ranker = SpearmanRanker().fit(*curved)
    with pytest.raises(AttributeError, match=r"_ exists only with .*set kernel='linear'"):
        getattr(ranker, name)
    assert hasattr(SpearmanRanker(kernel="linear").fit(*curved), name)


def test_a_kernel_learns_no_other_rows(curved):
    X, y = curved
    ranker, other = SpearmanRanker().fit(X, y), SpearmanRanker().fit(X[:50], y[:50])
    for add in (
        lambda: ranker.partial_fit(X[:50], y[:50]),
        lambda: ranker.merge(other),
        lambda: other.merge(ranker),
    ):
        with pytest.raises(ValueError, match=r"a Gaussian kernel: set kernel='linear', or call"):
            add()
    assert other.partial_fit(X, y).kernel_ == "linear"


def test_judgments_are_aggregated_for_the_default(curved):
    X, y = curved
    orders = PreferenceTarget.from_orders(2 - y)
    ranker = AggregatedRanker("borda", SpearmanRanker()).fit(X, orders)
    assert ranker.ranker_.kernel_ == "gaussian"
    with pytest.raises(AttributeError, match="set kernel='linear'"):
        _ = ranker.coef_
    with pytest.raises(ValueError, match="set kernel='linear', or call partial_fit"):
        ranker.partial_fit(X, orders)


# -- laws --------------------------------------------------------------------------------


@every_kernel
@every_class
def test_rows_of_weight_zero_and_the_size_of_weights_do_not_count(cls, kernel, curved, rng):
    X, y = curved
    weight = rng.integers(0, 3, len(X)).astype(float)
    kept = weight > 0
    expected = made(cls, kernel=kernel).fit(X[kept], y[kept], sample_weight=weight[kept]).predict(X)
    for factor in (1.0, 7.0):
        ranker = made(cls, kernel=kernel).fit(X, y, sample_weight=factor * weight)
        np.testing.assert_allclose(ranker.predict(X), expected, **NEAR)


@every_kernel
def test_neither_units_nor_constant_columns_nor_the_loss_count(kernel, curved):
    X, y = curved
    expected = SpearmanRanker(kernel=kernel).fit(X, y).predict(X)
    for loss in SQUARED_LOSSES:
        ranker = SpearmanRanker(kernel=kernel, loss=loss).fit(X, y)
        np.testing.assert_allclose(ranker.predict(X), expected, **NEAR)
    Z = X * [1e-6, 1e6] + [3, 1e5]
    np.testing.assert_allclose(
        SpearmanRanker(kernel=kernel).fit(Z, y).predict(Z), expected, rtol=1e-4, atol=1e-6
    )


@every_class
def test_targets_in_place_of_labels(cls, curved):
    X, y = curved
    ranker = made(cls, kernel="auto")
    if not hasattr(ranker, "fit_targets"):
        pytest.skip("no targets in place of labels")
    assert ranker.fit_targets(X, y - 0.5).kernel_ == "gaussian"


@every_kernel
def test_copies(kernel, curved):
    X, y = curved
    ranker = clone(NDCGRanker().set_params(kernel=kernel))
    expected = ranker.fit(X, y).predict(X)
    copy = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(copy.predict(X), expected)
    assert copy.kernel_ == ranker.kernel_
    assert ranker.set_params(kernel="linear").fit(X, y).kernel_ == "linear"


def test_one_row():
    X, y = [[1.0]], [[2.0, 1.0]]
    assert SpearmanRanker(kernel="auto").fit(X, y).kernel_ == "linear"
    assert SpearmanRanker(kernel="gaussian").fit(X, y).rank(X).tolist() == [[1, 2]]


@every_class
def test_the_kernel_takes_no_calibration(cls):
    assert calibration_of(made(cls, kernel="auto")) == calibration_of(made(cls))


# -- what a kernel cannot do ---------------------------------------------------------------


@every_kernel
@every_class
def test_a_kernel_is_for_dense_rows_of_the_label_form(cls, kernel, curved):
    X, y = curved
    message = f"kernel must be 'linear'.*got '{kernel}': set kernel='linear'"
    with pytest.raises(ValueError, match=message):
        made(cls, kernel=kernel).fit(X, y[:, 0], np.arange(len(X)) // 5)
    with pytest.raises(ValueError, match=message):
        made(cls, kernel=kernel).fit(csr_array(X), y)


@every_kernel
@every_class
def test_a_kernel_chooses_its_regressor_and_penalty(cls, kernel, curved):
    with pytest.raises(ValueError, match=r"kernel=.* has no effect with estimator=.*KernelRidge"):
        made(cls, estimator=RandomForestRegressor(), kernel=kernel).fit(*curved)
    with pytest.raises(ValueError, match=r"alpha=2\.0 has no effect with kernel=.*KernelRidge"):
        made(cls, alpha=2.0, kernel=kernel).fit(*curved)


@every_class
def test_rows_of_a_kernel_come_at_once(cls, curved):
    ranker = made(cls, kernel="auto")
    for name in ("partial_fit", "merge"):
        assert not hasattr(ranker, name)
    ranker.fit(*curved)
    assert not hasattr(ranker, "coef_")


def test_too_many_pairs_of_rows(curved, monkeypatch):
    monkeypatch.setattr("skcalrank.rankers._gaussian.MOST_CELLS", 100)
    with pytest.raises(ValueError, match="whose pairs exceed 2 GB"):
        SpearmanRanker(kernel="gaussian").fit(*curved)


def test_squares_that_overflow(curved):
    X, y = curved
    with pytest.raises(ValueError, match="Squares of X must be finite"):
        SpearmanRanker(kernel="auto").fit(X * 1e200, y)


def test_a_kernel_is_neither_exported_nor_explained(curved):
    pytest.importorskip("skl2onnx")
    X, y = curved
    ranker = SpearmanRanker(kernel="gaussian").fit(X, y)
    for export in (to_json, to_onnx, to_sql):
        with pytest.raises(ValueError, match=r"Gaussian kernel, .*: fit with kernel='linear'"):
            export(ranker)
    for explain in (explain_scores, lambda *args: explain_order(*args, 0, instance=1)):
        with pytest.raises(ValueError, match=r"linear in the features.*kernel='linear'"):
            explain(ranker, X)


def test_dask_has_no_kernel(curved):
    da = pytest.importorskip("dask.array")
    X, y = (da.from_array(part, chunks=(40, -1)) for part in curved)
    with pytest.raises(ValueError, match=r"got kernel='auto': .*kernel='linear'"):
        SpearmanRanker(kernel="auto").fit(X, y)
    assert SpearmanRanker().fit(X, y).kernel_ == "linear"
