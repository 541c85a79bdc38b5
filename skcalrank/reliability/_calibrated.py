"""Rankers whose scores have a unit, such as the probability of relevance."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from ..columns.types import CV, ArrayLike, Bools, Estimator, Floats, Labels, Matrix, Seed, Self
from ..data import Rows, available_if, check, fitting, limits, query_factors, warn
from ..measures import Measure, get_measure
from ..preprocessing import encoded, fit_encoded
from ._around import RankerAround, ranker_scores, test_folds
from ._map import QueryMap, covariates, isotonic, levels
from ._masses import Judged, masses, shares_of

# Targets that are no masses of a loss.
_UNITS = ("relevant", "grade", "gain")

# By how much the held-out log loss must fall for the level to be kept.
_GAIN = 2e-4

# An isotonic regression needs many queries, which are what is independent. Of fewer than the
# second number of queries, the log loss was often worse than that of the base rate.
_FEWEST, _FEW = 500, 10


def _check_target(ranker: Any, _: Any) -> None:
    """Raise for a target or a level that is unknown."""
    if not _is_unit(ranker.target):
        shares_of(ranker.target, "target", _UNITS)
    is_auto = isinstance(ranker.level, str) and ranker.level == "auto"
    if not (ranker.level is None or is_auto or hasattr(ranker.level, "predict_proba")):
        raise ValueError(
            f"level must be 'auto', None or a classifier with predict_proba, got {ranker.level!r}."
        )


class CalibratedRankerCV(RankerAround):
    r"""A ranker whose scores have a unit, and whose order is that of another ranker.

    Use it where a score is shown, or compared with a threshold. Scores of rankers order the
    documents of a query, and do not tell how likely any of them is to be relevant. Here out-of-fold
    scores s of whole queries are mapped to a value p,

    .. math:: \mathrm{logit}(p) = a s + b z + c^T x + d, \quad a > 0, b \ge 0,

    where z is the score standardized within its query, and x are properties of the query: mean,
    spread and maximum of its scores, the logarithm of its number of documents, and its *level*,
    the mean logit of a plain classifier of rows, which knows what scores of a ranker do not tell:
    whether a query has anything relevant at all. The penalty of c is chosen on held-out queries.
    Everything but the score is constant within a query, so the order of the ranker is kept exactly,
    ties included. Values are right on average over queries like those of `fit`.

    Parameters
    ----------
    ranker : ranker, default=None
        As in :class:`GuaranteedCutoff`. A FrozenEstimator is not fitted: the map is fitted to its
        scores of the queries of `fit`, which must be others than those that trained it.
    target : str or Measure, default="relevant"
        What :meth:`predict` estimates: "relevant", the probability of relevance; "grade", the
        label; "gain", :math:`2^y - 1`; or a loss of :class:`GuaranteedCutoff`, whose mass of a
        document is estimated.
    relevance_level : float or None, default=1
        As in :class:`GuaranteedCutoff`.
    level : "auto", None or classifier, default="auto"
        Classifier of rows for the level of a query. "auto":
        ``HistGradientBoostingClassifier(random_state=0)``, kept if the log loss on held-out
        queries falls by it; without level for masses, in which it cancels, and for sparse X.
    method : {"sigmoid", "isotonic"}, default="sigmoid"
        The map as above, or an isotonic regression on its logits, for at least 500 queries.
    cv : int, splitter or iterable, default=5
        Folds of whole queries, each of which tests a row once. With a FrozenEstimator they are
        for the level and the penalty.
    query_weight : {"equal", "documents", "pairs"}, default="equal"
        What a query of n documents counts in the fit of the map: 1, n or n ** 2.
    random_state : int, RandomState instance or None, default=None
        Seed for the draw of the folds if `cv` is a number; None is seed 0. Queries are drawn by
        their names: other names act as another seed.

    Attributes
    ----------
    ranker_ : ranker
        The ranker, fitted to all queries.
    map_ : QueryMap
        The fitted map, with `coef` and `held_out_loss`.
    level_ : classifier or None
        Classifier for the level, fitted to all rows; None if the map does without.
    unit_ : float
        Value of a document whose estimate is 1: the largest label for "grade".
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    GuaranteedCutoff : Cut-offs with a promise.
    sklearn.calibration.CalibratedClassifierCV : Probabilities of classifiers, row by row.

    Notes
    -----
    The minimizer of the log loss of a target in [0, 1] is its conditional mean, so that any target
    of this kind goes through the same map; grades and gains are divided by the largest.

    If all documents of n queries are relevant, or none is, the map is fitted to Platt's targets
    :math:`(n + 1)/(n + 2)` or :math:`1/(n + 2)` [1]_, counted in queries, whose documents are not
    independent.

    Values are strictly between 0 and 1. Where the map is flat in floating point numbers, or
    isotonic, documents of different scores differ by about 1e-6 divided by the number of documents.

    References
    ----------
    .. [1] Platt: Probabilistic outputs for support vector machines and comparisons to regularized
       likelihood methods, Advances in Large Margin Classifiers 1999.

    Examples
    --------
    >>> from skcalrank import CalibratedRankerCV, NDCGRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=100, n_documents=30)
    >>> ranker = CalibratedRankerCV(NDCGRanker(), level=None).fit(X, y, qid)
    >>> p = ranker.predict(X, qid)
    >>> bool(abs(p.mean() - y.mean()) < 0.02), bool(p[y == 1].mean() > 2 * p[y == 0].mean())
    (True, True)
    """

    # Values depend on scores of the other documents.
    _scores_by_query = True
    _rules: ClassVar[Any] = (_check_target,)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "target": limits.OWN_ERROR,
        "level": limits.OWN_ERROR,
        "method": [limits.one_of("sigmoid", "isotonic")],
        "query_weight": [limits.one_of("equal", "documents", "pairs")],
    }

    def __init__(
        self,
        ranker: Estimator | None = None,
        target: str | Measure = "relevant",
        *,
        relevance_level: float | None = 1,
        level: str | Estimator | None = "auto",
        method: str = "sigmoid",
        cv: CV = 5,
        query_weight: str = "equal",
        random_state: Seed = None,
    ) -> None:
        self.ranker = ranker
        self.target = target
        self.relevance_level = relevance_level
        self.level = level
        self.method = method
        self.cv = cv
        self.query_weight = query_weight
        self.random_state = random_state

    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the map to out-of-fold scores, and the ranker to all queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents of whole queries, in the form that the ranker takes.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry its queries, as in
            :meth:`LeastSquaresRanker.fit`.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, or a scalar, as in :meth:`LeastSquaresRanker.fit`.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows, in the ranker, the classifier and the map.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is invalid, the input is not a ranking problem, or there are too few
            queries.

        Warns
        -----
        OneQueryWarning
            If y has 2 to 200 rows and no qid.
        UserWarning
            If there are fewer than 10 queries to calibrate on, or most queries seem to have trained
            the ranker of a FrozenEstimator.
        """
        self._fit_values(X, y, qid, sample_weight, names_are_given=True)
        return self

    def _fit_values(
        self,
        X: Matrix,
        y: Labels,
        qid: Any,
        sample_weight: Any = None,
        *,
        names_are_given: bool = False,
    ) -> Floats:
        """Fit, and return the values of all rows by the map of their out-of-fold scores."""
        plan, given = self._enter(X, y, qid, sample_weight)
        if names_are_given and self._is_frozen():
            self._warn_of_training_queries(given.queries)
        rows, values = self._fit_rows(given.without_table(), check.qid_beside(y, qid))
        if names_are_given and rows.queries.n_queries < _FEW:
            warn(
                f"y should have at least {_FEW} queries to calibrate on, got "
                f"{rows.queries.n_queries}: values can be worse than the mean of all labels."
            )
        self.record_ = self._record(plan, given)
        out = np.zeros(given.n_rows)
        out[rows.numbers] = values
        return out

    def _fit_rows(self, given: Rows, qid: Any) -> tuple[Rows, Floats]:
        """Fit to rows; return those of positive weight, and values by their out-of-fold scores."""
        rows = given.weighted().by_names()
        self._check_enough(rows.queries.n_queries)
        tests = test_folds(self.cv, rows, given, qid, self.random_state)
        if self._is_frozen():
            self.ranker_ = self.ranker.estimator
            scores = ranker_scores(self.ranker_, rows)
        else:
            scores = self._fit_out_of_fold(rows, tests)
        judged = Judged(rows.queries, rows.y, rows.queries.group(scores), self.relevance_level)
        weight = np.ones(rows.n_rows) if rows.weight is None else rows.queries.group(rows.weight)
        targets, counts = self._targets_of(judged, weight > 0)
        if not counts.any():
            raise ValueError(f"y must have a query with a mass of {self.target!r}, got none.")
        self._check_enough(int(counts.sum()))
        factors = query_factors(rows.queries, self.query_weight, "documents")
        weight = weight if factors is None else weight * rows.queries.repeat(factors)
        self._read_level(rows)
        level = self._out_of_fold_level(rows, targets, tests)
        aims, n = targets, int(counts.sum())
        # One class proves no certainty.
        if self.target == "relevant" and np.ptp(targets[weight > 0]) == 0:
            aims = (n * targets + 1) / (n + 2)
        counted = rows.queries.repeat(counts)
        folds = [rows.queries.group(test)[counted] for test in tests]
        folds = [test for test in folds if test.any() and not test.all()]

        def fitted(level: Floats | None) -> tuple[Floats, QueryMap]:
            columns = covariates(judged.scores, rows.queries, level)
            return columns, QueryMap.fitted(columns[counted], aims[counted], weight[counted], folds)

        columns, self.map_ = fitted(None)
        self.level_ = None
        if level is not None:
            other = fitted(level)
            if self.level != "auto" or (other[1].held_out_loss < self.map_.held_out_loss - _GAIN):
                columns, self.map_ = other
                self.level_ = self._fitted_level(rows, targets)
        if self.method == "isotonic":
            steps = isotonic(self.map_.logits(columns)[counted], aims[counted], weight[counted])
            self.map_ = replace(self.map_, isotonic=steps)
        return rows, self.map_.values(columns, judged.scores, rows.queries)

    def _check_enough(self, n_queries: int) -> None:
        if self.method == "isotonic" and n_queries < _FEWEST:
            raise ValueError(
                f"method must be 'sigmoid' for fewer than {_FEWEST} queries, got 'isotonic' for "
                f"{n_queries}."
            )

    def _targets_of(self, judged: Judged, used: Bools) -> tuple[Floats, Bools]:
        """Return targets, in [0, 1] of used rows, and which queries count; set their unit."""
        values, counts = observed(self.target, judged)
        if values.min() < 0:
            raise ValueError(
                f"y must be non-negative for target={self.target!r}, got {values.min():g}."
            )
        self._target = self.target
        self.unit_ = (values[used].max().item() or 1.0) if self.target in _UNITS[1:] else 1.0
        return values / self.unit_, counts

    def _read_level(self, rows: Rows) -> None:
        """Fit the reader of tables for the classifier of the level."""
        table = rows.as_given()
        self.encoder_ = None
        if self._level_estimator() is not None and not issparse(table):
            self.encoder_ = getattr(fit_encoded(table, None, None, None), "encoder", None)

    def _level_estimator(self) -> Any:
        if not isinstance(self.level, str):
            return self.level
        return HistGradientBoostingClassifier(random_state=0) if _is_unit(self.target) else None

    def _level_features(self, rows: Rows) -> Any:
        encoder = self.encoder_
        return rows.X if encoder is None else encoded(rows.as_given(), encoder).matrix

    def _fitted_level(self, rows: Rows, targets: Floats) -> Any:
        """Return a classifier of rows whose targets in [0, 1] are shares of two classes."""
        X = self._level_features(rows)
        weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
        labels = (targets > 0).astype(int)
        if ((targets > 0) & (targets < 1)).any():
            X, labels = X[np.tile(np.arange(rows.n_rows), 2)], np.repeat([0, 1], rows.n_rows)
            weight = np.append((1 - targets) * weight, targets * weight)
        X, labels, weight = X[weight > 0], labels[weight > 0], weight[weight > 0]
        if len(np.unique(labels)) < 2:
            return float(labels[0])
        given = {} if np.ptp(weight) == 0 else {"sample_weight": weight}
        return clone(self._level_estimator()).fit(X, labels, **given)

    def _level_of(self, classifier: Any, rows: Rows) -> Floats:
        """Return the level of each query, in the order of the queries."""
        if isinstance(classifier, float):
            p = np.full(rows.n_rows, classifier)
        else:
            p = classifier.predict_proba(self._level_features(rows))[:, 1]
        return levels(rows.queries.group(p), rows.queries)

    def _out_of_fold_level(self, rows: Rows, targets: Floats, tests: list[Bools]) -> Floats | None:
        """Return the level of each query by classifiers that have not seen it."""
        if self._level_estimator() is None or (self.level == "auto" and issparse(rows.X)):
            return None
        out = np.zeros(rows.queries.n_queries)
        for test in tests:
            classifier = self._fitted_level(rows.take(~test), targets[~test])
            # Rows are sorted by query, as `_fit_rows` makes them.
            numbers = np.unique(rows.queries.codes[test])
            out[numbers] = self._level_of(classifier, rows.take(test))
        return out

    def _scores(self, rows: Rows) -> Floats:
        scores = rows.queries.group(super()._scores(rows))
        level = None if self.level_ is None else self._level_of(self.level_, rows)
        values = self.map_.values(covariates(scores, rows.queries, level), scores, rows.queries)
        return rows.queries.ungroup(self.unit_ * values)

    @available_if(lambda self: vars(self).get("_target", self.target) == "relevant")
    def predict_proba(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the probability of relevance of each document, for ``target="relevant"``.

        Parameters
        ----------
        X, qid
            As in :meth:`rank`.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, 2)
            Probabilities of being irrelevant, and relevant.

        Raises
        ------
        MissingQidError
            If the ranker was fitted with a qid and gets none.
        """
        p = self.predict(X, qid)
        return np.column_stack([1 - p, p])


def observed(target: Any, judged: Judged) -> tuple[Floats, Bools]:
    """Return what is observed of a target of documents, and for which queries it is defined."""
    if not _is_unit(target):
        shares = shares_of(target)(judged)
        return masses(shares, judged.queries), judged.queries.max(shares) > 0
    counts = np.ones(judged.queries.n_queries, dtype=bool)
    if target == "relevant":
        return judged.relevance, counts
    return judged.labels if target == "grade" else _gains(judged), counts


def _is_unit(target: Any) -> bool:
    return isinstance(target, str) and target in _UNITS


def _gains(judged: Judged) -> Floats:
    measure = get_measure("dcg")
    return measure.score_targets(measure.labels(judged.labels), judged.queries)
