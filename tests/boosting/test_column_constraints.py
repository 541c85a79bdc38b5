"""Constraints on columns, by name and number, of arrays and of tables."""

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, made_queries
from scipy.sparse import csr_matrix

from skcalrank import BoostedRanker, NDCGRanker

every_engine = pytest.mark.parametrize("engine", ENGINES)


def boosted(engine, **params):
    given = {"n_estimators": 25, "validation_fraction": None, "n_jobs": 1, "learning_rate": 0.3}
    return BoostedRanker(engine=engine, **given | {"min_samples_leaf": 5} | params)


def table(n_queries=60, seed=0):
    """Rows of a category, dates, numbers of different kinds and a constant; labels and queries."""
    X, y, qid = made_queries(n_queries, seed)
    kinds = np.array(["soft", "hard", "old"])[(np.abs(X[:, 4]) * 2).astype(int) % 3]
    days = np.datetime64("2026-01-01") + (100 * np.abs(X[:, 5])).astype(int)
    rows = [
        {"kind": str(kind), "day": day.item(), "one": 1, "wild": bool(x[3] > 0)}
        | {"a": x[0], "b": x[1], "c": x[2]}
        for kind, day, x in zip(kinds, days, X)
    ]
    return rows, y, qid


def changes(ranker, rows, name, values):
    """The differences of scores from one value of a column to the next, for each row."""
    scores = [ranker.predict([row | {name: value} for row in rows]) for value in values]
    return np.diff(scores, axis=0)


STEPS = np.linspace(-2.5, 2.5, 12).tolist()


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_go_one_way_with_a_column_of_a_table(engine, sign, n_models):
    rows, y, qid = table()
    # Grades rise with the size of b, either way.
    free = boosted(engine, n_models=n_models).fit(rows, y, qid)
    assert (sign * changes(free, rows[:50], "b", STEPS)).min() < -0.01
    bound = boosted(engine, n_models=n_models, monotonic_cst={"b": sign, "kind": 0})
    bound.fit(rows, y, qid)
    assert (sign * changes(bound, rows[:50], "b", STEPS)).min() >= -1e-6
    others = changes(bound, rows[:50], "a", STEPS)
    assert others.max() > 0.01


@every_engine
def test_columns_have_names_numbers_or_places(engine):
    rows, y, qid = table()
    in_order = [0, 0, 0, 1, 0, -1, 0]
    forms = [{"wild": 1, "b": -1}, {3: 1, 5: -1}, in_order, np.array(in_order, dtype=float)]
    scores = [boosted(engine, monotonic_cst=cst).fit(rows, y, qid).predict(rows) for cst in forms]
    for others in scores[1:]:
        np.testing.assert_array_equal(others, scores[0])


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("as_matrix", [np.asarray, csr_matrix], ids=["array", "sparse"])
def test_columns_of_arrays_have_numbers(engine, as_matrix):
    if as_matrix is csr_matrix and engine == "sklearn":
        pytest.skip("takes no sparse matrix")
    X, y, qid = made_queries(60, seed=0)
    ranker = boosted(engine, monotonic_cst={1: 1}).fit(as_matrix(X), y, qid)
    scores = []
    for step in STEPS:
        moved = X[:50].copy()
        moved[:, 1] = step
        scores.append(ranker.predict(as_matrix(moved)))
    assert np.diff(scores, axis=0).min() >= -1e-6


@every_engine
@pytest.mark.filterwarnings("ignore:Trees found no split")
def test_a_single_column_has_a_constraint(engine):
    X, y, qid = made_queries(60, seed=0)
    ranker = boosted(engine, monotonic_cst=[-1], interaction_cst=[{0}]).fit(X[:, :1], y, qid)
    assert np.diff(ranker.predict(np.array(STEPS)[:, None])).max() <= 1e-6


def interaction(ranker, rows, a, b):
    """The largest change that two columns make together beyond those of each."""
    size = 40
    firsts, seconds = rows[:size], rows[size : 2 * size]

    def scores(*names):
        swapped = [
            row | {name: other[name] for name in names} for row, other in zip(firsts, seconds)
        ]
        return ranker.predict(swapped)

    return np.abs(scores(a, b) - scores(a) - scores(b) + scores()).max()


SETS = ["none", "one set", "lists", "tuple", "pairwise"]
INTERACTIONS = [
    # the sets, columns that must not interact, columns that do
    ("no_interactions", [("a", "b"), ("c", "wild"), ("kind", "a"), ("day", "c")], []),
    ([{"c", "wild"}], [("c", "a"), ("wild", "b"), ("kind", "c")], [("c", "wild"), ("a", "b")]),
    ([["kind", "day"], ["c", 3], ("a", "b")], [("kind", "c"), ("day", "a")], [("c", "wild")]),
    (({"kind", "c", "wild"}, {"day"}), [("kind", "a"), ("day", "wild")], [("c", "wild")]),
    ("pairwise", [], [("c", "a"), ("a", "b")]),
]


@pytest.mark.product
@every_engine
@pytest.mark.parametrize(
    ("cst", "apart", "together"),
    INTERACTIONS,
    ids=["none", "one set", "lists", "tuple", "pairwise"],
)
def test_columns_of_different_sets_do_not_interact(engine, cst, apart, together):
    rows, y, qid = table()
    ranker = boosted(engine, interaction_cst=cst).fit(rows, y, qid)
    assert all(interaction(ranker, rows, *pair) < 1e-5 for pair in apart)
    assert all(interaction(ranker, rows, *pair) > 1e-2 for pair in together)


@every_engine
def test_without_constraints_columns_interact(engine):
    rows, y, qid = table()
    ranker = boosted(engine).fit(rows, y, qid)
    for pair in [("c", "wild"), ("kind", "a"), ("day", "c"), ("a", "b")]:
        assert interaction(ranker, rows, *pair) > 1e-2


@every_engine
def test_all_columns_in_one_set_are_no_constraint(engine):
    rows, y, qid = table()
    plain = boosted(engine).fit(rows, y, qid).predict(rows)
    for cst in ([set(rows[0])], []):
        scores = boosted(engine, interaction_cst=cst).fit(rows, y, qid).predict(rows)
        np.testing.assert_array_equal(scores, plain)


def test_columns_that_are_left_out_may_have_constraints():
    rows, y, qid = table()
    plain = boosted(FIRST).fit(rows, y, qid).predict(rows)
    for cst in ({"one": 1}, {2: -1}):
        assert np.array_equal(
            boosted(FIRST, monotonic_cst=cst).fit(rows, y, qid).predict(rows), plain
        )
    sets = [{"one"}, {"kind", "day", "wild", "a", "b", "c"}]
    scores = boosted(FIRST, interaction_cst=sets).fit(rows, y, qid).predict(rows)
    np.testing.assert_array_equal(scores, plain)


REFUSED = [
    ({"monotonic_cst": {"kind": 1}}, r"monotonic_cst must be 0 .* 'kind', which holds a category"),
    ({"monotonic_cst": {"day": -1}}, r"got -1 for column 'day', which holds a date"),
    ({"monotonic_cst": {"price": 1}}, r"monotonic_cst must have names .* got 'price': X has .*'a'"),
    ({"monotonic_cst": {7: 1}}, r"monotonic_cst must have names .* got 7"),
    ({"monotonic_cst": {-1: 1}}, r"monotonic_cst must have names .* got -1"),
    ({"monotonic_cst": {True: 1}}, r"monotonic_cst must have names .* got True"),
    ({"monotonic_cst": {"a": 2}}, r"monotonic_cst must be 1 .* got 2 for column 'a'"),
    ({"monotonic_cst": {"a": "up"}}, r"monotonic_cst must be 1 .* got 'up' for column 'a'"),
    ({"monotonic_cst": [1, 0]}, r"monotonic_cst must be a dict .* each of the 7 columns"),
    ({"monotonic_cst": "a"}, r"monotonic_cst must be a dict .* got 'a'"),
    ({"monotonic_cst": 1}, r"monotonic_cst must be a dict .* got 1"),
    ({"interaction_cst": "all"}, r"interaction_cst must be 'pairwise', .* got 'all'"),
    ({"interaction_cst": ["ab", "c"]}, r"interaction_cst must be 'pairwise', .* got \['ab', 'c'\]"),
    ({"interaction_cst": [0, 1]}, r"interaction_cst must be 'pairwise', .* got \[0, 1\]"),
    ({"interaction_cst": iter([[0], [1]])}, r"interaction_cst must be 'pairwise', .* got <list_it"),
    ({"interaction_cst": [iter([0]), [1]]}, r"interaction_cst must be 'pairwise', .* got \[<list_"),
    ({"interaction_cst": 3}, r"interaction_cst must be 'pairwise', .* got 3"),
    ({"interaction_cst": [["a", "price"]]}, r"interaction_cst must have names .* got 'price'"),
    ({"monotonic_cst": {"a": 1}, "start": NDCGRanker(), "validation_fraction": 0.2}, "with start="),
]


@pytest.mark.parametrize(("params", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_constraints_that_no_column_can_obey_are_refused(params, message):
    rows, y, qid = table(8)
    ranker = boosted(FIRST, **params)
    with pytest.raises(ValueError, match=message):
        ranker.fit(rows, y, qid)
    assert not hasattr(ranker, "booster_")


def test_numbers_of_arrays_that_do_not_exist_are_refused():
    X, y, qid = made_queries(8, seed=0)
    with pytest.raises(ValueError, match="got 'a': X has 6 columns, numbered from 0"):
        boosted(FIRST, monotonic_cst={"a": 1}).fit(X, y, qid)
