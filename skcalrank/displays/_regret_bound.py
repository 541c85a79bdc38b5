"""Plot of target regret against surrogate regret, with a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..calibration import LabelDistribution, regret_bound
from ..data import Queries, arrays, check
from ..data.types import ArrayLike, Floats, Ints, Seed
from ..losses import Loss, get_loss
from ..measures import Measure, get_measure
from ..preds import get_pred
from ._base import (
    Display,
    draw_line,
    draw_zeros,
    drawn,
    literal,
    measure_label,
    paired_regrets,
    styled,
)

# Score vectors for each random distribution, and distance of infinite scores from finite ones.
_SCORES = 10
_FAR = 3.0


@dataclass(kw_only=True, eq=False, repr=False)
class RegretBoundDisplay(Display):
    """Plot of target regret against surrogate regret, with the bound of a theorem.

    Use :meth:`from_regrets` or :meth:`from_loss` to make a display.

    Parameters
    ----------
    surrogate_regret : ndarray of shape (n_points,)
        Surrogate risk of each point minus the smallest surrogate risk.
    target_regret : ndarray of shape (n_points,)
        Best value of the measure minus the value of each point.
    bound : callable, default=None
        Function from an array of surrogate regrets to the largest possible target regrets. If None,
        no bound is plotted.
    name : str, default=None
        Name of the points in the legend. If None, they have no entry.

    Attributes
    ----------
    scatter_ : matplotlib PathCollection
        The points.
    zeros_ : matplotlib Line2D or None
        Marks of points with target regret 0, on logarithmic axes.
    bound_ : matplotlib Line2D or None
        The bound.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.calibration.regret_bound : The bound of a measure and a loss.
    CalibrationFunctionDisplay : The smallest surrogate regret for a target regret.

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
        """Largest ratio of a target regret to its bound; above 1 if the bound does not hold."""
        target, bound = self.target_regret, self._bound_at(self.surrogate_regret)
        breaks = (bound == 0) & (target > 0)
        return float(np.where(breaks, np.inf, arrays.safe_divide(target, bound)).max())

    def _bound_at(self, regret: Floats) -> Floats:
        """Return the bound at each surrogate regret."""
        if self.bound is None:
            raise ValueError("largest_ratio needs a bound, got bound=None.")
        bound: Floats = np.asarray(self.bound(regret), dtype=np.float64)
        if bound.shape != regret.shape:
            raise ValueError(
                f"bound must return one number for each of {len(regret)} surrogate regrets, got "
                f"shape {bound.shape}."
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
        """Plot the points and the bound.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name of the points.
        scale : {"log", "linear"}, default="log"
            Scale of both axes. On logarithmic axes a power is a straight line, points with target
            regret 0 are ticks at the lower end, and points with both regrets 0 are left out. If no
            point has both regrets positive, axes are linear.
        scatter_kwargs : dict, default=None
            Style of the points, for matplotlib's ``scatter``.
        bound_kwargs : dict, default=None
            Style of the bound, for matplotlib's ``plot``.

        Returns
        -------
        display : RegretBoundDisplay
        """
        check.option("scale", scale, ("log", "linear"))
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

    def _draw_points(self, label: str | None, scale: str, scatter_kwargs: Any) -> None:
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

    def _draw_bound(self, scale: str, bound_kwargs: Any) -> None:
        x = self.surrogate_regret
        if scale == "log":
            grid = np.geomspace(x[x > 0].min(), x.max(), 201)
        else:
            # Denser near 0, where bounds such as the square root are steep.
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
    ) -> RegretBoundDisplay:
        """Plot given regrets.

        Parameters
        ----------
        surrogate_regret, target_regret : array-like of shape (n_points,)
            As in :class:`RegretBoundDisplay`.
        bound : callable, default=None
            As in :class:`RegretBoundDisplay`.
        ax, name, scale, scatter_kwargs, bound_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : RegretBoundDisplay

        Raises
        ------
        ValueError
            If the arrays differ in length, hold negative or infinite values, or are empty.
        """
        return cls(**_regrets(surrogate_regret, target_regret), bound=bound)

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
    ) -> RegretBoundDisplay:
        """Plot the regrets of random scores for random label distributions, and the bound.

        Scores are drawn from normal distributions around the scores of smallest conditional risk,
        each with a random standard deviation. Both regrets are exact; ties are broken in the
        worst way. For MAP, Kendall's tau and pairwise disagreement, the loss is the squared error
        of the targets of pairs, with the exact prediction map.

        Parameters
        ----------
        measure : str or Measure
            A positional measure, or one of pairs.
        loss : str or Loss
            A name in ``LOSSES``, or a loss; ``"squared"`` for measures of pairs.
        r : int, default=3
            Number of documents, from 2 to 8, since all orders are enumerated.
        n_samples : int, default=1000
            Number of points, rounded up to a multiple of ten. Ten points share a distribution of
            the labels, drawn by :meth:`skcalrank.calibration.LabelDistribution.random`.
        eta, threshold, smoothing : float, default=None
            Parameters of a loss given by its name. If `eta` is None, it is the largest target
            drawn.
        random_state : int, RandomState instance or None, default=None
            Seed of the random distributions and scores.
        name : str, default=None
            Name of the points in the legend. If None, measure and loss.
        ax, scale, scatter_kwargs, bound_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : RegretBoundDisplay

        Raises
        ------
        ValueError
            If no bound is known for the measure and the loss
            (:func:`skcalrank.calibration.regret_bound`), or a number is too small.

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
        check.count("n_samples", n_samples)
        rng = check_random_state(random_state)
        laws = [_random_law(measure, r, rng) for _ in range(-(-n_samples // _SCORES))]
        max_target = None
        if measure.shape != "pairs":
            # One eta for all distributions, as a ranker fitted to all queries has one.
            targets = np.concatenate([law.targets(measure) for law in laws])
            loss = loss.scaled_to(targets.ravel(), Queries.equal(*targets.shape))
            max_target = max(float(law.expected_targets(measure).max()) for law in laws)
        bound = partial(regret_bound, measure, loss, r=r, max_target=max_target)
        bound([0.0])  # raises if no bound is known
        points = [_points(measure, loss, law, rng) for law in laws]
        name = literal(f"{measure_label(measure)}, {loss.name}")
        return cls(**_regrets(*np.concatenate(points, axis=1)), bound=bound, name=name)


def _regrets(surrogate: Any, target: Any) -> dict[str, Any]:
    """Return validated regrets, as parameters of a display."""
    # Surrogate risks have no natural scale, so rounding errors cannot be recognized.
    return paired_regrets(0.0, surrogate_regret=surrogate, target_regret=target)


def _random_law(measure: Measure, r: int, rng: np.random.RandomState) -> LabelDistribution:
    return LabelDistribution.random(
        r,
        n_labels=rng.randint(1, r + 2),
        n_grades=2 if measure.needs_binary_labels else 3,
        preferences=measure.reads_preferences,
        random_state=rng,
    )


def _points(measure: Measure, loss: Any, law: LabelDistribution, rng: np.random.RandomState) -> Any:
    """Return surrogate and target regrets of random scores around those of smallest risk."""
    surrogate = "pairs" if measure.shape == "pairs" else loss
    best = law.surrogate_minimizer(surrogate, measure)
    finite = best[np.isfinite(best)]
    # Infinite values move to some distance from the others.
    best = np.clip(best, finite.min(initial=0.0) - _FAR, finite.max(initial=0.0) + _FAR)
    scale = (np.ptp(best) or 1.0) * 10.0 ** rng.uniform(-2, 0, size=(_SCORES, *[1] * best.ndim))
    u = best + scale * rng.normal(size=(_SCORES, *best.shape))
    scores = u if best.ndim == 1 else np.array([-_exact_positions(measure, v) for v in u])
    return law.surrogate_regret(surrogate, measure, u), law.target_regret(measure, scores)


def _exact_positions(measure: Any, u: Floats) -> Ints:
    exact = "auto" if measure.objective == "pairs" else "exact"
    return get_pred(exact, measure.objective).solve(u, **measure.problem).positions
