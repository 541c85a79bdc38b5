"""Properties of all registered prediction maps, and uses of a new one."""

import copy
import pickle
import re

import numpy as np
import pytest
from matrices import (
    MATRICES,
    OBJECTIVES,
    acyclic_matrix,
    assert_one_by_one,
    best_value,
    posed,
    positions_of,
)
from sklearn.base import clone

from skcalrank import AveragePrecisionRanker, PairwiseDisagreementRanker
from skcalrank._cli import main
from skcalrank.calibration import CONDITIONS, LabelDistribution, calibration_gap, noise_report
from skcalrank.measures import MEASURES
from skcalrank.persistence import load_model
from skcalrank.preds import PREDS, Pred, get_pred, preds_for, sort_positions

POSED = {key: posed(pred) for key, pred in PREDS.items()}
OF_PAIRS = [pred for pred in POSED.values() if pred.shape == "pairs"]
every_kind = pytest.mark.parametrize("kind", MATRICES)
every_pred = pytest.mark.parametrize("pred", POSED.values(), ids=POSED)
every_entry = pytest.mark.parametrize("pred", PREDS.values(), ids=PREDS)
every_pair_pred = pytest.mark.parametrize("pred", OF_PAIRS, ids=lambda pred: pred.key)


def draw(pred, kind, r, rng):
    """Input of a prediction map, C-contiguous and copied."""
    U = MATRICES[kind](r, rng)
    return U if pred.shape == "pairs" else U[0].copy()


def draw_stack(pred, kinds, r, rng):
    """Input of each kind, and a matrix whose graph has no cycle."""
    stack = np.array([*(MATRICES[kind](r, rng) for kind in kinds), acyclic_matrix(r, rng)])
    return stack if pred.shape == "pairs" else stack[:, 0].copy()


# -- laws of all maps ------------------------------------------------------------------


@every_entry
def test_what_a_pred_says_of_itself(pred):
    assert PREDS[pred.key] is pred is preds_for(pred.objective)[pred.name]
    assert pred.key == f"{pred.objective}_{pred.name}"
    assert get_pred(pred.name, pred.objective) is pred is get_pred(pred, pred.objective)
    assert pred.condition is None or pred.condition in CONDITIONS
    assert not (pred.exact and pred.condition)
    cost = [pred.cost(r) for r in (1, 2, 10, 16, 1000)]
    assert cost[0] > 0
    assert cost == sorted(cost)


def test_measures_name_what_is_to_be_solved():
    for measure in MEASURES.values():
        maps = {} if measure.objective is None else preds_for(measure.objective)
        assert {pred.shape for pred in maps.values()} <= {measure.shape}
        assert bool(maps) == (measure.shape is not None)
        assert not maps or any(pred.exact for pred in maps.values())


@every_entry
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda p: clone(p, safe=False)])
def test_copies_are_equal(pred, copied):
    assert copied(pred) == pred == pickle.loads(pickle.dumps(pred))
    assert len({copied(pred), pred}) == 1
    assert re.fullmatch(r"Pred\(name='\w+', objective='\w+', [^<>]+\)", repr(pred))


@pytest.mark.product
@every_pred
@every_kind
def test_positions_are_a_permutation(pred, kind, rng):
    for r in (1, 2, 3, 7, 12):
        positions = positions_of(pred.solve(draw(pred, kind, r, rng)))
        assert positions.dtype.kind == "i"
        assert sorted(positions.tolist()) == list(range(1, r + 1))


def assert_no_better_than_best(pred, U):
    result, sign = pred.solve(U), 1 if pred.larger_is_better else -1
    for value in OBJECTIVES[pred.objective]:
        best = best_value(pred, value, U)
        lost = sign * (best - value(U, positions_of(result)))
        assert lost >= -1e-9
        assert not pred.exact or lost <= 1e-9
        if pred.shape == "pairs":
            assert not result.proven or lost <= 1e-9
            assert sign * (result.bound - best) >= -1e-9


@pytest.mark.every_case
@pytest.mark.product
@every_pred
@every_kind
def test_exact_maps_are_best_and_others_no_better(pred, kind, rng):
    for r in (2, 3, 4, 5, 6):
        assert_no_better_than_best(pred, draw(pred, kind, r, rng))


CONDITIONAL = [pred for pred in OF_PAIRS if pred.condition]


@pytest.mark.parametrize("pred", CONDITIONAL, ids=lambda pred: pred.key)
def test_maps_are_exact_under_their_condition(pred, rng):
    held = 0
    for r in (2, 3, 4, 5) * 10:
        U = 0.1 * rng.random((r, r)) + np.diag(rng.random(r)) + acyclic_matrix(r, rng) * (r % 2)
        if CONDITIONS[pred.condition](U):
            held += 1
            (value,) = OBJECTIVES[pred.objective]
            found = value(U, pred.solve(U).positions)
            assert found == pytest.approx(best_value(pred, value, U), abs=1e-9)
    assert held > 5


@every_pred
def test_positions_follow_the_documents(pred, rng):
    for r in (2, 3, 5, 9, 14) * 3:
        U, order = draw(pred, "normal", r, rng), rng.permutation(r)
        # MAP reads the lower triangle, which relabelling mixes with the upper one.
        U = U + U.T if pred.objective == "map" else U
        moved = U[order] if U.ndim == 1 else U[np.ix_(order, order)]
        expected = positions_of(pred.solve(U))[order]
        assert np.array_equal(positions_of(pred.solve(moved)), expected)


@pytest.mark.product
@every_pred
@every_kind
def test_input_is_not_modified(pred, kind, rng):
    U = draw(pred, kind, 8, rng)
    before = U.copy()
    U.flags.writeable = False
    pred.solve(U)
    assert np.array_equal(U, before)


@every_pred
def test_containers_and_types(pred, rng):
    U = rng.integers(-9, 9, (6, 6) if pred.shape == "pairs" else 6)
    expected = positions_of(pred.solve(U.astype(float)))
    for other in (U, U.tolist(), U.astype(np.float32), np.asfortranarray(U), U.astype(np.int8)):
        assert np.array_equal(positions_of(pred.solve(other)), expected)


@pytest.mark.product
@every_pair_pred
@every_kind
def test_value_and_bound_belong_to_the_positions(pred, kind, rng):
    (value,) = OBJECTIVES[pred.objective]
    sign = 1 if pred.larger_is_better else -1
    for r in (1, 2, 4, 8, 13):
        U = draw(pred, kind, r, rng)
        result = pred.solve(U)
        assert result.value == pytest.approx(value(U, result.positions), abs=1e-12)
        assert sign * (result.bound - result.value) >= 0
        assert result.gap == abs(result.value - result.bound)
        assert result.proven or result.gap > 0
        assert not result.proven or result.gap <= 1e-9 * max(1, abs(result.value))


@pytest.mark.product
@every_pair_pred
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6])
def test_scale_of_the_matrix_changes_nothing(pred, scale, rng):
    for r in (4, 7, 12):
        U = rng.normal(size=(r, r))
        one, two = pred.solve(U), pred.solve(scale * U)
        assert np.array_equal(two.positions, one.positions)
        assert two.proven == one.proven
        assert two.value == pytest.approx(scale * one.value, rel=1e-9)
        assert two.bound == pytest.approx(scale * one.bound, rel=1e-6)


@pytest.mark.product
@every_pred
@pytest.mark.parametrize("cells", [1, 600, 1 << 16])
def test_a_stack_is_its_matrices_one_by_one(pred, cells, monkeypatch, rng):
    monkeypatch.setattr("skcalrank.preds._stacks.CACHE_CELLS", cells)
    for r in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12):
        assert_one_by_one(pred.solve, draw_stack(pred, [*MATRICES, *MATRICES], r, rng))


@every_pred
def test_a_stack_of_many_documents_is_its_matrices_one_by_one(pred, rng):
    # Beyond the sizes of the programmes over subsets and of the closure of paths.
    for r in [r for r in (16, 40, 110) if pred.cost(r) < 0.01 or r == 16]:
        assert_one_by_one(pred.solve, draw_stack(pred, ["random", "tied", "sparse"], r, rng))


@every_pred
def test_order_in_a_stack_does_not_matter(pred, rng):
    stack = draw_stack(pred, MATRICES, 6, rng)
    order = rng.permutation(len(stack))
    moved = positions_of(pred.solve(stack[order]))
    assert np.array_equal(moved, positions_of(pred.solve(stack))[order])
    assert positions_of(pred.solve(stack[:1])).shape == (1, 6)


ONES = np.ones((3, 3))
BAD = {
    "not square": (np.ones((2, 3)), r"must be square.*\(2, 3\)"),
    "nan": (np.where(np.eye(3), np.nan, ONES), "U contains NaN"),
    "infinity": (np.where(np.eye(3), np.inf, ONES), "U contains infinity"),
    "one dimension": (ONES[0], "Expected 2D array"),
    "four dimensions": (np.ones((1, 2, 2, 2)), r"\(r, r\) or \(n, r, r\), got \(1, 2, 2, 2\)"),
    "no documents": (np.ones((0, 0)), "0 sample"),
    "a stack of no documents": (np.ones((2, 0, 0)), r"must be square.*\(2, 0, 0\)"),
    "an empty stack": (np.ones((0, 2, 2)), "0 sample"),
    "a stack, not square": (np.ones((2, 3, 2)), r"must be square.*\(2, 3, 2\)"),
    "a stack with nan": (np.full((2, 3, 3), np.nan), "U contains NaN"),
    "words": ([["a", "b"], ["c", "d"]], "could not convert|dtype"),
}


@every_pair_pred
@pytest.mark.parametrize("name", BAD)
def test_bad_matrices(pred, name):
    U, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        pred.solve(U)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_scores(bad):
    with pytest.raises(ValueError, match="u contains"):
        sort_positions([0.1, bad])
    with pytest.raises(ValueError, match=r"\(1, 1, 2\)|dim 3"):
        sort_positions([[[0.1, 0.2]]])


# -- a new map -------------------------------------------------------------------------


def copeland(U):
    """Documents by the number of duels that they win."""
    return sort_positions((U > U.T).sum(axis=1))


def first_come(U, *, time_limit=None, relevance_level=None):
    """Positions in row order, by a map with options."""
    SEEN.append((time_limit, relevance_level))
    return np.arange(1, len(U) + 1)


SEEN = []
RANKERS = {"map": AveragePrecisionRanker, "disagreement": PairwiseDisagreementRanker}
every_objective = pytest.mark.parametrize("objective", RANKERS)


@pytest.fixture
def new(objective, monkeypatch):
    """Copeland's rule, in the registry."""
    pred = Pred.from_positions(copeland, objective)
    monkeypatch.setitem(PREDS, pred.key, pred)
    return pred


@pytest.fixture
def data(rng):
    """Features, labels and queries of 12 times 8 documents."""
    return rng.normal(size=(96, 3)), rng.integers(0, 2, 96), np.repeat(np.arange(12), 8)


def fitted(objective, data, **params):
    return RANKERS[objective](surrogate="pairwise", alpha=10.0, **params).fit(*data)


@every_objective
def test_a_new_pred_is_known_to_rankers(objective, new, data):
    X, y, qid = data
    matrices = fitted(objective, data).surrogate_values(X, qid)
    wins = np.concatenate([(matrix > matrix.T).sum(axis=1) for matrix in matrices])
    expected = fitted(objective, data, pred=copeland).rank(X, qid)
    # What breaks ties is not the order of the rows, see test_ties.
    assert (np.diff(wins[np.lexsort((expected, qid))].reshape(12, 8)) <= 0).all()
    for pred in ("copeland", new, copeland):
        ranker = clone(fitted(objective, data, pred=pred)).fit(X, y, qid)
        assert np.array_equal(ranker.rank(X, qid), expected)
        assert {result.method for result in ranker.solve(X, qid)} == {"copeland"}
        restored = pickle.loads(pickle.dumps(ranker))
        assert np.array_equal(restored.rank(X, qid), expected)
        assert restored.get_params()["pred"] == ranker.get_params()["pred"]


@every_objective
def test_a_new_pred_keeps_the_laws(new, rng):
    for r in (2, 3, 4, 5):
        stack = draw_stack(new, MATRICES, r, rng)
        assert_one_by_one(new.solve, stack)
        for U in stack:
            assert_no_better_than_best(new, U)


@every_objective
def test_a_new_pred_is_known_to_the_noise_report(objective, new, data):
    X, _, qid = data
    ranker = fitted(objective, data)
    reports = [noise_report(ranker, X, qid, pred=pred) for pred in ("copeland", new, copeland)]
    for report in reports:
        assert report.cheap == "copeland"
        assert report.condition is None
        assert "copeland as good as exact" in str(report)
        assert "holds" not in str(report)
        assert np.array_equal(report.loss, reports[0].loss)
        assert (report.loss >= 0).all()
    assert noise_report(ranker, X, qid).cheap in ("diagonal", "topological")
    odd = Pred.from_positions(copeland, objective, condition="sunshine")
    with pytest.raises(ValueError, match=r"condition must be one of 'P_reinforce'"):
        noise_report(ranker, X, qid, pred=odd)


@every_objective
def test_noise_report_of_a_score_ranker(objective, data):
    X, y, qid = data
    order = np.random.default_rng(0).permutation(len(qid))
    X, y, qid = X[order], np.asarray(y)[order], np.asarray(qid)[order]
    pairs = fitted(objective, (X, y, qid))
    scores = RANKERS[objective](alpha=10.0).fit(X, y, qid)
    report = noise_report(pairs, X, qid, score_ranker=scores)
    assert report.cheap == "score"
    found = scores.predict(X, qid)
    for number, (query, u) in enumerate(zip(np.unique(qid), pairs.surrogate_values(X, qid))):
        s = found[qid == query]
        if objective == "map":
            continue
        net, ahead = u - u.T, s[:, None] > s
        assert report.condition == "P_f"
        assert report.holds[number] == ahead[net > 1e-9 * np.abs(net).max()].all()
        if report.holds[number]:
            assert report.loss[number] <= 1e-9 * report.scale[number]
    with pytest.raises(ValueError, match="pred must be None with score_ranker"):
        noise_report(pairs, X, qid, pred="exact", score_ranker=scores)


@every_objective
def test_a_new_pred_has_no_known_cones(objective, new):
    law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.5, 0.5])
    measure = RANKERS[objective]()._measure()
    for pred in ("copeland", new, copeland, ["exact"]):
        with pytest.raises(ValueError, match=r"pred must be one of 'exact', .* are known"):
            calibration_gap("pairs", pred, measure, law)
    by_name = calibration_gap("pairs", "exact", measure, law)
    by_object = calibration_gap("pairs", preds_for(objective)["exact"], measure, law)
    assert by_name.gap == by_object.gap
    with pytest.raises(ValueError, match="pred must be one of"):
        calibration_gap("pairs", PREDS["positional_sort"], measure, law)


@every_objective
@pytest.mark.usefixtures("new")
def test_a_new_pred_is_known_to_the_command_line(objective, data, tmp_path, capsys):
    pytest.importorskip("skops")
    X, y, qid = data
    lines = [
        f"{int(label)} qid:{query} " + " ".join(f"{i}:{v}" for i, v in enumerate(row, 1))
        for row, label, query in zip(X, y, qid)
    ]
    file, model = tmp_path / "train.txt", str(tmp_path / "model.skops")
    file.write_text("\n".join(lines) + "\n")
    name = {"map": "map", "disagreement": "pd"}[objective]
    argv = ["fit", str(file), "--model", model, "--ranker", name, "--alpha", "10"]
    assert main([*argv, "--pred", "copeland"]) == 0
    expected = fitted(objective, data, pred="copeland").predict(X, qid)
    assert np.array_equal(load_model(model).predict(X, qid), expected)
    assert main([*argv, "--pred", "condorcet"]) != 0
    assert "pred must be one of" in capsys.readouterr().err


@every_objective
def test_options_go_to_preds_that_name_them(objective, data):
    X, _, qid = data
    named = ("time_limit", "relevance_level", "nonsense")
    pred = Pred.from_positions(first_come, objective, options=named)
    params = {"time_limit": 7.0} | ({"relevance_level": 1} if objective == "map" else {})
    for options, expected in ((named, tuple(params.values())), ((), ())):
        SEEN.clear()
        pred = Pred.from_positions(first_come, objective, options=options)
        fitted(objective, data, pred=pred, **params).predict(X, qid)
        assert {tuple(v for v in seen if v is not None) for seen in SEEN} == {expected}


# -- what is wrong ---------------------------------------------------------------------

NONSENSE = [[1, 2], 3, 2.5, object(), {"exact"}, "Exact", "", b"exact", PREDS["positional_sort"]]


@every_objective
@pytest.mark.parametrize("pred", NONSENSE, ids=lambda pred: type(pred).__name__)
def test_nonsense_is_answered_by_the_valid_names(objective, pred, data):
    names = ", ".join(map(repr, preds_for(objective)))
    message = f"pred must be one of {names}, a Pred with objective '{objective}', or a callable"
    ranker = RANKERS[objective](surrogate="pairwise", pred=pred)
    with pytest.raises(ValueError, match=f"{re.escape(message)}.*got {re.escape(repr(pred))}"):
        ranker.fit(*data)


@pytest.mark.parametrize(
    "found", [[1, 2], [0, 1, 2], [1, 1, 2], None, "abc", [1.5, 2.0, 3.0], [[1, 2, 3]] * 2]
)
def test_positions_of_a_callable_are_checked(found):
    pred = get_pred(lambda _U: found, "map")
    with pytest.raises(ValueError, match=r"must return the positions 1 to 3 of 3 documents, got"):
        pred.solve(ONES)


def test_bad_preds():
    with pytest.raises(ValueError, match="objective must be one of 'positional'"):
        Pred("mine", "mrr", copeland)
    with pytest.raises(ValueError, match="objective must be one of 'positional'"):
        Pred.from_positions(copeland, "mrr")
    with pytest.raises(ValueError, match="objective must be one of"):
        get_pred("exact", None)
    with pytest.raises(TypeError, match="solve must be callable, got 'exact'"):
        Pred("mine", "map", "exact")


@every_pred
def test_the_smallest_floats_are_ordered(pred, rng):
    stack = rng.integers(-8, 9, (30, 5, 5)).astype(float)
    for U in stack if pred.shape == "pairs" else stack[:, 0]:
        expected = positions_of(pred.solve(U))
        for exponent in (-1074, -1070):  # a search may not go on for ever there
            found = positions_of(pred.solve(np.ldexp(U, exponent)))
            assert sorted(found.tolist()) == [1, 2, 3, 4, 5]
        for exponent in (-500, 500):
            np.testing.assert_array_equal(positions_of(pred.solve(np.ldexp(U, exponent))), expected)
