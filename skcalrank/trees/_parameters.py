"""The parameters of the ranker, and the names that libraries of boosted trees have for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, ParamSpec

_P = ParamSpec("_P")


class Names(NamedTuple):
    """Names of one parameter in each library, separated by spaces.

    The first name of a library is the option that is set; no name means that it has none. `others`
    are those of CatBoost, of older versions and of similar options, which a user may mean.
    """

    lightgbm: str
    xgboost: str
    sklearn: str
    others: str = ""


#: Parameters that are options of the trees in each library.
TREE_OPTIONS = {
    "learning_rate": Names(
        lightgbm="learning_rate shrinkage_rate eta",
        xgboost="learning_rate eta",
        sklearn="learning_rate",
    ),
    "max_leaf_nodes": Names(
        lightgbm="num_leaves num_leaf max_leaves max_leaf max_leaf_nodes",
        xgboost="max_leaves",
        sklearn="max_leaf_nodes",
    ),
    "min_samples_leaf": Names(
        lightgbm="min_data_in_leaf min_data_per_leaf min_data min_child_samples min_samples_leaf",
        xgboost="min_child_weight",
        sklearn="min_samples_leaf",
    ),
    "l2_regularization": Names(
        lightgbm="lambda_l2 reg_lambda lambda l2_regularization",
        xgboost="reg_lambda lambda",
        sklearn="l2_regularization",
        others="l2_leaf_reg",
    ),
    "max_features": Names(
        lightgbm="feature_fraction_bynode sub_feature_bynode colsample_bynode",
        xgboost="colsample_bynode",
        sklearn="max_features",
        others="rsm colsample_bytree colsample_bylevel feature_fraction sub_feature",
    ),
    "subsample": Names(
        lightgbm="bagging_fraction sub_row subsample bagging",
        xgboost="subsample",
        sklearn="",
    ),
    "max_bins": Names(
        lightgbm="max_bin max_bins",
        xgboost="max_bin",
        sklearn="max_bins",
        others="border_count",
    ),
    "monotonic_cst": Names(
        lightgbm="monotone_constraints mc monotone_constraint monotonic_cst",
        xgboost="monotone_constraints",
        sklearn="monotonic_cst",
    ),
    "interaction_cst": Names(
        lightgbm="interaction_constraints",
        xgboost="interaction_constraints",
        sklearn="interaction_cst",
    ),
}

#: Parameters that the ranker reads itself, in place of the library.
OWN_OPTIONS = {
    "loss": Names(
        lightgbm="objective objective_type app application loss num_class num_classes",
        xgboost="objective num_class num_target",
        sklearn="loss quantile",
        others="loss_function",
    ),
    "n_estimators": Names(
        lightgbm=(
            "num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds nrounds "
            "num_boost_round n_estimators max_iter"
        ),
        xgboost="n_estimators num_boost_round",
        sklearn="max_iter",
        others="iterations",
    ),
    "n_iter_no_change": Names(
        lightgbm="early_stopping_round early_stopping_rounds early_stopping n_iter_no_change",
        xgboost="early_stopping_rounds",
        sklearn="n_iter_no_change early_stopping tol",
        others="od_wait od_type od_pval use_best_model",
    ),
    "validation_fraction": Names(lightgbm="", xgboost="", sklearn="validation_fraction"),
    "random_state": Names(
        lightgbm="seed random_seed random_state",
        xgboost="seed random_state",
        sklearn="random_state",
    ),
    "n_jobs": Names(
        lightgbm="num_threads num_thread nthread nthreads n_jobs",
        xgboost="nthread n_jobs",
        sklearn="",
        others="thread_count",
    ),
    "measure": Names(
        lightgbm="metric metrics metric_types",
        xgboost="eval_metric disable_default_eval_metric",
        sklearn="scoring",
        others="custom_metric",
    ),
    "verbose": Names(
        lightgbm="verbosity verbose",
        xgboost="verbosity",
        sklearn="verbose",
        others="silent logging_level verbose_eval metric_period",
    ),
    "start": Names(lightgbm="", xgboost="", sklearn="warm_start"),
    "columns": Names(
        lightgbm=(
            "categorical_feature cat_feature categorical_column cat_column categorical_features"
        ),
        xgboost="feature_types enable_categorical",
        sklearn="categorical_features",
        others="cat_features",
    ),
}

_PARAMETERS = TREE_OPTIONS | OWN_OPTIONS

#: Parameter for each name that any library has for it.
ALIASES = {
    name: parameter
    for parameter, names in _PARAMETERS.items()
    for name in " ".join(names).split()
    if name not in _PARAMETERS
}


def names_in(library: str) -> dict[str, str]:
    """Return the parameter for each name that one library has for it."""
    return {
        name: parameter
        for parameter, names in _PARAMETERS.items()
        for name in getattr(names, library).split()
    }


def option_in(library: str, parameter: str) -> str:
    """Return the option that a parameter sets in a library; empty without one."""
    return getattr(TREE_OPTIONS[parameter], library).partition(" ")[0]


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


def hinting(init: Callable[_P, None]) -> Callable[_P, None]:
    """Let a constructor tell what is meant by keywords that other libraries have."""
    known = signature(init).parameters

    @wraps(init)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> None:
        for name in kwargs:
            if name not in known:
                raise TypeError(unknown(args[0], name))
        init(*args, **kwargs)

    return checked


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
