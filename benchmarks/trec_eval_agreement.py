"""Agreement with trec_eval on the run, the judgments and the output of its own tests.

    python benchmarks/trec_eval_agreement.py --data DIR

DIR (or SKCALRANK_DATA) holds the folder trec_eval: qrels.test, results.test, out.test.aq. The
output of trec_eval has four decimals.
"""

from __future__ import annotations

from _common import data_file, data_folder, describe_environment, parser, print_table, say

from skcalrank.datasets import text_lines
from skcalrank.evaluation import evaluate_run, trec_name

NEEDED = ["trec_eval/qrels.test", "trec_eval/results.test", "trec_eval/out.test.aq"]
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MEASURES = ["map", "ndcg", "mrr", "bpref", "r_precision", "precision", "recall", "f1"]
MEASURES += [f"{name}@{k}" for k in CUTS for name in ("precision", "recall", "map", "ndcg")]


def main():
    """Run and print."""
    args = parser(__doc__, data=True).parse_args()
    folder = data_folder(args.data, NEEDED)
    qrels, run, output = (data_file(folder, name) for name in NEEDED)
    lines = (line.split()[:3] for _, line in text_lines(output))
    expected = {(name, topic): value for name, topic, value in lines}
    print(describe_environment("numpy"), "\n")
    rows, worst = [], 0.0
    for measure, of_topics in evaluate_run(qrels, run, MEASURES, average=False).items():
        name = trec_name(measure)
        difference = max(
            abs(value - float(expected[name, topic])) for topic, value in of_topics.items()
        )
        worst = max(worst, difference)
        values = (f"{value:.4f}" for value in of_topics.values())
        rows.append([name, *values, f"{difference:.1e}"])
    print_table(["measure", *of_topics, "difference"], rows)
    say(f"\nLargest difference {worst:.1e}; rounding to four decimals allows 5e-05.")


if __name__ == "__main__":
    main()
