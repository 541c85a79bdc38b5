"""Files that any library writes of one table give one model, and one score for each row."""

import pytest
from commands import fail, run
from tables import FORMS, labels, made_columns

pytest.importorskip("skops")
pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

FRAMES = [form for form in FORMS if form != "records"]

pytestmark = pytest.mark.filterwarnings("ignore:Column .* of X holds text such as")


def written(columns, form, path):
    """Write a form of the table as its library does."""
    label, qid = labels(columns)
    table = FORMS[form]({**columns, "label": label.tolist(), "qid": [f"q{k}" for k in qid]})
    in_csv = path.suffix == ".csv"
    if isinstance(table, pyarrow.Table):
        from pyarrow import csv, parquet

        (csv.write_csv if in_csv else parquet.write_table)(table, path)
    elif not isinstance(table, pandas.DataFrame):
        (table.write_csv if in_csv else table.write_parquet)(path)
    elif in_csv:
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    return str(path)


@pytest.fixture(scope="module")
def columns():
    return made_columns(120)


@pytest.mark.product
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("form", FRAMES)
def test_one_table_in_files_of_every_library(capsys, columns, tmp_path, form, suffix):
    if suffix == ".csv":  # in which a duration is text
        columns = {name: values for name, values in columns.items() if name != "took"}
    plain = written(columns, "inferred", tmp_path / "plain.parquet")
    other = written(columns, form, tmp_path / f"other{suffix}")
    scores, model = set(), str(tmp_path / "m.skops")
    # The order of columns changes the last digits of what is fitted.
    for train in [plain] if form == "reordered" else [plain, other]:
        run(capsys, "fit", train, "--model", model)
        scores |= {run(capsys, "predict", model, file) for file in (plain, other)}
    assert len(scores) == 1
    assert len(set(scores.pop().split())) > 100


def test_what_a_format_cannot_hold_is_named(capsys, columns, tmp_path):
    train = written(columns, "inferred", tmp_path / "t.parquet")
    other = written(columns, "inferred", tmp_path / "t.csv")
    model = str(tmp_path / "m.skops")
    run(capsys, "fit", train, "--model", model)
    message = fail(capsys, "predict", model, other)
    assert "Column 'took' must hold durations, as in fit, got '0 days" in message
