"""Exceptions and warnings of skcalrank."""

import inspect
import os
import warnings
from pathlib import Path

_PACKAGE = os.path.join(Path(__file__).parents[1], "")


class MissingQidError(ValueError):
    """Error raised when query identifiers are required but missing.

    Raised by a ranker that was fitted with a qid and is asked to rank or score rows
    without one, and by splitters that are called without a qid. A fold is never silently
    treated as one query.

    Examples
    --------
    >>> from skcalrank import MissingQidError
    >>> issubclass(MissingQidError, ValueError)
    True
    """


class OneQueryWarning(UserWarning):
    """Warning that rows without a qid are treated as one query, which is rarely intended.

    Issued by ``fit``, ``partial_fit`` and ``score`` of rankers, and by scorers, for
    one-dimensional y of several rows. Pass a qid to silence it; if all rows are one query, pass
    ``qid=np.zeros(len(y))``.

    Examples
    --------
    >>> from skcalrank import OneQueryWarning
    >>> issubclass(OneQueryWarning, UserWarning)
    True
    """


class CutQueriesWarning(UserWarning):
    """Warning that only a part of the rows of a query is used as if it were the whole query.

    Measures of a part of a query are too high because its list is shorter, and targets of a part
    differ from the targets of the whole query. Issued wherever a cut query can be detected: by
    ``fit`` and ``score`` for a part of a target that carries its queries, by
    :class:`~skcalrank.LeastSquaresRankerCV` for its `cv`, and for regressors that set rows of
    their own choice aside for early stopping.

    Examples
    --------
    >>> from skcalrank import CutQueriesWarning
    >>> issubclass(CutQueriesWarning, UserWarning)
    True
    """


class NotAMeanWarning(UserWarning):
    """Warning that a regressor does not estimate the mean of the targets, or predicts a constant.

    Least-squares rankers are calibrated for regressors that estimate conditional means. Medians
    and other quantiles are not means.

    Examples
    --------
    >>> from skcalrank import NotAMeanWarning
    >>> issubclass(NotAMeanWarning, UserWarning)
    True
    """


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line outside the package that led to it."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
