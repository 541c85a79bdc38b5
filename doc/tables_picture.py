"""Draw the results of benchmarks: curves by the number of training queries, and gains by table.

Run ``python doc/tables_picture.py``. It reads files of ``doc/benchmark_results``, which scripts
of ``benchmarks/`` write with ``--save``, and writes an svg to ``doc/_static`` for each entry of
`PICTURES`.

Bands and bars are two standard errors of the difference between ``TabularRanker()`` and another
ranker. In curves they surround the other one's line, which is ahead or behind where its band leaves
the line of ``TabularRanker()``.
"""

import json
import re
from functools import partial
from hashlib import sha1
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / "_static"
RESULTS = HERE / "benchmark_results"
OURS = "TabularRanker()"
MINUS_PEER = f"{OURS} minus the peer, in NDCG@10"
# The first one sets the lines; a reader may have any of them.
FONTS = ["DejaVu Sans", "Verdana", "Arial"]
TITLES = {
    "offers": "offers: text, dates, categories",
    "little noise": "little noise, two numbers interact",
    "level seen": "level of the query, a column",
    "level unseen": "level of the query, not in the table",
}
# Color, style and width; what is not named is not drawn.
LINES = {
    OURS: ("#c2410c", "-", 2.2),
    "BoostedRanker(n_models=2)": ("#854d0e", "--", 1.4),
    "NDCGRanker()": ("#57534e", ":", 1.4),
    "lambdarank, stopped": ("#1d4ed8", "-", 1.4),
    "lambdarank, picked": ("#1d4ed8", "-", 1.4),
    "CatBoost, QueryRMSE": ("#15803d", "-", 1.4),
    "QueryRMSE, picked": ("#15803d", "-", 1.4),
    "skrub, regression": ("#7e22ce", "--", 1.2),
}
# Color and marker of what is ahead, level and behind by two standard errors.
SIGNS = {1: ("#c2410c", "o"), 0: ("#57534e", "."), -1: ("#1d4ed8", "s")}


def _shown(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["shown"]


def _numbers(cell):
    """Return a number and its standard error; nan where there is none."""
    found = [float(number) for number in re.findall(r"[+-]?\d*\.\d+", cell)]
    return [*found[:2], float("nan"), float("nan")][:2]


def _points(values, errors):
    """Return numbers of queries, and values and errors by learner, from two tables."""
    sizes = [int(column.split()[0].replace(",", "")) for column in values["columns"][1:]]
    rows = {
        name: [(_numbers(of)[0], _numbers(by)[1]) for of, by in zip(cells, _of_row(errors, name))]
        for name, *cells in values["rows"]
    }
    return sizes, {name: rows[name] for name in LINES if name in rows}


def _of_row(table, name):
    """Return the cells of a row; empty ones if the table does not have it."""
    return next(
        (cells for row, *cells in table["rows"] if row == name), [""] * len(table["columns"])
    )


def learning_curves():
    """Return the points of each set."""
    shown = _shown("learning_curves")
    tables = {line: table for line, table in pairwise(shown) if isinstance(line, str)}
    return {
        title: _points(
            tables[f"{name}: NDCG@10"], tables[f"{name}: {OURS} minus the others, in NDCG@10"]
        )
        for name, title in TITLES.items()
    }


def few_queries():
    """Return the points of the mean over tables: one table has the values, one the errors."""
    tables = [item for item in _shown("quality_tables") if isinstance(item, dict)]
    values, differences = [each for each in tables if each["columns"][1].startswith("10 queries")]
    n_sets = re.search(r"\d+(?= sets)", values["columns"][1])[0]
    return {f"mean over {n_sets} tables": _points(values, differences)}


def by_set(name):
    """Return the gains on each set over both picked peers, the largest of the first one on top."""
    table = next(item for item in _shown(name) if isinstance(item, dict))
    rows = [
        (row[0].partition(" (")[0], _numbers(row[2]), _numbers(row[3])) for row in table["rows"]
    ]
    titles = ["picked lambdarank", "best peer, picked"]
    return titles, MINUS_PEER, sorted(rows, key=lambda row: -row[1][0])


def by_peer():
    """Return the mean gain over each peer, on the reported tables and on the later ones."""
    found = [_table_of_peers(name) for name in ("quality_tables", "quality_tables_later")]
    (_, first), (_, second) = found
    rows = [(peer, first[peer], second[peer]) for peer in first if peer in second]
    titles = [title for title, _ in found]
    return titles, MINUS_PEER, sorted(rows, key=lambda row: row[1][0])


def _table_of_peers(name):
    shown = _shown(name)
    n_sets = next(found[1] for line in shown if (found := re.match(r"(\d+) sets", str(line))))
    table = next(item for item in shown if isinstance(item, dict) and item["columns"][0] == "peer")
    rows = {peer: _numbers(mean) for peer, mean, *_ in table["rows"]}
    return f"{n_sets} tables", rows


def to_lambdarank(name, n_errors):
    """Return differences to lambdarank on two sets; errors are so many standard errors."""
    tables = {
        line.partition(":")[0]: next(item for item in after if isinstance(item, dict))
        for line, *after in (_shown(name)[at:] for at in range(len(_shown(name))))
        if isinstance(line, str) and re.match(r"(MQ2008|made):", line)
    }
    real, made = ({row[0]: _numbers(row[2]) for row in table["rows"]} for table in tables.values())
    rows = [
        (row, *((gain, error / n_errors) for gain, error in (real[row], made[row])))
        for row in real
        if real[row][0] == real[row][0]
    ]
    return list(tables), "minus lambdarank of LightGBM, in NDCG@10", rows


def digest(points):
    """Tell what a picture is drawn from, in a few letters that stand in it."""
    return sha1(repr((points, LINES, SIGNS)).encode()).hexdigest()[:12]


def draw(name, folder=FOLDER):
    """Draw a picture on white, with type for a page of 420 pixels."""
    import matplotlib
    from matplotlib.figure import Figure

    options = {"font.size": 10, "font.sans-serif": FONTS}
    options |= {"svg.hashsalt": name, "svg.fonttype": "none"}
    of_name, plot = PICTURES[name]
    points = of_name()
    with matplotlib.rc_context(options):
        figure = Figure(layout="constrained", facecolor="white")
        plot(figure, points)
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
        about = {"Date": None, "Creator": None, "Description": digest(points)}
        figure.savefig(folder / f"{name}.svg", metadata=about)


def plot_curves(figure, panels):
    """Plot a panel for each set, two in a row."""
    n_columns = min(2, len(panels))
    n_rows = len(panels) // n_columns
    figure.set_size_inches(6, 1 + 2.7 * n_rows)
    places = figure.subplots(n_rows, n_columns, squeeze=False).flat
    for axes, (title, (sizes, rows)) in zip(places, panels.items()):
        for learner, points in rows.items():
            _line(axes, sizes, points, learner)
        axes.set_title(title, fontsize=10)
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}".replace(",000", "k") for size in sizes])
        axes.minorticks_off()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    for axes in figure.axes[-n_columns:]:
        axes.set_xlabel("training queries")
    figure.supylabel("NDCG@10 on other queries", fontsize=10)


def _line(axes, sizes, points, learner):
    """Draw a line, and the band of two standard errors around it."""
    color, style, width = LINES[learner]
    known = [(size, *point) for size, point in zip(sizes, points) if point[0] == point[0]]
    at, values, errors = map(list, zip(*known))
    axes.plot(at, values, color=color, ls=style, lw=width, marker="o", markersize=3, label=learner)
    if learner != OURS:
        low, high = ([v + sign * e for v, e in zip(values, errors)] for sign in (-2, 2))
        axes.fill_between(at, low, high, color=color, alpha=0.15, linewidth=0)


def plot_gains(figure, points):
    """Plot rows of two gains each, with two standard errors, in two panels."""
    titles, label, rows = points
    names, *gains = zip(*rows)
    figure.set_size_inches(6, 0.9 + 0.21 * len(rows))
    panels = figure.subplots(1, 2, sharex=label == MINUS_PEER, sharey=True)
    for axes, title, of_panel in zip(panels, titles, gains):
        for at, (gain, error) in enumerate(of_panel):
            color, marker = SIGNS[int(gain >= 2 * error) - int(gain <= -2 * error)]
            axes.errorbar(gain, at, xerr=2 * error, fmt=marker, color=color, markersize=4.5, lw=1.2)
        axes.axvline(0, color="0.5", linewidth=1)
        axes.locator_params(axis="x", nbins=4)
        axes.set_title(title, fontsize=10)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel(label, fontsize=10)


PICTURES = {
    "learning_curves": (learning_curves, plot_curves),
    "few_queries": (few_queries, plot_curves),
    "tables_by_set": (partial(by_set, "quality_tables"), plot_gains),
    "tables_by_set_later": (partial(by_set, "quality_tables_later"), plot_gains),
    "tables_by_peer": (by_peer, plot_gains),
    "linear_on_letor": (partial(to_lambdarank, "quality_letor", 1), plot_gains),
    # Errors of this one are intervals at 95 %.
    "objectives_of_trees": (partial(to_lambdarank, "quality_boosting", 2), plot_gains),
}


if __name__ == "__main__":
    for each in PICTURES:
        draw(each)
