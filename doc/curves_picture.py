"""Draw the learning curves of README.md and of the page of benchmarks.

Run ``python doc/curves_picture.py``. It reads ``doc/benchmark_results/learning_curves.json``, which
``benchmarks/learning_curves.py --save`` writes, and writes ``doc/_static/learning_curves.svg``.
"""

import json
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
PATH = HERE / "_static" / "learning_curves.svg"
RESULTS = HERE / "benchmark_results" / "learning_curves.json"
TITLES = {
    "offers": "offers: text, dates, categories",
    "little noise": "little noise, two numbers interact",
    "level seen": "level of the query, a column",
    "level unseen": "level of the query, not in the table",
}
# Color, style and width; what is not named is not drawn.
LINES = {
    "TabularRanker()": ("#c2410c", "-", 2.2),
    "BoostedRanker(n_models=2)": ("#b45309", "--", 1.4),
    "NDCGRanker()": ("#57534e", ":", 1.4),
    "lambdarank, stopped": ("#1d4ed8", "-", 1.4),
    "CatBoost, QueryRMSE": ("#15803d", "-", 1.4),
    "skrub, regression": ("#7e22ce", "--", 1.2),
}


def curves():
    """Return, for each set, the numbers of queries and NDCG@10 by learner (None: not run)."""
    shown = json.loads(RESULTS.read_text(encoding="utf-8"))["shown"]
    out = {}
    for line, table in pairwise(shown):
        if not isinstance(line, str) or not line.endswith(": NDCG@10"):
            continue
        sizes = [int(column.split()[0].replace(",", "")) for column in table["columns"][1:]]
        rows = {row[0]: [float(c) if c else None for c in row[1:]] for row in table["rows"]}
        out[line.removesuffix(": NDCG@10")] = sizes, rows
    return out


def draw(path=PATH):
    """Draw a panel for each set, on white, which is legible on dark pages too."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "curves", "font.size": 10})
    figure = Figure(figsize=(9, 6), layout="constrained", facecolor="white")
    panels = figure.subplots(2, 2, sharex=True)
    for panel, (name, (sizes, rows)) in zip(panels.flat, curves().items()):
        for learner, (color, style, width) in LINES.items():
            found = [(n, v) for n, v in zip(sizes, rows.get(learner, [])) if v is not None]
            if found:
                at, values = zip(*found)
                line = {"color": color, "linestyle": style, "linewidth": width}
                panel.plot(at, values, marker="o", markersize=3.5, label=learner, **line)
        panel.set(title=TITLES[name], xscale="log")
        panel.title.set_fontsize(11)
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        panel.minorticks_off()
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.supxlabel("training queries", fontsize=10)
    figure.supylabel("NDCG@10 on 1,000 other queries", fontsize=10)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw()
