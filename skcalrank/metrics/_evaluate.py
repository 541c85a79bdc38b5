"""Values of measures, averaged over the queries or one per query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ..data import (
    TIES,
    ArrayLike,
    Floats,
    Labels,
    PreferenceTarget,
    Queries,
    Ranked,
    carried_qid,
    check_option,
    check_sample_weight,
    check_scores,
    check_target,
    each,
    in_memory,
    query_weights,
    scale_of,
    warn,
    warn_of_cut_queries,
)
from ..measures import Measure, get_convention, get_measure

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Queries of so many rows are evaluated at a time.
_PART_ROWS = 1 << 17

EMPTY = ("skip", "zero", "one", "nan", "error")


class _Default(str):
    """The default of a policy, which a convention replaces: an equal value that is given stays."""

    __slots__ = ()


_TIES, _EMPTY = _Default("average"), _Default("skip")


class Policies(TypedDict, total=False):
    """What overloads of the functions below have in common, for type checkers."""

    qid: ArrayLike | None
    ties: str
    empty: str
    sample_weight: ArrayLike | None
    convention: str | None


@overload
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    average: Literal[True] = ...,
    **policies: Unpack[Policies],
) -> float: ...
@overload
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    average: Literal[False],
    **policies: Unpack[Policies],
) -> Floats: ...
@overload
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    average: bool,
    **policies: Unpack[Policies],
) -> float | Floats: ...
def measure_score(
    measure: str | Measure,
    y_true: Labels,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    ties: str = _TIES,
    empty: str = _EMPTY,
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
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = one query, or one query per row of a matrix.
    ties : {"average", "stable", "reversed", "worst", "best"}, default="average"
        Documents with equal scores: the exact expectation over random breaking of the
        ties, row order, the reverse of it (the later row first, as in DMJ10, eq. 7), or the
        breaking that is worst or best for the measure.
    empty : {"skip", "zero", "one", "nan", "error"}, default="skip"
        Value assigned to queries for which the measure is undefined (0/0).
    sample_weight : array-like of shape (n_rows,), default=None
        A query weighs the mean of its rows.
    average : bool, default=True
        Mean over queries; False = one value per query, in order of first appearance,
        NaN where a query is skipped.
    convention : {"trec_eval", "lightgbm", "xgboost", "sklearn"}, default=None
        Measure as this library does: fill in `ties`, `empty` and the options of the measure that
        are not given; those given stay, also where they equal a default. A measure that has a
        default in place of the option of the library is an error. :doc:`/measures` says how far the
        values agree.

    Returns
    -------
    value : float or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If the input is not a ranking problem, or labels do not fit the measure.

    Examples
    --------
    >>> from skcalrank.metrics import measure_score
    >>> measure_score("precision@1", [[0, 1, 1]], [[0.2, 0.9, 0.5]])
    1.0
    """
    (value,) = evaluate(
        y_true,
        y_score,
        [measure],
        qid=qid,
        ties=ties,
        empty=empty,
        sample_weight=sample_weight,
        average=average,
        convention=convention,
    ).values()
    return value


@overload
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    average: Literal[True] = ...,
    **policies: Unpack[Policies],
) -> dict[Any, float]: ...
@overload
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    average: Literal[False],
    **policies: Unpack[Policies],
) -> dict[Any, Floats]: ...
@overload
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    average: bool,
    **policies: Unpack[Policies],
) -> dict[Any, Any]: ...
def evaluate(
    y_true: Labels,
    y_score: ArrayLike,
    measures: Iterable[str | Measure] | Mapping[Any, str | Measure],
    *,
    qid: ArrayLike | None = None,
    ties: str = _TIES,
    empty: str = _EMPTY,
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
        ``["ndcg@10", "map"]``, or measures by the names they get in the result, such as
        ``{"p@5": Precision(k=5, relevance_level=2)}``.
    qid, ties, empty, sample_weight, average, convention
        As in :func:`measure_score`.

    Returns
    -------
    values : dict
        Value by measure as it was given, or by its name in the dict.

    Examples
    --------
    >>> from skcalrank.metrics import evaluate
    >>> evaluate([0, 1, 1], [0.2, 0.9, 0.5], ["precision@1", "auc"])
    {'precision@1': 1.0, 'auc': 1.0}
    """
    check_option("ties", ties, TIES)
    check_option("empty", empty, EMPTY)
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise ValueError(f"measures={measures!r}: give a list of measures, or use measure_score.")
    if not isinstance(measures, Mapping):
        measures = {measure: measure for measure in measures}
    resolved = {
        name: get_measure(measure, convention=convention) for name, measure in measures.items()
    }
    if convention is not None:
        own = get_convention(convention)
        ties = own.ties if isinstance(ties, _Default) else ties
        empty = own.empty if isinstance(empty, _Default) else empty
    y_true, y_score, qid, sample_weight = in_memory(
        y_true=y_true, y_score=y_score, qid=qid, sample_weight=sample_weight
    )
    warn_of_cut_queries(y_true, "The metric")
    if isinstance(y_true, PreferenceTarget):
        return {
            name: _of_preferences(
                measure, y_true, y_score, qid, ties, empty, sample_weight, average
            )
            for name, measure in resolved.items()
        }
    y, queries = check_target(y_true, qid, name="y_true")
    label_form = np.ndim(y_true) == 2 and np.shape(y_true)[1] > 1
    shape = np.shape(y_true) if label_form else (queries.n_rows,)
    scores = queries.group(check_scores(y_score, shape))
    weight = check_sample_weight(sample_weight, shape[0], queries, only_shares=True)
    weight = query_weights(weight, queries, label_form)
    resolved = {name: measure.scaled_to(y) for name, measure in resolved.items()}
    # A measure of the whole order first: the others then read its sort.
    by_need = sorted(resolved, key=lambda name: resolved[name].cutoff is not None)
    values = {name: np.empty(queries.n_queries) for name in by_need}

    def evaluate_part(part):
        of_part, rows, those = part
        ranked = Ranked(scores[rows], those, ties)
        for name in by_need:
            values[name][of_part] = values_per_query(resolved[name], y[rows], ranked, empty)

    each(evaluate_part, list(queries.parts(_PART_ROWS)), long=True)
    if average:
        for name in resolved:
            values[name] = mean_of_queries(values[name], weight, empty)
    return {name: values[name] for name in resolved}


def values_per_query(measure: Measure, y, ranked: Ranked, empty: str) -> np.ndarray:
    """Return the value of each query, with ``empty`` where the measure is undefined."""
    return _Labels(measure, y, ranked.queries).values(ranked, empty)


class _Labels:
    """A measure of labels that any number of rankings are compared with."""

    def __init__(self, measure: Measure, y, queries: Queries) -> None:
        self.measure, self.queries, self.labels = measure, queries, measure.labels(y)
        self.undefined = measure.undefined(self.labels, queries)
        with np.errstate(over="ignore", invalid="ignore"):
            self.evaluate = measure.evaluator(self.labels, queries)

    def values(self, ranked: Ranked, empty: str) -> np.ndarray:
        """Return the value of each query."""
        if ranked.ties in ("worst", "best"):
            # What is best depends on the measure, so the sort cannot be shared.
            ranked = ranked.with_labels(self.measure.gains_of(self.labels, self.queries))
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.evaluate(ranked)
        fill_undefined(values, self.undefined, empty, self.measure.name, self.queries)
        if not np.isfinite(values[~self.undefined]).all():
            raise ValueError(f"{self.measure.name} overflows: divide the labels by their largest.")
        return values


class PreparedScore:
    """:func:`measure_score` of many rankings of the same documents.

    Parameters
    ----------
    measure : Measure
    y : ndarray of shape (n_rows,)
        Relevances in grouped order.
    queries : Queries
    weight : ndarray of shape (n_rows,), default=None
        In grouped order; a query weighs the mean of its rows.
    ties, empty : str
        Policies, as in :func:`measure_score`.
    """

    def __init__(
        self, measure: Measure, y, queries: Queries, weight=None, ties="average", empty="skip"
    ) -> None:
        check_option("ties", ties, TIES)
        check_option("empty", empty, EMPTY)
        measure, self._ties, self._empty = measure.scaled_to(y), ties, empty
        weight = check_sample_weight(weight, len(y), queries, only_shares=True)
        self._weight = None if weight is None else queries.mean(weight)
        self._values = np.empty(queries.n_queries)
        self._parts = [
            (of_part, rows, those, _Labels(measure, y[rows], those))
            for of_part, rows, those in queries.kept_parts(_PART_ROWS)
        ]

    @property
    def is_defined(self) -> bool:
        """Whether the measure is defined on a query that weighs something."""
        undefined = np.concatenate([labels.undefined for *_, labels in self._parts])
        return not undefined.all() and (self._weight is None or self._weight[~undefined].any())

    def __call__(self, scores: np.ndarray) -> float:
        """Return the mean over the queries of scores in grouped order."""
        values = np.empty_like(self._values)

        def evaluate_part(part):
            of_part, rows, those, labels = part
            values[of_part] = labels.values(Ranked(scores[rows], those, self._ties), self._empty)

        each(evaluate_part, self._parts, long=True)
        return float(mean_of_queries(values, self._weight, self._empty))


def fill_undefined(values, undefined, empty, name, queries):
    """Write what queries count on which a measure is undefined, or raise for them."""
    if not undefined.any():
        return
    if empty == "error":
        query = queries.name(int(np.flatnonzero(undefined)[0]))
        raise ValueError(
            f"{name} is undefined (0/0) on query {query!r}: choose what such a "
            "query counts with empty='skip', 'zero' or 'one'."
        )
    values[undefined] = {"zero": 0.0, "one": 1.0}.get(empty, np.nan)


def mean_of_queries(values, weight, empty="skip"):
    """Return the mean over the queries, of those that count."""
    if empty == "skip":
        defined = ~np.isnan(values)
        if not defined.any():
            warn(
                "The measure is undefined on every query, so its mean is NaN.",
                UndefinedMetricWarning,
            )
            return np.nan
        values = values[defined]
        weight = None if weight is None else weight[defined]
    scale = scale_of(np.abs(values).max(initial=0.0))
    if weight is None:
        return float(scale * (values / scale).mean())
    if not weight.any():
        raise ValueError("sample_weight is zero on every query that counts.")
    return float(scale * ((values / scale) @ weight / weight.sum()))


def _of_preferences(measure, target, y_score, qid, ties, empty, sample_weight, average):
    """Evaluate a measure where preferences are given: a sum over them."""
    _check_reads(measure, target)
    carried_qid(target, qid)
    label_form = target.n_items is not None
    shape = (len(target), target.n_items) if label_form else (len(target),)
    scores = check_scores(y_score, shape)
    queries = target.queries()
    weight = check_sample_weight(sample_weight, len(target), queries, only_shares=True)
    weight = query_weights(weight, queries, label_form)
    lost = target.weight * _share_lost(target, scores, ties)
    code = queries.codes[target.winner]
    lost = np.bincount(code, lost, queries.n_queries)
    total = np.bincount(code, target.weight, queries.n_queries)
    values = measure.of_preferences(total, lost, queries.sizes)
    fill_undefined(values, np.isnan(values), empty, measure.name, queries)
    return mean_of_queries(values, weight, empty) if average else values


def _check_reads(measure, target):
    """Raise unless a measure can be computed from these preferences."""
    if measure.reads_preferences:
        return
    if not measure.reads_orders:
        raise ValueError(
            f"{measure.name} needs relevances, and a PreferenceTarget has none: score it with "
            "pairwise_disagreement_loss, or one of orders with kendall_score, or pass "
            "y=-positions."
        )
    if not target.is_of_orders:
        raise ValueError(
            f"{measure.name} needs relevances, or unit preferences that state each pair once, as "
            "PreferenceTarget.from_orders makes them: score other preferences with "
            "pairwise_disagreement_loss."
        )


def _share_lost(target, scores, ties):
    """Return the probability that the loser of each preference is ranked above the winner."""
    winner, loser = scores[target.winner], scores[target.loser]
    share = (winner < loser) * 1.0
    tied = winner == loser
    if ties == "average":
        share[tied] = 0.5
    elif ties == "stable":
        share[tied] = target.winner[tied] > target.loser[tied]
    elif ties == "reversed":
        share[tied] = target.winner[tied] < target.loser[tied]
    elif tied.any():
        share[tied] = target.share_lost_in_ties(tied, ties)
    return share
