"""An interrupt at any point of a method leaves the estimator unchanged."""

import copy
import gc
import os
import pickle
import sys
from inspect import CO_GENERATOR

import pytest
from cases import make_data, ranker_id, rankers
from sklearn.base import clone
from sklearn.linear_model import SGDRegressor

import skcalrank
from skcalrank import (
    AggregatedRanker,
    AveragePrecisionRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
)
from skcalrank.linear_model import GramRidge
from skcalrank.structured import LowRankLossClassifier, StructuredPredictor

PACKAGE = os.path.dirname(skcalrank.__file__)
# Holds locks of its own, which an interrupt between two calls of C would not give back.
THREADS = os.path.join(PACKAGE, "_threads.py")


def count_calls(method, *args, interrupt_at=None):
    """Return the number of calls, of Python or of C, that a method makes; interrupt it at one."""
    n_calls = 0

    def count(frame, event, function):
        nonlocal n_calls
        # Python closes generators by itself, and says so where it cannot.
        is_call = event == "call" and not frame.f_code.co_flags & CO_GENERATOR
        is_call |= event == "c_call" and function is not sys.setprofile
        # Within the package: elsewhere a lock may be held, which would not be given back.
        file = frame.f_code.co_filename
        if is_call and file.startswith(PACKAGE) and file != THREADS:
            n_calls += 1
            if n_calls == interrupt_at:
                raise KeyboardInterrupt

    gc.disable()
    sys.setprofile(count)
    try:
        method(*args)
    finally:
        sys.setprofile(None)
        gc.enable()
    return n_calls


EVERY = [
    *rankers(max_iter=5),
    PairwiseDisagreementRanker(surrogate="pairwise"),
    AveragePrecisionRanker(surrogate="pairwise", relevance_level=1),
    NDCGRanker(SGDRegressor(random_state=0)),
    NDCGRanker(GramRidge()),
    AggregatedRanker(ranker=NDCGRanker(GramRidge())),
    GramRidge(),
    LowRankLossClassifier(),
    StructuredPredictor(),
]
# At the beginning, in the middle, and close to the end, where the results are assigned.
MOMENTS = (0.01, 0.3, 0.6, 0.9, 0.99, 0.998)


@pytest.fixture
def chunks(rng):
    """Two chunks of rows, of different queries."""
    first, (X, y, qid) = make_data(rng), make_data(rng)
    return first, (X, y, qid + 100)


def given(estimator, chunk):
    """Arguments of fit for an estimator."""
    return chunk if hasattr(estimator, "rank") else chunk[:2]


def arguments(method, estimator, chunks):
    if method == "merge":
        return (clone(estimator).fit(*given(estimator, chunks[1])),)
    return given(estimator, chunks[0] if method == "score" else chunks[1])


def can(estimator):
    return [m for m in ("fit", "partial_fit", "merge", "score") if hasattr(estimator, m)]


def pickled_around(estimator, method, args):
    """Pickles of an estimator before and after a call that is interrupted, at each moment."""
    n_calls, moments = None, list(MOMENTS)
    # First without an interrupt, and again where a run makes fewer calls than the one before.
    for _ in range(3 * len(MOMENTS)):
        each = copy.deepcopy(estimator)
        before = pickle.dumps(each)
        at = n_calls and max(1, int(moments[-1] * n_calls))
        try:
            n_calls = count_calls(getattr(each, method), *args, interrupt_at=at)
        except KeyboardInterrupt:
            moments.pop()
            yield before, pickle.dumps(each)
        if not moments:
            return
    raise AssertionError(f"{method} was not interrupted")


@pytest.mark.kinds
@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        pytest.param(each, method, id=f"{ranker_id(each)}-{method}")
        for each in EVERY
        for method in can(each)
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interrupt_changes_nothing(estimator, method, chunks):
    fitted, new = clone(estimator).fit(*given(estimator, chunks[0])), clone(estimator)
    args = arguments(method, estimator, chunks)
    for each in (fitted, new) if "fit" in method else (fitted,):
        for before, after in pickled_around(each, method, args):
            assert after == before
