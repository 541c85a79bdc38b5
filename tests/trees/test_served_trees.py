"""A fitted ranker of trees predicts the same from many threads, after a fork and from a file."""

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from boosting_cases import ENGINES, boosted, made_queries, pickled

from skcalrank import TabularRanker

RANKERS = {
    **{engine: lambda engine=engine: boosted(engine, n_estimators=5) for engine in ENGINES},
    "tabular": lambda: TabularRanker(trees=ENGINES[-1], n_jobs=1),
}


@pytest.fixture(scope="module", params=RANKERS)
def fitted(request):
    X, y, qid = made_queries(30, 0)
    return RANKERS[request.param]().fit(X, y, qid), X, qid


@pytest.mark.parametrize("n_calls", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_predictions_of_many_threads(fitted, n_calls):
    ranker, X, qid = fitted
    methods = ("predict", "rank", "top_k")
    expected = [getattr(ranker, method)(X, qid) for method in methods]
    for served in (ranker, pickled(ranker)):
        with ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(getattr(served, methods[i % 3]), X, qid) for i in range(n_calls)]
        assert all(np.array_equal(call.result(), expected[i % 3]) for i, call in enumerate(calls))


def _scores(ranker, X, qid, answers):
    answers.put(ranker.predict(X, qid))


@pytest.mark.skipif(sys.platform != "linux", reason="needs a fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_predictions_after_a_fork(fitted):
    ranker, X, qid = fitted
    expected = ranker.set_params(n_jobs=1).predict(X, qid)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=_scores, args=(ranker, X, qid, answers))
    process.start()
    np.testing.assert_array_equal(answers.get(timeout=60), expected)
    process.join()
