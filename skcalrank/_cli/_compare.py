"""Systems beside each other: ``compare``."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data import category_columns
from ..datasets import RankingData, load_letor
from ..evaluation import (
    Comparison,
    JudgedRun,
    compare_values,
    load_qrels,
    load_run,
    run_measures,
)
from ..metrics import predict_with_queries
from ..rankers import measure_of
from ._commands import CALIBRATED, REFERENCES, with_progress
from ._evaluate import read_scores, run_note
from ._models import categories_of, load_ranker, output, scores_of
from ._page import page, require_matplotlib
from ._rankers import AUTO, PEERS, make_measure, make_ranker
from ._readers import Reader, check_missing, reading
from ._report import count_line, results_table
from ._results import Result, measure_scores, references
from ._shared import COMPARE_RANKERS, MEASURES, TREC_MEASURES, refuse_overwriting, without_binary
from ._terminal import paragraphs, width
from ._transforms import ranker_in, transformed

#: How a report is written, by the suffix of its file.
REPORTS = {
    ".html": page,
    ".csv": lambda comparison, _: comparison.to_csv(),
    ".md": lambda comparison, _: comparison.to_markdown() + "\n",
    ".tex": lambda comparison, _: comparison.to_latex() + "\n",
}

_USAGE = (
    "give TRAIN and TEST, or TEST and --models or --scores, or --runs and --qrels; the file TEST "
    "stands before the options"
)


class _Compared(NamedTuple):
    """What was measured: the systems, and what is shown beside them without a test."""

    text: str
    measures: dict
    results: list[Result]
    references: list[Result]
    legends: list[str]


def compare(args) -> str:
    """Compare rankers, models, scores of other systems, or runs."""
    _check_reports(args)
    compared = _of_runs(args) if _wants_runs(args) else _of_file(args)
    comparison, notes = _comparison(compared.results, args)
    for path in args.report or ():
        with output(path) as file:
            file.write(REPORTS[Path(path).suffix](comparison, compared.text))
    columns = [[result] for result in compared.results + compared.references]
    return paragraphs(
        f"{compared.text} The table holds mean ± standard error over queries. Higher is better in "
        "every row.",
        results_table(columns, compared.measures, width(), marks=_marks(comparison)),
        *_explained(comparison),
        *compared.legends,
        count_line(compared.results[0]),
        *notes,
    )


def _check_reports(args):
    for path in args.report or ():
        if Path(path).suffix not in REPORTS:
            raise ValueError(f"--report {path}: the suffix must be one of {', '.join(REPORTS)}")
        if Path(path).suffix == ".html":
            require_matplotlib()
        inputs = (*args.files, *(args.models or ()), *(args.scores or ()), *(args.runs or ()))
        refuse_overwriting(path, *inputs, args.qrels)


def _wants_runs(args) -> bool:
    """Whether runs are compared, or an error where it is not clear what is."""
    systems = bool(args.models or args.scores)
    by_run = bool(args.runs or args.qrels)
    if by_run and not (args.files or systems or args.rankers):
        if not (args.runs and args.qrels):
            raise ValueError("--runs and --qrels go together")
        return True
    if by_run or not (len(args.files) == 2 or (len(args.files) == 1 and systems)):
        raise ValueError(_USAGE)
    if args.rankers and len(args.files) == 1:
        raise ValueError("--rankers are fitted: give TRAIN and TEST")
    return False


def _names(paths, taken=()) -> list[str]:
    """What files are called: names without suffix, or the paths where these are not unique."""
    stems = [Path(path).stem for path in paths]
    counts = Counter([*stems, *taken])
    return [stem if counts[stem] == 1 else path for stem, path in zip(stems, paths)]


# -- the tests ---------------------------------------------------------------------


def _comparison(results, args) -> tuple[Comparison, list[str]]:
    """Compare the values, and return what the library warns of as notes."""
    values = {result.name: result.values for result in results}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        comparison = compare_values(values, baseline=args.baseline, test=args.test)
    return comparison, [str(warning.message) for warning in caught]


def _marks(comparison) -> dict:
    """``+`` or ``-`` where a system is better or worse than the baseline, by system and measure."""
    return {
        (row.system, row.measure): "+" if row.difference > 0 else "-"
        for row in comparison.differences
        if row.p_adjusted < 1 - comparison.confidence_level
    }


def _explained(comparison):
    if comparison.differences:
        yield (
            f"+ and - better and worse than {comparison.baseline} at p < .05: "
            f"{comparison.test_title}, over the queries that count."
        )


# -- runs --------------------------------------------------------------------------


def _of_runs(args) -> _Compared:
    level = 1.0 if args.relevance_level is None else args.relevance_level
    names = args.measures or TREC_MEASURES
    measures = run_measures(names, level, **({"gain": args.gain} if args.gain else {}))
    with reading(args.qrels, ""):
        qrels = load_qrels(args.qrels)
    results, queries = [], None
    for name, path in zip(_names(args.runs), args.runs):
        with reading(path, ""):
            run = load_run(path)
        judged = JudgedRun(run, qrels, complete=args.complete, ties="trec")
        if queries not in (None, judged.names):
            raise ValueError(
                f"{path} is of other queries than {args.runs[0]}: --complete counts 0 where a "
                "judged query is missing"
            )
        queries = judged.names
        values = {measure: of_run(judged, args.empty) for measure, of_run in measures.items()}
        results.append(Result(name, values))
    text = f"{len(results)} runs against {args.qrels}, measured as trec_eval does."
    return _Compared(text, measures, results, [], [run_note(judged, args.complete)])


# -- rankers, models and scores ----------------------------------------------------


def _of_file(args) -> _Compared:
    level = args.relevance_level
    # Names are checked before anything long.
    measures = {name: make_measure(name, level, args.gain) for name in args.measures or MEASURES}
    rankers = {}
    if len(args.files) == 2:
        rankers = {
            name: _transformed(make_ranker(name, level), name, args.transform)
            for name in args.rankers or COMPARE_RANKERS
        }
    train, test, text = _read(args, rankers.values())
    if train is not None and category_columns(train.X):
        rankers = {
            name: _transformed(ranker_in(ranker), name, args.transform, train.X)
            for name, ranker in rankers.items()
        }
    labels = test.y if train is None else np.union1d(train.y, test.y)
    own = {name: measure_of(ranker_in(ranker)) for name, ranker in rankers.items()}
    rows = without_binary(measures, labels, level, args.measures)
    kept = without_binary(own, labels, level, args.rankers)
    note = ""
    if len(rows) < len(measures) or len(kept) < len(rankers):
        note = "Binary measures and rankers are left out: --relevance-level brings them in."
    measures = {name: _on_scale(measures[name], np.unique(labels)) for name in rows}
    results = [
        _fit_and_measure(name, rankers[name], train, test, measures, args.empty)
        for name in with_progress(kept)
    ]
    results += [
        measure_scores(name, scores, test, measures, empty=args.empty, ranker=model)
        for name, scores, model in _of_files(args, kept, len(test.y))
    ]
    calibrated = [CALIBRATED] * any(result.ranker is not None for result in results)
    return _Compared(
        text,
        measures,
        results,
        references(test, measures, empty=args.empty),
        [*calibrated, REFERENCES, note],
    )


def _transformed(ranker, name, transform, X=None):
    """Return a pipeline, unless the ranker has transforms of its own, or needs none."""
    own = name in PEERS or name.partition("@")[0] == AUTO
    return transformed(ranker, None if own else transform, X)


def _of_files(args, taken, n_rows):
    """Names, scores of the rows, and models of the files that hold one or the other."""
    models, scores, test = args.models or [], args.scores or [], args.files[-1]
    names = iter(_names([*models, *scores], taken))
    for path in models:
        model = load_ranker(path)
        reader = Reader(test, args, model=model, categories=categories_of(path))
        parts = [scores_of(model, part) for part in reader]
        yield next(names), np.concatenate(parts), model
    for path in scores:
        yield next(names), read_scores(path, n_rows, test), None


def _read(args, rankers):
    """Return the data to fit, if any, those to measure on, and a sentence on both."""
    if len(args.files) == 1:
        reader = Reader(args.files[0], args, names=[])
        y, qid = map(np.concatenate, zip(*((part.y, part.qid) for part in reader)))
        test = RankingData(None, y, qid)
        return None, test, f"Evaluated on {_describe(test, args.files[0])}."
    train, test, left_out = _load_pair(args, rankers)
    first, second = map(_describe, (train, test), args.files)
    text = f"Fitted on {first}, {train.X.shape[1]} features; evaluated on {second}. {left_out}"
    return train, test, text.rstrip()


def _load_pair(args, rankers):
    """Both files with the features of the first, and a sentence where that cost some."""
    first, second = args.files
    reader = Reader(first, args, whole=True, rankers=rankers, categories=None)
    if reader.table:
        (train,) = reader
        names, categories = list(train.X.columns), train.categories
        options = {"whole": True, "names": names, "rankers": rankers, "categories": categories}
        (test,) = Reader(second, args, **options)
        tables = [part.X if categories else part.X.to_numpy() for part in (train, test)]
        return *(RankingData(X, p.y, p.qid) for X, p in zip(tables, (train, test))), ""
    train, test = _load(first, rankers), _load(second, rankers)
    n_train, n_test = train.X.shape[1], test.X.shape[1]
    if n_train == n_test:
        return train, test, ""
    X = np.zeros((len(test.y), n_train), dtype=test.X.dtype)
    shared = min(n_train, n_test)
    X[:, :shared] = test.X[:, :shared]
    left_out = "" if n_test < n_train else f"Features above {n_train} occur there only: left out. "
    return train, RankingData(X, test.y, test.qid), left_out


def _load(path, rankers):
    with reading(path):
        data = load_letor(path)
        check_missing(path, data.X, rankers, 1)
        return data


def _on_scale(measure, labels):
    """ERR on the scale of all labels, should the test lack the highest grade."""
    return measure.scaled_to(labels[-1:]) if labels[-1] >= 0 else measure


def _fit_and_measure(name, ranker, train, test, measures, empty):
    start = time.perf_counter()
    ranker.fit(*train)
    seconds = time.perf_counter() - start
    scores = predict_with_queries(ranker, test.X, test.qid)
    return measure_scores(name, scores, test, measures, empty=empty, ranker=ranker, seconds=seconds)


def _describe(data, path) -> str:
    return f"{path} ({len(np.unique(data.qid))} queries, {len(data.y)} documents)"
