"""XGBoost as an engine, through its public functions."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from ..columns.types import Floats, Ints
from ..data import Rows, Workers, apart, warn
from ._engine import LARGEST, Engine, Growing, Task, XGBoostRounds, checked_text, threads
from ._forest import Categories, Forest, Split, grown
from ._library import refuse_other_grades
from ._shap import summing_to

# Number of rows in which values that are equal in single precision are looked for. Columns with as
# many values as XGBoost has bins may lose some.
_MOST_ROWS, _BINS = 2000, 256

# Nodes that split categories and the codes of these, in texts; and most bits for each character,
# of which a node has one for each code up to its largest.
_CATEGORIES = [re.compile(rf'"categories{end}"\s*:\s*\[([^]]*)') for end in ("_nodes", "")]
_MOST_BITS = 256

# Relative difference up to which values are taken for one value with rounding errors.
_ROUNDING = 2.0**-44


class _GrowingXGBoost(Growing):
    def __init__(self, engine: XGBoost, task: Task) -> None:
        params, objective, kinds, train, valid, starts = task
        by_name = isinstance(objective, str)
        self._objective = None if by_name else lambda scores, _: objective(scores)
        zeros = "missing" if issparse(train.X) else None
        options: dict[str, Any] = {"nthread": params["nthread"] or None}
        labels = train.y if by_name else np.zeros(len(train.y))
        if by_name:
            options["group"] = train.queries.sizes
            if train.weight is not None:
                options["weight"] = train.weight[train.queries.ptr[:-1]]
        options |= {"label": labels, "base_margin": starts[0]}
        self._data = engine.matrix(train.X, kinds, zeros, **options)
        known, params = [self._data], params | ({"objective": objective} if by_name else {})
        if valid is not None:
            options = {"label": np.zeros(len(valid.y)), "nthread": options["nthread"]}
            self._valid = engine.matrix(valid.X, kinds, zeros, base_margin=starts[1], **options)
            self._has_unknown = bool(kinds) and bool(np.isnan(valid.X[:, kinds]).any())
            known.append(self._valid)
        self.model = engine.module.Booster(params, known)
        self.model.set_attr(zeros=zeros)
        self._kinds = kinds

    def grow(self) -> None:
        self.model.update(self._data, self.n_rounds(), fobj=self._objective)

    def followed(self) -> Floats:
        if not self._has_unknown:
            return self.model.predict(self._valid, output_margin=True).astype(float)
        n = self.n_rounds()
        latest = _unknown_with_most(self.model[n - 1 : n])
        scores = latest.predict(self._valid, output_margin=True)
        self._valid.set_base_margin(scores)  # to which the next trees are added
        return scores.astype(float)

    def n_rounds(self) -> int:
        return self.model.num_boosted_rounds()

    def cut(self, n_rounds: int) -> Any:
        model = self.model[:n_rounds]
        return _unknown_with_most(model) if self._kinds else model


def _unknown_with_most(model: Any) -> Any:
    """Return a model whose splits send codes that none of them has learned where most rows go.

    XGBoost has no direction for them: it keeps the first one, that of the larger scores.
    """
    written = json.loads(apart(model.save_raw, "json"))
    grown = written["learner"]["gradient_booster"]
    for tree in grown.get("gbtree", grown)["model"].get("trees", ()):
        left, right, rows = tree["left_children"], tree["right_children"], tree["sum_hessian"]
        for node in tree["categories_nodes"]:
            tree["default_left"][node] = int(rows[left[node]] >= rows[right[node]])
    model.load_model(bytearray(json.dumps(written), "utf-8"))
    return model


# Held while the number of threads of a model is compared and set.
_SETTING = Lock()


def _is_told_apart(column: Floats) -> bool:
    """Return whether the trees tell the values of a column apart in single precision."""
    values = np.unique(column[~np.isnan(column)])
    equal = np.diff(values.astype(np.float32)) == 0
    n_equal = (equal & (np.diff(values) > _ROUNDING * np.abs(values[1:]))).sum()
    # Among many values of a continuous column some may be equal by chance.
    return len(values) - equal.sum() >= _BINS or n_equal <= len(values) / 100


def _in_range(values: Floats) -> Floats:
    """Return numbers of which those beyond single precision are moved to its ends."""
    ends = (end.reduce(values, axis=None, initial=0.0) for end in (np.fmax, np.fmin))
    return values if max(map(abs, ends)) <= LARGEST else np.clip(values, -LARGEST, LARGEST)


def _last_below(threshold: Any) -> float:
    """Return the largest number that is below a threshold after rounding to single precision."""
    with np.errstate(all="ignore"):  # next to the largest number
        before = np.nextafter(threshold, np.float32(-np.inf))
        middle = (float(before) + float(threshold)) / 2
        return middle if np.float32(middle) < threshold else float(np.nextafter(middle, -np.inf))


def _set_threads(model: Any, n_threads: int) -> None:
    """Set the number of threads of a model that has another one; 0 keeps that of the training.

    Setting it while another thread predicts is an error in that thread.
    """
    with _SETTING:
        if vars(model).get("n_threads_set", 0) != n_threads:
            model.set_param({"nthread": n_threads})
            model.n_threads_set = n_threads


class XGBoost(Engine):
    """XGBoost."""

    name = "xgboost"
    growing, rounds = _GrowingXGBoost, XGBoostRounds
    takes_sparse = has_workers = True
    lost = "collective.result"  # the file of its source
    # From version 3.3 on without booster="dart"; those before read neither without it.
    drops = ("rate_drop", "one_drop")
    objectives = ("rank:ndcg", "rank:pairwise", "rank:map")
    callbacks = "objects of xgboost.callback.TrainingCallback"
    boosters = ("booster",)

    def check_rows(self, rows: Rows, names: Any, objective: str | None) -> None:
        super().check_rows(rows, names, objective)
        weight, queries = None if objective is None else rows.weight, rows.queries
        if weight is not None and (queries.repeat(weight[queries.ptr[:-1]]) != weight).any():
            raise ValueError(
                "sample_weight must be constant within each query for objectives of XGBoost, got "
                "different weights. Give the rows of a query the same weight, or choose a loss of "
                "skcalrank.losses."
            )
        if issparse(rows.X):
            return  # of counts and flags
        sample = rows.X[:: -(-rows.n_rows // _MOST_ROWS)].T
        equal = [repr(name) for name, x in zip(names, sample) if not _is_told_apart(x)]
        if equal:
            warn(
                "XGBoost reads numbers in single precision, which makes different values equal in "
                f"the columns [{', '.join(equal)}] of X. Subtract a number near their values, "
                "replace values that stand for missing ones by NaN, or choose engine='lightgbm'."
            )

    def check(self, params: dict[str, Any], settings: dict[str, Any], *, stops: bool) -> None:
        super().check(params, settings, stops=stops)
        if params.get("tree_method") == "exact":
            raise ValueError(
                "engine_params must not contain tree_method='exact', which does not read "
                "max_leaf_nodes. Leave it out, or choose 'hist' or 'approx'."
            )
        device = str(params.get("device", "cpu"))
        if device != "cpu" and not self.module.build_info()["USE_CUDA"]:
            raise ValueError(
                f"engine_params contains device={device!r}, and the installed XGBoost has no code "
                "for it: leave it out, or install xgboost in place of xgboost-cpu."
            )

    def unknown(self, params: dict[str, Any]) -> list[str]:
        module = self.module
        with warnings.catch_warnings(record=True) as told, module.config_context(verbosity=1):
            warnings.simplefilter("always")
            data = module.DMatrix(np.zeros((2, 1)), np.zeros(2), nthread=1)
            # XGBoost configures the model here, and warns of options that it does not use.
            try:
                module.Booster(params | {"verbosity": 1}, [data]).save_config()
            except module.core.XGBoostError as error:
                reason = str(error).partition("\n")[0].rpartition(": ")[2]
                raise ValueError(f"XGBoost refuses engine_params={params!r}: {reason}") from error
        said = " ".join(str(warning.message) for warning in told)
        listed = re.search(r"Parameters: \{(.*)\} are not used", said)
        return re.findall(r'"([^"]+)"', listed[1]) if listed else []

    def params(self, settings: dict[str, Any], engine_params: dict[str, Any]) -> dict[str, Any]:
        fixed = {
            **self.options(settings),
            "max_depth": 0,
            "grow_policy": "lossguide",
            "tree_method": "hist",
            "verbosity": 0,
            "base_score": 0.0,
        }
        # In a list of sets, XGBoost would look for names of columns.
        for name, kind in {"monotone_constraints": tuple, "interaction_constraints": str}.items():
            if name in fixed:
                fixed[name] = kind(fixed[name])
        return fixed | {"disable_default_eval_metric": True} | engine_params

    @contextmanager
    def _network(self, workers: Workers) -> Iterator[dict[str, Any]]:
        collective, limit = self.module.collective, self.time_limit(workers)
        tracker, options = None, {}
        try:
            if workers.rank == 0:
                tracker = self.module.RabitTracker(
                    workers.size, workers.host, sortby="task", timeout=limit
                )
                tracker.start()
                options = tracker.worker_args()
            options = workers.gather(options)[0] | {"dmlc_timeout": limit}
            # The tracker sorts the workers by their names.
            collective.init(**options, dmlc_task_id=f"{workers.rank:09}")
            yield {}
            collective.finalize()
            if tracker is not None:
                tracker.wait_for(limit)
        except BaseException:
            workers.leave()  # or the others would not come to the end that this one waits for
            with suppress(self.module.core.XGBoostError):
                collective.finalize()
            raise
        finally:
            with suppress(self.module.core.XGBoostError):
                if tracker is not None:
                    tracker.free()

    def matrix(self, X: Any, kinds: list[int], zeros: str | None, **options: Any) -> Any:
        """Return a DMatrix of the rows.

        `zeros` is "missing" if the trees were grown on a sparse matrix, whose zeros XGBoost reads
        as missing values; else None.
        """
        if zeros is not None:
            X = csr_matrix(X)
            if X.count_nonzero() < X.nnz:
                X = X.copy()  # the caller's entries stay
                X.eliminate_zeros()
            X.data = _in_range(X.data)
        else:
            X = _in_range(X.toarray() if issparse(X) else X)
        if kinds:
            types = np.where(np.isin(np.arange(X.shape[1]), kinds), "c", "q").tolist()
            options |= {"feature_types": types, "enable_categorical": True}
        return self.module.DMatrix(X, **options)

    def predict(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        _set_threads(model, threads(n_jobs))
        zeros = model.attr("zeros")
        if zeros is None and not issparse(X):  # without the copy of a DMatrix
            return model.inplace_predict(_in_range(X), predict_type="margin").astype(float)
        data = self.matrix(X, kinds, zeros, nthread=threads(n_jobs, X.size) or None)
        return model.predict(data, output_margin=True).astype(float)

    def staged(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Iterator[Floats]:
        _set_threads(model, threads(n_jobs))
        data = self.matrix(X, kinds, model.attr("zeros"), nthread=threads(n_jobs, X.size) or None)
        for number in range(model.num_boosted_rounds()):
            scores = model.predict(data, output_margin=True, iteration_range=(number, number + 1))
            data.set_base_margin(scores)  # to which the next trees are added
            yield scores.astype(float)

    def contributions(self, model: Any, X: Any, kinds: list[int], n_jobs: int | None) -> Floats:
        _set_threads(model, threads(n_jobs))
        data = self.matrix(X, kinds, model.attr("zeros"), nthread=threads(n_jobs, X.size) or None)
        parts = model.predict(data, pred_contribs=True).astype(float)
        # The library adds in single precision.
        return summing_to(parts, self.predict(model, X, kinds, n_jobs), "XGBoost")

    def importances(self, model: Any, n_features: int) -> Floats:
        gains = model.get_score(importance_type="total_gain")
        return np.array([gains.get(f"f{i}", 0.0) for i in range(n_features)], dtype=float)

    def calls(self, callback: Any) -> bool:
        return isinstance(callback, self.module.callback.TrainingCallback)

    def dump(self, model: Any) -> str:
        return apart(model.save_raw, "json").decode()

    def load(self, dumped: Any) -> Any:
        text = checked_text(dumped, '{"')
        nodes, codes = (re.findall(r"\d+", " ".join(p.findall(text))) for p in _CATEGORIES)
        if len(nodes) * max(map(int, codes), default=0) > _MOST_BITS * len(text):
            raise ValueError("its trees are not what their library writes")
        return apart(self.module.Booster, model_file=bytearray(text, "utf-8"))

    def takes(self, estimator: Any) -> Any:
        tags = super().takes(estimator)
        tags.string = False  # of versions that read pandas categories, but no text
        return tags

    def booster(self, estimator: Any) -> Any:
        booster, best = estimator.get_booster(), getattr(estimator, "best_iteration", None)
        return booster if best is None else booster[: best + 1]  # as it predicts

    def arguments(self, estimator: Any, rows: Rows) -> dict[str, Ints]:
        taken = super().arguments(estimator, rows)
        if "qid" in taken and rows.weight is not None:
            taken["sample_weight"] = rows.queries.mean(rows.weight)  # one for each query
        return taken

    def check_labels(self, estimator: Any, y: Floats) -> None:
        params = estimator.get_params()
        if params.get("objective") == "rank:ndcg" and params.get("ndcg_exp_gain") is not False:
            refuse_other_grades(estimator, y, "ndcg_exp_gain=False")

    def mark(self, estimator: Any, n_columns: int, kinds: list[int]) -> dict[Any, Any]:
        types = ["c" if column in kinds else "q" for column in range(n_columns)]
        estimator.set_params(enable_categorical=True, feature_types=types)
        return {}

    def explained(self, estimator: Any, X: Any, kinds: list[int]) -> Floats:
        booster = self.booster(estimator)
        data = self.module.DMatrix(
            X,
            missing=estimator.missing,
            feature_names=booster.feature_names,
            feature_types=booster.feature_types,
            enable_categorical=bool(kinds),
        )
        return booster.predict(data, pred_contribs=True)

    def _read(self, model: Any, categories: Categories) -> Forest:
        if model.attr("zeros") is not None:
            raise ValueError(
                "The trees of XGBoost were grown on a sparse matrix, whose zeros are missing: fit "
                "to X.toarray()."
            )
        names = model.feature_names or [f"f{i}" for i in range(model.num_features())]
        numbers = {name: number for number, name in enumerate(names)}

        def read(node: Any) -> Split | float:
            if "leaf" in node:
                return float(np.float32(node["leaf"]))
            feature, below_if = numbers[node["split"]], node["split_condition"]
            child = {below["nodeid"]: below for below in node["children"]}
            if isinstance(below_if, (int, float)):
                below_if = _last_below(np.float32(below_if))
            elif feature not in categories:
                raise ValueError(
                    f"A tree of XGBoost splits categories of {node['split']}: encode them as "
                    "numbers."
                )
            ways = child[node["yes"]], child[node["no"]]
            return Split(feature, below_if, *ways, node["missing"] == node["yes"])

        roots = list(map(json.loads, apart(model.get_dump, dump_format="json")))
        return grown(roots, read, categories, is_single=True)
