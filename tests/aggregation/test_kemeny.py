"""Kemeny's rule, against the definition over all orders."""

from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skcalrank import PreferenceTarget
from skcalrank.aggregation import kemeny
from skcalrank.datasets import load_preflib


def contradicted(vote, order):
    """Pairs of a vote, as groups of tied names, that an order of all names places the other way."""
    place = {name: number for number, name in enumerate(order)}
    return sum(
        place[winner] > place[loser]
        for before, behind in combinations(vote, 2)
        for winner in before
        for loser in behind
    )


def draw_vote(rng, names):
    """A partial order with ties, as groups."""
    ranked = rng.permutation(names)[: rng.integers(1, len(names) + 1)]
    cuts = np.flatnonzero(rng.random(len(ranked) - 1) < 0.6) + 1
    return [group.tolist() for group in np.split(ranked, cuts)]


@pytest.mark.every_case
@pytest.mark.parametrize("seed", range(30))
def test_best_of_all_orders(seed):
    rng = np.random.default_rng(seed)
    names = list("abcd")
    votes = [draw_vote(rng, names) for _ in range(6)]
    weights = rng.integers(0, 4, 6)
    everyone = sorted({name for vote in votes for group in vote for name in group})
    loss = {
        order: sum(w * contradicted(vote, order) for w, vote in zip(weights, votes))
        for order in permutations(everyone)
    }
    consensus = kemeny(votes, weights=weights)
    assert consensus.value == consensus.bound == min(loss.values())
    assert consensus.proven
    assert loss[tuple(consensus.order)] == consensus.value


def test_groups_are_lists_tuples_arrays_or_sets():
    alike = [["b", ["a", "c"]], ["b", ("a", "c")], (["b"], {"c", "a"}), ["b", frozenset("ac")]]
    votes = [["a", "b", "c"]] * 2
    alike.append(["b", np.array(["a", "c"])])
    (first, *others) = [kemeny([*votes, vote, vote, vote]) for vote in alike]
    assert first.value == 2
    assert all(consensus == first for consensus in others)


def test_names_may_be_numbers():
    assert kemeny([[3, 1], [3, 2], [2, 1]]).order == [3, 2, 1]


def test_what_a_vote_leaves_out_does_not_count_as_worse():
    # With c behind a in the eight short votes, b would not be first.
    votes = [["a"]] * 8 + [["b", "c", "a"]]
    assert kemeny(votes) == (["b", "c", "a"], 0.0, 0.0, True)


def test_votes_in_rows():
    positions = np.array([[1, 2, np.nan], [2, 1, 3], [1, 1, 2]])
    y = PreferenceTarget.from_orders(positions)
    votes = [[0, 1], [1, 0, 2], [[0, 1], 2]]
    assert kemeny(y, weights=[3, 1, 1]) == kemeny(votes, weights=[3, 1, 1])
    pandas = pytest.importorskip("pandas")
    y = PreferenceTarget.from_orders(pandas.DataFrame(positions, columns=["tea", "milk", "ale"]))
    assert kemeny(y, weights=[3, 1, 1]).order == ["tea", "milk", "ale"]


def test_a_frame_holds_positions_of_its_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"tea": [3, 3, 2], "milk": [2, 1, 1], "ale": [1, 2, 3]})
    assert kemeny(frame).order == ["milk", "ale", "tea"]
    named = pandas.DataFrame({"first": ["Ana", "Bo"], "second": ["Bo", "Ana"]})
    with pytest.raises(ValueError, match=r"position of each candidate.*to_numpy\(\).tolist"):
        kemeny(named)
    assert kemeny(named.to_numpy()).value == 1


@pytest.mark.parametrize("votes", [[[3, 2, 1], [1, 2, 3]], [[0.0, 1], [0, 1]], [[1, np.nan]]])
def test_arrays_that_may_hold_positions(votes):
    with pytest.raises(ValueError, match=r"from_orders\(positions\), counted from 1, or orders"):
        kemeny(np.array(votes))
    kemeny([[3, 2, 1], [1, 2, 3]])
    kemeny(np.array([[7, 3, 5], [3, 5, 7]]))


def test_votes_of_a_file(tmp_path):
    file = tmp_path / "drinks.toi"
    file.write_text("# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: ale\n3: 1,2\n4: {1,2}\n5: 2")
    data = load_preflib(file, expand=False)
    y = PreferenceTarget.from_orders(data.positions)
    assert kemeny(y, weights=data.weights) == ([0, 1], 0.0, 0.0, True)


def test_large_votes_have_a_bound():
    rng = np.random.default_rng(0)
    votes = [rng.permutation(30).tolist() for _ in range(5)]
    consensus = kemeny(votes, method="local_search")
    assert 0 <= consensus.bound <= consensus.value
    assert consensus.gap == consensus.value - consensus.bound
    assert kemeny(votes).value <= consensus.value


def test_a_time_limit_that_is_hit_warns():
    rng = np.random.default_rng(0)
    votes = [rng.permutation(60).tolist() for _ in range(3)]
    with pytest.warns(ConvergenceWarning, match="1 of 1 orders .*time_limit=0.001 .*limit=None"):
        consensus = kemeny(votes, time_limit=0.001)
    assert not consensus.proven
    assert 0 < consensus.gap < consensus.value


@pytest.mark.parametrize(
    ("votes", "weights", "error", "message"),
    [
        ([], None, ValueError, "at least one vote"),
        ([[]], None, ValueError, "at least one vote"),
        (["abc"], None, TypeError, "names, best first, got the str 'abc' as vote 0"),
        ([["a"], {"b"}], None, TypeError, "got the set {'b'} as vote 1: pass a list"),
        ([{"a": 2, "b": 1}], None, TypeError, "got the dict .* as vote 0: pass a list"),
        ([["a"], 5], None, TypeError, "got the int 5 as vote 1"),
        ([["a"], ["a", ("b", "a")]], None, ValueError, "got 'a' twice in vote 1"),
        ([["a", []]], None, ValueError, "must not be empty, got one in vote 0"),
        ([["a", "b"]], [1, 2], ValueError, "weights must be 1 non-negative numbers"),
        ([["a", "b"]], [-1], ValueError, "weights must be 1 non-negative numbers"),
        (
            PreferenceTarget.from_comparisons([0], [1], [1, 1]),
            None,
            ValueError,
            "must be in the label-ranking form",
        ),
        ([["a", float("nan")]], None, ValueError, "got nan in vote 0"),
        ([["a"], ["b", ("a", None)]], None, ValueError, "got None in vote 1: leave it out"),
    ],
)
def test_errors(votes, weights, error, message):
    with pytest.raises(error, match=message):
        kemeny(votes, weights=weights)
