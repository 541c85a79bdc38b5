"""What a test suite needs to know about the estimators."""

from __future__ import annotations

from typing import Any

from sklearn.utils import get_tags

from .pipeline import QueryPipeline
from .preprocessing import QueryContext, QueryScaler
from .rankers import RANKERS, is_ranker, why_weights_do_not_repeat

__all__ = ["all_rankers", "expected_failed_checks"]


def all_rankers() -> list[tuple[str, type]]:
    """Return every ranker class but BoostedRanker and MultiLabelRanker, by name.

    The trees of BoostedRanker do not split the few rows of a test: give it small leaves, and check
    it by itself. MultiLabelRanker takes a MultiLabelTarget, and not one label of each document.

    Returns
    -------
    rankers : list of (str, type)

    Examples
    --------
    >>> from skcalrank.testing import all_rankers
    >>> "NDCGRanker" in dict(all_rankers())
    True
    """
    return sorted(RANKERS.items())


def expected_failed_checks(estimator: Any) -> dict[str, str]:
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
    if isinstance(estimator, (QueryContext, QueryScaler)):
        reasons["check_methods_subset_invariance"] = (
            "columns of a query depend on which documents share it"
        )
    if isinstance(estimator, QueryPipeline):
        in_place = "fit changes the steps of a pipeline in place, as in scikit-learn"
        reasons["check_dont_overwrite_parameters"] = in_place
        reasons["check_estimators_overwrite_params"] = in_place
        for _, step in estimator.steps:
            reasons |= expected_failed_checks(step)
    if is_ranker(estimator):
        reasons["check_regressors_no_decision_function"] = (
            "rankers are tagged as regressors, and their surrogate values are a decision function"
        )
        if getattr(estimator, "normalize", None) == "query":
            reasons["check_methods_subset_invariance"] = (
                "scores are scaled by those of the documents that share the query"
            )
        if getattr(estimator, "surrogate", None) == "pairwise":
            reasons["check_methods_subset_invariance"] = (
                "a position depends on which documents share the query"
            )
            reasons["check_methods_sample_order_invariance"] = (
                "the decision function is one matrix per query, not one row per document"
            )
        weights = why_weights_do_not_repeat(estimator)
        if weights is not None:
            reasons["check_sample_weight_equivalence_on_dense_data"] = weights
            if get_tags(estimator).input_tags.sparse:
                reasons["check_sample_weight_equivalence_on_sparse_data"] = weights
        if get_tags(estimator).target_tags.positive_only:
            reasons["check_regressor_multioutput"] = (
                "the check makes negative labels, for which the measure is not defined"
            )
        if getattr(estimator, "estimator", None) is not None:
            reasons["check_regressors_train"] = (
                "the check sets alpha, which is an error beside a regressor of one's own"
            )
    return reasons
