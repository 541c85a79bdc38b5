"""scikit-learn's own checks, over all estimators as they are made, and over their variants."""

import pytest
import sklearn
from cases import losses_of, rankers
from checks import check_all, every_estimator
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.fixes import parse_version

from skcalrank import (
    AveragePrecisionRanker,
    LeastSquaresRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    TabularRanker,
)
from skcalrank.pipeline import HostedRanker, make_query_pipeline
from skcalrank.preprocessing import (
    LinearColumns,
    QuantileHinges,
    QueryContext,
    QueryScaler,
    TableEncoder,
)
from skcalrank.structured import FMeasureClassifier, LowRankLossClassifier, StructuredPredictor

pytestmark = [
    # The checks know no qid.
    pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning"),
    # Some have labels that a column tells.
    pytest.mark.filterwarnings("ignore:Column . of X orders all documents by their labels"),
]

DEFAULTS = [
    *rankers(),
    LowRankLossClassifier(),
    StructuredPredictor(),
    QueryContext(),
    QueryScaler(),
]
DEFAULTS += [TableEncoder(), LinearColumns(), LinearColumns(QuantileHinges())]
if parse_version(sklearn.__version__) >= parse_version(
    "1.9"
):  # others give it the classes 1 and 2 as indicators
    DEFAULTS += [FMeasureClassifier()]
DEFAULTS += [make_query_pipeline(QueryScaler(), NDCGRanker()), NDCGRanker(Ridge())]
DEFAULTS += [HostedRanker(NDCGRanker())]


def _is_like_another(estimator):
    """Whether another one runs the same code: what differs in the measure, and a kind of stack."""
    of_measure = isinstance(estimator, NDCGRanker.__base__)
    of_measure = of_measure and not isinstance(estimator, (NDCGRanker, LeastSquaresRanker))
    return of_measure or isinstance(estimator, TabularRanker)


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
    yield from (QueryScaler("minmax"), QueryScaler("rank"), QueryScaler(append=True))


@every_estimator([e for e in DEFAULTS if not _is_like_another(e)])
def test_estimator_checks(estimator):
    check_all(estimator)


@pytest.mark.long
@every_estimator([e for e in DEFAULTS if _is_like_another(e)])
def test_estimator_checks_of_the_same_code(estimator):
    check_all(estimator)


@pytest.mark.slow
@every_estimator(list(_variants()))
def test_estimator_checks_of_variants(estimator):
    check_all(estimator)
