"""Values of measures, averaged over the queries or one per query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypedDict, overload

import numpy as np

from ..columns.types import ArrayLike, Floats, Labels, Unpack
from ..data import NotGradesWarning, check, in_memory, keeping_warnings, warn
from ..measures import Measure, get_measure
from ._values import CheckedTarget, RowPolicies

_SWAPPED = "Were y_true and y_score swapped?"

# Most different values that pass for grades.
_FEW = 10


class _Options(TypedDict, total=False):
    """What overloads of the functions below have in common, for type checkers."""

    qid: ArrayLike | None
    ties: str | None
    empty: str | None
    sample_weight: ArrayLike | None
    convention: str | None


@overload
def measure_score(  # type: ignore[overload-overlap]
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    average: Literal[True] = ...,
    **options: Unpack[_Options],
) -> float: ...
@overload
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    average: bool,
    **options: Unpack[_Options],
) -> Floats: ...
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    ties: str | None = None,
    empty: str | None = None,
    sample_weight: ArrayLike | None = None,
    average: bool = True,
    convention: str | None = None,
) -> float | Floats:
    """Compute any measure.

    Parameters
    ----------
    measure : str or Measure
        ``"ndcg@10"``, ``"map"``, ... or an object of :mod:`skcalrank.measures`.
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better. May be a :class:`~skcalrank.RankingTarget`, or for
        pairwise disagreement a :class:`~skcalrank.PreferenceTarget`.
    y_score : array-like, same shape
        Scores, higher is better.
    qid : array-like of shape (n_rows,) or scalar, default=None
        Query of each row, or of all rows. If None, all rows are one query, or each row of a matrix
        is one; 20 rows or more without a qid give a :class:`~skcalrank.data.OneQueryWarning`.
    ties : {"average", "stable", "reversed", "worst", "best"}, default=None
        Order of documents with equal scores: the exact expectation over random orders, row order,
        the reverse of it (the later row first, as in DMJ10, eq. 7), or the order that is worst or
        best for the measure. If None, "average", or as in `convention`.
    empty : {"skip", "zero", "one", "nan", "error"}, default=None
        Value assigned to queries for which the measure is undefined (0/0). If None, "skip", or as
        in `convention`.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows. The weight of a query is the mean over its rows; with weight 0 it is
        left out of the mean.
    average : bool, default=True
        Whether to return the mean over queries. If False, return one value per query, in order of
        first appearance, with NaN where a query is skipped.
    convention : {"trec_eval", "lightgbm", "xgboost", "sklearn"}, default=None
        Compute the measure as this library does: set `ties`, `empty` and those options of the
        measure that are not passed; passed ones stay, even if they equal a default. A measure that
        has a default in place of the option of the library is an error. :doc:`/measures` says how
        far the values agree.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is not a ranking problem, or labels do not fit the measure.

    See Also
    --------
    evaluate : Several measures at once.
    get_scorer : The measure as a scorer of scikit-learn.

    Examples
    --------
    >>> from skcalrank.metrics import measure_score
    >>> measure_score("precision@1", [[0, 1, 1]], [[0.2, 0.9, 0.5]])
    1.0
    """
    policies, measures = RowPolicies.of(ties, empty, convention), _by_name([measure], convention)
    return evaluated(measures, y_true, y_score, policies, qid, sample_weight, average)[measure]


@overload
def evaluate(  # type: ignore[overload-overlap]
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    average: Literal[True] = ...,
    **options: Unpack[_Options],
) -> dict[Any, float]: ...
@overload
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    average: bool,
    **options: Unpack[_Options],
) -> dict[Any, Floats]: ...
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    qid: ArrayLike | None = None,
    ties: str | None = None,
    empty: str | None = None,
    sample_weight: ArrayLike | None = None,
    average: bool = True,
    convention: str | None = None,
) -> dict[Any, Any]:
    """Compute several measures; the input is validated and sorted once.

    Parameters
    ----------
    y_true, y_score
        As in :func:`measure_score`.
    measures : list of str or Measure, or dict
        ``["ndcg@10", "map"]``, or measures by their names in the result, such as
        ``{"p@5": Precision(k=5, relevance_level=2)}``.
    qid, ties, empty, sample_weight, average, convention
        As in :func:`measure_score`.

    Returns
    -------
    values : dict
        Values by measure, as given in the list, or by name in the dict.

    See Also
    --------
    measure_score : One measure.

    Examples
    --------
    >>> from skcalrank.metrics import evaluate
    >>> evaluate([0, 1, 1], [0.2, 0.9, 0.5], ["precision@1", "auc"])
    {'precision@1': 1.0, 'auc': 1.0}
    """
    policies = RowPolicies.of(ties, empty, convention)
    resolved = _by_name(measures, convention)
    return evaluated(resolved, y_true, y_score, policies, qid, sample_weight, average)


def check_several(measures: Any, remedy: str | None = None) -> Any:
    """Return measures as a dict or a list; raise ValueError if they are neither, or none."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        remedy = f"write [{measures!r}]" if remedy is None else remedy
        raise ValueError(f"measures must be a list or a dict, got {measures!r}: {remedy}.")
    measures = measures if isinstance(measures, Mapping) else list(measures)
    if not measures:
        raise ValueError("measures must hold at least one measure, got none.")
    return measures


def _by_name(measures: Iterable[Any], convention: Any) -> dict[Any, Measure]:
    """Return the measures as objects, by name."""
    measures = check_several(measures, "use measure_score for one measure")
    if not isinstance(measures, Mapping):
        measures = {measure: measure for measure in measures}
    return {name: get_measure(measure, convention=convention) for name, measure in measures.items()}


def evaluated(
    measures: Mapping[Any, Measure],
    y_true: Labels,
    y_score: ArrayLike,
    policies: RowPolicies,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    average: bool = True,
    caller: str | None = "The metric",
) -> dict[Any, Any]:
    """Return the values of measures that are objects; the arguments are validated here.

    Without a caller, who calls has compared the rows, and warned of their queries.
    """
    y_true, y_score, qid, sample_weight = in_memory(
        y_true=y_true, y_score=y_score, qid=qid, sample_weight=sample_weight
    )
    if caller is not None:
        beside: Any = {"y_score": y_score, "sample_weight": sample_weight}
        qid = check.qid_of_metric(caller, y_true, qid, measures=measures.values(), **beside)
    target = CheckedTarget.of(y_true, qid)
    if caller is None:
        return target.evaluate(measures, y_score, policies, sample_weight, average)
    with _asking_if_swapped(target.y, y_score):
        return target.evaluate(measures, y_score, policies, sample_weight, average)


@contextmanager
def _asking_if_swapped(y: Any, y_score: Any) -> Iterator[None]:
    """Ask whether labels and scores were swapped where labels are refused or doubted for that."""
    with keeping_warnings() as kept:
        try:
            yield
        except ValueError as error:
            # What is refused are the labels, as scores are checked before.
            if str(error).startswith("y must") and _seem_swapped(y, y_score):
                raise ValueError(f"{error} {_SWAPPED}") from error
            raise
    for message, category in sorted(kept, key=str):
        doubts = category is NotGradesWarning and _seem_swapped(y, y_score)
        warn(f"{message} {_SWAPPED}" if doubts else message, category)


def _seem_swapped(y: Any, y_score: Any) -> bool:
    """Return whether scores are a few small integers, and labels are negative or not a few."""
    if not isinstance(y, np.ndarray):
        return False
    grades = np.unique(np.asarray(y_score, dtype=float))
    are_grades = 1 < len(grades) <= _FEW and grades[0] == 0 and (grades % 1 == 0).all()
    return bool(are_grades and ((y < 0).any() or (y % 1 != 0).any() or len(np.unique(y)) > _FEW))
