"""Compare TREC runs against judgments: ``compare-runs``."""

from __future__ import annotations

from ._options import ABOUT_RUNS, add_names, add_relevance_level, add_shared, listed
from ._rankers import RUN_MEASURES, TREC_MEASURES
from ._report import Compared, check_reports, names_of, report
from ._results import Result
from ._runs import measure_runs, run_note


def add_options(parser):
    parser.epilog = (
        f"measures:\n{listed(RUN_MEASURES)}\n\n{ABOUT_RUNS}\n\n"
        "examples:\n  skcalrank compare-runs bm25.run mine.run --qrels qrels.txt\n"
        "  skcalrank compare-runs *.run --qrels qrels.txt --measures map --report r.html\n"
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="TREC runs")
    parser.add_argument("--qrels", metavar="QRELS", help="TREC judgments of the same queries")
    add_names(parser, "--measures", TREC_MEASURES)
    add_shared(parser, "--baseline", "--test", "--report")
    add_relevance_level(parser, "default: 1")
    add_shared(parser, "--gain", "--empty", "--complete")


def run(args) -> str:
    """Compare TREC runs, measured as trec_eval does."""
    if not args.runs or args.qrels is None:
        raise ValueError(
            "give TREC runs, and their judgments with --qrels; files come before the options"
        )
    check_reports(args, *args.runs, args.qrels)
    results: list[Result] = []
    queries = None
    for path, name, (judged, values) in zip(
        args.runs, names_of(args.runs), measure_runs(args.runs, args)
    ):
        if queries not in (None, judged.names):
            raise ValueError(
                f"{path} has other queries than {args.runs[0]}: add --complete, which counts 0 for "
                "judged queries that are missing"
            )
        queries = judged.names
        results.append(Result(name, values))
    runs = "run" if len(results) == 1 else "runs"
    text = f"{len(results)} {runs} against {args.qrels}, measured as trec_eval does."
    measures = dict.fromkeys(results[0].values)
    return report(Compared(text, measures, results, [], [run_note(judged, args.complete)]), args)
