"""Surrogate regret against target regret, with the bound between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..calibration import LabelDistribution, regret_bound
from ..data import ArrayLike, Floats, Queries, Seed, check_count, check_option, safe_divide
from ..losses import Loss, get_loss
from ..measures import Measure, get_measure
from ..preds import get_pred
from ._base import Display, check_regret, draw_line, draw_zeros, drawn, measure_label, styled

# Score vectors under each random law, and how far out infinite scores are put.
_SCORES = 10
_FAR = 3.0


@dataclass(kw_only=True, eq=False, repr=False)
class RegretBoundDisplay(Display):
    """Target regret against surrogate regret, and the bound that a theorem gives.

    Use :meth:`from_regrets` or :meth:`from_loss` to make one.

    Parameters
    ----------
    surrogate_regret : ndarray of shape (n_points,)
        By how much the surrogate risk of each point exceeds the least one.
    target_regret : ndarray of shape (n_points,)
        By how much the measure falls short of the best one.
    bound : callable, default=None
        Largest target regret at surrogate regrets, from array to array; None = not drawn.
    name : str, default=None
        Name of the points in the legend; None = they have no entry.

    Attributes
    ----------
    scatter_ : matplotlib PathCollection
        The points.
    zeros_ : matplotlib Line2D or None
        On logarithmic axes, where the target regret is exactly 0.
    bound_ : matplotlib Line2D or None
        The bound.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skcalrank.displays import RegretBoundDisplay
    >>> display = RegretBoundDisplay.from_regrets(
    ...     [0.0, 0.01, 0.09], [0.0, 0.05, 0.3], bound=lambda regret: 2 * np.sqrt(regret)
    ... )
    >>> round(display.largest_ratio, 3)
    0.5
    >>> plt.show()
    """

    surrogate_regret: Floats
    target_regret: Floats
    bound: Callable[..., Any] | None = None
    name: str | None = None

    @property
    def largest_ratio(self) -> float:
        """Largest ratio of a target regret to its bound; above 1 a point breaks the bound."""
        bound = self._bound_at(self.surrogate_regret)
        return float(_ratio(self.target_regret, bound).max())

    def _bound_at(self, regret):
        """Return the bound, one number for each regret."""
        bound = np.asarray(self.bound(regret), dtype=float)
        if bound.shape != regret.shape:
            raise ValueError(
                f"bound returned shape {bound.shape} for {len(regret)} surrogate regrets: it must "
                "return one number for each."
            )
        return bound

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        scale: str = "log",
        scatter_kwargs: dict[str, Any] | None = None,
        bound_kwargs: dict[str, Any] | None = None,
    ) -> RegretBoundDisplay:
        """Draw the points and the bound.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is that of the points.
        scale : {"log", "linear"}, default="log"
            Of both axes. On logarithmic ones a bound that is a power is a straight line, and
            points whose target regret is exactly 0 are ticks at the lower end; those without
            any regret are left out. Where no point has both regrets, axes are linear.
        scatter_kwargs : dict, default=None
            Style of the points, for matplotlib's ``scatter``.
        bound_kwargs : dict, default=None
            Style of the bound, for matplotlib's ``plot``.
        """
        check_option("scale", scale, ("log", "linear"))
        ax = self._open(ax)
        if not (self.surrogate_regret * self.target_regret).any():
            scale = "linear"
        label = self.name if name is None else name
        self._draw_points(label, scale, scatter_kwargs)
        self.bound_ = None
        if self.bound is not None:
            self._draw_bound(scale, bound_kwargs)
        ax.set(xscale=scale, yscale=scale, xlabel="surrogate regret", ylabel="target regret")
        if label is not None or self.bound is not None:
            ax.legend()
        return self

    def _draw_points(self, label, scale, scatter_kwargs):
        from matplotlib.collections import PathCollection

        style = styled(PathCollection, scatter_kwargs, label=label, s=12, alpha=0.5, linewidth=0)
        x, y = self.surrogate_regret, self.target_regret
        if scale == "linear":
            self.scatter_, self.zeros_ = self.ax_.scatter(x, y, **style), None
            return
        drawn, zero = (x > 0) & (y > 0), (x > 0) & (y == 0)
        self.scatter_ = self.ax_.scatter(x[drawn], y[drawn], **style)
        color = [*self.scatter_.get_facecolor(), *self.scatter_.get_edgecolor()][0]
        self.zeros_ = draw_zeros(self.ax_, x[zero], "|", color)

    def _draw_bound(self, scale, bound_kwargs):
        x = self.surrogate_regret
        if scale == "log":
            grid = np.geomspace(x[x > 0].min(), x.max(), 201)
        else:
            # Denser near 0, where a bound such as the square root is steep.
            grid = x.max() * np.linspace(0, 1, 201) ** 2
        label = f"bound (points reach {self.largest_ratio:.0%} of it)"
        style = {"label": label, "color": "black", "linewidth": 1}
        self.bound_ = draw_line(self.ax_, grid, self._bound_at(grid), bound_kwargs, **style)

    @classmethod
    @drawn(plot)
    def from_regrets(
        cls,
        surrogate_regret: ArrayLike,
        target_regret: ArrayLike,
        *,
        bound: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> RegretBoundDisplay:
        """Draw given regrets.

        Parameters
        ----------
        surrogate_regret, target_regret : array-like of shape (n_points,)
        bound : callable, default=None
            As in :class:`RegretBoundDisplay`.
        ax, name, scale, scatter_kwargs, bound_kwargs
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If the arrays differ in length, hold negative or infinite values, or none at all.
        """
        return cls(**_regrets(surrogate_regret, target_regret), bound=bound, name=name)

    @classmethod
    @drawn(plot)
    def from_loss(
        cls,
        measure: str | Measure,
        loss: str | Loss,
        *,
        r: int = 3,
        n_samples: int = 1000,
        eta: float | None = None,
        threshold: float | None = None,
        smoothing: float | None = None,
        random_state: Seed = None,
        name: str | None = None,
    ) -> RegretBoundDisplay:
        """Draw random scores under random laws of the labels, and the bound of the loss.

        Scores are normal around those of the smallest conditional risk, of a spread drawn anew
        for each; both regrets are exact, the target regret for the worst breaking of ties. For
        MAP, Kendall's tau and pairwise disagreement least squares are on the targets of pairs,
        and the prediction map is the exact one.

        Parameters
        ----------
        measure : str or Measure
            A positional measure, or one of pairs.
        loss : str or Loss
            A name in ``LOSSES``, or a loss; ``"squared"`` for measures of pairs.
        r : int, default=3
            Number of documents, from 2 to 8: all orders are enumerated.
        n_samples : int, default=1000
            Number of points, rounded up to ten for each random law,
            :meth:`skcalrank.calibration.LabelDistribution.random`.
        eta, threshold, smoothing : float, default=None
            Options of a loss given by its name; ``eta=None`` is the largest target drawn.
        random_state : int, RandomState instance or None, default=None
        name : str, default=None
            Name of the points in the legend; None = measure and loss.
        ax, scale, scatter_kwargs, bound_kwargs
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If no bound is known for the pair (:func:`skcalrank.calibration.regret_bound`), or a
            number is too small.

        Examples
        --------
        >>> from skcalrank.displays import RegretBoundDisplay
        >>> display = RegretBoundDisplay.from_loss(
        ...     "ndcg@2", "logistic", n_samples=200, random_state=0
        ... )
        >>> display.target_regret.shape
        (200,)
        >>> display.largest_ratio <= 1
        True
        """
        measure = get_measure(measure)
        loss = get_loss(loss, eta=eta, threshold=threshold, smoothing=smoothing)
        check_count("n_samples", n_samples)
        rng = check_random_state(random_state)
        laws = [_random_law(measure, r, rng) for _ in range(-(-n_samples // _SCORES))]
        max_target = None
        if measure.shape != "pairs":
            # One eta for all laws, as fitting one ranker to all queries has.
            targets = np.concatenate([law.targets(measure) for law in laws])
            loss = loss.scaled_to(targets.ravel(), Queries.equal(*targets.shape))
            max_target = max(float(law.expected_targets(measure).max()) for law in laws)
        bound = partial(regret_bound, measure, loss, r=r, max_target=max_target)
        bound([0.0])  # raises where there is none
        points = [_points(measure, loss, law, rng) for law in laws]
        name = f"{measure_label(measure)}, {loss.name}" if name is None else name
        return cls(**_regrets(*np.concatenate(points, axis=1)), bound=bound, name=name)


def _regrets(surrogate, target):
    """Return validated regrets, as the parameters of a display."""
    # A surrogate has no scale of its own by which it could be told what is rounding.
    surrogate = check_regret(surrogate, "surrogate_regret", rounding=0.0).ravel()
    target = check_regret(target, "target_regret").ravel()
    if len(surrogate) != len(target):
        raise ValueError(
            f"surrogate_regret has {len(surrogate)} values, target_regret {len(target)}: "
            "give both for every point."
        )
    return {"surrogate_regret": surrogate, "target_regret": target}


def _random_law(measure, r, rng):
    return LabelDistribution.random(
        r,
        n_labels=rng.randint(1, r + 2),
        n_grades=2 if measure.needs_binary_labels else 3,
        preferences=measure.reads_preferences,
        random_state=rng,
    )


def _points(measure, loss, law, rng):
    """Surrogate and target regret of scores around those of the smallest risk."""
    surrogate = "pairs" if measure.shape == "pairs" else loss
    best = _in_reach(law.surrogate_minimizer(surrogate, measure))
    scale = (np.ptp(best) or 1.0) * 10.0 ** rng.uniform(-2, 0, size=(_SCORES, *[1] * best.ndim))
    u = best + scale * rng.normal(size=(_SCORES, *best.shape))
    scores = u if best.ndim == 1 else np.array([-_exact_positions(measure, v) for v in u])
    return law.surrogate_regret(surrogate, measure, u), law.target_regret(measure, scores)


def _in_reach(u):
    """Surrogate values, infinite ones at some distance from the others."""
    finite = u[np.isfinite(u)]
    return np.clip(u, finite.min(initial=0.0) - _FAR, finite.max(initial=0.0) + _FAR)


def _exact_positions(measure, u):
    if measure.cutoff is None:
        return get_pred("exact", measure.objective).solve(u).positions
    # The maps of MAP have no cutoff.
    orders = np.array(list(permutations(range(1, len(u) + 1))))
    return orders[(measure.pair_basis(orders) * u).sum(axis=(1, 2)).argmax()]


def _ratio(target, bound):
    """Return target over bound; 0 where both are 0."""
    return np.where((bound == 0) & (target > 0), np.inf, safe_divide(target, bound))
