"""Rows per second of metrics, against ranx and pytrec_eval in the same run.

    python benchmarks/speed_metrics.py

A million documents in 8,000 queries, made here. The time of the peers is that of their
evaluation alone: building their dictionaries and objects, which takes longer, is left out and
stated. Ours
is the whole call, from arrays to the mean, on one thread; ranx takes the cores that there are. A
second table has ours on one thread and on all cores.
Times are medians over interleaved rounds, each call run once before it is timed, and the ratio is
the median of the ratios round by round.

Needs ``pip install ranx pytrec_eval-terrier``.
"""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
from _common import describe_environment, parser, print_table, print_threads, say
from threadpoolctl import threadpool_limits

from skcalrank import metrics
from skcalrank.measures import get_measure

N_QUERIES = 8_000
SIX_MEASURES = "six measures"
TIES_AT_10, TIES = "NDCG@10, exact over heavy ties", "NDCG, exact over heavy ties"
PEERS = ("ranx", "pytrec_eval")
SIX = {
    "ndcg@10": "ndcg_burges@10",
    "ndcg@5": "ndcg_burges@5",
    "map": "map",
    "mrr": "mrr",
    "precision@10": "precision@10",
    "recall@10": "recall@10",
}
PYTREC = {
    "map": "map",
    "mrr": "recip_rank",
    "precision@10": "P_10",
    "recall@10": "recall_10",
}
# Of whole orders: pairs, and ranks.
WHOLE = {
    "Kendall": metrics.kendall_score,
    "pairwise disagreement": metrics.pairwise_disagreement_loss,
    "Spearman": metrics.spearman_score,
}


def make_data(seed=0):
    """Queries of 5 to 900 documents, a million in all; grades 0 to 4; scores without ties."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(4.65, 0.6, N_QUERIES).astype(int), 5, 900)
    qid = np.repeat(np.arange(N_QUERIES), sizes)
    y = rng.choice(5, len(qid), p=[0.53, 0.32, 0.12, 0.02, 0.01])
    return y, rng.normal(size=len(qid)) + 0.3 * y, qid, sizes


def as_dictionaries(values, sizes, kind):
    """What the peers read: {query: {document: value}}."""
    parts = np.split(values.astype(kind), np.cumsum(sizes)[:-1])
    return {str(q): dict(zip(map(str, range(len(p))), p.tolist())) for q, p in enumerate(parts)}


def ours(names):
    """The measures by name; labels from 1 are relevant."""
    return [
        get_measure(name, **({"relevance_level": 1} if _is_binary(name) else {})) for name in names
    ]


def _is_binary(name):
    return name.split("@")[0] in ("map", "mrr", "precision", "recall")


def interleaved(calls, rounds):
    """Seconds of each call, in rounds that run all of them; each once before it is timed."""
    seconds = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def check_equal(y, s, qid, qrels, run, ranx_pair):
    """Largest difference to the peers over all queries, where the policies agree."""
    import pytrec_eval
    import ranx

    own = metrics.evaluate(y, s, ours(SIX), qid=qid, empty="zero", average=False)
    own = dict(zip(SIX, own.values()))
    # ranx gives one value per query, in the order of their names as strings.
    by_name = np.argsort([str(q) for q in range(N_QUERIES)])
    found = {}
    for name, peer in SIX.items():
        theirs = ranx.evaluate(*ranx_pair, peer, return_mean=False)
        found["ranx " + name] = np.abs(np.asarray(theirs) - own[name][by_name]).max()
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "P.10", "recall.10"})
    theirs = evaluator.evaluate(run)
    for name, peer in PYTREC.items():
        values = np.array([theirs[str(q)][peer] for q in range(len(own[name]))])
        found["pytrec_eval " + name] = np.abs(values - own[name]).max()
    linear = metrics.ndcg_score(y, s, qid=qid, k=10, gain="linear", empty="zero", average=False)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"})
    theirs = evaluator.evaluate(run)
    values = np.array([theirs[str(q)]["ndcg_cut_10"] for q in range(len(linear))])
    found["pytrec_eval ndcg@10, linear gain"] = np.abs(values - linear).max()
    return found


def main():
    """Run and print."""
    options = parser(__doc__, threads=False)
    options.add_argument("--rounds", type=int, default=15)
    args = options.parse_args()
    import pytrec_eval
    import ranx

    warnings.filterwarnings("ignore")
    y, s, qid, sizes = make_data()
    tied = np.round(s, 1)
    start = time.perf_counter()
    qrels, run = as_dictionaries(y, sizes, int), as_dictionaries(s, sizes, float)
    seconds_dicts = time.perf_counter() - start
    start = time.perf_counter()
    ranx_pair = ranx.Qrels(qrels), ranx.Run(run)
    seconds_ranx = time.perf_counter() - start
    trec_one = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"})
    trec_six = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg_cut.5,10", "map", "recip_rank", "P.10", "recall.10"}
    )
    six = ours(SIX)
    calls = {
        "ranx 1": lambda: ranx.evaluate(*ranx_pair, "ndcg_burges@10"),
        "pytrec_eval 1": lambda: trec_one.evaluate(run),
        "ranx 6": lambda: ranx.evaluate(*ranx_pair, list(SIX.values())),
        "pytrec_eval 6": lambda: trec_six.evaluate(run),
        "NDCG@10": lambda: metrics.ndcg_score(y, s, qid=qid, k=10),
        SIX_MEASURES: lambda: metrics.evaluate(y, s, six, qid=qid),
        TIES_AT_10: lambda: metrics.ndcg_score(y, tied, qid=qid, k=10),
        TIES: lambda: metrics.ndcg_score(y, tied, qid=qid),
    }
    for name, metric in WHOLE.items():
        calls[name] = partial(metric, y, s, qid=qid)
    with threadpool_limits(1, "blas"):
        seconds = interleaved(calls, args.rounds)
    one = np.minimum(seconds["ranx 1"], seconds["pytrec_eval 1"])
    many = np.minimum(seconds["ranx 6"], seconds["pytrec_eval 6"])
    print(describe_environment("numpy", "ranx", "pytrec_eval-terrier"))
    say(
        f"{len(y):,} documents, {N_QUERIES:,} queries; before they can evaluate, the peers need "
        f"{seconds_dicts:.1f} s for dictionaries, and ranx {seconds_ranx:.1f} s for its objects.\n"
    )
    rows = [_row(f"{n} NDCG@10", seconds[f"{n} 1"], len(y)) for n in PEERS]
    for name, peer, asked in (
        ("NDCG@10", one, 12),
        (TIES_AT_10, one, 8),
        (TIES, one, 8),
        (SIX_MEASURES, many, 5),
    ):
        if name == SIX_MEASURES:
            rows += [_row(f"{n} six measures", seconds[f"{n} 6"], len(y)) for n in PEERS]
        rows.append(_row(f"skcalrank {name}", seconds[name], len(y), peer, asked))
    rows += [_row(f"skcalrank {name}", seconds[name], len(y)) for name in WHOLE]
    print_table(["", "ms", "M rows/s", "times the faster peer", "goal"], rows)
    own = ("NDCG@10", SIX_MEASURES, TIES_AT_10, TIES, *WHOLE)
    print_threads({name: calls[name] for name in own}, args.rounds)
    say("\nLargest difference per query:")
    differences = check_equal(y, s, qid, qrels, run, ranx_pair)
    print_table(
        ["peer and measure", "difference"], [[k, f"{v:.1e}"] for k, v in differences.items()]
    )


def _row(name, seconds, n_rows, peer=None, asked=None):
    median = np.median(seconds)
    ratio = "" if peer is None else f"{np.median(peer / seconds):.1f}"
    wanted = "" if asked is None else f"{asked}"
    return [name, f"{1e3 * median:.1f}", f"{n_rows / median / 1e6:.1f}", ratio, wanted]


if __name__ == "__main__":
    main()
