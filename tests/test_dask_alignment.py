"""Rows of dask frames stay together, wherever they come from and whatever was done to them."""

import numpy as np
import pytest
from dask_cases import EXACT, check_same, dask, dd, pd

from skcalrank import NDCGRanker

FEATURES = [f"f{i}" for i in range(20)]
N_QUERIES, N_FILES = 100, 20


def table():
    """A feature that matters and 19 that do not; rows of a query are scattered."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(N_QUERIES), 5))
    frame = pd.DataFrame(rng.normal(size=(len(qid), 20)), columns=FEATURES)
    frame["label"] = (frame.f0 > 0) * 2.0 + rng.integers(0, 2, len(qid))
    return frame.assign(qid=qid)


FRAME = table()


def pieces(frame=FRAME):
    size = -(-len(frame) // N_FILES)
    return [frame.iloc[start : start + size] for start in range(0, len(frame), size)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for number, piece in enumerate(pieces()):
        piece.to_csv(folder / f"{number:02}.csv", index=False)
        piece.to_parquet(folder / f"{number:02}.parquet")
    return folder


def piece_of(number):
    return pieces()[number]


SOURCES = {
    "from_pandas": lambda _: dd.from_pandas(FRAME, npartitions=N_FILES),
    "read_parquet": lambda folder: dd.read_parquet(str(folder / "*.parquet")),
    "read_csv": lambda folder: dd.read_csv(str(folder / "*.csv")),
    "from_delayed": lambda _: dd.from_delayed([dask.delayed(each) for each in pieces()]),
    "from_map": lambda _: dd.from_map(piece_of, range(N_FILES), meta=FRAME.iloc[:0]),
}
every_source = pytest.mark.parametrize("source", SOURCES)


def queries():
    return pd.DataFrame({"qid": np.arange(N_QUERIES), "of_query": 1.0})


STEPS = {
    "shuffle": lambda d: d.shuffle("qid"),
    "shuffle by tasks": lambda d: d.shuffle("qid", **method_of_shuffle("tasks")),
    "shuffle on disk": lambda d: d.shuffle("qid", **method_of_shuffle("disk")),
    "sort_values": lambda d: d.sort_values("qid"),
    "set_index": lambda d: d.set_index("qid").reset_index(),
    "merge": lambda d: d.merge(dd.from_pandas(queries(), npartitions=7), on="qid"),
    "filter": lambda d: d[d.f1 < 0.5].shuffle("qid"),
    "repartition": lambda d: d.repartition(npartitions=7).shuffle("qid"),
    "persist": lambda d: d.shuffle("qid").persist(),
}


def method_of_shuffle(method):
    return {"shuffle_method": method}


def local_rows(step):
    return FRAME[FRAME.f1 < 0.5] if step == "filter" else FRAME


def split(d):
    return d[FEATURES], d["label"], d["qid"]


def check_all(d, frame):
    """Fit, score, rank, predict and a metric are those in memory."""
    local = NDCGRanker().fit(*split(frame))
    check_same(NDCGRanker().fit(*split(d)), local)
    X, y, qid = split(d)
    assert local.score(X, y, qid) == pytest.approx(local.score(*split(frame)), rel=1e-12)
    ranks, expected = local.rank(X, qid).compute(), local.rank(frame[FEATURES], frame["qid"])
    assert np.array_equal(np.sort(ranks), np.sort(expected))
    if ranks.index.is_unique and expected.index.equals(ranks.index.sort_values()):
        assert np.array_equal(ranks.loc[expected.index], expected)
    scored = d.assign(score=local.predict(X))[["f0", "score"]].compute().sort_values("f0")
    expected = local.predict(frame.sort_values("f0")[FEATURES])
    np.testing.assert_allclose(scored["score"], expected, **EXACT)


@pytest.fixture(
    params=["synchronous", "threads", pytest.param("processes", marks=pytest.mark.slow)]
)
def scheduler(request):
    with dask.config.set(scheduler=request.param, num_workers=2):
        yield request.param


@pytest.mark.product
@every_source
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.usefixtures("scheduler")
def test_frames(source, step, folder):
    d = STEPS[step](SOURCES[source](folder))
    check_all(d, local_rows(step))
