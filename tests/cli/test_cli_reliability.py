"""Scores with a unit, and runs that are cut, are those of the classes."""

import numpy as np
import pytest
from cases import holds_generator
from commands import COLUMNS, fail, run
from sklearn.datasets import dump_svmlight_file
from sklearn.frozen import FrozenEstimator

from skcalrank import (
    CalibratedRankerCV,
    GuaranteedCutoff,
    NDCGRanker,
    load_digits_queries,
    load_letor,
)
from skcalrank.persistence import load_model

pytest.importorskip("skops")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Paths of a training, a judged and a test file, of other queries each."""
    X, y, qid = load_digits_queries(n_queries=90, n_documents=8)
    folder = tmp_path_factory.mktemp("judged")
    for part, name in enumerate(("train", "judged", "test")):
        rows = qid // 30 == part
        file = str(folder / f"{name}.txt")
        dump_svmlight_file(X[rows, 20:30], y[rows], file, zero_based=False, query_id=qid[rows])
    return lambda name: str(folder / f"{name}.txt")


@pytest.mark.long
@holds_generator
@pytest.mark.parametrize("target", ["relevant", "grade", "recall"])
def test_models_with_a_unit_and_cut_runs(capsys, judged, new, target):
    option = [] if target == "relevant" else [target]
    run(capsys, "fit", judged("train"), "--model", new, "--calibrate", *option)
    model = load_model(new)
    parts = [load_letor(judged(name)) for name in ("train", "judged", "test")]
    expected = CalibratedRankerCV(NDCGRanker(), target).fit(*parts[0])
    np.testing.assert_allclose(
        model.predict(parts[2].X, parts[2].qid), expected.predict(parts[2].X, parts[2].qid)
    )
    lines = run(capsys, "predict", new, judged("test")).split()
    np.testing.assert_array_equal(np.array(lines, float), model.predict(*parts[2][::2]))
    assert f"target           '{target}'" in run(capsys, "info", new)
    options = ["--format", "trec", "--alpha", "0.25", "--cutoff", judged("judged")]
    text = run(capsys, "predict", new, judged("test"), *options)
    cutoff = GuaranteedCutoff(FrozenEstimator(model), "recall", 0.25).fit(*parts[1])
    kept = cutoff.predict_set(parts[2].X, parts[2].qid)
    rows = [int(line.split()[2]) - 1 for line in text.splitlines()]
    assert sorted(rows) == np.flatnonzero(kept).tolist()
    assert 0 < len(rows) < len(kept)


@holds_generator
def test_tables_of_any_kind_have_probabilities(capsys, frames, tmp_path, new):
    for name, frame in frames.items():
        table = frame.assign(kind=np.where(frame.f0 > 0, "new", "old"))
        table["grade"] = (table.grade > 1) * 1
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    path = str(tmp_path / "train.csv")
    run(capsys, "fit", path, "--model", new, "--drop", "docid", "--calibrate", *COLUMNS)
    test = str(tmp_path / "test.csv")
    p = np.array(run(capsys, "predict", new, test, *COLUMNS).split(), float)
    assert ((p > 0) & (p < 1)).all()
    assert "kind (category" in run(capsys, "info", new)


def test_what_cannot_be_is_refused_by_the_names_of_options(capsys, path, judged, new):
    argv = ["fit", path("train.txt"), "--model", new, "--calibrate"]
    fail(capsys, "leave --chunk-rows out", *argv, "--chunk-rows", "10")
    run(capsys, *argv, "dcg")
    predict = ["predict", new, path("test.txt"), "--cutoff"]
    fail(capsys, "--cutoff leaves documents out", *predict, path("train.txt"))
    predict += [judged("judged"), "--format", "trec"]
    fail(capsys, "needs at least 999 queries", *predict, "--alpha", "0.001", "--loss", "best")
