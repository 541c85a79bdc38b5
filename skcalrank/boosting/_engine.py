"""Interface between the ranker and a library of boosted trees."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from joblib import effective_n_jobs

from ..data import check
from ..data.types import Floats


class Growing(ABC):
    """A model in training, to which trees are added round by round.

    Parameters
    ----------
    engine : Engine
    params : dict
        Options of the library.
    objective : str or callable
        Name of a ranking objective of the library, which reads the labels and weights of the rows;
        or a function that returns gradients and curvatures at scores.
    kinds : list of int
        Numbers of the columns of categories.
    train, valid : Rows
        Rows to train on, and rows to follow or None. Each query is contiguous.
    starts : tuple (ndarray or None, ndarray or None)
        Scores of these rows to which the trees are added.
    """

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
    """A library of boosted trees."""

    name: ClassVar[str]
    growing: ClassVar[type[Growing]]  # its models in training
    objectives: ClassVar[tuple[str, ...]]  # names of its ranking objectives
    takes_sparse: ClassVar[bool] = False
    # Parameters of the ranker, with the names that the library has for the same option.
    named: ClassVar[dict[str, tuple[str, ...]]]
    of_objectives: ClassVar[tuple[str, ...]]  # prefixes of options that only its objectives read
    of_columns: ClassVar[tuple[str, ...]]  # names of the options that list columns of categories
    boosters: ClassVar[tuple[str, ...]]  # names of the option for the kind of boosting

    @property
    def module(self) -> Any:
        """The imported library; an ImportError with the remedy if it is not installed."""
        remedy = f"engine={self.name!r} needs {self.name}: pip install {self.name}"
        return check.installed(self.name, remedy)

    def check(self, params: dict, objective: str | None, *, stops: bool) -> None:
        """Raise for options that repeat a parameter, are not read, or break early stopping."""
        names = {name: parameter for parameter, names in self.named.items() for name in names}
        for name in params:
            if name in names:
                raise ValueError(
                    f"engine_params must not contain {name!r}: set {names[name]}=... of the "
                    "ranker instead."
                )
            if name in self.of_columns:
                raise ValueError(
                    f"engine_params must not contain {name!r}: pass X as a data frame whose "
                    "columns of categories have the dtype category."
                )
            if objective is None and name.startswith(self.of_objectives):
                raise ValueError(
                    f"engine_params contains {name!r}, which only the objectives of {self.name} "
                    f"read ({', '.join(self.objectives)}): leave it out, or set loss to one of "
                    "them."
                )
        self._check_booster(params, stops)

    def check_known(self, params: dict, objective: str | None) -> None:
        """Raise for options that the library does not read; by itself it would only warn."""
        unknown = self.unknown(params, objective) if params else []
        if unknown:
            names = ", ".join(map(repr, unknown))
            raise ValueError(
                f"engine_params contains {names}, which {self.name} does not read: correct the "
                "name, or leave it out."
            )

    def _check_booster(self, params, stops):
        kind = next((str(params[name]) for name in self.boosters if name in params), "gbdt")
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

    def check_with_losses(self, params: dict) -> None:  # noqa: B027
        """Raise for options that do not work with custom objectives."""

    @abstractmethod
    def unknown(self, params: dict, objective: str | None) -> list[str]:
        """Return the options that the library does not read with this objective (None: custom)."""

    @abstractmethod
    def params(self, settings: dict, engine_params: dict) -> dict:
        """Return the options of the library: `settings`, then those of the user."""

    @abstractmethod
    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        """Return the sum of the trees for each row."""

    @abstractmethod
    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        """Return the share of each feature in the sum of the trees, and last a constant."""

    @abstractmethod
    def importances(self, model: Any, n_features: int) -> Floats:
        """Return how much the splits on each feature decreased the loss."""

    def dump(self, model: Any) -> Any:
        """Return a model in the form in which pickles and files store it."""
        return model

    def load(self, dumped: Any) -> Any:
        """Return the model from the form that `dump` returned."""
        return dumped


def threads(n_jobs: int | None) -> int:
    """Return the number of threads for a library; 0 means the default of the library."""
    return 0 if n_jobs is None else effective_n_jobs(n_jobs)
