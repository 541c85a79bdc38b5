"""Fit a ranker to a file, and write a model file: ``fit``."""

import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ..columns.types import Array, Floats
from ..evaluation import Cell, Table
from ..persistence import require_skops, save_model
from ..preds import preds_for
from ..rankers import BaseRanker, DCGRanker, LeastSquaresRankerCV, measure_of
from ..reliability import LOSSES, CalibratedRankerCV
from . import _options as options
from . import _rankers as choices
from ._files import Reader, refuse_folder, refuse_overwriting
from ._text import paragraphs, say, width


def add_options(parser: Any) -> None:
    parser.epilog = (
        f"{options.ABOUT_RANKERS}\n\n{options.ABOUT_FILES}\n{options.ABOUT_CHUNKS}"
        "A ranker in closed form is the same, fitted in chunks or to the whole file.\n\n"
        "examples:\n  skcalrank fit train.txt.gz --model ndcg.skops --ranker ndcg@10 --alpha 100\n"
        "  skcalrank fit huge.txt --model ndcg.skops --chunk-rows 50000 --dtype float32\n"
        "  skcalrank fit train.csv --model map.skops --qid-column query --drop sku\n"
        "  skcalrank fit train.txt --model cv.skops --alphas 1 100 10000 --folds 5\n"
        "  skcalrank fit train.txt --model p.skops --calibrate --relevance-level 1\n"
    )
    options.add_table(parser, "train TRAIN", "file to fit the ranker to")
    options.add(parser, "--model FILE", "model file to write", required=True)
    options.add(parser, "--ranker NAME", "name of the ranker, see below", default="ndcg@10")
    options.add(parser, "--alpha A", "ridge penalty; default: auto", type=float)
    text = "ridge penalties, of which cross-validation chooses the best for the measure"
    options.add(parser, "--alphas A", text, type=float, nargs="+")
    text = "number of folds of whole queries, for --alphas"
    options.add_count(parser, "--folds N", text, lowest=2, default=5)
    options.add_relevance_level(parser)
    options.add_gain(parser, options.OF_ROWS["gain"], default=options.OF_ROWS["gain"])
    options.add_transform(parser)
    options.add(parser, "--max-grade G", "highest grade, for the ranker err", type=float)
    options.add(
        parser,
        "--pred NAME",
        "fit the surrogate to pairs, and rank by this prediction map: for the ranker map "
        f"{', '.join(preds_for('map'))}; for pd and kendall {', '.join(preds_for('disagreement'))}",
    )
    text = (
        "give the scores a unit, and keep their order: the probability that a document is relevant "
        "(relevant, the default of this option), its expected label (grade) or gain (gain), or its "
        f"share of what predict --cutoff may lose ({', '.join(LOSSES)})"
    )
    units = ["relevant", "grade", "gain", *LOSSES]
    options.add(parser, "--calibrate UNIT", text, nargs="?", const="relevant", choices=units)
    options.add_reading(parser, "of any kind")
    options.add_n_features(parser)


def run(args: Namespace) -> str:
    """Fit a ranker to all rows of a file, or to chunk after chunk, and save it."""
    _check_paths(args)
    ranker = choices.transformed(_unfitted(args), args.transform)
    start = time.perf_counter()
    ranker, counts = _fitted(ranker, args)
    seconds, n_rows = time.perf_counter() - start, counts["n_rows"]
    notes = {"ranker": args.ranker, "trained_on": ", ".join(Path(name).name for name in args.train)}
    save_model(ranker, Path(args.model), **notes, **counts)
    say("")
    columns = choices.columns_of(ranker)
    return paragraphs(
        f"Fitted {args.ranker} to {n_rows:,} rows of {counts['n_queries']:,} queries, "
        f"{ranker.n_features_in_} features, in {seconds:#.3g} s ({n_rows / seconds:,.0f} rows/s).",
        f"Columns: {columns}." if columns else "",
        *_penalties(choices.ranker_in(ranker), args.folds),
        f"Written: {Path(args.model)}",
    )


def _check_paths(args: Namespace) -> None:
    require_skops()
    path = Path(args.model)
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot write {path}: the folder {path.parent} does not exist")
    refuse_folder(path)
    try:
        TemporaryFile(dir=path.absolute().parent).close()
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from error
    refuse_overwriting(args.model, args.train)


def _fitted(ranker: Any, args: Namespace) -> tuple[Any, dict[str, int]]:
    """Return the fitted ranker; numbers of rows and queries, and of the first feature of lines."""
    if args.calibrate and args.chunk_rows is not None:
        raise ValueError("--calibrate needs all rows at once, leave --chunk-rows out")
    in_chunks = _takes_chunks(ranker) and not args.calibrate
    # It reads chunks several times, and learns less from them than from all rows at once.
    several = args.chunk_rows is not None and hasattr(ranker, "fit_chunks")
    if args.chunk_rows is not None and not (in_chunks or several):
        raise ValueError(
            f"--chunk-rows: {args.ranker} needs all rows at once, leave the option out. Rankers "
            "without --alphas and without +REGRESSOR, auto, and err with --max-grade, can be "
            "fitted in chunks."
        )
    settings = {"whole": not (in_chunks or several), "n_features": args.n_features}
    settings |= {"of_any_kind": True, "in_chunks": several}
    reader = Reader(args.train, args, rankers=[ranker], **settings)
    if args.columns and not reader.of_any_kind:
        raise ValueError("--columns: numbered features, and columns in chunks, are numbers")
    if reader.of_any_kind:
        ranker, in_chunks = choices.ranker_in(ranker), False
        ranker = choices.of_table(ranker, args.transform, args.columns)
    if args.calibrate:
        ranker = CalibratedRankerCV(ranker, args.calibrate, relevance_level=args.relevance_level)
    rows: dict[Any, int] = {}

    def chunks() -> Iterator[tuple[Any, Floats, Array]]:
        for data, *_ in reader:
            rows.update(
                zip(*(values.tolist() for values in np.unique(data.qid, return_counts=True)))
            )
            say(f"fitting {args.ranker} to {len(data.qid):,} rows")
            yield tuple(data)

    if several:
        ranker.fit_chunks(chunks)
    for chunk in () if several else chunks():
        if args.alphas is not None:
            choices.check_folds(args.folds, chunk[2], "give --alpha")
        with choices.threads_for(chunk[0]):
            (ranker.partial_fit if in_chunks else ranker.fit)(*chunk)
    of_lines = {} if reader.table else {"first_feature": reader.first_feature}
    return ranker, {"n_rows": sum(rows.values()), "n_queries": len(rows), **of_lines}


def _unfitted(args: Namespace) -> BaseRanker:
    if args.transform is not None and args.ranker.partition("@")[0] == choices.AUTO:
        raise ValueError(
            f"--transform: {args.ranker} has transforms of its own, leave the option out"
        )
    ranker = choices.make_ranker(args.ranker, args.relevance_level, args.gain)
    params = ranker.get_params(deep=False)
    if args.max_grade is not None:
        if "max_grade" not in params:
            raise ValueError(f"--max-grade is for the ranker err, got {args.ranker}")
        ranker.set_params(max_grade=args.max_grade)
    has_penalty = args.alpha is not None or args.alphas is not None
    if args.pred is not None:
        if "pred" not in params:
            raise ValueError(f"--pred is for rankers with a surrogate on pairs, got {args.ranker}")
        if args.alphas is not None:
            raise ValueError(
                "--alphas: the penalty of pairs cannot be cross-validated, give --alpha"
            )
        ranker.set_params(surrogate="pairwise", pred=args.pred)
    elif has_penalty and getattr(ranker, "estimator", choices.AUTO) is not None:
        raise ValueError(
            f"--alpha and --alphas are penalties of Ridge, which {args.ranker} does not use"
        )
    if args.alphas is not None:
        return _cross_validated(ranker, args)
    if args.alpha is not None:
        ranker.set_params(alpha=args.alpha)
    return ranker


def _cross_validated(ranker: DCGRanker, args: Namespace) -> LeastSquaresRankerCV:
    if args.alpha is not None:
        raise ValueError("--alpha is one penalty and --alphas several: give one of the two")
    if measure_of(ranker).shape != "documents":
        raise ValueError(
            f"--alphas: the penalty of {args.ranker} cannot be cross-validated, give --alpha"
        )
    return LeastSquaresRankerCV(measure_of(ranker), alphas=args.alphas, cv=args.folds)


def _takes_chunks(ranker: Any) -> bool:
    # Others need the largest label of all chunks, or quantiles or means of all rows.
    *transforms, (_, last) = choices.steps_of(ranker)
    learns = any(get_tags(step).requires_fit for _, step in transforms)
    return measure_of(last).is_scaled and not learns and hasattr(ranker, "partial_fit")


def _penalties(ranker: BaseRanker, folds: int) -> list[str]:
    """Return a table of the mean score of each penalty over the folds."""
    results = getattr(ranker, "cv_results_", None)
    if results is None:
        return []
    cells = [Cell(f"{score:.4f}") for score in results["mean_test_score"]]
    cells[ranker.best_index_] = cells[ranker.best_index_]._replace(marks=" *")
    labels = [f"alpha {alpha:g}" for alpha in results["param_alpha"]]
    return [
        Table.of_columns(labels, {measure_of(ranker).full_name: cells}).to_text(width()),
        f"Mean over {folds} folds of whole queries; * is the best penalty, which is fitted.",
    ]
