"""Frames of dask after random operations: results as in memory, or an error of this package."""

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from dask_cases import dd, pd
from hypothesis import event, given
from hypothesis import strategies as st
from strategies import codes_of_queries, examples, matrices, quiet, vectors

from skcalrank import NDCGRanker, SpearmanRanker
from skcalrank.dask import partition_by_query
from skcalrank.metrics import ndcg_score

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    # Random problems may consist of queries of one document.
    pytest.mark.filterwarnings("ignore::skcalrank.data.SingleDocumentsWarning"),
]
FEATURES = ["f0", "f1"]
NAMES = {
    "numbers": lambda code: 7 - code,
    "text": lambda code: "ab"[code % 2] * (code + 1),
    "dates": lambda code: pd.Timestamp("2024-01-01") + pd.Timedelta(days=int(code)),
}


@pytest.fixture(scope="module")
def one_thread():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def merged(d):
    queries = pd.DataFrame({"qid": d["qid"].unique().compute(), "of_query": 1.0})
    return d.merge(dd.from_pandas(queries, npartitions=2), on="qid")


STEPS = {
    "shuffle": lambda d: d.shuffle("qid"),
    "sort": lambda d: d.sort_values("qid"),
    "index": lambda d: d.set_index("qid").reset_index(),
    "filter": lambda d: d[d["f0"] < 2],
    "drop": lambda d: d.drop(columns="spare"),
    "assign": lambda d: d.assign(other=d["f0"] * 2),
    "fewer partitions": lambda d: d.repartition(npartitions=1),
    # Known divisions of one row are more than dask can divide.
    "more partitions": lambda d: d.clear_divisions().repartition(npartitions=5),
    "merge": merged,
    "persist": lambda d: d.persist(),
    "concat": lambda d: dd.concat([d, d.assign(qid=d["qid"])]),
    "of another frame": lambda d: d.map_partitions(lambda part: part.iloc[::-1]),
}


@st.composite
def frames(draw):
    """A frame with the row number in the column "row"."""
    codes = draw(codes_of_queries(max_queries=5))
    X = draw(matrices(len(codes), 2))
    name = NAMES[draw(st.sampled_from(sorted(NAMES)))]
    frame = pd.DataFrame(X, columns=FEATURES)
    frame["label"] = draw(vectors(len(codes), (0.0, 1.0, 2.0)))
    frame["qid"] = [name(code) for code in codes]
    return frame.assign(spare=1, row=np.arange(len(codes)))


@st.composite
def histories(draw):
    """A collection of dask, and the same rows in memory."""
    frame = draw(frames())
    if draw(st.booleans()):
        frame = frame.sort_values("qid", kind="stable", ignore_index=True)
    d = dd.from_pandas(frame, npartitions=draw(st.integers(1, 4)), sort=draw(st.booleans()))
    for step in draw(st.lists(st.sampled_from(sorted(STEPS)), max_size=3, unique=True)):
        try:
            d = STEPS[step](d)
        except Exception:  # of dask, and of no concern here
            continue
    return d


def split(frame):
    return frame[FEATURES], frame["label"], frame["qid"]


OURS = (ValueError, TypeError)


def outcome(call):
    """The result of a call, or None if the package raises one of its errors."""
    with quiet():
        try:
            return call()
        except OURS as error:
            text = str(error)
            if not any(word in text for word in ("quer", "partition", "qid", "chunk", "dask")):
                raise AssertionError(f"The error says not what is wrong: {text}") from error
    return None


def local_of(call):
    with quiet():
        return call()


@examples(0.5)
@given(data=st.data())
def test_fits_are_those_in_memory(data):
    ranker = data.draw(st.sampled_from([NDCGRanker(), SpearmanRanker()]))
    d = data.draw(histories())
    here = d.compute()
    if not len(here):
        return
    if data.draw(st.booleans()):
        moved = outcome(lambda: partition_by_query(*split(d)))
        assert moved is not None
    else:
        moved = split(d)
    local = local_of(lambda: ranker.fit(*split(here)).coef_)
    found = outcome(lambda: ranker.fit(*moved).coef_)
    event(f"refused: {found is None}")
    if found is not None:
        np.testing.assert_allclose(found, local, rtol=1e-9, atol=1e-9)


@examples(0.4)
@given(data=st.data())
def test_scores_ranks_and_metrics_are_those_in_memory(data):
    d = data.draw(histories())
    here = d.compute()
    if not len(here):
        return
    X, y, qid = split(here)
    model = local_of(lambda: NDCGRanker().fit(X, y, qid))
    lazy, values = split(d), local_of(lambda: model.predict(X))
    expected = local_of(lambda: ndcg_score(y, values, qid=qid))
    found = outcome(lambda: model.score(*lazy))
    event(f"refused: {found is None}")
    assert found is None or found == pytest.approx(expected, rel=1e-9, nan_ok=True)
    found = outcome(lambda: ndcg_score(lazy[1], model.predict(lazy[0]), qid=lazy[2]))
    assert found is None or found == pytest.approx(expected, rel=1e-9, nan_ok=True)
    # dask may shuffle rows into another order each time, unless they are kept.
    np.testing.assert_allclose(np.sort(model.predict(lazy[0])), np.sort(values), atol=1e-9)
    places = outcome(lambda: model.rank(lazy[0], lazy[2]).compute())
    if places is not None:
        np.testing.assert_array_equal(np.sort(places), np.sort(model.rank(X, qid)))
    kept = d.persist()
    lazy, (X, y, qid) = split(kept), split(kept.compute())
    np.testing.assert_allclose(model.predict(lazy[0]), model.predict(X), rtol=1e-9, atol=1e-9)
    places = outcome(lambda: model.rank(lazy[0], lazy[2]).compute())
    if places is not None:
        np.testing.assert_array_equal(places, model.rank(X, qid))
