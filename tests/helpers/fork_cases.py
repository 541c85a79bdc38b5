"""Run as a program: rankers with trees in forked processes, with as many threads as they take.

Prints a line for each use that did not end as in the parent, and last the number of uses.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from skcalrank import (
    BoostedRanker,
    ExternalRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    StackingRanker,
    TabularRanker,
)
from skcalrank.export import to_json
from skcalrank.persistence import load_model, save_model

SECONDS = 30  # for what takes less than one


def external(engine, **params):
    """An estimator of the library of an engine."""
    if engine == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(n_estimators=5, verbose=-1, **params)
    if engine == "xgboost":
        from xgboost import XGBRegressor

        return XGBRegressor(n_estimators=5, **params)
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=5)


def rankers(engine):
    """Rankers with trees of an engine, by name."""
    trees = BoostedRanker(engine=engine, n_estimators=5)
    two = BoostedRanker(engine=engine, n_estimators=5, n_jobs=2)
    stack = [("trees", trees), ("linear", NDCGRanker())]
    return {
        "boosted": trees,
        "boosted of two threads": two,
        "tabular": TabularRanker(trees=trees),
        "stacking": StackingRanker(stack),
        "external": ExternalRanker(external(engine)),
        "external of two threads": ExternalRanker(external(engine, n_jobs=2)),
        "regressor": NDCGRanker(external(engine)),
        "pairs": PairwiseDisagreementRanker(external(engine)),
    }


def in_fork(work):
    """The result of a call in a forked process: "ok", an error, or that it did not end."""
    read, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = work() or "ok"
        except BaseException as error:
            result = repr(error)[:300]
        os.write(into, result.encode())
        os._exit(0)
    os.close(into)
    end = time.monotonic() + SECONDS
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return "did not end"
        time.sleep(0.005)
    with open(read, "rb") as file:
        return file.read().decode()


def uses(name, ranker, file, X, y, qid):
    """Uses of a ranker in forked processes."""
    expected = ranker.predict(X, qid)

    def predict(model):
        if not np.allclose(model.predict(X, qid), expected, rtol=1e-6, atol=1e-9):
            return "other scores"
        return None if len(model.predict(X[:8], qid[:8])) == 8 else "too few"

    def fit():
        type(ranker)(**ranker.get_params(deep=False)).fit(X, y, qid)

    def nested():
        again = in_fork(lambda: predict(ranker))
        return predict(ranker) or (None if again == "ok" else again)

    yield "predict, fork, predict", lambda: predict(ranker)
    yield "load in the child", lambda: predict(load_model(file))
    yield "fit in the child", fit
    yield "save in the child", lambda: save_model(ranker, file)
    yield "fork of a fork", nested
    if hasattr(ranker, "contributions"):
        parts = {} if "boosted" in name else {"qid": qid}
        yield "contributions", lambda: None if len(ranker.contributions(X, **parts)) else "none"
        columns = [*"abcde"]
        yield "export", lambda: None if to_json(ranker, feature_names=columns) else "none"
    if hasattr(ranker, "staged_predict"):
        yield "staged", lambda: None if len(list(ranker.staged_predict(X, qid))) else "none"


def checked(name, ranker, file, X, y, qid):
    """What did not end as in the parent, and the number of uses."""
    save_model(ranker.fit(X, y, qid), file)
    loaded = load_model(file)  # used in the child before it is in the parent
    first = in_fork(lambda: None if len(loaded.predict(X, qid)) == len(X) else "too few")
    results = {"load, fork, predict": first}
    results |= {use: in_fork(work) for use, work in uses(name, ranker, file, X, y, qid)}
    return {use: end for use, end in results.items() if end != "ok"}, len(results)


def main(engines, folder, *names):
    """Run the uses of rankers of these names, or of all."""
    warnings.simplefilter("ignore")  # of forks in a process with threads
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y, qid = rng.integers(0, 3, len(X)), np.arange(len(X)) // 10
    n_uses = 0
    for engine in engines.split(","):
        for name, ranker in rankers(engine).items():
            if names and name not in names:
                continue
            wrong, n = checked(name, ranker, Path(folder, "model.skops"), X, y, qid)
            n_uses += n
            for use, end in wrong.items():
                print(f"{engine}, {name}: {use}: {end}", flush=True)
    print(f"{n_uses} uses")


if __name__ == "__main__":
    main(*sys.argv[1:])
