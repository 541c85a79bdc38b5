"""Parts of a fitted estimator, and reasons why some cannot be exported."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..pipeline import handed_to
from ..rankers import is_ranker


def unwrapped(model: Any) -> Any:
    """Return the estimator that a search found, or the estimator itself."""
    return unwrapped(model.best_estimator_) if hasattr(model, "best_estimator_") else model


def part_of(ranker: Any) -> Any:
    """Return the fitted estimator or ranker whose predictions are those of a ranker, or None."""
    held = vars(ranker)
    return held.get("estimator_", held.get("ranker_"))


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline that change rows, and its last step."""
    *before, last = [step for _, step in model.steps]
    return [step for step in before if step not in (None, "passthrough")] + [last]


def refuse_map_of_pairs(ranker: Any) -> None:
    """Raise for a ranker that has no score for each document."""
    if getattr(ranker, "surrogate_", "score") == "pairwise":
        raise ValueError(
            f"{type(ranker).__name__} was fitted with surrogate='pairwise', which ranks a whole "
            "query by a map of pairs of its documents and has no score for one document: fit with "
            "surrogate='score' to export it."
        )


def refuse_queries(step: Any) -> None:
    """Raise for a step that sees whole queries."""
    if handed_to(step, "transform", qid="any"):
        raise ValueError(
            f"{type(_reader(step)).__name__} reads all documents of the query, and what is "
            "exported sees one document at a time: compute its columns where features are "
            "computed, and export the steps behind it."
        )


def _reader(step):
    """Return the part of a step that sees whole queries, or the step itself."""
    parts = ("transformers_", "transformer_list", "steps")
    for _, part, *_ in next((getattr(step, name) for name in parts if hasattr(step, name)), []):
        if hasattr(part, "transform") and handed_to(part, "transform", qid="any"):
            return _reader(part)
    return step


def is_stack(model: Any) -> bool:
    """Return whether a model adds up the scores of others."""
    return is_ranker(model) and hasattr(model, "named_rankers_")


def members_of(stack: Any) -> list[tuple[float, Any]]:
    """Return the weight and the ranker of each score that a stack adds up."""
    if stack.normalize == "query":
        raise ValueError(
            f"{type(stack).__name__} was fitted with normalize='query', which divides scores by "
            "their spread in the query, and what is exported sees one document at a time: "
            f"{_exportable_part(stack)}fit a StackingRanker with normalize='pooled'."
        )
    weights = stack.weights_ / stack.spreads_
    return [(float(w), each) for w, each in zip(weights, stack.rankers_) if w > 0]


def _exportable_part(stack) -> str:
    """Return the advice to export a ranker of a stack, if there are any that see one document."""
    names = [repr(name) for name, each in stack.named_rankers_.items() if _is_exportable(each)]
    rankers = ", ".join(f"named_rankers_[{name}]" for name in names)
    return f"export one of its rankers, {rankers}, or " if names else ""


def _is_exportable(model) -> bool:
    try:
        check_exportable(model)
    except ValueError:
        return False
    return True


def starts_of(model) -> list[tuple[float, Any]]:
    """Return the rankers at whose scores the trees begin, and their weights."""
    if not hasattr(model, "model_weights_"):
        return []
    scales, starts = np.atleast_1d(model.start_scale_), model.start_
    starts = starts if len(scales) > 1 else [starts]
    each = zip(scales * model.model_weights_, starts)
    return [(float(weight), start) for weight, start in each if start is not None and weight]


def check_exportable(model: Any) -> Any:
    """Return the part of a fitted model that is exported, or raise an error with the reason."""
    check_is_fitted(model)
    model = unwrapped(model)
    if isinstance(model, Pipeline):
        *before, last = steps_of(model)
        for step in before:
            refuse_queries(step)
        check_exportable(last)
    elif hasattr(model, "expected_loss"):
        raise ValueError(
            f"{type(model).__name__} predicts classes, and not scores of documents: export "
            "estimator_, its regressor."
        )
    elif is_ranker(model):
        refuse_map_of_pairs(model)
        parts = members_of(model) if is_stack(model) else starts_of(model)
        for part in [*(each for _, each in parts), part_of(model)]:
            if part is not None:
                check_exportable(part)
    return model


def names_of_features(model: Any, given: Any) -> list[str]:
    """Return the names that are given, or the names of the features of a fitted model."""
    names = getattr(model, "feature_names_in_", None) if given is None else given
    if names is None:
        raise ValueError(
            f"{type(model).__name__} was not fitted to named columns: pass feature_names=[...], "
            "or fit to a data frame."
        )
    names = [str(name) for name in np.asarray(names, dtype=object).ravel()]
    if len(set(names)) < len(names) or len(names) != model.n_features_in_:
        raise ValueError(
            f"feature_names must be {model.n_features_in_} names that differ, got {names}."
        )
    return names
