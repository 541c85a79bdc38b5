"""The commonest mistakes of a first hour, made with every public function and every ranker."""

import inspect
import re
from importlib import import_module
from itertools import chain
from pkgutil import iter_modules

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skcalrank
from skcalrank import (
    BoostedRanker,
    NDCGRanker,
    QueryKFold,
    RankingTarget,
    SpearmanRanker,
    TabularRanker,
    get_scorer,
)
from skcalrank.data import CutQueriesWarning, MissingQidError, OneQueryWarning
from skcalrank.evaluation import compare, cross_compare
from skcalrank.testing import all_rankers

X, Y = np.arange(40.0).reshape(20, 2) ** 0.5, np.array([0.0, 1.0, 1.0, 0.0] * 5)
QID = np.repeat(list("abcde"), 4)
FITTED = NDCGRanker().fit(X, Y, QID)


class LazyFrame:
    """A table of a query that has not been run, as polars has it."""

    columns = ("a", "b")


LazyFrame.__module__ = "polars.lazyframe.frame"

#: Right values of arguments by name.
RIGHT = {
    "X": X,
    "y": Y,
    "qid": QID,
    "y_true": Y,
    "y_value": Y,
    "y_score": X[:, 0],
    "scores": {"one": X[:, 0], "two": X[:, 1]},
    "measure": "ndcg@10",
    "measures": ["ndcg@10"],
    "estimators": {"one": NDCGRanker(), "two": NDCGRanker(k=1)},
    "model": FITTED,
    "ranker": FITTED,
    "first": 0,
}

ROWS = ("y", "y_true", "y_value", "y_score")
#: name: (arguments, wrong value, what the message says).
MISTAKES = {
    "a lazy table": (("X", *ROWS, "scores", "qid"), LazyFrame(), r"LazyFrame of polars.*\.collect"),
    "the name of a column": (ROWS, "price", r"the string 'price': pass .*frame\['price'\]"),
    "the name of the query": (("qid",), "search", r"frame\['search'\]"),
    "sizes of queries": (("qid",), [4] * 5, r"group sizes.*np\.repeat"),
    "a query for some rows": (("qid",), QID[:5], "qid must have 20 entries, .* got 5"),
    "a query without a name": (
        ("qid",),
        np.array([None, *QID[1:]], dtype=object),
        "qid must hold an identifier for every row, got a missing value .* in row 0",
    ),
    "judgments by name": (ROWS, {"a": {"one": 1}}, "got a dict: .*evaluate_run"),
    "an estimator for its scores": (
        ("y_true", "y_score"),
        NDCGRanker(),
        r"got NDCGRanker\(\): pass what its predict returns, .*cross_compare",
    ),
    "a measure of another spelling": (
        ("measure",),
        "ndcg10",
        r"Unknown measure 'ndcg10' \(did you mean 'ndcg@10'\?\)",
    ),
    "a measure in capitals": (("measures",), ["NDCG@10"], r"did you mean 'ndcg@10'\?"),
    "one measure for several": (("measures",), "map", r"must be a list or a dict, got 'map'"),
}

#: Functions and rankers whose labels are judgments of a class of their own, which they ask for.
OF_JUDGMENTS = ("aggregation.", "MultiLabelRanker.", "dask.")
#: Functions without rows, or with rows in a form of their own.
OF_OTHERS = ("export.to_sql", "calibration.noise_report", "preprocessing.signed_log1p")
#: The function that reads a qid alone, of any length.
OF_A_QID = "boosting.group_sizes"


def functions():
    """Public functions by name, once each."""
    for room in iter_modules(skcalrank.__path__):
        module = None if room.name.startswith("_") else import_module(f"skcalrank.{room.name}")
        for name in getattr(module, "__all__", ()):
            if inspect.isfunction(getattr(module, name)):
                yield f"{room.name}.{name}", getattr(module, name)


def methods():
    """Methods that fit of every ranker, and methods of some fitted ones."""
    for name, cls in all_rankers():
        for method in ("fit", "fit_targets"):
            if hasattr(cls(), method):
                yield f"{name}.{method}", getattr(cls(), method)
    trees = BoostedRanker(engine="sklearn", n_estimators=2, n_iter_no_change=1)
    for ranker in (FITTED, trees.fit(X, Y, QID)):
        for method in ("predict", "rank", "surrogate_values", "score"):
            yield f"{type(ranker).__name__}.{method}", getattr(ranker, method)


def misled(arguments, wrong, words):
    """What calls say, other than the words, of a wrong value in the place of an argument."""
    n_calls = 0
    for name, call in chain(functions(), methods()):
        takes = inspect.signature(call).parameters
        needs = {n for n, p in takes.items() if p.default is p.empty and p.kind not in (2, 4)}
        if name.startswith((*OF_JUDGMENTS, *OF_OTHERS)) or not needs <= RIGHT.keys():
            continue
        for argument in takes.keys() & set(arguments):
            # A scalar is one query at predict.
            if argument == "qid" and isinstance(wrong, str) and "y" not in takes:
                continue
            if name == OF_A_QID and hasattr(wrong, "__len__") and None not in wrong:
                continue
            rows = X if "split" in name else None
            given = {key: RIGHT[key] for key in takes.keys() & RIGHT.keys()} | {argument: wrong}
            n_calls += 1
            try:
                call(*(() if rows is None else [rows]), **given)
            except (ValueError, TypeError) as error:
                if not re.search(words, str(error)):
                    yield f"{name}({argument}): {type(error).__name__}: {error}"
            else:
                yield f"{name}({argument}): no error"
    assert n_calls


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_function_tells_what_is_wrong(mistake):
    assert list(misled(*MISTAKES[mistake])) == []


#: name: (call, type, what the message says).
OTHERS = {
    "the cutoff of a table": (lambda: TabularRanker(k=10), TypeError, "measure='ndcg@10'"),
    "the cutoff of trees": (lambda: BoostedRanker(k=10), TypeError, "measure='ndcg@10'"),
    "an option of trees": (
        lambda: TabularRanker(num_leaves=7),
        TypeError,
        r"trees=BoostedRanker\(max_leaf_nodes=\.\.\.\)",
    ),
    "a misspelled option": (
        lambda: TabularRanker(tree=1),
        TypeError,
        "choose among measure, trees",
    ),
    "another name of the qid": (
        lambda: NDCGRanker().fit(X, Y, query=QID),
        TypeError,
        "NDCGRanker.fit has no argument 'query': pass qid=query",
    ),
    "another name of the weights": (
        lambda: NDCGRanker().fit(X, Y, QID, weights=Y),
        TypeError,
        "NDCGRanker.fit has no argument 'weights': choose among X, y, qid, sample_weight",
    ),
    "no labels": (lambda: NDCGRanker().fit(X), TypeError, "NDCGRanker.fit needs the labels"),
    "estimators for scores": (
        lambda: compare(Y, {"one": FITTED}, ["map"], qid=QID),
        ValueError,
        r"scores\['one'\] must be numbers, got NDCGRanker\(\).*cross_compare",
    ),
    "a run for scores": (
        lambda: compare(Y, {"one": {"a": {"d": 1.0}}}, ["map"], qid=QID),
        ValueError,
        r"scores\['one'\] .* got a dict.*compare_values",
    ),
    "a class for an estimator": (
        lambda: cross_compare({"one": NDCGRanker}, X, Y, QID, ["map"]),
        ValueError,
        r"estimators\['one'\] must have fit and predict, .*: did you mean NDCGRanker\(\)\?",
    ),
    "grades for a binary measure": (
        lambda: compare(2 * Y, {"one": Y}, ["ndcg@10", "map@5"], qid=QID, relevance_level=None),
        ValueError,
        r"0 and 1 for map@5, got 2\. Set relevance_level=1, .* parameter of .* compare, get_scorer",
    ),
    "a scorer of another spelling": (lambda: get_scorer("P@10"), ValueError, "'precision@10'"),
    "score of a plain pipeline": (
        lambda: (
            make_pipeline(StandardScaler(), NDCGRanker())
            .fit(X, Y, ndcgranker__qid=QID)
            .score(X, Y, qid=QID)
        ),
        MissingQidError,
        "make_query_pipeline",
    ),
    "a qid that is not routed": (
        lambda: cross_val_score(NDCGRanker(), X, Y, cv=QueryKFold(2), params={"qid": QID}),
        MissingQidError,
        r"RankingTarget\(y, qid\).*set_config\(enable_metadata_routing=True\)",
    ),
    "unranked items": (
        lambda: SpearmanRanker().fit(X, np.where(X > 1, X, np.nan)),
        ValueError,
        "y contains NaN, .* PairwiseDisagreementRanker",
    ),
}


@pytest.mark.parametrize("mistake", OTHERS)
def test_mistakes_of_one_call(mistake):
    call, kind, words = OTHERS[mistake]
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("carried", [False, True])
def test_a_search_warns_in_one_text(carried):
    # Folds cut at other places lose other numbers of documents, which the texts leave out.
    y = RankingTarget(Y, QID) if carried else Y
    kind = CutQueriesWarning if carried else OneQueryWarning
    with pytest.warns(kind) as caught:
        GridSearchCV(NDCGRanker(), {"k": [1, 2]}, cv=4).fit(X, y)
    assert len({str(warning.message) for warning in caught}) == 1


@pytest.mark.parametrize("tags", [[["a", "b"], ["c"]], [("a", "b"), ("c", "d")], [{"a"}, set()]])
def test_lists_of_tags(tags):
    with pytest.raises(ValueError, match=r"got lists of names such as \['a'.*MultiLabelBinarizer"):
        skcalrank.PrecisionRanker(k=1).fit([[1.0], [2.0]], tags)
