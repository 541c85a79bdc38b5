"""Click sessions read from the table of a log."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pytest
from structures import draw_sessions

from skcalrank import ClickCounts, ClickSessions, PreferenceTarget
from skcalrank.aggregation import fit_propensities, position_based
from skcalrank.evaluation import click_ranker, offline_evaluate

pd = pytest.importorskip("pandas")

NAMES = {name: name for name in ("session", "query", "document", "position", "clicked")}


def log_of(y, query=lambda q: f"q{q}", document=lambda row: f"d{row}"):
    """Return the log of sessions, and the table of their rows; rows count from 0 in each query."""
    place = np.array([(y.qid[:row] == y.qid[row]).sum() for row in range(len(y))])
    session = np.repeat(np.arange(y.n_sessions), np.diff(y.ptr))
    rows = pd.DataFrame({"query": list(map(query, y.qid)), "document": list(map(document, place))})
    log = rows.iloc[y.shown_rows].reset_index(drop=True)
    return log.assign(session=session, position=y.position, clicked=y.clicked), rows


def several_clicks(rng):
    y = draw_sessions(rng, n=60)
    clicks = [rng.permutation(n)[: rng.integers(0, n + 1)] + 1 for n in np.diff(y.ptr)]
    return ClickSessions(y.qid, np.split(y.shown_rows, y.ptr[1:-1]), clicks)


def same(found, y):
    """Return whether the sessions are the same, and count the same, but for names of queries."""
    own, other = ((*sessions._arrays(), *sessions.counts()) for sessions in (found, y))
    return all(map(np.array_equal, own, other))


IDS = {
    "text": (lambda q: f"q{q}", lambda d: f"d{d}"),
    "numbers": (lambda q: int(q) - 6, lambda d: 10**12 * int(d)),
    "floats": (lambda q: q / 8, lambda d: -d / 4),
    "tuples": (lambda q: (q, "x"), lambda d: frozenset([d])),
    "mixed": (lambda q: q if q % 2 else str(q), lambda d: d or "0"),
    "dates": (lambda q: datetime.datetime(2020, 1, 1 + int(q)), lambda d: d),
    "large": (lambda q: 2**63 - int(q), lambda d: 2**60 + int(d)),
    "nanoseconds": (lambda q: pd.Timestamp(int(q)), lambda d: pd.Timedelta(int(d))),
}


def test_bytes_are_names_in_utf_8(rng):
    log = log_of(several_clicks(rng), query=lambda q: f"é{q}")[0]
    coded = log.assign(**{name: log[name].str.encode("utf-8") for name in ("query", "document")})
    parts = {name: NAMES[name] for name in NAMES if name != "session"}
    for y, of_bytes in (
        (ClickSessions.from_frame(table, **NAMES) for table in (log, coded)),
        (ClickCounts.from_frames(tables, **parts) for tables in ([log, log], [log, coded])),
    ):
        assert of_bytes.qid.tolist() == y.qid.tolist()
        assert of_bytes.document.tolist() == y.document.tolist()
        assert len(of_bytes) == len(y)
    votes = pd.DataFrame(
        {"a": [b"x", "x", b"y"], "b": ["y", b"y", "z"], "won": [b"left", "b", "a"]}
    )
    columns = {"a": "a", "b": "b", "outcome": "won"}
    target = PreferenceTarget.from_frame(votes, **columns, outcomes={b"left": "a"})
    assert target.item_names == ("x", "y", "z")
    with pytest.raises(ValueError, match=r"Column 'a' of frame must hold text in UTF-8: .*xff"):
        PreferenceTarget.from_frame(votes.replace(b"x", b"\xff"), **columns)


@pytest.mark.parametrize(("query", "document"), IDS.values(), ids=IDS)
def test_a_log_in_any_order_makes_the_sessions(query, document, rng):
    y = several_clicks(rng)
    log, rows = log_of(y, query, document)
    for table in (log, log.sample(frac=1, random_state=0)):
        sessions = ClickSessions.from_frame(table, **NAMES, rows=rows)
        assert same(sessions, y)
        assert sessions.qid.tolist() == list(map(query, y.qid)) or query(5) != 5
        assert len(sessions.document) == len(y)
    assert sessions[[2, 0]].document.tolist() == sessions.document[[2, 0]].tolist()


@pytest.mark.every_case
@pytest.mark.parametrize("n_sessions", [10, 251])
@pytest.mark.parametrize("kind", [int, float, np.int64, np.float32, Decimal, pd.Categorical])
def test_numbers_that_are_objects_are_read_whatever_their_number(kind, n_sessions):
    n = 2 * n_sessions
    place, session = np.arange(n) % 2, np.arange(n) // 2
    columns = {"session": session, "query": session // 2, "document": 10**9 * place}
    columns |= {"position": 1 + place, "clicked": np.arange(n) % 3 == 0}
    log = pd.DataFrame(columns)
    clicks = {int: bool, np.int64: np.bool_}.get(kind, kind)
    objects = log.copy()
    for name in NAMES:
        of = clicks if name == "clicked" else kind
        if kind is pd.Categorical:
            objects[name] = kind(log[name].astype(float))
        else:
            objects[name] = pd.Series([of(value) for value in log[name].tolist()], dtype=object)
    found, expected = (ClickSessions.from_frame(frame, **NAMES) for frame in (objects, log))
    assert same(found, expected)
    for name in ("qid", "document"):
        assert list(map(str, getattr(found, name))) == list(map(str, getattr(expected, name)))


@pytest.mark.parametrize("library", ["polars", "pyarrow", "categories", "nullable"])
def test_libraries_of_tables_mean_the_same(library, rng):
    y = several_clicks(rng)
    log, rows = log_of(y)
    if library == "polars":
        tables = [pytest.importorskip("polars").from_pandas(table) for table in (log, rows)]
    elif library == "pyarrow":
        tables = [pytest.importorskip("pyarrow").Table.from_pandas(table) for table in (log, rows)]
    elif library == "categories":
        tables = [log.astype({"query": "category", "document": "category"}), rows]
    else:
        tables = [log.convert_dtypes(), rows.convert_dtypes()]
    sessions = ClickSessions.from_frame(tables[0], **NAMES, rows=tables[1])
    assert same(sessions, y)
    assert sessions.qid.tolist() == rows["query"].tolist()


def test_without_rows_they_are_the_documents_of_the_log(rng):
    y = several_clicks(rng)
    log, _ = log_of(y)
    sessions = ClickSessions.from_frame(log, **NAMES)
    first = log[["query", "document"]].drop_duplicates()
    assert sessions.qid.tolist() == first["query"].tolist()
    assert sessions.document.tolist() == first["document"].tolist()
    assert same(ClickSessions.from_frame(log, **NAMES, rows=first), sessions)
    assert "never shown" not in repr(sessions)


def test_documents_never_shown_and_not_in_rows_are_told(rng):
    y = several_clicks(rng)
    log, rows = log_of(y)
    more = pd.concat([rows, pd.DataFrame({"query": ["q5", "new"], "document": ["d0!", "d0"]})])
    sessions = ClickSessions.from_frame(log, **NAMES, rows=more)
    assert "2 rows never shown" in repr(sessions)
    assert same(sessions[: len(y)], y)
    kept = np.flatnonzero(rng.random(len(y)) < 0.6)
    lost = log.merge(rows.drop(kept), on=["query", "document"])
    message = rf"{len(y) - len(kept)} of {len(y)} .* as document .*\({len(lost) / len(log):.2g} of"
    with pytest.warns(UserWarning, match=message):
        sessions = ClickSessions.from_frame(log, **NAMES, rows=rows.iloc[kept])
    # As if the rows had been there and were removed: positions and readers stay.
    assert same(sessions, y[kept])


@pytest.mark.parametrize("library", [None, "polars", "pyarrow"])
def test_a_log_of_clicks_alone_is_told(library):
    n = 60
    log = pd.DataFrame({"session": np.arange(n) // 3, "document": np.arange(n) % 4, "clicked": 1})
    log = log.assign(query=log["session"] % 5, position=np.arange(n) % 3 + 1)
    few, mixed = log[:15], log.assign(clicked=log["position"] < 3)
    if library == "polars":
        few, mixed, log = map(pytest.importorskip("polars").from_pandas, (few, mixed, log))
    elif library == "pyarrow":
        arrow = pytest.importorskip("pyarrow").Table
        few, mixed, log = map(arrow.from_pandas, (few, mixed, log))
    of_counts = {name: name for name in NAMES if name != "session"}
    for table in (few, mixed):
        ClickSessions.from_frame(table, **NAMES)
        ClickCounts.from_frames([table], **of_counts)
    message = "A log should hold documents that were shown and not clicked, got clicks alone"
    with pytest.warns(UserWarning, match=message):
        sessions = ClickSessions.from_frame(log, **NAMES)
    with pytest.warns(UserWarning, match=message):
        counts = ClickCounts.from_frames([log], **of_counts)
    with pytest.warns(UserWarning, match=message):
        ClickSessions(np.zeros(2), [[0], [1]] * 10, [1] * 20)
    with pytest.warns(UserWarning, match=message):
        ClickCounts(np.zeros(2), [0, 1], [1, 1], [10, 12], [10, 12])
    theta, X = [1.0, 0.5, 0.3], np.arange(len(sessions))[:, None]
    for call in (
        lambda: fit_propensities(sessions),
        lambda: fit_propensities(counts),
        lambda: position_based(counts, "fit"),
        lambda: click_ranker(X, sessions),
        lambda: click_ranker(X, sessions, propensity=theta),
        lambda: offline_evaluate(X[:, 0], sessions, propensity="fit"),
        lambda: offline_evaluate(X[:, 0], sessions, propensity=theta),
    ):
        with pytest.raises(ValueError, match="sessions must hold documents that were shown and"):
            call()


def test_a_session_with_two_queries_is_two():
    log = pd.DataFrame(
        {
            "session": [1, 1, 1, 1],
            "query": ["a", "b", "a", "b"],
            "document": [7, 7, 8, 9],
            "position": [1, 3, 2, 1],
            "clicked": [0, 1, 0, 0],
        }
    )
    sessions = ClickSessions.from_frame(log, **NAMES)
    assert np.diff(sessions.ptr).tolist() == [2, 2]
    assert sessions.position.tolist() == [1, 2, 1, 3]  # a gap
    assert sessions.last_click.tolist() == [0, 3]


GOOD = {"session": 1, "query": "a", "document": [4, 5], "position": [1, 2], "clicked": [0, 1]}
ERRORS = [
    ({"position": [0, 1]}, "from 1 on, got 0 in row 0. Add 1"),
    ({"position": [1, 1.5]}, "got 1.5 in row 1"),
    (
        {"position": [1, 1_700_000_000]},
        r"got 1.7e\+09 in row 1. Rank times within sessions",
    ),  # seconds
    ({"position": [1, np.nan]}, "got nan in row 1"),
    ({"position": ["1", "2"]}, "must hold positions, .* got '1' in row 0. Convert it to numbers"),
    ({"position": ["first", "2"]}, "got 'first' in row 0. Convert it to numbers"),
    ({"position": [2, 2]}, "two at position 2 of session 1, query 'a', document 4"),
    ({"document": [4, 4]}, "once in a session, got session 1, query 'a', document 4 twice"),
    ({"clicked": [0, 2]}, "got 2 in row 1. Of numbers of clicks"),
    ({"clicked": [0, None]}, "got nan in row 1"),
    ({"clicked": ["no", "yes"]}, r"got 'no' in row 0. Pass .* frame\['clicked'\] == 'yes'"),
    ({"clicked": ["0", "1"]}, "'clicked' of frame .* got '0' in row 0. Convert it to numbers"),
    ({"clicked": [True, None]}, r"got None in row 1\. Fill it in"),
    ({"query": ["a", None]}, "'query' of frame must hold an identifier .* missing value in row 1"),
    ({"document": [np.nan, 3.0]}, "'document' of frame .* missing value in row 0"),
    ({"document": [[1], [2]]}, "'document' of frame must hold hashable identifiers"),
    ({"document": [5, "5"]}, "'document' of frame must have different names .* got 5 and '5'"),
    ({"session": [1.0, "1.0"]}, "'session' of frame must have different .* got 1 and '1.0'"),
]


@pytest.mark.parametrize(("columns", "message"), ERRORS)
def test_bad_logs_are_clear_errors(columns, message):
    with pytest.raises(ValueError, match=message):
        ClickSessions.from_frame(pd.DataFrame(GOOD | columns), **NAMES)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_words_for_clicks_are_named(library):
    make = getattr(pytest.importorskip(library), "table" if library == "pyarrow" else "DataFrame")
    n = 1000  # rows that are read as levels with codes
    log = {"session": range(n), "query": [1] * n, "document": range(n), "position": [1] * n}
    with pytest.raises(ValueError, match=r"got 'no' in row 0\. Pass whether it is the word"):
        ClickSessions.from_frame(make({**log, "clicked": ["no", "yes"] * (n // 2)}), **NAMES)


def test_bad_tables_are_clear_errors():
    log = pd.DataFrame(GOOD)
    rows = pd.DataFrame({"query": ["a", "b", "a"], "document": [4, 4, 4]})
    for call, error, message in [
        (lambda: ClickSessions.from_frame(log, **NAMES, rows=rows), ValueError, "in rows 0 and 2"),
        (
            lambda: ClickSessions.from_frame(log, **NAMES, rows=rows[:2].astype(str)),
            ValueError,
            "'document' must have different names as text, got 4 and '4'",
        ),
        (
            lambda: ClickSessions.from_frame(log, **NAMES, rows=rows[1:2]),
            ValueError,
            "got none, not even document 4 of query 'a'",
        ),
        (
            lambda: ClickSessions.from_frame(log, **NAMES | {"query": "text"}),
            ValueError,
            "frame must have a column 'text', got columns 'session'",
        ),
        (lambda: ClickSessions.from_frame(log[:0], **NAMES), ValueError, "frame must have a row"),
        (lambda: ClickSessions.from_frame([[1]], **NAMES), TypeError, "must be a DataFrame"),
    ]:
        with pytest.raises(error, match=message):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = ClickSessions.from_frame(log, **NAMES, rows=rows[:2])
    assert shown.shown_rows.tolist() == [0]


@pytest.mark.parametrize("container", ["polars", "pyarrow"])
def test_decimals_that_no_float_tells_apart_are_different_documents(container):
    library = pytest.importorskip(container)
    document = [Decimal(1), Decimal("1.0000000000000000001")]
    columns = {"session": [0, 1], "query": [0, 0], "position": [1, 1], "clicked": [True, False]}
    frame = getattr(library, {"polars": "DataFrame", "pyarrow": "table"}[container])(
        {**columns, "document": document}
    )
    assert len(ClickSessions.from_frame(frame, **NAMES)) == 2
