"""Functions that cut X into rows or columns take sparse matrices of every format."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse
from strategies import SPARSE

from skcalrank import AggregatedRanker, DCGRanker, NDCGRanker, PrecisionRanker, sample_sessions
from skcalrank.columns.arrays import safe_indexing
from skcalrank.displays import TopContributionsDisplay
from skcalrank.evaluation import click_ranker, cross_compare
from skcalrank.inspection import explain_order
from skcalrank.model_selection import train_test_query_split
from skcalrank.pipeline import HostedRanker

N_QUERIES, N_DOCUMENTS = 24, 5
QID = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
PROPENSITY = 1 / np.arange(1.0, N_DOCUMENTS + 1)


def compared(X, y):
    rankers = {"a": NDCGRanker(), "b": DCGRanker()}
    return cross_compare(rankers, X, y, QID, ["ndcg"]).query_differences("a", "b", measure="ndcg")


def chosen_by_clicks(X, y):
    log = sample_sessions(y / 3, QID, n_sessions=600, model="position", random_state=0)
    options = {"propensity": PROPENSITY}
    candidates = {
        name: AggregatedRanker("position_based", ranker, structure_options=options)
        for name, ranker in (("a", DCGRanker(gain="linear")), ("b", PrecisionRanker(k=2)))
    }
    report = click_ranker(X, log, propensity=PROPENSITY, candidates=candidates, random_state=0)
    return list(report.choice.lost.values())


def hosted(X, y):
    return HostedRanker(NDCGRanker(), qid_column=2).fit(X, y).predict(X)


def drawn(X, y):
    pytest.importorskip("matplotlib")
    ranker = NDCGRanker().fit(X, y, QID)
    return TopContributionsDisplay.from_estimator(ranker, X, qid=QID, query=3).contributions


DOORS = {
    "safe_indexing-rows": lambda X, _y: safe_indexing(X, [5, 2]),
    "safe_indexing-columns": lambda X, _y: safe_indexing(X, [2, 0], axis=1),
    "train_test_query_split": lambda X, _y: train_test_query_split(X, qid=QID, random_state=0)[1],
    "cross_compare": compared,
    "click_ranker": chosen_by_clicks,
    "HostedRanker": hosted,
    "explain_order": lambda X, y: explain_order(NDCGRanker().fit(X, y), X, 7, 6, qid=QID).total,
    "TopContributionsDisplay": drawn,
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_format_is_the_same(door, rng):
    X = np.maximum(rng.normal(size=(len(QID), 3)), 0).round(1)
    X[:, 2] = QID + 1
    y = rng.integers(0, 3, len(QID))
    expected = door(csr_matrix(X), y)
    for name, convert in SPARSE.items():
        values = door(convert(X), y)
        if issparse(expected):
            kept = name.partition("_")[0]  # formats that have subscripts
            assert values.format == ("csr" if kept in ("bsr", "coo", "dia") else kept), name
            assert abs(values - expected).sum() == 0, name
        else:
            np.testing.assert_allclose(values, expected, rtol=1e-9, err_msg=name)
