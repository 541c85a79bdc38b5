"""Compare rankers, models, scores or runs: ``compare``."""

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
    cross_compare,
    load_qrels,
    load_run,
    run_measures,
)
from ..metrics import predict_with_queries
from ..rankers import measure_of
from ._evaluate import read_scores, run_note
from ._models import categories_of, load_ranker, output, scores_of
from ._page import page, require_matplotlib
from ._rankers import (
    ALWAYS,
    AUTO,
    CONDITIONALLY,
    PEERS,
    calibration_mark,
    make_measure,
    make_ranker,
    take_missing,
)
from ._readers import Reader, check_missing, has_missing, reading
from ._report import count_line, results_table
from ._results import Result, measure_scores, references
from ._shared import (
    COMPARE_RANKERS,
    MEASURES,
    TREC_MEASURES,
    check_folds,
    refuse_overwriting,
    without_binary,
)
from ._terminal import paragraphs, say, width
from ._transforms import ranker_in, transformed

CALIBRATED = (
    f"{ALWAYS} the ranker is calibrated for the measure of the row: Fisher-consistent, i.e. "
    "minimizing its surrogate over functions of the whole query leads to the best possible value "
    "of the measure, whatever the distribution of the labels (with rows: where the row determines "
    "the distribution of its label and the measure is separable, or where the row carries the "
    f"context of the query). {CONDITIONALLY} the same, under a condition on that distribution, "
    "which the documentation of the ranker states. Scores are not probabilities."
)
REFERENCES = (
    "constant: all scores are equal, which gives the exact mean over random orders. ideal: the "
    "labels are the scores."
)

#: How a report is written, by the suffix of its file.
REPORTS = {
    ".html": page,
    ".csv": lambda comparison, _: comparison.to_csv(),
    ".md": lambda comparison, _: comparison.to_markdown() + "\n",
    ".tex": lambda comparison, _: comparison.to_latex() + "\n",
}

_BY_FOLDS = " Intervals are over the folds; the command prints standard errors over queries."

_USAGE = (
    "give one file to cross-validate rankers, or TRAIN and TEST, or TEST and --models or --scores, "
    "or --runs and --qrels; files come before the options"
)


class _Compared(NamedTuple):
    """The systems that were measured, and what is shown beside them without a test."""

    text: str
    measures: dict
    results: list[Result]
    references: list[Result]
    legends: list[str]
    comparison: Comparison | None = None  # where the test is that of cross-validation


def compare(args) -> str:
    """Compare rankers, models, scores of other systems, or runs."""
    _check_reports(args)
    compared = _of_runs(args) if _wants_runs(args) else _of_file(args)
    comparison, notes = _comparison(compared, args)
    by_folds = comparison.fold_values is not None
    in_report = " The report holds intervals over the folds." if by_folds and args.report else ""
    on_screen = _BY_FOLDS if by_folds else ""
    for path in args.report or ():
        with output(path) as file:
            file.write(REPORTS[Path(path).suffix](comparison, f"{compared.text}{on_screen}"))
    return paragraphs(
        f"{compared.text} The table holds mean ± standard error over queries.{in_report} Higher is "
        "better in every row.",
        results_table(
            compared.results + compared.references,
            compared.measures,
            width(),
            marks=_marks(comparison),
        ),
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
    """Return whether runs are compared; raise where it is not clear what is."""
    systems = _has_systems(args)
    by_run = bool(args.runs or args.qrels)
    if by_run and not (args.files or systems or args.rankers):
        if not (args.runs and args.qrels):
            raise ValueError("--runs and --qrels must be given together")
        return True
    if by_run or len(args.files) not in (1, 2):
        raise ValueError(_USAGE)
    if args.rankers and len(args.files) == 1 and systems:
        raise ValueError(
            "--rankers beside --models or --scores need a file to be fitted to: give TRAIN and TEST"
        )
    if len(args.files) == 1 and not systems and args.test != "t":
        raise ValueError(
            "--test: cross-validation has a t-test of its own: leave it out, or give TRAIN and TEST"
        )
    return False


def _has_systems(args) -> bool:
    """Return whether systems are given that need no fit."""
    return bool(args.models or args.scores)


def _names(paths, taken=()) -> list[str]:
    """Return the names of files without suffix, or their paths where the names are not unique."""
    stems = [Path(path).stem for path in paths]
    counts = Counter([*stems, *taken])
    return [stem if counts[stem] == 1 else path for stem, path in zip(stems, paths)]


# -- the tests ---------------------------------------------------------------------


def _comparison(compared, args) -> tuple[Comparison, list[str]]:
    """Compare the values, and return the warnings of the library as notes."""
    if compared.comparison is not None:
        return compared.comparison, []
    values = {result.name: result.values for result in compared.results}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        comparison = compare_values(values, baseline=args.baseline, test=args.test)
    return comparison, [str(warning.message) for warning in caught]


def _marks(comparison) -> dict:
    """Return ``+`` or ``-``, better or worse than the baseline, by system and measure."""
    return {
        (row.system, row.measure): "+" if row.difference > 0 else "-"
        for row in comparison.differences
        if row.p_adjusted < 1 - comparison.confidence_level
    }


def _explained(comparison):
    if comparison.differences:
        sample = "queries that count" if comparison.fold_values is None else "folds"
        yield (
            f"+ and - better and worse than {comparison.baseline} at p < .05: "
            f"{comparison.test_title}, over the {sample}."
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
                f"{path} has other queries than {args.runs[0]}: add --complete, which counts 0 for "
                "judged queries that are missing"
            )
        queries = judged.names
        values = {measure: of_run(judged, args.empty) for measure, of_run in measures.items()}
        results.append(Result(name, values))
    runs = "run" if len(results) == 1 else "runs"
    text = f"{len(results)} {runs} against {args.qrels}, measured as trec_eval does."
    return _Compared(text, measures, results, [], [run_note(judged, args.complete)])


# -- rankers, models and scores ----------------------------------------------------


def _of_file(args) -> _Compared:
    measures, rankers = _chosen(args)
    train, test, text = _read(args, rankers.values() if args.rankers else ())
    rankers, gaps = _for_gaps(rankers, train, test, args)
    labels = test.y if train is None else np.union1d(train.y, test.y)
    measures, kept, note = _fitting(measures, rankers, labels, args)
    rankers = {name: _for_columns(rankers[name], name, args, train) for name in kept}
    results, comparison = _fitted(rankers, train, test, measures, args)
    results += [
        measure_scores(name, scores, test, measures, empty=args.empty, ranker=model)
        for name, scores, model in _of_files(args, kept, len(test.y))
    ]
    marked = (calibration_mark(r.ranker, m) for r in results for m in measures.values())
    calibrated = [CALIBRATED] * any(marked)
    return _Compared(
        text,
        measures,
        results,
        references(test, measures, empty=args.empty),
        [*calibrated, REFERENCES, note, gaps],
        comparison,
    )


def _chosen(args):
    """Return measures and unfitted rankers by name, or raise for a name that is unknown."""
    level = args.relevance_level
    measures = {name: make_measure(name, level, args.gain) for name in args.measures or MEASURES}
    if len(args.files) == 1 and _has_systems(args):
        return measures, {}
    names = args.rankers or COMPARE_RANKERS
    rankers = {n: _transformed(make_ranker(n, level), n, args.transform) for n in names}
    return measures, rankers


def _for_gaps(rankers, train, test, args):
    """Return the rankers, or without named ones those that take missing values, and a note."""
    if args.rankers or not rankers or not (has_missing(train.X) or has_missing(test.X)):
        return rankers, ""
    labels = np.concatenate([train.y, test.y])
    found = {name: make_ranker(name, args.relevance_level) for name in take_missing(labels)}
    return found, (
        f"Values are missing, so the rankers that take them are compared: {', '.join(found)}. "
        "--rankers chooses others."
    )


def _fitting(measures, rankers, labels, args):
    """Return the measures, and the names of the rankers, that take the labels, and a note."""
    own = {name: measure_of(ranker_in(ranker)) for name, ranker in rankers.items()}
    rows = without_binary(measures, labels, args.relevance_level, args.measures)
    kept = without_binary(own, labels, args.relevance_level, args.rankers)
    note = ""
    if len(rows) < len(measures) or len(kept) < len(rankers):
        note = "Binary measures and rankers are left out: add --relevance-level to include them."
    return {name: _on_scale(measures[name], np.unique(labels)) for name in rows}, kept, note


def _for_columns(ranker, name, args, train):
    """Return the ranker behind the steps that the columns of text need."""
    if not category_columns(train.X):
        return ranker
    return _transformed(ranker_in(ranker), name, args.transform, train.X)


def _fitted(rankers, train, test, measures, args):
    """Fit the rankers, and return their results; with one file also the comparison."""
    if rankers and train is test:
        return _cross_validated(rankers, train, measures, args)
    results = []
    for number, (name, ranker) in enumerate(rankers.items(), 1):
        say(f"fitting {number}/{len(rankers)} {name}")
        results.append(_fit_and_measure(name, ranker, train, test, measures, args.empty))
    say("")
    return results, None


def _cross_validated(rankers, data, measures, args):
    check_folds(args.folds, data.qid, "give TRAIN and TEST")
    say(f"fitting {len(rankers)} rankers in {args.folds} folds")
    options = {"cv": args.folds, "baseline": args.baseline, "empty": args.empty}
    comparison = cross_compare(rankers, data.X, data.y, data.qid, measures, **options)
    say("")
    results = [
        Result(name, dict(zip(measures, values)), rankers[name])
        for name, values in zip(comparison.systems, comparison.values)
    ]
    return results, comparison


def _transformed(ranker, name, transform, X=None):
    """Return a pipeline, unless the ranker has transforms of its own, or needs none."""
    own = name in PEERS or name.partition("@")[0] == AUTO
    return transformed(ranker, None if own else transform, X)


def _of_files(args, taken, n_rows):
    """Yield the name, the scores and the model (None for scores) of each file of a system."""
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
    """Return the data to fit, if any, the data to measure on, and a sentence on both."""
    if len(args.files) == 1 and not _has_systems(args):
        data = _load_whole(args, rankers)
        text = (
            f"Cross-validated on {_describe(data, args.files[0])}, {data.X.shape[1]} features, by "
        )
        return data, data, f"{text}{args.folds} folds of whole queries."
    if len(args.files) == 1:
        reader = Reader(args.files[0], args, names=[])
        y, qid = map(np.concatenate, zip(*((part.y, part.qid) for part in reader)))
        test = RankingData(None, y, qid)
        return None, test, f"Evaluated on {_describe(test, args.files[0])}."
    train, test, left_out = _load_pair(args, rankers)
    first, second = map(_describe, (train, test), args.files)
    text = f"Fitted on {first}, {train.X.shape[1]} features; evaluated on {second}. {left_out}"
    return train, test, text.rstrip()


def _load_whole(args, rankers):
    (path,) = args.files
    reader = Reader(path, args, whole=True, rankers=rankers, categories=None)
    return _as_data(*reader) if reader.table else _load(path, rankers)


def _load_pair(args, rankers):
    """Return both files with the features of the first, and a sentence on what was left out."""
    first, second = args.files
    reader = Reader(first, args, whole=True, rankers=rankers, categories=None)
    if reader.table:
        (train,) = reader
        names, categories = list(train.X.columns), train.categories
        options = {"whole": True, "names": names, "rankers": rankers, "categories": categories}
        (test,) = Reader(second, args, **options)
        return _as_data(train), _as_data(test), ""
    train, test = _load(first, rankers), _load(second, rankers)
    n_train, n_test = train.X.shape[1], test.X.shape[1]
    if n_train == n_test:
        return train, test, ""
    X = np.zeros((len(test.y), n_train), dtype=test.X.dtype)
    shared = min(n_train, n_test)
    X[:, :shared] = test.X[:, :shared]
    left_out = (
        ""
        if n_test < n_train
        else (f"The test file has features above {n_train}, which are ignored. ")
    )
    return train, RankingData(X, test.y, test.qid), left_out


def _as_data(part):
    """Return the data of a part of a table, as a frame only where columns hold text."""
    X = part.X if part.categories else part.X.to_numpy()
    return RankingData(X, part.y, part.qid)


def _load(path, rankers):
    with reading(path):
        data = load_letor(path)
        check_missing(data.X, rankers, 1)
        return data


def _on_scale(measure, labels):
    """Put ERR on the scale of all labels, as the test may lack the highest grade."""
    return measure.scaled_to(labels[-1:]) if labels[-1] >= 0 else measure


def _fit_and_measure(name, ranker, train, test, measures, empty):
    start = time.perf_counter()
    ranker.fit(*train)
    seconds = time.perf_counter() - start
    scores = predict_with_queries(ranker, test.X, test.qid)
    return measure_scores(name, scores, test, measures, empty=empty, ranker=ranker, seconds=seconds)


def _describe(data, path) -> str:
    return f"{path} ({len(np.unique(data.qid))} queries, {len(data.y)} documents)"
