"""Choice of a ridge regression on a Gaussian kernel by folds, in closed form."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import issparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from .._solvers import as_dense, predict_rows
from ..columns import MOST_CELLS, PART_CELLS
from ..columns.types import Floats
from ..data import Queries, Ranked, Rows, one_blas_thread, warn
from ._plan import RegressionPlan
from ._regression import AUTO, penalty, seen_in, units_of

# Largest number of rows for which "auto" tries a kernel: the last fit takes a time of their cube.
_MOST_ROWS = 5000

# Number of rows that choose, which takes nine inverses of the kernel matrix.
_MOST_TRIED = 1000

# Multiples of 1 / d for the factor of squared distances, and penalties for weights of mean 1,
# chosen on four of the sets of benchmarks/label_ranking.py.
_WIDTHS = (0.25, 1.0, 4.0)
_PENALTIES = (0.01, 0.1, 1.0)

# Draws of folds, which cost little beside the inverse of the kernel matrix.
_N_DRAWS = 4


def with_kernel(plan: RegressionPlan, rows: Rows, targets: Floats) -> RegressionPlan:
    """Return the plan with the kernel that is to be used, "linear" or "gaussian"."""
    label_form, n = rows.n_items is not None and not issparse(rows.X), seen_in(rows).n_queries
    if label_form and plan.kernel == "auto" and n > _MOST_ROWS:
        warn(
            f"kernel='auto' is 'linear' for more than {_MOST_ROWS:,} rows, got {n:,}: a fit with a "
            "Gaussian kernel takes a time of their cube. Set kernel='linear', or 'gaussian'."
        )
        return replace(plan, kernel="linear")
    if not label_form or n**2 > MOST_CELLS:
        raise ValueError(
            "kernel must be 'linear' for documents, for sparse X and for rows whose pairs exceed "
            f"2 GB, got {plan.kernel!r}: set kernel='linear', or another estimator."
        )
    rows = replace(rows, y=targets).weighted()
    units_of(rows, "squared")  # raises where squares of features overflow
    regressor = _best(rows, plan.measure, or_linear=plan.kernel != "gaussian")
    if regressor is None:
        return replace(plan, kernel="linear")
    # Kernel ridge commutes with centering over items, which have one kernel.
    changed: Any = {"alpha": None, "loss": "centered", "closed_form": False}
    return replace(plan, kernel="gaussian", regressor=regressor, **changed)


def _best(rows: Rows, measure: Any, *, or_linear: bool) -> Any:
    """Return the unfitted regressor that ranks rows best that are held out.

    * `rows`: rows of positive weights in the label-ranking form, whose labels are targets.
    * `or_linear`: whether the result is None where a linear ridge is as good.
    """
    size = 1.0 if rows.weight is None else float(rows.weight.mean())
    if rows.n_rows > _MOST_TRIED:
        rows = rows.take(rows.held_out(_MOST_TRIED / rows.n_rows)[0])
    (n, d), targets = rows.X.shape, rows.columns(rows.y)
    targets = targets - targets.mean(axis=1, keepdims=True)
    Z, level = StandardScaler().fit_transform(rows.X), targets.mean(axis=0)
    weight = np.ones(n) if rows.weight is None else rows.weight / size
    seeds = range(_N_DRAWS if n > 1 else 0)
    draws = [[fold for _, fold in rows.folds(seed=seed)] for seed in seeds]
    each, several = Queries.equal(n * len(draws), len(level)), np.tile(rows.y, len(draws))
    linear = n * penalty(AUTO, seen_in(rows), rows.n_items)  # in the unit of squares

    def value(gram: Floats, alpha: float, level: Any = 0.0) -> float:
        """Return the mean of the measure, up to a constant."""
        if not draws:
            return 0.0
        held_out = held_out_by(draws, gram, weight, alpha, targets - level) + level
        ranked = Ranked(held_out.ravel(), each)
        values = measure.evaluate_targets(several, np.zeros(each.n_queries), ranked)
        return float(np.average(values, weights=np.tile(weight, len(draws))))

    with one_blas_thread(0):  # several cost much more where other programs run
        best = value(Z @ Z.T, linear, level) if or_linear else -np.inf
        regressor = None
        for gamma in (width / d for width in _WIDTHS):
            gram = rbf_kernel(Z, gamma=gamma)
            for alpha in _PENALTIES:
                if (now := value(gram, alpha)) > best:
                    best, regressor = now, KernelRidge(alpha * size, kernel="rbf", gamma=gamma)
    return None if regressor is None else make_pipeline(StandardScaler(), regressor)


def predict_parts(regressor: Any, X: Any) -> Floats:
    """Return predictions in parts, since a matrix of all pairs of rows takes any memory."""
    parts = gen_batches(X.shape[0], PART_CELLS // len(regressor[-1].X_fit_))
    return np.concatenate([predict_rows(regressor, as_dense(X[part])) for part in parts])


def held_out_by(draws: Any, gram: Floats, weight: Floats, alpha: float, targets: Floats) -> Floats:
    """Return for each draw of folds the predictions of each fold by kernel ridge on the others.

    The residuals of a fold are its dual coefficients over its block of the inverse.
    """
    root = np.sqrt(weight)[:, None]
    matrix = gram * root * root.T
    matrix.flat[:: len(matrix) + 1] += alpha
    factor, _ = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    inverse = np.tril(lapack.dpotri(factor, lower=1, overwrite_c=1)[0])
    inverse += np.tril(inverse, -1).T
    dual = inverse @ (root * targets)
    held_out = np.tile(targets, (len(draws), 1, 1))
    for folds, values in zip(draws, held_out):
        for fold in folds:
            values[fold] -= np.linalg.solve(inverse[np.ix_(fold, fold)], dual[fold]) / root[fold]
    return held_out
