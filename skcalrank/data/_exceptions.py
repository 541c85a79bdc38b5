"""Errors and warnings that have a name of their own."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

_PACKAGE = os.path.join(Path(__file__).parents[1], "")


class MissingQidError(ValueError):
    """Rows were to be read as queries, but nothing says which row belongs to which.

    Raised by a ranker that was fitted with query identifiers and is asked to rank
    or score rows without them, and by splitters that get none. A fold is never
    silently treated as one query.

    Examples
    --------
    >>> from skcalrank import MissingQidError
    >>> issubclass(MissingQidError, ValueError)
    True
    """


class OneQueryWarning(UserWarning):
    """Rows without a qid count as one query, which is rarely what they are.

    Given by ``fit``, ``partial_fit`` and ``score`` of rankers, and by scorers, for one-dimensional
    y of several rows. A qid silences it, also ``qid=np.zeros(len(y))`` for one query.

    Examples
    --------
    >>> from skcalrank import OneQueryWarning
    >>> issubclass(OneQueryWarning, UserWarning)
    True
    """


class CutQueriesWarning(UserWarning):
    """A part of a query was taken for the whole.

    Measures of a part are too high where lists are short, and targets of a part differ from those
    of the query. Given wherever it can be seen: by ``fit`` and scores for a part of a target that
    carries its queries, by :class:`~skcalrank.LeastSquaresRankerCV` for its `cv`, and for
    regressors that stop early on rows of their own choice.

    Examples
    --------
    >>> from skcalrank import CutQueriesWarning
    >>> issubclass(CutQueriesWarning, UserWarning)
    True
    """


class NotAMeanWarning(UserWarning):
    """A regressor does not estimate the mean of the targets, or predicts a constant.

    Least-squares rankers are calibrated for regressors that estimate conditional means, of which
    medians and other quantiles are none.

    Examples
    --------
    >>> from skcalrank import NotAMeanWarning
    >>> issubclass(NotAMeanWarning, UserWarning)
    True
    """


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the line outside the package that called it."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
