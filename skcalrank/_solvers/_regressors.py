"""Properties of regressors: whether they estimate means, and which rows they stop early on."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..columns.arrays import safe_indexing
from ..columns.types import Ints
from ..data import CutQueriesWarning, NotAMeanWarning, Rows, apart, seed_of, warn

# Names of the parameter for the loss, in scikit-learn and in libraries of boosted trees; of
# constants, for what they predict.
_LOSSES = ("loss", "criterion", "objective", "loss_function", "application", "app", "strategy")
# Losses whose minimizer is not the conditional mean, and losses that require non-negative targets,
# in lower case without separators.
_NOT_MEANS = re.compile(
    r"(mean|reg)?absolute(percentage)?error|mae|mape|(regression)?l1|(loglin|multi)?quantile"
    r"|regquantileerror|expectile|huber|regpseudohubererror|fair|lq|logcosh|regsquaredlogerror"
    r"|(squared)?epsiloninsensitive|median|constant"
)
_NON_NEGATIVE = re.compile(r"(reg)?(gamma|tweedie)|poisson|count")
# Classes of regressors that never estimate the mean, and transformers that preserve means.
_NOT_MEAN_CLASSES = re.compile(
    r"(AdaBoost|Huber|PassiveAggressive|Quantile|RANSAC|TheilSen)Regressor|(Linear|Nu)?SVR"
    r"|FrozenEstimator"
)
_AFFINE = re.compile(r"(Standard|MinMax|MaxAbs|Robust)Scaler")
# Names of the parameter for the inner regressor of a search or an ensemble.
_HOLDERS = ("estimator", "regressor", "base_estimator", "final_estimator")


def _not_a_mean(regressor: Any) -> str | None:
    """Return what keeps a regressor, apart from those inside it, from estimating means, or None."""
    name = type(regressor).__name__
    if _NOT_MEAN_CLASSES.fullmatch(name) or is_classifier(regressor):
        return name
    for parameter, loss in _losses(regressor):
        if _NOT_MEANS.fullmatch(_plain(loss)):
            return f"{name}({parameter}={loss!r})"
    if isinstance(regressor, TransformedTargetRegressor):
        func, transformer = regressor.func, regressor.transformer
        if func is not None and np.ptp(np.diff(func(np.arange(1.0, 4.0)[:, None]), axis=0)) > 1e-9:
            return f"{name} with {func!r}"
        if transformer is not None and not _AFFINE.fullmatch(type(transformer).__name__):
            return f"{name} with {transformer!r}"
    return None


def _losses(regressor: Any) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a regressor that name a loss, and the loss."""
    losses = ((name, getattr(regressor, name, None)) for name in _LOSSES)
    return ((name, loss) for name, loss in losses if isinstance(loss, str))


def _plain(loss: str) -> str:
    """Return the plain name of a loss without options: "quantile" for "Quantile:alpha=0.3"."""
    head = loss if loss.startswith("reg:") else loss.split(":")[0]
    return "".join(letter for letter in head.lower() if letter.isalnum())


def _inside(regressor: Any) -> Iterator[Any]:
    """Yield the regressor (the last step of a pipeline), and the regressors inside it."""
    while isinstance(regressor, Pipeline):
        regressor = regressor.steps[-1][1]
    yield regressor
    members = [getattr(regressor, name, None) for name in _HOLDERS]
    members += _candidates(regressor)
    # If an ensemble has a final estimator, only this one determines what is estimated.
    if not hasattr(regressor, "final_estimator"):
        members += [pair[1] for pair in getattr(regressor, "estimators", None) or ()]
    for member in members:
        if hasattr(member, "fit"):
            yield from _inside(member)


def _candidates(search: Any) -> Iterator[Any]:
    """Yield the regressors of a search with each of the words and estimators that it tries."""
    grids = getattr(search, "param_grid", getattr(search, "param_distributions", ()))
    for grid in [grids] if isinstance(grids, dict) else grids:
        for name, values in grid.items():
            # A distribution is not a list of values.
            for value in values if isinstance(values, (list, tuple, np.ndarray)) else ():
                if isinstance(value, str) or hasattr(value, "fit"):
                    yield clone(search.estimator).set_params(**{name: value})


def needs_non_negative(regressor: Any) -> bool:
    """Return whether a regressor refuses negative targets; None means Ridge, which does not."""
    return regressor is not None and any(
        get_tags(inner).target_tags.positive_only
        or any(_NON_NEGATIVE.fullmatch(_plain(loss)) for _, loss in _losses(inner))
        for inner in _inside(regressor)
    )


def why_not_a_mean(regressor: Any) -> str | None:
    """Return what keeps a regressor from estimating means, or None; None means Ridge."""
    inside = () if regressor is None else _inside(regressor)
    return next(filter(None, map(_not_a_mean, inside)), None)


def warn_unless_a_mean(regressor: Any) -> None:
    """Warn if a regressor does not estimate the conditional mean of its targets."""
    culprit = why_not_a_mean(regressor)
    if culprit is not None:
        warn(
            f"{culprit} does not estimate the conditional mean of its targets, so that rankers "
            "that use it are not calibrated. Choose a regressor trained by squared error.",
            NotAMeanWarning,
        )


def held_out_rows(
    regressor: Any, rows: Rows, of_row: Ints | None = None
) -> tuple[Ints, Ints] | None:
    """Return rows to train on and rows to hold out for early stopping, in whole queries.

    Return None if the regressor does not hold out rows for early stopping. If it does, but does
    not accept rows held out by the caller, warn and return None. For a regressor of pairs, numbers
    of pairs are returned, and `of_row` are the rows of their first documents.
    """
    of_row = np.arange(rows.n_rows) if of_row is None else of_row
    shares = [(inner, _validation_share(inner, len(of_row))) for inner in _inside(regressor)]
    name, share = next(((type(r).__name__, s) for r, s in shares if s is not None), ("", None))
    if share is None:
        return None
    n_queries = rows.queries.n_queries
    from sklearn.ensemble import HistGradientBoostingRegressor  # late, since all trees come with it

    is_trees = type(regressor) is HistGradientBoostingRegressor
    if n_queries > 1 and is_trees and has_fit_parameter(regressor, "X_val"):
        if not isinstance(rows.y, np.ndarray):  # Judgments are of documents in several queries.
            rows = replace(rows, y=np.zeros(rows.queries.n_rows))
        share = share if share < 1 else share / n_queries
        held_out = rows.held_out(share, seed_of(regressor.random_state))[0][of_row]
        return np.flatnonzero(~held_out), np.flatnonzero(held_out)
    warn(
        f"{name} stops early on rows of its own choice, which cuts queries. Set "
        "early_stopping=False (or n_iter_no_change=None if there is no such parameter), or use "
        "HistGradientBoostingRegressor of scikit-learn 1.7 or later without a wrapper, for which "
        "whole queries are held out.",
        CutQueriesWarning,
    )
    return None


def _validation_share(regressor: Any, n_rows: int) -> float | int | None:
    """Return the share of rows that a regressor holds out for early stopping, or None."""
    params = vars(regressor)
    stops = params.get("early_stopping", params.get("n_iter_no_change") is not None)
    # scikit-learn's rule for "auto".
    stops = n_rows > 10_000 if stops == "auto" else stops
    return params.get("validation_fraction") if stops else None


def fit_with_held_out(
    regressor: Any, X: Any, targets: Any, weight: Any, train: Ints, held_out: Ints
) -> Any:
    """Fit boosted trees on the rows `train`, with early stopping on the rows `held_out`."""
    arrays = {"X": X, "y": targets, "sample_weight": weight}
    arrays = {name: values for name, values in arrays.items() if values is not None}
    params = {name: safe_indexing(values, train) for name, values in arrays.items()}
    params |= {f"{name}_val": safe_indexing(values, held_out) for name, values in arrays.items()}
    # "auto" would depend on the number of training rows only.
    with with_params(regressor, early_stopping=True):
        return apart(regressor.fit, **params)


@contextmanager
def with_params(regressor: Any, **params: Any) -> Iterator[None]:
    """Set parameters of a regressor for a while, also if it raises."""
    before = {name: getattr(regressor, name) for name in params}
    regressor.set_params(**params)
    try:
        yield
    finally:
        regressor.set_params(**before)
