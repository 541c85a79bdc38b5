"""Rank sets: who is above whom, of votes and of tables of tasks and systems."""

import warnings

import numpy as np
import pytest
from scipy import stats

from skcalrank import leaderboard
from skcalrank.evaluation import compare_values, rank_sets

pd = pytest.importorskip("pandas")


def board_of(gaps, n=400, seed=0, level=0.95):
    """A leaderboard of votes between all pairs of items."""
    rng = np.random.default_rng(seed)
    i, j = (np.repeat(of, n) for of in np.triu_indices(len(gaps), 1))
    won = rng.random(len(i)) < 1 / (1 + np.exp(gaps[j] - gaps[i]))
    names = np.array(list("abcdefgh"))
    votes = pd.DataFrame({"model_a": names[i], "model_b": names[j], "winner": won})
    return leaderboard(votes, confidence_level=level)


def test_blocks_of_items_are_told_apart_and_equal_items_are_not():
    board = board_of(np.repeat([2.0, 1.0, 0.0], 2))
    frame = board.to_frame()
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5, 6]
    assert frame["rank_low"].tolist() == [1, 1, 3, 3, 5, 5]
    assert frame["rank_high"].tolist() == [2, 2, 4, 4, 6, 6]
    assert not board.difference("a", "b").separated
    assert board.difference("c", "e").separated
    assert (board.above.sum(axis=0) + 1).tolist() == frame["rank_low"].tolist()


def test_few_votes_give_all_ranks():
    frame = board_of(np.zeros(4), n=6).to_frame()
    assert set(zip(frame["rank_low"], frame["rank_high"])) == {(1, 4)}


def test_two_steps_tell_more_apart_than_one_critical_value():
    """The bound of a single step, with the largest of all standardized differences."""
    n_apart, n_in_one_step = 0, 0
    for seed in range(10):
        board = board_of(0.35 * np.arange(8), n=60, seed=seed)
        c = board.covariance
        draws = np.random.default_rng(0).multivariate_normal(np.zeros(8), c, 4000, method="eigh")
        spread = np.sqrt(np.add.outer(c.diagonal(), c.diagonal()) - 2 * c) + np.eye(8)
        largest = np.abs((draws[:, :, None] - draws[:, None]) / spread).max(axis=(1, 2))
        t = (board.scores[:, None] - board.scores) / spread
        n_in_one_step += (t > np.quantile(largest, 0.95)).sum()
        n_apart += board.above.sum()
        assert not board.above[np.tril_indices(8)].any()
    assert n_apart > n_in_one_step


def made_table(n=40, m=4, seed=0):
    values = np.random.default_rng(seed).normal(size=(n, m))
    return pd.DataFrame(values + 0.6 * np.arange(m), columns=list("wxyz")[:m])


def test_two_systems_are_a_paired_t_test():
    """With few tasks all changes of signs are among those drawn, so that p-values agree nearly."""
    for seed in range(8):
        table = made_table(n=30, m=2, seed=seed)
        test = stats.ttest_rel(table["x"], table["w"])
        if not 0.03 < test.pvalue < 0.08:
            assert rank_sets(table).difference("x", "w").separated == (test.pvalue < 0.05)
        gap = rank_sets(table).difference("x", "w")
        assert gap.p == pytest.approx(test.pvalue)
        assert (gap.low, gap.high) == pytest.approx(tuple(test.confidence_interval()))
        assert np.isnan(gap.probability)


def test_a_table_is_a_leaderboard_of_means():
    table = made_table()
    board = rank_sets(table)
    assert board.items == ["z", "y", "x", "w"]
    np.testing.assert_allclose(board.scores, table.mean()[board.items])
    errors = table.std() / np.sqrt(40)
    np.testing.assert_allclose(board.columns["error"], errors[board.items])
    assert board.to_markdown().split("\n")[0].endswith("| values |")
    assert "Means of 40 tasks" in board.to_markdown()
    shuffled = rank_sets(table.sample(frac=1, random_state=0)[["y", "w", "z", "x"]])
    assert shuffled.columns["rank_low"].tolist() == board.columns["rank_low"].tolist()
    same = rank_sets(pd.concat([table["w"], table["w"].rename("v")], axis=1))
    assert same.columns["rank"].tolist() == [1, 1]
    assert same.columns["rank_high"].tolist() == [2, 2]
    np.testing.assert_array_equal(same.difference("w", "v"), [0, np.nan, np.nan, 1, np.nan, 0])


NOISE = made_table(n=30, m=3)
# Tables in which b and a differ by the same number on all tasks.
CONSTANT = {
    "two tasks": {"a": [1.0, 1.0], "b": [0.0, 0.0]},
    "beside another": {"a": NOISE["w"] + 0.1, "b": NOISE["w"], "c": NOISE["x"]},
    "of many others": {"a": NOISE["w"] + 1, "b": NOISE["w"], **dict(NOISE), "v": 1e3 * NOISE["x"]},
    "up to rounding": {"a": np.array([0.1, 0.3, 0.7]) + 0.2, "b": [0.1, 0.3, 0.7]},
    **{
        f"{size:g} and noise": {"a": NOISE["w"] + 0.3 + size, "b": NOISE["w"] + size}
        for size in (1e6, 1e9, 1e10, 1e13)
    },
}


@pytest.mark.filterwarnings("ignore:.*(on every query|is defined on)")
@pytest.mark.parametrize("case", CONSTANT)
def test_differences_that_do_not_vary_tell_nothing_apart(case):
    table = pd.DataFrame(CONSTANT[case])
    with pytest.warns(UserWarning, match="such as 'a' and 'b', differ by the same number on all"):
        board = rank_sets(table)
    a, b = board.items.index("a"), board.items.index("b")
    assert board.columns["rank"][a] < board.columns["rank"][b]
    assert not board.above[a, b]
    gap = board.difference("a", "b")
    assert np.isnan([gap.low, gap.high, gap.p]).all()
    theirs = compare_values({name: {"s": table[name]} for name in "ab"}).differences[0]
    assert np.isnan([theirs.low, theirs.high]).all()
    assert gap.separated is False
    if case == "of many others":
        assert board.above.any()


TIMES = 10 ** np.random.default_rng(0).uniform(0, 6, 30)
# Tables in which differences of b and a vary by more than rounding, but by far less than values.
VARYING = {
    "times of tasks": {"a": TIMES, "b": TIMES + 0.5 + NOISE["w"] / 20},
    "times of day": {"a": 1.7e9 + NOISE["w"] / 10, "b": 1.7e9 + NOISE["x"] / 10},
    "beside large ones": {"a": NOISE["w"], "b": NOISE["x"], "c": 1e9 * NOISE["y"]},
    "large": {"a": 1e200 * NOISE["w"], "b": 1e200 * NOISE["x"]},
    "small": {"a": 1e-200 * TIMES, "b": 1e-200 * (TIMES + 0.5 + NOISE["w"] / 20)},
    **{
        f"{size:g} and noise": {"a": size + NOISE["w"], "b": size + NOISE["x"]}
        for size in (1e6, 1e9)
    },
}


@pytest.mark.parametrize("case", VARYING)
def test_differences_that_vary_little_are_tested_as_in_a_comparison(case):
    table = pd.DataFrame(VARYING[case])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        board = rank_sets(table)
    theirs = compare_values({"a": {"s": table["a"]}, "b": {"s": table["b"]}}).differences[0]
    gap = board.difference("b", "a")
    assert gap.p == pytest.approx(theirs.p, rel=1e-3)
    assert (gap.low, gap.high) == pytest.approx((theirs.low, theirs.high), rel=1e-3)
    assert len(table.columns) > 2 or gap.separated == (theirs.p < 0.05)
    assert board.to_frame()[["low", "high", "error"]].notna().all(axis=None)


@pytest.mark.filterwarnings("ignore:.*(differ by the same number|equal on every query)")
@pytest.mark.parametrize("size", 10.0 ** np.arange(9, 15))
def test_the_same_differences_vary_as_in_a_comparison(size):
    for seed in range(5):
        table = made_table(n=30, m=2, seed=seed) + size
        theirs = compare_values({name: {"s": of} for name, of in table.items()}).differences[0]
        board = rank_sets(table)
        assert np.isnan(board.difference("x", "w").low) == np.isnan(theirs.low)
        assert not (np.isnan(theirs.low) and board.above.any())


def test_what_all_systems_share_changes_nothing():
    """Rank sets of differences far smaller than values, which single precision cannot hold."""
    shared = 10 ** np.random.default_rng(0).uniform(0, 8, 40)
    for seed in range(10):
        table = made_table(seed=seed)
        board, moved = rank_sets(table), rank_sets(table.add(shared, axis=0))
        assert moved.items == board.items
        np.testing.assert_array_equal(moved.above, board.above)
        np.testing.assert_allclose(moved.gap_errors, board.gap_errors, rtol=1e-6)


def test_a_system_that_does_not_vary_has_no_interval():
    board = rank_sets(made_table()[["w", "z"]].assign(c=0.3))
    row = board.to_frame().set_index("item").loc["c"]
    assert row[["low", "high", "error"]].isna().all()
    assert board.difference("z", "c").separated
    assert board.difference("z", "c").p < 0.05


def test_comparisons_tell_no_constant_differences_apart():
    values = {"a": {"map": [1.0] * 8}, "b": {"map": [0.0] * 8}}
    comparison = compare_values(values, test="permutation")
    with pytest.warns(UserWarning, match="same number on all queries"):
        assert comparison.rank_sets().columns["rank_high"].tolist() == [2, 2]


@pytest.mark.filterwarnings("ignore:.* of the pairs of systems")
@pytest.mark.parametrize(("n", "m"), [(2, 5), (3, 10), (4, 10), (5, 10)])
def test_equal_systems_on_few_tasks_are_rarely_told_apart(n, m):
    rng = np.random.default_rng(0)
    boards = [rank_sets(rng.integers(0, 2, (n, m))) for _ in range(100)]
    assert sum(board.above.any() for board in boards) <= 5


@pytest.mark.parametrize(("level", "most"), [(0.95, 20), (0.99, 6)])
@pytest.mark.parametrize(("n", "m"), [(3, 2), (3, 4), (4, 4)])
def test_few_signs_of_rows_are_no_quantile(n, m, level, most):
    """Of equal systems, of which 57 in 200 tables of shape (3, 4) were told apart."""
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(200, n, m))
    assert sum(rank_sets(of, confidence_level=level).above.any() for of in tables) <= most


LEVELS = [0.5, 0.9, 0.95, 0.99, 0.997, 0.999, 0.999999, 1 - 1e-12, 1 - 2**-53]


@pytest.mark.parametrize("level", LEVELS)
def test_who_is_told_apart_has_an_interval_without_0_and_a_small_p_value(level):
    six = [[0.7, 0.4], [0.6, 0.5], [0.9, 0.6], [0.8, 0.5], [0.7, 0.3], [0.8, 0.6]]
    tables = [six, *(made_table(n, m, n) for n in (5, 8, 12, 40) for m in (2, 4))]
    boards = [rank_sets(table, confidence_level=level) for table in tables]
    boards += [board_of(0.6 * np.arange(5), n, level=level) for n in (20, 400)]
    n_apart = 0
    for board in boards:
        for i, j in zip(*np.nonzero(board.above)):
            gap = board.difference(board.items[i], board.items[j])
            assert gap.separated
            assert gap.low > 0
            assert gap.p < 1 - level
            n_apart += 1
    assert n_apart > 10 or level > 0.999999


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e-40, 1e-12, 1e12, 1e40, 1e160, 1e300])
def test_ranks_do_not_depend_on_the_unit(unit):
    table = made_table() - 1.0
    board, expected = rank_sets(unit * table), rank_sets(table)
    for name in ("item", "rank", "rank_low", "rank_high"):
        assert board.columns[name].tolist() == expected.columns[name].tolist()
    for name in ("score", "low", "high", "error"):
        np.testing.assert_allclose(board.columns[name] / unit, expected.columns[name], rtol=1e-9)
    gap, theirs = board.difference("z", "w"), expected.difference("z", "w")
    assert gap.separated is theirs.separated is True
    assert gap.p == pytest.approx(theirs.p)
    np.testing.assert_allclose(np.divide(gap[:3], unit), theirs[:3], rtol=1e-9)
    # The covariance, a square, may leave the range of numbers.
    if not 1e-140 < unit < 1e140:
        assert np.isnan(board.covariance).all()
    else:
        np.testing.assert_allclose(board.covariance / unit**2, expected.covariance, rtol=1e-9)
    same = rank_sets(unit * table[["w", "w"]].set_axis(["v", "w"], axis=1))
    assert same.columns["rank"].tolist() == [1, 1]


def test_columns_may_have_units_far_apart():
    table = made_table()
    board = rank_sets(table.assign(x=1e-50 * table["x"], y=-1e-50 * table["y"]))
    few = rank_sets(table[["w", "z"]].assign(x=0.0, y=-0.0))
    assert board.items[::3] == few.items[::3]
    assert board.above.sum() == few.above.sum()
    rank, low, high = (board.columns[name] for name in ("rank", "rank_low", "rank_high"))
    assert ((low <= rank) & (rank <= high)).all()


def test_tables_of_all_libraries_have_names():
    table = made_table()
    expected = rank_sets(table).to_frame()
    others = [table.astype("Float64")]
    for library, make in (("polars", "DataFrame"), ("pyarrow", "table")):
        columns = {name: table[name].tolist() for name in table}
        others.append(getattr(pytest.importorskip(library), make)(columns))
    for other in others:
        pd.testing.assert_frame_equal(rank_sets(other).to_frame(), expected)
    others[0].loc[3, "x"] = pd.NA
    with pytest.raises(ValueError, match="got nan in row 3, column 1"):
        rank_sets(others[0])
    with pytest.raises(ValueError, match="values must hold numbers"):
        rank_sets(table.assign(x="text"))
    with pytest.raises(ValueError, match="names that differ, got w, w"):
        rank_sets(table[["w", "w"]])


@pytest.mark.parametrize("values", [[[1, 2]], [[1], [2]], [1, 2]])
def test_tables_that_are_too_small(values):
    with pytest.raises(ValueError, match=r"two tasks .* two systems"):
        rank_sets(values)


def test_missing_values_are_named():
    with pytest.raises(ValueError, match="got nan in row 1, column 0: leave out"):
        rank_sets([[1, 2], [np.nan, 1], [2, 3]])


def test_comparisons_have_rank_sets():
    table = made_table()
    values = {name: {"map": column.tolist(), "mrr": [0.5] * 40} for name, column in table.items()}
    values["w"]["map"][3] = np.nan
    with pytest.warns(UserWarning, match="different queries"):
        comparison = compare_values(values, confidence_level=0.9)
    board = comparison.rank_sets()
    assert board.sample == "39 queries"
    assert board.to_markdown().split("\n")[0].endswith("| values |")
    expected = rank_sets(table.drop(3), confidence_level=0.9)
    assert board.columns["rank_low"].tolist() == expected.columns["rank_low"].tolist()
    assert comparison.rank_sets("mrr").columns["rank_high"].tolist() == [4] * 4
    with pytest.raises(ValueError, match="measure must be one of"):
        comparison.rank_sets("ndcg")
