"""Pictures of the pages: drawn from the stored results, and legible."""

import re
from pathlib import Path

import check_pages
import pytest

DOC = Path(__file__).parents[2] / "doc"
PICTURES = ["learning_curves", "few_queries"]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(DOC)
    import curves_picture

    return curves_picture


def words(path):
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_every_picture_is_named(script):
    assert list(script.PICTURES) == PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_show_the_results(script, name, tmp_path):
    of_name, (n_rows, n_columns) = script.PICTURES[name]
    panels, committed = of_name(), DOC / "_static" / f"{name}.svg"
    assert len(panels) == n_rows * n_columns
    assert script.digest(panels) in committed.read_text(encoding="utf-8")
    pytest.importorskip("matplotlib")
    script.draw(name, tmp_path)
    assert words(tmp_path / f"{name}.svg") == words(committed)
    assert script.OURS in words(committed)


@pytest.mark.parametrize("name", PICTURES)
def test_values_and_errors_are_those_of_the_tables(script, name):
    for sizes, rows in script.PICTURES[name][0]().values():
        assert len(rows) >= 4
        for learner, points in rows.items():
            assert len(points) == len(sizes)
            known = [(value, error) for value, error in points if value == value]
            assert len(known) >= 3
            assert all(0 < value < 1 for value, _ in known)
            # Only the line that the others are compared with has no band.
            assert all((error == error) == (learner != script.OURS) for _, error in known)


def test_lines_are_legible_on_white(script):
    for color, _, _ in script.LINES.values():
        assert check_pages.contrast(color, "#ffffff") >= check_pages.LEAST_CONTRAST
