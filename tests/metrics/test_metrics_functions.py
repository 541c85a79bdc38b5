"""The metric functions: one for each measure, with its fields as options."""

import inspect
import pickle
import pydoc
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from cases import INSTANCES, draw_labels
from sklearn.exceptions import UndefinedMetricWarning

from skcalrank import RankingTarget, metrics
from skcalrank.data import NotGradesWarning
from skcalrank.measures import MEASURES, PositionalMeasure
from skcalrank.metrics import measure_score
from skcalrank.metrics._metric import metric_function

FUNCTIONS = [
    getattr(metrics, name)
    for name in metrics.__all__
    if name.endswith(("_score", "_loss")) and name != "measure_score"
]
METRICS = {function.measure.name: function for function in FUNCTIONS}
POLICIES = ("ties", "empty", "sample_weight", "average", "convention")

every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)


# -- the registry ----------------------------------------------------------------------


def test_a_measure_has_at_most_one_function():
    # The others are metrics by their names: measure_score, evaluate, get_scorer.
    assert len({function.measure for function in FUNCTIONS}) == len(FUNCTIONS) >= 12
    for name, function in METRICS.items():
        assert function.measure is MEASURES[name]
        assert function.__name__.endswith("_loss" if name.startswith("neg_") else "_score")


@every_function
def test_signatures_are_the_policies_and_the_fields(function):
    parameters = inspect.signature(function).parameters
    own = {f.name: f.default for f in fields(function.measure) if f.name != "k"}
    assert list(parameters) == ["y_true", "y_score", "qid", "k", *POLICIES, *own]
    assert {name: parameters[name].default for name in own} == own
    assert parameters["k"].default is None
    shared = inspect.signature(measure_score).parameters
    for name in ("y_true", "y_score", "qid", *POLICIES):
        assert parameters[name] == shared[name]
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters.values())[2:])


@every_function
def test_functions_are_found_by_their_names(function):
    assert getattr(metrics, function.__name__) is function
    assert pickle.loads(pickle.dumps(function)) is function
    assert inspect.isfunction(function)
    assert function.__qualname__ == function.__name__


@every_function
def test_help_shows_signature_and_options(function):
    text = pydoc.plain(pydoc.render_doc(function))
    # Some versions of Python break a long signature into lines.
    signature = f"{function.__name__}{inspect.signature(function)}"
    assert "".join(signature.split()) in "".join(text.split())
    for field in fields(function.measure):
        assert f"    {field.name} : " in text
    assert f">>> from skcalrank.metrics import {function.__name__}" in text


# -- values ----------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [m for m in INSTANCES if m.name in METRICS], ids=repr)
def test_functions_are_their_measures_under_every_option(measure, rng):
    function, qid = METRICS[measure.name], rng.permutation(np.repeat([3, 1, 2], [5, 4, 6]))
    y, scores = draw_labels(measure, 15, rng), rng.integers(0, 4, 15)
    expected = measure_score(measure, y, scores, qid=qid)
    if function is metrics.pairwise_disagreement_loss:
        expected = -expected
    assert function(y, scores, qid=qid, **asdict(measure)) == expected
    assert function(RankingTarget(y, qid), scores, **asdict(measure)) == expected


@every_function
def test_functions_can_be_partial(function):
    each = partial(function, average=False)
    assert inspect.signature(each).parameters["average"].default is False
    y, scores = [[0, 1, 1], [1, 0, 0]], [[3, 2, 1], [1, 1, 0]]
    np.testing.assert_array_equal(each(y, scores), function(y, scores, average=False))


# -- errors ----------------------------------------------------------------------------


@every_function
@pytest.mark.parametrize("keyword", ["kk", "measure", "measures"])
def test_unknown_keywords_are_refused(function, keyword):
    message = rf"{function.__name__}\(\) got an unexpected keyword argument '{keyword}'"
    with pytest.raises(TypeError, match=message):
        function([0, 1], [1, 2], **{keyword: 1})


@every_function
def test_only_a_measure_with_cutoff_takes_k(function):
    if function.measure.has_cutoff:
        assert isinstance(function([0, 1], [1, 2], k=1), float)
        return
    with pytest.raises(ValueError, match=f"k must be None for {function.__name__}.*got 1"):
        function([0, 1], [1, 2], k=1)


def test_a_warning_names_the_line_of_the_caller():
    for call in (metrics.ndcg_score, partial(measure_score, "ndcg")):
        with pytest.warns(UndefinedMetricWarning, match="undefined on every query") as caught:
            call([0, 0], [1, 2])
        assert [warning.filename for warning in caught] == [__file__]


# -- a new measure ---------------------------------------------------------------------


@dataclass(frozen=True)
class RankBiased(PositionalMeasure):
    """Rank-biased precision.

    Parameters
    ----------
    persistence : float, default=0.8
        Probability that a user goes on to the next document.
    """

    name: ClassVar[str] = "rbp"
    persistence: float = 0.8

    def targets(self, y, queries):
        return y

    def basis(self, positions, sizes):
        return (1 - self.persistence) * self.persistence ** (positions - 1.0)


@metric_function(RankBiased)
def rbp_score():
    pass


def test_a_new_measure_needs_one_line():
    value = rbp_score([0, 1, 1], [1, 3, 2], persistence=0.5)
    assert value == measure_score(RankBiased(0.5), [0, 1, 1], [1, 3, 2]) == 0.75
    assert inspect.signature(rbp_score).parameters["persistence"].default == 0.8
    doc = inspect.getdoc(rbp_score)
    assert doc.startswith("Rank-biased precision.\n\nParameters\n")
    assert "\npersistence : float, default=0.8\n    Probability that a user goes on" in doc
    assert "Examples" not in doc
    assert pickle.loads(pickle.dumps(rbp_score)) is rbp_score


SWAPPED = "Were y_true and y_score swapped?"


@pytest.mark.parametrize(
    ("metric", "scores"),
    [
        (metrics.ndcg_score, np.linspace(-1, 1, 12)),
        (partial(metrics.average_precision_score, relevance_level=None), np.linspace(0, 1, 12)),
        (partial(metrics.measure_score, "dcg@5"), np.linspace(-1, 1, 12)),
    ],
)
def test_labels_and_scores_that_seem_swapped(metric, scores):
    grades = np.resize([0, 1, 0, 2], 12)
    with pytest.raises(ValueError, match=r"(Shift grades|relevance_level).*") as caught:
        metric(scores, grades)
    assert str(caught.value).endswith(SWAPPED)


def test_amounts_that_seem_swapped():
    for metric in (metrics.ndcg_score, metrics.average_precision_score):
        with pytest.warns(NotGradesWarning) as caught:
            metric(np.linspace(0, 40, 12), np.resize([0, 1, 2], 12))
        assert str(caught[0].message).endswith(SWAPPED)


def test_other_mistakes_are_not_taken_for_swapped():
    with pytest.raises(ValueError, match="Shift grades") as caught:
        metrics.ndcg_score([-1, 0, 1, 2], [0.5, 0.2, 0.7, 0.1])
    assert SWAPPED not in str(caught.value)
    with pytest.raises(ValueError, match="relevance_level") as caught:
        metrics.average_precision_score([0, 1, 2, 0], [0, 1, 1, 2], relevance_level=None)
    assert SWAPPED not in str(caught.value)
    with pytest.raises(ValueError, match="Shift grades") as caught:
        metrics.ndcg_score(np.linspace(-1, 1, 12), np.zeros(12))
    assert SWAPPED not in str(caught.value)
