"""Propensities of positions: what identifies them, the estimates and their errors."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from skcalrank import AggregatedRanker, ClickSessions, PreferenceTarget, sample_sessions
from skcalrank.aggregation import fit_propensities, position_based
from skcalrank.measures import DCG, NDCG
from skcalrank.metrics import measure_score

THETA = np.array([1.0, 0.5, 0.25, 0.2])


def counted(cells, n_rows, qid=None):
    """Return sessions of one document each: (row, position, impressions, clicks)."""
    shown, position, clicked = [], [], []
    for row, k, n, c in cells:
        shown += [row] * n
        position += [k] * n
        clicked += [True] * c + [False] * (n - c)
    order = np.random.default_rng(0).permutation(len(shown))
    return ClickSessions.unchecked(
        np.zeros(n_rows) if qid is None else np.asarray(qid),
        np.array(shown)[order],
        np.arange(len(shown) + 1),
        np.array(clicked)[order],
        np.array(position)[order],
    )


def expectation(theta=THETA, relevance=(0.8, 0.4, 0.2), n=100):
    """Return sessions in which each document was shown everywhere, with the expected clicks."""
    cells = [
        (row, k, n, round(n * t * r))
        for row, r in enumerate(relevance)
        for k, t in enumerate(theta, start=1)
    ]
    return counted(cells, len(relevance))


def by_iteration(y, n_steps=4000):
    """Return the estimate by the iteration of Hunter (2004) for competitions."""
    n = np.zeros((len(y), y.position.max()))
    c = n.copy()
    np.add.at(n, (y.shown_rows, y.position - 1), 1)
    np.add.at(c, (y.shown_rows, y.position - 1), y.clicked)
    several = (n > 0).sum(axis=1) > 1
    n, c = n[several], c[several]
    theta = np.ones(n.shape[1])
    for _ in range(n_steps):
        theta = c.sum(axis=0) / (n * (c.sum(axis=1) / (n @ theta))[:, None]).sum(axis=0)
        theta /= theta[0]
    return theta


# -- estimates -----------------------------------------------------------------------------


def test_expected_clicks_give_the_propensities():
    # The gradient is linear in the clicks: if it is 0 at their expectation, it is unbiased.
    found = fit_propensities(expectation())
    np.testing.assert_allclose(found.propensity, THETA, rtol=1e-7)
    assert found.group.tolist() == [0, 1, 2, 3]
    assert found.standard_error[0] == 0


def test_estimates_are_those_of_another_algorithm(rng):
    qid = np.repeat(np.arange(20), 6)
    y = sample_sessions(
        rng.uniform(0.2, 0.9, 120), qid, n_sessions=800, model="position", random_state=0
    )
    np.testing.assert_allclose(fit_propensities(y).propensity, by_iteration(y), rtol=1e-4)
    rows = rng.permutation(120)
    moved = fit_propensities(y[rows])
    np.testing.assert_allclose(moved.propensity, fit_propensities(y).propensity, rtol=1e-6)
    np.testing.assert_allclose(moved.standard_error, fit_propensities(y).standard_error, rtol=1e-6)


def test_errors_are_standard_errors(rng):
    qid = np.repeat(np.arange(100), 6)
    p, z = rng.uniform(0.1, 0.9, 600), []
    theta = 1 / np.arange(1, 7)
    for seed in range(25):
        y = sample_sessions(
            p, qid, n_sessions=2000, order_scores=2 * p, model="position", random_state=seed
        )
        found = fit_propensities(y)
        z.append(((found.propensity - theta) / np.where(theta < 1, found.standard_error, 1))[1:])
    assert 0.8 < np.sqrt(np.mean(np.square(z))) < 1.2
    assert np.abs(np.mean(z, axis=0)).max() < 1


def test_errors_of_one_query_are_those_of_rare_clicks():
    # Shares of 400 and 200 clicks at positions with as many impressions: a binomial.
    found = fit_propensities(counted([(0, 1, 10_000, 400), (0, 2, 10_000, 200)], 1))
    assert found.standard_error[1] == pytest.approx(0.5 * np.sqrt(1 / 400 + 1 / 200))


@pytest.mark.long
@pytest.mark.parametrize(("n_queries", "least"), [(2, 0.9), (5, 0.9), (20, 0.93)])
def test_errors_of_few_queries_are_those_of_students_distribution(n_queries, least):
    # Errors of 60 logs at four positions; benchmarks/clicks.py has 1,000. Before: .70 for two.
    theta, hits = 1 / np.arange(1, 6), []
    for seed in range(60):
        p = np.random.default_rng(seed).uniform(0.1, 0.9, 5 * n_queries)
        qid = np.repeat(np.arange(n_queries), 5)
        y = sample_sessions(
            p, qid, n_sessions=1000, order_scores=2 * p, model="position", random_state=seed
        )
        found = fit_propensities(y)
        hits.append(np.abs(found.propensity - theta)[1:] <= 1.96 * found.standard_error[1:])
    assert np.mean(hits) >= least - 2.6 * np.sqrt(0.05 * 0.95 / 60)


def test_influences_of_queries_are_the_changes_without_them(rng):
    qid = np.repeat(np.arange(25), 4)
    p = rng.uniform(0.1, 0.9, 100)
    y = sample_sessions(
        p, qid, n_sessions=2000, order_scores=2 * p, model="position", propensity=THETA,
        random_state=0,
    )  # fmt: skip
    for method, X in (("swap", None), ("alternating", p[:, None])):

        def fitted(rows, method=method, X=X):
            return fit_propensities(y[rows], None if X is None else X[rows], method=method)

        whole = fitted(np.arange(100))
        assert sorted(whole.query.tolist()) == list(range(25))
        squares = (whole.influence**2).sum(axis=0)
        np.testing.assert_allclose(np.sqrt(squares) * whole.propensity, whole.standard_error)
        without = [np.log(fitted(np.flatnonzero(qid != q)).propensity) for q in whole.query]
        change = (np.log(whole.propensity) - without)[:, 1:].ravel()
        slope, corr = (
            np.polyfit(change, whole.influence[:, 1:].ravel(), 1)[0],
            np.corrcoef(change, whole.influence[:, 1:].ravel())[0, 1],
        )
        assert corr > 0.98
        assert 0.9 < slope < 1.2


def test_powers_of_propensities_have_the_errors_of_powers():
    fitted = fit_propensities(counted([(0, 1, 400, 200), (0, 2, 400, 50)], 1))
    assert fitted.query.tolist() == [None]
    half = fitted.power(0.5)
    assert half.propensity[1] == pytest.approx(0.5)
    assert half.standard_error[1] == pytest.approx(fitted.standard_error[1])  # 1 / (2 * .5)
    assert (half.influence == fitted.influence / 2).all()


def test_positions_where_nothing_was_shown_are_between_their_neighbors():
    cells = [(0, 1, 100, 80), (0, 2, 100, 40), (0, 4, 100, 10)]
    found = fit_propensities(counted(cells, 1))
    np.testing.assert_allclose(found.propensity, [1, 0.5, 0.25, 0.125])
    assert np.isnan(found.standard_error).tolist() == [False, False, True, False]
    assert found.group.tolist() == [0, 1, -1, 2]


def test_documents_at_one_position_do_not_count():
    y = expectation()
    cells = [(3, 4, 50, 50), (4, 1, 50, 0)]
    more = counted(cells, 5)
    both = ClickSessions.unchecked(
        np.zeros(5),
        np.append(y.shown_rows, more.shown_rows),
        np.arange(len(y.shown_rows) + 101),
        np.append(y.clicked, more.clicked),
        np.append(y.position, more.position),
    )
    np.testing.assert_allclose(fit_propensities(both).propensity, THETA, rtol=1e-7)


def test_rankers_fit_propensities(rng):
    qid = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(360, 3))
    p = 1 / (1 + np.exp(-X[:, 0]))
    y = sample_sessions(p, qid, n_sessions=3000, model="position", random_state=0)
    theta = fit_propensities(y).propensity
    np.testing.assert_array_equal(
        position_based(y, "fit").relevance, position_based(y, theta).relevance
    )
    ranker = AggregatedRanker("position_based", structure_options={"propensity": "fit"}).fit(X, y)
    other = AggregatedRanker("position_based", structure_options={"propensity": theta}).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, other.coef_)


# -- least squares -------------------------------------------------------------------------


def cells_of(y):
    n = np.zeros((len(y), y.position.max()))
    c = n.copy()
    np.add.at(n, (y.shown_rows, y.position - 1), 1)
    np.add.at(c, (y.shown_rows, y.position - 1), y.clicked)
    return n, c


def test_features_give_the_propensities_of_documents_that_did_not_move():
    # Documents of one position each, and expected clicks: three kinds of documents.
    kinds = np.eye(3)[np.arange(12) % 3]
    relevance = kinds @ [0.8, 0.4, 0.2]
    cells = [
        (row, row // 3 + 1, 100, round(100 * THETA[row // 3] * relevance[row])) for row in range(12)
    ]
    y = counted(cells, 12)
    found = fit_propensities(y, kinds, method="alternating")
    np.testing.assert_allclose(found.propensity, THETA, rtol=1e-6)
    with pytest.raises(ValueError, match="got 4 groups of positions"):
        fit_propensities(y)
    # Kinds that no two positions share, in any combination: one-hot numbers of the documents.
    with pytest.raises(ValueError, match=r"got 4 groups .* no features .* join: 1; 2; 3; 4"):
        fit_propensities(y, np.eye(12), method="alternating")
    apart = np.hstack([kinds * (np.arange(12) < 6)[:, None], kinds * (np.arange(12) >= 6)[:, None]])
    with pytest.raises(ValueError, match=r"got 2 groups .* no features .* join: 1-2; 3-4"):
        fit_propensities(y, apart, method="alternating")
    with pytest.warns(UserWarning, match="within 2-3|X predicts") as told:
        found = fit_propensities(y, apart, method="alternating", merge=True)
    messages = [str(warning.message) for warning in told]
    assert "within 2-3" in messages[0]
    assert "X predicts the positions" in messages[1]
    assert found.group.tolist() == [0, 1, 1, 2]


def test_alternating_least_squares_reach_the_minimum(rng):
    X = rng.random((40, 3))
    y = sample_sessions(
        X @ [0.5, 0.3, 0.1], np.repeat(np.arange(10), 4), n_sessions=500, model="position",
        random_state=0,
    )  # fmt: skip
    n, c = cells_of(y)
    A = np.column_stack([X, np.ones(40)])

    def residuals(free):
        mean = np.outer(A @ free[3:], np.append(1, free[:3]))
        return (np.sqrt(n) * (arrays_divide(c, n) - mean)).ravel()

    best = least_squares(residuals, np.append(np.ones(3) / 2, np.ones(4) / 4), xtol=1e-12)
    found = fit_propensities(y, X, method="alternating")
    np.testing.assert_allclose(found.propensity[1:], best.x[:3], rtol=1e-5)


def arrays_divide(a, b):
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def test_least_squares_that_hardly_join_positions_do_not_settle():
    # One kind of documents joins the positions, by one in 2000 impressions.
    cells = [(0, 1, 50, 40), (1, 1, 10**5, 40_000), (2, 2, 50, 10), (3, 2, 10**5, 8000)]
    X = np.eye(3)[[0, 1, 0, 2]]
    with pytest.warns(UserWarning, match=r"did not settle in 1000 steps|X predicts") as told:
        found = fit_propensities(counted(cells, 4), X, method="alternating")
    assert len(told) == 2
    assert abs(found.propensity[1] - 0.25) < 0.1 * found.standard_error[1]


def test_errors_of_least_squares_are_standard_errors(rng):
    qid = np.repeat(np.arange(60), 5)
    X, theta, z = rng.random((300, 2)), np.array([1, 0.8, 0.6, 0.5, 0.4]), []
    p = 0.1 + X @ [0.5, 0.3]
    for seed in range(20):
        y = sample_sessions(
            p, qid, n_sessions=1000, order_scores=X[:, 0], model="position", propensity=theta,
            random_state=seed,
        )  # fmt: skip
        found = fit_propensities(y, X, method="alternating")
        z.append(((found.propensity - theta)[1:]) / found.standard_error[1:])
    assert 0.75 < np.sqrt(np.mean(np.square(z))) < 1.25
    assert np.abs(np.mean(z, axis=0)).max() < 1


@pytest.mark.parametrize("units", [[1e6, 1.0], [1.0, 1e6], [1e160, 1e-160]])
@pytest.mark.parametrize("start", [0.0, 1e5])
def test_units_of_features_do_not_matter(units, start, rng):
    X = rng.random((240, 2))
    y = sample_sessions(
        0.9 - 0.7 * X[:, 0], np.repeat(np.arange(60), 4), n_sessions=4000, model="position",
        order_scores=X[:, 0] + 0.4 * rng.normal(size=240), propensity=THETA, random_state=0,
    )  # fmt: skip
    expected = fit_propensities(y, X, method="alternating")
    found = fit_propensities(y, (X + start) * units, method="alternating")
    np.testing.assert_allclose(found.propensity, expected.propensity, rtol=1e-6)
    np.testing.assert_allclose(found.standard_error, expected.standard_error, rtol=1e-6)


def test_features_that_predict_the_position_warn(rng):
    qid = np.repeat(np.arange(40), 6)
    X = rng.random((240, 2))
    p = 0.2 + 0.6 * X[:, 0]

    def drawn(strength):
        return sample_sessions(
            p, qid, n_sessions=400, order_scores=strength * X[:, 0], model="position",
            random_state=0,
        )  # fmt: skip

    with pytest.warns(UserWarning, match=r"X predicts the positions .* R2 0\.[89].*random order"):
        fit_propensities(drawn(100), X * [1.0, 1e14], method="alternating")
    fit_propensities(drawn(1), X, method="alternating")
    # Features of queries predict no position within them.
    fit_propensities(drawn(1), np.column_stack([X, qid]), method="alternating")
    # Nor do as many features as there are rows.
    fit_propensities(drawn(0), np.hstack([X, rng.random((240, 150))]))


# -- identification ------------------------------------------------------------------------


def two_parts():
    """Positions 1 and 2 share a document, as 3 and 4 do, and nothing joins the two pairs."""
    return counted(
        [(0, 1, 100, 80), (0, 2, 100, 40), (1, 3, 100, 20), (1, 4, 100, 10), (2, 3, 9, 5)], 3
    )


def test_logs_that_do_not_join_positions_are_refused():
    with pytest.raises(ValueError, match=r"got 2 groups .* both directions: 1-2; 3-4\. Show"):
        fit_propensities(two_parts())
    with pytest.raises(ValueError, match=r"got 4 groups .*: 1; 2; 3; 4"):
        fit_propensities(counted([(k, k + 1, 9, 5) for k in range(4)], 4))


def test_positions_must_be_joined_in_both_directions():
    # No click at position 2: its estimate would be 0.
    with pytest.raises(ValueError, match=r"got 2 groups .*: 1; 2"):
        fit_propensities(counted([(0, 1, 50, 9), (0, 2, 50, 0)], 1))
    # All clicks on another document do not help.
    with pytest.raises(ValueError, match=r"got 2 groups .*: 1; 2"):
        fit_propensities(counted([(0, 1, 50, 9), (0, 2, 50, 0), (1, 2, 50, 9)], 2))


def test_neighbors_are_merged_until_positions_are_joined():
    with pytest.warns(UserWarning, match=r"1-2; 3-4\. They have one propensity within 2-3"):
        found = fit_propensities(two_parts(), merge=True)
    np.testing.assert_allclose(found.propensity, [1, 0.5, 0.5, 0.25])
    assert found.group.tolist() == [0, 1, 1, 2]
    # Position 4 has no click: it is merged with 3.
    cells = [(0, 1, 100, 80), (0, 2, 100, 40), (0, 3, 100, 20), (0, 4, 100, 0)]
    with pytest.warns(UserWarning, match="within 3-4"):
        found = fit_propensities(counted(cells, 1), merge=True)
    np.testing.assert_allclose(found.propensity, [1, 0.5, 0.125, 0.125])
    with pytest.raises(ValueError, match="got one group of positions after merging"):
        fit_propensities(counted([(k, k + 1, 9, 5) for k in range(4)], 4), merge=True)


def test_bad_input_is_a_clear_error():
    with pytest.raises(TypeError, match="ClickSessions or ClickCounts for fit_propensities"):
        fit_propensities(PreferenceTarget.from_relevance([1, 0], [1, 1]))
    with pytest.raises(ValueError, match="at position 1, got none"):
        fit_propensities(counted([(0, 2, 3, 1), (0, 3, 3, 1)], 1))
    with pytest.raises(ValueError, match="at position 1, got none"):
        fit_propensities(ClickSessions([1, 1], [], []))
    y = expectation()
    for options, message in (
        ({"method": "em"}, "method must be one of 'swap', 'alternating', got 'em'"),
        ({"method": "alternating"}, "X must hold the features"),
        ({"X": np.ones((2, 1))}, "X must have a row for each of 3 rows, got 2"),
        ({"X": [[1.0], [np.nan], [0.0]]}, "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_propensities(y, **options)
    alone = fit_propensities(counted([(0, 1, 3, 1)], 1))
    assert (alone.propensity.tolist(), alone.standard_error.tolist()) == ([1.0], [0.0])


def test_the_discount_of_estimates_that_do_not_decrease():
    fitted = fit_propensities(ClickSessions([0, 0], [[0, 1], [1, 0]] * 2, [1, 1, 2, 2]))
    estimate = fitted._replace(
        propensity=np.array([1, 0.4, 0.6, 0.1]), standard_error=np.array([0, 0.01, 0.02, np.nan])
    )
    np.testing.assert_allclose(estimate.discount, [1, 0.5, 0.5, 0.1])
    of_estimate = DCG(gain="linear", discount=estimate)
    assert of_estimate == DCG(gain="linear", discount=estimate.discount)
    assert measure_score(of_estimate, [0, 1], [1, 0]) == 0.5
    assert NDCG(discount=estimate).discount == of_estimate.discount
    with pytest.raises(ValueError, match="pass the result of fit_propensities"):
        DCG(discount=estimate.propensity)
    assert repr(estimate) == "PropensityEstimate(1, 0.4 ± 0.01, 0.6 ± 0.02, 0.1)"


def test_lists_that_end_at_their_last_click_are_told(rng):
    lists = [rng.permutation(6) for _ in range(400)]
    clicked = [np.flatnonzero(rng.random(6) < 0.6 / np.arange(1, 7)) + 1 for _ in lists]
    fit_propensities(ClickSessions(np.zeros(6), lists, clicked))
    cut = [(shown[: at[-1]], at) for shown, at in zip(lists, clicked) if len(at)]
    sessions = ClickSessions(np.zeros(6), *zip(*cut))
    with pytest.warns(UserWarning, match="Nearly all lists of sessions end with a click"):
        fit_propensities(sessions)
