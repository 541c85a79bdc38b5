"""Compare estimators by cross-validation over whole queries."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length

from ..data import (
    ArrayLike,
    Ints,
    Labels,
    Matrix,
    MissingQidError,
    PreferenceTarget,
    Queries,
    RankingTarget,
    Target,
    carried_qid,
    check_count,
    check_option,
    check_target,
    refuse_lazy,
    safe_divide,
)
from ..measures import Measure
from ..metrics import evaluate, predict_with_queries
from ..model_selection import QueryKFold
from ._compare import check_baseline, named, named_measures
from ._comparison import Comparison
from ._made import PAIRS, made
from ._statistics import Methods


def cross_compare(
    estimators: Mapping[str, Any],
    X: Matrix,
    y: Labels,
    qid: ArrayLike | None,
    measures: Iterable[str | Measure] | Mapping[str, str | Measure],
    *,
    cv: Any = 5,
    baseline: str | None = None,
    pairs: str = "baseline",
    correction: str | None = "holm",
    confidence_level: float = 0.95,
    ties: str = "average",
    empty: str = "skip",
    n_jobs: int | None = None,
) -> Comparison:
    r"""Compare estimators by cross-validation, with a test that knows that folds share data.

    Every estimator is fitted on the same training parts and measured on the same held-out queries.

    Parameters
    ----------
    estimators : dict of estimators
        Rankers, pipelines and searches of them, or any regressors, by name. They are cloned; a
        ``predict`` that takes ``qid`` gets it.
    X : array-like of shape (n_rows, d)
    y : array-like of shape (n_rows,) or (n, r)
        Relevances; may carry the queries.
    qid : array-like of shape (n_rows,) or None
        Query of each row; None = the ones that `y` carries, or one query per row of a matrix.
    measures : list of str or Measure, or dict
        As in :func:`compare`.
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds is ``QueryKFold(cv)``. No split may cut a query. Repeated splits, such as
        ``QueryShuffleSplit(20, test_size=0.2)``, find smaller differences than five folds.
    baseline, pairs, correction, confidence_level, ties, empty
        As in :func:`compare`.
    n_jobs : int, default=None
        Fits that are run side by side, by joblib.

    Returns
    -------
    comparison : Comparison
        Of the means of the folds, which are `fold_values`. `values` and ``per_query`` have the
        held-out value of each query, its mean where a query is held out several times, NaN where
        it never is.

    Raises
    ------
    ValueError
        If there is no estimator, the baseline is none of them, or a split cuts a query, is empty
        or has a query in both parts.
    MissingQidError
        If nothing says which row belongs to which query.

    See Also
    --------
    compare : Systems that are fixed, on one test set.

    Notes
    -----
    A difference of two *learners* varies with the test queries and with the training set. Values of
    held-out queries pretend that each came from a training set of its own, while any two of five
    folds share three quarters of it: a paired test over them rejects too often. Here the sample is
    the folds, and the variance of the mean of n of them, each tested on m queries after training on
    M, is taken to be :math:`(1/n + m/M)` times theirs: the corrected resampled t-test [NB03]_, with
    intervals to match.

    References
    ----------
    .. [NB03] Nadeau and Bengio: Inference for the Generalization Error, Machine Learning 52, 2003.

    Examples
    --------
    >>> from skcalrank import AUCRanker, NDCGRanker, load_digits_queries
    >>> from skcalrank.evaluation import cross_compare
    >>> X, y, qid = load_digits_queries(n_queries=50)
    >>> rankers = {"NDCG": NDCGRanker(), "AUC": AUCRanker()}
    >>> result = cross_compare(rankers, X, y, qid, ["ndcg@10", "map"])
    >>> result
    Comparison(2 systems, 2 measures, 50 queries, 5 folds, baseline='NDCG')
    >>> result.per_query("map").columns.tolist()
    ['NDCG', 'AUC']
    """
    systems = named("estimators", estimators)
    for name, estimator in systems.items():
        if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
            raise ValueError(f"estimators[{name!r}] must have fit and predict, got {estimator!r}.")
    check_baseline(baseline, systems)
    check_option("pairs", pairs, PAIRS)
    data = _Data(X, y, qid)
    chosen = {name: data.scaled(m) for name, m in named_measures(measures).items()}
    splits = list(_splits(cv, data))
    shared = float(np.mean([split.ratio for split in splits]))
    methods = Methods("student", "t", correction, confidence_level, 1, 0, shared)
    methods.check()
    policies: dict[str, Any] = {"ties": ties, "empty": empty, "average": False}
    held_out = delayed(data.held_out_values)
    jobs = (held_out(e, split, chosen, policies) for e in systems.values() for split in splits)
    found = Parallel(n_jobs)(jobs)
    by_system = [found[first : first + len(splits)] for first in range(0, len(found), len(splits))]
    values = np.array([data.spread(of_system, splits) for of_system in by_system])
    folds = np.array([np.transpose([_means(v) for v in of_system]) for of_system in by_system])
    return made(list(systems), list(chosen), data.names, values, baseline, pairs, methods, folds)


class _Split(NamedTuple):
    """Rows to train and to test on, and the queries of the latter in order of appearance."""

    train: Ints
    test: Ints
    queries: Ints
    ratio: float  # of their number to the number of queries to train on


class _Data:
    """Rows with a target that carries their queries."""

    def __init__(self, X, y, qid):
        refuse_lazy("cross_compare", "pass arrays", X=X, y=y, qid=qid)
        self.X, self.qid = X, carried_qid(y, qid)
        self.target = y
        if not isinstance(y, Target):
            labels, queries = check_target(y, self.qid)
            if np.ndim(y) < 2 or np.shape(y)[1] == 1:
                if self.qid is None:
                    raise MissingQidError(
                        "cross_compare needs the queries of the rows: pass qid, or "
                        "y=RankingTarget(y, qid)."
                    )
                self.target = RankingTarget(queries.ungroup(labels), self.qid)
            else:
                self.target = np.asarray(y)
        of_rows = isinstance(self.target, Target) and self.target.n_items is None
        n_rows = len(self.target)
        check_consistent_length(X, self.target)
        self.queries = self.target.queries() if of_rows else Queries.equal(n_rows, 1)
        names = self.queries.names
        self.names = np.arange(self.queries.n_queries) if names is None else names

    def scaled(self, measure):
        """Return the measure on the scale of all labels, which a fold need not hold."""
        if isinstance(self.target, PreferenceTarget):
            return measure
        return measure.scaled_to(np.ravel(self.target))

    def held_out_values(self, estimator, split, measures, policies):
        """Return values of shape (n_measures, n_queries) of an estimator fitted on one part."""
        X, y = _safe_indexing(self.X, split.train), self.target[split.train]
        fitted = clone(estimator).fit(X, y)
        X, y = _safe_indexing(self.X, split.test), self.target[split.test]
        qid = getattr(y, "qid", None)
        values = evaluate(y, predict_with_queries(fitted, X, qid), measures, **policies)
        return np.array(list(values.values()))

    def whole_queries(self, rows, part):
        """Return the queries of rows, in order of appearance, or raise for one that is cut."""
        codes = self.queries.codes[rows]
        arrived = np.bincount(codes, minlength=self.queries.n_queries)
        cut = np.flatnonzero((arrived != 0) & (arrived != self.queries.sizes))
        if len(cut) or not len(rows):
            what = f"cuts query {self.queries.name(int(cut[0]))!r}" if len(cut) else "is empty"
            raise ValueError(
                f"cv: {part} {what}: give a splitter of whole queries, such as QueryKFold or "
                "QueryShuffleSplit."
            )
        _, first = np.unique(codes, return_index=True)
        return codes[np.sort(first)]

    def spread(self, of_splits, splits):
        """Return the mean value of each query over the splits that hold it out."""
        sums, counts = np.zeros((2, len(of_splits[0]), self.queries.n_queries))
        for values, split in zip(of_splits, splits):
            sums[:, split.queries] += np.nan_to_num(values)
            counts[:, split.queries] += ~np.isnan(values)
        return safe_divide(sums, counts, np.nan)


def _means(values):
    """Return means over the queries that count."""
    defined = ~np.isnan(values)
    return safe_divide(np.where(defined, values, 0.0).sum(1), defined.sum(1), np.nan)


def _splits(cv: Any, data: _Data) -> Iterator[_Split]:
    """Yield the splits, or raise for one that cuts a query."""
    splitter: Any = cv
    if isinstance(cv, numbers.Integral):
        check_count("cv", cv, "the number of folds", least=2)
        splitter = QueryKFold(int(cv))
    elif not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(f"cv must be a number of folds, a splitter or splits, got {cv!r}.")
    if hasattr(splitter, "split"):
        splitter = splitter.split(data.X, data.target, data.qid)
    pairs = list(splitter)
    if len(pairs) < 2:
        raise ValueError(f"cv must make two splits or more, to see them vary, got {len(pairs)}.")
    codes = data.queries.codes
    for number, rows in enumerate(pairs):
        train, test = (np.arange(len(codes))[part] for part in rows)
        trained_on = data.whole_queries(train, f"the training part of split {number}")
        held_out = data.whole_queries(test, f"the test part of split {number}")
        if len(both := np.intersect1d(trained_on, held_out)):
            name = data.queries.name(int(both[0]))
            raise ValueError(f"cv: split {number} has query {name!r} in both parts.")
        yield _Split(train, test, held_out, len(held_out) / len(trained_on))
