"""A fit that fails does not change the estimator, for all rankers."""

import copy
import pickle
import threading

import joblib
import numpy as np
import pytest
from cases import make_data, ranker_id, rankers, regressor_of
from every_estimator import EVERY_ESTIMATOR, Case, linear_members, small_boosted
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin, clone
from sklearn.decomposition import IncrementalPCA
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso, Ridge, SGDRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from skcalrank import (
    AggregatedRanker,
    ClickSessions,
    ERRRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    StackingRanker,
)
from skcalrank.data import MissingQidError
from skcalrank.linear_model import GramRidge
from skcalrank.pipeline import HostedRanker, make_query_pipeline
from skcalrank.preprocessing import QueryScaler, TableEncoder
from skcalrank.structured import LowRankLossClassifier


class Raising(RegressorMixin, BaseEstimator):
    """A regressor whose fit sets an attribute and then raises."""

    def fit(self, X, y, sample_weight=None):
        self.coef_ = np.zeros(X.shape[1])
        raise RuntimeError("no fit")

    partial_fit = fit

    def predict(self, X):
        raise NotImplementedError


def state(estimator):
    """All attributes, arrays by value."""
    return copy.deepcopy(vars(estimator))


def check_unchanged(estimator, before, objects):
    after = vars(estimator)
    assert list(after) == list(before)
    for name, value in before.items():
        assert after[name] is objects[name], name
        if isinstance(value, BaseEstimator):
            check_equal(after[name], value, name)


def check_equal(one, other, name):
    """Compare attributes of estimators, and those of the estimators in them."""
    assert list(vars(one)) == list(vars(other)), name
    for key, value in vars(other).items():
        if isinstance(value, BaseEstimator):
            check_equal(vars(one)[key], value, f"{name}.{key}")
        elif isinstance(value, np.random.Generator):
            assert vars(one)[key].bit_generator.state == value.bit_generator.state
        elif key in ("_loss", "_predictors"):  # which compare as objects
            assert joblib.hash(vars(one)[key]) == joblib.hash(value), f"{name}.{key}"
        else:
            np.testing.assert_equal(vars(one)[key], value, err_msg=f"{name}.{key}")


BAD = {
    "labels": lambda X, y, qid: (X, np.where(y > 1, np.nan, y), qid),
    "one row of X short": lambda X, y, qid: (X[:-1], y, qid),
    "NaN in X": lambda X, y, qid: (np.where(X > 1, np.nan, X), y, qid),
    "other number of features": lambda X, y, qid: (X[:, :2], y[:-1], qid),
    "qid too short": lambda X, y, qid: (X[:, :3], y, qid[:-1]),
    "missing qid": lambda X, y, qid: (X[:, :3], y, [None, *qid[1:]]),
    "text": lambda X, y, qid: (X, ["a"] * len(y), qid),
    "weights": lambda X, y, qid: (X[:, :3], y, qid, -np.ones(len(y))),
}
EVERY = [
    *rankers(max_iter=50),
    PairwiseDisagreementRanker(surrogate="pairwise"),
    NDCGRanker(SGDRegressor(random_state=0)),
    NDCGRanker(GramRidge()),
    AggregatedRanker(ranker=NDCGRanker(GramRidge())),
]
every_ranker = pytest.mark.parametrize("ranker", EVERY, ids=ranker_id)


@pytest.mark.product(whole=True)
@every_ranker
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_failed_fit_changes_nothing(ranker, method, bad, rng):
    X, y, qid = make_data(rng)
    if bad == "NaN in X" and get_tags(ranker).input_tags.allow_nan:
        pytest.skip("reads missing values")
    for each in (clone(ranker).fit(X, y, qid), clone(ranker)):
        if not hasattr(each, method):
            continue
        before, objects = state(each), dict(vars(each))
        with pytest.raises((ValueError, TypeError)):
            getattr(each, method)(*BAD[bad](X, y, qid))
        check_unchanged(each, before, objects)


@every_ranker
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_regressor_that_raises_changes_nothing(ranker, rng):
    if regressor_of(ranker) is None:
        pytest.skip("fits no regressor of the user's")
    X, y, qid = make_data(rng)
    ranker = clone(ranker).fit(X, y, qid)
    ranker.set_params(**{regressor_of(ranker): Raising()})
    if getattr(ranker, "surrogate", None) == "pairwise":
        ranker.set_params(pair_features="concat")
    before, objects = state(ranker), dict(vars(ranker))
    with pytest.raises(RuntimeError, match="no fit"):
        ranker.fit(X[:, :2], y, qid)
    check_unchanged(ranker, before, objects)


def test_steps_of_a_failed_partial_fit_are_undone(rng):
    X, y, qid = make_data(rng)

    class Stumbling(SGDRegressor):
        """A regressor that changes its arrays in place, and raises at the second chunk."""

        def partial_fit(self, X, y, sample_weight=None):
            super().partial_fit(X, y, sample_weight)
            if self.t_ > len(X) + 1:
                raise RuntimeError("stumbled")
            return self

    ranker = NDCGRanker(Stumbling(random_state=0)).partial_fit(X, y, qid)
    coef = ranker.coef_.copy()
    with pytest.raises(RuntimeError, match="stumbled"):
        ranker.partial_fit(X, y, qid)
    np.testing.assert_array_equal(ranker.coef_, coef)


def test_names_of_queries_are_not_copied_with_every_chunk(rng):
    X, y, qid = make_data(rng)
    ranker = NDCGRanker(GramRidge()).partial_fit(X, y, qid)
    for number in range(1, 40):
        ranker.partial_fit(X, y, [(number, q) for q in qid.tolist()])
    names = ranker.record_.names
    assert len(names) == 40 * len(set(qid.tolist()))
    largest = max(names._parts, key=len)
    with pytest.raises(ValueError, match="was in an earlier chunk"):
        ranker.partial_fit(X, y, [(39, q) for q in qid.tolist()])
    assert ranker.record_.names is names
    assert len(names._parts) <= np.log2(len(names))
    ranker.partial_fit(X[:1], y[:1], ["new"])
    assert any(part is largest for part in ranker.record_.names._parts)


def test_a_failed_fit_keeps_the_demand_for_a_qid(rng):
    X, y, qid = make_data(rng)
    ranker = NDCGRanker().fit(X, y, qid)
    with pytest.raises(ValueError, match="y must be non-negative"):
        ranker.fit(X, y - 5, np.zeros(len(y)))
    with pytest.raises(MissingQidError):
        ranker.rank(X)


def test_a_failed_fit_keeps_the_scale_of_err(rng):
    X, y, qid = make_data(rng)
    ranker = ERRRanker().fit(X, y, qid)
    score = ranker.score(X, np.minimum(y, 1), qid)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ranker.fit(X, ClickSessions([1, 1, 1], [[0, 1]], [1]))
    assert ranker.score(X, np.minimum(y, 1), qid) == score


def test_a_failed_fit_of_preferences_changes_nothing(rng):
    X, y, qid = make_data(rng)
    target = PreferenceTarget.from_relevance(y, qid)
    ranker = PairwiseDisagreementRanker().fit(X, target)
    before, objects = state(ranker), dict(vars(ranker))
    for bad in (target[: len(y) - 2], ClickSessions(qid, [[0]], [0])):
        with pytest.raises(ValueError, match=r"rows|expects relevances"):
            ranker.fit(X[:, :2], bad)
        check_unchanged(ranker, before, objects)


def test_settings_changed_since_fit_do_not_change_the_score(rng):
    X, y, qid = make_data(rng)
    ranker = NDCGRanker(k=2).fit(X, y, qid)
    score = ranker.score(X, y, qid)
    assert ranker.set_params(k=5).score(X, y, qid) == score
    assert ranker.record_.measure.k == 2


def test_parts_of_the_family_that_are_not_rankers(rng):
    X, y, _ = make_data(rng)
    for estimator, target in ((LowRankLossClassifier(), y), (GramRidge(), y)):
        estimator.fit(X, target)
        before, objects = state(estimator), dict(vars(estimator))
        for bad in ((X[:, :2], target[:-1]), (X[:, :2] * np.nan, target)):
            with pytest.raises(ValueError, match=r"inconsistent|NaN"):
                estimator.fit(*bad)
            check_unchanged(estimator, before, objects)
    model = LowRankLossClassifier(estimator=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match=r"loss_matrix must have.*got shape \(7, 7\)"):
        model.set_params(loss_matrix=np.eye(7)).fit(X, y)
    assert model.predict(X).shape == y.shape


# -- pipelines, whose steps are fitted in place ------------------------------------------


class Stumbling(TransformerMixin, BaseEstimator):
    """A transformer that changes its array in place, and raises for more rows or columns."""

    warm_start = False

    def fit(self, X, y=None):
        if not self.warm_start:
            vars(self).pop("sums_", None)
        return self.partial_fit(X)

    def partial_fit(self, X, y=None):
        if not hasattr(self, "sums_"):
            self.n_rows_, self.sums_ = len(X), np.zeros(X.shape[1])
        self.sums_[: X.shape[1]] += X.sum(axis=0)
        if (len(X), X.shape[1]) != (self.n_rows_, len(self.sums_)):
            raise ValueError("stumbled")
        return self

    def transform(self, X):
        return X / (1 + self.sums_**2)


class Warm(Stumbling):
    """One that goes on from what an earlier fit found."""

    def __init__(self, warm_start=True, inner=None, kind=None):
        self.warm_start, self.inner, self.kind = warm_start, inner, kind


class Chain(TransformerMixin, BaseEstimator):
    """Transformers in a list, or in lists in it, that are fitted in place."""

    def __init__(self, parts):
        self.parts = parts

    def fit(self, X, y=None):
        for part in self.parts:
            (part[0] if isinstance(part, list) else part).fit(X, y)
        return self

    def transform(self, X):
        for part in self.parts:
            X = (part[0] if isinstance(part, list) else part).transform(X)
        return X


class Replacing(FeatureUnion):
    """A union that gets copies of its transformers back, as from other processes."""

    def fit_transform(self, X, y=None):
        fitted = [(name, clone(step).fit(X)) for name, step in self.transformer_list]
        self.transformer_list[:] = fitted
        return self.transform(X)


def scaled(*steps):
    """A pipeline whose first step is changed by every fit."""
    return make_query_pipeline(StandardScaler(), *steps)


FROZEN = FrozenEstimator(StandardScaler().fit(make_data(np.random.default_rng(0))[0]))
PIPELINES = {
    "scaler": lambda: scaled(NDCGRanker()),
    "regressor": lambda: scaled(NDCGRanker(SGDRegressor(random_state=0))),
    "last is of others": lambda: scaled(SGDRegressor(random_state=0)),
    "passthrough": lambda: make_query_pipeline("passthrough", StandardScaler(), NDCGRanker()),
    "incremental": lambda: scaled(IncrementalPCA(2), NDCGRanker()),
    "frozen": lambda: make_query_pipeline(FROZEN, StandardScaler(), NDCGRanker()),
    "middle": lambda: scaled(Stumbling(), NDCGRanker()),
    "warm": lambda: scaled(Warm(inner=Ridge(), kind=Ridge), NDCGRanker()),
    "nested": lambda: make_query_pipeline(scaled(QueryScaler()), NDCGRanker()),
    "nested of scikit-learn": lambda: make_query_pipeline(
        make_pipeline(StandardScaler(), make_pipeline(Stumbling())), NDCGRanker()
    ),
    "list": lambda: make_query_pipeline(Chain([StandardScaler(), Warm()]), NDCGRanker()),
    "list of lists": lambda: make_query_pipeline(Chain([[StandardScaler()]]), NDCGRanker()),
    "union": lambda: make_query_pipeline(Replacing([("a", StandardScaler())]), NDCGRanker()),
    "selection": lambda: scaled(SelectFromModel(Lasso(0.01)), NDCGRanker()),
    "table": lambda: make_query_pipeline(TableEncoder(), StandardScaler(), NDCGRanker()),
    "trees": lambda: scaled(small_boosted("sklearn")),
    "pipeline last": lambda: scaled(scaled(NDCGRanker())),
    "stack": lambda: scaled(StackingRanker(linear_members())),
    "hosted": lambda: HostedRanker(scaled(NDCGRanker())),
    "hosted nested": lambda: HostedRanker(scaled(scaled(NDCGRanker()))),
}
CASES = [*EVERY_ESTIMATOR, *(Case(name, make) for name, make in PIPELINES.items())]


def refit(case, method, estimator, X, y, qid):
    """Fit an estimator by a method."""
    if method == "fit":
        return case.refit(estimator, X, y, qid)
    return getattr(estimator, method)(X, y, qid)


def bad_fits(case, X, y, qid):
    """Yield other rows, each with something that a fit refuses."""
    yield 9 * X[1:, :2] - 7, y, qid
    if case.target == "grades":
        for others in (100 * X + 5, 9 * X[:, :2] - 7):
            yield others, np.where(y > 1, np.nan, y), qid + 100


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore")
def test_a_failed_fit_of_any_estimator_changes_nothing(case, rng):
    X, y, qid = make_data(rng, sizes=(6, 5) * 8)
    for method in ("fit", "partial_fit", "fit_targets"):
        new = case.make()
        if not hasattr(new, method) or (method != "fit" and case.target != "grades"):
            continue
        for estimator in (new, refit(case, method, clone(new), X, y, qid)):
            for bad in bad_fits(case, X, y, qid):
                params = estimator.get_params()
                before = pickle.dumps(copy.deepcopy(estimator))  # in one layout of memory
                with pytest.raises((ValueError, TypeError)):
                    refit(case, method, estimator, *bad)
                assert pickle.dumps(copy.deepcopy(estimator)) == before
                for name, value in estimator.get_params().items():
                    assert value is params[name] or isinstance(value, list), name


def test_what_steps_restore_by_themselves_is_not_copied(rng):
    X, y, qid = make_data(rng)
    pipe = scaled(NDCGRanker(GramRidge())).partial_fit(X, y, qid)
    names = pipe[-1].record_.names
    with pytest.raises(ValueError, match="was in an earlier chunk"):
        pipe.partial_fit(X, y, qid)
    assert pipe[-1].record_.names is names


# -- steps that cannot be copied, or need not be -----------------------------------------


class Columns(TransformerMixin, BaseEstimator):
    """A transformer without the attribute of its parameter, which get_params cannot return."""

    def __init__(self, columns):
        self.picked = list(columns)

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return (X - self.mean_)[:, self.picked]


class Stateless(TransformerMixin, BaseEstimator):
    """A transformer that is not fitted, with a model and a lock."""

    def __init__(self, model=None):
        self.model = model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        self._lock = threading.Lock()
        return X


class Locked(Stumbling):
    """A transformer that adds to what it has, and holds a lock."""

    def __init__(self, models=()):
        self.models, self.lock = models, threading.Lock()
        self.state = {"sizes": [], "lock": self.lock}

    def partial_fit(self, X, y=None):
        self.state["sizes"].append(len(X))
        return super().partial_fit(X)


class Counted:
    """A value of a fitted model that counts its copies."""

    n_copies = 0

    def __deepcopy__(self, memo):
        self.n_copies += 1
        return self


UNCHANGED = {
    "frozen": ("partial_fit", FrozenEstimator),
    "frozen in fit": ("fit", FrozenEstimator),
    "in a union": ("fit", lambda model: FeatureUnion([("model", FrozenEstimator(model))])),
    "in a list": ("fit", lambda model: Chain([FrozenEstimator(model)])),
    "in a step that adds": ("partial_fit", lambda model: Locked([FrozenEstimator(model)])),
    "in a stateless step": ("partial_fit", Stateless),
    "in a list of a stateless step": ("partial_fit", lambda model: Stateless([model])),
}


def test_steps_without_the_attributes_of_their_parameters(rng):
    X, y, qid = make_data(rng)
    pipe = make_query_pipeline(Columns([0, 1]), NDCGRanker()).fit(X, y, qid)
    expected = pipe.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        pipe.fit(9 * X + 5, np.where(y > 1, np.nan, y), qid)
    np.testing.assert_array_equal(pipe.predict(X), expected)


@pytest.mark.parametrize("step", [Stateless, Locked])
def test_steps_with_locks_take_chunks(step, rng):
    X, y, qid = make_data(rng)
    pipe = make_query_pipeline(step(), NDCGRanker()).partial_fit(X, y, qid)
    pipe.partial_fit(X, y, qid + 100)
    first, expected = pipe[0], pipe.predict(X)
    kept = vars(first).copy()
    with pytest.raises(ValueError, match="was in an earlier chunk"):
        pipe.partial_fit(X, y, qid)
    np.testing.assert_array_equal(pipe.predict(X), expected)
    assert pipe[0] is first
    if step is Locked:
        assert first.lock is kept["lock"] is first.state["lock"]
        assert first.state["sizes"] == [len(X)] * 2


@pytest.mark.parametrize(("method", "wrap"), UNCHANGED.values(), ids=UNCHANGED)
def test_models_that_no_fit_changes_are_not_copied(method, wrap, rng):
    X, y, qid = make_data(rng)
    model = StandardScaler().fit(X)
    model.warm_start, model.large_ = True, Counted()
    pipe = make_query_pipeline(wrap(model), NDCGRanker())
    for first in (0, 100):
        getattr(pipe, method)(X, y, qid + first)
    assert model.large_.n_copies == 0
