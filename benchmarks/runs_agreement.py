"""Agreement of measures of runs with trec_eval, ranx, ir_measures and scikit-learn.

    python benchmarks/runs_agreement.py [--runs 1000]

Random runs and judgments with ties, graded and negative relevances, documents that are not judged
and documents that are not retrieved. Differences above rounding have a reason (doc/trec_runs.rst).
Scores with ties are followed by scores without, which shows what differs because of ties.
"""

from __future__ import annotations

import warnings

import numpy as np
from _common import describe_environment, optional, parser, print_table

from skcalrank.evaluation import evaluate_run
from skcalrank.measures import get_measure
from skcalrank.metrics import measure_score

TREC = {
    **{"map": "map", "map@10": "map_cut_10", "mrr": "recip_rank", "bpref": "bpref"},
    **{"ndcg": "ndcg", "ndcg@10": "ndcg_cut_10", "precision@5": "P_5", "recall@20": "recall_20"},
}
RANX = {
    **{"map": "map", "map@10": "map@10", "mrr": "mrr", "bpref": "bpref"},
    **{
        "ndcg": "ndcg",
        "ndcg@10": "ndcg@10",
        "precision@5": "precision@5",
        "recall@20": "recall@20",
    },
}
IR_MEASURES = {
    **{"map": "AP", "map@10": "AP@10", "mrr": "RR", "bpref": "Bpref", "judged@10": "Judged@10"},
    **{"ndcg": "nDCG", "ndcg@10": "nDCG@10", "precision@5": "P@5", "recall@20": "R@20"},
}


def made(rng, n_queries, n_documents=60, *, ties, lowest):
    """A run and judgments that overlap."""
    names = np.array([f"d{i}" for i in range(n_documents)])
    run, qrels = {}, {}
    for query in map(str, range(n_queries)):
        judged, found = (
            rng.choice(names, rng.integers(2, n_documents), replace=False).tolist() for _ in "ab"
        )
        qrels[query] = {d: int(rng.integers(lowest, 4)) for d in judged}
        scores = rng.integers(0, 12, len(found)) / 4 if ties else rng.permutation(len(found)) * 1.0
        run[query] = dict(zip(found, scores.tolist()))
    return run, qrels


def beside(names, theirs, run, qrels, **options):
    """Rows: a measure, the largest difference, and how many queries differ."""
    ours = evaluate_run(qrels=qrels, run=run, measures=list(names), average=False, **options)
    for name in names:
        queries = [query for query in ours[name] if query in theirs[name]]
        difference = np.array([abs(ours[name][q] - theirs[name][q]) for q in queries])
        # ranx has no value of bpref without a document that is judged and not relevant.
        found = difference[~np.isnan(difference)]
        yield name, found.max(), int((found > 1e-12).sum()), len(found)


def of_trec_eval(module, run, qrels):
    found = module.RelevanceEvaluator(qrels, set(TREC.values())).evaluate(run)
    return {ours: {q: v[name] for q, v in found.items()} for ours, name in TREC.items()}


def of_ranx(module, run, qrels):
    names = list(RANX.values())
    ranx_qrels, ranx_run = module.Qrels(qrels), module.Run(run)
    found = module.evaluate(ranx_qrels, ranx_run, names, return_mean=False)
    # It sorts the queries by name.
    return {
        ours: dict(zip(sorted(qrels), np.asarray(found[name]).tolist()))
        for ours, name in RANX.items()
    }


def of_ir_measures(module, run, qrels):
    measures = {module.parse_measure(name): ours for ours, name in IR_MEASURES.items()}
    out = {ours: {} for ours in IR_MEASURES}
    for metric in module.iter_calc(list(measures), qrels, run):
        out[measures[metric.measure]][metric.query_id] = metric.value
    return out


def beside_scikit_learn(rng, n_queries):
    """Rows for matrices of labels and scores with ties."""
    from sklearn import metrics

    worst = {"ndcg": [], "ndcg@10": [], "dcg@10": [], "auc": [], "map, no ties": []}
    for _ in range(n_queries):
        y = rng.integers(0, 3, 30)
        scores = rng.integers(0, 8, 30) / 4
        binary = (y > 1).astype(float)
        order = rng.permutation(30) * 1.0
        for name, k in (("ndcg", None), ("ndcg@10", 10)):
            theirs = metrics.ndcg_score([y], [scores], k=k)
            ours = measure_score(get_measure(name, gain="linear"), [y], [scores], empty="zero")
            worst[name].append(abs(ours - theirs))
        ours = measure_score(get_measure("dcg@10", gain="linear"), [y], [scores])
        worst["dcg@10"].append(abs(ours - metrics.dcg_score([y], [scores], k=10)))
        if 0 < binary.sum() < 30:
            ours = measure_score("auc", [binary], [scores])
            worst["auc"].append(abs(ours - metrics.roc_auc_score(binary, scores)))
            ours = measure_score("map", [binary], [order])
            theirs = metrics.average_precision_score(binary, order)
            worst["map, no ties"].append(abs(ours - theirs))
    for name, found in worst.items():
        yield name, max(found), int((np.array(found) > 1e-12).sum()), len(found)


def main():
    """Run and print."""
    args = parser(__doc__)
    args.add_argument("--runs", type=int, default=1000, help="number of queries")
    args = args.parse_args()
    modules = {name: optional(name) for name in ("pytrec_eval", "ranx", "ir_measures")}
    packages = ("pytrec_eval-terrier", "ranx", "ir_measures", "scikit-learn")
    print(describe_environment(*packages, threads=args.threads))
    values_of = {"pytrec_eval": of_trec_eval, "ranx": of_ranx, "ir_measures": of_ir_measures}
    rows = []
    for name, module in modules.items():
        for ties in (True, False):
            if module is None:
                continue
            # ranx and ir_measures read no negative relevances.
            lowest = -1 if name == "pytrec_eval" else 0
            rng = np.random.default_rng(0)
            run, qrels = made(rng, args.runs, ties=ties, lowest=lowest)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = values_of[name](module, run, qrels)
            for measure, worst, n, of in beside(theirs, theirs, run, qrels):
                about = "ties" if ties else "no ties"
                rows.append([name, about, measure, f"{worst:.1e}", f"{n} of {of}"])
    for measure, worst, n, of in beside_scikit_learn(np.random.default_rng(0), args.runs):
        rows.append(["scikit-learn", "ties", measure, f"{worst:.1e}", f"{n} of {of}"])
    print_table(["package", "scores", "measure", "largest difference", "above 1e-12"], rows)


if __name__ == "__main__":
    main()
