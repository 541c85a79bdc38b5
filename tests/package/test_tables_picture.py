"""Pictures that are stored: drawn from the stored results, and legible."""

import re
from pathlib import Path

import check_pages
import pytest

DOC = Path(__file__).parents[2] / "doc"
CURVES = ["learning_curves", "few_queries"]
GAINS = [
    "tables_by_set",
    "tables_by_set_later",
    "tables_by_peer",
    "linear_on_letor",
    "objectives_of_trees",
]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(DOC)
    import tables_picture

    return tables_picture


def words(path):
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_every_picture_is_named(script):
    assert list(script.PICTURES) == CURVES + GAINS


@pytest.mark.parametrize("name", CURVES + GAINS)
def test_pictures_are_on_the_page_of_benchmarks(name):
    assert f":: _static/{name}.svg" in (DOC / "benchmarks.rst").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CURVES + GAINS)
def test_pictures_show_the_results(script, name, tmp_path):
    points, committed = script.PICTURES[name][0](), DOC / "_static" / f"{name}.svg"
    assert script.digest(points) in committed.read_text(encoding="utf-8")
    pytest.importorskip("matplotlib", minversion="3.8", reason="places other ticks")
    script.draw(name, tmp_path)
    assert words(tmp_path / f"{name}.svg") == words(committed)
    assert "NDCG@10" in " ".join(words(committed))


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_those_of_the_tables(script, name):
    for sizes, rows in script.PICTURES[name][0]().values():
        assert len(rows) >= 4
        for learner, points in rows.items():
            assert len(points) == len(sizes)
            known = [(value, error) for value, error in points if value == value]
            assert len(known) >= 3
            assert all(0 < value < 1 for value, _ in known)
            # Only the line that the others are compared with has no band.
            assert all((error == error) == (learner != script.OURS) for _, error in known)


@pytest.mark.parametrize("name", GAINS)
def test_gains_are_those_of_the_tables(script, name):
    titles, _, rows = script.PICTURES[name][0]()
    assert len(titles) == 2
    assert len(rows) >= 9
    assert all(abs(gain) < 1 and error > 0 for _, *both in rows for gain, error in both)


def test_colors_are_legible_on_white(script):
    for color, *_ in [*script.LINES.values(), *script.SIGNS.values()]:
        assert check_pages.contrast(color, "#ffffff") >= check_pages.LEAST_CONTRAST
