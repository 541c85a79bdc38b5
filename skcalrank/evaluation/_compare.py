"""Compare scores of several systems, or values that were measured elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from ..data import (
    ArrayLike,
    Labels,
    Seed,
    Target,
    carried_qid,
    check_option,
    check_scores,
    check_target,
    in_memory,
    is_frame,
    qid_array,
    warn,
    warn_of_one_query,
)
from ..measures import Measure, get_measure
from ..metrics import evaluate
from ._comparison import Comparison
from ._made import PAIRS, made
from ._missing import is_missing
from ._statistics import Methods


def compare(
    y_true: Labels,
    scores: Mapping[str, ArrayLike],
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    qid: ArrayLike | None = None,
    baseline: str | None = None,
    pairs: str = "baseline",
    test: str = "t",
    interval: str = "student",
    correction: str | None = "holm",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    ties: str = "average",
    empty: str = "skip",
    random_state: Seed = 0,
) -> Comparison:
    """Compare the scores of several systems query by query.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better. May be a :class:`~skcalrank.RankingTarget`, or for
        pairwise disagreement a :class:`~skcalrank.PreferenceTarget`.
    scores : dict of array-like, or DataFrame
        Scores of the rows of `y_true` by the name of the system, higher is better.
    measures : list of str or Measure, or dict
        ``["ndcg@10", "map"]``, or measures by the names they get in the result.
    qid : array-like of shape (n_rows,), default=None
        Query of each row; None = the ones that `y_true` carries, else one query, or one query
        per row of a matrix.
    baseline : str, default=None
        The system that the others are compared with; None = the first.
    pairs : {"baseline", "all"}, default="baseline"
        Which differences are tested: those to the baseline, or those of all pairs of systems.
    test : {"t", "wilcoxon", "permutation"}, default="t"
        Paired two-sided test of a difference: Student's, of means, NaN where all differences are
        one number other than 0; Wilcoxon's of signed ranks, without the queries on which two
        systems are equal; or the permutation test of means, which flips the signs of the
        differences.
    interval : {"student", "bca"}, default="student"
        Intervals of means and mean differences: Student's, or the bias-corrected and accelerated
        bootstrap over queries. NaN where values do not vary.
    correction : {"holm", "bh", None}, default="holm"
        How p-values are adjusted for the family of all pairs and measures of the call: Holm's
        bounds the probability of one false rejection, Benjamini-Hochberg's ("bh") the expected
        share of false ones among the rejections. A test whose p-value is NaN counts in the family
        and rejects nothing; one of fewer than two queries does not count.
    confidence_level : float, default=0.95
        Of the intervals.
    n_resamples : int, default=10_000
        Bootstrap samples, and assignments of signs. All assignments count where there are no
        more than this many, and the permutation test is exact, as is Wilcoxon's.
    ties, empty
        Policies, as in :func:`skcalrank.metrics.measure_score`. A query that is skipped counts
        for no system.
    random_state : int, RandomState instance or None, default=0
        Of the bootstrap and of the permutation test. Results do not depend on the number of
        threads.

    Returns
    -------
    comparison : Comparison

    Raises
    ------
    ValueError
        If there is no system or no measure, the baseline is none of the systems, scores are not
        finite or not as many as rows, or Series of scores have their rows in different orders.

    Warns
    -----
    UserWarning
        If fewer than six queries count, with which no permutation test can reach p < .05; if two
        systems are equal on every query; and if they differ by the same number on every query,
        for which there is no t-test.
    OneQueryWarning
        If nothing names the queries of several rows.

    See Also
    --------
    cross_compare : Estimators, from cross-validation.
    compare_values : Values per query that were measured elsewhere, such as those of TREC runs.

    Notes
    -----
    Queries are the sample: intervals and tests are about the mean over queries like these, each
    of which counts equally, for systems that are fixed.

    Examples
    --------
    >>> from skcalrank import NDCGRanker, PrecisionRanker, load_digits_queries
    >>> from skcalrank.evaluation import compare
    >>> X, y, qid = load_digits_queries(n_queries=60)
    >>> train, test = qid < 40, qid >= 40
    >>> scores = {
    ...     name: ranker.fit(X[train], y[train], qid[train]).predict(X[test])
    ...     for name, ranker in {"P": PrecisionRanker(), "NDCG": NDCGRanker()}.items()
    ... }
    >>> result = compare(y[test], scores, ["ndcg@10", "map"], qid=qid[test])
    >>> result.to_frame()[["system", "measure", "n"]]
      system  measure   n
    0      P  ndcg@10  20
    1      P      map  20
    2   NDCG  ndcg@10  20
    3   NDCG      map  20
    """
    methods = Methods(interval, test, correction, confidence_level, n_resamples, random_state)
    methods.check()
    systems = named("scores", scores)
    check_baseline(baseline, systems)
    check_option("pairs", pairs, PAIRS)
    chosen = named_measures(measures)
    y_true, qid = in_memory(y_true=y_true, qid=qid)
    qid = carried_qid(y_true, qid)
    warn_of_one_query(y_true, qid, "compare")
    names, shape = _queries_and_shape(y_true, qid)
    _refuse_other_orders(y_true, systems)
    values = np.empty((len(systems), len(chosen), len(names)))
    for of_system, (name, found) in zip(values, systems.items()):
        _check_scores(name, found, shape)
        policies: dict[str, Any] = {"ties": ties, "empty": empty, "average": False}
        of_system[:] = list(evaluate(y_true, found, chosen, qid=qid, **policies).values())
    return made(list(systems), list(chosen), names, values, baseline, pairs, methods)


def compare_values(
    values: Mapping[str, Mapping[str, Any]],
    *,
    baseline: str | None = None,
    pairs: str = "baseline",
    test: str = "t",
    interval: str = "student",
    correction: str | None = "holm",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    random_state: Seed = 0,
) -> Comparison:
    """Compare values per query that were measured elsewhere.

    Parameters
    ----------
    values : dict of dict
        By the name of the system, and by the name of the measure: a dict (or pandas Series) of
        values by query, or an array of values of the same queries in the same order. NaN, or NA
        of pandas, where a measure is undefined.
    baseline, pairs, test, interval, correction, confidence_level, n_resamples, random_state
        As in :func:`compare`.

    Returns
    -------
    comparison : Comparison

    Raises
    ------
    ValueError
        If systems have other measures or other queries than the first one.

    Warns
    -----
    UserWarning
        As :func:`compare`; and if systems are defined on different queries, so that a mean is over
        others than a mean difference.

    Examples
    --------
    >>> from skcalrank.evaluation import compare_values
    >>> a = {"map": {"q1": 0.5, "q2": 0.25, "q3": 1, "q4": 0.5, "q5": 0.25, "q6": 0.75}}
    >>> b = {"map": {"q6": 1, "q1": 0.75, "q2": 0.5, "q3": 1, "q4": 0.5, "q5": 0.5}}
    >>> (row,) = compare_values({"a": a, "b": b}).differences
    >>> row.wins, row.ties, row.losses, round(row.difference, 4)
    (4, 2, 0, 0.1667)
    """
    methods = Methods(interval, test, correction, confidence_level, n_resamples, random_state)
    methods.check()
    systems = named("values", values)
    check_baseline(baseline, systems)
    check_option("pairs", pairs, PAIRS)
    by_measure = {name: named(f"values[{name!r}]", found) for name, found in systems.items()}
    measures = list(next(iter(by_measure.values())))
    queries = _queries_of(by_measure)
    cells = [
        [_in_order(system, found, measure, queries) for measure in measures]
        for system, found in by_measure.items()
    ]
    table = np.array(cells, dtype=float)
    _warn_of_other_queries(table, list(systems), measures)
    return made(list(systems), measures, queries, table, baseline, pairs, methods)


# -- arguments ---------------------------------------------------------------------


def named(argument: str, values: Any) -> dict[str, Any]:
    """Return what has names as a dict, or raise an error that names the argument."""
    if is_frame(values):
        values = {name: values[name] for name in values.columns}
    if not isinstance(values, Mapping):
        raise ValueError(
            f"{argument} must be a dict such as {{'name': ...}}, got {type(values).__name__}: give "
            "each of them a name."
        )
    found = dict(values)
    if not found:
        raise ValueError(f"{argument} must hold at least one entry, got an empty dict.")
    wrong = next((name for name in found if not isinstance(name, str)), None)
    if wrong is not None:
        raise ValueError(
            f"{argument} must have strings as names, got {wrong!r}: use str({wrong!r})."
        )
    return found


def check_baseline(baseline: str | None, systems: Iterable[str]) -> None:
    """Raise unless the baseline is one of the systems, or None."""
    if baseline is not None:
        check_option("baseline", baseline, systems)


def named_measures(measures: Any) -> dict[str, Measure]:
    """Return measures by their names."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise ValueError(
            f"measures must be a list or a dict, got {measures!r}: write [{measures!r}]."
        )
    if isinstance(measures, Mapping):
        return {k: get_measure(measure) for k, measure in named("measures", measures).items()}
    given = list(measures)
    if not given:
        raise ValueError("measures must hold at least one measure, got none.")
    names = [m if isinstance(m, str) else getattr(m, "full_name", str(m)) for m in given]
    twins = next((name for name in names if names.count(name) > 1), None)
    if twins is not None:
        raise ValueError(f"measures must have different names, got {twins!r} twice: give a dict.")
    return {name: get_measure(measure) for name, measure in zip(names, given)}


def _queries_and_shape(y_true, qid):
    """Return the names of the queries, in the order of values, and the shape of the scores."""
    if isinstance(y_true, Target) and y_true.n_items is not None:
        return np.arange(len(y_true)), (len(y_true), y_true.n_items)
    if isinstance(y_true, Target) and not isinstance(y_true, np.ndarray):
        queries, shape = y_true.queries(), (len(y_true),)
    else:
        _, queries = check_target(y_true, qid, name="y_true")
        label_form = np.ndim(y_true) == 2 and np.shape(y_true)[1] > 1
        shape = np.shape(y_true) if label_form else (queries.n_rows,)
    return np.arange(queries.n_queries) if queries.names is None else queries.names, shape


def _check_scores(name, found, shape):
    """Raise for scores that are none, by the name of their system."""
    try:
        check_scores(found, shape)
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(str(error).replace("y_score", f"scores[{name!r}]")) from error


def _refuse_other_orders(y_true, systems):
    """Raise for Series that have the rows of another one in another order."""
    named_series = [("y_true", y_true), *((f"scores[{k!r}]", v) for k, v in systems.items())]
    indexed = [
        (name, s.index) for name, s in named_series if hasattr(s, "index") and hasattr(s, "reindex")
    ]
    for (first, a), (second, b) in combinations(indexed, 2):
        one_name_each = a.is_unique and b.is_unique
        if one_name_each and not a.equals(b) and set(a) == set(b):
            raise ValueError(
                f"{second} has the index of {first} in another order: scores are read by their "
                f"place, so pass {second}.reindex({first}.index)."
            )


def _queries_of(by_measure) -> Any:
    """Return the queries that the first system names, or their numbers."""
    found = next(iter(next(iter(by_measure.values())).values()))
    names = list(found.keys()) if hasattr(found, "keys") else list(range(len(found)))
    return qid_array(names)


def _in_order(system, found, measure, queries):
    """Return the values of a system by a measure in the order of the queries."""
    place = f"values[{system!r}]"
    if measure not in found:
        raise ValueError(
            f"{place} must hold every measure of the first system, got no {measure!r}."
        )
    given, place = found[measure], f"{place}[{measure!r}]"
    if hasattr(given, "keys"):
        by_query = dict(given.items())
        if len(by_query) < len(given):
            raise ValueError(f"{place} must have each query once, got some of them several times.")
        _refuse_other_queries(place, by_query.keys(), queries)
        given = [by_query[query] for query in queries.tolist()]
    out = _numbers(place, given)
    if out.shape != (len(queries),):
        raise ValueError(
            f"{place} must hold a value for each of {len(queries)} queries, got shape {out.shape}."
        )
    if np.isinf(out).any():
        raise ValueError(f"{place} must hold finite values, or NaN where undefined, got infinity.")
    return out


def _numbers(place, given):
    """Return values as an array; the NA of pandas, which is no number, becomes NaN."""
    found = np.asarray(given)
    if found.dtype == object:
        undefined = np.array(np.frompyfunc(is_missing, 1, 1)(found), dtype=bool)
        found = np.where(undefined, np.nan, found)
    try:
        return found.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place} must hold numbers, or NaN where undefined: {error}.") from error


def _refuse_other_queries(place, given, queries):
    wanted = set(queries.tolist())
    for sign, those in (("lacks", wanted - given), ("has in addition", given - wanted)):
        if those:
            some = ", ".join(map(repr, sorted(those, key=str)[:3]))
            raise ValueError(
                f"{place} must be over the queries of the first system, and {sign} {len(those)} "
                f"({some}{', ...' * (len(those) > 3)}): measure all systems on the same queries "
                "(of runs: evaluate_run(..., complete=True))."
            )


def _warn_of_other_queries(values, systems, measures):
    defined = ~np.isnan(values)
    for measure, of_measure in zip(measures, defined.transpose(1, 0, 2)):
        other = (of_measure != of_measure[0]).any(1)
        if other.any():
            warn(
                f"{systems[0]!r} and {systems[int(np.argmax(other))]!r} are defined on different "
                f"queries by {measure!r}: each mean is over the queries of its own system, and "
                "each difference over those on which both are defined."
            )
