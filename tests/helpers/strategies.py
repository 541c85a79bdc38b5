"""Small ranking problems in every container, for property-based tests.

Values are few and exact in single precision, so that ties abound and a result does not depend on
the container. An error counts as a refusal only if it is ours: it names the argument.
"""

import re
import tempfile
import warnings
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, UndefinedMetricWarning

from skcalrank.data import EqualLabelsWarning, NotAMeanWarning, NotGradesWarning, OneQueryWarning

pytest.importorskip("hypothesis")
from hypothesis import settings
from hypothesis import strategies as st

try:
    import pandas as pd
except ImportError:
    pd = None
try:
    import polars as pl
except ImportError:
    pl = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

FEATURES = (-1.0, 0.0, 0.5, 2.0)
NAMES_OF_ARGUMENTS = r"\b(X|y|y_true|y_score|qid|sample_weight|labels?|features?)\b"


def examples(share):
    """Settings with a share of the examples of the profile."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))


# -- problems --------------------------------------------------------------------------


@st.composite
def codes_of_queries(draw, max_queries=4, max_size=5):
    """Query of every row as a number, rows in mixed order."""
    sizes = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=max_queries))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return codes[draw(orders(len(codes)))]


def numbers(n):
    """A number from 0 to 255 for each of n; one draw for all of them is quick."""
    return st.binary(min_size=n, max_size=n).map(lambda drawn: np.frombuffer(drawn, np.uint8))


def orders(n):
    return numbers(n).map(lambda drawn: np.argsort(drawn, kind="stable"))


def vectors(n, values):
    return numbers(n).map(lambda drawn: np.array(values)[drawn % len(values)])


def matrices(n, d, values=FEATURES):
    return vectors(n * d, values).map(lambda flat: flat.reshape(n, d))


# -- names of queries ------------------------------------------------------------------

NAMES = {
    "numbers": lambda code: 3 - code,
    "beyond int64": lambda code: 2**63 + code,
    "beyond both": lambda code: (-1) ** code * (2**63 + code),
    "beyond double": lambda code: 2**53 + code,
    "floats": lambda code: code / 3,
    "fractions": lambda code: Fraction(code, 3),
    "text": lambda code: "ab"[code % 2] * (code + 1),
    "text with nul": lambda code: "a" + "\0" * code,
    "bytes": lambda code: b"a" + b"\0" * code,
    "tuples": lambda code: (code % 2, str(code)),
    "dates": lambda code: date(2024, 1, 1 + code),
    "moments": lambda code: np.datetime64("2024-01-01T00:00:00") + np.timedelta64(code, "s"),
    "scalars": lambda code: np.uint8(code),
    "mixed": lambda code: [code, str(code), (code,), code + 0.5, str(code).encode()][code % 5],
}

QID_CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": lambda names: array_of(names),
    "objects": lambda names: objects(names),
    "column": lambda names: objects(names)[:, None],
    "column of lists": lambda names: [[name] for name in names],
    "backwards": lambda names: objects(names[::-1])[::-1],
}
if pd:
    QID_CONTAINERS |= {
        "series": pd.Series,
        "series of objects": lambda names: pd.Series(objects(names), dtype=object),
        "categories": lambda names: pd.Series(objects(names), dtype="category"),
        "index": lambda names: pd.Index(objects(names), tupleize_cols=False),
    }
if pl:
    QID_CONTAINERS["polars"] = lambda names: pl.Series("qid", names, strict=True)


def objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def array_of(names):
    """An array of the names, of a type that does not change them."""
    made = np.array(names)
    same = made.ndim == 1 and made.tolist() == list(names)
    return made if same else objects(names)


#: Kinds of names: those of one kind draw alike in every container.
KINDS_OF_NAMES = st.sampled_from(sorted(NAMES))


@st.composite
def qids(draw, codes, kind=None):
    """Identifiers of queries in a container, or in a list if the library cannot store them."""
    name = NAMES[draw(KINDS_OF_NAMES) if kind is None else kind]
    names = [name(int(code)) for code in codes]
    container = QID_CONTAINERS[draw(st.sampled_from(sorted(QID_CONTAINERS)))]
    made = held(container, names, names)
    # Categories of pandas merge texts that differ after a nul.
    n_held = len(set(np.ravel(np.asarray(made, dtype=object)).tolist())) if names else 0
    return made if n_held == len(set(names)) else names


# -- containers of numbers -------------------------------------------------------------

DTYPES = ("f8", "f4", "f2", "g", ">f8", ">i4", "i1", "u1", "i8", "u8", "?", "O")


def strided(a):
    return np.repeat(a, 2, axis=0)[::2]


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def memmapped(a):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npy"
        np.save(path, a, allow_pickle=False)
        return np.load(path, mmap_mode="r")


CONTAINERS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "backwards": lambda a: a[::-1].copy()[::-1],
    "read-only": read_only,
    "memmap": lambda a: a if a.dtype == object else memmapped(a),
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(tuple(row) if a.ndim == 2 else row for row in a.tolist()),
    "list of scalars": list,
}


def nullable(a):
    """A pandas object with the nullable type of the numbers."""
    return as_pandas(a).convert_dtypes()


def as_pandas(a):
    a = a.astype(a.dtype.newbyteorder("="))
    if a.ndim == 1:
        # Rows correspond by position; names in two orders would be an error, unless they repeat.
        return pd.Series(a, index=np.arange(len(a))[::-1] // 2)
    return pd.DataFrame(a, columns=[f"f{j}" for j in range(a.shape[1])])


def as_polars(a):
    a = np.ascontiguousarray(a.astype(np.float64 if a.dtype.kind in "gO" else a.dtype))
    a = a.astype(a.dtype.newbyteorder("="))
    if a.ndim == 1:
        return pl.Series("y", a)
    return pl.DataFrame({f"f{j}": column.copy() for j, column in enumerate(a.T)})


if pd:
    CONTAINERS |= {
        "pandas": as_pandas,
        "nullable": nullable,
        "category": lambda a: as_pandas(a).astype("category"),
    }
if pd and pyarrow:
    CONTAINERS["arrow"] = lambda a: as_pandas(a.astype(float)).convert_dtypes(
        dtype_backend="pyarrow"
    )
if pl:
    CONTAINERS["polars"] = as_polars

SPARSE = {
    f"{name}_{kind}": getattr(sparse, f"{name}_{kind}")
    for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("matrix", "array")
}


def holds(dtype, values):
    with np.errstate(all="ignore"):
        return bool((values.astype(dtype) == values).all())


@st.composite
def contained(draw, values, containers=CONTAINERS):
    """The values in a type that holds them exactly, in a container."""
    dtype = draw(st.sampled_from([dtype for dtype in DTYPES if holds(dtype, values)]))
    made = values.astype(dtype)
    return held(containers[draw(st.sampled_from(sorted(containers)))], made, made)


def held(container, values, otherwise):
    """Values in a container, or as they are where the library has no such type."""
    try:
        made = container(values)
        snapshot(made)
    except BaseException as error:  # Polars panics where it has no type of numpy
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return otherwise
    # Categories of pandas end at a null character.
    is_category = str(getattr(made, "dtype", "")) == "category"
    return otherwise if is_category and list(made) != list(values) else made


# -- laws ------------------------------------------------------------------------------


class quiet(warnings.catch_warnings):
    """Turn warnings into errors, except those about small and degenerate problems."""

    def __enter__(self):
        out = super().__enter__()
        for category in (
            UndefinedMetricWarning,
            DataConversionWarning,
            ConvergenceWarning,
            EqualLabelsWarning,
            OneQueryWarning,
            NotAMeanWarning,
            NotGradesWarning,
        ):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", "y should have at least 10 queries")
        warnings.filterwarnings("ignore", "Query .* has (documents that|no single maximum)")
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        return out


def refused(call, names=NAMES_OF_ARGUMENTS):
    """The result of a call, or None after an error of this package; other errors propagate."""
    try:
        with quiet():
            return call()
    except (ValueError, TypeError) as error:
        if not re.search(names, str(error)):
            raise AssertionError(f"The error names no argument: {error}") from error
    return None


def snapshot(value):
    """All values of a container (a pickle would also contain caches of pandas)."""
    dense = value.toarray() if sparse.issparse(value) else value
    return repr(np.asarray(dense, dtype=object).tolist())


# -- what nothing takes ----------------------------------------------------------------


def put(values, row, value):
    """A copy with one entry replaced."""
    out = values.astype(type(value) if isinstance(value, (float, complex)) else object)
    out[row] = value
    return out


BAD = {
    "NaN": lambda a: put(a, 0, np.nan),
    "infinite": lambda a: put(a, -1, np.inf),
    "None": lambda a: put(a, 0, None),
    "a dict": lambda a: put(a, 0, {}),
    "a set": lambda a: put(a, -1, {1}),
    "a dict of values": lambda a: dict(enumerate(a.tolist())),
    "a generator": lambda a: iter(a.tolist()),
    "a set of values": lambda a: set(a.ravel().tolist()),
    "rows of all lengths": lambda a: [[1.0] * (i + 1) for i in range(len(a) + 1)],
    "a function": lambda _: len,
    "masked": lambda a: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) == 0),
}
BAD_SHAPES = {
    "one row short": lambda a: a[:-1],
    "one row more": lambda a: np.concatenate([a, a[:1]]),
    "three dimensions": lambda a: np.stack([a, a], axis=-1)[..., None],
    "no rows": lambda a: a[:0],
    "a number": lambda _: 3.5,
}
# No numbers, but names of queries.
BAD_NUMBERS = {
    "text": lambda a: put(a, 0, "a"),
    "texts": lambda a: np.full(a.shape, "b"),
    "bytes": lambda a: put(a, -1, b"c"),
    "complex": lambda a: put(a, 0, 1j),
    "dates": lambda a: np.full(a.shape, np.datetime64("2024-01-01")),
    "durations": lambda a: np.full(a.shape, np.timedelta64(1, "D")),
    "tuples": lambda a: put(a, 0, (1, 2)) if a.ndim == 1 else put(a, (0, 0), (1, 2)),
    "void": lambda a: np.zeros(a.shape, dtype=[("a", float)]),
    "negative infinite": lambda a: put(a, 0, -np.inf),
    "huge": lambda a: put(a, 0, 10**400),
}
if pd:
    BAD |= {
        "NA": lambda a: as_pandas(put(a.astype(float), 0, np.nan)).convert_dtypes(),
        "NaT": lambda a: put(a, 0, pd.NaT),
    }


@st.composite
def bad(draw, values, shapes=BAD_SHAPES):
    """The values with one thing wrong."""
    ways = BAD | shapes | ({} if values.dtype.kind == "i" else BAD_NUMBERS)
    return ways[draw(st.sampled_from(sorted(ways)))](values)
