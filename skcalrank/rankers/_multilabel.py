"""One ranker for several labels, mixed after the fit."""

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .._solvers import product_of_rows
from ..columns import arrays
from ..columns.types import Array, ArrayLike, Floats, Labels, Matrix, Self
from ..data import Queries, Rows, check, fitting, limits, warning_once
from ..judgments import MultiLabelTarget
from ..measures import Measure, get_measure, warn_unless_grades
from ..metrics import CheckedTarget, PreparedScore, RowPolicies
from ._base import BaseRanker
from ._door import door
from ._front import Front, efficient_rows, mixes_of
from ._plan import Call, Plan
from ._regression import AUTO, fit_columns, gram_ridge, penalty, seen_in, warn_of_many_columns


class MultiLabelRanker(BaseRanker):
    r"""Linear rankers of every mix of several labels, from one pass over the data.

    Use it where documents have several labels, such as relevance and margin, and the trade between
    them is to be chosen after the fit. Each label has a measure, and each measure targets: those of
    a mix are the mix of the targets, and the ridge regression of the pairwise squared loss is
    linear in them. So are the coefficients, :math:`w(\mu) = \sum_l \mu_l w_l / \sigma_l`, where
    :math:`\sigma_l` is the root mean square within queries of the targets of label l. One fit takes
    one matrix of the features and a column for each label; every further mix is a sum of vectors.

    Parameters
    ----------
    measure : str, Measure or dict, default="ndcg@10"
        Measure of all labels, or of each label by its name, such as ``{"relevance": "ndcg@10",
        "margin": DCG(k=10, gain="linear")}``; labels that a dict does not name have "ndcg@10".
    weights : dict or array-like of shape (n_labels,), default=None
        Weight of each label, at least 0, in units of the spread of its targets; labels that a dict
        does not name have weight 0. None gives all labels the same weight. :meth:`mix` changes it
        after the fit.
    alpha : float or "auto", default="auto"
        Ridge penalty, as in :class:`LeastSquaresRanker` under the loss "pairwise_squared".

    Attributes
    ----------
    coefs_ : ndarray of shape (n_labels, d)
        Coefficients of each label alone, in units of its spread.
    spreads_ : ndarray of shape (n_labels,)
        Root mean square within queries of the targets of each label; 1 where they do not vary.
    weights_ : ndarray of shape (n_labels,)
        Weights of the labels, with sum 1.
    measure_weights_ : ndarray of shape (n_labels,)
        Weights of the measures in the mix that is learned and that :meth:`score` computes:
        `weights_` over `spreads_`, with sum 1.
    coef_ : ndarray of shape (d,)
        Coefficients of the mix.
    label_names_ : list of str
    measures_ : list of Measure
        Measure of each label.
    alpha_ : float
        Ridge penalty that was used.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    MultiLabelTarget : Several labels of documents, the y of this ranker.

    Notes
    -----
    The ranker of a mix equals a fit to the mixed targets, each in units of its spread. It is
    calibrated (Fisher-consistent) for the mix of the positional measures by `measure_weights_`, as
    :class:`LeastSquaresRanker` is for each of them, if the measures have the same cutoff and
    discounts. If they differ, no theorem says that the order is
    the best one for the mix of the values: compare the mixes by :meth:`front`.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank import MultiLabelRanker, MultiLabelTarget
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    >>> labels = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.5])
    >>> y = MultiLabelTarget(labels, qid, names=["relevance", "margin"])
    >>> ranker = MultiLabelRanker().fit(X, y)
    >>> front = ranker.front(X, y)
    >>> best = front.choose("margin", lose={"relevance": 0.01})
    >>> share = ranker.mix(front.weights[best]).weights_
    >>> bool(0.0 < share[1] < 0.6)
    True
    """

    _judgments = (MultiLabelTarget,)
    _takes_several = True
    _theorem: ClassVar[str] = "mix"
    _y_is_relevance = False
    _takes_sparse = True
    _plan_settings: ClassVar = {"loss": "pairwise_squared", "sums_over": "pairs"}

    _parameter_constraints: ClassVar[dict[str, Any]] = {"weights": limits.OWN_ERROR}

    def __init__(
        self,
        measure: str | Measure | Mapping[str, str | Measure] = "ndcg@10",
        *,
        weights: Mapping[str, float] | ArrayLike | None = None,
        alpha: float | str = "auto",
    ) -> None:
        self.measure = measure
        self.weights = weights
        self.alpha = alpha

    def _measures(self, names: list[str]) -> list[Measure]:
        """Return the measure of each label."""
        measures = self.measure
        if not isinstance(measures, Mapping):
            return [get_measure(measures)] * len(names)
        _refuse_unknown("measure", measures, names)
        return [get_measure(measures.get(name, "ndcg@10")) for name in names]

    @fitting
    def fit(
        self,
        X: Matrix,
        y: MultiLabelTarget,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Regress the targets of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents.
        y : MultiLabelTarget
            Labels of the documents, and their queries.
        qid : array-like of shape (n_rows,), default=None
            Carried by y; one that is passed must agree.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of the squared error of each row.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If y is not a MultiLabelTarget.
        ValueError
            If labels do not fit their measure, or weights are not a mix of the labels.
        """
        plan = self._check_params()
        plan, rows = door(self, plan, X, _checked_target(self, y), qid, sample_weight)
        parts = [
            _targets(name, measure, y.label(name), rows)
            for name, measure in zip(y.names, self._measures(y.names))
        ]
        measures, columns = map(list, zip(*parts))
        return self._fit_to_targets(plan, rows, np.column_stack(columns), measures)

    @fitting
    def fit_targets(
        self,
        X: Matrix,
        targets: MultiLabelTarget,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Regress targets in place of those of the labels.

        Parameters
        ----------
        X, qid, sample_weight
            As in :meth:`fit`.
        targets : MultiLabelTarget
            Columns of finite numbers with the names of the labels, such as unbiased estimates,
            see :meth:`NDCGRanker.fit_targets`. It carries the queries.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If `targets` is not a MultiLabelTarget.
        ValueError
            If `measure` or `weights` name other labels.
        """
        plan = self._check_params(Call(of_targets=True))
        targets = _checked_target(self, targets, "targets")
        measures = self._measures(targets.names)
        plan, rows = door(self, plan, X, targets, qid, sample_weight)
        return self._fit_to_targets(plan, rows, targets.labels, measures)

    def _fit_to_targets(self, plan: Plan, rows: Rows, targets: Floats, measures: list[Any]) -> Self:
        """Regress a column of targets for each label, in row order."""
        spread, weight = rows.queries.spread, rows.weight
        self.spreads_ = np.array([spread(column, weight) for column in targets.T])
        alpha = penalty(self.alpha, seen_in(rows), None)
        ridge = gram_ridge(alpha, self.alpha == AUTO, fit_intercept=False)
        warn_of_many_columns(self.alpha, rows)
        self.coefs_ = fit_columns(ridge, rows, targets / self.spreads_)
        self.label_names_, self.alpha_ = list(rows.y.names), alpha
        self.measures_ = measures
        self.weights_ = self._shares(self.weights)
        self.record_ = self._record(plan, rows)
        return self

    def _shares(self, weights: Any) -> Floats:
        """Return the weights of the labels, with sum 1."""
        names = self.label_names_
        if weights is None:
            return np.full(len(names), 1.0 / len(names))
        if isinstance(weights, Mapping):
            _refuse_unknown("weights", weights, names)
            weights = [weights.get(name, 0.0) for name in names]
        problem = None
        try:
            shares = arrays.checked(weights, "weights", ensure_2d=False)
        except (ValueError, TypeError) as error:
            problem, shares = error, np.zeros(0)
        if shares.shape != (len(names),) or (shares < 0).any() or not shares.any():
            message = f"weights must be {len(names)} numbers >= 0, not all 0, got {weights!r}."
            raise ValueError(message) from problem
        return shares / shares.sum()

    def mix(self, weights: Mapping[str, float] | ArrayLike | None) -> Self:
        """Return the ranker of another mix of the labels, without a fit.

        Parameters
        ----------
        weights : dict or array-like of shape (n_labels,)
            As the parameter.

        Returns
        -------
        ranker : MultiLabelRanker
            A fitted ranker with these `weights`; the original does not change.
        """
        self._check_fitted()
        shares = self._shares(weights)
        mixed = copy.copy(self)
        mixed.weights, mixed.weights_ = weights, shares
        return mixed

    @property
    def measure_weights_(self) -> Floats:
        """Weights of the measures in the mix that is learned."""
        self._check_fitted()
        shares = self.weights_ / self.spreads_
        return shares / shares.sum()

    @property
    def coef_(self) -> Floats:
        """Coefficients of the mix."""
        self._check_fitted()
        return self.weights_ @ self.coefs_

    @property
    def intercept_(self) -> float:
        """Intercept of the mix: 0, as a constant does not change the order of a query."""
        self._check_fitted()
        return 0.0

    def _scores(self, rows: Rows) -> Floats:
        return product_of_rows(rows.X, self.coef_)

    def score(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean of the measures of the labels, weighted by `measure_weights_`.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        score : float
        """
        self._check_fitted()
        return super().score(X, _checked_target(self, y), qid, sample_weight)

    def _score_of(
        self, scores: Floats, y: Any, qid: Array, queries: Queries, sample_weight: Floats | None
    ) -> float:
        targets = [CheckedTarget.of(y.label(name), qid, queries) for name in self.label_names_]
        scores, weight = targets[0].scores(scores), targets[0].query_weight(sample_weight)
        values = [
            target.means({"score": measure}, scores, weight, RowPolicies())["score"]
            for target, measure in zip(targets, self.measures_)
        ]
        return float(self.measure_weights_ @ np.array(values))

    def front(
        self,
        X: Matrix,
        y: MultiLabelTarget,
        qid: ArrayLike | None = None,
        measures: Mapping[str, tuple[str, str | Measure]] | None = None,
        *,
        mixes: int | ArrayLike = 100,
    ) -> Front:
        """Measure the rankers of many mixes.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Documents that `fit` has not seen.
        y : MultiLabelTarget
            Labels that are measured, also labels that `fit` has not seen: the exposure of a group
            is ``DCG(k=10, gain="linear")`` of a label that is 1 for the documents of the group.
        qid : array-like of shape (n_rows,), default=None
            Carried by y; one that is passed must agree.
        measures : dict, default=None
            Axes by their names: for each, the name of a label and a measure. None takes the
            labels of `fit`, each with its measure.
        mixes : int or array-like of shape (n_mixes, n_labels), default=100
            The mixes, or the number of steps from one label to another. All mixes in such steps
            are measured, so that few steps are enough for three labels.

        Returns
        -------
        front : Front

        Raises
        ------
        TypeError
            If y is not a MultiLabelTarget.
        ValueError
            If a label or a measure is unknown, or `mixes` are not mixes.
        """
        self._check_fitted()
        y = _checked_target(self, y)
        check.carried_qid(y, qid, X=X)
        names = self.label_names_
        measures = dict(zip(names, zip(names, self.measures_))) if measures is None else measures
        weights = np.array([self._shares(mix) for mix in mixes_of(mixes, len(names))])
        rows = self._check_rows(X, y.qid, "score")
        check.warn_of_changed_queries(self.record_.sizes, y, rows.queries, "front")
        values = np.empty((len(weights), len(measures)))
        scores = rows.queries.group(product_of_rows(rows.X, (weights @ self.coefs_).T))
        with warning_once():
            for place, (label, measure) in enumerate(measures.values()):
                measured, target = get_measure(measure), CheckedTarget.of(y.label(label), y.qid)
                warn_unless_grades([measured], target.y)
                score = PreparedScore(measured, target.y, target.queries)
                values[:, place] = [score(of_mix) for of_mix in scores.T]
        return Front(weights, values, list(names), list(measures), efficient_rows(values))


def _refuse_unknown(what: str, named: Mapping[str, Any], names: list[str]) -> None:
    """Raise ValueError unless all names are those of labels of y."""
    unknown = [str(name) for name in named if name not in names]
    if unknown:
        known = ", ".join(names)
        raise ValueError(f"{what} must name labels of y ({known}), got {', '.join(unknown)}.")


def _checked_target(ranker: MultiLabelRanker, y: object, name: str = "y") -> MultiLabelTarget:
    """Return y, or raise for another kind of target."""
    if not isinstance(y, MultiLabelTarget):
        raise TypeError(
            f"{type(ranker).__name__} expects a MultiLabelTarget as {name}, got "
            f"{type(y).__name__}: pass MultiLabelTarget(labels, qid, names=[...])."
        )
    return y


def _targets(name: str, measure: Any, labels: Floats, rows: Rows) -> tuple[Any, Floats]:
    """Return a measure, with its scale, and the targets of a label in the order of the rows."""
    queries = rows.queries
    labels = queries.group(labels)
    warn_unless_grades([measure], labels)
    if not measure.has_score_targets():
        raise ValueError(
            f"measure of {name!r} must have score targets, got {measure.full_name}, "
            "which has none: choose a positional measure."
        )
    with arrays.beginning(f"label {name!r}: "):
        measure.labels(labels)  # also those that set no scale
        if not measure.is_scaled:
            labels = check.labels_that_count(labels, queries, rows.document_weights())
        measure = measure.scaled_to(labels)
        labels = measure.labels(labels)
        check.warn_of_equal_labels(labels, queries, f"label {name!r}", measure.level)
        targets = measure.score_targets(labels, queries)
    return measure, queries.ungroup(targets)
