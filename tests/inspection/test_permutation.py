"""Permutation importance within queries."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skcalrank import NDCGRanker
from skcalrank.inspection import query_permutation_importance


@pytest.fixture
def problem(rng):
    # Column 0 decides, 1 says the same, 2 is noise, 3 is constant in each query.
    qid = np.repeat(np.arange(30), 8)
    signal = rng.normal(size=240)
    X = np.column_stack([signal, signal, rng.normal(size=240), qid % 7])
    return X, (signal > 0.8).astype(int) + (signal > 0), qid


class Product:
    """A model in which a column of queries turns the order around."""

    def predict(self, X):
        return np.asarray(X[:, 0] * np.where(X[:, 3] > 2, 1, -1), dtype=float)


def test_groups_are_shuffled_together(problem):
    X, y, qid = problem
    model = NDCGRanker().fit(X, y, qid)
    single = query_permutation_importance(model, X, y, qid, random_state=0)
    assert single.names == [0, 1, 2, 3]
    assert single.of_queries.shape == (4, 30)
    # Each of the two leaves the other one.
    both = query_permutation_importance(
        model, X, y, qid, groups={"signal": [0, 1], "rest": [2, 3]}, random_state=0
    )
    assert both.importances[0] > 2 * single.importances[:2].max()
    assert abs(both.importances[1]) < 0.02 < both.importances[0] - 5 * both.errors[0]
    np.testing.assert_allclose(both.importances, both.of_queries.mean(axis=1))
    errors = both.of_queries.std(axis=1, ddof=1) / np.sqrt(30)
    np.testing.assert_allclose(both.errors, errors)


def test_the_table_is_sorted(problem):
    pytest.importorskip("pandas")
    X, y, qid = problem
    shuffled = query_permutation_importance(
        NDCGRanker().fit(X, y, qid),
        *(X, y, qid),
        groups={"rest\n": [2, 3], ("signal", 1): [0, 1]},
        random_state=0,
    )
    table, (rest, signal) = shuffled.to_frame(), shuffled.importances
    assert table.index.tolist() == [("signal", 1), "rest\n"]
    np.testing.assert_array_equal(table, [[signal, shuffled.errors[1]], [rest, shuffled.errors[0]]])
    head, *lines = repr(shuffled).splitlines()
    assert head.split() == ["feature", "importance", "error"]
    assert [line.split()[-2] for line in lines] == [f"{signal:+.4f}", f"{rest:+.4f}"]
    assert lines[0].startswith("('signal', 1)  ")
    assert lines[1].startswith("rest  ")
    assert len({len(line) for line in [head, *lines]}) == 1


def test_values_stay_in_their_queries(problem):
    X, y, qid = problem
    seen = []

    class Spy:
        def predict(self, X, qid):
            seen.append(X)
            return X[:, 0]

    order = np.random.default_rng(0).permutation(240)
    query_permutation_importance(Spy(), X[order], y[order], qid[order], n_repeats=2)
    for number, shuffled in enumerate(seen[1:]):
        column = number // 2
        others = np.delete(shuffled, column, axis=1), np.delete(X[order], column, axis=1)
        assert np.array_equal(*others)
        assert not np.array_equal(shuffled, X[order])
        if column < 3:
            for query in range(30):
                rows = qid[order] == query
                assert sorted(shuffled[rows, column]) == sorted(X[order][rows, column])
        else:
            assert all(len(set(shuffled[qid[order] == q, 3])) == 1 for q in range(30))


def test_columns_of_queries_matter_through_others(problem):
    X, _, qid = problem
    y = (Product().predict(X) > 0).astype(int)
    found = query_permutation_importance(Product(), X, y, qid, measure="auc", random_state=0)
    assert found.importances[3] > 0.1
    assert found.importances[2] == 0


@pytest.mark.filterwarnings("ignore:Column '.' of X orders all documents by their labels")
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_are_shuffled_as_arrays(library, problem):
    other = pytest.importorskip(library)
    if library == "pyarrow":
        pytest.importorskip("pandas")
    X, y, qid = problem
    frame = getattr(other, "table" if library == "pyarrow" else "DataFrame")(dict(zip("abcd", X.T)))
    model = LinearRegression().fit(X, y)
    ranker = NDCGRanker(LinearRegression()).fit(frame, y, qid)
    expected = query_permutation_importance(ranker, frame, y, qid, random_state=0)
    assert expected.names == list("abcd")
    plain = NDCGRanker(LinearRegression()).fit(X, y, qid)
    found = query_permutation_importance(plain, X, y, qid, random_state=0)
    np.testing.assert_allclose(found.of_queries, expected.of_queries, atol=1e-12)
    assert len(query_permutation_importance(model, X, y, qid, groups={"a": [0]}).names) == 1


def test_a_group_may_be_an_iterator(problem):
    X, y, qid = problem
    options = {"measure": "ndcg@5", "n_repeats": 2, "random_state": 0}
    model = LinearRegression().fit(X, y)
    expected = query_permutation_importance(model, X, y, qid, groups={"a": [0, 1]}, **options)
    groups = {"a": (column for column in (0, 1))}
    found = query_permutation_importance(model, X, y, qid, groups=groups, **options)
    np.testing.assert_array_equal(found.of_queries, expected.of_queries)
    assert expected.importances[0] > 0
    for wrong in (["price"], {}, {"a": 0}, {"a": "price"}):
        with pytest.raises(ValueError, match="groups must be a mapping of names to lists of col"):
            query_permutation_importance(model, X, y, qid, groups=wrong)


def test_errors(problem):
    X, y, qid = problem
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"groups\['a'\] must have columns of X, got 'price'"):
        query_permutation_importance(model, X, y, qid, groups={"a": ["price"]})
    with pytest.raises(ValueError, match="n_repeats"):
        query_permutation_importance(model, X, y, qid, n_repeats=0)
    with pytest.raises(ValueError, match="X must be an array or a frame"):
        query_permutation_importance(model, X.tolist(), y, qid)
