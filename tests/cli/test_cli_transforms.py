"""Features are transformed, and columns of text encoded, before a ranker sees them."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cases import holds_generator
from commands import COLUMNS, fail, run, table
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

from skcalrank import NDCGRanker, load_letor
from skcalrank._cli import main
from skcalrank._cli._rankers import REGRESSORS
from skcalrank.persistence import load_model
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QueryScaler
from skcalrank.stacking import TabularRanker

pytest.importorskip("skops")
pytest.importorskip("pandas")


def signed_logs(X):
    return np.sign(X) * np.log1p(np.abs(X))


PIPELINES = {
    "standard": make_pipeline(StandardScaler(), NDCGRanker()),
    "log1p": make_pipeline(FunctionTransformer(signed_logs), NDCGRanker()),
    "quantile": make_pipeline(QuantileTransformer(random_state=0, n_quantiles=200), NDCGRanker()),
    "query": make_query_pipeline(QueryScaler(), NDCGRanker()),
}


@pytest.mark.filterwarnings("ignore:n_quantiles")
@pytest.mark.parametrize("name", PIPELINES)
def test_transforms(capsys, path, new, name):
    train, test = load_letor(path("train.txt")), load_letor(path("test.txt"))
    argv = ["fit", path("train.txt"), "--model", new, "--transform", name]
    run(capsys, *argv)
    pipe = PIPELINES[name]
    given = {"qid": train.qid} if name == "query" else {"ndcgranker__qid": train.qid}
    pipe.fit(train.X, train.y, **given)
    scores = pipe.predict(test.X, **({"qid": test.qid} if name == "query" else {}))
    found = run(capsys, "predict", new, path("test.txt")).split()
    np.testing.assert_allclose([float(score) for score in found], scores, rtol=1e-9, atol=1e-12)
    out = run(capsys, "info", new, "--coefficients", "1")
    assert "QueryPipeline" in out
    assert "columns (" in out
    coef = load_model(new)[-1].coef_
    largest = np.abs(coef).argmax()
    assert "(change of the score per unit of the transformed feature)" in out
    assert out.split()[-2:] == [str(largest + 1), f"{coef[largest]:+.4g}"]
    assert "ndcg@10" in out
    # What learns nothing of its own is the same in chunks.
    if name in ("log1p", "query"):
        run(capsys, *argv, "--chunk-rows", "50")
        again = run(capsys, "predict", new, path("test.txt"), "--chunk-rows", "50").split()
        np.testing.assert_allclose([float(score) for score in again], scores, rtol=1e-8, atol=1e-9)
    else:
        assert "needs all rows at once" in fail(capsys, *argv, "--chunk-rows", "50")


def test_transform_in_compare(capsys, path):
    files = [path("train.txt"), path("test.txt")]
    argv = ["compare", *files, "--rankers", "ndcg", "--measures", "ndcg@10"]
    assert run(capsys, *argv) != run(capsys, *argv, "--transform", "log1p")
    assert "transforms of its own" in fail(
        *(capsys, "fit", files[0], "--model", "m", "--ranker", "auto", "--transform", "log1p")
    )


@pytest.fixture(scope="module")
def shops(frames, tmp_path_factory):
    """Files of tables where a column of text decides, and queries have names."""
    pytest.importorskip("pyarrow")
    folder, rng = tmp_path_factory.mktemp("shops"), np.random.default_rng(0)
    for name, frame in frames.items():
        brand = rng.choice(["good", "fair", "poor"], len(frame))
        frame = frame.assign(brand=brand, shop=rng.choice(["a", "b"], len(frame)))
        frame["query"] = "q" + frame["query"].astype(str)
        frame["grade"] = 2 * (brand == "good") + (brand == "fair")
        frame.loc[0, "brand"] = None
        frame["shop"] = frame["shop"].astype("category")
        frame[frame.columns[::-1]].to_parquet(folder / f"{name}.parquet")
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.mark.product
@pytest.mark.filterwarnings("ignore:Column 'brand' of X orders all documents")
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(
    "ranker",
    [
        ["ndcg"],
        ["ndcg", "--transform", "query"],
        pytest.param(["ndcg+trees"], marks=holds_generator),
        ["ndcg+forest"],
    ],
)
def test_text_is_encoded(capsys, shops, new, suffix, ranker, monkeypatch):
    for name, few in (("trees", {"max_iter": 30}), ("forest", {"n_estimators": 10, "n_jobs": 1})):
        monkeypatch.setitem(REGRESSORS, name, partial(REGRESSORS[name], **few))
    argv = ["--ranker", *ranker, *COLUMNS]
    train, test = (str(shops / f"{name}.{suffix}") for name in ("train", "test"))
    out = run(capsys, "fit", train, "--model", new, *argv)
    assert "8 features" in out
    assert {"brand", "shop"} <= set(load_model(new).feature_names_in_)
    out = run(capsys, "evaluate", new, test, "--measures", "ndcg@10", *COLUMNS)
    assert float(out.split("ndcg@10")[1].split()[0]) > 0.97
    assert len(run(capsys, "predict", new, test, *COLUMNS).split()) > 100


@pytest.mark.filterwarnings("ignore:Column 'brand' of X orders all documents")
def test_auto_takes_text_and_missing_values(capsys, shops, new, monkeypatch):
    # Trees take their time, and have tests of their own.
    monkeypatch.setattr(
        "skcalrank._cli._rankers.TabularRanker",
        partial(TabularRanker, trees=None),
    )
    train, test = str(shops / "train.parquet"), str(shops / "test.parquet")
    run(capsys, "fit", train, "--model", new, "--ranker", "auto", *COLUMNS)
    out = run(capsys, "evaluate", new, test, "--measures", "ndcg@10", *COLUMNS)
    assert float(out.split("ndcg@10")[1].split()[0]) > 0.97


@pytest.mark.filterwarnings("ignore:Column 'brand' of X orders all documents")
def test_text_in_compare(capsys, shops, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setitem(REGRESSORS, "trees", partial(REGRESSORS["trees"], max_iter=30))
    files = [str(shops / f"{name}.parquet") for name in ("train", "test")]
    rankers = ["ndcg", "ndcg+trees", "lightgbm"]
    argv = ["--rankers", *rankers, "--measures", "ndcg@10", "--transform", "standard", *COLUMNS]
    _, rows = table(run(capsys, "compare", *files, *argv))
    assert [float(cell.split("±")[0].strip("*")) > 0.97 for cell in rows["ndcg@10"][:3]] == [
        True
    ] * 3


def test_advice_for_missing_values(capsys, tmp_path, new):
    file = tmp_path / "a.txt"
    file.write_text("1 qid:1 1:nan\n")
    assert "use auto or +trees" in fail(capsys, "fit", str(file), "--model", new)
    argv = ["fit", str(file), "--model", new, "--transform", "standard"]
    assert "line 1, feature 1 has no value" in fail(capsys, *argv)


@pytest.mark.filterwarnings("ignore:n_quantiles")
@pytest.mark.parametrize("name", PIPELINES)
@holds_generator
def test_transforms_pass_missing_values_on(capsys, path, tmp_path, new, name, monkeypatch):
    monkeypatch.setitem(REGRESSORS, "trees", partial(REGRESSORS["trees"], max_iter=2))
    file = tmp_path / "a.txt"
    lines = Path(path("train.txt")).read_text().splitlines(keepends=True)
    lines[3] = re.sub(" 1:[^ ]+", " 1:nan", lines[3])
    file.write_text("".join(lines))
    argv = ["--ranker", "ndcg+trees", "--transform", name]
    assert main(["fit", str(file), "--model", new, *argv]) == 0
    assert "Written" in capsys.readouterr().out
