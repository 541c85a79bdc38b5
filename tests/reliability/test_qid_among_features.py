"""A column with the qid is told and left out, whatever stands around the ranker that reads it."""

import pytest

from skcalrank import CalibratedRankerCV, GuaranteedCutoff, StackingRanker, TabularRanker
from skcalrank.datasets import make_offers

pytest.importorskip("pandas")

AROUND = {
    "calibrated": lambda ranker: CalibratedRankerCV(ranker, cv=2, relevance_level=1),
    "cut off": lambda ranker: GuaranteedCutoff(ranker, alpha=0.3, relevance_level=1),
    "stacked": lambda ranker: StackingRanker([("a", ranker)]),
}


@pytest.mark.parametrize("name", AROUND)
def test_the_qid_is_no_feature(name):
    X, y, qid = make_offers(n_queries=40, random_state=0)
    X = X[["price", "rating"]].assign(search=[f"search {number}" for number in qid])
    around = AROUND[name](TabularRanker(trees=None))
    with pytest.warns(UserWarning, match="'search' of X is left out: it holds the qid"):
        around.fit(X, y, X["search"])
    ranker = around.named_rankers_["a"] if name == "stacked" else around.ranker_
    ranker = ranker.ranker_ if name == "cut off" else ranker
    assert ranker.encoder_.kinds_["search"] == "identifier"
