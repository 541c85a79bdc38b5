"""What the ranker asks of a library of boosted trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from ..data import Floats


class Rows(NamedTuple):
    """What an engine is given to train on, or to follow.

    Attributes
    ----------
    X : ndarray or CSR matrix
    labels : ndarray of shape (n_rows,)
        What objectives of the engine read.
    sizes : ndarray of int
        Numbers of rows of the queries.
    weight : ndarray or None
        Of each row, for objectives of the engine.
    start : ndarray or None
        Scores that trees are added to.
    """

    X: Any
    labels: Floats
    sizes: np.ndarray
    weight: Any = None
    start: Any = None


class Growing(ABC):
    """Trees that grow, round by round."""

    @abstractmethod
    def grow(self) -> None:
        """Add the trees of one round."""

    @abstractmethod
    def followed(self) -> Floats:
        """Return the scores of the rows that are followed, with their start."""

    @abstractmethod
    def n_rounds(self) -> int:
        """Return how many rounds there are."""

    @abstractmethod
    def cut(self, n_rounds: int) -> Any:
        """Return the model of the first rounds."""


class Engine(ABC):
    """A library of boosted trees.

    Attributes
    ----------
    name : str
        Name of the library.
    objectives : tuple of str
        Its ranking objectives.
    takes_sparse : bool
        Whether it takes sparse matrices.
    named : dict
        What its options are called here, and the names that it has for them.
    of_objectives : tuple of str
        Beginnings of the names of options that its own ranking objectives alone read.
    of_columns : tuple of str
        Names of its options for columns of categories.
    boosters : tuple of str
        Names of its option for the kind of boosting.
    """

    name: ClassVar[str]
    objectives: ClassVar[tuple[str, ...]]
    takes_sparse: ClassVar[bool] = False
    named: ClassVar[dict[str, tuple[str, ...]]]
    of_objectives: ClassVar[tuple[str, ...]]
    of_columns: ClassVar[tuple[str, ...]]
    boosters: ClassVar[tuple[str, ...]]

    @property
    def module(self) -> Any:
        """The library, or an error that says how to get it."""
        try:
            return import_module(self.name)
        except ImportError as error:
            raise ImportError(f"engine={self.name!r} needs it: pip install {self.name}") from error

    def check(self, given: dict, *, own: bool, stops: bool) -> None:
        """Raise for options of the engine that collide, are not read, or break what is asked."""
        for parameter, names in self.named.items():
            for name in names:
                if name in given:
                    raise ValueError(
                        f"engine_params has {name!r}, which is the parameter {parameter}: set "
                        f"{parameter}=... of the ranker."
                    )
        for name in given:
            if name in self.of_columns:
                raise ValueError(
                    f"engine_params has {name!r}, which is read off X: pass a data frame whose "
                    "columns of categories have the dtype category."
                )
            if not own and name.startswith(self.of_objectives):
                raise ValueError(
                    f"engine_params has {name!r}, which only the objectives of {self.name} read "
                    f"({', '.join(self.objectives)}): leave it out, or set loss to one of them."
                )
        self._check_booster(given, stops)

    def check_known(self, given: dict, objective: str | None) -> None:
        """Raise for options that the library does not read, of which it would only warn."""
        unknown = self.unknown(given, objective) if given else []
        if unknown:
            names = ", ".join(map(repr, unknown))
            raise ValueError(
                f"engine_params has {names}, which {self.name} does not read: correct the name, or "
                "leave it out."
            )

    def _check_booster(self, given, stops):
        kind = next((str(given[name]) for name in self.boosters if name in given), "gbdt")
        why = None
        if kind in ("rf", "random_forest"):
            why = "a random forest does not boost a loss"
        elif kind == "gblinear":
            why = "it grows no trees"
        elif kind == "dart" and stops:
            why = (
                "later rounds change earlier trees, so that no round can be gone back to: set "
                "validation_fraction=None and n_estimators"
            )
        if why is not None:
            raise ValueError(f"engine_params has {self.boosters[0]}={kind!r}, and {why}.")

    def check_with_losses(self, given: dict) -> None:  # noqa: B027
        """Raise for options that break losses other than the objectives of the engine."""

    @abstractmethod
    def unknown(self, given: dict, objective: str | None) -> list[str]:
        """Return the options that the library does not read, under its own objective if any."""

    @abstractmethod
    def params(self, settings: dict, given: dict) -> dict:
        """Return the options of the library for parameters of the ranker."""

    @abstractmethod
    def start(
        self, params: dict, objective: str | Callable, rows: Rows, followed: Rows | None, kinds
    ) -> Growing:
        """Return trees before their first round; `kinds` are columns of categories."""

    @abstractmethod
    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        """Return the sums of the trees."""

    @abstractmethod
    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        """Return the sums of the trees as exact parts of the features, the last one constant."""

    @abstractmethod
    def importances(self, model: Any, n_features: int) -> Floats:
        """Return by how much splits along each feature decrease the loss."""

    @abstractmethod
    def dump(self, model: Any) -> Any:
        """Return what pickles and files hold of a model."""

    @abstractmethod
    def load(self, held: Any) -> Any:
        """Return the model of what they hold."""


def threads(n_jobs: int | None) -> int:
    """Return a number of threads for a library; 0 leaves it to the library."""
    return 0 if n_jobs is None else effective_n_jobs(n_jobs)
