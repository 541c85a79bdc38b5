"""A ranker that is fitted to one form of a table ranks every form of it alike."""

from functools import cache

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted
from tables import ARRAYS, FORMS, labels, made_columns

from skcalrank import NDCGRanker, StackingRanker, TabularRanker
from skcalrank.inspection import explain_order
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges

COLUMNS = made_columns(80)
Y, QID = labels(COLUMNS)

# Another order of the columns draws other queries for validation.
FITTED = [form for form in FORMS if form != "reordered"]


def small_stack():
    return TabularRanker("ndcg@5", trees=boosted(FIRST, n_estimators=5), n_jobs=1)


RANKERS = {
    "tabular": small_stack,
    "linear views": lambda: TabularRanker("ndcg@5", trees=None),
    "linear": lambda: make_query_pipeline(LinearColumns(QuantileHinges()), NDCGRanker(alpha=1.0)),
    "own stack": lambda: StackingRanker(
        [
            ("linear", make_query_pipeline(LinearColumns(), NDCGRanker())),
            ("trees", boosted(FIRST, n_estimators=5)),
        ]
    ),
    **{name: lambda name=name: boosted(name, n_estimators=5) for name in ENGINES},
}
every_ranker = pytest.mark.parametrize("ranker", RANKERS)


@cache
def fitted(ranker, form):
    return RANKERS[ranker]().fit((FORMS | ARRAYS)[form](COLUMNS), Y, QID)


@cache
def expected_scores(ranker):
    scores = fitted(ranker, "records").predict(FORMS["records"](COLUMNS), QID)
    assert np.ptp(scores) > 0
    return scores


def asked(form):
    """Forms that a ranker of some form is asked with: in the slow run, all."""
    place, forms = FITTED.index(form), list(FORMS)
    near = [forms[(place + step) % len(forms)] for step in (0, 3)]
    yield pytest.param(form, near, id=form)
    yield pytest.param(form, forms, id=f"{form}, all", marks=pytest.mark.slow)


@pytest.mark.product
@every_ranker
@pytest.mark.parametrize(("form", "others"), [case for form in FITTED for case in asked(form)])
def test_scores_are_those_of_the_form_of_fit(ranker, form, others):
    for other in others:
        scores = fitted(ranker, form).predict(FORMS[other](COLUMNS), QID)
        np.testing.assert_array_equal(scores, expected_scores(ranker), other)


@every_ranker
def test_scores_of_arrays(ranker):
    forms = [form for form in ARRAYS if form != "lists"]  # which hold numbers for rankers
    for form in forms:
        for other in forms:
            scores = fitted(ranker, form).predict(ARRAYS[other](COLUMNS), QID)
            np.testing.assert_array_equal(scores, expected_scores(ranker), f"{form}, {other}")


@pytest.mark.parametrize("ranker", ["linear", "tabular", *ENGINES])
def test_explanations_of_every_form(ranker):
    def parts(form):
        explained = explain_order(fitted(ranker, "records"), FORMS[form](COLUMNS), 3, 7, qid=QID)
        return dict(zip(explained.feature_names, explained.contributions))

    expected = parts("records")
    assert len(set(expected.values())) > 2
    for form in FORMS:
        found = parts(form)
        assert {name: found[name] for name in expected} == expected, form
