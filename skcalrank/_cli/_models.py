"""Fit a ranker, apply it and describe it: ``fit``, ``predict`` and ``info``."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..data import check_queries, positions
from ..metrics import predict_with_queries
from ..persistence import complete_file, load_model, read_header, require_skops, save_model
from ..rankers import LeastSquaresRankerCV, measure_of
from ._rankers import AUTO, PEERS, make_ranker
from ._readers import Reader
from ._report import Column, format_table
from ._shared import check_folds, refuse_overwriting, without_binary
from ._terminal import paragraphs, say, width
from ._transforms import learns_columns, ranker_in, transformed

# -- fit ---------------------------------------------------------------------------


def fit(args) -> str:
    """Fit a ranker to a file, and write a model file."""
    require_skops()
    path = Path(args.model)
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot write {path}: the folder {path.parent} does not exist")
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder, give a file in it")
    refuse_overwriting(args.model, args.train)
    ranker = transformed(_unfitted(args), args.transform)
    notes = {"ranker": args.ranker, "trained_on": Path(args.train).name}
    start = time.perf_counter()
    in_chunks = _takes_chunks(ranker)
    if args.chunk_rows is not None and not in_chunks:
        raise ValueError(
            f"--chunk-rows: {args.ranker} needs all rows at once, leave the option out. Rankers "
            "without --alphas and without +REGRESSOR, and err with --max-grade, can be fitted in "
            "chunks."
        )
    whole, n_features = not in_chunks, args.n_features
    reader = Reader(
        *(args.train, args),
        **{"whole": whole, "n_features": n_features, "rankers": [ranker], "categories": None},
    )
    own = {args.ranker: measure_of(ranker_in(ranker))}
    n_rows, queries = 0, set()
    for part in reader:
        # This error names the option; the error of the ranker would name its parameter.
        without_binary(own, part.y, args.relevance_level, True)
        if args.alphas is not None:
            check_folds(args.folds, part.qid, "give --alpha")
        say(f"fitting {args.ranker} to {len(part.qid):,} rows")
        if part.categories:
            ranker = transformed(ranker_in(ranker), args.transform, part.X)
            in_chunks, notes["categories"] = False, part.categories
        (ranker.partial_fit if in_chunks else ranker.fit)(part.X, part.y, part.qid)
        n_rows += len(part.qid)
        queries.update(np.unique(part.qid).tolist())
    seconds = time.perf_counter() - start
    save_model(ranker, path, **notes, n_rows=n_rows, n_queries=len(queries))
    say("")
    return paragraphs(
        f"Fitted {args.ranker} to {n_rows:,} rows of {len(queries):,} queries, "
        f"{ranker.n_features_in_} features, in {seconds:#.3g} s ({n_rows / seconds:,.0f} rows/s).",
        *_penalties(ranker_in(ranker), args.folds),
        f"Written: {path}",
    )


def _unfitted(args):
    if args.transform is not None and args.ranker.partition("@")[0] == AUTO:
        raise ValueError(
            f"--transform: {args.ranker} has transforms of its own, leave the option out"
        )
    if args.ranker in PEERS:
        raise ValueError(
            f"{args.ranker} cannot be saved in a model file: fit and save it with its package"
        )
    ranker = make_ranker(args.ranker, args.relevance_level)
    if args.max_grade is not None:
        if "max_grade" not in ranker.get_params(deep=False):
            raise ValueError(f"--max-grade is for the ranker err, got {args.ranker}")
        ranker.set_params(max_grade=args.max_grade)
    if args.pred is not None:
        return _of_pairs(ranker, args)
    if getattr(ranker, "estimator", AUTO) is not None:
        if args.alpha is not None or args.alphas is not None:
            raise ValueError(
                f"--alpha and --alphas are penalties of Ridge, which {args.ranker} does not use"
            )
        return ranker
    if args.alphas is not None:
        return _cross_validated(ranker, args)
    if args.alpha is not None:
        ranker.set_params(alpha=args.alpha)
    return ranker


def _of_pairs(ranker, args):
    """Return the ranker with the surrogate on pairs and a prediction map."""
    if "pred" not in ranker.get_params(deep=False):
        raise ValueError(f"--pred is for rankers with a surrogate on pairs, got {args.ranker}")
    if args.alphas is not None:
        raise ValueError("--alphas: the penalty of pairs cannot be cross-validated, give --alpha")
    if args.alpha is not None:
        ranker.set_params(alpha=args.alpha)
    return ranker.set_params(surrogate="pairwise", pred=args.pred)


def _cross_validated(ranker, args):
    if args.alpha is not None:
        raise ValueError("--alpha is one penalty and --alphas several: give one of the two")
    if measure_of(ranker).shape != "documents":
        raise ValueError(
            f"--alphas: the penalty of {args.ranker} cannot be cross-validated, give --alpha"
        )
    return LeastSquaresRankerCV(measure_of(ranker), alphas=args.alphas, cv=args.folds)


def _takes_chunks(ranker) -> bool:
    if not measure_of(ranker_in(ranker)).is_scaled:
        return False  # needs the largest label of all chunks
    if learns_columns(ranker):
        return False  # needs quantiles or means of all rows
    return hasattr(ranker, "partial_fit")


def _penalties(ranker, folds) -> list[str]:
    """Return a table of the mean score of each penalty over the folds."""
    results = getattr(ranker, "cv_results_", None)
    if results is None:
        return []
    cells = [f"{score:.4f}" for score in results["mean_test_score"]]
    cells[ranker.best_index_] += " *"
    room = max(map(len, cells))
    score = Column(measure_of(ranker).full_name, [cell.ljust(room) for cell in cells])
    labels = [f"alpha {alpha:g}" for alpha in results["param_alpha"]]
    return [
        format_table(labels, [score], width()),
        f"Mean over {folds} folds of whole queries; * is the best penalty, which is fitted.",
    ]


# -- predict -----------------------------------------------------------------------


def predict(args) -> str:
    """Score the documents of a file."""
    in_trec = args.format == "trec"
    if args.top_k is not None and not in_trec:
        raise ValueError(
            "--top-k leaves documents out, which a file with one score per row cannot do: add "
            "--format trec"
        )
    refuse_overwriting(args.output, args.model, args.file)
    ranker = load_ranker(args.model)
    categories = categories_of(args.model)
    reader = Reader(
        *(args.file, args),
        **{"model": ranker, "labels": False, "documents": in_trec, "categories": categories},
    )
    with output(args.output) as file:
        for part in reader:
            scores = scores_of(ranker, part)
            lines = _trec(part, scores, args) if in_trec else map(repr, scores.tolist())
            file.write("\n".join(lines) + "\n")
    say("")
    return ""


def load_ranker(path):
    """Return the model in a file, or raise if it does not score documents one by one."""
    ranker = load_model(path)
    if getattr(ranker, "n_items_", None) is not None:
        raise ValueError(
            f"{path} ranks {ranker.n_items_} fixed items for each row, but rows of files are "
            "documents: apply it in Python"
        )
    if not hasattr(ranker, "predict"):
        raise ValueError(f"{path} must hold a model with predict, got {type(ranker).__name__}")
    return ranker


def categories_of(path) -> list[str]:
    """Return the columns of text that the model in a file takes as categories."""
    return list(read_header(path)["notes"].get("categories", []))


def scores_of(ranker, part):
    """Score the rows of a part, which holds whole queries."""
    return predict_with_queries(ranker, part.X, part.qid)


@contextmanager
def output(path):
    """Write text to a file, which appears when it is complete; ``-`` is the standard output."""
    if path != "-":
        with complete_file(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
    elif sys.stdout is None:
        raise ValueError("the standard output is closed: give a file to --output")
    else:
        yield sys.stdout
        sys.stdout.flush()


def _trec(part, scores, args):
    """Yield lines of a TREC run, the best first; equal scores are in the order of the rows."""
    queries = check_queries(part.qid, len(scores))
    place = queries.ungroup(positions(queries.group(scores), queries))
    rows = np.lexsort((place, queries.codes))
    rows = rows if args.top_k is None else rows[place[rows] <= args.top_k]
    for row in rows.tolist():
        query, document = str(part.qid[row]), part.documents[row]
        for name in (query, document):
            if len(name.split()) != 1:
                raise ValueError(f"names in a TREC run must be one word, got {name!r}")
        yield f"{query} Q0 {document} {place[row]} {scores[row].item()!r} {args.tag}"


# -- info --------------------------------------------------------------------------


def info(args) -> str:
    """Describe a model file."""
    header, ranker = read_header(args.model), load_model(args.model)
    last = ranker_in(ranker)
    measure = measure_of(last)
    facts = {
        "class": header["class"],
        **{f"  {name}": _in_short(value) for name, value in _params(ranker).items()},
        "measure": "" if measure is None else measure.full_name,
        "calibrated": "" if measure is None else _calibration(last, measure),
        "penalty": _penalty(last),
        "weights": _weights(last),
        "features": _features(ranker),
        "written by": f"skcalrank {header['skcalrank']}, scikit-learn {header['scikit-learn']}",
        **{name.replace("_", " "): str(value) for name, value in header["notes"].items()},
    }
    facts = {name: value for name, value in facts.items() if value}
    room = max(map(len, facts))
    lines = [f"{name.ljust(room)}  {value}" for name, value in facts.items()]
    return "\n".join(lines) + _coefficients(ranker, args.coefficients)


def _params(ranker) -> dict:
    """Return the parameters in force: a regressor has a penalty of its own."""
    params = ranker.get_params(deep=False)
    if params.get("estimator") is not None:
        params.pop("alpha", None)
    return params


def _in_short(value) -> str:
    """Return a value in one line; of named steps or rankers only the names and the classes."""
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return ", ".join(f"{name} ({_class_name(step)})" for name, step, *_ in value)
    return " ".join(repr(value).split())


def _class_name(step) -> str:
    return step if isinstance(step, str) else type(step).__name__


def _weights(ranker) -> str:
    """Return the weights of the rankers of a stack."""
    pairs = zip(getattr(ranker, "names_", []), getattr(ranker, "weights_", []))
    return ", ".join(f"{name} {weight:.3g}" for name, weight in pairs)


def _penalty(ranker) -> str:
    alpha = getattr(ranker, "alpha_", None)
    if not isinstance(alpha, float):
        return ""
    chosen = ", chosen" if hasattr(ranker, "best_score_") else ""
    relative = (ranker.penalty_scale_ != 1.0).any()
    return f"{alpha:.6g}{' of the squares of a feature' * bool(relative)}{chosen}"


def _calibration(ranker, measure) -> str:
    if not ranker.regresses_targets:
        return "see the documentation of the class"
    if measure.calibration == "always":
        return "Fisher-consistent for the measure, with means estimated from the whole query"
    return "Fisher-consistent for the measure on conditions, see the documentation"


def _features(ranker) -> str:
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        count = getattr(ranker, "n_features_in_", None)
        return "" if count is None else f"{count}, by number"
    shown = ", ".join(map(str, names[:8]))
    return f"{len(names)}, by name: {shown}{', ...' * (len(names) > 8)}"


def _coefficients(ranker, n_shown) -> str:
    """Return a table of the largest coefficients, per unit of the feature, or why there is none."""
    if not n_shown:
        return ""
    last = ranker_in(ranker)
    coef, names = np.asarray(getattr(last, "coef_", 0.0)), _names_before_last(ranker)
    if coef.shape != (getattr(last, "n_features_in_", None),):
        why = f"{type(last).__name__} does not have one for each feature."
        return f"\n\nNo coefficients are shown: {why}"
    if len(names) != len(coef):
        return "\n\nNo coefficients are shown: the transformed features have no names."
    largest = np.argsort(-np.abs(coef), kind="stable")[:n_shown]
    column = Column("coefficient", [f"{value:+.4g}" for value in coef[largest]])
    feature = "feature" if last is ranker else "transformed feature"
    return (
        f"\n\nLargest of {len(coef)} coefficients, per unit of the {feature}:\n\n"
        + format_table([names[i] for i in largest], [column], width())
    )


def _names_before_last(ranker) -> list[str]:
    """Return the names, or numbers, of the features of the ranker in a pipeline; [] if unknown."""
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        names = np.arange(1, getattr(ranker, "n_features_in_", 0) + 1)
    names = np.array([str(name) for name in names], dtype=object)
    if ranker_in(ranker) is not ranker:
        try:
            names = ranker[:-1].get_feature_names_out(names)
        except (AttributeError, ValueError):
            return []
    return [str(name) for name in names]
