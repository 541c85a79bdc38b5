"""LightGBM as an engine, through its public functions."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from ..columns import arrays
from ..columns.types import Floats
from ..data import Rows, Workers, apart, workers_of_fit
from ._engine import Engine, Growing, LightGBMRounds, Task, checked_text, threads
from ._forest import Categories, Forest, Split, grown
from ._library import refuse_other_grades

# Options that name a file, which LightGBM leaves out without an error if it does not exist.
_FILES = ("forcedsplits_filename", "forcedbins_filename")

# Options with one value per column.
_PER_COLUMN = {
    *("feature_contri", "max_bin_by_feature"),
    *("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled"),
}

# Number of rows that LightGBM reads to make bins.
_MOST_ROWS = 200_000

# Options that connect workers, which are no part of a model.
_NETWORK = (
    *("machines", "num_machines", "local_listen_port"),
    *("time_out", "tree_learner", "pre_partition"),
)
_IN_MODEL = re.compile(rf"^\[({'|'.join(_NETWORK)}): .*\]\n", re.MULTILINE)

# LightGBM reads numbers up to this size as zero.
_ZERO = float(np.float32(1e-35))

# Names of the number of trees that are grown on the same share of the rows.
_FREQ = {"bagging_freq", "subsample_freq"}


class _GrowingLightGBM(Growing):
    def __init__(self, engine: LightGBM, task: Task) -> None:
        params, objective, kinds, train, valid, starts = task
        by_name = isinstance(objective, str)
        self._objective = None if by_name else lambda scores, _: objective(scores)
        self._module = engine.module
        network = {name: params[name] for name in _NETWORK if name in params}
        params = {name: value for name, value in params.items() if name not in network}
        params["objective"] = objective if by_name else "none"
        options = {"categorical_feature": kinds or "auto"}
        self._is_part = workers_of_fit().size > 1
        if self._is_part:
            options = {"reference": self._bins(train, params, options)}
        data = self._data(train, starts[0], params, by_name, **options)
        if not any(map(data.construct().feature_num_bin, range(train.X.shape[1]))):
            # LightGBM raises where it reads only zeros, or only missing categories.
            train = replace(train, X=_unsplit(*train.X.shape))
            data = self._data(train, starts[0], params, by_name)
        self.model = self._module.Booster(params | network, data)
        if valid is not None:
            followed = self._data(valid, starts[1], params, by_name, reference=data)
            self.model.add_valid(followed, "validation")

    def _bins(self, train: Rows, params: dict[str, Any], options: dict[str, Any]) -> Any:
        """Return rows with bins that are those of all workers, from a sample of their rows.

        LightGBM itself would have each worker make the bins of some columns from its own rows, and
        miss categories that only others have.
        """
        step = -(-workers_of_fit().reduce(train.n_rows, sum) // _MOST_ROWS)
        module = self._module  # not this object, which has all rows

        def first_row(samples: list[Floats]) -> bytes:
            X = arrays.stacked(samples)
            rows = module.Dataset(X, params=params, **options)
            if not any(map(rows.construct().feature_num_bin, range(X.shape[1]))):
                rows = module.Dataset(_unsplit(*X.shape), params=params)
            with TemporaryDirectory() as folder:
                path = Path(folder, "bins")
                rows.subset([0]).construct().save_binary(path)
                return path.read_bytes()

        row = workers_of_fit().reduce(_as_csr(train.X[::step]), first_row)
        with TemporaryDirectory() as folder:
            path = Path(folder, "bins")
            path.write_bytes(row)
            return module.Dataset(path, params=params).construct()

    def _data(self, rows: Rows, start: Any, params: Any, by_name: bool, **options: Any) -> Any:
        return self._module.Dataset(
            _as_csr(rows.X),
            rows.y if by_name else np.zeros(len(rows.y)),
            group=rows.queries.sizes if by_name else None,
            weight=rows.weight if by_name else None,
            init_score=start,
            params=params,
            **options,
        )

    def grow(self) -> None:
        self.model.update(fobj=self._objective)

    def followed(self) -> Floats:
        scores: Any = []
        self.model.eval_valid(lambda values, _: scores.append(values) or ("", 0.0, True))
        return scores[0]

    def n_rounds(self) -> int:
        return self.model.current_iteration()

    def cut(self, n_rounds: int) -> Any:
        # The copy does not hold the training rows.
        text = apart(self.model.model_to_string, num_iteration=n_rounds)
        text = _IN_MODEL.sub("", text) if self._is_part else text
        return apart(self._module.Booster, model_str=text)

    def close(self) -> None:
        self.model.free_network()


def _unsplit(n_rows: int, n_columns: int) -> Any:
    """Return a matrix that no tree splits, and that LightGBM takes."""
    first = np.ones(n_rows), (np.arange(n_rows), np.zeros(n_rows, dtype=int))
    return csr_matrix(first, shape=(n_rows, n_columns))


def _apart_from_zero(threshold: float) -> float:
    """Return a threshold with all numbers that LightGBM reads as zero on one side."""
    if abs(threshold) > _ZERO:
        return threshold
    return _ZERO if threshold >= 0 else float(np.nextafter(-_ZERO, -np.inf))


def _as_csr(X: Any) -> Any:
    return csr_matrix(X) if issparse(X) else X


def _length(values: Any) -> int | None:
    """Return the number of values of a list, or of its text such as "(1,0)"; None of others."""
    if isinstance(values, str):
        return values.strip("()[] ").strip(",").count(",") + 1
    return None if isinstance(values, dict) or np.ndim(values) != 1 else len(values)


class LightGBM(Engine):
    """LightGBM."""

    name = "lightgbm"
    objectives = ("lambdarank", "rank_xendcg")
    growing, rounds = _GrowingLightGBM, LightGBMRounds
    takes_sparse = has_workers = True
    lost = "^Socket "
    callbacks = "functions, such as lightgbm.record_evaluation({}),"
    marks = "categorical_feature"
    boosters = ("boosting", "boosting_type", "boost")

    def check_with_losses(self, params: dict[str, Any]) -> None:
        if str(params.get("bagging_by_query", False)).lower() in ("true", "+", "1"):
            raise ValueError(
                "bagging_by_query must be False with a loss of skcalrank.losses, got True: "
                "LightGBM would train on the wrong rows. Leave it out; subsample "
                "(bagging_fraction) then draws rows."
            )

    def check(self, params: dict[str, Any], settings: dict[str, Any], *, stops: bool) -> None:
        super().check(params, settings, stops=stops)
        names, draws = self._names(), settings["subsample"] is not None
        for name, value in params.items():
            option = names.get(name, name)
            if draws and (value == "goss" or (option == "bagging_freq" and int(value) <= 0)):
                raise ValueError(
                    f"subsample must be None with engine_params[{name!r}]={value!r}, with which "
                    "LightGBM does not read it. Leave one of them out."
                )
            if option in _FILES and value != "" and not Path(str(value)).is_file():
                raise ValueError(
                    f"engine_params[{name!r}] must be the name of a file, got {value!r}, which "
                    "does not exist. LightGBM would train without it."
                )

    def check_columns(self, params: dict[str, Any], n_columns: int) -> None:
        names = self._names()
        for name, values in params.items():
            if names.get(name, name) in _PER_COLUMN and _length(values) != n_columns:
                raise ValueError(
                    f"engine_params[{name!r}] must have one value for each of the {n_columns} "
                    f"columns that the trees read, got {values!r}."
                )

    def unknown(self, params: dict[str, Any]) -> list[str]:
        known = self._names()
        return [name for name in params if known and name not in known]

    def _names(self) -> dict[str, str]:
        """Return the option for each of its names; nothing if LightGBM has no such table."""
        if (table := getattr(self.module.basic, "_ConfigAliases", None)) is None:
            return {}
        table.get()  # loads the table
        return {name: option for option, names in table.aliases.items() for name in names}

    def params(self, settings: dict[str, Any], engine_params: dict[str, Any]) -> dict[str, Any]:
        fixed = {
            **self.options(settings),
            "metric": "none",
            "verbosity": -1,
            "deterministic": True,
            # If the filter removed all features, LightGBM would raise with a custom objective.
            "feature_pre_filter": False,
        }
        if settings["subsample"] is not None and not _FREQ & set(engine_params):
            fixed["bagging_freq"] = 1
        # By default LightGBM chooses by timing, and results would depend on the choice.
        if not {"force_row_wise", "force_col_wise"} & set(engine_params):
            fixed["force_row_wise"] = True
        return fixed | engine_params

    def time_limit(self, workers: Workers) -> int:
        return 60 * math.ceil(workers.time_limit / 60)  # its option counts minutes

    @contextmanager
    def _network(self, workers: Workers) -> Iterator[dict[str, Any]]:
        with socket.create_server(("", 0)) as server:
            port = server.getsockname()[1]
            machines = workers.gather(f"{workers.host}:{port}")
        yield {
            "machines": ",".join(machines),
            "num_machines": workers.size,
            "local_listen_port": port,
            "time_out": self.time_limit(workers) // 60,
            "tree_learner": "data",
            "pre_partition": True,
        }

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        return model.predict(_as_csr(X), raw_score=True, num_threads=threads(n_jobs, X.size))

    def staged(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Iterator[Floats]:
        options = {"raw_score": True, "num_iteration": 1, "num_threads": threads(n_jobs, X.size)}
        X, scores = _as_csr(X), np.zeros(X.shape[0])
        for number in range(model.current_iteration()):
            scores = scores + model.predict(X, start_iteration=number, **options)
            yield scores

    def contributions(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        try:
            parts: Any = model.predict(_as_csr(X), pred_contrib=True, num_threads=threads(n_jobs))
        except self.module.basic.LightGBMError as error:
            raise ValueError(
                f"LightGBM cannot split these scores into contributions of features: {error}"
            ) from error
        return parts.toarray() if issparse(parts) else parts

    def importances(self, model: Any, n_features: int) -> Floats:
        return model.feature_importance("gain").astype(float)

    def calls(self, callback: Any) -> bool:
        return callable(callback)

    def dump(self, model: Any) -> str:
        return apart(model.model_to_string, num_iteration=-1)

    def load(self, dumped: Any) -> Any:
        return apart(self.module.Booster, model_str=checked_text(dumped, "tree"))

    def booster(self, estimator: Any) -> Any:
        return estimator.booster_

    def weight(self, booster: Any) -> float:
        if "\naverage_output\n" not in apart(booster.model_to_string, num_iteration=1):
            return 1.0
        best = booster.best_iteration
        return 1 / (best if best > 0 else booster.current_iteration())

    def check_labels(self, estimator: Any, y: Floats) -> None:
        params = estimator.get_params()
        if params.get("objective") in (None, *self.objectives) and "label_gain" not in params:
            refuse_other_grades(estimator, y, "label_gain")

    def explained(self, estimator: Any, X: Any, kinds: list[int]) -> Floats:
        booster = estimator.booster_
        return self.weight(booster) * self.contributions(booster, X, kinds, estimator.n_jobs)

    def _read(self, model: Any, categories: Categories) -> Forest:
        def read(node: Any) -> Split | float:
            if "leaf_coeff" in node:
                raise ValueError(
                    "Trees have linear functions in their leaves: fit without linear_tree, or "
                    "export the text of LightGBM with to_engine."
                )
            if "leaf_value" in node:
                return float(node["leaf_value"])
            feature, kind = int(node["split_feature"]), node["missing_type"]
            ways = node["left_child"], node["right_child"]
            if node["decision_type"] == "==" and feature in categories:
                return Split(feature, list(map(int, node["threshold"].split("||"))), *ways, False)
            if node["decision_type"] != "<=" or kind == "Zero":
                raise ValueError(
                    "Trees of LightGBM split categories, or take zeros for missing: encode the "
                    "categories as numbers, fit without zero_as_missing, or export the text with "
                    "to_engine."
                )
            threshold = float(node["threshold"])
            missing_below = bool(node["default_left"] if kind == "NaN" else threshold >= 0)
            return Split(feature, _apart_from_zero(threshold), *ways, missing_below)

        best = model.best_iteration if model.best_iteration > 0 else None
        trees = apart(model.dump_model, num_iteration=best)["tree_info"]
        return grown([tree["tree_structure"] for tree in trees], read, categories)
