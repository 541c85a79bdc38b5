"""Law: what was fitted does not read its parameters again."""

import numpy as np
import pytest
from cases import every_ranker, labels_for
from sklearn.base import clone

import skcalrank as sk
from skcalrank.data import limits
from skcalrank.linear_model import GramRidge
from skcalrank.pipeline import HostedRanker, make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges, TableEncoder
from skcalrank.structured import LowRankLossClassifier, StructuredPredictor

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
        yield from ("dcg@3", "map")
    elif name == "structure":
        yield from ("borda", "win_rate")


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


def test_what_is_computed_later_has_the_parameters_of_fit():
    X, y, qid = sk.load_digits_queries(n_queries=12, n_documents=8)
    X = X[:, 20:30]
    alpha = np.ones(2)
    ridge = GramRidge(alpha).partial_fit(X, np.column_stack([y, y]))
    alpha[:] = 1e6
    ridge.set_params(fit_intercept=False, penalty_scale="squares")
    expected = GramRidge().fit(X, y)
    np.testing.assert_allclose(ridge.coef_[0], expected.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ridge.intercept_[0], expected.intercept_)
    np.testing.assert_array_equal(ridge.penalty_scale_, expected.penalty_scale_)
    calibrated = sk.CalibratedRankerCV(target="grade", cv=2).fit(X, y, qid)
    assert not hasattr(calibrated.set_params(target="relevant"), "predict_proba")
    hosted = HostedRanker(sk.NDCGRanker()).fit(X, y, qid=qid)
    scores = hosted.predict(X, qid)
    np.testing.assert_array_equal(hosted.set_params(qid_column=0).predict(X, qid), scores)


def test_arrays_of_parameters_may_change_after_fit():
    X, y, _ = sk.load_digits_queries(n_queries=12, n_documents=8)
    labels = np.array([0, 1, 2])
    y = np.minimum(y, 2).astype(int)
    for model in (
        StructuredPredictor(zero_one, candidates=labels),
        LowRankLossClassifier(1 - np.eye(3), classes=labels),
    ):
        before = model.fit(X, y).predict(X)
        value = model.score(X, y)
        labels += 10
        np.testing.assert_array_equal(model.predict(X), before)
        labels -= 10
        if hasattr(model, "loss"):
            model.set_params(loss=None)
            assert model.score(X, y) == value


def zero_one(y, t):
    return 5.0 * (y[:, None] != t)


def test_options_of_a_structure_may_change_after_fit():
    X, y, qid = sk.load_digits_queries(n_queries=12, n_documents=8)
    judged = sk.sample_comparisons(y, qid, n_comparisons=900, random_state=0)
    options = {"alpha": 0.01}
    ranker = sk.AggregatedRanker("bradley_terry", structure_options=options).fit(X, judged)
    value = ranker.score(X, judged)
    options["alpha"] = 1e3
    assert ranker.score(X, judged) == value


def test_predictions_leave_the_state_of_draws():
    X, y, qid = sk.load_digits_queries(n_queries=6, n_documents=6)
    X = np.vstack([X, X])[:, 20:24]
    target = np.tile((y > 0) * 1.0, 2), np.tile(qid, 2)
    for seed in (None, np.random.RandomState(3)):
        ranker = sk.AveragePrecisionRanker(surrogate="pairwise", random_state=seed).fit(X, *target)
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        first, second = (ranker.predict(X, target[1]) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
