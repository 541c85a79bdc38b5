"""Law: what compares labels with scores tells of one query, of cut ones, and of open scales."""

import warnings

import numpy as np
import pytest

from skcalrank import (
    CalibratedRankerCV,
    GuaranteedCutoff,
    NDCGRanker,
    RankingTarget,
    get_scorer,
    load_digits_queries,
)
from skcalrank.data import CutQueriesWarning, MissingQidError, OneQueryWarning
from skcalrank.evaluation import compare, cross_compare
from skcalrank.metrics import evaluate, measure_score, query_calibration_error

pytest.importorskip("matplotlib")

from skcalrank.displays import CutoffDisplay, MeasureAtKDisplay, ReliabilityDisplay

X, GRADES, QID = load_digits_queries(n_queries=60, n_documents=10)
X, Y = X[:, 10:20] / 16, (GRADES > 0) * 1.0
SCORES = 1 / (1 + np.exp(X @ np.linspace(-1, 1, 10)))
RANKER = NDCGRanker().fit(X, Y, QID)
CALIBRATED = CalibratedRankerCV(NDCGRanker(), level=None).fit(X, Y, QID)
CUTOFF = GuaranteedCutoff(NDCGRanker(), by="score").fit(X, Y, QID)


#: Calls of labels, rows of X, scores, the qid and a measure, which some calls read, by name.
OF_MEASURES = {
    "measure_score": lambda y, _, s, qid, m: measure_score(m, y, s, qid=qid),
    "evaluate": lambda y, _, s, qid, m: evaluate(y, s, [m], qid=qid),
    "compare": lambda y, _, s, qid, m: compare(y, {"a": s, "b": -s}, [m], qid=qid),
    "cross_compare": lambda y, X, _, qid, m: cross_compare({"a": RANKER}, X, y, qid, [m]),
    "MeasureAtKDisplay.from_predictions": lambda y, _, s, qid, m: (
        MeasureAtKDisplay.from_predictions(y, s, qid=qid, measure=m)
    ),
    "MeasureAtKDisplay.from_estimator": lambda y, X, _, qid, m: MeasureAtKDisplay.from_estimator(
        RANKER, X, y, qid=qid, measure=m
    ),
}
OTHERS = {
    "score": lambda y, X, _, qid: RANKER.score(X, y, qid),
    "scorer": lambda y, X, _, qid: get_scorer("ndcg")(RANKER, X, y, qid),
    "query_calibration_error": lambda y, _, s, qid: query_calibration_error(y, s, qid=qid),
    "ReliabilityDisplay.from_predictions": lambda y, _, s, qid: ReliabilityDisplay.from_predictions(
        y, s, qid=qid
    ),
    "ReliabilityDisplay.from_estimator": lambda y, X, _, qid: ReliabilityDisplay.from_estimator(
        CALIBRATED, X, y, qid=qid
    ),
    "CutoffDisplay.from_estimator": lambda y, X, _, qid: CutoffDisplay.from_estimator(
        CUTOFF, X, y, qid=qid
    ),
}
CALLS = [*OF_MEASURES, *OTHERS]
#: These are an error without a qid, for many rows or for what was fitted with one.
OF_ESTIMATORS = ["ReliabilityDisplay.from_estimator", "CutoffDisplay.from_estimator"]
NEED_A_QID = {"score", "scorer", "cross_compare", *OF_ESTIMATORS}


def told(name, y, rows, qid, measure="ndcg"):
    """Categories of the warnings of a call, in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rest = (measure,) if name in OF_MEASURES else ()
        (OF_MEASURES | OTHERS)[name](y, X[rows], SCORES[rows], qid, *rest)
    return [warning.category for warning in caught]


@pytest.mark.every_case
@pytest.mark.parametrize("name", [name for name in CALLS if name not in NEED_A_QID])
def test_rows_without_queries_are_told_of_once(name):
    assert told(name, Y, slice(None), None).count(OneQueryWarning) == 1
    assert OneQueryWarning not in told(name, Y, slice(None), QID)
    assert OneQueryWarning not in told(name, Y, slice(None), 0)


@pytest.mark.parametrize("name", OF_ESTIMATORS)
def test_displays_of_estimators_tell_of_one_query(name):
    with pytest.warns(OneQueryWarning), pytest.raises((MissingQidError, ValueError)):
        OTHERS[name](Y, X, SCORES, None)


@pytest.mark.every_case
@pytest.mark.parametrize("name", CALLS)
def test_cut_queries_are_told_of(name):
    y, half = RankingTarget(Y, QID), slice(None, None, 2)
    assert CutQueriesWarning in told(name, y[half], half, None)
    whole = QID < 40
    assert CutQueriesWarning not in told(name, y[whole], whole, None, "precision")


@pytest.mark.every_case
@pytest.mark.parametrize("name", OF_MEASURES)
def test_a_part_of_a_target_sets_no_scale(name):
    y, part = RankingTarget(Y, QID), QID < 40
    with pytest.raises(ValueError, match=r"max_grade of err must be a number if y.* is a part"):
        told(name, y[part], part, None, "err")
    told(name, y, slice(None), None, "err")
    told(name, RankingTarget(Y[part], QID[part]), part, None, "err")
