"""Prediction maps for any measure of pairs."""

from functools import partial
from math import factorial

from ..columns.types import ArrayLike
from ..data import check
from ._base import heuristic_cost, preds_of_methods
from ._quadratic import ALL_ORDERS_UP_TO, Basis, enumerated, searched
from ._stacks import PredResult, check_stack, on_stack


def pair_positions(U: ArrayLike, basis: Basis, *, method: str = "auto") -> PredResult:
    r"""Return positions that maximize :math:`\sum_{ij} U_{ij} B_{ij}(\sigma)`, for any basis B.

    This is the prediction map of a measure of pairs of one's own (RAT13, Theorem 3). The orders of
    up to 7 documents are enumerated. For more, the best exchange of two documents is made until
    none improves the value, from the positions of the bound, their reverse and six shuffles; the
    bound is that of Gilmore (1962) and Lawler (1963), a linear assignment.

    Parameters
    ----------
    U : array-like of shape (r, r) or (n, r, r)
        Estimates of a query, or of n queries of r documents.
    basis : callable
        Function from positions of shape (m, r) to matrices of shape (m, r, r), as
        :meth:`skcalrank.measures.PairMeasure.pair_basis`. For more than 7 documents, an entry must
        be a function of the positions of its two documents, the same below and the same above the
        diagonal.
    method : {"auto", "local_search"}, default="auto"
        "local_search" exchanges documents for any number of them.

    Returns
    -------
    result : PredResult
        ``positions``, ``value`` (higher is better), ``bound``, ``proven``, ``method``; arrays of
        them for a stack.

    Raises
    ------
    ValueError
        If U is not square or holds NaN or infinity, the method is unknown, or the basis is not of
        the form above.

    Examples
    --------
    >>> from skcalrank.measures import AveragePrecision
    >>> from skcalrank.preds import pair_positions
    >>> U = [[0.1, 0, 0], [0, 0.5, 0], [0, 0.2, 0.4]]
    >>> pair_positions(U, AveragePrecision().pair_basis).positions
    array([3, 1, 2])
    """
    check.option("method", method, ("auto", "local_search"))
    U = check_stack(U)
    few = method == "auto" and U.shape[-1] <= ALL_ORDERS_UP_TO
    return on_stack(partial(enumerated if few else searched, basis=basis), U)


def _auto_cost(r: int) -> float:
    return 1e-9 * r**2 * factorial(r) if r <= ALL_ORDERS_UP_TO else _search_cost(r)


def _search_cost(r: int) -> float:
    return heuristic_cost(r) + 5e-9 * r**4.0


PAIR_PREDS = preds_of_methods(
    pair_positions, "pairs", auto={"cost": _auto_cost}, local_search={"cost": _search_cost}
)
