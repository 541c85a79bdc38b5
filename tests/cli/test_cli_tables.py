"""A table with columns of every kind is one table, as CSV and as Parquet."""

import re
from datetime import timedelta
from functools import partial

import numpy as np
import pytest
from cases import holds_generator
from commands import fail, run, table

from skcalrank._cli import main
from skcalrank._cli._rankers import REGRESSORS, make_ranker, of_table
from skcalrank.metrics import ndcg_score
from skcalrank.persistence import load_model
from skcalrank.preprocessing import LinearColumns, TableEncoder
from skcalrank.stacking import TabularRanker

pytest.importorskip("skops")
pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

KINDS = {
    "price": "number",
    "brand": "category",
    "zip": "category",
    "size": "category",
    "title": "text",
    "listed": "date",
    "stock": "flag",
    "sku": "identifier",
}
WORDS = ["red", "blue", "new", "old", "cheap", "fast", "big", "small", "round", "soft", "hard"]

# What the reader says of these columns has a test of its own.
quiet = pytest.mark.filterwarnings(
    "ignore:Column 'sku' of X is left out", "ignore:Column 'listed' of X holds text"
)


def offers(seed):
    """Offers of shops: codes that look like numbers, and gaps in most columns."""
    rng = np.random.default_rng(seed)
    n_rows = 240
    frame = pandas.DataFrame(
        {
            "price": rng.lognormal(3, 1, n_rows).round(2),
            "brand": rng.choice(list("abcdefgh"), n_rows),
            "zip": rng.choice(["01234", "00501", "90210"], n_rows),
            "size": rng.choice(["36", "38", "XL"], n_rows),
            "title": [" ".join(rng.choice(WORDS, 5)) for _ in range(n_rows)],
            "listed": pandas.Timestamp("2025-01-01")
            + pandas.Series([timedelta(days=int(day)) for day in rng.integers(0, 700, n_rows)]),
            "stock": pandas.array(rng.choice([True, False, None], n_rows), dtype="boolean"),
            "sku": [f"s{number}" for number in rng.integers(10**9, size=n_rows)],
        }
    )
    frame["label"] = 1 * (frame["brand"] == "a") + (frame["size"] == "XL")
    frame["label"] += frame["title"].str.contains("cheap")
    frame["qid"] = [f"q{row // 12}" for row in range(n_rows)]
    for name in ("price", "brand", "title", "listed"):
        frame.loc[rng.integers(0, n_rows, 12), name] = None
    return frame


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of the same offers in two formats; in one, all sizes look like numbers."""
    folder, files = tmp_path_factory.mktemp("offers"), {}
    train, test = offers(0), offers(1)
    frames = {"train": train, "test": test, "digits": test.assign(size="38")}
    for name, frame in frames.items():
        for kind in ("csv", "parquet"):
            files[name, kind] = str(folder / f"{name}.{kind}")
        frame.to_csv(files[name, "csv"], index=False)
        frame.to_parquet(files[name, "parquet"])
    return files


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setitem(REGRESSORS, "trees", partial(REGRESSORS["trees"], max_iter=20))
    monkeypatch.setattr("skcalrank._cli._rankers.TabularRanker", partial(TabularRanker, trees=None))


@quiet
@holds_generator
@pytest.mark.parametrize("ranker", ["ndcg", "ndcg+trees", "auto"])
def test_formats_are_read_alike(capsys, files, tmp_path, ranker):
    scores = []
    for fitted in ("csv", "parquet"):
        new = str(tmp_path / f"{fitted}.skops")
        run(capsys, "fit", files["train", fitted], "--model", new, "--ranker", ranker)
        for name in ("test", "digits"):
            for applied in ("csv", "parquet"):
                for chunks in ([], ["--chunk-rows", "20"]):
                    out = run(capsys, "predict", new, files[name, applied], *chunks)
                    scores.append((name, out))
    of_test, of_digits = ({out for n, out in scores if n == name} for name in ("test", "digits"))
    assert len(of_test) == len(of_digits) == 1
    assert of_test != of_digits
    assert len(set(of_test.pop().split())) > 100


@pytest.mark.filterwarnings("ignore:Most queries of")
@quiet
def test_columns_are_told(capsys, files, new):
    out = " ".join(run(capsys, "fit", files["train", "csv"], "--model", new).split())
    listing = (
        "price (number), brand (category, 8 levels), zip, size (category, 3 levels), title (text), "
        "listed (date), stock (flag); left out: sku (identifier)"
    )
    assert "8 features, in" in out
    assert f"Columns: {listing}." in out
    assert load_model(new)[0].encoder_.kinds_ == KINDS
    assert listing in run(capsys, "info", new)
    for argv in ([files["train", "csv"]], [files["train", "parquet"], files["test", "csv"]]):
        out = run(capsys, "compare", *argv, "--rankers", "ndcg", "--measures", "ndcg@10")
        assert f"Columns: {listing}." in " ".join(out.split())


@pytest.mark.filterwarnings("ignore:Column 'code' of X holds text")
def test_columns_that_folds_read_otherwise_are_told(capsys, tmp_path, rng):
    columns = {
        "x": rng.random(120),
        "code": [str(k) for k in range(120)],
        "qid": np.arange(120) // 6,
    }
    frame = pandas.DataFrame({**columns, "label": rng.integers(0, 2, 120)})
    frame.to_parquet(tmp_path / "t.parquet")
    options = ["--rankers", "ndcg", "--measures", "ndcg@10"]
    out = " ".join(run(capsys, "compare", str(tmp_path / "t.parquet"), *options).split())
    assert "Columns: x, code (number). Some folds read code as identifier." in out
    out = run(capsys, "compare", str(tmp_path / "t.parquet"), *options, "--columns", "code=number")
    assert "Some folds" not in out


def test_many_columns_are_told_in_short(capsys, tmp_path, new, rng):
    frame = pandas.DataFrame(rng.random((60, 30)), columns=[f"f{k}" for k in range(30)])
    frame.assign(qid=np.arange(60) // 6, label=np.arange(60) % 2).to_csv(
        tmp_path / "t.csv", index=False
    )
    for chunks in ([], ["--chunk-rows", "20"]):
        out = run(capsys, "fit", str(tmp_path / "t.csv"), "--model", new, *chunks)
        assert "Columns: f0, f1, f2, ..., f29 (number)." in out


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "command",
    [
        "fit",
        "compare",
    ],
)
def test_warnings_name_options_once(capsys, files, new, tmp_path, command):
    frame = pandas.read_parquet(files["train", "parquet"])
    frame["row"], frame["sold"], frame["query"] = np.arange(len(frame)), frame.label, frame.qid
    file = str(tmp_path / "t.csv")
    frame.to_csv(file, index=False)
    more = (
        ["--model", new]
        if command == "fit"
        else ["--rankers", "ndcg", "ndcg+trees", "--folds", "3"]
    )
    assert main([command, file, *more]) == 0
    err = re.sub("such as '[^']*'", "such as VALUE", capsys.readouterr().err)
    lines = err.replace("skcalrank: warning: ", "").splitlines()
    assert lines == [
        "Column 'listed' holds text such as VALUE, which is read as dates. Say so by --columns "
        "listed=date, or set --columns listed=category.",
        "Column 'sku' is left out: 100% of its texts, such as VALUE, are distinct, as "
        "identifiers are. To keep it, set --columns sku=category.",
        "Column 'row' holds consecutive integers, each once, as numbers of rows do. Leave it out "
        "with --drop row unless it is a feature.",
        "Column 'query' is left out: it holds the qid. To keep it, set --columns query=category.",
        "Column 'sold' orders all documents by their labels, or by whether a label is above some "
        "value, without an error. If it is known only after the label, as clicks or sales are, "
        "leave it out: --drop sold.",
    ]
    assert main([command, file, *more, "--drop", "row", "sold", "query", "sku", "listed"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("default")
def test_a_column_of_new_levels_is_told(capsys, files, new, tmp_path):
    frame = pandas.read_parquet(files["test", "parquet"])
    file = str(tmp_path / "t.parquet")
    frame.assign(brand=frame.brand.str.upper()).to_parquet(file)
    run(capsys, "fit", files["train", "parquet"], "--model", new, "--drop", "sku")
    assert main(["predict", new, file]) == 0
    assert "Column 'brand' must have levels that fit has seen" in capsys.readouterr().err
    argv = [files["train", "parquet"], file, "--drop", "sku", "--rankers", "ndcg", "ndcg+trees"]
    assert main(["compare", *argv, "--measures", "ndcg"]) == 0
    assert capsys.readouterr().err.count("Column 'brand'") == 1


def test_who_reads_the_table():
    assert make_ranker("auto") is not of_table(make_ranker("auto"), "log1p", {})
    assert [name for name, _ in of_table(make_ranker("ndcg"), None, {}).steps] == [
        "columns",
        "ranker",
    ]
    for name, transform, columns in (
        ("ndcg", None, LinearColumns),
        ("ndcg", "query", LinearColumns),
        ("ndcg+forest", "query", LinearColumns),
        ("ndcg+forest", None, TableEncoder),
    ):
        step = of_table(make_ranker(name), transform, {})[0]
        assert isinstance(step, columns)
    auto = make_ranker("auto")
    assert of_table(auto, None, {}) is auto


@pytest.mark.filterwarnings("ignore:Most queries of")
@quiet
@pytest.mark.parametrize("package", ["lightgbm", "xgboost", "catboost"])
def test_other_packages_take_categories(capsys, files, tmp_path, package):
    pytest.importorskip(package)
    frame = pandas.read_parquet(files["train", "parquet"]).drop(columns="sku")
    X, y, qid = frame.drop(columns=["label", "qid"]), frame["label"], frame["qid"]
    ranker = make_ranker(package).fit(X, y, qid)
    # Levels that fit has not seen are missing, as in the column without a value.
    new, none = (ranker.predict(X.assign(size=level)) for level in ("new", None))
    assert new.tolist() == none.tolist()
    assert ranker.predict(X).tolist() != none.tolist()
    argv = [files["train", "csv"], files["test", "csv"], "--measures", "ndcg@10"]
    heads, rows = table(run(capsys, "compare", *argv, "--rankers", package))
    assert float(rows["ndcg@10"][heads[0].index(package)].split("±")[0]) > 0.9
    model = str(tmp_path / "m.skops")
    run(capsys, "fit", files["train", "csv"], "--model", model, "--ranker", package)
    assert "ExternalRanker" in run(capsys, "info", model)
    scores = np.array(run(capsys, "predict", model, files["test", "csv"]).split(), dtype=float)
    test = pandas.read_csv(files["test", "csv"])
    assert ndcg_score(test["label"], scores, qid=test["qid"], k=10) > 0.9


@quiet
@holds_generator
@pytest.mark.parametrize("ranker", ["ndcg", "ndcg+trees", "auto"])
def test_kinds_that_are_set_by_hand(capsys, files, tmp_path, ranker):
    # Text of digits in Parquet looks like numbers in CSV, where it is a category if it is said.
    scores, said = set(), ["--columns", "code=category", "sku=drop"]
    frame = pandas.read_parquet(files["train", "parquet"])
    frame["code"] = frame["zip"].map({"01234": "1", "00501": "2", "90210": "3"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for fitted in ("csv", "parquet"):
        file, new = str(tmp_path / f"t.{fitted}"), str(tmp_path / f"{fitted}.skops")
        out = run(capsys, "fit", file, "--model", new, "--ranker", ranker, *said)
        assert "code (category, 3 levels)" in " ".join(out.split())
        assert out.split("left out: ")[1].split(".")[0] == "sku (drop)"
        scores |= {
            run(capsys, "predict", new, str(tmp_path / f"t.{k}")) for k in ("csv", "parquet")
        }
    assert len(scores) == 1
    out = run(capsys, "compare", file, "--rankers", ranker, "--measures", "ndcg@10", *said)
    assert "sku (drop)" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--columns", "brand"], "'brand' is not NAME=KIND"),
        (["--columns", "brand=colour"], "must be one of"),
        (["--columns", "brnd=text"], "got 'brnd'"),
        (["--columns", "brand=text", "--chunk-rows", "20"], "columns in chunks, are numbers"),
    ],
)
def test_kinds_that_cannot_be_set(capsys, files, new, options, words):
    assert words in fail(capsys, "fit", files["train", "csv"], "--model", new, *options)
