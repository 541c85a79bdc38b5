"""Columns of numbers of every size, of equal values, and too close for single precision."""

import warnings

import numpy as np
import pytest
from boosting_cases import ENGINES, boosted, made_queries
from scipy.sparse import csr_matrix

from skcalrank.data import Queries, Rows
from skcalrank.preprocessing import TableEncoder

every_engine = pytest.mark.parametrize("engine", ENGINES)
LARGEST = np.finfo(np.float32).max


@pytest.fixture(scope="module")
def data():
    return made_queries(30, seed=0)


# -- sizes -------------------------------------------------------------------------------------


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("size", [1e-30, 1e-20, 1e20, 1e30])
def test_the_unit_of_a_column_does_not_matter(engine, size, data):
    X, y, qid = data
    held = qid < 6

    def scores(X):
        valid = X[held], y[held], qid[held]
        ranker = boosted(engine).fit(X[~held], y[~held], qid[~held], eval_set=valid)
        return ranker.predict(X)

    np.testing.assert_allclose(scores(size * X), scores(X), rtol=1e-12, atol=1e-14)


@every_engine
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize(
    ("size", "message"),
    [
        (1e-300, r"reach 1e-31, .* got at most 3e-300 in column 2\. Multiply"),
        (1e-40, r"reach 1e-31, .* got at most 3e-40 in column 2\. Multiply"),
        (1e39, r"up to 3.4e\+38, .* got 3e\+39 in column 2\. Divide"),
        (1e300, r"up to 3.4e\+38, .* got 3e\+300 in column 2\. Divide"),
    ],
)
def test_columns_that_a_library_would_misread_are_refused(engine, form, size, message, data, capfd):
    X, y, qid = data
    if engine == "sklearn" and form is csr_matrix:
        pytest.skip("takes no sparse matrix")
    X = np.clip(X, -3, 3)
    X[7, 2], X[8, 2], X[9, 2] = -3, 0, np.nan
    X[:, 2] *= size
    with pytest.raises(ValueError, match=message):
        boosted(engine).fit(form(X), y, qid)
    assert capfd.readouterr() == ("", "")


@every_engine
def test_a_column_of_a_table_that_would_be_misread_is_named(engine, data):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame(X, columns=list("abcdef")).assign(b=1e-40 * X[:, 1])
    with pytest.raises(ValueError, match="in column 'b'"):
        boosted(engine).fit(frame, y, qid)


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("value", [1e39, -1e300])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_a_larger_value_at_predict_is_the_largest(engine, value, form, data):
    X, y, qid = data
    if engine == "sklearn" and form is csr_matrix:
        pytest.skip("takes no sparse matrix")
    ranker = boosted(engine).fit(form(X), y, qid)
    far, end = X.copy(), X.copy()
    far[::5, 0], end[::5, 0] = value, np.sign(value) * LARGEST
    before = far.copy()
    np.testing.assert_array_equal(ranker.predict(form(far)), ranker.predict(form(end)))
    np.testing.assert_array_equal(far, before)


# -- equal values ------------------------------------------------------------------------------


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("params", [{}, {"n_models": 2}, {"loss": "lambdarank"}])
@pytest.mark.filterwarnings("ignore:Trees found no split")
def test_columns_of_one_value_give_equal_scores(engine, value, params, data, capfd):
    X, y, qid = data
    if "loss" in params and engine != "lightgbm":
        pytest.skip("has no such objective")
    constant = np.full_like(X, value)
    ranker = boosted(engine, **params).fit(constant, y, qid)
    scores = np.concatenate([ranker.predict(constant), ranker.predict(X)])
    np.testing.assert_array_equal(scores, scores[0])
    assert np.isfinite(scores[0])
    assert ranker.feature_importances_.tolist() == [0.0] * 6
    assert capfd.readouterr() == ("", "")


@every_engine
@pytest.mark.filterwarnings("ignore:Trees found no split")
def test_columns_may_vary_in_the_validation_rows_alone(engine, data, capfd):
    pandas = pytest.importorskip("pandas")
    _, y, qid = data
    held = qid >= 24
    flags = csr_matrix(held[:, None] * 1.0)
    # As missing categories, numbers and entries of a sparse matrix are.
    tables = [pandas.DataFrame({"kind": np.where(held, "new", None)}), flags.toarray()]
    for X in tables if engine == "sklearn" else [*tables, flags]:
        ranker = boosted(engine, columns={"kind": "category"} if X is tables[0] else None)
        folds = np.where(held, 0, -1)
        scores = ranker._fit_held_out(Rows(X, y, Queries.from_qid(qid), named=True), folds, False)
        assert np.ptp(scores[held]) == 0
    assert capfd.readouterr() == ("", "")


# -- single precision --------------------------------------------------------------------------


def seconds(n_queries=40):
    """Grades that follow a time of some minutes, in seconds since 1970."""
    X, _, qid = made_queries(n_queries, seed=0)
    late = np.random.default_rng(0).integers(0, 100, len(X))
    X[:, 1] = 1.7e9 + late
    return X, late // 25, qid


def fits(X, y, qid):
    """The warnings of a fit of XGBoost."""
    pytest.importorskip("xgboost")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        boosted("xgboost", n_estimators=2).fit(X, y, qid)
    return [str(warning.message) for warning in told]


def test_values_that_single_precision_makes_equal_are_told():
    X, y, qid = seconds()
    (message,) = fits(X, y, qid)
    assert "makes different values equal in the columns [1] of X. Subtract" in message
    X[::9, 1] = 0  # for a missing time
    assert len(fits(X, y, qid)) == 1
    assert fits(np.column_stack([X[:, 0], X[:, 1] - 1.7e9]), y, qid) == []


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "xgboost"])
def test_other_libraries_tell_them_apart(engine):
    X, y, qid = seconds()
    assert boosted(engine).fit(X, y, qid).score(X, y, qid) > 0.999


def test_the_reader_of_tables_moves_them_apart():
    pytest.importorskip("xgboost")
    X, y, qid = seconds()
    rows = [dict(zip("abcdef", row)) for row in X.tolist()]
    encoder = TableEncoder().fit(rows)
    assert fits(encoder.transform(rows), y, qid) == []
    ranker = boosted("xgboost").fit(encoder.transform(rows), y, qid)
    assert ranker.score(encoder.transform(rows), y, qid) == 1


@pytest.mark.parametrize("case", ["rounding", "chance", "many values", "one value", "missing"])
def test_other_columns_are_silent(case):
    X, y, qid = made_queries(300, seed=0)
    rng = np.random.default_rng(0)
    X[:, 0] = {
        "rounding": np.where(rng.random(len(X)) < 0.5, 0.3, 0.1 + 0.2),
        "chance": (1 + rng.integers(0, 200, len(X))) * (1 + 1e-9 * (np.arange(len(X)) == 0)),
        "many values": 1.0 + 1e-4 * rng.random(len(X)),
        "one value": np.full(len(X), 1.7e9),
        "missing": np.full(len(X), np.nan),
    }[case]
    assert fits(X, y, qid) == []


def test_weights_within_a_query_are_refused_before_rows_are_held_out(data):
    pytest.importorskip("xgboost")
    X, _, _ = data
    ranker = boosted(None, loss="rank:ndcg")
    with pytest.raises(ValueError, match="must be constant within each query"):
        ranker.fit(X[:2], [0, 1], [0, 0], sample_weight=[2, 0])
