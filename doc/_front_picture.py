"""The picture of the first page: TabularRanker beside its peers, from the file of the benchmark."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "benchmark_results"
GROUPS = {"quality_tables": "18 tables", "quality_tables_later": "10 further tables"}
PEERS = {
    "lambdarank, picked": "LightGBM, lambdarank",
    "lambdarank, linear leaves, picked": "LightGBM, linear leaves",
    "rank:ndcg, picked": "XGBoost, rank:ndcg",
    "QueryRMSE, picked": "CatBoost, QueryRMSE",
    "QueryRMSE, defaults": "the same with defaults",
    "YetiRank, picked": "CatBoost, YetiRank",
    "picked peer": "best of 24, picked per table",
}
FEW = {"lambdarank, picked": "LightGBM, lambdarank", "QueryRMSE, picked": "CatBoost, QueryRMSE"}


def _tables(name):
    shown = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["shown"]
    return [item for item in shown if isinstance(item, dict)]


def _difference(cell):
    """Return a difference and its standard error."""
    value, error = re.match(r"([+-][\d.]+) ± ([\d.]+)", cell).groups()
    return float(value), float(error)


def to_peers(name):
    """Return differences to each peer, in the mean over a group of tables."""
    table = next(table for table in _tables(name) if table["columns"][0] == "peer")
    rows = {row[0]: _difference(row[1]) for row in table["rows"]}
    return {peer: rows[key] for key, peer in PEERS.items()}


def with_few_queries():
    """Return numbers of training queries, and differences to two peers for each."""
    tables = [t for t in _tables("quality_tables") if t["columns"][1].startswith("10 queries")]
    numbers = [int(column.split()[0]) for column in tables[-1]["columns"][1:]]
    rows = {row[0]: [_difference(cell) for cell in row[1:]] for row in tables[-1]["rows"]}
    return numbers, {name: rows[key] for key, name in FEW.items()}


def draw_peers():
    """Draw differences to each peer, with two standard errors."""
    _, axes = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
    for shift, (name, label) in zip((-0.12, 0.12), GROUPS.items()):
        values, errors = zip(*to_peers(name).values())
        at = [shift + number for number in range(len(PEERS))]
        bars = [2 * error for error in errors]
        axes.errorbar(values, at, xerr=bars, fmt="o", capsize=3, label=label)
    axes.set_yticks(range(len(PEERS)), PEERS.values())
    axes.legend(loc="lower right", fontsize="small")
    axes.axvline(0, color="0.5", linewidth=1)
    axes.invert_yaxis()
    axes.set(title="all training queries", xlabel="gain in NDCG@10, ± 2 std. errors")
    axes.grid(alpha=0.3)
    plt.show()


def draw_few_queries():
    """Draw differences by number of training queries, with two standard errors."""
    _, axes = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
    numbers, lines = with_few_queries()
    for shift, (name, found) in zip((0.97, 1.03), lines.items()):
        values, errors = zip(*found)
        at = [shift * number for number in numbers]
        axes.errorbar(at, values, yerr=[2 * e for e in errors], fmt="o-", capsize=4, label=name)
    axes.axhline(0, color="0.5", linewidth=1)
    axes.set(title="9 tables, few training queries", xlabel="training queries", xscale="log")
    axes.set_xticks(numbers, map(str, numbers))
    axes.minorticks_off()
    axes.legend(title="gain over")
    axes.grid(alpha=0.3)
    plt.show()
