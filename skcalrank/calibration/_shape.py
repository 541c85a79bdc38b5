"""Where the losses of scores vary, in which units, and whether they are convex there."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ..columns.types import Bools, Floats

# Scores that are tried as origins, and distances that are tried as units.
_REACH = 10.0 ** np.arange(-15.0, 15.01, 0.1)

# The losses bend where their second differences are this share of their first differences, or, at
# a common minimum, their first differences this share of their second differences.
_BENT = 0.5
_EVEN = 0.1

# Parts of a grid: evenly spaced steps up to its span, and steps of this ratio up to _FAR spans.
_STEPS, _RATIO, _FAR = 3000, 1.001, 1e5

# Relative errors of values, and of their differences.
_ROUNDING, _STRAIGHT = 64 * np.finfo(float).eps, 1e-9


class Frame(NamedTuple):
    """Origin and unit of scores, and the size of the losses in them.

    The numbers of a search are in this frame, so that they do not depend on the units in which a
    loss takes its scores and is measured.

    * `origin`: the score with the smallest risk if all documents have the same one.
    * `unit`: the distance from there over which the losses bend.
    * `scale`: mean change of the losses if the score of one document moves by a unit.
    * `size`: mean absolute loss at the origin, which rounding errors are proportional to.
    """

    origin: float
    unit: float
    scale: float
    size: float

    def scores(self, u: Floats) -> Floats:
        """Return the scores that are u in this frame."""
        return self.origin + self.unit * u

    def sizes(self, u: Floats) -> Floats:
        """Return the size of the losses, and of what cancels in them, if one score is u."""
        return self.size + self.scale * (np.abs(u) + abs(self.origin) / self.unit)


def frame_of(losses: Callable[..., Any], probabilities: Any, n_documents: int) -> Frame:
    """Return the frame of losses, a function from scores to their loss under each outcome."""
    origin = _lowest(losses, probabilities, n_documents)
    here, ahead, behind = _moved(losses, origin, n_documents)
    sloped = (np.abs(ahead - behind) @ probabilities).sum(axis=1)
    curved = (np.abs(ahead + behind) @ probabilities).sum(axis=1)
    # Below the unit, second differences may be nothing but rounding errors. If all losses are
    # smallest at the origin, they are even near it.
    straight, even = curved < _BENT * sloped, sloped < _EVEN * curved
    at = _after(straight if straight.any() else even)
    # A corner at the origin is no bend.
    size = np.abs(here) @ probabilities
    rays = _are_rays(ahead, probabilities, size) & _are_rays(behind, probabilities, size)
    at += int(np.append(rays, False)[at:].argmin())
    at = min(at, len(_REACH) - 1)
    unit = float(_REACH[at])
    scale = float((np.abs([ahead[at], behind[at]]) @ probabilities).max())
    scale = scale if 0 < scale < np.inf else 1.0
    return Frame(origin, unit, scale, float(size[0]))


def _are_rays(side: Floats, probabilities: Floats, size: Floats) -> Bools:
    """Return whether changes are proportional to the distances, or too small to tell."""
    double = 3  # places of a distance on the grid for one about twice as large
    further = _REACH[double:] / _REACH[:-double]
    bends = side[double:] - further[:, None, None] * side[:-double]
    bent, change = ((np.abs(x) @ probabilities).sum(axis=1) for x in (bends, side))
    rays = change < 1e-9 * size
    rays[:-double] |= bent < _EVEN * change[:-double]
    return rays


def _after(near: Bools) -> int:
    """Return the number of the distance after the last near one; of distance 1 if there is none."""
    last = np.flatnonzero(near)
    ends = len(last) and last[-1] + 1 < len(_REACH)
    return int(last[-1]) + 1 if ends else int(np.abs(_REACH - 1.0).argmin())


def _moved(losses: Callable[..., Any], origin: float, n_documents: int) -> tuple[Floats, ...]:
    """Return the losses at equal scores, and their changes if the score of one document moves."""
    here = losses(np.full((1, n_documents), origin))
    moves = _REACH[:, None, None] * np.eye(n_documents)
    sides = [losses(origin + x.reshape(-1, n_documents)) for x in (moves, -moves)]
    ahead, behind = (side.reshape(len(_REACH), n_documents, -1) - here for side in sides)
    return here, ahead, behind


def _lowest(losses: Callable[..., Any], probabilities: Floats, n_documents: int) -> float:
    """Return a score with nearly the smallest risk if all documents have it, if possible near 0."""

    def tied(scores: Floats) -> Floats:
        risk = losses(np.repeat(scores[:, None], n_documents, axis=1)) @ probabilities
        return np.where(np.isnan(risk), np.inf, risk)

    scores = np.concatenate([-_REACH[::-1], [0.0], _REACH])
    values = tied(scores)
    here, *sides = _moved(losses, 0.0, n_documents)
    # Losses of differences do not change with a common shift but for rounding errors.
    ahead, behind = ((np.abs(side) @ probabilities).max(axis=1) for side in sides)
    change = np.concatenate([behind[::-1], [0.0], ahead])
    error = _ROUNDING * change + 1e-12 * (np.abs(here) @ probabilities)[0]
    error[~np.isfinite(error)] = 0.0
    near = np.flatnonzero(values - error <= (values + error).min())
    at = int(near[np.abs(scores[near]).argmin()])
    if not 0 < at < len(scores) - 1 or scores[at] == 0:
        return float(scores[at])
    bounds = scores[at - 1], scores[at + 1]
    options = {"xatol": 1e-9 * abs(scores[at])}
    result = minimize_scalar(
        lambda score: tied(np.array([score]))[0], bounds=bounds, method="bounded", options=options
    )
    return float(result.x if result.fun <= values[at] else scores[at])


def grid(span: float) -> Floats:
    """Return increasing scores around 0, even up to the span and geometric beyond."""
    even = np.linspace(0.0, span, _STEPS)
    beyond = span * _RATIO ** np.arange(1, int(np.log(_FAR) / np.log(_RATIO)))
    positive = np.concatenate([even[1:], beyond])
    return np.concatenate([-positive[::-1], [0.0], positive])


def are_bowls(steps: Floats, values: Floats, size: Floats, level: float) -> bool:
    """Return whether functions on a grid are convex up to a level, and above it elsewhere.

    The level is above the smallest value of each function, a row of the values. A minimum of a
    convex part is then a minimum of the function. Values are sums of terms of the given size, of
    shape (n_steps,), and have its rounding errors.
    """
    values = np.where(np.isnan(values), np.inf, values)
    inside = values <= values.min(axis=1, keepdims=True) + level
    first, last = inside.argmax(axis=1), inside.shape[1] - 1 - inside[:, ::-1].argmax(axis=1)
    if (inside.sum(axis=1) != last - first + 1).any():
        return False
    width = np.diff(steps)
    with np.errstate(invalid="ignore", over="ignore"):
        slopes = np.diff(values) / width
        size = np.maximum(np.abs(values), size)
        error = _ROUNDING * np.maximum(size[:, 1:], size[:, :-1]) / width
        error += _STRAIGHT * np.abs(slopes)
        falls = slopes[:, :-1] - slopes[:, 1:] > error[:, :-1] + error[:, 1:]
    return not (falls & inside[:, :-2] & inside[:, 1:-1] & inside[:, 2:]).any()
