"""Rankers, regressors, transforms and measures by short names, and the columns that they read."""

import re
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import preprocessing
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from .. import ExternalRanker, TabularRanker
from ..columns.types import Array, Floats
from ..datasets import Columns
from ..evaluation import JUDGED_MEASURES, make_measure
from ..measures import MEASURES as ALL_MEASURES
from ..measures import Measure
from ..pipeline import QueryPipeline
from ..preprocessing import LinearColumns, QueryScaler, TableEncoder, signed_log1p
from ..rankers import RANKERS as CLASSES
from ..rankers import BaseRanker, calibration_of, measure_of
from ..trees import LIBRARIES, threads


def _place(make: Callable[..., Any]) -> tuple[bool, int]:
    """Return a key that sorts rankers by measure, those calibrated on conditions last."""
    measure = measure_of(make())
    return measure.calibration != "always", list(ALL_MEASURES).index(measure.name)


_MAKERS = {
    name: partial(cls, **params)
    for cls in CLASSES.values()
    for name, params in cls.short_names.items()
}

#: Functions that make a ranker, by its short name.
RANKERS = dict(sorted(_MAKERS.items(), key=lambda item: _place(item[1])))

REGRESSORS = {
    # The defaults of scikit-learn overfit a few hundred queries.
    "trees": partial(
        HistGradientBoostingRegressor,
        learning_rate=0.05,
        max_iter=300,
        max_leaf_nodes=15,
        random_state=0,
    ),
    "forest": partial(RandomForestRegressor, min_samples_leaf=5, n_jobs=-1, random_state=0),
}

#: Short name of TabularRanker.
AUTO = "auto"

#: Rankers of other packages, by the name of the package: class and parameters (the number of
#: threads is that of OpenMP).
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lightgbm": ("LGBMRanker", {"objective": "lambdarank", "n_jobs": 0, "verbose": -1}),
    "xgboost": ("XGBRanker", {"objective": "rank:ndcg"}),
    "catboost": ("CatBoostRanker", {"allow_writing_files": False, "verbose": 0}),
}

# Rankers of graded labels, then those of binary ones.
_FIRST = ("ndcg", "dcg", "eru", "spearman", "err", "pd")
_FIRST += ("precision", "rbp", "recall", "map", "auc")
_WITHOUT_OPTIONS = [name for name, make in RANKERS.items() if not make.keywords]

#: Rankers that are compared by default; those that are registered later come last.
COMPARE_RANKERS = sorted(_WITHOUT_OPTIONS, key=[*_FIRST, *_WITHOUT_OPTIONS].index)


def make_ranker(name: str, relevance_level: float = 1, gain: str = "exponential") -> BaseRanker:
    """Make a ranker from ``name[@k][+regressor]``, or the ranker of another package."""
    if name in PEERS:
        return _peer(name)
    match = re.fullmatch(r"([a-z]+)(?:@([1-9]\d*))?(?:\+([a-z]+))?", name)
    if match is not None and match[1] == AUTO and not match[3]:
        return TabularRanker(make_measure(f"ndcg@{match[2] or 10}", gain=gain), random_state=0)
    if match is not None and match[1] in PEERS:
        raise ValueError(
            f"Unknown ranker {name!r}: rankers of other packages take no cutoff or regressor, "
            f"write {match[1]!r}."
        )
    if match is None or match[1] not in RANKERS or (match[3] or "trees") not in REGRESSORS:
        raise ValueError(
            f"Unknown ranker {name!r}: choose one of {AUTO}, {', '.join(RANKERS)}, with "
            f"{' or '.join(f'+{regressor}' for regressor in REGRESSORS)} appended for a "
            f"regressor other than Ridge; or {', '.join(PEERS)}."
        )
    ranker = RANKERS[match[1]](REGRESSORS[match[3]]() if match[3] else None)
    params = ranker.get_params(deep=False)
    if match[2] and "k" not in params:
        raise ValueError(
            f"Ranker {name!r}: {type(ranker).__name__} has no cutoff, drop @{match[2]}."
        )
    if match[2]:
        ranker.set_params(k=int(match[2]))
    options = {"relevance_level": relevance_level, "gain": gain}
    return ranker.set_params(**{name: options[name] for name in options.keys() & params.keys()})


def threads_for(X: Any) -> Any:
    """Return a context in which OpenMP starts as many threads as a table is large enough for.

    On small tables threads mostly wait for each other, and take the time of other programs.
    """
    return threadpool_limits(threads(None, X.size), "openmp")


def rankers_for_gaps(labels: Floats) -> tuple[str, str]:
    """Return two rankers that take missing values, for tables that no rankers are named for."""
    are_grades = (labels == np.floor(labels)).all() and labels.min() >= 0 and labels.max() <= 30
    peer = are_grades and LIBRARIES["lightgbm"].is_installed()
    return AUTO, "lightgbm" if peer else "ndcg+trees"


def _peer(package: str) -> ExternalRanker:
    """Return the ranker of another package."""
    name, params = PEERS[package]
    try:
        cls = getattr(LIBRARIES[package].module, name)
    except (ImportError, OSError) as error:
        raise ValueError(
            f"Ranker {package!r} needs the package {package}, which cannot be imported "
            f"({error.__cause__ or error}): install it with 'pip install {package}', or leave the "
            "ranker out."
        ) from error
    return ExternalRanker(cls(random_state=0, **params))


#: Transformers of numbers, by the name of the option.
TRANSFORMS = {
    "standard": preprocessing.StandardScaler,
    "quantile": partial(preprocessing.QuantileTransformer, random_state=0),
    "log1p": partial(
        preprocessing.FunctionTransformer, signed_log1p, feature_names_out="one-to-one"
    ),
    "query": QueryScaler,
}


def transformed(ranker: Any, name: str | None) -> Any:
    """Return a ranker of numbers behind a transform, if one is named."""
    if name is None:
        return ranker
    return QueryPipeline([("columns", TRANSFORMS[name]()), ("ranker", ranker)])


def has_transforms(name: str) -> bool:
    """Return whether the ranker of a name has transforms of its own, or needs none."""
    return name in PEERS or name.partition("@")[0] == AUTO


def steps_of(ranker: Any) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline by name, or the ranker itself as the only step."""
    return ranker.steps if isinstance(ranker, QueryPipeline) else [("ranker", ranker)]


def ranker_in(ranker: Any) -> Any:
    """Return the ranker of a pipeline, or the ranker itself."""
    return steps_of(ranker)[-1][1]


# Measures with the cutoff of most papers. DCG would repeat NDCG on another scale, and the others
# would repeat precision.
_AT_10 = ("ndcg", "precision", "recall", "err")
_LEFT_OUT = ("dcg", "f1", "hit", "r_precision", "rbp")

#: Measures by default.
MEASURES = [
    f"{name}@10" if name in _AT_10 else name for name in ALL_MEASURES if name not in _LEFT_OUT
]

#: Measures of runs, which are truncated, and the default among them.
RUN_MEASURES = [name for name, measure in ALL_MEASURES.items() if measure.top_only]
RUN_MEASURES += JUDGED_MEASURES
TREC_MEASURES = ("ndcg@10", "precision@10", "recall@100", "map", "mrr")

#: Marks of a ranker that is calibrated for a measure.
ALWAYS, CONDITIONALLY = "*", "°"


def make_measures(args: Namespace) -> dict[str, Any]:
    """Return the measures that the options name, or the default ones."""
    names = args.measures or MEASURES
    return {name: make_measure(name, args.relevance_level, args.gain) for name in names}


def calibration_mark(ranker: BaseRanker | None, measure: Measure | None) -> str:
    """Return a mark if a theorem says that the ranker is calibrated for the measure."""
    if ranker is None or measure is None:
        return ""
    marks = {"always": ALWAYS, "query": ALWAYS, "condition": CONDITIONALLY, "none": ""}
    return marks[calibration_of(ranker, measure).holds]


def check_folds(n_folds: int, qid: Array, instead: str) -> None:
    """Raise if there are fewer queries than folds, and name another way for a single query."""
    n_queries = len(np.unique(qid))
    if n_queries == 1:
        raise ValueError(f"one query cannot be divided into folds: {instead}")
    if n_queries < n_folds:
        raise ValueError(
            f"--folds must be at most the number of queries, {n_queries}, got {n_folds}"
        )


# -- columns of tables: who reads them, and what they hold ---------------------------------

# Columns of one kind above this number are not all named.
_MOST_NAMES = 20


def of_table(ranker: Any, transform: str | None, kinds: dict[str, str]) -> Any:
    """Return a ranker that reads columns of any kind; those in `kinds` are of a kind by name."""
    if reads_tables(ranker):
        return ranker.set_params(columns=kinds) if kinds else ranker
    columns: Any = TableEncoder(kinds or None)
    if transform is not None or not takes_missing(ranker):
        columns = LinearColumns(
            TRANSFORMS[transform]() if transform else None, columns=kinds or None
        )
    return QueryPipeline([("columns", columns), ("ranker", ranker)])


def reads_tables(ranker: Any) -> bool:
    """Return whether a ranker, or a pipeline before it, reads columns of text."""
    return isinstance(_inside(ranker), Pipeline) or get_tags(ranker).input_tags.string


def _inside(ranker: Any) -> Any:
    """Return the ranker inside of one that gives its scores a unit, or the ranker itself."""
    return getattr(ranker, "ranker_", getattr(ranker, "ranker", ranker))


def takes_missing(ranker: Any) -> bool:
    """Return whether a ranker takes missing numbers; steps without validation pass them on."""
    tags = (get_tags(step) for _, step in steps_of(ranker))
    return all(tag.no_validation or tag.input_tags.allow_nan for tag in tags)


def encoder_of(ranker: Any) -> TableEncoder | None:
    """Return the encoder by which a fitted ranker reads tables, if it has one."""
    first = steps_of(_inside(ranker))[0][1]
    return first if isinstance(first, TableEncoder) else getattr(first, "encoder_", None)


def columns_of(ranker: Any) -> str:
    """Say which columns of a table a fitted ranker reads, and what they hold."""
    encoder = encoder_of(ranker)
    if encoder is not None:
        return about_columns(encoder)
    names = getattr(ranker, "feature_names_in_", ())
    return f"{_in_short(names)} (number)" if len(names) else ""


def about_columns(encoder: TableEncoder) -> str:
    """Say what the columns of a table hold, and which are left out."""
    used: dict[str, list[Any]] = {}
    left_out: dict[str, list[Any]] = {}
    column: Any
    for column in encoder.columns_:
        kind = column.kind
        if column.category is not None:
            kind = f"{kind}, {column.category.n_levels} levels"
        (used if column.n_outputs else left_out).setdefault(kind, []).append(column.name)
    return "; left out: ".join(
        ", ".join(f"{_in_short(names)} ({kind})" for kind, names in groups.items())
        for groups in (used, left_out)
        if groups
    )


def _in_short(names: Any) -> str:
    """Return names in one line, of many the first and the last."""
    names = [str(name) for name in names]
    names = names if len(names) <= _MOST_NAMES else [*names[:3], "...", names[-1]]
    return ", ".join(names)


def chosen_by(args: Namespace) -> Columns:
    """Return the columns that options choose."""
    text = [name for name, kind in args.columns.items() if kind in ("category", "text")]
    return Columns(features=args.features, drop=tuple(args.drop), text=tuple(text), codes=True)


def columns_for(model: Any) -> Columns:
    """Return the columns that a fitted model reads."""
    names = getattr(model, "feature_names_in_", None)
    text = text_columns(encoder_of(model))
    return Columns(features=None if names is None else list(names), text=text, chosen_by="")


def text_columns(encoder: TableEncoder | None) -> tuple[str, ...]:
    """Return the columns that were text in fit, which a CSV file may show as numbers."""
    columns = [] if encoder is None else encoder.columns_
    return tuple(column.name for column in columns if _is_text(column))


def _is_text(column: Any) -> bool:
    if column.kind != "category":
        return bool(column.kind == "text")
    return all(isinstance(level, str) for level in (*column.levels, *column.rare))
