"""Rankers by short names, and the measures that each is calibrated for."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from ..data import check_target
from ..measures import MEASURES, get_measure
from ..rankers import RANKERS as CLASSES
from ..rankers import measure_of
from ..stacking import tabular_ranker
from ._transforms import ranker_in


def _place(make):
    """Return a key that sorts rankers by measure, those calibrated on conditions last."""
    measure = measure_of(make())
    return measure.calibration != "always", list(MEASURES).index(measure.name)


#: Functions that make a ranker, by its short name.
RANKERS = dict(
    sorted(
        (
            (name, partial(cls, **params))
            for cls in CLASSES.values()
            for name, params in cls.short_names.items()
        ),
        key=lambda item: _place(item[1]),
    )
)

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

#: Short name of tabular_ranker.
AUTO = "auto"

#: Rankers of other packages, by the name of the package: class and parameters (the number of
#: threads is that of OpenMP).
PEERS = {
    "lightgbm": ("LGBMRanker", {"objective": "lambdarank", "n_jobs": 0, "verbose": -1}),
    "xgboost": ("XGBRanker", {"objective": "rank:ndcg"}),
}

ALWAYS, CONDITIONALLY = "*", "°"


def make_ranker(name, relevance_level=None):
    """Make a ranker from ``name[@k][+regressor]``, or the ranker of another package."""
    if name in PEERS:
        return _Peer(name)
    match = re.fullmatch(r"([a-z]+)(?:@([1-9]\d*))?(?:\+([a-z]+))?", name)
    if match is not None and match[1] == AUTO and not match[3]:
        return tabular_ranker(f"ndcg@{match[2] or 10}", random_state=0)
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
    if "relevance_level" in params:
        ranker.set_params(relevance_level=relevance_level)
    return ranker


def take_missing(labels) -> tuple[str, str]:
    """Return two rankers that take missing values, for tables that no rankers are named for."""
    peer = _are_grades(labels) and find_spec("lightgbm")
    return AUTO, "lightgbm" if peer else "ndcg+trees"


def _are_grades(labels) -> bool:
    """Return whether labels are grades that the rankers of other packages take."""
    return bool((labels == np.floor(labels)).all() and labels.min() >= 0 and labels.max() <= 30)


def make_measure(name, relevance_level=None, gain=None):
    """Return a measure by its scorer name, with the options that the measure has."""
    measure = get_measure(name)
    options = {}
    if relevance_level is not None and measure.is_binary:
        options["relevance_level"] = relevance_level
    if gain is not None and measure.has_gain:
        options["gain"] = gain
    return get_measure(name, **options)


def calibration_mark(ranker, measure) -> str:
    """Return a mark if a theorem says that the ranker is calibrated for the measure."""
    last = ranker_in(ranker)
    own = measure_of(last)
    if own is None or not last.regresses_targets or not own.same_targets_as(measure):
        return ""
    return ALWAYS if own.calibration == "always" else CONDITIONALLY


class _Peer(BaseEstimator):
    """A ranker of another package, whose fit takes the queries as our rankers do."""

    def __init__(self, package):
        self.package = package
        cls, params = PEERS[package]
        try:
            self.model = getattr(import_module(package), cls)(random_state=0, **params)
        except (ImportError, OSError) as error:
            raise ValueError(
                f"Ranker {package!r} needs the package {package}, which cannot be imported "
                f"({error}): install it with 'pip install {package}', or leave the ranker out."
            ) from error

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y, qid=None):
        """Fit on rows grouped by query, as these packages require."""
        labels, queries = check_target(y, qid)
        if not _are_grades(labels):
            raise ValueError(
                f"Ranker {self.package!r} takes integer grades from 0 to 30 as labels."
            )
        self.n_features_in_ = X.shape[1]
        self.model.fit(queries.group(X), labels, group=queries.sizes)
        return self

    def predict(self, X):
        """Score the rows."""
        return self.model.predict(X)
