"""One made column of each kind, in every type that holds its values."""

import re
import warnings
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
from tables import pa, pd, pl

_DAY, _ZONE = date(2024, 1, 1), timezone(timedelta(hours=9))
_WORDS = ["red", "blue", "old", "new", "chair", "table", "lamp", "small", "large", "fine"]

# Of each column: its kind, and a value from a number.
_MADE = {
    "numbers": ("number", lambda k: k / 4),
    "integers": ("number", lambda k: k % 90),
    "large integers": ("number", lambda k: 2**53 + k),
    "decimals": ("number", lambda k: Decimal(k) / 100),
    "truths": ("flag", lambda k: k % 3 == 0),
    "names": ("category", lambda k: ["acme", "b b", "b b ", "Été", "x", "", "nan"][k % 7]),
    "digits": ("category", lambda k: ["01", "1", "10"][k % 3]),
    "bytes": ("category", lambda k: [b"x", b"y"][k % 2]),
    "dates": ("date", lambda k: _DAY + timedelta(k % 900)),
    "moments": ("date", lambda k: datetime(2024, 1, 1) + timedelta(hours=k)),
    "moments of a zone": ("date", lambda k: datetime(2024, 1, 1, 9, k % 60, tzinfo=_ZONE)),
    "durations": ("duration", lambda k: timedelta(seconds=k)),
    "times of day": ("duration", lambda k: time(k % 24, k % 60)),
    "texts": ("text", lambda k: " ".join(_WORDS[k // 7**place % 10] for place in range(5))),
}

#: Kind of each column.
KINDS = {name: kind for name, (kind, _) in _MADE.items()}

# Types of masked arrays.
_MASKED = {
    "numbers": "f8 f4",
    "integers": "i8 u1 f8",
    "large integers": "i8",
    "truths": "?",
    "names": "U9 O",
    "dates": "M8[D] M8[ns]",
    "moments": "M8[us] M8[ns]",
    "durations": "m8[s] m8[ns]",
    "times of day": "O",
}


def _pandas_types():
    text = ["string", "string[python]", "category"] + ["string[pyarrow]"] * (pa is not None)
    return {
        "numbers": ["f8", "f4", "Float64", "Float32"],
        "integers": ["f8", "Int64", "UInt8", "Float64"],
        "large integers": ["Int64", "UInt64"],
        "truths": ["boolean", "category", "f8"],
        "names": text,
        "digits": text,
        "bytes": ["category"],
        "dates": ["M8[ns]", "M8[s]", "period", "category"],
        "moments": ["M8[ns]", "M8[us]", "category"],
        "durations": ["m8[ns]", "m8[s]", "category"],
        "times of day": ["category"],
        "texts": text,
    }


def _polars_types():
    text = [pl.String if hasattr(pl, "String") else pl.Utf8, pl.Categorical]
    wide = [pl.Int128] if hasattr(pl, "Int128") else []  # of later versions
    return {
        "numbers": [pl.Float64, pl.Float32],
        "integers": [pl.Int64, pl.Int8, pl.UInt32, pl.Float64, *wide],
        "large integers": [pl.Int64, pl.UInt64, *wide],
        "decimals": [pl.Decimal(scale=2)],
        "truths": [pl.Boolean, pl.Int8, pl.Float32],
        "names": text,
        "digits": text,
        "bytes": [pl.Binary],
        "dates": [pl.Date, pl.Datetime, pl.Datetime("ms")],
        "moments": [pl.Datetime, pl.Datetime("ns")],
        "durations": [pl.Duration, pl.Duration("ms")],
        "times of day": [pl.Time],
        "texts": text,
    }


def _arrow_types():
    text = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
    return {
        "numbers": [pa.float64(), pa.float32(), pa.decimal128(12, 3)],
        "integers": [pa.int64(), pa.uint8(), pa.float32(), pa.decimal128(24, 3)],
        "large integers": [pa.int64(), pa.uint64(), pa.decimal128(24, 0)],
        "decimals": [pa.decimal128(12, 2), pa.decimal256(30, 4)],
        "truths": [pa.bool_(), pa.int8()],
        "names": text,
        "digits": text,
        "bytes": [pa.binary(), pa.large_binary()],
        "dates": [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns")],
        "moments": [pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns")],
        "moments of a zone": [pa.timestamp("ms", "UTC"), pa.timestamp("us", "America/Lima")],
        "durations": [pa.duration("s"), pa.duration("ns")],
        "times of day": [pa.time32("s"), pa.time64("us")],
        "texts": [text[1], pa.dictionary(pa.int16(), pa.string())],
    }


def made_values(name, n=40, seed=0):
    """Python values of a column, None where they are missing."""
    rng = np.random.default_rng(seed)
    values = map(_MADE[name][1], rng.integers(0, 20_000, n).tolist())
    return [None if gap else value for value, gap in zip(values, rng.random(n) < 0.15)]


def named_tables(name, values):
    """Return the tables whose column "a" holds the values, by the name of its type."""
    tables = {"records": [{"a": value} for value in values]}
    if pd is not None:
        with warnings.catch_warnings():
            # Pandas 2.0 calls what NumPy 1.25 deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            tables |= _of_pandas(values, _pandas_types().get(name, []))
    if pl is not None:
        tables |= _of_polars(values, _polars_types().get(name, []))
    if pa is not None:
        tables |= _of_arrow(values, _arrow_types().get(name, []))
    return tables


def arrays(name, values):
    """Return the arrays of one column that hold the values, by the name of their type."""
    tables = {"objects": _array(values), "rows": [[value] for value in values]}
    mask, other = [[v is None] for v in values], next(v for v in values if v is not None)
    filled = _array([other if value is None else value for value in values])
    for dtype in _MASKED.get(name, "").split():
        tables[f"masked {dtype}"] = np.ma.array(filled.astype(dtype), mask=mask)
    if name in ("numbers", "integers", "truths"):
        tables["floats"] = _array(values).astype(float)
    return tables


def _array(values):
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    return array


def _of_pandas(values, types):
    def objects(missing):
        rows = [missing if value is None else value for value in values]
        return pd.DataFrame({"a": pd.Series(rows, dtype=object)})

    tables = {f"objects of {lost!r}": objects(lost) for lost in (None, np.nan, pd.NA, pd.NaT)}
    tables["inferred"] = frame = pd.DataFrame({"a": values})
    tables["converted"] = frame.convert_dtypes()
    if pa is not None:
        tables["converted to arrow"] = frame.convert_dtypes(dtype_backend="pyarrow")
    for dtype in types:
        if dtype == "period":
            tables[dtype] = pd.to_datetime(frame["a"]).dt.to_period("D").to_frame()
        elif dtype[0] in "Mm":
            read = pd.to_datetime if dtype[0] == "M" else pd.to_timedelta
            tables[f"pandas {dtype}"] = read(frame["a"]).astype(dtype).to_frame()
        else:
            tables[f"pandas {dtype}"] = objects(None).astype({"a": dtype})
    if "category" in types:
        ordered = pd.CategoricalDtype(sorted(set(values) - {None}, reverse=True), ordered=True)
        tables["ordered categories"] = objects(None).astype({"a": ordered})
    return tables


def _of_polars(values, types):
    tables = {f"polars {kind}": pl.DataFrame({"a": pl.Series(values).cast(kind)}) for kind in types}
    tables["polars Object"] = pl.DataFrame({"a": pl.Series(values, dtype=pl.Object)})
    if pl.Categorical in types:
        enum = pl.Enum(sorted({"unused", *values} - {None}))
        tables["polars Enum"] = pl.DataFrame({"a": pl.Series(values, dtype=enum)})
    return tables


def _of_arrow(values, types):
    tables = {"arrow": pa.table({"a": values})}
    tables["arrow chunks"] = pa.concat_tables([tables["arrow"][:9], tables["arrow"][9:]])
    array = pa.array(values)
    # Numbers in a dictionary are names.
    if not re.match("u?int|double|decimal", str(array.type)):
        tables["arrow dictionary"] = pa.table({"a": array.dictionary_encode()})
    for kind in types:
        coded = pa.types.is_dictionary(kind)
        array = pa.array(values, kind) if coded else pa.array(values).cast(kind)
        tables[f"arrow {kind}"] = pa.table({"a": array})
        if pd is not None:
            inside = pd.arrays.ArrowExtensionArray(array)
            tables[f"arrow {kind} in pandas"] = pd.DataFrame({"a": inside})
    return tables
