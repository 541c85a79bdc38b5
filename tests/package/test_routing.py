"""What estimators, splitters and scorers request of metadata routing: the qid, and no weights."""

import pickle

import numpy as np
import pytest
from cases import labels_for, rankers
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import (
    BaseCrossValidator,
    GridSearchCV,
    ShuffleSplit,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.metadata_routing import get_routing_for_object

from skcalrank import (
    AggregatedRanker,
    CalibratedRankerCV,
    GuaranteedCutoff,
    MultiLabelRanker,
    NDCGRanker,
    StackingRanker,
)
from skcalrank.metrics import get_scorer, measure_score
from skcalrank.model_selection import QueryKFold, QueryShuffleSplit
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

pytestmark = pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(12), 8)
X = RNG.normal(size=(96, 3))
Y = (X[:, 0] + RNG.normal(size=96)).clip(0, 2).round()
WEIGHT = RNG.integers(1, 5, size=12)[QID] * 1.0

METHODS = ("fit", "partial_fit", "predict", "score")
SCORER = get_scorer("ndcg@3")

RANKERS = {type(ranker).__name__: ranker for ranker in rankers()}
RANKERS["CalibratedRankerCV"] = CalibratedRankerCV(level=None, cv=2)
EVERY = RANKERS | {
    "MultiLabelRanker": MultiLabelRanker(),
    "GuaranteedCutoff": GuaranteedCutoff(alpha=0.5),
}

every_ranker = pytest.mark.parametrize("name", RANKERS)
every_mode = pytest.mark.parametrize("routing", [False, True], ids=["off", "on"])


@pytest.fixture
def routed():
    with config_context(enable_metadata_routing=True):
        yield


# -- estimators --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_the_qid_is_requested_and_weights_are_not(name):
    routing, asked = get_routing_for_object(EVERY[name]), []
    for method in METHODS:
        requests = getattr(routing, method).requests
        if requests:
            assert requests["qid"] is True
            assert requests.get("sample_weight") is None
            asked += [method for parameter in requests if parameter == "sample_weight"]
    assert set(asked) >= ({"score"} if name == "GuaranteedCutoff" else {"fit", "score"})


@every_ranker
@pytest.mark.usefixtures("routed")
@pytest.mark.filterwarnings("ignore:y should have at least 10 queries:UserWarning")
def test_users_choose_whether_a_search_passes_weights_on(name):
    ranker, y = RANKERS[name], labels_for(RANKERS[name], Y, QID)
    given = {"qid": QID, "sample_weight": WEIGHT}

    def search(estimator):
        return GridSearchCV(clone(estimator), {}, cv=QueryKFold(2), scoring=scorer).fit(
            X, y, **given
        )

    # What nothing requests is an error of its own.
    scorer = get_scorer("ndcg@3").set_score_request(sample_weight=True)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        search(ranker)
    for asked in (True, False):
        chosen = clone(ranker).set_fit_request(sample_weight=asked)
        by_hand = clone(ranker).fit(X, y, QID, WEIGHT if asked else None)
        found = search(chosen).best_estimator_
        np.testing.assert_array_equal(found.predict(X, QID), by_hand.predict(X, QID))


@every_ranker
@every_mode
def test_fit_and_score_take_weights_in_every_mode(name, routing):
    ranker, y = clone(RANKERS[name]), labels_for(RANKERS[name], Y, QID)
    expected = clone(ranker).fit(X, y, QID, WEIGHT)
    with config_context(enable_metadata_routing=routing):
        found = ranker.fit(X, y, QID, sample_weight=WEIGHT)
        np.testing.assert_array_equal(found.predict(X, QID), expected.predict(X, QID))
        assert found.score(X, y, QID, WEIGHT) == expected.score(X, y, QID, WEIGHT)


def composites(member):
    """Estimators of this package around a ranker, which hand weights to it."""
    tree = NDCGRanker(DecisionTreeRegressor(max_depth=2, random_state=0))
    piped = make_query_pipeline(StandardScaler(), member)
    return {
        "stack": StackingRanker([("linear", member), ("tree", tree)], cv=2),
        "calibrated": CalibratedRankerCV(member, level=None, cv=2),
        "pipeline": make_query_pipeline(QueryScaler(), member),
        "pipeline in a stack": StackingRanker([("linear", piped), ("tree", tree)], cv=2),
        "aggregated": AggregatedRanker("borda", member),
    }


@every_mode
@pytest.mark.parametrize("name", composites(None))
@pytest.mark.usefixtures("routed")
def test_composites_hand_weights_on_unasked(name, routing):
    asked = NDCGRanker(k=3).set_fit_request(sample_weight=True)
    expected = composites(asked)[name].fit(X, Y, QID, WEIGHT).predict(X, QID)
    with config_context(enable_metadata_routing=routing):
        found = composites(NDCGRanker(k=3))[name].fit(X, Y, QID, WEIGHT).predict(X, QID)
    np.testing.assert_array_equal(found, expected)
    unweighted = composites(NDCGRanker(k=3))[name].fit(X, Y, QID).predict(X, QID)
    assert np.abs(found - unweighted).max() > 1e-6


@pytest.mark.usefixtures("routed")
def test_a_search_inside_a_composite_must_be_asked():
    search = GridSearchCV(NDCGRanker(), {}, cv=QueryKFold(2), scoring=SCORER)
    pipe = make_query_pipeline(QueryScaler(), search)
    with pytest.raises(TypeError, match=r"set_fit_request\(sample_weight=True\)"):
        pipe.fit(X, Y, QID, WEIGHT)
    with pytest.raises(TypeError, match=r"set_fit_request\(sample_weight=True\)"):
        CalibratedRankerCV(search, level=None, cv=2).fit(X, Y, QID, WEIGHT)
    scorer = get_scorer("ndcg@3").set_score_request(sample_weight=True)
    ranker = NDCGRanker().set_fit_request(sample_weight=True)
    asked = GridSearchCV(ranker, {}, cv=QueryKFold(2), scoring=scorer)
    found = make_query_pipeline(QueryScaler(), asked).fit(X, Y, QID, WEIGHT).predict(X, QID)
    by_hand = make_query_pipeline(QueryScaler(), NDCGRanker()).fit(X, Y, QID, WEIGHT)
    np.testing.assert_array_equal(found, by_hand.predict(X, QID))


# -- splitters ---------------------------------------------------------------------------------

SPLITTERS = [
    QueryKFold(3),
    QueryKFold(3, shuffle=True, random_state=0),
    QueryShuffleSplit(2, test_size=4, random_state=0),
    QueryShuffleSplit(2, train_size=0.5, random_state=0),
]
every_splitter = pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)


@every_splitter
@pytest.mark.usefixtures("routed")
def test_a_splitter_splits_whatever_it_requests(splitter):
    assert isinstance(splitter, BaseCrossValidator)
    assert splitter.get_metadata_routing().split.requests == {"qid": True}
    expected = list(clone(splitter, safe=False).split(X, Y, qid=QID))
    for request in (False, None, "query", True):
        other = clone(splitter, safe=False).set_split_request(qid=request)
        assert other.get_metadata_routing().split.requests == {"qid": request}
        assert repr(other) == repr(splitter)
        assert other.get_n_splits() == len(expected)
        for each in (other, pickle.loads(pickle.dumps(other))):
            for found, wanted in zip(each.split(X, Y, qid=QID), expected):
                np.testing.assert_array_equal(np.concatenate(found), np.concatenate(wanted))


@pytest.mark.usefixtures("routed")
def test_a_splitter_may_have_the_qid_by_another_name():
    cv = QueryKFold(3).set_split_request(qid="query")
    scorer = get_scorer("ndcg@3").set_score_request(qid="query")
    ranker = NDCGRanker().set_fit_request(qid="query")
    found = cross_validate(ranker, X, Y, cv=cv, scoring=scorer, params={"query": QID})
    expected = cross_validate(
        NDCGRanker(), X, Y, cv=QueryKFold(3), scoring=SCORER, params={"qid": QID}
    )
    np.testing.assert_array_equal(found["test_score"], expected["test_score"])


def test_parts_of_queries_are_those_of_scikit_learn():
    for params in ({"test_size": 4}, {"train_size": 0.25}, {"test_size": 3, "train_size": 5}):
        ours = QueryShuffleSplit(3, random_state=1, **params).split(X, qid=QID)
        theirs = ShuffleSplit(3, random_state=1, **params).split(np.arange(12))
        for found, wanted in zip(ours, theirs):
            for rows, queries in zip(found, wanted):
                assert set(QID[rows]) == set(queries)


# -- scorers -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("routed")
def test_a_scorer_says_what_it_requests():
    scorer = get_scorer("map@3")
    requests = {"qid": True, "sample_weight": None}
    assert get_routing_for_object(scorer).score.requests == requests
    assert scorer.set_score_request() is scorer
    assert scorer == get_scorer("map@3")
    for asked in ({"sample_weight": True}, {"sample_weight": "weight"}, {"qid": False}):
        requests |= asked
        assert scorer.set_score_request(**asked) is scorer
        for other in (scorer, clone(scorer, safe=False), pickle.loads(pickle.dumps(scorer))):
            assert get_routing_for_object(other).score.requests == requests
            assert other == scorer
        assert scorer != get_scorer("map@3")
    with pytest.raises(TypeError, match="groups"):
        scorer.set_score_request(groups=True)
    with pytest.raises(ValueError, match="sample_weight"):
        scorer.set_score_request(sample_weight=3)
    assert get_routing_for_object(scorer).score.requests == requests


def test_routing_must_be_on_to_set_requests():
    for setter in (SCORER.set_score_request, QueryKFold().set_split_request):
        with pytest.raises(RuntimeError, match=r"set_config\(enable_metadata_routing=True\)"):
            setter(qid=True)


@pytest.mark.usefixtures("routed")
def test_a_scorer_has_weights_where_it_is_asked_to():
    ranker = NDCGRanker().set_fit_request(sample_weight=True)
    cv, params = QueryKFold(3), {"qid": QID, "sample_weight": WEIGHT}
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(ranker, X, Y, cv=cv, scoring=SCORER, params=params)
    for asked in (True, False):
        scorer = get_scorer("ndcg@3").set_score_request(sample_weight=asked)
        found = cross_validate(ranker, X, Y, cv=cv, scoring=scorer, params=params)["test_score"]
        for score, (train, test) in zip(found, cv.split(X, qid=QID), strict=True):
            fitted = NDCGRanker().fit(X[train], Y[train], QID[train], WEIGHT[train])
            assert score == measure_score(
                "ndcg@3",
                Y[test],
                fitted.predict(X[test]),
                qid=QID[test],
                sample_weight=WEIGHT[test] if asked else None,
            )


@pytest.mark.usefixtures("routed")
def test_own_scores_of_pipelines_follow():
    ranker = NDCGRanker().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), ranker)
    search = GridSearchCV(pipe, {}, cv=QueryKFold(2), scoring=SCORER)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        search.fit(X, Y, qid=QID, sample_weight=WEIGHT)
