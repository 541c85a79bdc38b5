"""scikit-learn's own checks, over all estimators as they are made, and over their variants."""

import pytest
from cases import losses_of, rankers
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skcalrank import (
    AveragePrecisionRanker,
    LowRankLossClassifier,
    NDCGRanker,
    PairwiseDisagreementRanker,
)
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryContext, QueryScaler
from skcalrank.testing import expected_failed_checks

# The checks know no qid.
pytestmark = pytest.mark.filterwarnings("ignore::skcalrank.OneQueryWarning")

DEFAULTS = [*rankers(), LowRankLossClassifier(), QueryContext(), QueryScaler()]
DEFAULTS += [make_query_pipeline(QueryScaler(), NDCGRanker())]


def _variants():
    for ranker in rankers():
        for loss in losses_of(ranker):
            # What has a choice of losses under each of them by name, the default among them.
            if loss is not None:
                yield clone(ranker).set_params(loss=loss)
    yield NDCGRanker(DecisionTreeRegressor(random_state=0))
    yield NDCGRanker(HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5))
    yield NDCGRanker(DecisionTreeRegressor(random_state=0), loss="pairwise_squared")
    yield NDCGRanker(targets="separable")
    yield AveragePrecisionRanker(targets="separable", relevance_level=1, loss="squared")
    yield PairwiseDisagreementRanker(weights="unit")
    yield from (QueryScaler("minmax"), QueryScaler("rank"))


@pytest.fixture(autouse=True)
def _fresh_labels(monkeypatch):
    # Some versions shift the labels that they keep in place, check after check.
    monkeypatch.setattr(estimator_checks, "REGRESSION_DATASET", None, raising=False)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    # The checks make queries of many documents: draw few subsets of them, for speed.
    monkeypatch.setattr("skcalrank.rankers._draws._MOST_DRAWS", 16)


@parametrize_with_checks(DEFAULTS, expected_failed_checks=expected_failed_checks)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(list(_variants()), expected_failed_checks=expected_failed_checks)
def test_estimator_checks_of_variants(estimator, check):
    check(estimator)
