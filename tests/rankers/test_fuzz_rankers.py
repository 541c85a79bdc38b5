"""Rankers fitted to random problems: containers, row orders, and bad input."""

import copy
import pickle

import numpy as np
import pytest
from cases import ranker_id, rankers
from sklearn.base import clone

pytest.importorskip("hypothesis")
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import (
    CONTAINERS,
    KINDS_OF_NAMES,
    SPARSE,
    bad,
    codes_of_queries,
    contained,
    examples,
    matrices,
    numbers,
    orders,
    qids,
    quiet,
    refused,
    snapshot,
    vectors,
)

from skcalrank import LeastSquaresRankerCV, PairwiseDisagreementRanker, TabularRanker
from skcalrank.linear_model import GramRidge
from skcalrank.rankers import AggregatedRanker, NDCGRanker, StochasticAggregatedRanker

EVERY = [
    *rankers(max_iter=50),
    PairwiseDisagreementRanker(surrogate="pairwise"),
    NDCGRanker(GramRidge()),
    AggregatedRanker(ranker=NDCGRanker(GramRidge())),
]
# Random problems may consist of queries of one document.
pytestmark = pytest.mark.filterwarnings("ignore::skcalrank.data.SingleDocumentsWarning")

every_ranker = pytest.mark.parametrize("ranker", EVERY, ids=ranker_id)
WEIGHTS = (0.25, 1.0, 3.0)
CLOSE = {"rtol": 2e-4, "atol": 2e-4}
# Their folds and steps are drawn in the order of the rows.
DRAWS = (LeastSquaresRankerCV, StochasticAggregatedRanker)


@st.composite
def problems(draw, least=1):
    """Documents of which many are equal, in some queries."""
    codes = draw(codes_of_queries(max_queries=5).filter(lambda codes: codes.max() + 1 >= least))
    X = draw(matrices(len(codes), draw(st.integers(1, 3))))
    return X, draw(vectors(len(codes), (0.0, 1.0, 2.0))), codes


def problem_for(ranker, data):
    """A random problem that a ranker can be fitted to."""
    X, y, codes = data.draw(problems(enough(ranker)))
    # A table of constants alone is refused.
    assume(not isinstance(ranker, TabularRanker) or np.ptp(X, axis=0).any())
    return X, y, codes


def enough(ranker):
    """Number of queries that a ranker needs."""
    return 5 if {"cv", "validation_fraction", "trees"} & ranker.get_params().keys() else 1


def fitted(ranker, *problem, **weights):
    with quiet():
        return clone(ranker).fit(*problem, **weights)


def predictions(ranker, X, qid):
    """Scores, or matrices of pairs for maps whose positions can depend on rounding."""
    with quiet():
        found = ranker.surrogate_values(X, qid)
    return found if isinstance(found, np.ndarray) else np.concatenate([np.ravel(u) for u in found])


def sparse_or_not(ranker):
    # Columns of categories, even of numbers, do not count as numbers.
    numbers = {name: made for name, made in CONTAINERS.items() if name != "category"}
    # A stack divides scores by their spread, even if all that is spread is rounding errors, which
    # products of sparse and dense matrices have different ones of.
    takes_sparse = ranker.__sklearn_tags__().input_tags.sparse
    return {**numbers, **SPARSE} if takes_sparse and "rankers" not in vars(ranker) else numbers


@every_ranker
@examples(0.4)
@given(data=st.data())
def test_containers_change_nothing(ranker, data):
    (X, y, codes), kind = problem_for(ranker, data), data.draw(KINDS_OF_NAMES)
    weight = data.draw(vectors(len(y), WEIGHTS))
    one = fitted(ranker, X, y, data.draw(qids(codes, kind)), sample_weight=weight)
    expected = predictions(one, X, codes)
    containers = sparse_or_not(ranker)
    args = (
        data.draw(contained(X, containers)),
        data.draw(contained(y)),
        data.draw(qids(codes, kind)),
        data.draw(contained(weight)),
    )
    before = [snapshot(each) for each in args]
    found = fitted(ranker, *args[:3], sample_weight=args[3])
    names = data.draw(qids(codes))
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(predictions(found, args[0], names), expected, **CLOSE)
    assert before == [snapshot(each) for each in args]


@every_ranker
@examples(0.5)
@given(data=st.data())
def test_order_and_names_change_nothing(ranker, data):
    if isinstance(ranker, DRAWS):
        pytest.skip("draws in the order of the rows")
    (X, y, codes), kind = problem_for(ranker, data), data.draw(KINDS_OF_NAMES)
    rows = data.draw(orders(len(y)))
    one = fitted(ranker, X, y, data.draw(qids(codes, kind)))
    two = fitted(ranker, X[rows], y[rows], data.draw(qids(codes[rows], kind)))
    np.testing.assert_allclose(predictions(two, X, codes), predictions(one, X, codes), **CLOSE)


@every_ranker
@examples(0.5)
@given(data=st.data())
def test_pickles_and_second_fits_are_the_same(ranker, data):
    X, y, codes = problem_for(ranker, data)
    found = fitted(ranker, X, y, codes)
    expected = predictions(found, X, codes)
    for twin in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        np.testing.assert_array_equal(predictions(twin, X, codes), expected)
        assert predictions(twin, X, codes).dtype == float
    with quiet():
        again = found.fit(X, y, codes)
    np.testing.assert_array_equal(predictions(again, X, codes), expected)


@every_ranker
@given(data=st.data())
def test_one_thing_wrong_is_named_and_changes_nothing(ranker, data):
    X, y, codes = problem_for(ranker, data)
    found = fitted(ranker, X, y, codes)
    before = pickle.dumps(found)
    args = {"X": X, "y": y, "qid": codes, "sample_weight": np.ones(len(y))}
    wrong = data.draw(st.sampled_from(sorted(args)))
    args[wrong] = data.draw(bad(args[wrong]).filter(lambda value: not isinstance(value, float)))
    method = data.draw(st.sampled_from(("fit", "score", "partial_fit", "rank", "predict")))
    if method in ("rank", "predict"):
        args = {name: args[name] for name in ("X", "qid")}
    call = getattr(found, method, found.fit)
    result = refused(lambda: call(**args), names=NAMED[wrong])
    assert result is None or wrong not in args or (wrong == "X" and takes_missing(ranker))
    if result is None:
        assert pickle.dumps(found) == before


def takes_missing(ranker):
    """Whether a ranker takes missing values, which are no fault of X then."""
    return ranker.__sklearn_tags__().input_tags.allow_nan


NAMED = {
    "X": r"\bX\b|features?\b|rows",
    "y": r"\by\b|y_true|[Ll]abels?|qid",
    "qid": r"\bqid\b",
    "sample_weight": r"sample_weight|[Ww]eights?",
}


@every_ranker
@examples(0.5)
@given(data=st.data())
def test_numbers_of_every_size_give_scores_or_an_error(ranker, data):
    X, y, codes = problem_for(ranker, data)
    finite = st.floats(allow_nan=False, allow_infinity=False)
    sizes = st.sampled_from([5e-324, 1e-300, 1e-150, 1e-17, 1.0, 1e17, 1e150, 1e300])
    X = X * data.draw(sizes) if data.draw(st.booleans()) else X / 2 * data.draw(finite)
    y = y * data.draw(sizes)
    weight = np.array(WEIGHTS)[data.draw(numbers(len(y))) % 3] * data.draw(sizes)
    model = refused(lambda: clone(ranker).fit(X, y, codes, sample_weight=weight))
    if model is not None:
        scores = refused(lambda: model.predict(X, codes))
        assert scores is None or np.isfinite(scores).all()
