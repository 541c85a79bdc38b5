"""Names of the items of the label-ranking form are remembered, checked, and given back."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    AggregatedRanker,
    LeastSquaresRankerCV,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    SpearmanRanker,
    get_scorer,
)
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import kendall_score, spearman_score
from skcalrank.persistence import load_model, save_model
from skcalrank.pipeline import make_query_pipeline
from skcalrank.rankers import DifferenceGraphRanker

pandas = pytest.importorskip("pandas")

ITEMS = ["tuna", "egg", "eel", "squid"]
RANKERS = {
    "score": SpearmanRanker,
    "cv": lambda: LeastSquaresRankerCV("spearman"),
    "descent": lambda: OrderPreservingRanker("spearman", loss="logistic"),
    "pairs": lambda: PairwiseDisagreementRanker(surrogate="pairwise"),
    "graph": DifferenceGraphRanker,
    "aggregated": lambda: AggregatedRanker("borda", PairwiseDisagreementRanker()),
}
every_ranker = pytest.mark.parametrize("name", RANKERS)


@pytest.fixture
def problem(rng):
    index = [f"user {k}" for k in range(40)]
    X = pandas.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"), index=index)
    y = X.to_numpy() @ rng.normal(size=(3, 4)) + rng.normal(size=(40, 4))
    return X, pandas.DataFrame(y, columns=ITEMS, index=index)


@every_ranker
def test_rank_gives_the_items_back(name, problem):
    X, y = problem
    ranker = RANKERS[name]().fit(X, y)
    assert ranker.item_names_in_.tolist() == ITEMS
    ranks = ranker.rank(X)
    assert ranks.columns.tolist() == ITEMS
    assert ranks.index.equals(X.index)
    best = ranker.item_names_in_[ranker.top_k(X, k=2)]
    assert best[3].tolist() == ranks.iloc[3].nsmallest(2).index.tolist()
    np.testing.assert_array_equal(ranks, ranker.fit(X, y.to_numpy()).rank(X))
    assert not hasattr(ranker, "item_names_in_")


@pytest.mark.product
@every_ranker
@pytest.mark.parametrize("caller", ["score", "scorer", "pipeline"])
def test_other_items_are_refused(name, caller, problem):
    X, y = problem
    ranker = RANKERS[name]()
    ranker = make_query_pipeline(StandardScaler(), ranker) if caller == "pipeline" else ranker
    ranker.fit(X, y)
    scorer = get_scorer("kendall")
    score = ranker.score if caller != "scorer" else lambda X, y: scorer(ranker, X, y)
    assert score(X, y) == score(X, y.to_numpy())
    assert score(X, y) == score(X, y.set_axis(range(4), axis=1))
    with pytest.raises(ValueError, match=r"columns of fit, tuna, .*item_names_in_\]"):
        score(X, y[ITEMS[::-1]])
    assert score(X, y[ITEMS[::-1]][ITEMS]) == score(X, y)
    with pytest.raises(ValueError, match="got egg, eel, squid: pass the items of fit"):
        score(X, y[ITEMS[1:]])


def test_chunks_and_parts_have_the_items_in_one_order(problem):
    X, y = problem
    ranker = SpearmanRanker(GramRidge()).partial_fit(X, y)
    with pytest.raises(ValueError, match="y of all chunks must have the same items"):
        ranker.partial_fit(X, y[ITEMS[::-1]])
    ranker.partial_fit(X, y)
    assert ranker.item_names_in_.tolist() == ITEMS
    other = SpearmanRanker(GramRidge()).fit(X, y[ITEMS[::-1]])
    with pytest.raises(ValueError, match="Rankers to be merged must have the same items"):
        ranker.merge(other)


def test_copies_know_the_items(problem, tmp_path):
    pytest.importorskip("skops")
    X, y = problem
    ranker = SpearmanRanker().fit_targets(X, y)
    save_model(ranker, tmp_path / "ranker.skcal")
    for copied in (load_model(tmp_path / "ranker.skcal"), pickle.loads(pickle.dumps(ranker))):
        assert copied.rank(X).columns.tolist() == ITEMS
        with pytest.raises(ValueError, match="another order"):
            copied.score(X, y[ITEMS[::-1]])
    search = GridSearchCV(SpearmanRanker(), {"loss": ["squared"]}, cv=2).fit(X, y)
    assert search.best_estimator_.rank(X).columns.tolist() == ITEMS


def test_steps_and_judgments_keep_the_items(problem):
    X, y = problem
    pipe = make_query_pipeline(StandardScaler(), SpearmanRanker()).fit(X, y)
    assert pipe.rank(X).columns.tolist() == ITEMS
    for target in (
        PreferenceTarget.from_orders(y.rank(axis=1, ascending=False)),
        PreferenceTarget.from_relevance(y),
    ):
        ranker = PairwiseDisagreementRanker().fit(X[:30], target[:30])
        assert ranker.rank(X).columns.tolist() == ITEMS
        with pytest.raises(ValueError, match="another order"):
            ranker.score(X, y[ITEMS[::-1]])
        with pytest.raises(ValueError, match="another order"):
            ranker.score(X, PreferenceTarget.from_relevance(y[ITEMS[::-1]]))


def test_names_that_are_not_strings_are_no_names(problem):
    X, y = problem
    ranker = SpearmanRanker().fit(X, y.set_axis([3, 1, 2, 0], axis=1))
    assert not hasattr(ranker, "item_names_in_")
    assert ranker.rank(X).columns.tolist() == [0, 1, 2, 3]
    assert isinstance(SpearmanRanker().fit(X.to_numpy(), y).rank(X.to_numpy()), np.ndarray)


def test_frames_of_polars(problem):
    polars = pytest.importorskip("polars")
    X, y = problem
    ranker = SpearmanRanker().fit(X, polars.DataFrame(y.to_dict("list")))
    assert ranker.rank(X).columns.tolist() == ITEMS
    with pytest.raises(ValueError, match="another order"):
        ranker.score(X, polars.DataFrame(y[ITEMS[::-1]].to_dict("list")))


def test_frames_of_dask(problem):
    frames = pytest.importorskip("dask.dataframe")
    X, y = (frames.from_pandas(part, npartitions=2) for part in problem)
    ranker = SpearmanRanker(alpha=1.0).fit(X, y)
    assert ranker.item_names_in_.tolist() == ITEMS
    assert ranker.score(X, y) == pytest.approx(ranker.score(*problem))
    with pytest.raises(ValueError, match="another order"):
        ranker.score(X, y[ITEMS[::-1]])


@pytest.mark.parametrize("metric", [spearman_score, kendall_score])
def test_scores_of_items_in_another_order_are_refused(metric, problem):
    X, y = problem
    ranks = -SpearmanRanker().fit(X, y).rank(X)
    with pytest.raises(ValueError, match=r"y_score must have its columns in the order of y_true"):
        metric(y, ranks[ITEMS[::-1]])
    assert metric(y, ranks) == metric(y.to_numpy(), ranks.to_numpy())
    assert metric(y, ranks.set_axis(list("abcd"), axis=1)) == metric(y, ranks)
