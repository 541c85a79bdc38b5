"""Rankers of clicks by the position-based model."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from skcalrank import (
    AggregatedRanker,
    AUCRanker,
    AveragePrecisionRanker,
    BoostedRanker,
    ClickSessions,
    DCGRanker,
    ERRRanker,
    ExpectedRankUtilityRanker,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PrecisionRanker,
    QueryKFold,
    RankingTarget,
    RBPRanker,
    RecallRanker,
    SpearmanRanker,
    TabularRanker,
    sample_sessions,
)
from skcalrank.aggregation import cascade, position_based
from skcalrank.measures import DCG
from skcalrank.metrics import dcg_score
from skcalrank.rankers import StochasticAggregatedRanker

THETA = 1 / np.arange(1, 9)
OPTIONS = {"propensity": THETA}


def make(rng, n_queries=80, n_sessions=4000, trust=None, n_shown=None):
    """Features, sessions of a logger that knows little, and the true relevance."""
    qid = np.repeat(np.arange(n_queries), 8)
    X = rng.normal(size=(len(qid), 4))
    p = 1 / (1 + np.exp(1.0 - X @ [1.5, -1.0, 0.0, 0.0]))
    y = sample_sessions(
        p, qid, n_sessions=n_sessions, model="position", trust=trust, random_state=0,
        n_shown=n_shown,
        order_scores=2 * X[:, 2] - X[:, 0],
    )  # fmt: skip
    return X, y, p


def value(ranker, X, y, p):
    return dcg_score(p, ranker.predict(X), qid=y.qid, gain="linear")


def test_clicks_are_fitted_by_evidence(rng):
    X, y, _ = make(rng, n_sessions=300, n_shown=4)
    found = position_based(y, THETA)
    ranker = AggregatedRanker("position_based", structure_options=OPTIONS).fit(X, y)
    assert isinstance(ranker.ranker_, DCGRanker)
    assert ranker.ranker_.gain == "linear"
    np.testing.assert_allclose(ranker.targets_, found.relevance)
    e = found.examinations
    assert (e == 0).any()
    for m, given in ((5.0, "evidence"), (5.0, 5.0), (0.5, 0.5), (0.0, 0)):
        ranker = clone(ranker).set_params(row_weight=given).fit(X, y)
        weight = np.divide(e, e + m, out=np.zeros(len(e)), where=e > 0)
        plain = DCGRanker(gain="linear").fit_targets(X, found.relevance, y.qid, weight)
        np.testing.assert_allclose(ranker.coef_, plain.coef_)
    # A partial of the structure is the structure.
    by_function = AggregatedRanker(partial(position_based, propensity=THETA), row_weight=0)
    np.testing.assert_allclose(by_function.fit(X, y).coef_, ranker.coef_)


def test_estimates_are_taken_without_a_shift(rng):
    # With trust bias they are negative, and count as they are.
    trust = (0.9, 0.3)
    X, y, _ = make(rng, trust=trust)
    options = OPTIONS | {"trust": trust}
    estimate = position_based(y, **options).relevance
    assert estimate.min() < -0.1
    ranker = AggregatedRanker("position_based", structure_options=options).fit(X, y)
    np.testing.assert_allclose(ranker.targets_, estimate)


def test_the_loggers_order_is_not_learned(rng):
    X, y, p = make(rng)
    naive = DCGRanker(gain="linear").fit(X, RankingTarget(y.counts()[0] / 10.0, y.qid))
    best = value(Ridge().fit(X, p), X, y, p)
    regret = {}
    for name, ranker in {
        "clicks": naive,
        "linear": AggregatedRanker("position_based", structure_options=OPTIONS).fit(X, y),
        "pairs": AggregatedRanker(
            "position_based",
            DCGRanker(gain="linear", loss="pairwise_squared"),
            structure_options=OPTIONS,
        ).fit(X, y),
        "prior": AggregatedRanker("position_based", structure_options=OPTIONS | {"prior": 0.4}).fit(
            X, y
        ),
    }.items():
        regret[name] = best - value(ranker, X, y, p)
    assert regret["clicks"] > 0.02
    for name in ("linear", "pairs", "prior"):
        assert regret[name] < 0.1 * regret["clicks"], name


INNER = {
    "trees": BoostedRanker(DCG(gain="linear"), engine="sklearn", n_estimators=20),
    "descent": OrderPreservingRanker(DCG(gain="linear"), loss="pairwise_squared"),
}


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_other_rankers_of_targets_take_clicks(inner, rng):
    X, y, p = make(rng)
    ranker = AggregatedRanker("position_based", inner, structure_options=OPTIONS).fit(X, y)
    assert value(ranker, X, y, p) > value(Ridge().fit(X, X[:, 0]), X, y, p)


def test_scores_are_values_of_the_estimates(rng):
    X, y, _ = make(rng)
    ranker = AggregatedRanker("position_based", structure_options=OPTIONS).fit(X, y)
    relevance = position_based(y, THETA).relevance
    expected = dcg_score(relevance, ranker.predict(X), qid=y.qid, gain="linear")
    assert ranker.score(X, y) == pytest.approx(expected)
    assert np.isfinite(cross_val_score(ranker, X, y, cv=QueryKFold(3))).all()


def test_no_ranker_means_a_measure_that_is_linear_in_clicks(rng):
    X, y, _ = make(rng)
    for structure, options in (
        ("cascade", None),
        (cascade, {}),
        ("position_based", OPTIONS),
        (partial(cascade), None),
    ):
        ranker = AggregatedRanker(structure, structure_options=options)
        y_of = ClickSessions(
            y.qid, np.split(y.shown_rows, y.ptr[1:-1]), np.minimum(y.last_click, 1)
        )
        assert isinstance(ranker.fit(X, y_of).ranker_, DCGRanker)
    assert isinstance(AggregatedRanker("borda")._given_ranker(), NDCGRanker)


def test_stochastic_updates_take_the_model_too(rng):
    X, y, p = make(rng)
    ranker = StochasticAggregatedRanker(
        "position_based", DCG(gain="linear"), order=20, structure_options=OPTIONS, random_state=0,
        n_updates=300,
    ).fit(X, y)  # fmt: skip
    assert value(ranker, X, y, p) > value(Ridge().fit(X, X[:, 0]), X, y, p)


def test_bad_options_are_clear_errors(rng):
    X, y, _ = make(rng, n_sessions=50)
    for options, error, message in (
        (None, ValueError, 'structure_options={"propensity": "fit"}'),
        ({"propensity": THETA[:3]}, ValueError, "each position up to 8, .* got 3"),
        (OPTIONS | {"prior": np.ones(3)}, ValueError, r"one relevance for each row, .* got shape"),
    ):
        with pytest.raises(error, match=message):
            AggregatedRanker("position_based", structure_options=options).fit(X, y)
    with pytest.raises(ValueError, match="row_weight"):
        AggregatedRanker("position_based", structure_options=OPTIONS, row_weight=-1).fit(X, y)


@pytest.mark.parametrize(
    "inner",
    [
        BoostedRanker(DCG(gain="linear"), engine="sklearn", n_estimators=20),
        TabularRanker(DCG(gain="linear"), trees=None),
    ],
)
def test_rankers_of_tables_get_the_table(inner, rng):
    X, y, p = make(rng, n_queries=30, n_sessions=2000)
    table = pd.DataFrame(X[:, 1:]).add_prefix("x")
    table["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "good", "bad"))
    ranker = AggregatedRanker("position_based", inner, structure_options=OPTIONS).fit(table, y)
    scores = ranker.predict(table, y.qid)
    assert dcg_score(p, scores, qid=y.qid) > dcg_score(p, rng.random(len(p)), qid=y.qid) + 0.1
    relevance, _, e, _ = position_based(y, THETA)
    alone = clone(inner).fit_targets(table, relevance, y.qid, e / (e + 5))
    np.testing.assert_allclose(scores, alone.predict(table, y.qid))


# -- priors --------------------------------------------------------------------------------


def test_scores_of_a_ranker_are_mapped_to_relevances_on_other_queries(rng):
    X, y, p = make(rng, n_sessions=300)
    logger = DCGRanker(gain="linear").fit(X[:, :1], p, y.qid)
    t, _, e, _ = position_based(y, THETA)
    mapped = (position_based(y, THETA, prior=logger, X=X[:, :1]).relevance * (e + 5) - t * e) / 5
    assert mapped.min() >= -1e-12
    assert mapped.max() <= 1 + 1e-12
    # The mean of the estimates is kept, and the order of the scores in each part of the queries.
    np.testing.assert_allclose(mapped @ e, t @ e, rtol=0.2)
    for query in range(3):
        rows = np.flatnonzero(y.qid == query)
        order = rows[np.argsort(logger.predict(X[rows, :1], 0))]
        assert (np.diff(mapped[order]) >= -1e-12).all()
    # The clicks of a query do not count for itself.
    other = ClickSessions.unchecked(
        y.qid, y.shown_rows, y.ptr, y.clicked ^ (y.qid[y.shown_rows] == 0), y.position, y.last_click
    )
    e0, t0 = e[:8], position_based(other, THETA).relevance[:8]
    again = position_based(other, THETA, prior=logger, X=X[:, :1]).relevance[:8]
    np.testing.assert_allclose((again * (e0 + 5) - t0 * e0) / 5, mapped[:8], atol=1e-12)
    # The order of the rows does not matter.
    rows = rng.permutation(len(y))
    moved = position_based(y[rows], THETA, prior=logger, X=X[rows, :1]).relevance
    np.testing.assert_allclose(
        moved, position_based(y, THETA, prior=logger, X=X[:, :1]).relevance[rows]
    )


def test_rankers_of_clicks_shrink_to_a_ranker(rng):
    X, y, p = make(rng, n_sessions=100)
    prior = FrozenEstimator(Ridge().fit(X, p))  # any estimator with predict
    options = OPTIONS | {"prior": prior, "strength": 3.0}
    ranker = AggregatedRanker("position_based", structure_options=options).fit(X, y)
    np.testing.assert_allclose(ranker.targets_, position_based(y, X=X, **options).relevance)
    # Nothing is shrunk where rankings are compared.
    plain = AggregatedRanker("position_based", structure_options=OPTIONS).fit(X, y)
    plain.ranker_ = ranker.ranker_
    assert ranker.score(X, y) == plain.score(X, y)
    assert np.isfinite(cross_val_score(ranker, X, y, cv=QueryKFold(2))).all()
    with pytest.raises(ValueError, match="X must hold the features"):
        position_based(y, **options)
    with pytest.raises(ValueError, match="prior must hold relevances for clicks of a single query"):
        position_based(y[:8], X=X[:8], **options)
    with pytest.raises(ValueError, match="X must have a row for each of 640"):
        position_based(y, X=X[:8], **options)
    with pytest.raises(ValueError, match="prior must be a number where subsets"):
        clone(ranker).set_params(order=3).fit(X, y)


def test_documents_never_shown_have_no_weight_and_no_target(rng):
    X, y, p = make(rng, n_sessions=30, n_shown=2)
    found = position_based(y, THETA)
    never = found.examinations == 0
    assert never.any()
    assert (found.relevance[never] == 0).all()
    for options in ({}, {"prior": FrozenEstimator(Ridge().fit(X, p))}, {"trust": (0.9, 0.1)}):
        ranker = AggregatedRanker("position_based", structure_options=OPTIONS | options)
        before = clone(ranker).fit(X, y).coef_
        moved = X.copy()
        moved[never] += 100.0
        if not options.get("prior"):
            np.testing.assert_allclose(clone(ranker).fit(moved, y).coef_, before, rtol=1e-6)
        assert np.isfinite(before).all()


# -- what a click can prove ----------------------------------------------------------------


def clicked_shares(y):
    """A user's structure of clicks."""
    return np.clip(position_based(y, THETA).relevance, 0, 1)


def fit(inner, X, y, structure="position_based", **options):
    given = OPTIONS | options if structure == "position_based" else None
    return AggregatedRanker(structure, inner, structure_options=given).fit(X, y)


@pytest.mark.parametrize("structure", ["position_based", "cascade"])
def test_an_exponential_gain_of_fractions_is_refused(structure, rng):
    X, y, _ = make(rng, n_sessions=100)
    y = ClickSessions(y.qid, np.split(y.shown_rows, y.ptr[1:-1]), np.minimum(y.last_click, 1))
    for inner in (DCGRanker(), NDCGRanker(), BoostedRanker(engine="sklearn")):
        with pytest.raises(ValueError, match=r"gain must be 'linear' .* ranker=None is"):
            fit(inner, X, y, structure)
    with pytest.raises(ValueError, match=r"ERRRanker\(\).fit\(X, sessions\) learns ERR"):
        fit(ERRRanker(max_grade=1), X, y, structure)
    with pytest.raises(ValueError, match="gain must be 'linear'"):
        StochasticAggregatedRanker(
            structure, structure_options=OPTIONS if structure == "position_based" else None
        ).fit(X, y)


NOT_LINEAR = {
    "ndcg": (NDCGRanker(gain="linear"), "targets='separable'"),
    "level": (PrecisionRanker(relevance_level=0.5), "pool more"),
    "neutral": (ExpectedRankUtilityRanker(neutral=0.3), "pool more"),
    "ranks": (SpearmanRanker(), "pool more"),
    "own gain": (DCGRanker(gain=np.square), "pool more"),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_targets_that_are_not_linear_warn_with_a_remedy(name, rng):
    inner, remedy = NOT_LINEAR[name]
    X, y, _ = make(rng, n_sessions=100)
    with pytest.warns(UserWarning, match="no linear function of the labels") as told:
        fit(inner, X, y)
    assert remedy in str(told[0].message)
    if "separable" in remedy:
        fit(clone(inner).set_params(targets="separable"), X, y)  # no warning
    pooled = make(rng, n_queries=2, n_sessions=2000)[:2]
    fit(inner, *pooled)


@pytest.mark.parametrize("inner", [RecallRanker(), AveragePrecisionRanker(), AUCRanker()], ids=repr)
def test_measures_that_count_relevant_documents_need_separable_targets(inner, rng):
    X, y, _ = make(rng, n_sessions=100)
    with pytest.raises(ValueError, match=r"fractions as labels: .* targets='separable' does"):
        fit(inner, X, y)
    ranker = fit(clone(inner).set_params(targets="separable"), X, y)
    np.testing.assert_allclose(ranker.targets_, position_based(y, THETA).relevance)


LINEAR = [
    *(PrecisionRanker(k=3), RBPRanker(), DCGRanker(gain="linear"), ExpectedRankUtilityRanker()),
    *(PairwiseDisagreementRanker(), OrderPreservingRanker("precision", loss="squared")),
]


@pytest.mark.parametrize("inner", LINEAR, ids=repr)
def test_targets_that_are_linear_are_taken_as_they_are(inner, rng):
    trust = (0.9, 0.3)
    X, y, _ = make(rng, n_sessions=100, trust=trust)
    estimate = position_based(y, THETA, trust=trust).relevance
    ranker = fit(inner, X, y, trust=trust)
    gap = ranker.targets_ - estimate
    if isinstance(inner, PairwiseDisagreementRanker):
        mean = np.bincount(y.qid, estimate) / 8
        gap = ranker.targets_ - 8 * (estimate - mean[y.qid])
    np.testing.assert_allclose(gap, 0, atol=1e-12)
    assert np.isfinite(ranker.score(X, y))


def test_losses_that_do_not_take_signed_targets_say_why(rng):
    X, y, _ = make(rng, n_sessions=300, trust=(0.9, 0.3))
    linear = DCG(gain="linear")
    for ranker in (
        OrderPreservingRanker(linear, loss="logistic"),
        OrderPreservingRanker(linear, loss="pairwise_logistic"),
        BoostedRanker(linear, engine="sklearn"),
    ):
        with pytest.raises(ValueError, match=r"no minimum for negative .* loss='pairwise_squared'"):
            fit(ranker, X, y, trust=(0.9, 0.3))
        fit(clone(ranker).set_params(loss="pairwise_squared"), X, y, trust=(0.9, 0.3))
    drawn = StochasticAggregatedRanker(
        "position_based", linear, loss="logistic", n_updates=5, random_state=0,
        structure_options=OPTIONS | {"trust": (0.9, 0.3)},
    )  # fmt: skip
    with pytest.raises(ValueError, match="no minimum for negative"):
        drawn.fit(X, y)
    # Without trust bias no target is negative.
    fit(OrderPreservingRanker(linear, loss="logistic"), *make(rng)[:2])


def test_clicks_of_a_function_of_the_user_are_learned_for_dcg_too(rng):
    X, y, _ = make(rng, n_sessions=300)
    ranker = AggregatedRanker(clicked_shares).fit(X, y)
    assert ranker.ranker_.gain == "linear"
    np.testing.assert_allclose(ranker.targets_, clicked_shares(y))
    assert isinstance(clone(ranker)._given_ranker(), NDCGRanker)
