"""Compare TREC runs against judgments: ``compare-runs``."""

from collections.abc import Iterator

import numpy as np

from ..evaluation import JudgedRun, compare_values, load_qrels, load_run, run_measures
from . import _options as options
from ._files import reading
from ._rankers import RUN_MEASURES, TREC_MEASURES
from ._report import Compared, check_reports, names_of, report, tested


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
    measured = zip(args.runs, names_of(args.runs), measure_runs(args.runs, args))
    for path, name, (judged, by_measure) in measured:
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


# -- values ------------------------------------------------------------------------


def measure_runs(paths, args) -> Iterator[tuple[JudgedRun, dict[str, np.ndarray]]]:
    """Yield every run with its judgments, and its values per query by measure."""
    level = 1.0 if args.relevance_level is None else args.relevance_level
    gain = {"gain": args.gain} if args.gain else {}
    measures = run_measures(args.measures or TREC_MEASURES, level, **gain)
    with reading(args.qrels, ""):
        qrels = load_qrels(args.qrels)
    for path in paths:
        with reading(path, ""):
            run = load_run(path)
        judged = JudgedRun(run, qrels, complete=args.complete, ties="trec")
        yield judged, {name: of_run(judged, args.empty) for name, of_run in measures.items()}


def run_note(judged, complete) -> str:
    """Say which documents and queries count."""
    note = (
        "As in trec_eval, documents without a judgment are not relevant. Judged documents that "
        "were not retrieved count among the relevant ones and in the ideal ranking. "
    )
    if judged.n_missing:
        counted = "count 0" if complete else "are left out (--complete counts them 0)"
        note += f"{judged.n_missing} judged queries have no line in the run: they {counted}. "
    if judged.n_unjudged:
        note += f"{judged.n_unjudged} queries of the run are not judged: they are left out."
    return note
