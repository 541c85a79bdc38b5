"""How time grows when queries, documents per query or features grow tenfold.

    python benchmarks/scaling.py

Every row times a call at a size and at ten times that size, all else equal, and prints the exponent
(log10 of the ratio of the times) beside the one that the algorithm leads to expect; ``<--`` marks
an exponent more than 0.25 above. "fixed" is the share of the smaller time that a problem of next to
no size takes already: where it is large, it hides part of the exponent. The exact maps are
exponential in the documents, so they are given by the factor of one more document. Times are
medians of the CPU time of repeated calls; data are made here.
"""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

import numpy as np
from _common import describe_environment, parser, print_table, say
from threadpoolctl import threadpool_limits

from skcalrank import AveragePrecisionRanker, NDCGRanker, metrics
from skcalrank.preds import (
    feedback_arc_positions,
    map_positions,
    sort_positions,
    topological_positions,
)

TINY = {"queries": 1, "documents": 2, "features": 1}
ALL_ONE = {"queries": (1, 1), "documents": (1, 1), "features": (1, 1)}
EXCESS, LARGEST_FIXED = 0.25, 0.2


class Scaled(NamedTuple):
    """A call to be timed: what makes it, its base sizes, and the exponents expected."""

    name: str
    make: object
    base: dict
    expected: dict


class Problem:
    """Queries of equal size with graded labels and scores; ``tied`` has scores of one decimal."""

    def __init__(self, queries, documents, features=2):
        rng = np.random.default_rng(0)
        n = queries * documents
        self.X = rng.normal(size=(n, features))
        self.y = np.round(np.clip(self.X[:, 0] + rng.normal(size=n), 0, 3))
        self.qid = np.repeat(np.arange(queries), documents)
        self.scores = rng.normal(size=n)
        self.tied = np.round(self.scores, 1)


def fit(ranker, **sizes):
    """The fit of a ranker."""
    data = Problem(**sizes)
    return lambda: ranker.fit(data.X, data.y, data.qid)


def predict(ranker, **sizes):
    """Predictions of a ranker, fitted to a few queries."""
    data = Problem(**sizes)
    few = 5 * sizes["documents"]
    ranker.fit(data.X[:few], data.y[:few], data.qid[:few])
    return lambda: ranker.predict(data.X, data.qid)


def metric(function, scores, options, **sizes):
    """A metric, averaged over the queries."""
    data = Problem(**sizes)
    return lambda: function(data.y, getattr(data, scores), qid=data.qid, **options)


def pred(function, options, queries, documents):
    """A prediction map on a stack of matrices without structure."""
    U = np.random.default_rng(0).normal(size=(queries, documents, documents))
    U = U[:, 0] if function is sort_positions else U
    return lambda: function(U, **options)


def rows_of_rankers():
    """Fits and predictions of a linear ranker, and of one with the bilinear surrogate."""
    base = {"queries": 1500, "documents": 30, "features": 20}
    expected = {"queries": (1, 1), "documents": (1, 1)}
    rows = [
        Scaled("fit, linear", partial(fit, NDCGRanker()), base, expected | {"features": (1, 2)}),
        Scaled("predict, linear", partial(predict, NDCGRanker()), base, ALL_ONE),
    ]
    # The matrices of all pairs of a query, and per iteration a product of (d, d) matrices.
    pairs = AveragePrecisionRanker(
        surrogate="pairwise", pred="diagonal", alpha=100.0, relevance_level=1
    )
    for name, make, axis, sizes, exponents in (
        ("fit, bilinear", fit, "queries", (300, 20, 12), (1, 1)),
        ("fit, bilinear", fit, "documents", (20, 150, 4), (1, 2)),
        ("fit, bilinear", fit, "features", (60, 30, 8), (2, 3)),
        ("predict, bilinear", predict, "queries", (300, 20, 12), (1, 1)),
        ("predict, bilinear", predict, "documents", (100, 30, 12), (1, 2)),
        ("predict, bilinear", predict, "features", (100, 30, 30), (1, 2)),
    ):
        rows.append(Scaled(name, partial(make, pairs), dict(zip(base, sizes)), {axis: exponents}))
    return rows


def rows_of_metrics():
    """Metrics; with documents they sort, which adds a logarithm to 1."""
    base = {"queries": 2000, "documents": 30}
    calls = {
        "ndcg@10": (metrics.ndcg_score, "scores", {"k": 10}),
        "ndcg, exact ties": (metrics.ndcg_score, "tied", {"ties": "average"}),
        "map": (metrics.average_precision_score, "scores", {"relevance_level": 1}),
        "kendall": (metrics.kendall_score, "scores", {}),
        "pairwise disagreement": (metrics.pairwise_disagreement_loss, "scores", {}),
    }
    expected = {"queries": (1, 1), "documents": (1, 1.1)}
    return [Scaled(n, partial(metric, *call), base, expected) for n, call in calls.items()]


def rows_of_preds():
    """Prediction maps, over queries of ten documents and over documents."""
    beam, search = {"method": "beam"}, {"method": "local_search"}
    maps = [
        ("sort", sort_positions, {}, (1000, 100), (1, 1.1)),
        ("map, diagonal", map_positions, {"method": "diagonal"}, (300, 20), (2, 2.1)),
        ("map, beam", map_positions, beam, (10, 20), (2, 2.1)),
        ("Algorithm 1", topological_positions, {}, (1, 150), (2, 2.3)),
        ("feedback arc, local search", feedback_arc_positions, search, (3, 30), (1, 2)),
    ]
    rows = []
    for name, function, options, (queries, documents), exponent in maps:
        make = partial(pred, function, options)
        few = {"queries": 100 if options in (beam, search) else 2000, "documents": 10}
        rows.append(Scaled(name, make, few, {"queries": (1, 1)}))
        sizes = {"queries": queries, "documents": documents}
        rows.append(Scaled(name, make, sizes, {"documents": exponent}))
    for name, function, queries in (
        ("map, exact", map_positions, 500),
        ("feedback arc, exact", feedback_arc_positions, 500),
    ):
        few = {"queries": queries, "documents": 8}
        rows.append(Scaled(name, partial(pred, function, {}), few, {"queries": (1, 1)}))
    return rows


def exponential_rows():
    """The factor of one more document, of the exact maps on matrices without structure."""
    cases = [
        ("map, exact", map_positions, 8, 12, 16, True),
        ("feedback arc, over subsets", feedback_arc_positions, 8, 10, 14, True),
        ("feedback arc, integer program", feedback_arc_positions, 4, 15, 20, False),
    ]
    rows = []
    for name, function, queries, small, large, by_subsets in cases:
        make = partial(pred, function, {}, queries)
        first, last = (seconds_of(make(r)) for r in (small, large))
        factor = (last / first) ** (1 / (large - small))
        # The r documents have 2^r sets, with r ways to reach each.
        expected = 2 * (large / small) ** (1 / (large - small)) if by_subsets else np.inf
        growth = f"{expected:.2f}" if by_subsets else "of the instance"
        mark = "<--" if factor > expected * 1.15 else ""
        times = [f"{1e3 * seconds:.1f}" for seconds in (first, last)]
        rows.append([name, f"{small} to {large}", *times, f"{factor:.2f}", growth, mark])
    return rows


def seconds_of(call, budget=0.3):
    """Median seconds of three to nine calls, fewer of a long one, after one that does not count."""
    seconds, begin = [], time.process_time()
    call()
    while len(seconds) < 9 and (len(seconds) < 3 or time.process_time() - begin < budget):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
        if sum(seconds) > 3 * budget:
            break
    return float(np.median(seconds))


def exponent_rows(scaled):
    """A row for each axis along which a call is scaled."""
    rows, first = [], seconds_of(scaled.make(**scaled.base))
    for axis, (low, high) in scaled.expected.items():
        size = scaled.base[axis]
        last = seconds_of(scaled.make(**scaled.base | {axis: 10 * size}))
        fixed = seconds_of(scaled.make(**scaled.base | {axis: TINY[axis]}), 0.1) / first
        exponent = np.log10(last / first)
        expected = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        mark = "<--" if exponent > high + EXCESS else ""
        mark += "fixed costs hide it" if fixed > LARGEST_FIXED and exponent < low - EXCESS else ""
        times = [f"{1e3 * seconds:.1f}" for seconds in (first, last)]
        others = ", ".join(f"{n:,} {name}" for name, n in scaled.base.items() if name != axis)
        span = f"{axis} {size:,} to {10 * size:,}"
        rows.append(
            [scaled.name, span, others, *times, f"{exponent:.2f}", expected, f"{fixed:.0%}", mark]
        )
    return rows


def main():
    """Run and print."""
    args = parser(__doc__).parse_args()
    print(describe_environment("numpy", "scipy", "scikit-learn", threads=args.threads), "\n")
    with threadpool_limits(args.threads):
        rows = [
            row
            for scaled in (*rows_of_rankers(), *rows_of_metrics(), *rows_of_preds())
            for row in exponent_rows(scaled)
        ]
        exact = exponential_rows()
    columns = ["", "grows", "beside", "CPU ms", "tenfold", "exponent", "expected", "fixed", ""]
    print_table(columns, rows)
    say("\nExponential: the factor of one more document.\n")
    print_table(["", "documents", "CPU ms", "last", "factor", "expected", ""], exact)


if __name__ == "__main__":
    main()
