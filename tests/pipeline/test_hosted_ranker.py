"""Rankers in the dialects of other programs: sizes, lists of sets, columns, and X alone."""

import pickle

import numpy as np
import pandas as pd
import pytest
from boosting_cases import ENGINES, boosted
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import (
    ExternalRanker,
    GuaranteedCutoff,
    NDCGRanker,
    RankingTarget,
    StackingRanker,
    TabularRanker,
    load_digits_queries,
)
from skcalrank.calibration import calibration_of
from skcalrank.data import MissingQidError
from skcalrank.displays import (
    ContributionDisplay,
    ImportanceDisplay,
    TopContributionsDisplay,
    TrainingCurveDisplay,
)
from skcalrank.evaluation import rank_frame
from skcalrank.export import to_elasticsearch, to_engine, to_json, to_sql
from skcalrank.inspection import explain_order, explain_scores, query_permutation_importance
from skcalrank.persistence import load_model, save_model
from skcalrank.pipeline import HostedRanker, QueryPipeline, make_query_pipeline
from skcalrank.preprocessing import QueryScaler
from skcalrank.testing import all_rankers

N_QUERIES, N_DOCUMENTS, D = 12, 9, 6
SIZES = [N_DOCUMENTS] * N_QUERIES


@pytest.fixture(scope="module")
def problem():
    X, y, qid = load_digits_queries(n_queries=N_QUERIES, n_documents=N_DOCUMENTS)
    return X[:, 20 : 20 + D], y, qid


def small_boosted(**params):
    return boosted(ENGINES[0], n_estimators=8, n_iter_no_change=3, **params)


def stacked():
    return StackingRanker([("ndcg", NDCGRanker()), ("trees", small_boosted())])


RANKERS = {
    "NDCGRanker": NDCGRanker(),
    "BoostedRanker": small_boosted(),
    "ExternalRanker": ExternalRanker(Ridge()),
    "pipeline": make_query_pipeline(QueryScaler(), NDCGRanker()),
    "StackingRanker": stacked(),
    "TabularRanker": TabularRanker(trees=small_boosted(), n_jobs=1),
}
every_ranker = pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)


def with_column(X, qid, place):
    """X as an array that holds the queries, too."""
    return np.insert(X, place, qid, axis=1)


# -- every statement of the same queries is the same fit -------------------------------------


@every_ranker
def test_sizes_and_columns_say_what_a_qid_says(ranker, problem):
    X, y, _ = problem
    names = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    alone = clone(ranker).fit(X, y, names)
    expected = alone.predict(X, names)
    by_qid = HostedRanker(ranker).fit(X, y, qid=names)
    by_size = HostedRanker(ranker).fit(X, y, group=SIZES)
    by_target = HostedRanker(ranker).fit(X, RankingTarget(y, names))
    for hosted in (by_qid, by_size, by_target):
        np.testing.assert_array_equal(hosted.predict(X, names), expected)
        assert hosted.score(X, y, names) == alone.score(X, y, names)
        assert hosted.score(X, RankingTarget(y, names)) == alone.score(X, y, names)
    for place in (0, 2, D):
        table = with_column(X, names, place)
        hosted = HostedRanker(ranker, qid_column=place).fit(table, y)
        np.testing.assert_allclose(hosted.predict(table), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(hosted.rank(table), alone.rank(X, names))
        np.testing.assert_array_equal(hosted.top_k(table, k=2), alone.top_k(X, names, k=2))
        np.testing.assert_array_equal(hosted.surrogate_values(table), hosted.predict(table))
        assert abs(hosted.score(table, y) - alone.score(X, y, names)) < 1e-12
        assert hosted.n_features_in_ == D + 1


@pytest.mark.parametrize("name", [name for name, _ in all_rankers()])
def test_every_ranker_can_be_hosted(name):
    cls = dict(all_rankers())[name]
    hosted = HostedRanker(cls(), qid_column=0)
    assert clone(hosted).get_params(deep=False)["qid_column"] == 0
    assert "ranker__" in "".join(hosted.get_params())


@pytest.mark.parametrize("make", ["pandas", "polars", "pyarrow"])
def test_a_column_of_a_table_has_a_name(problem, make):
    X, y, qid = problem
    library = pytest.importorskip(make)
    if make == "pyarrow":  # of whose tables earlier versions take no columns
        pytest.importorskip("sklearn", minversion="1.7")
    columns = {f"f{k}": X[:, k] for k in range(D)}
    query = np.array([f"q{number}" for number in qid])
    make = library.table if make == "pyarrow" else library.DataFrame
    table = make({"f0": X[:, 0], "search": query, **columns})
    ranker = TabularRanker(trees=small_boosted(), n_jobs=1)
    hosted = HostedRanker(ranker, qid_column="search").fit(table, y)
    expected = clone(ranker).fit(make(columns), y, query).predict(make(columns), query)
    np.testing.assert_array_equal(hosted.predict(table), expected)
    assert hosted.column_ == 1


def test_a_column_whose_name_is_a_number_is_found_anywhere(problem):
    X, y, qid = problem
    table = pd.DataFrame(X).assign(**{"q": qid}).rename(columns={"q": D})
    hosted = HostedRanker(NDCGRanker(), qid_column=D).fit(table, y)
    moved = table[[D, *range(D)]]
    np.testing.assert_array_equal(hosted.predict(moved), hosted.predict(table))


def test_a_column_of_a_sparse_matrix_and_of_lists(problem):
    X, y, qid = problem
    table = with_column(X, qid + 1, 3)
    expected = NDCGRanker().fit(X, y, qid).predict(X)
    hosted = HostedRanker(NDCGRanker(), qid_column=3)
    for rows in (sparse.csr_matrix(table), table.tolist()):
        np.testing.assert_allclose(hosted.fit(rows, y).predict(rows), expected, atol=1e-9)


class Spy(NDCGRanker):
    """A ranker that keeps the format of the features, and computes nothing."""

    def predict(self, X, qid=None):
        self.format_ = X.format
        return np.zeros(X.shape[0])


@pytest.mark.parametrize("kind", ["csr", "csc", "lil", "dok", "coo", "bsr", "dia"])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_sparse_matrices_are_converted_once_and_only_if_needed(problem, kind, monkeypatch):
    X, y, qid = problem
    table = sparse.csr_matrix(with_column(X, qid, 3)).asformat(kind)
    hosted = HostedRanker(Spy(), qid_column=3).fit(table, y)
    calls, convert = [], type(table).tocsr
    monkeypatch.setattr(type(table), "tocsr", lambda self: calls.append(self) or convert(self))
    hosted.predict(table)
    has_subscripts = kind in ("csr", "csc", "lil", "dok")
    assert hosted.ranker_.format_ == (kind if has_subscripts else "csr")
    assert has_subscripts or len(calls) == 1


@pytest.mark.parametrize("column", [None, "search"])
def test_records_are_tables(problem, column):
    X, y, qid = problem
    query = [f"q{number}" for number in qid]
    table = pd.DataFrame(X).add_prefix("f")
    if column is not None:
        table.insert(1, column, query)
    records = table.to_dict("records")
    stated = {"qid": None if column else query}
    ranker = TabularRanker(trees=small_boosted(), n_jobs=1)
    hosted, of_table = (HostedRanker(ranker, qid_column=column) for _ in range(2))
    hosted.fit(records, y, **stated)
    of_table.fit(table, y, **stated)
    backwards = [dict(reversed(row.items())) for row in records]
    for rows in (records, backwards, table):
        for method in ("predict", "contributions"):
            expected = getattr(of_table, method)(table, **stated)
            np.testing.assert_allclose(getattr(hosted, method)(rows, **stated), expected)
    assert hosted.n_features_in_ == table.shape[1]
    assert hosted.feature_names_in_.tolist() == list(table)
    if column is not None:
        with pytest.raises(ValueError, match=r"qid must hold an identifier for every row.* row 1"):
            hosted.predict([records[0], {"f0": 1.0}])


@pytest.mark.parametrize("dtype", [np.uint64, np.int8, object])
def test_sizes_are_integers_of_any_type(problem, dtype):
    X, y, _ = problem
    sizes = np.array(SIZES, dtype=dtype)
    expected = HostedRanker(NDCGRanker()).fit(X, y, group=SIZES).predict(X)
    found = HostedRanker(NDCGRanker()).fit(X, y, group=sizes).predict(X)
    np.testing.assert_array_equal(found, expected)


def test_results_have_the_index_and_the_width_of_the_caller(problem):
    X, y, qid = problem
    index = [f"row {k}" for k in range(len(y))]
    table = pd.DataFrame(X, index=index).add_prefix("f").assign(search=qid)
    hosted = HostedRanker(small_boosted(), qid_column="search").fit(table, y)
    assert hosted.rank(table).index.tolist() == index
    assert hosted.feature_names_in_.tolist() == list(table)
    parts = hosted.contributions(table)
    assert parts.shape == (len(y), D + 2)
    assert not parts[:, D].any()
    np.testing.assert_allclose(parts.sum(axis=1), hosted.surrogate_values(table))
    np.testing.assert_array_equal(
        hosted.feature_importances_, [*hosted.ranker_.feature_importances_, 0]
    )
    assert not hasattr(HostedRanker(QueryPipeline([("r", NDCGRanker())])), "contributions")
    assert not hasattr(HostedRanker(NDCGRanker()).fit(X, y, qid=qid), "feature_importances_")


def test_the_caller_keeps_what_is_passed(problem):
    X, y, qid = problem
    table = pd.DataFrame(X).add_prefix("f").assign(search=qid)
    before, ranker = table.copy(), NDCGRanker()
    HostedRanker(ranker, qid_column="search").fit(table, y).predict(table)
    pd.testing.assert_frame_equal(table, before)
    assert not hasattr(ranker, "record_")


# -- queries for early stopping ---------------------------------------------------------------


def halves(problem):
    X, y, qid = problem
    train = qid < N_QUERIES // 2
    return (X[train], y[train], qid[train]), (X[~train], y[~train], qid[~train])


@pytest.mark.parametrize("ranker", [small_boosted(), stacked()], ids=["boosted", "stack"])
def test_lists_of_sets_stop_as_an_eval_set_does(ranker, problem):
    (X, y, qid), (X_val, y_val, qid_val) = halves(problem)
    expected = clone(ranker).fit(X, y, qid, eval_set=(X_val, y_val, qid_val)).predict(X_val)
    sizes = [N_DOCUMENTS] * (N_QUERIES // 2)
    for given in (
        {"eval_set": [(X_val, y_val)], "eval_group": [sizes]},
        {"eval_set": [(X_val, y_val)], "eval_qid": [qid_val]},
        {"eval_set": [(X_val, y_val)], "eval_group": np.array([sizes])},
        {"eval_set": [(X_val, y_val)], "eval_qid": np.array([qid_val])},
        {"eval_set": (X_val, y_val), "eval_qid": [qid_val]},
        {"eval_set": [(X_val, RankingTarget(y_val, qid_val))]},
    ):
        hosted = HostedRanker(ranker).fit(X, y, qid=qid, **given)
        np.testing.assert_array_equal(hosted.predict(X_val), expected)
    hosted = HostedRanker(ranker, qid_column=0)
    hosted.fit(with_column(X, qid, 0), y, eval_set=[(with_column(X_val, qid_val, 0), y_val)])
    np.testing.assert_array_equal(hosted.predict(with_column(X_val, qid_val, 0)), expected)


def test_the_last_of_several_sets_stops(problem):
    pytest.importorskip("matplotlib")
    (X, y, qid), (X_val, y_val, qid_val) = halves(problem)
    sets, qids = [(X_val[::-1], y_val[::-1]), (X_val, y_val)], [qid_val[::-1], qid_val]
    hosted = HostedRanker(small_boosted()).fit(X, y, qid=qid, eval_set=sets, eval_qid=qids)
    assert list(hosted.ranker_.evals_result_) == ["validation_0", "validation_1"]
    display = TrainingCurveDisplay.from_estimator(hosted)
    assert display.values


def test_sizes_of_sets_are_no_queries_of_fit(problem):
    # Numbers of queries that fit has seen with other sizes would be told as cut queries.
    (X, y, _), (X_val, y_val, _) = halves(problem)
    sizes, others = [N_DOCUMENTS] * 6, [N_DOCUMENTS - 3, N_DOCUMENTS + 3] * 3
    hosted = HostedRanker(small_boosted())
    hosted.fit(X, y, group=sizes, eval_set=[(X_val, y_val)], eval_group=[others])


def test_a_set_is_left_out_with_one_warning(problem):
    X, y, qid = problem
    hosted = HostedRanker(NDCGRanker())
    with pytest.warns(UserWarning, match="eval_set is left out, as NDCGRanker") as caught:
        hosted.fit(X, y, qid=qid, eval_set=[(X, y), (X, y)], eval_group=[SIZES, SIZES])
    assert len(caught) == 1
    np.testing.assert_array_equal(hosted.predict(X), NDCGRanker().fit(X, y, qid).predict(X))


# -- errors: numbers, and a remedy --------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group": SIZES[:-1]}, r"sum 108, got 11 sizes with sum 99: pass .* qid="),
        ({"group": np.zeros((2, 2), int)}, r"group must be the number of rows of each query"),
        ({"group": ["a"] * 108}, r"group must be the number of rows .* as qid="),
        ({"group": [-9, 117]}, r"got \[-9, 117\]: pass the query of each row"),
        (
            {"group": [18] * 6, "qid": np.repeat(np.arange(12), 9)},
            r"qid and group must state the same queries, got others from row 9 on "
            r"\(12 and 6 queries\): leave one of them out",
        ),
        ({"eval_group": [SIZES]}, r"eval_set must be a list .* lengths 0, 1: pass eval_set="),
        ({"eval_qid": [SIZES]}, r"eval_set must be a list of tuples"),
    ],
)
def test_wrong_statements(problem, given, message):
    X, y, _ = problem
    with pytest.raises(ValueError, match=message):
        HostedRanker(small_boosted()).fit(X, y, **given)


def test_statements_of_sets_that_are_wrong(problem):
    X, y, qid = problem
    hosted = HostedRanker(small_boosted())
    for sets, others, message in (
        ([(X, y)], {"eval_group": [SIZES, SIZES]}, "lengths 1, 2"),
        ([(X, y, qid)], {}, r"eval_set must be a list of tuples \(X, y\)"),
        ([X, y], {}, r"eval_set must be a list of tuples \(X, y\)"),
        ([(X, y)], {"eval_group": [[5, 5]]}, r"eval_group must be .* got 2 sizes with sum 10"),
        ([(X, y)], {"eval_group": [[54, 54]], "eval_qid": [qid]}, "eval_qid and eval_group must"),
    ):
        with pytest.raises(ValueError, match=message):
            hosted.fit(X, y, qid=qid, eval_set=sets, **others)
    assert not hasattr(hosted, "n_features_in_")


def test_statements_that_contradict_a_column(problem):
    X, y, qid = problem
    table = with_column(X, qid, 0)
    hosted = HostedRanker(NDCGRanker(), qid_column=0)
    for given in ({"qid": qid[::-1]}, {"group": [54, 54]}):
        if "qid" in given:
            hosted.fit(table, y, **given)  # other names of the same queries
            continue
        with pytest.raises(ValueError, match="qid_column=0 and group must state the same"):
            hosted.fit(table, y, **given)
    with pytest.raises(ValueError, match="y and qid_column=0 must state the same"):
        hosted.fit(table, RankingTarget(y, np.roll(qid, 4)))
    hosted.fit(table, y, group=SIZES)
    with pytest.raises(ValueError, match="qid and qid_column=0 must state the same"):
        hosted.predict(table, np.roll(qid, 4))


def test_columns_that_are_not_there(problem):
    X, y, qid = problem
    frame = pd.DataFrame(X).add_prefix("f").assign(search=qid)
    for table, column, message in (
        (frame, "qid", "must be the name of a column of X, got 'qid', .* 'f0', 'f1'"),
        (X, 7, "must be the position of a column of X, got 7, .* 0, 1, 2, 3, 4, 5. Pass"),
        (X, "search", "must be the position of a column of X, got 'search'"),
        (X, -1, "must be the position"),
        (X, True, "must be the position of a column of X, got True"),
    ):
        with pytest.raises(ValueError, match=message):
            HostedRanker(NDCGRanker(), qid_column=column).fit(table, y)
    hosted = HostedRanker(NDCGRanker(), qid_column="search").fit(frame, y)
    with pytest.raises(ValueError, match="search"):
        hosted.predict(frame.drop(columns="search"))
    with pytest.raises(ValueError, match="X has 6 features, but HostedRanker is expecting 7"):
        HostedRanker(NDCGRanker(), qid_column=0).fit(with_column(X, qid, 0), y).predict(X)


@pytest.mark.parametrize("ranker", [Ridge(), None, NDCGRanker, GridSearchCV(NDCGRanker(), {})])
def test_what_is_no_ranker(problem, ranker):
    X, y, qid = problem
    with pytest.raises(ValueError, match=r"ranker must be a ranker .* as ExternalRanker\("):
        HostedRanker(ranker).fit(X, y, qid=qid)
    repr(HostedRanker(ranker))


def test_a_missing_qid_is_told_as_by_the_ranker(problem):
    X, y, qid = problem
    hosted = HostedRanker(NDCGRanker()).fit(X, y, group=SIZES)
    hosted.predict(X)
    with pytest.raises(MissingQidError, match="rank got none"):
        hosted.rank(X)
    with pytest.raises(MissingQidError):
        hosted.fit(np.tile(X, (3, 1)), np.tile(y, 3))
    with pytest.raises(ValueError, match="missing"):
        HostedRanker(NDCGRanker(), qid_column=0).fit(
            with_column(X, np.where(qid, qid, np.nan), 0), y
        )


def test_arguments_of_others_name_the_remedy(problem):
    X, y, _ = problem
    with pytest.raises(TypeError, match=r"no argument 'eval_group': .* HostedRanker of skcalrank"):
        TabularRanker().fit(X, y, eval_group=[SIZES])
    with pytest.raises(TypeError, match="no argument 'eval_metric': BoostedRanker"):
        HostedRanker(NDCGRanker()).fit(X, y, group=SIZES, eval_metric="ndcg")


# -- as any estimator -----------------------------------------------------------------------------


def test_copies_and_files(problem, tmp_path):
    X, y, qid = problem
    table = with_column(X, qid, 0)
    hosted = HostedRanker(NDCGRanker(alpha=2.0), qid_column=0).fit(table, y)
    assert repr(hosted) == "HostedRanker(qid_column=0, ranker=NDCGRanker(alpha=2.0))"
    save_model(hosted, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(hosted)), load_model(tmp_path / "model")):
        np.testing.assert_array_equal(copy.predict(table), hosted.predict(table))
    assert clone(hosted).set_params(ranker__alpha=1.0).ranker.alpha == 1.0


@pytest.mark.parametrize("routed", [False, True])
def test_searches_and_scores(problem, routed):
    X, y, qid = problem
    alphas, cv = [0.1, 10.0], GroupKFold(3)
    alone = [
        np.mean(
            [
                NDCGRanker(alpha=a).fit(X[f], y[f], qid[f]).score(X[t], y[t], qid[t])
                for f, t in cv.split(X, y, qid)
            ]
        )
        for a in alphas
    ]
    with config_context(enable_metadata_routing=routed):
        if routed:
            hosted, table = HostedRanker(NDCGRanker()), X
            params = {"qid": qid, "groups": qid}
        else:
            hosted, table = HostedRanker(NDCGRanker(), qid_column=0), with_column(X, qid, 0)
            params = {"groups": qid}
        search = GridSearchCV(hosted, {"ranker__alpha": alphas}, cv=cv).fit(table, y, **params)
        np.testing.assert_allclose(search.cv_results_["mean_test_score"], alone, rtol=1e-12)
        if routed:
            found = cross_validate(hosted, table, y, cv=cv, params=params)["test_score"]
            assert len(found) == 3


def test_tools_see_the_ranker_inside(problem):
    X, y, qid = problem
    hosted = HostedRanker(NDCGRanker()).fit(X, y, group=SIZES)
    assert calibration_of(hosted) == calibration_of(HostedRanker(NDCGRanker()))
    assert calibration_of(hosted) == calibration_of(NDCGRanker())
    of_hosted, of_ranker = (explain_order(r, X[:9], 0, 1) for r in (hosted, hosted.ranker_))
    np.testing.assert_array_equal(of_hosted.contributions, of_ranker.contributions)
    column = HostedRanker(NDCGRanker(), qid_column=0)
    table = with_column(X, qid, 0)
    frame = rank_frame(column.fit(table, y), table, qid, k=3)
    pd.testing.assert_frame_equal(frame, rank_frame(hosted.ranker_, X, qid, k=3))


def searched(host):
    return GridSearchCV(host, {}, cv=GroupKFold(2), scoring=lambda *_: 0.0)


SAME = StandardScaler(with_mean=False, with_std=False)
WRAPPED = {
    "host": lambda host: host,
    "search": searched,
    "frozen": FrozenEstimator,
    "host of a host": HostedRanker,
    "pipeline": lambda host: Pipeline([("same", SAME), ("host", host)]),
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("ranker", [r for name, r in RANKERS.items() if name != "ExternalRanker"])
def test_explanations_leave_the_column_out(problem, ranker, wrap):
    X, y, qid = problem
    table = with_column(X, qid, 2)
    host = HostedRanker(ranker, qid_column=2)
    estimator = wrap(host.fit(table, y) if wrap is FrozenEstimator else host)
    estimator.fit(table, y, **({"groups": qid} if wrap is searched else {}))
    expected = explain_scores(clone(ranker).fit(X, y, qid), X, qid)
    for stated in (None, qid, qid.astype(str)):
        found = explain_scores(estimator, table, stated)
        np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-9)
        np.testing.assert_allclose(found.scores, estimator.predict(table), atol=1e-9)
        for options in ({}, {"second": 2}):
            one = explain_order(estimator, table, 1, qid=stated, **options)
            parts = expected.contributions[1] - (expected.contributions[2] if options else 0)
            np.testing.assert_allclose(one.contributions, parts, atol=1e-9)
    assert found.feature_names.tolist() == ["x0", "x1", "x3", "x4", "x5", "x6"]
    named = explain_scores(estimator, table, feature_names=[*"abcdefg"])
    assert named.feature_names.tolist() == [*"abdefg"]
    with pytest.raises(ValueError, match=r"7 names|number of features \(7\)"):
        explain_scores(estimator, table, feature_names=[*"abdefg"])
    with pytest.raises(ValueError, match="qid and qid_column=2 must state the same queries"):
        explain_scores(estimator, table, 0)


@pytest.mark.parametrize(
    ("ranker", "form"),
    [
        (NDCGRanker(), "frame"),
        (RANKERS["pipeline"], "frame"),
        (small_boosted(), "frame"),
        (small_boosted(), "records"),
    ],
)
def test_explanations_and_displays_of_tables_with_text_as_queries(problem, ranker, form):
    pytest.importorskip("matplotlib")
    X, y, qid = problem
    names = [f"f{k}" for k in range(D)]
    frame = pd.DataFrame(X, columns=names).assign(search=[f"q{number}" for number in qid])
    table = frame if form == "frame" else frame.to_dict("records")
    hosted = HostedRanker(ranker, qid_column="search").fit(table, y)
    alone = clone(ranker).fit(frame[names], y, frame["search"])
    found, expected = explain_scores(hosted, table), explain_scores(alone, frame[names], qid)
    assert found.feature_names.tolist() == expected.feature_names.tolist() == names
    np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-9)
    of_one = explain_scores(hosted, table[:N_DOCUMENTS], 0)  # a scalar is one query
    np.testing.assert_allclose(of_one.contributions, found.contributions[:N_DOCUMENTS], atol=1e-9)
    bars = ImportanceDisplay.from_estimator(hosted, table)
    np.testing.assert_allclose(bars.importances, expected.importances, atol=1e-9)
    order = ContributionDisplay.from_estimator(hosted, table, 1).explanation
    of_row = dict.fromkeys(names, 0.0) | dict(zip(order.feature_names, order.contributions))
    np.testing.assert_allclose([*of_row.values()], found.contributions[1], atol=1e-9)
    for query, start in (({}, 0), ({"query": "q1"}, N_DOCUMENTS)):
        cells = TopContributionsDisplay.from_estimator(hosted, table, k=3, **query)
        best = start + np.argsort(-found.scores[start : start + N_DOCUMENTS], kind="stable")[:3]
        assert cells.item_names.tolist() == best.tolist()
        np.testing.assert_allclose(cells.contributions, found.contributions[best], atol=1e-9)


@pytest.mark.parametrize("place", [0, 3])
def test_the_column_states_the_queries_whose_rows_are_shuffled(problem, place):
    X, y, qid = problem
    table = with_column(X, qid, place)
    hosted = HostedRanker(RANKERS["pipeline"], qid_column=place).fit(table, y)
    found = query_permutation_importance(hosted, table, y, random_state=0)
    expected = query_permutation_importance(hosted.ranker_, X, y, qid, random_state=0)
    assert found.of_queries.shape == (D + 1, N_QUERIES)
    assert not np.nansum(np.abs(found.of_queries[place]))
    stated = query_permutation_importance(hosted, table, y, qid, random_state=0)
    np.testing.assert_array_equal(found.of_queries, stated.of_queries)
    if place:  # the columns before it are shuffled as without it
        np.testing.assert_allclose(found.of_queries[:place], expected.of_queries[:place])


def test_exports_are_those_of_the_ranker(problem):
    X, y, qid = problem
    names = [f"f{k}" for k in range(D)]
    table = pd.DataFrame(X, columns=names).assign(search=qid)[["f0", "search", *names[1:]]]
    for ranker in (NDCGRanker(), small_boosted()):
        hosted = HostedRanker(ranker, qid_column="search").fit(table, y)
        alone = clone(ranker).fit(table[names], y, qid)
        for fitted in (hosted, searched(clone(hosted)).fit(table, y, groups=qid)):
            assert to_json(fitted) == to_json(alone)
            assert to_elasticsearch(fitted, "m") == to_elasticsearch(alone, "m")
            assert to_json(fitted, feature_names=[*"abcdefg"]) == to_json(
                alone, feature_names=[*"acdefg"]
            )
    if ENGINES != ["sklearn"]:  # whose trees have no text
        assert to_engine(hosted) == to_engine(alone)
    linear = HostedRanker(NDCGRanker(), qid_column="search").fit(table, y)
    assert to_sql(linear) == to_sql(linear.ranker_)


# -- rankers of other libraries in a pipeline of ours ---------------------------------------------


@pytest.mark.parametrize(
    ("module", "name"),
    [("lightgbm", "LGBMRanker"), ("xgboost", "XGBRanker"), ("catboost", "CatBoostRanker")],
)
def test_a_pipeline_takes_rankers_of_other_libraries(problem, module, name):
    X, y, qid = problem
    y = np.minimum(y, 3)
    quiet = {"lightgbm": {"verbose": -1, "n_jobs": 1}, "catboost": {"verbose": 0}}
    cls = getattr(pytest.importorskip(module), name)
    if module == "catboost":
        quiet["catboost"] |= {"allow_writing_files": False, "thread_count": 1}
    other = cls(n_estimators=5, **quiet.get(module, {}))
    rows = np.random.default_rng(0).permutation(len(y))
    X, y, qid = X[rows], y[rows], np.array([f"q{q}" for q in qid[rows]])
    pipe = make_query_pipeline(QueryScaler(), other).fit(X, y, qid)
    scaled = QueryScaler().fit_transform(X, qid=qid)
    alone = ExternalRanker(other).fit(scaled, y, qid)
    np.testing.assert_array_equal(pipe.predict(X, qid), alone.predict(scaled))
    assert pipe.score(X, y, qid) == alone.score(scaled, y, qid)
    with pytest.raises(ValueError, match="ExternalRanker"):
        HostedRanker(other).fit(X, y, qid=qid)


def test_a_ranker_of_another_library_as_a_step_is_told(problem):
    X, y, qid = problem
    lightgbm = pytest.importorskip("lightgbm")
    pipe = QueryPipeline([("scale", QueryScaler()), ("trees", lightgbm.LGBMRanker())])
    with pytest.raises(TypeError, match=r"last step 'trees' must take a qid, got LGBMRanker.*Exte"):
        pipe.fit(X, y, qid)
    for other in (make_query_pipeline(NDCGRanker()), make_query_pipeline(Ridge())):
        assert not isinstance(other[-1], ExternalRanker)


def test_guarantees_can_be_hosted(problem):
    X, y, _ = problem
    cutoff = GuaranteedCutoff(by="depth", alpha=0.4, relevance_level=1)
    hosted = HostedRanker(cutoff).fit(X, y, group=SIZES)
    assert hosted.rank(X, np.repeat(np.arange(12), 9)).min() >= 0


@pytest.mark.parametrize(
    "container", [np.ndarray.tolist, lambda rows: np.ma.masked_values(rows, -1)]
)
def test_queries_named_by_large_integers(container, rng):
    rows = rng.integers(0, 9, (40, 4))
    rows[:, 0], rows[3, 1] = 2**53 + np.arange(40) // 5, -1
    host = HostedRanker(boosted("sklearn", n_estimators=2), qid_column=0)
    ranks = host.fit(container(rows), rng.integers(0, 3, 40)).rank(container(rows))
    assert ranks.max() == 5
    # Beside floats, numpy makes floats of all numbers of a list.
    rows = [[int(row[0]), 0.5 * row[1], 0.5 * row[2]] for row in rows]
    assert host.fit(rows, rng.integers(0, 3, 40)).rank(rows).max() == 5
