"""Sizes of model files of `TabularRanker`, beside what the libraries write for its trees alone.

    python benchmarks/size_models.py

The ranker has two boosters of at most 100 trees, stopped early, and its linear rankers. The own
files are LightGBM's text, XGBoost's UBJSON, and for scikit-learn a compressed file of joblib. The
time is that of `load_model`, beside the sum of the libraries' own readers.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import joblib
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from _common import describe_environment, in_turns, parser, print_table
from threadpoolctl import threadpool_limits

from skcalrank import BoostedRanker, TabularRanker
from skcalrank.persistence import load_model, save_model

GOAL = 1.5
SHAPES = ((7, 0), (18, 7), (136, 0))


def made(rng, n_numbers, n_categories, n_queries):
    """A frame of numbers and of text, labels that depend on some columns, and queries of 23."""
    n = 23 * n_queries
    numbers = {f"number{k}": rng.normal(size=n) for k in range(n_numbers)}
    codes = {f"text{k}": rng.integers(0, 30, n) for k in range(n_categories)}
    value = sum(list(numbers.values())[:4]) + sum((code % 5) / 2 for code in codes.values())
    value += numbers["number0"] * numbers["number1"]
    y = np.digitize(value + rng.normal(size=n), np.quantile(value, [0.5, 0.7, 0.9]))
    names = np.array([f"level {k}" for k in range(30)])
    frame = pd.DataFrame(numbers | {name: names[code] for name, code in codes.items()})
    return frame, y, np.repeat(np.arange(n_queries), 23)


def own_file(engine, booster, path):
    """Write a booster as its library does; return the file, and a call that reads it."""
    if engine == "sklearn":
        joblib.dump(booster, path, compress=("zlib", 6))
        return path, partial(joblib.load, path)
    path = path.with_suffix({"lightgbm": ".txt", "xgboost": ".ubj"}[engine])
    booster.save_model(path)
    if engine == "lightgbm":
        return path, partial(lightgbm.Booster, model_file=path)
    return path, partial(xgboost.Booster, model_file=path)


def measured(args):
    """Yield the rows of the table."""
    for shape in SHAPES:
        X, y, qid = made(np.random.default_rng(0), *shape, args.queries)
        for engine in ("lightgbm", "xgboost", "sklearn"):
            trees = BoostedRanker(engine=engine, n_estimators=100)
            ranker = TabularRanker(trees=trees, random_state=0, n_jobs=args.threads).fit(X, y, qid)
            n_trees = sum(one.best_iteration_ for one in ranker.boosted_.values())
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "model.skops")
                save_model(ranker, path)
                files = [
                    own_file(engine, one.booster_, Path(folder, name))
                    for name, one in ranker.boosted_.items()
                ]
                ours = path.stat().st_size
                theirs = sum(file.stat().st_size for file, _ in files)
                pair = partial(load_model, path), partial(_all, files)
                (times,) = in_turns({"load": pair}, args.rounds, 1)
            text = (
                f"{sum(shape)} columns, {shape[1]} of text" if shape[1] else f"{shape[0]} numbers"
            )
            yield [
                f"{text}, {engine}, {n_trees} trees",
                *(f"{size / 1e3:.0f}" for size in (ours, theirs)),
                f"{ours / theirs:.2f}",
                f"{GOAL:g}",
                *(f"{1e3 * np.median(one):.0f}" for one in times),
            ]


def _all(files):
    return [read() for _, read in files]


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--queries", type=int, default=300, help="queries of 23 documents")
    options.add_argument("--rounds", type=int, default=11, help="rounds of loading")
    args = options.parse_args()
    packages = ("numpy", "scikit-learn", "lightgbm", "xgboost-cpu", "skops", "pandas")
    print(describe_environment(*packages, threads=args.threads))
    with threadpool_limits(args.threads):
        rows = list(measured(args))
    header = ["model", "file, kB", "files of the trees, kB", "ratio", "goal"]
    print_table([*header, "load, ms", "load of the trees, ms"], rows)


if __name__ == "__main__":
    main()
