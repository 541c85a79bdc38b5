"""Functions by which other modules query a ranker without reading its private attributes."""

from ._base import BaseRanker
from ._pair_base import PairRanker
from ._score import ScoreRanker


def is_ranker(estimator) -> bool:
    """Return whether an estimator is a ranker of this package."""
    return isinstance(estimator, BaseRanker)


def measure_of(estimator):
    """Return the measure of a ranker, or None for any other estimator."""
    return estimator._measure() if is_ranker(estimator) else None


def why_weights_do_not_repeat(ranker: BaseRanker) -> str | None:
    """Return why a sample weight differs from repeating the row, or None if it does not."""
    return ranker._plan().why_weights_do_not_repeat


def require_qid(ranker: BaseRanker, qid, method: str) -> None:
    """Raise MissingQidError if `qid` is None and the ranker was fitted with one."""
    ranker._require_qid(qid, method)


def scored_by(ranker: BaseRanker, y):
    """Return the measure that compares predictions with y, and y as the measure reads it."""
    return ranker._scored_by(y)


def reads_diagonal(ranker: PairRanker) -> bool:
    """Return whether the matrices of pairs have a diagonal that is estimated."""
    return ranker._diagonal


def check_partitions(ranker: ScoreRanker):
    """Return the regressor of a ranker that can be fitted to partitions of rows; None means Ridge.

    Raises
    ------
    ValueError
        If parameters are invalid, the regressor cannot be fitted to sums over the partitions, or
        the targets of a query depend on other queries.
    """
    plan = ranker._check_params()
    if not plan.closed_form:
        raise ValueError(
            f"estimator must be fitted by sums over rows if X is a dask collection, got "
            f"{type(plan.regressor).__name__}: set estimator=GramRidge(alpha=...) of "
            "skcalrank.linear_model, or compute X."
        )
    plan.check_chunks()
    return plan.regressor
