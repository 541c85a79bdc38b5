"""Compare TREC runs against judgments: ``compare-runs``."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..evaluation import (
    JudgedRun,
    RunValues,
    compare_values,
    load_qrels,
    load_run,
    run_measures,
    trec_name,
)
from ..measures import MEASURES as ALL_MEASURES
from . import _options as options
from ._files import reading
from ._rankers import RUN_MEASURES, TREC_MEASURES
from ._report import Compared, check_reports, names_of, report, tested

# Treatment of queries without a relevant document that differs from that of trec_eval.
_EMPTY = {"skip": "are left out", "one": "count 1"}

#: Which documents count in runs.
ABOUT_DOCUMENTS = (
    "Documents without a judgment are not relevant. Judged documents that were not retrieved count "
    "among the relevant ones and in the ideal ranking."
)


def add_options(parser: Any) -> None:
    parser.epilog = (
        f"measures:\n{options.listed(RUN_MEASURES)}\n\n{options.ABOUT_RUNS}\n\n"
        "examples:\n  skcalrank compare-runs bm25.run mine.run --qrels qrels.txt\n"
        "  skcalrank compare-runs *.run --qrels qrels.txt --measures map --report r.html\n"
    )
    options.add(parser, "runs RUN", "TREC runs", nargs="*")
    options.add(parser, "--qrels QRELS", "TREC judgments of the same queries")
    options.add_names(parser, "--measures", TREC_MEASURES)
    options.add_tests(parser)
    options.add_relevance_level(parser)
    options.add_policies(parser, options.OF_RUNS)
    options.add_complete(parser)


def run(args: Namespace) -> str:
    """Compare TREC runs, measured as trec_eval does."""
    if not args.runs or args.qrels is None:
        raise ValueError(
            "give TREC runs, and their judgments with --qrels; files come before the options"
        )
    check_reports(args, *args.runs, args.qrels)
    values: dict[str, RunValues[Any]] = {}
    notes: dict[str, list[str]] = {}
    queries = None
    measured = zip(args.runs, names_of(args.runs), measure_runs(args.runs, args))
    for path, name, (judged, by_measure) in measured:
        if queries not in (None, judged.names):
            raise ValueError(
                f"{path} has other queries than {args.runs[0]}: add --complete, which counts 0 for "
                "judged queries that are missing"
            )
        queries, values[name] = judged.names, by_measure
        notes[name] = about_queries(judged, args.complete)
    runs = "run" if len(values) == 1 else "runs"
    text = f"{len(values)} {runs} against {args.qrels}, measured {conventions(args)}"
    legends = [ABOUT_DOCUMENTS, _of_runs(notes)]
    return report(Compared(text, *tested(compare_values, values, args=args), legends), args)


def _of_runs(notes: dict[str, list[str]]) -> str:
    """Join notes by run; those that are not of all runs name the runs that they are of."""
    runs_of: dict[str, list[str]] = {}
    for name, sentences in notes.items():
        for sentence in sentences:
            runs_of.setdefault(sentence, []).append(name)
    return " ".join(
        sentence if len(names) == len(notes) else f"{', '.join(names)}: {sentence}"
        for sentence, names in runs_of.items()
    )


def measure_runs(paths: Any, args: Namespace) -> Iterator[tuple[JudgedRun, RunValues[np.ndarray]]]:
    """Yield every run with its judgments, and its values per query by measure."""
    measures = run_measures(args.measures or TREC_MEASURES, args.relevance_level, args.gain)
    with reading(args.qrels, ""):
        qrels = load_qrels(args.qrels)
    for path in paths:
        with reading(path, ""):
            run = load_run(path)
        judged = JudgedRun(qrels, run, complete=args.complete, ties="trec")
        judged.warn_of_other_names(path)
        values = {name: of_run(judged, args.empty) for name, of_run in measures.items()}
        yield judged, RunValues(values, judged.judged_)


def conventions(args: Namespace) -> str:
    """Say that runs are measured as trec_eval does, and what is not as there."""
    names = args.measures or TREC_MEASURES
    classes = [ALL_MEASURES.get(name.partition("@")[0]) for name in names]
    other = []
    if args.gain == "exponential" and any(cls is not None and cls.has_gain for cls in classes):
        other.append("the gain is 2^label - 1 (trec_eval: --gain linear)")
    if args.empty in _EMPTY:
        other.append(f"queries without a relevant document {_EMPTY[args.empty]} (--empty zero)")
    if unknown := [name for name in names if trec_name(name) is None]:
        other.append(f"trec_eval has no {' and no '.join(unknown)}")
    return "as trec_eval does" + (f", but {'; '.join(other)}" if other else "") + "."


def about_queries(judged: JudgedRun, complete: bool) -> list[str]:
    """Say which queries the run and the judgments do not share, and what they count."""
    sentences = []
    if judged.n_missing:
        counted = "count 0" if complete else "are left out (--complete counts them 0)"
        sentences.append(
            f"{judged.n_missing} judged queries have no line in the run: they {counted}."
        )
    if judged.n_unjudged:
        sentences.append(
            f"{judged.n_unjudged} queries of the run are not judged: they are left out."
        )
    return sentences
