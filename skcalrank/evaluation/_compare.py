"""Comparison of the scores of several systems, or of their values per query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..columns import arrays, tables
from ..columns.types import Array, ArrayLike, Floats, Labels, Unpack
from ..data import Queries, check, in_memory, qid_array, timed, warn
from ..measures import Measure
from ..metrics import CheckedTarget, check_several
from ._comparison import Comparison
from ._evaluate_run import RunValues
from ._judge import JudgedTarget, JudgedValues, check_methods, made_with_judge
from ._make_comparison import Design, made
from ._options import Options, Policies, make_measure, settled
from ._statistics import Methods


def compare(
    y_true: Labels,
    scores: Mapping[str, ArrayLike],
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    qid: ArrayLike | None = None,
    baseline: str | None = None,
    methods: Methods | None = None,
    policies: Policies | None = None,
    judge: ArrayLike | None = None,
    judged_probability: ArrayLike | None = None,
    verbose: int = 0,
    **options: Unpack[Options],
) -> Comparison:
    """Compare the scores of several systems query by query.

    Use it to ask whether trained rankers, or any scores, differ by more than chance on the same
    test queries. The result has means with intervals, and paired tests that are corrected for
    their number. To compare ways to train, use :func:`cross_compare`.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n, r)
        Relevances, as in :func:`skcalrank.metrics.measure_score`. With a judge, NaN where people
        gave none.
    scores : dict of array-like, or DataFrame
        Scores of the rows of `y_true` for each system, by its name; higher is better. Collections
        of dask are computed with those in `y_true` and `qid`, in one graph.
    measures : list of str or Measure, or dict
        Measures, such as ``["ndcg@10", "map"]``; a dict gives them the names of its keys.
    qid : array-like of shape (n_rows,) or scalar, default=None
        Query of each row, or of all rows. If None, the queries that `y_true` carries; without any,
        all rows are one query, or each row of a matrix is one.
    baseline : str, default=None
        Name of the system to which the others are compared. If None, the first one.
    methods : Methods, default=None
        Tests, intervals and corrections. If None, ``Methods()``.
    policies : Policies, default=None
        Equal scores, undefined queries and the level of relevance. If None, ``Policies()``.
    judge : array-like of shape (n_rows,), default=None
        Labels of all rows by a cheap judge, such as a language model, beside those of people for
        some queries, which must be drawn at random. People's values are regressed on the judge's,
        so that a judge that inflates, or favors a system, makes no false interval, and a good one
        shortens it; see Notes.
    judged_probability : array-like of shape (n_rows,), default=None
        If people judged some documents of a query: the chance with which each of them was drawn
        from its query, such as 2/10. Only read for documents that people judged. The measures must
        be sums over documents, such as ``"precision@10"``, ``"dcg"``, ``"rbp"``, and every document
        that they count must have had a chance. Draw a fixed number from each query: one without any
        counts as one that people were not asked about, and leaving it out makes a bias.
    verbose : int, default=0
        If not 0, the times of the measures, and of intervals and tests, are printed.
    **options
        Parameters of :class:`Methods` and :class:`Policies`, such as ``test="wilcoxon"``.

    Returns
    -------
    comparison : Comparison
        Means, differences, intervals and p-values, with tables and plots. With a judge, `n` is the
        number of queries that people judged, and frames have the columns ``human``, ``judge`` and
        ``gain``.

    Raises
    ------
    ValueError
        If there is no system or no measure, the baseline is not one of the systems, the scores are
        not one finite number for each row, Series have their rows in different orders, or a part of
        a target would set the scale of ERR.
        With a judge, if it lacks a label, people judged fewer than two queries, or a part of a
        query that a measure of whole lists needs, or another test or interval than Student's is
        asked for.

    Warns
    -----
    UserWarning
        If there are fewer than six queries, for which no permutation test can reach p < .05; if
        two systems are equal on every query; or if two systems differ by the same number on every
        query, so that there is no t-test. With a judge, if people judged fewer than ten queries, or
        the judge's values on these differ from the others at p < .001.
    OneQueryWarning
        If there are several rows and no queries.
    CutQueriesWarning
        If `y_true` carries its queries and rows of some of them are missing.

    See Also
    --------
    cross_compare : Compare estimators by cross-validation.
    compare_values : Compare values per query, such as those of TREC runs.
    skcalrank.metrics.measure_score : One measure of one system.
    skcalrank.displays.ComparisonDisplay : Plot of a comparison.

    Notes
    -----
    The queries are the sample: intervals and tests are statements about the mean over the
    population of queries, with equal weights, for fixed systems.

    With a judge, the mean is the regression estimator of survey sampling [1]_: the intercept of a
    regression of the n human values (or differences) on the judge's, centered at their mean over
    all N queries. It is consistent for every judge, and for large n its squared error is
    ``variance * ((1 - r ** 2) * (1 / n - 1 / N) + 1 / N)``, where r is the correlation of both: at
    most that of people alone. The larger one of the classical variance and HC2 is used, with n - 2
    degrees of freedom, and a residual variance of at least 3 / n of the variance of people's
    values, since a judge that is right on n queries may err on others. With ``empty="skip"`` the
    mean is a ratio of two such means, linearized. People alone are used if they gave fewer than
    four values, if those of the judge are constant or differ on a single query, or if the judge
    would make the squared error four times as large at equal residuals.

    References
    ----------
    .. [1] Cochran: Sampling techniques, 3rd edition, Wiley, 1977, chapter 7.

    Examples
    --------
    Scores are columns of a data frame, or a dict of arrays:

    >>> from skcalrank import make_offers
    >>> from skcalrank.evaluation import compare
    >>> offers, grades, search = make_offers(n_queries=60, random_state=0)
    >>> scores = offers[["rating", "n_ratings"]].fillna(0)
    >>> result = compare(grades, scores, ["ndcg@10"], qid=search)
    >>> result.to_frame()[["system", "measure", "mean", "wins", "losses"]].round(2)
          system  measure  mean  wins  losses
    0     rating  ndcg@10  0.51  <NA>    <NA>
    1  n_ratings  ndcg@10  0.37    16      44

    People judged 20 queries, drawn at random; a judge whose grades are too high judged all:

    >>> import numpy as np
    >>> drawn = np.random.default_rng(0).permutation(np.unique(search))[:20]
    >>> people = np.where(np.isin(search, drawn), grades, np.nan)
    >>> judge = np.minimum(grades + 1, 3)
    >>> result = compare(people, scores, ["ndcg@10"], qid=search, judge=judge)
    >>> result.to_frame()[["system", "mean", "n", "human", "judge"]].round(2)
          system  mean   n  human  judge
    0     rating  0.51  20   0.49   0.65
    1  n_ratings  0.36  20   0.37   0.55
    """
    methods, policies = settled(options, methods=methods, policies=policies)
    check_methods(methods, judge, judged_probability)
    systems, baseline = named_systems("scores", scores, baseline)
    chosen, of_rows = named_measures(measures, policies.relevance_level), policies.of_rows()
    beside: Any = {f"scores[{name!r}]": values for name, values in systems.items()}
    beside |= {"judge": judge, "judged_probability": judged_probability}
    y_true, qid, *rows = in_memory(y_true=y_true, qid=qid, **beside)
    beside = dict(zip(beside, rows)) | {"measures": chosen.values(), "least": 2}
    qid = check.qid_of_metric("compare", y_true, qid, **beside)
    *rows, judge, probability = rows
    if judge is None:
        judged = None
        target = CheckedTarget.of(y_true, qid)
    else:
        judged = JudgedTarget.of(y_true, judge, probability, qid)
        target = judged.judge
    checked = [_checked_scores(target, *of) for of in zip(systems, rows)]
    with timed(verbose, "compare", f"{len(chosen)} measures of {len(systems)} systems"):
        values: Any = (judged or target).values(chosen, checked, of_rows)
    queries = query_names(target.queries)
    design = Design(list(systems), list(chosen), queries, baseline, methods)
    with timed(verbose, "compare", "intervals and tests"):
        if judged is not None:
            return made_with_judge(design, values)
        return made(design, np.array([list(of.values()) for of in values]))


def compare_values(
    values: Mapping[str, Mapping[str, Any]],
    *,
    baseline: str | None = None,
    methods: Methods | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Compare systems by given values of measures for each query.

    Parameters
    ----------
    values : dict of dict
        ``values[system][measure]`` is a dict (or pandas Series) of values by query, or an array of
        values of the same queries in the same order. NaN, or NA of pandas, means undefined. If
        every system is a result of :func:`evaluate_run`, tables have its share of judged documents,
        and a judge corrects means and differences, as in :func:`compare`.
    baseline, methods
        As in :func:`compare`.
    **options
        Parameters of :class:`Methods`, such as ``test="wilcoxon"``.

    Returns
    -------
    comparison : Comparison
        As returned by :func:`compare`.

    Raises
    ------
    ValueError
        If a system lacks a measure of the first one, whose measures are compared, or has other
        queries.

    Warns
    -----
    UserWarning
        As in :func:`compare`; and if measures are defined on different queries for two systems, so
        that means and mean differences are over different queries.

    See Also
    --------
    compare : Compare scores of systems.
    evaluate_run : Values per query of a TREC run (with ``average=False``).

    Examples
    --------
    >>> from skcalrank.evaluation import compare_values
    >>> a = {"map": {"q1": 0.5, "q2": 0.25, "q3": 1, "q4": 0.5, "q5": 0.25, "q6": 0.75}}
    >>> b = {"map": {"q6": 1, "q1": 0.75, "q2": 0.5, "q3": 1, "q4": 0.5, "q5": 0.5}}
    >>> (row,) = compare_values({"a": a, "b": b}).differences
    >>> row.wins, row.ties, row.losses, round(row.difference, 4)
    (4, 2, 0, 0.1667)
    """
    (methods,) = settled(options, methods=methods)
    systems, baseline = named_systems("values", values, baseline)
    by_measure = {name: named(f"values[{name!r}]", of) for name, of in systems.items()}
    measures = list(next(iter(by_measure.values())))
    queries, table = _table(by_measure, measures)
    design = Design(list(systems), measures, queries, baseline, methods)
    judges = {name: of.judge_ for name, of in systems.items() if getattr(of, "judge_", None)}
    if judges:
        comparison = _compared_runs(design, judges, table)
    else:
        _warn_of_other_queries(table, design.systems, measures)
        comparison = made(design, table)
    shares = {name: of.judged_ for name, of in systems.items() if isinstance(of, RunValues)}
    return replace(comparison, judged_=shares) if len(shares) == len(systems) else comparison


def _compared_runs(design: Design, judges: dict[str, Any], table: Floats) -> Comparison:
    """Return the comparison of runs that were evaluated with a judge."""
    check_methods(design.methods, judges)
    if len(judges) < len(design.systems):
        raise ValueError("values must be of runs that were all evaluated with judge=, or none.")
    of_judge, values = _table(judges, design.measures)
    both = JudgedValues.of_runs(table, design.queries.tolist(), values, of_judge.tolist())
    return made_with_judge(design._replace(queries=of_judge), both)


def named(argument: str, values: Any) -> dict[str, Any]:
    """Return a mapping or a frame as a dict; raise an error that names the argument."""
    arrays.refuse_unread(values, argument)
    if hasattr(values, "columns"):
        values = {name: values[name] for name in tables.column_names(values) or ()}
    if not isinstance(values, Mapping):
        raise ValueError(
            f"{argument} must be a dict such as {{'name': ...}}, got {type(values).__name__}. Give "
            "each entry a name."
        )
    if not values:
        raise ValueError(f"{argument} must hold at least one entry, got an empty dict.")
    wrong = next((name for name in values if not isinstance(name, str)), None)
    if wrong is not None:
        raise ValueError(
            f"{argument} must have strings as names, got {wrong!r}: use str({wrong!r})."
        )
    return dict(values)


def named_systems(argument: str, values: Any, baseline: str | None) -> tuple[dict[str, Any], str]:
    """Return systems by name, and the baseline: one of them, or the first."""
    systems = named(argument, values)
    if baseline is None:
        return systems, next(iter(systems))
    check.option("baseline", baseline, systems)
    return systems, baseline


def named_measures(measures: Any, level: float | None = 1) -> dict[str, Measure]:
    """Return a dict of measures by their names; binary ones given by name get the level."""
    measures = check_several(measures)
    if isinstance(measures, Mapping):
        return {k: make_measure(m, level) for k, m in named("measures", measures).items()}
    names = [m if isinstance(m, str) else getattr(m, "full_name", str(m)) for m in measures]
    twins = next((name for name in names if names.count(name) > 1), None)
    if twins is not None:
        raise ValueError(f"measures must have different names, got {twins!r} twice: give a dict.")
    return {name: make_measure(measure, level) for name, measure in zip(names, measures)}


def query_names(queries: Queries) -> Any:
    """Return the names of queries, or their numbers if there are none."""
    return np.arange(queries.n_queries) if queries.names is None else queries.names


def _checked_scores(target: CheckedTarget, name: str, scores: Any) -> Floats:
    """Return valid scores; errors name their system."""
    try:
        return target.scores(scores)
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(str(error).replace("y_score", f"scores[{name!r}]")) from error


def _queries_of(by_measure: dict[str, dict[str, Any]]) -> Any:
    """Return the names of the queries of the first system, or their numbers."""
    system, of_system = next(iter(by_measure.items()))
    measure, values = next(iter(of_system.items()))
    if not hasattr(values, "__len__") or not len(values):
        raise ValueError(
            f"values[{system!r}][{measure!r}] must hold a value for each query, got {values}. If "
            "it is a mean, pass average=False to evaluate_run, evaluate or the metric."
        )
    return qid_array(list(values.keys()) if hasattr(values, "keys") else list(range(len(values))))


def _table(by_system: dict[str, Any], measures: list[str]) -> tuple[Array, Floats]:
    """Return the queries of the first system, and the values of all by measure and query."""
    queries = _queries_of(by_system)
    cells = [
        [_in_order(system, of_system, measure, queries) for measure in measures]
        for system, of_system in by_system.items()
    ]
    return queries, np.array(cells, dtype=float)


def _in_order(system: str, by_measure: dict[str, Any], measure: str, queries: Array) -> Floats:
    """Return the values of a measure for a system, in the order of the queries."""
    place = f"values[{system!r}]"
    if measure not in by_measure:
        raise ValueError(
            f"{place} must hold every measure of the first system, got no {measure!r}."
        )
    values, place = by_measure[measure], f"{place}[{measure!r}]"
    if hasattr(values, "keys"):
        by_query, names = dict(values.items()), tables.listed(queries)
        if len(by_query) < len(values):
            raise ValueError(f"{place} must have each query once, got some queries several times.")
        by_query = dict(zip(tables.listed(qid_array(list(by_query))), by_query.values()))
        _refuse_other_queries(place, by_query.keys(), set(names))
        values = [by_query[query] for query in names]
    out = arrays.numbers(values, place)
    if out.shape != (len(queries),):
        raise ValueError(
            f"{place} must hold a value for each of {len(queries)} queries, got shape {out.shape}."
        )
    if np.isinf(out).any():
        raise ValueError(f"{place} must hold finite values, or NaN where undefined, got infinity.")
    return out


def _refuse_other_queries(place: str, names: Any, wanted: Any) -> None:
    for sign, others in (("lacks", wanted - names), ("has in addition", names - wanted)):
        if others:
            some = ", ".join(map(repr, sorted(others, key=str)[:3]))
            raise ValueError(
                f"{place} must have the queries of the first system, but it {sign} {len(others)} "
                f"({some}{', ...' * (len(others) > 3)}). Measure all systems on the same queries "
                "(for runs, with evaluate_run(..., complete=True))."
            )


def _warn_of_other_queries(values: Floats, systems: list[str], measures: list[str]) -> None:
    for measure, of_measure in zip(measures, (~np.isnan(values)).transpose(1, 0, 2)):
        other = (of_measure != of_measure[0]).any(1)
        if other.any():
            warn(
                f"{systems[0]!r} and {systems[int(np.argmax(other))]!r} are defined on different "
                f"queries by {measure!r}: each mean is over the queries of its own system, and "
                "each difference over those on which both are defined."
            )
