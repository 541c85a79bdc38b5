"""Prediction maps of pairs: exact, fast, and how near the fast ones come.

    python benchmarks/prediction_maps.py --data DIR

The 49 input-output instances of LOLIB (``lolib/``) to proven optimality; Algorithm 1 against a
plain loop that deletes edges of a networkx graph; exact MAP; the beam search and its
gap to the exact map. Times are medians of the CPU time of repeated calls; the time of LOLIB is the
wall time of two processes.

A table of what cheap maps lose in rank aggregation (Kemeny's rule), on LOLIB, whose tables are
full of cycles, and on estimated preferences of 40 documents: what they lose of the weight that the
best order keeps, ``u_ij`` of all i before j, and of the net weight, without what every order keeps.
Least, median and largest of 49 instances.

Tables of proofs (``--proofs``): all input-output instances, and five of 75 sectors (``lolib/sgb``),
with highspy and without it, and the bound after a second; made instances of the kinds of LOLIB, on
which the map has ten seconds: random entries ("RandA1", uniform integers from 0 to 100), counts of
random orders ("RandA2"), entries drawn from an input-output instance ("mixed"), and triangles of
different sizes of Mitchell and Borchers ("MB"), with a fifth of zeros. The value is compared with
the best one: of the map after a minute, which says how far it is proven, and of local searches from
other starts, which have ``--long`` seconds. What these find is kept in ``--cells``.

A last table, which needs no data (``--batched``): ``predict`` of fitted rankers, which runs each
map on stacks of queries of one size, beside the map on the same matrices one by one.

Another one, by itself (``--map``): exact MAP and the beam search on estimates of 24 to 100
documents, five of each kind. Laws are 200 label vectors of random probabilities, each with
relevances of one rate between .1 and .6; noise is symmetric and normal. Values of laws with noise
have half the standard deviation of the law's.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import sys
import tarfile
import time
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import numpy as np
from _common import data_file, data_folder, describe_environment, optional, parser, print_table, say
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from skcalrank import AveragePrecisionRanker, PairwiseDisagreementRanker
from skcalrank.preds import (
    feedback_arc_positions,
    map_positions,
    sort_positions,
    topological_positions,
)
from skcalrank.preds._insertion import OrderSearch

NEEDED = ["lolib/io_original.tar", "lolib/io_original_optima.json"]

PAIRWISE_MAP = partial(AveragePrecisionRanker, surrogate="pairwise", relevance_level=1)
PAIRWISE_PD = partial(PairwiseDisagreementRanker, surrogate="pairwise", weights="unit")
RANKERS = {
    **{("map", pred): PAIRWISE_MAP for pred in ("diagonal", "exact", "beam")},
    **{("disagreement", pred): PAIRWISE_PD for pred in ("topological", "exact", "local_search")},
}

# Queries whose maps are timed one by one; and seconds on stacks from where no more are timed.
ONE_BY_ONE, SLOW = 100, 4

# Seconds of exact MAP for one query.
MAP_LIMIT = 10


def read_lolib(folder):
    """Matrix and certified optimum of every instance."""
    optima, archive = (_read(data_file(folder, name)) for name in NEEDED[::-1])
    optima = json.loads(optima)
    instances = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar.getmembers():
            if member.isfile():
                numbers = tar.extractfile(member).read().decode().split("\n", 1)[1].split()
                n = int(numbers[0])
                matrix = np.array(numbers[1 : 1 + n * n], dtype=float).reshape(n, n)
                name = Path(member.name).stem
                instances[name] = matrix, optima[name]["optimum"]
    return instances


def _read(path):
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def solve_lolib(matrix, optimum):
    """Seconds, and whether the order is proven and of the certified value."""
    start = time.perf_counter()
    with threadpool_limits(1):
        result = feedback_arc_positions(matrix, time_limit=None)
    np.fill_diagonal(matrix, 0)
    right = result.proven and abs(matrix.sum() - result.value - optimum) < 1e-6
    return time.perf_counter() - start, right


def lolib_row(folder):
    """All instances on two cores."""
    instances = read_lolib(folder)
    with Parallel(n_jobs=2) as parallel:
        parallel(delayed(int)(0) for _ in range(4))
        start = time.perf_counter()
        found = parallel(delayed(solve_lolib)(*pair) for pair in instances.values())
        total = time.perf_counter() - start
    right = sum(ok for _, ok in found)
    note = f"{right} of {len(found)} proven and equal, slowest {max(s for s, _ in found):.2f} s"
    return ["LOLIB, exact, all, wall time", f"{total:.2f} s", "10 s", note]


def sectors(folder):
    """The instances of 75 sectors by name."""
    for path in sorted((folder / "lolib" / "sgb").iterdir()):
        n, *numbers = path.read_text().split()
        matrix = np.array(numbers[: int(n) ** 2], dtype=float).reshape(int(n), int(n))
        np.fill_diagonal(matrix, 0)
        yield path.name, matrix


@contextmanager
def without(module):
    """Let a module seem not to be installed."""
    kept = sys.modules.get(module)
    sys.modules[module] = None
    try:
        yield
    finally:
        del sys.modules[module]
        if kept is not None:
            sys.modules[module] = kept


def proof_rows(folder):
    """Instances that are proven, and bounds of those after a second without highspy."""
    optional("highspy")
    instances = read_lolib(folder)
    for name, solver in (("with highspy", nullcontext()), ("without", without("highspy"))):
        with solver:
            start = time.process_time()
            right = sum(solve_lolib(matrix.copy(), best)[1] for matrix, best in instances.values())
            seconds = time.process_time() - start
        note = f"{right} of {len(instances)} proven and equal"
        yield [f"LOLIB, input-output, all, {name}", f"{seconds:.2f} s", "5 s", note]
    for name, U in sectors(folder):
        start = time.process_time()
        result = feedback_arc_positions(U, time_limit=100)
        seconds = time.process_time() - start
        with without("highspy"):
            bound = feedback_arc_positions(U, time_limit=1).bound
        note = "proven" if result.proven else f"gap {100 * result.gap / result.value:.2f} %"
        note += f"; bound without highspy after 1 s {100 * (1 - bound / result.value):.1f} % below"
        yield [name, f"{seconds:.2f} s", "5 s", note]


def mitchell_borchers(r, rng):
    """Larger entries above the diagonal than below, a fifth of them zero, in a random order."""
    U = np.triu(rng.integers(0, 100, (r, r)), 1) + np.tril(rng.integers(0, 40, (r, r)), -1)
    return shuffled(U * (rng.random((r, r)) > 0.2), rng)


def shuffled(U, rng):
    """The same documents in a random order."""
    order = rng.permutation(len(U))
    return U[np.ix_(order, order)] + 0.0


def counts_of_orders(r, rng):
    """How many of r / 2 random orders place i before j."""
    places = np.argsort(rng.random((r // 2, r)), axis=1)
    return (places[:, :, None] < places[:, None]).sum(axis=0) + 0.0


def hard_instances(folder, rng):
    """Instances by their names."""
    for r in (50, 100, 200, 450):
        yield f"RandA1, r={r}", rng.integers(0, 101, (r, r)) * (1.0 - np.eye(r))
    for r in (50, 100, 200):
        yield f"RandA2, r={r}", counts_of_orders(r, rng)
    for r in (100, 250, 450):
        yield f"MB, r={r}", mitchell_borchers(r, rng)
    entries = read_lolib(folder)["stabu2"][0]
    entries = entries[~np.eye(len(entries), dtype=bool)]
    for r in (150, 250):
        yield f"mixed, r={r}", rng.choice(entries, (r, r)) * (1.0 - np.eye(r))


def long_search(name, U, long, cells):
    """Best value of the local searches of some time, kept in a file for the next run."""
    key = [hashlib.sha256(U.tobytes()).hexdigest()[:12], long]
    path = Path(cells, f"prediction_maps-{name.replace(', r=', '-')}.json")
    if path.exists() and (cell := json.loads(path.read_text()))["key"] == key:
        return cell["value"]
    value, seed, end = np.inf, 0, time.monotonic() + long
    with threadpool_limits(1):
        while (left := end - time.monotonic()) > 0:
            search = OrderSearch(U - U.T, np.random.default_rng(seed))
            search.run(time.monotonic() + left, 10 * len(U))
            value, seed = min(value, search.loss + either_way(U)), seed + 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"key": key, "value": value, "searches": seed}) + "\n")
    return value


def hard_row(name, U, long, cells):
    """What ten seconds of the exact map reach, and what it proves in a minute."""
    with threadpool_limits(1):
        short, minute = (feedback_arc_positions(U, time_limit=limit) for limit in (10, 60))
    searched = minute.value if minute.proven else long_search(name, U, long, cells)
    kept, later, searched = (U.sum() - x for x in (short.value, minute.value, searched))
    best = max(kept, later, searched)
    note = "proven" if minute.proven else f"{100 * ((U.sum() - minute.bound) / later - 1):.2f} %"
    return [name, f"{kept:.0f}", f"{100 * (1 - kept / best):.3f} %", note]


def sorted_by_net(U):
    """Borda: documents by what they win less what they lose."""
    return sort_positions((U - U.T).sum(axis=1))


CHEAP = {
    "sort by net preference": sorted_by_net,
    "Algorithm 1": topological_positions,
    "local search": lambda U: feedback_arc_positions(U, method="local_search").positions,
}


def kept_weight(U, positions):
    """Weight of the pairs whose preferred document comes first."""
    return U[positions[:, None] < positions].sum()


def either_way(U):
    """Weight that every order keeps: of each pair the smaller one."""
    return np.triu(np.minimum(U, U.T), 1).sum()


def price_rows(folder, rng):
    """What each cheap map loses, in percent of what the best order keeps."""
    cases = {"LOLIB": list(read_lolib(folder).values())}
    for kind in ("Bradley-Terry", "nearly acyclic"):
        drawn = [preferences(kind, 40, rng) for _ in range(49)]
        best = [kept_weight(U, feedback_arc_positions(U).positions) for U in drawn]
        cases[f"{kind}, r=40"] = list(zip(drawn, best))
    for case, instances in cases.items():
        for U, _ in instances:
            np.fill_diagonal(U, 0)
        for name, solve in CHEAP.items():
            kept, seconds = zip(
                *(timed(lambda U=U, s=solve: kept_weight(U, s(U))) for U, _ in instances)
            )
            lost = [
                (best - value, best, best - either_way(U))
                for value, (U, best) in zip(kept, instances)
            ]
            shares = [[100 * a / b for a, b, _ in lost], [100 * a / c for a, _, c in lost]]
            cells = [
                " / ".join(f"{x:.1f}" for x in np.percentile(of, [0, 50, 100])) for of in shares
            ]
            yield [case, name, *cells, f"{1e3 * np.median(seconds):.1f} ms"]


def delete_edges(networkx, U):
    """Algorithm 1 as a plain loop: delete the lightest edge until there is no cycle."""
    net = np.maximum(U - U.T, 0.0)
    edges = sorted((net[i, j], i, j) for i, j in zip(*np.nonzero(net)))
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(U)))
    graph.add_edges_from((i, j) for _, i, j in edges)
    for _, i, j in edges:
        if networkx.is_directed_acyclic_graph(graph):
            break
        graph.remove_edge(i, j)
    return list(networkx.topological_sort(graph))


def preferences(kind, r, rng):
    """Estimated preferences: noise alone, counts of a Bradley-Terry model, or nearly acyclic."""
    if kind == "random":
        return rng.random((r, r))
    scores = np.sort(rng.normal(size=r))[::-1]
    p = 1 / (1 + np.exp(-(scores[:, None] - scores)))
    return (
        rng.binomial(10, p) / 10 if kind == "Bradley-Terry" else p + 0.02 * rng.normal(size=(r, r))
    )


def median_seconds(call, rounds):
    """Median CPU time of a call."""
    call()
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def algorithm_1_rows(rng):
    """Algorithm 1 at two sizes, and the plain loop at the smaller one."""
    networkx = optional("networkx")
    rows = []
    for r, asked in ((100, "2 ms"), (1000, "60 ms")):
        for kind in ("random", "Bradley-Terry", "nearly acyclic"):
            U = preferences(kind, r, rng)
            seconds = median_seconds(lambda U=U: topological_positions(U), 15 if r < 500 else 7)
            note = ""
            if networkx and r == 100 and kind != "random":
                plain = median_seconds(lambda U=U: delete_edges(networkx, U), 1)
                note = f"plain loop {1e3 * plain:.0f} ms, {plain / seconds:.0f} times"
            rows.append([f"Algorithm 1, r={r}, {kind}", f"{1e3 * seconds:.2f} ms", asked, note])
    return rows


def map_rows(rng):
    """Exact MAP, the beam, and the gap between them."""
    U18, U100 = rng.normal(size=(18, 18)), rng.normal(size=(100, 100))
    exact = median_seconds(lambda: map_positions(U18), 5)
    beam = median_seconds(lambda: map_positions(U100, method="beam"), 9)
    gaps = []
    for _ in range(200):
        U = rng.normal(size=(12, 12))
        best, found = map_positions(U).value, map_positions(U, method="beam").value
        gaps.append((best - found) / abs(best))
    note = f"gap to exact at r=12, 200 instances: largest {max(gaps):.1e}"
    return [
        ["MAP exact, r=18", f"{exact:.3f} s", "0.3 s", ""],
        ["MAP beam, r=100", f"{1e3 * beam:.1f} ms", "25 ms", note],
    ]


def symmetric_noise(r, rng):
    """Normal values with variance one."""
    drawn = np.tril(rng.normal(size=(r, r)))
    return drawn + np.tril(drawn, -1).T


def law_targets(r, rng):
    """Means of the targets of MAP under a law of 200 label vectors."""
    y = (rng.random((200, r)) < rng.uniform(0.1, 0.6, (200, 1))) + 0.0
    p, relevant = rng.dirichlet(np.ones(200)), np.maximum(y.sum(axis=1), 1)
    return np.einsum("n,ni,nj->ij", p / relevant, y, y)


def noisy_targets(r, rng):
    """Targets of a law with noise."""
    targets = law_targets(r, rng)
    return targets + 0.5 * targets.std() * symmetric_noise(r, rng)


ESTIMATES = {"law": law_targets, "law with noise": noisy_targets, "noise": symmetric_noise}


def exact_map_rows(rng):
    """Exact MAP within the time limit, and the beam beside it."""
    for kind, draw in ESTIMATES.items():
        for r in (24, 30, 40, 100):
            drawn = [draw(r, rng) for _ in range(5)]
            exact, seconds = zip(*(timed(lambda U=U: exact_map(U)) for U in drawn))
            beam, shorter = zip(
                *(timed(lambda U=U: map_positions(U, method="beam")) for U in drawn)
            )
            lost = [100 * (e.value - b.value) / e.value for e, b in zip(exact, beam)]
            yield [
                f"{kind}, r={r}",
                f"{sum(result.proven for result in exact)} of {len(exact)}",
                f"{np.median(seconds):.2f} / {max(seconds):.2f} s",
                over_value(exact),
                f"{1e3 * np.median(shorter):.0f} ms",
                over_value(beam),
                f"{max(lost):.2f}",
            ]


def exact_map(U):
    """Exact MAP of one query."""
    return map_positions(U, time_limit=MAP_LIMIT)


def over_value(results):
    """How far bounds are above values, in percent, in the median and at most."""
    gaps = [100 * result.gap / result.value for result in results]
    return f"{np.median(gaps):.2f} / {max(gaps):.2f}"


def label_data(n, r, rng):
    """Rows of features and relevances of r items, mostly noise: cycles occur."""
    X = rng.normal(size=(n, 20))
    return X, np.round(np.clip(X @ rng.normal(size=(20, r)) / 10 + rng.normal(size=(n, r)), 0, 3))


def document_data(n, r, rng):
    """Queries of r documents one after the other; relevances follow the features, with noise."""
    X = rng.normal(size=(n * r, 20))
    y = np.round(np.clip(X[:, 0] * X[:, 1] + rng.normal(size=n * r), 0, 3))
    return X, y, np.repeat(np.arange(n), r)


def batched_rows(rng):
    """Seconds of ``predict``, of the maps in it, and of the maps one by one, for all queries."""
    rows = []
    for n, r in ((10_000, 5), (10_000, 8), (10_000, 10), (2_000, 20)):
        X, y, *qid = (document_data if r == 20 else label_data)(n, r, rng)
        form = f"{n:,} queries of {r}" if qid else f"{n:,} rows, r={r}"
        fitted = {make: make().fit(X, y, *qid) for make in RANKERS.values()}
        for (name, pred), make in RANKERS.items():
            if name == "map" and pred == "exact" and r > 16:
                continue
            ranker = fitted[make].set_params(pred=pred)
            rows.append([f"{form}, {name} {pred}", *batched_cells(ranker, X, qid, n)])
    return rows


def batched_cells(ranker, X, qid, n):
    """Of one ranker; a map that is slow on stacks as well is timed on fewer queries."""
    rows = ONE_BY_ONE * (len(X) // n)
    few, qid_few = X[:rows], [q[:rows] for q in qid]
    solve = ranker._pred(ranker.record_.plan).solve
    stack = np.array(ranker.surrogate_values(few, *qid_few))
    alone, loop = timed(lambda: [solve(matrix) for matrix in stack])
    found, together = timed(lambda: solve(stack))
    same = np.array_equal([result.positions for result in alone], found.positions)
    note = "" if same else "DIFFERENT POSITIONS"
    if together * n / ONE_BY_ONE > SLOW:
        X, qid, note = few, qid_few, f"{note} on {ONE_BY_ONE} queries".strip()
    else:
        stack, loop = np.array(ranker.surrogate_values(X, *qid)), loop * n / ONE_BY_ONE
    together = timed(lambda: solve(stack))[1]
    predict = timed(lambda: ranker.predict(X, *qid))[1]
    cells = [f"{1e3 * seconds:.0f} ms" for seconds in (predict, together, loop)]
    return [*cells, f"{together / loop:.4f}", note]


def timed(call):
    """Result of a call, and CPU seconds: the median of three calls that are short."""
    start = time.process_time()
    result = call()
    seconds = time.process_time() - start
    return result, seconds if seconds > 0.3 else median_seconds(call, 3)


def main():
    """Run and print."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--batched", action="store_true", help="only the table without data")
    arguments.add_argument("--map", action="store_true", help="only the table of exact MAP")
    arguments.add_argument("--proofs", action="store_true", help="only the tables of proofs")
    arguments.add_argument("--long", type=float, default=600, help="seconds of long searches")
    arguments.add_argument("--cells", metavar="DIR", help="folder of finished long searches")
    args = arguments.parse_args()
    if args.proofs and not args.cells:
        arguments.error("--proofs needs --cells")
    if args.map:
        print(describe_environment("numpy", "scipy", threads=args.threads), "\n")
        with threadpool_limits(args.threads):
            rows = list(exact_map_rows(np.random.default_rng(0)))
        say(f"Exact MAP, stopped after {MAP_LIMIT} s, and the beam search: median / largest of 5\n")
        columns = ["proven", "CPU time", "% bound above value", "beam", "% bound above value"]
        print_table(["", *columns, "% beam below exact"], rows)
        return
    folder = None if args.batched else data_folder(args.data, NEEDED)
    print(describe_environment("numpy", "scipy", "highspy", "networkx", threads=args.threads), "\n")
    rng = np.random.default_rng(0)
    if args.proofs:
        with threadpool_limits(args.threads):
            rows = list(proof_rows(folder))
        say("Instances of LOLIB, proven\n")
        print_table(["", "CPU time", "goal", ""], rows)
        say(f"\nTen seconds of the exact map against {args.long:.0f} of local searches\n")
        instances = list(hard_instances(folder, rng))
        rows = Parallel(n_jobs=2)(
            delayed(hard_row)(*pair, args.long, args.cells) for pair in instances
        )
        print_table(["", "kept weight", "below the best found", "gap of the bound, 60 s"], rows)
        return
    if not args.batched:
        rows = [lolib_row(folder)]
        with threadpool_limits(args.threads):
            rows += algorithm_1_rows(rng) + map_rows(rng)
        say("Exact and fast maps of r documents\n")
        print_table(["", "time", "goal", ""], rows)
        with threadpool_limits(args.threads):
            rows = list(price_rows(folder, rng))
        say("\nLoss of a map against the best order: least / median / largest of 49 instances\n")
        print_table(["", "map", "% of kept weight", "% of net weight", "median time"], rows)
    with threadpool_limits(args.threads):
        rows = batched_rows(rng)
    say(f"\nMany queries at once; maps one by one are timed on {ONE_BY_ONE} queries, and scaled\n")
    print_table(["", "predict", "map, stacks", "map, one by one", "ratio", ""], rows)


if __name__ == "__main__":
    main()
