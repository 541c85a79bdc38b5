"""Model files: the loaded model equals the saved one, and other content is refused."""

import json
import re
import sys
import tracemalloc
import warnings
from datetime import date, timedelta
from functools import partial
from unittest.mock import Mock
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
import sklearn
from cases import holds_generator, rankers
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cluster import FeatureAgglomeration
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    SplineTransformer,
    StandardScaler,
)

import skcalrank
from skcalrank import (
    CalibratedRankerCV,
    ExternalRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    QueryKFold,
    StackingRanker,
)
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import get_scorer
from skcalrank.persistence import load_model, read_header, save_model
from skcalrank.pipeline import make_query_pipeline
from skcalrank.preprocessing import LinearColumns
from skcalrank.structured import FMeasureClassifier, LowRankLossClassifier, StructuredPredictor

skops_io = pytest.importorskip("skops.io")

REGRESSORS = [
    Ridge(),
    GramRidge(),
    SGDRegressor(random_state=0),
    make_pipeline(StandardScaler(), Ridge()),
    *(
        pytest.param(
            HistGradientBoostingRegressor(
                max_iter=3, min_samples_leaf=2, max_bins=99, categorical_features=kinds
            ),
            marks=holds_generator,
        )
        for kinds in (None, [0])
    ),
    GradientBoostingRegressor(n_estimators=3, random_state=0),
    RandomForestRegressor(3, random_state=0),
    MLPRegressor(hidden_layer_sizes=3, tol=10.0, n_iter_no_change=1, random_state=0),
    KNeighborsRegressor(2),
    KNeighborsRegressor(2, algorithm="ball_tree", metric="manhattan"),
    GaussianProcessRegressor(RBF() + WhiteKernel()),
    make_pipeline(SplineTransformer(), KBinsDiscretizer(2), Ridge()),
    make_pipeline(SimpleImputer(), SelectKBest(f_regression, k=2), FeatureAgglomeration(), Ridge()),
]


@pytest.fixture
def sizes():
    return (6, 5, 9, 4, 7, 5, 8)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def there_and_back(ranker, path):
    save_model(ranker, path)
    return load_model(path)


# -- there and back ----------------------------------------------------------------


@pytest.mark.parametrize("ranker", rankers(), ids=lambda r: type(r).__name__)
def test_every_ranker(ranker, data, path):
    X, _, qid = data
    ranker.fit(*data)
    twin = there_and_back(ranker, path)
    assert type(twin) is type(ranker)
    np.testing.assert_array_equal(twin.predict(X, qid), ranker.predict(X, qid))
    np.testing.assert_array_equal(twin.rank(X, qid), ranker.rank(X, qid))
    assert twin.score(*data) == ranker.score(*data)
    assert repr(twin) == repr(ranker)


@pytest.mark.parametrize("regressor", REGRESSORS, ids=lambda r: type(r).__name__)
def test_regressors(regressor, data, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how well the regressor fits is not asked here
        ranker = NDCGRanker(regressor).fit(*data)
    twin = there_and_back(ranker, path)
    np.testing.assert_allclose(twin.predict(data[0]), ranker.predict(data[0]), rtol=1e-12)


@pytest.mark.product
@pytest.mark.parametrize("cv", [3, GroupKFold(3), QueryKFold(3)])
@pytest.mark.parametrize("scoring", [None, "ndcg@5"])
def test_searches(cv, scoring, data, path):
    X, y, qid = data
    scoring = scoring and get_scorer(scoring)
    search = GridSearchCV(NDCGRanker(), {"k": [2, 5]}, cv=cv, scoring=scoring)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how the folds score is not asked here
        search.fit(X, y, groups=qid, qid=qid)
    twin = there_and_back(search, path)
    np.testing.assert_array_equal(twin.predict(X), search.predict(X))
    assert twin.best_params_ == search.best_params_


def test_pair_surrogates(data, path):
    for ranker in rankers(surrogate="pairwise"):
        if "surrogate" in ranker.get_params():
            twin = there_and_back(ranker.fit(*data), path)
            X, _, qid = data
            np.testing.assert_array_equal(twin.rank(X, qid), ranker.rank(X, qid))


def test_classifier_and_label_form(rng, path):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    classifier = LowRankLossClassifier(1.0 - np.eye(3)).fit(X, y)
    assert np.array_equal(there_and_back(classifier, path).predict(X), classifier.predict(X))
    orders = np.argsort(rng.normal(size=(40, 4))) + 1
    for model, labels in (
        (StructuredPredictor(), y),
        (StructuredPredictor(factors="hamming"), orders),
        (StructuredPredictor(factors="hit@2"), orders > 2),
        (FMeasureClassifier(), orders > 2),
    ):
        twin = there_and_back(model.fit(X, labels), path)
        assert np.array_equal(twin.predict(X), model.predict(X))
    ranker = NDCGRanker().fit(X, rng.integers(0, 3, (40, 4)))
    assert np.array_equal(there_and_back(ranker, path).rank(X), ranker.rank(X))


def test_feature_names_survive(data, path):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data
    frame = pandas.DataFrame(X, columns=list("dcba"))
    twin = there_and_back(NDCGRanker().fit(frame, y, qid), path)
    assert list(twin.feature_names_in_) == list("dcba")
    with pytest.raises(ValueError, match="feature names"):
        twin.predict(frame[list("abcd")])


def test_tables_need_no_trust(path):
    constant = {"day": date(2024, 1, 1), "time": timedelta(1), "name": "x"}
    table = [constant | {"number": k / 2, "level": f"l{k % 4}"} for k in range(40)]
    y, qid = np.arange(40) % 3, np.arange(40) // 10
    model = make_query_pipeline(LinearColumns(), NDCGRanker()).fit(table, y, qid)
    save_model(model, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded[0].encoder_.describe() == model[0].encoder_.describe()


@pytest.mark.every_case
@pytest.mark.parametrize("kind", ["mixed", "bytes", "tuple", "Interval", "Period", "duration"])
def test_levels_that_are_no_keys_of_json(kind, rng, path):
    pandas = pytest.importorskip("pandas")
    code = rng.integers(0, 4, 40)
    column = {
        "mixed": [int(k) if row % 2 else str(k) for row, k in enumerate(code)],
        "bytes": [b"%d" % k for k in code],
        "tuple": [(int(k), "a") for k in code],
        "Interval": pandas.cut(code, range(-1, 4)),
        "Period": pandas.Categorical([pandas.Period(f"{2020 + k}-01") for k in code]),
        "duration": [timedelta(int(k)) for k in code],
    }[kind]
    table = pandas.DataFrame({"number": rng.random(40), "level": column})
    columns = LinearColumns(columns={"level": "category"})
    model = make_query_pipeline(columns, NDCGRanker()).fit(table, code % 3, np.arange(40) // 10)
    loaded = there_and_back(model, path)
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded[0].encoder_.describe() == model[0].encoder_.describe()


def test_a_pipeline_is_stored_without_callbacks_of_scikit_learn(data, path):
    callback = pytest.importorskip("sklearn.callback")
    monitor = callback.ScoringMonitor(scoring={"ndcg": get_scorer("ndcg@10")})
    model = make_query_pipeline(StandardScaler(), NDCGRanker()).set_callbacks(monitor).fit(*data)
    np.testing.assert_array_equal(
        there_and_back(model, path).predict(data[0]), model.predict(data[0])
    )


def test_chunks_can_be_added_to_a_model_that_was_loaded(data, path):
    X, y, qid = data
    first = qid < 14
    ranker = NDCGRanker(GramRidge()).partial_fit(X[first], y[first], qid[first])
    twin = there_and_back(ranker, path).partial_fit(X[~first], y[~first], qid[~first])
    np.testing.assert_allclose(twin.coef_, NDCGRanker(GramRidge()).fit(*data).coef_, rtol=1e-10)


# -- the header --------------------------------------------------------------------


def test_header(data, path):
    save_model(NDCGRanker().fit(*data), str(path), n_rows=44, ranker="ndcg")
    assert read_header(path) == {
        "format": 3,
        "class": "skcalrank.rankers._positional.NDCGRanker",
        "skcalrank": skcalrank.__version__,
        "scikit-learn": sklearn.__version__,
        "notes": {"n_rows": 44, "ranker": "ndcg"},
    }


def rewrite(path, name, change):
    """Change one text of the archive."""
    with ZipFile(path) as archive:
        texts = {each: archive.read(each) for each in archive.namelist()}
    texts[name] = change(texts[name].decode()).encode()
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for each, text in texts.items():
            archive.writestr(each, text)


@pytest.mark.parametrize(
    ("other", "remedy"),
    [(2, r"which only skcalrank .* reads, .* Fit again and save"), (4, "Upgrade skcalrank")],
)
def test_other_formats(data, path, other, remedy):
    save_model(NDCGRanker().fit(*data), path)
    rewrite(path, "skcalrank.json", lambda text: text.replace('"format": 3', f'"format": {other}'))
    for read in (load_model, read_header):
        with pytest.raises(ValueError, match=rf"must have format 3, got {other}, .*{remedy}"):
            read(path)


@pytest.mark.parametrize("ranker", [NDCGRanker(), StackingRanker()], ids=["linear", "stack"])
def test_files_that_lack_a_parameter(ranker, data, path):
    # As files of versions before the parameter was there.
    save_model(ranker.fit(*data), path)
    rewrite(path, "schema.json", lambda text: text.replace('"loss":', '"loss_before":'))
    with pytest.raises(ValueError, match=r"'loss'.* fit again and save, or load"):
        load_model(path)


def test_other_version_of_scikit_learn(data, path):
    save_model(NDCGRanker().fit(*data), path)
    for name in ("skcalrank.json", "schema.json"):
        rewrite(path, name, lambda text: text.replace(sklearn.__version__, "0.99"))
    with pytest.warns(InconsistentVersionWarning, match=r"NDCGRanker from version 0\.99") as caught:
        load_model(path)
    assert len(caught) == 1


@pytest.mark.parametrize("module", ["numpy.ma", "numpy.ma.core"])
def test_files_of_other_versions_of_skops(data, path, module):
    save_model(LeastSquaresRankerCV().fit(*data), path)
    old = r'"numpy\.ma(\.core)?"'
    rewrite(path, "schema.json", lambda text: re.sub(old, f'"{module}"', text))
    with ZipFile(path) as archive:
        assert f'"{module}"' in archive.read("schema.json").decode()
    assert load_model(path).cv_results_["param_alpha"].shape == (17,)


# -- what is not read --------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken"])
def test_other_files(content, path):
    path.write_bytes(content)
    for read in (load_model, read_header):
        with pytest.raises(ValueError, match="not a model file"):
            read(path)
    with pytest.raises(FileNotFoundError):
        load_model(path.with_name("missing"))


def test_other_archives(path):
    with ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(ValueError, match="not a model file"):
        load_model(path)
    with ZipFile(path, "w") as archive:
        archive.writestr("skcalrank.json", json.dumps({"format": 3}))
    with pytest.raises(ValueError, match="not a model file"):
        load_model(path)


@pytest.mark.parametrize("change", [lambda text: text[: len(text) // 2], lambda _text: "{}"])
def test_damaged(data, path, change):
    save_model(NDCGRanker().fit(*data), path)
    rewrite(path, "schema.json", change)
    with pytest.raises(ValueError, match="is damaged"):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"class": 5}, "'class' must be a str, got 5"),
        ({"scikit-learn": None}, "'scikit-learn' must be a str, got None"),
        ({"skcalrank": ["0.1"]}, "'skcalrank' must be a str"),
        ({"notes": [1]}, r"'notes' must be a dict, got \[1\]"),
        ({"format": "1"}, "not supported between"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_forged_headers(data, path, change, words):
    save_model(NDCGRanker().fit(*data), path)

    def forge(text):
        return change if isinstance(change, str) else json.dumps({**json.loads(text), **change})

    rewrite(path, "skcalrank.json", forge)
    for read in (read_header, load_model):
        with pytest.raises(ValueError, match=f"is not a model file of skcalrank: .*{words}"):
            read(path)


def test_a_header_that_would_fill_the_memory(data, path):
    ranker = NDCGRanker().fit(*data)
    save_model(ranker, path)
    rewrite(path, "skcalrank.json", lambda text: text + " " * (1 << 25))
    for read in (read_header, load_model):
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"of skcalrank: its 'skcalrank.json' has 33,5"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
        tracemalloc.stop()
    # Nor is one written that could not be read.
    with pytest.raises(ValueError, match=r"notes must take at most 16,777,216 bytes, got 16,777,"):
        save_model(ranker, path, words="w" * (1 << 24))


def test_a_header_may_be_as_large_as_the_limit(data, path, monkeypatch):
    ranker = NDCGRanker().fit(*data)
    save_model(ranker, path)
    with ZipFile(path) as archive:
        size = archive.getinfo("skcalrank.json").file_size
    monkeypatch.setattr("skcalrank.persistence._model_files._MOST_BYTES", size)
    save_model(ranker, path)
    assert read_header(path)["class"].endswith("NDCGRanker")
    monkeypatch.setattr("skcalrank.persistence._model_files._MOST_BYTES", size - 1)
    with pytest.raises(ValueError, match="must take at most"):
        save_model(ranker, path)
    with pytest.raises(ValueError, match=f"has {size} bytes"):
        read_header(path)


@pytest.mark.parametrize("content", [{"a": 1}, np.ones(3), NDCGRanker()])
def test_what_is_no_fitted_ranker(data, path, content):
    save_model(NDCGRanker().fit(*data), path)
    with ZipFile(path) as archive:
        header = archive.read("skcalrank.json")
    path.write_bytes(skops_io.dumps(content))
    with ZipFile(path, "a") as archive:
        archive.writestr("skcalrank.json", header)
    with pytest.raises(ValueError, match=r"cannot be loaded: .*(not an estimator|not fitted)"):
        load_model(path)


@pytest.mark.parametrize("trusted", ["numpy.memmap", True, None])
def test_trusted_is_a_list(data, path, trusted):
    # A text has its parts in it: "os.system" would stand for "os" too.
    save_model(NDCGRanker().fit(*data), path)
    with pytest.raises(TypeError, match="must be a list of full names"):
        load_model(path, trusted=trusted)


class Stranger(RegressorMixin, BaseEstimator):
    """A regressor that belongs to no trusted package."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, 0]


class Unwritable(Stranger):
    """A regressor with a part that has no state."""

    def __getstate__(self):
        raise AttributeError("no attribute 'seed_seq'")


def test_what_cannot_be_written_leaves_no_file(data, path):
    ranker = NDCGRanker(Unwritable()).fit(*data)
    with pytest.raises(TypeError, match=r"skops cannot write .* no attribute 'seed_seq'"):
        save_model(ranker, path)
    assert not path.exists()


SMALL = {
    "lightgbm": {"n_estimators": 3, "verbose": -1, "n_jobs": 1, "min_child_samples": 1},
    "xgboost": {"n_estimators": 3, "n_jobs": 1},
    "catboost": {"iterations": 3, "allow_writing_files": False, "verbose": False},
}
NAMES = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}


@pytest.mark.parametrize("package", SMALL)
def test_rankers_of_other_libraries(data, path, monkeypatch, package):
    X, y, qid = data
    module = pytest.importorskip(package)
    ranker = getattr(module, f"{NAMES[package]}Ranker")(**SMALL[package])
    ranker = ExternalRanker(ranker).fit(X, np.round(np.abs(y)), qid)
    save_model(ranker, path)
    trusted = []
    if package == "catboost":
        trusted = ["catboost.core.CatBoostRanker"]
        with pytest.raises(ValueError, match=rf"not trusted: {trusted[0]}"):
            load_model(path)
    twin = load_model(path, trusted=trusted)
    np.testing.assert_array_equal(twin.predict(X, qid), ranker.predict(X, qid))
    np.testing.assert_array_equal(twin.feature_importances_, ranker.feature_importances_)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"needs {package}: pip install {package}"):
        load_model(path, trusted=trusted)


@pytest.mark.filterwarnings("ignore")  # how the trees fit is not asked here
@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_trees_of_other_libraries_anywhere(data, path, package):
    X, y, qid = data
    module = pytest.importorskip(package)
    regressor = getattr(module, f"{NAMES[package]}Regressor")(**SMALL[package])
    stops = {"early_stopping_rounds": 1, "n_estimators": 50, "learning_rate": 0.9}
    stopped = clone(regressor).set_params(**stops)
    stopped.fit(X, y, eval_set=[(X[::2], -y[::2])])
    assert stopped.predict(X).std() >= 0
    for ranker in (
        NDCGRanker(regressor),
        NDCGRanker(make_pipeline(StandardScaler(), regressor)),
        StackingRanker([("trees", NDCGRanker(regressor)), ("linear", NDCGRanker())]),
        CalibratedRankerCV(NDCGRanker(regressor), relevance_level=0.5),
        GridSearchCV(
            NDCGRanker(regressor), {"k": [2]}, cv=QueryKFold(2), scoring=get_scorer("dcg")
        ),
        ExternalRanker(FrozenEstimator(stopped)),
    ):
        search = isinstance(ranker, GridSearchCV)
        routed, named = {"groups": qid} if search else {}, {} if search else {"qid": qid}
        ranker.fit(X, np.clip(np.round(np.abs(y)), 0, 2), qid=qid, **routed)
        before = ranker.predict(X, **named)
        twin = there_and_back(ranker, path)
        np.testing.assert_array_equal(twin.predict(X, **named), before)
        # What was stored is a copy.
        np.testing.assert_array_equal(ranker.predict(X, **named), before)
        np.testing.assert_array_equal(there_and_back(twin, path).predict(X, **named), before)


def test_strange_types_are_named_and_can_be_trusted(data, path):
    ranker = NDCGRanker(Stranger()).fit(*data)
    save_model(ranker, path)
    name = f"{__name__}.Stranger"
    with pytest.raises(ValueError, match=f"not trusted: {name}"):
        load_model(path)
    twin = load_model(path, trusted=[name])
    np.testing.assert_array_equal(twin.predict(data[0]), data[0][:, 0])


@pytest.mark.every_case
@pytest.mark.parametrize(
    "name",
    [
        "numpy.memmap",
        "numpy.load",
        "scipy.io.netcdf_file",
        "subprocess.Popen",
        # Functions, and what modules have imported from elsewhere.
        "sklearn.utils.shuffle",
        "sklearn.metrics._dist_metrics.PyFuncDistance",
        "numpy.fromfile",
        "skcalrank.load_letor",
        "skcalrank.datasets._letor.Path",
        "sklearn.utils.Bunch",
        "sklearn.__main__.Main",
    ],
)
def test_forged_types_are_refused(data, path, name):
    save_model(NDCGRanker().fit(*data), path)

    def forge(text):
        schema = json.loads(text)
        assert schema["__class__"] == "NDCGRanker"
        schema["__module__"], _, schema["__class__"] = name.rpartition(".")
        return json.dumps(schema)

    rewrite(path, "schema.json", forge)
    with pytest.raises(ValueError, match=r"not trusted|does not have"):
        load_model(path)


@pytest.mark.parametrize(
    "module", ["skcalrank.missing", "skcalrank.rankers", "sklearn.linear_model"]
)
def test_types_of_other_versions_are_named_with_the_versions_that_have_them(data, path, module):
    save_model(NDCGRanker().fit(*data), path)
    rewrite(path, "schema.json", lambda text: text.replace('"NDCGRanker"', '"OldRanker"'))
    now = r"skcalrank\.rankers\._positional"
    rewrite(path, "schema.json", lambda text: re.sub(now, module, text))
    remedy = rf"Fit again and save, or load .* skcalrank {skcalrank.__version__} with scikit-learn"
    with pytest.raises(ValueError, match=rf"contains {module}\.OldRanker, which .*{remedy}"):
        load_model(path)


@pytest.mark.parametrize(
    "function",
    [sklearn.utils.as_float_array, partial(sklearn.utils.as_float_array)],
    ids=["function", "partial"],
)
def test_functions_of_the_user_are_refused(function, data, path):
    ranker = NDCGRanker(make_pipeline(FunctionTransformer(function), Ridge()))
    save_model(ranker.fit(*data), path)
    with pytest.raises(ValueError, match="as_float_array"):
        load_model(path)


# -- what is not written -----------------------------------------------------------


def test_not_fitted(path):
    with pytest.raises(NotFittedError):
        save_model(NDCGRanker(), path)
    assert not path.exists()


def test_a_file_is_complete_or_as_before(data, path, monkeypatch):
    ranker = NDCGRanker().fit(*data)
    save_model(ranker, path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="JSON"):
        save_model(ranker, path, when={1, 2})
    monkeypatch.setattr("os.replace", Mock(side_effect=OSError("full")))
    with pytest.raises(OSError, match="full"):
        save_model(ranker, path, other=1)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_without_skops(data, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"pip install skops$"):
        save_model(NDCGRanker().fit(*data), path)


def test_loading_is_silent(data, path):
    save_model(NDCGRanker(REGRESSORS[3]).fit(*data), path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(path)
