"""From a click log to a ranker with a report."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge

from skcalrank import DCGRanker, sample_sessions
from skcalrank.aggregation import fit_propensities
from skcalrank.data import Rows
from skcalrank.evaluation import click_ranker, offline_evaluate

THETA = 1 / np.arange(1.0, 7)

pytestmark = pytest.mark.filterwarnings("ignore:The effective sample size")


def made(strictness=1.0, sign=1.0, **options):
    """Features, and sessions of a logger that knows the relevance (sign > 0) or another feature."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(1200, 2)), np.repeat(np.arange(200), 6)
    p = 1 / (1 + np.exp(1 - 2 * X[:, 0]))
    logger = strictness * (X[:, 0] if sign > 0 else X[:, 1])
    options = {"n_sessions": 6000, "order_scores": logger, "model": "position"} | options
    return X, sample_sessions(p, qid, propensity=THETA, random_state=0, **options)


def test_the_report_is_of_the_steps():
    X, y = made(sign=-1)
    prior = FrozenEstimator(Ridge().fit(X, X[:, 1]))
    report = click_ranker(X, y, propensity=THETA, prior=prior, measure="dcg@3")
    assert "shrunk" in report.choice.comparison.systems
    (test,) = Rows(X, y, y.queries()).held_out(0.3)
    scores, held_out = report.choice.ranker.predict(X[test]), y[test]
    exponents = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5]
    estimate = offline_evaluate(scores, held_out, "dcg@3", propensity=THETA, exponents=exponents)
    assert estimate[:5] == report.estimate[:5]
    assert estimate.safety == report.estimate.safety
    np.testing.assert_array_equal(estimate.sensitivity, report.estimate.sensitivity)
    assert report.facts["impressions"] == 36_000
    text = str(report)
    assert text.endswith("for every strength of position bias tried.")
    assert ": safe\n" in text
    assert "dcg@3 of held-out queries" in text


def test_the_error_of_fitted_propensities_is_that_of_all_sessions():
    X, y = made(sign=-1)
    report = click_ranker(X, y)
    fitted = fit_propensities(y)
    assert str(report).splitlines()[1] == str(report.propensity) == str(fitted)
    (test,) = Rows(X, y, y.queries()).held_out(0.3)
    scores, held_out = report.choice.ranker.predict(X[test]), y[test]
    estimate = offline_evaluate(scores, held_out, "dcg@5", propensity=fitted)
    assert estimate[:5] == report.estimate[:5]
    known = offline_evaluate(scores, held_out, "dcg@5", propensity=fitted.propensity)
    assert report.estimate.value == pytest.approx(known.value)
    assert report.estimate.high - report.estimate.low > known.high - known.low


def test_a_ranker_that_is_not_better_is_not_safe():
    # The logger ranks by relevance itself, and candidates learn from few clicks.
    X, y = made(strictness=20.0, n_sessions=400)
    report = click_ranker(X[:, 1:], y, propensity=THETA)
    assert not report.estimate.safety
    assert "not shown to be safe" in str(report)
    assert str(report).endswith("is never better.")


@pytest.mark.parametrize("n_queries", [1, 2, 5])
def test_few_training_queries_are_refused(n_queries):
    X, y = made()
    rows = y.qid < n_queries
    with pytest.raises(ValueError, match="must have 5 training queries at least, got"):
        click_ranker(X[rows], y[rows], propensity=THETA)


@pytest.mark.parametrize("test_size", [0, 1, "half", None])
def test_the_share_of_held_out_queries_is_one(test_size):
    X, y = made()
    with pytest.raises(ValueError, match="test_size must be a finite number > 0 and < 1"):
        click_ranker(X, y, propensity=THETA, test_size=test_size)


@pytest.mark.every_case
@pytest.mark.parametrize("container", ["array", "list", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("n_rows", [50, 2400])
def test_rows_and_sessions_are_as_many(container, n_rows):
    X, y = made()
    X = np.resize(X, (n_rows, 2))
    if container == "list":
        X = X.tolist()
    elif container != "array":
        library = pytest.importorskip(container)
        columns = {"a": X[:, 0], "b": X[:, 1]}
        X = library.table(columns) if container == "pyarrow" else library.DataFrame(columns)
    with pytest.raises(ValueError, match=f"X must have the 1200 rows of sessions, got {n_rows}"):
        click_ranker(X, y, propensity=THETA)


def test_what_is_no_seed_is_refused():
    X, y = made()
    with pytest.raises(ValueError, match="cannot be used to seed"):
        click_ranker(X, y, propensity=THETA, random_state="seed")


def test_a_log_of_one_order_is_refused():
    X, y = made(strictness=1e6)
    with pytest.raises(ValueError, match="must identify the propensities"):
        click_ranker(X, y)


def test_documents_never_shown_are_told_and_not_evaluated():
    X, y = made(n_shown=3, order_scores=np.random.default_rng(1).normal(size=1200) * 5)
    with pytest.warns(UserWarning, match="shorter than what dcg@5 counts"):
        report = click_ranker(X, y, propensity=THETA)
    assert report.facts["never shown"] > 0
    assert report.estimate.unseen == 0
    assert np.isfinite(report.ranker.predict(X)).all()


def test_few_effective_clicks_are_told_once_and_in_the_report():
    X, y = made(sign=-1)
    keep = y.qid < 40  # 12 queries are held out
    with pytest.warns(UserWarning, match="size for dcg@5 is below 40") as told:
        report = click_ranker(X[keep], y[keep], propensity=THETA)
    assert sum("effective sample size" in str(w.message) for w in told) == 1
    safety = report.estimate.safety
    assert safety.low > 0
    assert not safety
    assert str(safety.effective_sample_size)[:2] in str(report)
    assert ": not shown to be safe, as few clicks, or queries, decide" in str(report)


@pytest.mark.filterwarnings("error:The effective sample size")
def test_other_strengths_of_bias_do_not_warn_of_the_estimate():
    X, y = made(sign=-1, n_sessions=1850)
    estimate = click_ranker(X, y, propensity=THETA).estimate
    assert min(estimate.effective_sample_size, estimate.safety.effective_sample_size) > 40


@pytest.mark.long
def test_default_candidates_read_tables():
    pandas = pytest.importorskip("pandas")
    X, y = made(n_sessions=1500)
    X, y = X[:480], y[np.arange(480)]
    kind = np.where(X[:, 0] > 0.5, "new", "old")
    table = pandas.DataFrame({"kind": kind, "b": X[:, 1]})
    report = click_ranker(table, y, propensity=THETA, prior=0.3, measure="dcg@3")
    assert len(report.choice.comparison.systems) == 7
    assert report.ranker.ranker_.encoder_.kinds_["kind"] == "category"
    scores = report.ranker.predict(table, y.qid)
    assert scores[kind == "new"].mean() > scores[kind == "old"].mean()


def test_options_that_are_not_read_are_refused():
    X, y = made(n_sessions=200)
    with pytest.raises(ValueError, match="prior must be None with candidates"):
        click_ranker(X, y, propensity=THETA, prior=0.3, candidates={"a": DCGRanker(gain="linear")})
    with pytest.raises(ValueError, match='merge must be False unless propensity is "fit"'):
        click_ranker(X, y, propensity=THETA, merge=True)
