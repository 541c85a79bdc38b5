"""Law: what was fitted does not read its parameters again."""

import numpy as np
import pytest
from cases import every_ranker, labels_for
from sklearn.base import clone

import skcalrank as sk
from skcalrank.data import limits
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, TableEncoder

#: Parameters that say how predict works, and not what was fitted.
OF_PREDICT = {"n_jobs", "verbose", "pred", "time_limit"}


def stacked(**options):
    return sk.StackingRanker([("a", sk.NDCGRanker()), ("b", sk.DCGRanker())], **options)


RANKERS = {
    **{type(ranker).__name__: ranker for ranker in every_ranker()},
    "trees": sk.BoostedRanker(engine="sklearn", n_estimators=2, n_models=2),
    "stack by query": stacked(normalize="query"),
    "pipeline": make_query_pipeline(LinearColumns(QuantileHinges()), sk.NDCGRanker()),
}


def others(estimator, name, value):
    """Valid values of a parameter that differ from the one of fit."""
    constraints = limits.of_class(type(estimator))[name]
    if constraints != limits.OWN_ERROR:
        for constraint in constraints:
            yield from getattr(constraint, "options", ())
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield value / 2
    elif name == "measure":
        yield "dcg@3"


def changes(ranker):
    """Pairs of a parameter and another value, of a ranker or of the steps of a pipeline."""
    steps = dict(ranker.steps) if hasattr(ranker, "steps") else {"": ranker}
    for prefix, step in steps.items():
        for name, value in step.get_params(deep=False).items():
            if name in OF_PREDICT or name not in limits.of_class(type(step)):
                continue
            for other in others(step, name, value):
                if other is not value and not (other == value and type(other) is type(value)):
                    yield f"{prefix}__{name}".removeprefix("__"), other


@pytest.mark.parametrize("name", RANKERS)
def test_nothing_fitted_changes(name):
    X, y, qid = sk.load_digits_queries(n_queries=12, n_documents=8)
    y = labels_for(RANKERS[name], (y > 0) * 1.0, qid)
    ranker = clone(RANKERS[name]).fit(X, y, qid)
    scores, value = ranker.predict(X, qid), ranker.score(X, y, qid)
    places = ranker.rank(X, qid)
    tried = 0
    for parameter, other in changes(ranker):
        before = ranker.get_params()[parameter]
        ranker.set_params(**{parameter: other})
        np.testing.assert_array_equal(ranker.predict(X, qid), scores, err_msg=parameter)
        np.testing.assert_array_equal(ranker.rank(X, qid), places, err_msg=parameter)
        assert ranker.score(X, y, qid) == value, parameter
        ranker.set_params(**{parameter: before})
        tried += 1
    assert tried


def test_a_table_is_read_as_in_fit():
    rows = [{"a": 1.0, "b": "u"}, {"a": 2.0, "b": "v"}]
    encoder = TableEncoder().fit(rows)
    expected = encoder.transform(rows)
    encoder.set_params(columns={"a": "category"}, max_categories=2)
    np.testing.assert_array_equal(encoder.transform(rows), expected)
