"""Evaluation of runs against judgments, as in trec_eval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from ..columns import arrays
from ..columns.types import Floats, Unpack
from ..data import check, warn, warning_once
from ..measures import MEASURES, Measure, unknown_measure
from ..metrics import check_several, mean_of_queries
from ._judge import JudgedValues, warn_of_shift
from ._options import EMPTY_OF_MEANS, Policies, PolicyOptions, make_measure, settled
from ._regression_means import RegressionMeans
from ._run_files import load_qrels, load_run
from ._run_sources import JudgedRun, Qrels, Run, Scores, could_be_either

#: Names that trec_eval has for measures without and with a cutoff; None if it does not have them.
_TREC_NAMES: dict[str, tuple[str | None, str | None]] = {
    "ndcg": ("ndcg", "ndcg_cut"),
    "map": ("map", "map_cut"),
    "precision": ("set_P", "P"),
    "recall": ("set_recall", "recall"),
    "hit": (None, "success"),
    "f1": ("set_F", None),
    "mrr": ("recip_rank", None),
    "r_precision": ("Rprec", None),
    "bpref": ("bpref", None),
}

#: Measures of runs that depend on which documents are judged.
JUDGED_MEASURES = ("bpref", "judged@k")


_Value = TypeVar("_Value")


class RunValues(dict[Any, _Value], Generic[_Value]):
    """Values by measure of a run: a dict that knows the share of judged documents.

    Parameters
    ----------
    values : dict
        The values.
    judged : float
        The share.
    judge : RunValues, default=None
        The values of a judge.

    Attributes
    ----------
    judged_ : float
        Share of judged documents among those that the run retrieved for the queries that were
        measured. Where it is low, most measures say little. NaN if nothing was retrieved.
    judge_ : RunValues or None
        With a judge, its own values, of all queries, where `average` is False.

    See Also
    --------
    evaluate_run : Returns such values.

    Examples
    --------
    >>> from skcalrank.evaluation import evaluate_run
    >>> run = {"q": {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}}
    >>> values = evaluate_run({"q": {"b": 1}}, run, ["map"])
    >>> values, values.judged_
    ({'map': 0.5}, 0.25)
    """

    def __init__(
        self, values: Mapping[Any, _Value], judged: float, judge: RunValues[Any] | None = None
    ) -> None:
        super().__init__(values)
        self.judged_, self.judge_ = judged, judge


class _Untold(NamedTuple):
    """A source of judgments that could as well be the run beside it."""

    source: Any


def _by_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark judgments and a run that no keyword names, if each could be the other."""

    @wraps(function)
    def marking(*args: Any, **options: Any) -> Any:
        if len(args) > 1 and all(map(could_be_either, args[:2])):
            args = _Untold(args[0]), *args[1:]
        return function(*args, **options)

    return marking


def _read(source: Any, run: Any) -> tuple[Qrels, Run]:
    """Return the judgments and the run; warn if nothing tells which of the two is which."""
    untold = isinstance(source, _Untold)
    qrels, run = load_qrels(source.source if untold else source), load_run(run)
    if untold and (not _are_whole(qrels) or _are_whole(run)):
        warn(
            "The values do not tell which of the two are the judgments: whole numbers that come "
            "first, before a run with scores that are not whole. Pass qrels= and run=, or what "
            "load_qrels and load_run return."
        )
    return qrels, run


def _are_whole(values: Scores) -> bool:
    return all(value % 1 == 0 for documents in values.values() for value in documents.values())


class _Options(PolicyOptions, total=False):
    """What the overloads of evaluate_run have in common, for type checkers."""

    policies: Policies | None
    gain: str
    complete: bool
    judge: Any


@overload
def evaluate_run(
    qrels: Any,
    run: Any,
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    average: Literal[True] = ...,
    **options: Unpack[_Options],
) -> RunValues[float]: ...
@overload
def evaluate_run(
    qrels: Any,
    run: Any,
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    average: bool,
    **options: Unpack[_Options],
) -> RunValues[dict[str, float]]: ...
@_by_place
def evaluate_run(
    qrels: Any,
    run: Any,
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    policies: Policies | None = None,
    gain: str = "linear",
    complete: bool = False,
    average: bool = True,
    judge: Any = None,
    **options: Unpack[PolicyOptions],
) -> RunValues[Any]:
    """Evaluate a run against judgments, as trec_eval does.

    A retrieved document without a judgment is not relevant. A judged document that
    was not retrieved counts among the relevant ones and in the ideal ranking, but gains nothing.
    Negative relevances count as 0. A query without a judgment is left out.

    Parameters
    ----------
    qrels, run : str, Path, DataFrame, dict or iterable
        Judgments, and the run: sources that :func:`load_qrels` and :func:`load_run` read, such as
        TREC files, tables, frames and dicts of dicts. A :class:`Run` as `qrels` is an error, and so
        are :class:`Qrels` as `run`.
    measures : list of str or Measure, or dict
        Measures that are defined for truncated rankings: ``"ndcg@10"``, ``"map"``, ``"mrr"``,
        ``"precision@5"``, ``"recall@100"``, ``"err@10"``, ...; ``"bpref"``, which ignores
        documents without a judgment; ``"judged@10"``, the share of judged documents among the
        first 10 that were retrieved.
    policies : Policies, default=None
        Equal scores, undefined queries and the level of relevance. If None, ``Policies()``.
    gain : {"linear", "exponential"}, default="linear"
        Gain of DCG and NDCG given by name; trec_eval uses "linear", the relevance itself. A measure
        that is given as an object has its own gain.
    complete : bool, default=False
        If True, judged queries that are not in the run have value 0 (``trec_eval -c``). If False,
        they are left out, with a warning.
    average : bool, default=True
        If True, means over queries are returned; if False, values of each query.
    judge : str, Path, DataFrame, dict or iterable, default=None
        Judgments of a cheap judge, such as a language model, for more queries than `qrels` has,
        which people judged and which must be drawn at random among them. Means are corrected as in
        :func:`compare`; values of each query are those by people, and :func:`compare_values` of
        them takes the judge into account.
    **options
        Parameters of :class:`Policies`, such as ``ties="average"``.

    Returns
    -------
    values : RunValues
        A dict. For each measure, as given: the mean, or with ``average=False`` a dict of values by
        query, which :func:`compare_values` takes; NaN for skipped queries. Its attribute
        ``judged_`` is the share of judged documents among those that were retrieved, and
        ``judge_`` has the judge's values of each query.

    Raises
    ------
    ValueError
        If a measure needs a score for every document, no query of the run has judgments, `qrels`
        and `run` are interchanged, or `judge` lacks a query of `qrels`.

    Warns
    -----
    UserWarning
        If judged queries are left out because they are not in the run, or not one document that
        was retrieved is judged. Also if two dicts, or two frames with a column ``score``, come
        without ``qrels=`` and ``run=``, and their values do not tell which is which: those of the
        first are not all whole numbers, or those of the second are.

    See Also
    --------
    load_run : Read a run.
    load_qrels : Read judgments.
    compare_values : Compare the values of several runs.
    skcalrank.metrics.measure_score : Measures of complete rankings, from arrays.

    Examples
    --------
    >>> from skcalrank.evaluation import evaluate_run
    >>> qrels = {"q1": {"b": 1, "d": 1, "c": 0}, "q2": {"a": 1}}
    >>> run = {"q1": {"a": 0.9, "b": 0.8, "c": 0.7}, "q2": {"a": 0.5}}
    >>> evaluate_run(qrels, run, ["map", "recall@10", "judged@2"])
    {'map': 0.625, 'recall@10': 0.75, 'judged@2': 0.75}
    >>> evaluate_run(qrels, run, ["mrr"], average=False)
    {'mrr': {'q1': 0.5, 'q2': 1.0}}
    """
    (policies,) = settled(options, policies=policies)
    if judge is not None:
        check.option("empty", policies.empty or "zero", EMPTY_OF_MEANS)
        run, every = load_run(run), {"policies": policies, "gain": gain, "complete": complete}
        people = evaluate_run(qrels, run, measures, average=False, **every)
        with arrays.naming("judge"):
            by_judge = evaluate_run(load_qrels(judge), run, measures, average=False, **every)
        return _with_judge(people, by_judge, average)
    ties, empty, level = policies.of_runs()
    resolved = run_measures(measures, level, gain)
    judged = JudgedRun(*_read(qrels, run), complete=complete, ties=ties)
    if judged.n_missing and not complete:
        warn(
            f"{judged.n_missing} judged queries are not in the run and are left out, so that means "
            "may be too high. Pass complete=True to count them as 0."
        )
    judged.warn_of_other_names("run")
    with warning_once():
        of_queries = {name: values_of(judged, empty) for name, values_of in resolved.items()}
    values: dict[Any, Any]
    if average:
        values = {name: mean_of_queries(v, None, empty) for name, v in of_queries.items()}
    else:
        values = {name: dict(zip(judged.names, v.tolist())) for name, v in of_queries.items()}
    return RunValues(values, judged.judged_)


def _with_judge(people: RunValues[Any], judge: RunValues[Any], average: bool) -> RunValues[Any]:
    """Return means that a judge corrects, or the values by people, beside those of the judge."""
    sides: list[Any] = []
    for values in (people, judge):
        sides += [[list(of.values()) for of in values.values()], next(iter(values.values()))]
    both = JudgedValues.of_runs(*sides)
    if not average:
        return RunValues(people, people.judged_, judge)
    means = RegressionMeans.of(both.human, both.alone, both.judge, both.is_human)
    warn_of_shift(means.shift, both.is_human, [("the run", measure) for measure in people])
    return RunValues(dict(zip(people, means.mean.tolist())), people.judged_)


def trec_name(measure: str) -> str | None:
    """Return the name that trec_eval has for a measure, such as ``ndcg_cut_10``; None if none."""
    name, _, k = measure.partition("@")
    whole, cut = _TREC_NAMES.get(name, (None, None))
    return whole if not k else cut and f"{cut}_{k}"


_OfRun = Callable[[JudgedRun, str], Floats]


def run_measures(measures: Any, relevance_level: float, gain: str = "linear") -> dict[Any, _OfRun]:
    """Return a dict of functions of (JudgedRun, empty) that compute the measures."""
    measures = check_several(measures)
    pairs = measures.items() if isinstance(measures, Mapping) else ((m, m) for m in measures)
    return {name: _run_measure(measure, relevance_level, gain) for name, measure in pairs}


def _run_measure(measure: str, level: float, gain: str) -> _OfRun:
    name = measure.partition("@")[0] if isinstance(measure, str) else ""
    if measure == "bpref":
        _check_level(level)
        return partial(JudgedRun.bpref, level=level)
    if name == "judged":
        return partial(JudgedRun.share_judged, k=check.cutoff_of(measure))
    known = [top_only for top_only, cls in MEASURES.items() if cls.top_only]
    if isinstance(measure, str) and name not in MEASURES:
        raise unknown_measure(measure, [*known, *JUDGED_MEASURES])
    resolved = make_measure(measure, level, gain)
    if not resolved.top_only:
        raise ValueError(
            f"measures must be defined for truncated rankings, got {resolved.name}, which needs a "
            f"score for every document. Choose among {', '.join([*known, *JUDGED_MEASURES])}."
        )
    _check_level(resolved.level)
    return partial(JudgedRun.values_of, measure=resolved)


def _check_level(level: float | None) -> None:
    """Raise for a level from which documents without a judgment would be relevant."""
    what = "as documents of runs without a judgment have relevance 0"
    check.number("relevance_level", 1 if level is None else level, "> 0", what)
