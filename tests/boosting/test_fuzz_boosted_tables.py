"""Trees fitted to random tables: categories and text of any type, missing values, any order."""

import pickle

import numpy as np
import pytest
from boosting_cases import ENGINES
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

pytest.importorskip("hypothesis")
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    KINDS_OF_NAMES,
    codes_of_queries,
    examples,
    numbers,
    orders,
    qids,
    quiet,
    snapshot,
    vectors,
)

from skcalrank import BoostedRanker, NDCGRanker, TabularRanker

pd = pytest.importorskip("pandas")
try:
    import polars as pl
except ImportError:
    pl = None

SMALL = {
    "lightgbm": {"min_data_per_group": 1, "cat_smooth": 1.0},
    "xgboost": {},
    "sklearn": {},
}
FEW = {"min_samples_leaf": 1, "n_estimators": 4, "n_jobs": 1, "n_models": 2}
BOOSTED = [BoostedRanker(engine=engine, engine_params=SMALL[engine], **FEW) for engine in ENGINES]
INSIDE = NDCGRanker(
    HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=1, categorical_features="from_dtype")
)
every_boosted = pytest.mark.parametrize("ranker", BOOSTED, ids=ENGINES)
every_ranker = pytest.mark.parametrize("ranker", [*BOOSTED, INSIDE], ids=[*ENGINES, "inside"])

# In the order of the names, which an encoder goes by.
KINDS = ("", "B", "a", "b c", "é")

PANDAS = {
    "objects": lambda names: pd.Series(names, dtype=object),
    "text": lambda names: pd.Series(names, dtype="string"),
    "category": lambda names: pd.Series(pd.Categorical(names)),
    "backwards": lambda names: pd.Series(pd.Categorical(names, KINDS[::-1], ordered=True)),
    "more categories": lambda names: pd.Series(pd.Categorical(names, [*KINDS, "more"])),
}
POLARS = {
    "text": lambda names: pl.Series(names, dtype=pl.String),
    "category": lambda names: pl.Series(names, dtype=pl.Categorical),
    "enum": lambda names: pl.Series(names, dtype=pl.Enum([*KINDS[::-1], "more"])),
}
COLUMNS = [("pandas", kind) for kind in PANDAS]
COLUMNS += [("polars", kind) for kind in POLARS] if pl else []


@st.composite
def problems(draw):
    """Columns of names and numbers, many of them missing, with labels and queries."""
    codes = draw(codes_of_queries(max_queries=3))
    # Some queries tell rankings apart: one is held out, and one is learned from.
    codes = np.append(codes, codes.max() + np.array([1, 1, 2, 2]))
    names = draw(vectors(len(codes), (*KINDS, None)))
    others = draw(vectors(len(codes), (np.nan, 0.0, 0.5, 2.0)))
    counts = draw(vectors(len(codes), (1, 2, 3)))
    y = np.append(draw(vectors(len(codes) - 4, (0.0, 1.0, 2.0))), [0.0, 2.0, 1.0, 0.0])
    # Columns that are constant or missing altogether are left out, and one must be left.
    others[-2:] = [2.0, 0.5]
    return {"name": names.tolist(), "other": others, "count": counts}, y, codes


def table(columns, library="pandas", kind="category", index=None):
    """The columns as a frame."""
    if library == "polars":
        return pl.DataFrame({**columns, "name": POLARS[kind](columns["name"])})
    frame = pd.DataFrame({**columns, "name": PANDAS[kind](columns["name"])})
    return frame if index is None else frame.set_index(pd.Index(index))


def fitted(ranker, *problem):
    with quiet():
        return clone(ranker).fit(*problem)


def taken(columns, rows):
    return {name: np.array(values, dtype=object)[rows].tolist() for name, values in columns.items()}


@every_boosted
@examples(0.2)
@given(data=st.data())
def test_tables_of_every_type_are_the_same(ranker, data):
    (columns, y, codes), kind = data.draw(problems()), data.draw(KINDS_OF_NAMES)
    one = fitted(ranker, table(columns), y, data.draw(qids(codes, kind)))
    expected = one.predict(table(columns))
    assert np.isfinite(expected).all()
    assert one.categorical_features_ == ([0] if len(set(columns["name"])) > 1 else [])
    frames = [table(columns, *data.draw(st.sampled_from(COLUMNS))) for _ in range(2)]
    before = [snapshot(frame) for frame in frames]
    two = fitted(ranker, frames[0], y, data.draw(qids(codes, kind)))
    np.testing.assert_array_equal(two.predict(frames[1]), expected)
    assert before == [snapshot(frame) for frame in frames]


@every_boosted
@examples(0.2)
@given(data=st.data())
def test_order_of_queries_and_containers_of_names_change_nothing(ranker, data):
    (columns, y, codes), kind = data.draw(problems()), data.draw(KINDS_OF_NAMES)
    numbered = data.draw(numbers(len(y)))
    rows = np.argsort(data.draw(orders(int(codes.max()) + 1))[codes], kind="stable")
    one = fitted(ranker, table(columns), y, data.draw(qids(codes, kind)))
    moved = table(taken(columns, rows), index=numbered).infer_objects()
    two = fitted(ranker, moved, y[rows], data.draw(qids(codes[rows], kind)))
    np.testing.assert_allclose(two.predict(moved), one.predict(table(columns))[rows], atol=1e-9)


@every_ranker
@examples(0.2)
@given(data=st.data())
def test_names_of_categories_and_copies_change_nothing(ranker, data):
    columns, y, codes = data.draw(problems())
    renamed = [None if name is None else f"kind {name}" for name in columns["name"]]
    frame, other = table(columns), table({**columns, "name": renamed}, kind="objects")
    other["name"] = other["name"].astype("category")
    one, two = (fitted(ranker, each, y, codes) for each in (frame, other))
    expected = one.predict(frame)
    np.testing.assert_array_equal(two.predict(other), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(frame), expected)
    np.testing.assert_array_equal(fitted(ranker, frame, y, codes).predict(frame), expected)
    new, none = (
        frame.assign(name=pd.Categorical([name] * len(y), ["new"])) for name in ("new", None)
    )
    if None not in columns["name"]:  # else missing has a meaning of its own
        np.testing.assert_array_equal(one.predict(new), one.predict(none))


@examples(0.3)
@given(data=st.data())
def test_linear_views_are_the_same_of_tables_of_every_type_and_order(data):
    (columns, y, codes), kind = data.draw(problems()), data.draw(KINDS_OF_NAMES)
    columns["empty"] = np.full(len(y), np.nan)
    ranker, rows = TabularRanker(trees=None), data.draw(orders(len(y)))
    one = fitted(ranker, table(columns), y, data.draw(qids(codes, kind)))
    expected = one.predict(table(columns), codes)
    assert np.isfinite(expected).all()
    moved = table(taken(columns, rows), *data.draw(st.sampled_from(COLUMNS)))
    names = data.draw(qids(codes[rows], kind))
    again = fitted(ranker, moved, y[rows], names)
    np.testing.assert_allclose(again.predict(moved, names), expected[rows], atol=1e-6)
    again = pickle.loads(pickle.dumps(again))
    np.testing.assert_allclose(again.predict(moved, names), expected[rows], atol=1e-6)
