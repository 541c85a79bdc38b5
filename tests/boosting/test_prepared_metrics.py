"""Metrics of boosting cache what does not depend on scores, without changing values."""

import numpy as np
import pytest
from boosting_cases import SIZES, pickled, through_lightgbm, through_xgboost
from cases import INSTANCES, draw_labels

from skcalrank.boosting import group_sizes, lightgbm_metric, xgboost_metric
from skcalrank.measures import NDCG
from skcalrank.metrics import measure_score

QID = np.repeat(np.arange(len(SIZES)), SIZES)


@pytest.mark.parametrize("measure", INSTANCES, ids=repr)
def test_the_value_of_every_round_is_that_of_the_metric(measure, rng):
    metric, y = lightgbm_metric(measure, empty="zero"), draw_labels(measure, len(QID), rng)
    for _ in range(3):
        scores = rng.integers(0, 3, len(QID)).astype(float)
        _, value, _ = metric(y, scores, None, SIZES)
        assert value == measure_score(measure, y, scores, qid=QID, empty="zero")


@pytest.mark.parametrize("ties", ["average", "stable", "worst", "best"])
@pytest.mark.parametrize("empty", ["skip", "zero", "one"])
def test_policies_and_weights_are_those_of_the_metric(ties, empty, rng):
    metric, y = lightgbm_metric("ndcg@2", ties=ties, empty=empty), rng.integers(0, 3, len(QID))
    y[QID == 0] = 0
    weight = rng.uniform(size=len(QID))
    for _ in range(2):
        scores = rng.integers(0, 2, len(QID)).astype(float)
        _, value, _ = metric(y, scores, weight, SIZES)
        policies = {"ties": ties, "empty": empty, "sample_weight": weight}
        assert value == measure_score("ndcg@2", y, scores, qid=QID, **policies)


@pytest.mark.parametrize(
    ("make", "through"), [(lightgbm_metric, through_lightgbm), (xgboost_metric, through_xgboost)]
)
def test_labels_are_read_once_for_a_data_set(make, through, rng, monkeypatch):
    reads = []
    monkeypatch.setattr(NDCG, "labels", lambda _, y: reads.append(len(y)) or y)
    metric, y = make("ndcg@2"), rng.integers(0, 3, len(QID)).astype(float)
    for _ in range(4):
        through(metric, y, rng.normal(size=len(QID)))
    assert len(reads) == 1
    through(metric, 2 - y, rng.normal(size=len(QID)))
    assert len(reads) == 2, "other labels in the same place are other data"
    assert not pickled(metric)._known._made


def test_labels_that_change_in_place_are_other_data(rng):
    metric, y = lightgbm_metric("ndcg@2"), rng.integers(0, 3, len(QID)).astype(float)
    scores = rng.normal(size=len(QID))
    before = metric(y, scores, None, group_sizes(QID))[1]
    y[:] = 2 - y
    assert metric(y, scores, None, SIZES)[1] == measure_score("ndcg@2", y, scores, qid=QID)
    assert metric(y, scores, None, SIZES)[1] != before


def test_scores_are_checked_in_every_round(rng):
    metric, y = lightgbm_metric("ndcg@2"), rng.integers(0, 3, len(QID)).astype(float)
    metric(y, y, None, SIZES)
    with pytest.raises(ValueError, match="y_score"):
        metric(y, np.full(len(QID), np.nan), None, SIZES)
