"""The score of a fitted model as a tree of sums, steps, linear parts and boosted trees."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..data import handed_to, inside
from ..rankers import NDCGRanker, is_ranker
from ..trees import TreeScores


class Sum(NamedTuple):
    """Weighted scores of the rankers of a stack, or boosted trees and the scores they begin at."""

    terms: list[tuple[float, Score]]
    trees: Any = None  # a model that adds up boosted trees
    missing: tuple[int, ...] | None = None  # columns with missing values in its fit, if known


class Steps(NamedTuple):
    """A score of the columns that the steps of a pipeline make."""

    pipeline: Pipeline
    transformers: list[Any]
    score: Score


# A sum, steps, or the predictions of any other regressor, with coefficients or without.
Score: TypeAlias = Any


def score_tree(model: Any, record: Any = None) -> Score:
    """Return the score of a fitted model, or raise an error that says why it has none.

    `record` is that of the fit of a ranker around the model.
    """
    check_is_fitted(model)
    model = unwrapped(model)
    record = getattr(model, "record_", record)
    if isinstance(model, Pipeline):
        *transformers, last = steps_of(model)
        for step in transformers:
            if handed_to(step, "transform", qid="any"):
                raise ValueError(
                    f"{type(_reader(step)).__name__} reads all documents of the query, and what is "
                    "exported sees one document at a time: compute its columns where features are "
                    "computed, and export the steps behind it."
                )
        return Steps(model, transformers, score_tree(last, None if transformers else record))
    if hasattr(model, "expected_loss"):
        raise ValueError(
            f"{type(model).__name__} predicts classes, and not scores of documents: export "
            "estimator_, its regressor."
        )
    if is_ranker(model):
        if getattr(model, "surrogate_", "score") == "pairwise":
            raise ValueError(
                f"{type(model).__name__} was fitted with surrogate='pairwise', which ranks a whole "
                "query by a map of pairs of its documents and has no score for one document: fit "
                "with surrogate='score' to export it."
            )
        if getattr(model, "kernel_", "linear") != "linear":
            raise ValueError(
                f"{type(model).__name__} was fitted with a Gaussian kernel, which no format holds: "
                "fit with kernel='linear' to export it."
            )
        if hasattr(model, "named_rankers_"):
            return Sum(_weighted(_members_of(model)))
        inner = getattr(model, "estimator_", getattr(model, "ranker_", None))
        reads_codes = getattr(model, "encoder_", None) is not None
        if inner is not None and (not reads_codes or isinstance(inner, Pipeline)):
            return score_tree(inner, record)
        if inner is not None and TreeScores.of(model) is None:
            raise ValueError(
                f"{type(inner).__name__} reads codes of the columns of a table, and no format "
                "makes them: export trees of LightGBM or XGBoost, or fit it to an array."
            )
    if getattr(model, "coef_", None) is None and TreeScores.of(model) is not None:
        return Sum(_weighted(_starts_of(model)), model, getattr(record, "missing", None))
    return model


def _weighted(models: list[tuple[float, Any]]) -> list[tuple[float, Any]]:
    return [(float(weight), score_tree(model)) for weight, model in models]


def unwrapped(model: Any) -> Any:
    """Return the estimator that a search found, or that is hosted, or the estimator itself."""
    return model if (inner := inside(model)) is None else unwrapped(inner)


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline that change rows or score them."""
    return [step for _, step in model.steps if changes_rows(step)]


def changes_rows(step: Any) -> bool:
    """Return whether a step of a pipeline does anything."""
    if isinstance(step, Pipeline):
        return any(changes_rows(inner) for _, inner in step.steps)
    return step is not None and step != "passthrough"


def first_reader(model: Any) -> Any:
    """Return what knows the features of a fitted model, such as its first step that reads rows."""
    while not hasattr(model, "n_features_in_"):
        model = steps_of(model)[0] if isinstance(model, Pipeline) else inside(model)
    return model


def _reader(step: Any) -> Any:
    """Return the part of a step that sees whole queries, or the step itself."""
    lists = ("transformers_", "transformer_list", "steps")
    for _, inner, *_ in next((getattr(step, name) for name in lists if hasattr(step, name)), []):
        if hasattr(inner, "transform") and handed_to(inner, "transform", qid="any"):
            return _reader(inner)
    return step


def _members_of(stack: Any) -> list[tuple[float, Any]]:
    """Return the weight and the ranker of each score that a stack adds up."""
    if stack.normalize_ == "query":
        names = []  # of its rankers that see one document
        for name, ranker in stack.named_rankers_.items():
            with suppress(ValueError):
                score_tree(ranker)
                names.append(f"named_rankers_[{name!r}]")
        others = f"export one of its rankers, {', '.join(names)}, or " if names else ""
        raise ValueError(
            f"{type(stack).__name__} was fitted with normalize='query', which divides scores by "
            "their spread in the query, and what is exported sees one document at a time: "
            f"{others}fit a StackingRanker with normalize='pooled'."
        )
    weights = stack.weights_ / stack.spreads_
    return [(weight, ranker) for weight, ranker in zip(weights, stack.rankers_) if weight > 0]


def _starts_of(model: Any) -> list[tuple[float, NDCGRanker]]:
    """Return the rankers at whose scores the trees begin, and their weights."""
    if not hasattr(model, "model_weights_"):
        return []
    scales = np.atleast_1d(model.start_scale_)
    starts = model.start_ if len(scales) > 1 else [model.start_]
    weighted = zip(scales * model.model_weights_, starts)
    return [(weight, start) for weight, start in weighted if start is not None and weight]


def names_of_features(model: Any, names: Any = None) -> list[str]:
    """Return the names of the features: `names`, or if None those of a fitted model.

    The column with the queries of a HostedRanker is none of them.
    """
    reader = first_reader(model)
    names = getattr(reader, "feature_names_in_", None) if names is None else names
    if names is None:
        raise ValueError(
            f"{type(model).__name__} was not fitted to named columns: pass feature_names=[...], "
            "or fit to a data frame."
        )
    names = [str(name) for name in np.asarray(names, dtype=object).ravel()]
    if len(set(names)) < len(names) or len(names) != reader.n_features_in_:
        raise ValueError(
            f"feature_names must be {reader.n_features_in_} names that differ, got {names}."
        )
    while (inner := inside(model)) is not None:
        if getattr(model, "qid_column", None) is not None:
            names = names[: model.column_] + names[model.column_ + 1 :]
        model = inner
    return names
