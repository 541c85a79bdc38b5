"""The values of a column as numbers, dates, durations and levels."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from ..columns import is_missing
from ..columns.tables import Coded, Values, listed
from ..columns.types import Array, Floats, Ints

#: Types of numbers.
NUMBERS = (Real, Decimal, np.bool_)

#: A day in microseconds, in which dates are counted.
DAY = 86_400_000_000

_HOUR = DAY // 24

#: A missing date.
NAT = np.iinfo(np.int64).min


def by_level(values: Values, read: Any) -> Array:
    """Return numbers of rows, from a function of a list that is called with each level once."""
    if isinstance(values, Coded) and len(values.codes) > len(values.levels):
        of_level = read([*values.listed(), None])
        return np.asarray(of_level[values.codes])  # the last is missing
    return np.asarray(read(values.values() if isinstance(values, Coded) else values))


def iter_present(values: Values) -> Iterator[Any]:
    """Return an iterator over the values that are not missing."""
    rows = values.values() if isinstance(values, Coded) else listed(values)
    return (value for value in rows if not is_missing(value))


def level_of(value: Any) -> Any:
    """Return the level of a value, as model files hold it: 1, 1.0 and True are one.

    So are a date, a period or an interval and its text, and a duration and its seconds.
    """
    value = value.item() if isinstance(value, np.generic) else value
    value = _seconds(value) if isinstance(value, timedelta) else value
    if isinstance(value, Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    if isinstance(value, datetime) and value.time() == time() and value.tzinfo is None:
        value = value.date()
    if type(value).__module__.startswith("pandas") and not isinstance(value, date):
        return str(value)
    return value.isoformat() if isinstance(value, (date, time)) else value


def numbers_of(values: Values, *, from_text: bool = False) -> Floats | None:
    """Return numbers, also those that text stands for if `from_text`; None if a value is none."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    return _read(values, _number_or_text if from_text else _number)


def _read(values: Values, number: Callable[[Any], Any], dtype: Any = np.float64) -> Array | None:
    if isinstance(values, np.ndarray):  # of another type, as a column that is all missing may be
        return np.full(len(values), number(None), dtype) if (values != values).all() else None

    def read(rows: list[Any]) -> Array:
        return np.array([number(value) for value in rows], dtype=dtype)

    try:
        return by_level(values, read)
    except (TypeError, ValueError, OverflowError):
        return None


def _number(value: Any) -> float:
    if type(value) is float or type(value) is int:
        return value
    if is_missing(value):
        return np.nan
    if isinstance(value, NUMBERS) and not isinstance(value, np.timedelta64):
        return float(value)
    raise TypeError(value)


def _number_or_text(value: Any) -> float:
    return float(value) if isinstance(value, str) else _number(value)


def seconds_of(values: Values) -> Floats | None:
    """Return durations and times of the day in seconds; None if a value is none."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "m":
        return _read(values, _seconds)
    second, whole = np.timedelta64(1, "s"), values.astype("m8[us]")
    return np.asarray(whole / second + (values - whole) / second)  # Python has no nanoseconds


def _seconds(value: Any) -> float:
    if is_missing(value):
        return np.nan
    exact = value.to_timedelta64() if getattr(value, "nanoseconds", 0) else value  # of pandas
    if isinstance(exact, np.timedelta64):
        return float(seconds_of(np.array([exact]))[0])  # type: ignore[index]
    if isinstance(value, time):
        value = datetime.combine(date.min, value) - datetime.combine(date.min, time())
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(value)


def moments_of(values: Values) -> Ints | None:
    """Return dates, times and ISO texts as microseconds since 1970; None if a value is none."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        return values.astype("M8[us]").view(np.int64)
    moments = _read(values, _moment, "M8[us]")
    return None if moments is None else moments.view(np.int64)


def _moment(value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(timezone.utc).replace(tzinfo=None)
    if isinstance(value, (date, np.datetime64)):
        return np.datetime64(value, "us")  # type: ignore[call-overload]
    raise TypeError(value)


def calendar(
    moments: Ints, parts: Iterable[str] = ("weekday", "dayofyear", "hour")
) -> dict[str, Array]:
    """Return parts of dates; weekdays count from Monday."""
    out: dict[str, Array] = {}
    for part in parts:
        if part == "weekday":
            out[part] = (moments // DAY + 3) % 7  # 1970 began on a Thursday
        elif part == "hour":
            out[part] = moments // _HOUR % 24
        else:
            days = moments.view("M8[us]").astype("M8[D]")
            out[part] = (days - days.astype("M8[Y]")).view(np.int64) + 1
    return out
