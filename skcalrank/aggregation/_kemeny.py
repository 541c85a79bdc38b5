"""Kemeny's rule: the order that contradicts votes least."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import Array, ArrayLike, Floats
from ..data import check
from ..judgments import PreferenceTarget
from ..preds import TIME_LIMIT, feedback_arc_positions

# What an entry of an order may be instead of a name: a group of tied names.
_GROUPS = (list, tuple, Set, np.ndarray)


class Consensus(NamedTuple):
    """An order of all candidates, and how good it is known to be.

    Attributes
    ----------
    order : list
        Names of the candidates, best first.
    value : float
        Weight of the preferences of voters that the order contradicts; lower is better.
    bound : float
        Bound of the value: no order can contradict less.
    proven : bool
        Whether the order is best, i.e. value and bound agree.
    """

    order: list[Any]
    value: float
    bound: float
    proven: bool

    @property
    def gap(self) -> float:
        """How much less another order could contradict, at most."""
        return self.value - self.bound


def kemeny(
    orders: Sequence[Iterable[Any]] | PreferenceTarget | Any,
    *,
    weights: ArrayLike | None = None,
    method: str = "exact",
    time_limit: float | None = TIME_LIMIT,
) -> Consensus:
    r"""Return the order that contradicts the preferences of the voters least (Kemeny, 1959).

    A voter who ranks a before b states one preference, and contradicts an order of all candidates
    that places b before a. The sum over voters and pairs is Kendall's distance of the order from
    the votes. To minimize it is NP-hard; the exact method is
    :func:`skcalrank.preds.feedback_arc_positions`.

    Parameters
    ----------
    orders : sequence of orders, or PreferenceTarget
        Votes. An order lists names of candidates, best first; an entry that is a list, tuple, set
        or array is a group of tied candidates. A candidate that an order leaves out is compared
        with no other one: it does not count as worse. Names are of any hashable type. A
        :class:`~skcalrank.PreferenceTarget` in the label-ranking form, such as
        ``PreferenceTarget.from_orders(positions)``, has one vote in each row; its candidates are
        named as its items, or numbered from 0. A frame is read as such positions: a row for each
        vote, a column for each candidate.
    weights : array-like of shape (n_orders,), default=None
        Non-negative weight of each vote, such as the number of voters. If None, all are 1.
    method : {"exact", "local_search", "auto"}, default="exact"
        As in :func:`skcalrank.preds.feedback_arc_positions`.
    time_limit : float, default=10.0
        Seconds after which the exact method returns the best order so far, with a bound and a
        `ConvergenceWarning`. If None, there is no limit.

    Returns
    -------
    consensus : Consensus
        ``order``, ``value``, ``bound`` and ``proven``. If several orders are best, one of them.

    Raises
    ------
    ValueError
        If there is no vote, a vote names a candidate twice, has None or NaN as a name or an empty
        group, the weights do not fit, or an array may hold positions as well as names.
    TypeError
        If a vote is a set, a dict or a string, which list no names in order.

    See Also
    --------
    borda, bradley_terry : Scores of candidates, which are computed without a search.
    skcalrank.PairwiseDisagreementRanker : Learns such orders from features of the voters.
    skcalrank.datasets.load_preflib : Reads files of votes.

    Examples
    --------
    Eleven voters, two of whom rank two candidates only, and two tie their last two:

    >>> from skcalrank.aggregation import kemeny
    >>> votes = [["tea", "coffee", "milk"], ["coffee", "milk", "tea"], ["milk", "tea"],
    ...          ["tea", ("milk", "coffee")]]
    >>> kemeny(votes, weights=[4, 3, 2, 2])
    Consensus(order=['tea', 'coffee', 'milk'], value=8.0, bound=8.0, proven=True)
    """
    check.row_order(orders=orders, weights=weights)
    if hasattr(orders, "columns"):
        orders = _of_frame(orders)
    if isinstance(orders, PreferenceTarget):
        names, preferences = _of_rows(orders, weights)
    else:
        if isinstance(orders, np.ndarray) and check.holds_positions(orders, first=(0, 1)):
            raise ValueError(
                "orders must be lists of names, got an array that may hold positions: pass "
                "PreferenceTarget.from_orders(positions), counted from 1, or orders.tolist() if "
                "each row lists candidates, best first."
            )
        names, preferences = _of_votes(orders, weights)
    result = feedback_arc_positions(preferences, method=method, time_limit=time_limit)
    order = [names[number] for number in np.argsort(result.positions)]
    return Consensus(order, float(result.value), float(result.bound), bool(result.proven))


def _of_frame(frame: Any) -> PreferenceTarget:
    """Return the votes of a frame of positions."""
    try:
        return PreferenceTarget.from_orders(frame)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "A frame of orders must hold the position of each candidate, counted from 1, with "
            f"candidates as columns: {error} If its rows list names, pass "
            "orders.to_numpy().tolist()."
        ) from error


def _of_rows(y: PreferenceTarget, weights: ArrayLike | None) -> tuple[list[Any], Floats]:
    """Return the names of the items, and the weight of each preference over all rows."""
    r = y.n_items
    if r is None:
        raise ValueError(
            "orders must be in the label-ranking form, in which all rows rank the same items, got "
            f"{y!r}: build it with from_orders, or pass lists of names."
        )
    weight = y.weight
    if weights is not None:
        weight = weight * _checked(weights, len(y))[y.winner // r]
    cells: Array = np.bincount(y.winner % r * r + y.loser % r, weight, r * r)
    return list(range(r) if y.item_names is None else y.item_names), cells.reshape(r, r)


def _of_votes(votes: Iterable[Iterable[Any]], weights: ArrayLike | None) -> tuple[Any, Floats]:
    """Return the names of the candidates, and the weight of each preference over all votes."""
    groups = [_groups(vote, number) for number, vote in enumerate(votes)]
    weight = _checked(weights, len(groups))
    names = dict.fromkeys(name for vote in groups for group in vote for name in group)
    column_of = {name: column for column, name in enumerate(names)}
    if not column_of:
        raise ValueError("orders must hold at least one vote that names a candidate, got none.")
    place = np.full((len(groups), len(column_of)), np.nan)
    for row, vote in zip(place, groups):
        for number, group in enumerate(vote):
            row[[column_of[name] for name in group]] = number
    # One candidate at a time, so that memory does not grow with the number of pairs.
    return list(column_of), np.array([weight @ (column[:, None] < place) for column in place.T])


def _groups(vote: Iterable[Any], number: int) -> list[list[Any]]:
    """Return the groups of tied candidates of a vote, best first."""
    if isinstance(vote, (str, bytes, set, frozenset, Mapping)) or not isinstance(vote, Iterable):
        raise TypeError(
            f"orders must hold lists of names, best first, got the {type(vote).__name__} {vote!r} "
            f"as vote {number}: pass a list in the order of the vote."
        )
    groups = [list(entry) if isinstance(entry, _GROUPS) else [entry] for entry in vote]
    names = [name for group in groups for name in group]
    missing = [name for name in names if arrays.is_missing(name)]
    if missing:
        raise ValueError(
            f"orders must hold names, got {missing[0]} in vote {number}: leave it out."
        )
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(
            f"orders must name a candidate once, got {twice!r} twice in vote {number}."
        )
    if not all(groups):
        raise ValueError(f"Groups of tied candidates must not be empty, got one in vote {number}.")
    return groups


def _checked(weights: ArrayLike | None, n_votes: int) -> Floats:
    """Return one weight for each vote."""
    if weights is None:
        return np.ones(n_votes)
    values: Floats = arrays.checked(weights, "weights", ensure_2d=False, ensure_min_samples=0)
    if values.shape != (n_votes,) or (values < 0).any():
        raise ValueError(
            f"weights must be {n_votes} non-negative numbers, one for each vote, got {weights!r}."
        )
    return values
