"""Claims of calibration of all registered rankers, in both forms of the data.

Fits are to populations: every outcome, weighed by its probability. Features are one-hot, so that
a linear regressor is as rich as any function of what a row tells: of the instance in the
label-ranking form, of the document and its query, or of the kind of the document alone.
"""

import numpy as np
import pytest
from row_laws import RowLaw, law_of
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from skcalrank import ERRRanker
from skcalrank._solvers import SQUARED_LOSSES
from skcalrank.testing import all_rankers

RANKERS = {
    name: ERRRanker(max_grade=2) if cls is ERRRanker else cls()
    for name, cls in all_rankers()
    if cls.short_names and cls.regresses_targets
}
for ranker in RANKERS.values():
    ranker.set_params(estimator=LinearRegression(fit_intercept=False))
    if "k" in ranker.get_params(deep=False):
        ranker.set_params(k=2)
every_ranker = pytest.mark.parametrize("name", RANKERS)
every_loss = pytest.mark.parametrize("loss", SQUARED_LOSSES)


def measure_of(ranker):
    """The measure of a ranker, from a fit to minimal data."""
    return clone(ranker).fit([[0.0], [1.0]], [0, 1], [0, 0]).record_.measure


MEASURES = {name: measure_of(ranker) for name, ranker in RANKERS.items()}
NORMALIZED = [name for name in RANKERS if not MEASURES[name].separable]
SEPARABLE = [name for name in RANKERS if MEASURES[name].separable]
WITH_TARGETS = [name for name in RANKERS if "targets" in RANKERS[name].get_params(deep=False)]


def test_the_registry_has_both_kinds():
    assert len(NORMALIZED) >= 6
    assert len(SEPARABLE) >= 4
    conditions = {measure.calibration for measure in MEASURES.values()}
    assert conditions == {"always", "reinforce", "independence", "low_noise"}


# -- the whole query ---------------------------------------------------------------------


@pytest.mark.product
@every_loss
@every_ranker
def test_calibrated_in_the_label_form(name, loss, rng):
    ranker, measure = clone(RANKERS[name]).set_params(loss=loss), MEASURES[name]
    for size in (3, 4):
        laws = [law_of(measure, size, rng) for _ in range(3)]
        number = np.repeat([0, 1, 2], [len(law.labels) for law in laws])
        X, y = np.eye(3)[number], np.vstack([law.labels for law in laws])
        ranker.fit(X, y, sample_weight=np.concatenate([law.probabilities for law in laws]))
        for law, scores in zip(laws, ranker.predict(np.eye(3))):
            assert law.target_regret(measure, scores) < 1e-9


@pytest.mark.product
@every_loss
@every_ranker
def test_calibrated_for_rows_that_carry_their_query(name, loss, rng):
    ranker, measure = clone(RANKERS[name]).set_params(loss=loss), MEASURES[name]
    laws = [law_of(measure, size, rng) for size in (2, 3, 4)]
    document = [np.arange(a, b) for a, b in ((0, 2), (2, 5), (5, 9))]
    rows = [np.tile(own, len(law.labels)) for own, law in zip(document, laws)]
    weight = [np.repeat(law.probabilities, len(own)) for own, law in zip(document, laws)]
    sizes = np.repeat([2, 3, 4], [len(law.labels) for law in laws])
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y = np.concatenate([law.labels.ravel() for law in laws])
    ranker.fit(np.eye(9)[np.concatenate(rows)], y, qid, np.concatenate(weight))
    scores = ranker.predict(np.eye(9))
    for own, law in zip(document, laws):
        assert law.target_regret(measure, scores[own]) < 1e-9


# -- rows alone --------------------------------------------------------------------------


def row_laws(measure, n, rng, n_kinds=4):
    """Queries that share kinds of documents, of independent labels that the kind gives."""
    for _ in range(n):
        laws = rng.dirichlet(np.full(2 if measure.is_binary else 3, 0.6), size=n_kinds)
        queries = [rng.integers(n_kinds, size=size) for size in (3, 3, 2)]
        yield RowLaw(laws, queries, rng.dirichlet(np.ones(3)))


def regret_of(ranker, measure, law):
    X, y, qid, weight = law.population()
    weight = weight / weight.max()
    return law.regret(measure, clone(ranker).fit(X, y, qid, weight).predict(law.rows()[0]))


@pytest.mark.product
@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
@pytest.mark.parametrize("name", SEPARABLE)
def test_separable_measures_are_calibrated_where_the_row_gives_the_law(name, loss, rng):
    ranker = clone(RANKERS[name]).set_params(loss=loss)
    for law in row_laws(MEASURES[name], 4, rng):
        assert regret_of(ranker, MEASURES[name], law) < 1e-9


@pytest.mark.product
@pytest.mark.parametrize("loss", ["squared", "pairwise_squared"])
@pytest.mark.parametrize("name", WITH_TARGETS)
def test_separable_targets_are_calibrated_under_independence(name, loss, rng):
    ranker = clone(RANKERS[name]).set_params(loss=loss, targets="separable")
    for law in row_laws(MEASURES["PrecisionRanker"], 6, rng):
        assert regret_of(ranker, MEASURES[name], law) < 1e-9


@pytest.mark.parametrize("name", NORMALIZED)
def test_normalized_measures_are_not(name, rng):
    ranker = clone(RANKERS[name]).set_params(loss="squared")
    found = (regret_of(ranker, MEASURES[name], law) for law in row_laws(MEASURES[name], 40, rng))
    assert any(regret > 1e-3 for regret in found)


@every_ranker
def test_no_measure_is_with_centered_targets(name, rng):
    ranker = clone(RANKERS[name]).set_params(loss="centered")
    found = (regret_of(ranker, MEASURES[name], law) for law in row_laws(MEASURES[name], 40, rng))
    assert any(regret > 1e-3 for regret in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NDCGRanker", "RecallRanker"])
def test_free_constants_are_no_context(name, rng):
    ranker = clone(RANKERS[name]).set_params(loss="pairwise_squared")
    found = (regret_of(ranker, MEASURES[name], law) for law in row_laws(MEASURES[name], 400, rng))
    assert any(regret > 1e-3 for regret in found)
