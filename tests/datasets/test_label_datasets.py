"""Orders that are read from files."""

import gzip
import lzma

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget, SpearmanRanker
from skcalrank.datasets import load_label_ranking, load_preflib, load_sushi

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
        fitted.append(ranker.surrogate_values(data.X[:1]))
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


CATEGORIES = (
    "color,size,age,floor,ranking\nred,1,18-25,1,a>b\nwhite,2.5,26-40,10,b>a\n?,NA,18-25,9,a=b\n"
)


def test_columns_of_text_are_encoded(tmp_path):
    data = load_label_ranking(write(tmp_path / "a.csv", CATEGORIES))
    assert data.feature_names == [
        *("color=red", "color=white", "size", "age=18-25", "age=26-40", "floor")
    ]
    np.testing.assert_array_equal(
        data.X, [[1, 0, 1, 1, 0, 1], [0, 1, 2.5, 0, 1, 10], [0, 0, NAN, 1, 0, 9]]
    )


def test_numbers_may_be_categories(tmp_path):
    path = write(tmp_path / "a.csv", CATEGORIES.replace("NA", "two"))
    with pytest.raises(ValueError, match=r"line 4, column 'size': 'two'.*name it in categorical"):
        load_label_ranking(path)
    data = load_label_ranking(path, categorical=["size", "floor"])
    assert data.feature_names[-6:] == [
        *("size=two", "age=18-25", "age=26-40", "floor=1", "floor=9", "floor=10")
    ]
    assert set(data.X.ravel()) == {0.0, 1.0}


def test_a_frame_has_categories(tmp_path):
    pd = pytest.importorskip("pandas")
    path = write(tmp_path / "a.csv", CATEGORIES)
    X, positions = data = load_label_ranking(path, as_frame=True)
    assert list(X) == data.feature_names == ["color", "size", "age", "floor"]
    assert list(X.select_dtypes("category")) == ["color", "age"]
    assert X["color"].cat.categories.tolist() == ["red", "white"]
    assert X["color"].isna().tolist() == [False, False, True]
    np.testing.assert_array_equal(X["size"], [1, 2.5, NAN])
    expected = pd.DataFrame(load_label_ranking(path).positions, columns=["a", "b"])
    pd.testing.assert_frame_equal(positions, expected)
    assert repr(data) == "LabelRankingData(3 rows, 4 features, 2 items)"


def test_a_pipeline_encodes_a_frame(tmp_path):
    pytest.importorskip("pandas")
    rows = [f"{c},{i},{'a>b' if c == 'red' else 'b>a'}" for i in range(4) for c in ("red", "blue")]
    path = write(tmp_path / "a.csv", "\n".join(["color,size,ranking", *rows]))
    X, positions = load_label_ranking(path, as_frame=True)
    pipe = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["color"]), remainder="passthrough"
        ),
        SpearmanRanker(),
    )
    np.testing.assert_array_equal(pipe.fit(X, -positions).predict(X) > 0, positions == 1)
    net = PreferenceTarget.from_orders(positions)
    pipe.set_params(spearmanranker=PairwiseDisagreementRanker()).fit(X, net)
    np.testing.assert_array_equal(pipe.predict(X) > 0, positions == 1)


BAD_TABLES = [
    ("x,ranking\n1,a>b\n", {"categorical": ["z"]}, "categorical names 'z'.*features are 'x'"),
    ('x,ranking\n"0,5",a>b\n', {}, "line 2, column 'x': '0,5' is not a number"),
    ("x,ranking\n1_000,a>b\n", {}, "line 2, column 'x': '1_000' is not a number"),
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
        ("6:Kinki", "Kinki", "line 3, column 'lived_in_region': 'Kinki' is not a place"),
        ("f>a>d", "f>a>k", "line 2, column 'ranking'.*not an order of the letters"),
        ("f>a>d", "f>a=d", "line 2, column 'ranking'.*not an order of the letters"),
        ("f>a>d>", "f>a>", "line 2, column 'ranking'.*not an order of the letters"),
    ],
)
def test_sushi_names_the_malformed_line(old, new, message, tmp_path):
    text = "\n".join([COLUMNS, *PEOPLE]).replace(old, new)
    with pytest.raises(ValueError, match=message):
        load_sushi(write(tmp_path / "a.csv", text))


def test_sushi_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"sushi3a_users_rankings\.csv.*is not in"):
        load_sushi(tmp_path)
