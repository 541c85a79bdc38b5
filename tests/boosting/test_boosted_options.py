"""Options of the engines of boosted trees that are read, and those that are not."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from boosting_cases import FIRST, boosted, made_queries
from sklearn.base import clone

from skcalrank.data import check

# Those that LGBMRanker sets, and other names of options.
DEFAULTS = {
    **{"reg_alpha": 0.0, "min_split_gain": 0.0, "subsample_freq": 0, "colsample_bytree": 1.0},
    **{"boosting_type": "gbdt", "device": "cpu", "tree": "serial", "mc_method": "basic"},
    **{"bundle": True, "fc": [1.0] * 6},
}


@pytest.fixture(params=[True, False], ids=["table", "no table"])
def lightgbm(request, monkeypatch):
    """LightGBM with its table of names, and without."""
    module = pytest.importorskip("lightgbm")
    if not request.param:
        basic = SimpleNamespace(LightGBMError=module.basic.LightGBMError)
        module = SimpleNamespace(Dataset=module.Dataset, Booster=module.Booster, basic=basic)
        monkeypatch.setitem(sys.modules, "lightgbm", module)


@pytest.mark.usefixtures("lightgbm")
def test_options_of_lightgbm_may_stand_at_their_defaults(capfd):
    boosted("lightgbm", engine_params=DEFAULTS)._check_params()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_default_of_lightgbm_changes_nothing(name):
    X, y, qid = made_queries(20, seed=0)
    plain = boosted("lightgbm", n_estimators=2).fit(X, y, qid)
    params = plain.engine_params | {name: DEFAULTS[name]}
    ranker = clone(plain).set_params(engine_params=params).fit(X, y, qid)
    assert np.array_equal(ranker.predict(X), plain.predict(X))


@pytest.mark.usefixtures("lightgbm")
@pytest.mark.parametrize("name", ["reg_lamda", "feature_fractoin"])
def test_misspelled_options_of_lightgbm_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}', which lightgbm does not read"):
        boosted("lightgbm", engine_params={name: 0.5})._check_params()


COUNTS = ["n_models", "n_estimators", "max_leaf_nodes", "n_iter_no_change", "n_jobs"]


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_no_bool(name):
    with pytest.raises(ValueError, match=f"'{name}'.* Got True"):
        check.params(boosted(FIRST, **{name: True}))
