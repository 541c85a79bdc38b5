"""One made table in every form in which users have it."""

import io
from datetime import date, datetime, timedelta

import numpy as np

try:
    import pandas as pd
except ImportError:
    pd = None
try:
    import polars as pl
except ImportError:
    pl = None
try:
    import pyarrow as pa
except ImportError:
    pa = None

#: Kinds of the columns of the table.
KINDS = {
    "price": "number",
    "stars": "number",
    "used": "flag",
    "brand": "category",
    "listed": "date",
    "seen": "date",
    "took": "duration",
    "title": "text",
    "one": "constant",
}

_WORDS = ["red", "blue", "old", "new", "chair", "table", "lamp", "small", "large", "fine"]


def made_columns(n=60, seed=0):
    """Columns of Python values, None where they are missing."""
    rng = np.random.default_rng(seed)

    def lacking(values):
        return [None if gap else value for value, gap in zip(values, rng.random(n) < 0.15)]

    day = date(2024, 1, 1)
    columns = {
        "price": lacking(np.round(rng.lognormal(2, 1, n), 2).tolist()),
        "stars": lacking(rng.integers(0, 9, n).tolist()),
        "used": lacking((rng.random(n) < 0.5).tolist()),
        "brand": lacking(rng.choice(["acme", "b b", "01", "Été"], n).tolist()),
        "listed": lacking([day + timedelta(int(k)) for k in rng.integers(0, 500, n)]),
        "seen": lacking(
            [datetime(2025, 1, 1) + timedelta(hours=int(k)) for k in rng.integers(0, 900, n)]
        ),
        "took": lacking([timedelta(seconds=int(k)) for k in rng.integers(1, 900, n)]),
        "title": lacking([" ".join(rng.choice(_WORDS, 4)) for _ in range(n)]),
        "one": ["same"] * n,
    }
    return columns


def labels(columns, seed=0):
    """Grades that depend on the columns, and queries of ten rows."""
    rng = np.random.default_rng(seed)
    n = len(columns["one"])
    score = np.array([value or 0.0 for value in columns["stars"]], dtype=float) / 3
    score += np.array([value == "acme" for value in columns["brand"]]) * 2
    score += np.array([0 if value is None else value.weekday() for value in columns["listed"]]) / 3
    return np.digitize(score + rng.normal(size=n), [1, 2, 4]).astype(float), np.arange(n) // 10


def _objects(columns, missing=None):
    values = {
        name: [missing if value is None else value for value in column]
        for name, column in columns.items()
    }
    return pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in values.items()})


def _typed(columns, **dtypes):
    frame = pd.DataFrame(columns)
    frame["listed"] = pd.to_datetime(frame["listed"])
    return frame.astype(dtypes)


def _pandas_forms():
    text = ("brand", "title", "one")
    every = {
        "objects of None": _objects,
        "objects of NaN": lambda c: _objects(c, np.nan),
        "objects of NA": lambda c: _objects(c, pd.NA),
        "inferred": pd.DataFrame,
        "dates of numpy": _typed,
        "converted": lambda c: pd.DataFrame(c).convert_dtypes(),
        "nullable": lambda c: _typed(
            c, price="Float64", stars="Int64", used="boolean", **dict.fromkeys(text, "string")
        ),
        "categories": lambda c: _typed(c, **dict.fromkeys(text, "category")),
        "ordered categories": lambda c: _typed(c).assign(
            brand=pd.Categorical(c["brand"], ["Été", "01", "b b", "acme", "more"], ordered=True)
        ),
        "reordered": lambda c: pd.DataFrame(c)[list(c)[::-1]].assign(extra=1),
        "time zones": lambda c: _typed(c).assign(
            seen=pd.to_datetime(pd.Series(c["seen"]))
            .dt.tz_localize("UTC")
            .dt.tz_convert("Asia/Tokyo")
        ),
        "other units": lambda c: _typed(c).astype({"listed": "datetime64[s]", "seen": "M8[ms]"}),
    }
    if pa is not None:
        every["strings of arrow"] = lambda c: _typed(c, **dict.fromkeys(text, "string[pyarrow]"))
        every["arrow inside"] = lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow")
        every["parquet"] = _through_parquet
    return every


def _through_parquet(columns):
    file = io.BytesIO()
    _typed(columns).to_parquet(file)
    file.seek(0)
    return pd.read_parquet(file)


def _polars_forms():
    brands = pl.Enum(["Été", "01", "b b", "acme", "more"])
    return {
        "polars": pl.DataFrame,
        "polars categories": lambda c: pl.DataFrame(c).with_columns(
            pl.col("brand", "one").cast(pl.Categorical)
        ),
        "polars enum": lambda c: pl.DataFrame(c).with_columns(pl.col("brand").cast(brands)),
        "polars datetimes": lambda c: pl.DataFrame(c).with_columns(
            pl.col("listed").cast(pl.Datetime("ms"))
        ),
    }


def _arrow_forms():
    def coded(columns):
        table = pa.table(columns)
        where = table.column_names.index("brand")
        return table.set_column(where, "brand", table.column("brand").dictionary_encode())

    return {"arrow": pa.table, "arrow dictionary": coded}


def _records(columns):
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


#: Functions of columns that return the table, by the name of the form.
FORMS = {
    "records": _records,
    **(_pandas_forms() if pd is not None else {}),
    **(_polars_forms() if pl is not None else {}),
    **(_arrow_forms() if pa is not None else {}),
}


def _array(columns):
    return np.array(list(zip(*columns.values())), dtype=object)


def _array_of_nan(columns):
    array = _array(columns)
    array[array == None] = np.nan  # noqa: E711
    return array


def _masked(columns):
    array = _array(columns)
    mask = array == None  # noqa: E711
    array[mask] = "masked"
    return np.ma.array(array, mask=mask)


#: Forms without names, which are read by the places of the columns.
ARRAYS = {
    "array": _array,
    "array of NaN": _array_of_nan,
    "masked array": _masked,
    "lists": lambda columns: list(map(list, zip(*columns.values()))),
}
