"""Conversion of orders, best first and perhaps with ties, to rows of positions."""

from __future__ import annotations

from collections import Counter

import numpy as np


def check_groups(groups, where):
    """Raise if an order has an empty item or one item twice, and name its place in the file."""
    counts = Counter(item for group in groups for item in group)
    if "" in counts:
        raise ValueError(f"{where}: the order names an empty item.")
    twice = next((item for item, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{where}: the order ranks {twice!r} {counts[twice]} times.")


def positions_of_orders(orders, column_of):
    """Return positions from 1, one row per order; tied items share the mean, NaN is unranked.

    An order is a list of groups of tied items, the best first. With mean positions the net
    preference of a complete order is ``r + 1 - 2 * position``, ties or not.
    """
    positions = np.full((len(orders), len(column_of)), np.nan)
    for row, groups in zip(positions, orders):
        before = 0
        for group in groups:
            row[[column_of[item] for item in group]] = before + (len(group) + 1) / 2
            before += len(group)
    return positions
