"""Separable targets in place of the targets of the measure: conditions and results."""

import inspect

import numpy as np
import pytest
from cases import has_separable_targets
from row_laws import FOUR_KINDS, RowLaw
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from skcalrank import (
    AggregatedRanker,
    AUCRanker,
    AveragePrecisionRanker,
    BoostedRanker,
    DCGRanker,
    LeastSquaresRanker,
    NDCGRanker,
    PrecisionRanker,
    PreferenceTarget,
    RecallRanker,
)
from skcalrank.calibration import LabelDistribution
from skcalrank.linear_model import GramRidge
from skcalrank.measures import MEASURES, get_measure
from skcalrank.persistence import load_model, save_model
from skcalrank.testing import all_rankers

OF_LABELS = [name for name, cls in MEASURES.items() if cls.has_separable_targets()]
RANKERS = [cls for _, cls in all_rankers() if has_separable_targets(cls)]
# Grows trees on gradients, and regresses no targets that a twin would: see tests/boosting.
RANKERS.remove(BoostedRanker)
# The ranker of a separable measure that regresses the same.
TWINS = {
    RecallRanker: PrecisionRanker(),
    AUCRanker: PrecisionRanker(),
    AveragePrecisionRanker: PrecisionRanker(),
    NDCGRanker: DCGRanker(),
}


def test_which_measures_and_rankers_have_them():
    # Which have no others, and assume independent relevances for them.
    alone = {"hit", "mrr", "r_precision"}
    assert set(OF_LABELS) == {"recall", "ndcg", "auc", "map", "f1"} | alone
    assert set(RANKERS) == set(TWINS)
    for name in OF_LABELS:
        assert MEASURES[name].separable == (name in alone)
    with pytest.raises(ValueError, match="spearman has no separable targets"):
        get_measure("spearman").separable_targets(np.zeros(2))


# -- the theorem -----------------------------------------------------------------------


def regret(measure, laws):
    """Regret of the order by mean separable targets, for one query of independent labels."""
    law = RowLaw(laws, [range(len(laws))], [1.0])
    grades = measure.separable_targets(np.arange(laws.shape[1], dtype=float))
    return law.regret(measure, laws @ grades)


def measures_at(names):
    for name in names:
        for k in (None, 1, 2, 3) if MEASURES[name].has_cutoff else (None,):
            yield get_measure(name if k is None else f"{name}@{k}")


@pytest.mark.parametrize("measure", measures_at(OF_LABELS), ids=lambda m: m.full_name)
def test_calibrated_for_independent_relevances(measure, rng):
    for size in (2, 3, 4, 4):
        chances = rng.uniform(size=size) ** rng.choice([0.3, 1, 3])
        assert regret(measure, np.stack([1 - chances, chances], axis=1)) < 1e-12


def ordered_laws(n_documents, n_grades, rng):
    """Distributions in stochastic order: each is larger than the one before."""
    above = np.sort(rng.uniform(size=(n_documents, n_grades - 1)), axis=0)
    above = np.sort(above, axis=1)[:, ::-1]
    edges = np.hstack([np.ones((n_documents, 1)), above, np.zeros((n_documents, 1))])
    return rng.permutation(-np.diff(edges, axis=1))


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("k", [None, 1, 2])
def test_calibrated_for_ndcg_of_grades_in_stochastic_order(k, gain, rng):
    measure = MEASURES["ndcg"](k=k, gain=gain)
    for size, n_grades in ((2, 3), (3, 3), (3, 4)):
        assert regret(measure, ordered_laws(size, n_grades, rng)) < 1e-12


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_not_for_independent_grades_out_of_order(gain):
    # Seldom excellent, or always fair: a large gain comes with a large ideal gain.
    laws = np.array([[0.6, 0.0, 0.4], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    law = RowLaw(laws, [[0, 1, 2]], [1.0])
    measure = MEASURES["ndcg"](k=2, gain=gain)
    means = laws @ measure.separable_targets(np.arange(3.0))
    expected = LabelDistribution(*law.outcomes([0, 1, 2])).expected_targets(measure)
    if gain == "exponential":
        assert means[0] > means[1]
        assert expected[0] < expected[1]
        assert law.regret(measure, means) > 0.01
    assert law.regret(measure, expected) < 1e-12


@pytest.mark.parametrize("name", ["recall@1", "ndcg@2", "map", "auc"])
def test_not_for_relevances_that_depend_on_one_another(name):
    # The first is relevant alone or not at all, the second with another.
    labels, chance = [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]], [0.4, 0.45, 0.15]
    law, measure = LabelDistribution(labels, chance), get_measure(name)
    means = chance @ measure.separable_targets(np.array(labels, dtype=float))
    assert law.target_regret(measure, means) > 0.02
    assert law.target_regret(measure, law.expected_targets(measure)) < 1e-12


# -- in rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("cls", RANKERS)
def test_exact_fits_to_rows(cls):
    given, (rows, _) = FOUR_KINDS.population(), FOUR_KINDS.rows()
    names = set(inspect.signature(cls).parameters)
    ranker = cls(DecisionTreeRegressor(), **({"k": 1} if "k" in names else {}))
    ranker.fit(*given)
    measure = ranker.record_.measure
    kept = FOUR_KINDS.regret(measure, ranker.predict(rows))
    ranker.set_params(targets="separable").fit(*given)
    assert FOUR_KINDS.regret(measure, ranker.predict(rows)) < 1e-12
    np.testing.assert_allclose(ranker.predict(np.eye(4)), [0.9, 0.5, 1.0, 0.0])
    assert kept > 0.04 or cls is NDCGRanker
    assert ranker.score(*given) > 0


@pytest.mark.parametrize("cls", RANKERS)
@pytest.mark.parametrize("estimator", [None, DecisionTreeRegressor(random_state=0)])
def test_predictions_are_those_of_the_separable_measure(cls, estimator, data, label_data):
    X, y, qid = data
    y = y if cls is NDCGRanker else np.minimum(y, 1)
    ranker = cls(estimator, targets="separable").fit(X, y, qid)
    twin = clone(TWINS[cls]).set_params(estimator=estimator)
    assert np.array_equal(ranker.predict(X), twin.fit(X, y, qid).predict(X))
    assert ranker.record_.plan.loss == twin.record_.plan.loss
    assert ranker.record_.measure.name != twin.record_.measure.name
    X, y = label_data
    y = y if cls is NDCGRanker else np.minimum(y, 1)
    assert np.array_equal(ranker.fit(X, y).predict(X), twin.fit(X, y).predict(X))


@pytest.mark.parametrize("cls", RANKERS)
def test_chunks_and_merges_of_other_targets_are_refused(cls, data):
    X, y, qid = data
    y = np.minimum(y, 1)
    first, second = np.isin(qid, [10, 11, 12]), np.isin(qid, [13, 14, 15])
    parts = [(X[part], y[part], qid[part]) for part in (first, second)]
    ranker = cls(GramRidge(), targets="separable").partial_fit(*parts[0])
    before = ranker.predict(X)
    whole = clone(ranker).fit(X, y, qid).predict(X)
    with pytest.raises(ValueError, match="targets of this chunk must be separable, got measure"):
        ranker.set_params(targets="measure").partial_fit(*parts[1])
    assert np.array_equal(ranker.predict(X), before)
    with pytest.raises(ValueError, match="targets of a ranker to be merged must be separable"):
        ranker.merge(cls(GramRidge()).fit(*parts[1]))
    merged = ranker.merge(cls(GramRidge(), targets="separable").fit(*parts[1]))
    np.testing.assert_allclose(merged.predict(X), whole, atol=1e-9)
    ranker.set_params(targets="separable").partial_fit(*parts[1])
    np.testing.assert_allclose(ranker.predict(X), whole, atol=1e-9)


def test_other_tools_read_them(data):
    X, y, qid = data
    given = PreferenceTarget.from_relevance(y, qid)
    found = AggregatedRanker("borda", NDCGRanker(targets="separable")).fit(X, given)
    expected = AggregatedRanker("borda", DCGRanker()).fit(X, given)
    assert np.array_equal(found.targets_, expected.targets_)
    with pytest.raises(ValueError, match="'separable' has no effect with surrogate='pairwise'"):
        AveragePrecisionRanker(surrogate="pairwise", targets="separable").fit(X, y > 1, qid)
    assert "targets" not in LeastSquaresRanker().get_params()


@pytest.mark.usefixtures("dask_in_this_thread")
def test_dask_and_model_files_keep_them(data, tmp_path):
    da = pytest.importorskip("dask.array")
    pytest.importorskip("skops")
    X, y, qid = data
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    cut = int(np.flatnonzero(np.diff(qid))[2]) + 1
    lazy = [da.from_array(a, chunks=((cut, len(y) - cut), *a.shape[1:])) for a in (X, y, qid)]
    ranker = NDCGRanker(GramRidge(), targets="separable").fit(*lazy)
    expected = NDCGRanker(GramRidge(), targets="separable").fit(X, y, qid)
    np.testing.assert_allclose(ranker.predict(X), expected.predict(X), atol=1e-9)
    save_model(expected, tmp_path / "ranker.skops")
    assert load_model(tmp_path / "ranker.skops").record_.plan.targets == "separable"
