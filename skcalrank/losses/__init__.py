"""Order-preserving losses, used by solvers, boosting and regret bounds."""

from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from ._base import EXPONENT, Loss, scaled_to_all
from ._bregman import BregmanKL, BregmanLogistic, Softmax
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
from ._templates import BregmanTemplate, PairwiseObjective, PairwiseTemplate, PreferenceTemplate

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
    "PairwiseObjective",
    "PairwiseSquared",
    "PairwiseTemplate",
    "PointwiseLoss",
    "PreferenceExponential",
    "PreferenceHinge",
    "PreferenceLogistic",
    "PreferenceLoss",
    "PreferenceSquaredHinge",
    "PreferenceTemplate",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "get_loss",
]

#: Every order-preserving loss class by its name. Tests, error messages and tables list these.
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
        Softmax,
    )
}

#: Every loss class of single preferences by its name. These losses are not calibrated in general.
PREFERENCE_LOSSES: dict[str, type[PreferenceLoss]] = {
    loss.name: loss
    for loss in (PreferenceHinge, PreferenceLogistic, PreferenceExponential, PreferenceSquaredHinge)
}


def is_order_preserving(loss: Loss) -> bool:
    """Return whether a loss is one of the package, templates included, and not a subclass."""
    return type(loss) in {*LOSSES.values(), BregmanTemplate, PairwiseTemplate}


def unknown_loss(loss: Any, names: Iterable[str]) -> ValueError:
    """Return the error for a loss that is none of some names."""
    names = list(names)
    if isinstance(loss, PreferenceLoss):
        return ValueError(
            f"loss must be a loss of targets, got {loss!r}, a loss of single preferences, which "
            "PairwiseLogisticRanker, PairwiseHingeRanker and DifferenceGraphRanker minimize. Use "
            "PairwiseLogistic(), a loss of pairs of targets, or PairwiseObjective."
        )
    alike = get_close_matches(str(loss).lower(), names, 1)
    meant = f" (did you mean {alike[0]!r}?)" if alike else ""
    return ValueError(
        f"Unknown loss {loss!r}{meant}: choose one of {', '.join(names)}, or a Loss, such as "
        "PairwiseObjective, of a function of yours."
    )


def get_loss(loss: str | Loss, **options: Any) -> Loss:
    """Return the order-preserving loss of a name.

    Parameters
    ----------
    loss : str or Loss
        A name in ``LOSSES``. A Loss object is returned unchanged.
    **options
        Options of the loss: ``eta``, ``threshold``, ``smoothing``. None means the default of the
        loss; an option that the loss does not have must be None.

    Returns
    -------
    loss : Loss

    Raises
    ------
    ValueError
        If the name is unknown (the message lists the valid names), or an option is out of its
        range or not an option of this loss.

    See Also
    --------
    skcalrank.OrderPreservingRanker : A ranker that minimizes one of these losses.

    Examples
    --------
    >>> from skcalrank.losses import get_loss
    >>> get_loss("squared_hinge", threshold=2.0)
    SquaredHinge(eta=None, threshold=2.0)
    """
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(loss, Loss):
        if options:
            raise ValueError(
                f"options must be given together with a name, got {sorted(options)} with "
                f"{loss!r}. Set them on the loss."
            )
        return loss
    if not isinstance(loss, str) or loss not in LOSSES:
        raise unknown_loss(loss, LOSSES)
    cls = LOSSES[loss]
    known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    unknown = sorted(set(options) - set(known))
    if unknown:
        has = f"only {', '.join(known)}" if known else "none"
        raise ValueError(
            f"{unknown[0]} must be None for the loss {loss!r}, which has no such option ({has}), "
            f"got {options[unknown[0]]!r}."
        )
    return cls(**options)
