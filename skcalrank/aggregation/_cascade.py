"""The cascade model of clicks, fitted by maximum likelihood."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..data import ClickSessions, arrays
from ..data.types import Floats, Ints


class CascadeEstimate(NamedTuple):
    """Click probabilities and the counts they are based on, each of shape (n_rows,).

    Attributes
    ----------
    probability : ndarray
        Clicks over examinations; the default of the query if there are no examinations.
    clicks, examinations : ndarray of int
        Numbers of sessions.
    standard_error : ndarray
        ``sqrt(p (1 - p) / examinations)``, NaN without examinations. It is 0 if a document was
        clicked never or always, which is not reliable if there are few examinations.
    """

    probability: Floats
    clicks: Ints
    examinations: Ints
    standard_error: Floats


def cascade(sessions: ClickSessions, *, unexamined: float | None = None) -> CascadeEstimate:
    r"""Estimate the probability that a document satisfies a user who examines it.

    In the cascade model (DMJ13, section 5.2) a user reads from the top, clicks the first satisfying
    document and leaves. Maximum likelihood is

    .. math:: \hat p_l = \frac{\text{clicks on } l}{\text{examinations of } l}

    where a document is examined if it is shown at or above the click, or anywhere in a
    session without a click. Of several clicks of a session all count, and documents down to the
    last one are examined: users who may go on after a click (the dependent click model, in which
    the last click satisfies). Use :func:`position_based` for users who skip positions.

    Parameters
    ----------
    sessions : ClickSessions
        Click sessions of one or more queries.
    unexamined : float, default=None
        Probability of documents without examinations (0/0). If None, the ratio of all clicks of the
        query to all its examinations, or 0 if there are none.

    Returns
    -------
    estimate : CascadeEstimate
        A named tuple of arrays of shape (n_rows,): ``probability``, higher is better; ``clicks``,
        ``examinations``, ``standard_error``.

    Raises
    ------
    TypeError
        For other targets.
    ValueError
        If there are no rows, or `unexamined` is not a probability.

    Examples
    --------
    >>> from skcalrank import ClickSessions
    >>> from skcalrank.aggregation import cascade
    >>> y = ClickSessions([1, 1, 1, 1], [[0, 1, 2], [1, 0], [0, 1]], [2, 0, 1])
    >>> estimate = cascade(y)
    >>> estimate.probability
    array([0.33333333, 0.5       , 0.4       , 0.4       ])
    >>> estimate.examinations
    array([3, 2, 0, 0])
    """
    if not isinstance(sessions, ClickSessions):
        raise TypeError(
            f"sessions must be ClickSessions for cascade, got {type(sessions).__name__}: make them "
            "with ClickSessions(qid, shown_rows, clicked_position)."
        )
    if not len(sessions):
        raise ValueError("sessions must have at least one row for cascade, got none.")
    if unexamined is not None and not (isinstance(unexamined, Real) and 0 <= unexamined <= 1):
        raise ValueError(f"unexamined must be a probability or None, got {unexamined!r}.")
    clicks, examinations = sessions.counts()
    default: Any = unexamined
    if unexamined is None:
        queries = sessions.queries()
        total = queries.sum(queries.group(examinations))
        share = arrays.safe_divide(queries.sum(queries.group(clicks)), total)
        default = queries.ungroup(queries.repeat(share))
    seen = examinations > 0
    p = np.full(len(sessions), default, dtype=float)
    p[seen] = clicks[seen] / examinations[seen]
    error = np.full(len(sessions), np.nan)
    error[seen] = np.sqrt(p[seen] * (1 - p[seen]) / examinations[seen])
    return CascadeEstimate(p, clicks, examinations, error)
