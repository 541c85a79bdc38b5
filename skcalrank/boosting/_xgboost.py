"""XGBoost as an engine, through its public functions."""

import re
import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, issparse

from ..data.types import Floats
from ._engine import Engine, Growing, threads


class _GrowingXGBoost(Growing):
    def __init__(self, engine, params, objective, kinds, train, valid, starts):
        by_name = isinstance(objective, str)
        self._objective = None if by_name else lambda scores, _: objective(scores)
        zeros = "missing" if issparse(train.X) else None
        options = _read_by_objectives(train) if by_name else {"label": np.zeros(len(train.y))}
        self._data = engine.matrix(train.X, kinds, zeros, base_margin=starts[0], **options)
        known, params = [self._data], params | ({"objective": objective} if by_name else {})
        if valid is not None:
            label = np.zeros(len(valid.y))
            self._valid = engine.matrix(valid.X, kinds, zeros, base_margin=starts[1], label=label)
            known.append(self._valid)
        self._model = engine.module.Booster(params, known)
        self._model.set_attr(zeros=zeros)

    def grow(self):
        self._model.update(self._data, self.n_rounds(), fobj=self._objective)

    def followed(self):
        return self._model.predict(self._valid, output_margin=True).astype(float)

    def n_rounds(self):
        return self._model.num_boosted_rounds()

    def cut(self, n_rounds):
        return self._model[:n_rounds]


def _read_by_objectives(rows):
    """Return the labels, queries and weights of rows as options of a DMatrix."""
    options = {"label": rows.y, "group": rows.queries.sizes}
    if rows.weight is None:
        return options
    weight = rows.weight[rows.queries.ptr[:-1]]
    if (rows.queries.repeat(weight) != rows.weight).any():
        raise ValueError(
            "sample_weight must be constant within each query for objectives of XGBoost, got "
            "different weights. Give the rows of a query the same weight, or choose a loss of "
            "skcalrank.losses."
        )
    return options | {"weight": weight}


class XGBoost(Engine):
    """XGBoost."""

    name = "xgboost"
    growing = _GrowingXGBoost
    takes_sparse = True
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
    of_columns = ("feature_types", "enable_categorical")
    boosters = ("booster",)

    def unknown(self, params: dict, objective: str | None) -> list[str]:
        # XGBoost checks these options against the columns of the data.
        of_columns = ("monotone_constraints", "interaction_constraints")
        params = {name: value for name, value in params.items() if name not in of_columns}
        if objective is not None:
            params["objective"] = objective
        module = self.module
        with warnings.catch_warnings(record=True) as told, module.config_context(verbosity=1):
            warnings.simplefilter("always")
            data = module.DMatrix(np.zeros((2, 1)), np.zeros(2))
            # XGBoost configures the model here, and warns of options that it does not use.
            module.Booster(params | {"verbosity": 1}, [data]).save_config()
        said = " ".join(str(warning.message) for warning in told)
        listed = re.search(r"Parameters: \{(.*)\} are not used", said)
        return re.findall(r'"([^"]+)"', listed[1]) if listed else []

    def params(self, settings: dict, engine_params: dict) -> dict:
        fixed = {
            **{name: settings[name] for name in ("learning_rate", "max_leaves")},
            "max_depth": 0,
            "grow_policy": "lossguide",
            "tree_method": "hist",
            "seed": settings["seed"],
            "nthread": threads(settings["n_jobs"]),
            "verbosity": 0,
            "base_score": 0.0,
        }
        return fixed | {"disable_default_eval_metric": True} | engine_params

    def matrix(self, X: Any, kinds: list[int], zeros: str | None, **options: Any) -> Any:
        """Return a DMatrix of the rows.

        `zeros` is "missing" if the trees were grown on a sparse matrix, whose zeros XGBoost reads
        as missing values; else None.
        """
        if zeros is not None:
            X = csr_matrix(X)
            X.eliminate_zeros()
        elif issparse(X):
            X = X.toarray()
        if kinds:
            types = np.where(np.isin(np.arange(X.shape[1]), kinds), "c", "q").tolist()
            options |= {"feature_types": types, "enable_categorical": True}
        return self.module.DMatrix(X, **options)

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        n_threads = threads(n_jobs)
        model.set_param({"nthread": n_threads})
        data = self.matrix(X, kinds, model.attr("zeros"), nthread=n_threads or None)
        return model.predict(data, output_margin=True).astype(float)

    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        data = self.matrix(X, kinds, model.attr("zeros"))
        return model.predict(data, pred_contribs=True).astype(float)

    def importances(self, model: Any, n_features: int) -> Floats:
        gains = model.get_score(importance_type="total_gain")
        return np.array([gains.get(f"f{i}", 0.0) for i in range(n_features)], dtype=float)

    def dump(self, model: Any) -> str:
        return model.save_raw("json").decode()

    def load(self, dumped: Any) -> Any:
        return self.module.Booster(model_file=bytearray(dumped, "utf-8"))
