"""LightGBM and XGBoost behind one door, by their public functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_matrix, issparse

from ..data import Floats

# Of gains 2^y - 1, which both libraries keep as whole numbers; of average precision.
_LARGEST_GRADE = {"lambdarank": 30, "rank_xendcg": 30, "rank:ndcg": 31, "rank:map": 1}


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
        Whether what is absent from a sparse matrix is zero.
    named : dict
        What its options are called here, and the names that it has for them.
    of_objectives : tuple of str
        Beginnings of the names of options that its own ranking objectives alone read.
    boosters : tuple of str
        Names of its option for the kind of boosting.
    """

    name: ClassVar[str]
    objectives: ClassVar[tuple[str, ...]]
    takes_sparse: ClassVar[bool] = False
    named: ClassVar[dict[str, tuple[str, ...]]]
    of_objectives: ClassVar[tuple[str, ...]]
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
            if not own and name.startswith(self.of_objectives):
                raise ValueError(
                    f"engine_params has {name!r}, which only the objectives of {self.name} read "
                    f"({', '.join(self.objectives)}): leave it out, or set loss to one of them."
                )
        self._check_booster(given, stops)

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
    def dump(self, model: Any) -> str:
        """Return a model as text."""

    @abstractmethod
    def load(self, text: str) -> Any:
        """Return the model of a text."""


def _threads(n_jobs):
    return 0 if n_jobs is None else effective_n_jobs(n_jobs)


class LightGBM(Engine):
    """LightGBM."""

    name = "lightgbm"
    objectives = ("lambdarank", "rank_xendcg")
    takes_sparse = True
    named: ClassVar = {
        "loss": ("objective", "objective_type", "app", "application", "loss"),
        "n_estimators": (
            *("n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees"),
            *("num_round", "num_rounds", "nrounds", "num_boost_round", "max_iter"),
        ),
        "learning_rate": ("learning_rate", "shrinkage_rate", "eta"),
        "max_leaves": ("num_leaves", "num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes"),
        "n_iter_no_change": (
            *("early_stopping_round", "early_stopping_rounds", "early_stopping"),
            "n_iter_no_change",
        ),
        "random_state": ("seed", "random_seed", "random_state"),
        "n_jobs": ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs"),
        "measure": ("metric", "metrics", "metric_types"),
        "verbose": ("verbosity", "verbose"),
    }
    of_objectives = ("lambdarank_", "label_gain", "max_position", "sigmoid")
    boosters = ("boosting", "boosting_type", "boost")

    def check(self, given: dict, *, own: bool, stops: bool) -> None:
        super().check(given, own=own, stops=stops)
        if not own and str(given.get("bagging_by_query", False)).lower() in ("true", "+", "1"):
            raise ValueError(
                "engine_params has bagging_by_query=True, with which LightGBM trains on the wrong "
                "rows under a loss that is not one of its own: leave it out, bagging_fraction then "
                "draws rows."
            )

    def params(self, settings: dict, given: dict) -> dict:
        fixed = {
            "learning_rate": settings["learning_rate"],
            "num_leaves": settings["max_leaves"],
            "seed": settings["seed"],
            "num_threads": _threads(settings["n_jobs"]),
            "metric": "none",
            "verbosity": -1,
            "deterministic": True,
            # Where no feature is left, a loss that is not its own makes LightGBM raise.
            "feature_pre_filter": False,
        }
        # Otherwise it is timed which of the two is faster, and results depend on it.
        if not {"force_row_wise", "force_col_wise"} & set(given):
            fixed["force_row_wise"] = True
        return fixed | given

    def start(self, params, objective, rows, followed, kinds):
        return _GrowingLightGBM(self.module, params, objective, rows, followed, kinds)

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        del kinds  # which the model knows
        threads = {"num_threads": _threads(n_jobs)}
        found: Floats = model.predict(_as_csr(X), raw_score=True, **threads)
        return found

    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        del kinds
        found: Floats = model.predict(X, pred_contrib=True)
        return found

    def importances(self, model: Any, n_features: int) -> Floats:
        del n_features  # of which all are there
        found: Floats = model.feature_importance("gain").astype(float)
        return found

    def dump(self, model: Any) -> str:
        text: str = model.model_to_string(num_iteration=-1)
        return text

    def load(self, text: str) -> Any:
        return self.module.Booster(model_str=text)


class _GrowingLightGBM(Growing):
    def __init__(self, module, params, objective, rows, followed, kinds):
        own = isinstance(objective, str)
        self._objective = None if own else lambda scores, _: objective(scores)
        self._module = module
        params = params | {"objective": objective if own else "none"}
        data = self._data(rows, params, own, categorical_feature=kinds or "auto")
        self._model = module.Booster(params, data)
        if followed is not None:
            other = self._data(followed, params, own, reference=data)
            self._model.add_valid(other, "validation")

    def _data(self, rows, params, own, **options):
        return self._module.Dataset(
            _as_csr(rows.X),
            rows.labels if own else np.zeros(len(rows.labels)),
            group=rows.sizes if own else None,
            weight=rows.weight if own else None,
            init_score=rows.start,
            params=params,
            **options,
        )

    def grow(self):
        self._model.update(fobj=self._objective)

    def followed(self):
        found = []
        self._model.eval_valid(lambda scores, _: found.append(scores) or ("", 0.0, True))
        return found[0]

    def n_rounds(self):
        return self._model.current_iteration()

    def cut(self, n_rounds):
        # The copy holds no rows.
        text = self._model.model_to_string(num_iteration=n_rounds)
        return self._module.Booster(model_str=text)


def _as_csr(X):
    return csr_matrix(X) if issparse(X) else X


class XGBoost(Engine):
    """XGBoost."""

    name = "xgboost"
    objectives = ("rank:ndcg", "rank:pairwise", "rank:map")
    named: ClassVar = {
        "loss": ("objective",),
        "n_estimators": ("n_estimators", "num_boost_round"),
        "learning_rate": ("eta", "learning_rate"),
        "max_leaves": ("max_leaves",),
        "n_iter_no_change": ("early_stopping_rounds",),
        "random_state": ("seed", "random_state"),
        "n_jobs": ("nthread", "n_jobs"),
        "measure": ("eval_metric", "disable_default_eval_metric"),
        "verbose": ("verbosity",),
    }
    of_objectives = ("lambdarank_", "ndcg_exp_gain")
    boosters = ("booster",)

    def params(self, settings: dict, given: dict) -> dict:
        fixed = {
            **{name: settings[name] for name in ("learning_rate", "max_leaves")},
            "max_depth": 0,
            "grow_policy": "lossguide",
            "tree_method": "hist",
            "seed": settings["seed"],
            "nthread": _threads(settings["n_jobs"]),
            "verbosity": 0,
            "base_score": 0.0,
        }
        return fixed | {"disable_default_eval_metric": True} | given

    def start(self, params, objective, rows, followed, kinds):
        return _GrowingXGBoost(self, params, objective, rows, followed, kinds)

    def matrix(self, X: Any, kinds: list[int], **options: Any) -> Any:
        """Return the rows as XGBoost takes them."""
        if kinds:
            types = np.where(np.isin(np.arange(X.shape[1]), kinds), "c", "q").tolist()
            options |= {"feature_types": types, "enable_categorical": True}
        return self.module.DMatrix(X, **options)

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        threads = _threads(n_jobs)
        model.set_param({"nthread": threads})
        data = self.matrix(X, kinds, nthread=threads or None)
        found: Any = model.predict(data, output_margin=True)
        return found.astype(float)  # type: ignore[no-any-return]

    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        found: Any = model.predict(self.matrix(X, kinds), pred_contribs=True)
        return found.astype(float)  # type: ignore[no-any-return]

    def importances(self, model: Any, n_features: int) -> Floats:
        found = model.get_score(importance_type="total_gain")
        return np.array([found.get(f"f{i}", 0.0) for i in range(n_features)], dtype=float)

    def dump(self, model: Any) -> str:
        text: str = model.save_raw("json").decode()
        return text

    def load(self, text: str) -> Any:
        return self.module.Booster(model_file=bytearray(text, "utf-8"))


class _GrowingXGBoost(Growing):
    def __init__(self, engine, params, objective, rows, followed, kinds):
        own = isinstance(objective, str)
        self._objective = None if own else lambda scores, _: objective(scores)
        self._data = _matrix(engine, rows, own, kinds)
        self._followed = None if followed is None else _matrix(engine, followed, False, kinds)
        known = [data for data in (self._data, self._followed) if data is not None]
        params = params | ({"objective": objective} if own else {})
        self._model = engine.module.Booster(params, known)

    def grow(self):
        self._model.update(self._data, self.n_rounds(), fobj=self._objective)

    def followed(self):
        return self._model.predict(self._followed, output_margin=True).astype(float)

    def n_rounds(self):
        return self._model.num_boosted_rounds()

    def cut(self, n_rounds):
        return self._model[:n_rounds]


def _matrix(engine, rows, own, kinds):
    """Return rows with labels and a start; with queries for objectives of XGBoost."""
    options = {"label": rows.labels if own else np.zeros(len(rows.labels))}
    if own:
        options["group"] = rows.sizes
        if rows.weight is not None:
            options["weight"] = _weights_of_queries(rows)
    if rows.start is not None:
        options["base_margin"] = rows.start
    return engine.matrix(rows.X, kinds, **options)


def _weights_of_queries(rows):
    first = np.append(0, rows.sizes.cumsum()[:-1])
    if (np.repeat(rows.weight[first], rows.sizes) != rows.weight).any():
        raise ValueError(
            "sample_weight differs within a query, and the objectives of xgboost take one weight "
            "for each query: give its rows the same, or choose a loss of skcalrank.losses."
        )
    return rows.weight[first]


def grades_for(objective: str, labels: Floats) -> Floats:
    """Return labels, or raise for those that an objective of an engine does not take."""
    most = _LARGEST_GRADE.get(objective, np.inf)
    strange = labels[(labels < 0) | (labels > most) | (labels % 1 != 0)]
    if len(strange) and most < np.inf:
        raise ValueError(
            f"loss={objective!r} takes whole grades from 0 to {most}, and y holds "
            f"{strange[0]:g}: choose a loss of skcalrank.losses."
        )
    return labels


#: Every engine by its name, the one that is preferred first.
ENGINES: dict[str, Engine] = {engine.name: engine for engine in (LightGBM(), XGBoost())}


def preferred() -> Engine | None:
    """Return the first engine that is installed; None where there is none."""
    found = (engine for engine in ENGINES.values() if find_spec(engine.name) is not None)
    return next(found, None)
