"""Prediction maps as objects: the problem, the solver, its guarantee and its cost."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..columns.types import ArrayLike, Floats, Ints, Self
from ..data import check
from ._objectives import OBJECTIVES
from ._stacks import PredResult, on_stack, without_rounding


def heuristic_cost(r: int) -> float:
    """Return the seconds of a search that visits all pairs a few times."""
    return 3e-6 * r**2


@dataclass(frozen=True)
class Pred:
    r"""A prediction map: from surrogate values to positions.

    A ranker runs it on the values of each query. Once registered in ``PREDS`` under its
    :attr:`key`, it is available by name for every parameter `pred`.

    Parameters
    ----------
    name : str
        Name to be passed as ``pred``.
    objective : {"positional", "map", "disagreement", "pairs"}
        Problem to solve: maximize :math:`\sum_i u_i \phi(\sigma(i))` for every
        non-increasing :math:`\phi`, maximize
        :math:`\sum_{i \ge j} u_{ij} / \max(\sigma(i), \sigma(j))`, minimize
        :math:`\sum_{i \ne j} u_{ij} 1(\sigma(i) > \sigma(j))`, or maximize :math:`\sum_{ij} u_{ij}
        B_{ij}(\sigma)` for the basis B of a measure. Each measure names its objective.
    solve : callable
        Function from a matrix of shape (r, r), or a stack of shape (n, r, r), to a
        :class:`PredResult`. If the objective is "positional", from values of shape (r,) or (n, r)
        to positions. Parameters of the problem, such as the cutoff k of MAP@k, are keywords.
    exact : bool, default=False
        Whether the positions are best for the objective.
    condition : str, default=None
        Noise condition under which positions of an inexact map are best nevertheless, by its
        name in ``skcalrank.calibration.CONDITIONS``.
    max_size : int, default=None
        Largest number of documents, above which ``solve`` raises a ``ValueError``. If None, any
        number is accepted.
    cost : callable, default=3e-6 r^2
        Function from a number of documents to the approximate seconds for a hard matrix of a stack
        on one core. Rankers with ``n_jobs`` distribute work by it.
    options : tuple of str, default=()
        Keywords that ``solve`` accepts. A ranker passes its parameters of these names.

    See Also
    --------
    get_pred : A prediction map by its name.

    Examples
    --------
    Copeland's rule, which counts won duels:

    >>> import numpy as np
    >>> from skcalrank.preds import Pred, sort_positions
    >>> def copeland(U):
    ...     return sort_positions((U > U.T).sum(axis=1))
    >>> pred = Pred.from_positions(copeland, "disagreement")
    >>> pred.key
    'disagreement_copeland'
    >>> pred.solve([[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]).positions
    array([1, 2, 3])
    """

    name: str
    objective: str
    solve: Callable[..., Any] = field(repr=False)
    exact: bool = False
    condition: str | None = None
    max_size: int | None = None
    # A default factory, because a function in the class body would become a method.
    cost: Callable[[int], float] = field(default_factory=lambda: heuristic_cost, repr=False)
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check.option("objective", self.objective, OBJECTIVES)
        if not callable(self.solve):
            raise TypeError(f"solve must be callable, got {self.solve!r}.")

    @classmethod
    def from_positions(
        cls, function: Callable[..., Any], objective: str, *, name: str | None = None, **facts: Any
    ) -> Self:
        """Make a prediction map from a function that returns positions only.

        For objectives of pairs, value and bound are computed from the positions.

        Parameters
        ----------
        function : callable
            Function from a matrix of shape (r, r) to the positions 1 to r of its documents, called
            for each query. If the objective is "positional", as ``solve``.
        objective : str
            Problem to solve, as in :class:`Pred`.
        name : str, default=None
            Name of the map. If None, the name of the function.
        **facts
            Other parameters of :class:`Pred`.

        Returns
        -------
        pred : Pred
        """
        name = getattr(function, "__name__", type(function).__name__) if name is None else name
        check.option("objective", objective, OBJECTIVES)
        solve = function
        if OBJECTIVES[objective].shape == "pairs":
            solve = _OneByOne(function, objective, name, tuple(facts.get("options", ())))
        return cls(name, objective, solve, **facts)

    @property
    def key(self) -> str:
        """Key in ``PREDS``: objective and name."""
        return f"{self.objective}_{self.name}"

    @property
    def shape(self) -> str:
        """Whether surrogate values are of "documents" or of "pairs"."""
        return OBJECTIVES[self.objective].shape

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values of the objective are better."""
        return OBJECTIVES[self.objective].larger_is_better


# Callable dataclasses compare equal, unlike partials and closures.


@dataclass(frozen=True)
class Method:
    """A function with its argument ``method`` set."""

    function: Callable[..., Any]
    method: str

    def __call__(self, U: ArrayLike, **options: Any) -> Any:
        return self.function(U, method=self.method, **options)


def preds_of_methods(
    function: Callable[..., Any], objective: str, **methods: dict[str, Any]
) -> tuple[Pred, ...]:
    """Return the prediction maps by the methods of a function, with other parameters of each."""
    return tuple(Pred(m, objective, Method(function, m), **facts) for m, facts in methods.items())


@dataclass(frozen=True)
class _OneByOne:
    """A function from one matrix to positions, applied to stacks, with value and bound."""

    function: Callable[..., Any]
    objective: str
    name: str
    options: tuple[str, ...]

    def __call__(self, U: ArrayLike, **options: Any) -> Any:
        return on_stack(lambda stack: self._solve(stack, options), U)

    def _solve(self, stack: Floats, options: dict[str, Any]) -> PredResult:
        settled, objective = without_rounding(stack, stack), OBJECTIVES[self.objective]
        own = {name: options[name] for name in options if name in self.options}
        problem = {name: options[name] for name in options if name in objective.parameters}
        positions = np.array([self._positions(U, own) for U in settled])
        return objective.result(stack, positions, self.name, **problem)

    def _positions(self, U: Floats, options: dict[str, Any]) -> Ints:
        returned, r = self.function(U, **options), len(U)
        positions = np.asarray(getattr(returned, "positions", returned))
        if not np.array_equal(np.sort(positions, axis=None), np.arange(1, r + 1)):
            raise ValueError(
                f"pred {self.name!r} must return the positions 1 to {r} of {r} documents, got "
                f"{returned!r}."
            )
        return positions.astype(np.intp).reshape(r)
