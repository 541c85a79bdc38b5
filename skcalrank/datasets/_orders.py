"""From orders, best first and perhaps with ties, to rows of positions."""

from __future__ import annotations

from collections import Counter

import numpy as np

__all__ = ["check_groups", "positions_of_orders"]


def check_groups(groups, where):
    """Raise, naming the place in the file, where an order has no item or one item twice.

    Parameters
    ----------
    groups : list of list
        Tied items, the best group first.
    where : str
        File and line.
    """
    counts = Counter(item for group in groups for item in group)
    if "" in counts:
        raise ValueError(f"{where}: the order names an empty item.")
    twice = next((item for item, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{where}: the order ranks {twice!r} {counts[twice]} times.")


def positions_of_orders(orders, column_of):
    """Positions from 1; tied items share the mean of theirs, NaN is unranked.

    With mean positions the net preference of a complete order is
    ``r + 1 - 2 * position``, ties or not.

    Parameters
    ----------
    orders : list of list of list
        Groups of tied items of each row, best first.
    column_of : dict
        Column of each item.

    Returns
    -------
    positions : ndarray of float of shape (n, r)
    """
    positions = np.full((len(orders), len(column_of)), np.nan)
    for row, groups in zip(positions, orders):
        before = 0
        for group in groups:
            row[[column_of[item] for item in group]] = before + (len(group) + 1) / 2
            before += len(group)
    return positions
