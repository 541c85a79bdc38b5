"""Estimators that ask for what belongs to the rows of all workers: the fit is that in memory."""

import numpy as np
import pytest
from dask_cases import as_dask, da, dd, forbidden, pd, sorted_data, whole_queries
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import FunctionTransformer, SplineTransformer
from thread_workers import on_workers

from skcalrank import (
    AUCRanker,
    DCGRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    StackingRanker,
    TabularRanker,
)
from skcalrank.data import (
    EqualLabelsWarning,
    MissingQidError,
    NotGradesWarning,
    OneQueryWarning,
    SingleDocumentsWarning,
)
from skcalrank.preprocessing import LinearColumns, QuantileHinges, QueryContext, QueryScaler

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")

SIZES = (6, 1, 9, 4, 7, 5, 8, 2, 3, 6) * 3

#: Estimators whose fits to partitions are equal to those in memory; a new one is tested here.
RANKERS = {
    "cv": LeastSquaresRankerCV(),
    "cv of measures": LeastSquaresRankerCV(["ndcg@3", "spearman"], alphas=[1, 10, 100], cv=3),
    "cv of documents": LeastSquaresRankerCV("dcg", loss="squared"),
    "cv by queries": LeastSquaresRankerCV(loss="centered", query_weight="equal"),
    "linear views": TabularRanker(trees=None),
    "closed forms": StackingRanker(
        [("ndcg", NDCGRanker()), ("auc", AUCRanker(relevance_level=1, loss="squared"))]
    ),
    "closed forms by odds": StackingRanker(
        [("ndcg", NDCGRanker()), ("dcg", DCGRanker())], loss="pairwise_logistic"
    ),
    "squares": OrderPreservingRanker(),
    "squares of documents": OrderPreservingRanker("dcg", loss="squared", query_weight="equal"),
}
TRANSFORMERS = {
    "scaler": QueryScaler(),
    "scaler of ranks": QueryScaler("rank"),
    "scaler beside": QueryScaler(append=True),
    "context": QueryContext(),
    "hinges": QuantileHinges(),
    "columns": LinearColumns(),
    "columns of hinges": LinearColumns(QuantileHinges(8)),
    "columns scaled": LinearColumns(QueryScaler()),
}


def every(registry):
    return pytest.mark.parametrize("estimator", registry.values(), ids=registry.keys())


every_ranker, every_transformer = every(RANKERS), every(TRANSFORMERS)
every_number = pytest.mark.parametrize("n_workers", [1, 2, 7])


def numbers_in(value):
    """All numbers of a fitted attribute, and of the estimators in it, by place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ((f"{key} {place}", numbers) for place, numbers in numbers_in(inner))
    elif isinstance(value, (list, tuple)):
        yield from numbers_in(dict(enumerate(value)))
    elif hasattr(value, "get_params"):
        public = {k: v for k, v in vars(value).items() if k.endswith("_") and k[0] != "_"}
        yield from numbers_in(public)
    elif isinstance(value, (float, int, np.ndarray)) and np.asarray(value).dtype.kind in "biuf":
        yield "", np.ma.filled(np.asarray(value, dtype=float), np.nan)


def check_same(ours, local):
    """Fitted estimators of equal numbers."""
    found, expected = (dict(numbers_in(estimator)) for estimator in (ours, local))
    assert found.keys() == expected.keys()
    assert found
    for place, values in expected.items():
        np.testing.assert_allclose(found[place], values, rtol=1e-9, atol=1e-12, err_msg=place)


def fitted(estimator, columns, n_partitions=None, qid=None):
    """A clone, fitted to columns in memory or in partitions."""
    columns = [values for values in columns if values is not None]
    if n_partitions is not None:
        columns = as_dask(whole_queries(columns[2] if qid is None else qid, n_partitions), *columns)
    return clone(estimator).fit(*columns)


def fitted_by_workers(estimator, n, qid, columns):
    """A clone, fitted to columns by name by workers of which each has a part of the queries."""
    ends = np.cumsum([0, *whole_queries(qid, n)])

    def fit(rank):
        rows = slice(*ends[rank : rank + 2])
        return clone(estimator).fit(**{name: of[rows] for name, of in columns.items()})

    for result in (results := on_workers(fit, n)):
        if isinstance(result, Exception):
            raise result
    return results[0]


@pytest.mark.product
@every_ranker
@every_number
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_fit_is_the_fit_in_memory(estimator, n_workers, weighted, rng):
    X, y, qid = sorted_data(rng, SIZES)
    columns = {"X": X, "y": y, "qid": qid}
    if weighted:
        columns["sample_weight"] = rng.uniform(0, 2, len(y)) * (rng.random(len(y)) < 0.9)
    local = clone(estimator).fit(**columns)
    ours = fitted_by_workers(estimator, n_workers, qid, columns)
    check_same(ours, local)
    np.testing.assert_allclose(ours.predict(X, qid), local.predict(X, qid), rtol=1e-9, atol=1e-12)
    assert ours.record_.seen == local.record_.seen


@every_ranker
def test_data_frames(estimator, rng):
    X, y, qid = sorted_data(rng, SIZES)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, qid=[f"query {q}" for q in qid])
    local, ours = (
        clone(estimator).fit(d[list("abcd")], d["y"], d["qid"])
        for d in (frame, dd.from_pandas(frame, npartitions=5).shuffle("qid"))
    )
    check_same(ours, local)
    np.testing.assert_array_equal(ours.feature_names_in_, local.feature_names_in_)


@every_ranker
def test_rows_in_another_order_in_each_round(estimator, rng):
    X, y, qid = sorted_data(rng, SIZES)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, qid=qid)
    lazy = dd.from_pandas(frame, npartitions=5).shuffle("qid")
    lazy = lazy.map_partitions(lambda part: part.sample(frac=1, random_state=rng.integers(2**31)))
    ours = clone(estimator).fit(lazy[list("abcd")], lazy["y"], lazy["qid"])
    check_same(ours, clone(estimator).fit(frame[list("abcd")], y, qid))


@every_ranker
def test_partitions_without_rows_or_weight_have_no_say(estimator, rng):
    X, y, qid = sorted_data(rng, SIZES)
    chunks = whole_queries(qid)
    weight = np.repeat([1.0, 0.0, 2.0, 0.5], chunks)
    local = clone(estimator).fit(X, y, qid, weight)
    lazy = as_dask((0, *chunks[:2], 0, *chunks[2:]), X, y, qid, weight)
    check_same(clone(estimator).fit(*lazy), local)
    alone = np.repeat([0.0, 0.0, 1.0, 0.0], chunks)
    lazy = as_dask(chunks, X, y, qid, alone)
    check_same(clone(estimator).fit(*lazy), clone(estimator).fit(X, y, qid, alone))


@every_ranker
def test_what_cannot_be_fitted_changes_nothing(estimator, rng):
    X, y, qid = sorted_data(rng, SIZES)
    ranker = fitted(estimator, (X, y, qid), 3)
    before = dict(vars(ranker))
    chunks = whole_queries(qid)
    lazy = as_dask(chunks, X, y, qid)
    with pytest.raises(ValueError, match="in partitions 0 and 1: repartition by"):
        ranker.fit(*as_dask((10, len(y) - 10), X, y, qid))
    with pytest.raises(MissingQidError, match="qid must be given"):
        ranker.fit(*lazy[:2])
    with pytest.raises(ValueError, match="must be non-negative"):
        ranker.fit(lazy[0], lazy[1] - 1, lazy[2])
    with pytest.raises(ValueError, match=r"of positive sample_weight if there is one, got none"):
        ranker.fit(*lazy, da.zeros(len(y), chunks=(chunks,)))
    spoiled = np.repeat([1.0, 0.0, 1.0, 1.0], chunks)
    with pytest.raises(ValueError, match="infinity"):
        ranker.fit(da.where(spoiled[:, None] == 0, np.inf, lazy[0]), *lazy[1:], spoiled)
    assert vars(ranker) == before


# -- transformers --------------------------------------------------------------------------


def takes(estimator, **columns):
    """Those of the columns that a transformer reads."""
    reads = isinstance(getattr(estimator, "curve", estimator), (QueryScaler, QueryContext))
    return columns if reads else {}


def table(rng):
    """Numbers of several types, some missing, whose mean is no number of the table."""
    X, _, qid = sorted_data(rng, SIZES)
    frame = pd.DataFrame(X, columns=list("abcd"), index=1000 + np.arange(len(X)))
    frame["a"] = frame["a"].where(rng.random(len(X)) < 0.8)
    return frame.assign(e=rng.integers(0, 5, len(X)), f=X[:, 0].astype("f"), qid=qid)


@pytest.mark.product
@every_transformer
@every_number
def test_the_columns_are_those_in_memory(estimator, n_workers, rng):
    frame = table(rng)
    columns = {"X": frame[list("abcd")], **takes(estimator, qid=frame["qid"])}
    ours = fitted_by_workers(estimator, n_workers, frame["qid"].to_numpy(), columns)
    check_same(ours, clone(estimator).fit(**columns))


@every_transformer
def test_rows_are_transformed_as_in_memory(estimator, rng):
    frame = table(rng)
    X, qid = frame[list("abcd")].to_numpy(), frame["qid"].to_numpy()
    local = clone(estimator).fit(X, **takes(estimator, qid=qid))
    expected = local.transform(X, **takes(estimator, qid=qid))
    chunks = whole_queries(qid)
    dX, dq = as_dask((0, *chunks), X, qid)
    ours = clone(estimator)
    for lazy in (
        ours.fit_transform(dX, **takes(estimator, qid=dq)),
        ours.transform(dX, **takes(estimator, qid=dq)),
        clone(estimator)
        .fit(dX, **takes(estimator, qid=dq))
        .transform(dX, **takes(estimator, qid=qid)),
    ):
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-9, atol=1e-12)
    check_same(ours, local)
    single = clone(estimator).fit_transform(dX.astype("f"), **takes(estimator, qid=dq))
    assert single.dtype == single.compute().dtype


@pytest.mark.filterwarnings(
    "ignore:Column 'e(_in_query|_hinge\\d)?' of X orders all documents by their labels"
)
@pytest.mark.product
@every_transformer
@pytest.mark.parametrize("columns", [list("abcdef"), ["f"]], ids="-".join)
def test_frames_stay_frames(estimator, columns, rng):
    frame = table(rng)
    lazy = dd.from_pandas(frame, npartitions=5).shuffle("qid")
    ours, local = clone(estimator), clone(estimator)
    local = local.fit(frame[columns], **takes(estimator, qid=frame["qid"]))
    expected = local.transform(frame[columns], **takes(estimator, qid=frame["qid"]))
    out = ours.fit_transform(lazy[columns], **takes(estimator, qid=lazy["qid"]))
    made = out.compute().loc[frame.index]
    np.testing.assert_allclose(made, expected, rtol=1e-9, atol=1e-12)
    assert list(out.columns) == list(made.columns) == list(local.get_feature_names_out())
    assert list(out.dtypes) == list(made.dtypes)
    # The new columns belong to the rows of the old ones.
    both = lazy.assign(new=out.iloc[:, -1]).compute().loc[frame.index]
    np.testing.assert_allclose(both["new"], made.iloc[:, -1])
    ranker = NDCGRanker().fit(out.fillna(0), lazy["e"], lazy["qid"])
    np.testing.assert_allclose(
        ranker.coef_, NDCGRanker().fit(made.fillna(0), frame["e"], frame["qid"]).coef_, rtol=1e-5
    )


def test_categories_of_a_table(rng):
    frame = table(rng)
    n = len(frame)
    names = np.array(["x", "y", None], dtype=object)
    frame["brand"] = np.where(np.arange(n) < n // 2, names[np.arange(n) % 2], names[2])
    frame["sold"] = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D")
    columns = [*"abef", "brand", "sold"]
    local = LinearColumns(QuantileHinges()).fit(frame[columns])
    lazy = dd.from_pandas(frame, npartitions=5)
    ours = LinearColumns(QuantileHinges()).fit(lazy[columns])
    out = ours.transform(lazy[columns]).compute()
    np.testing.assert_allclose(out, local.transform(frame[columns]), rtol=1e-9, atol=1e-12)
    assert list(out.columns) == list(local.get_feature_names_out())
    # The hinges do not take the qid.
    lazy = dd.from_pandas(frame, npartitions=1)
    same = clone(ours).fit_transform(lazy[columns], qid=lazy["qid"]).compute()
    np.testing.assert_allclose(same, out, rtol=1e-9, atol=1e-12)


@every({k: v for k, v in TRANSFORMERS.items() if takes(v, qid=0)})
def test_transformed_queries_are_whole(estimator, rng):
    frame = table(rng)
    X, qid = frame[list("bcd")].to_numpy(), frame["qid"].to_numpy()
    whole, cut = (as_dask(sizes, X, qid) for sizes in (whole_queries(qid), (10, len(qid) - 10)))
    fitted = clone(estimator).fit(whole[0], qid=whole[1])
    lazy = fitted.transform(cut[0], qid=cut[1])
    frames = [
        dd.from_pandas(frame, npartitions=5, sort=False)[names] for names in (list("bcd"), "qid")
    ]
    of_frames = clone(estimator).fit(frame[list("bcd")], qid=frame["qid"])
    for wrong in (lazy, of_frames.transform(frames[0], qid=frames[1])):
        with pytest.raises(ValueError, match=r"in partitions \d and \d: repartition by"):
            wrong.compute()
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match="in partitions 0 and 1: repartition by"):
        fitted.fit(cut[0], qid=cut[1])
    with pytest.raises(MissingQidError, match="qid must be given"):
        fitted.fit(whole[0])
    with pytest.raises(MissingQidError, match="fitted with a qid"):
        fitted.transform(whole[0]).compute()
    assert vars(fitted) == before


def test_curves_learn_from_all_partitions_or_not_at_all(rng):
    frame = table(rng)
    X = frame[list("bcd")].to_numpy()
    (dX,) = as_dask((50, len(X) - 50), X)
    with pytest.raises(ValueError, match=r"got SplineTransformer, .*FrozenEstimator of it"):
        fitted_by_workers(LinearColumns(SplineTransformer()), 2, frame["qid"].to_numpy(), {"X": X})
    with pytest.raises(ValueError, match="constant columns only"):
        LinearColumns().fit(0 * dX)
    # Columns that are constant in each partition, but not in all.
    steps = np.repeat([0.0, 1.0], [50, len(X) - 50])[:, None]
    for curve in (None, FunctionTransformer(), FrozenEstimator(SplineTransformer().fit(steps))):
        out = LinearColumns(curve).fit(as_dask((50, len(X) - 50), steps)[0]).transform(steps)
        np.testing.assert_allclose(out, LinearColumns(curve).fit_transform(steps))


# -- rankers ---------------------------------------------------------------------------------


@pytest.mark.product
@every_number
@pytest.mark.parametrize(
    "loss", ["logistic", "pairwise_logistic", "bregman_kl", "squared_hinge", "softmax"]
)
def test_losses_without_a_closed_form(loss, n_workers, rng):
    X, y, qid = sorted_data(rng, SIZES)
    weight = rng.uniform(0, 2, len(y)) * (rng.random(len(y)) < 0.9)
    X[:, 0] *= 1e3
    X[:, 1] = qid % 5  # known of queries
    ranker = OrderPreservingRanker("ndcg@5", loss=loss, tol=1e-9, max_iter=10_000)
    columns = {"X": X, "y": y, "qid": qid, "sample_weight": weight}
    local, ours = clone(ranker).fit(**columns), fitted_by_workers(ranker, n_workers, qid, columns)
    assert ours.loss_ == local.loss_
    for name in ("coef_", "intercept_", "penalty_scale_", "alpha_"):
        ours_, expected = getattr(ours, name), getattr(local, name)
        np.testing.assert_allclose(ours_, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


def test_steps_are_taken_together_or_not_at_all(rng):
    X, y, qid = sorted_data(rng, SIZES)
    columns = {"X": X, "y": y, "qid": qid}
    ranker = OrderPreservingRanker(loss="exponential", max_iter=2, verbose=1)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        ours = fitted_by_workers(ranker, 2, qid, columns)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        local = clone(ranker).fit(**columns)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=1e-9)
    columns = {"X": X[:40], "y": X[:40] > 2}
    with pytest.raises(ValueError, match=r"the label-ranking form.*pass X\.compute\(\)"):
        fitted_by_workers(OrderPreservingRanker(loss="logistic"), 2, np.arange(40), columns)


def test_what_does_not_fit_into_memory_may_be_read_in_chunks(rng):
    X, y, qid = sorted_data(rng, SIZES)

    def fail(_block):
        raise MemoryError("Unable to allocate")

    lazy = as_dask(whole_queries(qid), X, y, qid)
    lazy[0] = lazy[0].map_blocks(fail, dtype=X.dtype, meta=X[:0])
    with pytest.raises(MemoryError, match=r"its rows in memory.*fit_chunks.*Unable to allocate"):
        OrderPreservingRanker().fit(*lazy)


def test_the_label_ranking_form(rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, size=(40, 4)).astype(float)
    ranker = LeastSquaresRankerCV("ndcg")
    local = clone(ranker).fit(X, y)
    check_same(clone(ranker).fit(*as_dask((9, 20, 11), X, y)), local)


@pytest.mark.filterwarnings("ignore:cv cuts")
def test_one_query_is_cut_into_rows_where_it_is_alone(rng):
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 3, 30).astype(float)
    qid = np.zeros(30)
    local = LeastSquaresRankerCV().fit(X, y, qid)
    check_same(LeastSquaresRankerCV().fit(*as_dask((0, 30, 0), X, y, qid)), local)


def test_choices_of_folds(rng):
    X, y, qid = sorted_data(rng, SIZES)
    lazy = as_dask(whole_queries(qid), X, y, qid)
    with pytest.raises(ValueError, match=r"a number of folds for dask collections.*GroupKFold"):
        fitted_by_workers(
            LeastSquaresRankerCV(cv=GroupKFold(3)), 2, qid, {"X": X, "y": y, "qid": qid}
        )
    check_same(*(LeastSquaresRankerCV(cv=GroupKFold(3)).fit(*of) for of in (lazy, (X, y, qid))))
    with pytest.raises(ValueError, match=r"number of queries, 30 \(n_samples=153\), got 31"):
        LeastSquaresRankerCV(cv=31).fit(*lazy)
    with pytest.raises(ValueError, match="got a dask collection"):
        LeastSquaresRankerCV().fit_targets(forbidden(X), y, qid)


def test_queries_come_back_after_a_fit_by_partitions(rng):
    X, y, qid = sorted_data(rng, SIZES)
    ranker = fitted(LeastSquaresRankerCV(), (X, y, qid), 4).rankers_["ndcg@10"]
    with pytest.raises(ValueError, match="was in an earlier chunk"):
        ranker.partial_fit(X[qid == 11], y[qid == 11], qid[qid == 11])


def test_warnings_are_those_in_memory(rng):
    X, y, qid = sorted_data(rng, SIZES)
    with pytest.warns(UserWarning, match="undefined|does not differ") as told:
        fitted(LeastSquaresRankerCV(), (X, 0 * y, qid), 4)
    assert {w.category for w in told} == {UndefinedMetricWarning, EqualLabelsWarning}
    assert len(told) == 2
    with pytest.warns(NotGradesWarning) as told:
        fitted(LeastSquaresRankerCV(), (X, y * 40, qid), 4)
    assert len(told) == 1
    # Queries of one document are all that only some partitions have.
    first = np.arange(len(y)) < 4
    names = np.where(first, np.arange(len(y)), qid + len(y))
    sizes = (4, len(y) - 4)
    LeastSquaresRankerCV().fit(*as_dask(sizes, X, y, names))
    with pytest.warns(SingleDocumentsWarning) as told:
        LeastSquaresRankerCV("dcg").fit(*as_dask(sizes, X, y, np.arange(len(y))))
    assert len(told) == 1
    with pytest.warns(OneQueryWarning):
        LeastSquaresRankerCV().fit(*as_dask((len(y),), X, y))


@pytest.mark.parametrize("ranker", [NDCGRanker(), RANKERS["cv"], RANKERS["linear views"]])
def test_labels_that_teach_nothing_are_told_if_those_of_all_partitions_do(ranker, rng):
    X, y, qid = sorted_data(rng, SIZES)
    fitted(ranker, (X, y * (qid == qid[0]), qid), 4)
    with pytest.warns(EqualLabelsWarning) as told:
        fitted(ranker, (X, np.ones(len(y)), qid), 4)
    assert len(told) == 1
