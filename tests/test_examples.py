"""Every example of the gallery runs."""

import runpy
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

plt = pytest.importorskip("matplotlib.pyplot")

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
NEEDS = {"plot_boosted_trees": "lightgbm"}

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the examples are not here")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch):
    pytest.importorskip(NEEDS.get(path.stem, "numpy"))
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    with threadpool_limits(1):
        runpy.run_path(str(path))
    assert shown
