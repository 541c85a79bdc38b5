"""What a column of a table holds is decided by its values in fit, and read so at predict."""

import warnings
from datetime import date

import numpy as np
import pytest
from tables import FORMS

from skcalrank.data import UnseenLevelsWarning
from skcalrank.preprocessing import TableEncoder

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case

# -- kinds -------------------------------------------------------------------------------------


def rows(**columns):
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def kind_of(values, **options):
    return TableEncoder(**options).fit(rows(a=values)).kinds_["a"]


def test_levels_are_one_or_two():
    matrix = TableEncoder().fit_transform(rows(a=[1, 1.0, True, "1", "a", "a ", None]))
    codes = matrix.ravel()
    assert len(set(codes[:3])) == 1
    assert len(set(codes[2:6])) == 4
    assert np.isnan(codes[6])


def test_codes_follow_the_frequency_and_rare_levels_share_one():
    values = ["b"] * 3 + ["c"] * 2 + ["a"] * 2 + ["d", "e"]
    encoder = TableEncoder(max_categories=4).fit(rows(a=values))
    codes = encoder.transform(rows(a=["b", "a", "c", "d", "e", "new"])).ravel()
    np.testing.assert_array_equal(codes, [0, 1, 2, 3, 3, -1])


def test_text_of_digits_keeps_its_zeros():
    assert kind_of(["01234", "00017", "99999"] * 3) == "category"
    assert kind_of([str(k) for k in range(50)] * 2) == "category"


def test_text_of_many_numbers_is_numbers():
    values = [str(k / 2) for k in range(150)]
    with pytest.warns(UserWarning, match=r"'a' of X holds text such as '0.0', .* as numbers"):
        encoder = TableEncoder().fit(rows(a=values))
    np.testing.assert_array_equal(encoder.transform(rows(a=["7.5", 2])).ravel(), [7.5, 2])
    assert kind_of(values, columns={"a": "category"}) == "category"


def test_titles_that_recur_have_codes(rng):
    words = rng.permutation(np.array([f"word{k}" for k in range(60)]))
    titles = np.array([" ".join(rng.permutation(words)[:4]) for _ in range(3000)], dtype=object)
    often = titles[rng.integers(0, 1200, 12000) ** 2 // 1200]  # most rows have few of the titles
    rarely = titles[np.arange(15001) % 3000]  # five rows each: most would be rare categories
    encoder = TableEncoder().fit([{"a": a, "b": b} for a, b in zip(often, rarely)])
    assert encoder.kinds_ == {"a": "text", "b": "text"}
    assert encoder.categorical_ == [0]


def test_text_of_dates_is_dates():
    values = ["2024-01-05", "2024-03-01 10:30", "2025-02-08T01:00:00Z", None]
    with pytest.warns(UserWarning, match=r"'a' of X holds text such as '2024-01-05', .* as dates"):
        encoder = TableEncoder().fit(rows(a=values))
    matrix = encoder.transform(rows(a=[date(2024, 1, 6), "2024-01-06", None]))
    assert encoder.get_feature_names_out().tolist() == ["a", "a_weekday", "a_dayofyear", "a_hour"]
    np.testing.assert_array_equal(matrix[0], [1, 5, 6, 0])
    np.testing.assert_array_equal(matrix[1], matrix[0])
    assert np.isnan(matrix[2]).all()
    assert kind_of(values, columns={"a": "category"}) == "category"


def test_identifiers_are_left_out():
    values = [f"sku-{k}" for k in range(40)]
    with pytest.warns(UserWarning, match=r"'a' of X is left out: 100% .* such as 'sku-0'"):
        assert kind_of(values) == "identifier"
    assert kind_of(values, columns={"a": "category"}) == "category"
    assert kind_of(values[:20] * 2) == "category"
    rng = np.random.default_rng(0)
    assert kind_of(rng.integers(0, 10**9, 40).tolist()) == "number"  # prices in cents


def test_numbers_of_rows_warn_and_stay():
    with pytest.warns(UserWarning, match="'a' of X holds consecutive integers"):
        assert kind_of(list(range(100, 140))[::-1]) == "number"


def test_the_queries_are_left_out():
    names = np.repeat(["u", "v", "w"], 5)
    encoder = TableEncoder()
    with pytest.warns(UserWarning, match="'a' of X is left out: it holds the qid"):
        encoder.fit(rows(a=names.tolist(), b=list(range(15))[::-1]), qid=names)
    assert encoder.kinds_ == {"a": "identifier", "b": "number"}


@pytest.mark.parametrize("of_column", [int, str])
@pytest.mark.parametrize("of_qid", [int, str, object])
def test_the_queries_are_left_out_as_numbers_and_as_text(of_column, of_qid):
    qid = np.repeat([7, 12, 3], 10)
    column, qid = qid.astype(of_column).tolist(), qid.astype(of_qid)
    with pytest.warns(UserWarning, match="'a' of X is left out: it holds the qid"):
        TableEncoder().fit(rows(a=column), qid=qid)
    # One row that differs is enough.
    assert TableEncoder().fit(rows(a=[*column[:-1], of_column(4)]), qid=qid).n_features_in_ == 1


@pytest.mark.parametrize(
    "leak", [lambda y: y, lambda y: 1 - 2.5 * y, lambda y: np.array(["u", "v", "w"])[y]]
)
def test_a_column_that_tells_the_label_warns_and_stays(leak, rng):
    y, qid = rng.integers(0, 3, 200), np.repeat(np.arange(20), 10)
    table = rows(a=leak(y).tolist(), b=rng.normal(size=200).tolist())
    with pytest.warns(UserWarning, match="'a' of X orders all documents by their labels"):
        encoder = TableEncoder().fit(table, y, qid)
    assert "a" in encoder.get_feature_names_out()


def test_few_pairs_prove_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit(rows(a=[0.5, 1.5, 2.5, 3.5]), [0, 1, 2, 3], [0, 0, 0, 0])


def test_kinds_that_a_user_sets():
    table = rows(zip=[1, 2, 3, 1], sku=["a", "b", "c", "d"], note=["x y", "x z", "z y", None])
    encoder = TableEncoder({"zip": "category", "sku": "drop", "note": "text"}).fit(table)
    assert encoder.kinds_ == {"zip": "category", "sku": "drop", "note": "text"}
    with pytest.raises(ValueError, match="columns must have names of columns of X, got 'size'"):
        TableEncoder({"size": "drop"}).fit(table)
    with pytest.raises(ValueError, match=r"columns\['zip'\] must be one of .*got 'integer'"):
        TableEncoder({"zip": "integer"}).fit(table)
    with pytest.raises(ValueError, match=r"columns\['sku'\] must suit .* got 'date' for 'a'"):
        TableEncoder({"sku": "date"}).fit(table)


def test_numbers_that_single_precision_cannot_tell_apart():
    matrix = TableEncoder().fit_transform(rows(a=(1.7e9 + 3 * np.arange(100)).tolist()))
    assert len(np.unique(matrix.astype(np.float32))) == 100


@pytest.mark.parametrize("sizes", [(1e39, 2e39), (-1e308, 1e308), (1e-300, 3e-300)])
def test_numbers_beyond_single_precision_are_read(sizes):
    values = np.linspace(0, 1, 30) * sizes[1] + np.linspace(1, 0, 30) * sizes[0]
    matrix = TableEncoder().fit_transform(rows(a=values.tolist()))
    np.testing.assert_array_equal(matrix[:, 0], values)


# -- what a request may hold ---------------------------------------------------------------------


SEEN = ["a", "b", "b c", "c"] * 5


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (["A", "B"] * 10, SEEN),
        (["a ", "b "] * 10, SEEN),
        ([b"a", b"b"], SEEN),
        ([1], SEEN),
        (["1"], [True, 2, 3.5, "x"]),
        (["new"] * 1001, SEEN),
    ],
)
def test_a_column_without_a_level_of_fit_warns(given, seen):
    numbers = [value for value in seen if not isinstance(value, str)]
    encoder = TableEncoder({"a": "category"}).fit(rows(a=numbers or seen))
    with pytest.warns(UnseenLevelsWarning, match="'a' of X must have levels that fit has seen"):
        matrix = encoder.transform(rows(a=given))
    assert (matrix == -1).all()


@pytest.mark.parametrize("given", [["new"] * 30, ["new", "newer"], ["a", *map(str, range(30))]])
def test_new_levels_are_usual(given):
    encoder = TableEncoder().fit(rows(a=SEEN))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matrix = encoder.transform(rows(a=given))
    assert matrix[-1, 0] == -1


@pytest.mark.parametrize(
    ("seen", "given", "expected"),
    [
        (
            [1.5, 2.0, None],
            "x",
            r"'a' of X must hold numbers, as in fit, got 'x' \(str\)\. Convert",
        ),
        ([1.5, 2.0, None], date(2024, 1, 1), "must hold numbers, as in fit, got datetime.date"),
        ([0, 1, 1], "yes", r"must hold flags \(0 and 1, or truth values\), as in fit, got 'yes'"),
        ([date(2024, 1, 1), date(2025, 1, 1)], 7, r"must hold dates, as in fit, got 7 \(int\)"),
        ([date(2024, 1, 1), date(2025, 1, 1)], "soon", r"must hold dates, .* got 'soon' \(str\)"),
        (["x y z", "x z", "y z"], 7, r"must hold text, as in fit, got 7 \(int\)"),
        (["x", "y"], ["x"], r"must hold levels, as in fit, got \['x'\] \(list\)"),
    ],
)
def test_values_of_another_kind_are_named(seen, given, expected):
    columns = {"a": "text"} if seen[0] == "x y z" else None
    encoder = TableEncoder(columns).fit(rows(a=seen))
    with pytest.raises(ValueError, match=expected):
        encoder.transform(rows(a=[given]))


NUMBERS = [n * 1.37 for n in range(200)]
LOOKS = {
    "a stray among numbers": ([*NUMBERS, "-"], "numbers, such as 0.0, but not '-'"),
    "a stray among few numbers": ([*NUMBERS[:30], "n/a"], "numbers, such as 0.0, but not 'n/a'"),
    "a stray among text": ([*map(str, NUMBERS), "-"], "numbers, such as '0.0', but not '-'"),
    "a unit": ([f"{n:.2f} EUR" for n in NUMBERS], "numbers, such as '0.00 EUR'"),
    "two units": ([f"{n:.2f} {'kg' if n < 90 else 'g'}" for n in NUMBERS], "numbers, such as"),
    "a currency": ([f"${n:.2f}" for n in NUMBERS], r"numbers, such as '\$0.00'"),
    "decimals": ([f"{n:.2f}" for n in NUMBERS], "numbers, such as '0.00'"),
    "separators": ([f"{900 * n:,.1f}" for n in NUMBERS], "numbers, such as '0.0'"),
    "commas": ([f"{n:.1f}".replace(".", ",") for n in NUMBERS], "numbers, such as '0,0'"),
    "spaces around": ([f" {n:.1f}  " for n in NUMBERS], "numbers, such as ' 0.0  '"),
    "spaces that do not break": (
        [f"{9 * n:,.0f}".replace(",", "\u202f") for n in NUMBERS],
        "numbers",
    ),
    "a dash for cents": ([f"{n:.0f},-" for n in range(200)], "numbers, such as '0,-'"),
    "parentheses": ([f"({n:.1f})" for n in NUMBERS], "numbers"),
    "days first": ([f"{1 + n % 28:02d}/0{1 + n // 28}/2026 12:00" for n in range(200)], "dates"),
    "years with points": ([f"2026.{1 + n // 28}.{1 + n % 28}" for n in range(200)], "dates"),
}
CODES = {
    "zeros before": [f"{n:05d}" for n in range(200)],
    "letters behind": [f"{n}{chr(65 + n % 26)}" for n in range(200)],
    "letters before": [f"SKU-{n}" for n in range(200)],
    "versions": [f"1.{n}.{n % 7}" for n in range(200)],
    "few sizes": [f"{n} ml" for n in range(50)],
    "grades": [1, 2, 3, "other"],
    "titles with dates": [f"12/05/20{n % 90 + 10} in {chr(65 + n % 26)}{n}" for n in range(200)],
    "mostly text": [*NUMBERS[:100], *(f"name {n}" for n in range(100))],
}


@pytest.mark.every_case
@pytest.mark.parametrize("case", LOOKS)
def test_categories_that_look_like_numbers_or_dates_are_told(case):
    values, said = LOOKS[case]
    with pytest.warns(UserWarning, match=f"Column 'a' of X is read as a category of .*{said}"):
        encoder = TableEncoder().fit(rows(a=values * 3))
    assert encoder.kinds_ == {"a": "category"}
    TableEncoder({"a": "category"}).fit(rows(a=values * 3))  # without a word


@pytest.mark.every_case
@pytest.mark.parametrize("case", CODES)
def test_codes_and_texts_are_no_numbers(case):
    kind = "text" if case == "titles with dates" else "category"
    assert TableEncoder().fit(rows(a=CODES[case] * 3)).kinds_ == {"a": kind}


@pytest.mark.parametrize("names", [["a", "b"], [0, 1], [("a", 1), ("a", 2)], [2, "b"]])
def test_columns_are_found_by_names_of_any_type(names):
    pd = pytest.importorskip("pandas")
    first, second = names
    table = pd.DataFrame({first: ["u", "v"], second: [1.0, 2.0]})
    encoder = TableEncoder().fit(table)
    other = pd.DataFrame({"extra": [0], second: [7.0], first: ["v"]})
    np.testing.assert_array_equal(encoder.transform(other), [[1, 7]])
    with pytest.raises(ValueError, match="must have the columns of fit, got none named"):
        encoder.transform(other.drop(columns=[first]))


def test_columns_of_one_name_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="columns of different names, got several 'a'"):
        TableEncoder().fit(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    encoder = TableEncoder().fit(rows(a=[1.5, 2.5], b=["x", "y"]))
    with pytest.raises(ValueError, match="columns of different names, got several 'b'"):
        encoder.transform(pd.DataFrame([[1, "x", "y"]], columns=["a", "b", "b"]))
    other = pd.DataFrame([[1, "x", 5, 6]], columns=["a", "b", "c", "c"])
    np.testing.assert_array_equal(encoder.transform(other), [[1, 0]])


def test_keys_that_no_dict_has_are_missing_values():
    encoder = TableEncoder().fit(rows(a=["u", "v"], b=[1.5, 2.5]))
    documents = [{"a": "u"}, {"a": "v", "b": 2.5}]
    np.testing.assert_array_equal(encoder.transform(documents), [[0, np.nan], [1, 2.5]])
    with pytest.warns(UserWarning, match="No dict of X has the key 'b', which is a column of fit"):
        np.testing.assert_array_equal(encoder.transform(documents[:1]), [[0, np.nan]])
    np.testing.assert_array_equal(encoder.transform([{"a": "u", "b": None}]), [[0, np.nan]])
    with pytest.raises(ValueError, match="got none named 'a', 'b': X has 'c'"):
        encoder.transform([{"c": 1}])


@pytest.mark.parametrize("values", [[1.0, np.inf], [np.inf, None, 2], [np.inf, np.inf]])
def test_infinite_numbers_are_named(values):
    with pytest.raises(ValueError, match="infinity in column 'a'"):
        TableEncoder().fit(rows(a=values))
    with pytest.raises(ValueError, match="infinity in column 'a'"):
        TableEncoder().fit(rows(a=[1.0, 2.0])).transform(rows(a=values))


@pytest.mark.parametrize("value", [[1], {"b": 1}, 1j])
def test_values_of_no_kind_are_named(value):
    values = [value, value, value * 2 if isinstance(value, complex) else value]
    with pytest.raises(ValueError, match=r"'a' of X must hold numbers, text, .* Convert it"):
        TableEncoder().fit(rows(a=values))
    # Long columns of objects are read by pandas.
    array = np.empty((600, 1), dtype=object)
    array[:, 0] = values * 200
    with pytest.raises(ValueError, match=r"Column 0 of X must hold numbers, text, .* Convert it"):
        TableEncoder().fit(array)
    assert TableEncoder({0: "drop"}).fit(array).kinds_ == {0: "drop"}


def test_a_failed_fit_changes_nothing():
    encoder = TableEncoder().fit(rows(a=["u", "v"]))
    with pytest.raises(ValueError, match="infinity"):
        encoder.fit(rows(b=[np.inf, 1.0]))
    np.testing.assert_array_equal(encoder.transform(rows(a=["v"])), [[1]])


def test_columns_that_were_left_out_may_be_missing():
    table = rows(a=["u", "v"], one=[1, 1], gone=[3.0, 4.0])
    encoder = TableEncoder({"gone": "drop"}).fit(table)
    np.testing.assert_array_equal(encoder.transform([{"a": "v"}]), [[1]])
    if "polars" in FORMS:
        np.testing.assert_array_equal(encoder.transform(FORMS["polars"]({"a": ["v"]})), [[1]])
    if "inferred" in FORMS:
        np.testing.assert_array_equal(encoder.transform(FORMS["inferred"]({"a": ["v"]})), [[1]])
    with pytest.raises(ValueError, match="got none named 'a': X has 'gone'"):
        encoder.transform([{"gone": 1.0}])


def test_a_nul_byte_in_a_number_is_an_error():
    values = [str(0.37 * k) for k in range(30)]
    with pytest.raises(ValueError, match=r"'a' of X must hold numbers without a NUL byte, got '3"):
        TableEncoder().fit(rows(a=[*values, "3.\x0033"]))
    assert kind_of(["u\0v", "w", "u\0v"]) == "category"
