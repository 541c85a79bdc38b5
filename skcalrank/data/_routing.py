"""What methods of estimators take beside X and y, such as the qid."""

from inspect import signature
from typing import Any

from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object

from ..columns.types import ArrayLike
from ._forks import apart


def handed_to(step: Any, method: str, **metadata: Any) -> dict[str, Any]:
    """Return the metadata, such as the qid, to pass to a method of a step.

    A method is given the parameters that its signature names, unless the step was set not to
    request them. A step that contains other estimators, such as a ColumnTransformer, is given what
    these request.
    """
    metadata = {name: value for name, value in metadata.items() if value is not None}
    if method == "fit" and isinstance(step, FrozenEstimator):
        return metadata  # takes and ignores whatever it is given
    routing = get_routing_for_object(step)
    names = signature(getattr(step, method)).parameters.keys() & metadata.keys()
    if not names and isinstance(routing, MetadataRouter):
        names = routing.consumes(method, metadata.keys())
    requests = getattr(getattr(routing, method, None), "requests", {})
    return {name: metadata[name] for name in names if requests.get(name) is not False}


def transform_rows(step: Any, X: Any, qid: ArrayLike | None) -> Any:
    """Transform rows by a fitted step, with the qid if the step accepts one."""
    return call_step(step, "transform", X, **handed_to(step, "transform", qid=qid))


def call_step(step: Any, method: str, *args: Any, **taken: Any) -> Any:
    """Call a method of a step, with metadata routing to the estimators inside it if needed."""
    # Without metadata, routing is off: scikit-learn's TargetEncoder cannot be fitted with it.
    with config_context(enable_metadata_routing=bool(taken)):
        return apart(getattr(step, method), *args, **taken)


def inside(estimator: Any) -> Any:
    """Return the estimator that a search found or that a HostedRanker holds; None of others."""
    if hasattr(estimator, "qid_column"):
        return getattr(estimator, "ranker_", estimator.ranker)
    return getattr(estimator, "best_estimator_", None)


def has_method(estimator: Any, method: str) -> bool:
    """Return whether an estimator has a method; a frozen one has none that would change it."""
    return hasattr(estimator, method) and not isinstance(estimator, FrozenEstimator)
