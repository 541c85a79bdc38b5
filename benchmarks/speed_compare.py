"""Speed of comparisons: resampling of all systems and measures at once, against loops over scipy.

    python benchmarks/speed_compare.py [--queries 10000]

Ten systems, six measures, 10,000 resamples. scipy bootstraps and permutes one column after the
other; its time is that of two columns, times their number. ranx compares runs of 100 documents, of
which it computes the values as well; ours is then the time of values and tests together.
"""

from __future__ import annotations

import time

import numpy as np
from _common import describe_environment, optional, parser, peak_bytes, print_table, say
from scipy import stats
from threadpoolctl import threadpool_limits

from skcalrank.evaluation import compare_values, evaluate_run

N_SYSTEMS, N_MEASURES, N_RESAMPLES = 10, 6, 10_000


def made_values(rng, n_queries):
    """Values by system and measure: queries differ more than systems do."""
    base = rng.beta(2, 3, size=(N_MEASURES, n_queries))
    return {
        f"s{i}": {
            f"m{j}": np.clip(base[j] + 0.1 * rng.normal(size=n_queries) + 0.001 * i, 0, 1)
            for j in range(N_MEASURES)
        }
        for i in range(N_SYSTEMS)
    }


def seconds(call):
    """CPU and wall time of a call."""
    start, cpu = time.perf_counter(), time.process_time()
    call()
    return time.process_time() - cpu, time.perf_counter() - start


def ours(values):
    """Rows of the table."""
    for name, options in {
        "Student intervals, t-tests": {},
        "bootstrap-t intervals, t-tests": {"interval": "bootstrap-t"},
        "permutation tests": {"test": "permutation"},
        "bootstrap-t intervals, permutation tests": {
            "interval": "bootstrap-t",
            "test": "permutation",
        },
        "the same, all pairs": {"interval": "bootstrap-t", "test": "permutation", "pairs": "all"},
    }.items():

        def call(options=options):
            compare_values(values, n_resamples=N_RESAMPLES, **options)

        cpu, wall = seconds(call)
        yield [f"compare_values: {name}", f"{cpu:.2f}", f"{wall:.2f}", f"{peak_bytes(call) >> 20}"]


def scipys(values):
    """Rows of the table, estimated from two columns."""
    a, b = values["s0"]["m0"], values["s1"]["m0"]
    options = {"n_resamples": N_RESAMPLES, "batch": 200}
    for name, call, n_columns in [
        (
            "bootstrap, BCa",
            lambda x: stats.bootstrap((x,), np.mean, method="BCa", random_state=0, **options),
            N_SYSTEMS * N_MEASURES + (N_SYSTEMS - 1) * N_MEASURES,
        ),
        (
            "permutation_test, samples",
            lambda x: stats.permutation_test(
                (x,), np.mean, permutation_type="samples", vectorized=True, **options
            ),
            (N_SYSTEMS - 1) * N_MEASURES,
        ),
    ]:
        cpu, wall = seconds(lambda call=call: [call(column) for column in (a, b - a)])
        shown = (f"{each / 2 * n_columns:.1f}" for each in (cpu, wall))
        yield [f"scipy.stats.{name}, {n_columns} columns", *shown, ""]


def runs_beside_ranx(rng, ranx, n_queries, n_documents=100):
    """Rows of a table: runs measured and compared."""
    names = [f"d{i}" for i in range(n_documents)]
    qrels = {
        str(q): dict(zip(names[::5], rng.integers(0, 2, 20).tolist())) for q in range(n_queries)
    }
    runs = {
        name: {q: dict(zip(names, rng.random(n_documents).tolist())) for q in qrels}
        for name in "abcde"
    }
    measures = ["ndcg@10", "map", "mrr"]

    def call():
        compare_values(
            {name: evaluate_run(qrels, run, measures, average=False) for name, run in runs.items()},
            pairs="all",
        )

    rows = [["evaluate_run and compare_values", *(f"{each:.2f}" for each in seconds(call))]]
    if ranx is not None:
        made = ranx.Qrels(qrels), [ranx.Run(run, name=name) for name, run in runs.items()]

        def theirs():
            ranx.compare(*made, measures, max_p=0.05, stat_test="student")

        theirs()  # compiles
        building = seconds(
            lambda: (ranx.Qrels(qrels), [ranx.Run(run, name=name) for name, run in runs.items()])
        )
        rows.append(["ranx: from dicts", *(f"{each:.2f}" for each in building)])
        rows.append(["ranx.compare, compiled", *(f"{each:.2f}" for each in seconds(theirs))])
    return rows


def main():
    """Run and print."""
    args = parser(__doc__)
    args.add_argument("--queries", type=int, default=10_000)
    args = args.parse_args()
    ranx = optional("ranx")
    rng = np.random.default_rng(0)
    with threadpool_limits(args.threads):
        print(describe_environment("numpy", "scipy", "ranx", threads=args.threads))
        values = made_values(rng, args.queries)
        say(f"\n{N_SYSTEMS} systems, {N_MEASURES} measures, {args.queries} queries:")
        rows = [*ours(values), *scipys(values)]
        print_table(["", "CPU s", "wall s", "peak MB"], rows)
        n_queries = args.queries // 10
        say(f"\nFive runs of 100 documents, {n_queries} queries, three measures, all pairs:")
        print_table(["", "CPU s", "wall s"], runs_beside_ranx(rng, ranx, n_queries))


if __name__ == "__main__":
    main()
