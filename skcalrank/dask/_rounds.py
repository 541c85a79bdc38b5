"""Fits in rounds: each partition is a worker, which begins anew until it knows all answers.

A fit asks for what belongs to the rows of all workers: sums, or the choice of the rows that are
held out. In the first round each partition gets as far as to the first such question. What it would
tell the others is added up, in a tree where possible; with this answer the next round gets as far
as to the second question, and so on. Only a partition is in memory, with any scheduler, and what
has been answered is not computed again.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..data import (
    EqualLabelsWarning,
    SingleDocumentsWarning,
    Workers,
    among,
    check,
    keeping_warnings,
    timed,
    warn,
)
from ._blocks import Partitions, check_disjoint, compute, names_of, tree
from ._cut import partitions

# Warnings of what rows of other partitions may have.
_OF_ALL = (EqualLabelsWarning, SingleDocumentsWarning)


class _Asked(BaseException):
    """The question of a fit to all workers; no Exception, which the fit might catch."""

    def __init__(self, part: Any, combine: Callable[..., Any] | type[Any], is_sum: bool) -> None:
        super().__init__()
        self.part, self.combine, self.is_sum = part, combine, is_sum


class _Partition(Workers):
    """A partition among others, with the answers of earlier rounds."""

    def __init__(self, rank: int, size: int, answers: list[Any]) -> None:
        self.rank, self.size, self._answers = rank, size, iter(answers)

    def reduce(self, value: Any, combine: Callable[[list[Any]], Any]) -> Any:
        return self._answer(lambda: value, combine, False)

    def total(self, part: Callable[[], Any], add: Callable[[list[Any]], Any]) -> Any:
        return self._answer(part, add, True)

    def deal(self, part: Callable[[], Any], combine: Callable[[list[Any]], list[Any]]) -> Any:
        return self._answer(part, combine, False)[self.rank]

    def _answer(self, part: Callable[..., Any], combine: Any, is_sum: bool) -> Any:
        if self.size == 1:
            return combine([part()])
        for answer in self._answers:
            return answer
        raise _Asked(part(), combine, is_sum)


class _Reply(NamedTuple):
    """What partitions say in a round: parts of the answer to their question, or the result."""

    used: list[int]  # numbers of partitions with rows of positive weight
    owners: dict[Any, int]  # number of the partition by name of the query
    parts: list[Any]
    combine: Callable[[list[Any]], Any] | None  # None at the end
    is_sum: bool
    told: list[set[tuple[str, type[Warning]]]]  # warnings of each partition


def in_rounds(
    function: Callable[..., Any], parts: Partitions, *shared: Any, caller: str | None = None
) -> Any:
    """Return the result of ``function(*shared, **block)`` for the first partition with rows.

    The function runs for each partition that has rows of positive weight, among the workers of
    :func:`skcalrank.data.workers_of_fit`, and must have the same result for all of them. With a
    `caller`, the time of each round is printed.
    """
    used, answers = list(range(len(parts.frames))), list[Any]()

    def next_round() -> _Reply:
        step = f"pass {len(answers) + 1} over {len(used)} partitions"
        with timed(caller is not None, caller or "", step):
            return _round(function, parts, shared, used, answers)

    reply = next_round()
    if not reply.used:
        raise ValueError("X must have rows, of positive sample_weight if there is one, got none.")
    if len(reply.used) < len(used):
        used = reply.used
        reply = next_round()
    while reply.combine is not None:
        answers.append(reply.combine(reply.parts))
        reply = next_round()
    tell(reply.told)
    return reply.parts[0]


def _round(function: Any, parts: Partitions, shared: Any, used: list[int], answers: Any) -> _Reply:
    tasks = parts.map(_reply, function, shared, used, answers)
    return compute(tree([tasks[number] for number in used], _of_several))


def _reply(
    function: Any, shared: Any, used: list[int], answers: list[Any], number: int, **block: Any
) -> _Reply:
    """Return what one partition has to say."""
    owners: dict[Any, int] = {}
    if not answers:
        qid: Any = check.carried_qid(block.get("y"), block.get("qid"))
        owners = {} if qid is None else names_of(check.queries(qid, len(qid)), number)
        if not block["X"].shape[0]:
            return _Reply([], owners, [], None, False, [])
    weight, workers = block.get("sample_weight"), _Partition(used.index(number), len(used), answers)
    if weight is not None and not np.any(weight):
        # Rows of zero weight are validated like others, and then ignored.
        with suppress(_Asked), among(_Partition(0, 2, [])):
            function(*shared, **block | {"sample_weight": None})
        return _Reply([], owners, [], None, False, [])
    with keeping_warnings() as told, among(workers):
        try:
            result = function(*shared, **block)
        except _Asked as asked:
            return _Reply([number], owners, [asked.part], asked.combine, asked.is_sum, [])
    return _Reply([number], owners, [None if workers.rank else result], None, False, [told])


def _of_several(replies: list[_Reply]) -> _Reply:
    """Return what some partitions say together."""
    there = [reply for reply in replies if reply.used] or replies[:1]
    parts = [part for reply in there for part in reply.parts]
    combine, is_sum = there[0].combine, there[0].is_sum
    if any((reply.combine is None) != (combine is None) for reply in there):
        raise RuntimeError(
            "All partitions must take the same steps, but some ended before others: check that all "
            "workers have the same versions of the libraries."
        )
    return _Reply(
        used=[number for reply in there for number in reply.used],
        owners=check_disjoint([reply.owners for reply in replies]),
        parts=[combine(parts)] if combine is not None and is_sum else parts,
        combine=combine,
        is_sum=is_sum,
        told=[told for reply in there for told in reply.told],
    )


def tell(told: Any) -> None:
    """Issue the warnings of all partitions once."""
    for message, category in sorted(set().union(*told), key=str):
        of_all = all((message, category) in of_one for of_one in told)
        if of_all or category not in _OF_ALL:
            warn(message, category)


def fit_in_rounds(estimator: Any, X: Any, *, eval_set: Any = None, **columns: Any) -> Any:
    """Fit an estimator to all partitions, each of which has whole queries."""
    options = {} if eval_set is None else {"eval_set": eval_set}
    parts, params = partitions(X, **columns), estimator.get_params(deep=False)
    silent, caller = clone(estimator), None
    if params.get("verbose"):
        silent, caller = silent.set_params(verbose=0), type(estimator).__name__
    fitted = in_rounds(_fitted, parts.in_one_order(), silent, options, caller=caller)
    learned = {name: value for name, value in vars(fitted).items() if name not in params}
    # Assign last: nothing below can fail.
    vars(estimator).pop("feature_names_in_", None)
    vars(estimator).update(learned)
    return estimator


def _fitted(estimator: Any, options: dict[Any, Any], **block: Any) -> Any:
    return clone(estimator).fit(**block, **options)
