"""Options that several functions share: as one value, or as keywords, their shorthand."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

from ..columns.types import Seed
from ..data import TIES, check
from ..measures import Measure, get_measure
from ..metrics import EMPTY, RowPolicies
from ._statistics import Methods

#: Orders of documents with equal scores in a run.
TIES_OF_RUNS = ("trec", "trec10", "stable", "average")

#: Treatments of undefined queries where means leave NaN out: of comparisons, and beside a judge.
EMPTY_OF_MEANS = tuple(policy for policy in EMPTY if policy != "nan")


@dataclass(frozen=True, kw_only=True)
class Policies:
    """How measures are read: equal scores, queries without a value, and grades.

    :func:`compare` and :func:`cross_compare`, which take arrays, and :func:`evaluate_run` take it
    as ``policies=``, or its parameters as keywords.

    Parameters
    ----------
    ties : str, default=None
        Order of documents with equal scores. For arrays "average", the default, or another one of
        :func:`skcalrank.metrics.measure_score`. For runs "trec", the default: by name from Z to A,
        with scores compared in single precision, as in trec_eval up to version 9 and in
        pytrec_eval; "trec10": the same in double precision, as in trec_eval 10; "stable": the order
        of the run; or "average": the exact expectation over all orders.
    empty : {"skip", "zero", "one", "nan", "error"}, default=None
        Treatment of queries on which a measure is undefined (0/0), such as queries without a
        relevant document, as in :func:`skcalrank.metrics.measure_score`. A query that is skipped is
        skipped for all systems, and for the measures that are undefined there alone: each measure
        has its own `n`, which tables print where measures differ. "nan" is for :func:`evaluate_run`
        without a judge alone, as comparisons leave NaN out. If None, "skip" for arrays, and "zero",
        as in trec_eval, for runs.
    relevance_level : float or None, default=1
        Documents with at least this relevance are relevant, where a binary measure is a name
        (``trec_eval -l``). If None, labels of arrays must be 0 or 1, and the level of runs is 1.
        It must be above 0 for runs, in which documents without a judgment have relevance 0.

    See Also
    --------
    Methods : How intervals and p-values are computed.

    Examples
    --------
    >>> from skcalrank.evaluation import Policies, evaluate_run
    >>> qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 1.5, "b": 0.5}}
    >>> evaluate_run(qrels, run, ["mrr"], policies=Policies(relevance_level=2))
    {'mrr': 0.5}
    """

    ties: str | None = None
    empty: str | None = None
    relevance_level: float | None = 1

    def __post_init__(self) -> None:
        level = self.relevance_level
        if self.ties is not None:
            check.option("ties", self.ties, dict.fromkeys((*TIES, *TIES_OF_RUNS)))
        if self.empty is not None:
            check.option("empty", self.empty, EMPTY)
        if level is not None:
            check.number("relevance_level", level, "", "or None")

    def of_rows(self) -> RowPolicies:
        """Return the policies of comparisons of rows."""
        check.option("empty", self.empty or "skip", EMPTY_OF_MEANS)
        return RowPolicies.of(self.ties, self.empty)

    def of_runs(self) -> tuple[str, str, float]:
        """Return ties, empty and the level of relevance for runs."""
        ties, empty, level = self.ties, self.empty, self.relevance_level
        if ties is not None:
            check.option("ties", ties, TIES_OF_RUNS)
        return ties or "trec", empty or "zero", 1.0 if level is None else level


def make_measure(
    measure: str | Measure, relevance_level: float | None = 1, gain: str | None = None
) -> Measure:
    """Return a measure; one that is given by name gets those of these options that it has."""
    known = get_measure(measure)
    if not isinstance(measure, str):
        return known
    options: dict[str, Any] = {"relevance_level": relevance_level} if known.is_binary else {}
    if gain is not None and known.has_gain:
        options["gain"] = gain
    return get_measure(measure, **options)


class PolicyOptions(TypedDict, total=False):
    """Keywords for the fields of Policies, for type checkers and editors."""

    ties: str | None
    empty: str | None
    relevance_level: float | None


class Options(PolicyOptions, total=False):
    """Keywords for the fields of Policies and Methods."""

    test: str
    interval: str
    confidence_level: float
    correction: str | None
    pairs: str
    n_resamples: int
    tail: float | None
    margin: float
    random_state: Seed


def settled(options: Mapping[str, Any], **given: Any) -> list[Any]:
    """Return the methods or policies that are given, or else those that keywords stand for."""
    values, unknown = [], dict(options)
    for argument, value in given.items():
        kind: Any = {"methods": Methods, "policies": Policies}[argument]
        keywords = {of.name: unknown.pop(of.name) for of in fields(kind) if of.name in unknown}
        values.append(kind(**keywords) if value is None else value)
        if not isinstance(values[-1], kind):
            raise TypeError(f"{argument} must be {kind.__name__}(...) or None, got {value!r}.")
        if replace(values[-1], **keywords) != values[-1]:
            raise ValueError(
                f"{argument} must agree with the keywords {', '.join(keywords)}, got {value} and "
                f"{keywords}: leave one of both out."
            )
    if unknown:
        raise TypeError(
            f"Unexpected keyword argument {next(iter(unknown))!r}, which is no parameter of "
            f"{' or '.join(given)}."
        )
    return values
