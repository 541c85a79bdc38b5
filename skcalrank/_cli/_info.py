"""Describe a model file: ``info``."""

from argparse import Namespace
from typing import Any

import numpy as np

from ..evaluation import Table
from ..persistence import load_model, read_header
from ..rankers import calibration_of, measure_of
from . import _options as options
from ._rankers import columns_of, ranker_in
from ._text import printable, width


def add_options(parser: Any) -> None:
    parser.epilog = "example:\n  skcalrank info ndcg.skops --coefficients 20\n"
    options.add(parser, "model MODEL", "model file that fit wrote")
    text = "number of the largest coefficients to show"
    options.add_count(parser, "--coefficients N", text, lowest=0, default=10)


def run(args: Namespace) -> str:
    """Describe a model file."""
    header, ranker = read_header(args.model), load_model(args.model)
    last = ranker_in(ranker)
    measure = measure_of(last)
    params = ranker.get_params(deep=False)
    if params.get("estimator") is not None:
        params.pop("alpha", None)  # the regressor has a penalty of its own
    facts = {
        "class": header["class"],
        **{f"  {name}": _in_short(value) for name, value in params.items()},
        "measure": "" if measure is None else measure.full_name,
        "calibrated": "" if measure is None else ": ".join(calibration_of(ranker)),
        "loss used": _in_short(last.loss_) if hasattr(last, "loss_") else "",
        "penalty": _penalty(last),
        "weights": _weights(last),
        "features": _features(ranker),
        "written by": f"skcalrank {header['skcalrank']}, scikit-learn {header['scikit-learn']}",
        **{name.replace("_", " "): str(value) for name, value in header["notes"].items()},
    }
    facts = {printable(name): printable(value) for name, value in facts.items() if value}
    room = max(map(len, facts))
    lines = [f"{name.ljust(room)}  {value}" for name, value in facts.items()]
    return "\n".join(lines) + _coefficients(ranker, args.coefficients)


def _in_short(value: Any) -> str:
    """Return a value in one line; of named steps or rankers only the names and the classes."""
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        kinds = [step if isinstance(step, str) else type(step).__name__ for _, step, *_ in value]
        return ", ".join(f"{name} ({kind})" for (name, *_), kind in zip(value, kinds))
    return " ".join(repr(value).split())


def _weights(ranker: Any) -> str:
    """Return the weights of the rankers of a stack, and what they weight."""
    pairs = zip(getattr(ranker, "names_", []), getattr(ranker, "weights_", []))
    text = ", ".join(f"{name} {weight:.3g}" for name, weight in pairs)
    return text and f"{text} (of scores divided by their spread; need not sum to 1)"


def _penalty(ranker: Any) -> str:
    alpha = getattr(ranker, "alpha_", None)
    if not isinstance(alpha, float):
        return ""
    chosen = ", chosen" if hasattr(ranker, "best_score_") else ""
    relative = (ranker.penalty_scale_ != 1.0).any()
    return f"{alpha:.6g}{' of the squares of a feature' * bool(relative)}{chosen}"


def _features(ranker: Any) -> str:
    count = getattr(ranker, "n_features_in_", None)
    if count is None:
        return ""
    columns = columns_of(ranker)
    return f"{count}, by name: {columns}" if columns else f"{count}, by number"


def _coefficients(ranker: Any, n_shown: int) -> str:
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
    column = {"coefficient": [f"{value:+.4g}" for value in coef[largest]]}
    feature = "feature" if last is ranker else "transformed feature"
    return (
        f"\n\nLargest of {len(coef)} coefficients "
        f"(change of the score per unit of the {feature}):\n\n"
        + Table.of_columns([names[i] for i in largest], column).to_text(width())
    )


def _names_before_last(ranker: Any) -> list[str]:
    """Return the names, or numbers, of the features of the ranker in a pipeline; [] if unknown."""
    names = getattr(ranker, "feature_names_in_", None)
    names = np.arange(1, getattr(ranker, "n_features_in_", 0) + 1) if names is None else names
    names = np.array([str(name) for name in names], dtype=object)
    if ranker_in(ranker) is not ranker:
        try:
            names = ranker[:-1].get_feature_names_out(names)
        except (AttributeError, ValueError):
            return []
    return [str(name) for name in names]
