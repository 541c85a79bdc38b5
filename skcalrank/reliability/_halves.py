"""What cut-offs lose and keep if half of some queries calibrate them, again and again."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..columns import by_hash
from ..columns.types import ArrayLike, Floats, Ints, Labels, Matrix, Seed
from ..data import check
from ._cutoff import GuaranteedCutoff
from ._masses import Judged, masses, shares_of
from ._promise import Promise


class Halves(NamedTuple):
    """Loss, and kept share of the documents, by `alpha`, of queries with something to lose.

    `loss` and `kept` have shape (n_alphas, n_queries), and are means over the halves that a query
    did not calibrate; `sizes` are numbers of documents.
    """

    alpha: Floats
    loss: Floats
    kept: Floats
    sizes: Ints


def on_halves(
    cutoff: GuaranteedCutoff,
    X: Matrix,
    y: Labels,
    qid: ArrayLike | None,
    alpha: ArrayLike,
    n_splits: int,
    random_state: Seed,
) -> Halves:
    """Return what a fitted cut-off, calibrated on halves of these queries, loses on the others.

    Values of `alpha` that half of the queries cannot promise are left out.
    """
    if cutoff.loss == "precision":
        raise ValueError("estimator must have a loss of mass, got loss='precision'.")
    values, scores = (
        np.asarray(of(X, qid), dtype=float) for of in (cutoff.cutoff_values, cutoff.predict)
    )
    labels, queries = check.target(y, qid)
    judged = Judged(queries, labels, queries.group(scores), cutoff.relevance_level)
    shares = shares_of("recall" if cutoff.loss == "no_answer" else cutoff.loss)
    matters = queries.max(shares(judged)) > 0
    places = np.argsort(by_hash(queries.hashes[matters]))
    judged, values = judged.take(matters), queries.group(values)[queries.repeat(matters)]
    queries = judged.queries
    mass, n = masses(shares(judged), queries), queries.n_queries
    alphas = np.unique(np.asarray(alpha, dtype=float))
    if not len(alphas) or not ((alphas > 0) & (alphas < 1)).all():
        raise ValueError(f"alpha must have losses above 0 and below 1, got {alpha!r}.")
    promises = [Promise(of, cutoff.confidence_level) for of in alphas.tolist()]
    promises = [of for of in promises if of.n_needed <= n // 2]
    if not promises:
        needed = 2 * Promise(alphas[-1], cutoff.confidence_level).n_needed
        raise ValueError(
            f"X must have at least {needed} queries with something to lose for "
            f"alpha={alphas[-1]:g}, got {n}."
        )
    rng = check_random_state(random_state)
    totals, counts = np.zeros((2, len(promises), n)), np.zeros(n)
    for _ in range(n_splits):
        calibrates = rng.permutation(n)[places] < n // 2
        rows = queries.repeat(calibrates)
        counts += ~calibrates
        for number, promise in enumerate(promises):
            keeps = values >= promise.threshold(values[rows], mass[rows], n // 2)
            totals[0, number] += ~calibrates * (1 - queries.sum(mass * keeps))
            totals[1, number] += ~calibrates * queries.mean(keeps * 1.0)
    loss, kept = totals[..., counts > 0] / counts[counts > 0]
    return Halves(np.array([of.alpha for of in promises]), loss, kept, queries.sizes[counts > 0])
