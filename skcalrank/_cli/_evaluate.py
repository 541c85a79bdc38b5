"""Measure a model, scores or a run: ``evaluate``."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import check_queries
from ..datasets import read_text, to_float
from ..evaluation import JudgedRun, load_qrels, load_run, run_measures
from ..metrics import evaluate as evaluate_measures
from ._models import categories_of, load_ranker, output, scores_of
from ._rankers import make_measure
from ._readers import Reader, reading
from ._report import Column, format_table
from ._results import summary
from ._shared import MEASURES, TREC_MEASURES, refuse_overwriting, without_binary
from ._terminal import paragraphs, say, width


class Values(NamedTuple):
    """Values per query by the name of the measure, names of the queries, and a note."""

    queries: list
    by_measure: dict[str, np.ndarray]
    note: str = ""


def evaluate(args) -> str:
    """Measure a model, scores or a run against labels."""
    if args.per_query is not None:
        inputs = (*args.files, args.scores, args.run_file, args.qrels)
        refuse_overwriting(args.per_query, *inputs)
    values = _of_run(args) if _wants_run(args) else _of_file(args)
    if args.per_query == "-":
        return _csv(values).rstrip("\n")
    if args.per_query is not None:
        with output(args.per_query) as file:
            file.write(_csv(values))
    return paragraphs(_table(values), values.note)


def _wants_run(args) -> bool:
    """Return whether a run is measured; raise where it is not clear what is."""
    by_run = args.run_file is not None or args.qrels is not None
    given = (args.scores is not None, by_run, len(args.files))
    if given not in [(False, False, 2), (True, False, 1), (False, True, 0)]:
        raise ValueError(
            "give MODEL and FILE, or --scores SCORES and FILE, or --run RUN and --qrels QRELS"
        )
    if by_run and (args.run_file is None or args.qrels is None):
        raise ValueError("--run and --qrels must be given together")
    return by_run


# -- runs --------------------------------------------------------------------------


def _of_run(args) -> Values:
    level = 1.0 if args.relevance_level is None else args.relevance_level
    gain = {"gain": args.gain} if args.gain else {}
    measures = run_measures(args.measures or TREC_MEASURES, level, **gain)
    with reading(args.run_file, ""):
        run = load_run(args.run_file)
    with reading(args.qrels, ""):
        qrels = load_qrels(args.qrels)
    judged = JudgedRun(run, qrels, complete=args.complete, ties="trec")
    values = {name: of_run(judged, args.empty) for name, of_run in measures.items()}
    return Values(judged.names, values, run_note(judged, args.complete))


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


# -- labels of a file --------------------------------------------------------------


def _of_file(args) -> Values:
    level, names = args.relevance_level, args.measures or MEASURES
    measures = {name: make_measure(name, level, args.gain) for name in names}
    y, qid, scores = _scored(args)
    kept = without_binary(measures, y, level, args.measures)
    note = ""
    if len(kept) < len(measures):
        note = "Binary measures are left out: add --relevance-level to include them."
    measures = {name: measures[name] for name in kept}
    values = evaluate_measures(y, scores, measures, qid=qid, empty=args.empty, average=False)
    queries: Any = check_queries(qid, len(y)).names
    return Values(queries.tolist(), values, note)


def _scored(args):
    """Return labels, queries and scores of all rows."""
    if args.scores is None:
        ranker = load_ranker(args.files[0])
        categories = categories_of(args.files[0])
        reader = Reader(args.files[1], args, model=ranker, categories=categories)
        parts = [(part.y, part.qid, scores_of(ranker, part)) for part in reader]
        y, qid, scores = map(np.concatenate, zip(*parts))
    else:
        reader = Reader(args.files[0], args, names=[])
        y, qid = map(np.concatenate, zip(*((part.y, part.qid) for part in reader)))
        scores = read_scores(args.scores, len(y), args.files[0])
    say("")
    return y, qid, scores


def read_scores(path, n_rows, file):
    """Read the scores of a file, one for each row of another file."""
    with reading(path, "expected one score per line"):
        lines = enumerate(read_text(Path(path)).split("\n"), 1)
        scores = np.array([_score(number, line) for number, line in lines if line.strip()])
    if len(scores) != n_rows:
        raise ValueError(
            f"{path} must hold a score for each of the {n_rows} rows of {file}, got {len(scores)}"
        )
    return scores


def _score(number, line):
    try:
        score = to_float(line.strip())
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error
    if not np.isfinite(score):
        raise ValueError(f"line {number}: scores must be finite, got {score}")
    return score


# -- output ------------------------------------------------------------------


def _table(values: Values) -> str:
    results = list(values.by_measure.values())
    means, errors = zip(*map(summary, results))
    columns = [
        Column("mean", [_number(mean) for mean in means]),
        Column("std. error", [_number(error) for error in errors]),
        Column("queries", [str(int((~np.isnan(result)).sum())) for result in results]),
    ]
    return format_table(list(values.by_measure), columns, width())


def _number(value) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def _csv(values: Values) -> str:
    """Write one line per query, with no value where the measure is undefined (0/0)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["qid", *values.by_measure])
    columns = [[repr(v) if v == v else "" for v in c.tolist()] for c in values.by_measure.values()]
    writer.writerows(zip(values.queries, *columns))
    return text.getvalue()
