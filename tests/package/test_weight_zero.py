"""Laws: queries of weight 0 are left out of a fit, and equal weights are none."""

import warnings

import numpy as np
import pytest
from every_estimator import EVERY_ESTIMATOR
from sklearn.utils.validation import has_fit_parameter

from skcalrank import (
    BoostedRanker,
    ERRRanker,
    MultiLabelRanker,
    MultiLabelTarget,
    NDCGRanker,
    OrderPreservingRanker,
    PrecisionRanker,
    TabularRanker,
    load_digits_queries,
    sample_comparisons,
)
from skcalrank.measures import Precision
from skcalrank.metrics import err_score

#: Why a fit depends on queries of weight 0, by the beginning of the name of a case.
READS_ZEROS = {
    "QueryPipeline-StandardScaler": "steps that do not request weights learn from all rows",
    "QueryPipeline-QuantileHinges": "steps that do not request weights learn from all rows",
    "NDCGRanker-HistGradientBoosting": "bins of features are of all rows",
}

#: Why a constant weight other than 1 is not none.
OWN_PENALTY = {
    "NDCGRanker-Ridge": "the penalty of the regressor is a number, on the scale of the weights",
    "MultiLabelRanker": "the penalty of the case is a number, on the scale of the weights",
    "StochasticAggregatedRanker": "the default penalty is a number, on the scale of the weights",
    "LowRankLossClassifier": "the penalty of the default Ridge() is a number",
    "FMeasureClassifier": "the penalty of the default Ridge() is a number",
    "StructuredPredictor": "the penalty of the default Ridge() is a number",
}

#: A promise counts queries, so that cut-offs take no weights.
CASES = [case for case in EVERY_ESTIMATOR if has_fit_parameter(case.make(), "sample_weight")]


def has_alpha(case):
    """Whether a penalty of the case can be set, which is on the scale of the weights."""
    params = case.make().get_params(deep=False)
    return "alpha" in params and params.get("estimator") is None and "pairwise" not in case.name


def target_of(case, y, qid):
    """The labels that a case is fitted to."""
    if case.target == "comparisons":
        return sample_comparisons(y, qid, n_comparisons=300, random_state=0)
    if case.target == "sets":
        return np.column_stack([y > 0, y > 1])
    if case.target == "labels":
        return MultiLabelTarget(np.column_stack([y, np.roll(y, 1)]), qid, ["grade", "good"])
    return y


def fitted(case, X, target, qid, weight, alpha=1.0):
    """The fitted estimator of a case, with weights and, unless None, a penalty."""
    estimator = case.make()
    if alpha is not None and has_alpha(case):
        estimator.set_params(alpha=alpha)
    if "tol" in estimator.get_params(deep=False):
        estimator.set_params(tol=1e-8)
    queries = {"qid": qid} if case.target == "grades" else {}
    return estimator.fit(X, target, sample_weight=weight, **queries)


def scores_of(case, estimator, X, qid):
    """Scores of documents, or of the classes or sets of rows."""
    if case.target == "sets":
        return estimator.expected_score(X)
    if case.target == "classes":
        return estimator.expected_loss(X)
    return estimator.surrogate_values(X, qid)


@pytest.fixture(scope="module")
def problem():
    X, y, qid = load_digits_queries(n_queries=24, n_documents=8)
    return X / 16, y, qid


def reason(case):
    return next((why for name, why in READS_ZEROS.items() if case.name.startswith(name)), None)


def without_and_of_weight_0(case, problem):
    """Scores by a fit without some queries, and by one in which they have weight 0."""
    X, y, qid = problem
    left_out = qid < 5
    kept, weight = ~left_out, np.where(left_out, 0.0, 1.0 + qid % 3)
    # Labels and features that would change the fit; comparisons are drawn one after the other.
    other = y if case.target == "comparisons" else np.where(left_out, y[::-1], y)
    far, target = np.where(left_out[:, None], 3.0 * X + 1.0, X), target_of(case, other, qid)
    expected = fitted(case, X[kept], target[kept], qid[kept], weight[kept])
    found = fitted(case, far, target, qid, weight)
    return scores_of(case, expected, X, qid), scores_of(case, found, X, qid)


@pytest.mark.parametrize("case", [c for c in CASES if reason(c) is None], ids=lambda c: c.name)
def test_queries_of_weight_0_are_left_out(case, problem):
    expected, found = without_and_of_weight_0(case, problem)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max(), rtol=0)


SCORED = [case for case in CASES if case.target in ("grades", "comparisons", "labels")]


@pytest.mark.parametrize("case", SCORED, ids=lambda case: case.name)
def test_queries_of_weight_0_are_left_out_of_scores(case, problem):
    X, y, qid = problem
    estimator = fitted(case, X, target_of(case, y, qid), qid, None)
    left_out = qid < 20
    kept, weight = ~left_out, np.where(left_out, 0.0, 1.0 + qid % 3)
    for of_kept in (y, 0 * y):  # without a relevant document most measures have no value
        target = target_of(case, np.where(left_out, y[::-1], of_kept), qid)

        def score(rows, target=target):
            queries = {"qid": qid[rows]} if case.target == "grades" else {}
            return estimator.score(X[rows], target[rows], sample_weight=weight[rows], **queries)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert score(np.full(len(y), True)) == pytest.approx(score(kept), nan_ok=True)


def with_constant(case, problem, constant, **alphas):
    """Scores by fits without weights and with a constant one, each with its penalty."""
    X, y, qid = problem
    target, weight = target_of(case, y, qid), np.full(len(y), constant)
    plain = fitted(case, X, target, qid, None, alphas.get("plain"))
    weighed = fitted(case, X, target, qid, weight, alphas.get("weighed"))
    return scores_of(case, plain, X, qid), scores_of(case, weighed, X, qid)


@pytest.mark.product
@pytest.mark.parametrize("constant", [1.0, 3.0])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_constant_weight_is_none(case, constant, problem):
    if constant != 1.0 and case.name in OWN_PENALTY:
        pytest.skip(OWN_PENALTY[case.name])
    expected, found = with_constant(case, problem, constant)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max(), rtol=0)


@pytest.mark.parametrize("case", filter(has_alpha, CASES), ids=lambda case: case.name)
def test_a_constant_weight_divides_the_penalty(case, problem):
    expected, found = with_constant(case, problem, 4.0, plain=0.25, weighed=1.0)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max(), rtol=0)


# -- an exception that is no longer needed has no reason ---------------------------------------


def test_exceptions_are_cases():
    names = [case.name for case in CASES]
    starts = [*READS_ZEROS, *OWN_PENALTY]
    assert all(any(name.startswith(start) for name in names) for start in starts)


@pytest.mark.parametrize("case", [c for c in CASES if reason(c)], ids=lambda c: c.name)
def test_exceptions_read_queries_of_weight_0(case, problem):
    expected, found = without_and_of_weight_0(case, problem)
    assert np.abs(found - expected).max() > 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("case", [c for c in CASES if c.name in OWN_PENALTY], ids=lambda c: c.name)
def test_exceptions_have_a_penalty(case, problem):
    expected, found = with_constant(case, problem, 100.0)
    assert not np.allclose(found, expected, rtol=1e-4)


# -- labels of queries of weight 0 set no scale -------------------------------------------------


SCALED = {
    "ERRRanker": ERRRanker,
    "OrderPreservingRanker": lambda: OrderPreservingRanker("err"),
    "BoostedRanker": lambda: BoostedRanker("err@5", engine="sklearn", n_estimators=5),
}


@pytest.fixture(scope="module")
def with_higher_grade(problem):
    """Rows and weights: the one label above the others is in a query of weight 0."""
    X, y, qid = problem
    y, left_out = np.minimum(y, 3.0), qid == 3
    y[np.flatnonzero(left_out)[0]] = 4.0
    return X, y, qid, np.where(left_out, 0.0, 1.0 + qid % 3)


@pytest.mark.parametrize("make", SCALED.values(), ids=SCALED)
def test_grades_of_weight_0_set_no_highest_grade(make, with_higher_grade):
    X, y, qid, weight = with_higher_grade
    kept = weight > 0
    found = make().fit(X, y, qid, sample_weight=weight)
    expected = make().fit(X[kept], y[kept], qid[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(found.predict(X, qid), expected.predict(X, qid), atol=1e-9)
    score = found.score(X[kept], y[kept], qid[kept])
    assert score == pytest.approx(expected.score(X[kept], y[kept], qid[kept]))


def test_grades_of_weight_0_set_no_highest_grade_of_metrics(with_higher_grade):
    X, y, qid, weight = with_higher_grade
    kept = weight > 0
    scores = X @ np.arange(X.shape[1])
    expected = err_score(y[kept], scores[kept], qid=qid[kept], sample_weight=weight[kept])
    assert err_score(y, scores, qid=qid, sample_weight=weight) == pytest.approx(expected)


#: Rankers for which some labels are not valid, and such a label.
INVALID = {
    "PrecisionRanker": (lambda: PrecisionRanker(relevance_level=None), 4),
    "NDCGRanker": (NDCGRanker, -1),
    "ERRRanker": (ERRRanker, -1),
    "MultiLabelRanker": (lambda: MultiLabelRanker(Precision(5, relevance_level=None)), 4),
    "MultiLabelRanker of grades": (lambda: MultiLabelRanker("err"), -1),
    "TabularRanker": (lambda: TabularRanker(trees=None), -1),
}


@pytest.mark.parametrize("name", INVALID)
def test_labels_of_weight_0_are_validated_like_others(name, problem):
    (make, value), (X, y, qid) = INVALID[name], problem
    y = np.where(qid == 3, value, y > 0)
    if name.startswith("MultiLabel"):
        y = MultiLabelTarget(y[:, None], qid, ["grade"])
    with pytest.raises(ValueError, match="y must"):
        make().fit(X, y, qid, sample_weight=1.0 * (qid != 3))


def test_one_query_of_positive_weight_is_fitted_alone(problem):
    X, y, qid = problem
    one = qid == next(query for query in qid if np.ptp(y[qid == query]))
    found = TabularRanker(trees=None).fit(X, y, qid, sample_weight=1.0 * one)
    expected = TabularRanker(trees=None).fit(X[one], y[one], qid[one])
    scores, others = (ranker.predict(X[one], qid[one]) for ranker in (found, expected))
    np.testing.assert_allclose(scores, others, rtol=1e-6)


def test_grades_of_weight_0_set_no_highest_grade_of_several_labels(with_higher_grade):
    X, y, qid, weight = with_higher_grade
    kept, target = weight > 0, MultiLabelTarget(y[:, None], qid, ["grade"])
    found = MultiLabelRanker("err").fit(X, target, sample_weight=weight)
    expected = MultiLabelRanker("err").fit(X[kept], target[kept], sample_weight=weight[kept])
    assert found.measures_ == expected.measures_
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-9)
