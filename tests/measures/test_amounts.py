"""Labels that are amounts, such as money, under the gain 2^y - 1: one warning for each call."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from boosting_cases import boosted
from sklearn.base import clone

from skcalrank import (
    BoostedRanker,
    DCGRanker,
    ERRRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    MultiLabelRanker,
    MultiLabelTarget,
    NDCGRanker,
    OrderPreservingRanker,
    RankingTarget,
    StackingRanker,
    TabularRanker,
)
from skcalrank._cli import main
from skcalrank.boosting import lightgbm_metric, lightgbm_objective
from skcalrank.data import NotGradesWarning
from skcalrank.displays import MeasureAtKDisplay
from skcalrank.evaluation import compare, cross_compare, evaluate_run
from skcalrank.measures import DCG, ERR, NDCG
from skcalrank.metrics import dcg_score, err_score, evaluate, get_scorer, measure_score, ndcg_score
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler

RNG = np.random.default_rng(0)
X, QID = RNG.normal(size=(120, 3)), np.arange(120) // 10
MONEY = np.round(np.exp(3 + X[:, 0] + RNG.normal(size=120)), 2).clip(max=900)
GRADES = np.minimum(MONEY // 10, 4)
PARTS = np.arange(60) / 10.1 + 0.05  # of which none is an integer


def notes(call):
    """The warnings of amounts of a call, which point to this file, or to a library that calls."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    told = [w for w in caught if w.category is NotGradesWarning]
    assert all(w.filename == __file__ or "lightgbm" in w.filename for w in told)
    return [str(w.message) for w in told]


@pytest.mark.parametrize(
    "y",
    [[0, 1, 31.5], [0, 32], [1000, 3], np.arange(40), PARTS, np.append(PARTS[:50], 5.01)],
    ids=["above 31", "32", "thousand", "ranks", "parts", "51 parts"],
)
@pytest.mark.parametrize("measure", ["dcg", "ndcg@3", "err"])
def test_amounts(measure, y):
    y = np.asarray(y, dtype=float)
    (text,) = notes(lambda: measure_score(measure, y, -y, qid=np.zeros(len(y))))
    assert "measure=NDCG(k=10, gain='linear')" in text


def test_one_of_several_labels():
    target = MultiLabelTarget(np.c_[GRADES, MONEY], QID, ["grade", "price"])
    assert len(notes(lambda: MultiLabelRanker().fit(X, target))) == 1
    linear = MultiLabelRanker({"price": DCG(gain="linear")})
    assert not notes(lambda: linear.fit(X, target))
    assert not notes(lambda: linear.front(X, target, mixes=3))
    axes = {"p": ("price", "ndcg@10")}
    assert len(notes(lambda: linear.front(X, target, measures=axes, mixes=3))) == 1


@pytest.mark.parametrize(
    "y",
    [[0, 1, 4], np.arange(32), PARTS[PARTS <= 5], np.append(np.tile(PARTS[:50], 3), 6)],
    ids=["grades", "31 grades", "parts up to 5", "50 parts and a grade"],
)
@pytest.mark.parametrize("measure", ["dcg", "ndcg@3", "err"])
def test_grades(measure, y):
    y = np.asarray(y, dtype=float)
    assert not notes(lambda: measure_score(measure, y, -y, qid=np.zeros(len(y))))


@pytest.mark.parametrize(
    "measure",
    [
        NDCG(gain="linear"),
        NDCG(gain=np.log1p),
        ERR(gain=lambda y: y / 1000),
        ERR(max_grade=900),
        "spearman",
        "eru",
        "kendall",
    ],
    ids=["linear", "logarithm", "share", "own scale", "spearman", "eru", "kendall"],
)
def test_other_gains_take_amounts(measure):
    assert not notes(lambda: measure_score(measure, MONEY, X[:, 0], qid=QID))


RANKERS = [
    NDCGRanker(),
    DCGRanker(),
    ERRRanker(),
    LeastSquaresRanker("dcg@3"),
    LeastSquaresRankerCV("ndcg", alphas=[0.1, 1.0], cv=3),
    OrderPreservingRanker(measure="dcg@5"),
    boosted("lightgbm"),
    boosted("xgboost", measure="err"),
    StackingRanker([("linear", NDCGRanker()), ("err", ERRRanker())], cv=3),
    TabularRanker(trees=None),
    TabularRanker(trees=boosted("sklearn")),
    make_query_pipeline(QueryScaler(), NDCGRanker()),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: " ".join(repr(r).split())[:60])
def test_a_ranker_warns_once(ranker):
    assert not notes(lambda: clone(ranker).fit(X, GRADES, qid=QID).score(X, GRADES, qid=QID))
    fitted = clone(ranker)
    assert len(notes(lambda: fitted.fit(X, MONEY, qid=QID))) == 1
    # ERR has the scale of fit, on which an amount is an error.
    known = isinstance(ranker, ERRRanker) or getattr(ranker, "measure", None) == "err"
    assert len(notes(lambda: fitted.score(X, MONEY, qid=QID))) == (not known)


def test_an_eval_set_is_part_of_the_call():
    ranker, evals = boosted("lightgbm"), (X, MONEY, QID + 100)
    assert len(notes(lambda: ranker.fit(X, MONEY, QID, eval_set=evals))) == 1
    assert len(notes(lambda: ranker.fit(X, GRADES, QID, eval_set=evals))) == 1


def test_targets_are_no_grades():
    assert not notes(lambda: NDCGRanker().fit_targets(X, MONEY, QID))
    assert not notes(lambda: BoostedRanker(n_estimators=3).fit_targets(X, MONEY, QID))


def _train(objective, metric):
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(X, MONEY, group=np.full(12, 10))
    options = {"objective": objective, "verbosity": -1}
    lightgbm.train(options, data, 3, valid_sets=[data], feval=metric)


MEASURES = ["ndcg@5", "dcg", "err", "spearman"]
CALLS = {
    "ndcg_score": lambda: ndcg_score(MONEY, X[:, 0], qid=QID),
    "dcg_score": lambda: dcg_score(MONEY.reshape(12, 10), X[:, 0].reshape(12, 10)),
    "err_score": lambda: err_score(RankingTarget(MONEY, QID), X[:, 0]),
    "evaluate": lambda: evaluate(MONEY, X[:, 0], MEASURES, qid=QID),
    "a scorer": lambda: get_scorer("ndcg@5")(NDCGRanker().fit(X, GRADES, QID), X, MONEY, qid=QID),
    "compare": lambda: compare(MONEY, {"a": X[:, 0], "b": X[:, 1]}, MEASURES, qid=QID),
    "cross_compare": lambda: cross_compare(
        {"ndcg": NDCGRanker(), "err": ERRRanker()}, X, MONEY, QID, MEASURES, cv=3
    ),
    "evaluate_run": lambda: evaluate_run(
        {"q": {"a": 50, "b": 0}},
        {"q": {"a": 2.5, "b": 1.0}},
        ["ndcg@5", "dcg"],
        gain="exponential",
    ),
    "a display": lambda: MeasureAtKDisplay.from_predictions(MONEY, X[:, 0], qid=QID),
    "an objective": lambda: _train(lightgbm_objective("dcg"), None),
    "a metric": lambda: _train("regression", lightgbm_metric("ndcg@5")),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_warns_once(name):
    assert len(notes(CALLS[name])) == 1


@pytest.mark.slow
def test_processes_do_not_repeat_it():
    program = """
import warnings
import numpy as np
from skcalrank import NDCGRanker, StackingRanker
from skcalrank.evaluation import cross_compare
warnings.simplefilter("always")
X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0)
stack = StackingRanker([("a", NDCGRanker()), ("b", NDCGRanker(alpha=1))], cv=2, n_jobs=2)
cross_compare({"a": NDCGRanker()}, X, y, np.arange(60) // 5, ["ndcg"], cv=2, n_jobs=2)
stack.fit(X, y, np.arange(60) // 5)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("NotGradesWarning: ") == 2


@pytest.mark.filterwarnings("always::skcalrank.data.NotGradesWarning", "ignore:Most queries of")
@pytest.mark.parametrize("form", ["csv", "letor"])
def test_the_command_line_warns_once(tmp_path, capsys, form):
    path = str(tmp_path / f"money.{form}")
    rows = np.column_stack([QID, MONEY, X])
    if form == "csv":
        np.savetxt(path, rows, "%.12g", ",", header="qid,label,a,b,c", comments="")
    else:
        text = [f"{y} qid:{q:.0f} 1:{a} 2:{b} 3:{c}\n" for q, y, a, b, c in rows]
        (tmp_path / "money.letor").write_text("".join(text))
    model = str(tmp_path / "model.skcalrank")
    for command in (
        ["compare", path, "--rankers", "ndcg", "dcg", "err"],
        ["compare", path, path, "--rankers", "ndcg", "dcg"],
        ["fit", path, "--model", model],
        ["evaluate", model, path],
    ):
        assert main(command) == 0
        assert (
            "".join(capsys.readouterr()).replace("\n", " ").count("takes labels for grades") == 1
        ), command
