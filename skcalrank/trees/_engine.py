"""Interface between the ranker and a library of boosted trees."""

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from ..columns import arrays
from ..columns.types import Floats
from ..data import LostWorkerError, OutOfRangeError, Rows, Workers, is_forked, openmp_threads
from ._forest import Categories, Forest, constant_of
from ._library import Library
from ._option_names import ALIASES, NAMES, names_in, option_in, remedy

#: Values of the measure after each round so far, by the name of the evaluation set.
Values = dict[str, list[float]]


class Rounds:
    """Calls nothing before and after the rounds of one training."""

    def before(self, number: int) -> bool:
        """Call what comes before the round of a number from 0 on; return whether training stops."""
        return False

    def after(self, number: int, values: Values) -> bool:
        """Call what comes after a round; return whether training stops."""
        return False

    def end(self) -> None:
        """Call what comes after the last round."""


class LightGBMRounds(Rounds):
    """Calls callbacks of LightGBM, in their order, as ``lightgbm.train`` does."""

    def __init__(
        self, callbacks: Any, model: Any, measure: str, module: Any, params: Any, n_rounds: int
    ) -> None:
        ordered = sorted(callbacks, key=lambda callback: getattr(callback, "order", 0))
        self._first = [call for call in ordered if getattr(call, "before_iteration", False)]
        self._last = [call for call in ordered if call not in self._first]
        self._module, self._model, self._params = module, model, dict(params)
        self._measure, self._n_rounds = measure, n_rounds

    def before(self, number: int) -> bool:
        return self._call(self._first, number, None)

    def after(self, number: int, values: dict[str, list[float]]) -> bool:
        # Since version 4.7 results are a class of their own.
        result = getattr(self._module, "EvalResult", lambda *parts: parts)
        results = [result(name, self._measure, of[-1], True) for name, of in values.items()]
        return self._call(self._last, number, results)

    def _call(self, callbacks: list[Any], number: int, results: list[Any] | None) -> bool:
        library, rounds = self._module.callback, (number, 0, self._n_rounds)  # from the first on
        environment = library.CallbackEnv(self._model, self._params, *rounds, results)
        try:
            for callback in callbacks:
                callback(environment)
        except library.EarlyStopException:
            return True
        return False


class XGBoostRounds(Rounds):
    """Calls callbacks of XGBoost as ``xgboost.train`` does."""

    def __init__(self, calls: Any, model: Any, measure: str, module: Any, *_: Any) -> None:
        stops = module.callback.EarlyStopping
        # This class goes on with the best value and the patience of the training before.
        self._callbacks = [deepcopy(call) if isinstance(call, stops) else call for call in calls]
        self._model, self._measure = model, measure
        self._log: dict[str, dict[str, list[float]]] = {}
        for callback in self._callbacks:
            callback.before_training(model)

    def before(self, number: int) -> bool:
        calls = [call.before_iteration(self._model, number, self._log) for call in self._callbacks]
        return any(calls)

    def after(self, number: int, values: dict[str, list[float]]) -> bool:
        self._log = {name: {self._measure: of} for name, of in values.items()}
        calls = [call.after_iteration(self._model, number, self._log) for call in self._callbacks]
        return any(calls)

    def end(self) -> None:
        for callback in self._callbacks:
            callback.after_training(self._model)


# The trees of some libraries read smaller columns as 0 (LightGBM up to 1e-35), and larger values
# as infinite (XGBoost).
_SMALLEST, LARGEST = 1e-31, float(np.finfo(np.float32).max)

# Number of cells for each thread, which waits for the others after each feature and leaf: with
# fewer, two threads take more time than they save, and most of it beside another program.
_CELLS = 5e6

# What trees of LightGBM and XGBoost declare and take memory for, in their texts; texts within; and
# more levels than they have.
_COUNTS = re.compile(
    r"\b(num_(?:leaves|cat|class|features|target|nodes|trees|parallel_tree|tree_per_iteration)"
    r"|size_leaf_vector|tree_sizes|cat_boundaries)(?:=|\"\s*:)[\s\"]*([+-]?\d[\d ]*)"
)
_QUOTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_DEEPEST = 64

# Kinds of boosting that grow no trees for a loss, and what forbids those that drop trees.
_OF_FORESTS = "a random forest does not boost a loss"
_NO_BOOSTING = {"rf": _OF_FORESTS, "random_forest": _OF_FORESTS, "gblinear": "it grows no trees"}
_DROPPING = (
    "later rounds change earlier trees, so early stopping cannot return to the best round: set "
    "validation_fraction=None and n_estimators"
)


class Task(NamedTuple):
    """What trees are grown for.

    * `params` (dict): options of the library.
    * `objective` (str or callable): name of a ranking objective of the library, which reads the
      labels and weights of the rows; or a function that returns gradients and curvatures at scores.
    * `kinds` (list of int): numbers of the columns of categories.
    * `train`, `valid` (Rows): rows to train on, together with the workers that have others, and
      rows to follow or None, which are those of all workers. Each query is contiguous.
    * `starts`: scores of these rows to which the trees are added.
    """

    params: dict[str, Any]
    objective: Any
    kinds: list[int]
    train: Any
    valid: Rows | None
    starts: Any


class Growing(ABC):
    """A model in training, to which trees are added round by round."""

    model: Any

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

    def close(self) -> None:  # noqa: B027
        """End the connections to other workers."""


class Engine(Library, ABC):
    """A library of boosted trees, which grows the trees of :class:`BoostedRanker`."""

    growing: ClassVar[Callable[..., Growing]]  # its models in training
    rounds: ClassVar[Callable[..., Rounds]]  # calls the callbacks of a user, if `calls` takes any
    objectives: ClassVar[tuple[str, ...]]  # names of its ranking objectives
    takes_sparse: ClassVar[bool] = False
    drops: ClassVar[tuple[str, ...]] = ()  # options that drop trees, whatever the booster
    has_workers: ClassVar[bool] = False  # whether several processes can train together
    lost: ClassVar[str] = ""  # what its errors say of another process that does not answer
    callbacks: ClassVar[str] = "None, or those of engine='lightgbm' or 'xgboost'"  # what it calls
    boosters: ClassVar[tuple[str, ...]]  # names of the option for the kind of boosting

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("growing", "objectives", "boosters"):
            if not hasattr(cls, name):
                raise TypeError(f"{cls.__name__} must set {name}, which has no default.")
        if cls.name not in NAMES:
            raise TypeError(f"{cls.__name__}.name must be one of {[*NAMES]}, got {cls.name!r}.")

    def check(self, params: dict[str, Any], settings: dict[str, Any], *, stops: bool) -> None:
        """Raise for options that repeat or undo a parameter, or break early stopping.

        `settings` are the options of the trees, None if they are not given.
        """
        names = names_in(self.name)
        for name in params:
            if name in names:
                raise ValueError(
                    f"engine_params must not contain {name!r}: set {names[name]}=... of the "
                    "ranker instead."
                )
        self._check_booster(params, stops)

    def check_known(self, params: dict[str, Any], objective: str | None) -> None:
        """Raise for options that the library does not read; by itself it would only warn."""
        by_name = {} if objective is None else {"objective": objective}
        if params and (unknown := self.unknown(params | by_name)):
            hints = (remedy(name) for name in unknown if name in ALIASES)
            raise ValueError(
                f"engine_params contains {', '.join(map(repr, unknown))}, which {self.name} does "
                f"not read: {next(hints, 'correct the name, or leave it out.')}"
            )

    def _check_booster(self, params: dict[str, Any], stops: bool) -> None:
        given = next((name for name in self.boosters if name in params), "")
        kind = str(params.get(given))
        why = _NO_BOOSTING.get(kind, "")
        if stops and not why:
            dropping = (name for name in self.drops if params.get(name))
            given = given if kind == "dart" else next(dropping, "")
            why = _DROPPING if given else ""
        if why:
            raise ValueError(f"engine_params must not contain {given}={params[given]!r}: {why}.")

    def check_rows(self, rows: Rows, names: Any, objective: str | None) -> None:
        """Raise for rows of fit that the library would misread without an error.

        `names` are those of the columns, and `objective` is that of the library, or None.
        """
        weight = None if objective is None or not rows.n_rows else rows.weight
        if weight is not None and not _SMALLEST <= weight.max() <= 1 / _SMALLEST:
            raise ValueError(
                f"The largest sample_weight must be between {_SMALLEST:g} and {1 / _SMALLEST:g} "
                f"for {objective!r}, which computes in single precision, got {weight.max():g}. "
                "Divide the weights by it."
            )
        for name, size in zip(names, arrays.sizes_of_columns(rows.X).tolist()):
            if size > LARGEST:
                raise OutOfRangeError(
                    f"X must have values up to {LARGEST:.2g}, the largest number of single "
                    f"precision, got {size:.3g}",
                    name,
                    "Divide the column by a number, or replace values that stand for missing ones "
                    "by NaN.",
                )
            if 0 < size < _SMALLEST:
                raise OutOfRangeError(
                    f"X must have columns that reach {_SMALLEST:g}, or of 0 alone, since trees may "
                    f"read smaller values as 0, got at most {size:.3g}",
                    name,
                    "Multiply the column by a number, or leave it out.",
                )

    def check_with_losses(self, params: dict[str, Any]) -> None:
        """Raise for options that do not work with custom objectives, which `params` may have."""

    def check_columns(self, params: dict[str, Any], n_columns: int) -> None:
        """Raise for options with one value per column that do not match the columns."""

    @abstractmethod
    def unknown(self, params: dict[str, Any]) -> list[str]:
        """Return the options that the library does not read, with the objective among them."""

    @abstractmethod
    def params(self, settings: dict[str, Any], engine_params: dict[str, Any]) -> dict[str, Any]:
        """Return the options of the library: `settings`, then those of the user."""

    def options(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings that are given, under the names of the library where it has one."""
        given = [(option_in(self.name, name), value) for name, value in settings.items()]
        return {option: value for option, value in given if option and value is not None}

    @contextmanager
    def connected(self, workers: Workers) -> Iterator[dict[str, Any]]:
        """Return a context in which workers grow trees together, and options of the library."""
        if workers.size == 1:
            yield {}
            return
        try:
            with self._network(workers) as options:
                yield options
        except Exception as error:
            reason = str(error).strip()
            if re.search(self.lost, reason) is None:
                raise
            raise LostWorkerError(
                f"A worker failed, or did not answer within {self.time_limit(workers):g} seconds. "
                f"{self.name} says: {reason.splitlines()[0]}"
            ) from error

    def time_limit(self, workers: Workers) -> int:
        """Return the seconds after which the library takes another worker for lost."""
        return math.ceil(workers.time_limit)

    def _network(self, workers: Workers) -> AbstractContextManager[dict[str, Any]]:
        """Return a context in which several workers are connected, and options of the library."""
        raise NotImplementedError

    @abstractmethod
    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        """Return the sum of the trees for each row."""

    @abstractmethod
    def staged(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Iterator[Floats]:
        """Yield the sum of the trees up to each round for each row."""

    @abstractmethod
    def contributions(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        """Return the share of each feature in the sum of the trees, and last a constant."""

    @abstractmethod
    def importances(self, model: Any, n_features: int) -> Floats:
        """Return how much the splits on each feature decreased the loss."""

    def calls(self, callback: Any) -> bool:
        """Return whether the library calls a callback."""
        return False

    def splits(self, model: Any, X: Any, kinds: list[int]) -> bool:
        """Return whether a tree has a split, given rows of fit."""
        return bool(self.importances(model, X.shape[1]).any())

    def forest(
        self, model: Any, n_columns: int, categories: Categories, weight: float = 1.0
    ) -> Forest:
        """Return the trees of a model as arrays, for so many columns of a matrix of a table.

        Raises ValueError unless the trees are sums of splits of numbers and of codes.
        """
        predict = partial(self.predict, model, kinds=list(categories), n_jobs=None)
        forest = self._read(model, categories)
        forest.constant = constant_of(forest, n_columns, categories, predict)
        forest.weight = weight
        return forest

    @abstractmethod
    def _read(self, model: Any, categories: Categories) -> Forest:
        """Return the trees, without what the library adds to them."""

    def dump(self, model: Any) -> Any:
        """Return a model in the form in which pickles and files store it."""
        return model

    def load(self, dumped: Any) -> Any:
        """Return the model from the form that `dump` returned."""
        return dumped


def checked_text(text: str, start: str) -> str:
    """Return the text of a model whose counts and depth are those of a text of its length.

    The libraries take memory for what a text declares, and read other forms than those that `dump`
    returns, which begin with `start`. Counts of one kind are compared with the text together.
    """
    declared: Counter[str] = Counter()
    for name, found in _COUNTS.findall(text):
        counts = [int(count) for count in found.split()]
        whole = max if name == "cat_boundaries" else sum  # boundaries are sums already
        declared[name] += whole(counts) if min(counts) >= 0 else len(text) + 1
    marks = re.findall(r"[][{}]", _QUOTED.sub("", text))
    depth = max(accumulate(1 if mark in "[{" else -1 for mark in marks), default=0)
    most = max(declared.values(), default=0)
    if not text.startswith(start) or depth > _DEEPEST or most > len(text):
        raise ValueError("its trees are not what their library writes")
    return text


def threads(n_jobs: int | None, n_cells: float = np.inf) -> int:
    """Return the number of threads for a library; 0 means the default of the library.

    None is one for every ``_CELLS`` cells of a matrix, as far as the default goes.
    """
    if is_forked():
        return 1
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    return 0 if n_cells == np.inf else max(1, min(int(n_cells / _CELLS), openmp_threads()))
