"""Agreement with trec_eval on the run, the judgments and the output of its own tests.

    python benchmarks/trec_eval_agreement.py --data DIR

DIR (or SKCALRANK_DATA) holds the folder trec_eval: qrels.test, results.test, out.test.aq. Documents
that were judged relevant and not retrieved count in the number of relevant ones; equal scores are
ordered by decreasing document name, as trec_eval does. Its output has four decimals.
"""

from __future__ import annotations

import lzma

import numpy as np
from _common import data_file, data_folder, describe_environment, parser, print_table, say

from skcalrank import metrics

NEEDED = ["trec_eval/qrels.test", "trec_eval/results.test", "trec_eval/out.test.aq"]
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


def read(folder, name):
    """Lines of a file, split."""
    path = data_file(folder, name)
    content = path.read_bytes()
    text = lzma.decompress(content) if path.suffix == ".xz" else content
    return [line.split() for line in text.decode().splitlines() if line.strip()]


def rows_of(qrels, run):
    """Relevance, score, topic and number of retrieved documents, best first by topic."""
    relevant = {(topic, doc) for topic, _, doc, grade in qrels if int(grade) > 0}
    found = sorted(
        ((topic, float(score), doc) for topic, _, doc, _, score, _ in run),
        key=lambda row: (row[0], row[1], row[2]),
        reverse=True,
    )
    topics = sorted({topic for topic, *_ in found})
    y, s, qid, retrieved = [], [], [], []
    for topic in topics:
        docs = [doc for t, _, doc in found if t == topic]
        missed = [doc for t, doc in relevant if t == topic and doc not in set(docs)]
        retrieved.append(len(docs))
        y += [(topic, doc) in relevant for doc in docs] + [True] * len(missed)
        s += list(range(0, -len(docs) - len(missed), -1))
        qid += [topic] * (len(docs) + len(missed))
    return np.array(y, dtype=float), np.array(s, dtype=float), qid, topics, retrieved


def main():
    """Run and print."""
    args = parser(__doc__, data=True).parse_args()
    folder = data_folder(args.data, NEEDED)
    y, s, qid, topics, retrieved = rows_of(read(folder, NEEDED[0]), read(folder, NEEDED[1]))
    expected = {(name, topic): value for name, topic, value, *_ in read(folder, NEEDED[2])}
    # What was not retrieved comes after position 500 of every topic, where nothing counts.
    (last,) = set(retrieved)
    ours = {
        "map": metrics.average_precision_score(y, s, qid=qid, k=last, average=False),
        "recip_rank": metrics.reciprocal_rank_score(y, s, qid=qid, k=last, average=False),
    }
    for k in CUTS:
        options = {"qid": qid, "k": min(k, last), "average": False}
        ours[f"P_{k}"] = metrics.precision_at_k_score(y, s, **options) * min(k, last) / k
        ours[f"recall_{k}"] = metrics.recall_at_k_score(y, s, **options)
        ours[f"map_cut_{k}"] = metrics.average_precision_score(y, s, **options)
        ours[f"ndcg_cut_{k}"] = metrics.ndcg_score(y, s, gain="linear", **options)
    print(describe_environment("numpy"), "\n")
    rows, worst = [], 0.0
    for name, values in ours.items():
        theirs = np.array([float(expected[name, topic]) for topic in topics])
        worst = max(worst, np.abs(values - theirs).max())
        rows.append([name, *(f"{v:.4f}" for v in values), f"{np.abs(values - theirs).max():.1e}"])
    print_table(["measure", *topics, "difference"], rows)
    say(f"\nLargest difference {worst:.1e}; rounding to four decimals allows 5e-05.")


if __name__ == "__main__":
    main()
