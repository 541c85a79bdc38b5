"""Queries for early stopping that are passed to fit."""

import warnings

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank import NDCGRanker, RankingTarget, StackingRanker, load_digits_queries
from skcalrank.data import CutQueriesWarning
from skcalrank.model_selection import QueryKFold
from skcalrank.persistence import load_model, save_model
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QuantileHinges, QueryScaler

every_engine = pytest.mark.parametrize("engine", ENGINES)

N_QUERIES, N_HELD = 30, 10


@pytest.fixture(scope="module")
def parts():
    X, y, qid = load_digits_queries(n_queries=N_QUERIES, n_documents=12)
    names = np.array([f"query {q}" for q in qid])
    held = qid < N_HELD
    return (X[~held], y[~held], names[~held]), (X[held], y[held], names[held])


def best(ranker):
    return ranker.validation_scores_.max()


# -- the law: the best value is the score of the whole ranker ------------------------------------


@pytest.mark.product
@every_engine
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("steps", [(), (QueryScaler(), StandardScaler()), (QuantileHinges(4),)])
def test_the_best_value_is_the_score_of_the_pipeline(engine, steps, weighted, parts):
    train, valid = parts
    weight = np.linspace(1, 3, len(valid[1])) if weighted else None
    pipe = make_query_pipeline(*map(clone, steps), boosted(engine))
    pipe.fit(*train, eval_set=valid if weight is None else (*valid, weight))
    assert best(pipe[-1]) == pytest.approx(pipe.score(*valid, weight), abs=1e-6)


def test_a_pipeline_of_scikit_learn_transforms_x_val(parts):
    train, (X, y, qid) = parts
    with config_context(enable_metadata_routing=True):
        pipe = Pipeline(
            [("scale", StandardScaler()), ("rank", boosted(FIRST))], transform_input=["X_val"]
        )
        pipe.fit(train[0], train[1], qid=train[2], X_val=X, y_val=y, qid_val=qid)
        assert best(pipe[-1]) == pytest.approx(pipe.score(X, y, qid=qid), abs=1e-6)


def test_the_forms_of_an_evaluation_set_are_one(parts):
    train, (X, y, qid) = parts
    expected = boosted(FIRST).fit(*train, eval_set=(X, y, qid)).evals_result_
    assert list(expected) == ["validation"]
    order = np.random.default_rng(0).permutation(len(y))
    forms = [
        {"eval_set": (X[order], y[order], qid[order])},
        {"eval_set": [X, y, qid, np.ones(len(y))]},
        {"eval_set": (X, RankingTarget(y, qid))},
        {"eval_set": {"validation": (X, y, qid)}},
        {"X_val": X, "y_val": y, "qid_val": qid},
        {"X_val": X, "y_val": RankingTarget(y, qid)},
    ]
    for form in forms:
        values = boosted(FIRST).fit(*train, **form).evals_result_
        np.testing.assert_allclose(values["validation"], expected["validation"], atol=1e-12)


@every_engine
def test_the_last_of_several_sets_stops_and_all_are_followed(engine, parts):
    train, valid = parts
    half = valid[2] < "query 5"
    first, second = ([part[m] for part in valid] for m in (half, ~half))
    ranker = boosted(engine).fit(*train, eval_set={"first": tuple(first), "second": tuple(second)})
    alone = boosted(engine).fit(*train, eval_set=tuple(second))
    np.testing.assert_array_equal(ranker.validation_scores_, alone.validation_scores_)
    np.testing.assert_array_equal(ranker.predict(valid[0]), alone.predict(valid[0]))
    assert list(ranker.evals_result_) == ["first", "second"]
    last = ranker.evals_result_["first"][ranker.best_iteration_ - 1]
    assert last == pytest.approx(ranker.score(*first), abs=1e-6)


def test_each_of_several_models_has_its_values(parts):
    train, valid = parts
    ranker = boosted(FIRST, n_models=2).fit(*train, eval_set=valid)
    for values, evals in zip(ranker.validation_scores_, ranker.evals_result_):
        np.testing.assert_array_equal(values, evals["validation"])
    assert boosted(FIRST, validation_fraction=None, n_estimators=3).fit(*train).evals_result_ == {}


def test_a_start_is_chosen_on_the_last_of_several_sets(parts):
    train, valid = parts
    ranker = boosted(FIRST, start=NDCGRanker())
    alone = clone(ranker).fit(*train, eval_set=valid)
    several = clone(ranker).fit(*train, eval_set={"other": valid, "stops": valid})
    np.testing.assert_array_equal(several.predict(valid[0]), alone.predict(valid[0]))


# -- tools around it -----------------------------------------------------------------------------


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_a_stack_hands_it_to_its_trees(in_pipeline, parts):
    train, valid = parts
    trees = boosted(FIRST)
    if in_pipeline:
        trees = make_query_pipeline(StandardScaler(), trees)
    stack = StackingRanker([("linear", NDCGRanker()), ("trees", trees)], measure="ndcg@10")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stack.fit(*train, eval_set={"stops": valid})
    member = stack.named_rankers_["trees"]
    last = member[-1] if in_pipeline else member
    assert best(last) == pytest.approx(member.score(*valid), abs=1e-6)
    assert list(last.evals_result_) == ["stops"]
    again = clone(trees).fit(*train, eval_set=valid)
    np.testing.assert_allclose(member.predict(valid[0]), again.predict(valid[0]), rtol=1e-6)


def test_a_stack_reads_the_table_of_an_evaluation_set(parts):
    pandas = pytest.importorskip("pandas")

    def table(rows):
        X, y, qid = rows
        flower = pandas.Series(np.where(X[:, 20] > 8, "rose", "lily"), dtype=object)
        return pandas.DataFrame(X[:, 18:26]).assign(flower=flower), y, qid

    train, valid = map(table, parts)
    stack = StackingRanker([("trees", boosted(FIRST))], measure="ndcg@10")
    stack.fit(*train, eval_set=valid)
    member = stack.named_rankers_["trees"]
    assert best(member) == pytest.approx(member.score(*valid), abs=1e-6)


def test_a_search_splits_the_rows_of_fit_only(parts):
    train, valid = parts
    pipe = make_query_pipeline(StandardScaler(), boosted(FIRST, n_estimators=20))
    search = GridSearchCV(pipe, {"boostedranker__max_leaf_nodes": [3, 5]}, cv=QueryKFold(2))
    search.fit(train[0], RankingTarget(train[1], train[2]), eval_set=valid)
    found = search.best_estimator_
    assert best(found[-1]) == pytest.approx(found.score(*valid), abs=1e-6)


def test_rows_that_a_search_has_split_are_told(parts):
    train, valid = parts
    X = np.resize(valid[0], train[0].shape)  # as many rows as X: GridSearchCV splits it
    search = GridSearchCV(boosted(FIRST), {"max_leaf_nodes": [3]}, cv=2, error_score="raise")
    target = RankingTarget(valid[1], valid[2])
    search.set_params(cv=QueryKFold(2))
    with pytest.raises(ValueError, match=r"eval_set.* equally many rows, got X of .*GridSearchCV"):
        search.fit(train[0], RankingTarget(train[1], train[2]), X_val=X, y_val=target)


@pytest.mark.parametrize("ranker", [NDCGRanker(), make_query_pipeline(NDCGRanker())])
def test_other_rankers_refuse_it(ranker, parts):
    train, valid = parts
    with pytest.raises(TypeError, match="eval_set"):
        ranker.fit(*train, eval_set=valid)
    with pytest.raises(ValueError, match="none of the rankers is stopped early"):
        StackingRanker([("linear", ranker)]).fit(*train, eval_set=valid)


# -- what is refused and told --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (
            lambda rows: [rows],
            r"eval_set must be a tuple \(X, y, qid\).* got a list of length",
        ),
        (lambda rows: rows[0], r"eval_set must be a tuple .* got a ndarray\.$"),
        (lambda rows: [rows[:2], rows[:2]], r"got a list of tuples: pass a dict such as \{'train'"),
        (lambda _: {}, r"got an empty dict"),
        (lambda rows: {"test": rows[0]}, r"eval_set\['test'\] must be a tuple .*, got a ndarray"),
        (
            lambda rows: (*rows[:2], rows[2][1:]),
            r"parts of eval_set must have .* qid of 119\. Tools such",
        ),
        (lambda rows: (*rows, rows[2]), r"Invalid eval_set 'validation': "),
        (
            lambda rows: (rows[0][:, 1:], *rows[1:]),
            r"Invalid eval_set 'validation': X has 82 features",
        ),
        (lambda rows: (rows[0], -rows[1], rows[2]), r"Invalid eval_set 'validation': "),
    ],
)
def test_invalid_evaluation_sets_are_told_without_data(form, message, parts):
    train, valid = parts
    ranker = boosted(FIRST)
    with pytest.raises(ValueError, match=message) as error:
        ranker.fit(*train, eval_set=form(valid))
    assert "query 1" not in str(error.value)
    assert "[[" not in str(error.value)
    assert "\n" not in str(error.value)
    assert not hasattr(ranker, "booster_")


def test_a_step_that_refuses_an_evaluation_set_names_it(parts):
    pd = pytest.importorskip("pandas")
    (X, y, qid), (X_val, y_val, qid_val) = parts
    tables = [pd.DataFrame(values).add_prefix("x") for values in (X, X_val)]
    pipe = make_query_pipeline(StandardScaler(), boosted(FIRST))
    with pytest.raises(ValueError, match=r"Invalid eval_set 'validation': The feature names"):
        pipe.fit(tables[0], y, qid, eval_set=(tables[1].iloc[:, ::-1], y_val, qid_val))


def test_separate_arguments_go_together(parts):
    train, (X, y, qid) = parts
    with pytest.raises(ValueError, match="eval_set must be None with X_val and y_val"):
        boosted(FIRST).fit(*train, eval_set=(X, y, qid), X_val=X, y_val=y)
    with pytest.raises(ValueError, match=r"X_val and y_val must be passed together.*got y_val and"):
        boosted(FIRST).fit(*train, y_val=y, qid_val=qid)


@pytest.mark.parametrize("in_stack", [False, True])
def test_training_queries_are_told(in_stack, parts):
    train, valid = parts
    ranker = StackingRanker([("trees", boosted(FIRST))]) if in_stack else boosted(FIRST)
    X, y, _ = train
    other = np.array([f"other {q}" for q in train[2]])
    with pytest.warns(UserWarning, match="Most queries of eval_set 'validation' are queries"):
        ranker.fit(*train, eval_set=(X, y, other))
    cut = valid[0], valid[1], np.repeat(["query 10", "query 11"], 60)
    with pytest.warns(CutQueriesWarning, match="eval_set got queries of fit with another number"):
        ranker.fit(*train, eval_set=cut)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit(*train, eval_set=valid)


def test_a_set_without_qid_is_named(parts):
    train, (X, y, _) = parts
    text = messages(lambda: boosted(FIRST).fit(*train, eval_set=(X, y)))
    assert text.startswith("eval_set 'validation' has no qid, so all of its rows count as one")
    assert "(X, y, qid)" in text
    assert "BoostedRanker got" not in text
    two = {"train": train, "valid": (X, y, np.arange(len(y)))}
    text = messages(lambda: boosted(FIRST).fit(*train, eval_set=two))
    assert text.startswith("eval_set 'valid': The qid differs in nearly every row")
    assert not messages(lambda: boosted(FIRST).fit(*train, eval_set=(X, y, np.zeros(len(y)))))


def test_the_set_that_stops_is_the_last(parts):
    train, valid = parts
    text = messages(lambda: boosted(FIRST).fit(*train, eval_set={"v": valid, "train": train}))
    assert "eval_set 'train' are queries of fit" in text
    assert "The last set stops the training: put validation queries last." in text
    assert "last" not in messages(lambda: boosted(FIRST).fit(*train, eval_set=train))


@pytest.fixture(scope="module")
def many():
    X, y, qid = load_digits_queries(n_queries=60, n_documents=8)
    held = qid < 24
    return (X[~held], y[~held], qid[~held]), (X[held], y[held], qid[held])


def messages(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return "".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize("scale", [StandardScaler, QueryScaler])
def test_columns_that_no_step_has_transformed_are_told(scale, many):
    (X, y, qid), (X_val, y_val, qid_val) = many
    target, valid = RankingTarget(y, qid), (X_val, RankingTarget(y_val, qid_val))
    pipe = Pipeline([("scale", scale()), ("rank", boosted(FIRST))])
    asked = {"scale__qid": qid} if scale is QueryScaler else {}
    text = messages(lambda: pipe.fit(X, target, rank__eval_set=valid, **asked))
    assert 'transform_input=["X_val"]' in text
    of_pipeline = make_query_pipeline(scale(), boosted(FIRST))
    assert not messages(lambda: of_pipeline.fit(X, target, eval_set=valid))


@pytest.mark.parametrize("change", ["half of the columns", "a missing column", "few queries"])
def test_columns_that_may_be_those_of_fit_are_silent(change, many):
    (X, y, qid), (X_val, y_val, qid_val) = many
    X_val = X_val.astype(float)
    if change == "few queries":
        few = qid_val < 19
        X_val, y_val, qid_val = 10 + X_val[few], y_val[few], qid_val[few]
    elif change == "a missing column":
        X_val[:, 30] = np.nan
    else:
        X_val[:, : X.shape[1] // 2] += 100
    assert not messages(lambda: boosted(FIRST).fit(X, y, qid, eval_set=(X_val, y_val, qid_val)))


def test_training_queries_are_told_beside_targets(parts):
    train, valid = parts
    X, y, qid = train
    ranker = boosted(FIRST, loss="pairwise_squared")
    with pytest.warns(UserWarning, match="Most queries of eval_set 'validation' are queries"):
        ranker.fit_targets(X, y - 0.5, qid, eval_set=train)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit_targets(X, y - 0.5, qid, eval_set=valid)
        # Training stops on the last set only.
        ranker.fit(*train, eval_set={"train": train, "validation": valid})


def test_a_pipeline_of_targets_transforms_it(parts):
    train, valid = parts
    X, y, qid = train
    pipe = make_query_pipeline(QueryScaler(), boosted(FIRST, loss="pairwise_squared"))
    pipe.fit_targets(X, y - 0.5, qid, eval_set=valid)
    assert pipe[-1].validation_scores_.max() == pytest.approx(pipe.score(*valid), abs=1e-6)
    with pytest.raises(TypeError, match="eval_set must be None"):
        make_query_pipeline(QueryScaler(), NDCGRanker()).fit_targets(X, y, qid, eval_set=valid)


def test_data_are_not_kept(parts, tmp_path):
    pytest.importorskip("skops")
    train, valid = parts
    ranker = boosted(FIRST, n_estimators=3).fit(*train, eval_set=valid)
    assert "eval_set" not in ranker.get_params()
    assert "eval_set" not in repr(ranker)
    save_model(ranker, tmp_path / "trees.skops")
    twin = load_model(tmp_path / "trees.skops")
    np.testing.assert_array_equal(twin.predict(valid[0]), ranker.predict(valid[0]))
    np.testing.assert_array_equal(twin.validation_scores_, ranker.validation_scores_)
