"""Lists of rankers and of their expected failures, for test suites."""

from inspect import signature
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .boosting import BoostedRanker, ExternalRanker
from .rankers import RANKERS, MultiLabelRanker, is_ranker, why_weights_do_not_repeat
from .reliability import CalibratedRankerCV, GuaranteedCutoff
from .stacking import StackingRanker, TabularRanker

__all__ = ["all_rankers", "expected_failed_checks"]


# Checks that pass a column of classes where the indicators of a set of labels are asked for.
_OF_CLASSES = (
    *("check_estimators_dtypes", "check_fit2d_1feature", "check_sample_weights_pandas_series"),
    *("check_sample_weights_not_an_array", "check_sample_weights_shape"),
    *("check_sample_weights_not_overwritten", "check_classifier_data_not_an_array"),
    *("check_classifiers_one_label", "check_classifiers_one_label_sample_weights"),
    *("check_classifiers_classes", "check_classifiers_train"),
    *("check_classifiers_regression_target", "check_classifier_not_supporting_multiclass"),
)

# Checks that take what has predict_proba for a classifier.
_OF_REGRESSORS = (
    *("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "check_regressors_no_decision_function",
)


def all_rankers() -> list[tuple[str, type]]:
    """Return all ranker classes by name.

    Returns
    -------
    rankers : list of (str, type)
        Names and classes, sorted by name.

    See Also
    --------
    expected_failed_checks : Checks of scikit-learn that cannot hold.
    sklearn.utils.all_estimators : The same for scikit-learn.

    Notes
    -----
    Most of them take one label of each document; MultiLabelRanker takes a
    :class:`~skcalrank.MultiLabelTarget`. BoostedRanker with default parameters does not split the
    few rows of a test: set a small ``min_samples_leaf``.

    Examples
    --------
    >>> from skcalrank.testing import all_rankers
    >>> "NDCGRanker" in dict(all_rankers())
    True
    """
    others = (BoostedRanker, ExternalRanker, MultiLabelRanker, StackingRanker, TabularRanker)
    return sorted({**RANKERS, **{cls.__name__: cls for cls in others}}.items())


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that cannot hold for an estimator, with reasons.

    Parameters
    ----------
    estimator : estimator
        A ranker, a transformer or a pipeline of this package.

    Returns
    -------
    reasons : dict
        Reasons by the name of the check, to pass as ``expected_failed_checks`` to
        :func:`sklearn.utils.estimator_checks.check_estimator` or
        :func:`sklearn.utils.estimator_checks.parametrize_with_checks`.

    See Also
    --------
    all_rankers : Classes to check.

    Examples
    --------
    >>> from skcalrank import NDCGRanker
    >>> from skcalrank.testing import expected_failed_checks
    >>> sorted(expected_failed_checks(NDCGRanker()))[0]
    'check_regressor_multioutput'
    """
    reasons = {}
    if hasattr(estimator, "qid_column"):
        return expected_failed_checks(estimator.ranker)
    if isinstance(estimator, Pipeline):
        in_place = "fit changes the steps of a pipeline in place, as in scikit-learn"
        reasons["check_dont_overwrite_parameters"] = in_place
        reasons["check_estimators_overwrite_params"] = in_place
        for _, step in estimator.steps:
            reasons |= expected_failed_checks(step)
    elif hasattr(estimator, "transform") and "qid" in signature(estimator.transform).parameters:
        reasons["check_methods_subset_invariance"] = (
            "transformed rows depend on the other documents of their query"
        )
    if not get_tags(estimator).target_tags.single_output:
        reasons |= dict.fromkeys(_OF_CLASSES, "labels are indicators of a set, and not classes")
    if is_ranker(estimator):
        compares = (
            isinstance(estimator, CalibratedRankerCV),
            getattr(estimator, "by", None) == "target",
            getattr(estimator, "normalize", None) == "query",
            getattr(estimator, "rankers", ()) is None,
            getattr(estimator, "surrogate", None) == "pairwise",
        )
        if any(compares):
            reasons["check_methods_subset_invariance"] = (
                "values depend on the other documents of the query"
            )
        weights = why_weights_do_not_repeat(estimator)
        if weights is not None:
            reasons["check_sample_weight_equivalence_on_dense_data"] = weights
            if get_tags(estimator).input_tags.sparse:
                reasons["check_sample_weight_equivalence_on_sparse_data"] = weights
        if get_tags(estimator).target_tags.positive_only:
            reasons["check_regressor_multioutput"] = (
                "the check passes negative labels, for which the measure is not defined"
            )
        if isinstance(estimator, GuaranteedCutoff):
            reasons["check_regressors_train"] = (
                "the check sets alpha to a promise that one query cannot make"
            )
        if hasattr(estimator, "predict_proba"):
            why = "the checks take estimators with predict_proba for classifiers"
            reasons |= dict.fromkeys(_OF_REGRESSORS, why)
        if getattr(estimator, "estimator", None) is not None:
            reasons["check_regressors_train"] = (
                "the check sets alpha, which is an error if a regressor is given"
            )
    return reasons
