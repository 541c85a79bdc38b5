"""Compare rankers, models and scores of other systems on a table: ``compare``."""

import time
import warnings
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data import UnseenLevelsWarning
from ..datasets import Columns, RankingData, byte_lines, table_files
from ..evaluation import Comparison, compare, cross_compare
from ..metrics import predict_with_queries
from ..model_selection import QueryKFold
from ..preprocessing import TableEncoder
from ..rankers import BaseRanker
from . import _files as files
from . import _options as options
from . import _rankers as choices
from . import _report as reports
from ._text import printed_as, say, width

# What to do where one file cannot be divided into folds.
_INSTEAD = "give TRAIN and TEST"


def add_options(parser: Any) -> None:
    parser.epilog = (
        "With one file, rankers are cross-validated on it. With TRAIN and TEST, they are\n"
        "fitted to the first and measured on the second. Models, and scores of other\n"
        "systems, are measured on TEST, with or without rankers beside them.\n\n"
        f"{options.ABOUT_MEASURES}{options.ABOUT_RANKERS}{options.ABOUT_PEERS}\n"
        f"{options.ABOUT_FILES}\n"
        "examples:\n  skcalrank compare all.parquet --rankers ndcg auto\n"
        "  skcalrank compare train.txt test.txt.gz --relevance-level 1 \\\n"
        "      --measures ndcg@10 map --rankers ndcg,map,ndcg+trees,lightgbm\n"
        "  skcalrank compare test.txt --models a.skops b.skops --scores bm25.txt \\\n"
        "      --report report.html table.tex\n"
    )
    options.add(parser, "files TRAIN TEST", "LETOR/svmlight files, or tables", nargs="*")
    options.add_names(parser, "--measures", choices.MEASURES)
    options.add_names(parser, "--rankers", choices.COMPARE_RANKERS)
    text = "number of folds of whole queries, with one file"
    options.add_count(parser, "--folds N", text, lowest=2, default=5)
    options.add(parser, "--models FILE", "model files that fit wrote", nargs="+", default=[])
    text = "files with one score per line and row of TEST, or columns of TEST, if it is a table"
    options.add(parser, "--scores FILE", text, nargs="+", default=[])
    options.add_tests(parser)
    text = "write lines of progress to stderr; a terminal shows it in one line without this option"
    options.add(parser, "--verbose", text, action="store_true")
    options.add_relevance_level(parser)
    options.add_policies(parser, options.OF_ROWS)
    options.add_transform(parser)
    options.add_features(options.add_columns(parser))
    parser.set_defaults(chunk_rows=None, dtype="float64")


def run(args: Namespace) -> str:
    """Cross-validate rankers on one file, or measure them, models and scores on the last."""
    systems = [*args.models, *args.scores]
    _check_use(args, systems)
    reports.check_reports(args, *args.files, *systems)
    measures, path = choices.make_measures(args), args.files[-1]
    rankers, seconds = {}, {}
    legends: list[str] = []
    notes: list[str] = []
    if len(args.files) == 1 and systems:
        train = test = RankingData(None, *files.read_labels(path, args))
        text = f"Evaluated on {_describe(test, path)}."
    else:
        names = args.rankers or choices.COMPARE_RANKERS
        rankers = _made(names, args)
        train, test, text = _read(args, _transformed(rankers, args))
        rankers, legends = _for_gaps(rankers, train, test, args)
    measures, rankers = _on_scale(measures, train, test), _transformed(rankers, args)
    if len(args.files) == 1 and not systems:
        with _columns_told_once():
            comparison = _cross_validated(rankers, test, measures, args)
    else:
        with _columns_told_once():
            scores, seconds = _fitted(rankers, train, test, args.verbose)
        for ranker in rankers.values():
            files.warn_of_training_queries(ranker, "the rankers were", test.qid, path)
        names = reports.names_of(systems, rankers)
        for name, model in zip(names, args.models):
            rankers[name], *_, scores[name] = files.score_rows(model, path, args)
        for name, file in zip(names[len(args.models) :], args.scores):
            scores[name] = files.read_scores(file, len(test.y), path, args)
        policies = {"qid": test.qid, "empty": args.empty}
        comparison, notes = reports.tested(compare, test.y, scores, measures, args=args, **policies)
    ends = reports.references(test, measures, args.empty)
    return reports.report(
        reports.Compared(text, comparison, notes, legends, measures, rankers, seconds, ends), args
    )


def _check_use(args: Namespace, systems: list[str]) -> None:
    """Raise where it is not clear what is compared."""
    for path in (*args.files, *args.scores):
        if _is_run(path):
            raise ValueError(
                f"{path} is a TREC run: skcalrank compare-runs compares runs against judgments"
            )
    if len(args.files) not in (1, 2):
        raise ValueError(
            "give one file to cross-validate rankers, or TRAIN and TEST, or TEST and --models or "
            "--scores; files come before the options; a table in several files is one folder, or "
            "one pattern in quotes; compare-runs takes TREC runs"
        )
    if len(args.files) == 1 and systems and args.rankers:
        raise ValueError(
            "--rankers beside --models or --scores need a file to be fitted to: give TRAIN and TEST"
        )
    if len(args.files) == 1 and not systems and args.test != "t":
        raise ValueError(
            "--test: cross-validation has a t-test of its own: leave it out, or give TRAIN and TEST"
        )


def _is_run(path: str) -> bool:
    """Return whether the first line of a file is one of a TREC run; pipes are not read."""
    with suppress(OSError, ValueError):
        if Path(path).is_file():
            with closing(byte_lines(Path(path))) as lines:
                words = next(lines, (1, b""))[1].split()
            return len(words) == 6 and words[1] == b"Q0"
    return False


def _read(args: Namespace, rankers: dict[str, Any]) -> tuple[RankingData, RankingData, str]:
    """Return the data to fit, the data to measure on, and a text on both."""
    if _is_table(args):
        data, encoder = _read_tables(args)
        columns, left_out = f"Columns: {choices.about_columns(encoder)}.", ""
        if len(data) == 1:
            columns += _of_folds(encoder, data[0], args)
    else:
        # An error about missing values is one about a ranker that was named.
        files.refuse_names(args.files[0], args.features or args.drop or list(args.columns))
        data, left_out = _read_lines(args, rankers.values() if args.rankers else ())
        columns = ""
    train, test = data[0], data[-1]
    about = f"{_describe(train, args.files[0])}, {train.X.shape[1]} features"
    if len(data) == 1:
        text = f"Cross-validated on {about}, by {args.folds} folds of whole queries."
    else:
        text = f"Fitted on {about}; evaluated on {_describe(test, args.files[1])}.{left_out}"
    return train, test, f"{text} {columns}".rstrip()


def _is_table(args: Namespace) -> bool:
    with files.reading(args.files[0], ""):
        return table_files(args.files[0]) is not None


def _read_tables(args: Namespace) -> tuple[list[RankingData], TableEncoder]:
    """Return the data of tables, with the columns of the first, and their reader."""
    settings: dict[str, Any] = {"whole": True, "of_any_kind": True}
    ((train, *_),) = files.Reader(args.files[0], args, **settings)
    encoder = TableEncoder(args.columns or None).fit(*train)
    names, text = list(train.X.columns), choices.text_columns(encoder)
    settings["chosen"] = Columns(features=names, text=text, chosen_by="")
    tests = [files.Reader(path, args, **settings) for path in args.files[1:]]
    return [train, *(test for reader in tests for test, *_ in reader)], encoder


def _of_folds(encoder: TableEncoder, data: RankingData, args: Namespace) -> str:
    """Say which columns are of another kind in the rows of a fold than in all rows."""
    choices.check_folds(args.folds, data.qid, _INSTEAD)
    kinds: dict[Any, set[str]] = {}
    with _columns_told_once():
        for rows, _ in QueryKFold(args.folds).split(*data):
            part = clone(encoder).fit(data.X.iloc[rows], data.y[rows], data.qid[rows])
            for name, kind in part.kinds_.items() - encoder.kinds_.items():
                kinds.setdefault(name, set()).add(kind)
    named = [f"{name} as {' or '.join(sorted(of_name))}" for name, of_name in kinds.items()]
    return f" Some folds read {', '.join(sorted(named))}." if named else ""


def _read_lines(args: Namespace, rankers: Any) -> tuple[list[RankingData], str]:
    """Return the data of LETOR lines, with the features of the first, and what was left out."""
    data, first = [], []
    for path in args.files:
        reader = files.Reader(path, args, whole=True, rankers=rankers)
        ((of_file, *_),) = reader
        data.append(of_file)
        first.append(reader.first_feature)
    if len({*first}) > 1:  # one file lacks feature 0, which is 0 in all of its rows
        number = int(np.argmax(first))
        data[number] = data[number]._replace(X=np.pad(data[number].X, [(0, 0), (1, 0)]))
    (X, y, qid), n_features = data[-1], data[0].X.shape[1]
    n_missing = n_features - X.shape[1]
    if n_missing > 0:
        X = np.pad(X, [(0, 0), (0, n_missing)])
    data[-1] = RankingData(np.ascontiguousarray(X[:, :n_features]), y, qid)
    if n_missing < 0:
        return data, f" The test file has features above {n_features}, which are ignored."
    return data, ""


def _describe(data: RankingData, path: str) -> str:
    return f"{path} ({len(np.unique(data.qid))} queries, {len(data.y)} documents)"


def _for_gaps(
    rankers: dict[str, BaseRanker], train: RankingData, test: RankingData, args: Namespace
) -> tuple[dict[str, BaseRanker], list[str]]:
    """Return the rankers, or without named ones those that take missing values, and a note."""
    gaps = [not _is_table(args) and np.isnan(data.X).any() for data in (train, test)]
    if args.rankers or not any(gaps):
        return rankers, []
    names = choices.rankers_for_gaps(np.concatenate([train.y, test.y]))
    note = (
        f"Values are missing, so the rankers that take them are compared: {', '.join(names)}. "
        "--rankers chooses others."
    )
    return _made(names, args), [note]


def _made(names: Iterable[str], args: Namespace) -> dict[str, Any]:
    level, gain = args.relevance_level, args.gain
    return {name: choices.make_ranker(name, level, gain) for name in names}


def _on_scale(measures: dict[str, Any], train: RankingData, test: RankingData) -> dict[str, Any]:
    """Return measures on the scale of all labels, as the test may lack the highest grade."""
    highest = np.maximum(train.y.max(keepdims=True), test.y.max(keepdims=True))
    if highest < 0:
        return measures
    return {name: measure.scaled_to(highest) for name, measure in measures.items()}


def _transformed(rankers: dict[str, BaseRanker], args: Namespace) -> dict[str, Any]:
    """Return the rankers behind the transforms, unless they have transforms of their own."""
    wrapped = {}
    for name, ranker in rankers.items():
        transform = None if choices.has_transforms(name) else args.transform
        if _is_table(args):
            wrapped[name] = choices.of_table(ranker, transform, args.columns)
        else:
            wrapped[name] = choices.transformed(ranker, transform)
    return wrapped


@contextmanager
def _columns_told_once() -> Iterator[None]:
    """Silence what the encoders of the rankers would say of columns of which it was said."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Column .* of X ")
        warnings.filterwarnings("default", category=UnseenLevelsWarning)
        yield


def _cross_validated(rankers: Any, data: RankingData, measures: Any, args: Namespace) -> Comparison:
    choices.check_folds(args.folds, data.qid, _INSTEAD)
    say(f"fitting {len(rankers)} rankers in {args.folds} folds", verbose=args.verbose)
    policies = {"baseline": args.baseline, "pairs": args.pairs, "empty": args.empty}
    done = count(1)

    def tell(line: str) -> None:
        line = line.replace("[cross_compare]", f"{next(done)}/{len(rankers) * args.folds}", 1)
        # Of a line that the terminal breaks, only the end would be replaced.
        say(line if args.verbose else line[: width() - 1], verbose=args.verbose)

    with printed_as(tell), choices.threads_for(data.X):
        comparison = cross_compare(rankers, *data, measures, cv=args.folds, verbose=1, **policies)
    say("")
    return comparison


def _fitted(rankers: Any, train: Any, test: Any, verbose: bool) -> tuple[Any, ...]:
    """Fit the rankers to one file; return their scores of the other, and the seconds of fit."""
    scores, seconds = {}, {}
    for number, (name, ranker) in enumerate(rankers.items(), 1):
        say(f"fitting {number}/{len(rankers)} {name}", verbose=verbose)
        with choices.threads_for(train.X):
            start = time.perf_counter()
            ranker.fit(*train)
            seconds[name] = time.perf_counter() - start
            scores[name] = predict_with_queries(ranker, test.X, test.qid)
    say("")
    return scores, seconds
