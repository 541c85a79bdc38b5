"""Orders in files of PrefLib."""

import gzip
import lzma

import numpy as np
import pytest

from skcalrank import PairwiseDisagreementRanker, PreferenceTarget
from skcalrank.datasets import load_preflib

NAN = np.nan


def write(path, text):
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(text)
    return path


SUFFIXES = ["", ".gz", ".xz"]


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


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "a.soc").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="UTF-8"):
        load_preflib(tmp_path / "a.soc")
    with pytest.raises(FileNotFoundError):
        load_preflib(tmp_path / "b.soc")


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


@pytest.mark.parametrize("said", [True, False])
def test_alternatives_from_zero(tmp_path, said):
    # As written by pref_voting, with a blank behind each comma.
    header = "# ALTERNATIVE NAME 0: tea\n# ALTERNATIVE NAME 2: gin\n# NUMBER ALTERNATIVES: 3\n"
    path = write(tmp_path / "a.soc", header * said + "2: 1, 2, 0\n1: 2, 0, 1\n")
    _, positions = data = load_preflib(path)
    assert positions.tolist() == [[3, 1, 2], [3, 1, 2], [2, 3, 1]]
    assert data.item_names == (["tea", "1", "gin"] if said else ["0", "1", "2"])
    write(path, "# NUMBER ALTERNATIVES: 3\n1: 0, 3, 1\n")
    with pytest.raises(ValueError, match=r"a.soc, line 2 ranks alternative 3, .* 3, from 0"):
        load_preflib(path)
