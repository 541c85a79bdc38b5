"""The prediction map of every positional measure."""

import numpy as np

from ..columns import arrays
from ..columns.types import ArrayLike, Ints
from ..data import Queries, positions
from ._base import Pred


def sort_positions(u: ArrayLike) -> Ints:
    r"""Return positions by decreasing value, which are best for every non-increasing discount.

    For a non-increasing discount :math:`\phi` the positions maximize
    :math:`\sum_i u_i \phi(\sigma(i))`, by the rearrangement inequality (RAT13, sections
    4 and 5).

    Parameters
    ----------
    u : array-like of shape (r,) or (n, r)
        Surrogate values of the documents of one query, or of n queries of r documents.

    Returns
    -------
    positions : ndarray of int, same shape
        1-based; documents with equal values keep their order.

    Raises
    ------
    ValueError
        If a value is NaN or infinite.

    Examples
    --------
    >>> from skcalrank.preds import sort_positions
    >>> sort_positions([0.1, 0.7, 0.4])
    array([3, 1, 2])
    """
    ranks = arrays.exact_ranks(u, "u")
    u = arrays.checked(u if ranks is None else ranks, "u", ensure_2d=False)
    stacked = np.atleast_2d(u)
    return positions(stacked.ravel(), Queries.equal(*stacked.shape)).reshape(u.shape)


def _cost(r: int) -> float:
    return 1e-8 * r


SORT = Pred("sort", "positional", sort_positions, exact=True, cost=_cost)
