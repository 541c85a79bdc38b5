"""Draw the picture of README.md: how far linear models are behind the best, measure by measure.

Run ``python doc/readme_picture.py``. It takes seconds, and writes ``doc/_static/measures.svg``.
The numbers are those of the first table of ``skcalrank demo``.
"""

from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    NDCGRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    SpearmanRanker,
    load_digits_queries,
)
from skcalrank.evaluation import cross_compare
from skcalrank.measures import get_measure

PATH = Path(__file__).parent / "_static" / "measures.svg"
RANKERS = {
    "PrecisionRanker": PrecisionRanker(k=10),
    "NDCGRanker": NDCGRanker(k=10),
    "SpearmanRanker": SpearmanRanker(),
    "Ridge on grades": make_pipeline(StandardScaler(), Ridge()),
    "RankNet on pairs": PairwiseLogisticRanker(),
}
MEASURES = {
    "Precision@10": get_measure("precision@10"),
    "NDCG@10": get_measure("ndcg@10"),
    "Spearman's rho": get_measure("spearman"),
}


def values():
    """Return held-out values of shape (n_rankers, n_measures, n_queries)."""
    X, y, qid = load_digits_queries(300, 30, graded=True)
    return cross_compare(RANKERS, X, y, qid, MEASURES, cv=2).values


def draw(path=PATH):
    """Draw a panel for each measure, on white, which is legible on dark pages too."""
    import matplotlib
    from matplotlib.figure import Figure

    found = values()
    matplotlib.rcParams.update({"svg.hashsalt": "measures", "font.size": 10})
    figure = Figure(figsize=(8, 2.6), layout="constrained", facecolor="white")
    panels = figure.subplots(1, len(MEASURES), sharey=True)
    for panel, name, of_measure in zip(panels, MEASURES, found.swapaxes(0, 1)):
        best = of_measure[np.argmax(of_measure.mean(axis=1))]
        behind = best - of_measure
        errors = behind.std(axis=1, ddof=1) / np.sqrt(behind.shape[1])
        panel.barh(list(RANKERS), behind.mean(axis=1), xerr=errors, color="#8da0b8", height=0.6)
        place = int(np.argmin(behind.mean(axis=1)))
        text = f" best: {best.mean():.3f}"
        panel.text(0, place, text, va="center", color="#c2410c", weight="bold")
        panel.set_title(name, fontsize=11)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_xlim(0)
    panels[0].invert_yaxis()
    figure.supxlabel("behind the best, ± standard error over 300 queries", fontsize=10)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw()
