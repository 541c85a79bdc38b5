"""Prediction maps, losses and structures on random values: enumeration and properties."""

import numpy as np
import pytest
from matrices import OBJECTIVES, assert_one_by_one, best_value, posed, positions_of
from structures import DEFINITIONS, OF_CLICKS, RULES

pytest.importorskip("hypothesis")
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import (
    bad,
    codes_of_queries,
    contained,
    examples,
    matrices,
    numbers,
    orders,
    qids,
    quiet,
    refused,
    snapshot,
    vectors,
)

from skcalrank import ClickSessions, PreferenceTarget
from skcalrank.data import Queries
from skcalrank.losses import LOSSES, PREFERENCE_LOSSES, get_loss
from skcalrank.preds import PREDS

every_pred = pytest.mark.parametrize("pred", [*map(posed, PREDS.values())], ids=PREDS)
every_loss = pytest.mark.parametrize("name", LOSSES)
every_structure = pytest.mark.parametrize("name", RULES)
FEW = (0.0, 1.0, -0.5, 3.0)
SIZES = st.sampled_from([1.0, 5e-324, 1e-300, 1e-17, 1e17, 1e150, 1e300])


# -- prediction maps -------------------------------------------------------------------


@st.composite
def values_of(draw, pred, most=5):
    """Random input of a prediction map for one query."""
    r = draw(st.integers(1, most))
    some = vectors(r, FEW) if pred.shape == "documents" else matrices(r, r, FEW)
    rough = st.sampled_from([0.0, 0.1, 1e-9])
    return draw(some) + draw(rough) * draw(some)


@every_pred
@examples(2)
@given(data=st.data())
def test_maps_are_as_good_as_they_say(pred, data):
    U = data.draw(values_of(pred))
    result, sign = pred.solve(U), 1 if pred.larger_is_better else -1
    positions = positions_of(result)
    assert sorted(positions.tolist()) == list(range(1, len(U) + 1))
    for value in OBJECTIVES[pred.objective]:
        best, found = best_value(pred, value, U), value(U, positions)
        near = 1e-9 * max(1.0, np.abs(U).sum())
        assert sign * (best - found) >= -near
        assert not pred.exact or sign * (best - found) <= near
        if pred.shape == "pairs":
            assert result.value == pytest.approx(found, abs=near)
            assert sign * (result.bound - best) >= -near
            assert not result.proven or sign * (best - found) <= near


@every_pred
@given(data=st.data())
def test_containers_and_stacks_change_no_positions(pred, data):
    U = data.draw(values_of(pred))
    expected = positions_of(pred.solve(U))
    exact = matrices(*U.shape, FEW) if U.ndim == 2 else vectors(len(U), FEW)
    few = data.draw(exact)
    given_ = data.draw(contained(few))
    before = snapshot(given_)
    found = positions_of(pred.solve(given_))
    np.testing.assert_array_equal(found, positions_of(pred.solve(few)))
    assert snapshot(given_) == before
    assert_one_by_one(pred.solve, np.array([few, U, few]))
    np.testing.assert_array_equal(positions_of(pred.solve(U)), expected)


@every_pred
@given(data=st.data())
def test_maps_take_numbers_of_every_size_or_name_them(pred, data):
    U = data.draw(values_of(pred))
    positions = refused(lambda: positions_of(pred.solve(U * data.draw(SIZES))), names=r"\b[uU]\b")
    assert positions is None or sorted(positions.tolist()) == list(range(1, len(U) + 1))
    wrong = data.draw(bad(U, shapes={}))
    if pred.name == "sort" and isinstance(wrong, np.ndarray):
        assume(10**400 not in wrong.ravel().tolist())  # integers of any size are sorted exactly
    assert refused(lambda: pred.solve(wrong), names=r"\b[uU]\b") is None


# -- losses ----------------------------------------------------------------------------


@st.composite
def loss_problems(draw, name):
    """A loss whose parameters allow all targets, with queries, targets, scores and weights."""
    queries = Queries.from_qid(np.sort(draw(codes_of_queries())))
    v, s, weight = (
        draw(vectors(queries.n_rows, values))
        for values in ((0.0, 0.5, 2.0), (0.0, -1.0, 0.3, 40.0), (1.0, 0.25, 3.0))
    )
    loss = get_loss(name)
    if hasattr(loss, "eta"):
        loss = get_loss(name, eta=3.0 * (1 if name != "bregman_kl" else queries.sizes.max()))
    return loss.scaled_to(v, queries), v, s, queries, weight


@every_loss
@given(data=st.data())
def test_losses_keep_their_laws(name, data):
    loss, v, s, queries, weight = data.draw(loss_problems(name))
    values = loss.evaluate(v, s, queries, weight)
    total, gradient = loss.value_and_gradient(v, s, queries, weight)
    assert total == pytest.approx(values.sum(), rel=1e-9, abs=1e-9)
    slope, curvature = loss.derivatives(v, s, queries, weight)
    np.testing.assert_allclose(slope, gradient, rtol=1e-9, atol=1e-9)
    assert (curvature >= 0).all()
    plain, least = loss.evaluate(v, s, queries), loss.infimum(v, queries)
    assert (plain >= least - 1e-9 * (1 + np.abs(plain))).all()
    best = loss.minimizer(v, queries)
    if np.isfinite(best).all():
        np.testing.assert_allclose(loss.evaluate(v, best, queries), least, rtol=1e-7, atol=1e-7)
    if not loss.needs_intercept:
        moved = loss.evaluate(v, s + queries.repeat(queries.sizes + 0.5), queries, weight)
        np.testing.assert_allclose(moved, values, rtol=1e-7, atol=1e-7)


@every_loss
@given(data=st.data())
def test_gradients_are_slopes(name, data):
    loss, v, s, queries, weight = data.draw(loss_problems(name))
    s = np.minimum(s, 1.0) + 0.01
    way = data.draw(vectors(len(s), (1.0, 0.0, -0.5)))
    _, gradient = loss.value_and_gradient(v, s, queries, weight)
    ahead, behind = (
        loss.evaluate(v, s + step * way, queries, weight).sum() for step in (1e-5, -1e-5)
    )
    assert (ahead - behind) / 2e-5 == pytest.approx(gradient @ way, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", PREFERENCE_LOSSES)
@given(data=st.data())
def test_gradients_of_preferences_are_slopes(name, data):
    loss, codes = PREFERENCE_LOSSES[name](), data.draw(codes_of_queries(1, 5))
    n = len(codes)
    winner, loser = (data.draw(numbers(6)) % n for _ in range(2))
    winner, loser = winner[winner != loser], loser[winner != loser]
    weight = np.ones(len(winner))
    s, way = (data.draw(vectors(n, (0.01, -1.01, 0.5))) for _ in range(2))
    _, gradient = loss.value_and_gradient(s, winner, loser, weight)
    ahead, behind = (
        loss.value_and_gradient(s + step * way, winner, loser, weight)[0] for step in (1e-6, -1e-6)
    )
    assert (ahead - behind) / 2e-6 == pytest.approx(gradient @ way, rel=1e-4, abs=1e-4)


# -- structures ------------------------------------------------------------------------


@st.composite
def judgments(draw, name):
    """Judgments of documents in some queries, few of them or many."""
    codes = draw(codes_of_queries())
    if name in OF_CLICKS:
        return draw(sessions(codes))
    first, second = (draw(numbers(12)) % len(codes) for _ in range(2))
    within = (codes[first] == codes[second]) & (first != second)
    first, second = first[within], second[within]
    weight = draw(vectors(12, (1.0, 0.5, 0.0)))[: len(first)]
    judgment = draw(vectors(12, (0, 1, 2)))[: len(first)]
    return PreferenceTarget.from_comparisons(
        first, second, draw(qids(codes)), weight=weight, judgment=judgment
    )


@st.composite
def sessions(draw, codes):
    shown, clicked = [], []
    for code in draw(st.lists(st.sampled_from(codes.tolist()), max_size=6)):
        rows = np.flatnonzero(codes == code)
        rows = rows[draw(orders(len(rows)))][: draw(st.integers(1, len(rows)))]
        shown.append(rows)
        clicked.append(draw(st.integers(0, len(rows))))
    return ClickSessions(draw(qids(codes)), shown, clicked)


def scores_of(name, y):
    with quiet():
        return RULES[name](y)


@every_structure
@examples(1.5)
@given(data=st.data())
def test_structures_are_finite_and_follow_the_rows(name, data):
    y = data.draw(judgments(name))
    scores = scores_of(name, y)
    assert scores.shape == (len(y),)
    assert np.isfinite(scores).all()
    rows = data.draw(orders(len(y)))
    with quiet():
        moved = RULES[name](y[rows])
    np.testing.assert_allclose(moved, scores[rows], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [each for each in DEFINITIONS if each != "bradley_terry"])
@given(data=st.data())
def test_structures_are_their_formulas(name, data):
    y = data.draw(judgments(name))
    formula, choices = DEFINITIONS[name]
    options = data.draw(st.sampled_from(choices))
    with quiet():
        scores = RULES[name](y, **options)
    queries = y.queries()
    for code in range(queries.n_queries):
        rows = np.flatnonzero(queries.codes == code)
        if connected(y, rows):
            expected = formula(matrices_of(y, rows), **options)
            np.testing.assert_allclose(scores[rows], expected, rtol=1e-6, atol=1e-6)


def matrices_of(y, rows):
    """The judgments of a query as matrices."""
    mine = np.isin(y.winner, rows)
    names = np.unique(y.judgment[mine])
    out = np.zeros((len(names), len(rows), len(rows)))
    place = np.searchsorted(names, y.judgment[mine])
    ends = (np.searchsorted(rows, each[mine]) for each in (y.winner, y.loser))
    np.add.at(out, (place, *ends), y.weight[mine])
    return out


def connected(y, rows):
    """Whether every two documents are compared, so that formulas need no conventions."""
    met = matrices_of(y, rows).sum(axis=0)
    return len(rows) > 1 and (met + met.T + np.eye(len(rows)) > 0).all()
