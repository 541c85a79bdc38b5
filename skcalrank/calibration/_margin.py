"""Margins of predicted orders: by how much the second best order is worse."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..columns.types import ArrayLike, Floats, Matrix
from ..data import Queries, check
from ..rankers import calibration_of, measure_of, require_qid
from ._bounds import regret_bound
from ._orders import all_positions, is_best

# Losses whose minimizers are the mean targets, up to a shift of each query.
_OF_MEANS = (None, "squared", "pairwise_squared", "centered")

# What targets belong to, by the name of the surrogate.
_SHAPES = {"score": "documents", "pairwise": "pairs"}


@dataclass(frozen=True)
class MarginReport:
    """By how much the second best order is worse than the predicted one, by query.

    Returned by :func:`margin_report`.

    Attributes
    ----------
    margin : ndarray of shape (n_queries,)
        Value of the predicted order for the estimated targets, minus that of the best order that
        differs from it for some targets: 0 where two such orders are tied, and infinite if all
        orders are equally good for all targets.
    tolerance : ndarray of shape (n_queries,)
        Surrogate regret of the query, a sum of squared errors of its estimated targets, below which
        the predicted order is best for the true targets: the squared margin, over the squared
        factor of the regret bound.
    """

    margin: np.ndarray = field(repr=False)
    tolerance: np.ndarray = field(repr=False)

    def best_share(self, surrogate_regret: float) -> float:
        """Return the share of queries whose order is known to be best within a regret.

        Parameters
        ----------
        surrogate_regret : float
            Squared errors of the estimated targets of a query, summed over its documents or pairs.

        Returns
        -------
        share : float
        """
        return float((self.tolerance > surrogate_regret).mean())

    def __str__(self) -> str:
        rows = [("queries", f"{len(self.margin)}")]
        for share in (10, 50, 90) if len(self.margin) else ():
            at = (np.percentile(x, share, method="lower") for x in (self.margin, self.tolerance))
            rows.append((f"margin, tolerance at {share} %", "{:.4g}, {:.4g}".format(*at)))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def margin_report(ranker: Any, X: Matrix, qid: ArrayLike | None = None) -> MarginReport:
    r"""Report by how much the second best order is worse than the predicted one.

    With estimates u of the mean targets U of a query, and the margin :math:`\delta` between the
    predicted order and the second best one for u, the predicted order is best for U as long as
    :math:`D \|U - u\| < \delta`, with D the factor of the root in :func:`regret_bound`. Otherwise
    its regret is at most :math:`D \|U - u\| \le D^2 \|U - u\|^2 / \delta` (Cabannes, Bach and Rudi,
    2021). Orders are therefore right long before the estimates are: the regret is linear in the
    surrogate regret, ``regret_bound(..., margin=report.margin.min())``, not its root.

    Where documents of equal estimates, such as equal rows, are at positions of different discounts,
    the least error can make another order better: the margin is 0, and the root is the only bound.
    Equal true mean targets do no such harm, since either order is best.

    Parameters
    ----------
    ranker : ranker
        A fitted ranker by least squares on the targets of a positional measure, or on those of
        pairs with the exact map.
    X : array-like of shape (n_rows, d)
        Documents.
    qid : array-like of shape (n_rows,), default=None
        Query of each row. At most 8 documents each for a measure of pairs.

    Returns
    -------
    report : MarginReport
        ``print(report)`` prints a table.

    Raises
    ------
    ValueError
        If the ranker does not estimate mean targets of such a measure, or a query has too many
        documents.
    MissingQidError
        If the ranker was fitted with a qid and there is none.

    See Also
    --------
    regret_bound : The bound with a margin.
    noise_report : How often a cheap prediction map is as good as the exact one.

    Examples
    --------
    >>> from skcalrank import PrecisionRanker, load_digits_queries
    >>> from skcalrank.calibration import margin_report
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    >>> report = margin_report(PrecisionRanker(k=1).fit(X, y, qid), X, qid)
    >>> report.margin.shape, report.best_share(0.0)
    ((20,), 1.0)
    """
    measure, surrogate = measure_of(ranker), getattr(ranker, "surrogate", "score")
    of_means = getattr(measure, "shape", None) == _SHAPES.get(surrogate)
    of_means = of_means and getattr(ranker, "loss", None) in _OF_MEANS
    if not of_means or calibration_of(ranker).holds not in ("always", "query"):
        raise ValueError(
            "ranker must estimate mean targets of a positional measure, or of pairs with "
            f"surrogate='pairwise' and pred='exact', by least squares, got {ranker!r}."
        )
    require_qid(ranker, qid, "margin_report")
    u = ranker.surrogate_values(X, qid)
    if measure.shape == "pairs":
        stacks = [np.asarray(one)[None] for one in u]
        places = [np.array([number]) for number in range(len(stacks))]
    else:
        queries = Queries.equal(*u.shape) if u.ndim == 2 else check.queries(qid, len(u))
        values, sizes = queries.group(u.ravel()), np.unique(queries.sizes)
        stacks = [values[queries.repeat(queries.sizes == r)].reshape(-1, r) for r in sizes]
        places = [np.flatnonzero(queries.sizes == r) for r in sizes]
    margin, factor = np.empty((2, sum(map(len, places))))
    of_stack = _of_pairs if measure.shape == "pairs" else _of_scores
    for place, stack in zip(places, stacks):
        margin[place] = of_stack(measure, stack)
        factor[place] = regret_bound(measure, "squared", 1.0, r=stack.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        tolerance = np.where(np.isfinite(margin), (margin / factor) ** 2, np.inf)
    return MarginReport(margin, tolerance)


def _of_scores(measure: Any, u: Floats) -> Floats:
    """Return the margins of a positional measure for rows of estimates.

    Exchanges of two documents that are not in the order of u lead from any order to the best one,
    and none of them makes it worse. The last one that changes discounts costs least where the two
    are next to each other.
    """
    r = u.shape[1]
    drops = -np.diff(np.broadcast_to(measure.basis(np.arange(1, r + 1), np.array(r)), r))
    gaps = np.diff(np.sort(u, axis=1), axis=1)[:, ::-1]
    return np.where(drops > 0, gaps * drops, np.inf).min(axis=1, initial=np.inf)


def _of_pairs(measure: Any, u: Floats) -> Floats:
    """Return the margins of a measure of pairs for matrices of estimates, by enumeration."""
    basis = measure.pair_basis(all_positions(u.shape[1]))
    margins = []
    for values in np.tensordot(u, basis, ([1, 2], [1, 2])):
        differs = (basis != basis[values.argmax()]).any(axis=(1, 2))
        loss = np.where(is_best(values), 0.0, values.max() - values)
        margins.append(loss[differs].min(initial=np.inf))
    return np.array(margins)
