"""Time to read a file of LETOR lines, and to fit a model to it, beside other packages.

    python benchmarks/speed_files.py --threads 2
    python benchmarks/speed_files.py --rows 10000 --features 46

A table of random numbers with six decimals is written as lines, as CSV and as Parquet. Every reader
has a process of its own, which imports its packages before the clock starts; CPU seconds are those
of all threads, and the memory is the largest that the process had (on Linux). LightGBM reads lines
without qid and a file of group sizes, its own form of the same. Models have their defaults, boosted
ones of 100 trees.
"""

from __future__ import annotations

import gzip
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from _common import describe_environment, parser, print_table, say

QUERY = 100


def ours(file, **options):
    """Read lines."""
    from skcalrank import load_letor

    return load_letor(file, **options)


def ours_in_chunks(file):
    """Read chunks of whole queries, one after the other."""
    for chunk in ours(file, chunk_rows=20_000):
        del chunk


def ours_as_integers(file):
    """Read lines of whole numbers as integers."""
    ours(file, dtype=np.int32)


def of_gzip(file):
    """Decompress and nothing more, which takes what zlib takes."""
    with gzip.open(file) as packed:
        while packed.read(1 << 20):
            pass


def ours_without_arrow(file):
    """Read lines as where pyarrow is not installed."""
    sys.modules["pyarrow"] = None
    ours(file)


def ours_table(file):
    """Read a table."""
    from skcalrank.datasets import load_table

    load_table(file)


def of_scikit_learn(file):
    """Read lines with their qid."""
    from sklearn.datasets import load_svmlight_file

    load_svmlight_file(file, query_id=True, zero_based=False)[0].toarray()


def of_pandas(file):
    """Read the same numbers as CSV."""
    import pandas

    pandas.read_csv(file)


def of_xgboost(file):
    """Read lines."""
    from xgboost import DMatrix

    return DMatrix(f"{file}?format=libsvm")


def fit_ours(file):
    """Fit the closed form."""
    from skcalrank import NDCGRanker

    NDCGRanker().fit(*ours(file))


def fit_lightgbm(file):
    """Boost 100 trees on lines without qid."""
    import lightgbm

    params = {"objective": "lambdarank", "num_threads": threads(), "verbose": -1}
    lightgbm.train(params, lightgbm.Dataset(str(file)), 100)


def fit_xgboost(file):
    """Boost 100 trees."""
    import xgboost

    params = {"objective": "rank:ndcg", "nthread": threads()}
    xgboost.train(params, of_xgboost(file), 100)


def threads():
    """Threads of all libraries."""
    return int(os.environ["OMP_NUM_THREADS"])


#: What is done, to which file, with what imported before.
TASKS = {
    "load_letor, with pyarrow": (ours, "a.txt", "skcalrank pyarrow.csv sklearn.datasets"),
    "load_letor, as integers": (ours_as_integers, "c.txt", "skcalrank pyarrow.csv"),
    "load_letor, in chunks": (ours_in_chunks, "a.txt", "skcalrank pyarrow.csv sklearn.datasets"),
    "load_letor, of .gz": (ours, "a.txt.gz", "skcalrank pyarrow.csv sklearn.datasets"),
    "load_letor, of .gz in chunks": (ours_in_chunks, "a.txt.gz", "skcalrank pyarrow.csv"),
    "gzip, of .gz": (of_gzip, "a.txt.gz", ""),
    "load_letor, without pyarrow": (ours_without_arrow, "a.txt", "skcalrank sklearn.datasets"),
    "load_svmlight_file": (of_scikit_learn, "a.txt", "sklearn.datasets"),
    "XGBoost DMatrix": (of_xgboost, "a.txt", "xgboost"),
    "pandas, of CSV": (of_pandas, "a.csv", "pandas"),
    "load_table, of Parquet": (ours_table, "a.parquet", "skcalrank pandas pyarrow.parquet"),
    "NDCGRanker from lines": (fit_ours, "a.txt", "skcalrank pyarrow.csv sklearn.datasets"),
    "LightGBM from lines": (fit_lightgbm, "b.txt", "lightgbm"),
    "XGBoost from lines": (fit_xgboost, "a.txt", "xgboost"),
}


def measure(task, folder):
    """Do a task, and print wall and CPU seconds, and the largest memory in MB."""
    do, file, modules = TASKS[task]
    for module in modules.split():
        importlib.import_module(module)
    wall, cpu = time.perf_counter(), time.process_time()
    do(Path(folder, file))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print("found", wall, cpu, peak())


def peak():
    """Largest memory of this process in MB; another figure holds that of the parent, too."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if "VmHWM" in line), np.nan)


def write(folder, n_rows, n_features):
    """Write the same table in every form."""
    import pandas

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).round(6)
    y, qid = rng.integers(0, 5, n_rows), np.arange(n_rows) // QUERY
    names = ("a.txt", "b.txt", "c.txt")
    with ExitStack() as stack:
        ours, without, whole = (stack.enter_context(open(folder / name, "w")) for name in names)
        for label, query, row in zip(y, qid, X.tolist()):
            features = " ".join(f"{j}:{value:.6f}" for j, value in enumerate(row, 1))
            ours.write(f"{label} qid:{query} {features}\n")
            without.write(f"{label} {features}\n")
            counts = " ".join(f"{j}:{100 * value:.0f}" for j, value in enumerate(row, 1))
            whole.write(f"{label} qid:{query} {counts}\n")
    sizes = np.bincount(qid)
    (folder / "b.txt.query").write_text("\n".join(map(str, sizes)))
    with open(folder / "a.txt", "rb") as plain, gzip.open(folder / "a.txt.gz", "wb", 6) as packed:
        shutil.copyfileobj(plain, packed)
    frame = pandas.DataFrame(X, columns=[f"f{j + 1}" for j in range(n_features)])
    frame.insert(0, "qid", qid)
    frame.insert(0, "label", y)
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_parquet(folder / "a.parquet")


def in_process(task, folder, n_threads):
    """Wall seconds, CPU seconds and MB of a task in a process of its own."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(n_threads))}
    command = [sys.executable, __file__, "--task", task, "--folder", str(folder)]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("found"))
    return [float(word) for word in line.split()[1:]]


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--features", type=int, default=136)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--task", help="do one, in a folder of files")
    options.add_argument("--folder")
    args = options.parse_args()
    if args.task:
        measure(args.task, args.folder)
        return
    print(
        describe_environment(
            "numpy", "scikit-learn", "pyarrow", "pandas", "lightgbm", "xgboost-cpu"
        )
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, args.rows, args.features)
        size = (folder / "a.txt").stat().st_size / 1e6
        say(
            f"{args.rows:,} x {args.features} rows, {size:,.0f} MB of lines, {args.threads} threads"
        )
        rows = []
        for task in TASKS:
            rounds = [in_process(task, folder, args.threads) for _ in range(args.rounds)]
            wall, cpu, memory = np.min(rounds, axis=0)
            rows.append([task, f"{wall:.2f}", f"{cpu:.2f}", f"{memory:,.0f}"])
    print_table(["", "seconds", "CPU s", "MB"], rows)


if __name__ == "__main__":
    main()
