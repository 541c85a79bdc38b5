"""Exceptions and warnings of skcalrank."""

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from joblib import Parallel

# Texts of the warnings that were issued in a context of `warning_once`, and categories that are
# settled in it; None outside.
_ISSUED: ContextVar[set[Any] | None] = ContextVar("issued", default=None)

# Warnings that are kept in a context of `keeping_warnings`; None outside.
_KEPT: ContextVar[set[tuple[str, type[Warning]]] | None] = ContextVar("kept", default=None)

# What was told in calls of joblib that run in this thread: texts, or the category for cut queries.
_TOLD: WeakKeyDictionary[Parallel, set[Any]] = WeakKeyDictionary()


class LostWorkerError(ConnectionError):
    """Another worker of the fit has failed, or does not answer in time."""


class MissingQidError(ValueError):
    """Error raised when query identifiers are required but missing.

    Raised for more than 200 rows of labels without a qid by ``fit``, ``partial_fit``,
    ``fit_targets``, ``score``, `eval_set` and scorers, by a ranker that was fitted with a qid and
    is asked to rank or score rows without one, and by splitters that are called without a qid. If
    all rows are one query, pass ``qid=0``. A fold is never silently treated as one query.
    """


class OutOfRangeError(ValueError):
    """Error for a column of X whose numbers are too large or too small to compute with.

    * `problem`: what must hold, and what was found.
    * `column`: number of the column, which those replace by a name who know it; None if it is
      unknown.
    * `remedy`: what the user can do.
    """

    def __init__(self, problem: str, column: Any = None, remedy: str = "") -> None:
        super().__init__(problem, column, remedy)
        self.problem, self.column, self.remedy = problem, column, remedy

    def __str__(self) -> str:
        if self.column is None:
            return self.problem
        return f"{self.problem} in column {self.column!r}. {self.remedy}"

    def name_column(self, names: Sequence[Any] | None) -> None:
        """Replace the number of the column by one of the names of all columns."""
        if isinstance(self.column, int) and names is not None:
            self.column = names[self.column]


class OneQueryWarning(UserWarning):
    """Warning that rows without a qid are treated as one query, which is rarely intended.

    Issued by ``fit``, ``partial_fit`` and ``score`` of rankers, and by scorers, for
    one-dimensional y of 2 to 200 rows, where more are a :class:`MissingQidError`, and by metrics
    for 20 rows or more. Pass a qid to silence it; if all rows are one query, pass ``qid=0``.
    """


class CutQueriesWarning(UserWarning):
    """Warning that only a part of the rows of a query is used as if it were the whole query.

    Measures of a part of a query are too high because its list is shorter, and targets of a part
    differ from the targets of the whole query. Issued wherever a cut query can be detected: by
    ``fit`` and ``score`` for a part of a target that carries its queries, by ``score``, scorers and
    `eval_set` for queries of ``fit`` that come back with another number of rows, by
    :class:`~skcalrank.LeastSquaresRankerCV` and :class:`~skcalrank.StackingRanker` for their `cv`,
    and for regressors that set rows of their own choice aside for early stopping. It comes once a
    call of cross-validation, and not with each fold, unless other processes fit the folds.
    """


class SingleDocumentsWarning(UserWarning):
    """Warning that nearly every query has one document, so that there is nothing to order.

    Measures of such queries are perfect, and nothing can be learned from them. Usually the
    identifiers of documents were passed as the qid. Issued by ``fit`` and ``score`` of rankers, and
    by scorers, for at least nine queries in ten rows.
    """


class EqualLabelsWarning(UserWarning):
    """Warning that labels are equal within each query, so that there is no order to learn.

    Issued once by ``fit`` of rankers, for the labels as the measure reads them, and not by
    ``partial_fit``. Usually y is another column, the qid is not that of the queries, or documents
    that nobody chose are missing.
    """


class NotAMeanWarning(UserWarning):
    """Warning that a regressor does not estimate the mean of the targets, or predicts a constant.

    Least-squares rankers are calibrated for regressors that estimate conditional means. Medians
    and other quantiles are not means.
    """


class NotGradesWarning(UserWarning):
    """Warning that labels are amounts or shares, and are taken for grades.

    The exponential gain of DCG, NDCG and ERR is ``2^y - 1``. With labels above 31, or with many
    different ones that are not integers, single documents outweigh all others. Pass
    ``gain="linear"`` for amounts. Documents with ``y >= 1`` are relevant for binary measures: if
    labels are not whole numbers, pass the `relevance_level` that they have.
    """


class UnseenLevelsWarning(UserWarning):
    """Warning that a column of categories holds no level that fit has seen.

    A column without one level of fit was usually converted on the way, for example from integers
    to text. New levels of few rows are usual and silent, and so is one new level of at most 1000
    rows, as a query may be about it.
    """


@contextmanager
def warning_once(issued: set[Any] | None = None) -> Iterator[None]:
    """Issue warnings of one text once in this context, as those of several rankers of one X.

    Those of the texts `issued`, or of the context around, are not issued again.
    """
    around = _ISSUED.get()
    outer = around if issued is None else issued
    inner: set[Any] = set() if outer is None else outer
    settled = {text for text in inner if isinstance(text, type)}
    _ISSUED.set(inner)
    try:
        yield
    finally:
        try:
            _ISSUED.set(around)
        except BaseException:  # an interrupt, after which warnings would stay issued
            _ISSUED.set(around)
            raise
        inner -= {text for text in inner if isinstance(text, type)} - settled


def settle(category: type[Warning]) -> None:
    """Issue no more warnings of a category in this context, such as those of folds in a fit."""
    issued = _ISSUED.get()
    if issued is not None:
        issued.add(category)


def is_settled(category: type[Warning]) -> bool:
    """Return whether no more warnings of a category are issued in this context."""
    return category in (_ISSUED.get() or ())


def warning_once_in_jobs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for joblib that does not repeat the warnings issued before it."""
    return partial(_call_in_job, _ISSUED.get(), function)


def _call_in_job(
    issued: set[Any] | None, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    with warning_once(issued):
        return function(*args, **kwargs)


@contextmanager
def keeping_warnings() -> Iterator[set[tuple[str, type[Warning]]]]:
    """Put the warnings of the package into a set of (message, category), and issue none."""
    kept: set[tuple[str, type[Warning]]] = set()
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line outside the package that led to it.

    The folds of a cross-validation, which are jobs of one call of joblib, issue it once: each of
    them changes the filters of warnings, so that Python forgets what it has told. Fits and scores
    of cut queries, whose texts differ, count as one.
    """
    kept, issued = _KEPT.get(), _ISSUED.get()
    if is_settled(category):
        return
    if kept is not None:
        kept.add((message, category))
        return
    if issued is not None:
        if message in issued:
            return
        issued.add(message)
    frame, level, outside, call = inspect.currentframe(), 1, 1, None
    while frame is not None:
        # Other packages stand between, such as joblib between a stack and its rankers.
        if frame.f_globals.get("__name__", "").startswith("skcalrank."):
            outside = level + 1
        if frame.f_code is Parallel.__call__.__code__:
            call = frame.f_locals["self"]
        frame, level = frame.f_back, level + 1
    told = set() if call is None else _TOLD.setdefault(call, set())
    key = category if category is CutQueriesWarning else message
    if key not in told:
        warnings.warn(message, category, stacklevel=outside)
        told.add(key)  # not where a filter makes it an error, so that all folds fail alike
