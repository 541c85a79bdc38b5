"""Boosted rankers trained by the workers of a cluster, beside the same fit in memory.

    python benchmarks/dask_boosting.py
    python benchmarks/dask_boosting.py --engine xgboost --save dask_boosting_xgboost

Each draw has made queries of 20 documents with grades 0 to 4, which depend on products of features,
and 1,000 others to rank. A cluster of processes trains with early stopping on held-out queries: one
worker, whose trees must be those in memory, split by split; and two and three workers, each with
its own shard of the queries, drawn at random, or sorted by the mean grade of the queries, so that
one worker has hardly a relevant document. Differences are those of NDCG@10 from training in memory,
in the mean over the draws, with the standard error. Training fails if the workers stop at different
rounds.
"""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
from _common import describe_environment, parser, print_table, say
from distributed import Client, LocalCluster
from sklearn.base import clone

from skcalrank import BoostedRanker
from skcalrank.metrics import ndcg_score

LOSSES = {
    "ndcg@10, pairwise logistic": {"measure": "ndcg@10", "loss": "pairwise_logistic"},
    "ndcg@10, Bregman KL": {"measure": "ndcg@10", "loss": "bregman_kl"},
    "err, pairwise logistic": {"measure": "err", "loss": "pairwise_logistic"},
}
N_DOCUMENTS, N_FEATURES, RATE, GOAL = 20, 10, 0.2, 0.005


def made(n_queries, seed):
    """X, y, qid of queries whose grades depend on products of features."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), N_DOCUMENTS)
    X = rng.normal(size=(len(qid), N_FEATURES))
    worth = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * X[:, 4] * (X[:, 5] > 0)
    worth += rng.normal(size=n_queries)[qid] + rng.normal(size=len(qid))
    return X, np.digitize(worth, [0.5, 1.5, 2.5, 3.5]), qid


def shards(columns, n, layout, seed):
    """The columns of n workers."""
    _, y, qid = columns
    means = np.bincount(qid, y)
    order = np.random.default_rng(seed).permutation(len(means))
    if layout == "by grade":
        order = np.argsort(means, kind="stable")
    worker = np.empty(len(order), dtype=int)
    worker[order] = np.arange(len(order)) * n // len(order)
    return [[column[worker[qid] == number] for column in columns] for number in range(n)]


def placed(client, parts):
    """A collection with a partition on each of some workers."""
    blocks = []
    for address, part in zip(sorted(client.nthreads()), parts):
        future = client.scatter(part, workers=[address], hash=False)
        blocks.append(da.from_delayed(dask.delayed(future), part.shape, meta=part[:0]))
    return da.concatenate(blocks)


def trees_of(ranker):
    """The trees as text, and the number of their splits."""
    if ranker.engine_ == "lightgbm":
        text = ranker.booster_.model_to_string()
        leaves = [line for line in text.splitlines() if line.startswith("num_leaves=")]
        return text, sum(int(line.partition("=")[2]) - 1 for line in leaves)
    frame = ranker.booster_.trees_to_dataframe()
    return frame.to_csv(), int((frame["Feature"] != "Leaf").sum())


class Figures:
    """NDCG@10 and best rounds of fits in memory and by workers."""

    def __init__(self, client, ranker, args):
        self.client, self.args = client, args
        self.values, self.rounds, self.equal, self.splits = {}, {}, 0, 0
        for seed in range(args.draws):
            self._add(clone(ranker), seed)

    def _add(self, ranker, seed):
        train, test = made(self.args.queries, seed), made(1_000, 1_000 + seed)
        local = self._keep("memory", ranker.fit(*train), test)
        text, splits = trees_of(local)
        for n, layout in [(1, ""), *((n, how) for n in (2, 3) for how in ("random", "by grade"))]:
            parts = shards(train, n, layout, seed)
            lazy = [placed(self.client, column) for column in zip(*parts)]
            ours = self._keep((n, layout), clone(ranker).fit(*lazy), test)
            if n == 1:
                self.equal += trees_of(ours)[0] == text
                self.splits += splits

    def _keep(self, name, ranker, test):
        X, y, qid = test
        value = ndcg_score(y, ranker.predict(X), qid=qid, k=10)
        self.values.setdefault(name, []).append(value)
        self.rounds.setdefault(name, []).append(ranker.best_iteration_)
        return ranker

    def rows(self):
        """A row for each cut of the rows."""
        base = np.array(self.values["memory"])
        yield ["memory", f"{base.mean():.4f}", "", "", self._rounds("memory"), ""]
        for cut in list(self.values)[1:]:
            n, layout = cut
            apart = np.array(self.values[cut]) - base
            error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
            cells = [f"{np.mean(self.values[cut]):.4f}", f"{apart.mean():+.4f}", f"{error:.4f}"]
            missed = "<--" if abs(apart.mean()) > GOAL else ""
            told = f"{n} workers, {layout}" if n > 1 else "1 worker"
            yield [told, *cells, self._rounds(cut), missed]

    def _rounds(self, name):
        return " ".join(map(str, self.rounds[name]))


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--engine", choices=["lightgbm", "xgboost"], default="lightgbm")
    options.add_argument("--draws", type=int, default=5)
    options.add_argument("--queries", type=int, default=300, help="to train on (default 300)")
    args = options.parse_args()
    library = {"xgboost": "xgboost-cpu"}.get(args.engine, args.engine)
    packages = library, "dask", "distributed", "numpy"
    print(describe_environment(*packages, threads=args.threads))
    say(f"{args.engine}: {args.queries:,} queries of {N_DOCUMENTS} documents, {args.draws} draws")
    columns = ["rows in", "NDCG@10", "difference", "± s.e.", "best rounds", f"> {GOAL}"]
    cluster = LocalCluster(
        n_workers=3, threads_per_worker=args.threads, processes=True, dashboard_address=":0"
    )
    with cluster, Client(cluster) as client:
        for name, params in LOSSES.items():
            ranker = BoostedRanker(
                engine=args.engine, n_jobs=args.threads, learning_rate=RATE, **params
            )
            figures = Figures(client, ranker, args)
            say(
                f"\n{name}; one worker: {figures.equal} of {args.draws} fits have the trees of "
                f"memory, {figures.splits:,} splits in all\n"
            )
            print_table(columns, figures.rows())


if __name__ == "__main__":
    main()
