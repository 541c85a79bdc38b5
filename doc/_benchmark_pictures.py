"""Pictures of long tables of benchmarks, from their files, with bands of two standard errors."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

RESULTS = Path(__file__).parent / "benchmark_results"


def _tables(name):
    shown = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["shown"]
    return [item for item in shown if isinstance(item, dict)]


def _numbers(cell):
    """Return a value and its standard error, of cells such as "*.937 ± .008"; 0 if none."""
    value, *error = re.findall(r"[+-]?\d*\.?\d+(?:e-?\d+)?", cell)
    return float(value), float(error[0]) if error else 0.0


def _line(axes, at, cells, **style):
    """Draw the values of cells over numbers, with a band."""
    values, errors = np.transpose([_numbers(cell) for cell in cells])
    (line,) = axes.plot(at, values, "o-", markersize=4, **style)
    axes.fill_between(
        at, values - 2 * errors, values + 2 * errors, color=line.get_color(), alpha=0.15
    )


def _differences(table, label, width):
    """Draw differences with two standard errors: a panel for each column, a line for each row."""
    rows = [row for row in table["rows"] if "±" in row[1]]
    heads = table["columns"][1:]
    size = (width, 1 + 0.25 * len(rows))
    figure, each = plt.subplots(1, len(heads), figsize=size, sharey=True, layout="constrained")
    for number, (axes, head) in enumerate(zip(each, heads), 1):
        found = [_difference(row[number]) for row in rows]
        values, errors = np.transpose(found)
        axes.errorbar(values, [row[0] for row in rows], xerr=2 * errors, fmt="o", markersize=4)
        axes.axvline(0, color="0.5", linewidth=1)
        axes.set_title(head, fontsize=10)
        axes.tick_params(axis="x", rotation=45)
        axes.locator_params(axis="x", nbins=4)
    each[0].invert_yaxis()
    figure.supxlabel(f"{label}, ± 2 standard errors", fontsize=10)
    plt.show()


def _difference(cell):
    """Return the difference of a cell, and its standard error."""
    value, error = re.search(r"([+-][.\d]+) ± ([.\d]+)", cell).groups()
    return float(value), float(error)


def penalties():
    """Draw differences of penalties, and of losses with two of them, to alpha=1."""
    (table,) = _tables("quality_defaults_penalties")
    _differences(table, "NDCG@10 minus that of alpha=1", 12)


def trees():
    """Draw differences of regressors inside a ranker to the first one."""
    (table,) = _tables("quality_defaults_trees")
    _differences(table, "NDCG@10 minus that of the defaults with the squared loss", 13)


def objectives():
    """Draw differences of calibrated objectives to lambdarank."""
    (table,) = _tables("quality_defaults_objectives")
    _differences(table, "NDCG@10 minus that of lambdarank", 13)


def pairs():
    """Draw Kendall's tau of pairs minus that of scores, for four regressors."""
    table = next(t for t in _tables("label_ranking") if t["columns"][0] == "set")
    _differences(table, "Kendall's tau of pairs minus that of scores", 10)


def leaderboards():
    """Draw the coverage of intervals of differences for each design."""
    table = _tables("leaderboards")[0]
    names = [row[0] for row in table["rows"]]
    covered, errors = np.array([[float(cell) for cell in row[2:4]] for row in table["rows"]]).T
    _, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    axes.axvline(0.95, color="0.5", linewidth=1)
    axes.errorbar(covered, names, xerr=2 * errors, fmt="o", capsize=3)
    axes.invert_yaxis()
    axes.set(xlabel="coverage of 95 % intervals of differences, ± 2 standard errors")
    plt.show()


CLICKS = {
    "naive": "clicks as they are",
    "IPS": "inverse propensities",
    "clipped": "clipped at 10",
    "e / (e + 5)": "AggregatedRanker, the default",
    "shrunk": "shrunk to the logger",
}


def clicks():
    """Draw NDCG@10 by sessions for the right propensities, on three sets."""
    tables = _tables("clicks")[::2]
    _, each = plt.subplots(1, len(tables), figsize=(11, 3.6), layout="constrained")
    for axes, table, title in zip(each, tables, ("MQ2008", "MSLR sample", "made data")):
        rows = [dict(zip(table["columns"], row)) for row in table["rows"]]
        rows = [row for row in rows if row["case"] == "exponent 1"]
        at = [int(row["sessions"].replace(",", "")) for row in rows]
        for column, label in CLICKS.items():
            _line(axes, at, [row[column] for row in rows], label=label)
        best, _ = _numbers(rows[0]["full labels"])
        axes.axhline(best, color="0.5", linestyle="--", linewidth=1, label="full labels")
        axes.set(title=title, xscale="log", xlabel="sessions of a query")
    each[0].set_ylabel("NDCG@10, ± 2 standard errors")
    each[-1].legend(fontsize=8)
    plt.show()


PAIRS = {
    "ndcg@3, least squares": "NDCG@3, least squares",
    "map, pairs + exact": "MAP, pairs",
    "recall@2, rows with context": "recall@2, rows with context",
    "recall@2, rows alone": "recall@2, rows alone",
    "map, rows alone": "MAP, rows alone",
    "Lemma 10, RankNet (logistic)": "RankNet",
}


def consistency():
    """Draw the regret of some calibrated pairs, and of what is not calibrated."""
    table = _tables("consistency")[0]
    at = [int(column.replace(",", "")) for column in table["columns"][1:-1]]
    rows = {row[0]: row[1:-1] for row in table["rows"]}
    _, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, label in PAIRS.items():
        regret = np.array([float(cell) for cell in rows[name]])
        kept = regret[-1] > 1e-3
        axes.plot(at, np.where(regret > 0, regret, np.nan), "s--" if kept else "o-", label=label)
    axes.set(xscale="log", yscale="log", xlabel="queries", ylabel="mean regret (0 is not drawn)")
    axes.legend(fontsize=8)
    plt.show()


def kernels():
    """Draw Kendall's tau of two kernels and the nearest neighbors on each set."""
    table = _tables("label_ranking_kernels")[0]
    rows = {row[0]: [_numbers(cell) for cell in row[1:]] for row in table["rows"]}
    shown = {
        "kernel: linear": 'kernel="linear"',
        "nearest neighbors": "nearest neighbors",
        "kernel: None": "the default, here the Gaussian kernel",
    }
    _, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    at = np.arange(len(table["columns"]) - 1)
    for shift, (name, label) in zip((-0.15, 0, 0.15), shown.items()):
        values, errors = np.transpose(rows[name])
        axes.errorbar(at + shift, values, yerr=2 * errors, fmt="o", capsize=3, label=label)
    axes.set_xticks(at, table["columns"][1:])
    axes.set_ylabel("Kendall's tau, ± 2 standard errors")
    axes.legend(fontsize=8)
    plt.show()


def judges():
    """Draw the coverage of intervals by human queries, between the lowest and the highest cell."""
    table = _tables("judges")[0]
    rows = [dict(zip(table["columns"], row)) for row in table["rows"]]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    _, each = plt.subplots(1, len(sets), figsize=(11, 3), sharey=True, layout="constrained")
    for axes, name in zip(each, sets):
        of_set = [row for row in rows if row["set"] == name]
        at = [int(row["n"]) for row in of_set]
        low, high = zip(*[map(float, row["coverage"].split(" to ")) for row in of_set])
        axes.fill_between(at, low, high, alpha=0.15, label="lowest to highest cell")
        axes.plot(at, [float(row["mean"]) for row in of_set], "o-", label="people and a judge")
        axes.plot(at, [float(row["people alone"]) for row in of_set], "s--", label="people alone")
        axes.axhline(0.95, color="0.5", linewidth=1)
        axes.set(title=name, xscale="log", xlabel="human queries")
        axes.set_xticks(at, at)
        axes.minorticks_off()
    each[0].set_ylabel("coverage of 95 % intervals")
    each[0].legend(fontsize=8)
    plt.show()


def members_few():
    """Draw the mixture by its loss minus that by least squares, by training queries."""
    table = _tables("quality_members_few")[0]
    at = [int(column) for column in table["columns"][1:]]
    _, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for row in table["rows"][:-1]:
        axes.plot(at, [_numbers(cell)[0] for cell in row[1:]], color="0.8", linewidth=1)
    _line(axes, at, table["rows"][-1][1:], label="mean of the sets (gray: each set)")
    axes.axhline(0, color="0.5", linewidth=1)
    axes.set(xscale="log", xlabel="training queries", ylabel="difference in NDCG@10")
    axes.set_xticks(at, at)
    axes.minorticks_off()
    axes.legend(fontsize=8)
    plt.show()


SOURCES = {
    "sushi": "sushi",
    "ml-100k, 30 films": "MovieLens, 30 films",
    "education_courses.soi": "education courses",
    "made, 20 of deviation 0.2": "made, nearly equal",
    "made, 20 of deviation 2.0": "made, far apart",
}


def later_comparisons():
    """Draw the log loss of later comparisons by penalty, for five sources."""
    table = _tables("later_comparisons")[0]
    penalties = [column.removeprefix("alpha=") for column in table["columns"][2:]]
    figure, each = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
    for axes, number in zip(each, ("2", "6", "30")):
        rows = {row[0]: row[2:] for row in table["rows"] if row[1] == number}
        for name, label in SOURCES.items():
            axes.plot(penalties, [float(cell) for cell in rows[name]], "o-", label=label)
        axes.axhline(np.log(2), color="0.5", linewidth=1, linestyle="--", label="a coin")
        axes.set(title=f"{number} comparisons per document", xlabel="alpha")
    each[0].set_ylabel("log loss")
    figure.legend(*each[0].get_legend_handles_labels(), loc="outside right center")
    plt.show()
