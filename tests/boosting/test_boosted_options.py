"""Options that go to the libraries: names and values that are refused, and all others."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from boosting_cases import ENGINES, FIRST, boosted, made_queries
from sklearn.base import clone

from skcalrank.data import check

X, Y, QID = made_queries(20, seed=0)

# Those that LGBMRanker sets, and other names of options.
DEFAULTS = {
    **{"reg_alpha": 0.0, "min_split_gain": 0.0, "subsample_freq": 0, "colsample_bytree": 1.0},
    **{"boosting_type": "gbdt", "device": "cpu", "tree": "serial", "mc_method": "basic"},
    **{"bundle": True, "fc": [1.0] * 6},
}


def test_options_of_lightgbm_may_stand_at_their_defaults(capfd):
    plain = boosted("lightgbm", n_estimators=2).fit(X, Y, QID)
    params = plain.engine_params | DEFAULTS
    ranker = clone(plain).set_params(engine_params=params).fit(X, Y, QID)
    assert np.array_equal(ranker.predict(X), plain.predict(X))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["reg_lamda", "feature_fractoin"])
def test_misspelled_options_of_lightgbm_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}', which lightgbm does not read"):
        boosted("lightgbm", engine_params={name: 0.5})._check_params()


def test_without_the_names_of_lightgbm_none_is_refused(monkeypatch):
    ranker = boosted("lightgbm", engine_params={"an_option_of_the_future": 1})
    monkeypatch.setitem(sys.modules, "lightgbm", SimpleNamespace(basic=SimpleNamespace()))
    ranker._check_params()


REFUSED = [
    ("lightgbm", {"forcedsplits_filename": "none.json"}, "name of a file, got 'none.json'"),
    ("lightgbm", {"fc": [1, 0]}, r"\['fc'\] must have one value for each of the 6 .* \[1, 0"),
    ("lightgbm", {"feature_contri": "1,1"}, "must have one value for each of the 6 columns"),
    ("lightgbm", {"feature_contri": {"a": 1}}, "must have one value for each of the 6"),
    ("lightgbm", {"num_class": 3}, "not contain 'num_class': set loss="),
    ("xgboost", {"num_class": 3}, "not contain 'num_class': set loss="),
    ("xgboost", {"tree_method": "exact"}, "not contain tree_method='exact', .* max_leaf_nodes"),
    ("xgboost", {"max_depth": "deep"}, r"XGBoost refuses engine_params=\{'max_depth': 'deep'"),
]


@pytest.mark.parametrize(
    ("engine", "options", "message"), REFUSED, ids=[str(r[:2]) for r in REFUSED]
)
def test_errors_name_the_option_and_what_to_do(engine, options, message):
    with pytest.raises(ValueError, match=message):
        boosted(engine, n_estimators=2, engine_params=options).fit(X, Y, QID)


def test_devices_that_the_library_has_no_code_for_are_refused(monkeypatch):
    xgboost = pytest.importorskip("xgboost")
    ranker = boosted("xgboost", engine_params={"device": "cuda"})
    monkeypatch.setattr(xgboost, "build_info", lambda: {"USE_CUDA": False})
    with pytest.raises(ValueError, match="device='cuda', and the installed XGBoost has no code"):
        ranker._check_params()
    monkeypatch.setattr(xgboost, "build_info", lambda: {"USE_CUDA": True})
    ranker._check_params()


@pytest.mark.parametrize(
    ("engine", "options"),
    [
        ("lightgbm", {"bagging_freq": 1, "linear_lambda": 3.0}),
        ("lightgbm", {"lambdarank_norm": False, "early_stopping_min_delta": 0.1}),
        ("xgboost", {"seed_per_iteration": True, "scale_pos_weight": 5}),
    ],
    ids=str,
)
def test_options_without_effect_beside_others_are_not_told(engine, options):
    plain = boosted(engine, n_estimators=2).fit(X, Y, QID)
    params = (plain.engine_params or {}) | options
    ranker = clone(plain).set_params(engine_params=params).fit(X, Y, QID)
    assert np.array_equal(ranker.predict(X), plain.predict(X))


COUNTS = ["n_models", "n_estimators", "max_leaf_nodes", "n_iter_no_change", "n_jobs"]


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_no_bool(name):
    with pytest.raises(ValueError, match=f"'{name}'.* Got True"):
        check.params(boosted(FIRST, **{name: True}))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_share_of_rows_has_a_row(engine):
    with pytest.raises(ValueError, match=r"subsample must keep a row of \d+, got 1e-09"):
        boosted(engine, subsample=1e-9).fit(X, Y, QID)
