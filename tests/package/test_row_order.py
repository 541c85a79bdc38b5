"""Law: rows with the same names in two orders are an error in every public function."""

import pickle

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

import skcalrank as sk
from skcalrank import (
    aggregation,
    evaluation,
    inspection,
    metrics,
    model_selection,
    pipeline,
    preprocessing,
)

pd = pytest.importorskip("pandas")

RANKER = sk.NDCGRanker()


def fitted(ranker, X, y, qid):
    return ranker.fit(X, y, qid)


def stack():
    return sk.StackingRanker([("a", sk.NDCGRanker())])


def trees():
    return sk.BoostedRanker(engine="sklearn", loss="pairwise_squared", n_estimators=2)


def piped():
    return pipeline.make_query_pipeline(preprocessing.QueryScaler(), sk.NDCGRanker())


def methods(make):
    """Calls of the methods of a ranker with rows."""
    rows = ("X", "y", "qid", "sample_weight")
    targets = ("X", "targets", "qid", "sample_weight")
    calls = {
        "fit": (lambda rows, _: make().fit(**rows), rows),
        "fit_targets": (lambda rows, _: make().fit_targets(**rows), targets),
        "score": (lambda rows, r: r.score(**rows), rows),
        "predict": (lambda rows, r: r.predict(**rows), ("X", "qid")),
        "rank": (lambda rows, r: r.rank(**rows), ("X", "qid")),
        "top_k": (lambda rows, r: r.top_k(**rows), ("X", "qid")),
    }
    return {name: call for name, call in calls.items() if hasattr(make(), name)}


MAKERS = {"linear": sk.NDCGRanker, "stack": stack, "trees": trees, "pipeline": piped}
CALLS = {
    f"{name}.{method}": (make, call, rows)
    for name, make in MAKERS.items()
    for method, (call, rows) in methods(make).items()
}
NONE = {
    "scorer": (
        lambda rows, r: sk.get_scorer("ndcg@5")(r, **rows),
        ("X", "y", "qid", "sample_weight"),
    ),
    "measure_score": (
        lambda rows, _: metrics.measure_score("ndcg@5", **rows),
        ("y_true", "y_score", "qid", "sample_weight"),
    ),
    "evaluate": (
        lambda rows, _: metrics.evaluate(measures=["ndcg@5"], **rows),
        ("y_true", "y_score", "qid", "sample_weight"),
    ),
    "compare": (
        lambda rows, _: evaluation.compare(
            rows["y_true"],
            {"a": rows["y_score"], "b": -rows["X"]["b"]},
            ["ndcg@5"],
            qid=rows["qid"],
        ),
        ("y_true", "y_score", "qid", "X"),
    ),
    "cross_compare": (
        lambda rows, _: evaluation.cross_compare(
            {"a": sk.NDCGRanker(), "b": sk.DCGRanker()},
            rows["X"],
            rows["y"],
            rows["qid"],
            ["ndcg@5"],
        ),
        ("X", "y", "qid"),
    ),
    "QueryKFold": (
        lambda rows, _: list(
            model_selection.QueryKFold(2).split(rows["X"], rows["y"], rows["qid"])
        ),
        ("X", "y", "qid"),
    ),
    "RankingTarget": (lambda rows, _: sk.RankingTarget(**rows), ("y", "qid")),
    "fit to a RankingTarget": (
        lambda rows, r: r.fit(rows["X"], sk.RankingTarget(rows["y"], rows["qid"])),
        ("X", "y", "qid"),
    ),
    "fit to preferences": (
        lambda rows, _: sk.PairwiseDisagreementRanker().fit(
            rows["X"], sk.PreferenceTarget.from_relevance(rows["y"], rows["qid"])
        ),
        ("X", "y", "qid"),
    ),
    "fit to a MultiLabelTarget": (
        lambda rows, _: sk.MultiLabelRanker().fit(
            rows["X"], sk.MultiLabelTarget(rows["labels"], rows["qid"])
        ),
        ("X", "labels", "qid"),
    ),
    "metric of a RankingTarget": (
        lambda rows, _: metrics.measure_score(
            "ndcg@5", sk.RankingTarget(rows["y_true"], rows["qid"]), rows["y_score"]
        ),
        ("y_true", "qid", "y_score"),
    ),
    "rank_frame": (
        lambda rows, r: evaluation.rank_frame(r, rows["X"], rows["qid"], ids=rows["ids"]),
        ("X", "qid", "ids"),
    ),
    "to_run": (lambda rows, _: evaluation.to_run(**rows), ("y_score", "qid", "ids")),
    "to_qrels": (lambda rows, _: evaluation.to_qrels(**rows), ("y_true", "qid", "ids")),
    "from_relevance": (lambda rows, _: sk.PreferenceTarget.from_relevance(**rows), ("y", "qid")),
    "QueryScaler": (lambda rows, _: preprocessing.QueryScaler().fit(**rows), ("X", "qid")),
    "TableEncoder": (lambda rows, _: preprocessing.TableEncoder().fit(**rows), ("X", "y", "qid")),
    "LinearColumns": (lambda rows, _: preprocessing.LinearColumns().fit(**rows), ("X", "y", "qid")),
    "explain_order": (
        lambda rows, r: inspection.explain_order(
            r, rows["X"], *rows["X"].index[:2], qid=rows["qid"]
        ),
        ("X", "qid"),
    ),
    "sample_comparisons": (
        lambda rows, _: sk.sample_comparisons(rows["y"], rows["qid"], n_comparisons=5),
        ("y", "qid"),
    ),
}
CALLS |= {name: (sk.NDCGRanker, call, rows) for name, (call, rows) in NONE.items()}


@pytest.fixture
def rows(rng):
    names = [f"row {k}" for k in range(40)]
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"), index=names)
    y = pd.Series(rng.integers(0, 3, 40), index=names)
    qid = pd.Series(np.repeat(np.arange(8), 5), index=names)
    weight = pd.Series(np.repeat(rng.random(8) + 0.1, 5), index=names)
    every = {"X": X, "y": y, "qid": qid, "sample_weight": weight}
    labels = pd.DataFrame({"grade": y, "good": y > 1})
    ids = pd.Series(range(40), index=names)
    every |= {"y_true": y, "y_score": X["a"] + y, "targets": y - 0.5}
    return every | {"labels": labels, "ids": ids}


@pytest.mark.parametrize("call", CALLS)
def test_rows_in_another_order_are_refused(call, rows):
    make, function, names = CALLS[call]
    ranker = fitted(make(), rows["X"], rows["y"], rows["qid"])
    chosen = {name: rows[name] for name in names}
    function(chosen, ranker)
    for name in names:
        moved = {**chosen, name: chosen[name].sample(frac=1, random_state=1)}
        with pytest.raises(
            ValueError, match=r"must have its rows in the order of .*\.to_numpy\(\)"
        ):
            function(moved, ranker)


def test_displays_refuse_rows_in_another_order(rows):
    pytest.importorskip("matplotlib")
    from skcalrank.displays import MeasureAtKDisplay

    names = ("y_true", "y_score", "qid", "sample_weight")
    ranker = fitted(sk.NDCGRanker(), rows["X"], rows["y"], rows["qid"])
    for name in names:
        moved = {n: rows[n].sample(frac=1) if n == name else rows[n] for n in names}
        with pytest.raises(ValueError, match="must have its rows in the order of"):
            MeasureAtKDisplay.from_predictions(**moved)
    for name in ("X", "y", "qid", "sample_weight"):
        moved = {**rows, name: rows[name].sample(frac=1, random_state=1)}
        options = {"qid": moved["qid"], "sample_weight": moved["sample_weight"]}
        with pytest.raises(ValueError, match="must have its rows in the order of"):
            MeasureAtKDisplay.from_estimator(ranker, moved["X"], moved["y"], **options)


def test_names_of_documents_beside_the_queries_in_an_index_count(rows):
    index = pd.MultiIndex.from_arrays([rows["qid"], rows["ids"]], names=["qid", "doc"])
    X, y = rows["X"].set_axis(index), rows["y"].set_axis(index)
    sk.NDCGRanker().fit(X, y)
    with pytest.raises(ValueError, match="y must have its rows in the order of X"):
        sk.NDCGRanker().fit(X, y.sample(frac=1, random_state=0))


def test_rows_of_targets_keep_their_names(rows):
    X, ranker = rows["X"], sk.NDCGRanker()
    single = sk.RankingTarget(rows["y"], rows["qid"])
    several = sk.MultiLabelTarget(rows["labels"], rows["qid"])
    for y in (single[:20], single.copy()[:20], single.astype(float)[:20], pickled(single)[:20]):
        ranker.fit(X[:20], y)
        with pytest.raises(ValueError, match=r"build the target of y\.to_numpy"):
            ranker.fit(X[:20][::-1], y)
    sk.MultiLabelRanker().fit(X[:20], several[:20])
    with pytest.raises(ValueError, match=r"X must have its rows in the order of y.*X\.loc\[y\."):
        sk.MultiLabelRanker().fit(X[:20][::-1], several[:20])


def log_of(rows):
    """Sessions of six lists of each query, and counts, both of a table with named rows."""
    table = pd.DataFrame({"query": rows["qid"], "document": rows["ids"]})
    lists = [table.groupby("query").sample(frac=1, random_state=seed) for seed in range(6)]
    log = pd.concat([a_list.assign(session=k) for k, a_list in enumerate(lists)])
    log["position"] = log.groupby(["session", "query"]).cumcount() + 1
    log["clicked"] = (log["position"] + log["session"]) % 3 == 1
    names = {name: name for name in ("query", "document", "position", "clicked")}
    sessions = sk.ClickSessions.from_frame(log, **names, session="session", rows=table)
    return sessions, sk.ClickCounts.from_frames(log, **names, rows=table)


THETA = 1 / np.arange(1, 6)
CLICKED = {
    "fit": lambda X, y: sk.AggregatedRanker(
        "position_based", structure_options={"propensity": THETA}
    ).fit(X, y),
    "position_based": lambda X, y: aggregation.position_based(
        y, THETA, X=X, prior=FrozenEstimator(RANKER.fit(X, np.arange(len(X)) % 2, y.qid))
    ),
    "prior": lambda X, y: aggregation.position_based(y, THETA, prior=X["a"].abs().clip(upper=1)),
    "fit_propensities": lambda X, y: aggregation.fit_propensities(y, X),
}
# These need sessions, not counts of them.
OF_SESSIONS = {
    "offline_evaluate": lambda X, y: evaluation.offline_evaluate(X["a"], y, propensity=THETA),
    "prior of dr": lambda X, y: evaluation.offline_evaluate(
        X["a"].to_numpy(),
        y,
        propensity=THETA,
        estimator="dr",
        prior=X["a"].abs().clip(upper=1),
    ),
    "baseline": lambda X, y: evaluation.offline_evaluate(
        -X["a"].to_numpy(), y, propensity=THETA, baseline=X["a"]
    ),
    "click_ranker": lambda X, y: evaluation.click_ranker(X, y, propensity=THETA),
}


@pytest.mark.filterwarnings("ignore:The effective sample size", "ignore:X predicts")
@pytest.mark.parametrize("name", [*CLICKED, *OF_SESSIONS])
def test_clicks_remember_the_rows_of_their_table(name, rows):
    function, X = {**CLICKED, **OF_SESSIONS}[name], rows["X"]
    for y in log_of(rows)[: 2 if name in CLICKED else 1]:
        half = y if name == "click_ranker" else y[:30]
        for target in (y, pickled(y), half):
            own = X.loc[target.index]
            function(own, target)
            with pytest.raises(ValueError, match=r"in the order of .*\.loc\[(y|sessions)\.index\]"):
                function(own.sort_values("a"), target)


def test_judgments_remember_the_index_of_what_they_were_made_of(rows):
    y, qid, X = rows["y"], rows["qid"], rows["X"]
    matrix = np.tile([0.0, 1, 0, 0, 0], (40, 1)) * (np.arange(40) % 5 == 0)[:, None]
    positions = pd.DataFrame(np.tile([1, 2, 3], (40, 1)), index=X.index)
    targets = [
        sk.PreferenceTarget.from_comparisons([0, 5], [1, 6], qid),
        sk.PreferenceTarget.from_matrix(matrix, qid),
        sk.PreferenceTarget.from_orders(positions),
        sk.sample_comparisons(y, qid, n_comparisons=5),
        sk.sample_sessions(y.clip(upper=1) / 2, qid, n_sessions=20, random_state=0),
        sk.ClickSessions(qid, [[0, 1], [5, 6]], [1, 0]),
        sk.ClickCounts(qid, [0, 1], [1, 1], [3, 3], [1, 0]),
    ]
    for target in targets:
        assert target[10:].index.equals(X.index[10:])
        with pytest.raises(ValueError, match="X must have its rows in the order of y"):
            sk.model_selection.train_test_query_split(X[::-1], target)


def pickled(target):
    return pickle.loads(pickle.dumps(target))


def fresh(X, y):
    return X, y.reset_index(drop=True)


def of_positions(X, y):
    return X.reset_index(drop=True), y.reset_index(drop=True).sample(frac=1, random_state=0)


QUIET = {
    "a fresh index beside names": fresh,
    "rows that repeat": lambda X, y: (
        X.set_axis(["a", "b"] * 20),
        y.set_axis(["b", "a"] * 20),
    ),
    "other names": lambda X, y: (X, y.set_axis([f"other {k}" for k in range(40)])),
    "queries in the index": lambda X, y: (
        X.set_axis(pd.Index(range(40), name="qid")),
        y.set_axis(pd.Index(range(39, -1, -1), name="qid")),
    ),
    "equal orders": lambda X, y: (
        X.sample(frac=1, random_state=0),
        y.sample(frac=1, random_state=0),
    ),
}


@pytest.mark.parametrize("case", QUIET)
def test_other_indices_are_quiet(case, rows):
    X, y = QUIET[case](rows["X"], rows["y"])
    qid = rows["qid"].to_numpy()
    if case != "queries in the index":
        sk.NDCGRanker().fit(X, y, qid)
    sk.metrics.measure_score("ndcg@5", y.to_numpy(), X["a"], qid=qid)


def test_positions_in_another_order_are_refused(rows):
    X, y = of_positions(rows["X"], rows["y"])
    with pytest.raises(
        ValueError, match=r"y\.to_numpy\(\); if they correspond by index, .*X\.index"
    ):
        sk.NDCGRanker().fit(X, y, rows["qid"].to_numpy())
