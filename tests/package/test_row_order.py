"""Law: rows with the same names in two orders are an error in every public function.

The functions are found by their signatures, and called with arguments by name.
"""

import inspect
import pickle
from copy import copy
from itertools import combinations

import numpy as np
import pytest
from every_estimator import BASES, EVERY_ESTIMATOR
from row_arguments import FAMILIES, documented, parameters, public_calls, several
from sklearn.frozen import FrozenEstimator

import skcalrank as sk
from skcalrank import aggregation, boosting, evaluation, inspection, metrics, preprocessing
from skcalrank.linear_model import GramRidge
from skcalrank.model_selection import QueryShuffleSplit

pd = pytest.importorskip("pandas")

RANKER = sk.NDCGRanker()

#: Made of the rows of a table, which are compared with other arguments: see below.
OF_CLICKS = {"click_ranker", "fit_propensities", "offline_evaluate", "position_based"}

#: Public calls whose arguments are no rows that a user may reorder.
REVIEWED = {
    **dict.fromkeys(["LabelMixture", "LabelRankingData", "RankingData"], "data that was made"),
    **dict.fromkeys(["PreferenceTarget", "ScoreExplanation"], "attributes, not validated"),
    **dict.fromkeys(["ClickSessions.unchecked", "ClickCounts.unchecked"], "not validated"),
    "TopContributionsDisplay": "attributes, not validated",
    "FixedQueries.fit": "ignores its arguments",
    "partition_by_query": "of dask, whose partitions have indices of their own",
}
NO_ROWS = {"get_n_splits", "set_score_request"}  # rows are ignored
OTHER_MEANING = {
    "QuantileHinges.fit": {"y"},
    "QueryKFold.split": {"groups"},  # another name of the qid
    "QueryShuffleSplit.split": {"groups"},
    "query_permutation_importance": {"groups"},
    "rbp_score": {"p"},
}

CASES = {type(case.make()).__name__: case for case in EVERY_ESTIMATOR}
MADE = {
    "GramRidge": GramRidge,
    "LightGBMObjective": lambda: boosting.lightgbm_objective("ndcg"),
    "LinearColumns": preprocessing.LinearColumns,
    "QuantileHinges": preprocessing.QuantileHinges,
    "QueryContext": preprocessing.QueryContext,
    "QueryKFold": lambda: sk.QueryKFold(2),
    "QueryScaler": preprocessing.QueryScaler,
    "QueryShuffleSplit": QueryShuffleSplit,
    "RankingScorer": lambda: sk.get_scorer("ndcg@5"),
    "TableEncoder": preprocessing.TableEncoder,
    "XGBoostObjective": lambda: boosting.xgboost_objective("ndcg"),
}


def found():
    """Functions with several arguments of the same rows by name, and such methods by class."""
    functions, owners = {}, {}
    for name, call in public_calls().items():
        owner, _, method = name.rpartition(".")
        if name in REVIEWED or method in NO_ROWS or owner in BASES or not several(call):
            continue
        if not owner or inspect.ismethod(call):
            functions[name] = call
        else:
            owners.setdefault(owner, []).append(method)
    return functions, owners


FUNCTIONS, OWNERS = found()


def rows_of(n_queries, rng):
    """Arguments by name, with the same named rows of queries of five."""
    n = 5 * n_queries
    names = pd.Index([f"row {k}" for k in range(n)])
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"), index=names)

    def column(values):
        return pd.Series(values, index=names)

    y, qid = column(rng.integers(0, 3, n)), column(np.repeat(np.arange(n_queries), 5))
    weight, ids = column(np.repeat(rng.random(n_queries) + 0.1, 5)), column(range(n))
    every = {"X": X, "y": y, "qid": qid, "sample_weight": weight, "targets": y / 2, "ids": ids}
    every |= {"y_true": y, "y_score": X["a"] + y, "y_value": y / 3, "p": y / 3, "judge": y}
    every |= {"groups": qid % 2, "item_names": ids, "order_scores": X["a"], "Y": X * 0}
    every |= {"judged_probability": y * 0 + 1, "scores": {"a": X["a"] + y, "b": X["b"]}}
    return every | {"labels": pd.DataFrame({"grade": y, "good": y > 1})}


def others_of(rows):
    """Arguments by name that are of other rows, or of none."""
    positions = pd.DataFrame([[1, 2, 3], [2, 1, 3], [3, 2, 1]], columns=list("abc"))
    few, y = pd.Series([0, 5, 10]), rows["y"] / 3
    return {
        "X_new": rows["X"][:5],
        "qid_new": rows["qid"][:5],
        **{f"{name}_val": rows[name] for name in ("X", "y", "qid")},
        **{"winner_rows": few, "loser_rows": few + 1, "weight": few + 1.0, "judgment": few},
        **{"shown": pd.Series([[0, 1], [5, 6], [7, 8]]), "chosen": pd.Series([0, 5, 7])},
        **{"shown_rows": few, "position": few * 0 + 1, "impressions": few * 0 + 2},
        **{"clicks": few * 0 + 1, "clicked_position": few * 0 + 1},
        **{"orders": positions, "weights": few + 1.0},
        **{"estimator": RANKER.fit(rows["X"], y, rows["qid"]), "estimators": {"a": RANKER}},
        **{"measure": "precision@1", "measures": ["precision@1"], "n_comparisons": 5},
        **{"first": "row 0", "n_sessions": 5},
    }


def special(name, rows):
    """Arguments of a call, or of methods of a class, that are not those of others."""
    made = {
        "ClickSessions": lambda: {"shown_rows": pd.Series([[0, 1], [5, 6], [7, 8]])},
        "CutoffDisplay.from_estimator": lambda: {"estimator": of_case("GuaranteedCutoff", rows)},
        "TopContributionsDisplay.from_estimator": lambda: {"query": 1},
        "margin_report": lambda: {"ranker": of_case("PrecisionRanker", rows)},
        "noise_report": lambda: {"ranker": of_case("PairwiseDisagreementRanker-pairwise", rows)},
        "AggregatedRanker": lambda: {"y": compared(rows)},
        "StochasticAggregatedRanker": lambda: {"y": compared(rows)},
        "FMeasureClassifier": lambda: {"y": rows["labels"] > 0},
        "MultiLabelRanker": lambda: dict.fromkeys(("y", "targets"), several_labels(rows)),
    }
    return made.get(name, dict)()


def several_labels(rows):
    return sk.MultiLabelTarget(rows["labels"], rows["qid"])


def compared(rows):
    return sk.sample_comparisons(rows["y"], rows["qid"], n_comparisons=300, random_state=0)


def of_case(name, rows):
    """The fitted estimator of a case."""
    case = next(case for case in EVERY_ESTIMATOR if name in (case.name, case.name.split("-")[0]))
    return case.fit(rows["X"], rows["y"], rows["qid"])


def moved(values):
    """The same rows in another order."""
    if isinstance(values, dict):
        return {name: moved(of) for name, of in values.items()}
    return values[::-1]


def nameless(values):
    """The same rows without names."""
    if isinstance(values, dict):
        return {name: nameless(of) for name, of in values.items()}
    if hasattr(values, "reset_index"):
        return values.reset_index(drop=True).set_axis(["no name"] * len(values))
    out = copy(values)
    out.index = None
    return out


def refuses_other_orders(name, call, rows, other):
    """Whether a call takes rows in one order, and of any two arguments refuses another one."""
    every = others_of(rows) | rows | other
    every = {"ranker": every["estimator"], "model": every["estimator"]} | every
    known = parameters(call)
    needed = {n for n, of in known.items() if of.default is of.empty and of.kind < of.VAR_KEYWORD}
    of_rows = [set(names) - OTHER_MEANING.get(name, set()) for names in several(call).values()]
    given = {n: every[n] for n in known if n in {*other, *needed}.union(*of_rows)}

    def run(arguments):
        result = call(**arguments)
        return list(result) if inspect.isgenerator(result) else result

    run(given)
    for names in of_rows:
        for first, second in combinations(sorted(names), 2):
            others = {n: nameless(given[n]) for n in names - {first, second}}
            with pytest.raises(ValueError, match="must have its rows in the order of"):
                run({**given, **others, second: moved(given[second])})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.every_case
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_in_another_order_are_refused(name, rng):
    if name.split(".")[0].endswith("Display"):
        pytest.importorskip("matplotlib")
    rows = rows_of(24, rng)
    refuses_other_orders(name, FUNCTIONS[name], rows, special(name, rows))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("owner", OWNERS)
def test_methods_refuse_rows_in_another_order(owner, rng):
    rows = rows_of(24, rng)
    other = special(owner, rows)
    for method in OWNERS[owner]:
        estimator = MADE[owner]() if owner in MADE else CASES[owner].make()
        if not hasattr(estimator, method):
            continue
        if hasattr(estimator, "fit") and not method.startswith(("fit", "partial_fit")):
            fit = CASES[owner].refit if owner in CASES else fitted
            fit = grouped if owner == "GuaranteedCutoff" else fit
            fit(estimator, rows["X"], rows["y"], rows["qid"])
        refuses_other_orders(f"{owner}.{method}", getattr(estimator, method), rows, other)


def test_arguments_of_rows_are_known_by_name():
    names, unknown = set().union(*FAMILIES.values()), set()
    for name, call in public_calls().items():
        if not str(call.__module__).startswith("skcalrank.losses"):  # of arrays
            unknown |= {(name, of) for of in documented(call) - names}
    reviewed = OF_CLICKS | REVIEWED.keys()
    assert not {of for of in unknown if not {of[0], of[0].split(".")[0]} & reviewed}


def test_calls_of_clicks_are_below():
    taken = {"X", "scores", "prior", "baseline"}
    calls = {n: set(parameters(call)) for n, call in public_calls().items()}
    assert {n for n, of in calls.items() if "sessions" in of and of & taken} == OF_CLICKS


@pytest.fixture
def rows(rng):
    return rows_of(8, rng)


def fitted(ranker, X, y, qid):
    return ranker.fit(X, y, qid=qid)


def grouped(ranker, X, y, qid):
    return ranker.fit(X, y, qid=qid, groups=qid % 2)


OF_TARGETS = {
    "fit to a RankingTarget": (
        lambda rows: RANKER.fit(rows["X"], sk.RankingTarget(rows["y"], rows["qid"])),
        ("X", "y", "qid"),
    ),
    "fit to preferences": (
        lambda rows: sk.PairwiseDisagreementRanker().fit(
            rows["X"], sk.PreferenceTarget.from_relevance(rows["y"], rows["qid"])
        ),
        ("X", "y", "qid"),
    ),
    "metric of a RankingTarget": (
        lambda rows: metrics.measure_score(
            "ndcg@5", sk.RankingTarget(rows["y_true"], rows["qid"]), rows["y_score"]
        ),
        ("y_true", "qid", "y_score"),
    ),
    "arrays to split": (
        lambda rows: sk.train_test_query_split(
            rows["X"], rows["y"], rows["ids"], rows["sample_weight"], qid=rows["qid"]
        ),
        ("X", "y", "ids", "sample_weight", "qid"),
    ),
    "eval_set": (
        lambda rows: sk.BoostedRanker(engine="sklearn", n_estimators=2).fit(
            rows["X"].to_numpy() + 1,
            rows["y"].to_numpy(),
            rows["qid"].to_numpy(),
            eval_set=tuple(rows[name] for name in ("X", "y", "qid", "sample_weight")),
        ),
        ("X", "y", "qid", "sample_weight"),
    ),
}


@pytest.mark.filterwarnings("ignore:The trees find no split", "ignore:X has feature names")
@pytest.mark.parametrize("call", OF_TARGETS)
def test_rows_of_targets_and_tuples_in_another_order_are_refused(call, rows):
    function, names = OF_TARGETS[call]
    function(rows)
    for name in names:
        with pytest.raises(
            ValueError, match=r"must have its rows in the order of .*\.to_numpy\(\)"
        ):
            function({**rows, name: moved(rows[name])})


def test_names_of_an_explanation_in_another_order_are_refused(rows):
    pytest.importorskip("matplotlib")
    from skcalrank.displays import TopContributionsDisplay

    X, names = rows["X"][:5], rows["ids"][:5]
    explained = inspection.explain_scores(RANKER.fit(rows["X"], rows["y"], rows["qid"]), X, 0)
    TopContributionsDisplay.from_explanation(explained, item_names=names)
    with pytest.raises(ValueError, match=r"in the order of explanation\.labels"):
        TopContributionsDisplay.from_explanation(explained, item_names=names[::-1])


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
