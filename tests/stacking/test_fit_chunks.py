"""A TabularRanker that is fitted in chunks is that of the whole table."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import DataConversionWarning

from skcalrank import StackingRanker, TabularRanker
from skcalrank.boosting import BoostedRanker
from skcalrank.datasets import load_table, make_offers, make_subset_ranking

N_QUERIES = 120
LINEAR = ("scaled", "logs", "hinges")


@pytest.fixture(scope="module")
def data():
    X, y, qid = make_subset_ranking(N_QUERIES, (3, 20), 6, n_grades=4, random_state=0)
    X = X * 5
    X[::7, 3] = np.nan
    return X, y, np.array([f"q{query}" for query in qid])


def rows_of(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def cut(*arrays, n_chunks=5, seed=None):
    """Return chunks of whole queries; their rows are shuffled with a seed."""
    qid, chunks = arrays[2], []
    for names in np.array_split(list(dict.fromkeys(qid.tolist())), n_chunks):
        rows = np.flatnonzero(np.isin(qid, names))
        if seed is not None:
            np.random.default_rng(seed).shuffle(rows)
        chunks.append(tuple(rows_of(values, rows) for values in arrays))
    return chunks


def coefficients(ranker):
    return {name: pipe.steps[-1][1].coef_ for name, pipe in ranker.linear_.items()}


def same(one, other, X, qid, tolerance=1e-9):
    """Check that two rankers are equal up to rounding, and return True."""
    for name, coef in coefficients(one).items():
        np.testing.assert_allclose(coefficients(other)[name], coef, atol=tolerance, rtol=tolerance)
    np.testing.assert_allclose(other.weights_, one.weights_, atol=tolerance)
    np.testing.assert_allclose(other.spreads_, one.spreads_, rtol=tolerance)
    np.testing.assert_allclose(
        other.predict(X, qid), one.predict(X, qid), atol=tolerance, rtol=tolerance
    )
    assert other.n_features_in_ == one.n_features_in_
    assert getattr(other, "feature_names_in_", 0) is getattr(one, "feature_names_in_", 0) or (
        other.feature_names_in_.tolist() == one.feature_names_in_.tolist()
    )
    return True


# -- the whole table is in the sample ------------------------------------------------------


@pytest.mark.product
@pytest.mark.parametrize("n_chunks", [1, 7, N_QUERIES])
@pytest.mark.parametrize("normalize", ["pooled", "query"])
def test_chunks_are_the_whole(data, n_chunks, normalize):
    X, y, qid = data
    ranker = TabularRanker(trees=None, normalize=normalize)
    whole, chunks = ranker.fit(X, y, qid), cut(*data, n_chunks=n_chunks, seed=n_chunks)
    again = TabularRanker(trees=None, normalize=normalize)
    assert same(whole, again.fit_chunks(chunks), X, qid)
    assert same(whole, again.fit_chunks(lambda: iter(chunks[::-1])), X, qid)


def test_one_query(data):
    X, y, qid = (values[data[2] == "q2"] for values in data)
    one = TabularRanker(trees=None).fit(X, y, qid)
    assert same(one, TabularRanker(trees=None).fit_chunks([(X, y, qid)]), X, qid)


def test_single_precision(data):
    X, y, qid = data
    X = X.astype(np.float32)
    whole = TabularRanker(trees=None).fit(X, y, qid)
    chunks = cut(X, y, qid)
    assert same(whole, TabularRanker(trees=None).fit_chunks(chunks), X, qid, 1e-5)
    assert TabularRanker(trees=None).fit_chunks(chunks).predict(X, qid).dtype == float


def test_weights(data):
    X, y, qid = data
    weight = np.random.default_rng(0).random(len(y))
    weight[np.isin(qid, ["q3", "q50", "q51"])] = 0
    whole = TabularRanker(trees=None).fit(X, y, qid, weight)
    chunks = cut(X, y, qid, weight, seed=0)
    assert same(whole, TabularRanker(trees=None).fit_chunks(chunks), X, qid)
    of_few = TabularRanker(trees=None).fit_chunks(chunks, max_rows=len(y) // 2)
    for name, expected in coefficients(whole).items():
        np.testing.assert_allclose(coefficients(of_few)[name], expected, atol=1e-9, rtol=1e-9)
    in_chunks = TabularRanker(trees=None, random_state=3).fit_chunks(chunks)
    assert same(TabularRanker(trees=None, random_state=3).fit(X, y, qid, weight), in_chunks, X, qid)
    of_all = TabularRanker(trees=None).fit(X, y, qid, 2.0)
    chunks = [(*chunk, 2.0) for chunk in cut(X, y, qid, seed=0)]
    assert same(of_all, TabularRanker(trees=None).fit_chunks(chunks), X, qid)


@pytest.mark.parametrize("trees", [None, BoostedRanker(engine="sklearn", n_estimators=10)])
def test_tables(trees):
    pytest.importorskip("pandas")
    X, y, qid = make_offers(n_queries=60, random_state=0)
    ranker = TabularRanker(trees=trees, columns={"sku": "drop"})
    chunks = cut(X, np.asarray(y), np.asarray(qid), seed=1)
    whole, in_chunks = (TabularRanker(**ranker.get_params(deep=False)) for _ in range(2))
    whole.fit(X, y, qid)
    in_chunks.fit_chunks(chunks)
    assert in_chunks.encoder_.describe() == whole.encoder_.describe()
    assert same(whole, in_chunks, X, qid)
    assert in_chunks.score(X, y, qid) == pytest.approx(whole.score(X, y, qid))


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost", "sklearn"])
def test_trees_of_the_whole_are_those_of_the_sample(data, engine):
    if engine != "sklearn":
        pytest.importorskip(engine)
    X, y, qid = data
    trees = BoostedRanker(engine=engine, n_estimators=10, n_jobs=1)
    whole = TabularRanker(trees=trees).fit(X, y, qid)
    in_chunks = TabularRanker(trees=trees).fit_chunks(cut(*data, seed=0))
    assert same(whole, in_chunks, X, qid)
    for one, other in zip(whole.boosted_.values(), in_chunks.boosted_.values()):
        assert one.best_iteration_ == other.best_iteration_
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=0, atol=1e-12)


def test_files(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y, qid = make_offers(n_queries=60, random_state=0)
    frame = X.assign(grade=y, search=qid)
    for number, start in enumerate(range(0, len(frame), 150)):
        frame[start : start + 150].to_parquet(tmp_path / f"{number}.parquet")
    settings = {"qid": "search", "label": "grade"}
    whole = load_table(tmp_path, **settings)
    ranker = TabularRanker(trees=None, columns={"sku": "drop"}).fit(*whole)
    in_chunks = TabularRanker(trees=None, columns={"sku": "drop"}).fit_chunks(
        lambda: load_table(tmp_path, **settings, chunk_rows=200, kinds="any")
    )
    assert same(ranker, in_chunks, whole.X, whole.qid)


# -- the sample is smaller -----------------------------------------------------------------


def test_the_linear_rankers_learn_all_rows(data):
    X, y, qid = data
    whole = TabularRanker(trees=None).fit(X, y, qid)
    sampled = TabularRanker(trees=None).fit_chunks(cut(*data), max_rows=len(y) // 3)
    for name, expected in coefficients(whole).items():
        np.testing.assert_allclose(coefficients(sampled)[name], expected, atol=1e-9, rtol=1e-9)
    assert not np.allclose(sampled.weights_, whole.weights_, atol=1e-9)
    assert abs(sampled.score(X, y, qid) - whole.score(X, y, qid)) < 0.02


def test_the_sample_depends_on_names_alone(data):
    X, y, qid = data
    trees = BoostedRanker(engine="sklearn", n_estimators=5)
    one, other = (
        TabularRanker(trees=trees).fit_chunks(chunks, max_rows=len(y) // 2)
        for chunks in (cut(*data), cut(*data, n_chunks=2, seed=0)[::-1])
    )
    assert same(one, other, X, qid)


def test_features_in_memory_are_those_of_the_sample(data, monkeypatch):
    y, n_rows = data[1], []
    fit = BoostedRanker._fit_held_out
    monkeypatch.setattr(
        BoostedRanker,
        "_fit_held_out",
        lambda self, rows, *a, **k: n_rows.append(rows.n_rows) or fit(self, rows, *a, **k),
    )
    most, trees = len(y) // 2, BoostedRanker(engine="sklearn", n_estimators=2)
    ranker = TabularRanker(trees=trees).fit_chunks(cut(*data), max_rows=most)
    assert len(n_rows) == 2
    assert all(0.7 * most < n <= 1.1 * most for n in n_rows)
    assert set(ranker.boosted_) == {"by_targets", "by_grades"}


def test_the_order_of_chunks_sets_no_precision(data):
    trees = BoostedRanker(engine="sklearn", n_estimators=5)
    first, *others = cut(*data)
    chunks = [*others, (first[0].astype(np.float32), *first[1:])]
    one, other = (TabularRanker(trees=trees).fit_chunks(order) for order in (chunks, chunks[::-1]))
    scores = [ranker.boosted_.by_grades.predict(data[0]) for ranker in (one, other)]
    np.testing.assert_array_equal(*scores)


def test_labels_of_the_whole_table_scale_the_measure(data):
    X, y, qid = data
    y = np.where(qid == "q7", y + 1, y)  # the largest grade is in one chunk
    ranker = TabularRanker("ndcg@5", trees=None)
    chunks = cut(X, y, qid, n_chunks=N_QUERIES)
    assert same(
        ranker.fit(X, y, qid), TabularRanker("ndcg@5", trees=None).fit_chunks(chunks), X, qid
    )


# -- what is refused -----------------------------------------------------------------------


def test_chunks_that_are_refused(data):
    X, y, qid = data
    chunks, ranker = cut(*data), TabularRanker(trees=None)
    weighted = [(*chunks[0], np.ones(len(chunks[0][1]))), *chunks[1:]]
    calls = []

    n = len(chunks[0][1])

    def shifted(values, labels=True):
        """Return two chunks, of which the first has a value of the second."""
        parts = zip((slice(n), slice(n, None)), (values[: n + 1], values[n + 1 :]))
        return [(X[k], part if labels else y[k], qid[k], *[part][labels:]) for k, part in parts]

    def shrinking():
        calls.append(0)
        return iter(chunks[: -1 if len(calls) > 2 else None])

    refused = {
        r"chunks must be iterable several times, .* got list_iterator": iter(chunks),
        r"chunks must be iterable several times, .* got int": 3,
        r"chunks must have rows, got none": [],
        r"chunks must hold tuples .* got list": [list(chunks[0])],
        r"chunks must have a qid, got none in chunk 2": [chunks[0], (*chunks[1][:2], None)],
        r"chunks must have labels, got none in chunk 1": [(X, None, qid)],
        # Their sum is right.
        rf"The parts of chunk 1 .* got X of {n}, y of {n + 1}, qid of {n}": shifted(y),
        rf"The parts of chunk 1 .* sample_weight of {n + 1}": shifted(
            np.ones(len(y)), labels=False
        ),
        r"Query 'q0' was in an earlier chunk.*partition_by_query": [chunks[0], chunks[0]],
        r"chunks must have a dense X": [(csr_matrix(chunks[0][0]), *chunks[0][1:])],
        r"chunks must all have a sample_weight, or none": weighted,
        r"chunks must be the same each time": shrinking,
        r"X must have a column with two different values": [
            (np.ones_like(X), y, qid) for X, y, qid in chunks
        ],
        r"Invalid chunk 2: X has 5 features, but TabularRanker is expecting 6": [
            chunks[0],
            (chunks[1][0][:, :5], *chunks[1][1:]),
        ],
        r"infinity": [(chunks[0][0] * 0 + np.inf, *chunks[0][1:])],
    }
    before = vars(ranker.fit(X, y, qid)).copy()
    for words, bad in refused.items():
        with pytest.raises(ValueError, match=words):
            ranker.fit_chunks(bad)
    assert vars(ranker) == before
    with pytest.raises(ValueError, match="max_rows must be an integer >= 1"):
        ranker.fit_chunks(chunks, max_rows=0)
    with pytest.raises(ValueError, match="'trees' parameter"):
        TabularRanker(trees="x").fit_chunks(chunks)
    assert not hasattr(StackingRanker(), "fit_chunks")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_chunks_that_lack_a_column(data, library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    X, y, qid = data
    first, second, *_ = cut(X, y, qid)
    names = "abcdef"
    tables = [make(dict(zip(names[:n], X.T))) for n, (X, *_) in ((6, first), (5, second))]
    chunks = [(table, *rest) for table, (_, *rest) in zip(tables, (first, second))]
    message = "Invalid chunk 2: X must have the columns of fit, got none named 'f': X has 'a', 'b'"
    with pytest.raises(ValueError, match=message):
        TabularRanker(trees=None).fit_chunks(chunks)


def test_chunks_of_dicts(data):
    chunks = cut(*data)
    dicts = [([dict(zip("abcdef", row)) for row in X.tolist()], *rest) for X, *rest in chunks]
    expected = TabularRanker(trees=None).fit_chunks(chunks).predict(*data[::2])
    X = [row for rows, *_ in dicts for row in rows]
    found = TabularRanker(trees=None).fit_chunks(dicts).predict(X, data[2])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_labels_may_be_a_column_in_any_chunk(data):
    first, *others = cut(*data)
    expected = TabularRanker(trees=None).fit_chunks([first, *others]).predict(*data[::2])
    X, y, qid = first
    ranker = TabularRanker(trees=None)
    with pytest.warns(DataConversionWarning, match="column-vector y") as told:
        ranker.fit_chunks([(X, y[:, None], qid), *others])
    assert len(told) == 1
    np.testing.assert_array_equal(ranker.predict(*data[::2]), expected)
    with pytest.raises(ValueError, match="qid was given together with y of shape"):
        ranker.fit_chunks([(X, np.c_[y, y], qid), *others])
