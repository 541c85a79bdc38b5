"""Functions by which other modules query a ranker without reading its private attributes."""

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from .._solvers import is_closed_form
from ..columns.types import Estimator
from ..data import Queries, QuerySizes, handed_to, inside
from ..losses import Loss
from ..measures import Measure, get_measure
from ._base import BaseRanker
from ._known_calibration import Calibration, calibration, unknown
from ._plan import FIT, Call
from ._regression import AUTO
from ._score import ScoreRanker

# Attributes that hold models whose scores a model passes on.
_INSIDE = ("estimator_", "best_estimator_", "ranker_", "rankers_", "start_")


def is_ranker(estimator: Any) -> bool:
    """Return whether an estimator is a ranker of this package."""
    return isinstance(estimator, BaseRanker)


def measure_of(estimator: Any) -> Any:
    """Return the measure of a ranker, or None for any other estimator."""
    return estimator._measure() if is_ranker(estimator) else None


def losses_of(estimator: Any) -> list[Loss]:
    """Return the losses by which the ranker inside an estimator learns targets, if it has some."""
    ranker = ranker_in(estimator)
    return ranker._target_losses() if is_ranker(ranker) else []


def calibration_of(ranker: Estimator, measure: str | Measure | None = None) -> Calibration:
    """Tell whether a ranker is calibrated for a measure, under which condition, and why.

    Calibrated means Fisher-consistent: minimizing the surrogate over functions of the whole query
    leads to the best possible value of the measure. What is read are the parameters of the ranker:
    its measure, surrogate, loss, targets, prediction map and regressor. No data are read, so that
    nothing is said of a model of rows that is too simple.

    Parameters
    ----------
    ranker : ranker or pipeline
        A ranker of this package, fitted or not, a pipeline whose last step is one, or a fitted
        search for one.
    measure : str or Measure, default=None
        The measure. If None, the one that the ranker learns.

    Returns
    -------
    calibration : Calibration
        `holds`, which is "always", "query", "condition" or "none", and `why`.

    Raises
    ------
    ValueError
        If the measure is unknown, or parameters of the ranker are invalid.

    See Also
    --------
    calibration_gap : Whether a surrogate is calibrated under one distribution.
    noise_report : How often a condition on the noise holds.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skcalrank import AveragePrecisionRanker, DCGRanker, NDCGRanker
    >>> from skcalrank.calibration import calibration_of
    >>> calibration_of(DCGRanker()).holds
    'always'

    Targets of NDCG depend on the other documents of the query, too:

    >>> calibration_of(NDCGRanker()).holds
    'query'
    >>> calibration_of(NDCGRanker(), "map").holds
    'none'
    >>> calibration_of(NDCGRanker(HistGradientBoostingRegressor(loss="absolute_error"))).why
    "HistGradientBoostingRegressor(loss='absolute_error') does not estimate means of its targets"
    >>> calibration_of(AveragePrecisionRanker(surrogate="pairwise", pred="exact")).holds
    'query'
    """
    ranker = ranker_in(ranker)
    if not is_ranker(ranker):
        if hasattr(ranker, "refit"):
            return unknown(f"{type(ranker).__name__} chooses its parameters in fit: fit it first")
        return unknown(f"{type(ranker).__name__} is no ranker of this package")
    ranker._check_params()
    aim = ranker._measure()
    if measure is not None and not aim.same_targets_as(get_measure(measure)):
        return unknown(f"it learns {aim.full_name}, whose best orders are others")
    return calibration(ranker, ranker._theorem, ranker._plan())


def ranker_in(estimator: Any) -> Any:
    """Return the ranker at the end of pipelines, in searches, and in what is frozen or hosted."""
    while not is_ranker(estimator):
        if isinstance(estimator, Pipeline) and estimator.steps:
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif (inner := inside(estimator)) is not None:
            estimator = inner
        else:
            break
    return estimator


def seems_trained_on(estimator: Any, queries: Queries) -> bool:
    """Return whether most queries have names and numbers of rows of queries of fit.

    The fit may be that of a ranker inside of another one.
    """
    while estimator is not None:
        estimator = ranker_in(estimator)
        sizes = getattr(getattr(estimator, "record_", None), "sizes", None)
        if isinstance(sizes, QuerySizes) and 2 * sizes.n_common(queries) > queries.n_queries:
            return True
        estimator = getattr(estimator, "ranker_", None)
    return False


def in_closed_form(estimator: Any) -> bool:
    """Return whether a ranker, or that of a pipeline, is linear least squares on documents."""
    ranker = ranker_in(estimator)
    plan: Any = ranker._plan() if is_ranker(ranker) else None
    return getattr(plan, "closed_form", False) and plan.on_documents


def why_weights_do_not_repeat(ranker: BaseRanker) -> str | None:
    """Return why a weight differs from repeating the row in a single query; None if not."""
    if ranker._weights_note is not None:
        return ranker._weights_note
    plan: Any = ranker._plan()
    if plan.kernel not in (None, "linear"):
        return "a repeated row may be in two folds"
    if not plan.on_documents:
        return (
            "the weight of a pair is the product of the weights of its documents over the mean of "
            "the query, which repeating a document changes"
        )
    if plan.targets != "separable" and not plan.measure.separable:
        return "targets depend on all labels of the query, which weights do not change"
    # Repeating a row changes the number of documents, a factor of the loss of the query, which an
    # automatic penalty has, too.
    by_count = plan.sums_over == "pairs" or plan.query_weight in ("pairs", "equal")
    if not by_count or plan.alpha == AUTO:
        return None
    return (
        "the loss is weighted or centered by query, or sums over pairs: it counts the documents of "
        "a query, which weights do not change"
    )


def require_qid(ranker: BaseRanker, qid: Any, method: str) -> None:
    """Raise MissingQidError if `qid` is None and the ranker was fitted with one."""
    ranker._require_qid(qid, method)


def is_by_query(model: Any) -> bool:
    """Return whether scores of a fitted model may depend on the other documents of the query."""
    if isinstance(model, list):
        return any(map(is_by_query, model))
    steps = [step for _, step in getattr(model, "steps", ())]
    if any(hasattr(s, "transform") and handed_to(s, "transform", qid="any") for s in steps[:-1]):
        return True
    inner = [*steps[-1:], *(getattr(model, name) for name in _INSIDE if hasattr(model, name))]
    return getattr(model, "_scores_by_query", False) or is_by_query(inner)


def scored_by(ranker: BaseRanker, y: Any) -> tuple[Measure, Any]:
    """Return the measure that compares predictions with y, and y as the measure reads it."""
    return ranker._scored_by(y)


def checked_plan(ranker: BaseRanker, call: Call = FIT) -> Any:
    """Return the plan of a call; raise for parameters that are invalid, alone or together."""
    return ranker._check_params(call)


def check_partitions(ranker: ScoreRanker) -> Any:
    """Return the regressor of a ranker that can be fitted to partitions of rows; None means Ridge.

    Raises ValueError if parameters are invalid, the regressor cannot be fitted to sums over the
    partitions, or the targets of a query depend on other queries.
    """
    plan = ranker._check_params()
    if plan.kernel not in (None, "linear") or not is_closed_form(plan.regressor):
        name = (
            f"kernel={plan.kernel!r}" if plan.regressor is None else type(plan.regressor).__name__
        )
        raise ValueError(
            f"estimator must be fitted by sums over rows if X is a dask collection, got {name}: "
            "set estimator=GramRidge(alpha=...) of skcalrank.linear_model with kernel='linear', or "
            "compute X."
        )
    plan.check_chunks()
    return plan.regressor
