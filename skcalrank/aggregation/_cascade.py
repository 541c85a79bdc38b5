"""The cascade model of clicks, fitted by maximum likelihood."""

from typing import NamedTuple

import numpy as np

from ..columns import arrays
from ..columns.types import Floats, Ints
from ..judgments import ClickSessions

# Clicks and examinations more that standard errors are taken at, so that those of rare clicks hold.
MORE_CLICKS, MORE_EXAMINATIONS = 2, 4


class CascadeEstimate(NamedTuple):
    """Click probabilities and the counts they are based on, each of shape (n_rows,).

    Attributes
    ----------
    probability : ndarray
        Clicks over examinations; those of the query together if there are no examinations.
    clicks, examinations : ndarray of int
        Numbers of sessions.
    standard_error : ndarray
        ``sqrt(p (1 - p) / examinations)``, NaN without examinations, with two clicks in four
        examinations more in this p (Agresti and Coull 1998): without them, errors of small
        probabilities are too small, and 0 for documents never clicked.
    """

    probability: Floats
    clicks: Ints
    examinations: Ints
    standard_error: Floats


def cascade(sessions: ClickSessions) -> CascadeEstimate:
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

    Returns
    -------
    estimate : CascadeEstimate
        A named tuple of arrays of shape (n_rows,): ``probability``, higher is better, which for a
        document without examinations (0/0) is the ratio of all clicks of the query to all its
        examinations, or 0 if there are none; ``clicks``, ``examinations``, ``standard_error``.

    Raises
    ------
    TypeError
        For other targets.
    ValueError
        If there are no rows.

    References
    ----------
    Agresti and Coull (1998). Approximate is better than "exact" for interval estimation of binomial
    proportions. The American Statistician 52.

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
    clicks, examinations = sessions.counts()
    queries = sessions.queries()
    total = queries.sum(queries.group(examinations))
    share = arrays.safe_divide(queries.sum(queries.group(clicks)), total)
    p = queries.ungroup(queries.repeat(share))
    seen = examinations > 0
    p[seen] = clicks[seen] / examinations[seen]
    error = np.full(len(sessions), np.nan)
    near = (clicks + MORE_CLICKS) / (examinations + MORE_EXAMINATIONS)
    error[seen] = np.sqrt(near * (1 - near))[seen] / np.sqrt(examinations[seen])
    return CascadeEstimate(p, clicks, examinations, error)
