"""What is exported does not depend on the form of the table, and scores every form alike."""

import json

import numpy as np
import pytest
from boosting_cases import FIRST, boosted
from tables import FORMS, labels, made_columns

from skcalrank import NDCGRanker
from skcalrank.export import to_json, to_sql
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns, QuantileHinges

COLUMNS = made_columns(80)
Y, QID = labels(COLUMNS)

# No format holds what is made of dates, durations and text.
DROP = dict.fromkeys(("listed", "seen", "took", "title"), "drop")


def linear(form):
    ranker = make_query_pipeline(LinearColumns(QuantileHinges(), columns=DROP), NDCGRanker())
    return ranker.fit(FORMS[form](COLUMNS), Y, QID)


def texts(form):
    trees = boosted(FIRST, n_estimators=5, columns=DROP).fit(FORMS[form](COLUMNS), Y, QID)
    views = linear(form)
    return json.loads(to_json(trees)), json.loads(to_json(views)), to_sql(views)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "reordered"])
def test_every_form_of_fit_is_exported_alike(form):
    assert texts(form) == texts("records")


@pytest.mark.parametrize("form", [form for form in FORMS if form != "records"])
def test_a_database_scores_every_form_alike(form):
    duckdb = pytest.importorskip("duckdb")
    ranker = linear("records")
    # A database does not calculate with truth values.
    table = "(SELECT * REPLACE (CAST(used AS INTEGER) AS used) FROM products)"
    with duckdb.connect() as database:
        database.register("products", FORMS[form](COLUMNS))
        rows = database.execute(f"SELECT {to_sql(ranker)} FROM {table}").fetchall()
    expected = ranker.predict(FORMS["records"](COLUMNS))
    np.testing.assert_allclose(np.array(rows).ravel(), expected, rtol=1e-12)


@pytest.mark.parametrize("name", DROP)
def test_a_column_that_no_format_holds_is_named(name):
    kept = {other: kind for other, kind in DROP.items() if other != name}
    table = FORMS["records"](COLUMNS)
    ranker = make_query_pipeline(LinearColumns(columns=kept), NDCGRanker()).fit(table, Y, QID)
    with pytest.raises(ValueError, match=f"'?{name}'? "):
        to_json(ranker)
