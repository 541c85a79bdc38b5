"""Measure TREC runs against judgments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..evaluation import JudgedRun, load_qrels, load_run, run_measures
from ._files import reading
from ._rankers import TREC_MEASURES


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
