"""The parameters of the ranker, and the names that libraries of boosted trees have for them."""

from functools import wraps
from inspect import signature
from typing import Any, cast

from ..columns.types import Method

#: Parameters that are options of the trees in each library. The ranker itself reads others.
TREE_OPTIONS = (
    *("learning_rate", "max_leaf_nodes", "min_samples_leaf", "l2_regularization", "max_features"),
    *("subsample", "max_bins", "monotonic_cst", "interaction_cst"),
)

#: Names of parameters in each library, separated by spaces: the first is the option that is set.
#: `others` are those of CatBoost, of older versions and of similar options, which a user may mean.
NAMES = {
    "lightgbm": {
        "learning_rate": "learning_rate shrinkage_rate eta",
        "max_leaf_nodes": "num_leaves num_leaf max_leaves max_leaf max_leaf_nodes",
        "min_samples_leaf": (
            "min_data_in_leaf min_data_per_leaf min_data min_child_samples min_samples_leaf"
        ),
        "l2_regularization": "lambda_l2 reg_lambda lambda l2_regularization",
        "max_features": "feature_fraction_bynode sub_feature_bynode colsample_bynode",
        "subsample": "bagging_fraction sub_row subsample bagging",
        "max_bins": "max_bin max_bins",
        "monotonic_cst": "monotone_constraints mc monotone_constraint monotonic_cst",
        "interaction_cst": "interaction_constraints",
        "loss": "objective objective_type app application loss num_class num_classes",
        "n_estimators": (
            "num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds "
            "nrounds num_boost_round n_estimators max_iter"
        ),
        "n_iter_no_change": (
            "early_stopping_round early_stopping_rounds early_stopping n_iter_no_change"
        ),
        "random_state": "seed random_seed random_state",
        "n_jobs": "num_threads num_thread nthread nthreads n_jobs",
        "measure": "metric metrics metric_types",
        "verbose": "verbosity verbose",
        "columns": (
            "categorical_feature cat_feature categorical_column cat_column categorical_features"
        ),
    },
    "xgboost": {
        "learning_rate": "learning_rate eta",
        "max_leaf_nodes": "max_leaves",
        "min_samples_leaf": "min_child_weight",
        "l2_regularization": "reg_lambda lambda",
        "max_features": "colsample_bynode",
        "subsample": "subsample",
        "max_bins": "max_bin",
        "monotonic_cst": "monotone_constraints",
        "interaction_cst": "interaction_constraints",
        "loss": "objective num_class num_target",
        "n_estimators": "n_estimators num_boost_round",
        "n_iter_no_change": "early_stopping_rounds",
        "random_state": "seed random_state",
        "n_jobs": "nthread n_jobs",
        "measure": "eval_metric disable_default_eval_metric",
        "verbose": "verbosity",
        "columns": "feature_types enable_categorical",
    },
    "sklearn": {
        **{name: name for name in TREE_OPTIONS if name != "subsample"},
        **{name: name for name in ("validation_fraction", "random_state", "verbose")},
        "loss": "loss quantile",
        "n_estimators": "max_iter",
        "n_iter_no_change": "n_iter_no_change early_stopping tol",
        "measure": "scoring",
        "start": "warm_start",
        "columns": "categorical_features",
    },
    "others": {
        "l2_regularization": "l2_leaf_reg",
        "max_features": "rsm colsample_bytree colsample_bylevel feature_fraction sub_feature",
        "max_bins": "border_count",
        "loss": "loss_function",
        "n_estimators": "iterations",
        "n_iter_no_change": "od_wait od_type od_pval use_best_model",
        "n_jobs": "thread_count",
        "measure": "custom_metric",
        "verbose": "silent logging_level verbose_eval metric_period",
        "columns": "cat_features",
    },
}

_PARAMETERS = {parameter for rows in NAMES.values() for parameter in rows}

#: Parameter for each name that any library has for it.
ALIASES = {
    name: parameter
    for rows in NAMES.values()
    for parameter, names in rows.items()
    for name in names.split()
    if name not in _PARAMETERS
}


def names_in(library: str) -> dict[str, str]:
    """Return the parameter for each name that one library has for it."""
    return {name: parameter for parameter, of in NAMES[library].items() for name in of.split()}


def option_in(library: str, parameter: str) -> str:
    """Return the option that a parameter sets in a library; empty without one."""
    return NAMES[library].get(parameter, "").partition(" ")[0]


# Parameters of measures, which some rankers have too.
_OF_MEASURES = {
    "gain": "NDCG(k=10, gain='linear')",
    "relevance_level": "Precision(k=10, relevance_level=1)",
}


def remedy(name: str, methods: tuple[str, ...] = ()) -> str:
    """Return what to write in place of a name that is no parameter."""
    if name == "k":
        return "the cutoff is part of the measure, as in measure='ndcg@10'."
    if name in _OF_MEASURES:
        return f"it is one of the measure, as in measure={_OF_MEASURES[name]}."
    if name in ALIASES:
        return f"did you mean {ALIASES[name]}=?"
    if name in methods:
        return f"pass {name} to fit."
    return f"options that only the library has go to engine_params={{{name!r}: ...}}."


def hinting(init: Method) -> Method:
    """Let a constructor tell what is meant by keywords that other libraries have."""
    known = signature(init).parameters

    @wraps(init)
    def checked(*args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in known:
                raise TypeError(unknown(args[0], name))
        init(*args, **kwargs)

    return cast("Method", checked)


def unknown(ranker: Any, name: str) -> str:
    """Return the message of an error about a parameter that a ranker does not have."""
    of_fit, meant = tuple(signature(ranker.fit).parameters), ALIASES.get(name, name)
    own = signature(type(ranker)).parameters
    if meant in TREE_OPTIONS and meant not in own:
        hint = f"set that of its trees, trees=BoostedRanker({meant}=...)."
    elif "engine_params" in own or name == "k" or name in of_fit or name in _OF_MEASURES:
        hint = remedy(name, of_fit)
    else:
        hint = f"choose among {', '.join(own)}."
    return f"{type(ranker).__name__} has no parameter {name!r}: {hint}"
