"""LightGBM as an engine, through its public functions."""

import re
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, issparse

from ..data.types import Floats
from ._engine import Engine, Growing, threads


class _GrowingLightGBM(Growing):
    def __init__(self, engine, params, objective, kinds, train, valid, starts):
        by_name = isinstance(objective, str)
        self._objective = None if by_name else lambda scores, _: objective(scores)
        self._module = engine.module
        params = params | {"objective": objective if by_name else "none"}
        data = self._data(train, starts[0], params, by_name, categorical_feature=kinds or "auto")
        self._model = self._module.Booster(params, data)
        if valid is not None:
            followed = self._data(valid, starts[1], params, by_name, reference=data)
            self._model.add_valid(followed, "validation")

    def _data(self, rows, start, params, by_name, **options):
        return self._module.Dataset(
            _as_csr(rows.X),
            rows.y if by_name else np.zeros(len(rows.y)),
            group=rows.queries.sizes if by_name else None,
            weight=rows.weight if by_name else None,
            init_score=start,
            params=params,
            **options,
        )

    def grow(self):
        self._model.update(fobj=self._objective)

    def followed(self):
        scores = []
        self._model.eval_valid(lambda values, _: scores.append(values) or ("", 0.0, True))
        return scores[0]

    def n_rounds(self):
        return self._model.current_iteration()

    def cut(self, n_rounds):
        # The copy does not hold the training rows.
        text = self._model.model_to_string(num_iteration=n_rounds)
        return self._module.Booster(model_str=text)


def _as_csr(X):
    return csr_matrix(X) if issparse(X) else X


class LightGBM(Engine):
    """LightGBM."""

    name = "lightgbm"
    objectives = ("lambdarank", "rank_xendcg")
    growing = _GrowingLightGBM
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
    of_columns = (
        *("categorical_feature", "cat_feature", "categorical_column", "cat_column"),
        "categorical_features",
    )
    boosters = ("boosting", "boosting_type", "boost")

    def check_with_losses(self, params: dict) -> None:
        if str(params.get("bagging_by_query", False)).lower() in ("true", "+", "1"):
            raise ValueError(
                "engine_params must not contain bagging_by_query=True with a loss of "
                "skcalrank.losses: LightGBM would train on the wrong rows. Leave it out; "
                "bagging_fraction then draws rows."
            )

    def unknown(self, params: dict, objective: str | None) -> list[str]:
        del objective
        table = getattr(self.module.basic, "_ConfigAliases", None)
        if table is None:
            return [name for name, value in params.items() if not self._is_read(name, value)]
        table.get()  # loads the table
        known = {name for names in table.aliases.values() for name in names}
        return [name for name in params if name not in known]

    def _is_read(self, name, value):
        """Return whether LightGBM reads an option: another value changes the settings.

        Options that are not numbers, or invalid, count as read.
        """
        if not isinstance(value, Real):
            return True
        if isinstance(value, bool):
            other = not value
        else:
            other = value + 1 if isinstance(value, Integral) else value / 2 or 1
        try:
            return self._settings({name: value}) != self._settings({name: other})
        except self.module.basic.LightGBMError:
            return True

    def _settings(self, options):
        """Return all options with their values, from the text form of a model."""
        data = self.module.Dataset(np.zeros((2, 1)), np.zeros(2), params={"verbosity": -1})
        params = {"objective": "none", "verbosity": -1} | options
        text = self.module.Booster(params, data).model_to_string()
        return dict(re.findall(r"^\[(\w+): (.*)\]$", text, flags=re.MULTILINE))

    def params(self, settings: dict, engine_params: dict) -> dict:
        fixed = {
            "learning_rate": settings["learning_rate"],
            "num_leaves": settings["max_leaves"],
            "seed": settings["seed"],
            "num_threads": threads(settings["n_jobs"]),
            "metric": "none",
            "verbosity": -1,
            "deterministic": True,
            # If the filter removed all features, LightGBM would raise with a custom objective.
            "feature_pre_filter": False,
        }
        # By default LightGBM chooses by timing, and results would depend on the choice.
        if not {"force_row_wise", "force_col_wise"} & set(engine_params):
            fixed["force_row_wise"] = True
        return fixed | engine_params

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        del kinds  # stored in the model
        return model.predict(_as_csr(X), raw_score=True, num_threads=threads(n_jobs))

    def contributions(self, model: Any, X: Any, kinds: list[int]) -> Floats:
        del kinds
        try:
            parts: Any = model.predict(_as_csr(X), pred_contrib=True)
        except self.module.basic.LightGBMError as error:
            raise ValueError(
                f"LightGBM cannot split these scores into contributions of features: {error}"
            ) from error
        return parts.toarray() if issparse(parts) else parts

    def importances(self, model: Any, n_features: int) -> Floats:
        del n_features  # LightGBM returns all features
        return model.feature_importance("gain").astype(float)

    def dump(self, model: Any) -> str:
        return model.model_to_string(num_iteration=-1)

    def load(self, dumped: Any) -> Any:
        return self.module.Booster(model_str=dumped)
