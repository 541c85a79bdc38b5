"""Expected values of rankers that are fitted to samples of several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..data import RankingTarget, check
from ..data.types import Seed
from ..datasets import LabelRankingData
from ..measures import Measure
from ..metrics import predict_with_queries


def best_value(test, measure) -> float:
    """Return the largest expected value of a ranking of the test data."""
    law = _law(test)
    try:
        return law.bayes_value(measure)
    except ValueError as error:
        if measure.shape == "documents":
            raise
        raise ValueError(
            f"{error} Set quantity='value', which does not need the best value."
        ) from error


def reached_values(
    estimators: Any,
    data: Any,
    test: Any,
    measure: Measure,
    sizes: Any,
    *,
    n_repeats: int = 10,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return expected values on the test data, of shape (n_estimators, n_sizes, n_repeats)."""
    _law(test)
    X, y, codes = _rows(data)
    n_queries = int(codes.max()) + 1
    if sizes[-1] > n_queries:
        raise ValueError(
            f"n_samples must be at most {n_queries}, the number of queries, got {sizes[-1]}."
        )
    check.count("n_repeats", n_repeats)
    rng = check_random_state(random_state)
    repeat = delayed(_one_repeat)
    repeats = (
        repeat(estimators, X, y, rng.permutation(n_queries)[codes], test, measure, sizes)
        for _ in range(n_repeats)
    )
    return np.stack(Parallel(n_jobs)(repeats), axis=-1)


def _law(data):
    law = getattr(data, "law", None)
    if law is None:
        raise ValueError(
            "test must have the attribute law, the distribution of its labels, as data of "
            "make_subset_ranking and make_label_ranking do. For other data, plot scores with "
            "sklearn.model_selection.LearningCurveDisplay."
        )
    return law


def _rows(data):
    """Return features, target and number of the query of each row."""
    if isinstance(data, LabelRankingData):
        return data.X, -data.positions, np.arange(len(data.positions))
    return data.X, RankingTarget(data.y, data.qid), check.queries(data.qid, len(data.y)).codes


def _one_repeat(estimators, X, y, place, test, measure, sizes):
    """Return the values of one repetition, of shape (n_estimators, n_sizes).

    A sample of size n consists of the rows with `place`, the random number of their query, below n.
    """
    values = np.empty((len(estimators), len(sizes)))
    qid = getattr(test, "qid", None)
    for column, size in enumerate(sizes):
        sample = np.flatnonzero(place < size)
        for row, estimator in enumerate(estimators):
            fitted = clone(estimator).fit(X[sample], y[sample])
            values[row, column] = test.law.value(measure, predict_with_queries(fitted, test.X, qid))
    return values
