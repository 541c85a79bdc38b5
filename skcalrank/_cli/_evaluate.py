"""Measure a model, scores or a run: ``evaluate``."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from ..columns import texts
from ..columns.types import Floats
from ..data import check
from ..evaluation import Table
from ..metrics import evaluate
from . import _options as options
from ._compare_runs import ABOUT_DOCUMENTS, about_queries, conventions, measure_runs
from ._files import output, read_labels, read_scores, refuse_overwriting, score_rows
from ._rankers import MEASURES, RUN_MEASURES, TREC_MEASURES, make_measures
from ._report import summary
from ._text import paragraphs, say, width


def add_options(parser: Any) -> None:
    parser.epilog = (
        f"{options.ABOUT_MEASURES}measures of runs:\n{options.listed(RUN_MEASURES)}\n"
        f"  default: {' '.join(TREC_MEASURES)}\n\n{options.ABOUT_RUNS} Equal scores of a model "
        "count the exact mean over\nall their orders.\n\n"
        f"{options.ABOUT_FILES}\n{options.ABOUT_CHUNKS}\n"
        "examples:\n  skcalrank evaluate ndcg.skops test.txt --measures ndcg@10 spearman\n"
        "  skcalrank evaluate --scores scores.txt test.txt --relevance-level 1\n"
        "  skcalrank evaluate --qrels qrels.txt --run run.txt --per-query values.csv\n"
    )
    text = "model file, and labelled rows, which may be a table in several files"
    options.add(parser, "files MODEL FILE", text, nargs="*")
    text = "file with one score per line, or column of FILE with scores, in place of MODEL"
    options.add(parser, "--scores SCORES", text)
    options.add(parser, "--qrels QRELS", "TREC judgments for the run")
    options.add(parser, "--run RUN", "TREC run", dest="run_file")
    options.add_names(parser, "--measures", MEASURES)
    options.add_relevance_level(parser)
    options.add_policies(parser)
    options.add_complete(parser)
    text = "write the values of each query as CSV, to FILE or in place of the table"
    options.add(parser, "--per-query FILE", text, nargs="?", const="-")
    options.add_reading(parser)


def run(args: Namespace) -> str:
    """Measure a model, scores or a run against labels."""
    if args.per_query is not None:
        inputs = (*args.files, args.scores, args.run_file, args.qrels)
        refuse_overwriting(args.per_query, *inputs)
    wants_run = _wants_run(args)
    options.set_policies(args, options.OF_RUNS if wants_run else options.OF_ROWS)
    queries, values, note = _of_run(args) if wants_run else _of_file(args)
    if args.per_query == "-":
        return _csv(queries, values).rstrip("\n")
    if args.per_query is not None:
        with output(args.per_query) as file:
            file.write(_csv(queries, values))
    return paragraphs(_table(values), note)


def _wants_run(args: Namespace) -> bool:
    """Return whether a run is measured; raise where it is not clear what is."""
    by_run = args.run_file is not None or args.qrels is not None
    by_scores, n_files = args.scores is not None, len(args.files)
    of_model = any(Path(file).suffix == ".skops" for file in args.files)
    if by_run:
        is_clear = not (by_scores or n_files)
    else:
        is_clear = n_files > 0 and not of_model if by_scores else n_files > 1
    if not is_clear:
        raise ValueError(
            "give MODEL and FILE, or --scores SCORES and FILE, or --qrels QRELS and --run RUN"
        )
    if by_run and (args.run_file is None or args.qrels is None):
        raise ValueError("--qrels and --run must be given together")
    return by_run


def _of_run(args: Namespace) -> tuple[list[str], Any, str]:
    """Return the names of the queries, their values by measure, and a note."""
    ((judged, values),) = measure_runs([args.run_file], args)
    counts = f"{judged.n_judged:,} of {judged.n_retrieved:,} retrieved documents are judged."
    sentences = [f"Measured {conventions(args)} {counts}", ABOUT_DOCUMENTS]
    sentences += about_queries(judged, args.complete)
    return judged.names, values, " ".join(sentences)


def _of_file(args: Namespace) -> tuple[list[int | str], dict[str, Floats], str]:
    measures = make_measures(args)
    if args.scores is None:
        model, *paths = args.files
        _, y, qid, scores = score_rows(model, paths, args)
    else:
        y, qid = read_labels(args.files, args)
        scores = read_scores(args.scores, len(y), args.files, args)
    say("")
    values = evaluate(y, scores, measures, qid=qid, empty=args.empty, average=False)
    queries: Any = check.queries(qid, len(y))
    return queries.names.tolist(), values, ""


def _table(values: Any) -> str:
    means, errors = zip(*map(summary, values.values()))
    columns = {
        "mean": [_number(mean) for mean in means],
        "std. error": [_number(error) for error in errors],
        "queries": [str(np.sum(~np.isnan(v))) for v in values.values()],
    }
    return Table.of_columns(values, columns).to_text(width())


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def _csv(queries: Any, values: Any) -> str:
    """Write one line per query, with no value where the measure is undefined (0/0)."""
    return texts.csv([["qid", *values], *zip(queries, *(of.tolist() for of in values.values()))])
