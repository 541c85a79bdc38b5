"""Members of a stack, and pipelines, whose steps contain or encode other estimators."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.utils.fixes import parse_version

from skcalrank import DCGRanker, NDCGRanker, StackingRanker
from skcalrank.data import NotAMeanWarning
from skcalrank.linear_model import GramRidge
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import QuantileHinges, QueryScaler


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 6)
    X = np.column_stack([rng.normal(size=(180, 3)), rng.integers(0, 4, 180)])
    y = np.clip(np.round(X[:, 0] + X[:, 3] + rng.normal(size=180)), 0, 4)
    return X, y, qid


def encoder():
    # Folds that are not drawn, in both forms of the parameters.
    is_new = parse_version(sklearn.__version__) >= parse_version("1.9")
    folds = {"cv": KFold(3)} if is_new else {"cv": 3, "shuffle": False}
    return TargetEncoder(target_type="continuous", **folds)


STEPS = {
    "FeatureUnion": lambda: FeatureUnion([("a", StandardScaler()), ("b", QuantileHinges())]),
    "FeatureUnion with qid": lambda: FeatureUnion([("a", QueryScaler()), ("b", StandardScaler())]),
    "SelectFromModel": lambda: SelectFromModel(Ridge()),
    "SelectFromModel of a ranker": lambda: SelectFromModel(NDCGRanker()),
    "TargetEncoder": encoder,
    "TargetEncoder of a column": lambda: ColumnTransformer(
        [("codes", encoder(), [3])], remainder="passthrough"
    ),
    "union of a selection": lambda: FeatureUnion([("a", SelectFromModel(Ridge()))]),
}


def member_of(step, kind):
    if kind == "query pipeline":
        return make_query_pipeline(step, NDCGRanker())
    return make_pipeline(step, Ridge())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "query pipeline") for name in STEPS),
        # Pipelines of scikit-learn have no queries for their steps.
        *((name, "pipeline") for name in STEPS if "qid" not in name and "ranker" not in name),
    ],
)
def test_members_fit_with_routing_on_and_off(name, kind, data):
    X, y, qid = data
    scores = []
    for routing in (False, True):
        with config_context(enable_metadata_routing=routing):
            members = [("a", member_of(STEPS[name](), kind)), ("b", DCGRanker())]
            stack = StackingRanker(members).fit(X, y, qid)
            scores.append(stack.predict(X, qid))
    np.testing.assert_array_equal(*scores)
    if "TargetEncoder" in name:
        return  # a stack sorts the queries by their names, which changes the folds of the encoder
    alone = member_of(STEPS[name](), kind)
    alone = alone.fit(X, y, qid) if kind == "query pipeline" else alone.fit(X, y)
    qids = {"qid": qid} if kind == "query pipeline" else {}
    np.testing.assert_allclose(stack.rankers_[0].predict(X, **qids), alone.predict(X, **qids))


@pytest.mark.product
@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_pipelines_do_what_their_steps_do(name, routing, data):
    X, y, qid = data
    with config_context(enable_metadata_routing=routing):
        pipe = make_query_pipeline(STEPS[name](), NDCGRanker()).fit(X, y, qid)
        scores = pipe.predict(X, qid)
    step = STEPS[name]()
    takes_qid = "qid" in name or "ranker" in name
    with config_context(enable_metadata_routing=takes_qid):
        Z = step.fit_transform(X, y, **({"qid": qid} if takes_qid else {}))
        tested = step.transform(X, **({"qid": qid} if "qid" in name else {}))
    np.testing.assert_allclose(scores, NDCGRanker().fit(Z, y, qid).predict(tested), atol=1e-12)


# -- what is frozen --------------------------------------------------------------------


def frozen(model):
    """A frozen model, and a function that tells whether it is as it was."""
    before = pickle.dumps(model)
    return FrozenEstimator(model), lambda: pickle.dumps(model) == before


FROZEN = {
    "ranker": lambda X, y, qid: NDCGRanker().fit(X, y, qid),
    "ranker with merge": lambda X, y, qid: NDCGRanker(GramRidge()).fit(X, y, qid),
    "pipeline": lambda X, y, qid: make_query_pipeline(QueryScaler(), DCGRanker()).fit(X, y, qid),
    "regressor": lambda X, y, _: Ridge().fit(X, y),
}


@pytest.mark.product
@pytest.mark.parametrize("method", ["fit", "fit_targets"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FROZEN)
def test_a_frozen_member_keeps_its_scores(name, weighted, method, data):
    X, y, qid = data
    old = qid < 10
    model = FROZEN[name](X[old], y[old], qid[old])
    member, is_as_it_was = frozen(model)
    stack = StackingRanker([("old", member), ("new", NDCGRanker())])
    weight = {"sample_weight": 1.0 + (qid % 2)} if weighted else {}
    getattr(stack, method)(X, y, qid, **weight)
    assert is_as_it_was()
    takes_qid = {} if name == "regressor" else {"qid": qid}
    np.testing.assert_array_equal(
        stack.rankers_[0].predict(X, **takes_qid), model.predict(X, **takes_qid)
    )
    assert stack.weights_.sum() > 0


def test_two_frozen_members_are_mixed(data):
    X, y, qid = data
    models = [NDCGRanker(k=k).fit(X, y, qid) for k in (1, 10)]
    stack = StackingRanker([(str(i), FrozenEstimator(m)) for i, m in enumerate(models)])
    scores = sum(
        weight * model.predict(X) / spread
        for weight, model, spread in zip(
            stack.fit(X, y, qid).weights_, models, stack.spreads_, strict=True
        )
    )
    np.testing.assert_allclose(stack.predict(X, qid), scores)


def test_chunks_are_not_added_to_what_is_frozen(data):
    X, y, qid = data
    scaler, scaler_is_as_it_was = frozen(StandardScaler().fit(X))
    pipe = make_query_pipeline(scaler, NDCGRanker())
    for part in (qid < 10, qid >= 10):
        pipe.partial_fit(X[part], y[part], qid[part])
    assert scaler_is_as_it_was()
    whole = make_query_pipeline(scaler, NDCGRanker()).fit(X, y, qid)
    np.testing.assert_allclose(pipe.predict(X, qid), whole.predict(X, qid))
    ranker, ranker_is_as_it_was = frozen(NDCGRanker().fit(X, y, qid))
    last = make_query_pipeline(StandardScaler(), ranker)
    assert not hasattr(last, "partial_fit")
    assert not hasattr(last, "fit_targets")
    last.fit(X, y, qid, sample_weight=np.ones(len(y)))
    assert ranker_is_as_it_was()
    regressor, regressor_is_as_it_was = frozen(GramRidge().fit(X, y))
    assert not hasattr(NDCGRanker(regressor, loss="squared"), "partial_fit")
    with pytest.warns(NotAMeanWarning, match="FrozenEstimator"):
        NDCGRanker(regressor, loss="squared").fit(X, y, qid)
    assert regressor_is_as_it_was()
