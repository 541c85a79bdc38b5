"""scikit-learn's own checks, over all estimators as they are made, and over their variants."""

import pytest
from cases import losses_of, rankers
from checks import check_all, every_estimator
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AveragePrecisionRanker,
    LowRankLossClassifier,
    NDCGRanker,
    PairwiseDisagreementRanker,
)
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryContext, QueryScaler

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
def _few_draws(monkeypatch):
    # The checks make queries of many documents: draw few subsets of them, for speed.
    monkeypatch.setattr("skcalrank.rankers._draws._MOST_DRAWS", 16)


@every_estimator(DEFAULTS)
def test_estimator_checks(estimator):
    check_all(estimator)


@pytest.mark.slow
@every_estimator(list(_variants()))
def test_estimator_checks_of_variants(estimator):
    check_all(estimator)
