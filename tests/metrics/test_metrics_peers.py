"""Equal values to other libraries; for their conventions see test_library_conventions.py."""

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import average_precision_score as sklearn_average_precision
from sklearn.metrics import ndcg_score as sklearn_ndcg
from sklearn.metrics import roc_auc_score

from skcalrank import metrics

EXACT = {"rtol": 1e-12, "atol": 1e-12}
CUTOFFS = (None, 1, 3, 5, 10, 100)


@pytest.fixture
def rows(rng):
    """Ragged queries one after the other, distinct scores, some queries without relevance."""
    sizes = rng.integers(1, 30, size=60)
    qid = np.repeat(np.arange(60), sizes)
    y = rng.choice([0, 0, 0, 1, 2, 3], size=len(qid))
    y[qid < 5] = 0
    return y, rng.permutation(len(qid)).astype(float), qid, sizes


def by_query(qid):
    return [np.flatnonzero(qid == q) for q in np.unique(qid)]


# -- scikit-learn and scipy ------------------------------------------------------------


@pytest.mark.every_case
@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("tied", [False, True])
def test_ndcg_is_that_of_sklearn(rng, k, tied):
    y = rng.integers(0, 4, size=(40, 12)).astype(float)
    y[:3] = 0
    scores = rng.integers(0, 5, size=y.shape) if tied else rng.normal(size=y.shape)
    ours = metrics.ndcg_score(y, scores, k=k, gain="linear", empty="zero")
    np.testing.assert_allclose(ours, sklearn_ndcg(y, scores, k=k), **EXACT)
    dcg = metrics.dcg_score(y, scores, k=k, gain="linear", average=False)
    gains = metrics.dcg_score(np.log2(1 + y), scores, k=k, average=False)
    np.testing.assert_allclose(dcg, gains, **EXACT)


def test_auc_is_that_of_sklearn_ties_included(rng):
    y = rng.integers(0, 2, size=(30, 15))
    y[:, :2] = [0, 1]
    scores = rng.integers(0, 4, size=y.shape).astype(float)
    expected = [roc_auc_score(a, s) for a, s in zip(y, scores)]
    np.testing.assert_allclose(metrics.auc_score(y, scores, average=False), expected, **EXACT)


def test_average_precision_is_that_of_sklearn(rng):
    y = rng.integers(0, 2, size=(30, 15))
    y[:, 0] = 1
    scores = rng.normal(size=y.shape)
    # Ties among irrelevant documents change nothing; others scikit-learn takes as one step.
    scores = np.where(y == 0, np.round(scores), scores)
    expected = [sklearn_average_precision(a, s) for a, s in zip(y, scores)]
    ours = metrics.average_precision_score(y, scores, average=False)
    np.testing.assert_allclose(ours, expected, **EXACT)


def test_rank_correlations_are_those_of_scipy_without_ties(rng):
    y, scores = rng.normal(size=(2, 20, 9))
    spearman = [spearmanr(a, s).statistic for a, s in zip(y, scores)]
    kendall = [kendalltau(a, s).statistic for a, s in zip(y, scores)]
    np.testing.assert_allclose(metrics.spearman_score(y, scores, average=False), spearman, **EXACT)
    np.testing.assert_allclose(metrics.kendall_score(y, scores, average=False), kendall, **EXACT)


def test_kendall_with_ties_is_tau_b_times_its_denominator(rng):
    y, scores = rng.integers(0, 4, size=(2, 20, 9))
    y[:, :2], scores[:, :2] = [0, 1], [0, 1]
    tau_b = [kendalltau(a, s).statistic for a, s in zip(y, scores)]
    share = [np.sqrt(np.prod([_untied(v) for v in pair])) for pair in zip(y, scores)]
    expected = np.multiply(tau_b, share)
    np.testing.assert_allclose(metrics.kendall_score(y, scores, average=False), expected, **EXACT)


def _untied(values):
    """Share of the pairs whose values differ."""
    r = len(values)
    return (values[:, None] != values).sum() / (r * (r - 1))


# -- trec_eval -------------------------------------------------------------------------

TREC = {
    "map": (metrics.average_precision_score, {}),
    "map_cut_5": (metrics.average_precision_score, {"k": 5}),
    "map_cut_10": (metrics.average_precision_score, {"k": 10}),
    "P_5": (metrics.precision_at_k_score, {"k": 5}),
    "P_20": (metrics.precision_at_k_score, {"k": 20}),
    "recall_5": (metrics.recall_at_k_score, {"k": 5}),
    "recall_20": (metrics.recall_at_k_score, {"k": 20}),
    "recip_rank": (metrics.reciprocal_rank_score, {}),
    "Rprec": (metrics.r_precision_score, {}),
    "success_5": (metrics.hit_at_k_score, {"k": 5}),
    "ndcg": (metrics.ndcg_score, {"gain": "linear"}),
    "ndcg_cut_10": (metrics.ndcg_score, {"gain": "linear", "k": 10}),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", TREC)
@pytest.mark.parametrize("level", [1, 2])
def test_measures_are_those_of_trec_eval(rows, name, level):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    y, scores, qid, _ = rows
    documents = {str(q): r for q, r in zip(np.unique(qid), by_query(qid))}
    qrel = {q: {f"d{i}": int(y[i]) for i in r} for q, r in documents.items()}
    run = {q: {f"d{i}": float(scores[i]) for i in r} for q, r in documents.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(qrel, {name}, relevance_level=level)
    found = evaluator.evaluate(run)
    theirs = [found[q][name] for q in documents]
    metric, options = TREC[name]
    if "gain" not in options:
        options = options | {"relevance_level": level}
    ours = metric(y, scores, qid=qid, average=False, empty="zero", **options)
    np.testing.assert_allclose(ours, theirs, **EXACT)
