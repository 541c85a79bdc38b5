"""Warnings of a missing qid, of cut queries, and of regressors that do not estimate means."""

import pickle
import warnings
from copy import copy, deepcopy
from functools import partial, wraps

import numpy as np
import pandas as pd
import pytest
from cases import make_data, rankers
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LassoCV,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    SGDRegressor,
)
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
)
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import SVR
from sklearn.utils.validation import has_fit_parameter

import skcalrank
from skcalrank import (
    ClickSessions,
    ERRRanker,
    LeastSquaresRankerCV,
    MultiLabelRanker,
    MultiLabelTarget,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PrecisionRanker,
    PreferenceTarget,
    QueryKFold,
    QueryShuffleSplit,
    RankingTarget,
    SpearmanRanker,
    get_scorer,
    train_test_query_split,
)
from skcalrank.data import CutQueriesWarning, EqualLabelsWarning, NotAMeanWarning, OneQueryWarning
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import evaluate, kendall_score, measure_score, ndcg_score

SCORER = get_scorer("ndcg@3")


@pytest.fixture
def many(rng):
    """Thirty queries of ten documents, one after the other."""
    X, y, qid = make_data(rng, sizes=(10,) * 30)
    rows = np.argsort(qid, kind="stable")
    return X[rows], y[rows], qid[rows]


def kind(estimator):
    return type(estimator).__name__


def warned(call):
    """Return the categories of what a call warns of, once each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return {each.category for each in caught}


# -- no qid --------------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", rankers(), ids=lambda ranker: type(ranker).__name__)
def test_rows_without_a_qid_are_said_to_be_one_query(ranker, rng):
    X, y, _ = make_data(rng, sizes=(12,))
    y = (y > 0) * 1.0
    name = type(ranker).__name__
    with pytest.warns(OneQueryWarning, match=rf"{name} got y and no qid") as caught:
        ranker.fit(X, y)
    assert {each.filename for each in caught} == {__file__}
    with pytest.warns(OneQueryWarning, match="no qid"):
        ranker.score(X, y)
    # One query that is named is one query.
    one = np.zeros(12)
    assert OneQueryWarning not in warned(lambda: clone(ranker).fit(X, y, one).score(X, y, one))


def test_who_names_queries_or_has_one_row_is_not_warned(rng):
    X, y, _ = make_data(rng, sizes=(12,))
    NDCGRanker().fit(X[:1], [1.0]).score(X[:1], [1.0])
    NDCGRanker().fit(X, np.column_stack([y, y + 1])).score(X, np.column_stack([y, y]))
    preferences = PreferenceTarget.from_comparisons([0, 1], [1, 2], np.zeros(12))
    PairwiseDisagreementRanker().fit(X, preferences).score(X, preferences)
    # A metric of one list is a metric.
    assert ndcg_score([1, 0], [0.2, 0.1]) == 1.0
    assert OneQueryWarning not in warned(partial(ndcg_score, y[None], y[None]))


@pytest.mark.parametrize(
    "metric",
    [ndcg_score, partial(measure_score, "ndcg@5"), partial(evaluate, measures=["ndcg@5"])],
    ids=["function", "measure_score", "evaluate"],
)
def test_metrics_of_many_rows_without_a_qid(metric, many):
    _, y, qid = many
    with pytest.warns(OneQueryWarning, match="The metric got y_true and no qid") as caught:
        metric(y, y_score=y)
    assert [warning.filename for warning in caught] == [__file__]
    one, named = np.zeros(len(y)), pd.Series(y, pd.Index(qid, name="qid"))
    for labels, queries in [(y, qid), (y, one), (RankingTarget(y, qid), None), (named, None)]:
        assert OneQueryWarning not in warned(partial(metric, labels, y_score=y, qid=queries))


def test_partial_fit_and_tools_without_a_qid(many):
    X, y, qid = many
    X, y, qid = X[:200], y[:200], qid[:200]  # more are an error
    with pytest.warns(OneQueryWarning):
        NDCGRanker(GramRidge()).partial_fit(X, y)
    with pytest.warns(OneQueryWarning):
        LeastSquaresRankerCV(alphas=[1.0], cv=3).fit(X, y)
    # A common mistake: folds keep queries whole, but the ranker does not get the qid.
    with pytest.warns(OneQueryWarning):
        cross_val_score(NDCGRanker(), X, y, groups=qid, cv=GroupKFold(3))
    # A tool that strips the target.
    with pytest.warns(OneQueryWarning):
        VotingRegressor([("ndcg", NDCGRanker())]).fit(X, RankingTarget(y, qid))


# -- positions in place of labels ----------------------------------------------------------


def test_positions_of_all_rows_that_are_taken_for_labels(rng):
    X = rng.normal(size=(40, 2))
    positions = rng.permuted(np.tile(np.arange(1, 5), (40, 1)), axis=1)
    ranker = PairwiseDisagreementRanker()
    with pytest.warns(UserWarning, match=r"if they are positions, .* pass -y\.") as caught:
        ranker.fit(X, pd.DataFrame(positions))
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(UserWarning, match=r"the numbers 1, \.\.\., r once, .* pass -y\."):
        SpearmanRanker().fit(X, positions)
    tied = np.vstack([positions[:-1], [1, 1, 2, 3]])
    for y in (-positions, positions - 1, positions[:15], tied):
        assert not warned(partial(clone(ranker).fit, X[: len(y)], y))


def test_positions_of_some_items_that_are_taken_for_labels(rng):
    X, r = rng.normal(size=(60, 2)), 5
    positions = rng.permuted(np.tile(np.arange(1.0, r + 1), (60, 1)), axis=1)
    holes = np.where(rng.random((60, r)) < 0.3, np.nan, positions)
    among_known = np.where(np.isnan(holes), np.nan, np.argsort(np.argsort(holes)) + 1)
    for y in (holes, among_known, pd.DataFrame(holes)):
        with pytest.warns(UserWarning, match=r"r at most once, .* positions, .* pass -y\."):
            PairwiseDisagreementRanker().fit(X, y)
    # Grades that differ in all rows by chance, as few items have any, and what is no position.
    pairs = np.full((60, r), np.nan)
    pairs[np.arange(60), rng.integers(r, size=60)] = 2.0
    pairs[:4, :2] = 1.0, 3.0
    halves, far = holes.copy(), holes.copy()
    halves[0, 0], far[0, 0] = 1.5, r + 1
    tied = holes.copy()
    tied[0, :2] = 1
    for y in (-holes, holes - 1, holes[:15], pairs, halves, far, tied):
        assert not warned(partial(PairwiseDisagreementRanker().fit, X[: len(y)], y))


# -- parts of queries ----------------------------------------------------------------------


def targets(data):
    _, y, qid = data
    yield RankingTarget(y, qid)
    yield PreferenceTarget.from_relevance(y, qid)
    first = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
    yield ClickSessions(qid, [[row, row + 1] for row in first], np.ones(len(first), dtype=int))


RANKERS = [NDCGRanker(), PairwiseDisagreementRanker(), ERRRanker(max_grade=3)]


@pytest.mark.parametrize("kind", range(3), ids=["relevances", "preferences", "clicks"])
def test_a_part_of_a_target_knows_what_is_missing(kind, many):
    X, ranker, y = many[0], clone(RANKERS[kind]), list(targets(many))[kind]
    ranker.fit(X, y)
    whole = np.arange(30)
    assert not warned(lambda: clone(ranker).fit(X[whole], y[whole]).score(X[whole], y[whole]))
    part = np.arange(2, 25)
    message = "queries cut, so that documents are missing"
    with pytest.warns(CutQueriesWarning, match=rf"{type(ranker).__name__} got y with {message}"):
        clone(ranker).fit(X[part], y[part])
    with pytest.warns(CutQueriesWarning, match=message):
        ranker.score(X[part], y[part])
    # A part of a part is still cut; a permutation of whole queries is not.
    with pytest.warns(CutQueriesWarning, match="queries cut"):
        ranker.score(X[20:25], y[part][-5:])
    joined = y[whole][np.random.default_rng(0).permutation(30)]
    assert not warned(lambda: ranker.score(X[whole], joined))


@pytest.mark.parametrize(
    "run",
    [
        partial(cross_validate, NDCGRanker()),
        partial(cross_validate, NDCGRanker(), scoring={k: get_scorer(k) for k in ("ndcg", "map")}),
        partial(cross_val_predict, NDCGRanker()),
        lambda *args, cv: GridSearchCV(NDCGRanker(), {"k": [1, 2]}, cv=cv, refit=False).fit(*args),
    ],
    ids=["scores", "scorers", "predictions", "search"],
)
def test_a_cross_validation_tells_of_cut_queries_once(run, many):
    X, y, qid = many
    cut = KFold(5, shuffle=True, random_state=0)

    def told():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            run(X, RankingTarget(np.minimum(y, 1), qid), cv=cut)
        return [one for one in caught if one.category is CutQueriesWarning]

    # The next call tells again.
    assert [len(told()) for _ in range(2)] == [1, 1]


def test_cut_queries_as_an_error_end_every_fit(many):
    X, y, qid = many
    with warnings.catch_warnings():
        warnings.simplefilter("error", CutQueriesWarning)
        with pytest.raises(ValueError, match=r"All the 5 fits failed"):
            cross_validate(NDCGRanker(), X, RankingTarget(y, qid), cv=KFold(5, shuffle=True))


@pytest.mark.parametrize(
    "of", [copy, deepcopy, lambda y: pickle.loads(pickle.dumps(y)), RankingTarget.copy]
)
def test_copies_of_parts_are_parts(of, many):
    _, y, qid = many
    part = of(RankingTarget(y, qid)[2:25])
    with pytest.warns(CutQueriesWarning, match="queries cut"):
        ndcg_score(part, y[2:25])


def test_preferences_of_a_part_are_a_part(many):
    X, y, qid = many
    part = PreferenceTarget.from_relevance(RankingTarget(y, qid)[2:25])
    with pytest.warns(CutQueriesWarning, match="queries cut"):
        PairwiseDisagreementRanker().fit(X[2:25], part)
    assert PreferenceTarget.from_relevance(RankingTarget(y, qid)).origin is None


@pytest.mark.filterwarnings("ignore::skcalrank.data.EqualLabelsWarning")
def test_repeats_do_not_hide_gaps(many):
    X, y, qid = many
    with pytest.warns(CutQueriesWarning, match="queries cut"):
        NDCGRanker().fit(X[[3] * 10], RankingTarget(y, qid)[[3] * 10])


def test_parts_that_are_joined_again_are_whole(many):
    _, y, qid = many
    target = RankingTarget(y, qid)
    rows = np.random.default_rng(0).permutation(300)
    halves = [target[rows[:120]], target[rows[120:]]]
    assert not warned(lambda: ndcg_score(np.concatenate(halves), y[rows]))
    with pytest.warns(CutQueriesWarning):
        ndcg_score(np.concatenate([halves[0], halves[0]]), y[np.append(rows[:120], rows[:120])])
    # Files whose queries have the same names.
    other = RankingTarget(y[:250], qid[:250])
    assert not warned(lambda: ndcg_score(np.concatenate([target, other]), np.append(y, y[:250])))


def test_what_was_dropped_on_purpose_is_a_target_of_its_own(many):
    X, y, qid = many
    part = RankingTarget(y, qid)[2:25]
    assert not warned(lambda: NDCGRanker().fit(X[2:25], RankingTarget(np.asarray(part), part.qid)))


@pytest.mark.parametrize("metric", [ndcg_score, kendall_score])
def test_metrics_see_parts(metric, many):
    X, y, qid = many
    with pytest.warns(CutQueriesWarning, match="queries cut"):
        metric(RankingTarget(y, qid)[2:25], X[2:25, 0])
    with pytest.warns(CutQueriesWarning, match="queries cut") as caught:
        evaluate(RankingTarget(y, qid)[2:25], X[2:25, 0], ["ndcg", "kendall"])
    assert len(caught) == 1


def test_tools_that_cut_queries(many):
    X, y, qid = many
    target = RankingTarget(y, qid)
    ranker = NDCGRanker(estimator=Ridge())
    calls = {
        "folds of shuffled rows": lambda: cross_val_score(
            ranker, X, target, cv=KFold(3, shuffle=True, random_state=0), scoring=SCORER
        ),
        "folds of rows": lambda: cross_val_score(ranker, X, target, cv=4, scoring=SCORER),
        "a grid with folds of rows": lambda: GridSearchCV(
            ranker, {"estimator__alpha": [1.0]}, cv=4, scoring=SCORER
        ).fit(X, target),
        "a split of rows": lambda: ranker.fit(*train_test_split(X, target, random_state=0)[::2]),
        "halving": lambda: HalvingGridSearchCV(
            ranker,
            {"estimator__alpha": [1, 10, 100, 1000]},
            cv=GroupKFold(3),
            scoring=SCORER,
            min_resources=60,
        ).fit(X, target, groups=qid),
        "a learning curve": lambda: learning_curve(
            ranker, X, target, cv=QueryKFold(3), train_sizes=[0.33], scoring=SCORER
        ),
    }
    for name, call in calls.items():
        assert CutQueriesWarning in warned(call), name


def test_own_tools_never_cut(many):
    X, y, qid = many
    target = RankingTarget(y, qid)
    ranker = NDCGRanker(estimator=Ridge())
    for cv in (QueryKFold(4), QueryKFold(4, shuffle=True, random_state=0), QueryShuffleSplit(3)):
        assert not warned(lambda cv=cv: cross_val_score(ranker, X, target, cv=cv, scoring=SCORER))
    parts = train_test_query_split(X, target, random_state=0)
    assert not warned(lambda: ranker.fit(*parts[::2]).score(*parts[1::2]))
    for cv in (None, 3, QueryKFold(3), GroupKFold(3), QueryShuffleSplit(3)):
        assert not warned(lambda cv=cv: LeastSquaresRankerCV(alphas=[1.0], cv=cv).fit(X, target))
    # Halving over another resource than rows.
    trees = NDCGRanker(GradientBoostingRegressor(max_depth=2))
    halving = HalvingGridSearchCV(
        trees,
        {"estimator__learning_rate": [0.1, 0.5]},
        resource="estimator__n_estimators",
        min_resources=2,
        max_resources=4,
        cv=QueryKFold(3),
        scoring=SCORER,
    )
    assert not warned(lambda: halving.fit(X, target))


CUTS = {
    "KFold": KFold(7),
    "rows": [(np.arange(0, 150), np.arange(155, 170))],
    "a row twice": [(np.arange(0, 150), np.append(np.arange(150, 159), 150))],
}


@pytest.mark.parametrize("cv", CUTS.values(), ids=CUTS)
def test_folds_of_one_s_own_that_cut_queries(cv, many):
    X, y, qid = many
    # The groups, which KFold ignores and says so.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The groups parameter")
        with pytest.warns(CutQueriesWarning, match=r"cv cuts \d+ of 30 queries"):
            LeastSquaresRankerCV(alphas=[1.0], cv=cv).fit(X, y, qid)


def test_one_query_that_is_named_is_cut_by_folds_of_its_rows(many):
    X, y, _ = many
    with pytest.warns(CutQueriesWarning, match="cv cuts 1 of 1 queries"):
        LeastSquaresRankerCV(alphas=[1.0]).fit(X, y, np.zeros(len(y)))


# -- regressors that stop early ------------------------------------------------------------

HANDED = has_fit_parameter(HistGradientBoostingRegressor(), "X_val")


@pytest.mark.skipif(not HANDED, reason="before scikit-learn 1.7 trees take no rows to stop on")
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_that_stop_early_are_handed_whole_queries(weighted, many, monkeypatch):
    X, y, qid = many
    given = {}
    fit = HistGradientBoostingRegressor.fit

    @wraps(fit)
    def spy(self, X, y, sample_weight=None, **kwargs):
        given.update(X=X, sample_weight=sample_weight, **kwargs)
        return fit(self, X, y, sample_weight, **kwargs)

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", spy)
    trees = HistGradientBoostingRegressor(early_stopping=True, random_state=0, max_iter=3)
    weight = np.linspace(1, 2, 300) if weighted else None
    ranker = NDCGRanker(trees)
    assert not warned(lambda: ranker.fit(X, y, qid, weight))
    train, held_out = ({tuple(row) for row in given[name].tolist()} for name in ("X", "X_val"))
    names = {tuple(row): q for row, q in zip(X.tolist(), qid)}
    trained, stopped = ({names[row] for row in rows} for rows in (train, held_out))
    assert not trained & stopped
    assert len(stopped) == 3
    assert len(trained) == 27
    assert (
        (given["sample_weight_val"] is not None) if weighted else ("sample_weight_val" not in given)
    )
    assert ranker.estimator_.early_stopping is True
    assert ranker.estimator_.do_early_stopping_


@pytest.mark.skipif(not HANDED, reason="before scikit-learn 1.7 trees take no rows to stop on")
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_held_out_queries_depend_on_their_names_and_the_seed(seed, many, monkeypatch, rng):
    X, y, qid = many
    stopped = []
    fit = HistGradientBoostingRegressor.fit

    @wraps(fit)
    def spy(self, X, y, sample_weight=None, **kwargs):
        stopped.append({tuple(row) for row in kwargs["X_val"].tolist()})
        return fit(self, X, y, sample_weight, **kwargs)

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", spy)
    trees = HistGradientBoostingRegressor(early_stopping=True, random_state=seed, max_iter=1)
    order = rng.permutation(len(y))
    NDCGRanker(trees).fit(X, y, qid)
    NDCGRanker(trees).fit(X[order], y[order], qid[order] * 1.0)
    NDCGRanker(trees.set_params(random_state=5)).fit(X, y, qid)
    NDCGRanker(trees.set_params(random_state=seed)).fit(X, y, -qid)
    assert stopped[0] == stopped[1]
    assert stopped[0] not in stopped[2:]


@pytest.mark.skipif(not HANDED, reason="before scikit-learn 1.7 trees take no rows to stop on")
def test_auto_is_resolved_before_queries_are_held_out(rng):
    X, y, qid = make_data(rng, sizes=(30,) * 350)
    ranker = NDCGRanker(HistGradientBoostingRegressor(max_iter=2, random_state=0))
    ranker.fit(X, y, qid)
    assert ranker.estimator_.early_stopping == "auto"
    assert ranker.estimator_.do_early_stopping_
    assert not ranker.fit(X[:9000], y[:9000], qid[:9000]).estimator_.do_early_stopping_


@pytest.mark.parametrize(
    "regressor",
    [
        make_pipeline(StandardScaler(), HistGradientBoostingRegressor(early_stopping=True)),
        GridSearchCV(HistGradientBoostingRegressor(early_stopping=True), {"max_iter": [2]}),
        GradientBoostingRegressor(n_iter_no_change=2, n_estimators=3),
        MLPRegressor(early_stopping=True, max_iter=500),
        SGDRegressor(early_stopping=True),
    ],
    ids=lambda regressor: type(regressor).__name__,
)
def test_other_regressors_that_stop_early_are_said_to_cut_queries(regressor, many):
    X, y, qid = many
    with pytest.warns(CutQueriesWarning, match="stops early on rows of its own choice"):
        NDCGRanker(regressor).fit(X, y, qid)


def test_rows_that_are_queries_are_not_cut_by_early_stopping(many):
    X, y, _ = many
    regressor = SGDRegressor(early_stopping=True)
    assert not warned(lambda: NDCGRanker(regressor).fit(X, np.column_stack([y, y, 1 + y])))


# -- regressors that estimate no means -----------------------------------------------------

NO_MEANS = [
    HistGradientBoostingRegressor(loss="absolute_error"),
    HistGradientBoostingRegressor(loss="quantile", quantile=0.9),
    GradientBoostingRegressor(loss="huber", n_estimators=2),
    RandomForestRegressor(criterion="absolute_error", n_estimators=2),
    SGDRegressor(loss="epsilon_insensitive"),
    QuantileRegressor(),
    HuberRegressor(),
    SVR(),
    make_pipeline(StandardScaler(), SVR()),
    GridSearchCV(QuantileRegressor(), {"alpha": [1.0]}),
    BaggingRegressor(SVR(), n_estimators=2),
    VotingRegressor([("svr", SVR()), ("ridge", Ridge())]),
    TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1),
    TransformedTargetRegressor(Ridge(), transformer=PowerTransformer()),
    StackingRegressor([("ridge", Ridge())], final_estimator=HuberRegressor()),
]
MEANS = [
    Ridge(),
    LassoCV(),
    RandomForestRegressor(n_estimators=2),
    HistGradientBoostingRegressor(max_iter=2),
    GradientBoostingRegressor(n_estimators=2),
    PoissonRegressor(),
    TransformedTargetRegressor(Ridge()),
    TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
    TransformedTargetRegressor(Ridge(), func=lambda y: 2 * y, inverse_func=lambda y: y / 2),
    SGDRegressor(),
    MLPRegressor(max_iter=2000, tol=1e-2),
    StackingRegressor([("svr", SVR())], final_estimator=Ridge()),
    StackingRegressor([("svr", SVR())]),  # which has no predict before fit
]


@pytest.mark.every_case
@pytest.mark.parametrize("regressor", NO_MEANS, ids=kind)
def test_regressors_of_other_things_than_means(regressor, many):
    assert NotAMeanWarning in warned(lambda: NDCGRanker(regressor).fit(*many))


@pytest.mark.every_case
@pytest.mark.parametrize("regressor", MEANS, ids=kind)
def test_regressors_of_means(regressor, many):
    assert not warned(lambda: NDCGRanker(regressor).fit(*many))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("LGBMRegressor", {"objective": "regression_l1", "verbose": -1, "n_estimators": 2}),
        ("LGBMRegressor", {"objective": "mean_absolute_error", "verbose": -1, "n_estimators": 2}),
        ("XGBRegressor", {"objective": "reg:absoluteerror", "n_estimators": 2}),
        ("XGBRegressor", {"objective": "reg:squaredlogerror", "n_estimators": 2}),
    ],
)
def test_objectives_of_boosting_libraries(name, params, many):
    library = pytest.importorskip({"L": "lightgbm", "X": "xgboost"}[name[0]])
    regressor = getattr(library, name)
    with pytest.warns(NotAMeanWarning, match=f"{name}.objective="):
        NDCGRanker(regressor(**params)).fit(*many)


def test_regressors_of_pairs_too(many):
    X, y, qid = many
    ranker = PairwiseDisagreementRanker(
        surrogate="pairwise", estimator=SVR(), pair_features="concat"
    )
    with pytest.warns(NotAMeanWarning):
        ranker.fit(X[:20], y[:20], qid[:20])


def test_one_value_for_all_rows(many):
    X, y, qid = many
    ranker = NDCGRanker(Lasso(alpha=100.0)).fit(X, y, qid)
    for call in (lambda: ranker.predict(X), lambda: ranker.score(X, y, qid)):
        with pytest.warns(NotAMeanWarning, match="Lasso predicts one value for all 300 rows"):
            call()
    # Documents that do not differ, and few of them, may well have one score.
    assert not warned(lambda: ranker.predict(np.ones((40, X.shape[1]))))
    assert not warned(lambda: ranker.predict(X[:10]))
    # Nothing was to be learned.
    with pytest.warns(EqualLabelsWarning):
        ranker = NDCGRanker().fit(X, np.ones(300), qid)
    assert not warned(lambda: ranker.predict(X))
    chunks = NDCGRanker(GramRidge(1e20)).partial_fit(X[:10], np.ones(10), qid[:10])
    chunks.partial_fit(X[10:], y[10:], qid[10:])
    assert chunks.record_.varied


def test_names_of_the_warnings_are_public():
    for name in ("OneQueryWarning", "CutQueriesWarning", "NotAMeanWarning"):
        assert issubclass(getattr(skcalrank.data, name), UserWarning)
        assert name in skcalrank.data.__all__


# -- labels without an order ---------------------------------------------------------------------


def told_of_equal_labels(ranker, *data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(*data)
    return [str(w.message) for w in caught if w.category is EqualLabelsWarning]


@pytest.mark.parametrize("ranker", rankers(), ids=kind)
def test_labels_that_teach_nothing_are_told_once(ranker, rng):
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(10), 6)
    for y in (np.zeros(60), qid % 2, (np.arange(60) == 7) * 1.0):
        told = told_of_equal_labels(clone(ranker), X, y, qid)
        assert len(told) == (y.sum() != 1), told


def test_labels_that_teach_nothing_in_other_forms(rng):
    X, qid, varied = rng.normal(size=(60, 3)), np.repeat(np.arange(10), 6), np.arange(60) % 3
    (told,) = told_of_equal_labels(PrecisionRanker(relevance_level=3), X, varied, qid)
    assert "relevance_level=3" in told
    y = MultiLabelTarget(np.column_stack([varied, qid]), qid, ["grade", "sold"])
    (told,) = told_of_equal_labels(MultiLabelRanker(), X, y)
    assert told.startswith("label 'sold' ")
    # Queries of weight 0 teach nothing, and items that a row does not rank have no labels.
    weight, of_first = (qid > 0) * 1.0, varied * (qid == 0)
    assert told_of_equal_labels(NDCGRanker(), X, of_first, qid, weight)
    assert told_of_equal_labels(SpearmanRanker(), X, np.ones((60, 3)))
    orders = np.where(varied[:, None] == np.arange(3), np.nan, 1.0)
    assert told_of_equal_labels(PairwiseDisagreementRanker(surrogate="pairwise"), X, orders)
    with pytest.warns(EqualLabelsWarning, match="^targets does"):
        NDCGRanker().fit_targets(X, qid / 2, qid)
    # Neither a chunk nor the labels of a score need teach anything.
    fitted = NDCGRanker().partial_fit(X, np.zeros(60), qid)
    fitted.partial_fit(X, np.zeros(60), qid + 99).score(X, np.ones(60), qid)
