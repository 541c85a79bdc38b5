"""Properties of regressors: whether they estimate means, and which rows they stop early on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import has_fit_parameter

from ..data import CutQueriesWarning, Ints, NotAMeanWarning, warn

# Names of the parameter for the loss, in scikit-learn and in libraries of boosted trees.
_LOSSES = ("loss", "criterion", "objective", "loss_function", "application", "app")
# Losses whose minimizer is not the conditional mean, in lower case without separators.
_NOT_MEANS = {
    "absoluteerror",
    "quantile",
    "huber",
    "epsiloninsensitive",
    "squaredepsiloninsensitive",
    "regressionl1",
    "l1",
    "loglinquantile",
    "mae",
    "mape",
    "meanabsoluteerror",
    "meanabsolutepercentageerror",
    "fair",
    "lq",
    "expectile",
    "logcosh",
    "regabsoluteerror",
    "regquantileerror",
    "regpseudohubererror",
    "regsquaredlogerror",
    "multiquantile",
}
_NOT_MEAN_CLASSES = {
    "HuberRegressor",
    "LinearSVR",
    "NuSVR",
    "PassiveAggressiveRegressor",
    "QuantileRegressor",
    "RANSACRegressor",
    "SVR",
    "TheilSenRegressor",
}
# Affine transformers of targets, which preserve means.
_LINEAR = {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"}
# Losses that require non-negative targets.
_NON_NEGATIVE = {"poisson", "gamma", "tweedie", "count", "reggamma", "regtweedie"}
# Names of the parameter for the inner regressor of a search or an ensemble.
_HOLDERS = ("estimator", "regressor", "base_estimator", "final_estimator")


def why_not_a_mean(regressor: Any) -> str | None:
    """Return a description of the part of a regressor that does not estimate means, or None."""
    for inner in _inside(regressor):
        name = type(inner).__name__
        if name in _NOT_MEAN_CLASSES:
            return name
        for parameter in _LOSSES:
            loss = getattr(inner, parameter, None)
            if isinstance(loss, str) and _plain(loss) in _NOT_MEANS:
                return f"{name}({parameter}={loss!r})"
        if (
            isinstance(inner, TransformedTargetRegressor)
            and (part := _not_affine(inner)) is not None
        ):
            return f"{name} with {part!r}"
    return None


def _not_affine(regressor: TransformedTargetRegressor) -> Any:
    """Return the transformation of targets if it is not affine, so that means change, or None."""
    func, transformer = regressor.func, regressor.transformer
    if func is not None and np.ptp(np.diff(func(np.arange(1.0, 4.0)[:, None]), axis=0)) > 1e-9:
        return func
    return None if type(transformer).__name__ in {"NoneType", *_LINEAR} else transformer


def _plain(loss: str) -> str:
    """Return the plain name of a loss without options: "quantile" for "Quantile:alpha=0.3"."""
    head = loss if loss.startswith("reg:") else loss.split(":")[0]
    return "".join(letter for letter in head.lower() if letter.isalnum())


def _inside(regressor: Any) -> Iterator[Any]:
    """Yield the regressor (the last step of a pipeline), and the regressors inside it."""
    while isinstance(regressor, Pipeline):
        regressor = regressor.steps[-1][1]
    yield regressor
    # If an ensemble has a final estimator, only this one determines what is estimated.
    held = (getattr(regressor, name, None) for name in _HOLDERS)
    members = [each for each in held if hasattr(each, "fit")]
    if "final_estimator" not in vars(regressor):
        members += [each[1] for each in getattr(regressor, "estimators", None) or ()]
    for member in members:
        if hasattr(member, "fit"):
            yield from _inside(member)


def needs_non_negative(regressor: Any) -> bool:
    """Return whether a regressor refuses negative targets; None means Ridge, which does not."""
    return regressor is not None and any(
        get_tags(inner).target_tags.positive_only
        or any(_plain(str(getattr(inner, name, ""))) in _NON_NEGATIVE for name in _LOSSES)
        for inner in _inside(regressor)
    )


def warn_unless_a_mean(regressor: Any) -> None:
    """Warn if a regressor does not estimate the conditional mean of its targets."""
    culprit = why_not_a_mean(regressor)
    if culprit is not None:
        warn(
            f"{culprit} does not estimate the conditional mean of its targets, so that rankers "
            "that use it are not calibrated. Choose a regressor trained by squared error.",
            NotAMeanWarning,
        )


def held_out_queries(regressor: Any, codes: Ints) -> tuple[Ints, Ints] | None:
    """Return rows to train on and rows to hold out for early stopping, in whole queries.

    Return None if the regressor does not hold out rows for early stopping. If it does, but does
    not accept rows held out by the caller, warn and return None.
    """
    shares = [(inner, _validation_share(inner, len(codes))) for inner in _inside(regressor)]
    name, share = next(((type(e).__name__, s) for e, s in shares if s is not None), ("", None))
    if share is None:
        return None
    if _takes_validation_rows(regressor) and codes.max() > 0:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=regressor.random_state)
        return next(splitter.split(codes, groups=codes))
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


def _takes_validation_rows(regressor: Any) -> bool:
    return type(regressor) is HistGradientBoostingRegressor and has_fit_parameter(
        regressor, "X_val"
    )


def fit_with_held_out(
    regressor: Any, X: Any, targets: Any, weight: Any, train: Ints, held_out: Ints
) -> Any:
    """Fit boosted trees on the rows `train`, with early stopping on the rows `held_out`."""
    arrays = {"X": X, "y": targets, "sample_weight": weight}
    arrays = {name: values for name, values in arrays.items() if values is not None}
    given = {name: _safe_indexing(values, train) for name, values in arrays.items()}
    given |= {f"{name}_val": _safe_indexing(values, held_out) for name, values in arrays.items()}
    # "auto" would depend on the number of training rows only.
    asked = regressor.early_stopping
    regressor.set_params(early_stopping=True).fit(**given)
    return regressor.set_params(early_stopping=asked)
