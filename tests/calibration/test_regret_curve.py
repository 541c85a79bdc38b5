"""Regret against sample size is what the laws of the labels say."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from skcalrank import DCGRanker, NDCGRanker, SpearmanRanker
from skcalrank.calibration import regret_curve
from skcalrank.datasets import make_label_ranking, make_subset_ranking

pytest.importorskip("pandas")


def test_regrets_are_those_of_the_law():
    data = make_subset_ranking(60, n_types=20, random_state=1)
    test = make_subset_ranking(30, n_types=20, random_state=1)
    estimators = {"dcg": DCGRanker(k=3), "plain": LinearRegression()}
    options = {"test": test, "measure": "dcg@3", "n_samples": [5, 60], "n_repeats": 2}
    frame = regret_curve(estimators, data, **options, random_state=0)
    assert list(frame.columns) == ["repetition", "n_samples", "estimator", "regret"]
    assert len(frame) == 8
    X, y, qid = data
    for name, fitted in {
        "dcg": DCGRanker(k=3).fit(X, y, qid),
        "plain": LinearRegression().fit(X, y),
    }.items():
        of_name = frame[frame["estimator"] == name].set_index("n_samples")["regret"]
        regret = test.law.bayes_value("dcg@3") - test.law.value("dcg@3", fitted.predict(test.X))
        # The sample of all queries is the data, whatever was drawn.
        np.testing.assert_allclose(of_name[60], regret, atol=1e-10)
        assert regret > 0
        assert np.ptp(of_name[5]) > 0
    assert not hasattr(estimators["plain"], "coef_")
    assert frame.equals(regret_curve(estimators, data, **options, random_state=0))
    assert not frame.equals(regret_curve(estimators, data, **options, random_state=1))


class Recorder(DummyRegressor):
    """Remembers what every copy of it was fitted on."""

    seen = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append((np.asarray(X), y))
        return super().fit(X, y)


def test_samples_are_whole_queries_and_nested(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    _, y, qid = made = make_subset_ranking(40, (2, 6), random_state=0)
    data = type(made)(np.arange(len(y))[:, None], y, qid, law=made.law)
    regret_curve({"a": Recorder()}, data, n_samples=[3, 10], n_repeats=2, random_state=0)
    rows = [set(X.ravel().tolist()) for X, _ in Recorder.seen]
    for (X, target), size in zip(Recorder.seen, [3, 10, 3, 10]):
        chosen = np.unique(qid[X.ravel()])
        assert len(chosen) == size
        assert set(X.ravel()) == set(np.flatnonzero(np.isin(qid, chosen)))
        np.testing.assert_array_equal(target, y[X.ravel()])
        np.testing.assert_array_equal(target.qid, qid[X.ravel()])
    assert rows[0] < rows[1]
    assert rows[2] < rows[3]
    assert rows[0] != rows[2]


def test_label_ranking_by_default_on_its_own_law():
    X, positions = data = make_label_ranking(50, 4, random_state=0)
    frame = regret_curve(
        {"rho": SpearmanRanker()}, data, measure="kendall", n_samples=[50], n_repeats=1
    )
    scores = SpearmanRanker().fit(X, -positions).predict(X)
    regret = data.law.bayes_value("kendall") - data.law.value("kendall", scores)
    np.testing.assert_allclose(frame["regret"], [regret])


@pytest.mark.parametrize("make", [make_subset_ranking, make_label_ranking])
def test_made_data_of_one_seed_are_of_one_problem(make):
    # What `test` is documented to rest on.
    few, many = make(300, random_state=3), make(500, random_state=3)
    np.testing.assert_array_equal(np.unique(few.X, axis=0), np.unique(many.X, axis=0))
    np.testing.assert_array_equal(few.law.probabilities, many.law.probabilities)
    types = [np.unique(data.X, axis=0, return_inverse=True)[1].ravel() for data in (few, many)]
    for data in (few, many):
        data.of_type = (
            data.law.labels.T if make is make_subset_ranking else data.law.orders[data.law.types]
        )
    for kind in np.unique(types[0]):
        pair = [data.of_type[of == kind][0] for data, of in zip((few, many), types)]
        np.testing.assert_array_equal(*pair)


def test_the_best_order_has_no_regret():
    data = make_subset_ranking(20, 4, 8, n_types=4, random_state=0)
    best = {"best": Known(data.law.expected_targets("dcg"))}
    frame = regret_curve(best, data, measure="dcg", n_samples=[5], n_repeats=3)
    assert frame["regret"].tolist() == [0.0] * 3


class Known(DummyRegressor):
    """Predicts given scores."""

    def __init__(self, scores=None):
        self.scores = scores

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return self.scores


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_samples": [10, 10]}, "positive and increasing"),
        ({"n_samples": [0, 10]}, "positive and increasing"),
        ({"n_samples": [5, 21]}, "n_samples must be at most 20, .* got 21"),
        ({"estimators": [NDCGRanker()]}, "estimators must be a dict of rankers"),
        ({"estimators": {}}, "estimators must be a dict of rankers"),
        ({"measure": "map"}, "map is not positional"),
        ({"n_repeats": 0}, "n_repeats must .* got 0"),
    ],
)
def test_what_is_wrong_is_named(options, match):
    data = make_subset_ranking(20, n_grades=2, random_state=0)
    with pytest.raises(ValueError, match=match):
        regret_curve(
            **{"estimators": {"a": NDCGRanker()}, "data": data, "n_samples": [5]} | options
        )


def test_data_without_a_law_are_refused():
    data = make_subset_ranking(20, random_state=0)
    with pytest.raises(ValueError, match="test must have the attribute law"):
        regret_curve({"a": NDCGRanker()}, type(data)(*data), n_samples=[5])
