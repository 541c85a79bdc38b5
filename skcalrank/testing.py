"""What a test suite needs to know about the estimators."""

from __future__ import annotations

import inspect

from . import rankers
from ._base import BaseRanker
from .measures import Measure
from .solvers import is_closed_form

__all__ = ["all_rankers", "expected_failed_checks"]


def all_rankers():
    """Every ranker class of the package, by name.

    Returns
    -------
    rankers : list of (str, type)

    Examples
    --------
    >>> from skcalrank.testing import all_rankers
    >>> "NDCGRanker" in dict(all_rankers())
    True
    """
    found = {
        name: cls
        for name in rankers.__all__
        if inspect.isclass(cls := getattr(rankers, name)) and issubclass(cls, BaseRanker)
    }
    return sorted(found.items())


def expected_failed_checks(estimator):
    """Checks of scikit-learn that cannot hold for an estimator, with the reason.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    reasons : dict
        Reason by name of the check, to be passed as ``expected_failed_checks`` to
        :func:`sklearn.utils.estimator_checks.check_estimator` and its kin.

    Examples
    --------
    >>> from skcalrank import NDCGRanker
    >>> from skcalrank.testing import expected_failed_checks
    >>> sorted(expected_failed_checks(NDCGRanker()))[0]
    'check_sample_weight_equivalence_on_dense_data'
    """
    return {}


del Measure, is_closed_form
