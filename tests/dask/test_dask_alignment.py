"""Rows of dask collections stay together, wherever they come from and whatever was done to them."""

import numpy as np
import pytest
from dask_cases import EXACT, check_same, da, dask, dd
from dask_frames import FEATURES, FRAME, SOURCES, STEPS, rows_after, split, write
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import ClickSessions, NDCGRanker, PreferenceTarget, QueryKFold, RankingTarget
from skcalrank.dask import partition_by_query
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import evaluate, get_scorer, ndcg_score
from skcalrank.preprocessing import QueryScaler

SHUFFLED = ("shuffle", "sort_values", "set_index", "merge")


@pytest.fixture(scope="module")
def local():
    return NDCGRanker().fit(*split(FRAME))


@pytest.fixture(scope="module")
def truth(local):
    return pytest.approx(local.score(*split(FRAME)), rel=1e-12)


def check_all(d, frame):
    """Fit, score, rank, predict and a metric are those in memory."""
    local = NDCGRanker().fit(*split(frame))
    check_same(NDCGRanker().fit(*split(d)), local)
    X, y, qid = split(d)
    score = pytest.approx(local.score(*split(frame)), rel=1e-12)
    assert local.score(X, y, qid) == score
    assert ndcg_score(y, local.predict(X), qid=qid) == score
    check_ranks(local.rank(X, qid).compute(), local.rank(frame[FEATURES], frame["qid"]))
    scored = d.assign(score=local.predict(X))[["f0", "score"]].compute().sort_values("f0")
    expected = local.predict(frame.sort_values("f0")[FEATURES])
    np.testing.assert_allclose(scored["score"], expected, **EXACT)


def check_ranks(ranks, expected):
    assert np.array_equal(np.sort(ranks), np.sort(expected))
    if ranks.index.is_unique and expected.index.equals(ranks.index.sort_values()):
        assert np.array_equal(ranks.loc[expected.index], expected)


@pytest.fixture(params=["threads", pytest.param("synchronous", marks=pytest.mark.slow)])
def scheduler(request):
    with dask.config.set(scheduler=request.param, num_workers=2):
        yield request.param


@pytest.mark.product
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.usefixtures("scheduler")
def test_frames(source, step, tmp_path):
    check_all(STEPS[step](SOURCES[source](tmp_path)), rows_after(step))


@pytest.mark.slow
@pytest.mark.parametrize("source", ["from_pandas", "read_parquet"])
@pytest.mark.parametrize("step", ["shuffle", "set_index"])
def test_frames_in_processes(source, step, tmp_path):
    d = STEPS[step](SOURCES[source](tmp_path))
    with dask.config.set(scheduler="processes", num_workers=2):
        check_same(NDCGRanker().fit(*split(d)), NDCGRanker().fit(*split(FRAME)))


# -- partitions of whole queries, computed one by one ----------------------------------


@pytest.mark.product
@pytest.mark.parametrize("step", SHUFFLED)
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_partitions_by_query_belong_together_one_by_one(kind, step, local):
    d = STEPS[step](SOURCES["from_pandas"](None))
    given = split(d)
    if kind == "array":
        rows = d[[*FEATURES, "label", "qid"]].to_dask_array()
        given = rows[:, :20], rows[:, 20], rows[:, 21]
    moved = partition_by_query(*given)
    with dask.config.set(scheduler="threads"):
        X, y, qid = (np.asarray(each.compute()) for each in moved)
    order, expected = np.argsort(X[:, 0]), FRAME.sort_values("f0")
    assert np.array_equal(y[order], expected["label"])
    assert np.array_equal(qid[order], expected["qid"])
    np.testing.assert_allclose(NDCGRanker().fit(*moved).coef_, local.coef_, **EXACT)


@pytest.mark.long
def test_partitions_by_query_of_fused_files(tmp_path, local):
    moved = partition_by_query(*split(write(tmp_path)))
    assert {len(each) for each in moved} == {len(FRAME)}
    check_same(NDCGRanker().fit(*moved), local)


# -- collections of different origin ---------------------------------------------------


@pytest.mark.long
def test_files_that_fuse_apart(tmp_path, local, truth):
    frame = FRAME.sort_values("qid", ignore_index=True)
    X, whole = write(tmp_path / "X", 20, frame[FEATURES]), write(tmp_path / "all", 20, frame)
    y, qid = whole["label"], whole["qid"]
    check_same(NDCGRanker().fit(X, y, qid), local)
    assert local.score(X, y, qid) == truth
    assert ndcg_score(y, local.predict(X), qid=qid) == truth
    check_ranks(local.rank(X, qid).compute(), local.rank(frame[FEATURES], frame["qid"]))


def test_arrays_of_one_shuffled_frame(local, truth):
    d = STEPS["shuffle"](SOURCES["from_pandas"](None))
    rows = d[[*FEATURES, "label", "qid"]].to_dask_array()
    X, y, qid = rows[:, :20], rows[:, 20], rows[:, 21]
    np.testing.assert_allclose(NDCGRanker().fit(X, y, qid).coef_, local.coef_, **EXACT)
    persisted = d.persist()
    mixed = persisted[FEATURES], persisted["label"].to_dask_array(), persisted["qid"]
    check_same(NDCGRanker().fit(*mixed), local)
    assert local.score(*mixed) == truth


@pytest.mark.filterwarnings("ignore:Slicing with an out-of-order index")
def test_arrays_in_another_order(rng, local):
    rows = da.from_array(FRAME.to_numpy(), chunks=(50, 22))
    order = rng.permutation(np.argsort(FRAME["qid"])).reshape(-1, 5)
    order = order[np.argsort(FRAME["qid"].to_numpy()[order[:, 0]], kind="stable")].ravel()
    by_query = np.argsort(FRAME["qid"].to_numpy()[order], kind="stable")
    parts = [part[order][by_query] for part in (rows[:, :20], rows[:, 20], rows[:, 21])]
    parts = [part.rechunk({0: 100}) for part in parts]
    np.testing.assert_allclose(NDCGRanker().fit(*parts).coef_, local.coef_, **EXACT)


def shuffled():
    return STEPS["shuffle"](SOURCES["from_pandas"](None))


def apart(*names):
    return shuffled()[[*names, "qid"]].shuffle("qid")


REFUSED = {
    "shuffled apart": lambda d: (apart(*FEATURES)[FEATURES], apart("label")["label"], d["qid"]),
    "arrays of frames": lambda d: tuple(part.to_dask_array() for part in split(d)),
    "an array beside frames": lambda d: (d[FEATURES].to_dask_array(), d["label"], d["qid"]),
    "labels from before": lambda d: (d[FEATURES], dd.from_pandas(FRAME, 5)["label"], d["qid"]),
    "labels in memory": lambda d: (
        d[FEATURES].to_dask_array(lengths=True),
        d["label"].compute(),
        d["qid"].compute(),
    ),
    "other rows": lambda _: split_rows(dd.from_pandas(FRAME, npartitions=5)),
    "as many other rows": lambda _: split_halves(dd.from_pandas(FRAME, npartitions=5)),
}


def split_rows(d):
    return d[d.f0 > 0.1][FEATURES], d[d.f0 < 0]["label"], d[d.f0 < 0]["qid"]


def split_halves(d):
    even, odd = (d.map_partitions(lambda part, first=n: part.iloc[first::2]) for n in (0, 1))
    return even[FEATURES], odd["label"], odd["qid"]


MESSAGES = r"the same shuffle|come from a shuffle|same rows in (a )?partition|indexes of .* differ"


@pytest.mark.every_case
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("dask_in_this_thread")
def test_rows_that_need_not_belong_together_are_refused(case):
    given = REFUSED[case](shuffled())
    ranker = NDCGRanker().fit(*split(FRAME))
    before = dict(vars(ranker))
    for call in (
        ranker.fit,
        ranker.score,
        partition_by_query,
        lambda X, _y, qid: ranker.rank(X, qid).compute(),
        lambda X, _y, qid: ranker.predict(X, qid).compute(),
    ):
        if call is not ranker.fit and case == "labels from before":
            given = given[0], given[1], given[1]
        with pytest.raises(ValueError, match=MESSAGES):
            call(*given)
    assert list(vars(ranker)) == list(before)
    assert all(vars(ranker)[name] is value for name, value in before.items())


@pytest.mark.usefixtures("dask_in_this_thread")
def test_lazy_rows_are_compared_with_their_queries():
    frame = FRAME.sort_values("qid")
    frames = (frame.set_index(np.arange(len(frame)) + first) for first in (100, 109))
    one, two = (dd.from_pandas(of, npartitions=1) for of in frames)
    X, scaler = one[FEATURES].clear_divisions(), QueryScaler()
    scaler.fit(frame[FEATURES], qid=frame["qid"])
    ranker = NDCGRanker().fit(*split(frame))
    for call in (ranker.predict, ranker.surrogate_values, ranker.rank, scaler.transform):
        call(X, qid=one["qid"].clear_divisions()).compute()
        with pytest.raises(ValueError, match="indexes of X and qid must be equal"):
            call(X, qid=two["qid"].clear_divisions()).compute()


@pytest.mark.usefixtures("dask_in_this_thread")
def test_metrics_refuse_rows_that_need_not_belong_together(local, truth):
    d = shuffled()
    X, y, qid = split(d)
    scores = local.predict(X)
    values = evaluate(y, scores, ["ndcg", "dcg"], qid=qid)
    assert values["ndcg"] == truth
    assert get_scorer("ndcg")(local, X, y, qid) == truth
    with pytest.raises(ValueError, match=r"y_score must not be in memory.* y_true comes from"):
        ndcg_score(y, scores.compute().to_numpy(), qid=qid)
    with pytest.raises(ValueError, match=r"y_true must not be in memory.* y_score comes from"):
        ndcg_score(RankingTarget(FRAME["label"], FRAME["qid"]), scores)
    plain = local.predict(dd.from_pandas(FRAME, npartitions=5)[FEATURES])
    assert ndcg_score(RankingTarget(FRAME["label"], FRAME["qid"]), plain) == truth


@pytest.mark.parametrize(
    "call",
    [
        lambda _X, y, qid: RankingTarget(y, qid),
        lambda _X, y, qid: PreferenceTarget.from_relevance(y, qid),
        lambda _X, _y, qid: ClickSessions(qid, [[0]], [0]),
        lambda _X, _y, qid: list(QueryKFold(3).split(np.ones(300), groups=qid)),
        lambda X, y, _qid: GramRidge().fit(X, y),
        lambda X, y, qid: make_pipeline(StandardScaler(), NDCGRanker()).fit(
            X, y, ndcgranker__qid=qid
        ),
    ],
    ids=["RankingTarget", "PreferenceTarget", "ClickSessions", "splitter", "GramRidge", "Pipeline"],
)
@pytest.mark.usefixtures("dask_in_this_thread")
def test_what_needs_memory_does_not_compute_collections_one_by_one(call):
    with pytest.raises(ValueError, match=r"dask collection.* frame\.compute\(\)"):
        call(*split(dd.from_pandas(FRAME, npartitions=2)))


@pytest.mark.usefixtures("dask_in_this_thread")
def test_a_pipeline_says_that_a_step_computed_X():
    d = dd.from_pandas(FRAME, npartitions=2)
    with pytest.raises(ValueError, match=r"computed by a step of a pipeline.* such as a scaler"):
        make_pipeline(StandardScaler(), NDCGRanker()).fit(d[FEATURES], d["label"])
