"""Leaderboards: the maximum and its errors, what changes nothing, and input that is not a board."""

import pickle
import re
import warnings
from decimal import Decimal

import numpy as np
import pytest
from scipy import optimize, stats

from skcalrank import PreferenceTarget, leaderboard
from skcalrank.aggregation import bradley_terry

pd = pytest.importorskip("pandas")

NAMES = np.array([f"m{k}" for k in range(6)])


def made(seed=0, n=600, share=0.3, slope=0.4, order=0.2, users=40):
    """Votes with ties, two covariates, an order effect, users and weights."""
    rng = np.random.default_rng(seed)
    m = len(NAMES)
    strength = rng.normal(size=m)
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    z = rng.normal(size=(n, 2))
    p = 1 / (1 + np.exp(-(strength[first] - strength[second] + slope * z[:, 0] + order)))
    won = np.where(rng.random(n) < share, 0.5, rng.random(n) < p)
    columns = {"model_a": NAMES[first], "model_b": NAMES[second], "winner": won}
    columns |= {"z": z[:, 0], "x": z[:, 1], "user": rng.integers(0, users, n)}
    return pd.DataFrame(columns | {"w": rng.uniform(0.2, 2, n)})


VOTES = made()
FEW = np.arange(len(VOTES)) < 5
REGRESSION = {"covariates": ["z", "x"], "order_effect": True}
CASES = [
    {},
    {"cluster": "user"},
    {"ties": "davidson"},
    {**REGRESSION, "cluster": "user"},
    {**REGRESSION, "ties": "davidson", "weight": "w"},
    {**REGRESSION, "ties": "davidson", "cluster": "user", "weight": "w"},
]


def ranked(board):
    """Scores and covariance in the order of the names."""
    order = np.argsort(board.items)
    return board.scores[order], board.covariance[np.ix_(order, order)]


def reference(votes, ties="half", cluster=None, weight=None, covariates=(), order_effect=False):
    """Parameters, and covariance without a correction, by general tools; the first score is 0."""
    n, m = len(votes), len(NAMES)
    rows = np.arange(n)
    design = np.zeros((n, m))
    design[rows, [*map(list(NAMES).index, votes["model_a"])]] += 1
    design[rows, [*map(list(NAMES).index, votes["model_b"])]] -= 1
    more = [np.asarray(votes[name]) for name in covariates] + [np.ones(n)] * order_effect
    design = np.column_stack([design[:, 1:], *more])
    y = votes["winner"].to_numpy(dtype=float)
    w = np.ones(n) if weight is None else votes[weight].to_numpy()
    has_nu = ties == "davidson"

    def scores(theta):
        eta = design @ theta[: design.shape[1]]
        kinds = [eta, eta / 2 + theta[-1], 0 * eta] if has_nu else [eta, 0 * eta]
        law = np.exp(kinds) / np.exp(kinds).sum(axis=0)
        mean = law[0] + (law[1] / 2 if has_nu else 0)
        columns = [design * (y - mean)[:, None]]
        if has_nu:
            columns.append(((y == 0.5) - law[1])[:, None])
        return w[:, None] * np.column_stack(columns)

    start = np.zeros(design.shape[1] + has_nu)
    theta = optimize.root(lambda t: scores(t).sum(0), start, tol=1e-13).x
    step = 1e-5
    curvature = np.column_stack(
        [
            (scores(theta - e).sum(0) - scores(theta + e).sum(0)) / (2 * step)
            for e in step * np.eye(len(theta))
        ]
    )
    groups = rows if cluster is None else votes[cluster].to_numpy()
    _, groups = np.unique(groups, return_inverse=True)
    summed = np.zeros((groups.max() + 1, len(theta)))
    np.add.at(summed, groups, scores(theta))
    bread = np.linalg.inv(curvature)
    g = len(summed)
    return theta, bread @ summed.T @ summed @ bread * g / (g - 1)


@pytest.mark.parametrize("case", CASES)
def test_scores_and_errors_are_those_of_general_tools(case, monkeypatch):
    monkeypatch.setattr("skcalrank.evaluation._strengths._corrected", lambda scores, _: scores)
    theta, covariance = reference(VOTES, **case)
    board = leaderboard(VOTES, anchor="m0", **case)
    scores, found = ranked(board)
    np.testing.assert_allclose(scores[1:], theta[:5], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found[1:, 1:], covariance[:5, :5], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose([row[1] for row in board.estimates], theta[5:], rtol=1e-7, atol=1e-9)
    errors = np.sqrt(covariance.diagonal())[5:]
    np.testing.assert_allclose([row[2] for row in board.estimates], errors, rtol=1e-5)


def test_scores_of_clusters_are_divided_by_what_they_leave():
    """The correction, written with a dense design and a matrix of the scores of all voters."""
    codes = [[*map(list(NAMES).index, VOTES[side])] for side in ("model_a", "model_b")]
    board = leaderboard(VOTES, cluster="user")
    scores, covariance = ranked(board)
    p = 1 / (1 + np.exp(scores[codes[1]] - scores[codes[0]]))
    design = np.eye(6)[codes[0]] - np.eye(6)[codes[1]]
    of_user = np.eye(40)[VOTES["user"]].T
    u = of_user @ (design * (VOTES["winner"] - p).to_numpy()[:, None])
    h = of_user @ (design**2 * (p * (1 - p))[:, None])
    u /= 1 - h / h.sum(axis=0)
    weight = np.abs(design).sum(axis=0) / np.abs(design).sum()
    center = np.eye(6) - weight
    inverse = np.linalg.pinv(design.T @ (design * (p * (1 - p))[:, None]))
    expected = center @ inverse @ u.T @ u @ inverse @ center.T * 40 / 39
    np.testing.assert_allclose(covariance, expected, rtol=1e-9)
    frame = board.to_frame()
    w = VOTES["user"].value_counts()
    reach = stats.t.ppf(0.975, w.sum() ** 2 / (w**2).sum() - 1) * frame["error"]
    np.testing.assert_allclose(frame["high"] - frame["score"], reach, rtol=1e-12)
    assert weight @ scores == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_what_changes_nothing(case):
    scores, covariance = ranked(leaderboard(VOTES, **case))

    def same(board, factor=1.0, offset=0.0):
        others = ranked(board)
        np.testing.assert_allclose(others[0], offset + factor * scores, rtol=0, atol=1e-10 * factor)
        np.testing.assert_allclose(others[1], factor**2 * covariance, rtol=1e-9, atol=1e-12)

    same(leaderboard(VOTES.sample(frac=1, random_state=0), **case))
    same(leaderboard(VOTES, scale="elo", **case), 400 / np.log(10), 1000)
    half = VOTES.assign(w=VOTES["w"] / 2 if "weight" in case else 0.5)
    same(leaderboard(half, **case | {"weight": "w"}))
    if "cluster" in case:
        same(leaderboard(pd.concat([VOTES, VOTES]), **case))
    swapped = VOTES.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    swapped = swapped.assign(winner=1 - VOTES["winner"], z=-VOTES["z"], x=-VOTES["x"])
    same(leaderboard(swapped, **case))


@pytest.mark.parametrize("case", CASES)
def test_votes_of_weight_0_count_as_if_they_were_not_there(case):
    """Neither as votes nor as clusters, and their items are none of the board."""
    weight = VOTES["w"] if "weight" in case else 1.0
    more = VOTES.head(40).assign(w=0.0, user=99)
    more.loc[::2, "model_a"] = "ghost"
    votes = pd.concat([more, VOTES.assign(w=weight), more])
    left, kept = leaderboard(votes, **case | {"weight": "w"}), leaderboard(VOTES, **case)
    pd.testing.assert_frame_equal(left.to_frame(), kept.to_frame(), atol=1e-9)
    assert left.sample == kept.sample


@pytest.mark.every_case
@pytest.mark.parametrize("n", [500, 501])
@pytest.mark.parametrize("kind", [float, Decimal, np.float64])
def test_numbers_that_are_objects_are_read_whatever_their_number(kind, n):
    votes = VOTES.iloc[np.arange(n) % len(VOTES)].reset_index(drop=True)
    numbers = dict(zip(NAMES, 10**9 * np.arange(1, 1 + len(NAMES))))
    for name in ("model_a", "model_b", "winner"):
        votes[name] = [numbers.get(value, value) for value in votes[name]]
    objects = votes.copy()
    for name in ("model_a", "model_b", "winner", "z", "w"):
        of = int if name.startswith("model") else kind
        objects[name] = pd.Series(map(of, votes[name].tolist()), dtype=object)
    found, expected = (leaderboard(of, covariates=["z"], weight="w") for of in (objects, votes))
    assert found.items == expected.items
    np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.every_case
@pytest.mark.parametrize("n", [500, 502])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, pd.Categorical])
def test_names_of_floats_do_not_depend_on_their_container(kind, n):
    numbers = np.tile([7.0, 0.1], n // 2)
    if kind is pd.Categorical:
        winner, names = kind(numbers), ("0.1", "7", "other")
    else:
        winner = pd.Series(list(map(kind, numbers)), dtype=object)
        names = (str(float(kind(0.1))), "7", "other")
    y = PreferenceTarget.from_frame(pd.DataFrame({"winner": winner, "loser": "other"}))
    assert y.item_names == names
    mixed = pd.DataFrame({"winner": pd.Categorical([7.0, "x"] * n), "loser": "other"})
    assert PreferenceTarget.from_frame(mixed).item_names == ("7", "other", "x")


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_weights_of_any_size(factor):
    board = leaderboard(VOTES.assign(w=VOTES["w"] * factor), weight="w")
    np.testing.assert_allclose(board.scores, leaderboard(VOTES, weight="w").scores, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("scale", ["logit", "elo"])
def test_covariates_of_any_size(factor, scale):
    options = {**REGRESSION, "ties": "davidson", "scale": scale}
    expected = leaderboard(VOTES, **options).coefficients
    estimates = leaderboard(VOTES.assign(z=VOTES["z"] * factor), **options).coefficients
    numbers = estimates.columns[1:]
    estimates.loc[0, numbers] = (estimates.loc[0, numbers] * factor).astype(float)
    pd.testing.assert_frame_equal(estimates, expected, rtol=1e-9)


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("far", [-100, 300, 1e5])
def test_covariates_far_from_0_move_the_order_effect_alone(far, ties):
    options = {**REGRESSION, "ties": ties, "cluster": "user"}
    expected = leaderboard(VOTES, **options)
    board = leaderboard(VOTES.assign(z=VOTES["z"] + far), **options)
    np.testing.assert_allclose(board.scores, expected.scores, rtol=1e-8)
    np.testing.assert_allclose(board.columns["error"], expected.columns["error"], rtol=1e-3)
    (z, x, order), theirs = (
        np.array([row[1:3] for row in of.estimates[:3]]) for of in (board, expected)
    )
    np.testing.assert_allclose([z[0], x[0], order[0] + far * z[0]], theirs[:, 0], rtol=1e-7)
    np.testing.assert_allclose([z[1], x[1]], theirs[:2, 1], rtol=0.01)


def test_coefficients_of_nearly_one_voter_have_the_freedom_of_items():
    options = {**REGRESSION, "covariates": ["z"], "cluster": "user"}
    votes = VOTES.assign(user=np.arange(len(VOTES)) == 0)
    with pytest.warns(UserWarning, match=r"as much as 1\.0 clusters"):
        board = leaderboard(votes, **options)
    quantile = stats.t.ppf(0.975, board.freedom.min())
    for _, value, error, low, high in board.estimates:
        assert [value - low, high - value] == pytest.approx([quantile * error] * 2)


def test_categories_of_no_vote_are_no_items():
    kinds = pd.CategoricalDtype(["none", *NAMES, "other"])
    board = leaderboard(VOTES.astype({"model_a": kinds, "model_b": kinds}))
    assert board.items == leaderboard(VOTES).items
    target = PreferenceTarget.from_frame(VOTES.astype({"model_a": kinds}), outcome="winner")
    assert target.item_names == tuple(NAMES)


def test_ranks_of_several_groups_hold_together():
    """Each group has its share of the errors: of two, p = .03 does not suffice."""
    one, other = table("a>b61 b>a39"), table("x>y50 y>x50")
    assert leaderboard(one).difference("a", "b").separated
    with pytest.warns(UserWarning, match="in 2 groups"):
        board = leaderboard(pd.concat([one, other]))
    assert 0.025 < board.difference("a", "b").p < 0.05
    assert not board.difference("a", "b").separated


def test_a_covariate_may_have_the_name_of_the_order_effect():
    board = leaderboard(VOTES.rename(columns={"z": "order_effect"}), covariates=["order_effect"])
    expected = leaderboard(VOTES, covariates=["z"]).estimates[0]
    assert board.estimates[0][1:] == expected[1:]


def test_a_leaderboard_holds_no_votes():
    small, large = (len(pickle.dumps(leaderboard(made(n=n), cluster="user"))) for n in (600, 3000))
    assert large < 1.1 * small


def test_differences_and_ranks_do_not_depend_on_the_anchor():
    free, anchored = leaderboard(VOTES), leaderboard(VOTES, anchor="m3", scale="elo")
    ours, theirs = free.difference("m1", "m4"), anchored.difference("m1", "m4")
    assert theirs.difference == pytest.approx(ours.difference * 400 / np.log(10))
    assert theirs[3:] == pytest.approx(ours[3:])
    assert free.columns["rank_low"].tolist() == anchored.columns["rank_low"].tolist()
    frame = anchored.to_frame().set_index("item")
    assert frame.loc["m3", ["score", "error", "low"]].tolist() == [1000, 0, 1000]
    i, j = map(free.items.index, ("m1", "m4"))
    c = free.covariance
    reach = stats.t.ppf(0.975, len(VOTES) - 1) * np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j])
    assert ours[1:3] == pytest.approx((ours[0] - reach, ours[0] + reach))


def test_without_ties_davidson_is_half_and_both_are_bradley_terry():
    votes = VOTES[VOTES["winner"] != 0.5]
    half, davidson = leaderboard(votes), leaderboard(votes, ties="davidson")
    assert half.scores.tolist() == davidson.scores.tolist()
    assert davidson.estimates == []
    for table in (votes, VOTES):
        target = PreferenceTarget.from_frame(table, outcome="winner")
        expected = bradley_terry(target, alpha=0)[0]
        scores, _ = ranked(leaderboard(table))
        np.testing.assert_allclose(scores - scores.mean(), expected, atol=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "file"])
def test_tables_of_all_libraries(library, tmp_path):
    words = np.array(["model_b", "tie", "model_a"])[(2 * VOTES["winner"]).astype(int)]
    columns = {name: VOTES[name].tolist() for name in VOTES} | {"winner": words.tolist()}
    if library == "file":
        votes = tmp_path / "votes.parquet"
        pytest.importorskip("pyarrow.parquet").write_table(
            pytest.importorskip("pyarrow").table(columns), votes
        )
    else:
        other = pytest.importorskip(library)
        votes = (other.table if library == "pyarrow" else other.DataFrame)(columns)
    case = {**REGRESSION, "cluster": "user", "weight": "w"}
    before = VOTES.copy(deep=True)
    expected = leaderboard(VOTES, **case)
    pd.testing.assert_frame_equal(VOTES, before)
    board = leaderboard(votes, **case)
    np.testing.assert_allclose(board.scores, expected.scores, rtol=1e-12)
    assert board.items == expected.items


@pytest.mark.parametrize("outcome", ["numbers", "whole numbers", "booleans", "words", "names"])
@pytest.mark.parametrize("names", ["01 02 03 04 05 06", "1 2 3 4 5 6", "1.5 1.50 2.0 2.5 3.0 x"])
@pytest.mark.parametrize("n_files", [1, 2])
def test_names_in_files_of_text_are_as_they_are_written(names, outcome, n_files, tmp_path):
    pytest.importorskip("pyarrow")
    named = dict(zip(NAMES, names.split()))
    sides = {name: VOTES[name].map(named) for name in ("model_a", "model_b")}
    votes = VOTES.assign(**sides, user=VOTES["user"].map("{:02d}".format))
    if outcome != "numbers":
        votes = votes[VOTES["winner"] != 0.5]
    expected = leaderboard(votes, cluster="user", covariates=["z"])
    first = votes["winner"] == 1
    winner = {
        "numbers": votes["winner"],
        "whole numbers": first.astype(int),
        "booleans": first,
        "words": first.map({True: "Left", False: "right"}),
        "names": votes["model_a"].where(first, votes["model_b"]),
    }
    files = [str(tmp_path / f"{k}.csv") for k in range(n_files)]
    votes = votes.assign(winner=winner[outcome])
    for k, file in enumerate(files):
        votes[k * 99 : None if k == n_files - 1 else 99].to_csv(file, index=False)
    board = leaderboard(files, cluster="user", covariates=["z"])
    assert board.items == expected.items
    np.testing.assert_allclose(board.scores, expected.scores, rtol=1e-12)


def test_many_items_have_errors_without_a_matrix(monkeypatch):
    case = {"cluster": "user", "covariates": ["z"]}
    exact = leaderboard(VOTES, **case)
    for module in ("_board_fit", "_strengths", "_leaderboard"):
        monkeypatch.setattr(f"skcalrank.evaluation.{module}.MOST_DENSE", 5)
    for anchor in (None, "m2"):
        board = leaderboard(VOTES, **case, anchor=anchor, scale="elo")
        assert board.covariance is board.above is None
        assert np.isnan(board.columns["rank_high"]).all()
        assert board.notes[-1] == "Above 5 items ranks have no sets."
        ours, theirs = exact.difference("m1", "m4"), board.difference("m1", "m4")
        points = 400 / np.log(10)
        expected = [*(points * value for value in ours[:3]), *ours[3:5]]
        assert theirs[:5] == pytest.approx(expected, rel=1e-6)
        assert theirs.separated is None
        assert "rank set" in board.to_markdown()
    reference = exact.to_frame().set_index("item")["error"]
    ratio = leaderboard(VOTES, **case).to_frame().set_index("item")["error"] / reference
    assert ratio.between(0.85, 1.15).all()


# -- what is wrong with votes --------------------------------------------------------------------


def table(text):
    """Votes written as ``a>b`` (a won) and ``a=b``, with the number of times behind."""
    rows = []
    for first, mark, second, times in re.findall(r"(\w)([>=])(\w)(\d*)", text):
        rows += [(first, second, "tie" if mark == "=" else "model_a")] * int(times or 1)
    return pd.DataFrame(rows, columns=["model_a", "model_b", "winner"])


CYCLE = "a>b9 b>c9 c>a9 b>a6 c>b6 a>c6"


def test_an_item_that_won_or_lost_all_has_no_rank():
    with pytest.warns(UserWarning, match="^2 items without a finite score, such as 'u'") as caught:
        board = leaderboard(table(f"{CYCLE} u>a3 b>v u>v"))
    assert len(caught) == 1
    frame = board.to_frame().set_index("item")
    assert board.items[3:] == ["u", "v"]
    assert frame.loc[["u", "v"], ["score", "rank", "rank_low", "low"]].isna().all(axis=None)
    assert frame.loc["u", "note"] == "won all 3 votes against group 1; won its vote against group 3"
    assert frame.loc["v", "note"].startswith("lost its vote against group 1")
    np.testing.assert_allclose(board.scores[:3], leaderboard(table(CYCLE)).scores, atol=1e-12)
    with pytest.raises(ValueError, match="items of one group that have scores"):
        board.difference("a", "u")
    assert "won all 3 votes" in board.to_markdown()


def test_groups_that_never_met_are_ranked_apart():
    with pytest.warns(UserWarning, match="in 2 groups, between which no chain"):
        board = leaderboard(table(f"{CYCLE} x>y30 y>x10"))
    frame = board.to_frame()
    assert frame["group"].tolist() == [1, 1, 1, 2, 2]
    assert frame["rank"].tolist() == [1, 2, 3, 1, 2] or frame["rank"].tolist()[3:] == [1, 2]
    assert frame["rank_high"].tolist()[3:] == [1, 2]
    assert board.difference("x", "y").difference == pytest.approx(np.log(3))
    with pytest.raises(ValueError, match="group 1 and 'y' of group 2"):
        board.difference("a", "y")


ERRORS = {
    "no two items": (table("a>b3"), {}, "no two items: no score is finite"),
    "ties alone beside": (table("a=b5 b=c5 u>a3"), {"ties": "davidson"}, "got ties alone"),
    "anchor of one cluster": (
        VOTES.assign(model_a=np.where(VOTES["user"] == 7, "x", VOTES["model_a"])),
        {"cluster": "user", "anchor": "x"},
        "anchor must be an item .* votes of two clusters, such as 'm0', got 'x'",
    ),
    "ties alone": (table("a=b5 b=c5"), {}, "got ties alone"),
    "one item": (table("a>a1"), {}, "must hold different items, got 'a' in both in row 0"),
    "empty": (table(""), {}, "must have a row at least"),
    "unknown anchor": (
        table(CYCLE),
        {"anchor": "z"},
        "such as 'a', got 'z'",
    ),
    "anchor without score": (table(f"{CYCLE} z>a"), {"anchor": "z"}, "anchor must be an item with"),
    "one voter": (table(CYCLE).assign(user=1), {"cluster": "user"}, "Errors need two clusters"),
    "zero": (VOTES.assign(q=0), {"covariates": ["q"]}, "'q' must differ from 0"),
    "of items": (
        VOTES.assign(
            q=VOTES["model_a"].str[1:].astype(float) - VOTES["model_b"].str[1:].astype(float)
        ),
        {"covariates": ["x", "q"]},
        "'q' must vary between votes of the same items",
    ),
    "collinear": (
        VOTES.assign(q=VOTES["z"] * 3 - 1),
        {**REGRESSION, "covariates": ["z", "x", "q"]},
        "got 'order_effect', a combination of 'z', 'q'",
    ),
    "decides": (
        VOTES.assign(q=np.where(VOTES["winner"] == 0.5, 0, VOTES["winner"] - 0.5)),
        {"covariates": ["x", "q"]},
        "Covariate 'q' must not decide votes",
    ),
    "decides beside one far from 0": (
        VOTES.assign(q=VOTES["winner"] - 0.5, z=VOTES["z"] + 300),
        {**REGRESSION, "covariates": ["z", "q"]},
        "Covariate 'q' must not decide votes",
    ),
    "decide by a small difference": (
        VOTES.assign(winner=VOTES["winner"].mask(FEW, 1.0), q=VOTES["z"] + 1e-4 * FEW),
        {**REGRESSION, "covariates": ["z", "q"]},
        "Covariate '[qz]' must not decide votes",
    ),
    "missing": (VOTES.assign(z=VOTES["z"].where(VOTES["z"] < 1)), {"covariates": ["z"]}, "rows"),
    "missing item": (
        table(CYCLE).assign(model_a=None),
        {},
        r"row 0 \(45 such rows\): drop them, as",
    ),
    "a number and its text": (
        pd.DataFrame({"model_a": [5.0, "5"], "model_b": ["y", "z"], "winner": 1}),
        {},
        "names as text, got 5 and '5': convert both to one text",
    ),
    "numbers and their texts": (
        pd.DataFrame({"model_a": [4, 5], "model_b": ["5", "4"], "winner": 1}),
        {},
        "names as text, got (4 and '4'|5 and '5')",
    ),
    "a number written twice": (
        pd.DataFrame({"model_a": ["5"], "model_b": ["5.0"], "winner": 1}),
        {},
        "names as text, got '5' and '5.0'",
    ),
    "a cluster and its text": (
        VOTES.assign(user=np.array([1, "1"], object)[np.arange(len(VOTES)) % 2]),
        {"cluster": "user"},
        "'user' of votes must have different names as text, got 1 and '1'",
    ),
    "negative weight": (VOTES.assign(w=-1), {"weight": "w"}, "weights of at least 0"),
    "codes": (VOTES.assign(winner=1 + (VOTES["winner"] == 1)), {}, r"got 2 \(\d+ rows\)"),
    "words": (
        table(CYCLE).assign(winner=["best"] * 15 + ["worst"] * 30),
        {},
        r"'best' \(15 rows\), 'worst' \(30 rows\). Known are .*outcomes={'best': 'a'",
    ),
    "a text of covariates": (VOTES, {"covariates": "z"}, r"covariates must be a list"),
    "no list of covariates": (VOTES, {"covariates": None}, r"such as \['length'\], got None"),
    "no side": (VOTES, {"outcomes": {"x": "left"}}, "outcomes must be one of 'a', 'b', 'tie'"),
    "a list of outcomes": (VOTES, {"outcomes": ["a"]}, "outcomes must be a dict of words"),
    "a text of a seed": (VOTES, {"random_state": "x"}, "'x' cannot be used to seed"),
    "a name twice": (
        pd.concat([VOTES, VOTES["winner"]], axis=1),
        {},
        "votes must have one column 'winner', got 2",
    ),
    "a side and a name": (table("a>b9 b>a6"), {"outcomes": {}, "outcome": "x"}, "column 'x'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_name_what_is_wrong(case):
    votes, options, message = ERRORS[case]
    with pytest.raises(ValueError, match=message):
        leaderboard(votes, **options)


def test_words_of_outcomes():
    expected = leaderboard(VOTES).scores
    number = (2 * VOTES["winner"]).astype(int)
    for words in (
        ["b", "Draw", "a"],
        ["right", "both_bad", "LEFT"],
        ["model_b", "tie (bothbad)", "model_a"],
    ):
        votes = VOTES.assign(winner=np.array(words)[number])
        assert leaderboard(votes).scores.tolist() == expected.tolist()
    coded = VOTES.assign(winner=np.array([2, 9, 1])[number])
    own = {1: "a", 2: "b", 9: "tie"}
    assert leaderboard(coded, outcomes=own).scores.tolist() == expected.tolist()
    named = np.where(number == 1, "tie", np.where(number == 2, VOTES["model_a"], VOTES["model_b"]))
    assert leaderboard(VOTES.assign(winner=named)).scores.tolist() == expected.tolist()
    for given, other in (("left", "Left"), ("Left", " LEFT"), (1, "1"), ("2.0", 2)):
        votes = VOTES.assign(winner=np.array([other, "tie", "no"], object)[number])
        own = {given: "b", "no": "a"}
        assert leaderboard(votes, outcomes=own).scores.tolist() == expected.tolist()
    clash = pd.DataFrame({"model_a": ["b"], "model_b": ["a"], "winner": ["a"]})
    with pytest.raises(ValueError, match="name of an item and of a side, which differ in row 0"):
        leaderboard(clash)


def test_items_of_few_voters():
    few = {"model_a": ["z", "m2"], "model_b": ["m1", "z"], "winner": [1, 1], "user": [99, 99]}
    votes = pd.concat([made(seed=1), pd.DataFrame(few)])
    board = leaderboard(votes, cluster="user")
    row = board.to_frame().set_index("item").loc["z"]
    assert (row["rank_low"], row["rank_high"], row["n_clusters"]) == (1, 7, 1)
    assert np.isnan(row["low"])
    assert row["note"] == "no interval: one cluster"
    gap = board.difference("z", "m1")
    assert np.isnan([gap.low, gap.p]).all()
    assert not gap.separated


def test_five_planted_defects_are_told_and_a_clean_board_has_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert leaderboard(made(seed=3, n=4000, order=0), cluster="user").notes == []
    half = made(seed=3, n=4000, order=0)
    half.loc[: len(half) // 2, "user"] = 99
    with pytest.warns(UserWarning, match=r"tell as much as 3.* clusters of equal weight"):
        leaderboard(half, cluster="user")
    first = made(seed=3, n=4000, order=0.8)
    (note,) = leaderboard(first, cluster="user").notes
    assert note.startswith("Items of model_a win more often")
    assert leaderboard(first, order_effect=True).notes == []


def test_a_frame_of_votes_is_no_frame_of_winners():
    votes = table("a>b b=a")
    for options in ({}, {"winner": "model_a", "loser": "model_b"}):
        with pytest.raises(ValueError, match="outcome='winner'"):
            PreferenceTarget.from_frame(votes, **options)
    y = PreferenceTarget.from_frame(votes, outcome="winner", outcomes={"tie": "tie"})
    assert (y.winner.tolist(), y.loser.tolist()) == ([0, 1, 0], [1, 0, 1])
    assert (y.weight.tolist(), y.judgment.tolist()) == ([1, 0.5, 0.5], [0, 1, 1])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("nope", "frame must have a column 'nope'"),
        ("text", "Column 'text' of frame must hold numbers, got '1' in row 0"),
        ("none", "Column 'none' of frame must hold finite numbers, got nan in row 1"),
    ],
)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_weights_of_a_frame_are_a_column_of_numbers(library, weight, message):
    columns = {"winner": ["a", "b"], "loser": ["b", "c"], "text": ["1", "x"], "none": [1.0, np.nan]}
    other = pytest.importorskip(library)
    frame = other.table(columns) if library == "pyarrow" else other.DataFrame(columns)
    with pytest.raises(ValueError, match=message):
        PreferenceTarget.from_frame(frame, weight=weight)
