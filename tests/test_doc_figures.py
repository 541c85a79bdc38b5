"""The scripts that draw the plots of the guide run."""

import runpy
from pathlib import Path

import pytest

FIGURES = sorted((Path(__file__).parents[1] / "doc" / "figures").glob("*.py"))


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_figure(path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.extend(pyplot.get_fignums()))
    runpy.run_path(str(path))
    assert shown
    for number in shown:
        pyplot.figure(number).canvas.draw()


def test_there_are_figures():
    assert FIGURES
