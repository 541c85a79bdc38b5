"""Calibration functions: the smallest surrogate regret at which a target regret is possible."""

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize, minimize_scalar, nnls

from ..columns import arrays
from ..columns.types import Array, ArrayLike, Floats, Ints
from ..data import Queries, check
from ..losses import Loss
from ..measures import Measure, get_measure
from ..preds import Pred
from ._cones import algorithm_cones
from ._distribution import LabelDistribution
from ._gap import check_pred
from ._orders import all_positions
from ._risk import ConditionalRisk
from ._surrogates import conditional_risk

# Method of multipliers: penalties to try until one solves the program, tolerance of the
# constraints, and number of rounds.
_COSTS, _MET, _ROUNDS = (1e4, 1e6, 1e5, 1e3), 1e-10, 50

# Squared distances below this share of the squared targets are rounding errors.
_NOTHING = 1e-18

# Number of starts of the search over distributions, for surrogates that are not least squares, and
# bound of the scores in it.
_STARTS = 4
_FAR = 30.0


def calibration_function(
    surrogate: str | Loss,
    pred: str | Pred,
    measure: str | Measure,
    r: int,
    eps: ArrayLike,
    *,
    labels: ArrayLike | None = None,
) -> float | Any:
    r"""Return the smallest surrogate regret at which a target regret of eps is possible.

    .. math:: H(\varepsilon) = \inf_{p, u} \big\{ E_p \psi(Y, u) - \inf_{u'} E_p \psi(Y, u') :
        \text{target regret of } \mathrm{pred}(u) \text{ under } p \ge \varepsilon \big\}

    over all distributions p of the labels of r documents and all surrogate values u (DMJ10, eq. 3;
    DMJ13, eq. 8; CUG13, section 4). A surrogate and a prediction map are uniformly calibrated if H
    is positive for every :math:`\varepsilon > 0`. The largest convex function below H bounds the
    target regret, and no bound that holds for all distributions is sharper. If the two are not
    calibrated, H is 0 up to their level of inconsistency (Struminsky et al., 2018;
    :func:`inconsistency_level`).

    Parameters
    ----------
    surrogate, pred, measure
        As in :func:`calibration_gap`.
    r : int
        Number of documents: 2, 3 or 4; 5 takes minutes.
    eps : float or array-like
        Target regrets, non-negative.
    labels : array-like of shape (m, r) or (m, r, r), default=None
        Possible labels. If None, all relevances 0 and 1, or all full orders for Kendall's tau and
        the pairwise disagreement.

    Returns
    -------
    h : float or ndarray
        Of the shape of `eps`; infinite where no distribution has such a regret.

    Raises
    ------
    ValueError
        As in :func:`calibration_gap`, and for a negative `eps`.

    See Also
    --------
    regret_bound : Upper bound of the target regret.
    inconsistency_level : Largest target regret without surrogate regret.

    Notes
    -----
    For least squares ("squared", "pairwise_squared", "value_regularized", "pairs") the result is
    the smallest value of convex quadratic programs, one for every pair of a predicted order and a
    better order (Osokin et al., 2017). For other losses, of targets or of single preferences,
    distributions are searched from several starting points: the result is at least H, and nearly
    always equal. For two documents a preference is a binary label, and H is that of the classifier
    with the same convex function.

    Examples
    --------
    H is half the square for precision at 1, as in the regret bound. For MAP with a sort, small
    regrets are possible without surrogate regret:

    >>> from skcalrank.calibration import calibration_function
    >>> calibration_function("squared", "sort", "precision@1", 3, [0.1, 0.2]).round(4)
    array([0.005, 0.02 ])
    >>> calibration_function("squared", "sort", "map", 3, [0.03, 0.1]).round(4)
    array([0.    , 0.0022])
    >>> calibration_function("pairs", "exact", "map", 3, [0.03, 0.1]).round(4)
    array([0.001 , 0.0106])
    >>> pd = "neg_pairwise_disagreement"
    >>> calibration_function("preference_logistic", "sort", pd, 3, [0.3, 0.6]).round(4)
    array([0.    , 0.0134])
    """
    regrets = arrays.as_array(eps, "eps").astype(float)
    if not ((regrets >= 0) & (regrets < np.inf)).all():
        raise ValueError(f"eps must be finite and non-negative, got {eps!r}.")
    family = Family(surrogate, pred, measure, r, labels)
    out = np.array([family.least(regret) for regret in regrets.ravel()])
    # A regret of at least a larger eps is also one of at least a smaller eps.
    order = np.argsort(regrets.ravel())[::-1]
    out[order] = np.minimum.accumulate(out[order])
    return out.reshape(regrets.shape) if regrets.ndim else float(out[0])


def inconsistency_level(
    surrogate: str | Loss,
    pred: str | Pred,
    measure: str | Measure,
    r: int,
    *,
    labels: ArrayLike | None = None,
) -> float:
    """Return the largest target regret that is possible without any surrogate regret.

    Up to this level :func:`calibration_function` is 0 (Struminsky et al., 2018). It is 0 if
    surrogate and prediction map are calibrated. Computed by a linear program for every pair of a
    predicted order and a better order.

    Parameters
    ----------
    surrogate, pred, measure, r, labels
        As in :func:`calibration_function`; of losses only those in ``LOSSES``.

    Returns
    -------
    level : float

    Examples
    --------
    >>> from skcalrank.calibration import inconsistency_level
    >>> inconsistency_level("logistic", "sort", "ndcg@2", 3)
    0.0
    >>> round(inconsistency_level("logistic", "sort", "map", 3), 4)
    0.0556
    """
    family = Family(surrogate, pred, measure, r, labels)
    if not family.keeps_order:
        raise ValueError(
            f"surrogate must be least squares or one of LOSSES, got {surrogate!r}: the "
            "distributions under which another one has no regret do not form a polytope."
        )
    return family.level()


class Family:
    """All distributions on given labels, with values of orders and targets under each label."""

    def __init__(self, surrogate: Any, pred: Any, measure: Any, r: int, labels: Any) -> None:
        whole = law_of_all(measure, labels, r)
        self.measure: Any = whole.resolve(measure)
        risk: Any = conditional_risk(surrogate, whole, self.measure)
        self.pred = check_pred(pred, risk)
        # A surrogate of single preferences has no targets.
        aims: Any = risk.aims or (None, None)
        self.targets, self.scale = aims
        self.keeps_order = risk.certificate == "exact" and self.targets is not None
        self.surrogate, self.risk, self.whole = surrogate, risk, whole
        self.outcomes = [LabelDistribution(y[None]) for y in whole.labels]
        self.values = np.array([law.order_values(self.measure) for law in self.outcomes]).T
        # By default all documents are exchangeable, so one predicted order is enough.
        self.predicted = range(1) if labels is None else range(len(self.values))
        self.positions = all_positions(r)

    def cones(self, sigma: Ints) -> Iterator[Floats]:
        """Yield cones of the surrogate values that give an order, as rows c with ``c @ u >= 0``."""
        order = np.argsort(sigma)
        if self.pred == "exact":
            yield self.risk.ahead_of_others(sigma).reshape(-1, len(sigma) ** 2)
        elif self.pred == "topological":
            for cone in algorithm_cones(sigma):
                yield cone.reshape(len(cone), -1)
        else:
            places = order if self.pred == "sort" else order * (len(order) + 1)
            size = len(order) ** (1 if self.pred == "sort" else 2)
            entries = np.eye(size)[places]
            yield entries[:-1] - entries[1:]

    def pairs(self, eps: float) -> Iterator[tuple[int, Floats, Floats]]:
        """Yield number and cone of a predicted order, and the gains of a better one per label."""
        for number in self.predicted:
            gains = self.values - self.values[number]
            gains = gains[gains.max(axis=1) >= eps * (1 - 1e-12)]
            for cone in self.cones(self.positions[number]):
                for gain in gains:
                    yield number, cone, gain

    def least(self, eps: float) -> float:
        """Return the smallest surrogate regret at which the target regret is eps or more."""
        if eps == 0:
            return 0.0
        if self.scale is not None:
            targets = self.targets.reshape(len(self.targets), -1)
            apart = (_nearest(targets, cone, gain, eps) for _, cone, gain in self.pairs(eps))
            return self.scale * min(apart, default=np.inf)
        rng = np.random.RandomState(0)
        regrets = (self._search(number, gain, eps, rng) for number, _, gain in self.pairs(eps))
        return max(min(regrets, default=np.inf), 0.0)

    def level(self) -> float:
        """Return the largest gain under distributions whose mean targets predict a worse order."""
        targets = self.targets.reshape(len(self.targets), -1)
        largest = 0.0
        for _, cone, gain in self.pairs(0.0):
            result = linprog(
                -gain,
                A_ub=-cone @ targets.T,
                b_ub=np.zeros(len(cone)),
                A_eq=np.ones((1, len(gain))),
                b_eq=[1.0],
            )
            if result.status == 0:
                largest = max(largest, -result.fun)
        return largest if largest > 1e-9 * np.ptp(self.values) else 0.0

    def _search(self, number: int, gain: Floats, eps: float, rng: np.random.RandomState) -> float:
        """Return the smallest regret that a search finds, if another order gains eps."""
        positions = self.positions[number][None]

        def regret(p: Floats) -> tuple[Any, Floats]:
            p = np.maximum(p, 0.0)
            law = LabelDistribution(self.whole.labels, p / p.sum())
            risk = self._risk_of(law)
            u = np.array([risk.least(positions, self.pred)[2][0], risk.minimizer()])
            excess = self._excess(np.clip(u, -_FAR, _FAR))
            # By the envelope theorem the gradient is that of the risk at fixed optimal values.
            return excess @ law.probabilities, excess

        best = np.inf
        ways = [
            {"type": "eq", "fun": lambda p: p.sum() - 1.0, "jac": np.ones_like},
            {"type": "ineq", "fun": lambda p: gain @ p - eps, "jac": lambda _: gain},
        ]
        for _ in range(_STARTS):
            start = _feasible(gain, eps, rng)
            bounds = [(0.0, 1.0)] * len(gain)
            result = minimize(
                regret, start, jac=True, bounds=bounds, constraints=ways, method="SLSQP"
            )
            for p in (start, result.x):
                p = np.maximum(p, 0.0) / np.maximum(p, 0.0).sum()
                if gain @ p >= eps * (1 - 1e-7):
                    best = min(best, float(regret(p)[0]))
        return best

    def _risk_of(self, law: LabelDistribution) -> ConditionalRisk:
        """Return the conditional risk under a distribution."""
        if self.targets is None:
            return conditional_risk(self.surrogate, law, self.measure)
        kind: Any = type(self.risk)
        return kind(self.risk.loss, self.targets, law.probabilities)

    def _excess(self, u: Floats) -> Floats:
        """Return by how much the loss of the first values exceeds that of the second, per label."""
        if self.targets is None:  # of single preferences
            costs = np.array([risk.risk(u) for risk in self._risks])
            return costs[:, 0] - costs[:, 1]
        m = len(self.targets)
        queries = Queries.equal(m, self.whole.n_documents)
        v = self.targets.ravel()
        first, second = (self.risk.loss.evaluate(v, np.tile(one, m), queries) for one in u)
        return first - second

    @cached_property
    def _risks(self) -> list[ConditionalRisk]:
        """Conditional risk under each label alone."""
        return [self._risk_of(law) for law in self.outcomes]


def law_of_all(measure: Any, labels: Any, r: int) -> LabelDistribution:
    """Return the uniform distribution on labels of r documents, on all possible ones if None."""
    whole = LabelDistribution(_all_labels(get_measure(measure), r) if labels is None else labels)
    if whole.n_documents != r:
        raise ValueError(f"labels must be of r={r} documents, got {whole.n_documents}.")
    return whole


def _all_labels(measure: Measure, r: int) -> Array:
    """Return all possible labels: relevances 0 and 1, or full orders, if need be as preferences."""
    check.count("r", r, least=2, most=6)
    if measure.objective != "disagreement":
        return np.array(list(product((0, 1), repeat=r)))
    positions = all_positions(r)
    before = positions[:, :, None] < positions[:, None, :]
    return 1.0 * before if measure.reads_preferences else positions


def _feasible(gain: Floats, eps: float, rng: np.random.RandomState) -> Floats:
    """Draw a distribution under which the gain is at least eps."""
    p = rng.dirichlet(np.full(len(gain), 0.5))
    at = np.eye(len(gain))[rng.choice(np.flatnonzero(gain == gain.max()))]
    lacking = eps - gain @ p
    share = np.clip(lacking / max(gain.max() - gain @ p, 1e-300), 0.0, 1.0)
    return (1 - share) * p + share * at


def _nearest(targets: Floats, cone: Floats, gain: Floats, eps: float) -> float:
    """Return the smallest squared distance of mean targets from a cone if the gain is eps or more.

    It is the value of a quadratic program in the distribution p and the difference d from the mean
    targets: minimize ``|d|^2`` subject to ``cone @ (targets.T @ p + d) >= 0`` and ``gain @ p >=
    eps``.
    """
    n, k = len(gain), len(cone)
    # Columns: the probabilities, the slack of each row of the cone, and the slack of the gain.
    equal = np.zeros((k + 2, n + k + 1))
    equal[:k, :n] = cone @ targets.T
    equal[:k, n : n + k] = -np.eye(k)
    equal[k, :n] = 1.0
    equal[k + 1, :n], equal[k + 1, n + k] = gain, -1.0
    value = np.append(np.zeros(k), [1.0, eps])
    ways = (_multiplied(cone, equal, value, cost) for cost in _COSTS)
    way = next((way for way in ways if way is not None), None)
    if way is None:
        raise RuntimeError("A quadratic program of non-negative least squares was not solved.")
    apart = float(way @ way)
    return apart if apart > _NOTHING * np.abs(targets).max() ** 2 else 0.0


def _multiplied(cone: Floats, equal: Floats, value: Floats, cost: float) -> Floats | None:
    """Return the smallest d with ``equal @ x + cone @ d == value`` and x >= 0, or None on failure.

    By the method of multipliers: each round is a non-negative least-squares problem, in which d is
    eliminated. The last two rows do not contain d.
    """
    k = len(cone)
    inner = np.linalg.inv(np.eye(k) / cost + cone @ cone.T)
    weight = np.zeros((k + 2, k + 2))
    weight[:k, :k] = np.linalg.cholesky(inner).T
    weight[k, k] = weight[k + 1, k + 1] = np.sqrt(cost)
    multiplier = np.zeros(k + 2)
    for _ in range(_ROUNDS):
        aim = value + multiplier
        x, _ = nnls(weight @ equal, weight @ aim, maxiter=100 * equal.shape[1])
        way = cone.T @ (inner @ (aim - equal @ x)[:k])
        missing = value - equal @ x
        missing[:k] -= cone @ way
        multiplier += missing
        if np.abs(missing).max() <= _MET:
            return way
    return None


# -- the largest convex function below a calibration function, inverted -------------------
#
# For least squares with a squared distance of scale c, a predicted order and a better one, with the
# gains g of the better one and targets T under each label, and rows C of the cone of the surrogate
# values that give the predicted order, a price t of the surrogate regret leaves
#
#     max_{p, d: C (T' p + d) >= 0} <g, p> - t c |d|^2
#         = min_{y >= 0} max_l (g + T C' y)_l + |C' y|^2 / (4 t c) .
#
# The largest target regret of a mean surrogate regret s is the minimum over all prices of t s plus
# the largest of these values. Every price and every y give a bound that holds, whether or not the
# programs are solved exactly.

# Prices are searched over this many powers of e below the largest one that can be best.
_PRICES = 25.0


def largest_regret(family: Family, regret: float) -> float:
    """Return the largest target regret of any laws and values with a mean surrogate regret."""
    if regret == 0:
        return family.level()
    programs = [_Program(family, cone, gain) for _, cone, gain in family.pairs(0.0)]
    most = max((program.upper for program in programs), default=0.0)
    if most <= 0:
        return 0.0

    def bound(log_price: float) -> float:
        price, largest = np.exp(log_price), 0.0
        # Known multipliers bound the value of a program, which often need not be solved.
        for program in sorted(programs, key=lambda one: -one.value(price)):
            if program.value(price) <= largest:
                break
            program.solve(price)
            largest = max(largest, program.value(price))
        return price * regret + largest

    top = np.log(most / regret)
    found = minimize_scalar(
        bound, bounds=(top - _PRICES, top), method="bounded", options={"xatol": 1e-4}
    )
    return float(min(found.fun, most))


class _Program:
    """Program of one predicted order and a better one."""

    def __init__(self, family: Family, cone: Floats, gain: Floats) -> None:
        self.gain, self.moves = gain, cone @ family.targets.reshape(len(gain), -1).T
        self.size = cone @ cone.T / (4.0 * family.scale)
        self.y, self.upper = np.zeros(len(cone)), float(gain.max())

    def value(self, price: float, y: Any = None) -> float:
        """Return the value at multipliers, the best known ones by default."""
        y = self.y if y is None else y
        return float((self.gain + y @ self.moves).max() + y @ self.size @ y / price)

    def solve(self, price: float) -> None:
        """Improve the multipliers for a price."""
        # In units in which the quadratic term does not depend on the price.
        root = np.sqrt(price)
        size, moves = self.size, root * self.moves
        start = np.append(self.y / root, (self.gain + self.y @ self.moves).max())
        limits = np.hstack([-moves.T, np.ones((len(self.gain), 1))])
        result = minimize(
            lambda x: (x[-1] + x[:-1] @ size @ x[:-1], np.append(2 * size @ x[:-1], 1.0)),
            start,
            jac=True,
            bounds=[(0.0, None)] * len(self.y) + [(None, None)],
            constraints={
                "type": "ineq",
                "fun": lambda x: limits @ x - self.gain,
                "jac": lambda _: limits,
            },
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 200},
        )
        y = np.maximum(root * result.x[:-1], 0.0)
        if self.value(price, y) < self.value(price):
            self.y = y
