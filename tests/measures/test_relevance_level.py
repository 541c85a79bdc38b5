"""Which labels binary measures take for relevant: those from 1 on, as in trec_eval, by default."""

import warnings
from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone

from skcalrank import (
    AggregatedRanker,
    CalibratedRankerCV,
    GuaranteedCutoff,
    LeastSquaresRanker,
    PrecisionRanker,
    RBPRanker,
    RecallRanker,
    metrics,
)
from skcalrank.boosting import lightgbm_metric, lightgbm_objective
from skcalrank.data import NotGradesWarning
from skcalrank.datasets import sample_sessions
from skcalrank.evaluation import Policies
from skcalrank.measures import MEASURES, Measure, get_measure
from skcalrank.metrics import get_scorer, measure_score
from skcalrank.testing import all_rankers

BINARY = [name for name, measure in MEASURES.items() if measure.is_binary]
OF_LEVEL = {name: cls for name, cls in all_rankers() if hasattr(cls(), "relevance_level")}
OTHERS = {
    "calibrated": CalibratedRankerCV(level=None, cv=2),
    "cut off": GuaranteedCutoff(alpha=0.5),
}
RANKERS = {name: cls() for name, cls in OF_LEVEL.items()} | OTHERS

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(120, 3)), np.arange(120) // 10
GRADES = np.floor((X[:, 0] + RNG.normal(size=120)).clip(0, 3))
SHARES = (GRADES + 0.5) / 4

every_measure = pytest.mark.parametrize("name", BINARY)
every_ranker = pytest.mark.parametrize("name", RANKERS)

# Labels that say the same, in the forms that users of scikit-learn and of trec_eval have them.
FORMS = {
    "grades": GRADES,
    "integers": GRADES.astype(np.int64),
    "booleans": GRADES >= 1,
    "0. and 1.": (GRADES >= 1) * 1.0,
    "-1 and 1": np.where(GRADES >= 1, 1, -1),
    "junk below 0": np.where(GRADES >= 1, GRADES, -2),
}


def notes(call):
    """What is told of labels that are not whole numbers by a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    told = [str(w.message) for w in caught if w.category is NotGradesWarning]
    assert all("Set relevance_level" in text for text in told)
    return told


def test_the_names_are_those_of_the_measures_with_a_level():
    assert {"precision", "recall", "f1", "hit", "map", "mrr", "r_precision", "auc"} <= set(BINARY)
    assert {cls._measure_type.name for cls in OF_LEVEL.values()} <= set(BINARY)
    assert len(OF_LEVEL) == 5


def test_the_level_is_1_everywhere():
    measures = [get_measure(name) for name in BINARY]
    measures += [get_scorer(name).measure for name in BINARY]
    assert {measure.relevance_level for measure in measures} == {1}
    assert {ranker.relevance_level for ranker in RANKERS.values()} == {1}
    of_measures = [getattr(metrics, name) for name in metrics.__all__ if name.endswith("_score")]
    functions = [f for f in of_measures if getattr(f, "measure", Measure).is_binary]
    assert len(functions) == len(BINARY)
    for function in functions:
        assert signature(function).parameters["relevance_level"].default == 1
    assert Policies().relevance_level == 1  # of compare, cross_compare and evaluate_run


@every_measure
@pytest.mark.parametrize("form", FORMS)
def test_a_measure_reads_every_form_of_the_labels(name, form):
    relevant = (GRADES >= 1) * 1
    expected = measure_score(get_measure(name, relevance_level=None), relevant, X[:, 1], qid=QID)
    assert measure_score(name, FORMS[form], X[:, 1], qid=QID) == expected


# The rankers of others learn NDCG, of labels as they are.
LEARNED = [(name, form) for name in OF_LEVEL for form in FORMS]
LEARNED += [(name, form) for name in OTHERS for form in ("booleans", "0. and 1.")]


@pytest.mark.parametrize(("name", "form"), LEARNED)
def test_a_ranker_learns_the_same_of_every_form(name, form):
    found = clone(RANKERS[name]).fit(X, FORMS[form], QID)
    strict = clone(RANKERS[name]).set_params(relevance_level=None)
    expected = strict.fit(X, (GRADES >= 1) * 1, QID)
    np.testing.assert_array_equal(found.predict(X, QID), expected.predict(X, QID))


@every_measure
def test_labels_between_grades_are_doubted(name):
    y, scores = SHARES, X[:, 1]
    assert len(notes(lambda: measure_score(name, y, scores, qid=QID, empty="zero"))) == 1
    # Who chose another level knows the labels.
    chosen = get_measure(name, relevance_level=0.5)
    assert not notes(lambda: measure_score(chosen, y, scores, qid=QID))
    expected = measure_score(name, y >= 0.5, scores, qid=QID)
    assert measure_score(chosen, y, scores, qid=QID) == expected
    assert len(notes(lambda: lightgbm_metric(name, empty="zero")(y, scores, None, [60, 60]))) == 1
    if get_measure(name).shape == "documents":
        assert len(notes(lambda: lightgbm_objective(name)(y, scores, None, [60, 60]))) == 1
        assert len(notes(lambda: LeastSquaresRanker(name).fit(X, y, QID))) == 1


@every_ranker
def test_a_ranker_doubts_them_once(name):
    # Some documents are relevant by both levels.
    assert len(notes(lambda: clone(RANKERS[name]).fit(X, 4 * SHARES, QID))) == 1
    other = clone(RANKERS[name]).set_params(relevance_level=1.5)
    assert not notes(lambda: other.fit(X, 4 * SHARES, QID))


@every_measure
def test_no_level_refuses_all_but_0_and_1(name):
    strict = get_measure(name, relevance_level=None)
    for y in (GRADES, SHARES, -GRADES):
        with pytest.raises(ValueError, match=r"y must hold 0 and 1.*relevance_level=1"):
            measure_score(strict, y, X[:, 1], qid=QID)


@pytest.mark.parametrize("name", OF_LEVEL)
def test_no_level_refuses_in_fit(name):
    with pytest.raises(ValueError, match=r"y must hold 0 and 1.*relevance_level=1"):
        OF_LEVEL[name](relevance_level=None).fit(X, GRADES, QID)


# -- targets and estimates are no labels ---------------------------------------------------------


@pytest.mark.parametrize("name", OF_LEVEL)
def test_targets_are_not_cut(name):
    found, expected = (OF_LEVEL[name](relevance_level=level) for level in (1, None))
    assert not notes(lambda: found.fit_targets(X, SHARES, QID))
    expected.fit_targets(X, SHARES, QID)
    np.testing.assert_array_equal(found.predict(X, QID), expected.predict(X, QID))


@pytest.mark.parametrize(
    "ranker", [PrecisionRanker(k=3), RBPRanker(), RecallRanker(targets="separable")]
)
def test_estimates_of_judgments_are_not_cut(ranker):
    sessions = sample_sessions(1 / (1 + np.exp(-X[:, 0])), QID, n_sessions=60, random_state=0)
    found = AggregatedRanker("cascade", ranker).fit(X, sessions)
    strict = clone(ranker).set_params(relevance_level=None)
    expected = AggregatedRanker("cascade", strict).fit(X, sessions)
    assert (np.unique(found.targets_) % 1 > 0).any()
    np.testing.assert_array_equal(found.targets_, expected.targets_)
    if not isinstance(ranker, RecallRanker):
        assert found.score(X, sessions) == expected.score(X, sessions)
    # Labels are read by the level as ever.
    assert found.score(X, GRADES, QID) == found.score(X, GRADES >= 1, QID)


def test_estimates_of_shares_of_the_relevant_are_refused():
    sessions = sample_sessions(1 / (1 + np.exp(-X[:, 0])), QID, n_sessions=60, random_state=0)
    with pytest.raises(ValueError, match="ranker must take fractions as labels"):
        AggregatedRanker("cascade", RecallRanker()).fit(X, sessions)
