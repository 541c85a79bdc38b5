"""Models of users: perplexity of held-out clicks, by their definition, and what it tells."""

import itertools
import re

import numpy as np
import pytest

from skcalrank import AggregatedRanker, ClickSessions, sample_sessions
from skcalrank.evaluation import click_ranker

THETA = np.array([1.0, 0.5, 0.3])

pytestmark = pytest.mark.filterwarnings("ignore:The effective sample size")


def report_of(X, y, propensity="fit"):
    naive = AggregatedRanker("position_based", structure_options={"propensity": np.ones(6)})
    return click_ranker(X, y, propensity=propensity, candidates={"naive": naive}, measure="dcg@2")


def cascade_of(p, on, clicked):
    """Probability of the clicks of a list: the user reads, and goes on after a click, or not."""
    reads, total = 1.0, 1.0
    for relevance, click in zip(p, clicked):
        chance = reads * relevance
        total *= chance if click else 1 - chance
        reads = on if click else reads * (1 - relevance) / (1 - chance)
    return total


def test_perplexities_by_their_definition(rng):
    lists = [rng.permutation(4)[: rng.integers(2, 4)] + 4 * (s // 5) for s in range(60)]
    clicks = [np.flatnonzero(rng.random(len(rows)) < 0.4) + 1 for rows in lists]
    y = ClickSessions(np.repeat(np.arange(12), 4), lists, clicks)
    clicked = np.split(y.clicked, y.ptr[1:-1])
    examined = np.split(y.examined, y.ptr[1:-1])
    with_click = sum(c.any() for c in clicked)
    more = y.clicked.sum() - with_click
    on = (more + 1) / (more + with_click + 2)
    logs = dict.fromkeys(["position-based", "cascade", "no bias"], 0.0)
    for s, rows in enumerate(lists):
        others = [other for other in range(60) if other % 5 % 2 != s % 5 % 2]
        for model in logs:
            c, e = np.zeros((2, 48))
            for other in others:
                theta = {
                    "position-based": THETA[: len(lists[other])],
                    "cascade": examined[other],
                    "no bias": 1,
                }[model]
                np.add.at(c, lists[other], clicked[other])
                np.add.at(e, lists[other], theta * np.ones(len(lists[other])))
            p = ((c + c.sum() / e.sum()) / (e + 1))[rows]
            if model == "cascade":
                logs[model] += np.log(cascade_of(p, on, clicked[s]))
                continue
            p = p * (THETA[: len(rows)] if model == "position-based" else 1)
            p = np.clip(p, 1e-6, 1 - 1e-6)
            logs[model] += np.log(np.where(clicked[s], p, 1 - p)).sum()
    expected = {model: np.exp(-log / len(y.clicked)) for model, log in logs.items()}
    assert report_of(rng.normal(size=(48, 2)), y, THETA).perplexity == pytest.approx(expected)


def test_the_order_of_the_log_changes_nothing(rng):
    lists = np.array([rng.permutation(3) + 3 * (s // 10) for s in range(80)])
    clicks = [np.flatnonzero(rng.random(3) < 0.4) + 1 for _ in lists]
    X, qid, in_turn = rng.normal(size=(24, 2)), np.repeat(np.arange(8), 3), np.arange(80)
    in_turn = in_turn.reshape(8, 10).T.ravel()
    first, second = (
        report_of(X, ClickSessions(qid, lists[order], [clicks[s] for s in order]), THETA)
        for order in (np.arange(80), in_turn)
    )
    assert first.perplexity == pytest.approx(second.perplexity)


def test_probabilities_of_the_cascade_sum_to_one(rng):
    p = rng.random(4)
    patterns = itertools.product([0, 1], repeat=4)
    assert sum(cascade_of(p, 0.3, clicks) for clicks in patterns) == pytest.approx(1)


def better_model(report):
    """The model that the report says is better, if any."""
    found = re.search("model: (.*) predicts their clicks better", str(report))
    return found and found[1]


def users(kind, seed=0, order=1.0):
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(900, 2)), np.repeat(np.arange(150), 6)
    theta = np.ones(6) if kind == "all" else 1 / np.arange(1.0, 7)
    options = {"model": "cascade"} if kind == "cascade" else {"model": "position"}
    options |= {} if kind == "cascade" else {"propensity": theta}
    p = 1 / (1 + np.exp(1 - 2 * X[:, 0]))
    scores = order * (0.5 * X[:, 0] + X[:, 1])
    return X, sample_sessions(
        p, qid, n_sessions=1800, order_scores=scores, random_state=seed, **options
    )


@pytest.mark.parametrize("order", [0.0, 1.0])
@pytest.mark.parametrize(
    ("kind", "better"), [("position", None), ("cascade", "cascade"), ("all", None)]
)
def test_the_model_of_the_users_is_told(kind, better, order):
    # Users who examine all are those of propensities that are estimated near 1.
    for seed in range(2):
        assert better_model(report_of(*users(kind, seed, order))) == better


def test_propensities_of_users_without_bias_are_told():
    report = report_of(*users("all", order=0.0), 1 / np.arange(1.0, 7))
    assert better_model(report) == "no bias"
    assert not report.estimate.safety


def test_nothing_is_safe_for_other_users():
    X, y = users("cascade")
    report = click_ranker(X, y)
    assert report.estimate.safety.low > 0
    assert not report.estimate.safety
    assert better_model(report) == "cascade"
    assert ": not shown to be safe" in str(report)
    assert list(report.perplexity) == ["position-based", "cascade", "no bias"]
    X, y = users("position")
    report = click_ranker(X, y)
    assert report.estimate.safety
    assert better_model(report) is None
    shown = ", ".join(f"{name} {value:.4g}" for name, value in report.perplexity.items())
    assert f"Perplexity of held-out clicks: {shown}" in str(report)
