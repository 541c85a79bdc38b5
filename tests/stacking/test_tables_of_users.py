"""Tables that users have, which some ranker once misread in silence or refused without a remedy."""

from datetime import date, timedelta

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted
from commands import fail

from skcalrank import BoostedRanker, TabularRanker

pd = pytest.importorskip("pandas")

N_QUERIES, SIZE = 50, 8
QID = np.repeat(np.arange(N_QUERIES), SIZE)

RANKERS = {
    "tabular": lambda: TabularRanker(trees=FIRST, n_jobs=1),
    "linear views": lambda: TabularRanker(trees=None),
    **{engine: lambda engine=engine: boosted(engine) for engine in ENGINES},
}
every_ranker = pytest.mark.parametrize("ranker", RANKERS)


def frame_of(rng, **columns):
    return pd.DataFrame({"x": rng.normal(size=len(QID)), **columns})


@pytest.mark.product
@every_ranker
@pytest.mark.parametrize(
    ("missing", "dtype"),
    [(None, object), (pd.NA, object), (pd.NA, "string"), (pd.NaT, object), (None, "category")],
)
def test_missing_text_is_the_missing_text_of_fit(ranker, missing, dtype, rng):
    names, lost = rng.choice(["u", "v", "w"], len(QID)).astype(object), rng.random(len(QID)) < 0.3
    y = 2 * lost + (names == "u")

    def table(missing, dtype):
        values = [missing if gone else name for name, gone in zip(names, lost)]
        return frame.assign(name=pd.Series(values, dtype=object).astype(dtype))

    frame = frame_of(rng)
    fits = [
        RANKERS[ranker]().fit(table(*of), y, QID) for of in ((np.nan, object), (missing, dtype))
    ]
    expected = fits[0].predict(table(np.nan, object), QID)
    assert np.ptp(expected[lost]) < np.ptp(expected)
    for fitted in fits:
        np.testing.assert_array_equal(fitted.predict(table(missing, dtype), QID), expected)
        np.testing.assert_array_equal(fitted.predict(table(np.nan, object), QID), expected)


@pytest.mark.product
@every_ranker
@pytest.mark.parametrize(
    ("seen", "given"),
    [
        ([0, 1, 2, 3], ["0", "1", "2", "3"]),
        (["0", "1", "2", "3"], [0, 1, 2, 3]),
        (["a", "b", "c", "d"], ["A", "B", "C", "D"]),
        (["a", "b", "c", "d"], ["a ", "b ", "c ", "d "]),
        (["a", "b", "c", "d"], [b"a", b"b", b"c", b"d"]),
    ],
    ids=["text for numbers", "numbers for text", "upper case", "blanks", "bytes"],
)
def test_a_column_without_a_level_of_fit_is_told(ranker, seen, given, rng):
    codes = rng.integers(0, 4, len(QID))
    frame = frame_of(rng, level=pd.Categorical([seen[code] for code in codes]))
    fitted = RANKERS[ranker]().fit(frame, codes == 1, QID)
    other = frame.assign(level=pd.Series([given[code] for code in codes], dtype=object))
    with pytest.warns(UserWarning, match=r"'level' of X .* such as .* where fit has seen"):
        fitted.predict(other, QID)


@every_ranker
def test_dates_in_a_column_of_objects_are_dates(ranker, rng):
    # The days of every second query are new: as categories they would say nothing.
    days = rng.permutation(700)[: len(QID)]
    y, train = np.digitize(abs(days - 350), [100, 200, 300]), QID % 2 == 0
    listed = [date(2023, 1, 1) + timedelta(int(day)) for day in days]
    frame = frame_of(rng, listed=pd.Series(listed, dtype=object))
    fitted = RANKERS[ranker]().fit(frame[train], y[train], QID[train])
    assert fitted.score(frame[~train], y[~train], QID[~train]) > 0.97
    typed = frame.assign(listed=pd.to_datetime(frame["listed"]))
    np.testing.assert_array_equal(fitted.predict(typed, QID), fitted.predict(frame, QID))


@every_ranker
def test_seconds_since_1970_are_told_apart(ranker, rng):
    seconds = rng.integers(0, 100, len(QID))
    frame = frame_of(rng, seen=1.7e9 + seconds)
    y = np.digitize(abs(seconds - 50), [15, 30, 45])
    assert RANKERS[ranker]().fit(frame, y, QID).score(frame, y, QID) > 0.99


@every_ranker
def test_columns_are_found_by_numbers(ranker, rng):
    names = rng.choice(["u", "v", "w"], len(QID))
    frame = pd.DataFrame({0: names, 1: rng.normal(size=len(QID)), 2: rng.normal(size=len(QID))})
    y = (names == "u") + (frame[1] > frame[2])
    fitted = RANKERS[ranker]().fit(frame, y, QID)
    expected = fitted.predict(frame, QID)
    np.testing.assert_array_equal(fitted.predict(frame[[2, 0, 1]], QID), expected)
    np.testing.assert_array_equal(fitted.predict(frame.to_numpy(), QID), expected)
    with pytest.raises(ValueError, match="must have the columns of fit, got none named 1"):
        fitted.predict(frame[[0, 2]], QID)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("size", "remedy"), [(1e-300, "Multiply"), (1e39, "Divide")])
def test_columns_beyond_the_range_of_an_engine_are_named(engine, size, remedy, rng, capfd):
    X = size * (1 + rng.random((len(QID), 1)))
    with pytest.raises(ValueError, match=rf"column 0\. {remedy}"):
        boosted(engine).fit(X, np.arange(len(QID)) % 3, QID)
    assert capfd.readouterr() == ("", "")


@every_ranker
def test_words_of_titles_are_read(ranker, rng):
    # Nearly all titles differ, so as categories those of other queries would say nothing.
    words = np.array(["chair", "table", "lamp", "small", "large", "fine", "old", "blue", "red"])
    titles = [" ".join(rng.permutation(words)[:5]) for _ in QID]
    frame = frame_of(rng, title=titles)
    y, train = np.array([("lamp" in title) + 0 for title in titles]), QID % 2 == 0
    fitted = RANKERS[ranker]().fit(frame[train], y[train], QID[train])
    assert fitted.score(frame[~train], y[~train], QID[~train]) > 0.99


def test_a_wrong_name_on_the_command_line_is_told_with_columns_of_text(capsys, rng, tmp_path):
    file = tmp_path / "offers.csv"
    frame = frame_of(rng, search_id=[f"q{query}" for query in QID], label=QID % 2)
    frame.to_csv(file, index=False)
    message = fail(capsys, "compare", str(file))
    assert "has no column 'qid': its columns are x, search_id, label" in message


@pytest.mark.parametrize("trees", [None, BoostedRanker(engine="sklearn", n_estimators=3)])
def test_objects_after_a_fit_to_numbers(trees, rng):
    X, qid = rng.normal(size=(60, 3)), np.arange(60) // 6
    ranker = TabularRanker(trees=trees).fit(X, (X[:, 0] > 0) * 1, qid)
    objects = X.astype(object)
    np.testing.assert_allclose(ranker.predict(objects, qid), ranker.predict(X, qid))
    objects[0, 0], X[0, 0] = None, np.nan
    np.testing.assert_allclose(ranker.predict(objects, qid), ranker.predict(X, qid))
    objects[0, 0] = "x"
    with pytest.raises(ValueError, match="X: could not convert string to float: 'x'"):
        ranker.predict(objects, qid)
