"""Orders that are read from files, and orders that are made by a known law."""

import copy
import gzip
import lzma
import pickle
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kendalltau

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget, SpearmanRanker
from skcalrank.datasets import (
    LabelRankingData,
    load_label_ranking,
    load_preflib,
    load_sushi,
    make_label_ranking,
)
from skcalrank.measures import PairwiseDisagreement as Disagreement
from skcalrank.measures import Precision
from skcalrank.metrics import kendall_score, measure_score
from skcalrank.preds import topological_positions

NAN = np.nan


def write(path, text):
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(text)
    return path


SUFFIXES = ["", ".gz", ".xz"]

# -- PrefLib ---------------------------------------------------------------------------

HEADER = """\
# FILE NAME: drinks
# TITLE: Drinks
# DESCRIPTION:
# DATA TYPE: {kind}
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 3
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: tea
# ALTERNATIVE NAME 2: Coffee: black
# ALTERNATIVE NAME 3: Kaffee süß
# ALTERNATIVE NAME 4: water
"""

# Data type, the two orders, and their positions.
KINDS = [
    ("soc", "4,2,1,3", "1,2,3,4", [3, 2, 4, 1], [1, 2, 3, 4]),
    ("soi", "4,2", "3", [NAN, 2, NAN, 1], [NAN, NAN, 1, NAN]),
    ("toc", "{1,3},{2,4}", "2,{1,3,4}", [1.5, 3.5, 1.5, 3.5], [3, 1, 3, 3]),
    ("toi", "{4},{1,2}", "{1,2,4}", [2.5, 2.5, NAN, 1], [2, 2, NAN, 2]),
]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("kind", "one", "two", "first", "second"), KINDS, ids=[k[0] for k in KINDS]
)
def test_preflib(kind, one, two, first, second, suffix, tmp_path):
    text = HEADER.format(kind=kind) + f"2: {one}\n1: {two}\n"
    path = write(tmp_path / f"drinks.{kind}{suffix}", text)
    for given in (path, str(path)):
        X, positions = data = load_preflib(given)
        np.testing.assert_array_equal(positions, [first, first, second])
        np.testing.assert_array_equal(X, np.ones((3, 1)))
    assert data.item_names == ["tea", "Coffee: black", "Kaffee süß", "water"]
    assert data.description == f"Drinks, read from drinks.{kind}{suffix}."
    assert data.weights is None
    lines = load_preflib(path, expand=False)
    np.testing.assert_array_equal(lines.positions, [first, second])
    np.testing.assert_array_equal(lines.weights, [2, 1])


TOLERATED = {
    "comments": "# edited to drop ALTERNATIVE NAME 3: beer\n#\n#### : :\n" + HEADER,
    "blank lines": "\n\n" + HEADER.replace("# ALT", "\n# ALT") + "\n \n",
    "no space behind #": HEADER.replace("# ", "#"),
    "data type in capitals": HEADER.replace("{kind}", "SOC"),
    "data type from the file name": HEADER.replace("# DATA TYPE: {kind}\n", ""),
    "number from the names": HEADER.replace("# NUMBER ALTERNATIVES: 4\n", ""),
    "Windows": HEADER.replace("\n", "\r\n"),
    "byte-order mark": "\ufeff" + HEADER,
}


@pytest.mark.parametrize("header", TOLERATED.values(), ids=TOLERATED)
def test_preflib_tolerates(header, tmp_path):
    text = header.format(kind="soc") + "\n3 :  4, 2,1 ,3 \n# the end\n"
    data = load_preflib(write(tmp_path / "drinks.soc", text))
    np.testing.assert_array_equal(data.positions, [[3, 2, 4, 1]] * 3)
    assert data.item_names[0] == "tea"


@pytest.mark.parametrize(
    ("dropped", "names"),
    [
        (["ALTERNATIVE NAME 3"], ["tea", "Coffee: black", "3", "water"]),
        (["ALTERNATIVE NAME 4", "NUMBER ALT"], ["tea", "Coffee: black", "Kaffee süß", "4"]),
        (["ALTERNATIVE", "NUMBER"], ["1", "2", "3", "4"]),
    ],
)
def test_preflib_without_names(dropped, names, tmp_path):
    lines = HEADER.format(kind="toi").splitlines()
    kept = [line for line in lines if not any(key in line for key in dropped)]
    text = "\n".join([*kept, "3: 4,{1,2}"])
    data = load_preflib(write(tmp_path / "a.toi", text))
    assert data.item_names == names
    np.testing.assert_array_equal(data.positions[0], [2.5, 2.5, NAN, 1])


def test_preflib_without_any_header(tmp_path):
    data = load_preflib(write(tmp_path / "orders.txt", "2: {1,3},2\n1: 2\n"))
    np.testing.assert_array_equal(data.positions, [[1.5, 3, 1.5]] * 2 + [[NAN, 1, NAN]])


# Data type, line of an order, and what the error says beside "line 12".
MALFORMED = [
    ("soc", "1,2,3,4", "'count: order'"),
    ("soc", "3: 1,2,,4", "'count: order'"),
    ("soc", "3: 1,2,3,x", "1,2,3,x"),
    ("soc", "-3: 1,2,3,4", "'count: order'"),
    ("soc", "0: 1,2,3,4", "'count: order'"),
    ("soc", "1.5: 1,2,3,4", "'count: order'"),
    ("toc", "3: {1,2,3,4", "'count: order'"),
    ("toc", "3: {1,{2,3},4}", "'count: order'"),
    ("toc", "3: {},1,2,3,4", "'count: order'"),
    ("soc", "3:", "'count: order'"),
    ("soc", "3: 1,2,3,3", "ranks 3 2 times"),
    ("toi", "3: {1,2},2", "ranks 2 2 times"),
    ("soc", "3: 1,2,3,5", "alternative 5, but there are 4"),
    ("soi", "3: 0,1", "alternative 0, but there are 4"),
    ("soc", "3: 1,{2,3},4", "ties, which the data type soc excludes"),
    ("soi", "3: {2,3}", "ties, which the data type soi excludes"),
    ("soc", "3: 1,2,3", "3 of 4 alternatives"),
    ("toc", "3: {1,2},3", "3 of 4 alternatives"),
]


@pytest.mark.parametrize(("kind", "line", "message"), MALFORMED, ids=[m[1] for m in MALFORMED])
def test_preflib_names_the_malformed_line(kind, line, message, tmp_path):
    path = write(tmp_path / f"a.{kind}", HEADER.format(kind=kind) + line + "\n")
    with pytest.raises(ValueError, match=r"a\.\w+, line 12") as caught:
        load_preflib(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no orders"),
        (HEADER.format(kind="soc"), "no orders"),
        (HEADER.format(kind="cat"), "data type 'cat'"),
        (HEADER.replace("ALTERNATIVES: 4", "ALTERNATIVES: four"), "line 5: NUMBER ALTERNATIVES"),
        ("1: 1\n", "1 alternatives"),
        ("4\n1,tea\n", "line 1 is '4'.*since 2022"),
    ],
)
def test_preflib_that_is_none(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_preflib(write(tmp_path / "a.soc", text.replace("{kind}", "soc")))


def test_preflib_warns_of_lost_voters(tmp_path):
    path = write(tmp_path / "a.soc", HEADER.format(kind="soc") + "2: 1,2,3,4\n")
    with pytest.warns(UserWarning, match="orders of 2 voters, its header says 3"):
        data = load_preflib(path)
    assert len(data.positions) == 2


def test_files_that_are_no_text(tmp_path):
    (tmp_path / "a.soc").write_bytes(b"\xff\xfe\x00")
    for load in (load_preflib, load_label_ranking, load_sushi):
        with pytest.raises(ValueError, match="UTF-8"):
            load(tmp_path / "a.soc")
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "b.soc")


def test_unranked_is_not_compared(tmp_path):
    # Tied or unranked: no preference.
    path = write(tmp_path / "a.toi", HEADER.format(kind="toi") + "3: 2,{1,4}\n")
    (matrix, *_) = PreferenceTarget.from_orders(load_preflib(path).positions).matrices()
    expected = np.zeros((4, 4))
    expected[1, [0, 3]] = 1
    np.testing.assert_array_equal(matrix, expected)


def test_net_preference_is_linear_in_positions(tmp_path):
    path = write(tmp_path / "a.toc", HEADER.format(kind="toc") + "2: {1,4},{2,3}\n1: 2,{1,3,4}\n")
    positions = load_preflib(path).positions
    net = PreferenceTarget.from_orders(positions).net_preference()
    np.testing.assert_array_equal(net, 4 + 1 - 2 * positions)


def test_weights_count_as_rows(tmp_path):
    path = write(tmp_path / "a.soc", HEADER.format(kind="soc") + "2: 1,2,3,4\n1: 4,3,2,1\n")
    fitted = []
    for data in (load_preflib(path), load_preflib(path, expand=False)):
        target = PreferenceTarget.from_orders(data.positions)
        ranker = PairwiseDisagreementRanker(surrogate="pairwise")
        ranker.fit(data.X, target, sample_weight=data.weights)
        fitted.append(ranker.decision_function(data.X[:1]))
    np.testing.assert_allclose(*fitted, atol=1e-12)
    assert fitted[0][0, 0, 3] == pytest.approx(2 / 3)


# -- tables ----------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_label_ranking(suffix, tmp_path):
    text = "A1,A2,ranking\n0.5,-1,a>c>b\n\n2,1e-3,b>a=c\n"
    path = write(tmp_path / f"a.txt{suffix}", text)
    for given in (path, str(path)):
        X, positions = data = load_label_ranking(given)
        np.testing.assert_array_equal(X, [[0.5, -1], [2, 1e-3]])
        np.testing.assert_array_equal(positions, [[1, 3, 2], [2.5, 1, 2.5]])
    assert data.feature_names == ["A1", "A2"]
    assert data.item_names == ["a", "b", "c"]


ORDERS = [
    ("a>b>c", [1, 2, 3]),
    (" c > a=b ", [2.5, 2.5, 1]),
    ("a=b=c", [2, 2, 2]),
    ("b", [NAN, 1, NAN]),
    ("c=a", [1.5, NAN, 1.5]),
    ("", [NAN, NAN, NAN]),
]


@pytest.mark.parametrize(("order", "positions"), ORDERS, ids=[o[0] for o in ORDERS])
def test_orders(order, positions, tmp_path):
    path = write(tmp_path / "a.csv", f"ranking,x\na>b>c,1\n{order},2\n")
    np.testing.assert_array_equal(load_label_ranking(path).positions[1], positions)


def test_label_ranking_options(tmp_path):
    path = write(tmp_path / "a.csv", 'order,x 1\n9>10>8,?\n10>8,"3"\n8=9>10,NA\n9,\n')
    data = load_label_ranking(path, ranking="order")
    assert data.item_names == ["8", "9", "10"]
    np.testing.assert_array_equal(data.X, [[NAN], [3], [NAN], [NAN]])
    np.testing.assert_array_equal(data.positions[:2], [[3, 1, 2], [2, NAN, 1]])
    named = load_label_ranking(path, ranking="order", item_names=("10", "7", "8", "9"))
    assert named.item_names == ["10", "7", "8", "9"]
    np.testing.assert_array_equal(named.positions[0], [2, NAN, 3, 1])


BAD_TABLES = [
    ("", {}, "0 columns 'ranking'"),
    ("x,y\n1,a>b\n", {}, "first line names 'x', 'y'"),
    ("ranking,ranking\na>b,a>b\n", {}, "2 columns 'ranking'"),
    ("x,ranking\n", {}, "no rows"),
    ("x,ranking\n1,a>b\n\n1,2,a>b\n", {}, "line 4 has 3 cells, the header has 2"),
    ("x,ranking\n1,a>b\none,a>b\n", {}, "line 3, column 'x': 'one' is not a number"),
    ("x,ranking\n1,a>b>a\n", {}, "line 2, column 'ranking'.*ranks 'a' 2 times"),
    ("x,ranking\n1,a>>b\n", {}, "line 2.*empty item"),
    ("x,ranking\n1,a>b=\n", {}, "line 2.*empty item"),
    ("x,ranking\n1,a\n2,a\n", {}, "ranks 1 items"),
    ("x,ranking\n1,a>b\n2,c\n", {"item_names": ["a", "b"]}, "line 3.*'c' is not among"),
    ("x,ranking\n1,a>b\n", {"item_names": ["a", "b", "a"]}, "holds a name twice"),
]


@pytest.mark.parametrize(("text", "options", "message"), BAD_TABLES)
def test_label_ranking_names_the_malformed_line(text, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_label_ranking(write(tmp_path / "a.csv", text), **options)


# -- SUSHI -----------------------------------------------------------------------------

COLUMNS = (
    "sex,age,answer_duration,lived_in_prefecture,lived_in_region,lived_in,"
    "lives_in_prefecture,lives_in_region,lives_in,changed_city,ranking"
)
EAST, WEST = "13:Tokyo,3:Kanto+Shizuoka,0:Eastern_Japan", "26:Osaka,6:Kinki,1:Western_Japan"
NORTH = "0:Hokkaido,0:Hokkaido,0:Eastern_Japan"
PEOPLE = [
    f"0,2,355,{NORTH},{NORTH},0,f>a>d>e>g>j>i>b>h>c",
    f"1,5,214,{WEST},{EAST},1,h>a>c>d>i>e>f>b>j>g",
]
SUSHI_FEATURES = [
    "sex",
    "age",
    "answer_duration",
    "changed_city",
    "lived_in=Western_Japan",
    "lives_in=Western_Japan",
    *(f"lived_in_region={name}" for name in ("Hokkaido", "Kanto+Shizuoka", "Kinki")),
    *(f"lives_in_region={name}" for name in ("Hokkaido", "Kanto+Shizuoka", "Kinki")),
]
SUSHI_X = [[0, 2, 355, 0, 0, 0, 1, 0, 0, 1, 0, 0], [1, 5, 214, 1, 1, 0, 0, 0, 1, 0, 1, 0]]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sushi(suffix, tmp_path):
    text = "\n".join([COLUMNS, *PEOPLE])
    path = write(tmp_path / f"sushi3a_users_rankings.csv{suffix}", text)
    for given in (path, tmp_path, str(tmp_path)):
        X, positions = data = load_sushi(given)
        assert data.feature_names == SUSHI_FEATURES
        np.testing.assert_array_equal(X, SUSHI_X)
        np.testing.assert_array_equal(
            positions, [[2, 8, 10, 3, 4, 1, 5, 9, 7, 6], [2, 8, 3, 4, 6, 7, 10, 1, 5, 9]]
        )
    assert data.item_names[0] == "shrimp"
    assert data.item_names[positions[1].argmin()] == "fatty tuna"


def test_sushi_prefectures(tmp_path):
    data = load_sushi(write(tmp_path / "a.csv", "\n".join([COLUMNS, *PEOPLE])), prefectures=True)
    assert data.feature_names[:12] == SUSHI_FEATURES
    assert data.feature_names[12:15] == [
        f"lived_in_prefecture={name}" for name in ("Hokkaido", "Tokyo", "Osaka")
    ]
    np.testing.assert_array_equal(data.X[1, 12:], [0, 0, 1, 0, 1, 0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lived_in_region", "region", "0 columns 'lived_in_region'"),
        ("355", "long", "line 2, column 'answer_duration': 'long'"),
        ("6:Kinki", "Kinki", "line 3, column 'lived_in_region': 'Kinki' is no place"),
        ("f>a>d", "f>a>k", "line 2, column 'ranking'.*no order of the letters"),
        ("f>a>d", "f>a=d", "line 2, column 'ranking'.*no order of the letters"),
        ("f>a>d>", "f>a>", "line 2, column 'ranking'.*no order of the letters"),
    ],
)
def test_sushi_names_the_malformed_line(old, new, message, tmp_path):
    text = "\n".join([COLUMNS, *PEOPLE]).replace(old, new)
    with pytest.raises(ValueError, match=message):
        load_sushi(write(tmp_path / "a.csv", text))


def test_sushi_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"sushi3a_users_rankings\.csv.*is not in"):
        load_sushi(tmp_path)


# -- made orders -----------------------------------------------------------------------

LAWS = {
    "default": {},
    "two items": {"n_items": 2},
    "one order": {"n_orders": 1},
    "many orders": {"n_items": 4, "n_orders": 7},
    "one type": {"n_types": 1},
    "cyclic": {"n_items": 3, "cyclic": True},
    "cyclic with others": {"n_items": 4, "cyclic": True},
    "two cycles": {"n_items": 6, "n_types": 3, "cyclic": True},
}
SMALL_LAWS = {name: o for name, o in LAWS.items() if o.get("n_items", 5) <= 5}


def of_law(laws):
    return pytest.mark.parametrize("options", laws.values(), ids=laws)


def all_positions(r):
    return 1 + np.array(list(permutations(range(r))))


def counted_preferences(law, row):
    """Sum over the orders of the type, pair by pair."""
    kind, r = law.types[row], law.orders.shape[2]
    out = np.zeros((r, r))
    for probability, order in zip(law.probabilities[kind], law.orders[kind]):
        for i in range(r):
            for j in range(r):
                out[i, j] += probability * (order[i] < order[j])
    return out


@of_law(LAWS)
def test_made_orders(options):
    X, positions = data = make_label_ranking(60, n_features=4, random_state=0, **options)
    r = options.get("n_items", 5)
    law = data.law
    assert X.shape == (60, 4)
    assert positions.shape == (60, r)
    assert len(data.item_names) == r
    np.testing.assert_array_equal(np.sort(positions, axis=1), np.tile(np.arange(1, r + 1), (60, 1)))
    np.testing.assert_array_equal(np.sort(law.orders, axis=2)[0, 0], np.arange(1, r + 1))
    np.testing.assert_allclose(law.probabilities.sum(axis=1), 1)
    assert (law.probabilities > 0).all()
    # Every instance has the features of its type and one of its orders.
    for kind in range(len(law.orders)):
        assert len(np.unique(X[law.types == kind], axis=0)) <= 1
    assert (law.orders[law.types] == positions[:, None]).all(axis=2).any(axis=1).all()


def test_made_orders_are_reproducible():
    one, two, other = (make_label_ranking(20, random_state=s) for s in (0, 0, 1))
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one.X, other.X)
    twin = make_label_ranking(20, random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(one.positions, twin.positions)


@of_law(LAWS)
def test_orders_follow_the_law(options):
    _, positions = data = make_label_ranking(20_000, random_state=1, **options)
    shown = (positions[:, :, None] < positions[:, None, :]).astype(float)
    for kind in np.unique(data.law.types):
        rows = data.law.types == kind
        error = 5 * 0.5 / np.sqrt(rows.sum())
        expected = data.law.expected_preferences()[rows][0]
        np.testing.assert_allclose(shown[rows].mean(axis=0), expected, atol=error)


@of_law(LAWS)
def test_expectations_by_counting(options):
    law = make_label_ranking(5, random_state=2, **options).law
    r = law.orders.shape[2]
    preferences = law.expected_preferences()
    assert preferences.shape == (5, r, r)
    for row, matrix in enumerate(preferences):
        np.testing.assert_allclose(matrix, counted_preferences(law, row), atol=1e-12)
    before = 1 - preferences.sum(axis=2) + r - 1
    np.testing.assert_allclose(law.expected_positions(), before, atol=1e-12)


MEASURES = ["kendall", "spearman", Disagreement(weights="unit"), Precision(1, relevance_level=-1)]


@of_law(LAWS)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_value_by_enumeration(measure, options, rng):
    law = make_label_ranking(6, random_state=3, **options).law
    r = law.orders.shape[2]
    for scores in (rng.normal(size=(6, r)), rng.integers(0, 2, (6, r)) * 1.0):
        expected = 0.0
        for row, kind in enumerate(law.types):
            for probability, order in zip(law.probabilities[kind], law.orders[kind]):
                value = measure_score(measure, -order[None], scores[row : row + 1])
                expected += probability * value / 6
        assert law.value(measure, scores) == pytest.approx(expected, abs=1e-12)


def test_value_of_kendall_is_scipys(rng):
    law = make_label_ranking(4, random_state=3).law
    scores = rng.normal(size=(4, 5))
    taus = [
        law.probabilities[kind] @ [kendalltau(order, -s)[0] for order in law.orders[kind]]
        for kind, s in zip(law.types, scores)
    ]
    assert law.value("kendall", scores) == pytest.approx(np.mean(taus))


@of_law(LAWS)
def test_value_is_the_limit_of_the_metric(options):
    data = make_label_ranking(20_000, random_state=4, **options)
    scores = -data.law.bayes_positions()
    taus = kendall_score(-data.positions, scores, average=False)
    error = 5 * taus.std() / np.sqrt(20_000) + 1e-9
    assert abs(taus.mean() - data.law.bayes_value()) < error


@of_law(SMALL_LAWS)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_bayes_value_by_enumeration(measure, options):
    law = make_label_ranking(10, random_state=5, **options).law
    candidates = all_positions(law.orders.shape[2])
    best = {}
    for kind in np.unique(law.types):
        # Every candidate against every order of the type.
        values = [
            measure_score(
                measure, np.tile(-order, (len(candidates), 1)), -candidates, average=False
            )
            for order in law.orders[kind]
        ]
        best[kind] = (law.probabilities[kind] @ values).max()
    best = np.array([best[kind] for kind in law.types])
    assert law.bayes_value(measure) == pytest.approx(best.mean(), abs=1e-12)
    positions = law.bayes_positions(measure)
    assert law.value(measure, -positions) == pytest.approx(law.bayes_value(measure), abs=1e-12)


def test_bayes_value_of_hard_measures_is_unknown():
    law = make_label_ranking(10, random_state=0).law
    with pytest.raises(ValueError, match="mrr: the best positions are known for"):
        law.bayes_value("mrr")


def majority(law):
    """Of each type: whether i is before j more often than behind."""
    before = law.orders[..., :, None] < law.orders[..., None, :]
    return np.einsum("tk,tkij->tij", law.probabilities, before) > 0.5


@pytest.mark.parametrize("r", [3, 4, 5, 6, 7, 9])
def test_cyclic_laws_are_cyclic(r):
    law = make_label_ranking(10, r, cyclic=True, n_types=20, random_state=r).law
    for edges in majority(law).astype(int):
        # Closed walks of three steps; the rest of the pairs is decided the same way by all.
        assert np.trace(edges @ edges @ edges) == 3 * (r // 3)
        assert (edges + edges.T + np.eye(r, dtype=int) == 1).all()


@pytest.mark.parametrize("n_orders", [1, 2, 3, 5])
def test_other_laws_have_a_majority_order(n_orders):
    law = make_label_ranking(200, 6, n_orders=n_orders, random_state=0).law
    assert (law.probabilities[:, 0] >= 0.5).all()
    np.testing.assert_array_equal(law.bayes_positions(), law.orders[law.types, 0])
    for row in range(5):
        positions = topological_positions(law.expected_preferences()[row])
        np.testing.assert_array_equal(positions, law.bayes_positions()[row])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("r", [3, 4, 6])
def test_scores_lose_on_every_cyclic_type(r, seed):
    data = make_label_ranking(8, r, cyclic=True, random_state=seed)
    law = data.law
    np.testing.assert_array_equal(law.bayes_positions(), law.orders[law.types, 0])
    by_mean = law.bayes_positions("spearman")
    assert (by_mean != law.bayes_positions()).any(axis=1).all()
    # Each triple puts b before a, which a share 1 - q of the orders, above 0.62, contradicts.
    gap = law.bayes_value() - law.value("kendall", -by_mean)
    assert gap > (r // 3) * 2 * 0.24 / (r * (r - 1) / 2)


def test_pairs_reach_what_scores_cannot():
    X, positions = data = make_label_ranking(3000, 3, n_types=3, cyclic=True, random_state=0)
    target = PreferenceTarget.from_orders(positions)
    best = data.law.bayes_value()
    for pred in ("exact", "topological"):
        pairs = PairwiseDisagreementRanker(surrogate="pairwise", pred=pred).fit(X, target)
        assert best - data.law.value("kendall", pairs.predict(X)) < 1e-9
    for scores in (
        SpearmanRanker().fit(X, -positions),
        PairwiseDisagreementRanker(weights="unit").fit(X, -positions),
    ):
        assert best - data.law.value("kendall", scores.predict(X)) > 0.1
        assert data.law.value("spearman", scores.predict(X)) == data.law.bayes_value("spearman")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples=0"),
        ({"n_items": 1}, "n_items=1: choose an integer from 2"),
        ({"n_items": 2, "cyclic": True}, "n_items=2: choose an integer from 3"),
        ({"n_features": 0}, "n_features=0"),
        ({"n_types": 0}, "n_types=0"),
        ({"n_orders": 0}, "n_orders=0"),
        ({"n_orders": 2.5}, "n_orders=2.5"),
        ({"n_samples": True}, "n_samples=True"),
        ({"n_orders": 4, "cyclic": True}, "n_orders=4: with cyclic=True"),
    ],
)
def test_made_orders_have_bounds(options, message):
    with pytest.raises(ValueError, match=message):
        make_label_ranking(**options)


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_container_survives(clone):
    data = make_label_ranking(12, random_state=0)
    twin = clone(data)
    assert isinstance(twin, LabelRankingData)
    assert repr(twin) == repr(data) == "LabelRankingData(12 rows, 10 features, 5 items)"
    np.testing.assert_array_equal(twin.positions, data.positions)
    assert twin.item_names == data.item_names
    assert twin.law.bayes_value() == data.law.bayes_value()
