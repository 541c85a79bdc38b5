"""Boosted trees as the benchmark trains them: LightGBM and XGBoost, with any objective."""

from __future__ import annotations

import time
from functools import cache, partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from skcalrank.boosting import (
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)
from skcalrank.metrics import ndcg_score

__all__ = [
    "LIBRARIES",
    "TARGETS",
    "Budget",
    "Choice",
    "LightGBM",
    "LinearLeaves",
    "Size",
    "XGBoost",
    "cpu_seconds",
]


class Choice(NamedTuple):
    """A calibrated objective."""

    loss: str = "pairwise_squared"
    target: str = "NDCG@10"
    alike: bool = False

    def __str__(self):
        return f"{self.loss} on {self.target}{', queries alike' * self.alike}"


TARGETS: dict[str, dict] = {
    "grade": {"measure": "dcg", "gain": "linear"},
    "gain": {"measure": "dcg"},
    "NDCG@10": {"measure": "ndcg@10"},
    "relevant": {"measure": "precision", "relevance_level": 1},
}


class Alike:
    """An objective under which every query weighs the same, whatever its size."""

    def __init__(self, objective, sizes):
        self.objective = objective
        self.weight = np.repeat(1.0 / sizes, sizes)

    def __call__(self, scores, data):
        gradient, curvature = self.objective(scores, data)
        return gradient * self.weight, curvature * self.weight


def build(make, objective, sizes):
    """What the library is given: a name of its own, or one of our functions."""
    if isinstance(objective, str):
        return objective
    function = make(loss=objective.loss, **TARGETS[objective.target])
    return Alike(function, sizes) if objective.alike else function


class Size(NamedTuple):
    """Settings that every learner is picked from."""

    rate: float = 0.1
    leaves: int = 15

    def __str__(self):
        return f"rate {self.rate:g}, {self.leaves} leaves"


class Budget(NamedTuple):
    """How long every learner is trained, on what grid, and how often."""

    rounds: int
    patience: int
    sizes: list
    seeds: int
    picking_seeds: int
    threads: int
    share: float


class Fit(NamedTuple):
    """A trained model."""

    predict: Any
    valid: float
    seconds: float
    rounds: int


class Trainer:
    """A library on one split, its data prepared once; `start` are scores to begin with."""

    def __init__(self, module, split, budget, start=None):
        self.module, self.split, self.budget, self.start = module, split, budget, start
        self.train, self.valid = self.prepare()
        # Seeds and sizes that were tried while picking are not trained again.
        self.fit = cache(self._fit)

    def _fit(self, objective, size, seed):
        begin = time.process_time()
        predict, rounds = self.boost(objective, size, seed)
        seconds = time.process_time() - begin
        _, valid, _ = self.split
        scores = self.added(predict, 1)
        return Fit(predict, ndcg_score(valid.y, scores, qid=valid.qid, k=10), seconds, rounds)

    def added(self, predict, part):
        """Scores of a part: those of the trees, and the start."""
        scores = predict(self.split[part].X)
        return scores if self.start is None else scores + self.start[part]


class LightGBM(Trainer):
    name, own = "LightGBM", ("lambdarank", "rank_xendcg")
    leaves: dict = {}

    def prepare(self):
        starts = self.start or (None, None)
        train, valid = (
            self.module.Dataset(part.X, part.y, group=part.sizes, init_score=start)
            for part, start in zip(self.split[:2], starts)
        )
        fixed = {"verbose": -1, "num_threads": self.budget.threads, **self.leaves}
        train._update_params(fixed).construct()
        return train, valid._update_params(fixed).set_reference(train).construct()

    def params(self, size, seed):
        fixed = {"verbose": -1, "num_threads": self.budget.threads, "feature_fraction": 0.8}
        fixed |= self.leaves
        return fixed | {"learning_rate": size.rate, "num_leaves": size.leaves, "seed": seed}

    def stepper(self, objective):
        """A function that adds a tree."""
        given = build(lightgbm_objective, objective, self.split.train.sizes)
        own = isinstance(given, str)
        params = self.params(Size(leaves=31), 0) | {"objective": given if own else "none"}
        model = self.module.Booster(params | {"metric": "none"}, self.train)
        return partial(model.update, fobj=None if own else given)

    def boost(self, objective, size, seed):
        params = self.params(size, seed) | {"metric": "ndcg", "eval_at": [10]}
        params["objective"] = build(lightgbm_objective, objective, self.split.train.sizes)
        ours = {}
        if not isinstance(objective, str):
            params["metric"], ours = "none", {"feval": lightgbm_metric("ndcg@10")}
        stop = self.module.early_stopping(self.budget.patience, verbose=False)
        model = self.module.train(
            params, self.train, self.budget.rounds, [self.valid], callbacks=[stop], **ours
        )
        return model.predict, model.current_iteration()


class LinearLeaves(LightGBM):
    """LightGBM with a linear model in each leaf."""

    leaves = {"linear_tree": True, "linear_lambda": 1.0}


class XGBoost(Trainer):
    name, own = "XGBoost", ("rank:ndcg", "rank:pairwise")

    def prepare(self):
        first = self._matrix(self.split.train)
        return first, self._matrix(self.split.valid, ref=first)

    def _matrix(self, part, **options):
        options["nthread"] = self.budget.threads
        return self.module.QuantileDMatrix(part.X, part.y, group=part.sizes, **options)

    def params(self, size, seed):
        fixed = {"nthread": self.budget.threads, "colsample_bytree": 0.8, "max_depth": 0}
        fixed |= {"grow_policy": "lossguide", "tree_method": "hist"}
        return fixed | {"learning_rate": size.rate, "max_leaves": size.leaves, "seed": seed}

    def stepper(self, objective):
        """A function that adds a tree."""
        given = build(xgboost_objective, objective, self.split.train.sizes)
        own = isinstance(given, str)
        params = self.params(Size(leaves=31), 0) | ({"objective": given} if own else {})
        model, number = self.module.Booster(params, [self.train]), count()
        return lambda: model.update(self.train, next(number), None if own else given)

    def boost(self, objective, size, seed):
        params = self.params(size, seed)
        if isinstance(objective, str):
            run: dict = {}
            params |= {"objective": objective, "eval_metric": "ndcg@10"}
        else:
            objective = build(xgboost_objective, objective, self.split.train.sizes)
            run = {"obj": objective, "custom_metric": xgboost_metric("ndcg@10")}
            params["disable_default_eval_metric"] = True
        model = self.module.train(
            params,
            self.train,
            self.budget.rounds,
            evals=[(self.valid, "valid")],
            maximize=True,
            early_stopping_rounds=self.budget.patience,
            verbose_eval=False,
            **run,
        )
        best = (0, model.best_iteration + 1)
        predict = partial(model.inplace_predict, iteration_range=best)
        return predict, model.num_boosted_rounds()


LIBRARIES = {"lightgbm": LightGBM, "xgboost": XGBoost}


def cpu_seconds(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin
