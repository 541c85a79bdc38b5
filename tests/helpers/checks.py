"""All of scikit-learn's checks of an estimator, as one case of a test."""

import warnings

import pytest
from sklearn.utils import estimator_checks

from skcalrank.data import EqualLabelsWarning, NotGradesWarning
from skcalrank.testing import expected_failed_checks


def _forget_labels(**_):
    # Some versions shift the labels that they keep in place, check after check.
    estimator_checks.REGRESSION_DATASET = None


def every_estimator(estimators):
    return pytest.mark.parametrize("estimator", estimators, ids=lambda e: " ".join(repr(e).split()))


def check_all(estimator):
    """Run the checks, and name those that fail though they are expected to hold."""
    _forget_labels()
    with warnings.catch_warnings():
        # Labels of regressions are no grades, and may all be relevant.
        warnings.simplefilter("ignore", NotGradesWarning)
        warnings.simplefilter("ignore", EqualLabelsWarning)
        results = estimator_checks.check_estimator(
            estimator,
            expected_failed_checks=expected_failed_checks(estimator),
            on_skip=None,
            on_fail=None,
            callback=_forget_labels,
        )
    assert len(results) > 20
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    if failed:
        raise AssertionError(", ".join(failed)) from next(iter(failed.values()))
