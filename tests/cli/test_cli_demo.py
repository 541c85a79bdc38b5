"""The demo prints what a direct computation gives, and its point holds for other draws."""

import contextlib
import io
import re
from importlib.util import find_spec

import numpy as np
import pytest
from commands import run
from sklearn.base import clone

from skcalrank import NDCGRanker, QueryKFold, RankingTarget, TabularRanker, load_digits_queries
from skcalrank._cli import main
from skcalrank._cli._demo import AIMS, MEASURES, MODELS
from skcalrank._cli._parser import parse
from skcalrank.metrics import measure_score, predict_with_queries

# Without trees, which take their time.
MIXED = TabularRanker("ndcg@10", trees=None, random_state=0)
# What the demo shows, it shows for other seeds, too.
SIZE, SEEDS = (300, 30), range(10)
SMALL = ["demo", "--queries", "40", "--documents", "12", "--seed", "1"]


@pytest.fixture(scope="module")
def data():
    return load_digits_queries(40, 12, graded=True, random_state=1)


@pytest.fixture(scope="module")
def said():
    """What the demo prints on few queries."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setitem(MODELS, "TabularRanker", MIXED)
        assert main(SMALL) == 0
    return out.getvalue()


def tables(said):
    """Cells of both tables, by the label of the row."""
    blocks = (block.split("\n") for block in said.split("\n\n"))
    found = [lines[2:] for lines in blocks if len(lines) > 2 and set(lines[1]) == {"-"}]
    return [{line[:16].strip(): line[16:].split() for line in lines} for lines in found]


def held_out(ranker, data, measure):
    """Values of each half of the queries by a ranker that is fitted to the other half."""
    scores, y = np.zeros(len(data.y)), RankingTarget(data.y, data.qid)
    for train, test in QueryKFold(2).split(data.X, y):
        fitted = clone(ranker).fit(data.X[train], y[train])
        scores[test] = predict_with_queries(fitted, data.X[test], data.qid[test])
    return measure_score(measure, data.y, scores, qid=data.qid, average=False)


@pytest.mark.long
def test_values_are_those_of_a_direct_computation(said, data):
    aims, models = tables(said)
    for column, measure in enumerate(MEASURES.values()):
        for name in ("PrecisionRanker", "NDCGRanker", "SpearmanRanker", "RankNet on pairs"):
            row = [cell for cell in aims[name] if cell != "*"]
            assert row[column] == f"{held_out(AIMS[name], data, measure).mean():.3f}"
    ridge = held_out(AIMS["Ridge on grades"], data, "ndcg@10")
    for name, model in (("NDCGRanker", MODELS["NDCGRanker"]), ("TabularRanker", MIXED)):
        values = held_out(model, data, "ndcg@10")
        gain, error = (values - ridge).mean(), (values - ridge).std(ddof=1) / np.sqrt(40)
        assert models[name][:4] == [f"{values.mean():.3f}", f"{gain:.3f}", "±", f"{error:.3f}"]
    has_lightgbm = find_spec("lightgbm") is not None
    assert ("LGBMRanker" in models) == ("LGBMRanker is LightGBM's" in said) == has_lightgbm
    random_order = measure_score("spearman", data.y, np.zeros(len(data.y)), qid=data.qid)
    assert aims["random order"][2] == f"{random_order:.3f}"
    assert aims["best possible"][1] == "1.000"
    first = [min(np.sum(data.y[data.qid == query] >= 1), 10) / 10 for query in np.unique(data.qid)]
    assert aims["best possible"][0] == f"{np.mean(first):.3f}"


def test_the_best_of_each_column_is_marked(said):
    aims = tables(said)[0]
    rankers = [row for name, row in aims.items() if name in AIMS]
    assert sum(row.count("*") for row in rankers) == 3
    ordered = sorted(rankers, key=lambda row: float(row[0]))
    assert ordered[-1][1] == "*"
    gain = re.search(r"Gain over Ridge on the grades: (\S+)", " ".join(said.split()))[1]
    ridge = float(aims["Ridge on grades"][0])
    assert float(gain) == pytest.approx(float(ordered[-1][0]) - ridge, abs=1.1e-3)


@pytest.mark.parametrize("columns", [50, 80])
def test_the_tables_fit_the_terminal(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setitem(MODELS, "BoostedRanker", NDCGRanker(k=5))
    monkeypatch.setitem(MODELS, "TabularRanker", NDCGRanker(k=1))
    monkeypatch.setattr("skcalrank.trees._library.find_spec", {}.get)
    out = run(capsys, *SMALL)
    assert max(map(len, out.split("\n"))) <= columns
    assert len(tables(out)) == 2
    assert "LGBMRanker" not in out
    assert "\n\nNext: skcalrank compare yours.parquet\n\n" in out


def test_the_default_size_is_the_one_that_is_tested():
    args = parse(["demo"])
    assert (args.queries, args.documents) == SIZE
    assert args.seed in SEEDS


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_ranker_of_each_measure_wins_its_column(seed):
    data = load_digits_queries(*SIZE, graded=True, random_state=seed)
    for own, measure in zip(AIMS, MEASURES.values()):
        best = held_out(AIMS[own], data, measure)
        for other in set(AIMS) - {own}:
            ahead = best - held_out(AIMS[other], data, measure)
            assert ahead.mean() > ahead.std(ddof=1) / np.sqrt(len(ahead)), (own, other)
