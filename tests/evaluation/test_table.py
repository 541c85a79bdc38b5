import pytest

from skcalrank.evaluation import Cell, Table

TABLE = Table(
    ["system", "ndcg@10", "p<5"],
    [
        ("a_b", [Cell("0.50", "[0.40, 0.60]", "+", True), Cell("-1")]),
        ("c", [Cell("0.25"), Cell("0.3", p="p < 0.001")]),
    ],
    "Means & more.",
)
WRITERS = ("to_text", "to_markdown", "to_latex", "to_html")


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_has_all_numbers_and_the_caption(writer):
    text = getattr(TABLE, writer)()
    numbers = "0.50", "0.40", "0.60", "0.25", "0.3", "0.001", "ndcg@10", "Means", "more."
    assert [number for number in numbers if number not in text] == []


def test_numbers_on_a_terminal_stand_below_each_other_whatever_their_marks():
    cells = [Cell("10.5", marks=" *"), Cell("0.5"), Cell("9.5", marks="+")]
    head, rule, *lines = Table.of_columns("abc", {"m": cells, "n": "xyz"}).to_text().split("\n")
    assert len({line.index(".5") for line in lines}) == 1
    assert rule == "-" * len(head)
    assert lines[0] == "a 10.5 * x"


def test_blocks_of_a_terminal_repeat_the_names_of_rows():
    first, second, caption = TABLE.to_text(30).split("\n\n")
    assert "0.50+ [0.40, 0.60]" in first
    assert "p < 0.001" in second
    assert [line.split()[0] for line in second.split("\n")[2:]] == ["a_b", "c"]
    assert caption == "Means & more."


def test_names_and_captions_are_escaped_by_each_writer():
    assert r"a\_b" in TABLE.to_markdown()
    assert r"a\_b" in TABLE.to_latex()
    assert r"Means \& more." in TABLE.to_latex()
    assert "p&lt;5" in TABLE.to_html()
    assert "$-$1" in TABLE.to_latex()
    assert "p $<$ 0.001" in TABLE.to_latex()
    assert "<caption>" not in TABLE._replace(caption="").to_html()
