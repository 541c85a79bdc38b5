"""Clicks and impressions counted over a log, in memory or in chunks."""

import copy
import pickle

import numpy as np
import pytest

from skcalrank import AggregatedRanker, ClickCounts, ClickSessions, QueryKFold, sample_sessions
from skcalrank.aggregation import cascade, fit_propensities, position_based
from skcalrank.rankers import StochasticAggregatedRanker

THETA = 1 / np.arange(1, 9)
NAMES = {name: name for name in ("query", "document", "position", "clicked")}


@pytest.fixture
def sessions(rng):
    qid = np.repeat(np.arange(30), 8)
    return sample_sessions(
        rng.uniform(0.1, 0.8, 240), qid, n_sessions=600, model="position", random_state=0, n_shown=6
    )


def counts_of(y):
    return ClickCounts(y.qid, y.shown_rows, y.position, np.ones(len(y.shown_rows)), y.clicked)


def log_of(y):
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame({"query": [f"q{q}" for q in y.qid], "document": np.arange(len(y))})
    log = rows.iloc[y.shown_rows].reset_index(drop=True)
    return log.assign(position=y.position, clicked=y.clicked), rows


def test_counts_are_all_that_the_model_of_positions_reads(sessions, rng):
    y = counts_of(sessions)
    for trust, prior in ((None, None), ((0.9, 0.2), 0.3)):
        options = {"trust": trust, "prior": prior}
        for one, other in zip(
            position_based(y, THETA, **options), position_based(sessions, THETA, **options)
        ):
            np.testing.assert_allclose(one, other)
    X = rng.random((240, 2))
    for method in ("swap", "alternating"):
        fits = [fit_propensities(of, X, method=method) for of in (y, sessions)]
        for one, other in zip(*fits):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    ranker = AggregatedRanker("position_based", structure_options={"propensity": THETA})
    coef = ranker.fit(X, sessions).coef_
    np.testing.assert_allclose(ranker.fit(X, y).coef_, coef)
    assert ranker.score(X, y) == pytest.approx(ranker.score(X, sessions))


def test_counts_are_sliced_like_rows(sessions, rng):
    y = counts_of(sessions)
    rows = rng.permutation(240)[:100]
    assert y[rows] == counts_of(sessions[rows])
    assert y[rows].qid.tolist() == sessions.qid[rows].tolist()
    assert y[:] == copy.deepcopy(y) == pickle.loads(pickle.dumps(y)) != y[:100]
    for train, test in QueryKFold(3).split(np.zeros((240, 1)), y):
        assert y[train].clicks.sum() + y[test].clicks.sum() == y.clicks.sum()
    assert repr(y[:0]) == "ClickCounts(0 rows, 0 impressions, 0 clicks)"
    assert y.n_judgments.sum() == y.evidence.sum() == y.impressions.sum() == 600 * 6
    assert not y.is_silent
    assert ClickCounts([1], [0], [1], [3], [0]).is_silent


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "batches"])
def test_parts_of_a_log_are_counted_as_the_whole(library, sessions, monkeypatch):
    monkeypatch.setattr("skcalrank.judgments._click_counts._WAITING", 200)
    log, rows = log_of(sessions)
    parts, rows_given = [log[k : k + 700] for k in range(0, len(log), 700)], rows
    if library == "polars":
        polars = pytest.importorskip("polars")
        parts, rows_given = map(polars.from_pandas, parts), polars.from_pandas(rows)
    elif library != "pandas":
        pa = pytest.importorskip("pyarrow")
        parts = [pa.Table.from_pandas(part) for part in parts]
        if library == "batches":
            parts = (batch for part in parts for batch in part.to_batches())
    y = ClickCounts.from_frames(parts, **NAMES, rows=rows_given)
    expected = counts_of(sessions)
    assert all(map(np.array_equal, y._arrays(), expected._arrays()))
    assert y.qid.tolist() == rows["query"].tolist()
    assert y.document.tolist() == rows["document"].tolist()
    assert y[[3, 1]].document.tolist() == [3, 1]


def test_parquet_is_read_in_chunks(sessions, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    log, rows = log_of(sessions)
    log.to_parquet(tmp_path / "log.parquet")
    batches = parquet.ParquetFile(tmp_path / "log.parquet").iter_batches(500)
    y = ClickCounts.from_frames(batches, **NAMES, rows=rows)
    assert all(map(np.array_equal, y._arrays(), counts_of(sessions)._arrays()))


def test_without_rows_they_are_those_of_the_log(sessions):
    log, _ = log_of(sessions)
    whole = ClickSessions.from_frame(
        log.assign(session=np.repeat(np.arange(600), 6)), session="session", **NAMES
    )
    for parts in (log, [log[:999], log[:0], log[999:]]):
        y = ClickCounts.from_frames(parts, **NAMES)
        assert y.qid.tolist() == whole.qid.tolist()
        assert y.document.tolist() == whole.document.tolist()
        np.testing.assert_allclose(
            position_based(y, THETA).relevance, position_based(whole, THETA).relevance
        )


def test_documents_never_shown_and_not_in_rows_are_told(sessions):
    log, rows = log_of(sessions)
    more = rows.iloc[:40].copy()
    more.loc[40] = ["new", 7]
    with pytest.warns(UserWarning, match=r"200 documents of the log .* as document 98 of query"):
        y = ClickCounts.from_frames([log[:2000], log[2000:]], **NAMES, rows=more)
    assert repr(y).endswith(", 1 row never shown)")
    with pytest.raises(ValueError, match="got none, not even document"):
        ClickCounts.from_frames(log, **NAMES, rows=more[40:])
    with pytest.raises(ValueError, match="document 0 of query 'q0' in rows 0 and 41"):
        ClickCounts.from_frames(log, **NAMES, rows=more.iloc[[*range(41), 0]])
    with pytest.raises(ValueError, match="a part of the log at least"):
        ClickCounts.from_frames([], **NAMES)


@pytest.mark.parametrize("name", ["query", "document"])
def test_parts_of_other_types_are_told(sessions, name):
    log, rows = log_of(sessions)
    log, rows = (f.assign(query=f["query"].str[1:].astype(int)) for f in (log, rows))
    text = log.assign(**{name: log[name].astype(str)})
    for parts, of_rows in (([log, text], None), ([log, text], rows), (text, rows)):
        with pytest.raises(ValueError, match=rf"'{name}' must have .* as text, got (\d+) and '\1'"):
            ClickCounts.from_frames(parts, **NAMES, rows=of_rows)


def make(rows=(0, 1), position=(1, 2), impressions=(3, 3), clicks=(1, 0)):
    return ClickCounts([1, 1], rows, position, impressions, clicks)


def test_counts_of_a_place_are_added():
    y = make((1, 0, 1), (2, 1, 2), (3.0, 4, 5), (1, 1, 2))
    assert [values.tolist() for values in y._arrays()] == [[0, 1], [1, 2], [4, 8], [1, 3]]


def test_places_without_impressions_do_not_count(sessions):
    """A database may list every document at every position."""
    y = counts_of(sessions)
    row, position = np.divmod(np.arange(2400), 10)
    zeros = np.zeros(2400)
    shown = np.append(y.impressions, zeros), np.append(y.clicks, zeros)
    listed = ClickCounts(
        y.qid, np.append(y.shown_rows, row), np.append(y.position, position + 1), *shown
    )
    assert listed == y
    assert repr(listed) == repr(y)
    np.testing.assert_array_equal(fit_propensities(listed).group, fit_propensities(y).group)
    assert not len(make(impressions=(0, 0), clicks=(0, 0)).position)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": (0, 2)}, "shown_rows must hold integers from 0 to 1, got 2"),
        ({"position": (0, 1)}, "position must hold integers from 1 on, got 0"),
        (
            {"clicks": (4, 0)},
            "clicks must hold integers from 0 to the number of .*, got 4",
        ),
        ({"impressions": (0.5, 1)}, "impressions must hold an integer for each of 2 counts"),
        ({"clicks": (1,)}, r"clicks must hold an integer .* got shape \(1,\)"),
        ({"impressions": (3, -2)}, "impressions must hold integers from 0 on, got -2"),
        ({"impressions": (3, np.inf)}, "impressions must hold integers from 0 on, got inf"),
        ({"position": (1, 1e30)}, "position must hold integers from 1 on, got 1e"),
    ],
)
def test_bad_counts_are_clear_errors(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_what_needs_sessions_says_so(sessions, rng):
    y, X = counts_of(sessions), rng.random((240, 2))
    options = {"propensity": THETA}
    with pytest.raises(ValueError, match="order must be None for ClickCounts"):
        AggregatedRanker("position_based", order=3, structure_options=options).fit(X, y)
    with pytest.raises(ValueError, match="expects relevances or PreferenceTarget or ClickSessions"):
        StochasticAggregatedRanker("position_based", structure_options=options).fit(X, y)
    with pytest.raises(TypeError, match="must be ClickSessions for cascade, got ClickCounts"):
        cascade(y)
    with pytest.raises(ValueError, match="got a row twice"):
        y[[0, 0]]
    with pytest.raises(TypeError, match="position_based"):
        np.asarray(y)
