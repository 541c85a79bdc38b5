"""Order-preserving losses, each written once; solvers, boosting and bounds follow from it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ._base import EXPONENT as EXPONENT
from ._base import Loss
from ._bregman import BregmanKL, BregmanLogistic
from ._pairwise import PairwiseExponential, PairwiseLogistic, PairwiseSquared
from ._pointwise import (
    DifferentiableHinge,
    Exponential,
    Logistic,
    PointwiseLoss,
    Squared,
    SquaredHinge,
)
from ._preferences import (
    PreferenceExponential,
    PreferenceHinge,
    PreferenceLogistic,
    PreferenceLoss,
    PreferenceSquaredHinge,
)
from ._templates import BregmanTemplate, PairwiseTemplate

__all__ = [
    "LOSSES",
    "PREFERENCE_LOSSES",
    "BregmanKL",
    "BregmanLogistic",
    "BregmanTemplate",
    "DifferentiableHinge",
    "Exponential",
    "Logistic",
    "Loss",
    "PairwiseExponential",
    "PairwiseLogistic",
    "PairwiseSquared",
    "PairwiseTemplate",
    "PointwiseLoss",
    "PreferenceExponential",
    "PreferenceHinge",
    "PreferenceLogistic",
    "PreferenceLoss",
    "PreferenceSquaredHinge",
    "Squared",
    "SquaredHinge",
    "get_loss",
]

#: Every order-preserving loss by its name. Tests, error messages and tables are driven by it.
LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Squared,
        Logistic,
        Exponential,
        SquaredHinge,
        DifferentiableHinge,
        PairwiseSquared,
        PairwiseLogistic,
        PairwiseExponential,
        BregmanKL,
        BregmanLogistic,
    )
}

#: Losses of single preferences, which no theorem calls calibrated.
PREFERENCE_LOSSES: dict[str, type[PreferenceLoss]] = {
    loss.name: loss
    for loss in (
        PreferenceHinge,
        PreferenceLogistic,
        PreferenceExponential,
        PreferenceSquaredHinge,
    )
}


def get_loss(loss: str | Loss, **options: Any) -> Loss:
    """An order-preserving loss by its name.

    Parameters
    ----------
    loss : str or Loss
        A name in ``LOSSES``. A loss is returned as it is.
    **options
        ``eta``, ``threshold``, ``smoothing``: what is None is left at its default, and an
        option that a loss does not have must be None.

    Returns
    -------
    Loss

    Raises
    ------
    ValueError
        For an unknown name (the valid ones are listed), or an option out of its range or
        that the loss does not have.

    Examples
    --------
    >>> from skcalrank.losses import get_loss
    >>> get_loss("squared_hinge", threshold=2.0)
    SquaredHinge(eta=None, threshold=2.0)
    """
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(loss, Loss):
        if options:
            raise ValueError(f"{sorted(options)} were given beside {loss!r}: set them on it.")
        return loss
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(f"Unknown loss {loss!r}: choose one of {', '.join(LOSSES)}.")
    cls = LOSSES[loss]
    known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    unknown = sorted(set(options) - set(known))
    if unknown:
        has = f"only {', '.join(known)}" if known else "none"
        raise ValueError(
            f"{unknown[0]}={options[unknown[0]]!r}: the loss {loss!r} has no such option ({has}), "
            "leave it None."
        )
    return cls(**options)
