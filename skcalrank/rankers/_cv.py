"""Ranker whose ridge penalty is chosen by cross-validation of the measure, in closed form."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.ma import MaskedArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from .._solvers import Moments, check_features
from ..columns import arrays
from ..columns.types import CV, ArrayLike, Floats, Labels, Matrix, Self
from ..data import Rows, check, fitting, lazy_aware, timed, warn
from ..linear_model import GramRidge, add_moments
from ..measures import Measure, OfTargets, PositionalMeasure
from ._door import door
from ._folds import held_out_scores, make_splits, models_of, training_moments
from ._plan import RegressionPlan
from ._positional import LeastSquaresRanker, positional
from ._record import FitRecord
from ._regression import AUTO, gram_ridge, names_of, penalty
from ._score import ScoreRanker

# Multiples of the penalty "auto".
_MULTIPLES = np.logspace(-2, 2, 17)


class LeastSquaresRankerCV(ScoreRanker):
    """Least-squares ranker with a ridge penalty chosen by cross-validating the measure.

    Use it with few queries or many noisy features, where a search of the penalty pays. The result
    is that of :class:`~sklearn.model_selection.GridSearchCV` around ``LeastSquaresRanker(measure)``
    with the measure as the scorer, tens of times faster, because sums over rows are computed once
    for all penalties and folds.

    The penalty that :class:`LeastSquaresRanker` takes by default depends on the number of queries
    alone. This class tunes a multiple of that penalty by the measure, at the cost of four to eight
    fits. Several measures can share the pass over X: each has its own targets, penalty and ranker,
    in `rankers_`, and the first one predicts.

    Parameters
    ----------
    measure : str, PositionalMeasure, list of them, or dict, default="ndcg@10"
        As in :class:`LeastSquaresRanker`. For a list, or a dict from names to measures, one ranker
        per measure is fitted.
    alphas : array-like of shape (n_alphas,), default=None
        Penalties to try, on the scale of `Ridge`; the first of equally good ones is chosen. If
        None, multiples .01 to 100, four to each power of ten, of the penalty that ``alpha="auto"``
        is in :class:`LeastSquaresRanker`, in the same units.
    cv : int, splitter or iterable of (train, test), default=None
        Number of folds, a splitter, or pairs of row numbers to train and to test on. A splitter is
        called as ``split(X, y, groups=qid)``. If None, five folds, or as many as there are queries.
        Folds are made of whole queries, or of rows if there is a single query and in the
        label-ranking form. Queries are drawn by their names: other names act as another seed. Rows
        are drawn by their numbers.
    loss : {"squared", "centered", "pairwise_squared"}, default=None
        Loss of the regression, as in :class:`LeastSquaresRanker`. If None, "pairwise_squared".
    query_weight : {"pairs", "documents", "equal"}, default=None
        Weight of a query in the loss, as in :class:`LeastSquaresRanker`. Held-out scores do not
        depend on it.
    verbose : int, default=0
        If not 0, a line with the split number and its time follows each split.

    Attributes
    ----------
    alpha_ : float
        Penalty chosen for the first measure, which all attributes down to `estimator_` refer to.
    penalty_scale_ : ndarray of shape (d,)
        Unit of `alpha_` for each feature; ones if `alphas` are given.
    best_score_ : float
        Mean held-out score of `alpha_` over the splits.
    best_index_ : int
        Index of `alpha_` in `alphas`.
    coef_, intercept_ : ndarray of shape (d,) or (r, d), float or ndarray of shape (r,)
        Coefficients and intercept, with a row per item in the label-ranking form.
    estimator_ : GramRidge
        Ridge regression fitted to all rows with `alpha_`.
    loss_ : str
        Loss that was minimized.
    rankers_ : dict of str to LeastSquaresRanker
        Rankers fitted to all rows, each with the penalty of its measure, by name of the measure.
    cv_results_ : dict
        Results as in ``GridSearchCV``: ``params``, ``param_alpha``, ``split0_test_score`` and so
        on, ``mean_test_score``, ``std_test_score``, ``rank_test_score``. With several measures the
        name of the measure replaces ``score``.
    n_splits_ : int
        Number of splits.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRanker : Ranker with one penalty, or with any regressor.
    skcalrank.linear_model.GramRidge : Ridge regression that is fitted.
    skcalrank.QueryKFold : Folds of whole queries.

    Notes
    -----
    The ranker is calibrated (Fisher-consistent) for its measure under the conditions of
    :class:`LeastSquaresRanker`.

    One pass over the rows gives the statistics of all splits if the test parts are disjoint, hold
    whole queries, and all other rows are trained on (``QueryKFold``, ``GroupKFold``,
    ``LeaveOneGroupOut``, ``PredefinedSplit``; in the label-ranking form also ``KFold``). Other
    splits (repeated or random ones, and folds that cut a query, whose targets are then computed
    from its training rows) cost one pass each, still for all penalties together.

    A split then costs a decomposition of a d x d matrix, about ``20 d**3`` operations. Leaving out
    each query in turn has as many splits as queries, at a few milliseconds each with a hundred
    features. Statistics of folds are kept if they fit into 512 MB.

    `sample_weight` weights the rows in the fit, and queries in the scores as in :meth:`score`. A
    query on which the measure is undefined is left out of the score of its fold; a fold of only
    such queries scores NaN and is left out of the means.

    Examples
    --------
    >>> from skcalrank import LeastSquaresRankerCV, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> ranker = LeastSquaresRankerCV("ndcg@10", alphas=[1, 100, 10_000]).fit(X, y, qid)
    >>> ranker.alpha_ in (1, 100, 10_000)
    True
    >>> several = LeastSquaresRankerCV(["ndcg@10", "precision@5", "auc"]).fit(X, y, qid)
    >>> sorted(several.rankers_)
    ['auc', 'ndcg@10', 'precision@5']
    """

    cv_results_: dict[str, Any]

    fits_among_workers = True
    _takes_several = True
    _weights_note = "a repeated row may be in two folds"
    _parameter_constraints: ClassVar = {"alphas": ["array-like", None]}

    def __init__(
        self,
        measure: str | Measure | Iterable[str | Measure] | Mapping[str, str | Measure] = "ndcg@10",
        *,
        alphas: ArrayLike | None = None,
        cv: CV | None = None,
        loss: str | None = None,
        query_weight: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.alphas = alphas
        self.cv = cv
        self.loss = loss
        self.query_weight = query_weight
        self.verbose = verbose

    # Each of several measures reads them.
    _reads_labels = False

    def _takes_positive_only(self) -> bool:
        return any(m.positive_only or m.needs_binary_labels for m in self._measures().values())

    def _measures(self) -> dict[str, PositionalMeasure]:
        """Return the measures by name."""
        measures = self.measure
        if not isinstance(measures, (list, tuple, Mapping)):
            measures = [measures]
        if not isinstance(measures, Mapping):
            measures = {m if isinstance(m, str) else repr(m): m for m in measures}
        if not measures:
            raise ValueError(f"measure must name at least one measure, got {self.measure!r}.")
        return {name: positional(m) for name, m in measures.items()}

    def _checked_alphas(self) -> Floats:
        alphas = _MULTIPLES if self.alphas is None else np.asarray(self.alphas)
        one_list = alphas.ndim == 1 and len(alphas) and alphas.dtype.kind in "iuf"
        if not one_list or not ((alphas >= 0) & (alphas < np.inf)).all():
            raise ValueError(
                f"alphas must be a list of finite, non-negative numbers, got {self.alphas!r}."
            )
        return alphas.astype(float)

    @lazy_aware
    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the penalty by cross-validation, then fit to all rows with it.

        Parameters
        ----------
        X, y, qid
            As in :meth:`LeastSquaresRanker.fit`. For collections of dask, `cv` must be a number of
            folds or None.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows in the fit. In the scores the weight of a query is the mean over its
            rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is not a ranking problem, labels do not fit a measure, or `cv` yields an
            empty part.

        Warns
        -----
        CutQueriesWarning
            If a split of `cv` holds a part of a query.
        UndefinedMetricWarning
            If a measure is undefined on the test part of every split; the first penalty is used.
        """
        plan, measures = self._check_params(), self._measures()
        plan, rows = door(self, plan, X, y, qid, sample_weight)
        return self._choose(plan, rows, measures, check.qid_beside(y, qid))

    def _fit_to_targets(self, plan: RegressionPlan, rows: Rows, targets: Floats) -> Self:
        measures = self._measures()
        if len(measures) > 1:
            raise ValueError(
                f"measure must be one measure whose targets are given, got {len(measures)}: fit a "
                "ranker for each of them."
            )
        of_targets = {name: OfTargets(measure) for name, measure in measures.items()}
        rows = replace(rows, y=targets)
        return self._choose(plan, rows, of_targets, rows.qid if rows.named else None)

    def _choose(self, plan: RegressionPlan, rows: Rows, measures: Any, qid: Any) -> Self:
        """Choose the penalty of each measure of the labels in rows, and fit to all rows."""
        alphas, relative = self._checked_alphas(), self.alphas is None
        check_features(rows.X)
        if self.cv is None or isinstance(self.cv, Integral):
            rows = rows.weighted()
        record = self._record(plan, rows, names_of(rows.queries))
        splits = make_splits(self.cv, rows, qid)
        total, training = training_moments(rows, splits, measures.values(), plan, relative)
        if relative:
            alphas = alphas * penalty(AUTO, record.seen, rows.n_items)
        models = models_of(self._timed(training, len(splits)), alphas, relative)
        scores = held_out_scores(rows, splits, models, list(measures.values()), len(alphas))
        for name, undefined in zip(measures, np.isnan(scores).all(axis=(1, 2))):
            if undefined:
                warn(
                    f"{name} is undefined (0/0) on the test part of every split, so all penalties "
                    "score NaN; the first one is used.",
                    UndefinedMetricWarning,
                )
        self.n_splits_ = len(splits)
        self.cv_results_, best = _results(alphas, dict(zip(measures, scores)))
        self.rankers_, r = {}, rows.n_items or 1
        for number, (name, measure) in enumerate(self._measures().items()):
            moments = total.of_targets(slice(number * r, (number + 1) * r))
            gram = gram_ridge(float(alphas[best[name]]), relative)
            self.rankers_[name] = self._ranker(measure, gram, moments, record)
        first = next(iter(measures))
        self.estimator_ = self.rankers_[first].estimator_
        self.best_index_ = best[first]
        self.best_score_ = float(_mean(scores[0])[best[first]])
        plan = replace(record.plan, alpha=self.estimator_.alpha)
        self.record_ = replace(record, plan=plan, names=frozenset())
        return self

    def _timed(self, training: Any, n_splits: int) -> Iterator[Moments]:
        """Yield the moments of each split, and print the time of what is done with them."""
        for number, moments in enumerate(training, 1):
            with timed(self.verbose, type(self).__name__, f"split {number} of {n_splits}"):
                yield moments

    def _ranker(
        self, measure: PositionalMeasure, gram: GramRidge, moments: Moments, record: FitRecord
    ) -> LeastSquaresRanker:
        """Return the ranker of one measure and penalty, fitted to the moments of all rows."""
        settings: Any = {"loss": self.loss, "query_weight": self.query_weight}
        ranker = LeastSquaresRanker(measure, estimator=clone(gram), **settings)
        plan = replace(ranker._plan(), reads=record.plan.reads)
        one_target = record.n_items is None
        within = one_target and plan.loss == "pairwise_squared"
        ranker.estimator_ = add_moments(
            gram.set_params(fit_intercept=not within), moments, one_target
        )
        check.share_columns(ranker, self)
        ranker.record_ = replace(record, plan=plan.without_regressor())
        return ranker


def _results(alphas: Floats, scores: dict[str, Floats]) -> tuple[dict[str, Any], dict[str, int]]:
    """Return results as in GridSearchCV, and the index of the best penalty of each measure."""
    results = {
        "param_alpha": MaskedArray(alphas, mask=np.zeros(len(alphas), dtype=bool)),
        "params": [{"alpha": float(alpha)} for alpha in alphas],
    }
    best = {}
    for name, values in scores.items():
        key = "score" if len(scores) == 1 else name
        results |= {f"split{i}_test_{key}": column for i, column in enumerate(values.T)}
        mean = _mean(values)
        # A measure is undefined for all penalties or for none.
        rank = rankdata(-np.nan_to_num(mean), method="min").astype(np.int32)
        results[f"mean_test_{key}"] = mean
        scale = arrays.scale_of(np.nan_to_num(np.abs(values)).max(initial=0.0))
        deviations = (values - mean[:, None]) / scale
        results[f"std_test_{key}"] = scale * np.sqrt(_mean(deviations**2))
        results[f"rank_test_{key}"] = rank
        best[name] = int(rank.argmin())
    return results, best


def _mean(values: Floats) -> Floats:
    """Return means over the splits on which the measure is defined, for all penalties."""
    defined = values[:, ~np.isnan(values).any(axis=0)]
    return defined.mean(axis=1) if defined.size else np.full(len(values), np.nan)
