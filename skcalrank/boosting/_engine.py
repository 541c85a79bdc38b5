"""Interface between the ranker and a library of boosted trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from ..data import Floats


class Rows(NamedTuple):
    """Training or validation rows, as an engine takes them.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d)
    labels : ndarray of shape (n_rows,)
        Read by the ranking objectives of the engine only.
    sizes : ndarray of int of shape (n_queries,)
        Number of rows of each query.
    weight : ndarray of shape (n_rows,) or None
        Read by the ranking objectives of the engine only.
    start : ndarray of shape (n_rows,) or None
        Scores to which the trees are added.
    """

    X: Any
    labels: Floats
    sizes: np.ndarray
    weight: Any = None
    start: Any = None


class Growing(ABC):
    """A model in training, to which trees are added round by round."""

    @abstractmethod
    def grow(self) -> None:
        """Add the trees of one round."""

    @abstractmethod
    def followed(self) -> Floats:
        """Return the scores of the validation rows after the last round, start included."""

    @abstractmethod
    def n_rounds(self) -> int:
        """Return the number of rounds so far."""

    @abstractmethod
    def cut(self, n_rounds: int) -> Any:
        """Return the model that consists of the first `n_rounds` rounds."""


class Engine(ABC):
    """A library of boosted trees.

    Attributes
    ----------
    name : str
        Name of the library.
    objectives : tuple of str
        Names of the ranking objectives of the library.
    takes_sparse : bool
        Whether the library takes sparse matrices.
    named : dict
        Parameters of the ranker, with the names that the library has for the same option.
    of_objectives : tuple of str
        Prefixes of options that are read by the ranking objectives of the library only.
    of_columns : tuple of str
        Names of the options that list columns of categories.
    boosters : tuple of str
        Names of the option for the kind of boosting.
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
        """The imported library; an ImportError with the remedy if it is not installed."""
        try:
            return import_module(self.name)
        except ImportError as error:
            raise ImportError(
                f"engine={self.name!r} needs {self.name}: pip install {self.name}"
            ) from error

    def check(self, given: dict, *, own: bool, stops: bool) -> None:
        """Raise for options that repeat a parameter, are not read, or break early stopping."""
        for parameter, names in self.named.items():
            for name in names:
                if name in given:
                    raise ValueError(
                        f"engine_params must not contain {name!r}: set {parameter}=... of the "
                        "ranker instead."
                    )
        for name in given:
            if name in self.of_columns:
                raise ValueError(
                    f"engine_params must not contain {name!r}: pass X as a data frame whose "
                    "columns of categories have the dtype category."
                )
            if not own and name.startswith(self.of_objectives):
                raise ValueError(
                    f"engine_params contains {name!r}, which only the objectives of {self.name} "
                    f"read ({', '.join(self.objectives)}): leave it out, or set loss to one of "
                    "them."
                )
        self._check_booster(given, stops)

    def check_known(self, given: dict, objective: str | None) -> None:
        """Raise for options that the library does not read; by itself it would only warn."""
        unknown = self.unknown(given, objective) if given else []
        if unknown:
            names = ", ".join(map(repr, unknown))
            raise ValueError(
                f"engine_params contains {names}, which {self.name} does not read: correct the "
                "name, or leave it out."
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
                "later rounds change earlier trees, so early stopping cannot return to the best "
                "round: set validation_fraction=None and n_estimators"
            )
        if why is not None:
            raise ValueError(f"engine_params must not contain {self.boosters[0]}={kind!r}: {why}.")

    def check_with_losses(self, given: dict) -> None:  # noqa: B027
        """Raise for options that do not work with custom objectives."""

    @abstractmethod
    def unknown(self, given: dict, objective: str | None) -> list[str]:
        """Return the options that the library does not read with this objective (None: custom)."""

    @abstractmethod
    def params(self, settings: dict, given: dict) -> dict:
        """Return the options of the library: `settings` of the ranker, then those `given`."""

    @abstractmethod
    def start(
        self, params: dict, objective: str | Callable, rows: Rows, followed: Rows | None, kinds
    ) -> Growing:
        """Return a model without trees; `kinds` are the numbers of the columns of categories."""

    @abstractmethod
    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        """Return the sum of the trees for each row."""

    @abstractmethod
    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        """Return the share of each feature in the sum of the trees, and last a constant."""

    @abstractmethod
    def importances(self, model: Any, n_features: int) -> Floats:
        """Return how much the splits on each feature decreased the loss."""

    @abstractmethod
    def dump(self, model: Any) -> Any:
        """Return a model in the form in which pickles and files store it."""

    @abstractmethod
    def load(self, held: Any) -> Any:
        """Return the model from the form that `dump` returned."""


def threads(n_jobs: int | None) -> int:
    """Return the number of threads for a library; 0 means the default of the library."""
    return 0 if n_jobs is None else effective_n_jobs(n_jobs)
