"""Regret of rankers that are fitted to samples of several sizes."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..columns import arrays
from ..columns.types import Array, ArrayLike, Estimator, Ints, Seed
from ..data import RankingTarget, check, warning_once
from ..measures import Measure, get_measure
from ..metrics import predict_with_queries


def regret_curve(
    estimators: Mapping[str, Estimator],
    data: Any,
    *,
    test: Any = None,
    measure: str | Measure = "ndcg@10",
    n_samples: ArrayLike = (50, 100, 200, 400, 800, 1600),
    n_repeats: int = 10,
    random_state: Seed = None,
) -> Any:
    """Return the regret of rankers that are fitted to samples of several sizes.

    A sample consists of queries drawn at random without replacement; within a repetition, larger
    samples contain the smaller ones. The expected value of a predicted ranking, and that of the
    best ranking, are computed exactly from the distribution of the labels, so that regrets are free
    of the noise of test labels.

    Parameters
    ----------
    estimators : dict of str to estimator
        Rankers, or any regressors, by name. They are cloned.
    data : RankingData or LabelRankingData
        Data from which samples are drawn. They should be far larger than the largest sample, so
        that repetitions have few queries in common.
    test : RankingData or LabelRankingData, default=None
        Data on which rankings are evaluated, of the same problem and with the attribute ``law``,
        the distribution of the labels. If None, `data` with new labels. Data of
        :func:`~skcalrank.datasets.make_subset_ranking` and of
        :func:`~skcalrank.datasets.make_label_ranking` are of the same problem if only their number
        of queries or samples differs.
    measure : str or Measure, default="ndcg@10"
        Measure whose best value is known, as in ``test.law.bayes_value``.
    n_samples : array-like of int of shape (n_sizes,), default=(50, 100, 200, 400, 800, 1600)
        Sample sizes, in queries (rows in the label-ranking form).
    n_repeats : int, default=10
        Number of repetitions.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples.

    Returns
    -------
    frame : pandas DataFrame
        A row for each repetition, sample size and estimator, with the columns "repetition",
        "n_samples", "estimator" and "regret".

    Raises
    ------
    ValueError
        If there is no estimator, there are too few data, the test data have no ``law``, or the
        measure has no known best value.
    ImportError
        If pandas is not installed.

    See Also
    --------
    sklearn.model_selection.learning_curve : Cross-validated scores, for data whose label
        distribution is unknown.

    Examples
    --------
    >>> from skcalrank import DCGRanker, SpearmanRanker
    >>> from skcalrank.calibration import regret_curve
    >>> from skcalrank.datasets import make_subset_ranking
    >>> frame = regret_curve(
    ...     {"DCG targets": DCGRanker(k=3), "mid-ranks": SpearmanRanker()},
    ...     make_subset_ranking(n_queries=5000, random_state=0),
    ...     measure="dcg@3",
    ...     n_samples=[50, 800],
    ...     n_repeats=5,
    ...     random_state=0,
    ... )
    >>> means = frame.groupby(["n_samples", "estimator"])["regret"].mean().unstack()
    >>> bool(means.loc[800, "DCG targets"] < means.loc[50, "DCG targets"])
    True
    """
    remedy = "regret_curve requires pandas: install it with `pip install skcalrank[frames]`."
    pandas = check.installed("pandas", remedy)
    if not isinstance(estimators, Mapping) or not estimators:
        raise ValueError(f"estimators must be a dict of rankers by name, got {estimators!r}.")
    test, measure, sizes = data if test is None else test, get_measure(measure), _sizes(n_samples)
    check.count("n_repeats", n_repeats)
    law: Any = getattr(test, "law", None)
    if law is None:
        raise ValueError(
            "test must have the attribute law, the distribution of its labels, as data of "
            "make_subset_ranking and make_label_ranking do. For other data, see "
            "sklearn.model_selection.learning_curve."
        )
    best = law.bayes_value(measure)
    X, y, codes = _rows(data)
    n_queries, rng = int(codes.max()) + 1, check_random_state(random_state)
    if sizes[-1] > n_queries:
        raise ValueError(
            f"n_samples must be at most {n_queries}, the number of queries, got {sizes[-1]}."
        )
    rows = []
    with warning_once():
        for repetition in range(n_repeats):
            place = rng.permutation(n_queries)[codes]
            for size, (name, estimator) in product(sizes.tolist(), estimators.items()):
                sample = np.flatnonzero(place < size)
                fitted = clone(estimator).fit(X[sample], y[sample])
                scores = predict_with_queries(fitted, test.X, getattr(test, "qid", None))
                missed = best - law.value(measure, scores)
                # Differences by rounding count as 0.
                regret = missed if missed > 1e-12 * max(1.0, abs(best)) else 0.0
                rows.append((repetition, size, name, regret))
    return pandas.DataFrame(rows, columns=["repetition", "n_samples", "estimator", "regret"])


def _sizes(n_samples: Any) -> Ints:
    sizes = arrays.checked(n_samples, "n_samples", ensure_2d=False, dtype=None)
    if sizes.ndim != 1 or not (sizes > 0).all() or not (np.diff(sizes) > 0).all():
        raise ValueError(f"n_samples must be positive and increasing, got {n_samples!r}.")
    return sizes


def _rows(data: Any) -> tuple[Array, Any, Ints]:
    """Return features, target and number of the query of each row."""
    if hasattr(data, "positions"):
        return data.X, -data.positions, np.arange(len(data.positions))
    queries = check.queries(data.qid, len(data.y))
    return data.X, RankingTarget(data.y, data.qid), queries.name_ranks[queries.codes]
