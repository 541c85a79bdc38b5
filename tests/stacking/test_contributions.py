"""Contributions of the columns of a table to the scores of a stack."""

from functools import cache

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, pickled
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from tables import FORMS, labels, made_columns

from skcalrank import BoostedRanker, NDCGRanker, StackingRanker, TabularRanker, load_digits_queries
from skcalrank.data import MissingQidError
from skcalrank.inspection import explain_order
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, by_column

COLUMNS = made_columns(160)
Y, QID = labels(COLUMNS)
TABLE = FORMS["records"](COLUMNS)
# Queries that do not lie together, of which one has a single row.
ORDER = np.random.default_rng(1).permutation(160)[:151]


def arrays():
    X, y, qid = load_digits_queries(n_queries=40, n_documents=10)
    X = X[:, ::4].astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X, y, qid


@cache
def fitted(trees, normalize, is_array=False):
    few = trees and boosted(trees, n_estimators=5)
    ranker = TabularRanker("ndcg@5", trees=few, normalize=normalize, n_jobs=1)
    ranker.fit(*(arrays() if is_array else (TABLE, Y, QID)))
    ranker.weights_ = 1.0 + np.arange(len(ranker.weights_))  # some may have had none
    return pickled(ranker)


every_stack = pytest.mark.parametrize("trees", [*ENGINES, None])
every_scale = pytest.mark.parametrize("normalize", ["pooled", "query"])


def assert_sums(ranker, X, qid):
    """Parts sum to the scores, and those of columns to the scores less the mean of the query."""
    parts, scores = ranker.contributions(X, qid), ranker.predict(X, qid)
    assert parts.shape == (len(qid), ranker.n_features_in_ + 1)
    assert np.ptp(scores) > 0
    means = np.array([scores[qid == name].mean() for name in qid])
    np.testing.assert_allclose(parts[:, -1], means, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts[:, :-1].sum(axis=1), scores - means, rtol=0, atol=1e-9)
    for name in set(qid.tolist()):
        np.testing.assert_allclose(parts[qid == name, :-1].mean(axis=0), 0, atol=1e-12)
    return parts


@pytest.mark.product
@every_stack
@every_scale
def test_parts_of_tables_sum_to_the_scores(trees, normalize):
    parts = assert_sums(fitted(trees, normalize), TABLE, QID)
    names = list(COLUMNS)
    assert not parts[:, names.index("one")].any()
    assert (np.ptp(parts[:, :-1], axis=0) > 0).sum() >= 6


@every_stack
@every_scale
def test_parts_of_queries_that_lie_apart_and_of_single_rows(trees, normalize):
    assert_sums(fitted(trees, normalize), [TABLE[row] for row in ORDER], QID[ORDER])


@pytest.mark.product
@every_stack
@every_scale
def test_parts_of_arrays_sum_to_the_scores(trees, normalize):
    X, _, qid = arrays()
    assert_sums(fitted(trees, normalize, is_array=True), X, qid)


def test_terms_of_linear_views_are_those_of_their_coefficients():
    # All curves of a number, the level of a category, and the parts of a date come together.
    ranker = pickled(fitted(None, "pooled"))
    ranker.weights_[:] = 0.0, 0.0, 2.0
    hinges = ranker.linear_.hinges
    columns, last = hinges[0], hinges[-1]
    terms = columns.transform(TABLE) * last.coef_
    sources = [i.column for i in columns.indicators_ for _ in range(i.of(np.zeros((1, 99))).size)]
    sources += columns.numbers_[columns.curve_.features_].tolist()
    matrix = np.zeros((160, len(ranker.encoder_.sources_)))
    np.add.at(matrix.T, np.array(sources), terms.T)
    of_columns = by_column(matrix, ranker.encoder_) * 2.0 / ranker.spreads_[2]
    expected = of_columns - np.repeat(of_columns.reshape(16, 10, -1).mean(axis=1), 10, axis=0)
    np.testing.assert_allclose(ranker.contributions(TABLE, QID)[:, :-1], expected, atol=1e-10)


@pytest.mark.parametrize("trees", ENGINES)
def test_parts_of_trees_are_their_shap_values(trees):
    ranker = pickled(fitted(trees, "pooled"))
    ranker.weights_[:] = 0.0, 0.0, 0.0, 1.0, 0.0
    of_trees = ranker.boosted_.by_targets.contributions(TABLE)[:, :-1] / ranker.spreads_[3]
    expected = of_trees - np.repeat(of_trees.reshape(16, 10, -1).mean(axis=1), 10, axis=0)
    np.testing.assert_allclose(ranker.contributions(TABLE, QID)[:, :-1], expected, atol=1e-10)


@every_scale
def test_members_of_other_kinds_have_parts_too(normalize):
    X, y, qid = load_digits_queries(n_queries=40, n_documents=10)
    stack = StackingRanker(
        [
            ("linear", NDCGRanker()),
            ("ridge", Ridge()),
            ("hinges", make_query_pipeline(LinearColumns(QuantileHinges()), NDCGRanker())),
            ("trees", boosted(FIRST, n_estimators=5, start=NDCGRanker())),
            ("stack", StackingRanker()),
        ],
        normalize=normalize,
    ).fit(X, y, qid)
    stack.weights_[:] = 1.0
    assert stack._compiled is None
    assert_sums(stack, X, qid)


def test_a_ranker_without_parts_is_named():
    X, y, qid = load_digits_queries(n_queries=12, n_documents=8)
    stack = StackingRanker([("near", KNeighborsRegressor()), ("linear", NDCGRanker())])
    stack.fit(X, y, qid).weights_[:] = 1.0
    with pytest.raises(ValueError, match=r"'near' cannot be explained. .* KNeighborsRegressor"):
        stack.contributions(X, qid)
    stack.weights_[0] = 0.0
    assert_sums(stack, X, qid)


def test_trees_without_parts_are_named():
    pytest.importorskip("lightgbm")
    X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    trees = boosted("lightgbm", n_estimators=5, engine_params={"linear_tree": True})
    ranker = TabularRanker(trees=trees, n_jobs=1).fit(X, y, qid)
    ranker.weights_[:] = 1.0
    with pytest.raises(ValueError, match=r"'by_targets' cannot be explained. .*linear trees"):
        pickled(ranker).contributions(X, qid)


def test_queries_are_required():
    with pytest.raises(MissingQidError, match="contributions got none"):
        fitted(None, "pooled").contributions(TABLE)
    with pytest.raises(MissingQidError):
        explain_order(fitted(None, "pooled"), TABLE, 0, 1)
    one = fitted(None, "pooled").contributions(TABLE[:10], 0)
    np.testing.assert_array_equal(one, fitted(None, "pooled").contributions(TABLE[:10], QID[:10]))


def test_no_rows_have_no_parts():
    ranker = fitted(None, "pooled", is_array=True)
    n_features = ranker.n_features_in_
    assert ranker.contributions(np.zeros((0, n_features)), []).shape == (0, n_features + 1)


# -- the order of two documents --------------------------------------------------------------


@pytest.mark.product
@every_stack
@every_scale
def test_an_order_is_explained_by_columns(trees, normalize):
    ranker = fitted(trees, normalize)
    scores, rows = ranker.predict(TABLE, QID), slice(20, 30)
    pair = explain_order(ranker, TABLE, 23, 27, qid=QID)
    assert pair.total == pytest.approx(scores[23] - scores[27], abs=1e-9)
    assert list(pair.feature_names) == [name for name in COLUMNS if name != "one"]
    place = explain_order(ranker, TABLE, 23, qid=QID)
    assert place.total == pytest.approx(scores[23] - scores[rows].mean(), abs=1e-9)
    parts = ranker.contributions(TABLE, QID)
    of_used = np.array(list(COLUMNS)) != "one"  # which is constant, and dropped
    expected = (parts[23] - parts[27])[:-1]
    np.testing.assert_allclose(pair.contributions, expected[of_used], atol=1e-12)
    assert "missing" in str(place)
    assert "weight" not in str(place)


def test_an_order_of_rankers_of_trees_is_exact_with_every_library():
    X, y, qid = arrays()
    for engine in ENGINES:
        ranker: BoostedRanker = boosted(engine).fit(X, y, qid)
        scores = ranker.predict(X)
        assert explain_order(ranker, X, 3, 1).total == pytest.approx(
            scores[3] - scores[1], abs=1e-9
        )


def test_columns_in_another_order_and_among_others():
    pandas = pytest.importorskip("pandas")
    ranker, frame = fitted(None, "pooled"), pandas.DataFrame(COLUMNS)
    expected = explain_order(ranker, TABLE, 23, 27, qid=QID).to_frame()
    moved = frame[[*reversed(frame.columns)]].drop(columns="one").assign(new=1)
    explained = explain_order(ranker, moved, 23, 27, qid=QID).to_frame()
    assert explained.index.tolist() == expected.index.tolist()
    np.testing.assert_allclose(explained["contribution"], expected["contribution"])
    for name in ("brand", "title", "stars"):
        assert explained["value"][name] == expected["value"][name]
