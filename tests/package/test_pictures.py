"""Pictures of the pages of benchmarks, drawn from the files of results."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "doc"
CALL = r"^ +_benchmark_pictures\.(\w+)\(\)$"
SHOWN = [
    name for page in DOC.glob("*.rst") for name in re.findall(CALL, page.read_text(), flags=re.M)
]


@pytest.fixture
def pictures(monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.syspath_prepend(DOC)
    return importlib.import_module("_benchmark_pictures")


def test_each_picture_is_on_one_page(pictures):
    drawn = [name for name, _ in inspect.getmembers(pictures, inspect.isfunction)]
    assert sorted(SHOWN) == sorted(name for name in drawn if not name.startswith("_"))


@pytest.mark.parametrize("name", SHOWN)
def test_pictures_are_drawn_from_the_results(name, pictures):
    getattr(pictures, name)()
    plt = pictures.plt
    for axes in plt.gcf().axes:
        assert axes.get_xlabel() or axes.get_ylabel() or axes.get_title()
        assert any(len(line.get_xdata()) > 2 for line in axes.lines)
    plt.close("all")
