"""The page that links every element of the papers to what implements and what tests it."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "doc" / "papers.rst").read_text(encoding="utf-8")
ROWS = re.findall(r"^   \* - (.*)\n     - (.*)\n     - ``(.*)``$", PAGE, flags=re.M)


def test_every_row_of_the_page_is_read():
    assert len(ROWS) == PAGE.count("\n   * - ") - PAGE.count("   * - element")
    assert len({element for element, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_elements_have_a_place_and_a_test(row):
    _, where, test = row
    assert "skcalrank." in where or "``" in where
    file, _, name = test.partition(": ")
    assert f"\ndef {name}(" in (TESTS / file).read_text(encoding="utf-8")
