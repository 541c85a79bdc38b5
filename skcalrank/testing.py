"""What a test suite needs to know about the estimators."""

from __future__ import annotations

import inspect

from sklearn.utils import get_tags

from . import rankers
from ._solvers import effective_loss
from .losses import PointwiseLoss, get_loss
from .rankers import BaseRanker

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
        if issubclass(cls := getattr(rankers, name), BaseRanker) and not inspect.isabstract(cls)
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
    'check_regressor_multioutput'
    """
    reasons = {}
    if isinstance(estimator, BaseRanker):
        reasons["check_regressors_no_decision_function"] = (
            "rankers are tagged as regressors, and their surrogate values are a decision function"
        )
        if isinstance(estimator, rankers.PairRanker) and estimator.surrogate == "pairwise":
            reasons["check_methods_subset_invariance"] = (
                "a position depends on which documents share the query"
            )
            reasons["check_methods_sample_order_invariance"] = (
                "the decision function is one matrix per query, not one row per document"
            )
        weights = _why_weights_do_not_repeat(estimator)
        if weights is not None:
            reasons["check_sample_weight_equivalence_on_dense_data"] = weights
            if get_tags(estimator).input_tags.sparse:
                reasons["check_sample_weight_equivalence_on_sparse_data"] = weights
        if get_tags(estimator).target_tags.positive_only:
            reasons["check_regressor_multioutput"] = (
                "the check makes negative labels, for which the measure is not defined"
            )
    return reasons


def _why_weights_do_not_repeat(ranker):
    """Why a weight is not a repetition of the row, or None where it is."""
    if isinstance(ranker, rankers.LeastSquaresRankerCV):
        return "a row that is repeated may stand in two folds"
    if isinstance(ranker, rankers.PairRanker) and ranker.surrogate == "pairwise":
        return (
            "a pair weighs the product of its documents' weights over the mean of the query, "
            "which repeating a document changes"
        )
    if isinstance(ranker, rankers.LinearScorer):
        pairwise, name = _sees_pairs(ranker), "a loss of pairs"
    else:
        pairwise = effective_loss(ranker.loss, ranker.estimator) == "pairwise_squared"
        name = "pairwise squared"
    if pairwise:
        return f"{name}: a query counts its number of documents, which weights do not change"
    if not ranker._measure().separable:
        return "targets depend on all labels of the query: a weight weighs, it does not repeat rows"
    return None


def _sees_pairs(ranker):
    """Whether the objective of a linear scorer has terms of several documents."""
    if not isinstance(ranker, rankers.OrderPreservingRanker):
        return True
    return not isinstance(get_loss(ranker.loss), PointwiseLoss)
