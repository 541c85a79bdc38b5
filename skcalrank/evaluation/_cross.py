"""Comparison of estimators by cross-validation over whole queries."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import isclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_consistent_length

from ..boosting import adapted
from ..columns import arrays
from ..columns.arrays import safe_indexing
from ..columns.types import CV, ArrayLike, Estimator, Floats, Ints, Labels, Matrix, Unpack
from ..data import (
    MissingQidError,
    Queries,
    RankingTarget,
    Target,
    check,
    refuse_lazy,
    timed,
    warning_once,
    warning_once_in_jobs,
)
from ..judgments import PreferenceTarget
from ..measures import Measure, warn_unless_grades
from ..metrics import CheckedTarget, RowPolicies, predict_with_queries
from ..model_selection import QueryKFold
from ..trees import is_of_library
from ._compare import named_measures, named_systems, query_names
from ._comparison import Comparison
from ._make_comparison import Design, made
from ._options import Options, Policies, settled
from ._statistics import Methods, Moments


def cross_compare(
    estimators: Mapping[str, Estimator],
    X: Matrix,
    y: Labels,
    qid: ArrayLike | None,
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    cv: CV = 5,
    baseline: str | None = None,
    methods: Methods | None = None,
    policies: Policies | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **options: Unpack[Options],
) -> Comparison:
    r"""Compare estimators by cross-validation, with a test corrected for overlapping folds.

    Use it to ask whether a way to train is better than another. Every estimator is fitted on the
    same training parts and measured on the same held-out queries.

    Parameters
    ----------
    estimators : dict of estimators
        Rankers, pipelines and searches of rankers, or any regressors, by name. They are cloned. A
        ``predict`` that takes ``qid`` gets it. Those of LightGBM, XGBoost and CatBoost are fitted
        as an :class:`~skcalrank.ExternalRanker`; others read tables with text if you pass them as
        one.
    X : array-like of shape (n_rows, d)
        Documents.
    y : array-like of shape (n_rows,) or (n, r)
        Relevances, higher is better. May carry the queries.
    qid : array-like of shape (n_rows,) or None
        Query of each row. If None, the queries that `y` carries, or one query for each row of a
        matrix.
    measures : list of str or Measure, or dict
        As in :func:`compare`.
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds means ``QueryKFold(cv)``. No split may cut a query. Repeated splits, such
        as ``QueryShuffleSplit(20, test_size=0.2)``, detect smaller differences than five folds.
    baseline, policies
        As in :func:`compare`.
    methods : Methods, default=None
        Pairs, correction and confidence level. The test, a t-test, is that of the Notes.
    n_jobs : int, default=None
        Number of fits that joblib runs in parallel. None means 1, -1 one for each core.
    verbose : int, default=0
        If not 0, the held-out measures and the time of each fit are printed.
    **options
        Parameters of :class:`Methods` and :class:`Policies`, such as ``empty="zero"``.

    Returns
    -------
    comparison : Comparison
        Computed from the means of the folds, `fold_values`. `values` and ``per_query`` hold the
        value of each query when it was held out, the mean if it was held out several times, NaN if
        never. `fit_times` holds the seconds of each fit.

    Raises
    ------
    ValueError
        If there is no estimator, the baseline is not one of them, a measure does not take the
        labels, or a split cuts a query, is empty or has a query in both parts.
    MissingQidError
        If neither `qid` nor `y` has the queries of the rows.

    See Also
    --------
    compare : Compare fixed systems on one test set.
    skcalrank.model_selection.QueryKFold : Folds of whole queries.
    sklearn.model_selection.cross_validate : Cross-validation of one estimator.

    Notes
    -----
    The difference of two *learners* varies with the test queries and with the training set. A
    paired test over held-out queries treats their values as independent, although any two of five
    training sets share three quarters of their queries; it rejects too often. Here the folds are
    the sample. The variance of the mean of n folds, with m test and M training queries each, is
    estimated as :math:`(1/n + m/M)` times the variance of the folds: the corrected resampled
    t-test [NB03]_. Intervals use the same variance.

    References
    ----------
    .. [NB03] Nadeau and Bengio: Inference for the Generalization Error, Machine Learning 52, 2003.

    Examples
    --------
    >>> from skcalrank import NDCGRanker, make_offers
    >>> from skcalrank.evaluation import cross_compare
    >>> from skcalrank.pipeline import make_query_pipeline
    >>> from skcalrank.preprocessing import QueryScaler
    >>> offers, grades, search = make_offers(n_queries=50, random_state=0)
    >>> table = offers[["price", "rating", "n_ratings"]].fillna(0)
    >>> rankers = {
    ...     "plain": NDCGRanker(), "in query": make_query_pipeline(QueryScaler(), NDCGRanker())
    ... }
    >>> result = cross_compare(rankers, table, grades, search, ["ndcg@10", "dcg@10"])
    >>> result
    Comparison(2 systems, 2 measures, 50 queries, 5 folds, baseline='plain')
    >>> result.to_frame().loc[2, ["system", "measure"]].tolist()
    ['in query', 'ndcg@10']
    """
    methods, policies = settled(options, methods=methods, policies=policies)
    if (methods.test, methods.interval, methods.tail) != ("t", "student", None):
        raise ValueError(
            "test, interval and tail must be left out of cross_compare, which tests means of folds."
        )
    systems, baseline = named_systems("estimators", estimators, baseline)
    _refuse_others(systems)
    of_rows, data = policies.of_rows(), _Data(X, y, qid)
    splits = list(_splits(cv, data))
    shared = float(np.mean([split.ratio for split in splits]))
    with warning_once():
        chosen = data.scaled(named_measures(measures, policies.relevance_level))
        measure = next(iter(chosen.values()))
        systems = {
            name: adapted(estimator, measure) if is_of_library(estimator) else estimator
            for name, estimator in systems.items()
        }
        held_out = delayed(warning_once_in_jobs(data.held_out_values))
        jobs = (
            held_out(f"{name}, split {number} of {len(splits)}", verbose, e, split, chosen, of_rows)
            for name, e in systems.items()
            for number, split in enumerate(splits, 1)
        )
        values, seconds = zip(*Parallel(n_jobs)(jobs))
    by_system = [values[i : i + len(splits)] for i in range(0, len(values), len(splits))]
    of_queries = np.array([data.over_splits(of_system, splits) for of_system in by_system])
    folds = np.array([np.transpose([Moments.of(v).mean for v in of]) for of in by_system])
    names = query_names(data.queries)
    design = Design(list(systems), list(chosen), names, baseline, methods)
    out = made(design, of_queries, folds, shared)
    return replace(out, fit_times=np.reshape(seconds, (len(systems), len(splits))))


def _refuse_others(estimators: Mapping[str, Any]) -> None:
    """Raise for what has no fit and predict, and for classes."""
    for name, estimator in estimators.items():
        if check.valid_regressor(estimator) is None:
            meant = f": did you mean {estimator.__name__}()?" if isclass(estimator) else "."
            raise ValueError(
                f"estimators[{name!r}] must have fit and predict, got {estimator!r}{meant}"
            )


class _Split(NamedTuple):
    """Training rows, test rows, test queries in order of appearance.

    `ratio` is the number of test queries over the number of training queries.
    """

    train: Ints
    test: Ints
    queries: Ints
    ratio: float


class _Data:
    """Rows with a target that carries their queries."""

    def __init__(self, X: Any, y: Any, qid: Any) -> None:
        refuse_lazy(
            "cross_compare", "Its splitters draw from the queries of all rows.", X=X, y=y, qid=qid
        )
        self.X, self.qid, self.target = X, check.carried_qid(y, qid, X=X), y
        if not isinstance(y, Target):
            labels, queries = check.target(y, self.qid, unranked=True)
            if np.ndim(y) == 2 and np.shape(y)[1] > 1:
                self.target = labels.reshape(np.shape(y))
            elif self.qid is None:
                raise MissingQidError(
                    "cross_compare needs the queries of the rows: pass qid, or "
                    "y=RankingTarget(y, qid)."
                )
            else:
                self.target = RankingTarget(queries.ungroup(labels), self.qid)
        check_consistent_length(X, self.target)
        of_rows = isinstance(self.target, Target) and self.target.n_items is None
        self.queries = self.target.queries() if of_rows else Queries.equal(len(self.target), 1)

    def scaled(self, measures: dict[str, Any]) -> dict[str, Any]:
        """Return measures scaled to all labels; a single fold may lack the largest one.

        Raise for a measure that does not take the labels, before anything is fitted.
        """
        if isinstance(self.target, PreferenceTarget):
            return measures
        check.scale_of_part(self.target, measures.values())
        labels = np.ravel(self.target)
        labels = labels[~np.isnan(labels)]  # items that are not ranked
        warn_unless_grades(measures.values(), labels)
        scaled = {name: measure.scaled_to(labels) for name, measure in measures.items()}
        for measure in scaled.values():
            measure.labels(labels)
        return scaled

    def held_out_values(
        self,
        work: str,
        verbose: int,
        estimator: Any,
        split: _Split,
        measures: dict[str, Any],
        policies: RowPolicies,
    ) -> tuple[Floats, float]:
        """Fit to a split; return test values, (n_measures, n_queries), and the fit's seconds.

        If `verbose`, print means of the values, and the time.
        """
        with timed(verbose, "cross_compare", work) as results:
            X, y = safe_indexing(self.X, split.train), self.target[split.train]
            estimator, start = clone(estimator), perf_counter()
            fitted = estimator.fit(X, y)
            seconds = perf_counter() - start
            X, y = safe_indexing(self.X, split.test), self.target[split.test]
            check.warn_of_cut_queries(y, "cross_compare")
            scores = predict_with_queries(fitted, X, getattr(y, "qid", None))
            by_measure = CheckedTarget.of(y).evaluate(measures, scores, policies, average=False)
            values = np.array(list(by_measure.values()))
            means = Moments.of(values).mean
            results += [f"{name}={mean:.4g}" for name, mean in zip(measures, means)]
        return values, seconds

    def whole_queries(self, rows: Ints, what_rows: str) -> Ints:
        """Return the queries of rows, in order of appearance; raise if one is cut."""
        codes = self.queries.codes[rows]
        arrived = np.bincount(codes, minlength=self.queries.n_queries)
        cut = np.flatnonzero((arrived != 0) & (arrived != self.queries.sizes))
        if len(cut) or not len(rows):
            what = f"cuts query {self.queries.name(int(cut[0]))!r}" if len(cut) else "is empty"
            raise ValueError(
                f"cv must yield parts of whole queries, but {what_rows} {what}. Use a splitter of "
                "whole queries, such as QueryKFold or QueryShuffleSplit."
            )
        _, first = np.unique(codes, return_index=True)
        return codes[np.sort(first)]

    def over_splits(self, of_splits: Sequence[Floats], splits: list[_Split]) -> Floats:
        """Return the mean value of each query over the splits that hold it out."""
        sums, counts = np.zeros((2, len(of_splits[0]), self.queries.n_queries))
        for values, split in zip(of_splits, splits):
            sums[:, split.queries] += np.nan_to_num(values)
            counts[:, split.queries] += ~np.isnan(values)
        return arrays.safe_divide(sums, counts, np.nan)


def _splits(cv: Any, data: _Data) -> Iterator[_Split]:
    """Yield the splits; raise for a split that cuts a query."""
    splitter: Any = cv
    if isinstance(cv, numbers.Integral):
        check.count("cv", cv, "the number of folds", least=2)
        splitter = QueryKFold(int(cv))
    elif not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(f"cv must be a number of folds, a splitter or splits, got {cv!r}.")
    if hasattr(splitter, "split"):
        splitter = splitter.split(data.X, data.target, data.qid)
    pairs = list(splitter)
    if len(pairs) < 2:
        raise ValueError(f"cv must have at least two splits, got {len(pairs)}.")
    codes = data.queries.codes
    for number, rows in enumerate(pairs):
        train, test = (np.arange(len(codes))[chosen] for chosen in rows)
        trained_on = data.whole_queries(train, f"the training part of split {number}")
        tested = data.whole_queries(test, f"the test part of split {number}")
        if len(both := np.intersect1d(trained_on, tested)):
            name = data.queries.name(int(both[0]))
            raise ValueError(
                f"cv must put each query into one part, got query {name!r} in both parts of split "
                f"{number}."
            )
        yield _Split(train, test, tested, len(tested) / len(trained_on))
