"""Margins of predicted orders: by how much the second best value is below the best."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..columns.types import ArrayLike, Floats, Matrix
from ..data import check
from ..rankers import calibration_of, measure_of
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
        Best value of the estimated targets minus the second best one; infinite if all orders are
        equally good.
    tolerance : ndarray of shape (n_queries,)
        Surrogate regret of the query, a sum of squared errors of its estimated targets, below which
        the predicted order is best for the true targets: the squared margin, over the squared
        factor of the regret bound.
    """

    margin: np.ndarray = field(repr=False)
    tolerance: np.ndarray = field(repr=False)

    def best_share(self, surrogate_regret: float) -> float:
        """Return the share of queries whose order is best for all targets within a regret.

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
        for share in (10, 50, 90):
            at = (np.percentile(x, share, method="lower") for x in (self.margin, self.tolerance))
            rows.append((f"margin, tolerance at {share} %", "{:.4g}, {:.4g}".format(*at)))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def margin_report(ranker: Any, X: Matrix, qid: ArrayLike | None = None) -> MarginReport:
    r"""Report by how much the second best order is worse than the predicted one.

    With estimates u of the mean targets U of a query, and the margin :math:`\delta` between the
    best and the second best value of u, the best order for u is best for U as long as
    :math:`D \|U - u\| < \delta`, with D the factor of the root in :func:`regret_bound`. Otherwise
    its regret is at most :math:`D \|U - u\| \le D^2 \|U - u\|^2 / \delta` (Cabannes, Bach and Rudi,
    2021). Orders are therefore right long before the estimates are: the regret is linear in the
    surrogate regret, ``regret_bound(..., margin=report.margin.min())``, not its root.

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
    u = ranker.surrogate_values(X, qid)
    if measure.shape == "pairs":
        stacks = [np.asarray(one)[None] for one in u]
        places = [np.array([number]) for number in range(len(stacks))]
    elif np.ndim(u) == 2:
        stacks, places = [u], [np.arange(len(u))]
    else:
        queries = check.queries(qid, len(u))
        values, sizes = queries.group(u), np.unique(queries.sizes)
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

    The best order and the second best value differ by an exchange of two documents. The best one
    for a position is that with the next document whose estimate and discount are both lower.
    """
    n, r = u.shape
    phi = np.broadcast_to(measure.basis(np.arange(1, r + 1), np.array(r)), u.shape)
    u = -np.sort(-u, axis=1)
    other = np.maximum(_next_lower(u), _next_lower(phi))
    row, at = np.nonzero(other < r)
    to = other[row, at]
    out = np.full(n, np.inf)
    np.minimum.at(out, row, (u[row, at] - u[row, to]) * (phi[row, at] - phi[row, to]))
    return out


def _next_lower(values: Floats) -> Any:
    """Return the next place of a lower value in non-increasing rows, or their length."""
    r = values.shape[1]
    after = np.full(values.shape, r)
    after[:, :-1] = np.where(values[:, :-1] > values[:, 1:], np.arange(1, r), r)
    return np.minimum.accumulate(after[:, ::-1], axis=1)[:, ::-1]


def _of_pairs(measure: Any, u: Floats) -> Floats:
    """Return the margins of a measure of pairs for matrices of estimates, by enumeration."""
    values = np.tensordot(u, measure.pair_basis(all_positions(u.shape[1])), ([1, 2], [1, 2]))
    return np.array([of.max() - of[~is_best(of)].max(initial=-np.inf) for of in values])
