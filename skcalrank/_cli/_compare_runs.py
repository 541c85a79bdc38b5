"""Compare TREC runs against judgments: ``compare-runs``."""

from __future__ import annotations

from ..evaluation import compare_values
from . import _options as options
from ._rankers import RUN_MEASURES, TREC_MEASURES
from ._report import Compared, check_reports, names_of, report, tested
from ._runs import measure_runs, run_note


def add_options(parser):
    parser.epilog = (
        f"measures:\n{options.listed(RUN_MEASURES)}\n\n{options.ABOUT_RUNS}\n\n"
        "examples:\n  skcalrank compare-runs bm25.run mine.run --qrels qrels.txt\n"
        "  skcalrank compare-runs *.run --qrels qrels.txt --measures map --report r.html\n"
    )
    options.add(parser, "runs RUN", "TREC runs", nargs="*")
    options.add(parser, "--qrels QRELS", "TREC judgments of the same queries")
    options.add_names(parser, "--measures", TREC_MEASURES)
    options.add_tests(parser)
    options.add_relevance_level(parser, "default: 1")
    options.add_policies(parser)
    options.add_complete(parser)


def run(args) -> str:
    """Compare TREC runs, measured as trec_eval does."""
    if not args.runs or args.qrels is None:
        raise ValueError(
            "give TREC runs, and their judgments with --qrels; files come before the options"
        )
    check_reports(args, *args.runs, args.qrels)
    values: dict[str, dict] = {}
    queries = None
    for path, name, (judged, by_measure) in zip(
        args.runs, names_of(args.runs), measure_runs(args.runs, args)
    ):
        if queries not in (None, judged.names):
            raise ValueError(
                f"{path} has other queries than {args.runs[0]}: add --complete, which counts 0 for "
                "judged queries that are missing"
            )
        queries = judged.names
        values[name] = by_measure
    runs = "run" if len(values) == 1 else "runs"
    text = f"{len(values)} {runs} against {args.qrels}, measured as trec_eval does."
    legends = [run_note(judged, args.complete)]
    return report(Compared(text, *tested(compare_values, values, args=args), legends), args)
