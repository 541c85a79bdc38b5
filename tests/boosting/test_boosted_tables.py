"""Boosted trees of data frames, sparse matrices and files."""

import numpy as np
import pytest
import sklearn
from boosting_cases import ENGINES, FIRST, boosted, made_queries, pickled
from cases import holds_generator
from scipy.sparse import coo_matrix, csr_array, csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import OneHotEncoder

from skcalrank import NDCGRanker, QueryKFold, RankingTarget, get_scorer
from skcalrank.data import MissingQidError
from skcalrank.metrics import measure_score
from skcalrank.persistence import load_model, save_model
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler, encoded

every_engine = pytest.mark.parametrize("engine", ENGINES)
ENGINES_OF_TEXT = ["lightgbm", "xgboost"]
every_library = pytest.mark.parametrize("library", ["pandas", "polars"])

# What the order of the names does not tell.
WORTH = {"rose": 2, "iris": 0, "poppy": 1, "aster": 0, "lily": 2, "daisy": 0}
NAMES = list(WORTH)


def table(library, kind, n_queries=30, seed=0):
    """Rows whose grade depends on a column of text with missing cells, labels and queries."""
    X, _, qid = made_queries(n_queries, seed)
    rng = np.random.default_rng(seed)
    names = rng.choice(NAMES, len(X)).tolist()
    y = np.array([WORTH[name] for name in names])
    names = [None if lost else name for name, lost in zip(names, rng.random(len(X)) < 0.05)]
    X[rng.random(X.shape) < 0.1] = np.nan
    frame = pytest.importorskip(library)
    columns = {"size": X[:, 0], "flower": names, "age": X[:, 1], "wild": X[:, 2] > 0}
    frame = frame.DataFrame(columns)
    return typed(frame, library, kind), y, qid


def typed(frame, library, kind):
    if kind == "text":
        return frame
    if library == "pandas":
        return frame.assign(flower=frame["flower"].astype("category"))
    import polars as pl

    return frame.with_columns(pl.col("flower").cast(pl.Categorical))


@pytest.mark.product
@every_engine
@every_library
@pytest.mark.parametrize("kind", ["text", "category"])
def test_columns_of_categories_are_learned_from(engine, library, kind):
    X, y, qid = table(library, kind)
    ranker = boosted(engine).fit(X, y, qid)
    assert ranker.score(X, y, qid) > 0.95
    assert ranker.feature_names_in_.tolist() == ["size", "flower", "age", "wild"]
    assert ranker.categorical_features_ == [1]
    assert ranker.feature_importances_.argmax() == 1


@every_engine
def test_tables_of_both_libraries_are_the_same(engine):
    fits = [table(library, kind) for library in ("pandas", "polars") for kind in ("text", "cat")]
    scores = [boosted(engine).fit(X, y, qid).predict(X) for X, y, qid in fits]
    for other in scores[1:]:
        np.testing.assert_array_equal(other, scores[0])


@every_engine
def test_numbers_that_are_categories_are_not_a_scale(engine):
    X, y, qid = table("pandas", "text")
    text = boosted(engine).fit(X, y, qid).predict(X)
    numbers = {name: 7 * place for place, name in enumerate(sorted(NAMES))}
    coded = X.assign(flower=X["flower"].map(numbers).astype("category"))
    ranker = boosted(engine).fit(coded, y, qid)
    assert ranker.categorical_features_ == [1]
    np.testing.assert_array_equal(ranker.predict(coded), text)


def test_objects_that_are_numbers_are_numbers():
    X, y, qid = table("pandas", "text")
    X = X[["size", "age"]]
    ranker = boosted(FIRST).fit(X.astype(object), y, qid)
    assert ranker.categorical_features_ == []
    twin = boosted(FIRST).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), twin.predict(X))


def of_flowers(library, names):
    """A table of flowers and a column of numbers."""
    frame, size = pytest.importorskip(library), np.random.default_rng(1).normal(size=len(names))
    return frame.DataFrame({"size": size, "flower": names})


@every_engine
@every_library
def test_missing_is_a_level_of_its_own(engine, library):
    rng, qid = np.random.default_rng(0), np.repeat(np.arange(30), 20)
    names = rng.choice([*NAMES, *["lily"] * 5], 600).tolist()  # in most rows, so that codes agree
    y = np.array([WORTH[name] for name in names])
    new = rng.choice([*NAMES, "tulip"], 600).tolist()
    rankers = []
    for lily in ("lily", None):
        fit, rows = ([lily if name == "lily" else name for name in of] for of in (names, new))
        ranker = boosted(engine).fit(of_flowers(library, fit), y, qid)
        rankers.append((ranker, of_flowers(library, rows)))
    for method in ("predict", "contributions"):
        expected, found = (getattr(ranker, method)(rows) for ranker, rows in rankers)
        np.testing.assert_array_equal(found, expected)
        assert np.ptp(found) > 0.1


@every_engine
@pytest.mark.parametrize("gaps", [False, True])
def test_a_level_that_was_not_seen_has_none_of_the_extreme_scores(engine, gaps):
    rng, qid = np.random.default_rng(0), np.repeat(np.arange(60), 10)
    levels = [f"l{k}" for k in range(9)] + ["best" if not gaps else None]
    chosen = rng.integers(0, 10, 600)
    y = np.array([0, 1, 1, 1, 1, 2, 2, 2, 2, 4])[chosen]
    X = of_flowers("pandas", [levels[k] for k in chosen])
    ranker = boosted(engine).fit(X, y, qid)
    rows = of_flowers("pandas", [*levels, "tulip", "rose"]).assign(size=0.0)
    *known, one, other = ranker.predict(rows)
    assert min(known) < one == other < max(known)
    if not gaps:  # nothing tells what missing means
        assert ranker.predict(rows.assign(flower=None))[0] == one
    new = of_flowers("pandas", ["tulip" if k < 3 else levels[k] for k in chosen])
    stopped = boosted(engine).fit(X, y, qid, eval_set=(new, y, qid))
    rounds = stopped.staged_predict(new, qid)
    found = [measure_score("ndcg@10", y, scores, qid=qid) for scores in rounds]
    np.testing.assert_allclose(found, stopped.validation_scores_[: len(found)], rtol=1e-6)


def with_flowers(rows, lost):
    """Rows without a flower in some of them, and rows with a flower there that fit has not seen."""
    flowers = rows["flower"].where(~lost)
    return rows.assign(flower=flowers), rows.assign(flower=flowers.mask(lost, "tulip"))


@every_engine
def test_unseen_categories_are_missing_in_validation_and_contributions(engine, capfd):
    X, y, qid = table("pandas", "text")
    X = X.fillna({"flower": "none"})
    lost = np.random.default_rng(0).random(len(X)) < 0.3
    none, new = with_flowers(X, lost)
    ranker, twin = (boosted(engine).fit(X, y, qid, eval_set=(r, y, qid)) for r in (new, none))
    np.testing.assert_array_equal(ranker.validation_scores_, twin.validation_scores_)
    # Codes as a stack hands them: they stay as they are.
    matrix = encoded(new, ranker.encoder_)
    before = matrix.matrix.copy()
    assert (before == -1).sum() == lost.sum()
    matrix.matrix.flags.writeable = False
    np.testing.assert_array_equal(ranker.predict(matrix), ranker.predict(none))
    parts = ranker.contributions(matrix)
    np.testing.assert_array_equal(parts, ranker.contributions(none))
    np.testing.assert_array_equal(matrix.matrix, before)
    assert capfd.readouterr() == ("", "")


@every_library
def test_other_columns_are_refused_by_name(library):
    X, y, qid = table(library, "text")
    ranker = boosted(FIRST).fit(X, y, qid)
    columns = ["flower", "size", "age", "wild"]
    np.testing.assert_array_equal(ranker.predict(X[columns]), ranker.predict(X))
    with pytest.raises(ValueError, match="must have the columns of fit, got none named 'wild'"):
        ranker.predict(X[columns[:3]])


def test_a_column_of_mixed_types_has_levels_of_both():
    X, y, qid = table("pandas", "text")
    numbers = X.assign(flower=X["flower"].replace({"rose": 1}).astype(object))
    scores = boosted(FIRST).fit(numbers, y, qid).predict(numbers)
    np.testing.assert_array_equal(scores, boosted(FIRST).fit(X, y, qid).predict(X))


def test_the_frame_is_left_as_it_was():
    X, y, qid = table("pandas", "category")
    before = X.copy()
    boosted(FIRST).fit(X, y, qid).predict(X)
    assert X.equals(before)


@every_engine
def test_a_validation_table_is_read_as_the_other(engine):
    X, y, qid = table("pandas", "text")
    other = table("pandas", "category", seed=1)
    ranker = boosted(engine).fit(X, y, qid, eval_set=other)
    assert ranker.validation_scores_.max() > 0.95
    with pytest.raises(ValueError, match=r"Invalid eval_set .*must have the columns of fit"):
        boosted(engine).fit(X, y, qid, eval_set=(other[0][["size"]], *other[1:]))


def test_a_start_is_given_the_table_itself_and_the_qid():
    X, y, qid = table("pandas", "text")
    y = np.digitize(y + 2 * X["age"].fillna(0) + X["size"].fillna(0), [1, 3, 5])
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["flower"]), (SimpleImputer(), ["size", "age"])
    )
    start = make_query_pipeline(columns, QueryScaler(), NDCGRanker())
    ranker = boosted(FIRST, start=start, n_estimators=3).fit(X, y, qid)
    assert ranker.start_scale_ > 0
    trees = ranker.predict(X, qid) - ranker.start_scale_ * ranker.start_.predict(X, qid)
    assert np.ptp(trees) > 0
    assert ranker.score(X, y, qid) > 0.9
    with pytest.raises(MissingQidError):
        ranker.predict(X)


def test_a_table_in_a_cross_validation():
    X, y, qid = table("pandas", "text")
    names = np.array([f"query {q}" for q in qid])
    scores = cross_val_score(
        boosted(FIRST),
        X,
        RankingTarget(y, names),
        cv=QueryKFold(3),
        scoring=get_scorer("ndcg@10"),
        error_score="raise",
    )
    assert (scores > 0.9).all()


def test_routing_hands_the_qid():
    X, y, qid = table("pandas", "text")
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            boosted(FIRST), X, y, cv=QueryKFold(3), params={"qid": qid}, error_score="raise"
        )
    assert (scores > 0.9).all()


# -- sparse matrices ---------------------------------------------------------------------------


def test_absent_values_are_zero():
    X, y, qid = made_queries(30, seed=0)
    X[X < 0.5] = 0
    dense = boosted("lightgbm").fit(X, y, qid)
    for kind in (csr_matrix, csr_array, coo_matrix):
        ranker = boosted("lightgbm").fit(kind(X), y, qid)
        np.testing.assert_allclose(ranker.predict(kind(X)), dense.predict(X), rtol=1e-12)
        np.testing.assert_allclose(ranker.predict(X), dense.predict(kind(X)), rtol=1e-12)


def test_xgboost_takes_absent_values_for_missing():
    pytest.importorskip("xgboost")
    X, y, qid = made_queries(30, seed=0)
    X[X < 0.5] = 0
    lost = np.where(X == 0, np.nan, X)
    ranker = boosted("xgboost").fit(csr_array(X), y, qid)
    expected = boosted("xgboost").fit(lost, y, qid).score(lost, y, qid)
    assert ranker.score(X, y, qid) == pytest.approx(expected, abs=0.05)
    told = csr_matrix(np.ones_like(X))
    told.data = X.ravel().copy()
    told.data.flags.writeable = False
    for same in (X, lost, told, coo_matrix(X), pickled(ranker)):
        twin = same if hasattr(same, "predict") else ranker
        rows = X if twin is same else same
        np.testing.assert_array_equal(twin.predict(rows), ranker.predict(csr_matrix(X)))
    assert told.nnz == X.size


def test_xgboost_reads_sparse_rows_as_the_others_where_it_was_fitted_to_arrays():
    pytest.importorskip("xgboost")
    X, y, qid = made_queries(30, seed=0)
    X[X < 0.5] = 0
    held = qid < 6
    ranker = boosted("xgboost")
    valid = csr_matrix(X[held]), y[held], qid[held]
    ranker.fit(X[~held], y[~held], qid[~held], eval_set=valid)
    np.testing.assert_array_equal(ranker.predict(csr_matrix(X)), ranker.predict(X))
    best = pytest.approx(ranker.validation_scores_.max(), rel=1e-15)
    assert ranker.score(X[held], y[held], qid[held]) == best


def test_scikit_learn_takes_no_sparse_rows():
    X, y, qid = made_queries(5, seed=0)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        boosted("sklearn").fit(csr_matrix(X), y, qid)


# -- files -------------------------------------------------------------------------------------


@every_engine
@holds_generator
def test_model_files(engine, tmp_path):
    pytest.importorskip("skops")
    X, y, qid = table("pandas", "text")
    ranker = boosted(engine).fit(X, y, qid)
    save_model(ranker, tmp_path / "trees.skops")
    twin = load_model(tmp_path / "trees.skops")
    np.testing.assert_array_equal(twin.predict(X), ranker.predict(X))
    assert twin.best_iteration_ == ranker.best_iteration_
    assert type(twin.booster_) is type(ranker.booster_)
    assert twin.score(X, y, qid) == ranker.score(X, y, qid)


@every_engine
@holds_generator
def test_model_files_of_a_start(engine, tmp_path):
    pytest.importorskip("skops")
    X, y, qid = made_queries(30, seed=0)
    ranker = boosted(engine, start=NDCGRanker()).fit(X, y, qid)
    save_model(ranker, tmp_path / "trees.skops")
    twin = load_model(tmp_path / "trees.skops")
    np.testing.assert_array_equal(twin.predict(X), ranker.predict(X))


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES_OF_TEXT)
def test_many_trees_with_many_leaves_and_levels_are_kept(engine, tmp_path):
    # What a text of trees declares grows with their number, nearly as fast as the text.
    pytest.importorskip("skops")
    pd = pytest.importorskip("pandas")
    X, y, qid = made_queries(60, seed=0)
    X = pd.DataFrame(X).add_prefix("f")
    X["level"] = pd.Categorical(
        np.random.default_rng(0).integers(0, 90, len(X)), categories=range(90)
    )
    grown = {"n_estimators": 200, "max_leaf_nodes": 60, "validation_fraction": None}
    if engine == "lightgbm":
        grown["engine_params"] = {"min_data_per_group": 1, "cat_smooth": 1}
    ranker = boosted(engine, **grown).fit(X, y, qid)
    np.testing.assert_array_equal(pickled(ranker).predict(X), ranker.predict(X))
    save_model(ranker, tmp_path / "trees.skops")
    np.testing.assert_array_equal(
        load_model(tmp_path / "trees.skops").predict(X), ranker.predict(X)
    )


def test_lazy_collections_are_ranked():
    da = pytest.importorskip("dask.array")
    X, y, qid = made_queries(30, seed=0)
    lazy = da.from_array(X, chunks=(150, 6))
    ranker = boosted(FIRST).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(lazy).compute(), ranker.predict(X))
