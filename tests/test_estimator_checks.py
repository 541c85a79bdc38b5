"""scikit-learn's own checks, over all estimators and both losses."""

import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skcalrank import LowRankLossClassifier, NDCGRanker, PairwiseDisagreementRanker
from skcalrank.testing import all_rankers, expected_failed_checks


def _instances():
    for _, cls in all_rankers():
        for loss in ("squared", "pairwise_squared"):
            ranker = cls(loss=loss)
            if "relevance_level" in ranker.get_params():
                ranker.set_params(relevance_level=1)
            yield ranker
    yield NDCGRanker()
    yield NDCGRanker(DecisionTreeRegressor(random_state=0))
    yield NDCGRanker(HistGradientBoostingRegressor(max_iter=5))
    yield PairwiseDisagreementRanker(weights="unit")
    yield LowRankLossClassifier()


@pytest.fixture(autouse=True)
def _fresh_labels(monkeypatch):
    # Some versions shift the labels that they keep in place, check after check.
    monkeypatch.setattr(estimator_checks, "REGRESSION_DATASET", None, raising=False)


@parametrize_with_checks(list(_instances()), expected_failed_checks=expected_failed_checks)
def test_estimator_checks(estimator, check):
    check(estimator)
