"""Every example of the gallery runs."""

import runpy
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

plt = pytest.importorskip("matplotlib.pyplot")

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.rglob("plot_*.py"))
NEEDS = {
    "plot_boosted_trees": "lightgbm",
    "plot_table": "lightgbm",
    "plot_digits_retrieval": "sklearn",
}
AT_LEAST = {"plot_digits_retrieval": ("1.7",)}  # whose boosting stops on held-out queries


def test_there_are_examples():
    assert len(EXAMPLES) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], *AT_LEAST.get(path.stem, ()))
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    with threadpool_limits(1):
        runpy.run_path(str(path))
    assert shown
