"""Rankers with a surrogate on pairs: processes, progress, time, and bad calls."""

import copy
import pickle
import warnings
from functools import partial
from inspect import signature

import numpy as np
import pytest
from joblib import parallel_backend
from pair_cases import every_maker, every_pred, every_setting, map_ranker, pd_ranker, setting, wins
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge

from skcalrank import AveragePrecisionRanker, PairwiseDisagreementRanker, PreferenceTarget
from skcalrank.aggregation import kemeny
from skcalrank.calibration import noise_report
from skcalrank.data import MissingQidError, each
from skcalrank.preds import feedback_arc_positions, map_positions
from skcalrank.rankers import LeastSquaresPairRanker
from skcalrank.rankers._stacks import stacks


@pytest.fixture
def ranker(which):
    return setting(*which)


# -- queries that are missing ----------------------------------------------------------


METHODS = {
    "predict": lambda ranker, X, _y: ranker.predict(X),
    "rank": lambda ranker, X, _y: ranker.rank(X),
    "top_k": lambda ranker, X, _y: ranker.top_k(X),
    "score": lambda ranker, X, y: ranker.score(X, y),
    "solve": lambda ranker, X, _y: ranker.solve(X),
    "surrogate_values": lambda ranker, X, _y: ranker.surrogate_values(X),
}
every_method = pytest.mark.parametrize("method", METHODS)


@every_method
@every_maker
def test_queries_must_not_be_forgotten(make, method, data):
    X, y, qid = data
    ranker = setting(make, None, "bilinear").fit(X, y, qid)
    with pytest.raises(MissingQidError, match=r"was fitted with a qid, and .* got none"):
        METHODS[method](ranker, X, y)


@pytest.mark.every_case
@every_method
@every_maker
def test_not_fitted(make, method, data):
    X, y, _ = data
    with pytest.raises(NotFittedError):
        METHODS[method](make(), X, y)


def test_scores_of_the_score_surrogate_need_no_queries(data):
    X, y, qid = data
    ranker = PairwiseDisagreementRanker().fit(X, y, qid)
    assert ranker.predict(X).shape == y.shape


# -- work: processes, progress, time ---------------------------------------------------


def assert_same_results(results, others):
    for one, two in zip(results, others, strict=True):
        assert np.array_equal(one.positions, two.positions)
        assert (one.proven, one.method) == (two.proven, two.method)
        assert one[1:3] == pytest.approx(two[1:3], rel=1e-12)


@pytest.fixture
def eager(monkeypatch):
    """Processes for any work, tasks of few queries, and few of them held at a time."""
    monkeypatch.setattr("skcalrank.rankers._pair_base._WORTH_PROCESSES", 0.0)
    monkeypatch.setattr("skcalrank.rankers._pair_base._TASK", 1e-5)
    monkeypatch.setattr("skcalrank.rankers._stacks._RUN_CELLS", 100)


@pytest.mark.product
@every_maker
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_change_nothing(make, backend, data, label_data, request):
    X, y, qid = data
    serial = setting(make, None, "bilinear").fit(X, y, qid)
    results, label = serial.solve(X, qid), clone(serial).fit(*label_data).rank(label_data[0])
    request.getfixturevalue("eager")
    parallel = clone(serial).set_params(n_jobs=2).fit(X, y, qid)
    with parallel_backend(backend):
        assert_same_results(parallel.solve(X, qid), results)
        assert np.array_equal(parallel.fit(*label_data).rank(label_data[0]), label)


@pytest.mark.parametrize(
    ("ranker", "r", "shared"),
    [
        (map_ranker(pred="exact"), 6, True),
        (map_ranker(pred="exact"), 17, False),
        (map_ranker(pred="beam"), 6, True),
        (pd_ranker(), 6, True),
        (pd_ranker(pred="exact"), 20, False),
    ],
)
def test_threads_share_small_queries(ranker, r, shared, monkeypatch, rng):
    X, y = rng.normal(size=(9, 2)), rng.integers(0, 2, (9, r))
    ranker.fit(X, y)
    held = []

    def each_noted(*args, most):
        held.append(most > 1)
        each(*args, most=most)

    monkeypatch.setattr("skcalrank.rankers._pair_base.each", each_noted)
    ranker.solve(X)
    assert held == [shared]


@every_maker
def test_processes_are_for_much_work(make, data, monkeypatch):
    used = []
    monkeypatch.setattr("skcalrank.rankers._pair_base.Parallel", lambda n: used.append(n) or list)
    monkeypatch.setattr("skcalrank.rankers._pair_base.delayed", lambda function: function)
    X, y, qid = data
    ranker = setting(make, None, "bilinear", n_jobs=2).fit(X, y, qid)
    few = ranker.predict(X, qid)
    assert not used
    # Work of all queries together; the second time it is too little again.
    seconds = ranker._pred(ranker.record_.plan).cost
    work = sum(seconds(int(r)) for r in np.unique(qid, return_counts=True)[1])
    for worth, expected in ((0.9 * work, [2]), (1.1 * work, [2])):
        monkeypatch.setattr("skcalrank.rankers._pair_base._WORTH_PROCESSES", worth)
        assert np.array_equal(ranker.predict(X, qid), few)
        assert used == expected
    ranker.set_params(n_jobs=None).predict(X, qid)
    assert used == [2]


@pytest.mark.product
@pytest.mark.parametrize("eagerly", [False, True])
@every_pred
def test_queries_together_are_queries_one_by_one(ranker, data, label_data, eagerly, request):
    if eagerly:
        request.getfixturevalue("eager")
    X, y, qid = data
    for given, options in (((X, y, qid), {"qid": qid}), (label_data, {})):
        matrices = ranker.fit(*given).surrogate_values(given[0], **options)
        pred = ranker._pred(ranker.record_.plan)
        solver = partial(pred.solve, **ranker._pred_options(pred))
        assert_same_results(ranker.solve(given[0], **options), map(solver, matrices))


@pytest.mark.parametrize("cells", [1, 30, 1000])
def test_matrices_are_held_in_bounded_runs(cells, rng, monkeypatch):
    monkeypatch.setattr("skcalrank.rankers._stacks._RUN_CELLS", cells)
    sizes, held = rng.integers(1, 5, 50), []

    def matrices():
        for number, r in enumerate(sizes):
            held.append(r * r)
            yield np.full((r, r), number)

    seen = []
    for numbers, stack in stacks(matrices(), sizes):
        assert stack.shape[1:] == (sizes[numbers[0]],) * 2
        assert np.array_equal(stack[:, 0, 0], numbers)
        seen.extend(numbers)
        # What is held and not yet handed on: a run, and the query that fills it.
        assert sum(held) - sum(sizes[seen] ** 2) < cells + 16
    assert sorted(seen) == list(range(50))


@every_pred
def test_progress(ranker, data, label_data, capsys):
    X, y, qid = data
    ranker.set_params(verbose=1).fit(X, y, qid)
    assert capsys.readouterr().out == ""
    ranker.predict(X, qid)
    lines = capsys.readouterr().out.splitlines()
    name = type(ranker).__name__
    assert lines == [f"[{name}] ranked {n}/6 queries" for n in range(1, 7)]
    ranker.fit(*label_data).predict(label_data[0])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"[{name}] ranked 4/40 queries"
    assert lines[-1] == f"[{name}] ranked 40/40 queries"
    assert len(lines) == 10
    ranker.set_params(verbose=0).predict(label_data[0])
    assert capsys.readouterr().out == ""


def test_progress_of_the_fit(data, capsys):
    X, y, qid = data
    ranker = map_ranker(verbose=2, relevance_level=1).fit(X, y, qid)
    assert capsys.readouterr().out.count("bilinear fit: iteration") == ranker.n_iter_ > 0


@pytest.fixture
def hard(rng):
    """A ranker overfitted to two queries of 35 documents with random preferences."""
    X, qid = np.tile(np.eye(35), (2, 1)), np.repeat([0, 1], 35)
    return X, PreferenceTarget.from_matrix(rng.random((70, 35)) * (1 - X), qid), qid


@pytest.mark.parametrize("pred", [None, "auto", "exact"])
@pytest.mark.parametrize("method", ["predict", "rank", "top_k", "solve", "score"])
def test_time_limit_that_is_hit_warns_once(pred, method, hard, monkeypatch):
    monkeypatch.setattr("skcalrank.preds._feedback_arc._AUTO_UP_TO", 40)
    X, y, qid = hard
    ranker = pd_ranker(pred=pred, alpha=1e-6, time_limit=1e-3).fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if method == "score":
            ranker.score(X, y)
        else:
            getattr(ranker, method)(X, qid)
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    message = str(warning.message)
    assert message.startswith("2 of 2 orders are not proven best within time_limit=0.001 seconds; ")
    assert message.endswith("With time_limit=None the exact map has no limit.")


LIMITED = (
    *(feedback_arc_positions, map_positions, kemeny, noise_report),
    *(AveragePrecisionRanker, PairwiseDisagreementRanker, LeastSquaresPairRanker),
)


def test_one_limit_stands_for_every_exact_map():
    assert {signature(f).parameters["time_limit"].default for f in LIMITED} == {10.0}


def test_a_measure_of_pairs_passes_its_limit_on(rng):
    X, y = np.eye(20), rng.integers(0, 2, (20, 40))
    ranker = LeastSquaresPairRanker("map", pred="exact", alpha=1e-6, time_limit=1e-9).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="1 of 1 orders .* time_limit=1e-09 seconds"):
        ranker.predict(np.full((1, 20), 0.05))


def test_time_limit_gives_positions_with_their_gap(hard):
    X, y, qid = hard
    ranker = pd_ranker(pred="exact", alpha=1e-6, time_limit=1e-3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time_limit=0.001 seconds"):
        results = ranker.solve(X, qid)
    for result in results:
        assert sorted(result.positions) == list(range(1, 36))
        assert not result.proven
        assert 0 < result.gap < np.inf


def test_time_limit_of_exact_map_warns_of_gaps(rng):
    X, y = np.eye(20), rng.integers(0, 2, (20, 40))
    ranker = map_ranker(pred="exact", alpha=1e-6, time_limit=1e-9).fit(X, y)
    # A mean of the laws of all rows.
    mean = np.full((1, 20), 0.05)
    with pytest.warns(ConvergenceWarning, match="1 of 1 orders are not proven best"):
        (result,) = ranker.solve(mean)
    assert not result.proven
    assert 0 < result.gap < 0.2 * result.value
    assert clone(ranker).set_params(pred="beam").fit(X, y).solve(mean)[0].value == result.value


@pytest.mark.parametrize("pred", ["topological", "local_search"])
def test_heuristics_have_no_time_to_run_out_of(pred, hard):
    X, y, qid = hard
    ranker = pd_ranker(pred=pred, alpha=1e-6, time_limit=1e-3).fit(X, y)
    assert ranker.rank(X, qid).max() == 35


# -- parameters ------------------------------------------------------------------------


BAD = {
    "surrogate": (map_ranker(), {"surrogate": "pairs"}, "'surrogate' .*Got 'pairs'"),
    "pred of map": (
        map_ranker(),
        {"pred": "topological"},
        "pred must be one of 'exact', .*'topological'",
    ),
    "pred of pd": (
        pd_ranker(),
        {"pred": "beam"},
        "pred must be one of 'topological', .*got 'beam'",
    ),
    "pair_features": (pd_ranker(), {"pair_features": "sum"}, "'pair_features' .*Got 'sum'"),
    "pred of a score": (
        map_ranker(),
        {"surrogate": "score", "pred": "diagonal"},
        "pred must be None with surrogate='score'.*got 'diagonal'.*surrogate='pairwise'",
    ),
    "estimator": (
        pd_ranker(),
        {"estimator": Ridge()},
        "estimator must be None with pair_features='bilinear'",
    ),
    "alpha": (pd_ranker(), {"alpha": -1.0}, "'alpha' .*Got -1.0"),
    "alpha nan": (pd_ranker(), {"alpha": float("nan")}, "'alpha' .*Got nan"),
    "alpha word": (pd_ranker(), {"alpha": "1"}, "'alpha' .*Got '1'"),
    "weights": (pd_ranker(), {"weights": "kendall"}, "'weights' .*Got 'kendall'"),
    "features of no shape": (
        pd_ranker(),
        {"pair_features": lambda first, _second: first.sum()},
        r"pair_features must return .* got shape \(\)",
    ),
    "graded": (map_ranker(relevance_level=None), {}, "relevance_level"),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", BAD)
def test_bad_parameters(name, data):
    ranker, params, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        clone(ranker).set_params(**params).fit(*data)


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["surrogate", "pred of map", "pair_features", "alpha", "weights"])
def test_bad_parameters_in_label_form(name, label_data):
    ranker, params, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        clone(ranker).set_params(**params).fit(*label_data)


def test_more_bad_calls(data):
    X, y, qid = data
    with pytest.raises(ValueError, match=r"'time_limit' .*Got -1"):
        pd_ranker(time_limit=-1).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"'time_limit' .*Got 0"):
        map_ranker(time_limit=0).fit(X, y, qid)
    with pytest.raises(ValueError, match="surrogate must be 'pairwise' for solve"):
        PairwiseDisagreementRanker().fit(X, y, qid).solve(X, qid)
    with pytest.raises(ValueError, match="expects relevances as y, got PreferenceTarget"):
        map_ranker().fit(X, PreferenceTarget.from_relevance(y, qid))
    with pytest.raises(ValueError, match="X has 2 features"):
        pd_ranker().fit(X, y, qid).rank(X[:, :2], qid)


def test_a_fit_that_fails_changes_no_map(data):
    X, y, qid = data
    ranker = pd_ranker().fit(X, y, qid)
    before = ranker.predict(X, qid)
    ranker.set_params(surrogate="score", estimator=Ridge(-1.0))
    with pytest.raises(ValueError, match="alpha"):
        ranker.fit(X, y, qid)
    assert np.array_equal(ranker.predict(X, qid), before)


def test_a_second_fit_forgets_the_first(data, label_data):
    X, y, qid = data
    ranker = pd_ranker().fit(X, y, qid)
    assert ranker.n_iter_ > 0
    ranker.fit(*label_data)
    assert not hasattr(ranker, "n_iter_")
    assert ranker.rank(label_data[0]).shape == label_data[1].shape
    ranker.fit(X, y, qid).set_params(surrogate="score").fit(X, y, qid)
    assert not hasattr(ranker, "n_iter_")


@pytest.mark.parametrize("features", ["bilinear", "concat", "tree"])
def test_coefficients_are_delegated(features, data, label_data):
    X, y, qid = data
    ranker = setting(pd_ranker, None, features).fit(X, y, qid)
    if features == "tree":
        assert ranker.feature_importances_.shape == (8,)
        assert not hasattr(ranker, "coef_")
        return
    assert ranker.coef_.shape == {"bilinear": (4, 4), "concat": (8,)}[features]
    assert not hasattr(ranker, "feature_importances_")
    assert pd_ranker().fit(*label_data).coef_.shape == (12, 3)


def test_score_function_is_a_callable_or_a_name(data):
    X, y, qid = data
    ranker = PairwiseDisagreementRanker(score_function=wins).fit(X, y, qid)
    assert ranker.score(X, y, qid) <= 0
    with pytest.raises(ValueError, match=r"'score_function' .*a callable. Got 'wins'"):
        PairwiseDisagreementRanker(score_function="wins").fit(X, y, qid)


@every_setting
def test_copies_and_pickles(ranker, data):
    X, y, qid = data
    fresh = clone(ranker)
    assert repr(fresh) == repr(ranker)
    assert fresh.get_params().keys() == ranker.get_params().keys()
    ranker.fit(X, y, qid)
    for other in (pickle.loads(pickle.dumps(ranker)), copy.deepcopy(ranker)):
        assert np.array_equal(other.rank(X, qid), ranker.rank(X, qid))
        assert other.score(X, y, qid) == ranker.score(X, y, qid)
    assert ranker._repr_html_()
