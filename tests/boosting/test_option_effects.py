"""Each option that a library lists is refused, changes the model, or stands on a reviewed list."""

import json
from functools import lru_cache

import numpy as np
import pytest
from boosting_cases import ENGINES
from engine_names import NAMES, names_of_lightgbm

from skcalrank import BoostedRanker
from skcalrank.boosting import TREE_OPTIONS

# Values that change the model, with the parameters and options that they need.
BAGGING = {"subsample": 0.5}
DART, DROPS = {"boosting": "dart"}, {"boosting": "dart", "drop_rate": 0.9, "skip_drop": 0.0}
GOSS, QUANTA = {"data_sample_strategy": "goss"}, {"use_quantized_grad": True}
SIGNS = {"monotonic_cst": [1, 0, 0, -1, 0]}
LIGHTGBM = {
    "bagging_freq": (2, BAGGING),
    "bagging_seed": (9, BAGGING),
    "bin_construct_sample_cnt": (100, {}),
    "boosting": ("dart", {}),
    "cat_l2": (100.0, {}),
    "cat_smooth": (100.0, {}),
    "cegb_penalty_feature_coupled": ([9.0] * 5, {}),
    "cegb_penalty_feature_lazy": ([9.0] * 5, {}),
    "cegb_penalty_split": (0.05, {}),
    "cegb_tradeoff": (0.1, {"cegb_penalty_split": 0.05}),
    "data_random_seed": (9, {"bin_construct_sample_cnt": 100}),
    "data_sample_strategy": ("goss", {}),
    "drop_rate": (0.9, DART),
    "drop_seed": (9, DROPS | {"skip_drop": 0.2}),
    "extra_seed": (9, {"extra_trees": True}),
    "extra_trees": (True, {}),
    "feature_contri": ([0.2, 1, 1, 1, 1], {}),
    "feature_fraction": (0.5, {}),
    "feature_fraction_seed": (9, {"feature_fraction": 0.5}),
    "forcedbins_filename": ("bins.json", {}),
    "forcedsplits_filename": ("splits.json", {}),
    "lambda_l1": (3.0, {}),
    "linear_lambda": (9.0, {"linear_tree": True}),
    "linear_tree": (True, {}),
    "max_bin_by_feature": ([5] * 5, {}),
    "max_cat_threshold": (1, {}),
    "max_cat_to_onehot": (20, {}),
    "max_delta_step": (0.1, {}),
    "max_depth": (2, {}),
    "max_drop": (1, DROPS),
    "min_data_in_bin": (50, {}),
    "min_data_per_group": (50, {}),
    "min_gain_to_split": (2.0, {}),
    "min_sum_hessian_in_leaf": (30.0, {}),
    "monotone_constraints_method": ("advanced", SIGNS),
    "monotone_penalty": (2.0, SIGNS),
    "num_grad_quant_bins": (16, QUANTA),
    "other_rate": (0.5, GOSS),
    "path_smooth": (9.0, {}),
    "quant_train_renew_leaf": (True, QUANTA),
    "skip_drop": (0.0, DART | {"drop_rate": 0.9}),
    "stochastic_rounding": (False, QUANTA),
    "top_rate": (0.5, GOSS),
    "uniform_drop": (True, DART),
    "use_missing": (False, {}),
    "use_quantized_grad": (True, {}),
    "xgboost_dart_mode": (True, DART),
    "zero_as_missing": (True, {}),
}
DROPPED = {"booster": "dart", "rate_drop": 0.3}
XGBOOST = {
    **dict.fromkeys(["alpha", "reg_alpha"], (3.0, {})),
    "base_score": (0.7, {}),
    "booster": ("dart", {"rate_drop": 0.5}),
    "colsample_bylevel": (0.5, {}),
    "colsample_bytree": (0.5, {}),
    **dict.fromkeys(["gamma", "min_split_loss"], (20.0, {})),
    "grow_policy": ("depthwise", {}),
    "max_cat_threshold": (1, {}),
    "max_cat_to_onehot": (20, {}),
    "max_delta_step": (0.1, {}),
    "max_depth": (2, {}),
    "normalize_type": ("forest", DROPPED),
    "num_parallel_tree": (2, {}),
    "one_drop": (True, {"booster": "dart"}),
    "rate_drop": (0.5, {"booster": "dart"}),
    "sample_type": ("weighted", DROPPED),
    "sampling_method": ("gradient_based", {"subsample": 0.5}),
    "seed_per_iteration": (True, {"subsample": 0.5}),
    "skip_drop": (0.5, DROPPED),
    "tree_method": ("approx", {}),
}
SKLEARN = {"max_depth": (2, {})}
EFFECTIVE = {"lightgbm": LIGHTGBM, "xgboost": XGBOOST, "sklearn": SKLEARN}

# Objectives of the libraries read these as well.
OF_OBJECTIVES = {
    "lambdarank": {
        "bagging_by_query": (True, BAGGING),
        "label_gain": ([0, 1, 2, 3], {}),
        "lambdarank_norm": (False, {}),
        "lambdarank_truncation_level": (3, {}),
        "sigmoid": (3.0, {}),
    },
    "rank_xendcg": {"bagging_by_query": (True, BAGGING), "objective_seed": (9, {})},
    "rank:ndcg": {"ndcg_exp_gain": (False, {})},
    "rank:pairwise": {},
    "rank:map": {},
}
for _loss, _options in OF_OBJECTIVES.items():
    if ":" in _loss:
        _options |= {
            "lambdarank_bias_norm": (2.0, {"lambdarank_unbiased": True}),
            "lambdarank_normalization": (False, {}),
            "lambdarank_num_pair_per_sample": (2, {}),
            "lambdarank_pair_method": ("mean", {}),
            "lambdarank_score_normalization": (False, {}),
            "lambdarank_unbiased": (True, {}),
        }

# With more rows than `bin_construct_sample_cnt`, 200,000 by default, this needs no other option.
OF_MANY_ROWS = ["data_random_seed"]

# Options that are accepted and may leave the model as it is, with the reason.
SPEED = "a choice of speed or memory"
REVIEWED = {
    "lightgbm": {
        "deterministic": (False, SPEED),
        "device_type": ("cpu", "other devices need other builds, which raise if they are not"),
        "enable_bundle": (False, SPEED),
        "feature_pre_filter": (False, SPEED),
        "force_col_wise": (True, SPEED),
        "force_row_wise": (True, SPEED),
        "histogram_pool_size": (9.0, SPEED),
        "is_enable_sparse": (False, SPEED),
    },
    "xgboost": {
        "device": ("cpu", "others are refused if the build has no code for them"),
        "max_cached_hist_node": (2, SPEED),
        "sparse_threshold": (0.9, SPEED),
    },
    "sklearn": {},
}


# -- fits ---------------------------------------------------------------------------------


@lru_cache
def rows():
    """Four columns of numbers, with missing values and zeros, and one of categories."""
    rng, n_rows = np.random.default_rng(0), 600
    numbers, codes = rng.normal(size=(n_rows, 4)), rng.integers(0, 12, n_rows)
    numbers[rng.random(n_rows) < 0.2, 2] = np.nan
    numbers[rng.random(n_rows) < 0.3, 3] = 0.0
    worth = numbers[:, 0] + np.abs(numbers[:, 1]) + np.nan_to_num(numbers[:, 2]) * numbers[:, 3]
    worth += 0.7 * np.sin(2.3 * codes) + 0.5 * rng.normal(size=n_rows)
    X = np.empty((n_rows, 5), dtype=object)
    X[:, :4], X[:, 4] = numbers, [f"kind {code}" for code in codes]
    return X, np.digitize(worth, [0.3, 1.2, 2.2]), np.repeat(np.arange(60), 10)


def boosted(engine, loss, options, others=None):
    """A ranker with options of the library; `others` are options, or parameters of the ranker."""
    others = others or {}
    parameters = {name: value for name, value in others.items() if name in TREE_OPTIONS}
    options = {name: value for name, value in others.items() if name not in TREE_OPTIONS} | options
    if engine == "lightgbm":
        parameters, options = (
            {"min_samples_leaf": 5} | parameters,
            {"min_data_per_group": 5} | options,
        )
    return BoostedRanker(
        engine=engine,
        loss=loss,
        n_estimators=12,  # gradient-based samples (GOSS) are drawn from the tenth round on
        validation_fraction=None,
        n_jobs=1,
        random_state=0,
        engine_params=options,
        **parameters,
    )


def scores(engine, loss, options, others=None):
    X, y, qid = rows()
    if loss == "rank:map":
        y = np.minimum(y, 1)
    return boosted(engine, loss, options, others).fit(X, y, qid).predict(X)


@lru_cache
def scores_of(engine, loss, others):
    return scores(engine, loss, {}, json.loads(others))


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """The files that two options of LightGBM name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "splits.json").write_text('{"feature": 1, "threshold": 0.5}')
    (tmp_path / "bins.json").write_text('[{"feature": 0, "bin_upper_bound": [0.3, 0.4]}]')


@lru_cache
def drops_without_booster():
    """Whether trees of XGBoost are dropped without booster="dart", from version 3.3 on."""
    return not is_refused("xgboost", "pairwise_logistic", "rate_drop", {"rate_drop": 0.5})


def is_refused(engine, loss, name, options, others=None):
    try:
        boosted(engine, loss, options, others)._check_params()
    except ValueError as error:
        return "engine_params" in str(error) and repr(name) in str(error)
    return False


def fault_of(engine, loss, name, effective):
    """What is wrong with an option; None if the law holds for it."""
    if name in REVIEWED[engine]:
        options = {name: REVIEWED[engine][name][0]}
        return "is refused" if is_refused(engine, loss, name, options) else None
    if name not in effective:
        return None if is_refused(engine, loss, name, {name: -7}) else "has an effect, or none"
    value, others = effective[name]
    if "booster" in (name, *others) and drops_without_booster():
        if name == "booster":
            return None  # an old name, which the library reads and warns of
        others = {option: value for option, value in others.items() if option != "booster"}
    if others and name not in OF_MANY_ROWS and not is_refused(engine, loss, name, {name: value}):
        return f"is accepted without {others}"
    # Two options that need each other are compared with neither.
    is_pair = any(is_refused(engine, loss, other, others) for other in others)
    plain = scores_of(engine, loss, json.dumps({} if is_pair else others))
    try:
        changed = scores(engine, loss, {name: value}, others)
    except ValueError as error:  # XGBoost 2 samples by gradients on GPUs only
        return None if "only support" in str(error) else f"raises {error}"
    return "has no effect" if np.array_equal(changed, plain) else None


def faults(engine, loss, effective):
    """What is wrong with the options that a library lists."""
    found = {name: fault_of(engine, loss, name, effective) for name in NAMES[engine]()}
    return {name: fault for name, fault in found.items() if fault is not None}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_option_is_refused_or_changes_the_model(engine):
    assert faults(engine, "pairwise_logistic", EFFECTIVE[engine]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("loss", OF_OBJECTIVES)
def test_every_option_is_refused_or_changes_the_model_of_an_objective(loss):
    engine = "xgboost" if ":" in loss else "lightgbm"
    assert faults(engine, loss, EFFECTIVE[engine] | OF_OBJECTIVES[loss]) == {}


def test_every_name_of_an_option_of_lightgbm_is_checked():
    for option, names in names_of_lightgbm().items():
        if option not in LIGHTGBM.keys() | REVIEWED["lightgbm"].keys():
            for name in names:
                assert is_refused("lightgbm", "pairwise_logistic", name, {name: -7}), name


# -- messages, and values that are as good as none ----------------------------------------


REFUSED = [
    ("lightgbm", {"bagging_freq": 1}, "'bagging_freq', .* read only with subsample"),
    ("lightgbm", {"linear_lambda": 1.0, "linear_tree": False}, "only with linear_tree"),
    ("lightgbm", {"early_stopping_min_delta": 0.1}, "no effect: .* stops on the measure of the"),
    ("lightgbm", {"forcedsplits_filename": "none.json"}, "name of a file, got 'none.json'"),
    ("lightgbm", {"fc": [1, 0]}, r"\['fc'\] must have one value for each of the 5 .* \[1, 0"),
    ("lightgbm", {"feature_contri": "1,1"}, "must have one value for each of the 5 columns"),
    ("lightgbm", {"feature_contri": {"a": 1}}, "must have one value for each of the 5"),
    ("xgboost", {"tree_method": "exact"}, "not contain tree_method='exact', .* max_leaf_nodes"),
    ("xgboost", {"booster": "dart"}, "'booster', which is read only with rate_drop or one_drop"),
    ("xgboost", {"num_class": 3}, "no effect: a ranker has one score"),
    ("xgboost", {"max_depth": "deep"}, r"XGBoost refuses engine_params=\{'max_depth': 'deep'"),
]


@pytest.mark.parametrize(
    ("engine", "options", "message"), REFUSED, ids=[str(r[1]) for r in REFUSED]
)
def test_errors_name_the_option_and_what_to_do(engine, options, message):
    pytest.importorskip(engine)
    with pytest.raises(ValueError, match=message):
        scores(engine, "pairwise_logistic", options)


def test_devices_that_the_library_has_no_code_for_are_refused(monkeypatch):
    xgboost = pytest.importorskip("xgboost")
    ranker = boosted("xgboost", "pairwise_logistic", {"device": "cuda"})
    monkeypatch.setattr(xgboost, "build_info", lambda: {"USE_CUDA": False})
    with pytest.raises(ValueError, match="device='cuda', and the installed XGBoost has no code"):
        ranker._check_params()
    monkeypatch.setattr(xgboost, "build_info", lambda: {"USE_CUDA": True})
    ranker._check_params()


@pytest.mark.parametrize(
    ("engine", "options"),
    [
        ("lightgbm", {"subsample_freq": 0, "boost_from_average": True}),
        ("lightgbm", {"num_class": "1", "tree_learner": "serial", "linear_lambda": 0}),
        ("xgboost", {"booster": "gbtree", "scale_pos_weight": 1, "device": "cpu"}),
        ("xgboost", {"sampling_method": "uniform"}),
    ],
    ids=str,
)
def test_options_at_their_defaults_change_nothing(engine, options):
    pytest.importorskip(engine)
    plain = scores_of(engine, "pairwise_logistic", "{}")
    assert np.array_equal(scores(engine, "pairwise_logistic", options), plain)
