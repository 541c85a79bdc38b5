"""Each prediction map against what it is defined as."""

import itertools
import sys
import time
from functools import partial

import numpy as np
import pytest
from definitions import all_positions, disagreement
from matrices import MATRICES, acyclic_matrix, assert_one_by_one, chained
from sklearn.exceptions import ConvergenceWarning

from skcalrank.preds import (
    PREDS,
    feedback_arc_positions,
    map_positions,
    preds_for,
    sort_positions,
    topological_positions,
)

every_kind = pytest.mark.parametrize("kind", MATRICES)
topological_result = preds_for("disagreement")["topological"].solve
FUNCTIONS = {"feedback_arc": feedback_arc_positions, "map": map_positions}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unknown_methods_are_answered_by_the_known(name):
    with pytest.raises(ValueError, match=r"method must be one of 'exact', .*'auto'"):
        FUNCTIONS[name](np.ones((3, 3)), method="greedy")


def test_sort_takes_many_queries(rng):
    u = rng.normal(size=(5, 7))
    assert np.array_equal(sort_positions(u), [sort_positions(row) for row in u])
    assert sort_positions([2.0, 3.0, 2.0, 3.0]).tolist() == [3, 1, 4, 2]
    assert sort_positions([2**60, 2**60 + 1, 2**60 + 2]).tolist() == [3, 2, 1]


# -- minimum feedback arc set ----------------------------------------------------------


def least_disagreement(U):
    positions = all_positions(len(U))
    return (U * (positions[:, :, None] > positions[:, None, :])).sum(axis=(1, 2)).min()


@pytest.fixture(params=["subsets", "integers", "cutting planes"])
def solver(request, monkeypatch):
    """The exact solvers of a strongly connected component, large ones on small ones."""
    if request.param != "subsets":
        monkeypatch.setattr("skcalrank.preds._feedback_arc._SUBSETS_UP_TO", 0)
        monkeypatch.setattr("skcalrank.preds._linear_ordering._PATIENCE", 0)
    if request.param == "integers":
        monkeypatch.setitem(sys.modules, "highspy", None)
    if request.param == "cutting planes":
        pytest.importorskip("highspy")


@pytest.mark.every_case
@every_kind
@pytest.mark.usefixtures("solver")
def test_exact_disagreement_is_the_least_of_all_rankings(kind, rng):
    for r in (2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 8):
        U = MATRICES[kind](r, rng)
        result = feedback_arc_positions(U)
        assert result.value == pytest.approx(least_disagreement(U), abs=1e-9)
        assert result.bound == result.value
        assert result.proven
        assert result.method == "exact"


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.usefixtures("solver")
def test_exact_disagreement_is_exact_on_any_scale(scale):
    for seed in range(20):
        U = np.random.default_rng(seed).normal(size=(7, 7))
        result = feedback_arc_positions(scale * U)
        assert result.value / scale == pytest.approx(least_disagreement(U), abs=1e-6)
        assert result.proven


@pytest.mark.parametrize("sizes", [(3, 3), (1, 4, 1), (3, 1, 3), (4, 3), (1, 1, 1)], ids=str)
@pytest.mark.usefixtures("solver")
def test_components_are_solved_one_by_one(sizes, rng):
    for _ in range(3):
        U, part = chained(sizes, rng)
        result = feedback_arc_positions(U)
        assert (np.diff(part[np.argsort(result.positions)]) >= 0).all()
        assert result.value == pytest.approx(least_disagreement(U), abs=1e-9)


def test_exact_solvers_agree_beyond_brute_force(monkeypatch, rng):
    instances = [MATRICES[kind](r, rng) for kind in MATRICES for r in (10, 13)]
    values = []
    for limit in (14, 0):
        monkeypatch.setattr("skcalrank.preds._feedback_arc._SUBSETS_UP_TO", limit)
        results = [feedback_arc_positions(U) for U in instances]
        assert all(result.proven for result in results)
        values.append([result.value for result in results])
    np.testing.assert_allclose(*values, atol=1e-9)


@every_kind
def test_local_search_is_between_bound_and_worse(kind, rng):
    for r in (3, 6, 10, 13):
        U = MATRICES[kind](r, rng)
        found, best = (feedback_arc_positions(U, method=m) for m in ("local_search", "exact"))
        assert found.bound <= best.value + 1e-9
        assert best.value <= found.value + 1e-9
        assert found.method == "local_search"


def test_local_search_leaves_no_better_place_for_a_document(rng):
    for r in (6, 12, 40):
        U = rng.normal(size=(r, r))
        result = feedback_arc_positions(U, method="local_search")
        order = np.argsort(result.positions).tolist()
        net = U - U.T
        for place, document in enumerate(order):
            rest = np.delete(order, place)
            lost = np.append(0.0, np.cumsum(net[document, rest]))
            assert lost[place] <= lost.min() + 1e-9


def test_auto_is_exact_up_to_forty_documents(rng):
    ordered = np.triu(np.ones((60, 60)), 1)
    large = ordered + 0.1 * rng.random((60, 60))
    assert feedback_arc_positions(rng.random((12, 12)), method="auto").method == "exact"
    assert feedback_arc_positions(large, method="auto").method == "exact"
    assert feedback_arc_positions(rng.random((41, 41)), method="auto").method == "local_search"


def test_time_limit_that_is_hit_gives_a_gap(rng):
    U = rng.random((60, 60))
    start = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="1 of 1 orders are not proven .*time_limit=None"):
        result = feedback_arc_positions(U, time_limit=0.05)
    assert time.monotonic() - start < 5
    assert not result.proven
    assert result.method == "exact"
    assert 0 < result.gap < np.inf
    assert result.value == pytest.approx(disagreement(U, result.positions))
    # No order can do better than have each pair at its best.
    each_at_its_best = np.minimum(U, U.T)[np.triu_indices(60, 1)].sum()
    assert each_at_its_best - 1e-9 <= result.bound < result.value
    found = feedback_arc_positions(U, method="local_search")
    assert result.value <= found.value + 1e-9
    assert result.bound >= found.bound - 1e-9


def test_bound_of_a_hit_time_limit_is_below_the_best(monkeypatch, rng):
    monkeypatch.setattr("skcalrank.preds._feedback_arc._SUBSETS_UP_TO", 0)
    for limit in (1e-9, 0.003, 0.01):
        U = rng.random((13, 13))
        result = PREDS["disagreement_exact"].solve(U, time_limit=limit)
        best = feedback_arc_positions(U).value
        assert result.bound <= best + 1e-9 <= result.value + 2e-9


def test_components_in_a_stack_are_solved_side_by_side(rng):
    sizes = [(3, 3, 3), (4, 5), (1, 8), (3, 1, 5), (9,), (1,) * 9]
    stack = np.array([chained(s, rng)[0] for s in sizes])
    for method in ("exact", "local_search", "auto"):
        assert_one_by_one(partial(feedback_arc_positions, method=method), stack)


@pytest.mark.parametrize("limit", [1, 2, 3, 10_000])
def test_the_time_limit_is_of_a_query_not_of_the_stack(limit, monkeypatch, rng):
    # A clock that goes on by a second whenever it is read.
    monkeypatch.setattr("skcalrank.preds._feedback_arc.time.monotonic", itertools.count().__next__)
    stack = rng.random((4, 15, 15))
    solve = partial(PREDS["disagreement_exact"].solve, time_limit=limit)
    assert_one_by_one(solve, stack)
    proven = solve(stack).proven
    assert proven.all() == (limit == 10_000)


def test_a_limit_below_a_second_leaves_that_time(monkeypatch):
    # A clock that stands still.
    monkeypatch.setattr("skcalrank.preds._feedback_arc.time.monotonic", lambda: 0.0)
    monkeypatch.setattr("skcalrank.preds._feedback_arc._SUBSETS_UP_TO", 0)
    cycle = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    result = feedback_arc_positions(cycle, time_limit=0.9)
    assert result.proven
    assert result.positions.tolist() == [1, 2, 3]


def paley(p):
    """A tournament of p documents that all look alike: i beats j if j - i is a square."""
    i = np.arange(p)
    return np.isin((i - i[:, None]) % p, i[1:] ** 2 % p) + 0.0


@pytest.mark.parametrize(("p", "best"), [(3, 1), (7, 7), (11, 20)])
@pytest.mark.usefixtures("solver")
def test_tournaments_whose_relaxation_is_fractional(p, best):
    result = feedback_arc_positions(paley(p))
    assert result.value == best
    assert result.proven


@pytest.mark.product
@pytest.mark.parametrize("sweeps", [1, 40])
@every_kind
def test_bounds_without_a_program_are_below_the_best(kind, sweeps, monkeypatch, rng):
    stack = np.array([MATRICES[kind](9, rng) for _ in range(4)])
    best = feedback_arc_positions(stack).value
    # No sweep is skipped, and no program runs after them.
    module = "skcalrank.preds._linear_ordering"
    for name, number in (
        ("_CYCLIC", -1),
        ("_SWEEPS", sweeps),
        ("_SWEEPS_ALONE", sweeps),
    ):
        monkeypatch.setattr(f"{module}.{name}", number)
    for program in ("_branch_and_cut", "_integer_program"):
        monkeypatch.setattr(f"{module}.{program}", lambda *_: None)
    monkeypatch.setattr("skcalrank.preds._feedback_arc._SUBSETS_UP_TO", 0)
    result = PREDS["disagreement_exact"].solve(stack)
    assert (result.bound <= best + 1e-9).all()
    assert (result.value >= best - 1e-9).all()
    assert (result.value - result.bound >= 0).all()
    assert result.value[result.proven] == pytest.approx(best[result.proven])
    pairs = np.triu(np.minimum(stack, stack.swapaxes(1, 2)), 1).sum(axis=(1, 2))
    assert (result.bound >= pairs - 1e-9).all()
    if sweeps == 40:
        assert np.mean(best - result.bound) <= 0.1 * np.mean(best - pairs) + 1e-9


@pytest.mark.parametrize("step", [1, 3, 2.5])
@pytest.mark.usefixtures("solver")
def test_data_on_a_grid_are_proven(step, rng):
    for _ in range(5):
        U = step * rng.integers(0, 4, (8, 8))
        result = feedback_arc_positions(U)
        assert result.proven
        assert result.value == pytest.approx(least_disagreement(U))


@pytest.mark.usefixtures("solver")
def test_preferences_of_very_different_size(rng):
    for _ in range(5):
        U = 10.0 ** rng.uniform(-6, 6, (7, 7))
        result = feedback_arc_positions(U)
        assert result.proven
        assert result.value == pytest.approx(least_disagreement(U), rel=1e-9)


@pytest.mark.every_case
@pytest.mark.parametrize(("seed", "noise"), [(352, 4e-7), (2135, 1e-6)])
def test_orders_within_the_gap_of_integer_programs_are_told_apart(seed, noise, monkeypatch):
    # scipy's programs end at a gap of 1e-6, and were solved again until the time was over.
    rng = np.random.default_rng(seed)
    U = rng.integers(0, 2, (15, 15)) + noise * rng.random((15, 15))
    best = feedback_arc_positions(U)
    monkeypatch.setitem(sys.modules, "highspy", None)
    result = feedback_arc_positions(U)
    assert result.proven
    assert result.value == pytest.approx(best.value, abs=1e-7)


def test_the_optional_solver_prints_nothing(capfd, monkeypatch, rng):
    pytest.importorskip("highspy")
    monkeypatch.setattr("skcalrank.preds._feedback_arc._SUBSETS_UP_TO", 0)
    feedback_arc_positions(rng.random((12, 12)))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("limit", [0, -1.0, float("nan")])
def test_time_limit_is_positive(limit):
    with pytest.raises(ValueError, match=r"time_limit must be a number > 0"):
        feedback_arc_positions(np.ones((3, 3)), time_limit=limit)


# -- Algorithm 1 -----------------------------------------------------------------------


def is_acyclic(edges):
    """Whether nothing is left when documents that no other is preferred to are taken away."""
    while len(edges):
        beaten = edges.any(axis=0)
        if beaten.all():
            return False
        edges = edges[np.ix_(beaten, beaten)]
    return True


def without_lightest(U):
    """Edges that are left when they are deleted one at a time until there is no cycle."""
    net = U - U.T
    edges = net > 0
    for _, i, j in sorted((net[i, j], i, j) for i, j in np.argwhere(edges)):
        if is_acyclic(edges):
            break
        edges[i, j] = False
    return edges


def algorithm_one(U):
    """Positions, placing the free document of largest net preference first."""
    edges, priority = without_lightest(U), (U - U.T).sum(axis=1)
    left, position = list(range(len(U))), np.zeros(len(U), dtype=int)
    while left:
        free = [j for j in left if not edges[left, j].any()]
        chosen = max(free, key=lambda j: (priority[j], -j))
        left.remove(chosen)
        position[chosen] = len(U) - len(left)
    return position


@every_kind
def test_algorithm_one_is_the_deletion_loop(kind, rng):
    for r in (1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 20):
        U = MATRICES[kind](r, rng)
        assert np.array_equal(topological_positions(U), algorithm_one(U))


@pytest.mark.parametrize("kind", ["random", "tied", "sparse"])
def test_algorithm_one_is_the_deletion_loop_on_many_documents(kind, rng):
    for r in (40, 160):
        U = MATRICES[kind](r, rng)
        assert np.array_equal(topological_positions(U), algorithm_one(U))


@every_kind
def test_algorithm_one_respects_every_edge_kept(kind, rng):
    for r in (5, 8, 12, 40):
        U = MATRICES[kind](r, rng)
        positions = topological_positions(U)
        winner, loser = np.nonzero(without_lightest(U))
        assert (positions[winner] < positions[loser]).all()


def test_algorithm_one_is_right_on_every_pair_of_an_acyclic_graph(rng):
    for r in (2, 5, 9, 30, 160):
        U = acyclic_matrix(r, rng)
        result = topological_result(U)
        earlier = result.positions[:, None] < result.positions
        assert earlier[U > U.T].all()
        assert result.proven
        assert result.method == "topological"
        assert result.value == np.minimum(U, U.T)[np.triu_indices(r, 1)].sum()
        assert np.array_equal(result.positions, topological_positions(U))


def test_algorithm_one_deletes_equal_weights_rows_first():
    # All edges of the cycle 1 > 2 > 3 > 1 weigh one: (1, 2) goes, 2 > 3 > 1 is left.
    assert topological_positions([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).tolist() == [3, 1, 2]


@every_kind
def test_the_diagonal_is_not_read(kind, rng):
    U = MATRICES[kind](7, rng)
    other = U + np.diag(1e12 * rng.random(7))
    for pred in (topological_result, feedback_arc_positions):
        one, two = pred(U), pred(other)
        assert np.array_equal(one.positions, two.positions)
        assert one[1:] == two[1:]


def test_algorithm_one_is_not_optimal_on_cycles():
    # Dropping the lightest edge of each of two cycles costs more than the edge they share.
    U = np.zeros((4, 4))
    U[0, 1], U[1, 2], U[2, 0], U[1, 3], U[3, 0] = 3, 2, 2, 2, 2
    one, best = topological_result(U), feedback_arc_positions(U)
    assert (one.value, best.value) == (4, 3)
    assert not one.proven
    assert one.bound <= best.value


# -- mean average precision ------------------------------------------------------------


def best_map_value(U):
    positions = all_positions(len(U))
    last = np.maximum(positions[:, :, None], positions[:, None, :])
    return (np.tril(U) / last).sum(axis=(1, 2)).max()


@pytest.mark.every_case
@every_kind
def test_exact_map_is_the_best_of_all_rankings(kind, rng):
    for r in (2, 3, 4, 5, 5, 6, 6, 7, 7):
        U = MATRICES[kind](r, rng)
        best = best_map_value(U)
        result = map_positions(U)
        assert result.value == pytest.approx(best, abs=1e-12)
        assert result.bound == result.value
        assert result.proven
        for method in ("beam", "diagonal"):
            other = map_positions(U, method=method)
            assert other.value <= best + 1e-12
            assert other.bound >= best - 1e-12


@pytest.mark.parametrize("method", ["exact", "beam", "diagonal", "auto"])
def test_map_reads_the_lower_triangle(method, rng):
    U = rng.normal(size=(9, 9))
    results = [map_positions(V, method=method) for V in (U, np.tril(U))]
    other = np.tril(U) + np.triu(rng.normal(size=(9, 9)), 1)
    results.append(map_positions(other, method=method))
    assert all(np.array_equal(result.positions, results[0].positions) for result in results)
    assert len({result.value for result in results}) == 1


@every_kind
def test_beam_is_near_the_best(kind, rng):
    for r in (9, 12, 15):
        U = MATRICES[kind](r, rng)
        beam, best = (map_positions(U, method=m) for m in ("beam", "exact"))
        assert beam.value <= best.value + 1e-12 <= beam.bound + 2e-12
        assert beam.value >= map_positions(U, method="diagonal").value - 1e-12
        assert beam.method == "beam"


def test_diagonal_sorts_by_the_diagonal(rng):
    U = rng.normal(size=(8, 8))
    positions = map_positions(U, method="diagonal").positions
    assert np.array_equal(positions, sort_positions(U.diagonal()))


def test_auto_map_is_exact_up_to_sixteen_documents(rng):
    U = rng.random((17, 17))
    assert map_positions(U, method="auto").method == "beam"
    assert map_positions(U[:16, :16], method="auto").method == "exact"
