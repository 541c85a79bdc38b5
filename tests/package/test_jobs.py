"""Two jobs, threads or processes, give what one job gives, to the last digit."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from cases import make_data, ranker_id, rankers
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score

from skcalrank import (
    AveragePrecisionRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    QueryKFold,
    RankingTarget,
    get_scorer,
)
from skcalrank.data import lazy_property
from skcalrank.linear_model import GramRidge

EVERY = [
    *rankers(max_iter=5),
    PairwiseDisagreementRanker(surrogate="pairwise"),
    AveragePrecisionRanker(surrogate="pairwise", relevance_level=1),
]
SCORER = get_scorer("ndcg@5")


@pytest.fixture(params=["threading", pytest.param("loky", marks=pytest.mark.long)])
def two_jobs(request):
    """Use two jobs wherever n_jobs is None."""
    return lambda: parallel_backend(request.param, n_jobs=2)


@pytest.fixture
def rows(rng):
    X, y, qid = make_data(rng)
    return X, RankingTarget(y, qid)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cross_validation_of_every_ranker(rows, two_jobs):
    def scores(ranker, X, y):
        return cross_val_score(
            clone(ranker), X, y, groups=y.qid, cv=QueryKFold(3), scoring=get_scorer("ndcg@5")
        )

    for ranker in EVERY:
        alone = scores(ranker, *rows)
        with two_jobs():
            np.testing.assert_array_equal(scores(ranker, *rows), alone, err_msg=ranker_id(ranker))


SEARCHES = {
    "of a regressor": (NDCGRanker(Ridge()), {"estimator__alpha": [0.1, 10.0], "k": [2, None]}),
    "of pairs": (PairwiseDisagreementRanker(surrogate="pairwise"), {"alpha": [0.1, 10.0]}),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches(name, rows, two_jobs):
    def fitted(X, y, n_jobs=None):
        search = GridSearchCV(*SEARCHES[name], cv=QueryKFold(3), n_jobs=n_jobs)
        return search.fit(X, y, groups=y.qid)

    alone = fitted(*rows)
    with two_jobs():
        found = fitted(*rows, n_jobs=2)
    for column, values in alone.cv_results_.items():
        if "time" not in column:
            np.testing.assert_array_equal(found.cv_results_[column], values, err_msg=column)
    assert found.best_params_ == alone.best_params_
    np.testing.assert_array_equal(found.best_estimator_.coef_, alone.best_estimator_.coef_)


def test_threads_do_not_wait_for_each_other_s_coefficients(rows):
    X, y = rows
    inside, go_on = Event(), Event()

    class Slow(GramRidge):
        @lazy_property
        def coef_(self):
            inside.set()
            assert go_on.wait(60)
            return GramRidge.coef_.func(self)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: Slow().fit(X, y).coef_)
        assert inside.wait(60)
        inside.clear()
        second = pool.submit(lambda: Slow().fit(X, y).coef_)
        # The second one begins while the first is not done.
        assert inside.wait(60)
        go_on.set()
        np.testing.assert_array_equal(first.result(), second.result())
