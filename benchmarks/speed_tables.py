"""CPU time in which `TableEncoder` reads tables: a query at a time, and a million rows at once.

    python benchmarks/speed_tables.py
    python benchmarks/speed_tables.py --rows 0

A query has 20 rows of 13 numbers, 5 categories and 2 dates, some of them missing, in a table of its
own. It is read as rankers read it, without the wrapper that `set_output` puts around `transform`,
beside `Ridge.predict` of the matrix: all calls take turns, and the table shows medians of the
rounds. A million rows of 15 numbers and 5 categories are read beside `pandas.factorize` of the
categories, in the same form or as text of pandas, and one copy of the numbers; the least of the
rounds counts.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings

import numpy as np
from _common import describe_environment, in_turns, optional, parser, print_table, say
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from skcalrank.preprocessing import TableEncoder, encoded

N_FIT, N_QUERIES = 5000, 40
QUERY, NUMBERS, MILLION = (
    {"n_numbers": 13, "n_levels": (5, 20, 50, 200, 1000), "n_dates": 2},
    {"n_numbers": 136},
    {"n_numbers": 15, "n_levels": (5, 20, 100, 1000, 20_000)},
)
# Most CPU microseconds of a query in a frame of pandas, and of a column of text more.
GOAL, GOAL_OF_TEXT = 300, 100
# Most times the CPU time of pandas.factorize and a copy: of transform, and of fit_transform.
GOALS_OF_MANY = 2, 3
WORDS = ["red", "blue", "small", "large", "wool", "cotton", "shirt", "coat", "hat", "old", "new"]


def made_columns(rng, n_rows, n_numbers, n_levels=(), n_dates=0, n_texts=0):
    """Columns by name, a twentieth of the values missing."""
    out = {f"number {j}": rng.normal(size=n_rows) for j in range(n_numbers)}
    for j, n in enumerate(n_levels):
        levels = np.array([f"level_{i}_of_{j}" for i in range(n)], dtype=object)
        out[f"category {j}"] = levels[rng.zipf(1.3, size=n_rows) % n]
    for j in range(n_dates):
        hours = rng.integers(450_000, 470_000, size=n_rows)
        out[f"date {j}"] = hours.astype("M8[h]").astype("M8[us]")
    for j in range(n_texts):
        out[f"text {j}"] = np.array(list(map(" ".join, rng.choice(WORDS, (n_rows, 6)))), object)
    for values in out.values():
        values[rng.random(n_rows) < 0.05] = None  # NaN or NaT where they are so called
    return out


def forms():
    """Functions that make a table of columns, by name."""
    pandas, polars, pyarrow = map(optional, ("pandas", "polars", "pyarrow"))
    out = {}
    if pandas:
        out |= {
            "pandas, str": pandas.DataFrame,
            "pandas, object": lambda columns: with_dtype(pandas.DataFrame(columns), object),
            "pandas, category": lambda columns: with_dtype(pandas.DataFrame(columns), "category"),
            "pandas, nullable": lambda columns: pandas.DataFrame(columns).convert_dtypes(),
        }
    if pandas and pyarrow:
        types = pandas.ArrowDtype
        out["pandas, arrow"] = lambda columns: pyarrow.table(columns).to_pandas(types_mapper=types)
    if polars:
        out["polars"] = polars.DataFrame
        out["polars, categorical"] = lambda columns: polars.DataFrame(columns).with_columns(
            polars.col(polars.String).cast(polars.Categorical)
        )
    if pyarrow:
        out["pyarrow"] = pyarrow.table
    out["list of dicts"] = lambda columns: [dict(zip(columns, row)) for row in zip(*lists(columns))]
    out["array of objects"] = lambda columns: np.array(lists(columns), dtype=object).T
    return out


def with_dtype(frame, dtype):
    """A frame whose text has some dtype."""
    return frame.astype({name: dtype for name in frame if frame[name].dtype.kind == "O"})


def lists(columns):
    """Columns as lists of Python's objects."""
    return [values.tolist() for values in columns.values()]


def rows_of(columns, start, stop):
    """Some rows of all columns."""
    return {name: values[start:stop] for name, values in columns.items()}


def fitted(X):
    """An encoder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TableEncoder().fit(X)


def reading(table_of, columns, n_rows):
    """Calls that read one query after the other, in both ways, and `Ridge.predict` of a matrix."""
    encoder = fitted(table_of(columns))
    starts = range(0, N_QUERIES * n_rows, n_rows)
    tables = [table_of(rows_of(columns, start, start + n_rows)) for start in starts]
    X = np.nan_to_num(encoder.transform(tables[0]))
    ridge, turns = Ridge().fit(X, np.arange(n_rows)), itertools.cycle(tables)
    return (
        lambda: encoded(next(turns), encoder),
        lambda: encoder.transform(next(turns)),
        lambda: ridge.predict(X),
    )


def of_queries(calls, args):
    """Print microseconds of the calls by form; a fourth call is one with a column of text more."""
    rows = []
    for name, times in zip(calls, 1e6 * in_turns(calls, args.rounds, args.number)):
        cells = [f"{np.median(one):.0f}" for one in times[:3]]
        goal = str(GOAL) if name.startswith("pandas") and len(times) > 3 else ""
        text = [f"{np.median(one - times[0]):.0f}" for one in times[3:]]
        rows.append([name, *cells, f"{np.median(times[0] / times[2]):.1f}", goal, *text])
    more = [f"a column of text, us more (goal {GOAL_OF_TEXT})"][: len(times) - 3]
    print_table(["us", "encoded", "transform", "Ridge.predict", "ratio", "goal", *more], rows)


def of_many(columns, made, rounds):
    """Print CPU milliseconds of all rows at once, beside `pandas.factorize` and a copy."""
    from pandas import factorize

    names = [name for name, values in columns.items() if values.dtype == object]
    copy = least(
        np.column_stack([columns[one] for one in columns if one not in names]).copy, rounds
    )
    rows, factorized = [], {}
    for name, table_of in made.items():
        X, encoder = table_of(columns), TableEncoder()
        if name.startswith("pandas"):
            factorized[name] = least(lambda X=X: [factorize(X[one]) for one in names], rounds)
        peer = "pandas, object" if "object" in name else "pandas, str"
        beside = copy + factorized.get(name, factorized[peer])
        fit = least(lambda X=X, encoder=encoder: encoder.fit_transform(X), rounds)
        read = least(lambda X=X, encoder=encoder: encoded(X, encoder), rounds)
        cells = [f"{1e3 * value:.0f}" for value in (read, fit, beside)]
        rows.append([name, *cells, f"{read / beside:.1f}", f"{fit / beside:.1f}"])
    columns = ["ms", "encoded", "fit_transform", "factorize and copy", "times", "times to fit"]
    print_table(columns, rows)


def least(call, rounds):
    """Least CPU seconds of a call."""
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return min(spent)


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=51, help="rounds of the queries")
    options.add_argument("--number", type=int, default=40, help="calls in a row")
    options.add_argument(
        "--rows", type=int, default=1_000_000, help="rows at once; 0 leaves them out"
    )
    args = options.parse_args()
    # Read when the libraries are imported.
    os.environ.update(dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS"), str(args.threads)))
    libraries = ("numpy", "scikit-learn", "pandas", "polars", "pyarrow")
    print(describe_environment(*libraries, threads=args.threads))
    rng, made = np.random.default_rng(0), forms()
    with threadpool_limits(args.threads):
        columns, text = made_columns(rng, N_FIT, **QUERY), made_columns(rng, N_FIT, 0, n_texts=1)
        say("\nA query of 20 rows of 13 numbers, 5 categories and 2 dates:")
        calls = {
            name: reading(table_of, columns, 20) + reading(table_of, columns | text, 20)[:1]
            for name, table_of in made.items()
        }
        of_queries(calls, args)
        columns = made_columns(rng, N_FIT, **NUMBERS)
        say("\n100 rows of 136 numbers:")
        arrays = {"array": lambda columns: np.column_stack(list(columns.values())), **made}
        kept = ["array", *(name for name in made if "object" not in name and "categ" not in name)]
        of_queries({name: reading(arrays[name], columns, 100) for name in kept}, args)
        if args.rows:
            most, of_fit = GOALS_OF_MANY
            goals = f"at most {most} times factorize and copy, to fit {of_fit} times"
            say(f"\n{args.rows:,} rows of 15 numbers and 5 categories; goals: {goals}:")
            at_once = {name: made[name] for name in made if "list" not in name}
            of_many(made_columns(rng, args.rows, **MILLION), at_once, 5)


if __name__ == "__main__":
    main()
